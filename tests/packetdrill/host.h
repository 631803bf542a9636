/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack on virtual time behind packetdrill's calls.
 *
 * Time moves only when packetdrill asks for it (it spins on gettimeofday until an event is
 * due) or sleeps, and in steps that never pass a timer of the stack.  A blocking call runs
 * in a thread of packetdrill's; so that a run depends on the script alone, time stands
 * still from the moment that such a call has what it waited for until its thread has
 * asked for the time, which it does first.
 */
#ifndef SONDE_TESTS_PACKETDRILL_HOST_H
#define SONDE_TESTS_PACKETDRILL_HOST_H

#include "tcpip/tcp.h"

#include <pthread.h>

enum { HOST_PACKETS = 1024, HOST_PACKET = 65536 };

typedef struct HostPacket {
	int64_t ns;
	size_t n;
	uint8_t *p;
} HostPacket;

typedef struct Host {
	pthread_mutex_t lock;
	pthread_cond_t moved, settled;
	pthread_t main;
	uint64_t round;	    /* of moves that blocked calls must look at */
	uint32_t waiting, looked;
	bool leaving;	    /* a blocked call has its result and has not asked for the time yet */
	Arena arena;
	NetStack *s;
	int64_t now_ns;
	HostPacket out[HOST_PACKETS]; /* a ring */
	uint32_t from, count;
} Host;

Host *host_new(void);
void host_free(Host *h);
static inline void host_lock(Host *h)
{
	pthread_mutex_lock(&h->lock);
}
static inline void host_unlock(Host *h)
{
	pthread_mutex_unlock(&h->lock);
}

/* All with the lock held. */

/* After anything that may have changed the stack: takes its packets, lets blocked calls look. */
void host_moved(Host *h);
/* To `ns`, timer by timer. */
void host_advance(Host *h, int64_t ns);
/* In a call that must wait: returns when something may have changed. */
void host_wait(Host *h);
/* A call that waited goes back to packetdrill. */
void host_leave(Host *h);
/* The time, in whose asking a microsecond or so passes. */
int64_t host_ask_time(Host *h);

#endif
