/* SPDX-License-Identifier: Apache-2.0
 *
 * MPLS label stack entry (RFC 3032, RFC 5462)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                 label                 | cos |s|      ttl      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * Nothing in it says what the stack carries.  What has IP's version number in its
 * first four bits is IP, as all routers take it (RFC 4928 3); anything else stays
 * undecoded.
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 4 };

enum { F_LABEL, F_COS, F_S, F_TTL, F_N };

static const WireName labels[] = {
	{ "explicit-null", 0 }, { "router-alert", 1 }, { "ipv6-explicit-null", 2 }, { "implicit-null", 3 },
	{ "gal", 13 },		{ NULL, 0 },
};

static const WireField fields[] = {
	[F_LABEL] = FIELD("label", 0, 20, ENUM, CONTENT, "label", .dflt = 3, .names = labels),
	[F_COS] = FIELD("cos", 20, 3, UINT, CONTENT, "traffic class"),
	[F_S] = FIELD("s", 23, 1, UINT, CONTENT, "1: the bottom of the stack", .computed = true),
	[F_TTL] = FIELD("ttl", 24, 8, UINT, CONTENT, "hops left"),
};

static void follow(WireParse *p)
{
	if (cur_left(&p->c) == 0)
		return;
	unsigned version = p->c.p[p->c.off] >> 4;

	if (version == 4 || version == 6)
		p->next = version == 4 ? WIRE_IP : WIRE_IPV6;
	else
		wire_note(p, "an MPLS stack does not say what it carries, and this is no IP");
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	bool bottom = h[2] & 1;

	if (!wire_take(p, l, HDR))
		return false;
	if (!bottom)
		p->next = WIRE_MPLS;
	else
		follow(p);
	return true;
}

static void finish(WireBuild *b, unsigned at)
{
	wire_derive(b, at, F_S, wire_inner(b, at) != WIRE_MPLS);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_LABEL, out);
	sb_printf(out, " ttl=%u", (unsigned)wire_num(l, F_TTL));
}

const WireProto wire_proto_MPLS = {
	.id = WIRE_MPLS,
	.name = "MPLS",
	.title = "Multiprotocol Label Switching",
	.rfc = "RFC 3032",
	.role = ROLE_LINK,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
