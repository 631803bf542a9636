/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting in place without memory of its own: libc's qsort() takes some from
 * malloc, which the engine's sandbox does not allow.
 */
#ifndef SONDE_BASE_SORT_H
#define SONDE_BASE_SORT_H

#include <stddef.h>

enum { SORT_ITEM_MOST = 64 };

/* Heapsort: n log n in the worst case, not stable; `order` as for qsort().
 * Items are at most SORT_ITEM_MOST bytes. */
void sort_items(void *items, size_t n, size_t size, int (*order)(const void *, const void *));

#endif
