/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kind of frame that guardrails.md 3 and 4 forbid, as a table: for the test
 * of the check, and for the engine that attacks a real gate.
 *
 * A row says which words would let it out ("+fragments", "udp=161", "vlan=10",
 * "spoof=10.0.0.77"; several by blanks), or that nothing does (NULL).
 */
#ifndef SONDE_GATE_HOSTILE_FRAMES_H
#define SONDE_GATE_HOSTILE_FRAMES_H

#include "gate/test_lab.h"

typedef struct HostileFrame {
	const char *name;
	const char *lift;
	void (*build)(const Scene *s, Writer *w, EmitKind *ret_kind);
} HostileFrame;

const HostileFrame *hostile_frames(size_t *ret_n);

#endif
