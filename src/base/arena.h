/* SPDX-License-Identifier: Apache-2.0
 *
 * Arena: memory that is taken piece by piece and given back all at once.
 *
 * Pure code gets all its memory from an arena that the caller mapped before, so
 * that the engine needs no memory call after its sandbox closed, and so that no
 * input can take more than was planned.  The end of an arena is not a value to
 * test at each of a thousand calls: it jumps to the boundary that set `full`
 * (compile, run, decode), which turns it into one error.
 *
 * Ownership: the caller owns the memory and the jmp_buf; all that is taken from
 * an arena lives until arena_reset() to an earlier mark or the arena's end.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena {
	uint8_t *base;
	size_t cap;
	size_t used;
	size_t dirty; /* bytes from here on were never handed out and are known to be zero */
	jmp_buf *full; /* where to go when the memory ends; NULL: abort() */
} Arena;

void arena_init(Arena *a, void *mem, size_t cap, jmp_buf *full);

/* The same on memory that is zero (fresh from mmap or from an arena): what is taken
 * for the first time is not written, so a page costs only when it is used. */
void arena_init_zeroed(Arena *a, void *mem, size_t cap, jmp_buf *full);

/* `n` zeroed bytes, aligned to 16.  Never NULL; n == 0 gives a valid pointer. */
void *arena_alloc(Arena *a, size_t n);

/* The same, but what is in it is whatever was there: for large structs of which little
 * is used, and that is written before it is read. */
void *arena_take(Arena *a, size_t n);

/* `count` zeroed items of `size` bytes; the product is checked. */
void *arena_array(Arena *a, size_t count, size_t size);

/* A copy of n bytes; with one zero byte behind it. */
void *arena_copy(Arena *a, const void *p, size_t n);

static inline size_t arena_mark(const Arena *a)
{
	return a->used;
}

/* Makes the newest block of `n` bytes, at p, `more` bytes long where it stands (the new
 * ones are zero); false if it is not the newest or there is no room. */
bool arena_extend(Arena *a, const void *p, size_t n, size_t more);

/* Gives back all that was taken since `mark`. */
void arena_reset(Arena *a, size_t mark);

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_new_n(a, T, n) ((T *)arena_array((a), (n), sizeof(T)))

#endif
