/* SPDX-License-Identifier: Apache-2.0
 *
 * Receive filters: which frames the kernel hands to the gate at all, and which of
 * others' traffic a capture admits.
 *
 * The text comes from rules (peers) and from the program's filters in canonical
 * form (probe/filter wrote it); libpcap compiles it in the loader.  The kernel's
 * filter is coarse and cheap: all that could be own flow, or captured.  What comes
 * up is decided by gate/flows and by the exact capture filter on the frame with
 * its VLAN tag put back.
 *
 * Ownership: the arena given.
 */
#ifndef SONDE_GATE_FILTERS_H
#define SONDE_GATE_FILTERS_H

#include "gate/plan.h"
#include "gate/rules.h"

typedef struct FrameFilter {
	bool on, all;
	PlanFilter *code[PLAN_LINKS]; /* BPF, as the kernel's and libpcap's agree on it */
} FrameFilter;

/* The kernel's filters; false, with one sentence, if libpcap refuses the text. */
bool filters_receive(const Rules *r, Arena *a, PlanFilter ret[PLAN_LINKS], Str *ret_why);

/* The exact filter of rules' capture. */
bool filters_capture(const Rules *r, Arena *a, FrameFilter *ret_f, Str *ret_why);

bool filter_admits(const FrameFilter *f, Bytes frame, uint32_t orig_len, bool ether);

#endif
