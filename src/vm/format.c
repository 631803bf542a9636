/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of f-strings: Python's format mini-language
 * [[fill]align][sign][#][0][width][grouping][.precision][type], for every type;
 * what has no number form takes fill, align and width only.
 */
#include "vm/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRECISION_MAX = 100 };

typedef struct Spec {
	uint32_t fill;
	char align; /* '<' '>' '^' '=' or 0 */
	char sign;  /* '+' ' ' '-' or 0 */
	bool alt;
	int64_t width;
	char group; /* ',' '_' or 0 */
	int precision; /* -1: none */
	char type;
} Spec;

static bool is_align(uint32_t c)
{
	return c == '<' || c == '>' || c == '^' || c == '=';
}

static bool read_int(Str s, size_t *at, int64_t most, int64_t *ret)
{
	int64_t v = 0;

	for (; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; (*at)++) {
		v = v * 10 + (s.p[*at] - '0');
		if (v > most)
			return false;
	}
	*ret = v;
	return true;
}

static size_t read_fill(Str s, Spec *ret)
{
	uint32_t cp;
	size_t n = utf8_decode(s, &cp);

	if (n && n < s.n && is_align((uint8_t)s.p[n])) {
		ret->fill = cp;
		ret->align = s.p[n];
		return n + 1;
	}
	if (s.n && is_align((uint8_t)s.p[0])) {
		ret->align = s.p[0];
		return 1;
	}
	return 0;
}

static bool spec_read(Vm *vm, Str s, Spec *ret)
{
	size_t at;
	int64_t precision;

	*ret = (Spec){ .fill = ' ', .precision = -1 };
	at = read_fill(s, ret);
	if (at < s.n && (s.p[at] == '+' || s.p[at] == '-' || s.p[at] == ' ')) {
		ret->sign = s.p[at++];
	}
	if (at < s.n && s.p[at] == '#') {
		ret->alt = true;
		at++;
	}
	if (at < s.n && s.p[at] == '0') {
		if (!ret->align) {
			ret->align = '=';
			ret->fill = '0';
		}
		at++;
	}
	if (!read_int(s, &at, WIDTH_MAX, &ret->width))
		return vm_fail(vm, "E-VALUE", "a width above %d", WIDTH_MAX);
	if (at < s.n && (s.p[at] == ',' || s.p[at] == '_'))
		ret->group = s.p[at++];
	if (at < s.n && s.p[at] == '.') {
		at++;
		if (at == s.n || s.p[at] < '0' || s.p[at] > '9' || !read_int(s, &at, WIDTH_MAX, &precision))
			return vm_fail(vm, "E-VALUE", "\"%.*s\" is no format: a precision is missing",
				       (int)(s.n < 40 ? s.n : 40), s.p);
		ret->precision = (int)precision;
	}
	if (at < s.n)
		ret->type = s.p[at++];
	if (at < s.n)
		return vm_fail(vm, "E-VALUE", "\"%.*s\" is no format", (int)(s.n < 40 ? s.n : 40), s.p);
	return true;
}

/* ---- padding ---- */

static void fill(Sbuf *b, uint32_t cp, int64_t n)
{
	if (cp < 0x80)
		sbuf_fill(b, (char)cp, n > 0 ? (size_t)n : 0);
	else
		for (; n > 0; n--)
			sbuf_cp(b, cp);
}

/* `body` is cut to n_cp characters; head (sign, 0x) stands before '=' padding. */
static void put_padded(Sbuf *b, const Spec *s, char dflt_align, Str head, const ObjStr *body, size_t to, int64_t n_cp)
{
	int64_t pad = s->width - n_cp - (int64_t)head.n;
	char align = s->align ? s->align : dflt_align;
	int64_t left = pad <= 0 ? 0 : align == '<' ? 0 : align == '^' ? pad / 2 : pad;

	if (align != '=')
		fill(b, s->fill, left);
	sbuf_add(b, head);
	if (align == '=')
		fill(b, s->fill, left);
	sbuf_sub(b, body, 0, to);
	if (pad > 0)
		fill(b, s->fill, pad - left);
}

static bool put_text(Vm *vm, const Spec *s, ObjStr *text, Value *ret)
{
	Sbuf b = sbuf(vm);
	int64_t n = text->n_cp;

	if (s->precision >= 0 && s->precision < n)
		n = s->precision;
	put_padded(&b, s, '<', (Str){ "", 0 }, text, str_offset(text, (size_t)n), n);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

/* ---- numbers ---- */

/* Digits with separators, zero-filled to the width if the fill asks for it:
 * Python counts the separators into the width. */
static void group_digits(Sbuf *b, Str digits, const Spec *s, int every, size_t taken)
{
	size_t n = digits.n, zeros = 0;

	if (s->align == '=' && s->fill == '0' && s->width > 0) {
		size_t room = s->width > (int64_t)taken ? (size_t)s->width - taken : 0;

		while (s->group ? n + zeros + (n + zeros - 1) / (size_t)every < room : n + zeros < room)
			zeros++;
	}
	for (size_t i = 0; i < n + zeros; i++) {
		if (s->group && i && (n + zeros - i) % (size_t)every == 0)
			sbuf_char(b, s->group);
		sbuf_char(b, i < zeros ? '0' : digits.p[i - zeros]);
	}
}

/* sign and prefix, whole digits, then the rest (point, exponent, %) */
static bool put_number(Vm *vm, const Spec *s, bool negative, const char *prefix, Str whole, Str rest, int every,
		       Value *ret)
{
	char head[8];
	Sbuf b = sbuf(vm), body = sbuf(vm);
	int n = snprintf(head, sizeof head, "%s%s", negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "",
			 prefix);

	group_digits(&body, whole, s, every, (size_t)n + rest.n);
	sbuf_add(&body, rest);
	ObjStr *text = val_str(sbuf_done(&body, VAL_STR));

	put_padded(&b, s, '>', (Str){ head, (size_t)n }, text, text->h.n, text->n_cp);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

static size_t digits_of(uint64_t v, unsigned base, bool upper, char out[65])
{
	char tmp[65];
	size_t n = 0;

	do {
		unsigned d = (unsigned)(v % base);

		tmp[n++] = (char)(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
		v /= base;
	} while (v);
	for (size_t i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

static bool put_int(Vm *vm, const Spec *s, int64_t v, Value *ret)
{
	static const struct {
		char type;
		unsigned base;
		const char *prefix;
	} bases[] = { { 'b', 2, "0b" }, { 'o', 8, "0o" }, { 'x', 16, "0x" }, { 'X', 16, "0X" }, { 'd', 10, "" },
		      { 'n', 10, "" }, { 0, 10, "" } };
	char out[65];
	uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	if (s->precision >= 0)
		return vm_fail(vm, "E-VALUE", "an int takes no precision");
	if (s->type == 'c') {
		Sbuf b = sbuf(vm);

		if (s->sign || s->alt)
			return vm_fail(vm, "E-VALUE", "`c` takes neither sign nor #");
		if (v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
			return vm_fail(vm, "E-VALUE", "no character has that number");
		sbuf_cp(&b, (uint32_t)v);
		Spec as = *s;

		as.align = s->align ? s->align : '>';
		return put_text(vm, &as, val_str(sbuf_done(&b, VAL_STR)), ret);
	}
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		if (bases[i].type != s->type)
			continue;
		size_t n = digits_of(size, bases[i].base, s->type == 'X', out);

		return put_number(vm, s, v < 0, s->alt ? bases[i].prefix : "", (Str){ out, n }, (Str){ "", 0 },
				  bases[i].base == 10 ? 3 : 4, ret);
	}
	return vm_fail(vm, "E-VALUE", "an int has no format `%c`", s->type);
}

/* No type: repr's digits, or the given number of them, with a point. */
static Str general(Vm *vm, const Spec *s, double v, Sbuf *b)
{
	char out[160];

	if (s->precision < 0) {
		text_float(b, v);
		return (Str){ b->p, b->n };
	}
	int p = s->precision ? s->precision : 1;

	snprintf(out, sizeof out, "%.*g", p, v);
	sbuf_cstr(b, out);
	if (!strpbrk(out, ".en")) {
		/* Python keeps a digit behind the point if that many digits were asked for. */
		if ((int)strlen(out) < p || p == 1) {
			if ((int)strlen(out) < p)
				sbuf_cstr(b, ".0");
			else {
				b->n = 0;
				snprintf(out, sizeof out, "%.0e", v);
				sbuf_cstr(b, out);
			}
		} else {
			b->n = 0;
			snprintf(out, sizeof out, "%.*e", p - 1, v);
			char *e = strchr(out, 'e');

			*e = 0;
			size_t n = strlen(out);

			while (n > 1 && out[n - 1] == '0')
				n--;
			n -= out[n - 1] == '.';
			sbuf_add(b, (Str){ out, n });
			sbuf_printf(b, "e%s", e + 1);
		}
	}
	(void)vm;
	return (Str){ b->p, b->n };
}

static bool put_float(Vm *vm, const Spec *s, double v, Value *ret)
{
	char fmt[8], out[512];
	Sbuf text = sbuf(vm);
	bool percent = s->type == '%';
	char type = percent ? 'f' : s->type == 'n' ? 'g' : s->type;

	if (isnan(v)) {
		Spec as = *s;

		as.precision = -1;
		as.align = s->align == '=' || !s->align ? '>' : s->align;
		as.fill = s->align == '=' ? ' ' : s->fill;
		return put_text(vm, &as, str_make(vm, VAL_STR, STR("-")), ret);
	}
	if (type && !strchr("eEfFgG", type))
		return vm_fail(vm, "E-VALUE", "a float has no format `%c`", s->type);
	if (s->precision > PRECISION_MAX)
		return vm_fail(vm, "E-VALUE", "a precision above %d", PRECISION_MAX);
	double size = fabs(percent ? v * 100 : v);

	if (isinf(size)) {
		sbuf_cstr(&text, type == 'F' || type == 'E' || type == 'G' ? "INF" : "inf");
	} else if (type) {
		snprintf(fmt, sizeof fmt, s->alt ? "%%#.*%c" : "%%.*%c", type);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(out, sizeof out, fmt, s->precision < 0 ? 6 : s->precision, size);
#pragma GCC diagnostic pop
		sbuf_cstr(&text, out);
	} else {
		general(vm, s, size, &text);
	}
	if (percent)
		sbuf_char(&text, '%');
	size_t whole = 0;

	while (whole < text.n && text.p[whole] >= '0' && text.p[whole] <= '9')
		whole++;
	bool ok = put_number(vm, s, signbit(v) != 0, "", (Str){ text.p, whole },
			     (Str){ text.p + whole, text.n - whole }, 3, ret);

	sbuf_drop(&text);
	return ok;
}

static bool is_float_type(char t)
{
	return t && strchr("eEfFgG%", t);
}

static bool put_value(Vm *vm, Value v, const Spec *s, Value *ret)
{
	bool whole = v.tag == VAL_INT || v.tag == VAL_BOOL;

	if (whole && !is_float_type(s->type))
		return put_int(vm, s, v.i, ret);
	if (v.tag == VAL_FLAGS && s->type && s->type != 's' && !is_float_type(s->type))
		return put_int(vm, s, v.i, ret);
	if (whole || v.tag == VAL_FLOAT)
		return put_float(vm, s, whole ? (double)v.i : v.f, ret);
	if (v.tag == VAL_DURATION && s->type && s->type != 's')
		return vm_fail(vm, "E-VALUE", "a duration has a unit and no format `%c`: say .ms (or .s .us .ns) first",
			       s->type);
	if (s->type && s->type != 's')
		return vm_fail(vm, "E-VALUE", "%s has no format `%c`", val_type_name(v), s->type);
	if (s->align == '=' && s->fill != '0')
		return vm_fail(vm, "E-VALUE", "`=` is for numbers");
	Spec as = *s;

	/* A leading 0 of the width means nothing for text; Python fills with it. */
	as.align = s->align == '=' ? '<' : s->align;
	as.precision = v.tag == VAL_STR ? s->precision : -1;
	return put_text(vm, &as, val_str(text_value(vm, v)), ret);
}

bool format_value(Vm *vm, Value v, char conv, Value spec, Value *ret)
{
	Spec s;

	if (spec.tag != VAL_STR && spec.tag != VAL_NONE)
		return vm_fail_type(vm, "a format", spec);
	if (conv == 'r') {
		Sbuf b = sbuf(vm);

		text_repr(&b, v, TEXT_DEPTH);
		v = sbuf_done(&b, VAL_STR);
	} else if (conv == 's') {
		v = text_value(vm, v);
	}
	if (spec.tag == VAL_NONE || !val_str(spec)->h.n) {
		*ret = text_value(vm, v);
		return true;
	}
	return spec_read(vm, str_of(val_str(spec)), &s) && put_value(vm, v, &s, ret);
}
