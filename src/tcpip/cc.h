/* SPDX-License-Identifier: Apache-2.0
 *
 * Congestion control: how cwnd grows and by how much it shrinks.  Everything else about loss is
 * tcp_loss.c's.  All in bytes.
 */
#ifndef SONDE_TCPIP_CC_H
#define SONDE_TCPIP_CC_H

#include "tcpip/tcp_conn.h"

struct CcOps {
	const char *name;
	/* `acked` bytes were acknowledged while cwnd was in use and no loss is being repaired. */
	void (*acked)(TcpConn *c, int64_t now_ns, uint32_t acked);
	/* The new slow-start threshold at a loss or a congestion mark. */
	uint32_t (*reduce)(TcpConn *c, int64_t now_ns);
	/* A reduction was for nothing. */
	void (*undo)(TcpConn *c);
};

extern const CcOps cc_newreno, cc_cubic;

/* Slow start (RFC 5681 3.1); the bytes of `acked` that it did not use. */
uint32_t cc_slow_start(TcpConn *c, uint32_t acked);

#endif
