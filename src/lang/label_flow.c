/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the run is, and who chose that: tests, loops, and what leaves them early.
 *
 * The label of a place is a set of sites, one for each test that is open around
 * it, and for each that may have left the loop, the function or the program before:
 * what stands behind `if x: break` depends on x until the loop's end.
 */
#include "lang/label_inside.h"

#include "base/rng.h"

const Label *label_pc(const Facts *f)
{
	return f->labels->pc;
}

/* Behind a test: what was before, and what left meanwhile. */
static const Label *behind(Facts *f, const Label *before)
{
	const Labels *ls = f->labels;

	before = label_join(f, label_join(f, before, ls->cont), ls->brk);
	return label_join(f, label_join(f, before, ls->ret), ls->ended);
}

/* By what it is made of, or by what chose it. */
static bool of_content(Facts *f, const Label *l)
{
	bool is = l && (l->level == LABEL_CONTENT || l->all);

	for (uint16_t i = 0; l && i < l->ns; i++)
		is |= f->labels->site.p[l->site[i]].why->level == LABEL_CONTENT;
	return is;
}

const Label *label_decide(Facts *f, const Node *at, const Label *l)
{
	/* What the open tests told is known here: it is paid with them. */
	l = label_minus_sites(f, l, label_pc(f));
	const Label *why = label_made(f, l, of_content(f, l) ? LABEL_CONTENT : LABEL_MEASURED);
	const Site like = { .node = at, .user = facts_users_node(f, at) };

	return why ? label_site_of(f, rng_mix(f->frame->path ^ at->id), &like, why) : NULL;
}

const Label *label_site_of(Facts *f, uint64_t key, const Site *like, const Label *why)
{
	Labels *ls = f->labels;
	uint64_t *slot = map_get(&ls->sites, BYTES(&key, sizeof key));

	if (!slot) {
		if (ls->site.n == UINT16_MAX - 1)
			facts_step(f, LIMIT_CHECK_STEPS); /* E-COMPLEX */
		vec_push(f->a, &ls->site, (Site){ .node = like->node, .user = like->user, .key = key });
		slot = map_put(&ls->sites, BYTES(arena_copy(f->a, &key, sizeof key), sizeof key));
		*slot = ls->site.n - 1;
	}
	Site *s = &ls->site.p[*slot];

	s->why = label_join(f, s->why, why);
	return label_site(f, (uint16_t)*slot);
}

const Label *label_enter(Facts *f, const Label *l)
{
	const Label *before = f->labels->pc;

	f->labels->pc = label_join(f, before, l);
	return before;
}

void label_back(Facts *f, const Label *before)
{
	f->labels->pc = behind(f, before);
}

const Label *label_branch(Facts *f, Node *test, const Env *yes, const Env *no)
{
	return label_enter(f, yes->dead || no->dead ? NULL : label_decide(f, test, label_test(f, test)));
}

const Label *label_calls(Facts *f, const Fact *fn, const Node *at, const Label *times)
{
	if (fn->kind != T_FUNC)
		return label_pc(f);
	/* each call, and that it is the last */
	return label_enter(f, label_join(f, label_decide(f, fn->node, times), label_decide(f, at, times)));
}

void label_left(Facts *f, LabelDoor d)
{
	Labels *ls = f->labels;
	const Label **door[] = { &ls->brk, &ls->cont, &ls->ret, &ls->ended };

	if (!f->env->dead)
		*door[d] = label_join(f, *door[d], ls->pc);
}

/* ---- loops and functions ---- */

static void begin(Facts *f, LabelScope *s)
{
	Labels *ls = f->labels;

	*s = (LabelScope){ ls->pc, ls->cont, ls->brk, ls->ret };
	ls->cont = ls->brk = NULL;
}

void label_loop_begin(Facts *f, LabelScope *s)
{
	begin(f, s);
}

const Label *label_round(Facts *f, const LabelScope *s)
{
	f->labels->cont = NULL;
	f->labels->pc = behind(f, s->pc);
	return f->labels->pc;
}

void label_loop_end(Facts *f, const LabelScope *s)
{
	f->labels->cont = s->cont;
	f->labels->brk = s->brk;
	label_back(f, s->pc);
}

void label_func_begin(Facts *f, LabelScope *s)
{
	begin(f, s);
	f->labels->ret = NULL;
}

void label_func_end(Facts *f, const LabelScope *s)
{
	f->labels->cont = s->cont;
	f->labels->brk = s->brk;
	f->labels->ret = s->ret;
	label_back(f, s->pc);
}

/* ---- tests ---- */

const Label *label_test(Facts *f, Node *n)
{
	const Fact *x = f->labels->value[n->id];

	if (n->kind == N_UNARY && n->op == UN_NOT)
		return label_test(f, n->unary.value);
	if (n->kind == N_BOOLOP)
		return label_join(f, label_test(f, n->binary.left), label_test(f, n->binary.right));
	if (n->kind == N_COMPARE)
		return label_compare(f, n);
	return x ? label_shape(f, x) : NULL;
}

void label_stops_at(Facts *f, const Node *n)
{
	f->labels->stops = n;
}

bool label_stops(const Facts *f, const Node *n)
{
	return f->labels->stops == n;
}

void label_may_end(Facts *f, const Node *at, const Label *l)
{
	Labels *ls = f->labels;
	const Label *made = label_made(f, l, LABEL_MEASURED);

	label_told_error(f, l);
	if (!made || facts_in_lib(f, at))
		return;
	if (!ls->may_end || label_join(f, ls->may_end, made) != ls->may_end)
		ls->may_end_at = at;
	ls->may_end = label_join(f, ls->may_end, made);
}
