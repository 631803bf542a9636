/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/frame_inside.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	ETHER_HEADER = 14,
	ETHER_LEAST = 60, /* without FCS: IEEE 802.3 3.2.8 */
	TAG = 4,
	TYPE_IP4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IP6 = 0x86dd,
	TYPE_TAG = 0x8100,
	TYPE_TAG_OUTER = 0x88a8,
	ARP_BYTES = 28,
};

bool no(Look *l, NotSent why, const char *fmt, ...)
{
	va_list ap;

	if (l->v->reason != NOTSENT_NONE)
		return false;
	l->v->reason = why;
	/* A port that was cut out of a range and a packet that is too long break no rule. */
	l->v->counts = why != NOTSENT_DENIED_PORT && why != NOTSENT_TOO_LONG;
	va_start(ap, fmt);
	vsnprintf(l->v->text, sizeof l->v->text, fmt, ap);
	va_end(ap);
	return false;
}

void frame_check_init(FrameCheck *fc, Arena *a, const Rules *r, const Owned *o, Flows *f)
{
	*fc = (FrameCheck){ .rules = r, .owned = o, .flows = f };
	frags_init(&fc->frags, a);
}

/* ---- Ethernet ---- */

typedef struct Ether {
	Mac dst, src;
	uint16_t tag[TAGS_MAX];
	unsigned ntags;
	uint16_t type;
	Bytes body;
	bool bad;
} Ether;

static Mac cur_mac(Cursor *c)
{
	Bytes b = cur_bytes(c, 6);
	Mac m = { { 0 } };

	if (b.n)
		memcpy(m.b, b.p, sizeof m.b);
	return m;
}

static bool is_tag(uint16_t type)
{
	return type == TYPE_TAG || type == TYPE_TAG_OUTER;
}

static Ether ether_read(Bytes data)
{
	Cursor c = cursor(data);
	Ether e = { 0 };

	e.dst = cur_mac(&c);
	e.src = cur_mac(&c);
	e.type = cur_be16(&c);
	while (is_tag(e.type) && e.ntags < TAGS_MAX) {
		e.tag[e.ntags++] = cur_be16(&c) & 0xfff;
		e.type = cur_be16(&c);
	}
	e.bad = c.bad;
	e.body = cur_rest(&c);
	return e;
}

static const Mac mac_all = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };

static bool mac_eq(Mac a, Mac b)
{
	return memcmp(a.b, b.b, sizeof a.b) == 0;
}

static bool zeros(Bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i])
			return false;
	return true;
}

/* ---- ARP ---- */

typedef struct Arp {
	uint16_t op;
	Mac hwsrc;
	Ip psrc, pdst;
	bool bad;
} Arp;

static Arp arp_read(Bytes body)
{
	static const uint8_t head[6] = { 0, 1, 8, 0, 6, 4 }; /* Ethernet, IPv4, their lengths: RFC 826 */
	Cursor c = cursor(body);
	Arp a = { 0 };

	a.bad = !bytes_eq(cur_bytes(&c, sizeof head), BYTES(head, sizeof head));
	a.op = cur_be16(&c);
	a.hwsrc = cur_mac(&c);
	a.psrc = ip4(cur_be32(&c));
	(void)cur_mac(&c); /* the answer's to fill in */
	a.pdst = ip4(cur_be32(&c));
	a.bad |= c.bad;
	return a;
}

static bool arp_is_request(const Look *l, const Arp *a)
{
	return a->op == 1 && is_ours_here(l, a->psrc) && !ip_eq(a->psrc, a->pdst);
}

/* Replies, announcements, probes: what makes others believe something (word
 * arp_claim).  An announcement is about an address, so that one has the word. */
static bool arp_claim(Look *l, const Arp *a)
{
	const Rules *r = l->fc->rules;
	bool announces = ip_eq(a->psrc, a->pdst), asks = ip4_num(a->psrc) == 0;

	if (a->op != 1 && a->op != 2)
		return no(l, NOTSENT_FRAME, "ARP operation %u", a->op);
	if (!l->rights && !announces)
		return no(l, NOTSENT_POLICY, "the ARP target is %s", rules_why_not(r, a->pdst));
	if (!(l->rights && rights_word(l->rights, WORD_ARP_CLAIM)) &&
	    !(announces && rules_own_word(r, a->psrc, WORD_ARP_CLAIM)))
		return no(l, NOTSENT_POLICY, "ARP replies and announcements need the word arp_claim");
	return asks || is_ours_here(l, a->psrc) || use_spoof(l, rules_spoof_ip(r, a->psrc)) ||
	       no(l, NOTSENT_SOURCE, "the ARP sender's address is not ours");
}

/* guardrails.md 4: who-has, Ether.src = hwsrc = our MAC, psrc = our address there,
 * pdst in reach and on-link, Ether.dst broadcast or the peer's. */
static bool check_arp(Look *l, const Ether *e)
{
	Arp a = arp_read(e->body);

	if (a.bad || (e->body.n > ARP_BYTES && !zeros(bytes_slice(e->body, ARP_BYTES, e->body.n))))
		return no(l, NOTSENT_FRAME, "no ARP message for IPv4 on Ethernet");
	if (!mac_eq(a.hwsrc, e->src))
		return no(l, NOTSENT_SOURCE, "ARP's sender MAC differs from Ethernet's");
	l->version = 4;
	l->src = a.psrc;
	l->dst = a.pdst;
	l->rights = rules_peer(l->fc->rules, a.pdst);
	if (!arp_is_request(l, &a)) {
		if (!arp_claim(l, &a))
			return false;
	} else if (!l->rights || l->rights->need) {
		return no(l, NOTSENT_POLICY, "the ARP target is %s", rules_why_not(l->fc->rules, a.pdst));
	}
	if (!is_on_link(l, a.pdst))
		return no(l, NOTSENT_FRAME, "the ARP target is not on this link");
	l->v->tuple = (FlowTuple){ .src = a.psrc, .dst = a.pdst };
	l->v->hop_ip = a.pdst;
	l->v->hop_mac = e->dst;
	l->v->hop = mac_eq(e->dst, mac_all) ? HOP_MAC : HOP_ROUTE;
	return true;
}

/* ---- an explicit Ethernet frame ---- */

static bool check_tags(Look *l)
{
	for (unsigned i = 0; i < l->ntags; i++) {
		bool listed = false;

		for (uint32_t j = 0; l->rights && j < l->rights->nvlan; j++)
			listed |= l->rights->vlan[j] == l->tag[i];
		if (!listed)
			return no(l, NOTSENT_POLICY, "VLAN %u needs the word vlan=[%u]", l->tag[i], l->tag[i]);
	}
	return true;
}

/* Ether.dst: what look_hop() says, if it says so; else the gate resolves the next
 * hop and frame_hop_ok() compares. */
static bool check_ether_dst(Look *l, const Ether *e)
{
	FrameVerdict *v = l->v;

	if (v->hop == HOP_MAC && !mac_eq(v->hop_mac, e->dst))
		return no(l, NOTSENT_FRAME, "Ether.dst is not the MAC of that destination");
	if (v->hop == HOP_ROUTE && (e->dst.b[0] & 1))
		return no(l, NOTSENT_FRAME, "Ether.dst is a group address and IP.dst is none");
	v->hop_mac = e->dst;
	return true;
}

static bool check_ether_ip(Look *l, const Ether *e, bool padded)
{
	unsigned version = e->body.n ? e->body.p[0] >> 4 : 0;

	/* EtherType equal to the IP version */
	if (version != (e->type == TYPE_IP4 ? 4 : 6))
		return no(l, NOTSENT_FRAME, "the EtherType says IPv%d, the packet IPv%u", e->type == TYPE_IP4 ? 4 : 6, version);
	if (!look_ip(l, e->body, padded))
		return false;
	if (!is_solicitation(l) && !l->rights->ether)
		return no(l, NOTSENT_POLICY, "the manifest has no explicit Ethernet frame to there");
	return check_ether_dst(l, e);
}

static bool check_ether(Look *l)
{
	Bytes data = l->in->data;
	Ether e = ether_read(data);

	l->v->was_ether = true;
	l->ether = true;
	if (!l->in->link->ether)
		return no(l, NOTSENT_FRAME, "the interface has no Ethernet frames");
	if (e.bad)
		return no(l, NOTSENT_FRAME, "an Ethernet frame of %zu bytes", data.n);
	if (!mac_claimable(l, e.src))
		return no(l, NOTSENT_SOURCE, "Ether.src is not our MAC");
	l->ntags = e.ntags;
	memcpy(l->tag, e.tag, sizeof l->tag);
	/* EtherType 0800, 86DD or 0806; tags and labels only by word */
	if (e.type != TYPE_IP4 && e.type != TYPE_IP6 && e.type != TYPE_ARP)
		return no(l, NOTSENT_FRAME, "EtherType 0x%04x", e.type);
	if (e.body.n > l->in->link->mtu && e.type == TYPE_ARP)
		return no(l, NOTSENT_TOO_LONG, "ARP above the MTU");
	bool padded = data.n <= ETHER_LEAST + e.ntags * TAG;
	bool ok = e.type == TYPE_ARP ? check_arp(l, &e) : check_ether_ip(l, &e, padded);

	if (ok && e.type == TYPE_ARP && e.body.n > ARP_BYTES && !padded)
		return no(l, NOTSENT_FRAME, "bytes behind the ARP message");
	if (ok && l->v->cut && e.ntags)
		return no(l, NOTSENT_TOO_LONG, "a tagged frame above the MTU is not cut");
	return ok && check_tags(l);
}

/* ---- from outside ---- */

bool frame_dst(EmitKind kind, Bytes data, Ip *ret_dst)
{
	uint16_t type = kind == EMIT_IP4 ? TYPE_IP4 : TYPE_IP6;

	if (kind == EMIT_ETHER) {
		Ether e = ether_read(data);

		if (e.bad)
			return false;
		data = e.body;
		type = e.type;
	}
	if (type == TYPE_IP4 && data.n >= 20)
		*ret_dst = ip_from(4, data.p + 16);
	else if (type == TYPE_IP6 && data.n >= 40)
		*ret_dst = ip_from(6, data.p + 24);
	else if (kind == EMIT_ETHER && type == TYPE_ARP && data.n >= ARP_BYTES)
		*ret_dst = ip_from(4, data.p + 24);
	else
		return false;
	return true;
}

static bool check_kind(Look *l)
{
	unsigned version = l->in->data.n ? l->in->data.p[0] >> 4 : 0;

	switch (l->in->kind) {
	case EMIT_IP4:
	case EMIT_IP6:
		if (version != (unsigned)l->in->kind)
			return no(l, NOTSENT_FRAME, "IP version %u where %u is due", version, (unsigned)l->in->kind);
		return look_ip(l, l->in->data, false);
	case EMIT_ETHER:
		return check_ether(l);
	}
	return no(l, NOTSENT_FRAME, "a frame of no known kind");
}

bool frame_check(FrameCheck *fc, const FrameIn *in, FrameVerdict *ret_v)
{
	Look l = { .fc = fc, .in = in, .v = ret_v };

	memset(ret_v, 0, sizeof *ret_v);
	ret_v->spoof = -1;
	/* interface in the manifest */
	if (!in->link)
		return no(&l, NOTSENT_POLICY, "no interface of the manifest");
	return check_kind(&l);
}

bool frame_hop_ok(FrameVerdict *v, Mac resolved)
{
	if (!v->was_ether || v->hop != HOP_ROUTE || mac_eq(v->hop_mac, resolved))
		return true;
	v->reason = NOTSENT_FRAME;
	v->counts = true;
	snprintf(v->text, sizeof v->text, "Ether.dst is not the next hop's MAC");
	return false;
}
