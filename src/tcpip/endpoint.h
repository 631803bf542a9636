/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stack knows of whoever sends: a connection, a datagram socket.
 *
 * Embedded as the first member of each, so that numbering, turns, timers and the tags of
 * frames on their way are done once, in stack.c.
 *
 * Ownership: the links are the stack's; who embeds it sets `due_ns` by endpoint_due.
 */
#ifndef SONDE_TCPIP_ENDPOINT_H
#define SONDE_TCPIP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct NetStack NetStack;
typedef struct Endpoint Endpoint;
typedef struct EndpointOps EndpointOps;

struct Endpoint {
	const EndpointOps *ops;
	NetStack *stack;
	uint32_t id;	/* 1, 2, 3 ... of the stack */
	uint8_t unsent; /* frames between pull and sent */
	bool ready;	/* stands in the queue of those that may have something */
	Endpoint *id_next;
	Endpoint *ready_next, *ready_prev;
	int64_t due_ns; /* earliest timer; STACK_NEVER: none, and it stands in no heap */
	Endpoint *heap_child, *heap_next, *heap_prev; /* heap_prev: the parent of a first child */
};

#endif
