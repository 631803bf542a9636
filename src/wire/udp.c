/* SPDX-License-Identifier: Apache-2.0
 *
 * UDP (RFC 768)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             sport             |             dport             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              len              |            chksum             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, PROTO_UDP = 17 };

static const WireField fields[] = {
	[F_UDP_SPORT] =
		FIELD("sport", 0, 16, UINT, MATCHED, "source port; a free one of ours", .computed = true),
	[F_UDP_DPORT] = FIELD("dport", 16, 16, UINT, MATCHED, "destination port", .required = true),
	[F_UDP_LEN] = FIELD("len", 32, 16, UINT, CONTENT, "bytes, this header included; all that follows",
			    .computed = true, .follows = true),
	[F_UDP_CHKSUM] =
		FIELD("chksum", 48, 16, UINT, CONTENT, "checksum with the pseudo header; 0 on IPv4: not used",
		      .computed = true, .follows = true),
};

/* The datagram's end.  What the IP packet has behind it is no part of it. */
static void parse_length(WireParse *p, unsigned len)
{
	size_t left = cur_left(&p->c), data = len - HDR;

	if (data > left) {
		if (!p->quoted && !p->fragment)
			wire_note(p, "UDP length %u, %zu bytes are there", len, left + HDR);
		return;
	}
	if (data < left && !p->quoted && !p->fragment)
		wire_note(p, "UDP length %u leaves %zu bytes of the packet over", len, left - data);
	(void)wire_limit(p, data);
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	unsigned len = get_be16(h + 4);
	bool has_len = wire_here(p, HDR) >= 6;

	if (len < HDR && has_len && !p->quoted)
		return wire_fail(p, "UDP length %u is below 8", len);
	if (!wire_take(p, l, HDR))
		return false;
	if (len >= HDR)
		parse_length(p, len);
	wire_follow_port(p, false, get_be16(h), get_be16(h + 2));
	return true;
}

/* RFC 768: a checksum that is computed as 0 is sent as all ones.  It covers what
 * the receiver will take for the datagram: `len` bytes, if so many are there. */
static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];
	Bytes all = wire_from(b, at);
	uint32_t sum = 0;

	wire_derive_len(b, at, F_UDP_LEN, all.n, "length");
	size_t len = (size_t)wire_num(l, F_UDP_LEN);

	if (wire_is_set(l, F_UDP_CHKSUM))
		return;
	if (len >= HDR && len < all.n)
		all.n = len;
	wire_derive(b, at, F_UDP_CHKSUM, 0);
	if (!wire_pseudo(b->out, at, PROTO_UDP, all.n, &sum))
		return;
	uint16_t c = wire_csum_fold(wire_csum(sum, all));

	wire_derive(b, at, F_UDP_CHKSUM, c ? c : 0xffff);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " %u > %u", (unsigned)wire_num(l, F_UDP_SPORT), (unsigned)wire_num(l, F_UDP_DPORT));
}

const WireProto wire_proto_UDP = {
	.id = WIRE_UDP,
	.name = "UDP",
	.title = "User Datagram Protocol",
	.rfc = "RFC 768",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_UDP_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
