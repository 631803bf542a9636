/* SPDX-License-Identifier: Apache-2.0
 *
 * What connections are made of: memory, timers, buffers, segments, logs; and what a whole
 * stack promises about memory and about doing the same thing twice.
 */
#include "tcpip/tcp_inside.h"
#include "tcpip/timer_heap.h"

#include "base/rng.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MEMORY = 64 * 1024 * 1024 };

static uint8_t *memory;

static Arena arena(size_t n)
{
	Arena a;

	arena_init(&a, memory, n, NULL);
	a.dirty = n;
	return a;
}

/* ---- pool ---- */

static void pool_has_an_end(void **state)
{
	Arena a = arena(MEMORY);
	Pool p;
	void *got[64];
	int n = 0;

	(void)state;
	pool_init(&p, &a, 10 * POOL_PAGE_BYTES);
	while (n < 64 && (got[n] = pool_take(&p, POOL_PAGE)))
		n++;
	assert_int_equal(n, 8); /* whole batches of four */
	assert_int_equal(p.refused, 1);
	pool_give(&p, POOL_PAGE, got[3]);
	assert_ptr_equal(pool_take(&p, POOL_PAGE), got[3]);
	assert_int_equal(p.used[POOL_PAGE], 8);
}

static void pool_stops_before_the_arena_does(void **state)
{
	Arena a = arena(5 * POOL_PAGE_BYTES);
	Pool p;

	(void)state;
	pool_init(&p, &a, MEMORY);
	for (int i = 0; i < 4; i++)
		assert_non_null(pool_take(&p, POOL_PAGE));
	assert_null(pool_take(&p, POOL_PAGE)); /* the arena's own end would abort */
}

static void small_blocks_come_zeroed(void **state)
{
	Arena a = arena(MEMORY);
	Pool p;
	static const uint8_t zero[512];

	(void)state;
	memset(memory, 0xff, 1 << 20);
	pool_init(&p, &a, MEMORY);
	for (int i = 0; i < 2; i++) {
		uint8_t *b = pool_take(&p, POOL_512);

		assert_memory_equal(b, zero, 512);
		memset(b, 0xff, 512);
		pool_give(&p, POOL_512, b);
	}
}

/* ---- timers ---- */

static int by_due(const void *x, const void *y)
{
	const Endpoint *const *a = x, *const *b = y;

	if ((*a)->due_ns != (*b)->due_ns)
		return (*a)->due_ns < (*b)->due_ns ? -1 : 1;
	return (*a)->id < (*b)->id ? -1 : 1;
}

static void timers_come_in_order(void **state)
{
	enum { N = 500 };
	static Endpoint e[N];
	Endpoint *want[N], *root = NULL;
	int n = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		e[i] = (Endpoint){ .id = i + 1, .due_ns = (int64_t)(rng_draw(1, 2, i) % 100) };
		timer_heap_add(&root, &e[i]);
	}
	for (uint32_t i = 0; i < N; i++) { /* some are put off, some called off */
		if (i % 3 == 0)
			timer_heap_remove(&root, &e[i]);
		if (i % 6 == 0) {
			e[i].due_ns += 37;
			timer_heap_add(&root, &e[i]);
		}
		if (i % 3 || i % 6 == 0)
			want[n++] = &e[i];
	}
	qsort(want, (size_t)n, sizeof *want, by_due);
	for (int i = 0; i < n; i++) {
		assert_ptr_equal(root, want[i]);
		timer_heap_remove(&root, root);
	}
	assert_null(root);
}

/* ---- streams ---- */

static void streams_hold_what_was_written(void **state)
{
	static uint8_t truth[200000], buf[200000];
	Arena a = arena(MEMORY);
	Pool p;
	ByteChain c = { 0 };
	uint32_t end = 0, dropped = 0;

	(void)state;
	pool_init(&p, &a, MEMORY);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t r = rng_draw(3, 1, i);
		uint32_t n = 1 + (uint32_t)(r >> 8) % 3000, have = end - dropped;

		if (r % 4 < 2 && end + n < sizeof truth) {
			for (uint32_t k = 0; k < n; k++)
				truth[end + k] = (uint8_t)(rng_draw(4, i, k));
			assert_int_equal(chain_write(&p, &c, have, BYTES(truth + end, n)), n);
			end += n;
		} else if (r % 4 == 2 && have) {
			uint32_t off = (uint32_t)(r >> 20) % have, len = n < have - off ? n : have - off;
			uint64_t sum = chain_copy(&c, off, buf, len, r >> 40 & 1 ? CHAIN_FRONT : CHAIN_BACK, 0);

			assert_memory_equal(buf, truth + dropped + off, len);
			assert_int_equal(ip_csum_done(sum), ip_csum_done(ip_csum_add(0, BYTES(buf, len))));
			assert_int_equal(chain_same(&c, off, BYTES(truth + dropped + off, len)), len);
		} else if (have) {
			uint32_t d = n < have ? n : have;

			chain_drop(&p, &c, d);
			dropped += d;
		}
		if (end + 3000 > sizeof truth) {
			chain_clear(&p, &c);
			end = dropped = 0;
		}
		assert_int_equal(c.bytes, end - dropped);
	}
	chain_clear(&p, &c);
	assert_int_equal(p.used[POOL_PAGE], 0);
}

static void streams_end_with_the_memory(void **state)
{
	Arena a = arena(MEMORY);
	Pool p;
	ByteChain c = { 0 };
	static uint8_t much[100000];

	(void)state;
	pool_init(&p, &a, 4 * POOL_PAGE_BYTES);
	size_t took = chain_write(&p, &c, 0, BYTES(much, sizeof much));

	assert_in_range(took, 4 * (POOL_PAGE_BYTES - 16), 4 * POOL_PAGE_BYTES);
	assert_int_equal(chain_write(&p, &c, c.bytes, BYTES(much, 1)), 0);
}

/* ---- segments ---- */

static void checksums_agree_with_wire(void **state)
{
	uint8_t b[600];

	(void)state;
	for (size_t i = 0; i < sizeof b; i++)
		b[i] = (uint8_t)rng_draw(9, 9, i);
	for (size_t n = 0; n < sizeof b; n++) {
		uint16_t mine = ip_csum_done(ip_csum_add(0, BYTES(b, n))), theirs = wire_csum_fold(wire_csum(0, BYTES(b, n)));
		uint8_t as[2];

		memcpy(as, &mine, 2);
		assert_int_equal(get_be16(as), theirs);
	}
}

static void serial_numbers_wrap(void **state)
{
	(void)state;
	assert_true(seq_lt(0xfffffff0, 5));
	assert_false(seq_lt(5, 0xfffffff0));
	assert_true(seq_le(7, 7));
	assert_int_equal(seq_max(0xfffffff0, 5), 5);
	assert_int_equal(seq_min(0xfffffff0, 5), 0xfffffff0);
}

/* ---- texts ---- */

static void events_have_texts(void **state)
{
	TcpEvent e = { .kind = TCP_EV_STATE, .a = TCP_ESTABLISHED, .b = TCP_FIN_WAIT_1 };
	char t[200];

	(void)state;
	tcp_event_text(&e, t, sizeof t);
	assert_string_equal(t, "state ESTABLISHED -> FIN-WAIT-1");
	e = (TcpEvent){ .kind = TCP_EV_OUT_OF_WINDOW, .a = 4000000000u, .b = 12 };
	int n = tcp_event_text(&e, t, sizeof t);

	assert_int_equal(n, strlen(t));
	assert_string_equal(t, "seq +4000000000, 12 bytes, outside the window");
	assert_int_equal(tcp_event_text(&e, t, 4), 45); /* told whole, kept cut */
	assert_string_equal(t, "seq");
	for (int k = 0; k < TCP_EV_N; k++) {
		e.kind = (uint8_t)k;
		assert_true(tcp_event_text(&e, t, sizeof t) > 0 && *tcp_event_name((TcpEventKind)k));
		assert_null(strchr(t, '%'));
	}
}

/* ---- whole stacks ---- */

static TcpOpen open_to(uint32_t i)
{
	return (TcpOpen){ .src = ip4(0x0a000001), .dst = ip4(0x0a800000 + i), .sport = (uint16_t)(1024 + i % 60000), .dport = 80,
			  .mtu = 1500, .sack = true, .timestamps = true, .wscale = 7, .window = 65535 };
}

/* What s sends goes to t at once, and the other way round, until both are silent. */
static void talk(NetStack *s, NetStack *t, int64_t *now_ns)
{
	StackRx rx = { 0 };
	StackOut out;
	bool any = true;

	while (any) {
		any = false;
		for (int i = 0; i < 2; i++) {
			NetStack *from = i ? t : s, *to = i ? s : t;

			while (stack_pull(from, *now_ns, &out)) {
				static uint8_t copy[2000];

				memcpy(copy, out.packet.p, out.packet.n);
				stack_sent(from, out.tag, *now_ns);
				*now_ns += 1000;
				stack_input(to, *now_ns, BYTES(copy, out.packet.n), &rx);
				any = true;
			}
		}
	}
}

static void idle_connections_cost_little(void **state)
{
	enum { N = 10000 };
	Arena a[2];
	NetStack *s[2];
	int64_t now = SEC_NS;
	TcpOpen server = open_to(0);
	uint8_t hello[16];

	(void)state;
	for (int i = 0; i < 2; i++) {
		StackConfig cfg = { .seed = 5, .max_bytes = MEMORY / 2 };

		arena_init(&a[i], memory + i * (MEMORY / 2), MEMORY / 2, NULL);
		a[i].dirty = MEMORY / 2;
		s[i] = stack_new(&a[i], &cfg);
	}
	TcpListener *l = tcp_listen(s[1], (Ip){ 0 }, 80, N, &server);

	for (uint32_t i = 0; i < N; i++) {
		TcpOpen o = open_to(i);
		TcpConn *c = tcp_connect(s[0], now, &o);

		assert_non_null(c);
		tcp_send(c, now, BYTES("hello", 5));
		talk(s[0], s[1], &now);
		assert_int_equal(c->state, TCP_ESTABLISHED);
		assert_int_equal(tcp_recv(tcp_accept(l), now, hello, sizeof hello), 5);
		now += TCP_DELACK;
		stack_advance(s[1], now);
		talk(s[0], s[1], &now);
		assert_int_equal(tcp_unacked(c), 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(a[i].used < 20u * 1000 * 1000);
		assert_int_equal(s[i]->pool.used[POOL_PAGE], 0);
		assert_int_equal(s[i]->pool.used[POOL_128], 0);
		assert_int_equal(s[i]->pool.used[POOL_CONN], N);
		assert_true(stack_wake_ns(s[i]) == STACK_NEVER);
	}
}

static void the_end_of_memory_refuses(void **state)
{
	Arena a = arena(MEMORY);
	StackConfig cfg = { .seed = 5, .max_bytes = 100000 };
	NetStack *s = stack_new(&a, &cfg);
	uint32_t n = 0;
	TcpConn *first = NULL;

	(void)state;
	for (;; n++) {
		TcpOpen o = open_to(n);
		TcpConn *c = tcp_connect(s, SEC_NS, &o);

		if (!c)
			break;
		first = first ? first : c;
	}
	assert_in_range(n, 20, 60);
	assert_true(s->pool.refused > 0);
	assert_int_equal(first->state, TCP_SYN_SENT);
	tcp_release(first, SEC_NS); /* gives back what the next one needs */
	TcpOpen o = open_to(n);

	assert_non_null(tcp_connect(s, SEC_NS, &o));
}

/* The same calls make the same packets, and another seed makes others. */
static uint64_t run(uint64_t seed)
{
	Arena a = arena(MEMORY);
	StackConfig cfg = { .seed = seed };
	NetStack *s = stack_new(&a, &cfg);
	uint64_t hash = 0;
	StackOut out;

	for (uint32_t i = 0; i < 200; i++) {
		TcpOpen o = open_to(i);

		assert_non_null(tcp_connect(s, SEC_NS + i, &o));
	}
	for (int64_t now = SEC_NS; now < 20 * SEC_NS; now = stack_wake_ns(s)) {
		stack_advance(s, now);
		while (stack_pull(s, now, &out)) {
			hash = rng_mix(hash ^ bytes_hash(out.packet));
			stack_sent(s, out.tag, now);
		}
	}
	return hash;
}

static void runs_repeat(void **state)
{
	(void)state;
	assert_true(run(1) == run(1));
	assert_true(run(1) != run(2));
}

static void initial_numbers_lie_in_the_lower_quarter(void **state)
{
	Arena a = arena(MEMORY);
	StackConfig cfg = { .seed = 5 };
	NetStack *s = stack_new(&a, &cfg);
	uint32_t high = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		TcpOpen o = open_to(i);
		TcpConn *c = tcp_connect(s, SEC_NS, &o);

		assert_in_range(c->iss, 1, 1u << 30);
		high += c->iss > 1u << 29;
	}
	assert_in_range(high, 800, 1200);
}

static void logs_keep_the_last(void **state)
{
	Arena a = arena(MEMORY);
	StackConfig cfg = { .seed = 5 };
	NetStack *s = stack_new(&a, &cfg);
	TcpOpen o = open_to(1);
	TcpLogIter it = { 0 };
	TcpLogged seg;
	uint8_t packet[1500] = { 0x45 };
	uint32_t n = 0;

	(void)state;
	o.log = true;
	TcpConn *c = tcp_connect(s, SEC_NS, &o);

	for (int64_t i = 0; i < 5000; i++)
		tcp_log_seg(c, i, BYTES(packet, 1 + (size_t)i % 1500), LOG_OUT);
	while (tcp_log_next(c, &it, &seg)) {
		assert_int_equal(seg.ns, 5000 - TCP_LOG_SEGMENTS + n);
		assert_int_equal(seg.bytes, 1 + seg.ns % 1500);
		assert_int_equal(seg.packet.n, seg.bytes < TCP_LOG_PAYLOAD ? seg.bytes : TCP_LOG_PAYLOAD);
		n++;
	}
	assert_int_equal(n, TCP_LOG_SEGMENTS);
	assert_int_equal(tcp_log_left_out(c), 5000 - TCP_LOG_SEGMENTS);
	for (uint32_t i = 0; i < 9000; i++)
		tcp_event(c, i, TCP_EV_CSUM, i, 0);
	assert_int_equal(tcp_event_left_out(c), 9001 - TCP_LOG_EVENTS); /* and one of connecting */
	tcp_log_clear(c);
	assert_int_equal(s->pool.used[POOL_PAGE], 0);
}

static void round_trips_have_quantiles(void **state)
{
	TcpConn c = { 0 };

	(void)state;
	assert_int_equal(tcp_rtt_quantile(&c, 0.5), 0);
	for (int i = 1; i <= 100; i++)
		rtt_seen(&c, i * MS_NS);
	assert_in_range(tcp_rtt_quantile(&c, 0.5), 50 * MS_NS, 71 * MS_NS);
	assert_in_range(tcp_rtt_quantile(&c, 0.05), 5 * MS_NS, 8 * MS_NS);
	assert_int_equal(tcp_rtt_quantile(&c, 1), 100 * MS_NS);
	rtt_seen(&c, 3600 * SEC_NS); /* above all buckets */
	assert_int_equal(tcp_rtt_quantile(&c, 1), 3600 * SEC_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_has_an_end),
		cmocka_unit_test(pool_stops_before_the_arena_does),
		cmocka_unit_test(small_blocks_come_zeroed),
		cmocka_unit_test(timers_come_in_order),
		cmocka_unit_test(streams_hold_what_was_written),
		cmocka_unit_test(streams_end_with_the_memory),
		cmocka_unit_test(checksums_agree_with_wire),
		cmocka_unit_test(serial_numbers_wrap),
		cmocka_unit_test(events_have_texts),
		cmocka_unit_test(idle_connections_cost_little),
		cmocka_unit_test(the_end_of_memory_refuses),
		cmocka_unit_test(runs_repeat),
		cmocka_unit_test(initial_numbers_lie_in_the_lower_quarter),
		cmocka_unit_test(logs_keep_the_last),
		cmocka_unit_test(round_trips_have_quantiles),
	};

	memory = malloc(MEMORY);
	int bad = cmocka_run_group_tests(tests, NULL, NULL);

	free(memory);
	return bad;
}
