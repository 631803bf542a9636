/* SPDX-License-Identifier: Apache-2.0
 *
 * Accounts over time and lines of the log, against plain sums and plain rules.
 */
#include "base/rng.h"
#include "gate/ledger_row.h"
#include "gate/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t length[LEDGER_SPANS] = { 60, 3600, 86400 }, slot[LEDGER_SPANS] = { 10, 300, 3600 };

static LedgerCount packets(uint64_t n)
{
	return (LedgerCount){ .v = { [LEDGER_PACKETS] = n } };
}

static uint64_t sum(const LedgerRow *r, LedgerSpan s, int64_t now)
{
	return ledger_row_sum(r, s, now).v[LEDGER_PACKETS];
}

/* Never less than what was used in the window's length, never more than in one slot
 * longer: checked against the list of all that was added, at random times. */
static void windows_hold_what_was_used(void **state)
{
	enum { EVENTS = 4000 };
	static int64_t at[EVENTS];
	static uint64_t n[EVENTS];
	LedgerRow r = { .name = "uid 1000" };
	int64_t now = 0;

	(void)state;
	for (int i = 0; i < EVENTS; i++) {
		static const int64_t step[] = { 0, 1, 9, 10, 59, 301, 3599, 3600, 40000, 90000 };

		now += step[rng_draw(7, 1, (uint64_t)i) % 10] * (int64_t)(rng_draw(7, 2, (uint64_t)i) % 3);
		at[i] = now;
		n[i] = rng_draw(7, 3, (uint64_t)i) % 50;
		ledger_row_add(&r, &(LedgerCount){ .v = { [LEDGER_PACKETS] = n[i] } }, now);
		for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
			uint64_t least = 0, most = 0, got = sum(&r, s, now);

			for (int k = i; k >= 0 && at[k] > now - length[s] - slot[s]; k--) {
				least += at[k] > now - length[s] ? n[k] : 0;
				most += n[k];
			}
			assert_in_range(got, least, most);
		}
	}
}

static void a_window_ends(void **state)
{
	LedgerCount ten = packets(10);

	(void)state;
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
		LedgerRow r = { .name = "x" };
		int64_t t = 7 * 86400 + 5;

		ledger_row_add(&r, &ten, t);
		assert_int_equal(sum(&r, s, t + length[s] - 1), 10);
		assert_int_equal(sum(&r, s, t + length[s] + slot[s]), 0);
		ledger_row_add(&r, &ten, t + length[s] + slot[s]); /* into the ring's old place */
		assert_int_equal(sum(&r, s, t + length[s] + slot[s]), 10);
	}
}

static void what_was_not_used_comes_back_once(void **state)
{
	LedgerCount ten = packets(10), four = packets(4);
	LedgerRow r = { .name = "x" };

	(void)state;
	ledger_row_add(&r, &ten, 100);
	ledger_row_add(&r, &ten, 115);
	ledger_row_give_back(&r, &four, 100, 130);
	assert_int_equal(sum(&r, LEDGER_MINUTE, 130), 16);
	assert_int_equal(sum(&r, LEDGER_DAY, 130), 16);
	/* the minute of 100 is over: nothing of it can come back there, and the ten of 115 stay */
	ledger_row_give_back(&r, &four, 100, 171);
	assert_int_equal(sum(&r, LEDGER_MINUTE, 171), 10);
	assert_int_equal(sum(&r, LEDGER_HOUR, 171), 12);
	/* more than there was is not owed */
	ledger_row_give_back(&r, &(LedgerCount){ .v = { [LEDGER_PACKETS] = 1000 } }, 100, 171);
	assert_int_equal(sum(&r, LEDGER_MINUTE, 171), 10);
}

static void sums_do_not_wrap(void **state)
{
	LedgerCount most = { .v = { [LEDGER_BYTES] = UINT64_MAX - 1 } };
	LedgerRow r = { .name = "x" };

	(void)state;
	ledger_row_add(&r, &most, 100);
	ledger_row_add(&r, &most, 100);
	ledger_row_add(&r, &most, 700);
	assert_true(ledger_row_sum(&r, LEDGER_HOUR, 700).v[LEDGER_BYTES] == UINT64_MAX);
}

static void a_time_before_the_last_is_now(void **state)
{
	LedgerCount ten = packets(10);
	LedgerRow r = { .name = "x" };

	(void)state;
	ledger_row_add(&r, &ten, 100000);
	ledger_row_add(&r, &ten, 500);
	assert_int_equal(sum(&r, LEDGER_HOUR, 500), 20);
	assert_int_equal(sum(&r, LEDGER_HOUR, 100000), 20);
}

static void clocks(void **state)
{
	const LedgerClock was = { .boot = "boot a", .boot_s = 500, .real_s = 1000000 };
	LedgerClock is = was;

	(void)state;
	is.boot_s = 530;
	is.real_s = 1000030;
	assert_int_equal(ledger_time(77, &was, &is), 107);
	is.real_s = 5; /* the wall clock was set back, or far ahead: no matter */
	assert_int_equal(ledger_time(77, &was, &is), 107);
	is.real_s = INT64_C(4000000000);
	assert_int_equal(ledger_time(77, &was, &is), 107);
	is.boot_s = 400; /* cannot be; time stands still */
	assert_int_equal(ledger_time(77, &was, &is), 77);
	is = (LedgerClock){ .boot = "boot b", .boot_s = 3, .real_s = 1000900 };
	assert_int_equal(ledger_time(77, &was, &is), 977);
	is.real_s = 10; /* booted with a clock of 1970: nothing has passed */
	assert_int_equal(ledger_time(77, &was, &is), 77);
	is.real_s = INT64_MAX;
	assert_int_equal(ledger_time(77, &was, &is), 77);
}

static void rows_keep_or_tell(void **state)
{
	LedgerRow r = { .name = "10.9.0.2" }, back;
	static uint8_t buf[LEDGER_ROW], zero[LEDGER_ROW];

	(void)state;
	for (int i = 0; i < 50; i++)
		ledger_row_add(&r, &(LedgerCount){ .v = { 1, 2, 3, 4, 5, 6 } }, 1000 + 977 * i);
	ledger_row_encode(&r, buf);
	assert_true(ledger_row_decode(buf, &back));
	assert_memory_equal(&r, &back, sizeof r);
	for (size_t i = 0; i < LEDGER_ROW; i++) {
		buf[i] ^= 4;
		assert_false(ledger_row_decode(buf, &back));
		buf[i] ^= 4;
	}
	assert_true(ledger_row_decode(zero, &back));
	assert_int_equal(back.name[0], 0);
}

/* ---- lines of the log ---- */

static Bytes line_make(LogLine *l, LogChain *c, const char *what)
{
	log_begin(l, c, INT64_C(1769860800), "start"); /* 2026-01-31T12:00:00Z */
	log_str(l, "claimed_program", str_c(what));
	log_num(l, "packets", 12);
	assert_true(log_end(l, c));
	return BYTES(l->text, l->n - 1);
}

static void log_lines_chain(void **state)
{
	static LogLine l;
	LogChain c = { 0 }, check = { 0 }, from_second = { 0 };
	Bytes b = line_make(&l, &c, "a\"b\\c\x1b[2J\n");

	(void)state;
	assert_non_null(strstr(l.text, "\"time\":\"2026-01-31T12:00:00Z\",\"event\":\"start\",\"claimed_program\":"
				       "\"a\\u0022b\\u005cc\\u001b[2J\\u000a\",\"packets\":12,\"hash\":"));
	assert_null(log_chain_check(&check, b));
	LogChain one = check;
	b = line_make(&l, &c, "second");
	assert_null(log_chain_check(&check, b));
	assert_null(log_chain_check(&from_second, b)); /* a new file goes on where the old one ended */
	assert_int_equal(check.seq, 2);
	check = one;
	for (size_t i = 0; i < b.n; i++) {
		l.text[i] ^= 1;
		assert_non_null(log_chain_check(&check, b));
		l.text[i] ^= 1;
	}
	b = line_make(&l, &c, "third");
	assert_non_null(log_chain_check(&check, b)); /* the second was taken out */
}

static void log_lines_are_never_cut(void **state)
{
	static LogLine l;
	static char text[LOG_LINE];
	LogChain c = { 0 }, before = c;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	log_begin(&l, &c, 0, "start");
	log_str(&l, "claimed_program", str_c(text));
	assert_false(log_end(&l, &c));
	assert_memory_equal(&c, &before, sizeof c);
}

static void log_dates_are_the_calendars(void **state)
{
	static const struct {
		int64_t s;
		const char *text;
	} rows[] = { { 0, "1970-01-01T00:00:00Z" },		{ 951782400, "2000-02-29T00:00:00Z" },
		     { INT64_C(4107542399), "2100-02-28T23:59:59Z" }, { INT64_C(4107542400), "2100-03-01T00:00:00Z" },
		     { INT64_C(1798761599), "2026-12-31T23:59:59Z" } };
	static LogLine l;
	LogChain c = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		log_begin(&l, &c, rows[i].s, "x");
		assert_non_null(strstr(l.text, rows[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_hold_what_was_used),
		cmocka_unit_test(a_window_ends),
		cmocka_unit_test(what_was_not_used_comes_back_once),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(a_time_before_the_last_is_now),
		cmocka_unit_test(clocks),
		cmocka_unit_test(rows_keep_or_tell),
		cmocka_unit_test(log_lines_chain),
		cmocka_unit_test(log_lines_are_never_cut),
		cmocka_unit_test(log_dates_are_the_calendars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
