/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of those who may ask `sonde mcp` over HTTP, a row a line:
 *
 *   NAME key=SHA256 [until=YYYY-MM-DD] [policy=/PATH]
 *   NAME subject=SUBJECT [until=YYYY-MM-DD] [policy=/PATH]
 *
 * The first is known by an API key, of which only the hash is here (256 random bits: they
 * can't be found from it); the second by a token's subject.  A name may have several rows,
 * so that a new key can be in use before an old one goes; all of them have one policy.
 * Empty lines and what begins with # mean nothing.  Whatever else is in the file, all of
 * it is refused.
 */
#ifndef SONDE_DEAL_KEYS_H
#define SONDE_DEAL_KEYS_H

#include "base/sha256.h"
#include "base/str.h"

enum {
	KEYS_NAME = 47,	    /* bytes of a name: letters, digits and ._@+- */
	KEYS_SUBJECT = 255, /* printable, no blanks */
	KEYS_PATH = 1023,
	KEYS_ROWS = 1000,
	KEYS_TEXT = 1024 * 1024, /* of the file */
	KEYS_SECRET = 32,	 /* random bytes of a key */
	KEYS_KEY = 64,		 /* room for its text */
};

#define KEYS_PREFIX "sonde_"

typedef struct KeyRow {
	Str name;
	bool by_subject;
	Hash hash;	/* of the key's text */
	Str subject;
	Str policy;	/* a path; empty: none of his own */
	uint32_t until; /* the last day (UTC) that it is good, 20271231; 0: no end */
} KeyRow;

/* The next row of *text, which goes on behind it: 1; 0 at the end; -1: a line is none. */
int keys_next(Str *text, KeyRow *ret_row);

/* Whether all of it holds; *ret_line is the first line that does not, *ret_why why. */
bool keys_check(Str text, unsigned *ret_line, const char **ret_why);

bool keys_name_ok(Str name);
/* YYYY-MM-DD as a number; 0: it is none. */
uint32_t keys_day(Str text);
/* A day of the calendar from seconds since 1970, UTC. */
uint32_t keys_today(int64_t unix_s);

static inline bool keys_row_good(const KeyRow *r, uint32_t today)
{
	return !r->until || today <= r->until;
}

/* The key that these random bytes make. */
void keys_text(const uint8_t secret[KEYS_SECRET], char ret_key[KEYS_KEY]);
/* False: it doesn't even look like one. */
bool keys_looks_like(Str key);
Hash keys_hash(Str key);

#endif
