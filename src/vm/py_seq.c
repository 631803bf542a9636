/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's functions of things that can be iterated.  All are eager: what Python
 * makes an iterator is a list.
 */
#include "vm/py.h"

#include <math.h>

/* f(x), or x if f is None or was left out. */
static bool apply(Vm *vm, Value f, Value x, Value *ret)
{
	if (val_left_out(f)) {
		*ret = x;
		return true;
	}
	return vm_call(vm, f, &x, 1, ret);
}

static bool truth_of(Vm *vm, Value items, bool want, Value *ret)
{
	Value it[3], x;

	if (!iter_begin(vm, items, it))
		return false;
	*ret = val_bool(!want);
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (val_truth(x) == want) {
			*ret = val_bool(want);
			break;
		}
	}
	return !vm->err.set;
}

BUILTIN(all)
{
	FIXED;
	return truth_of(vm, args[0], false, ret);
}

BUILTIN(any)
{
	FIXED;
	return truth_of(vm, args[0], true, ret);
}

BUILTIN(len)
{
	int64_t len;

	FIXED;
	if (!val_len(vm, args[0], &len))
		return false;
	*ret = val_int(len);
	return true;
}

BUILTIN(range)
{
	int64_t start = 0, stop, step;
	bool one = !val_given(args[1]);

	FIXED;
	if (!vm_to_int(vm, args[one ? 0 : 1], &stop) || (!one && !vm_to_int(vm, args[0], &start)) ||
	    !vm_to_int(vm, args[2], &step))
		return false;
	return range_make(vm, start, stop, step, ret);
}

/* ---- making containers ---- */

BUILTIN(list)
{
	ObjList *l;

	FIXED;
	if (!val_given(args[0])) {
		*ret = val_of(vm_list(vm, 0));
		return true;
	}
	if (!iter_list(vm, args[0], &l))
		return false;
	*ret = val_of(l);
	return true;
}

BUILTIN(tuple)
{
	ObjList *l;

	FIXED;
	if (!val_given(args[0])) {
		*ret = val_of(vm_tuple(vm, 0));
		return true;
	}
	if (!iter_list(vm, args[0], &l))
		return false;
	*ret = tuple_of(vm, l->p, l->h.n);
	return true;
}

BUILTIN(set)
{
	ObjDict *d = dict_make(vm, VAL_SET);
	Value it[3], x;

	FIXED;
	*ret = val_of(d);
	if (!val_given(args[0]))
		return true;
	if (!iter_begin(vm, args[0], it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (!dict_put(vm, d, x, val_none()))
			return false;
	}
	return !vm->err.set;
}

static bool pair_of(Vm *vm, Value v, Value *ret_k, Value *ret_v)
{
	if ((v.tag != VAL_TUPLE && v.tag != VAL_LIST) || v.o->n != 2)
		return vm_fail_type(vm, "pairs of key and value", v);
	const Value *p = v.tag == VAL_TUPLE ? val_tuple(v)->p : val_list(v)->p;

	*ret_k = p[0];
	*ret_v = p[1];
	return true;
}

bool dict_update(Vm *vm, ObjDict *d, Value from)
{
	Value it[3], x, k, v;

	if (from.tag == VAL_DICT)
		return dict_copy(vm, val_dict(from), d);
	if (!iter_begin(vm, from, it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (!pair_of(vm, x, &k, &v) || !dict_put(vm, d, k, v))
			return false;
	}
	return !vm->err.set;
}

BUILTIN(dict)
{
	ObjDict *d = dict_make(vm, VAL_DICT);

	FIXED;
	*ret = val_of(d);
	if (val_given(args[0]) && !dict_update(vm, d, args[0]))
		return false;
	return val_left_out(args[1]) || dict_update(vm, d, args[1]);
}

/* ---- lists of lists ---- */

BUILTIN(enumerate)
{
	Value it[3], x;
	int64_t at;

	FIXED;
	if (!vm_to_int(vm, args[1], &at) || !iter_begin(vm, args[0], it))
		return false;
	ObjList *l = vm_list(vm, 0);

	while (iter_next(vm, it, &x)) {
		vm_push(vm, l, vm_pair(vm, val_int(at), x));
		vm_charge(vm, 2);
		if (__builtin_add_overflow(at, 1, &at))
			return vm_fail(vm, "E-OVERFLOW", "the count does not fit 64 bits");
	}
	*ret = val_of(l);
	return !vm->err.set;
}

enum { ZIP_MOST = 16 };

/* The next of each; false when one is at its end. */
static bool next_of_each(Vm *vm, Value it[][3], uint32_t n, Value *out)
{
	for (uint32_t i = 0; i < n; i++)
		if (!iter_next(vm, it[i], &out[i]))
			return false;
	return true;
}

static bool zip_map(Vm *vm, const Value *f, Value rest, Value *ret)
{
	Value it[ZIP_MOST][3], row[ZIP_MOST], y;
	const Value *p;
	uint32_t n;
	ObjList *l = vm_list(vm, 0);

	*ret = val_of(l);
	if (!rest_items(vm, rest, &p, &n))
		return false;
	if (n > ZIP_MOST)
		return vm_fail(vm, "E-VALUE", "at most %d lists at once", ZIP_MOST);
	for (uint32_t i = 0; i < n; i++)
		if (!iter_begin(vm, p[i], it[i]))
			return false;
	while (n && next_of_each(vm, it, n, row)) {
		vm_charge(vm, 1 + n);
		if (!f)
			y = tuple_of(vm, row, n);
		else if (!vm_call(vm, *f, row, n, &y))
			return false;
		vm_push(vm, l, y);
	}
	return !vm->err.set;
}

BUILTIN(zip)
{
	FIXED;
	return zip_map(vm, NULL, args[0], ret);
}

BUILTIN(map)
{
	FIXED;
	return zip_map(vm, &args[0], args[1], ret);
}

BUILTIN(filter)
{
	Value it[3], x, y;
	ObjList *l = vm_list(vm, 0);

	FIXED;
	if (!iter_begin(vm, args[1], it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (!apply(vm, args[0], x, &y))
			return false;
		if (val_truth(y))
			vm_push(vm, l, x);
	}
	*ret = val_of(l);
	return !vm->err.set;
}

BUILTIN(reversed)
{
	ObjList *l;

	FIXED;
	if (!iter_list(vm, args[0], &l))
		return false;
	for (uint32_t i = 0, j = l->h.n; i + 1 < j; i++) {
		Value x = l->p[i];

		l->p[i] = l->p[--j];
		l->p[j] = x;
	}
	*ret = val_of(l);
	return true;
}

/* ---- order ---- */

typedef struct Keyed {
	Value key, value;
} Keyed;

/* a before b: false for equal ones, so that the sort is stable both ways. */
static bool before(Vm *vm, Value a, Value b, bool reverse, bool *ret)
{
	Order o;

	if (val_absent(a) || val_absent(b)) {
		*ret = !val_absent(a) && val_absent(b);
		return true;
	}
	if (!val_order(vm, a, b, &o))
		return false;
	*ret = o == (reverse ? ORDER_GT : ORDER_LT);
	return true;
}

/* Merges the runs [0, mid) and [mid, n) of `from` into `to`. */
static bool merge(Vm *vm, const Keyed *from, size_t mid, size_t n, bool reverse, Keyed *to)
{
	size_t i = 0, j = mid;
	bool right;

	for (size_t k = 0; k < n; k++) {
		if (i < mid && j < n) {
			if (!before(vm, from[j].key, from[i].key, reverse, &right))
				return false;
		} else {
			right = i == mid;
		}
		to[k] = right ? from[j++] : from[i++];
	}
	vm_charge(vm, n);
	return true;
}

static bool merge_sort(Vm *vm, Keyed *p, Keyed *tmp, size_t n, bool reverse)
{
	for (size_t run = 1; run < n; run *= 2) {
		for (size_t at = 0; at < n; at += 2 * run) {
			size_t len = n - at < 2 * run ? n - at : 2 * run;

			if (!merge(vm, p + at, run < len ? run : len, len, reverse, tmp + at))
				return false;
		}
		memcpy(p, tmp, n * sizeof *p);
	}
	return true;
}

bool sort_values(Vm *vm, Value *p, uint32_t n, Value key, bool reverse)
{
	size_t bytes = (size_t)n * sizeof(Keyed);
	Keyed *k = heap_block(&vm->heap, bytes), *tmp = heap_block(&vm->heap, bytes);
	bool ok = true;

	for (uint32_t i = 0; ok && i < n; i++) {
		k[i].value = p[i];
		ok = apply(vm, key, p[i], &k[i].key);
	}
	ok = ok && merge_sort(vm, k, tmp, n, reverse);
	for (uint32_t i = 0; ok && i < n; i++)
		p[i] = k[i].value;
	heap_free(&vm->heap, k, bytes);
	heap_free(&vm->heap, tmp, bytes);
	return ok;
}

BUILTIN(sorted)
{
	ObjList *l;

	FIXED;
	if (!iter_list(vm, args[0], &l) || !sort_values(vm, l->p, l->h.n, args[1], val_truth(args[2])))
		return false;
	*ret = val_of(l);
	return true;
}

/* args: *values, key, default */
static bool extreme(Vm *vm, const Value *args, bool largest, Value *ret)
{
	const Value *p;
	uint32_t n;
	Value it[3], x, k, best = val_unset(), absent = val_unset();
	bool better;

	if (!rest_items(vm, args[0], &p, &n) || !iter_begin(vm, n == 1 ? p[0] : args[0], it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (!apply(vm, args[1], x, &k))
			return false;
		if (val_absent(k)) {
			absent = x;
			continue;
		}
		if (best.tag == VAL_UNSET)
			better = true;
		else if (!before(vm, k, best, largest, &better))
			return false;
		if (better) {
			best = k;
			*ret = x;
		}
	}
	if (vm->err.set)
		return false;
	if (best.tag != VAL_UNSET)
		return true;
	if (!val_given(args[2]) && !val_given(absent))
		return vm_fail(vm, "E-VALUE", "%s of nothing: give it a default=", largest ? "max" : "min");
	*ret = val_given(args[2]) ? args[2] : absent;
	return true;
}

BUILTIN(max)
{
	FIXED;
	return extreme(vm, args, true, ret);
}

BUILTIN(min)
{
	FIXED;
	return extreme(vm, args, false, ret);
}

BUILTIN(sum)
{
	Value it[3], x, all = args[1];

	FIXED;
	if (!iter_begin(vm, args[0], it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (x.tag == VAL_STR)
			return vm_fail(vm, "E-TYPE", "sum() is for numbers: join strings by \"\".join(list)");
		if (!val_absent(x) && !arith(vm, I_ADD, false, all, x, &all))
			return false;
	}
	*ret = all;
	return !vm->err.set;
}
