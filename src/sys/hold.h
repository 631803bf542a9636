/* SPDX-License-Identifier: Apache-2.0
 *
 * Holding a port or an ICMP id, so that nobody else on this host has it.
 *
 * Promises relied on: bind() of TCP or UDP to (address, port) keeps every other
 * socket of this network namespace from it while the descriptor lives; a name in
 * the abstract AF_UNIX space is held likewise (unix(7)), which serves for ICMP
 * ids: crash-proof as a port, with no file to write or to clean up.  getsockname()
 * tells both, so whoever is handed the descriptor learns what is held from the
 * kernel and not from a number.
 */
#ifndef SONDE_SYS_HOLD_H
#define SONDE_SYS_HOLD_H

#include "base/addr.h"

#include <stdbool.h>

typedef struct Held {
	Ip addr;
	uint8_t proto; /* IPPROTO_TCP, UDP, ICMP, ICMPV6 */
	uint16_t port; /* or ICMP id */
} Held;

/* Holds it; a descriptor or -errno (EADDRINUSE: somebody has it).  `iface`: for
 * link-local IPv6 addresses. */
int hold_take(const Held *h, int iface);

/* What a descriptor holds; false if it is no such thing. */
bool hold_read(int fd, Held *ret_h);

#endif
