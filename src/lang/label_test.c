/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds of the sets, what is told of costs, and what lowering makes of them; the
 * rules themselves are tested by tests/lang/labels and tests/attacks.
 */
#include "lang/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMORY = 128 << 20 };

static uint8_t *memory;
static Arena arena;

static Compiled *compiled(Str text)
{
	arena_init(&arena, memory, MEMORY, NULL);
	Compiled *c = arena_new(&arena, Compiled);

	compile(&(CompileIn){ .a = &arena, .name = STR("test"), .text = text }, c);
	return c;
}

/* Those that pay; where the end is paid, others ask whether it still can be. */
static unsigned count_op(const Compiled *c, OpCode op)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->program->nfn; i++)
		for (uint32_t k = 0; k < c->program->fn[i].ncode; k++)
			n += c->program->fn[i].code[k].op == op && c->program->fn[i].code[k].c;
	return n;
}

#define A "sr1(IP(dst=\"10.0.0.1\")/ICMP())"
#define B "send(IP(dst=\"10.0.0.2\")/UDP(dport=9))\n"

static void test_meters_stand_where_it_is_paid(void **state)
{
	(void)state;
	Compiled *c = compiled(STR("r = " A "\nif r:\n    " B));

	assert_int_equal(count_op(c, I_METER), 1);
	assert_int_equal(c->program->leak_end, LEAK_END_PAID);
	c = compiled(STR("r = " A "\nif r:\n    print(1)\n" B));
	assert_int_equal(count_op(c, I_METER), 0);
	assert_int_equal(c->program->leak_end, LEAK_END_EARLY);
	c = compiled(STR("r = " A "\nif r:\n    print(1)\n"));
	assert_int_equal(c->program->leak_end, LEAK_END_FREE);
	c = compiled(STR("ans, un = sr([IP(dst=\"10.0.0.1\")/ICMP() for i in range(3)])\n"
			 "send(IP(dst=\"10.0.0.2\", id=len(ans))/UDP(dport=9))\n"));
	assert_int_equal(count_op(c, I_METERN), 1);
}

static void test_reflect_bounds_reach_the_program(void **state)
{
	(void)state;
	Compiled *c = compiled(STR("reflect(payload, src=\"10.0.0.0/24\", dst=\"10.0.0.2\", max=99)\nr = " A
				   "\nif r:\n    send(IP(dst=\"10.0.0.2\")/UDP(dport=9)/r.payload)\n"));

	assert_non_null(c->program);
	assert_int_equal(c->program->nreflect, 1);
	assert_int_equal(c->program->reflect_max[0], 99);
	assert_int_equal(count_op(c, I_METERN), 1);
}

static bool goes_back(const char *peer, const char *relay)
{
	Arena *a = &arena;

	arena_init(a, memory, MEMORY, NULL);
	Ip ip;
	Compiled *c = arena_new(a, Compiled);
	Str text = str_printf(a, "r = sr1(IP(dst=\"%s\")/UDP(dport=7))\nif r and UDP in r:\n"
				 "    send(IP(dst=\"%s\")/UDP(dport=7)/r.payload)\n", peer, peer);

	assert_true(ip_parse(str_c(relay), &ip));
	Target t = { .lo = ip, .hi = ip };
	return compile(&(CompileIn){ .a = a, .name = STR("test"), .text = text, .relay = &t, .nrelay = 1 }, c);
}

static void test_what_comes_from_a_relay_does_not_go_back(void **state)
{
	(void)state;
	assert_true(goes_back("10.0.0.1", "10.0.0.2"));
	assert_false(goes_back("10.0.0.1", "10.0.0.1"));
	assert_false(goes_back("a.acme.corp", "10.0.0.1")); /* may be it */
	assert_true(goes_back("10.0.0.1", "2001:db8::1"));
}

static void test_the_path_is_told(void **state)
{
	(void)state;
	Compiled *c = compiled(STR("r = " A "\nup = r\nif up:\n    " B));

	assert_int_equal(c->manifest.leak.n, 1);
	Str path = c->manifest.leak.p[0].path;

	assert_true(str_eq(path, STR("line 1: sr1(IP(dst=\"10.0.0.1\")/ICMP()) -> line 2: r -> line 3: up -> "
				     "line 4: send(IP(dst=\"10.0.0.2\")/UDP(dport=9))")));
}

/* One more origin, or site, than a set can tell apart: nothing is lost. */
static void test_full_sets_stand_for_everything(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 40; n += 19) {
		Arena texts;

		arena_init(&texts, memory + MEMORY, MEMORY, NULL);
		Sb b = sb(&texts);

		sb_cstr(&b, "n = 0\n");
		for (unsigned i = 0; i < n; i++)
			sb_printf(&b, "n += len(sr([IP(dst=\"10.0.1.%u\")/ICMP()] * 2).unans)\n", i + 1);
		sb_cstr(&b, "if n > 3:\n    " B);
		Compiled *c = compiled(sb_done(&b));

		assert_non_null(c->program);
		assert_int_equal(count_op(c, I_METER), 1);
	}
	Arena texts;

	arena_init(&texts, memory + MEMORY, MEMORY, NULL);
	Sb b = sb(&texts);

	sb_cstr(&b, "n = 0\n");
	for (unsigned i = 0; i < 80; i++)
		sb_printf(&b, "if " A ":\n    n = %u\n", i);
	sb_cstr(&b, "send(IP(dst=\"10.0.0.2\", id=n)/UDP(dport=9))\n");
	assert_true(count_op(compiled(sb_done(&b)), I_METER) >= 80);
}

static int setup(void **state)
{
	(void)state;
	memory = calloc(2, MEMORY);
	return memory == NULL;
}

static int teardown(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

/* ---- what is printed ---- */

/* "measured 10.0.0.1 | clean": the values of the n-th call that prints. */
static const char *told(const char *text)
{
	static char out[512];
	static const char *const level[] = { "clean", "measured", "content" };
	const Compiled *c = compiled(str_c(text));
	Sb b = sb(&arena);
	const Insn *last = NULL;

	if (!c->program)
		compile_render(c, STR("test"), &b);
	Str why = sb_done(&b);

	if (!c->program)
		print_error("%.*s\n", STR_ARG(why));
	b = sb(&arena);
	assert_non_null(c->program);
	for (uint32_t i = 0; i < c->program->fn[0].ncode; i++)
		if (c->program->fn[0].code[i].op == I_TOLD)
			last = &c->program->fn[0].code[i];
	assert_non_null(last);
	for (uint32_t i = 0; i < last->x; i++) {
		const ProgTold *t = &c->program->told[last->c + i];

		sb_printf(&b, "%s%s", i ? " | " : "", level[t->level]);
		if (t->head != t->level)
			sb_printf(&b, "/%s", level[t->head]);
		if (t->any)
			sb_cstr(&b, " anybody");
		for (uint16_t k = 0; k < t->n; k++) {
			sb_char(&b, ' ');
			target_text(&t->origin[k], &b);
		}
	}
	Str s = sb_done(&b);

	snprintf(out, sizeof out, "%.*s", STR_ARG(s));
	return out;
}

#define UDP_A "r = sr1(IP(dst=\"10.0.0.1\")/UDP(dport=9))\n"

static void test_values_that_are_printed_say_whose_they_are(void **state)
{
	static const char *const rows[][2] = {
		{ "print(1, \"a\")", "clean | clean | clean" },
		{ "print()", "clean" },
		{ "r = " A "\nprint(\"it\", r is None)", "clean | clean | measured 10.0.0.1" },
		{ UDP_A "if r:\n    print(1)\n", "measured 10.0.0.1 | measured 10.0.0.1" },
		{ UDP_A "if r:\n    print(\"x\", r.payload)\n", "measured 10.0.0.1 | measured 10.0.0.1 | content 10.0.0.1" },
		/* a constant that content chose is content, also behind the test that left */
		{ UDP_A "if r and len(r.payload) == 7:\n    print(1)\n", "content 10.0.0.1 | content 10.0.0.1" },
		{ UDP_A "if r and len(r.payload) == 7:\n    exit()\nprint(1)\n", "content 10.0.0.1 | content 10.0.0.1" },
		{ UDP_A "x = 0\nif r and len(r.payload) == 7:\n    x = 1\nprint(x)\n", "clean | content 10.0.0.1" },
		/* a test on what a test chose */
		{ UDP_A "x = 0\nif r and len(r.payload) == 7:\n    x = 1\nprint(\"a\" if x else \"b\")\n", "clean | content 10.0.0.1" },
		/* the separator is part of the call */
		{ UDP_A "if r:\n    print(1, 2, sep=str(r.ttl))\n", "content 10.0.0.1 | content 10.0.0.1 | content 10.0.0.1" },
		/* two peers' */
		{ UDP_A "s = sr1(IP(dst=\"10.0.0.2\")/UDP(dport=9))\nif r and s:\n    print(r.ttl + s.ttl, r.ttl)\n",
		  "measured 10.0.0.1 10.0.0.2 | content 10.0.0.1 10.0.0.2 | content 10.0.0.1 10.0.0.2" },
		/* out of a container, by a function, by an index */
		{ UDP_A "d = {}\nif r:\n    d[r.ttl] = 1\nprint(len(d))\n", "clean | content 10.0.0.1" },
		{ UDP_A "def f(x): return x + 1\nif r:\n    print(f(r.ttl))\n", "measured 10.0.0.1 | content 10.0.0.1" },
		{ UDP_A "xs = [1, 2, 3]\nif r:\n    print(xs[r.ttl % 3])\n", "measured 10.0.0.1 | content 10.0.0.1" },
		/* a loop over a network: all of it */
		{ "for h in net(\"10.0.0.0/30\"):\n    r = sr1(IP(dst=h)/ICMP())\n    if r:\n        print(h, r.ttl)\n",
		  "measured 10.0.0.0/30 | measured 10.0.0.0/30 | content 10.0.0.0/30" },
		{ UDP_A "if r:\n    table([(1, r.ttl)])\n", "measured 10.0.0.1 | content 10.0.0.1" },
		{ "ps = sniff(count=1, timeout=1)\nprint(len(ps))", "clean | content anybody" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *is = told(rows[i][0]);

		if (strcmp(is, rows[i][1]))
			print_error("%s\n-> %s, not %s\n", rows[i][0], is, rows[i][1]);
		assert_string_equal(is, rows[i][1]);
	}
}

static void test_what_is_not_printed_is_told_too(void **state)
{
	(void)state;
	const Compiled *c = compiled(STR(UDP_A "if r and len(r.payload) == 7:\n    print(1)\nprint(2)\n"));

	assert_int_equal(c->program->told_all.level, LABEL_CONTENT);
	assert_int_equal(c->program->told_all.n, 1);
	c = compiled(STR(UDP_A "if r:\n    print(r.payload)\n"));
	assert_int_equal(c->program->told_all.level, LABEL_MEASURED);
	c = compiled(STR("list(map(print, [1, 2]))\n"));
	assert_int_equal(c->program->told_all.level, LABEL_CONTENT); /* by a call that nobody sees */
	assert_true(c->program->told_all.any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meters_stand_where_it_is_paid),
		cmocka_unit_test(test_reflect_bounds_reach_the_program),
		cmocka_unit_test(test_what_comes_from_a_relay_does_not_go_back),
		cmocka_unit_test(test_the_path_is_told),
		cmocka_unit_test(test_full_sets_stand_for_everything),
		cmocka_unit_test(test_values_that_are_printed_say_whose_they_are),
		cmocka_unit_test(test_what_is_not_printed_is_told_too),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
