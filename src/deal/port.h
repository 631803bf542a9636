/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's only way out: it emits messages, and it waits for one.
 *
 * Four things stand behind it: the gate (a socket), the fake (a simulated
 * network on virtual time, for tests), a pcap file, a recorded run.  The engine
 * has no clock: its time is the newest stamp among the messages that it read.
 * It reads messages one by one and tests its condition after each, so that a run
 * depends on their order only.
 */
#ifndef SONDE_DEAL_PORT_H
#define SONDE_DEAL_PORT_H

#include "deal/msg.h"

typedef struct Port Port;
struct Port {
	/* Takes a message of direction 'E'.  May buffer until the next wait. */
	void (*emit)(Port *p, const Msg *m);
	/* The next message of direction 'G'; blocks until there is one.  Its bytes
	 * live until the next call.  False: the other side is gone. */
	bool (*wait)(Port *p, Msg *ret_m);
};

#endif
