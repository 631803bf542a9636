/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of a connection between any two calls.  Scripts and fuzzing ask after each.
 */
#include "tcpip/tcp_inside.h"

static const char *check_numbers(const TcpConn *c)
{
	if (c->state >= TCP_STATE_N || c->error >= TCP_ERR_N)
		return "state or error is none";
	if (!seq_le(c->snd_una, c->snd_nxt))
		return "snd_una is behind snd_nxt";
	if (c->fin_acked && !c->fin_sent)
		return "a FIN acknowledged that was not sent";
	if (c->fin_sent && c->state != TCP_CLOSED && c->fin_seq + 1 != c->snd_nxt)
		return "something stands behind our FIN";
	if (c->cwnd == 0 && c->recovery != TCP_CA_RECOVERY)
		return "cwnd is 0";
	if (c->snd_mss < 44)
		return "snd_mss is too small";
	return NULL;
}

static const char *check_board(const TcpConn *c)
{
	uint32_t at = c->snd_una, pipe = 0, lost = 0, sacked = 0, sacked_segs = 0, n = 0, sent = 0;

	for (const TxSeg *g = c->seg_first; g; g = g->next, n++) {
		if (g->seq != at || !seq_lt(g->seq, g->end))
			return "the scoreboard has a gap, an overlap or an empty entry";
		if (g->next ? g->next->prev != g : c->seg_last != g)
			return "the scoreboard's links disagree";
		if (g->sacked && g->lost)
			return "SACKed and lost at once";
		at = g->end;
		*(g->sacked ? &sacked : g->lost ? &lost : &pipe) += txseg_len(g);
		sacked_segs += g->sacked;
	}
	for (const TxSeg *g = c->sent_first; g && sent <= n; g = g->sent_next)
		sent++;
	if (sent != n)
		return "the two orders of the scoreboard hold different entries";
	if (c->state != TCP_CLOSED && at != c->snd_nxt)
		return "the scoreboard does not end at snd_nxt";
	if (pipe != c->pipe || lost != c->lost || sacked != c->sacked || sacked_segs != c->sacked_segs)
		return "pipe, lost or SACKed is not the sum of the scoreboard";
	return NULL;
}

static const char *check_send(const TcpConn *c)
{
	uint32_t end = c->tx_seq + c->tx.bytes, data_end = c->snd_nxt - c->fin_sent;

	if (c->state == TCP_CLOSED)
		return c->tx.bytes ? "a closed connection holds bytes to send" : NULL;
	if (c->snd_una != c->iss && !c->fin_acked && c->tx_seq != c->snd_una)
		return "the send buffer does not begin at snd_una";
	if (c->snd_nxt != c->iss && seq_lt(end, data_end))
		return "sent more than the send buffer holds";
	if (c->seg_first && !timer_on(c, TCP_TIMER_RTO))
		return "something is out and no time-out runs";
	return NULL;
}

static const char *check_receive(const TcpConn *c)
{
	uint32_t have = c->rcv_nxt - c->fin_received - c->rx_seq, last = c->rcv_nxt;

	if (!c->peer.said)
		return NULL;
	if (!seq_le(c->rx_seq, c->rcv_nxt) || have > c->rx.bytes)
		return "the receive buffer holds less than is readable";
	if (!c->ooo && have != c->rx.bytes)
		return "the receive buffer holds more than came";
	if (!seq_le(c->rcv_acked, c->rcv_nxt))
		return "acknowledged more than came";
	for (uint32_t i = 0; c->ooo && i < c->ooo->n; i++) {
		SeqRange r = c->ooo->r[i];

		if (!seq_lt(last, r.start) || !seq_lt(r.start, r.end))
			return "ranges out of order overlap or touch";
		last = r.end;
	}
	if (c->ooo && (!c->ooo->n || last - c->rx_seq > c->rx.bytes))
		return "ranges out of order are not stored";
	if (c->ooo && !seq_le(last, c->rcv_adv))
		return "bytes are held beyond the window";
	return NULL;
}

static const char *check_frames(const TcpConn *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; c->frames && i < STACK_UNSENT; i++) {
		const TxSeg *g = c->frames[i].seg;

		n += c->frames[i].what != 0;
		if (g && g->slot != i + 1)
			return "a frame and its segment disagree";
	}
	return n == c->ep.unsent ? NULL : "frames on their way are miscounted";
}

const char *tcp_check(const TcpConn *c)
{
	static const char *(*const checks[])(const TcpConn *c) = {
		check_numbers, check_board, check_send, check_receive, check_frames,
	};
	const char *bad = NULL;

	for (size_t i = 0; i < sizeof checks / sizeof *checks && !bad; i++)
		bad = checks[i](c);
	return bad;
}
