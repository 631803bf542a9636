/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine asks of the gate: a row per message.  Its datagrams are copied
 * once and taken message by message, as far as there is room for its frames; then
 * reading stops, and the engine's next write waits.
 */
#include "gate/gate.h"

#include "base/exits.h"
#include "base/rng.h"
#include "gate/plan.h"
#include "sys/proc.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

enum { NETD_PATIENCE_MS = 2000, FREE_FROM = 61000, FREE_TRIES = 64 };
#define DROPS_EVERY (100 * NS_PER_MS)

/* ---- netd ---- */

static int netd_ask(int netd_fd, NetdOp op, const int *fds, size_t n, NetdAnswer *ret)
{
	NetdRequest q = { .op = op };
	int r = proc_send(netd_fd, BYTES(&q, sizeof q), fds, n);
	ssize_t got;

	if (r)
		return r;
	if (!proc_readable(netd_fd, NETD_PATIENCE_MS))
		return -ETIMEDOUT;
	got = proc_recv(netd_fd, ret, sizeof *ret, NULL, 0, NULL);
	if (got != sizeof *ret)
		return got < 0 ? (int)got : -EPIPE;
	return -ret->err;
}

int netd_add(int netd_fd, int fd)
{
	NetdAnswer a;

	return netd_ask(netd_fd, NETD_ADD, &fd, 1, &a);
}

int netd_count(int netd_fd, uint64_t *ret_packets)
{
	NetdAnswer a;
	int r = netd_ask(netd_fd, NETD_COUNT, NULL, 0, &a);

	if (!r)
		*ret_packets = a.packets;
	return r;
}

/* ---- CLAIM ---- */

static uint16_t random_port(void)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof r, 0) != sizeof r)
		r = (uint32_t)clock_mono_ns();
	return (uint16_t)(FREE_FROM + r % (65536 - FREE_FROM));
}

static bool is_icmp(uint8_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

/* Whether the port is another session's from a run that has just ended. */
static bool claim_warm(Gate *g, const Held *h)
{
	int64_t wait_s = 0;

	if (!g->purse.ledger || is_icmp(h->proto))
		return false;
	g->purse.fault = ledger_port_wait(g->purse.ledger, (LedgerPort){ h->proto, h->port }, &wait_s);
	return wait_s > 0 || g->purse.fault;
}

/* If the run dies, its ports are its session's all the same. */
static void claim_note(Gate *g, const Held *h)
{
	LedgerPort port = { h->proto, h->port };
	LedgerBill b = { .port = &port,
			 .nports = 1,
			 .hold_s = g->rules->budget.v[BOUND_TIME] / NS_PER_S + 1 + LEDGER_PORT_HOLD_S };

	if (g->purse.ledger && !is_icmp(h->proto))
		g->purse.fault = ledger_settle(g->purse.ledger, &b);
}

/* Holds the port that was asked for, or a free one. */
static int claim_take(Gate *g, Held *h, int iface)
{
	bool any = h->port == 0;
	int fd = -EADDRINUSE;

	for (int i = 0; i < (any ? FREE_TRIES : 1) && fd == -EADDRINUSE; i++) {
		if (any)
			h->port = random_port();
		fd = claim_warm(g, h) ? (any ? -EADDRINUSE : -EBUSY) : hold_take(h, iface);
	}
	return fd;
}

static const char *claim(Gate *g, Held *h)
{
	const char *fault;
	int fd, r;

	if (owned_has(&g->owned, h->proto, h->addr, h->port) && h->port)
		return NULL;
	if (!rules_own(g->rules, h->addr))
		return "that address is not ours";
	fault = h->port && !is_icmp(h->proto) ? rules_claim_fault(g->rules, h->proto, h->port) : NULL;
	if (fault)
		return fault;
	if (g->nholds == LIMIT_OWN_PORTS)
		return "no more ports are held for one run";
	fd = claim_take(g, h, 0);
	if (fd < 0)
		return fd == -EADDRINUSE ? "the kernel holds it for somebody else"
		       : fd == -EBUSY	 ? "another session used it less than a minute ago"
					 : "the kernel refuses it";
	r = netd_add(g->netd_fd, fd);
	if (r || !owned_add(&g->owned, h->proto, h->addr, h->port)) {
		proc_close(&fd);
		return r ? "netd could not hide it from the kernel" : "no more ports are held for one run";
	}
	g->holds[g->nholds++] = fd;
	claim_note(g, h);
	return NULL;
}

static void on_claim(Gate *g, const Msg *m)
{
	Held h = { .addr = m->claim.src, .proto = m->claim.proto, .port = m->claim.port };
	const char *fault = claim(g, &h);
	Msg answer = { .type = MSG_CLAIMED,
		       .claimed = { .id = m->claim.id,
				    .ok = !fault,
				    .port = h.port,
				    .detail = str_bytes(str_c(fault ? fault : "")) } };

	outbox_put(&g->outbox, &answer);
}

/* ---- ROUTE ---- */

static void on_route(Gate *g, const Msg *m)
{
	const Hop *h = links_hop(&g->links, m->route.dst, 0, gate_now(g));
	bool ok = m->route.dst.v && h->reason == NOTSENT_NONE && h->iface->may_send;
	Msg answer = { .type = MSG_ROUTE_OK, .route_ok = { .id = m->route.id, .ok = ok } };

	if (ok) {
		answer.route_ok.iface = h->iface->gl.index;
		answer.route_ok.src = h->src.v ? h->src : links_source(h->iface, h->dst);
		answer.route_ok.gw = h->gateway ? h->next : (Ip){ 0 };
		answer.route_ok.mtu = h->mtu;
	} else {
		bool closed = h->reason == NOTSENT_NONE;

		answer.route_ok.detail =
			str_bytes(str_c(closed ? "its interface is not one of this run" : notsent_text(h->reason)));
	}
	outbox_put(&g->outbox, &answer);
}

/* ---- time ---- */

static void tick(Gate *g, uint32_t id, int64_t now)
{
	Msg m = { .type = MSG_TICK, .tick = { .id = id, .now = now } };

	outbox_put(&g->outbox, &m);
}

static void on_now(Gate *g, const Msg *m)
{
	int64_t now = gate_now(g);

	gate_receive_all(g); /* nothing that came before is told after */
	tick(g, m->now.id, now);
}

static void on_wait(Gate *g, const Msg *m)
{
	if (g->nwaits == GATE_WAITS) {
		g->engine_bad = true;
		return;
	}
	g->wait[g->nwaits++] = (Wait){ m->wait.id, m->wait.wake_at };
}

/* Later fragments whose first one a filter took: the engine never sees them. */
static void headless(Gate *g)
{
	uint64_t count = flows_headless(&g->flows);
	Msg m = { .type = MSG_HEADLESS, .headless = { count } };

	if (count != g->headless_told)
		outbox_put(&g->outbox, &m);
	g->headless_told = count;
}

void requests_tick(Gate *g, int64_t now)
{
	for (unsigned i = 0; i < g->nwaits;) {
		if (g->wait[i].at > now) {
			i++;
			continue;
		}
		gate_receive_all(g);
		requests_drops(g, true);
		headless(g);
		tick(g, g->wait[i].id, now);
		g->wait[i] = g->wait[--g->nwaits];
	}
}

int64_t requests_next(const Gate *g)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < g->nwaits; i++)
		if (g->wait[i].at < next)
			next = g->wait[i].at;
	return next;
}

void requests_drops(Gate *g, bool now)
{
	int64_t at = gate_now(g);
	uint64_t lost;

	if (!now && at < g->drops_next)
		return;
	g->drops_next = at + DROPS_EVERY;
	for (unsigned i = 0; i < g->links.n; i++) {
		GateIface *k = &g->links.iface[i];

		if (k->rx_fd >= 0 && packet_drops(k->rx_fd, &lost) == 0) {
			k->drops += lost;
			g->capture_drops += lost;
		}
	}
	if (g->capture_drops + g->outbox.dropped == g->drops_told)
		return;
	g->drops_told = g->capture_drops + g->outbox.dropped;
	Msg m = { .type = MSG_DROPS, .drops = { g->capture_drops, g->outbox.dropped } };
	outbox_put(&g->outbox, &m);
}

/* ---- END ---- */

static void on_end(Gate *g, const Msg *m)
{
	(void)m;
	recorder_end(&g->record);
	g->phase = GATE_ENDING;
}

/* ---- reading ---- */

typedef void RequestHandler(Gate *g, const Msg *m);

static RequestHandler *const handlers[MSG_N] = {
	[MSG_EMIT] = outgoing_emit, [MSG_ROUTE] = on_route, [MSG_CLAIM] = on_claim,
	[MSG_WAIT] = on_wait,	    [MSG_NOW] = on_now,	    [MSG_END] = on_end,
	[MSG_TLS_ASK] = tls_way_ask,
};

/* One more datagram; false if there is none now. */
static bool requests_fill(Gate *g)
{
	ssize_t n = recv(g->engine_fd, g->in, GATE_IN, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		g->engine_gone = true;
		return false;
	}
	if (n > GATE_IN) {
		g->engine_bad = true;
		return false;
	}
	g->requests = cursor(BYTES(g->in, (size_t)n));
	return true;
}

void requests_take(Gate *g)
{
	Msg m;

	while (!g->engine_bad && !g->engine_gone && g->phase != GATE_ENDING && outgoing_has_room(g)) {
		size_t from = g->requests.off;
		MsgRead r = msg_get(&g->requests, 'E', &m);

		if (r == MSG_EMPTY) {
			if (!requests_fill(g))
				return;
			continue;
		}
		if (r == MSG_BAD || !handlers[m.type]) {
			g->engine_bad = true;
			return;
		}
		recorder_put(&g->record, RECORD_ENGINE,
			     bytes_slice(BYTES(g->requests.p, g->requests.n), from, g->requests.off));
		handlers[m.type](g, &m);
	}
}
