/* SPDX-License-Identifier: Apache-2.0
 *
 * How the protocol files write their tables.  The label has no default, so that
 * nobody forgets it.
 */
#ifndef SONDE_WIRE_TABLE_H
#define SONDE_WIRE_TABLE_H

#include "wire/fields.h"
#include "wire/wire.h"

/* [F_IP_TTL] = FIELD("ttl", 64, 8, UINT, CONTENT, "hops left", .dflt = 64) */
#define FIELD(nm, at, bits, knd, lab, text, ...)                                                    \
	{                                                                                           \
		.name = (nm), .bit = (at), .width = (bits), .kind = FK_##knd, .label = LABEL_##lab, \
		.doc = (text), __VA_ARGS__                                                          \
	}

/* OPTION("MSS", 2, 4, 1, "doc", .names = ..); END_OF_OPTIONS ends a table. */
#define OPTION(nm, knd, n, nargs, text, ...) \
	{ .name = (nm), .kind = (knd), .len = (n), .args = (nargs), .doc = (text), __VA_ARGS__ }
#define END_OF_OPTIONS { 0 }

/* Names that several tables share. */
extern const WireName wire_ethertype_names[];
extern const WireName wire_ipproto_names[];
extern const WireName wire_dns_type_names[];
extern const WireName wire_dns_class_names[];

/* The number in `width` bits of an image; byte-aligned fields go fast. */
static inline uint64_t wire_get(const uint8_t *image, const WireField *f)
{
	const uint8_t *p = image + f->bit / 8;

	if (f->bit % 8 == 0) {
		if (f->width == 16)
			return get_be16(p);
		if (f->width == 8)
			return *p;
		if (f->width == 32)
			return get_be32(p);
	}
	return bits_get(image, f->bit, f->width);
}

static inline void wire_put(uint8_t *image, const WireField *f, uint64_t v)
{
	uint8_t *p = image + f->bit / 8;

	if (f->bit % 8 == 0 && f->width == 16)
		put_be16(p, (uint16_t)v);
	else if (f->bit % 8 == 0 && f->width == 8)
		*p = (uint8_t)v;
	else if (f->bit % 8 == 0 && f->width == 32)
		put_be32(p, (uint32_t)v);
	else if (f->bit % 8 == 0 && f->width % 8 == 0)
		for (unsigned n = f->width / 8u; n-- > 0; v >>= 8)
			p[n] = (uint8_t)v;
	else
		bits_put(image, f->bit, f->width, v);
}

static inline uint64_t wire_all_set(const WireProto *p)
{
	return (UINT64_C(1) << p->nfields) - 1;
}

#endif
