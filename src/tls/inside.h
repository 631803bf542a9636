/* SPDX-License-Identifier: Apache-2.0
 *
 * What session.c and facts.c share.
 */
#ifndef SONDE_TLS_INSIDE_H
#define SONDE_TLS_INSIDE_H

#include "base/limits.h"
#include "tls/session.h"

#include <openssl/ssl.h>

enum { TLS_ERROR = 256 };

struct TlsCore {
	SSL_CTX *ctx;
	X509_STORE *roots;
	size_t nroots;
	uint8_t plain[LIMIT_TLS_SAID], out[LIMIT_TLS_SAID]; /* of the last step */
	char error[TLS_ERROR];
};

struct TlsSession {
	TlsCore *core;
	SSL *ssl;
	BIO *in, *out; /* the SSL's own */
	TlsState state;
	int64_t at_s;
	char name[LIMIT_TLS_NAME + 1]; /* "": nobody's */
	bool name_is_address;
	char error[TLS_ERROR]; /* why it failed; stays */
};

#endif
