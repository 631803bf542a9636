/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 (RFC 791; tos by RFC 2474 and 3168)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |version|  ihl  |      tos      |              len              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              id               |flags|          frag           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      ttl      |     proto     |            chksum             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              src                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              dst                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        options, padding                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 20, LONGEST_OPTIONS = 40, V_OPTIONS = 0 };

static const WireName flags[] = { { "MF", 1 }, { "DF", 2 }, { "evil", 4 }, { NULL, 0 } };

static const WireField fields[] = {
	[F_IP_VERSION] = FIELD("version", 0, 4, UINT, CONTENT, "IP version", .dflt = 4),
	[F_IP_IHL] = FIELD("ihl", 4, 4, UINT, CONTENT, "header length in units of 4 bytes; from the options",
			   .computed = true, .follows = true),
	[F_IP_TOS] = FIELD("tos", 8, 8, UINT, CONTENT, "DSCP (upper 6 bits) and ECN (lower 2)"),
	[F_IP_LEN] = FIELD("len", 16, 16, UINT, CONTENT,
			   "bytes of the packet, this header included; all that follows", .computed = true,
			   .follows = true),
	[F_IP_ID] = FIELD("id", 32, 16, UINT, CONTENT, "identification; distinct for each probe",
			  .computed = true),
	[F_IP_FLAGS] = FIELD("flags", 48, 3, FLAGS, CONTENT,
			     "MF more fragments, DF don't fragment, evil reserved", .names = flags),
	[F_IP_FRAG] = FIELD("frag", 51, 13, UINT, CONTENT, "fragment offset in units of 8 bytes"),
	[F_IP_TTL] = FIELD("ttl", 64, 8, UINT, CONTENT, "hops left", .dflt = 64),
	[F_IP_PROTO] = FIELD("proto", 72, 8, ENUM, CONTENT,
			     "protocol number of what follows; derived from the next layer, else 0",
			     .computed = true, .names = wire_ipproto_names),
	[F_IP_CHKSUM] = FIELD("chksum", 80, 16, UINT, CONTENT, "checksum of the header", .computed = true,
			      .follows = true),
	[F_IP_SRC] = FIELD("src", 96, 32, IP4, MATCHED, "source; the kernel's choice for the destination",
			   .computed = true),
	[F_IP_DST] = FIELD("dst", 128, 32, IP4, MATCHED, "destination", .required = true),
	[F_IP_OPTIONS] =
		FIELD("options", 160, 0, OPTIONS, CONTENT, "options, padded to 4 bytes; at most 40 bytes"),
};

/* IANA "IP Option Numbers", copy flag and class included. */
static const WireOption options[] = {
	OPTION("EOL", 0, 1, 0, "end of options"),
	OPTION("NOP", 1, 1, 0, "no operation"),
	OPTION("RR", 7, 0, 0, "record route: pointer, then room for addresses"),
	OPTION("IPTimestamp", 68, 0, 0, "pointer, overflow and flags, then room for time stamps"),
	OPTION("Security", 130, 0, 0, "RFC 1108"),
	OPTION("LSRR", 131, 0, 0, "loose source route: pointer, addresses"),
	OPTION("StreamId", 136, 4, 1, "RFC 791, obsolete"),
	OPTION("SSRR", 137, 0, 0, "strict source route: pointer, addresses"),
	OPTION("RouterAlert", 148, 4, 1, "RFC 2113"),
	END_OF_OPTIONS,
};

/* Where the packet ends.  In a quote the length may be of more than was quoted, or
 * be mangled by a router: it does not matter there. */
static void parse_length(WireParse *p, uint16_t len, unsigned ihl)
{
	if (wire_limit(p, len - ihl) || p->quoted)
		return;
	wire_note(p, "IP total length %u, %zu bytes are there", len, cur_left(&p->c) + ihl);
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h || !wire_whole(p, l, HDR))
		return false;
	unsigned ihl = (h[0] & 15u) * 4, len = get_be16(h + 2), frag = get_be16(h + 6) & 0x3fffu;

	if (h[0] >> 4 != 4)
		return wire_fail(p, "IP version %u is not 4", h[0] >> 4);
	if (ihl < HDR)
		return wire_fail(p, "IP header length %u is below 5", ihl / 4);
	if (len < ihl && !p->quoted)
		return wire_fail(p, "IP total length %u is below the header's %u", len, ihl);
	if (!wire_take(p, l, ihl))
		return false;
	wire_take_var(p, l, V_OPTIONS, HDR, ihl);
	if (ihl > HDR)
		wire_check_options(p, l->proto, l->var[V_OPTIONS]);
	if (len >= ihl)
		parse_length(p, (uint16_t)len, ihl);
	if (frag & 0x1fff) { /* RFC 791 3.2: only the first fragment has the transport header */
		wire_note(p, "a fragment at offset %u: what it carries starts in the first one",
			  (frag & 0x1fff) * 8);
		return true;
	}
	p->fragment = frag & 0x2000;
	wire_follow_ipproto(p, h[9], false);
	return true;
}

static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];

	if (l->len > HDR + LONGEST_OPTIONS)
		wire_build_error(b, "IP options of %u bytes: the most is %d", l->len - HDR, LONGEST_OPTIONS);
	wire_derive(b, at, F_IP_IHL, l->len / 4);
	wire_derive_len(b, at, F_IP_LEN, b->end - l->off, "total length");
	wire_derive_ipproto(b, at, F_IP_PROTO, 0);
	wire_derive(b, at, F_IP_CHKSUM, 0);
	if (!wire_is_set(l, F_IP_CHKSUM))
		wire_derive(b, at, F_IP_CHKSUM, wire_csum_fold(wire_csum(0, BYTES(l->image, l->len))));
}

static void summary(const WireLayer *l, Sb *out)
{
	uint64_t f = wire_num(l, F_IP_FLAGS), frag = wire_num(l, F_IP_FRAG);

	sb_char(out, ' ');
	wire_field_text(l, F_IP_SRC, out);
	sb_cstr(out, " > ");
	wire_field_text(l, F_IP_DST, out);
	if (frag || (f & 1))
		sb_printf(out, " frag %u%s", (unsigned)frag * 8, f & 1 ? "+" : "");
}

const WireProto wire_proto_IP = {
	.id = WIRE_IP,
	.name = "IP",
	.title = "Internet Protocol version 4",
	.rfc = "RFC 791",
	.role = ROLE_NETWORK,
	.fields = fields,
	.nfields = F_IP_N,
	.nvars = 1,
	.var = { F_IP_OPTIONS },
	.fixed = HDR,
	.align = 4,
	.opt_form = OPT_TLV,
	.options = options,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
