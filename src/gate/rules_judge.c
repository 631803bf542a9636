/* SPDX-License-Identifier: Apache-2.0
 *
 * What policy refuses, in words, before anything is sent.
 *
 * An emission goes to destinations that are known: if policy refuses any of them
 * the run does not start.  A reach() is an upper bound for destinations that are
 * not: policy narrows it, and only what is left of it to nothing is refused; so is
 * an emission whose destinations are those of a reach().  Addresses that are never
 * in reach or need a word, like our own and the broadcast address, are left out of
 * a range, as a program that sweeps a net does not mean them.
 */
#include "gate/rules_inside.h"

#include <netinet/in.h>

/* One thing that is wrong with an emission at one address. */
typedef struct Fault {
	const Policy *policy;
	Span at;
	Str what; /* behind the address: "lies outside what may be reached" */
	Str help;
	bool kind; /* it is the kind of address that is wrong */
} Fault;

static Str target_str(Maker *k, Ip lo, Ip hi)
{
	Sb b = sb(k->a);

	target_text(&(Target){ .lo = lo, .hi = hi }, &b);
	return sb_done(&b);
}

static Str words_str(Maker *k, uint32_t words)
{
	Sb b = sb(k->a);

	for (ReachWord w = 0; w < WORD_N; w++)
		if (words >> w & 1)
			sb_printf(&b, b.n ? ", %s" : "%s", word_name(w));
	return sb_done(&b);
}

static Span row_span(const Reach *row)
{
	return row ? row->span : (Span){ 0, 0 };
}

/* The declaration to add, as text that can be pasted. */
static Str say_reach(Maker *k, const char *where, Ip ip, const char *arg)
{
	char text[IP_TEXT];

	ip_format(ip, text);
	return str_printf(k->a, "%s needs reach(\"%s\", %s)", where, text, arg);
}

/* ---- words ---- */

static bool words_fault(Maker *k, const Emission *e, Ip ip, Fault *ret)
{
	uint32_t kind = need_at(k, ip), need = e->words | kind, missing = need & ~k->manifest->words;
	Str arg = words_str(k, missing);

	if (missing) {
		ret->kind = (missing & ~kind) == 0;
		ret->what = str_printf(k->a, "needs the word %.*s", STR_ARG(arg));
		ret->help = say_reach(k, "the program", ip, str_printf(k->a, "%.*s=True", STR_ARG(arg)).p);
		return true;
	}
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		missing = need & ~k->policy[i].words;
		if (!missing)
			continue;
		arg = words_str(k, missing);
		ret->policy = &k->in->policies[i];
		ret->at = row_span(k->policy[i].row);
		ret->what = str_printf(k->a, "needs the word %.*s, which policy does not give", STR_ARG(arg));
		ret->help = say_reach(k, "the policy", ip, str_printf(k->a, "%.*s=True", STR_ARG(arg)).p);
		return true;
	}
	return false;
}

/* ---- protocols and ports ---- */

static const char *proto_name(uint8_t proto)
{
	return proto == IPPROTO_TCP ? "TCP" : "UDP";
}

/* A port that the program names by itself and that needs more than that. */
static bool special_fault(Maker *k, const Emission *e, uint16_t port, Ip ip, Fault *ret)
{
	const PortRow *row = port_row(e->proto, port);
	const char *proto = proto_name(e->proto);

	if ((port == 853 || (port == 53 && e->proto == IPPROTO_TCP)) && dns_closed(k, ip)) {
		ret->what = str_printf(k->a, "%s port %u is closed: names are limited to zones", proto, port);
		ret->help = STR("ask over UDP, or let the policy name the server: resolver(\"...\")");
		return true;
	}
	if (!row)
		return false;
	if (row->need != NEED_NAME) {
		Emission as = *e;

		as.words |= 1u << row->need;
		return words_fault(k, &as, ip, ret);
	}
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];

		if (party_names(k, p, ip, e->proto, port))
			continue;
		ret->policy = p;
		ret->at = row_span(k->policy[i].row);
		ret->what = str_printf(k->a, "%s port %u (%s) goes only where policy names it by itself", proto, port,
				       row->what);
		ret->help = say_reach(k, "the policy", ip,
				      str_printf(k->a, "%s=[%u]", e->proto == IPPROTO_TCP ? "tcp" : "udp", port).p);
		return true;
	}
	return false;
}

static bool ports_fault(Maker *k, const Emission *e, Ip ip, Fault *ret)
{
	bool tcp = e->proto == IPPROTO_TCP;

	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		Sb text = sb(k->a);
		PortSet over;

		portbits_fill(k->tmp, e->dports_all);
		portbits_add(k->tmp, &e->dports);
		portbits_minus(k->tmp, tcp ? &k->policy[i].tcp : &k->policy[i].udp);
		if (portbits_empty(k->tmp))
			continue;
		over = portbits_set(k->tmp, k->a);
		ports_text(&over, &text);
		ret->policy = &k->in->policies[i];
		ret->at = row_span(k->policy[i].row);
		ret->what = str_printf(k->a, "%s port %s may not be sent to", proto_name(e->proto), sb_done(&text).p);
		ret->help = STR("leave these ports out, or ask who wrote the policy");
		return true;
	}
	for (uint32_t i = 0; i < e->dports.n; i++)
		if (e->dports.p[i].lo == e->dports.p[i].hi && special_fault(k, e, e->dports.p[i].lo, ip, ret))
			return true;
	return false;
}

static bool other_fault(Maker *k, const Emission *e, Ip ip, Fault *ret)
{
	ReachWord word = proto_word(e->proto);
	uint64_t bit = UINT64_C(1) << (e->proto % 64);
	Str arg = str_printf(k->a, "other=[%u]", e->proto);
	Emission as = *e;

	if (word != WORD_N) {
		as.words |= 1u << word;
		if (words_fault(k, &as, ip, ret))
			return true;
		return false;
	}
	if (!(k->manifest->other[e->proto / 64] & bit)) {
		ret->what = str_printf(k->a, "IP protocol %u needs its own word", e->proto);
		ret->help = say_reach(k, "the program", ip, arg.p);
		return true;
	}
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		if (!(k->policy[i].other[e->proto / 64] & bit)) {
			ret->policy = &k->in->policies[i];
			ret->at = row_span(k->policy[i].row);
			ret->what = str_printf(k->a, "IP protocol %u may not be sent", e->proto);
			ret->help = say_reach(k, "the policy", ip, arg.p);
			return true;
		}
	return false;
}

static bool icmp_fault(Maker *k, Fault *ret)
{
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		if (!k->policy[i].icmp) {
			ret->policy = &k->in->policies[i];
			ret->at = row_span(k->policy[i].row);
			ret->what = STR("ICMP may not be sent there");
			ret->help = STR("the policy's reach(...) needs icmp=True");
			return true;
		}
	return false;
}

static bool proto_fault(Maker *k, const Emission *e, Ip ip, Fault *ret)
{
	switch (e->proto) {
	case 0: /* ARP, neighbour solicitation */
		return false;
	case IPPROTO_TCP:
	case IPPROTO_UDP:
		return ports_fault(k, e, ip, ret);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		/* an ICMP message that is no query goes by its word alone */
		return e->words == 0 && icmp_fault(k, ret);
	default:
		return other_fault(k, e, ip, ret);
	}
}

/* ---- emissions ---- */

static bool peer_fault(Maker *k, Ip ip, Fault *ret)
{
	bool liftable;
	const char *never = never_at(k, ip, &liftable);
	char text[IP_TEXT];

	ip_format(ip, text);
	if (never) {
		ret->what = str_printf(k->a, "is %s, which is never in reach", never);
		ret->kind = true;
		if (liftable)
			ret->help = str_printf(k->a, "only the operator can say allow_self(\"%s\") in the policy", text);
		return true;
	}
	for (uint32_t i = 0; i < k->in->npolicies; i++)
		if (!k->policy[i].peer) {
			ret->policy = &k->in->policies[i];
			ret->at = row_span(k->policy[i].row);
			ret->what = STR("lies outside what may be reached");
			ret->help = STR("choose a destination in reach, or ask who wrote the policy");
			return true;
		}
	return false;
}

/* Whether this fault goes on where the last one of this emission ended. */
static bool goes_on(const Maker *k, const RowState *s, Ip lo, const Fault *fault)
{
	const Finding *f = &k->f->v.p[s->finding];
	Ip next;

	return ip_add(s->bad_hi, 1, &next) && ip_eq(next, lo) && f->policy == fault->policy &&
	       f->at.from == fault->at.from;
}

/* One finding an emission: the first range of addresses that fail alike. */
static void tell_fault(Maker *k, const Item *it, Ip lo, Ip hi, const Fault *fault)
{
	RowState *s = &k->row[it->state];
	Str name = it->emission->peer.name;

	if (s->told && !(s->finding < k->f->v.n && goes_on(k, s, lo, fault)))
		return;
	if (!s->told) {
		s->told = true;
		s->bad_lo = lo;
		s->finding = k->f->v.n;
		refuse(k, it->emission->span, fault->policy, fault->at, fault->what, fault->help);
	}
	s->bad_hi = hi;
	if (s->finding >= k->f->v.n)
		return;
	Str who = target_str(k, s->bad_lo, s->bad_hi);

	k->f->v.p[s->finding].message =
		name.n ? str_printf(k->a, "%.*s (%.*s): %.*s", STR_ARG(name), STR_ARG(who), STR_ARG(fault->what))
		       : str_printf(k->a, "%.*s: %.*s", STR_ARG(who), STR_ARG(fault->what));
}

/* The checker could not tell the destination: all that a reach() holds stands for it. */
static bool stands_for_reach(const Maker *k, const Emission *e)
{
	const Decls *d = &k->in->manifest->decls;

	for (uint32_t i = 0; i < d->reach.n; i++)
		if (!e->peer.name.n && ip_eq(d->reach.p[i].target.lo, e->peer.lo) && ip_eq(d->reach.p[i].target.hi, e->peer.hi))
			return !ip_eq(e->peer.lo, e->peer.hi);
	return false;
}

static void judge_emission(Maker *k, const Item *it, Ip lo, Ip hi)
{
	Fault fault = { 0 };
	const Emission *e = it->emission;
	RowState *s = &k->row[it->state];
	bool range = !e->peer.name.n && !ip_eq(e->peer.lo, e->peer.hi);

	if (!peer_fault(k, lo, &fault) && !words_fault(k, e, lo, &fault) && !proto_fault(k, e, lo, &fault)) {
		s->got = 1;
		return;
	}
	if (!(range && fault.kind) && !stands_for_reach(k, e)) {
		tell_fault(k, it, lo, hi, &fault);
		return;
	}
	if (!s->missed++) {
		s->bad_lo = lo;
		s->bad_hi = hi;
		s->soft = arena_copy(k->a, &fault, sizeof fault);
	}
}

/* What was left out of a range: everything is too much. */
static void judge_left_out(Maker *k, const Emission *e, uint32_t state)
{
	RowState *s = &k->row[state];

	if (!s->missed || s->told)
		return;
	const Fault *fault = s->soft;
	Str who = target_str(k, s->bad_lo, s->bad_hi);
	Str what = str_printf(k->a, "%.*s: %.*s", STR_ARG(who), STR_ARG(fault->what));

	if (!s->got)
		refuse(k, e->span, fault->policy, fault->at, what, fault->help);
	else if (!stands_for_reach(k, e))
		note(k, e->span, fault->policy, fault->at, str_printf(k->a, "left out: %.*s", STR_ARG(what)));
}

/* ---- reach() rows ---- */

static void mark(RowState *s, unsigned kind, bool got, const Policy *p, const Reach *row)
{
	if (got) {
		s->got |= 1u << kind;
		return;
	}
	s->missed |= 1u << kind;
	if (!s->by[kind]) {
		s->by[kind] = p;
		s->by_row[kind] = row;
	}
}

/* Whether what a row asks of these ports survives the policy at all. */
static bool some_ports(Maker *k, const PortSet *asked, bool all, const PortBits *allowed)
{
	portbits_fill(k->tmp, all);
	portbits_add(k->tmp, asked);
	portbits_and(k->tmp, allowed);
	return !portbits_empty(k->tmp);
}

static bool all_ports(Maker *k, const PortSet *asked, bool all, const PortBits *allowed)
{
	portbits_fill(k->tmp, all);
	portbits_add(k->tmp, asked);
	portbits_minus(k->tmp, allowed);
	return portbits_empty(k->tmp);
}

static void judge_row_ports(Maker *k, RowState *s, const Reach *r, const Policy *p, const Grant *g)
{
	bool tcp = r->all_tcp || r->tcp.n, udp = r->all_udp || r->udp.n;

	if (tcp && some_ports(k, &r->tcp, r->all_tcp, &g->tcp))
		mark(s, ROW_TCP, true, p, g->row);
	if (tcp && !all_ports(k, &r->tcp, r->all_tcp, &g->tcp))
		mark(s, ROW_TCP, false, p, g->row);
	if (udp && some_ports(k, &r->udp, r->all_udp, &g->udp))
		mark(s, ROW_UDP, true, p, g->row);
	if (udp && !all_ports(k, &r->udp, r->all_udp, &g->udp))
		mark(s, ROW_UDP, false, p, g->row);
}

static void judge_reach(Maker *k, const Item *it, Ip ip)
{
	RowState *s = &k->row[it->state];
	const Reach *r = it->reach;
	bool liftable;

	if (never_at(k, ip, &liftable))
		return;
	for (uint32_t i = 0; i < k->in->npolicies; i++) {
		const Policy *p = &k->in->policies[i];
		const Grant *g = &k->policy[i];

		if (!g->peer) {
			mark(s, ROW_PEER, false, p, g->row);
			return;
		}
		if (r->icmp)
			mark(s, ROW_ICMP, g->icmp, p, g->row);
		if (r->words & ~g->words) {
			mark(s, ROW_WORDS, false, p, g->row);
			s->missed_words |= r->words & ~g->words;
		}
		for (uint32_t j = 0; j < r->other.n; j++)
			mark(s, ROW_OTHER, g->other[r->other.p[j] / 64] >> (r->other.p[j] % 64) & 1, p, g->row);
		judge_row_ports(k, s, r, p, g);
	}
	mark(s, ROW_PEER, true, NULL, NULL);
}

static void tell_row(Maker *k, const Reach *r, const RowState *s)
{
	static const char *const kinds[ROW_KINDS] = { [ROW_PEER] = "addresses", [ROW_TCP] = "TCP ports",
						      [ROW_UDP] = "UDP ports",	[ROW_ICMP] = "ICMP",
						      [ROW_OTHER] = "protocols", [ROW_WORDS] = "words" };
	Sb text = sb(k->a);

	target_text(&r->target, &text);
	Str who = sb_done(&text);

	if (!s->got && !s->missed) {
		refuse(k, r->span, NULL, (Span){ 0, 0 },
		       str_printf(k->a, "reach(\"%.*s\") holds no address that may ever be reached", STR_ARG(who)),
		       STR("only the operator can say allow_self(...) in the policy"));
		return;
	}
	for (unsigned kind = 0; kind < ROW_KINDS; kind++) {
		if (!(s->missed >> kind & 1))
			continue;
		Span at = row_span(s->by_row[kind]);

		if (kind == ROW_WORDS)
			refuse(k, r->span, s->by[kind], at,
			       str_printf(k->a, "reach(\"%.*s\"): policy does not give the word %.*s", STR_ARG(who),
					  STR_ARG(words_str(k, s->missed_words))),
			       STR("do without it, or ask who wrote the policy"));
		else if (!(s->got >> kind & 1))
			refuse(k, r->span, s->by[kind], at,
			       str_printf(k->a, "reach(\"%.*s\"): policy allows none of its %s", STR_ARG(who), kinds[kind]),
			       STR("ask for what policy allows, or ask who wrote it"));
		else
			note(k, r->span, s->by[kind], at,
			     str_printf(k->a, "reach(\"%.*s\") is narrowed: policy does not allow all of its %s", STR_ARG(who),
					kinds[kind]));
	}
}

void judge_piece(Maker *k, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < k->item.n; i++) {
		const Item *it = &k->item.p[i];

		if (!ip_within(lo, it->lo, it->hi))
			continue;
		if (it->emission)
			judge_emission(k, it, lo, hi);
		else
			judge_reach(k, it, lo);
	}
}

void judge_rows(Maker *k)
{
	const Manifest *m = k->in->manifest;

	for (uint32_t i = 0; i < m->emit.n; i++)
		judge_left_out(k, &m->emit.p[i], i);
	for (uint32_t i = 0; i < m->decls.reach.n; i++) {
		const Reach *r = &m->decls.reach.p[i];
		bool pinned = !r->target.name.n;

		for (uint32_t j = 0; j < k->item.n; j++)
			pinned |= k->item.p[j].reach == r;
		if (pinned) /* else add_item() has refused it */
			tell_row(k, r, &k->row[m->emit.n + i]);
	}
}

/* ---- sources ---- */

static bool is_own_range(const Maker *k, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < k->in->nown; i++)
		if (ip_eq(k->in->own[i].ip, lo) && ip_eq(lo, hi))
			return true;
	return false;
}

static bool is_spoof_range(const Maker *k, Ip lo, Ip hi)
{
	for (uint32_t i = 0; i < k->r->spoof.n; i++) {
		const SpoofRule *s = &k->r->spoof.p[i];

		if (!s->is_mac && ip_within(lo, s->lo, s->hi) && ip_within(hi, s->lo, s->hi))
			return true;
	}
	return false;
}

/* RFC 2131 4.1: from 0.0.0.0 port 68 to port 67, which has a word of its own. */
bool emission_asks_for_address(const Emission *e)
{
	enum { CLIENT = 68, SERVER = 67 };
	const PortSet *s = &e->sports, *d = &e->dports;

	return e->proto == IPPROTO_UDP && e->words >> WORD_DHCP & 1 && e->src_lo.v == 4 &&
	       ip4_num(e->src_lo) == 0 && ip_eq(e->src_lo, e->src_hi) && s->n == 1 && s->p[0].lo == CLIENT &&
	       s->p[0].hi == CLIENT && !e->dports_all && d->n == 1 && d->p[0].lo == SERVER && d->p[0].hi == SERVER;
}

static void judge_source(Maker *k, const Emission *e)
{
	if (emission_asks_for_address(e))
		return;
	/* a source that no constant tells is the frame check's */
	if (e->src_lo.v && !is_own_range(k, e->src_lo, e->src_hi) && !is_spoof_range(k, e->src_lo, e->src_hi)) {
		Str who = target_str(k, e->src_lo, e->src_hi);

		refuse(k, e->span, NULL, (Span){ 0, 0 },
		       str_printf(k->a, "the source %.*s is no address of this host", STR_ARG(who)),
		       str_printf(k->a, "program and policy need spoof(\"%.*s\")", STR_ARG(who)));
	}
	for (uint32_t i = 0; i < e->sports.n; i++) {
		const char *fault = rules_claim_fault(k->r, e->proto, e->sports.p[i].lo);

		if (fault)
			refuse(k, e->span, NULL, (Span){ 0, 0 },
			       str_printf(k->a, "source port %u: %s", e->sports.p[i].lo, fault),
			       STR("use a port from 1024 up, or leave it out"));
	}
}

void judge_sources(Maker *k)
{
	for (uint32_t i = 0; i < k->in->manifest->emit.n; i++)
		judge_source(k, &k->in->manifest->emit.p[i]);
}
