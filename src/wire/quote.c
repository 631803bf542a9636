/* SPDX-License-Identifier: Apache-2.0
 *
 * What ICMP errors carry: the packet that they are about (RFC 792, RFC 4443),
 * and extensions behind it (RFC 4884), such as label stacks (RFC 4950).
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  quote, padded to length * 4 (ICMPv6: * 8) or 128 bytes       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |version|       reserved        |           checksum            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            length             |     class     |    c-type     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                  object's data, next object ...               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/parse.h"

enum {
	LEGACY_QUOTE = 128, /* RFC 4884 5.5: without a length the quote has 128 bytes */
	EXT_HDR = 4,
	EXT_VERSION = 2,
	CLASS_MPLS = 1,
	CTYPE_INCOMING = 1,
	LABEL_ENTRY = 4,
};

/* The error's layer, and whether it is ICMPv6's; NULL if there is none. */
static const WireLayer *error_layer(const WirePacket *p, bool *ret_v6)
{
	static const uint64_t v4_errors = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 11 | 1u << 12;

	for (unsigned i = 0; i < p->n; i++) {
		const WireLayer *l = &p->layer[i];
		WireId id = l->proto->id;

		if (id != WIRE_ICMP && id != WIRE_ICMPV6)
			continue;
		uint64_t type = l->image[0];

		*ret_v6 = id == WIRE_ICMPV6;
		if (*ret_v6) /* RFC 4443 2.1: errors are the types below 128 */
			return type >= 1 && type <= 4 ? l : NULL;
		return type < 64 && (v4_errors >> type & 1) ? l : NULL;
	}
	return NULL;
}

/* Everything behind the ICMP header. */
static Bytes error_body(const WirePacket *p, const WireLayer *l)
{
	if (p->frame.n == 0)
		return p->payload;
	return bytes_slice(p->frame, l->off + l->len, p->frame.n - p->padding.n);
}

/* Whether these bytes are extensions: version and, unless it is 0, checksum. */
static bool is_extension(Bytes b)
{
	if (b.n < EXT_HDR || b.p[0] >> 4 != EXT_VERSION)
		return false;
	return get_be16(b.p + 2) == 0 || wire_csum_fold(wire_csum(0, b)) == 0;
}

/* Parts the body; a length that is not followed by extensions does not count. */
static void part(const WirePacket *p, const WireLayer *l, bool v6, Bytes *ret_quote, Bytes *ret_ext)
{
	Bytes body = error_body(p, l);
	unsigned field = v6 ? (unsigned)F_ICMPV6_LENGTH : (unsigned)F_ICMP_LENGTH;
	size_t length = wire_has(l, field) ? (size_t)wire_num(l, field) * (v6 ? 8 : 4) : 0;
	size_t at = length ? length : LEGACY_QUOTE;
	Bytes ext = bytes_slice(body, at, body.n);

	if (!wire_has(l, field) || !is_extension(ext))
		ext = (Bytes){ 0 };
	*ret_ext = ext;
	*ret_quote = bytes_slice(body, 0, body.n - ext.n);
}

bool wire_quoted(const WirePacket *p, Arena *a, WirePacket *ret)
{
	bool v6 = false;
	const WireLayer *l = error_layer(p, &v6);
	Bytes quote, ext;

	if (!l)
		return false;
	part(p, l, v6, &quote, &ext);
	WireParse q = { .c = cursor(quote), .a = a, .out = ret, .quoted = true };

	ret->frame = quote;
	wire_parse_on(&q, v6 ? WIRE_IPV6 : WIRE_IP);
	return true;
}

static unsigned read_stack(Cursor *c, WireMpls *ret, unsigned n, unsigned max)
{
	for (; cur_left(c) >= LABEL_ENTRY; n++) { /* RFC 3032 2.1 */
		uint32_t e = cur_be32(c);

		if (n < max)
			ret[n] = (WireMpls){ .label = e >> 12, .tc = e >> 9 & 7, .bottom = e >> 8 & 1,
					     .ttl = (uint8_t)e };
	}
	return n;
}

unsigned wire_icmp_mpls(const WirePacket *p, WireMpls *ret, unsigned max)
{
	bool v6 = false;
	const WireLayer *l = error_layer(p, &v6);
	Bytes quote, ext;
	unsigned n = 0;

	if (!l)
		return 0;
	part(p, l, v6, &quote, &ext);
	Cursor c = cursor(ext);

	cur_skip(&c, EXT_HDR);
	while (!c.bad && cur_left(&c) >= 4) {
		uint16_t len = cur_be16(&c);
		uint8_t class = cur_u8(&c), ctype = cur_u8(&c);
		Cursor object = cursor(cur_bytes(&c, len < 4 ? SIZE_MAX : len - 4u));

		if (class == CLASS_MPLS && ctype == CTYPE_INCOMING)
			n = read_stack(&object, ret, n, max);
	}
	return n;
}

enum { ANY_CODE = -1 };

static const struct {
	uint8_t v, type;
	int code;
	const char *word;
} words[] = {
	{ 4, 0, ANY_CODE, "echo-reply" },
	{ 4, 3, 0, "net-unreachable" },
	{ 4, 3, 1, "host-unreachable" },
	{ 4, 3, 2, "protocol-unreachable" },
	{ 4, 3, 3, "port-unreachable" },
	{ 4, 3, 4, "fragmentation-needed" },
	{ 4, 3, 9, "prohibited" },
	{ 4, 3, 10, "prohibited" },
	{ 4, 3, 13, "prohibited" },
	{ 4, 3, ANY_CODE, "unreachable" },
	{ 4, 11, ANY_CODE, "time-exceeded" },
	{ 6, 1, 1, "prohibited" },
	{ 6, 1, 4, "port-unreachable" },
	{ 6, 1, 5, "prohibited" }, /* RFC 4443 3.1: 5 and 6 refine 1 */
	{ 6, 1, 6, "prohibited" },
	{ 6, 1, ANY_CODE, "unreachable" },
	{ 6, 2, ANY_CODE, "fragmentation-needed" },
	{ 6, 3, ANY_CODE, "time-exceeded" },
	{ 6, 129, ANY_CODE, "echo-reply" },
};

void wire_icmp_word(uint8_t v, uint8_t type, uint8_t code, Sb *out)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].v == v && words[i].type == type && (words[i].code == code || words[i].code == ANY_CODE)) {
			sb_cstr(out, words[i].word);
			return;
		}
	sb_printf(out, v == 4 ? "icmp-%u" : "icmpv6-%u", type);
}
