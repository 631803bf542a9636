/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw: bytes that a program puts behind its layers under Scapy's name.  Received
 * bytes that nobody decoded are the packet's payload, never a layer.
 */
#include "wire/parse.h"

static const WireField fields[] = {
	[F_RAW_LOAD] = FIELD("load", 0, 0, BYTES, CONTENT, "bytes as they are"),
};

static bool parse(WireParse *p, WireLayer *l)
{
	size_t n = cur_left(&p->c);

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, 0, n);
	return true;
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " %zu bytes", l->var[0].n);
}

const WireProto wire_proto_RAW = {
	.id = WIRE_RAW,
	.name = "Raw",
	.title = "Bytes",
	.rfc = "-",
	.role = ROLE_RAW,
	.fields = fields,
	.nfields = F_RAW_N,
	.nvars = 1,
	.var = { F_RAW_LOAD },
	.parse = parse,
	.summary = summary,
};
