/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/warnings.h"

#include <stdio.h>

static const struct WarnRow {
	const char *code, *meaning, *next;
} rows[WARN_N] = {
#define WARN(id, code, meaning, next) [WARN_##id] = { code, meaning, next },
#include "probe/warnings.def"
#undef WARN
};

void warn_add(Warnings *ws, WarnId id, uint32_t n, const char *fmt, ...)
{
	Warning *w = &ws->w[id];

	if (!w->count && n) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(w->evidence, sizeof w->evidence, fmt, ap);
		va_end(ap);
	}
	w->count = w->count + n < w->count ? UINT32_MAX : w->count + n;
}

const char *warn_code(WarnId id)
{
	return rows[id].code;
}

const char *warn_meaning(WarnId id)
{
	return rows[id].meaning;
}

const char *warn_next(WarnId id)
{
	return rows[id].next;
}

WarnId warn_by_code(Str code)
{
	for (unsigned i = 0; i < WARN_N; i++)
		if (str_is(code, rows[i].code))
			return (WarnId)i;
	return WARN_N;
}
