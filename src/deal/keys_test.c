/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define H1 "00000000000000000000000000000000000000000000000000000000000000aa"
#define H2 "00000000000000000000000000000000000000000000000000000000000000bb"

static void test_rows(void **state)
{
	Str text = STR("# who\n\nalice key=" H1 " until=2027-01-31 policy=/etc/sonde/alice.sonde\nbob subject=auth0|7\nalice key=" H2
		       " policy=/etc/sonde/alice.sonde");
	Str rest = text;
	unsigned line;
	const char *why;
	KeyRow r;

	(void)state;
	assert_true(keys_check(text, &line, &why));
	assert_int_equal(keys_next(&rest, &r), 1);
	assert_true(str_is(r.name, "alice") && !r.by_subject && r.hash.b[31] == 0xaa && str_is(r.policy, "/etc/sonde/alice.sonde"));
	assert_int_equal(r.until, 20270131);
	assert_true(keys_row_good(&r, 20270131) && !keys_row_good(&r, 20270201));
	assert_int_equal(keys_next(&rest, &r), 1);
	assert_true(str_is(r.name, "bob") && r.by_subject && str_is(r.subject, "auth0|7") && r.policy.n == 0);
	assert_true(keys_row_good(&r, 99991231));
	assert_int_equal(keys_next(&rest, &r), 1);
	assert_int_equal(keys_next(&rest, &r), 0);
	assert_int_equal(keys_next(&rest, &r), 0);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
	} bad[] = {
		{ "alice\n", 1 },
		{ "alice \n", 1 },
		{ "alice  key=" H1 "\n", 1 },
		{ "alice key=" H1 " \n", 0 },
		{ "\nalice key=" H1 " role=admin\n", 2 },
		{ "alice key=" H1 " subject=x\n", 1 },
		{ "alice key=" H1 " key=" H2 "\n", 1 },
		{ "alice until=2027-01-01\n", 1 },
		{ "alice key=abc\n", 1 },
		{ "alice key=" H1 " policy=relative\n", 1 },
		{ "alice key=" H1 " until=2027-02-29\n", 1 },
		{ "alice key=" H1 " until=2027-1-1\n", 1 },
		{ "a b key=" H1 "\n", 1 },
		{ "-x key=" H1 "\n", 1 },
		{ "alice key=" H1 "\r\n", 1 },
		{ "alice key=" H1 "\nbob key=" H1 "\n", 2 },
		{ "bob subject=s\ncarol subject=s\n", 2 },
		{ "alice key=" H1 " policy=/a\nalice key=" H2 " policy=/b\n", 2 },
		{ "alice key=" H1 " policy=/a\nalice key=" H2 "\n", 2 },
		{ "alice subject=\n", 1 },
		{ "alice subject=\xc3\xa4\n", 1 },
		{ " alice subject=a\n", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		unsigned line = 0;
		const char *why = NULL;
		bool ok = keys_check(str_c(bad[i].text), &line, &why);

		if (bad[i].line == 0) { /* a blank at the end is only ugly */
			assert_true(ok);
			continue;
		}
		if (ok || line != bad[i].line || !why)
			fail_msg("%s: %d line %u %s", bad[i].text, ok, line, why ? why : "");
	}
	char nul[] = "alice subject=a\0b\n";
	unsigned line;
	const char *why;

	assert_false(keys_check((Str){ nul, sizeof nul - 1 }, &line, &why));
}

static void test_days(void **state)
{
	(void)state;
	assert_int_equal(keys_day(STR("2028-02-29")), 20280229);
	assert_int_equal(keys_day(STR("2100-02-29")), 0);
	assert_int_equal(keys_day(STR("2028-13-01")), 0);
	for (int64_t t = 0; t < INT64_C(4102444800); t += 86400 * 3 + 4567) {
		time_t tt = (time_t)t;
		struct tm tm;

		gmtime_r(&tt, &tm);
		assert_int_equal(keys_today(t), (tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
	}
}

static void test_key_text(void **state)
{
	uint8_t secret[KEYS_SECRET];
	char key[KEYS_KEY];

	(void)state;
	for (unsigned i = 0; i < KEYS_SECRET; i++)
		secret[i] = (uint8_t)(i * 7 + 3);
	keys_text(secret, key);
	/* base64url of the bytes, by Python */
	assert_string_equal(key, "sonde_AwoRGB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5wMfO1dw");
	assert_true(keys_looks_like(str_c(key)));
	assert_false(keys_looks_like(STR("sonde_")));
	assert_false(keys_looks_like(STR("eyJ")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_key_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
