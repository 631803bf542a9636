/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over records of fixed fields: one function a struct serves both directions, so
 * that what is written can be read, in the same order, by construction.  It reads where
 * `c` is set, else it writes; what no value may be sets `bad`, both ways.
 */
#ifndef SONDE_DEAL_WALK_H
#define SONDE_DEAL_WALK_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct Walk {
	Cursor *c;
	Writer *w;
	bool bad;
} Walk;

static inline void x_u8(Walk *k, uint8_t *v)
{
	if (k->c)
		*v = cur_u8(k->c);
	else
		wr_u8(k->w, *v);
}

static inline void x_u32(Walk *k, uint32_t *v)
{
	if (k->c)
		*v = cur_be32(k->c);
	else
		wr_be32(k->w, *v);
}

/* An enum or a bool, below n. */
static inline void x_enum(Walk *k, uint8_t *v, uint8_t n)
{
	x_u8(k, v);
	k->bad |= *v >= n;
}

static inline void x_bool(Walk *k, bool *v)
{
	uint8_t b = *v;

	x_enum(k, &b, 2);
	*v = b;
}

/* True: all was well, and nothing is left. */
static inline bool walk_done(const Walk *k)
{
	return !k->bad && (k->c ? !k->c->bad && cur_left(k->c) == 0 : !k->w->full);
}

#endif
