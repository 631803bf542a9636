/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of an authorization server: JWT (RFC 7519) in the compact form of JWS, signed
 * with RSA or an elliptic curve.  Signatures are cjose's matter; that the key fits the
 * algorithm, and what the claims must say, is looked at here.
 */
#ifndef SONDE_MCP_AUTH_JWT_H
#define SONDE_MCP_AUTH_JWT_H

#include "base/str.h"

typedef struct JwtKeys JwtKeys;

/* From a JWK set (RFC 7517), public keys only; those of a kind that is not used here are
 * passed over.  NULL: *ret_why says why not. */
JwtKeys *jwt_keys_new(Str json, const char **ret_why);
void jwt_keys_free(JwtKeys *k);

enum { JWT_MOST = 8192, JWT_SUBJECT = 256, JWT_LEEWAY_S = 30 };

typedef struct JwtWant {
	const char *issuer, *audience;
	const char *scope; /* names with a blank between them; empty: none is wanted */
	int64_t now; /* seconds since 1970 */
} JwtWant;

typedef struct JwtSaid {
	char subject[JWT_SUBJECT];
	bool in_scope; /* it has each scope that is wanted */
} JwtSaid;

/* Whom a token speaks of; false: it is not good here and now, and *ret is nothing.  Not for
 * two threads at a time with the same keys. */
bool jwt_check(const JwtKeys *k, Str token, const JwtWant *want, JwtSaid *ret);

/* Names as of RFC 6749, 3.3, with one blank between them; or empty. */
bool jwt_is_scope(const char *text);

#endif
