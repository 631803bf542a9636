/* SPDX-License-Identifier: Apache-2.0
 *
 * Which probe does a received packet answer?  (language.md 6, "Matching")
 *
 *   (a) on the reversed flow, if acceptable for its protocol: TCP by RFC 9293 in
 *       serial arithmetic, ICMP queries by id and seq, DNS by id and question,
 *       ARP and ND by target, UDP by ports and, among probes with the same ports,
 *       by equal payload, else in order and marked ambiguous;
 *   (b) by an ICMP error whose quote has the probe's identity;
 *   (c) the probe itself, come back.
 *
 * Every frame gets a verdict; nothing is thrown away.  All look-ups go through
 * hashes of what must be equal, so that 20,000 outstanding probes cost no more
 * than one; what a hash finds is compared before it is believed.
 *
 * Probes are never deleted by time: those of earlier calls stay as `closed` until
 * LIMIT_OUTSTANDING younger ones have come, so that late answers are known.
 *
 * Ownership: all memory comes from the arena given at init; results are valid
 * until the next call.  No bytes of probes or frames are kept.
 */
#ifndef SONDE_PROBE_MATCH_H
#define SONDE_PROBE_MATCH_H

#include "base/limits.h"
#include "base/units.h"
#include "probe/packet_id.h"

typedef struct Matcher Matcher;

typedef enum Verdict {
	VERDICT_UNSOLICITED, /* answers no probe */
	VERDICT_ANSWER,	     /* the first answer */
	VERDICT_DUPLICATE,   /* of an answered probe, the same bytes again */
	VERDICT_FURTHER,     /* of an answered probe, another answer */
	VERDICT_LATE,	     /* to a probe whose call is over */
} Verdict;

typedef enum MatchHow { HOW_NONE, HOW_FLOW, HOW_QUOTE, HOW_LOOPED, HOW_REDIRECT } MatchHow;

typedef struct Match {
	uint64_t probe; /* as matcher_add() gave it; 0: none */
	uint64_t group; /* the group it was added under */
	Verdict verdict;
	MatchHow how;
	bool ambiguous; /* other probes would have fitted as well: taken in order */
} Match;

enum {
	MATCH_MOST = 256, /* probes that one cumulative ACK can answer */
	MATCH_BROADCASTS = 64,
};

Matcher *matcher_new(Arena *a);

/* An address of a link of ours that all on it hear: a directed broadcast (RFC 919).
 * At most MATCH_BROADCASTS are kept. */
void matcher_broadcast(Matcher *m, Ip ip);
/* Whether many may answer what is sent there: group, broadcast, directed broadcast. */
bool matcher_to_many(const Matcher *m, Ip ip);

/* A probe as it is about to leave; `group` is the caller's name for it, handed
 * back in each match.  `repeats`: 0, or the first probe that this one repeats: an
 * answer to either is the first one's.  Numbers from 1 up; 0: bytes that can't be
 * matched. */
uint64_t matcher_add(Matcher *m, Bytes packet, WireId first, uint64_t group, uint64_t repeats);

/* It never left: answers to it are none. */
void matcher_drop(Matcher *m, uint64_t probe);

/* The call that sent all probes so far is over. */
void matcher_close(Matcher *m);

/* The verdict on one received packet (whole, not a fragment).  At least one match
 * is returned; several only where one TCP ACK answers several probes. */
const Match *matcher_match(Matcher *m, const PacketId *id, uint32_t *ret_n);

/* A probe's identity as it was added (without bytes); NULL if it is too old. */
const PacketId *matcher_probe(const Matcher *m, uint64_t probe);

/* Probes added so far. */
uint64_t matcher_count(const Matcher *m);

#endif
