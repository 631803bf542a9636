/* SPDX-License-Identifier: Apache-2.0
 *
 * BGP's header and OPEN (RFC 4271)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      marker (16 bytes)                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              len              |     type      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * OPEN:
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    version    |             my_as             | hold_time (16)
 * |                            bgp_id                             |
 * | opt_param_len |  opt_params ...                               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * A segment may begin in the midst of a message: only one that begins with a
 * marker is decoded.
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 19, MARKER = 16, OPEN = 10 };

enum { TYPE_OPEN = 1, TYPE_KEEPALIVE = 4 };

enum { F_MARKER, F_LEN, F_TYPE, F_N };

static const WireName types[] = {
	{ "OPEN", TYPE_OPEN }, { "UPDATE", 2 }, { "NOTIFICATION", 3 }, { "KEEPALIVE", TYPE_KEEPALIVE },
	{ "ROUTE-REFRESH", 5 }, { NULL, 0 },
};

static const WireField fields[] = {
	[F_MARKER] = FIELD("marker", 0, 128, BYTES, CONTENT, "all ones", .computed = true),
	[F_LEN] = FIELD("len", 128, 16, UINT, CONTENT, "bytes of the message, this header included", .computed = true,
			.follows = true),
	[F_TYPE] = FIELD("type", 144, 8, ENUM, CONTENT, "type of message; derived from the next layer",
			 .computed = true, .names = types),
};

static bool is_marker(const uint8_t *h)
{
	for (unsigned i = 0; i < MARKER; i++)
		if (h[i] != 0xff)
			return false;
	return true;
}

/* What comes behind the header; `len` bytes of message in all. */
static void follow(WireParse *p, uint8_t type, size_t len)
{
	const char *name = wire_value_name(&fields[F_TYPE], type);

	if (len > HDR + cur_left(&p->c))
		wire_note(p, "BGP message of %zu bytes, %zu of them are here", len, HDR + cur_left(&p->c));
	else if (type == TYPE_OPEN)
		p->next = WIRE_BGPOPEN;
	else if (len > HDR)
		wire_note(p, "BGP %s is not decoded", name ? name : "of an unknown type");
	else if (cur_left(&p->c))
		p->next = WIRE_BGP;
}

static bool parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, HDR);

	if (!h)
		return false;
	size_t len = get_be16(h + MARKER);

	if (!is_marker(h))
		return wire_fail(p, "BGP: no message begins here");
	if (len < HDR)
		return wire_fail(p, "BGP message of %zu bytes has no header", len);
	if (!wire_take(p, l, HDR))
		return false;
	follow(p, h[HDR - 1], len);
	return true;
}

/* Up to the next message of the segment. */
static void finish(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];
	size_t end = b->end;

	for (unsigned i = at + 1; i < b->out->n && end == b->end; i++)
		if (b->out->layer[i].proto->id == WIRE_BGP)
			end = b->out->layer[i].off;
	if (!wire_is_set(l, F_MARKER))
		memset(l->image, 0xff, MARKER);
	wire_derive_len(b, at, F_LEN, end - l->off, "length");
	wire_derive(b, at, F_TYPE, wire_inner(b, at) == WIRE_BGPOPEN ? TYPE_OPEN : TYPE_KEEPALIVE);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_TYPE, out);
}

const WireProto wire_proto_BGP = {
	.id = WIRE_BGP,
	.name = "BGPHeader",
	.title = "Border Gateway Protocol message",
	.rfc = "RFC 4271",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};

/* ---- OPEN ---- */

enum { O_VERSION, O_MY_AS, O_HOLD, O_ID, O_PARAM_LEN, O_PARAMS, O_N };

static const WireField open_fields[] = {
	[O_VERSION] = FIELD("version", 0, 8, UINT, CONTENT, "version", .dflt = 4),
	[O_MY_AS] = FIELD("my_as", 8, 16, UINT, CONTENT, "autonomous system; 23456: it has 32 bits (RFC 6793)"),
	[O_HOLD] = FIELD("hold_time", 24, 16, UINT, CONTENT, "seconds without a message until the session ends"),
	[O_ID] = FIELD("bgp_id", 40, 32, IP4, CONTENT, "the router's identifier"),
	[O_PARAM_LEN] = FIELD("opt_param_len", 72, 8, UINT, CONTENT, "bytes of opt_params", .computed = true,
			      .follows = true),
	[O_PARAMS] = FIELD("opt_params", 80, 0, BYTES, CONTENT, "parameters: type, length, value; 2: capabilities"),
};

static bool open_parse(WireParse *p, WireLayer *l)
{
	const uint8_t *h = wire_head(p, l, OPEN);

	if (!h)
		return false;
	size_t n = OPEN + h[OPEN - 1];

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, OPEN, n);
	if (p->out->n && l[-1].proto->id == WIRE_BGP && wire_num(&l[-1], F_LEN) != HDR + n)
		wire_note(p, "BGP OPEN of %zu bytes in a message of %u", n, (unsigned)wire_num(&l[-1], F_LEN));
	else if (cur_left(&p->c))
		p->next = WIRE_BGP;
	return true;
}

static void open_finish(WireBuild *b, unsigned at)
{
	wire_derive_len(b, at, O_PARAM_LEN, b->out->layer[at].var[0].n, "parameters");
}

static void open_summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " as=%u hold=%u ", (unsigned)wire_num(l, O_MY_AS), (unsigned)wire_num(l, O_HOLD));
	wire_field_text(l, O_ID, out);
}

const WireProto wire_proto_BGPOPEN = {
	.id = WIRE_BGPOPEN,
	.name = "BGPOpen",
	.title = "BGP OPEN",
	.rfc = "RFC 4271",
	.role = ROLE_APP,
	.fields = open_fields,
	.nfields = O_N,
	.nvars = 1,
	.var = { O_PARAMS },
	.fixed = OPEN,
	.parse = open_parse,
	.finish = open_finish,
	.summary = open_summary,
};
