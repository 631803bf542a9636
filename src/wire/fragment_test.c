/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting packets: pieces that fit, make up the packet and say so.
 */
#include "wire/testing.h"

/* Puts pieces together by their offsets and compares with the packet. */
static void check_pieces(Bytes packet_, const Bytes *piece, uint32_t n, uint32_t mtu, size_t head,
			 size_t piece_head)
{
	size_t at = 0;
	bool v6 = packet_.p[0] >> 4 == 6;

	for (uint32_t i = 0; i < n; i++) {
		size_t h = v6 ? piece_head : (piece[i].p[0] & 15u) * 4u;
		unsigned word = get_be16(piece[i].p + (v6 ? h - 6 : 6));
		size_t off = v6 ? word & 0xfff8u : (word & 0x1fffu) * 8u;

		assert_true(piece[i].n <= mtu);
		assert_int_equal(off, at);
		assert_int_equal(v6 ? word & 1 : word >> 13 & 1, i + 1 < n);
		assert_true(i + 1 == n || (piece[i].n - h) % 8 == 0);
		assert_true(i + 1 == n || piece[i].n + 8 > mtu); /* as few as can be */
		assert_memory_equal(piece[i].p + h, packet_.p + head + at, piece[i].n - h);
		if (!v6)
			assert_int_equal(wire_csum_fold(wire_csum(0, BYTES(piece[i].p, h))), 0);
		at += piece[i].n - h;
		WirePacket *p = parsed(piece[i], v6 ? WIRE_IPV6 : WIRE_IP);

		assert_int_equal(wire_find(p, WIRE_UDP) != NULL, i == 0);
	}
	assert_int_equal(at, packet_.n - head);
}

static void test_cutting_ipv4(void **state)
{
	static const uint8_t options[8] = { 0x94, 4, 0, 0, 7, 3, 4, 0 }; /* one that is copied, one not */
	Bytes *piece;
	uint32_t n;

	(void)state;
	for (size_t size = 560; size < 3000; size += 61) {
		for (unsigned mtu = 68; mtu <= 1500; mtu += 179) {
			Bytes f = built(ip_udp(size));

			assert_null(wire_fragment(f, mtu, 0, &arena, &piece, &n));
			if (n > 1)
				check_pieces(f, piece, n, mtu, 20, 20);
			fresh(NULL);
		}
	}
	WirePacket *p = ip_udp(3000);

	wire_set_bytes(&p->layer[0], F_IP_OPTIONS, BYTES(options, 8));
	assert_null(wire_fragment(built(p), 576, 0, &arena, &piece, &n));
	check_pieces(built(p), piece, n, 576, 28, 28);
	assert_int_equal(piece[0].p[0], 0x47);
	assert_int_equal(piece[1].p[0], 0x46); /* RFC 791: only the copied option */
	assert_int_equal(piece[1].p[20], 0x94);
	assert_null(wire_fragment(piece[1], 100, 0, &arena, &piece, &n)); /* cut again */
	assert_int_equal(get_be16(piece[0].p + 6) & 0x1fff, 68);
	assert_int_equal(get_be16(piece[n - 1].p + 6) >> 13, 1);
	wire_set_num(&p->layer[0], F_IP_FLAGS, 2);
	assert_string_equal(wire_fragment(built(p), 576, 0, &arena, &piece, &n), "DF is set");
	assert_null(wire_fragment(built(p), 4000, 0, &arena, &piece, &n));
	assert_int_equal(n, 1);
	assert_non_null(wire_fragment(built(p), 30, 0, &arena, &piece, &n));
	assert_non_null(wire_fragment(BYTES("\x45", 1), 576, 0, &arena, &piece, &n));
}

static void test_cutting_ipv6(void **state)
{
	Bytes *piece;
	uint32_t n;
	WirePacket *p = packet();

	(void)state;
	add(p, WIRE_IPV6);
	add(p, WIRE_HOPOPT);
	wire_set_num(add(p, WIRE_UDP), F_UDP_DPORT, 33434);
	p->payload = BYTES(arena_alloc(&arena, 5000), 5000);
	Bytes f = built(p);

	assert_null(wire_fragment(f, 1280, 77, &arena, &piece, &n));
	check_pieces(f, piece, n, 1280, 48, 56);
	assert_int_equal(piece[0].p[6], 0);   /* hop-by-hop options stay in front */
	assert_int_equal(piece[0].p[40], 44);
	assert_int_equal(get_be32(piece[n - 1].p + 52), 77);
	assert_non_null(wire_fragment(piece[0], 1279, 77, &arena, &piece, &n));
}

/* Piece by piece, as the gate sends them: the same, counted beforehand. */
static void test_cutting_one_by_one(void **state)
{
	static uint8_t room[1500];
	Bytes packet = built(ip_udp(4000)), *piece;
	uint64_t bytes = 0, sum = 0;
	uint32_t n, got = 0;
	WireCut c;

	(void)state;
	assert_null(wire_fragment(packet, 577, 0, &arena, &piece, &n));
	assert_null(wire_cut_init(&c, packet, 577, 0));
	assert_int_equal(wire_cut_count(&c, &bytes), n);
	for (Writer w = writer(room, 577); wire_cut_next(&c, &w); w = writer(room, 577)) {
		assert_true(got < n && bytes_eq(wr_done(&w), piece[got]));
		sum += w.n;
		got++;
	}
	assert_int_equal(got, n);
	assert_true(sum == bytes);
	assert_int_equal(wire_cut_count(&c, &bytes), 0);
	assert_null(wire_cut_init(&c, packet, 577, 0));
	assert_false(wire_cut_next(&c, &(Writer){ .p = room, .n = 0, .cap = 576 - 8 })); /* no room for it */
	assert_string_equal(wire_cut_init(&c, packet, 27, 0), "the MTU has no room for 8 bytes of data");
	assert_string_equal(wire_cut_init(&c, (Bytes){ 0 }, 1500, 0), "it is no IP packet");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cutting_ipv4, fresh),
		cmocka_unit_test_setup(test_cutting_ipv6, fresh),
		cmocka_unit_test_setup(test_cutting_one_by_one, fresh),
	};

	return cmocka_run_group_tests_name("wire fragment", tests, NULL, NULL);
}
