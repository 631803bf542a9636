/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP (RFC 792; RFC 950, 1191, 1256; extensions of errors RFC 4884).  The third
 * word and what is behind it depend on the type:
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     type      |     code      |            chksum             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              id               |              seq              | 0 8 13..18
 * | reserved      |    length     |          nexthopmtu           | 3
 * | reserved      |    length     |            unused             | 11
 * |      ptr      |    length     |            unused             | 12
 * |                              gw                               | 5
 * |                            unused                             | others
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                    ts_ori (13 14), addr_mask (17 18)          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        ts_rx (13 14)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        ts_tx (13 14)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, HDR_TIMESTAMP = 20, HDR_MASK = 12 };

/* The forms of the header. */
enum {
	FORM_OTHER = 1,
	FORM_ECHO = 2,
	FORM_UNREACH = 4,
	FORM_EXCEEDED = 8,
	FORM_PARAM = 16,
	FORM_REDIRECT = 32,
	FORM_TIMESTAMP = 64,
	FORM_MASK = 128,
};

static const WireVariant form_other = { FORM_OTHER, HDR };

static const WireVariant forms[] = {
	[0] = { FORM_ECHO, HDR },
	[3] = { FORM_UNREACH, HDR },
	[5] = { FORM_REDIRECT, HDR },
	[8] = { FORM_ECHO, HDR },
	[11] = { FORM_EXCEEDED, HDR },
	[12] = { FORM_PARAM, HDR },
	[13] = { FORM_TIMESTAMP, HDR_TIMESTAMP },
	[14] = { FORM_TIMESTAMP, HDR_TIMESTAMP },
	[15] = { FORM_ECHO, HDR },
	[16] = { FORM_ECHO, HDR },
	[17] = { FORM_MASK, HDR_MASK },
	[18] = { FORM_MASK, HDR_MASK },
};

/* IANA "ICMP Type Numbers" */
static const WireName types[] = {
	{ "echo-reply", 0 },
	{ "dest-unreach", 3 },
	{ "source-quench", 4 },
	{ "redirect", 5 },
	{ "echo-request", 8 },
	{ "router-advertisement", 9 },
	{ "router-solicitation", 10 },
	{ "time-exceeded", 11 },
	{ "parameter-problem", 12 },
	{ "timestamp-request", 13 },
	{ "timestamp-reply", 14 },
	{ "information-request", 15 },
	{ "information-response", 16 },
	{ "address-mask-request", 17 },
	{ "address-mask-reply", 18 },
	{ "traceroute", 30 },
	{ "photuris", 40 },
	{ "extended-echo-request", 42 },
	{ "extended-echo-reply", 43 },
	{ NULL, 0 },
};

static const WireField fields[] = {
	[F_ICMP_TYPE] = FIELD("type", 0, 8, ENUM, CONTENT, "type of message", .dflt = 8, .names = types),
	[F_ICMP_CODE] = FIELD("code", 8, 8, UINT, CONTENT, "kind within the type"),
	[F_ICMP_CHKSUM] = FIELD("chksum", 16, 16, UINT, CONTENT, "checksum of header and data",
				.computed = true, .follows = true),
	[F_ICMP_ID] =
		FIELD("id", 32, 16, UINT, MATCHED, "identifier of echo and its kin; distinct for each run",
		      .computed = true, .when = FORM_ECHO | FORM_TIMESTAMP | FORM_MASK),
	[F_ICMP_SEQ] = FIELD("seq", 48, 16, UINT, MATCHED, "sequence number of echo; distinct for each probe",
			     .computed = true, .when = FORM_ECHO | FORM_TIMESTAMP | FORM_MASK),
	[F_ICMP_TS_ORI] = FIELD("ts_ori", 64, 32, UINT, CONTENT, "originate time, ms since midnight UTC",
				.when = FORM_TIMESTAMP),
	[F_ICMP_TS_RX] = FIELD("ts_rx", 96, 32, UINT, CONTENT, "receive time, ms since midnight UTC",
			       .when = FORM_TIMESTAMP),
	[F_ICMP_TS_TX] = FIELD("ts_tx", 128, 32, UINT, CONTENT, "transmit time, ms since midnight UTC",
			       .when = FORM_TIMESTAMP),
	[F_ICMP_GW] = FIELD("gw", 32, 32, IP4, CONTENT, "the router to use instead", .when = FORM_REDIRECT),
	[F_ICMP_PTR] =
		FIELD("ptr", 32, 8, UINT, CONTENT, "offset of the byte that is wrong", .when = FORM_PARAM),
	[F_ICMP_RESERVED] =
		FIELD("reserved", 32, 8, UINT, CONTENT, "reserved", .when = FORM_UNREACH | FORM_EXCEEDED),
	[F_ICMP_LENGTH] = FIELD("length", 40, 8, UINT, CONTENT,
				"length of the quote in units of 4 bytes, if extensions follow (RFC 4884)",
				.when = FORM_UNREACH | FORM_EXCEEDED | FORM_PARAM),
	[F_ICMP_ADDR_MASK] =
		FIELD("addr_mask", 64, 32, IP4, CONTENT, "address mask (RFC 950)", .when = FORM_MASK),
	[F_ICMP_NEXTHOPMTU] =
		FIELD("nexthopmtu", 48, 16, UINT, CONTENT,
		      "MTU of the next hop in bytes, with code 4 (RFC 1191)", .when = FORM_UNREACH),
	[F_ICMP_UNUSED] =
		FIELD("unused", 48, 16, UINT, CONTENT, "unused", .when = FORM_EXCEEDED | FORM_PARAM),
};

/* What people call the codes. */
static const struct {
	uint8_t type, code;
	const char *name;
} codes[] = {
	{ 3, 0, "network-unreachable" },
	{ 3, 1, "host-unreachable" },
	{ 3, 2, "protocol-unreachable" },
	{ 3, 3, "port-unreachable" },
	{ 3, 4, "fragmentation-needed" },
	{ 3, 5, "source-route-failed" },
	{ 3, 6, "network-unknown" },
	{ 3, 7, "host-unknown" },
	{ 3, 9, "network-prohibited" },
	{ 3, 10, "host-prohibited" },
	{ 3, 11, "TOS-network-unreachable" },
	{ 3, 12, "TOS-host-unreachable" },
	{ 3, 13, "communication-prohibited" },
	{ 3, 14, "host-precedence-violation" },
	{ 3, 15, "precedence-cutoff" },
	{ 5, 0, "network-redirect" },
	{ 5, 1, "host-redirect" },
	{ 11, 0, "ttl-zero-during-transit" },
	{ 11, 1, "ttl-zero-during-reassembly" },
	{ 12, 1, "required-option-missing" },
};

static WireVariant variant(const uint8_t *image)
{
	uint8_t type = image[0];

	return type < sizeof forms / sizeof *forms && forms[type].bit ? forms[type] : form_other;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	return h && wire_take(p, l, variant(h).fixed);
}

/* RFC 792: the checksum of the message alone, without pseudo header. */
static void finish(WireBuild *b, unsigned at)
{
	wire_derive(b, at, F_ICMP_CHKSUM, 0);
	if (!wire_is_set(&b->out->layer[at], F_ICMP_CHKSUM))
		wire_derive(b, at, F_ICMP_CHKSUM, wire_csum_fold(wire_csum(0, wire_from(b, at))));
}

static void summary(const WireLayer *l, Sb *out)
{
	uint64_t type = wire_num(l, F_ICMP_TYPE), code = wire_num(l, F_ICMP_CODE);
	const char *name = NULL;

	sb_char(out, ' ');
	wire_field_text(l, F_ICMP_TYPE, out);
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].type == type && codes[i].code == code)
			name = codes[i].name;
	if (name)
		sb_printf(out, "/%s", name);
	else if (code)
		sb_printf(out, "/%u", (unsigned)code);
	if (wire_has(l, F_ICMP_SEQ))
		sb_printf(out, " id=%u seq=%u", (unsigned)wire_num(l, F_ICMP_ID),
			  (unsigned)wire_num(l, F_ICMP_SEQ));
	if (type == 3 && code == 4)
		sb_printf(out, " mtu=%u", (unsigned)wire_num(l, F_ICMP_NEXTHOPMTU));
}

const WireProto wire_proto_ICMP = {
	.id = WIRE_ICMP,
	.name = "ICMP",
	.title = "Internet Control Message Protocol",
	.rfc = "RFC 792",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_ICMP_N,
	.fixed = HDR_TIMESTAMP,
	.variant = variant,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
