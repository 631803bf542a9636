/* SPDX-License-Identifier: Apache-2.0
 *
 * What bytecode holds.  That it computes what the program says is shown by the
 * programs in tests/lang/run.
 */
#include "lang/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MEMORY = 64 << 20 };
static void *memory;
static Arena arena;
static Compiled compiled;

static int setup(void **state)
{
	(void)state;
	memory = malloc(MEMORY);
	return memory == NULL;
}

static int teardown(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static const Program *build_with(const char *text, const char *lib, const char *name, const char *value)
{
	LibSource source = { .name = STR("lib"), .text = str_c(lib) };
	FactsParam param = { .name = str_c(name), .value = str_c(value) };

	arena_init(&arena, memory, MEMORY, NULL);
	CompileIn in = { .a = &arena,
			 .name = STR("t"),
			 .text = str_c(text),
			 .lib = &source,
			 .nlib = lib != NULL,
			 .param = &param,
			 .nparam = name != NULL };

	return compile(&in, &compiled) ? compiled.program : NULL;
}

static const Program *build(const char *text)
{
	const Program *p = build_with(text, NULL, NULL, NULL);

	if (!p)
		fail_msg("%s: %.*s", text, STR_ARG(compiled.diags.v.p[0].message));
	return p;
}

static const ProgFn *fn_named(const Program *p, const char *name)
{
	for (uint32_t i = 0; i < p->nfn; i++)
		if (str_is(p->fn[i].name, name))
			return &p->fn[i];
	return NULL;
}

static unsigned count_op(const ProgFn *f, OpCode op)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < f->ncode; i++)
		n += f->code[i].op == op;
	return n;
}

static void only_what_is_reached_is_compiled(void **state)
{
	static const char lib[] = "def used(x):\n    return _inner(x)\ndef _inner(x):\n    return x\n"
				  "def unused(x):\n    return x\n";
	const Program *p = build_with("def mine(x):\n    return x\nprint(used(5))", lib, NULL, NULL);

	(void)state;
	assert_non_null(p);
	assert_non_null(fn_named(p, "used"));
	assert_true(fn_named(p, "_inner")->lib);
	assert_null(fn_named(p, "unused"));
	assert_null(fn_named(p, "mine"));
	assert_int_equal(p->nentry, 1);
	assert_true(p->fn[p->entry[0]].module);
}

/* A variable that is surely set is an operand where it stands. */
static void variables_are_not_copied(void **state)
{
	const Program *p = build("def f(a, b):\n    c = a + b\n    return c * a\nprint(f(1, 2))");
	const ProgFn *f = fn_named(p, "f");

	(void)state;
	assert_int_equal(f->ncode, 4); /* ADD MUL RETURN RETNONE */
	assert_int_equal(f->code[0].op, I_ADD);
	assert_int_equal(f->code[0].a, 2);
	assert_int_equal(f->nparams, 2);
}

static void conditions_are_jumps(void **state)
{
	const Program *p = build(
		"def f(a):\n    while a > 1 and not a == 5:\n        a -= 1\n    return a\nprint(f(9))");
	const ProgFn *f = fn_named(p, "f");

	(void)state;
	assert_int_equal(count_op(f, I_GT) + count_op(f, I_EQ) + count_op(f, I_NOT), 0);
	assert_int_equal(count_op(f, I_JNLT), 1);
	assert_int_equal(count_op(f, I_JNEQ), 1);
	assert_int_equal(count_op(f, I_ADDI), 0); /* a -= 1 is no `+=` */
}

static void doubtful_variables_are_checked(void **state)
{
	const Program *p = build("def f(n):\n    for i in range(n):\n        x = i\n        y = x\n    "
				 "return x\nprint(f(len(\"a\")))");

	(void)state;
	assert_int_equal(count_op(fn_named(p, "f"), I_CHECK), 1);
	p = build("x = 1\ny = x\nprint(x, y)");
	assert_int_equal(count_op(&p->fn[p->entry[0]], I_CHECK), 0);
}

static void equal_constants_are_one(void **state)
{
	const Program *p = build("print(\"a\", \"a\", b\"a\", 1.5, 1.5, 20ms, 20000000000000)");
	unsigned a = 0;

	(void)state;
	for (uint32_t i = 0; i < p->nconst; i++)
		a += p->konst[i].kind == K_STR && str_is(p->konst[i].s, "a");
	assert_int_equal(a, 1);
	for (uint32_t i = 0; i < p->nconst; i++)
		for (uint32_t k = 0; k < i; k++)
			if (p->konst[i].kind == K_FLOAT && p->konst[k].kind == K_FLOAT)
				assert_true(p->konst[i].f != p->konst[k].f);
}

static const Const *param_const(const char *type, const char *value)
{
	char text[128];
	const Program *p;

	snprintf(text, sizeof text, "param v: %s\nprint(v)", type);
	p = build_with(text, NULL, "v", value);
	return p && p->nconst ? &p->konst[0] : NULL;
}

static void params_have_their_types(void **state)
{
	Ip ip;

	(void)state;
	assert_true(ip_parse(STR("10.0.0.9"), &ip));
	assert_true(ip_eq(param_const("ip", "10.0.0.9")->ip, ip));
	assert_int_equal(param_const("ip", "10.0.0.9")->kind, K_IP);
	assert_int_equal(param_const("net", "10.0.0.0/24")->net.bits, 24);
	assert_int_equal(param_const("mac", "02:00:00:00:00:01")->mac.b[5], 1);
	assert_int_equal(param_const("duration", "20ms")->i, 20000000);
	assert_int_equal(param_const("duration", "0.5")->i, 500000000);
	assert_true(param_const("float", "2.5")->f == 2.5);
	assert_true(str_is(param_const("str", "x y")->s, "x y"));
	assert_int_equal(param_const("bytes", "x")->kind, K_BYTES);
	assert_non_null(build_with("param n: int = 1\nprint(n)", NULL, "n", "-5"));
	assert_null(build_with("param n: int = 1\nprint(n)", NULL, "m", "5"));
	assert_string_equal(compiled.diags.v.p[0].code, "E-PARAM");
	static const char *const wrong[][2] = { { "int", "x" },		{ "int", "1.5" },
						{ "bool", "yes" },	{ "float", "1e" },
						{ "duration", "5 ms" }, { "duration", "soon" },
						{ "ip", "10.0.0.01" },	{ "net", "10.0.0.1/8" },
						{ "mac", "02:00" } };

	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_null(param_const(wrong[i][0], wrong[i][1]));
		assert_int_equal(compiled.diags.errors, 1);
		assert_string_equal(compiled.diags.v.p[0].code, "E-PARAM");
	}
	assert_int_equal(param_const("ip", "db.acme.corp")->kind, K_STR);
}

static void every_instruction_has_its_place(void **state)
{
	const char *text = "x = [1, 2]\nprint(x[len(x) - 1])";
	const Program *p = build(text);
	const ProgFn *f = &p->fn[p->entry[0]];

	(void)state;
	for (uint32_t i = 0; i < f->ncode; i++)
		if (f->code[i].op == I_INDEX)
			assert_int_equal(f->span[i].from, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_reached_is_compiled),
		cmocka_unit_test(variables_are_not_copied),
		cmocka_unit_test(conditions_are_jumps),
		cmocka_unit_test(doubtful_variables_are_checked),
		cmocka_unit_test(equal_constants_are_one),
		cmocka_unit_test(params_have_their_types),
		cmocka_unit_test(every_instruction_has_its_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
