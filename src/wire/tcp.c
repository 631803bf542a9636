/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP (RFC 9293; options by RFC 7323 and 2018, AE/NS by RFC 3540)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             sport             |             dport             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              seq                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ack                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |dataofs|res. |N|C|E|U|A|P|R|S|F|            window             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            chksum             |            urgptr             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        options, padding                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum {
	HDR = 20,
	LONGEST_OPTIONS = 40,
	V_OPTIONS = 0,
	PROTO_TCP = 6,
	FLAG_SYN = 0x02,
	DATAOFS_END = 13, /* a quote shorter than this does not have the data offset */
};

static const WireName flags[] = {
	{ "F", 0x001 }, { "S", 0x002 }, { "R", 0x004 }, { "P", 0x008 }, { "A", 0x010 },
	{ "U", 0x020 }, { "E", 0x040 }, { "C", 0x080 }, { "N", 0x100 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_TCP_SPORT] =
		FIELD("sport", 0, 16, UINT, MATCHED, "source port; a free one of ours", .computed = true),
	[F_TCP_DPORT] = FIELD("dport", 16, 16, UINT, MATCHED, "destination port", .required = true),
	[F_TCP_SEQ] = FIELD("seq", 32, 32, SERIAL, CONTENT, "sequence number; 1..2^30 for our own",
			    .computed = true),
	[F_TCP_ACK] = FIELD("ack", 64, 32, SERIAL, CONTENT, "acknowledgement number"),
	[F_TCP_DATAOFS] =
		FIELD("dataofs", 96, 4, UINT, CONTENT, "header length in units of 4 bytes; from the options",
		      .computed = true, .follows = true),
	[F_TCP_RESERVED] = FIELD("reserved", 100, 3, UINT, CONTENT, "reserved"),
	[F_TCP_FLAGS] = FIELD("flags", 103, 9, FLAGS, CONTENT, "FIN SYN RST PSH ACK URG ECE CWR NS",
			      .dflt = FLAG_SYN, .names = flags),
	[F_TCP_WINDOW] =
		FIELD("window", 112, 16, UINT, CONTENT, "receive window in bytes, not scaled", .dflt = 65535),
	[F_TCP_CHKSUM] = FIELD("chksum", 128, 16, UINT, CONTENT, "checksum with the pseudo header",
			       .computed = true, .follows = true),
	[F_TCP_URGPTR] = FIELD("urgptr", 144, 16, UINT, CONTENT, "urgent pointer"),
	[F_TCP_OPTIONS] = FIELD("options", 160, 0, OPTIONS, CONTENT,
				"options, padded to 4 bytes; a SYN without payload gets a real host's",
				.computed = true),
};

static const WireOption options[] = {
	OPTION("EOL", 0, 1, 0, "end of options"),
	OPTION("NOP", 1, 1, 0, "no operation"),
	OPTION("MSS", 2, 4, 1, "the largest segment that the sender takes, in bytes"),
	OPTION("WScale", 3, 3, 1, "window scale: the power of two, at most 14 (RFC 7323)"),
	OPTION("SAckOK", 4, 2, 0, "selective acknowledgements are understood (RFC 2018)"),
	OPTION("SAck", 5, 0, 0, "blocks received: pairs of left and right edges (RFC 2018)"),
	OPTION("Timestamp", 8, 10, 2, "value and echo reply (RFC 7323)"),
	OPTION("MD5", 19, 18, 0, "signature (RFC 2385)"),
	OPTION("UTO", 28, 4, 1, "user time-out (RFC 5482)"),
	OPTION("AO", 29, 0, 0, "authentication (RFC 5925)"),
	OPTION("MPTCP", 30, 0, 0, "multipath TCP (RFC 8684)"),
	OPTION("TFO", 34, 0, 0, "fast open cookie (RFC 7413)"),
	END_OF_OPTIONS,
};

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	size_t n = (size_t)(h[12] >> 4) * 4;
	bool cut = wire_here(p, HDR) < DATAOFS_END;

	if (p->quoted && (cut || n < HDR))
		n = HDR;
	if (n < HDR)
		return wire_fail(p, "TCP data offset %zu is below 5", n / 4);
	if (!wire_take(p, l, n))
		return false;
	if (cut)
		l->set &= ~(UINT64_C(1) << F_TCP_OPTIONS); /* nobody knows whether there were any */
	else
		wire_take_var(p, l, V_OPTIONS, HDR, n);
	if (n > HDR && l->len == n)
		wire_check_options(p, l->proto, l->var[V_OPTIONS]);
	wire_follow_port(p, true, get_be16(h), get_be16(h + 2));
	return true;
}

/* What a Linux host says in a SYN, in its order: firewalls drop SYNs without
 * options.  The time stamp is made of the sequence number, so that it is a
 * function of what the packet is, as all that is filled in. */
static void prepare(WireBuild *b, unsigned at)
{
	static const uint8_t syn_options[20] = {
		2, 4, 0x05, 0xb4,                /* MSS 1460 */
		4, 2,                            /* SAckOK */
		8, 10, 0, 0, 0, 0, 0, 0, 0, 0,   /* Timestamp */
		1,                               /* NOP */
		3, 3, 7,                         /* WScale 7 */
	};
	enum { MSS_AT = 2, TSVAL_AT = 8, MSS_IPV6 = 1440 };
	WireLayer *l = &b->out->layer[at];

	if (wire_is_set(l, F_TCP_OPTIONS) || !(wire_num(l, F_TCP_FLAGS) & FLAG_SYN))
		return;
	if (b->body.n || at + 1 < b->out->n)
		return;
	uint8_t *o = arena_copy(b->a, syn_options, sizeof syn_options);

	if (at && l[-1].proto->id != WIRE_IP)
		put_be16(o + MSS_AT, MSS_IPV6);
	put_be32(o + TSVAL_AT, (uint32_t)wire_num(l, F_TCP_SEQ) | 1);
	l->var[V_OPTIONS] = BYTES(o, sizeof syn_options);
}

static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];
	Bytes all = wire_from(b, at);
	uint32_t sum = 0;

	if (l->len > HDR + LONGEST_OPTIONS)
		wire_build_error(b, "TCP options of %u bytes: the most is %d", l->len - HDR, LONGEST_OPTIONS);
	wire_derive(b, at, F_TCP_DATAOFS, l->len / 4);
	wire_derive(b, at, F_TCP_CHKSUM, 0);
	if (!wire_is_set(l, F_TCP_CHKSUM) && wire_pseudo(b->out, at, PROTO_TCP, all.n, &sum))
		wire_derive(b, at, F_TCP_CHKSUM, wire_csum_fold(wire_csum(sum, all)));
}

static void summary(const WireLayer *l, Sb *out)
{
	uint64_t f = wire_num(l, F_TCP_FLAGS);

	sb_printf(out, " %u > %u ", (unsigned)wire_num(l, F_TCP_SPORT), (unsigned)wire_num(l, F_TCP_DPORT));
	wire_flags_text(&fields[F_TCP_FLAGS], f, out);
	sb_printf(out, "%sseq=%u", f ? " " : "", (unsigned)wire_num(l, F_TCP_SEQ));
	if (f & 0x10)
		sb_printf(out, " ack=%u", (unsigned)wire_num(l, F_TCP_ACK));
}

const WireProto wire_proto_TCP = {
	.id = WIRE_TCP,
	.name = "TCP",
	.title = "Transmission Control Protocol",
	.rfc = "RFC 9293",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_TCP_N,
	.nvars = 1,
	.var = { F_TCP_OPTIONS },
	.fixed = HDR,
	.align = 4,
	.opt_form = OPT_TLV,
	.options = options,
	.parse = parse,
	.prepare = prepare,
	.finish = finish,
	.summary = summary,
};
