/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes up, and what never does; the sets behind it.
 */
#include "base/rng.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[32 << 20], frame[LAB_FRAME];
static Lab lab;
static Scene s;

static void begin(void)
{
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", "spoof 10.0.0.77 max=20000; reach 0.0.0.0/0 +broadcast +icmp_error; reach ::/0");
	lab_program(&lab, "spoof 10.0.0.77; reach 0.0.0.0/0 +broadcast; reach ::/0; emit ? udp 9; emit ? tcp 80");
	if (!lab_make(&lab))
		fail_msg("%s", lab_text(&lab));
	lab_start(&lab);
	s = lab_scene();
}

static Spec back(Spec p)
{
	Spec q = p;

	q.src = p.dst;
	q.dst = p.src;
	q.sport = p.dport;
	q.dport = p.sport;
	if (p.proto == 1 || p.proto == 58) {
		q.type = p.proto == 1 ? 0 : 129;
		q.sport = p.sport;
	}
	return q;
}

static void sent(Spec p, bool to_many)
{
	bool icmp = p.proto == 1 || p.proto == 58;
	FlowTuple t = { p.src, p.dst, p.proto, p.sport, icmp ? 0 : p.dport };

	flows_sent(&lab.flows, &t, p.proto == 6 && (p.flags & 2), to_many);
}

static FlowVerdict got(Spec p)
{
	Writer w = writer(frame, sizeof frame);

	spec_build(&p, &w);
	return flows_received(&lab.flows, BYTES(arena_copy(&lab.a, frame, w.n), w.n), p.ether, BYTES("meta", 4));
}

#define up(p) assert_int_equal(got(p), FLOW_OWN)
#define kernels(p) assert_int_equal(got(p), FLOW_KERNEL)
#define others(p) assert_int_equal(got(p), FLOW_OTHER)
#define looped(p) assert_int_equal(got(p), FLOW_LOOPED)

static void answers_come_up(void **state)
{
	(void)state;
	begin();
	Spec all[] = { spec_udp(&s), spec_tcp(&s), spec_icmp(&s), spec_udp6(&s), spec_icmp6(&s) };

	for (size_t i = 0; i < 5; i++) {
		sent(all[i], false);
		up(back(all[i]));
		up(spec_ether(back(all[i]), &s));
		Spec tagged = spec_ether(back(all[i]), &s);

		tagged.ntags = 2;
		up(tagged);
		looped(all[i]);
	}
	/* to a port of ours, from whomever: unsolicited, but nobody else's */
	Spec p = back(spec_udp(&s));

	p.src = lab_ip("10.7.7.7");
	p.sport = 4;
	up(p);
	/* an echo reply from one who was not asked is another's */
	p = back(spec_icmp(&s));
	p.src = lab_ip("10.7.7.7");
	kernels(p);
}

/* Many clients share the ports of DHCP: ours is the transaction that we began, wherever its answer goes. */
static void dhcp_is_ours_by_its_transaction(void **state)
{
	static const uint8_t reply[] = { 2, 1, 6, 0, 0, 0, 0, 42 }, ask[] = { 1, 1, 6, 0, 0, 0, 0, 42 },
			     theirs[] = { 2, 1, 6, 0, 0, 0, 0, 43 }, they_ask[] = { 1, 1, 6, 0, 0, 0, 0, 43 };
	static const char *const to[] = { "255.255.255.255", "10.0.0.200" };

	(void)state;
	begin();
	for (int i = 0; i < 2; i++) {
		Spec p = spec_udp(&s);

		p.src = s.peer4;
		p.dst = lab_ip(to[i]);
		p.sport = 67;
		p.dport = 68;
		p.data = BYTES(reply, sizeof reply);
		if (i == 0) {
			others(p);
			flows_asked_dhcp(&lab.flows, 42);
		}
		up(p);
		p.data = BYTES(theirs, sizeof theirs);
		others(p);
		p.data = BYTES(reply, 7);
		others(p);
	}
	Spec q = spec_udp(&s);

	q.src = lab_ip("0.0.0.0");
	q.dst = lab_ip("255.255.255.255");
	q.sport = 68;
	q.dport = 67;
	q.data = BYTES(ask, sizeof ask);
	looped(q);
	q.data = BYTES(they_ask, sizeof they_ask);
	others(q);
}

static void the_kernels_flows_never_come_up(void **state)
{
	(void)state;
	begin();
	Spec p = back(spec_tcp(&s));

	sent(spec_tcp(&s), false);
	p.dport = 22; /* ssh to this host */
	kernels(p);
	p = spec_tcp(&s); /* this host's own, seen on a second socket */
	p.sport = 22;
	kernels(p);
	p = back(spec_icmp(&s));
	p.sport = 0x4242; /* the system's ping */
	kernels(p);
	p = spec_icmp(&s); /* somebody pings us */
	p.src = s.peer4;
	p.dst = s.us4;
	kernels(p);
	p = back(spec_udp(&s));
	p.dst = lab_ip("192.168.5.1"); /* the same port on another address */
	kernels(p);
	p = back(spec_udp(&s));
	p.proto = 6; /* the same port of the other protocol is ours too, of a third is not */
	up(p);
	p.proto = 132;
	kernels(p);
}

static void frames_of_others_are_others(void **state)
{
	(void)state;
	begin();
	Spec p = spec_udp(&s);

	p.src = lab_ip("10.0.0.8");
	p.dst = lab_ip("10.0.0.9");
	others(p);
	p.dst = lab_ip("224.0.0.251");
	others(p);
	p = spec_ether(p, &s);
	p.etype = 0x88cc;
	others(p);
	assert_int_equal(flows_received(&lab.flows, BYTES("", 0), true, (Bytes){ 0 }), FLOW_OTHER);
	assert_int_equal(flows_received(&lab.flows, BYTES("\x45", 1), false, (Bytes){ 0 }), FLOW_OTHER);
}

static Spec error_for(Spec quoted, uint8_t type, const char *from, uint8_t *store)
{
	Spec e = spec_icmp(&s);
	Writer w = writer(store, 512);

	spec_build(&quoted, &w);
	e = quoted.src.v == 4 ? spec_icmp(&s) : spec_icmp6(&s);
	e.type = type;
	e.src = lab_ip(from);
	e.dst = quoted.src.v == 4 ? s.us4 : s.us6;
	e.data = wr_done(&w);
	return e;
}

static void icmp_errors_come_up_by_their_quote(void **state)
{
	(void)state;
	uint8_t store[512];
	Spec p, q;

	begin();
	p = spec_udp(&s);
	kernels(error_for(p, 11, "10.1.1.1", store)); /* not sent yet */
	sent(p, false);
	up(error_for(p, 11, "10.1.1.1", store));
	q = error_for(p, 3, "10.0.0.2", store);
	q.data.n = 28; /* header and 8 bytes are enough */
	up(q);
	q.data.n = 19;
	kernels(q);
	q = p;
	q.src = lab_ip("192.0.2.55"); /* NAT changed source and port */
	q.sport = 1234;
	up(error_for(q, 11, "10.1.1.1", store));
	q = p;
	q.sport = 4000; /* the kernel's own probe to the same port */
	kernels(error_for(q, 11, "10.1.1.1", store));
	q = p;
	q.dport = 10;
	kernels(error_for(q, 11, "10.1.1.1", store));
	q = p;
	q.dst = lab_ip("10.0.0.3");
	kernels(error_for(q, 11, "10.1.1.1", store));
	q = p;
	q.proto = 6;
	kernels(error_for(q, 11, "10.1.1.1", store));
	p = spec_udp(&s); /* a later fragment quotes no ports */
	p.frag = 3;
	p.raw = BYTES("12345678", 8);
	kernels(error_for(p, 11, "10.1.1.1", store));
	flows_sent(&lab.flows, &(FlowTuple){ p.src, p.dst, 17, 0, 0 }, false, false);
	up(error_for(p, 11, "10.1.1.1", store));
	p = spec_icmp(&s);
	kernels(error_for(p, 11, "10.1.1.1", store));
	sent(p, false);
	up(error_for(p, 11, "10.1.1.1", store));
	p = spec_udp6(&s);
	kernels(error_for(p, 3, "fd00:5::1", store));
	sent(p, false);
	up(error_for(p, 3, "fd00:5::1", store));
	up(error_for(p, 2, "fd00:5::1", store)); /* packet too big */
}

static Spec arp(uint8_t op, const char *sender, const char *target, bool group, uint8_t *store)
{
	Spec p = spec_arp(&s, store);

	store[7] = op;
	memcpy(store + 14, lab_ip(sender).b, 4);
	memcpy(store + 24, lab_ip(target).b, 4);
	memcpy(p.edst.b, group ? "\xff\xff\xff\xff\xff\xff" : "\2\0\0\0\0\1", 6);
	return p;
}

static void arp_answers(void **state)
{
	(void)state;
	uint8_t store[64];

	begin();
	kernels(arp(2, "10.0.0.2", "10.0.0.1", false, store)); /* the kernel asked, not we */
	kernels(arp(1, "10.0.0.1", "10.0.0.2", true, store));
	flows_sent(&lab.flows, &(FlowTuple){ .src = s.us4, .dst = s.peer4 }, false, false);
	up(arp(2, "10.0.0.2", "10.0.0.1", false, store));
	kernels(arp(2, "10.0.0.3", "10.0.0.1", false, store));
	looped(arp(1, "10.0.0.1", "10.0.0.2", true, store));
	others(arp(1, "10.0.0.2", "10.0.0.1", true, store));
	others(arp(1, "10.0.0.9", "10.0.0.8", true, store));
}

static void nd_answers(void **state)
{
	(void)state;
	uint8_t na[24] = { 136 };
	Spec p;

	begin();
	p = spec_icmp6(&s);
	memcpy(na + 8, s.peer6.b, 16);
	p.src = s.peer6;
	p.dst = s.us6;
	p.raw = BYTES(na, 24);
	kernels(p);
	flows_sent(&lab.flows, &(FlowTuple){ .src = s.us6, .dst = s.peer6 }, false, false);
	up(p);
	p.dst = lab_ip("ff02::1");
	up(p);
	na[23] = 9;
	p.dst = s.us6;
	kernels(p);
}

static void spoofed_sources_are_own_flow(void **state)
{
	(void)state;
	Spec p;

	begin();
	p = spec_udp(&s);
	p.src = lab_ip("10.0.0.77");
	others(back(p)); /* not used yet: somebody else's */
	sent(p, false);
	up(back(p));
	Spec q = back(p);

	q.dport = 61001;
	others(q);
}

static void broadcast_queries_are_answered_by_anybody(void **state)
{
	(void)state;
	Spec p;

	begin();
	p = spec_icmp(&s);
	p.dst = lab_ip("10.0.0.255");
	Spec r = back(spec_icmp(&s));

	kernels(r);
	sent(p, true);
	up(r);
	r.src = lab_ip("10.0.0.9");
	up(r);
}

/* ---- fragments ---- */

static Spec piece(Spec p, uint16_t id, uint16_t frag)
{
	p.id = id;
	p.frag = frag;
	if (frag & 0x1fff)
		p.raw = BYTES("12345678", 8);
	return p;
}

static void later_fragments_follow_the_first(void **state)
{
	(void)state;
	Bytes f, meta;
	bool ether;
	Spec a;

	begin();
	a = back(spec_udp(&s));
	up(piece(a, 1, 0x2000));
	up(piece(a, 1, 3));
	assert_int_equal(got(piece(a, 2, 3)), FLOW_HOLD); /* of another packet */
	assert_int_equal(got(piece(a, 2, 0x2004)), FLOW_HOLD);
	assert_false(flows_released(&lab.flows, &f, &ether, &meta));
	up(piece(a, 2, 0x2000));
	for (int i = 0; i < 2; i++) {
		assert_true(flows_released(&lab.flows, &f, &ether, &meta));
		assert_int_equal(f.n, 28);
		assert_false(ether);
		assert_memory_equal(meta.p, "meta", 4);
	}
	assert_false(flows_released(&lab.flows, &f, &ether, &meta));
	/* those of the kernel's packets stay here for good */
	a.dport = 22;
	assert_int_equal(got(piece(a, 3, 3)), FLOW_HOLD);
	kernels(piece(a, 3, 0x2000));
	assert_false(flows_released(&lab.flows, &f, &ether, &meta));
	/* between others they are others' */
	a.dst = lab_ip("10.0.0.9");
	others(piece(a, 4, 3));
}

static void held_fragments_are_bounded(void **state)
{
	(void)state;
	Bytes f, meta;
	bool ether;
	Spec a;
	int n = 0;

	begin();
	a = back(spec_udp(&s));
	for (uint16_t id = 0; id < 2 * FLOW_HELD; id++)
		assert_int_equal(got(piece(a, id, 3)), FLOW_HOLD);
	assert_int_equal(lab.flows.fragments_lost, FLOW_HELD);
	for (uint16_t id = 0; id < 2 * FLOW_HELD; id++) {
		up(piece(a, id, 0x2000));
		while (flows_released(&lab.flows, &f, &ether, &meta))
			n++;
	}
	assert_int_equal(n, FLOW_HELD);
}

/* ---- sets ---- */

static void fpset_remembers_the_last(void **state)
{
	(void)state;
	FpSet set;

	begin();
	fpset_init(&set, &lab.a, 1000);
	for (uint64_t i = 0; i < 100000; i++) {
		fpset_put(&set, rng_mix(i));
		for (uint64_t k = 0; k < 1000 && k <= i; k += 111)
			assert_true(fpset_has(&set, rng_mix(i - k)));
		assert_false(fpset_has(&set, rng_mix(i + 1)));
	}
	assert_false(fpset_has(&set, rng_mix(0)));
	fpset_put(&set, 0);
	assert_true(fpset_has(&set, 0));
}

static void owned_is_exact(void **state)
{
	(void)state;
	Owned o;

	begin();
	owned_init(&o, &lab.a, 100);
	for (uint16_t i = 0; i < 100; i++)
		assert_true(owned_add(&o, 17, s.us4, i));
	assert_true(owned_add(&o, 17, s.us4, 5)); /* already there */
	assert_false(owned_add(&o, 17, s.us4, 100));
	assert_false(owned_add(&o, 0, s.us4, 5));
	for (uint16_t i = 0; i < 200; i++) {
		assert_int_equal(owned_has(&o, 17, s.us4, i), i < 100);
		assert_false(owned_has(&o, 6, s.us4, i) || owned_has(&o, 17, s.peer4, i) || owned_has(&o, 0, s.us4, i));
	}
}

/* Whatever arrives, it ends in one of the verdicts, and nothing without an owned
 * or used endpoint comes up. */
static void random_frames_do_not_come_up(void **state)
{
	(void)state;
	size_t mark;

	begin();
	sent(spec_udp(&s), false);
	sent(spec_icmp(&s), false);
	mark = arena_mark(&lab.a);
	for (uint64_t i = 0; i < 200000; i++) {
		Spec base[] = { back(spec_udp(&s)), spec_icmp(&s), spec_udp6(&s), spec_ether(back(spec_tcp(&s)), &s) };
		Spec p = base[i % 4];
		Writer w = writer(frame, sizeof frame);

		arena_reset(&lab.a, mark);
		p.dport = p.proto == 1 ? p.dport : 22; /* never ours */
		p.sport = p.proto == 1 ? 0x1111 : 23;
		spec_build(&p, &w);
		size_t n = w.n - rng_draw(4, 1, i) % 20, at = rng_draw(4, 2, i) % 14;

		frame[at] = (uint8_t)rng_draw(4, 3, i);
		FlowVerdict v = flows_received(&lab.flows, BYTES(arena_copy(&lab.a, frame, n), n), p.ether, (Bytes){ 0 });

		assert_true(v == FLOW_KERNEL || v == FLOW_OTHER || v == FLOW_HOLD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_up),
		cmocka_unit_test(dhcp_is_ours_by_its_transaction),
		cmocka_unit_test(the_kernels_flows_never_come_up),
		cmocka_unit_test(frames_of_others_are_others),
		cmocka_unit_test(icmp_errors_come_up_by_their_quote),
		cmocka_unit_test(arp_answers),
		cmocka_unit_test(nd_answers),
		cmocka_unit_test(spoofed_sources_are_own_flow),
		cmocka_unit_test(broadcast_queries_are_answered_by_anybody),
		cmocka_unit_test(later_fragments_follow_the_first),
		cmocka_unit_test(held_fragments_are_bounded),
		cmocka_unit_test(fpset_remembers_the_last),
		cmocka_unit_test(owned_is_exact),
		cmocka_unit_test(random_frames_do_not_come_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
