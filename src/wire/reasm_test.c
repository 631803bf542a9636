/* SPDX-License-Identifier: Apache-2.0
 *
 * Reassembly against the cutter: any order and any copies give the packet back; what
 * contradicts itself gives nothing, and is told once.
 */
#include "wire/reasm.h"
#include "wire/testing.h"

#include "base/rng.h"
#include "base/units.h"

static Reasm reasm;
static uint32_t told[REASM_EVENT_N];

static void tell(void *ctx, ReasmEvent e, const ReasmNote *n)
{
	(void)n;
	((uint32_t *)ctx)[e]++;
}

static size_t budget;

static void *give(void *ctx, size_t bytes)
{
	(void)ctx;
	if (bytes > budget)
		return NULL;
	budget -= bytes;
	return arena_alloc(&arena, bytes);
}

static void start(uint32_t per_source)
{
	memset(told, 0, sizeof told);
	budget = SIZE_MAX;
	reasm_init(&reasm,
		   &(ReasmConfig){ .packets = 8,
				   .per_source = per_source,
				   .expire_ns = 60 * NS_PER_S,
				   .keep_pieces = true,
				   .take = give,
				   .report = tell,
				   .ctx = told });
}

/* What a piece says of itself, read plainly: no extension headers but the fragment header. */
static ReasmPiece piece_of(Bytes b)
{
	bool v6 = b.p[0] >> 4 == 6;
	uint16_t word = get_be16(b.p + (v6 ? 42 : 6));

	return (ReasmPiece){ .src = ip_from(v6 ? 6 : 4, b.p + (v6 ? 8 : 12)),
			     .dst = ip_from(v6 ? 6 : 4, b.p + (v6 ? 24 : 16)),
			     .proto = v6 ? b.p[40] : b.p[9],
			     .ecn = v6 ? b.p[1] >> 4 & 3 : b.p[1] & 3,
			     .more = v6 ? word & 1 : word >> 13 & 1,
			     .id = v6 ? get_be32(b.p + 44) : get_be16(b.p + 4),
			     .off = v6 ? word & 0xfff8u : (word & 0x1fffu) * 8u,
			     .packet = b,
			     .body = bytes_slice(b, v6 ? 48 : 20, b.n) };
}

static bool take(Bytes b, int64_t at_ns, Reassembled *ret)
{
	ReasmPiece p = piece_of(b);

	return reasm_add(&reasm, &p, at_ns, ret);
}

static Bytes ip6_udp(size_t n)
{
	WirePacket *p = packet();
	WireLayer *ip = add(p, WIRE_IPV6), *udp = add(p, WIRE_UDP);

	wire_set_bytes(ip, (unsigned)wire_field(ip->proto, STR("src")), BYTES("\xfd\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16));
	wire_set_bytes(ip, (unsigned)wire_field(ip->proto, STR("dst")), BYTES("\xfd\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16));
	wire_set_num(udp, F_UDP_SPORT, 40000);
	wire_set_num(udp, F_UDP_DPORT, 33434);
	p->payload = BYTES(arena_alloc(&arena, n), n);
	for (size_t i = 0; i < n; i++)
		((uint8_t *)(uintptr_t)p->payload.p)[i] = (uint8_t)(i * 13);
	return built(p);
}

static void in_any_order(Bytes whole, uint32_t mtu, uint64_t seed)
{
	Bytes *piece;
	uint32_t n, left;
	Reassembled r = { 0 };

	assert_null(wire_fragment(whole, mtu, 77, &arena, &piece, &n));
	start(8);
	for (left = n; left;) {
		uint32_t i = (uint32_t)rng_below(rng_draw(seed, mtu, left), left);
		bool done = take(piece[i], 0, &r);

		assert_int_equal(done, left == 1);
		if (left > 1) /* its copy changes nothing; behind the last one it would begin anew */
			assert_false(take(piece[i], 0, &r));
		Bytes last = piece[--left];
		piece[left] = piece[i];
		piece[i] = last;
	}
	assert_true(bytes_eq(r.packet, whole));
	assert_int_equal(r.n, n);
	assert_int_equal(told[REASM_COPY], n - 1);
	for (uint32_t i = 0; i < n; i++) /* taken from the back, the last taken stands first */
		assert_true(bytes_eq(r.piece[i], piece[n - 1 - i]));
	reasm_expire(&reasm, 0, true);
	assert_int_equal(told[REASM_LOST], 0);
}

static void test_any_order_gives_the_packet_back(void **state)
{
	(void)state;
	for (size_t size = 1500; size < 6000; size += 371)
		for (uint32_t mtu = 576; mtu <= 1400; mtu += 103) {
			in_any_order(built(ip_udp(size)), mtu, size);
			if (mtu >= 1280)
				in_any_order(ip6_udp(size), mtu, size);
			fresh(NULL);
		}
}

/* Three pieces of one packet; what of them to give is the case's. */
static Bytes *three(void)
{
	Bytes *piece;
	uint32_t n;

	assert_null(wire_fragment(built(ip_udp(1400)), 576, 0, &arena, &piece, &n));
	assert_int_equal(n, 3);
	return piece;
}

static Bytes changed(Bytes b, size_t at, uint8_t value)
{
	uint8_t *p = arena_copy(&arena, b.p, b.n);

	p[at] = value;
	return BYTES(p, b.n);
}

static void given(Bytes a, Bytes b, Bytes c, Bytes d, ReasmEvent want)
{
	Reassembled r;
	uint32_t all = 0;

	assert_false(take(a, 0, &r));
	assert_false(take(b, 0, &r));
	assert_false(take(c, 0, &r));
	assert_false(take(d, 0, &r));
	for (int e = 0; e < REASM_EVENT_N; e++)
		all += told[e];
	assert_int_equal(told[want], 1);
	assert_int_equal(all, 1);
	assert_int_equal(reasm.count[want], 1);
	start(8);
}

static void test_what_contradicts_itself_gives_nothing(void **state)
{
	Bytes *p = three();
	ReasmPiece shifted;
	Reassembled r;

	(void)state;
	start(8);
	given(p[0], changed(p[0], 40, 0xee), p[1], p[2], REASM_INCONSISTENT);
	given(p[0], changed(p[1], 7, p[1].p[7] - 1), p[1], p[2], REASM_OVERLAP); /* starts 8 bytes too early */
	given(p[2], changed(p[2], 7, p[2].p[7] + 40), p[0], p[1], REASM_SIZE);   /* a second end */
	given(bytes_slice(p[0], 0, p[0].n - 3), p[0], p[1], p[2], REASM_SIZE);   /* not a multiple of 8 */
	given(changed(p[0], 1, 3), p[1], p[2], p[2], REASM_ECN);
	shifted = piece_of(p[1]);
	shifted.off = 65528;
	assert_false(reasm_add(&reasm, &shifted, 0, &r)); /* beyond what an IP packet can be */
	assert_int_equal(told[REASM_SIZE], 1);
}

static void test_one_ce_makes_the_whole_ce(void **state)
{
	Bytes *p = three();
	Reassembled r;

	(void)state;
	start(8);
	assert_false(take(changed(p[0], 1, 2), 0, &r));
	assert_false(take(changed(p[2], 1, 3), 0, &r));
	assert_true(take(changed(p[1], 1, 2), 0, &r));
	assert_int_equal(r.packet.p[1], 3);
	assert_int_equal(wire_csum_fold(wire_csum(0, bytes_slice(r.packet, 0, 20))), 0);
}

static void test_what_stays_incomplete_is_told_in_time(void **state)
{
	Bytes *p = three();
	Reassembled r;

	(void)state;
	start(8);
	assert_true(reasm_wake_ns(&reasm) == INT64_MAX);
	assert_false(take(p[0], 5, &r));
	assert_false(take(p[1], 9, &r));
	assert_true(reasm_wake_ns(&reasm) == 60 * NS_PER_S + 5); /* by the first piece */
	reasm_expire(&reasm, 60 * NS_PER_S + 4, false);
	assert_int_equal(told[REASM_LOST], 0);
	reasm_expire(&reasm, 60 * NS_PER_S + 5, false);
	assert_int_equal(told[REASM_LOST], 1);
	assert_true(reasm_wake_ns(&reasm) == INT64_MAX);
	assert_false(take(p[2], 60 * NS_PER_S + 6, &r)); /* too late */
}

/* 20 packets of one source never take more than its share; another source's stays whole. */
static void test_a_source_pushes_out_its_own(void **state)
{
	Bytes *p = three(), other = changed(p[0], 15, 99);
	Reassembled r;

	(void)state;
	start(2);
	assert_false(take(other, 0, &r));
	for (uint8_t id = 0; id < 20; id++)
		assert_false(take(changed(p[0], 5, id), 1 + id, &r));
	assert_int_equal(told[REASM_LOST], 18);
	assert_false(take(changed(p[1], 15, 99), 30, &r));
	assert_true(take(changed(p[2], 15, 99), 30, &r));
	assert_false(take(changed(p[1], 5, 19), 30, &r)); /* the newest of the many is there too */
	assert_true(take(changed(p[2], 5, 19), 30, &r));
}

static void test_no_memory_is_told(void **state)
{
	Bytes *p = three();
	Reassembled r;

	(void)state;
	start(8);
	budget = 100; /* not even the places */
	assert_false(take(p[0], 0, &r));
	budget = 40 << 10; /* places, but no packet */
	assert_false(take(p[0], 0, &r));
	assert_int_equal(told[REASM_NO_MEMORY], 2);
	assert_true(reasm_wake_ns(&reasm) == INT64_MAX);
	reasm_expire(&reasm, INT64_MAX, true);
	assert_int_equal(told[REASM_LOST], 0);
	budget = 200 << 10;
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(p[i], 0, &r), i == 2);
}

static void test_more_pieces_than_there_is_room(void **state)
{
	Bytes *piece;
	uint32_t n;
	Reassembled r;

	(void)state;
	start(8);
	assert_null(wire_fragment(built(ip_udp(6000)), 100, 0, &arena, &piece, &n));
	assert_true(n > REASM_PIECES);
	for (uint32_t i = 0; i < n; i++)
		assert_false(take(piece[i], 0, &r));
	assert_int_equal(told[REASM_SIZE], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_any_order_gives_the_packet_back, fresh),
		cmocka_unit_test_setup(test_what_contradicts_itself_gives_nothing, fresh),
		cmocka_unit_test_setup(test_one_ce_makes_the_whole_ce, fresh),
		cmocka_unit_test_setup(test_what_stays_incomplete_is_told_in_time, fresh),
		cmocka_unit_test_setup(test_a_source_pushes_out_its_own, fresh),
		cmocka_unit_test_setup(test_no_memory_is_told, fresh),
		cmocka_unit_test_setup(test_more_pieces_than_there_is_room, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
