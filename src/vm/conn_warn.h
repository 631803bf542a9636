/* SPDX-License-Identifier: Apache-2.0
 *
 * What a connection's own counters are worth saying unasked, at the end of a run.  What
 * single segments show (checksums, windows, resets with another TTL) the expert says of
 * each segment that comes (probe/expert_tcp.c).
 */
#ifndef SONDE_VM_CONN_WARN_H
#define SONDE_VM_CONN_WARN_H

#include "probe/warnings.h"
#include "tcpip/tcp.h"

void conn_warnings(Warnings *ws, const TcpConn *c);

#endif
