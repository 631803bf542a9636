/* SPDX-License-Identifier: Apache-2.0
 *
 * Peer, source, protocol and port of a packet that is to leave.
 */
#include "deal/ports.h"
#include "gate/frame_inside.h"


#include <netinet/in.h>

enum { SYN = 2, FIN = 1, RST = 4, ACK = 16, SCTP_INIT = 1 };

/* ---- whom ---- */

static bool needs(Look *l, ReachWord w)
{
	return rights_word(l->rights, w) ||
	       no(l, NOTSENT_POLICY, "this packet needs the word %s, in program and policy", word_name(w));
}

static bool in_reach(Look *l, Ip ip)
{
	char text[IP_TEXT];

	if (rules_peer(l->fc->rules, ip))
		return true;
	ip_format(ip, text);
	return no(l, NOTSENT_POLICY, "%s is %s", text, rules_why_not(l->fc->rules, ip));
}

/* Who may call is reached by answers to his calls alone, if nothing else reaches him. */
static const Rights *caller_rights(const Look *l)
{
	static const Rights none;
	bool tcp = l->proto == IPPROTO_TCP && !l->frag && l->depth == 0 && l->body.n >= 20;

	return tcp && rules_listens(l->fc->rules, get_be16(l->body.p), l->dst) ? &none : NULL;
}

bool look_peer(Look *l)
{
	l->rights = rules_peer(l->fc->rules, l->dst);
	if (!l->rights)
		l->rights = caller_rights(l);
	/* destination not multicast, broadcast, directed broadcast, v4-embedding: such
	 * addresses have no rights, or only with their word */
	if (!l->rights)
		return in_reach(l, l->dst);
	l->v->to_many |= l->rights->need != 0;
	if (l->options && !needs(l, WORD_OPTIONS))
		return false;
	if (l->frag && !needs(l, WORD_FRAGMENTS))
		return false;
	for (unsigned i = 0; i < l->nvia; i++)
		if (!in_reach(l, l->via[i]) || rules_peer(l->fc->rules, l->via[i])->need)
			return no(l, NOTSENT_POLICY, "a source route through addresses that are not in reach");
	return true;
}

/* ---- from where ---- */

bool is_ours_here(const Look *l, Ip ip)
{
	for (uint32_t i = 0; i < l->in->link->nown; i++)
		if (ip_eq(l->in->link->own[i].ip, ip))
			return true;
	return false;
}

bool is_on_link(const Look *l, Ip ip)
{
	for (uint32_t i = 0; i < l->in->link->nown; i++) {
		const OwnAddr *o = &l->in->link->own[i];
		Ip first, last;

		net_range((Net){ o->ip, o->bits }, &first, &last);
		if (ip.v == o->ip.v && ip_cmp(first, ip) <= 0 && ip_cmp(ip, last) <= 0)
			return true;
	}
	return false;
}

bool use_spoof(Look *l, int right)
{
	if (right < 0 || (l->v->spoof >= 0 && l->v->spoof != right))
		return false;
	l->v->spoof = right;
	return true;
}

bool mac_claimable(Look *l, Mac m)
{
	return memcmp(m.b, l->in->link->mac.b, sizeof m.b) == 0 || use_spoof(l, rules_spoof_mac(l->fc->rules, m));
}

/* An address of another link of ours may be a source, but not one that is none
 * beyond its own. */
static bool fits_link(const Look *l, Ip ip)
{
	if (ip.v == 4)
		return is_ours_here(l, ip) ||
		       (ip.b[0] != 0 && ip.b[0] != 127 && !(ip.b[0] == 169 && ip.b[1] == 254));
	return is_ours_here(l, ip) || (ip.b[0] != 0xfe && ip.b[0] != 0);
}

static bool spoofed(Look *l)
{
	int right = rules_spoof_ip(l->fc->rules, l->src);
	char text[IP_TEXT];

	if (use_spoof(l, right)) {
		/* an answer to all from one who did not ask */
		return !l->v->to_many || no(l, NOTSENT_POLICY, "a spoofed packet to many");
	}
	ip_format(l->src, text);
	return no(l, NOTSENT_SOURCE, "the source %s is not ours", text);
}

bool look_source(Look *l)
{
	if (rules_own(l->fc->rules, l->src) && fits_link(l, l->src))
		return true;
	return spoofed(l);
}

/* RFC 2131 4.1: who has no address yet asks for one from 0.0.0.0. */
static bool asks_for_address(const Look *l, uint8_t proto, uint16_t port)
{
	enum { CLIENT = 68, SERVER = 67 };

	return proto == IPPROTO_UDP && port == CLIENT && l->version == 4 && ip4_num(l->src) == 0 &&
	       get_be16(l->body.p + 2) == SERVER;
}

bool look_owned(Look *l, uint8_t proto, uint16_t port)
{
	char text[IP_TEXT];

	if (owned_has(l->fc->owned, proto, l->src, port) && (fits_link(l, l->src) || asks_for_address(l, proto, port)))
		return true;
	if (rules_spoof_ip(l->fc->rules, l->src) >= 0)
		return spoofed(l);
	ip_format(l->src, text);
	return no(l, NOTSENT_SOURCE, "%s %s %u is not held by us", text, proto == IPPROTO_TCP || proto == IPPROTO_UDP
									? "port" : "ICMP id", port);
}

/* ---- to which port ---- */

/* guardrails.md 3: a port of a range that was cut out of it is `denied port`. */
static bool look_port(Look *l, uint8_t proto, uint16_t port)
{
	bool tcp = proto == IPPROTO_TCP;
	const PortRow *row;

	if (ports_have(tcp ? &l->rights->tcp : &l->rights->udp, port))
		return true;
	row = port_row(proto, port);
	if (!ports_have(tcp ? &l->rights->asked_tcp : &l->rights->asked_udp, port))
		return no(l, NOTSENT_POLICY, "%s port %u is not in the manifest for that peer", tcp ? "TCP" : "UDP", port);
	if (row && row->need == NEED_NAME)
		return no(l, NOTSENT_DENIED_PORT, "%s port %u (%s) must be named by itself, in program and policy",
			  tcp ? "TCP" : "UDP", port, row->what);
	if (row)
		return no(l, NOTSENT_DENIED_PORT, "%s port %u (%s) needs the word %s", tcp ? "TCP" : "UDP", port, row->what,
			  word_name(row->need));
	return no(l, NOTSENT_DENIED_PORT, "%s port %u is closed by policy", tcp ? "TCP" : "UDP", port);
}

static void set_tuple(Look *l, uint16_t sport, uint16_t dport)
{
	if (l->depth == 0)
		l->v->tuple = (FlowTuple){ l->src, l->dst, l->proto, sport, dport };
}

/* ---- TCP ---- */

/* A segment of a connection that a peer opened to a port on which we listen: *ret_s is what
 * the callers count. */
static bool answers_caller(const Look *l, uint16_t sport, const FlowTuple *t, CallSegment *ret_s)
{
	if (l->depth || l->frag || !rules_listens(l->fc->rules, sport, l->dst))
		return false;
	*ret_s = flows_call(l->fc->flows, t, l->body, l->packet_bytes);
	return callers_find(&l->fc->flows->callers, ret_s->key) && (ret_s->flags & (SYN | ACK)) != SYN;
}

/* guardrails.md 3: before its handshake is finished a peer gets no more than came from it. */
static bool look_caller(Look *l, const CallSegment *s)
{
	return callers_may_send(&l->fc->flows->callers, s) ||
	       no(l, NOTSENT_DENIED_PORT, "more bytes than came from a peer whose handshake is not finished");
}

/* Sent without the budget: one bare reset a flow that we opened, or that `caller` (not NULL) opened to us. */
static bool is_cleanup(Look *l, const FlowTuple *t, const CallSegment *caller)
{
	uint8_t flags = l->body.p[13];

	if (l->depth || l->in->purpose != PURPOSE_CLEANUP || !(flags & RST) || flags & (SYN | FIN) || l->body.n != 20 ||
	    l->frag || l->options)
		return false;
	return caller ? callers_may_reset(&l->fc->flows->callers, caller->key) : flows_was_opened(l->fc->flows, t);
}

static bool look_tcp(Look *l)
{
	Bytes b = l->body;
	uint16_t sport, dport;
	size_t head;

	/* TCP data offset within the packet; a first fragment holds the whole header */
	head = b.n >= 20 ? (b.p[12] >> 4) * 4u : 0;
	if (head < 20 || head > b.n)
		return no(l, NOTSENT_FRAME, "a TCP header of %zu bytes in %zu", head, b.n);
	sport = get_be16(b.p);
	dport = get_be16(b.p + 2);
	uint8_t flags = b.p[13];
	FlowTuple t = { l->src, l->dst, IPPROTO_TCP, sport, dport };

	set_tuple(l, sport, dport);
	if (!look_owned(l, IPPROTO_TCP, sport))
		return false;
	CallSegment call;
	bool caller = answers_caller(l, sport, &t, &call);
	if (caller ? !look_caller(l, &call) : !look_port(l, IPPROTO_TCP, dport))
		return false;
	/* guardrails.md 3: no RST, FIN, SYN-ACK from a spoofed source */
	if (l->v->spoof >= 0 && ((flags & (RST | FIN)) || (flags & (SYN | ACK)) == (SYN | ACK)))
		return no(l, NOTSENT_POLICY, "RST, FIN or SYN-ACK from a spoofed source");
	/* every segment with SYN that does not answer a SYN passed up in this run */
	if ((flags & SYN) && !((flags & ACK) && flows_answers_syn(l->fc->flows, &t)))
		l->v->syn = true;
	l->v->cleanup = is_cleanup(l, &t, caller ? &call : NULL);
	l->v->called = caller && l->v->cleanup;
	return true;
}

/* ---- UDP ---- */

/* Datagrams whose content decides can't be judged in pieces. */
static bool look_udp_fragment(Look *l, uint16_t dport)
{
	const PortRow *row = port_row(IPPROTO_UDP, dport);

	if (dport == 53 || dport == 5353 || (dport == 123 && !l->rights->ntp_control) ||
	    (dport == 161 && !rights_word(l->rights, WORD_SNMP_WRITE)) ||
	    (row && (row->need == WORD_DHCP || row->need == WORD_TUNNEL)))
		return no(l, NOTSENT_FRAME, "a datagram to UDP port %u in fragments", dport);
	return true;
}

static bool look_udp(Look *l)
{
	Bytes b = l->body;
	const char *fault;

	if (b.n < 8)
		return no(l, NOTSENT_FRAME, "a UDP header in %zu bytes", b.n);
	uint16_t sport = get_be16(b.p), dport = get_be16(b.p + 2), len = get_be16(b.p + 4);

	/* 8 <= UDP length <= payload; of fragments the length tells of the whole */
	if (len < 8 || (!l->frag && len > b.n))
		return no(l, NOTSENT_FRAME, "a UDP length of %u in %zu bytes", len, b.n);
	set_tuple(l, sport, dport);
	if (!look_owned(l, IPPROTO_UDP, sport) || !look_port(l, IPPROTO_UDP, dport))
		return false;
	if (l->v->spoof >= 0 && port_amplifies(dport))
		return no(l, NOTSENT_POLICY, "UDP port %u amplifies: not from a spoofed source", dport);
	if (l->frag)
		return look_udp_fragment(l, dport);
	Bytes data = bytes_slice(b, 8, len);

	if (is_udp_tunnel(dport))
		return look_udp_tunnel(l, dport, data);
	fault = payload_fault(l, dport, data);
	return !fault || no(l, NOTSENT_POLICY, "UDP port %u: %s", dport, fault);
}

/* ---- the rest ---- */

/* Later fragments: the first one is judged by its header, these by what is left. */
static bool look_later_fragment(Look *l)
{
	ReachWord word = proto_word(l->proto);
	bool ok;

	set_tuple(l, 0, 0);
	if (!look_source(l))
		return false;
	switch (l->proto) {
	case IPPROTO_TCP:
		ok = l->rights->tcp.n > 0;
		break;
	case IPPROTO_UDP:
		ok = l->rights->udp.n > 0;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		ok = l->rights->icmp;
		break;
	default:
		ok = word == WORD_TUNNEL ? false : word != WORD_N ? rights_word(l->rights, word)
								 : rights_other(l->rights, l->proto);
	}
	return ok || no(l, NOTSENT_POLICY, "fragments of IP protocol %u are not in the manifest for that peer", l->proto);
}

static bool is_ipv6_only(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_DSTOPTS || proto == IPPROTO_ICMPV6;
}

/* RFC 9260 3.3.2: whether a packet asks for an association.  INIT must stand alone,
 * but who knows what a receiver takes; what can't be walked to its end may be one. */
static bool sctp_opens(Bytes packet)
{
	enum { HEADER = 12 };
	Cursor c = cursor(packet);

	cur_skip(&c, HEADER);
	if (cur_left(&c) == 0)
		return true;
	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c);

		cur_skip(&c, 1);
		size_t len = cur_be16(&c), pad = (4 - len % 4) % 4;

		if (c.bad || type == SCTP_INIT || len < 4 || len - 4 > cur_left(&c))
			return true;
		cur_skip(&c, len - 4);
		cur_skip(&c, pad < cur_left(&c) ? pad : cur_left(&c));
	}
	return false;
}

static bool look_other(Look *l)
{
	ReachWord word = proto_word(l->proto);

	set_tuple(l, 0, 0);
	if (l->version == 4 ? is_ipv6_only(l->proto) : l->proto == IPPROTO_ICMP)
		return no(l, NOTSENT_FRAME, "IP protocol %u in IPv%u", l->proto, l->version);
	if (word == WORD_TUNNEL)
		return needs(l, WORD_TUNNEL) && look_source(l) && look_tunnel(l);
	if (word != WORD_N)
		return needs(l, word) && look_source(l);
	if (!rights_other(l->rights, l->proto))
		return no(l, NOTSENT_POLICY, "IP protocol %u needs the word other=[%u]", l->proto, l->proto);
	/* guardrails.md 3: SCTP's INIT counts as a connection attempt */
	if (l->proto == IPPROTO_SCTP && sctp_opens(l->body))
		l->v->syn = true;
	return look_source(l);
}

/* RFC 4302 in IPv4: judged as what it wraps. */
static bool unwrap_ah(Look *l)
{
	size_t len;

	if (!rights_other(l->rights, IPPROTO_AH))
		return no(l, NOTSENT_POLICY, "an authentication header needs the word other=[51]");
	len = l->body.n >= 8 ? (l->body.p[1] + 2u) * 4 : 0;
	if (len < 8 || len > l->body.n)
		return no(l, NOTSENT_FRAME, "an authentication header that is cut");
	l->proto = l->body.p[0];
	l->body = bytes_slice(l->body, len, l->body.n);
	return l->proto != IPPROTO_AH || no(l, NOTSENT_FRAME, "two authentication headers");
}

bool look_transport(Look *l)
{
	if (l->frag_off)
		return look_later_fragment(l);
	if (l->proto == IPPROTO_AH && !unwrap_ah(l))
		return false;
	switch (l->proto) {
	case IPPROTO_TCP:
		return look_tcp(l);
	case IPPROTO_UDP:
		return look_udp(l);
	case IPPROTO_ICMP:
		return l->version == 4 ? look_icmp4(l) : look_other(l);
	case IPPROTO_ICMPV6:
		return l->version == 6 ? look_icmp6(l) : look_other(l);
	default:
		return look_other(l);
	}
}

/* ---- the way on the link ---- */

/* RFC 1112 6.4, RFC 2464 7: group addresses have their MAC by rule; broadcast has one. */
void look_hop(Look *l)
{
	FrameVerdict *v = l->v;

	if (l->depth)
		return;
	v->hop_ip = l->dst;
	v->hop = l->in->link->ether ? HOP_ROUTE : HOP_NONE;
	if (v->hop == HOP_NONE || !l->rights->need)
		return;
	v->hop = HOP_MAC;
	if (l->rights->need >> WORD_BROADCAST & 1)
		v->hop_mac = (Mac){ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	else if (l->version == 4)
		v->hop_mac = (Mac){ { 0x01, 0x00, 0x5e, l->dst.b[1] & 0x7f, l->dst.b[2], l->dst.b[3] } };
	else
		v->hop_mac = (Mac){ { 0x33, 0x33, l->dst.b[12], l->dst.b[13], l->dst.b[14], l->dst.b[15] } };
}
