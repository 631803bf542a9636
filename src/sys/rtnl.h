/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel knows of links, addresses, routes and neighbours, by rtnetlink
 * (libmnl).  Only questions: nothing here changes anything.
 *
 * Promises relied on: RTM_GETROUTE for one destination gives the very route that
 * the kernel would use, source address and MTU included, whatever the size of
 * the table; RTM_GETNEIGH for one address its entry (Linux 5.0).
 *
 * Functions return 0 or a count, or -errno.
 */
#ifndef SONDE_SYS_RTNL_H
#define SONDE_SYS_RTNL_H

#include "base/addr.h"

#include <stdbool.h>

typedef struct Rtnl Rtnl; /* one socket, buffers within */

/* NULL: errno says why. */
Rtnl *rtnl_open(void);
void rtnl_close(Rtnl *r);

enum { LINK_NAME = 16 };

typedef struct Link {
	int index;
	char name[LINK_NAME];
	uint16_t type; /* ARPHRD_* */
	Mac mac;
	uint32_t mtu;
	bool up; /* administratively, and with carrier */
	bool loopback;
} Link;

int rtnl_links(Rtnl *r, Link *ret, unsigned cap);

/* One link as it is now. */
int rtnl_link(Rtnl *r, int index, Link *ret);

/* Is it up, with carrier?  Without the kernel's routing lock, which others may hold
 * for long. */
bool rtnl_is_up(Rtnl *r, const char *name);

typedef struct LinkAddr {
	int index;
	Ip ip;
	uint8_t bits;
} LinkAddr;

/* Usable ones: no tentative, no failed. */
int rtnl_addrs(Rtnl *r, LinkAddr *ret, unsigned cap);

/* What the kernel would do with a packet to a destination. */
typedef enum RouteKind { ROUTE_UNICAST, ROUTE_LOCAL, ROUTE_BROADCAST, ROUTE_MULTICAST, ROUTE_NONE } RouteKind;

typedef struct Route {
	RouteKind kind;
	int index;
	Ip src;
	Ip gw; /* v 0: on link */
	uint32_t mtu; /* of the route; 0: the link's */
} Route;

/* iface 0: any; src.v 0: any.  -ENETUNREACH and kin: no route. */
int rtnl_route(Rtnl *r, Ip dst, int iface, Ip src, Route *ret);

typedef struct RouteRow {
	Net net;
	Ip gw, src;
	int index;
	uint32_t metric;
} RouteRow;

/* The main table's unicast rows, at most cap. */
int rtnl_routes(Rtnl *r, RouteRow *ret, unsigned cap);

typedef enum NeighState { NEIGH_NONE, NEIGH_REACHABLE, NEIGH_STALE, NEIGH_FAILED } NeighState;

typedef struct Neigh {
	int index;
	Ip ip;
	Mac mac;
	NeighState state; /* REACHABLE: the kernel would use it unasked (permanent, delay, probe too) */
} Neigh;

/* -ENOENT: no entry. */
int rtnl_neigh(Rtnl *r, int iface, Ip ip, Neigh *ret);
int rtnl_neighs(Rtnl *r, Neigh *ret, unsigned cap);

const char *neigh_state_text(NeighState s);

#endif
