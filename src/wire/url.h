/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of http and https (RFC 3986, RFC 9110 4.2), read strictly: one text has one
 * meaning (guardrails.md 3).  No userinfo, no blanks or control characters, no
 * percent-encoded or non-ASCII host; a host that ends in a number is an address.
 *
 * Ownership: a Url borrows from the text it was read from.
 */
#ifndef SONDE_WIRE_URL_H
#define SONDE_WIRE_URL_H

#include "base/addr.h"

typedef struct Url {
	bool tls;      /* https */
	Str host;      /* a name, or an address without brackets */
	bool is_ip;
	Ip ip;
	uint16_t port; /* given, or the scheme's */
	Str authority; /* for the Host field: host, and the port where it is not the scheme's */
	Str target;    /* path and query as they stand, without fragment; "/" if there is none */
} Url;

/* NULL, or what is wrong with it: the rest of a sentence that begins with "a URL". */
const char *url_parse(Str s, Url *ret_url);

/* What a Location field (RFC 9110 10.2.2) of an answer from `from` names: an absolute URL,
 * "//host/..", "/path", "path", "?query".  The text is built on the arena.  NULL: as above. */
const char *url_resolve(const Url *from, Str location, Arena *a, Url *ret_url);

#endif
