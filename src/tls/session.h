/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS clients by OpenSSL 3 over memory: bytes in, bytes out, no descriptor, no file.
 *
 *     TlsCore *k = tls_core_new();  tls_core_roots(k, pem);
 *     TlsSession *s = tls_session_new(k, &open);
 *     tls_session_feed(s, from_peer, &step);     step.plain is for the program, step.out for the peer
 *
 * A session does the handshake with whoever answers and gives its verdict afterwards
 * (facts.h): an instrument has to say what is wrong with a certificate, not to hang up on
 * it.  For the same reason old versions and weak keys are spoken (TLS 1.0 on, security
 * level 0); the verdict on the chain asks for more.
 *
 * Ownership: OpenSSL's allocator behind both objects; a Step's bytes live until the next
 * call on any session of the same core.
 */
#ifndef SONDE_TLS_SESSION_H
#define SONDE_TLS_SESSION_H

#include "deal/tls.h"

typedef struct TlsCore TlsCore;
typedef struct TlsSession TlsSession;

/* What one call came to.  error: OpenSSL's words, zero-terminated; "" if all is well. */
typedef struct TlsStep {
	TlsState state;
	Bytes plain, out;
	const char *error;
} TlsStep;

/* NULL: no memory.  Nothing is read from files, now or later. */
TlsCore *tls_core_new(void);
void tls_core_free(TlsCore *k);

/* Adds the certificates of a PEM text to the trusted ones; how many. */
size_t tls_core_roots(TlsCore *k, Bytes pem);

/* NULL: no memory. The client hello is in *ret_step. */
TlsSession *tls_session_new(TlsCore *k, const TlsOpen *o, TlsStep *ret_step);
void tls_session_free(TlsSession *s);

/* Bytes that the peer sent, in pieces of any size up to LIMIT_TLS_PIECE. */
void tls_session_feed(TlsSession *s, Bytes b, TlsStep *ret_step);
/* Bytes for the peer, at most LIMIT_TLS_PIECE. */
void tls_session_write(TlsSession *s, Bytes b, TlsStep *ret_step);
/* close_notify, if the session is open. */
void tls_session_close(TlsSession *s, TlsStep *ret_step);

/* A TlsInfo of what is known so far, encoded into w; false: no room. */
bool tls_session_info(TlsSession *s, Writer *w);

#endif
