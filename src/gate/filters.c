/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/filters.h"

#include <pcap/pcap.h>
#include <stdio.h>

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter), "one BPF in kernel and libpcap");

enum { NETS_MOST = 48, WIDE = 1 << WORD_BROADCAST | 1 << WORD_MULTICAST };

static bool compile(Str text, bool ether, Arena *a, PlanFilter *ret, Str *ret_why)
{
	pcap_t *p = pcap_open_dead(ether ? DLT_EN10MB : DLT_RAW, 262144);
	struct bpf_program prog;
	char *z = arena_copy(a, text.p ? text.p : "", text.n);
	bool ok = p && pcap_compile(p, &prog, z, 1, PCAP_NETMASK_UNKNOWN) == 0;

	if (!ok) {
		*ret_why = str_printf(a, "capture filter \"%s\": %s", z, p ? pcap_geterr(p) : "no memory");
	} else if (prog.bf_len > PLAN_FILTER) {
		*ret_why = str_printf(a, "capture filter \"%s\" needs %u instructions, more than %d", z, prog.bf_len,
				      PLAN_FILTER);
		ok = false;
	} else {
		ret->n = prog.bf_len;
		memcpy(ret->code, prog.bf_insns, prog.bf_len * sizeof *ret->code);
	}
	if (ret->n || !ok)
		pcap_freecode(&prog);
	if (p)
		pcap_close(p);
	return ok;
}

/* ---- peers as nets ---- */

typedef struct NetList {
	Sb text;
	unsigned n;
} NetList;

static void net_add(NetList *l, Net net)
{
	char t[NET_TEXT];

	net_format(net, t);
	sb_printf(&l->text, "%snet %s", l->n++ ? " or " : "", t);
}

/* The largest net that starts at lo and ends by hi. */
static Net net_at(Ip lo, Ip hi)
{
	Net n = { lo, (uint8_t)(ip_len(lo) * 8) };

	while (n.bits > 0) {
		Net wider = { lo, (uint8_t)(n.bits - 1) };
		Ip first, last;

		net_range(wider, &first, &last);
		if (!ip_eq(first, lo) || ip_cmp(last, hi) > 0)
			break;
		n = wider;
	}
	return n;
}

static void range_add(NetList *l, Ip lo, Ip hi)
{
	Ip first, last;

	while (l->n <= NETS_MOST) {
		Net n = net_at(lo, hi);

		net_add(l, n);
		net_range(n, &first, &last);
		if (ip_cmp(last, hi) >= 0 || !ip_add(last, 1, &lo))
			return;
	}
}

static Ip ip_of_u128(unsigned __int128 v)
{
	Ip ip = { .v = 6 };

	for (int i = 15; i >= 0; i--, v >>= 8)
		ip.b[i] = (uint8_t)v;
	return ip;
}

/* " or (ip and (net ...))"; too many, or anybody may answer: " or ip". */
static void peers_text(const Rules *r, uint8_t v, Arena *a, Sb *out)
{
	NetList l = { .text = sb(a) };
	bool wide = false;

	for (uint32_t i = 0; v == 4 && i < r->seg4.n; i++) {
		wide = wide || r->seg4.p[i].rights->words & WIDE;
		range_add(&l, ip4(r->seg4.p[i].lo), ip4(r->seg4.p[i].hi));
	}
	for (uint32_t i = 0; v == 6 && i < r->seg6.n; i++) {
		wide = wide || r->seg6.p[i].rights->words & WIDE;
		range_add(&l, ip_of_u128(r->seg6.p[i].lo), ip_of_u128(r->seg6.p[i].hi));
	}
	for (uint32_t i = 0; i < r->listen.n; i++)
		if (r->listen.p[i].lo.v == v)
			range_add(&l, r->listen.p[i].lo, r->listen.p[i].hi);
	if (wide || l.n > NETS_MOST)
		sb_printf(out, " or %s", v == 4 ? "ip" : "ip6");
	else if (l.n)
		sb_printf(out, " or (%s and (%.*s))", v == 4 ? "ip" : "ip6", STR_ARG(sb_done(&l.text)));
}

static bool has_vlan(Str filter)
{
	return memmem(filter.p, filter.n, "vlan", 4) != NULL;
}

bool filters_receive(const Rules *r, Arena *a, PlanFilter ret[PLAN_LINKS], Str *ret_why)
{
	Sb text = sb(a);

	/* errors come from any router, ARP and ND answers are ICMPv6 and ARP */
	sb_cstr(&text, "arp or icmp or icmp6");
	peers_text(r, 4, a, &text);
	peers_text(r, 6, a, &text);
	if (r->captures && r->capture_filter.n)
		sb_printf(&text, " or (%.*s)", STR_ARG(r->capture_filter));
	/* the kernel took the tag off before it filters: only the exact filter sees it */
	if (r->captures && (!r->capture_filter.n || has_vlan(r->capture_filter)))
		text = sb(a);
	return compile(sb_done(&text), false, a, &ret[PLAN_BARE], ret_why) &&
	       compile(sb_done(&text), true, a, &ret[PLAN_ETHER], ret_why);
}

bool filters_capture(const Rules *r, Arena *a, FrameFilter *ret_f, Str *ret_why)
{
	*ret_f = (FrameFilter){ .on = r->captures, .all = r->captures && !r->capture_filter.n };
	if (!ret_f->on || ret_f->all)
		return true;
	for (int i = 0; i < PLAN_LINKS; i++) {
		ret_f->code[i] = arena_new(a, PlanFilter);
		if (!compile(r->capture_filter, i == PLAN_ETHER, a, ret_f->code[i], ret_why))
			return false;
	}
	return true;
}

bool filter_admits(const FrameFilter *f, Bytes frame, uint32_t orig_len, bool ether)
{
	const PlanFilter *code = f->code[ether ? PLAN_ETHER : PLAN_BARE];

	if (!f->on || f->all)
		return f->on;
	return bpf_filter((const struct bpf_insn *)(const void *)code->code, frame.p, orig_len,
			  (u_int)frame.n) != 0;
}
