/* SPDX-License-Identifier: Apache-2.0
 *
 * Who called: peers that opened a connection to a port on which we listen.
 *
 * guardrails.md 3: a listener never sends a peer whose handshake is unfinished more
 * bytes than came from it, so that nobody makes it shout at somebody else by a forged
 * source.  Finished is a handshake whose SYN-ACK's number was acknowledged, which only
 * who got it can know.
 *
 * Fixed memory from the arena given.  A SYN takes the place of the oldest unfinished
 * call, never that of a finished one; where there is none, it is not answered.
 */
#ifndef SONDE_GATE_CALLERS_H
#define SONDE_GATE_CALLERS_H

#include "base/arena.h"
#include "base/bytes.h"

enum { CALLERS = 4096, CALLER_WAYS = 8 };

typedef struct Caller {
	uint64_t key; /* of the tuple, as we send; 0: free */
	uint64_t born;
	uint32_t got, sent; /* bytes of IP packets while it is unfinished */
	uint32_t iss;	    /* of the SYN-ACK that was sent, if one was */
	bool answered, finished, reset;
} Caller;

typedef struct Callers {
	Caller *row;
	uint64_t calls;
} Callers;

/* What is looked at of a segment. */
typedef struct CallSegment {
	uint64_t key;
	uint32_t seq, ack;
	uint32_t bytes; /* of the IP packet */
	uint8_t flags;
} CallSegment;

void callers_init(Callers *c, Arena *a);
/* A segment to a listening port came up. */
void callers_got(Callers *c, const CallSegment *s);
/* NULL: nobody called there, or was forgotten. */
const Caller *callers_find(const Callers *c, uint64_t key);
/* Whether a segment from a listening port may leave: it answers a call and is not too
 * much yet.  It counts from here on. */
bool callers_may_send(Callers *c, const CallSegment *s);
/* A call that was not reset by us yet: once each it is free of the budget. */
bool callers_may_reset(Callers *c, uint64_t key);

#endif
