/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts fragmented answers together (RFC 791 3.2, RFC 8200 4.5), for sr and verbs;
 * sniff shows fragments as they came.
 *
 * Never merged wrongly: an exact copy of a fragment is ignored and counted; any
 * other overlap (RFC 5722), a contradiction about the size or the protocol spoils
 * the whole packet, which is reported and dropped.  What misses a piece for 30 s
 * is reported when its place is needed or when asked.
 *
 * Ownership: all memory is from the arena given; a packet put together is valid
 * until the next call.
 */
#ifndef SONDE_PROBE_REASSEMBLE_H
#define SONDE_PROBE_REASSEMBLE_H

#include "probe/packet_id.h"
#include "probe/warnings.h"

enum { REASM_PIECES = 64, REASM_PACKETS = 16 };

typedef struct Reassembler Reassembler;

Reassembler *reassembler_new(Arena *a, Warnings *ws);

typedef struct Reassembled {
	Bytes packet; /* from the IP header on, as if it had come in one piece */
	uint32_t n;   /* pieces, in order of arrival, each from its IP header on */
	Bytes piece[REASM_PIECES];
} Reassembled;

/* Takes a fragment that came at rx_ns; true when it completes its packet. */
bool reassemble(Reassembler *r, const PacketId *id, int64_t rx_ns, Reassembled *ret_packet);

/* Reports what is incomplete and older than 30 s, or all. */
void reassemble_expire(Reassembler *r, int64_t now_ns, bool all);

#endif
