/* SPDX-License-Identifier: Apache-2.0
 *
 * The expert: looks at what is received and says what is odd, unasked.
 *
 * Each check is a comparison: with an RFC, with the probe that was answered, or with
 * what the same peer did before.  What it remembers is a table of fixed size; when it
 * is full, nothing new is compared, and nothing wrong is said.
 *
 * Ownership: a table of the arena given; nothing of a frame is kept.
 */
#ifndef SONDE_PROBE_EXPERT_H
#define SONDE_PROBE_EXPERT_H

#include "probe/match.h"
#include "probe/warnings.h"

typedef struct Expert Expert;

Expert *expert_new(Arena *a, Warnings *ws);

/* A received frame, and what this host knows about where it came in. */
typedef struct ExpertFrame {
	const PacketId *id;
	Bytes frame; /* from its outermost header on */
	WireId first;
	uint32_t orig_len; /* on the wire */
	uint32_t mtu;	   /* of the interface; 0: not known */
	bool computed;	   /* the sender's checksums are in it: frames of peers on this machine have none */
	bool third_party;  /* of no flow of ours */
	bool from_link;	   /* the source address is of a net of that interface */
	bool from_ours;	   /* the source address is ours */
	bool to_ours;	   /* the destination is one address, and ours */
	bool stamped;	   /* its time is the kernel's or the NIC's, not that of reading it */
} ExpertFrame;

void expert_frame(Expert *e, const ExpertFrame *f);

/* A hardware address of this host. */
void expert_own_mac(Expert *e, Mac mac);

/* A probe is about to leave; tagged: with a VLAN tag. */
void expert_probe(Expert *e, const PacketId *probe, bool tagged);

/* What a match says; probe: NULL where there is none. */
void expert_match(Expert *e, const PacketId *probe, const PacketId *answer, const Match *m);

/* What was odd since the last expert_frame(). */
WarnSet expert_odd(const Expert *e);

/* Is the payload of an echo reply another than was sent? */
bool expert_corrupted(const PacketId *probe, const PacketId *answer);

#endif
