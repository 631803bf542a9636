/* SPDX-License-Identifier: Apache-2.0
 *
 * How large packets to a destination may be: what routers say (RFC 1191, RFC 8201),
 * believed as far as RFC 5927 7.2 does, and what the path itself shows (PLPMTUD,
 * RFC 4821, RFC 8899), which needs no router to speak.
 *
 * One Pmtu is part of one connection, which tells it what was sent, acknowledged and
 * lost, and asks two things: how large segments are now, and whether to send one that
 * is larger, as a probe.  All sizes are of whole IP packets.  It starts at the link's MTU
 * (or what the cache remembers), so that on a clean path nothing is ever probed:
 *
 *     COMPLETE --- full-size segments keep timing out ---> HOLE (smaller, unproven)
 *        ^                                                   | something arrives
 *        |                                                   v
 *        +--- nothing larger is left to try ------------- SEARCH <--- 10 minutes later
 *
 * Ownership: plain values, no memory of their own.
 */
#ifndef SONDE_TCPIP_PMTU_H
#define SONDE_TCPIP_PMTU_H

#include "base/addr.h"
#include "base/limits.h"

enum { PMTU_LEAST_V4 = 68, PMTU_LEAST_V6 = 1280 }; /* RFC 791 3.2, RFC 8200 5 */

typedef enum PmtuState { PMTU_COMPLETE, PMTU_HOLE, PMTU_SEARCH } PmtuState;

typedef struct Pmtu {
	PmtuState state;
	uint8_t v;
	uint32_t least;	   /* never less */
	bool probing;	   /* a probe is in flight */
	uint8_t tries;	   /* probes of `probe` bytes lost in a row */
	uint8_t timeouts;  /* in a row, of segments that a smaller size could save */
	uint32_t link;	   /* the route's MTU: never more */
	uint32_t size;	   /* PLPMTU: segments are this large */
	uint32_t high;	   /* the search's upper end: the largest size not known to fail */
	bool high_failed;  /* `high` was found by a failure, else it is a size worth trying first */
	uint32_t probe;	   /* size of the probe in flight, or of the last one */
	uint32_t acked;	   /* the largest that arrived: RFC 5927's maxsizeacked */
	uint32_t claimed;  /* by a router, waits for a timeout that bears it out; 0: none */
	uint32_t claimed_seq;
	int64_t raise_ns;  /* when to look for a larger one again */
	uint32_t changes, holes, probes, probes_lost, too_big; /* counters */
} Pmtu;

/* cached: from pmtu_cache_get(), or 0. */
void pmtu_init(Pmtu *p, uint8_t v, uint32_t link_mtu, uint32_t cached, int64_t now_ns);

/* Packets will be no longer than `most` (the peer's MSS), and shorter than `least` is of no use. */
void pmtu_bounds(Pmtu *p, uint32_t least, uint32_t most);

static inline uint32_t pmtu_now(const Pmtu *p)
{
	return p->size;
}

/* The size of the one probe that may be sent now, 0: none. */
uint32_t pmtu_probe_size(Pmtu *p, int64_t now_ns);
void pmtu_probe_sent(Pmtu *p, uint32_t size);
/* The probe was lost (found by what came behind it, or by its timeout): no sign of
 * congestion (RFC 4821 7.5). */
void pmtu_probe_lost(Pmtu *p, int64_t now_ns);

/* snd_una moved; size: of the largest segment newly acknowledged. */
void pmtu_acked(Pmtu *p, uint32_t size, uint32_t snd_una, int64_t now_ns);

/* A segment of that size timed out.  True: segments are smaller from now on. */
bool pmtu_timeout(Pmtu *p, uint32_t size, int64_t now_ns);

/* A Packet Too Big that passed icmp_error_judge(): what it claims (0: nothing), how long
 * the packet was that it quotes, and its sequence number.  True: segments are smaller
 * from now on, and what is in flight above that was lost. */
bool pmtu_too_big(Pmtu *p, uint32_t claimed, uint32_t quoted_len, uint32_t seq, int64_t now_ns);

/* Somebody else found the path to be so small.  True: segments are smaller from now on. */
bool pmtu_follow(Pmtu *p, uint32_t size, int64_t now_ns);

/* What a router meant that told no MTU (RFC 1191 5): the next plateau below. */
uint32_t pmtu_plateau(uint32_t below);

/* ---- what is remembered of destinations ---- */

typedef struct PmtuCacheRow {
	Ip dst;
	uint32_t mtu;
	int64_t at_ns;
} PmtuCacheRow;

/* The oldest row gives way. */
typedef struct PmtuCache {
	PmtuCacheRow row[LIMIT_PMTU_CACHE];
} PmtuCache;

/* 0: nothing, or older than ten minutes (RFC 1191 6.3, RFC 8201 5.3). */
uint32_t pmtu_cache_get(const PmtuCache *c, Ip dst, int64_t now_ns);
void pmtu_cache_put(PmtuCache *c, Ip dst, uint32_t mtu, int64_t now_ns);

#endif
