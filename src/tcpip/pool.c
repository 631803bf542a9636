/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/pool.h"

#include <string.h>

struct PoolFree {
	PoolFree *next;
};

static const uint16_t block_bytes[POOL_N] = {
	[POOL_128] = 128,
	[POOL_512] = 512,
	[POOL_CONN] = POOL_CONN_BYTES,
	[POOL_PAGE] = POOL_PAGE_BYTES,
};

/* Blocks that are carved at once: few enough that an idle size costs little. */
static const uint8_t block_batch[POOL_N] = { [POOL_128] = 32, [POOL_512] = 8, [POOL_CONN] = 8, [POOL_PAGE] = 4 };

void pool_init(Pool *p, Arena *a, size_t max_bytes)
{
	*p = (Pool){ .arena = a, .max = max_bytes };
}

void *pool_table(Pool *p, size_t bytes)
{
	size_t room = p->arena->cap - p->arena->used;

	/* 16: what aligning may cost.  The arena's own end would leave by longjmp. */
	if (bytes > p->max - p->taken || room < 16 || bytes > room - 16) {
		p->refused++;
		return NULL;
	}
	p->taken += bytes;
	return arena_alloc(p->arena, bytes);
}

static bool refill(Pool *p, PoolSize s)
{
	size_t each = block_bytes[s];
	uint32_t n = block_batch[s];
	uint8_t *at = pool_table(p, each * n);

	if (!at)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		PoolFree *f = (PoolFree *)(void *)(at + (n - 1 - i) * each);

		f->next = p->free[s];
		p->free[s] = f;
	}
	return true;
}

void *pool_take(Pool *p, PoolSize s)
{
	if (!p->free[s] && !refill(p, s))
		return NULL;
	PoolFree *f = p->free[s];

	p->free[s] = f->next;
	p->used[s]++;
	if (s != POOL_PAGE)
		memset(f, 0, block_bytes[s]);
	return f;
}

void pool_give(Pool *p, PoolSize s, void *block)
{
	PoolFree *f = block;

	f->next = p->free[s];
	p->free[s] = f;
	p->used[s]--;
}
