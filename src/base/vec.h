/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays on an arena.  `VEC(int) v = { 0 }; vec_push(a, &v, 3); v.p[0]`.
 * Growing copies and leaves the old block to the arena, unless that is the newest block:
 * push only while building.
 */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include "base/arena.h"

#include <string.h>

#define VEC(T)              \
	struct {            \
		T *p;       \
		uint32_t n; \
		uint32_t cap; \
	}

/* Appends one item; evaluates to a pointer to it. */
#define vec_push(a, v, ...)                                                                          \
	((v)->n == (v)->cap ? (void)((v)->p = vec_grow_((a), (v)->p, (v)->n, &(v)->cap, sizeof *(v)->p)) \
			    : (void)0,                                                               \
	 (v)->p[(v)->n] = (__VA_ARGS__), &(v)->p[(v)->n++])

static inline void *vec_grow_(Arena *a, const void *p, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t was = *cap;

	*cap = was ? was * 2 : 8;
	if (was && arena_extend(a, p, was * size, *cap * size))
		return (void *)(uintptr_t)p;
	void *q = arena_array(a, *cap, size);

	if (n)
		memcpy(q, p, n * size);
	return q;
}

#endif
