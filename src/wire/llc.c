/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames with a length where Ethernet II has a type (IEEE 802.3 3.2), LLC (IEEE
 * 802.2), SNAP (RFC 1042) and the spanning tree's BPDUs (IEEE 802.1D 9.3)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        dst (48), src (48)                     |
 * |              len              | Dot3
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     dsap      |     ssap      |     ctrl      | LLC
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      OUI                      |  code (16)    | SNAP
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             proto             |    version    |   bpdutype    | STP
 * |   bpduflags   |  rootid (16), rootmac (48), pathcost (32)     |
 * |  bridgeid (16), bridgemac (48), portid (16)                   |
 * |  age (16), maxage (16), hellotime (16), fwddelay (16)         |
 * |  version1len (8)   RSTP
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { DOT3 = 14, LLC = 3, SNAP = 5, BPDU = 35, BPDU_RST = 36, BPDU_TCN = 4 };

enum { SAP_STP = 0x42, SAP_SNAP = 0xaa, UNNUMBERED = 3 };

enum { F_DST, F_SRC, F_LEN, F_N };

static const WireField dot3_fields[] = {
	[F_DST] = FIELD("dst", 0, 48, MAC, CONTENT, "receiver", .required = true),
	[F_SRC] = FIELD("src", 48, 48, MAC, CONTENT, "sender; the interface's address", .computed = true),
	[F_LEN] = FIELD("len", 96, 16, UINT, CONTENT, "bytes that follow, padding not counted", .computed = true,
			.follows = true),
};

/* Which of the two a frame is, Ethernet's decoder finds out. */
static bool dot3_parse(WireParse *p, WireLayer *l)
{
	return wire_proto(WIRE_ETHER)->parse(p, l);
}

static void dot3_finish(WireBuild *b, unsigned at)
{
	wire_derive_len(b, at, F_LEN, wire_from(b, at).n - DOT3, "length");
}

static void dot3_summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_SRC, out);
	sb_cstr(out, " > ");
	wire_field_text(l, F_DST, out);
}

const WireProto wire_proto_DOT3 = {
	.id = WIRE_DOT3,
	.name = "Dot3",
	.title = "Ethernet with a length",
	.rfc = "IEEE 802.3",
	.role = ROLE_LINK,
	.fields = dot3_fields,
	.nfields = F_N,
	.fixed = DOT3,
	.parse = dot3_parse,
	.finish = dot3_finish,
	.summary = dot3_summary,
};

/* ---- LLC ---- */

enum { L_DSAP, L_SSAP, L_CTRL, L_N };

static const WireName saps[] = {
	{ "null", 0 }, { "STP", SAP_STP }, { "SNAP", SAP_SNAP }, { "NetBEUI", 0xf0 }, { "ISO", 0xfe }, { NULL, 0 },
};

static const WireField llc_fields[] = {
	[L_DSAP] = FIELD("dsap", 0, 8, ENUM, CONTENT, "to whom; derived from the next layer", .computed = true,
			 .names = saps),
	[L_SSAP] = FIELD("ssap", 8, 8, ENUM, CONTENT, "from whom; derived from the next layer", .computed = true,
			 .names = saps),
	[L_CTRL] = FIELD("ctrl", 16, 8, UINT, CONTENT, "3: unnumbered information", .computed = true),
};

static bool llc_parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, LLC);

	if (!h)
		return false;
	uint8_t dsap = h[0], ssap = h[1], ctrl = h[2];

	if (!wire_take(p, l, LLC))
		return false;
	if (cur_left(&p->c) == 0)
		return true;
	if (ctrl == UNNUMBERED && dsap == ssap && (dsap == SAP_STP || dsap == SAP_SNAP))
		p->next = dsap == SAP_STP ? WIRE_STP : WIRE_SNAP;
	else
		wire_note(p, "LLC from 0x%02x to 0x%02x with control 0x%02x is not decoded", ssap, dsap, ctrl);
	return true;
}

static void llc_finish(WireBuild *b, unsigned at)
{
	WireId inner = wire_inner(b, at);
	uint8_t sap = inner == WIRE_STP ? SAP_STP : inner == WIRE_SNAP ? SAP_SNAP : 0;

	wire_derive(b, at, L_DSAP, sap);
	wire_derive(b, at, L_SSAP, sap);
	wire_derive(b, at, L_CTRL, sap ? UNNUMBERED : 0);
}

const WireProto wire_proto_LLC = {
	.id = WIRE_LLC,
	.name = "LLC",
	.title = "Logical Link Control",
	.rfc = "IEEE 802.2",
	.role = ROLE_LINK,
	.fields = llc_fields,
	.nfields = L_N,
	.fixed = LLC,
	.parse = llc_parse,
	.finish = llc_finish,
};

/* ---- SNAP ---- */

enum { N_OUI, N_CODE, N_N };

static const WireField snap_fields[] = {
	[N_OUI] = FIELD("OUI", 0, 24, UINT, CONTENT, "0: code is an EtherType"),
	[N_CODE] = FIELD("code", 24, 16, ENUM, CONTENT, "EtherType; derived from the next layer", .computed = true,
			 .names = wire_ethertype_names),
};

static bool snap_parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, SNAP);

	if (!h || !wire_take(p, l, SNAP))
		return false;
	unsigned oui = (unsigned)h[0] << 16 | get_be16(h + 1);

	if (oui == 0)
		wire_follow_ethertype(p, get_be16(h + 3));
	else if (cur_left(&p->c))
		wire_note(p, "SNAP 0x%06x 0x%04x is not decoded", oui, get_be16(h + 3));
	return true;
}

static void snap_finish(WireBuild *b, unsigned at)
{
	wire_derive_ethertype(b, at, N_CODE);
}

const WireProto wire_proto_SNAP = {
	.id = WIRE_SNAP,
	.name = "SNAP",
	.title = "Subnetwork Access Protocol",
	.rfc = "RFC 1042",
	.role = ROLE_LINK,
	.fields = snap_fields,
	.nfields = N_N,
	.fixed = SNAP,
	.parse = snap_parse,
	.finish = snap_finish,
};

/* ---- STP ---- */

enum { FORM_CONFIG = 1, FORM_RST = 2, FORM_TCN = 4, FORM_LONG = FORM_CONFIG | FORM_RST };

enum { TYPE_CONFIG = 0, TYPE_RST = 2, TYPE_TCN = 0x80, VERSION_MSTP = 3 };

enum {
	S_PROTO, S_VERSION, S_TYPE, S_FLAGS, S_ROOTID, S_ROOTMAC, S_PATHCOST, S_BRIDGEID, S_BRIDGEMAC, S_PORTID, S_AGE,
	S_MAXAGE, S_HELLO, S_FWDDELAY, S_VERSION1LEN, S_N,
};

static const WireName versions[] = { { "STP", 0 }, { "RSTP", 2 }, { "MSTP", VERSION_MSTP }, { NULL, 0 } };

static const WireName bpdu_types[] = {
	{ "config", TYPE_CONFIG }, { "rst", TYPE_RST }, { "topology-change", TYPE_TCN }, { NULL, 0 },
};

#define SECONDS(nm, at, text) FIELD(nm, at, 16, UINT, CONTENT, text ", 1/256 s", .when = FORM_LONG)

static const WireField stp_fields[] = {
	[S_PROTO] = FIELD("proto", 0, 16, UINT, CONTENT, "0"),
	[S_VERSION] = FIELD("version", 16, 8, ENUM, CONTENT, "version", .names = versions),
	[S_TYPE] = FIELD("bpdutype", 24, 8, ENUM, CONTENT, "type of BPDU", .names = bpdu_types),
	[S_FLAGS] = FIELD("bpduflags", 32, 8, UINT, CONTENT, "1: topology change, 0x80: acknowledged; RSTP: roles",
			  .when = FORM_LONG),
	[S_ROOTID] = FIELD("rootid", 40, 16, UINT, CONTENT, "priority of the root", .when = FORM_LONG),
	[S_ROOTMAC] = FIELD("rootmac", 56, 48, MAC, CONTENT, "address of the root", .when = FORM_LONG),
	[S_PATHCOST] = FIELD("pathcost", 104, 32, UINT, CONTENT, "cost of the path to the root", .when = FORM_LONG),
	[S_BRIDGEID] = FIELD("bridgeid", 136, 16, UINT, CONTENT, "priority of the bridge", .when = FORM_LONG),
	[S_BRIDGEMAC] = FIELD("bridgemac", 152, 48, MAC, CONTENT, "address of the bridge", .when = FORM_LONG),
	[S_PORTID] = FIELD("portid", 200, 16, UINT, CONTENT, "port of the bridge", .when = FORM_LONG),
	[S_AGE] = SECONDS("age", 216, "age of the information"),
	[S_MAXAGE] = SECONDS("maxage", 232, "age at which it ends"),
	[S_HELLO] = SECONDS("hellotime", 248, "interval of BPDUs"),
	[S_FWDDELAY] = SECONDS("fwddelay", 264, "time in each state"),
	[S_VERSION1LEN] = FIELD("version1len", 280, 8, UINT, CONTENT, "0", .when = FORM_RST),
};

static WireVariant stp_variant(const uint8_t *image)
{
	if (image[3] == TYPE_TCN)
		return (WireVariant){ FORM_TCN, BPDU_TCN };
	return image[3] == TYPE_RST ? (WireVariant){ FORM_RST, BPDU_RST } : (WireVariant){ FORM_CONFIG, BPDU };
}

static bool stp_parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, BPDU_TCN);

	if (!h)
		return false;
	if (get_be16(h) != 0 || (h[3] != TYPE_CONFIG && h[3] != TYPE_RST && h[3] != TYPE_TCN))
		return wire_fail(p, "STP protocol %u, BPDU type 0x%02x is not decoded", get_be16(h), h[3]);
	if (!wire_take(p, l, stp_variant(h).fixed))
		return false;
	if (h[2] == VERSION_MSTP && cur_left(&p->c))
		wire_note(p, "the part of MSTP is not decoded");
	return true;
}

static void stp_summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, S_TYPE, out);
	if (!wire_has(l, S_ROOTMAC))
		return;
	sb_printf(out, " root %u/", (unsigned)wire_num(l, S_ROOTID));
	wire_field_text(l, S_ROOTMAC, out);
	sb_printf(out, " cost %u", (unsigned)wire_num(l, S_PATHCOST));
}

const WireProto wire_proto_STP = {
	.id = WIRE_STP,
	.name = "STP",
	.title = "Spanning Tree Protocol",
	.rfc = "IEEE 802.1D",
	.role = ROLE_APP,
	.fields = stp_fields,
	.nfields = S_N,
	.fixed = BPDU_RST,
	.variant = stp_variant,
	.parse = stp_parse,
	.summary = stp_summary,
};
