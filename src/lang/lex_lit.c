/* SPDX-License-Identifier: Apache-2.0
 *
 * Literals: numbers with units, strings with prefixes and escapes, and where the
 * parts of an f-string end.
 *
 * An f-string is found by its structure, as PEP 701 has it: inside braces quotes
 * of the same kind may stand, strings in braces in strings.
 */
#include "lang/lex_priv.h"

#include <math.h>
#include <stdlib.h>

/* ---- numbers ---- */

/* A number as it is written. */
typedef struct Number {
	size_t from, to; /* digits, without the suffix */
	Str suffix;
	bool is_float, bad;
} Number;

static bool is_digit_of(char c, unsigned base)
{
	if (base == 16)
		return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
	return c >= '0' && c < (char)('0' + base);
}

static bool all_zeros(Str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '0' && s.p[i] != '_')
			return false;
	return true;
}

/* Digits with single underscores between them; false for stray underscores. */
static bool digits(Lexer *x, unsigned base)
{
	bool ok = true, digit = false;

	for (;; x->at++) {
		char c = lex_peek(x, 0);

		if (c == '_') {
			ok &= digit;
			digit = false;
		} else if (is_digit_of(c, base)) {
			digit = true;
		} else {
			return ok && digit;
		}
	}
}

/* 10.0.0.1 or 10.0.0.0/8 without quotes. */
static bool bare_address(Lexer *x)
{
	size_t from = x->at, to = from;
	int dots = 0;

	while (to < x->end && (is_digit(x->text.p[to]) || x->text.p[to] == '.'))
		dots += x->text.p[to++] == '.';
	if (dots != 3)
		return false;
	if (to + 1 < x->end && x->text.p[to] == '/' && is_digit(x->text.p[to + 1]))
		for (to++; to < x->end && is_digit(x->text.p[to]); to++)
			;
	Str text = { x->text.p + from, to - from };
	Diag *d = lex_error(x, span_of(from, to), "an address stands in quotes");

	diag_fix(d, span_of(from, to), str_printf(x->a, "\"%.*s\"", STR_ARG(text)));
	x->at = to;
	lex_push(x, TOK_STR, from, to)->s = text;
	return true;
}

static void number_prefixed(Lexer *x, Number *n, unsigned base)
{
	x->at += 2;
	if (lex_peek(x, 0) == '_') /* 0x_ff, as in Python */
		x->at++;
	if (!digits(x, base)) {
		lex_error(x, span_of(n->from, x->at), "a number of base %u needs digits of that base", base);
		n->bad = true;
	}
}

static void number_decimal(Lexer *x, Number *n)
{
	bool ok = is_digit(lex_peek(x, 0)) ? digits(x, 10) : true;

	if (lex_peek(x, 0) == '.' && !is_name_start(lex_peek(x, 1))) {
		n->is_float = true;
		x->at++;
		if (is_digit(lex_peek(x, 0)))
			ok &= digits(x, 10);
	}
	char sign = lex_peek(x, 1);
	size_t exp = sign == '+' || sign == '-' ? 2 : 1;

	if ((lex_peek(x, 0) | 32) == 'e' && is_digit(lex_peek(x, exp))) {
		n->is_float = true;
		x->at += exp;
		ok &= digits(x, 10);
	}
	if (!ok) {
		lex_error(x, span_of(n->from, x->at), "`_` in a number stands between two digits");
		n->bad = true;
	} else if (!n->is_float && x->text.p[n->from] == '0' &&
		   !all_zeros(text_of(x->text, span_of(n->from, x->at)))) {
		lex_error(x, span_of(n->from, x->at), "a decimal number with leading zeros")->hint =
			STR("leave the zeros out; octal is 0o17");
		n->bad = true;
	}
}

/* Upper and lower case and long names that people write for our units. */
static Str unit_meant(Str s)
{
	static const struct {
		const char *said, *meant;
	} rows[] = {
		{ "kb", "KB" },	    { "k", "KB" },	{ "kB", "KB" },	    { "Kb", "Kbit" },
		{ "mb", "MB" },	    { "Mb", "Mbit" },	{ "M", "MB" },	    { "gb", "GB" },
		{ "Gb", "Gbit" },   { "G", "GB" },	{ "kbit", "Kbit" }, { "mbit", "Mbit" },
		{ "gbit", "Gbit" }, { "Kbps", "Kbit" }, { "Mbps", "Mbit" }, { "Gbps", "Gbit" },
		{ "sec", "s" },	    { "secs", "s" },	{ "seconds", "s" }, { "S", "s" },
		{ "msec", "ms" },   { "millis", "ms" }, { "MS", "ms" },	    { "usec", "us" },
		{ "K", "KB" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (str_is(s, rows[i].said))
			return str_c(rows[i].meant);
	return (Str){ 0 };
}

static void unit_unknown(Lexer *x, const Number *n)
{
	Span s = span_of(n->to, n->to + n->suffix.n);
	Str meant = unit_meant(n->suffix);
	bool imaginary = str_is(n->suffix, "j") || str_is(n->suffix, "J");
	Diag *d = imaginary ? lex_error(x, s, "there are no complex numbers")
			    : lex_error(x, s, "`%.*s` is no unit", STR_ARG(n->suffix));

	if (meant.n)
		diag_fix(d, s, meant);
	else if (!imaginary)
		d->hint = STR("units are ns us ms s, KB MB GB, Kbit Mbit Gbit; put a blank before a word");
}

/* The digits without underscores, for strtod and the like. */
static Str plain_digits(Lexer *x, const Number *n)
{
	Sb b = sb(x->a);

	for (size_t i = n->from; i < n->to; i++)
		if (x->text.p[i] != '_')
			sb_char(&b, x->text.p[i]);
	return sb_done(&b);
}

/* digits * factor; false beyond 2^63, which itself is INT64_MIN (see Tok.i). */
static bool int_value(Str s, unsigned base, int64_t factor, int64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = base == 10 ? 0 : 2; i < s.n; i++) {
		char c = s.p[i];
		unsigned dig = is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);

		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, dig, &v))
			return false;
	}
	if (__builtin_mul_overflow(v, (uint64_t)factor, &v) || v > UINT64_C(1) << 63)
		return false;
	*ret = v == UINT64_C(1) << 63 ? INT64_MIN : (int64_t)v;
	return true;
}

/* A number with a point times a unit: durations are rounded to ns, sizes must be whole. */
static bool scaled_value(double v, const UnitRow *unit, int64_t *ret)
{
	double scaled = v * (double)unit->factor;

	if (!(scaled < 9.2e18) || (!unit->is_time && fabs(scaled - nearbyint(scaled)) > 1e-6))
		return false;
	*ret = llrint(scaled);
	return true;
}

static void number_push(Lexer *x, const Number *n, unsigned base, const UnitRow *unit)
{
	Str s = plain_digits(x, n);
	size_t end = x->at;
	Tok *t = lex_push(x,
			  n->is_float && !unit	  ? TOK_FLOAT
			  : unit && unit->is_time ? TOK_DURATION
						  : TOK_INT,
			  n->from, end);

	t->unit = unit;
	if (n->bad)
		return;
	if (t->kind == TOK_FLOAT) {
		t->f = strtod(s.p, NULL);
		if (isinf(t->f))
			lex_error(x, t->span, "this number is beyond what a float can hold");
	} else if (unit && unit->is_time && !n->is_float && int_value(s, base, unit->factor, &t->i) &&
		   t->i == INT64_MIN) {
		lex_error(x, t->span,
			  "this duration is beyond 64 bits"); /* -2^63 ns stands for an absent one */
	} else if (n->is_float ? !scaled_value(strtod(s.p, NULL), unit, &t->i)
			       : !int_value(s, base, unit ? unit->factor : 1, &t->i)) {
		t->i = 0;
		if (n->is_float && !unit->is_time)
			lex_error(x, t->span, "a size is a whole number of bytes, of 64 bits");
		else
			lex_error(x, t->span, "this number is beyond 64 bits")->hint =
				STR("the largest int is 9223372036854775807");
	}
}

void lex_number(Lexer *x)
{
	Number n = { .from = x->at };
	char p = lex_peek(x, 0) == '0' ? (char)(lex_peek(x, 1) | 32) : 0;
	unsigned base = p == 'x' ? 16 : p == 'o' ? 8 : p == 'b' ? 2 : 10;
	const UnitRow *unit = NULL;

	if (bare_address(x))
		return;
	if (base != 10)
		number_prefixed(x, &n, base);
	else
		number_decimal(x, &n);
	n.to = x->at;
	while (is_name(lex_peek(x, 0)))
		x->at++;
	n.suffix = (Str){ x->text.p + n.to, x->at - n.to };
	if (n.suffix.n && !n.bad) {
		unit = base == 10 ? unit_find(n.suffix) : NULL;
		if (!unit) {
			unit_unknown(x, &n);
			n.bad = true;
		}
	}
	number_push(x, &n, base, unit);
}

/* ---- escapes ---- */

typedef struct Unescape {
	Str in;	       /* the piece */
	uint32_t base; /* its offset in the text, for spans */
	size_t at;
	unsigned flags;
	DiagList *d;
	char *out;
	size_t n;
} Unescape;

static void put_cp(Unescape *u, uint32_t cp)
{
	if (u->flags & STR_BYTES)
		u->out[u->n++] = (char)cp;
	else
		u->n += utf8_encode(cp, u->out + u->n);
}

static void escape_error(Unescape *u, size_t from, const char *what)
{
	diag_add(u->d, "E-SYNTAX", span_of(u->base + from, u->base + u->at), "%s", what);
}

/* \xhh, \uhhhh, \Uhhhhhhhh; u->at stands behind the letter. */
static void escape_hex(Unescape *u, size_t from, unsigned n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++, u->at++) {
		char c = u->at < u->in.n ? u->in.p[u->at] : 0;

		if (!is_digit_of(c, 16)) {
			escape_error(u, from,
				     n == 2   ? "`\\x` takes two hex digits"
				     : n == 4 ? "`\\u` takes four hex digits"
					      : "`\\U` takes eight hex digits");
			return;
		}
		v = v << 4 | (is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)((c | 32) - 'a' + 10));
	}
	if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		escape_error(u, from, "this escape is no character");
	else
		put_cp(u, v);
}

static void escape_octal(Unescape *u, size_t from)
{
	uint32_t v = 0;

	for (int i = 0; i < 3 && u->at < u->in.n && is_digit_of(u->in.p[u->at], 8); i++)
		v = v << 3 | (uint32_t)(u->in.p[u->at++] - '0');
	if (v > 0xff)
		escape_error(u, from, "an octal escape is at most \\377");
	else
		put_cp(u, v);
}

static void escape_unknown(Unescape *u, size_t from, char c)
{
	Diag *d = diag_add(u->d, "W-ESCAPE", span_of(u->base + from, u->base + u->at),
			   "`\\%c` is no escape: the backslash stays", c);
	char text[4] = { '\\', '\\', c, 0 };

	diag_fix(d, d->span, (Str){ arena_copy(u->d->a, text, 3), 3 });
	u->out[u->n++] = '\\';
	u->out[u->n++] = c;
}

/* At a backslash. */
static void escape_one(Unescape *u)
{
	static const char from_c[] = "\\'\"abfnrtv", to_c[] = "\\'\"\a\b\f\n\r\t\v";
	size_t from = u->at++;
	char c = u->at < u->in.n ? u->in.p[u->at] : 0;
	const char *hit = c ? strchr(from_c, c) : NULL;
	bool wide = !(u->flags & STR_BYTES);

	if (c >= '0' && c <= '7') {
		escape_octal(u, from);
		return;
	}
	if (u->at < u->in.n)
		u->at++;
	if (hit)
		u->out[u->n++] = to_c[hit - from_c];
	else if (c == '\r' && u->at < u->in.n)
		u->at++; /* the line end that it hides is \r\n */
	else if (c == 'x')
		escape_hex(u, from, 2);
	else if (c == 'u' && wide)
		escape_hex(u, from, 4);
	else if (c == 'U' && wide)
		escape_hex(u, from, 8);
	else if (c == 'N' && wide)
		escape_error(u, from, "`\\N{...}` is not there: write the character, or \\u and its number");
	else if (c != '\n' && c)
		escape_unknown(u, from, c);
}

Str lex_unescape(Arena *a, Str text, Span span, unsigned flags, DiagList *d)
{
	Unescape u = { .in = text_of(text, span), .base = span.from, .flags = flags, .d = d };

	u.out = arena_alloc(a, u.in.n + 1);
	while (u.at < u.in.n) {
		char c = u.in.p[u.at];
		char next = u.at + 1 < u.in.n ? u.in.p[u.at + 1] : 0;

		if (c == '\\' && !(flags & STR_RAW)) {
			escape_one(&u);
			continue;
		}
		if ((uint8_t)c >= 0x80 && (flags & STR_BYTES)) {
			size_t from = u.at;

			while (u.at < u.in.n && (uint8_t)u.in.p[u.at] >= 0x80)
				u.at++;
			escape_error(&u, from, "bytes literals are ASCII: write other bytes as \\xNN");
			continue;
		}
		u.at += (c == '\r' && next == '\n') ||
			((flags & STR_FORMAT) && (c == '{' || c == '}') && next == c);
		u.out[u.n++] = c == '\r' ? '\n' : c;
		u.at++;
	}
	return (Str){ u.out, u.n };
}

/* ---- where strings end ---- */

static bool quote_at(Str text, size_t at, size_t end, char quote, bool triple)
{
	if (at >= end || text.p[at] != quote)
		return false;
	return !triple || (end - at >= 3 && text.p[at + 1] == quote && text.p[at + 2] == quote);
}

/* From behind the opening quote to the closing one; the line's or text's end if there is none. */
static size_t plain_end(Str text, size_t at, size_t end, char quote, bool triple)
{
	while (at < end && !quote_at(text, at, end, quote, triple)) {
		if (text.p[at] == '\n' && !triple)
			return at;
		at += text.p[at] == '\\' && at + 1 < end ? 2 : 1;
	}
	return at;
}

static size_t fstr_end_deep(Str text, size_t at, size_t end, char quote, bool triple, bool raw,
			    unsigned deep);

/* From an opening quote to behind the closing one; what stands before says the kind. */
static size_t string_skip(Str text, size_t at, size_t end, unsigned deep)
{
	char q = text.p[at];
	bool triple = quote_at(text, at, end, q, true), format = false, raw = false;

	for (size_t i = at; i > 0 && at - i < 2 && strchr("rRbBfFuU", text.p[i - 1]); i--) {
		format |= (text.p[i - 1] | 32) == 'f';
		raw |= (text.p[i - 1] | 32) == 'r';
	}
	at += triple ? 3 : 1;
	at = format ? fstr_end_deep(text, at, end, q, triple, raw, deep + 1)
		    : plain_end(text, at, end, q, triple);
	if (!quote_at(text, at, end, q, triple))
		return at;
	return at + (triple ? 3 : 1);
}

static size_t expr_end_deep(Str text, size_t at, size_t end, bool one_line, unsigned deep)
{
	unsigned open = 0;

	while (at < end) {
		char c = text.p[at], next = at + 1 < end ? text.p[at + 1] : 0;

		if (c == '\n' && one_line)
			return at;
		if (c == '"' || c == '\'') {
			at = string_skip(text, at, end, deep);
			continue;
		}
		if (open == 0 && (c == '}' || c == ':' || (c == '!' && next != '=')))
			return at;
		if (open == 0 && c == '=' && next != '=' && !(at > 0 && strchr("=!<>", text.p[at - 1])))
			return at;
		if (strchr("([{", c) && c)
			open++;
		else if (strchr(")]}", c) && c && open)
			open--;
		at++;
	}
	return end;
}

size_t fstr_expr_end(Str text, size_t at, size_t end)
{
	return expr_end_deep(text, at, end, false, 0);
}

/* From behind `{` to behind its `}`, nested fields of the spec included. */
static size_t field_skip(Str text, size_t at, size_t end, bool one_line, unsigned deep)
{
	bool spec = false;

	while (at < end) {
		char c = text.p[at];

		if (c == '}')
			return at + 1;
		if (c == '\n' && one_line)
			return at;
		if (spec && c == '{' && deep < LIMIT_NESTING)
			at = field_skip(text, at + 1, end, one_line, deep + 1);
		else if (spec)
			at++;
		else {
			at = expr_end_deep(text, at, end, one_line, deep);
			spec = at < end && text.p[at] == ':';
			at += at < end && strchr(":!=", text.p[at]);
		}
	}
	return at;
}

static size_t fstr_end_deep(Str text, size_t at, size_t end, char quote, bool triple, bool raw, unsigned deep)
{
	if (deep > LIMIT_NESTING)
		return end;
	while (at < end && !quote_at(text, at, end, quote, triple)) {
		char c = text.p[at], next = at + 1 < end ? text.p[at + 1] : 0;

		if (c == '\n' && !triple)
			return at;
		if (c == '{' && next != '{')
			at = field_skip(text, at + 1, end, !triple, deep);
		else if ((c == '{' || c == '}') && next == c)
			at += 2;
		else
			at += c == '\\' && at + 1 < end && (raw || next != '{') ? 2 : 1;
	}
	return at;
}

size_t fstr_end(Str text, size_t at, size_t end, char quote, bool triple, bool raw)
{
	return fstr_end_deep(text, at, end, quote, triple, raw, 0);
}

/* ---- strings ---- */

static unsigned prefix_flags(Lexer *x, size_t from)
{
	unsigned flags = 0, n = 0;
	bool u = false;

	for (size_t i = from; i < x->at; i++, n++) {
		char c = (char)(x->text.p[i] | 32);

		flags |= c == 'r' ? STR_RAW : c == 'b' ? STR_BYTES : c == 'f' ? STR_FORMAT : 0u;
		u |= c == 'u';
	}
	bool twice = n == 2 && (x->text.p[from] | 32) == (x->text.p[from + 1] | 32);

	if (twice || (u && n == 2) || (flags & (STR_BYTES | STR_FORMAT)) == (STR_BYTES | STR_FORMAT))
		lex_error(x, span_of(from, x->at), "`%.*s` is no prefix of a string", (int)n,
			  x->text.p + from)
			->hint = STR("prefixes are r, b, rb, f, rf and u");
	return flags;
}

static void string_unclosed(Lexer *x, size_t from, unsigned flags, bool triple)
{
	const char *what = flags & STR_FORMAT ? "f-string" : "string";
	Diag *d = lex_error(x, span_of(from, from + 1), "this %s is never closed", what);

	d->hint = triple ? STR("close it with the same three quotes")
		  : flags & STR_FORMAT
			  ? STR("close it, and each `{` in it, on the same line")
			  : STR("close it on the same line; three quotes make a string of several lines");
	if (triple)
		x->at = x->end;
	lex_drop_line(x);
}

void lex_string(Lexer *x, size_t from)
{
	char q = lex_peek(x, 0);
	unsigned flags = prefix_flags(x, from);
	bool triple = quote_at(x->text, x->at, x->end, q, true);
	size_t start = x->at + (triple ? 3 : 1), end;

	if (flags & STR_FORMAT)
		end = fstr_end(x->text, start, x->end, q, triple, flags & STR_RAW);
	else
		end = plain_end(x->text, start, x->end, q, triple);
	if (!quote_at(x->text, end, x->end, q, triple)) {
		string_unclosed(x, from, flags, triple);
		return;
	}
	x->at = end + (triple ? 3 : 1);
	Tok *t = lex_push(x,
			  flags & STR_FORMAT  ? TOK_FSTRING
			  : flags & STR_BYTES ? TOK_BYTES
					      : TOK_STR,
			  from, x->at);

	t->raw = flags & STR_RAW;
	if (flags & STR_FORMAT)
		t->inner = span_of(start, end);
	else
		t->s = lex_unescape(x->a, x->text, span_of(start, end), flags, x->d);
}
