/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session was shown and had, against what its next run may do.
 */
#include "gate/compartments.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMORY = 16 << 20 };

static uint8_t *memory;
static Arena arena;
static uint8_t file[SESSION_RECORD];
static Writer records;
static Policy policy;
static Manifest manifest;
static RulesInput in;

static int begin(void **state)
{
	(void)state;
	arena_init(&arena, memory, MEMORY, NULL);
	records = writer(file, sizeof file);
	policy = (Policy){ .file = STR("policy"), .floor = true };
	manifest = (Manifest){ 0 };
	in = (RulesInput){ .policies = &policy, .npolicies = 1, .manifest = &manifest, .approvable = true };
	return 0;
}

static Rights rights_tcp(uint16_t port)
{
	Rights r = { .icmp = true };

	if (port)
		ports_add(&arena, &r.tcp, port, port);
	return r;
}

static Rules *rules_to(const char *lo, const char *hi, uint16_t port)
{
	Rules *r = arena_new(&arena, Rules);
	Rights *rights = arena_new(&arena, Rights);

	*rights = rights_tcp(port);
	for (int i = 0; i < BOUND_LEAK; i++)
		r->budget.v[i] = bound_default((Bound)i);
	vec_push(&arena, &r->seg4, (Segment4){ ip4_num(lab_ip(lo)), ip4_num(lab_ip(hi)), rights });
	return r;
}

static void shown(const char *lo, const char *hi, const char *name)
{
	uint8_t buf[WHENCE_BYTES];
	Writer w = writer(buf, sizeof buf);
	Whence x = { .kind = lo ? name ? WHENCE_NAME : WHENCE_ADDRS : WHENCE_ANY };

	if (lo) {
		x.lo = lab_ip(lo);
		x.hi = lab_ip(hi);
	}
	if (name)
		x.name = str_c(name);
	assert_true(whence_put(&w, &x));
	assert_true(session_shown(&records, wr_done(&w)));
}

static void had(const Rules *r)
{
	assert_true(session_had(&records, r, &manifest, &arena));
}

static void follow(const char *from_lo, const char *from_hi, const char *lo, const char *hi)
{
	vec_push(&arena, &policy.decls.may_follow, (Target){ .lo = lab_ip(from_lo), .hi = lab_ip(from_hi) });
	vec_push(&arena, &policy.decls.may_follow, (Target){ .lo = lab_ip(lo), .hi = lab_ip(hi) });
}

/* 'r': refused, 'p': needs a person, '-': may run */
static char may(const Rules *r)
{
	Findings f = { .a = &arena };
	Session s;

	assert_true(session_read(wr_done(&records), &arena, &s));
	session_check(&s, &in, r, &f);
	return f.refused ? 'r' : f.persons ? 'p' : '-';
}

#define A "10.0.0.1"
#define B "10.0.0.2"

static void test_before_content_nothing_is_asked(void **state)
{
	(void)state;
	had(rules_to(A, A, 80));
	assert_int_equal(may(rules_to(B, B, 443)), '-');
}

static void test_after_content_only_there_and_only_as_before(void **state)
{
	(void)state;
	had(rules_to(A, A, 80));
	had(rules_to(B, B, 80));
	shown(A, A, NULL);
	assert_int_equal(may(rules_to(A, A, 80)), '-');
	assert_int_equal(may(rules_to(A, A, 0)), '-');
	assert_int_equal(may(rules_to(A, A, 443)), 'p');
	assert_int_equal(may(rules_to(B, B, 80)), 'r');
	assert_int_equal(may(rules_to(A, B, 80)), 'r');
	shown(B, B, NULL);
	assert_int_equal(may(rules_to(A, A, 80)), 'r');
}

static void test_the_installed_policy_says_what_may_follow(void **state)
{
	Policy two[2];

	(void)state;
	shown(A, A, NULL);
	follow(A, A, B, B);
	assert_int_equal(may(rules_to(B, B, 80)), '-');
	assert_int_equal(may(rules_to(A, A, 80)), 'p');
	assert_int_equal(may(rules_to("10.0.0.3", "10.0.0.3", 80)), 'r');
	/* a caller's policy gives nothing of its own, and takes only where it speaks of it */
	two[0] = (Policy){ .floor = true };
	two[1] = policy;
	two[1].floor = false;
	in.policies = two;
	in.npolicies = 2;
	assert_int_equal(may(rules_to(B, B, 80)), 'r');
	two[0] = policy;
	two[1] = (Policy){ 0 };
	assert_int_equal(may(rules_to(B, B, 80)), '-');
}

static void test_a_network_is_no_compartment_but_a_name_is(void **state)
{
	(void)state;
	had(rules_to("10.0.0.0", "10.0.0.255", 80));
	shown(A, A, "db.lab");
	shown(B, B, "db.lab");
	assert_int_equal(may(rules_to(A, A, 80)), '-');
	assert_int_equal(may(rules_to(B, B, 80)), '-');
	shown("10.0.0.0", "10.0.0.255", NULL);
	assert_int_equal(may(rules_to(A, A, 80)), 'r');
	follow("10.0.0.0", "10.0.0.255", "10.0.0.0", "10.0.0.255");
	assert_int_equal(may(rules_to(A, A, 80)), '-');
}

static void test_content_of_anybody_keeps_from_everybody(void **state)
{
	(void)state;
	had(rules_to(A, A, 80));
	shown(NULL, NULL, NULL);
	assert_int_equal(may(rules_to(A, A, 80)), 'r');
}

static void test_more_leak_or_spoofing_needs_a_person(void **state)
{
	Rules *r = rules_to(A, A, 80);

	(void)state;
	had(r);
	shown(A, A, NULL);
	r->budget.v[BOUND_LEAK] = 8;
	assert_int_equal(may(r), 'p');
	r->budget.v[BOUND_LEAK] = 0;
	vec_push(&arena, &r->spoof, (SpoofRule){ .lo = lab_ip(B), .hi = lab_ip(B) });
	assert_int_equal(may(r), 'p');
	had(r);
	assert_int_equal(may(r), '-');
}

static void test_a_bound_above_default_and_before_needs_a_person(void **state)
{
	Rules *r = rules_to(A, A, 80), *more = rules_to(A, A, 80);

	(void)state;
	r->budget.v[BOUND_PACKETS] = 1;
	had(r);
	shown(A, A, NULL);
	assert_int_equal(may(more), '-');
	for (int i = 0; i < BOUND_LEAK; i++) {
		int64_t before = more->budget.v[i];

		more->budget.v[i]++;
		assert_int_equal(may(more), 'p');
		more->budget.v[i] = 0; /* none */
		assert_int_equal(may(more), 'p');
		more->budget.v[i] = before;
	}
	more->budget.v[BOUND_TIME]++;
	had(more);
	assert_int_equal(may(more), '-');
}

static void test_names_go_to_resolvers_that_may_follow(void **state)
{
	const Ip resolver = lab_ip(B);
	Findings f = { .a = &arena };
	Session s;

	(void)state;
	shown(A, A, NULL);
	vec_push(&arena, &manifest.names, STR("db.lab"));
	assert_true(session_read(wr_done(&records), &arena, &s));
	session_check_names(&s, &in, &resolver, 1, &f);
	assert_int_equal(f.refused, 1);
	had(rules_to(A, A, 80)); /* a name that was looked up before tells nothing new */
	f = (Findings){ .a = &arena };
	assert_true(session_read(wr_done(&records), &arena, &s));
	session_check_names(&s, &in, &resolver, 1, &f);
	assert_int_equal(f.refused, 0);
}

static void test_what_is_no_record_is_no_session(void **state)
{
	Session s;

	(void)state;
	had(rules_to(A, A, 80));
	shown(A, A, NULL);
	for (size_t n = 1; n < records.n; n++) {
		bool ok = session_read(BYTES(file, n), &arena, &s);

		assert_true(!ok || s.shown.n + s.had.n < 2 || n == records.n);
	}
	file[0] = 9;
	assert_false(session_read(wr_done(&records), &arena, &s));
}

static int setup(void **state)
{
	(void)state;
	memory = malloc(MEMORY);
	return memory ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_before_content_nothing_is_asked, begin),
		cmocka_unit_test_setup(test_after_content_only_there_and_only_as_before, begin),
		cmocka_unit_test_setup(test_the_installed_policy_says_what_may_follow, begin),
		cmocka_unit_test_setup(test_a_network_is_no_compartment_but_a_name_is, begin),
		cmocka_unit_test_setup(test_content_of_anybody_keeps_from_everybody, begin),
		cmocka_unit_test_setup(test_more_leak_or_spoofing_needs_a_person, begin),
		cmocka_unit_test_setup(test_a_bound_above_default_and_before_needs_a_person, begin),
		cmocka_unit_test_setup(test_names_go_to_resolvers_that_may_follow, begin),
		cmocka_unit_test_setup(test_what_is_no_record_is_no_session, begin),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
