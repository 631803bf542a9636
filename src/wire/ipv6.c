/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 (RFC 8200; tc by RFC 2474 and 3168)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |version|      tc       |                  fl                   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             plen              |      nh       |     hlim      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        src (128 bits)                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        dst (128 bits)                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 40, NO_NEXT_HEADER = 59, HLIM = 64, HLIM_ND = 255, HLIM_MLD = 1 };

static const WireField fields[] = {
	[F_IPV6_VERSION] = FIELD("version", 0, 4, UINT, CONTENT, "IP version", .dflt = 6),
	[F_IPV6_TC] =
		FIELD("tc", 4, 8, UINT, CONTENT, "traffic class: DSCP (upper 6 bits) and ECN (lower 2)"),
	[F_IPV6_FL] = FIELD("fl", 12, 20, UINT, CONTENT, "flow label"),
	[F_IPV6_PLEN] = FIELD("plen", 32, 16, UINT, CONTENT, "bytes behind this header; all that follows",
			      .computed = true, .follows = true),
	[F_IPV6_NH] = FIELD("nh", 48, 8, ENUM, CONTENT,
			    "number of the next header; derived from the next layer, else 59",
			    .computed = true, .names = wire_ipproto_names),
	[F_IPV6_HLIM] = FIELD("hlim", 56, 8, UINT, CONTENT,
			      "hops left; 255 for neighbour discovery, 1 for MLD, else 64", .computed = true,
			      .dflt = HLIM),
	[F_IPV6_SRC] = FIELD("src", 64, 128, IP6, MATCHED, "source; the kernel's choice for the destination",
			     .computed = true),
	[F_IPV6_DST] = FIELD("dst", 192, 128, IP6, MATCHED, "destination", .required = true),
};

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h || !wire_whole(p, l, HDR))
		return false;
	unsigned plen = get_be16(h + 4);

	if (h[0] >> 4 != 6)
		return wire_fail(p, "IP version %u is not 6", h[0] >> 4);
	if (!wire_take(p, l, HDR))
		return false;
	if (!wire_limit(p, plen) && !p->quoted)
		wire_note(p, "IPv6 payload length %u, %zu bytes are there", plen, cur_left(&p->c));
	p->fragment = false;
	wire_follow_ipproto(p, h[6], true);
	return true;
}

/* Messages of the link alone: neighbour discovery is valid only with a hop limit of
 * 255 (RFC 4861 6.1, 7.1), listener discovery only with 1 (RFC 2710 3, RFC 3810 5). */
static const struct {
	uint8_t type, hlim;
} link_messages[] = {
	{ 133, HLIM_ND }, { 134, HLIM_ND }, { 135, HLIM_ND },  { 136, HLIM_ND },  { 137, HLIM_ND },
	{ 130, HLIM_MLD }, { 131, HLIM_MLD }, { 132, HLIM_MLD }, { 143, HLIM_MLD },
};

static uint8_t default_hlim(const WireBuild *b, unsigned at)
{
	if (wire_inner(b, at) != WIRE_ICMPV6)
		return HLIM;
	uint64_t type = wire_num(&b->out->layer[at + 1], F_ICMPV6_TYPE);

	for (size_t i = 0; i < sizeof link_messages / sizeof *link_messages; i++)
		if (link_messages[i].type == type)
			return link_messages[i].hlim;
	return HLIM;
}

static void finish(WireBuild *b, unsigned at)
{
	wire_derive_len(b, at, F_IPV6_PLEN, b->end - b->out->layer[at].off - HDR, "payload length");
	wire_derive_ipproto(b, at, F_IPV6_NH, NO_NEXT_HEADER);
	wire_derive(b, at, F_IPV6_HLIM, default_hlim(b, at));
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_IPV6_SRC, out);
	sb_cstr(out, " > ");
	wire_field_text(l, F_IPV6_DST, out);
}

const WireProto wire_proto_IPV6 = {
	.id = WIRE_IPV6,
	.name = "IPv6",
	.title = "Internet Protocol version 6",
	.rfc = "RFC 8200",
	.role = ROLE_NETWORK,
	.fields = fields,
	.nfields = F_IPV6_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
