/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's port to a gate: deal messages in batches over one SOCK_SEQPACKET
 * descriptor, by read and write alone.
 *
 * What is emitted is kept until the engine waits or a batch is full: the gate
 * then sees the probes of a round in one datagram.  Nothing is allocated after
 * gate_port_init(), and no other system call is made, so it works behind the
 * engine's filter.  The same code serves whatever stands at the other end: gate,
 * capture file, record.
 *
 * Ownership: the caller's memory, for as long as the port is used.
 */
#ifndef SONDE_PORT_GATE_H
#define SONDE_PORT_GATE_H

#include "deal/port.h"

/* The most bytes of one datagram, in either direction; every writer obeys it. */
#define PORT_BATCH (160u * 1024)

/* What gate_port_init() takes from `mem`. */
#define GATE_PORT_MEMORY (2u * PORT_BATCH)

typedef struct GatePort {
	Port port; /* first: hand &gp->port to the engine */
	int fd;
	Writer out;
	uint8_t *in;
	Cursor msgs; /* what is unread of the last datagram */
	bool gone;   /* the other side closed, or sent what is no message */
} GatePort;

/* `mem`: GATE_PORT_MEMORY bytes. */
void gate_port_init(GatePort *gp, int fd, void *mem);

/* Sends what is buffered now; wait() does it by itself. */
void gate_port_flush(GatePort *gp);

#endif
