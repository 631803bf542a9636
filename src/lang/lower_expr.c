/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: expr_into() puts a value in a given register, expr_any() in whichever is
 * cheapest, expr_jump_if() uses a truth without making it.
 */
#include "lang/lower_priv.h"

OpCode expr_binary_op(BinOp op)
{
	static const uint8_t ops[OP_N] = {
		[OP_ADD] = I_ADD,     [OP_SUB] = I_SUB, [OP_MUL] = I_MUL, [OP_DIV] = I_DIV,
		[OP_FLOOR] = I_FLOOR, [OP_MOD] = I_MOD, [OP_POW] = I_POW, [OP_AND] = I_AND,
		[OP_OR] = I_OR,	      [OP_XOR] = I_XOR, [OP_SHL] = I_SHL, [OP_SHR] = I_SHR,
	};

	return (OpCode)ops[op];
}

bool expr_writes_last(const Node *n)
{
	switch (n->kind) {
	case N_BOOLOP:
	case N_LISTCOMP:
	case N_SETCOMP:
	case N_DICTCOMP:
	case N_GENEXP:
		return false;
	case N_COMPARE:
		return n->compare.n == 1;
	case N_COND:
		return expr_writes_last(n->cond.then) && expr_writes_last(n->cond.orelse);
	case N_LIST:
	case N_SET:
	case N_DICT:
		return n->list.n <= 256; /* longer ones are built piece by piece */
	case N_CALL:			 /* expr_any(... for ...) is a loop */
		return n->call.n != 1 || n->call.arg[0].value->kind != N_GENEXP;
	default:
		return true;
	}
}

void expr_each_into(Fn *f, Node *const *p, uint32_t n, Reg base)
{
	for (uint32_t i = 0; i < n; i++)
		expr_into(f, p[i], base + i);
}

/* ---- literals and names ---- */

static void int_into(Fn *f, Node *n, Reg dst)
{
	code_load_int(f, dst, n->i);
}

static void float_into(Fn *f, Node *n, Reg dst)
{
	code_load_const(f, dst, (Const){ .kind = K_FLOAT, .f = n->f });
}

static void duration_into(Fn *f, Node *n, Reg dst)
{
	code_load_const(f, dst, (Const){ .kind = K_DURATION, .i = n->i });
}

static void bool_into(Fn *f, Node *n, Reg dst)
{
	code_emit(f, insn_abc(I_LOADBOOL, (unsigned)n->i, dst, 0, 0));
}

static void none_into(Fn *f, Node *n, Reg dst)
{
	(void)n;
	code_emit(f, insn_abc(I_LOADNONE, 0, dst, 0, 0));
}

static void str_into(Fn *f, Node *n, Reg dst)
{
	code_load_str(f, dst, n->s);
}

static void bytes_into(Fn *f, Node *n, Reg dst)
{
	code_load_const(f, dst, (Const){ .kind = K_BYTES, .s = n->s });
}

static void var_into(Fn *f, const Var *v, Reg dst)
{
	Reg r;

	if (!var_reg(f, v, &r)) {
		code_emit(f, insn_abc(I_GLOAD, 0, dst, v->slot, 0));
		return;
	}
	var_check_assigned(f, v, r);
	if (r != dst)
		code_emit(f, insn_abc(I_MOVE, 0, dst, r, 0));
}

static void name_into(Fn *f, Node *n, Reg dst)
{
	switch (n->name.ref) {
	case REF_VAR:
		var_into(f, n->name.var, dst);
		break;
	case REF_FUNC:
		code_meter(f, n);
		code_emit(f, insn_abc(I_LAMBDA, 0, dst, prog_fn_value(f->lo, n->name.node), 0));
		break;
	case REF_BUILTIN:
		code_emit(f, insn_abc(I_LAMBDA, 0, dst, prog_builtin(f->lo, (BuiltinFunc)n->name.index), 0));
		break;
	case REF_PROTO:
		code_load_const(f, dst, (Const){ .kind = K_PROTO, .i = n->name.index });
		break;
	default: /* the checker refused it */
		code_emit(f, insn_abc(I_LOADNONE, 0, dst, 0, 0));
		break;
	}
}

/* ---- displays and text ---- */

/* Displays too long for one window of registers grow item by item. */
enum { WINDOW = 256 };

static void rest_into(Fn *f, Node *n, Reg dst, uint32_t from, uint32_t step)
{
	for (uint32_t i = from; i < n->list.n; i += step) {
		Reg top = f->top, r = reg_temps(f, step);

		expr_each_into(f, &n->list.p[i], step, r);
		if (step == 2)
			code_emit(f, insn_abc(I_PUT, 0, dst, r, r + 1));
		else
			code_emit(f, insn_abc(I_PUSH, 0, dst, r, 0));
		f->top = top;
	}
}

static void display_into(Fn *f, Node *n, Reg dst)
{
	OpCode op = n->kind == N_LIST	 ? I_LIST
		    : n->kind == N_TUPLE ? I_TUPLE
		    : n->kind == N_SET	 ? I_SET
					 : I_DICT;
	uint32_t step = op == I_DICT ? 2 : 1;
	uint32_t first = op == I_TUPLE || n->list.n <= WINDOW ? n->list.n : WINDOW;
	Reg base = reg_temps(f, first);

	expr_each_into(f, n->list.p, first, base);
	code_emit(f, insn_abc(op, 0, dst, base, first / step));
	rest_into(f, n, dst, first, step);
}

static void spec_into(Fn *f, Node *spec, Reg dst)
{
	if (spec)
		expr_into(f, spec, dst);
	else
		code_emit(f, insn_abc(I_LOADNONE, 0, dst, 0, 0));
}

static void field_into(Fn *f, Node *n, Reg dst)
{
	Reg v = expr_any(f, n->field.value), spec = reg_temp(f);

	spec_into(f, n->field.spec, spec);
	code_emit(f, insn_abc(I_FORMAT, (unsigned char)n->field.conv, dst, v, spec));
}

static void fstring_into(Fn *f, Node *n, Reg dst)
{
	Reg base = reg_temps(f, n->list.n);

	expr_each_into(f, n->list.p, n->list.n, base);
	code_emit(f, insn_abc(I_CONCAT, 0, dst, base, n->list.n));
}

/* ---- operators ---- */

static bool fold_minus(Fn *f, const Node *v, Reg dst)
{
	switch (v->kind) {
	case N_INT:
		if (v->i == INT64_MIN)
			return false;
		code_load_int(f, dst, -v->i);
		return true;
	case N_FLOAT:
		code_load_const(f, dst, (Const){ .kind = K_FLOAT, .f = -v->f });
		return true;
	case N_DURATION:
		code_load_const(f, dst, (Const){ .kind = K_DURATION, .i = -v->i });
		return true;
	default:
		return false;
	}
}

static void unary_into(Fn *f, Node *n, Reg dst)
{
	static const uint8_t ops[UN_N] = {
		[UN_NEG] = I_NEG, [UN_POS] = I_POS, [UN_INV] = I_INV, [UN_NOT] = I_NOT
	};

	if (n->op == UN_NEG && fold_minus(f, n->unary.value, dst))
		return;
	code_emit(f, insn_abc((OpCode)ops[n->op], 0, dst, expr_any(f, n->unary.value), 0));
}

static bool small_int(const Node *n)
{
	return n->kind == N_INT && n->i >= -0x7fff && n->i <= 0x7fff;
}

static void binary_into(Fn *f, Node *n, Reg dst)
{
	Reg left = expr_any(f, n->binary.left);
	const Node *r = n->binary.right;

	if ((n->op == OP_ADD || n->op == OP_SUB) && small_int(r))
		code_emit(f, insn_abc(I_ADDI, 0, dst, left, (uint16_t)(n->op == OP_ADD ? r->i : -r->i)));
	else
		code_emit(f,
			  insn_abc(expr_binary_op((BinOp)n->op), 0, dst, left, expr_any(f, n->binary.right)));
}

/* `a and b` is a if a is false, else b. */
static void boolop_into(Fn *f, Node *n, Reg dst)
{
	Jumps end = { 0 };

	code_meter(f, n->binary.left);
	expr_into(f, n->binary.left, dst);
	code_jump(f, n->op == OP_BOOL_AND ? I_JF : I_JT, dst, 0, &end);
	expr_into(f, n->binary.right, dst);
	code_land(f, &end);
}

static void link_into(Fn *f, CmpOp op, Reg dst, Reg left, Reg right)
{
	static const uint8_t ops[CMP_N] = {
		[CMP_EQ] = I_EQ,	  [CMP_NE] = I_NE,
		[CMP_LT] = I_LT,	  [CMP_LE] = I_LE,
		[CMP_GT] = I_GT,	  [CMP_GE] = I_GE,
		[CMP_IN] = I_IN,	  [CMP_NOT_IN] = I_NOTIN,
		[CMP_IS_NONE] = I_ISNONE, [CMP_IS_NOT_NONE] = I_NOTNONE,
	};
	bool none = op == CMP_IS_NONE || op == CMP_IS_NOT_NONE;

	code_emit(f, insn_abc((OpCode)ops[op], 0, dst, left, none ? 0 : right));
}

static Reg link_right(Fn *f, const CmpLink *l)
{
	return l->op == CMP_IS_NONE || l->op == CMP_IS_NOT_NONE ? 0 : expr_any(f, l->right);
}

static void compare_into(Fn *f, Node *n, Reg dst)
{
	Reg left = expr_any(f, n->compare.left);
	Jumps end = { 0 };

	for (uint32_t i = 0; i < n->compare.n; i++) {
		const CmpLink *l = &n->compare.link[i];
		if (i)
			code_meter(f, l->right);
		Reg right = link_right(f, l);

		link_into(f, l->op, dst, left, right);
		if (i + 1 < n->compare.n)
			code_jump(f, I_JF, dst, 0, &end);
		left = right;
	}
	code_land(f, &end);
}

static void cond_into(Fn *f, Node *n, Reg dst)
{
	Jumps orelse = { 0 }, end = { 0 };

	expr_jump_if(f, n->cond.test, false, &orelse);
	expr_into(f, n->cond.then, dst);
	code_jump(f, I_JMP, 0, 0, &end);
	code_land(f, &orelse);
	expr_into(f, n->cond.orelse, dst);
	code_land(f, &end);
}

/* ---- access ---- */

static void attr_into(Fn *f, Node *n, Reg dst)
{
	code_emit(f, insn_abc(I_ATTR, 0, dst, expr_any(f, n->attr.obj), prog_name(f->lo, n->attr.sym->text)));
}

static void index_into(Fn *f, Node *n, Reg dst)
{
	Node *i = n->index.index;
	Reg obj = expr_any(f, n->index.obj);

	if (i->kind != N_SLICE) {
		code_emit(f, insn_abc(I_INDEX, 0, dst, obj, expr_any(f, i)));
		return;
	}
	Node *const part[3] = { i->slice.lo, i->slice.hi, i->slice.step };
	Reg base = reg_temps(f, 3);

	for (unsigned k = 0; k < 3; k++)
		spec_into(f, part[k], base + k);
	code_emit(f, insn_abc(I_SLICE, 0, dst, obj, base));
}

/* ---- all kinds ---- */

static void nothing_into(Fn *f, Node *n, Reg dst)
{
	none_into(f, n, dst);
}

void expr_into(Fn *f, Node *n, Reg dst)
{
	static void (*const rows[N_COUNT])(Fn *, Node *, Reg) = {
		[N_INT] = int_into,	    [N_FLOAT] = float_into,	[N_DURATION] = duration_into,
		[N_BOOL] = bool_into,	    [N_NONE] = none_into,	[N_STR] = str_into,
		[N_BYTES] = bytes_into,	    [N_FSTRING] = fstring_into, [N_FIELD] = field_into,
		[N_NAME] = name_into,	    [N_LIST] = display_into,	[N_TUPLE] = display_into,
		[N_SET] = display_into,	    [N_DICT] = display_into,	[N_LISTCOMP] = comp_into,
		[N_SETCOMP] = comp_into,    [N_DICTCOMP] = comp_into,	[N_GENEXP] = comp_into,
		[N_UNARY] = unary_into,	    [N_BINARY] = binary_into,	[N_BOOLOP] = boolop_into,
		[N_COMPARE] = compare_into, [N_COND] = cond_into,	[N_CALL] = call_into,
		[N_ATTR] = attr_into,	    [N_INDEX] = index_into,	[N_SLICE] = nothing_into,
		[N_LAMBDA] = lambda_into,   [N_BAD] = nothing_into,
	};
	Reg top = f->top;
	Span before = code_at(f, n);

	rows[n->kind](f, n, dst);
	f->at = before;
	f->top = top;
}

Reg expr_any(Fn *f, Node *n)
{
	Reg r;

	if (n->kind == N_NAME && n->name.ref == REF_VAR && var_reg(f, n->name.var, &r)) {
		Span before = code_at(f, n);

		var_check_assigned(f, n->name.var, r);
		f->at = before;
		return r;
	}
	r = reg_temp(f);
	expr_into(f, n, r);
	return r;
}

/* ---- conditions ---- */

static void jump_bool(Fn *f, Node *n, bool sense, Jumps *j)
{
	bool is_and = n->op == OP_BOOL_AND;

	/* `a and b` is false as soon as a is; true if b is, behind a. */
	if (is_and == sense) {
		Jumps skip = { 0 };

		expr_jump_if(f, n->binary.left, !sense, &skip);
		expr_jump_if(f, n->binary.right, sense, j);
		code_land(f, &skip);
	} else {
		expr_jump_if(f, n->binary.left, sense, j);
		expr_jump_if(f, n->binary.right, sense, j);
	}
}

/* One comparison that has a jump of its own; a > b is b < a. */
static bool jump_compare(Fn *f, Node *n, bool sense, Jumps *j)
{
	static const uint8_t ops[CMP_N][2] = {
		[CMP_EQ] = { I_JNEQ, I_JEQ },
		[CMP_LT] = { I_JNLT, I_JLT },
		[CMP_GT] = { I_JNLT, I_JLT },
		[CMP_LE] = { I_JNLE, I_JLE },
		[CMP_GE] = { I_JNLE, I_JLE },
		[CMP_IS_NONE] = { I_JNOTNONE, I_JNONE },
		[CMP_IS_NOT_NONE] = { I_JNONE, I_JNOTNONE },
	};
	CmpOp op = n->compare.link[0].op;

	if (n->compare.n != 1 || !ops[op][sense])
		return false;
	Reg left = expr_any(f, n->compare.left), right = link_right(f, &n->compare.link[0]);
	bool swap = op == CMP_GT || op == CMP_GE;

	code_jump(f, (OpCode)ops[op][sense], swap ? right : left, swap ? left : right, j);
	return true;
}

static bool jump_known(Fn *f, const Node *n, bool sense, Jumps *j)
{
	if (n->kind != N_BOOL)
		return false;
	if (n->i == sense)
		code_jump(f, I_JMP, 0, 0, j);
	return true;
}

void expr_jump_if(Fn *f, Node *n, bool sense, Jumps *j)
{
	Reg top = f->top;
	Span before = code_at(f, n);

	code_meter(f, n);
	if (n->kind == N_UNARY && n->op == UN_NOT)
		expr_jump_if(f, n->unary.value, !sense, j);
	else if (n->kind == N_BOOLOP)
		jump_bool(f, n, sense, j);
	else if (!jump_known(f, n, sense, j) && !(n->kind == N_COMPARE && jump_compare(f, n, sense, j)))
		code_jump(f, sense ? I_JT : I_JF, expr_any(f, n), 0, j);
	f->at = before;
	f->top = top;
}
