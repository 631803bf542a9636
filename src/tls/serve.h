/* SPDX-License-Identifier: Apache-2.0
 *
 * The TLS process's work: a TLS_ASK comes, its TLS_SAID goes back (deal/tls.h).
 *
 * It trusts neither side.  The gate passes on what an engine wrote, which may be taken
 * over: what is no request ends the process.  And all that is fed to it is a peer's.
 */
#ifndef SONDE_TLS_SERVE_H
#define SONDE_TLS_SERVE_H

#include "deal/msg.h"
#include "tls/session.h"

typedef struct TlsServer TlsServer;

TlsServer *tls_server_new(TlsCore *k);
void tls_server_free(TlsServer *v);

/* One datagram with one request; the answer into w.  False: that was none. */
bool tls_server_answer(TlsServer *v, Bytes request, Writer *w);

/* Reads requests from fd, a SOCK_SEQPACKET, and answers, until its other end closes:
 * true.  False: what came is no request, or it could not be answered. */
bool tls_serve(TlsServer *v, int fd);

#endif
