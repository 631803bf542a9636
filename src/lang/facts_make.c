/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes facts.
 */
#include "lang/facts_inside.h"

const Fact *mk(Facts *f, FactKind k)
{
	if (!f->top[k]) {
		Fact *x = arena_new(f->a, Fact);

		x->kind = (uint8_t)k;
		x->none = k == T_NONE;
		x->view = WIRE_NONE;
		x->len = (Len){ 0, LEN_INF };
		f->top[k] = x;
	}
	return f->top[k];
}

Fact *mk_copy(Facts *f, const Fact *x)
{
	Fact *y = arena_new(f->a, Fact);

	*y = *x;
	return y;
}

const Fact *mk_opt(Facts *f, const Fact *x)
{
	if (x->none || x->kind == T_ANY || x->kind == T_ERROR)
		return x;
	if (x->kind == T_NEVER)
		return mk(f, T_NONE);
	Fact *y = mk_copy(f, x);

	y->none = true;
	return y;
}

const Fact *mk_some(Facts *f, const Fact *x)
{
	if (!x->none)
		return x;
	if (x->kind == T_NONE)
		return mk(f, T_NEVER);
	Fact *y = mk_copy(f, x);

	y->none = false;
	return y;
}

const Fact *mk_vals(Facts *f, FactKind k, const Vals *v)
{
	if (!v)
		return mk(f, k);
	Fact *x = mk_copy(f, mk(f, k));

	x->vals = v;
	if ((k == T_STR || k == T_BYTES) && v->n) {
		x->len = (Len){ LEN_INF, 0 };
		for (uint32_t i = 0; i < v->n; i++) {
			x->len.lo = v->s[i].n < x->len.lo ? v->s[i].n : x->len.lo;
			x->len.hi = v->s[i].n > x->len.hi ? v->s[i].n : x->len.hi;
		}
	}
	return x;
}

const Fact *mk_range(Facts *f, FactKind k, int64_t lo, int64_t hi)
{
	Vals *v = arena_new(f->a, Vals);
	Range *r = arena_new(f->a, Range);

	*r = (Range){ lo, hi };
	*v = (Vals){ .n = 1, .r = r };
	return mk_vals(f, k, v);
}

const Fact *mk_float(Facts *f, double d)
{
	Vals *v = arena_new(f->a, Vals);
	double *p = arena_new(f->a, double);

	*p = d;
	*v = (Vals){ .n = 1, .f = p };
	return mk_vals(f, T_FLOAT, v);
}

const Fact *mk_str(Facts *f, FactKind k, Str s)
{
	Vals *v = arena_new(f->a, Vals);
	Str *p = arena_new(f->a, Str);

	*p = s;
	*v = (Vals){ .n = 1, .s = p };
	return mk_vals(f, k, v);
}

const Fact *mk_len(Facts *f, FactKind k, Len l)
{
	Fact *x = mk_copy(f, mk(f, k));

	x->len = l;
	return x;
}

const Fact *mk_tuple(Facts *f, const Fact *const *item, uint32_t n)
{
	Fact *x = mk_copy(f, mk(f, T_TUPLE));

	x->item = item;
	x->n = n;
	x->len = (Len){ n, n };
	return x;
}

const Fact *mk_pair(Facts *f, const Fact *a, const Fact *b)
{
	const Fact **item = arena_new_n(f->a, const Fact *, 2);

	item[0] = a;
	item[1] = b;
	return mk_tuple(f, item, 2);
}

const Fact *mk_tuple_of(Facts *f, const Fact *item)
{
	const Fact **p = arena_new_n(f->a, const Fact *, 1);
	Fact *x = mk_copy(f, mk(f, T_TUPLE));

	p[0] = item;
	x->item = p;
	x->n = 1;
	x->open = true;
	return x;
}

static const Fact *container(Facts *f, FactKind k, const Node *n, uint32_t sub, Cell **ret_c)
{
	Fact *x = mk_copy(f, mk(f, k));

	x->cell = cell_at(f, n, sub, k);
	x->gen = ++f->gen;
	*ret_c = x->cell;
	return x;
}

const Fact *mk_list(Facts *f, const Node *n, uint32_t sub, const Fact *elem, Len l)
{
	Cell *c;
	const Fact *x = container(f, T_LIST, n, sub, &c);

	cell_made(f, c, l);
	cell_elem(f, c, elem);
	return x;
}

const Fact *mk_set(Facts *f, const Node *n, uint32_t sub, const Fact *elem, Len l)
{
	Cell *c;
	const Fact *x = container(f, T_SET, n, sub, &c);

	cell_made(f, c, (Len){ l.lo ? 1 : 0, l.hi });
	cell_elem(f, c, elem);
	return x;
}

const Fact *mk_dict(Facts *f, const Node *n, uint32_t sub, const Fact *key, const Fact *elem, Len l)
{
	Cell *c;
	const Fact *x = container(f, T_DICT, n, sub, &c);

	cell_made(f, c, (Len){ l.lo ? 1 : 0, l.hi });
	cell_key(f, c, key);
	cell_elem(f, c, elem);
	return x;
}

const Fact *mk_from(Facts *f, const Fact *x, const Node *origin)
{
	if (x->origin || x->vals || fact_quiet(x))
		return x;
	Fact *y = mk_copy(f, x);

	y->origin = origin;
	return y;
}

const Fact *mk_items(Facts *f, const Fact *x, const Fact *const *item)
{
	bool same = true;

	for (uint32_t i = 0; i < x->n; i++)
		same &= item[i] == x->item[i];
	if (same)
		return x;
	Fact *y = mk_copy(f, x);

	y->item = item;
	return y;
}

const Fact *mk_aged(Facts *f, const Fact *x)
{
	if ((x->cell || fact_is_live(x)) && x->gen) {
		Fact *y = mk_copy(f, x);

		y->gen = 0;
		return y;
	}
	if (x->kind != T_TUPLE)
		return x;
	const Fact **item = arena_new_n(f->a, const Fact *, x->n);

	for (uint32_t i = 0; i < x->n; i++)
		item[i] = mk_aged(f, x->item[i]);
	return mk_items(f, x, item);
}

const Fact *mk_stats(Facts *f, const Fact *item)
{
	Fact *x = mk_copy(f, mk(f, T_STATS));
	const Fact **p = arena_new_n(f->a, const Fact *, 1);

	p[0] = item;
	x->item = p;
	x->n = 1;
	return x;
}

Str facts_text_of(Facts *f, const Fact *x)
{
	return fact_str(f->a, x);
}

Str facts_a_text(Facts *f, const Fact *x)
{
	return fact_a(f->a, x);
}
