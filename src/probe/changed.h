/* SPDX-License-Identifier: Apache-2.0
 *
 * What was rewritten on the way: a packet as sent against the same packet as an
 * ICMP error quotes it, or as it came back itself.
 *
 * Only fields that the quote reaches are compared (most routers quote 8 bytes of
 * the transport header, RFC 792), so "option stripped" is said only where the
 * options can be seen.  TTL and header checksum change at every hop and are left
 * out; so are transport checksums that had to follow another change.
 *
 * Ownership: texts are on the arena.
 */
#ifndef SONDE_PROBE_CHANGED_H
#define SONDE_PROBE_CHANGED_H

#include "wire/wire.h"

/* "IP.tos: 0x28 -> 0x0", "TCP.options: MSS 1460 -> 1400"; how many there are, of
 * which at most `max` are written.  `quote` has unset fields where it ends. */
uint32_t packet_changed(const WirePacket *sent, const WirePacket *quote, Arena *a, Str *ret_text,
			uint32_t max);

#endif
