/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoreboard: one entry a segment that left, in two orders, by sequence and by the time
 * of the last sending.  pipe, lost and sacked are kept as sums, so that nothing is counted
 * again for an ACK (RFC 6675's SetPipe).
 */
#include "tcpip/tcp_inside.h"

/* ---- the two lists ---- */

static void sent_unlink(TcpConn *c, TxSeg *g)
{
	*(g->sent_prev ? &g->sent_prev->sent_next : &c->sent_first) = g->sent_next;
	*(g->sent_next ? &g->sent_next->sent_prev : &c->sent_last) = g->sent_prev;
}

static void sent_append(TcpConn *c, TxSeg *g)
{
	g->sent_next = NULL;
	g->sent_prev = c->sent_last;
	*(c->sent_last ? &c->sent_last->sent_next : &c->sent_first) = g;
	c->sent_last = g;
}

static void sent_insert_behind(TcpConn *c, TxSeg *at, TxSeg *g)
{
	g->sent_prev = at;
	g->sent_next = at->sent_next;
	*(at->sent_next ? &at->sent_next->sent_prev : &c->sent_last) = g;
	at->sent_next = g;
}

static void seq_insert_behind(TcpConn *c, TxSeg *at, TxSeg *g)
{
	g->prev = at;
	g->next = at ? at->next : c->seg_first;
	*(g->next ? &g->next->prev : &c->seg_last) = g;
	*(at ? &at->next : &c->seg_first) = g;
}

static void drop(TcpConn *c, TxSeg *g)
{
	sent_unlink(c, g);
	*(g->prev ? &g->prev->next : &c->seg_first) = g->next;
	*(g->next ? &g->next->prev : &c->seg_last) = g->prev;
	if (c->sack_hint == g)
		c->sack_hint = NULL;
	if (c->rtx_hint == g)
		c->rtx_hint = g->next;
	tcp_unslot(c, g);
	pool_give(tcp_pool(c), POOL_128, g);
}

void score_clear(TcpConn *c)
{
	while (c->seg_first)
		drop(c, c->seg_first);
	c->pipe = c->lost = c->sacked = c->sacked_segs = c->reno_sacked = 0;
}

/* ---- sending ---- */

static void snapshot(TcpConn *c, int64_t now_ns, TxSeg *g)
{
	g->tx_ns = now_ns;
	g->stamped = false;
	g->delivered = c->delivered;
	g->delivered_ns = c->delivered_ns;
	g->first_sent_ns = c->first_sent_ns;
	g->app_limited = c->app_limited != 0;
}

TxSeg *score_add(TcpConn *c, int64_t now_ns, uint32_t seq, uint32_t end)
{
	TxSeg *g = pool_take(tcp_pool(c), POOL_128);

	if (!g)
		return NULL;
	if (!c->seg_first) /* the flight begins: rates are measured from here */
		c->first_sent_ns = c->delivered_ns = now_ns;
	g->seq = seq;
	g->end = end;
	snapshot(c, now_ns, g);
	seq_insert_behind(c, c->seg_last, g);
	sent_append(c, g);
	c->pipe += end - seq;
	return g;
}

void score_resent(TcpConn *c, int64_t now_ns, TxSeg *g)
{
	tcp_unslot(c, g);
	if (g->lost) {
		g->lost = false;
		c->lost -= txseg_len(g);
		c->pipe += txseg_len(g);
	}
	g->retransmitted = true;
	snapshot(c, now_ns, g);
	sent_unlink(c, g);
	sent_append(c, g);
}

void score_lost(TcpConn *c, TxSeg *g)
{
	if (g->lost || g->sacked)
		return;
	g->lost = true;
	c->lost += txseg_len(g);
	c->pipe -= txseg_len(g);
	if (!c->rtx_hint || seq_lt(g->seq, c->rtx_hint->seq))
		c->rtx_hint = g;
}

void score_found(TcpConn *c, TxSeg *g)
{
	if (!g->lost)
		return;
	g->lost = false;
	c->lost -= txseg_len(g);
	c->pipe += txseg_len(g);
}

void score_all_lost(TcpConn *c, int64_t sent_before_ns)
{
	for (TxSeg *g = c->seg_first; g; g = g->next) {
		if (g == c->seg_first || g->tx_ns <= sent_before_ns)
			score_lost(c, g);
	}
}

TxSeg *score_next_lost(TcpConn *c)
{
	TxSeg *g = c->lost ? c->rtx_hint : NULL;

	while (g && !g->lost)
		g = g->next;
	c->rtx_hint = g;
	return g;
}

bool score_split(TcpConn *c, TxSeg *g, uint32_t at)
{
	TxSeg *right = pool_take(tcp_pool(c), POOL_128);

	if (!right)
		return false;
	*right = *g;
	right->slot = 0;
	right->seq = at;
	right->syn = false;
	g->end = at;
	g->fin = false;
	seq_insert_behind(c, g, right);
	sent_insert_behind(c, g, right);
	if (g->sacked)
		c->sacked_segs++;
	return true;
}

/* ---- acknowledging ---- */

/* g arrived, first news of it: n of its bytes. */
static void delivered(TcpConn *c, int64_t now_ns, const TxSeg *g, uint32_t n, AckNews *news)
{
	news->delivered += n;
	if (news->longest < txseg_len(g) - g->syn - g->fin)
		news->longest = txseg_len(g) - g->syn - g->fin;
	c->delivered += n;
	c->delivered_ns = now_ns;
	rack_delivered(c, now_ns, g, news);
	if (!news->last_tx_ns || g->tx_ns >= news->last_tx_ns) {
		news->last_tx_ns = g->tx_ns;
		news->prior_delivered = g->delivered;
		news->prior_ns = g->delivered_ns;
		news->prior_sent_ns = g->first_sent_ns;
		c->first_sent_ns = g->tx_ns;
	}
	/* RFC 6298 3, Karn: what was sent twice tells nothing. */
	if (!g->retransmitted && g->stamped && now_ns > g->tx_ns) {
		news->rtt_fresh_ns = now_ns - g->tx_ns;
		if (!news->rtt_ns)
			news->rtt_ns = news->rtt_fresh_ns;
	}
}

/* The first n bytes of the scoreboard's first entry are acknowledged. */
static void ack_bytes(TcpConn *c, int64_t now_ns, TxSeg *g, uint32_t n, AckNews *news)
{
	if (g->sacked)
		c->sacked -= n;
	else if (g->lost)
		c->lost -= n;
	else
		c->pipe -= n;
	if (!g->sacked)
		delivered(c, now_ns, g, n, news);
	news->acked += n;
}

void score_ack(TcpConn *c, int64_t now_ns, uint32_t ack, AckNews *news)
{
	TxSeg *g;

	while ((g = c->seg_first) && seq_le(g->end, ack)) {
		ack_bytes(c, now_ns, g, txseg_len(g), news);
		c->sacked_segs -= g->sacked;
		drop(c, g);
	}
	if (g && seq_lt(g->seq, ack)) {
		ack_bytes(c, now_ns, g, ack - g->seq, news);
		g->seq = ack;
		g->syn = false;
	}
}

static void sacked(TcpConn *c, int64_t now_ns, TxSeg *g, AckNews *news)
{
	if (g->lost)
		c->lost -= txseg_len(g);
	else
		c->pipe -= txseg_len(g);
	g->lost = false;
	g->sacked = true;
	c->sacked += txseg_len(g);
	c->sacked_segs++;
	news->sacked += txseg_len(g);
	delivered(c, now_ns, g, txseg_len(g), news);
}

/* RFC 2018 4: all that lies inside the block. */
static void sack_block(TcpConn *c, int64_t now_ns, SeqRange r, AckNews *news)
{
	TxSeg *g = c->sack_hint;

	if (!g || seq_lt(r.start, g->seq))
		g = c->seg_first;
	for (; g && seq_lt(g->seq, r.end); g = g->next) {
		c->sack_hint = g;
		if (g->sacked || seq_le(g->end, r.start))
			continue;
		if (seq_lt(g->seq, r.start)) {
			if (!score_split(c, g, r.start))
				return;
			continue; /* its right part is next */
		}
		if (seq_lt(r.end, g->end) && !score_split(c, g, r.end))
			return;
		sacked(c, now_ns, g, news);
	}
}

/* RFC 2883 4: the first block is of bytes that came twice if it is below the ACK, or inside the
 * second block. */
static bool is_dsack(const TcpSeg *seg)
{
	SeqRange a = seg->sack[0];

	if (seq_le(a.end, seg->ack))
		return true;
	return seg->n_sack > 1 && seq_le(seg->sack[1].start, a.start) && seq_le(a.end, seg->sack[1].end);
}

void score_sacks(TcpConn *c, int64_t now_ns, const TcpSeg *seg, AckNews *news)
{
	for (uint32_t i = 0; i < seg->n_sack; i++) {
		SeqRange r = seg->sack[i];

		c->out.sacks++;
		if (!seq_lt(r.start, r.end))
			continue;
		if (i == 0 && is_dsack(seg)) {
			c->out.dsacks++;
			news->dsack = true;
			tcp_event(c, now_ns, TCP_EV_DSACK, rel_out(c, r.start), rel_out(c, r.end));
			continue;
		}
		/* Only what is out: blocks beyond are of crafted segments, or forged. */
		if (seq_lt(r.start, c->snd_una) || seq_lt(c->snd_nxt, r.end))
			continue;
		sack_block(c, now_ns, r, news);
	}
	news->sack_news = news->sacked != 0;
}
