/* SPDX-License-Identifier: Apache-2.0
 *
 * str and bytes, and the one builder that makes them.  Everything that yields
 * text goes through Sbuf, so that the marks of peers' text (guardrails.md 7)
 * can't be lost on the way.
 */
#include "vm/inside.h"

#include <stdio.h>

Sbuf sbuf(Vm *vm)
{
	return (Sbuf){ .vm = vm };
}

static char *sbuf_room(Sbuf *b, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = b->cap ? b->cap : 48;

		while (cap - b->n < n)
			cap *= 2;
		b->p = heap_grow(&b->vm->heap, b->p, b->cap, cap);
		b->cap = cap;
	}
	return b->p + b->n;
}

void sbuf_add(Sbuf *b, Str s)
{
	if (!s.n)
		return;
	memcpy(sbuf_room(b, s.n), s.p, s.n);
	b->n += s.n;
}

void sbuf_cstr(Sbuf *b, const char *z)
{
	sbuf_add(b, str_c(z));
}

void sbuf_char(Sbuf *b, char c)
{
	*sbuf_room(b, 1) = c;
	b->n++;
}

void sbuf_fill(Sbuf *b, char c, size_t n)
{
	if (n)
		memset(sbuf_room(b, n), c, n);
	b->n += n;
}

void sbuf_cp(Sbuf *b, uint32_t cp)
{
	char out[4];

	sbuf_add(b, (Str){ out, utf8_encode(cp, out) });
}

void sbuf_printf(Sbuf *b, const char *fmt, ...)
{
	char out[400];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(out, sizeof out, fmt, ap);
	va_end(ap);
	if (n > 0)
		sbuf_add(b, (Str){ out, (size_t)n < sizeof out ? (size_t)n : sizeof out - 1 });
}

/* Adds [from, to) to the marks; neighbours become one. */
static void mark_add(Sbuf *b, size_t from, size_t to)
{
	if (from >= to)
		return;
	if (b->n_marks && b->marks[b->n_marks - 1].to >= from) {
		if (b->marks[b->n_marks - 1].to < to)
			b->marks[b->n_marks - 1].to = (uint32_t)to;
		return;
	}
	if (b->n_marks == b->cap_marks) {
		uint32_t cap = b->cap_marks ? b->cap_marks * 2 : 4;

		b->marks = heap_grow(&b->vm->heap, b->marks, b->cap_marks * sizeof(Mark), cap * sizeof(Mark));
		b->cap_marks = cap;
	}
	b->marks[b->n_marks++] = (Mark){ (uint32_t)from, (uint32_t)to };
}

void sbuf_mark(Sbuf *b, size_t from)
{
	mark_add(b, from, b->n);
}

void sbuf_sub(Sbuf *b, const ObjStr *s, size_t from, size_t to)
{
	size_t at = b->n;

	if (from >= to)
		return;
	sbuf_add(b, (Str){ s->p + from, to - from });
	for (uint32_t i = 0; i < s->n_marks; i++) {
		size_t lo = s->marks[i].from > from ? s->marks[i].from : from;
		size_t hi = s->marks[i].to < to ? s->marks[i].to : to;

		if (lo < hi)
			mark_add(b, at + lo - from, at + hi - from);
	}
}

void sbuf_obj(Sbuf *b, const ObjStr *s)
{
	sbuf_sub(b, s, 0, s->h.n);
}

void sbuf_drop(Sbuf *b)
{
	heap_free(&b->vm->heap, b->p, b->cap);
	heap_free(&b->vm->heap, b->marks, b->cap_marks * sizeof(Mark));
	*b = sbuf(b->vm);
}

/* UTF-8: bytes that do not continue a character. */
static uint32_t count_cp(const char *p, size_t n)
{
	uint32_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += ((uint8_t)p[i] & 0xc0) != 0x80;
	return c;
}

ObjStr *str_make(Vm *vm, ValTag tag, Str s)
{
	vm_charge(vm, s.n / 64);
	ObjStr *o = (ObjStr *)heap_obj(&vm->heap, tag, sizeof(ObjStr) + s.n + 1);

	o->h.n = (uint32_t)s.n;
	if (s.n)
		memcpy(o->p, s.p, s.n);
	o->n_cp = tag == VAL_STR ? count_cp(s.p, s.n) : (uint32_t)s.n;
	return o;
}

Value sbuf_done(Sbuf *b, ValTag tag)
{
	ObjStr *o = str_make(b->vm, tag, (Str){ b->p, b->n });

	if (b->n_marks) {
		o->marks = heap_block(&b->vm->heap, b->n_marks * sizeof(Mark));
		memcpy(o->marks, b->marks, b->n_marks * sizeof(Mark));
		o->n_marks = b->n_marks;
	}
	sbuf_drop(b);
	return val_of(o);
}

Value str_sub(Vm *vm, ObjStr *s, size_t from, size_t to)
{
	if (from == 0 && to >= s->h.n)
		return val_of(s);
	if (from > to)
		to = from;
	if (!s->n_marks)
		return val_of(str_make(vm, s->h.tag, (Str){ s->p + from, to - from }));
	Sbuf b = sbuf(vm);

	sbuf_sub(&b, s, from, to);
	return sbuf_done(&b, s->h.tag);
}

bool str_marked(const ObjStr *s)
{
	return s->n_marks != 0;
}

bool str_marked_at(const ObjStr *s, size_t at)
{
	for (uint32_t i = 0; i < s->n_marks && s->marks[i].from <= at; i++)
		if (at < s->marks[i].to)
			return true;
	return false;
}

size_t str_offset(const ObjStr *s, size_t cp)
{
	if (str_ascii(s))
		return cp < s->h.n ? cp : s->h.n;
	for (size_t i = 0; i < s->h.n; i++)
		if (((uint8_t)s->p[i] & 0xc0) != 0x80 && cp-- == 0)
			return i;
	return s->h.n;
}

size_t str_cp_at(const ObjStr *s, size_t offset)
{
	return str_ascii(s) ? offset : count_cp(s->p, offset);
}

/* ---- for hosts ---- */

Value vm_str(Vm *vm, Str s)
{
	size_t bad = 0;
	uint32_t cp;

	for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
		n = (uint8_t)s.p[i] < 0x80 ? 1 : utf8_decode((Str){ s.p + i, s.n - i }, &cp);
		bad += n == 0;
	}
	if (!bad)
		return val_of(str_make(vm, VAL_STR, s));
	Sbuf b = sbuf(vm);

	for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
		n = utf8_decode((Str){ s.p + i, s.n - i }, &cp);
		sbuf_cp(&b, n ? cp : 0xfffd);
	}
	return sbuf_done(&b, VAL_STR);
}

static Value mark_all(Vm *vm, Value v)
{
	ObjStr *s = val_str(v);

	if (s->h.n) {
		s->marks = heap_block(&vm->heap, sizeof(Mark));
		s->marks[0] = (Mark){ 0, s->h.n };
		s->n_marks = 1;
	}
	return v;
}

Value vm_str_peer(Vm *vm, Str s)
{
	return mark_all(vm, vm_str(vm, s));
}

Value vm_bytes(Vm *vm, Bytes b)
{
	return val_of(str_make(vm, VAL_BYTES, bytes_str(b)));
}

Value vm_bytes_peer(Vm *vm, Bytes b)
{
	return mark_all(vm, vm_bytes(vm, b));
}
