/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t buf[LIMIT_LAUNCH_JOB + 4096], again[LIMIT_LAUNCH_JOB + 4096];

static LaunchAsk example(void)
{
	return (LaunchAsk){ .op = LAUNCH_AUDIT,
			    .approved = true,
			    .approve = sha256(BYTES("a", 1)),
			    .max_output = 4096,
			    .caller = "alice",
			    .tool = "ping_host",
			    .outcome = "ALIVE",
			    .finding = "f-0123456789abcdef",
			    .args = sha256(BYTES("b", 1)) };
}

static void test_ask_round_trip(void **state)
{
	LaunchAsk a = example(), back;
	uint8_t out[LAUNCH_ASK];

	(void)state;
	launch_ask_put(&a, out);
	assert_true(launch_ask_get(BYTES(out, sizeof out), &back));
	assert_int_equal(back.op, LAUNCH_AUDIT);
	assert_true(back.approved && hash_eq(back.approve, a.approve) && hash_eq(back.args, a.args));
	assert_int_equal(back.max_output, 4096);
	assert_string_equal(back.caller, "alice");
	assert_string_equal(back.tool, "ping_host");
	assert_string_equal(back.outcome, "ALIVE");
	assert_string_equal(back.finding, "f-0123456789abcdef");
}

/* Each byte changed: it is refused, or another ask that is written just so. */
static void test_ask_is_strict(void **state)
{
	LaunchAsk a = example(), back;
	uint8_t out[LAUNCH_ASK], same[LAUNCH_ASK];

	(void)state;
	launch_ask_put(&a, out);
	for (size_t n = 0; n < LAUNCH_ASK; n++)
		assert_false(launch_ask_get(BYTES(out, n), &back));
	for (size_t i = 0; i < LAUNCH_ASK; i++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t was = out[i];

			out[i] = (uint8_t)v;
			if (launch_ask_get(BYTES(out, sizeof out), &back)) {
				launch_ask_put(&back, same);
				assert_memory_equal(same, out, LAUNCH_ASK);
			}
			out[i] = was;
		}
}

/* A name without end, or with bytes that are not text, is no name. */
static void test_ask_texts(void **state)
{
	static const char *const bad[] = { "a\nb", "a\x1b[31m", "\xc3\xa4", "a\x7f" };
	LaunchAsk a = example(), back;
	uint8_t out[LAUNCH_ASK];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		strcpy(a.caller, bad[i]);
		launch_ask_put(&a, out);
		assert_false(launch_ask_get(BYTES(out, sizeof out), &back));
	}
	a = example();
	memset(a.caller, 'x', sizeof a.caller);
	launch_ask_put(&a, out);
	assert_false(launch_ask_get(BYTES(out, sizeof out), &back));
}

static void test_said(void **state)
{
	LaunchSaid s = { .busy = true, .text = "too many runs\nat a time" }, back;
	uint8_t out[LAUNCH_SAID];

	(void)state;
	launch_said_put(&s, out);
	assert_true(launch_said_get(BYTES(out, sizeof out), &back));
	assert_false(back.ok);
	assert_true(back.busy);
	assert_string_equal(back.text, "too many runs?at a time");
	for (int i = 4; i < 6; i++) {
		uint8_t was = out[i];

		out[i] = 2;
		assert_false(launch_said_get(BYTES(out, sizeof out), &back));
		out[i] = was;
	}
}

static LaunchJob job(void)
{
	LaunchJob j = { .name = STR("ping_host"), .text = STR("print(1)\n"), .limits = STR("budget(packets=9)"),
			.nparam = 2 };

	j.param[0] = (LaunchParam){ STR("host"), STR("10.0.0.1") };
	j.param[1] = (LaunchParam){ STR("text"), { "a\0\xff=b", 5 } };
	return j;
}

static void test_job_round_trip(void **state)
{
	Writer w = writer(buf, sizeof buf);
	LaunchJob j = job(), back;

	(void)state;
	assert_true(launch_job_put(&w, &j));
	assert_true(launch_job_get(wr_done(&w), &back));
	assert_true(str_eq(back.name, j.name) && str_eq(back.text, j.text) && str_eq(back.limits, j.limits));
	assert_int_equal(back.nparam, 2);
	assert_true(str_is(back.param[0].name, "host") && str_is(back.param[0].value, "10.0.0.1"));
	assert_true(str_eq(back.param[1].value, j.param[1].value));
}

static void test_job_is_strict(void **state)
{
	Writer w = writer(buf, sizeof buf);
	LaunchJob j = job(), back;

	(void)state;
	assert_true(launch_job_put(&w, &j));
	for (size_t n = 0; n < w.n; n++)
		assert_false(launch_job_get(BYTES(buf, n), &back));
	buf[w.n] = 0;
	assert_false(launch_job_get(BYTES(buf, w.n + 1), &back));
	for (size_t i = 0; i < w.n; i++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t was = buf[i];
			Writer out = writer(again, sizeof again);

			buf[i] = (uint8_t)v;
			if (launch_job_get(BYTES(buf, w.n), &back)) {
				assert_true(launch_job_put(&out, &back));
				assert_int_equal(out.n, w.n);
				assert_memory_equal(again, buf, w.n);
			}
			buf[i] = was;
		}
}

static void test_job_bounds(void **state)
{
	static char text[LIMIT_SOURCE + 1];
	LaunchJob j = { .name = STR("n"), .text = { text, LIMIT_SOURCE } }, back;
	Writer w = writer(buf, sizeof buf);

	(void)state;
	memset(text, 'x', sizeof text);
	assert_true(launch_job_put(&w, &j));
	assert_true(launch_job_get(wr_done(&w), &back));
	j.text.n++;
	w = writer(buf, sizeof buf);
	assert_false(launch_job_put(&w, &j));
	j = job();
	j.nparam = LIMIT_LAUNCH_PARAMS + 1;
	w = writer(buf, sizeof buf);
	assert_false(launch_job_put(&w, &j));
	j = job();
	j.param[0].name.n = 0;
	w = writer(buf, sizeof buf);
	assert_false(launch_job_put(&w, &j));
	j = job();
	j.param[1].value = (Str){ text, LIMIT_LAUNCH_VALUE + 1 };
	w = writer(buf, sizeof buf);
	assert_false(launch_job_put(&w, &j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask_round_trip), cmocka_unit_test(test_ask_is_strict),
		cmocka_unit_test(test_ask_texts),      cmocka_unit_test(test_said),
		cmocka_unit_test(test_job_round_trip), cmocka_unit_test(test_job_is_strict),
		cmocka_unit_test(test_job_bounds),
	};

	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
