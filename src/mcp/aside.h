/* SPDX-License-Identifier: Apache-2.0
 *
 * What transports, sessions and handles need beside: threads, events, names that nobody
 * guesses, the time.
 */
#ifndef SONDE_MCP_ASIDE_H
#define SONDE_MCP_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A detached thread with a stack for one handler; false: there is none to be had. */
bool aside_thread(void *(*main)(void *), void *arg);

/* Makes an eventfd readable. */
void aside_raise(int event_fd);

/* Random bytes, two digits each, and a zero byte; false: the kernel gives none. */
bool aside_random(char *out, size_t bytes);

/* Seconds of this boot: nobody sets them back. */
int64_t aside_now_s(void);

#endif
