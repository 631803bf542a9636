/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions, statements, and the tables of a program.
 */
#include "lang/lower_priv.h"

#include "base/limits.h"
#include "lang/decl.h"

/* ---- code ---- */

uint32_t code_emit(Fn *f, Insn i)
{
	vec_push(f->lo->a, &f->code, i);
	vec_push(f->lo->a, &f->span, f->at);
	return f->code.n - 1;
}

Reg reg_temps(Fn *f, uint32_t n)
{
	Reg r = f->top;

	/* Registers beyond the limit are never run: the program is refused. */
	if (n > PROG_SLOTS_MAX || r + n > PROG_SLOTS_MAX) {
		f->lo->too_big = true;
		return 0;
	}
	f->top += n;
	if (f->top > f->most)
		f->most = f->top;
	return r;
}

Reg reg_temp(Fn *f)
{
	return reg_temps(f, 1);
}

Span code_at(Fn *f, const Node *n)
{
	Span before = f->at;

	if (!f->fixed_at)
		f->at = n->span;
	return before;
}

void code_jump(Fn *f, OpCode op, Reg a, Reg b, Jumps *j)
{
	vec_push(f->lo->a, j, code_emit(f, insn_jump(op, a, b, 0)));
}

void code_jump_back(Fn *f, OpCode op, Reg a, Reg b, uint32_t to)
{
	code_emit(f, insn_jump(op, a, b, (int32_t)to - (int32_t)code_here(f) - 1));
}

void code_land(Fn *f, Jumps *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		Insn *in = &f->code.p[j->p[i]];

		*in = insn_jump((OpCode)in->op, in->a, in->b, (int32_t)code_here(f) - (int32_t)j->p[i] - 1);
	}
	j->n = 0;
}

void code_meter(Fn *f, const Node *test)
{
	const LabelMarks *m = f->lo->in->marks;

	if (m && m->test && m->test[test->id])
		code_emit(f, insn_abc(I_METER, 0, 0, 0, 1));
}

/* ---- tables ---- */

/* The index of a key in a table that `count` counts; *ret_new: it is new, and the
 * caller appends. */
static uint32_t table_index(Map *m, Arena *a, Bytes key, uint32_t count, bool *ret_new)
{
	uint64_t *slot = map_get(m, key);

	*ret_new = !slot;
	if (slot)
		return (uint32_t)*slot;
	*map_put(m, BYTES(arena_copy(a, key.p, key.n), key.n)) = count;
	return count;
}

static Bytes const_key(Arena *a, const Const *c)
{
	Sb b = sb(a);

	sb_char(&b, (char)c->kind);
	switch (c->kind) {
	case K_STR:
	case K_BYTES:
		sb_str(&b, c->s);
		break;
	case K_IP:
	case K_NET:
		sb_char(&b, (char)(c->kind == K_IP ? c->ip.v : c->net.ip.v));
		sb_char(&b, (char)(c->kind == K_IP ? 0 : c->net.bits));
		sb_str(&b, (Str){ (const char *)(c->kind == K_IP ? c->ip.b : c->net.ip.b), 16 });
		break;
	case K_MAC:
		sb_str(&b, (Str){ (const char *)c->mac.b, 6 });
		break;
	default:
		sb_str(&b, (Str){ (const char *)&c->i, 8 });
		break;
	}
	return str_bytes(sb_done(&b));
}

void code_load_const(Fn *f, Reg dst, Const c)
{
	Lower *lo = f->lo;
	bool fresh;
	uint32_t k = table_index(&lo->consts, lo->a, const_key(lo->a, &c), lo->konst.n, &fresh);

	if (fresh)
		vec_push(lo->a, &lo->konst, c);
	code_emit(f, insn_wide(I_LOADK, dst, k));
}

void code_load_int(Fn *f, Reg dst, int64_t v)
{
	if (v >= INT32_MIN && v <= INT32_MAX)
		code_emit(f, insn_wide(I_LOADI, dst, (uint32_t)v));
	else
		code_load_const(f, dst, (Const){ .kind = K_INT, .i = v });
}

void code_load_str(Fn *f, Reg dst, Str s)
{
	code_load_const(f, dst, (Const){ .kind = K_STR, .s = s });
}

uint16_t prog_name(Lower *lo, Str s)
{
	bool fresh;
	uint32_t k = table_index(&lo->names, lo->a, str_bytes(s), lo->name.n, &fresh);

	if (fresh)
		vec_push(lo->a, &lo->name, s);
	lo->too_big |= k > UINT16_MAX;
	return (uint16_t)k;
}

uint16_t prog_fn(Lower *lo, Node *def)
{
	if (!lo->fn_of[def->id]) {
		vec_push(lo->a, &lo->fn, (ProgFn){ 0 });
		lo->fn_of[def->id] = lo->fn.n;
		vec_push(lo->a, &lo->todo, def);
		vec_push(lo->a, &lo->todo_fn, lo->fn.n - 1);
	}
	return (uint16_t)(lo->fn_of[def->id] - 1);
}

static uint8_t label_of(const Sym *y)
{
	if (y && str_is(y->text, "clean"))
		return LABEL_CLEAN;
	return y && str_is(y->text, "measured") ? LABEL_MEASURED : LABEL_CONTENT;
}

static Str source_of(const Lower *lo, const Node *n)
{
	Str text = lo->in->ast->files.p[n->file].text;

	return (Str){ text.p + n->span.from, n->span.to - n->span.from };
}

uint16_t prog_result(Lower *lo, Node *n)
{
	if (!lo->fn_of[n->id]) {
		ResultField *field = arena_new_n(lo->a, ResultField, n->result.n);

		for (uint32_t i = 0; i < n->result.n; i++)
			field[i] = (ResultField){ .name = n->result.field[i].name->text,
						  .type = source_of(lo, n->result.field[i].type),
						  .label = label_of(n->result.field[i].label) };
		vec_push(lo->a, &lo->result,
			 (ResultType){
				 .name = n->result.sym->text, .n = (uint16_t)n->result.n, .field = field });
		lo->fn_of[n->id] = lo->result.n;
	}
	return (uint16_t)(lo->fn_of[n->id] - 1);
}

/* ---- variables ---- */

bool var_reg(const Fn *f, const Var *v, Reg *ret)
{
	if (v->kind == VAR_GLOBAL && !f->module)
		return false;
	*ret = v->slot + (f->module && v->kind == VAR_COMP ? f->lo->nglobals : 0);
	return true;
}

void var_set_assigned(Fn *f, const Var *v)
{
	for (uint32_t i = 0; i < f->assigned.n; i++)
		if (f->assigned.p[i] == v)
			return;
	vec_push(f->lo->a, &f->assigned, v);
}

void var_check_assigned(Fn *f, const Var *v, Reg r)
{
	if (v->kind == VAR_COMP || v->kind == VAR_CAPTURE || v->is_param)
		return;
	for (uint32_t i = 0; i < f->assigned.n; i++)
		if (f->assigned.p[i] == v)
			return;
	code_emit(f, insn_abc(I_CHECK, 0, r, prog_name(f->lo, v->sym->text), 0));
}

/* ---- assignment ---- */

static void assign_name(Fn *f, const Node *n, Reg value)
{
	Reg r;

	if (!var_reg(f, n->name.var, &r))
		return;
	if (r != value)
		code_emit(f, insn_abc(I_MOVE, 0, r, value, 0));
	var_set_assigned(f, n->name.var);
}

static void assign_items(Fn *f, Nodes targets, Reg value)
{
	Reg base = reg_temps(f, targets.n);

	code_emit(f, insn_abc(I_UNPACK, 0, base, value, targets.n));
	for (uint32_t i = 0; i < targets.n; i++)
		stmt_assign_to(f, targets.p[i], base + i);
}

/* p.ttl = v, p[IP].ttl = v: the variable gets a changed copy. */
static void assign_attr(Fn *f, const Node *n, Reg value)
{
	Node *obj = n->attr.obj;
	WireId layer = WIRE_NONE;

	if (obj->kind == N_INDEX && obj->index.index->kind == N_NAME &&
	    obj->index.index->name.ref == REF_PROTO) {
		layer = (WireId)obj->index.index->name.index;
		obj = obj->index.obj;
	}
	code_pay(f, n, value, false);
	code_emit(f,
		  insn_abc(I_SETATTR, layer, expr_any(f, obj), prog_name(f->lo, n->attr.sym->text), value));
}

void stmt_assign_to(Fn *f, Node *target, Reg value)
{
	Reg top = f->top;
	Span before = code_at(f, target);

	switch (target->kind) {
	case N_NAME:
		assign_name(f, target, value);
		break;
	case N_TUPLE:
	case N_LIST:
		assign_items(f, target->list, value);
		break;
	case N_ATTR:
		assign_attr(f, target, value);
		break;
	default: { /* INDEX */
		Reg obj = expr_any(f, target->index.obj), key = expr_any(f, target->index.index);

		code_emit(f, insn_abc(I_PUT, 0, obj, key, value));
		break;
	}
	}
	f->at = before;
	f->top = top;
}

/* x = value without a move. */
static bool assign_direct(Fn *f, const Node *target, Node *value, const Node *type)
{
	Reg r;
	Const c;

	if (target->kind != N_NAME || !expr_writes_last(value) || !var_reg(f, target->name.var, &r))
		return false;
	if (type && conv_literal(type, value, &c)) {
		code_load_const(f, r, c);
	} else {
		expr_into(f, value, r);
		conv_emit(f, type, r);
	}
	var_set_assigned(f, target->name.var);
	return true;
}

/* a, b = c, d: without making the tuple. */
static bool assign_pairs(Fn *f, const Node *target, const Node *value)
{
	if (target->kind != N_TUPLE || value->kind != N_TUPLE || target->list.n != value->list.n)
		return false;
	Reg base = reg_temps(f, value->list.n);

	expr_each_into(f, value->list.p, value->list.n, base);
	for (uint32_t i = 0; i < target->list.n; i++)
		stmt_assign_to(f, target->list.p[i], base + i);
	return true;
}

static void do_assign(Fn *f, Node *n)
{
	Nodes t = n->assign.targets;

	if (t.n == 1 &&
	    (assign_direct(f, t.p[0], n->assign.value, NULL) || assign_pairs(f, t.p[0], n->assign.value)))
		return;
	Reg value = expr_any(f, n->assign.value);

	for (uint32_t i = 0; i < t.n; i++)
		stmt_assign_to(f, t.p[i], value);
}

static void do_annotate(Fn *f, Node *n)
{
	if (!n->annotate.value || assign_direct(f, n->annotate.target, n->annotate.value, n->annotate.type))
		return;
	Reg r = reg_temp(f);

	expr_into(f, n->annotate.value, r);
	conv_emit(f, n->annotate.type, r);
	stmt_assign_to(f, n->annotate.target, r);
}

static void augment(Fn *f, const Node *n, Reg dst, Reg old)
{
	const Node *v = n->augment.value;

	if (n->op == OP_ADD && v->kind == N_INT && v->i >= INT16_MIN && v->i <= INT16_MAX) {
		code_emit(f, insn_abc(I_ADDI, 0, dst, old, (uint16_t)v->i));
		return;
	}
	code_emit(f,
		  insn_abc(expr_binary_op((BinOp)n->op), IN_PLACE, dst, old, expr_any(f, n->augment.value)));
}

static void do_augment(Fn *f, Node *n)
{
	Node *t = n->augment.target;

	if (t->kind == N_NAME) {
		Reg r = expr_any(f, t);

		augment(f, n, r, r);
		assign_name(f, t, r);
		return;
	}
	Reg old = reg_temp(f);

	if (t->kind == N_ATTR) {
		code_emit(f, insn_abc(I_ATTR, 0, old, expr_any(f, t->attr.obj),
				      prog_name(f->lo, t->attr.sym->text)));
		augment(f, n, old, old);
		assign_attr(f, t, old);
		return;
	}
	Reg obj = expr_any(f, t->index.obj), key = expr_any(f, t->index.index);

	code_emit(f, insn_abc(I_INDEX, 0, old, obj, key));
	augment(f, n, old, old);
	code_emit(f, insn_abc(I_PUT, 0, obj, key, old));
}

/* ---- statements ---- */

static void statement(Fn *f, Node *n);

/* What a block assigns is not sure behind it. */
static void block(Fn *f, Nodes body)
{
	uint32_t assigned = f->assigned.n;

	for (uint32_t i = 0; i < body.n; i++)
		statement(f, body.p[i]);
	f->assigned.n = assigned;
}

static void do_if(Fn *f, Node *n)
{
	Jumps orelse = { 0 }, end = { 0 };

	expr_jump_if(f, n->branch.test, false, &orelse);
	block(f, n->branch.body);
	if (n->branch.orelse.n)
		code_jump(f, I_JMP, 0, 0, &end);
	code_land(f, &orelse);
	block(f, n->branch.orelse);
	code_land(f, &end);
}

static void do_while(Fn *f, Node *n)
{
	LoopCtx loop = { .outer = f->loop };
	Jumps test = { 0 };

	code_jump(f, I_JMP, 0, 0, &test);
	uint32_t body = code_here(f);

	f->loop = &loop;
	block(f, n->branch.body);
	f->loop = loop.outer;
	code_land(f, &loop.cont);
	code_land(f, &test);
	/* The test stands behind the body: one jump a round. */
	Span before = code_at(f, n->branch.test);
	Jumps again = { 0 };

	expr_jump_if(f, n->branch.test, true, &again);
	for (uint32_t i = 0; i < again.n; i++) {
		Insn *in = &f->code.p[again.p[i]];

		*in = insn_jump((OpCode)in->op, in->a, in->b, (int32_t)body - (int32_t)again.p[i] - 1);
	}
	f->at = before;
	block(f, n->branch.orelse);
	code_land(f, &loop.brk);
}

static void do_for(Fn *f, Node *n)
{
	LoopCtx loop = { .outer = f->loop };
	Jumps test = { 0 };
	Node *t = n->loop.target;
	Reg seq = expr_any(f, n->loop.iter), iter = reg_temps(f, 3), item;
	uint32_t assigned = f->assigned.n;

	code_emit(f, insn_abc(I_ITER, 0, iter, seq, 0));
	code_jump(f, I_JMP, 0, 0, &test);
	uint32_t body = code_here(f);
	bool direct = t->kind == N_NAME && var_reg(f, t->name.var, &item);

	if (direct)
		var_set_assigned(f, t->name.var);
	else
		stmt_assign_to(f, t, item = reg_temp(f));
	f->loop = &loop;
	block(f, n->loop.body);
	f->loop = loop.outer;
	f->assigned.n = assigned;
	code_land(f, &loop.cont);
	code_land(f, &test);
	code_meter(f, n->loop.iter);
	code_jump_back(f, I_FOR, iter, item, body);
	block(f, n->loop.orelse);
	code_land(f, &loop.brk);
}

static void do_break(Fn *f, Node *n)
{
	(void)n;
	if (f->loop)
		code_jump(f, I_JMP, 0, 0, &f->loop->brk);
}

static void do_continue(Fn *f, Node *n)
{
	(void)n;
	if (f->loop)
		code_jump(f, I_JMP, 0, 0, &f->loop->cont);
}

static void do_return(Fn *f, Node *n)
{
	const Node *type = f->node->kind == N_DEF ? f->node->func.ret : NULL;

	if (!n->expr.value) {
		code_emit(f, insn_abc(I_RETNONE, 0, 0, 0, 0));
		return;
	}
	Reg r = expr_any(f, n->expr.value);

	if (type) {
		Reg t = reg_temp(f);

		code_emit(f, insn_abc(I_MOVE, 0, t, r, 0));
		conv_emit(f, type, t);
		r = t;
	}
	code_emit(f, insn_abc(I_RETURN, 0, r, 0, 0));
}

static bool is_declaration(const Node *v)
{
	return v->kind == N_CALL && v->call.fn->kind == N_NAME && v->call.fn->name.ref == REF_DECL;
}

static void do_expr(Fn *f, Node *n)
{
	Node *v = n->expr.value;

	if (v->kind != N_STR && !is_declaration(v))
		expr_into(f, v, reg_temp(f));
}

static void do_param(Fn *f, Node *n)
{
	const LowerIn *in = f->lo->in;
	Reg r = n->param.var->slot;
	Const c;

	for (uint32_t i = 0; i < in->nparam; i++)
		if (str_eq(in->param[i].name, n->param.sym->text) &&
		    lower_param_value(f->lo->a, n, in->param[i].value, &c)) {
			if (c.kind == K_INT && n->param.type && str_is(n->param.type->type.sym->text, "bool"))
				code_emit(f, insn_abc(I_LOADBOOL, (unsigned)c.i, r, 0, 0));
			else
				code_load_const(f, r, c);
			if (c.kind == K_STR) /* a name where an address is meant */
				conv_emit(f, n->param.type, r);
			var_set_assigned(f, n->param.var);
			return;
		}
	if (!n->param.value)
		return;
	if (n->param.type && conv_literal(n->param.type, n->param.value, &c)) {
		code_load_const(f, r, c);
	} else {
		expr_into(f, n->param.value, r);
		conv_emit(f, n->param.type, r);
	}
	var_set_assigned(f, n->param.var);
}

static void do_nothing(Fn *f, Node *n)
{
	(void)f;
	(void)n;
}

static void statement(Fn *f, Node *n)
{
	static void (*const rows[N_COUNT])(Fn *, Node *) = {
		[N_EXPR] = do_expr,	  [N_ASSIGN] = do_assign,  [N_ANNOTATE] = do_annotate,
		[N_AUGMENT] = do_augment, [N_IF] = do_if,	   [N_WHILE] = do_while,
		[N_FOR] = do_for,	  [N_BREAK] = do_break,	   [N_CONTINUE] = do_continue,
		[N_PASS] = do_nothing,	  [N_RETURN] = do_return,  [N_DEF] = do_nothing,
		[N_PARAM] = do_param,	  [N_RESULT] = do_nothing,
	};
	Reg top = f->top;
	Span before = code_at(f, n);

	rows[n->kind](f, n);
	f->top = top;
	f->at = before;
}

/* ---- functions ---- */

static void fn_finish(Fn *f, ProgFn *out)
{
	code_emit(f, insn_abc(I_RETNONE, 0, 0, 0, 0));
	out->module = f->module;
	out->lib = f->lo->in->ast->files.p[f->file].lib;
	out->nslots = (uint16_t)(f->most ? f->most : 1);
	out->ncode = f->code.n;
	out->code = f->code.p;
	out->span = f->span.p;
}

static void params_convert(Fn *f, const Node *n)
{
	for (uint32_t i = 0; i < n->func.n; i++) {
		const Param *p = &n->func.param[i];

		f->at = p->span;
		conv_emit(f, p->type, i);
	}
}

uint32_t prog_required_params(const Node *n)
{
	uint32_t k = 0;

	while (k < n->func.n && !n->func.param[k].dflt)
		k++;
	return k;
}

/* A DEF or LAMBDA.  A lambda's parameters with defaults are captured values: it is
 * called without them, and they are evaluated when it is made. */
void prog_fn_body(Lower *lo, Node *n, uint32_t number)
{
	const Scope *s = n->func.scope;
	uint32_t defaults = n->kind == N_LAMBDA ? n->func.n - prog_required_params(n) : 0;
	Fn f = { .lo = lo, .node = n, .file = n->file, .at = n->span };
	ProgFn out = { .name = n->func.sym ? n->func.sym->text : STR("lambda"),
		       .nparams = (uint16_t)(n->func.n - defaults),
		       .ncaptured = (uint16_t)(s->captures.n + defaults) };

	f.top = s->n_slots;
	f.most = f.top;
	lo->too_big |= f.top > PROG_SLOTS_MAX;
	params_convert(&f, n);
	f.at = n->span;
	code_meter(&f, n);
	if (n->kind == N_LAMBDA) {
		Span before = code_at(&f, n->func.value);
		Reg r = expr_any(&f, n->func.value);

		code_emit(&f, insn_abc(I_RETURN, 0, r, 0, 0));
		f.at = before;
	}
	for (uint32_t i = 0; n->kind == N_DEF && i < n->func.body.n; i++)
		statement(&f, n->func.body.p[i]);
	fn_finish(&f, &out);
	lo->fn.p[number] = out;
}

static void module_body(Lower *lo, Node *m)
{
	Fn f = { .lo = lo, .node = m, .module = true, .file = m->file };
	ProgFn out = { .name = STR("module") };

	vec_push(lo->a, &lo->fn, (ProgFn){ 0 });
	f.top = lo->nglobals + m->module.scope->n_slots;
	f.most = f.top;
	lo->too_big |= f.top > PROG_SLOTS_MAX;
	for (uint32_t i = 0; i < m->module.body.n; i++)
		statement(&f, m->module.body.p[i]);
	fn_finish(&f, &out);
	lo->fn.p[0] = out;
}

static void reflect_bounds(Lower *lo, Program *p)
{
	const Manifest *m = lo->in->manifest;
	uint32_t n = m ? m->decls.reflect.n : 0;
	int64_t *most = arena_new_n(lo->a, int64_t, n + 1);

	for (uint32_t i = 0; i < n; i++)
		most[i] = m->decls.reflect.p[i].max;
	p->nreflect = n < UINT8_MAX ? n : UINT8_MAX;
	p->reflect_max = most;
	p->leak_end = m ? m->leak_end : LEAK_END_FREE;
}

static Program *program(Lower *lo)
{
	Program *p = arena_new(lo->a, Program);
	uint16_t *entry = arena_new(lo->a, uint16_t); /* the program's module is function 0 */

	*p = (Program){ .source = lo->in->ast->files.p[0].text,
			.nglobals = lo->nglobals,
			.nfn = lo->fn.n,
			.nconst = lo->konst.n,
			.nname = lo->name.n,
			.nmsite = lo->msite.n,
			.nlsite = lo->lsite.n,
			.nresult = lo->result.n,
			.nentry = 1,
			.fn = lo->fn.p,
			.konst = lo->konst.p,
			.name = lo->name.p,
			.msite = lo->msite.p,
			.lsite = lo->lsite.p,
			.result = lo->result.p,
			.entry = entry };
	reflect_bounds(lo, p);
	p->ntold = lo->told.n;
	p->told = lo->told.p;
	p->told_all = lo->in->marks ? lo->in->marks->told_all : (ProgTold){ 0 };
	p->told_sent = lo->in->marks ? lo->in->marks->told_sent : (ProgTold){ 0 };
	p->told_error = lo->in->marks ? lo->in->marks->told_error : (ProgTold){ 0 };
	return p;
}

const Program *lower_run(const LowerIn *in)
{
	Lower *lo = arena_new(in->a, Lower);

	*lo = (Lower){
		.a = in->a, .in = in, .consts.a = in->a, .names.a = in->a, .nglobals = in->scopes->n_globals
	};
	lo->fn_of = arena_new_n(in->a, uint32_t, in->ast->n_nodes);
	lo->value_of = arena_new_n(in->a, uint32_t, in->ast->n_nodes);
	sigs_init(&lo->sigs, in->a);
	module_body(lo, in->ast->files.p[0].module);
	for (uint32_t i = 0; i < lo->todo.n && !lo->too_big; i++)
		prog_fn_body(lo, lo->todo.p[i], lo->todo_fn.p[i]);
	if (!lo->too_big && lo->fn.n <= UINT16_MAX)
		return program(lo);
	diag_add(in->diags, "E-COMPLEX", (Span){ 0, 0 },
		 "the program needs more than %d registers in one function", PROG_SLOTS_MAX)
		->hint = STR("take long displays and deep expressions apart");
	return NULL;
}
