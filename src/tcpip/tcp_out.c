/* SPDX-License-Identifier: Apache-2.0
 *
 * Which segment of a connection leaves next: the rows of a table are asked in turn, the most
 * urgent first.  Each gives one segment, or none for now.
 */
#include "tcpip/tcp_inside.h"

typedef struct Pull {
	TcpConn *c;
	int64_t now_ns;
	uint8_t *buf;
	StackOut *out;
} Pull;

static size_t emit(const Pull *p, const OutSeg *o)
{
	return tcp_emit(p->c, p->now_ns, o, p->buf, p->out);
}

/* RFC 6298 5.1: the timer runs while anything is out. */
static void start_rto(TcpConn *c, int64_t now_ns)
{
	if (timer_on(c, TCP_TIMER_RTO))
		return;
	timer_set(c, TCP_TIMER_RTO, now_ns + c->rto_ns);
	c->rto_provisional = true;
}

static void in_flight(TcpConn *c)
{
	if (c->snd_nxt - c->snd_una > c->max_in_flight)
		c->max_in_flight = c->snd_nxt - c->snd_una;
}

/* RFC 3168 6.1.3: until the peer says CWR. */
static uint16_t ece_flag(const TcpConn *c)
{
	return c->ece_due ? TCP_ECE : 0;
}

/* ---- reset ---- */

static size_t pull_reset(const Pull *p)
{
	TcpConn *c = p->c;

	if (!c->rst_due)
		return 0;
	c->rst_due = false;
	tcp_event(c, p->now_ns, TCP_EV_RST_SENT, rel_out(c, c->rst_seq), 0);
	return emit(p, &(OutSeg){ .seq = c->rst_seq,
				  .flags = (uint16_t)(TCP_RST | (c->rst_ack_set ? TCP_ACK : 0)),
				  .ack_set = true,
				  .ack = c->rst_ack_set ? c->rst_ack : 0,
				  .purpose = c->rst_cleanup ? STACK_CLEANUP : STACK_DATA });
}

/* ---- SYN ---- */

/* RFC 7413 4.2: data goes into the first SYN only, and only with a cookie. */
static uint32_t fastopen_bytes(const TcpConn *c)
{
	uint32_t options = 40, headers = (c->src.v == 4 ? 20 : 40) + TCP_HDR;
	uint32_t room = c->mtu > headers + options ? c->mtu - headers - options : 0;

	if (!c->active || !c->offered.fastopen || !c->fastopen_n || c->state != TCP_SYN_SENT)
		return 0;
	return c->tx.bytes < room ? c->tx.bytes : room;
}

static uint16_t syn_flags(const TcpConn *c)
{
	bool answer = c->state == TCP_SYN_RECEIVED;

	/* RFC 3168 6.1.1; 6.1.1.1: a SYN that is sent again asks for no ECN, in case it is what kills it. */
	if (answer)
		return (uint16_t)(TCP_SYN | TCP_ACK | (c->ecn_ok ? TCP_ECE : 0));
	return (uint16_t)(TCP_SYN | (c->offered.ecn && !c->out.syn_retries ? TCP_ECE | TCP_CWR : 0));
}

/* Bytes behind the headers that may leave: whoever forged a source must not get us to send its
 * owner more than he sent, so until a handshake that the peer began is done, what came is what may
 * leave.  SIZE_MAX: not even the headers. */
static size_t unverified_room(const TcpConn *c)
{
	size_t headers = (c->src.v == 4 ? 20u : 40u) + TCP_HDR;

	if (c->active || c->state != TCP_SYN_RECEIVED)
		return TCP_OPTIONS_MAX;
	size_t left = c->hs_rx_bytes - c->hs_tx_bytes;

	return left < headers ? SIZE_MAX : left - headers;
}

static size_t pull_syn(const Pull *p)
{
	TcpConn *c = p->c;
	TxSeg *g = c->seg_first;
	size_t room = unverified_room(c);
	uint32_t data = g ? 0 : fastopen_bytes(c); /* RFC 7413 4.2: sent again, a SYN leaves the data out */

	if (!c->syn_due)
		return 0;
	if (room == SIZE_MAX) {
		c->syn_due = false; /* the peer's next SYN brings new room */
		return 0;
	}
	if (g)
		score_resent(c, p->now_ns, g);
	else
		g = score_add(c, p->now_ns, c->iss, c->iss + 1 + data);
	if (!g)
		return 0;
	c->syn_due = false;
	g->syn = true;
	c->snd_nxt = seq_max(c->snd_nxt, g->end);
	c->fastopen_sent = data ? (uint16_t)data : c->fastopen_sent;
	start_rto(c, p->now_ns);
	return emit(p, &(OutSeg){ .seq = c->iss, .bytes = data, .flags = syn_flags(c), .timed = g, .syn_room = room });
}

/* ---- data ---- */

static bool may_send_data(const TcpConn *c)
{
	return c->state >= TCP_ESTABLISHED && c->state != TCP_FIN_WAIT_2 && c->state != TCP_TIME_WAIT;
}

/* RFC 6675 5 (C): room for one more segment. */
static bool cwnd_room(const TcpConn *c, uint32_t bytes)
{
	uint32_t pipe = tcp_pipe(c);

	return !pipe || pipe + bytes <= c->cwnd;
}

static void count_resent(TcpConn *c, int64_t now_ns, const TxSeg *g)
{
	bool timeout = c->recovery == TCP_CA_LOSS;

	*(timeout ? &c->out.rto : &c->out.fast) += 1;
	tcp_event(c, now_ns, timeout ? TCP_EV_RTX : TCP_EV_FAST, rel_out(c, g->seq), txseg_len(g));
}

/* g once more, as it is. */
static size_t resend(const Pull *p, TxSeg *g)
{
	TcpConn *c = p->c;

	score_resent(c, p->now_ns, g);
	loss_resent(c, g, p->now_ns);
	loss_sent(c, txseg_len(g));
	start_rto(c, p->now_ns);
	return emit(p, &(OutSeg){ .seq = g->seq,
				  .bytes = txseg_len(g) - g->fin,
				  .flags = (uint16_t)(TCP_ACK | (txseg_len(g) > g->fin ? TCP_PSH : 0) |
						      (g->fin ? TCP_FIN : 0) | ece_flag(c)),
				  .timed = g,
				  .retransmit = true });
}

static size_t pull_lost(const Pull *p)
{
	TcpConn *c = p->c;
	TxSeg *g = may_send_data(c) ? score_next_lost(c) : NULL;

	if (!g || c->ep.unsent >= STACK_UNSENT)
		return 0;
	/* The path may have become narrower since (RFC 1191 6.4). */
	if (txseg_len(g) - g->fin > c->snd_mss && !score_split(c, g, g->seq + c->snd_mss))
		return 0;
	if (!cwnd_room(c, txseg_len(g))) {
		stat_limit(c, p->now_ns, TCP_LIMIT_CWND);
		return 0;
	}
	count_resent(c, p->now_ns, g);
	return resend(p, g);
}

static bool fin_due(const TcpConn *c)
{
	return c->closing && !c->fin_sent && may_send_data(c);
}

/* How much of `unsent` may leave in one segment now, and what holds it back (RFC 9293 3.8.6.2.1,
 * 3.7.4 for Nagle). */
static uint32_t sendable(const TcpConn *c, uint32_t unsent, TcpLimit *ret_why)
{
	uint32_t flight = c->snd_nxt - c->snd_una, room = c->snd_wnd > flight ? c->snd_wnd - flight : 0;
	uint32_t n = unsent < c->snd_mss ? unsent : c->snd_mss;

	*ret_why = TCP_LIMIT_WINDOW;
	if (n > room) { /* less than a segment: only if that is much for this peer, or long waited for */
		n = room;
		if (!c->sws_override && (n < c->snd_wnd_max / 2 || flight))
			return 0;
	} else if (n < c->snd_mss && c->nagle && flight && !c->closing) {
		*ret_why = TCP_LIMIT_APP;
		return 0;
	}
	if (!cwnd_room(c, n)) {
		*ret_why = TCP_LIMIT_CWND;
		return 0;
	}
	return n;
}

/* RFC 5681 4.1: after an idle time-out the path may have changed. */
static void restart_after_idle(TcpConn *c, int64_t now_ns)
{
	uint32_t rw = tcp_initial_window(c);

	if (c->seg_first || !c->last_data_ns || now_ns - c->last_data_ns < c->rto_ns || c->cwnd <= rw)
		return;
	tcp_event(c, now_ns, TCP_EV_IDLE_RESTART, c->cwnd, rw);
	c->cwnd = rw;
}

static size_t send_new(const Pull *p, uint32_t n, bool fin)
{
	TcpConn *c = p->c;
	uint32_t seq = c->snd_nxt;
	TxSeg *g = score_add(c, p->now_ns, seq, seq + n + fin);

	if (!g) {
		c->in.no_memory++;
		timer_set(c, TCP_TIMER_PERSIST, p->now_ns + TCP_RTO_VAR_MIN);
		return 0;
	}
	g->fin = fin;
	c->snd_nxt = g->end;
	if (fin) {
		c->fin_sent = true;
		c->fin_seq = g->end - 1;
	}
	in_flight(c);
	loss_sent(c, n + fin);
	start_rto(c, p->now_ns);
	tlp_schedule(c, p->now_ns);
	/* The next one waits for our own way out, if all its places are taken then. */
	stat_limit(c, p->now_ns, c->ep.unsent + 1 >= STACK_UNSENT && tcp_unsent(c) ? TCP_LIMIT_OWN : TCP_LIMIT_APP);
	bool last = g->end - fin == c->tx_seq + c->tx.bytes, cwr = c->cwr_due && n;
	size_t out = emit(p, &(OutSeg){
		.seq = seq,
		.bytes = n,
		.flags = (uint16_t)(TCP_ACK | (last && n ? TCP_PSH : 0) | (fin ? TCP_FIN : 0) | (cwr ? TCP_CWR : 0) |
				    ece_flag(c)),
		.ect = c->ecn_ok && n, /* RFC 3168 6.1.4..6.1.6: not on pure ACKs, nor sent again */
		.timed = g,
	});

	c->cwr_due &= !cwr;
	return out;
}

/* RFC 9293 3.8.6.1: nothing is out that an ACK could open the window for; ask again and again. */
static void persist(TcpConn *c, int64_t now_ns)
{
	if (!c->seg_first && !timer_on(c, TCP_TIMER_PERSIST))
		timer_set(c, TCP_TIMER_PERSIST, now_ns + c->rto_ns);
}

static void held_back(TcpConn *c, int64_t now_ns, TcpLimit why, uint32_t unsent)
{
	uint32_t pipe = tcp_pipe(c);

	if (!unsent)
		why = c->seg_first ? TCP_LIMIT_APP : TCP_LIMIT_IDLE;
	stat_limit(c, now_ns, why);
	/* RFC 7661 4.2: cwnd is in use if it holds back, or in slow start if half of it is out. */
	c->cwnd_used = why == TCP_LIMIT_CWND || (c->cwnd < c->ssthresh && c->cwnd < 2 * pipe);
	if (!unsent && pipe < c->cwnd)
		c->app_limited = c->delivered + pipe ? c->delivered + pipe : 1;
}

static size_t pull_new(const Pull *p)
{
	TcpConn *c = p->c;
	uint32_t unsent = may_send_data(c) ? tcp_unsent(c) : 0;
	bool fin = fin_due(c);
	TcpLimit why = TCP_LIMIT_APP;

	if (unsent || fin)
		restart_after_idle(c, p->now_ns);
	uint32_t probe = tcp_probe_bytes(c, p->now_ns, unsent);
	if (probe)
		return send_new(p, probe, false);
	uint32_t n = unsent ? sendable(c, unsent, &why) : 0;
	uint32_t flight = c->snd_nxt - c->snd_una;
	bool fin_fits = fin && n == unsent && (n + flight < c->snd_wnd || c->sws_override);

	if (!n && !fin_fits) {
		held_back(c, p->now_ns, why, unsent);
		if ((unsent || fin) && why != TCP_LIMIT_CWND)
			persist(c, p->now_ns);
		return 0;
	}
	c->sws_override = false;
	timer_off(c, TCP_TIMER_PERSIST);
	return send_new(p, n, fin_fits);
}

/* RFC 8985 7.3: new data if there is some that the peer's window takes, else the last segment. */
static size_t pull_tlp(const Pull *p)
{
	TcpConn *c = p->c;
	uint32_t flight = c->snd_nxt - c->snd_una, unsent = tcp_unsent(c);
	uint32_t n = unsent < c->snd_mss ? unsent : c->snd_mss;

	if (!c->tlp.due)
		return 0;
	c->tlp.due = false;
	if (!c->seg_first)
		return 0;
	c->tlp.out = true;
	c->out.tlp++;
	timer_set(c, TCP_TIMER_RTO, p->now_ns + c->rto_ns);
	c->rto_provisional = true;
	if (n && n + flight <= c->snd_wnd) {
		c->tlp.is_retrans = false;
		c->tlp.end_seq = c->snd_nxt + n;
		tcp_event(c, p->now_ns, TCP_EV_TLP, rel_out(c, c->snd_nxt), n);
		return send_new(p, n, false);
	}
	TxSeg *g = c->seg_last;

	if (txseg_len(g) > c->snd_mss && score_split(c, g, g->end - c->snd_mss))
		g = c->seg_last;
	c->tlp.is_retrans = true;
	c->tlp.end_seq = c->snd_nxt;
	tcp_event(c, p->now_ns, TCP_EV_TLP, rel_out(c, g->seq), txseg_len(g));
	return resend(p, g);
}

/* ---- without data ---- */

/* RFC 9293 3.8.4, and for closed windows too: a number just below what the peer waits for is
 * outside its window, and what is outside must be answered by an ACK. */
static size_t pull_probe(const Pull *p)
{
	TcpConn *c = p->c;

	if (!c->probe_due)
		return 0;
	c->probe_due = false;
	return emit(p, &(OutSeg){ .seq = c->snd_una - 1, .flags = (uint16_t)(TCP_ACK | ece_flag(c)) });
}

static size_t pull_ack(const Pull *p)
{
	TcpConn *c = p->c;

	if (!c->ack_now && !c->dup_acks_due)
		return 0;
	size_t room = unverified_room(c);

	if (c->state < TCP_SYN_RECEIVED || room == SIZE_MAX || room < (c->ts_ok ? 12u : 0u)) {
		c->ack_now = false;
		c->dup_acks_due = 0;
		return 0;
	}
	if (c->dup_acks_due)
		c->in.dup_acks++;
	return emit(p, &(OutSeg){ .seq = c->snd_nxt, .flags = (uint16_t)(TCP_ACK | ece_flag(c)) });
}

static size_t (*const pulls[])(const Pull *p) = {
	pull_reset, pull_syn, pull_tlp, pull_lost, pull_new, pull_probe, pull_ack,
};

size_t tcp_pull(Endpoint *e, int64_t now_ns, uint8_t *buf, StackOut *ret_out)
{
	TcpConn *c = (TcpConn *)(void *)e;
	Pull p = { .c = c, .now_ns = now_ns, .buf = buf, .out = ret_out };
	size_t n = 0;

	for (size_t i = 0; i < sizeof pulls / sizeof *pulls && !n; i++)
		n = pulls[i](&p);
	tcp_timers(c);
	return n;
}
