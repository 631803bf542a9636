/* SPDX-License-Identifier: Apache-2.0
 *
 * What leaves: rule 1 (what packets are made of) and rule 2 (who chose them).
 */
#include "lang/label_inside.h"

#include "wire/url.h"

#define NETWORKS (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6))

enum {
	UNTIL_BITS = 24,  /* after which of 65,536 packets and 100 repetitions it ended */
	UNTIL_MOST = 1 << 23,
	PACKET_BITS = 32, /* which of the packets of a list, and where in it, is less */
	TOLD_MOST = 512,  /* characters of one explanation */
};

/* One packet, or the arguments of one call, on their way to somebody. */
typedef struct Out {
	Facts *f;
	Node *call;
	const Node *what_node; /* the packets, in the text */
	const Label *peers;    /* addresses */
	const Label *endpoint; /* NULL: none that content may go back to */
	uint32_t bits;
	uint8_t reflect;
	Str what, path; /* of what is paid first */
} Out;

/* ---- who is reached ---- */

const Label *labels_peers(Facts *f)
{
	f->labels->peers_read = f->walk;
	return f->labels->peers;
}

static void add_peers(Facts *f, const Label *peers)
{
	Labels *ls = f->labels;
	const Label *now = label_join(f, ls->peers, label_flat(f, peers));

	if (now == ls->peers)
		return;
	ls->peers = now;
	if (ls->peers_read == f->walk)
		f->grew = f->grew_at_all = true;
}

static void reach(Facts *f, const Label *l, const Label *peers, const Node *at)
{
	Labels *ls = f->labels;

	if (!l || f->silent)
		return;
	label_told_sent(f, l);
	for (uint16_t i = 0; i < l->ns; i++) {
		Site *s = &ls->site.p[l->site[i]];

		s->reach = label_join(f, s->reach, peers);
		if (!s->to && !label_own(f, s->why, peers))
			s->to = facts_users_node(f, at);
	}
	if (l->all)
		ls->all_reach = label_join(f, ls->all_reach, peers);
}

static void reach_here(Facts *f, const Label *peers, const Node *at)
{
	Labels *ls = f->labels;

	reach(f, label_pc(f), peers, at);
	if (ls->may_end && !f->silent && !label_own(f, ls->may_end, peers))
		ls->end_paid = ls->may_end_at;
}

/* ---- how much a value can tell ---- */

/* The number of values that are possible, 0: not known. */
static uint64_t count_values(const Fact *x)
{
	uint64_t n = 0;

	if (!x->vals || x->none)
		return 0;
	if (x->kind != T_INT && x->kind != T_BOOL && x->kind != T_DURATION && x->kind != T_FLAGS)
		return x->kind == T_IP ? 0 : x->vals->n;
	for (uint32_t i = 0; i < x->vals->n; i++)
		n = facts_sat_add(n, facts_sat_add((uint64_t)x->vals->r[i].hi - (uint64_t)x->vals->r[i].lo, 1));
	return n == UINT64_MAX ? 0 : n;
}

static uint32_t kind_bits(const Fact *x)
{
	switch ((FactKind)x->kind) {
	case T_BOOL:
		return 1;
	case T_IP:
		return 128;
	case T_STR:
	case T_BYTES:
		return x->len.hi < METER_PACKET / 8 ? (uint32_t)x->len.hi * 8 : METER_PACKET;
	case T_LIST:
	case T_TUPLE:
	case T_ANY:
	case T_PACKET:
		return METER_PACKET;
	default:
		return 64;
	}
}

static uint32_t value_bits(const Fact *x, uint32_t width)
{
	uint64_t n = count_values(x);
	uint32_t most = width ? width : kind_bits(x);

	return n && bits_for(n) < most ? bits_for(n) : most;
}

/* ceil(log2(addresses in reach)), at most 32, of IPv6 128 */
static uint32_t reach_bits(const Facts *f)
{
	uint64_t n = 0;
	bool v6 = false;

	for (uint32_t i = 0; i < f->m->decls.reach.n; i++) {
		const Target *t = &f->m->decls.reach.p[i].target;

		v6 |= !t->name.n && t->lo.v == 6 && !ip_eq(t->lo, t->hi);
		n += t->name.n || t->lo.v != 4 ? 1 : (uint64_t)ip4_num(t->hi) - ip4_num(t->lo) + 1;
	}
	return v6 ? 128 : n ? bits_for(n) : 0;
}

/* ---- reflect() ---- */

static bool covers(const Target *by, const Target *t)
{
	if (by->name.n || t->name.n)
		return str_eq(by->name, t->name);
	return by->lo.v == t->lo.v && ip_cmp(by->lo, t->lo) <= 0 && ip_cmp(t->hi, by->hi) <= 0;
}

static const Target everybody = { .lo = { .v = 4 }, .hi = { .v = 4, .b = { 255, 255, 255, 255 } } };

static bool covers_peers(Facts *f, const Target *by, const Label *l)
{
	bool all = !l->any || covers(by, &everybody);

	for (uint16_t i = 0; i < l->no; i++) {
		const Origin *o = label_origin_at(f, l->origin[i]);

		if (o->sym)
			all &= covers_peers(f, by, f->labels->sym.p[o->sym].ground);
		else
			all &= covers(by, &o->peer);
	}
	return all;
}

/* The reflect() of that field from one to another; 0: none. */
static uint8_t reflect_for(Facts *f, Str field, const Label *from, const Label *to)
{
	for (uint32_t i = 0; i < f->m->decls.reflect.n && i < 255; i++) {
		const ReflectDecl *r = &f->m->decls.reflect.p[i];

		if (str_eq(r->field, field) && covers_peers(f, &r->dst, to) && covers_peers(f, &r->src, from))
			return (uint8_t)(i + 1);
	}
	return 0;
}

/* The i-th of them alone; anybody is one. */
static const Label *nth(Facts *f, const Label *l, uint16_t i)
{
	return l->any ? l : label_of(f, LABEL_MEASURED, l->origin[i]);
}

/* Where several are reached, nobody needs leave to hear of himself. */
static bool himself(Facts *f, const Label *peers, const Label *from, const Label *to)
{
	return peers->no > 1 && label_own(f, from, to);
}

/* Each of the origins needs one for each of the peers. */
static uint8_t reflected(Out *o, Str field, const Label *l)
{
	Facts *f = o->f;
	uint8_t row = 0, last = 0;

	for (uint16_t i = 0; i == 0 || i < l->no; i++)
		for (uint16_t k = 0; k == 0 || k < o->peers->no; k++) {
			const Label *from = nth(f, l, i), *to = nth(f, o->peers, k);

			if (himself(f, o->peers, from, to))
				continue;
			row = reflect_for(f, field, from, to);
			if (!row)
				return 0;
			last = row;
		}
	return last;
}

/* ---- words ---- */

static void peers_text(Facts *f, const Label *l, Sb *out)
{
	if (l->any)
		sb_cstr(out, "anybody");
	for (uint16_t i = 0; i < l->no; i++) {
		const Origin *o = label_origin_at(f, l->origin[i]);

		sb_cstr(out, i ? ", " : "");
		if (o->sym)
			peers_text(f, f->labels->sym.p[o->sym].ground, out);
		else if (!o->peer.name.n && !o->peer.lo.v)
			sb_cstr(out, "this host's resolver");
		else
			target_text(&o->peer, out);
	}
}

static Str peers_str(Facts *f, const Label *l)
{
	Sb b = sb(f->a);

	peers_text(f, label_peers(f, l), &b);
	return sb_done(&b);
}

/* One side of a reflect(): an address or a network that covers t. */
static void side_text(const Target *t, Sb *out)
{
	char text[NET_TEXT];
	unsigned bits = t->lo.v == 6 ? 128 : 32;
	Net n = { t->lo, (uint8_t)bits };
	Ip lo, hi;

	if (t->name.n) {
		sb_str(out, t->name);
		return;
	}
	for (net_range(n, &lo, &hi); n.bits && ip_cmp(hi, t->hi) < 0; net_range(n, &lo, &hi)) {
		n.bits--;
		n.ip.b[n.bits / 8] &= (uint8_t)~(0x80u >> n.bits % 8);
	}
	if (n.bits == bits)
		ip_format(n.ip, text);
	else
		net_format(n, text);
	sb_cstr(out, text);
}

static const Target *side(Facts *f, const Label *l, uint16_t i)
{
	if (l->any || i >= l->no)
		return &everybody;
	const Origin *o = label_origin_at(f, l->origin[i]);

	return o->sym ? side(f, f->labels->sym.p[o->sym].ground, 0) : &o->peer;
}

static Str reflect_lines(Out *o, Str field, const Label *from, uint32_t bits)
{
	Facts *f = o->f;
	Sb b = sb(f->a);
	const Label *src = label_peers(f, from);

	for (uint16_t i = 0; i == 0 || i < src->no; i++)
		for (uint16_t k = 0; k == 0 || k < o->peers->no; k++) {
			if (himself(f, o->peers, nth(f, src, i), nth(f, o->peers, k)))
				continue;
			sb_printf(&b, "%sreflect(%.*s, src=\"", b.n ? "\n" : "", STR_ARG(field));
			side_text(side(f, src, i), &b);
			sb_cstr(&b, "\", dst=\"");
			side_text(side(f, o->peers, k), &b);
			sb_printf(&b, "\", max=%u)", bits == METER_PACKET ? 12000 : bits);
		}
	return sb_done(&b);
}

static void refuse(Out *o, Str field, const Node *at, const Label *l, uint32_t bits)
{
	Facts *f = o->f;

	if (f->silent || f->quiet)
		return;
	Diag *d = facts_say(f, "E-REFLECT", at, "content received from %.*s would be sent to %.*s: %.*s",
			    STR_ARG(peers_str(f, l)), STR_ARG(peers_str(f, o->peers)), STR_ARG(field));

	facts_fix_declare(f, d, reflect_lines(o, field, l, bits));
	d->hint = STR("the policy must allow it with reflect(..) too");
	d->path = label_path(f, at, l, facts_users_node(f, o->call));
}

/* ---- rule 1 ---- */

/* Addresses that a policy calls relays.  A name may turn out to be one of them. */
static bool told_relay(const Out *o, const Target *peer)
{
	const FactsIn *in = o->f->in;

	for (uint32_t i = 0; i < in->nrelay; i++)
		if (peer->name.n || (ip_cmp(in->relay[i].lo, peer->hi) <= 0 && ip_cmp(peer->lo, in->relay[i].hi) <= 0))
			return true;
	return false;
}

/* Whoever passes on what is sent to him. */
static bool is_relay(const Out *o, const Origin *to)
{
	static const uint16_t ports[] = { 53, 853, 5353, 1080, 3128, 25, 587 };

	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
		if (to->port == ports[i])
			return true;
	if (!to->sym)
		return told_relay(o, &to->peer);
	const Label *ground = o->f->labels->sym.p[to->sym].ground;

	for (uint16_t i = 0; i == 0 || i < ground->no; i++)
		if (told_relay(o, side(o->f, ground, i)))
			return true;
	return false;
}

/* Content that goes back to where it came from. */
static bool goes_back(const Out *o, const Label *l)
{
	const Label *e = o->endpoint;

	if (!e || l->any || e->any || e->no != 1)
		return false;
	const Origin *to = label_origin_at(o->f, e->origin[0]);

	if (is_relay(o, to))
		return false;
	for (uint16_t i = 0; i < l->no; i++)
		if (l->origin[i] != e->origin[0] && l->origin[i] != to->addr)
			return false;
	return to->port != ORIGIN_PORTS && label_own(o->f, e, e);
}

static void pay(Out *o, Str field, const Node *at, const Label *l, uint32_t bits)
{
	if (!o->what.n && !o->f->quiet) {
		o->what = str_printf(o->f->a, "%s of %.*s in %.*s to %.*s",
				     l->level == LABEL_CONTENT ? "content" : "a measured value",
				     STR_ARG(peers_str(o->f, l)), STR_ARG(field), STR_ARG(peers_str(o->f, o->peers)));
		o->path = label_path(o->f, at, l, facts_users_node(o->f, o->call));
	}
	o->bits = o->bits + bits < METER_PACKET ? o->bits + bits : METER_PACKET;
}

/* A part of what is sent, and what it tells. */
static void part(Out *o, Str field, const Node *at, const Label *l, uint32_t bits, bool taken)
{
	if (!l || l->level == LABEL_CLEAN)
		return;
	if (l->level == LABEL_MEASURED) {
		if (!label_own(o->f, l, o->peers))
			pay(o, field, at, l, bits);
		return;
	}
	if (goes_back(o, l))
		return;
	if (taken) {
		pay(o, field, at, l, reach_bits(o->f));
		return;
	}
	uint8_t row = reflected(o, field, l);

	if (row) {
		o->reflect = row;
		pay(o, field, at, l, bits);
	} else {
		refuse(o, field, at, l, bits);
	}
}

static void charge(Out *o, bool call)
{
	Labels *ls = o->f->labels;

	if (!o->bits)
		return;
	if (!ls->cost)
		ls->cost = arena_new_n(o->f->a, LabelCost, o->f->in->ast->n_nodes);
	LabelCost *c = &ls->cost[o->call->id];
	uint32_t *bits = call ? &c->call : &c->packet;

	*bits = o->bits > *bits ? o->bits : *bits;
	c->reflect = o->reflect ? o->reflect : c->reflect;
	c->at = facts_users_node(o->f, o->call);
	c->what = o->what;
	c->path = o->path;
}

static void emit_fields(Out *o, const Stack *s, WireId net);

/* A question or a record in a field: its own fields. */
static void emit_records(Out *o, const Fact *x)
{
	part(o, STR("packet"), o->what_node, x->label, PACKET_BITS, false);
	for (uint32_t i = 0; i < x->n; i++)
		if (x->stack[i]->built)
			emit_fields(o, x->stack[i], WIRE_NONE);
}

static void emit_fields(Out *o, const Stack *s, WireId net)
{
	for (uint32_t i = 0; i < s->nfields; i++) {
		const FieldFact *ff = &s->field[i];
		const WireProto *p = wire_proto((WireId)s->id[ff->layer]);
		const WireField *w = &p->fields[ff->field];
		bool dst = p->id == net && (!strcmp(w->name, "dst") || !strcmp(w->name, "pdst"));

		if (ff->value->kind == T_PACKET)
			emit_records(o, ff->value);
		else
			part(o, str_printf(o->f->a, "%s.%s", p->name, w->name), ff->node,
			     label_deep(o->f, ff->value), value_bits(ff->value, w->width),
			     dst && ff->value->taken);
	}
	part(o, STR("payload"), o->what_node, s->tail,
	     s->tail_most < METER_PACKET / 8 ? (uint32_t)s->tail_most * 8 : METER_PACKET, false);
}

static void emit_stack(Facts *f, Node *call, const Label *chosen, const Stack *s)
{
	WireId net = stack_first(s, NETWORKS);
	const FieldFact *dst = net == WIRE_NONE ? NULL : stack_field(s, net, net == WIRE_ARP ? "pdst" : "dst");
	Out o = { .f = f, .call = call, .endpoint = label_answer(f, s) };

	o.what_node = call->call.n ? call->call.arg[0].value : call;

	o.peers = label_peers(f, label_targets(f, dst ? dst->value : NULL,
					       (Origin){ .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT }));
	add_peers(f, o.peers);
	reach_here(f, o.peers, call);
	reach(f, label_stack(f, s), o.peers, call);
	reach(f, chosen, o.peers, call);
	part(&o, STR("packet"), o.what_node, chosen, PACKET_BITS, false);
	if (s->built)
		emit_fields(&o, s, net);
	else
		part(&o, STR("packet"), o.what_node, label_stack(f, s), METER_PACKET, false);
	charge(&o, false);
}

/* sr1 of a list, and sr with stop=, end with one peer's answer what others are sent. */
static void emit_until(Facts *f, Node *call, const Fact *probe, uint64_t most)
{
	Out o = { .f = f, .call = call };

	for (uint32_t i = 0; probe->kind == T_PACKET && i < probe->n; i++)
		o.peers = label_join(f, o.peers, label_peers(f, label_answer(f, probe->stack[i])));
	part(&o, STR("packet"), call, label_made(f, o.peers, LABEL_MEASURED),
	     most < UNTIL_MOST ? bits_for(most + 1) : UNTIL_BITS, false);
	charge(&o, true);
}

void label_emit(Facts *f, Node *call, const Fact *what, const Fact *probe, uint64_t until)
{
	if (f->silent)
		return;
	if (until && what->cell)
		emit_until(f, call, probe, until);
	for (uint32_t i = 0; i < fact_ways(probe); i++) {
		const Fact *w = fact_way(f, probe, i);
		const Label *chosen = label_join(f, what->cell ? label_shape(f, what) : what->label, w->label);

		for (uint32_t k = 0; w->kind == T_PACKET && k < w->n; k++)
			emit_stack(f, call, chosen, w->stack[k]);
	}
}

/* ---- waits: they change when everything else is sent ---- */

void label_waits(Facts *f, const Node *at, const Fact *d, uint64_t times)
{
	Labels *ls = f->labels;
	int64_t lo, hi = NS_PER_S;

	if (f->quiet || f->silent || f->frame->lib)
		return; /* how long a verb waits is what it is asked for */
	if (d && !vals_bounds(d, &lo, &hi))
		hi = INT64_MAX;
	times = facts_sat_mul(times, facts_rounds(f));
	ls->wait_ns = facts_sat_add(ls->wait_ns, facts_sat_mul(hi > 0 ? (uint64_t)hi : 0, times));
	if (!ls->wait_at)
		ls->wait_at = facts_users_node(f, at);
}

void label_wait(Facts *f, Node *call, BuiltinFunc which, const CallArgs *c)
{
	bool emits = builtin_funcs[which].effect == EFFECT_EMIT;
	Out o = { .f = f, .call = call };
	int d = sig_param(c->sig, which == BI_sleep ? STR("d") : STR("timeout"));

	if (d >= 0 && !emits)
		label_waits(f, call, c->arg[d], 1);
	if (f->silent || f->frame->lib || !(o.peers = labels_peers(f)))
		return;
	if (!emits) {
		reach_here(f, o.peers, call);
		label_waited(f, which == BI_sniff ? label_any(f, LABEL_CONTENT) : label_deep(f, c->arg[0]));
	}
	for (uint32_t i = emits; i < c->sig->n; i++) {
		const Fact *x = c->arg[i];

		if (!x || x->kind == T_FUNC || str_is(c->sig->param[i].name, "filter") ||
		    str_is(c->sig->param[i].name, "iface"))
			continue; /* a function's answers: label_stop; the others are constants */
		reach(f, label_deep(f, x), o.peers, call);
		part(&o, str_printf(f->a, "%s.%.*s", c->name, STR_ARG(c->sig->param[i].name)), c->node[i],
		     label_deep(f, x), value_bits(x, 32), false);
	}
	charge(&o, true);
}

/* ---- live objects ---- */

/* "payload", "recv.max" */
static Str argument(Facts *f, const CallArgs *c, uint32_t i)
{
	Str name = c->sig->param[i].name;

	return c->self && str_is(name, "data") ? STR("payload")
					       : str_printf(f->a, "%s.%.*s", c->name, STR_ARG(name));
}

static Out out_to(Facts *f, Node *call, const Fact *live)
{
	Out o = { .f = f, .call = call, .what_node = call, .endpoint = label_live(f, live) };

	o.peers = label_peers(f, o.endpoint);
	add_peers(f, o.peers);
	reach_here(f, o.peers, call);
	reach(f, live->label, o.peers, call);
	return o;
}

void label_live_call(Facts *f, Node *call, const Fact *live, const CallArgs *c, bool opens)
{
	if (f->silent)
		return;
	Out o = out_to(f, call, live);

	part(&o, STR("connection"), call, opens ? NULL : live->label, PACKET_BITS, false);
	for (uint32_t i = 0; i < c->sig->n; i++) {
		const Fact *x = c->arg[i];

		if (!x || x->kind == T_FUNC)
			continue;
		const Label *l = label_deep(f, x);

		reach(f, l, o.peers, call);
		/* how it reads what comes moves windows: no relay passes that on */
		if (c->self && !str_is(c->sig->param[i].name, "data") && label_own(f, l, o.peers))
			continue;
		part(&o, argument(f, c, i), c->node[i], l, value_bits(x, 0), opens && !i && x->taken);
	}
	for (uint32_t i = 0; i < c->nrest; i++)
		part(&o, str_c(c->name), c->rest_node[i], label_deep(f, c->rest[i]), value_bits(c->rest[i], 0), false);
	charge(&o, !(c->self && c->sig->n == 1)); /* send() has what is paid for at hand */
}

void label_live_set(Facts *f, Node *target, const Fact *live, const Fact *x, const Node *value)
{
	if (f->silent)
		return;
	Out o = out_to(f, target, live);

	part(&o, STR("connection"), target, live->label, PACKET_BITS, false);
	reach(f, label_deep(f, x), o.peers, target);
	part(&o, target->attr.sym->text, value, label_deep(f, x), value_bits(x, 1), false);
	charge(&o, true);
}

/* guardrails.md 5, rule 2: how much was sent by then is for those to say who were waited for. */
void label_cut(Facts *f, Node *call, const Fact *live)
{
	enum { CUT_BITS = 32 };
	const Label *l = f->silent ? NULL : label_waited_since(f, live->gen);

	if (!l)
		return;
	Out o = out_to(f, call, live);

	part(&o, STR("when it ends"), call, l, CUT_BITS, false);
	charge(&o, true);
}

void label_stop(Facts *f, const Fact *fn, const Fact *result)
{
	const Label *peers = labels_peers(f);

	if (peers && !f->frame->lib && fn->node)
		reach(f, label_decide(f, fn->node, label_deep(f, result)), peers, fn->node);
}

/* ---- verbs ---- */

/* The parameter that says whom a verb sends to. */
int label_peer_param(const Node *def)
{
	for (uint32_t i = 0; i < def->func.n; i++) {
		const Node *t = def->func.param[i].type;

		if (t && t->type.sym && str_is(t->type.sym->text, "ip"))
			return (int)i;
	}
	for (uint32_t i = 0; i < def->func.n; i++) { /* tls, http: names are told to the peer as they stand */
		Str name = def->func.param[i].name->text;

		if (str_is(name, "dst") || str_is(name, "url"))
			return (int)i;
	}
	return -1;
}

/* Whom a peer parameter means that is no address: a name, or a URL's host. */
static const Fact *peer_meant(Facts *f, Node *call, const Fact *x)
{
	const Vals *v = x->kind == T_STR ? x->vals : NULL;
	const Fact *hosts = mk(f, T_NEVER);
	Url u;

	if (x->kind != T_STR)
		return x;
	for (uint32_t i = 0; v && i < v->n; i++)
		hosts = facts_join(f, hosts, mk_str(f, T_STR, url_parse(v->s[i], &u) ? v->s[i] : u.host));
	if (hosts->kind != T_STR)
		return mk(f, T_IP);
	f->quiet++;
	x = facts_to_ip(f, hosts, call, true, "");
	f->quiet--;
	return x && x->kind == T_IP ? x : mk(f, T_IP);
}

static const Label *verb_peers(Facts *f, Node *call, const Node *def, const Fact **arg)
{
	const Origin addr = { .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT };
	int p = label_peer_param(def);

	if (p >= 0 && arg[p]->kind == T_NONE) /* the first resolver of this host */
		return label_peers(f, label_of(f, LABEL_CONTENT, label_origin(f, addr)));
	return label_peers(f, label_targets(f, p < 0 ? NULL : peer_meant(f, call, arg[p]), addr));
}

bool label_is_verb(Facts *f, const Node *def)
{
	return facts_in_lib(f, def) && !f->frame->lib && def->func.sym->text.p[0] != '_';
}

void label_verb(Facts *f, Node *call, Node *def, const Fact **arg, Node *const *node)
{
	Out o = { .f = f, .call = call };

	if (!label_is_verb(f, def) || f->silent)
		return;
	o.peers = verb_peers(f, call, def, arg);
	label_waited(f, o.peers);
	reach_here(f, o.peers, call);
	for (uint32_t i = 0; i < def->func.n; i++) {
		const Param *p = &def->func.param[i];

		if (arg[i]->kind == T_PACKET || arg[i]->kind == T_FUNC)
			continue; /* what is in it is looked at where it is sent */
		const Label *l = label_deep(f, arg[i]);

		reach(f, l, o.peers, call);
		part(&o, str_printf(f->a, "%.*s.%.*s", STR_ARG(def->func.sym->text), STR_ARG(p->name->text)),
		     node[i] ? node[i] : call, l, value_bits(arg[i], 0), (int)i == label_peer_param(def) && arg[i]->taken);
		if (l && !label_own(f, l, o.peers))
			arg[i] = label_set(f, arg[i], NULL); /* paid, or refused */
	}
	charge(&o, true);
	int p = label_peer_param(def);

	if (p >= 0 && arg[p]->kind != T_STR)
		arg[p] = label_one(f, call, arg[p], true);
}

/* ---- the end ---- */

static void pay_at(Facts *f, const Node *at, uint32_t bits, Str what, Str path)
{
	const Budget *b = &f->m->decls.budget;
	what.n = what.n < TOLD_MOST ? what.n : TOLD_MOST;
	path.n = path.n < TOLD_MOST ? path.n : TOLD_MOST;
	if (f->m->leak.n < LEAK_ROWS)
		vec_push(f->a, &f->m->leak,
			 (LeakCost){ .span = at->span, .bits = bits, .what = what, .path = path });
	if (!(b->declared >> BOUND_LEAK & 1) || b->v[BOUND_LEAK] > 0)
		return;
	Diag *d = facts_say(f, "E-LEAK", at, "this costs %u bit%s of leak, and the budget says leak=0: %.*s",
			    bits, bits == 1 ? "" : "s", STR_ARG(what));

	diag_fix(d, b->span[BOUND_LEAK], STR("leak=1024"));
	d->fix.widening = true;
	d->path = path;
}

static Str decision_text(Facts *f, const Site *s)
{
	return str_printf(f->a, "a decision on %s of %.*s that steers what %.*s gets",
			  s->why->level == LABEL_CONTENT ? "what came" : "answers", STR_ARG(peers_str(f, s->why)),
			  STR_ARG(peers_str(f, s->reach ? s->reach : f->labels->all_reach)));
}

static bool is_paid(Facts *f, const Site *s)
{
	const Label *reached = s->reach;

	if (f->labels->all_reach)
		reached = label_join(f, reached, f->labels->all_reach);
	return reached && !label_own(f, s->why, reached);
}

static void mark_tests(Facts *f, LabelMarks *marks)
{
	Labels *ls = f->labels;

	for (uint32_t i = 0; i < ls->site.n; i++) {
		const Node *n = ls->site.p[i].node;

		if (!is_paid(f, &ls->site.p[i]))
			continue;
		if (!marks->test)
			marks->test = arena_alloc(f->a, f->in->ast->n_nodes);
		if (!marks->test[n->id])
			pay_at(f, ls->site.p[i].user, 1, decision_text(f, &ls->site.p[i]),
			       label_path(f, n, ls->site.p[i].why, ls->site.p[i].to));
		marks->test[n->id] = 1;
	}
}

static uint64_t time_bound(const Facts *f)
{
	const Budget *b = &f->m->decls.budget;

	return (uint64_t)(b->declared >> BOUND_TIME & 1 ? b->v[BOUND_TIME] : bound_default(BOUND_TIME));
}

/* Nodes [from, to). */
static void pay_costs(Facts *f, uint32_t from, uint32_t to)
{
	Labels *ls = f->labels;

	for (uint32_t i = from; ls->cost && i < to; i++)
		if (ls->cost[i].at)
			pay_at(f, ls->cost[i].at, ls->cost[i].packet + ls->cost[i].call, ls->cost[i].what,
			       ls->cost[i].path);
}

void labels_finish(Facts *f, LabelMarks *marks)
{
	Labels *ls = f->labels;
	LabelMarks none = { 0 };

	marks = marks ? marks : &none;
	mark_tests(f, marks);
	pay_costs(f, f->in->ast->n_ahead, f->in->ast->n_nodes); /* the program's first */
	pay_costs(f, 0, f->in->ast->n_ahead);
	marks->cost = ls->cost;
	label_told_finish(f, marks);
	bool alone = !ls->peers || label_own(f, ls->peers, ls->peers);
	if (!ls->end_paid)
		ls->end_paid = label_loads_cut(f);
	bool late = !alone && !ls->end_paid && ls->wait_ns > time_bound(f);

	if (late)
		pay_at(f, ls->wait_at, 1,
		       str_c("what it waits for may take longer than the budget's time: the run may end before "
			     "others get their packets"),
		       STR(""));
	if (ls->end_paid)
		pay_at(f, ls->end_paid, 1,
		       str_c("what came may end the run here, before others get their packets: once, and more "
			     "bits the more packets were sent"),
		       STR(""));

	f->m->leak_end = late || ls->end_paid || marks->test || marks->cost ? LEAK_END_PAID
			 : alone				      ? LEAK_END_FREE
								      : LEAK_END_EARLY;
}
