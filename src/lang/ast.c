/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/ast.h"

#include "base/escape.h"

#include <inttypes.h>

void ast_init(Ast *ast, Arena *a)
{
	*ast = (Ast){ .a = a, .n_nodes = 1 };
	syms_init(&ast->syms, a);
}

Node *ast_node(Ast *ast, NodeKind kind, uint8_t file, Span span)
{
	Node *n = arena_new(ast->a, Node);

	n->kind = (uint8_t)kind;
	n->file = file;
	n->id = ast->n_nodes++;
	n->span = span;
	return n;
}

Nodes ast_nodes(Ast *ast, Node *const *p, uint32_t n)
{
	Nodes ret = { .p = arena_new_n(ast->a, Node *, n), .n = n };

	if (n)
		memcpy(ret.p, p, n * sizeof(Node *));
	return ret;
}

/* ---- names of kinds and operators ---- */

const char *node_kind_name(NodeKind k)
{
#define KIND_NAME_(id, ...) [N_##id] = #id,
	static const char *const names[] = { NODE_KINDS(KIND_NAME_) };

	return names[k];
}

#define OP_TEXT_(id, text, prec) [OP_##id] = (text),
#define CMP_TEXT_(id, text)	 [CMP_##id] = (text),
#define UN_TEXT_(id, text)	 [UN_##id] = (text),

const char *bin_op_text(BinOp op)
{
	static const char *const texts[] = { BIN_OPS(OP_TEXT_) };

	return texts[op];
}

const char *cmp_op_text(CmpOp op)
{
	static const char *const texts[] = { CMP_OPS(CMP_TEXT_) };

	return texts[op];
}

const char *un_op_text(UnOp op)
{
	static const char *const texts[] = { UN_OPS(UN_TEXT_) };

	return texts[op];
}

/* ---- children, a function per union member ---- */

static void each_nodes(Nodes v, AstVisit *f, void *ctx)
{
	for (uint32_t i = 0; i < v.n; i++)
		f(v.p[i], ctx);
}

static void each_none(Node *n, AstVisit *f, void *ctx)
{
	(void)n;
	(void)f;
	(void)ctx;
}

#define each_i	  each_none
#define each_f	  each_none
#define each_s	  each_none
#define each_name each_none

static void each_list(Node *n, AstVisit *f, void *ctx)
{
	each_nodes(n->list, f, ctx);
}

static void each_field(Node *n, AstVisit *f, void *ctx)
{
	f(n->field.value, ctx);
	f(n->field.spec, ctx);
}

static void each_comp(Node *n, AstVisit *f, void *ctx)
{
	f(n->comp.key, ctx);
	f(n->comp.value, ctx);
	for (uint32_t i = 0; i < n->comp.n; i++) {
		f(n->comp.clause[i].target, ctx);
		f(n->comp.clause[i].value, ctx);
	}
}

static void each_unary(Node *n, AstVisit *f, void *ctx)
{
	f(n->unary.value, ctx);
}

static void each_binary(Node *n, AstVisit *f, void *ctx)
{
	f(n->binary.left, ctx);
	f(n->binary.right, ctx);
}

static void each_compare(Node *n, AstVisit *f, void *ctx)
{
	f(n->compare.left, ctx);
	for (uint32_t i = 0; i < n->compare.n; i++)
		f(n->compare.link[i].right, ctx);
}

static void each_cond(Node *n, AstVisit *f, void *ctx)
{
	f(n->cond.then, ctx);
	f(n->cond.test, ctx);
	f(n->cond.orelse, ctx);
}

static void each_call(Node *n, AstVisit *f, void *ctx)
{
	f(n->call.fn, ctx);
	for (uint32_t i = 0; i < n->call.n; i++)
		f(n->call.arg[i].value, ctx);
}

static void each_attr(Node *n, AstVisit *f, void *ctx)
{
	f(n->attr.obj, ctx);
}

static void each_index(Node *n, AstVisit *f, void *ctx)
{
	f(n->index.obj, ctx);
	f(n->index.index, ctx);
}

static void each_slice(Node *n, AstVisit *f, void *ctx)
{
	f(n->slice.lo, ctx);
	f(n->slice.hi, ctx);
	f(n->slice.step, ctx);
}

static void each_func(Node *n, AstVisit *f, void *ctx)
{
	for (uint32_t i = 0; i < n->func.n; i++) {
		f(n->func.param[i].type, ctx);
		f(n->func.param[i].dflt, ctx);
	}
	f(n->func.ret, ctx);
	each_nodes(n->func.body, f, ctx);
	f(n->func.value, ctx);
}

static void each_expr(Node *n, AstVisit *f, void *ctx)
{
	f(n->expr.value, ctx);
}

static void each_assign(Node *n, AstVisit *f, void *ctx)
{
	each_nodes(n->assign.targets, f, ctx);
	f(n->assign.value, ctx);
}

static void each_annotate(Node *n, AstVisit *f, void *ctx)
{
	f(n->annotate.target, ctx);
	f(n->annotate.type, ctx);
	f(n->annotate.value, ctx);
}

static void each_augment(Node *n, AstVisit *f, void *ctx)
{
	f(n->augment.target, ctx);
	f(n->augment.value, ctx);
}

static void each_branch(Node *n, AstVisit *f, void *ctx)
{
	f(n->branch.test, ctx);
	each_nodes(n->branch.body, f, ctx);
	each_nodes(n->branch.orelse, f, ctx);
}

static void each_loop(Node *n, AstVisit *f, void *ctx)
{
	f(n->loop.target, ctx);
	f(n->loop.iter, ctx);
	each_nodes(n->loop.body, f, ctx);
	each_nodes(n->loop.orelse, f, ctx);
}

static void each_param(Node *n, AstVisit *f, void *ctx)
{
	f(n->param.type, ctx);
	f(n->param.value, ctx);
}

static void each_result(Node *n, AstVisit *f, void *ctx)
{
	for (uint32_t i = 0; i < n->result.n; i++)
		f(n->result.field[i].type, ctx);
}

static void each_type(Node *n, AstVisit *f, void *ctx)
{
	each_nodes(n->type.args, f, ctx);
}

static void each_module(Node *n, AstVisit *f, void *ctx)
{
	each_nodes(n->module.body, f, ctx);
}

/* Children with the absent ones as NULL. */
static void each_slot(Node *n, AstVisit *f, void *ctx)
{
#define EACH_(id, member, doc) [N_##id] = each_##member,
	static void (*const rows[N_COUNT])(Node *, AstVisit *, void *) = { NODE_KINDS(EACH_) };

	rows[n->kind](n, f, ctx);
}

typedef struct Each {
	AstVisit *f;
	void *ctx;
} Each;

static void each_present(Node *child, void *ctx)
{
	const Each *e = ctx;

	if (child)
		e->f(child, e->ctx);
}

void ast_each(Node *n, AstVisit *f, void *ctx)
{
	each_slot(n, each_present, &(Each){ f, ctx });
}

/* ---- dump: what a node says beside its children, a function per union member ---- */

static void dump_sym(const Sym *y, Sb *out)
{
	sb_char(out, ' ');
	sb_str(out, y ? y->text : STR("-"));
}

static void say_none(const Node *n, Sb *out)
{
	(void)n;
	(void)out;
}

#define say_list     say_none
#define say_unary    say_none
#define say_binary   say_none
#define say_cond     say_none
#define say_index    say_none
#define say_slice    say_none
#define say_expr     say_none
#define say_annotate say_none
#define say_augment  say_none
#define say_module   say_none

static void say_i(const Node *n, Sb *out)
{
	sb_printf(out, " %" PRId64, n->i);
}

static void say_f(const Node *n, Sb *out)
{
	sb_printf(out, " %.17g", n->f);
}

static void say_s(const Node *n, Sb *out)
{
	sb_cstr(out, " \"");
	escape_peer(out, str_bytes(n->s));
	sb_char(out, '"');
}

static void say_name(const Node *n, Sb *out)
{
	dump_sym(n->name.sym, out);
}

static void say_field(const Node *n, Sb *out)
{
	if (n->field.conv)
		sb_printf(out, " !%c", n->field.conv);
}

static void say_comp(const Node *n, Sb *out)
{
	sb_printf(out, " %u", n->comp.n);
}

static void say_compare(const Node *n, Sb *out)
{
	for (uint32_t i = 0; i < n->compare.n; i++)
		sb_printf(out, " %s", cmp_op_text(n->compare.link[i].op));
}

static void say_call(const Node *n, Sb *out)
{
	for (uint32_t i = 0; i < n->call.n; i++)
		if (n->call.arg[i].name)
			sb_printf(out, " %u=%.*s", i, STR_ARG(n->call.arg[i].name->text));
}

static void say_attr(const Node *n, Sb *out)
{
	dump_sym(n->attr.sym, out);
}

static void say_func(const Node *n, Sb *out)
{
	dump_sym(n->func.sym, out);
	for (uint32_t i = 0; i < n->func.n; i++)
		dump_sym(n->func.param[i].name, out);
}

static void say_assign(const Node *n, Sb *out)
{
	sb_printf(out, " %u", n->assign.targets.n);
}

static void say_branch(const Node *n, Sb *out)
{
	sb_printf(out, " %u %u", n->branch.body.n, n->branch.orelse.n);
}

static void say_loop(const Node *n, Sb *out)
{
	sb_printf(out, " %u %u", n->loop.body.n, n->loop.orelse.n);
}

static void say_param(const Node *n, Sb *out)
{
	dump_sym(n->param.sym, out);
}

static void say_result(const Node *n, Sb *out)
{
	dump_sym(n->result.sym, out);
	for (uint32_t i = 0; i < n->result.n; i++) {
		dump_sym(n->result.field[i].name, out);
		dump_sym(n->result.field[i].label, out);
	}
}

static void say_type(const Node *n, Sb *out)
{
	dump_sym(n->type.sym, out);
	if (n->type.optional)
		sb_char(out, '?');
}

static void dump_slot(Node *child, void *ctx)
{
	Sb *out = ctx;

	sb_char(out, ' ');
	if (child)
		ast_dump(child, out);
	else
		sb_char(out, '-');
}

void ast_dump(const Node *n, Sb *out)
{
#define SAY_(id, member, doc) [N_##id] = say_##member,
	static void (*const rows[N_COUNT])(const Node *, Sb *) = { NODE_KINDS(SAY_) };
	const char *op = n->kind == N_UNARY ? un_op_text((UnOp)n->op)
			 : n->kind == N_BINARY || n->kind == N_BOOLOP || n->kind == N_AUGMENT
				 ? bin_op_text((BinOp)n->op)
				 : node_kind_name((NodeKind)n->kind);

	sb_printf(out, "(%s%s", n->kind == N_AUGMENT ? "AUGMENT " : "", op);
	rows[n->kind](n, out);
	each_slot((Node *)(uintptr_t)n, dump_slot, out);
	sb_char(out, ')');
}
