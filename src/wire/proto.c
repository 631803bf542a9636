/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry: protocols, fields and values by name.
 */
#include "wire/table.h"

#define PROTO(id, file) extern const WireProto wire_proto_##id;
#include "wire/protos.def"

static const WireProto *const protos[WIRE_N] = {
#define PROTO(id, file) [WIRE_##id] = &wire_proto_##id,
#include "wire/protos.def"
};

const WireProto *wire_proto(WireId id)
{
	return (unsigned)id < WIRE_N ? protos[id] : NULL;
}

const WireProto *wire_proto_by_name(Str name)
{
	for (unsigned i = 0; i < WIRE_N; i++)
		if (str_is(name, protos[i]->name))
			return protos[i];
	return NULL;
}

int wire_field(const WireProto *p, Str name)
{
	for (unsigned i = 0; i < p->nfields; i++)
		if (str_is(name, p->fields[i].name))
			return (int)i;
	return -1;
}

const char *wire_value_name(const WireField *f, uint64_t value)
{
	for (const WireName *n = f->names; n && n->name; n++)
		if (n->value == value)
			return n->name;
	return NULL;
}

/* Whether flags are written side by side ("SA") or joined ("MF+DF"). */
static bool flags_are_letters(const WireField *f)
{
	for (const WireName *n = f->names; n && n->name; n++)
		if (n->name[0] && n->name[1])
			return false;
	return true;
}

static bool one_name(const WireField *f, Str name, uint64_t *ret_value)
{
	for (const WireName *n = f->names; n && n->name; n++) {
		if (str_is(name, n->name)) {
			*ret_value = n->value;
			return true;
		}
	}
	return false;
}

bool wire_name_value(const WireField *f, Str name, uint64_t *ret_value)
{
	if (f->kind != FK_FLAGS)
		return one_name(f, name, ret_value);

	bool letters = flags_are_letters(f);
	uint64_t all = 0, bit = 0;

	for (size_t at = 0; at < name.n;) {
		size_t end = at + 1;

		while (!letters && end < name.n && name.p[end] != '+')
			end++;
		if (!one_name(f, (Str){ name.p + at, end - at }, &bit))
			return false;
		all |= bit;
		if (!letters && end + 1 == name.n) /* "MF+" */
			return false;
		at = letters ? end : end + 1;
	}
	*ret_value = all;
	return true;
}

void wire_flags_text(const WireField *f, uint64_t value, Sb *out)
{
	bool letters = flags_are_letters(f), first = true;

	for (const WireName *n = f->names; n && n->name; n++) {
		if (!(value & n->value))
			continue;
		if (!letters && !first)
			sb_char(out, '+');
		sb_cstr(out, n->name);
		first = false;
	}
}
