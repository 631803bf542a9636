/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated network, seen through its port.
 */
#include "port/fake.h"
#include "base/limits.h"
#include "base/units.h"
#include "wire/fields.h"
#include "wire/test_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ME = 0x0a000001, PEER = 0x0a140304, GW = 0x0a0000fe, NEAR = 0x0a000002 };

static const char network[] = "# a chain of three routers\n"
			      "iface eth0 10.0.0.1/24 mac 02:00:00:00:00:01 mtu 1500\n"
			      "gateway 10.0.0.254\n"
			      "resolver 10.0.0.53\n"
			      "pin www.acme.corp 10.20.3.4\n"
			      "hop 10.0.0.254 delay 1ms\n"
			      "hop 10.1.0.1 delay 2ms nat 192.0.2.1 tos 0\n"
			      "hop 10.2.0.1 delay 2ms quote 200 mtu 1400\n"
			      "host 10.20.3.4 via 10.0.0.254 10.1.0.1 10.2.0.1 delay 1ms tcp 80 udp 7\n"
			      "host 10.0.0.2 mac 02:00:00:00:00:22 mac2 02:00:00:00:00:33 delay 500us\n"
			      "host 10.0.0.53 dns www.acme.corp=10.20.3.4\n";

static Arena arena;
static Fake *f;

static void open_network(const char *text, uint64_t seed)
{
	Str error;

	f = fake_new(&arena, seed);
	if (!fake_config(f, str_c(text), &error))
		print_message("bad line: %.*s\n", STR_ARG(error));
	assert_true(fake_config(f, STR(""), &error));
}

static int setup(void **state)
{
	static uint8_t *memory;

	(void)state;
	if (!memory)
		memory = malloc(64 << 20);
	arena_init(&arena, memory, 64 << 20, NULL);
	open_network(network, 1);
	return 0;
}

static Msg next(void)
{
	Msg m;

	assert_true(fake_port(f)->wait(fake_port(f), &m));
	return m;
}

static Msg until(MsgType t)
{
	for (;;) {
		Msg m = next();

		if (m.type == t)
			return m;
	}
}

static void emit(EmitKind kind, Bytes data, int64_t not_before)
{
	fake_port(f)->emit(fake_port(f),
			   &(Msg){ .type = MSG_EMIT,
				   .emit = { 1, 0, (uint8_t)kind, PURPOSE_PROBE, 0, not_before, data } });
}

static WirePacket frame(Msg m)
{
	WirePacket p;

	assert_int_equal(m.type, MSG_FRAME);
	wire_parse(m.frame.data, (WireId)m.frame.first, &arena, &p);
	assert_null(p.reason);
	return p;
}

static Bytes ping(uint32_t dst, uint8_t ttl, size_t size, bool df)
{
	static const uint8_t zeros[2000];

	return tp_ip4((TpIp){ .src = ME,
			      .dst = dst,
			      .proto = 1,
			      .id = 7,
			      .ttl = ttl,
			      .tos = 40,
			      .frag = df ? 0x4000 : 0 },
		      tp_icmp(8, 0, 0x00010002, BYTES(zeros, size)));
}

static void rows_come_before_go(void **state)
{
	(void)state;
	assert_int_equal(until(MSG_PIN).pin.addr.b[3], 4);
	assert_int_equal(until(MSG_IFACE).iface.mtu, 1500);
	assert_int_equal(until(MSG_ADDR).addr.bits, 24);
	assert_true(ip_eq(until(MSG_RESOLVER).resolver.addr, ip4(0x0a000035)));
	assert_int_equal(until(MSG_GO).go.seed, 1);
}

static void echo_takes_the_way_there_and_back(void **state)
{
	(void)state;
	until(MSG_GO);
	emit(EMIT_IP4, ping(PEER, 64, 56, false), 5 * NS_PER_MS);
	Msg m = next();
	assert_int_equal(m.type, MSG_SENT);
	assert_int_equal(m.sent.tx_ns, 5 * NS_PER_MS);
	m = next();
	assert_int_equal(m.frame.rx_ns, 5 * NS_PER_MS + 12 * NS_PER_MS + 20000);
	WirePacket p = frame(m);
	assert_int_equal(wire_num(wire_find(&p, WIRE_ICMP), F_ICMP_TYPE), 0);
	assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_TTL), 61);
	assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_DST), ME);
	assert_int_equal(wire_check(&p, 2), CSUM_GOOD);
}

static void routers_complain_with_their_quotes(void **state)
{
	WirePacket p, q;

	(void)state;
	until(MSG_GO);
	emit(EMIT_IP4, ping(PEER, 1, 56, false), 0);
	p = frame((until(MSG_SENT), next()));
	assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_SRC), GW);
	assert_true(wire_quoted(&p, &arena, &q));
	assert_int_equal(wire_num(wire_find(&q, WIRE_IP), F_IP_TOS), 40);
	emit(EMIT_IP4, ping(PEER, 3, 56, false), 0); /* behind the NAT, which bleaches too */
	p = frame((until(MSG_SENT), next()));
	assert_true(wire_quoted(&p, &arena, &q));
	assert_int_equal(wire_num(wire_find(&q, WIRE_IP), F_IP_SRC), 0xc0000201);
	assert_int_equal(wire_num(wire_find(&q, WIRE_IP), F_IP_TOS), 0);
	assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_DST), ME);
}

static void steps_of_the_mtu(void **state)
{
	(void)state;
	until(MSG_GO);
	emit(EMIT_IP4, ping(PEER, 64, 1472, true), 0);
	WirePacket p = frame((until(MSG_SENT), next()));
	assert_int_equal(wire_num(wire_find(&p, WIRE_ICMP), F_ICMP_TYPE), 3);
	assert_int_equal(wire_num(wire_find(&p, WIRE_ICMP), F_ICMP_NEXTHOPMTU), 1400);
	emit(EMIT_IP4, ping(PEER, 64, 1372, true), 0);
	p = frame((until(MSG_SENT), next()));
	assert_int_equal(wire_num(wire_find(&p, WIRE_ICMP), F_ICMP_TYPE), 0);
	emit(EMIT_IP4, ping(PEER, 64, 1600, true), 0);
	assert_int_equal(next().notsent.reason, NOTSENT_TOO_LONG);
}

static uint8_t tcp_flags(uint16_t port, uint8_t flags, uint32_t ack)
{
	emit(EMIT_IP4,
	     tp_ip4((TpIp){ .src = ME, .dst = PEER, .proto = 6, .id = 3 },
		    tp_tcp((TpTcp){ 5000, port, 77, ack, flags, 1000 }, (Bytes){ 0 })),
	     0);
	WirePacket p = frame((until(MSG_SENT), next()));
	const WireLayer *l = wire_find(&p, WIRE_TCP);
	assert_int_equal(wire_num(l, F_TCP_DPORT), 5000);
	return (uint8_t)wire_num(l, F_TCP_FLAGS);
}

static void tcp_ports(void **state)
{
	(void)state;
	until(MSG_GO);
	assert_int_equal(tcp_flags(80, 2, 0), 0x12);
	assert_int_equal(fake_count(f).half_open, 1);
	assert_int_equal(tcp_flags(81, 2, 0), 0x14);
	assert_int_equal(tcp_flags(81, 16, 9), 0x04);
	emit(EMIT_IP4,
	     tp_ip4((TpIp){ .src = ME, .dst = PEER, .proto = 6, .id = 3 },
		    tp_tcp((TpTcp){ 5000, 80, 78, 0, 4, 0 }, (Bytes){ 0 })),
	     0);
	assert_int_equal(fake_count(f).half_open, 0);
	assert_int_equal(fake_count(f).rst_seen, 1);
}

static void udp_and_dns(void **state)
{
	(void)state;
	until(MSG_GO);
	emit(EMIT_IP4,
	     tp_ip4((TpIp){ .src = ME, .dst = PEER, .proto = 17, .id = 1 }, tp_udp(5000, 7, TP_TEXT("hi"))),
	     0);
	WirePacket p = frame((until(MSG_SENT), next()));
	assert_true(bytes_eq(p.payload, TP_TEXT("hi")));
	emit(EMIT_IP4,
	     tp_ip4((TpIp){ .src = ME, .dst = PEER, .proto = 17, .id = 1 }, tp_udp(5000, 8, TP_TEXT("hi"))),
	     0);
	p = frame((until(MSG_SENT), next()));
	assert_int_equal(wire_num(wire_find(&p, WIRE_ICMP), F_ICMP_CODE), 3);
	emit(EMIT_IP4,
	     tp_ip4((TpIp){ .src = ME, .dst = 0x0a000035, .proto = 17, .id = 1 },
		    tp_udp(5000, 53, tp_dns(9, 0x0100, "www.acme.corp"))),
	     0);
	p = frame((until(MSG_SENT), next()));
	const WireLayer *dns = wire_find(&p, WIRE_DNS);
	assert_non_null(dns);
	assert_int_equal(wire_num(dns, F_DNS_ANCOUNT), 1);
	assert_int_equal(wire_num(dns, F_DNS_RCODE), 0);
}

static void count_sent(void *ctx, Ip peer, Bytes packet)
{
	uint32_t *n = ctx;

	*n += peer.b[3] == 66 && packet.p[0] >> 4 == 4;
}

static void manners_of_a_host(void **state)
{
	uint32_t n = 0;

	(void)state;
	open_network("host 10.0.0.66 udp 7 say 0aff ttl 9 tos 8 id 77 mask 5 late 4 copies 1\n", 1);
	fake_watch(f, count_sent, &n);
	until(MSG_GO);
	for (unsigned i = 0; i < 3; i++)
		emit(EMIT_IP4,
		     tp_ip4((TpIp){ .src = ME, .dst = 0x0a000042, .proto = 17, .ttl = 64 },
			    tp_udp(5000, 7, TP_TEXT("hi"))),
		     0);
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < 4; i++) { /* requests 0 and 2, twice each; 2 is late */
		Msg m = until(MSG_FRAME);
		WirePacket p = frame(m);

		assert_true(bytes_eq(p.payload, TP_TEXT("\x0a\xff")));
		assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_TTL), 9);
		assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_TOS), 8);
		assert_int_equal(wire_num(wire_find(&p, WIRE_IP), F_IP_ID), 77);
		assert_int_equal(m.frame.rx_ns >= 20 * NS_PER_MS, i > 1);
	}
	assert_int_equal(fake_count(f).frames, 4);
}

static void refused_frames_end_the_run(void **state)
{
	(void)state;
	until(MSG_GO);
	for (unsigned i = 0; i < LIMIT_REFUSED; i++)
		emit(EMIT_IP4, TP_TEXT("no packet"), 0);
	assert_int_equal(until(MSG_STOP).stop.reason, STOP_REFUSED);
}

static void arp_by_two(void **state)
{
	uint8_t request[42] = { 255, 255, 255, 255, 255, 255, 2, 0,  0, 0, 0, 1, 8, 6, 0, 1, 8, 0,  6, 4, 0,
				1,   2,	  0,   0,   0,	 0,   1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2 };

	(void)state;
	until(MSG_GO);
	emit(EMIT_ETHER, BYTES(request, sizeof request), 0);
	WirePacket p = frame((until(MSG_SENT), next()));
	assert_int_equal(wire_num(wire_find(&p, WIRE_ARP), F_ARP_HWSRC), 0x020000000022);
	p = frame(next());
	assert_int_equal(wire_num(wire_find(&p, WIRE_ARP), F_ARP_HWSRC), 0x020000000033);
	assert_int_equal(wire_num(wire_find(&p, WIRE_ARP), F_ARP_PDST), ME);
}

static void nobody_on_the_link(void **state)
{
	(void)state;
	until(MSG_GO);
	emit(EMIT_IP4, ping(0x0a000063, 64, 1, false), 0);
	assert_int_equal(next().notsent.reason, NOTSENT_NO_NEIGHBOUR);
}

/* 200 pings over a bad line: what arrived, when, in which order. */
static uint64_t bad_line(uint64_t seed)
{
	open_network("iface eth0 10.0.0.1/24\n"
		     "host 10.0.0.2 delay 5ms jitter 2ms loss 0.1 dup 0.1 reorder 0.1 corrupt 0.1\n",
		     seed);
	until(MSG_GO);
	for (int i = 0; i < 200; i++)
		emit(EMIT_IP4, ping(NEAR, 64, 56, false), i * NS_PER_MS);
	fake_port(f)->emit(fake_port(f), &(Msg){ .type = MSG_WAIT, .wait = { 1, NS_PER_S } });
	until(MSG_TICK);
	return fake_hash(f);
}

static void the_same_bit_for_bit(void **state)
{
	(void)state;
	uint64_t a = bad_line(1), b = bad_line(1), c = bad_line(2);
	uint32_t frames = fake_count(f).frames;

	assert_true(a == b);
	assert_true(a != c);
	assert_in_range(frames, 120, 210);
}

static void wrong_lines_are_refused(void **state)
{
	static const char *const wrong[] = { "host", "hop 10.0.0.1 loss x", "frobnicate",
					     "host 10.0.0.2 delay 5", "iface eth0 10.0.0.1" };
	Str error;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(fake_config(f, str_c(wrong[i]), &error));
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rows_come_before_go),
		T(echo_takes_the_way_there_and_back),
		T(routers_complain_with_their_quotes),
		T(steps_of_the_mtu),
		T(tcp_ports),
		T(udp_and_dns),
		T(manners_of_a_host),
		T(refused_frames_end_the_run),
		T(arp_by_two),
		T(nobody_on_the_link),
		T(the_same_bit_for_bit),
		T(wrong_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
