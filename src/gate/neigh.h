/* SPDX-License-Identifier: Apache-2.0
 *
 * The MAC of a next hop: from the kernel's table, else by our own ARP request or
 * neighbour solicitation, at most LIMIT_NEIGH_TRIES, one a second.
 *
 * Nothing is ever written to the kernel's table, and nobody unresolved is ever
 * sent a broadcast instead: frames wait for their own next hop only, then they are
 * told that it does not answer.  Pure but for the questions to rtnetlink; what is
 * to be sent comes back to the caller as a frame.
 */
#ifndef SONDE_GATE_NEIGH_H
#define SONDE_GATE_NEIGH_H

#include "gate/links.h"

enum { NEIGHS_MAX = 1024, NEIGH_FRAME = 96, NEIGH_NOBODY = 0xffffffff };

typedef enum NeighSay { NEIGH_KNOWN, NEIGH_WAIT, NEIGH_SILENT } NeighSay;

typedef struct NeighRow {
	bool used;
	GateIface *iface;
	Ip ip;
	NeighSay say;
	Mac mac;
	uint8_t tries;	/* of ours, unanswered */
	bool probing;	/* waiting for an answer to ours */
	int64_t next;	/* probing: the next try, or the end; else: ask the kernel again then */
	uint32_t first, last; /* frames that wait: the caller's slots, chained by him; NEIGH_NOBODY: none */
} NeighRow;

typedef struct Neighs {
	Rtnl *rtnl;
	NeighRow *row;
	int64_t due;	 /* nothing is to be done before */
	uint64_t probes; /* sent */
} Neighs;

void neighs_init(Neighs *n, Arena *a, Rtnl *rtnl);

/* The row of a next hop; NULL: too many at once. */
NeighRow *neighs_find(Neighs *n, GateIface *i, Ip ip, int64_t now);

/* A received frame (Ethernet) may answer a probe of ours.  The row that is known by
 * it now, or NULL. */
NeighRow *neighs_learn(Neighs *n, const GateIface *i, Bytes frame, int64_t now);

/* The next row whose time has come: then either *ret_frame is a probe of ours to
 * be sent, or it is empty and the row has become NEIGH_SILENT.  NULL: none. */
NeighRow *neighs_due(Neighs *n, int64_t now, uint8_t buf[NEIGH_FRAME], Bytes *ret_frame);

/* neighs_due() has no work before; INT64_MAX: never. */
static inline int64_t neighs_next(const Neighs *n)
{
	return n->due;
}

#endif
