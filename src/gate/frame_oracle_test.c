/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames at random against an oracle that shares no code with the check; and how
 * long a check takes.
 */
#include "base/rng.h"
#include "base/units.h"
#include "gate/hostile_frames.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

static uint8_t memory[64 << 20], frame[LAB_FRAME * 4];
static Lab lab;

static void make_lab(const char *lift)
{
	if (!lab_with(&lab, memory, sizeof memory, lift))
		fail_msg("%s", lab_text(&lab));
}

static bool passes(Bytes data, EmitKind kind, FrameVerdict *v)
{
	FrameIn in = { .kind = kind, .data = data, .link = &lab.link, .now = 1 };

	return frame_check(&lab.fc, &in, v) && frame_hop_ok(v, lab_scene().hop);
}

static uint64_t draws;

static uint64_t draw(uint64_t below)
{
	return rng_below(rng_draw(99, 3, draws++), below);
}

/* What a packet is by wire/'s decoder, which shares no code with the check: only
 * the simplest of frames may pass without words.  NULL, or what is forbidden. */
static const char *oracle_transport(const WirePacket *p, unsigned at)
{
	const WireLayer *t = at < p->n ? &p->layer[at] : NULL;
	const Scene s = lab_scene();

	if (!t)
		return "no transport";
	switch (t->proto->id) {
	case WIRE_TCP: {
		uint64_t sport = wire_num(t, (unsigned)wire_field(t->proto, STR("sport")));
		uint64_t dport = wire_num(t, (unsigned)wire_field(t->proto, STR("dport")));

		return sport != s.sport ? "sport" : dport != 80 ? "dport" : NULL;
	}
	case WIRE_UDP: {
		uint64_t sport = wire_num(t, (unsigned)wire_field(t->proto, STR("sport")));
		uint64_t dport = wire_num(t, (unsigned)wire_field(t->proto, STR("dport")));

		if (dport == 53 && (at + 1 >= p->n || p->layer[at + 1].proto->id != WIRE_DNS))
			return "no DNS";
		return sport != s.sport ? "sport" : dport != 9 && dport != 53 ? "dport" : NULL;
	}
	case WIRE_ICMP: {
		uint64_t type = wire_num(t, (unsigned)wire_field(t->proto, STR("type")));
		uint64_t id = wire_num(t, (unsigned)wire_field(t->proto, STR("id")));

		return type != 8 && type != 13 ? "ICMP type" : id != s.id ? "ICMP id" : NULL;
	}
	case WIRE_ICMPV6: {
		uint64_t type = wire_num(t, (unsigned)wire_field(t->proto, STR("type")));

		return type != 128 && type != 135 ? "ICMPv6 type" : NULL;
	}
	default:
		return "another protocol";
	}
}

static bool is_forbidden4(Ip ip)
{
	static const char *const forbidden[] = { "10.0.0.0", "10.0.0.1", "10.0.0.255", "192.168.5.0", "192.168.5.1",
						 "192.168.5.255", "100.100.100.200", "168.63.129.16", "192.0.0.192" };

	for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
		if (ip_eq(ip, lab_ip(forbidden[i])))
			return true;
	return ip_class(ip) != IP_CLASS_UNICAST || ip4_num(ip) >> 8 == 0xcb0071;
}

static const char *oracle(Bytes b, EmitKind kind)
{
	WirePacket p;
	unsigned at = 0;
	const Scene s = lab_scene();
	size_t head = kind == EMIT_ETHER ? 14 : 0;

	wire_parse(b, kind == EMIT_ETHER ? WIRE_ETHER : kind == EMIT_IP4 ? WIRE_IP : WIRE_IPV6, &lab.a, &p);
	if (p.n < 1)
		return "nothing";
	if (kind == EMIT_ETHER) {
		if (memcmp(b.p + 6, s.mac.b, 6) != 0)
			return "Ether.src";
		at = 1;
	}
	if (at >= p.n)
		return "no network layer";
	const WireLayer *n = &p.layer[at];

	if (n->proto->id == WIRE_ARP)
		return kind != EMIT_ETHER ? "ARP without Ethernet" : b.n > 60 ? "long ARP" : b.p[21] != 1 ? "ARP op" : NULL;
	if (n->proto->id == WIRE_IP) {
		if (n->len != 20)
			return "options";
		if (get_be16(b.p + head + 6) & 0x3fff)
			return "fragment";
		Ip dst = ip_from(4, b.p + head + 16);

		if (!ip_eq(ip_from(4, b.p + head + 12), s.us4))
			return "source";
		if (is_forbidden4(dst))
			return "destination";
	} else if (n->proto->id == WIRE_IPV6) {
		if (memcmp(b.p + head + 8, s.us6.b, 16) != 0)
			return "source";
		if (b.p[head + 6] != 6 && b.p[head + 6] != 17 && b.p[head + 6] != 58)
			return "next header";
		Ip dst = ip_from(6, b.p + head + 24);

		if (ip_class(dst) != IP_CLASS_UNICAST && !(b.p[head + 40] == 135 && dst.b[0] == 0xff))
			return "destination";
	} else {
		return "another network layer";
	}
	return oracle_transport(&p, at + 1);
}

static void mutate(uint8_t *p, size_t *n)
{
	switch (draw(4)) {
	case 0:
		p[draw(*n)] = (uint8_t)draw(256);
		break;
	case 1:
		p[draw(*n < 60 ? *n : 60)] ^= (uint8_t)(1u << draw(8));
		break;
	case 2:
		*n -= draw(*n / 4 + 1);
		break;
	case 3: {
		size_t at = draw(*n), len = draw(8);

		for (size_t i = at; i < *n && i < at + len; i++)
			p[i] = (uint8_t)draw(256);
		break;
	}
	}
}

static void nothing_leaves_that_an_oracle_forbids(void **state)
{
	(void)state;
	Scene s = lab_scene();
	uint8_t store[64];
	size_t passed = 0, mark, rows;
	const HostileFrame *hostile = hostile_frames(&rows);

	make_lab(NULL);
	mark = arena_mark(&lab.a);
	for (int i = 0; i < 400000; i++) {
		Spec good[] = { spec_udp(&s), spec_tcp(&s), spec_icmp(&s), spec_udp6(&s), spec_icmp6(&s), spec_ns(&s, store),
				spec_ether(spec_udp(&s), &s), spec_arp(&s, store), spec_ether(spec_tcp(&s), &s) };
		static const EmitKind kinds[] = { EMIT_IP4, EMIT_IP4, EMIT_IP4, EMIT_IP6, EMIT_IP6, EMIT_IP6,
						  EMIT_ETHER, EMIT_ETHER, EMIT_ETHER };
		size_t k = draw(9);
		Writer w = writer(frame, sizeof frame);
		EmitKind kind = kinds[k];
		FrameVerdict v;

		arena_reset(&lab.a, mark);
		if (draw(4) == 0)
			hostile[draw(rows)].build(&s, &w, &kind);
		else
			spec_build(&good[k], &w);
		size_t n = w.n;

		for (uint64_t m = draw(4); m > 0 && n > 4; m--)
			mutate(frame, &n);
		uint8_t *copy = arena_copy(&lab.a, frame, n);

		if (!passes(BYTES(copy, n), kind, &v))
			continue;
		passed++;
		const char *forbidden = oracle(BYTES(copy, n), kind);

		for (size_t j = 0; forbidden && j < n; j++)
			print_message("%02x%s", copy[j], j + 1 == n ? "\n" : " ");
		if (forbidden)
			fail_msg("round %d: a frame left that is forbidden: %s", i, forbidden);
	}
	assert_true(passed > 50000);
}

/* ---- speed ---- */

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be running */
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void check_and_budget_are_fast(void **state)
{
	(void)state;
	enum { ROUNDS = 200000 };
	Scene s = lab_scene();
	Spec p = spec_udp(&s);
	Writer w = writer(frame, sizeof frame);
	Meter m;

	make_lab(NULL);
	p.data = BYTES("1234567890123456789012", 22); /* 64 bytes with Ethernet's header */
	spec_build(&p, &w);
	lab.r->budget.v[BOUND_PACKETS] = lab.r->budget.v[BOUND_BYTES] = 0;
	lab.r->budget.v[BOUND_RATE] = lab.r->budget.v[BOUND_BYTE_RATE] = INT64_C(1000000000);
	meter_init(&m, &lab.a, lab.r, 1);
	int64_t from = nanoseconds();

	for (int i = 0; i < ROUNDS; i++) {
		FrameVerdict v;

		assert_true(frame_check(&lab.fc, &(FrameIn){ EMIT_IP4, PURPOSE_PROBE, wr_done(&w), &lab.link, i }, &v));
		assert_int_equal(meter_ask(&m, &(MeterFrame){ 1, 64, v.syn, v.cleanup, v.called, v.spoof, v.tuple.dst }, i * 1000).say,
				 METER_SEND);
	}
	print_message("check and budget of a 64-byte UDP frame: %d ns\n", (int)((nanoseconds() - from) / ROUNDS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_that_an_oracle_forbids),
		cmocka_unit_test(check_and_budget_are_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
