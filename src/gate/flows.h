/* SPDX-License-Identifier: Apache-2.0
 *
 * Own flows: which received frames are the program's, and what was received that
 * a later frame may answer.
 *
 * Up come frames to an owned (address, protocol, port) or to a spoofed source
 * that was used, ICMP errors that quote what was sent (by the quote's destination
 * side: NAT changes the source), ARP and ND answers that were asked for, later
 * fragments of what came up, and our own frames coming back.  What belongs to the
 * kernel never does, also not by capture: that admits only frames of others
 * (guardrails.md 3).
 *
 * All state is sets of fingerprints in fixed memory from the arena given.
 */
#ifndef SONDE_GATE_FLOWS_H
#define SONDE_GATE_FLOWS_H

#include "gate/callers.h"
#include "gate/fpset.h"
#include "gate/owned.h"
#include "gate/rules.h"

enum { FLOW_HELD = 64, FLOW_HELD_BYTES = 2048 };

typedef enum FlowVerdict {
	FLOW_KERNEL, /* this host's own traffic: never shown */
	FLOW_OTHER,  /* between others, or broadcast: shown if a capture admits it */
	FLOW_OWN,
	FLOW_LOOPED, /* one of ours coming back */
	FLOW_HOLD,   /* a later fragment whose first has not come: kept here */
} FlowVerdict;

typedef struct HeldFrame {
	uint64_t key; /* 0: free */
	bool asked;   /* from a peer to whom something of that protocol was sent */
	uint8_t age;  /* calls of flows_headless() that it saw */
	uint32_t n;
	bool ether;
	uint8_t meta[48]; /* the caller's, as given with the frame */
	uint8_t data[FLOW_HELD_BYTES];
} HeldFrame;

typedef struct Flows {
	const Rules *rules;
	const Owned *owned;
	uint64_t seed;
	FpSet local;    /* sources that were used: owned ones and spoofed */
	FpSet remote;   /* (destination, protocol, port or ICMP id) of what was sent */
	FpSet opened;   /* tuples on which a SYN was sent: a reset of each is free */
	FpSet syn_in;   /* tuples on which a SYN came up */
	FpSet quotable; /* received packets that an ICMP error may quote */
	FpSet frags;    /* fragment trains that come up */
	Callers callers; /* of ports on which we listen */
	HeldFrame *held;
	uint32_t next_held, ready;
	uint64_t ready_key;
	uint64_t fragments_lost; /* held ones that had to go */
	uint64_t headless;
} Flows;

/* `packets`: the budget; state is kept for about as many.  `seed`: secret, random. */
void flows_init(Flows *f, Arena *a, const Rules *r, const Owned *o, uint64_t seed, uint64_t packets);

/* A frame was sent.  For ICMP queries lport is the id and rport 0; for protocols
 * without ports both are 0; proto 0 is an ARP request or neighbour solicitation
 * for `dst`. */
typedef struct FlowTuple {
	Ip src, dst;
	uint8_t proto;
	uint16_t sport, dport;
} FlowTuple;

/* `to_many`: broadcast or multicast, so that anybody may answer. */
void flows_sent(Flows *f, const FlowTuple *t, bool syn, bool to_many);

/* That DHCP transaction is ours: its answers may go to everybody, or to an address that
 * nobody has yet. */
void flows_asked_dhcp(Flows *f, uint32_t xid);

/* Whether a received frame comes up; notes what later frames may refer to.
 * `ether`: it starts with an Ethernet header.  `meta` (at most 48 bytes) is given
 * back with a frame that was held. */
FlowVerdict flows_received(Flows *f, Bytes frame, bool ether, Bytes meta);

/* After FLOW_OWN: a held later fragment of that packet, if any; call until false.
 * The bytes live until the next flows_received(). */
bool flows_released(Flows *f, Bytes *ret_frame, bool *ret_ether, Bytes *ret_meta);

/* How many later fragments from peers that were sent to have stayed without their
 * first one, so far; to be called now and then: the second call in which one is
 * still held counts it. */
uint64_t flows_headless(Flows *f);

/* For the check of what is sent. */
bool flows_answers_syn(const Flows *f, const FlowTuple *t);
bool flows_was_opened(const Flows *f, const FlowTuple *t);
/* A segment of that tuple, as we send, for the callers. */
CallSegment flows_call(const Flows *f, const FlowTuple *t, Bytes segment, size_t packet_bytes);
/* `quote` begins with the IP header of a packet that came up in this run. */
bool flows_may_quote(const Flows *f, Bytes quote);

#endif
