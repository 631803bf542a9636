/* SPDX-License-Identifier: Apache-2.0
 *
 * `is NAME [< > >=  <=] VALUE`: what of a connection can be asked.
 */
#include "script.h"

typedef struct Field {
	const char *name;
	int64_t (*get)(const World *w, const TcpConn *c);
} Field;

#define PLAIN(X)                                                                                                  \
	X(cwnd) X(ssthresh) X(pipe) X(sacked) X(lost) X(snd_wnd) X(snd_mss) X(mtu) X(srtt_ns) X(rttvar_ns) X(rto_ns) \
	X(rtt_n) X(rtt_min_ns) X(rtt_max_ns) X(backoff) X(max_in_flight) X(crafted) X(sack_ok) X(ts_ok) X(ecn_ok)  \
	X(wscale_ok) X(snd_wscale) X(rcv_wscale) X(rcv_limit) X(peer_ttl) X(fastopen_n) X(fastopen_taken)           \
	X(fastopen_sent) X(was_open) X(handshake_ns) X(rate_bps) X(delivered) X(dup_acks_row) X(fin_received) X(fin_acked)

#define IN_TABLES(X)                                                                                                \
	X(out.segments) X(out.bytes) X(out.bytes_retransmitted) X(out.bytes_acked) X(out.fast) X(out.rto) X(out.tlp) \
	X(out.spurious_dsack) X(out.spurious_eifel) X(out.timeouts) X(out.syn_retries) X(out.recoveries)          \
	X(out.dup_acks) X(out.sacks) X(out.dsacks) X(out.zero_windows) X(out.window_shrunk) X(out.window_probes)  \
	X(out.keepalives) X(out.reordered) X(out.reorder_bytes) X(out.ece_in) X(out.cwr_out) X(out.resets)        \
	X(out.not_sent) X(out.mtu_changes) X(in.segments) X(in.bytes) X(in.bytes_dup) X(in.retransmits)           \
	X(in.out_of_order) X(in.reorder_bytes) X(in.overlaps) X(in.out_of_window) X(in.paws) X(in.no_timestamp)   \
	X(in.csum_errors) X(in.malformed) X(in.zero_windows) X(in.dup_acks) X(in.challenges) X(in.ce_in)          \
	X(in.ece_out) X(in.cwr_in) X(in.resets) X(in.rst_odd_seq) X(in.rst_odd_ttl) X(in.syns) X(in.ack_unsent)   \
	X(in.ack_old) X(in.icmp) X(in.icmp_ignored) X(in.no_memory) X(peer.mss) X(peer.wscale) X(peer.sack)       \
	X(peer.timestamps) X(peer.ecn) X(tlp.out) X(rack.reordering_seen) X(rack.reo_wnd_mult) X(rack.reo_wnd_ns) X(rack.rtt_ns) \
	X(times.syn) X(times.synack) X(times.first_sent) X(times.first_acked) X(times.first_byte) X(times.last_byte) \
	X(times.closed) X(times.established)

#define GET(name, expr)                                                 \
	static int64_t get_##name(const World *w, const TcpConn *c)     \
	{                                                               \
		(void)w;                                                \
		(void)c;                                                \
		return (int64_t)(expr);                                 \
	}
GET(snd_una, (uint32_t)(c->snd_una - w->our_isn))
GET(snd_nxt, (uint32_t)(c->snd_nxt - w->our_isn))
GET(rcv_nxt, (uint32_t)(c->rcv_nxt - w->peer_isn))
GET(unsent, tcp_unsent(c))
GET(unacked, tcp_unacked(c))
GET(readable, tcp_readable(c))
GET(room, tcp_send_room(c))
GET(eof, tcp_eof(c))
GET(rcv_wnd, tcp_rcv_wnd(c))
/* Pages beyond those of the log. */
static int64_t get_pages(const World *w, const TcpConn *c)
{
	TcpConn *x = w->c;

	(void)c;
	tcp_log_clear(x);
	return x->ep.stack->pool.used[POOL_PAGE] + x->ep.stack->pool.used[POOL_128] + x->ep.stack->pool.used[POOL_512];
}
GET(blocks, c->ep.stack->pool.used[POOL_PAGE] + c->ep.stack->pool.used[POOL_128])
GET(endpoints, c->ep.stack->n_endpoints)
GET(limit_cwnd, c->limited_ns[TCP_LIMIT_CWND] + (c->limit == TCP_LIMIT_CWND ? w->now_ns - c->limit_since_ns : 0))
GET(limit_window, c->limited_ns[TCP_LIMIT_WINDOW] + (c->limit == TCP_LIMIT_WINDOW ? w->now_ns - c->limit_since_ns : 0))
GET(limit_app, c->limited_ns[TCP_LIMIT_APP] + (c->limit == TCP_LIMIT_APP ? w->now_ns - c->limit_since_ns : 0))
GET(rtt_median, tcp_rtt_quantile(c, 0.5))

#define PLAIN_GET(name) GET(name, c->name)
PLAIN(PLAIN_GET)

/* Stamps count from when the case began. */
static int64_t since_epoch(const char *name, int64_t v)
{
	return v && strncmp(name, "times.", 6) == 0 ? v - WORLD_EPOCH : v;
}

/* Nested names can't be pasted into one of a function: by place in a switch instead. */
static int64_t get_nested(const TcpConn *c, const char *name, bool *ret_found)
{
	*ret_found = true;
#define NESTED(path)                        \
	if (strcmp(name, #path) == 0)       \
		return since_epoch(name, (int64_t)c->path);
	IN_TABLES(NESTED)
	*ret_found = false;
	return 0;
}

#define ROW(name) { #name, get_##name },
static const Field fields[] = { PLAIN(ROW) ROW(snd_una) ROW(snd_nxt) ROW(rcv_nxt) ROW(unsent) ROW(unacked) ROW(readable)
	ROW(room) ROW(pages) ROW(eof) ROW(rcv_wnd) ROW(blocks) ROW(endpoints) ROW(limit_cwnd) ROW(limit_window) ROW(limit_app)
	ROW(rtt_median) };

static int64_t field(World *w, const char *name)
{
	bool found;
	int64_t v = get_nested(w->c, name, &found);

	for (size_t i = 0; i < sizeof fields / sizeof *fields && !found; i++) {
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].get(w, w->c);
	}
	if (!found)
		fail(w, "unknown name: %s", name);
	return v;
}

/* Names whose values are words. */
static const char *text_field(const World *w, const char *name)
{
	static const char *const recoveries[] = {
#define TEXT(id, text) text,
		TCP_RECOVERIES(TEXT)
	};
	static const char *const ip_ids[] = { "unknown", "zero", "constant", "counts", "counts,-shared", "random" };
	static const char *const errors[] = {
#define ERROR(id, state, text) #id,
		TCP_ERRORS(ERROR)
	};
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "state", tcp_state_name(w->c->state) },
		{ "public", tcp_public_state(w->c) },
		{ "error", errors[w->c->error] },
		{ "recovery", recoveries[w->c->recovery] },
		{ "ip_id", ip_ids[w->c->peer_ip_id] },
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (strcmp(texts[i].name, name) == 0)
			return texts[i].text;
	}
	return NULL;
}

static bool holds(int64_t a, const char *op, int64_t b)
{
	if (!strcmp(op, "<"))
		return a < b;
	if (!strcmp(op, ">"))
		return a > b;
	if (!strcmp(op, "<="))
		return a <= b;
	if (!strcmp(op, ">="))
		return a >= b;
	return a == b;
}

void cmd_is(World *w, Words *ws)
{
	const char *name = word(w, ws, "a name"), *op = "==";

	if (!w->c || w->gone)
		fail(w, "no connection");
	const char *text = text_field(w, name);

	if (text) {
		if (strcmp(text, word(w, ws, "a value")) != 0)
			fail(w, "%s is %s", name, text);
		return;
	}
	if (peek_word(ws) && strchr("<>", *peek_word(ws)))
		op = word(w, ws, "an operator");
	int64_t have = field(w, name), want = next_number(w, ws, "a value");

	if (!holds(have, op, want))
		fail(w, "%s is %lld, not %s %lld", name, (long long)have, op, (long long)want);
}
