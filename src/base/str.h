/* SPDX-License-Identifier: Apache-2.0
 *
 * Str: a borrowed piece of text (UTF-8, not zero-terminated).
 * Sb: a text builder on an arena.
 */
#ifndef SONDE_BASE_STR_H
#define SONDE_BASE_STR_H

#include "base/arena.h"
#include "base/bytes.h"

#include <stdarg.h>

typedef struct Str {
	const char *p;
	size_t n;
} Str;

#define STR(lit) ((Str){ .p = (lit), .n = sizeof(lit) - 1 })
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

static inline Str str_c(const char *z)
{
	return (Str){ .p = z, .n = z ? strlen(z) : 0 };
}

static inline Bytes str_bytes(Str s)
{
	return BYTES(s.p, s.n);
}

static inline Str bytes_str(Bytes b)
{
	return (Str){ .p = (const char *)b.p, .n = b.n };
}

static inline bool str_eq(Str a, Str b)
{
	return bytes_eq(str_bytes(a), str_bytes(b));
}

static inline bool str_is(Str a, const char *z)
{
	return str_eq(a, str_c(z));
}

bool str_starts(Str s, Str prefix);
static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ASCII letters of either case are the same. */
bool str_same(Str a, Str b);
/* What stands before the first `c`, or all; *s is what stands behind it. */
Str str_until(Str *s, char c);

/* A decimal number without sign, leading zeros or blanks, at most max. */
bool str_to_u64(Str s, uint64_t max, uint64_t *ret_v);

/* Edit distance (insert, delete, replace, swap of neighbours), for "did you
 * mean"; 255 if it is above `most`. */
unsigned str_distance(Str a, Str b, unsigned most);

/* The nearest of several names, at most two edits away: .best is empty if none is. */
typedef struct Nearest {
	Str said, best;
	unsigned distance; /* of .best */
} Nearest;

static inline Nearest nearest_to(Str said)
{
	return (Nearest){ .said = said, .distance = 3 };
}

void nearest_try(Nearest *n, Str name);

/* ---- UTF-8 ---- */

/* Decodes one code point at s.p; its length, or 0 for what is not shortest-form
 * UTF-8 of a scalar value. */
size_t utf8_decode(Str s, uint32_t *ret_cp);
/* Writes 1..4 bytes; the number of them. */
size_t utf8_encode(uint32_t cp, char out[4]);

/* ---- building ---- */

typedef struct Sb {
	Arena *a;
	char *p;
	size_t n;
	size_t cap;
} Sb;

static inline Sb sb(Arena *a)
{
	return (Sb){ .a = a };
}

void sb_str(Sb *b, Str s);
void sb_cstr(Sb *b, const char *z);
void sb_char(Sb *b, char c);
void sb_fill(Sb *b, char c, size_t n);
void sb_printf(Sb *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What was built so far; a zero byte stands behind it. */
Str sb_done(Sb *b);

/* A formatted Str on the arena. */
Str str_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
