/* SPDX-License-Identifier: Apache-2.0
 *
 * The expert: looks at what is received and says what is odd, unasked.
 *
 * Ownership: a table of the arena given; nothing of a frame is kept.
 */
#ifndef SONDE_PROBE_EXPERT_H
#define SONDE_PROBE_EXPERT_H

#include "probe/match.h"
#include "probe/warnings.h"

typedef struct Expert Expert;

Expert *expert_new(Arena *a, Warnings *ws);

/* Every received frame.  computed: the sender's checksums are in it (frames of
 * peers on this machine have none).  What is odd about it. */
WarnSet expert_frame(Expert *e, const PacketId *id, bool computed);

/* What a match says; probe: NULL where there is none. */
void expert_match(Expert *e, const PacketId *probe, const PacketId *answer, const Match *m);

/* Is the payload of an echo reply another than was sent? */
bool expert_corrupted(const PacketId *probe, const PacketId *answer);

#endif
