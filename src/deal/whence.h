/* SPDX-License-Identifier: Apache-2.0
 *
 * Whence: what something printed tells, and whose packets went into it, on its way
 * from the engine to cmd (guardrails.md 7).
 *
 * A row is anybody, the addresses from lo to hi, or one address of a name.  Rows are
 * packed one behind the other; at most WHENCE_BYTES in all.
 */
#ifndef SONDE_DEAL_WHENCE_H
#define SONDE_DEAL_WHENCE_H

#include "base/addr.h"
#include "base/bytes.h"
#include "base/str.h"

/* As WireLabel, and in JSON. */
typedef enum Told { TOLD_CLEAN, TOLD_MEASURED, TOLD_CONTENT, TOLD_N } Told;

const char *told_name(Told t);

typedef enum WhenceKind { WHENCE_ANY, WHENCE_ADDRS, WHENCE_NAME } WhenceKind;

typedef struct Whence {
	uint8_t kind; /* WhenceKind */
	Ip lo, hi;    /* of a name the same; v 0: it has no address that is known */
	Str name;     /* borrowed */
} Whence;

enum { WHENCE_BYTES = 2048 };

/* What stands in the place of content that policy keeps back: this, whence it is, and ">". */
#define WHENCE_INSTEAD "<content from "

/* False: it did not fit, and nothing was written. */
bool whence_put(Writer *w, const Whence *x);
/* The next row; false at the end, or where the bytes are no rows: then *ret_bad is set. */
bool whence_next(Cursor *c, Whence *ret, bool *ret_bad);
/* "10.0.0.5", "10.0.0.0-10.0.0.9", the name, "anybody". */
void whence_text(const Whence *x, Sb *out);

#endif
