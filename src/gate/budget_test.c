/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter: totals stop, rates pace, and neither ever lets more out than it says.
 */
#include "base/rng.h"
#include "base/units.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[32 << 20];
static Lab lab;
static Meter m;

static void begin(const char *policy, const char *program)
{
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", policy);
	lab_program(&lab, program);
	if (!lab_make(&lab))
		fail_msg("%s", lab_text(&lab));
	meter_init(&m, &lab.a, lab.r, 77);
}

static const MeterFrame plain = { .packets = 1, .bytes = 100, .spoof = -1, .dst = { .v = 4, .b = { 10, 9, 0, 1 } } };

static MeterFrame syn_to(uint8_t host)
{
	MeterFrame f = plain;

	f.syn = true;
	f.dst.b[3] = host;
	return f;
}

#define sends(f, t) assert_int_equal(meter_ask(&m, f, t).say, METER_SEND)
#define holds(f, t, for_ns, name)                                 \
	do {                                                      \
		MeterAnswer a_ = meter_ask(&m, f, t);             \
		assert_int_equal(a_.say, METER_HOLD);             \
		assert_string_equal(a_.bound, name);              \
		assert_int_equal(a_.until, (t) + (for_ns));       \
	} while (0)
#define refuses(f, t, name)                                       \
	do {                                                      \
		MeterAnswer a_ = meter_ask(&m, f, t);             \
		assert_int_equal(a_.say, METER_REFUSE);           \
		assert_string_equal(a_.bound, name);              \
	} while (0)

static void totals_stop(void **state)
{
	(void)state;
	MeterFrame f = plain;

	begin("", "budget packets=3 bytes=1000 syn=1 rate=1000 time=10");
	sends(&f, 0);
	f.bytes = 900;
	sends(&f, 0);
	f.bytes = 1;
	refuses(&f, 0, "bytes"); /* exactly all of them went */
	begin("", "budget packets=3 bytes=1000 syn=1 rate=1000 time=10");
	f = syn_to(1);
	sends(&f, 0);
	refuses(&f, 0, "syn");
	f = plain;
	sends(&f, 0);
	f.packets = 2; /* cut in two */
	refuses(&f, 0, "packets");
	f.packets = 1;
	sends(&f, 0);
	refuses(&f, 0, "packets");
	begin("", "budget time=10");
	sends(&plain, 10 * NS_PER_S - 1);
	refuses(&plain, 10 * NS_PER_S, "time");
	f = plain;
	f.bytes = UINT64_MAX;
	refuses(&f, 0, "bytes"); /* no sum runs over */
}

static void rates_pace(void **state)
{
	(void)state;
	begin("", "budget packets=10000 bytes=10000000 rate=100");
	for (int i = 0; i < 10; i++) /* burst: a tenth */
		sends(&plain, 0);
	holds(&plain, 0, NS_PER_S / 100, "rate");
	holds(&plain, 4 * NS_PER_MS, 6 * NS_PER_MS, "rate");
	sends(&plain, 10 * NS_PER_MS);
	assert_int_equal(m.held[BOUND_RATE], 1); /* one frame was held, however often it asked */
	holds(&plain, 10 * NS_PER_MS, 10 * NS_PER_MS, "rate");
	/* a pause fills no more than the burst */
	for (int i = 0; i < 10; i++)
		sends(&plain, 20 * NS_PER_S);
	holds(&plain, 20 * NS_PER_S, 10 * NS_PER_MS, "rate");
	/* below 10 a second: one at a time */
	begin("", "budget rate=2");
	sends(&plain, 0);
	holds(&plain, 0, NS_PER_S / 2, "rate");
	begin("", "budget syn_rate=5");
	MeterFrame f = syn_to(1);

	sends(&f, 0);
	holds(&f, 0, NS_PER_S / 5, "syn_rate");
	sends(&plain, 0); /* others go on */
}

static void frames_larger_than_the_bucket_leave_later(void **state)
{
	(void)state;
	MeterFrame f = plain;

	f.bytes = 1514;
	begin("", "budget byte_rate=1000");
	sends(&f, 0); /* a full bucket of 100 is enough, and goes below zero */
	holds(&f, 0, 1514 * NS_PER_MS, "byte_rate");
	sends(&f, 1514 * NS_PER_MS);
	begin("", "budget packets=1000 rate=100");
	f.packets = 44; /* a packet that is cut into more pieces than the burst */
	sends(&f, 0);
	holds(&plain, 0, 350 * NS_PER_MS, "rate");
}

static void peers_are_paced_where_policy_says_so(void **state)
{
	(void)state;
	MeterFrame a = plain, b = plain, s = syn_to(1);

	b.dst.b[3] = 2;
	begin("budget peer_rate=10 peer_syn_rate=2", "");
	sends(&a, 0);
	holds(&a, 0, NS_PER_S / 10, "peer_rate");
	sends(&b, 0);
	sends(&s, NS_PER_S);
	holds(&s, NS_PER_S + NS_PER_S / 10, 400 * NS_PER_MS, "peer_syn_rate");
	assert_true(m.held[BOUND_PEER_RATE] == 1 && m.held[BOUND_PEER_SYN_RATE] == 1);
	begin("", "");
	assert_null(m.peer);
}

static void spoofing_has_its_own_bounds(void **state)
{
	(void)state;
	MeterFrame f = plain;

	begin("spoof 10.20.4.1 rate=100 max=12; spoof 10.20.4.2 max=12", "spoof 10.20.4.1;spoof 10.20.4.2;budget packets=12");
	f.spoof = 0;
	for (int i = 0; i < 10; i++)
		sends(&f, 0);
	holds(&f, 0, 10 * NS_PER_MS, "spoof rate");
	sends(&plain, 0);
	sends(&f, 10 * NS_PER_MS);
	begin("spoof 10.20.4.1 rate=1000 max=2; spoof 10.20.4.2 max=2", "spoof 10.20.4.1;spoof 10.20.4.2;budget packets=2");
	m.b.v[BOUND_PACKETS] = 100;
	f.spoof = 1;
	sends(&f, 0);
	holds(&f, 0, 100 * NS_PER_MS, "spoof rate"); /* 10 a second where nothing is said */
	sends(&f, 100 * NS_PER_MS);
	refuses(&f, NS_PER_S, "spoof max");
	f.spoof = 0;
	sends(&f, NS_PER_S); /* each source has its own */
}

/* Clean-up is free of the budget, also when that is spent and time is over, but
 * never more than one frame for each flow that was opened. */
static void clean_up_is_bounded_by_flows(void **state)
{
	(void)state;
	MeterFrame f = syn_to(1), rst = plain;

	rst.cleanup = true;
	begin("", "budget packets=2 syn=5 syn_rate=50 time=10");
	refuses(&rst, 10 * NS_PER_S, "time"); /* nothing is open: as any frame */
	sends(&f, 0);
	f = syn_to(2);
	sends(&f, 0);
	refuses(&plain, 0, "packets");
	sends(&rst, 20 * NS_PER_S);
	sends(&rst, 20 * NS_PER_S);
	refuses(&rst, 20 * NS_PER_S, "time");
	assert_int_equal(m.used_packets, 2);
	assert_int_equal(m.cleanups, 2);
}

static void sixteen_refused_frames_end_it(void **state)
{
	(void)state;
	begin("", "");
	for (int i = 0; i < 15; i++)
		assert_false(meter_refused(&m));
	assert_true(meter_refused(&m));
}

/* Over any span, no more leaves than rate * span + burst, and a sender who asks
 * when it was told to is never told to wait again. */
static void no_span_holds_more_than_its_rate(void **state)
{
	(void)state;
	enum { N = 3000, RATE = 250 };
	static int64_t at[N];
	int64_t now = 0;

	begin("", "budget packets=20000 bytes=50000000 rate=250 byte_rate=100000");
	for (int i = 0; i < N; i++) {
		MeterFrame f = plain;

		f.bytes = 60 + rng_draw(1, 2, (uint64_t)i) % 600;
		now += (int64_t)(rng_draw(1, 3, (uint64_t)i) % (6 * NS_PER_MS));
		MeterAnswer a = meter_ask(&m, &f, now);

		if (a.say == METER_HOLD) {
			assert_true(a.until > now);
			now = a.until;
			a = meter_ask(&m, &f, now);
		}
		assert_int_equal(a.say, METER_SEND);
		at[i] = now;
		if (m.used_packets == N)
			break;
	}
	for (int i = 0; i < N; i += 7)
		for (int k = i; k < N; k += 13)
			assert_true(k - i + 1 <= (at[k] - at[i]) * RATE / NS_PER_S + RATE / 10 + 1);
	assert_true(m.held[BOUND_RATE] + m.held[BOUND_BYTE_RATE] > 100);
}

static void time_may_stand_or_step_back(void **state)
{
	(void)state;
	begin("", "budget rate=100");
	for (int i = 0; i < 10; i++)
		sends(&plain, NS_PER_S);
	assert_int_equal(meter_ask(&m, &plain, 0).say, METER_HOLD);
	assert_int_equal(meter_ask(&m, &plain, NS_PER_S).say, METER_HOLD);
	sends(&plain, NS_PER_S + 10 * NS_PER_MS);
}

static void huge_rates_do_not_overflow(void **state)
{
	(void)state;
	MeterFrame f = plain;

	begin("budget rate=9000000000000000000 packets=9000000000000000000 bytes=9000000000000000000",
	      "budget rate=9000000000000000000 byte_rate=9000000000000000000 packets=9000000000000000000 bytes=9000000000000000000");
	f.bytes = 65535;
	for (int i = 0; i < 1000; i++)
		sends(&f, (int64_t)i * 60 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stop),
		cmocka_unit_test(rates_pace),
		cmocka_unit_test(frames_larger_than_the_bucket_leave_later),
		cmocka_unit_test(peers_are_paced_where_policy_says_so),
		cmocka_unit_test(spoofing_has_its_own_bounds),
		cmocka_unit_test(clean_up_is_bounded_by_flows),
		cmocka_unit_test(sixteen_refused_frames_end_it),
		cmocka_unit_test(no_span_holds_more_than_its_rate),
		cmocka_unit_test(time_may_stand_or_step_back),
		cmocka_unit_test(huge_rates_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
