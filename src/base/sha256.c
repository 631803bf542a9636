/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

void sha256_init(Sha256 *s)
{
	SHA256Init(&s->ctx);
}

void sha256_add(Sha256 *s, Bytes b)
{
	if (b.n)
		SHA256Update(&s->ctx, b.p, b.n);
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
	Hash out;

	SHA256Final(out.b, &s->ctx);
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
