/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods of str alone (classes and cases of characters: ASCII; other letters
 * count as letters without case), and what turns str into bytes and back.
 */
#include "vm/py.h"

#include <ctype.h>

/* ---- classes ---- */

enum { C_ALPHA = 1, C_DIGIT = 2, C_SPACE = 4, C_PRINT = 8, C_ASCII = 16 };

static unsigned class_of(uint8_t c)
{
	if (c >= 0x80)
		return C_ALPHA | C_PRINT;
	return (isalpha(c) ? C_ALPHA : 0u) | (isdigit(c) ? C_DIGIT : 0u) |
	       (isspace(c) || (c >= 0x1c && c <= 0x1f) ? C_SPACE : 0u) | (c >= 0x20 && c < 0x7f ? C_PRINT : 0u) |
	       C_ASCII;
}

static bool all_of(Value self, unsigned classes, bool empty, Value *ret)
{
	ObjStr *s = val_str(self);
	bool all = s->h.n || empty;

	for (size_t i = 0; all && i < s->h.n; i++)
		all = (class_of((uint8_t)s->p[i]) & classes) != 0;
	*ret = val_bool(all);
	return true;
}

#define CLASS(id, classes, empty)                           \
	METHOD_OF(STR, id)                                  \
	{                                                   \
		FIXED;                                      \
		(void)vm;                                   \
		return all_of(args[0], classes, empty, ret); \
	}

CLASS(isalnum, C_ALPHA | C_DIGIT, false)
CLASS(isalpha, C_ALPHA, false)
CLASS(isascii, C_ASCII, true)
CLASS(isdecimal, C_DIGIT, false)
CLASS(isdigit, C_DIGIT, false)
CLASS(isnumeric, C_DIGIT, false)
CLASS(isprintable, C_PRINT, true)
CLASS(isspace, C_SPACE, false)

static bool one_case(Value self, bool upper, Value *ret)
{
	ObjStr *s = val_str(self);
	bool any = false, other = false;

	for (size_t i = 0; i < s->h.n; i++) {
		uint8_t c = (uint8_t)s->p[i];

		any |= c < 0x80 && (upper ? isupper(c) : islower(c));
		other |= c < 0x80 && (upper ? islower(c) : isupper(c));
	}
	*ret = val_bool(any && !other);
	return true;
}

METHOD_OF(STR, islower)
{
	FIXED;
	(void)vm;
	return one_case(args[0], false, ret);
}

METHOD_OF(STR, isupper)
{
	FIXED;
	(void)vm;
	return one_case(args[0], true, ret);
}

/* ---- cases: the same bytes, letters changed in place ---- */

typedef enum CaseHow { CASE_CAPITALIZE, CASE_SWAP, CASE_TITLE } CaseHow;

static bool recase(Vm *vm, Value self, CaseHow how, Value *ret)
{
	Sbuf b = sbuf(vm);
	bool in_word = false;

	sbuf_obj(&b, val_str(self));
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = (uint8_t)b.p[i];
		bool letter = class_of(c) & C_ALPHA;

		if (c < 0x80 && isalpha(c)) {
			bool up = how == CASE_SWAP ? islower(c) : how == CASE_TITLE ? !in_word : i == 0;

			b.p[i] = (char)(up ? toupper(c) : tolower(c));
		}
		in_word = letter;
	}
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

METHOD_OF(STR, capitalize)
{
	FIXED;
	return recase(vm, args[0], CASE_CAPITALIZE, ret);
}

METHOD_OF(STR, swapcase)
{
	FIXED;
	return recase(vm, args[0], CASE_SWAP, ret);
}

METHOD_OF(STR, title)
{
	FIXED;
	return recase(vm, args[0], CASE_TITLE, ret);
}

/* ---- width ---- */

METHOD_OF(STR, zfill)
{
	ObjStr *s = val_str(args[0]);
	Sbuf b = sbuf(vm);
	int64_t width;
	size_t sign = s->h.n && (s->p[0] == '-' || s->p[0] == '+');

	FIXED;
	if (!vm_to_int(vm, args[1], &width))
		return false;
	if (width > WIDTH_MAX)
		return vm_fail(vm, "E-VALUE", "a width above %d", WIDTH_MAX);
	sbuf_sub(&b, s, 0, sign);
	if (width > s->n_cp)
		sbuf_fill(&b, '0', (size_t)(width - s->n_cp));
	sbuf_sub(&b, s, sign, s->h.n);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

METHOD_OF(STR, expandtabs)
{
	ObjStr *s = val_str(args[0]);
	Sbuf b = sbuf(vm);
	int64_t tab, col = 0;

	FIXED;
	if (!vm_to_size(vm, args[1], INT32_MIN, 1000, "a tab's width", &tab))
		return false;
	for (size_t i = 0; i < s->h.n; i++) {
		if (s->p[i] == '\t') {
			int64_t pad = tab > 0 ? tab - col % tab : 0;

			sbuf_fill(&b, ' ', (size_t)pad);
			col += pad;
			vm_charge(vm, 1 + (uint64_t)pad / 32);
			continue;
		}
		sbuf_sub(&b, s, i, i + 1);
		col += ((uint8_t)s->p[i] & 0xc0) != 0x80;
		if (s->p[i] == '\n' || s->p[i] == '\r')
			col = 0;
	}
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

/* ---- encodings ---- */

typedef enum Coding { CODING_UTF8, CODING_ASCII, CODING_LATIN1 } Coding;
typedef enum OnError { ON_STRICT, ON_REPLACE, ON_IGNORE, ON_BACKSLASH } OnError;

static bool coding_of(Vm *vm, Value v, Coding *ret)
{
	static const struct {
		const char *name;
		Coding coding;
	} rows[] = { { "utf-8", CODING_UTF8 }, { "utf8", CODING_UTF8 }, { "UTF-8", CODING_UTF8 },
		     { "ascii", CODING_ASCII }, { "latin-1", CODING_LATIN1 }, { "latin1", CODING_LATIN1 },
		     { "iso-8859-1", CODING_LATIN1 } };
	Str s;

	if (!vm_to_str(vm, v, &s))
		return false;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (str_is(s, rows[i].name)) {
			*ret = rows[i].coding;
			return true;
		}
	}
	return vm_fail(vm, "E-VALUE", "the encoding is utf-8, ascii or latin-1");
}

static bool on_error_of(Vm *vm, Value v, OnError *ret)
{
	static const char *const rows[] = { "strict", "replace", "ignore", "backslashreplace" };
	Str s;

	if (!vm_to_str(vm, v, &s))
		return false;
	for (int i = 0; i < 4; i++) {
		if (str_is(s, rows[i])) {
			*ret = (OnError)i;
			return true;
		}
	}
	return vm_fail(vm, "E-VALUE", "errors is strict, replace, ignore or backslashreplace");
}

METHOD_OF(STR, encode)
{
	ObjStr *s = val_str(args[0]);
	Sbuf b = sbuf(vm);
	Coding coding;
	OnError on;

	FIXED;
	if (!coding_of(vm, args[1], &coding) || !on_error_of(vm, args[2], &on))
		return false;
	uint32_t most = coding == CODING_ASCII ? 0x7f : coding == CODING_LATIN1 ? 0xff : 0x10ffff;

	for (size_t i = 0, len; i < s->h.n; i += len) {
		uint32_t cp = (uint8_t)s->p[i];
		size_t at = b.n;

		len = cp < 0x80 ? 1 : utf8_decode((Str){ s->p + i, s->h.n - i }, &cp);
		len = len ? len : 1;
		if (cp <= most && coding == CODING_UTF8)
			sbuf_add(&b, (Str){ s->p + i, len });
		else if (cp <= most)
			sbuf_char(&b, (char)cp);
		else if (on == ON_REPLACE)
			sbuf_char(&b, '?');
		else if (on == ON_BACKSLASH)
			sbuf_printf(&b, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
		else if (on == ON_STRICT)
			return vm_fail(vm, "E-VALUE", "character %zu does not fit the encoding", str_cp_at(s, i));
		if (s->n_marks && str_marked_at(s, i))
			sbuf_mark(&b, at);
	}
	vm_charge(vm, b.n / 8);
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

METHOD_OF(BYTES, decode)
{
	ObjStr *s = val_str(args[0]);
	Sbuf b = sbuf(vm);
	Coding coding;
	OnError on;

	FIXED;
	if (!coding_of(vm, args[1], &coding) || !on_error_of(vm, args[2], &on))
		return false;
	for (size_t i = 0, len; i < s->h.n; i += len) {
		uint32_t cp = (uint8_t)s->p[i];
		bool good = cp < 0x80 || coding == CODING_LATIN1;
		size_t at = b.n;

		len = 1;
		if (!good && coding == CODING_UTF8) {
			len = utf8_decode((Str){ s->p + i, s->h.n - i }, &cp);
			good = len > 0;
			len = len ? len : 1;
		}
		if (good)
			sbuf_cp(&b, cp);
		else if (on == ON_REPLACE)
			sbuf_cp(&b, 0xfffd);
		else if (on == ON_BACKSLASH)
			sbuf_printf(&b, "\\x%02x", (uint8_t)s->p[i]);
		else if (on == ON_STRICT)
			return vm_fail(vm, "E-VALUE", "byte %zu is not of the encoding", i);
		if (s->n_marks && str_marked_at(s, i))
			sbuf_mark(&b, at);
	}
	vm_charge(vm, b.n / 8);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

METHOD_OF(BYTES, hex)
{
	ObjStr *s = val_str(args[0]);
	Sbuf b = sbuf(vm);
	Str sep;

	FIXED;
	if (!vm_to_str(vm, args[1], &sep))
		return false;
	if (sep.n > 1)
		return vm_fail(vm, "E-VALUE", "the separator is one character");
	for (size_t i = 0; i < s->h.n; i++) {
		if (i)
			sbuf_add(&b, sep);
		sbuf_char(&b, "0123456789abcdef"[(uint8_t)s->p[i] >> 4]);
		sbuf_char(&b, "0123456789abcdef"[(uint8_t)s->p[i] & 15]);
	}
	vm_charge(vm, b.n / 8);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}
