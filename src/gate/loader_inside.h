/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loader's files share; nobody else includes this.
 *
 *   loader.c       the process: manifest, policies, names, rules
 *   loader_plan.c  interfaces, ports and filters -> the plan
 *   loader_start.c the opener's answer, the gate's state, what the engine is told
 */
#ifndef SONDE_GATE_LOADER_INSIDE_H
#define SONDE_GATE_LOADER_INSIDE_H

#include "gate/gate.h"
#include "gate/loader.h"
#include "gate/lookup.h"
#include "gate/plan.h"

enum { LOADER_WHY = 512, SOURCES = 16 };

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
	Plan *plan;
	PlanOpened *opened;
	bool *free_port; /* per row of the plan: nobody asked for this number */
	Gate *g;	 /* g->links is filled from the start on */
	int exit;
	char why[LOADER_WHY];
} Loader;

/* Notes why the run does not start; always false. */
bool loader_fail(Loader *l, int exit, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* loader_plan.c: false after loader_fail(). */
bool loader_plan(Loader *l);

/* loader_start.c */
bool loader_open(Loader *l);	 /* plan to the opener, sockets from it */
bool loader_gate_init(Loader *l); /* the gate's state */
void loader_tell(Loader *l);	 /* facts and GO to the engine */

#endif
