/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment comes: whose it is, and the checks that all synchronized states share, in the order
 * of RFC 9293 3.10.7.4.
 */
#include "tcpip/tcp_inside.h"

/* ---- in the order of RFC 9293 3.10.7.4 ---- */

void tcp_drop_with_ack(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	(void)now_ns;
	/* RFC 9293 3.10.7.4; never to a reset, or two stacks could go on for ever. */
	if (!(seg->flags & TCP_RST) && c->auto_ack)
		c->ack_now = true;
}

/* RFC 5961 7: a limit, so that nobody makes us a source of ACKs. */
void tcp_challenge(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (now_ns - c->challenge_ns >= TCP_CHALLENGE_NS) {
		c->challenge_ns = now_ns;
		c->challenge_n = 0;
	}
	if (c->challenge_n >= TCP_CHALLENGES)
		return;
	c->challenge_n++;
	c->in.challenges++;
	c->ack_now = true;
	tcp_event(c, now_ns, TCP_EV_CHALLENGE, seg->flags, rel_in(c, seg->seq));
}

/* RFC 7323 5.3, with its exception for an idle connection (5.5). */
static bool paws_drops(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (!c->ts_ok || seg->flags & TCP_RST)
		return false;
	if (!seg->ts) { /* RFC 7323 3.2: should be dropped silently */
		c->in.no_timestamp++;
		tcp_event(c, now_ns, TCP_EV_NO_TIMESTAMP, seg->flags, 0);
		return true;
	}
	if (!seq_lt(seg->tsval, c->ts_recent) || now_ns - c->ts_recent_ns > TCP_PAWS_IDLE)
		return false;
	c->in.paws++;
	tcp_event(c, now_ns, TCP_EV_PAWS, seg->tsval, c->ts_recent);
	tcp_drop_with_ack(c, now_ns, seg);
	return true;
}

/* RFC 9293 3.10.7.4, the table; but for segments without text: what is as old as our last ACK, or
 * stands at the very edge, is acceptable.  Peers that filled our window send ACKs from there, and
 * ACKs that reordering delays still tell their window. */
static bool is_acceptable(const TcpConn *c, const TcpSeg *seg)
{
	uint32_t edge = seq_max(c->rcv_adv, c->rcv_nxt);

	if (seg->end == seg->seq)
		return seq_le(seq_min(c->rcv_acked, c->rcv_nxt), seg->seq) && seq_le(seg->seq, edge);
	return seq_lt(c->rcv_nxt, seg->end) && seq_lt(seg->seq, edge);
}

/* The window is closed: "special allowance should be made to accept valid ACKs, URGs, and RSTs". */
static bool is_probe(const TcpConn *c, const TcpSeg *seg)
{
	return seq_le(c->rcv_adv, c->rcv_nxt) && seg->seq == c->rcv_nxt;
}

/* RFC 7323 4.3 (2). */
static void take_timestamp(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (!c->ts_ok || !seg->ts || !seq_le(seg->seq, c->rcv_acked) || seq_lt(seg->tsval, c->ts_recent))
		return;
	c->ts_recent = seg->tsval;
	c->ts_recent_ns = now_ns;
}

static void unacceptable(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	uint32_t n = (uint32_t)seg->payload.n;

	if (n && seq_le(seg->end, c->rcv_nxt)) {
		tcp_old_text(c, now_ns, seg->seq, seg->payload);
	} else if (seq_lt(c->rcv_nxt, seg->end)) {
		c->in.out_of_window++;
		tcp_event(c, now_ns, TCP_EV_OUT_OF_WINDOW, rel_in(c, seg->seq), n);
	}
	tcp_drop_with_ack(c, now_ns, seg);
}

bool tcp_check_sequence(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (paws_drops(c, now_ns, seg))
		return false;
	if (!is_acceptable(c, seg)) {
		if (!is_probe(c, seg) || seg->flags & (TCP_SYN | TCP_RST)) {
			if (seg->flags & TCP_RST)
				return tcp_check_reset(c, now_ns, seg);
			unacceptable(c, now_ns, seg);
			return false;
		}
		/* Its ACK counts; its text does not fit. */
		tcp_drop_with_ack(c, now_ns, seg);
		seg->payload.n = 0;
		seg->flags &= (uint16_t)~TCP_FIN;
		seg->end = seg->seq;
	}
	take_timestamp(c, now_ns, seg);
	return true;
}

/* RFC 5961 3.2: exactly the next number resets, others in the window are challenged. */
bool tcp_check_reset(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!(seg->flags & TCP_RST))
		return true;
	if (seg->seq != c->rcv_nxt) {
		uint32_t edge = seq_max(c->rcv_adv, c->rcv_nxt);

		c->in.rst_odd_seq++;
		tcp_event(c, now_ns, TCP_EV_RST_ODD_SEQ, rel_in(c, seg->seq), rel_in(c, c->rcv_nxt));
		if (seq_lt(c->rcv_nxt, seg->seq) && seq_lt(seg->seq, edge))
			tcp_challenge(c, now_ns, seg);
		return false;
	}
	if (now_ns < c->crafted_until_ns) { /* the answer to what was made by hand */
		tcp_event(c, now_ns, TCP_EV_CRAFT_RST, rel_in(c, seg->seq), 0);
		return false;
	}
	if (c->state == TCP_TIME_WAIT) /* RFC 1337: no assassination */
		return false;
	bool done = c->state == TCP_CLOSING || c->state == TCP_LAST_ACK;

	tcp_end(c, now_ns, done ? TCP_ERR_NONE : c->was_open ? TCP_ERR_RESET : TCP_ERR_REFUSED);
	return false;
}

/* RFC 5961 4.2: whatever its number, a SYN on a live connection is only challenged. */
bool tcp_check_syn(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!(seg->flags & TCP_SYN))
		return true;
	c->in.syns++;
	tcp_event(c, now_ns, TCP_EV_SYN_IN, rel_in(c, seg->seq), 0);
	tcp_challenge(c, now_ns, seg);
	return false;
}

/* The peer acknowledged more than the connection sent, but not more than was made by hand: those
 * bytes are part of the stream now, and what is still queued comes behind them. */
static bool take_crafted(TcpConn *c, int64_t now_ns, uint32_t ack)
{
	if (!c->crafted_out || seq_lt(c->crafted_end, ack) || c->fin_sent)
		return false;
	bool fin = c->crafted_fin && ack == c->crafted_end;
	uint32_t skip = ack - c->snd_nxt;

	tcp_event(c, now_ns, TCP_EV_CRAFT_TAKEN, rel_out(c, c->snd_nxt), rel_out(c, ack));
	/* All that was out stands in front of them. */
	uint32_t out = c->snd_nxt - c->tx_seq;

	chain_drop(tcp_pool(c), &c->tx, out);
	c->out.bytes_acked += out;
	c->tx_seq = c->snd_nxt + skip - fin;
	c->snd_nxt = ack;
	c->crafted_out = false;
	if (fin) { /* as if we had closed */
		chain_clear(tcp_pool(c), &c->tx);
		c->closing = c->fin_sent = true;
		c->fin_seq = ack - 1;
		if (c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT)
			tcp_set_state(c, now_ns, c->state == TCP_ESTABLISHED ? TCP_FIN_WAIT_1 : TCP_LAST_ACK);
	}
	return true;
}

/* RFC 5961 5.2: between the oldest window that could have been and what was sent. */
bool tcp_check_ack(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	if (!(seg->flags & TCP_ACK))
		return false;
	if (seq_lt(c->snd_nxt, seg->ack) && !take_crafted(c, now_ns, seg->ack)) {
		c->in.ack_unsent++;
		tcp_event(c, now_ns, TCP_EV_ACK_UNSENT, rel_out(c, seg->ack), rel_out(c, c->snd_nxt));
		tcp_challenge(c, now_ns, seg);
		return false;
	}
	if (seq_lt(seg->ack, c->snd_una - c->snd_wnd_max)) {
		tcp_challenge(c, now_ns, seg);
		return false;
	}
	return true;
}

/* RFC 9293 3.8.5: tolerated; its bytes are bytes of the stream. */
void tcp_urgent(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	uint32_t up = seg->seq + seg->urgent;

	if (!(seg->flags & TCP_URG) || !seq_lt(c->rcv_up, up))
		return;
	c->rcv_up = up;
	tcp_event(c, now_ns, TCP_EV_URGENT, rel_in(c, up), 0);
}

/* ---- what a SYN or SYN-ACK says ---- */

static void fastopen_answer(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	if (!seg->cookie_said || !seg->cookie.n)
		return;
	c->fastopen_n = (uint8_t)seg->cookie.n;
	memcpy(c->fastopen_cookie, seg->cookie.p, seg->cookie.n);
	tcp_event(c, now_ns, TCP_EV_COOKIE, c->fastopen_n, 0);
}

void tcp_syn_options(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	uint16_t ecn = seg->flags & (TCP_ECE | TCP_CWR);

	c->irs = seg->seq;
	c->rcv_nxt = c->rcv_acked = c->rx_seq = c->rcv_up = seg->seq + 1;
	/* Our SYN's window is not scaled (RFC 7323 2.2). */
	c->rcv_adv = c->rcv_nxt + (c->rcv_limit < 0xffff ? c->rcv_limit : 0xffff);
	c->peer = (TcpSynOptions){
		.said = true,
		.sack = seg->sack_ok,
		.timestamps = seg->ts,
		/* RFC 3168 6.1.1: a SYN asks with both flags, its answer has one. */
		.ecn = ecn == (seg->flags & TCP_ACK ? TCP_ECE : TCP_ECE | TCP_CWR),
		.fastopen = seg->cookie_said,
		.wscale = seg->wscale,
		.mss = seg->mss,
		.window = seg->window,
	};
	c->sack_ok = c->offered.sack && c->peer.sack;
	c->ts_ok = c->offered.timestamps && c->peer.timestamps;
	c->ecn_ok = c->offered.ecn && c->peer.ecn;
	c->wscale_ok = c->offered.wscale != WSCALE_NONE && c->peer.wscale != WSCALE_NONE;
	c->snd_wscale = c->wscale_ok ? c->peer.wscale : 0;
	c->rcv_wscale = c->wscale_ok ? c->offered.wscale : 0;
	if (c->ts_ok) {
		c->ts_recent = seg->tsval;
		c->ts_recent_ns = now_ns;
	}
	fastopen_answer(c, now_ns, seg);
	tcp_mss_update(c);
	tcp_path_agreed(c);
	c->cwnd = tcp_initial_window(c);
}

/* ---- whose it is ---- */

/* RFC 3168 6.1.3: CE until the sender says CWR. */
static void ecn_in(TcpConn *c, int64_t now_ns, const TcpSeg *seg)
{
	bool ce = (seg->tos & 3) == IP_ECN_CE;

	if (ce) {
		c->in.ce_in++;
		tcp_event(c, now_ns, TCP_EV_ECN_CE, c->in.ce_in, 0);
	}
	if (!c->ecn_ok || seg->flags & TCP_SYN)
		return;
	if (seg->flags & TCP_CWR) {
		c->in.cwr_in++;
		c->ece_due = false;
	}
	if (ce && seg->payload.n) {
		c->ece_due = true;
		if (c->auto_ack)
			c->ack_now = true;
	}
}

void tcp_conn_input(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	tcp_log_seg(c, now_ns, seg->whole, 0);
	c->in.segments++;
	c->last_rx_ns = now_ns;
	stat_peer(c, seg, c->src.v == 4);
	if (seg->flags & TCP_RST) {
		c->in.resets++;
		tcp_event(c, now_ns, TCP_EV_RST, rel_in(c, seg->seq), seg->ttl);
	}
	if (c->state == TCP_SYN_RECEIVED)
		c->hs_rx_bytes += seg->wire_bytes;
	if (c->peer.said)
		ecn_in(c, now_ns, seg);
	if (timer_on(c, TCP_TIMER_KEEPALIVE)) {
		timer_set(c, TCP_TIMER_KEEPALIVE, now_ns + c->keepalive_ns);
		c->keep_probes = 0;
	}
	tcp_state_fns[c->state](c, now_ns, seg);
}

static StackVerdict to_conn(TcpConn *c, int64_t now_ns, TcpSeg *seg)
{
	bool shown = now_ns < c->crafted_until_ns;

	tcp_conn_input(c, now_ns, seg);
	tcp_settle(c);
	return shown ? STACK_TAKEN_AND_SHOWN : STACK_TAKEN;
}

static StackVerdict bad_sum(NetStack *s, TcpConn *c, int64_t now_ns, const IpPacket *ip)
{
	s->counts.csum_errors++;
	if (c) {
		c->in.csum_errors++;
		tcp_event(c, now_ns, TCP_EV_CSUM, (uint32_t)ip->whole.n, 0);
	}
	return STACK_TAKEN;
}

static StackVerdict malformed(NetStack *s, TcpConn *c, int64_t now_ns, const IpPacket *ip)
{
	s->counts.malformed++;
	if (!c)
		return STACK_NOT_OURS;
	c->in.malformed++;
	tcp_event(c, now_ns, TCP_EV_MALFORMED, (uint32_t)ip->whole.n, 0);
	return STACK_TAKEN;
}

StackVerdict tcp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx)
{
	TcpSeg seg;
	uint16_t sport, dport;

	if (ip->payload.n < TCP_HDR) {
		s->counts.malformed++;
		return STACK_NOT_OURS;
	}
	sport = get_be16(ip->payload.p);
	dport = get_be16(ip->payload.p + 2);
	TcpConn *c = tcp_find(s, ip->dst, dport, ip->src, sport);
	TcpListener *l = c ? NULL : tcp_listener_find(s, ip->dst, dport);

	if (!c && !l)
		return STACK_NOT_OURS;
	if (!rx->csum_good && !tcp_seg_sum_good(ip))
		return bad_sum(s, c, now_ns, ip);
	if (!tcp_seg_read(ip, &seg))
		return malformed(s, c, now_ns, ip);
	/* Only a listener can take what reopens; to others TIME-WAIT answers as always. */
	if (c && c->state == TCP_TIME_WAIT && tcp_reopens(c, &seg))
		l = tcp_listener_find(s, ip->dst, dport);
	if (c && !l)
		return to_conn(c, now_ns, &seg);
	if (c)
		tcp_forget_tuple(c);
	return tcp_listen_input(l, now_ns, &seg, ip);
}
