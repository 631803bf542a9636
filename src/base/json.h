/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON writer: commas and escapes are its business, structure is the caller's.
 * Text that is no UTF-8 is written with U+FFFD; absent durations and NaN as null.
 */
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include "base/str.h"

typedef struct Json {
	Sb *out;
	bool comma; /* the next value needs a comma before it */
} Json;

static inline Json json(Sb *out)
{
	return (Json){ .out = out };
}

void json_open(Json *j, char bracket); /* '{' or '[' */
void json_close(Json *j, char bracket);
void json_key(Json *j, const char *key);
void json_str(Json *j, Str s);
void json_int(Json *j, int64_t v);
void json_uint(Json *j, uint64_t v);
/* Shortest text that reads back as the same number; NaN and infinities: null. */
void json_num(Json *j, double v);
void json_bool(Json *j, bool v);
void json_nil(Json *j); /* null; jansson, in sonde-mcp, has a json_null() of its own */
/* ns -> seconds with 9 decimals; NS_NONE: null. */
void json_seconds(Json *j, int64_t ns);

/* key and value in one call */
void json_kstr(Json *j, const char *key, Str s);
void json_kint(Json *j, const char *key, int64_t v);
void json_kbool(Json *j, const char *key, bool v);

#endif
