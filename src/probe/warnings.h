/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings: counted by code, the first evidence of each kept.
 *
 * Ownership: one fixed table; evidence is copied into it and cut to its size.
 */
#ifndef SONDE_PROBE_WARNINGS_H
#define SONDE_PROBE_WARNINGS_H

#include "base/str.h"

typedef enum WarnId {
#define WARN(id, code, meaning, next) WARN_##id,
#include "probe/warnings.def"
#undef WARN
	WARN_N
} WarnId;

enum { WARN_EVIDENCE = 200 };

typedef struct Warning {
	uint32_t count;
	char evidence[WARN_EVIDENCE]; /* zero-terminated */
} Warning;

typedef struct Warnings {
	Warning w[WARN_N];
} Warnings;

/* Counts `n` more; the text is kept if it is the first. */
void warn_add(Warnings *ws, WarnId id, uint32_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

const char *warn_code(WarnId id);
const char *warn_meaning(WarnId id);
const char *warn_next(WarnId id);
/* By its code; WARN_N: there is none. */
WarnId warn_by_code(Str code);

#endif
