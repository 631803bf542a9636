/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements that Python has and Sonde has not.  Each is reported with what to
 * write instead, and read as if that stood there, so that what is wrong elsewhere
 * is told at the same time: a `try` is its body, an `assert` an `if` with exit().
 */
#include "lang/parse_priv.h"

#include <stdio.h>

/* What stands in for a module; "leave the line out: " comes before it. */
static const struct {
	const char *module, *use;
} modules[] = {
	{ "scapy", "Scapy's layers, sr, sr1, send and sniff are built in" },
	{ "time", "sleep(0.5), now(); time stamps are p.time, r.rtt" },
	{ "random", "randint(a, b), random_bytes(n)" },
	{ "os", "os.urandom(n) is random_bytes(n); there are no files and no environment" },
	{ "struct", "pack(fmt, ...), unpack(fmt, b)" },
	{ "socket", "connect(dst, dport), datagram(dst, dport), resolve(name)" },
	{ "ssl", "tls(dst, port)" },
	{ "requests", "http(url)" },
	{ "urllib", "http(url)" },
	{ "statistics", "summarize(list) has .avg .median .stdev .p95" },
	{ "numpy", "summarize(list) has .avg .median .stdev .p95" },
	{ "math", "abs, round, min, max, sum, x ** 0.5" },
	{ "ipaddress", "ip(\"10.0.0.1\"), net(\"10.0.0.0/24\")" },
	{ "collections", "count_by(list, key) counts; d.get(k, 0) gives a default" },
	{ "itertools", "write the loops, or a comprehension with several `for`" },
	{ "json", "`sonde run --json` prints results as JSON" },
	{ "sys", "exit() ends the program" },
	{ "datetime", "now() and p.time are times, their differences durations" },
	{ "dns", "resolve(name, type=\"A\")" },
	{ "typing", "annotations are int, str, ip, list[T], T?" },
	{ "threading", "connections and loads go on during every wait" },
	{ "asyncio", "connections and loads go on during every wait" },
	{ "subprocess", "there are no processes; ping, traceroute and resolve are built in" },
	{ "argparse", "values come from outside by `param name: type = default`" },
	{ "logging", "print(...)" },
	{ "dataclasses", "{\"ttl\": 3, \"addr\": a} is a record" },
};

static bool ends_line(const Tok *t)
{
	return t->kind == TOK_NEWLINE || t->kind == TOK_END;
}

bool par_ends_statement(const Tok *t)
{
	return ends_line(t) || t->kind == TOK_SEMI;
}

static bool starts_line(const Parser *p, const Tok *t)
{
	return t == p->first || t[-1].kind == TOK_NEWLINE || t[-1].kind == TOK_INDENT || t[-1].kind == TOK_DEDENT;
}

/* Behind the last token taken that is no line end. */
static uint32_t taken_to(const Parser *p)
{
	const Tok *t = p->t;

	while (t > p->first && (t[-1].kind == TOK_NEWLINE || t[-1].kind == TOK_DEDENT || t[-1].kind == TOK_INDENT))
		t--;
	return t > p->first ? t[-1].span.to : 0;
}

/* The statement `from` .. its end, to be taken out: with its line, or as `pass`
 * where a block might need it. */
static void fix_remove(Parser *p, Diag *d, const Tok *from)
{
	const Tok *t = from;

	while (!par_ends_statement(t))
		t++;
	if (t == from)
		return;
	bool whole_line = starts_line(p, from) && t->kind == TOK_NEWLINE && p->blocks == 0;

	if (whole_line)
		diag_fix(d, (Span){ from->span.from, t->span.to < p->text.n ? t->span.to + 1 : t->span.to }, STR(""));
	else
		diag_fix(d, (Span){ from->span.from, t[-1].span.to }, STR("pass"));
}

static void skip_statement(Parser *p)
{
	while (!par_ends_statement(p->t))
		par_take(p);
}

/* ---- what stands for what was refused ---- */

static Node *node_name(Parser *p, const char *name, Span s)
{
	Node *n = par_node(p, N_NAME, s.from);

	n->span = s;
	n->name.sym = sym(&p->ast->syms, str_c(name));
	return n;
}

static Node *node_stmt(Parser *p, Node *value)
{
	Node *n = par_node(p, N_EXPR, value->span.from);

	n->expr.value = value;
	return par_finish(p, n);
}

/* exit() */
static Node *node_exit(Parser *p, Span s)
{
	Node *n = par_node(p, N_CALL, s.from);

	n->call.fn = node_name(p, "exit", s);
	par_finish(p, n);
	n->span = s;
	return node_stmt(p, n);
}

/* ---- import ---- */

static void import_one(Parser *p, Str from)
{
	Str path = { 0 };
	const Sym *bound = p->t->kind == TOK_NAME ? p->t->sym : NULL;
	uint32_t start = p->t->span.from;

	while (p->t->kind == TOK_NAME || p->t->kind == TOK_DOT)
		par_take(p);
	path = (Str){ p->text.p + start, p->last_to > start ? p->last_to - start : 0 };
	if (par_accept(p, TOK_KW_AS)) {
		bound = p->t->kind == TOK_NAME ? p->t->sym : bound;
		par_take(p);
	}
	if (!bound)
		return;
	if (from.n)
		path = str_printf(p->a, "%.*s.%.*s", STR_ARG(from), STR_ARG(path));
	vec_push(p->a, &p->ast->files.p[p->file].foreign, (Foreign){ .name = bound, .path = path });
}

/* import a.b as c, d     from a import (b, c as d)     from a import * */
static void read_import(Parser *p)
{
	Str from = { 0 };
	bool is_from = p->t->kind == TOK_KW_FROM;

	par_take(p);
	if (is_from) {
		uint32_t start = p->t->span.from;

		while (p->t->kind == TOK_NAME || p->t->kind == TOK_DOT)
			par_take(p);
		from = (Str){ p->text.p + start, p->last_to > start ? p->last_to - start : 0 };
		par_accept(p, TOK_KW_IMPORT);
		par_accept(p, TOK_LPAR);
	}
	while (p->t->kind == TOK_NAME) {
		import_one(p, from);
		if (!par_accept(p, TOK_COMMA))
			break;
	}
	skip_statement(p);
}

static void refuse_import(Parser *p, NodeVec *out)
{
	const Tok *t = p->t;
	Str module = t[1].kind == TOK_NAME ? t[1].sym->text : STR("");
	Diag *d = par_soft(p, par_span(p), "there are no imports: everything is built in");

	(void)out;
	d->hint = STR("leave the line out; the reference names all there is");
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (str_is(module, modules[i].module))
			d->hint = str_printf(p->a, "leave the line out: %s", modules[i].use);
	fix_remove(p, d, t);
	read_import(p);
}

/* ---- try, with: their bodies ---- */

typedef struct Body {
	Sb text;       /* as it stands one level further out */
	bool fits;     /* no string goes over several lines */
	uint32_t last; /* where the body ends */
} Body;

/* Where the line of `at` starts. */
static uint32_t line_start(const Parser *p, uint32_t at)
{
	while (at > 0 && p->text.p[at - 1] != '\n')
		at--;
	return at;
}

/* The lines [from, to) with `cut` characters less at their start. */
static void put_dedented(Parser *p, Body *b, uint32_t from, uint32_t to, uint32_t cut)
{
	for (uint32_t i = from; i < to;) {
		uint32_t skip = 0;

		while (i + skip < to && skip < cut && (p->text.p[i + skip] == ' ' || p->text.p[i + skip] == '\t'))
			skip++;
		i += skip;
		while (i < to) {
			sb_char(&b->text, p->text.p[i]);
			if (p->text.p[i++] == '\n')
				break;
		}
	}
}

/* A block, its statements put into `out` and its text one level out into `b`. */
static void splice_block(Parser *p, NodeVec *out, const Tok *head, Body *b)
{
	if (!par_accept(p, TOK_COLON) || !par_accept(p, TOK_NEWLINE) || !par_accept(p, TOK_INDENT)) {
		b->fits = false;
		p->unsure = true;
		par_skip_line(p);
		return;
	}
	const Tok *first = p->t;
	uint32_t from = line_start(p, first->span.from);
	uint32_t indent = head->span.from - line_start(p, head->span.from);

	p->blocks++;
	parse_statements(p, out);
	p->blocks--;
	b->last = taken_to(p);
	for (const Tok *t = first; t < p->t; t++)
		b->fits &= t->kind == TOK_NEWLINE || t->kind == TOK_DEDENT || t->kind == TOK_INDENT ||
			   !memchr(p->text.p + t->span.from, '\n', t->span.to - t->span.from);
	if (b->text.n)
		sb_char(&b->text, '\n');
	put_dedented(p, b, from, b->last, first->span.from - from - indent);
	par_accept(p, TOK_DEDENT);
}

/* The text starts where its statement did, so without the first line's blanks. */
static Str body_text(const Body *b, uint32_t indent)
{
	Str s = { b->text.p, b->text.n };
	uint32_t n = indent < s.n ? indent : (uint32_t)s.n;

	return (Str){ s.p + n, s.n - n };
}

static void refuse_try(Parser *p, NodeVec *out)
{
	const Tok *head = p->t;
	Diag *d = par_soft(p, par_span(p), "there are no exceptions: no call fails");
	Body b = { .text = sb(p->a), .fits = true };

	d->hint = STR("test the result: `if r:`, r.received, c.state, c.error");
	par_take(p);
	splice_block(p, out, head, &b);
	while (p->t->kind == TOK_KW_EXCEPT) { /* nothing gets there */
		par_skip_line(p);
		par_skip_block(p);
	}
	while (p->t->kind == TOK_KW_FINALLY || p->t->kind == TOK_KW_ELSE) {
		par_take(p);
		splice_block(p, out, head, &b);
	}
	if (b.fits && starts_line(p, head))
		diag_fix(d, (Span){ head->span.from, taken_to(p) },
			 body_text(&b, head->span.from - line_start(p, head->span.from)));
}

static void refuse_except(Parser *p, NodeVec *out)
{
	(void)out;
	if (!p->broken)
		par_refuse(p, par_span(p), "%s without a statement that it belongs to", tok_text(p->t->kind));
	par_skip_line(p);
	parse_orphan_block(p);
}

static bool opens_file(const Node *n)
{
	return n->kind == N_CALL && n->call.fn->kind == N_NAME && str_is(n->call.fn->name.sym->text, "open");
}

/* with X as y: is y = X and the block. */
static void refuse_with(Parser *p, NodeVec *out)
{
	const Tok *head = p->t;
	Diag *d = par_soft(p, par_span(p), "there is no `with`");
	Body b = { .text = sb(p->a), .fits = true };
	Node *target = NULL;

	d->hint = STR("assign: c = connect(...), and close: c.close()");
	par_take(p);
	Node *value = parse_expr(p);

	if (par_at(p) == TOK_KW_AS) {
		par_take(p);
		target = parse_targets(p);
	}
	if (par_at(p) != TOK_COLON || opens_file(value)) {
		if (opens_file(value))
			d->hint = STR("there are no files: print what is found; `sonde run --write f.pcapng` "
				      "keeps the traffic");
		p->unsure = true;
		par_skip_line(p);
		parse_orphan_block(p);
		return;
	}
	Node *n = target ? par_node(p, N_ASSIGN, head->span.from) : node_stmt(p, value);

	if (target) {
		n->assign.targets = ast_nodes(p->ast, &target, 1);
		n->assign.value = value;
		par_finish(p, n);
		sb_printf(&b.text, "%.*s = ", STR_ARG(text_of(p->text, target->span)));
	}
	vec_push(p->a, out, n);
	sb_str(&b.text, text_of(p->text, value->span));
	splice_block(p, out, head, &b);
	if (b.fits && starts_line(p, head))
		diag_fix(d, (Span){ head->span.from, b.last }, sb_done(&b.text));
}

/* ---- class, match ---- */

static void refuse_class(Parser *p, NodeVec *out)
{
	(void)out;
	par_soft(p, par_span(p), "there are no classes")->hint = STR(
		"a dict display with string keys is a record: {\"ttl\": 3, \"addr\": a}; behaviour is a def");
	if (p->t[1].kind == TOK_NAME)
		vec_push(p->a, &p->ast->files.p[p->file].foreign, (Foreign){ .name = p->t[1].sym });
	par_skip_line(p);
	par_skip_block(p);
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
	while (!ends_line(t))
		t++;
	return t->kind == TOK_NEWLINE && t[1].kind == TOK_INDENT && t[2].kind == TOK_NAME &&
	       str_is(t[2].sym->text, "case");
}

/* ---- one-line statements ---- */

static void refuse_global(Parser *p, NodeVec *out)
{
	(void)out;
	par_refuse(p, par_span(p), "a function can't set variables from around it: there is no %s",
		   tok_text(p->t->kind))
		->hint = STR("return the new value and assign it at the call: x = f(x); lists and dicts can "
			     "be changed in place");
	skip_statement(p);
}

/* raise X("text"): print("text"); exit() */
static void refuse_raise(Parser *p, NodeVec *out)
{
	Span s = par_span(p);
	Diag *d = par_soft(p, s, "there are no exceptions");
	const Node *value = NULL;

	d->hint = STR("print what is wrong; exit() ends the program");
	par_take(p);
	if (!par_ends_statement(p->t))
		value = parse_expr(p);
	skip_statement(p);
	Span all = { s.from, p->last_to };

	vec_push(p->a, out, node_exit(p, all));
	if (value && value->kind == N_CALL && value->call.n == 1 && !value->call.arg[0].name)
		diag_fix(d, all,
			 str_printf(p->a, "print(%.*s); exit()",
				    STR_ARG(text_of(p->text, value->call.arg[0].span))));
	else
		diag_fix(d, all, STR("exit()"));
}

/* assert C, M: if not (C): print(M); exit() */
static void refuse_assert(Parser *p, NodeVec *out)
{
	const Tok *head = p->t;
	Diag *d = par_soft(p, par_span(p), "there is no `assert`");
	Node *n = par_node(p, N_IF, head->span.from), *no = par_node(p, N_UNARY, head->span.from), *message = NULL;

	d->hint = STR("write `if not ...:`, print what is wrong, and exit()");
	par_take(p);
	no->op = UN_NOT;
	no->unary.value = parse_expr(p);
	if (par_accept(p, TOK_COMMA))
		message = parse_expr(p);
	n->branch.test = par_finish(p, no);
	Node *end = node_exit(p, head->span);

	n->branch.body = ast_nodes(p->ast, &end, 1);
	par_finish(p, n);
	vec_push(p->a, out, n);
	if (!starts_line(p, head) || p->panic)
		return;
	Str what = message ? str_printf(p->a, "print(%.*s); ", STR_ARG(text_of(p->text, message->span))) : STR("");

	diag_fix(d, (Span){ head->span.from, p->last_to },
		 str_printf(p->a, "if not (%.*s): %.*sexit()", STR_ARG(text_of(p->text, no->unary.value->span)),
			    STR_ARG(what)));
}

/* del d[k]: d.pop(k); del p[L].f: p[L].f = None, for fields are computed anew; del x: nothing */
static bool delete_one(Parser *p, Node *x, NodeVec *out, Sb *text)
{
	Node *n;

	if (x->kind == N_INDEX && x->index.index->kind != N_SLICE) {
		Node *fn = par_node(p, N_ATTR, x->span.from), *call = par_node(p, N_CALL, x->span.from);

		fn->attr.obj = x->index.obj;
		fn->attr.sym = sym(&p->ast->syms, STR("pop"));
		fn->attr.at = x->span;
		call->call.fn = par_finish(p, fn);
		call->call.arg = arena_new(p->a, Arg);
		call->call.arg[0] = (Arg){ .value = x->index.index, .span = x->index.index->span };
		call->call.n = 1;
		n = node_stmt(p, par_finish(p, call));
		sb_printf(text, "%.*s.pop(%.*s)", STR_ARG(text_of(p->text, x->index.obj->span)),
			  STR_ARG(text_of(p->text, x->index.index->span)));
	} else if (x->kind == N_ATTR) {
		n = par_node(p, N_ASSIGN, x->span.from);
		n->assign.targets = ast_nodes(p->ast, &x, 1);
		n->assign.value = par_finish(p, par_node(p, N_NONE, x->span.from));
		par_finish(p, n);
		sb_printf(text, "%.*s = None", STR_ARG(text_of(p->text, x->span)));
	} else {
		return x->kind == N_NAME;
	}
	vec_push(p->a, out, n);
	return true;
}

static void refuse_del(Parser *p, NodeVec *out)
{
	const Tok *head = p->t;
	Diag *d = par_soft(p, par_span(p), "there is no `del`");
	Sb text = sb(p->a);
	bool known = true;

	d->hint = STR("d.pop(key) takes an item out of a dict or list; a field that is None is computed anew");
	par_take(p);
	do {
		if (text.n)
			sb_cstr(&text, "; ");
		known &= delete_one(p, parse_expr(p), out, &text);
	} while (par_accept(p, TOK_COMMA));
	if (p->panic)
		return;
	if (!known)
		p->unsure = true;
	else if (text.n)
		diag_fix(d, (Span){ head->span.from, p->last_to }, sb_done(&text));
	else
		fix_remove(p, d, head);
}

Node *refuse_return(Parser *p)
{
	Span s = par_span(p);

	diag_fix(par_soft(p, s, "`return` outside a function: exit() ends the program"), s, STR("exit()"));
	par_take(p);
	return node_exit(p, s);
}

/* ---- lambdas and := ---- */

void refuse_lambda(Parser *p)
{
	if (p->lambda) {
		Span s = { p->lambda->span.from, p->lambda->span.from + 6 };

		par_refuse(p, s, "a lambda stands only as an argument of a call")->hint =
			STR("write a def at the top level and use its name");
	}
	p->lambda = NULL;
}

Node *refuse_lambda_name(Parser *p, Node *assign)
{
	Node *target = assign->assign.targets.p[0], *n = assign->assign.value;
	Span s = { n->span.from, n->span.from + 6 };
	Diag *d = par_soft(p, s, "a lambda stands only as an argument of a call: what has a name is a def");
	Str params = { 0 };

	p->lambda = NULL;
	if (n->func.n) {
		const Param *last = &n->func.param[n->func.n - 1];

		params = text_of(p->text, (Span){ n->func.param[0].span.from,
						  last->dflt ? last->dflt->span.to : last->span.to });
	}
	diag_fix(d, assign->span,
		 str_printf(p->a, "def %.*s(%.*s): return %.*s", STR_ARG(target->name.sym->text), STR_ARG(params),
			    STR_ARG(text_of(p->text, n->func.value->span))));
	Node *def = par_node(p, N_DEF, assign->span.from), *ret = par_node(p, N_RETURN, n->func.value->span.from);

	ret->expr.value = n->func.value;
	par_finish(p, ret);
	def->func = n->func;
	def->func.value = NULL;
	def->func.sym = target->name.sym;
	def->func.at = target->span;
	def->func.body = ast_nodes(p->ast, &ret, 1);
	return par_finish(p, def);
}

/* if (x := f()): x = f(), then the if; only what is evaluated first can go before it. */
static bool may_hoist(const Parser *p, const Node *name)
{
	const Tok *t = p->test_of;

	if (!t || t->kind != TOK_KW_IF || !starts_line(p, t) || p->hoisted || name->kind != N_NAME)
		return false;
	for (t++; t->span.from < name->span.from; t++)
		if (t->kind != TOK_LPAR && t->kind != TOK_KW_NOT)
			return false;
	return true;
}

void refuse_walrus(Parser *p, Node *name)
{
	bool hoist = may_hoist(p, name);
	const Tok *head = p->test_of;
	Diag *d = hoist ? par_soft(p, par_span(p), "`:=` inside an expression")
			: par_refuse(p, par_span(p), "`:=` inside an expression");

	d->hint = STR("assign by `=` on a line of its own before");
	par_take(p);
	Node *value = parse_expr(p);

	if (!hoist || p->panic)
		return;
	Node *n = par_node(p, N_ASSIGN, name->span.from), *target = par_node(p, N_NAME, name->span.from);
	Str var = name->name.sym->text;
	uint32_t start = line_start(p, head->span.from);
	const Tok *end = p->t;

	while (!ends_line(end))
		end++;
	target->name.sym = name->name.sym;
	target->span = name->span;
	n->assign.targets = ast_nodes(p->ast, &target, 1);
	n->assign.value = value;
	p->hoisted = par_finish(p, n);
	diag_fix(d, (Span){ head->span.from, end->span.from },
		 str_printf(p->a, "%.*s = %.*s\n%.*s%.*s%.*s%.*s", STR_ARG(var), STR_ARG(text_of(p->text, value->span)),
			    STR_ARG(text_of(p->text, (Span){ start, head->span.from })),
			    STR_ARG(text_of(p->text, (Span){ head->span.from, name->span.from })), STR_ARG(var),
			    STR_ARG(text_of(p->text, (Span){ value->span.to, end->span.from }))));
}

/* ---- words before a statement ---- */

/* async def: def */
static void refuse_async(Parser *p)
{
	Diag *d = par_soft(p, par_span(p), "there is no `async`");

	d->hint = STR("leave the word out: everything in the background goes on during each wait");
	diag_fix(d, (Span){ p->t->span.from, p->t[1].span.from }, STR(""));
	par_take(p);
}

static void refuse_decorator(Parser *p)
{
	const Tok *t = p->t;
	Diag *d = par_soft(p, par_span(p), "there are no decorators");

	d->hint = STR("call the function where it is needed");
	par_skip_line(p);
	diag_fix(d, (Span){ t->span.from, p->t->kind == TOK_INDENT ? p->last_to : p->t->span.from }, STR(""));
}

bool refuse_prefix(Parser *p)
{
	if (p->panic || (p->t->kind != TOK_KW_ASYNC && p->t->kind != TOK_AT))
		return false;
	if (p->t->kind == TOK_AT)
		refuse_decorator(p);
	else
		refuse_async(p);
	return true;
}

Refused refuse_statement(Parser *p, NodeVec *out)
{
	typedef void RefuseFn(Parser *, NodeVec *);
	static RefuseFn *const simple[TOK_N] = {
		[TOK_KW_IMPORT] = refuse_import, [TOK_KW_FROM] = refuse_import,
		[TOK_KW_GLOBAL] = refuse_global, [TOK_KW_NONLOCAL] = refuse_global,
		[TOK_KW_RAISE] = refuse_raise,	 [TOK_KW_ASSERT] = refuse_assert,
		[TOK_KW_DEL] = refuse_del,
	};
	static RefuseFn *const blocks[TOK_N] = {
		[TOK_KW_CLASS] = refuse_class,	 [TOK_KW_TRY] = refuse_try,
		[TOK_KW_EXCEPT] = refuse_except, [TOK_KW_FINALLY] = refuse_except,
		[TOK_KW_WITH] = refuse_with,
	};
	TokKind k = p->t->kind;

	if (p->panic)
		return REFUSED_NOT;
	if (at_match(p)) {
		refuse_match(p);
		return REFUSED_BLOCK;
	}
	if (simple[k])
		simple[k](p, out);
	else if (blocks[k])
		blocks[k](p, out);
	else
		return REFUSED_NOT;
	return simple[k] ? REFUSED_SIMPLE : REFUSED_BLOCK;
}
