/* SPDX-License-Identifier: Apache-2.0
 *
 * QUIC's long header (RFC 8999 5.1, RFC 9000 17.2, RFC 9369 3.2)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |h|f|typ|specif.| Version (32)                                  |
 * | DstConnIDLen (8), DstConnID (0..20 bytes)                     |
 * | SrcConnIDLen (8), SrcConnID (0..20 bytes)                     |
 * | TokenLen (variable), Token     Initial                        |
 * | Length (variable)              Initial, 0-RTT, Handshake      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * What follows is encrypted, with the low four bits of the first byte.  The image
 * holds the numbers side by side, the lengths that are variable with 64 bits.
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { IMAGE = 15, LEAST = 7, CID_MOST = 20, LONG_HEADER = 0x80, V_DST = 0, V_SRC = 1, V_TOKEN = 2 };

enum { FORM_OTHER = 1, FORM_LENGTH = 2, FORM_TOKEN = 4 };

enum { NEGOTIATION = 0, VERSION_1 = 1 };

#define VERSION_2 0x6b3343cfu

typedef enum Type { TYPE_INITIAL, TYPE_ZERO_RTT, TYPE_HANDSHAKE, TYPE_RETRY } Type;

enum { F_FORM, F_FIXED, F_TYPE, F_SPECIFIC, F_VERSION, F_DSTLEN, F_DST, F_SRCLEN, F_SRC, F_TOKEN, F_LENGTH, F_N };

static const WireName versions[] = {
	{ "negotiation", NEGOTIATION }, { "v1", VERSION_1 }, { "v2", VERSION_2 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_FORM] = FIELD("HeaderForm", 0, 1, UINT, CONTENT, "1: long", .dflt = 1),
	[F_FIXED] = FIELD("FixedBit", 1, 1, UINT, CONTENT, "1, unless greased", .dflt = 1),
	[F_TYPE] = FIELD("LongPacketType", 2, 2, UINT, CONTENT,
			 "v1: 0 Initial, 1 0-RTT, 2 Handshake, 3 Retry; v2: Initial is 1, 0-RTT 2, ..."),
	[F_SPECIFIC] = FIELD("TypeSpecific", 4, 4, UINT, CONTENT, "protected, but for Retry"),
	[F_VERSION] = FIELD("Version", 8, 32, ENUM, CONTENT, "version", .dflt = VERSION_1, .names = versions),
	[F_DSTLEN] = FIELD("DstConnIDLen", 40, 8, UINT, CONTENT, "bytes of DstConnID", .computed = true,
			   .follows = true),
	[F_DST] = FIELD("DstConnID", 48, 0, BYTES, CONTENT, "the receiver's connection identifier"),
	[F_SRCLEN] = FIELD("SrcConnIDLen", 48, 8, UINT, CONTENT, "bytes of SrcConnID", .computed = true,
			   .follows = true),
	[F_SRC] = FIELD("SrcConnID", 56, 0, BYTES, CONTENT, "the sender's connection identifier"),
	[F_TOKEN] = FIELD("Token", 56, 0, BYTES, CONTENT, "token of an Initial", .when = FORM_TOKEN),
	[F_LENGTH] = FIELD("Length", 56, 64, UINT, CONTENT, "bytes that follow of this packet", .computed = true,
			   .follows = true, .when = FORM_LENGTH),
};

static bool known(uint32_t version)
{
	return version == VERSION_1 || version == VERSION_2;
}

/* RFC 9369 3.2: version 2 has other numbers for the same types. */
static Type type_of(const uint8_t *image)
{
	unsigned n = image[0] >> 4 & 3u;

	return (Type)(get_be32(image + 1) == VERSION_2 ? (n + 3) % 4 : n);
}

static WireVariant variant(const uint8_t *image)
{
	WireVariant v = { FORM_OTHER, IMAGE };

	if (!known(get_be32(image + 1)) || type_of(image) == TYPE_RETRY)
		return v;
	v.bit |= FORM_LENGTH;
	if (type_of(image) == TYPE_INITIAL)
		v.bit |= FORM_TOKEN;
	return v;
}

/* ---- variable-length integers, RFC 9000 16 ---- */

static uint64_t cur_varint(Cursor *c)
{
	uint8_t first = cur_u8(c);
	uint64_t v = first & 0x3f;

	for (unsigned n = (1u << (first >> 6)) - 1; n > 0; n--)
		v = v << 8 | cur_u8(c);
	return v;
}

static size_t varint_len(uint64_t v)
{
	return v < 0x40 ? 1 : v < 0x4000 ? 2 : v < 0x40000000 ? 4 : 8;
}

static void put_varint(Writer *w, uint64_t v)
{
	size_t n = varint_len(v);
	uint8_t prefix = n == 1 ? 0 : n == 2 ? 0x40 : n == 4 ? 0x80 : 0xc0;

	for (size_t i = n; i-- > 0;)
		wr_u8(w, (uint8_t)((v >> 8 * i & 0xff) | (i == n - 1 ? prefix : 0)));
}

/* ---- decoding ---- */

static bool read_header(WireParse *p, WireLayer *l, Cursor *c, uint8_t *image)
{
	memcpy(image, c->p, 5);
	cur_skip(c, 5);
	image[5] = cur_u8(c);
	l->var[V_DST] = cur_bytes(c, image[5]);
	image[6] = cur_u8(c);
	l->var[V_SRC] = cur_bytes(c, image[6]);
	if (!c->bad && known(get_be32(image + 1)) && (image[5] > CID_MOST || image[6] > CID_MOST))
		return wire_fail(p, "QUIC connection identifiers of %u and %u bytes", image[5], image[6]);
	if (wire_has(l, F_TOKEN)) {
		uint64_t n = cur_varint(c);

		if (n > cur_left(c))
			c->bad = true;
		else
			l->var[V_TOKEN] = cur_bytes(c, (size_t)n);
	}
	if (wire_has(l, F_LENGTH)) {
		uint64_t n = cur_varint(c);

		put_be32(image + 7, (uint32_t)(n >> 32));
		put_be32(image + 11, (uint32_t)n);
	}
	return !c->bad || wire_fail(p, "QUIC header is cut");
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, 1);

	if (!h)
		return false;
	if (!(h[0] & LONG_HEADER))
		return wire_fail(p, "QUIC with a short header shows nothing but a connection identifier");
	if (!wire_whole(p, l, LEAST))
		return false;
	Cursor c = cursor(BYTES(h, cur_left(&p->c)));
	uint8_t *image = arena_alloc(p->a, IMAGE);

	memcpy(image, h, 5);
	l->image = image;
	if (!read_header(p, l, &c, image))
		return false;
	wire_take_apart(p, l, c.off, image);
	uint64_t length = wire_num(l, F_LENGTH);

	if (wire_has(l, F_LENGTH) && length > cur_left(&p->c))
		wire_note(p, "QUIC packet of %llu bytes, %zu are there", (unsigned long long)length, cur_left(&p->c));
	else if (!wire_has(l, F_LENGTH) && type_of(image) != TYPE_RETRY && get_be32(image + 1) != NEGOTIATION)
		wire_note(p, "QUIC version 0x%08x is not decoded", get_be32(image + 1));
	return true;
}

/* ---- encoding ---- */

static void prepare(WireBuild *b, unsigned at)
{
	const WireLayer *l = &b->out->layer[at];
	size_t n = b->body.n;

	for (unsigned i = at + 1; i < b->out->n; i++)
		n += wire_header_len(&b->out->layer[i]);
	wire_derive_len(b, at, F_DSTLEN, l->var[V_DST].n, "identifier");
	wire_derive_len(b, at, F_SRCLEN, l->var[V_SRC].n, "identifier");
	if (wire_has(l, F_LENGTH))
		wire_derive(b, at, F_LENGTH, n);
}

static uint32_t measure(const WireLayer *l)
{
	size_t n = LEAST + l->var[V_DST].n + l->var[V_SRC].n;

	if (wire_has(l, F_TOKEN))
		n += varint_len(l->var[V_TOKEN].n) + l->var[V_TOKEN].n;
	if (wire_has(l, F_LENGTH))
		n += varint_len(wire_num(l, F_LENGTH));
	return (uint32_t)n;
}

static void encode(const WireLayer *l, Writer *w)
{
	wr_bytes(w, BYTES(l->image, 6));
	wr_bytes(w, l->var[V_DST]);
	wr_u8(w, l->image[6]);
	wr_bytes(w, l->var[V_SRC]);
	if (wire_has(l, F_TOKEN)) {
		put_varint(w, l->var[V_TOKEN].n);
		wr_bytes(w, l->var[V_TOKEN]);
	}
	if (wire_has(l, F_LENGTH))
		put_varint(w, wire_num(l, F_LENGTH));
}

static void summary(const WireLayer *l, Sb *out)
{
	static const char *const names[] = { "Initial", "0-RTT", "Handshake", "Retry" };

	sb_char(out, ' ');
	wire_field_text(l, F_VERSION, out);
	if (known((uint32_t)wire_num(l, F_VERSION)))
		sb_printf(out, " %s", names[type_of(l->image)]);
}

const WireProto wire_proto_QUIC = {
	.id = WIRE_QUIC,
	.name = "QUIC",
	.title = "QUIC long header",
	.rfc = "RFC 9000",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.nvars = 3,
	.var = { F_DST, F_SRC, F_TOKEN },
	.fixed = IMAGE,
	.apart = true,
	.rewritten = true,
	.variant = variant,
	.parse = parse,
	.prepare = prepare,
	.measure = measure,
	.encode = encode,
	.summary = summary,
};
