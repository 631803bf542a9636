/* SPDX-License-Identifier: Apache-2.0
 *
 * One address that is not known: `for h in net: if ping(h).received: traceroute(h)`
 * decides about h what steers packets to h, and that is free, although h may be any
 * of a network.  So a name that is set to one of several addresses stands for itself:
 * labels and destinations say "h" instead of all that it may be.
 *
 * That holds until the name is set again.  Then what still speaks of the old h says
 * what it may have been: at once where the state of the program holds it, and for
 * what lies in containers when it is read (an object that was made after h was set
 * can speak of no other h: Fact.gen).  A verb's peer is such a name for the time of
 * its call; verbs keep nothing from call to call.
 */
#include "lang/label_inside.h"

#include "base/hostname.h"
#include "base/rng.h"

/* What is said of whom is to be said otherwise. */
typedef struct Resolve {
	Facts *f;
	uint16_t only; /* this one; 0: all that are older than gen */
	uint64_t gen;
} Resolve;

static bool stays(const Resolve *r, uint16_t sym)
{
	const OnePeer *p = &r->f->labels->sym.p[sym];

	if (r->only)
		return sym != r->only;
	/* within a verb nothing is older than its call */
	return p->bound && (p->verb || r->f->frame->lib || r->gen > p->since);
}

static const Label *origins_resolved(const Resolve *r, const Label *l, unsigned depth);

/* Origin o at the addresses that it stands for. */
static const Label *one_resolved(const Resolve *r, const Origin *o, unsigned depth)
{
	Facts *f = r->f;
	const Label *ground = f->labels->sym.p[o->sym].ground, *out = NULL;

	if (!ground || ground->any || depth == 0)
		return label_any(f, LABEL_CONTENT);
	for (uint16_t i = 0; i < ground->no; i++) {
		Origin at = *label_origin_at(f, ground->origin[i]);

		at.proto = o->proto;
		at.port = o->port;
		out = label_join(f, out, label_of(f, LABEL_CONTENT, label_origin(f, at)));
	}
	return origins_resolved(r, out, depth - 1);
}

static const Label *origins_resolved(const Resolve *r, const Label *l, unsigned depth)
{
	Facts *f = r->f;
	const Label *out = NULL;
	bool same = true;

	for (uint16_t i = 0; i < l->no; i++) {
		Origin o = *label_origin_at(f, l->origin[i]);
		bool keep = !o.sym || stays(r, o.sym);

		same &= keep;
		out = label_join(f, out, keep ? label_of(f, LABEL_CONTENT, l->origin[i]) : one_resolved(r, &o, depth));
	}
	return same ? l : out;
}

static bool speaks_of(const Resolve *r, const Label *l)
{
	for (uint16_t i = 0; l && i < l->no; i++) {
		uint16_t sym = label_origin_at(r->f, l->origin[i])->sym;

		if (sym && !stays(r, sym))
			return true;
	}
	return false;
}

static const Label *why_resolved(const Resolve *r, const Label *why)
{
	return label_made(r->f, origins_resolved(r, why, 4), (WireLabel)why->level);
}

static const Label *label_resolved(const Resolve *r, const Label *l)
{
	Facts *f = r->f;
	Labels *ls = f->labels;
	bool stale = speaks_of(r, l);
	const Label *out = NULL;

	for (uint16_t i = 0; l && i < l->ns && !stale; i++)
		stale = speaks_of(r, ls->site.p[l->site[i]].why);
	if (!stale)
		return l;
	if (l->level != LABEL_CLEAN)
		out = label_made(f, l->any ? l : origins_resolved(r, label_parts(f, l), 4), (WireLabel)l->level);
	if (l->all)
		out = label_join(f, out, label_all_sites(f));
	for (uint16_t i = 0; i < l->ns; i++) {
		Site s = ls->site.p[l->site[i]];

		out = label_join(f, out,
				 speaks_of(r, s.why) ? label_site_of(f, rng_mix(s.key), &s, why_resolved(r, s.why))
						     : label_site(f, l->site[i]));
	}
	return out;
}

/* ---- facts ---- */

static const Fact *fact_resolved(const Resolve *r, const Fact *x);

static const Fact *const *items_resolved(const Resolve *r, const Fact *x)
{
	const Fact **item = NULL;

	for (uint32_t i = 0; i < x->n; i++) {
		const Fact *y = x->item[i] ? fact_resolved(r, x->item[i]) : NULL;

		if (y != x->item[i] && !item)
			item = arena_copy(r->f->a, x->item, x->n * sizeof *item);
		if (item)
			item[i] = y;
	}
	return item;
}

static const Stack *stack_resolved(const Resolve *r, const Stack *s)
{
	Stack t = *s;
	FieldFact *ff = NULL;

	t.tail = label_resolved(r, s->tail);
	t.content = label_resolved(r, s->content);
	t.echo = label_resolved(r, s->echo);
	for (uint32_t i = 0; i < s->nfields; i++) {
		const Fact *y = fact_resolved(r, s->field[i].value);

		if (y != s->field[i].value && !ff)
			t.field = ff = arena_copy(r->f->a, s->field, s->nfields * sizeof *ff);
		if (ff)
			ff[i].value = y;
	}
	t.quoted = s->quoted ? fact_resolved(r, s->quoted) : NULL;
	return memcmp(&t, s, sizeof t) == 0 ? s : arena_copy(r->f->a, &t, sizeof t);
}

static const Stack *const *stacks_resolved(const Resolve *r, const Fact *x)
{
	const Stack **stack = NULL;

	for (uint32_t i = 0; i < x->n; i++) {
		const Stack *s = stack_resolved(r, x->stack[i]);

		if (s != x->stack[i] && !stack)
			stack = arena_copy(r->f->a, x->stack, x->n * sizeof *stack);
		if (stack)
			stack[i] = s;
	}
	return stack;
}

static const Fact *fact_resolved(const Resolve *r, const Fact *x)
{
	const Label *l = label_resolved(r, x->label);
	bool lost = x->one && !stays(r, x->one);
	const Fact *const *item = NULL;
	const Stack *const *stack = NULL;

	if (x->kind == T_PACKET)
		stack = stacks_resolved(r, x);
	else if (fact_has_items(x))
		item = items_resolved(r, x);
	if (l == x->label && !lost && !item && !stack)
		return x;
	Fact *y = mk_copy(r->f, x);

	y->label = l;
	if (lost)
		y->one = 0;
	if (item)
		y->item = item;
	if (stack)
		y->stack = stack;
	return y;
}

const Fact *label_read(Facts *f, const Fact *c, const Fact *x)
{
	return f->labels->sym.n > 1 ? fact_resolved(&(Resolve){ .f = f, .gen = c->gen }, x) : x;
}

const Label *label_read_label(Facts *f, const Fact *c, const Label *l)
{
	return f->labels->sym.n > 1 && l ? label_resolved(&(Resolve){ .f = f, .gen = c->gen }, l) : l;
}

const Label *label_flat(Facts *f, const Label *l)
{
	return f->labels->sym.n > 1 && l ? label_resolved(&(Resolve){ .f = f }, l) : l;
}

/* ---- setting a name ---- */

static void slots_resolve(const Resolve *r, const Fact **slot, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (slot[i])
			slot[i] = fact_resolved(r, slot[i]);
}

static void refines_resolve(const Resolve *r)
{
	Env *e = r->f->env;
	const Refine *out = NULL;
	bool same = true;

	for (const Refine *p = e->refine; p; p = p->next)
		same &= fact_resolved(r, p->fact) == p->fact;
	for (const Refine *p = e->refine; !same && p; p = p->next) {
		Refine *q = arena_copy(r->f->a, p, sizeof *q);

		q->fact = fact_resolved(r, p->fact);
		q->next = out;
		out = q;
	}
	if (!same)
		e->refine = out;
}

/* What the state holds that speaks of it. */
static void forget(Facts *f, uint16_t sym)
{
	const Resolve r = { .f = f, .only = sym };
	Labels *ls = f->labels;
	const Label **where[] = { &ls->pc, &ls->cont, &ls->brk, &ls->ret, &ls->ended, &ls->may_end, &ls->called };

	slots_resolve(&r, f->env->l, f->env->nl);
	if (f->env->own_g)
		slots_resolve(&r, f->env->g, f->in->scopes->n_globals);
	refines_resolve(&r);
	for (size_t i = 0; i < sizeof where / sizeof *where; i++)
		*where[i] = label_resolved(&r, *where[i]);
	for (uint32_t i = 0; i < ls->waited.n; i++)
		ls->waited.p[i].on = label_resolved(&r, ls->waited.p[i].on);
}

static uint16_t sym_at(Facts *f, uint64_t key)
{
	Labels *ls = f->labels;

	for (uint32_t i = 1; i < ls->sym.n; i++)
		if (ls->sym.p[i].key == key)
			return (uint16_t)i;
	if (ls->sym.n == ONE_MOST)
		return 0;
	vec_push(f->a, &ls->sym, (OnePeer){ .key = key });
	return (uint16_t)(ls->sym.n - 1);
}

/* The addresses that a text or an address may be; NULL: it is one, or none. */
static const Label *several(Facts *f, const Fact *x)
{
	const Origin addr = { .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT };
	Ip ip;

	if (x->one || x->none || (x->kind != T_IP && x->kind != T_STR))
		return NULL;
	if (x->kind == T_STR) {
		for (uint32_t i = 0; x->vals && i < x->vals->n; i++)
			if (!ip_parse(x->vals->s[i], &ip) && host_question_fault(x->vals->s[i]))
				return NULL;
		return x->vals && x->vals->n > 1 ? label_any(f, LABEL_MEASURED) : NULL;
	}
	const Label *l = label_peers(f, label_targets(f, x, addr));

	return label_own(f, l, l) ? NULL : l;
}

static const Fact *bind(Facts *f, uint16_t sym, const Label *ground, const Fact *x, bool verb)
{
	OnePeer *p = &f->labels->sym.p[sym];

	if (p->since)
		forget(f, sym);
	p->ground = label_join(f, p->ground, ground);
	p->since = ++f->gen;
	p->bound = true;
	p->verb = verb;
	p->frame = f->frame;
	Fact *y = mk_copy(f, x);

	y->one = sym;
	return y;
}

const Fact *label_accepted(Facts *f, const Node *call, const Fact *peers)
{
	const Label *ground = label_peers(
		f, label_targets(f, peers, (Origin){ .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT }));
	uint16_t sym = sym_at(f, rng_mix(f->frame->path ^ call->id) ^ 2);

	return sym ? bind(f, sym, ground, peers, false) : peers;
}

const Fact *label_one(Facts *f, const Node *name, const Fact *x, bool verb)
{
	const Label *ground = verb && x->one ? label_of(f, LABEL_MEASURED, label_origin(f, (Origin){ .sym = x->one, .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT }))
					     : several(f, x);
	uint16_t sym = ground ? sym_at(f, rng_mix(f->frame->path ^ name->id) ^ verb) : 0;

	return sym ? bind(f, sym, ground, x, verb) : x;
}

const Fact *label_frame_end(Facts *f, const Frame *frame, const Fact *x)
{
	Labels *ls = f->labels;

	for (uint16_t i = 1; i < ls->sym.n; i++)
		if (ls->sym.p[i].bound && !ls->sym.p[i].verb && ls->sym.p[i].frame == frame) {
			ls->sym.p[i].bound = false;
			forget(f, i);
			x = fact_resolved(&(Resolve){ .f = f, .only = i }, x);
		}
	return x;
}

const Fact *label_verb_end(Facts *f, const Fact *peer, const Fact *x)
{
	if (!peer || !peer->one || !f->labels->sym.p[peer->one].verb)
		return x;
	f->labels->sym.p[peer->one].bound = false;
	forget(f, peer->one);
	return fact_resolved(&(Resolve){ .f = f, .only = peer->one }, x);
}
