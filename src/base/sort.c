/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Sort {
	uint8_t *p;
	size_t size;
	int (*order)(const void *, const void *);
} Sort;

static void swap(const Sort *s, size_t a, size_t b)
{
	uint8_t keep[SORT_ITEM_MOST];

	memcpy(keep, s->p + a * s->size, s->size);
	memcpy(s->p + a * s->size, s->p + b * s->size, s->size);
	memcpy(s->p + b * s->size, keep, s->size);
}

/* Moves item `at` down until no child is larger. */
static void sift(const Sort *s, size_t at, size_t n)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= n)
			return;
		if (child + 1 < n && s->order(s->p + child * s->size, s->p + (child + 1) * s->size) < 0)
			child++;
		if (s->order(s->p + at * s->size, s->p + child * s->size) >= 0)
			return;
		swap(s, at, child);
		at = child;
	}
}

void sort_items(void *items, size_t n, size_t size, int (*order)(const void *, const void *))
{
	Sort s = { items, size, order };

	if (size > SORT_ITEM_MOST)
		abort();
	for (size_t i = n / 2; i-- > 0;)
		sift(&s, i, n);
	for (size_t end = n; end-- > 1;) {
		swap(&s, 0, end);
		sift(&s, 0, end);
	}
}
