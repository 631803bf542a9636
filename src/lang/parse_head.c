/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in headers: loop variables, parameters, annotations.
 */
#include "lang/parse_priv.h"

static Node *parse_target(Parser *p)
{
	if (par_at(p) == TOK_MUL)
		par_refuse_star(p, "take the parts of a list by index or slice: x[0], x[1:]");
	if (par_at(p) == TOK_NAME) {
		Node *n = parse_name(p);

		if (par_at(p) == TOK_DOT || par_at(p) == TOK_LSQB || par_at(p) == TOK_LPAR)
			par_error(p, n->span, "a loop variable is a name");
		return n;
	}
	TokKind open = par_at(p), close = open == TOK_LPAR ? TOK_RPAR : TOK_RSQB;

	if (open != TOK_LPAR && open != TOK_LSQB) {
		par_unexpected(p, "a name");
		return bad_node(p);
	}
	uint32_t from = p->t->span.from;

	par_take(p);
	Node *n = par_enter(p) ? parse_targets(p) : bad_node(p);

	par_leave(p);
	par_close(p, close);
	n->span = (Span){ from, p->last_to };
	return n;
}

Node *parse_targets(Parser *p)
{
	uint32_t from = p->t->span.from;
	NodeVec v = { 0 };

	vec_push(p->a, &v, parse_target(p));
	if (par_at(p) != TOK_COMMA)
		return v.p[0];
	Node *n = par_node(p, N_TUPLE, from);

	while (par_accept(p, TOK_COMMA) && par_at(p) != TOK_KW_IN && par_at(p) != TOK_RPAR &&
	       par_at(p) != TOK_RSQB)
		vec_push(p->a, &v, parse_target(p));
	n->list = ast_nodes(p->ast, v.p, v.n);
	return par_finish(p, n);
}

typedef VEC(Param) ParamVec;

static void parse_parameter(Parser *p, bool types, ParamVec *v)
{
	Param a = { .span = par_span(p) };

	if (par_at(p) == TOK_MUL || par_at(p) == TOK_POW || par_at(p) == TOK_DIV) {
		par_refuse(p, par_span(p), "%s in a parameter list", tok_text(p->t->kind))->hint =
			STR("name each parameter, or take one list");
		par_take(p);
		if (par_at(p) != TOK_NAME)
			return;
	}
	a.span = par_span(p);
	a.name = p->t->kind == TOK_NAME ? p->t->sym : NULL;
	if (!par_accept(p, TOK_NAME)) {
		par_unexpected(p, "a parameter's name");
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		if (v->p[i].name == a.name)
			par_refuse(p, a.span, "parameter `%.*s` is there twice", STR_ARG(a.name->text));
	if (types && par_accept(p, TOK_COLON))
		a.type = parse_annotation(p);
	if (par_accept(p, TOK_ASSIGN))
		a.dflt = parse_expr(p);
	else if (v->n && v->p[v->n - 1].dflt)
		par_refuse(p, a.span, "parameter `%.*s` without a default behind one with a default",
			   STR_ARG(a.name->text))
			->hint = STR("put it before, or give it a default");
	vec_push(p->a, v, a);
}

void parse_params(Parser *p, TokKind end, bool types, Node *fn)
{
	ParamVec v = { 0 };

	while (par_at(p) != end && par_at(p) != TOK_BAD) {
		parse_parameter(p, types, &v);
		if (!par_accept(p, TOK_COMMA))
			break;
	}
	fn->func.param = v.p;
	fn->func.n = v.n;
}

static Node *parse_type_atom(Parser *p)
{
	Node *n = par_node(p, N_TYPE, p->t->span.from);
	NodeVec args = { 0 };

	if (par_at(p) != TOK_NAME && par_at(p) != TOK_KW_NONE) {
		par_unexpected(p, "a type");
		return n;
	}
	n->type.sym = p->t->sym;
	par_take(p);
	if (par_at(p) == TOK_LSQB && par_enter(p)) {
		par_take(p);
		do {
			if (par_at(p) == TOK_ELLIPSIS) {
				par_take(p);
				continue;
			}
			vec_push(p->a, &args, parse_annotation(p));
		} while (par_accept(p, TOK_COMMA) && par_at(p) != TOK_RSQB);
		par_close(p, TOK_RSQB);
		par_leave(p);
	}
	n->type.args = ast_nodes(p->ast, args.p, args.n);
	n->type.optional = par_accept(p, TOK_QUESTION);
	return par_finish(p, n);
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

	while (par_at(p) == TOK_OR) {
		Span s = par_span(p);

		par_take(p);
		Node *right = plain_optional(parse_type_atom(p));
		bool left_none = n->type.sym && str_is(n->type.sym->text, "None");
		bool right_none = right->type.sym && str_is(right->type.sym->text, "None");

		if (left_none == right_none && !p->panic)
			par_refuse(p, s, "a value has one type, or one type and None")->hint =
				STR("T? is T or None");
		if (left_none)
			n = right;
		n->type.optional = true;
	}
	return n;
}
