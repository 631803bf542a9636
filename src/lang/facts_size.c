/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a packet is that the program builds, as far as it is known before the
 * start, and into how many frames the gate cuts it.
 */
#include "lang/facts_inside.h"

/* The gate cuts by the MTU of the route, which is not known here: Ethernet's. */
enum { USUAL_MTU = 1500, IP_MOST = 65535, TCP_OPTIONS_MOST = 40, UTF8_MOST = 4, SHORT_FIELDS = 600 };

Len facts_byte_len(const Fact *x)
{
	Len l = { LEN_INF, 0 };

	if (x->kind == T_BYTES && !x->vals)
		return x->len;
	if (x->kind != T_STR && x->kind != T_BYTES)
		return (Len){ 0, 0 };
	if (!x->vals)
		return (Len){ x->len.lo, facts_sat_mul(x->len.hi, UTF8_MOST) };
	for (uint32_t i = 0; i < x->vals->n; i++) {
		l.lo = x->vals->s[i].n < l.lo ? x->vals->s[i].n : l.lo;
		l.hi = x->vals->s[i].n > l.hi ? x->vals->s[i].n : l.hi;
	}
	return l;
}

/* Was any of its fields set that differs in length? */
static const FieldFact *variable_set(const Stack *s, unsigned layer, const WireProto *p)
{
	for (uint32_t i = 0; i < s->nfields; i++)
		if (s->field[i].layer == layer && !p->fields[s->field[i].field].width)
			return &s->field[i];
	return NULL;
}

static Len layer_size(const Stack *s, unsigned layer)
{
	const WireProto *p = wire_proto((WireId)s->id[layer]);
	const FieldFact *ff = variable_set(s, layer, p);
	bool last = layer + 1 == s->n && !s->payload, plain = true;

	for (unsigned i = 0; i < p->nfields; i++)
		plain &= p->fields[i].width != 0;
	if (p->role == ROLE_RAW && ff && !ff->maybe)
		return facts_byte_len(ff->value);
	if (p->id == WIRE_TCP && !ff) /* a SYN that carries nothing has a host's options */
		return (Len){ p->fixed, p->fixed + (last ? TCP_OPTIONS_MOST : 0u) };
	if (plain || (p->id == WIRE_IP && !ff))
		return (Len){ p->fixed, p->fixed };
	return (Len){ p->fixed, LEN_INF };
}

Len facts_stack_size(const Stack *s, unsigned from)
{
	Len out = s->payload ? s->body : (Len){ 0, 0 };

	if (!s->built)
		return (Len){ 0, LEN_INF };
	for (unsigned i = from; i < s->n; i++) {
		Len l = layer_size(s, i);

		out = (Len){ facts_sat_add(out.lo, l.lo), facts_sat_add(out.hi, l.hi) };
	}
	return out;
}

/* Each piece but the last has a multiple of 8 bytes: RFC 791 3.2, RFC 8200 4.5. */
static uint64_t pieces(const Stack *s, uint64_t size)
{
	bool v6 = s->must & WIRE_BIT(WIRE_IPV6);
	uint64_t head = wire_proto(v6 ? WIRE_IPV6 : WIRE_IP)->fixed;
	uint64_t piece = (USUAL_MTU - head - (v6 ? wire_proto(WIRE_FRAGMENT)->fixed : 0u)) / 8 * 8;

	if (size <= USUAL_MTU)
		return 1;
	return ((size < IP_MOST ? size : IP_MOST) - head + piece - 1) / piece;
}

/* Most bytes, where headers whose length is not known are taken to be short: else
 * each question to DNS would count 45 times.  Payloads may have any length. */
static uint64_t most_bytes(const Stack *s)
{
	uint64_t n = s->payload ? s->body.hi : 0;

	for (unsigned i = 0; i < s->n; i++) {
		const WireProto *p = wire_proto((WireId)s->id[i]);
		uint64_t most = layer_size(s, i).hi;

		if (most == LEN_INF && p->role != ROLE_RAW)
			most = p->fixed + (uint64_t)SHORT_FIELDS;
		n = facts_sat_add(n, most);
	}
	return n;
}

/* At least one: a link may take more than Ethernet.  With DF it goes whole or not at all. */
Len facts_stack_frames(const Stack *s, Len size)
{
	enum { IP_DF = 2 };
	const FieldFact *ff = stack_field(s, WIRE_IP, "flags");
	int64_t flags = 0;
	bool known = !ff || (vals_one(ff->value, &flags) && !ff->maybe), df = flags & IP_DF;

	if (!s->built)
		return (Len){ 1, 1 };
	return (Len){ size.hi > USUAL_MTU && (!known || df) ? 0 : 1, known && df ? 1 : pieces(s, most_bytes(s)) };
}

/* ---- what it counts as ---- */

/* SCTP's INIT, or a packet of which nobody knows what it is. */
static bool is_init(const Stack *s)
{
	if (!(s->must & WIRE_BIT(WIRE_SCTP)))
		return false;
	return (s->must & WIRE_BIT(WIRE_SCTPINIT)) || !s->built || s->payload || s->id[s->n - 1] == WIRE_SCTP;
}

/* Is it a SYN: surely (what counts at least), or maybe? */
static bool is_syn(const Stack *s, bool surely)
{
	const FieldFact *ff = stack_field(s, WIRE_TCP, "flags");
	bool known = ff && ff->value->vals && ff->value->kind == T_INT, some = false, all = true;

	if (!(s->must & WIRE_BIT(WIRE_TCP)))
		return is_init(s) && (!surely || (s->built && (s->must & WIRE_BIT(WIRE_SCTPINIT))));
	if (!ff)
		return !surely || s->built; /* the default */
	for (uint32_t i = 0; known && i < ff->value->vals->n; i++) {
		const Range *r = &ff->value->vals->r[i];
		bool one = r->lo == r->hi, set = r->lo & 2;

		some |= !one || set;
		all &= one && set;
	}
	return surely ? known && all && !ff->maybe : !known || some;
}

void facts_cost_add(Cost *c, const Stack *s, bool first)
{
	Len size = facts_stack_size(s, 0), frames = facts_stack_frames(s, size);
	uint64_t least = s->n && s->id[0] == WIRE_ETHER ? size.lo : size.lo + wire_proto(WIRE_ETHER)->fixed;

	if (first)
		*c = (Cost){ frames, { least, least }, true, false };
	c->frames.lo = frames.lo < c->frames.lo ? frames.lo : c->frames.lo;
	c->frames.hi = frames.hi > c->frames.hi ? frames.hi : c->frames.hi;
	c->bytes.lo = least < c->bytes.lo ? least : c->bytes.lo;
	c->syn &= is_syn(s, true);
	c->may_syn |= is_syn(s, false);
}
