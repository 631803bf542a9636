/* SPDX-License-Identifier: Apache-2.0
 *
 * What engine and TLS process say to each other inside TLS_ASK and TLS_SAID.
 *
 * The engine asks, one request at a time, and each gets one answer; the gate passes
 * both on and keeps both in the record, so a replay needs no OpenSSL.
 *
 *     op      data                         answer
 *     OPEN    a TlsOpen                    out: the client hello
 *     FEED    bytes the peer sent          plain: what they say; out: what is to be sent
 *     WRITE   bytes for the peer           out: the same, as records
 *     INFO    -                            plain: a TlsInfo
 *     CLOSE   -                            out: close_notify; the session is forgotten
 *
 * The session's number is the engine's own.  An answer's `error` is OpenSSL's word for
 * what went wrong, never the peer's text; its state tells whether the session can go on.
 *
 * Ownership: decoded texts are borrowed from the bytes, lists are on the arena.
 */
#ifndef SONDE_DEAL_TLS_H
#define SONDE_DEAL_TLS_H

#include "base/str.h"
#include "base/vec.h"

typedef enum TlsOp { TLS_OP_OPEN = 1, TLS_OP_FEED, TLS_OP_WRITE, TLS_OP_INFO, TLS_OP_CLOSE } TlsOp;

typedef enum TlsState {
	TLS_STATE_NONE,	     /* no such session */
	TLS_STATE_HANDSHAKE, /* feed it */
	TLS_STATE_OPEN,
	TLS_STATE_CLOSED,    /* the peer said close_notify, or we did */
	TLS_STATE_FAILED,
	TLS_STATE_N,
} TlsState;

typedef struct TlsOpen {
	int64_t at_s; /* certificates are judged at this time, seconds since the epoch */
	Str name;     /* the peer's: sent as SNI unless it is an address, held against its certificate; empty: none */
	Bytes alpn;   /* protocols in order of preference as RFC 7301 3.1 writes them; empty: none */
} TlsOpen;

/* Verdict on a name. */
typedef enum TlsNameOk { TLS_NAME_NOT_ASKED, TLS_NAME_WRONG, TLS_NAME_OK, TLS_NAME_N } TlsNameOk;

typedef VEC(Str) TlsNames;

/* One certificate: all of it is the peer's text but the numbers. */
typedef struct TlsCert {
	Str subject, issuer; /* RFC 2253's form */
	Str serial;	     /* hex */
	Str key, signature;  /* "RSA 2048", "sha256WithRSAEncryption" */
	Bytes sha256;	     /* of the certificate; 32 bytes */
	int64_t not_before_s, not_after_s;
	TlsNames san; /* "www.acme.corp", "10.0.0.1", "URI:..", "email:.." */
} TlsCert;

typedef struct TlsInfo {
	Str version, cipher; /* "TLSv1.3", "TLS_AES_256_GCM_SHA384"; empty before the server's hello */
	Str alpn;	     /* what the server chose; empty: nothing */
	bool ocsp;	     /* it stapled an OCSP response; nobody checked that one */
	uint8_t name;	     /* TlsNameOk */
	bool trusted;	     /* the chain leads to a root of this host, at the time asked */
	Str reason;	     /* why not */
	uint32_t certs;	     /* sent by the server */
	VEC(TlsCert) chain;  /* told of these, its own first */
} TlsInfo;

bool tls_open_put(Writer *w, const TlsOpen *o);
/* False: it is none. */
bool tls_open_get(Bytes b, TlsOpen *ret_o);

bool tls_info_put(Writer *w, const TlsInfo *i);
bool tls_info_get(Bytes b, Arena *a, TlsInfo *ret_i);

/* Whether these are protocol names with their lengths, none empty. */
bool tls_alpn_ok(Bytes alpn);

#endif
