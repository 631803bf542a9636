/* SPDX-License-Identifier: Apache-2.0
 *
 * Path MTU: a sender of full-size segments on paths of all sizes, that speak or swallow,
 * finds the size; and each rule of RFC 1191, 5927, 8201 and 8899 by itself.
 */
#include "tcpip/pmtu.h"

#include "base/rng.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SEQ = 1000 };

/* ---- paths ---- */

typedef struct Path {
	uint32_t mtu;
	bool speaks;
	unsigned loss; /* of 100 */
	uint64_t draws;
} Path;

static bool passes(Path *w, uint32_t size)
{
	return size <= w->mtu && rng_below(rng_draw(7, w->mtu, w->draws++), 100) >= w->loss;
}

/* One segment, again and again until it arrives; how often it timed out. */
static uint32_t carry(Path *w, Pmtu *p, int64_t now_ns)
{
	for (uint32_t tries = 0;; tries++) {
		uint32_t size = pmtu_now(p);

		assert_true(tries < 60);
		if (passes(w, size)) {
			pmtu_acked(p, size, SEQ + tries, now_ns);
			return tries;
		}
		if (w->speaks && size > w->mtu && pmtu_too_big(p, w->mtu, size, SEQ, now_ns))
			continue;
		pmtu_timeout(p, size, now_ns);
	}
}

static void probe_once(Path *w, Pmtu *p, int64_t now_ns)
{
	uint32_t size = pmtu_probe_size(p, now_ns);

	if (!size)
		return;
	assert_in_range(size, pmtu_now(p) + 1, p->link);
	pmtu_probe_sent(p, size);
	assert_int_equal(pmtu_probe_size(p, now_ns), 0); /* one at a time */
	if (passes(w, size))
		pmtu_acked(p, size, SEQ, now_ns);
	else
		pmtu_probe_lost(p, now_ns);
}

static void found(const Path *w, const Pmtu *p, uint32_t least)
{
	uint32_t want = w->mtu < p->link ? w->mtu : p->link;

	assert_true(pmtu_now(p) <= want);
	assert_true(pmtu_now(p) + 16 >= want || want < least);
	assert_int_equal(p->state, PMTU_COMPLETE);
}

static void test_paths_that_swallow(void **state)
{
	(void)state;
	for (uint32_t mtu = 80; mtu <= 9100; mtu += mtu < 1600 ? 7 : 401)
		for (uint8_t v = 4; v <= 6; v += 2) {
			Path w = { .mtu = mtu };
			Pmtu p;

			if (v == 6 && mtu < PMTU_LEAST_V6)
				continue;
			pmtu_init(&p, v, 9000, 0, 0);
			uint32_t timeouts = carry(&w, &p, 0);
			assert_true(timeouts <= (mtu < 1200 ? 2 + 3 * 4 : 2));
			for (int i = 0; i < 120; i++)
				probe_once(&w, &p, 0);
			found(&w, &p, v == 4 ? PMTU_LEAST_V4 : PMTU_LEAST_V6);
			assert_int_equal(carry(&w, &p, 0), 0);
		}
}

static void test_paths_that_speak(void **state)
{
	(void)state;
	for (uint32_t mtu = 80; mtu <= 1600; mtu += 7) {
		Path w = { .mtu = mtu, .speaks = true };
		Pmtu p;

		pmtu_init(&p, 4, 1500, 0, 0);
		assert_int_equal(carry(&w, &p, 0), mtu < 1500 ? 1 : 0); /* resent at once */
		assert_int_equal(pmtu_now(&p), mtu < 1500 ? mtu : 1500);
		assert_int_equal(pmtu_probe_size(&p, 0), 0);
	}
}

/* Loss alone may take it down, but not keep it there. */
static void test_loss_is_told_from_size(void **state)
{
	(void)state;
	for (unsigned loss = 1; loss <= 30; loss += 7) {
		Path w = { .mtu = 1500, .loss = loss };
		Pmtu p;

		pmtu_init(&p, 4, 1500, 0, 0);
		for (int i = 0; i < 1000; i++) {
			carry(&w, &p, 0);
			probe_once(&w, &p, 0);
		}
		w.loss = 0;
		for (int i = 0; i < 120; i++) {
			carry(&w, &p, NS_PER_S * 700);
			probe_once(&w, &p, NS_PER_S * 700);
		}
		assert_int_equal(pmtu_now(&p), 1500);
	}
}

/* ---- rules ---- */

static void test_rfc1191_no_mtu_told_takes_the_plateau_below(void **state)
{
	Pmtu p;

	(void)state;
	assert_int_equal(pmtu_plateau(1500), 1492);
	assert_int_equal(pmtu_plateau(1492), 1006);
	assert_int_equal(pmtu_plateau(60), 68);
	pmtu_init(&p, 4, 1500, 0, 0);
	assert_true(pmtu_too_big(&p, 0, 1500, SEQ, 0));
	assert_int_equal(pmtu_now(&p), 1492);
	assert_true(pmtu_too_big(&p, 20, 1492, SEQ, 0)); /* RFC 1191 3: never below 68 */
	assert_int_equal(pmtu_now(&p), 68);
	assert_false(pmtu_too_big(&p, 20, 68, SEQ, 0));
}

static void test_rfc8201_below_1280_is_discarded(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 6, 1500, 0, 0);
	assert_false(pmtu_too_big(&p, 1279, 1500, SEQ, 0));
	assert_false(pmtu_too_big(&p, 0, 1500, SEQ, 0));
	assert_int_equal(pmtu_now(&p), 1500);
	assert_true(pmtu_too_big(&p, 1280, 1500, SEQ, 0));
	assert_int_equal(pmtu_now(&p), 1280);
	assert_false(pmtu_timeout(&p, 1280, 0)); /* and nothing is below */
	assert_false(pmtu_timeout(&p, 1280, 0));
	assert_int_equal(p.holes, 0);
}

static void test_a_router_never_raises(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 4, 1500, 1400, 0);
	assert_int_equal(pmtu_now(&p), 1400);
	assert_false(pmtu_too_big(&p, 1400, 1500, SEQ, 0));
	assert_false(pmtu_too_big(&p, 1500, 1500, SEQ, 0));
	assert_int_equal(pmtu_now(&p), 1400);
}

static void test_rfc5927_a_claim_against_evidence_waits_for_a_timeout(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 4, 1500, 0, 0);
	pmtu_acked(&p, 1500, SEQ, 0);
	assert_false(pmtu_too_big(&p, 576, 1500, SEQ, 0));
	pmtu_acked(&p, 1500, SEQ, 0); /* what it quotes is not acknowledged yet */
	assert_int_equal(p.claimed, 576);
	assert_true(pmtu_timeout(&p, 1500, 0));
	assert_int_equal(pmtu_now(&p), 576);

	pmtu_init(&p, 4, 1500, 0, 0);
	pmtu_acked(&p, 1500, SEQ, 0);
	assert_false(pmtu_too_big(&p, 576, 1500, SEQ, 0));
	pmtu_acked(&p, 1500, SEQ + 1460, 0); /* it arrived: forged */
	assert_false(pmtu_timeout(&p, 1500, 0));
	assert_int_equal(pmtu_now(&p), 1500);
}

static void test_one_timeout_is_no_black_hole(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 4, 1500, 0, 0);
	assert_false(pmtu_timeout(&p, 1500, 0));
	pmtu_acked(&p, 1500, SEQ, 0);
	assert_false(pmtu_timeout(&p, 1500, 0));
	assert_false(pmtu_timeout(&p, 600, 0)); /* small ones time out of other causes */
	assert_false(pmtu_timeout(&p, 600, 0));
	assert_true(pmtu_timeout(&p, 1500, 0));
	assert_int_equal(pmtu_now(&p), 1200);
	assert_int_equal(pmtu_probe_size(&p, 0), 0); /* nothing is known to pass yet */
	pmtu_acked(&p, 52, SEQ, 0);
	assert_int_equal(pmtu_probe_size(&p, 0), 1500); /* an outage shows at once */
}

static void test_a_probe_is_lost_three_times_before_its_size_is(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 4, 1500, 0, 0);
	pmtu_timeout(&p, 1500, 0);
	pmtu_timeout(&p, 1500, 0);
	pmtu_acked(&p, 1200, SEQ, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pmtu_probe_size(&p, 0), 1500);
		pmtu_probe_sent(&p, 1500);
		pmtu_probe_lost(&p, 0);
		pmtu_probe_lost(&p, 0); /* told twice counts once */
	}
	assert_int_equal(p.probes_lost, 3);
	assert_in_range(pmtu_probe_size(&p, 0), 1201, 1499);
}

static void test_rfc8899_too_big_for_a_probe_bounds_the_search(void **state)
{
	Pmtu p;

	(void)state;
	pmtu_init(&p, 4, 9000, 1500, 0);
	assert_int_equal(pmtu_probe_size(&p, 0), 0);
	assert_int_equal(pmtu_probe_size(&p, 600 * NS_PER_S), 9000); /* ten minutes later */
	pmtu_probe_sent(&p, 9000);
	assert_false(pmtu_too_big(&p, 4000, 9000, SEQ, 600 * NS_PER_S));
	assert_int_equal(pmtu_now(&p), 1500);
	assert_int_equal(pmtu_probe_size(&p, 600 * NS_PER_S), 4000);
	pmtu_probe_sent(&p, 4000);
	pmtu_acked(&p, 4000, SEQ, 600 * NS_PER_S);
	assert_int_equal(pmtu_now(&p), 4000);
	assert_int_equal(pmtu_probe_size(&p, 600 * NS_PER_S), 0);
}

static void test_the_cache_forgets_in_ten_minutes(void **state)
{
	static PmtuCache c;

	(void)state;
	assert_int_equal(pmtu_cache_get(&c, ip4(1), 0), 0);
	for (uint32_t i = 0; i < LIMIT_PMTU_CACHE; i++)
		pmtu_cache_put(&c, ip4(i + 1), 1000 + i, (int64_t)i);
	for (uint32_t i = 0; i < LIMIT_PMTU_CACHE; i++)
		assert_int_equal(pmtu_cache_get(&c, ip4(i + 1), 100), 1000 + i);
	pmtu_cache_put(&c, ip4(1), 900, 200);	  /* anew */
	pmtu_cache_put(&c, ip4(0xffff), 800, 200); /* one too many: the oldest goes */
	assert_int_equal(pmtu_cache_get(&c, ip4(1), 200), 900);
	assert_int_equal(pmtu_cache_get(&c, ip4(2), 200), 0);
	assert_int_equal(pmtu_cache_get(&c, ip4(3), 200), 1002);
	assert_int_equal(pmtu_cache_get(&c, ip4(0xffff), 200 + 600 * NS_PER_S - 1), 800);
	assert_int_equal(pmtu_cache_get(&c, ip4(0xffff), 200 + 600 * NS_PER_S), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_that_swallow),
		cmocka_unit_test(test_paths_that_speak),
		cmocka_unit_test(test_loss_is_told_from_size),
		cmocka_unit_test(test_rfc1191_no_mtu_told_takes_the_plateau_below),
		cmocka_unit_test(test_rfc8201_below_1280_is_discarded),
		cmocka_unit_test(test_a_router_never_raises),
		cmocka_unit_test(test_rfc5927_a_claim_against_evidence_waits_for_a_timeout),
		cmocka_unit_test(test_one_timeout_is_no_black_hole),
		cmocka_unit_test(test_a_probe_is_lost_three_times_before_its_size_is),
		cmocka_unit_test(test_rfc8899_too_big_for_a_probe_bounds_the_search),
		cmocka_unit_test(test_the_cache_forgets_in_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
