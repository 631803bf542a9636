/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections' part of the engine: a stack of our own (src/tcpip), driven by the
 * engine's messages.
 *
 * A frame goes to the stack first; what is none of its business is a probe's answer or
 * sniff's.  What the stack has to say is pulled one packet at a time, paced like probes,
 * and never held against them: the one packet that waits for its time stands in `held`.
 * Timers are asked for with the other reasons to wake up.  So the stack's state, too, is
 * a function of the order of messages.
 *
 * Memory of the stack grows in the engine's arena; a connection stays known until the
 * end of the run, since the program may look at it as long.
 */
#include "vm/engine_conn.h"

#include "base/rng.h"
#include "vm/conn_warn.h"

#include <stdio.h>

/* The stack takes 0 for what has not happened; the run begins at 0. */
#define STACK_ZERO NS_PER_S

enum {
	IDLE_END_MS = 1000,   /* at the end: without an acknowledgement for so long, what is queued is given up */
	CRAFTED_KEPT_MS = 3000, /* for so long the stack expects answers to a crafted segment, at least */
	FLOW_KEY = 38,
};

/* ---- time ---- */

int64_t engine_stack_now(const Engine *e)
{
	return e->now_ns + STACK_ZERO;
}

int64_t engine_run_time(int64_t stack_ns)
{
	return stack_ns ? stack_ns - STACK_ZERO : NS_NONE;
}

/* ---- who is who ---- */

static Bytes flow_key(uint8_t buf[FLOW_KEY], uint8_t proto, Ip local, Ip remote, uint16_t lport, uint16_t rport)
{
	Writer w = writer(buf, FLOW_KEY);

	wr_u8(&w, proto);
	wr_bytes(&w, BYTES(local.b, ip_len(local)));
	wr_bytes(&w, BYTES(remote.b, ip_len(remote)));
	wr_be16(&w, lport);
	wr_be16(&w, rport);
	return wr_done(&w);
}

NetStack *engine_stack(Engine *e)
{
	const StackConfig c = { .seed = rng_mix(e->seed ^ STACK_SEED), .max_bytes = LIMIT_STACK_MEMORY };

	if (!e->stack) {
		e->stack = stack_new(e->a, &c);
		e->held = arena_alloc(e->a, LIMIT_FRAME);
	}
	return e->stack;
}

Live *engine_live_add(Engine *e, const Live *l)
{
	Live *kept = arena_copy(e->a, l, sizeof *l);
	uint8_t buf[FLOW_KEY];
	bool udp = l->udp != NULL;
	Bytes key = flow_key(buf, udp ? PROTO_UDP : PROTO_TCP, l->src, l->dst, l->sport, l->dport);

	vec_push(e->a, &e->live, kept);
	if (l->tcp || udp)
		*map_put(&e->live_map, BYTES(arena_copy(e->a, key.p, key.n), key.n)) = e->live.n;
	return kept;
}

static Live *live_of(Engine *e, uint8_t proto, Ip local, Ip remote, uint16_t lport, uint16_t rport)
{
	uint8_t buf[FLOW_KEY];
	uint64_t *at = e->live.n ? map_get(&e->live_map, flow_key(buf, proto, local, remote, lport, rport)) : NULL;

	return at ? e->live.p[*at - 1] : NULL;
}

Live *engine_live_of(Engine *e, const PacketId *id, bool ours)
{
	if (!id->v || id->fragment || !(id->have & HAVE_HEADER) || (id->proto != PROTO_TCP && id->proto != PROTO_UDP))
		return NULL;
	return ours ? live_of(e, id->proto, id->src, id->dst, id->a, id->b)
		    : live_of(e, id->proto, id->dst, id->src, id->b, id->a);
}

bool engine_is_conn(Engine *e, const PacketId *id)
{
	const Live *l = e->stack ? engine_live_of(e, id, true) : NULL;

	return l && l->tcp;
}

/* ---- in ---- */

/* The options of a SYN, as they came. */
static void note_options(const PacketId *id, uint8_t *ret_n, uint8_t ret[TCP_OPTIONS_MOST])
{
	size_t head = id->body.n > 12 ? (size_t)(id->body.p[12] >> 4) * 4 : 0;

	if (id->proto != PROTO_TCP || !(id->kind & TCP_SYN) || head < 20 || head > id->body.n || *ret_n)
		return;
	*ret_n = (uint8_t)(head - 20);
	memcpy(ret, id->body.p + 20, *ret_n);
}

/* guardrails.md 3: a listener hears its declared peers only. */
static bool may_come(const Engine *e, const PacketId *id)
{
	bool heard = true;

	for (uint32_t i = 0; i < e->listener.n; i++) {
		const Listener *l = e->listener.p[i];

		if (id->proto != PROTO_TCP || id->b != l->port || !ip_eq(id->dst, l->src))
			continue;
		heard = false;
		for (uint32_t k = 0; k < l->n_peers; k++)
			if (net_has(l->peers[k], id->src))
				return true;
	}
	return heard;
}

static bool is_error(const PacketId *id)
{
	return (id->proto == PROTO_ICMP || id->proto == PROTO_ICMP6) && icmp_is_error(id->v, id->kind);
}

/* Whether a segment acknowledges data of the stack's own that nothing acknowledged yet:
 * then it answers that, and no segment made by hand (language.md 6). */
static bool acks_newer(const Live *l, const PacketId *id)
{
	return l && l->tcp && id->kind & TCP_ACK && serial_lt(l->tcp->snd_una, id->ack) &&
	       !serial_lt(l->tcp->snd_nxt, id->ack);
}

bool engine_conn_frame(Engine *e, const Arrival *a, bool csum_good, ConnSeen *ret_seen)
{
	const HostIface *iface = engine_iface(e, a->iface);
	Live *l = e->stack ? engine_live_of(e, &a->id, false) : NULL;
	StackRx rx = { .mtu = iface ? iface->mtu : 0, .csum_good = csum_good };

	*ret_seen = (ConnSeen){ .live = l };
	if (!e->stack || a->flags & FRAME_OURS_LOOPED || !may_come(e, &a->id))
		return false;
	if (l && l->tcp)
		note_options(&a->id, &l->n_peer, l->peer);
	ret_seen->newer = acks_newer(l, &a->id);
	StackVerdict v = stack_input(e->stack, a->rx_ns + STACK_ZERO, a->id.packet, &rx);
	ret_seen->taken = v != STACK_NOT_OURS;
	/* a router's word about a segment made by hand is walk's, whatever the connection makes of it */
	ret_seen->shown = v != STACK_TAKEN || (is_error(&a->id) && e->crafted.n);
	return ret_seen->taken;
}

/* ---- segments made by hand ---- */

void engine_crafted(Engine *e, const PacketId *id, Bytes packet, const Outgoing *o, int64_t at)
{
	Live *l = engine_live_of(e, id, true);
	int64_t wait = o->wait_ns > CRAFTED_KEPT_MS * NS_PER_MS ? o->wait_ns : CRAFTED_KEPT_MS * NS_PER_MS;

	tcp_crafted(l->tcp, at + STACK_ZERO, packet, wait);
	if (o->probe)
		vec_push(e->a, &e->crafted, (Crafted){ .probe = o->probe, .live = l, .tx_ns = NS_NONE });
}

void engine_crafted_sent(Engine *e, uint64_t probe, int64_t tx_ns)
{
	for (uint32_t i = e->crafted.n; i-- > 0;)
		if (e->crafted.p[i].probe == probe) {
			e->crafted.p[i].tx_ns = tx_ns;
			return;
		}
}

void engine_crafted_done(Engine *e, uint64_t probe)
{
	for (uint32_t i = 0; i < e->crafted.n; i++)
		e->crafted.p[i].answered |= e->crafted.p[i].probe == probe;
}

bool engine_crafted_answer(Engine *e, const Arrival *a, const ConnSeen *seen, Match *ret_match)
{
	*ret_match = (Match){ 0 };
	if (!seen->live || !seen->live->tcp || seen->newer)
		return false;
	for (uint32_t i = 0; i < e->crafted.n; i++) {
		Crafted *c = &e->crafted.p[i];

		if (c->live != seen->live || c->answered || c->tx_ns == NS_NONE || a->rx_ns < c->tx_ns)
			continue;
		if (ret_match->probe) { /* another would fit as well */
			ret_match->ambiguous = true;
			return true;
		}
		c->answered = true;
		*ret_match = (Match){ .probe = c->probe, .verdict = VERDICT_ANSWER, .how = HOW_FLOW };
	}
	return ret_match->probe != 0;
}

/* ---- out ---- */

/* Where the run ended, others can see by what it sent: where that is paid, it is paid
 * before the next packet leaves, as for probes (vm/leak.c). */
static bool may_pay(Engine *e)
{
	if (!e->vm || e->finishing || vm_may_send(e->vm))
		return true;
	e->stop = STOP_BUDGET;
	snprintf(e->stop_detail, sizeof e->stop_detail, "leak is spent: what connections sent by now tells others more than "
							"the bound allows");
	return false;
}

static WireId held_first(const Engine *e)
{
	return e->held[0] >> 4 == 4 ? WIRE_IP : WIRE_IPV6;
}

static bool pull(Engine *e)
{
	PacketId *id = &e->held_id;
	StackOut o;

	if (e->stop || (stack_has_output(e->stack) && !may_pay(e)))
		return false;
	if (!stack_pull(e->stack, engine_stack_now(e), &o) || !o.packet.n || o.packet.n > LIMIT_FRAME)
		return false;
	memcpy(e->held, o.packet.p, o.packet.n);
	e->held_n = (uint32_t)o.packet.n;
	e->held_tag = o.tag;
	e->held_cleanup = o.purpose == STACK_CLEANUP;
	bool known = packet_id_read(BYTES(e->held, e->held_n), held_first(e), id);
	Live *l = known ? engine_live_of(e, id, true) : NULL;
	bool syn = known && id->proto == PROTO_TCP && id->kind & TCP_SYN;

	if (l && l->tcp)
		note_options(id, &l->n_offered, l->offered);
	e->held_at = e->held_cleanup ? e->now_ns : engine_departure(e, e->held_n + 14u, syn, e->now_ns);
	return true;
}

static void emit_held(Engine *e)
{
	Outgoing o = { .bytes = BYTES(e->held, e->held_n), .first = held_first(e), .stack_tag = e->held_tag };

	e->held_n = 0;
	engine_hand_over(e, &o, &e->held_id, e->held_cleanup ? PURPOSE_CLEANUP : PURPOSE_CONN, e->held_at);
}

static bool held_is_due(const Engine *e)
{
	return e->held_at - LOOK_AHEAD_MS * NS_PER_MS <= e->now_ns && e->in_flight < LIMIT_IN_FLIGHT;
}

void engine_conn_run(Engine *e)
{
	if (!e->stack)
		return;
	if (stack_wake_ns(e->stack) <= engine_stack_now(e))
		stack_advance(e->stack, engine_stack_now(e));
	engine_loads_run(e);
	while ((e->held_n || pull(e)) && held_is_due(e))
		emit_held(e);
}

int64_t engine_conn_wake(const Engine *e)
{
	if (!e->stack)
		return NS_NONE;
	int64_t at = stack_wake_ns(e->stack), load = engine_loads_wake(e);

	at = at == STACK_NEVER ? at : at - STACK_ZERO;

	if (e->held_n && e->in_flight < LIMIT_IN_FLIGHT && e->held_at - LOOK_AHEAD_MS * NS_PER_MS < at)
		at = e->held_at - LOOK_AHEAD_MS * NS_PER_MS;
	at = load < at ? load : at;
	return at == STACK_NEVER ? NS_NONE : at;
}

void engine_conn_sent(Engine *e, uint64_t tag, int64_t tx_ns)
{
	stack_sent(e->stack, tag, tx_ns + STACK_ZERO);
}

void engine_conn_notsent(Engine *e, uint64_t tag, NotSent why)
{
	static const uint8_t as[NOTSENT_N] = {
		[NOTSENT_TOO_LONG] = UNSENT_TOO_LONG,	  [NOTSENT_NO_ROUTE] = UNSENT_NO_ROUTE,
		[NOTSENT_NO_NEIGHBOUR] = UNSENT_NO_ROUTE, [NOTSENT_LINK_DOWN] = UNSENT_NO_ROUTE,
		[NOTSENT_STAMP] = UNSENT_LOST,
		/* a STOP follows, which ends the run: no connection of it should seem to fail before */
		[NOTSENT_BUDGET] = UNSENT_LOST,		  [NOTSENT_STOPPED] = UNSENT_LOST,
	};

	_Static_assert(UNSENT_REFUSED == 0, "all other reasons are refusals");
	stack_notsent(e->stack, tag, (StackUnsent)as[why]);
}

/* ---- the end ---- */

/* Bytes that peers acknowledged so far, and frames: what goes on changes it. */
static uint64_t progress(const Engine *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->live.n; i++)
		if (e->live.p[i]->tcp)
			n += e->live.p[i]->tcp->out.bytes_acked + (uint64_t)e->live.p[i]->tcp->state;
	return n;
}

static bool all_ended(const Engine *e)
{
	for (uint32_t i = 0; i < e->live.n; i++) {
		const TcpConn *c = e->live.p[i]->tcp;

		if (c && c->state != TCP_CLOSED && c->state != TCP_TIME_WAIT && c->state != TCP_FIN_WAIT_2)
			return false;
	}
	return !e->held_n && !stack_has_output(e->stack);
}

static void drain(Engine *e)
{
	uint64_t was = progress(e);
	int64_t until = ns_later(e->now_ns, IDLE_END_MS * NS_PER_MS);

	for (uint32_t i = 0; i < e->live.n; i++)
		if (e->live.p[i]->tcp && !e->live.p[i]->retired)
			tcp_close(e->live.p[i]->tcp, engine_stack_now(e));
	engine_conn_run(e);
	while (!all_ended(e) && e->now_ns < until && engine_step(e, until))
		if (progress(e) != was) {
			was = progress(e);
			until = ns_later(e->now_ns, IDLE_END_MS * NS_PER_MS);
		}
}

void engine_conn_finish(Engine *e, bool whole)
{
	if (!e->stack)
		return;
	engine_loads_end(e);
	for (uint32_t i = 0; i < e->listener.n; i++)
		tcp_unlisten(e->listener.p[i]->tcp);
	if (whole)
		drain(e);
	e->stop = STOP_NONE;
	for (uint32_t i = 0; i < e->live.n; i++) {
		TcpConn *c = e->live.p[i]->tcp;

		if (c && c->state != TCP_CLOSED && c->state != TCP_TIME_WAIT)
			tcp_reset(c, engine_stack_now(e));
		if (c)
			conn_warnings(&e->warnings, c);
	}
	e->resetting = true;
	engine_conn_run(e);
}
