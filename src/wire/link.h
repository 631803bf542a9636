/* SPDX-License-Identifier: Apache-2.0
 *
 * Which number in a header stands for which next header, in both directions:
 * EtherTypes, IP protocols, well-known ports.  Nothing else links layers.
 */
#ifndef SONDE_WIRE_LINK_H
#define SONDE_WIRE_LINK_H

#include "wire/wire.h"

/* The protocol behind a number, or WIRE_NONE. */
WireId wire_by_ethertype(uint16_t type);
WireId wire_by_ipproto(uint8_t proto, bool in_ipv6);
WireId wire_by_port(bool tcp, uint16_t sport, uint16_t dport);

/* The number for a protocol, or -1. */
int wire_ethertype_of(WireId id);
int wire_ipproto_of(WireId id);

/* Bytes that a transport puts between its header and the inner layer: DNS over
 * TCP has a length of two bytes there (RFC 1035 4.2.2). */
static inline uint32_t wire_prefix_len(WireId outer, WireId inner)
{
	return outer == WIRE_TCP && inner == WIRE_DNS ? 2 : 0;
}

#endif
