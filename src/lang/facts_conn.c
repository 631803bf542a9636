/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections: connect, listen, datagram, load, and what the live objects that they
 * give have.  A live object knows whom it speaks to (its items), so that whatever is
 * done with it later goes into manifest and labels as if it were sent there.
 */
#include "lang/facts_rules.h"

enum { PORT_MOST = 65535, SYN_MOST = 32 };

/* ---- packets that stand for what a connection sends ---- */

/* A stack being put together: IP or IPv6, and TCP or UDP. */
typedef struct Make {
	Facts *f;
	Stack *s;
	FieldFact *ff;
	Node *at;
} Make;

enum { MAKE_FIELDS = 12 };

static Make make_stack(Facts *f, Node *n, WireId net, WireId trans)
{
	Make m = { f, arena_new(f->a, Stack), arena_new_n(f->a, FieldFact, MAKE_FIELDS), n };

	m.s->built = true;
	m.s->n = 2;
	m.s->id[0] = (uint8_t)net;
	m.s->id[1] = (uint8_t)trans;
	m.s->must = WIRE_BIT(net) | WIRE_BIT(trans);
	m.s->mustnot = ~m.s->must;
	m.s->field = m.ff;
	return m;
}

/* A field whose value has the field's type already; NULL: left out. */
static void make_set(Make *m, unsigned layer, const char *name, const Fact *x, const Node *node)
{
	int field = wire_field(wire_proto((WireId)m->s->id[layer]), str_c(name));

	if (x && x->kind != T_NONE && field >= 0)
		m->ff[m->s->nfields++] = (FieldFact){ .layer = (uint8_t)layer,
						      .field = (uint8_t)field,
						      .maybe = x->none,
						      .value = mk_some(m->f, x),
						      .node = node ? node : m->at };
}

static const Fact *make_done(Make *m)
{
	const Stack **one = arena_new_n(m->f->a, const Stack *, 1);

	one[0] = m->s;
	return mk_packet(m->f, one, 1);
}

/* What a live object's frames look like: of one or both versions of IP. */
typedef struct Ends {
	WireId trans;
	const Fact *dst, *dport, *sport, *src;
	Node *dst_node, *dport_node;
} Ends;

static const Fact *ends_packet(Facts *f, Node *n, const Ends *e)
{
	const Fact *out = mk(f, T_NEVER);
	bool v[2];

	facts_ip_versions(e->dst, &v[0], &v[1]);
	for (int six = 0; six < 2; six++) {
		if (!v[six])
			continue;
		Make m = make_stack(f, n, six ? WIRE_IPV6 : WIRE_IP, e->trans);

		make_set(&m, 0, "dst", e->dst, e->dst_node);
		make_set(&m, 0, "src", e->src, NULL);
		make_set(&m, 1, "dport", e->dport, e->dport_node);
		make_set(&m, 1, "sport", e->sport, NULL);
		out = facts_join(f, out, make_done(&m));
	}
	return out;
}

static const Fact *mk_live(Facts *f, FactKind k, const Fact *dst, const Fact *dport)
{
	Fact *x = mk_copy(f, mk(f, k));
	const Fact **item = arena_new_n(f->a, const Fact *, 2);

	item[0] = dst;
	item[1] = dport;
	x->item = item;
	x->n = 2;
	x->gen = ++f->gen;
	return x;
}

/* ---- connect, datagram, load ---- */

static const Fact *arg_named(const CallArgs *c, const char *name)
{
	int i = sig_param(c->sig, str_c(name));

	return i < 0 || !c->arg[i] || c->arg[i]->kind == T_NONE ? NULL : c->arg[i];
}

/* RFC 6298 2.1 and 5.5: after 1 s, then each time after twice as long. */
static uint64_t syns_within(const Fact *timeout)
{
	int64_t lo, most = 3 * NS_PER_S;
	uint64_t n = 1;

	if (timeout && !vals_bounds(timeout, &lo, &most))
		return SYN_MOST;
	for (int64_t at = NS_PER_S, step = NS_PER_S; at < most && n < SYN_MOST; step *= 2, at += step)
		n++;
	return n;
}

static void check_port(Facts *f, const Fact *port, const Node *n, int64_t least)
{
	int64_t lo, hi;

	if (port && n && vals_bounds(port, &lo, &hi) && (hi < least || lo > PORT_MOST))
		facts_say(f, "E-VALUE", n, "a port is %lld..%d", (long long)least, PORT_MOST);
}

/* TCP or UDP, as load's proto says. */
static WireId load_transport(Facts *f, const CallArgs *c)
{
	int i = sig_param(c->sig, STR("proto"));
	Str s = STR("tcp");

	if (i < 0 || !c->arg[i])
		return WIRE_TCP;
	if (!fact_one_str(c->arg[i], &s) || !(str_is(s, "tcp") || str_is(s, "udp")))
		facts_say(f, "E-VALUE", c->node[i], "proto is \"tcp\" or \"udp\", and known before the start");
	return str_is(s, "udp") ? WIRE_UDP : WIRE_TCP;
}

const Fact *b_connect(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	static const struct {
		uint8_t func, kind;
	} kinds[] = { { BI_connect, T_CONN }, { BI_datagram, T_UDP }, { BI_load, T_LOAD } };
	Ends e = { .trans = which == BI_datagram ? WIRE_UDP : which == BI_load ? load_transport(f, c) : WIRE_TCP,
		   .dst = c->arg[0],
		   .dport = c->arg[1],
		   .sport = arg_named(c, "sport"),
		   .src = arg_named(c, "src"),
		   .dst_node = c->node[0],
		   .dport_node = c->node[1] };
	bool tcp = e.trans == WIRE_TCP;
	FactKind kind = T_CONN;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		kind = kinds[i].func == which ? (FactKind)kinds[i].kind : kind;
	check_port(f, e.dport, c->node[1], 0);
	check_port(f, e.sport, e.sport ? c->node[sig_param(c->sig, STR("sport"))] : NULL, 1);
	const Fact *x = mk_live(f, kind, e.dst, e.dport);

	label_live_call(f, n, x, c, true);
	facts_emit(f, ends_packet(f, n, &e), n,
		   tcp ? (Len){ 1, syns_within(arg_named(c, "timeout")) } : (Len){ 0, 0 });
	f->m->worst.connections |= !f->quiet && !f->silent;
	if (which == BI_load)
		label_load(f, n, x, arg_named(c, "bytes") || arg_named(c, "time"));
	label_waited(f, label_live(f, x));
	return x;
}

/* ---- listen ---- */

/* The addresses of networks. */
static const Fact *addresses_of(Facts *f, const Fact *nets)
{
	if (nets->kind != T_NET || !nets->vals)
		return mk(f, T_IP);
	Target *t = arena_new_n(f->a, Target, nets->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < nets->vals->n; i++)
		net_range(nets->vals->net[i], &t[i].lo, &t[i].hi);
	*v = (Vals){ .n = nets->vals->n, .ip = t };
	return mk_vals(f, T_IP, v);
}

/* Its arguments are constants, or its declaration was refused (lang/decl.c). */
const Fact *b_listen(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *peers = mk(f, T_NEVER);

	(void)which;
	f->quiet++;
	for (uint32_t i = 0; i < c->nrest; i++)
		peers = facts_join(f, peers, addresses_of(f, facts_to_net(f, c->rest[i], c->rest_node[i], "peers")));
	f->quiet--;
	const Fact *x = mk_live(f, T_LISTENER, peers->kind == T_IP ? peers : mk(f, T_IP), c->arg[0]);

	label_live_call(f, n, x, c, false);
	f->m->worst.connections |= !f->quiet && !f->silent;
	return x;
}

/* ---- methods ---- */

/* c.packet(..): what is left out, the connection fills in. */
static const Fact *m_conn_packet(Facts *f, Node *n, CallArgs *c)
{
	static const char *const names[] = { "flags", "seq", "ack", "window", NULL, "options" };
	enum { TTL = 4 };
	const Fact *dst = c->self->n ? c->self->item[0] : mk(f, T_IP), *out = mk(f, T_NEVER);
	bool v[2];

	facts_ip_versions(dst, &v[0], &v[1]);
	for (int six = 0; six < 2; six++) {
		Make m = make_stack(f, n, six ? WIRE_IPV6 : WIRE_IP, WIRE_TCP);
		Len many = { 1, 1 };

		if (!v[six])
			continue;
		m.s->of_conn = true;
		make_set(&m, 0, "dst", dst, NULL);
		make_set(&m, 0, six ? "hlim" : "ttl", c->arg[TTL], c->node[TTL]);
		make_set(&m, 1, "dport", c->self->n ? c->self->item[1] : mk(f, T_INT), NULL);
		if (!c->arg[0]) /* an acknowledgement: what counts as no SYN */
			make_set(&m, 1, "flags", mk_range(f, T_INT, 0x10, 0x10), NULL);
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
			const Fact *x = c->arg[i];
			int field = names[i] ? wire_field(wire_proto(WIRE_TCP), str_c(names[i])) : -1;

			if (field < 0 || !x || x->kind == T_NONE)
				continue;
			Fact *y = mk_copy(f, facts_field_value(f, WIRE_TCP, (unsigned)field, mk_some(f, x),
							       c->node[i], &many));

			if (y->kind == T_ERROR)
				return facts_bad(f);
			y->none = x->none;
			make_set(&m, 1, names[i], y, c->node[i]);
		}
		if (many.lo != 1 || many.hi != 1)
			facts_say(f, "E-TYPE", n, "a segment of a connection is one packet: give each field one value");
		out = facts_join(f, out, make_done(&m));
	}
	return out;
}

/* A connection that somebody opened: to one address, nobody knows which. */
static const Fact *m_accept(Facts *f, Node *n, CallArgs *c)
{
	const Fact *peers = c->self->n ? c->self->item[0] : mk(f, T_IP);
	const Label *who = label_live(f, c->self);
	Fact *dst = mk_copy(f, label_accepted(f, n, peers));

	dst->taken = true;
	const Fact *x = mk_live(f, T_CONN, dst, mk(f, T_INT));

	label_waited(f, who);
	return mk_opt(f, label_add(f, x, label_decide(f, n, who)));
}

/* A state that there is: a test for another one never holds. */
static void check_state(Facts *f, const CallArgs *c)
{
	static const char *const states[] = { "connecting",  "established", "refused", "timeout",
					      "unreachable", "reset",	    "closing", "closed" };
	Str s;

	if (!c->arg[0] || !fact_one_str(c->arg[0], &s))
		return;
	Near near = { .want = s, .d = 255 };

	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		if (str_is(s, states[i]))
			return;
		facts_near_try(&near, str_c(states[i]));
	}
	Diag *d = facts_say(f, "E-VALUE", c->node[0], "a connection has no state \"%.*s\"", STR_ARG(s));

	if (near.d <= 2)
		facts_fix(f, d, c->node[0], str_printf(f->a, "\"%.*s\"", STR_ARG(near.best)));
	else
		d->hint = STR("connecting established refused timeout unreachable reset closing closed");
}

const Fact *m_live(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	if (which == M_CONN_packet)
		return m_conn_packet(f, n, c);
	label_live_call(f, n, c->self, c, false);
	if (which == M_CONN_reset || which == M_LOAD_stop)
		label_cut(f, n, c->self);
	if (which == M_CONN_wait)
		check_state(f, c);
	if (which == M_CONN_start_tls)
		facts_start_tls(f, n, c);
	if (which == M_LISTENER_accept)
		return m_accept(f, n, c);
	if (builtin_methods[which].effect == EFFECT_WAIT)
		label_waited(f, label_live(f, c->self));
	return mk_from(f, facts_ret_of(f, c, n), n);
}

/* ---- attributes ---- */

/* Segments of a connection: of what it is made is certain, all else is the peer's. */
static const Fact *live_packets(Facts *f, const Fact *x, Node *n)
{
	const Fact *elem = mk(f, T_NEVER);
	bool v[2];

	facts_ip_versions(x->n ? x->item[0] : mk(f, T_IP), &v[0], &v[1]);
	for (int six = 0; six < 2; six++) {
		Stack *s = arena_new(f->a, Stack);
		const Stack **one = arena_new_n(f->a, const Stack *, 1);

		*s = (Stack){ .must = WIRE_BIT(WIRE_TCP) | WIRE_BIT(six ? WIRE_IPV6 : WIRE_IP),
			      .content = label_live(f, x) };
		one[0] = s;
		if (v[six])
			elem = facts_join(f, elem, mk_packet(f, one, 1));
	}
	return mk_list(f, n, 0, elem, (Len){ 0, LIMIT_CONN_PACKETS });
}

const Fact *facts_live_attr(Facts *f, const Fact *x, BuiltinAttr at, Node *n)
{
	const Fact *v;

	if (x->n && (at == A_CONN_dst || at == A_UDP_dst))
		v = x->item[0];
	else if (x->n && (at == A_CONN_dport || at == A_UDP_dport || at == A_LISTENER_port))
		v = x->item[1];
	else if (at == A_CONN_packets)
		v = live_packets(f, x, n);
	else
		v = mk_from(f, facts_sig_fact(f, sig_attr(&f->sigs, at), &(CallArgs){ .self = x }, n, 0), n);
	return label_live_attr(f, x, at, v);
}

void facts_live_store(Facts *f, const Fact *live, Node *target, const Fact *x, Node *value)
{
	static const SigType flag = { .name = { "bool", 4 } };

	if (live->kind != T_CONN || !str_is(target->attr.sym->text, "auto_ack")) {
		Diag *d = facts_say(f, "E-TYPE", target, ".%.*s of a %s can't be assigned",
				    STR_ARG(target->attr.sym->text), fact_kind_names[live->kind]);

		if (live->kind == T_CONN)
			d->hint = STR("what can be set is c.auto_ack; the rest are arguments of connect()");
		return;
	}
	x = facts_fit(f, x, &flag, value, NULL, "auto_ack");
	label_live_set(f, target, live, x, value);
	env_waited(f);
}
