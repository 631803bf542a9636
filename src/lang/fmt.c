/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/fmt.h"

#include "base/limits.h"
#include "lang/lex_priv.h"
#include "lang/parse.h"

typedef struct Bracket {
	TokKind open;
	bool def;	  /* parameters of a def */
	bool annotated;	  /* since the last comma: `a: int = 1` has blanks */
	unsigned lambdas; /* that wait for their colon */
} Bracket;

typedef struct Fmt {
	Str text;
	const Toks *toks;
	Sb *out;
	uint32_t tok, comment; /* the next of each */
	uint32_t level;
	uint32_t column[LIMIT_NESTING + 2]; /* of each level in the source */
	Bracket bracket[LIMIT_NESTING + 1]; /* [0]: outside brackets */
	uint32_t depth;
	uint32_t end;	  /* in the source, of what was printed last */
	const Tok *prev;  /* on this logical line, or NULL at its start */
	bool is_def;	  /* the line starts with def */
	bool must_break;  /* a comment ended the output line */
	bool block_start; /* no blank line behind a header */
} Fmt;

/* ---- layout ---- */

static uint32_t newlines(const Fmt *f, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += f->text.p[i] == '\n';
	return n;
}

static void put_source(Fmt *f, Span s)
{
	Str t = text_of(f->text, s);

	while (t.n && (t.p[t.n - 1] == ' ' || t.p[t.n - 1] == '\t'))
		t.n--;
	for (size_t i = 0; i < t.n; i++)
		if (t.p[i] != '\r')
			sb_char(f->out, t.p[i]);
	f->end = s.to;
}

/* To the start of a logical line or an own-line comment. */
static void start_line(Fmt *f, uint32_t from, uint32_t level)
{
	if (f->out->n) {
		sb_char(f->out, '\n');
		if (newlines(f, f->end, from) > 1 && !f->block_start)
			sb_char(f->out, '\n');
	}
	sb_fill(f->out, ' ', (size_t)level * 4);
	f->block_start = false;
}

static void continue_line(Fmt *f, bool closing)
{
	uint32_t depth = f->depth - closing;

	if (f->depth == 0 && !f->must_break)
		sb_cstr(f->out, " \\");
	sb_char(f->out, '\n');
	sb_fill(f->out, ' ', ((size_t)f->level + depth + (f->depth == 0)) * 4);
	f->must_break = false;
}

static uint32_t column_of(const Fmt *f, uint32_t at)
{
	uint32_t from = at;

	while (from > 0 && f->text.p[from - 1] != '\n')
		from--;
	return at - from;
}

/* ---- comments ---- */

/* The block that a comment between two lines belongs to: by its column, between
 * the level of the line before and of that behind. */
static uint32_t comment_level(const Fmt *f, uint32_t column)
{
	uint32_t next = f->level;
	const Tok *t = &f->toks->v.p[f->tok];

	if (t->kind == TOK_INDENT)
		return next + 1;
	for (; t->kind == TOK_DEDENT; t++)
		next--;
	uint32_t level = f->level;

	while (level > next && f->column[level] > column)
		level--;
	return level;
}

static void put_comment(Fmt *f, const Comment *c)
{
	if (!c->own_line) {
		sb_cstr(f->out, "  ");
	} else if (f->prev) { /* inside a logical line */
		sb_char(f->out, '\n');
		sb_fill(f->out, ' ', ((size_t)f->level + f->depth) * 4);
	} else {
		start_line(f, c->span.from, comment_level(f, column_of(f, c->span.from)));
	}
	put_source(f, c->span);
	f->must_break = f->prev != NULL;
}

/* ---- blanks between two tokens ---- */

static bool is_opener(TokKind k)
{
	return k == TOK_LPAR || k == TOK_LSQB || k == TOK_LBRACE;
}

static bool is_closer(TokKind k)
{
	return k == TOK_RPAR || k == TOK_RSQB || k == TOK_RBRACE;
}

/* The end of an operand: what follows is an infix operator, a call or an index. */
static bool is_operand_end(TokKind k)
{
	return k == TOK_NAME || k == TOK_INT || k == TOK_FLOAT || k == TOK_DURATION || k == TOK_STR ||
	       k == TOK_BYTES || k == TOK_FSTRING || is_closer(k) || k == TOK_KW_TRUE || k == TOK_KW_FALSE ||
	       k == TOK_KW_NONE || k == TOK_QUESTION;
}

static bool is_sign(TokKind k)
{
	return k == TOK_ADD || k == TOK_SUB || k == TOK_INV;
}

static bool touches(const Fmt *f, const Tok *a, const Tok *b)
{
	(void)f;
	return a->span.to == b->span.from;
}

/* `/` stays as it is written: tight only if both sides are. */
static bool tight_slash(const Fmt *f, const Tok *slash)
{
	return touches(f, slash - 1, slash) && touches(f, slash, slash + 1);
}

static bool tight_assign(const Fmt *f)
{
	const Bracket *b = &f->bracket[f->depth];

	return f->depth > 0 && b->open == TOK_LPAR && !(b->def && b->annotated);
}

static bool tight_before(const Fmt *f, const Tok *t)
{
	TokKind before = f->prev->kind;

	switch (t->kind) {
	case TOK_COMMA:
	case TOK_COLON:
	case TOK_SEMI:
	case TOK_DOT:
	case TOK_QUESTION:
		return true;
	case TOK_LPAR:
	case TOK_LSQB:
		return is_operand_end(before);
	case TOK_ASSIGN:
		return tight_assign(f);
	case TOK_DIV:
		return tight_slash(f, t);
	default:
		return is_closer(t->kind);
	}
}

static bool tight_after(const Fmt *f, const Tok *prev)
{
	const Bracket *b = &f->bracket[f->depth];

	switch (prev->kind) {
	case TOK_DOT:
		return true;
	case TOK_COLON:
		return f->depth > 0 && b->open == TOK_LSQB && !prev->raw;
	case TOK_ASSIGN:
		return tight_assign(f);
	case TOK_DIV:
		return tight_slash(f, prev);
	default:
		return is_opener(prev->kind) || (is_sign(prev->kind) && prev->unit);
	}
}

/* ---- tokens ---- */

/* Two notes are kept in tokens of our own copy: a sign's `unit` says that it is a
 * prefix, a colon's `raw` that it ends a lambda's parameters. */
static const UnitRow prefix_mark;

static void note(Fmt *f, Tok *t)
{
	Bracket *b = &f->bracket[f->depth];

	if (is_sign(t->kind) && !(f->prev && is_operand_end(f->prev->kind)))
		t->unit = &prefix_mark;
	if (t->kind == TOK_KW_LAMBDA)
		b->lambdas++;
	if (t->kind == TOK_COLON && b->lambdas) {
		b->lambdas--;
		t->raw = true;
	} else if (t->kind == TOK_COLON) {
		b->annotated = true;
	}
	if (t->kind == TOK_COMMA)
		b->annotated = false;
	if (t->kind == TOK_KW_DEF && !f->prev)
		f->is_def = true;
}

static void put_token(Fmt *f, Tok *t)
{
	note(f, t);
	if (!f->prev) {
		start_line(f, t->span.from, f->level);
	} else if (f->must_break || newlines(f, f->end, t->span.from)) {
		continue_line(f, is_closer(t->kind));
	} else if (!tight_before(f, t) && !tight_after(f, f->prev)) {
		sb_char(f->out, ' ');
	}
	put_source(f, t->span);
	if (is_opener(t->kind))
		f->bracket[++f->depth] = (Bracket){ .open = t->kind, .def = f->is_def && f->depth == 1 };
	else if (is_closer(t->kind))
		f->depth--;
	f->prev = t;
}

static void one_token(Fmt *f, Tok *t)
{
	switch (t->kind) {
	case TOK_INDENT:
		f->level++;
		f->column[f->level] = column_of(f, t->span.to);
		f->block_start = true;
		break;
	case TOK_DEDENT:
		f->level--;
		break;
	case TOK_NEWLINE:
		f->prev = NULL;
		f->is_def = false;
		f->must_break = false;
		f->bracket[0] = (Bracket){ 0 };
		break;
	case TOK_SEMI:
		if (t[1].kind == TOK_NEWLINE)
			break;
		put_token(f, t);
		break;
	default:
		put_token(f, t);
		break;
	}
}

void fmt_file(Arena *a, const AstFile *file, Sb *out)
{
	Fmt *f = arena_new(a, Fmt);
	uint32_t n = file->toks.v.n;
	Tok *toks = arena_copy(a, file->toks.v.p, n * sizeof(Tok));

	*f = (Fmt){ .text = file->text, .toks = &file->toks, .out = out };
	for (f->tok = 0; f->tok < n; f->tok++) {
		while (f->comment < file->toks.comments.n && file->toks.comments.p[f->comment].tok == f->tok)
			put_comment(f, &file->toks.comments.p[f->comment++]);
		if (toks[f->tok].kind != TOK_END)
			one_token(f, &toks[f->tok]);
	}
	if (out->n)
		sb_char(out, '\n');
}

bool fmt_text(Arena *a, Str text, DiagList *d, Sb *out)
{
	Ast *ast = arena_new(a, Ast);

	ast_init(ast, a);
	if (!parse_file(ast, (Str){ 0 }, text, false, d))
		return false;
	fmt_file(a, &ast->files.p[0], out);
	return true;
}
