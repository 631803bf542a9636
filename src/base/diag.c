/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include "base/escape.h"
#include "base/limits.h"

#include <stdio.h>

static Str vformat(Arena *a, const char *fmt, va_list ap)
{
	char text[LIMIT_DIAG_TEXT];
	int n = vsnprintf(text, sizeof text, fmt, ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;

	return (Str){ arena_copy(a, text, len), len };
}

Diag *diag_add(DiagList *l, const char *code, Span span, const char *fmt, ...)
{
	va_list ap;

	for (uint32_t i = 0; i < l->v.n; i++)
		if (strcmp(l->v.p[i].code, code) == 0 && l->v.p[i].span.from == span.from && l->v.p[i].span.to == span.to)
			return &l->spare;
	if (l->v.n >= LIMIT_DIAGS) {
		l->dropped++;
		return &l->spare;
	}
	Diag *d = vec_push(l->a, &l->v, (Diag){ .code = code, .span = span });

	d->sev = code[0] == 'W' ? SEV_WARNING : SEV_ERROR;
	l->errors += d->sev == SEV_ERROR;
	va_start(ap, fmt);
	d->message = vformat(l->a, fmt, ap);
	va_end(ap);
	return d;
}

void diag_fix(Diag *d, Span span, Str text)
{
	d->fix = (Fix){ .span = span, .text = text, .set = true };
}

void diag_sort(DiagList *l)
{
	for (uint32_t i = 1; i < l->v.n; i++)
		for (uint32_t j = i; j > 0 && l->v.p[j].span.from < l->v.p[j - 1].span.from; j--) {
			Diag d = l->v.p[j];

			l->v.p[j] = l->v.p[j - 1];
			l->v.p[j - 1] = d;
		}
}

LineCol line_col(Str source, uint32_t at)
{
	LineCol lc = { .line = 1, .col = 1 };
	size_t start = 0, end;

	if (at > source.n)
		at = (uint32_t)source.n;
	for (size_t i = 0; i < at; i++) {
		if (source.p[i] == '\n') {
			lc.line++;
			lc.col = 1;
			start = i + 1;
		} else if (((uint8_t)source.p[i] & 0xc0) != 0x80) {
			lc.col++;
		}
	}
	for (end = start; end < source.n && source.p[end] != '\n' && source.p[end] != '\r'; end++)
		;
	lc.text = (Str){ source.p + start, end - start };
	return lc;
}

/* The caret line under a source line: blanks, then ^~~~ for the part of the span on it. */
static void render_caret(const Diag *d, Str source, LineCol lc, Sb *out)
{
	size_t start = (size_t)(lc.text.p - source.p), end = start + lc.text.n;
	size_t to = d->span.to < end ? d->span.to : end;
	size_t marks = to > d->span.from ? to - d->span.from : 1;

	sb_cstr(out, "    ");
	for (size_t i = start; i < d->span.from && i < end; i++)
		if (((uint8_t)source.p[i] & 0xc0) != 0x80)
			sb_char(out, source.p[i] == '\t' ? '\t' : ' ');
	sb_char(out, '^');
	sb_fill(out, '~', marks - 1);
	sb_char(out, '\n');
}

/* How many of the line's first n characters are blanks: all, or none counts. */
static size_t indent_of(Str line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (i >= line.n || (line.p[i] != ' ' && line.p[i] != '\t'))
			return 0;
	return n;
}

/* Several lines stand below each other, as they are to be pasted. */
static void render_fix(const Fix *f, Str source, Sb *out)
{
	Str rest = f->text.n ? f->text : STR("leave it out");
	LineCol lc = line_col(source, f->span.from);
	size_t blanks = indent_of(lc.text, lc.col - 1);
	bool many = memchr(rest.p, '\n', rest.n - 1) != NULL, first = true;

	sb_cstr(out, f->widening ? "    fix (widens what the program may do):" : "    fix:");
	if (!many)
		sb_char(out, ' ');
	if (rest.p[rest.n - 1] == '\n')
		rest.n--;
	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);
		size_t n = end ? (size_t)(end - rest.p) : rest.n;

		if (many)
			sb_cstr(out, "\n    ");
		if (many && first)
			sb_str(out, (Str){ lc.text.p, blanks });
		first = false;
		escape_source(out, (Str){ rest.p, n });
		rest = (Str){ rest.p + n, rest.n - n };
		if (end)
			rest = (Str){ rest.p + 1, rest.n - 1 };
	}
	sb_char(out, '\n');
}

void diag_render(const Diag *d, Str name, Str source, Sb *out)
{
	static const char *const sev[] = { "error", "warning", "note" };
	LineCol lc = line_col(source, d->span.from);

	escape_line(out, name);
	sb_printf(out, ":%u:%u: %s %s: ", lc.line, lc.col, sev[d->sev], d->code);
	escape_line(out, d->message);
	sb_cstr(out, "\n    ");
	escape_source(out, lc.text);
	sb_char(out, '\n');
	render_caret(d, source, lc, out);
	if (d->fix.set)
		render_fix(&d->fix, source, out);
	if (d->path.n) {
		sb_cstr(out, "    path: ");
		escape_line(out, d->path);
		sb_char(out, '\n');
	}
	if (d->hint.n) {
		sb_cstr(out, "    hint: ");
		escape_line(out, d->hint);
		sb_char(out, '\n');
	}
}
