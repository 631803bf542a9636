/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: values in and out of their images, by the protocol's table.
 */
#include "wire/table.h"

#include "base/units.h"

_Static_assert(WIRE_FIELDS < 64, "the set mask is 64 bits");

/* Which var[] a variable field is, or -1. */
static int var_index(const WireProto *p, unsigned field)
{
	for (unsigned i = 0; i < p->nvars; i++)
		if (p->var[i] == field)
			return (int)i;
	return -1;
}

void wire_layer_init(WireLayer *l, const WireProto *p, Arena *a)
{
	*l = (WireLayer){ .proto = p, .image = arena_alloc(a, p->fixed), .len = p->fixed };

	for (unsigned i = 0; i < p->nfields; i++)
		if (p->fields[i].dflt)
			wire_put(l->image, &p->fields[i], p->fields[i].dflt);
}

void wire_layer_copy(WireLayer *ret, const WireLayer *l, Arena *a)
{
	*ret = *l;
	ret->image = arena_copy(a, l->image, l->proto->fixed);
}

bool wire_has(const WireLayer *l, unsigned field)
{
	const WireProto *p = l->proto;
	uint32_t when = p->fields[field].when;

	return !when || !p->variant || (when & p->variant(l->image).bit);
}

/* -1 is all ones in any width. */
static bool fits(const WireField *f, uint64_t v)
{
	if (f->kind != FK_SINT)
		return v >> f->width == 0 || f->kind == FK_SERIAL;
	int64_t i = (int64_t)v, edge = INT64_C(1) << (f->width - 1);

	return i >= -edge && i < edge;
}

bool wire_set_num(WireLayer *l, unsigned field, uint64_t v)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width == 0 || f->width > 64 || f->kind == FK_BYTES)
		return false;
	if (f->width < 64) {
		if (!fits(f, v))
			return false;
		v &= (UINT64_C(1) << f->width) - 1;
	}
	wire_put(l->image, f, v);
	l->set |= UINT64_C(1) << field;
	return true;
}

bool wire_set_bytes(WireLayer *l, unsigned field, Bytes b)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width) {
		size_t n = f->width / 8;

		if (f->kind == FK_IP6 ? b.n != n : f->kind != FK_BYTES || b.n > n)
			return false;
		memset(l->image + f->bit / 8, 0, n);
		if (b.n)
			memcpy(l->image + f->bit / 8, b.p, b.n);
	} else {
		l->var[var_index(l->proto, field)] = b;
	}
	l->set |= UINT64_C(1) << field;
	return true;
}

void wire_unset(WireLayer *l, unsigned field)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width == 0)
		l->var[var_index(l->proto, field)] = (Bytes){ 0 };
	else if (!wire_has(l, field)) /* its place is another's */
		;
	else if (f->width > 64 || f->kind == FK_BYTES)
		memset(l->image + f->bit / 8, 0, f->width / 8);
	else
		wire_put(l->image, f, f->dflt);
	l->set &= ~(UINT64_C(1) << field);
}

void wire_rederive(WireLayer *l)
{
	for (unsigned i = 0; i < l->proto->nfields; i++)
		if (l->proto->fields[i].follows)
			wire_unset(l, i);
}

uint64_t wire_num(const WireLayer *l, unsigned field)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width == 0 || f->width > 64)
		return 0;
	uint64_t v = wire_get(l->image, f);

	if (f->kind == FK_SINT && f->width < 64 && v >> (f->width - 1))
		v |= UINT64_MAX << f->width;
	return v;
}

/* RFC 5905 6: seconds since 1900 and 2^-32 parts; era 1 begins in 2036. */
enum { STAMP_EPOCH_DAYS = 70 * 365 + 17 };

#define STAMP_EPOCH (INT64_C(86400) * STAMP_EPOCH_DAYS)
#define STAMP_ERA   (INT64_C(1) << 32)

int64_t wire_stamp_ns(uint64_t stamp)
{
	int64_t s = (int64_t)(stamp >> 32) - STAMP_EPOCH;

	if (!stamp)
		return NS_NONE;
	if (!(stamp >> 63)) /* RFC 4330 3 */
		s += STAMP_ERA;
	return s * NS_PER_S + (int64_t)(((stamp & UINT32_MAX) * NS_PER_S) >> 32);
}

bool wire_stamp_from_ns(int64_t ns, uint64_t *ret_stamp)
{
	int64_t s = ns / NS_PER_S - (ns % NS_PER_S < 0), sub = ns - s * NS_PER_S;

	*ret_stamp = 0;
	if (ns == NS_NONE)
		return true;
	s += STAMP_EPOCH;
	if (s < STAMP_ERA / 2 || s >= STAMP_ERA / 2 * 3)
		return false;
	/* rounded up, so that it reads back as it was */
	*ret_stamp = (uint64_t)s << 32 | (((uint64_t)sub << 32) + NS_PER_S - 1) / NS_PER_S;
	return true;
}

Bytes wire_bytes(const WireLayer *l, unsigned field)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width)
		return BYTES(l->image + f->bit / 8, f->width / 8);
	return l->var[var_index(l->proto, field)];
}

const WireLayer *wire_find(const WirePacket *p, WireId id)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->layer[i].proto->id == id)
			return &p->layer[i];
	return NULL;
}
