/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions, by precedence climbing.  Python's table, loosest first:
 * lambda, if-else, or, and, not, comparison, | ^ & shifts + * unary ** postfix.
 *
 * Only brackets, prefix operators and right operands of ** go deeper on the C
 * stack without bound by the table, so these are what par_enter() counts.
 */
#include "lang/parse_priv.h"

enum { PREC_NOT = 3, PREC_COMPARE = 5, PREC_UNARY = 12 };

typedef struct Infix {
	uint8_t prec; /* 0: no infix operator */
	uint8_t op;   /* BinOp or CmpOp */
} Infix;

static Infix infix_of(const Parser *p)
{
	static const Infix rows[TOK_N] = {
		[TOK_KW_OR] = { 1, OP_BOOL_OR },
		[TOK_KW_AND] = { 2, OP_BOOL_AND },
		[TOK_EQ] = { PREC_COMPARE, CMP_EQ },
		[TOK_NE] = { PREC_COMPARE, CMP_NE },
		[TOK_LT] = { PREC_COMPARE, CMP_LT },
		[TOK_LE] = { PREC_COMPARE, CMP_LE },
		[TOK_GT] = { PREC_COMPARE, CMP_GT },
		[TOK_GE] = { PREC_COMPARE, CMP_GE },
		[TOK_KW_IN] = { PREC_COMPARE, CMP_IN },
		[TOK_KW_IS] = { PREC_COMPARE, CMP_IS_NONE },
		[TOK_OR] = { 6, OP_OR },
		[TOK_XOR] = { 7, OP_XOR },
		[TOK_AND] = { 8, OP_AND },
		[TOK_SHL] = { 9, OP_SHL },
		[TOK_SHR] = { 9, OP_SHR },
		[TOK_ADD] = { 10, OP_ADD },
		[TOK_SUB] = { 10, OP_SUB },
		[TOK_MUL] = { 11, OP_MUL },
		[TOK_DIV] = { 11, OP_DIV },
		[TOK_FLOOR] = { 11, OP_FLOOR },
		[TOK_MOD] = { 11, OP_MOD },
		[TOK_POW] = { 13, OP_POW },
	};
	TokKind k = par_at(p);

	if (k == TOK_KW_NOT && p->t[1].kind == TOK_KW_IN)
		return (Infix){ PREC_COMPARE, CMP_NOT_IN };
	return rows[k];
}

static Node *parse_prec(Parser *p, unsigned min);

Node *bad_node(Parser *p)
{
	return par_node(p, N_BAD, p->t->span.from);
}

/* ---- names, numbers, displays ---- */

Node *parse_name(Parser *p)
{
	Node *n = par_node(p, N_NAME, p->t->span.from);

	n->name.sym = p->t->sym;
	par_take(p);
	return n;
}

/* INT_MIN stands for 2^63: minus it is an int, it is not. */
static Node *parse_number(Parser *p, bool minus)
{
	static const uint8_t kinds[TOK_N] = {
		[TOK_INT] = N_INT, [TOK_FLOAT] = N_FLOAT, [TOK_DURATION] = N_DURATION
	};
	Node *n = par_node(p, (NodeKind)kinds[p->t->kind], p->t->span.from);

	if (p->t->kind == TOK_FLOAT) {
		n->f = p->t->f;
	} else {
		n->i = p->t->i;
		n->unit = p->t->unit;
		if (n->i == INT64_MIN && !minus)
			par_refuse(p, par_span(p), "this number is beyond 64 bits")->hint =
				STR("the largest int is 9223372036854775807");
	}
	par_take(p);
	return n;
}

static Node *parse_int(Parser *p)
{
	return parse_number(p, false);
}

static Node *parse_constant(Parser *p)
{
	TokKind k = p->t->kind;
	Node *n = par_node(p, k == TOK_KW_NONE ? N_NONE : N_BOOL, p->t->span.from);

	n->i = k == TOK_KW_TRUE;
	par_take(p);
	return n;
}

/* for target in iter, if cond ... */
static void parse_clauses(Parser *p, Node *n)
{
	VEC(Clause) v = { 0 };

	for (;;) {
		Clause c = { 0 };

		if (par_at(p) == TOK_KW_ASYNC) {
			par_error(p, par_span(p),
				  "`async` has no meaning: everything in the background goes on during each "
				  "wait");
			break;
		}
		if (par_accept(p, TOK_KW_FOR)) {
			c.target = parse_targets(p);
			par_expect(p, TOK_KW_IN);
			c.value = parse_prec(p, 1);
		} else if (par_accept(p, TOK_KW_IF)) {
			c.value = parse_prec(p, 1);
		} else {
			break;
		}
		vec_push(p->a, &v, c);
	}
	n->comp.clause = v.p;
	n->comp.n = v.n;
}

static bool at_comp(const Parser *p)
{
	return par_at(p) == TOK_KW_FOR || par_at(p) == TOK_KW_ASYNC;
}

static Node *parse_comp(Parser *p, NodeKind kind, uint32_t from, Node *key, Node *value)
{
	Node *n = par_node(p, kind, from);

	n->comp.key = key;
	n->comp.value = value;
	parse_clauses(p, n);
	return n;
}

/* *a, **a where Python unpacks. */
void par_refuse_star(Parser *p, const char *instead)
{
	par_refuse(p, par_span(p), "%s does not unpack here", tok_text(p->t->kind))->hint = str_c(instead);
	par_take(p);
}

static Node *parse_item(Parser *p)
{
	if (par_at(p) == TOK_MUL)
		par_refuse_star(
			p,
			"join lists by `+`: a + b; take the parts of a list by index or slice: x[0], x[1:]");
	return parse_expr(p);
}

/* Items up to `end`, behind the first; a comma behind the last is allowed. */
static Nodes parse_items(Parser *p, Node *first, TokKind end)
{
	NodeVec v = { 0 };

	vec_push(p->a, &v, first);
	while (par_accept(p, TOK_COMMA) && par_at(p) != end)
		vec_push(p->a, &v, parse_item(p));
	return ast_nodes(p->ast, v.p, v.n);
}

void par_close(Parser *p, TokKind end)
{
	char text[32] = "`,` or ";

	if (par_accept(p, end))
		return;
	strcat(text, tok_text(end));
	par_unexpected(p, text);
}

/* (x for ...) that is no argument: a list comprehension does the same. */
static void refuse_genexp(Parser *p, Node *n)
{
	Str inner = text_of(p->text, (Span){ n->span.from + 1, n->span.to - 1 });
	Diag *d = par_refuse(p, n->span, "a generator expression stands only as the sole argument of a call");

	diag_fix(d, n->span, str_printf(p->a, "[%.*s]", STR_ARG(inner)));
}

static Node *parse_paren(Parser *p)
{
	uint32_t from = p->t->span.from;
	bool is_arg = p->t == p->arg_at;

	par_take(p);
	if (is_arg)
		p->arg_at = p->t;
	if (par_at(p) == TOK_RPAR) {
		par_take(p);
		return par_finish(p, par_node(p, N_TUPLE, from));
	}
	Node *n = parse_item(p);

	if (at_comp(p)) {
		n = parse_comp(p, N_GENEXP, from, NULL, n);
		par_close(p, TOK_RPAR);
		par_finish(p, n);
		if (!is_arg)
			refuse_genexp(p, n);
	} else if (par_at(p) == TOK_COMMA) {
		Node *t = par_node(p, N_TUPLE, from);

		t->list = parse_items(p, n, TOK_RPAR);
		n = t;
		par_close(p, TOK_RPAR);
		par_finish(p, n);
	} else {
		par_close(p, TOK_RPAR);
	}
	n->paren = true;
	return n;
}

static Node *parse_list(Parser *p)
{
	uint32_t from = p->t->span.from;
	Node *n;

	par_take(p);
	if (par_accept(p, TOK_RSQB))
		return par_finish(p, par_node(p, N_LIST, from));
	Node *first = parse_item(p);

	if (at_comp(p)) {
		n = parse_comp(p, N_LISTCOMP, from, NULL, first);
	} else {
		n = par_node(p, N_LIST, from);
		n->list = parse_items(p, first, TOK_RSQB);
	}
	par_close(p, TOK_RSQB);
	return par_finish(p, n);
}

static Node *dict_item(Parser *p)
{
	if (par_at(p) == TOK_POW) {
		par_refuse_star(p, "join dicts by `|`: a | b");
		return NULL;
	}
	return parse_item(p);
}

static Nodes dict_items(Parser *p, Node *key, Node *value)
{
	NodeVec v = { 0 };

	vec_push(p->a, &v, key);
	vec_push(p->a, &v, value);
	while (par_accept(p, TOK_COMMA) && par_at(p) != TOK_RBRACE) {
		key = dict_item(p);
		if (key)
			par_expect(p, TOK_COLON);
		value = parse_expr(p);
		vec_push(p->a, &v, key ? key : value);
		vec_push(p->a, &v, value);
	}
	return ast_nodes(p->ast, v.p, v.n);
}

static Node *dict_or_set(Parser *p, uint32_t from)
{
	Node *first = dict_item(p), *n;

	if (!first || par_accept(p, TOK_COLON)) {
		Node *value = parse_expr(p);

		if (at_comp(p) && first)
			return parse_comp(p, N_DICTCOMP, from, first, value);
		n = par_node(p, N_DICT, from);
		n->list = dict_items(p, first ? first : value, value);
	} else if (at_comp(p)) {
		n = parse_comp(p, N_SETCOMP, from, NULL, first);
	} else {
		n = par_node(p, N_SET, from);
		n->list = parse_items(p, first, TOK_RBRACE);
	}
	return n;
}

static Node *parse_brace(Parser *p)
{
	uint32_t from = p->t->span.from;
	Node *n;

	par_take(p);
	n = par_at(p) == TOK_RBRACE ? par_node(p, N_DICT, from) : dict_or_set(p, from);
	par_close(p, TOK_RBRACE);
	return par_finish(p, n);
}

static Node *parse_lambda(Parser *p)
{
	Node *n = par_node(p, N_LAMBDA, p->t->span.from);

	if (p->t != p->arg_at && !p->lambda)
		p->lambda = n;
	par_take(p);
	parse_params(p, TOK_COLON, false, n);
	par_expect(p, TOK_COLON);
	n->func.value = parse_expr(p);
	return par_finish(p, n);
}

static Node *parse_primary(Parser *p);

static Node *parse_await(Parser *p)
{
	Span s = par_span(p);

	while (par_at(p) == TOK_KW_AWAIT)
		par_take(p);
	diag_fix(par_soft(p, s, "there is no `await`: a call waits until it has its result"),
		 (Span){ s.from, p->t->span.from }, STR(""));
	return parse_primary(p);
}

static Node *parse_foreign(Parser *p)
{
	if (p->t->kind == TOK_KW_YIELD)
		par_error(p, par_span(p), "there are no generators")->hint =
			STR("collect a list and return it");
	else
		par_error(p, par_span(p), "`...` has no meaning here")->hint =
			STR("an empty block is `pass`");
	return bad_node(p);
}

typedef Node *PrimaryFn(Parser *p);

static PrimaryFn *const primary_fns[TOK_N] = {
	[TOK_NAME] = parse_name,	[TOK_INT] = parse_int,		[TOK_FLOAT] = parse_int,
	[TOK_DURATION] = parse_int,	[TOK_STR] = parse_strings,	[TOK_BYTES] = parse_strings,
	[TOK_FSTRING] = parse_strings,	[TOK_KW_TRUE] = parse_constant, [TOK_KW_FALSE] = parse_constant,
	[TOK_KW_NONE] = parse_constant, [TOK_LPAR] = parse_paren,	[TOK_LSQB] = parse_list,
	[TOK_LBRACE] = parse_brace,	[TOK_ELLIPSIS] = parse_foreign, [TOK_KW_YIELD] = parse_foreign,
	[TOK_KW_AWAIT] = parse_await,
};

static Node *parse_primary(Parser *p)
{
	PrimaryFn *f = primary_fns[par_at(p)];

	if (!f) {
		par_unexpected(p, "an expression");
		return bad_node(p);
	}
	return f(p);
}

/* ---- postfix ---- */

static Node *parse_attr(Parser *p, Node *obj)
{
	Node *n = par_node(p, N_ATTR, obj->span.from);

	par_take(p);
	n->attr.obj = obj;
	n->attr.at = par_span(p);
	n->attr.sym = p->t->kind == TOK_NAME ? p->t->sym : NULL;
	if (!par_accept(p, TOK_NAME))
		par_unexpected(p, "a name behind `.`");
	return par_finish(p, n);
}

static Node *parse_slice(Parser *p, uint32_t from, Node *lo)
{
	Node *n = par_node(p, N_SLICE, from);

	par_take(p); /* the first colon */
	n->slice.lo = lo;
	if (par_at(p) != TOK_RSQB && par_at(p) != TOK_COLON && par_at(p) != TOK_COMMA)
		n->slice.hi = parse_expr(p);
	if (par_accept(p, TOK_COLON) && par_at(p) != TOK_RSQB && par_at(p) != TOK_COMMA)
		n->slice.step = parse_expr(p);
	if (par_at(p) == TOK_COMMA)
		par_error(p, par_span(p), "one slice at a time");
	return par_finish(p, n);
}

static Node *parse_subscript(Parser *p)
{
	uint32_t from = p->t->span.from;

	if (par_at(p) == TOK_COLON)
		return parse_slice(p, from, NULL);
	Node *n = parse_expr(p);

	if (par_at(p) == TOK_COLON)
		return parse_slice(p, from, n);
	if (par_at(p) == TOK_COMMA) {
		Node *t = par_node(p, N_TUPLE, from);

		t->list = parse_items(p, n, TOK_RSQB);
		n = par_finish(p, t);
	}
	return n;
}

static Node *parse_index(Parser *p, Node *obj)
{
	Node *n = par_node(p, N_INDEX, obj->span.from);

	par_take(p);
	n->index.obj = obj;
	n->index.index = par_enter(p) ? parse_subscript(p) : bad_node(p);
	par_leave(p);
	if (!par_accept(p, TOK_RSQB))
		par_unexpected(p, "`]`");
	return par_finish(p, n);
}

typedef VEC(Arg) ArgVec;

static void check_keyword(Parser *p, const ArgVec *v, const Arg *a)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->p[i].name == a->name)
			par_refuse(p, a->span, "`%.*s=` is given twice", STR_ARG(a->name->text));
}

static void parse_arg(Parser *p, ArgVec *v)
{
	Arg a = { .span = par_span(p) };

	if (par_at(p) == TOK_MUL || par_at(p) == TOK_POW)
		par_refuse_star(p, "write the arguments out, or hand over a list: sr(packets), print(list)");
	if (par_at(p) == TOK_NAME && p->t[1].kind == TOK_ASSIGN) {
		a.name = p->t->sym;
		check_keyword(p, v, &a);
		par_take(p);
		par_take(p);
	} else if (v->n && v->p[v->n - 1].name && !p->panic) {
		par_refuse(p, par_span(p), "an argument by position behind one by keyword")->hint =
			STR("put it first, or give it its name");
	}
	uint32_t from = p->t->span.from;

	p->arg_at = p->t;
	a.value = parse_expr(p);
	if (at_comp(p)) {
		a.value = par_finish(p, parse_comp(p, N_GENEXP, from, NULL, a.value));
		if ((v->n || par_at(p) == TOK_COMMA) && !p->panic)
			par_refuse(p, a.value->span, "a generator expression must be the sole argument")
				->hint = STR("put it in square brackets");
	}
	a.span.to = p->last_to;
	vec_push(p->a, v, a);
}

static Node *parse_call(Parser *p, Node *fn)
{
	Node *n = par_node(p, N_CALL, fn->span.from);
	ArgVec v = { 0 };

	par_take(p);
	if (par_enter(p))
		while (par_at(p) != TOK_RPAR && par_at(p) != TOK_BAD) {
			parse_arg(p, &v);
			if (!par_accept(p, TOK_COMMA))
				break;
		}
	par_leave(p);
	par_close(p, TOK_RPAR);
	n->call.fn = fn;
	n->call.arg = v.p;
	n->call.n = v.n;
	par_finish(p, n);
	if (fn->kind == N_ATTR && !p->panic)
		refuse_format(p, n);
	return n;
}

static Node *parse_postfix(Parser *p)
{
	Node *n = parse_primary(p);

	for (;;) {
		switch (par_at(p)) {
		case TOK_DOT:
			n = parse_attr(p, n);
			break;
		case TOK_LPAR:
			n = parse_call(p, n);
			break;
		case TOK_LSQB:
			n = parse_index(p, n);
			break;
		default:
			return n;
		}
	}
}

/* ---- operators ---- */

static Node *parse_unary(Parser *p, UnOp op, unsigned prec)
{
	Node *n = par_node(p, N_UNARY, p->t->span.from);

	n->op = (uint8_t)op;
	par_take(p);
	if (op == UN_NEG && (par_at(p) == TOK_INT || par_at(p) == TOK_DURATION) && p->t->i == INT64_MIN &&
	    p->t[1].kind != TOK_POW) {
		Node *least = parse_number(p, true);

		least->span.from = n->span.from;
		return least;
	}
	n->unary.value = par_enter(p) ? parse_prec(p, prec) : bad_node(p);
	par_leave(p);
	return par_finish(p, n);
}

static Node *parse_prefix(Parser *p, unsigned min)
{
	switch (par_at(p)) {
	case TOK_KW_NOT:
		if (min > PREC_NOT)
			par_error(p, par_span(p), "`not` behind an operator stands in brackets")->hint =
				STR("write (not x)");
		return parse_unary(p, UN_NOT, PREC_NOT);
	case TOK_SUB:
		return parse_unary(p, UN_NEG, PREC_UNARY);
	case TOK_ADD:
		return parse_unary(p, UN_POS, PREC_UNARY);
	case TOK_INV:
		return parse_unary(p, UN_INV, PREC_UNARY);
	default:
		return parse_postfix(p);
	}
}

/* `is` knows None only: what is equal is asked by ==. */
static CmpOp parse_is(Parser *p)
{
	Span s = par_span(p);

	par_take(p);
	bool negated = par_accept(p, TOK_KW_NOT);

	s.to = p->last_to;
	if (par_at(p) != TOK_KW_NONE && par_at(p) != TOK_BAD) {
		Diag *d = par_refuse(p, s, "`%s` tests for None only", negated ? "is not" : "is");

		diag_fix(d, s, negated ? STR("!=") : STR("=="));
	}
	return negated ? CMP_IS_NOT_NONE : CMP_IS_NONE;
}

static Node *parse_compare(Parser *p, Node *left)
{
	Node *n = par_node(p, N_COMPARE, left->span.from);
	VEC(CmpLink) v = { 0 };

	n->compare.left = left;
	for (Infix i = infix_of(p); i.prec == PREC_COMPARE; i = infix_of(p)) {
		CmpLink l = { .op = (CmpOp)i.op };

		if (l.op == CMP_IS_NONE) {
			l.op = parse_is(p);
		} else {
			par_take(p);
			if (l.op == CMP_NOT_IN)
				par_take(p);
		}
		l.right = parse_prec(p, PREC_COMPARE + 1);
		vec_push(p->a, &v, l);
	}
	n->compare.link = v.p;
	n->compare.n = v.n;
	return par_finish(p, n);
}

static Node *parse_binary(Parser *p, Node *left, Infix i)
{
	Node *n = par_node(p, i.prec <= 2 ? N_BOOLOP : N_BINARY, left->span.from);

	n->op = i.op;
	par_take(p);
	n->binary.left = left;
	if (i.op == OP_POW) { /* binds to the right, and a sign may follow */
		n->binary.right = par_enter(p) ? parse_prec(p, PREC_UNARY) : bad_node(p);
		par_leave(p);
	} else {
		n->binary.right = parse_prec(p, i.prec + 1u);
	}
	par_finish(p, n);
	if (i.op == OP_MOD && n->kind == N_BINARY && !p->panic)
		refuse_percent(p, n);
	return n;
}

static Node *parse_prec(Parser *p, unsigned min)
{
	Node *n = parse_prefix(p, min);

	for (Infix i = infix_of(p); i.prec && i.prec >= min; i = infix_of(p))
		n = i.prec == PREC_COMPARE ? parse_compare(p, n) : parse_binary(p, n, i);
	return n;
}

static Node *parse_cond(Parser *p)
{
	Node *then = parse_prec(p, 1);

	if (par_at(p) != TOK_KW_IF)
		return then;
	Node *n = par_node(p, N_COND, then->span.from);

	par_take(p);
	n->cond.then = then;
	n->cond.test = parse_prec(p, 1);
	if (par_at(p) != TOK_KW_ELSE)
		par_unexpected(p, "`else`: a conditional expression has both branches");
	else
		par_take(p);
	n->cond.orelse = parse_expr(p);
	return par_finish(p, n);
}

Node *parse_expr(Parser *p)
{
	Node *n;

	if (!par_enter(p))
		n = bad_node(p);
	else if (par_at(p) == TOK_KW_LAMBDA)
		n = parse_lambda(p);
	else
		n = parse_cond(p);
	par_leave(p);
	if (par_at(p) == TOK_WALRUS)
		refuse_walrus(p, n);
	return n;
}

static bool ends_exprs(TokKind k)
{
	return k == TOK_NEWLINE || k == TOK_END || k == TOK_ASSIGN || k == TOK_COLON || k == TOK_SEMI ||
	       k == TOK_RBRACE;
}

Node *parse_exprs(Parser *p)
{
	uint32_t from = p->t->span.from;
	NodeVec v = { 0 };

	vec_push(p->a, &v, parse_item(p));
	if (par_at(p) != TOK_COMMA)
		return v.p[0];
	Node *n = par_node(p, N_TUPLE, from);

	while (par_accept(p, TOK_COMMA) && !ends_exprs(par_at(p)))
		vec_push(p->a, &v, parse_item(p));
	n->list = ast_nodes(p->ast, v.p, v.n);
	return par_finish(p, n);
}
