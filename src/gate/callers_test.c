/* SPDX-License-Identifier: Apache-2.0
 *
 * Listeners: what may leave to whom, byte by byte, and what floods do.
 */
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SYN = 2, RST = 4, PSH = 8, ACK = 16, PORT = 8080, HEAD = 40 };

static uint8_t memory[32 << 20], frame[LAB_FRAME];
static Lab lab;
static Scene s;

/* ---- the table alone ---- */

static CallSegment seg(uint64_t key, uint8_t flags, uint32_t bytes, uint32_t seq, uint32_t ack)
{
	return (CallSegment){ .key = key, .flags = flags, .bytes = bytes, .seq = seq, .ack = ack };
}

static void got(Callers *c, CallSegment x)
{
	callers_got(c, &x);
}

static bool may(Callers *c, CallSegment x)
{
	return callers_may_send(c, &x);
}

static Callers table(void)
{
	Callers c;

	arena_init(&lab.a, memory, sizeof memory, NULL);
	callers_init(&c, &lab.a);
	return c;
}

static void test_no_more_than_came(void **state)
{
	Callers c = table();

	(void)state;
	assert_false(may(&c, seg(7, SYN | ACK, 40, 100, 1))); /* nobody called */
	got(&c, seg(7, SYN, 60, 0, 0));
	assert_false(may(&c, seg(7, SYN | ACK, 61, 100, 1)));
	assert_true(may(&c, seg(7, SYN | ACK, 60, 100, 1)));
	assert_false(may(&c, seg(7, SYN | ACK, 60, 100, 1))); /* a second one only for a second SYN */
	assert_false(may(&c, seg(8, SYN | ACK, 60, 100, 1)));
	got(&c, seg(7, SYN, 60, 0, 0));
	assert_true(may(&c, seg(7, SYN | ACK, 60, 100, 1)));
	got(&c, seg(7, ACK, 40, 1, 100)); /* not the number that only who got it knows */
	assert_false(may(&c, seg(7, ACK, 41, 101, 1)));
	assert_true(may(&c, seg(7, ACK, 40, 101, 1)));
	got(&c, seg(7, ACK, 40, 1, 101));
	assert_true(may(&c, seg(7, PSH | ACK, 1500, 101, 1)));
	assert_true(may(&c, seg(7, PSH | ACK, 1500, 1561, 1)));
	got(&c, seg(7, SYN, 60, 0, 0)); /* who forges a SYN cuts nobody off */
	assert_true(may(&c, seg(7, PSH | ACK, 1500, 3021, 1)));
}

static void test_an_ack_before_any_answer_finishes_nothing(void **state)
{
	Callers c = table();

	(void)state;
	got(&c, seg(7, SYN, 40, 0, 0));
	got(&c, seg(7, ACK, 40, 1, 1)); /* iss 0 + 1 */
	assert_false(may(&c, seg(7, ACK, 1500, 1, 1)));
}

static void test_floods(void **state)
{
	Callers c = table();

	(void)state;
	got(&c, seg(7, SYN, 60, 0, 0));
	may(&c, seg(7, SYN | ACK, 60, 100, 1));
	got(&c, seg(7, ACK, 40, 1, 101));
	for (uint64_t k = 100; k < 100 + 10 * CALLERS; k++)
		got(&c, seg(k, SYN, 60, 0, 0));
	assert_true(may(&c, seg(7, PSH | ACK, 1500, 101, 1)));
	assert_non_null(callers_find(&c, 99 + 10 * CALLERS)); /* the newest are there */
	assert_null(callers_find(&c, 100));
	/* where all is finished calls, a new one is not answered */
	for (unsigned i = 0; i < CALLER_WAYS; i++) {
		uint64_t k = 7 + (uint64_t)i * (CALLERS / CALLER_WAYS);

		got(&c, seg(k, SYN, 60, 0, 0));
		may(&c, seg(k, SYN | ACK, 60, 100, 1));
		got(&c, seg(k, ACK, 40, 1, 101));
	}
	uint64_t more = 7 + (uint64_t)CALLERS;
	got(&c, seg(more, SYN, 60, 0, 0));
	assert_false(may(&c, seg(more, SYN | ACK, 40, 100, 1)));
}

static void test_one_free_reset(void **state)
{
	Callers c = table();

	(void)state;
	assert_false(callers_may_reset(&c, 7));
	got(&c, seg(7, SYN, 60, 0, 0));
	assert_true(callers_may_reset(&c, 7));
	assert_false(callers_may_reset(&c, 7));
}

/* ---- frames ---- */

static void begin(const char *policy)
{
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", policy);
	lab_program(&lab, "listen 8080 10.0.0.0/24");
	if (!lab_make(&lab))
		fail_msg("%s", lab_text(&lab));
	lab_start(&lab);
	s = lab_scene();
	owned_add(&lab.owned, 6, s.us4, PORT);
	lab.link.own = lab.own;
}

static Spec from_peer(Ip peer, uint8_t flags)
{
	return (Spec){ .src = peer, .dst = s.us4, .proto = 6, .sport = 5555, .dport = PORT, .flags = flags };
}

static FlowVerdict arrives(Spec p)
{
	Writer w = writer(frame, sizeof frame);

	spec_build(&p, &w);
	return flows_received(&lab.flows, BYTES(arena_copy(&lab.a, frame, w.n), w.n), false, BYTES("meta", 4));
}

static FrameVerdict leaves(Ip peer, uint8_t flags, Bytes data, EmitPurpose purpose)
{
	Spec p = { .src = s.us4, .dst = peer, .proto = 6, .sport = PORT, .dport = 5555, .flags = flags, .data = data };
	Writer w = writer(frame, sizeof frame);
	FrameVerdict v;

	spec_build(&p, &w);
	FrameIn in = { .kind = EMIT_IP4, .purpose = purpose, .data = wr_done(&w), .link = &lab.link, .now = 1 };

	frame_check(&lab.fc, &in, &v);
	return v;
}

#define goes(...) assert_int_equal(leaves(__VA_ARGS__).reason, NOTSENT_NONE)
#define stays(...) assert_int_not_equal(leaves(__VA_ARGS__).reason, NOTSENT_NONE)

static const Bytes nothing = { 0 };

static void test_callers_are_reached_by_answers_alone(void **state)
{
	const Bytes data = BYTES("0123456789", 10);
	Ip peer, other;

	(void)state;
	begin("listen 8080 10.0.0.0/8");
	peer = lab_ip("10.0.0.9");
	other = lab_ip("10.0.1.9"); /* policy has it, the program did not ask for it */
	stays(peer, SYN, nothing, PURPOSE_CONN); /* nobody is called */
	stays(peer, SYN | ACK, nothing, PURPOSE_CONN);
	stays(peer, ACK, data, PURPOSE_CONN);
	assert_int_equal(arrives(from_peer(peer, SYN)), FLOW_OWN);
	stays(peer, SYN, nothing, PURPOSE_CONN);
	FrameVerdict v = leaves(peer, SYN | ACK, nothing, PURPOSE_CONN);
	assert_int_equal(v.reason, NOTSENT_NONE);
	assert_false(v.syn); /* it answers one that came up */
	stays(peer, SYN | ACK, nothing, PURPOSE_CONN);
	assert_false(leaves(peer, SYN | ACK, nothing, PURPOSE_CONN).counts);
	stays(peer, ACK, data, PURPOSE_CONN);
	v = leaves(peer, RST, nothing, PURPOSE_CLEANUP);
	(void)v;
	assert_int_equal(arrives(from_peer(other, SYN)), FLOW_OWN); /* the port is ours, from whomever */
	stays(other, SYN | ACK, nothing, PURPOSE_CONN);
	stays(other, RST | ACK, nothing, PURPOSE_CLEANUP);
}

static void test_deny_wins(void **state)
{
	(void)state;
	begin("listen 8080 10.0.0.0/8; deny 10.0.0.9");
	Ip peer = lab_ip("10.0.0.9"), other = lab_ip("10.0.0.8");

	arrives(from_peer(peer, SYN));
	stays(peer, SYN | ACK, nothing, PURPOSE_CONN);
	arrives(from_peer(other, SYN));
	goes(other, SYN | ACK, nothing, PURPOSE_CONN);
}

static void test_no_other_port(void **state)
{
	(void)state;
	begin("listen 8080 10.0.0.0/8");
	Ip peer = lab_ip("10.0.0.9");
	Spec call = from_peer(peer, SYN);

	call.dport = s.sport; /* ours too, but nobody listens there */
	arrives(call);
	Spec p = { .src = s.us4, .dst = peer, .proto = 6, .sport = s.sport, .dport = 5555, .flags = SYN | ACK };
	Writer w = writer(frame, sizeof frame);
	FrameVerdict v;

	spec_build(&p, &w);
	FrameIn in = { .kind = EMIT_IP4, .purpose = PURPOSE_CONN, .data = wr_done(&w), .link = &lab.link, .now = 1 };
	assert_false(frame_check(&lab.fc, &in, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_more_than_came),
		cmocka_unit_test(test_an_ack_before_any_answer_finishes_nothing),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_one_free_reset),
		cmocka_unit_test(test_callers_are_reached_by_answers_alone),
		cmocka_unit_test(test_deny_wins),
		cmocka_unit_test(test_no_other_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
