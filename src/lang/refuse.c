/* SPDX-License-Identifier: Apache-2.0
 *
 * What Python, C or a shell have and Sonde has not, and what to write instead.
 * Programs are mostly written by those who know Python by heart, so the
 * replacement is the point of the message.
 */
#include "lang/parse_priv.h"

/* ---- statements ---- */

typedef struct Word {
	const char *word, *text;
} Word;

/* What stands in for a module. */
static const Word modules[] = {
	{ "scapy", "leave the line out: Scapy's layers, sr, sr1, send and sniff are built in" },
	{ "time", "leave the line out: sleep(0.5), now(); time stamps are p.time, r.rtt" },
	{ "random", "leave the line out: randint(a, b), random_bytes(n)" },
	{ "os", "leave the line out: random_bytes(n); there are no files and no environment" },
	{ "struct", "leave the line out: pack(fmt, ...), unpack(fmt, b)" },
	{ "socket", "leave the line out: connect(dst, dport), datagram(dst, dport), resolve(name)" },
	{ "ssl", "leave the line out: tls(dst, port)" },
	{ "requests", "leave the line out: http(url)" },
	{ "urllib", "leave the line out: http(url)" },
	{ "statistics", "leave the line out: summarize(list) has .avg .median .stdev .p95" },
	{ "numpy", "leave the line out: summarize(list) has .avg .median .stdev .p95" },
	{ "math", "leave the line out: abs, round, min, max, sum, x ** 0.5" },
	{ "ipaddress", "leave the line out: ip(\"10.0.0.1\"), net(\"10.0.0.0/24\")" },
	{ "collections", "leave the line out: count_by(list, key) counts; d.get(k, 0) gives a default" },
	{ "itertools", "leave the line out: write the loops, or a comprehension with several `for`" },
	{ "json", "leave the line out: `sonde run --json` prints results as JSON" },
	{ "sys", "leave the line out: exit() ends the program" },
	{ "datetime", "leave the line out: now() and p.time are times, their differences durations" },
	{ "dns", "leave the line out: resolve(name, type=\"A\")" },
	{ "typing", "leave the line out: annotations are int, str, ip, list[T], T?" },
	{ "threading", "leave the line out: connections and loads go on during every wait" },
	{ "asyncio", "leave the line out: connections and loads go on during every wait" },
};

static const char *word_text(const Word *rows, size_t n, Str word)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(word, rows[i].word))
			return rows[i].text;
	return NULL;
}

#define WORD_TEXT(rows, word) word_text(rows, sizeof rows / sizeof rows[0], word)

/* The statement's own lines, to be taken out. */
static void fix_remove(Parser *p, Diag *d, const Tok *from)
{
	const Tok *t = from;
	uint32_t to;

	if (from > p->first && from[-1].kind != TOK_NEWLINE && from[-1].kind != TOK_INDENT &&
	    from[-1].kind != TOK_DEDENT)
		return;
	while (t->kind != TOK_NEWLINE && t->kind != TOK_SEMI && t->kind != TOK_END)
		t++;
	if (t->kind != TOK_NEWLINE)
		return;
	to = t->span.to < p->text.n ? t->span.to + 1 : t->span.to;
	diag_fix(d, (Span){ from->span.from, to }, STR(""));
}

static void refuse_import(Parser *p)
{
	const Tok *t = p->t;
	Str module = t[1].kind == TOK_NAME ? t[1].sym->text : STR("");
	const char *use = WORD_TEXT(modules, module);
	Diag *d = par_refuse(p, par_span(p), "there are no imports: everything is built in");

	d->hint = use ? str_c(use) : STR("leave the line out; the reference names all there is");
	if (p->blocks == 0)
		fix_remove(p, d, t);
	par_skip_line(p);
}

static void refuse_class(Parser *p)
{
	par_refuse(p, par_span(p), "there are no classes")->hint = STR(
		"a dict display with string keys is a record: {\"ttl\": 3, \"addr\": a}; behaviour is a def");
	par_skip_line(p);
	par_skip_block(p);
}

static void refuse_try(Parser *p)
{
	par_refuse(p, par_span(p), "there are no exceptions: no call fails")->hint =
		STR("test the result: `if r:`, r.received, c.state, c.error");
	par_skip_line(p);
	parse_orphan_block(p);
	while (p->t->kind == TOK_KW_EXCEPT || p->t->kind == TOK_KW_FINALLY || p->t->kind == TOK_KW_ELSE) {
		par_skip_line(p);
		parse_orphan_block(p);
	}
}

static void refuse_except(Parser *p)
{
	if (!p->broken)
		par_refuse(p, par_span(p), "%s without a statement that it belongs to", tok_text(p->t->kind));
	par_skip_line(p);
	parse_orphan_block(p);
}

static void refuse_with(Parser *p)
{
	par_refuse(p, par_span(p), "there is no `with`")->hint =
		STR("assign: c = connect(...), and close: c.close()");
	par_skip_line(p);
	parse_orphan_block(p);
}

static void refuse_async(Parser *p)
{
	par_refuse(p, par_span(p), "there is no `async`")->hint =
		STR("leave the word out: everything in the background goes on during each wait");
	par_skip_line(p);
	parse_orphan_block(p);
}

static void refuse_decorator(Parser *p)
{
	par_refuse(p, par_span(p), "there are no decorators")->hint =
		STR("call the function where it is needed");
	par_skip_line(p);
}

static void refuse_global(Parser *p)
{
	par_refuse(p, par_span(p), "a function can't set variables from around it: there is no %s",
		   tok_text(p->t->kind))
		->hint = STR("return the new value and assign it at the call: x = f(x); lists and dicts can "
			     "be changed in place");
	par_skip_line(p);
}

static void refuse_raise(Parser *p)
{
	par_refuse(p, par_span(p), "there are no exceptions")->hint =
		STR("print what is wrong; exit() ends the program");
	par_skip_line(p);
}

static void refuse_assert(Parser *p)
{
	par_refuse(p, par_span(p), "there is no `assert`")->hint =
		STR("write `if not ...:`, print what is wrong, and exit()");
	par_skip_line(p);
}

static void refuse_del(Parser *p)
{
	par_refuse(p, par_span(p), "there is no `del`")->hint =
		STR("d.pop(key) takes an item out of a dict or list");
	par_skip_line(p);
}

static void refuse_match(Parser *p)
{
	par_refuse(p, par_span(p), "there is no `match`")->hint = STR("write if, elif, else");
	par_skip_line(p);
	par_skip_block(p);
}

/* `match x:` with a block that starts by `case`; else `match` is a name. */
static bool at_match(const Parser *p)
{
	const Tok *t = p->t;

	if (t->kind != TOK_NAME || !str_is(t->sym->text, "match"))
		return false;
	while (t->kind != TOK_NEWLINE && t->kind != TOK_END)
		t++;
	return t->kind == TOK_NEWLINE && t[1].kind == TOK_INDENT && t[2].kind == TOK_NAME &&
	       str_is(t[2].sym->text, "case");
}

bool refuse_statement(Parser *p)
{
	static void (*const rows[TOK_N])(Parser *) = {
		[TOK_KW_IMPORT] = refuse_import,   [TOK_KW_FROM] = refuse_import,
		[TOK_KW_CLASS] = refuse_class,	   [TOK_KW_TRY] = refuse_try,
		[TOK_KW_EXCEPT] = refuse_except,   [TOK_KW_FINALLY] = refuse_except,
		[TOK_KW_WITH] = refuse_with,	   [TOK_KW_ASYNC] = refuse_async,
		[TOK_AT] = refuse_decorator,	   [TOK_KW_GLOBAL] = refuse_global,
		[TOK_KW_NONLOCAL] = refuse_global, [TOK_KW_RAISE] = refuse_raise,
		[TOK_KW_ASSERT] = refuse_assert,   [TOK_KW_DEL] = refuse_del,
	};

	if (p->panic)
		return false;
	if (at_match(p))
		refuse_match(p);
	else if (rows[p->t->kind])
		rows[p->t->kind](p);
	else
		return false;
	return true;
}

/* ---- things that stand side by side ---- */

/* First words of statements in other languages. */
static const Word first_words[] = {
	{ "print", "print is a function: print(...)" },
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

	if (hint_unit(p, d))
		return;
	if (t->kind == TOK_BANG && t[1].kind != TOK_ASSIGN)
		diag_fix(d, t->span, STR("not "));
	else if (t->kind == TOK_QUESTION)
		d->hint = STR("a conditional expression is `a if test else b`");
	else if (t->kind == TOK_ASSIGN)
		d->hint = STR("comparison is `==`");
	else if (t->kind == TOK_LBRACE)
		d->hint = STR("blocks start with `:` and are indented");
	else if (t - p->first >= 2 && before == t[-2].kind && (before == TOK_ADD || before == TOK_SUB) &&
		 t->kind == TOK_NEWLINE)
		d->hint = before == TOK_ADD ? STR("write x += 1") : STR("write x -= 1");
	else if (t->kind == TOK_KW_IF && before == TOK_KW_ELSE)
		d->hint = STR("write `elif`");
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
	sb_char(&r->out, '{');
	if (!put_arg(r, r->arg[r->used++]))
		return false;
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

void refuse_percent(Parser *p, Node *n)
{
	const Node *left = n->binary.left, *right = n->binary.right;
	Rewrite r = { .p = p, .arg = &n->binary.right, .n = 1, .out = sb(p->a) };
	char quote;

	if (left->kind != N_STR && left->kind != N_FSTRING && left->kind != N_BYTES)
		return;
	Diag *d = par_refuse(p, n->span, "`%%` does not format: f-strings do");

	d->hint = left->kind == N_BYTES ? STR("pack(fmt, ...) builds bytes") : STR("write f\"{x} {y:.2f}\"");
	if (right->kind == N_TUPLE) {
		r.arg = right->list.p;
		r.n = right->list.n;
	}
	if (!plain_literal(p, left, &r.in, &quote))
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
	Diag *d = par_refuse(p, n->span, "there is no .format(): f-strings do it");

	d->hint = STR("write f\"{x} {y:.2f}\"");
	if (!plain_literal(p, obj, &r.in, &quote))
		return;
	sb_printf(&r.out, "f%c", quote);
	if (!format_all(&r, n))
		return;
	sb_char(&r.out, quote);
	diag_fix(d, n->span, sb_done(&r.out));
	d->hint = (Str){ 0 };
}
