/* SPDX-License-Identifier: Apache-2.0
 *
 * Distinct identities for the fields that a program leaves free.
 *
 * What is filled in depends on nothing but (seed, destination, number of the
 * packet to that destination) (guardrails.md 5): so no answer of one peer can
 * change a bit of what another gets.  Fields that are set are never touched.
 *
 *   IP id          counts from a start of its own per destination
 *   ICMP id, seq   an id that the gate holds for us; seq counts, then comes the next id
 *   UDP, TCP sport one of the ports that the gate holds for us, in turn; with more
 *                  packets than ports they repeat, and payload, seq or IP id tell
 *   TCP seq        1..2^30
 *   DNS id         counts in odd strides
 */
#ifndef SONDE_PROBE_IDENTITY_H
#define SONDE_PROBE_IDENTITY_H

#include "base/rng.h"
#include "base/vec.h"
#include "wire/wire.h"

enum { IDENTITY_GROUPS = 64 };

/* Ports (ICMP: ids) that are ours at one source address. */
typedef struct OwnPorts {
	uint8_t proto; /* 6, 17; 1, 58: ICMP */
	Ip src;	       /* v 0: any of ours */
	VEC(uint16_t) port;
} OwnPorts;

/* What the gate gave us for this run. */
typedef struct IdentityPool {
	uint64_t seed;
	uint32_t n;
	OwnPorts group[IDENTITY_GROUPS];
} IdentityPool;

/* False: no more source addresses are kept. */
bool identity_own(IdentityPool *pool, Arena *a, uint8_t proto, uint16_t port, Ip src);
bool identity_owns(const IdentityPool *pool, uint8_t proto, uint16_t port, Ip src);

typedef struct Identity {
	uint16_t ip_id, icmp_seq, dns_id;
	uint32_t tcp_seq;
} Identity;

/* The identity of packet n (from 0) to dst. */
Identity identity_draw(uint64_t seed, Ip dst, uint64_t n);

/* The source port (ICMP: id) for packet n to dst, or 0: we own none that fits. */
uint16_t identity_port(const IdentityPool *pool, uint8_t proto, Ip src, Ip dst, uint64_t n);
/* How many ports of ours packets from src can be given. */
uint32_t identity_ports(const IdentityPool *pool, uint8_t proto, Ip src);

/* Sets what is free in p, whose layers it copies to the arena before it writes on
 * them: source address, ports, ids.  Returns NULL or why it can't ("no UDP port
 * of ours is free for 10.0.0.1"). */
const char *identity_fill(WirePacket *p, const IdentityPool *pool, Ip src, uint64_t n, Arena *a);

/* The destination that counts packets: of the IP layer, ARP's target; v 0: none. */
Ip packet_destination(const WirePacket *p);

#endif
