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
	int64_t now; /* seconds since 1970 */
} JwtWant;

/* Whom a token speaks of, into ret_subject; false: it is not good here and now.  Not for
 * two threads at a time with the same keys. */
bool jwt_check(const JwtKeys *k, Str token, const JwtWant *want, char ret_subject[JWT_SUBJECT]);

#endif
