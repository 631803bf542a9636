/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person is shown, and what its hash covers.
 */
#include "base/limits.h"
#include "gate/approval.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMORY = 64 << 20 };

static Lab lab;
static void *memory;
static Str ifaces[] = { { "eth0", 4 } };

static ApprovalInput input(const char *policy, const char *program)
{
	if (!memory)
		memory = calloc(1, MEMORY);
	lab_init(&lab, memory, MEMORY);
	lab_policy(&lab, "/etc/sonde/policy.sonde", policy);
	lab_program(&lab, program);
	lab.in.approvable = true;
	if (!lab_make(&lab))
		fail_msg("refused: %s", lab_text(&lab));
	return (ApprovalInput){ .program_name = STR("scan.sonde"),
				.program = STR("the program's bytes"),
				.params = STR("n=1\n"),
				.session = STR("uid 1000"),
				.build = STR("0.1.0 abcdef"),
				.manifest = &lab.m,
				.rules = lab.r,
				.policies = lab.policy,
				.npolicies = lab.in.npolicies,
				.findings = &lab.f,
				.iface = ifaces,
				.nifaces = 1 };
}

static Approval made(const ApprovalInput *in)
{
	Approval a;
	const char *why = approval_make(in, &lab.a, &a);

	if (why)
		fail_msg("%s", why);
	return a;
}

static bool says(const Approval *a, const char *text)
{
	return memmem(a->text.p, a->text.n, text, strlen(text)) != NULL;
}

static const char policy[] = "reach 10.0.0.0/8 tcp=80,443 udp=9 icmp; spoof 10.20.4.1 rate=50 max=20; approve spoof";
static const char program[] = "emit 10.9.0.2 udp 9; spoof 10.20.4.1; budget packets=2; worst 2";

/* What goes where the gate can't read it, all the more. */
static void a_person_is_told_of_names_and_tls(void **state)
{
	ApprovalInput in = input(policy, program);
	Approval a = made(&in);

	(void)state;
	assert_false(says(&a, "TLS") || says(&a, "tells a peer"));
	lab.m.uses_tls = true;
	vec_push(&lab.a, &lab.m.says, STR("www.acme.corp"));
	a = made(&in);
	assert_true(says(&a, "tells a peer the name \"www.acme.corp\"\n") && says(&a, "speaks TLS\n"));
}

static void a_person_is_told_all(void **state)
{
	static const char *const all[] = {
		"program \"scan.sonde\": 19 bytes, SHA-256", "param \"n=1\"", "asked for by \"uid 1000\"; good for 1 run\n",
		"needs a person: ", "/etc/sonde/policy.sonde", "on interfaces: \"eth0\"", "may send to:\n", "\n  10.9.0.2: UDP 9;\n",
		"claims to be 10.20.4.1: at most 20 packets, 50 a second", "packets=2 ", "by Sonde \"0.1.0 abcdef\""
	};
	ApprovalInput in = input(policy, program);
	Approval a = made(&in), back;

	(void)state;
	assert_int_equal(lab.f.persons, 1);
	assert_int_equal(lab.f.refused, 0);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (!says(&a, all[i]))
			fail_msg("\"%s\" is missing:\n%.*s", all[i], STR_ARG(a.text));
	assert_true(approval_read(a.record, &back));
	assert_true(hash_eq(a.hash, back.hash) && str_eq(back.program, in.program) && back.runs == 1);
}

static void without_one_to_ask_it_is_refused(void **state)
{
	(void)state;
	input("reach 10.0.0.0/8 udp=9", "emit 10.9.0.2 udp 9");
	lab_init(&lab, memory, MEMORY);
	lab_policy(&lab, "p", policy);
	lab_program(&lab, program);
	assert_false(lab_make(&lab)); /* approvable was not said */
	assert_non_null(strstr(lab_text(&lab), "needs approval"));
}

/* Each input that may differ makes another hash. */
static void the_hash_covers_each_part(void **state)
{
	ApprovalInput in = input(policy, program), other = in;
	Hash h = made(&in).hash;

	(void)state;
	assert_true(hash_eq(made(&in).hash, h)); /* and nothing else does */
	other.program = STR("the program's bytez");
	assert_false(hash_eq(made(&other).hash, h));
	other = in;
	other.params = STR("n=2\n");
	assert_false(hash_eq(made(&other).hash, h));
	other = in;
	other.session = STR("uid 1001");
	assert_false(hash_eq(made(&other).hash, h));
	other = in;
	other.build = STR("0.1.0 abcdee");
	assert_false(hash_eq(made(&other).hash, h));
	other = in;
	other.nifaces = 0;
	assert_false(hash_eq(made(&other).hash, h));
	static const char *const policies[] = {
		"reach 10.0.0.0/8 tcp=80,443 udp=9 icmp; spoof 10.20.4.1 rate=50 max=19; approve spoof",
		"reach 10.9.0.0/16 udp=9; spoof 10.20.4.1 rate=50 max=20; approve spoof",
	};
	for (size_t i = 0; i < 2; i++) {
		other = input(policies[i], program);
		assert_false(hash_eq(made(&other).hash, h));
	}
	static const char *const programs[] = {
		"emit 10.9.0.3 udp 9; spoof 10.20.4.1; budget packets=2; worst 2",
		"emit 10.9.0.2 udp 9; spoof 10.20.4.1; budget packets=3; worst 2",
		"emit 10.9.0.2 udp 9; emit 10.9.0.2 icmp; spoof 10.20.4.1; budget packets=2; worst 2",
		"emit 10.9.0.2 udp 9; spoof 10.20.4.1; budget packets=2; worst 1",
	};
	for (size_t i = 0; i < 4; i++) {
		other = input(policy, programs[i]);
		assert_false(hash_eq(made(&other).hash, h));
	}
}

static void a_changed_record_has_another_name_or_none(void **state)
{
	ApprovalInput in = input(policy, program);
	Approval a = made(&in), back;
	uint8_t *copy = malloc(a.record.n + 1);

	(void)state;
	memcpy(copy, a.record.p, a.record.n);
	copy[a.record.n] = 0;
	for (size_t i = 0; i < a.record.n; i++) {
		copy[i] ^= 1;
		if (approval_read(BYTES(copy, a.record.n), &back))
			assert_false(hash_eq(back.hash, a.hash));
		copy[i] ^= 1;
		assert_false(approval_read(BYTES(copy, i), &back));
	}
	assert_false(approval_read(BYTES(copy, a.record.n + 1), &back));
	copy[21] = 0x1b; /* the first letter of the rendering */
	assert_false(approval_read(BYTES(copy, a.record.n), &back));
	free(copy);
}

static void nothing_hides_or_steers(void **state)
{
	ApprovalInput in = input(policy, program);

	(void)state;
	in.program_name = STR("x\x1b[2J\xe2\x80\xae\"\n needs nobody");
	in.params = STR("s=\r\x9b\n");
	in.session = STR("uid 1000\x7f");
	Approval a = made(&in);
	for (size_t i = 0; i < a.text.n; i++)
		assert_true(a.text.p[i] == '\n' || (a.text.p[i] >= 0x20 && a.text.p[i] < 0x7f));
	assert_true(says(&a, "\\x1b[2J\\xe2\\x80\\xae\\\"\\n"));
	assert_false(says(&a, "\n needs nobody"));
}

/* All of a long list is there, in lines of at most APPROVAL_COLUMNS. */
static void long_lines_are_broken_and_never_cut(void **state)
{
	char text[4096] = "reach 10.9.0.2 tcp=1025", p[4096];
	size_t n = strlen(text), column = 0;

	(void)state;
	for (int port = 1027; port < 1600; port += 2)
		n += (size_t)snprintf(text + n, sizeof text - n, ",%d", port);
	snprintf(p, sizeof p, "%s; approve reach=10.9.0.0/16", text);
	ApprovalInput in = input(p, text);
	Approval a = made(&in);

	for (int port = 1025; port < 1600; port += 2) {
		char want[16];

		snprintf(want, sizeof want, "%d", port);
		assert_true(says(&a, want));
	}
	for (size_t i = 0; i < a.text.n; i++) {
		column = a.text.p[i] == '\n' ? 0 : column + 1;
		assert_true(column <= APPROVAL_COLUMNS);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	char text[8192] = "", p[8300];
	size_t n = 0;
	Approval a;

	(void)state;
	for (int i = 1; i < 80; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%sreach 10.9.%d.0/24 udp=%d", i > 1 ? "; " : "", i, 2000 + i);
	snprintf(p, sizeof p, "%s; approve reach=10.9.0.0/16", text);
	ApprovalInput in = input(p, text);
	const char *why = approval_make(&in, &lab.a, &a);

	assert_non_null(why);
	assert_non_null(strstr(why, "60 lines"));
}

/* The same rights stand once; neighbours are one net. */
static void what_is_alike_stands_once(void **state)
{
	ApprovalInput in = input("reach 10.0.0.0/8 udp=9; approve reach=10.0.0.0/8",
				 "reach 10.9.0.0/25 udp=9; reach 10.9.0.128/25 udp=9; reach 10.9.2.0/24 udp=9");
	Approval a = made(&in);

	(void)state;
	assert_true(says(&a, "  10.9.0.0/24, 10.9.2.0/24: UDP 9;\n"));
}

static void policy_says_for_how_many_runs(void **state)
{
	Policy p[3] = { { .floor = true }, { .floor = false }, { .floor = false } };

	(void)state;
	assert_int_equal(approval_runs(p, 1), 1);
	p[0].decls.approve_runs = 5;
	assert_int_equal(approval_runs(p, 3), 5);
	p[1].decls.approve_runs = 9;
	p[2].decls.approve_runs = 3;
	assert_int_equal(approval_runs(p, 3), 3);
	p[0].decls.approve_runs = 0;
	assert_int_equal(approval_runs(p, 3), 1);
	p[0].decls.approve_runs = INT32_MAX;
	assert_int_equal(approval_runs(p, 1), LIMIT_APPROVED_RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_is_told_all), cmocka_unit_test(a_person_is_told_of_names_and_tls),
		cmocka_unit_test(without_one_to_ask_it_is_refused),
		cmocka_unit_test(the_hash_covers_each_part),
		cmocka_unit_test(a_changed_record_has_another_name_or_none),
		cmocka_unit_test(nothing_hides_or_steers),
		cmocka_unit_test(long_lines_are_broken_and_never_cut),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(what_is_alike_stands_once),
		cmocka_unit_test(policy_says_for_how_many_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
