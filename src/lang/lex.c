/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer: characters, lines and blocks, names, operators.
 *
 * An error costs one logical line at most.  A bracket that is never closed would
 * swallow the rest of the text; so where the text ends inside one, or a line inside
 * one starts with a word that only starts statements, the lexer goes back to the
 * line of the bracket, leaves out what is indented deeper than its statement, and
 * reads on.
 */
#include "lang/lex_priv.h"

#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>

enum { BYTES_A_TOKEN = 3 }; /* at least, in most texts: room is taken once */

static const char *const tok_texts[] = {
#define TOK_OTHER_(id, text)  [TOK_##id] = (text),
#define TOK_QUOTED_(id, text) [TOK_##id] = "`" text "`",
	TOK_OTHERS(TOK_OTHER_) TOK_OPS(TOK_QUOTED_) TOK_KEYWORDS(TOK_QUOTED_)
};

const char *tok_text(TokKind k)
{
	return k < TOK_N ? tok_texts[k] : "?";
}

/* ---- names ---- */

static Sym *sym_put(Syms *s, Str text)
{
	uint64_t *slot = map_get(&s->map, str_bytes(text));

	if (slot)
		return s->v.p[*slot];
	Sym *y = arena_new(s->a, Sym);

	y->text = (Str){ arena_copy(s->a, text.p, text.n), text.n };
	y->id = s->v.n;
	y->tok = TOK_NAME;
	*map_put(&s->map, str_bytes(y->text)) = y->id;
	vec_push(s->a, &s->v, y);
	return y;
}

void syms_init(Syms *s, Arena *a)
{
	static const struct {
		const char *text;
		uint8_t tok;
	} rows[] = {
#define KEYWORD_(id, text) { (text), TOK_##id },
		TOK_KEYWORDS(KEYWORD_)
	};

	*s = (Syms){ .a = a, .map = { .a = a } };
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		sym_put(s, str_c(rows[i].text))->tok = rows[i].tok;
}

const Sym *sym(Syms *s, Str text)
{
	return sym_put(s, text);
}

/* ---- pieces ---- */

Diag *lex_error(Lexer *x, Span s, const char *fmt, ...)
{
	char text[LIMIT_DIAG_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	x->errors++;
	return diag_add(x->d, "E-SYNTAX", s, "%s", text);
}

Tok *lex_push(Lexer *x, TokKind kind, size_t from, size_t to)
{
	return vec_push(x->a, &x->out->v, (Tok){ .kind = kind, .span = span_of(from, to) });
}

static bool line_has_tokens(const Lexer *x)
{
	return x->out->v.n > x->line_tok;
}

static void skip_to_line_end(Lexer *x)
{
	while (x->at < x->end && x->text.p[x->at] != '\n')
		x->at++;
}

/* The column of the first character at or behind `at` on its line; *at is moved there. */
static struct Column column_at(const Lexer *x, size_t *at)
{
	struct Column c = { 0, 0 };

	for (; *at < x->end; ++*at) {
		if (x->text.p[*at] == ' ')
			c.tab8++;
		else if (x->text.p[*at] == '\t')
			c.tab8 = (c.tab8 / 8 + 1) * 8;
		else
			break;
		c.tab1++;
	}
	return c;
}

static bool is_line_end(const Lexer *x, size_t at)
{
	return at >= x->end || x->text.p[at] == '\n' || x->text.p[at] == '\r';
}

/* Lines deeper than the statement, or that start with a closing bracket, were
 * meant as its continuation. */
static void skip_continuation(Lexer *x)
{
	while (x->at < x->end) {
		size_t at = x->at + 1; /* behind the line's end */
		struct Column c = column_at(x, &at);

		if (!is_line_end(x, at) && c.tab8 <= x->line_col.tab8 && !strchr(")]}", x->text.p[at]))
			return;
		x->at = at;
		skip_to_line_end(x);
	}
}

void lex_drop_line(Lexer *x)
{
	bool joined = x->n_open > 0;

	x->out->v.n = x->line_tok;
	x->n_open = 0;
	skip_to_line_end(x);
	lex_push(x, TOK_BAD, x->at, x->at);
	if (joined && !x->part)
		skip_continuation(x);
}

/* ---- brackets ---- */

/* The innermost open bracket is an error; reads on behind the line on which the
 * outermost was opened. */
static void unclosed(Lexer *x)
{
	struct Open o = x->open[x->n_open - 1];
	const char c = x->text.p[o.at];
	Diag *d = lex_error(x, span_of(o.at, o.at + 1u), "`%c` is never closed", c);

	d->hint = str_printf(x->a, "close it with `%c`", o.close);
	x->at = x->open[0].at;
	x->out->comments.n = x->line_comments;
	lex_drop_line(x);
}

static void bracket_open(Lexer *x, char close)
{
	if (x->n_open == LIMIT_NESTING) {
		lex_error(x, span_of(x->at, x->at + 1), "brackets nested more than %d deep", LIMIT_NESTING);
		x->at = x->open[0].at;
		x->out->comments.n = x->line_comments;
		lex_drop_line(x);
		return;
	}
	x->open[x->n_open++] = (struct Open){ close, (uint32_t)x->at };
}

/* False if the bracket was no token. */
static bool bracket_close(Lexer *x, char c)
{
	if (x->n_open == 0) {
		lex_error(x, span_of(x->at, x->at + 1), "`%c` closes nothing", c);
		return false;
	}
	struct Open o = x->open[x->n_open - 1];

	if (o.close == c) {
		x->n_open--;
		return true;
	}
	Diag *d = lex_error(x, span_of(x->at, x->at + 1), "`%c` does not match `%c`", c, x->text.p[o.at]);

	d->hint = str_printf(x->a, "the bracket opened on line %u is closed by `%c`",
			     line_col(x->text, o.at).line, o.close);
	lex_drop_line(x);
	return false;
}

/* ---- lines ---- */

static void indent_push(Lexer *x, struct Column c, size_t at)
{
	if (x->n_indent == LIMIT_NESTING) {
		lex_error(x, span_of(at, at), "blocks nested more than %d deep", LIMIT_NESTING);
		x->at = x->end;
		lex_push(x, TOK_BAD, x->at, x->at);
		return;
	}
	x->indent[++x->n_indent] = c;
	lex_push(x, TOK_INDENT, x->at, at);
}

static void indent_pop(Lexer *x, struct Column c, size_t at)
{
	while (x->n_indent && x->indent[x->n_indent].tab8 > c.tab8) {
		x->n_indent--;
		lex_push(x, TOK_DEDENT, at, at);
	}
	if (x->indent[x->n_indent].tab8 != c.tab8) {
		Diag *d = lex_error(x, span_of(x->at, at), "this line is indented like no block around it");

		d->hint = STR("indent it exactly as the lines of its block");
	}
}

/* At the start of a line outside brackets: blank and comment lines mean nothing,
 * others may open or close blocks. */
static void line_begin(Lexer *x)
{
	size_t at = x->at;
	struct Column c = column_at(x, &at), top = x->indent[x->n_indent];

	x->line_start = false;
	if (is_line_end(x, at) || x->text.p[at] == '#') {
		x->at = at;
		return;
	}
	bool deeper = c.tab8 > top.tab8;

	if ((c.tab8 == top.tab8 && c.tab1 != top.tab1) || (deeper && c.tab1 <= top.tab1))
		lex_error(x, span_of(x->at, at), "tabs and blanks are mixed in this indentation")->hint =
			STR("indent by blanks");
	if (deeper)
		indent_push(x, c, at);
	else
		indent_pop(x, c, at);
	if (x->at == x->end)
		return;
	x->at = at;
	x->line_tok = x->out->v.n;
	x->line_comments = x->out->comments.n;
	x->line_col = c;
}

/* Words that start statements and stand in no expression. */
static bool starts_statement(TokKind k)
{
	static const bool set[TOK_N] = {
		[TOK_KW_DEF] = true,	[TOK_KW_RETURN] = true,	  [TOK_KW_WHILE] = true,
		[TOK_KW_BREAK] = true,	[TOK_KW_CONTINUE] = true, [TOK_KW_PASS] = true,
		[TOK_KW_IMPORT] = true, [TOK_KW_CLASS] = true,	  [TOK_KW_TRY] = true,
		[TOK_KW_EXCEPT] = true, [TOK_KW_FINALLY] = true,  [TOK_KW_RAISE] = true,
		[TOK_KW_WITH] = true,	[TOK_KW_GLOBAL] = true,	  [TOK_KW_NONLOCAL] = true,
		[TOK_KW_DEL] = true,	[TOK_KW_ASSERT] = true,	  [TOK_KW_ELIF] = true,
	};

	return set[k];
}

static void line_end(Lexer *x)
{
	if (x->n_open || x->part) {
		x->at++;
		x->line_start = true;
		return;
	}
	if (line_has_tokens(x))
		lex_push(x, TOK_NEWLINE, x->at, x->at);
	x->at++;
	x->line_start = true;
	x->line_tok = x->out->v.n;
}

static void comment(Lexer *x)
{
	size_t from = x->at, bol = from;

	skip_to_line_end(x);
	size_t to = x->at;

	if (to > from && x->text.p[to - 1] == '\r')
		to--;
	if (x->part) {
		lex_error(x, span_of(from, to), "a comment inside an f-string's braces");
		return;
	}
	while (bol > 0 && (x->text.p[bol - 1] == ' ' || x->text.p[bol - 1] == '\t'))
		bol--;
	vec_push(x->a, &x->out->comments,
		 (Comment){ .span = span_of(from, to),
			    .tok = x->out->v.n,
			    .own_line = bol == 0 || x->text.p[bol - 1] == '\n' });
}

static void backslash(Lexer *x)
{
	size_t n = lex_peek(x, 1) == '\r' ? 2 : 1;

	if (lex_peek(x, n) == '\n' && x->at + n + 1 < x->end) {
		x->at += n + 1;
		return;
	}
	lex_error(x, span_of(x->at, x->at + 1),
		  "`\\` joins lines: it must be the last character of its line");
	lex_drop_line(x);
}

/* ---- words and operators ---- */

static bool is_string_prefix(const Lexer *x, size_t from, size_t to)
{
	char c = to < x->end ? x->text.p[to] : 0;

	if ((c != '"' && c != '\'') || to - from > 2)
		return false;
	for (size_t i = from; i < to; i++)
		if (!strchr("rRbBfFuU", x->text.p[i]))
			return false;
	return true;
}

static void word(Lexer *x)
{
	size_t from = x->at, to = from;
	bool first = x->line_start;

	while (to < x->end && is_name(x->text.p[to]))
		to++;
	if (is_string_prefix(x, from, to)) {
		x->at = to;
		lex_string(x, from);
		return;
	}
	if (to - from > LIMIT_NAME)
		lex_error(x, span_of(from, to), "a name of %zu characters: the most is %d", to - from,
			  LIMIT_NAME);
	const Sym *y = sym(x->syms, (Str){ x->text.p + from, to - from });

	if (x->n_open && first && !x->part && starts_statement(y->tok)) {
		unclosed(x);
		return;
	}
	x->at = to;
	lex_push(x, y->tok, from, to)->sym = y;
}

static const struct {
	const char *text;
	uint8_t len, kind;
} op_rows[] = {
#define OP_ROW_(id, text) { (text), sizeof(text) - 1, TOK_##id },
	TOK_OPS(OP_ROW_)
};

/* What other languages write, and what it is here. */
static const struct {
	const char *text, *use;
} foreign_ops[] = {
	{ "&&", "and" }, { "||", "or" }, { "===", "==" }, { "!==", "!=" }, { "<>", "!=" },
};

static bool foreign_op(Lexer *x)
{
	for (size_t i = 0; i < sizeof foreign_ops / sizeof foreign_ops[0]; i++) {
		size_t n = strlen(foreign_ops[i].text);

		if (x->end - x->at < n || memcmp(x->text.p + x->at, foreign_ops[i].text, n) != 0)
			continue;
		Span s = span_of(x->at, x->at + n);
		Diag *d = lex_error(x, s, "`%s` is no operator: write `%s`", foreign_ops[i].text,
				    foreign_ops[i].use);

		diag_fix(d, s, str_c(foreign_ops[i].use));
		lex_drop_line(x);
		return true;
	}
	return false;
}

static void bad_char(Lexer *x)
{
	Str rest = { x->text.p + x->at, x->end - x->at };
	uint32_t cp = 0;
	size_t n = utf8_decode(rest, &cp);
	Span s = span_of(x->at, x->at + (n ? n : 1));

	if (cp >= 0x80)
		lex_error(x, s, "U+%04X outside a string or comment: programs are ASCII there", cp)->hint =
			STR("only strings and comments may hold other characters; quotes must be \" or '");
	else
		lex_error(x, s, "`%c` has no meaning here", rest.p[0]);
	lex_drop_line(x);
}

static void operator(Lexer *x)
{
	static const char opens[] = "([{", closes[] = ")]}";
	char c = x->text.p[x->at];
	const char *o = strchr(opens, c), *k = strchr(closes, c);

	if (k && !bracket_close(x, c)) {
		x->at += x->at < x->end && x->text.p[x->at] == c && x->n_open == 0;
		return;
	}
	if (!o && !k && foreign_op(x))
		return;
	for (size_t i = 0; i < sizeof op_rows / sizeof op_rows[0]; i++) {
		size_t n = op_rows[i].len;

		if (x->end - x->at < n || memcmp(x->text.p + x->at, op_rows[i].text, n) != 0)
			continue;
		size_t from = x->at;

		if (o) {
			bracket_open(x, closes[o - opens]);
			if (x->at != from || x->n_open == 0)
				return;
		}
		x->at += n;
		lex_push(x, op_rows[i].kind, from, x->at);
		return;
	}
	bad_char(x);
}

static void one_token(Lexer *x)
{
	char c = lex_peek(x, 0);

	if (c == ' ' || c == '\t' || c == '\r') {
		x->at++;
	} else if (c == '\n') {
		line_end(x);
	} else if (c == '#') {
		comment(x);
	} else if (c == '\\') {
		backslash(x);
	} else {
		if (is_name_start(c))
			word(x);
		else if (is_digit(c) || (c == '.' && is_digit(lex_peek(x, 1))))
			lex_number(x);
		else if (c == '"' || c == '\'')
			lex_string(x, x->at);
		else
			operator(x);
		x->line_start = false;
	}
}

static void lex_all(Lexer *x)
{
	for (;;) {
		if (x->errors >= LIMIT_DIAGS)
			x->at = x->end;
		if (x->at >= x->end) {
			if (!x->n_open || x->part || x->errors >= LIMIT_DIAGS)
				return;
			unclosed(x);
			continue;
		}
		if (x->line_start && !x->n_open && !x->part) {
			line_begin(x);
			continue;
		}
		one_token(x);
	}
}

/* Characters that hide what a reader sees, anywhere in the text (guardrails.md 3). */
static bool characters_ok(Str text, DiagList *d)
{
	uint32_t before = d->errors;
	bool told = false; /* on this line */

	for (size_t i = 0; i < text.n;) {
		Str rest = { text.p + i, text.n - i };
		uint32_t cp = 0;
		size_t n = utf8_decode(rest, &cp);
		Span s = span_of(i, i + (n ? n : 1));
		bool plain = n && (cp == '\n' || cp == '\t' || !utf8_hidden(cp) ||
				   (cp == '\r' && rest.n > 1 && rest.p[1] == '\n'));

		if (!plain && !told) {
			if (n)
				diag_add(d, "E-SYNTAX", s, "U+%04X is a control or format character", cp)
					->hint = STR("leave it out; in a string write it as an escape");
			else
				diag_add(d, "E-SYNTAX", s, "byte 0x%02x: the text is not UTF-8",
					 (uint8_t)rest.p[0]);
		}
		told = cp == '\n' && n ? false : told || !plain;
		i += n ? n : 1;
	}
	return d->errors == before;
}

void lex(Arena *a, Syms *syms, Str text, DiagList *d, Toks *ret)
{
	Lexer x = {
		.a = a, .syms = syms, .text = text, .end = text.n, .d = d, .out = ret, .line_start = true
	};

	*ret = (Toks){ 0 };
	if (text.n > LIMIT_SOURCE)
		diag_add(d, "E-SYNTAX", span_of(LIMIT_SOURCE, LIMIT_SOURCE),
			 "the text has %zu bytes: the most is %u", text.n, LIMIT_SOURCE);
	else if (characters_ok(text, d)) {
		ret->v.cap = (uint32_t)text.n / BYTES_A_TOKEN + 8;
		ret->v.p = arena_new_n(a, Tok, ret->v.cap);
		lex_all(&x);
	}
	if (line_has_tokens(&x))
		lex_push(&x, TOK_NEWLINE, text.n, text.n);
	for (; x.n_indent; x.n_indent--)
		lex_push(&x, TOK_DEDENT, text.n, text.n);
	lex_push(&x, TOK_END, text.n, text.n);
}

void lex_part(Arena *a, Syms *syms, Str text, Span span, DiagList *d, Toks *ret)
{
	Lexer x = { .a = a,
		    .syms = syms,
		    .text = text,
		    .at = span.from,
		    .end = span.to,
		    .d = d,
		    .out = ret,
		    .part = true };

	*ret = (Toks){ 0 };
	lex_all(&x);
	lex_push(&x, x.n_open ? TOK_BAD : TOK_END, span.to, span.to);
	if (x.n_open) {
		struct Open o = x.open[x.n_open - 1];

		lex_error(&x, span_of(o.at, o.at + 1u), "`%c` is never closed", text.p[o.at]);
		lex_push(&x, TOK_END, span.to, span.to);
	}
}
