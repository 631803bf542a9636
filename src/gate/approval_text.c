/* SPDX-License-Identifier: Apache-2.0
 *
 * The rendering: a function of what the gate enforces, not of how the program says it.
 * Ports and addresses stand as ranges and nets, what is the same for several addresses
 * stands once; long lines are broken, never cut.
 */
#include "base/escape.h"
#include "base/units.h"
#include "deal/ports.h"
#include "gate/approval.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct Page {
	Arena *a;
	Sb out;
} Page;

/* ---- lines ---- */

/* One item, broken at blanks; what goes on is indented. */
static void put_line(Page *p, Str s)
{
	size_t column = 0, indent = 0;

	while (indent < s.n && s.p[indent] == ' ')
		indent++;
	sb_str(&p->out, (Str){ s.p, indent });
	for (size_t i = indent; i < s.n;) {
		size_t end = i;

		while (end < s.n && s.p[end] != ' ')
			end++;
		size_t n = end - i;

		if (column && indent + column + 1 + n > APPROVAL_COLUMNS) {
			sb_cstr(&p->out, "\n      ");
			column = 6;
		} else if (column) {
			sb_char(&p->out, ' ');
			column++;
		}
		for (; n > APPROVAL_COLUMNS - 6; n -= APPROVAL_COLUMNS - 6, i += APPROVAL_COLUMNS - 6) {
			sb_str(&p->out, (Str){ s.p + i, APPROVAL_COLUMNS - 6 });
			sb_cstr(&p->out, "\n      ");
			column = 6;
		}
		sb_str(&p->out, (Str){ s.p + i, n });
		column += n;
		i = end + 1;
	}
	sb_char(&p->out, '\n');
}

__attribute__((format(printf, 2, 3))) static void line(Page *p, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	char *text = arena_alloc(p->a, (size_t)n + 1);

	vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(ap);
	va_end(again);
	put_line(p, (Str){ text, (size_t)n });
}

/* Foreign text: printable ASCII, quotes and backslashes escaped. */
static const char *quoted(Page *p, Str s)
{
	Sb out = sb(p->a);

	sb_char(&out, '"');
	escape_peer(&out, str_bytes(s));
	sb_char(&out, '"');
	sb_char(&out, 0);
	return sb_done(&out).p;
}

static const char *hash_hex(Page *p, Hash h)
{
	char *text = arena_alloc(p->a, SHA256_TEXT);

	hash_format(h, text);
	return text;
}

static const char *range_text(Page *p, Ip lo, Ip hi)
{
	Sb out = sb(p->a);

	target_text(&(Target){ .lo = lo, .hi = hi }, &out);
	sb_char(&out, 0);
	return sb_done(&out).p;
}

/* ---- who is reached ---- */

typedef struct Reached {
	Ip lo, hi;
	const Rights *rights;
} Reached;

typedef VEC(Reached) ReachedList;

static bool same_ports(const PortSet *a, const PortSet *b)
{
	return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n * sizeof *a->p) == 0);
}

static bool same_rights(const Rights *a, const Rights *b)
{
	return a == b || (same_ports(&a->tcp, &b->tcp) && same_ports(&a->udp, &b->udp) &&
			  memcmp(a->other, b->other, sizeof a->other) == 0 && a->words == b->words && a->icmp == b->icmp &&
			  a->ether == b->ether && a->ntp_control == b->ntp_control && a->nvlan == b->nvlan &&
			  (!a->nvlan || memcmp(a->vlan, b->vlan, a->nvlan * sizeof *a->vlan) == 0));
}

/* Neighbours with the same rights are one range. */
static void reached_add(Page *p, ReachedList *l, Ip lo, Ip hi, const Rights *r)
{
	Reached *last = l->n ? &l->p[l->n - 1] : NULL;
	Ip next;

	if (last && last->lo.v == lo.v && ip_add(last->hi, 1, &next) && ip_eq(next, lo) && same_rights(last->rights, r))
		last->hi = hi;
	else
		vec_push(p->a, l, (Reached){ lo, hi, r });
}

static void rights_ports(Sb *out, const char *proto, const PortSet *s)
{
	if (!s->n)
		return;
	sb_printf(out, " %s ", proto);
	ports_text(s, out);
	sb_char(out, ';');
}

static void rights_text(const Rights *r, Sb *out)
{
	if (r->icmp)
		sb_cstr(out, " ICMP queries;");
	rights_ports(out, "TCP", &r->tcp);
	rights_ports(out, "UDP", &r->udp);
	for (unsigned i = 0; i < 256; i++)
		if (rights_other(r, (uint8_t)i))
			sb_printf(out, " IP protocol %u;", i);
	for (ReachWord w = 0; w < WORD_N; w++)
		if (rights_word(r, w))
			sb_printf(out, " %s;", word_name(w));
	for (uint32_t i = 0; i < r->nvlan; i++)
		sb_printf(out, " vlan %u;", r->vlan[i]);
	if (r->ether)
		sb_cstr(out, " Ethernet frames of its own;");
	if (r->ntp_control)
		sb_cstr(out, " NTP modes 6 and 7;");
}

/* All ranges with the rights of the first that was not told yet. */
static void tell_alike(Page *p, const ReachedList *l, uint32_t from, bool *told)
{
	Sb out = sb(p->a);

	sb_cstr(&out, "  ");
	for (uint32_t i = from; i < l->n; i++) {
		if (told[i] || !same_rights(l->p[i].rights, l->p[from].rights))
			continue;
		told[i] = true;
		sb_printf(&out, "%s%s", i == from ? "" : ", ", range_text(p, l->p[i].lo, l->p[i].hi));
	}
	sb_char(&out, ':');
	rights_text(l->p[from].rights, &out);
	put_line(p, sb_done(&out));
}

static void tell_reach(Page *p, const Rules *r)
{
	ReachedList l = { 0 };

	for (uint32_t i = 0; i < r->seg4.n; i++)
		reached_add(p, &l, ip4(r->seg4.p[i].lo), ip4(r->seg4.p[i].hi), r->seg4.p[i].rights);
	for (uint32_t i = 0; i < r->seg6.n; i++)
		reached_add(p, &l, ip_of_num(6, r->seg6.p[i].lo), ip_of_num(6, r->seg6.p[i].hi), r->seg6.p[i].rights);
	bool *told = arena_new_n(p->a, bool, l.n + 1);

	line(p, l.n ? "may send to:" : "may send to nobody");
	for (uint32_t i = 0; i < l.n; i++)
		if (!told[i])
			tell_alike(p, &l, i, told);
	for (uint32_t i = 0; i < r->nown; i++)
		for (ReachWord w = 0; r->own_words[i] && w < WORD_N; w++)
			if (r->own_words[i] >> w & 1)
				line(p, "  about our own %s: %s", range_text(p, r->own[i].ip, r->own[i].ip), word_name(w));
}

/* ---- the rest ---- */

static void tell_persons(Page *p, const ApprovalInput *in)
{
	for (uint32_t i = 0; i < in->findings->v.n; i++) {
		const Finding *f = &in->findings->v.p[i];
		uint32_t at = f->span.to ? line_col(in->program, f->span.from).line : 0;

		if (f->person)
			line(p, "needs a person: line %u: %.*s, says %s", at, STR_ARG(f->message), quoted(p, f->policy->file));
	}
}

static void tell_names(Page *p, const ApprovalInput *in)
{
	const Rules *r = in->rules;

	for (uint32_t i = 0; i < r->pins.n; i++)
		line(p, "%s is %s", quoted(p, r->pins.p[i].name), range_text(p, r->pins.p[i].addr, r->pins.p[i].addr));
	for (uint32_t i = 0; i < in->manifest->says.n; i++)
		line(p, "tells a peer the name %s", quoted(p, in->manifest->says.p[i]));
	if (!in->looks_up)
		return;
	if (r->zones_all)
		line(p, "may ask resolvers for any name");
	for (uint32_t i = 0; i < r->nzones && !r->zones_all; i++)
		for (uint32_t k = 0; k < r->zones[i].v.n; k++)
			line(p, "may ask resolvers for names in %s", quoted(p, r->zones[i].v.p[k]));
	for (uint32_t i = 0; i < r->resolvers.n; i++)
		line(p, "resolver %s", range_text(p, r->resolvers.p[i], r->resolvers.p[i]));
}

static void tell_spoof(Page *p, const Rules *r)
{
	for (uint32_t i = 0; i < r->spoof.n; i++) {
		const SpoofRule *s = &r->spoof.p[i];
		char mac[MAC_TEXT];

		mac_format(s->mac, mac);
		line(p, "claims to be %s: at most %lld packets, %lld a second", s->is_mac ? mac : range_text(p, s->lo, s->hi),
		     (long long)s->max, (long long)s->rate);
	}
}

static void tell_rest(Page *p, const ApprovalInput *in)
{
	const Rules *r = in->rules;

	tell_spoof(p, r);
	if (r->captures)
		line(p, "captures traffic of others%s: %s", r->promiscuous ? ", promiscuous" : "",
		     r->capture_filter.n ? quoted(p, r->capture_filter) : "all of it");
	for (uint32_t i = 0; i < r->listen.n; i++)
		line(p, "listens on port %u for %s", r->listen.p[i].port, range_text(p, r->listen.p[i].lo, r->listen.p[i].hi));
	for (uint32_t i = 0; i < in->manifest->decls.reflect.n; i++) {
		const ReflectDecl *d = &in->manifest->decls.reflect.p[i];
		Sb src = sb(p->a), dst = sb(p->a);

		target_text(&d->src, &src);
		target_text(&d->dst, &dst);
		line(p, "passes on %s from %s to %s: at most %lld bits", quoted(p, d->field), quoted(p, sb_done(&src)),
		     quoted(p, sb_done(&dst)), (long long)d->max);
	}
	if (in->manifest->uses_tls)
		line(p, "speaks TLS");
	if (r->output_measurements)
		line(p, "prints measurements only");
	if (r->insecure_dev)
		line(p, "may run WITHOUT sandbox layers that this kernel lacks");
}

static void tell_budget(Page *p, const Budget *b)
{
	Sb out = sb(p->a);

	sb_cstr(&out, "at most:");
	for (Bound i = 0; i < BOUND_N; i++) {
		char time[32];

		if (!b->v[i] && i != BOUND_LEAK)
			continue;
		duration_format(b->v[i], time);
		if (i == BOUND_TIME)
			sb_printf(&out, " %s=%s", bound_name(i), time);
		else
			sb_printf(&out, " %s=%lld", bound_name(i), (long long)b->v[i]);
	}
	put_line(p, sb_done(&out));
}

static void tell_ifaces(Page *p, const ApprovalInput *in)
{
	Sb out = sb(p->a);

	sb_cstr(&out, "on interfaces:");
	for (uint32_t i = 0; i < in->nifaces; i++)
		sb_printf(&out, " %s", quoted(p, in->iface[i]));
	put_line(p, sb_done(&out));
}

static void tell_params(Page *p, Str params)
{
	for (size_t i = 0; i < params.n;) {
		const char *nl = memchr(params.p + i, '\n', params.n - i);
		size_t end = nl ? (size_t)(nl - params.p) : params.n;

		line(p, "param %s", quoted(p, (Str){ params.p + i, end - i }));
		i = end + 1;
	}
}

Str approval_text(const ApprovalInput *in, Arena *a)
{
	Page p = { .a = a, .out = sb(a) };
	uint32_t runs = approval_runs(in->policies, in->npolicies);

	line(&p, "program %s: %zu bytes, SHA-256 %s", quoted(&p, in->program_name), in->program.n,
	     hash_hex(&p, sha256(str_bytes(in->program))));
	tell_params(&p, in->params);
	line(&p, "asked for by %s; good for %u %s", quoted(&p, in->session), runs, runs == 1 ? "run" : "runs");
	tell_persons(&p, in);
	tell_names(&p, in);
	tell_ifaces(&p, in);
	tell_reach(&p, in->rules);
	tell_rest(&p, in);
	tell_budget(&p, &in->rules->budget);
	line(&p, "policy: SHA-256 %s", hash_hex(&p, approval_policy_hash(in->policies, in->npolicies)));
	line(&p, "by Sonde %s", quoted(&p, in->build));
	return sb_done(&p.out);
}
