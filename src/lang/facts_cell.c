/* SPDX-License-Identifier: Apache-2.0
 *
 * What lists, sets and dicts contain.
 *
 * A Cell stands for all objects made at one place on one call path.  It only
 * grows, so what is read from it holds for every object at every time; when a walk
 * made one grow, the program is walked again.
 *
 * How long an object can get: each place that adds to it counts its additions per
 * object, that is the rounds of those loops around it that began before the
 * object was made.  Whether an object is of the current round of a loop is seen
 * from the reference: `gen` is the time at which the expression that made it was
 * walked, and a reference that came round by the loop's back edge (or out of a
 * container) is older than the round.
 */
#include "base/rng.h"
#include "lang/facts_inside.h"

enum { WALKS_BEFORE_WIDENING = 4, CHANGES_BEFORE_WIDENING = 4 };

/* Nobody read it in this walk yet: then what it is now is what they all will read. */
void cell_grew(Facts *f, const Cell *c)
{
	f->grew_at_all = true;
	f->grew |= c->read == f->walk;
}

void facts_read_cells(Facts *f, const Fact *x)
{
	Cell *c = x->cell;

	if (c && c->read != f->walk) {
		c->read = f->walk;
		facts_read_cells(f, c->key);
		facts_read_cells(f, c->elem);
		for (uint32_t i = 0; i < c->at.n; i++)
			facts_read_cells(f, c->at.p[i]);
		for (uint32_t i = 0; i < c->field.n; i++)
			facts_read_cells(f, c->field.p[i].value);
	}
	if (fact_has_items(x))
		for (uint32_t i = 0; i < x->n; i++)
			if (x->item[i])
				facts_read_cells(f, x->item[i]);
}

/* What a counter that was `was` and now is `x` may become. */
static const Fact *widen_number(Facts *f, const Fact *was, const Fact *x)
{
	return facts_widen(f, was, facts_join(f, was, x));
}

Cell *cell_at(Facts *f, const Node *n, uint32_t sub, FactKind kind)
{
	uint64_t key = rng_mix(rng_mix(f->frame->path ^ n->id) ^ ((uint64_t)sub << 8 | kind));
	uint64_t *slot = map_get(&f->cells, BYTES(&key, sizeof key));

	if (slot)
		return (Cell *)(uintptr_t)*slot;
	facts_step(f, 4);
	slot = map_put(&f->cells, BYTES(arena_copy(f->a, &key, sizeof key), sizeof key));
	Cell *c = arena_new(f->a, Cell);

	c->key = c->elem = mk(f, T_NEVER);
	c->at_known = true;
	*slot = (uint64_t)(uintptr_t)c;
	return c;
}

void cell_elem(Facts *f, Cell *c, const Fact *x)
{
	if (x->kind == T_ERROR)
		return; /* or it would hide its own cause in the next walk */
	const Fact *now = facts_join(f, c->elem, label_add(f, x, label_pc(f)));

	if (now == c->elem)
		return;
	cell_grew(f, c);
	c->elem = f->walk > WALKS_BEFORE_WIDENING ? facts_widen(f, c->elem, now) : now;
}

void cell_store(Facts *f, Cell *c, const Fact *x)
{
	const Fact *was = c->elem;

	if (x->kind == T_INT && was->kind == T_INT && c->counts >= CHANGES_BEFORE_WIDENING)
		x = widen_number(f, was, x);
	cell_elem(f, c, x);
	if (c->elem != was && c->counts < CHANGES_BEFORE_WIDENING)
		c->counts++;
}

void cell_key(Facts *f, Cell *c, const Fact *x)
{
	const Fact *now = x->kind == T_ERROR ? c->key : facts_join(f, c->key, x);

	label_touch(f, c, label_deep(f, x));

	if (now == c->key)
		return;
	cell_grew(f, c);
	c->key = f->walk > WALKS_BEFORE_WIDENING ? facts_widen(f, c->key, now) : now;
}

void cell_made(Facts *f, Cell *c, Len l)
{
	label_touch(f, c, NULL);
	if (!c->made) {
		c->made = f->frame->func;
		c->len = l;
		cell_grew(f, c);
		return;
	}
	if (l.lo < c->len.lo) {
		c->len.lo = l.lo;
		cell_grew(f, c);
	}
	if (l.hi > c->len.hi) {
		c->len.hi = f->walk > WALKS_BEFORE_WIDENING ? LEN_INF : l.hi;
		cell_grew(f, c);
	}
}

/* How often the current place is reached for one object that `ref` refers to. */
static uint64_t times(Facts *f, const Fact *ref)
{
	uint64_t n = 1;

	for (const Frame *fr = f->frame; fr; fr = fr->up)
		for (const Loop *l = fr->loop; l; l = l->up)
			if (ref->gen <= l->since)
				n = facts_sat_mul(n, l->rounds);
	return n;
}

uint64_t facts_rounds(Facts *f)
{
	return times(f, &(Fact){ 0 });
}

void cell_grow(Facts *f, const Fact *ref, const Node *at, uint64_t n)
{
	Cell *c = ref->cell;
	uint64_t site = rng_mix(f->frame->path ^ at->id), add = facts_sat_mul(n, times(f, ref));

	cell_changed(f, c);
	label_touch(f, c, NULL);
	for (uint32_t i = 0; i < c->grows.n; i++) {
		CellSite *s = &c->grows.p[i];

		if (s->site != site)
			continue;
		if (add > s->add) {
			s->add = f->walk > WALKS_BEFORE_WIDENING ? LEN_INF : add;
			cell_grew(f, c);
		}
		return;
	}
	vec_push(f->a, &c->grows, (CellSite){ site, add });
	if (add > 0)
		cell_grew(f, c);
}

void cell_changed(Facts *f, Cell *c)
{
	if (c->at_known) {
		c->at_known = false;
		cell_grew(f, c);
	}
}

void cell_shrinks(Facts *f, Cell *c)
{
	cell_changed(f, c);
	label_touch(f, c, NULL);
	if (!c->shrinks) {
		c->shrinks = true;
		cell_grew(f, c);
	}
}

void cell_at_add(Facts *f, Cell *c, uint32_t i, const Fact *x)
{
	x = label_add(f, x, label_pc(f));
	if (i < c->at.n) {
		const Fact *now = x->kind == T_ERROR ? c->at.p[i] : facts_join(f, c->at.p[i], x);

		if (now != c->at.p[i]) {
			c->at.p[i] = f->walk > WALKS_BEFORE_WIDENING ? facts_widen(f, c->at.p[i], now) : now;
			cell_grew(f, c);
		}
	} else {
		vec_push(f->a, &c->at, x->kind == T_ERROR ? mk(f, T_NEVER) : x);
		cell_grew(f, c);
	}
}

/* ---- records ---- */

const Fact *cell_field(const Cell *c, Str name)
{
	for (uint32_t i = 0; i < c->field.n; i++)
		if (str_eq(c->field.p[i].name, name))
			return c->field.p[i].value;
	return NULL;
}

void cell_field_set(Facts *f, Cell *c, Str name, const Fact *x)
{
	facts_step(f, c->field.n / 8);
	if (x->kind == T_ERROR)
		x = mk(f, T_NEVER);
	x = label_add(f, x, label_pc(f));
	label_touch(f, c, NULL);
	for (uint32_t i = 0; i < c->field.n; i++) {
		RecField *r = &c->field.p[i];

		if (!str_eq(r->name, name))
			continue;
		const Fact *now = facts_join(f, r->value, x);

		if (now != r->value) {
			r->value = f->walk > WALKS_BEFORE_WIDENING ? facts_widen(f, r->value, now) : now;
			cell_grew(f, c);
		}
		return;
	}
	vec_push(f->a, &c->field, (RecField){ name, x });
	cell_grew(f, c);
}

const Fact *cell_values(Facts *f, const Fact *d)
{
	Cell *c = d->cell;
	const Fact *x = c->elem;

	for (uint32_t i = 0; i < c->field.n; i++)
		x = facts_join(f, x, c->field.p[i].value);
	return x;
}

/* From here on it is a dict: computed keys, iteration, methods other than get. */
void cell_use_as_dict(Facts *f, const Fact *d, const Node *at)
{
	Cell *c = d->cell;

	(void)at;
	if (!c->dict_use) {
		c->dict_use = true;
		c->record = false;
		cell_grew(f, c);
	}
	for (uint32_t i = 0; i < c->field.n; i++) {
		cell_key(f, c, mk_str(f, T_STR, c->field.p[i].name));
		cell_elem(f, c, c->field.p[i].value);
	}
}
