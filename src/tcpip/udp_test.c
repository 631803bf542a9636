/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagram sockets of two stacks, with a wire in between that the test may cut.
 */
#include "tcpip/ip.h"
#include "tcpip/pmtu.h"
#include "tcpip/udp.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MEMORY = 8 << 20, HERE = 5000, THERE = 53, PACKETS = 128 };

static uint8_t memory[2][MEMORY];
static Arena arena[2];
static NetStack *stack[2];
static DgramSocket *sock[2];
static int64_t now;
static const StackRx rx = { .mtu = 1500 };

/* What side i wants to send, kept. */
static uint8_t bytes[PACKETS][2048];
static Bytes packet[PACKETS];

static Ip address(uint8_t v, unsigned i)
{
	return v == 4 ? ip4(0x0a000001 + i) : ip_from(6, (const uint8_t[16]){ 0xfd, [15] = (uint8_t)(i + 1) });
}

static void start(uint8_t v, uint32_t mtu, bool df)
{
	for (unsigned i = 0; i < 2; i++) {
		arena_init(&arena[i], memory[i], MEMORY, NULL);
		stack[i] = stack_new(&arena[i], &(StackConfig){ .seed = i, .max_bytes = MEMORY / 2 });
		sock[i] = dgram_open(stack[i], now,
				     &(DgramOpen){ .src = address(v, i),
						   .dst = address(v, 1 - i),
						   .sport = i ? THERE : HERE,
						   .dport = i ? HERE : THERE,
						   .mtu = mtu,
						   .ttl = (uint8_t)(60 + i),
						   .tos = 0xb8,
						   .df = df });
		assert_non_null(sock[i]);
	}
}

static uint32_t pull_all(unsigned i)
{
	StackOut out;
	uint32_t n = 0;

	while (stack_pull(stack[i], now, &out)) {
		assert_true(n < PACKETS && out.packet.n <= 1500);
		assert_int_equal(out.conn, sock[i]->ep.id);
		memcpy(bytes[n], out.packet.p, out.packet.n);
		packet[n] = BYTES(bytes[n], out.packet.n);
		n++;
		stack_sent(stack[i], out.tag, ++now);
	}
	return n;
}

static Bytes text(size_t n)
{
	static uint8_t t[65536];

	for (size_t i = 0; i < n; i++)
		t[i] = (uint8_t)(i * 31 >> 3);
	return BYTES(t, n);
}

static void received(unsigned i, Bytes want, bool fragmented)
{
	static uint8_t buf[65536];
	DgramIn in;

	assert_true(dgram_recv(sock[i], buf, sizeof buf, &in));
	assert_int_equal(in.bytes, want.n);
	assert_memory_equal(buf, want.p, want.n);
	assert_int_equal(in.fragmented, fragmented);
	assert_int_equal(in.ttl, 60 + 1 - i);
	assert_int_equal(in.tos, 0xb8);
	assert_int_equal(in.rx_ns, now);
}

static void one_size(uint8_t v, size_t n)
{
	size_t header = v == 4 ? 28 : 48;
	bool cut = n + header > 1500;

	start(v, 1500, false);
	assert_int_equal(dgram_send(sock[0], text(n)), DGRAM_QUEUED);
	uint32_t k = pull_all(0);
	assert_int_equal(k > 1, cut);
	for (uint32_t i = k; i-- > 0;) /* the last piece first */
		assert_int_equal(stack_input(stack[1], now, packet[i], &rx), i && cut ? STACK_NOT_OURS : STACK_TAKEN);
	received(1, text(n), cut);
	assert_int_equal(sock[0]->count.sent, 1);
	assert_int_equal(sock[0]->count.sent_bytes, n);
	assert_int_equal(sock[0]->count.fragments, cut ? k : 0);
	assert_int_equal(sock[1]->count.received_fragmented, cut);
	assert_false(stack_has_output(stack[0]) && pull_all(0));
}

static void test_all_sizes_arrive(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 495, 496, 497, 1452, 1453, 1472, 1473, 4000, 4080, 4088, 9000, 65507 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		one_size(4, sizes[i]);
		one_size(6, sizes[i]);
	}
}

static void test_what_is_too_long_is_refused(void **state)
{
	(void)state;
	start(4, 1500, true);
	assert_int_equal(dgram_send(sock[0], text(1473)), DGRAM_TOO_LONG);
	assert_int_equal(dgram_send(sock[0], text(1472)), DGRAM_QUEUED);
	assert_int_equal(pull_all(0), 1);
	assert_int_equal(packet[0].p[6], 0x40);
	start(4, 1500, false);
	assert_int_equal(dgram_send(sock[0], BYTES(memory, 65508)), DGRAM_TOO_LONG);
	start(6, 1500, false);
	assert_int_equal(dgram_send(sock[0], BYTES(memory, 65528)), DGRAM_TOO_LONG);
}

static void test_queues_are_bounded(void **state)
{
	(void)state;
	start(4, 1500, false);
	for (uint32_t i = 0; i < LIMIT_DGRAM_QUEUE; i++)
		assert_int_equal(dgram_send(sock[0], text(10)), DGRAM_QUEUED);
	assert_int_equal(dgram_send(sock[0], text(10)), DGRAM_FULL);
	start(4, 1500, false);
	for (uint32_t i = 0; i < LIMIT_DGRAM_BYTES / 60000; i++)
		assert_int_equal(dgram_send(sock[0], text(60000 - 8)), DGRAM_QUEUED);
	assert_int_equal(dgram_send(sock[0], text(60000)), DGRAM_FULL);
	/* and what nobody reads is dropped, counted, and no longer kept */
	start(4, 1500, false);
	assert_int_equal(dgram_send(sock[0], text(10)), DGRAM_QUEUED);
	assert_int_equal(pull_all(0), 1);
	for (uint32_t i = 0; i < LIMIT_DGRAM_QUEUE + 3; i++)
		assert_int_equal(stack_input(stack[1], now, packet[0], &rx), STACK_TAKEN);
	assert_int_equal(sock[1]->count.received, LIMIT_DGRAM_QUEUE + 3);
	assert_int_equal(sock[1]->count.dropped, 3);
}

static void test_memory_comes_back(void **state)
{
	static uint8_t buf[65536];
	uint32_t used[POOL_N];
	DgramIn in;

	(void)state;
	start(4, 1500, false);
	memcpy(used, stack[1]->pool.used, sizeof used);
	for (int round = 0; round < 200; round++) {
		for (size_t n = 10; n < 60000; n = n * 3 + 1) {
			assert_int_equal(dgram_send(sock[0], text(n)), DGRAM_QUEUED);
			for (uint32_t i = 0, k = pull_all(0); i < k; i++)
				stack_input(stack[1], now, packet[i], &rx);
			if (n & 1)
				assert_true(dgram_recv(sock[1], buf, sizeof buf, &in));
		}
		while (dgram_recv(sock[1], buf, sizeof buf, &in))
			;
	}
	assert_memory_equal(used, stack[1]->pool.used, sizeof used);
	for (uint32_t i = 0; i < 5; i++)
		dgram_send(sock[0], text(5000));
	dgram_close(sock[0]);
	for (int i = 0; i < POOL_N; i++)
		assert_int_equal(stack[0]->pool.used[i], 0);
	assert_int_equal(pull_all(0), 0);
}

static void damaged(size_t at, uint8_t mask, StackVerdict want)
{
	start(4, 1500, false);
	dgram_send(sock[0], text(100));
	assert_int_equal(pull_all(0), 1);
	bytes[0][at] ^= mask;
	assert_int_equal(stack_input(stack[1], now, packet[0], &rx), want);
	assert_int_equal(sock[1]->count.received, 0);
}

static void test_what_is_damaged_or_somebody_elses_is_not_received(void **state)
{
	(void)state;
	damaged(50, 1, STACK_TAKEN);
	assert_int_equal(sock[1]->count.csum_errors, 1);
	damaged(24, 0x80, STACK_TAKEN); /* a length beyond the packet */
	assert_int_equal(sock[1]->count.malformed, 1);
	damaged(20, 1, STACK_NOT_OURS); /* another port */
	damaged(23, 1, STACK_NOT_OURS);
	damaged(12, 1, STACK_NOT_OURS); /* the IP header's checksum */
	/* without a checksum: IPv4's may say so, IPv6's may not */
	start(4, 1500, false);
	dgram_send(sock[0], text(100));
	pull_all(0);
	put_be16(bytes[0] + 26, 0);
	assert_int_equal(stack_input(stack[1], now, packet[0], &rx), STACK_TAKEN);
	assert_int_equal(sock[1]->count.received, 1);
	start(6, 1500, false);
	dgram_send(sock[0], text(100));
	pull_all(0);
	put_be16(bytes[0] + 46, 0);
	assert_int_equal(stack_input(stack[1], now, packet[0], &rx), STACK_TAKEN);
	assert_int_equal(sock[1]->count.csum_errors, 1);
}

static void test_one_socket_a_tuple(void **state)
{
	DgramOpen o = { .src = address(4, 0), .dst = address(4, 1), .sport = HERE, .dport = THERE, .mtu = 1500 };

	(void)state;
	start(4, 1500, false);
	assert_null(dgram_open(stack[0], now, &o));
	dgram_close(sock[0]);
	assert_non_null(dgram_open(stack[0], now, &o));
}

/* What a router says about packet[0] of side 0. */
static StackVerdict router_says(uint8_t type, uint8_t code, uint16_t mtu)
{
	uint8_t b[128];
	bool v6 = sock[0]->src.v == 6;
	IpPacket ip = { .src = v6 ? address(6, 8) : ip4(0x0a000009),
			.dst = sock[0]->src,
			.proto = v6 ? IP_PROTO_ICMPV6 : IP_PROTO_ICMP,
			.ttl = 60 };
	size_t quote = v6 ? 48 : 28, hdr = ip_packet_write(&ip, 8 + quote, b);
	uint8_t *m = b + hdr;

	memset(m, 0, 8);
	m[0] = type;
	m[1] = code;
	put_be16(m + 6, mtu);
	memcpy(m + 8, packet[0].p, quote);
	uint16_t sum = ip_csum_done(ip_csum_add(v6 ? ip_pseudo_sum(&ip, 8 + quote) : 0, BYTES(m, 8 + quote)));

	memcpy(m + 2, &sum, 2);
	return stack_input(stack[0], ++now, BYTES(b, hdr + 8 + quote), &rx);
}

static void test_errors_are_shown(void **state)
{
	(void)state;
	start(4, 1500, false);
	dgram_send(sock[0], text(100));
	pull_all(0);
	assert_int_equal(router_says(3, 3, 0), STACK_TAKEN);
	assert_int_equal(sock[0]->error.icmp, 0x0303);
	assert_int_equal(sock[0]->error.ns, now);
	assert_true(ip_eq(sock[0]->error.reporter, ip4(0x0a000009)));
	assert_int_equal(dgram_send(sock[0], text(100)), DGRAM_QUEUED); /* shown, not obeyed */
	assert_int_equal(pull_all(0), 1);
	packet[0] = BYTES(bytes[0], packet[0].n);
	bytes[0][21] ^= 1; /* of another port: not ours */
	assert_int_equal(router_says(3, 3, 0), STACK_NOT_OURS);
	assert_int_equal(sock[0]->count.icmp, 1);
}

static void test_a_path_mtu_is_followed_and_remembered(void **state)
{
	(void)state;
	start(4, 1500, false);
	dgram_send(sock[0], text(1400));
	assert_int_equal(pull_all(0), 1);
	router_says(3, 4, 1000);
	assert_int_equal(sock[0]->mtu, 1000);
	assert_int_equal(ip_path_mtu(stack[0], address(4, 1), now), 1000);
	dgram_send(sock[0], text(1400));
	assert_int_equal(pull_all(0), 2);
	router_says(3, 4, 1200); /* never larger */
	assert_int_equal(sock[0]->mtu, 1000);
	router_says(3, 4, 10);
	assert_int_equal(sock[0]->mtu, PMTU_LEAST_V4);
	start(6, 1500, false);
	dgram_send(sock[0], text(1400));
	assert_int_equal(pull_all(0), 1);
	router_says(2, 0, 1000); /* RFC 8201 4 */
	assert_int_equal(sock[0]->mtu, 1500);
	router_says(2, 0, 1280);
	assert_int_equal(sock[0]->mtu, 1280);
}

/* A piece that stays alone is given up, and the stack says when it must be called for that. */
static void test_pieces_time_out(void **state)
{
	(void)state;
	start(4, 1500, false);
	assert_true(stack_wake_ns(stack[1]) == STACK_NEVER);
	dgram_send(sock[0], text(2000));
	assert_int_equal(pull_all(0), 2);
	int64_t at = now;

	stack_input(stack[1], at, packet[0], &rx);
	assert_true(stack_wake_ns(stack[1]) == at + INT64_C(60000000000));
	stack_advance(stack[1], at + INT64_C(60000000000));
	assert_true(stack_wake_ns(stack[1]) == STACK_NEVER);
	stack_input(stack[1], at + INT64_C(60000000001), packet[1], &rx);
	assert_int_equal(sock[1]->count.received, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sizes_arrive),
		cmocka_unit_test(test_what_is_too_long_is_refused),
		cmocka_unit_test(test_queues_are_bounded),
		cmocka_unit_test(test_memory_comes_back),
		cmocka_unit_test(test_what_is_damaged_or_somebody_elses_is_not_received),
		cmocka_unit_test(test_one_socket_a_tuple),
		cmocka_unit_test(test_errors_are_shown),
		cmocka_unit_test(test_a_path_mtu_is_followed_and_remembered),
		cmocka_unit_test(test_pieces_time_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
