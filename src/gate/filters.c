/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/filters.h"

#include "sys/pcap_lib.h"

#include <netinet/in.h>

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter), "one BPF in kernel and libpcap");

enum {
	ETHER_HEAD = 14,
	NETS4_MOST = 40, /* 8 instructions each */
	NETS6_MOST = 12, /* up to 26 each */
	PORTS_MOST = 64, /* 2 each */
	FREE_FROM = 61000, /* where the ports lie that nobody named, loader_plan.c */
	ALL = 0xffffffff,
};

/* Words that let anybody answer: no list of peers then. */
#define WIDE (1u << WORD_BROADCAST | 1u << WORD_MULTICAST)

/* ---- the capture's own filter ---- */

static bool compile(Str text, bool ether, Arena *a, PlanFilter *ret, Str *ret_why)
{
	struct bpf_program prog = { 0 };
	const char *fault = NULL;
	char *z = arena_copy(a, text.p, text.n);

	if (!pcap_lib_compile(z, ether, &prog, &fault)) {
		*ret_why = str_printf(a, "capture filter \"%s\": %s", z, fault);
		return false;
	}
	if (prog.bf_len <= PLAN_FILTER / 2) {
		ret->n = prog.bf_len;
		memcpy(ret->code, prog.bf_insns, prog.bf_len * sizeof *ret->code);
	} else {
		*ret_why = str_printf(a, "capture filter \"%s\" is too long", z);
	}
	pcap_lib_free(&prog);
	return ret->n > 0;
}

bool filters_capture(const Rules *r, Arena *a, FrameFilter *ret_f, Str *ret_why)
{
	*ret_f = (FrameFilter){ .on = r->captures, .all = r->captures && !r->capture_filter.n };
	if (!ret_f->on || ret_f->all)
		return true;
	for (int i = 0; i < PLAN_LINKS; i++) {
		ret_f->code[i] = arena_new(a, PlanFilter);
		if (compile(r->capture_filter, i == PLAN_ETHER, a, ret_f->code[i], ret_why))
			continue;
		if (i == PLAN_ETHER)
			return false;
		/* ARP or tags: libpcap refuses what no frame of such a link can be. */
		ret_f->code[i]->code[ret_f->code[i]->n++] = (struct sock_filter){ .code = BPF_RET | BPF_K, .k = 0 };
		*ret_why = (Str){ 0 };
	}
	return true;
}

bool filter_admits(const FrameFilter *f, Bytes frame, uint32_t orig_len, bool ether)
{
	if (!f->on || f->all)
		return f->on;
	return pcap_lib_run((const struct bpf_insn *)(const void *)f->code[ether ? PLAN_ETHER : PLAN_BARE]->code,
			    frame, orig_len);
}

/* ---- the kernel's filter ---- */

typedef struct Asm {
	PlanFilter *f;
	bool full;
} Asm;

static uint32_t put(Asm *s, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (s->f->n == PLAN_FILTER) {
		s->full = true;
		return 0;
	}
	s->f->code[s->f->n] = (struct sock_filter){ code, jt, jf, k };
	return s->f->n++;
}

static void load(Asm *s, uint16_t size, uint32_t off)
{
	put(s, BPF_LD | BPF_ABS | size, 0, 0, off);
}

static void pass(Asm *s)
{
	put(s, BPF_RET | BPF_K, 0, 0, ALL);
}

/* If A is k: the frame passes. */
static void pass_if(Asm *s, uint32_t k)
{
	put(s, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	pass(s);
}

/* A jump over what follows unless A is k; closed by skip_end(). */
static uint32_t skip_unless(Asm *s, uint32_t k)
{
	put(s, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, k);
	return put(s, BPF_JMP | BPF_JA, 0, 0, 0);
}

static void skip_end(Asm *s, uint32_t at)
{
	s->f->code[at].k = s->f->n - at - 1;
}

static uint32_t mask32(unsigned bits)
{
	return bits == 0 ? 0 : ALL << (32 - (bits > 32 ? 32 : bits));
}

/* Passes if the address at `off` lies in the net. */
static void pass_net(Asm *s, Net net, uint32_t off)
{
	unsigned words = (unsigned)ip_len(net.ip) / 4;
	uint32_t fail[4];
	unsigned n = 0;

	for (unsigned w = 0; w < words && (w == 0 || net.bits > w * 32); w++) {
		uint32_t mask = mask32(net.bits > w * 32 ? net.bits - w * 32 : 0);

		load(s, BPF_W, off + 4 * w);
		if (mask != ALL)
			put(s, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
		fail[n++] = put(s, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, get_be32(net.ip.b + 4 * w) & mask);
	}
	pass(s);
	while (n--)
		s->f->code[fail[n]].jf = (uint8_t)(s->f->n - fail[n] - 1);
}

/* ---- peers as nets ---- */

typedef struct NetList {
	Net net[NETS4_MOST];
	unsigned n, most;
	bool all; /* too many, or anybody may answer */
} NetList;

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

	while (!l->all) {
		Net n = net_at(lo, hi);

		if (l->n == l->most) {
			l->all = true;
			return;
		}
		l->net[l->n++] = n;
		net_range(n, &first, &last);
		if (ip_cmp(last, hi) >= 0 || !ip_add(last, 1, &lo))
			return;
	}
}

static void peers(const Rules *r, uint8_t v, NetList *l)
{
	for (uint32_t i = 0; v == 4 && i < r->seg4.n; i++) {
		l->all = l->all || r->seg4.p[i].rights->words & WIDE;
		range_add(l, ip4(r->seg4.p[i].lo), ip4(r->seg4.p[i].hi));
	}
	for (uint32_t i = 0; v == 6 && i < r->seg6.n; i++) {
		l->all = l->all || r->seg6.p[i].rights->words & WIDE;
		range_add(l, ip_of_num(6, r->seg6.p[i].lo), ip_of_num(6, r->seg6.p[i].hi));
	}
	for (uint32_t i = 0; i < r->listen.n; i++)
		if (r->listen.p[i].lo.v == v)
			range_add(l, r->listen.p[i].lo, r->listen.p[i].hi);
}

/* A holds the protocol: ICMP comes from any router; what stands behind an IPv6
 * extension header is not looked for. */
static void pass_icmp(Asm *s, uint8_t v)
{
	static const uint8_t v6[] = { IPPROTO_ICMPV6, IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT,
				      IPPROTO_DSTOPTS };

	if (v == 4)
		pass_if(s, IPPROTO_ICMP);
	for (size_t i = 0; v == 6 && i < sizeof v6; i++)
		pass_if(s, v6[i]);
}

static void pass_peers(Asm *s, const Rules *r, uint8_t v, uint32_t l3)
{
	NetList l = { .most = v == 4 ? NETS4_MOST : NETS6_MOST };
	uint32_t src = l3 + (v == 4 ? 12 : 8), dst = l3 + (v == 4 ? 16 : 24);

	peers(r, v, &l);
	load(s, BPF_B, l3 + (v == 4 ? 9 : 6));
	pass_icmp(s, v);
	if (l.all)
		pass(s);
	for (unsigned i = 0; i < l.n && !l.all; i++) {
		pass_net(s, l.net[i], src);
		pass_net(s, l.net[i], dst);
	}
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

/* A holds the destination port. */
static void pass_ports(Asm *s, const Plan *plan)
{
	unsigned n = 0;

	put(s, BPF_JMP | BPF_JGE | BPF_K, 0, 1, FREE_FROM);
	pass(s);
	for (uint32_t i = 0; i < plan->nholds; i++) {
		const Held *h = &plan->hold[i].held;

		if (!has_ports(h->proto) || h->port >= FREE_FROM)
			continue;
		if (n++ == PORTS_MOST) {
			pass(s);
			return;
		}
		pass_if(s, h->port);
	}
}

/* TCP and UDP, first fragments, to a port that can be ours. */
static void pass_own(Asm *s, const Plan *plan, uint8_t v, uint32_t l3)
{
	static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP };

	for (size_t i = 0; i < sizeof protos; i++) {
		uint32_t skip, fragment = 0;

		load(s, BPF_B, l3 + (v == 4 ? 9 : 6));
		skip = skip_unless(s, protos[i]);
		if (v == 4) {
			load(s, BPF_H, l3 + 6);
			put(s, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0x1fff);
			fragment = skip_unless(s, 0);
			put(s, BPF_LDX | BPF_B | BPF_MSH, 0, 0, l3); /* X: the header's length */
			put(s, BPF_LD | BPF_IND | BPF_H, 0, 0, l3 + 2);
		} else {
			load(s, BPF_H, l3 + 40 + 2);
		}
		pass_ports(s, plan);
		if (fragment)
			skip_end(s, fragment);
		skip_end(s, skip);
	}
}

/* The kernel took the outer tag off before it filters: a filter that asks for it
 * can only be run later, on the frame as it was. */
static bool asks_vlan(Str filter)
{
	return memmem(filter.p, filter.n, "vlan", 4) != NULL;
}

static void put_capture(Asm *s, const Rules *r, const FrameFilter *capture, int link)
{
	const PlanFilter *c = capture->code[link];

	if (capture->on && (capture->all || asks_vlan(r->capture_filter)))
		pass(s);
	else if (capture->on)
		for (uint32_t i = 0; i < c->n; i++)
			put(s, c->code[i].code, c->code[i].jt, c->code[i].jf, c->code[i].k);
	else
		put(s, BPF_RET | BPF_K, 0, 0, 0);
}

static void assemble(Asm *s, const Rules *r, const FrameFilter *capture, const Plan *plan, int link)
{
	bool ether = link == PLAN_ETHER;
	uint32_t l3 = ether ? ETHER_HEAD : 0, skip;

	for (int v = 4; v <= 6; v += 2) {
		load(s, ether ? BPF_H : BPF_B, ether ? 12 : 0);
		if (ether && v == 4)
			pass_if(s, 0x0806); /* ARP */
		if (!ether)
			put(s, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf0);
		skip = skip_unless(s, ether ? (v == 4 ? 0x0800 : 0x86dd) : (v == 4 ? 0x40 : 0x60));
		pass_peers(s, r, (uint8_t)v, l3);
		pass_own(s, plan, (uint8_t)v, l3);
		skip_end(s, skip);
	}
	put_capture(s, r, capture, link);
}

void filters_receive(const Rules *r, const FrameFilter *capture, Plan *plan)
{
	for (int link = 0; link < PLAN_LINKS; link++) {
		Asm s = { .f = &plan->filter[link] };

		s.f->n = 0;
		assemble(&s, r, capture, plan, link);
		if (s.full) { /* the most that the lists above can need is less */
			s.f->n = 0;
			pass(&s);
		}
	}
}
