/* SPDX-License-Identifier: Apache-2.0
 *
 * Which interfaces, which ports, which filters: all that the opener is to open,
 * for nothing is opened later but ports.
 */
#include "gate/loader_inside.h"

#include "base/exits.h"
#include "base/rng.h"

#include <netinet/in.h>
#include <sys/random.h>

enum {
	FEW = 16,	     /* so many addresses of a range are asked one by one */
	FREE_FROM = LOADER_FREE_FROM,
	FREE_PORTS = 65536 - FREE_FROM,
	ICMP_IDS = 4,
	RX_LEAST = 4 << 20, RX_MOST = 64 << 20, RX_PER_FRAME = 2304, /* an skb of one frame */
	TX_BUFFER = 32 << 20,
};

/* ---- interfaces ---- */

static void use_iface(GateIface *i)
{
	if (i && link_is_usable(&i->link))
		i->may_send = true;
}

static void use_all(Loader *l)
{
	Links *k = &l->g->links;

	for (unsigned i = 0; i < k->n; i++)
		if (k->iface[i].link.up && !k->iface[i].link.loopback)
			use_iface(&k->iface[i]);
}

static void note_route(Loader *l, const Hop *h)
{
	char dst[IP_TEXT], src[IP_TEXT] = "-", gw[IP_TEXT];

	ip_format(h->dst, dst);
	if (h->src.v)
		ip_format(h->src, src);
	ip_format(h->next, gw);
	if (h->reason != NOTSENT_NONE)
		gate_note(l->fds.cmd, 1, "%s: %s", dst, notsent_text(h->reason));
	else
		gate_note(l->fds.cmd, 0, "%s leaves by %s, source %s, %s%s", dst, h->iface->link.name, src,
			  h->gateway ? "gateway " : "on link", h->gateway ? gw : "");
}

/* The kernel's own answer for each of a few addresses; for a net, in which any
 * route may hide, all interfaces that are up: a superset, without a dump of the
 * route table (which can take minutes). */
static void use_range(Loader *l, Ip lo, Ip hi)
{
	Ip last;

	if (!ip_add(lo, FEW - 1, &last) || ip_cmp(hi, last) > 0) {
		use_all(l);
		return;
	}
	for (Ip ip = lo; ip_cmp(ip, hi) <= 0;) {
		const Hop *h = links_hop(&l->g->links, ip, 0, 0);

		use_iface(h->iface);
		if (ip_eq(lo, hi))
			note_route(l, h);
		if (!ip_add(ip, 1, &ip))
			break;
	}
}

static bool use_named(Loader *l)
{
	for (uint32_t i = 0; i < l->manifest.ifaces.n; i++) {
		Str name = l->manifest.ifaces.p[i];
		GateIface *k = links_by_name(&l->g->links, name);

		if (!k)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "there is no interface %.*s here",
					   STR_ARG(name));
		if (!link_is_usable(&k->link))
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%.*s is no kind of link that frames are made for",
					   STR_ARG(name));
		use_iface(k);
	}
	return true;
}

static bool choose_ifaces(Loader *l)
{
	const Rules *r = l->rules;
	Links *k = &l->g->links;

	if (!use_named(l))
		return false;
	for (uint32_t i = 0; i < r->seg4.n; i++)
		use_range(l, ip4(r->seg4.p[i].lo), ip4(r->seg4.p[i].hi));
	for (uint32_t i = 0; i < r->seg6.n; i++)
		use_range(l, ip_of_num(6, r->seg6.p[i].lo), ip_of_num(6, r->seg6.p[i].hi));
	if ((r->captures || r->listen.n) && !l->manifest.ifaces.n)
		use_all(l);
	for (unsigned i = 0; i < k->n; i++)
		if (k->only && strcmp(k->only, k->iface[i].link.name) != 0)
			k->iface[i].may_send = false;
	return true;
}

static bool plan_ifaces(Loader *l)
{
	Links *k = &l->g->links;

	for (unsigned i = 0; i < k->n; i++) {
		GateIface *g = &k->iface[i];

		if (!g->may_send)
			continue;
		if (l->plan->nifaces == LIMIT_IFACES)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT,
					   "more than %d interfaces lead to what may be reached; name one by --iface",
					   LIMIT_IFACES);
		l->plan->iface[l->plan->nifaces++] =
			(PlanIface){ .index = g->link.index,
				     .ether = g->gl.ether ? PLAN_ETHER : PLAN_BARE,
				     .promiscuous = l->rules->promiscuous };
	}
	return true;
}

/* ---- ports ---- */

typedef struct Ports {
	Loader *l;
	uint32_t base; /* where the free ones start, at random */
	uint32_t used;
	struct {
		Ip src;
		uint8_t proto;
	} done[SOURCES * 4]; /* free ones are taken once per source and protocol */
	uint32_t ndone;
} Ports;

static void hold(Ports *p, Ip src, uint8_t proto, uint16_t port, bool free_port)
{
	Plan *plan = p->l->plan;

	if (plan->nholds == LIMIT_START_PORTS)
		return; /* the others are claimed when they are needed */
	for (uint32_t i = 0; i < plan->nholds; i++) {
		const Held *h = &plan->hold[i].held;

		if (!free_port && h->proto == proto && h->port == port && ip_eq(h->addr, src))
			return;
	}
	const Hop *hop = links_hop(&p->l->g->links, src, 0, 0);
	p->l->free_port[plan->nholds] = free_port;
	plan->hold[plan->nholds++] = (PlanHold){ { src, proto, port }, hop->iface ? hop->iface->link.index : 0 };
}

static bool first_time(Ports *p, Ip src, uint8_t proto)
{
	for (uint32_t i = 0; i < p->ndone; i++)
		if (p->done[i].proto == proto && ip_eq(p->done[i].src, src))
			return false;
	if (p->ndone == sizeof p->done / sizeof *p->done)
		return false;
	p->done[p->ndone].src = src;
	p->done[p->ndone++].proto = proto;
	return true;
}

static uint32_t free_wanted(const Loader *l, uint8_t proto)
{
	uint64_t n = l->manifest.worst.packets;
	uint64_t budget = (uint64_t)l->rules->budget.v[BOUND_PACKETS];

	if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6)
		return ICMP_IDS;
	if (budget && n > budget)
		n = budget;
	return n > LIMIT_START_PORTS ? LIMIT_START_PORTS : n ? (uint32_t)n : 1;
}

static void hold_free(Ports *p, Ip src, uint8_t proto)
{
	uint32_t n = free_wanted(p->l, proto);
	bool icmp = proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;

	if (!first_time(p, src, proto))
		return;
	for (uint32_t i = 0, got = 0; got < n && i < FREE_PORTS; i++) {
		uint64_t r = rng_mix((uint64_t)p->base << 32 | p->used++);
		uint16_t port = icmp ? (uint16_t)(r | 1) : (uint16_t)(FREE_FROM + (p->base + i) % FREE_PORTS);

		if (!icmp && loader_port_held(p->l, proto, port))
			continue;
		hold(p, src, proto, port, true);
		got++;
	}
}

static void hold_named(Ports *p, Ip src, const Emission *e)
{
	if (e->proto == IPPROTO_TCP || e->proto == IPPROTO_UDP)
		loader_ports_warm(p->l, e->proto, &e->sports);
	for (uint32_t i = 0; i < e->sports.n; i++)
		for (uint32_t port = e->sports.p[i].lo; port <= e->sports.p[i].hi; port++)
			hold(p, src, e->proto, (uint16_t)port, false);
}

/* Our source towards an address; .v == 0: no route. */
static Ip source_to(Loader *l, Ip dst)
{
	const Hop *h = links_hop(&l->g->links, dst, 0, 0);

	if (h->src.v || !h->iface)
		return h->src;
	return links_source(h->iface, dst);
}

static void hold_for(Ports *p, const Emission *e, Ip peer)
{
	Ip src = e->src_set ? e->src_lo : source_to(p->l, peer);

	if (emission_asks_for_address(e)) {
		hold_named(p, src, e);
		return;
	}
	if (!src.v || !rules_own(p->l->rules, src))
		return; /* spoofed, or never sent */
	if ((e->proto == IPPROTO_ICMP && src.v != 4) || (e->proto == IPPROTO_ICMPV6 && src.v != 6))
		return; /* a name stands for either; this address is of the other kind */
	if (e->sports.n)
		hold_named(p, src, e);
	else
		hold_free(p, src, e->proto);
}

static void hold_for_target(Ports *p, const Emission *e)
{
	const Rules *r = p->l->rules;

	if (e->proto != IPPROTO_TCP && e->proto != IPPROTO_UDP && e->proto != IPPROTO_ICMP &&
	    e->proto != IPPROTO_ICMPV6)
		return;
	if (!e->peer.name.n) {
		hold_for(p, e, e->peer.lo);
		return;
	}
	for (uint32_t i = 0; i < r->pins.n; i++)
		if (str_eq(r->pins.p[i].name, e->peer.name))
			hold_for(p, e, r->pins.p[i].addr);
}

/* Ports on which the program listens, at the address from which its callers are answered. */
static void hold_listening(Ports *p)
{
	const Rules *r = p->l->rules;

	for (uint32_t i = 0; i < r->listen.n; i++) {
		Ip src = source_to(p->l, r->listen.p[i].hi);

		if (src.v && rules_own(r, src))
			hold(p, src, IPPROTO_TCP, r->listen.p[i].port, false);
	}
}

static void plan_ports(Loader *l)
{
	Ports p = { .l = l };

	l->free_port = arena_new_n(l->a, bool, LIMIT_START_PORTS);
	if (getrandom(&p.base, sizeof p.base, 0) != sizeof p.base)
		p.base = 0;
	p.base %= FREE_PORTS;
	hold_listening(&p);
	for (uint32_t i = 0; i < l->manifest.emit.n; i++) /* named ones first: they can't be others */
		if (l->manifest.emit.p[i].sports.n)
			hold_for_target(&p, &l->manifest.emit.p[i]);
	for (uint32_t i = 0; i < l->manifest.emit.n; i++)
		if (!l->manifest.emit.p[i].sports.n)
			hold_for_target(&p, &l->manifest.emit.p[i]);
}

/* ---- the plan ---- */

static uint32_t rx_buffer(const Rules *r)
{
	uint64_t want = (uint64_t)r->budget.v[BOUND_PACKETS] * 2 * RX_PER_FRAME;

	if (r->captures)
		return RX_MOST;
	return want < RX_LEAST ? RX_LEAST : want > RX_MOST ? RX_MOST : (uint32_t)want;
}

bool loader_links(Loader *l)
{
	return choose_ifaces(l);
}

bool loader_plan(Loader *l)
{
	Str why = { 0 };

	l->plan = arena_new(l->a, Plan);
	l->plan->magic = PLAN_MAGIC;
	l->plan->rcvbuf = rx_buffer(l->rules);
	l->plan->sndbuf = TX_BUFFER;
	if (!plan_ifaces(l))
		return false;
	if (!filters_capture(l->rules, l->a, &l->g->capture, &why))
		return loader_fail(l, SONDE_EXIT_POLICY, "%.*s", STR_ARG(why));
	plan_ports(l);
	if (l->why[0])
		return false;
	filters_receive(l->rules, &l->g->capture, l->plan);
	return true;
}
