/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker: one abstract interpreter.
 *
 * It runs the program on facts (types.h) instead of values: all ways at once,
 * calls in place (functions are not recursive), lib's verbs like the user's own
 * functions.  From the one walk come types, None-ness, layer stacks, known values,
 * lengths, the manifest and the worst case.
 *
 * Soundness.  Say that a state s (variables, objects, frames sent so far) of a
 * run at a point is covered by (Env, Cells, Count) if each variable's value is one
 * of its fact's values, each object made at a place is one of its Cell's objects,
 * and the frames sent are at most Count's (and, at the end, at least its least).
 * What must hold is: if the state before a statement is covered, so is the state
 * behind it.  It does because
 *   - ex() gives for operands' facts a fact of all values that the VM's operation
 *     can give for values of them, or says an error; a table row or rule is the
 *     claim for one operation, and what has no row is an error;
 *   - join() covers both sides; a condition only drops values for which it can't
 *     come out so (compare_part, truth_part, packet_having);
 *   - objects: all references to objects of one place share a Cell, and Cells only
 *     grow; walks are repeated until no Cell grew after it was read (each reference
 *     comes out of an expression first: facts_ex), so the last walk read from Cells
 *     that cover all that the program ever puts in;
 *   - loops are walked until the state at their head covers the state that comes
 *     back; widening ends that;
 *   - narrowing of a path (h.addr) is kept only for paths through values that
 *     nobody can change, and ends when their variable is assigned.
 * Errors are reported in the last walk only, at the place where the first rule
 * does not hold; the value behind it is T_ERROR, which no rule complains about, so
 * one cause gives one error.
 *
 * What it does not promise: that indexes are in range, numbers do not overflow,
 * keys exist, a variable set on some ways only is set: these are run-time errors
 * with a position.  The VM checks tags all the same; its safety rests on nothing
 * said here.
 */
#include "lang/facts_inside.h"

#include <stdio.h>

enum { WALKS_MOST = 12 };

#define CODE(code, meaning) { code, meaning },
const CodeRow diag_codes[] = {
#include "lang/codes.def"
};
#undef CODE
const uint32_t diag_codes_n = sizeof diag_codes / sizeof *diag_codes;

/* ---- steps ---- */

void facts_step(Facts *f, uint32_t n)
{
	/* lib's verbs are bounded: their steps weigh less than a program's own */
	f->fine += n * (f->frame && f->frame->lib ? 1 : 4);
	f->steps = f->fine / 4;
	if (f->steps <= LIMIT_CHECK_STEPS)
		return;
	f->quiet = 0;
	f->fine = 0;
	facts_say(f, "E-COMPLEX", f->stmt ? f->stmt : f->in->ast->files.p[0].module,
		  "the program is too complex to be checked");
	longjmp(*f->complex, 1);
}

/* ---- words ---- */

const Fact *facts_bad(Facts *f)
{
	return mk(f, T_ERROR);
}

bool facts_in_lib(Facts *f, const Node *n)
{
	return f->in->ast->files.p[n->file].lib;
}

const Node *facts_users_node(Facts *f, const Node *n)
{
	const Frame *fr = f->frame;

	while (facts_in_lib(f, n) && fr && fr->call) {
		n = fr->call;
		fr = fr->up;
	}
	return n;
}

Str facts_source(Facts *f, const Node *n)
{
	Str text = f->in->ast->files.p[n->file].text;

	return (Str){ text.p + n->span.from, n->span.to - n->span.from };
}

static DiagList *list_of(Facts *f, const Node *n)
{
	return n->file == 0 || !f->in->lib_diags || !facts_in_lib(f, n) ? f->in->diags : f->in->lib_diags;
}

static Diag *say_v(Facts *f, const char *code, const Node *n, Span span, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));

static Diag *say_v(Facts *f, const char *code, const Node *n, Span span, const char *fmt, va_list ap)
{
	char text[LIMIT_DIAG_TEXT];

	if (f->quiet || (code[0] == 'W' && facts_in_lib(f, n))) {
		f->spare = (Diag){ 0 };
		return &f->spare;
	}
	if (facts_in_lib(f, n) && n->file != facts_users_node(f, n)->file) {
		n = facts_users_node(f, n);
		span = n->span;
	}
	vsnprintf(text, sizeof text, fmt, ap);
	return diag_add(list_of(f, n), code, span, "%s", text);
}

Diag *facts_say(Facts *f, const char *code, const Node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	Diag *d = say_v(f, code, n, n->span, fmt, ap);
	va_end(ap);
	return d;
}

Diag *facts_say_at(Facts *f, const char *code, const Node *file, Span span, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	Diag *d = say_v(f, code, file, span, fmt, ap);
	va_end(ap);
	return d;
}

void facts_fix_span(Facts *f, Diag *d, const Node *n, Span span, Str text)
{
	if (!f->quiet && n->file == 0)
		diag_fix(d, span, text);
}

/* Nodes leave out the brackets around their first part: `(a + b).x` starts at a. */
static Span with_brackets(Str text, Span s)
{
	int open = 0;
	char quote = 0;

	for (uint32_t i = s.from; i < s.to; i++) {
		char c = text.p[i];

		if (quote && c == '\\')
			i++;
		else if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else
			open += (c == ')') - (c == '(');
	}
	for (; open > 0 && s.from > 0; s.from--)
		open -= text.p[s.from - 1] == '(';
	return s;
}

void facts_fix(Facts *f, Diag *d, const Node *n, Str text)
{
	facts_fix_span(f, d, n, with_brackets(f->in->ast->files.p[n->file].text, n->span), text);
}

void facts_fix_declare(Facts *f, Diag *d, Str line)
{
	if (f->quiet)
		return;
	diag_fix(d, f->reach_span, str_printf(f->a, "%.*s\n", STR_ARG(line)));
	d->fix.widening = true;
}

/* ---- walks ---- */

static void walk_module(Facts *f, const AstFile *file, const Fact **g)
{
	Frame fr = { .func = file->module, .lib = file->lib, .value = mk(f, T_NEVER) };
	Env *e = arena_new(f->a, Env);

	fr.path = file->module->id;
	e->g = g;
	e->own_g = true;
	e->nl = file->module->module.scope->n_slots;
	e->l = arena_new_n(f->a, const Fact *, e->nl + 1);
	f->frame = &fr;
	f->env = e;
	facts_do_body(f, file->module->module.body);
}

/* A function that nobody called: its body is checked with arguments of any kind. */
static void walk_uncalled(Facts *f, Node *def, const Fact **g)
{
	Frame fr = { .func = f->in->ast->files.p[0].module, .value = mk(f, T_NEVER) };
	Env e = { .g = g };
	const Fact **arg = arena_new_n(f->a, const Fact *, def->func.n + 1);

	f->frame = &fr;
	f->env = &e;
	f->silent++;
	for (uint32_t i = 0; i < def->func.n; i++) {
		const Param *p = &def->func.param[i];

		arg[i] =
			p->type ? facts_sig_fact(f, facts_node_type(f, p->type), NULL, def, i) : mk(f, T_ANY);
	}
	facts_call_def(f, def, arg, def);
	f->silent--;
}

static void walk_all(Facts *f)
{
	const Scopes *s = f->in->scopes;
	const Fact **g = arena_new_n(f->a, const Fact *, s->n_globals + 1);
	Ast *ast = f->in->ast;

	f->walk++;
	labels_walk_begin(f);
	f->grew = false;
	f->count = f->exit = (Count){ 0 };
	f->exits = false;
	f->unroll = 1;
	for (uint32_t i = ast->files.n; i-- > 0;)
		walk_module(f, &ast->files.p[i], g);
	Count count = f->count;
	Env *env = f->env;

	for (uint32_t i = 0; i < s->defs.n; i++)
		if (s->defs.p[i]->file == 0 && !f->called[s->defs.p[i]->id]) {
			walk_uncalled(f, s->defs.p[i], env->g);
			f->called[s->defs.p[i]->id] = 0;
		}
	f->count = count;
	f->env = env;
}

/* What a walk adds to, so that it can be taken back. */
typedef struct Said {
	DiagList diags, lib_diags;
	Manifest m;
} Said;

static Said said(const Facts *f)
{
	return (Said){ *f->in->diags, f->in->lib_diags ? *f->in->lib_diags : (DiagList){ 0 }, *f->m };
}

static void take_back(Facts *f, const Said *s)
{
	*f->in->diags = s->diags;
	if (f->in->lib_diags)
		*f->in->lib_diags = s->lib_diags;
	*f->m = s->m;
}

static void walk_again(Facts *f, const Said *before)
{
	take_back(f, before);
	memset(f->called, 0, f->in->ast->n_nodes);
	memset(f->reached, 0, f->in->ast->n_nodes);
	walk_all(f);
}

static bool same_diags(const DiagList *a, const DiagList *b)
{
	for (uint32_t i = 0; i < a->v.n && i < b->v.n; i++)
		if (a->v.p[i].code != b->v.p[i].code || a->v.p[i].span.from != b->v.p[i].span.from)
			return false;
	return a->v.n == b->v.n;
}

/* For tests: a walk more, which must say the same and bring nothing to any Cell. */
static bool settled(Facts *f, const Said *before)
{
	Said first = said(f);
	Count count = f->count;

	f->grew_at_all = false;
	walk_again(f, before);
	return !f->grew_at_all && same_diags(&first.diags, f->in->diags) && count.packets == f->count.packets &&
	       count.syn == f->count.syn && memcmp(&count.least, &f->count.least, sizeof count.least) == 0;
}

/* A walk reports right away; if a Cell grew meanwhile, what it said is taken back. */
static void walks(Facts *f)
{
	Said before = said(f);

	do {
		walk_again(f, &before);
	} while (f->grew && f->walk < WALKS_MOST);
	if (f->grew)
		facts_say(f, "E-COMPLEX", f->in->ast->files.p[0].module,
			  "the program is too complex to be checked");
	f->settled = !f->in->settle || f->grew || settled(f, &before);
}

static Span head_of(const AstFile *file)
{
	const Node *m = file->module;
	uint32_t at = m->module.body.n ? m->module.body.p[0]->span.from : 0;
	const Node *first = m->module.body.n ? m->module.body.p[0] : NULL;

	if (first && first->kind == N_EXPR && first->expr.value->kind == N_STR && m->module.body.n > 1)
		at = m->module.body.p[1]->span.from;
	return (Span){ at, at };
}

bool facts_run(const FactsIn *in, Manifest *m, FactsStats *ret_stats)
{
	Facts *f = arena_new(in->a, Facts);
	jmp_buf complex, *full = in->a->full;

	f->a = in->a;
	f->in = in;
	f->m = m;
	f->complex = &complex;
	f->cells = (Map){ .a = in->a };
	f->seen = (Map){ .a = in->a };
	f->memo = (Map){ .a = in->a };
	f->reached = arena_alloc(in->a, in->ast->n_nodes);
	f->called = arena_alloc(in->a, in->ast->n_nodes);
	f->fixed = arena_new_n(in->a, const Fact *, in->ast->n_nodes);
	f->reach_span = head_of(&in->ast->files.p[0]);
	sigs_init(&f->sigs, in->a);
	labels_init(f);
	if (setjmp(complex) == 0) {
		Frame end = { .func = in->ast->files.p[0].module, .path = in->ast->files.p[0].module->id,
			      .value = mk(f, T_NEVER) };

		walks(f);
		f->frame = &end;
		facts_unreached(f);
		labels_finish(f, in->marks);
		manifest_finish(f);
	}
	in->a->full = full;
	diag_sort(in->diags);
	if (ret_stats)
		*ret_stats = (FactsStats){ f->steps, f->walk, f->instances, f->settled };
	return in->diags->errors == 0 && (!in->lib_diags || in->lib_diags->errors == 0);
}
