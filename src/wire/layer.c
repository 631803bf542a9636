/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: values in and out of their images, by the protocol's table.
 */
#include "wire/table.h"

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

bool wire_set_num(WireLayer *l, unsigned field, uint64_t v)
{
	const WireField *f = &l->proto->fields[field];

	if (f->width == 0 || f->width > 64)
		return false;
	if (f->width < 64 && v >> f->width) {
		if (f->kind != FK_SERIAL)
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
		if (f->kind != FK_IP6 || b.n != 16)
			return false;
		memcpy(l->image + f->bit / 8, b.p, 16);
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
	else if (f->width > 64)
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

	return f->width == 0 || f->width > 64 ? 0 : wire_get(l->image, f);
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
