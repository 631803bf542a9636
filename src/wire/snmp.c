/* SPDX-License-Identifier: Apache-2.0
 *
 * SNMP, versions 1 and 2c (RFC 1157, RFC 1901, RFC 3416), in BER:
 *
 *   SEQUENCE {
 *     INTEGER version, OCTET STRING community,
 *     [PDU] {
 *       INTEGER id, INTEGER error, INTEGER error_index,    get-bulk: non_repeaters, max_repetitions
 *       SEQUENCE { varbindlist: SEQUENCE { OBJECT IDENTIFIER oid, value } ... }
 *     }
 *   }
 *
 * Numbers have no fixed place in it, so the image is one of our own:
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            version                            |
 * |                              id                               |
 * |                    error, non_repeaters                       |
 * |                 error_index, max_repetitions                  |
 * |      PDU      |
 * +-+-+-+-+-+-+-+-+
 */
#include "wire/ber.h"
#include "wire/build.h"
#include "wire/parse.h"

enum { IMAGE = 17, AT_PDU = 16, V_COMMUNITY = 0, V_VARBINDS = 1, VERSION_3 = 3 };

enum { FORM_STATUS = 1, FORM_BULK = 2 };

enum { PDU_GET = 0xa0, PDU_NEXT, PDU_RESPONSE, PDU_SET, PDU_TRAP_V1, PDU_BULK, PDU_INFORM, PDU_TRAP_V2, PDU_REPORT };

enum {
	F_VERSION, F_COMMUNITY, F_PDU, F_ID, F_ERROR, F_ERROR_INDEX, F_NON_REPEATERS, F_MAX_REPETITIONS,
	F_VARBINDLIST, F_N,
};

static const WireName versions[] = { { "v1", 0 }, { "v2c", 1 }, { "v2", 2 }, { "v3", 3 }, { NULL, 0 } };

static const WireName pdus[] = {
	{ "SNMPget", PDU_GET },	      { "SNMPnext", PDU_NEXT },	  { "SNMPresponse", PDU_RESPONSE },
	{ "SNMPset", PDU_SET },	      { "SNMPtrapv1", PDU_TRAP_V1 }, { "SNMPbulk", PDU_BULK },
	{ "SNMPinform", PDU_INFORM }, { "SNMPtrapv2", PDU_TRAP_V2 }, { "SNMPreport", PDU_REPORT },
	{ NULL, 0 },
};

static const WireName errors[] = {
	{ "no_error", 0 },	     { "too_big", 1 },	    { "no_such_name", 2 },  { "bad_value", 3 },
	{ "read_only", 4 },	     { "generic_error", 5 }, { "no_access", 6 },     { "wrong_type", 7 },
	{ "wrong_length", 8 },	     { "wrong_encoding", 9 }, { "wrong_value", 10 }, { "no_creation", 11 },
	{ "inconsistent_value", 12 }, { "resource_unavailable", 13 }, { "commit_failed", 14 },
	{ "undo_failed", 15 },	     { "authorization_error", 16 }, { "not_writable", 17 },
	{ "inconsistent_name", 18 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_VERSION] = FIELD("version", 0, 32, ENUM, CONTENT, "version", .dflt = 1, .names = versions),
	[F_COMMUNITY] = FIELD("community", 0, 0, BYTES, CONTENT, "who may read or write; \"public\" unless it is set", .computed = true),
	[F_PDU] = FIELD("PDU", 128, 8, ENUM, CONTENT, "what it is; all but get, next and bulk is more than reading",
			.dflt = PDU_GET, .names = pdus),
	[F_ID] = FIELD("id", 32, 32, SINT, CONTENT, "request; distinct for each", .computed = true, .distinct = true),
	[F_ERROR] = FIELD("error", 64, 32, ENUM, CONTENT, "error status", .names = errors, .when = FORM_STATUS),
	[F_ERROR_INDEX] = FIELD("error_index", 96, 32, SINT, CONTENT, "which variable, from 1", .when = FORM_STATUS),
	[F_NON_REPEATERS] = FIELD("non_repeaters", 64, 32, SINT, CONTENT, "variables asked for once",
				  .when = FORM_BULK),
	[F_MAX_REPETITIONS] = FIELD("max_repetitions", 96, 32, SINT, CONTENT, "how often the others are",
				    .when = FORM_BULK),
	[F_VARBINDLIST] = FIELD("varbindlist", 136, 0, RECORDS, CONTENT, "variables: SNMPvarbind",
				.record = WIRE_SNMPVARBIND),
};

static WireVariant variant(const uint8_t *image)
{
	return (WireVariant){ image[AT_PDU] == PDU_BULK ? FORM_BULK : FORM_STATUS, IMAGE };
}

/* ---- decoding ---- */

/* Each is whole and nothing is left over. */
static bool varbinds_ok(Bytes b)
{
	Cursor c = cursor(b);
	WireLayer l;

	while (wire_record_next(WIRE_SNMPVARBIND, &c, &l))
		;
	return !c.bad && cur_left(&c) == 0;
}

static bool read_pdu(WireParse *p, WireLayer *l, uint8_t *image, Bytes body)
{
	Cursor c = cursor(body);

	for (size_t at = 4; at <= 12; at += 4)
		put_be32(image + at, (uint32_t)ber_take_int(&c));
	l->var[V_VARBINDS] = ber_take(&c, BER_SEQUENCE);
	if (c.bad || cur_left(&c))
		return wire_fail(p, "SNMP: the PDU is broken");
	return varbinds_ok(l->var[V_VARBINDS]) || wire_fail(p, "SNMP: a variable is broken");
}

static bool read_message(WireParse *p, WireLayer *l, uint8_t *image, Bytes msg)
{
	Cursor c = cursor(msg);
	Bytes body = { 0 };
	int32_t version = ber_take_int(&c);

	put_be32(image, (uint32_t)version);
	if (!c.bad && version == VERSION_3)
		return wire_fail(p, "SNMP version 3 is not decoded");
	l->var[V_COMMUNITY] = ber_take(&c, BER_OCTETS);
	if (!ber_next(&c, &image[AT_PDU], &body) || cur_left(&c))
		return wire_fail(p, "SNMP: the message is broken");
	if (image[AT_PDU] < PDU_GET || image[AT_PDU] > PDU_REPORT)
		return wire_fail(p, "SNMP: PDU 0x%02x is unknown", image[AT_PDU]);
	if (image[AT_PDU] == PDU_TRAP_V1)
		return wire_fail(p, "SNMP: a trap of version 1 is not decoded");
	return read_pdu(p, l, image, body);
}

static bool parse(WireParse *p, WireLayer *l)
{
	Cursor c = cursor(BYTES(p->c.p + p->c.off, cur_left(&p->c)));
	uint8_t *image = arena_alloc(p->a, IMAGE);
	Bytes msg = ber_take(&c, BER_SEQUENCE);

	if (c.bad)
		return wire_fail(p, "SNMP: no whole message in %zu bytes", cur_left(&p->c));
	if (!read_message(p, l, image, msg))
		return false;
	wire_take_apart(p, l, c.off, image);
	if (cur_left(&c))
		wire_note(p, "SNMP message is followed by %zu bytes", cur_left(&c));
	return true;
}

/* ---- encoding ---- */

typedef struct Sizes {
	size_t pdu, message;
} Sizes;

static Bytes community(const WireLayer *l)
{
	return wire_is_set(l, F_COMMUNITY) ? l->var[V_COMMUNITY] : BYTES("public", 6);
}

static int32_t number(const WireLayer *l, size_t at)
{
	return (int32_t)get_be32(l->image + at);
}

static Sizes sizes(const WireLayer *l)
{
	Sizes s = { .pdu = ber_len(l->var[V_VARBINDS].n) };

	for (size_t at = 4; at <= 12; at += 4)
		s.pdu += ber_int_len(number(l, at));
	s.message = ber_int_len(number(l, 0)) + ber_len(community(l).n) + ber_len(s.pdu);
	return s;
}

static uint32_t measure(const WireLayer *l)
{
	return (uint32_t)ber_len(sizes(l).message);
}

static void encode(const WireLayer *l, Writer *w)
{
	Sizes s = sizes(l);

	ber_put_head(w, BER_SEQUENCE, s.message);
	ber_put_int(w, number(l, 0));
	ber_put_head(w, BER_OCTETS, community(l).n);
	wr_bytes(w, community(l));
	ber_put_head(w, l->image[AT_PDU], s.pdu);
	for (size_t at = 4; at <= 12; at += 4)
		ber_put_int(w, number(l, at));
	ber_put_head(w, BER_SEQUENCE, l->var[V_VARBINDS].n);
	wr_bytes(w, l->var[V_VARBINDS]);
}

static void summary(const WireLayer *l, Sb *out)
{
	Cursor c = cursor(l->var[V_VARBINDS]);
	WireLayer v;

	sb_char(out, ' ');
	wire_field_text(l, F_PDU, out);
	if (wire_has(l, F_ERROR) && wire_num(l, F_ERROR)) {
		sb_char(out, ' ');
		wire_field_text(l, F_ERROR, out);
	}
	if (wire_record_next(WIRE_SNMPVARBIND, &c, &v)) {
		sb_char(out, ' ');
		wire_record_text(&v, out);
	}
}

const WireProto wire_proto_SNMP = {
	.id = WIRE_SNMP,
	.name = "SNMP",
	.title = "Simple Network Management Protocol",
	.rfc = "RFC 3416",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.nvars = 2,
	.var = { F_COMMUNITY, F_VARBINDLIST },
	.fixed = IMAGE,
	.apart = true,
	.rewritten = true,
	.variant = variant,
	.parse = parse,
	.measure = measure,
	.encode = encode,
	.summary = summary,
};

/* ---- variables ---- */

enum { B_OID, B_VALUE, B_N };

static const WireField varbind_fields[] = {
	[B_OID] = FIELD("oid", 0, 0, OID, CONTENT, "object identifier", .required = true),
	[B_VALUE] = FIELD("value", 0, 0, BER, CONTENT, "its value; none: NULL"),
};

static bool next_varbind(Cursor *c, WireLayer *l)
{
	Cursor in = cursor(ber_take(c, BER_SEQUENCE));

	if (c->bad)
		return false;
	l->var[B_OID] = ber_take(&in, BER_OID);
	size_t from = in.off;
	uint8_t tag;
	Bytes data;

	if (in.bad || !ber_next(&in, &tag, &data) || cur_left(&in)) {
		c->bad = true;
		return false;
	}
	l->var[B_VALUE] = BYTES(in.p + from, in.n - from);
	return true;
}

static Bytes value_of(const WireLayer *l)
{
	static const uint8_t null[2] = { BER_NULL, 0 };

	return l->var[B_VALUE].n ? l->var[B_VALUE] : BYTES(null, sizeof null);
}

static uint32_t measure_varbind(const WireLayer *l)
{
	return (uint32_t)ber_len(ber_len(l->var[B_OID].n) + value_of(l).n);
}

static void encode_varbind(const WireLayer *l, Writer *w)
{
	Bytes value = value_of(l);

	ber_put_head(w, BER_SEQUENCE, ber_len(l->var[B_OID].n) + value.n);
	ber_put_head(w, BER_OID, l->var[B_OID].n);
	wr_bytes(w, l->var[B_OID]);
	wr_bytes(w, value);
}

static void summary_varbind(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, B_OID, out);
	if (l->var[B_VALUE].n) {
		sb_cstr(out, " = ");
		wire_field_text(l, B_VALUE, out);
	}
}

const WireProto wire_proto_SNMPVARBIND = {
	.id = WIRE_SNMPVARBIND,
	.name = "SNMPvarbind",
	.title = "SNMP variable",
	.rfc = "RFC 3416",
	.role = ROLE_RECORD,
	.fields = varbind_fields,
	.nfields = B_N,
	.nvars = 2,
	.var = { B_OID, B_VALUE },
	.rewritten = true,
	.parse = wire_record_parse,
	.next = next_varbind,
	.measure = measure_varbind,
	.encode = encode_varbind,
	.summary = summary_varbind,
};
