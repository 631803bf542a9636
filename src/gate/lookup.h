/* SPDX-License-Identifier: Apache-2.0
 *
 * Look-ups of names before the start, by the loader: /etc/hosts, then queries for
 * A and AAAA from an ordinary UDP socket to the resolvers of policy or host.
 *
 * Names were held against the zones before (rules_check_names).  What comes back
 * is foreign: it is parsed by a bounded cursor in a process without any right, and
 * each address must lie in the policy by itself.
 */
#ifndef SONDE_GATE_LOOKUP_H
#define SONDE_GATE_LOOKUP_H

#include "gate/links.h"
#include "gate/names.h"

enum { LOOKUP_ADDRS = 16 };

typedef struct Lookups {
	Arena *a;
	Links *links;	      /* for the order by source address */
	Resolvers servers;
	uint64_t queries, bytes; /* sent so far */
} Lookups;

/* `policy`: the resolvers that policies name; none: those of the host. */
void lookups_init(Lookups *l, Arena *a, Links *links, const Ip *policy, uint32_t npolicy);

typedef struct Lookup {
	Candidate addr[LOOKUP_ADDRS]; /* in the order of RFC 6724 */
	uint32_t n;
	char from[64]; /* "10.0.0.53", "/etc/hosts"; why not, if n is 0 */
} Lookup;

void lookup(Lookups *l, Str name, Lookup *ret);

#endif
