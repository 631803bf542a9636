/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods of list, tuple, dict and set.
 */
#include "vm/py.h"

/* ---- list and tuple ---- */

METHOD_OF(LIST, append)
{
	FIXED;
	(void)ret;
	vm_push(vm, val_list(args[0]), args[1]);
	return true;
}

METHOD_OF(LIST, clear)
{
	FIXED;
	(void)vm;
	(void)ret;
	val_list(args[0])->h.n = 0;
	return true;
}

METHOD_OF(LIST, copy)
{
	FIXED;
	*ret = list_of(vm, val_list(args[0])->p, args[0].o->n);
	return true;
}

static int64_t count_item(Vm *vm, const Value *p, uint32_t n, Value item)
{
	int64_t c = 0;

	for (uint32_t i = 0; i < n; i++)
		c += val_eq(p[i], item);
	vm_charge(vm, n);
	return c;
}

METHOD_OF(LIST, count)
{
	FIXED;
	*ret = val_int(count_item(vm, val_list(args[0])->p, args[0].o->n, args[1]));
	return true;
}

METHOD_OF(TUPLE, count)
{
	FIXED;
	*ret = val_int(count_item(vm, val_tuple(args[0])->p, args[0].o->n, args[1]));
	return true;
}

METHOD_OF(LIST, extend)
{
	FIXED;
	(void)ret;
	Value same;

	return arith(vm, I_ADD, true, args[0], args[1], &same);
}

static bool index_item(Vm *vm, const Value *p, uint32_t n, const Value *args, Value *ret)
{
	int64_t lo, hi;

	if (!slice_bounds(vm, args[2], args[3], n, &lo, &hi))
		return false;
	vm_charge(vm, n);
	for (int64_t i = lo; i < hi; i++) {
		if (val_eq(p[i], args[1])) {
			*ret = val_int(i);
			return true;
		}
	}
	return vm_fail(vm, "E-VALUE", "the item is not in the %s", val_type_name(args[0]));
}

METHOD_OF(LIST, index)
{
	FIXED;
	return index_item(vm, val_list(args[0])->p, args[0].o->n, args, ret);
}

METHOD_OF(TUPLE, index)
{
	FIXED;
	return index_item(vm, val_tuple(args[0])->p, args[0].o->n, args, ret);
}

METHOD_OF(LIST, insert)
{
	ObjList *l = val_list(args[0]);
	int64_t at;

	FIXED;
	(void)ret;
	if (!vm_to_int(vm, args[1], &at))
		return false;
	at = at < 0 ? at + l->h.n : at;
	at = at < 0 ? 0 : at > l->h.n ? l->h.n : at;
	vm_charge(vm, (l->h.n - (uint64_t)at) / 16);
	list_insert(vm, l, (uint32_t)at, args[2]);
	return true;
}

METHOD_OF(LIST, pop)
{
	ObjList *l = val_list(args[0]);
	int64_t at;

	FIXED;
	if (!vm_to_int(vm, args[1], &at))
		return false;
	if (!l->h.n)
		return vm_fail(vm, "E-INDEX", "pop from an empty list");
	if (at < -(int64_t)l->h.n || at >= l->h.n)
		return vm_fail(vm, "E-INDEX", "index %lld is out of range: the list has %u items", (long long)at,
			       l->h.n);
	at = at < 0 ? at + l->h.n : at;
	*ret = l->p[at];
	vm_charge(vm, (l->h.n - (uint64_t)at) / 16);
	list_cut(l, (uint32_t)at, 1);
	return true;
}

METHOD_OF(LIST, remove)
{
	ObjList *l = val_list(args[0]);

	FIXED;
	(void)ret;
	vm_charge(vm, l->h.n);
	for (uint32_t i = 0; i < l->h.n; i++) {
		if (val_eq(l->p[i], args[1])) {
			list_cut(l, i, 1);
			return true;
		}
	}
	return vm_fail(vm, "E-VALUE", "the item is not in the list");
}

METHOD_OF(LIST, reverse)
{
	ObjList *l = val_list(args[0]);

	FIXED;
	(void)ret;
	for (uint32_t i = 0, j = l->h.n; i + 1 < j; i++) {
		Value x = l->p[i];

		l->p[i] = l->p[--j];
		l->p[j] = x;
	}
	vm_charge(vm, l->h.n / 8);
	return true;
}

/* A copy is sorted: the key function may reach the list. */
METHOD_OF(LIST, sort)
{
	ObjList *l = val_list(args[0]), *copy = val_list(list_of(vm, l->p, l->h.n));

	FIXED;
	(void)ret;
	if (!sort_values(vm, copy->p, copy->h.n, args[1], val_truth(args[2])))
		return false;
	if (l->h.n != copy->h.n)
		return vm_fail(vm, "E-VALUE", "the list changed while it was sorted");
	if (l->h.n)
		memcpy(l->p, copy->p, l->h.n * sizeof(Value));
	return true;
}

/* ---- dict ---- */

METHOD_OF(DICT, clear)
{
	FIXED;
	(void)ret;
	dict_clear(vm, val_dict(args[0]));
	return true;
}

METHOD_OF(SET, clear)
{
	FIXED;
	(void)ret;
	dict_clear(vm, val_dict(args[0]));
	return true;
}

static bool copied(Vm *vm, Value v, Value *ret)
{
	ObjDict *d = dict_make(vm, (ValTag)v.tag);

	*ret = val_of(d);
	vm_charge(vm, v.o->n);
	return dict_copy(vm, val_dict(v), d);
}

METHOD_OF(DICT, copy)
{
	FIXED;
	return copied(vm, args[0], ret);
}

METHOD_OF(SET, copy)
{
	FIXED;
	return copied(vm, args[0], ret);
}

METHOD_OF(DICT, get)
{
	DictEntry *e;

	FIXED;
	if (!dict_find(vm, val_dict(args[0]), args[1], &e))
		return false;
	*ret = e ? e->v : args[2];
	return true;
}

typedef enum DictPart { PART_ITEMS, PART_KEYS, PART_VALUES } DictPart;

static bool parts(Vm *vm, Value self, DictPart part, Value *ret)
{
	ObjList *l = vm_list(vm, self.o->n);
	DictEntry *e;

	for (uint32_t at = 0; (e = dict_next(val_dict(self), &at));)
		vm_push(vm, l, part == PART_ITEMS ? vm_pair(vm, e->k, e->v) : part == PART_KEYS ? e->k : e->v);
	vm_charge(vm, self.o->n);
	*ret = val_of(l);
	return true;
}

METHOD_OF(DICT, items)
{
	FIXED;
	return parts(vm, args[0], PART_ITEMS, ret);
}

METHOD_OF(DICT, keys)
{
	FIXED;
	return parts(vm, args[0], PART_KEYS, ret);
}

METHOD_OF(DICT, values)
{
	FIXED;
	return parts(vm, args[0], PART_VALUES, ret);
}

METHOD_OF(DICT, pop)
{
	bool found;

	FIXED;
	if (!dict_take(vm, val_dict(args[0]), args[1], &found, ret))
		return false;
	if (!found) {
		if (!val_given(args[2]))
			return val_index(vm, args[0], args[1], ret); /* the error of a missing key */
		*ret = args[2];
	}
	return true;
}

METHOD_OF(DICT, popitem)
{
	ObjDict *d = val_dict(args[0]);
	uint32_t at = d->used;
	bool found;
	Value v;

	FIXED;
	while (at && d->e[at - 1].k.tag == VAL_UNSET)
		at--;
	if (!at)
		return vm_fail(vm, "E-KEY", "popitem from an empty dict");
	*ret = vm_pair(vm, d->e[at - 1].k, d->e[at - 1].v);
	return dict_take(vm, d, d->e[at - 1].k, &found, &v);
}

METHOD_OF(DICT, setdefault)
{
	DictEntry *e;

	FIXED;
	if (!dict_find(vm, val_dict(args[0]), args[1], &e))
		return false;
	*ret = e ? e->v : args[2];
	return e || dict_put(vm, val_dict(args[0]), args[1], args[2]);
}

METHOD_OF(DICT, update)
{
	FIXED;
	(void)ret;
	return dict_update(vm, val_dict(args[0]), args[1]);
}

/* ---- set ---- */

METHOD_OF(SET, add)
{
	FIXED;
	(void)ret;
	return dict_put(vm, val_dict(args[0]), args[1], val_none());
}

METHOD_OF(SET, discard)
{
	bool found;
	Value v;

	FIXED;
	(void)ret;
	return dict_take(vm, val_dict(args[0]), args[1], &found, &v);
}

METHOD_OF(SET, remove)
{
	bool found;
	Value v;

	FIXED;
	(void)ret;
	if (!dict_take(vm, val_dict(args[0]), args[1], &found, &v))
		return false;
	return found || vm_fail(vm, "E-KEY", "the item is not in the set");
}

METHOD_OF(SET, pop)
{
	uint32_t at = 0;
	DictEntry *e = dict_next(val_dict(args[0]), &at);
	bool found;
	Value v;

	FIXED;
	if (!e)
		return vm_fail(vm, "E-KEY", "pop from an empty set");
	*ret = e->k;
	return dict_take(vm, val_dict(args[0]), e->k, &found, &v);
}

/* `other` as a set. */
static bool to_set(Vm *vm, Value other, Value *ret)
{
	Value one[1] = { other };

	*ret = other;
	return other.tag == VAL_SET || bi_set(vm, one, 1, ret);
}

static bool combine(Vm *vm, OpCode op, const Value *args, Value *ret)
{
	Value other;

	return to_set(vm, args[1], &other) && arith(vm, op, false, args[0], other, ret);
}

METHOD_OF(SET, difference)
{
	FIXED;
	return combine(vm, I_SUB, args, ret);
}

METHOD_OF(SET, intersection)
{
	FIXED;
	return combine(vm, I_AND, args, ret);
}

METHOD_OF(SET, symmetric_difference)
{
	FIXED;
	return combine(vm, I_XOR, args, ret);
}

METHOD_OF(SET, union)
{
	FIXED;
	return combine(vm, I_OR, args, ret);
}

METHOD_OF(SET, update)
{
	Value it[3], x;

	FIXED;
	(void)ret;
	if (!iter_begin(vm, args[1], it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 1);
		if (!dict_put(vm, val_dict(args[0]), x, val_none()))
			return false;
	}
	return !vm->err.set;
}

static bool related(Vm *vm, OpCode op, const Value *args, Value *ret)
{
	Value other;
	bool yes;

	if (!to_set(vm, args[1], &other) || !val_compare(vm, op, args[0], other, &yes))
		return false;
	*ret = val_bool(yes);
	return true;
}

METHOD_OF(SET, issubset)
{
	FIXED;
	return related(vm, I_LE, args, ret);
}

METHOD_OF(SET, issuperset)
{
	FIXED;
	return related(vm, I_GE, args, ret);
}

METHOD_OF(SET, isdisjoint)
{
	Value both;

	FIXED;
	if (!combine(vm, I_AND, args, &both))
		return false;
	*ret = val_bool(!both.o->n);
	return true;
}
