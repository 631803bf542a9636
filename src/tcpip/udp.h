/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagram sockets (RFC 768): one peer, one port, in the same stack as connections.
 *
 * Whole datagrams go in and come out, with what is known of each: its stamp, TTL, ECN
 * field and pieces.  What ICMP says of ours is shown, never obeyed, but for the path's MTU:
 * nothing acknowledges a datagram, so nothing proves that an error is forged.
 *
 * stack_pull, stack_sent, stack_wake_ns and the rest cover them.
 *
 * Ownership: a socket and what it queues live in the stack's pool until dgram_close.
 */
#ifndef SONDE_TCPIP_UDP_H
#define SONDE_TCPIP_UDP_H

#include "tcpip/endpoint.h"
#include "tcpip/stack.h"

typedef struct DgramSocket DgramSocket;
typedef struct Dgram Dgram; /* one in a queue */

typedef struct DgramOpen {
	Ip src, dst;
	uint16_t sport, dport;
	uint32_t mtu; /* of the route */
	uint8_t ttl, tos;
	bool df;      /* what is longer than the path takes is refused instead of cut */
	uint64_t seed; /* not 0: its IP ids are a function of this alone */
} DgramOpen;

typedef struct DgramCounts {
	uint64_t sent, sent_bytes;	   /* datagrams that left, payload bytes */
	uint64_t fragments;		   /* packets that they were cut into */
	uint64_t received, received_bytes;
	uint64_t received_fragmented;	   /* of these, came in pieces */
	uint64_t csum_errors, malformed;
	uint64_t dropped;		   /* received, but nobody read */
	uint64_t not_sent;		   /* packets that our own side refused or lost */
	uint64_t icmp;			   /* errors about ours */
} DgramCounts;

/* The last ICMP error about one of ours. */
typedef struct DgramError {
	uint16_t icmp;	/* 256 * type + code; 0 with ns 0: none */
	Ip reporter;
	uint32_t mtu;	/* that it told; 0: none */
	int64_t ns;
} DgramError;

struct DgramSocket {
	Endpoint ep; /* .id; the rest is the stack's */
	Ip src, dst;
	uint16_t sport, dport;
	uint32_t mtu; /* of the path, as known */
	uint8_t ttl, tos;
	bool df;
	int64_t last_tx_ns, last_rx_ns; /* stamps; 0: none */
	DgramCounts count;
	DgramError error;

	/* ---- the stack's own ---- */
	DgramSocket *next;
	Dgram *out, *out_last, *in, *in_last; /* the first of each is the oldest */
	uint32_t out_n, in_n, out_bytes, in_bytes;
	uint32_t cut; /* bytes of `out` that left in fragments */
	uint32_t ip_id;
};

/* A received datagram. */
typedef struct DgramIn {
	int64_t rx_ns;
	size_t bytes; /* of its payload, though fewer may have had room */
	uint8_t ttl, tos;
	bool fragmented;
} DgramIn;

typedef enum DgramSent {
	DGRAM_QUEUED,
	DGRAM_FULL,	/* LIMIT_DGRAM_QUEUE wait already, or there is no memory */
	DGRAM_TOO_LONG, /* above 65507 (IPv6: 65527), or above the path's MTU with df */
} DgramSent;

/* NULL: no memory, or the four-tuple is in use. */
DgramSocket *dgram_open(NetStack *s, int64_t now_ns, const DgramOpen *o);
void dgram_close(DgramSocket *d);

DgramSent dgram_send(DgramSocket *d, Bytes payload);
/* Takes the oldest received; what of it has no room is lost.  False: there is none. */
bool dgram_recv(DgramSocket *d, uint8_t *buf, size_t cap, DgramIn *ret_in);

#endif
