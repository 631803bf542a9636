/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements and blocks, and how the parser goes on after an error.
 */
#include "lang/parse_priv.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- tokens and errors ---- */

void par_take(Parser *p)
{
	p->last_to = p->t->span.to;
	if (p->t->kind != TOK_END)
		p->t++;
}

bool par_accept(Parser *p, TokKind k)
{
	if (par_at(p) != k)
		return false;
	par_take(p);
	return true;
}

Diag *par_error(Parser *p, Span s, const char *fmt, ...)
{
	char text[LIMIT_DIAG_TEXT];
	bool told = p->panic || p->t->kind == TOK_BAD; /* BAD: the lexer reported it */
	va_list ap;

	p->panic = true;
	p->broken = true;
	p->unsure = true;
	if (told)
		return &p->d->spare;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return diag_add(p->d, "E-SYNTAX", s, "%s", text);
}

static Diag *soft_v(Parser *p, Span s, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

static Diag *soft_v(Parser *p, Span s, const char *fmt, va_list ap)
{
	char text[LIMIT_DIAG_TEXT];

	if (p->panic || p->t->kind == TOK_BAD)
		return &p->d->spare;
	vsnprintf(text, sizeof text, fmt, ap);
	return diag_add(p->d, "E-SYNTAX", s, "%s", text);
}

Diag *par_refuse(Parser *p, Span s, const char *fmt, ...)
{
	va_list ap;

	p->unsure = true;
	va_start(ap, fmt);
	Diag *d = soft_v(p, s, fmt, ap);
	va_end(ap);
	return d;
}

Diag *par_soft(Parser *p, Span s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	Diag *d = soft_v(p, s, fmt, ap);
	va_end(ap);
	return d;
}

void par_unexpected(Parser *p, const char *wanted)
{
	const Tok *t = p->t;
	bool word =
		t->kind == TOK_NAME || t->kind == TOK_INT || t->kind == TOK_FLOAT || t->kind == TOK_DURATION;
	Str text = text_of(p->text, t->span);
	const char *found = t->kind == TOK_END && p->in_field ? "`}`" : tok_text(t->kind);
	Diag *d = word ? par_error(p, t->span, "expected %s, found `%.*s`", wanted, STR_ARG(text))
		       : par_error(p, t->span, "expected %s, found %s", wanted, found);

	if (d != &p->d->spare)
		par_hint(p, d);
}

bool par_expect(Parser *p, TokKind k)
{
	if (par_accept(p, k))
		return true;
	par_unexpected(p, tok_text(k));
	return false;
}

bool par_enter(Parser *p)
{
	if (p->depth++ < LIMIT_NESTING)
		return true;
	par_error(p, par_span(p), "nested more than %d deep", LIMIT_NESTING);
	return false;
}

/* ---- nodes ---- */

Node *par_node(Parser *p, NodeKind k, uint32_t from)
{
	return ast_node(p->ast, k, p->file, (Span){ from, p->t->span.to });
}

static void max_height(Node *child, void *ctx)
{
	uint32_t *h = ctx;

	if (child->height >= *h)
		*h = child->height + 1;
}

void par_measure(Parser *p, Node *n)
{
	ast_each(n, max_height, &n->height);
	if (n->height <= LIMIT_TREE)
		return;
	if (!p->too_high)
		par_refuse(p, n->span, "more than %d operators or branches in a chain", LIMIT_TREE)->hint =
			STR("take it apart into several statements");
	p->too_high = true;
	p->panic |= node_is_expr(n);
	n->height = 0;
}

Node *par_finish(Parser *p, Node *n)
{
	n->span.to = p->last_to > n->span.from ? p->last_to : n->span.from;
	par_measure(p, n);
	return n;
}

/* ---- recovery ---- */

void par_skip_line(Parser *p)
{
	p->panic = false;
	while (p->t->kind != TOK_NEWLINE && p->t->kind != TOK_END)
		par_take(p);
	par_accept(p, TOK_NEWLINE);
}

void par_skip_block(Parser *p)
{
	unsigned depth = 0;

	if (p->t->kind != TOK_INDENT)
		return;
	do {
		depth += p->t->kind == TOK_INDENT;
		depth -= p->t->kind == TOK_DEDENT;
		par_take(p);
	} while (depth && p->t->kind != TOK_END);
}

void parse_orphan_block(Parser *p)
{
	NodeVec dropped = { 0 };
	bool lenient = p->lenient;

	if (p->t->kind != TOK_INDENT)
		return;
	p->lenient = true;
	par_take(p);
	parse_statements(p, &dropped);
	par_accept(p, TOK_DEDENT);
	p->lenient = lenient;
	p->broken = true;
}

/* After an error in a statement: behind its line, and through its block. */
static void recover(Parser *p)
{
	par_skip_line(p);
	parse_orphan_block(p);
	p->broken = true;
}

/* ---- blocks ---- */

static void parse_line(Parser *p, NodeVec *out);

static void missing_colon(Parser *p, const char *what)
{
	bool at_end = p->t->kind == TOK_NEWLINE;
	uint32_t end = p->last_to;

	if (p->t->kind == TOK_ASSIGN) {
		Diag *d = par_error(p, par_span(p), "`=` in a condition: comparison is `==`");

		diag_fix(d, p->t->span, STR("=="));
		return;
	}
	if (!at_end) {
		char text[64];

		snprintf(text, sizeof text, "`:` behind `%s`", what);
		par_unexpected(p, text);
		return;
	}
	bool block = p->t[1].kind == TOK_INDENT;
	Diag *d = block ? par_refuse(p, (Span){ end, end }, "expected `:` at the end of this `%s`", what)
			: par_error(p, (Span){ end, end }, "expected `:` and a block behind this `%s`", what);

	diag_fix(d, (Span){ end, end }, STR(":"));
	d->fix.set = block;
}

void parse_block_of(Parser *p, Node *header, const char *what, Nodes *ret)
{
	NodeVec body = { 0 };
	Span head = { header->span.from, p->last_to };

	if (!par_accept(p, TOK_COLON))
		missing_colon(p, what);
	refuse_lambda(p);
	if (par_at(p) == TOK_BAD)
		return;
	p->blocks++;
	if (!par_accept(p, TOK_NEWLINE)) {
		parse_line(p, &body);
	} else if (!par_accept(p, TOK_INDENT)) {
		par_refuse(p, head, "expected an indented block behind `%s`", what)->hint =
			STR("indent its statements by four blanks; an empty block is `pass`");
	} else {
		parse_statements(p, &body); /* the lexer bounds how deep */
		par_accept(p, TOK_DEDENT);
	}
	p->blocks--;
	*ret = ast_nodes(p->ast, body.p, body.n);
}

static void parse_loop_block(Parser *p, Node *header, const char *what, Nodes *ret)
{
	bool in_loop = p->in_loop;

	p->in_loop = true;
	parse_block_of(p, header, what, ret);
	p->in_loop = in_loop;
}

/* An `else:` of a loop. */
static void parse_else(Parser *p, Node *header, Nodes *ret)
{
	if (par_accept(p, TOK_KW_ELSE))
		parse_block_of(p, header, "else", ret);
}

/* ---- compound statements ---- */

static Node *parse_if(Parser *p)
{
	const char *what = p->t->kind == TOK_KW_ELIF ? "elif" : "if";
	Node *n = par_node(p, N_IF, p->t->span.from);

	p->test_of = p->t;
	par_take(p);
	n->branch.test = parse_exprs(p);
	p->test_of = NULL;
	parse_block_of(p, n, what, &n->branch.body);
	return n;
}

/* elifs stand in a row in the text and one in another in the tree: a loop keeps
 * the parser's own stack flat. */
static Node *parse_ifs(Parser *p)
{
	NodeVec rows = { 0 };

	vec_push(p->a, &rows, parse_if(p));
	while (par_at(p) == TOK_KW_ELIF)
		vec_push(p->a, &rows, parse_if(p));
	Node *last = rows.p[rows.n - 1];

	parse_else(p, last, &last->branch.orelse);
	for (uint32_t i = rows.n; i-- > 0;) {
		if (i + 1 < rows.n)
			rows.p[i]->branch.orelse = ast_nodes(p->ast, &rows.p[i + 1], 1);
		par_finish(p, rows.p[i]);
	}
	return rows.p[0];
}

static Node *parse_while(Parser *p)
{
	Node *n = par_node(p, N_WHILE, p->t->span.from);

	par_take(p);
	n->branch.test = parse_exprs(p);
	parse_loop_block(p, n, "while", &n->branch.body);
	parse_else(p, n, &n->branch.orelse);
	return par_finish(p, n);
}

static Node *parse_for(Parser *p)
{
	Node *n = par_node(p, N_FOR, p->t->span.from);

	par_take(p);
	n->loop.target = parse_targets(p);
	par_expect(p, TOK_KW_IN);
	n->loop.iter = parse_exprs(p);
	parse_loop_block(p, n, "for", &n->loop.body);
	parse_else(p, n, &n->loop.orelse);
	return par_finish(p, n);
}

static void def_header(Parser *p, Node *n)
{
	n->func.at = par_span(p);
	if (par_at(p) == TOK_NAME)
		n->func.sym = p->t->sym;
	if (!par_accept(p, TOK_NAME)) {
		par_unexpected(p, "a function's name");
		return;
	}
	par_expect(p, TOK_LPAR);
	parse_params(p, TOK_RPAR, true, n);
	par_expect(p, TOK_RPAR);
	if (par_accept(p, TOK_ARROW))
		n->func.ret = parse_annotation(p);
}

static Node *parse_def(Parser *p)
{
	Node *n = par_node(p, N_DEF, p->t->span.from);
	bool in_def = p->in_def, in_loop = p->in_loop;

	if (p->blocks && !p->lenient)
		par_refuse(p, par_span(p),
			   p->in_def ? "a function inside a function" : "a function inside a block")
			->hint =
			STR("move the def to the top level, and hand over what it needs as arguments");
	par_take(p);
	def_header(p, n);
	p->in_def = true;
	p->in_loop = false;
	parse_block_of(p, n, "def", &n->func.body);
	p->in_def = in_def;
	p->in_loop = in_loop;
	return par_finish(p, n);
}

/* ---- simple statements ---- */

static Node *parse_return(Parser *p)
{
	Node *n = par_node(p, N_RETURN, p->t->span.from);

	if (!p->in_def && !p->lenient && !par_ends_statement(p->t + 1))
		par_refuse(p, par_span(p), "`return` outside a function")->hint =
			STR("exit() ends the program");
	else if (!p->in_def && !p->lenient)
		return refuse_return(p);
	par_take(p);
	if (!par_ends_statement(p->t))
		n->expr.value = parse_exprs(p);
	return par_finish(p, n);
}

static Node *parse_jump(Parser *p)
{
	Node *n = par_node(p, p->t->kind == TOK_KW_BREAK ? N_BREAK : N_CONTINUE, p->t->span.from);

	if (!p->in_loop && !p->lenient)
		par_refuse(p, par_span(p), "%s outside a loop", tok_text(p->t->kind));
	par_take(p);
	return par_finish(p, n);
}

static Node *parse_pass(Parser *p)
{
	Node *n = par_node(p, N_PASS, p->t->span.from);

	par_take(p);
	return par_finish(p, n);
}

/* param target: ip = "10.0.0.1" */
static Node *parse_param(Parser *p)
{
	Node *n = par_node(p, N_PARAM, p->t->span.from);

	par_take(p);
	n->param.sym = p->t->sym;
	n->param.at = par_span(p);
	par_take(p);
	if (par_accept(p, TOK_COLON))
		n->param.type = parse_annotation(p);
	if (par_accept(p, TOK_ASSIGN))
		n->param.value = parse_expr(p);
	return par_finish(p, n);
}

static void result_field(Parser *p, ResultItem *f)
{
	f->span = par_span(p);
	f->name = par_at(p) == TOK_NAME ? p->t->sym : NULL;
	par_expect(p, TOK_NAME);
	par_expect(p, TOK_COLON);
	f->type = parse_annotation(p);
	if (par_at(p) == TOK_NAME) {
		f->label = p->t->sym;
		par_take(p);
	}
}

/* result Ping(sent: int clean, loss: float measured, ttls: list[int]) */
static Node *parse_result(Parser *p)
{
	Node *n = par_node(p, N_RESULT, p->t->span.from);
	VEC(ResultItem) fields = { 0 };

	if (!p->lib)
		par_refuse(p, par_span(p), "`result` declarations stand in Sonde's own library only")->hint =
			STR("a dict display with string keys is a record: {\"ttl\": 3}");
	par_take(p);
	n->result.sym = p->t->sym;
	n->result.at = par_span(p);
	par_take(p);
	par_expect(p, TOK_LPAR);
	while (par_at(p) == TOK_NAME) {
		result_field(p, vec_push(p->a, &fields, (ResultItem){ 0 }));
		if (!par_accept(p, TOK_COMMA))
			break;
	}
	par_expect(p, TOK_RPAR);
	n->result.field = fields.p;
	n->result.n = fields.n;
	return par_finish(p, n);
}

static void check_target(Parser *p, const Node *n);

static void check_targets(Parser *p, Nodes v)
{
	for (uint32_t i = 0; i < v.n; i++)
		check_target(p, v.p[i]);
}

static void check_target(Parser *p, const Node *n)
{
	if (n->kind == N_NAME || n->kind == N_ATTR || n->kind == N_BAD)
		return;
	if ((n->kind == N_TUPLE || n->kind == N_LIST) && n->list.n) {
		check_targets(p, n->list);
		return;
	}
	if (n->kind == N_INDEX && n->index.index->kind == N_SLICE) {
		par_refuse(p, n->span, "a slice can't be assigned to")->hint =
			STR("put the list together anew: x = x[:2] + new + x[4:]");
		return;
	}
	if (n->kind == N_INDEX)
		return;
	Diag *d = par_error(p, n->span, "this can't be assigned to");

	if (n->kind == N_COMPARE || n->kind == N_CALL || n->kind == N_BINARY)
		d->hint = STR("comparison is `==`");
}

static Node *parse_assign(Parser *p, Node *first)
{
	Node *n = par_node(p, N_ASSIGN, first->span.from);
	NodeVec targets = { 0 };
	Node *value = first;

	while (par_accept(p, TOK_ASSIGN)) {
		check_target(p, value);
		vec_push(p->a, &targets, value);
		value = parse_exprs(p);
	}
	n->assign.targets = ast_nodes(p->ast, targets.p, targets.n);
	n->assign.value = value;
	par_finish(p, n);
	if (value == p->lambda && targets.n == 1 && targets.p[0]->kind == N_NAME && !p->blocks && !p->panic)
		return refuse_lambda_name(p, n);
	return n;
}

static Node *parse_annotate(Parser *p, Node *target)
{
	Node *n = par_node(p, N_ANNOTATE, target->span.from);

	if (target->kind != N_NAME) {
		par_unexpected(p, "the end of the statement");
		return n;
	}
	par_take(p);
	n->annotate.target = target;
	n->annotate.type = parse_annotation(p);
	if (par_accept(p, TOK_ASSIGN))
		n->annotate.value = parse_exprs(p);
	return par_finish(p, n);
}

/* OP_N: the token is no augmented assignment. */
static BinOp augment_op(TokKind k)
{
	static const uint8_t ops[TOK_N] = {
		[TOK_ADD_EQ] = OP_ADD + 1, [TOK_SUB_EQ] = OP_SUB + 1, [TOK_MUL_EQ] = OP_MUL + 1,
		[TOK_DIV_EQ] = OP_DIV + 1, [TOK_MOD_EQ] = OP_MOD + 1, [TOK_AND_EQ] = OP_AND + 1,
		[TOK_OR_EQ] = OP_OR + 1,   [TOK_XOR_EQ] = OP_XOR + 1, [TOK_SHL_EQ] = OP_SHL + 1,
		[TOK_SHR_EQ] = OP_SHR + 1, [TOK_POW_EQ] = OP_POW + 1, [TOK_FLOOR_EQ] = OP_FLOOR + 1,
	};

	return ops[k] ? (BinOp)(ops[k] - 1) : OP_N;
}

static Node *parse_augment(Parser *p, Node *target, BinOp op)
{
	Node *n = par_node(p, N_AUGMENT, target->span.from);

	if (target->kind != N_NAME && target->kind != N_ATTR && target->kind != N_INDEX)
		par_error(p, target->span, "this can't be assigned to");
	else
		check_target(p, target);
	par_take(p);
	n->op = (uint8_t)op;
	n->augment.target = target;
	n->augment.value = parse_exprs(p);
	return par_finish(p, n);
}

static bool soft_keyword(const Parser *p, const char *word, TokKind behind)
{
	return p->t->kind == TOK_NAME && str_is(p->t->sym->text, word) && p->t[1].kind == TOK_NAME &&
	       p->t[2].kind == behind;
}

static Node *parse_simple(Parser *p)
{
	if (soft_keyword(p, "param", TOK_COLON) || soft_keyword(p, "param", TOK_ASSIGN))
		return parse_param(p);
	if (soft_keyword(p, "result", TOK_LPAR))
		return parse_result(p);
	Node *e = parse_exprs(p);

	if (par_at(p) == TOK_ASSIGN)
		return parse_assign(p, e);
	if (par_at(p) == TOK_COLON)
		return parse_annotate(p, e);
	if (augment_op(par_at(p)) != OP_N)
		return parse_augment(p, e, augment_op(par_at(p)));
	Node *n = par_node(p, N_EXPR, e->span.from);

	n->expr.value = e;
	return par_finish(p, n);
}

/* ---- statements ---- */

typedef Node *StmtFn(Parser *p);

static StmtFn *const stmt_fns[TOK_N] = {
	[TOK_KW_RETURN] = parse_return,
	[TOK_KW_BREAK] = parse_jump,
	[TOK_KW_CONTINUE] = parse_jump,
	[TOK_KW_PASS] = parse_pass,
};

static StmtFn *const block_fns[TOK_N] = {
	[TOK_KW_IF] = parse_ifs,
	[TOK_KW_WHILE] = parse_while,
	[TOK_KW_FOR] = parse_for,
	[TOK_KW_DEF] = parse_def,
};

/* Simple statements up to the end of the line. */
static void parse_line(Parser *p, NodeVec *out)
{
	do {
		if (par_at(p) == TOK_NEWLINE || par_at(p) == TOK_END)
			break;
		if (block_fns[par_at(p)]) {
			par_error(p, par_span(p), "%s must start a line of its own", tok_text(p->t->kind));
			break;
		}
		Refused refused = refuse_statement(p, out);

		if (refused == REFUSED_BLOCK)
			return;
		if (refused == REFUSED_SIMPLE)
			continue;
		StmtFn *f = stmt_fns[p->t->kind];

		vec_push(p->a, out, f ? f(p) : parse_simple(p));
		refuse_lambda(p);
	} while (par_accept(p, TOK_SEMI));
	if (!p->panic && p->t->kind != TOK_NEWLINE && p->t->kind != TOK_END)
		par_unexpected(p, "the end of the statement");
	if (p->panic)
		recover(p);
	else
		par_accept(p, TOK_NEWLINE);
}

static void unexpected_indent(Parser *p)
{
	par_refuse(p, (Span){ p->t->span.to, p->t->span.to },
		   "this line is indented, but no block starts here")
		->hint = STR("indent it as the line before");
	parse_orphan_block(p);
}

/* elif and else whose if could not be read; else they are errors of their own. */
static void stray_branch(Parser *p)
{
	if (!p->broken)
		par_refuse(p, par_span(p), "%s without a statement that it belongs to", tok_text(p->t->kind));
	par_skip_line(p);
	parse_orphan_block(p);
}

static void parse_statement(Parser *p, NodeVec *out)
{
	while (refuse_prefix(p))
		;
	StmtFn *f = block_fns[p->t->kind];

	if (p->t->kind == TOK_INDENT) {
		unexpected_indent(p);
		return;
	}
	if (p->t->kind == TOK_KW_ELSE || p->t->kind == TOK_KW_ELIF) {
		stray_branch(p);
		return;
	}
	p->broken = false;
	if (!f) {
		parse_line(p, out);
		return;
	}
	Node *n = f(p);

	if (p->hoisted)
		vec_push(p->a, out, p->hoisted);
	p->hoisted = NULL;
	vec_push(p->a, out, n);
	if (p->panic)
		recover(p);
}

void parse_statements(Parser *p, NodeVec *out)
{
	while (p->t->kind != TOK_DEDENT && p->t->kind != TOK_END)
		parse_statement(p, out);
}

bool parse_file(Ast *ast, Str name, Str text, bool lib, DiagList *d)
{
	vec_push(ast->a, &ast->files, (AstFile){ 0 });
	return parse_file_at(ast, (uint8_t)(ast->files.n - 1), name, text, lib, d);
}

bool parse_file_at(Ast *ast, uint8_t file, Str name, Str text, bool lib, DiagList *d)
{
	uint32_t before = d->errors;
	AstFile *f = &ast->files.p[file];
	NodeVec body = { 0 };

	*f = (AstFile){ .name = name, .text = text, .lib = lib };
	lex(ast->a, &ast->syms, text, d, &f->toks);
	f->lexed = d->errors == before;
	Parser p = { .ast = ast, .a = ast->a, .d = d, .text = text, .file = file, .lib = lib };

	p.first = p.t = f->toks.v.p;
	f->module = par_node(&p, N_MODULE, 0);
	while (p.t->kind != TOK_END) {
		parse_statements(&p, &body);
		par_accept(&p, TOK_DEDENT);
	}
	f = &ast->files.p[file];
	f->module->module.body = ast_nodes(ast, body.p, body.n);
	f->whole = !p.unsure && f->lexed;
	par_finish(&p, f->module);
	return d->errors == before;
}
