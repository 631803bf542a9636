/* SPDX-License-Identifier: Apache-2.0
 *
 * When did a frame leave?  Two witnesses: the kernel's transmit stamp, which comes
 * with our own number, and the recapture of the frame by a second socket, matched
 * by all its bytes.
 *
 * The transmit stamp counts, once some first frames have shown that it agrees with
 * the recapture on this host and link; until then, and where drivers do not stamp,
 * the recapture does.  Neither of them while recapture lost nothing: the kernel
 * dropped the frame, it was not sent.
 */
#ifndef SONDE_GATE_STAMPS_H
#define SONDE_GATE_STAMPS_H

#include "base/arena.h"
#include "base/bytes.h"

#include <stdbool.h>

enum { STAMP_PIECES = 8192, STAMP_NOBODY = 0xffff };

/* Of one frame: what its pieces have told. */
typedef struct SlotStamps {
	uint16_t left;	/* pieces that are still out */
	int64_t tx;	/* stamp of the last piece, CLOCK_REALTIME; 0: none */
	int64_t tap;
	int64_t sched;
	int64_t called; /* when it was given to the kernel */
	bool lost;	/* one piece was never seen to leave */
} SlotStamps;

typedef struct Piece {
	uint32_t id;   /* 0: free */
	uint32_t slot;
	uint64_t hash;
	uint16_t next; /* same bucket, in the order of sending */
	bool matched;  /* recaptured: no longer in its bucket */
	int64_t tap, tx, sched, called;
} Piece;

typedef struct Stamps {
	Piece *piece; /* by id modulo STAMP_PIECES */
	uint16_t *bucket;
	uint64_t seed;
	uint32_t next_id, oldest; /* ids; none older than oldest is out */
	uint32_t out;
	uint32_t agreed;   /* frames with two witnesses that agree */
	uint32_t disagreed;
	bool no_stamps;	   /* the driver does not stamp */
	uint64_t by_source[8]; /* SENTs, by StampSource */
	uint64_t rx_by_source[8];
	int64_t aged; /* when the old ones were last looked at */
	uint64_t drops_seen; /* recapture's drops when they were last looked at */
} Stamps;

void stamps_init(Stamps *s, Arena *a, uint64_t seed);

#endif
