/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 extension headers (RFC 8200 4).  Hop-by-hop options, destination options:
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      nh       |      len      |      options, padding ...     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * Routing (RFC 8200 4.4; type 0 RFC 2460, 2 RFC 6275, 4 RFC 8754):
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      nh       |      len      |     type      |    segleft    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           reserved                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         addresses ...                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * Fragment (RFC 8200 4.5):
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      nh       |     res1      |         offset          |res|m|
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              id                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { OPT_HDR = 2, ROUTING_HDR = 8, FRAGMENT_HDR = 8, NO_NEXT_HEADER = 59, V_LAST = 0 };

#define NEXT_HEADER                                                                       \
	FIELD("nh", 0, 8, ENUM, CONTENT,                                                  \
	      "number of the next header; derived from the next layer, else 59",          \
	      .computed = true, .names = wire_ipproto_names)

#define EXT_LEN                                                                           \
	FIELD("len", 8, 8, UINT, CONTENT, "length in units of 8 bytes, the first not counted", \
	      .computed = true, .follows = true)

static const WireField option_fields[] = {
	[F_EXTOPT_NH] = NEXT_HEADER,
	[F_EXTOPT_LEN] = EXT_LEN,
	[F_EXTOPT_OPTIONS] = FIELD("options", 16, 0, OPTIONS, CONTENT, "options; padded to 8 bytes by PadN"),
};

static const WireField routing_fields[] = {
	[F_ROUTING_NH] = NEXT_HEADER,
	[F_ROUTING_LEN] = EXT_LEN,
	[F_ROUTING_TYPE] =
		FIELD("type", 16, 8, UINT, CONTENT, "0 source route, 2 mobility, 4 segment routing"),
	[F_ROUTING_SEGLEFT] =
		FIELD("segleft", 24, 8, UINT, CONTENT,
		      "addresses still to visit; all of them unless it is set", .computed = true),
	[F_ROUTING_RESERVED] =
		FIELD("reserved", 32, 32, UINT, CONTENT, "by type; segment routing: last entry, flags, tag"),
	[F_ROUTING_ADDRESSES] = FIELD("addresses", 64, 0, BYTES, CONTENT, "addresses of 16 bytes each"),
};

static const WireField fragment_fields[] = {
	[F_FRAGMENT_NH] = NEXT_HEADER,
	[F_FRAGMENT_RES1] = FIELD("res1", 8, 8, UINT, CONTENT, "reserved"),
	[F_FRAGMENT_OFFSET] = FIELD("offset", 16, 13, UINT, CONTENT, "fragment offset in units of 8 bytes"),
	[F_FRAGMENT_RES2] = FIELD("res2", 29, 2, UINT, CONTENT, "reserved"),
	[F_FRAGMENT_M] = FIELD("m", 31, 1, UINT, CONTENT, "more fragments follow"),
	[F_FRAGMENT_ID] = FIELD("id", 32, 32, UINT, CONTENT, "identification; distinct for each packet",
				.computed = true),
};

/* IANA "Destination Options and Hop-by-Hop Options". */
static const WireOption options[] = {
	OPTION("Pad1", 0, 1, 0, "one byte of padding"),
	OPTION("PadN", 1, 0, 0, "n bytes of padding"),
	OPTION("RouterAlert", 5, 4, 1, "RFC 2711"),
	OPTION("Jumbo", 0xc2, 6, 1, "RFC 2675"),
	OPTION("HAO", 0xc9, 18, 0, "home address, RFC 6275"),
	END_OF_OPTIONS,
};

/* A header whose second byte is its length in units of 8 bytes, less one. */
static const uint8_t *take_ext(WireParse *p, WireLayer *l, size_t fixed)
{
	const uint8_t *h = wire_head(p, l, fixed);

	if (!h)
		return NULL;
	size_t n = (h[1] + 1u) * 8u;

	if (!wire_take(p, l, n))
		return NULL;
	wire_take_var(p, l, V_LAST, fixed, n);
	return h;
}

static bool parse_options(WireParse *p, WireLayer *l)
{
	const uint8_t *h = take_ext(p, l, OPT_HDR);

	if (!h)
		return false;
	wire_check_options(p, l->proto, l->var[V_LAST]);
	wire_follow_ipproto(p, h[0], true);
	return true;
}

static bool parse_routing(WireParse *p, WireLayer *l)
{
	const uint8_t *h = take_ext(p, l, ROUTING_HDR);

	if (!h)
		return false;
	if (h[2] == 0 && h[1] % 2) /* RFC 2460 4.4: two units an address */
		wire_note(p, "routing header of type 0 and length %u, which is odd", h[1]);
	else if (h[2] == 0 && h[3] > h[1] / 2)
		wire_note(p, "routing header with %u segments left of %u", h[3], h[1] / 2);
	wire_follow_ipproto(p, h[0], true);
	return true;
}

static bool parse_fragment(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, FRAGMENT_HDR);

	if (!h || !wire_take(p, l, FRAGMENT_HDR))
		return false;
	unsigned offset = get_be16(h + 2) & 0xfff8u;

	if (offset) {
		wire_note(p, "a fragment at offset %u: what it carries starts in the first one", offset);
		return true;
	}
	p->fragment = h[3] & 1;
	wire_follow_ipproto(p, h[0], true);
	return true;
}

static void finish_options(WireBuild *b, unsigned at)
{
	wire_derive_ipproto(b, at, F_EXTOPT_NH, NO_NEXT_HEADER);
	wire_derive_len(b, at, F_EXTOPT_LEN, b->out->layer[at].len / 8 - 1, "length");
}

static void finish_routing(WireBuild *b, unsigned at)
{
	const WireLayer *l = &b->out->layer[at];

	wire_derive_ipproto(b, at, F_ROUTING_NH, NO_NEXT_HEADER);
	wire_derive_len(b, at, F_ROUTING_LEN, l->len / 8 - 1, "length");
	wire_derive(b, at, F_ROUTING_SEGLEFT, (l->len - ROUTING_HDR) / 16);
}

static void finish_fragment(WireBuild *b, unsigned at)
{
	wire_derive_ipproto(b, at, F_FRAGMENT_NH, NO_NEXT_HEADER);
}

static void summary_fragment(const WireLayer *l, Sb *out)
{
	sb_printf(out, " %u%s id=%u", (unsigned)wire_num(l, F_FRAGMENT_OFFSET) * 8,
		  wire_num(l, F_FRAGMENT_M) ? "+" : "", (unsigned)wire_num(l, F_FRAGMENT_ID));
}

#define OPTIONS_HEADER(pid, nm, ttl)                  \
	const WireProto wire_proto_##pid = {          \
		.id = WIRE_##pid,                     \
		.name = (nm),                         \
		.title = (ttl),                       \
		.rfc = "RFC 8200",                    \
		.role = ROLE_EXTENSION,               \
		.fields = option_fields,              \
		.nfields = F_EXTOPT_N,                \
		.nvars = 1,                           \
		.var = { F_EXTOPT_OPTIONS },          \
		.fixed = OPT_HDR,                     \
		.align = 8,                           \
		.opt_form = OPT_IPV6,                 \
		.options = options,                   \
		.parse = parse_options,               \
		.finish = finish_options,             \
	}

OPTIONS_HEADER(HOPOPT, "IPv6ExtHdrHopByHop", "IPv6 hop-by-hop options");
OPTIONS_HEADER(DESTOPT, "IPv6ExtHdrDestOpt", "IPv6 destination options");

const WireProto wire_proto_ROUTING = {
	.id = WIRE_ROUTING,
	.name = "IPv6ExtHdrRouting",
	.title = "IPv6 routing header",
	.rfc = "RFC 8200",
	.role = ROLE_EXTENSION,
	.fields = routing_fields,
	.nfields = F_ROUTING_N,
	.nvars = 1,
	.var = { F_ROUTING_ADDRESSES },
	.fixed = ROUTING_HDR,
	.align = 8,
	.parse = parse_routing,
	.finish = finish_routing,
};

const WireProto wire_proto_FRAGMENT = {
	.id = WIRE_FRAGMENT,
	.name = "IPv6ExtHdrFragment",
	.title = "IPv6 fragment header",
	.rfc = "RFC 8200",
	.role = ROLE_EXTENSION,
	.fields = fragment_fields,
	.nfields = F_FRAGMENT_N,
	.fixed = FRAGMENT_HDR,
	.parse = parse_fragment,
	.finish = finish_fragment,
	.summary = summary_fragment,
};
