/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions, by precedence climbing.  Python's table, loosest first:
 * lambda, if-else, or, and, not, comparison, | ^ & shifts + * unary ** postfix.
 *
 * Only brackets, prefix operators and right operands of ** go deeper on the C
 * stack without bound by the table, so these are what enter() counts.
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
		[TOK_KW_OR] = { 1, OP_BOOL_OR },   [TOK_KW_AND] = { 2, OP_BOOL_AND },
		[TOK_EQ] = { PREC_COMPARE, CMP_EQ }, [TOK_NE] = { PREC_COMPARE, CMP_NE },
		[TOK_LT] = { PREC_COMPARE, CMP_LT }, [TOK_LE] = { PREC_COMPARE, CMP_LE },
		[TOK_GT] = { PREC_COMPARE, CMP_GT }, [TOK_GE] = { PREC_COMPARE, CMP_GE },
		[TOK_KW_IN] = { PREC_COMPARE, CMP_IN }, [TOK_KW_IS] = { PREC_COMPARE, CMP_IS_NONE },
		[TOK_OR] = { 6, OP_OR },	   [TOK_XOR] = { 7, OP_XOR },
		[TOK_AND] = { 8, OP_AND },	   [TOK_SHL] = { 9, OP_SHL },
		[TOK_SHR] = { 9, OP_SHR },	   [TOK_ADD] = { 10, OP_ADD },
		[TOK_SUB] = { 10, OP_SUB },	   [TOK_MUL] = { 11, OP_MUL },
		[TOK_DIV] = { 11, OP_DIV },	   [TOK_FLOOR] = { 11, OP_FLOOR },
		[TOK_MOD] = { 11, OP_MOD },	   [TOK_POW] = { 13, OP_POW },
	};
	TokKind k = at(p);

	if (k == TOK_KW_NOT && p->t[1].kind == TOK_KW_IN)
		return (Infix){ PREC_COMPARE, CMP_NOT_IN };
	return rows[k];
}

static Node *parse_prec(Parser *p, unsigned min);

static Node *bad(Parser *p)
{
	return node(p, N_BAD, p->t->span.from);
}

/* ---- names, numbers, displays ---- */

static Node *parse_name(Parser *p)
{
	Node *n = node(p, N_NAME, p->t->span.from);

	n->name.sym = p->t->sym;
	take(p);
	return n;
}

/* INT_MIN stands for 2^63: minus it is an int, it is not. */
static Node *parse_number(Parser *p, bool minus)
{
	static const uint8_t kinds[TOK_N] = { [TOK_INT] = N_INT, [TOK_FLOAT] = N_FLOAT, [TOK_DURATION] = N_DURATION };
	Node *n = node(p, (NodeKind)kinds[p->t->kind], p->t->span.from);

	if (p->t->kind == TOK_FLOAT) {
		n->f = p->t->f;
	} else {
		n->i = p->t->i;
		n->unit = p->t->unit;
		if (n->i == INT64_MIN && !minus)
			refuse(p, tok_span(p), "this number is beyond 64 bits")->hint =
				STR("the largest int is 9223372036854775807");
	}
	take(p);
	return n;
}

static Node *parse_int(Parser *p)
{
	return parse_number(p, false);
}

static Node *parse_constant(Parser *p)
{
	TokKind k = p->t->kind;
	Node *n = node(p, k == TOK_KW_NONE ? N_NONE : N_BOOL, p->t->span.from);

	n->i = k == TOK_KW_TRUE;
	take(p);
	return n;
}

/* for target in iter, if cond ... */
static void parse_clauses(Parser *p, Node *n)
{
	VEC(Clause) v = { 0 };

	for (;;) {
		Clause c = { 0 };

		if (at(p) == TOK_KW_ASYNC) {
			syntax(p, tok_span(p), "`async` has no meaning: everything in the background goes on during each wait");
			break;
		}
		if (accept(p, TOK_KW_FOR)) {
			c.target = parse_targets(p);
			expect(p, TOK_KW_IN);
			c.value = parse_prec(p, 1);
		} else if (accept(p, TOK_KW_IF)) {
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
	return at(p) == TOK_KW_FOR || at(p) == TOK_KW_ASYNC;
}

static Node *parse_comp(Parser *p, NodeKind kind, uint32_t from, Node *key, Node *value)
{
	Node *n = node(p, kind, from);

	n->comp.key = key;
	n->comp.value = value;
	parse_clauses(p, n);
	return n;
}

/* *a, **a where Python unpacks. */
static void refuse_star(Parser *p, const char *instead)
{
	refuse(p, tok_span(p), "%s does not unpack here", tok_text(p->t->kind))->hint = str_c(instead);
	take(p);
}

static Node *parse_item(Parser *p)
{
	if (at(p) == TOK_MUL)
		refuse_star(p, "join lists by `+`: a + b; take the parts of a list by index or slice: x[0], x[1:]");
	return parse_expr(p);
}

/* Items up to `end`, behind the first; a comma behind the last is allowed. */
static Nodes parse_items(Parser *p, Node *first, TokKind end)
{
	NodeVec v = { 0 };

	vec_push(p->a, &v, first);
	while (accept(p, TOK_COMMA) && at(p) != end)
		vec_push(p->a, &v, parse_item(p));
	return ast_nodes(p->ast, v.p, v.n);
}

static void close_bracket(Parser *p, TokKind end)
{
	char text[32] = "`,` or ";

	if (accept(p, end))
		return;
	strcat(text, tok_text(end));
	unexpected(p, text);
}

/* (x for ...) that is no argument: a list comprehension does the same. */
static void refuse_genexp(Parser *p, Node *n)
{
	Str inner = text_of(p->text, (Span){ n->span.from + 1, n->span.to - 1 });
	Diag *d = refuse(p, n->span, "a generator expression stands only as the sole argument of a call");

	diag_fix(d, n->span, str_printf(p->a, "[%.*s]", STR_ARG(inner)));
}

static Node *parse_paren(Parser *p)
{
	uint32_t from = p->t->span.from;
	bool is_arg = p->t == p->arg_at;

	take(p);
	if (is_arg)
		p->arg_at = p->t;
	if (at(p) == TOK_RPAR) {
		take(p);
		return finish(p, node(p, N_TUPLE, from));
	}
	Node *n = parse_item(p);

	if (at_comp(p)) {
		n = parse_comp(p, N_GENEXP, from, NULL, n);
		close_bracket(p, TOK_RPAR);
		finish(p, n);
		if (!is_arg)
			refuse_genexp(p, n);
	} else if (at(p) == TOK_COMMA) {
		Node *t = node(p, N_TUPLE, from);

		t->list = parse_items(p, n, TOK_RPAR);
		n = t;
		close_bracket(p, TOK_RPAR);
		finish(p, n);
	} else {
		close_bracket(p, TOK_RPAR);
	}
	n->paren = true;
	return n;
}

static Node *parse_list(Parser *p)
{
	uint32_t from = p->t->span.from;
	Node *n;

	take(p);
	if (accept(p, TOK_RSQB))
		return finish(p, node(p, N_LIST, from));
	Node *first = parse_item(p);

	if (at_comp(p)) {
		n = parse_comp(p, N_LISTCOMP, from, NULL, first);
	} else {
		n = node(p, N_LIST, from);
		n->list = parse_items(p, first, TOK_RSQB);
	}
	close_bracket(p, TOK_RSQB);
	return finish(p, n);
}

static Node *dict_item(Parser *p)
{
	if (at(p) == TOK_POW) {
		refuse_star(p, "join dicts by `|`: a | b");
		return NULL;
	}
	return parse_item(p);
}

static Nodes dict_items(Parser *p, Node *key, Node *value)
{
	NodeVec v = { 0 };

	vec_push(p->a, &v, key);
	vec_push(p->a, &v, value);
	while (accept(p, TOK_COMMA) && at(p) != TOK_RBRACE) {
		key = dict_item(p);
		if (key)
			expect(p, TOK_COLON);
		value = parse_expr(p);
		vec_push(p->a, &v, key ? key : value);
		vec_push(p->a, &v, value);
	}
	return ast_nodes(p->ast, v.p, v.n);
}

static Node *dict_or_set(Parser *p, uint32_t from)
{
	Node *first = dict_item(p), *n;

	if (!first || accept(p, TOK_COLON)) {
		Node *value = parse_expr(p);

		if (at_comp(p) && first)
			return parse_comp(p, N_DICTCOMP, from, first, value);
		n = node(p, N_DICT, from);
		n->list = dict_items(p, first ? first : value, value);
	} else if (at_comp(p)) {
		n = parse_comp(p, N_SETCOMP, from, NULL, first);
	} else {
		n = node(p, N_SET, from);
		n->list = parse_items(p, first, TOK_RBRACE);
	}
	return n;
}

static Node *parse_brace(Parser *p)
{
	uint32_t from = p->t->span.from;
	Node *n;

	take(p);
	n = at(p) == TOK_RBRACE ? node(p, N_DICT, from) : dict_or_set(p, from);
	close_bracket(p, TOK_RBRACE);
	return finish(p, n);
}

static Node *parse_lambda(Parser *p)
{
	Node *n = node(p, N_LAMBDA, p->t->span.from);

	if (p->t != p->arg_at && !p->lambda_told)
		refuse(p, tok_span(p), "a lambda stands only as an argument of a call")->hint =
			STR("write a def at the top level and use its name");
	p->lambda_told |= p->t != p->arg_at;
	take(p);
	parse_params(p, TOK_COLON, false, n);
	expect(p, TOK_COLON);
	n->func.value = parse_expr(p);
	return finish(p, n);
}

static Node *parse_foreign(Parser *p)
{
	TokKind k = p->t->kind;

	if (k == TOK_KW_YIELD)
		syntax(p, tok_span(p), "there are no generators")->hint = STR("collect a list and return it");
	else if (k == TOK_KW_AWAIT)
		syntax(p, tok_span(p), "there is no `await`: a call waits until it has its result");
	else
		syntax(p, tok_span(p), "`...` has no meaning here")->hint = STR("an empty block is `pass`");
	return bad(p);
}

typedef Node *PrimaryFn(Parser *p);

static PrimaryFn *const primary_fns[TOK_N] = {
	[TOK_NAME] = parse_name,       [TOK_INT] = parse_int,	      [TOK_FLOAT] = parse_int,
	[TOK_DURATION] = parse_int,    [TOK_STR] = parse_strings,     [TOK_BYTES] = parse_strings,
	[TOK_FSTRING] = parse_strings, [TOK_KW_TRUE] = parse_constant, [TOK_KW_FALSE] = parse_constant,
	[TOK_KW_NONE] = parse_constant, [TOK_LPAR] = parse_paren,     [TOK_LSQB] = parse_list,
	[TOK_LBRACE] = parse_brace,    [TOK_ELLIPSIS] = parse_foreign, [TOK_KW_YIELD] = parse_foreign,
	[TOK_KW_AWAIT] = parse_foreign,
};

static Node *parse_primary(Parser *p)
{
	PrimaryFn *f = primary_fns[at(p)];

	if (!f) {
		unexpected(p, "an expression");
		return bad(p);
	}
	return f(p);
}

/* ---- postfix ---- */

static Node *parse_attr(Parser *p, Node *obj)
{
	Node *n = node(p, N_ATTR, obj->span.from);

	take(p);
	n->attr.obj = obj;
	n->attr.at = tok_span(p);
	n->attr.sym = p->t->kind == TOK_NAME ? p->t->sym : NULL;
	if (!accept(p, TOK_NAME))
		unexpected(p, "a name behind `.`");
	return finish(p, n);
}

static Node *parse_slice(Parser *p, uint32_t from, Node *lo)
{
	Node *n = node(p, N_SLICE, from);

	take(p); /* the first colon */
	n->slice.lo = lo;
	if (at(p) != TOK_RSQB && at(p) != TOK_COLON && at(p) != TOK_COMMA)
		n->slice.hi = parse_expr(p);
	if (accept(p, TOK_COLON) && at(p) != TOK_RSQB && at(p) != TOK_COMMA)
		n->slice.step = parse_expr(p);
	if (at(p) == TOK_COMMA)
		syntax(p, tok_span(p), "one slice at a time");
	return finish(p, n);
}

static Node *parse_subscript(Parser *p)
{
	uint32_t from = p->t->span.from;

	if (at(p) == TOK_COLON)
		return parse_slice(p, from, NULL);
	Node *n = parse_expr(p);

	if (at(p) == TOK_COLON)
		return parse_slice(p, from, n);
	if (at(p) == TOK_COMMA) {
		Node *t = node(p, N_TUPLE, from);

		t->list = parse_items(p, n, TOK_RSQB);
		n = finish(p, t);
	}
	return n;
}

static Node *parse_index(Parser *p, Node *obj)
{
	Node *n = node(p, N_INDEX, obj->span.from);

	take(p);
	n->index.obj = obj;
	n->index.index = enter(p) ? parse_subscript(p) : bad(p);
	leave(p);
	if (!accept(p, TOK_RSQB))
		unexpected(p, "`]`");
	return finish(p, n);
}

typedef VEC(Arg) ArgVec;

static void check_keyword(Parser *p, const ArgVec *v, const Arg *a)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->p[i].name == a->name)
			refuse(p, a->span, "`%.*s=` is given twice", STR_ARG(a->name->text));
}

static void parse_arg(Parser *p, ArgVec *v)
{
	Arg a = { .span = tok_span(p) };

	if (at(p) == TOK_MUL || at(p) == TOK_POW)
		refuse_star(p, "write the arguments out, or hand over a list: sr(packets), print(list)");
	if (at(p) == TOK_NAME && p->t[1].kind == TOK_ASSIGN) {
		a.name = p->t->sym;
		check_keyword(p, v, &a);
		take(p);
		take(p);
	} else if (v->n && v->p[v->n - 1].name && !p->panic) {
		refuse(p, tok_span(p), "an argument by position behind one by keyword")->hint =
			STR("put it first, or give it its name");
	}
	uint32_t from = p->t->span.from;

	p->arg_at = p->t;
	a.value = parse_expr(p);
	if (at_comp(p)) {
		a.value = finish(p, parse_comp(p, N_GENEXP, from, NULL, a.value));
		if ((v->n || at(p) == TOK_COMMA) && !p->panic)
			refuse(p, a.value->span, "a generator expression must be the sole argument")->hint =
				STR("put it in square brackets");
	}
	a.span.to = p->last_to;
	vec_push(p->a, v, a);
}

static Node *parse_call(Parser *p, Node *fn)
{
	Node *n = node(p, N_CALL, fn->span.from);
	ArgVec v = { 0 };

	take(p);
	if (enter(p))
		while (at(p) != TOK_RPAR && at(p) != TOK_BAD) {
			parse_arg(p, &v);
			if (!accept(p, TOK_COMMA))
				break;
		}
	leave(p);
	close_bracket(p, TOK_RPAR);
	n->call.fn = fn;
	n->call.arg = v.p;
	n->call.n = v.n;
	finish(p, n);
	if (fn->kind == N_ATTR && !p->panic)
		refuse_format(p, n);
	return n;
}

static Node *parse_postfix(Parser *p)
{
	Node *n = parse_primary(p);

	for (;;) {
		switch (at(p)) {
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
	Node *n = node(p, N_UNARY, p->t->span.from);

	n->op = (uint8_t)op;
	take(p);
	if (op == UN_NEG && (at(p) == TOK_INT || at(p) == TOK_DURATION) && p->t->i == INT64_MIN && p->t[1].kind != TOK_POW) {
		Node *least = parse_number(p, true);

		least->span.from = n->span.from;
		return least;
	}
	n->unary.value = enter(p) ? parse_prec(p, prec) : bad(p);
	leave(p);
	return finish(p, n);
}

static Node *parse_prefix(Parser *p, unsigned min)
{
	switch (at(p)) {
	case TOK_KW_NOT:
		if (min > PREC_NOT)
			syntax(p, tok_span(p), "`not` behind an operator stands in brackets")->hint = STR("write (not x)");
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
	Span s = tok_span(p);

	take(p);
	bool negated = accept(p, TOK_KW_NOT);

	s.to = p->last_to;
	if (at(p) != TOK_KW_NONE && at(p) != TOK_BAD) {
		Diag *d = refuse(p, s, "`%s` tests for None only", negated ? "is not" : "is");

		diag_fix(d, s, negated ? STR("!=") : STR("=="));
	}
	return negated ? CMP_IS_NOT_NONE : CMP_IS_NONE;
}

static Node *parse_compare(Parser *p, Node *left)
{
	Node *n = node(p, N_COMPARE, left->span.from);
	VEC(CmpLink) v = { 0 };

	n->compare.left = left;
	for (Infix i = infix_of(p); i.prec == PREC_COMPARE; i = infix_of(p)) {
		CmpLink l = { .op = (CmpOp)i.op };

		if (l.op == CMP_IS_NONE) {
			l.op = parse_is(p);
		} else {
			take(p);
			if (l.op == CMP_NOT_IN)
				take(p);
		}
		l.right = parse_prec(p, PREC_COMPARE + 1);
		vec_push(p->a, &v, l);
	}
	n->compare.link = v.p;
	n->compare.n = v.n;
	return finish(p, n);
}

static Node *parse_binary(Parser *p, Node *left, Infix i)
{
	Node *n = node(p, i.prec <= 2 ? N_BOOLOP : N_BINARY, left->span.from);

	n->op = i.op;
	take(p);
	n->binary.left = left;
	if (i.op == OP_POW) { /* binds to the right, and a sign may follow */
		n->binary.right = enter(p) ? parse_prec(p, PREC_UNARY) : bad(p);
		leave(p);
	} else {
		n->binary.right = parse_prec(p, i.prec + 1u);
	}
	finish(p, n);
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

	if (at(p) != TOK_KW_IF)
		return then;
	Node *n = node(p, N_COND, then->span.from);

	take(p);
	n->cond.then = then;
	n->cond.test = parse_prec(p, 1);
	if (at(p) != TOK_KW_ELSE)
		unexpected(p, "`else`: a conditional expression has both branches");
	else
		take(p);
	n->cond.orelse = parse_expr(p);
	return finish(p, n);
}

Node *parse_expr(Parser *p)
{
	Node *n;

	if (!enter(p))
		n = bad(p);
	else if (at(p) == TOK_KW_LAMBDA)
		n = parse_lambda(p);
	else
		n = parse_cond(p);
	leave(p);
	if (at(p) == TOK_WALRUS) {
		refuse(p, tok_span(p), "`:=` inside an expression")->hint = STR("assign by `=` on a line of its own before");
		take(p);
		parse_expr(p);
	}
	return n;
}

static bool ends_exprs(TokKind k)
{
	return k == TOK_NEWLINE || k == TOK_END || k == TOK_ASSIGN || k == TOK_COLON || k == TOK_SEMI || k == TOK_RBRACE;
}

Node *parse_exprs(Parser *p)
{
	uint32_t from = p->t->span.from;
	NodeVec v = { 0 };

	vec_push(p->a, &v, parse_item(p));
	if (at(p) != TOK_COMMA)
		return v.p[0];
	Node *n = node(p, N_TUPLE, from);

	while (accept(p, TOK_COMMA) && !ends_exprs(at(p)))
		vec_push(p->a, &v, parse_item(p));
	n->list = ast_nodes(p->ast, v.p, v.n);
	return finish(p, n);
}

/* ---- targets, parameters, types ---- */

static Node *parse_target(Parser *p)
{
	if (at(p) == TOK_MUL)
		refuse_star(p, "take the parts of a list by index or slice: x[0], x[1:]");
	if (at(p) == TOK_NAME) {
		Node *n = parse_name(p);

		if (at(p) == TOK_DOT || at(p) == TOK_LSQB || at(p) == TOK_LPAR)
			syntax(p, n->span, "a loop variable is a name");
		return n;
	}
	TokKind open = at(p), close = open == TOK_LPAR ? TOK_RPAR : TOK_RSQB;

	if (open != TOK_LPAR && open != TOK_LSQB) {
		unexpected(p, "a name");
		return bad(p);
	}
	uint32_t from = p->t->span.from;

	take(p);
	Node *n = enter(p) ? parse_targets(p) : bad(p);

	leave(p);
	close_bracket(p, close);
	n->span = (Span){ from, p->last_to };
	return n;
}

Node *parse_targets(Parser *p)
{
	uint32_t from = p->t->span.from;
	NodeVec v = { 0 };

	vec_push(p->a, &v, parse_target(p));
	if (at(p) != TOK_COMMA)
		return v.p[0];
	Node *n = node(p, N_TUPLE, from);

	while (accept(p, TOK_COMMA) && at(p) != TOK_KW_IN && at(p) != TOK_RPAR && at(p) != TOK_RSQB)
		vec_push(p->a, &v, parse_target(p));
	n->list = ast_nodes(p->ast, v.p, v.n);
	return finish(p, n);
}

typedef VEC(Param) ParamVec;

static void parse_parameter(Parser *p, bool types, ParamVec *v)
{
	Param a = { .span = tok_span(p) };

	if (at(p) == TOK_MUL || at(p) == TOK_POW || at(p) == TOK_DIV) {
		refuse(p, tok_span(p), "%s in a parameter list", tok_text(p->t->kind))->hint =
			STR("name each parameter, or take one list");
		take(p);
		if (at(p) != TOK_NAME)
			return;
	}
	a.span = tok_span(p);
	a.name = p->t->kind == TOK_NAME ? p->t->sym : NULL;
	if (!accept(p, TOK_NAME)) {
		unexpected(p, "a parameter's name");
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		if (v->p[i].name == a.name)
			refuse(p, a.span, "parameter `%.*s` is there twice", STR_ARG(a.name->text));
	if (types && accept(p, TOK_COLON))
		a.type = parse_annotation(p);
	if (accept(p, TOK_ASSIGN))
		a.dflt = parse_expr(p);
	else if (v->n && v->p[v->n - 1].dflt)
		refuse(p, a.span, "parameter `%.*s` without a default behind one with a default", STR_ARG(a.name->text))
			->hint = STR("put it before, or give it a default");
	vec_push(p->a, v, a);
}

void parse_params(Parser *p, TokKind end, bool types, Node *fn)
{
	ParamVec v = { 0 };

	while (at(p) != end && at(p) != TOK_BAD) {
		parse_parameter(p, types, &v);
		if (!accept(p, TOK_COMMA))
			break;
	}
	fn->func.param = v.p;
	fn->func.n = v.n;
}

static Node *parse_type_atom(Parser *p)
{
	Node *n = node(p, N_TYPE, p->t->span.from);
	NodeVec args = { 0 };

	if (at(p) != TOK_NAME && at(p) != TOK_KW_NONE) {
		unexpected(p, "a type");
		return n;
	}
	n->type.sym = p->t->sym;
	take(p);
	if (at(p) == TOK_LSQB && enter(p)) {
		take(p);
		do {
			if (at(p) == TOK_ELLIPSIS) {
				take(p);
				continue;
			}
			vec_push(p->a, &args, parse_annotation(p));
		} while (accept(p, TOK_COMMA) && at(p) != TOK_RSQB);
		close_bracket(p, TOK_RSQB);
		leave(p);
	}
	n->type.args = ast_nodes(p->ast, args.p, args.n);
	n->type.optional = accept(p, TOK_QUESTION);
	return finish(p, n);
}

/* Optional[T] is T?. */
static Node *plain_optional(Node *n)
{
	if (!n->type.sym || !str_is(n->type.sym->text, "Optional") || n->type.args.n != 1)
		return n;
	n->type.args.p[0]->type.optional = true;
	return n->type.args.p[0];
}

Node *parse_annotation(Parser *p)
{
	Node *n = plain_optional(parse_type_atom(p));

	while (at(p) == TOK_OR) {
		Span s = tok_span(p);

		take(p);
		Node *right = plain_optional(parse_type_atom(p));
		bool left_none = n->type.sym && str_is(n->type.sym->text, "None");
		bool right_none = right->type.sym && str_is(right->type.sym->text, "None");

		if (left_none == right_none && !p->panic)
			refuse(p, s, "a value has one type, or one type and None")->hint = STR("T? is T or None");
		if (left_none)
			n = right;
		n->type.optional = true;
	}
	return n;
}
