/* SPDX-License-Identifier: Apache-2.0
 *
 * Comprehensions: loops in the function that they stand in.
 */
#include "lang/lower_priv.h"

typedef struct Comp Comp;
typedef void CompItem(Comp *c);

struct Comp {
	Fn *f;
	Node *n;
	Reg dst;
	CompItem *item; /* what happens with each value */
	Jumps leave;	/* out of all loops */
	bool is_any;
};

static void comp_clause(Comp *c, uint32_t i);

static void comp_for(Comp *c, const Clause *cl, uint32_t i)
{
	Fn *f = c->f;
	Jumps test = { 0 };
	Reg top = f->top, seq = expr_any(f, cl->value), iter = reg_temps(f, 3), item;

	code_emit(f, insn_abc(I_ITER, 0, iter, seq, 0));
	code_jump(f, I_JMP, 0, 0, &test);
	uint32_t body = code_here(f);

	if (cl->target->kind == N_NAME && var_reg(f, cl->target->name.var, &item))
		;
	else
		stmt_assign_to(f, cl->target, item = reg_temp(f));
	comp_clause(c, i + 1);
	code_land(f, &test);
	code_meter(f, cl->value);
	code_jump_back(f, I_FOR, iter, item, body);
	f->top = top;
}

static void comp_clause(Comp *c, uint32_t i)
{
	const Clause *cl = &c->n->comp.clause[i];
	Jumps skip = { 0 };

	if (i == c->n->comp.n) {
		c->item(c);
	} else if (cl->target) {
		comp_for(c, cl, i);
	} else {
		expr_jump_if(c->f, cl->value, false, &skip);
		comp_clause(c, i + 1);
		code_land(c->f, &skip);
	}
}

static void item_push(Comp *c)
{
	Reg top = c->f->top;

	code_emit(c->f, insn_abc(I_PUSH, 0, c->dst, expr_any(c->f, c->n->comp.value), 0));
	c->f->top = top;
}

static void item_put(Comp *c)
{
	Fn *f = c->f;
	Reg top = f->top, key = expr_any(f, c->n->comp.key), value = expr_any(f, c->n->comp.value);

	code_emit(f, insn_abc(I_PUT, 0, c->dst, key, value));
	f->top = top;
}

/* any: the first true item decides; all: the first false one. */
static void item_decide(Comp *c)
{
	Jumps go_on = { 0 };

	expr_jump_if(c->f, c->n->comp.value, !c->is_any, &go_on);
	code_emit(c->f, insn_abc(I_LOADBOOL, c->is_any, c->dst, 0, 0));
	code_jump(c->f, I_JMP, 0, 0, &c->leave);
	code_land(c->f, &go_on);
}

void comp_into(Fn *f, Node *n, Reg dst)
{
	Comp c = { .f = f, .n = n, .dst = dst, .item = n->kind == N_DICTCOMP ? item_put : item_push };
	OpCode op = n->kind == N_SETCOMP ? I_SET : n->kind == N_DICTCOMP ? I_DICT : I_LIST;

	code_emit(f, insn_abc(op, 0, dst, 0, 0));
	comp_clause(&c, 0);
}

void any_all_into(Fn *f, Node *genexp, bool is_any, Reg dst)
{
	Comp c = { .f = f, .n = genexp, .dst = dst, .item = item_decide, .is_any = is_any };

	code_emit(f, insn_abc(I_LOADBOOL, !is_any, dst, 0, 0));
	comp_clause(&c, 0);
	code_land(f, &c.leave);
}
