/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts fragments together (RFC 791 3.2, RFC 8200 4.5): what `fragment.c` cuts.
 *
 * Never merged wrongly: an exact copy of a fragment is ignored and counted; any other
 * overlap (RFC 5722 4), a contradiction about the size or the ECN field (RFC 3168 5.3)
 * spoils the whole packet, pieces yet to come included.  Receivers that merge overlaps
 * do so in different ways, so whichever way we took, somebody on the path saw another
 * packet.
 *
 * Bounded: so many packets at once, so many of them of one source, which then loses its
 * own oldest; so many pieces each.
 *
 * Ownership: memory is asked of the owner when it is first needed, kept and used again; a
 * packet put together is valid until the next call.
 */
#ifndef SONDE_WIRE_REASM_H
#define SONDE_WIRE_REASM_H

#include "base/addr.h"

enum { REASM_PIECES = 64 };

/* What may be told of fragments.  id, meaning */
#define REASM_EVENTS(X)                                                                       \
	X(COPY, "an exact copy of a fragment")                                                \
	X(OVERLAP, "fragments overlap: the packet is dropped")                                \
	X(INCONSISTENT, "a fragment came twice with different bytes: the packet is dropped")  \
	X(SIZE, "fragments disagree about the size, or are too many: the packet is dropped")  \
	X(ECN, "some fragments are marked CE, others are not ECN-capable: the packet is dropped") \
	X(LOST, "fragments are missing")                                                      \
	X(NO_MEMORY, "no memory for a fragment")

#define REASM_ENUM_(id, text) REASM_##id,
typedef enum ReasmEvent { REASM_EVENTS(REASM_ENUM_) REASM_EVENT_N } ReasmEvent;

const char *reasm_event_text(ReasmEvent e);

/* One fragment, as its headers say. */
typedef struct ReasmPiece {
	Ip src, dst;
	uint8_t proto; /* IPv4 only: part of what tells packets apart (RFC 791 3.2) */
	uint8_t ecn;   /* 0..3 */
	bool more;
	uint32_t id;
	uint32_t off;  /* of body in the whole, bytes */
	Bytes packet;  /* from the IP header on */
	Bytes body;    /* what it carries of the whole: the end of `packet` */
} ReasmPiece;

/* Whom an event is about. */
typedef struct ReasmNote {
	Ip src, dst;
	uint32_t id, off;
	uint32_t have, total; /* bytes; total 0: not known yet */
} ReasmNote;

typedef struct ReasmConfig {
	uint32_t packets;    /* put together at once */
	uint32_t per_source; /* of them */
	int64_t expire_ns;   /* from a packet's first piece on */
	bool keep_pieces;    /* Reassembled.piece is wanted */
	void *(*take)(void *ctx, size_t bytes); /* zeroed memory that is never given back; NULL: there is none */
	void (*report)(void *ctx, ReasmEvent e, const ReasmNote *note); /* NULL: counters will do */
	void *ctx;
} ReasmConfig;

typedef struct Reassembled {
	Bytes packet; /* from the IP header on, as if it had come in one piece */
	uint32_t n;   /* pieces */
	Bytes piece[REASM_PIECES]; /* with keep_pieces: in order of arrival, each from its IP header on */
} Reassembled;

typedef struct ReasmSlot ReasmSlot;

typedef struct Reasm {
	ReasmConfig c;
	uint64_t count[REASM_EVENT_N];
	ReasmSlot *slot; /* [c.packets], NULL until the first fragment */
} Reasm;

void reasm_init(Reasm *r, const ReasmConfig *c);

/* Takes a fragment that came at now_ns; true when it completes its packet. */
bool reasm_add(Reasm *r, const ReasmPiece *p, int64_t now_ns, Reassembled *ret_packet);

/* When reasm_expire is due; INT64_MAX: nothing waits. */
int64_t reasm_wake_ns(const Reasm *r);
/* Reports and drops what is incomplete and older than expire_ns, or all. */
void reasm_expire(Reasm *r, int64_t now_ns, bool all);

#endif
