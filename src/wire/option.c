/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: lists of (kind, data), in the four codings that protocols have.
 */
#include "wire/wire.h"

enum { KIND_EOL = 0, KIND_NOP = 1 };

static bool broken(bool *ret_bad)
{
	*ret_bad = true;
	return false;
}

static bool data_of(Cursor *c, size_t n, WireOpt *ret_o, bool *ret_bad)
{
	if (c->bad || n > cur_left(c))
		return broken(ret_bad);
	ret_o->data = cur_bytes(c, n);
	return true;
}

/* RFC 9293 3.1, RFC 791 3.1: "the length counts kind, length and data". */
bool wire_opt_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_bad = false;
	if (cur_left(c) == 0)
		return false;
	*ret_o = (WireOpt){ .kind = cur_u8(c) };
	if (ret_o->kind == KIND_EOL) {
		(void)cur_rest(c);
		return true;
	}
	if (ret_o->kind == KIND_NOP)
		return true;
	unsigned len = cur_u8(c);

	return len < 2 ? broken(ret_bad) : data_of(c, len - 2, ret_o, ret_bad);
}

/* RFC 8200 4.2 */
static bool ipv6_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_o = (WireOpt){ .kind = cur_u8(c) };
	return ret_o->kind == KIND_EOL ? true : data_of(c, cur_u8(c), ret_o, ret_bad);
}

/* RFC 4861 4.6: units of 8 bytes; "nodes MUST silently discard a packet with length zero". */
static bool nd_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_o = (WireOpt){ .kind = cur_u8(c) };
	size_t len = cur_u8(c) * 8u;

	return len == 0 ? broken(ret_bad) : data_of(c, len - 2, ret_o, ret_bad);
}

/* RFC 6891 6.1.2 */
static bool edns_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_o = (WireOpt){ .kind = cur_be16(c) };
	return data_of(c, cur_be16(c), ret_o, ret_bad);
}

bool wire_option_next(const WireProto *p, Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_bad = false;
	if (cur_left(c) == 0)
		return false;
	switch (p->opt_form) {
	case OPT_TLV:
		return wire_opt_next(c, ret_o, ret_bad);
	case OPT_IPV6:
		return ipv6_next(c, ret_o, ret_bad);
	case OPT_ND:
		return nd_next(c, ret_o, ret_bad);
	case OPT_EDNS:
		return edns_next(c, ret_o, ret_bad);
	case OPT_NONE:
		break;
	}
	return false;
}

static void put_be16_to(Sb *out, size_t v)
{
	sb_char(out, (char)(v >> 8));
	sb_char(out, (char)v);
}

bool wire_option_put(const WireProto *p, uint16_t kind, Bytes data, Sb *out)
{
	bool alone = (p->opt_form == OPT_TLV && kind <= KIND_NOP) || (p->opt_form == OPT_IPV6 && kind == 0);
	size_t most = p->opt_form == OPT_TLV ? 253 : p->opt_form == OPT_IPV6 ? 255 :
		      p->opt_form == OPT_ND  ? 255 * 8 - 2 : 65535;

	if (p->opt_form == OPT_NONE || data.n > (alone ? 0 : most) || (p->opt_form != OPT_EDNS && kind > 255))
		return false;
	if (p->opt_form == OPT_EDNS) {
		put_be16_to(out, kind);
		put_be16_to(out, data.n);
	} else {
		sb_char(out, (char)kind);
	}
	if (alone)
		return true;
	if (p->opt_form == OPT_TLV)
		sb_char(out, (char)(data.n + 2));
	else if (p->opt_form == OPT_IPV6)
		sb_char(out, (char)data.n);
	else if (p->opt_form == OPT_ND)
		sb_char(out, (char)((data.n + 2 + 7) / 8));
	sb_str(out, bytes_str(data));
	if (p->opt_form == OPT_ND)
		sb_fill(out, 0, (8 - (data.n + 2) % 8) % 8);
	return true;
}

const WireOption *wire_option_by_kind(const WireProto *p, uint16_t kind)
{
	for (const WireOption *o = p->options; o && o->name; o++)
		if (o->kind == kind)
			return o;
	return NULL;
}

const WireOption *wire_option_by_name(const WireProto *p, Str name)
{
	for (const WireOption *o = p->options; o && o->name; o++)
		if (str_is(name, o->name))
			return o;
	return NULL;
}
