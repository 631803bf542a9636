/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/parse.h"
#include "wire/link.h"

#include <stdio.h>

bool wire_fail(WireParse *p, const char *fmt, ...)
{
	if (p->out->reason)
		return false;
	Sb text = sb(p->a);
	char line[160];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (n > 0)
		sb_cstr(&text, line);
	p->out->reason = sb_done(&text).p;
	return false;
}

const uint8_t *wire_head(WireParse *p, const WireLayer *l, size_t need)
{
	size_t left = cur_left(&p->c);

	if (need <= left)
		return p->c.p + p->c.off;
	if (!p->quoted || left == 0) {
		wire_fail(p, "%s header needs %zu bytes, %zu are there", l->proto->name, need, left);
		return NULL;
	}
	uint8_t *copy = arena_alloc(p->a, need);

	memcpy(copy, p->c.p + p->c.off, left);
	return copy;
}

/* Forms of a header and headers that are cut: the image is a copy, padded with
 * zeros, and only what is really there is set. */
static void take_part(WireParse *p, WireLayer *l, size_t here)
{
	const WireProto *q = l->proto;
	uint8_t *image = arena_alloc(p->a, q->fixed);
	size_t form = q->fixed;

	memcpy(image, p->c.p + p->c.off, here < form ? here : form);
	if (q->variant) {
		form = q->variant(image).fixed;
		if (form < q->fixed)
			memset(image + form, 0, q->fixed - form);
	}
	l->image = image;
	if (here > form)
		here = form;
	l->set = 0;
	for (unsigned i = 0; i < q->nfields; i++) {
		const WireField *f = &q->fields[i];

		if ((f->width == 0 || f->bit + f->width <= here * 8) && wire_has(l, i))
			l->set |= UINT64_C(1) << i;
	}
}

bool wire_take(WireParse *p, WireLayer *l, size_t n)
{
	const WireProto *q = l->proto;
	size_t here = wire_here(p, n);

	if (here < n && !p->quoted)
		return wire_fail(p, "%s header of %zu bytes, %zu are there", q->name, n, here);
	l->len = (uint32_t)here;
	l->set = wire_all_set(q);
	if (q->variant || here < q->fixed)
		take_part(p, l, here);
	else
		l->image = (uint8_t *)(uintptr_t)(p->c.p + p->c.off);
	p->c.off += here;
	return true;
}

void wire_take_apart(WireParse *p, WireLayer *l, size_t n, uint8_t *image)
{
	l->image = image;
	l->len = (uint32_t)n;
	l->set = wire_all_set(l->proto);
	for (unsigned i = 0; i < l->proto->nfields; i++)
		if (!wire_has(l, i))
			l->set &= ~(UINT64_C(1) << i);
	p->c.off += n;
}

void wire_take_var(WireParse *p, WireLayer *l, unsigned i, size_t from, size_t to)
{
	Bytes header = BYTES(p->c.p + l->off, l->len);

	l->var[i] = bytes_slice(header, from, to);
	if (to > header.n)
		l->set &= ~(UINT64_C(1) << l->proto->var[i]);
}

void wire_follow_ethertype(WireParse *p, uint16_t type)
{
	const char *name = wire_value_name(&(WireField){ .names = wire_ethertype_names }, type);

	p->next = wire_by_ethertype(type);
	if (p->next != WIRE_NONE || cur_left(&p->c) == 0)
		return; /* nothing behind a known number is that protocol's fault to name */
	wire_note(p, "EtherType 0x%04x%s%s is not decoded", type, name ? " " : "", name ? name : "");
}

/* IEEE 802.3 3.2.6 */
void wire_follow_type_or_length(WireParse *p, uint16_t n)
{
	enum { LONGEST = 1500 };

	if (n > LONGEST) {
		wire_follow_ethertype(p, n);
		return;
	}
	if (!wire_limit(p, n))
		wire_note(p, "802.3 length %u, %zu bytes are there", n, cur_left(&p->c));
	if (cur_left(&p->c))
		p->next = WIRE_LLC;
}

void wire_follow_ipproto(WireParse *p, uint8_t proto, bool in_ipv6)
{
	enum { NO_NEXT_HEADER = 59 };

	p->next = wire_by_ipproto(proto, in_ipv6);
	if (p->next != WIRE_NONE || cur_left(&p->c) == 0 || (in_ipv6 && proto == NO_NEXT_HEADER))
		return;
	const char *name = wire_value_name(&(WireField){ .names = wire_ipproto_names }, proto);

	wire_note(p, "IP protocol %u%s%s is not decoded", proto, name ? " " : "", name ? name : "");
}

void wire_follow_port(WireParse *p, bool tcp, uint16_t sport, uint16_t dport)
{
	if (cur_left(&p->c) == 0)
		return;
	p->next = wire_by_port(tcp, sport, dport);
	if (p->next == WIRE_NONE || !(p->quoted || p->fragment))
		return;
	const char *name = wire_proto(p->next)->name;

	p->next = WIRE_NONE; /* the message may not be whole */
	if (p->fragment)
		wire_note(p, "the first fragment of a packet: %s is decoded when it is whole", name);
}

void wire_check_options(WireParse *p, const WireProto *proto, Bytes options)
{
	Cursor c = cursor(options);
	WireOpt o = { 0 };
	bool bad = false;

	while (wire_option_next(proto, &c, &o, &bad))
		;
	if (bad)
		wire_note(p, "%s option %u runs past the header's end", proto->name, o.kind);
}

/* The bytes behind the last header: up to the end by its length, and the rest. */
static void finish(WireParse *p, size_t frame_n)
{
	WirePacket *out = p->out;

	out->payload = BYTES(p->c.p + p->c.off, p->c.n - p->c.off);
	out->padding = BYTES(p->c.p + p->c.n, frame_n - p->c.n);
}

void wire_parse_on(WireParse *p, WireId first)
{
	WirePacket *out = p->out;
	size_t frame_n = p->c.n;

	out->n = 0;
	out->reason = NULL;
	for (WireId id = first; id != WIRE_NONE; id = p->next) {
		if (out->n == LIMIT_LAYERS) {
			wire_note(p, "more than %d layers", LIMIT_LAYERS);
			break;
		}
		WireLayer *l = &out->layer[out->n];

		*l = (WireLayer){ .proto = wire_proto(id), .off = (uint32_t)p->c.off };
		p->next = WIRE_NONE;
		if (!l->proto->parse(p, l)) {
			p->c.off = l->off;
			break;
		}
		out->n++;
	}
	finish(p, frame_n);
}

void wire_parse(Bytes frame, WireId first, Arena *a, WirePacket *ret)
{
	WireParse p = { .c = cursor(frame), .a = a, .out = ret };

	ret->frame = frame;
	wire_parse_on(&p, first);
}
