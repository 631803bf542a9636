/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/changed.h"

#include "wire/fields.h"

typedef struct Changes {
	Arena *a;
	Str *text;
	uint32_t max, n;
} Changes;

static void change(Changes *c, Str text)
{
	if (c->n < c->max)
		c->text[c->n] = text;
	c->n++;
}

/* Changes that every hop makes, or that follow from others. */
static bool is_silent(WireId proto, unsigned field)
{
	switch (proto) {
	case WIRE_IP:
		return field == F_IP_TTL || field == F_IP_CHKSUM;
	case WIRE_IPV6:
		return field == F_IPV6_HLIM;
	default:
		return false;
	}
}

static bool is_checksum(WireId proto, unsigned field)
{
	return (proto == WIRE_TCP && field == F_TCP_CHKSUM) || (proto == WIRE_UDP && field == F_UDP_CHKSUM) ||
	       (proto == WIRE_ICMP && field == F_ICMP_CHKSUM) ||
	       (proto == WIRE_ICMPV6 && field == F_ICMPV6_CKSUM);
}

/* ---- options ---- */

static bool option_find(const WireLayer *l, unsigned field, uint16_t kind, WireOpt *ret_o)
{
	Cursor c = cursor(wire_bytes(l, field));
	bool bad = false;

	while (wire_option_next(l->proto, &c, ret_o, &bad))
		if (ret_o->kind == kind)
			return true;
	return false;
}

static uint64_t option_num(WireOpt o)
{
	uint64_t v = 0;

	for (size_t i = 0; i < o.data.n && i < 8; i++)
		v = v << 8 | o.data.p[i];
	return v;
}

static void option_text(Sb *b, const WireProto *p, WireOpt o, bool name)
{
	const WireOption *row = wire_option_by_kind(p, o.kind);

	if (name && row)
		sb_cstr(b, row->name);
	else if (name)
		sb_printf(b, "kind %u", o.kind);
	if (name && o.data.n)
		sb_char(b, ' ');
	if (row && row->args == 1)
		sb_printf(b, "%llu", (unsigned long long)option_num(o));
	else
		for (size_t i = 0; i < o.data.n; i++)
			sb_printf(b, "%02x", o.data.p[i]);
}

/* NOP and EOL are padding. */
static bool is_padding(const WireProto *p, uint16_t kind)
{
	return p->opt_form == OPT_TLV && kind < 2;
}

static void options_changed(Changes *c, const WireLayer *sent, const WireLayer *quote, unsigned field)
{
	const WireProto *p = sent->proto;
	const char *name = p->fields[field].name;
	Cursor in = cursor(wire_bytes(sent, field));
	WireOpt o, other;
	bool bad = false;

	while (wire_option_next(p, &in, &o, &bad)) {
		Sb b = sb(c->a);

		if (is_padding(p, o.kind))
			continue;
		sb_printf(&b, "%s.%s: ", p->name, name);
		option_text(&b, p, o, true);
		if (!option_find(quote, field, o.kind, &other)) {
			sb_cstr(&b, " removed");
		} else if (!bytes_eq(o.data, other.data)) {
			sb_cstr(&b, " -> ");
			option_text(&b, p, other, false);
		} else {
			continue;
		}
		change(c, sb_done(&b));
	}
	in = cursor(wire_bytes(quote, field));
	while (wire_option_next(p, &in, &o, &bad)) {
		Sb b = sb(c->a);

		if (is_padding(p, o.kind) || option_find(sent, field, o.kind, &other))
			continue;
		sb_printf(&b, "%s.%s: ", p->name, name);
		option_text(&b, p, o, true);
		sb_cstr(&b, " added");
		change(c, sb_done(&b));
	}
}

/* ---- fields ---- */

static bool is_number(const WireField *f)
{
	return f->width && f->kind != FK_IP6;
}

static bool field_same(const WireLayer *sent, const WireLayer *quote, unsigned field)
{
	const WireField *f = &sent->proto->fields[field];

	if (is_number(f))
		return wire_num(sent, field) == wire_num(quote, field);
	return bytes_eq(wire_bytes(sent, field), wire_bytes(quote, field));
}

static void field_changed(Changes *c, const WireLayer *sent, const WireLayer *quote, unsigned field)
{
	Sb b = sb(c->a);

	sb_printf(&b, "%s.%s: ", sent->proto->name, sent->proto->fields[field].name);
	wire_field_text(sent, field, &b);
	sb_cstr(&b, " -> ");
	wire_field_text(quote, field, &b);
	change(c, sb_done(&b));
}

static void layer_changed(Changes *c, const WireLayer *sent, const WireLayer *quote)
{
	int checksum = -1;
	uint32_t before = c->n;

	for (unsigned i = 0; i < sent->proto->nfields; i++) {
		if (!wire_is_set(quote, i) || !wire_has(quote, i) || is_silent(sent->proto->id, i))
			continue;
		if (field_same(sent, quote, i))
			continue;
		if (is_checksum(sent->proto->id, i))
			checksum = (int)i;
		else if (sent->proto->fields[i].kind == FK_OPTIONS)
			options_changed(c, sent, quote, i);
		else
			field_changed(c, sent, quote, i);
	}
	if (checksum >= 0 && c->n == before && before == 0)
		field_changed(c, sent, quote, (unsigned)checksum);
}

static const WireLayer *same_layer(const WirePacket *p, unsigned at, const WirePacket *in)
{
	unsigned nth = 0;

	for (unsigned i = 0; i < at; i++)
		nth += p->layer[i].proto == p->layer[at].proto;
	for (unsigned i = 0; i < in->n; i++)
		if (in->layer[i].proto == p->layer[at].proto && nth-- == 0)
			return &in->layer[i];
	return NULL;
}

uint32_t packet_changed(const WirePacket *sent, const WirePacket *quote, Arena *a, Str *ret_text,
			uint32_t max)
{
	Changes c = { .a = a, .text = ret_text, .max = max };

	for (unsigned i = 0; i < quote->n; i++) {
		const WireLayer *l = same_layer(quote, i, sent);

		if (quote->layer[i].proto->role == ROLE_LINK)
			continue;
		if (l)
			layer_changed(&c, l, &quote->layer[i]);
		else
			change(&c, str_printf(a, "%s: added", quote->layer[i].proto->name));
	}
	return c.n;
}
