/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that str and bytes share.  They work on bytes: UTF-8 finds the same
 * places; only positions that a program sees are code points.  Pieces are made by
 * str_sub, so marks of a peer's text stay.
 */
#include "vm/py.h"

#include <ctype.h>

/* self is text; `ok` false after an error. */
static ObjStr *self_of(Vm *vm, Value v)
{
	if (!val_is_text(v)) {
		vm_fail_type(vm, "str", v);
		return NULL;
	}
	return val_str(v);
}

/* What is searched: text of self's kind; of bytes a number too. */
static bool needle_of(Vm *vm, const ObjStr *s, Value v, uint8_t *one, Bytes *ret)
{
	if (s->h.tag == VAL_BYTES && (v.tag == VAL_INT || v.tag == VAL_BOOL)) {
		*ret = BYTES(one, 1);
		return to_byte(vm, v, one);
	}
	if (v.tag != s->h.tag && !(s->h.tag == VAL_BYTES && v.tag == VAL_STR))
		return vm_fail_type(vm, s->h.tag == VAL_STR ? "str" : "bytes", v);
	*ret = bytes_of(val_str(v));
	return true;
}

static const uint8_t *find_last(Bytes hay, Bytes needle)
{
	for (size_t i = hay.n - needle.n + 1; i-- > 0;)
		if (memcmp(hay.p + i, needle.p, needle.n) == 0)
			return hay.p + i;
	return NULL;
}

/* The place in bytes, or -1. */
static int64_t place_of(Bytes hay, Bytes needle, bool last)
{
	if (needle.n > hay.n)
		return -1;
	if (!needle.n)
		return last ? (int64_t)hay.n : 0;
	const uint8_t *at = last ? find_last(hay, needle) : memmem(hay.p, hay.n, needle.p, needle.n);

	return at ? at - hay.p : -1;
}

/* The part [start, end) of s in bytes; false in *ret_any: start is behind it. */
static bool part_of(Vm *vm, const ObjStr *s, Value start, Value end, size_t *ret_from, Bytes *ret, bool *ret_any)
{
	int64_t lo, hi;

	if (!slice_bounds(vm, start, end, s->n_cp, &lo, &hi))
		return false;
	*ret_any = lo <= hi && lo <= s->n_cp;
	*ret_from = str_offset(s, (size_t)lo);
	*ret = bytes_slice(bytes_of(s), *ret_from, str_offset(s, (size_t)hi));
	vm_charge(vm, s->h.n / 16);
	return true;
}

static bool find(Vm *vm, const Value *args, bool last, bool must, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Bytes hay, needle;
	size_t from;
	uint8_t one;
	bool any;

	if (!s || !needle_of(vm, s, args[1], &one, &needle) ||
	    !part_of(vm, s, args[2], args[3], &from, &hay, &any))
		return false;
	int64_t at = any ? place_of(hay, needle, last) : -1;

	if (at < 0 && must)
		return vm_fail(vm, "E-VALUE", "the text does not occur");
	*ret = val_int(at < 0 ? -1 : (int64_t)str_cp_at(s, from + (size_t)at));
	return true;
}

static bool count(Vm *vm, const Value *args, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Bytes hay, needle;
	size_t from;
	uint8_t one;
	bool any;
	int64_t c = 0;

	if (!s || !needle_of(vm, s, args[1], &one, &needle) ||
	    !part_of(vm, s, args[2], args[3], &from, &hay, &any))
		return false;
	if (!needle.n) {
		c = any ? (int64_t)(str_cp_at(s, from + hay.n) - str_cp_at(s, from)) + 1 : 0;
	} else {
		for (int64_t at; any && (at = place_of(hay, needle, false)) >= 0; c++)
			hay = bytes_slice(hay, (size_t)at + needle.n, hay.n);
	}
	*ret = val_int(c);
	return true;
}

static bool has_end(Bytes part, Bytes end, bool front)
{
	return end.n <= part.n &&
	       bytes_eq(front ? bytes_slice(part, 0, end.n) : bytes_slice(part, part.n - end.n, part.n), end);
}

static bool ends(Vm *vm, const Value *args, bool front, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	const Value *p = &args[1];
	uint32_t n = 1;
	Bytes part, end;
	size_t from;
	uint8_t one;
	bool any;

	if (!s || !part_of(vm, s, args[2], args[3], &from, &part, &any))
		return false;
	if (args[1].tag == VAL_TUPLE) {
		p = val_tuple(args[1])->p;
		n = args[1].o->n;
	}
	*ret = val_bool(false);
	for (uint32_t i = 0; i < n; i++) {
		if (!val_is_text(p[i]))
			return vm_fail_type(vm, "str", p[i]);
		if (!needle_of(vm, s, p[i], &one, &end))
			return false;
		if (any && has_end(part, end, front))
			*ret = val_bool(true);
	}
	return true;
}

static bool remove_end(Vm *vm, const Value *args, bool front, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Bytes end;
	uint8_t one;

	if (!s || !needle_of(vm, s, args[1], &one, &end))
		return false;
	*ret = args[0];
	if (end.n && has_end(bytes_of(s), end, front))
		*ret = front ? str_sub(vm, s, end.n, s->h.n) : str_sub(vm, s, 0, s->h.n - end.n);
	return true;
}

/* ---- strip ---- */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* The character of n bytes at p is one of chars (None: white space). */
static bool in_chars(const char *p, size_t n, const ObjStr *chars, bool bytes)
{
	if (!chars)
		return n == 1 && is_blank(*p) && (!bytes || (uint8_t)*p < 0x1c || *p == ' ');
	return memmem(chars->p, chars->h.n, p, n) != NULL;
}

static size_t char_len(const ObjStr *s, size_t at)
{
	size_t n = 1;

	while (s->h.tag == VAL_STR && at + n < s->h.n && ((uint8_t)s->p[at + n] & 0xc0) == 0x80)
		n++;
	return n;
}

static bool strip(Vm *vm, const Value *args, bool left, bool right, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]), *chars = NULL;
	size_t from = 0, to;

	if (!s)
		return false;
	if (!val_left_out(args[1])) {
		if (args[1].tag != s->h.tag)
			return vm_fail_type(vm, val_type_name(args[0]), args[1]);
		chars = val_str(args[1]);
	}
	to = s->h.n;
	vm_charge(vm, to / 16 * (chars ? 1 + chars->h.n / 8 : 1));
	while (left && from < to && in_chars(s->p + from, char_len(s, from), chars, s->h.tag == VAL_BYTES))
		from += char_len(s, from);
	while (right && to > from) {
		size_t at = to - 1;

		while (s->h.tag == VAL_STR && at > from && ((uint8_t)s->p[at] & 0xc0) == 0x80)
			at--;
		if (!in_chars(s->p + at, to - at, chars, s->h.tag == VAL_BYTES))
			break;
		to = at;
	}
	*ret = str_sub(vm, s, from, to);
	return true;
}

/* ---- split, partition ---- */

static void push_sub(Vm *vm, ObjList *l, ObjStr *s, size_t from, size_t to)
{
	vm_push(vm, l, str_sub(vm, s, from, to));
	vm_charge(vm, 2);
}

static void split_blanks(Vm *vm, ObjStr *s, int64_t most, ObjList *l)
{
	size_t at = 0;
	bool bytes = s->h.tag == VAL_BYTES;

	for (;;) {
		while (at < s->h.n && in_chars(s->p + at, 1, NULL, bytes))
			at++;
		if (at == s->h.n)
			return;
		size_t from = at;

		if (most-- == 0) {
			size_t to = s->h.n;

			while (in_chars(s->p + to - 1, 1, NULL, bytes))
				to--;
			push_sub(vm, l, s, from, to > from && bytes ? to : s->h.n);
			return;
		}
		while (at < s->h.n && !in_chars(s->p + at, 1, NULL, bytes))
			at++;
		push_sub(vm, l, s, from, at);
	}
}

static void split_at(Vm *vm, ObjStr *s, Bytes sep, int64_t most, ObjList *l)
{
	size_t from = 0;

	for (; most != 0; most--) {
		int64_t at = place_of(bytes_slice(bytes_of(s), from, s->h.n), sep, false);

		if (at < 0)
			break;
		push_sub(vm, l, s, from, from + (size_t)at);
		from += (size_t)at + sep.n;
	}
	push_sub(vm, l, s, from, s->h.n);
}

static void split_at_last(Vm *vm, ObjStr *s, Bytes sep, int64_t most, ObjList *l)
{
	size_t to = s->h.n;

	for (; most != 0; most--) {
		int64_t at = place_of(bytes_slice(bytes_of(s), 0, to), sep, true);

		if (at < 0)
			break;
		push_sub(vm, l, s, (size_t)at + sep.n, to);
		to = (size_t)at;
	}
	push_sub(vm, l, s, 0, to);
}

static void split_blanks_last(Vm *vm, ObjStr *s, int64_t most, ObjList *l)
{
	size_t at = s->h.n;

	for (;;) {
		while (at > 0 && in_chars(s->p + at - 1, 1, NULL, false))
			at--;
		if (!at)
			return;
		size_t to = at;

		if (most-- == 0) {
			push_sub(vm, l, s, 0, to);
			return;
		}
		while (at > 0 && !in_chars(s->p + at - 1, 1, NULL, false))
			at--;
		push_sub(vm, l, s, at, to);
	}
}

static void turn(ObjList *l)
{
	for (uint32_t i = 0, j = l->h.n; i + 1 < j; i++) {
		Value x = l->p[i];

		l->p[i] = l->p[--j];
		l->p[j] = x;
	}
}

static bool split(Vm *vm, const Value *args, bool last, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	ObjList *l = vm_list(vm, 0);
	Bytes sep;
	uint8_t one;
	int64_t most;

	*ret = val_of(l);
	if (!s || !vm_to_int(vm, args[2], &most))
		return false;
	vm_charge(vm, s->h.n / 16);
	if (val_left_out(args[1])) {
		if (last)
			split_blanks_last(vm, s, most, l);
		else
			split_blanks(vm, s, most, l);
	} else {
		if (!needle_of(vm, s, args[1], &one, &sep))
			return false;
		if (!sep.n)
			return vm_fail(vm, "E-VALUE", "an empty separator");
		if (last)
			split_at_last(vm, s, sep, most, l);
		else
			split_at(vm, s, sep, most, l);
	}
	if (last)
		turn(l);
	return true;
}

/* Bytes of the line end at `at`; 0: none. */
static size_t line_end(const ObjStr *s, size_t at)
{
	uint8_t c = (uint8_t)s->p[at];
	uint32_t cp = 0;

	if (c == '\r')
		return at + 1 < s->h.n && s->p[at + 1] == '\n' ? 2 : 1;
	if (c == '\n')
		return 1;
	if (s->h.tag == VAL_BYTES)
		return 0;
	if (c == '\v' || c == '\f' || (c >= 0x1c && c <= 0x1e))
		return 1;
	size_t n = c < 0x80 ? 0 : utf8_decode((Str){ s->p + at, s->h.n - at }, &cp);

	return cp == 0x85 || cp == 0x2028 || cp == 0x2029 ? n : 0;
}

static bool splitlines(Vm *vm, const Value *args, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	ObjList *l = vm_list(vm, 0);
	size_t from = 0;

	*ret = val_of(l);
	if (!s)
		return false;
	for (size_t at = 0, n; at < s->h.n; at += n ? n : 1) {
		n = line_end(s, at);
		if (n) {
			push_sub(vm, l, s, from, val_truth(args[1]) ? at + n : at);
			from = at + n;
		}
	}
	if (from < s->h.n)
		push_sub(vm, l, s, from, s->h.n);
	return true;
}

static bool partition(Vm *vm, const Value *args, bool last, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Value three[3];
	Bytes sep;
	uint8_t one;

	if (!s || !needle_of(vm, s, args[1], &one, &sep))
		return false;
	if (!sep.n)
		return vm_fail(vm, "E-VALUE", "an empty separator");
	int64_t at = place_of(bytes_of(s), sep, last);
	Value none = val_of(str_make(vm, s->h.tag, (Str){ "", 0 }));

	if (at < 0) {
		three[0] = last ? none : args[0];
		three[1] = none;
		three[2] = last ? args[0] : none;
	} else {
		three[0] = str_sub(vm, s, 0, (size_t)at);
		three[1] = str_sub(vm, s, (size_t)at, (size_t)at + sep.n);
		three[2] = str_sub(vm, s, (size_t)at + sep.n, s->h.n);
	}
	*ret = tuple_of(vm, three, 3);
	return true;
}

/* ---- join, replace, padding ---- */

static bool join(Vm *vm, const Value *args, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Value it[3], x;
	Sbuf b = sbuf(vm);
	bool more = false;

	if (!s || !iter_begin(vm, args[1], it))
		return false;
	while (iter_next(vm, it, &x)) {
		if (x.tag != s->h.tag)
			return vm_fail_type(vm, s->h.tag == VAL_STR ? "str (say str(x) for each)" : "bytes", x);
		if (more)
			sbuf_obj(&b, s);
		more = true;
		sbuf_obj(&b, val_str(x));
		vm_charge(vm, 1 + (s->h.n + x.o->n) / 32);
	}
	if (vm->err.set)
		return false;
	*ret = sbuf_done(&b, s->h.tag);
	return true;
}

/* Python's replace("", x): x before each character and at the end. */
static void replace_empty(ObjStr *s, const ObjStr *by, int64_t most, Sbuf *b)
{
	size_t at = 0;

	for (; most != 0 && at < s->h.n; most--) {
		size_t n = char_len(s, at);

		sbuf_obj(b, by);
		sbuf_sub(b, s, at, at + n);
		at += n;
		vm_charge(b->vm, 1 + by->h.n / 32);
	}
	if (most != 0)
		sbuf_obj(b, by);
	sbuf_sub(b, s, at, s->h.n);
}

static bool replace(Vm *vm, const Value *args, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]);
	Bytes old, by;
	uint8_t one, two;
	int64_t most;
	size_t from = 0;
	Sbuf b = sbuf(vm);

	if (!s || !val_is_text(args[1]) || !val_is_text(args[2]))
		return vm_fail_type(vm, "str", val_is_text(args[1]) ? args[2] : args[1]);
	if (!needle_of(vm, s, args[1], &one, &old) || !needle_of(vm, s, args[2], &two, &by) ||
	    !vm_to_int(vm, args[3], &most))
		return false;
	if (!old.n) {
		replace_empty(s, val_str(args[2]), most, &b);
		*ret = sbuf_done(&b, s->h.tag);
		return true;
	}
	for (; most != 0; most--) {
		int64_t at = place_of(bytes_slice(bytes_of(s), from, s->h.n), old, false);

		if (at < 0)
			break;
		sbuf_sub(&b, s, from, from + (size_t)at);
		sbuf_obj(&b, val_str(args[2]));
		from += (size_t)at + old.n;
		vm_charge(vm, 2 + by.n / 32);
	}
	sbuf_sub(&b, s, from, s->h.n);
	*ret = sbuf_done(&b, s->h.tag);
	return true;
}

static bool pad_to(Vm *vm, const Value *args, int side, Value *ret)
{
	ObjStr *s = self_of(vm, args[0]), *fill;
	int64_t width, left, pad;
	Sbuf b = sbuf(vm);

	if (!s || !vm_to_int(vm, args[1], &width))
		return false;
	if (args[2].tag != s->h.tag || val_str(args[2])->n_cp != 1)
		return vm_fail(vm, "E-VALUE", "the fill is one character");
	if (width > WIDTH_MAX)
		return vm_fail(vm, "E-VALUE", "a width above %d", WIDTH_MAX);
	fill = val_str(args[2]);
	pad = width - s->n_cp;
	if (pad <= 0) {
		*ret = args[0];
		return true;
	}
	/* Python's center puts the odd one to the left if the width is odd. */
	left = side < 0 ? pad : side > 0 ? 0 : pad / 2 + (pad & width & 1);
	for (int64_t i = 0; i < left; i++)
		sbuf_obj(&b, fill);
	sbuf_obj(&b, s);
	for (int64_t i = left; i < pad; i++)
		sbuf_obj(&b, fill);
	*ret = sbuf_done(&b, s->h.tag);
	return true;
}

static bool change_case(Vm *vm, Value v, bool upper, Value *ret)
{
	ObjStr *s = self_of(vm, v);
	Sbuf b = sbuf(vm);

	if (!s)
		return false;
	sbuf_obj(&b, s);
	for (size_t i = 0; i < b.n; i++)
		b.p[i] = (char)(upper ? (b.p[i] >= 'a' && b.p[i] <= 'z' ? b.p[i] - 32 : b.p[i]) :
					(b.p[i] >= 'A' && b.p[i] <= 'Z' ? b.p[i] + 32 : b.p[i]));
	*ret = sbuf_done(&b, s->h.tag);
	return true;
}

/* ---- the rows, for str and for bytes ---- */

#define BOTH(id, call)               \
	METHOD_OF(STR, id)           \
	{                            \
		FIXED;               \
		return call;         \
	}                            \
	METHOD_OF(BYTES, id)         \
	{                            \
		FIXED;               \
		return call;         \
	}

BOTH(find, find(vm, args, false, false, ret))
BOTH(rfind, find(vm, args, true, false, ret))
BOTH(index, find(vm, args, false, true, ret))
BOTH(count, count(vm, args, ret))
BOTH(startswith, ends(vm, args, true, ret))
BOTH(endswith, ends(vm, args, false, ret))
BOTH(removeprefix, remove_end(vm, args, true, ret))
BOTH(removesuffix, remove_end(vm, args, false, ret))
BOTH(strip, strip(vm, args, true, true, ret))
BOTH(lstrip, strip(vm, args, true, false, ret))
BOTH(rstrip, strip(vm, args, false, true, ret))
BOTH(split, split(vm, args, false, ret))
BOTH(splitlines, splitlines(vm, args, ret))
BOTH(partition, partition(vm, args, false, ret))
BOTH(join, join(vm, args, ret))
BOTH(replace, replace(vm, args, ret))
BOTH(ljust, pad_to(vm, args, 1, ret))
BOTH(rjust, pad_to(vm, args, -1, ret))
BOTH(lower, change_case(vm, args[0], false, ret))
BOTH(upper, change_case(vm, args[0], true, ret))

METHOD_OF(STR, rindex)
{
	FIXED;
	return find(vm, args, true, true, ret);
}

METHOD_OF(STR, rsplit)
{
	FIXED;
	return split(vm, args, true, ret);
}

METHOD_OF(STR, rpartition)
{
	FIXED;
	return partition(vm, args, true, ret);
}

METHOD_OF(STR, center)
{
	FIXED;
	return pad_to(vm, args, 0, ret);
}
