/* SPDX-License-Identifier: Apache-2.0
 *
 * The (address, protocol, port) that are ours in this run: the kernel gave them
 * to a bound socket (TCP, UDP), or the lock file did (ICMP ids).  Frames leave
 * only from these; only frames to these come up (guardrails.md 3, own ports).
 */
#ifndef SONDE_GATE_OWNED_H
#define SONDE_GATE_OWNED_H

#include "base/addr.h"
#include "base/arena.h"

typedef struct OwnedKey {
	Ip addr;
	uint8_t proto; /* 0: free slot */
	uint16_t port; /* an ICMP query's id */
} OwnedKey;

typedef struct Owned {
	OwnedKey *slots;
	uint32_t mask, n, most;
} Owned;

/* Room for `most` of them. */
void owned_init(Owned *o, Arena *a, uint32_t most);
/* False if there is no room left. */
bool owned_add(Owned *o, uint8_t proto, Ip addr, uint16_t port);
bool owned_has(const Owned *o, uint8_t proto, Ip addr, uint16_t port);

#endif
