/* SPDX-License-Identifier: Apache-2.0
 *
 * What owners call, and the life of a connection: from its memory and its place in the tables to
 * their end.
 */
#include "tcpip/tcp_inside.h"

#include "base/rng.h"

_Static_assert(sizeof(TcpConn) <= POOL_CONN_BYTES, "a connection fits its block");
_Static_assert(sizeof(TxSeg) <= 128 && sizeof(OooRanges) <= 512 && sizeof(UnsentFrame) * STACK_UNSENT <= 512,
	       "and so does what it takes on demand");

/* ---- the table of tuples ---- */

static uint64_t ip_bits(Ip ip, unsigned half)
{
	return (uint64_t)get_be32(ip.b + 8 * half) << 32 | get_be32(ip.b + 8 * half + 4);
}

/* Seeded, so that peers can't choose tuples that share a chain. */
static uint64_t tuple_hash(const NetStack *s, Ip src, uint16_t sport, Ip dst, uint16_t dport)
{
	uint64_t h = rng_mix(s->seed ^ ((uint64_t)src.v << 32 | (uint64_t)sport << 16 | dport));

	h = rng_mix(h ^ ip_bits(src, 0)) ^ ip_bits(dst, 0);
	if (src.v == 6)
		h = rng_mix(rng_mix(h) ^ ip_bits(src, 1)) ^ ip_bits(dst, 1);
	return rng_mix(h);
}

static bool ip_same(const Ip *a, const Ip *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

TcpConn *tcp_find(const NetStack *s, Ip src, uint16_t sport, Ip dst, uint16_t dport)
{
	TcpConn *c = s->by_tuple[tuple_hash(s, src, sport, dst, dport) & s->tuple_mask];

	while (c && !(c->sport == sport && c->dport == dport && ip_same(&c->src, &src) && ip_same(&c->dst, &dst)))
		c = c->tuple_next;
	return c;
}

static TcpConn **slot_of(const TcpConn *c)
{
	NetStack *s = c->ep.stack;

	return &s->by_tuple[tuple_hash(s, c->src, c->sport, c->dst, c->dport) & s->tuple_mask];
}

static void widen(NetStack *s)
{
	uint32_t was = s->tuple_mask + 1;
	TcpConn **old = s->by_tuple, **wide = pool_table(&s->pool, 2 * was * sizeof *wide);

	if (!wide)
		return;
	s->by_tuple = wide;
	s->tuple_mask = 2 * was - 1;
	for (uint32_t i = 0; i < was; i++) {
		for (TcpConn *c = old[i], *next; c; c = next) {
			next = c->tuple_next;
			c->tuple_next = *slot_of(c);
			*slot_of(c) = c;
		}
	}
}

bool tcp_table_add(TcpConn *c)
{
	NetStack *s = c->ep.stack;

	if (tcp_find(s, c->src, c->sport, c->dst, c->dport))
		return false;
	if (s->n_conns++ > s->tuple_mask)
		widen(s);
	c->tuple_next = *slot_of(c);
	*slot_of(c) = c;
	c->in_table = true;
	return true;
}

void tcp_forget_tuple(TcpConn *c)
{
	TcpConn **at = slot_of(c);

	if (!c->in_table)
		return;
	while (*at != c)
		at = &(*at)->tuple_next;
	*at = c->tuple_next;
	c->in_table = false;
	c->ep.stack->n_conns--;
}

/* ---- birth ---- */

static const EndpointOps tcp_ops = { tcp_pull, tcp_frame_sent, tcp_frame_notsent, tcp_due };

/* RFC 6528 3: a clock of 4 us and a keyed hash of the tuple; within 1..2^30, so that numbers made by
 * hand near both ends of the space stand off the connection's own. */
static uint32_t initial_seq(const TcpConn *c, int64_t now_ns)
{
	const NetStack *s = c->ep.stack;
	uint64_t h = tuple_hash(s, c->src, c->sport, c->dst, c->dport);

	return 1 + (uint32_t)((rng_draw(s->seed, h, 1) + (uint64_t)now_ns / 4000) & ((1u << 30) - 1));
}

uint32_t tcp_initial_window(const TcpConn *c)
{
	uint32_t mss = c->snd_mss, floor = 2 * mss > 14600 ? 2 * mss : 14600;

	return 10 * mss < floor ? 10 * mss : floor; /* RFC 6928 2 */
}

/* The scale that makes the whole buffer sayable, where it was left to us (WSCALE_NONE: no option). */
static void offer(TcpConn *c, const TcpOpen *o)
{
	uint32_t headers = (c->src.v == 4 ? 20 : 40) + TCP_HDR;
	uint32_t mss = o->mtu > headers ? o->mtu - headers : TCP_MSS_MIN;

	c->offered = (TcpSynOptions){
		.said = true,
		.sack = o->sack,
		.timestamps = o->timestamps,
		.ecn = o->ecn,
		.fastopen = o->fastopen,
		.wscale = o->wscale > 14 && o->wscale != WSCALE_NONE ? 14 : o->wscale,
		.mss = o->mss ? o->mss : (uint16_t)(mss < 0xffff ? mss : 0xffff),
		.window = (uint16_t)(o->window < 0xffff ? o->window : 0xffff),
	};
}

void tcp_set_iss(TcpConn *c, uint32_t iss)
{
	c->iss = iss;
	c->snd_una = c->snd_nxt = c->snd_up = c->recover = c->rack.fack = c->rack.end_seq = iss;
	c->undo_una = c->ecn_high = c->crafted_end = iss;
	c->tx_seq = iss + 1;
}

static void init_numbers(TcpConn *c, int64_t now_ns, uint64_t seed)
{
	NetStack *s = c->ep.stack;
	uint64_t h = tuple_hash(s, c->src, c->sport, c->dst, c->dport);

	tcp_set_iss(c, seed ? 1 + (uint32_t)(rng_draw(seed, h, 1) & ((1u << 30) - 1)) : initial_seq(c, now_ns));
	c->ts_offset = (uint32_t)rng_draw(seed ? seed : s->seed, h, 2);
	c->ip_id = (uint16_t)rng_draw(seed ? seed : s->seed, seed ? h : c->ep.id, 3);
}

TcpConn *tcp_new(NetStack *s, int64_t now_ns, const TcpOpen *o)
{
	TcpConn *c = pool_take(&s->pool, POOL_CONN);

	if (!c)
		return NULL;
	endpoint_add(s, &c->ep, &tcp_ops);
	c->src = o->src;
	c->dst = o->dst;
	c->sport = o->sport;
	c->dport = o->dport;
	c->ttl = o->ttl ? o->ttl : 64;
	c->tos = o->tos;
	c->nagle = o->nagle;
	c->log_on = o->log;
	c->auto_ack = !o->no_auto_ack;
	c->cc = o->cc == TCP_NEWRENO ? &cc_newreno : &cc_cubic;
	c->rcv_limit = o->window ? o->window : 0xffff;
	c->rcv_limit_max = o->window_max > c->rcv_limit ? o->window_max : c->rcv_limit;
	c->snd_limit = o->send_buffer ? o->send_buffer : TCP_SEND_BUFFER;
	c->keepalive_ns = o->keepalive_ns;
	c->created_ns = c->limit_since_ns = now_ns;
	c->rto_ns = TCP_RTO_INIT;
	c->ssthresh = UINT32_MAX;
	c->rack.reo_wnd_mult = 1;
	for (int t = 0; t < TCP_TIMER_N; t++)
		c->timer_ns[t] = STACK_NEVER;
	offer(c, o);
	init_numbers(c, now_ns, o->seed);
	tcp_path_open(c, now_ns, o->mtu);
	tcp_mss_update(c);
	c->cwnd = tcp_initial_window(c);
	return c;
}

static void fastopen_open(TcpConn *c, const TcpOpen *o)
{
	size_t n = o->fastopen_cookie.n < TCP_COOKIE_MAX ? o->fastopen_cookie.n : TCP_COOKIE_MAX;

	if (!o->fastopen)
		return;
	c->fastopen_n = (uint8_t)n;
	if (n)
		memcpy(c->fastopen_cookie, o->fastopen_cookie.p, n);
	chain_write(tcp_pool(c), &c->tx, 0, o->fastopen_data);
}

TcpConn *tcp_connect(NetStack *s, int64_t now_ns, const TcpOpen *o)
{
	TcpConn *c = tcp_new(s, now_ns, o);

	if (!c)
		return NULL;
	c->active = true;
	if (!tcp_table_add(c)) {
		tcp_forget(c);
		return NULL;
	}
	fastopen_open(c, o);
	tcp_set_state(c, now_ns, TCP_SYN_SENT);
	timer_set(c, TCP_TIMER_LIFE, now_ns + (o->timeout_ns ? o->timeout_ns : TCP_R2_SYN));
	c->syn_due = true;
	tcp_settle(c);
	return c;
}

/* ---- death ---- */

void tcp_set_state(TcpConn *c, int64_t now_ns, TcpState state)
{
	if (c->state == state)
		return;
	tcp_event(c, now_ns, TCP_EV_STATE, c->state, state);
	c->state = state;
}

void tcp_end(TcpConn *c, int64_t now_ns, TcpError e)
{
	if (c->state == TCP_CLOSED)
		return;
	c->error = e;
	c->times.closed = now_ns;
	stat_limit(c, now_ns, TCP_LIMIT_IDLE);
	tcp_set_state(c, now_ns, TCP_CLOSED);
	for (int t = 0; t < TCP_TIMER_N; t++)
		timer_off(c, (TcpTimer)t);
	score_clear(c);
	chain_clear(tcp_pool(c), &c->tx);
	c->tx_seq = c->snd_nxt;
	c->syn_due = c->ack_now = c->probe_due = c->tlp.due = false;
	c->dup_acks_due = 0;
}

void tcp_time_wait(TcpConn *c, int64_t now_ns)
{
	for (int t = 0; t < TCP_TIMER_N; t++)
		timer_off(c, (TcpTimer)t);
	tcp_set_state(c, now_ns, TCP_TIME_WAIT);
	c->times.closed = now_ns;
	timer_set(c, TCP_TIMER_LIFE, now_ns + 2 * TCP_MSL);
}

bool tcp_reopens(const TcpConn *c, const TcpSeg *seg)
{
	if ((seg->flags & (TCP_SYN | TCP_ACK | TCP_RST)) != TCP_SYN)
		return false;
	if (c->ts_ok && seg->ts && seg->tsval != c->ts_recent)
		return seq_lt(c->ts_recent, seg->tsval); /* RFC 6191 2 */
	return seq_lt(c->rcv_nxt, seg->seq);
}

void tcp_forget(TcpConn *c)
{
	Pool *p = tcp_pool(c);

	tcp_forget_tuple(c);
	tcp_listen_done(c);
	score_clear(c);
	chain_clear(p, &c->tx);
	chain_clear(p, &c->rx);
	if (c->ooo)
		pool_give(p, POOL_512, c->ooo);
	if (c->frames)
		pool_give(p, POOL_512, c->frames);
	tcp_log_clear(c);
	endpoint_remove(&c->ep);
	pool_give(p, POOL_CONN, c);
}

void tcp_timers(TcpConn *c)
{
	int64_t due = STACK_NEVER;

	for (int t = 0; t < TCP_TIMER_N; t++)
		due = c->timer_ns[t] < due ? c->timer_ns[t] : due;
	endpoint_due(&c->ep, due);
}

void tcp_settle(TcpConn *c)
{
	bool unaccepted = c->listener && c->state == TCP_CLOSED;

	if (c->state == TCP_CLOSED && (c->released || unaccepted) && !c->rst_due && !c->ep.unsent) {
		tcp_forget(c);
		return;
	}
	tcp_timers(c);
	endpoint_ready(&c->ep);
}

void tcp_queue_reset(TcpConn *c, uint32_t seq, bool with_ack, uint32_t ack, StackPurpose purpose)
{
	c->rst_due = true;
	c->rst_cleanup = purpose == STACK_CLEANUP;
	c->rst_seq = seq;
	c->rst_ack = ack;
	c->rst_ack_set = with_ack;
}

/* ---- what owners call ---- */

uint32_t tcp_unsent(const TcpConn *c)
{
	uint32_t end = c->tx_seq + c->tx.bytes;

	if (c->fin_sent || c->state == TCP_CLOSED)
		return 0;
	return end - seq_max(c->snd_nxt, c->tx_seq);
}

uint32_t tcp_unacked(const TcpConn *c)
{
	return c->snd_nxt - c->snd_una;
}

uint32_t tcp_rcv_wnd(const TcpConn *c)
{
	uint32_t edge;

	if (!c->peer.said)
		return c->rcv_limit;
	tcp_window_field(c, &edge);
	return edge - c->rcv_nxt;
}

static bool takes_data(const TcpConn *c)
{
	return !c->closing && c->state != TCP_CLOSED && c->state <= TCP_CLOSE_WAIT &&
	       c->state != TCP_FIN_WAIT_1 && c->state != TCP_FIN_WAIT_2;
}

size_t tcp_send_room(const TcpConn *c)
{
	if (!takes_data(c))
		return 0;
	return c->snd_limit > c->tx.bytes ? c->snd_limit - c->tx.bytes : 0;
}

size_t tcp_send(TcpConn *c, int64_t now_ns, Bytes b)
{
	size_t room = tcp_send_room(c);
	Bytes part = bytes_slice(b, 0, room);
	size_t n = chain_write(tcp_pool(c), &c->tx, c->tx.bytes, part);

	if (n < part.n) {
		c->in.no_memory++;
		tcp_event(c, now_ns, TCP_EV_NO_MEMORY, (uint32_t)(part.n - n), 0);
	}
	if (n)
		tcp_settle(c);
	return n;
}

size_t tcp_readable(const TcpConn *c)
{
	return c->peer.said ? c->rcv_nxt - c->fin_received - c->rx_seq : 0;
}

bool tcp_eof(const TcpConn *c)
{
	return (c->fin_received || c->state == TCP_CLOSED) && !tcp_readable(c);
}

size_t tcp_peek(TcpConn *c, size_t off, uint8_t *buf, size_t n)
{
	size_t have = tcp_readable(c);

	if (off >= have)
		return 0;
	n = n < have - off ? n : have - off;
	chain_copy(&c->rx, (uint32_t)off, buf, n, CHAIN_FRONT, 0);
	return n;
}

/* Grows the buffer so that it holds what came in two round trips ("dynamic right-sizing"): less
 * would hold a sender back that doubles its window each. */
static void grow_window(TcpConn *c, int64_t now_ns, uint32_t n)
{
	int64_t rtt = c->srtt_ns ? c->srtt_ns : c->handshake_ns;

	c->drs_space += n;
	if (c->rcv_limit >= c->rcv_limit_max || !rtt || now_ns - c->drs_ns < rtt)
		return;
	uint32_t want = c->drs_space < c->rcv_limit_max / 2 ? 2 * c->drs_space : c->rcv_limit_max;

	if (c->drs_ns && want > c->rcv_limit)
		c->rcv_limit = want;
	c->drs_ns = now_ns;
	c->drs_space = 0;
}

/* RFC 9293 3.8.6.2.2: a window that was small and is worth telling of is told at once. */
static void window_update(TcpConn *c, int64_t now_ns)
{
	uint32_t edge, offered = seq_lt(c->rcv_nxt, c->rcv_adv) ? c->rcv_adv - c->rcv_nxt : 0;

	if (!c->auto_ack || c->fin_received || c->state < TCP_ESTABLISHED)
		return;
	tcp_window_field(c, &edge);
	uint32_t now = edge - c->rcv_nxt;

	if (now < 2 * offered || now == offered)
		return;
	if (!offered)
		tcp_event(c, now_ns, TCP_EV_OUR_OPEN, now, 0);
	c->ack_now = true;
}

size_t tcp_recv(TcpConn *c, int64_t now_ns, uint8_t *buf, size_t n)
{
	n = tcp_peek(c, 0, buf, n);
	if (!n)
		return 0;
	chain_drop(tcp_pool(c), &c->rx, (uint32_t)n);
	c->rx_seq += (uint32_t)n;
	grow_window(c, now_ns, (uint32_t)n);
	window_update(c, now_ns);
	tcp_settle(c);
	return n;
}

void tcp_auto_ack(TcpConn *c, int64_t now_ns, bool on)
{
	(void)now_ns;
	if (on && !c->auto_ack && c->rcv_acked != c->rcv_nxt)
		c->ack_now = true;
	if (!on) {
		c->ack_now = false;
		c->dup_acks_due = 0;
		timer_off(c, TCP_TIMER_DELACK);
	}
	c->auto_ack = on;
	tcp_settle(c);
}

void tcp_set_nagle(TcpConn *c, bool on)
{
	c->nagle = on;
	tcp_settle(c); /* what waited may go */
}

/* RFC 9293 3.10.4. */
void tcp_close(TcpConn *c, int64_t now_ns)
{
	if (c->closing || c->state == TCP_CLOSED)
		return;
	c->closing = true;
	tcp_event(c, now_ns, TCP_EV_CLOSE, rel_out(c, c->tx_seq + c->tx.bytes), 0);
	if (c->state == TCP_SYN_SENT)
		tcp_end(c, now_ns, TCP_ERR_NONE);
	else if (c->state == TCP_ESTABLISHED)
		tcp_set_state(c, now_ns, TCP_FIN_WAIT_1);
	else if (c->state == TCP_CLOSE_WAIT)
		tcp_set_state(c, now_ns, TCP_LAST_ACK);
	tcp_settle(c);
}

/* RFC 9293 3.10.5: in synchronized states, where the FIN is not yet through, the peer is told. */
static void abort_conn(TcpConn *c, int64_t now_ns)
{
	if (c->state >= TCP_SYN_RECEIVED && c->state != TCP_TIME_WAIT)
		tcp_queue_reset(c, c->snd_nxt, true, c->rcv_nxt, STACK_CLEANUP);
	tcp_end(c, now_ns, TCP_ERR_ABORTED);
}

void tcp_reset(TcpConn *c, int64_t now_ns)
{
	abort_conn(c, now_ns);
	tcp_settle(c);
}

void tcp_release(TcpConn *c, int64_t now_ns)
{
	c->released = true;
	/* RFC 2525 2.17: who leaves bytes unread says so. */
	if (tcp_readable(c) && c->state != TCP_TIME_WAIT)
		abort_conn(c, now_ns);
	else if (c->state == TCP_FIN_WAIT_2)
		timer_set(c, TCP_TIMER_LIFE, now_ns + TCP_FIN_WAIT);
	if (!c->closing && c->state != TCP_CLOSED)
		tcp_close(c, now_ns);
	else
		tcp_settle(c);
}
