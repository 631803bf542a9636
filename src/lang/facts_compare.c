/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons, and what a condition tells about the values in it (narrowing).
 */
#include "lang/facts_inside.h"

static bool is_num(const Fact *x)
{
	return x->kind == T_INT || x->kind == T_BOOL || x->kind == T_FLOAT;
}

/* ---- texts that stand for something else ---- */

static bool addr_texts(Facts *f, const Fact *text, Node *n, FactKind k)
{
	for (uint32_t i = 0; i < text->vals->n; i++) {
		Str s = text->vals->s[i];
		Ip ip;
		Net net;
		Mac mac;
		bool ok = k == T_IP ? ip_parse(s, &ip) : k == T_NET ? net_parse(s, &net) : mac_parse(s, &mac);

		if (!ok) {
			const char *what = k == T_IP ? "address" : k == T_NET ? "network" : "hardware address";
			Diag *d = facts_say(f, "E-TYPE", n, "\"%.*s\" is no %s", STR_ARG(s), what);

			d->hint = str_c(k == T_IP    ? "like \"10.0.0.1\""
					: k == T_NET ? "like \"10.0.0.0/24\", without host bits"
						     : "like \"02:00:00:00:00:01\"");
			return false;
		}
	}
	return true;
}

static bool name_texts(Facts *f, const WireField *field, const Fact *text, Node *n)
{
	for (uint32_t i = 0; i < text->vals->n; i++) {
		uint64_t v;
		Str s = text->vals->s[i];

		if (wire_name_value(field, s, &v))
			continue;
		facts_fix_value(f, facts_say(f, "E-TYPE", n, "%s has no value named \"%.*s\"", field->name, STR_ARG(s)),
				field, s, n);
		return false;
	}
	return true;
}

/* A str beside an ip, net, mac, flags or named number: its values must be known. */
static bool text_beside(Facts *f, const Fact *x, const Fact *text, Node *n)
{
	if (!text->vals) {
		const char *conv = x->kind == T_IP    ? "ip"
				   : x->kind == T_NET ? "net"
				   : x->kind == T_MAC ? "mac"
						      : NULL;
		Diag *d = facts_say(f, "E-TYPE", n,
				    "a str whose value is not known here can't be compared with %.*s",
				    STR_ARG(facts_a_text(f, x)));

		if (conv)
			facts_fix(f, d, n, str_printf(f->a, "%s(%.*s)", conv, STR_ARG(facts_source(f, n))));
		return false;
	}
	if (x->kind == T_IP || x->kind == T_NET || x->kind == T_MAC)
		return addr_texts(f, text, n, x->kind);
	return !x->field || name_texts(f, x->field, text, n);
}

static bool takes_text(const Fact *x)
{
	return x->kind == T_IP || x->kind == T_NET || x->kind == T_MAC || x->kind == T_FLAGS ||
	       (x->kind == T_INT && x->field && x->field->names);
}

/* A number beside a duration means seconds, if it is known. */
static bool number_beside(Facts *f, const Fact *x, Node *n)
{
	double d;

	if (!fact_number(x, &d)) {
		Diag *g = facts_say(f, "E-TYPE", n, "a number that is not known here has no unit: say which");

		facts_fix(f, g, n,
			  str_printf(f->a,
				     n->kind == N_NAME || n->kind == N_ATTR || n->paren ? "%.*s * 1s"
											: "(%.*s) * 1s",
				     STR_ARG(facts_source(f, n))));
		return false;
	}
	if (d >= 1 || d <= -1) {
		Diag *g = facts_say(f, "W-UNIT", n, "%g means %g seconds here", d, d);

		if (n->kind == N_INT)
			facts_fix(f, g, n, str_printf(f->a, "%gms", d));
	}
	return true;
}

static bool items_comparable(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb)
{
	for (uint32_t i = 0; i < a->n && i < b->n && !a->open && !b->open; i++)
		if (!facts_comparable(f, a->item[i], b->item[i], na, nb))
			return false;
	return true;
}

static bool comparable_one(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb)
{
	if (fact_quiet(a) || fact_quiet(b) || a->kind == T_NONE || b->kind == T_NONE)
		return true;
	if (a->kind == T_TUPLE && b->kind == T_TUPLE)
		return items_comparable(f, a, b, na, nb);
	if (a->kind == b->kind || (is_num(a) && is_num(b)))
		return true;
	if (b->kind == T_STR && takes_text(a))
		return text_beside(f, a, b, nb);
	if (a->kind == T_STR && takes_text(b))
		return text_beside(f, b, a, na);
	if ((a->kind == T_FLAGS && is_num(b)) || (b->kind == T_FLAGS && is_num(a)))
		return true;
	if ((a->kind == T_BYTES && b->kind == T_STR && b->vals) ||
	    (b->kind == T_BYTES && a->kind == T_STR && a->vals))
		return true;
	if (a->kind == T_DURATION && is_num(b))
		return a->number || number_beside(f, b, nb);
	if (b->kind == T_DURATION && is_num(a))
		return b->number || number_beside(f, a, na);
	if ((a->kind == T_IP && b->kind == T_NET) || (a->kind == T_NET && b->kind == T_IP)) {
		Diag *d = facts_say(f, "E-TYPE", nb, "an address never equals a network");

		d->hint = STR("`x in net` asks whether it lies in it");
		return false;
	}
	Diag *d = facts_say(f, "E-TYPE", nb, "%.*s never equals %.*s", STR_ARG(facts_a_text(f, a)),
			    STR_ARG(facts_a_text(f, b)));

	if (a->kind == T_BYTES && b->kind == T_STR)
		facts_fix(f, d, nb, str_printf(f->a, "%.*s.encode()", STR_ARG(facts_source(f, nb))));
	return false;
}

bool facts_comparable(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb)
{
	uint32_t ways = fact_ways(a) * fact_ways(b);

	if (ways == 1)
		return comparable_one(f, a, b, na, nb);
	for (uint32_t i = 0; i < ways; i++) {
		const Fact *x = fact_way(f, a, i / fact_ways(b)), *y = fact_way(f, b, i % fact_ways(b));

		if (x->kind == y->kind || fact_quiet(x) || fact_quiet(y) || (is_num(x) && is_num(y)))
			return true;
	}
	return comparable_one(f, fact_way(f, a, 0), fact_way(f, b, 0), na, nb);
}

/* ---- order ---- */

static bool is_seq(const Fact *x)
{
	return x->kind == T_TUPLE || x->kind == T_LIST;
}

static bool order_items(Facts *f, const Fact *a, const Fact *b, unsigned depth)
{
	if (a->kind == T_LIST)
		return facts_orderable(f, a->cell->elem, b->cell->elem, depth);
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++)
			if ((i == k || a->open || b->open) &&
			    !facts_orderable(f, a->item[i], b->item[k], depth))
				return false;
	return true;
}

static bool order_one(Facts *f, const Fact *a, const Fact *b, unsigned depth)
{
	static const uint8_t kinds[] = { T_STR, T_BYTES, T_DURATION, T_TIME, T_IP, T_MAC };
	double d;

	if (fact_quiet(a) || fact_quiet(b) || (is_num(a) && is_num(b)))
		return true;
	if ((a->kind == T_DURATION && fact_number(b, &d)) || (b->kind == T_DURATION && fact_number(a, &d)))
		return true;
	for (size_t i = 0; i < sizeof kinds; i++)
		if (a->kind == kinds[i] && b->kind == kinds[i])
			return true;
	return is_seq(a) && a->kind == b->kind && !(a->kind == T_LIST && a->open != b->open) &&
	       order_items(f, a, b, depth);
}

bool facts_orderable(Facts *f, const Fact *a, const Fact *b, unsigned depth)
{
	if (depth > 8 || ((a->none || b->none) && a->kind != T_ANY && b->kind != T_ANY))
		return false;
	facts_step(f, 1);
	for (uint32_t i = 0; i < fact_ways(a); i++)
		for (uint32_t k = 0; k < fact_ways(b); k++)
			if (!order_one(f, fact_way(f, a, i), fact_way(f, b, k), depth + 1))
				return false;
	return true;
}

static bool ordered_one(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb, CmpOp op)
{
	if (order_one(f, a, b, 0) && !(a->kind == T_DURATION && is_num(b)) &&
	    !(b->kind == T_DURATION && is_num(a)))
		return true;
	if (a->kind == T_SET && b->kind == T_SET)
		return true;
	if ((a->kind == T_DURATION && is_num(b)) || (b->kind == T_DURATION && is_num(a)) ||
	    (a->kind == T_IP && b->kind == T_STR) || (b->kind == T_IP && a->kind == T_STR))
		return comparable_one(f, a, b, na, nb);
	Diag *d = facts_say(f, "E-TYPE", nb, "`%s` can't order %.*s and %.*s", cmp_op_text(op),
			    STR_ARG(facts_a_text(f, a)), STR_ARG(facts_a_text(f, b)));

	if (a->kind == T_RESULT || b->kind == T_RESULT)
		d->hint = STR("a result has fields: .loss, .avg, .mtu; one of them is meant");
	else if (a->kind == T_STR && is_num(b))
		facts_fix_number(f, d, na, a, false);
	else if (b->kind == T_STR && is_num(a))
		facts_fix_number(f, d, nb, b, false);
	return false;
}

static void ordered(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb, CmpOp op)
{
	for (uint32_t i = 0; i < fact_ways(a); i++)
		for (uint32_t j = 0; j < fact_ways(b); j++)
			if (!ordered_one(f, fact_way(f, a, i), fact_way(f, b, j), na, nb, op))
				return;
}

/* ---- in ---- */

static void in_net(Facts *f, const Fact *x, Node *nx)
{
	if (x->kind == T_STR)
		text_beside(f, mk(f, T_IP), x, nx);
	else if (!fact_quiet(x) && x->kind != T_IP)
		facts_say(f, "E-TYPE", nx, "%.*s can't lie in a network", STR_ARG(facts_a_text(f, x)));
}

static void in_str(Facts *f, const Fact *x, Node *nx, Node *nc)
{
	if (x->kind == T_STR || fact_quiet(x))
		return;
	if (x->kind == T_IP) {
		Diag *d = facts_say(f, "E-TYPE", nc, "an address lies in a network, not in a str");

		facts_fix(f, d, nc, str_printf(f->a, "net(%.*s)", STR_ARG(facts_source(f, nc))));
		return;
	}
	Diag *d = facts_say(f, "E-TYPE", nx, "`in` a str needs a str; this is %.*s",
			    STR_ARG(facts_a_text(f, x)));

	facts_fix(f, d, nx, str_printf(f->a, "str(%.*s)", STR_ARG(facts_source(f, nx))));
}

static void in_items(Facts *f, const Fact *x, const Fact *c, Node *nx, Node *nc)
{
	const Fact *e = c->kind == T_DICT ? c->cell->key : c->cell ? c->cell->elem : mk(f, T_NEVER);

	if (c->kind == T_DICT && c->cell->record)
		e = mk(f, T_STR);
	for (uint32_t i = 0; c->kind == T_TUPLE && i < c->n; i++)
		e = facts_join(f, e, c->item[i]);
	if ((x->kind == T_IP || x->kind == T_MAC) && e->kind == T_STR) {
		if (e->vals)
			text_beside(f, x, e, nc); /* else by canonical text */
		return;
	}
	facts_comparable(f, x, e, nx, nc);
}

static void in_one(Facts *f, const Fact *x, const Fact *c, Node *nx, Node *nc)
{
	if (fact_quiet(c) || fact_quiet(x))
		return;
	switch ((FactKind)c->kind) {
	case T_NET:
		in_net(f, x, nx);
		return;
	case T_STR:
		in_str(f, x, nx, nc);
		return;
	case T_LIST:
	case T_SET:
	case T_TUPLE:
	case T_DICT:
		in_items(f, x, c, nx, nc);
		return;
	case T_BYTES:
		if (x->kind != T_INT && x->kind != T_BOOL && x->kind != T_BYTES &&
		    !(x->kind == T_STR && x->vals))
			facts_say(f, "E-TYPE", nx, "`in` bytes needs bytes or a number; this is %.*s",
				  STR_ARG(facts_a_text(f, x)));
		return;
	case T_FLAGS:
		if (x->kind == T_STR && c->field)
			text_beside(f, c, x, nx);
		else if (x->kind != T_FLAGS && x->kind != T_STR && !is_num(x))
			facts_say(f, "E-TYPE", nx, "`in` flags needs a flag's name; this is %.*s",
				  STR_ARG(facts_a_text(f, x)));
		return;
	case T_PACKET: {
		if (x->kind == T_PROTO)
			return;
		Diag *d = facts_say(f, "E-TYPE", nx, "`in` a packet needs a layer, like TCP; this is %.*s",
				    STR_ARG(facts_a_text(f, x)));
		Str s;

		if (fact_one_str(x, &s) && wire_proto_by_name(s))
			facts_fix(f, d, nx, s);
		return;
	}
	default:
		facts_say(f, "E-TYPE", nc, "`in` needs something with items; this is %.*s",
			  STR_ARG(facts_a_text(f, c)));
	}
}

static void check_in(Facts *f, const Fact *x, const Fact *c, Node *nx, Node *nc)
{
	c = facts_need(f, c, nc);
	for (uint32_t i = 0; i < fact_ways(c); i++)
		for (uint32_t k = 0; k < fact_ways(x); k++)
			in_one(f, fact_way(f, x, k), fact_way(f, c, i), nx, nc);
}

/* ---- what is known ---- */

static bool known_numbers(CmpOp op, const Fact *a, const Fact *b, bool *ret)
{
	int64_t alo, ahi, blo, bhi;

	if ((a->kind != T_INT && a->kind != T_BOOL) || (b->kind != T_INT && b->kind != T_BOOL))
		return false;
	if (!vals_bounds(a, &alo, &ahi) || !vals_bounds(b, &blo, &bhi))
		return false;
	bool less = ahi<blo, more = alo> bhi, same = alo == ahi && blo == bhi && alo == blo;

	switch (op) {
	case CMP_EQ:
	case CMP_NE:
		*ret = (op == CMP_EQ) == same;
		return same || less || more;
	case CMP_LT:
		*ret = less;
		return less || alo >= bhi;
	case CMP_LE:
		*ret = ahi <= blo;
		return ahi <= blo || more;
	case CMP_GT:
		*ret = more;
		return more || ahi <= blo;
	case CMP_GE:
		*ret = alo >= bhi;
		return alo >= bhi || less;
	default:
		return false;
	}
}

static bool known_texts(CmpOp op, const Fact *a, const Fact *b, bool *ret)
{
	bool any = false;

	if (a->kind != b->kind || (a->kind != T_STR && a->kind != T_BYTES) ||
	    (op != CMP_EQ && op != CMP_NE) || !a->vals || !b->vals || a->none || b->none)
		return false;
	for (uint32_t i = 0; i < a->vals->n; i++)
		for (uint32_t k = 0; k < b->vals->n; k++)
			any |= str_eq(a->vals->s[i], b->vals->s[k]);
	if (any && (a->vals->n != 1 || b->vals->n != 1))
		return false;
	*ret = any == (op == CMP_EQ);
	return true;
}

static bool known(CmpOp op, const Fact *a, const Fact *b, bool *ret)
{
	if (a->none || b->none)
		return false;
	return known_numbers(op, a, b, ret) || known_texts(op, a, b, ret);
}

bool fact_truth(const Fact *x, bool *ret)
{
	int64_t lo, hi;
	Len l = fact_len(x);

	if (x->kind == T_NONE)
		return *ret = false, true;
	if (x->none)
		return false;
	switch ((FactKind)x->kind) {
	case T_BOOL:
	case T_INT:
	case T_DURATION:
		if (!vals_bounds(x, &lo, &hi) || (lo <= 0 && hi >= 0 && lo != hi))
			return false;
		*ret = lo != 0;
		return true;
	case T_STR:
	case T_BYTES:
		*ret = l.lo > 0;
		return l.lo > 0 || l.hi == 0;
	case T_PACKET:
	case T_RESULT:
	case T_IP:
	case T_MAC:
	case T_NET:
	case T_ROUTE:
	case T_PROTO:
	case T_FUNC:
	case T_TYPE:
		return *ret = true, true;
	default:
		return false;
	}
}

/* ---- compare ---- */

static void check_link(Facts *f, CmpOp op, const Fact *a, const Fact *b, Node *na, Node *nb)
{
	switch (op) {
	case CMP_EQ:
	case CMP_NE:
		facts_comparable(f, a, b, na, nb);
		break;
	case CMP_IN:
	case CMP_NOT_IN:
		check_in(f, a, b, na, nb);
		break;
	case CMP_IS_NONE:
	case CMP_IS_NOT_NONE:
		break;
	default:
		ordered(f, facts_need(f, a, na), facts_need(f, b, nb), na, nb, op);
	}
}

const Fact *facts_compare(Facts *f, Node *n)
{
	Node *left = n->compare.left;
	const Fact *a = facts_ex(f, left);
	bool all = true, decided = true;
	const Label *pc = label_enter(f, NULL), *told = label_deep(f, a);

	for (uint32_t i = 0; i < n->compare.n; i++) {
		CmpLink *l = &n->compare.link[i];

		if (i) /* the rest is evaluated only while it is true */
			label_enter(f, label_decide(f, l->right, told));
		const Fact *b = facts_ex(f, l->right);
		bool yes;

		told = label_join(f, told, label_deep(f, b));

		check_link(f, l->op, a, b, left, l->right);
		if (known(l->op, a, b, &yes)) {
			all &= yes;
			if (!yes) {
				decided = true;
				break;
			}
		} else {
			decided = false;
		}
		a = b;
		left = l->right;
	}
	label_back(f, pc);
	return decided ? mk_range(f, T_BOOL, all, all) : mk(f, T_BOOL);
}

/* ---- narrowing ---- */

/* x as it is where it is true (or false); NULL: it can't be. */
const Fact *facts_truth_part(Facts *f, const Fact *x, bool truth)
{
	bool is;

	if (x->kind == T_NONE)
		return truth ? NULL : x;
	if (!x->none)
		return fact_truth(x, &is) && is != truth ? NULL
		       : x->kind == T_INT && !truth	 ? mk_range(f, T_INT, 0, 0)
		       : x->kind == T_INT && x->vals	 ? mk_vals(f, T_INT, vals_without(f, x->vals, 0))
							 : x;
	if (truth)
		return mk_some(f, x);
	return fact_truth(mk_some(f, x), &is) && is ? label_add(f, mk(f, T_NONE), x->label) : x;
}

static const Fact *none_part(Facts *f, const Fact *x, bool none)
{
	if (x->kind == T_DURATION || x->kind == T_TIME ||
	    x->kind == T_FLOAT) /* have an absent value, which is None too */
		return none ? x : mk_some(f, x);
	if (x->kind == T_ANY || x->kind == T_ERROR)
		return x;
	if (none)
		return x->none ? mk(f, T_NONE) : x->kind == T_NEVER ? x : NULL;
	return x->kind == T_NONE ? NULL : mk_some(f, x);
}

static const Fact *has_part(Facts *f, const Fact *p, WireId id, bool has)
{
	if (p->kind != T_PACKET || p->none)
		return p;
	return packet_having(f, p, id, has);
}

/* Numbers that can compare so with b. */
static const Fact *number_part(Facts *f, const Fact *a, CmpOp op, const Fact *b)
{
	int64_t lo, hi;
	const Vals *v = a->vals;

	if (a->kind != T_INT || a->none || (b->kind != T_INT && b->kind != T_BOOL) ||
	    !vals_bounds(b, &lo, &hi))
		return a;
	switch (op) {
	case CMP_EQ:
		v = vals_meet(f, v, lo, hi);
		break;
	case CMP_NE:
		v = lo == hi ? vals_without(f, v, lo) : v;
		break;
	case CMP_LT:
		v = hi == INT64_MIN ? v : vals_meet(f, v, INT64_MIN, hi - 1);
		break;
	case CMP_LE:
		v = vals_meet(f, v, INT64_MIN, hi);
		break;
	case CMP_GT:
		v = lo == INT64_MAX ? v : vals_meet(f, v, lo + 1, INT64_MAX);
		break;
	case CMP_GE:
		v = vals_meet(f, v, lo, INT64_MAX);
		break;
	default:
		return a;
	}
	if (v && v->n == 0)
		return NULL;
	Fact *x = mk_copy(f, a);

	x->vals = v;
	return x;
}

static const Fact *text_part(Facts *f, const Fact *a, CmpOp op, const Fact *b)
{
	Str *s;
	uint32_t n = 0;

	if (a->kind != T_STR || b->kind != T_STR || !b->vals || a->none)
		return a;
	if (!a->vals)
		return op == CMP_EQ ? b : a;
	if (op == CMP_NE && b->vals->n != 1)
		return a;
	s = arena_new_n(f->a, Str, a->vals->n);
	for (uint32_t i = 0; i < a->vals->n; i++) {
		bool in = false;

		for (uint32_t k = 0; k < b->vals->n; k++)
			in |= str_eq(a->vals->s[i], b->vals->s[k]);
		if (in == (op == CMP_EQ))
			s[n++] = a->vals->s[i];
	}
	if (!n)
		return NULL;
	Vals *v = arena_new(f->a, Vals);

	*v = (Vals){ .n = n, .s = s };
	return mk_vals(f, T_STR, v);
}

static CmpOp cmp_not(CmpOp op)
{
	static const uint8_t inverse[CMP_N] = {
		[CMP_EQ] = CMP_NE,
		[CMP_NE] = CMP_EQ,
		[CMP_LT] = CMP_GE,
		[CMP_LE] = CMP_GT,
		[CMP_GT] = CMP_LE,
		[CMP_GE] = CMP_LT,
		[CMP_IN] = CMP_NOT_IN,
		[CMP_NOT_IN] = CMP_IN,
		[CMP_IS_NONE] = CMP_IS_NOT_NONE,
		[CMP_IS_NOT_NONE] = CMP_IS_NONE,
	};

	return inverse[op];
}

static CmpOp cmp_swap(CmpOp op)
{
	return op == CMP_LT   ? CMP_GT
	       : op == CMP_GT ? CMP_LT
	       : op == CMP_LE ? CMP_GE
	       : op == CMP_GE ? CMP_LE
			      : op;
}

/* What a is where `a op b` holds; NULL: it can't. */
static const Fact *compare_part(Facts *f, const Fact *a, CmpOp op, const Fact *b)
{
	if (op == CMP_IS_NONE || op == CMP_IS_NOT_NONE)
		return none_part(f, a, op == CMP_IS_NONE);
	if (b->kind == T_NONE && (op == CMP_EQ || op == CMP_NE))
		return none_part(f, a, op == CMP_EQ);
	if (op == CMP_IN && (b->kind == T_LIST || b->kind == T_TUPLE || b->kind == T_SET) && a->none &&
	    (!b->cell || !b->cell->elem->none))
		return mk_some(f, a);
	if (op == CMP_EQ && a->none && !b->none && b->kind != T_ANY)
		return mk_some(f, a);
	if (op == CMP_EQ || op == CMP_NE)
		a = text_part(f, a, op, b);
	return a ? number_part(f, a, op, b) : NULL;
}

/* Splits f->env by whether path is yes or no there (NULL: never); gives the env of no. */
static Env *split(Facts *f, Node *path, const Fact *yes, const Fact *no)
{
	Env *env = f->env, *other = env_copy(f, env);

	if (!yes)
		env->dead = true;
	else
		env_refine(f, path, yes);
	f->env = other;
	if (!no)
		other->dead = true;
	else
		env_refine(f, path, no);
	f->env = env;
	return other;
}

static Env *cond_known(Facts *f, const Fact *x)
{
	bool is;
	Env *other = env_copy(f, f->env);

	if (fact_truth(x, &is)) {
		if (is)
			other->dead = true;
		else
			f->env->dead = true;
	}
	return other;
}

static Env *cond_has(Facts *f, Node *packet, const Fact *p, WireId id, bool negated)
{
	if (!facts_path_var(f, packet))
		return env_copy(f, f->env);
	const Fact *has = has_part(f, p, id, true), *not = has_part(f, p, id, false);

	return negated ? split(f, packet, not, has) : split(f, packet, has, not );
}

/* Addresses of that version only; names may be either. */
static const Fact *version_part(Facts *f, const Fact *x, uint8_t version)
{
	if (x->kind != T_IP || !x->vals || x->none)
		return x;
	Target *t = arena_new_n(f->a, Target, x->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < x->vals->n; i++)
		if (!x->vals->ip[i].lo.v || x->vals->ip[i].lo.v == version)
			t[v->n++] = x->vals->ip[i];
	v->ip = t;
	return v->n ? mk_vals(f, T_IP, v) : NULL;
}

/* `dst.version == 6` tells about dst. */
static Env *cond_version(Facts *f, Node *ip, int64_t version, bool equal)
{
	f->quiet++;
	const Fact *x = facts_ex(f, ip);

	f->quiet--;
	const Fact *is = version_part(f, x, (uint8_t)version),
		   *other = version_part(f, x, version == 6 ? 4 : 6);

	return equal ? split(f, ip, is, other) : split(f, ip, other, is);
}

static Env *cond_compare(Facts *f, Node *n)
{
	const Fact *x = facts_compare(f, n);
	CmpLink *l = &n->compare.link[0];
	bool is;

	if (n->compare.n != 1 || fact_truth(x, &is))
		return cond_known(f, x);
	f->quiet++;
	Node *na = n->compare.left, *nb = l->right;
	Count c = f->count;
	const Fact *a = facts_ex(f, na), *b = facts_ex(f, nb);

	f->count = c;
	f->quiet--;
	if ((l->op == CMP_IN || l->op == CMP_NOT_IN) && a->kind == T_PROTO)
		return cond_has(f, nb, b, a->view, l->op == CMP_NOT_IN);
	int64_t v;

	if (na->kind == N_ATTR && str_is(na->attr.sym->text, "version") && vals_one(b, &v) &&
	    (v == 4 || v == 6) && (l->op == CMP_EQ || l->op == CMP_NE) && facts_path_var(f, na->attr.obj))
		return cond_version(f, na->attr.obj, v, l->op == CMP_EQ);
	if (facts_path_var(f, na)) {
		Env *no = split(f, na, compare_part(f, a, l->op, b), compare_part(f, a, cmp_not(l->op), b));
		const Fact *yes_b = compare_part(f, b, cmp_swap(l->op), a);

		if (facts_path_var(f, nb) && l->op != CMP_IN && l->op != CMP_NOT_IN && yes_b && !f->env->dead)
			env_refine(f, nb, yes_b);
		return no;
	}
	if (facts_path_var(f, nb) && l->op != CMP_IN && l->op != CMP_NOT_IN)
		return split(f, nb, compare_part(f, b, cmp_swap(l->op), a),
			     compare_part(f, b, cmp_not(cmp_swap(l->op)), a));
	return env_copy(f, f->env);
}

static Env *cond_boolop(Facts *f, Node *n)
{
	Env *no = facts_cond(f, n->binary.left);
	Least least = f->count.least;
	const Label *pc = label_branch(f, n->binary.left, f->env, no);

	if (n->op == OP_BOOL_AND) {
		if (f->env->dead)
			return no;
		Env *no2 = facts_cond(f, n->binary.right);

		f->count.least = least;
		label_back(f, pc);
		return env_join(f, no, no2);
	}
	Env *yes = f->env;

	f->env = no;
	if (no->dead) {
		f->env = yes;
		return no;
	}
	no = facts_cond(f, n->binary.right);
	f->count.least = least;
	label_back(f, pc);
	f->env = env_join(f, f->env, yes);
	return no;
}

static bool is_haslayer(const Node *n)
{
	return n->kind == N_CALL && n->call.fn->kind == N_ATTR &&
	       str_is(n->call.fn->attr.sym->text, "haslayer") && n->call.n == 1 &&
	       n->call.arg[0].value->kind == N_NAME && n->call.arg[0].value->name.ref == REF_PROTO;
}

Env *facts_cond(Facts *f, Node *n)
{
	facts_step(f, 1);
	if (n->kind == N_UNARY && n->op == UN_NOT) {
		Env *yes = facts_cond(f, n->unary.value), *no = f->env;

		f->env = yes;
		return no;
	}
	if (n->kind == N_BOOLOP)
		return cond_boolop(f, n);
	if (n->kind == N_COMPARE)
		return cond_compare(f, n);
	const Fact *x = facts_ex(f, n);

	if (x->kind == T_FUNC)
		facts_say(f, "E-TYPE", n, "a function is always true: call it");
	if (is_haslayer(n) && facts_path_var(f, n->call.fn->attr.obj)) { /* no effect: may be looked at again */
		f->quiet++;
		const Fact *p = facts_ex(f, n->call.fn->attr.obj);

		f->quiet--;
		return cond_has(f, n->call.fn->attr.obj, p, (WireId)n->call.arg[0].value->name.index, false);
	}
	if (facts_path_var(f, n))
		return split(f, n, facts_truth_part(f, x, true), facts_truth_part(f, x, false));
	return cond_known(f, x);
}
