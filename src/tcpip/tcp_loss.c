/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sender does about loss: entering and leaving recovery (RFC 5681, 6582, 6675), how
 * much may leave meanwhile (RFC 6937), and taking it back if there was none (RFC 3522, 4015,
 * 3708).
 */
#include "tcpip/tcp_inside.h"

/* ---- entering ---- */

static void remember_for_undo(TcpConn *c)
{
	c->undo_cwnd = c->cwnd;
	c->undo_ssthresh = c->ssthresh;
	c->undo_una = c->snd_una;
	c->undo_retrans = 0;
	c->undo_ok = true;
	c->eifel_armed = false;
}

void loss_enter(TcpConn *c, int64_t now_ns)
{
	if (c->recovery == TCP_CA_RECOVERY || c->recovery == TCP_CA_LOSS)
		return;
	remember_for_undo(c);
	if (c->recovery == TCP_CA_OPEN) /* after a congestion echo cwnd is halved already */
		c->ssthresh = c->cc->reduce(c, now_ns);
	tcp_event(c, now_ns, TCP_EV_RECOVERY, c->cwnd, c->ssthresh);
	c->recovery = TCP_CA_RECOVERY;
	c->recover = c->snd_nxt;
	c->recover_flight = c->snd_nxt - c->snd_una;
	c->prr_delivered = c->prr_out = 0;
	c->out.recoveries++;
	c->tlp.due = false; /* RFC 8985 7.2: probes are for a connection that takes nothing for lost */
	timer_off(c, TCP_TIMER_TLP);
}

/* RFC 6298 5.4..5.6, RFC 5681 3.1 (4), RFC 8985 6.3. */
void loss_timeout(TcpConn *c, int64_t now_ns)
{
	/* RFC 5681 3.1: ssthresh is held when what was sent again is lost again. */
	if (c->recovery != TCP_CA_LOSS || seq_lt(c->undo_una, c->snd_una)) {
		remember_for_undo(c);
		if (c->recovery == TCP_CA_OPEN || c->recovery == TCP_CA_LOSS)
			c->ssthresh = c->cc->reduce(c, now_ns);
	}
	if (c->seg_first && c->seg_first->sacked) {
		/* RFC 2018 8: after a time-out SACKs are forgotten, if the peer took them back. */
		tcp_event(c, now_ns, TCP_EV_SACK_RENEGED, rel_out(c, c->seg_first->seq), 0);
		for (TxSeg *g = c->seg_first; g; g = g->next) {
			c->pipe += g->sacked ? txseg_len(g) : 0;
			g->sacked = false;
		}
		c->sacked = c->sacked_segs = 0;
	}
	score_all_lost(c, c->rack.tx_ns ? now_ns - c->rack.rtt_ns - c->rack.reo_wnd_ns : now_ns);
	c->recovery = TCP_CA_LOSS;
	c->recover = c->snd_nxt;
	c->reno_sacked = 0;
	c->cwnd = tcp_pipe(c) + c->snd_mss; /* RFC 5681 (4) has one segment, and takes all for lost */
	c->dup_acks_row = 0;
	c->tlp.out = c->tlp.due = false;
	timer_off(c, TCP_TIMER_TLP);
	timer_off(c, TCP_TIMER_RACK);
}

/* ---- leaving ---- */

static void leave(TcpConn *c, int64_t now_ns)
{
	if (c->recovery == TCP_CA_RECOVERY)
		c->cwnd = c->ssthresh; /* RFC 6937 3 */
	c->recovery = TCP_CA_OPEN;
	c->reno_sacked = 0;
	if (c->rack.reo_wnd_persist && --c->rack.reo_wnd_persist == 0)
		c->rack.reo_wnd_mult = 1; /* RFC 8985 6.2 step 4 */
	tcp_event(c, now_ns, TCP_EV_RECOVERED, c->cwnd, 0);
}

static void undo(TcpConn *c, int64_t now_ns, uint32_t why)
{
	c->undo_ok = c->eifel_armed = false;
	c->cwnd = c->cwnd > c->undo_cwnd ? c->cwnd : c->undo_cwnd;
	c->ssthresh = c->undo_ssthresh;
	c->cc->undo(c);
	for (TxSeg *g = c->seg_first; g; g = g->next)
		score_found(c, g);
	c->recovery = TCP_CA_OPEN;
	c->reno_sacked = 0;
	tcp_event(c, now_ns, TCP_EV_SPURIOUS, why, c->cwnd);
}

void loss_resent(TcpConn *c, const TxSeg *g, int64_t now_ns)
{
	(void)g;
	c->undo_retrans++;
	/* RFC 3522 3.2 (1), (2): of the first retransmission only. */
	if (c->undo_ok && !c->eifel_armed && c->undo_retrans == 1) {
		c->eifel_armed = true;
		c->eifel_ts = tcp_now_ts(c, now_ns);
	}
}

/* RFC 3522 3.2 (3), (4): the first ACK of new data echoes a time before the retransmission. */
static bool is_spurious(TcpConn *c, const AckNews *news)
{
	bool yes = c->undo_ok && c->eifel_armed && c->ts_ok && news->ts && seq_lt(news->tsecr, c->eifel_ts);

	c->eifel_armed = false;
	return yes;
}

/* RFC 3708 3: when each retransmission of the episode was for nothing, so was the episode. */
void loss_dsack(TcpConn *c, const AckNews *news)
{
	if (!news->dsack || !c->undo_retrans)
		return;
	c->out.spurious_dsack++;
	if (--c->undo_retrans == 0 && c->undo_ok)
		undo(c, c->ep.stack->now_ns, 1);
}

/* ---- meanwhile ---- */

/* RFC 6937 3.1: how many bytes may leave for this ACK. */
static void prr(TcpConn *c, uint32_t delivered, bool una_moved)
{
	uint32_t pipe = tcp_pipe(c), flight = c->recover_flight ? c->recover_flight : 1;
	int64_t send;

	c->prr_delivered += delivered;
	if (pipe > c->ssthresh) {
		send = (int64_t)(((uint64_t)c->prr_delivered * c->ssthresh + flight - 1) / flight) - c->prr_out;
	} else {
		int64_t limit = (int64_t)c->prr_delivered - c->prr_out, room = (int64_t)c->ssthresh - pipe;

		/* Slow start towards ssthresh only while the peer gets on; else conserve. */
		if (una_moved) {
			limit = limit > delivered ? limit : delivered;
			limit += c->snd_mss;
		}
		send = limit < room ? limit : room;
	}
	/* The fast retransmission itself always leaves; without SACK each partial ACK's too (RFC 6582 3.2). */
	if (send < c->snd_mss && (!c->prr_out || (!c->sack_ok && una_moved)))
		send = c->snd_mss;
	c->cwnd = pipe + (uint32_t)(send > 0 ? send : 0);
}

void loss_sent(TcpConn *c, uint32_t bytes)
{
	if (c->recovery == TCP_CA_RECOVERY)
		c->prr_out += bytes;
}

/* RFC 6582, for peers without SACK: each duplicate ACK speaks for a segment that arrived. */
static bool newreno(TcpConn *c, AckNews *news, uint32_t ack)
{
	uint32_t mss = c->snd_mss;

	if (news->dup) {
		uint32_t most = c->pipe > mss ? c->pipe - mss : 0;

		c->reno_sacked = c->reno_sacked + mss < most ? c->reno_sacked + mss : most;
		news->delivered += mss;
		/* 3.2 step 1: not for duplicate ACKs that our own retransmissions cause. */
		if (c->dup_acks_row == TCP_DUP_THRESH && c->recovery == TCP_CA_OPEN &&
		    (!c->out.recoveries || seq_lt(c->recover, ack) || c->recover == c->iss)) {
			score_lost(c, c->seg_first);
			return true;
		}
		return false;
	}
	if (!news->una_moved)
		return false;
	uint32_t spoken = news->acked > mss ? news->acked - mss : 0; /* the hole itself was none of them */

	spoken = spoken < c->reno_sacked ? spoken : c->reno_sacked;
	c->reno_sacked -= spoken;
	news->delivered -= spoken < news->delivered ? spoken : news->delivered;
	/* 3.2 step 3: a partial ACK names the next hole. */
	if (c->recovery == TCP_CA_RECOVERY && seq_lt(ack, c->recover) && c->seg_first && !c->seg_first->retransmitted)
		score_lost(c, c->seg_first);
	return false;
}

static void grow(TcpConn *c, int64_t now_ns, const AckNews *news)
{
	/* RFC 5681 4.1, RFC 7661: a window that nobody filled says nothing about the path. */
	if (news->una_moved && c->cwnd_used && news->acked)
		c->cc->acked(c, now_ns, news->acked);
}

void loss_on_ack(TcpConn *c, int64_t now_ns, AckNews *news, uint32_t ack)
{
	bool lost, left = false;

	if (news->una_moved && is_spurious(c, news)) {
		c->out.spurious_eifel++;
		undo(c, now_ns, 2);
	}
	loss_dsack(c, news);
	if (c->recovery != TCP_CA_OPEN && news->una_moved && seq_le(c->recovery == TCP_CA_CWR ? c->ecn_high : c->recover, ack)) {
		left = c->recovery != TCP_CA_LOSS;
		leave(c, now_ns);
	}
	lost = c->sack_ok ? rack_detect(c, now_ns) : newreno(c, news, ack);
	if (lost)
		loss_enter(c, now_ns);
	if (c->recovery == TCP_CA_RECOVERY)
		prr(c, news->delivered, news->una_moved);
	else if (c->recovery != TCP_CA_CWR && !left) /* the ACK that ends an episode is no reason to grow */
		grow(c, now_ns, news);
}

/* RFC 3168 6.1.2: once a window. */
void loss_ece(TcpConn *c, int64_t now_ns)
{
	uint32_t was = c->cwnd;

	c->out.ece_in++;
	if (!c->ecn_ok || c->recovery != TCP_CA_OPEN || c->snd_nxt == c->snd_una)
		return;
	c->ssthresh = c->cc->reduce(c, now_ns);
	c->cwnd = c->ssthresh;
	c->recovery = TCP_CA_CWR;
	c->ecn_high = c->snd_nxt;
	c->cwr_due = true;
	tcp_event(c, now_ns, TCP_EV_ECN_ECE, was, c->cwnd);
}
