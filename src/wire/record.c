/* SPDX-License-Identifier: Apache-2.0
 *
 * Records: the elements of fields of kind FK_RECORDS, back to back.
 */
#include "wire/build.h"
#include "wire/parse.h"

bool wire_record_next(WireId kind, Cursor *c, WireLayer *ret_l)
{
	const WireProto *p = wire_proto(kind);
	size_t from = c->off;

	if (cur_left(c) == 0 || c->bad)
		return false;
	WireLayer l = { .proto = p, .off = (uint32_t)from, .image = (uint8_t *)(uintptr_t)(c->p + from) };

	if (!p->next(c, &l) || c->bad) {
		c->bad = true;
		return false;
	}
	l.set = wire_all_set(l.proto);
	l.len = (uint32_t)(c->off - from);
	*ret_l = l;
	return true;
}

Bytes wire_record_build(const WireLayer *l, Arena *a)
{
	WireLayer r;
	int rdlen = wire_field(l->proto, STR("rdlen"));

	wire_layer_copy(&r, l, a);
	if (rdlen >= 0 && !wire_is_set(l, (unsigned)rdlen)) /* its data are the last field */
		(void)wire_set_num(&r, (unsigned)rdlen, l->var[l->proto->nvars - 1].n & 0xffff);
	uint8_t *to = arena_alloc(a, wire_header_len(&r));

	return BYTES(to, wire_layer_encode(&r, to));
}

bool wire_record_parse(WireParse *p, WireLayer *l)
{
	WireLayer r;

	if (!wire_record_next(l->proto->id, &p->c, &r)) {
		p->c.bad = false;
		p->c.off = l->off;
		return wire_fail(p, "%s runs past the end", l->proto->name);
	}
	*l = r;
	return true;
}
