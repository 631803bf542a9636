/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: what each operator gives for each pair of types.
 *
 * Rows are searched for the pair of kinds; NUM stands for bool, int and float.
 * What is no row is E-TYPE.  A few rows look at values too: sums of a duration
 * and a number need a number that is known (it means seconds).
 */
#include "lang/facts_inside.h"

#include <math.h>

typedef const Fact *OpRule(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			   const Node *at);

typedef struct OpRow {
	uint32_t ops; /* bits of BinOp */
	uint8_t a, b; /* FactKind; K_NUM: any number; K_INTS: bool, int */
	uint8_t ret;  /* FactKind, or T_N: ask rule */
	OpRule *rule;
} OpRow;

enum { K_NUM = T_N, K_INTS };

#define O(x)   (UINT32_C(1) << OP_##x)
#define O_SUM  (O(ADD) | O(SUB))
#define O_BITS (O(AND) | O(OR) | O(XOR))
#define O_INT  (O_SUM | O(MUL) | O(FLOOR) | O(MOD) | O(POW) | O_BITS | O(SHL) | O(SHR))
#define O_NUM  (O_SUM | O(MUL) | O(FLOOR) | O(MOD) | O(POW))

static bool is_ints(const Fact *x)
{
	return x->kind == T_INT || x->kind == T_BOOL;
}

static bool kind_fits(const Fact *x, uint8_t k)
{
	return k == K_NUM ? is_ints(x) || x->kind == T_FLOAT : k == K_INTS ? is_ints(x) : x->kind == k;
}

static const Fact *op_ints(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			   const Node *at)
{
	int64_t zero;

	(void)na, (void)at;
	if ((op == OP_FLOOR || op == OP_MOD) && vals_one(b, &zero) && zero == 0) {
		facts_say(f, "E-VALUE", nb, "division by zero");
		return facts_bad(f);
	}
	if (op == OP_POW && (!b->vals || (b->vals->n && b->vals->r[0].lo < 0)))
		return b->vals && b->vals->n && b->vals->r[b->vals->n - 1].hi < 0 ? mk(f, T_FLOAT)
										  : mk(f, T_INT);
	const Fact *x = mk_vals(f, T_INT, vals_op(f, op, a->vals, b->vals));
	const Node *from = a->origin ? a->origin : b->origin;

	if (!x->vals && op == OP_MOD && b->vals)
		return mk_vals(f, T_INT, vals_op(f, op, vals_meet(f, NULL, INT64_MIN, INT64_MAX), b->vals));
	if (!x->vals && op == OP_AND)
		return mk_vals(f, T_INT,
			       b->vals && b->vals->n && b->vals->r[0].lo >= 0
				       ? vals_meet(f, NULL, 0, b->vals->r[b->vals->n - 1].hi)
				       : NULL);
	return from ? mk_from(f, x, from) : x;
}

static const Fact *op_floats(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			     const Node *at)
{
	double x, y;

	(void)na, (void)nb, (void)at;
	if (!fact_number(a, &x) || !fact_number(b, &y))
		return mk(f, T_FLOAT);
	switch (op) {
	case OP_ADD:
		return mk_float(f, x + y);
	case OP_SUB:
		return mk_float(f, x - y);
	case OP_MUL:
		return mk_float(f, x * y);
	case OP_DIV:
		if (y == 0) {
			facts_say(f, "E-VALUE", nb, "division by zero");
			return facts_bad(f);
		}
		return mk_float(f, x / y);
	default:
		return mk(f, T_FLOAT);
	}
}

/* The number is seconds, if it is known. */
static const Fact *op_seconds(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			      const Node *at)
{
	bool left = kind_fits(a, K_NUM);
	const Fact *number = left ? a : b;
	double d;

	(void)at, (void)op;
	if (!fact_number(number, &d)) {
		Node *n = left ? na : nb;
		Diag *g = facts_say(f, "E-TYPE", n, "a number that is not known here has no unit: say which");

		facts_fix(f, g, n,
			  str_printf(f->a,
				     n->kind == N_NAME || n->kind == N_ATTR || n->paren ? "%.*s * 1s"
											: "(%.*s) * 1s",
				     STR_ARG(facts_source(f, n))));
		return facts_bad(f);
	}
	return mk(f, b->kind == T_TIME || a->kind == T_TIME ? T_TIME : T_DURATION);
}

static const Fact *op_durations(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
				const Node *at)
{
	(void)na, (void)nb, (void)at;
	return mk_vals(f, T_DURATION, a->number || b->number ? NULL : vals_op(f, op, a->vals, b->vals));
}

static const Fact *op_scale(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			    const Node *at)
{
	const Fact *d = a->kind == T_DURATION ? a : b, *n = d == a ? b : a;
	Node *nd = d == a ? na : nb;
	double by;

	if (op == OP_MUL && !d->vals && fact_number(n, &by) && (by == 1e3 || by == 1e6 || by == 1e9)) {
		const char *unit = by == 1e3 ? "ms" : by == 1e6 ? "us" : "ns";
		Diag *g = facts_say(f, "W-UNIT", at,
				    "this is a duration %g times as long, not a number of %s", by, unit);

		facts_fix(f, g, at, str_printf(f->a, "%.*s.%s", STR_ARG(facts_operand(f, nd)), unit));
	}
	if (op == OP_MUL && d->vals && is_ints(n) && n->vals)
		return mk_vals(f, T_DURATION, vals_op(f, op, d->vals, n->vals));
	return mk(f, T_DURATION);
}

static const Fact *op_text_add(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			       const Node *at)
{
	const Vals *v = vals_concat(f, a->vals, b->vals);

	(void)na, (void)nb, (void)op, (void)at;
	if (v)
		return mk_vals(f, a->kind, v);
	Fact *x = mk_copy(
		f, mk_len(f, a->kind,
			  (Len){ facts_sat_add(a->len.lo, b->len.lo), facts_sat_add(a->len.hi, b->len.hi) }));

	x->origin = a->origin ? a->origin : b->origin;
	return x;
}

static Len len_times(const Fact *x, const Fact *n)
{
	Len l = fact_len(x);
	int64_t lo, hi;

	if (!vals_bounds(n, &lo, &hi))
		return (Len){ 0, LEN_INF };
	return (Len){ lo > 0 ? facts_sat_mul(l.lo, (uint64_t)lo) : 0,
		      hi > 0 ? facts_sat_mul(l.hi, (uint64_t)hi) : 0 };
}

static const Fact *op_repeat(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			     const Node *at)
{
	const Fact *x = is_ints(a) ? b : a, *n = x == a ? b : a;

	(void)op, (void)na, (void)nb;
	if (x->kind == T_LIST) {
		const Fact *y = mk_list(f, at, 0, x->cell->elem, len_times(x, n));

		cell_changed(f, y->cell);
		return y;
	}
	if (x->kind == T_TUPLE) {
		Len l;

		return mk_tuple_of(f, facts_iterate(f, x, at, &l));
	}
	return mk_len(f, x->kind, len_times(x, n));
}

static const Fact *op_list_add(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			       const Node *at)
{
	Len x = fact_len(a), y = fact_len(b);
	const Fact *l = mk_list(f, at, 0, a->cell->elem,
				(Len){ facts_sat_add(x.lo, y.lo), facts_sat_add(x.hi, y.hi) });

	(void)op, (void)na, (void)nb;
	cell_elem(f, l->cell, b->cell->elem);
	cell_changed(f, l->cell);
	return l;
}

static const Fact *op_tuple_add(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
				const Node *at)
{
	Len l;

	(void)op, (void)na, (void)nb;
	if (a->open || b->open)
		return mk_tuple_of(f,
				   facts_join(f, facts_iterate(f, a, at, &l), facts_iterate(f, b, at, &l)));
	const Fact **item = arena_new_n(f->a, const Fact *, a->n + b->n);

	memcpy(item, a->item, a->n * sizeof *item);
	memcpy(item + a->n, b->item, b->n * sizeof *item);
	return mk_tuple(f, item, a->n + b->n);
}

static const Fact *op_sets(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			   const Node *at)
{
	Len x = fact_len(a), y = fact_len(b);
	bool both = op == OP_OR || op == OP_XOR;
	const Fact *s = mk_set(f, at, 0, a->cell->elem, (Len){ 0, both ? facts_sat_add(x.hi, y.hi) : x.hi });

	(void)na, (void)nb;
	if (both)
		cell_elem(f, s->cell, b->cell->elem);
	return s;
}

static const Fact *op_dicts(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			    const Node *at)
{
	(void)op, (void)na, (void)nb;
	cell_use_as_dict(f, a, at);
	cell_use_as_dict(f, b, at);
	const Fact *d = mk_dict(f, at, 0, facts_join(f, a->cell->key, b->cell->key),
				facts_join(f, a->cell->elem, b->cell->elem),
				(Len){ 0, facts_sat_add(fact_len(a).hi, fact_len(b).hi) });

	d->cell->dict_use = true;
	return d;
}

static const Fact *op_ip(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb, const Node *at)
{
	const Fact *ip = a->kind == T_IP ? a : b, *n = ip == a ? b : a;
	const Fact *x = mk_vals(f, T_IP, vals_ip_add(f, ip->vals, n->vals, op == OP_SUB));

	(void)na, (void)nb;
	return mk_from(f, x, ip->origin ? ip->origin : at);
}

static const Fact *op_layers(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			     const Node *at)
{
	(void)op, (void)na, (void)nb;
	return facts_stack_layers(f, a, b, at);
}

static const OpRow rows[] = {
	{ O_INT, K_INTS, K_INTS, T_N, op_ints },
	{ O_NUM | O(DIV), K_NUM, K_NUM, T_N, op_floats },
	{ O_SUM | O(MOD), T_DURATION, T_DURATION, T_N, op_durations },
	{ O(DIV), T_DURATION, T_DURATION, T_FLOAT, NULL },
	{ O(FLOOR), T_DURATION, T_DURATION, T_INT, NULL },
	{ O_SUM, T_DURATION, K_NUM, T_N, op_seconds },
	{ O_SUM, K_NUM, T_DURATION, T_N, op_seconds },
	{ O(MUL) | O(DIV), T_DURATION, K_NUM, T_N, op_scale },
	{ O(MUL), K_NUM, T_DURATION, T_N, op_scale },
	{ O(DIV), K_NUM, T_DURATION, T_FLOAT, NULL },
	{ O(SUB), T_TIME, T_TIME, T_DURATION, NULL },
	{ O_SUM, T_TIME, T_DURATION, T_TIME, NULL },
	{ O(ADD), T_DURATION, T_TIME, T_TIME, NULL },
	{ O_SUM, T_TIME, K_NUM, T_N, op_seconds },
	{ O(ADD), T_STR, T_STR, T_N, op_text_add },
	{ O(ADD), T_BYTES, T_BYTES, T_N, op_text_add },
	{ O(MUL), T_STR, K_INTS, T_N, op_repeat },
	{ O(MUL), K_INTS, T_STR, T_N, op_repeat },
	{ O(MUL), T_BYTES, K_INTS, T_N, op_repeat },
	{ O(MUL), K_INTS, T_BYTES, T_N, op_repeat },
	{ O(MUL), T_LIST, K_INTS, T_N, op_repeat },
	{ O(MUL), K_INTS, T_LIST, T_N, op_repeat },
	{ O(MUL), T_TUPLE, K_INTS, T_N, op_repeat },
	{ O(ADD), T_LIST, T_LIST, T_N, op_list_add },
	{ O(ADD), T_TUPLE, T_TUPLE, T_N, op_tuple_add },
	{ O_BITS | O(SUB), T_SET, T_SET, T_N, op_sets },
	{ O(OR), T_DICT, T_DICT, T_N, op_dicts },
	{ O_SUM, T_IP, K_INTS, T_N, op_ip },
	{ O(ADD), K_INTS, T_IP, T_N, op_ip },
	{ O(SUB), T_IP, T_IP, T_INT, NULL },
	{ O_BITS, T_FLAGS, K_INTS, T_INT, NULL },
	{ O_BITS, K_INTS, T_FLAGS, T_INT, NULL },
	{ O_BITS, T_FLAGS, T_FLAGS, T_INT, NULL },
	{ O_BITS, T_FLAGS, T_STR, T_INT, NULL },
	{ O(DIV), T_PACKET, T_PACKET, T_N, op_layers },
	{ O(DIV), T_PACKET, T_BYTES, T_N, op_layers },
	{ O(DIV), T_PACKET, T_STR, T_N, op_layers },
	{ O(DIV), T_LIST, T_PACKET, T_N, op_layers },
	{ O(DIV), T_PACKET, T_LIST, T_N, op_layers },
	{ O(DIV), T_LIST, T_LIST, T_N, op_layers },
	{ O(DIV), T_LIST, T_BYTES, T_N, op_layers },
	{ O(DIV), T_LIST, T_STR, T_N, op_layers },
};

static const Fact *mismatch(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			    const Node *at)
{
	Diag *d = facts_say(f, "E-TYPE", at, "`%s` can't join %.*s and %.*s", bin_op_text(op),
			    STR_ARG(facts_a_text(f, a)), STR_ARG(facts_a_text(f, b)));

	if (f->inner)
		return facts_bad(f);
	if (op == OP_ADD && a->kind == T_BYTES && b->kind == T_STR)
		facts_fix(f, d, nb, str_printf(f->a, "%.*s.encode()", STR_ARG(facts_source(f, nb))));
	else if (op == OP_ADD && a->kind == T_STR && b->kind == T_BYTES)
		facts_fix(f, d, nb, str_printf(f->a, "%.*s.decode()", STR_ARG(facts_source(f, nb))));
	else if (op == OP_ADD && a->kind == T_STR && !b->cell && b->kind != T_NONE)
		facts_fix(f, d, nb, str_printf(f->a, "str(%.*s)", STR_ARG(facts_source(f, nb))));
	else if (op == OP_ADD && b->kind == T_STR && !a->cell && a->kind != T_NONE)
		facts_fix(f, d, na, str_printf(f->a, "str(%.*s)", STR_ARG(facts_source(f, na))));
	else if (op == OP_ADD && a->kind == T_LIST)
		facts_fix(f, d, nb, str_printf(f->a, "[%.*s]", STR_ARG(facts_source(f, nb))));
	else if (op == OP_ADD && a->kind == T_PACKET)
		d->hint = STR("layers are stacked by `/`");
	return facts_bad(f);
}

static const Fact *binary_one(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			      const Node *at)
{
	if (a->kind == T_ERROR || b->kind == T_ERROR)
		return facts_bad(f);
	if (a->kind == T_NEVER || b->kind == T_NEVER)
		return mk(f, T_NEVER);
	if (a->kind == T_ANY || b->kind == T_ANY)
		return mk(f, T_ANY);
	if ((a->kind == T_LIST && a->open) || (b->kind == T_LIST && b->open)) {
		facts_say(f, "E-TYPE", at, "`%s` does not take a range", bin_op_text(op))->hint =
			STR("list(range(..))");
		return facts_bad(f);
	}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const OpRow *r = &rows[i];

		if ((r->ops >> op & 1) && kind_fits(a, r->a) && kind_fits(b, r->b))
			return r->rule ? r->rule(f, op, a, b, na, nb, at) : mk(f, r->ret);
	}
	return mismatch(f, op, a, b, na, nb, at);
}

const Fact *facts_binary(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb, const Node *at)
{
	const Fact *out = mk(f, T_NEVER);

	a = facts_need(f, a, na);
	b = facts_need(f, b, nb);
	bool several = fact_ways(a) * fact_ways(b) > 1;

	f->inner += several;
	for (uint32_t i = 0; i < fact_ways(a); i++)
		for (uint32_t j = 0; j < fact_ways(b); j++)
			out = facts_join(f, out,
					 binary_one(f, op, fact_way(f, a, i), fact_way(f, b, j), na, nb, at));
	f->inner -= several;
	return out;
}

static const Fact *unary_one(Facts *f, Node *n, const Fact *x)
{
	const Vals minus_one = { .n = 1, .r = &(const Range){ -1, -1 } };

	if (fact_quiet(x))
		return x;
	if (n->op == UN_INV && (is_ints(x) || x->kind == T_FLAGS)) {
		const Vals *v = vals_op(f, OP_MUL, x->vals, &minus_one);

		return mk_vals(f, T_INT, x->kind == T_FLAGS ? NULL : vals_op(f, OP_ADD, v, &minus_one));
	}
	if (n->op != UN_INV && is_ints(x))
		return n->op == UN_NEG ? mk_vals(f, T_INT, vals_op(f, OP_MUL, x->vals, &minus_one)) : x;
	if (n->op != UN_INV && x->kind == T_FLOAT)
		return n->op == UN_POS		    ? x
		       : x->vals && x->vals->n == 1 ? mk_float(f, -x->vals->f[0])
						    : mk(f, T_FLOAT);
	if (n->op != UN_INV && x->kind == T_DURATION)
		return n->op == UN_NEG ? mk_vals(f, T_DURATION, vals_op(f, OP_MUL, x->vals, &minus_one)) : x;
	facts_say(f, "E-TYPE", n, "`%s` needs a number; this is %.*s", un_op_text(n->op),
		  STR_ARG(facts_a_text(f, x)));
	return facts_bad(f);
}

const Fact *facts_unary(Facts *f, Node *n)
{
	if (n->op == UN_NOT) {
		Env *no = facts_cond(f, n);
		bool yes_dead = f->env->dead, no_dead = no->dead;

		f->env = env_join(f, f->env, no);
		if (yes_dead != no_dead)
			return mk_range(f, T_BOOL, !yes_dead, !yes_dead);
		return mk(f, T_BOOL);
	}
	const Fact *x = facts_ex_value(f, n->unary.value), *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < fact_ways(x); i++)
		out = facts_join(f, out, unary_one(f, n, fact_way(f, x, i)));
	return out;
}
