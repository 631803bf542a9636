/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/build.h"
#include "wire/link.h"

#include <stdio.h>

enum { LONGEST_PACKET = 65535, ETHERTYPE_NONE = 0x9000 };

void wire_build_error(WireBuild *b, const char *fmt, ...)
{
	char line[160];
	va_list ap;

	if (b->error)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	b->error = n > 0 ? arena_copy(b->a, line, strlen(line)) : fmt;
}

void wire_derive_len(WireBuild *b, unsigned at, unsigned field, size_t n, const char *what)
{
	const WireLayer *l = &b->out->layer[at];
	size_t most = ((size_t)1 << l->proto->fields[field].width) - 1;

	if (n > most && !wire_is_set(l, field))
		wire_build_error(b, "%s %s of %zu: the most is %zu", l->proto->name, what, n, most);
	wire_derive(b, at, field, n);
}

void wire_derive_ethertype(WireBuild *b, unsigned at, unsigned field)
{
	int type = wire_ethertype_of(wire_inner(b, at));

	wire_derive(b, at, field, type < 0 ? ETHERTYPE_NONE : (unsigned)type);
}

void wire_derive_ipproto(WireBuild *b, unsigned at, unsigned field, uint8_t none)
{
	int proto = wire_ipproto_of(wire_inner(b, at));

	wire_derive(b, at, field, proto < 0 ? none : (unsigned)proto);
}

/* Bytes of the image that this layer's form has. */
static uint32_t image_len(const WireLayer *l)
{
	return l->proto->variant ? l->proto->variant(l->image).fixed : l->proto->fixed;
}

/* A name that nobody set is the root's. */
static Bytes var_bytes(const WireLayer *l, unsigned i)
{
	static const uint8_t root[1] = { 0 };
	Bytes b = l->var[i];

	return b.n == 0 && l->proto->fields[l->proto->var[i]].kind == FK_NAME ? BYTES(root, 1) : b;
}

uint32_t wire_header_len(const WireLayer *l)
{
	uint32_t n = image_len(l), align = l->proto->align;

	if (l->proto->measure)
		return l->proto->measure(l);
	for (unsigned i = 0; i < l->proto->nvars; i++)
		n += (uint32_t)var_bytes(l, i).n;
	if (align > 1 && n % align)
		n += align - n % align;
	return n;
}

/* RFC 8200 4.2: padding of options is an option; elsewhere zeros (EOL). */
static void put_padding(WireOptForm form, uint8_t *to, uint32_t n)
{
	enum { PADN = 1 };

	memset(to, 0, n);
	if (form == OPT_IPV6 && n > 1) {
		to[0] = PADN;
		to[1] = (uint8_t)(n - 2);
	}
}

uint32_t wire_layer_encode(const WireLayer *l, uint8_t *to)
{
	const WireProto *q = l->proto;
	uint32_t all = wire_header_len(l), fixed = image_len(l), from = 0, n = 0;

	if (q->encode) {
		Writer w = writer(to, all);

		q->encode(l, &w);
		return all;
	}
	for (unsigned i = 0; i < q->nvars; i++) {
		uint32_t at = q->fields[q->var[i]].bit / 8u;
		Bytes v = var_bytes(l, i);

		at = at < fixed ? at : fixed;
		memcpy(to + n, l->image + from, at - from);
		n += at - from;
		from = at;
		if (v.n)
			memcpy(to + n, v.p, v.n);
		n += (uint32_t)v.n;
	}
	memcpy(to + n, l->image + from, fixed - from);
	n += fixed - from;
	put_padding(q->opt_form, to + n, all - n);
	return all;
}

/* A field that is set but lies behind the end of this form has no place. */
static void check_form(WireBuild *b, const WireLayer *l)
{
	const WireProto *q = l->proto;
	uint32_t bits = image_len(l) * 8;

	for (unsigned i = 0; i < q->nfields; i++)
		if (wire_is_set(l, i) && q->fields[i].width && q->fields[i].bit + q->fields[i].width > bits)
			wire_build_error(b, "%s type %u has no field %s", q->name, l->image[0],
					 q->fields[i].name);
}

/* Gives each layer its place; the length of the frame. */
static size_t give_places(WireBuild *b, const WirePacket *p)
{
	size_t n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		WireLayer *l = &b->out->layer[i];

		*l = p->layer[i];
		if (l->proto->apart)
			wire_layer_copy(l, &p->layer[i], b->a);
		if (l->proto->variant)
			check_form(b, l);
	}
	b->out->n = p->n;
	for (unsigned i = 0; i < p->n; i++) {
		WireLayer *l = &b->out->layer[i];

		if (l->proto->prepare)
			l->proto->prepare(b, i);
		l->off = (uint32_t)n;
		l->len = wire_header_len(l) + (i ? wire_prefix_len(l[-1].proto->id, l->proto->id) : 0);
		n += l->len;
	}
	b->end = n + b->body.n;
	return b->end + p->padding.n;
}

/* Copies one layer to its place, where its image and variable fields are from now on. */
static void put_layer(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];
	uint32_t prefix = at ? wire_prefix_len(l[-1].proto->id, l->proto->id) : 0;
	uint8_t *to = b->frame + l->off + prefix;
	uint32_t place = image_len(l), end = l->len - prefix;

	if (prefix == 2)
		put_be16(to - 2, (uint16_t)(end + b->body.n));
	(void)wire_layer_encode(l, to);
	if (l->proto->apart)
		return;
	for (unsigned i = 0; i < l->proto->nvars; i++) {
		uint32_t n = (uint32_t)l->var[i].n;

		if (i + 1u == l->proto->nvars) /* with its padding */
			n = end - place;
		l->var[i] = BYTES(to + place, n);
		place += n;
	}
	l->image = to;
}

/* All fields are set now, of those that the form has.  The image of a form that
 * is shorter than the longest must not show what stands behind it. */
static void seal(WireBuild *b, WireLayer *l)
{
	const WireProto *q = l->proto;

	l->set = wire_all_set(q);
	if (!q->variant)
		return;
	uint8_t *image = arena_alloc(b->a, q->fixed);

	memcpy(image, l->image, image_len(l));
	l->image = image;
	for (unsigned i = 0; i < q->nfields; i++)
		if (!wire_has(l, i))
			l->set &= ~(UINT64_C(1) << i);
}

/* Transports come last: their checksums cover all inside, and what is outside says
 * by addresses and segments left where the packet goes. */
static void finish(WireBuild *b, bool transport)
{
	for (unsigned i = b->out->n; i-- > 0;) {
		const WireProto *q = b->out->layer[i].proto;

		if (q->finish && (q->role == ROLE_TRANSPORT) == transport)
			q->finish(b, i);
	}
}

const char *wire_build(const WirePacket *p, Arena *a, Bytes *ret_frame, WirePacket *ret_packet)
{
	WirePacket local;
	WireBuild b = { .a = a, .out = ret_packet ? ret_packet : &local, .body = p->payload };
	size_t n = give_places(&b, p);

	if (n > LIMIT_FRAME)
		wire_build_error(&b, "packet of %zu bytes: the most is %d", n, LONGEST_PACKET);
	if (b.error)
		return b.error;
	b.frame = arena_alloc(a, n + 64); /* forms are read as if they were the longest */
	for (unsigned i = 0; i < p->n; i++)
		put_layer(&b, i);
	if (p->payload.n)
		memcpy(b.frame + b.end - p->payload.n, p->payload.p, p->payload.n);
	if (p->padding.n)
		memcpy(b.frame + b.end, p->padding.p, p->padding.n);
	finish(&b, false);
	finish(&b, true);
	if (b.error)
		return b.error;
	*ret_frame = BYTES(b.frame, n);
	if (!ret_packet)
		return NULL;
	for (unsigned i = 0; i < p->n; i++)
		seal(&b, &ret_packet->layer[i]);
	ret_packet->frame = *ret_frame;
	ret_packet->payload = BYTES(b.frame + b.end - p->payload.n, p->payload.n);
	ret_packet->padding = BYTES(b.frame + b.end, p->padding.n);
	ret_packet->reason = NULL;
	return NULL;
}
