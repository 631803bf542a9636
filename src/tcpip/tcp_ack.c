/* SPDX-License-Identifier: Apache-2.0
 *
 * What an acceptable ACK tells: the peer's window, what arrived, how long it took, what is lost.
 */
#include "tcpip/tcp_inside.h"

/* ---- the peer's window ---- */

static void window_closed(TcpConn *c, int64_t now_ns)
{
	c->zero_since_ns = now_ns;
	c->out.zero_windows++;
	tcp_event(c, now_ns, TCP_EV_ZERO_WINDOW, rel_out(c, c->snd_una), 0);
}

static void window_opened(TcpConn *c, int64_t now_ns)
{
	tcp_event(c, now_ns, TCP_EV_WINDOW_OPEN, c->snd_wnd, (uint32_t)((now_ns - c->zero_since_ns) / MS_NS));
	c->zero_since_ns = 0;
	c->persist_n = 0;
	timer_off(c, TCP_TIMER_PERSIST);
}

/* RFC 9293 3.10.7.4: only a segment as new as the last that set it may set the window. */
void tcp_send_window(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (seq_lt(seg->seq, c->snd_wl1) || (seg->seq == c->snd_wl1 && seq_lt(seg->ack, c->snd_wl2)))
		return;
	uint32_t was_edge = c->snd_wl2 + c->snd_wnd;
	uint32_t wnd = (uint32_t)seg->window << (seg->flags & TCP_SYN ? 0 : c->snd_wscale), edge = seg->ack + wnd;
	bool first = !c->snd_wnd_max && !c->was_open;

	c->snd_wnd = wnd;
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
	if (c->snd_wnd_max < wnd)
		c->snd_wnd_max = wnd;
	/* RFC 9293 3.8.6: a peer should not, and we must live with it.  Less than its scale's unit is
	 * rounding (RFC 7323 2.4). */
	if (!first && seq_lt(edge + (1u << c->snd_wscale) - 1, was_edge)) {
		c->out.window_shrunk++;
		tcp_event(c, now_ns, TCP_EV_WINDOW_SHRUNK, was_edge - edge, wnd);
	}
	if (!wnd && !c->zero_since_ns)
		window_closed(c, now_ns);
	else if (wnd && c->zero_since_ns)
		window_opened(c, now_ns);
}

/* ---- what was acknowledged ---- */

static void drop_acked(TcpConn *c, uint32_t ack)
{
	uint32_t end = c->tx_seq + c->tx.bytes, upto = seq_min(ack, end); /* our FIN is no byte of the buffer */

	if (!seq_lt(c->tx_seq, upto))
		return;
	uint32_t n = upto - c->tx_seq;

	chain_drop(tcp_pool(c), &c->tx, n);
	c->tx_seq = upto;
	c->out.bytes_acked += n;
	if (!c->times.first_acked)
		c->times.first_acked = c->ep.stack->now_ns;
}

/* RFC 5681 2: the five conditions of a duplicate ACK. */
static bool is_duplicate(const TcpConn *c, const TcpSeg *seg, uint32_t window_before)
{
	return seg->ack == c->snd_una && c->seg_first && !seg->payload.n && !(seg->flags & (TCP_SYN | TCP_FIN)) &&
	       c->snd_wnd == window_before;
}

static void duplicate(TcpConn *c, int64_t now_ns, AckNews *news, uint32_t ack)
{
	/* What a segment made by hand provoked says nothing about ours. */
	if (now_ns < c->crafted_until_ns && !news->sack_news) {
		news->dup = false;
		return;
	}
	c->dup_acks_row++;
	c->out.dup_acks++;
	tcp_event(c, now_ns, TCP_EV_DUP_ACK, c->dup_acks_row, rel_out(c, ack));
}

/* RFC 7323 4.1: also what was sent twice may be measured, by what the peer echoes. */
static int64_t echo_rtt(const TcpConn *c, int64_t now_ns, const AckNews *news)
{
	uint32_t ms = tcp_now_ts(c, now_ns) - news->tsecr;

	if (!news->ts || ms > (uint32_t)(TCP_RTO_MAX / MS_NS))
		return 0;
	return ms ? ms * MS_NS : MS_NS;
}

static void measure(TcpConn *c, int64_t now_ns, const AckNews *news)
{
	int64_t rtt = news->rtt_ns ? news->rtt_ns : news->una_moved ? echo_rtt(c, now_ns, news) : 0;

	rtt_sample(c, rtt);
	rtt_seen(c, news->rtt_fresh_ns);
}

static void una_moved(TcpConn *c, uint32_t ack)
{
	c->snd_una = ack;
	c->dup_acks_row = 0;
	c->first_rto_ns = 0;
	c->rto_row = 0;
	drop_acked(c, ack);
	if (c->fin_sent && seq_lt(c->fin_seq, ack))
		c->fin_acked = true;
}

/* RFC 6298 5.2, 5.3: only new data acknowledged restarts it. */
static void restart_rto(TcpConn *c, int64_t now_ns)
{
	c->rto_provisional = false;
	if (c->seg_first)
		timer_set(c, TCP_TIMER_RTO, now_ns + c->rto_ns);
	else
		timer_off(c, TCP_TIMER_RTO);
}

void tcp_ack_in(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	AckNews news = { .ts = c->ts_ok && seg->ts, .tsecr = seg->tsecr };
	uint32_t window_before = c->snd_wnd;

	if (seq_lt(seg->ack, c->snd_una)) { /* RFC 9293: an old one; its window and SACKs are old too */
		c->in.ack_old++;
		return;
	}
	tcp_send_window(c, now_ns, seg);
	c->probes = 0;
	news.una_moved = seg->ack != c->snd_una;
	news.dup = !news.una_moved && is_duplicate(c, seg, window_before);
	if (news.una_moved) {
		una_moved(c, seg->ack);
		score_ack(c, now_ns, seg->ack, &news);
	}
	if (c->sack_ok && seg->n_sack)
		score_sacks(c, now_ns, seg, &news);
	if (now_ns < c->crafted_until_ns)
		news.dsack = false;
	if (news.dup)
		duplicate(c, now_ns, &news, seg->ack);
	measure(c, now_ns, &news);
	if (news.delivered)
		tcp_path_acked(c, now_ns, news.longest);
	stat_rate(c, now_ns, &news);
	if (seg->flags & TCP_ECE && !(seg->flags & TCP_SYN))
		loss_ece(c, now_ns);
	tlp_ack(c, &news, seg->ack);
	rack_reo_wnd(c, &news);
	loss_on_ack(c, now_ns, &news, seg->ack);
	if (news.una_moved)
		restart_rto(c, now_ns);
	if (news.una_moved || news.sack_news)
		tlp_schedule(c, now_ns);
}
