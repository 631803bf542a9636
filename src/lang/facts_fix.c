/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixes that take more than the text of one node: tests around statements,
 * arguments taken out, callbacks turned into loops.
 */
#include "lang/facts_inside.h"

static Str program_text(Facts *f)
{
	return f->in->ast->files.p[0].text;
}

/* ---- tests ---- */

/* A variable of a comprehension is tested in it: [r.ttl for s, r in ans if r]. */
static void fix_clause(Facts *f, Diag *d, Str test)
{
	const Node *c = f->comp;

	if (!c || c->file != 0 || c->kind == N_GENEXP)
		return;
	facts_fix_span(f, d, c, (Span){ c->span.to - 1, c->span.to - 1 },
		       str_printf(f->a, " if %.*s", STR_ARG(test)));
}

typedef struct VarSet {
	const Var *v[32];
	uint32_t n;
	bool used; /* one of them */
	bool set;  /* v[0] is assigned */
} VarSet;

static void find_use(Node *n, void *ctx)
{
	VarSet *s = ctx;

	for (uint32_t i = 0; n->kind == N_NAME && n->name.ref == REF_VAR && i < s->n; i++)
		s->used |= n->name.var == s->v[i];
	ast_each(n, find_use, s);
}

static void add_target(Node *n, void *ctx)
{
	VarSet *s = ctx;

	if (n->kind == N_NAME && n->name.ref == REF_VAR) {
		s->set |= n->name.var == s->v[0];
		if (s->n < sizeof s->v / sizeof *s->v)
			s->v[s->n++] = n->name.var;
	} else if (n->kind == N_TUPLE || n->kind == N_LIST) {
		ast_each(n, add_target, s);
	}
}

static void add_assigned(Node *n, void *ctx)
{
	if (n->kind == N_ASSIGN)
		for (uint32_t i = 0; i < n->assign.targets.n; i++)
			add_target(n->assign.targets.p[i], ctx);
	else if (n->kind == N_AUGMENT)
		add_target(n->augment.target, ctx);
	else if (n->kind == N_ANNOTATE)
		add_target(n->annotate.target, ctx);
	else if (n->kind == N_FOR)
		add_target(n->loop.target, ctx);
	if (n->kind == N_IF || n->kind == N_FOR || n->kind == N_WHILE)
		ast_each(n, add_assigned, ctx);
}

/* The last statement of the block that needs the test too: it uses the variable, or
 * one that would be set below the test only. */
static uint32_t guarded_to(const Nodes body, uint32_t from, const Var *v)
{
	VarSet s = { .v = { v }, .n = 1 };
	uint32_t last = from;

	for (uint32_t i = from; i < body.n; i++) {
		s.used = false;
		find_use(body.p[i], &s);
		if (!s.used && i != from)
			continue;
		for (uint32_t k = i == from ? i : last + 1; k <= i; k++)
			add_assigned(body.p[k], &s);
		if (s.set && i != from)
			break;
		last = i;
		if (s.set)
			break;
	}
	return last;
}

/* The text's lines, each but the first four blanks further in. */
static void put_indented(Sb *b, Str text)
{
	for (size_t i = 0; i < text.n; i++) {
		sb_char(b, text.p[i]);
		if (text.p[i] == '\n' && i + 1 < text.n && text.p[i + 1] != '\n')
			sb_cstr(b, "    ");
	}
}

/* elif, while: the test goes before the condition. */
static void fix_condition(Facts *f, Diag *d, const Node *s, Str test)
{
	const Node *c = s->branch.test;
	bool low = c->kind == N_COND || (c->kind == N_BOOLOP && c->op == OP_BOOL_OR);

	if (c->paren || low)
		return;
	facts_fix_span(f, d, s, (Span){ c->span.from, c->span.from },
		       str_printf(f->a, "%.*s and ", STR_ARG(test)));
}

/* Blocks reach over comments below them: the end of the last line with a token. */
static uint32_t text_end(Facts *f, const Node *n)
{
	const Toks *toks = &f->in->ast->files.p[n->file].toks;
	uint32_t end = n->span.from;

	for (uint32_t i = 0; i < toks->v.n && toks->v.p[i].span.from < n->span.to; i++) {
		const Tok *t = &toks->v.p[i];

		if (t->kind != TOK_NEWLINE && t->kind != TOK_INDENT && t->kind != TOK_DEDENT && t->kind != TOK_END &&
		    t->span.to > end)
			end = t->span.to;
	}
	return end;
}

void facts_fix_guard(Facts *f, Diag *d, const Node *path, Str test)
{
	const Var *v = facts_path_var(f, path);

	if (!v || v->scope->node->kind == N_LAMBDA || f->quiet || !f->body.n)
		return;
	if (v->kind == VAR_COMP) {
		fix_clause(f, d, test);
		return;
	}
	const Node *s = f->body.p[f->at], *last = f->body.p[guarded_to(f->body, f->at, v)];
	uint32_t to = text_end(f, last);
	Str text = program_text(f), range = { text.p + s->span.from, to - s->span.from };

	if (s->file != 0 || s->kind == N_DEF || s->kind == N_PARAM)
		return;
	if (s->kind == N_WHILE || (s->kind == N_IF && str_starts(range, STR("elif")))) {
		fix_condition(f, d, s, test);
		return;
	}
	LineCol lc = line_col(text, s->span.from);
	Sb b = sb(f->a);

	for (uint32_t i = 0; i < lc.col - 1; i++)
		if (lc.text.p[i] != ' ' && lc.text.p[i] != '\t')
			return; /* not alone on its line */
	for (size_t i = 0; i + 3 <= range.n; i++)
		if (memcmp(range.p + i, "\"\"\"", 3) == 0 || memcmp(range.p + i, "'''", 3) == 0)
			return; /* lines of a string can't be moved */
	sb_printf(&b, "if %.*s:\n", STR_ARG(test));
	sb_str(&b, (Str){ lc.text.p, lc.col - 1 });
	sb_cstr(&b, "    ");
	put_indented(&b, range);
	facts_fix_span(f, d, s, (Span){ s->span.from, to }, sb_done(&b));
}

/* ---- arguments ---- */

Span facts_arg_span(const Node *call, const Arg *a)
{
	const Arg *first = call->call.arg, *last = first + call->call.n - 1;

	if (a < last)
		return (Span){ a->span.from, a[1].span.from };
	return a > first ? (Span){ a[-1].span.to, a->span.to } : a->span;
}

/* len=4 in UDP(dport=9, len=4): only the value's node is at hand. */
void facts_fix_drop(Facts *f, Diag *d, const Node *value)
{
	Str text = program_text(f);
	uint32_t from = value->span.from, to = value->span.to;

	if (value->file != 0 || value->paren)
		return;
	while (from > 0 && (text.p[from - 1] == ' ' || text.p[from - 1] == '='))
		from--;
	while (from > 0 && (text.p[from - 1] == '_' || (text.p[from - 1] >= 'a' && text.p[from - 1] <= 'z')))
		from--;
	uint32_t before = from;

	while (before > 0 && (text.p[before - 1] == ' ' || text.p[before - 1] == '\n'))
		before--;
	if (before > 0 && text.p[before - 1] == ',') {
		from = before - 1;
	} else {
		while (to < text.n && (text.p[to] == ',' || text.p[to] == ' '))
			to++;
	}
	facts_fix_span(f, d, value, (Span){ from, to }, STR(""));
}

/* All arguments of a call as they stand, but one. */
static Str args_without(Facts *f, const Node *call, const Arg *out)
{
	Sb b = sb(f->a);
	Str text = program_text(f);

	for (uint32_t i = 0; i < call->call.n; i++) {
		const Arg *a = &call->call.arg[i];

		if (a == out)
			continue;
		if (b.n)
			sb_cstr(&b, ", ");
		sb_str(&b, (Str){ text.p + a->span.from, a->span.to - a->span.from });
	}
	return sb_done(&b);
}

/* sniff(.., prn=f): for p in sniff(..): f(p) */
static bool fix_prn(Facts *f, Diag *d, const Node *call, const Arg *a)
{
	const Node *s = f->body.n ? f->body.p[f->at] : NULL, *fn = a->value;
	Str args = args_without(f, call, a), var = STR("p");

	if (!s || s->kind != N_EXPR || s->expr.value != call)
		return false;
	Str body = str_printf(f->a, "%.*s(p)", STR_ARG(facts_source(f, fn)));

	if (fn->kind == N_LAMBDA && fn->func.n == 1) {
		const Node *v = fn->func.value;
		bool prints = v->kind == N_CALL && v->call.fn->kind == N_NAME &&
			      str_is(v->call.fn->name.sym->text, "print");

		var = fn->func.param[0].name->text;
		body = str_printf(f->a, prints ? "%.*s" : "print(%.*s)", STR_ARG(facts_source(f, v)));
	} else if (fn->kind != N_NAME) {
		return false;
	}
	facts_fix(f, d, call,
		  str_printf(f->a, "for %.*s in sniff(%.*s): %.*s", STR_ARG(var), STR_ARG(args), STR_ARG(body)));
	return true;
}

/* sniff(.., lfilter=f): [p for p in sniff(..) if f(p)] */
static bool fix_lfilter(Facts *f, Diag *d, const Node *call, const Arg *a)
{
	const Node *fn = a->value;
	Str args = args_without(f, call, a), var = STR("p");
	Str test = str_printf(f->a, "%.*s(p)", STR_ARG(facts_source(f, fn)));

	if (fn->kind == N_LAMBDA && fn->func.n == 1) {
		var = fn->func.param[0].name->text;
		test = facts_source(f, fn->func.value);
	} else if (fn->kind != N_NAME) {
		return false;
	}
	facts_fix(f, d, call,
		  str_printf(f->a, "[%.*s for %.*s in sniff(%.*s) if %.*s]", STR_ARG(var), STR_ARG(var),
			     STR_ARG(args), STR_ARG(test)));
	return true;
}

/* send(p, count=5): send([p] * 5) */
static bool fix_count(Facts *f, Diag *d, const Node *call, const Arg *a)
{
	const Arg *p = call->call.arg;

	if (p->name || a == p)
		return false;
	Str rest = args_without(f, call, a), packet = facts_source(f, p->value);

	if (rest.n < packet.n)
		return false;
	facts_fix(f, d, call,
		  str_printf(f->a, "send([%.*s] * %.*s%.*s)", STR_ARG(packet), STR_ARG(facts_operand(f, a->value)),
			     (int)(rest.n - packet.n), rest.p + packet.n));
	return true;
}

bool facts_fix_keyword(Facts *f, Diag *d, const Node *call, const char *name, const Arg *a)
{
	static const struct {
		const char *fn, *keyword;
		bool (*fix)(Facts *, Diag *, const Node *, const Arg *);
		const char *hint;
	} rows[] = {
		{ "sniff", "prn", fix_prn, "write `for p in sniff(..):`" },
		{ "sniff", "lfilter", fix_lfilter, "write [p for p in sniff(..) if ...]" },
		{ "sniff", "stop_filter", NULL, "count= and timeout= end it; a loop over the packets can `break`" },
		{ "send", "count", fix_count, "write send([p] * n)" },
		{ "send", "loop", NULL, "write a `for` with send and sleep" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (str_is(str_c(name), rows[i].fn) && str_is(a->name->text, rows[i].keyword)) {
			d->hint = str_c(rows[i].hint);
			if (rows[i].fix && call->file == 0)
				rows[i].fix(f, d, call, a);
			return true;
		}
	return false;
}

/* ---- texts that mean something else ---- */

static const struct {
	const char *name;
	uint16_t port;
} services[] = {
	{ "ftp", 21 },	 { "ssh", 22 },	    { "telnet", 23 }, { "smtp", 25 },	{ "domain", 53 }, { "dns", 53 },
	{ "tftp", 69 },	 { "http", 80 },    { "pop3", 110 },  { "ntp", 123 },	{ "imap", 143 },  { "snmp", 161 },
	{ "bgp", 179 },	 { "ldap", 389 },   { "https", 443 }, { "smb", 445 },	{ "syslog", 514 }, { "mdns", 5353 },
	{ "mysql", 3306 }, { "rdp", 3389 }, { "postgres", 5432 }, { "postgresql", 5432 }, { "redis", 6379 },
};

/* A str where a number is due: "80", "http", port. */
void facts_fix_number(Facts *f, Diag *d, Node *n, const Fact *x, bool port)
{
	Str s;
	uint64_t u;

	if (n->kind == N_STR && fact_one_str(x, &s)) {
		if (str_to_u64(s, INT64_MAX, &u))
			facts_fix(f, d, n, s);
		for (size_t i = 0; port && i < sizeof services / sizeof *services; i++)
			if (str_is(s, services[i].name))
				facts_fix(f, d, n, str_printf(f->a, "%u", services[i].port));
		return;
	}
	facts_fix(f, d, n, str_printf(f->a, "int(%.*s)", STR_ARG(facts_source(f, n))));
}

/* "200ms", "1.5" where a duration is due. */
void facts_fix_duration(Facts *f, Diag *d, Node *n, const Fact *x)
{
	static const char *const units[] = { "", "ns", "us", "ms", "s" };
	Str s;

	if (n->kind != N_STR || !fact_one_str(x, &s) || !s.n)
		return;
	size_t i = 0;

	while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] == '.' && i)))
		i++;
	for (size_t k = 0; i && k < sizeof units / sizeof *units; k++)
		if (str_is((Str){ s.p + i, s.n - i }, units[k]))
			facts_fix(f, d, n, s);
}

/* "SYN-ACK", "syn": the letters of their flags. */
static bool flag_letters(Facts *f, const WireField *field, Str s, Str *ret)
{
	static const struct {
		const char *word, *letter;
	} rows[] = { { "SYN", "S" }, { "ACK", "A" }, { "FIN", "F" }, { "RST", "R" },
		     { "PSH", "P" }, { "URG", "U" }, { "ECE", "E" }, { "CWR", "C" } };
	char up[32];
	Sb b = sb(f->a);
	uint64_t bits;

	if (field->kind != FK_FLAGS || s.n >= sizeof up)
		return false;
	for (size_t i = 0; i < s.n; i++)
		up[i] = (char)(s.p[i] >= 'a' && s.p[i] <= 'z' ? s.p[i] - 32 : s.p[i]);
	for (size_t i = 0; i < s.n;) {
		size_t k = 0;

		while (k < sizeof rows / sizeof *rows && (s.n - i < 3 || memcmp(up + i, rows[k].word, 3) != 0))
			k++;
		if (k < sizeof rows / sizeof *rows) {
			sb_cstr(&b, rows[k].letter);
			i += 3;
			continue;
		}
		if (!strchr("-|+,/ ", up[i]))
			sb_char(&b, up[i]);
		i++;
	}
	*ret = sb_done(&b);
	return ret->n && wire_name_value(field, *ret, &bits);
}

/* Names that other tools have for values. */
static bool value_alias(const WireField *field, Str s, Str *ret)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "ttl-exceeded", "time-exceeded" },	 { "ttl-zero-during-transit", "time-exceeded" },
		{ "time_exceeded", "time-exceeded" },	 { "unreachable", "dest-unreach" },
		{ "destination-unreachable", "dest-unreach" }, { "dest-unreachable", "dest-unreach" },
		{ "echo", "echo-request" },		 { "ping", "echo-request" },
		{ "reply", "echo-reply" },		 { "request", "who-has" },
		{ "whohas", "who-has" },		 { "isat", "is-at" },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (str_is(s, rows[i].from) && wire_name_value(field, str_c(rows[i].to), &v)) {
			*ret = str_c(rows[i].to);
			return true;
		}
	return false;
}

static Str value_names(Facts *f, const WireField *field)
{
	Sb b = sb(f->a);

	sb_cstr(&b, "it knows");
	for (const WireName *w = field->names; w && w->name && b.n < 200; w++)
		sb_printf(&b, " %s", w->name);
	return sb_done(&b);
}

void facts_fix_value(Facts *f, Diag *d, const WireField *field, Str s, Node *n)
{
	Near near = { .want = s, .d = 255 };
	Str other;

	for (const WireName *w = field->names; w && w->name; w++)
		facts_near_try(&near, str_c(w->name));
	if (flag_letters(f, field, s, &other) || value_alias(field, s, &other))
		near = (Near){ .best = other, .d = 0 };
	else
		d->hint = value_names(f, field);
	if (near.d <= 2 && n && n->kind == N_STR)
		facts_fix(f, d, n, str_printf(f->a, "\"%.*s\"", STR_ARG(near.best)));
}
