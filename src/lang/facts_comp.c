/* SPDX-License-Identifier: Apache-2.0
 *
 * Comprehensions: their clauses are walked once, in a state of their own.
 */
#include "lang/facts_inside.h"

typedef struct Comp {
	Node *n;
	const Fact *key, *elem;
	Len len;
	const Label *stop; /* any() and all(): what ends them */
} Comp;

static void comp_clauses(Facts *f, Comp *c, uint32_t k);

static void comp_for(Facts *f, Comp *c, uint32_t k)
{
	Clause *cl = &c->n->comp.clause[k];
	const Fact *x = facts_ex_value(f, cl->value);
	Len len;
	Loop loop = { .up = f->frame->loop, .target = cl->target };
	const Fact *item = facts_iterate(f, x, cl->value, &len);

	loop.since = ++f->gen;
	loop.rounds = len.hi;
	c->len = (Len){ facts_sat_mul(c->len.lo, len.lo), facts_sat_mul(c->len.hi, len.hi) };
	f->frame->loop = &loop;
	label_enter(f, label_decide(f, cl->value, label_shape(f, x)));
	facts_assign(f, cl->target, item, cl->value);
	Count was = f->count;

	comp_clauses(f, c, k + 1);
	f->frame->loop = loop.up;
	facts_count_rounds(f, was, len);
}

static void comp_clauses(Facts *f, Comp *c, uint32_t k)
{
	if (f->env->dead)
		return;
	if (k == c->n->comp.n) {
		const Node *outer = f->comp;

		f->comp = c->n;
		if (c->n->comp.key)
			c->key = facts_join(f, c->key,
					    facts_key(f, facts_ex(f, c->n->comp.key), c->n->comp.key));
		const Fact *x = facts_ex(f, c->n->comp.value);

		if (label_stops(f, c->n))
			c->stop = label_decide(f, c->n->comp.value, label_test(f, c->n->comp.value));
		c->elem = facts_join(f, c->elem,
				     c->n->kind == N_SETCOMP ? facts_key(f, x, c->n->comp.value) : x);
		f->comp = outer;
	} else if (c->n->comp.clause[k].target) {
		comp_for(f, c, k);
	} else {
		Node *test = c->n->comp.clause[k].value;
		Env *no = facts_cond(f, test);

		label_branch(f, test, f->env, no);
		c->len.lo = 0;
		Least least = f->count.least;

		comp_clauses(f, c, k + 1);
		f->count.least = least;
	}
}

const Fact *facts_comprehension(Facts *f, Node *n)
{
	Comp c = { .n = n, .key = mk(f, T_NEVER), .elem = mk(f, T_NEVER), .len = { 1, 1 } };
	Env *env = f->env;
	const Label *pc = label_enter(f, NULL);
	uint64_t made = ++f->gen;

	if (label_stops(f, n)) {
		/* whether there is a next round is what the last one told */
		Count count = f->count;

		f->quiet++;
		f->env = env_copy(f, env);
		comp_clauses(f, &c, 0);
		f->quiet--;
		f->count = count;
		label_back(f, pc);
		label_enter(f, c.stop);
		c = (Comp){ .n = n, .key = mk(f, T_NEVER), .elem = mk(f, T_NEVER), .len = { 1, 1 } };
	}
	f->env = env_copy(f, env);
	comp_clauses(f, &c, 0);
	f->env = env;
	const Fact *x = n->kind == N_SETCOMP	? mk_set(f, n, 0, c.elem, c.len)
			: n->kind == N_DICTCOMP ? mk_dict(f, n, 0, c.key, c.elem, c.len)
						: mk_list(f, n, 0, c.elem, c.len);

	if (n->kind == N_DICTCOMP)
		x->cell->dict_use = true;
	else if (n->kind != N_SETCOMP)
		cell_changed(f, x->cell);
	label_touch(f, x->cell, NULL); /* by all the clauses, which are still open */
	label_back(f, pc);
	Fact *y = mk_copy(f, x);

	y->gen = made; /* what is in it is of all rounds */
	return y;
}
