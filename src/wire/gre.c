/* SPDX-License-Identifier: Apache-2.0
 *
 * GRE (RFC 2784, key and sequence number RFC 2890).  Each of the last words is
 * there only if its bit says so; the image has room for all.
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |c|r|k|s|s|recur|  flags  | ver |             proto             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            chksum             |            offset             | c
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              key                              | k
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        sequence_number                        | s
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 4, WORD = 4, WORDS = 3, IMAGE = HDR + WORDS * WORD };

enum { BIT_CHKSUM = 0x80, BIT_ROUTING = 0x40, BIT_KEY = 0x20, BIT_SEQUENCE = 0x10 };

enum { FORM_ALL = 1, FORM_CHKSUM = 2, FORM_KEY = 4, FORM_SEQUENCE = 8 };

enum {
	F_CHKSUM_PRESENT, F_ROUTING_PRESENT, F_KEY_PRESENT, F_SEQNUM_PRESENT, F_STRICT, F_RECURSION, F_FLAGS, F_VERSION,
	F_PROTO, F_CHKSUM, F_OFFSET, F_KEY, F_SEQUENCE, F_N,
};

static const WireField fields[] = {
	[F_CHKSUM_PRESENT] = FIELD("chksum_present", 0, 1, UINT, CONTENT, "1: with chksum, derived if that is set",
				   .computed = true),
	[F_ROUTING_PRESENT] = FIELD("routing_present", 1, 1, UINT, CONTENT, "1: with source routes (RFC 1701)"),
	[F_KEY_PRESENT] = FIELD("key_present", 2, 1, UINT, CONTENT, "1: with key, derived if that is set",
				.computed = true),
	[F_SEQNUM_PRESENT] = FIELD("seqnum_present", 3, 1, UINT, CONTENT,
				   "1: with sequence_number, derived if that is set", .computed = true),
	[F_STRICT] = FIELD("strict_route_source", 4, 1, UINT, CONTENT, "RFC 1701"),
	[F_RECURSION] = FIELD("recursion_control", 5, 3, UINT, CONTENT, "RFC 1701"),
	[F_FLAGS] = FIELD("flags", 8, 5, UINT, CONTENT, "reserved"),
	[F_VERSION] = FIELD("version", 13, 3, UINT, CONTENT, "0; 1 is PPTP's"),
	[F_PROTO] = FIELD("proto", 16, 16, ENUM, CONTENT, "EtherType of what follows; derived from the next layer",
			  .computed = true, .names = wire_ethertype_names),
	[F_CHKSUM] = FIELD("chksum", 32, 16, UINT, CONTENT, "checksum of header and all that follows",
			   .computed = true, .follows = true, .when = FORM_CHKSUM),
	[F_OFFSET] = FIELD("offset", 48, 16, UINT, CONTENT, "of the active source route", .when = FORM_CHKSUM),
	[F_KEY] = FIELD("key", 64, 32, UINT, CONTENT, "which tunnel", .when = FORM_KEY),
	[F_SEQUENCE] = FIELD("sequence_number", 96, 32, UINT, CONTENT, "number of the packet", .when = FORM_SEQUENCE),
};

/* The bits of the words, in their order, and the fields that they speak of. */
static const struct {
	uint8_t bit, form, present, field;
} words[WORDS] = {
	{ BIT_CHKSUM, FORM_CHKSUM, F_CHKSUM_PRESENT, F_CHKSUM },
	{ BIT_KEY, FORM_KEY, F_KEY_PRESENT, F_KEY },
	{ BIT_SEQUENCE, FORM_SEQUENCE, F_SEQNUM_PRESENT, F_SEQUENCE },
};

static WireVariant variant(const uint8_t *image)
{
	WireVariant v = { FORM_ALL, IMAGE };

	for (unsigned i = 0; i < WORDS; i++)
		if (image[0] & words[i].bit)
			v.bit |= words[i].form;
	return v;
}

static uint32_t length(uint8_t bits)
{
	uint32_t n = HDR;

	for (unsigned i = 0; i < WORDS; i++)
		if (bits & words[i].bit)
			n += WORD;
	return n;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	if (h[1] & 7)
		return wire_fail(p, "GRE version %u is not decoded", h[1] & 7u);
	if (h[0] & BIT_ROUTING)
		return wire_fail(p, "GRE with source routes is not decoded");
	uint32_t n = length(h[0]), at = HDR;
	uint8_t *image = arena_alloc(p->a, IMAGE);

	if (!wire_whole(p, l, n))
		return false;
	h = p->c.p + p->c.off;
	memcpy(image, h, HDR);
	for (unsigned i = 0; i < WORDS; i++) {
		if (!(h[0] & words[i].bit))
			continue;
		memcpy(image + HDR + i * WORD, h + at, WORD);
		at += WORD;
	}
	wire_take_apart(p, l, n, image);
	wire_follow_ethertype(p, get_be16(image + 2));
	return true;
}

static void prepare(WireBuild *b, unsigned at)
{
	const WireLayer *l = &b->out->layer[at];

	for (unsigned i = 0; i < WORDS; i++)
		if (wire_is_set(l, words[i].field))
			wire_derive(b, at, words[i].present, 1);
	wire_derive_ethertype(b, at, F_PROTO);
}

static uint32_t measure(const WireLayer *l)
{
	return length(l->image[0]);
}

static void encode(const WireLayer *l, Writer *w)
{
	wr_bytes(w, BYTES(l->image, HDR));
	for (unsigned i = 0; i < WORDS; i++)
		if (l->image[0] & words[i].bit)
			wr_bytes(w, BYTES(l->image + HDR + i * WORD, WORD));
}

/* RFC 2784 2.5 */
static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];

	if (!wire_has(l, F_CHKSUM) || wire_is_set(l, F_CHKSUM))
		return;
	put_be16(b->frame + l->off + HDR, 0);
	wire_derive(b, at, F_CHKSUM, wire_csum_fold(wire_csum(0, wire_from(b, at))));
	memcpy(b->frame + l->off + HDR, l->image + HDR, 2);
}

static WireCsum check(const WirePacket *p, unsigned at, Bytes covered)
{
	if (!wire_has(&p->layer[at], F_CHKSUM))
		return CSUM_NONE;
	return wire_csum_fold(wire_csum(0, covered)) == 0 ? CSUM_GOOD : CSUM_BAD;
}

static void summary(const WireLayer *l, Sb *out)
{
	if (wire_has(l, F_KEY))
		sb_printf(out, " key=%u", (unsigned)wire_num(l, F_KEY));
}

const WireProto wire_proto_GRE = {
	.id = WIRE_GRE,
	.name = "GRE",
	.title = "Generic Routing Encapsulation",
	.rfc = "RFC 2784",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_N,
	.fixed = IMAGE,
	.apart = true,
	.variant = variant,
	.parse = parse,
	.prepare = prepare,
	.measure = measure,
	.encode = encode,
	.finish = finish,
	.check = check,
	.summary = summary,
};
