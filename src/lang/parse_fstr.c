/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings that stand side by side, and f-strings: text, {expression!r:spec}, and
 * {expression=} with the expression's own text before it.
 */
#include "lang/parse_priv.h"

/* A text part; none if it is empty. */
static void put_text(Parser *p, NodeVec *v, Span s, Str text)
{
	if (!text.n)
		return;
	Node *n = ast_node(p->ast, N_STR, p->file, s);

	n->s = text;
	vec_push(p->a, v, n);
}

typedef struct Piece {
	Parser *p;
	size_t at, end;
	bool raw;
	NodeVec *out;
} Piece;

static void fstr_parts(Piece *f, bool spec);

static char piece_peek(const Piece *f)
{
	return f->at < f->end ? f->p->text.p[f->at] : 0;
}

/* The expression between braces, read by the parser itself on its own tokens. */
static Node *fstr_expr(Parser *p, Span s)
{
	const Tok *outer = p->t, *first = p->first, *arg_at = p->arg_at;
	uint32_t last_to = p->last_to;
	bool in_field = p->in_field;
	Toks toks;

	lex_part(p->a, &p->ast->syms, p->text, s, p->d, &toks);
	p->t = p->first = toks.v.p;
	p->arg_at = NULL;
	p->in_field = true;
	Node *n = parse_exprs(p);

	if (par_at(p) != TOK_END && !p->panic)
		par_unexpected(p, "`}`");
	p->t = outer;
	p->first = first;
	p->arg_at = arg_at;
	p->last_to = last_to;
	p->in_field = in_field;
	return n;
}

static bool is_blank(Str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
			return false;
	return true;
}

/* `=`, then blanks: {x = } shows all of it. */
static bool fstr_debug(Piece *f, size_t from)
{
	if (piece_peek(f) != '=')
		return false;
	f->at++;
	while (piece_peek(f) == ' ')
		f->at++;
	Span s = span_of(from, f->at);

	put_text(f->p, f->out, s, text_of(f->p->text, s));
	return true;
}

static char fstr_conversion(Piece *f)
{
	size_t from = f->at;

	if (piece_peek(f) != '!')
		return 0;
	f->at++;
	char c = piece_peek(f);

	f->at += c != 0;
	if (c != 'r' && c != 's') {
		par_error(f->p, span_of(from, f->at), "conversions are !r and !s");
		return 0;
	}
	return c;
}

/* What stands behind `:`, fields in it included. */
static Node *fstr_spec(Piece *f)
{
	Parser *p = f->p;
	NodeVec parts = { 0 };
	Piece in = { .p = p, .at = f->at, .end = f->end, .raw = f->raw, .out = &parts };
	Node *n = ast_node(p->ast, N_FSTRING, p->file, span_of(f->at, f->at));

	fstr_parts(&in, true);
	f->at = in.at;
	n->span.to = (uint32_t)f->at;
	if (parts.n == 1 && parts.p[0]->kind == N_STR)
		return parts.p[0];
	n->list = ast_nodes(p->ast, parts.p, parts.n);
	par_measure(p, n);
	return n;
}

static void fstr_field(Piece *f)
{
	Parser *p = f->p;
	size_t open = f->at++, from = f->at;
	Node *n = ast_node(p->ast, N_FIELD, p->file, span_of(open, open));

	f->at = fstr_expr_end(p->text, from, f->end);
	Span s = span_of(from, f->at);

	if (is_blank(text_of(p->text, s))) {
		par_error(p, span_of(open, f->at + (piece_peek(f) == '}')), "empty braces in an f-string")
			->hint = STR("a brace itself is written twice: {{ }}");
		return;
	}
	n->field.value = fstr_expr(p, s);
	bool debug = fstr_debug(f, from);

	n->field.conv = fstr_conversion(f);
	if (piece_peek(f) == ':') {
		f->at++;
		n->field.spec = fstr_spec(f);
	}
	if (debug && !n->field.conv && !n->field.spec)
		n->field.conv = 'r';
	if (piece_peek(f) != '}')
		par_error(p, span_of(open, open + 1), "`{` is never closed in this f-string");
	else
		f->at++;
	n->span.to = (uint32_t)f->at;
	par_measure(p, n);
	vec_push(p->a, f->out, n);
}

/* Text up to the next field; doubled braces are text. */
static void fstr_text(Piece *f, bool spec)
{
	Parser *p = f->p;
	size_t from = f->at;

	while (f->at < f->end) {
		char c = piece_peek(f), next = f->at + 1 < f->end ? p->text.p[f->at + 1] : 0;

		if ((c == '{' || c == '}') && next == c && !spec)
			f->at += 2;
		else if (c == '{' || (c == '}' && spec))
			break;
		else if (c == '}') {
			par_error(p, span_of(f->at, f->at + 1), "a single `}` in an f-string")->hint =
				STR("a brace itself is written twice: }}");
			break;
		} else
			f->at += c == '\\' && f->at + 1 < f->end && (f->raw || next != '{') ? 2 : 1;
	}
	Span s = span_of(from, f->at);

	put_text(p, f->out, s, lex_unescape(p->a, p->text, s, STR_FORMAT | (f->raw ? STR_RAW : 0u), p->d));
}

static void fstr_parts(Piece *f, bool spec)
{
	if (!par_enter(f->p))
		f->at = f->end;
	while (f->at < f->end && !f->p->panic && !(spec && piece_peek(f) == '}')) {
		if (piece_peek(f) == '{' && (spec || f->at + 1 >= f->end || f->p->text.p[f->at + 1] != '{'))
			fstr_field(f);
		else
			fstr_text(f, spec);
	}
	par_leave(f->p);
}

/* Joins neighbours that are text. */
static Nodes joined(Parser *p, const NodeVec *v)
{
	NodeVec out = { 0 };

	for (uint32_t i = 0; i < v->n; i++) {
		Node *n = v->p[i], *last = out.n ? out.p[out.n - 1] : NULL;

		if (!last || n->kind == N_FIELD || last->kind != n->kind) {
			vec_push(p->a, &out, n);
			continue;
		}
		Sb b = sb(p->a);

		sb_str(&b, last->s);
		sb_str(&b, n->s);
		Node *both =
			ast_node(p->ast, (NodeKind)n->kind, p->file, (Span){ last->span.from, n->span.to });

		both->s = sb_done(&b);
		out.p[out.n - 1] = both;
	}
	return ast_nodes(p->ast, out.p, out.n);
}

static void put_literal(Parser *p, NodeVec *v)
{
	const Tok *t = p->t;

	if (t->kind == TOK_FSTRING) {
		Piece f = { .p = p, .at = t->inner.from, .end = t->inner.to, .raw = t->raw, .out = v };

		fstr_parts(&f, false);
		return;
	}
	Node *n = par_node(p, t->kind == TOK_BYTES ? N_BYTES : N_STR, t->span.from);

	n->s = t->s;
	vec_push(p->a, v, n);
}

Node *parse_strings(Parser *p)
{
	uint32_t from = p->t->span.from;
	TokKind first = p->t->kind;
	bool format = false;
	NodeVec v = { 0 };

	while (par_at(p) == TOK_STR || par_at(p) == TOK_BYTES || par_at(p) == TOK_FSTRING) {
		if ((par_at(p) == TOK_BYTES) != (first == TOK_BYTES)) {
			par_error(p, par_span(p), "a string and bytes side by side can't be joined")->hint =
				STR("put b before both, or before none");
			break;
		}
		format |= par_at(p) == TOK_FSTRING;
		put_literal(p, &v);
		if (!p->panic)
			par_take(p);
	}
	Nodes parts = joined(p, &v);
	Node *n;

	if (!format && parts.n == 1) {
		parts.p[0]->span = (Span){ from, p->last_to };
		return parts.p[0];
	}
	n = par_node(p, N_FSTRING, from);
	n->list = parts;
	return par_finish(p, n);
}
