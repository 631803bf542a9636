/* SPDX-License-Identifier: Apache-2.0
 *
 * What the gate has to say to the engine, and when the engine is slow to listen.
 *
 * The gate never blocks on the engine: messages wait here, are sent in datagrams
 * of whole messages, and beyond LIMIT_BACKLOG FRAMEs are dropped and counted.
 * All others answer a request of the engine's or come once, so their number is
 * bounded and they always find room.
 */
#ifndef SONDE_GATE_OUTBOX_H
#define SONDE_GATE_OUTBOX_H

#include "gate/recorder.h"

#define OUTBOX_MEMORY (LIMIT_BACKLOG + (2u << 20))

typedef struct Outbox {
	int fd;
	uint8_t *mem; /* OUTBOX_MEMORY bytes */
	size_t head, tail;
	uint64_t dropped; /* FRAMEs */
	bool gone;	  /* the other side has ended */
	Recorder *record; /* what is put is kept there, or NULL */
} Outbox;

void outbox_init(Outbox *o, int fd, void *mem);

/* Appends; a FRAME may be dropped. */
void outbox_put(Outbox *o, const Msg *m);

/* Sends what the other side takes now. */
void outbox_flush(Outbox *o);

static inline bool outbox_waits(const Outbox *o)
{
	return o->head < o->tail && !o->gone;
}

#endif
