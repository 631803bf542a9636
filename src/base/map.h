/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from bytes to a pointer-sized value, on an arena; keys are borrowed.
 * Insert and find only: what needs deleting is not a compile-time table.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/arena.h"
#include "base/bytes.h"

typedef struct MapSlot {
	Bytes key;
	uint64_t hash;
	uint64_t value;
	bool used;
} MapSlot;

typedef struct Map {
	Arena *a;
	MapSlot *slots;
	uint32_t cap; /* a power of two, or 0 */
	uint32_t n;
} Map;

/* The place of the value under key, or NULL. */
uint64_t *map_get(const Map *m, Bytes key);

/* The place of the value under key, made (with 0) if there is none. */
uint64_t *map_put(Map *m, Bytes key);

#endif
