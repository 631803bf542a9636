/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that are not about whom a frame goes to: budget, spoof, capture, listen,
 * reflect, and what wants a person's approval.
 */
#include "gate/rules_inside.h"

#include "base/units.h"

static const Span nowhere = { 0, 0 };

bool target_covers(const Target *t, Ip lo, Ip hi)
{
	return !t->name.n && ip_within(lo, t->lo, t->hi) && ip_within(hi, t->lo, t->hi);
}

/* ---- budget ---- */

static bool declares(const Budget *b, Bound i)
{
	return b->declared >> i & 1;
}

Str bound_text(Arena *a, Bound b, int64_t v)
{
	char text[32];

	if (b != BOUND_TIME)
		return str_printf(a, "%lld", (long long)v);
	duration_format(v, text);
	return str_printf(a, "%s", text);
}

/* The lowest ceiling and who sets it; false if there is none.  A ceiling of 0
 * counts only where zero is a value: leak. */
static bool ceiling_of(Maker *k, Bound b, int64_t *ret_v, const Policy **ret_policy)
{
	bool any = false;

	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];
		bool own = declares(&p->decls.budget, b);
		int64_t v = own ? p->decls.budget.v[b] : p->floor ? bound_ceiling(b) : 0;

		if ((!own && v == 0) || (any && v >= *ret_v))
			continue;
		any = true;
		*ret_v = v;
		*ret_policy = p;
	}
	return any;
}

/* language.md 4: a declared rate of small frames is not held by a byte rate that nobody declared. */
static int64_t default_of(const Budget *program, Bound b)
{
	int64_t v = bound_default(b), needed;

	if (b != BOUND_BYTE_RATE || !declares(program, BOUND_RATE))
		return v;
	if (__builtin_mul_overflow(program->v[BOUND_RATE], INT64_C(1514), &needed))
		needed = INT64_MAX;
	return needed > v ? needed : v;
}

/* Rates beyond this are no pace, and would overflow the arithmetic of buckets. */
#define RATE_MOST INT64_C(40000000000)

static bool is_rate(Bound b)
{
	return b == BOUND_RATE || b == BOUND_BYTE_RATE || b == BOUND_SYN_RATE || b == BOUND_PEER_RATE ||
	       b == BOUND_PEER_SYN_RATE;
}

static void make_bound(Maker *k, Bound b)
{
	const Budget *program = &k->in->manifest->decls.budget;
	bool declared = declares(program, b);
	int64_t v = declared ? program->v[b] : default_of(program, b), most = 0;
	const Policy *p = NULL;

	if (ceiling_of(k, b, &most, &p) && (v > most || (v == 0 && b != BOUND_LEAK))) {
		Str is = bound_text(k->a, b, v), may = bound_text(k->a, b, most);

		if (declared)
			refuse(k, program->span[b], p, p->decls.budget.span[b],
			       str_printf(k->a, "budget(%s=%.*s) is above the ceiling of %.*s", bound_name(b), STR_ARG(is),
					  STR_ARG(may)),
			       str_printf(k->a, "declare at most %s=%.*s", bound_name(b), STR_ARG(may)));
		else if (v)
			note(k, nowhere, p, p->decls.budget.span[b],
			     str_printf(k->a, "%s is lowered from its default of %.*s to %.*s", bound_name(b), STR_ARG(is),
					STR_ARG(may)));
		v = most;
	}
	if (is_rate(b) && v > RATE_MOST)
		v = RATE_MOST;
	k->r->budget.v[b] = v;
	k->r->budget.declared |= 1u << b;
}

static void check_ledger(Maker *k)
{
	static const Bound hourly[] = { BOUND_HOUR_PACKETS, BOUND_HOUR_BYTES, BOUND_HOUR_SYN };

	for (uint32_t i = 0; i < k->in->npolicies && !k->in->ledger; i++)
		for (size_t j = 0; j < 3; j++) {
			const Policy *p = &k->in->policies[i];

			if (declares(&p->decls.budget, hourly[j]))
				refuse(k, nowhere, p, p->decls.budget.span[hourly[j]],
				       str_printf(k->a, "there is no ledger to keep %s in", bound_name(hourly[j])),
				       STR("nothing is sent under a bound that can't be kept: as root, `sonde ledger init` makes a ledger"));
		}
}

bool rules_check_ledger(const RulesInput *in, Findings *f)
{
	Maker k = { .in = in, .a = f->a, .f = f };
	uint32_t before = f->refused;

	check_ledger(&k);
	return f->refused == before;
}

void make_budget(Maker *k)
{
	for (Bound b = 0; b < BOUND_N; b++)
		make_bound(k, b);
	check_ledger(k);
}

/* ---- spoof ---- */

enum { SPOOF_RATE = 10, SPOOF_MAX = 100 }; /* guardrails.md 3: where policy says neither */

static bool spoof_covers(const SpoofDecl *by, const SpoofDecl *s)
{
	if (by->is_mac != s->is_mac)
		return false;
	if (s->is_mac)
		return memcmp(by->mac.b, s->mac.b, sizeof s->mac.b) == 0;
	return ip_within(s->lo, by->lo, by->hi) && ip_within(s->hi, by->lo, by->hi);
}

static Str spoof_text(Maker *k, const SpoofDecl *s)
{
	Sb b = sb(k->a);
	char mac[MAC_TEXT];

	if (!s->is_mac) {
		target_text(&(Target){ .lo = s->lo, .hi = s->hi }, &b);
		return sb_done(&b);
	}
	mac_format(s->mac, mac);
	return str_printf(k->a, "%s", mac);
}

static const SpoofDecl *spoof_row(const Policy *p, const SpoofDecl *s)
{
	for (uint32_t i = 0; i < p->decls.spoof.n; i++)
		if (spoof_covers(&p->decls.spoof.p[i], s))
			return &p->decls.spoof.p[i];
	return NULL;
}

static void lower(int64_t *v, int64_t to)
{
	if (to < *v)
		*v = to;
}

/* guardrails.md 3: worst case above max is refused before the start.  How many of
 * a program's packets are spoofed is not known apart, so all of them count. */
static void check_spoof_max(Maker *k, const SpoofDecl *s, const SpoofRule *r, const Policy *by)
{
	uint64_t worst = k->in->manifest->worst.packets, most = (uint64_t)k->r->budget.v[BOUND_PACKETS];

	if (most && most < worst)
		worst = most;
	if (worst <= (uint64_t)r->max)
		return;
	refuse(k, s->span, by, nowhere,
	       str_printf(k->a, "the program may send %llu packets, but at most %lld from %.*s",
			  (unsigned long long)worst, (long long)r->max, STR_ARG(spoof_text(k, s))),
	       str_printf(k->a, "declare budget(packets=%lld)", (long long)r->max));
}

static void make_one_spoof(Maker *k, const SpoofDecl *s)
{
	SpoofRule r = { .is_mac = s->is_mac, .mac = s->mac, .lo = s->lo, .hi = s->hi, .rate = INT64_MAX, .max = INT64_MAX };
	const Policy *by = NULL;

	if (s->rate)
		lower(&r.rate, s->rate);
	if (s->max)
		lower(&r.max, s->max);
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];
		const SpoofDecl *row = spoof_row(p, s);
		int64_t max = row && row->max ? row->max : SPOOF_MAX;

		if (!row) {
			refuse(k, s->span, p, nowhere,
			       str_printf(k->a, "policy does not allow to send from %.*s", STR_ARG(spoof_text(k, s))),
			       str_printf(k->a, "who runs that address must agree; then the policy can say spoof(\"%.*s\")",
					  STR_ARG(spoof_text(k, s))));
			return;
		}
		lower(&r.rate, row->rate ? row->rate : SPOOF_RATE);
		if (max <= r.max)
			by = p;
		lower(&r.max, max);
	}
	check_spoof_max(k, s, &r, by);
	vec_push(k->a, &k->r->spoof, r);
}

void make_spoof(Maker *k)
{
	for (uint32_t i = 0; i < k->in->manifest->decls.spoof.n; i++)
		make_one_spoof(k, &k->in->manifest->decls.spoof.p[i]);
}

/* ---- capture ---- */

static bool captures_all(const Decls *d)
{
	for (uint32_t i = 0; i < d->capture.n; i++)
		if (d->capture.p[i].all)
			return true;
	return false;
}

/* "((a) or (b))", joined to what is there by "and". */
static void and_filters(Sb *out, const Decls *d)
{
	if (captures_all(d))
		return;
	sb_cstr(out, out->n ? " and (" : "(");
	for (uint32_t i = 0; i < d->capture.n; i++)
		sb_printf(out, i ? " or (%.*s)" : "(%.*s)", STR_ARG(d->capture.p[i].filter));
	sb_char(out, ')');
}

void make_capture(Maker *k)
{
	const Decls *d = &k->in->manifest->decls;
	Sb filter = sb(k->a);
	bool all = captures_all(d);

	if (!d->capture.n)
		return;
	and_filters(&filter, d);
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];

		if (!p->decls.capture.n) {
			refuse(k, d->capture.p[0].span, p, nowhere, STR("policy does not allow to capture the traffic of others"),
			       STR("a sniff without capture(...) sees the program's own flows"));
			return;
		}
		all &= captures_all(&p->decls);
		and_filters(&filter, &p->decls);
	}
	k->r->captures = true;
	k->r->capture_filter = filter.n ? sb_done(&filter) : (Str){ 0 };
	k->r->promiscuous = all;
}

/* ---- listen ---- */

static bool listen_covered(const Policy *p, uint16_t port, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < p->decls.listen.n; i++)
		if (p->decls.listen.p[i].port == port && target_covers(&p->decls.listen.p[i].peers, lo, hi))
			return true;
	return false;
}

static void make_one_listen(Maker *k, const ListenDecl *l)
{
	if (l->peers.name.n) {
		refuse(k, l->span, NULL, nowhere, STR("listen() needs the peers' addresses, not a name"), (Str){ 0 });
		return;
	}
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		if (!listen_covered(&k->in->policies[i], l->port, l->peers.lo, l->peers.hi)) {
			refuse(k, l->span, &k->in->policies[i], nowhere,
			       str_printf(k->a, "policy does not allow to listen on port %u for these peers", l->port),
			       STR("the policy can say listen(port, peers)"));
			return;
		}
	vec_push(k->a, &k->r->listen, (ListenRule){ l->port, l->peers.lo, l->peers.hi });
}

/* deny() of a peer alone denies the peer. */
static void deny_callers(Maker *k, const Decls *d)
{
	for (uint32_t i = 0; i < d->deny.n; i++)
		if (d->deny.p[i].alone && !d->deny.p[i].words && !d->deny.p[i].vlan.n)
			vec_push(k->a, &k->r->no_call, (ListenRule){ 0, d->deny.p[i].target.lo, d->deny.p[i].target.hi });
}

/* What is never in reach does not call either. */
static void never_callers(Maker *k)
{
	size_t n;
	const NeverRow *never = never_rows(&n);
	Net net;

	for (size_t i = 0; i < n; i++) {
		ListenRule no = { 0 };

		if (!net_parse(str_c(never[i].net), &net))
			continue;
		net_range(net, &no.lo, &no.hi);
		vec_push(k->a, &k->r->no_call, no);
	}
}

void make_listen(Maker *k)
{
	never_callers(k);
	deny_callers(k, &k->in->manifest->decls);
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		deny_callers(k, &k->in->policies[i].decls);
	for (uint32_t i = 0; i < k->in->manifest->decls.listen.n; i++)
		make_one_listen(k, &k->in->manifest->decls.listen.p[i]);
}

/* ---- reflect ---- */

static bool same_target(const Target *by, const Target *t)
{
	return t->name.n ? str_eq(by->name, t->name) : target_covers(by, t->lo, t->hi);
}

static bool reflect_covered(const Policy *p, const ReflectDecl *r)
{
	for (uint32_t i = 0; i < p->decls.reflect.n; i++) {
		const ReflectDecl *by = &p->decls.reflect.p[i];

		if (str_eq(by->field, r->field) && same_target(&by->src, &r->src) && same_target(&by->dst, &r->dst) &&
		    r->max <= by->max)
			return true;
	}
	return false;
}

/* The checker and the VM hold a program to its reflect(); policy is asked here. */
void check_reflect(Maker *k)
{
	for (uint32_t i = 0; i < k->in->manifest->decls.reflect.n; i++) {
		const ReflectDecl *r = &k->in->manifest->decls.reflect.p[i];

		for (uint32_t j = 0; j < k->in->npolicies; j++)
			if (!reflect_covered(&k->in->policies[j], r)) {
				refuse(k, r->span, &k->in->policies[j], nowhere,
				       str_printf(k->a, "policy does not allow to reflect %.*s between these peers",
						  STR_ARG(r->field)),
				       STR("the policy can say reflect(FIELD, src=, dst=, max=)"));
				break;
			}
	}
}

/* ---- approval ---- */

static void want_person(Maker *k, Span span, const Policy *p, Str message)
{
	find(k->f, (Finding){ .refused = !k->in->approvable,
			      .person = true,
			      .span = span,
			      .message = message,
			      .policy = p,
			      .help = STR("policy wants a person for it: root, by `sonde approve`") });
}

static bool targets_meet(const Target *a, const Target *b)
{
	return !a->name.n && !b->name.n && a->lo.v == b->lo.v && ip_cmp(a->lo, b->hi) <= 0 && ip_cmp(b->lo, a->hi) <= 0;
}

static void approve_reach(Maker *k, const Policy *p)
{
	for (uint32_t i = 0; i < k->item.n; i++) {
		const Item *it = &k->item.p[i];
		Target t = { .lo = it->lo, .hi = it->hi };
		Sb who = sb(k->a);

		for (uint32_t j = 0; j < p->decls.approve_reach.n; j++) {
			if (!targets_meet(&t, &p->decls.approve_reach.p[j]))
				continue;
			target_text(&t, &who);
			want_person(k, it->emission ? it->emission->span : it->reach->span, p,
				    str_printf(k->a, "%s is to be reached", sb_done(&who).p));
			return;
		}
	}
}

/* A program that asks for nothing gets what nobody need approve. */
static void lower_leak(Maker *k, const Policy *p)
{
	note(k, nowhere, p, nowhere,
	     str_printf(k->a, "leak is lowered from its default of %lld to %lld: more needs a person's approval",
			(long long)k->r->budget.v[BOUND_LEAK], (long long)p->decls.approve_leak));
	k->r->budget.v[BOUND_LEAK] = p->decls.approve_leak;
}

void check_approve(Maker *k)
{
	const Decls *d = &k->in->manifest->decls;

	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];

		if (p->decls.approve & APPROVE_SPOOF && d->spoof.n)
			want_person(k, d->spoof.p[0].span, p, STR("other sources than ours are to be used"));
		if (p->decls.approve & APPROVE_CAPTURE && d->capture.n)
			want_person(k, d->capture.p[0].span, p, STR("the traffic of others is to be captured"));
		if (p->decls.approve & APPROVE_LISTEN && d->listen.n)
			want_person(k, d->listen.p[0].span, p, STR("connections are to be accepted"));
		if (p->decls.approve_leak && k->r->budget.v[BOUND_LEAK] > p->decls.approve_leak && !declares(&d->budget, BOUND_LEAK))
			lower_leak(k, p);
		if (p->decls.approve_leak && k->r->budget.v[BOUND_LEAK] > p->decls.approve_leak)
			want_person(k, d->budget.span[BOUND_LEAK], p,
				    str_printf(k->a, "leak=%lld is above %lld", (long long)k->r->budget.v[BOUND_LEAK],
					       (long long)p->decls.approve_leak));
		approve_reach(k, p);
	}
}
