/* SPDX-License-Identifier: Apache-2.0
 *
 * Payload of the peer: what of it is new, where it goes, when it is acknowledged.
 */
#include "tcpip/tcp_inside.h"

/* ---- what came before its turn ---- */

static bool ooo_begin(TcpConn *c)
{
	if (!c->ooo)
		c->ooo = pool_take(tcp_pool(c), POOL_512);
	return c->ooo;
}

static void ooo_end(TcpConn *c)
{
	pool_give(tcp_pool(c), POOL_512, c->ooo);
	c->ooo = NULL;
}

static void ooo_remove(OooRanges *o, uint32_t i, uint32_t n)
{
	memmove(&o->r[i], &o->r[i + n], (o->n - i - n) * sizeof o->r[0]);
	o->n -= n;
}

/* [start, end) into the sorted ranges, merged with what it touches; false: too many. */
static bool ooo_add(OooRanges *o, uint32_t start, uint32_t end)
{
	uint32_t i = 0, j;

	while (i < o->n && seq_lt(o->r[i].end, start))
		i++;
	for (j = i; j < o->n && seq_le(o->r[j].start, end); j++) {
		start = seq_min(start, o->r[j].start);
		end = seq_max(end, o->r[j].end);
	}
	if (j > i) {
		ooo_remove(o, i, j - i - 1);
	} else {
		if (o->n == TCP_OOO_RANGES)
			return false;
		memmove(&o->r[i + 1], &o->r[i], (o->n - i) * sizeof o->r[0]);
		o->n++;
	}
	o->r[i] = (SeqRange){ start, end };
	o->newest = start;
	return true;
}

/* Bytes of [seq, seq + b.n) that are stored already must be the same: if not, the first stay
 * (what was acknowledged or SACKed may have been read), and it is told. */
static void compare(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b)
{
	if (seq_lt(seq, c->rx_seq)) { /* read already: nothing to compare with */
		uint32_t gone = c->rx_seq - seq;

		if (gone >= b.n)
			return;
		b = bytes_slice(b, gone, b.n);
		seq = c->rx_seq;
	}
	size_t same = chain_same(&c->rx, seq - c->rx_seq, b);

	if (same == b.n)
		return;
	c->in.overlaps++;
	tcp_event(c, now_ns, TCP_EV_OVERLAP, rel_in(c, seq + (uint32_t)same), rel_in(c, seq + (uint32_t)b.n));
}

/* Writes what of [seq, seq + b.n) is not stored; how many bytes from seq on stand there then. */
static uint32_t store(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b)
{
	uint32_t at = 0, n = (uint32_t)b.n;

	for (uint32_t i = 0; c->ooo && i < c->ooo->n && at < n; i++) {
		SeqRange r = c->ooo->r[i];

		if (seq_le(r.end, seq + at))
			continue;
		if (seq_le(seq + n, r.start))
			break;
		if (seq_lt(seq + at, r.start)) {
			uint32_t gap = r.start - seq - at;

			if (chain_write(tcp_pool(c), &c->rx, seq + at - c->rx_seq, bytes_slice(b, at, at + gap)) < gap)
				return at;
			at += gap;
		}
		uint32_t both = seq_min(r.end, seq + n) - seq - at;

		compare(c, now_ns, seq + at, bytes_slice(b, at, at + both));
		at += both;
	}
	if (at < n)
		at += (uint32_t)chain_write(tcp_pool(c), &c->rx, seq + at - c->rx_seq, bytes_slice(b, at, n));
	return at;
}

/* ---- when to acknowledge ---- */

static void ack_at_once(TcpConn *c)
{
	if (c->auto_ack)
		c->ack_now = true;
}

/* RFC 5681 4.2: each segment out of order is worth an ACK of its own. */
static void ack_duplicate(TcpConn *c)
{
	if (c->auto_ack && c->dup_acks_due < UINT8_MAX)
		c->dup_acks_due++;
}

/* RFC 9293 3.8.6.3, RFC 5681 4.2: every second segment at once, else soon. */
static void ack_soon(TcpConn *c, int64_t now_ns)
{
	if (!c->auto_ack)
		return;
	if (++c->ack_pending >= 2)
		c->ack_now = true;
	else if (!timer_on(c, TCP_TIMER_DELACK))
		timer_set(c, TCP_TIMER_DELACK, now_ns + TCP_DELACK);
}

static void dsack(TcpConn *c, uint32_t start, uint32_t end)
{
	c->dsack_due = c->sack_ok;
	c->dsack = (SeqRange){ start, end };
}

/* ---- placing ---- */

void tcp_old_text(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b)
{
	uint32_t end = seq + (uint32_t)b.n;

	c->in.retransmits++;
	c->in.bytes_dup += b.n;
	tcp_event(c, now_ns, TCP_EV_DUPLICATE, rel_in(c, seq), rel_in(c, end));
	compare(c, now_ns, seq, b);
	dsack(c, seq, end);
	ack_at_once(c);
}

static void advance(TcpConn *c, int64_t now_ns, uint32_t to)
{
	c->in.bytes += to - c->rcv_nxt;
	c->rcv_nxt = to;
	if (!c->times.first_byte)
		c->times.first_byte = now_ns;
	c->times.last_byte = now_ns;
}

/* The gap in front of the first ranges is filled up to `to`. */
static void gap_filled(TcpConn *c, uint32_t to)
{
	OooRanges *o = c->ooo;
	uint32_t n = 0, behind = o->r[o->n - 1].end - c->rcv_nxt;

	if (c->in.reorder_bytes < behind)
		c->in.reorder_bytes = behind;
	while (n < o->n && seq_le(o->r[n].start, to))
		to = seq_max(to, o->r[n++].end);
	ooo_remove(o, 0, n);
	advance(c, c->last_rx_ns, to);
	if (!o->n)
		ooo_end(c);
}

static void no_memory(TcpConn *c, int64_t now_ns, uint32_t bytes)
{
	c->in.no_memory++;
	tcp_event(c, now_ns, TCP_EV_NO_MEMORY, bytes, 0);
}

static void in_order(TcpConn *c, int64_t now_ns, Bytes b)
{
	uint32_t n = store(c, now_ns, c->rcv_nxt, b), to = c->rcv_nxt + n;

	if (n < b.n)
		no_memory(c, now_ns, (uint32_t)b.n - n);
	if (!c->ooo) {
		advance(c, now_ns, to);
		ack_soon(c, now_ns);
		return;
	}
	gap_filled(c, to);
	ack_at_once(c); /* RFC 5681 4.2: what fills a gap is news */
}

static void out_of_order(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b)
{
	uint32_t before = c->ooo ? c->ooo->n : 0, n;

	if (!ooo_begin(c)) {
		no_memory(c, now_ns, (uint32_t)b.n);
		return;
	}
	n = store(c, now_ns, seq, b);
	if (n && !ooo_add(c->ooo, seq, seq + n))
		n = 0;
	if (n < b.n)
		no_memory(c, now_ns, (uint32_t)b.n - n);
	if (!before && !c->ooo->n)
		ooo_end(c);
	c->in.out_of_order++;
	tcp_event(c, now_ns, TCP_EV_OUT_OF_ORDER, rel_in(c, seq), rel_in(c, seq + n));
	ack_duplicate(c);
}

/* Whether all of [start, end) came before its turn already. */
static bool is_stored(const TcpConn *c, uint32_t start, uint32_t end)
{
	for (uint32_t i = 0; c->ooo && i < c->ooo->n; i++) {
		if (seq_le(c->ooo->r[i].start, start) && seq_le(end, c->ooo->r[i].end))
			return true;
	}
	return false;
}

static void payload_in(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b)
{
	uint32_t edge = seq_max(c->rcv_adv, c->rcv_nxt);

	if (seq_le(seq + (uint32_t)b.n, c->rcv_nxt) || is_stored(c, seq, seq + (uint32_t)b.n)) {
		tcp_old_text(c, now_ns, seq, b);
		return;
	}
	if (seq_lt(seq, c->rcv_nxt)) { /* its first part came before */
		uint32_t old = c->rcv_nxt - seq;

		c->in.bytes_dup += old;
		compare(c, now_ns, seq, bytes_slice(b, 0, old));
		dsack(c, seq, c->rcv_nxt);
		b = bytes_slice(b, old, b.n);
		seq = c->rcv_nxt;
	}
	/* RFC 9293 3.10.7.4: trimmed to the window. */
	if (seq_lt(edge, seq + (uint32_t)b.n)) {
		b = bytes_slice(b, 0, seq_lt(seq, edge) ? edge - seq : 0);
		ack_at_once(c);
	}
	if (!b.n)
		return;
	if (seq == c->rcv_nxt)
		in_order(c, now_ns, b);
	else
		out_of_order(c, now_ns, seq, b);
}

static void fin_in(TcpConn *c, int64_t now_ns, uint32_t at)
{
	if (c->fin_seen)
		return;
	c->fin_seen = true;
	c->rcv_fin = at;
	tcp_event(c, now_ns, TCP_EV_FIN_IN, rel_in(c, at), 0);
}

bool tcp_text_in(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	uint32_t seq = seg->seq + !!(seg->flags & TCP_SYN), end = seq + (uint32_t)seg->payload.n;
	Bytes b = seg->payload;

	if (c->fin_received) { /* RFC 9293 3.10.7.4: nothing can come behind a FIN; what comes again is acknowledged */
		if (b.n || seg->flags & TCP_FIN)
			ack_at_once(c);
		return false;
	}
	if (c->fin_seen && seq_lt(c->rcv_fin, end)) /* bytes behind the FIN are nobody's */
		b = bytes_slice(b, 0, seq_lt(seq, c->rcv_fin) ? c->rcv_fin - seq : 0);
	if (b.n)
		payload_in(c, now_ns, seq, b);
	/* A FIN counts if all in front of it fitted into the window. */
	if (seg->flags & TCP_FIN && seq_le(end, seq_max(c->rcv_adv, c->rcv_nxt)) && seq_le(c->rcv_nxt, end))
		fin_in(c, now_ns, end);
	if (seg->flags & TCP_FIN)
		ack_at_once(c);
	if (!c->fin_seen || c->rcv_nxt != c->rcv_fin)
		return false;
	c->rcv_nxt++;
	c->fin_received = true;
	ack_at_once(c);
	return true;
}
