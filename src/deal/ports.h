/* SPDX-License-Identifier: Apache-2.0
 *
 * The ports, protocols and addresses that guardrails single out, as const
 * tables: which port needs which word, which must be named one by one, which
 * carries tunnels, which multiplies what it is sent, which addresses are never
 * in reach.
 *
 * The checker tells by them what a program needs, the gate what may leave.  A port
 * has at most one row per protocol: what else a datagram to it must be (a DNS
 * query, no SNMP set, no NTP control) is the gate's frame_payload's business.
 */
#ifndef SONDE_DEAL_PORTS_H
#define SONDE_DEAL_PORTS_H

#include "deal/manifest.h"

/* Beyond ReachWord: no word opens the port, program and policy name it by itself. */
#define NEED_NAME ((ReachWord)WORD_N)

typedef struct PortRow {
	uint8_t proto; /* IPPROTO_TCP, IPPROTO_UDP; 0: both */
	uint16_t port;
	ReachWord need; /* the word, or NEED_NAME */
	const char *what; /* "BGP, RFC 4271" */
} PortRow;

/* The row of a port that needs something, or NULL. */
const PortRow *port_row(uint8_t proto, uint16_t port);
/* All rows, sorted by port: to cut them out of a range. */
const PortRow *port_rows(size_t *ret_n);

/* A UDP service that answers with much more than it was sent. */
bool port_amplifies(uint16_t udp_port);

/* IP protocols that need a word (routing, tunnel); WORD_N: none does. */
ReachWord proto_word(uint8_t proto);

typedef struct NeverRow {
	const char *net;
	const char *what;
} NeverRow;

/* Nets in which no peer lies unless the operator says allow_self. */
const NeverRow *never_rows(size_t *ret_n);

#endif
