/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 16u

void arena_init(Arena *a, void *mem, size_t cap, jmp_buf *full)
{
	size_t skew = (ARENA_ALIGN - (uintptr_t)mem % ARENA_ALIGN) % ARENA_ALIGN;

	*a = (Arena){ .base = (uint8_t *)mem + skew, .cap = cap > skew ? cap - skew : 0, .full = full };
	a->dirty = a->cap;
}

void arena_init_zeroed(Arena *a, void *mem, size_t cap, jmp_buf *full)
{
	arena_init(a, mem, cap, full);
	a->dirty = 0;
}

static _Noreturn void arena_full(Arena *a)
{
	if (a->full)
		longjmp(*a->full, 1);
	abort();
}

void *arena_alloc(Arena *a, size_t n)
{
	size_t used = a->used, dirty = a->dirty;
	uint8_t *p = arena_take(a, n);

	if (used < dirty)
		memset(p, 0, n < dirty - used ? n : dirty - used);
	return p;
}

void *arena_take(Arena *a, size_t n)
{
	size_t room = a->cap - a->used;

	if (n > room || room - n < ARENA_ALIGN)
		arena_full(a);
	uint8_t *p = a->base + a->used;

	a->used += (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (a->used > a->dirty)
		a->dirty = a->used;
	return p;
}

void *arena_array(Arena *a, size_t count, size_t size)
{
	if (size && count > a->cap / size)
		arena_full(a);
	return arena_alloc(a, count * size);
}

void *arena_copy(Arena *a, const void *p, size_t n)
{
	uint8_t *q = arena_alloc(a, n + 1);

	if (n)
		memcpy(q, p, n);
	return q;
}

bool arena_extend(Arena *a, const void *p, size_t n, size_t more)
{
	size_t at = (size_t)((const uint8_t *)p - a->base);
	size_t held = (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;

	if (!p || at + held != a->used || more <= held || more - held >= a->cap - a->used - ARENA_ALIGN)
		return false;
	arena_alloc(a, more - held);
	return true;
}

void arena_reset(Arena *a, size_t mark)
{
	if (mark <= a->used)
		a->used = mark;
}
