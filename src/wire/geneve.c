/* SPDX-License-Identifier: Apache-2.0
 *
 * Geneve (RFC 8926)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |ver| optionlen |o|c| reserved  |             proto             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      vni                      |   reserved2   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  options: class (16), type (8), length in words (8), data     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 8, OPTION = 4 };

enum { F_VERSION, F_OPTIONLEN, F_OAM, F_CRITICAL, F_RESERVED, F_PROTO, F_VNI, F_RESERVED2, F_OPTIONS, F_N };

static const WireField fields[] = {
	[F_VERSION] = FIELD("version", 0, 2, UINT, CONTENT, "version"),
	[F_OPTIONLEN] = FIELD("optionlen", 2, 6, UINT, CONTENT, "length of options in units of 4 bytes",
			      .computed = true, .follows = true),
	[F_OAM] = FIELD("oam", 8, 1, UINT, CONTENT, "1: a control packet"),
	[F_CRITICAL] = FIELD("critical", 9, 1, UINT, CONTENT, "1: an option must be understood"),
	[F_RESERVED] = FIELD("reserved", 10, 6, UINT, CONTENT, "reserved"),
	[F_PROTO] = FIELD("proto", 16, 16, ENUM, CONTENT, "EtherType of what follows; derived from the next layer",
			  .computed = true, .names = wire_ethertype_names),
	[F_VNI] = FIELD("vni", 32, 24, UINT, CONTENT, "network identifier"),
	[F_RESERVED2] = FIELD("reserved2", 56, 8, UINT, CONTENT, "reserved"),
	[F_OPTIONS] = FIELD("options", 64, 0, BYTES, CONTENT, "options, each with its class, type and length"),
};

/* RFC 8926 3.5: options fill optionlen exactly. */
static void check_options(WireParse *p, Bytes b)
{
	Cursor c = cursor(b);

	while (cur_left(&c) && !c.bad) {
		cur_skip(&c, OPTION - 1);
		cur_skip(&c, (cur_u8(&c) & 0x1fu) * 4u);
	}
	if (c.bad)
		wire_note(p, "GENEVE: an option runs past the header's end");
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	size_t n = HDR + (h[0] & 0x3fu) * 4u;

	if (h[0] >> 6)
		return wire_fail(p, "GENEVE version %u is not decoded", h[0] >> 6);
	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, HDR, n);
	check_options(p, l->var[0]);
	wire_follow_ethertype(p, get_be16(h + 2));
	return true;
}

static void finish(WireBuild *b, unsigned at)
{
	wire_derive_ethertype(b, at, F_PROTO);
	wire_derive_len(b, at, F_OPTIONLEN, b->out->layer[at].var[0].n / 4, "options");
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " vni=%u", (unsigned)wire_num(l, F_VNI));
}

const WireProto wire_proto_GENEVE = {
	.id = WIRE_GENEVE,
	.name = "GENEVE",
	.title = "Generic Network Virtualization Encapsulation",
	.rfc = "RFC 8926",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.nvars = 1,
	.var = { F_OPTIONS },
	.fixed = HDR,
	.align = 4,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};
