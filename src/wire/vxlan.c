/* SPDX-License-Identifier: Apache-2.0
 *
 * VXLAN (RFC 7348), with the group policy and generic protocol extensions
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     flags     |                   reserved1                   |
 * |     flags     |    gpflags    |             gpid              | G
 * |     flags     |           reserved0           | NextProtocol  | NextProtocol
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      vni                      |   reserved2   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, FLAG_NEXT = 0x04, FLAG_INSTANCE = 0x08, FLAG_GROUP = 0x80 };

enum { FORM_PLAIN = 1, FORM_GROUP = 2, FORM_NEXT = 4 };

enum { F_FLAGS, F_RESERVED1, F_GPFLAGS, F_GPID, F_RESERVED0, F_NEXT, F_VNI, F_RESERVED2, F_N };

static const WireName flag_names[] = {
	{ "OAM", 1 },  { "BUM", 2 },  { "NextProtocol", FLAG_NEXT }, { "Instance", FLAG_INSTANCE },
	{ "V1", 16 }, { "V2", 32 }, { "R", 64 },		       { "G", FLAG_GROUP },
	{ NULL, 0 },
};

static const WireName next_names[] = {
	{ "NotDefined", 0 }, { "IPv4", 1 }, { "IPv6", 2 }, { "Ethernet", 3 }, { "NSH", 4 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_FLAGS] = FIELD("flags", 0, 8, FLAGS, CONTENT, "Instance: vni is valid; NextProtocol and G: other fields",
			  .dflt = FLAG_INSTANCE, .names = flag_names),
	[F_RESERVED1] = FIELD("reserved1", 8, 24, UINT, CONTENT, "reserved", .when = FORM_PLAIN),
	[F_GPFLAGS] = FIELD("gpflags", 8, 8, UINT, CONTENT, "flags of group policy", .when = FORM_GROUP),
	[F_GPID] = FIELD("gpid", 16, 16, UINT, CONTENT, "group of the sender", .when = FORM_GROUP),
	[F_RESERVED0] = FIELD("reserved0", 8, 16, UINT, CONTENT, "reserved", .when = FORM_NEXT),
	[F_NEXT] = FIELD("NextProtocol", 24, 8, ENUM, CONTENT, "what follows", .names = next_names, .when = FORM_NEXT),
	[F_VNI] = FIELD("vni", 32, 24, UINT, CONTENT, "network identifier"),
	[F_RESERVED2] = FIELD("reserved2", 56, 8, UINT, CONTENT, "reserved"),
};

static WireVariant variant(const uint8_t *image)
{
	uint32_t form = image[0] & FLAG_GROUP ? FORM_GROUP : image[0] & FLAG_NEXT ? FORM_NEXT : FORM_PLAIN;

	return (WireVariant){ form, HDR };
}

/* RFC 7348 5: an Ethernet frame follows, if nothing else is said. */
static bool follow(WireParse *p, const uint8_t *h)
{
	static const uint8_t ids[] = { WIRE_ETHER, WIRE_IP, WIRE_IPV6, WIRE_ETHER };
	uint8_t next = variant(h).bit == FORM_NEXT ? h[3] : 0;

	if (next < sizeof ids)
		p->next = (WireId)ids[next];
	else
		wire_note(p, "VXLAN next protocol %u is not decoded", next);
	return true;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h || !wire_take(p, l, HDR))
		return false;
	return cur_left(&p->c) == 0 || follow(p, h);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " vni=%u", (unsigned)wire_num(l, F_VNI));
}

const WireProto wire_proto_VXLAN = {
	.id = WIRE_VXLAN,
	.name = "VXLAN",
	.title = "Virtual eXtensible Local Area Network",
	.rfc = "RFC 7348",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.variant = variant,
	.parse = parse,
	.summary = summary,
};
