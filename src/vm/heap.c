/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/heap.h"

#include "base/limits.h"

enum {
	GRAIN = 16,
	SMALL_STEPS = 8, /* classes of 16, 32 ... 128 bytes */
	CHUNK = 256 * 1024,
	CHUNK_BLOCK_MAX = 4096,
	GREY_MAX = 16384,
	GC_LEAST = 16 * 1024 * 1024, /* bytes made between two collections, at least */
};

void heap_init(Heap *h, Arena *a)
{
	*h = (Heap){ .a = a, .limit = GC_LEAST, .grey_cap = GREY_MAX };
	h->grey = arena_new_n(a, Value, GREY_MAX);
}

/* 16 ... 128 by sixteens, then four sizes to each doubling. */
static unsigned class_of(size_t n, size_t *ret_size)
{
	if (n <= (size_t)GRAIN * SMALL_STEPS) {
		unsigned c = n ? (unsigned)((n - 1) / GRAIN) : 0;

		*ret_size = ((size_t)c + 1) * GRAIN;
		return c;
	}
	unsigned e = 63u - (unsigned)__builtin_clzll((unsigned long long)n - 1);
	size_t base = (size_t)1 << e, step = base / 4, k = (n - 1 - base) / step;

	*ret_size = base + (k + 1) * step;
	return SMALL_STEPS + (e - 7) * 4 + (unsigned)k;
}

static void *block_cut(Heap *h, size_t size)
{
	if (size > CHUNK_BLOCK_MAX)
		return arena_alloc(h->a, size);
	if (h->chunk_left < size) {
		h->chunk = arena_alloc(h->a, CHUNK);
		h->chunk_left = CHUNK;
	}
	void *p = h->chunk;

	h->chunk += size;
	h->chunk_left -= size;
	return p;
}

void *heap_block(Heap *h, size_t n)
{
	size_t size;

	if (n > HEAP_MAX_BLOCK)
		return arena_alloc(h->a, h->a->cap); /* more than there is: the arena's own error */
	unsigned c = class_of(n, &size);
	void *p = h->free[c];

	if (p)
		memcpy(&h->free[c], p, sizeof(void *));
	else
		p = block_cut(h, size);
	h->live += size;
	return p;
}

void heap_free(Heap *h, void *p, size_t n)
{
	size_t size;

	if (!p)
		return;
	unsigned c = class_of(n, &size);

	if (h->stress)
		memset(p, 0xdd, size);
	memcpy(p, &h->free[c], sizeof(void *));
	h->free[c] = p;
	h->live -= size;
}

void *heap_grow(Heap *h, void *p, size_t old_n, size_t n)
{
	size_t old_size, size;

	if (p && n <= HEAP_MAX_BLOCK && class_of(old_n, &old_size) == class_of(n, &size))
		return p;
	void *q = heap_block(h, n);

	if (p)
		memcpy(q, p, old_n < n ? old_n : n);
	heap_free(h, p, old_n);
	return q;
}

Obj *heap_obj(Heap *h, ValTag tag, size_t size)
{
	size_t rounded;
	Obj *o = heap_block(h, size);

	memset(o, 0, size);
	o->tag = (uint8_t)tag;
	o->size_class = (uint8_t)class_of(size, &rounded);
	o->next = h->all;
	h->all = o;
	return o;
}

static size_t class_size(unsigned c)
{
	if (c < SMALL_STEPS)
		return ((size_t)c + 1) * GRAIN;
	size_t base = (size_t)1 << (7 + (c - SMALL_STEPS) / 4);

	return base + ((c - SMALL_STEPS) % 4 + 1) * (base / 4);
}

/* ---- marking ---- */

void heap_mark_begin(Heap *h)
{
	h->grey_n = 0;
	h->grey_lost = false;
}

static void mark_one(Heap *h, Value v)
{
	if (!val_is_obj(v) || v.o->mark)
		return;
	v.o->mark = 1;
	if (v.tag <= VAL_BYTES)
		return; /* addresses and text point to no objects */
	if (h->grey_n < h->grey_cap)
		h->grey[h->grey_n++] = v;
	else
		h->grey_lost = true;
}

static void mark_items(Heap *h, const Value *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mark_one(h, p[i]);
}

static void follow(Heap *h, Obj *o)
{
	switch ((ValTag)o->tag) {
	case VAL_LIST:
		mark_items(h, ((ObjList *)o)->p, o->n);
		break;
	case VAL_TUPLE:
		mark_items(h, ((ObjTuple *)o)->p, o->n);
		break;
	case VAL_DICT:
	case VAL_SET:
		for (uint32_t i = 0; i < ((ObjDict *)o)->used; i++)
			mark_items(h, &((ObjDict *)o)->e[i].k, 2);
		break;
	case VAL_RESULT:
		mark_items(h, ((ObjResult *)o)->p, o->n);
		break;
	case VAL_FN:
		mark_items(h, ((ObjFn *)o)->captured, o->n);
		break;
	case VAL_NATIVE:
		mark_items(h, ((ObjNative *)o)->p, o->n);
		break;
	case VAL_PACKET:
	case VAL_RECORD:
		if (((ObjPacket *)o)->extra)
			mark_one(h, val_obj(((ObjPacket *)o)->extra));
		break;
	default:
		break;
	}
}

void heap_mark(Heap *h, Value v)
{
	mark_one(h, v);
	for (;;) {
		while (h->grey_n)
			follow(h, h->grey[--h->grey_n].o);
		if (!h->grey_lost)
			return;
		/* The stack overflowed: some marked object's children were not
		 * seen; following all marked ones again ends, since each round
		 * marks more. */
		h->grey_lost = false;
		for (Obj *o = h->all; o; o = o->next)
			if (o->mark)
				follow(h, o);
	}
}

/* ---- sweep ---- */

static void obj_free(Heap *h, Obj *o)
{
	switch ((ValTag)o->tag) {
	case VAL_STR:
	case VAL_BYTES:
		heap_free(h, ((ObjStr *)o)->marks, ((ObjStr *)o)->n_marks * sizeof(Mark));
		break;
	case VAL_LIST:
		heap_free(h, ((ObjList *)o)->p, ((ObjList *)o)->cap * sizeof(Value));
		break;
	case VAL_DICT:
	case VAL_SET:
		heap_free(h, ((ObjDict *)o)->index, ((ObjDict *)o)->n_index * sizeof(uint32_t));
		heap_free(h, ((ObjDict *)o)->e, ((ObjDict *)o)->cap * sizeof(DictEntry));
		break;
	case VAL_PACKET:
	case VAL_RECORD:
		heap_free(h, ((ObjPacket *)o)->blob, ((ObjPacket *)o)->blob_n);
		break;
	default:
		break;
	}
	heap_free(h, o, class_size(o->size_class));
}

void heap_sweep(Heap *h)
{
	Obj **at = &h->all;

	while (*at) {
		Obj *o = *at;

		if (o->mark) {
			o->mark = 0;
			at = &o->next;
		} else {
			*at = o->next;
			obj_free(h, o);
		}
	}
	size_t room = (h->a->cap - h->a->used) / 2;
	size_t more = h->live > GC_LEAST ? h->live : GC_LEAST;

	h->limit = h->stress ? 0 : h->live + (more < room || room < GC_LEAST / 16 ? more : room);
	h->collections++;
}
