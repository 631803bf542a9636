/* SPDX-License-Identifier: Apache-2.0
 *
 * Two stacks and a bad path between them, on virtual time: whatever the path does, what one
 * sends arrives at the other bit for bit, in bounded time, and all invariants hold after each
 * step.  A failure names its seed.
 */
#include "tcpip/tcp_inside.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SIDE_BYTES = 24 * 1024 * 1024, MAX_FLYING = 1 << 14 };

typedef struct Path {
	const char *name;
	double loss, dup, corrupt, reorder;
	int64_t delay_ns, jitter_ns; /* jitter: of reordered packets */
	uint32_t mtu;		     /* longer ones die without a word; 0: any */
	uint64_t rate;		     /* bytes/s, queue of 100 packets; 0: unlimited */
} Path;

typedef struct Flying {
	int64_t at_ns;
	uint64_t n;
	int to;
	uint32_t len;
	uint8_t *b;
} Flying;

typedef struct Side {
	uint8_t *memory;
	Arena arena;
	NetStack *s;
	TcpConn *c;
	uint64_t sent, received, total;
	bool closed;
} Side;

typedef struct World {
	Side side[2];
	TcpListener *l;
	const Path *path;
	uint64_t seed, draws, serial;
	int64_t now_ns, free_ns[2];
	Flying flying[MAX_FLYING]; /* a heap by time */
	uint32_t n;
} World;

static double chance(World *w)
{
	return (double)(rng_draw(w->seed, 7, w->draws++) >> 11) / 9007199254740992.0;
}

static uint8_t byte_at(uint64_t off, int side)
{
	return (uint8_t)(off * 131 + (off >> 9) + (uint64_t)side * 77);
}

/* ---- the path ---- */

static bool sooner(const Flying *a, const Flying *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->n < b->n;
}

static void swap(Flying *a, Flying *b)
{
	Flying t = *a;

	*a = *b;
	*b = t;
}

static void fly(World *w, int to, Bytes p, int64_t at_ns)
{
	uint32_t i = w->n;

	assert_true(w->n < MAX_FLYING);
	w->flying[w->n++] = (Flying){ at_ns, w->serial++, to, (uint32_t)p.n, malloc(p.n) };
	memcpy(w->flying[i].b, p.p, p.n);
	for (; i && sooner(&w->flying[i], &w->flying[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->flying[i], &w->flying[(i - 1) / 2]);
}

static Flying land(World *w)
{
	Flying f = w->flying[0];

	w->flying[0] = w->flying[--w->n];
	for (uint32_t i = 0, k; (k = 2 * i + 1) < w->n; i = k) {
		if (k + 1 < w->n && sooner(&w->flying[k + 1], &w->flying[k]))
			k++;
		if (!sooner(&w->flying[k], &w->flying[i]))
			break;
		swap(&w->flying[k], &w->flying[i]);
	}
	return f;
}

/* When it is through the bottleneck; -1: the queue is full. */
static int64_t through(World *w, int from, size_t n)
{
	int64_t at = w->free_ns[from] > w->now_ns ? w->free_ns[from] : w->now_ns;

	if (!w->path->rate)
		return w->now_ns;
	if (at - w->now_ns > (int64_t)(100 * 1500 * 1e9 / (double)w->path->rate))
		return -1;
	w->free_ns[from] = at + (int64_t)((double)n * 1e9 / (double)w->path->rate);
	return w->free_ns[from];
}

static void carry(World *w, int from, Bytes p)
{
	static uint8_t bad[70000];
	const Path *path = w->path;
	int64_t at = through(w, from, p.n);

	if (at < 0 || chance(w) < path->loss || (path->mtu && p.n > path->mtu))
		return;
	at += path->delay_ns;
	if (chance(w) < path->reorder)
		at += (int64_t)(chance(w) * (double)path->jitter_ns);
	if (chance(w) < path->dup)
		fly(w, !from, p, at + (int64_t)(chance(w) * (double)path->delay_ns));
	if (chance(w) < path->corrupt) {
		memcpy(bad, p.p, p.n);
		bad[(size_t)(chance(w) * (double)p.n)] ^= (uint8_t)(1u << (unsigned)(chance(w) * 8));
		p.p = bad;
	}
	fly(w, !from, p, at);
}

/* What one side sends, if TCP_TRACE is set: for whoever looks into a failing seed. */
static void trace(const World *w, int from, Bytes p)
{
	const TcpConn *c = w->side[from].c;
	IpPacket ip;
	TcpSeg s;

	if (!getenv("TCP_TRACE") || !ip_packet_read(p, &ip) || !tcp_seg_read(&ip, &s))
		return;
	printf("%.6f %d %02x %u:%u ack %u win %u cwnd %u pipe %u lost %u %s", (double)w->now_ns / 1e9, from, s.flags,
	       c ? s.seq - c->iss : s.seq, c ? s.end - c->iss : s.end, c ? s.ack - c->irs : s.ack, s.window, c ? c->cwnd : 0,
	       c ? tcp_pipe(c) : 0, c ? c->lost : 0, c ? tcp_state_name(c->state) : "-");
	for (uint32_t i = 0; i < s.n_sack && c; i++)
		printf(" %u:%u", s.sack[i].start - c->irs, s.sack[i].end - c->irs);
	printf("\n");
}

/* ---- the hosts ---- */

static void check(World *w, int i)
{
	const TcpConn *c = w->side[i].c;
	const char *bad = c ? tcp_check(c) : NULL;

	if (bad)
		fail_msg("seed %llu, %s, side %d at %.6f: %s", (unsigned long long)w->seed, w->path->name, i,
			 (double)w->now_ns / 1e9, bad);
}

static void write_some(World *w, int i)
{
	Side *h = &w->side[i];
	uint8_t b[8192];

	while (h->sent < h->total) {
		size_t n = h->total - h->sent < sizeof b ? (size_t)(h->total - h->sent) : sizeof b;

		for (size_t k = 0; k < n; k++)
			b[k] = byte_at(h->sent + k, i);
		size_t took = tcp_send(h->c, w->now_ns, BYTES(b, n));

		h->sent += took;
		if (took < n)
			return;
	}
	if (!h->closed)
		tcp_close(h->c, w->now_ns);
	h->closed = true;
}

static void read_some(World *w, int i)
{
	Side *h = &w->side[i];
	uint8_t b[8192];
	size_t n;

	while ((n = tcp_recv(h->c, w->now_ns, b, sizeof b))) {
		for (size_t k = 0; k < n; k++) {
			if (b[k] != byte_at(h->received + k, !i))
				fail_msg("seed %llu, %s: byte %llu came wrong", (unsigned long long)w->seed,
					 w->path->name, (unsigned long long)(h->received + k));
		}
		h->received += n;
	}
}

static void act(World *w, int i)
{
	Side *h = &w->side[i];
	StackOut out;

	if (i == 1 && !h->c)
		h->c = tcp_accept(w->l);
	if (h->c && h->c->was_open) {
		read_some(w, i);
		write_some(w, i);
		read_some(w, i);
	}
	check(w, i);
	while (stack_pull(h->s, w->now_ns, &out)) {
		check(w, i);
		trace(w, i, out.packet);
		carry(w, i, out.packet);
		stack_sent(h->s, out.tag, w->now_ns);
		check(w, i);
	}
}

static bool done(const World *w)
{
	for (int i = 0; i < 2; i++) {
		const Side *h = &w->side[i];

		if (!h->c || h->received < w->side[!i].total || !h->closed)
			return false;
		if (h->c->state != TCP_TIME_WAIT && h->c->state != TCP_CLOSED)
			return false;
	}
	return true;
}

static void step(World *w)
{
	int64_t at = w->n ? w->flying[0].at_ns : STACK_NEVER;
	StackRx rx = { 0 };

	for (int i = 0; i < 2; i++)
		at = stack_wake_ns(w->side[i].s) < at ? stack_wake_ns(w->side[i].s) : at;
	if (at == STACK_NEVER)
		fail_msg("seed %llu, %s: nothing will ever happen again", (unsigned long long)w->seed, w->path->name);
	w->now_ns = at > w->now_ns ? at : w->now_ns;
	for (int i = 0; i < 2; i++)
		stack_advance(w->side[i].s, w->now_ns);
	if (w->n && w->flying[0].at_ns <= w->now_ns) {
		Flying f = land(w);

		stack_input(w->side[f.to].s, w->now_ns, BYTES(f.b, f.len), &rx);
		free(f.b);
		check(w, f.to);
	}
	act(w, 0);
	act(w, 1);
}

static void end_well(const World *w)
{
	for (int i = 0; i < 2; i++) {
		const TcpConn *c = w->side[i].c;

		/* Whose last ACK is lost till the peer has forgotten can't know that all arrived. */
		if (c->error && !(c->error == TCP_ERR_TIMEOUT && w->path->loss > 0))
			fail_msg("seed %llu, %s: side %d ended with %s", (unsigned long long)w->seed, w->path->name, i,
				 tcp_error_text(c->error));
	}
}

static TcpOpen options(uint64_t seed)
{
	uint64_t r = rng_draw(seed, 1, 1);

	return (TcpOpen){
		.src = ip4(0x0a000001),
		.dst = ip4(0x0a000002),
		.sport = 1000,
		.dport = 80,
		.mtu = 1500,
		.sack = r & 3, /* three of four */
		.timestamps = r >> 2 & 3,
		.ecn = r >> 4 & 1,
		.nagle = r >> 5 & 1,
		.cc = r >> 6 & 1 ? TCP_CUBIC : TCP_NEWRENO,
		.wscale = r >> 7 & 3 ? 7 : WSCALE_NONE,
		.window = r >> 9 & 3 ? 262144 : 20000,
		.log = r >> 11 & 1,
	};
}

static void transfer(World *w, const Path *path, uint64_t seed, uint64_t bytes, double limit_s)
{
	TcpOpen o = options(seed), peer = options(seed + 1);
	StackConfig cfg = { .seed = seed, .max_bytes = SIDE_BYTES / 2 };

	for (int i = 0; i < 2; i++) {
		Side *h = &w->side[i];
		uint8_t *memory = h->memory;

		*h = (Side){ .memory = memory, .total = i ? bytes / 3 : bytes };
		arena_init(&h->arena, memory, SIDE_BYTES, NULL);
		h->arena.dirty = SIDE_BYTES;
		h->s = stack_new(&h->arena, &cfg);
	}
	w->path = path;
	w->seed = seed;
	w->draws = w->n = 0;
	w->now_ns = SEC_NS;
	w->free_ns[0] = w->free_ns[1] = 0;
	w->l = tcp_listen(w->side[1].s, o.dst, 80, 4, &peer);
	w->side[0].c = tcp_connect(w->side[0].s, w->now_ns, &o);
	act(w, 0);
	while (!done(w)) {
		step(w);
		if ((double)w->now_ns / 1e9 > limit_s)
			fail_msg("seed %llu, %s: not done after %.0f s: %llu and %llu bytes came; %s, %s", (unsigned long long)seed,
				 path->name, limit_s, (unsigned long long)w->side[1].received,
				 (unsigned long long)w->side[0].received, tcp_state_name(w->side[0].c->state),
				 w->side[1].c ? tcp_state_name(w->side[1].c->state) : "none");
	}
	end_well(w);
	while (w->n)
		free(land(w).b);
}

#define MS (1000 * 1000)

static const Path paths[] = {
	{ .name = "clean", .delay_ns = 5 * MS },
	{ .name = "loss 1 %", .delay_ns = 25 * MS, .loss = 0.01 },
	{ .name = "loss 5 %", .delay_ns = 10 * MS, .loss = 0.05 },
	{ .name = "loss 20 %", .delay_ns = 10 * MS, .loss = 0.2 },
	{ .name = "reordering", .delay_ns = 10 * MS, .reorder = 0.2, .jitter_ns = 15 * MS },
	{ .name = "reordering all", .delay_ns = 2 * MS, .reorder = 1, .jitter_ns = 30 * MS },
	{ .name = "duplication", .delay_ns = 10 * MS, .dup = 0.3 },
	{ .name = "corruption", .delay_ns = 10 * MS, .corrupt = 0.05 },
	{ .name = "all at once", .delay_ns = 20 * MS, .loss = 0.03, .dup = 0.03, .corrupt = 0.03, .reorder = 0.1, .jitter_ns = 40 * MS },
	{ .name = "black hole", .delay_ns = 5 * MS, .mtu = 1300 },
	{ .name = "bottleneck", .delay_ns = 10 * MS, .rate = 1250000 },
	{ .name = "bottleneck and loss", .delay_ns = 30 * MS, .rate = 1250000, .loss = 0.01, .reorder = 0.05, .jitter_ns = 5 * MS },
	{ .name = "no delay", .delay_ns = 0 },
};

static void arrives(void **state)
{
	World *w = calloc(1, sizeof *w);
	const char *env = getenv("TCP_SEEDS");
	uint64_t seeds = env ? strtoull(env, NULL, 10) : 24;

	(void)state;
	for (int i = 0; i < 2; i++)
		w->side[i].memory = malloc(SIDE_BYTES);
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
			transfer(w, &paths[p], seed * 100 + p, paths[p].loss > 0.1 ? 60000 : 300000, paths[p].loss > 0.1 ? 3600 : 300);
	}
	for (int i = 0; i < 2; i++)
		free(w->side[i].memory);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
