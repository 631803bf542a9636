/* SPDX-License-Identifier: Apache-2.0
 *
 * pack and unpack, as Python's struct module: byte order, sizes and, without an
 * order or with `@`, native alignment.
 */
#include "vm/py.h"

#include <math.h>

typedef struct Code {
	char c;
	uint8_t standard, native; /* bytes */
	bool is_signed;
} Code;

/* Native is x86-64 and arm64 Linux: LP64, little-endian. */
static const Code codes[] = {
	{ 'x', 1, 1, false }, { 'c', 1, 1, false }, { 'b', 1, 1, true },  { 'B', 1, 1, false }, { '?', 1, 1, false },
	{ 'h', 2, 2, true },  { 'H', 2, 2, false }, { 'i', 4, 4, true },  { 'I', 4, 4, false }, { 'l', 4, 8, true },
	{ 'L', 4, 8, false }, { 'q', 8, 8, true },  { 'Q', 8, 8, false }, { 'f', 4, 4, false }, { 'd', 8, 8, false },
	{ 's', 1, 1, false }, { 'p', 1, 1, false },
};

typedef struct Format {
	Vm *vm;
	Str s;
	size_t at;
	bool little, native, aligned;
} Format;

typedef struct Item {
	const Code *code;
	int64_t count; /* of s, p, x: bytes; else repetitions */
	size_t size;   /* of one */
} Item;

static Format format_begin(Vm *vm, Str s)
{
	Format f = { .vm = vm, .s = s, .little = true, .native = true, .aligned = true };

	if (s.n && strchr("<>!=@", s.p[0])) {
		f.native = f.aligned = s.p[0] == '@';
		f.little = s.p[0] == '<' || s.p[0] == '=' || s.p[0] == '@';
		f.at = 1;
	}
	return f;
}

/* False at the end, or on error. */
static bool format_next(Format *f, Item *ret)
{
	int64_t count = 0;
	bool counted = false;

	while (f->at < f->s.n && f->s.p[f->at] == ' ')
		f->at++;
	for (; f->at < f->s.n && f->s.p[f->at] >= '0' && f->s.p[f->at] <= '9'; f->at++) {
		count = count * 10 + (f->s.p[f->at] - '0');
		counted = true;
		if (count > LIMIT_ENGINE_MEMORY / 16)
			return vm_fail(f->vm, "E-VALUE", "a count that is too large");
	}
	if (f->at == f->s.n)
		return counted && vm_fail(f->vm, "E-VALUE", "a count without a letter behind it");
	char c = f->s.p[f->at++];

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		if (codes[i].c == c) {
			*ret = (Item){ &codes[i], counted ? count : 1,
				       f->native ? codes[i].native : codes[i].standard };
			return true;
		}
	}
	return vm_fail(f->vm, "E-VALUE", "`%c` is no letter of a struct format", c);
}

static size_t padding(const Format *f, const Item *i, size_t at)
{
	return f->aligned && i->size > 1 ? (i->size - at % i->size) % i->size : 0;
}

static bool takes_bytes(const Item *i)
{
	return i->code->c == 's' || i->code->c == 'p';
}

/* ---- pack ---- */

static bool put_float(Format *f, double v, size_t size, uint8_t *out)
{
	uint64_t bits;

	if (size == 4) {
		float narrow = (float)v;
		uint32_t b;

		if (isinf(narrow) && !isinf(v))
			return vm_fail(f->vm, "E-OVERFLOW", "the number does not fit a float of 4 bytes");
		memcpy(&b, &narrow, 4);
		bits = b;
	} else {
		memcpy(&bits, &v, 8);
	}
	for (size_t i = 0; i < size; i++)
		out[f->little ? i : size - 1 - i] = (uint8_t)(bits >> (8 * i));
	return true;
}

static bool pack_text(Format *f, const Item *i, Value v, Sbuf *b)
{
	size_t room = (size_t)i->count, at = b->n;

	if (!val_is_text(v))
		return vm_fail_type(f->vm, "bytes", v);
	if (i->code->c == 'p' && room) {
		size_t n = v.o->n < room - 1 ? v.o->n : room - 1;

		sbuf_char(b, (char)(n < 255 ? n : 255));
		sbuf_sub(b, val_str(v), 0, n);
	} else {
		sbuf_sub(b, val_str(v), 0, v.o->n < room ? v.o->n : room);
	}
	sbuf_fill(b, 0, room - (b->n - at));
	return true;
}

static bool pack_one(Format *f, const Item *i, Value v, Sbuf *b)
{
	uint8_t out[8];
	int64_t n;
	double d;

	if (i->code->c == 'c') {
		if (!val_is_text(v) || v.o->n != 1)
			return vm_fail(f->vm, "E-TYPE", "`c` takes bytes of length 1");
		sbuf_obj(b, val_str(v));
		return true;
	}
	size_t at = b->n;

	if (i->code->c == 'f' || i->code->c == 'd') {
		if (!vm_to_num(f->vm, v, &d) || !put_float(f, d, i->size, out))
			return false;
	} else if (i->code->c == '?') {
		out[0] = val_truth(v);
	} else {
		if (val_is_ip(v) && v.tag == VAL_IP4)
			v = val_int(v.i);
		if (!vm_to_int(f->vm, v, &n) ||
		    !put_int_bytes(f->vm, n, (int64_t)i->size, f->little, i->code->is_signed, out))
			return false;
	}
	sbuf_add(b, (Str){ (char *)out, i->size });
	if (v.vf & VF_PEER)
		sbuf_mark(b, at);
	return true;
}

static bool too_few(Vm *vm, uint32_t n)
{
	return vm_fail(vm, "E-VALUE", "the format asks for more than %u values", n);
}

BUILTIN(pack)
{
	const Value *p;
	uint32_t count, used = 0;
	Item item;
	Str fmt;
	Sbuf b = sbuf(vm);

	FIXED;
	if (!vm_to_str(vm, args[0], &fmt) || !rest_items(vm, args[1], &p, &count))
		return false;
	Format f = format_begin(vm, fmt);

	while (format_next(&f, &item)) {
		sbuf_fill(&b, 0, padding(&f, &item, b.n));
		if (item.code->c == 'x') {
			sbuf_fill(&b, 0, (size_t)item.count);
			continue;
		}
		if (takes_bytes(&item)) {
			if (used == count)
				return too_few(vm, count);
			if (!pack_text(&f, &item, p[used++], &b))
				return false;
			continue;
		}
		for (int64_t i = 0; i < item.count; i++) {
			if (used == count)
				return too_few(vm, count);
			if (!pack_one(&f, &item, p[used++], &b))
				return false;
		}
	}
	if (vm->err.set)
		return false;
	if (used < count)
		return vm_fail(vm, "E-VALUE", "the format takes %u values, got %u", used, count);
	vm_charge(vm, b.n);
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

/* ---- unpack ---- */

static double get_float(const Format *f, const uint8_t *p, size_t size)
{
	uint64_t bits = 0;
	double d;

	for (size_t i = 0; i < size; i++)
		bits |= (uint64_t)p[f->little ? i : size - 1 - i] << (8 * i);
	if (size == 4) {
		uint32_t b = (uint32_t)bits;
		float narrow;

		memcpy(&narrow, &b, 4);
		return (double)narrow;
	}
	memcpy(&d, &bits, 8);
	return d;
}

static bool unpack_one(Format *f, const Item *i, ObjStr *s, size_t at, Value *ret)
{
	const uint8_t *p = (const uint8_t *)s->p + at;
	int64_t v;

	switch (i->code->c) {
	case 'c':
		*ret = str_sub(f->vm, s, at, at + 1);
		return true;
	case 'f':
	case 'd':
		*ret = val_float(get_float(f, p, i->size));
		return true;
	case '?':
		*ret = val_bool(*p != 0);
		return true;
	default:
		if (!get_int_bytes(f->vm, BYTES(p, i->size), f->little, i->code->is_signed, &v))
			return false;
		*ret = val_int(v);
		ret->vf = s->n_marks && str_marked_at(s, at) ? VF_PEER : 0;
		return true;
	}
}

static bool unpack_item(Format *f, const Item *i, ObjStr *s, size_t *at, ObjList *out)
{
	size_t n = (size_t)i->count, bytes = n * i->size;
	Value v;

	*at += padding(f, i, *at);
	if (*at > s->h.n || bytes > s->h.n - *at)
		return vm_fail(f->vm, "E-VALUE", "the format takes more than the %u bytes there are", s->h.n);
	if (i->code->c == 'x') {
		*at += bytes;
		return true;
	}
	if (takes_bytes(i)) {
		size_t len = n ? (uint8_t)s->p[*at] : 0;

		len = i->code->c == 'p' ? (len < n ? len : n ? n - 1 : 0) : n;
		size_t from = *at + (i->code->c == 'p' && n);

		vm_push(f->vm, out, str_sub(f->vm, s, from, from + len));
		*at += bytes;
		return true;
	}
	for (size_t k = 0; k < n; k++, *at += i->size) {
		if (!unpack_one(f, i, s, *at, &v))
			return false;
		vm_push(f->vm, out, v);
	}
	return true;
}

BUILTIN(unpack)
{
	ObjList *out = vm_list(vm, 4);
	Bytes data;
	Item item;
	Str fmt;
	size_t at = 0;

	FIXED;
	if (!vm_to_str(vm, args[0], &fmt) || !vm_to_bytes(vm, args[1], &data))
		return false;
	Format f = format_begin(vm, fmt);

	while (format_next(&f, &item))
		if (!unpack_item(&f, &item, val_str(args[1]), &at, out))
			return false;
	if (vm->err.set)
		return false;
	if (at != data.n)
		return vm_fail(vm, "E-VALUE", "the format takes %zu bytes, there are %zu", at, data.n);
	vm_charge(vm, data.n);
	*ret = tuple_of(vm, out->p, out->h.n);
	return true;
}
