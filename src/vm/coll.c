/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists, tuples, dicts and sets.  A dict keeps its entries in order of insertion
 * in one array and finds them by an index of open addressing; deleted entries
 * stay as holes until the array is packed.
 */
#include "vm/inside.h"

/* ---- lists and tuples ---- */

ObjList *vm_list(Vm *vm, uint32_t cap)
{
	ObjList *l = (ObjList *)heap_obj(&vm->heap, VAL_LIST, sizeof(ObjList));

	list_reserve(vm, l, cap);
	return l;
}

void list_reserve(Vm *vm, ObjList *l, size_t cap)
{
	if (cap <= l->cap)
		return;
	if (cap > UINT32_MAX / sizeof(Value))
		cap = UINT32_MAX; /* more than the arena: its own error */
	l->p = heap_grow(&vm->heap, l->p, l->cap * sizeof(Value), cap * sizeof(Value));
	l->cap = (uint32_t)cap;
}

void vm_push(Vm *vm, ObjList *l, Value v)
{
	if (l->h.n == l->cap)
		list_reserve(vm, l, l->cap ? (size_t)l->cap * 2 : 4);
	l->p[l->h.n++] = v;
}

void list_insert(Vm *vm, ObjList *l, uint32_t at, Value v)
{
	vm_push(vm, l, v);
	memmove(&l->p[at + 1], &l->p[at], (l->h.n - 1 - at) * sizeof(Value));
	l->p[at] = v;
}

void list_cut(ObjList *l, uint32_t from, uint32_t n)
{
	memmove(&l->p[from], &l->p[from + n], (l->h.n - from - n) * sizeof(Value));
	l->h.n -= n;
}

Value list_of(Vm *vm, const Value *p, uint32_t n)
{
	ObjList *l = vm_list(vm, n);

	if (n)
		memcpy(l->p, p, n * sizeof(Value));
	l->h.n = n;
	vm_charge(vm, n / 8);
	return val_of(l);
}

ObjTuple *vm_tuple(Vm *vm, uint32_t n)
{
	ObjTuple *t = (ObjTuple *)heap_obj(&vm->heap, VAL_TUPLE, sizeof(ObjTuple) + n * sizeof(Value));

	t->h.n = n;
	for (uint32_t i = 0; i < n; i++)
		t->p[i] = val_none();
	return t;
}

Value tuple_of(Vm *vm, const Value *p, uint32_t n)
{
	ObjTuple *t = vm_tuple(vm, n);

	if (n)
		memcpy(t->p, p, n * sizeof(Value));
	vm_charge(vm, n / 8);
	return val_of(t);
}

Value vm_pair(Vm *vm, Value a, Value b)
{
	Value two[2] = { a, b };

	return tuple_of(vm, two, 2);
}

/* ---- dicts and sets ---- */

ObjDict *dict_make(Vm *vm, ValTag tag)
{
	return (ObjDict *)heap_obj(&vm->heap, tag, sizeof(ObjDict));
}

/* The index's place of k, or the free place where it would stand. */
static uint32_t dict_slot(Vm *vm, const ObjDict *d, Value k, uint64_t hash, DictEntry **ret_e)
{
	uint32_t mask = d->n_index - 1;

	for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
		uint32_t at = d->index[i];

		*ret_e = NULL;
		vm->charge++; /* whoever makes keys collide pays for it */
		if (!at)
			return i;
		DictEntry *e = &d->e[at - 1];

		if (e->hash == hash && e->k.tag != VAL_UNSET && val_eq(e->k, k)) {
			*ret_e = e;
			return i;
		}
	}
}

/* Packs the entries and builds the index for `cap` of them. */
static void dict_resize(Vm *vm, ObjDict *d, uint32_t cap)
{
	DictEntry *e = heap_block(&vm->heap, cap * sizeof(DictEntry));
	uint32_t n = 0, n_index = 8;

	while (n_index < cap + cap / 2)
		n_index *= 2;
	uint32_t *index = heap_block(&vm->heap, n_index * sizeof(uint32_t));

	memset(index, 0, n_index * sizeof(uint32_t));
	for (uint32_t i = 0; i < d->used; i++) {
		if (d->e[i].k.tag == VAL_UNSET)
			continue;
		uint32_t at = (uint32_t)d->e[i].hash & (n_index - 1);

		while (index[at])
			at = (at + 1) & (n_index - 1);
		e[n] = d->e[i];
		index[at] = ++n;
	}
	heap_free(&vm->heap, d->e, d->cap * sizeof(DictEntry));
	heap_free(&vm->heap, d->index, d->n_index * sizeof(uint32_t));
	d->e = e;
	d->index = index;
	d->cap = cap;
	d->n_index = n_index;
	d->used = n;
	vm_charge(vm, cap / 4);
}

bool dict_find(Vm *vm, ObjDict *d, Value k, DictEntry **ret)
{
	uint64_t hash;

	if (!val_hash(vm, k, &hash))
		return false;
	*ret = NULL;
	if (d->n_index)
		dict_slot(vm, d, k, hash, ret);
	return true;
}

bool dict_put(Vm *vm, ObjDict *d, Value k, Value v)
{
	DictEntry *e = NULL;
	uint64_t hash;

	if (!val_hash(vm, k, &hash))
		return false;
	uint32_t at = d->n_index ? dict_slot(vm, d, k, hash, &e) : 0;

	if (e) {
		e->v = v;
		return true;
	}
	if (d->used == d->cap) {
		/* Mostly holes: packing is enough. */
		dict_resize(vm, d, d->h.n * 2 < d->cap ? d->cap : d->cap ? d->cap * 2 : 8);
		at = dict_slot(vm, d, k, hash, &e);
	}
	d->e[d->used] = (DictEntry){ k, v, hash };
	d->index[at] = ++d->used;
	d->h.n++;
	return true;
}

bool dict_take(Vm *vm, ObjDict *d, Value k, bool *ret_found, Value *ret_v)
{
	DictEntry *e;

	if (!dict_find(vm, d, k, &e))
		return false;
	*ret_found = e != NULL;
	if (e) {
		*ret_v = e->v;
		e->k = e->v = val_unset();
		d->h.n--;
		if (!d->h.n)
			dict_clear(vm, d);
	}
	return true;
}

void dict_clear(Vm *vm, ObjDict *d)
{
	heap_free(&vm->heap, d->e, d->cap * sizeof(DictEntry));
	heap_free(&vm->heap, d->index, d->n_index * sizeof(uint32_t));
	d->e = NULL;
	d->index = NULL;
	d->h.n = d->used = d->cap = d->n_index = 0;
}

DictEntry *dict_next(const ObjDict *d, uint32_t *at)
{
	while (*at < d->used)
		if (d->e[(*at)++].k.tag != VAL_UNSET)
			return &d->e[*at - 1];
	return NULL;
}

bool dict_copy(Vm *vm, const ObjDict *d, ObjDict *to)
{
	DictEntry *e;

	for (uint32_t at = 0; (e = dict_next(d, &at));)
		if (!dict_put(vm, to, e->k, e->v))
			return false;
	return true;
}
