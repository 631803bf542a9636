/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/fpset.h"

/* Each generation is at most half full, so that probing stays short. */
void fpset_init(FpSet *s, Arena *a, uint32_t cap)
{
	uint32_t slots = 16;

	while (slots / 2 < cap)
		slots *= 2;
	*s = (FpSet){ .mask = slots - 1, .cap = slots / 2 };
	s->slots[0] = arena_new_n(a, uint64_t, slots);
	s->slots[1] = arena_new_n(a, uint64_t, slots);
}

/* 0 marks a free slot. */
static uint64_t fp_stored(uint64_t fp)
{
	return fp ? fp : 1;
}

static uint64_t *find(const FpSet *s, unsigned generation, uint64_t fp)
{
	uint64_t *slots = s->slots[generation];

	for (uint32_t i = (uint32_t)fp;; i++)
		if (slots[i & s->mask] == 0 || slots[i & s->mask] == fp)
			return &slots[i & s->mask];
}

void fpset_put(FpSet *s, uint64_t fp)
{
	uint64_t *slot = find(s, s->now, fp_stored(fp));

	if (*slot)
		return;
	if (s->n[s->now] == s->cap) {
		s->now ^= 1;
		s->n[s->now] = 0;
		memset(s->slots[s->now], 0, ((size_t)s->mask + 1) * sizeof(uint64_t));
		slot = find(s, s->now, fp_stored(fp));
	}
	*slot = fp_stored(fp);
	s->n[s->now]++;
}

bool fpset_has(const FpSet *s, uint64_t fp)
{
	return *find(s, s->now, fp_stored(fp)) || *find(s, s->now ^ 1u, fp_stored(fp));
}

uint64_t fp_bytes(uint64_t h, Bytes b)
{
	size_t i;

	h = fp_num(h, b.n);
	for (i = 0; i + 4 <= b.n; i += 4)
		h = fp_num(h, get_be32(b.p + i));
	for (; i < b.n; i++)
		h = fp_num(h, b.p[i]);
	return h;
}
