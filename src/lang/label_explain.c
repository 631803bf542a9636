/* SPDX-License-Identifier: Apache-2.0
 *
 * Why: the way from where bits came in, step by step, to where they leave or are
 * decided on, for `sonde check --explain`.
 *
 * It is found afterwards, by walking backwards over the text: from an expression
 * into the part of it that carries the label, from a name to what it was last set
 * to, from a call to what the function returned.  Steps in lib are left out: they
 * are the user's call, which is a step.
 */
#include "lang/label_inside.h"

enum { STEPS = 8, HOPS = 64, STEP_TEXT = 48 };

typedef struct Why {
	Facts *f;
	const Label *want;
	const Node *step[STEPS]; /* from the end backwards */
	uint32_t n;
	const Node *at;
} Why;

static bool tells(Facts *f, const Node *n, const Label *want)
{
	const Fact *x = f->labels->value[n->id];
	const Label *l = x ? label_made(f, label_deep(f, x), LABEL_CONTENT) : NULL;

	if (!l)
		return false;
	if (l->any || want->any)
		return true;
	for (uint16_t i = 0; i < want->no; i++)
		for (uint16_t k = 0; k < l->no; k++)
			if (label_origin_at(f, l->origin[k])->addr == label_origin_at(f, want->origin[i])->addr)
				return true;
	return false;
}

static void add_step(Why *w, const Node *n)
{
	if (w->n < STEPS && n->file == 0 && (!w->n || w->step[w->n - 1] != n))
		w->step[w->n++] = n;
}

static void first_child(Node *n, void *ctx)
{
	Why *w = ctx;

	if (!w->at && node_is_expr(n) && n->kind != N_LAMBDA && tells(w->f, n, w->want))
		w->at = n;
}

/* Where bits come in: a built-in that waits, or a verb. */
static bool is_source(const Node *n)
{
	const Node *fn = n->kind == N_CALL ? n->call.fn : NULL;

	if (!fn || fn->kind != N_NAME)
		return false;
	if (fn->name.ref == REF_FUNC)
		return fn->name.node->file != 0;
	return fn->name.ref == REF_BUILTIN && (builtin_funcs[fn->name.index].label != LABEL_CLEAN ||
					       builtin_funcs[fn->name.index].effect != EFFECT_NONE);
}

/* One hop back; NULL: here it came in. */
static const Node *back(Why *w, const Node *n)
{
	Labels *ls = w->f->labels;

	if (is_source(n))
		return NULL;
	if (n->kind == N_NAME)
		return n->name.ref == REF_VAR ? ls->set_by[n->name.var->index] : NULL;
	if (n->kind == N_CALL && n->call.fn->kind == N_NAME && n->call.fn->name.ref == REF_FUNC &&
	    ls->set_by_fn[n->call.fn->name.node->id])
		return ls->set_by_fn[n->call.fn->name.node->id];
	w->at = NULL;
	ast_each((Node *)(uintptr_t)n, first_child, w);
	return w->at;
}

static void put_step(Facts *f, const Node *n, Sb *out)
{
	LineCol lc = line_col(f->in->ast->files.p[0].text, n->span.from);
	Str s = facts_source(f, n);
	size_t end = 0;

	while (end < s.n && end < STEP_TEXT && s.p[end] != '\n')
		end++;
	sb_printf(out, "%sline %u: %.*s%s", out->n ? " -> " : "", lc.line, (int)end, s.p, end < s.n ? ".." : "");
}

Str label_path(Facts *f, const Node *from, const Label *l, const Node *to)
{
	Why w = { .f = f, .want = label_made(f, l, LABEL_CONTENT) };
	Sb out = sb(f->a);
	const Node *n = from;

	if (to)
		add_step(&w, to);
	add_step(&w, from);
	for (unsigned hop = 0; n && w.want && hop < HOPS; hop++) {
		const Node *was = n;

		n = back(&w, n);
		/* a name, or a call, is a step; what it stands in is not */
		if (n && (was->kind == N_NAME || was->kind == N_CALL))
			add_step(&w, n);
		if (!n && is_source(was))
			add_step(&w, was);
	}
	for (uint32_t i = w.n; i-- > 0;)
		put_step(f, w.step[i], &out);
	return sb_done(&out);
}

void label_set_by(Facts *f, const Var *v, const Node *value)
{
	if (value)
		f->labels->set_by[v->index] = value;
}

void label_returned(Facts *f, const Node *def, const Node *value)
{
	if (value)
		f->labels->set_by_fn[def->id] = value;
}
