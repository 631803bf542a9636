/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/rules.h"

#include "base/escape.h"
#include "base/limits.h"
#include "gate/rules_inside.h"

static const Span nowhere = { 0, 0 };

/* ---- findings ---- */

void find(Findings *f, Finding what)
{
	f->persons += what.person;
	f->refused += what.refused;
	if (f->v.n < LIMIT_DIAGS)
		vec_push(f->a, &f->v, what);
}

void refuse(Maker *k, Span span, const Policy *p, Span at, Str message, Str help)
{
	find(k->f, (Finding){ .refused = true, .span = span, .message = message, .policy = p, .at = at, .help = help });
}

void note(Maker *k, Span span, const Policy *p, Span at, Str message)
{
	find(k->f, (Finding){ .span = span, .message = message, .policy = p, .at = at });
}

static bool is_somewhere(Span s)
{
	return s.from || s.to;
}

static void put_place(Sb *out, Str name, Str text, Span span)
{
	escape_line(out, name);
	if (is_somewhere(span) && text.n)
		sb_printf(out, ":%u", line_col(text, span.from).line);
}

void finding_text(const Finding *f, Str program_name, Str program, Sb *out)
{
	put_place(out, program_name, program, f->span);
	sb_cstr(out, f->person ? ": needs approval: " : f->refused ? ": refused: " : ": note: ");
	escape_line(out, f->message);
	if (f->policy) {
		sb_cstr(out, " (");
		put_place(out, f->policy->file, f->policy->text, f->at);
		sb_char(out, ')');
	}
	if (f->help.n) {
		sb_cstr(out, "; ");
		escape_line(out, f->help);
	}
	sb_char(out, '\n');
}

/* ---- zones and names ---- */

/* Where names are not looked up unless a policy says zone(), only the floor's word opens
 * them: any other policy, the caller's own among them, narrows. */
static bool zones_open(const RulesInput *in)
{
	return in->zone_default_all || (in->npolicies && in->policies[0].floor && in->policies[0].decls.zone_set);
}

static bool set_zones(const RulesInput *in, Arena *a, const Zones **ret_zones, uint32_t *ret_n)
{
	Zones *z = arena_new_n(a, Zones, in->npolicies + 1);
	uint32_t n = 0;
	bool all = true;

	for (uint32_t i = 0; i < in->npolicies; i++) {
		const Decls *d = &in->policies[i].decls;

		if (!d->zone_set)
			continue;
		z[n].all = d->zone_all;
		z[n].v.p = d->zones.p;
		z[n].v.n = d->zones.n;
		all &= z[n++].all;
	}
	if (n == 0 || !zones_open(in)) {
		all &= zones_open(in);
		z[n++].all = all;
	}
	*ret_zones = z;
	*ret_n = n;
	return all;
}

static const Policy *zone_fault(const RulesInput *in, Str name)
{
	for (uint32_t i = 0; i < in->npolicies; i++) {
		const Decls *d = &in->policies[i].decls;
		Zones z = { .all = d->zone_all };

		z.v.p = d->zones.p;
		z.v.n = d->zones.n;
		if (d->zone_set && !zones_have(&z, name))
			return &in->policies[i];
	}
	return NULL;
}

/* Where the program says the name, for the message. */
static Span name_span(const Manifest *m, Str name)
{
	for (uint32_t i = 0; i < m->emit.n; i++)
		if (str_eq(m->emit.p[i].peer.name, name))
			return m->emit.p[i].span;
	for (uint32_t i = 0; i < m->decls.reach.n; i++)
		if (str_eq(m->decls.reach.p[i].target.name, name))
			return m->decls.reach.p[i].span;
	return nowhere;
}

static void check_name(const RulesInput *in, Findings *f, Str name)
{
	const char *fault = host_name_fault(name);
	const Policy *by = zone_fault(in, name);
	Finding what = { .refused = true, .span = name_span(in->manifest, name), .policy = by };
	Str unicode;

	if (fault) {
		what.message = str_printf(f->a, "\"%.*s\" is no host name: %s", STR_ARG(name), fault);
		what.policy = NULL;
		find(f, what);
	} else if (by || !zones_open(in)) {
		what.message = str_printf(f->a, "%.*s lies outside the zones whose names may be looked up", STR_ARG(name));
		what.help = STR("use its address, or let the policy say zone(\"...\")");
		find(f, what);
	} else if (host_name_unicode(name, f->a, &unicode)) {
		what.refused = false;
		what.policy = NULL;
		what.message = str_printf(f->a, "%.*s reads as %.*s", STR_ARG(name), STR_ARG(unicode));
		find(f, what);
	}
}

/* A name that is told to a peer and not looked up: _sip._tcp.acme.corp is one too. */
static void check_said(const RulesInput *in, Findings *f, Str name)
{
	const Policy *by = zone_fault(in, name);

	if (!by && zones_open(in))
		return;
	find(f, (Finding){ .refused = true,
			   .span = name_span(in->manifest, name),
			   .policy = by,
			   .message = str_printf(f->a, "%.*s lies outside the zones whose names may be told to a peer",
						 STR_ARG(name)),
			   .help = STR("let the policy say zone(\"...\")") });
}

bool rules_check_names(const RulesInput *in, Findings *f)
{
	uint32_t before = f->refused;
	const Manifest *m = in->manifest;

	for (uint32_t i = 0; i < m->names.n; i++)
		check_name(in, f, m->names.p[i]);
	for (uint32_t i = 0; i < m->says.n; i++)
		check_said(in, f, m->says.p[i]);
	return f->refused == before;
}

/* Names that stand where only an address, or only a name to be looked up, may stand. */
static void check_targets(Maker *k)
{
	const Manifest *m = k->in->manifest;

	for (uint32_t i = 0; i < m->decls.deny.n; i++)
		if (m->decls.deny.p[i].target.name.n)
			refuse(k, m->decls.deny.p[i].span, NULL, nowhere, STR("deny() needs addresses, not a name"), (Str){ 0 });
}

/* ---- making ---- */

static void set_resolvers(Maker *k)
{
	uint32_t n;
	const Ip *named = policy_resolvers(k->in->policies, k->in->npolicies, &n);

	for (uint32_t i = 0; i < n; i++)
		vec_push(k->a, &k->r->resolvers, named[i]);
}

Rules *rules_make(const RulesInput *in, Findings *f)
{
	Rules *r = arena_new(f->a, Rules);
	Maker k = { .in = in, .a = f->a, .f = f, .r = r };

	r->own = in->own;
	r->nown = in->nown;
	r->own_words = arena_new_n(f->a, uint32_t, in->nown);
	r->zones_all = set_zones(in, f->a, &r->zones, &r->nzones);
	for (uint32_t i = 0; i < in->npolicies; i++)
		r->output_measurements |= in->policies[i].decls.output_measurements;
	r->insecure_dev = in->npolicies && in->policies[0].floor && in->policies[0].decls.insecure_dev;
	set_resolvers(&k);
	check_targets(&k);
	make_budget(&k);
	make_spoof(&k);
	make_capture(&k);
	make_listen(&k);
	check_reflect(&k);
	make_reach(&k);
	check_approve(&k);
	return f->refused ? NULL : r;
}

/* ---- asking ---- */

static const Rights *find4(const Rules *r, uint32_t ip)
{
	uint32_t lo = 0, hi = r->seg4.n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (r->seg4.p[mid].hi < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->seg4.n && r->seg4.p[lo].lo <= ip ? r->seg4.p[lo].rights : NULL;
}

static const Rights *find6(const Rules *r, const uint8_t *b)
{
	IpNum ip = ip_num(ip_from(6, b));
	uint32_t lo = 0, hi = r->seg6.n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (r->seg6.p[mid].hi < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->seg6.n && r->seg6.p[lo].lo <= ip ? r->seg6.p[lo].rights : NULL;
}

const Rights *rules_peer(const Rules *r, Ip ip)
{
	return ip.v == 4 ? find4(r, ip4_num(ip)) : ip.v == 6 ? find6(r, ip.b) : NULL;
}

bool rules_own(const Rules *r, Ip ip)
{
	for (uint32_t i = 0; i < r->nown; i++)
		if (ip_eq(r->own[i].ip, ip))
			return true;
	return false;
}

bool rules_own_word(const Rules *r, Ip ip, ReachWord w)
{
	for (uint32_t i = 0; i < r->nown; i++)
		if (ip_eq(r->own[i].ip, ip))
			return r->own_words[i] >> w & 1;
	return false;
}

int rules_spoof_ip(const Rules *r, Ip ip)
{
	for (uint32_t i = 0; i < r->spoof.n; i++)
		if (!r->spoof.p[i].is_mac && ip_within(ip, r->spoof.p[i].lo, r->spoof.p[i].hi))
			return (int)i;
	return -1;
}

int rules_spoof_mac(const Rules *r, Mac m)
{
	for (uint32_t i = 0; i < r->spoof.n; i++)
		if (r->spoof.p[i].is_mac && memcmp(r->spoof.p[i].mac.b, m.b, sizeof m.b) == 0)
			return (int)i;
	return -1;
}

/* Never in reach, and so nobody who may call: ourselves, groups, who is denied or never reached. */
static bool may_call(const Rules *r, Ip peer)
{
	for (uint32_t i = 0; i < r->no_call.n; i++)
		if (ip_within(peer, r->no_call.p[i].lo, r->no_call.p[i].hi))
			return false;
	return !rules_own(r, peer) && ip_class(peer) == IP_CLASS_UNICAST;
}

bool rules_listens(const Rules *r, uint16_t port, Ip peer)
{
	for (uint32_t i = 0; i < r->listen.n; i++)
		if (r->listen.p[i].port == port && ip_within(peer, r->listen.p[i].lo, r->listen.p[i].hi))
			return may_call(r, peer);
	return false;
}

bool rules_name_wire(const Rules *r, Bytes wire)
{
	for (uint32_t i = 0; i < r->nzones; i++)
		if (!zones_have_wire(&r->zones[i], wire))
			return false;
	return true;
}

const char *rules_claim_fault(const Rules *r, uint8_t proto, uint16_t port)
{
	if (proto == 1 || proto == 58) /* an ICMP id */
		return NULL;
	if (port == 0)
		return "port 0 can't be held";
	if (port >= 1024)
		return NULL;
	for (uint32_t i = 0; i < r->listen.n; i++)
		if (r->listen.p[i].port == port)
			return NULL;
	return "ports below 1024 are ours only where the policy says listen()";
}

const char *rules_why_not(const Rules *r, Ip ip)
{
	size_t n;
	const NeverRow *never = never_rows(&n);
	IpClass c = ip_class(ip);

	for (size_t i = 0; i < n; i++) {
		Net net;

		if (net_parse(str_c(never[i].net), &net) && net_has(net, ip))
			return never[i].what;
	}
	if (rules_own(r, ip))
		return "an address of this host";
	if (c != IP_CLASS_UNICAST)
		return ip_class_name(c);
	for (uint32_t i = 0; i < r->nown; i++) {
		Ip first, last;

		net_range((Net){ r->own[i].ip, r->own[i].bits }, &first, &last);
		if (ip.v == 4 && r->own[i].bits < 31 && (ip_eq(first, ip) || ip_eq(last, ip)))
			return "the broadcast address of a net of this host";
	}
	return "outside what manifest and policy allow";
}
