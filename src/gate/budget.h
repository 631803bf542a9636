/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter of a run: totals that stop it and token buckets that pace it
 * (language.md 4, guardrails.md 3).  Pure: time is an argument, ns since GO.
 *
 * A bucket fills at its rate up to rate/10 (at least one) and may go below zero
 * by one frame, so that a frame larger than the bucket still leaves, later.
 */
#ifndef SONDE_GATE_BUDGET_H
#define SONDE_GATE_BUDGET_H

#include "gate/rules.h"

typedef struct Bucket {
	int64_t rate;  /* a second; 0: does not pace */
	int64_t level; /* tokens * 10^9 */
	int64_t at;    /* when level held */
} Bucket;

enum { METER_PEERS = 65536 };

typedef struct MeterSpoof {
	Bucket pace;
	int64_t used, max;
} MeterSpoof;

typedef struct Meter {
	Budget b;
	uint64_t used_packets, used_bytes, used_syn;
	uint64_t cleanups;  /* sent beside the budget */
	uint64_t open;      /* flows opened and not yet reset: what may still be sent so */
	uint64_t held[BOUND_N]; /* frames that a rate delayed */
	uint64_t held_spoof;
	bool asked_again;   /* the frame at hand was held before */
	uint32_t refused;   /* frames that broke a rule */
	Bucket pace[BOUND_N]; /* RATE, BYTE_RATE, SYN_RATE */
	Bucket *peer, *peer_syn; /* by hash of the destination: peers that meet share one; NULL: not set */
	uint64_t seed;
	MeterSpoof *spoof;
	uint32_t nspoof;
} Meter;

typedef struct MeterFrame {
	uint32_t packets; /* pieces, if it is cut */
	uint64_t bytes;   /* of all pieces, at layer 2, without FCS */
	bool syn, cleanup;
	bool called;      /* a clean-up of a flow that a peer opened */
	int spoof;        /* index of the right, or -1 */
	Ip dst;
} MeterFrame;

typedef enum MeterSay { METER_SEND, METER_HOLD, METER_REFUSE } MeterSay;

typedef struct MeterAnswer {
	MeterSay say;
	int64_t until;     /* METER_HOLD: ask again then */
	const char *bound; /* "rate", "packets", "spoof max": what holds or refuses */
} MeterAnswer;

void meter_init(Meter *m, Arena *a, const Rules *r, uint64_t seed);

/* METER_SEND took what the frame costs.  A frame that is held is asked for again
 * with the same values; it was taken from nothing. */
MeterAnswer meter_ask(Meter *m, const MeterFrame *f, int64_t now);

/* A frame broke a rule; true: it was one too many, the run ends. */
bool meter_refused(Meter *m);

#endif
