/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known at a point of the program: the facts of variables, what tests
 * found out about paths (h.addr), and how many frames were sent so far.
 */
#include "lang/facts_inside.h"

uint64_t facts_sat_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t facts_sat_sub(uint64_t a, uint64_t b)
{
	return a == LEN_INF ? LEN_INF : a - b;
}

uint64_t facts_sat_mul(uint64_t a, uint64_t b)
{
	uint64_t r;

	if (a == 0 || b == 0)
		return 0;
	return a == UINT64_MAX || b == UINT64_MAX || __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

Env *env_copy(Facts *f, const Env *e)
{
	Env *c = arena_new(f->a, Env);

	*c = *e;
	facts_step(f, 1 + e->nl / 32);
	c->l = arena_copy(f->a, e->l, e->nl * sizeof *e->l);
	if (e->own_g) {
		uint32_t ng = f->in->scopes->n_globals;

		facts_step(f, ng / 32);
		c->g = arena_copy(f->a, e->g, ng * sizeof *e->g);
	}
	return c;
}

static void slots_join(Facts *f, const Fact **a, const Fact **b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (a[i] == b[i] || !b[i] || (f->heading && b[i]->kind == T_ERROR))
			continue;
		a[i] = a[i] ? facts_join(f, a[i], b[i]) : b[i];
	}
}

static const Refine *refine_find(const Refine *r, const Var *v, const Node *path)
{
	while (r && !(r->var == v && facts_path_eq(r->path, path)))
		r = r->next;
	return r;
}

static const Refine *refine_add(Facts *f, const Refine *next, const Refine *like)
{
	Refine *r = arena_new(f->a, Refine);

	*r = *like;
	r->next = next;
	return r;
}

/* What both found out. */
static const Refine *refine_join(Facts *f, const Refine *a, const Refine *b)
{
	const Refine *out = NULL;
	bool same = true;

	if (a == b)
		return a;
	for (const Refine *r = a; r; r = r->next) {
		const Refine *o = refine_find(b, r->var, r->path);
		const Fact *x = o ? facts_join(f, r->fact, o->fact) : NULL;

		same &= x == r->fact;
		if (x && !refine_find(out, r->var, r->path))
			out = refine_add(f, out,
					 &(Refine){ .var = r->var,
						    .path = r->path,
						    .fact = x,
						    .loose = r->loose || o->loose,
						    .live = r->live || o->live });
	}
	return same ? a : out;
}

Env *env_join(Facts *f, Env *a, Env *b)
{
	if (!b || b->dead)
		return a ? a : b;
	if (!a || a->dead)
		return env_copy(f, b);
	facts_step(f, 1 + a->nl / 32);
	slots_join(f, a->l, b->l, a->nl);
	if (a->own_g)
		slots_join(f, a->g, b->g, f->in->scopes->n_globals);
	a->refine = refine_join(f, a->refine, b->refine);
	return a;
}

Env *env_join_head(Facts *f, const Env *head, Env *back)
{
	f->heading = true;
	Env *e = env_join(f, env_copy(f, head), back);

	f->heading = false;
	return e;
}

static bool slots_same(const Fact **a, const Fact **b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i] && (!a[i] || !b[i] || !fact_eq(a[i], b[i])))
			return false;
	return true;
}

bool env_stable(Facts *f, const Env *a, const Env *b)
{
	if (a->dead || b->dead)
		return a->dead == b->dead;
	return slots_same(a->l, b->l, a->nl) &&
	       (!a->own_g || slots_same(a->g, b->g, f->in->scopes->n_globals)) && a->refine == b->refine;
}

static void slots_widen(Facts *f, const Fact **old, const Fact **now, uint32_t n, bool hard)
{
	for (uint32_t i = 0; i < n; i++)
		if (now[i] && old[i] && now[i] != old[i])
			now[i] = hard && !fact_eq(old[i], now[i]) ? label_add(f, mk(f, T_ANY), label_deep(f, now[i]))
								  : facts_widen(f, old[i], now[i]);
}

Env *env_widen(Facts *f, const Env *old, Env *now, bool hard)
{
	slots_widen(f, old->l, now->l, now->nl, hard);
	if (now->own_g)
		slots_widen(f, old->g, now->g, f->in->scopes->n_globals, hard);
	return now;
}

/* ---- variables ---- */

static const Fact **slot_of(Facts *f, const Var *v)
{
	Env *e = f->env;

	if (v->kind == VAR_GLOBAL)
		return &e->g[v->slot];
	return v->slot < e->nl ? &e->l[v->slot] : NULL;
}

static bool assignable(const Facts *f, const Var *v)
{
	return v->kind != VAR_GLOBAL || f->env->own_g;
}

const Fact *env_get(Facts *f, const Var *v)
{
	const Fact **s = slot_of(f, v);

	return s ? *s : NULL;
}

void env_set(Facts *f, const Var *v, const Fact *x)
{
	const Fact **s = slot_of(f, v);
	const Refine *keep = NULL;

	x = label_add(f, x, label_pc(f));
	if (s && assignable(f, v))
		*s = x;
	bool any = false;

	for (const Refine *r = f->env->refine; r; r = r->next)
		any |= r->var == v;
	if (!any)
		return;
	for (const Refine *r = f->env->refine; r; r = r->next)
		if (r->var != v)
			keep = refine_add(f, keep, r);
	f->env->refine = keep;
}

/* ---- paths ---- */

static bool is_const(const Node *n)
{
	return n->kind == N_INT || n->kind == N_STR || (n->kind == N_NAME && n->name.ref == REF_PROTO);
}

const Var *facts_path_var(Facts *f, const Node *n)
{
	for (;;) {
		switch (n->kind) {
		case N_NAME:
			return n->name.ref == REF_VAR ? n->name.var : NULL;
		case N_ATTR:
			n = n->attr.obj;
			break;
		case N_INDEX:
			if (!is_const(n->index.index))
				return NULL;
			n = n->index.obj;
			break;
		case N_CALL:
			if (n->call.n != 1 || n->call.arg[0].name || !is_const(n->call.arg[0].value) ||
			    n->call.fn->kind != N_ATTR ||
			    !(str_is(n->call.fn->attr.sym->text, "option") ||
			      str_is(n->call.fn->attr.sym->text, "getlayer")))
				return NULL;
			n = n->call.fn->attr.obj;
			break;
		default:
			return NULL;
		}
		facts_step(f, 1);
	}
}

static bool const_eq(const Node *a, const Node *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == N_INT)
		return a->i == b->i;
	if (a->kind == N_STR)
		return str_eq(a->s, b->s);
	return a->name.ref == b->name.ref && a->name.index == b->name.index;
}

bool facts_path_eq(const Node *a, const Node *b)
{
	for (;;) {
		if (a == b)
			return true;
		if (a->kind != b->kind)
			return false;
		switch (a->kind) {
		case N_NAME:
			return a->name.ref == REF_VAR && b->name.ref == REF_VAR && a->name.var == b->name.var;
		case N_ATTR:
			if (a->attr.sym != b->attr.sym)
				return false;
			a = a->attr.obj;
			b = b->attr.obj;
			break;
		case N_INDEX:
			if (!const_eq(a->index.index, b->index.index))
				return false;
			a = a->index.obj;
			b = b->index.obj;
			break;
		case N_CALL:
			if (a->call.n != 1 || b->call.n != 1 ||
			    !const_eq(a->call.arg[0].value, b->call.arg[0].value))
				return false;
			a = a->call.fn;
			b = b->call.fn;
			break;
		default:
			return false;
		}
	}
}

/* Where a path leads through: values, which nobody can change; lists and dicts, whose
 * items stay until somebody changes one; live objects, which stay as they are until
 * somebody waits; or elsewhere. */
typedef enum Firm { FIRM = 0, LOOSE = 1, LIVE = 2, NO_PATH = 4 } Firm;

static unsigned path_firm(Facts *f, const Node *path)
{
	const Node *obj = path->kind == N_ATTR	  ? path->attr.obj
			  : path->kind == N_INDEX ? path->index.obj
						  : NULL;

	if (path->kind == N_CALL)
		obj = path->call.fn->attr.obj;
	if (!obj)
		return FIRM;
	f->quiet++;
	const Fact *x = facts_ex(f, (Node *)obj);

	f->quiet--;
	if (x->kind == T_SET || x->kind == T_UNION)
		return NO_PATH;
	Firm own = x->kind == T_LIST || x->kind == T_DICT ? LOOSE : fact_is_live(x) ? LIVE : FIRM;

	return path_firm(f, obj) | own;
}

void env_refine(Facts *f, const Node *path, const Fact *x)
{
	const Var *v = facts_path_var(f, path);
	unsigned firm = v ? path_firm(f, path) : NO_PATH;

	if (firm & NO_PATH)
		return;
	x = label_refined(f, path, x);
	if (path->kind == N_NAME && assignable(f, v)) {
		const Fact **s = slot_of(f, v);

		if (s)
			*s = x;
		return;
	}
	Refine *r = arena_new(f->a, Refine);

	*r = (Refine){ .next = f->env->refine, .var = v, .path = path, .fact = x, .loose = firm & LOOSE,
			.live = firm & LIVE };
	f->env->refine = r;
}

static bool dropped(const Refine *r, bool touched)
{
	return r->live || (touched && r->loose);
}

static void drop_refines(Facts *f, bool touched)
{
	const Refine *keep = NULL;
	bool any = false;

	for (const Refine *r = f->env->refine; r; r = r->next)
		any |= dropped(r, touched);
	if (!any)
		return;
	for (const Refine *r = f->env->refine; r; r = r->next)
		if (!dropped(r, touched))
			keep = refine_add(f, keep, r);
	f->env->refine = keep;
}

void env_touch(Facts *f)
{
	drop_refines(f, true);
}

void env_waited(Facts *f)
{
	drop_refines(f, false);
}

const Fact *env_refined(Facts *f, const Node *path)
{
	if (!f->env->refine)
		return NULL;
	const Var *v = facts_path_var(f, path);
	const Refine *r = v ? refine_find(f->env->refine, v, path) : NULL;

	return r ? r->fact : NULL;
}

/* ---- doors ---- */

Count facts_count_max(Count a, Count b)
{
	return (Count){ a.packets > b.packets ? a.packets : b.packets, a.syn > b.syn ? a.syn : b.syn,
			{ a.least.packets < b.least.packets ? a.least.packets : b.least.packets,
			  a.least.bytes < b.least.bytes ? a.least.bytes : b.least.bytes,
			  a.least.syn < b.least.syn ? a.least.syn : b.least.syn,
			  a.least.ns < b.least.ns ? a.least.ns : b.least.ns } };
}

void facts_count_add(Facts *f, uint64_t packets, uint64_t syn, Least least)
{
	Least *to = &f->count.least;

	f->count.packets = facts_sat_add(f->count.packets, packets);
	f->count.syn = facts_sat_add(f->count.syn, syn);
	*to = (Least){ facts_sat_add(to->packets, least.packets), facts_sat_add(to->bytes, least.bytes),
		       facts_sat_add(to->syn, least.syn), facts_sat_add(to->ns, least.ns) };
}

static uint64_t rounds(uint64_t was, uint64_t now, uint64_t n)
{
	return facts_sat_add(was, facts_sat_mul(facts_sat_sub(now, was), n));
}

void facts_count_rounds(Facts *f, Count was, Len n)
{
	Count now = f->count;

	f->count = (Count){ rounds(was.packets, now.packets, n.hi),
			    rounds(was.syn, now.syn, n.hi),
			    { rounds(was.least.packets, now.least.packets, n.lo),
			      rounds(was.least.bytes, now.least.bytes, n.lo),
			      rounds(was.least.syn, now.least.syn, n.lo),
			      rounds(was.least.ns, now.least.ns, n.lo) } };
}

void facts_leave(Facts *f, Door *d)
{
	if (!f->env->dead) {
		d->count = d->env ? facts_count_max(d->count, f->count) : f->count;
		d->env = env_join(f, d->env, f->env);
	}
	f->env->dead = true;
}

void facts_enter(Facts *f, const Door *d)
{
	if (!d->env)
		return;
	f->count = f->env->dead ? d->count : facts_count_max(f->count, d->count);
	f->env = env_join(f, f->env, d->env);
}
