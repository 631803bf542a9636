/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots
 * of the first 64 primes. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

/* FIPS 180-4, 6.2.2 */
static void block_add(uint32_t h[8], const uint8_t p[64])
{
	uint32_t w[64], a[8];

	for (unsigned t = 0; t < 16; t++)
		w[t] = get_be32(p + 4 * t);
	for (unsigned t = 16; t < 64; t++) {
		uint32_t x = w[t - 15], y = w[t - 2];

		w[t] = w[t - 16] + w[t - 7] + (ror(x, 7) ^ ror(x, 18) ^ x >> 3) + (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
	}
	memcpy(a, h, sizeof a);
	for (unsigned t = 0; t < 64; t++) {
		uint32_t t1 = a[7] + (ror(a[4], 6) ^ ror(a[4], 11) ^ ror(a[4], 25)) + ((a[4] & a[5]) ^ (~a[4] & a[6])) +
			      k[t] + w[t];
		uint32_t t2 = (ror(a[0], 2) ^ ror(a[0], 13) ^ ror(a[0], 22)) +
			      ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));

		memmove(a + 1, a, 7 * sizeof *a);
		a[4] += t1;
		a[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		h[i] += a[i];
}

void sha256_init(Sha256 *s)
{
	*s = (Sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
			      0x5be0cd19 } };
}

void sha256_add(Sha256 *s, Bytes b)
{
	size_t have = s->n % 64;

	s->n += b.n;
	if (have) {
		size_t take = 64 - have < b.n ? 64 - have : b.n;

		memcpy(s->block + have, b.p, take);
		if (have + take < 64)
			return;
		block_add(s->h, s->block);
		b = bytes_slice(b, take, b.n);
	}
	for (; b.n >= 64; b = bytes_slice(b, 64, b.n))
		block_add(s->h, b.p);
	if (b.n)
		memcpy(s->block, b.p, b.n);
}

void sha256_add_u64(Sha256 *s, uint64_t v)
{
	uint8_t be[8];
	Writer w = writer(be, sizeof be);

	wr_be64(&w, v);
	sha256_add(s, wr_done(&w));
}

void sha256_add_sized(Sha256 *s, Bytes b)
{
	sha256_add_u64(s, b.n);
	sha256_add(s, b);
}

Hash sha256_done(Sha256 *s)
{
	static const uint8_t pad[64] = { 0x80 };
	uint64_t bits = s->n * 8;
	Hash out;

	sha256_add(s, BYTES(pad, 1 + (119 - s->n % 64) % 64));
	sha256_add_u64(s, bits);
	for (unsigned i = 0; i < 8; i++)
		put_be32(out.b + 4 * i, s->h[i]);
	return out;
}

Hash sha256(Bytes b)
{
	Sha256 s;

	sha256_init(&s);
	sha256_add(&s, b);
	return sha256_done(&s);
}

void hash_format(Hash h, char out[SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = digits[h.b[i] >> 4];
		out[2 * i + 1] = digits[h.b[i] & 15];
	}
	out[2 * SHA256_BYTES] = 0;
}

static int digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hash_parse(Bytes text, Hash *ret_h)
{
	if (text.n != 2 * SHA256_BYTES)
		return false;
	for (unsigned i = 0; i < SHA256_BYTES; i++) {
		int hi = digit(text.p[2 * i]), lo = digit(text.p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		ret_h->b[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}
