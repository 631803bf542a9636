/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of a Sonde text: what the lexer gives to the parser and the formatter.
 *
 * The whole text is cut into one array first.  Layout is tokens too: NEWLINE ends
 * a logical line, INDENT and DEDENT open and close a block, so that the parser
 * never looks at columns.  Comments and blank lines are kept apart, in source
 * order, for the formatter.  An f-string is one token; the parser cuts it up, and
 * lexes the expressions in it by lex_part().
 *
 * Ownership: everything lives in the arena that lex() was given; the text is
 * borrowed and must outlive the tokens.
 */
#ifndef SONDE_LANG_TOKEN_H
#define SONDE_LANG_TOKEN_H

#include "base/diag.h"
#include "base/map.h"
#include "base/units.h"

/* An interned name: equal names are the same pointer. */
typedef struct Sym {
	Str text;
	uint32_t id; /* dense, from 0: for side tables */
	uint8_t tok; /* TOK_NAME, or the keyword's token kind */
} Sym;

typedef struct Syms {
	Arena *a;
	Map map;
	VEC(Sym *) v;
} Syms;

void syms_init(Syms *s, Arena *a);
const Sym *sym(Syms *s, Str text);

/* id, text: operators and delimiters, longest first where one starts another. */
#define TOK_OPS(X)                                                                                           \
	X(POW_EQ, "**=")                                                                                     \
	X(FLOOR_EQ, "//=") X(SHL_EQ, "<<=") X(SHR_EQ, ">>=") X(ELLIPSIS, "...") X(POW, "**") X(FLOOR, "//")  \
		X(SHL, "<<") X(SHR, ">>") X(LE, "<=") X(GE, ">=") X(EQ, "==") X(NE, "!=") X(ARROW, "->")     \
			X(WALRUS, ":=") X(ADD_EQ, "+=") X(SUB_EQ, "-=") X(MUL_EQ, "*=") X(DIV_EQ, "/=") X(   \
				MOD_EQ, "%=") X(AND_EQ, "&=") X(OR_EQ, "|=") X(XOR_EQ, "^=") X(AT_EQ, "@=")  \
				X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(MOD, "%") X(AT, "@")       \
					X(AND, "&") X(OR, "|") X(XOR, "^") X(INV, "~") X(LT, "<") X(GT, ">") \
						X(ASSIGN, "=") X(LPAR, "(") X(RPAR, ")") X(LSQB, "[")        \
							X(RSQB, "]") X(LBRACE, "{") X(RBRACE, "}")           \
								X(COMMA, ",") X(COLON, ":") X(SEMI, ";")     \
									X(DOT, ".") X(QUESTION, "?")         \
										X(BANG, "!")

/* Python 3's keywords; soft ones (param, result, match, type) are names. */
#define TOK_KEYWORDS(X)                                                                                      \
	X(KW_FALSE, "False")                                                                                 \
	X(KW_NONE, "None") X(KW_TRUE, "True") X(KW_AND, "and") X(KW_AS, "as") X(KW_ASSERT, "assert") X(      \
		KW_ASYNC, "async") X(KW_AWAIT, "await") X(KW_BREAK, "break") X(KW_CLASS, "class")            \
		X(KW_CONTINUE, "continue") X(KW_DEF, "def") X(KW_DEL, "del") X(KW_ELIF, "elif") X(           \
			KW_ELSE, "else") X(KW_EXCEPT, "except") X(KW_FINALLY, "finally") X(KW_FOR, "for")    \
			X(KW_FROM, "from") X(KW_GLOBAL, "global") X(KW_IF, "if") X(KW_IMPORT, "import")      \
				X(KW_IN, "in") X(KW_IS, "is") X(KW_LAMBDA, "lambda")                         \
					X(KW_NONLOCAL, "nonlocal") X(KW_NOT, "not") X(KW_OR, "or")           \
						X(KW_PASS, "pass") X(KW_RAISE, "raise")                      \
							X(KW_RETURN, "return") X(KW_TRY, "try")              \
								X(KW_WHILE, "while") X(KW_WITH, "with")      \
									X(KW_YIELD, "yield")

#define TOK_OTHERS(X)                                                                                        \
	X(END, "end of file")                                                                                \
	X(NEWLINE, "end of line") X(INDENT, "indent") X(DEDENT, "dedent") X(NAME, "name") X(INT, "number")   \
		X(FLOAT, "number") X(DURATION, "duration") X(STR, "string") X(BYTES, "bytes")                \
			X(FSTRING, "f-string") X(BAD, "bad text")

#define TOK_ENUM_(id, text) TOK_##id,
typedef enum TokKind { TOK_OTHERS(TOK_ENUM_) TOK_OPS(TOK_ENUM_) TOK_KEYWORDS(TOK_ENUM_) TOK_N } TokKind;

/* The token's text for messages: "`+=`", "end of line". */
const char *tok_text(TokKind k);

typedef struct Tok {
	TokKind kind;
	Span span;
	union {
		const Sym *sym; /* NAME and keywords */
		int64_t i;  /* INT; DURATION in ns.  -2^63 stands for 2^63: only a unary minus may take it */
		double f;   /* FLOAT */
		Str s;	    /* STR, BYTES: the value */
		Span inner; /* FSTRING: what stands between the quotes */
	};
	const UnitRow *unit; /* INT, DURATION: the suffix, or NULL */
	bool raw;	     /* FSTRING: rf"..." */
} Tok;

typedef struct Comment {
	Span span;     /* from '#' to the line's end */
	uint32_t tok;  /* index of the token that follows */
	bool own_line; /* nothing but blanks before it on its line */
} Comment;

typedef struct Toks {
	VEC(Tok) v; /* the last one is END */
	VEC(Comment) comments;
} Toks;

/* Cuts `text` into tokens.  Errors go to `d`; what is no token is left out or
 * BAD, and the array always ends with END. */
void lex(Arena *a, Syms *syms, Str text, DiagList *d, Toks *ret);

/* The tokens of text[span) as inside brackets: an expression in an f-string. */
void lex_part(Arena *a, Syms *syms, Str text, Span span, DiagList *d, Toks *ret);

/* What a string's prefix says. */
enum { STR_RAW = 1, STR_BYTES = 2, STR_FORMAT = 4 };

/* The value of the literal text in `span`: escapes resolved unless STR_RAW, line
 * ends as \n; with STR_FORMAT {{ and }} are one brace. */
Str lex_unescape(Arena *a, Str text, Span span, unsigned flags, DiagList *d);

/* From behind the opening quote of an f-string: the place of its closing quote,
 * or of the line's or text's end where there is none. */
size_t fstr_end(Str text, size_t at, size_t end, char quote, bool triple, bool raw);

/* From the first byte of an f-string's {expression: the place of the `!`, `:`, `=`
 * or `}` that ends it, or `end`. */
size_t fstr_expr_end(Str text, size_t at, size_t end);

#endif
