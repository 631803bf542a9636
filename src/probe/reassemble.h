/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts fragmented answers together, for sr and verbs; sniff shows fragments as they
 * came.  How is wire/reasm.h's; here it meets identities and warnings.
 *
 * Ownership: all memory is from the arena given; a packet put together is valid
 * until the next call.
 */
#ifndef SONDE_PROBE_REASSEMBLE_H
#define SONDE_PROBE_REASSEMBLE_H

#include "probe/packet_id.h"
#include "probe/warnings.h"
#include "wire/reasm.h"

typedef struct Reassembler Reassembler;

Reassembler *reassembler_new(Arena *a, Warnings *ws);

/* Takes a fragment that came at rx_ns; true when it completes its packet. */
bool reassemble(Reassembler *r, const PacketId *id, int64_t rx_ns, Reassembled *ret_packet);

/* Reports what is incomplete and older than 30 s, or all. */
void reassemble_expire(Reassembler *r, int64_t now_ns, bool all);

#endif
