/* SPDX-License-Identifier: Apache-2.0
 *
 * What packets carry: fields and attributes of those that came, whom those that are
 * built go to, and whose content answers them.
 */
#include "lang/label_inside.h"

#define NETWORKS   (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6))
#define TRANSPORTS (WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6) | WIRE_BIT(WIRE_UDP) | WIRE_BIT(WIRE_TCP))

static const Fact *field_value(const Stack *s, WireId id, const char *name)
{
	const FieldFact *ff = stack_field(s, id, name);

	return ff ? ff->value : NULL;
}

static int32_t port_of(const Stack *s, WireId trans)
{
	const Fact *x = trans == WIRE_TCP || trans == WIRE_UDP ? field_value(s, trans, "dport") : NULL;
	int64_t port;

	if (trans != WIRE_TCP && trans != WIRE_UDP)
		return ORIGIN_NO_PORT;
	return x && vals_one(x, &port) && port >= 0 && port < 65536 ? (int32_t)port : ORIGIN_PORTS;
}

static uint8_t proto_of(WireId net, WireId trans)
{
	static const struct {
		WireId id;
		uint8_t proto;
	} rows[] = { { WIRE_TCP, 6 }, { WIRE_UDP, 17 }, { WIRE_ICMP, 1 }, { WIRE_ICMPV6, 58 } };

	for (size_t i = 0; net != WIRE_ARP && i < sizeof rows / sizeof *rows; i++)
		if (rows[i].id == trans)
			return rows[i].proto;
	return 0;
}

/* Where the program does not say it, it is within what it declares. */
static const Label *in_reach(Facts *f, Origin like)
{
	const Label *l = NULL;

	for (uint32_t i = 0; i < f->m->decls.reach.n; i++) {
		like.peer = f->m->decls.reach.p[i].target;
		l = label_join(f, l, label_of(f, LABEL_CONTENT, label_origin(f, like)));
	}
	return l ? l : label_any(f, LABEL_CONTENT);
}

/* Too many to be told apart: all from the first to the last. */
static const Label *around(Facts *f, const Vals *v, Origin like)
{
	like.peer = v->ip[0];
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->ip[i].name.n || v->ip[i].lo.v != like.peer.lo.v)
			return label_any(f, LABEL_CONTENT);
		if (ip_cmp(v->ip[i].lo, like.peer.lo) < 0)
			like.peer.lo = v->ip[i].lo;
		if (ip_cmp(v->ip[i].hi, like.peer.hi) > 0)
			like.peer.hi = v->ip[i].hi;
	}
	return label_of(f, LABEL_CONTENT, label_origin(f, like));
}

const Label *label_targets(Facts *f, const Fact *dst, Origin like)
{
	const Label *l = NULL;

	if (!dst || dst->kind != T_IP)
		return label_any(f, LABEL_CONTENT);
	if (dst->one) {
		like.sym = dst->one;
		return label_of(f, LABEL_CONTENT, label_origin(f, like));
	}
	if (!dst->vals)
		return in_reach(f, like);
	if (dst->vals->n > LABEL_ORIGINS)
		return around(f, dst->vals, like);
	for (uint32_t i = 0; i < dst->vals->n; i++) {
		like.peer = dst->vals->ip[i];
		l = label_join(f, l, label_of(f, LABEL_CONTENT, label_origin(f, like)));
	}
	return l;
}

const Label *label_answer(Facts *f, const Stack *s)
{
	WireId net = stack_first(s, NETWORKS), trans = stack_first(s, TRANSPORTS);

	if (net == WIRE_NONE || !s->built)
		return label_any(f, LABEL_CONTENT);
	return label_targets(f, field_value(s, net, net == WIRE_ARP ? "pdst" : "dst"),
			     (Origin){ .proto = proto_of(net, trans),
				       .port = net == WIRE_ARP ? ORIGIN_NO_PORT : port_of(s, trans) });
}

const Label *label_echo(Facts *f, const Stack *s)
{
	const Label *l = NULL;

	for (uint32_t i = 0; s->built && i < s->nfields; i++) {
		const FieldFact *ff = &s->field[i];

		if (wire_proto((WireId)s->id[ff->layer])->fields[ff->field].label == LABEL_MATCHED)
			l = label_join(f, l, label_deep(f, ff->value));
	}
	return l;
}

const Fact *label_field(Facts *f, const Stack *s, WireId id, unsigned field, const Fact *x)
{
	const WireField *w = &wire_proto(id)->fields[field];

	if (!s->built)
		return label_add(f, x,
				 w->label == LABEL_MATCHED && (s->echoes & WIRE_BIT(id)) ? s->echo
											   : label_content(f, s));
	const FieldFact *ff = stack_field(s, id, w->name);

	if (ff)
		return label_add(f, x, label_deep(f, ff->value));
	return w->computed || w->follows ? label_add(f, x, label_stack(f, s)) : x;
}

const Fact *label_packet_attr(Facts *f, BuiltinAttr at, const Fact *p, const Fact *x)
{
	WireLabel level = builtin_attrs[at].label;
	const Label *l = NULL;

	for (uint32_t i = 0; i < p->n; i++) {
		const Stack *s = p->stack[i];

		if (level == LABEL_MEASURED)
			l = label_join(f, l, label_made(f, s->built ? label_answer(f, s) : label_content(f, s), level));
		else if (!s->built || at != A_PACKET_iface)
			l = label_join(f, l, label_stack(f, s));
	}
	return label_add(f, x, l);
}

const Fact *label_answers_attr(Facts *f, const Fact *self, BuiltinAttr at, const Fact *x)
{
	const Label *l = label_made(f, label_answers(f, self), builtin_attrs[at].label);

	return label_add(f, x, label_join(f, l, self->label));
}
