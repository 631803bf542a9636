/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving: every frame gets a verdict; what answers no earlier probe waits in
 * the queue for sniff, up to the next mark.
 */
#include "vm/engine_inside.h"

/* ---- the queue ---- */

void engine_queue_pop(Engine *e)
{
	e->queue_first = (e->queue_first + 1) % LIMIT_SNIFF_QUEUE;
	e->queue_n--;
}

/* Where len bytes fit behind the newest frame, or at the ring's start: frames
 * never wrap.  The oldest make room. */
static uint32_t queue_place(Engine *e, uint32_t len)
{
	while (e->queue_n) {
		const Queued *oldest = &e->queue[e->queue_first];
		const Queued *newest = &e->queue[(e->queue_first + e->queue_n - 1) % LIMIT_SNIFF_QUEUE];
		uint32_t end = newest->off + newest->len;
		bool wrapped = newest->off < oldest->off;

		if (end + len <= (wrapped ? oldest->off : QUEUE_BYTES))
			return end;
		if (!wrapped && len <= oldest->off)
			return 0;
		engine_queue_pop(e);
		warn_add(&e->warnings, WARN_SNIFF_FULL, WARN_NOBODY, 1, "above %u MB", QUEUE_BYTES >> 20);
	}
	return 0;
}

static void queue_push(Engine *e, const Msg *m)
{
	uint32_t len = (uint32_t)m->frame.data.n;

	if (!len || len > LIMIT_FRAME || m->frame.first >= WIRE_N || m->frame.rx_ns <= e->mark_ns)
		return;
	if (e->queue_n == LIMIT_SNIFF_QUEUE) {
		engine_queue_pop(e);
		warn_add(&e->warnings, WARN_SNIFF_FULL, WARN_NOBODY, 1, "above %u frames", LIMIT_SNIFF_QUEUE);
	}
	uint32_t off = queue_place(e, len);
	memcpy(e->queue_bytes + off, m->frame.data.p, len);
	e->queue[(e->queue_first + e->queue_n++) % LIMIT_SNIFF_QUEUE] =
		(Queued){ m->frame.rx_ns, off, len, m->frame.iface, m->frame.first, m->frame.flags };
}

Bytes engine_queued(const Engine *e, uint32_t i, Queued *ret_q)
{
	*ret_q = e->queue[(e->queue_first + i) % LIMIT_SNIFF_QUEUE];
	return BYTES(e->queue_bytes + ret_q->off, ret_q->len);
}

void engine_mark(Engine *e)
{
	e->mark_ns = e->now_ns;
	e->queue_n = 0;
}

/* ---- verdicts ---- */

static void count(Engine *e, const Arrival *a, const Match *m)
{
	const PacketId *probe = matcher_probe(e->matcher, m->probe);
	StatLine *line = &e->line[engine_line(probe ? probe : &a->id)];

	expert_match(e->expert, probe, &a->id, m);
	line->duplicates += m->verdict == VERDICT_DUPLICATE;
	line->further += m->verdict == VERDICT_FURTHER;
	line->late += m->verdict == VERDICT_LATE;
	line->ambiguous += m->ambiguous;
	e->late += m->verdict == VERDICT_LATE;
	e->unsolicited += m->verdict == VERDICT_UNSOLICITED;
}

static void tell(Engine *e, Arrival *a, const Match *m)
{
	count(e, a, m);
	a->odd = expert_odd(e->expert);
	if (e->call && e->call->arrived)
		e->call->arrived(e->call->ctx, a, m);
}

/* A packet of our own flows, whole.  False: it answers nothing. */
static bool judge(Engine *e, Arrival *a)
{
	uint32_t n;
	const Match *m = matcher_match(e->matcher, &a->id, &n);
	bool wanted = false;

	for (uint32_t i = 0; i < n; i++) {
		/* what nobody waits for is sniff's, and so is what follows on a flow that
		 * the program carries on by hand; only in a call it is unsolicited or late */
		bool loose = m[i].verdict == VERDICT_UNSOLICITED ||
			     (m[i].verdict == VERDICT_LATE && engine_flow_kept(e, &a->id));

		if (loose && !(e->call && e->call->arrived))
			continue;
		wanted |= m[i].verdict != VERDICT_UNSOLICITED;
		tell(e, a, &m[i]);
	}
	return wanted;
}

/* What connections take is no probe's answer, but for those to segments made by hand. */
static bool judge_conn(Engine *e, Arrival *a, const ConnSeen *seen)
{
	uint32_t n;
	Match m;

	if (engine_crafted_answer(e, a, seen, &m)) {
		e->line[LINE_TCP].answered++;
		if (e->call && e->call->arrived)
			e->call->arrived(e->call->ctx, a, &m);
		return true;
	}
	if (seen->live || !seen->shown)
		return !seen->shown; /* what nobody waits for, behind a segment made by hand, is sniff's */
	m = *matcher_match(e->matcher, &a->id, &n);
	if (m.verdict != VERDICT_UNSOLICITED && m.verdict != VERDICT_LATE) {
		engine_crafted_done(e, m.probe);
		tell(e, a, &m);
	}
	return true;
}

/* A whole packet: a connection's, an answer, or neither (false). */
static bool deliver(Engine *e, Arrival *a, bool csum_good)
{
	ConnSeen seen;

	if (engine_conn_frame(e, a, csum_good, &seen))
		return judge_conn(e, a, &seen);
	return !e->finishing && judge(e, a);
}

static bool judge_fragment(Engine *e, const Arrival *piece)
{
	Reassembled r;
	Arrival a = *piece;
	char src[IP_TEXT];

	ip_format(a.id.src, src);
	warn_add(&e->warnings, WARN_FRAGMENTS, a.id.src, 1, "from %s, %u bytes at %u", src, (unsigned)a.id.piece.n,
		 a.id.frag_off);
	if (!reassemble(e->reasm, &a.id, a.rx_ns, &r))
		return false;
	a.frame = r.packet;
	a.first = a.id.v == 4 ? WIRE_IP : WIRE_IPV6;
	a.pieces = &r;
	return packet_id_read(a.frame, a.first, &a.id) && deliver(e, &a, false);
}

static bool from_link(const Engine *e, const Arrival *a)
{
	for (uint32_t i = 0; i < e->addr.n; i++) {
		const HostAddr *h = &e->addr.p[i];

		if (h->iface == a->iface && net_has((Net){ h->ip, h->bits }, a->id.src))
			return true;
	}
	return false;
}

static void look_at(Engine *e, Arrival *a, const Msg *m)
{
	const HostIface *iface = engine_iface(e, a->iface);
	ExpertFrame f = { .id = &a->id,
			  .frame = a->frame,
			  .first = a->first,
			  .orig_len = m->frame.orig_len,
			  .mtu = iface ? iface->mtu : 0,
			  .computed = m->frame.csum != RX_CSUM_NOT_COMPUTED,
			  .third_party = a->flags & FRAME_THIRD_PARTY,
			  .from_link = from_link(e, a),
			  .from_ours = engine_is_ours(e, a->id.src),
			  .to_ours = engine_is_ours(e, a->id.dst),
			  .stamped = m->frame.source != STAMP_NONE };

	expert_frame(e->expert, &f);
	a->odd = expert_odd(e->expert);
}

void engine_frame(Engine *e, const Msg *m)
{
	Arrival a = { .frame = m->frame.data,
		      .first = (WireId)m->frame.first,
		      .iface = m->frame.iface,
		      .flags = m->frame.flags,
		      .rx_ns = m->frame.rx_ns };
	bool wanted = false;

	if (e->finishing && !e->stack)
		return;
	e->frames++;
	e->rx_source[m->frame.source < STAMP_N ? m->frame.source : STAMP_NONE]++;
	if (m->frame.first < WIRE_N && packet_id_read(a.frame, a.first, &a.id)) {
		look_at(e, &a, m);
		if (!(a.flags & FRAME_THIRD_PARTY)) {
			engine_flow_seen(e, &a.id, a.rx_ns);
			wanted = a.id.fragment ? judge_fragment(e, &a)
					       : deliver(e, &a, m->frame.csum != RX_CSUM_UNKNOWN);
		}
	}
	if (!wanted && !e->finishing)
		queue_push(e, m);
}
