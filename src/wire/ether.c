/* SPDX-License-Identifier: Apache-2.0
 *
 * Ethernet II (RFC 894, IEEE 802.3)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              dst                              |
 * +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                               |              src              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
 * |                                                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             type              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 14, LENGTH_MOST = 1500 };

static const WireField fields[] = {
	[F_ETHER_DST] =
		FIELD("dst", 0, 48, MAC, CONTENT, "receiver; the next hop's address", .computed = true),
	[F_ETHER_SRC] =
		FIELD("src", 48, 48, MAC, CONTENT, "sender; the interface's address", .computed = true),
	[F_ETHER_TYPE] = FIELD("type", 96, 16, ENUM, CONTENT,
			       "EtherType of what follows; derived from the next layer, else 0x9000",
			       .computed = true, .names = wire_ethertype_names),
};

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	if (get_be16(h + 12) <= LENGTH_MOST) /* IEEE 802.3 3.2.6 */
		l->proto = wire_proto(WIRE_DOT3);
	if (!wire_take(p, l, HDR))
		return false;
	wire_follow_type_or_length(p, get_be16(h + 12));
	return true;
}

static void finish(WireBuild *b, unsigned at)
{
	wire_derive_ethertype(b, at, F_ETHER_TYPE);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_ETHER_SRC, out);
	sb_cstr(out, " > ");
	wire_field_text(l, F_ETHER_DST, out);
}

const WireProto wire_proto_ETHER = {
	.id = WIRE_ETHER,
	.name = "Ether",
	.title = "Ethernet",
	.rfc = "RFC 894",
	.role = ROLE_LINK,
	.fields = fields,
	.nfields = F_ETHER_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
