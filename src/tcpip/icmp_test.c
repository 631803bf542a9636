/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ICMP errors are read, and what is read of them.
 */
#include "tcpip/ip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SPORT = 40000, DPORT = 443, SEQ = 0x01020304 };

static const uint8_t us6[16] = { 0xfd, [15] = 1 }, peer6[16] = { 0xfd, [15] = 2 }, router6[16] = { 0xfd, [15] = 9 };

typedef struct Case {
	uint8_t v, type, code, proto;
	uint32_t rest; /* bytes 4..7 of the error */
	uint16_t frag; /* IPv4: flags and offset of the quote */
	bool extension; /* IPv6: a hop-by-hop and a fragment header in the quote */
	uint16_t frag6;
	size_t l4;     /* bytes of the transport header quoted */
	bool stranger; /* the quote is of a packet that somebody else sent */
	bool damaged;
} Case;

static uint8_t bytes[256];

static void put_l4(Writer *w, size_t n)
{
	uint8_t l4[20] = { 0 };

	put_be16(l4, SPORT);
	put_be16(l4 + 2, DPORT);
	put_be32(l4 + 4, SEQ);
	wr_bytes(w, BYTES(l4, n));
}

static void put_quote(Writer *w, const Case *c)
{
	if (c->v == 4) {
		wr_be32(w, 0x45000000 | 1500);
		wr_be16(w, 7);
		wr_be16(w, c->frag);
		wr_be32(w, (uint32_t)1 << 24 | (uint32_t)c->proto << 16 | 0xbad0); /* ttl 1, a checksum nobody reads */
		wr_be32(w, c->stranger ? 0x0a000007 : 0x0a000001);
		wr_be32(w, 0x0a000002);
		return;
	}
	wr_be32(w, 0x60000000);
	wr_be16(w, 1460);
	wr_be16(w, (uint16_t)((c->extension ? 0 : c->proto) << 8 | 1));
	wr_bytes(w, BYTES(c->stranger ? router6 : us6, 16));
	wr_bytes(w, BYTES(peer6, 16));
	if (c->extension) {
		wr_be32(w, 44u << 24);
		wr_be32(w, 0);
		wr_be32(w, (uint32_t)c->proto << 24 | c->frag6);
		wr_be32(w, 99);
	}
}

static bool read_case(const Case *c, IcmpError *ret_e, uint8_t *ret_proto)
{
	IpPacket ip = { .src = c->v == 4 ? ip4(0x0a000009) : ip_from(6, router6),
			.dst = c->v == 4 ? ip4(0x0a000001) : ip_from(6, us6),
			.proto = c->v == 4 ? IP_PROTO_ICMP : IP_PROTO_ICMPV6,
			.ttl = 60 };
	uint8_t body[160];
	Writer w = writer(body, sizeof body);

	wr_u8(&w, c->type);
	wr_u8(&w, c->code);
	wr_be16(&w, 0);
	wr_be32(&w, c->rest);
	put_quote(&w, c);
	put_l4(&w, c->l4);
	uint16_t sum = ip_csum_done(ip_csum_add(c->v == 6 ? ip_pseudo_sum(&ip, w.n) : 0, wr_done(&w)));

	memcpy(body + 2, &sum, 2);
	if (c->damaged)
		body[5] ^= 1;
	size_t hdr = ip_packet_write(&ip, w.n, bytes);

	memcpy(bytes + hdr, body, w.n);
	assert_true(ip_packet_read(BYTES(bytes, hdr + w.n), &ip));
	return icmp_error_read(&ip, false, ret_e, ret_proto);
}

static void test_classes(void **state)
{
	static const struct {
		uint8_t v, type, code;
		int klass; /* -1: not read */
	} t[] = {
		{ 4, 3, 0, ICMP_SOFT },	   { 4, 3, 1, ICMP_SOFT },  { 4, 3, 2, ICMP_HARD },  { 4, 3, 3, ICMP_HARD },
		{ 4, 3, 4, ICMP_TOO_BIG }, { 4, 3, 5, ICMP_SOFT },  { 4, 3, 6, ICMP_SOFT },  { 4, 3, 9, ICMP_HARD },
		{ 4, 3, 10, ICMP_HARD },   { 4, 3, 11, ICMP_SOFT }, { 4, 3, 13, ICMP_HARD }, { 4, 11, 0, ICMP_SOFT },
		{ 4, 12, 0, ICMP_SOFT },   { 6, 1, 0, ICMP_SOFT },  { 6, 1, 1, ICMP_HARD },  { 6, 1, 3, ICMP_SOFT },
		{ 6, 1, 4, ICMP_HARD },	   { 6, 1, 5, ICMP_HARD },  { 6, 1, 6, ICMP_HARD },  { 6, 2, 0, ICMP_TOO_BIG },
		{ 6, 3, 0, ICMP_SOFT },	   { 6, 4, 1, ICMP_SOFT },
		{ 4, 4, 0, -1 }, /* RFC 6633: source quench */
		{ 4, 5, 1, -1 },	   { 4, 0, 0, -1 },	    { 4, 8, 0, -1 },	     { 6, 128, 0, -1 },
		{ 6, 137, 0, -1 },	   { 6, 11, 0, -1 }, /* IPv4's numbers are not IPv6's */
	};
	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		Case c = { .v = t[i].v, .type = t[i].type, .code = t[i].code, .proto = IP_PROTO_TCP, .l4 = 8 };
		IcmpError e;
		uint8_t proto;

		assert_int_equal(read_case(&c, &e, &proto), t[i].klass >= 0);
		if (t[i].klass >= 0)
			assert_int_equal(e.klass, t[i].klass);
	}
}

static void test_what_is_read(void **state)
{
	Case four = { .v = 4, .type = 3, .code = 4, .proto = IP_PROTO_UDP, .rest = 1400, .l4 = 8 };
	Case six = { .v = 6, .type = 2, .proto = IP_PROTO_TCP, .rest = 0x10500, .l4 = 20, .extension = true, .frag6 = 1 };
	IcmpError e;
	uint8_t proto;

	(void)state;
	assert_true(read_case(&four, &e, &proto));
	assert_int_equal(proto, IP_PROTO_UDP);
	assert_int_equal(e.mtu, 1400);
	assert_int_equal(e.quoted_len, 1500);
	assert_int_equal(e.sport, SPORT);
	assert_int_equal(e.dport, DPORT);
	assert_int_equal(e.seq, SEQ);
	assert_true(ip_eq(e.reporter, ip4(0x0a000009)) && ip_eq(e.src, ip4(0x0a000001)) && ip_eq(e.dst, ip4(0x0a000002)));
	assert_true(read_case(&six, &e, &proto));
	assert_int_equal(proto, IP_PROTO_TCP);
	assert_int_equal(e.mtu, 0x10500);
	assert_int_equal(e.quoted_len, 1500);
	assert_int_equal(e.sport, SPORT);
	assert_int_equal(e.seq, SEQ);
	assert_true(ip_eq(e.dst, ip_from(6, peer6)));
}

static void test_what_is_not(void **state)
{
	static const Case t[] = {
		{ .v = 4, .type = 3, .proto = 6, .l4 = 7 },		     /* cut before the sequence number */
		{ .v = 4, .type = 3, .proto = 6, .l4 = 0 },
		{ .v = 4, .type = 3, .proto = 6, .l4 = 8, .frag = 0x0001 },  /* a later fragment has no ports */
		{ .v = 4, .type = 3, .proto = 6, .l4 = 8, .stranger = true },
		{ .v = 4, .type = 3, .proto = 6, .l4 = 8, .damaged = true },
		{ .v = 6, .type = 1, .proto = 6, .l4 = 7 },
		{ .v = 6, .type = 1, .proto = 6, .l4 = 8, .extension = true, .frag6 = 8 },
		{ .v = 6, .type = 1, .proto = 6, .l4 = 8, .stranger = true },
		{ .v = 6, .type = 1, .proto = 6, .l4 = 8, .damaged = true },
	};
	Case first = { .v = 4, .type = 3, .proto = 6, .l4 = 8, .frag = 0x2000 }; /* a first one has */
	IcmpError e;
	uint8_t proto;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		assert_false(read_case(&t[i], &e, &proto));
	assert_true(read_case(&first, &e, &proto));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_what_is_read),
		cmocka_unit_test(test_what_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
