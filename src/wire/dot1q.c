/* SPDX-License-Identifier: Apache-2.0
 *
 * VLAN tag (IEEE 802.1Q 9.6), also stacked: QinQ with 0x88a8 (802.1ad), 0x9100
 * or 0x8100 in front of it.
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |prio |d|         vlan          |             type              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 4 };

static const WireField fields[] = {
	[F_DOT1Q_PRIO] = FIELD("prio", 0, 3, UINT, CONTENT, "priority code point, 0..7"),
	[F_DOT1Q_ID] = FIELD("id", 3, 1, UINT, CONTENT, "drop eligible indicator (DEI)"),
	[F_DOT1Q_VLAN] = FIELD("vlan", 4, 12, UINT, CONTENT, "VLAN identifier", .dflt = 1),
	[F_DOT1Q_TYPE] = FIELD("type", 16, 16, ENUM, CONTENT,
			       "EtherType of what follows; derived from the next layer, else 0x9000",
			       .computed = true, .names = wire_ethertype_names),
};

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h || !wire_take(p, l, HDR))
		return false;
	wire_follow_type_or_length(p, get_be16(h + 2));
	return true;
}

static void finish(WireBuild *b, unsigned at)
{
	wire_derive_ethertype(b, at, F_DOT1Q_TYPE);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " vlan %u", (unsigned)wire_num(l, F_DOT1Q_VLAN));
}

const WireProto wire_proto_DOT1Q = {
	.id = WIRE_DOT1Q,
	.name = "Dot1Q",
	.title = "VLAN tag",
	.rfc = "IEEE 802.1Q",
	.role = ROLE_LINK,
	.fields = fields,
	.nfields = F_DOT1Q_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
