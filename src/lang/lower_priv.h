/* SPDX-License-Identifier: Apache-2.0
 *
 * What lower.c (functions, statements), lower_expr.c, lower_comp.c and
 * lower_call.c share.
 *
 * Registers of a frame: variables first (of a module: the globals), then those of
 * comprehensions, then temporaries, which are taken and given back as a stack.  No
 * expression can change a variable that another part of it reads, so a variable
 * is an operand where it stands.
 */
#ifndef SONDE_LANG_LOWER_PRIV_H
#define SONDE_LANG_LOWER_PRIV_H

#include "lang/lower.h"
#include "lang/sig.h"

typedef uint32_t Reg;

/* Jumps that wait for their target. */
typedef VEC(uint32_t) Jumps;

typedef struct LoopCtx {
	struct LoopCtx *outer;
	Jumps brk, cont;
} LoopCtx;

typedef struct Lower {
	Arena *a;
	const LowerIn *in;
	Sigs sigs;
	Map consts, names; /* bytes -> index */
	VEC(Const) konst;
	VEC(Str) name;
	VEC(MethodSite) msite;
	VEC(LayerSite) lsite;
	VEC(ResultType) result;
	VEC(ProgTold) told;
	VEC(ProgFn) fn;
	VEC(Node *) todo; /* DEFs and LAMBDAs with a number and no code yet */
	VEC(uint32_t) todo_fn;
	uint32_t *fn_of;	/* by node id: number of the function + 1; RESULT: of the type */
	uint32_t wrapper[BI_N]; /* function value of a built-in: number + 1 */
	uint32_t *value_of;	/* by node id: of a def with defaults */
	uint32_t nglobals;
	bool too_big;
} Lower;

typedef struct Fn {
	Lower *lo;
	const Node *node; /* MODULE, DEF, LAMBDA */
	bool module;
	VEC(Insn) code;
	VEC(Span) span;
	Span at;       /* of what is being compiled */
	bool fixed_at; /* a default: all of it stands at its call */
	uint8_t file;
	Reg top, most; /* temporaries: next free, most ever taken */
	LoopCtx *loop;
	VEC(const Var *) assigned; /* surely, at this point */
} Fn;

/* ---- code ---- */

uint32_t code_emit(Fn *f, Insn i);
Reg reg_temp(Fn *f);
/* n registers side by side */
Reg reg_temps(Fn *f, uint32_t n);
Span code_at(Fn *f, const Node *n); /* returns the place before, to be put back */
void code_jump(Fn *f, OpCode op, Reg a, Reg b, Jumps *j);
void code_jump_back(Fn *f, OpCode op, Reg a, Reg b, uint32_t to);
void code_land(Fn *f, Jumps *j); /* here */
/* Pays for the evaluation of a test, if the checker found that it is to be paid. */
void code_meter(Fn *f, const Node *test);
void code_pay(Fn *f, const Node *call, Reg packets, bool sends);
static inline uint32_t code_here(const Fn *f)
{
	return f->code.n;
}

/* ---- tables ---- */

void code_load_const(Fn *f, Reg dst, Const c);
void code_load_int(Fn *f, Reg dst, int64_t v);
void code_load_str(Fn *f, Reg dst, Str s);
uint16_t prog_name(Lower *lo, Str s);
uint16_t prog_fn(Lower *lo, Node *def);
uint16_t prog_result(Lower *lo, Node *result);
uint16_t prog_builtin(Lower *lo, BuiltinFunc b);
/* The function that stands for a def as a value: it takes the parameters without
 * default. */
uint16_t prog_fn_value(Lower *lo, Node *def);

/* ---- variables ---- */

/* The register of a variable of this frame; false for a global seen from a function. */
bool var_reg(const Fn *f, const Var *v, Reg *ret);
void var_set_assigned(Fn *f, const Var *v);
/* Checks that it has a value, unless that is sure. */
void var_check_assigned(Fn *f, const Var *v, Reg r);

/* ---- lower_expr.c ---- */

void expr_into(Fn *f, Node *n, Reg dst);
Reg expr_any(Fn *f, Node *n); /* a variable's own register, or a temporary */
/* May the value be built in a variable's register, although it reads the variable? */
bool expr_writes_last(const Node *n);
/* Jumps if the truth of n is `sense`. */
void expr_jump_if(Fn *f, Node *n, bool sense, Jumps *j);
void expr_each_into(Fn *f, Node *const *p, uint32_t n, Reg base);
OpCode expr_binary_op(BinOp op);

/* ---- lower_comp.c ---- */

void comp_into(Fn *f, Node *n, Reg dst);
/* expr_any(... for ...), all(... for ...): they stop as soon as they know. */
void any_all_into(Fn *f, Node *genexp, bool is_any, Reg dst);

/* ---- lower_call.c ---- */

void call_into(Fn *f, Node *n, Reg dst);
void lambda_into(Fn *f, Node *n, Reg dst);

/* ---- lower_conv.c ---- */

/* Converts R[r] to what the annotation says, where the VM would not do it later. */
void conv_emit(Fn *f, const Node *type, Reg r);
/* The constant that a literal is under an annotation; false: no literal, or no such type. */
bool conv_literal(const Node *type, const Node *n, Const *ret);

/* ---- lower.c ---- */

void stmt_assign_to(Fn *f, Node *target, Reg value);
void prog_fn_body(Lower *lo, Node *n, uint32_t number);
/* Parameters before the first with a default. */
uint32_t prog_required_params(const Node *n);

#endif
