/* SPDX-License-Identifier: Apache-2.0
 *
 * A TCP/IP stack: one instance, driven from outside.
 *
 * It has no clock, socket or thread.  Who owns it hands in packets and the time, and
 * pulls out the packets that it wants to send:
 *
 *     stack_input(s, now, packet, &rx)       a packet came
 *     stack_advance(s, now)                  stack_wake_ns(s) is due
 *     while (stack_pull(s, now, &out))       what is to leave; bytes live until the next call
 *     stack_sent(s, out.tag, tx_ns)          it left then: measurements and timers start here
 *
 * so that engine, scripts on virtual time, packetdrill and a simulator of hundreds of
 * hosts use the same code, and a run depends on the order of these calls only.
 *
 * Pull instead of push: the owner paces and shares out, so a connection is asked in turn
 * and never has more than STACK_UNSENT frames between pull and sent.
 *
 * Ownership: all memory is the stack's pool, which grows in the arena given up to
 * StackConfig.max_bytes; its end refuses data and connections and is counted.
 */
#ifndef SONDE_TCPIP_STACK_H
#define SONDE_TCPIP_STACK_H

#include "base/addr.h"
#include "base/arena.h"
#include "base/bytes.h"

#define STACK_NEVER INT64_MAX /* no timer */

enum { STACK_UNSENT = 8 };

typedef struct NetStack NetStack;

typedef struct StackConfig {
	uint64_t seed;	  /* all that is random is a function of it and of numbers of connections */
	size_t max_bytes; /* of memory for connections; 0: the default */
} StackConfig;

/* What is known of a received packet beside its bytes. */
typedef struct StackRx {
	uint32_t mtu;	/* of the interface that it came by, 0: unknown */
	bool csum_good; /* somebody verified the transport checksum, or none was due: a local peer's */
} StackRx;

typedef enum StackVerdict {
	STACK_NOT_OURS,	       /* no connection, listener or datagram socket claims it */
	STACK_TAKEN,
	STACK_TAKEN_AND_SHOWN, /* ours, and a crafted segment of this connection waits for its answer */
} StackVerdict;

typedef enum StackPurpose { STACK_DATA, STACK_CLEANUP } StackPurpose; /* cleanup: a reset that closes a flow */

typedef struct StackOut {
	Bytes packet; /* from the IP header on */
	uint64_t tag; /* for stack_sent, stack_notsent; never 0 */
	uint32_t conn; /* TcpConn.id or DgramSocket.id */
	StackPurpose purpose;
} StackOut;

/* Why a packet that was pulled did not leave. */
typedef enum StackUnsent {
	UNSENT_REFUSED,	 /* by policy or budget: will never */
	UNSENT_TOO_LONG, /* above the link's MTU */
	UNSENT_NO_ROUTE, /* or no neighbour */
	UNSENT_LOST,	 /* in our own queues: as any loss */
} StackUnsent;

NetStack *stack_new(Arena *a, const StackConfig *c);

StackVerdict stack_input(NetStack *s, int64_t now_ns, Bytes packet, const StackRx *rx);
bool stack_pull(NetStack *s, int64_t now_ns, StackOut *ret_out);
void stack_sent(NetStack *s, uint64_t tag, int64_t tx_ns);
void stack_notsent(NetStack *s, uint64_t tag, StackUnsent why);

/* When stack_advance is due next; STACK_NEVER: only when something comes. */
int64_t stack_wake_ns(const NetStack *s);
void stack_advance(NetStack *s, int64_t now_ns);

/* False: stack_pull would give nothing now. */
bool stack_has_output(const NetStack *s);

#endif
