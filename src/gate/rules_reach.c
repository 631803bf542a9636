/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may be reached how.
 *
 * Every declaration means the same for all addresses between two neighbouring
 * borders of declarations.  So the address space is cut at all borders, and each
 * piece that the manifest touches is judged once, at its first address.
 */
#include "gate/rules_inside.h"

#include "base/sort.h"

#include <netinet/in.h>

/* ---- keys and cuts ---- */

static void cut(Maker *k, Ip lo, Ip hi)
{
	Ip next;

	if (lo.v == 0)
		return;
	vec_push(k->a, &k->cut[lo.v == 6], ip_num(lo));
	if (ip_add(hi, 1, &next))
		vec_push(k->a, &k->cut[lo.v == 6], ip_num(next));
}

static void cut_net(Maker *k, const char *text)
{
	Net n;
	Ip lo, hi;

	if (!net_parse(str_c(text), &n))
		return;
	net_range(n, &lo, &hi);
	cut(k, lo, hi);
}

static void cut_policy(Maker *k, const Decls *d)
{
	for (uint32_t i = 0; i < d->reach.n; i++)
		cut(k, d->reach.p[i].target.lo, d->reach.p[i].target.hi);
	for (uint32_t i = 0; i < d->deny.n; i++)
		cut(k, d->deny.p[i].target.lo, d->deny.p[i].target.hi);
	for (uint32_t i = 0; i < d->allow_self.n; i++)
		cut(k, d->allow_self.p[i].lo, d->allow_self.p[i].hi);
}

static int key_order(const void *a, const void *b)
{
	const IpNum *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void cut_everything(Maker *k)
{
	/* where base/addr's classes change; the rest of them is in never_rows() */
	static const char *const classes[] = { "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32", "ff00::/8",
					       "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
					       "2002::/16", "2001::/32" };
	size_t n;
	const NeverRow *never = never_rows(&n);

	for (size_t i = 0; i < n; i++)
		cut_net(k, never[i].net);
	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
		cut_net(k, classes[i]);
	for (uint32_t i = 0; i < k->in->nown; i++)
		cut(k, k->in->own[i].ip, k->in->own[i].ip);
	for (uint32_t i = 0; i < k->directed.n; i++)
		cut(k, k->directed.p[i], k->directed.p[i]);
	for (uint32_t i = 0; i < k->r->resolvers.n; i++)
		cut(k, k->r->resolvers.p[i], k->r->resolvers.p[i]);
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		cut_policy(k, &k->in->policies[i].decls);
	cut_policy(k, &k->in->manifest->decls);
	for (uint32_t i = 0; i < k->item.n; i++)
		cut(k, k->item.p[i].lo, k->item.p[i].hi);
	for (int v = 0; v < 2; v++)
		sort_items(k->cut[v].p, k->cut[v].n, sizeof(IpNum), key_order);
}

/* ---- kinds of addresses ---- */

static bool is_own(const Maker *k, Ip ip)
{
	for (uint32_t i = 0; i < k->in->nown; i++)
		if (ip_eq(k->in->own[i].ip, ip))
			return true;
	return false;
}

/* RFC 1812 4.2.2.11 and 5.3.5: the last address of a net, and the first, which old
 * stacks take for it too.  Nets of two addresses have none, RFC 3021. */
static void find_directed(Maker *k)
{
	for (uint32_t i = 0; i < k->in->nown; i++) {
		const OwnAddr *o = &k->in->own[i];
		Ip first, last;

		if (o->ip.v != 4 || o->bits > 30 || ip_class(o->ip) == IP_CLASS_LOOPBACK)
			continue;
		net_range((Net){ o->ip, o->bits }, &first, &last);
		vec_push(k->a, &k->directed, first);
		vec_push(k->a, &k->directed, last);
	}
}

uint32_t need_at(const Maker *k, Ip ip)
{
	IpClass c = ip_class(ip);

	if (c == IP_CLASS_MULTICAST)
		return 1u << WORD_MULTICAST;
	if (c == IP_CLASS_BROADCAST)
		return 1u << WORD_BROADCAST;
	for (uint32_t i = 0; i < k->directed.n; i++)
		if (ip_eq(k->directed.p[i], ip))
			return 1u << WORD_BROADCAST;
	return 0;
}

static bool covered(const Target *t, uint32_t n, Ip ip)
{
	for (uint32_t i = 0; i < n; i++)
		if (ip_within(ip, t[i].lo, t[i].hi))
			return true;
	return false;
}

/* Only what every policy allows: a file given by flag can't widen the installed one. */
static bool self_allowed(const Maker *k, Ip ip)
{
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Decls *d = &k->in->policies[i].decls;

		if (!covered(d->allow_self.p, d->allow_self.n, ip))
			return false;
	}
	return true;
}

static const char *never_text(const Maker *k, Ip ip)
{
	size_t n;
	const NeverRow *never = never_rows(&n);

	for (size_t i = 0; i < n; i++) {
		Net net;

		if (net_parse(str_c(never[i].net), &net) && net_has(net, ip))
			return never[i].what;
	}
	return is_own(k, ip) ? "an address of this host" : NULL;
}

const char *never_at(const Maker *k, Ip ip, bool *ret_liftable)
{
	const char *text = never_text(k, ip);
	IpClass c = ip_class(ip);

	*ret_liftable = text != NULL;
	if (text)
		return self_allowed(k, ip) ? NULL : text;
	if (c == IP_CLASS_RESERVED)
		return "reserved";
	return c == IP_CLASS_V4_EMBEDDED ? "an IPv6 address that stands for an IPv4 one" : NULL;
}

bool dns_closed(const Maker *k, Ip ip)
{
	for (uint32_t i = 0; i < k->r->resolvers.n; i++)
		if (ip_eq(k->r->resolvers.p[i], ip))
			return false;
	return !k->r->zones_all;
}

/* ---- grants ---- */

static bool reach_has(const Reach *r, Ip ip)
{
	return ip_within(ip, r->target.lo, r->target.hi);
}

static void grant_reach(Grant *g, const Reach *r)
{
	g->peer = true;
	g->icmp |= r->icmp || r->alone;
	g->words |= r->words;
	if (r->all_tcp)
		portbits_fill(&g->tcp, true);
	if (r->all_udp)
		portbits_fill(&g->udp, true);
	portbits_add(&g->tcp, &r->tcp);
	portbits_add(&g->udp, &r->udp);
	for (uint32_t i = 0; i < r->other.n; i++)
		g->other[r->other.p[i] / 64] |= UINT64_C(1) << (r->other.p[i] % 64);
}

/* deny() takes away what it names; one that names nothing but the peer, everything. */
static void grant_deny(Maker *k, Grant *g, const Reach *r)
{
	if (r->alone && !r->words && !r->vlan.n) {
		g->peer = false;
		g->row = r;
		return;
	}
	g->icmp &= !r->icmp;
	g->words &= ~r->words;
	portbits_fill(k->tmp, r->all_tcp);
	portbits_add(k->tmp, &r->tcp);
	portbits_minus(&g->tcp, k->tmp);
	portbits_fill(k->tmp, r->all_udp);
	portbits_add(k->tmp, &r->udp);
	portbits_minus(&g->udp, k->tmp);
	for (uint32_t i = 0; i < r->other.n; i++)
		g->other[r->other.p[i] / 64] &= ~(UINT64_C(1) << (r->other.p[i] % 64));
}

static void grant_clear(Grant *g)
{
	memset(g, 0, sizeof *g);
}

static void grant_policy(Maker *k, const Decls *d, Ip ip, Grant *g)
{
	static const Reach anybody = { .alone = true };

	grant_clear(g);
	g->row = d->reach.n ? &d->reach.p[0] : NULL;
	for (uint32_t i = 0; i < d->reach.n; i++) {
		const Reach *r = &d->reach.p[i];

		if (!reach_has(r, ip))
			continue;
		if (!g->peer)
			g->row = r;
		grant_reach(g, r);
		if (r->alone) { /* the ports that the program names: all that it asks for */
			portbits_fill(&g->tcp, true);
			portbits_fill(&g->udp, true);
		}
	}
	if (!d->reach.n) {
		grant_reach(g, &anybody);
		portbits_fill(&g->tcp, true);
		portbits_fill(&g->udp, true);
	}
	for (uint32_t i = 0; i < d->deny.n; i++)
		if (reach_has(&d->deny.p[i], ip))
			grant_deny(k, g, &d->deny.p[i]);
}

static void grant_emission(Grant *g, const Emission *e)
{
	PortBits *bits = e->proto == IPPROTO_TCP ? &g->tcp : e->proto == IPPROTO_UDP ? &g->udp : NULL;

	g->peer = true;
	g->ether |= e->ether;
	g->icmp |= e->proto == IPPROTO_ICMP || e->proto == IPPROTO_ICMPV6;
	if (!bits)
		return;
	if (e->dports_all)
		portbits_fill(bits, true);
	portbits_add(bits, &e->dports);
}

/* What the program asks for.  Words and protocols come from its reach() alone: an
 * emission that needs one without saying so is refused. */
static void grant_manifest(Maker *k, Ip ip, Grant *g)
{
	const Decls *d = &k->in->manifest->decls;

	grant_clear(g);
	for (uint32_t i = 0; i < k->item.n; i++) {
		const Item *it = &k->item.p[i];

		if (!ip_within(ip, it->lo, it->hi))
			continue;
		if (it->emission) {
			grant_emission(g, it->emission);
			continue;
		}
		grant_reach(g, it->reach);
		if (it->reach->alone) {
			portbits_add(&g->tcp, &k->named_tcp);
			portbits_add(&g->udp, &k->named_udp);
			g->ether |= k->named_ether;
		}
	}
	for (uint32_t i = 0; i < d->deny.n; i++)
		if (reach_has(&d->deny.p[i], ip))
			grant_deny(k, g, &d->deny.p[i]);
}

static bool reach_names(const Reach *r, uint8_t proto, uint16_t port)
{
	return ports_name(proto == IPPROTO_TCP ? &r->tcp : &r->udp, port);
}

static bool manifest_names(const Maker *k, Ip ip, uint8_t proto, uint16_t port)
{
	for (uint32_t i = 0; i < k->item.n; i++) {
		const Item *it = &k->item.p[i];

		if (!ip_within(ip, it->lo, it->hi))
			continue;
		if (it->emission && it->emission->proto == proto && ports_name(&it->emission->dports, port))
			return true;
		if (it->reach && (reach_names(it->reach, proto, port) ||
				  (it->reach->alone &&
				   ports_name(proto == IPPROTO_TCP ? &k->named_tcp : &k->named_udp, port))))
			return true;
	}
	return false;
}

bool party_names(const Maker *k, const Policy *p, Ip ip, uint8_t proto, uint16_t port)
{
	if (!p)
		return manifest_names(k, ip, proto, port);
	for (uint32_t i = 0; i < p->decls.reach.n; i++)
		if (reach_has(&p->decls.reach.p[i], ip) && reach_names(&p->decls.reach.p[i], proto, port))
			return true;
	return false;
}

static bool all_name(const Maker *k, Ip ip, uint8_t proto, uint16_t port)
{
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		if (!party_names(k, &k->in->policies[i], ip, proto, port))
			return false;
	return party_names(k, NULL, ip, proto, port);
}

/* ---- rights ---- */

static void cut_port(PortBits *bits, PortBits *told, uint16_t port)
{
	if (!portbits_has(bits, port))
		return;
	portbits_drop(bits, port);
	told->w[port / 64] |= UINT64_C(1) << (port % 64);
}

/* guardrails.md 3: ports of a range that need a word are cut out of it. */
static void cut_special(Maker *k, Ip ip, uint32_t words)
{
	size_t n;
	const PortRow *row = port_rows(&n);

	for (size_t i = 0; i < n; i++, row++) {
		bool word = row->need != NEED_NAME;

		if (word && words >> row->need & 1)
			continue;
		if (row->proto != IPPROTO_UDP && (word || !all_name(k, ip, IPPROTO_TCP, row->port)))
			cut_port(k->tcp, k->cut_tcp, row->port);
		if (row->proto != IPPROTO_TCP && (word || !all_name(k, ip, IPPROTO_UDP, row->port)))
			cut_port(k->udp, k->cut_udp, row->port);
	}
	if (dns_closed(k, ip)) {
		cut_port(k->tcp, k->cut_tcp, 53);
		cut_port(k->tcp, k->cut_tcp, 853);
		cut_port(k->udp, k->cut_udp, 853); /* DNS over QUIC, RFC 9250 */
	}
	if (is_own(k, ip)) {
		portbits_fill(k->tmp, false);
		portbits_add(k->tmp, &k->in->self_ports);
		portbits_minus(k->tcp, k->tmp);
	}
}

static bool vlan_in(const Decls *d, Ip ip, uint16_t vlan)
{
	for (uint32_t i = 0; i < d->deny.n; i++)
		for (uint32_t j = 0; j < d->deny.p[i].vlan.n; j++)
			if (reach_has(&d->deny.p[i], ip) && d->deny.p[i].vlan.p[j] == vlan)
				return false;
	for (uint32_t i = 0; i < d->reach.n; i++)
		for (uint32_t j = 0; j < d->reach.p[i].vlan.n; j++)
			if (reach_has(&d->reach.p[i], ip) && d->reach.p[i].vlan.p[j] == vlan)
				return true;
	return false;
}

static void rights_vlans(Maker *k, Ip ip, Rights *r)
{
	VEC(uint16_t) v = { 0 };

	for (uint32_t i = 0; i < k->item.n; i++) {
		const Item *it = &k->item.p[i];

		if (!it->reach || !ip_within(ip, it->lo, it->hi))
			continue;
		for (uint32_t j = 0; j < it->reach->vlan.n; j++) {
			bool ok = true;

			for (uint32_t p = 0; p < k->in->npolicies; p++)
				ok &= vlan_in(&k->in->policies[p].decls, ip, it->reach->vlan.p[j]);
			if (ok)
				vec_push(k->a, &v, it->reach->vlan.p[j]);
		}
	}
	r->vlan = v.p;
	r->nvlan = v.n;
}

/* The intersection of what stands in the maker's grants; NULL: not in reach. */
static const Rights *rights_at(Maker *k, Ip ip)
{
	Rights r = { .icmp = k->manifest->icmp, .ether = k->manifest->ether, .words = k->manifest->words,
		     .need = need_at(k, ip) };
	bool liftable;

	if (!k->manifest->peer || never_at(k, ip, &liftable))
		return NULL;
	memcpy(r.other, k->manifest->other, sizeof r.other);
	*k->tcp = k->manifest->tcp;
	*k->udp = k->manifest->udp;
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Grant *g = &k->policy[i];

		if (!g->peer)
			return NULL;
		r.icmp &= g->icmp;
		r.words &= g->words;
		for (size_t j = 0; j < 4; j++)
			r.other[j] &= g->other[j];
		portbits_and(k->tcp, &g->tcp);
		portbits_and(k->udp, &g->udp);
	}
	r.asked_tcp = portbits_set(&k->manifest->tcp, k->a);
	r.asked_udp = portbits_set(&k->manifest->udp, k->a);
	cut_special(k, ip, r.words);
	r.ntp_control = portbits_has(k->udp, 123) && all_name(k, ip, IPPROTO_UDP, 123);
	r.tcp = portbits_set(k->tcp, k->a);
	r.udp = portbits_set(k->udp, k->a);
	rights_vlans(k, ip, &r);
	Rights *kept = arena_new(k->a, Rights);

	*kept = r;
	return kept;
}

/* Words about our own address, which itself is never a peer. */
static void own_words(Maker *k, Ip ip)
{
	uint32_t words = k->manifest->words;

	for (uint32_t i = 0; i < k->in->npolicies; i++)
		words &= k->policy[i].peer ? k->policy[i].words : 0;
	for (uint32_t i = 0; i < k->in->nown; i++)
		if (ip_eq(k->in->own[i].ip, ip))
			k->r->own_words[i] = words;
}

static bool touched(const Maker *k, Ip ip)
{
	for (uint32_t i = 0; i < k->item.n; i++)
		if (ip_within(ip, k->item.p[i].lo, k->item.p[i].hi))
			return true;
	return false;
}

static void make_piece(Maker *k, Ip lo, Ip hi)
{
	if (!touched(k, lo))
		return;
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		grant_policy(k, &k->in->policies[i].decls, lo, &k->policy[i]);
	grant_manifest(k, lo, k->manifest);
	const Rights *rights = rights_at(k, lo);

	own_words(k, lo);
	judge_piece(k, lo, hi);
	if (!rights || (rights->need & ~rights->words))
		return;
	if (lo.v == 4)
		vec_push(k->a, &k->r->seg4, (Segment4){ ip4_num(lo), ip4_num(hi), rights });
	else
		vec_push(k->a, &k->r->seg6, (Segment6){ ip_num(lo), ip_num(hi), rights });
}

static void make_family(Maker *k, uint8_t v)
{
	const IpNum *cuts = k->cut[v == 6].p;
	uint32_t n = k->cut[v == 6].n;

	for (uint32_t i = 0; i < n; i++) {
		Ip lo = ip_of_num(v, cuts[i]), hi = { .v = v };

		if (i + 1 < n && cuts[i + 1] == cuts[i])
			continue;
		memset(hi.b, 0xff, ip_len(hi));
		if (i + 1 < n)
			hi = ip_of_num(v, cuts[i + 1] - 1);
		make_piece(k, lo, hi);
	}
}

/* ---- names and items ---- */

/* guardrails.md 2: each resolved address must lie in the policy by itself. */
static const char *pin_fault(Maker *k, Ip ip, const Policy **ret_policy, const Reach **ret_row)
{
	bool liftable;
	const char *never = never_at(k, ip, &liftable);

	*ret_policy = NULL;
	*ret_row = NULL;
	if (never)
		return never;
	if (need_at(k, ip))
		return "no unicast address";
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		grant_policy(k, &k->in->policies[i].decls, ip, &k->policy[i]);
		if (!k->policy[i].peer) {
			*ret_policy = &k->in->policies[i];
			*ret_row = k->policy[i].row;
			return "outside what may be reached";
		}
	}
	return NULL;
}

static void take_pins(Maker *k)
{
	for (uint32_t i = 0; i < k->in->npins; i++) {
		const Pin *p = &k->in->pins[i];
		const Policy *policy;
		const Reach *row;
		const char *fault = pin_fault(k, p->addr, &policy, &row);
		char text[IP_TEXT];

		if (!fault) {
			vec_push(k->a, &k->r->pins, *p);
			continue;
		}
		ip_format(p->addr, text);
		note(k, (Span){ 0, 0 }, policy, row ? row->span : (Span){ 0, 0 },
		     str_printf(k->a, "%.*s is also %s, which is %s and is not used", STR_ARG(p->name), text, fault));
	}
}

static void add_item(Maker *k, const Target *t, const Emission *e, const Reach *r, uint32_t state)
{
	if (!t->name.n) {
		if (t->lo.v)
			vec_push(k->a, &k->item, (Item){ t->lo, t->hi, e, r, state });
		return;
	}
	bool any = false;

	for (uint32_t i = 0; i < k->r->pins.n; i++) {
		const Pin *p = &k->r->pins.p[i];

		if (!str_eq(p->name, t->name))
			continue;
		any = true;
		vec_push(k->a, &k->item, (Item){ p->addr, p->addr, e, r, state });
	}
	if (!any)
		refuse(k, e ? e->span : r->span, NULL, (Span){ 0, 0 },
		       str_printf(k->a, "%.*s has no address that may be reached", STR_ARG(t->name)),
		       STR("see what the look-up gave, and the policy's reach(...)"));
}

static void add_items(Maker *k)
{
	const Manifest *m = k->in->manifest;

	k->row = arena_new_n(k->a, RowState, m->emit.n + m->decls.reach.n);
	for (uint32_t i = 0; i < m->emit.n; i++) {
		const Emission *e = &m->emit.p[i];
		PortSet *named = e->proto == IPPROTO_TCP ? &k->named_tcp : e->proto == IPPROTO_UDP ? &k->named_udp : NULL;

		add_item(k, &e->peer, e, NULL, i);
		k->named_ether |= e->ether && !e->peer.name.n && !e->peer.lo.v;
		for (uint32_t j = 0; named && j < e->dports.n; j++)
			ports_add(k->a, named, e->dports.p[j].lo, e->dports.p[j].hi);
		if (named && e->dports_all)
			ports_add(k->a, named, 0, 65535);
	}
	for (uint32_t i = 0; i < m->decls.reach.n; i++)
		add_item(k, &m->decls.reach.p[i].target, NULL, &m->decls.reach.p[i], m->emit.n + i);
}

static void note_cut_ports(Maker *k)
{
	static const char *const names[2] = { "TCP", "UDP" };
	const PortBits *bits[2] = { k->cut_tcp, k->cut_udp };

	for (int i = 0; i < 2; i++) {
		PortSet s = portbits_set(bits[i], k->a);
		Sb text = sb(k->a);

		if (!s.n)
			continue;
		sb_printf(&text, "%s ports that need a word or a name of their own are left out: ", names[i]);
		ports_text(&s, &text);
		note(k, (Span){ 0, 0 }, NULL, (Span){ 0, 0 }, sb_done(&text));
	}
}

void make_reach(Maker *k)
{
	k->policy = arena_new_n(k->a, Grant, k->in->npolicies);
	k->manifest = arena_new(k->a, Grant);
	k->tcp = arena_new(k->a, PortBits);
	k->udp = arena_new(k->a, PortBits);
	k->tmp = arena_new(k->a, PortBits);
	k->cut_tcp = arena_new(k->a, PortBits);
	k->cut_udp = arena_new(k->a, PortBits);
	find_directed(k);
	take_pins(k);
	add_items(k);
	cut_everything(k);
	judge_sources(k);
	make_family(k, 4);
	make_family(k, 6);
	judge_rows(k);
	note_cut_ports(k);
}
