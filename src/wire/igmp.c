/* SPDX-License-Identifier: Apache-2.0
 *
 * IGMP (versions 1 and 2 RFC 2236; version 3 RFC 3376)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     type      |    mrcode     |            chksum             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             gaddr                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * Version 3 is, as in Scapy, a header of the first word (IGMPv3), behind it a query
 * (IGMPv3mq: gaddr, resv, s, qrv, qqic, numsrc, srcaddrs) or a report (IGMPv3mr:
 * res2, numgrp, records).
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, HDR_V3 = 4, QUERY = 8, QUERY_V3_LEAST = 12, REPORT = 4, RECORD = 8 };

enum { TYPE_QUERY = 0x11, TYPE_REPORT_V3 = 0x22 };

enum { F_TYPE, F_MRCODE, F_CHKSUM, F_GADDR, F_N };

static const WireName types[] = {
	{ "query", TYPE_QUERY },     { "report-v1", 0x12 },	     { "report-v2", 0x16 }, { "leave", 0x17 },
	{ "report-v3", TYPE_REPORT_V3 }, { "router-advertisement", 0x30 }, { "router-solicitation", 0x31 },
	{ "router-termination", 0x32 }, { NULL, 0 },
};

#define HEAD(type_default)                                                                                \
	FIELD("type", 0, 8, ENUM, CONTENT, "type of message", .computed = true, .dflt = (type_default),  \
	      .names = types),                                                                            \
		FIELD("mrcode", 8, 8, UINT, CONTENT, "the longest wait for an answer, 0.1 s", .dflt = 20), \
		FIELD("chksum", 16, 16, UINT, CONTENT, "checksum of all", .computed = true, .follows = true)

static const WireField fields[] = {
	HEAD(TYPE_QUERY),
	FIELD("gaddr", 32, 32, IP4, CONTENT, "the group; 0.0.0.0 in a general query"),
};

static const WireField v3_fields[] = { HEAD(TYPE_QUERY) };

enum { Q_GADDR, Q_RESV, Q_S, Q_QRV, Q_QQIC, Q_NUMSRC, Q_SRCADDRS, Q_N };

static const WireField query_fields[] = {
	[Q_GADDR] = FIELD("gaddr", 0, 32, IP4, CONTENT, "the group; 0.0.0.0 in a general query"),
	[Q_RESV] = FIELD("resv", 32, 4, UINT, CONTENT, "reserved"),
	[Q_S] = FIELD("s", 36, 1, UINT, CONTENT, "1: routers keep their timers"),
	[Q_QRV] = FIELD("qrv", 37, 3, UINT, CONTENT, "the querier's robustness"),
	[Q_QQIC] = FIELD("qqic", 40, 8, UINT, CONTENT, "the querier's interval"),
	[Q_NUMSRC] = FIELD("numsrc", 48, 16, UINT, CONTENT, "number of srcaddrs", .computed = true, .follows = true),
	[Q_SRCADDRS] = FIELD("srcaddrs", 64, 0, BYTES, CONTENT, "sources, 4 bytes each"),
};

enum { R_RES2, R_NUMGRP, R_RECORDS, R_N };

static const WireField report_fields[] = {
	[R_RES2] = FIELD("res2", 0, 16, UINT, CONTENT, "reserved"),
	[R_NUMGRP] = FIELD("numgrp", 16, 16, UINT, CONTENT, "number of records", .computed = true, .follows = true),
	[R_RECORDS] = FIELD("records", 32, 0, BYTES, CONTENT,
			    "group records: type, words of data, number of sources, group, sources, data"),
};

static bool take_v2(WireParse *p, WireLayer *l, uint8_t type)
{
	if (!wire_take(p, l, HDR))
		return false;
	if (type != TYPE_QUERY && type != 0x12 && type != 0x16 && type != 0x17)
		wire_note(p, "IGMP type 0x%02x is not decoded", type);
	return true;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	/* RFC 3376 7.1: the length tells the versions of a query apart */
	if (h[0] < TYPE_REPORT_V3 && !(h[0] == TYPE_QUERY && cur_left(&p->c) >= QUERY_V3_LEAST))
		return take_v2(p, l, h[0]);
	l->proto = wire_proto(WIRE_IGMPV3);
	return l->proto->parse(p, l);
}

static bool parse_v3(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR_V3);

	if (!h || !wire_take(p, l, HDR_V3))
		return false;
	if (h[0] == TYPE_QUERY || h[0] == TYPE_REPORT_V3)
		p->next = h[0] == TYPE_QUERY ? WIRE_IGMPV3MQ : WIRE_IGMPV3MR;
	else if (cur_left(&p->c))
		wire_note(p, "IGMP type 0x%02x is not decoded", h[0]);
	return true;
}

static bool parse_query(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, QUERY);

	if (!h)
		return false;
	size_t n = QUERY + get_be16(h + 6) * 4u;

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, QUERY, n);
	return true;
}

/* Bytes of `count` records; what runs past the end is no record. */
static size_t records_len(WireParse *p, Bytes b, unsigned count)
{
	Cursor c = cursor(b);

	for (unsigned i = 0; i < count; i++) {
		size_t from = c.off;

		cur_skip(&c, 1);
		size_t data = cur_u8(&c) * 4u, sources = cur_be16(&c) * 4u;

		cur_skip(&c, 4 + sources + data);
		if (c.bad) {
			wire_note(p, "IGMP group record %u of %u runs past the end", i + 1, count);
			return from;
		}
	}
	return c.off;
}

static bool parse_report(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, REPORT);

	if (!h || !wire_whole(p, l, REPORT))
		return false;
	Bytes rest = bytes_slice(BYTES(h, cur_left(&p->c)), REPORT, cur_left(&p->c));
	size_t n = REPORT + records_len(p, rest, get_be16(h + 2));

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, REPORT, n);
	return true;
}

/* RFC 3376 4.1.2 */
static void finish(WireBuild *b, unsigned at)
{
	if (wire_inner(b, at) == WIRE_IGMPV3MR)
		wire_derive(b, at, F_TYPE, TYPE_REPORT_V3);
	if (wire_is_set(&b->out->layer[at], F_CHKSUM))
		return;
	wire_derive(b, at, F_CHKSUM, 0);
	wire_derive(b, at, F_CHKSUM, wire_csum_fold(wire_csum(0, wire_from(b, at))));
}

static WireCsum check(const WirePacket *p, unsigned at, Bytes covered)
{
	(void)p;
	(void)at;
	return wire_csum_fold(wire_csum(0, covered)) == 0 ? CSUM_GOOD : CSUM_BAD;
}

static void finish_query(WireBuild *b, unsigned at)
{
	wire_derive_len(b, at, Q_NUMSRC, b->out->layer[at].var[0].n / 4, "sources");
}

static void finish_report(WireBuild *b, unsigned at)
{
	Cursor c = cursor(b->out->layer[at].var[0]);
	size_t n = 0;

	for (; cur_left(&c) >= RECORD && !c.bad; n++) {
		cur_skip(&c, 1);
		size_t data = cur_u8(&c) * 4u, sources = cur_be16(&c) * 4u;

		cur_skip(&c, 4 + sources + data);
	}
	wire_derive_len(b, at, R_NUMGRP, n, "records");
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_TYPE, out);
	if (l->proto->id == WIRE_IGMP) {
		sb_char(out, ' ');
		wire_field_text(l, F_GADDR, out);
	}
}

const WireProto wire_proto_IGMP = {
	.id = WIRE_IGMP,
	.name = "IGMP",
	.title = "Internet Group Management Protocol",
	.rfc = "RFC 2236",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.check = check,
	.summary = summary,
};

const WireProto wire_proto_IGMPV3 = {
	.id = WIRE_IGMPV3,
	.name = "IGMPv3",
	.title = "Internet Group Management Protocol version 3",
	.rfc = "RFC 3376",
	.role = ROLE_TRANSPORT,
	.fields = v3_fields,
	.nfields = F_CHKSUM + 1,
	.fixed = HDR_V3,
	.parse = parse_v3,
	.finish = finish,
	.check = check,
	.summary = summary,
};

const WireProto wire_proto_IGMPV3MQ = {
	.id = WIRE_IGMPV3MQ,
	.name = "IGMPv3mq",
	.title = "IGMPv3 membership query",
	.rfc = "RFC 3376",
	.role = ROLE_APP,
	.fields = query_fields,
	.nfields = Q_N,
	.nvars = 1,
	.var = { Q_SRCADDRS },
	.fixed = QUERY,
	.parse = parse_query,
	.finish = finish_query,
};

const WireProto wire_proto_IGMPV3MR = {
	.id = WIRE_IGMPV3MR,
	.name = "IGMPv3mr",
	.title = "IGMPv3 membership report",
	.rfc = "RFC 3376",
	.role = ROLE_APP,
	.fields = report_fields,
	.nfields = R_N,
	.nvars = 1,
	.var = { R_RECORDS },
	.fixed = REPORT,
	.parse = parse_report,
	.finish = finish_report,
};
