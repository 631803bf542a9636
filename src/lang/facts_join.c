/* SPDX-License-Identifier: Apache-2.0
 *
 * Equality, join and widening of facts.
 *
 * Types that do not join stay side by side in a union; an operation that can't be
 * done on one of them is an error where it stands, so a name may change its type
 * as long as nobody mixes the two.
 */
#include "lang/facts_inside.h"

enum { UNION_MOST = 8 };

static bool items_eq(const Fact *a, const Fact *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!fact_eq(a->item[i], b->item[i]))
			return false;
	return true;
}

static bool stacks_eq(const Fact *a, const Fact *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!stack_eq(a->stack[i], b->stack[i]))
			return false;
	return true;
}

bool fact_eq(const Fact *a, const Fact *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->none != b->none || a->number != b->number || a->open != b->open ||
	    a->view != b->view || a->index != b->index || a->field != b->field || a->cell != b->cell ||
	    a->node != b->node || a->label != b->label || a->taken != b->taken || a->one != b->one || a->len.lo != b->len.lo || a->len.hi != b->len.hi)
		return false;
	if (!vals_eq(a->kind, a->vals, b->vals))
		return false;
	return a->kind == T_PACKET ? stacks_eq(a, b) : items_eq(a, b);
}

uint32_t fact_ways(const Fact *x)
{
	return x->kind == T_UNION ? x->n : 1;
}

const Fact *fact_way(Facts *f, const Fact *x, uint32_t i)
{
	(void)f;
	return x->kind == T_UNION ? x->item[i] : x;
}

/* ---- join ---- */

static Len len_join(Len a, Len b)
{
	return (Len){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

static const Fact **join_items(Facts *f, const Fact *a, const Fact *b)
{
	const Fact **item = arena_new_n(f->a, const Fact *, a->n);

	for (uint32_t i = 0; i < a->n; i++)
		item[i] = facts_join(f, a->item[i], b->item[i]);
	return item;
}

/* A tuple of any length that covers both. */
static const Fact *tuple_open(Facts *f, const Fact *a, const Fact *b)
{
	const Fact *e = mk(f, T_NEVER);

	for (uint32_t i = 0; i < a->n; i++)
		e = facts_join(f, e, a->item[i]);
	for (uint32_t i = 0; i < b->n; i++)
		e = facts_join(f, e, b->item[i]);
	Fact *x = mk_copy(f, mk_tuple_of(f, e));

	x->len = len_join(a->len, b->len);
	return x;
}

/* Two containers may be either: from here on they share what is put into them. */
static const Fact *join_cells(Facts *f, const Fact *a, const Fact *b)
{
	Fact *x = mk_copy(f, a);
	Cell *to = a->cell, *from = b->cell;

	x->gen = a->gen < b->gen ? a->gen : b->gen;
	x->open |= b->open;
	if (to == from)
		return x;
	for (int i = 0; i < 2; i++) {
		cell_elem(f, to, from->elem);
		cell_key(f, to, from->key);
		label_touch(f, to, label_join(f, from->shape, from->count));
		for (uint32_t k = 0; k < from->field.n; k++)
			cell_field_set(f, to, from->field.p[k].name, from->field.p[k].value);
		if (from->dict_use)
			cell_use_as_dict(f, &(Fact){ .kind = T_DICT, .cell = to }, NULL);
		cell_changed(f, to);
		Len l = len_join(cell_len(from), cell_len(to));

		cell_made(f, to, (Len){ l.lo, to->grows.n ? to->len.hi : l.hi });
		to = b->cell;
		from = a->cell;
	}
	return x;
}

static const Fact *join_same(Facts *f, const Fact *a, const Fact *b)
{
	if (a->kind == T_PACKET)
		return packet_join(f, a, b);
	if (a->cell)
		return join_cells(f, a, b);
	if (a->kind == T_TUPLE && (a->n != b->n || a->open != b->open))
		return tuple_open(f, a, b);
	Fact *x = mk_copy(f, a);

	x->vals = vals_join(f, a->kind, a->vals, b->vals);
	x->len = len_join(a->len, b->len);
	x->number |= b->number;
	if (a->field != b->field)
		x->field = NULL;
	x->taken &= b->taken;
	x->one = a->one == b->one ? a->one : 0;
	x->gen = a->gen < b->gen ? a->gen : b->gen;
	if (!x->vals && !x->origin)
		x->origin = b->origin;
	if (a->n != b->n && a->kind != T_FUNC) { /* a result of which only the type is known */
		x->n = 0;
		x->item = NULL;
	} else if (x->n && a->kind != T_FUNC) {
		x->item = join_items(f, a, b);
	}
	return x;
}

static bool is_number(const Fact *x)
{
	return x->kind == T_INT || x->kind == T_BOOL || x->kind == T_FLOAT;
}

/* An int and a float are a float, True and 1 an int; a number that is known and a
 * duration are a duration. */
static const Fact *join_numbers(Facts *f, const Fact *a, const Fact *b)
{
	double d;

	if (a->kind == T_FLOAT || b->kind == T_FLOAT) {
		if (fact_number(a, &d) && fact_number(b, &d)) {
			const Fact *x = (fact_number(a, &d), mk_float(f, d));

			return join_same(f, x, (fact_number(b, &d), mk_float(f, d)));
		}
		return mk(f, T_FLOAT);
	}
	Fact *x = mk_copy(f, mk(f, T_INT));

	x->vals = vals_join(f, T_INT, a->vals, b->vals);
	return x;
}

static const Fact *join_duration(Facts *f, const Fact *a, const Fact *b)
{
	const Fact *d = a->kind == T_DURATION ? a : b, *n = d == a ? b : a;
	double v;

	if (!is_number(n) || !fact_number(n, &v))
		return NULL;
	Fact *x = mk_copy(f, d);

	x->vals = NULL;
	x->number = true;
	return x;
}

static bool joins(const Fact *a, const Fact *b)
{
	return a->kind == b->kind && (a->kind != T_RESULT || a->node == b->node) &&
	       (a->kind != T_FUNC || a->node == b->node) && (a->kind != T_PROTO || a->view == b->view) &&
	       (a->kind != T_PACKET || a->view == b->view) && (a->kind != T_TYPE || a->index == b->index);
}

static const Fact *join_union(Facts *f, const Fact *a, const Fact *b)
{
	const Fact **item = arena_new_n(f->a, const Fact *, UNION_MOST + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < fact_ways(a); i++)
		item[n++] = mk_some(f, fact_way(f, a, i));
	for (uint32_t i = 0; i < fact_ways(b); i++) {
		const Fact *x = mk_some(f, fact_way(f, b, i));
		uint32_t k = 0;

		while (k < n && !joins(item[k], x) && !(is_number(item[k]) && is_number(x)))
			k++;
		if (k < n)
			item[k] = facts_join(f, item[k], x);
		else if (n < UNION_MOST)
			item[n++] = x;
		else
			return label_add(f, label_add(f, mk(f, T_ANY), label_deep(f, a)), label_deep(f, b));
	}
	if (n == 1)
		return item[0];
	Fact *u = mk_copy(f, mk(f, T_UNION));

	u->item = item;
	u->n = n;
	return u;
}

static const Fact *join_some(Facts *f, const Fact *a, const Fact *b)
{
	if (a->kind == T_NONE)
		return b;
	if (b->kind == T_NONE)
		return a;
	if (joins(a, b) && a->kind != T_UNION)
		return join_same(f, a, b);
	if (is_number(a) && is_number(b))
		return join_numbers(f, a, b);
	if (a->kind == T_DURATION || b->kind == T_DURATION) {
		const Fact *x = join_duration(f, a, b);

		if (x)
			return x;
	}
	return join_union(f, a, b);
}

const Fact *facts_join(Facts *f, const Fact *a, const Fact *b)
{
	if (a == b || b->kind == T_NEVER)
		return a;
	if (a->kind == T_NEVER)
		return b;
	if (a->kind == T_ERROR || b->kind == T_ERROR)
		return !f->heading ? facts_bad(f) : a->kind == T_ERROR ? b : a;
	if (a->kind == T_ANY || b->kind == T_ANY) {
		const Label *all = label_join(f, label_deep(f, a), label_deep(f, b));

		return a->kind == T_ANY && a->label == all ? a : label_add(f, mk(f, T_ANY), all);
	}
	facts_step(f, 1);
	if (fact_eq(a, b) && ((!a->cell && !fact_is_live(a)) || a->gen <= b->gen))
		return a;
	const Fact *x = join_some(f, a, b);

	if (a->none || b->none)
		x = mk_opt(f, x);
	x = label_add(f, label_add(f, x, a->label), b->label);
	return fact_eq(x, a) && x->gen == a->gen ? a : x;
}

/* ---- widening ---- */

static const Vals *widen_ranges(Facts *f, const Vals *old, const Vals *now)
{
	if (!old || !now || !old->n || !now->n)
		return now && now->n ? now : NULL;
	int64_t lo = now->r[0].lo < old->r[0].lo ? INT64_MIN : old->r[0].lo;
	int64_t hi = now->r[now->n - 1].hi > old->r[old->n - 1].hi ? INT64_MAX : old->r[old->n - 1].hi;
	Vals *v = arena_new(f->a, Vals);
	Range *r = arena_new(f->a, Range);

	*r = (Range){ lo, hi };
	*v = (Vals){ .n = 1, .r = r };
	return v;
}

const Fact *facts_widen(Facts *f, const Fact *old, const Fact *now)
{
	if (old == now || fact_eq(old, now))
		return old->gen <= now->gen ? old : now;
	if (old->kind != now->kind) {
		if (now->kind != T_UNION && now->vals) {
			Fact *x = mk_copy(f, now);

			x->vals = NULL;
			return x;
		}
		return now;
	}
	if (now->kind == T_PACKET)
		return packet_widen(f, now);
	Fact *x = mk_copy(f, now);

	if (now->kind == T_INT || now->kind == T_DURATION)
		x->vals = widen_ranges(f, old->vals, now->vals);
	else if (now->kind != T_BOOL)
		x->vals = NULL;
	if (x->len.lo != old->len.lo)
		x->len.lo = 0;
	if (x->len.hi != old->len.hi)
		x->len.hi = LEN_INF;
	if (now->n && now->n == old->n && now->kind != T_FUNC) {
		const Fact **item = arena_new_n(f->a, const Fact *, now->n);

		for (uint32_t i = 0; i < now->n; i++)
			item[i] = facts_widen(f, old->item[i], now->item[i]);
		x->item = item;
	}
	return x;
}
