/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/compartments.h"

#include "gate/rules_inside.h"

enum { RECORD_SHOWN = 1, RECORD_HAD = 2, RECORD_FACT = 3, RECORD_BOUNDS = 4 };
enum { HAD_ICMP = 1, HAD_ETHER = 2, HAD_NTP = 4 };

static const Span nowhere = { 0, 0 };

/* ---- records ---- */

static void put_ports(Writer *w, const PortSet *s)
{
	wr_be16(w, (uint16_t)s->n);
	w->full |= s->n > UINT16_MAX;
	for (uint32_t i = 0; i < s->n && !w->full; i++) {
		wr_be16(w, s->p[i].lo);
		wr_be16(w, s->p[i].hi);
	}
}

static bool get_ports(Cursor *c, Arena *a, PortSet *ret)
{
	uint16_t n = cur_be16(c);

	for (uint16_t i = 0; i < n && !c->bad; i++) {
		PortRange r = { .lo = cur_be16(c) };

		r.hi = cur_be16(c); /* after the other: an initializer has no order */
		if (c->bad || r.lo > r.hi)
			return false;
		vec_push(a, ret, r);
	}
	return !c->bad;
}

static void put_row(Writer *w, Ip lo, Ip hi, const Rights *r)
{
	wr_ip(w, lo);
	wr_ip(w, hi);
	wr_u8(w, (uint8_t)((r->icmp ? HAD_ICMP : 0) | (r->ether ? HAD_ETHER : 0) | (r->ntp_control ? HAD_NTP : 0)));
	wr_be32(w, r->words);
	for (size_t i = 0; i < 4; i++)
		wr_be64(w, r->other[i]);
	put_ports(w, &r->tcp);
	put_ports(w, &r->udp);
	wr_be16(w, (uint16_t)r->nvlan);
	for (uint32_t i = 0; i < r->nvlan; i++)
		wr_be16(w, r->vlan[i]);
}

static bool get_row(Cursor *c, Arena *a, HadRow *row)
{
	uint16_t *vlan;
	uint8_t flags;
	Rights *r = &row->rights;

	*row = (HadRow){ .lo = cur_ip(c) };
	row->hi = cur_ip(c);
	if (c->bad || !row->lo.v || row->lo.v != row->hi.v || ip_cmp(row->lo, row->hi) > 0)
		return false;
	flags = cur_u8(c);
	r->icmp = flags & HAD_ICMP;
	r->ether = flags & HAD_ETHER;
	r->ntp_control = flags & HAD_NTP;
	r->words = cur_be32(c);
	for (size_t i = 0; i < 4; i++)
		r->other[i] = cur_be64(c);
	if (!get_ports(c, a, &r->tcp) || !get_ports(c, a, &r->udp))
		return false;
	r->nvlan = cur_be16(c);
	if (c->bad || cur_left(c) < 2 * (size_t)r->nvlan)
		return false;
	r->vlan = vlan = arena_new_n(a, uint16_t, r->nvlan + 1u);
	for (uint32_t i = 0; i < r->nvlan; i++)
		vlan[i] = cur_be16(c);
	return !c->bad;
}

/* A record's head is its kind and length; the length is set when it is known. */
static size_t begin(Writer *w, uint8_t kind)
{
	wr_u8(w, kind);
	wr_be16(w, 0);
	return w->n;
}

static void end(Writer *w, size_t at)
{
	size_t n = w->n - at;

	w->full |= n > UINT16_MAX;
	if (w->full)
		return;
	w->p[at - 2] = (uint8_t)(n >> 8);
	w->p[at - 1] = (uint8_t)n;
}

static void shown_any(Session *s)
{
	static const char *const all[] = { "0.0.0.0", "255.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" };

	for (size_t i = 0; i < 4; i += 2) {
		ShownRow row = { 0 };

		if (ip_parse(str_c(all[i]), &row.lo) && ip_parse(str_c(all[i + 1]), &row.hi))
			vec_push(s->a, &s->shown, row);
	}
}

static bool take_shown(Session *s, Bytes b)
{
	Cursor c = cursor(b);
	Whence w;
	bool bad;

	while (whence_next(&c, &w, &bad)) {
		if (w.kind == WHENCE_ANY || !w.lo.v)
			shown_any(s);
		else
			vec_push(s->a, &s->shown, (ShownRow){ w.lo, w.hi, w.name });
	}
	return !bad;
}

/* 0 is none, but of leak. */
static int64_t bound_of(const Rules *r, Bound b)
{
	return r->budget.v[b] || b == BOUND_LEAK ? r->budget.v[b] : INT64_MAX;
}

static bool take_bounds(Session *s, Cursor *c)
{
	for (int i = 0; i < BOUND_N; i++) {
		int64_t v = (int64_t)cur_be64(c);

		s->bound[i] = v > s->bound[i] ? v : s->bound[i];
	}
	return !c->bad && !cur_left(c);
}

static bool take_record(Session *s, uint8_t kind, Bytes b)
{
	Cursor c = cursor(b);
	HadRow row;

	switch (kind) {
	case RECORD_SHOWN:
		return take_shown(s, b);
	case RECORD_HAD:
		if (!get_row(&c, s->a, &row) || cur_left(&c))
			return false;
		vec_push(s->a, &s->had, row);
		return true;
	case RECORD_FACT:
		vec_push(s->a, &s->facts, bytes_str(b));
		return true;
	case RECORD_BOUNDS:
		return take_bounds(s, &c);
	default:
		return false;
	}
}

bool session_read(Bytes records, Arena *a, Session *ret_s)
{
	Cursor c = cursor(records);

	*ret_s = (Session){ .a = a };
	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c);
		Bytes b = cur_bytes(&c, cur_be16(&c));

		if (c.bad || !take_record(ret_s, kind, b))
			return false;
	}
	return true;
}

bool session_shown(Writer *w, Bytes whence)
{
	size_t at = begin(w, RECORD_SHOWN);

	wr_bytes(w, whence);
	end(w, at);
	return !w->full;
}

/* ---- what a run has beside peers ---- */

typedef VEC(Str) Facts;

static Str range_str(Arena *a, Ip lo, Ip hi)
{
	Sb b = sb(a);

	target_text(&(Target){ .lo = lo, .hi = hi }, &b);
	return sb_done(&b);
}

static void spoof_facts(const Rules *r, Arena *a, Facts *out)
{
	for (uint32_t i = 0; i < r->spoof.n; i++) {
		const SpoofRule *s = &r->spoof.p[i];
		char mac[MAC_TEXT];

		mac_format(s->mac, mac);
		vec_push(a, out, s->is_mac ? str_printf(a, "spoof %s", mac) : str_printf(a, "spoof %.*s", STR_ARG(range_str(a, s->lo, s->hi))));
	}
}

static void facts_of(const Rules *r, const Manifest *m, Arena *a, Facts *out)
{
	spoof_facts(r, a, out);
	for (uint32_t i = 0; i < r->listen.n; i++)
		vec_push(a, out, str_printf(a, "listen %u %.*s", r->listen.p[i].port,
					    STR_ARG(range_str(a, r->listen.p[i].lo, r->listen.p[i].hi))));
	if (r->captures)
		vec_push(a, out, str_printf(a, "capture %.*s", STR_ARG(r->capture_filter)));
	for (uint32_t i = 0; i < m->decls.reflect.n; i++) {
		const ReflectDecl *x = &m->decls.reflect.p[i];
		Sb b = sb(a);

		sb_printf(&b, "reflect %lld %.*s ", (long long)x->max, STR_ARG(x->field));
		target_text(&x->src, &b);
		sb_char(&b, ' ');
		target_text(&x->dst, &b);
		vec_push(a, out, sb_done(&b));
	}
}

static Str name_fact(Arena *a, Str name)
{
	return str_printf(a, "name %.*s", STR_ARG(name));
}

static bool has_fact(const Session *s, Str fact)
{
	for (uint32_t i = 0; i < s->facts.n; i++)
		if (str_eq(s->facts.p[i], fact))
			return true;
	return false;
}

static void put_fact(Writer *w, Str fact)
{
	size_t at = begin(w, RECORD_FACT);

	wr_bytes(w, str_bytes(fact));
	end(w, at);
}

static void put_had(Writer *w, Ip lo, Ip hi, const Rights *r)
{
	size_t at = begin(w, RECORD_HAD);

	put_row(w, lo, hi, r);
	end(w, at);
}

static Ip ip6_of(IpNum n)
{
	return ip_of_num(6, n);
}

bool session_had(Writer *w, const Rules *r, const Manifest *m, Arena *a)
{
	Facts facts = { 0 };
	size_t at;

	for (uint32_t i = 0; i < r->seg4.n; i++)
		put_had(w, ip_of_num(4, r->seg4.p[i].lo), ip_of_num(4, r->seg4.p[i].hi), r->seg4.p[i].rights);
	for (uint32_t i = 0; i < r->seg6.n; i++)
		put_had(w, ip6_of(r->seg6.p[i].lo), ip6_of(r->seg6.p[i].hi), r->seg6.p[i].rights);
	facts_of(r, m, a, &facts);
	for (uint32_t i = 0; i < m->names.n; i++)
		vec_push(a, &facts, name_fact(a, m->names.p[i]));
	for (uint32_t i = 0; i < facts.n; i++)
		put_fact(w, facts.p[i]);
	at = begin(w, RECORD_BOUNDS);
	for (int i = 0; i < BOUND_N; i++)
		wr_be64(w, (uint64_t)bound_of(r, (Bound)i));
	end(w, at);
	return !w->full;
}

/* ---- compartments ---- */

static bool rows_cover(const Decls *d, const ShownRow *from, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i + 1 < d->may_follow.n; i += 2)
		if (target_covers(&d->may_follow.p[i], from->lo, from->hi) && target_covers(&d->may_follow.p[i + 1], lo, hi))
			return true;
	return false;
}

/* The root-owned policy gives it; whoever else speaks of it must say it too. */
static bool follows(const RulesInput *in, const ShownRow *from, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < in->npolicies; i++) {
		const Policy *p = &in->policies[i];

		if ((p->floor || p->decls.may_follow.n) && !rows_cover(&p->decls, from, lo, hi))
			return false;
	}
	return in->npolicies && in->policies[0].floor;
}

static bool same_compartment(const Session *s, const ShownRow *from, Ip lo, Ip hi)
{
	if (ip_eq(from->lo, from->hi) && ip_eq(lo, from->lo) && ip_eq(hi, from->lo))
		return true;
	for (uint32_t i = 0; from->name.n && i < s->shown.n; i++)
		if (str_eq(s->shown.p[i].name, from->name) && ip_eq(lo, hi) && ip_eq(lo, s->shown.p[i].lo))
			return true;
	return false;
}

/* Whose content keeps a run from these addresses; NULL: nobody's. */
static const ShownRow *kept_by(const Session *s, const RulesInput *in, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < s->shown.n; i++)
		if (!same_compartment(s, &s->shown.p[i], lo, hi) && !follows(in, &s->shown.p[i], lo, hi))
			return &s->shown.p[i];
	return NULL;
}

static bool all_follow(const Session *s, const RulesInput *in, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < s->shown.n; i++)
		if (!follows(in, &s->shown.p[i], lo, hi))
			return false;
	return true;
}

static void find_kept(const RulesInput *in, Findings *f, const ShownRow *by, const char *what, Ip lo, Ip hi)
{
	Str from = range_str(f->a, by->lo, by->hi), to = range_str(f->a, lo, hi);

	find(f, (Finding){ .refused = true,
			   .span = nowhere,
			   .policy = in->npolicies ? in->policies : NULL,
			   .message = str_printf(f->a, "%s%.*s is another compartment than %.*s, whose content this session was shown",
						 what, STR_ARG(to), STR_ARG(from)),
			   .help = str_printf(f->a, "the policy can say may_follow(\"%.*s\", \"%.*s\")", STR_ARG(from), STR_ARG(to)) });
}

void session_check_names(const Session *s, const RulesInput *in, const Ip *resolver, uint32_t n, Findings *f)
{
	const Manifest *m = in->manifest;
	bool fresh = m->uses_resolver;

	for (uint32_t i = 0; i < m->names.n; i++)
		fresh |= !has_fact(s, name_fact(f->a, m->names.p[i]));
	/* a name that the session had before tells nothing of what it was shown since */
	for (uint32_t i = 0; fresh && i < n; i++) {
		const ShownRow *by = kept_by(s, in, resolver[i], resolver[i]);

		if (by) {
			find_kept(in, f, by, "names are looked up at ", resolver[i], resolver[i]);
			return;
		}
	}
}

/* ---- wider than before ---- */

static void rights_join(Rights *all, PortBits ports[2], const Rights *r)
{
	all->icmp |= r->icmp;
	all->ether |= r->ether;
	all->ntp_control |= r->ntp_control;
	all->words |= r->words;
	for (size_t i = 0; i < 4; i++)
		all->other[i] |= r->other[i];
	portbits_add(&ports[0], &r->tcp);
	portbits_add(&ports[1], &r->udp);
}

static bool ports_within(const PortSet *s, const PortBits *in)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t p = s->p[i].lo; p <= s->p[i].hi; p++)
			if (!portbits_has(in, (uint16_t)p))
				return false;
	return true;
}

static bool vlan_had(const Session *s, Ip ip, uint16_t id)
{
	for (uint32_t i = 0; i < s->had.n; i++)
		for (uint32_t k = 0; ip_within(ip, s->had.p[i].lo, s->had.p[i].hi) && k < s->had.p[i].rights.nvlan; k++)
			if (s->had.p[i].rights.vlan[k] == id)
				return true;
	return false;
}

/* Whether r was had at ip; *ret_to: up to where that is the same question. */
static bool had_at(const Session *s, Ip ip, Ip hi, const Rights *r, PortBits ports[2], Ip *ret_to)
{
	Rights all = { 0 };

	portbits_fill(&ports[0], false);
	portbits_fill(&ports[1], false);
	*ret_to = hi;
	for (uint32_t i = 0; i < s->had.n; i++) {
		const HadRow *h = &s->had.p[i];

		if (h->lo.v != ip.v)
			continue;
		if (ip_within(ip, h->lo, h->hi)) {
			rights_join(&all, ports, &h->rights);
			if (ip_cmp(h->hi, *ret_to) < 0)
				*ret_to = h->hi;
		} else if (ip_cmp(h->lo, ip) > 0 && ip_cmp(h->lo, *ret_to) <= 0) {
			*ret_to = ip_of_num(ip.v, ip_num(h->lo) - 1);
		}
	}
	for (uint32_t k = 0; k < r->nvlan; k++)
		if (!vlan_had(s, ip, r->vlan[k]))
			return false;
	for (size_t i = 0; i < 4; i++)
		if (r->other[i] & ~all.other[i])
			return false;
	return !(r->words & ~all.words) && (all.icmp || !r->icmp) && (all.ether || !r->ether) &&
	       (all.ntp_control || !r->ntp_control) && ports_within(&r->tcp, &ports[0]) && ports_within(&r->udp, &ports[1]);
}

static bool is_plain(const Rights *r)
{
	return !r->words && !r->nvlan && !r->ether && !r->ntp_control && !r->other[0] && !r->other[1] && !r->other[2] &&
	       !r->other[3];
}

static void want_person(const RulesInput *in, Findings *f, Str what)
{
	find(f, (Finding){ .refused = !in->approvable,
			   .person = true,
			   .span = nowhere,
			   .message = str_printf(f->a, "after content was shown, more than this session had: %.*s", STR_ARG(what)),
			   .policy = in->policies,
			   .help = STR("a person can approve it: root, by `sonde approve`") });
}

static void check_range(const Session *s, const RulesInput *in, Ip lo, Ip hi, const Rights *r, PortBits ports[2], Findings *f)
{
	const ShownRow *by = kept_by(s, in, lo, hi);

	if (by) {
		find_kept(in, f, by, "", lo, hi);
		return;
	}
	if (is_plain(r) && all_follow(s, in, lo, hi))
		return;
	for (Ip at = lo, to; had_at(s, at, hi, r, ports, &to); at = ip_of_num(at.v, ip_num(to) + 1))
		if (ip_cmp(to, hi) >= 0)
			return;
	want_person(in, f, range_str(f->a, lo, hi));
}

/* What any program has without a word is no more than before, but for leak. */
static void check_bounds(const Session *s, const RulesInput *in, const Rules *r, Findings *f)
{
	for (Bound b = 0; b < BOUND_N; b++) {
		int64_t dflt = bound_default(b), had = b != BOUND_LEAK && dflt > s->bound[b] ? dflt : s->bound[b], v = bound_of(r, b);

		if (!dflt || v <= had) /* 0: a bound of policies alone */
			continue;
		Str more = v == INT64_MAX ? STR("without bound") : bound_text(f->a, b, v);

		want_person(in, f, str_printf(f->a, "%s=%.*s, not %.*s", bound_name(b), STR_ARG(more), STR_ARG(bound_text(f->a, b, had))));
	}
}

void session_check(const Session *s, const RulesInput *in, const Rules *r, Findings *f)
{
	PortBits *ports = arena_new_n(f->a, PortBits, 2);
	Facts facts = { 0 };

	if (!s->shown.n)
		return;
	for (uint32_t i = 0; i < r->seg4.n; i++)
		check_range(s, in, ip_of_num(4, r->seg4.p[i].lo), ip_of_num(4, r->seg4.p[i].hi), r->seg4.p[i].rights, ports, f);
	for (uint32_t i = 0; i < r->seg6.n; i++)
		check_range(s, in, ip6_of(r->seg6.p[i].lo), ip6_of(r->seg6.p[i].hi), r->seg6.p[i].rights, ports, f);
	facts_of(r, in->manifest, f->a, &facts);
	for (uint32_t i = 0; i < facts.n; i++)
		if (!has_fact(s, facts.p[i]))
			want_person(in, f, facts.p[i]);
	check_bounds(s, in, r, f);
}
