/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4), for what is named by its content: programs, approvals,
 * chains of evidence.  By libmd, which dpkg brings to every Debian: a whole crypto
 * library costs more at each start than all that is ever hashed here.
 */
#ifndef SONDE_BASE_SHA256_H
#define SONDE_BASE_SHA256_H

#include "base/bytes.h"

#include <sha2.h>

enum { SHA256_BYTES = 32, SHA256_TEXT = 2 * SHA256_BYTES + 1 };

typedef struct Sha256 {
	SHA2_CTX ctx;
} Sha256;

typedef struct Hash {
	uint8_t b[SHA256_BYTES];
} Hash;

void sha256_init(Sha256 *s);
void sha256_add(Sha256 *s, Bytes b);
/* A number in eight big-endian bytes; a slice as its length, then itself: two
 * different sequences of these never look alike. */
void sha256_add_u64(Sha256 *s, uint64_t v);
void sha256_add_sized(Sha256 *s, Bytes b);
Hash sha256_done(Sha256 *s);

Hash sha256(Bytes b);

/* 64 hexadecimal digits and a zero byte. */
void hash_format(Hash h, char out[SHA256_TEXT]);
/* 64 hexadecimal digits and nothing else. */
bool hash_parse(Bytes text, Hash *ret_h);

static inline bool hash_eq(Hash a, Hash b)
{
	return memcmp(a.b, b.b, sizeof a.b) == 0;
}

#endif
