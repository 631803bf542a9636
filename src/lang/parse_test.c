/* SPDX-License-Identifier: Apache-2.0
 *
 * Lexer, parser, layout: trees as S-expressions, recovery, bounds, formatting.
 */
#include "lang/fmt.h"
#include "lang/parse.h"

#include "base/limits.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MEMORY = 256 << 20 };
static void *memory;

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

typedef struct Parsed {
	Arena a;
	Ast ast;
	DiagList d;
	bool ok;
} Parsed;

static Parsed *parse(Str text, bool lib)
{
	static Parsed p;

	memset(&p, 0, sizeof p);
	arena_init(&p.a, memory, MEMORY, NULL);
	ast_init(&p.ast, &p.a);
	p.d.a = &p.a;
	p.ok = parse_file(&p.ast, STR("test"), text, lib, &p.d);
	return &p;
}

/* The dump of a program's statements, without "(MODULE ...)". */
static Str tree(const char *text)
{
	Parsed *p = parse(str_c(text), true);
	Sb b = sb(&p->a);

	if (!p->ok)
		fail_msg("%s: %.*s", text, STR_ARG(p->d.v.p[0].message));
	ast_dump(p->ast.files.p[0].module, &b);
	Str s = sb_done(&b);

	return s.n > 9 ? (Str){ s.p + 8, s.n - 9 } : (Str){ s.p, 0 };
}

static void assert_tree(const char *text, const char *want)
{
	Str got = tree(text);

	if (!str_is(got, want))
		fail_msg("%s\n  got  %.*s\n  want %s", text, STR_ARG(got), want);
}

/* The dump of one expression. */
static void assert_expr(const char *text, const char *want)
{
	char buf[512];

	snprintf(buf, sizeof buf, "(EXPR %s)", want);
	assert_tree(text, buf);
}

static void precedence_is_pythons(void **state)
{
	(void)state;
	assert_expr("a + b * c ** -d", "(+ (NAME a) (* (NAME b) (** (NAME c) (- (NAME d)))))");
	assert_expr("-a ** b", "(- (** (NAME a) (NAME b)))");
	assert_expr("2 ** 3 ** 4", "(** (INT 2) (** (INT 3) (INT 4)))");
	assert_expr("a - b - c", "(- (- (NAME a) (NAME b)) (NAME c))");
	assert_expr("a | b ^ c & d << e", "(| (NAME a) (^ (NAME b) (& (NAME c) (<< (NAME d) (NAME e)))))");
	assert_expr("not a == b and c or d",
		    "(or (and (not (COMPARE == (NAME a) (NAME b))) (NAME c)) (NAME d))");
	assert_expr("a < b <= c not in d", "(COMPARE < <= not in (NAME a) (NAME b) (NAME c) (NAME d))");
	assert_expr("(a < b) < c", "(COMPARE < (COMPARE < (NAME a) (NAME b)) (NAME c))");
	assert_expr("a if b else c if d else e",
		    "(COND (NAME a) (NAME b) (COND (NAME c) (NAME d) (NAME e)))");
	assert_expr("~a.b[c](d)", "(~ (CALL (INDEX (ATTR b (NAME a)) (NAME c)) (NAME d)))");
	assert_expr("x is not None", "(COMPARE is not (NAME x) (NONE 0))");
	assert_expr("-9223372036854775808", "(INT -9223372036854775808)");
}

static void literals_have_units(void **state)
{
	(void)state;
	assert_expr("20ms", "(DURATION 20000000)");
	assert_expr("1.5us", "(DURATION 1500)");
	assert_expr("2MB", "(INT 2000000)");
	assert_expr("1.5KB", "(INT 1500)");
	assert_expr("10Mbit", "(INT 1250000)");
	assert_expr("1_000", "(INT 1000)");
	assert_expr("0xff", "(INT 255)");
	assert_expr("0b101 + 0o17", "(+ (INT 5) (INT 15))");
	assert_expr("1e3", "(FLOAT 1000)");
	assert_expr(".5", "(FLOAT 0.5)");
	assert_expr("1.", "(FLOAT 1)");
	assert_expr("00", "(INT 0)");
}

static void strings_have_pythons_values(void **state)
{
	(void)state;
	assert_expr("'a\\x41\\n\\101\\u00e9' \"b\"", "(STR \"aA\\nA\\xc3\\xa9b\")");
	assert_expr("b'\\xff\\u' rb'\\x'", "(BYTES \"\\xff\\\\u\\\\x\")");
	assert_expr("r'\\n'", "(STR \"\\\\n\")");
	assert_expr("'''a\n'b' '''", "(STR \"a\\n'b' \")");
	assert_expr("'a\\\nb'", "(STR \"ab\")");
	assert_expr("('a'\n 'b')", "(STR \"ab\")");
}

static void fstrings_nest(void **state)
{
	(void)state;
	assert_expr("f'a{x}b'", "(FSTRING (STR \"a\") (FIELD (NAME x) -) (STR \"b\"))");
	assert_expr("f'{x!r:>{w}.2f}'",
		    "(FSTRING (FIELD !r (NAME x) (FSTRING (STR \">\") (FIELD (NAME w) -) (STR \".2f\"))))");
	assert_expr("f'{x:>9}'", "(FSTRING (FIELD (NAME x) (STR \">9\")))");
	assert_expr("f'{x = }'", "(FSTRING (STR \"x = \") (FIELD !r (NAME x) -))");
	assert_expr("f'{x=:.2f}'", "(FSTRING (STR \"x=\") (FIELD (NAME x) (STR \".2f\")))");
	assert_expr("f'{{{x}}}'", "(FSTRING (STR \"{\") (FIELD (NAME x) -) (STR \"}\"))");
	assert_expr("f'{d['k']}'", "(FSTRING (FIELD (INDEX (NAME d) (STR \"k\")) -))");
	assert_expr("f'{f'{x}'}'", "(FSTRING (FIELD (FSTRING (FIELD (NAME x) -)) -))");
	assert_expr("f'{a != b}'", "(FSTRING (FIELD (COMPARE != (NAME a) (NAME b)) -))");
	assert_expr("f'{a == b}'", "(FSTRING (FIELD (COMPARE == (NAME a) (NAME b)) -))");
	assert_expr("f'{a <= b}'", "(FSTRING (FIELD (COMPARE <= (NAME a) (NAME b)) -))");
	assert_expr("f'{ {\"a\": 1}[\"a\"] }'",
		    "(FSTRING (FIELD (INDEX (DICT (STR \"a\") (INT 1)) (STR \"a\")) -))");
	assert_expr("f'{x[1:2]}'", "(FSTRING (FIELD (INDEX (NAME x) (SLICE (INT 1) (INT 2) -)) -))");
	assert_expr("f'{a, b}'", "(FSTRING (FIELD (TUPLE (NAME a) (NAME b)) -))");
	assert_expr("rf'\\d{x}'", "(FSTRING (STR \"\\\\d\") (FIELD (NAME x) -))");
	assert_expr("'a' f'{x}' 'b'", "(FSTRING (STR \"a\") (FIELD (NAME x) -) (STR \"b\"))");
	assert_expr("f'''{\nx\n}'''", "(FSTRING (FIELD (NAME x) -))");
	assert_expr("f'plain'", "(FSTRING (STR \"plain\"))");
}

static void displays_and_comprehensions(void **state)
{
	(void)state;
	assert_expr("()", "(TUPLE)");
	assert_expr("(a,)", "(TUPLE (NAME a))");
	assert_expr("{}", "(DICT)");
	assert_expr("{a}", "(SET (NAME a))");
	assert_expr("{a: b,}", "(DICT (NAME a) (NAME b))");
	assert_expr("[x for x, (y, z) in a if x if y for w in z]",
		    "(LISTCOMP 4 - (NAME x) (TUPLE (NAME x) (TUPLE (NAME y) (NAME z))) (NAME a) - (NAME x) - "
		    "(NAME y) (NAME w) (NAME z))");
	assert_expr("{k: v for k in a}", "(DICTCOMP 1 (NAME k) (NAME v) (NAME k) (NAME a))");
	assert_expr("sum(x for x in a)", "(CALL (NAME sum) (GENEXP 1 - (NAME x) (NAME x) (NAME a)))");
	assert_expr("f(a, key=lambda r, q=1: r.t)",
		    "(CALL 1=key (NAME f) (NAME a) (LAMBDA - r q - - - (INT 1) - (ATTR t (NAME r))))");
	assert_expr("a[::2]", "(INDEX (NAME a) (SLICE - - (INT 2)))");
	assert_expr("a[1:]", "(INDEX (NAME a) (SLICE (INT 1) - -))");
	assert_expr("a[1, 2]", "(INDEX (NAME a) (TUPLE (INT 1) (INT 2)))");
}

static void statements_of_all_kinds(void **state)
{
	(void)state;
	assert_tree("a = b = 1, 2", "(ASSIGN 2 (NAME a) (NAME b) (TUPLE (INT 1) (INT 2)))");
	assert_tree("a, (b, c) = d", "(ASSIGN 1 (TUPLE (NAME a) (TUPLE (NAME b) (NAME c))) (NAME d))");
	assert_tree("a.b += 1", "(AUGMENT + (ATTR b (NAME a)) (INT 1))");
	assert_tree("a: list[ip]? = []", "(ANNOTATE (NAME a) (TYPE list? (TYPE ip)) (LIST))");
	assert_tree("a: int | None = None", "(ANNOTATE (NAME a) (TYPE int?) (NONE 0))");
	assert_tree("if a: b; c\nelif d: e\nelse:\n f", "(IF 2 1 (NAME a) (EXPR (NAME b)) (EXPR (NAME c)) "
							"(IF 1 1 (NAME d) (EXPR (NAME e)) (EXPR (NAME f))))");
	assert_tree("while a:\n  break\nelse:\n  pass", "(WHILE 1 1 (NAME a) (BREAK 0) (PASS 0))");
	assert_tree("for i, (s, r) in enumerate(a): continue",
		    "(FOR 1 0 (TUPLE (NAME i) (TUPLE (NAME s) (NAME r))) (CALL (NAME enumerate) (NAME a)) "
		    "(CONTINUE 0))");
	assert_tree("def f(a, b=1, c: ip = \"x\") -> int:\n  return a, b",
		    "(DEF f a b c - - - (INT 1) (TYPE ip) (STR \"x\") (TYPE int) (RETURN (TUPLE (NAME a) "
		    "(NAME b))) -)");
	assert_tree("param target: ip = \"10.0.0.1\"", "(PARAM target (TYPE ip) (STR \"10.0.0.1\"))");
	assert_tree("result P(a: int clean, b: list[duration])",
		    "(RESULT P a clean b - (TYPE int) (TYPE list (TYPE duration)))");
	assert_tree("param = 1", "(ASSIGN 1 (NAME param) (INT 1))");
	assert_tree("match = 1", "(ASSIGN 1 (NAME match) (INT 1))");
	assert_tree("a = 1 + \\\n  2", "(ASSIGN 1 (NAME a) (+ (INT 1) (INT 2)))");
	assert_tree("a = [1, # c\n\n  2]\nb", "(ASSIGN 1 (NAME a) (LIST (INT 1) (INT 2))) (EXPR (NAME b))");
	assert_tree("\r\nx\r\n", "(EXPR (NAME x))");
	assert_tree("if a:\n\tb\n\tc", "(IF 2 0 (NAME a) (EXPR (NAME b)) (EXPR (NAME c)))");
	assert_tree("", "");
	assert_tree("# only\n\n", "");
}

/* Every root cause once, none of its consequences. */
static void errors_do_not_cascade(void **state)
{
	static const char text[] = "import os\n"
				   "def f(a:\n"
				   "    return a\n"
				   "x = = 2\n"
				   "if x == 'abc:\n"
				   "    y = $\n"
				   "elif x:\n"
				   "    y = (1 +\n"
				   "else:\n"
				   "    y = 3 4\n"
				   "while x\n"
				   "    del y\n"
				   "print(y)\n";
	static const unsigned lines[] = { 1, 2, 4, 5, 6, 8, 10, 11, 12 };
	Parsed *p = parse(str_c(text), false);

	(void)state;
	diag_sort(&p->d);
	assert_int_equal(p->d.errors, sizeof lines / sizeof lines[0]);
	for (uint32_t i = 0; i < p->d.v.n; i++)
		assert_int_equal(line_col(str_c(text), p->d.v.p[i].span.from).line, lines[i]);
}

static char *repeat(const char *head, const char *piece, unsigned n, const char *tail)
{
	size_t h = strlen(head), len = strlen(piece);
	char *s = malloc(h + len * n + strlen(tail) + 1);

	memcpy(s, head, h + 1);
	for (unsigned i = 0; i < n; i++)
		memcpy(s + h + i * len, piece, len);
	strcpy(s + h + n * len, tail);
	return s;
}

/* Each is deep or long without bound: one error, or none, and no crash. */
static void nesting_is_bounded(void **state)
{
	static const struct {
		const char *head, *piece, *tail;
		bool ok; /* at 2,000 pieces */
	} rows[] = {
		{ "x = ", "(", "", false },
		{ "x = ", "[", "", false },
		{ "x = ", "{", "", false },
		{ "x = ", "-", "1", false },
		{ "x = ", "not ", "1", false },
		{ "x = ", "2 ** ", "1", false },
		{ "x = 1", " + 1", "", false },
		{ "x = a", ".b", "", false },
		{ "x = a", "[0]", "", false },
		{ "x = a", "()", "", false },
		{ "x = ", "1 if 1 else ", "1", false },
		{ "x = 1", " < 1", "", true },
		{ "x = [1", ", 1", "]", true },
		{ "x", " = x", "", true },
		{ "f(", "f(", "", false },
		{ "x = ", "f'{", "", false },
		{ "x = f'", "{x:", "", false },
		{ "x = 1\nif x: pass\n", "elif x: pass\n", "", false },
		{ "x = 1\n", "x = 1\n", "", true },
		{ "x = ", "lambda: ", "1", false },
		{ "x: ", "list[", "", false },
		{ "for ", "(", "", false },
		{ "x = 1", " and 1", "", false },
		{ "x = [1 ", "for x in y ", "]", true },
		{ "x = 'a' ", "'a' ", "", true },
		{ "x = f", "((a, b),", "", false },
		{ "x = ", "\\\n", "1", true },
		{ "", ";", "", false },
		{ "x = {1: ", "{1: ", "", false },
		{ "def f(", "a=(", "", false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (unsigned n = 60; n <= 2000; n = n < 70 ? n + 1 : n * 2) {
			char *text = repeat(rows[i].head, rows[i].piece, n, rows[i].tail);
			Parsed *p = parse(str_c(text), false);

			if (n > 1000 && p->ok != rows[i].ok)
				fail_msg("%s%s: ok is %d", rows[i].head, rows[i].piece, p->ok);
			if (p->d.errors > 1u + (strstr(rows[i].piece, "lambda") != NULL))
				fail_msg("%s%s, %u times: %u errors, the second %.*s", rows[i].head,
					 rows[i].piece, n, p->d.errors, STR_ARG(p->d.v.p[1].message));
			free(text);
		}
}

static void blocks_are_bounded(void **state)
{
	char *text = calloc(1, 64 << 10), *at = text;

	(void)state;
	for (int i = 0; i < 200; i++)
		at += sprintf(at, "%*sif 1:\n", i, "");
	sprintf(at, "%*spass\n", 200, "");
	Parsed *p = parse(str_c(text), false);

	assert_int_equal(p->d.errors, 1);
	free(text);
}

/* Bytes at random, tokens at random, and programs with damage: no crash, and no
 * more diagnostics than are kept. */
static void garbage_is_harmless(void **state)
{
	static const char *const words[] = {
		"if ",	  "x",	  "(",	  ")",	  "[",	    "]",	"{",	"}",	   ":",	   "\n",
		"\n    ", "\n\t", "'",	  "f'",	  "\"\"\"", "{x",	"!r",	"lambda ", "for ", "in ",
		"def f(", "=",	  ",",	  "*",	  "**",	    ".",	"1",	"2ms",	   "0x",   "#",
		"\\",	  ";",	  "else", "elif", "import", "class C:", "not ", "is ",	   "None", "return ",
		"yield",  "try:", "@",	  "->",	  ":=",	    "1.2.3.4",	"\\\n", "b'"
	};
	static char text[LIMIT_SOURCE];

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		uint64_t seed = rng_draw(7, round, 0);
		size_t n = 0, want = rng_below(rng_mix(seed), round % 50 == 0 ? sizeof text - 16 : 600);

		for (unsigned i = 0; n < want; i++) {
			uint64_t r = rng_draw(seed, 1, i);

			if (round % 2)
				text[n++] = (char)r;
			else {
				const char *w = words[r % (sizeof words / sizeof words[0])];

				memcpy(text + n, w, strlen(w));
				n += strlen(w);
			}
		}
		Parsed *p = parse((Str){ text, n }, round % 3 == 0);

		assert_true(p->d.v.n <= LIMIT_DIAGS);
		assert_int_equal(p->ok, p->d.errors == 0);
	}
}

static void long_texts_are_refused(void **state)
{
	char *text = repeat("", "x = 1\n", LIMIT_SOURCE / 6 + 1, "");

	(void)state;
	assert_false(parse(str_c(text), false)->ok);
	text[LIMIT_SOURCE / 6 * 6] = 0;
	assert_true(parse(str_c(text), false)->ok);
	free(text);
}

/* ---- layout ---- */

static Str formatted(Arena *a, Str text)
{
	DiagList d = { .a = a };
	Sb out = sb(a);

	assert_true(fmt_text(a, text, &d, &out));
	return sb_done(&out);
}

static Str dump_of(Arena *a, Str text)
{
	DiagList d = { .a = a };
	Ast *ast = arena_new(a, Ast);
	Sb out = sb(a);

	ast_init(ast, a);
	assert_true(parse_file(ast, STR("t"), text, false, &d));
	ast_dump(ast->files.p[0].module, &out);
	return sb_done(&out);
}

static void layout_is_canonical(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "x=1", "x = 1\n" },
		{ "f( a,b = 1 )", "f(a, b=1)\n" },
		{ "def f(a:int=1,b=2)->int :\n  return -a**b",
		  "def f(a: int = 1, b=2) -> int:\n    return -a ** b\n" },
		{ "x = a [1 : 2]", "x = a[1:2]\n" },
		{ "x={ 'a' :1 }", "x = {'a': 1}\n" },
		{ "p=IP( )/TCP()  /b'x'", "p = IP()/TCP() / b'x'\n" },
		{ "sorted(x,key = lambda r : r.t)", "sorted(x, key=lambda r: r.t)\n" },
		{ "x = a[lambda_]", "x = a[lambda_]\n" },
		{ "if(a):b;c;", "if (a): b; c\n" },
		{ "\n\n\nx\n\n\n\ny\n\n", "x\n\ny\n" },
		{ "x  # c  ", "x  # c\n" },
		{ "if a:\n  # c\n  b\n  # d\n# e\nx", "if a:\n    # c\n    b\n    # d\n# e\nx\n" },
		{ "f(a, # c\n b\n)", "f(a,  # c\n    b\n)\n" },
		{ "x = a if not-b else(c)", "x = a if not -b else (c)\n" },
		{ "x = 1 + \\\n2", "x = 1 + \\\n    2\n" },
		{ "param t:ip=\"10.0.0.1\"", "param t: ip = \"10.0.0.1\"\n" },
		{ "x = f'{ a  }'", "x = f'{ a  }'\n" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Arena a;

		arena_init(&a, memory, MEMORY, NULL);
		Str got = formatted(&a, str_c(rows[i].in));

		if (!str_is(got, rows[i].out))
			fail_msg("%s\n  got  %.*s\n  want %s", rows[i].in, STR_ARG(got), rows[i].out);
		assert_true(str_eq(formatted(&a, got), got));
		assert_true(str_eq(dump_of(&a, got), dump_of(&a, str_c(rows[i].in))));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(precedence_is_pythons),       cmocka_unit_test(literals_have_units),
		cmocka_unit_test(strings_have_pythons_values), cmocka_unit_test(fstrings_nest),
		cmocka_unit_test(displays_and_comprehensions), cmocka_unit_test(statements_of_all_kinds),
		cmocka_unit_test(errors_do_not_cascade),       cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(blocks_are_bounded),	       cmocka_unit_test(garbage_is_harmless),
		cmocka_unit_test(long_texts_are_refused),      cmocka_unit_test(layout_is_canonical),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
