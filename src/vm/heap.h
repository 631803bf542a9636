/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap of a run: objects and their blocks inside the engine's one arena.
 *
 * Non-moving mark and sweep.  Blocks come in size classes, four to a doubling;
 * a freed block goes to its class's list and is used again for its class only,
 * so that no cleverness is needed and the waste is bounded by a quarter.
 * Collection happens at safe points only (vm.c asks heap_due): never inside a
 * built-in, which may therefore hold raw pointers.
 *
 * Ownership: objects own the blocks that they point to (a list its items, a dict
 * its entries); the sweep frees both.
 */
#ifndef SONDE_VM_HEAP_H
#define SONDE_VM_HEAP_H

#include "base/arena.h"
#include "vm/value.h"


enum { HEAP_CLASSES = 128, HEAP_MAX_BLOCK = 192 * 1024 * 1024 };

typedef struct Heap {
	Arena *a;
	Obj *all;
	void *free[HEAP_CLASSES];
	uint8_t *chunk; /* small blocks are cut from here */
	size_t chunk_left;
	size_t live;  /* bytes in blocks that are in use */
	size_t limit; /* a collection is due above */
	uint64_t collections;
	Value *grey; /* objects found but not followed yet, an explicit stack */
	uint32_t grey_n, grey_cap;
	bool grey_lost; /* it overflowed: scan the object list again */
	bool stress;    /* for tests: collect at each safe point, spoil what is freed */
} Heap;

void heap_init(Heap *h, Arena *a);

/* Zeroed; never NULL (the arena's end jumps). */
Obj *heap_obj(Heap *h, ValTag tag, size_t size);
/* Not zeroed. */
void *heap_block(Heap *h, size_t n);
/* p was made by heap_block or heap_grow with n bytes; NULL is fine. */
void heap_free(Heap *h, void *p, size_t n);
/* A block of n bytes with the first old_n bytes of p, which is freed. */
void *heap_grow(Heap *h, void *p, size_t old_n, size_t n);

static inline bool heap_due(const Heap *h)
{
	return h->live > h->limit;
}

/* mark all roots with heap_mark between these two */
void heap_mark_begin(Heap *h);
void heap_mark(Heap *h, Value v);
void heap_sweep(Heap *h);

#endif
