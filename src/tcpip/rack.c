/* SPDX-License-Identifier: Apache-2.0
 *
 * RACK-TLP, RFC 8985: a segment is lost when one that was sent sufficiently later arrived;
 * and a probe finds the loss of a tail, behind which nothing is sent.
 */
#include "tcpip/tcp_inside.h"

#define TLP_MAX_ACK_DELAY (200 * MS_NS) /* RFC 8985 7.2: what a peer may delay a lone ACK by */
enum { RACK_PERSIST = 16 };		/* RFC 8985 6.2 step 4: recoveries that a wider window lasts */

/* RFC 8985 6.2 step 2: RACK_sent_after. */
static bool sent_after(int64_t t1, uint32_t end1, int64_t t2, uint32_t end2)
{
	return t1 > t2 || (t1 == t2 && seq_lt(end2, end1));
}

/* Step 2: an ACK that may be for an earlier sending says nothing of the last one. */
static bool is_ambiguous(const TcpConn *c, int64_t now_ns, const TxSeg *g, const AckNews *news)
{
	if (!g->retransmitted)
		return false;
	if (news->ts && seq_lt(news->tsecr, tcp_now_ts(c, g->tx_ns)))
		return true;
	return now_ns - g->tx_ns < c->rtt_min_ns;
}

void rack_delivered(TcpConn *c, int64_t now_ns, const TxSeg *g, AckNews *news)
{
	if (!is_ambiguous(c, now_ns, g, news) && sent_after(g->tx_ns, g->end, c->rack.tx_ns, c->rack.end_seq)) {
		c->rack.rtt_ns = now_ns - g->tx_ns;
		c->rack.tx_ns = g->tx_ns;
		c->rack.end_seq = g->end;
	}
	/* Step 3: one sent once that comes behind a higher one was reordered on the way. */
	if (seq_lt(c->rack.fack, g->end)) {
		c->rack.fack = g->end;
	} else if (!g->retransmitted && seq_lt(g->end, c->rack.fack)) {
		uint32_t behind = c->rack.fack - g->seq;

		c->rack.reordering_seen = true;
		c->out.reordered++;
		if (c->out.reorder_bytes < behind)
			c->out.reorder_bytes = behind;
		if (news->reordered < behind)
			news->reordered = behind;
	}
}

static int64_t reo_wnd(const TcpConn *c)
{
	if (!c->rack.reordering_seen && (c->recovery == TCP_CA_RECOVERY || c->recovery == TCP_CA_LOSS ||
					 c->sacked_segs >= TCP_DUP_THRESH))
		return 0;
	int64_t wnd = c->rack.reo_wnd_mult * (c->rtt_min_ns / 4);

	return wnd < c->srtt_ns ? wnd : c->srtt_ns;
}

/* RFC 8985 6.2 step 4.  A DSACK says that the window was too narrow, once a round trip. */
void rack_reo_wnd(TcpConn *c, const AckNews *news)
{
	if (c->rack.dsack_valid && seq_le(c->rack.dsack_round, c->snd_una))
		c->rack.dsack_valid = false;
	if (news->dsack && !c->rack.dsack_valid) {
		c->rack.dsack_valid = true;
		c->rack.dsack_round = c->snd_nxt;
		if (c->rack.reo_wnd_mult < UINT8_MAX)
			c->rack.reo_wnd_mult++;
		c->rack.reo_wnd_persist = RACK_PERSIST;
	}
	c->rack.reo_wnd_ns = reo_wnd(c);
}

/* RFC 8985 6.2 step 5. */
bool rack_detect(TcpConn *c, int64_t now_ns)
{
	int64_t wait = 0;
	bool any = false;

	timer_off(c, TCP_TIMER_RACK);
	if (!c->rack.tx_ns)
		return false;
	c->rack.reo_wnd_ns = reo_wnd(c);
	for (TxSeg *g = c->sent_first, *next; g; g = next) {
		next = g->sent_next;
		if (!sent_after(c->rack.tx_ns, c->rack.end_seq, g->tx_ns, g->end))
			break; /* the list is by time of sending */
		if (!txseg_in_pipe(g))
			continue;
		int64_t left = g->tx_ns + c->rack.rtt_ns + c->rack.reo_wnd_ns - now_ns;

		if (left <= 0) {
			score_lost(c, g);
			any |= !tcp_probe_lost(c, now_ns, g);
		} else if (left > wait) {
			wait = left;
		}
	}
	if (wait)
		timer_set(c, TCP_TIMER_RACK, now_ns + wait);
	return any;
}

/* RFC 8985 7.2. */
void tlp_schedule(TcpConn *c, int64_t now_ns)
{
	timer_off(c, TCP_TIMER_TLP);
	if (!c->sack_ok || c->recovery != TCP_CA_OPEN || c->tlp.out || !c->seg_first || c->sacked ||
	    c->state < TCP_ESTABLISHED)
		return;
	int64_t pto = c->srtt_ns ? 2 * c->srtt_ns : SEC_NS;

	if (c->seg_first == c->seg_last)
		pto += TLP_MAX_ACK_DELAY;
	int64_t at = now_ns + pto;

	if (timer_on(c, TCP_TIMER_RTO) && c->timer_ns[TCP_TIMER_RTO] < at)
		return; /* the time-out would come first */
	timer_set(c, TCP_TIMER_TLP, at);
}

/* RFC 8985 7.4.2. */
void tlp_ack(TcpConn *c, const AckNews *news, uint32_t ack)
{
	if (!c->tlp.out || seq_lt(ack, c->tlp.end_seq))
		return;
	if (!c->tlp.is_retrans || news->dsack || (news->dup && ack == c->tlp.end_seq)) {
		c->tlp.out = false;
		return;
	}
	if (ack == c->tlp.end_seq)
		return;
	/* Beyond the probe, and no DSACK for it: it repaired a loss. */
	c->tlp.out = false;
	uint32_t was = c->cwnd;

	if (c->recovery == TCP_CA_OPEN) {
		c->ssthresh = c->cc->reduce(c, c->ep.stack->now_ns);
		c->cwnd = c->cwnd < c->ssthresh ? c->cwnd : c->ssthresh;
	}
	tcp_event(c, c->ep.stack->now_ns, TCP_EV_TLP_LOSS, was, c->cwnd);
}
