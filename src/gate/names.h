/* SPDX-License-Identifier: Apache-2.0
 *
 * What a look-up needs besides packets: which servers to ask, and in which order
 * the addresses that came back are used.  Pure: files come as text, routes as
 * source addresses.
 */
#ifndef SONDE_GATE_NAMES_H
#define SONDE_GATE_NAMES_H

#include "base/addr.h"

enum { RESOLVERS_MAX = 3 }; /* as resolv.conf(5) */

typedef struct Resolvers {
	Ip addr[RESOLVERS_MAX];
	uint32_t n;
	bool stub; /* all of them on loopback: read the stub's list of upstream servers instead */
} Resolvers;

/* Where systemd-resolved and others list what lies behind their stub. */
#define RESOLV_UPSTREAM_PATH "/run/systemd/resolve/resolv.conf"

/* `nameserver` lines of a resolv.conf(5); servers with a zone id are left out. */
void resolv_conf_parse(Str text, Resolvers *ret_r);

/* A resolved address and the source that the kernel's route to it gives. */
typedef struct Candidate {
	Ip addr;
	Ip src; /* .v == 0: no route */
} Candidate;

/* Sorts by RFC 6724 6; stable. */
void names_order(Candidate *c, size_t n);

#endif
