/* SPDX-License-Identifier: Apache-2.0
 *
 * What parse.c (statements), parse_expr.c, parse_fstr.c and refuse.c share.
 *
 * The sticky error: once a statement has an error, `panic` is set, par_at() says
 * TOK_BAD until recover(), and no further error is reported; so no function needs
 * to test for errors, only loops must end at what they don't know.
 */
#ifndef SONDE_LANG_PARSE_PRIV_H
#define SONDE_LANG_PARSE_PRIV_H

#include "lang/lex_priv.h"
#include "lang/parse.h"

typedef VEC(Node *) NodeVec;

typedef struct Parser {
	Ast *ast;
	Arena *a;
	DiagList *d;
	Str text;
	uint8_t file;
	bool lib;
	const Tok *first; /* of the array */
	const Tok *t;	  /* the next token */
	uint32_t last_to; /* end of the last one taken */
	bool panic;
	bool broken;	  /* the last statement had an error */
	bool unsure;	  /* an error after which the tree is not what was meant */
	Node *lambda;	   /* the first of this statement that is no argument; not told yet */
	const Tok *test_of; /* the if or elif whose test is being read */
	Node *hoisted;	   /* what has to stand before the `if` that is being read */
	bool too_high;	  /* a tree beyond LIMIT_TREE was reported */
	unsigned depth;	  /* brackets and prefix operators around */
	unsigned blocks;  /* blocks around */
	bool in_def, in_loop;
	bool in_field;	   /* of an f-string: the tokens end at its `}` */
	bool lenient;	   /* below a header with an error: what may stand here is not known */
	const Tok *arg_at; /* where an argument starts: lambdas and generators may stand there */
} Parser;

static inline TokKind par_at(const Parser *p)
{
	return p->panic ? TOK_BAD : p->t->kind;
}

static inline Span par_span(const Parser *p)
{
	return p->t->span;
}

void par_take(Parser *p);
bool par_accept(Parser *p, TokKind k);
/* Takes a token of that kind or reports what was found instead. */
bool par_expect(Parser *p, TokKind k);

/* An error that ends the statement. */
Diag *par_error(Parser *p, Span s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An error of something that could be read all the same. */
Diag *par_refuse(Parser *p, Span s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An error of something that was read as what it should be: the tree is that of
 * the mended text, and later passes may trust it. */
Diag *par_soft(Parser *p, Span s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "expected X, found Y", with what people mean by Y */
void par_unexpected(Parser *p, const char *wanted);

Node *par_node(Parser *p, NodeKind k, uint32_t from);
/* The height of the tree, from that of its children. */
void par_measure(Parser *p, Node *n);
/* Ends at the last token taken; measured. */
Node *par_finish(Parser *p, Node *n);

/* One bracket or prefix operator more; false, with an error, if it is one
 * too many.  par_leave() in any case. */
bool par_enter(Parser *p);
static inline void par_leave(Parser *p)
{
	p->depth--;
}

/* ---- parse_expr.c ---- */

Node *bad_node(Parser *p); /* stands for what could not be read */
Node *parse_name(Parser *p);
/* A closing bracket, where a comma might stand too. */
void par_close(Parser *p, TokKind end);
/* *a, **a where Python unpacks. */
void par_refuse_star(Parser *p, const char *instead);

Node *parse_expr(Parser *p);  /* one, without a comma */
Node *parse_exprs(Parser *p); /* a, b: a TUPLE */
/* ---- parse_head.c ---- */

Node *parse_targets(Parser *p);	   /* of for: names and tuples of them */
Node *parse_annotation(Parser *p); /* a TYPE */
/* def's and lambda's, up to `end`. */
void parse_params(Parser *p, TokKind end, bool types, Node *fn);

/* ---- parse_fstr.c ---- */

/* All strings that stand side by side. */
Node *parse_strings(Parser *p);

/* ---- refuse.c: what to write instead ---- */

typedef enum Refused {
	REFUSED_NOT,	/* it is no such statement */
	REFUSED_SIMPLE, /* read up to its end, which may be a `;` */
	REFUSED_BLOCK,	/* read with its line and block */
} Refused;
/* A statement that starts with a word of Python that Sonde has not: reported, and
 * what stands for it put into `out`. */
Refused refuse_statement(Parser *p, NodeVec *out);
/* A word before a statement: async, a decorator.  False: there is none. */
bool refuse_prefix(Parser *p);
bool par_ends_statement(const Tok *t);
/* `return` at the top level: exit(). */
Node *refuse_return(Parser *p);
/* A lambda that is no argument. */
void refuse_lambda(Parser *p);
/* f = lambda x: y, at the top level: a def. */
Node *refuse_lambda_name(Parser *p, Node *assign);
/* `name` and behind it :=, to be read. */
void refuse_walrus(Parser *p, Node *name);
void refuse_percent(Parser *p, Node *binary);
void refuse_format(Parser *p, Node *call);
/* A hint for two things that stand side by side; may be empty. */
void par_hint(Parser *p, Diag *d);

/* ---- parse.c, for refuse.c ---- */

void parse_statements(Parser *p, NodeVec *out);
void par_skip_line(Parser *p);	/* to behind the next NEWLINE */
void par_skip_block(Parser *p); /* an INDENT ... DEDENT, if there is one */
void parse_block_of(Parser *p, Node *header, const char *what, Nodes *ret);
/* The block below a header that could not be read. */
void parse_orphan_block(Parser *p);

#endif
