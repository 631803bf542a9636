/* SPDX-License-Identifier: Apache-2.0
 *
 * ARP for IPv4 over Ethernet (RFC 826)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            hwtype             |             ptype             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |   hwlen (6)   |   plen (4)    |              op               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             hwsrc                             |
 * +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                               |             psrc              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              psrc             |                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+             hwdst             +
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             pdst                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 28 };

static const WireName ops[] = {
	{ "who-has", 1 },      { "is-at", 2 },     { "RARP-req", 3 },  { "RARP-rep", 4 },
	{ "Dyn-RARP-req", 5 }, { "Dyn-RAR-rep", 6 }, { "Dyn-RARP-err", 7 }, { "InARP-req", 8 },
	{ "InARP-rep", 9 },    { NULL, 0 },
};

static const WireName hardware[] = {
	{ "Ethernet", 1 }, { "IEEE802", 6 }, { "InfiniBand", 32 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_ARP_HWTYPE] = FIELD("hwtype", 0, 16, ENUM, CONTENT, "kind of hardware address", .dflt = 1,
			       .names = hardware),
	[F_ARP_PTYPE] = FIELD("ptype", 16, 16, ENUM, CONTENT, "EtherType of the protocol address",
			      .dflt = 0x0800, .names = wire_ethertype_names),
	[F_ARP_HWLEN] = FIELD("hwlen", 32, 8, UINT, CONTENT, "bytes of a hardware address", .dflt = 6),
	[F_ARP_PLEN] = FIELD("plen", 40, 8, UINT, CONTENT, "bytes of a protocol address", .dflt = 4),
	[F_ARP_OP] = FIELD("op", 48, 16, ENUM, CONTENT, "operation", .dflt = 1, .names = ops),
	[F_ARP_HWSRC] =
		FIELD("hwsrc", 64, 48, MAC, CONTENT, "the sender's MAC; the interface's", .computed = true),
	[F_ARP_PSRC] = FIELD("psrc", 112, 32, IP4, MATCHED, "the sender's address; the kernel's choice",
			     .computed = true),
	[F_ARP_HWDST] = FIELD("hwdst", 144, 48, MAC, CONTENT, "the target's MAC"),
	[F_ARP_PDST] = FIELD("pdst", 192, 32, IP4, MATCHED, "the target's address", .required = true),
};

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, 8);

	if (!h)
		return false;
	if (h[4] != 6 || h[5] != 4)
		return wire_fail(p, "ARP with addresses of %u and %u bytes: only 6 and 4 are decoded", h[4],
				 h[5]);
	if (!wire_take(p, l, HDR))
		return false;
	return wire_limit(p, 0); /* ARP carries nothing: the rest is padding */
}

static void summary(const WireLayer *l, Sb *out)
{
	bool reply = wire_num(l, F_ARP_OP) == 2;

	sb_char(out, ' ');
	wire_field_text(l, F_ARP_OP, out);
	sb_char(out, ' ');
	wire_field_text(l, reply ? F_ARP_PSRC : F_ARP_PDST, out);
	sb_cstr(out, reply ? " is at " : " tell ");
	wire_field_text(l, reply ? F_ARP_HWSRC : F_ARP_PSRC, out);
}

const WireProto wire_proto_ARP = {
	.id = WIRE_ARP,
	.name = "ARP",
	.title = "Address Resolution Protocol",
	.rfc = "RFC 826",
	.role = ROLE_NETWORK,
	.fields = fields,
	.nfields = F_ARP_N,
	.fixed = HDR,
	.parse = parse,
	.summary = summary,
};
