/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack's memory: blocks of a few fixed sizes on free lists, carved from pages that are
 * taken from the arena as needed, up to a bound.
 *
 * Connections come and go for as long as a stack lives, so what is given back must be
 * found again at once, in any order, without a search and without moving anything.
 * Blocks of one size stay of that size.
 *
 * Ownership: who takes a block gives it back to the same pool under the same size.
 */
#ifndef SONDE_TCPIP_POOL_H
#define SONDE_TCPIP_POOL_H

#include "base/arena.h"

typedef enum PoolSize {
	POOL_128,  /* scoreboard entries, sockets, small tables */
	POOL_512,
	POOL_CONN, /* a TcpConn */
	POOL_PAGE, /* data, logs */
	POOL_N
} PoolSize;

enum { POOL_PAGE_BYTES = 4096, POOL_CONN_BYTES = 1792 };

typedef struct PoolFree PoolFree;

typedef struct Pool {
	Arena *arena;
	size_t max, taken;   /* bytes */
	uint64_t refused;    /* times that nothing was left */
	PoolFree *free[POOL_N];
	uint32_t used[POOL_N]; /* blocks out: for tests */
} Pool;

void pool_init(Pool *p, Arena *a, size_t max_bytes);

/* Zeroed (POOL_PAGE: as it was left); NULL: the bound is reached. */
void *pool_take(Pool *p, PoolSize s);
void pool_give(Pool *p, PoolSize s, void *block);

/* An array that only grows, for tables of the stack itself: zeroed; NULL as above. */
void *pool_table(Pool *p, size_t bytes);

#endif
