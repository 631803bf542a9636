/* SPDX-License-Identifier: Apache-2.0
 *
 * The way between engine and TLS process (deal/tls.h): one request, its answer, the next.
 *
 * Both pass here, and not over a descriptor that the two would share, so that the engine
 * keeps its two descriptors and the record has all that the engine was told, in order.
 * The gate looks at neither: the TLS process reads hostile bytes and is trusted with
 * nothing, its answers are data for the engine as a FRAME is.
 */
#ifndef SONDE_GATE_TLS_WAY_H
#define SONDE_GATE_TLS_WAY_H

#include "base/limits.h"
#include "deal/msg.h"

#define TLS_WAY_MEMORY (LIMIT_MSG + 8u)

typedef struct TlsWay {
	int fd;	      /* -1: the manifest has no TLS, or the process has ended */
	bool wanted;  /* the manifest has TLS */
	bool waiting; /* a request is out */
	uint32_t id;  /* of it */
	uint8_t *buf;
} TlsWay;

/* fd -1: there is no TLS in this run; buf: TLS_WAY_MEMORY bytes. */
static inline void tls_way_init(TlsWay *t, int fd, void *buf)
{
	*t = (TlsWay){ .fd = fd, .wanted = fd >= 0, .buf = buf };
}

#endif
