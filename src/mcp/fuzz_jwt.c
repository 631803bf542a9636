/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens that nobody signed: none is good, whatever is in it.  Up to the first zero byte a
 * set of keys, behind it the token; without one, the set below.
 */
#include "mcp/auth_jwt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char set[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"a\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
			  "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const JwtWant want = { .issuer = "https://as.example", .audience = "https://sonde.example/mcp", .scope = "sonde:mcp", .now = 1000 };
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	Str keys = zero ? (Str){ (const char *)data, (size_t)(zero - data) } : STR(set);
	Str token = zero ? (Str){ (const char *)zero + 1, size - keys.n - 1 } : (Str){ (const char *)data, size };
	JwtSaid said;
	const char *why = NULL;
	JwtKeys *k = jwt_keys_new(keys, &why);

	if (!k && !why)
		abort();
	if (k && !zero && jwt_check(k, token, &want, &said))
		abort();
	if (k && zero)
		jwt_check(k, token, &want, &said);
	jwt_keys_free(k);
	return 0;
}
