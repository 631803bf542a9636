/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded run behind the engine (sonde replay): it is told what it was told, and
 * what it says is held against what it said.
 *
 * This port lies in the engine's own process, behind its sandbox: the record is
 * foreign bytes, and nowhere is less to be had by them.  It makes no call at all.
 * The first message that is not the recorded one, byte by byte, ends the run: so a
 * send in replay is the recorded send or an error.
 *
 * Ownership: the record's bytes and `mem` are the caller's and outlive the port.
 */
#ifndef SONDE_PORT_REPLAY_H
#define SONDE_PORT_REPLAY_H

#include "deal/port.h"
#include "deal/record.h"

#define REPLAY_PORT_MEMORY (LIMIT_MSG + 4u)

typedef struct ReplayPort {
	Port port;	   /* first: hand &rp->port to the engine */
	Cursor said, told; /* each its own way through the stream */
	uint32_t nsaid, ntold;
	bool whole; /* the record has its tail */
	bool left;  /* the recorded gate ended before its engine did */
	uint8_t *mem;
	char fault[256]; /* the first thing that does not fit; "" */
} ReplayPort;

/* `mem`: REPLAY_PORT_MEMORY bytes. */
void replay_port_init(ReplayPort *rp, const Record *r, void *mem);

/* After the run: what does not fit, in one sentence; "" if all does. */
const char *replay_port_end(ReplayPort *rp);

#endif
