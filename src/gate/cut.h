/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts a checked IP packet into fragments that fit the MTU: RFC 791 3.2 for IPv4,
 * RFC 8200 4.5 for IPv6 (a Fragment header is put in).
 */
#ifndef SONDE_GATE_CUT_H
#define SONDE_GATE_CUT_H

#include "base/bytes.h"

typedef struct Cut {
	Bytes packet;
	uint32_t mtu;
	uint32_t id;  /* IPv6: the fragment identification; IPv4 keeps the packet's own */
	uint32_t off; /* payload bytes already cut */
	uint32_t head; /* header bytes that each piece repeats */
	uint8_t next;  /* IPv6: what follows the Fragment header */
	bool v6;
} Cut;

/* False if the packet can't be cut to this MTU. */
bool cut_init(Cut *c, Bytes packet, uint32_t mtu, uint32_t id);
/* Writes the next piece; false when there is none left or w is full. */
bool cut_next(Cut *c, Writer *w);
/* How many pieces there will be, and their bytes in all. */
uint32_t cut_count(const Cut *c, uint64_t *ret_bytes);

#endif
