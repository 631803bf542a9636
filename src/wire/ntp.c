/* SPDX-License-Identifier: Apache-2.0
 *
 * NTP (RFC 5905; control messages RFC 9327, private ones of ntpd)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |lea|versi| mode|    stratum    |     poll      |   precision   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             delay                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          dispersion                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            id, of stratum 0 and 1: ref_id                     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           ref (64 bits)                       |
 * |                          orig (64 bits)                       |
 * |                          recv (64 bits)                       |
 * |                          sent (64 bits)                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * mode 6:
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |lea|versi| mode|r|e|m| op_code |           sequence            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            status             |        association_id         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            offset             |             count             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * mode 7 (response and more stand where leap does):
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |lea|versi| mode|a|     seq     |implementation | request_code  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |perr.|       nb_items          |  mbz  |   data_item_size      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * Extension fields, message authentication and control data are payload.
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 48, HDR_CONTROL = 12, HDR_PRIVATE = 8, CONTROL = 6, PRIVATE = 7, FIRST_BY_IP = 2 };

/* The forms of the header. */
enum { FORM_REFERENCE = 1, FORM_SERVER = 2, FORM_TIME = FORM_REFERENCE | FORM_SERVER, FORM_CONTROL = 4, FORM_PRIVATE = 8 };

enum {
	F_LEAP, F_VERSION, F_MODE, F_STRATUM, F_POLL, F_PRECISION, F_DELAY, F_DISPERSION, F_ID, F_REF_ID, F_REF,
	F_ORIG, F_RECV, F_SENT, F_RESPONSE, F_ERR, F_MORE, F_OP_CODE, F_SEQUENCE, F_STATUS, F_ASSOCIATION_ID,
	F_OFFSET, F_COUNT, F_AUTH, F_SEQ, F_IMPLEMENTATION, F_REQUEST_CODE, F_PRIVATE_ERR, F_NB_ITEMS, F_MBZ,
	F_DATA_ITEM_SIZE, F_N,
};

static const WireName leaps[] = {
	{ "no-warning", 0 }, { "61-seconds", 1 }, { "59-seconds", 2 }, { "unsynchronized", 3 }, { NULL, 0 },
};

static const WireName modes[] = {
	{ "reserved", 0 }, { "active", 1 },    { "passive", 2 }, { "client", 3 },  { "server", 4 },
	{ "broadcast", 5 }, { "control", 6 }, { "private", 7 }, { NULL, 0 },
};

static const WireName op_codes[] = {
	{ "read-status", 1 },     { "read-variables", 2 }, { "write-variables", 3 }, { "read-clock-variables", 4 },
	{ "write-clock-variables", 5 }, { "set-trap", 6 }, { "trap-response", 7 },   { "configure", 8 },
	{ "read-mru-list", 10 },  { "read-ordered-list", 11 }, { "request-nonce", 12 }, { "unset-trap", 31 },
	{ NULL, 0 },
};

static const WireField fields[] = {
	[F_LEAP] = FIELD("leap", 0, 2, ENUM, CONTENT, "leap second at the day's end; unsynchronized", .names = leaps),
	[F_VERSION] = FIELD("version", 2, 3, UINT, CONTENT, "version", .dflt = 4),
	[F_MODE] = FIELD("mode", 5, 3, ENUM, CONTENT, "who speaks", .dflt = 3, .names = modes),
	[F_STRATUM] = FIELD("stratum", 8, 8, UINT, CONTENT, "servers away from a clock; 0: see ref_id, 16: none",
			    .when = FORM_TIME),
	[F_POLL] = FIELD("poll", 16, 8, SINT, CONTENT, "poll interval, log2 of seconds",
			 .when = FORM_TIME),
	[F_PRECISION] = FIELD("precision", 24, 8, SINT, CONTENT, "of the clock, log2 of seconds",
			      .when = FORM_TIME),
	[F_DELAY] = FIELD("delay", 32, 32, UINT, CONTENT, "round trip to the reference clock, 2^-16 s",
			  .when = FORM_TIME),
	[F_DISPERSION] = FIELD("dispersion", 64, 32, UINT, CONTENT, "error against the reference clock, 2^-16 s",
			       .when = FORM_TIME),
	[F_ID] = FIELD("id", 96, 32, IP4, CONTENT, "the server's own server, from stratum 2 on",
		       .when = FORM_SERVER),
	[F_REF_ID] = FIELD("ref_id", 96, 32, BYTES, CONTENT, "reference clock (GPS), of stratum 0 why not (RATE)",
			   .when = FORM_REFERENCE),
	[F_REF] = FIELD("ref", 128, 64, STAMP, CONTENT, "when the clock was last set", .when = FORM_TIME),
	[F_ORIG] = FIELD("orig", 192, 64, STAMP, CONTENT, "the `sent` that this answers", .when = FORM_TIME),
	[F_RECV] = FIELD("recv", 256, 64, STAMP, CONTENT, "when that arrived", .when = FORM_TIME),
	[F_SENT] = FIELD("sent", 320, 64, STAMP, CONTENT,
			 "when this left; left out, a random number that an answer's orig repeats",
			 .computed = true, .distinct = true, .when = FORM_TIME),
	[F_RESPONSE] = FIELD("response", 8, 1, UINT, CONTENT, "1: an answer", .when = FORM_CONTROL),
	[F_ERR] = FIELD("err", 9, 1, UINT, CONTENT, "1: an error", .when = FORM_CONTROL),
	[F_MORE] = FIELD("more", 10, 1, UINT, CONTENT, "1: more fragments follow", .when = FORM_CONTROL),
	[F_OP_CODE] = FIELD("op_code", 11, 5, ENUM, CONTENT, "command", .names = op_codes, .when = FORM_CONTROL),
	[F_SEQUENCE] = FIELD("sequence", 16, 16, UINT, CONTENT, "number of the command", .when = FORM_CONTROL),
	[F_STATUS] = FIELD("status", 32, 16, UINT, CONTENT, "of system, peer or clock", .when = FORM_CONTROL),
	[F_ASSOCIATION_ID] = FIELD("association_id", 48, 16, UINT, CONTENT, "0: the system", .when = FORM_CONTROL),
	[F_OFFSET] = FIELD("offset", 64, 16, UINT, CONTENT, "of the data in the whole, bytes", .when = FORM_CONTROL),
	[F_COUNT] = FIELD("count", 80, 16, UINT, CONTENT, "bytes of data", .computed = true, .follows = true,
			  .when = FORM_CONTROL),
	[F_AUTH] = FIELD("auth", 8, 1, UINT, CONTENT, "1: authenticated", .when = FORM_PRIVATE),
	[F_SEQ] = FIELD("seq", 9, 7, UINT, CONTENT, "number of the packet in the answer", .when = FORM_PRIVATE),
	[F_IMPLEMENTATION] = FIELD("implementation", 16, 8, UINT, CONTENT, "3: ntpd", .when = FORM_PRIVATE),
	[F_REQUEST_CODE] = FIELD("request_code", 24, 8, UINT, CONTENT, "42: monlist", .when = FORM_PRIVATE),
	[F_PRIVATE_ERR] = FIELD("error", 32, 4, UINT, CONTENT, "kind of error", .when = FORM_PRIVATE),
	[F_NB_ITEMS] = FIELD("nb_items", 36, 12, UINT, CONTENT, "number of items", .when = FORM_PRIVATE),
	[F_MBZ] = FIELD("mbz", 48, 4, UINT, CONTENT, "zero", .when = FORM_PRIVATE),
	[F_DATA_ITEM_SIZE] = FIELD("data_item_size", 52, 12, UINT, CONTENT, "bytes of an item", .when = FORM_PRIVATE),
};

static WireVariant variant(const uint8_t *image)
{
	unsigned mode = image[0] & 7u;

	if (mode == CONTROL)
		return (WireVariant){ FORM_CONTROL, HDR_CONTROL };
	if (mode == PRIVATE)
		return (WireVariant){ FORM_PRIVATE, HDR_PRIVATE };
	return (WireVariant){ image[1] < FIRST_BY_IP ? FORM_REFERENCE : FORM_SERVER, HDR };
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR_PRIVATE);

	return h && wire_take(p, l, variant(h).fixed);
}

static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];

	if (wire_has(l, F_COUNT))
		wire_derive_len(b, at, F_COUNT, wire_from(b, at).n - HDR_CONTROL, "data");
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, "v%u ", (unsigned)wire_num(l, F_VERSION));
	wire_field_text(l, F_MODE, out);
	if (wire_has(l, F_STRATUM))
		sb_printf(out, " stratum=%u", (unsigned)wire_num(l, F_STRATUM));
}

const WireProto wire_proto_NTP = {
	.id = WIRE_NTP,
	.name = "NTP",
	.title = "Network Time Protocol",
	.rfc = "RFC 5905",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.variant = variant,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
