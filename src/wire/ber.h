/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of BER (X.690) that SNMP uses: definite lengths, tags of one byte.
 * Reading takes any length form; writing uses the shortest.
 */
#ifndef SONDE_WIRE_BER_H
#define SONDE_WIRE_BER_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/str.h"

enum {
	BER_INTEGER = 2,
	BER_OCTETS = 4,
	BER_NULL = 5,
	BER_OID = 6,
	BER_SEQUENCE = 0x30,
	BER_IP = 0x40, /* RFC 2578 7.1 */
};

/* One element; false at the end and, with c->bad, where it is broken. */
bool ber_next(Cursor *c, uint8_t *ret_tag, Bytes *ret_data);
/* The element that must come next; empty, with c->bad, if it does not. */
Bytes ber_take(Cursor *c, uint8_t tag);
/* The same for an INTEGER of at most 32 bits. */
int32_t ber_take_int(Cursor *c);

/* Bytes of an element with n bytes of data. */
size_t ber_len(size_t n);
size_t ber_int_len(int64_t v);
/* Writes tag and length; the data go behind it. */
void ber_put_head(Writer *w, uint8_t tag, size_t n);
void ber_put_int(Writer *w, int64_t v);

/* "1.3.6.1.2.1.1.1.0"; false if the bytes are no object identifier. */
bool ber_oid_text(Bytes oid, Sb *out);
bool ber_oid_from_text(Str text, Arena *a, Bytes *ret_oid);

/* Of one element, tag included: its value as people write it, escaped; its type's
 * name; its number, if it is one that an int holds. */
void ber_value_text(Bytes element, Sb *out);
const char *ber_type_name(Bytes element);
bool ber_number(Bytes element, int64_t *ret);

#endif
