/* SPDX-License-Identifier: Apache-2.0
 *
 * What packets have: layer stacks, answers, quotes, attributes.
 */
#include "lang/facts_inside.h"

#include "deal/ports.h"

#define NETWORKS (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6))
#define TRANSPORTS                                                                                           \
	(WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6) | WIRE_BIT(WIRE_UDP) | WIRE_BIT(WIRE_TCP) |             \
	 WIRE_BIT(WIRE_ARP))

/* ---- stacks ---- */

const Fact *mk_packet(Facts *f, const Stack *const *s, uint32_t n)
{
	Fact *x = mk_copy(f, mk(f, T_PACKET));

	x->stack = s;
	x->n = n;
	return x;
}

static const Fact *mk_stack(Facts *f, uint64_t must, uint64_t mustnot, const Fact *quoted)
{
	Stack *s = arena_new(f->a, Stack);
	const Stack **one = arena_new_n(f->a, const Stack *, 1);

	*s = (Stack){ .must = must, .mustnot = mustnot, .quoted = quoted };
	one[0] = s;
	return mk_packet(f, one, 1);
}

const Fact *facts_any_packet(Facts *f)
{
	return mk_stack(f, 0, 0, NULL);
}

static bool fields_eq(const Stack *a, const Stack *b)
{
	if (a->nfields != b->nfields)
		return false;
	for (uint32_t i = 0; i < a->nfields; i++)
		if (a->field[i].layer != b->field[i].layer || a->field[i].field != b->field[i].field ||
		    a->field[i].maybe != b->field[i].maybe || !fact_eq(a->field[i].value, b->field[i].value))
			return false;
	return true;
}

static bool same_shape(const Stack *a, const Stack *b)
{
	return a->built == b->built && a->n == b->n && memcmp(a->id, b->id, a->n) == 0 &&
	       a->must == b->must && a->mustnot == b->mustnot && a->quote == b->quote && a->of_conn == b->of_conn &&
	       !a->quoted == !b->quoted;
}

static bool same_probe(const Stack *a, const Stack *b)
{
	return a->probe == b->probe || (a->probe && b->probe && stack_eq(a->probe, b->probe));
}

bool stack_eq(const Stack *a, const Stack *b)
{
	return a == b || (same_shape(a, b) && a->payload == b->payload && a->body.lo == b->body.lo &&
			  a->body.hi == b->body.hi && a->tail == b->tail && a->tail_most == b->tail_most &&
			  a->content == b->content && a->echoes == b->echoes && a->echo == b->echo &&
			  same_probe(a, b) && fields_eq(a, b) &&
			  (a->quoted == b->quoted || fact_eq(a->quoted, b->quoted)));
}

static const FieldFact *field_of(const Stack *s, unsigned layer, unsigned field)
{
	for (uint32_t i = 0; i < s->nfields; i++)
		if (s->field[i].layer == layer && s->field[i].field == field)
			return &s->field[i];
	return NULL;
}

const FieldFact *stack_field(const Stack *s, WireId id, const char *name)
{
	int field = wire_field(wire_proto(id), str_c(name));

	for (unsigned i = 0; field >= 0 && i < s->n; i++)
		if (s->id[i] == id)
			return field_of(s, i, (unsigned)field);
	return NULL;
}

static const Stack *shape_join(Facts *f, const Stack *a, const Stack *b)
{
	Stack *s = arena_new(f->a, Stack);
	FieldFact *ff = arena_new_n(f->a, FieldFact, a->nfields + b->nfields);

	*s = *a;
	s->payload |= b->payload;
	s->tail = label_join(f, a->tail, b->tail);
	s->tail_most = a->tail_most > b->tail_most ? a->tail_most : b->tail_most;
	s->content = a->content && b->content ? label_join(f, a->content, b->content) : NULL;
	s->echoes &= b->echoes;
	s->echo = label_join(f, a->echo, b->echo);
	s->probe = same_probe(a, b) ? a->probe : NULL;
	s->body = (Len){ a->body.lo < b->body.lo ? a->body.lo : b->body.lo,
			 a->body.hi > b->body.hi ? a->body.hi : b->body.hi };
	s->nfields = 0;
	for (uint32_t i = 0; i < a->nfields; i++) {
		const FieldFact *o = field_of(b, a->field[i].layer, a->field[i].field);

		ff[s->nfields] = a->field[i];
		if (o)
			ff[s->nfields].value = facts_join(f, a->field[i].value, o->value);
		ff[s->nfields++].maybe |= !o || o->maybe;
	}
	for (uint32_t i = 0; i < b->nfields; i++)
		if (!field_of(a, b->field[i].layer, b->field[i].field)) {
			ff[s->nfields] = b->field[i];
			ff[s->nfields++].maybe = true;
		}
	s->field = ff;
	if (a->quoted && b->quoted)
		s->quoted = facts_join(f, a->quoted, b->quoted);
	return stack_eq(s, a) ? a : s;
}

const Fact *packet_join(Facts *f, const Fact *a, const Fact *b)
{
	const Stack **s = arena_new_n(f->a, const Stack *, a->n + b->n);
	uint32_t n = a->n;
	bool same = true;

	memcpy(s, a->stack, a->n * sizeof *s);
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t k = 0;

		while (k < n && !same_shape(s[k], b->stack[i]))
			k++;
		if (k < n) {
			const Stack *j =
				stack_eq(s[k], b->stack[i]) ? s[k] : shape_join(f, s[k], b->stack[i]);

			same &= j == s[k];
			s[k] = j;
		} else {
			s[n++] = b->stack[i];
			same = false;
		}
	}
	if (same)
		return a;
	if (n > LIMIT_STACKS) {
		uint64_t must = UINT64_MAX, mustnot = UINT64_MAX;

		for (uint32_t i = 0; i < n; i++) {
			must &= s[i]->must;
			mustnot &= s[i]->mustnot;
		}
		return mk_stack(f, must, mustnot, NULL);
	}
	Fact *x = mk_copy(f, a);

	x->stack = s;
	x->n = n;
	return x;
}

/* The fields that still change in a loop may have any value. */
const Fact *packet_widen(Facts *f, const Fact *x)
{
	const Stack **s = arena_new_n(f->a, const Stack *, x->n);

	for (uint32_t i = 0; i < x->n; i++) {
		Stack *t = arena_new(f->a, Stack);
		FieldFact *ff = arena_new_n(f->a, FieldFact, x->stack[i]->nfields);

		*t = *x->stack[i];
		for (uint32_t k = 0; k < t->nfields; k++) {
			ff[k] = t->field[k];
			ff[k].value = ff[k].value->vals ? label_like(f, ff[k].value, mk(f, ff[k].value->kind)) : ff[k].value;
		}
		t->body = t->payload ? (Len){ 0, LEN_INF } : t->body;
		t->field = ff;
		if (t->quoted)
			t->quoted = facts_any_packet(f);
		s[i] = t;
	}
	Fact *y = mk_copy(f, x);

	y->stack = s;
	return y;
}

/* What else an answer without a tunnel does not have: one transport, one network. */
static uint64_t excludes(WireId id)
{
	uint64_t bit = WIRE_BIT(id), no = 0;

	if (bit & TRANSPORTS)
		no |= TRANSPORTS & ~bit;
	if (bit & NETWORKS)
		no |= NETWORKS & ~bit;
	return no;
}

const Fact *packet_having(Facts *f, const Fact *p, WireId id, bool has)
{
	const Stack **s = arena_new_n(f->a, const Stack *, p->n + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const Stack *old = p->stack[i];

		if ((has ? old->mustnot : old->must) & WIRE_BIT(id))
			continue;
		Stack *t = arena_new(f->a, Stack);

		*t = *old;
		if (has) {
			t->must |= WIRE_BIT(id);
		} else {
			t->mustnot |= WIRE_BIT(id);
		}
		s[n++] = t;
	}
	if (!n)
		return NULL;
	Fact *x = mk_copy(f, p);

	x->stack = s;
	x->n = n;
	return x;
}

WireId stack_first(const Stack *s, uint64_t layers)
{
	for (unsigned i = 0; i < s->n; i++)
		if (WIRE_BIT(s->id[i]) & layers)
			return (WireId)s->id[i];
	for (unsigned id = 0; !s->n && id < WIRE_N; id++)
		if (s->must & layers & WIRE_BIT(id))
			return (WireId)id;
	return WIRE_NONE;
}

/* ---- answers ---- */

/* The probe as an ICMP error quotes it. */
static const Fact *quote_of(Facts *f, const Stack *probe)
{
	Stack *s = arena_new(f->a, Stack);
	const Stack **one = arena_new_n(f->a, const Stack *, 1);

	*s = *probe;
	s->built = false;
	s->quote = true;
	s->must = probe->must & (NETWORKS | TRANSPORTS);
	s->mustnot = probe->mustnot & (NETWORKS | TRANSPORTS);
	s->nfields = 0;
	s->n = 0;
	s->content = label_answer(f, probe);
	s->echoes = 0;
	s->probe = NULL;
	one[0] = s;
	return mk_packet(f, one, 1);
}

/* The transport right behind the outermost network layer: what a tunnel carries is
 * none of the answer's. */
static WireId outer_transport(const Stack *s)
{
	WireId trans = stack_first(s, TRANSPORTS & ~WIRE_BIT(WIRE_ARP));
	bool inside = false;

	for (unsigned i = 0; s->built && i < s->n && s->id[i] != trans; i++) {
		const WireRole role = wire_proto((WireId)s->id[i])->role;

		if (inside && role != ROLE_EXTENSION)
			return WIRE_NONE;
		inside |= role == ROLE_NETWORK;
	}
	return trans;
}

/* Whether a port that tunnels are sent to is among these. */
static bool has_tunnel_port(const Fact *ports)
{
	size_t n;
	const PortRow *row = port_rows(&n);

	if (ports->kind != T_INT || !ports->vals)
		return true;
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; row[i].need == WORD_TUNNEL && k < ports->vals->n; k++)
			if (ports->vals->r[k].lo <= row[i].port && row[i].port <= ports->vals->r[k].hi)
				return true;
	return false;
}

/* Tunnels in UDP are known by the receiver's port, which is the probe's source port:
 * one that the program did not set is none of theirs. */
static bool may_be_tunnel(const Stack *s, WireId trans)
{
	unsigned sport = (unsigned)wire_field(wire_proto(WIRE_UDP), STR("sport"));

	for (unsigned i = 0; trans == WIRE_UDP && s->built && i < s->n; i++)
		if (s->id[i] == WIRE_UDP) {
			const FieldFact *ff = field_of(s, i, sport);

			return ff && has_tunnel_port(ff->value);
		}
	return trans == WIRE_UDP && !s->built;
}

static const Fact *shape_of_answer(Facts *f, const Stack *s)
{
	WireId net = stack_first(s, NETWORKS), trans = outer_transport(s);
	WireId icmp = net == WIRE_IPV6 ? WIRE_ICMPV6 : WIRE_ICMP;

	if (net == WIRE_NONE)
		return facts_any_packet(f);
	if (net == WIRE_ARP)
		return mk_stack(f, WIRE_BIT(WIRE_ETHER) | WIRE_BIT(WIRE_ARP), excludes(WIRE_ARP), NULL);
	uint64_t net_not = excludes(net);

	if (trans == WIRE_NONE)
		return mk_stack(f, WIRE_BIT(net), 0, NULL);
	const Fact *error =
		mk_stack(f, WIRE_BIT(net) | WIRE_BIT(icmp), net_not | excludes(icmp), quote_of(f, s));

	if (trans == WIRE_ICMP || trans == WIRE_ICMPV6)
		return error;
	uint64_t no = may_be_tunnel(s, trans) ? 0 : net_not | excludes(trans);
	const Fact *direct = mk_stack(f, WIRE_BIT(net) | WIRE_BIT(trans), no, NULL);

	return s->of_conn ? direct : facts_join(f, direct, error);
}

/* Layers that matching compares.  Of what may be a tunnel, those inside are the peer's own. */
static uint64_t echoed(const Stack *probe)
{
	WireId net = stack_first(probe, NETWORKS), trans = outer_transport(probe);
	unsigned networks = 0;

	for (unsigned i = 0; i < probe->n; i++)
		networks += (WIRE_BIT(probe->id[i]) & NETWORKS) != 0;
	if (networks < 2 && !may_be_tunnel(probe, trans))
		return probe->must;
	return WIRE_BIT(net) | (trans == WIRE_NONE ? 0 : WIRE_BIT(trans));
}

/* Whose content it is; and of an answer by the peer itself, not by a router, which fields
 * matching held to the probe's. */
static const Fact *answer_to_stack(Facts *f, const Stack *probe)
{
	const Fact *x = shape_of_answer(f, probe);
	const Stack **s = arena_new_n(f->a, const Stack *, x->n);
	Fact *y = mk_copy(f, x);

	for (uint32_t i = 0; i < x->n; i++) {
		Stack *t = arena_copy(f->a, x->stack[i], sizeof *t);
		bool icmp = t->must & (WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6));

		t->content = label_answer(f, probe);
		if (probe->built && !icmp && t->must & TRANSPORTS) {
			t->echoes = echoed(probe);
			t->echo = label_echo(f, probe);
			t->probe = probe;
		}
		s[i] = t;
	}
	y->stack = s;
	return y;
}

const Fact *facts_answer_to(Facts *f, const Fact *probe)
{
	const Fact *out = mk(f, T_NEVER);

	if (probe->kind != T_PACKET)
		return fact_quiet(probe) ? probe : facts_any_packet(f);
	for (uint32_t i = 0; i < probe->n; i++)
		out = facts_join(f, out, answer_to_stack(f, probe->stack[i]));
	return out;
}

const Fact *facts_as_sent(Facts *f, const Fact *probe)
{
	(void)f;
	return probe;
}

/* ---- fields ---- */

static FactKind record_kind(WireId id)
{
	return id == WIRE_DNSQR ? T_DNSQR : id == WIRE_SNMPVARBIND ? T_SNMPVARBIND : T_DNSRR;
}

static const Fact *field_plain(Facts *f, const WireField *w, WireId id, const Node *n)
{
	Fact *x;

	switch (w->kind) {
	case FK_FLAGS:
	case FK_ENUM:
		x = mk_copy(f, mk(f, w->kind == FK_FLAGS ? T_FLAGS : T_INT));
		x->field = w;
		return x;
	case FK_IP4:
	case FK_IP6:
		return mk(f, T_IP);
	case FK_MAC:
		return mk(f, T_MAC);
	case FK_STAMP:
		return mk(f, T_TIME);
	case FK_OID:
	case FK_BER:
		return mk(f, T_STR);
	case FK_BYTES:
		return id == WIRE_DNSRR ? mk(f, T_STR) : mk(f, T_BYTES);
	case FK_NAME:
		return mk(f, T_STR);
	case FK_OPTIONS:
		return mk_list(f, n, 1, mk(f, T_OPTION), (Len){ 0, 40 });
	case FK_RECORDS:
		return mk_list(f, n, 1, mk(f, record_kind((WireId)w->record)), (Len){ 0, LEN_INF });
	default:
		return mk(f, T_INT);
	}
}

const Fact *facts_field_fact(Facts *f, WireId id, unsigned field, bool quote, const Node *n)
{
	const WireProto *p = wire_proto(id);
	const WireField *w = &p->fields[field];
	const Fact *x = mk_from(f, field_plain(f, w, id, n), n);

	/* RFC 792: an error quotes the IP header and 64 bits behind it. */
	return quote && p->role == ROLE_TRANSPORT && (w->bit >= 64 || !w->width) ? mk_opt(f, x) : x;
}

/* An answer's ports are the probe's, the other way round. */
static const Fact *port_of_answer(const Stack *s, WireId id, unsigned field)
{
	const char *name = wire_proto(id)->fields[field].name;
	bool from = !strcmp(name, "sport");

	if (!s->probe || (id != WIRE_TCP && id != WIRE_UDP) || !(from || !strcmp(name, "dport")))
		return NULL;
	const FieldFact *ff = stack_field(s->probe, id, from ? "dport" : "sport");

	return ff && !ff->maybe && ff->value->kind == T_INT && ff->value->vals ? ff->value : NULL;
}

static const Fact *stack_value(Facts *f, const Stack *s, WireId id, unsigned field, const Node *n)
{
	for (unsigned i = 0; s->built && i < s->n; i++)
		if (s->id[i] == id) {
			const FieldFact *ff = field_of(s, i, field);

			if (!ff || ff->maybe || ff->value->kind == T_PACKET || ff->value->kind == T_LIST ||
			    ff->value->kind == T_TUPLE || wire_proto(id)->fields[field].names)
				break;
			return mk_from(f, ff->value, n);
		}
	const Fact *port = port_of_answer(s, id, field);

	return label_field(f, s, id, field, port ? port : facts_field_fact(f, id, field, s->quote, n));
}

static const Fact *layer_field(Facts *f, const Fact *p, WireId id, unsigned field, const Node *n)
{
	const Fact *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < p->n; i++)
		out = facts_join(f, out, stack_value(f, p->stack[i], id, field, n));
	return out;
}

/* ---- p[L] ---- */

static bool all_have(const Fact *p, uint64_t layers)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!(p->stack[i]->must & layers))
			return false;
	return true;
}

static bool none_has(const Fact *p, uint64_t layers)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (layers & ~p->stack[i]->mustnot)
			return false;
	return true;
}

/* What was told once is taken to be tested behind it. */
static void tested(Facts *f, const Fact *p, uint64_t layers, const Node *obj)
{
	const Fact *out = NULL;

	for (unsigned id = 0; id < WIRE_N; id++) {
		const Fact *x = layers & WIRE_BIT(id) ? packet_having(f, p, (WireId)id, true) : NULL;

		out = x && out ? facts_join(f, out, x) : x ? x : out;
	}
	if (out)
		env_refine(f, obj, out);
}

static const Fact *no_layer(Facts *f, const Fact *p, uint64_t layers, const char *what, const Node *obj,
			    const Node *at)
{
	Str s = facts_source(f, obj);
	bool path = facts_path_var(f, obj) != NULL;
	const char *name = NULL;
	Diag *d;

	for (unsigned id = 0; id < WIRE_N; id++)
		if ((layers & WIRE_BIT(id)) && !name)
			name = wire_proto((WireId)id)->name;
	if (none_has(p, layers)) {
		facts_say(f, "E-LAYER", at, "%.*s has no %s: it is %.*s", STR_ARG(s), what,
			  STR_ARG(facts_text_of(f, p)));
		return facts_bad(f);
	}
	d = facts_say(f, "E-LAYER", at, "%.*s may have no %s: it is %.*s", STR_ARG(s), what,
		      STR_ARG(facts_text_of(f, p)));
	d->hint = str_printf(f->a, "test it first: `if %s in %.*s:`", name, STR_ARG(path ? s : STR("p")));
	if (path) {
		facts_fix_guard(f, d, obj, str_printf(f->a, "%s in %.*s", name, STR_ARG(s)));
		tested(f, p, layers, obj);
	}
	return facts_bad(f);
}

const Fact *packet_index(Facts *f, const Fact *p, Node *n)
{
	Node *in = n->index.index;
	const Fact *i = in->kind == N_SLICE ? mk(f, T_NONE) : facts_ex(f, in);
	Str s;

	if (fact_quiet(i))
		return i;
	if (i->kind != T_PROTO) {
		Diag *d = facts_say(f, "E-TYPE", in, "a packet is indexed by a layer, like p[TCP]");

		if (fact_one_str(i, &s) && wire_proto_by_name(s))
			facts_fix(f, d, in, s);
		else if (i->kind == T_INT || in->kind == N_SLICE)
			d->hint = STR("bytes(p) are its bytes");
		return facts_bad(f);
	}
	WireId id = (WireId)i->view;

	if (!all_have(p, WIRE_BIT(id)))
		return no_layer(f, p, WIRE_BIT(id), str_printf(f->a, "%s layer", wire_proto(id)->name).p,
				n->index.obj, n);
	Fact *x = mk_copy(f, p);

	x->view = (uint8_t)id;
	return x;
}

/* ---- attributes ---- */

static const Fact *attr_row(Facts *f, BuiltinAttr at, const Fact *p, const Node *n)
{
	return label_packet_attr(
		f, at, p, mk_from(f, facts_sig_fact(f, sig_attr(&f->sigs, at), &(CallArgs){ .self = p }, n, 0), n));
}

/* p.src, p.dst, p.ttl: of the IP layer, IPv6's hlim, ARP's addresses. */
static const Fact *attr_network(Facts *f, const Fact *p, Node *n, BuiltinAttr at)
{
	uint64_t layers = at == A_PACKET_ttl ? WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6) : NETWORKS;
	const Fact *out = mk(f, T_NEVER);
	const char *what = at == A_PACKET_ttl ? "IP layer" : "IP or ARP layer";

	if (!all_have(p, layers))
		return no_layer(f, p, layers, what, n->attr.obj, n);
	for (uint32_t i = 0; i < p->n; i++) {
		const Stack *s = p->stack[i];
		WireId id = stack_first(s, layers);
		const char *name = at == A_PACKET_ttl	? (id == WIRE_IPV6 ? "hlim" : "ttl")
				   : at == A_PACKET_src ? (id == WIRE_ARP ? "psrc" : "src")
				   : id == WIRE_ARP	? "pdst"
							: "dst";
		int field = wire_field(wire_proto(id), str_c(name));

		out = facts_join(f, out, stack_value(f, s, id, (unsigned)field, n));
	}
	return out;
}

static const Fact *attr_quoted(Facts *f, const Fact *p, Node *n)
{
	uint64_t icmp = WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6);
	const Fact *out = mk(f, T_NEVER);
	bool maybe = false;

	if (!all_have(p, icmp))
		return no_layer(f, p, icmp, "ICMP layer, and so no quote", n->attr.obj, n);
	for (uint32_t i = 0; i < p->n; i++) {
		const Fact *q = p->stack[i]->quoted;

		maybe |= !q || (q->n && stack_first(q->stack[0], icmp) != WIRE_NONE);
		out = facts_join(f, out, q ? q : facts_any_packet(f));
	}
	return maybe ? mk_opt(f, out) : out;
}

/* They came from where the whole came from. */
static const Fact *attr_fragments(Facts *f, const Fact *p, const Node *n)
{
	const Fact *piece = facts_any_packet(f);
	Stack *s = arena_copy(f->a, piece->stack[0], sizeof *s);
	const Stack **one = arena_new_n(f->a, const Stack *, 1);

	s->content = p->stack[0]->content;
	for (uint32_t i = 1; i < p->n; i++)
		s->content = s->content && p->stack[i]->content ? label_join(f, s->content, p->stack[i]->content) : NULL;
	one[0] = s;
	return label_packet_attr(f, A_PACKET_fragments, p, mk_list(f, n, 0, mk_packet(f, one, 1), (Len){ 0, LIMIT_PACKET_LIST }));
}

static const Fact *attr_view(Facts *f, const Fact *p, Node *n, bool *ret_found)
{
	WireId id = (WireId)p->view;

	if (id == WIRE_NONE && p->n == 1 && p->stack[0]->built && p->stack[0]->n == 1)
		id = (WireId)p->stack[0]->id[0];
	int field = id == WIRE_NONE ? -1 : wire_field(wire_proto(id), n->attr.sym->text);

	*ret_found = true;
	if (field >= 0)
		return layer_field(f, p, id, (unsigned)field, n);
	int at = p->view == WIRE_NONE ? -1 : builtin_attr(OWNER_LAYER, n->attr.sym->text);

	if (at >= 0)
		return attr_row(f, (BuiltinAttr)at, p, n);
	*ret_found = false;
	return NULL;
}

/* p.sport: Scapy's short form; say where it stands. */
static const Fact *attr_elsewhere(Facts *f, const Fact *p, Node *n)
{
	static const uint8_t order[] = { WIRE_TCP,  WIRE_UDP, WIRE_ICMP, WIRE_ICMPV6, WIRE_IP,
					 WIRE_IPV6, WIRE_ARP, WIRE_DNS,	 WIRE_ETHER };
	Str name = n->attr.sym->text;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < sizeof order; i++) {
			WireId id = (WireId)order[i];

			if (wire_field(wire_proto(id), name) < 0 ||
			    (pass ? none_has(p, WIRE_BIT(id)) : !all_have(p, WIRE_BIT(id))))
				continue;
			Diag *d = facts_say(f, "E-FIELD", n, "%.*s is a field of its %s layer", STR_ARG(name),
					    wire_proto(id)->name);

			facts_fix(f, d, n,
				  str_printf(f->a, "%.*s[%s].%.*s", STR_ARG(facts_source(f, n->attr.obj)),
					     wire_proto(id)->name, STR_ARG(name)));
			return facts_bad(f);
		}
	return facts_no_attr(f, n, p, NULL);
}

const Fact *facts_packet_attr(Facts *f, const Fact *p, Node *n)
{
	bool found;
	const Fact *x = attr_view(f, p, n, &found);

	if (found)
		return x;
	if (p->view != WIRE_NONE)
		return facts_no_attr(f, n, p, NULL);
	int at = builtin_attr(OWNER_PACKET, n->attr.sym->text);

	switch (at) {
	case -1:
		return attr_elsewhere(f, p, n);
	case A_PACKET_src:
	case A_PACKET_dst:
	case A_PACKET_ttl:
		return attr_network(f, p, n, (BuiltinAttr)at);
	case A_PACKET_quoted:
		return attr_quoted(f, p, n);
	case A_PACKET_fragments:
		return attr_fragments(f, p, n);
	default:
		return attr_row(f, (BuiltinAttr)at, p, n);
	}
}

/* ---- p.ttl = t ---- */

static int layer_with(const Stack *s, WireId layer, Str name, WireId *ret_id)
{
	for (unsigned i = 0; i < s->n; i++) {
		WireId id = (WireId)s->id[i];
		int field = wire_field(wire_proto(id), name);

		if (field < 0 && id == WIRE_IPV6 && str_is(name, "ttl"))
			field = wire_field(wire_proto(id), STR("hlim"));
		if (field >= 0 && (layer == WIRE_NONE ? wire_proto(id)->role != ROLE_LINK : layer == id)) {
			*ret_id = id;
			return (int)(i << 8 | (unsigned)field);
		}
	}
	return -1;
}

static const Stack *stack_with(Facts *f, const Stack *s, unsigned layer, unsigned field, const Fact *x,
			       const Node *n)
{
	Stack *t = arena_new(f->a, Stack);
	FieldFact *ff = arena_new_n(f->a, FieldFact, s->nfields + 1);

	*t = *s;
	t->nfields = 0;
	for (uint32_t i = 0; i < s->nfields; i++)
		if (s->field[i].layer != layer || s->field[i].field != field)
			ff[t->nfields++] = s->field[i];
	if (x->kind != T_NONE)
		ff[t->nfields++] = (FieldFact){
			.layer = (uint8_t)layer, .field = (uint8_t)field, .value = x, .node = n
		};
	t->field = ff;
	return t;
}

const Fact *facts_packet_with(Facts *f, const Fact *p, WireId layer, Node *target, const Fact *x, Node *value)
{
	const Stack **s = arena_new_n(f->a, const Stack *, p->n);
	Str name = target->attr.sym->text;

	if (layer != WIRE_NONE && !all_have(p, WIRE_BIT(layer)))
		return no_layer(f, p, WIRE_BIT(layer),
				str_printf(f->a, "%s layer", wire_proto(layer)->name).p,
				target->attr.obj->index.obj, target);
	for (uint32_t i = 0; i < p->n; i++) {
		WireId id = WIRE_NONE;
		int at = layer_with(p->stack[i], layer == WIRE_NONE ? (WireId)p->view : layer, name, &id);
		Len many;

		if (!p->stack[i]->built) {
			s[i] = p->stack[i];
			continue;
		}
		if (at < 0)
			return facts_no_attr(f, target, p, NULL);
		const Fact *v = x->kind == T_NONE
					? x
					: facts_field_value(f, id, (unsigned)at & 0xff, x, value, &many);

		if (v->kind == T_ERROR)
			return v;
		s[i] = stack_with(f, p->stack[i], (unsigned)at >> 8, (unsigned)at & 0xff, v, value);
	}
	Fact *y = mk_copy(f, p);

	y->stack = s;
	return y;
}

const Fact *packet_at_ttl(Facts *f, const Fact *p, const Fact *ttl, Node *n)
{
	const Stack **s = arena_new_n(f->a, const Stack *, p->n);

	for (uint32_t i = 0; i < p->n; i++) {
		WireId id = WIRE_NONE;
		int at = p->stack[i]->built ? layer_with(p->stack[i], WIRE_NONE, STR("ttl"), &id) : -1;

		s[i] = at < 0 ? p->stack[i]
			      : stack_with(f, p->stack[i], (unsigned)at >> 8, (unsigned)at & 0xff, ttl, n);
		if (s[i]->of_conn) { /* what routers say to it is wanted */
			Stack *t = arena_copy(f->a, s[i], sizeof *t);

			t->of_conn = false;
			s[i] = t;
		}
	}
	Fact *y = mk_copy(f, p);

	y->stack = s;
	return y;
}
