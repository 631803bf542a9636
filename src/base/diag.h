/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics: what is wrong with a text (program, policy, filter), where, and
 * how to mend it.  Passes add them; cmd prints them, as text or as JSON.
 *
 * Ownership: all strings live in the list's arena or are literals.
 */
#ifndef SONDE_BASE_DIAG_H
#define SONDE_BASE_DIAG_H

#include "base/str.h"
#include "base/vec.h"

/* [from, to) in bytes of one source text; from == to: a point. */
typedef struct Span {
	uint32_t from;
	uint32_t to;
} Span;

typedef enum Severity { SEV_ERROR, SEV_WARNING, SEV_NOTE } Severity;

/* A replacement of `span` by `text`.  `widening`: it asks for more rights, so a
 * program should not apply it by itself. */
typedef struct Fix {
	Span span;
	Str text;
	bool set;
	bool widening;
} Fix;

typedef struct Diag {
	const char *code; /* "E-NONE": stable; E- an error, W- a warning */
	Severity sev;
	Span span;
	Str message; /* one sentence in the user's words, without a full stop */
	Fix fix;
	Str path; /* where it comes from, step by step; may be empty; told when asked for */
	Str hint; /* what else to do, where there is no exact fix; may be empty */
} Diag;

typedef struct DiagList {
	Arena *a;
	VEC(Diag) v;
	uint32_t errors;
	uint32_t dropped; /* beyond LIMIT_DIAGS */
	Diag spare;       /* what is not kept is written here */
} DiagList;

/* Adds a diagnostic and returns it, so that the caller may set fix and hint.
 * The same code at the same span is kept once.  Never NULL. */
Diag *diag_add(DiagList *l, const char *code, Span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void diag_fix(Diag *d, Span span, Str text);

/* In source order; stable. */
void diag_sort(DiagList *l);

typedef struct LineCol {
	uint32_t line; /* from 1 */
	uint32_t col;  /* from 1, in code points */
	Str text;      /* the line, without its end */
} LineCol;

LineCol line_col(Str source, uint32_t at);

/* "name:3:14: error E-NONE: message", the source line, a caret line, fix, hint.
 * Everything that is not printable ASCII is escaped. */
void diag_render(const Diag *d, Str name, Str source, Sb *out);

#endif
