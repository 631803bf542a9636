/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: lists of (kind, data), in the four codings that protocols have.
 */
#include "wire/wire.h"

enum { KIND_EOL = 0, KIND_NOP = 1, KIND_END = 255 };

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

/* RFC 2132 2: "all other options have the length"; behind the end nothing is read. */
static bool dhcp_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	*ret_o = (WireOpt){ .kind = cur_u8(c) };
	if (ret_o->kind == KIND_END)
		(void)cur_rest(c);
	if (ret_o->kind == KIND_END || ret_o->kind == KIND_EOL)
		return true;
	return data_of(c, cur_u8(c), ret_o, ret_bad);
}

/* IEEE 802.1AB 8.4 */
static bool lldp_next(Cursor *c, WireOpt *ret_o, bool *ret_bad)
{
	uint16_t head = cur_be16(c);

	*ret_o = (WireOpt){ .kind = head >> 9 };
	return data_of(c, head & 0x1ffu, ret_o, ret_bad);
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
	case OPT_DHCP:
		return dhcp_next(c, ret_o, ret_bad);
	case OPT_LLDP:
		return lldp_next(c, ret_o, ret_bad);
	case OPT_NONE:
		break;
	}
	return false;
}

/* How each form writes an option: bytes of the kind, of the length, what the length
 * counts besides the data, in which unit, the most data. */
static const struct {
	uint8_t kind, len, counts, unit;
	uint16_t most;
} forms[] = {
	[OPT_TLV] = { 1, 1, 2, 1, 253 },   [OPT_IPV6] = { 1, 1, 0, 1, 255 }, [OPT_ND] = { 1, 1, 2, 8, 255 * 8 - 2 },
	[OPT_EDNS] = { 2, 2, 0, 1, 65535 }, [OPT_DHCP] = { 1, 1, 0, 1, 255 },
	[OPT_LLDP] = { 1, 1, 0, 1, 511 },
};

/* Kinds without length and data. */
static bool stands_alone(WireOptForm form, uint16_t kind)
{
	switch (form) {
	case OPT_TLV:
		return kind == KIND_EOL || kind == KIND_NOP;
	case OPT_IPV6:
		return kind == KIND_EOL;
	case OPT_DHCP:
		return kind == KIND_EOL || kind == KIND_END;
	default:
		return false;
	}
}

static void put_number(Sb *out, unsigned bytes, size_t v)
{
	if (bytes == 2)
		sb_char(out, (char)(v >> 8));
	sb_char(out, (char)v);
}

bool wire_option_put(const WireProto *p, uint16_t kind, Bytes data, Sb *out)
{
	WireOptForm form = p->opt_form;
	bool alone = stands_alone(form, kind);
	size_t unit = forms[form].unit, all = data.n + forms[form].counts;

	if (form == OPT_NONE || data.n > (alone ? 0 : forms[form].most) || (forms[form].kind == 1 && kind > 255))
		return false;
	if (form == OPT_LLDP) { /* its two numbers share 16 bits */
		if (kind > 127)
			return false;
		put_number(out, 2, (size_t)kind << 9 | data.n);
		sb_str(out, bytes_str(data));
		return true;
	}
	put_number(out, forms[form].kind, kind);
	if (alone)
		return true;
	put_number(out, forms[form].len, (all + unit - 1) / unit);
	sb_str(out, bytes_str(data));
	sb_fill(out, 0, (unit - all % unit) % unit);
	return true;
}

size_t wire_option_width(const WireProto *p, const WireOption *o, size_t n)
{
	size_t head = o->len ? (size_t)forms[p->opt_form].kind + forms[p->opt_form].len : 0;

	if (o->len > head && o->args)
		return (o->len - head) / o->args;
	if (o->width)
		return o->width;
	return o->args && n ? n / o->args : 4;
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
