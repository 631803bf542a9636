/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMPv6 (RFC 4443), neighbour discovery (RFC 4861), multicast listeners (RFC
 * 2710).  What is behind the first word depends on the type:
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     type      |     code      |             cksum             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              id               |              seq              | 128 129
 * |    length     |                    unused                     | 1 3
 * |                              mtu                              | 2
 * |                              ptr                              | 4
 * |              mrd              |           reserved            | 130..132
 * |                              res                              | 133 135 137
 * |     chlim     |M|O|H|prf|P|   |        routerlifetime         | 134
 * |R|S|O|                                                         | 136
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |   tgt (135 136 137), mladdr (130..132): 128 bits              |
 * |   reachabletime, retranstimer (134): 32 bits each             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |   dst (137): 128 bits                                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |   options (133..137)                                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, HDR_RA = 16, HDR_TARGET = 24, HDR_REDIRECT = 40, V_OPTIONS = 0, PROTO_ICMPV6 = 58 };

/* The forms of the header. */
enum {
	FORM_OTHER = 1,
	FORM_ECHO = 2,
	FORM_ERROR = 4, /* with a length, RFC 4884 */
	FORM_TOO_BIG = 8,
	FORM_PARAM = 16,
	FORM_MLD = 32,
	FORM_RS = 64,
	FORM_RA = 128,
	FORM_NS = 256,
	FORM_NA = 512,
	FORM_REDIRECT = 1024,
	FORM_ND = FORM_RS | FORM_RA | FORM_NS | FORM_NA | FORM_REDIRECT,
};

static const WireVariant form_other = { FORM_OTHER, HDR };

static const struct {
	uint8_t type;
	WireVariant form;
} forms[] = {
	{ 128, { FORM_ECHO, HDR } },      { 129, { FORM_ECHO, HDR } },
	{ 1, { FORM_ERROR, HDR } },       { 2, { FORM_TOO_BIG, HDR } },
	{ 3, { FORM_ERROR, HDR } },       { 4, { FORM_PARAM, HDR } },
	{ 133, { FORM_RS, HDR } },        { 134, { FORM_RA, HDR_RA } },
	{ 135, { FORM_NS, HDR_TARGET } }, { 136, { FORM_NA, HDR_TARGET } },
	{ 137, { FORM_REDIRECT, HDR_REDIRECT } },
	{ 130, { FORM_MLD, HDR_TARGET } }, { 131, { FORM_MLD, HDR_TARGET } },
	{ 132, { FORM_MLD, HDR_TARGET } },
};

/* IANA "ICMPv6 Type Numbers", by Scapy's names; the short ones are as ICMP's. */
static const WireName types[] = {
	{ "dest-unreach", 1 },
	{ "packet-too-big", 2 },
	{ "time-exceeded", 3 },
	{ "parameter-problem", 4 },
	{ "echo-request", 128 },
	{ "echo-reply", 129 },
	{ "mld-query", 130 },
	{ "mld-report", 131 },
	{ "mld-done", 132 },
	{ "router-solicitation", 133 },
	{ "router-advertisement", 134 },
	{ "neighbor-solicitation", 135 },
	{ "neighbor-advertisement", 136 },
	{ "redirect", 137 },
	{ "mldv2-report", 143 },
	{ NULL, 0 },
};

static const WireName preferences[] = {
	{ "medium", 0 }, { "high", 1 }, { "reserved", 2 }, { "low", 3 }, { NULL, 0 }, /* RFC 4191 2.1 */
};

static const WireField fields[] = {
	[F_ICMPV6_TYPE] = FIELD("type", 0, 8, ENUM, CONTENT, "type of message", .dflt = 128, .names = types),
	[F_ICMPV6_CODE] = FIELD("code", 8, 8, UINT, CONTENT, "kind within the type"),
	[F_ICMPV6_CKSUM] = FIELD("cksum", 16, 16, UINT, CONTENT, "checksum with the pseudo header",
				 .computed = true, .follows = true),
	[F_ICMPV6_ID] = FIELD("id", 32, 16, UINT, MATCHED, "identifier of echo; distinct for each run",
			      .computed = true, .when = FORM_ECHO),
	[F_ICMPV6_SEQ] =
		FIELD("seq", 48, 16, UINT, MATCHED, "sequence number of echo; distinct for each probe",
		      .computed = true, .when = FORM_ECHO),
	[F_ICMPV6_MTU] =
		FIELD("mtu", 32, 32, UINT, CONTENT, "MTU of the next hop in bytes", .when = FORM_TOO_BIG),
	[F_ICMPV6_PTR] =
		FIELD("ptr", 32, 32, UINT, CONTENT, "offset of the byte that is wrong", .when = FORM_PARAM),
	[F_ICMPV6_LENGTH] = FIELD("length", 32, 8, UINT, CONTENT,
				  "length of the quote in units of 8 bytes, if extensions follow (RFC 4884)",
				  .when = FORM_ERROR),
	[F_ICMPV6_UNUSED] = FIELD("unused", 40, 24, UINT, CONTENT, "unused", .when = FORM_ERROR),
	[F_ICMPV6_RES] =
		FIELD("res", 32, 32, UINT, CONTENT, "reserved", .when = FORM_RS | FORM_NS | FORM_REDIRECT),
	[F_ICMPV6_R] =
		FIELD("R", 32, 1, UINT, CONTENT, "neighbour advertisement: it is a router", .when = FORM_NA),
	[F_ICMPV6_S] = FIELD("S", 33, 1, UINT, CONTENT, "neighbour advertisement: it was solicited",
			     .when = FORM_NA),
	[F_ICMPV6_O] = FIELD("O", 34, 1, UINT, CONTENT, "neighbour advertisement: override what is cached",
			     .when = FORM_NA),
	[F_ICMPV6_TGT] = FIELD("tgt", 64, 128, IP6, MATCHED, "target address",
			       .when = FORM_NS | FORM_NA | FORM_REDIRECT),
	[F_ICMPV6_DST] = FIELD("dst", 192, 128, IP6, CONTENT, "redirect: for which destination",
			       .when = FORM_REDIRECT),
	[F_ICMPV6_CHLIM] = FIELD("chlim", 32, 8, UINT, CONTENT, "router advertisement: hop limit to use",
				 .when = FORM_RA),
	[F_ICMPV6_M] = FIELD("M", 40, 1, UINT, CONTENT, "router advertisement: addresses by DHCPv6",
			     .when = FORM_RA),
	[F_ICMPV6_OTHER] =
		FIELD("other", 41, 1, UINT, CONTENT,
		      "router advertisement: other configuration by DHCPv6 (its O flag)", .when = FORM_RA),
	[F_ICMPV6_H] = FIELD("H", 42, 1, UINT, CONTENT, "router advertisement: home agent", .when = FORM_RA),
	[F_ICMPV6_PRF] = FIELD("prf", 43, 2, ENUM, CONTENT, "router advertisement: preference",
			       .names = preferences, .when = FORM_RA),
	[F_ICMPV6_P] = FIELD("P", 45, 1, UINT, CONTENT, "router advertisement: proxied", .when = FORM_RA),
	[F_ICMPV6_ROUTERLIFETIME] =
		FIELD("routerlifetime", 48, 16, UINT, CONTENT,
		      "router advertisement: seconds as a default router", .when = FORM_RA),
	[F_ICMPV6_REACHABLETIME] =
		FIELD("reachabletime", 64, 32, UINT, CONTENT,
		      "router advertisement: ms that a neighbour counts as reachable", .when = FORM_RA),
	[F_ICMPV6_RETRANSTIMER] = FIELD("retranstimer", 96, 32, UINT, CONTENT,
					"router advertisement: ms between solicitations", .when = FORM_RA),
	[F_ICMPV6_MRD] =
		FIELD("mrd", 32, 16, UINT, CONTENT, "MLD: maximum response delay in ms", .when = FORM_MLD),
	[F_ICMPV6_RESERVED] = FIELD("reserved", 48, 16, UINT, CONTENT, "MLD: reserved", .when = FORM_MLD),
	[F_ICMPV6_MLADDR] =
		FIELD("mladdr", 64, 128, IP6, CONTENT, "MLD: multicast address", .when = FORM_MLD),
	[F_ICMPV6_OPTIONS] =
		FIELD("options", 320, 0, OPTIONS, CONTENT, "options of neighbour discovery", .when = FORM_ND),
};

/* IANA "IPv6 Neighbor Discovery Option Formats" */
static const WireOption options[] = {
	OPTION("SrcLLAddr", 1, 8, 0, "the sender's link-layer address"),
	OPTION("DstLLAddr", 2, 8, 0, "the target's link-layer address"),
	OPTION("PrefixInfo", 3, 32, 0, "prefix length, flags, lifetimes, prefix"),
	OPTION("RedirectedHdr", 4, 0, 0, "the packet that is redirected"),
	OPTION("MTU", 5, 8, 0, "two bytes reserved, MTU in four"),
	OPTION("Nonce", 14, 0, 0, "RFC 3971"),
	OPTION("RouteInfo", 24, 0, 0, "RFC 4191"),
	OPTION("RDNSS", 25, 0, 0, "DNS servers (RFC 8106)"),
	OPTION("DNSSL", 31, 0, 0, "DNS search list (RFC 8106)"),
	END_OF_OPTIONS,
};

static WireVariant variant(const uint8_t *image)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].type == image[0])
			return forms[i].form;
	return form_other;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	WireVariant v = variant(h);
	size_t n = v.fixed;

	if (v.bit & FORM_ND) /* RFC 4861 4: options up to the end */
		n = n > cur_left(&p->c) ? n : cur_left(&p->c);
	if (!wire_take(p, l, n))
		return false;
	if (n > v.fixed) {
		wire_take_var(p, l, V_OPTIONS, v.fixed, n);
		wire_check_options(p, l->proto, l->var[V_OPTIONS]);
	}
	return true;
}

/* RFC 4443 2.3 */
static void finish(WireBuild *b, unsigned at)
{
	Bytes all = wire_from(b, at);
	uint32_t sum = 0;

	wire_derive(b, at, F_ICMPV6_CKSUM, 0);
	if (!wire_is_set(&b->out->layer[at], F_ICMPV6_CKSUM) &&
	    wire_pseudo(b->out, at, PROTO_ICMPV6, all.n, &sum))
		wire_derive(b, at, F_ICMPV6_CKSUM, wire_csum_fold(wire_csum(sum, all)));
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_ICMPV6_TYPE, out);
	if (wire_num(l, F_ICMPV6_CODE))
		sb_printf(out, "/%u", (unsigned)wire_num(l, F_ICMPV6_CODE));
	if (wire_has(l, F_ICMPV6_SEQ))
		sb_printf(out, " id=%u seq=%u", (unsigned)wire_num(l, F_ICMPV6_ID),
			  (unsigned)wire_num(l, F_ICMPV6_SEQ));
	if (wire_has(l, F_ICMPV6_MTU))
		sb_printf(out, " mtu=%u", (unsigned)wire_num(l, F_ICMPV6_MTU));
	if (wire_has(l, F_ICMPV6_TGT)) {
		sb_char(out, ' ');
		wire_field_text(l, F_ICMPV6_TGT, out);
	}
}

const WireProto wire_proto_ICMPV6 = {
	.id = WIRE_ICMPV6,
	.name = "ICMPv6",
	.title = "Internet Control Message Protocol version 6",
	.rfc = "RFC 4443",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_ICMPV6_N,
	.nvars = 1,
	.var = { F_ICMPV6_OPTIONS },
	.fixed = HDR_REDIRECT,
	.opt_form = OPT_ND,
	.options = options,
	.variant = variant,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
