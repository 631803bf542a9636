/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP (RFC 792), ICMPv6 (RFC 4443), neighbour discovery (RFC 4861): which
 * messages go with reach(peer) alone, and which with a word of their own.
 */
#include "gate/frame_inside.h"

#include <netinet/in.h>

typedef enum IcmpRule {
	ICMP_NEVER, /* no word lets it out */
	ICMP_QUERY, /* reach alone */
	ICMP_ERROR_RULE, /* word icmp_error, and it quotes a packet received in this run */
	ICMP_WORD,  /* its word */
} IcmpRule;

typedef struct IcmpRow {
	IcmpRule rule;
	ReachWord word;
} IcmpRow;

/* RFC 792, 1256, 6633 (source quench is deprecated, but an error all the same). */
static const IcmpRow rows4[256] = {
	[3] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR },  [4] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR },
	[5] = { ICMP_WORD, WORD_REDIRECT },	     [8] = { ICMP_QUERY, 0 },
	[9] = { ICMP_WORD, WORD_RA },		     [10] = { ICMP_WORD, WORD_RA },
	[11] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR }, [12] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR },
	[13] = { ICMP_QUERY, 0 },
};

/* RFC 4443, 4861, 2710, 3810, 4286. */
static const IcmpRow rows6[256] = {
	[1] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR }, [2] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR },
	[3] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR }, [4] = { ICMP_ERROR_RULE, WORD_ICMP_ERROR },
	[128] = { ICMP_QUERY, 0 },		    [130] = { ICMP_WORD, WORD_ROUTING },
	[131] = { ICMP_WORD, WORD_ROUTING },	    [132] = { ICMP_WORD, WORD_ROUTING },
	[133] = { ICMP_WORD, WORD_RA },		    [134] = { ICMP_WORD, WORD_RA },
	[136] = { ICMP_WORD, WORD_ND },		    [137] = { ICMP_WORD, WORD_REDIRECT },
	[143] = { ICMP_WORD, WORD_ROUTING },	    [151] = { ICMP_WORD, WORD_ROUTING },
	[152] = { ICMP_WORD, WORD_ROUTING },	    [153] = { ICMP_WORD, WORD_ROUTING },
};

enum { NS = 135, NA = 136, RS = 133, RA = 134, REDIRECT6 = 137 };

static void set_tuple(Look *l, uint16_t id)
{
	if (l->depth == 0)
		l->v->tuple = (FlowTuple){ l->src, l->dst, l->proto, id, 0 };
}

/* Echo and timestamp requests: the id is ours. */
static bool look_query(Look *l)
{
	enum { TIME_STAMP = 13, TIME_STAMP_BYTES = 20 };
	uint16_t id = get_be16(l->body.p + 4);

	if (l->version == 4 && l->body.p[0] == TIME_STAMP && l->body.n < TIME_STAMP_BYTES)
		return no(l, NOTSENT_FRAME, "a timestamp request of %zu bytes", l->body.n);
	set_tuple(l, id);
	if (!l->rights->icmp)
		return no(l, NOTSENT_POLICY, "ICMP is not in the manifest for that peer");
	return look_owned(l, l->proto, id);
}

/* Only if the quote is a packet received in this run, and to who sent that. */
static bool look_error(Look *l)
{
	Bytes quote = bytes_slice(l->body, 8, l->body.n);
	size_t at = l->version == 4 ? 12 : 8;

	if (l->v->spoof >= 0 || !look_source(l))
		return no(l, NOTSENT_SOURCE, "an ICMP error from a source that is not ours");
	if (l->v->spoof >= 0)
		return no(l, NOTSENT_POLICY, "an ICMP error from a spoofed source");
	if (!flows_may_quote(l->fc->flows, quote) || quote.p[0] >> 4 != l->version)
		return no(l, NOTSENT_POLICY, "an ICMP error that quotes no packet received in this run");
	return ip_eq(ip_from(l->version, quote.p + at), l->dst) ||
	       no(l, NOTSENT_POLICY, "an ICMP error to another than who sent the quoted packet");
}

/* ---- neighbour discovery ---- */

/* RFC 4861 4.6: link-layer addresses in options are claims. */
static bool nd_options(Look *l, size_t from, bool only_source)
{
	enum { SOURCE_MAC = 1, TARGET_MAC = 2, NONCE = 14 };
	Cursor c = cursor(bytes_slice(l->body, from, l->body.n));

	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c), units = cur_u8(&c);
		Bytes data = units ? cur_bytes(&c, units * 8u - 2) : (Bytes){ 0 };
		Mac m;

		if (c.bad || units == 0)
			return no(l, NOTSENT_FRAME, "a neighbour discovery option that is cut");
		if (type != SOURCE_MAC && type != TARGET_MAC) {
			if (only_source && type != NONCE)
				return no(l, NOTSENT_FRAME, "option %u in a neighbour solicitation", type);
			continue;
		}
		if (units != 1 || (only_source && type != SOURCE_MAC))
			return no(l, NOTSENT_FRAME, "a link-layer address option that is none of Ethernet's");
		memcpy(m.b, data.p, sizeof m.b);
		if (!mac_claimable(l, m))
			return no(l, NOTSENT_SOURCE, "neighbour discovery claims a MAC that is not ours");
	}
	return true;
}

/* Where the options begin, by type. */
static size_t nd_fixed(uint8_t type)
{
	return type == RS ? 8 : type == RA ? 16 : type == REDIRECT6 ? 40 : 24;
}

static bool look_nd(Look *l, uint8_t type)
{
	if (l->frag) /* RFC 6980 */
		return no(l, NOTSENT_FRAME, "neighbour discovery in fragments");
	if (l->body.n < nd_fixed(type))
		return no(l, NOTSENT_FRAME, "neighbour discovery in %zu bytes", l->body.n);
	if (type == NA) {
		Ip target = ip_from(6, l->body.p + 8);

		if (!is_ours_here(l, target) && !use_spoof(l, rules_spoof_ip(l->fc->rules, target)))
			return no(l, NOTSENT_SOURCE, "a neighbour advertisement for an address that is not ours");
	}
	return nd_options(l, nd_fixed(type), false) && look_source(l);
}

bool is_solicitation(const Look *l)
{
	return l->version == 6 && l->proto == IPPROTO_ICMPV6 && !l->frag && !l->options && l->body.n >= 24 &&
	       l->body.p[0] == NS;
}

/* RFC 4291 2.7.1 */
static Ip solicited_node(Ip target)
{
	Ip ip = { .v = 6, .b = { 0xff, 0x02, [11] = 1, [12] = 0xff } };

	memcpy(ip.b + 13, target.b + 13, 3);
	return ip;
}

/* guardrails.md 4: target in reach and on-link, our source here, our MAC, to the
 * solicited-node address or to the peer. */
bool look_solicitation(Look *l)
{
	Ip target = ip_from(6, l->body.p + 8), group = solicited_node(target);
	bool to_group = ip_eq(l->dst, group);

	l->rights = rules_peer(l->fc->rules, target);
	if (!l->rights || l->rights->need)
		return no(l, NOTSENT_POLICY, "the solicited neighbour is %s", rules_why_not(l->fc->rules, target));
	if (l->depth)
		return no(l, NOTSENT_FRAME, "a neighbour solicitation inside a tunnel");
	if (!to_group && !ip_eq(l->dst, target))
		return no(l, NOTSENT_FRAME, "a neighbour solicitation to another than its target");
	if (!is_on_link(l, target))
		return no(l, NOTSENT_FRAME, "the solicited neighbour is not on this link");
	if (!is_ours_here(l, l->src))
		return no(l, NOTSENT_SOURCE, "a neighbour solicitation from a source that is not ours here");
	if (!nd_options(l, 24, true))
		return false;
	l->v->tuple = (FlowTuple){ .src = l->src, .dst = target };
	l->v->hop_ip = target;
	l->v->hop = !l->in->link->ether ? HOP_NONE : to_group ? HOP_MAC : HOP_ROUTE;
	if (to_group)
		l->v->hop_mac = (Mac){ { 0x33, 0x33, group.b[12], group.b[13], group.b[14], group.b[15] } };
	return true;
}

/* ---- both families ---- */

static bool look_message(Look *l, const IcmpRow *row)
{
	uint8_t type = l->body.p[0];

	if (row->rule == ICMP_NEVER)
		return no(l, NOTSENT_POLICY, "ICMP%s type %u may not leave", l->version == 6 ? "v6" : "", type);
	if (row->rule == ICMP_QUERY)
		return look_query(l);
	set_tuple(l, 0);
	if (!rights_word(l->rights, row->word))
		return no(l, NOTSENT_POLICY, "ICMP%s type %u needs the word %s, in program and policy",
			  l->version == 6 ? "v6" : "", type, word_name(row->word));
	if (row->rule == ICMP_ERROR_RULE)
		return look_error(l);
	if (l->version == 6 && type >= RS && type <= REDIRECT6)
		return look_nd(l, type);
	return look_source(l);
}

bool look_icmp4(Look *l)
{
	if (l->body.n < 8)
		return no(l, NOTSENT_FRAME, "an ICMP header in %zu bytes", l->body.n);
	return look_message(l, &rows4[l->body.p[0]]);
}

bool look_icmp6(Look *l)
{
	if (l->body.n < 8)
		return no(l, NOTSENT_FRAME, "an ICMPv6 header in %zu bytes", l->body.n);
	return look_message(l, &rows6[l->body.p[0]]);
}
