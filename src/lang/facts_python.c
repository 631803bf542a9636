/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's functions: numbers, conversions, containers.
 */
#include "lang/facts_rules.h"

/* ---- numbers ---- */

/* What items of a list are, as numbers: duration, or float. */
static const Fact *number_items(Facts *f, const Fact *x, Node *n, Len *len)
{
	const Fact *e = facts_iterate(f, x, n, len);

	return e->kind == T_ANY && x->cell && x->cell->elem->kind == T_NEVER ? mk(f, T_NEVER)
									     : facts_need(f, e, n);
}

const Fact *b_summarize(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = number_items(f, c->arg[0], c->node[0], &l);

	(void)which, (void)n;
	if (e->kind == T_ERROR)
		return e;
	return mk_stats(f, e->kind == T_DURATION || e->kind == T_NEVER || e->kind == T_ANY ? mk(f, T_DURATION)
											   : mk(f, T_FLOAT));
}

const Fact *b_sum(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = number_items(f, c->arg[0], c->node[0], &l);

	(void)which;
	if (e->kind == T_ERROR || e->kind == T_ANY)
		return e;
	if (e->kind == T_DURATION) {
		Fact *x = mk_copy(f, mk(f, T_DURATION));

		x->number = l.lo == 0 && !c->arg[1];
		return x;
	}
	if (c->arg[1] && c->arg[1]->kind == T_DURATION)
		return c->arg[1];
	(void)n;
	if (e->kind == T_FLOAT || (c->arg[1] && c->arg[1]->kind == T_FLOAT))
		return mk(f, T_FLOAT);
	return mk(f, T_INT);
}

const Fact *facts_key_of(Facts *f, CallArgs *c, uint32_t i, const Fact *elem, Len n)
{
	if (!c->arg[i] || c->arg[i]->kind == T_NONE)
		return elem;
	const Label *pc = label_calls(f, c->arg[i], c->node[i], label_args_shape(f, c));
	const Fact *k = facts_call_each(f, c->arg[i], &elem, 1, c->node[i], n);

	label_back(f, pc);

	return facts_need(f, k,
			  c->arg[i]->kind == T_FUNC && !c->arg[i]->from_fn ? c->arg[i]->node->func.value
									   : c->node[i]);
}

void facts_check_order(Facts *f, const Fact *k, Node *n)
{
	static const uint8_t no[] = { T_DICT, T_PACKET, T_RESULT, T_ANSWERS, T_OPTION, T_STATS, T_NONE };

	for (uint32_t i = 0; i < fact_ways(k); i++) {
		const Fact *w = fact_way(f, k, i);

		for (size_t j = 0; j < sizeof no; j++)
			if (w->kind == no[j]) {
				Diag *d = facts_say(f, "E-TYPE", n, "%.*s has no order",
						    STR_ARG(facts_a_text(f, w)));

				d->hint = STR("say by what: key=lambda x: x.rtt");
				return;
			}
	}
	if ((k->kind == T_TUPLE || k->kind == T_LIST) && !facts_orderable(f, k, k, 0)) {
		facts_say(f, "E-TYPE", n, "%.*s has no order: its items differ in type, or may be None",
			  STR_ARG(facts_a_text(f, k)));
		return;
	}
	if (k->kind == T_UNION)
		facts_say(f, "E-TYPE", n, "items of different types can't be ordered: %.*s",
			  STR_ARG(facts_text_of(f, k)));
	else if (k->none && k->kind != T_ANY)
		facts_say(f, "E-NONE", n, "some items may be None: they have no order");
}

const Fact *b_sorted(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = facts_iterate(f, c->arg[0], c->node[0], &l);

	if (which == BI_sorted && !fact_quiet(e))
		facts_check_order(f, facts_key_of(f, c, 1, e, l), c->node[1] ? c->node[1] : c->node[0]);
	const Fact *x = mk_list(f, n, 0, e->kind == T_ANY && c->arg[0]->cell ? c->arg[0]->cell->elem : e, l);

	cell_changed(f, x->cell);
	if (c->arg[0]->cell)
		x->cell->packets = c->arg[0]->cell->packets;
	return x;
}

static const Fact *both_numbers(Facts *f, const Fact *e, bool max, const Fact *const *all, uint32_t n)
{
	int64_t lo, hi, out_lo = 0, out_hi = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (all[i]->kind != T_INT || !vals_bounds(all[i], &lo, &hi))
			return e->kind == T_INT ? mk(f, T_INT) : e;
		if (!i || (max ? lo > out_lo : lo < out_lo))
			out_lo = lo;
		if (!i || (max ? hi > out_hi : hi < out_hi))
			out_hi = hi;
	}
	return n ? mk_range(f, T_INT, out_lo, out_hi) : e;
}

/* Lowering gives min and max of an empty list that value, if all ways to the call
 * agree on its kind. */
static void note_absent(Facts *f, Node *n, const Fact *e)
{
	uint8_t kind = e->kind == T_DURATION ? ABSENT_DURATION
		       : e->kind == T_TIME   ? ABSENT_TIME
		       : e->kind == T_FLOAT  ? ABSENT_FLOAT
					     : ABSENT_DIFFERS;

	if (f->quiet || fact_quiet(e) || n->kind != N_CALL)
		return;
	bool first = n->call.walk != f->walk;

	n->call.absent = first || n->call.absent == kind ? kind : ABSENT_DIFFERS;
	n->call.walk = f->walk;
}

const Fact *b_max(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l = { c->nrest, c->nrest };
	const Fact *e = mk(f, T_NEVER);

	if (!c->nrest) {
		facts_say(f, "E-ARGS", n, "%s needs a list or several values", c->name);
		return facts_bad(f);
	}
	if (c->nrest == 1) {
		const Fact *x = facts_need(f, c->rest[0], c->rest_node[0]);

		e = facts_iterate(f, x, c->rest_node[0], &l);
		if (x->cell && x->cell->elem->kind == T_NEVER && !c->arg[2])
			return mk(f, T_ANY);
	}
	for (uint32_t i = 0; c->nrest > 1 && i < c->nrest; i++)
		e = facts_join(f, e, facts_need(f, c->rest[i], c->rest_node[i]));
	if (!fact_quiet(e))
		facts_check_order(f, facts_key_of(f, c, 1, e, l), c->node[1] ? c->node[1] : c->rest_node[0]);
	if (c->nrest > 1)
		e = both_numbers(f, e, which == BI_max, c->rest, c->nrest);
	note_absent(f, n, e);
	return c->arg[2] ? facts_join(f, e, c->arg[2]) : e;
}

const Fact *b_abs(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *x = c->arg[0];
	int64_t lo, hi;

	(void)which, (void)n;
	if (x->kind == T_INT && vals_bounds(x, &lo, &hi) && lo > INT64_MIN)
		return mk_range(f, T_INT, lo >= 0 ? lo : hi <= 0 ? -hi : 0, hi > -lo ? hi : -lo);
	return x->kind == T_BOOL ? mk(f, T_INT) : mk_vals(f, x->kind, NULL);
}

const Fact *b_round(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	(void)which, (void)n;
	if (c->arg[0]->kind == T_INT || c->arg[0]->kind == T_BOOL)
		return c->arg[0];
	return mk(f, c->arg[1] ? T_FLOAT : T_INT);
}

const Fact *b_divmod(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	(void)which;
	return mk_pair(f, facts_binary(f, OP_FLOOR, c->arg[0], c->arg[1], c->node[0], c->node[1], n),
		       facts_binary(f, OP_MOD, c->arg[0], c->arg[1], c->node[0], c->node[1], n));
}

const Fact *b_int(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *x = c->arg[0];
	Str s;
	uint64_t u;

	(void)which, (void)n;
	if (!x)
		return mk_range(f, T_INT, 0, 0);
	if (x->kind == T_INT || x->kind == T_BOOL || x->kind == T_FLAGS)
		return mk_vals(f, T_INT, x->vals);
	if (fact_one_str(x, &s) && !c->arg[1] && str_to_u64(s, INT64_MAX, &u))
		return mk_range(f, T_INT, (int64_t)u, (int64_t)u);
	return mk_from(f, mk(f, T_INT), n);
}

const Fact *b_len(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l = { LEN_INF, 0 };

	(void)which;
	for (uint32_t i = 0; i < fact_ways(c->arg[0]); i++) {
		const Fact *w = fact_way(f, c->arg[0], i);
		Len x = { 0, LEN_INF };

		if (w->kind == T_NET)
			facts_iterate(f, w, n, &x);
		else if (w->kind == T_BYTES || w->cell || w->kind == T_TUPLE ||
			 (w->kind == T_STR && !w->vals))
			x = fact_len(w);
		l = (Len){ x.lo < l.lo ? x.lo : l.lo, x.hi > l.hi ? x.hi : l.hi };
	}
	return l.hi > INT64_MAX ? mk(f, T_INT) : mk_range(f, T_INT, (int64_t)l.lo, (int64_t)l.hi);
}

const Fact *b_randint(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	int64_t lo, hi, x;

	(void)which, (void)n;
	if (!vals_bounds(c->arg[0], &lo, &x) || !vals_bounds(c->arg[1], &x, &hi))
		return mk(f, T_INT);
	if (lo > hi) {
		facts_say(f, "E-VALUE", n, "randint needs a <= b");
		return facts_bad(f);
	}
	return mk_range(f, T_INT, lo, hi);
}

const Fact *b_range(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *zero = mk_range(f, T_INT, 0, 0);
	const Fact *from = c->arg[1] ? c->arg[0] : zero, *to = c->arg[1] ? c->arg[1] : c->arg[0];
	int64_t a, a2, b, b2, s = 1;

	(void)which;
	if (c->arg[2] && vals_one(c->arg[2], &s) && s == 0) {
		facts_say(f, "E-VALUE", c->node[2], "a step of 0 never ends");
		return facts_bad(f);
	}
	bool step_known = !c->arg[2] || vals_one(c->arg[2], &s);
	bool from_known = vals_bounds(from, &a, &a2), to_known = vals_bounds(to, &b2, &b);
	const Fact *x;

	if (step_known && s > 0 && from_known && to_known) {
		uint64_t most = b > a ? ((uint64_t)b - (uint64_t)a + (uint64_t)s - 1) / (uint64_t)s : 0;
		uint64_t least = b2 > a2 ? ((uint64_t)b2 - (uint64_t)a2 + (uint64_t)s - 1) / (uint64_t)s : 0;

		x = mk_list(f, n, 0, b > a ? mk_range(f, T_INT, a, b - 1) : mk(f, T_NEVER),
			    (Len){ least, most });
	} else if (step_known && s < 0 && from_known && to_known) {
		uint64_t d = 0 - (uint64_t)s, most = a2 > b2 ? ((uint64_t)a2 - (uint64_t)b2 + d - 1) / d : 0;
		uint64_t least = a > b ? ((uint64_t)a - (uint64_t)b + d - 1) / d : 0;

		x = mk_list(f, n, 0, a2 > b2 ? mk_range(f, T_INT, b2 + 1, a2) : mk(f, T_NEVER),
			    (Len){ least, most });
	} else if (step_known && s > 0 && from_known) {
		x = mk_list(f, n, 0, mk_range(f, T_INT, a, INT64_MAX), (Len){ 0, LEN_INF });
	} else {
		x = mk_list(f, n, 0, mk(f, T_INT), (Len){ 0, LEN_INF });
	}
	x->cell->at_known = false;
	Fact *y = mk_copy(f, x);

	y->open = true;
	return y;
}

/* ---- conversions ---- */

const Fact *b_str(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	(void)which, (void)n;
	if (!c->arg[0])
		return mk_str(f, T_STR, STR(""));
	const Vals *v = which == BI_str ? vals_texts(f, c->arg[0]) : NULL;

	return v					     ? mk_vals(f, T_STR, v)
	       : c->arg[0]->kind == T_STR && which == BI_str ? c->arg[0]
							     : mk(f, T_STR);
}

const Fact *b_ip(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *x = c->arg[0], *y;

	if (x->kind == T_STR && x->vals)
		y = which == BI_ip    ? facts_to_ip(f, x, c->node[0], false, "ip")
		    : which == BI_net ? facts_to_net(f, x, c->node[0], "net")
				      : facts_to_mac(f, x, c->node[0], "mac");
	else if (which == BI_net && x->kind == T_IP)
		y = facts_to_net(f, x, c->node[0], "net");
	else if (x->kind == T_IP || x->kind == T_NET || x->kind == T_MAC)
		y = x;
	else
		y = mk(f, which == BI_ip ? T_IP : which == BI_net ? T_NET : T_MAC);
	return y ? mk_from(f, y, x->origin ? x->origin : n) : facts_bad(f);
}

const Fact *b_bytes(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *x = c->arg[0];
	int64_t lo, hi;

	(void)which, (void)n;
	if (!x)
		return mk_str(f, T_BYTES, STR(""));
	if (x->kind == T_STR || x->kind == T_BYTES)
		return x->vals ? mk_vals(f, T_BYTES, x->vals) : mk_len(f, T_BYTES, x->len);
	if (x->kind == T_INT && vals_bounds(x, &lo, &hi) && lo >= 0)
		return mk_len(f, T_BYTES, (Len){ (uint64_t)lo, (uint64_t)hi });
	return x->kind == T_LIST || x->kind == T_TUPLE ? mk_len(f, T_BYTES, fact_len(x)) : mk(f, T_BYTES);
}

const Fact *b_random_bytes(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	int64_t lo, hi;

	(void)n;
	uint32_t size = which == BI_fill;

	if (!vals_bounds(c->arg[size], &lo, &hi))
		return mk(f, T_BYTES);
	if (hi < 0 || lo > 16777216) {
		facts_say(f, "E-VALUE", c->node[size], "random_bytes makes 0 to 16777216 bytes");
		return facts_bad(f);
	}
	return mk_len(f, T_BYTES, (Len){ lo > 0 ? (uint64_t)lo : 0, (uint64_t)hi });
}

const Fact *b_bool(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	bool is;

	(void)which, (void)n;
	if (c->arg[0] && fact_truth(c->arg[0], &is))
		return mk_range(f, T_BOOL, is, is);
	return mk(f, T_BOOL);
}

/* ---- containers ---- */

const Fact *facts_items_len(Facts *f, const Fact *x, Node *at, Len *l)
{
	const Fact *e = facts_iterate(f, x, at, l);

	return x->cell && x->cell->elem->kind == T_NEVER && x->kind != T_DICT ? mk(f, T_NEVER) : e;
}

const Fact *b_list(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l = { 0, 0 };
	const Fact *e = c->arg[0] ? facts_items_len(f, c->arg[0], c->node[0], &l) : mk(f, T_NEVER);

	if (which == BI_set)
		return mk_set(f, n, 0, facts_key(f, e, c->node[0] ? c->node[0] : n), l);
	if (which == BI_tuple) {
		uint32_t k = 0;
		const Fact *const *item = c->arg[0] ? facts_items_known(f, c->arg[0], &k) : NULL;

		return item ? mk_tuple(f, item, k) : mk_tuple_of(f, e);
	}
	const Fact *x = mk_list(f, n, 0, e, l);

	cell_changed(f, x->cell);
	return x;
}

const Fact *b_dict(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l = { 0, 0 };

	(void)which;
	if (c->nkw) {
		const Fact *x = mk_dict(f, n, 0, mk(f, T_NEVER), mk(f, T_NEVER), (Len){ c->nkw, c->nkw });

		x->cell->record = !x->cell->dict_use;
		for (uint32_t i = 0; i < n->call.n; i++)
			if (n->call.arg[i].name)
				cell_field_set(f, x->cell, n->call.arg[i].name->text,
					       facts_ex(f, n->call.arg[i].value));
		return x;
	}
	if (!c->arg[0]) {
		const Fact *x = mk_dict(f, n, 0, mk(f, T_NEVER), mk(f, T_NEVER), l);

		x->cell->record = !x->cell->dict_use;
		return x;
	}
	if (c->arg[0]->kind == T_DICT) {
		cell_use_as_dict(f, c->arg[0], n);
		return mk_dict(f, n, 0, c->arg[0]->cell->key, c->arg[0]->cell->elem, fact_len(c->arg[0]));
	}
	const Fact *e = facts_items_len(f, c->arg[0], c->node[0], &l);
	bool pair = e->kind == T_TUPLE && !e->open && e->n == 2;
	const Fact *d = mk_dict(f, n, 0, pair ? facts_key(f, e->item[0], n) : mk(f, T_ANY),
				pair ? e->item[1] : mk(f, T_ANY), l);

	d->cell->dict_use = true;
	return d;
}

const Fact *b_enumerate(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = facts_iterate(f, c->arg[0], c->node[0], &l), *i = mk(f, T_INT);
	int64_t lo = 0, hi = 0;

	(void)which;
	if ((!c->arg[1] || vals_bounds(c->arg[1], &lo, &hi)) && l.hi && l.hi < INT32_MAX)
		i = mk_range(f, T_INT, lo, facts_sat64_add(hi, (int64_t)l.hi - 1));
	else if (!c->arg[1] || vals_bounds(c->arg[1], &lo, &hi))
		i = mk_range(f, T_INT, lo, INT64_MAX);
	const Fact *x = mk_list(f, n, 0, mk_pair(f, i, e), l);
	uint32_t k = 0;
	const Fact *const *item = facts_items_known(f, c->arg[0], &k);

	x->cell->at_known &= item != NULL;
	for (uint32_t j = 0; item && !c->arg[1] && x->cell->at_known && j < k; j++)
		cell_at_add(f, x->cell, j, mk_pair(f, mk_range(f, T_INT, j, j), item[j]));
	return x;
}

const Fact *b_zip(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact **item = arena_new_n(f->a, const Fact *, c->nrest + 1);
	Len all = { LEN_INF, LEN_INF };

	(void)which;
	for (uint32_t i = 0; i < c->nrest; i++) {
		Len l;

		item[i] = facts_iterate(f, c->rest[i], c->rest_node[i], &l);
		all = (Len){ l.lo < all.lo ? l.lo : all.lo, l.hi < all.hi ? l.hi : all.hi };
	}
	const Fact *x = mk_list(f, n, 0, mk_tuple(f, item, c->nrest), c->nrest ? all : (Len){ 0, 0 });

	x->cell->at_known = false;
	return x;
}

const Fact *b_map(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact **item = arena_new_n(f->a, const Fact *, c->nrest + 2);
	uint32_t k = 0;
	Len all = { LEN_INF, LEN_INF }, l;

	if (which == BI_filter) {
		item[k++] = facts_iterate(f, c->arg[1], c->node[1], &all);
	}
	for (uint32_t i = 0; which == BI_map && i < c->nrest; i++) {
		item[k++] = facts_iterate(f, c->rest[i], c->rest_node[i], &l);
		all = (Len){ l.lo < all.lo ? l.lo : all.lo, l.hi < all.hi ? l.hi : all.hi };
	}
	Loop loop = { .up = f->frame->loop, .since = ++f->gen, .rounds = all.hi };

	f->frame->loop = &loop;
	const Label *pc = label_calls(f, c->arg[0], c->node[0], label_args_shape(f, c));
	const Fact *y =
		c->arg[0]->kind == T_NONE ? item[0] : facts_call_each(f, c->arg[0], item, k, c->node[0], all);

	label_back(f, pc);
	f->frame->loop = loop.up;
	if (which == BI_filter)
		all.lo = 0;
	const Fact *x = mk_list(
		f, n, 0, which == BI_filter ? (c->arg[0]->kind == T_NONE ? mk_some(f, item[0]) : item[0]) : y,
		all);

	x->cell->at_known = false;
	return x;
}

const Fact *b_count_by(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = facts_iterate(f, c->arg[0], c->node[0], &l), *k = e;
	Str name;

	(void)which;
	if (c->arg[1] && fact_one_str(c->arg[1], &name)) {
		int at = e->kind == T_PACKET ? builtin_attr(OWNER_PACKET, name) : -1;
		const Fact *v = e->kind == T_DICT ? cell_field(e->cell, name) : NULL;

		k = v	      ? v
		    : at >= 0 ? facts_sig_fact(f, sig_attr(&f->sigs, (BuiltinAttr)at),
					       &(CallArgs){ .self = e }, n, 3)
			      : mk(f, T_ANY);
	} else if (c->arg[1] && !fact_quiet(e)) {
		const Label *pc = label_calls(f, c->arg[1], c->node[1], label_args_shape(f, c));

		k = facts_call_each(f, c->arg[1], &e, 1, c->node[1], l);
		label_back(f, pc);
	}
	const Fact *d = mk_dict(f, n, 0, facts_key(f, k, c->node[1] ? c->node[1] : c->node[0]),
				mk_range(f, T_INT, 0, INT64_MAX), (Len){ 0, l.hi });

	d->cell->dict_use = true;
	return d;
}

const Fact *b_pack(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Str s;
	uint64_t values = 0, size = 0, count = 0;
	bool has = false, fixed = true;

	if (!fact_one_str(c->arg[0], &s))
		return which == BI_pack ? mk(f, T_BYTES) : mk_tuple_of(f, mk(f, T_ANY));
	const Fact **item = arena_new_n(f->a, const Fact *, 256);
	static const char codes[] = "xcbB?hHiIlLqQfdsp", sizes[] = "11111224444884811";

	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];
		const char *at = strchr(codes, ch);

		if (strchr("<>!=@ ", ch)) {
			fixed &= ch != '@';
			continue;
		}
		if (ch >= '0' && ch <= '9') {
			count = count * 10 + (uint64_t)(ch - '0');
			has = true;
			continue;
		}
		if (!at || !*at || count > 65536) {
			facts_say(f, "E-VALUE", c->node[0], "`%c` is no code of pack", ch);
			return facts_bad(f);
		}
		uint64_t times = has ? count : 1, one = (uint64_t)(sizes[at - codes] - '0');

		size += times * one;
		const Fact *v = strchr("cs", ch) || ch == 'p' ? mk(f, T_BYTES)
				: ch == '?'		      ? mk(f, T_BOOL)
				: strchr("fd", ch)	      ? mk(f, T_FLOAT)
							      : mk(f, T_INT);

		for (uint64_t k = 0; k < (ch == 's' || ch == 'p' ? 1 : ch == 'x' ? 0 : times); k++)
			if (values < 256)
				item[values++] = v;
		count = 0;
		has = false;
	}
	if (which == BI_unpack)
		return mk_tuple(f, item, (uint32_t)values);
	if (c->nrest != values && values < 256) {
		facts_say(f, "E-ARGS", n, "the format takes %llu value%s; %u given",
			  (unsigned long long)values, values == 1 ? "" : "s", c->nrest);
		return facts_bad(f);
	}
	return fixed ? mk_len(f, T_BYTES, (Len){ size, size }) : mk(f, T_BYTES);
}
