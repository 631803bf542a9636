/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

int bytes_cmp(Bytes a, Bytes b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c)
		return c;
	return (a.n > b.n) - (a.n < b.n);
}

uint64_t bytes_hash(Bytes b)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < b.n; i++)
		h = (h ^ b.p[i]) * 0x100000001b3u;
	return h;
}

/* The next n bytes, or NULL: then the error is set and sticks. */
static const uint8_t *cur_take(Cursor *c, size_t n)
{
	if (c->bad || n > c->n - c->off) {
		c->bad = true;
		return NULL;
	}
	const uint8_t *p = c->p + c->off;
	c->off += n;
	return p;
}

uint8_t cur_u8(Cursor *c)
{
	const uint8_t *p = cur_take(c, 1);

	return p ? p[0] : 0;
}

uint16_t cur_be16(Cursor *c)
{
	const uint8_t *p = cur_take(c, 2);

	return p ? get_be16(p) : 0;
}

uint32_t cur_be32(Cursor *c)
{
	const uint8_t *p = cur_take(c, 4);

	return p ? get_be32(p) : 0;
}

uint64_t cur_be64(Cursor *c)
{
	const uint8_t *p = cur_take(c, 8);

	return p ? (uint64_t)get_be32(p) << 32 | get_be32(p + 4) : 0;
}

Bytes cur_bytes(Cursor *c, size_t n)
{
	if (n == 0)
		return (Bytes){ 0 };
	const uint8_t *p = cur_take(c, n);

	return p ? BYTES(p, n) : (Bytes){ 0 };
}

Bytes cur_rest(Cursor *c)
{
	return c->bad ? (Bytes){ 0 } : cur_bytes(c, cur_left(c));
}

void cur_skip(Cursor *c, size_t n)
{
	if (n)
		(void)cur_take(c, n);
}

static uint8_t *wr_take(Writer *w, size_t n)
{
	if (w->full || n > w->cap - w->n) {
		w->full = true;
		return NULL;
	}
	uint8_t *p = w->p + w->n;
	w->n += n;
	return p;
}

void wr_u8(Writer *w, uint8_t v)
{
	uint8_t *p = wr_take(w, 1);

	if (p)
		p[0] = v;
}

void wr_be16(Writer *w, uint16_t v)
{
	uint8_t *p = wr_take(w, 2);

	if (p)
		put_be16(p, v);
}

void wr_be32(Writer *w, uint32_t v)
{
	uint8_t *p = wr_take(w, 4);

	if (p)
		put_be32(p, v);
}

void wr_be64(Writer *w, uint64_t v)
{
	uint8_t *p = wr_take(w, 8);

	if (p) {
		put_be32(p, (uint32_t)(v >> 32));
		put_be32(p + 4, (uint32_t)v);
	}
}

void wr_bytes(Writer *w, Bytes b)
{
	uint8_t *p = b.n ? wr_take(w, b.n) : NULL;

	if (p)
		memcpy(p, b.p, b.n);
}

void wr_zeros(Writer *w, size_t n)
{
	uint8_t *p = n ? wr_take(w, n) : NULL;

	if (p)
		memset(p, 0, n);
}

uint64_t bits_get(const uint8_t *p, size_t bit, unsigned width)
{
	uint64_t v = 0;

	if (bit % 8 == 0 && width % 8 == 0) {
		for (size_t i = bit / 8; i < (bit + width) / 8; i++)
			v = v << 8 | p[i];
		return v;
	}
	for (size_t i = bit; i < bit + width; i++)
		v = v << 1 | ((unsigned)p[i / 8] >> (7 - i % 8) & 1u);
	return v;
}

void bits_put(uint8_t *p, size_t bit, unsigned width, uint64_t v)
{
	for (size_t i = bit + width; i-- > bit; v >>= 1) {
		uint8_t mask = (uint8_t)(0x80u >> i % 8);

		p[i / 8] = (uint8_t)(v & 1 ? p[i / 8] | mask : p[i / 8] & ~mask);
	}
}

unsigned bits_for(uint64_t n)
{
	unsigned bits = 0;

	while (bits < 64 && (n - 1) >> bits)
		bits++;
	return bits;
}
