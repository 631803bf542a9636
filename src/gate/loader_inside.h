/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loader's files share; nobody else includes this.
 *
 *   loader.c       the process: manifest, policies, names, rules
 *   loader_plan.c  interfaces, ports and filters -> the plan
 *   loader_approval.c what a person has to approve, and whether one has
 *   loader_state.c what outlives a run: ledger, log
 *   loader_start.c the opener's answer, the gate's state, what the engine is told
 */
#ifndef SONDE_GATE_LOADER_INSIDE_H
#define SONDE_GATE_LOADER_INSIDE_H

#include "gate/compartments.h"
#include "gate/gate.h"
#include "gate/loader.h"
#include "gate/lookup.h"
#include "gate/plan.h"

enum {
	LOADER_WHY = 512,
	SOURCES = 16,
	LOADER_FREE_FROM = 61000, /* above Linux' own range of ephemeral ports */
};

typedef struct Loader {
	const RunOptions *o;
	LoaderFds fds;
	Arena arena;
	Arena *a;
	PolicyList policies;
	Manifest manifest;
	Findings findings;
	OwnAddr own[LINK_ADDRS]; /* of all interfaces */
	VEC(Pin) pins;
	Lookups lookups;
	Rules *rules;
	Session session; /* what it was shown and had; empty: none */
	Ledger ledger; /* fd -1: there is none */
	PlanState state;
	LedgerCount early; /* reserved for look-ups */
	bool approved;	   /* by a person: what the hash names */
	Hash approval;
	uint64_t start_seq; /* the line of the log that the run began with */
	uint8_t *held_ports[2]; /* of TCP and UDP: a bit for each free port that another session still has */
	Plan *plan;
	PlanOpened *opened;
	bool *free_port; /* per row of the plan: nobody asked for this number */
	Gate *g;	 /* g->links is filled from the start on */
	int exit;
	char why[LOADER_WHY];
} Loader;

/* Notes why the run does not start; always false. */
bool loader_fail(Loader *l, int exit, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Tells cmd the findings from this one on. */
void loader_note_findings(Loader *l, uint32_t from);

/* loader_state.c: false after loader_fail(). */
bool loader_ledger(Loader *l);	/* before anything is sent, look-ups too */
bool loader_reserve(Loader *l); /* for the look-ups */
bool loader_started(Loader *l); /* the run is counted, its ports are held, the log has it */
void loader_refused(Loader *l); /* the log has it */
bool loader_port_held(Loader *l, uint8_t proto, uint16_t port); /* a free port, still another session's */
void loader_ports_warm(Loader *l, uint8_t proto, const PortSet *named); /* fails if one of them is */
void loader_settle(Loader *l);	/* the run is over */

/* loader_session.c: compartments; false after loader_fail(). */
bool loader_session(Loader *l);	      /* reads what the session was shown and had */
bool loader_session_had(Loader *l);   /* the run begins */

/* loader_approval.c: a run that needs a person has one's approval; false after
 * loader_fail(). */
bool loader_approval(Loader *l);
RulesInput loader_rules_input(const Loader *l);

/* loader_plan.c: false after loader_fail(). */
bool loader_links(Loader *l); /* which interfaces may be sent on */
bool loader_plan(Loader *l);

/* loader_start.c */
bool loader_open(Loader *l);	 /* plan to the opener, sockets from it */
bool loader_gate_init(Loader *l); /* the gate's state */
void loader_tell(Loader *l);	 /* facts and GO to the engine */

#endif
