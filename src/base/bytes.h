/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes (a borrowed slice), Cursor (a bounded reader) and Writer (a bounded
 * writer), both with a sticky error: read or write as if all were well, then ask
 * once.  A failed read yields zeros, a failed write nothing.  All numbers on the
 * wire are big-endian; every access to foreign bytes goes through here.
 */
#ifndef SONDE_BASE_BYTES_H
#define SONDE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Bytes {
	const uint8_t *p;
	size_t n;
} Bytes;

#define BYTES(ptr, len) ((Bytes){ .p = (const uint8_t *)(ptr), .n = (len) })

/* [from, to) of b, clamped to b. */
static inline Bytes bytes_slice(Bytes b, size_t from, size_t to)
{
	if (to > b.n)
		to = b.n;
	if (from > to)
		from = to;
	return (Bytes){ .p = b.p ? b.p + from : NULL, .n = to - from };
}

static inline bool bytes_eq(Bytes a, Bytes b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Lexicographic, as Python compares bytes: <0, 0, >0. */
int bytes_cmp(Bytes a, Bytes b);

/* FNV-1a, for hash tables only. */
uint64_t bytes_hash(Bytes b);

/* ---- reading ---- */

typedef struct Cursor {
	const uint8_t *p;
	size_t n;   /* bytes in all */
	size_t off; /* bytes read */
	bool bad;   /* somebody read past the end; stays set */
} Cursor;

static inline Cursor cursor(Bytes b)
{
	return (Cursor){ .p = b.p, .n = b.n };
}

static inline size_t cur_left(const Cursor *c)
{
	return c->n - c->off;
}

uint8_t cur_u8(Cursor *c);
uint16_t cur_be16(Cursor *c);
uint32_t cur_be32(Cursor *c);
uint64_t cur_be64(Cursor *c);
/* The next n bytes, borrowed; empty and bad if there are fewer. */
Bytes cur_bytes(Cursor *c, size_t n);
/* What is left; the cursor is at its end afterwards. */
Bytes cur_rest(Cursor *c);
void cur_skip(Cursor *c, size_t n);

/* ---- writing ---- */

typedef struct Writer {
	uint8_t *p;
	size_t cap;
	size_t n;  /* bytes written */
	bool full; /* somebody wrote past the end; stays set */
} Writer;

static inline Writer writer(void *p, size_t cap)
{
	return (Writer){ .p = p, .cap = cap };
}

static inline Bytes wr_done(const Writer *w)
{
	return (Bytes){ .p = w->p, .n = w->n };
}

void wr_u8(Writer *w, uint8_t v);
void wr_be16(Writer *w, uint16_t v);
void wr_be32(Writer *w, uint32_t v);
void wr_be64(Writer *w, uint64_t v);
void wr_bytes(Writer *w, Bytes b);
void wr_zeros(Writer *w, size_t n);

/* ---- bits and plain numbers at known offsets ---- */

static inline uint16_t get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void put_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
	put_be16(p, (uint16_t)(v >> 16));
	put_be16(p + 2, (uint16_t)v);
}

/* `width` (1..64) bits that start `bit` bits into p, most significant first. */
uint64_t bits_get(const uint8_t *p, size_t bit, unsigned width);
void bits_put(uint8_t *p, size_t bit, unsigned width, uint64_t v);

/* Bits that tell n things apart: ceil(log2(n)).  0 stands for 2^64. */
unsigned bits_for(uint64_t n);

#endif
