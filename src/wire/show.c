/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets and tables as text.  Bytes of a peer come out escaped (guardrails.md 7).
 */
#include "wire/table.h"
#include "wire/ber.h"
#include "wire/dns.h"

#include "base/escape.h"
#include "base/units.h"

enum { SHOWN_BYTES = 64 };

static void bytes_text(Bytes b, Sb *out)
{
	Bytes shown = bytes_slice(b, 0, SHOWN_BYTES);

	sb_cstr(out, "b\"");
	escape_peer(out, shown);
	sb_char(out, '"');
	if (shown.n < b.n)
		sb_printf(out, "... (%zu bytes)", b.n);
}

static void ip_text(Ip ip, Sb *out)
{
	char text[IP_TEXT];

	ip_format(ip, text);
	sb_cstr(out, text);
}

static void time_text(int64_t ns, Sb *out)
{
	char text[40];

	time_format(ns, text);
	sb_cstr(out, text);
}

bool wire_option_numbers(const WireProto *p, const WireOption *o, Bytes data, Sb *out)
{
	size_t width = wire_option_width(p, o, data.n);
	Cursor c = cursor(data);

	if (!(o->args || o->width) || !data.n || data.n % width || width > 8)
		return false;
	for (bool first = true; cur_left(&c); first = false) {
		uint64_t v = 0;

		for (size_t k = width; k > 0; k--)
			v = v << 8 | cur_u8(&c);
		const char *name = wire_value_name(&(WireField){ .names = o->names }, v);

		if (!first)
			sb_cstr(out, ", ");
		if (name)
			sb_cstr(out, name);
		else if (o->ip)
			ip_text(ip4((uint32_t)v), out);
		else
			sb_printf(out, "%llu", (unsigned long long)v);
	}
	return true;
}

/* MSS(1460), Timestamp(1, 0), NOP(), router(10.0.0.1), Option(99, b"..") */
static void option_text(const WireProto *p, const WireOpt *o, Sb *out)
{
	const WireOption *row = wire_option_by_kind(p, o->kind);

	if (row)
		sb_printf(out, "%s(", row->name);
	else
		sb_printf(out, "Option(%u, ", o->kind);
	if ((!row || !wire_option_numbers(p, row, o->data, out)) && (o->data.n || !row))
		bytes_text(o->data, out);
	sb_char(out, ')');
}

static void options_text(const WireProto *p, Bytes b, Sb *out)
{
	Cursor c = cursor(b);
	WireOpt o;
	bool bad = false, first = true;

	sb_char(out, '[');
	for (; wire_option_next(p, &c, &o, &bad); first = false) {
		if (!first)
			sb_cstr(out, ", ");
		option_text(p, &o, out);
	}
	if (bad)
		sb_cstr(out, first ? "broken" : ", broken");
	sb_char(out, ']');
}

static void dns_record_text(const WireLayer *r, Sb *out)
{
	if (r->proto->id == WIRE_DNSRROPT) {
		sb_printf(out, "OPT size=%u", (unsigned)wire_num(r, F_DNSRROPT_RCLASS));
		return;
	}
	dns_name_text(r->var[0], out);
	sb_char(out, ' ');
	wire_field_text(r, F_DNSRR_TYPE, out);
	if (r->proto->id != WIRE_DNSRR)
		return;
	sb_printf(out, " %u ", (unsigned)wire_num(r, F_DNSRR_TTL));
	dns_rdata_text((uint16_t)wire_num(r, F_DNSRR_TYPE), r->var[1], out);
}

_Static_assert((int)F_DNSQR_QTYPE == (int)F_DNSRR_TYPE, "dns_record_text() prints both");

void wire_record_text(const WireLayer *r, Sb *out)
{
	Sb own = sb(out->a);

	if (!r->proto->summary) {
		dns_record_text(r, out);
		return;
	}
	r->proto->summary(r, &own); /* a space is in front, as behind a layer's name */
	sb_str(out, bytes_str(bytes_slice(str_bytes(sb_done(&own)), 1, own.n)));
}

static void records_text(Bytes b, WireId kind, Sb *out)
{
	Cursor c = cursor(b);
	WireLayer r;
	bool first = true;

	sb_char(out, '[');
	for (; wire_record_next(kind, &c, &r); first = false) {
		if (!first)
			sb_cstr(out, ", ");
		wire_record_text(&r, out);
	}
	sb_char(out, ']');
}

static void number_text(const WireField *f, uint64_t v, Sb *out)
{
	const char *name = f->kind == FK_ENUM ? wire_value_name(f, v) : NULL;

	if (name)
		sb_cstr(out, name);
	else if (f->kind == FK_FLAGS)
		wire_flags_text(f, v, out);
	else if (f->kind == FK_IP4)
		ip_text(ip4((uint32_t)v), out);
	else if (f->kind == FK_STAMP)
		time_text(wire_stamp_ns(v), out);
	else if (f->kind == FK_SINT)
		sb_printf(out, "%lld", (long long)v);
	else if (strstr(f->name, "sum")) /* nobody reads a checksum in decimal */
		sb_printf(out, "0x%04x", (unsigned)v);
	else
		sb_printf(out, "%llu", (unsigned long long)v);
}

void wire_field_text(const WireLayer *l, unsigned field, Sb *out)
{
	const WireField *f = &l->proto->fields[field];
	char text[MAC_TEXT];
	Mac mac;

	switch (f->kind) {
	case FK_MAC:
		memcpy(mac.b, wire_bytes(l, field).p, 6);
		mac_format(mac, text);
		sb_cstr(out, text);
		break;
	case FK_IP6:
		ip_text(ip_from(6, wire_bytes(l, field).p), out);
		break;
	case FK_BYTES:
		if (l->proto->id == WIRE_DNSRR)
			dns_rdata_text((uint16_t)wire_num(l, F_DNSRR_TYPE), wire_bytes(l, field), out);
		else
			bytes_text(wire_bytes(l, field), out);
		break;
	case FK_NAME:
		dns_name_text(wire_bytes(l, field), out);
		break;
	case FK_OPTIONS:
		options_text(l->proto, wire_bytes(l, field), out);
		break;
	case FK_RECORDS:
		records_text(wire_bytes(l, field), (WireId)f->record, out);
		break;
	case FK_OID:
		if (!ber_oid_text(wire_bytes(l, field), out))
			bytes_text(wire_bytes(l, field), out);
		break;
	case FK_BER:
		ber_value_text(wire_bytes(l, field), out);
		break;
	default:
		number_text(f, wire_num(l, field), out);
	}
}

void wire_summary(const WirePacket *p, Sb *out)
{
	for (unsigned i = 0; i < p->n; i++) {
		const WireLayer *l = &p->layer[i];

		if (i)
			sb_cstr(out, " / ");
		sb_cstr(out, l->proto->name);
		if (l->proto->summary)
			l->proto->summary(l, out);
	}
	if (p->payload.n)
		sb_printf(out, "%s%zu bytes", p->n ? " / " : "", p->payload.n);
	if (p->reason) {
		sb_cstr(out, " (");
		sb_cstr(out, p->reason);
		sb_char(out, ')');
	}
}

/* A field of a layer that was never built shows its value or that it is computed. */
static void show_field(const WireLayer *l, unsigned i, Sb *out)
{
	const WireField *f = &l->proto->fields[i];

	sb_printf(out, "  %-14s= ", f->name);
	if (f->computed && !wire_is_set(l, i))
		sb_cstr(out, "-");
	else
		wire_field_text(l, i, out);
	sb_char(out, '\n');
}

void wire_show(const WirePacket *p, Sb *out)
{
	for (unsigned k = 0; k < p->n; k++) {
		const WireLayer *l = &p->layer[k];

		sb_printf(out, "###[ %s ]###\n", l->proto->name);
		for (unsigned i = 0; i < l->proto->nfields; i++)
			if (wire_has(l, i))
				show_field(l, i, out);
	}
	if (p->payload.n) {
		sb_printf(out, "###[ Raw ]###\n  %-14s= ", "load");
		bytes_text(p->payload, out);
		sb_char(out, '\n');
	}
	if (p->reason)
		sb_printf(out, "  (%s)\n", p->reason);
}

/* ---- tables ---- */

static void doc_default(const WireField *f, Sb *out)
{
	const char *name = f->kind == FK_ENUM ? wire_value_name(f, f->dflt) : NULL;

	if (f->required)
		sb_cstr(out, "required");
	else if (f->computed)
		sb_cstr(out, "computed");
	else if (name)
		sb_cstr(out, name);
	else if (f->kind == FK_FLAGS && f->dflt)
		wire_flags_text(f, f->dflt, out);
	else if (f->width == 0 || f->kind == FK_BYTES)
		sb_cstr(out, "empty");
	else if (f->kind == FK_STAMP)
		sb_cstr(out, "none");
	else
		sb_printf(out, "%llu", (unsigned long long)f->dflt);
}

static void doc_field(const WireField *f, Sb *out)
{
	static const char *const kinds[] = {
		[FK_UINT] = "int",  [FK_SERIAL] = "serial",   [FK_FLAGS] = "flags",	[FK_ENUM] = "enum",
		[FK_IP4] = "ip",    [FK_IP6] = "ip",	      [FK_MAC] = "mac",		[FK_BYTES] = "bytes",
		[FK_NAME] = "name", [FK_OPTIONS] = "options", [FK_RECORDS] = "records",
		[FK_SINT] = "int",  [FK_STAMP] = "time",      [FK_OID] = "oid",	[FK_BER] = "value",
	};
	size_t from = out->n;

	sb_printf(out, "  %-15s%-8s", f->name, kinds[f->kind]);
	if (f->width)
		sb_printf(out, "%4u  ", f->width);
	else
		sb_printf(out, "%4s  ", "-");
	size_t column = out->n - from + 24;

	doc_default(f, out);
	if (out->n - from < column)
		sb_fill(out, ' ', column - (out->n - from));
	sb_printf(out, "  %s\n", f->doc);
}

static void doc_names(const WireField *f, Sb *out)
{
	sb_printf(out, "  %s:", f->name);
	for (const WireName *n = f->names; n->name; n++)
		sb_printf(out, " %s=%llu", n->name, (unsigned long long)n->value);
	sb_char(out, '\n');
}

void wire_doc(WireId id, Sb *out)
{
	const WireProto *p = wire_proto(id);

	sb_printf(out, "%s: %s (%s)\n", p->name, p->title, p->rfc);
	sb_printf(out, "  %-15s%-8s%4s  %-24s  %s\n", "field", "type", "bits", "default", "meaning");
	for (unsigned i = 0; i < p->nfields; i++)
		doc_field(&p->fields[i], out);
	for (unsigned i = 0; i < p->nfields; i++)
		if (p->fields[i].names)
			doc_names(&p->fields[i], out);
	for (const WireOption *o = p->options; o && o->name; o++)
		sb_printf(out, "  option %s (%u): %s\n", o->name, o->kind, o->doc);
}
