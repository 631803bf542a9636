/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/test_lab.h"

#include "base/units.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

Ip lab_ip(const char *z)
{
	Ip ip = { 0 };

	if (!ip_parse(str_c(z), &ip)) {
		fprintf(stderr, "no address: %s\n", z);
		abort();
	}
	return ip;
}

Mac lab_mac(const char *z)
{
	Mac m;

	if (!mac_parse(str_c(z), &m))
		abort();
	return m;
}

/* ---- declarations ---- */

static Str next_token(Str *s)
{
	size_t from = 0, to;

	while (from < s->n && s->p[from] == ' ')
		from++;
	for (to = from; to < s->n && s->p[to] != ' '; to++)
		;
	Str t = { s->p + from, to - from };

	*s = (Str){ s->p + to, s->n - to };
	return t;
}

static bool take(Str *s, const char *prefix)
{
	Str p = str_c(prefix);

	if (!str_starts(*s, p))
		return false;
	*s = (Str){ s->p + p.n, s->n - p.n };
	return true;
}

static uint64_t number(Str s)
{
	uint64_t v = 0;

	if (!str_to_u64(s, UINT64_MAX, &v)) {
		fprintf(stderr, "no number: %.*s\n", STR_ARG(s));
		abort();
	}
	return v;
}

static Target target(Str s)
{
	Target t = { 0 };
	Net n;
	const char *dash = memchr(s.p, '-', s.n);

	if (str_is(s, "?"))
		return t;
	if (dash && ip_parse((Str){ s.p, (size_t)(dash - s.p) }, &t.lo) &&
	    ip_parse((Str){ dash + 1, s.n - (size_t)(dash - s.p) - 1 }, &t.hi))
		return t;
	t = (Target){ 0 };
	if (net_parse(s, &n))
		net_range(n, &t.lo, &t.hi);
	else
		t.name = s;
	return t;
}

static void ports(Arena *a, PortSet *set, Str s)
{
	while (s.n) {
		const char *comma = memchr(s.p, ',', s.n);
		Str one = { s.p, comma ? (size_t)(comma - s.p) : s.n };
		const char *dash = memchr(one.p, '-', one.n);
		Str lo = { one.p, dash ? (size_t)(dash - one.p) : one.n };
		Str hi = dash ? (Str){ dash + 1, one.n - lo.n - 1 } : lo;

		ports_add(a, set, (uint16_t)number(lo), (uint16_t)number(hi));
		s = comma ? (Str){ comma + 1, s.n - one.n - 1 } : (Str){ 0 };
	}
}

static uint32_t word(Str s)
{
	for (ReachWord w = 0; w < WORD_N; w++)
		if (str_is(s, word_name(w)))
			return 1u << w;
	fprintf(stderr, "no word: %.*s\n", STR_ARG(s));
	abort();
}

static void reach(Arena *a, Reach *r, Str s)
{
	r->target = target(next_token(&s));
	for (Str t = next_token(&s); t.n; t = next_token(&s)) {
		if (take(&t, "tcp=all"))
			r->all_tcp = true;
		else if (take(&t, "udp=all"))
			r->all_udp = true;
		else if (take(&t, "tcp="))
			ports(a, &r->tcp, t);
		else if (take(&t, "udp="))
			ports(a, &r->udp, t);
		else if (take(&t, "icmp"))
			r->icmp = true;
		else if (take(&t, "other="))
			vec_push(a, &r->other, (uint8_t)number(t));
		else if (take(&t, "vlan="))
			vec_push(a, &r->vlan, (uint16_t)number(t));
		else if (take(&t, "+"))
			r->words |= word(t);
		else
			abort();
	}
	r->alone = !r->all_tcp && !r->all_udp && !r->tcp.n && !r->udp.n && !r->icmp && !r->other.n;
}

static void emit(Arena *a, Emission *e, Str s)
{
	e->peer = target(next_token(&s));
	Str p = next_token(&s);

	e->proto = (uint8_t)(str_is(p, "tcp") ? 6 : str_is(p, "udp") ? 17 : str_is(p, "icmp") ? 1
			     : str_is(p, "icmp6") ? 58 : str_is(p, "arp") ? 0 : number(p));
	for (Str t = next_token(&s); t.n; t = next_token(&s)) {
		if (take(&t, "all"))
			e->dports_all = true;
		else if (take(&t, "sport="))
			ports(a, &e->sports, t);
		else if (take(&t, "src=")) {
			Target src = target(t);

			e->src_set = true;
			e->src_lo = src.lo;
			e->src_hi = src.hi;
		} else if (take(&t, "ether"))
			e->ether = true;
		else if (take(&t, "+"))
			e->words |= word(t);
		else
			ports(a, &e->dports, t);
	}
}

static void budget(Budget *b, Str s, Span span)
{
	for (Str t = next_token(&s); t.n; t = next_token(&s))
		for (Bound i = 0; i < BOUND_N; i++) {
			Str rest = t;

			if (take(&rest, bound_name(i)) && take(&rest, "=")) {
				b->v[i] = (int64_t)number(rest) * (i == BOUND_TIME ? NS_PER_S : 1);
				b->declared |= 1u << i;
				b->span[i] = span;
			}
		}
}

static void spoof(Arena *a, Decls *d, Str s, Span span)
{
	SpoofDecl sp = { .span = span };
	Str who = next_token(&s);

	sp.is_mac = mac_parse(who, &sp.mac);
	if (!sp.is_mac) {
		Target t = target(who);

		sp.lo = t.lo;
		sp.hi = t.hi;
	}
	for (Str t = next_token(&s); t.n; t = next_token(&s)) {
		if (take(&t, "rate="))
			sp.rate = (int64_t)number(t);
		else if (take(&t, "max="))
			sp.max = (int64_t)number(t);
	}
	vec_push(a, &d->spoof, sp);
}

static void approve(Arena *a, Decls *d, Str s)
{
	for (Str t = next_token(&s); t.n; t = next_token(&s)) {
		d->approve |= str_is(t, "spoof") ? APPROVE_SPOOF : str_is(t, "capture") ? APPROVE_CAPTURE
			      : str_is(t, "listen") ? APPROVE_LISTEN : 0u;
		if (take(&t, "leak="))
			d->approve_leak = (int64_t)number(t);
		else if (take(&t, "reach="))
			vec_push(a, &d->approve_reach, target(t));
	}
}

static void statement(Arena *a, Decls *d, Manifest *m, Str s, Span span)
{
	Str what = next_token(&s);

	if (str_is(what, "reach") || str_is(what, "deny")) {
		Reach r = { .span = span };

		reach(a, &r, s);
		if (str_is(what, "reach"))
			vec_push(a, &d->reach, r);
		else
			vec_push(a, &d->deny, *(__typeof__(d->deny.p))&r);
	} else if (str_is(what, "emit")) {
		Emission e = { .span = span };

		emit(a, &e, s);
		vec_push(a, &m->emit, e);
	} else if (str_is(what, "budget")) {
		budget(&d->budget, s, span);
	} else if (str_is(what, "spoof")) {
		spoof(a, d, s, span);
	} else if (str_is(what, "listen")) {
		uint16_t port = (uint16_t)number(next_token(&s));

		vec_push(a, &d->listen, (ListenDecl){ port, target(next_token(&s)), span });
	} else if (str_is(what, "capture")) {
		Str t = next_token(&s);
		bool all = str_is(t, "all");

		vec_push(a, &d->capture, (CaptureDecl){ all, all ? (Str){ 0 } : t, span });
	} else if (str_is(what, "zone")) {
		Str t = next_token(&s);

		d->zone_set = true;
		if (str_is(t, "all"))
			d->zone_all = true;
		else if (t.n)
			vec_push(a, &d->zones, t);
	} else if (str_is(what, "resolver")) {
		vec_push(a, &d->resolvers, target(next_token(&s)).lo);
	} else if (str_is(what, "allow_self")) {
		vec_push(a, &d->allow_self, target(next_token(&s)));
	} else if (str_is(what, "approve")) {
		approve(a, d, s);
	} else if (str_is(what, "worst")) {
		m->worst.packets = number(next_token(&s));
	} else if (str_is(what, "name")) {
		vec_push(a, &m->names, next_token(&s));
	} else if (str_is(what, "reflect")) {
		ReflectDecl r = { .field = next_token(&s), .span = span };

		r.src = target(next_token(&s));
		r.dst = target(next_token(&s));
		r.max = (int64_t)number(next_token(&s));
		vec_push(a, &d->reflect, r);
	} else if (what.n) {
		fprintf(stderr, "no statement: %.*s\n", STR_ARG(what));
		abort();
	}
}

static void declare(Arena *a, Decls *d, Manifest *m, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ";");
		uint32_t from = (uint32_t)(p - text) + 1;

		statement(a, d, m, (Str){ p, n }, (Span){ from, from + (uint32_t)n });
		p += n + (p[n] == ';');
	}
}

/* ---- the lab ---- */

static void own(Lab *l, const char *ip, uint8_t bits)
{
	l->own[l->in.nown++] = (OwnAddr){ lab_ip(ip), bits };
}

void lab_init(Lab *l, void *mem, size_t size)
{
	memset(l, 0, sizeof *l);
	arena_init(&l->a, mem, size, NULL);
	l->f.a = &l->a;
	own(l, "10.0.0.1", 24);
	own(l, "fd00:1::1", 64);
	own(l, "fe80::1", 64);
	own(l, "192.168.5.1", 24);
	own(l, "127.0.0.1", 8);
	own(l, "::1", 128);
	l->in.policies = l->policy;
	l->in.manifest = &l->m;
	l->in.pins = l->pins;
	l->in.own = l->own;
	l->in.zone_default_all = true;
	l->m.worst.packets = UINT64_MAX;
	l->link = (GateLink){ .index = 2, .mtu = 1500, .ether = true, .mac = lab_mac("02:00:00:00:00:01"),
			      .own = l->own, .nown = 3 };
	l->other = (GateLink){ .index = 3, .mtu = 1500, .ether = true, .mac = lab_mac("02:00:00:00:00:03"),
			       .own = l->own + 3, .nown = 1 };
}

void lab_program(Lab *l, const char *text)
{
	declare(&l->a, &l->m.decls, &l->m, str_printf(&l->a, "%s", text).p);
}

void lab_policy(Lab *l, const char *file, const char *text)
{
	Policy *p = &l->policy[l->in.npolicies];
	Manifest none = { 0 };

	p->floor = l->in.npolicies++ == 0;
	p->file = str_c(file);
	p->text = str_printf(&l->a, " %s", text);
	declare(&l->a, &p->decls, &none, p->text.p + 1);
}

void lab_builtin(Lab *l)
{
	policy_builtin(&l->policy[l->in.npolicies++]);
}

void lab_pin(Lab *l, const char *name, const char *ip)
{
	l->pins[l->in.npins++] = (Pin){ str_c(name), lab_ip(ip) };
}

bool lab_make(Lab *l)
{
	l->r = rules_make(&l->in, &l->f);
	return l->r != NULL;
}

void lab_start(Lab *l)
{
	Scene s = lab_scene();
	Ip us[] = { s.us4, s.us6 };

	owned_init(&l->owned, &l->a, 256);
	for (int i = 0; i < 2; i++) {
		owned_add(&l->owned, 6, us[i], s.sport);
		owned_add(&l->owned, 17, us[i], s.sport);
		owned_add(&l->owned, i ? 58 : 1, us[i], s.id);
	}
	owned_add(&l->owned, 17, lab_ip("0.0.0.0"), 68);
	owned_add(&l->owned, 17, lab_ip("127.0.0.1"), s.sport);
	flows_init(&l->flows, &l->a, l->r, &l->owned, 12345, 2000);
	frame_check_init(&l->fc, &l->a, l->r, &l->owned, &l->flows);
}

bool lab_with(Lab *l, void *mem, size_t size, const char *lift)
{
	char words[256] = "", more[1024] = "", text[4096], copy[512];

	snprintf(copy, sizeof copy, "%s", lift ? lift : "");
	for (char *at = copy, *t; (t = strtok_r(at, " ", &at));) {
		size_t n = strlen(more);

		if (t[0] == '+')
			snprintf(words + strlen(words), sizeof words - strlen(words), " %s", t);
		else if (strncmp(t, "spoof=", 6) == 0)
			snprintf(more + n, sizeof more - n, ";spoof %s rate=100 max=20000", t + 6);
		else if (strncmp(t, "allow_self=", 11) == 0)
			snprintf(more + n, sizeof more - n, ";allow_self %s", t + 11);
		else
			snprintf(more + n, sizeof more - n, ";reach 0.0.0.0/0 %s;reach ::/0 %s", t, t);
	}
	snprintf(text, sizeof text,
		 "reach 0.0.0.0/0%s;reach ::/0%s;deny 203.0.113.0/24;deny 2001:db8:bad::/48;zone acme.corp%s", words, words,
		 more);
	lab_init(l, mem, size);
	lab_policy(l, "sys", text);
	lab_program(l, text);
	lab_program(l, "emit ? tcp 80;emit ? udp 9,53;emit ? icmp;emit ? udp ether;budget packets=1000 ");
	if (!lab_make(l))
		return false;
	lab_start(l);
	return true;
}

const char *lab_text(Lab *l)
{
	Sb b = sb(&l->a);

	for (uint32_t i = 0; i < l->f.v.n; i++)
		finding_text(&l->f.v.p[i], STR("prog"), (Str){ 0 }, &b);
	return sb_done(&b).p;
}

/* ---- frames ---- */

Scene lab_scene(void)
{
	return (Scene){ .mac = lab_mac("02:00:00:00:00:01"), .hop = lab_mac("02:00:00:00:00:02"),
			.us4 = lab_ip("10.0.0.1"), .peer4 = lab_ip("10.0.0.2"), .us6 = lab_ip("fd00:1::1"),
			.peer6 = lab_ip("fd00:1::2"), .sport = 61000, .id = 0x5678, .tcp = 80, .udp = 9 };
}

Spec spec_udp(const Scene *s)
{
	return (Spec){ .src = s->us4, .dst = s->peer4, .proto = 17, .sport = s->sport, .dport = s->udp,
		       .data = BYTES("hello", 5) };
}

Spec spec_tcp(const Scene *s)
{
	return (Spec){ .src = s->us4, .dst = s->peer4, .proto = 6, .sport = s->sport, .dport = s->tcp, .flags = 2 };
}

Spec spec_icmp(const Scene *s)
{
	return (Spec){ .src = s->us4, .dst = s->peer4, .proto = 1, .type = 8, .sport = s->id, .data = BYTES("ping", 4) };
}

Spec spec_udp6(const Scene *s)
{
	Spec u = spec_udp(s);

	u.src = s->us6;
	u.dst = s->peer6;
	return u;
}

Spec spec_icmp6(const Scene *s)
{
	Spec u = spec_udp6(s);

	u.proto = 58;
	u.type = 128;
	u.sport = s->id;
	return u;
}

Spec spec_ether(Spec s, const Scene *sc)
{
	s.ether = true;
	s.edst = sc->hop;
	s.esrc = sc->mac;
	return s;
}

/* who-has peer4, to all */
Spec spec_arp(const Scene *s, uint8_t *store)
{
	Spec u = spec_ether((Spec){ .etype = 0x0806 }, s);
	Writer w = writer(store, 28);

	memset(u.edst.b, 0xff, 6);
	wr_bytes(&w, BYTES("\0\1\10\0\6\4\0\1", 8));
	wr_bytes(&w, BYTES(s->mac.b, 6));
	wr_bytes(&w, BYTES(s->us4.b, 4));
	wr_zeros(&w, 6);
	wr_bytes(&w, BYTES(s->peer4.b, 4));
	u.arp = wr_done(&w);
	return u;
}

/* NS for peer6 with our MAC, to its solicited-node address */
Spec spec_ns(const Scene *s, uint8_t *store)
{
	Spec u = spec_icmp6(s);
	Writer w = writer(store, 32);

	u.dst = lab_ip("ff02::1:ff00:0");
	memcpy(u.dst.b + 13, s->peer6.b + 13, 3);
	wr_bytes(&w, BYTES("\207\0\0\0\0\0\0\0", 8));
	wr_bytes(&w, BYTES(s->peer6.b, 16));
	wr_bytes(&w, BYTES("\1\1", 2));
	wr_bytes(&w, BYTES(s->mac.b, 6));
	u.raw = wr_done(&w);
	return u;
}

static void build_transport(const Spec *s, Writer *w)
{
	if (s->raw.n) {
		wr_bytes(w, s->raw);
		return;
	}
	switch (s->proto) {
	case 17:
		wr_be16(w, s->sport);
		wr_be16(w, s->dport);
		wr_be16(w, (uint16_t)(8 + (int)s->data.n + s->udp_add));
		wr_be16(w, 0);
		break;
	case 6:
		wr_be16(w, s->sport);
		wr_be16(w, s->dport);
		wr_be32(w, 1);
		wr_be32(w, 0);
		wr_u8(w, (uint8_t)((5 + s->doff_add) << 4));
		wr_u8(w, s->flags);
		wr_zeros(w, 6);
		break;
	case 1:
	case 58:
		wr_u8(w, s->type);
		wr_u8(w, s->code);
		wr_be16(w, 0);
		wr_be16(w, s->sport);
		wr_be16(w, 1);
		break;
	}
	wr_bytes(w, s->data);
}

static void build_ip4(const Spec *s, Bytes body, Writer *w)
{
	size_t head = 20 + s->options.n;
	uint8_t h[20] = { 0 };

	h[0] = (uint8_t)((s->version ? s->version : 4) << 4 | ((int)(head / 4) + s->ihl_add));
	put_be16(h + 2, (uint16_t)((int)(head + body.n) + s->total_add));
	put_be16(h + 4, s->id);
	put_be16(h + 6, s->frag);
	h[8] = 64;
	h[9] = s->proto;
	memcpy(h + 12, s->src.b, 4);
	memcpy(h + 16, s->dst.b, 4);
	wr_bytes(w, BYTES(h, 20));
	wr_bytes(w, s->options);
	wr_bytes(w, body);
}

static void build_ip6(const Spec *s, Bytes body, Writer *w)
{
	wr_be32(w, (uint32_t)(s->version ? s->version : 6) << 28);
	wr_be16(w, (uint16_t)((int)(s->exts.n + body.n) + s->total_add));
	wr_u8(w, s->exts.n ? s->ext : s->proto);
	wr_u8(w, 64);
	wr_bytes(w, BYTES(s->src.b, 16));
	wr_bytes(w, BYTES(s->dst.b, 16));
	wr_bytes(w, s->exts);
	wr_bytes(w, body);
}

void spec_build(const Spec *s, Writer *w)
{
	uint8_t store[LAB_FRAME];
	Writer body = writer(store, sizeof store);

	if (s->ether) {
		wr_bytes(w, BYTES(s->edst.b, 6));
		wr_bytes(w, BYTES(s->esrc.b, 6));
		for (unsigned i = 0; i < s->ntags; i++) {
			wr_be16(w, 0x8100);
			wr_be16(w, s->tag[i]);
		}
		wr_be16(w, s->etype ? s->etype : s->src.v == 4 ? 0x0800 : 0x86dd);
	}
	build_transport(s, &body);
	if (s->arp.n)
		wr_bytes(w, s->arp);
	else if (s->src.v == 4)
		build_ip4(s, wr_done(&body), w);
	else
		build_ip6(s, wr_done(&body), w);
	wr_zeros(w, s->pad);
	wr_bytes(w, s->trail);
}
