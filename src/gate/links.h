/* SPDX-License-Identifier: Apache-2.0
 *
 * The interfaces of a run, and which of them the kernel would use for a
 * destination.
 *
 * All links of the host are known (for interfaces()); those of the manifest have a
 * receive socket and may send.  Routes are the kernel's own answer for one
 * address, kept for a second.
 */
#ifndef SONDE_GATE_LINKS_H
#define SONDE_GATE_LINKS_H

#include "deal/msg.h"
#include "gate/frame_check.h"
#include "sys/rtnl.h"

enum { LINKS_MAX = 64, LINK_ADDRS = 256, HOPS_CACHED = 4096 };

typedef struct GateIface {
	Link link;
	GateLink gl;   /* what the check of a frame needs of it */
	bool may_send; /* opened for this run */
	int rx_fd;     /* -1: not opened */
	uint32_t evidence_id;
	uint64_t drops;
} GateIface;

/* Where a frame to `dst` goes. */
typedef struct Hop {
	Ip dst;
	uint16_t asked; /* the interface that the engine named, or 0 */
	int64_t until;	/* ask the kernel again then */
	NotSent reason; /* NOTSENT_NONE: it goes */
	GateIface *iface;
	Ip next; /* the gateway, or dst itself */
	Ip src;
	bool gateway;
	uint32_t mtu;
} Hop;

typedef struct Links {
	Rtnl *rtnl;
	GateIface iface[LINKS_MAX];
	unsigned n;
	LinkAddr addr[LINK_ADDRS];
	unsigned naddr;
	OwnAddr own[LINK_ADDRS]; /* the same, grouped by interface */
	Hop *hops;
	const char *only; /* --iface, or NULL */
} Links;

/* Reads links and addresses.  0 or -errno. */
int links_init(Links *l, Arena *a, const char *only);

GateIface *links_find(Links *l, int index);
GateIface *links_by_name(Links *l, Str name);

/* An Ethernet header stands before the packet: Ethernet itself, loopback. */
bool link_is_ether(const Link *l);
/* A kind of link that frames can be made for. */
bool link_is_usable(const Link *l);

/* The way to dst; never NULL, valid until the next call. */
const Hop *links_hop(Links *l, Ip dst, uint16_t iface, int64_t now);

/* Forgets what is cached: a link went down, a send failed. */
void links_forget(Links *l);

/* An address of ours on that interface, in the net of `to` if there is one; .v == 0: none. */
Ip links_source(const GateIface *i, Ip to);

#endif
