/* SPDX-License-Identifier: Apache-2.0
 *
 * What Python, C or a shell have and Sonde has not, and what to write instead.
 * Programs are mostly written by those who know Python by heart, so the
 * replacement is the point of the message.
 */
#include "lang/parse_priv.h"

/* ---- things that stand side by side ---- */

typedef struct Word {
	const char *word, *text;
} Word;

static const char *word_text(const Word *rows, size_t n, Str word)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(word, rows[i].word))
			return rows[i].text;
	return NULL;
}

#define WORD_TEXT(rows, word) word_text(rows, sizeof rows / sizeof rows[0], word)

/* First words of statements in other languages. */
static const Word first_words[] = {
	{ "let", "assign by `name = value`, without `let`" },
	{ "var", "assign by `name = value`, without `var`" },
	{ "const", "assign by `name = value`, without `const`" },
	{ "auto", "assign by `name = value`, without a type" },
	{ "int", "assign by `name = value` or `name: int = value`" },
	{ "float", "assign by `name = value` or `name: float = value`" },
	{ "string", "assign by `name = value` or `name: str = value`" },
	{ "function", "functions are written `def name(a, b):`" },
	{ "func", "functions are written `def name(a, b):`" },
	{ "fn", "functions are written `def name(a, b):`" },
	{ "sub", "functions are written `def name(a, b):`" },
	{ "foreach", "loops are written `for x in list:`" },
	{ "switch", "write if, elif, else" },
	{ "case", "write if, elif, else" },
	{ "elseif", "write `elif`" },
	{ "elsif", "write `elif`" },
	{ "unless", "write `if not`" },
	{ "until", "write `while not`" },
	{ "do", "write `while True:` with a `break`" },
	{ "echo", "write print(...)" },
	{ "use", "leave the line out: everything is built in" },
	{ "include", "leave the line out: everything is built in" },
	{ "exec", "there is no exec: a program is one text" },
	{ "param", "write `param name: type = value`" },
};

static const Tok *statement_start(const Parser *p)
{
	const Tok *t = p->t;

	while (t > p->first && t[-1].kind != TOK_NEWLINE && t[-1].kind != TOK_INDENT &&
	       t[-1].kind != TOK_DEDENT && t[-1].kind != TOK_SEMI)
		t--;
	return t;
}

/* 20 ms */
static bool hint_unit(Parser *p, Diag *d)
{
	const Tok *t = p->t;

	if (t == p->first || t->kind != TOK_NAME || (t[-1].kind != TOK_INT && t[-1].kind != TOK_FLOAT) ||
	    !unit_find(t->sym->text))
		return false;
	Span s = { t[-1].span.from, t->span.to };
	Str number = text_of(p->text, t[-1].span);

	diag_fix(d, s, str_printf(p->a, "%.*s%.*s", STR_ARG(number), STR_ARG(t->sym->text)));
	return true;
}

/* print x */
static bool hint_print(Parser *p, Diag *d, const Tok *start)
{
	const Tok *end = p->t;

	if (start + 1 != p->t || start->kind != TOK_NAME || !str_is(start->sym->text, "print"))
		return false;
	while (!par_ends_statement(end))
		end++;
	d->hint = STR("print is a function");
	diag_fix(d, (Span){ start->span.to, end[-1].span.to },
		 str_printf(p->a, "(%.*s)", STR_ARG(text_of(p->text, (Span){ p->t->span.from, end[-1].span.to }))));
	return true;
}

static bool starts_operand(TokKind k)
{
	return k == TOK_NAME || k == TOK_INT || k == TOK_FLOAT || k == TOK_DURATION || k == TOK_STR ||
	       k == TOK_BYTES || k == TOK_FSTRING || k == TOK_KW_TRUE || k == TOK_KW_FALSE ||
	       k == TOK_KW_NONE;
}

static bool ends_operand(TokKind k)
{
	return starts_operand(k) || k == TOK_RPAR || k == TOK_RSQB || k == TOK_RBRACE;
}

void par_hint(Parser *p, Diag *d)
{
	const Tok *t = p->t, *start = statement_start(p);
	TokKind before = t > p->first ? t[-1].kind : TOK_NEWLINE;
	const char *use =
		start->kind == TOK_NAME && start != t ? WORD_TEXT(first_words, start->sym->text) : NULL;

	if (hint_unit(p, d) || hint_print(p, d, start))
		return;
	if (t->kind == TOK_BANG && t[1].kind != TOK_ASSIGN)
		diag_fix(d, t->span, STR("not "));
	else if (t->kind == TOK_QUESTION)
		d->hint = STR("a conditional expression is `a if test else b`");
	else if (t->kind == TOK_ASSIGN)
		d->hint = STR("comparison is `==`");
	else if (t->kind == TOK_LBRACE)
		d->hint = STR("blocks start with `:` and are indented");
	else if (t - start == 3 && before == t[-2].kind && (before == TOK_ADD || before == TOK_SUB))
		diag_fix(d, (Span){ start->span.from, t[-1].span.to },
			 str_printf(p->a, "%.*s %c= 1", STR_ARG(text_of(p->text, start->span)),
				    before == TOK_ADD ? '+' : '-'));
	else if (t->kind == TOK_KW_IF && before == TOK_KW_ELSE)
		diag_fix(d, (Span){ t[-1].span.from, t->span.to }, STR("elif"));
	else if (use)
		d->hint = str_c(use);
	else if (starts_operand(t->kind) && ends_operand(before) &&
		 str_starts(d->message, STR("expected `,`")))
		diag_fix(d, (Span){ t[-1].span.to, t[-1].span.to }, STR(","));
	else if (t->kind >= TOK_KW_FALSE && t->sym && str_starts(d->message, STR("expected a name")))
		d->hint = STR("that word is a keyword: choose another name");
}

/* ---- formatting by % and .format ---- */

/* The text between the quotes of one plain string literal; false for others. */
static bool plain_literal(const Parser *p, const Node *n, Str *ret_text, char *ret_quote)
{
	Str s = text_of(p->text, n->span);

	if (n->kind != N_STR || s.n < 2 || (s.p[0] != '"' && s.p[0] != '\'') || s.p[s.n - 1] != s.p[0])
		return false;
	if (s.n >= 6 && s.p[1] == s.p[0] && s.p[2] == s.p[0])
		return false;
	for (size_t i = 1; i + 1 < s.n; i++)
		if (s.p[i] == s.p[0] || s.p[i] == '\\' || s.p[i] == '\n')
			return false;
	*ret_text = (Str){ s.p + 1, s.n - 2 };
	*ret_quote = s.p[0];
	return true;
}

typedef struct Rewrite {
	const Parser *p;
	Str in; /* between the quotes */
	size_t at;
	Node *const *arg;
	uint32_t n, used;
	Sb out;
} Rewrite;

static bool put_arg(Rewrite *r, const Node *n)
{
	Str s = text_of(r->p->text, n->span);

	if (memchr(s.p, '\n', s.n) || memchr(s.p, '\\', s.n) || s.p[0] == '{')
		return false;
	if (n->kind == N_COND || n->kind == N_LAMBDA)
		sb_printf(&r->out, "(%.*s)", STR_ARG(s));
	else
		sb_str(&r->out, s);
	return true;
}

/* One %-conversion; r->at stands behind the percent sign. */
static bool percent_one(Rewrite *r)
{
	size_t from = r->at;

	while (r->at < r->in.n && strchr("0123456789.-+ #", r->in.p[r->at]))
		r->at++;
	if (r->at >= r->in.n || r->used >= r->n)
		return false;
	Str spec = { r->in.p + from, r->at - from };
	char type = r->in.p[r->at++];

	if (!strchr("sdirxXofFeEgG", type))
		return false;
	/* %d cuts what a number has behind its point */
	bool cut = (type == 'd' || type == 'i') && !spec.n && r->arg[r->used]->kind == N_BINARY;

	sb_cstr(&r->out, cut ? "{int(" : "{");
	if (!put_arg(r, r->arg[r->used++]))
		return false;
	if (cut)
		sb_char(&r->out, ')');
	if (type == 'r')
		sb_cstr(&r->out, "!r");
	bool number = !strchr("sdir", type);

	if (spec.n || number)
		sb_char(&r->out, ':');
	if (spec.n && spec.p[0] == '-')
		spec = (Str){ spec.p + 1, spec.n - 1 }, sb_char(&r->out, '<');
	else if (spec.n && type == 's')
		sb_char(&r->out, '>');
	sb_str(&r->out, spec);
	if (number)
		sb_char(&r->out, type);
	sb_char(&r->out, '}');
	return true;
}

static bool percent_all(Rewrite *r)
{
	while (r->at < r->in.n) {
		char c = r->in.p[r->at++];

		if (c == '%' && r->at < r->in.n && r->in.p[r->at] == '%') {
			r->at++;
			sb_char(&r->out, '%');
		} else if (c == '%') {
			if (!percent_one(r))
				return false;
		} else {
			sb_fill(&r->out, c, c == '{' || c == '}' ? 2 : 1);
		}
	}
	return r->used == r->n;
}

/* The node is a string made of those values. */
static void become_fstring(Parser *p, Node *n, Node *const *value, uint32_t count)
{
	NodeVec parts = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		Node *f = par_node(p, N_FIELD, value[i]->span.from);

		f->span = value[i]->span;
		f->field.value = value[i];
		par_measure(p, f);
		vec_push(p->a, &parts, f);
	}
	n->kind = N_FSTRING;
	n->list = ast_nodes(p->ast, parts.p, parts.n);
	par_measure(p, n);
}

void refuse_percent(Parser *p, Node *n)
{
	Node *left = n->binary.left, *right = n->binary.right;
	Rewrite r = { .p = p, .arg = &right, .n = 1, .out = sb(p->a) };
	char quote;

	if (left->kind != N_STR && left->kind != N_FSTRING && left->kind != N_BYTES)
		return;
	Diag *d = par_soft(p, n->span, "`%%` does not format: f-strings do");

	d->hint = left->kind == N_BYTES ? STR("pack(fmt, ...) builds bytes") : STR("write f\"{x} {y:.2f}\"");
	if (right->kind == N_TUPLE) {
		r.arg = right->list.p;
		r.n = right->list.n;
	}
	bool plain = plain_literal(p, left, &r.in, &quote);

	become_fstring(p, n, r.arg, r.n);
	if (!plain)
		return;
	sb_printf(&r.out, "f%c", quote);
	if (!percent_all(&r))
		return;
	sb_char(&r.out, quote);
	diag_fix(d, n->span, sb_done(&r.out));
	d->hint = (Str){ 0 };
}

/* One {} of .format; r->at stands behind the brace. */
static bool format_one(Rewrite *r, const Node *call)
{
	size_t from = r->at;

	while (r->at < r->in.n && is_name(r->in.p[r->at]))
		r->at++;
	Str key = { r->in.p + from, r->at - from };
	uint64_t i = r->used;
	const Node *arg = NULL;

	if (key.n == 0)
		r->used++;
	else if (!str_to_u64(key, UINT32_MAX, &i)) {
		for (i = 0; i < call->call.n; i++)
			if (call->call.arg[i].name && str_eq(call->call.arg[i].name->text, key))
				break;
	}
	if (i < call->call.n)
		arg = call->call.arg[i].value;
	sb_char(&r->out, '{');
	if (!arg || !put_arg(r, arg))
		return false;
	while (r->at < r->in.n && r->in.p[r->at] != '}' && r->in.p[r->at] != '{')
		sb_char(&r->out, r->in.p[r->at++]);
	if (r->at >= r->in.n || r->in.p[r->at++] != '}')
		return false;
	sb_char(&r->out, '}');
	return true;
}

static bool format_all(Rewrite *r, const Node *call)
{
	while (r->at < r->in.n) {
		char c = r->in.p[r->at++];

		if ((c == '{' || c == '}') && r->at < r->in.n && r->in.p[r->at] == c) {
			r->at++;
			sb_fill(&r->out, c, 2);
		} else if (c == '{') {
			if (!format_one(r, call))
				return false;
		} else {
			sb_char(&r->out, c);
		}
	}
	return true;
}

void refuse_format(Parser *p, Node *n)
{
	const Node *obj = n->call.fn->attr.obj;
	const Sym *name = n->call.fn->attr.sym;
	Rewrite r = { .p = p, .out = sb(p->a) };
	char quote;

	if (!name || !str_is(name->text, "format") || (obj->kind != N_STR && obj->kind != N_FSTRING))
		return;
	Diag *d = par_soft(p, n->span, "there is no .format(): f-strings do it");
	NodeVec values = { 0 };

	d->hint = STR("write f\"{x} {y:.2f}\"");
	if (plain_literal(p, obj, &r.in, &quote)) {
		sb_printf(&r.out, "f%c", quote);
		if (format_all(&r, n)) {
			sb_char(&r.out, quote);
			diag_fix(d, n->span, sb_done(&r.out));
			d->hint = (Str){ 0 };
		}
	}
	for (uint32_t i = 0; i < n->call.n; i++)
		vec_push(p->a, &values, n->call.arg[i].value);
	become_fstring(p, n, values.p, values.n);
}
