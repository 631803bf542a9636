/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments that a program sends (word `fragments`): pieces of one packet must
 * not overlap, in whatever order they leave, so that the receiver can only put
 * together what was judged.  A fixed number of packets at a time, each with one
 * bit per eight bytes; a packet is forgotten when it is complete or when no
 * receiver still waits for it.
 */
#ifndef SONDE_GATE_FRAGS_H
#define SONDE_GATE_FRAGS_H

#include "base/addr.h"
#include "base/arena.h"

enum { FRAG_TRAINS = 64, FRAG_UNITS = 8192 };

typedef struct FragTrain {
	Ip src, dst;
	uint32_t id;
	uint8_t proto;
	bool used;
	int64_t until;
	uint32_t end;  /* units of the whole packet, once the last piece was seen; 0: not yet */
	uint32_t have; /* units seen */
	uint64_t seen[FRAG_UNITS / 64];
} FragTrain;

typedef struct Frags {
	FragTrain *trains;
} Frags;

typedef struct FragPiece {
	Ip src, dst;
	uint32_t id;
	uint8_t proto;
	uint32_t off, len; /* bytes; off is a multiple of 8 */
	bool more;
} FragPiece;

void frags_init(Frags *f, Arena *a);
/* NULL: no overlap, and noted; else what is wrong. */
const char *frags_add(Frags *f, const FragPiece *p, int64_t now);

#endif
