/* SPDX-License-Identifier: Apache-2.0
 *
 * Loader, then gate: a process that never had a capability.
 *
 * Before the start it reads the engine's manifest, intersects it with the policies
 * in force, looks up what is in the zones, chooses interfaces and ports, writes one
 * plan for the opener, and tells the engine what holds for the run.  Having its
 * sockets, it is the gate.
 */
#ifndef SONDE_GATE_LOADER_H
#define SONDE_GATE_LOADER_H

#include "gate/run.h"

typedef struct LoaderFds {
	int engine, cmd, netd;
	int tls; /* the way to the TLS process, if one is started */
} LoaderFds;

/* The process's main: its exit code. */
int loader_main(const RunOptions *o, const LoaderFds *fds);

#endif
