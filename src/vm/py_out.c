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

BUILTIN(print)
{
	const Value *p = NULL;
	uint32_t count = 0;
	Sbuf b = sbuf(vm);

	FIXED;
	if (!rest_items(vm, args[0], &p, &count))
		return false;
	for (int i = 1; i <= 2; i++)
		if (args[i].tag != VAL_STR)
			return vm_fail_type(vm, "str", args[i]);
	b.show = true;
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			sbuf_obj(&b, val_str(args[1]));
		if (!show(vm, &b, p[i]))
			return false;
		out_result(vm, p[i]);
	}
	sbuf_obj(&b, val_str(args[2]));
	vm_charge(vm, b.n / 8);
	out_value(vm, val_str(sbuf_done(&b, VAL_STR)), val_truth(args[3]));
	*ret = val_none();
	return true;
}

BUILTIN(table)
{
	Sbuf b = sbuf(vm);
	Str columns;

	FIXED;
	if (!vm_to_str(vm, args[1], &columns) || !out_table(vm, args[0], columns, &b))
		return false;
	if (b.n)
		sbuf_char(&b, '\n');
	vm_charge(vm, b.n / 8);
	out_value(vm, val_str(sbuf_done(&b, VAL_STR)), false);
	out_result(vm, args[0]);
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
