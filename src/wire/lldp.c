/* SPDX-License-Identifier: Apache-2.0
 *
 * LLDP (IEEE 802.1AB 8): elements of type (7 bits) and length (9 bits), of which
 * the last has type 0.
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    type     |     length      |           value ...           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/parse.h"

#include "base/escape.h"

enum { F_OPTIONS, F_N };

enum { MANDATORY = 3 };

static const WireField fields[] = {
	[F_OPTIONS] = FIELD("options", 0, 0, OPTIONS, CONTENT, "elements; the last one is EndOfLLDPDU()"),
};

static const WireOption options[] = {
	OPTION("EndOfLLDPDU", 0, 2, 0, "the last element"),
	OPTION("ChassisID", 1, 0, 0, "subtype (4: MAC), identifier"),
	OPTION("PortID", 2, 0, 0, "subtype (3: MAC, 5: name), identifier"),
	OPTION("TimeToLive", 3, 4, 1, "seconds that it holds"),
	OPTION("PortDescription", 4, 0, 0, "text"),
	OPTION("SystemName", 5, 0, 0, "text"),
	OPTION("SystemDescription", 6, 0, 0, "text"),
	OPTION("SystemCapabilities", 7, 6, 2, "what it could be, what it is; 4: bridge, 16: router"),
	OPTION("ManagementAddress", 8, 0, 0, "length, type (1: IPv4), address, interface, object"),
	OPTION("OrganisationSpecific", 127, 0, 0, "OUI, subtype, value"),
	END_OF_OPTIONS,
};

/* Up to the last element, behind which Ethernet's padding may stand. */
static bool parse(WireParse *p, WireLayer *l)
{
	Bytes all = BYTES(p->c.p + p->c.off, cur_left(&p->c));
	Cursor c = cursor(all);
	WireOpt o = { .kind = 1 };
	bool bad = false;

	/* IEEE 802.1AB 8.2: chassis, port, time to live, in this order */
	for (uint16_t due = 1; o.kind != 0 && wire_option_next(l->proto, &c, &o, &bad); due++)
		if (due <= MANDATORY && o.kind != due)
			wire_note(p, "LLDP element %u where %u is due", o.kind, due);
	if (bad)
		wire_note(p, "LLDP element %u runs past the end", o.kind);
	else if (o.kind != 0)
		wire_note(p, "LLDP without an end");
	size_t n = bad ? all.n : c.off;

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, 0, n);
	if (!p->out->reason)
		(void)wire_limit(p, 0);
	return true;
}

static void summary(const WireLayer *l, Sb *out)
{
	enum { SYSTEM_NAME = 5 };
	Cursor c = cursor(l->var[0]);
	WireOpt o;
	bool bad = false;

	while (wire_option_next(l->proto, &c, &o, &bad))
		if (o.kind == SYSTEM_NAME) {
			sb_cstr(out, " \"");
			escape_peer(out, o.data);
			sb_char(out, '"');
			return;
		}
}

const WireProto wire_proto_LLDP = {
	.id = WIRE_LLDP,
	.name = "LLDPDU",
	.title = "Link Layer Discovery Protocol",
	.rfc = "IEEE 802.1AB",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.nvars = 1,
	.var = { F_OPTIONS },
	.opt_form = OPT_LLDP,
	.options = options,
	.parse = parse,
	.summary = summary,
};
