/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate's loop.  Each round: read what came (frames first, so that what left is
 * known before what answers it), do what the engine asks, let go what is due, tell
 * the engine, sleep until something happens or a time is due.
 */
#include "gate/gate.h"

#include "base/exits.h"
#include "sys/proc.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A timer wakes 24-50 us late, at times much later: it is set early, and the rest
 * is spent polling, which sees frames as well. */
#define WAKE_EARLY (60 * NS_PER_US)
#define UNARMED_MS 1 /* where the timer can't be set */
#define END_MOST (2 * NS_PER_S) /* frames that were accepted before END */

enum { EVENTS = 48, TAG_ENGINE = LINKS_MAX, TAG_CMD, TAG_NETD, TAG_TIMER, TAG_STEP, TAG_TLS, TAG_TX };

static int watch(Gate *g, int fd, uint32_t events, uint32_t tag)
{
	struct epoll_event e = { .events = events, .data = { .u32 = tag } };

	return epoll_ctl(g->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int watch_all(Gate *g)
{
	int r = watch(g, g->engine_fd, EPOLLIN, TAG_ENGINE);

	if (!r)
		r = watch(g, g->cmd_fd, EPOLLIN, TAG_CMD);
	if (!r)
		r = watch(g, g->netd_fd, EPOLLIN, TAG_NETD);
	if (!r)
		r = watch(g, g->timer_fd, EPOLLIN, TAG_TIMER);
	if (!r && g->step_fd >= 0)
		r = watch(g, g->step_fd, EPOLLIN, TAG_STEP);
	if (!r && g->tls.fd >= 0)
		r = watch(g, g->tls.fd, EPOLLIN, TAG_TLS);
	if (!r && g->tx.fd >= 0)
		r = watch(g, g->tx.fd, 0, TAG_TX); /* EPOLLERR: stamps */
	for (unsigned i = 0; i < g->links.n && !r; i++)
		if (g->links.iface[i].rx_fd >= 0)
			r = watch(g, g->links.iface[i].rx_fd, EPOLLIN, i);
	return r;
}

/* The engine's end: read it while there is room, write it while something waits. */
static void watch_engine(Gate *g, uint32_t *events)
{
	bool listen = outgoing_has_room(g) && g->phase != GATE_ENDING && !g->engine_gone;
	uint32_t want = (listen ? EPOLLIN : 0u) | (outbox_waits(&g->outbox) ? EPOLLOUT : 0u);
	struct epoll_event e = { .events = want, .data = { .u32 = TAG_ENGINE } };

	if (want != *events)
		epoll_ctl(g->epoll_fd, EPOLL_CTL_MOD, g->engine_fd, &e);
	*events = want;
}

/* ---- events ---- */

/* A byte from cmd: the user wants it to end.  Its end: cmd is gone. */
static void on_cmd(Gate *g)
{
	char c;

	if (read(g->cmd_fd, &c, 1) > 0)
		gate_stop(g, STOP_INTERRUPTED, SONDE_EXIT_INTERRUPTED, "interrupted");
	else
		_exit(SONDE_EXIT_ENVIRONMENT);
}

static void on_netd(Gate *g)
{
	g->netd_gone = true;
	epoll_ctl(g->epoll_fd, EPOLL_CTL_DEL, g->netd_fd, NULL);
	gate_stop(g, STOP_ENVIRONMENT, SONDE_EXIT_ENVIRONMENT,
		  "netd, which keeps the kernel away from our ports, has died");
}

static void on_step(Gate *g)
{
	if (!clock_step_take(g->step_fd))
		return;
	Msg m = { .type = MSG_CLOCK_STEP, .clock_step = { .by = timeline_step(&g->time) } };
	outbox_put(&g->outbox, &m);
}

static void dispatch(Gate *g, const struct epoll_event *e, int64_t ready)
{
	switch (e->data.u32) {
	case TAG_ENGINE: /* taken below in any case */
	case TAG_TX:
		break;
	case TAG_CMD:
		on_cmd(g);
		break;
	case TAG_NETD:
		on_netd(g);
		break;
	case TAG_TIMER:
		clock_timer_take(g->timer_fd);
		break;
	case TAG_STEP:
		on_step(g);
		break;
	case TAG_TLS:
		tls_way_take(g);
		break;
	default:
		incoming_read(g, &g->links.iface[e->data.u32], ready);
	}
}

/* ---- time ---- */

static void send_probe(Gate *g, NeighRow *r, Bytes frame)
{
	PacketOut out = { .head = frame, .ifindex = r->iface->link.index, .ethertype = get_be16(frame.p + 12) };

	packet_send(&g->tx, &out, 1);
	evidence_frame(&g->evidence, r->iface->evidence_id, g->time.epoch + gate_now(g), (Bytes){ 0 }, frame,
		       (uint32_t)frame.n, true, "the gate looks for a next hop");
}

static void neighbours_run(Gate *g, int64_t now)
{
	uint8_t buf[NEIGH_FRAME];
	Bytes frame;
	NeighRow *r;

	while ((r = neighs_due(&g->neighs, now, buf, &frame)))
		if (frame.n)
			send_probe(g, r, frame);
		else
			outgoing_wake(g, r);
}

static int64_t earliest(const Gate *g)
{
	int64_t at[] = { outgoing_next(g), requests_next(g),	neighs_next(&g->neighs),
			 stamps_next(g),   g->phase == GATE_RUNS ? g->time_limit : g->deadline };
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		if (at[i] < first)
			first = at[i];
	return first;
}

/* Sleeps; the number of events. */
static int gate_sleep(Gate *g, struct epoll_event *ev)
{
	int64_t at = earliest(g), now = gate_now(g);

	if (at - now <= WAKE_EARLY)
		return epoll_wait(g->epoll_fd, ev, EVENTS, 0);
	bool armed = clock_timer_arm(g->timer_fd, at == INT64_MAX ? 0 : timeline_mono(&g->time, at - WAKE_EARLY));

	evidence_flush(&g->evidence);
	recorder_flush(&g->record);
	return epoll_wait(g->epoll_fd, ev, EVENTS, armed ? -1 : UNARMED_MS);
}

/* ---- phases ---- */

/* What the run has to keep and can't any more; NULL: all is well. */
static const char *not_kept(const Gate *g)
{
	return g->evidence.failed ? "the capture file can't be written any more" : g->record.failed ? g->record.why : NULL;
}

static void check_limits(Gate *g, int64_t now)
{
	const char *lost = not_kept(g);

	if (now >= g->time_limit)
		gate_stop(g, STOP_BUDGET, SONDE_EXIT_BUDGET, "time");
	if (lost)
		gate_stop(g, STOP_ENVIRONMENT, SONDE_EXIT_ENVIRONMENT, "%s", lost);
	if (g->engine_bad) {
		gate_stop(g, STOP_POLICY, SONDE_EXIT_POLICY, "the engine sent what is no message");
		g->phase = GATE_ENDING;
	}
	if (g->engine_gone || g->outbox.gone || (g->phase == GATE_STOPPED && now >= g->deadline))
		g->phase = GATE_ENDING;
}

/* After END: lets go what was accepted, then stays until nothing is expected. */
static void finish(Gate *g)
{
	int64_t most = gate_now(g) + END_MOST;
	struct epoll_event ev[EVENTS];

	g->phase = GATE_ENDING;
	epoll_ctl(g->epoll_fd, EPOLL_CTL_DEL, g->engine_fd, NULL); /* its end would wake us for ever */
	for (;;) {
		int64_t now = gate_now(g), quiet = ending_quiet_at(g);

		outgoing_run(g);
		stamps_drain(g);
		if (!outgoing_has_room(g) || g->stamps.out || g->nheap)
			stamps_age(g, now);
		bool busy = g->stamps.out || (g->nheap && outgoing_next(g) <= most);
		if (now >= most || g->netd_gone || (!busy && now >= quiet))
			break;
		g->deadline = busy || quiet > most ? most : quiet;
		int n = gate_sleep(g, ev);
		int64_t ready = timeline_real_now(&g->time);
		for (int i = 0; i < n; i++)
			dispatch(g, &ev[i], ready);
	}
	outgoing_cancel(g, true);
	requests_drops(g, true);
	evidence_flush(&g->evidence);
	recorder_flush(&g->record);
	if (not_kept(g) && !g->exit) { /* too late for a STOP */
		g->exit = SONDE_EXIT_ENVIRONMENT;
		snprintf(g->why, sizeof g->why, "%s", not_kept(g));
	}
}

static void once(Gate *g, struct epoll_event *ev, int n, uint32_t *engine_events)
{
	int64_t ready = timeline_real_now(&g->time), now;

	for (int i = 0; i < n; i++)
		dispatch(g, &ev[i], ready);
	stamps_drain(g);
	requests_take(g);
	now = gate_now(g);
	neighbours_run(g, now);
	outgoing_run(g);
	stamps_drain(g);
	stamps_age(g, now);
	requests_tick(g, now);
	requests_drops(g, false);
	check_limits(g, now);
	if (g->phase == GATE_STOPPED)
		outgoing_cancel(g, false);
	outbox_flush(&g->outbox);
	watch_engine(g, engine_events);
}

int gate_loop(Gate *g)
{
	struct epoll_event ev[EVENTS];
	uint32_t engine_events = EPOLLIN;
	int n = 0;

	if (watch_all(g))
		return SONDE_EXIT_ENVIRONMENT;
	while (g->phase != GATE_ENDING) {
		once(g, ev, n, &engine_events);
		if (g->phase != GATE_ENDING)
			n = gate_sleep(g, ev);
	}
	finish(g);
	return g->exit;
}
