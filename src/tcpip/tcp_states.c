/* SPDX-License-Identifier: Apache-2.0
 *
 * What a segment does to a connection, by its state: RFC 9293 3.10.7.  One handler a state.
 */
#include "tcpip/tcp_inside.h"

/* ---- CLOSED (3.10.7.1) ---- */

/* RFC 9293 3.10.7.1: anything but a reset is answered by one. */
static void in_closed(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	(void)now_ns;
	if (seg->flags & TCP_RST)
		return;
	if (seg->flags & TCP_ACK)
		tcp_queue_reset(c, seg->ack, false, 0, STACK_DATA);
	else
		tcp_queue_reset(c, 0, true, seg->end, STACK_DATA);
}

/* ---- SYN-SENT (3.10.7.3) ---- */

/* The handshake is done: measurements, data of a fast open. */
static void established(TcpConn *c, int64_t now_ns)
{
	c->was_open = true;
	c->times.established = now_ns;
	tcp_set_state(c, now_ns, TCP_ESTABLISHED);
	timer_off(c, TCP_TIMER_LIFE);
	if (c->out.syn_retries) {
		c->cwnd = c->snd_mss; /* RFC 5681 3.1 */
		if (!c->srtt_ns)
			c->rto_ns = TCP_RTO_SYN_LOST; /* RFC 6298 5.7 */
	}
	if (c->keepalive_ns)
		timer_set(c, TCP_TIMER_KEEPALIVE, now_ns + c->keepalive_ns);
	if (!c->fastopen_sent)
		return;
	/* RFC 7413 4.1.2.2: what the server did not take is sent again at once. */
	c->fastopen_taken = (uint16_t)(c->snd_una - c->iss - 1);
	tcp_event(c, now_ns, TCP_EV_FASTOPEN, c->fastopen_taken, c->fastopen_sent);
	if (c->seg_first)
		score_lost(c, c->seg_first);
}

static bool syn_sent_ack(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	bool acceptable = seq_lt(c->iss, seg->ack) && seq_le(seg->ack, c->snd_nxt);

	if (!(seg->flags & TCP_ACK) || acceptable)
		return true;
	c->in.ack_unsent++;
	tcp_event(c, now_ns, TCP_EV_ACK_UNSENT, rel_out(c, seg->ack), rel_out(c, c->snd_nxt));
	if (!(seg->flags & TCP_RST))
		tcp_queue_reset(c, seg->ack, false, 0, STACK_DATA);
	return false;
}

/* RFC 9293 3.5, figure 9: both sent a SYN. */
static void simultaneous(TcpConn *c, int64_t now_ns)
{
	tcp_event(c, now_ns, TCP_EV_SIMULTANEOUS, 0, 0);
	tcp_set_state(c, now_ns, TCP_SYN_RECEIVED);
	c->syn_due = true;
}

static void in_syn_sent(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!syn_sent_ack(c, now_ns, seg))
		return;
	if (seg->flags & TCP_RST) { /* only one that acknowledges our SYN */
		if (seg->flags & TCP_ACK)
			tcp_end(c, now_ns, TCP_ERR_REFUSED);
		return;
	}
	if (!(seg->flags & TCP_SYN))
		return;
	tcp_syn_options(c, now_ns, seg);
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = c->iss;
	if (!(seg->flags & TCP_ACK)) {
		simultaneous(c, now_ns);
		return;
	}
	if (!c->times.synack)
		c->times.synack = now_ns;
	TxSeg *syn = c->seg_first;

	if (syn && syn->stamped && !syn->retransmitted)
		c->handshake_ns = now_ns - syn->tx_ns;
	tcp_ack_in(c, now_ns, seg);
	established(c, now_ns);
	c->ack_now = true;
	if (seg->payload.n || seg->flags & TCP_FIN) {
		if (tcp_text_in(c, now_ns, seg))
			tcp_set_state(c, now_ns, TCP_CLOSE_WAIT);
	}
}

/* ---- SYN-RECEIVED (3.10.7.4) ---- */

/* The peer's SYN once more: our answer was lost. */
static bool syn_again(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	(void)now_ns;
	if (!(seg->flags & TCP_SYN) || seg->seq != c->irs)
		return false;
	if (c->active && seg->flags & TCP_ACK)
		return false; /* of a simultaneous open: it acknowledges ours */
	c->syn_due = true;
	return true;
}

static void after_established(TcpConn *c, int64_t now_ns, TcpSeg *seg);

static void in_syn_received(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (syn_again(c, now_ns, seg))
		return;
	if (c->active && seg->flags & TCP_SYN && seg->seq == c->irs) {
		seg->flags &= (uint16_t)~TCP_SYN; /* figure 9, line 5: SYN-ACK stands one below the window */
		seg->seq++;
	}
	if (!tcp_check_sequence(c, now_ns, seg) || !tcp_check_reset(c, now_ns, seg) || !tcp_check_syn(c, now_ns, seg))
		return;
	if (!(seg->flags & TCP_ACK))
		return;
	if (!seq_lt(c->snd_una, seg->ack) || !seq_le(seg->ack, c->snd_nxt)) {
		tcp_queue_reset(c, seg->ack, false, 0, STACK_DATA);
		return;
	}
	c->snd_wl1 = seg->seq; /* 3.10.7.4: the first ACK sets the window */
	c->snd_wl2 = seg->ack;
	established(c, now_ns);
	tcp_ack_in(c, now_ns, seg);
	/* tcp_close may have been called meanwhile. */
	if (c->closing)
		tcp_set_state(c, now_ns, TCP_FIN_WAIT_1);
	after_established(c, now_ns, seg);
}

/* ---- the synchronized states ---- */

static bool checks(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	return tcp_check_sequence(c, now_ns, seg) && tcp_check_reset(c, now_ns, seg) && tcp_check_syn(c, now_ns, seg) &&
	       tcp_check_ack(c, now_ns, seg);
}

/* Nobody reads any more: bytes that come now would be lost without a word (RFC 9293 3.6.1,
 * RFC 2525 2.17). */
static bool nobody_reads(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (!c->released || !seg->payload.n || seq_le(seg->end, c->rcv_nxt))
		return false;
	tcp_queue_reset(c, c->snd_nxt, true, c->rcv_nxt, STACK_CLEANUP);
	tcp_end(c, now_ns, TCP_ERR_ABORTED);
	return true;
}

/* Text and FIN; where a FIN leads from each state (3.10.7.4, eighth). */
static void after_established(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (nobody_reads(c, now_ns, seg))
		return;
	tcp_urgent(c, now_ns, seg);
	if (!tcp_text_in(c, now_ns, seg))
		return;
	switch (c->state) {
	case TCP_ESTABLISHED:
		tcp_set_state(c, now_ns, TCP_CLOSE_WAIT);
		break;
	case TCP_FIN_WAIT_1:
		tcp_set_state(c, now_ns, TCP_CLOSING);
		break;
	case TCP_FIN_WAIT_2:
		tcp_time_wait(c, now_ns);
		break;
	default:
		break;
	}
}

/* Our FIN was acknowledged: nothing more to say. */
static void fin_wait_2(TcpConn *c, int64_t now_ns)
{
	if (c->state != TCP_FIN_WAIT_1 || !c->fin_acked)
		return;
	tcp_set_state(c, now_ns, TCP_FIN_WAIT_2);
	if (c->released)
		timer_set(c, TCP_TIMER_LIFE, now_ns + TCP_FIN_WAIT);
}

static void in_established(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!checks(c, now_ns, seg))
		return;
	tcp_ack_in(c, now_ns, seg);
	fin_wait_2(c, now_ns); /* if the ACK was of a FIN made by hand */
	after_established(c, now_ns, seg);
}

static void in_fin_wait_1(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!checks(c, now_ns, seg))
		return;
	tcp_ack_in(c, now_ns, seg);
	fin_wait_2(c, now_ns);
	after_established(c, now_ns, seg);
}

static void in_fin_wait_2(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	in_established(c, now_ns, seg);
}

/* What came is taken in; whether our FIN is acknowledged by now. */
static bool fin_acked(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!checks(c, now_ns, seg))
		return false;
	tcp_ack_in(c, now_ns, seg);
	tcp_text_in(c, now_ns, seg);
	return c->fin_acked;
}

static void in_closing(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (fin_acked(c, now_ns, seg))
		tcp_time_wait(c, now_ns);
}

/* In CLOSE-WAIT too, where a FIN made by hand can be acknowledged. */
static void in_last_ack(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (fin_acked(c, now_ns, seg))
		tcp_end(c, now_ns, TCP_ERR_NONE);
}

/* The only thing that can come is the peer's FIN once more: acknowledge, and wait anew. */
static void in_time_wait(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	bool fin = seg->flags & TCP_FIN;

	if (fin && !(seg->flags & (TCP_RST | TCP_SYN)) && seg->end == c->rcv_nxt)
		timer_set(c, TCP_TIMER_LIFE, now_ns + 2 * TCP_MSL);
	if (!checks(c, now_ns, seg))
		return;
	tcp_text_in(c, now_ns, seg);
}

TcpStateFn *const tcp_state_fns[TCP_STATE_N] = {
	[TCP_CLOSED] = in_closed,
	[TCP_LISTEN] = in_closed, /* a listener is no connection: tcp_listen_input */
	[TCP_SYN_SENT] = in_syn_sent,
	[TCP_SYN_RECEIVED] = in_syn_received,
	[TCP_ESTABLISHED] = in_established,
	[TCP_FIN_WAIT_1] = in_fin_wait_1,
	[TCP_FIN_WAIT_2] = in_fin_wait_2,
	[TCP_CLOSE_WAIT] = in_last_ack,
	[TCP_CLOSING] = in_closing,
	[TCP_LAST_ACK] = in_last_ack,
	[TCP_TIME_WAIT] = in_time_wait,
};
