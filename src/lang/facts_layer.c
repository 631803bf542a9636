/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets that the program builds: layers with fields, and `/`.
 */
#include "lang/facts_inside.h"

#include "wire/ber.h"

static const Fact *field_number(Facts *f, const WireField *w, const Fact *x, Node *n)
{
	uint64_t max = w->width >= 64 ? UINT64_MAX : (UINT64_C(1) << w->width) - 1;

	if (x->kind == T_STR && w->names) {
		const Fact like = { .kind = w->kind == FK_FLAGS ? T_FLAGS : T_INT, .field = w };

		if (!x->vals) {
			facts_say(f, "E-TYPE", n, "%s: a str whose value is not known here", w->name)
				->hint = STR(
				"names of field values must be constants; a number may come from anywhere");
			return facts_bad(f);
		}
		if (!facts_comparable(f, &like, x, n, n))
			return facts_bad(f);
		const Vals *v = NULL;

		for (uint32_t i = 0; i < x->vals->n; i++) {
			uint64_t u = 0;

			wire_name_value(w, x->vals->s[i], &u);
			const Vals *one = mk_range(f, T_INT, (int64_t)u, (int64_t)u)->vals;

			v = v ? vals_join(f, T_INT, v, one) : one;
		}
		return mk_vals(f, T_INT, v);
	}
	if (x->kind == T_FLAGS)
		return mk_vals(f, T_INT, x->vals);
	if (x->kind != T_INT && x->kind != T_BOOL)
		return NULL;
	int64_t least = w->kind == FK_SINT ? -(int64_t)(max / 2) - 1 : 0;

	if (w->kind == FK_SINT)
		max /= 2;
	for (uint32_t i = 0; x->vals && w->kind != FK_SERIAL && i < x->vals->n; i++)
		if (x->vals->r[i].hi < least ||
		    (max < INT64_MAX && x->vals->r[i].lo >= 0 && (uint64_t)x->vals->r[i].lo > max)) {
			facts_say(f, "E-VALUE", n, "%s takes %lld to %llu", w->name, (long long)least,
				  (unsigned long long)max);
			return facts_bad(f);
		}
	return x->kind == T_INT ? x : mk_vals(f, T_INT, x->vals);
}

static bool ip_family(Facts *f, const WireField *w, const Fact *x, Node *n)
{
	uint8_t v = w->kind == FK_IP4 ? 4 : 6;

	for (uint32_t i = 0; x->kind == T_IP && x->vals && i < x->vals->n; i++)
		if (x->vals->ip[i].lo.v && x->vals->ip[i].lo.v != v) {
			Diag *d = facts_say(f, "E-TYPE", n, "%s takes an IPv%u address; this is IPv%u",
					    w->name, v, x->vals->ip[i].lo.v);

			d->hint = STR("L3(dst) is IP or IPv6 by the address");
			return false;
		}
	return true;
}

static const Fact *field_ip(Facts *f, const WireField *w, const Fact *x, Node *n, Len *many)
{
	Str s;
	Net net;

	if (x->kind == T_STR && fact_one_str(x, &s) && memchr(s.p, '/', s.n) && net_parse(s, &net)) {
		x = facts_to_net(f, x, n, w->name);
	}
	if (x->kind == T_NET) {
		Len l;
		const Fact *ip = facts_iterate(f, x, n, &l);

		*many = l;
		x = ip;
	}
	const Fact *ip = facts_to_ip(f, x, n, str_is(str_c(w->name), "dst") || str_is(str_c(w->name), "pdst"),
				     w->name);

	if (ip && ip->kind == T_IP && !ip_family(f, w, ip, n))
		return facts_bad(f);
	return ip;
}

/* A known name of an option of p; a value that is not known passes: the VM looks. */
static bool option_named(const WireProto *p, const Fact *name)
{
	Str s;

	return !fact_one_str(name, &s) || wire_option_by_name(p, s);
}

/* A text where an option's number is due is one of its names. */
static bool option_value(Facts *f, const WireProto *p, const Fact *pair, Node *n)
{
	Str name, value;
	uint64_t v;

	if (pair->open || pair->n != 2 || !fact_one_str(pair->item[0], &name) || !fact_one_str(pair->item[1], &value))
		return true;
	const WireOption *o = wire_option_by_name(p, name);
	const WireField like = { .kind = FK_ENUM, .names = o ? o->names : NULL };

	if (!o || !o->names || wire_name_value(&like, value, &v))
		return true;
	Diag *d = facts_say(f, "E-VALUE", n, "\"%.*s\" is no value of %s", STR_ARG(value), o->name);
	Sb b = sb(f->a);

	for (const WireName *w = o->names; w->name; w++)
		sb_printf(&b, "%s%s", b.n ? " " : "one of: ", w->name);
	d->hint = sb_done(&b);
	return false;
}

static const Fact *field_options(Facts *f, const WireProto *p, const Fact *x, Node *n)
{
	Len l;

	if (x->kind == T_BYTES)
		return x;
	if (x->kind != T_LIST && x->kind != T_TUPLE)
		return NULL;
	const Fact *e = facts_iterate(f, x, n, &l);

	for (uint32_t i = 0; i < fact_ways(e); i++) {
		const Fact *o = fact_way(f, e, i);

		if (fact_quiet(o) || o->kind == T_OPTION)
			continue;
		if (o->kind == T_TUPLE && !option_value(f, p, o, n))
			return facts_bad(f);
		if (o->kind == T_TUPLE && (o->open || (o->n >= 2 && option_named(p, o->item[0]))))
			continue;
		if (o->kind == T_STR && option_named(p, o))
			continue;
		Diag *d = facts_say(f, "E-TYPE", n, "options is a list of options; this has %.*s",
				    STR_ARG(facts_a_text(f, o)));

		d->hint = STR("[MSS(1460), WScale(7), Option(kind, b\"..\")]");
		return facts_bad(f);
	}
	return x;
}

/* What is known of the text has digits and dots alone. */
static const Fact *field_oid(Facts *f, const Fact *x, Node *n)
{
	Bytes oid;

	if (x->kind != T_STR)
		return NULL;
	for (uint32_t i = 0; x->vals && i < x->vals->n; i++)
		if (!ber_oid_from_text(x->vals->s[i], f->a, &oid)) {
			facts_say(f, "E-VALUE", n, "\"%.*s\" is no object identifier", STR_ARG(x->vals->s[i]))
				->hint = STR("numbers with dots, like \"1.3.6.1.2.1.1.1.0\": names of MIBs are not known");
			return facts_bad(f);
		}
	return x;
}

static const Fact *field_one(Facts *f, const WireProto *p, const WireField *w, const Fact *x, Node *n,
			     Len *many)
{
	switch (w->kind) {
	case FK_STAMP:
		return x->kind == T_TIME ? x : NULL;
	case FK_OID:
		return field_oid(f, x, n);
	case FK_BER:
		return x->kind == T_INT || x->kind == T_IP || x->kind == T_STR || x->kind == T_BYTES ? x : NULL;
	case FK_UINT:
	case FK_SINT:
	case FK_SERIAL:
	case FK_FLAGS:
	case FK_ENUM:
		return field_number(f, w, x, n);
	case FK_IP4:
	case FK_IP6:
		return field_ip(f, w, x, n, many);
	case FK_MAC:
		return facts_to_mac(f, x, n, w->name);
	case FK_BYTES:
		return x->kind == T_STR || x->kind == T_BYTES	   ? x
		       : p->role == ROLE_RECORD && x->kind == T_IP ? x
								   : NULL;
	case FK_NAME:
		return x->kind == T_STR ? x : NULL;
	case FK_OPTIONS:
		return field_options(f, p, x, n);
	case FK_RECORDS:
		return x->kind == T_PACKET || x->kind == T_LIST || x->kind == T_BYTES || x->kind == T_TUPLE
			       ? x
			       : NULL;
	}
	return NULL;
}

static bool is_scalar(const WireField *w)
{
	return w->kind < FK_STAMP && w->kind != FK_BYTES && w->kind != FK_NAME && w->kind != FK_OPTIONS && w->kind != FK_RECORDS;
}

/* Inclusive (lo, hi) of a scalar field. */
static const Fact *field_pair(Facts *f, const WireProto *p, const WireField *w, const Fact *x, Node *n,
			      Len *many)
{
	Len l;
	const Fact *lo = field_one(f, p, w, x->item[0], n, &l), *hi = field_one(f, p, w, x->item[1], n, &l);
	int64_t a, b;

	if (!lo || !hi || lo->kind != hi->kind)
		return NULL;
	*many = (Len){ 1, LIMIT_PACKET_LIST };
	if (lo->kind == T_INT && vals_one(lo, &a) && vals_one(hi, &b) && a <= b) {
		*many = (Len){ (uint64_t)(b - a) + 1, (uint64_t)(b - a) + 1 };
		return mk_range(f, T_INT, a, b);
	}
	if (lo->kind == T_IP && lo->vals && hi->vals && lo->vals->n == 1 && hi->vals->n == 1) {
		Vals *v = arena_new(f->a, Vals);
		Target *t = arena_new(f->a, Target);

		*t = (Target){ .lo = lo->vals->ip[0].lo, .hi = hi->vals->ip[0].hi };
		*v = (Vals){ .n = 1, .ip = t };
		return mk_vals(f, T_IP, v);
	}
	return lo->kind == T_ERROR ? lo : mk(f, lo->kind);
}

static const Fact *field_many(Facts *f, const WireProto *p, const WireField *w, const Fact *x, Node *n,
			      Len *many)
{
	Len inner = { 1, 1 };

	if (x->kind == T_TUPLE && !x->open && x->n == 2)
		return field_pair(f, p, w, x, n, many);
	const Fact *e = facts_iterate(f, x, n, many), *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < fact_ways(e); i++) {
		const Fact *y = field_one(f, p, w, facts_need(f, fact_way(f, e, i), n), n, &inner);

		if (!y)
			return NULL;
		out = facts_join(f, out, y);
	}
	return out;
}

static const Fact *field_value(Facts *f, WireId id, unsigned field, const Fact *x, Node *n, Len *ret_many)
{
	const WireProto *p = wire_proto(id);
	const WireField *w = &p->fields[field];
	const Fact *out = mk(f, T_NEVER);

	*ret_many = (Len){ 1, 1 };
	x = facts_need(f, x, n);
	for (uint32_t i = 0; i < fact_ways(x); i++) {
		const Fact *v = fact_way(f, x, i), *y;
		bool list = is_scalar(w) && (v->kind == T_LIST || v->kind == T_TUPLE || v->kind == T_SET);

		if (fact_quiet(v))
			y = v;
		else
			y = list ? field_many(f, p, w, v, n, ret_many) : field_one(f, p, w, v, n, ret_many);
		if (!y) {
			static const char *const what[] = { "a number",
							    "a number",
							    "flags",
							    "a number or a name",
							    "an address",
							    "an address",
							    "a hardware address",
							    "bytes or str",
							    "a str",
							    "a list of options",
							    "records, like DNSQR(..)",
							    "a number",
							    "a time, like now()",
							    "an object identifier, like \"1.3.6.1.2.1.1.1.0\"",
							    "a number, an address, str or bytes" };
			Diag *d = facts_say(f, "E-TYPE", n, "%s.%s is %s; this is %.*s", p->name, w->name,
					    what[w->kind], STR_ARG(facts_a_text(f, v)));

			if (v->kind == T_FLOAT)
				facts_fix(f, d, n,
					  str_printf(f->a, "int(%.*s)", STR_ARG(facts_source(f, n))));
			else if (v->kind == T_STR && is_scalar(w) && w->kind != FK_FLAGS)
				facts_fix_number(f, d, n, v, true);
			return facts_bad(f);
		}
		out = facts_join(f, out, y);
	}
	return out;
}

const Fact *facts_field_value(Facts *f, WireId id, unsigned field, const Fact *x, Node *n, Len *ret_many)
{
	return label_like(f, x, field_value(f, id, field, x, n, ret_many));
}

/* ---- layers ---- */

static Stack *stack_new(Facts *f, WireId id)
{
	Stack *s = arena_new(f->a, Stack);

	s->built = true;
	s->n = 1;
	s->id[0] = (uint8_t)id;
	s->must = WIRE_BIT(id);
	s->mustnot = ~s->must;
	return s;
}

static bool field_name(Facts *f, Node *n, const WireProto *p, const Arg *a, int *ret_field)
{
	Str name = a->name->text;
	Near near = { .want = name, .d = 255 };
	Span at = { a->span.from, a->span.from + (uint32_t)name.n };

	*ret_field = wire_field(p, name);
	if (*ret_field >= 0)
		return true;
	for (unsigned i = 0; i < p->nfields; i++)
		facts_near_try(&near, str_c(p->fields[i].name));
	Diag *d = facts_say_at(f, "E-FIELD", n, at, "%s has no field %.*s", p->name, STR_ARG(name));

	const char *known = facts_field_habit(p, name);

	if (known) {
		facts_fix_span(f, d, n, at, str_c(known));
		return false;
	}
	if (near.d <= 2) {
		facts_near_fix(f, d, &near, n, at);
		return false;
	}
	Sb b = sb(f->a);

	sb_cstr(&b, "its fields: ");
	for (unsigned i = 0; i < p->nfields; i++)
		sb_printf(&b, "%s%s", i ? " " : "", p->fields[i].name);
	d->hint = sb_done(&b);
	return false;
}

/* What people mean by n values without names. */
static const char *const *meant_fields(WireId id, uint32_t n)
{
	static const struct {
		uint8_t id, n;
		const char *name[2];
	} rows[] = { { WIRE_IP, 1, { "dst" } },	      { WIRE_IPV6, 1, { "dst" } },
		     { WIRE_TCP, 1, { "dport" } },    { WIRE_TCP, 2, { "sport", "dport" } },
		     { WIRE_UDP, 1, { "dport" } },    { WIRE_UDP, 2, { "sport", "dport" } },
		     { WIRE_ICMP, 1, { "type" } },    { WIRE_ICMP, 2, { "type", "code" } },
		     { WIRE_ICMPV6, 1, { "type" } },  { WIRE_DNSQR, 1, { "qname" } },
		     { WIRE_DNSQR, 2, { "qname", "qtype" } }, { WIRE_ARP, 1, { "pdst" } },
		     { WIRE_ETHER, 1, { "dst" } } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].id == id && rows[i].n == n)
			return rows[i].name;
	return NULL;
}

/* Told at the first of them, for all that stand side by side. */
static void refuse_positions(Facts *f, const WireProto *p, const Arg *arg, uint32_t nargs, uint32_t i)
{
	uint32_t n = 0;

	if (i && !arg[i - 1].name)
		return;
	while (i + n < nargs && !arg[i + n].name)
		n++;
	const char *const *name = meant_fields(p->id, n);
	Diag *d = facts_say(f, "E-ARGS", arg[i].value, "fields of %s are given by name", p->name);
	Sb b = sb(f->a);

	d->hint = str_printf(f->a, "%s(%s=..)", p->name, p->fields[0].name);
	for (uint32_t k = 0; name && k < n; k++)
		sb_printf(&b, "%s%s=%.*s", k ? ", " : "", name[k], STR_ARG(facts_source(f, arg[i + k].value)));
	if (name)
		facts_fix_span(f, d, arg[i].value, (Span){ arg[i].span.from, arg[i + n - 1].span.to }, sb_done(&b));
}

/* Raw(b"x"), and layers that have one field only. */
static bool by_position(Facts *f, const WireProto *p, const Arg *arg, uint32_t nargs, uint32_t i, int *ret_field)
{
	if ((p->nfields == 1 || p->role == ROLE_RAW) && i == 0) {
		*ret_field = 0;
		return true;
	}
	refuse_positions(f, p, arg, nargs, i);
	facts_ex(f, arg[i].value);
	return false;
}

const Fact *facts_layer_of(Facts *f, Node *n, WireId id, const Arg *arg, uint32_t nargs)
{
	const WireProto *p = wire_proto(id);
	Stack *s = stack_new(f, id);
	FieldFact *ff = arena_new_n(f->a, FieldFact, nargs);
	Len many = { 1, 1 };
	bool ok = true, list = false;

	for (uint32_t i = 0; i < nargs; i++) {
		const Arg *a = &arg[i];
		int field = -1;
		Len l;

		if (!(a->name ? field_name(f, n, p, a, &field) : by_position(f, p, arg, nargs, i, &field))) {
			if (a->name)
				facts_ex(f, a->value);
			ok = false;
			continue;
		}
		const Fact *x = facts_ex(f, a->value);

		if (x->kind == T_NONE)
			continue;
		bool maybe = x->none && x->kind != T_ANY;

		x = facts_field_value(f, id, (unsigned)field, mk_some(f, x), a->value, &l);
		ok &= x->kind != T_ERROR;
		list |= l.lo != 1 || l.hi != 1;
		many = (Len){ facts_sat_mul(many.lo, l.lo), facts_sat_mul(many.hi, l.hi) };
		ff[s->nfields++] =
			(FieldFact){ .field = (uint8_t)field, .maybe = maybe, .value = x, .node = a->value };
	}
	if (!ok)
		return facts_bad(f);
	s->field = ff;
	const Stack **one = arena_new_n(f->a, const Stack *, 1);

	one[0] = s;
	const Fact *x = mk_packet(f, one, 1);

	if (!list)
		return x;
	const Fact *l = mk_list(f, n, 0, x, many);

	l->cell->packets = true;
	cell_changed(f, l->cell);
	return l;
}

const Fact *facts_layer_call(Facts *f, Node *n, WireId id)
{
	return facts_layer_of(f, n, id, n->call.arg, n->call.n);
}

const Fact *facts_option_call(Facts *f, Node *n, const struct WireOption *o)
{
	for (uint32_t i = 0; i < n->call.n; i++) {
		const Fact *x = facts_ex_value(f, n->call.arg[i].value);

		if (fact_quiet(x))
			continue;
		if (o->args && x->kind != T_INT && x->kind != T_BOOL)
			facts_say(f, "E-TYPE", n->call.arg[i].value, "%s takes numbers; this is %.*s",
				  o->name, STR_ARG(facts_a_text(f, x)));
	}
	if (o->len && n->call.n != o->args) {
		facts_say(f, "E-ARGS", n, "%s takes %u argument%s", o->name, o->args,
			  o->args == 1 ? "" : "s");
		return facts_bad(f);
	}
	return mk(f, T_OPTION);
}

/* ---- a / b ---- */

/* b is NULL: the bytes `tail`. */
static const Stack *stack_on(Facts *f, const Stack *a, const Stack *b, const Fact *tail, const Node *at)
{
	Stack *s = arena_new(f->a, Stack);

	*s = *a;
	if (!b) {
		s->payload = true;
		s->tail = label_join(f, s->tail, tail->kind == T_PACKET ? NULL : label_deep(f, tail));
		s->tail_most = facts_sat_add(s->tail_most, tail->len.hi);
		const Len body = facts_byte_len(tail);

		s->body = (Len){ facts_sat_add(a->body.lo, body.lo), facts_sat_add(a->body.hi, body.hi) };
		return s;
	}
	if (a->n + b->n > LIMIT_LAYERS) {
		facts_say(f, "E-VALUE", at, "a packet has at most %u layers", LIMIT_LAYERS);
		return a;
	}
	memcpy(s->id + a->n, b->id, b->n);
	s->n = (uint8_t)(a->n + b->n);
	s->must = a->must | b->must;
	s->mustnot = a->mustnot & b->mustnot & ~s->must;
	s->built = a->built && b->built;
	s->payload = b->payload;
	s->tail = label_join(f, a->tail, b->tail);
	s->tail_most = facts_sat_add(a->tail_most, b->tail_most);
	s->content = NULL;
	s->echoes = 0;
	s->probe = NULL;
	s->body = (Len){ facts_sat_add(a->body.lo, b->body.lo), facts_sat_add(a->body.hi, b->body.hi) };
	FieldFact *ff = arena_new_n(f->a, FieldFact, a->nfields + b->nfields);

	memcpy(ff, a->field, a->nfields * sizeof *ff);
	for (uint32_t i = 0; i < b->nfields; i++) {
		ff[a->nfields + i] = b->field[i];
		ff[a->nfields + i].layer = (uint8_t)(ff[a->nfields + i].layer + a->n);
	}
	s->field = ff;
	s->nfields = a->nfields + b->nfields;
	return s;
}

/* Echo() is ICMP behind IP and ICMPv6 behind IPv6. */
static bool other_family(const Stack *a, const Stack *b)
{
	bool v6 = a->n && a->id[a->n - 1] == WIRE_IPV6, v4 = a->n && a->id[a->n - 1] == WIRE_IP;

	return (v6 && b->id[0] == WIRE_ICMP) || (v4 && b->id[0] == WIRE_ICMPV6);
}

static const Fact *packets_on(Facts *f, const Fact *a, const Fact *b, const Node *at)
{
	const Fact *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < (b->kind == T_PACKET ? b->n : 1); k++) {
			if (b->kind == T_PACKET && b->n > 1 && other_family(a->stack[i], b->stack[k]))
				continue;
			const Stack **one = arena_new_n(f->a, const Stack *, 1);

			one[0] = stack_on(f, a->stack[i], b->kind == T_PACKET ? b->stack[k] : NULL, b, at);
			out = facts_join(f, out, mk_packet(f, one, 1));
		}
	return out;
}

static const Fact *items_of(Facts *f, const Fact *x, const Node *at, Len *many)
{
	Len l;

	if (x->kind != T_LIST)
		return x;
	const Fact *e = facts_iterate(f, x, at, &l);

	*many = (Len){ facts_sat_mul(many->lo, l.lo), facts_sat_mul(many->hi, l.hi) };
	return e;
}

const Fact *facts_stack_layers(Facts *f, const Fact *a, const Fact *b, const Node *at)
{
	Len many = { 1, 1 };
	bool list = a->kind == T_LIST || b->kind == T_LIST;
	const Fact *x = items_of(f, a, at, &many), *y = items_of(f, b, at, &many), *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < fact_ways(x); i++)
		for (uint32_t k = 0; k < fact_ways(y); k++) {
			const Fact *p = fact_way(f, x, i), *q = fact_way(f, y, k);

			if (p->kind == T_PACKET &&
			    (q->kind == T_PACKET || q->kind == T_STR || q->kind == T_BYTES)) {
				out = facts_join(f, out, packets_on(f, p, q, at));
			} else if (fact_quiet(p) || fact_quiet(q)) {
				out = facts_join(f, out, fact_quiet(p) ? p : q);
			} else {
				facts_say(f, "E-TYPE", at, "`/` can't join %.*s and %.*s",
					  STR_ARG(facts_a_text(f, a)), STR_ARG(facts_a_text(f, b)));
				return facts_bad(f);
			}
		}
	if (!list || out->kind == T_ERROR)
		return out;
	const Fact *l = mk_list(f, at, 0, out, many);

	l->cell->packets = true;
	cell_changed(f, l->cell);
	return l;
}
