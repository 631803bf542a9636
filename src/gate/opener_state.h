/* SPDX-License-Identifier: Apache-2.0
 *
 * The opener's other half: what outlives a run is opened by the group that the binary
 * is setgid to (or by root), and that right is given up with the last capability but
 * one.
 *
 * It opens by fixed names, or by names that it makes itself of 32 bytes of hash; it
 * reads nothing of what it opens.
 */
#ifndef SONDE_GATE_OPENER_STATE_H
#define SONDE_GATE_OPENER_STATE_H

#include "gate/plan.h"

typedef struct OpenerState {
	int requests, approvals; /* folders, or -errno */
	unsigned uid;		 /* who asks: the real one, before root was left */
} OpenerState;

/* Opens the folders, and tells the loader of ledger and log.  0 or -errno. */
int opener_state_open(OpenerState *s, int gate_fd);

/* One thing that the loader asks for: a descriptor or -errno. */
int opener_state_ask(const OpenerState *s, const PlanAsk *ask);

/* Gives up folders and group. */
int opener_state_close(OpenerState *s);

#endif
