/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program sends: each packet that gets to a sending built-in becomes
 * rows of the manifest and counts in the worst case.
 */
#include "lang/facts_inside.h"

#include "deal/ports.h"
#include "lang/decl.h"
#include "probe/filter.h"
#include "wire/link.h"

#define NETWORKS   (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6))
#define TRANSPORTS (WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6) | WIRE_BIT(WIRE_UDP) | WIRE_BIT(WIRE_TCP))

enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMPV6 = 58 };

/* ---- what declarations say ---- */

static bool covers(const Target *r, const Target *t)
{
	if (r->name.n || t->name.n)
		return str_eq(r->name, t->name);
	return r->lo.v == t->lo.v && ip_cmp(r->lo, t->lo) <= 0 && ip_cmp(t->hi, r->hi) <= 0;
}

static bool word_declared(const Facts *f, const Target *t, ReachWord w)
{
	for (uint32_t i = 0; i < f->m->decls.reach.n; i++)
		if (covers(&f->m->decls.reach.p[i].target, t) && (f->m->decls.reach.p[i].words >> w & 1))
			return true;
	return false;
}

static bool port_declared(const Facts *f, const Target *t, uint8_t proto, uint16_t port)
{
	for (uint32_t i = 0; i < f->m->decls.reach.n; i++) {
		const Reach *r = &f->m->decls.reach.p[i];
		const PortSet *s = proto == PROTO_TCP ? &r->tcp : &r->udp;

		for (uint32_t k = 0; covers(&r->target, t) && k < s->n; k++)
			if (s->p[k].lo == port && s->p[k].hi == port)
				return true;
	}
	return false;
}

static bool vlan_declared(const Facts *f, const Target *t)
{
	for (uint32_t i = 0; i < f->m->decls.reach.n; i++)
		if (covers(&f->m->decls.reach.p[i].target, t) && f->m->decls.reach.p[i].vlan.n)
			return true;
	return false;
}

static Str target_str(Facts *f, const Target *t)
{
	Sb b = sb(f->a);

	target_text(t, &b);
	return sb_done(&b);
}

static void need_word(Facts *f, const Emission *e, ReachWord w, const Node *n)
{
	if (word_declared(f, &e->peer, w))
		return;
	Str t = target_str(f, &e->peer);
	Diag *d = facts_say(f, "E-REACH", n, "this needs a word of its own: %s", word_name(w));
	bool range = !e->peer.name.n && !ip_eq(e->peer.lo, e->peer.hi);

	if (!range)
		facts_fix_declare(f, d,
				  str_printf(f->a, "reach(\"%.*s\", %s=True)", STR_ARG(t), word_name(w)));
	d->hint = str_printf(f->a, "%s=True in reach(..), if the policy allows it", word_name(w));
}

/* ---- rows ---- */

static bool row_same(const Emission *a, const Emission *b)
{
	return str_eq(a->peer.name, b->peer.name) && ip_eq(a->peer.lo, b->peer.lo) &&
	       ip_eq(a->peer.hi, b->peer.hi) && a->proto == b->proto && a->src_set == b->src_set &&
	       ip_eq(a->src_lo, b->src_lo) && ip_eq(a->src_hi, b->src_hi) && a->words == b->words &&
	       a->ether == b->ether;
}

static void ports_merge(Facts *f, PortSet *to, const PortSet *from)
{
	for (uint32_t i = 0; i < from->n; i++)
		ports_add(f->a, to, from->p[i].lo, from->p[i].hi);
}

static void name_add(Facts *f, Str name)
{
	for (uint32_t i = 0; i < f->m->names.n; i++)
		if (str_eq(f->m->names.p[i], name))
			return;
	vec_push(f->a, &f->m->names, name);
}

static void row_add(Facts *f, const Emission *e, const Node *n)
{
	facts_step(f, 1 + f->m->emit.n / 16);
	for (uint32_t i = 0; i < f->m->emit.n; i++)
		if (row_same(&f->m->emit.p[i], e)) {
			Emission *r = &f->m->emit.p[i];

			ports_merge(f, &r->dports, &e->dports);
			ports_merge(f, &r->sports, &e->sports);
			r->dports_all |= e->dports_all;
			return;
		}
	if (f->m->emit.n >= LIMIT_MANIFEST_ITEMS) {
		facts_say(f, "E-COMPLEX", n, "more than %u kinds of destinations: name networks by reach(..)",
			  LIMIT_MANIFEST_ITEMS);
		return;
	}
	vec_push(f->a, &f->m->emit, *e);
	if (e->peer.name.n && !str_is(e->peer.name, PEER_RESOLVER)) {
		name_add(f, e->peer.name);
		decl_warn_name(f->in->diags, f->a, facts_users_node(f, n)->span, e->peer.name);
	}
}

/* ---- ports ---- */

/* The range stays whole: the gate leaves these ports out, and a probe to one is
 * `denied port` because the program asked for it. */
static void range_ports(Facts *f, Emission *e, Range r, Sb *cut)
{
	for (int64_t p = r.lo; p <= r.hi; p++) {
		const PortRow *row = port_row(e->proto, (uint16_t)p);

		if (!row || (row->need != NEED_NAME ? word_declared(f, &e->peer, row->need)
						    : port_declared(f, &e->peer, e->proto, (uint16_t)p)))
			continue;
		sb_printf(cut, "%s%d", cut->n ? ", " : "", (int)p);
	}
	ports_add(f->a, &e->dports, (uint16_t)r.lo, (uint16_t)r.hi);
}

static void dest_ports(Facts *f, Emission *e, const Fact *x, const Node *n)
{
	Sb cut = sb(f->a);

	if (!x->vals || x->kind != T_INT) {
		e->dports_all = true;
		return;
	}
	for (uint32_t i = 0; i < x->vals->n; i++) {
		Range r = { x->vals->r[i].lo < 0 ? 0 : x->vals->r[i].lo,
			    x->vals->r[i].hi > 65535 ? 65535 : x->vals->r[i].hi };

		if (r.lo > r.hi)
			continue;
		if (r.lo < r.hi) {
			range_ports(f, e, r, &cut);
			continue;
		}
		const PortRow *row = port_row(e->proto, (uint16_t)r.lo);

		if (row && row->need != NEED_NAME) {
			e->words |= UINT32_C(1) << row->need;
			need_word(f, e, row->need, n);
		}
		ports_add(f->a, &e->dports, (uint16_t)r.lo, (uint16_t)r.lo);
	}
	if (cut.n) {
		Diag *d = facts_say(f, "W-PORT", n,
				    "ports of this range that need a word of their own are left out: %.*s",
				    STR_ARG(sb_done(&cut)));

		d->hint = STR("name them one by one: a constant dport, or reach(.., udp=[..])");
	}
}

static void source_ports(Facts *f, Emission *e, const Fact *x)
{
	for (uint32_t i = 0; x->kind == T_INT && x->vals && i < x->vals->n; i++) {
		Range r = x->vals->r[i];

		if (r.lo >= 0 && r.hi <= 65535)
			ports_add(f->a, &e->sports, (uint16_t)r.lo, (uint16_t)r.hi);
	}
}

/* ---- words by field values ---- */

static bool any_value(const FieldFact *ff, bool (*test)(int64_t v))
{
	if (!ff || !ff->value->vals || ff->value->kind != T_INT)
		return false;
	for (uint32_t i = 0; i < ff->value->vals->n; i++)
		if (test(ff->value->vals->r[i].lo) || test(ff->value->vals->r[i].hi))
			return true;
	return false;
}

static bool not_zero(int64_t v)
{
	return v != 0;
}

static bool more_fragments(int64_t v)
{
	return v & 1; /* RFC 791: MF is the last of the three flags */
}

static bool is_claim(int64_t v)
{
	return v != 1;
}

static bool is_icmp_error(int64_t v)
{
	return v == 3 || v == 4 || v == 11 || v == 12;
}

static bool is_icmp_redirect(int64_t v)
{
	return v == 5;
}

static bool is_icmp6_error(int64_t v)
{
	return v >= 1 && v <= 4;
}

static bool is_icmp6_na(int64_t v)
{
	return v == 136;
}

static bool is_icmp6_ra(int64_t v)
{
	return v == 134;
}

static bool is_icmp6_redirect(int64_t v)
{
	return v == 137;
}

typedef struct WordRule {
	WireId layer;
	const char *field;
	bool (*test)(int64_t v); /* NULL: that it is set */
	ReachWord word;
} WordRule;

static const WordRule word_rules[] = {
	{ WIRE_IP, "frag", not_zero, WORD_FRAGMENTS },
	{ WIRE_IP, "flags", more_fragments, WORD_FRAGMENTS },
	{ WIRE_IP, "options", NULL, WORD_OPTIONS },
	{ WIRE_ARP, "op", is_claim, WORD_ARP_CLAIM },
	{ WIRE_ICMP, "type", is_icmp_error, WORD_ICMP_ERROR },
	{ WIRE_ICMP, "type", is_icmp_redirect, WORD_REDIRECT },
	{ WIRE_ICMPV6, "type", is_icmp6_error, WORD_ICMP_ERROR },
	{ WIRE_ICMPV6, "type", is_icmp6_na, WORD_ND },
	{ WIRE_ICMPV6, "type", is_icmp6_ra, WORD_RA },
	{ WIRE_ICMPV6, "type", is_icmp6_redirect, WORD_REDIRECT },
};

static void set_word(Facts *f, Emission *e, ReachWord w, const Node *n)
{
	if (!(e->words >> w & 1)) {
		e->words |= UINT32_C(1) << w;
		need_word(f, e, w, n);
	}
}

static void words_of(Facts *f, Emission *e, const Stack *s, const Node *n)
{
	unsigned networks = 0;

	for (size_t i = 0; i < sizeof word_rules / sizeof *word_rules; i++) {
		const WordRule *r = &word_rules[i];
		const FieldFact *ff = stack_field(s, r->layer, r->field);

		if (ff && (r->test ? any_value(ff, r->test) : ff->value->kind != T_NONE))
			set_word(f, e, r->word, ff->node);
	}
	for (unsigned i = 0; i < s->n; i++) {
		networks += (WIRE_BIT(s->id[i]) & NETWORKS) != 0;
		if (s->id[i] == WIRE_HOPOPT || s->id[i] == WIRE_ROUTING)
			set_word(f, e, WORD_OPTIONS, n);
		if (s->id[i] == WIRE_FRAGMENT)
			set_word(f, e, WORD_FRAGMENTS, n);
		if (s->id[i] == WIRE_DOT1Q && !vlan_declared(f, &e->peer)) {
			Diag *d = facts_say(f, "E-REACH", n, "a VLAN tag needs a word of its own: vlan");

			d->hint = STR("vlan=[10] in reach(..), if the policy allows it");
		}
	}
	if (s->tunnel || networks > 1)
		set_word(f, e, WORD_TUNNEL, n);
	if (e->proto && proto_word(e->proto) != WORD_N)
		set_word(f, e, proto_word(e->proto), n);
	if (!e->peer.name.n && e->proto) {
		IpClass c = ip_class(e->peer.lo);

		if (c == IP_CLASS_MULTICAST)
			set_word(f, e, WORD_MULTICAST, n);
		if (c == IP_CLASS_BROADCAST)
			set_word(f, e, WORD_BROADCAST, n);
	}
}

/* ---- frames that the gate refuses in any case ---- */

static bool one_value(const Stack *s, WireId id, const char *field, int64_t *ret, const Node **ret_node)
{
	const FieldFact *ff = stack_field(s, id, field);

	*ret_node = ff ? ff->node : NULL;
	return ff && !ff->maybe && vals_one(ff->value, ret);
}

/* guardrails.md 4: the packet ends where its total or payload length says, a UDP
 * packet and a TCP header end within it.  `exact`: no less either. */
static void check_lengths(Facts *f, const Stack *s)
{
	static const struct {
		WireId id;
		const char *field;
		int64_t unit, beside; /* bytes = value * unit + beside */
		bool exact;
		const char *what;
	} rules[] = {
		{ WIRE_IP, "len", 1, 0, true, "the packet" },
		{ WIRE_IPV6, "plen", 1, 40, true, "the packet" },
		{ WIRE_UDP, "len", 1, 0, false, "the UDP packet" },
		{ WIRE_TCP, "dataofs", 4, 0, false, "the TCP segment" },
	};
	int64_t v;
	const Node *n;

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		unsigned at = 0;

		while (at < s->n && s->id[at] != rules[i].id)
			at++;
		if (at == s->n || !one_value(s, rules[i].id, rules[i].field, &v, &n))
			continue;
		Len size = facts_stack_size(s, at);
		int64_t bytes = v * rules[i].unit + rules[i].beside;

		if (bytes < 0 || ((uint64_t)bytes <= size.hi && (!rules[i].exact || (uint64_t)bytes >= size.lo)))
			continue;
		Diag *d = facts_say(f, "E-FRAME", n, "the gate refuses this: %s has %s%llu bytes", rules[i].what,
				    size.lo == size.hi ? "" : "at most ", (unsigned long long)size.hi);

		facts_fix_drop(f, d, n);
		d->hint = STR("left out, it is computed");
	}
}

static void check_frame(Facts *f, const Stack *s)
{
	static const struct {
		WireId id;
		const char *field;
		int64_t lo, hi;
		const char *why;
	} rules[] = {
		{ WIRE_IP, "version", 4, 4, "an IP packet has version 4" },
		{ WIRE_IP, "ihl", 5, 15, "an IP header has at least 5 words" },
		{ WIRE_IP, "len", 20, 65535, "an IP packet has at least 20 bytes" },
		{ WIRE_IPV6, "version", 6, 6, "an IPv6 packet has version 6" },
		{ WIRE_TCP, "dataofs", 5, 15, "a TCP header has at least 5 words" },
		{ WIRE_UDP, "len", 8, 65535, "a UDP packet has at least 8 bytes" },
	};
	int64_t v;
	const Node *n;

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (one_value(s, rules[i].id, rules[i].field, &v, &n) && (v < rules[i].lo || v > rules[i].hi))
			facts_fix_drop(f, facts_say(f, "E-FRAME", n, "the gate refuses this: %s", rules[i].why), n);
	check_lengths(f, s);
	WireId net = stack_first(s, NETWORKS);
	int64_t want = net == WIRE_IP ? 0x0800 : net == WIRE_IPV6 ? 0x86dd : 0x0806;

	if (s->n > 1 && s->id[0] == WIRE_ETHER && s->id[1] != WIRE_DOT1Q &&
	    one_value(s, WIRE_ETHER, "type", &v, &n) && v != want)
		facts_say(f, "E-FRAME", n, "the gate refuses this: the EtherType of %s is 0x%04llx",
			  wire_proto(net)->name, (long long)want);
}

/* ---- one kind of packet ---- */

/* The argument of the user's call behind lib's code, or the field itself. */
static const Node *blame(Facts *f, const Node *n)
{
	if (!facts_in_lib(f, n))
		return n;
	const Node *u = facts_users_node(f, n);

	return u->kind == N_CALL && u->call.n ? u->call.arg[0].value : u;
}

static Str likely_net(Facts *f)
{
	for (uint32_t i = 0; i < f->m->emit.n; i++) {
		Target t = f->m->emit.p[i].peer;
		char text[IP_TEXT];

		if (t.name.n || t.lo.v != 4)
			continue;
		ip_format(ip4(ip4_num(t.lo) & 0xffff0000u), text);
		return str_printf(f->a, "%s/16", text);
	}
	return STR("10.0.0.0/8");
}

static void unknown_peer(Facts *f, const Fact *dst, const Node *n)
{
	const Node *at = blame(f, n);
	Str net = likely_net(f);
	Diag *d;

	if (dst->origin && !facts_in_lib(f, dst->origin) && dst->origin != at)
		d = facts_say(f, "E-REACH", at,
			      "the destination is not known before the start: it comes from %.*s",
			      STR_ARG(facts_source(f, dst->origin)));
	else
		d = facts_say(f, "E-REACH", at, "the destination is not known before the start");
	facts_fix_declare(f, d, str_printf(f->a, "reach(\"%.*s\")", STR_ARG(net)));
	d->fix.widening = true;
	d->hint = dst->origin && dst->origin->kind == N_PARAM
			  ? str_printf(f->a, "give the param a value for this run, or a default: %.*s = \"10.0.0.1\"", STR_ARG(facts_source(f, dst->origin)))
			  : STR("say at the head of the file which network it lies in");
}

static const Node *port_node(const Stack *s, const Node *n)
{
	const FieldFact *ff =
		stack_field(s, stack_first(s, WIRE_BIT(WIRE_TCP) | WIRE_BIT(WIRE_UDP)), "dport");

	return ff ? ff->node : n;
}

static void emit_peers(Facts *f, Emission *e, const Stack *s, const Fact *dst, const Fact *dport,
		       const Node *n)
{
	uint32_t peers = dst->vals ? dst->vals->n : f->m->decls.reach.n;

	if (!dst->vals && !peers) {
		unknown_peer(f, dst, n);
		return;
	}
	for (uint32_t i = 0; i < peers; i++) {
		Emission one = *e;

		one.peer = dst->vals ? dst->vals->ip[i] : f->m->decls.reach.p[i].target;
		if (!dst->vals && !one.peer.name.n &&
		    one.peer.lo.v != (stack_first(s, NETWORKS) == WIRE_IPV6 ? 6 : 4))
			continue;
		if (!one.peer.name.n && !one.peer.lo.v) {
			f->m->uses_resolver = true;
			one.peer.name = STR(PEER_RESOLVER);
		}
		one.dports = (PortSet){ 0 };
		words_of(f, &one, s, n);
		if (dport)
			dest_ports(f, &one, dport, port_node(s, n));
		row_add(f, &one, n);
	}
}

static const Fact *required(Facts *f, const Stack *s, WireId id, const char *field, const Node *n)
{
	const FieldFact *ff = stack_field(s, id, field);

	if (ff && !ff->maybe)
		return ff->value;
	if (!s->built)
		return mk(f, id == WIRE_TCP || id == WIRE_UDP ? T_INT : T_IP);
	facts_say(f, "E-ARGS", blame(f, n), "%s needs %s: it has no default", wire_proto(id)->name, field);
	return facts_bad(f);
}

static void other_proto(Facts *f, Emission *e, const Stack *s, WireId net, const Fact *dst, const Node *n)
{
	const FieldFact *ff = stack_field(s, net, net == WIRE_IP ? "proto" : "nh");

	if (!ff) {
		int number = s->built && s->carries != WIRE_NONE ? wire_ipproto_of((WireId)s->carries) : -1;

		if (number >= 0)
			e->proto = (uint8_t)number;
		else if (net == WIRE_IPV6)
			e->proto = 59; /* RFC 8200 4.7: nothing follows */
		emit_peers(f, e, s, dst, NULL, n);
		return;
	}
	if (!ff->value->vals || ff->value->kind != T_INT) {
		facts_say(f, "E-FRAME", ff->node, "the protocol must be known before the start");
		return;
	}
	for (uint32_t i = 0; i < ff->value->vals->n; i++)
		for (int64_t p = ff->value->vals->r[i].lo; p <= ff->value->vals->r[i].hi && p < 256; p++) {
			ReachWord word = proto_word((uint8_t)p);

			e->proto = (uint8_t)p;
			e->words &= ~(UINT32_C(1) << WORD_ROUTING | UINT32_C(1) << WORD_TUNNEL);
			if (word != WORD_N)
				e->words |= UINT32_C(1) << word;
			emit_peers(f, e, s, dst, NULL, n);
		}
}

static bool is_solicitation(const Stack *s)
{
	enum { SOLICITATION = 135 };
	const Node *n;
	int64_t type;

	return one_value(s, WIRE_ICMPV6, "type", &type, &n) && type == SOLICITATION;
}

/* One network layer and what it carries. */
static void emit_packet(Facts *f, const Stack *s, const Node *n)
{
	WireId net = stack_first(s, NETWORKS), trans = stack_first(s, TRANSPORTS);
	Emission e = { .ether = s->n && s->id[0] == WIRE_ETHER, .span = facts_users_node(f, n)->span };

	if (net == WIRE_NONE) {
		if (s->built)
			facts_say(f, "E-LAYER", blame(f, n),
				  "a packet that is sent needs an IP, IPv6 or ARP layer");
		else
			unknown_peer(f, mk(f, T_IP), n);
		return;
	}
	check_frame(f, s);
	const FieldFact *to = stack_field(s, net, net == WIRE_ARP ? "pdst" : "dst");
	const FieldFact *src = stack_field(s, net, net == WIRE_ARP ? "psrc" : "src");
	const Fact *dst = required(f, s, net, net == WIRE_ARP ? "pdst" : "dst", n), *dport = NULL;

	if (is_solicitation(s)) { /* whoever hears it, its target is the peer */
		to = stack_field(s, WIRE_ICMPV6, "tgt");
		dst = to ? to->value : dst;
	}

	if (dst->kind != T_IP)
		return;
	if (src && src->value->kind == T_IP) {
		e.src_set = true;
		if (src->value->vals && src->value->vals->n == 1 && !src->value->vals->ip[0].name.n) {
			e.src_lo = src->value->vals->ip[0].lo;
			e.src_hi = src->value->vals->ip[0].hi;
		}
	}
	const Node *at = to ? to->node : n;

	if (trans == WIRE_TCP || trans == WIRE_UDP) {
		const FieldFact *sport = stack_field(s, trans, "sport");

		dport = required(f, s, trans, "dport", n);
		if (dport->kind == T_ERROR)
			return;
		e.proto = trans == WIRE_TCP ? PROTO_TCP : PROTO_UDP;
		if (sport)
			source_ports(f, &e, sport->value);
	} else if (trans != WIRE_NONE) {
		e.proto = trans == WIRE_ICMP ? PROTO_ICMP : PROTO_ICMPV6;
	} else if (net != WIRE_ARP) {
		other_proto(f, &e, s, net, dst, at);
		return;
	}
	emit_peers(f, &e, s, dst, dport, at);
}

/* The layers [from, to) of a stack that was built. */
static Stack *stack_part(Facts *f, const Stack *s, unsigned from, unsigned to)
{
	Stack *part = arena_new(f->a, Stack);
	FieldFact *ff = arena_new_n(f->a, FieldFact, s->nfields);

	*part = *s;
	part->n = (uint8_t)(to - from);
	part->must = 0;
	part->nfields = 0;
	part->field = ff;
	for (unsigned i = from; i < to; i++) {
		part->id[i - from] = s->id[i];
		part->must |= WIRE_BIT(s->id[i]);
	}
	part->mustnot = ~part->must;
	for (unsigned i = 0; i < s->nfields; i++)
		if (s->field[i].layer >= from && s->field[i].layer < to) {
			ff[part->nfields] = s->field[i];
			ff[part->nfields++].layer = (uint8_t)(s->field[i].layer - from);
		}
	return part;
}

/* What the network layer at `at` carries. */
static WireId carried(const Stack *s, unsigned at)
{
	while (++at < s->n && wire_proto((WireId)s->id[at])->role == ROLE_EXTENSION)
		;
	return at < s->n ? (WireId)s->id[at] : WIRE_NONE;
}

/* guardrails.md 4: each packet of a tunnel is checked as if it were sent, so that
 * the manifest needs them all. */
static void emit_stack(Facts *f, const Stack *s, const Node *n)
{
	unsigned at[LIMIT_LAYERS], k = 0;

	for (unsigned i = 0; s->built && i < s->n; i++)
		if (WIRE_BIT(s->id[i]) & NETWORKS)
			at[k++] = i;
	if (!k)
		emit_packet(f, s, n);
	for (unsigned i = 0; i < k; i++) {
		bool last = i + 1 == k;
		Stack *part = stack_part(f, s, i ? at[i] : 0, last ? s->n : at[i + 1]);

		part->carries = (uint8_t)carried(s, at[i]);
		part->tunnel = !last;
		emit_packet(f, part, n);
	}
}

void facts_emit(Facts *f, const Fact *p, Node *n, Len times)
{
	Cost c = { .frames = { 1, 1 } };
	bool first = true;

	for (uint32_t i = 0; i < fact_ways(p); i++) {
		const Fact *w = fact_way(f, p, i);

		for (uint32_t k = 0; w->kind == T_PACKET && k < w->n; k++, first = false)
			facts_cost_add(&c, w->stack[k], first);
	}
	uint64_t least = facts_sat_mul(times.lo, c.frames.lo);

	facts_count_add(f, facts_sat_mul(times.hi, c.frames.hi), c.may_syn ? times.hi : 0,
			(Least){ least, facts_sat_mul(times.lo, c.bytes.lo), c.syn ? times.lo : 0, 0 });
	if (f->quiet || f->silent)
		return;
	for (uint32_t i = 0; i < fact_ways(p); i++) {
		const Fact *w = fact_way(f, p, i);

		for (uint32_t k = 0; w->kind == T_PACKET && k < w->n; k++)
			emit_stack(f, w->stack[k], n);
	}
}

/* ---- filters, interfaces, this host ---- */

static void text_add(Facts *f, Str s, bool filter)
{
	for (uint32_t i = 0; i < (filter ? f->m->filters.n : f->m->ifaces.n); i++)
		if (str_eq(filter ? f->m->filters.p[i] : f->m->ifaces.p[i], s))
			return;
	if (filter)
		vec_push(f->a, &f->m->filters, s);
	else
		vec_push(f->a, &f->m->ifaces, s);
}

void facts_note_filter(Facts *f, const Fact *filter, Node *n)
{
	if (filter->kind != T_STR || f->quiet || f->silent)
		return;
	if (!filter->vals) {
		Diag *d = facts_say(f, "E-CAPTURE", blame(f, n), "the filter must be known before the start");

		d->hint = STR("make it of constants; what differs can be tested on each packet");
		return;
	}
	for (uint32_t i = 0; i < filter->vals->n; i++) {
		FilterError e;
		const Filter *flt = filter_parse(filter->vals->s[i], f->a, &e);

		if (flt) {
			text_add(f, filter_text(flt, f->a), true);
			continue;
		}
		bool plain =
			n->kind == N_STR && n->span.to - n->span.from == n->s.n + 2 && !facts_in_lib(f, n);
		Span at = plain ? (Span){ n->span.from + 1 + e.from, n->span.from + 1 + e.to } : n->span;
		Diag *d = facts_say_at(f, "E-CAPTURE", n, at, "%.*s", STR_ARG(e.message));

		d->hint = e.hint;
	}
}

void facts_note_iface(Facts *f, const Fact *iface, Node *n)
{
	if (f->quiet || f->silent)
		return;
	if (!iface->vals) {
		facts_say(f, "E-TYPE", blame(f, n), "the interface must be known before the start");
		return;
	}
	for (uint32_t i = 0; i < iface->vals->n; i++)
		text_add(f, iface->vals->s[i], false);
}

void facts_note_local(Facts *f, LocalKind k, const Fact *dst, Node *n)
{
	uint32_t count = dst ? 0 : 1;

	if (f->quiet || f->silent)
		return;
	if (dst && dst->kind == T_IP) {
		if (!dst->vals) {
			facts_say(f, "E-REACH", blame(f, n),
				  "route() is asked before the start: its address must be known");
			return;
		}
		count = dst->vals->n;
	}
	for (uint32_t i = 0; i < count; i++) {
		LocalQuestion q = { .kind = k };
		bool have = false;

		if (dst && dst->vals->ip[i].name.n)
			name_add(f, q.name = dst->vals->ip[i].name);
		else if (dst)
			q.dst = dst->vals->ip[i].lo;
		for (uint32_t j = 0; j < f->m->local.n; j++)
			have |= f->m->local.p[j].kind == k && ip_eq(f->m->local.p[j].dst, q.dst) && str_eq(f->m->local.p[j].name, q.name);
		if (!have)
			vec_push(f->a, &f->m->local, q);
	}
}

/* What the program spends at least, beside its bounds: one warning for all. */
static void warn_budget(Facts *f, const Least *least, uint64_t most_packets)
{
	const struct {
		Bound bound;
		uint64_t least, ask;
		const char *unit;
	} rows[] = {
		{ BOUND_PACKETS, least->packets, most_packets == UINT64_MAX ? least->packets : most_packets, " packets" },
		{ BOUND_BYTES, least->bytes, least->bytes, " bytes" },
		{ BOUND_SYN, least->syn, least->syn, " SYN" },
		/* it ends somewhat later than it sleeps */
		{ BOUND_TIME, least->ns / NS_PER_S, least->ns / NS_PER_S + 60, " s" },
	};
	const Budget *b = &f->m->decls.budget;
	Sb spent = sb(f->a), bounds = sb(f->a), line = sb(f->a);
	Span at = f->reach_span;
	bool any = false;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Bound k = rows[i].bound;
		bool declared = b->declared >> k & 1;
		int64_t bound = declared ? b->v[k] : bound_default(k);

		bound = k == BOUND_TIME ? bound / NS_PER_S : bound;
		if (rows[i].least <= (uint64_t)bound)
			continue;
		at = declared && !any ? b->span[k] : at;
		sb_printf(&spent, "%s%llu%s", any ? ", " : "", (unsigned long long)rows[i].least, rows[i].unit);
		sb_printf(&bounds, "%s%lld%s", any ? ", " : "", (long long)bound, rows[i].unit);
		sb_printf(&line, "%s%s=%llu", any ? ", " : "budget(", bound_name(k), (unsigned long long)rows[i].ask);
		any = true;
	}
	if (!any)
		return;
	sb_char(&line, ')');
	Diag *d = facts_say_at(f, "W-BUDGET", f->in->ast->files.p[0].module, at,
			       "this takes at least %.*s; the budget is %.*s", STR_ARG(sb_done(&spent)),
			       STR_ARG(sb_done(&bounds)));

	if (b->declared)
		d->hint = sb_done(&line);
	else
		facts_fix_declare(f, d, sb_done(&line));
}

void manifest_finish(Facts *f)
{
	Count c = f->exits ? (f->env->dead ? f->exit : facts_count_max(f->count, f->exit)) : f->count;

	f->m->worst.packets = c.packets;
	f->m->worst.syn = c.syn;
	f->m->worst.least_packets = c.least.packets;
	warn_budget(f, &c.least, c.packets);
}
