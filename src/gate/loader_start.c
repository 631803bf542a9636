/* SPDX-License-Identifier: Apache-2.0
 *
 * The last steps before GO: sockets from the opener, the gate's state in memory
 * that was mapped for it, and what the engine is told of host and run.
 */
#include "gate/loader_inside.h"

#include "base/exits.h"
#include "sys/proc.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>

enum { OPENER_PATIENCE_MS = 5000, ROUTES_TOLD = 4096, NEIGHS_TOLD = 1024 };

/* ---- the opener's answer ---- */

static bool opener_failed(Loader *l, int err)
{
	const GateIface *i = links_find(&l->g->links, l->opened->iface);

	return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the packet sockets%s%s can't be opened: %s",
			   i ? " of " : "", i ? i->link.name : "", strerror(err));
}

static void take_sockets(Loader *l, const int *fds)
{
	l->g->tx = (PacketTx){ .fd = l->plan->nifaces ? fds[0] : -1, .own_ids = true };
	for (uint32_t i = 0; i < l->plan->nifaces; i++)
		links_find(&l->g->links, l->plan->iface[i].index)->rx_fd = fds[1 + i];
}

static bool take_holds(Loader *l)
{
	Gate *g = l->g;
	uint32_t want = 0;
	char b;

	for (uint32_t i = 0; i < l->plan->nholds; i++)
		want += l->opened->hold_err[i] == 0;
	g->holds = arena_new_n(l->a, int, LIMIT_OWN_PORTS + PROC_FDS);
	while (g->nholds < want) {
		size_t n = 0;

		if (!proc_readable(l->fds.netd, OPENER_PATIENCE_MS) ||
		    proc_recv(l->fds.netd, &b, 1, g->holds + g->nholds, PROC_FDS, &n) != 1 || n == 0)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the opener did not pass the ports that it held");
		g->nholds += (uint32_t)n;
	}
	return true;
}

/* A port that the program named and somebody else has is the end; a free one that
 * was taken meanwhile is one less. */
static bool check_holds(Loader *l)
{
	for (uint32_t i = 0; i < l->plan->nholds; i++) {
		const Held *h = &l->plan->hold[i].held;
		int err = l->opened->hold_err[i];
		char ip[IP_TEXT];

		if (!err || l->free_port[i])
			continue;
		ip_format(h->addr, ip);
		if (err == EADDRINUSE)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT,
					   "source port %u of %s is held by a program of this host; name another", h->port,
					   ip);
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "source port %u of %s can't be held: %s", h->port, ip,
				   strerror(err));
	}
	return true;
}

bool loader_open(Loader *l)
{
	int fds[1 + LIMIT_IFACES];
	size_t n = 0;
	ssize_t got;

	l->opened = arena_new(l->a, PlanOpened);
	if (proc_send(l->fds.netd, BYTES(l->plan, sizeof *l->plan), NULL, 0) ||
	    !proc_readable(l->fds.netd, OPENER_PATIENCE_MS))
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the process that opens the sockets is gone");
	got = proc_recv(l->fds.netd, l->opened, sizeof *l->opened, fds, 1 + LIMIT_IFACES, &n);
	if (got != sizeof *l->opened)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the process that opens the sockets is gone");
	if (l->opened->err)
		return opener_failed(l, l->opened->err);
	if (n != (l->plan->nifaces ? 1 + l->plan->nifaces : 0))
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the opener passed %zu sockets", n);
	take_sockets(l, fds);
	return take_holds(l) && check_holds(l);
}

/* ---- the gate's state ---- */

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void own_ports(Loader *l)
{
	owned_init(&l->g->owned, l->a, LIMIT_OWN_PORTS);
	for (uint32_t i = 0; i < l->plan->nholds; i++) {
		const Held *h = &l->plan->hold[i].held;

		if (l->opened->hold_err[i] == 0)
			owned_add(&l->g->owned, h->proto, h->addr, h->port);
	}
}

static void init_evidence(Loader *l, void *buf)
{
	Gate *g = l->g;

	evidence_init(&g->evidence, l->o->write_fd, buf);
	for (unsigned i = 0; i < g->links.n; i++) {
		GateIface *k = &g->links.iface[i];

		if (k->may_send)
			k->evidence_id = evidence_iface(&g->evidence, k->link.name, k->gl.ether, 0);
	}
}

static bool init_fds(Gate *g)
{
	g->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	g->timer_fd = clock_timer_fd();
	g->step_fd = clock_step_fd();
	return g->epoll_fd >= 0 && g->timer_fd >= 0;
}

static void init_rules(Loader *l, uint64_t seed)
{
	Gate *g = l->g;

	g->rules = l->rules;
	flows_init(&g->flows, l->a, l->rules, &g->owned, seed, (uint64_t)l->rules->budget.v[BOUND_PACKETS]);
	frame_check_init(&g->check, l->a, l->rules, &g->owned, &g->flows);
	meter_init(&g->meter, l->a, l->rules, seed);
	/* guardrails.md 2: a look-up is an emission by the gate, counted */
	purse_init(&g->purse, l->a, l->ledger.fd >= 0 ? &l->ledger : NULL, &l->rules->budget, l->manifest.worst.packets);
	purse_put(&g->purse, &l->early);
	purse_look_ups(&g->purse, l->lookups.queries, l->lookups.bytes);
	g->meter.used_packets += l->lookups.queries;
	g->meter.used_bytes += l->lookups.bytes;
	g->sent_packets = l->lookups.queries;
	g->sent_bytes = l->lookups.bytes;
}

bool loader_gate_init(Loader *l)
{
	Gate *g = l->g;
	void *slots = map((size_t)GATE_SLOTS * GATE_SLOT_BYTES), *out = map(OUTBOX_MEMORY),
	     *in = map((size_t)PACKET_RX_BATCH * PACKET_SLOT + GATE_IN + EVIDENCE_BUF);
	uint64_t secret[2] = { 0 };

	if (!slots || !out || !in || !init_fds(g))
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "no memory for the gate");
	if (getrandom(secret, sizeof secret, 0) != sizeof secret)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the kernel has no random numbers");
	g->engine_fd = l->fds.engine;
	g->cmd_fd = l->fds.cmd;
	g->netd_fd = l->fds.netd;
	tls_way_init(&g->tls, l->fds.tls, l->fds.tls < 0 ? NULL : arena_alloc(l->a, TLS_WAY_MEMORY));
	g->inbox.mem = in;
	g->in = g->inbox.mem + (size_t)PACKET_RX_BATCH * PACKET_SLOT;
	g->table = l->opened->table;
	g->hold_end = g->held_until = INT64_MIN;
	own_ports(l);
	init_rules(l, secret[0]);
	init_evidence(l, g->in + GATE_IN);
	neighs_init(&g->neighs, l->a, g->links.rtnl);
	stamps_init(&g->stamps, l->a, secret[1]);
	outgoing_init(g, l->a, slots);
	outbox_init(&g->outbox, g->engine_fd, out);
	g->outbox.record = &g->record;
	return true;
}

/* ---- what the engine is told ---- */

static void tell(Loader *l, Msg m)
{
	outbox_put(&l->g->outbox, &m);
}

static uint64_t mac_number(Mac m)
{
	return bits_get(m.b, 0, 48);
}

static void tell_links(Loader *l)
{
	const Links *k = &l->g->links;

	for (unsigned i = 0; i < k->n; i++) {
		const Link *n = &k->iface[i].link;

		tell(l, (Msg){ .type = MSG_IFACE,
			       .iface = { (uint16_t)n->index, str_bytes(str_c(n->name)), mac_number(n->mac), n->mtu,
					  n->up, k->iface[i].gl.ether } });
	}
	for (unsigned i = 0; i < k->naddr; i++)
		tell(l, (Msg){ .type = MSG_ADDR,
			       .addr = { (uint16_t)k->addr[i].index, k->addr[i].ip, k->addr[i].bits } });
}

static void tell_routes(Loader *l)
{
	RouteRow *row = arena_new_n(l->a, RouteRow, ROUTES_TOLD);
	int n = rtnl_routes(l->g->links.rtnl, row, ROUTES_TOLD);

	for (int i = 0; i < n; i++)
		tell(l, (Msg){ .type = MSG_ROUTE_ROW,
			       .route_row = { row[i].net.ip, row[i].net.bits, row[i].gw, (uint16_t)row[i].index,
					      row[i].metric, row[i].src } });
}

static void tell_route(Loader *l, Ip dst)
{
	const Hop *h = links_hop(&l->g->links, dst, 0, 0);

	if (h->reason == NOTSENT_NONE)
		tell(l, (Msg){ .type = MSG_ROUTE_ROW,
			       .route_row = { dst, (uint8_t)(ip_len(dst) * 8), h->gateway ? h->next : (Ip){ 0 },
					      h->iface->gl.index, 0, h->src } });
}

/* A name's addresses, each. */
static void tell_route_to(Loader *l, const LocalQuestion *q)
{
	if (q->dst.v)
		tell_route(l, q->dst);
	for (uint32_t i = 0; q->name.n && i < l->pins.n; i++)
		if (str_eq(l->pins.p[i].name, q->name))
			tell_route(l, l->pins.p[i].addr);
}

static void tell_neighbors(Loader *l)
{
	Neigh *row = arena_new_n(l->a, Neigh, NEIGHS_TOLD);
	int n = rtnl_neighs(l->g->links.rtnl, row, NEIGHS_TOLD);

	for (int i = 0; i < n; i++)
		tell(l, (Msg){ .type = MSG_NEIGH,
			       .neigh = { (uint16_t)row[i].index, row[i].ip, mac_number(row[i].mac),
					  str_bytes(str_c(neigh_state_text(row[i].state))) } });
}

static void tell_questions(Loader *l)
{
	for (uint32_t i = 0; i < l->manifest.local.n; i++) {
		const LocalQuestion *q = &l->manifest.local.p[i];

		if (q->kind == LOCAL_ROUTES)
			tell_routes(l);
		else if (q->kind == LOCAL_ROUTE)
			tell_route_to(l, q);
		else if (q->kind == LOCAL_NEIGHBORS)
			tell_neighbors(l);
	}
}

static void tell_ports(Loader *l)
{
	for (uint32_t i = 0; i < l->plan->nholds; i++) {
		const Held *h = &l->plan->hold[i].held;

		if (l->free_port[i] && l->opened->hold_err[i] == 0)
			tell(l, (Msg){ .type = MSG_OWN_PORT, .own_port = { h->proto, h->port, h->addr } });
	}
}

static void tell_resolvers(Loader *l)
{
	const Rules *r = l->rules;

	for (uint32_t i = 0; i < r->resolvers.n; i++)
		tell(l, (Msg){ .type = MSG_RESOLVER, .resolver = { r->resolvers.p[i] } });
	for (uint32_t i = 0; !r->resolvers.n && i < l->lookups.servers.n; i++)
		tell(l, (Msg){ .type = MSG_RESOLVER, .resolver = { l->lookups.servers.addr[i] } });
}

void loader_tell(Loader *l)
{
	Gate *g = l->g;
	int64_t limit = l->rules->budget.v[BOUND_TIME];

	for (uint32_t i = 0; i < l->rules->pins.n; i++)
		tell(l, (Msg){ .type = MSG_PIN,
			       .pin = { str_bytes(l->rules->pins.p[i].name), l->rules->pins.p[i].addr } });
	tell_links(l);
	tell_questions(l);
	tell_ports(l);
	tell_resolvers(l);
	timeline_start(&g->time);
	g->time_limit = limit ? limit : INT64_MAX;
	tell(l, (Msg){ .type = MSG_GO, .go = { g->time.epoch, l->o->seed, limit,
						     (uint64_t)l->rules->budget.v[BOUND_LEAK],
						     l->rules->output_measurements } });
	outbox_flush(&g->outbox);
}
