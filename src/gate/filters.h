/* SPDX-License-Identifier: Apache-2.0
 *
 * Receive filters: which frames the kernel hands to the gate at all, and which of
 * others' traffic a capture admits.
 *
 * The kernel's filter is coarse and cheap: ARP, ICMP, what has a peer of the
 * manifest for source or destination, what goes to a port that can be ours (an
 * answer may come from another address than was asked), what a capture may admit.  It is written
 * here, instruction by instruction.  A capture's filter, which probe/filter wrote in
 * canonical form, is compiled by libpcap and stands behind it.  What comes up is
 * decided by gate/flows and by the exact capture filter, on the frame with its VLAN
 * tag put back.
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

/* The exact filter of rules' capture; false, with one sentence, if libpcap refuses
 * its text. */
bool filters_capture(const Rules *r, Arena *a, FrameFilter *ret_f, Str *ret_why);

/* The kernel's filters, into plan->filter; `plan` tells the ports. */
void filters_receive(const Rules *r, const FrameFilter *capture, Plan *plan);

bool filter_admits(const FrameFilter *f, Bytes frame, uint32_t orig_len, bool ether);

#endif
