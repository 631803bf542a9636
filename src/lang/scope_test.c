/* SPDX-License-Identifier: Apache-2.0
 *
 * What names stand for, frames, recursion, and what is said about unknown names.
 */
#include "lang/parse.h"
#include "lang/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[16 << 20];
static Arena arena;
static Ast ast;
static Scopes scopes;
static DiagList diags, lib_diags;

static void resolve(const char *text, const char *lib)
{
	arena_init(&arena, memory, sizeof memory, NULL);
	diags = lib_diags = (DiagList){ .a = &arena };
	ast_init(&ast, &arena);
	if (!parse_file(&ast, STR("t"), str_c(text), false, &diags))
		fail_msg("%s: %.*s", text, STR_ARG(diags.v.p[0].message));
	if (lib)
		assert_true(parse_file(&ast, STR("lib"), str_c(lib), true, &lib_diags));
	scope_run(&ast, &diags, &lib_diags, &scopes);
}

static void assert_error(const char *text, const char *code, unsigned col, const char *message, const char *fix)
{
	resolve(text, NULL);
	if (diags.errors != 1)
		fail_msg("%s: %u errors", text, diags.errors);
	const Diag *d = &diags.v.p[0];

	assert_string_equal(d->code, code);
	assert_int_equal(d->span.from, col);
	if (!str_is(d->message, message))
		fail_msg("%.*s", STR_ARG(d->message));
	if (fix && !str_is(d->fix.text, fix))
		fail_msg("fix %.*s", STR_ARG(d->fix.text));
	assert_int_equal(d->fix.set, fix != NULL);
}

static void unknown_names_get_the_nearest(void **state)
{
	(void)state;
	assert_error("pirnt(1)", "E-NAME", 0, "`pirnt` is not known", "print");
	assert_error("count = 1\nprint(cuont)", "E-NAME", 16, "`cuont` is not known", "count");
	assert_error("print(TPC)", "E-NAME", 6, "`TPC` is not known", "TCP");
	assert_error("print(quite_different)", "E-NAME", 6, "`quite_different` is not known", NULL);
	assert_error("print(null)", "E-NAME", 6, "`null` is not there", "None");
	assert_error("x = 1\nprint(y1, y1, y1)", "E-NAME", 12, "`y1` is not known", NULL);
	assert_error("def f(a):\n    return _b\nprint(f(1))", "E-NAME", 21, "`_b` is not known", NULL);
	assert_error("c = socket(2, 1)\nprint(c)", "E-NAME", 4, "`socket` is not there", NULL);
}

static void functions_do_not_set_variables_of_the_module(void **state)
{
	(void)state;
	assert_error("n = 0\ndef f():\n    n += 1\nf()", "E-NAME", 19,
		     "`n` is a variable of the module: a function can read it, not set it", NULL);
	resolve("n = 0\ndef f():\n    n = 5\n    n += 1\n    return n\nprint(f())", NULL);
	assert_int_equal(diags.errors, 0);
}

static void recursion_is_refused_with_its_cycle(void **state)
{
	(void)state;
	assert_error("def f(a):\n    return f(a)\nprint(f(1))", "E-RECURSION", 21,
		     "a function can't call itself: f -> f", NULL);
	assert_error("def f(a):\n    return g(a)\ndef g(a):\n    return h(a)\ndef h(a):\n    return g(a)\nprint(f(1))",
		     "E-RECURSION", 73, "a function can't call itself: g -> h -> g", NULL);
	assert_error("def f(a):\n    return sorted(a, key=f)\nprint(f([1]))", "E-RECURSION", 35,
		     "a function can't call itself: f -> f", NULL);
	assert_error("def f(a):\n    return sorted(a, key=lambda r: f(r))\nprint(f([1]))", "E-RECURSION", 45,
		     "a function can't call itself: f -> f", NULL);
	resolve("def f(a):\n    return a\ndef g(a):\n    return f(f(a))\nprint(g(1), f(2))", NULL);
	assert_int_equal(diags.errors, 0);
}

static void a_called_name_is_a_function(void **state)
{
	(void)state;
	resolve("for ip in [\"10.0.0.1\"]:\n    print(ip, ip(\"10.0.0.2\"))", NULL);
	assert_int_equal(diags.errors, 0);
	const Node *print = ast.files.p[0].module->module.body.p[0]->loop.body.p[0]->expr.value;

	assert_int_equal(print->call.arg[0].value->name.ref, REF_VAR);
	assert_int_equal(print->call.arg[1].value->call.fn->name.ref, REF_BUILTIN);
	/* but a parameter can hold a function */
	resolve("def f(len):\n    return len(1)\nprint(sorted([1], key=f))", NULL);
	const Node *ret = ast.files.p[0].module->module.body.p[0]->func.body.p[0];

	assert_int_equal(ret->expr.value->call.fn->name.ref, REF_VAR);
}

static void lambdas_capture_behind_their_parameters(void **state)
{
	(void)state;
	resolve("def f(a, b):\n    return sorted(a, key=lambda r, q: [x + b + q for x in r if a])\nprint(f([], 1))", NULL);
	assert_int_equal(diags.errors, 0);
	assert_int_equal(scopes.lambdas.n, 1);
	const Scope *s = scopes.lambdas.p[0]->func.scope;

	assert_int_equal(s->captures.n, 2);
	assert_int_equal(s->captures.p[0]->slot, 2);
	assert_int_equal(s->captures.p[1]->slot, 3);
	assert_int_equal(s->n_slots, 5);
	for (uint32_t i = 0; i < s->vars.n; i++)
		if (s->vars.p[i]->kind == VAR_COMP)
			assert_int_equal(s->vars.p[i]->slot, 4);
	/* module variables are not captured */
	resolve("n = 5\nprint(sorted([1], key=lambda r: r + n))", NULL);
	assert_int_equal(scopes.lambdas.p[0]->func.scope->captures.n, 0);
}

static void lib_keeps_its_own_names(void **state)
{
	static const char lib[] = "result R(a: int)\ndef _own(x):\n    return x\ndef verb(x):\n    return R(a=_own(x))\n";

	(void)state;
	resolve("print(verb(1))", lib);
	assert_int_equal(diags.errors + lib_diags.errors, 0);
	resolve("def _own(x):\n    return 5\nprint(verb(1))", lib);
	const Node *verb = ast.files.p[1].module->module.body.p[2];

	assert_int_equal(verb->func.scope->uses.p[0]->name.node->file, 1);
	resolve("print(_own(1))", lib);
	assert_int_equal(diags.errors, 1);
	resolve("def verb(x):\n    return x\nprint(verb(1))", lib);
	assert_int_equal(diags.errors, 0);
	resolve("print(1)", "x = 1\n");
	assert_int_equal(lib_diags.errors, 1);
}

static void definitions_are_single(void **state)
{
	(void)state;
	assert_error("def f(a):\n    return a\ndef f(b):\n    return b\nprint(f(1))", "E-NAME", 27,
		     "function `f` is there already, on line 1", NULL);
	assert_error("def f(a, b=[x for x in [1]]):\n    return a\nprint(f(1))", "E-SYNTAX", 11,
		     "a default is a plain value", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_names_get_the_nearest),
		cmocka_unit_test(functions_do_not_set_variables_of_the_module),
		cmocka_unit_test(recursion_is_refused_with_its_cycle),
		cmocka_unit_test(a_called_name_is_a_function),
		cmocka_unit_test(lambdas_capture_behind_their_parameters),
		cmocka_unit_test(lib_keeps_its_own_names),
		cmocka_unit_test(definitions_are_single),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
