/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>

bool str_starts(Str s, Str prefix)
{
	return s.n >= prefix.n && str_eq((Str){ s.p, prefix.n }, prefix);
}

bool str_same(Str a, Str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

Str str_until(Str *s, char c)
{
	const char *at = s->n ? memchr(s->p, c, s->n) : NULL;
	Str first = *s;

	if (at) {
		first.n = (size_t)(at - s->p);
		*s = (Str){ at + 1, s->n - first.n - 1 };
	} else {
		*s = (Str){ s->p ? s->p + s->n : NULL, 0 };
	}
	return first;
}

bool str_to_u64(Str s, uint64_t max, uint64_t *ret_v)
{
	uint64_t v = 0;

	if (s.n == 0 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned)(s.p[i] - '0');

		if (d > 9 || v > (max - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*ret_v = v;
	return true;
}

/* Damerau's distance by three rows; names are short. */
unsigned str_distance(Str a, Str b, unsigned most)
{
	enum { LONGEST = 48 };
	unsigned row[3][LONGEST + 1];

	if (a.n > LONGEST || b.n > LONGEST)
		return 255;
	for (unsigned j = 0; j <= b.n; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			unsigned d = up[j - 1] + (a.p[i - 1] != b.p[j - 1]);

			if (up[j] + 1 < d)
				d = up[j] + 1;
			if (now[j - 1] + 1 < d)
				d = now[j - 1] + 1;
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
			    up2[j - 2] + 1 < d)
				d = up2[j - 2] + 1;
			now[j] = d;
		}
	}
	unsigned d = row[a.n % 3][b.n];
	return d <= most ? d : 255;
}

void nearest_try(Nearest *n, Str name)
{
	unsigned d = str_distance(n->said, name, 2);

	if (d < n->distance) {
		n->best = name;
		n->distance = d;
	}
}

size_t utf8_decode(Str s, uint32_t *ret_cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (s.n == 0)
		return 0;
	uint8_t c = (uint8_t)s.p[0];
	size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;

	if (n == 0 || n > s.n)
		return 0;
	uint32_t cp = n == 1 ? c : c & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if (((uint8_t)s.p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | ((uint8_t)s.p[i] & 0x3fu);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	*ret_cp = cp;
	return n;
}

size_t utf8_encode(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)((0xf00u >> n & 0xf0u) | cp);
	return n;
}

static void sb_room(Sb *b, size_t n)
{
	if (b->cap - b->n > n)
		return;
	size_t cap = b->cap ? b->cap : 64;

	while (cap - b->n <= n)
		cap *= 2;
	if (b->cap && arena_extend(b->a, b->p, b->cap, cap)) {
		b->cap = cap;
		return;
	}
	char *p = arena_alloc(b->a, cap);

	if (b->n)
		memcpy(p, b->p, b->n);
	b->p = p;
	b->cap = cap;
}

void sb_str(Sb *b, Str s)
{
	sb_room(b, s.n);
	if (s.n)
		memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
}

void sb_cstr(Sb *b, const char *z)
{
	sb_str(b, str_c(z));
}

void sb_char(Sb *b, char c)
{
	sb_str(b, (Str){ &c, 1 });
}

void sb_fill(Sb *b, char c, size_t n)
{
	sb_room(b, n);
	memset(b->p + b->n, c, n);
	b->n += n;
}

static void sb_vprintf(Sb *b, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n <= 0)
		return;
	sb_room(b, (size_t)n + 1);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void sb_printf(Sb *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sb_vprintf(b, fmt, ap);
	va_end(ap);
}

Str sb_done(Sb *b)
{
	sb_room(b, 1);
	b->p[b->n] = 0;
	return (Str){ b->p, b->n };
}

Str str_printf(Arena *a, const char *fmt, ...)
{
	Sb b = sb(a);
	va_list ap;

	va_start(ap, fmt);
	sb_vprintf(&b, fmt, ap);
	va_end(ap);
	return sb_done(&b);
}
