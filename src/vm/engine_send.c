/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: routes, identities' counters, pacing, frames in flight, and the resets
 * of half-open flows.
 */
#include "vm/engine_inside.h"

#include "wire/fields.h"

/* ---- routes ---- */

const Route *engine_route(Engine *e, Ip dst)
{
	uint64_t *at = map_get(&e->route_cache, BYTES(dst.b, ip_len(dst)));

	if (at)
		return &e->routes.p[*at - 1];
	Msg m = { .type = MSG_ROUTE, .route = { .dst = dst } };
	if (!engine_ask(e, &m))
		return NULL;
	Route r = { .ok = e->reply.route_ok.ok,
		    .iface = e->reply.route_ok.iface,
		    .src = e->reply.route_ok.src,
		    .gw = e->reply.route_ok.gw,
		    .mtu = e->reply.route_ok.mtu };
	Bytes d = e->reply.route_ok.detail;
	r.detail = (Str){ arena_copy(e->a, d.p, d.n), d.n };
	vec_push(e->a, &e->routes, r);
	at = map_put(&e->route_cache, BYTES(arena_copy(e->a, dst.b, ip_len(dst)), ip_len(dst)));
	*at = e->routes.n;
	return &e->routes.p[e->routes.n - 1];
}

uint64_t engine_count_to(Engine *e, Ip dst)
{
	uint64_t *at = map_get(&e->sent_to, BYTES(dst.b, ip_len(dst)));

	if (!at)
		at = map_put(&e->sent_to, BYTES(arena_copy(e->a, dst.b, ip_len(dst)), ip_len(dst)));
	return (*at)++;
}

bool engine_is_ours(const Engine *e, Ip ip)
{
	for (uint32_t i = 0; i < e->addr.n; i++)
		if (ip_eq(e->addr.p[i].ip, ip))
			return true;
	return false;
}

const HostIface *engine_iface(const Engine *e, uint16_t index)
{
	for (uint32_t i = 0; i < e->iface.n; i++)
		if (e->iface.p[i].index == index)
			return &e->iface.p[i];
	return NULL;
}

const HostIface *engine_iface_named(const Engine *e, Str name)
{
	for (uint32_t i = 0; i < e->iface.n; i++)
		if (str_eq(e->iface.p[i].name, name))
			return &e->iface.p[i];
	return NULL;
}

/* ---- own ports ---- */

bool engine_claim(Engine *e, uint8_t proto, Ip src, uint16_t port, bool *ret_held)
{
	uint8_t key[24];
	Writer w = writer(key, sizeof key);

	*ret_held = true;
	if (port && identity_owns(&e->pool, proto, port, src))
		return true;
	wr_be32(&w, (uint32_t)proto << 16 | port);
	wr_bytes(&w, BYTES(src.b, ip_len(src)));
	uint64_t *at = port ? map_get(&e->claims, wr_done(&w)) : NULL;
	if (!at) {
		Msg m = { .type = MSG_CLAIM, .claim = { .proto = proto, .port = port, .src = src } };

		if (!engine_ask(e, &m))
			return false;
		bool ok = e->reply.claimed.ok;
		if (!port && ok)
			ok = identity_own(&e->pool, e->a, proto, e->reply.claimed.port, src);
		at = map_put(&e->claims, BYTES(arena_copy(e->a, key, w.n), w.n));
		*at = ok ? 1 : 2;
	}
	*ret_held = *at == 1;
	return true;
}

/* ---- pacing: algorithms of token buckets, one a bound ---- */

/* When `cost` tokens are there, at or after t. */
static int64_t bucket_ready(const Bucket *b, double cost, int64_t t)
{
	double have = b->tokens + (double)(t - b->at) / 1e9 * b->rate;

	if (b->rate <= 0)
		return t;
	if (have > b->burst)
		have = b->burst;
	if (cost > b->burst)
		cost = b->burst; /* a packet larger than the burst still leaves */
	return have >= cost ? t : t + (int64_t)((cost - have) / b->rate * 1e9) + 1;
}

static void bucket_take(Bucket *b, double cost, int64_t t)
{
	double have = b->tokens + (double)(t - b->at) / 1e9 * b->rate;

	b->tokens = (have > b->burst ? b->burst : have) - cost;
	b->at = t;
}

int64_t engine_departure(Engine *e, size_t bytes, bool syn, int64_t earliest)
{
	double cost[PACES] = { [PACE_RATE] = 1, [PACE_BYTES] = (double)bytes, [PACE_SYN] = syn };
	int64_t at = earliest;

	for (int i = 0; i < PACES; i++) {
		int64_t ready = cost[i] > 0 ? bucket_ready(&e->pace[i], cost[i], at) : at;

		if (ready > at)
			warn_add(&e->warnings, WARN_PACED, WARN_NOBODY, 1, "%s=%.0f held a packet for %.3f ms",
				 e->pace[i].name, e->pace[i].rate, (double)(ready - at) / 1e6);
		at = ready;
	}
	for (int i = 0; i < PACES; i++)
		if (cost[i] > 0 && e->pace[i].rate > 0)
			bucket_take(&e->pace[i], cost[i], at);
	return at;
}

/* ---- frames in flight ---- */

static Tx *tx_take(Engine *e)
{
	for (;;) {
		uint32_t id = ++e->tx_next ? e->tx_next : ++e->tx_next;
		Tx *t = &e->tx[id % LIMIT_IN_FLIGHT];

		if (t->id)
			continue; /* in_flight is below the limit: there is a free one */
		*t = (Tx){ .id = id };
		e->in_flight++;
		return t;
	}
}

static Tx *tx_of(Engine *e, uint32_t id)
{
	Tx *t = &e->tx[id % LIMIT_IN_FLIGHT];

	return id && t->id == id ? t : NULL;
}

static void tx_free(Engine *e, Tx *t)
{
	e->in_flight--;
	e->told -= t->told;
	t->id = 0;
}

int engine_line(const PacketId *id)
{
	if (id->v == 0)
		return LINE_ARP;
	switch (id->proto) {
	case PROTO_ICMP:
	case PROTO_ICMP6:
		return LINE_ICMP;
	case PROTO_TCP:
		return LINE_TCP;
	case PROTO_UDP:
		return LINE_UDP;
	default:
		return LINE_OTHER;
	}
}

static EmitKind emit_kind(WireId first)
{
	return first == WIRE_IP ? EMIT_IP4 : first == WIRE_IPV6 ? EMIT_IP6 : EMIT_ETHER;
}

void engine_hand_over(Engine *e, const Outgoing *o, const PacketId *id, EmitPurpose purpose, int64_t not_before)
{
	Tx *t = tx_take(e);
	StatLine *line = &e->line[engine_line(id)];

	t->item = o->item;
	t->probe = o->probe;
	t->told = o->told;
	t->stack_tag = o->stack_tag;
	t->line = (uint8_t)engine_line(id);
	t->cleanup = purpose == PURPOSE_CLEANUP;
	e->told += o->told;
	if (!t->cleanup) {
		line->sent++;
		line->bytes += o->bytes.n;
	}
	e->port->emit(e->port, &(Msg){ .type = MSG_EMIT,
				       .emit = { t->id, 0, (uint8_t)emit_kind(o->first), (uint8_t)purpose,
						 o->iface, not_before, o->bytes } });
}

/* ---- half-open flows ---- */

typedef struct FlowKey {
	uint8_t b[38];
	uint8_t n;
} FlowKey;

static FlowKey flow_key(Ip local, Ip remote, uint16_t lport, uint16_t rport)
{
	FlowKey k;
	Writer w = writer(k.b, sizeof k.b);

	wr_u8(&w, local.v);
	wr_bytes(&w, BYTES(local.b, ip_len(local)));
	wr_bytes(&w, BYTES(remote.b, ip_len(remote)));
	wr_be16(&w, lport);
	wr_be16(&w, rport);
	k.n = (uint8_t)w.n;
	return k;
}

static SynFlow *flow_find(Engine *e, Ip local, Ip remote, uint16_t lport, uint16_t rport)
{
	FlowKey k = flow_key(local, remote, lport, rport);
	uint64_t *at = map_get(&e->flow_map, BYTES(k.b, k.n));

	return at ? &e->flows.p[*at - 1] : NULL;
}

static SynFlow *flow_make(Engine *e, const PacketId *id)
{
	SynFlow *f = flow_find(e, id->src, id->dst, id->a, id->b);

	if (f)
		return f;
	FlowKey k = flow_key(id->src, id->dst, id->a, id->b);
	f = vec_push(
		e->a, &e->flows,
		(SynFlow){
			.src = id->src, .dst = id->dst, .sport = id->a, .dport = id->b, .state = SYN_DONE });
	*map_put(&e->flow_map, BYTES(arena_copy(e->a, k.b, k.n), k.n)) = e->flows.n;
	return f;
}

/* RFC 9293 3.5.2: a reset to a segment with ACK carries its acknowledgement as
 * sequence number. */
static void flow_reset(Engine *e, SynFlow *f)
{
	WirePacket p = { .n = 2 };
	bool v4 = f->src.v == 4;
	Bytes bytes;

	f->state = SYN_DONE;
	if (e->in_flight >= LIMIT_IN_FLIGHT)
		return;
	wire_layer_init(&p.layer[0], wire_proto(v4 ? WIRE_IP : WIRE_IPV6), &e->spare);
	if (v4) {
		wire_set_num(&p.layer[0], F_IP_SRC, ip4_num(f->src));
		wire_set_num(&p.layer[0], F_IP_DST, ip4_num(f->dst));
		wire_set_num(&p.layer[0], F_IP_ID, (f->seq & 0xffff) | 1);
	} else {
		wire_set_bytes(&p.layer[0], F_IPV6_SRC, BYTES(f->src.b, 16));
		wire_set_bytes(&p.layer[0], F_IPV6_DST, BYTES(f->dst.b, 16));
	}
	wire_layer_init(&p.layer[1], wire_proto(WIRE_TCP), &e->spare);
	wire_set_num(&p.layer[1], F_TCP_SPORT, f->sport);
	wire_set_num(&p.layer[1], F_TCP_DPORT, f->dport);
	wire_set_num(&p.layer[1], F_TCP_SEQ, f->seq);
	wire_set_num(&p.layer[1], F_TCP_FLAGS, TCP_RST);
	wire_set_num(&p.layer[1], F_TCP_WINDOW, 0);
	if (!wire_build(&p, &e->spare, &bytes, NULL)) {
		PacketId id;

		packet_id_read(bytes, p.layer[0].proto->id, &id);
		engine_hand_over(e, &(Outgoing){ .bytes = bytes, .first = p.layer[0].proto->id }, &id,
			  PURPOSE_CLEANUP, 0);
		e->resets++;
	}
	arena_reset(&e->spare, 0);
}

void engine_resets(Engine *e, bool all)
{
	int64_t next = NS_NONE;

	if (!all && (e->reset_due_ns == NS_NONE || e->reset_due_ns > e->now_ns))
		return;
	for (uint32_t i = 0; i < e->flows.n; i++) {
		SynFlow *f = &e->flows.p[i];
		bool due = f->state == SYN_ANSWERED && f->due_ns <= e->now_ns;

		if (due || (all && (f->state == SYN_ANSWERED || f->state == SYN_KEPT)))
			flow_reset(e, f);
		else if (f->state == SYN_ANSWERED && (next == NS_NONE || f->due_ns < next))
			next = f->due_ns;
	}
	e->reset_due_ns = next;
}

/* What the program sends decides about its flow. */
static void flow_sending(Engine *e, const PacketId *id)
{
	bool syn = id->kind & TCP_SYN && !(id->kind & TCP_ACK);
	SynFlow *f;

	if (id->proto != PROTO_TCP || !id->v || !(id->have & HAVE_HEADER))
		return;
	if (syn) {
		f = flow_make(e, id);
		if (f->state == SYN_ANSWERED || f->state == SYN_KEPT)
			flow_reset(e, f);
		f->state = SYN_SENT;
		f->seq = id->seq;
		return;
	}
	f = flow_find(e, id->src, id->dst, id->a, id->b);
	if (!f || f->state == SYN_DONE || f->state == SYN_SENT)
		return;
	f->state = id->kind & TCP_RST ? SYN_DONE : SYN_KEPT;
	if (serial_lt(f->seq, id->seq + id->seq_len))
		f->seq = id->seq + id->seq_len;
}

bool engine_flow_kept(Engine *e, const PacketId *id)
{
	const SynFlow *f;

	if (id->proto != PROTO_TCP || !id->v || !(id->have & HAVE_HEADER))
		return false;
	f = flow_find(e, id->dst, id->src, id->b, id->a);
	return f && f->state == SYN_KEPT;
}

void engine_flow_seen(Engine *e, const PacketId *id, int64_t rx_ns)
{
	SynFlow *f;

	if (id->proto != PROTO_TCP || !id->v || !(id->have & HAVE_HEADER))
		return;
	f = flow_find(e, id->dst, id->src, id->b, id->a);
	if (!f)
		return;
	if (id->kind & TCP_RST) {
		f->state = SYN_DONE;
	} else if (f->state == SYN_SENT && (id->kind & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
		/* of several SYNs on one flow the peer holds the one that it acknowledges */
		f->state = SYN_ANSWERED;
		f->seq = id->ack;
		f->due_ns = ns_later(rx_ns, RST_AFTER_MS * NS_PER_MS);
		if (e->reset_due_ns == NS_NONE || f->due_ns < e->reset_due_ns)
			e->reset_due_ns = f->due_ns;
	}
}

/* ---- emission ---- */

/* Bytes at layer 2 without FCS: what the budget counts. */
static size_t layer2_bytes(const Outgoing *o)
{
	return o->bytes.n + (o->first == WIRE_ETHER ? 0 : 14);
}

static bool is_tagged(const Outgoing *o)
{
	enum { TYPE_AT = 12, TYPE_8021Q = 0x8100, TYPE_8021AD = 0x88a8 };
	uint16_t type = o->first == WIRE_ETHER && o->bytes.n >= 14 ? get_be16(o->bytes.p + TYPE_AT) : 0;

	return type == TYPE_8021Q || type == TYPE_8021AD;
}

bool engine_emit(Engine *e, const Outgoing *o)
{
	PacketId id;
	bool known = packet_id_read(o->bytes, o->first, &id);
	bool syn = known && id.v && id.proto == PROTO_TCP && id.kind & TCP_SYN;
	int64_t earliest = o->even_at == NS_NONE || o->even_at < e->now_ns ? e->now_ns : o->even_at;
	int64_t at = engine_departure(e, layer2_bytes(o), syn, earliest);

	while (e->in_flight >= LIMIT_IN_FLIGHT)
		if (!engine_step(e, NS_NONE))
			return false;
	if (!engine_until(e, at - LOOK_AHEAD_MS * NS_PER_MS))
		return false;
	if (known) {
		if (engine_is_conn(e, &id))
			engine_crafted(e, &id, id.packet, o, at);
		else
			flow_sending(e, &id);
		expert_probe(e->expert, &id, is_tagged(o));
	}
	engine_hand_over(e, o, &id, PURPOSE_PROBE, at);
	return true;
}

void engine_sent(Engine *e, const Msg *m)
{
	Tx *t = tx_of(e, m->sent.tx_id);

	if (!t)
		return;
	Tx was = *t;
	tx_free(e, t);
	if (was.stack_tag)
		engine_conn_sent(e, was.stack_tag, m->sent.tx_ns);
	else if (was.probe && e->crafted.n)
		engine_crafted_sent(e, was.probe, m->sent.tx_ns);
	e->tx_source[m->sent.source < STAMP_N ? m->sent.source : STAMP_NONE]++;
	if (m->sent.source == STAMP_NONE)
		warn_add(&e->warnings, WARN_NO_STAMP, WARN_NOBODY, 1, "a sent frame has the time of the system call");
	if (m->sent.queue_ns > QUEUED_MS * NS_PER_MS)
		warn_add(&e->warnings, WARN_QUEUED, WARN_NOBODY, 1, "%.3f ms", (double)m->sent.queue_ns / 1e6);
	if (m->sent.paced_ns > HELD_MS * NS_PER_MS)
		warn_add(&e->warnings, WARN_PACED, WARN_NOBODY, 1, "the gate held a packet for %.3f ms",
			 (double)m->sent.paced_ns / 1e6);
	if (e->call && was.told && e->call->sent)
		e->call->sent(e->call->ctx, was.item, m->sent.tx_ns, m->sent.iface);
}

void engine_notsent(Engine *e, const Msg *m)
{
	Tx *t = tx_of(e, m->notsent.tx_id);
	NotSent why = m->notsent.reason < NOTSENT_N ? (NotSent)m->notsent.reason : NOTSENT_FRAME;
	Str detail = bytes_str(m->notsent.detail);

	if (!t)
		return;
	Tx was = *t;
	tx_free(e, t);
	if (was.stack_tag)
		engine_conn_notsent(e, was.stack_tag, why);
	if (was.probe)
		matcher_drop(e->matcher, was.probe);
	if (!was.cleanup) {
		e->line[was.line].sent--;
		e->line[was.line].not_sent++;
		warn_add(&e->warnings, WARN_NOT_SENT, WARN_NOBODY, 1, "%s%s%.*s", notsent_text(why), detail.n ? ": " : "",
			 STR_ARG(detail));
	}
	if (e->call && was.told && e->call->notsent)
		e->call->notsent(e->call->ctx, was.item, why, detail);
}
