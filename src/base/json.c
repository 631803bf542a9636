/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void json_next(Json *j)
{
	if (j->comma)
		sb_char(j->out, ',');
	j->comma = true;
}

void json_open(Json *j, char bracket)
{
	json_next(j);
	sb_char(j->out, bracket);
	j->comma = false;
}

void json_close(Json *j, char bracket)
{
	sb_char(j->out, bracket);
	j->comma = true;
}

static void json_text(Sb *out, Str s)
{
	sb_char(out, '"');
	for (size_t i = 0; i < s.n;) {
		uint32_t cp;
		size_t n = utf8_decode((Str){ s.p + i, s.n - i }, &cp);

		if (n == 0)
			sb_cstr(out, "\xef\xbf\xbd");
		else if (cp == '"' || cp == '\\')
			sb_printf(out, "\\%c", (char)cp);
		else if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			sb_printf(out, "\\u%04x", cp);
		else
			sb_str(out, (Str){ s.p + i, n });
		i += n ? n : 1;
	}
	sb_char(out, '"');
}

void json_key(Json *j, const char *key)
{
	json_next(j);
	json_text(j->out, str_c(key));
	sb_char(j->out, ':');
	j->comma = false;
}

void json_str(Json *j, Str s)
{
	json_next(j);
	json_text(j->out, s);
}

void json_int(Json *j, int64_t v)
{
	json_next(j);
	sb_printf(j->out, "%" PRId64, v);
}

void json_uint(Json *j, uint64_t v)
{
	json_next(j);
	sb_printf(j->out, "%" PRIu64, v);
}

void json_num(Json *j, double v)
{
	char text[40];

	json_next(j);
	if (!isfinite(v)) {
		sb_cstr(j->out, "null");
		return;
	}
	if (v == floor(v) && fabs(v) < 1e15) {
		sb_printf(j->out, "%.0f", v);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	sb_cstr(j->out, text);
}

void json_bool(Json *j, bool v)
{
	json_next(j);
	sb_cstr(j->out, v ? "true" : "false");
}

void json_nil(Json *j)
{
	json_next(j);
	sb_cstr(j->out, "null");
}

void json_seconds(Json *j, int64_t ns)
{
	if (ns == NS_NONE) {
		json_nil(j);
		return;
	}
	uint64_t abs_ns = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	json_next(j);
	sb_printf(j->out, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", abs_ns / (uint64_t)NS_PER_S,
		  abs_ns % (uint64_t)NS_PER_S);
}

void json_kstr(Json *j, const char *key, Str s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_kint(Json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_kbool(Json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
