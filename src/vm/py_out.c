/* SPDX-License-Identifier: Apache-2.0
 *
 * print, table, exit.
 */
#include "vm/out.h"
#include "vm/py.h"

bool rest_items(Vm *vm, Value v, const Value **ret_p, uint32_t *ret_n)
{
	if (v.tag != VAL_TUPLE)
		return vm_fail_type(vm, "arguments", v);
	*ret_p = val_tuple(v)->p;
	*ret_n = v.o->n;
	return true;
}

/* What print shows: a list of results as a table, text of a peer without quotes
 * of repr's (the sink's stand around it). */
static bool show(Vm *vm, Sbuf *b, Value v)
{
	if (out_is_results(v)) {
		size_t mark = vm->scratch.used;
		bool ok = out_table(vm, v, (Str){ "", 0 }, b);

		vm->scratch.used = mark;
		return ok;
	}
	if (v.tag == VAL_BYTES)
		text_repr(b, v, 1);
	else
		text_str(b, v);
	return true;
}

/* What stands for a value that is not shown, or is shown without what it holds of content. */
static bool show_hidden(Vm *vm, const ProgTold *told, bool (*make)(Vm *vm, Sbuf *b, const Value *args),
			const Value *args)
{
	ProgTold *left = arena_copy(&vm->scratch, told, sizeof *told);
	Sbuf b = sbuf(vm);
	bool ok = true;

	left->level = told->head;
	if (out_shown(vm, told) == OUT_NOT) {
		*left = (ProgTold){ 0 };
		out_instead(&b, told);
	} else {
		vm->hide = true;
		vm->hidden = told;
		ok = make(vm, &b, args);
		if (ok)
			out_result(vm, args[0], left);
		vm->hide = false;
	}
	if (ok)
		out_value(vm, val_str(sbuf_done(&b, VAL_STR)), left, false);
	return ok;
}

static bool make_shown(Vm *vm, Sbuf *b, const Value *args)
{
	b->show = true;
	return show(vm, b, args[0]);
}

static bool print_one(Vm *vm, Value v, const ProgTold *told, bool full)
{
	Sbuf b = sbuf(vm);

	if (out_shown(vm, told) != OUT_ALL)
		return show_hidden(vm, told, make_shown, &v);
	if (!make_shown(vm, &b, &v))
		return false;
	vm_charge(vm, b.n / 8);
	out_value(vm, val_str(sbuf_done(&b, VAL_STR)), told, full);
	out_result(vm, v, told);
	return true;
}

BUILTIN(print)
{
	const ProgTold *call = out_told(vm, 0);
	/* that it is printed at all would tell: at the end it is said whose content that is */
	bool shown = out_shown(vm, call) == OUT_ALL;
	const Value *p = NULL;
	uint32_t count = 0;

	FIXED;
	if (!rest_items(vm, args[0], &p, &count))
		return false;
	for (int i = 1; i <= 2; i++)
		if (args[i].tag != VAL_STR)
			return vm_fail_type(vm, "str", args[i]);
	for (uint32_t i = 0; i < count && shown; i++) {
		if (i)
			out_value(vm, val_str(args[1]), call, false);
		if (!print_one(vm, p[i], out_told(vm, i + 1), val_truth(args[3])))
			return false;
	}
	if (shown)
		out_value(vm, val_str(args[2]), call, false);
	vm->told = NULL;
	*ret = val_none();
	return true;
}

static bool make_table(Vm *vm, Sbuf *b, const Value *args)
{
	Str columns;

	if (!vm_to_str(vm, args[1], &columns) || !out_table(vm, args[0], columns, b))
		return false;
	if (b->n)
		sbuf_char(b, '\n');
	return true;
}

BUILTIN(table)
{
	const ProgTold *told = out_told(vm, 1);
	Sbuf b = sbuf(vm);
	bool shown = out_shown(vm, out_told(vm, 0)) == OUT_ALL;

	FIXED;
	if (shown && out_shown(vm, told) != OUT_ALL) {
		if (!show_hidden(vm, told, make_table, args))
			return false;
	} else if (shown) {
		if (!make_table(vm, &b, args))
			return false;
		vm_charge(vm, b.n / 8);
		out_value(vm, val_str(sbuf_done(&b, VAL_STR)), told, false);
		out_result(vm, args[0], told);
	}
	vm->told = NULL;
	*ret = val_none();
	return true;
}

BUILTIN(exit)
{
	(void)args;
	(void)ret;
	FIXED;
	return vm_stop(vm, 0, "", "exit()");
}
