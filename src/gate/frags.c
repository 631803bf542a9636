/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/frags.h"

#include "base/units.h"

/* RFC 1122 3.3.2 and RFC 8200 4.5: receivers wait 60 to 120 s at most. */
#define TRAIN_LIFE (120 * NS_PER_S)

void frags_init(Frags *f, Arena *a)
{
	f->trains = arena_new_n(a, FragTrain, FRAG_TRAINS);
}

static bool same_train(const FragTrain *t, const FragPiece *p)
{
	return t->id == p->id && t->proto == p->proto && ip_eq(t->src, p->src) && ip_eq(t->dst, p->dst);
}

/* The packet's train, or a free place for it, or NULL. */
static FragTrain *train_of(Frags *f, const FragPiece *p, int64_t now)
{
	FragTrain *free_one = NULL;

	for (size_t i = 0; i < FRAG_TRAINS; i++) {
		FragTrain *t = &f->trains[i];

		if (t->used && now >= t->until)
			t->used = false;
		if (t->used && same_train(t, p))
			return t;
		if (!t->used && !free_one)
			free_one = t;
	}
	if (free_one) {
		memset(free_one, 0, sizeof *free_one);
		free_one->src = p->src;
		free_one->dst = p->dst;
		free_one->id = p->id;
		free_one->proto = p->proto;
	}
	return free_one;
}

static bool overlaps(const FragTrain *t, uint32_t from, uint32_t to)
{
	for (uint32_t u = from; u < to; u++)
		if (t->seen[u / 64] >> (u % 64) & 1)
			return true;
	return false;
}

static uint32_t last_seen(const FragTrain *t)
{
	for (uint32_t u = FRAG_UNITS; u > 0; u--)
		if (t->seen[(u - 1) / 64] >> ((u - 1) % 64) & 1)
			return u;
	return 0;
}

const char *frags_add(Frags *f, const FragPiece *p, int64_t now)
{
	uint32_t from = p->off / 8, to = (p->off + p->len + 7) / 8;

	if (p->off % 8 || p->len == 0 || p->off + p->len > 65535 || (p->more && p->len % 8))
		return "a fragment whose place or length can't be put together"; /* RFC 791 3.2, RFC 8200 4.5 */
	FragTrain *t = train_of(f, p, now);

	if (!t)
		return "too many packets sent in fragments at once";
	if (t->used && overlaps(t, from, to))
		return "a fragment that overlaps an earlier one";
	if (t->used && ((t->end && (to > t->end || !p->more)) || (!p->more && last_seen(t) > to)))
		return "a fragment behind the last one of its packet";
	for (uint32_t u = from; u < to; u++)
		t->seen[u / 64] |= UINT64_C(1) << (u % 64);
	t->used = true;
	t->until = now + TRAIN_LIFE;
	t->have += to - from;
	if (!p->more)
		t->end = to;
	if (t->end && t->have == t->end)
		t->used = false;
	return NULL;
}
