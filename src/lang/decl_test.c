/* SPDX-License-Identifier: Apache-2.0
 *
 * What declarations become.  What is refused stands in tests/lang/decl.
 */
#include "lang/decl.h"
#include "lang/parse.h"
#include "lang/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[4 << 20];
static Arena arena;

static Decls policy(const char *text)
{
	DiagList d;
	Decls out;

	arena_init(&arena, memory, sizeof memory, NULL);
	d = (DiagList){ .a = &arena };
	if (!decl_policy(str_c(text), &arena, &d, &out))
		fail_msg("%s: %.*s", text, STR_ARG(d.v.p[0].message));
	return out;
}

static Decls program(const char *text, uint32_t errors)
{
	static Ast ast;
	DiagList d, lib_d;
	Scopes scopes;
	Decls out;

	arena_init(&arena, memory, sizeof memory, NULL);
	d = lib_d = (DiagList){ .a = &arena };
	ast_init(&ast, &arena);
	assert_true(parse_file(&ast, STR("t"), str_c(text), false, &d));
	scope_run(&ast, &d, &lib_d, &scopes);
	decl_read(&arena, &ast.files.p[0], DECL_PROGRAM, &d, &out);
	assert_int_equal(d.errors, errors);
	return out;
}

static void assert_target(const Target *t, const char *want)
{
	Sb b = sb(&arena);

	target_text(t, &b);
	Str got = sb_done(&b);

	if (!str_is(got, want))
		fail_msg("%.*s is not %s", STR_ARG(got), want);
}

static void budgets_have_units(void **state)
{
	Decls d = policy("budget(packets=20000, bytes=50MB, time=1.5)\nbudget(leak=0, byte_rate=10Mbit, syn=2*50)");

	(void)state;
	assert_int_equal(d.budget.v[BOUND_PACKETS], 20000);
	assert_int_equal(d.budget.v[BOUND_BYTES], 50000000);
	assert_int_equal(d.budget.v[BOUND_TIME], 1500000000);
	assert_int_equal(d.budget.v[BOUND_BYTE_RATE], 1250000);
	assert_int_equal(d.budget.v[BOUND_SYN], 100);
	assert_int_equal(d.budget.v[BOUND_LEAK], 0);
	assert_int_equal(d.budget.declared, 1u << BOUND_PACKETS | 1u << BOUND_BYTES | 1u << BOUND_TIME |
						   1u << BOUND_BYTE_RATE | 1u << BOUND_SYN | 1u << BOUND_LEAK);
}

static void reach_has_targets_and_ports(void **state)
{
	Decls d = policy("reach(\"10.20.0.0/16\", \"DB.Acme.corp\", tcp=[80, (8000, 8100), 81], udp=[53])\n"
			 "reach(\"2001:db8::1\", fragments=True, options=False)\n"
			 "deny(\"10.20.3.4\", icmp=True)");

	(void)state;
	assert_int_equal(d.reach.n, 3);
	assert_target(&d.reach.p[0].target, "10.20.0.0/16");
	assert_target(&d.reach.p[1].target, "db.acme.corp");
	assert_target(&d.reach.p[2].target, "2001:db8::1");
	for (int i = 0; i < 2; i++) {
		assert_false(d.reach.p[i].alone);
		assert_false(d.reach.p[i].icmp);
		assert_true(ports_have(&d.reach.p[i].tcp, 81));
		assert_true(ports_have(&d.reach.p[i].tcp, 8050));
		assert_false(ports_have(&d.reach.p[i].tcp, 82));
		assert_true(ports_have(&d.reach.p[i].udp, 53));
	}
	assert_true(d.reach.p[2].alone);
	assert_int_equal(d.reach.p[2].words, 1u << WORD_FRAGMENTS);
	assert_int_equal(d.deny.n, 1);
	assert_true(d.deny.p[0].icmp);
}

static void words_of_policies(void **state)
{
	Decls d = policy("zone(\"acme.corp\", all)\nresolver(\"10.0.0.53\")\n"
			 "spoof(\"10.20.4.0/28\", \"02:00:00:00:00:01\", rate=100, max=250)\n"
			 "approve(spoof, listen, leak=512, runs=5, reach=\"10.9.0.0/16\")\n"
			 "may_follow(\"10.1.0.0/16\", \"10.2.0.0/16\")\noutput(\"measurements\")\n"
			 "reflect(IP.dst, src=\"10.0.0.1\", dst=\"10.0.0.2\", max=64)\ncapture(all)\n"
			 "listen(8080, \"10.0.0.0/8\")\nallow_self(\"127.0.0.1\")\napprove_by_form()\ninsecure_dev()");

	(void)state;
	assert_true(d.zone_set && d.zone_all && d.zones.n == 1);
	assert_int_equal(d.resolvers.n, 1);
	assert_int_equal(d.spoof.n, 2);
	assert_false(d.spoof.p[0].is_mac);
	assert_int_equal(ip4_num(d.spoof.p[0].hi), 0x0a14040f);
	assert_true(d.spoof.p[1].is_mac);
	assert_int_equal(d.spoof.p[1].rate, 100);
	assert_int_equal(d.spoof.p[1].max, 250);
	assert_int_equal(d.approve, APPROVE_SPOOF | APPROVE_LISTEN);
	assert_int_equal(d.approve_leak, 512);
	assert_int_equal(d.approve_runs, 5);
	assert_int_equal(d.approve_reach.n, 1);
	assert_int_equal(d.may_follow.n, 2);
	assert_true(d.output_measurements && d.approve_by_form && d.insecure_dev);
	assert_true(str_is(d.reflect.p[0].field, "IP.dst"));
	assert_int_equal(d.reflect.p[0].max, 64);
	assert_true(d.capture.p[0].all);
	assert_int_equal(d.listen.p[0].port, 8080);
	assert_int_equal(d.allow_self.n, 1);
}

/* A policy with an error allows nothing that a reader could take from it in part. */
static void a_wrong_policy_says_so(void **state)
{
	DiagList d;
	Decls out;

	(void)state;
	arena_init(&arena, memory, sizeof memory, NULL);
	d = (DiagList){ .a = &arena };
	assert_false(decl_policy(STR("reach(\"10.0.0.0/8\")\nrech(\"10.0.0.0/8\")"), &arena, &d, &out));
	assert_int_equal(d.v.p[0].span.from, 20);
	assert_true(str_is(d.v.p[0].fix.text, "reach"));
	d = (DiagList){ .a = &arena };
	assert_false(decl_policy(STR("reach(\"10.0.0.0/8\""), &arena, &d, &out));
}

static void declarations_stand_first(void **state)
{
	Decls d = program("\"\"\"doc\"\"\"\nbudget(syn=5)\nparam n: int = 3\nreach(\"10.0.0.1\")\nx = 1\nprint(x)", 0);

	(void)state;
	assert_int_equal(d.budget.v[BOUND_SYN], 5);
	assert_int_equal(d.reach.n, 1);
	assert_int_equal(d.param.n, 1);
	assert_true(str_is(d.param.p[0].type, "int"));
	program("x = 1\nbudget(syn=5)", 1);
	/* names of the program's own are no declarations */
	program("def output(x):\n    return x\nprint(output(1))", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budgets_have_units),	  cmocka_unit_test(reach_has_targets_and_ports),
		cmocka_unit_test(words_of_policies),	  cmocka_unit_test(a_wrong_policy_says_so),
		cmocka_unit_test(declarations_stand_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
