/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions, statements, and the tables of a program.
 */
#include "lang/lower_priv.h"

#include "base/limits.h"
#include "lang/decl.h"

/* ---- code ---- */

uint32_t emit(Fn *f, Insn i)
{
	vec_push(f->lo->a, &f->code, i);
	vec_push(f->lo->a, &f->span, f->at);
	return f->code.n - 1;
}

Reg temps(Fn *f, uint32_t n)
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

Reg temp(Fn *f)
{
	return temps(f, 1);
}

Span at_node(Fn *f, const Node *n)
{
	Span before = f->at;

	if (!f->fixed_at)
		f->at = n->span;
	return before;
}

void jump(Fn *f, OpCode op, Reg a, Reg b, Jumps *j)
{
	vec_push(f->lo->a, j, emit(f, insn_jump(op, a, b, 0)));
}

void jump_back(Fn *f, OpCode op, Reg a, Reg b, uint32_t to)
{
	emit(f, insn_jump(op, a, b, (int32_t)to - (int32_t)here(f) - 1));
}

void land(Fn *f, Jumps *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		Insn *in = &f->code.p[j->p[i]];

		*in = insn_jump((OpCode)in->op, in->a, in->b, (int32_t)here(f) - (int32_t)j->p[i] - 1);
	}
	j->n = 0;
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

void load_const(Fn *f, Reg dst, Const c)
{
	Lower *lo = f->lo;
	bool fresh;
	uint32_t k = table_index(&lo->consts, lo->a, const_key(lo->a, &c), lo->konst.n, &fresh);

	if (fresh)
		vec_push(lo->a, &lo->konst, c);
	emit(f, insn_wide(I_LOADK, dst, k));
}

void load_int(Fn *f, Reg dst, int64_t v)
{
	if (v >= INT32_MIN && v <= INT32_MAX)
		emit(f, insn_wide(I_LOADI, dst, (uint32_t)v));
	else
		load_const(f, dst, (Const){ .kind = K_INT, .i = v });
}

void load_str(Fn *f, Reg dst, Str s)
{
	load_const(f, dst, (Const){ .kind = K_STR, .s = s });
}

uint16_t name_index(Lower *lo, Str s)
{
	bool fresh;
	uint32_t k = table_index(&lo->names, lo->a, str_bytes(s), lo->name.n, &fresh);

	if (fresh)
		vec_push(lo->a, &lo->name, s);
	lo->too_big |= k > UINT16_MAX;
	return (uint16_t)k;
}

uint16_t fn_index(Lower *lo, Node *def)
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

uint16_t result_index(Lower *lo, Node *n)
{
	if (!lo->fn_of[n->id]) {
		ResultField *field = arena_new_n(lo->a, ResultField, n->result.n);

		for (uint32_t i = 0; i < n->result.n; i++)
			field[i] = (ResultField){ .name = n->result.field[i].name->text,
						  .type = source_of(lo, n->result.field[i].type),
						  .label = label_of(n->result.field[i].label) };
		vec_push(lo->a, &lo->result,
			 (ResultType){ .name = n->result.sym->text, .n = (uint16_t)n->result.n, .field = field });
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

void set_assigned(Fn *f, const Var *v)
{
	for (uint32_t i = 0; i < f->assigned.n; i++)
		if (f->assigned.p[i] == v)
			return;
	vec_push(f->lo->a, &f->assigned, v);
}

void check_assigned(Fn *f, const Var *v, Reg r)
{
	if (v->kind == VAR_COMP || v->kind == VAR_CAPTURE || v->is_param)
		return;
	for (uint32_t i = 0; i < f->assigned.n; i++)
		if (f->assigned.p[i] == v)
			return;
	emit(f, insn_abc(I_CHECK, 0, r, name_index(f->lo, v->sym->text), 0));
}

/* ---- assignment ---- */

static void assign_name(Fn *f, const Node *n, Reg value)
{
	Reg r;

	if (!var_reg(f, n->name.var, &r))
		return;
	if (r != value)
		emit(f, insn_abc(I_MOVE, 0, r, value, 0));
	set_assigned(f, n->name.var);
}

static void assign_items(Fn *f, Nodes targets, Reg value)
{
	Reg base = temps(f, targets.n);

	emit(f, insn_abc(I_UNPACK, 0, base, value, targets.n));
	for (uint32_t i = 0; i < targets.n; i++)
		assign_to(f, targets.p[i], base + i);
}

/* p.ttl = v, p[IP].ttl = v: the variable gets a changed copy. */
static void assign_attr(Fn *f, const Node *n, Reg value)
{
	Node *obj = n->attr.obj;
	WireId layer = WIRE_NONE;

	if (obj->kind == N_INDEX && obj->index.index->kind == N_NAME && obj->index.index->name.ref == REF_PROTO) {
		layer = (WireId)obj->index.index->name.index;
		obj = obj->index.obj;
	}
	emit(f, insn_abc(I_SETATTR, layer, any(f, obj), name_index(f->lo, n->attr.sym->text), value));
}

void assign_to(Fn *f, Node *target, Reg value)
{
	Reg top = f->top;
	Span before = at_node(f, target);

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
		Reg obj = any(f, target->index.obj), key = any(f, target->index.index);

		emit(f, insn_abc(I_PUT, 0, obj, key, value));
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

	if (target->kind != N_NAME || !writes_last(value) || !var_reg(f, target->name.var, &r))
		return false;
	if (type && literal_as(type, value, &c)) {
		load_const(f, r, c);
	} else {
		into(f, value, r);
		convert(f, type, r);
	}
	set_assigned(f, target->name.var);
	return true;
}

/* a, b = c, d: without making the tuple. */
static bool assign_pairs(Fn *f, const Node *target, const Node *value)
{
	if (target->kind != N_TUPLE || value->kind != N_TUPLE || target->list.n != value->list.n)
		return false;
	Reg base = temps(f, value->list.n);

	each_into(f, value->list.p, value->list.n, base);
	for (uint32_t i = 0; i < target->list.n; i++)
		assign_to(f, target->list.p[i], base + i);
	return true;
}

static void do_assign(Fn *f, Node *n)
{
	Nodes t = n->assign.targets;

	if (t.n == 1 && (assign_direct(f, t.p[0], n->assign.value, NULL) || assign_pairs(f, t.p[0], n->assign.value)))
		return;
	Reg value = any(f, n->assign.value);

	for (uint32_t i = 0; i < t.n; i++)
		assign_to(f, t.p[i], value);
}

static void do_annotate(Fn *f, Node *n)
{
	if (!n->annotate.value || assign_direct(f, n->annotate.target, n->annotate.value, n->annotate.type))
		return;
	Reg r = temp(f);

	into(f, n->annotate.value, r);
	convert(f, n->annotate.type, r);
	assign_to(f, n->annotate.target, r);
}

static void augment(Fn *f, const Node *n, Reg dst, Reg old)
{
	const Node *v = n->augment.value;

	if (n->op == OP_ADD && v->kind == N_INT && v->i >= INT16_MIN && v->i <= INT16_MAX) {
		emit(f, insn_abc(I_ADDI, 0, dst, old, (uint16_t)v->i));
		return;
	}
	emit(f, insn_abc(binary_op((BinOp)n->op), IN_PLACE, dst, old, any(f, n->augment.value)));
}

static void do_augment(Fn *f, Node *n)
{
	Node *t = n->augment.target;

	if (t->kind == N_NAME) {
		Reg r = any(f, t);

		augment(f, n, r, r);
		assign_name(f, t, r);
		return;
	}
	Reg old = temp(f);

	if (t->kind == N_ATTR) {
		emit(f, insn_abc(I_ATTR, 0, old, any(f, t->attr.obj), name_index(f->lo, t->attr.sym->text)));
		augment(f, n, old, old);
		assign_attr(f, t, old);
		return;
	}
	Reg obj = any(f, t->index.obj), key = any(f, t->index.index);

	emit(f, insn_abc(I_INDEX, 0, old, obj, key));
	augment(f, n, old, old);
	emit(f, insn_abc(I_PUT, 0, obj, key, old));
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

	jump_if(f, n->branch.test, false, &orelse);
	block(f, n->branch.body);
	if (n->branch.orelse.n)
		jump(f, I_JMP, 0, 0, &end);
	land(f, &orelse);
	block(f, n->branch.orelse);
	land(f, &end);
}

static void do_while(Fn *f, Node *n)
{
	LoopCtx loop = { .outer = f->loop };
	Jumps test = { 0 };

	jump(f, I_JMP, 0, 0, &test);
	uint32_t body = here(f);

	f->loop = &loop;
	block(f, n->branch.body);
	f->loop = loop.outer;
	land(f, &loop.cont);
	land(f, &test);
	/* The test stands behind the body: one jump a round. */
	Span before = at_node(f, n->branch.test);
	Jumps again = { 0 };

	jump_if(f, n->branch.test, true, &again);
	for (uint32_t i = 0; i < again.n; i++) {
		Insn *in = &f->code.p[again.p[i]];

		*in = insn_jump((OpCode)in->op, in->a, in->b, (int32_t)body - (int32_t)again.p[i] - 1);
	}
	f->at = before;
	block(f, n->branch.orelse);
	land(f, &loop.brk);
}

static void do_for(Fn *f, Node *n)
{
	LoopCtx loop = { .outer = f->loop };
	Jumps test = { 0 };
	Node *t = n->loop.target;
	Reg seq = any(f, n->loop.iter), iter = temps(f, 3), item;
	uint32_t assigned = f->assigned.n;

	emit(f, insn_abc(I_ITER, 0, iter, seq, 0));
	jump(f, I_JMP, 0, 0, &test);
	uint32_t body = here(f);
	bool direct = t->kind == N_NAME && var_reg(f, t->name.var, &item);

	if (direct)
		set_assigned(f, t->name.var);
	else
		assign_to(f, t, item = temp(f));
	f->loop = &loop;
	block(f, n->loop.body);
	f->loop = loop.outer;
	f->assigned.n = assigned;
	land(f, &loop.cont);
	land(f, &test);
	jump_back(f, I_FOR, iter, item, body);
	block(f, n->loop.orelse);
	land(f, &loop.brk);
}

static void do_break(Fn *f, Node *n)
{
	(void)n;
	if (f->loop)
		jump(f, I_JMP, 0, 0, &f->loop->brk);
}

static void do_continue(Fn *f, Node *n)
{
	(void)n;
	if (f->loop)
		jump(f, I_JMP, 0, 0, &f->loop->cont);
}

static void do_return(Fn *f, Node *n)
{
	const Node *type = f->node->kind == N_DEF ? f->node->func.ret : NULL;

	if (!n->expr.value) {
		emit(f, insn_abc(I_RETNONE, 0, 0, 0, 0));
		return;
	}
	Reg r = any(f, n->expr.value);

	if (type) {
		Reg t = temp(f);

		emit(f, insn_abc(I_MOVE, 0, t, r, 0));
		convert(f, type, t);
		r = t;
	}
	emit(f, insn_abc(I_RETURN, 0, r, 0, 0));
}

static bool is_declaration(const Node *v)
{
	return v->kind == N_CALL && v->call.fn->kind == N_NAME && v->call.fn->name.ref == REF_DECL;
}

static void do_expr(Fn *f, Node *n)
{
	Node *v = n->expr.value;

	if (v->kind != N_STR && !is_declaration(v))
		into(f, v, temp(f));
}

static void do_param(Fn *f, Node *n)
{
	const LowerIn *in = f->lo->in;
	Reg r = n->param.var->slot;
	Const c;

	for (uint32_t i = 0; i < in->nparam; i++)
		if (str_eq(in->param[i].name, n->param.sym->text) &&
		    text_as(f->lo->a, n->param.type, n->param.value, in->param[i].value, &c)) {
			if (c.kind == K_INT && n->param.type && str_is(n->param.type->type.sym->text, "bool"))
				emit(f, insn_abc(I_LOADBOOL, (unsigned)c.i, r, 0, 0));
			else
				load_const(f, r, c);
			set_assigned(f, n->param.var);
			return;
		}
	if (!n->param.value)
		return;
	if (n->param.type && literal_as(n->param.type, n->param.value, &c)) {
		load_const(f, r, c);
	} else {
		into(f, n->param.value, r);
		convert(f, n->param.type, r);
	}
	set_assigned(f, n->param.var);
}

static void do_nothing(Fn *f, Node *n)
{
	(void)f;
	(void)n;
}

static void statement(Fn *f, Node *n)
{
	static void (*const rows[N_COUNT])(Fn *, Node *) = {
		[N_EXPR] = do_expr,	[N_ASSIGN] = do_assign,	    [N_ANNOTATE] = do_annotate,
		[N_AUGMENT] = do_augment, [N_IF] = do_if,	    [N_WHILE] = do_while,
		[N_FOR] = do_for,	[N_BREAK] = do_break,	    [N_CONTINUE] = do_continue,
		[N_PASS] = do_nothing,	[N_RETURN] = do_return,	    [N_DEF] = do_nothing,
		[N_PARAM] = do_param,	[N_RESULT] = do_nothing,
	};
	Reg top = f->top;
	Span before = at_node(f, n);

	rows[n->kind](f, n);
	f->top = top;
	f->at = before;
}

/* ---- functions ---- */

static void fn_finish(Fn *f, ProgFn *out)
{
	emit(f, insn_abc(I_RETNONE, 0, 0, 0, 0));
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
		convert(f, p->type, i);
	}
}

uint32_t required_params(const Node *n)
{
	uint32_t k = 0;

	while (k < n->func.n && !n->func.param[k].dflt)
		k++;
	return k;
}

/* A DEF or LAMBDA.  A lambda's parameters with defaults are captured values: it is
 * called without them, and they are evaluated when it is made. */
void fn_body(Lower *lo, Node *n, uint32_t number)
{
	const Scope *s = n->func.scope;
	uint32_t defaults = n->kind == N_LAMBDA ? n->func.n - required_params(n) : 0;
	Fn f = { .lo = lo, .node = n, .file = n->file, .at = n->span };
	ProgFn out = { .name = n->func.sym ? n->func.sym->text : STR("lambda"),
		       .nparams = (uint16_t)(n->func.n - defaults),
		       .ncaptured = (uint16_t)(s->captures.n + defaults) };

	f.top = s->n_slots;
	f.most = f.top;
	lo->too_big |= f.top > PROG_SLOTS_MAX;
	params_convert(&f, n);
	f.at = n->span;
	if (n->kind == N_LAMBDA) {
		Span before = at_node(&f, n->func.value);
		Reg r = any(&f, n->func.value);

		emit(&f, insn_abc(I_RETURN, 0, r, 0, 0));
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
	return p;
}

const Program *lower_run(const LowerIn *in)
{
	Lower *lo = arena_new(in->a, Lower);

	*lo = (Lower){ .a = in->a, .in = in, .consts.a = in->a, .names.a = in->a, .nglobals = in->scopes->n_globals };
	lo->fn_of = arena_new_n(in->a, uint32_t, in->ast->n_nodes);
	lo->value_of = arena_new_n(in->a, uint32_t, in->ast->n_nodes);
	sigs_init(&lo->sigs, in->a);
	module_body(lo, in->ast->files.p[0].module);
	for (uint32_t i = 0; i < lo->todo.n && !lo->too_big; i++)
		fn_body(lo, lo->todo.p[i], lo->todo_fn.p[i]);
	if (!lo->too_big && lo->fn.n <= UINT16_MAX)
		return program(lo);
	diag_add(in->diags, "E-COMPLEX", (Span){ 0, 0 }, "the program needs more than %d registers in one function",
		 PROG_SLOTS_MAX)
		->hint = STR("take long displays and deep expressions apart");
	return NULL;
}
