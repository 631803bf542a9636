/* SPDX-License-Identifier: Apache-2.0
 *
 * What lex.c (layout, names, operators) and lex_lit.c (literals) share.
 */
#ifndef SONDE_LANG_LEX_PRIV_H
#define SONDE_LANG_LEX_PRIV_H

#include "base/limits.h"
#include "lang/token.h"

typedef struct Lexer {
	Arena *a;
	Syms *syms;
	Str text;
	size_t at, end;
	DiagList *d;
	uint32_t errors;
	Toks *out;
	bool part; /* inside an f-string: no layout, no comments */
	bool line_start;

	struct Column {
		uint32_t tab8; /* blanks, a tab goes to the next multiple of 8 */
		uint32_t tab1; /* a tab is one: both must agree, as in Python 3 */
	} indent[LIMIT_NESTING + 1];
	uint32_t n_indent; /* of `indent`, above the outermost */

	struct Open {
		char close;
		uint32_t at;
	} open[LIMIT_NESTING];
	uint32_t n_open;

	/* The logical line that is being read. */
	uint32_t line_tok;	/* its first token */
	uint32_t line_comments; /* comments before it */
	struct Column line_col;
} Lexer;

Diag *lex_error(Lexer *x, Span s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Tok *lex_push(Lexer *x, TokKind kind, size_t from, size_t to);

/* The line holds no statement: one BAD token stands for it, and what may belong
 * to it is left out. */
void lex_drop_line(Lexer *x);

/* At a digit, or at a point before one. */
void lex_number(Lexer *x);

/* At an opening quote whose prefix starts at `from`. */
void lex_string(Lexer *x, size_t from);

static inline char lex_peek(const Lexer *x, size_t ahead)
{
	return x->end - x->at > ahead ? x->text.p[x->at + ahead] : 0;
}

static inline Span span_of(size_t from, size_t to)
{
	return (Span){ (uint32_t)from, (uint32_t)to };
}

static inline Str text_of(Str text, Span s)
{
	return (Str){ text.p + s.from, s.to - s.from };
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_name(char c)
{
	return is_name_start(c) || is_digit(c);
}

#endif
