/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

static MapSlot *map_slot(const Map *m, Bytes key, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash;; i++) {
		MapSlot *s = &m->slots[i & (m->cap - 1)];

		if (!s->used || (s->hash == hash && bytes_eq(s->key, key)))
			return s;
	}
}

uint64_t *map_get(const Map *m, Bytes key)
{
	if (!m->cap)
		return NULL;
	MapSlot *s = map_slot(m, key, bytes_hash(key));

	return s->used ? &s->value : NULL;
}

static void map_grow(Map *m)
{
	Map next = { .a = m->a, .cap = m->cap ? m->cap * 2 : 16, .n = m->n };

	next.slots = arena_new_n(m->a, MapSlot, next.cap);
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*map_slot(&next, m->slots[i].key, m->slots[i].hash) = m->slots[i];
	*m = next;
}

uint64_t *map_put(Map *m, Bytes key)
{
	uint64_t hash = bytes_hash(key);

	if ((m->n + 1) * 4 > m->cap * 3)
		map_grow(m);
	MapSlot *s = map_slot(m, key, hash);

	if (!s->used) {
		*s = (MapSlot){ .key = key, .hash = hash, .used = true };
		m->n++;
	}
	return &s->value;
}
