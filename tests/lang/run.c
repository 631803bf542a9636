/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs language tests: .sonde files that say what they expect, in comments.
 *
 *   # expect error: E-SYNTAX 3:14     each error of the file, and no other
 *   # expect warning: W-SPIN 3:1      each warning, and no other (without such a
 *                                     line warnings are not looked at)
 *   # expect: text                    each line that it prints, in order
 *   # expect runtime error: E-INDEX 4:7
 *   # expect leak: 1 4:5              what is paid there each time (packet: all its bits), and
 *                                     no other; `none`; `end: free` (or early, paid)
 *   # policy                          the file is a policy
 *   # fix not alone                   the fix of an error needs another change too
 *   # fix: text                       each fix, in order: what it puts there (\n for
 *                                     a line's end, nothing where it takes out)
 *
 * A file that says `# mistake: what` is a program as somebody wrote it who knows
 * Python and Scapy.  Its fixes, but for those that widen, are applied; what comes
 * of that must have no error and no warning.  Where a mistake has no fix, its
 * diagnostic has a hint, and lines that start with `#| ` are the program as a
 * person mended it, which must have no error.
 *
 * Fixes are applied, one error at a time: the error must be gone and no other come.
 * A program without errors is lowered and verified; it is run if it expects
 * output.  Its network built-ins fail: who needs them is tested elsewhere.
 * Layout: each program without syntax errors is formatted; that must change
 * nothing in its tree, and a second time nothing at all.
 *
 *   lang_run [-lib FOLDER] FILE|FOLDER...
 *   lang_run -layout FILE|FOLDER...    only: each parses, and formatting changes nothing
 *   lang_run -dump FILE|FOLDER...      prints each tree on a line, for oracle.py
 */
#include "harness/files.h"
#include "lang/compile.h"
#include "lang/decl.h"
#include "lang/fmt.h"
#include "lang/parse.h"
#include "vm/verify.h"
#include "vm/vm.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 256 << 20, FILES = 4096, LIBS = 64 };

typedef struct Case {
	const char *path;
	Str text;
	Arena *a;
	bool failed;
	bool policy;
} Case;

/* What came of one text. */
typedef struct Outcome {
	DiagList diags;
	Compiled *c; /* NULL: a policy */
} Outcome;

static LibSource lib[LIBS];
static uint32_t nlib;
static unsigned passed, failed;
static unsigned by_fix, by_hand; /* mistakes mended */

static void complain(Case *c, const char *what, Str got)
{
	if (!c->failed)
		printf("FAIL %s\n", c->path);
	c->failed = true;
	printf("  %s\n", what);
	if (got.n)
		printf("%.*s", STR_ARG(got));
	if (got.n && got.p[got.n - 1] != '\n')
		putchar('\n');
}

static Outcome outcome_of(Case *c, Str text)
{
	Outcome o = { .diags.a = c->a };

	if (c->policy) {
		Decls decls;

		decl_policy(text, c->a, &o.diags, &decls);
		return o;
	}
	o.c = arena_new(c->a, Compiled);
	CompileIn in = { .a = c->a,
			 .name = str_c(c->path),
			 .text = text,
			 .lib = lib,
			 .nlib = nlib,
			 .settle = true };

	compile(&in, o.c);
	o.diags = o.c->diags;
	return o;
}

/* "E-SYNTAX 3:14", a line each. */
static Str diags_text(Case *c, const DiagList *d, Str text, Severity sev)
{
	Sb b = sb(c->a);

	for (uint32_t i = 0; i < d->v.n; i++) {
		LineCol lc = line_col(text, d->v.p[i].span.from);

		if (d->v.p[i].sev == sev)
			sb_printf(&b, "%s %u:%u\n", d->v.p[i].code, lc.line, lc.col);
	}
	return sb_done(&b);
}

static Str expected(Case *c, const char *key)
{
	return files_lines(c->a, c->text, key);
}

static bool says(Case *c, const char *key)
{
	return expected(c, key).n > 0;
}

static Str rendered(Case *c, const DiagList *d, Str text)
{
	Sb b = sb(c->a);

	for (uint32_t i = 0; i < d->v.n; i++)
		diag_render(&d->v.p[i], str_c("  "), text, &b);
	return sb_done(&b);
}

/* ---- fixes ---- */

static void check_fix(Case *c, const Outcome *before, const Diag *d)
{
	Sb b = sb(c->a);

	sb_str(&b, (Str){ c->text.p, d->fix.span.from });
	sb_str(&b, d->fix.text);
	sb_str(&b, (Str){ c->text.p + d->fix.span.to, c->text.n - d->fix.span.to });
	Str text = sb_done(&b);
	Outcome after = outcome_of(c, text);

	if (after.diags.errors < before->diags.errors)
		return;
	complain(c, "the fix does not mend it:", rendered(c, &after.diags, text));
}

static void check_fixes(Case *c, const Outcome *o)
{
	bool not_alone = says(c, "# fix not alone");

	for (uint32_t i = 0; i < o->diags.v.n; i++)
		if (o->diags.v.p[i].sev == SEV_ERROR && o->diags.v.p[i].fix.set && !not_alone)
			check_fix(c, o, &o->diags.v.p[i]);
}

/* "sleep(1)", a line each; line ends inside as \n. */
static Str fixes_text(Case *c, const DiagList *d)
{
	Sb b = sb(c->a);

	for (uint32_t i = 0; i < d->v.n; i++) {
		const Fix *f = &d->v.p[i].fix;

		for (size_t k = 0; f->set && k < f->text.n; k++)
			f->text.p[k] == '\n' ? sb_cstr(&b, "\\n") : sb_char(&b, f->text.p[k]);
		if (f->set)
			sb_char(&b, '\n');
	}
	return sb_done(&b);
}

/* ---- mistakes ---- */

/* All fixes that don't widen, in source order; one that overlaps waits. */
static Str apply_fixes(Case *c, const DiagList *d, Str text)
{
	Sb b = sb(c->a);
	uint32_t at = 0;

	for (;;) {
		const Fix *next = NULL;

		for (uint32_t i = 0; i < d->v.n; i++) {
			const Fix *f = &d->v.p[i].fix;

			if (f->set && !f->widening && f->span.from >= at && (at == 0 || f->span.to > at) &&
			    (!next || f->span.from < next->span.from))
				next = f;
		}
		if (!next)
			break;
		sb_str(&b, (Str){ text.p + at, next->span.from - at });
		sb_str(&b, next->text);
		at = next->span.to;
	}
	sb_str(&b, (Str){ text.p + at, text.n - at });
	return sb_done(&b);
}

static bool mended(Case *c, Str text, bool strict)
{
	Outcome o = outcome_of(c, text);

	if (o.diags.errors == 0 && (!strict || o.diags.v.n == 0))
		return true;
	complain(c, "the mended program is not right:", rendered(c, &o.diags, text));
	return false;
}

/* Fixes inside of others show up when those are applied: a few rounds. */
static void check_mistake(Case *c, const Outcome *o)
{
	Str hand = expected(c, "#| "), text = c->text;
	bool hint = false, fixed = true;

	for (uint32_t i = 0; i < o->diags.v.n; i++) {
		const Diag *d = &o->diags.v.p[i];

		hint |= d->hint.n > 0;
		fixed &= d->fix.set && !d->fix.widening;
	}
	if (hand.n) {
		by_hand += mended(c, hand, false);
		if (fixed)
			complain(c, "a fix mends it: no need for a hand", (Str){ 0 });
		if (!hint)
			complain(c, "neither a fix nor a hint", rendered(c, &o->diags, c->text));
		return;
	}
	for (int round = 0; round < 4; round++) {
		Outcome next = outcome_of(c, text);

		text = next.diags.v.n ? apply_fixes(c, &next.diags, text) : text;
	}
	by_fix += mended(c, text, true);
}

/* ---- layout ---- */

static Str tree_of(Case *c, Str text)
{
	Ast *ast = arena_new(c->a, Ast);
	DiagList d = { .a = c->a };
	Sb b = sb(c->a);

	ast_init(ast, c->a);
	if (parse_file(ast, (Str){ 0 }, text, false, &d))
		ast_dump(ast->files.p[0].module, &b);
	return sb_done(&b);
}

static void check_layout(Case *c)
{
	DiagList d = { .a = c->a };
	Sb once = sb(c->a), twice = sb(c->a);

	if (!fmt_text(c->a, c->text, &d, &once))
		return;
	Str text = sb_done(&once);

	if (!str_eq(tree_of(c, text), tree_of(c, c->text)))
		complain(c, "formatting changes the program to", text);
	fmt_text(c->a, text, &d, &twice);
	if (!str_eq(text, sb_done(&twice)))
		complain(c, "formatting twice is not formatting once", text);
}

/* ---- running ---- */

static void put_out(void *ctx, Str text, const ProgTold *told, bool peer)
{
	(void)told;
	(void)peer;
	sb_str(ctx, text);
}

static void put_result(void *ctx, uint32_t line, Str type, Str json, const ProgTold *told)
{
	(void)told;
	(void)ctx;
	(void)line;
	(void)type;
	(void)json;
}

static void check_run(Case *c, const Program *p)
{
	Sb out = sb(c->a);
	VmHost host = { .ctx = &out, .seed = 1, .out = put_out, .result = put_result };
	Vm *vm = vm_new(c->a, p, &host);
	Str want = expected(c, "# expect: "), want_error = expected(c, "# expect runtime error: "), got_error = { 0 };
	const VmError *e;

	vm_run(vm);
	e = vm_error(vm);
	if (e->set && e->code[0]) {
		LineCol lc = line_col(c->text, e->span.from);

		got_error = str_printf(c->a, "%s %u:%u\n", e->code, lc.line, lc.col);
	}
	if (!str_eq(got_error, want_error))
		complain(c, "run-time error:",
			 e->set ? str_printf(c->a, "%.*s%.*s", STR_ARG(got_error), STR_ARG(e->message)) : STR("none"));
	if (!str_eq(sb_done(&out), want))
		complain(c, "it prints", sb_done(&out));
}

/* ---- cases ---- */

static void check_diags(Case *c, const Outcome *o)
{
	Str want = expected(c, "# expect error: "), want_w = expected(c, "# expect warning: ");
	Str want_fix = expected(c, "# fix:");
	bool errors = str_eq(diags_text(c, &o->diags, c->text, SEV_ERROR), want);
	bool warnings = !want_w.n || str_eq(diags_text(c, &o->diags, c->text, SEV_WARNING), want_w);

	if (!errors || !warnings)
		complain(c, "other diagnostics than expected:", rendered(c, &o->diags, c->text));
	if (want_fix.n) {
		Sb b = sb(c->a);

		for (size_t i = 0; i < want_fix.n; i++) /* the blank behind the colon */
			if (want_fix.p[i] != ' ' || (i && want_fix.p[i - 1] != '\n'))
				sb_char(&b, want_fix.p[i]);
		if (!str_eq(sb_done(&b), fixes_text(c, &o->diags)))
			complain(c, "other fixes than expected:", fixes_text(c, &o->diags));
	}
	if (o->c && o->c->lib_diags.v.n)
		complain(c, "lib has errors:", o->c->lib_diags.v.p[0].message);
	if (o->c && o->c->stats.walks && !o->c->stats.settled)
		complain(c, "the checker ended before it knew all:", STR("a walk more found something new"));
}

/* Bits and place of each cost of a program, a line each, and how its end is paid. */
static void check_leak(Case *c, const Manifest *m)
{
	static const char *const ends[] = { "free", "early", "paid" };
	Str want = expected(c, "# expect leak: ");
	Sb b = sb(c->a);

	for (uint32_t i = 0; i < m->leak.n; i++) {
		const LeakCost *k = &m->leak.p[i];
		LineCol lc = line_col(c->text, k->span.from);

		if (k->bits < METER_PACKET)
			sb_printf(&b, "%u %u:%u\n", k->bits, lc.line, lc.col);
		else
			sb_printf(&b, "packet %u:%u\n", lc.line, lc.col);
	}
	if (!m->leak.n)
		sb_cstr(&b, "none\n");
	sb_printf(&b, "end: %s\n", ends[m->leak_end]);
	if (!str_eq(sb_done(&b), want))
		complain(c, "leak:", sb_done(&b));
}

static void run_case(const char *path, void *memory)
{
	Arena a;
	Case c = { .path = path, .text = files_read(path), .a = &a };

	arena_init(&a, memory, MEMORY, NULL);
	c.policy = says(&c, "# policy");
	Outcome o = outcome_of(&c, c.text);

	check_diags(&c, &o);
	if (says(&c, "# mistake:"))
		check_mistake(&c, &o);
	else
		check_fixes(&c, &o);
	check_layout(&c);
	if (o.c && o.c->program && says(&c, "# expect leak: "))
		check_leak(&c, &o.c->manifest);
	if (o.c && o.c->program) {
		const char *why = verify_program(o.c->program);

		if (why)
			complain(&c, "the verifier refuses the bytecode:", str_c(why));
		else if (says(&c, "# expect: ") || says(&c, "# expect runtime error: "))
			check_run(&c, o.c->program);
	} else if (o.c && !says(&c, "# expect error: ") && !says(&c, "# mistake:")) {
		complain(&c, "no program came out", (Str){ 0 });
	}
	c.failed ? failed++ : passed++;
	free((char *)(uintptr_t)c.text.p);
}

static void layout_case(const char *path, void *memory)
{
	Arena a;
	Case c = { .path = path, .text = files_read(path), .a = &a };

	arena_init(&a, memory, MEMORY, NULL);
	DiagList d = { .a = &a };
	Sb out = sb(&a);

	if (!fmt_text(&a, c.text, &d, &out))
		complain(&c, "it does not parse:", rendered(&c, &d, c.text));
	else if (!str_eq(sb_done(&out), c.text))
		complain(&c, "formatting makes it", sb_done(&out));
	c.failed ? failed++ : passed++;
	free((char *)(uintptr_t)c.text.p);
}

static void dump_case(const char *path, void *memory)
{
	Arena a;
	Case c = { .path = path, .text = files_read(path), .a = &a };

	arena_init(&a, memory, MEMORY, NULL);
	printf("%.*s\n", STR_ARG(tree_of(&c, c.text)));
	passed++;
	free((char *)(uintptr_t)c.text.p);
}

static void load_lib(const char *folder)
{
	static char *paths[LIBS];
	unsigned n = files_list(folder, paths, 0, LIBS);

	files_sort(paths, n);
	for (unsigned i = 0; i < n; i++)
		lib[nlib++] = (LibSource){ str_c(paths[i]), files_read(paths[i]) };
}

int main(int argc, char **argv)
{
	static char *paths[FILES];
	void *memory = malloc(MEMORY);
	unsigned n = 0, step = 1;
	int i = 1;
	void (*one)(const char *, void *) = run_case;

	if (argc > 1 && strcmp(argv[1], "-layout") == 0)
		one = layout_case;
	if (argc > 1 && strcmp(argv[1], "-dump") == 0)
		one = dump_case;
	i += one != run_case;
	if (argc > 2 && strcmp(argv[1], "-lib") == 0) {
		load_lib(argv[2]);
		i = 3;
	}
	if (i + 1 < argc && strcmp(argv[i], "-every") == 0) {
		step = (unsigned)atoi(argv[i + 1]);
		i += 2;
	}
	for (; i < argc; i++)
		n = files_list(argv[i], paths, n, FILES);
	files_sort(paths, n);
	for (unsigned k = 0; k < n && memory; k++) {
		if (k % step == 0)
			one(paths[k], memory);
		free(paths[k]);
	}
	free(memory);
	if (one != dump_case)
		printf("%u passed, %u failed\n", passed, failed);
	if (by_fix + by_hand)
		printf("%u mistakes: %u mended by their fixes, %u by hand\n", by_fix + by_hand, by_fix, by_hand);
	return failed || !passed;
}
