/* SPDX-License-Identifier: Apache-2.0
 *
 * OSPF version 2: header and hello (RFC 2328 A.3)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    version    |     type      |              len              |
 * |                              src                              |
 * |                             area                              |
 * |            chksum             |           authtype            |
 * |                    authdata (64 bits)                         |
 * | reserved (16), keyid (8), authdatalen (8), seq (32)           | authtype 2
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * hello:
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             mask                              |
 * |         hellointerval         |    options    |     prio      |
 * |                         deadinterval                          |
 * |                            router                             |
 * |                            backup                             |
 * |                         neighbors ...                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 24, AT_AUTHTYPE = 14, AT_AUTH = 16, HELLO = 20, TYPE_HELLO = 1, CRYPTO = 2, VERSION = 2 };

enum { FORM_PLAIN = 1, FORM_CRYPTO = 2 };

enum {
	F_VERSION, F_TYPE, F_LEN, F_SRC, F_AREA, F_CHKSUM, F_AUTHTYPE, F_AUTHDATA, F_RESERVED, F_KEYID, F_AUTHDATALEN,
	F_SEQ, F_N,
};

static const WireName types[] = {
	{ "hello", TYPE_HELLO }, { "dbdesc", 2 }, { "lsreq", 3 }, { "lsupd", 4 }, { "lsack", 5 }, { NULL, 0 },
};

static const WireName authtypes[] = { { "Null", 0 }, { "Simple", 1 }, { "Crypto", CRYPTO }, { NULL, 0 } };

static const WireField fields[] = {
	[F_VERSION] = FIELD("version", 0, 8, UINT, CONTENT, "version", .dflt = VERSION),
	[F_TYPE] = FIELD("type", 8, 8, ENUM, CONTENT, "type of packet", .dflt = TYPE_HELLO, .names = types),
	[F_LEN] = FIELD("len", 16, 16, UINT, CONTENT, "bytes, this header included", .computed = true,
			.follows = true),
	[F_SRC] = FIELD("src", 32, 32, IP4, CONTENT, "the router's identifier"),
	[F_AREA] = FIELD("area", 64, 32, IP4, CONTENT, "area; 0.0.0.0: backbone"),
	[F_CHKSUM] = FIELD("chksum", 96, 16, UINT, CONTENT, "checksum of all but authdata; 0 with Crypto",
			   .computed = true, .follows = true),
	[F_AUTHTYPE] = FIELD("authtype", 112, 16, ENUM, CONTENT, "kind of authentication", .names = authtypes),
	[F_AUTHDATA] = FIELD("authdata", 128, 64, BYTES, CONTENT, "the password of Simple", .when = FORM_PLAIN),
	[F_RESERVED] = FIELD("reserved", 128, 16, UINT, CONTENT, "reserved", .when = FORM_CRYPTO),
	[F_KEYID] = FIELD("keyid", 144, 8, UINT, CONTENT, "which key", .when = FORM_CRYPTO),
	[F_AUTHDATALEN] = FIELD("authdatalen", 152, 8, UINT, CONTENT, "bytes of the digest behind the packet",
				.when = FORM_CRYPTO),
	[F_SEQ] = FIELD("seq", 160, 32, UINT, CONTENT, "number that only grows", .when = FORM_CRYPTO),
};

static WireVariant variant(const uint8_t *image)
{
	return (WireVariant){ get_be16(image + AT_AUTHTYPE) == CRYPTO ? FORM_CRYPTO : FORM_PLAIN, HDR };
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	size_t len = get_be16(h + 2);

	if (h[0] != VERSION)
		return wire_fail(p, "OSPF version %u is not decoded", h[0]);
	if (len < HDR || len > cur_left(&p->c))
		return wire_fail(p, "OSPF length %zu, %zu bytes are there", len, cur_left(&p->c));
	uint8_t type = h[1];

	/* RFC 2328 D.3: the digest stands behind the packet */
	if (get_be16(h + AT_AUTHTYPE) == CRYPTO && h[AT_AUTH + 3] > cur_left(&p->c) - len)
		wire_note(p, "OSPF digest of %u bytes, %zu are there", h[AT_AUTH + 3], cur_left(&p->c) - len);
	if (!wire_take(p, l, HDR))
		return false;
	if (type == TYPE_HELLO)
		p->next = WIRE_OSPFHELLO;
	else if (len > HDR)
		wire_note(p, "OSPF packet of type %u is not decoded", type);
	return true;
}

/* RFC 2328 D.4: over all but the authentication. */
static uint16_t sum_of(Bytes b)
{
	return wire_csum_fold(wire_csum(wire_csum(0, bytes_slice(b, 0, AT_AUTH)), bytes_slice(b, HDR, b.n)));
}

static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];

	wire_derive_len(b, at, F_LEN, wire_from(b, at).n, "length");
	if (wire_is_set(l, F_CHKSUM))
		return;
	wire_derive(b, at, F_CHKSUM, 0);
	if (wire_num(l, F_AUTHTYPE) != CRYPTO)
		wire_derive(b, at, F_CHKSUM, sum_of(wire_from(b, at)));
}

static WireCsum check(const WirePacket *p, unsigned at, Bytes covered)
{
	const WireLayer *l = &p->layer[at];
	size_t len = (size_t)wire_num(l, F_LEN);

	if (wire_num(l, F_AUTHTYPE) == CRYPTO)
		return CSUM_NONE;
	return len < HDR || len > covered.n		  ? CSUM_UNKNOWN
	       : sum_of(bytes_slice(covered, 0, len)) == 0 ? CSUM_GOOD
							   : CSUM_BAD;
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_TYPE, out);
	sb_cstr(out, " from ");
	wire_field_text(l, F_SRC, out);
	sb_cstr(out, " area ");
	wire_field_text(l, F_AREA, out);
}

const WireProto wire_proto_OSPF = {
	.id = WIRE_OSPF,
	.name = "OSPF_Hdr",
	.title = "Open Shortest Path First",
	.rfc = "RFC 2328",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.variant = variant,
	.parse = parse,
	.finish = finish,
	.check = check,
	.summary = summary,
};

/* ---- hello ---- */

enum { H_MASK, H_HELLO, H_OPTIONS, H_PRIO, H_DEAD, H_ROUTER, H_BACKUP, H_NEIGHBORS, H_N };

static const WireName option_names[] = {
	{ "MT", 1 }, { "E", 2 }, { "MC", 4 }, { "NP", 8 }, { "L", 16 }, { "DC", 32 }, { "O", 64 }, { "DN", 128 },
	{ NULL, 0 },
};

static const WireField hello_fields[] = {
	[H_MASK] = FIELD("mask", 0, 32, IP4, CONTENT, "the net's mask", .dflt = 0xffffff00),
	[H_HELLO] = FIELD("hellointerval", 32, 16, UINT, CONTENT, "seconds between hellos", .dflt = 10),
	[H_OPTIONS] = FIELD("options", 48, 8, FLAGS, CONTENT, "what the router can", .names = option_names),
	[H_PRIO] = FIELD("prio", 56, 8, UINT, CONTENT, "priority", .dflt = 1),
	[H_DEAD] = FIELD("deadinterval", 64, 32, UINT, CONTENT, "seconds until a silent router is gone", .dflt = 40),
	[H_ROUTER] = FIELD("router", 96, 32, IP4, CONTENT, "designated router"),
	[H_BACKUP] = FIELD("backup", 128, 32, IP4, CONTENT, "its backup"),
	[H_NEIGHBORS] = FIELD("neighbors", 160, 0, BYTES, CONTENT, "identifiers of routers heard, 4 bytes each"),
};

/* Behind the length that the header gives, digests and signalling may stand. */
static bool hello_parse(WireParse *p, WireLayer *l)
{
	bool inside = p->out->n && l[-1].proto->id == WIRE_OSPF;
	size_t left = cur_left(&p->c), all = inside ? (size_t)wire_num(&l[-1], F_LEN) - HDR : left;

	if (!wire_head(p, l, HELLO))
		return false;
	size_t n = all < left ? all : left;

	if (n < HELLO || n % 4)
		return wire_fail(p, "OSPF hello of %zu bytes", n);
	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, HELLO, n);
	return true;
}

const WireProto wire_proto_OSPFHELLO = {
	.id = WIRE_OSPFHELLO,
	.name = "OSPF_Hello",
	.title = "OSPF hello",
	.rfc = "RFC 2328",
	.role = ROLE_APP,
	.fields = hello_fields,
	.nfields = H_N,
	.nvars = 1,
	.var = { H_NEIGHBORS },
	.fixed = HELLO,
	.parse = hello_parse,
};
