/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/check_text.h"

#include "base/escape.h"
#include "base/units.h"

#include <netinet/in.h>
#include <stdio.h>

/* 12345678 as 12,345,678 */
static void number(Sb *out, uint64_t v)
{
	char digits[32];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			sb_char(out, ',');
		sb_char(out, digits[i]);
	}
}

static int64_t bound_value(const Budget *b, Bound id)
{
	return b->declared >> id & 1 ? b->v[id] : bound_default(id);
}

/* TIME is kept in ns and told in seconds. */
static double bound_number(const Budget *b, Bound id)
{
	int64_t v = bound_value(b, id);

	return id == BOUND_TIME ? (double)v / 1e9 : (double)v;
}

static const char *proto_name(uint8_t proto, char text[16])
{
	static const struct {
		uint8_t proto;
		const char *name;
	} rows[] = { { 0, "ARP or ND" },       { IPPROTO_ICMP, "ICMP" },     { IPPROTO_ICMPV6, "ICMPv6" },
		     { IPPROTO_TCP, "TCP" },   { IPPROTO_UDP, "UDP" },	     { IPPROTO_GRE, "GRE" },
		     { IPPROTO_SCTP, "SCTP" }, { IPPROTO_IGMP, "IGMP" } };

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].proto == proto)
			return rows[i].name;
	snprintf(text, 16, "protocol %u", proto);
	return text;
}

static void ips(Ip lo, Ip hi, Sb *out)
{
	target_text(&(Target){ .lo = lo, .hi = hi }, out);
}

static void words(uint32_t mask, const char *between, Sb *out)
{
	for (unsigned w = 0, n = 0; w < WORD_N; w++)
		if (mask >> w & 1)
			sb_printf(out, "%s%s", n++ ? between : "", word_name((ReachWord)w));
}

static void at_line(Str source, Span s, bool explain, Sb *out)
{
	if (explain && s.to)
		sb_printf(out, "   (line %u)", line_col(source, s.from).line);
	sb_char(out, '\n');
}

/* ---- text ---- */

static void emission_text(const Emission *e, Str source, bool explain, Sb *out)
{
	char name[16];

	sb_cstr(out, "  ");
	target_text(&e->peer, out);
	sb_printf(out, "  %s", proto_name(e->proto, name));
	if (e->dports_all)
		sb_cstr(out, " all ports");
	else if (e->dports.n) {
		sb_cstr(out, e->dports.n == 1 && e->dports.p[0].lo == e->dports.p[0].hi ? " port " : " ports ");
		ports_text(&e->dports, out);
	}
	if (e->sports.n) {
		sb_cstr(out, " from port ");
		ports_text(&e->sports, out);
	}
	if (e->src_set) {
		sb_cstr(out, " from ");
		ips(e->src_lo, e->src_hi, out);
	}
	if (e->ether)
		sb_cstr(out, ", with its own Ethernet header");
	if (e->words) {
		sb_cstr(out, ", needs: ");
		words(e->words, ", ", out);
	}
	at_line(source, e->span, explain, out);
}

static void reach_line(const char *word, const Reach *r, Sb *out)
{
	sb_printf(out, "%s ", word);
	target_text(&r->target, out);
	if (r->icmp)
		sb_cstr(out, "  ICMP");
	if (r->all_tcp || r->tcp.n)
		sb_cstr(out, "  TCP ");
	if (r->all_tcp)
		sb_cstr(out, "all ports");
	ports_text(&r->tcp, out);
	if (r->all_udp || r->udp.n)
		sb_cstr(out, "  UDP ");
	if (r->all_udp)
		sb_cstr(out, "all ports");
	ports_text(&r->udp, out);
	if (r->alone)
		sb_cstr(out, "  ICMP queries, ARP, and the ports that the program names");
	for (uint32_t i = 0; i < r->other.n; i++)
		sb_printf(out, "  protocol %u", r->other.p[i]);
	for (uint32_t i = 0; i < r->vlan.n; i++)
		sb_printf(out, "  VLAN %u", r->vlan.p[i]);
	if (r->words) {
		sb_cstr(out, "  ");
		words(r->words, "  ", out);
	}
}

static void spoof_line(const SpoofDecl *s, Sb *out)
{
	char mac[MAC_TEXT];

	if (s->is_mac) {
		mac_format(s->mac, mac);
		sb_cstr(out, mac);
	} else {
		ips(s->lo, s->hi, out);
	}
	if (s->rate)
		sb_printf(out, "  at most %lld a second", (long long)s->rate);
	if (s->max)
		sb_printf(out, "  at most %lld in all", (long long)s->max);
}

static void listen_line(const ListenDecl *l, Sb *out)
{
	sb_printf(out, "port %u for ", l->port);
	target_text(&l->peers, out);
}

static void worst_text(const Manifest *m, Sb *out)
{
	const WorstCase *w = &m->worst;
	const Budget *b = &m->decls.budget;
	char time[32];

	sb_cstr(out, "at most:\n  the program's own text: ");
	if (w->packets == UINT64_MAX)
		sb_cstr(out, w->emitting_while ? "no bound (a `while` sends); the budget holds" : "no bound known; the budget holds");
	else {
		sb_cstr(out, "may send up to ");
		number(out, w->packets);
		sb_cstr(out, w->packets == 1 ? " packet" : " packets");
		if (w->syn && w->syn != UINT64_MAX) {
			sb_cstr(out, ", ");
			number(out, w->syn);
			sb_cstr(out, " of them SYN");
		}
	}
	if (w->connections)
		sb_cstr(out, ", and what its connections carry");
	sb_cstr(out, "\n  budget: ");
	number(out, (uint64_t)bound_value(b, BOUND_PACKETS));
	sb_cstr(out, " packets, ");
	number(out, (uint64_t)bound_value(b, BOUND_BYTES));
	sb_cstr(out, " bytes, ");
	number(out, (uint64_t)bound_value(b, BOUND_SYN));
	sb_cstr(out, " SYN, ");
	number(out, (uint64_t)bound_value(b, BOUND_RATE));
	duration_format(bound_value(b, BOUND_TIME), time);
	sb_printf(out, " packets a second, %s\n", time);
}

static void reflect_line(const ReflectDecl *r, Sb *out)
{
	escape_line(out, r->field);
	sb_cstr(out, " from ");
	target_text(&r->src, out);
	sb_cstr(out, " to ");
	target_text(&r->dst, out);
	sb_printf(out, ", at most %lld bits", (long long)r->max);
}

static void leak_text(const Manifest *m, Str source, bool explain, Sb *out)
{
	if (!m->leak.n)
		return;
	sb_cstr(out, "  leak: ");
	number(out, (uint64_t)bound_value(&m->decls.budget, BOUND_LEAK));
	sb_cstr(out, " bits by which what one peer gets may depend on others; paid at\n");
	for (uint32_t i = 0; i < m->leak.n; i++) {
		const LeakCost *c = &m->leak.p[i];

		sb_printf(out, "    line %u: ", line_col(source, c->span.from).line);
		if (c->bits < METER_PACKET)
			sb_printf(out, "%u bit%s each time, ", c->bits, c->bits == 1 ? "" : "s");
		else
			sb_cstr(out, "all bits of a packet, ");
		escape_line(out, c->what);
		sb_char(out, '\n');
		if (explain && c->path.n) {
			sb_cstr(out, "      ");
			escape_line(out, c->path);
			sb_char(out, '\n');
		}
	}
}

static void local_text(const LocalQuestion *q, Sb *out)
{
	static const char *const kinds[] = { "interfaces", "routes", "route to ", "neighbour table" };
	char ip[IP_TEXT];

	sb_cstr(out, kinds[q->kind]);
	if (q->kind == LOCAL_ROUTE) {
		ip_format(q->dst, ip);
		escape_line(out, q->name.n ? q->name : str_c(ip));
	}
}

void check_text(const Manifest *m, Str source, bool explain, Sb *out)
{
	const Decls *d = &m->decls;

	sb_cstr(out, m->emit.n ? "sends to:\n" : d->listen.n ? "sends nothing but its part of connections that others open\n" : "sends nothing\n");
	for (uint32_t i = 0; i < m->emit.n; i++)
		emission_text(&m->emit.p[i], source, explain, out);
	if (d->reach.n)
		sb_cstr(out, "declared reach:\n");
	for (uint32_t i = 0; i < d->reach.n; i++) {
		reach_line(" ", &d->reach.p[i], out);
		at_line(source, d->reach.p[i].span, explain, out);
	}
	for (uint32_t i = 0; i < d->spoof.n; i++) {
		sb_cstr(out, "pretends to be: ");
		spoof_line(&d->spoof.p[i], out);
		at_line(source, d->spoof.p[i].span, explain, out);
	}
	for (uint32_t i = 0; i < d->capture.n; i++) {
		sb_cstr(out, "sees traffic that is not ours: ");
		escape_line(out, d->capture.p[i].all ? STR("all") : d->capture.p[i].filter);
		at_line(source, d->capture.p[i].span, explain, out);
	}
	for (uint32_t i = 0; i < d->listen.n; i++) {
		sb_cstr(out, "accepts connections: ");
		listen_line(&d->listen.p[i], out);
		at_line(source, d->listen.p[i].span, explain, out);
	}
	for (uint32_t i = 0; i < m->filters.n; i++) {
		sb_cstr(out, "sniffs its own flows: ");
		escape_line(out, m->filters.p[i].n ? m->filters.p[i] : STR("all of them"));
		sb_char(out, '\n');
	}
	for (uint32_t i = 0; i < m->names.n; i++) {
		sb_cstr(out, "looks up before the start: ");
		escape_line(out, m->names.p[i]);
		sb_char(out, '\n');
	}
	for (uint32_t i = 0; i < m->says.n; i++) {
		sb_cstr(out, "tells a peer the name: ");
		escape_line(out, m->says.p[i]);
		sb_char(out, '\n');
	}
	if (m->uses_tls)
		sb_cstr(out, "speaks TLS\n");
	for (uint32_t i = 0; i < m->local.n; i++) {
		sb_cstr(out, "reads from this host: ");
		local_text(&m->local.p[i], out);
		sb_char(out, '\n');
	}
	for (uint32_t i = 0; i < d->reflect.n; i++) {
		sb_cstr(out, "sends on what it received: ");
		reflect_line(&d->reflect.p[i], out);
		at_line(source, d->reflect.p[i].span, explain, out);
	}
	worst_text(m, out);
	leak_text(m, source, explain, out);
}

/* ---- JSON ---- */

typedef void TextFn(const void *item, Sb *out);

/* A string made by printing into a buffer of its own. */
static void json_made(Json *j, TextFn *f, const void *item)
{
	Sb text = sb(j->out->a);

	f(item, &text);
	json_str(j, sb_done(&text));
}

static void made_target(const void *t, Sb *out)
{
	target_text(t, out);
}

static void made_ports(const void *s, Sb *out)
{
	ports_text(s, out);
}

static void made_reach(const void *r, Sb *out)
{
	reach_line("reach", r, out);
}

static void made_spoof(const void *s, Sb *out)
{
	spoof_line(s, out);
}

static void made_listen(const void *l, Sb *out)
{
	listen_line(l, out);
}

static void made_local(const void *q, Sb *out)
{
	local_text(q, out);
}

static void made_reflect(const void *r, Sb *out)
{
	reflect_line(r, out);
}

static void made_source(const void *p, Sb *out)
{
	const Emission *e = p;

	ips(e->src_lo, e->src_hi, out);
}

static void budget_json(const Budget *b, Json *j)
{
	json_key(j, "budget");
	json_open(j, '{');
	for (unsigned i = 0; i < BOUND_N; i++) {
		if (!bound_value(b, (Bound)i) && !(b->declared >> i & 1))
			continue;
		json_key(j, bound_name((Bound)i));
		json_open(j, '{');
		json_key(j, "value");
		json_num(j, bound_number(b, (Bound)i));
		json_kstr(j, "unit", str_c(bound_unit((Bound)i)));
		json_kbool(j, "declared", b->declared >> i & 1);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void json_count(Json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	if (v == UINT64_MAX)
		json_nil(j);
	else
		json_uint(j, v);
}

static void worst_json(const WorstCase *w, Json *j)
{
	json_key(j, "worst_case");
	json_open(j, '{');
	json_count(j, "packets", w->packets);
	json_count(j, "least_packets", w->least_packets);
	json_count(j, "syn", w->syn);
	json_kbool(j, "emitting_while", w->emitting_while);
	json_kbool(j, "connections", w->connections);
	json_close(j, '}');
}

static void emission_json(const Emission *e, Str source, Json *j)
{
	char name[16];

	json_open(j, '{');
	json_key(j, "peer");
	json_made(j, made_target, &e->peer);
	json_kstr(j, "protocol", str_c(proto_name(e->proto, name)));
	if (e->dports_all) {
		json_kstr(j, "ports", STR("all"));
	} else if (e->dports.n) {
		json_key(j, "ports");
		json_made(j, made_ports, &e->dports);
	}
	if (e->sports.n) {
		json_key(j, "source_ports");
		json_made(j, made_ports, &e->sports);
	}
	if (e->src_set) {
		json_key(j, "source");
		json_made(j, made_source, e);
	}
	json_key(j, "words");
	json_open(j, '[');
	for (unsigned w = 0; w < WORD_N; w++)
		if (e->words >> w & 1)
			json_str(j, str_c(word_name((ReachWord)w)));
	json_close(j, ']');
	json_kbool(j, "ether", e->ether);
	json_kint(j, "line", e->span.to ? line_col(source, e->span.from).line : 0);
	json_close(j, '}');
}

static void cost_json(const LeakCost *c, Str source, Json *j)
{
	json_open(j, '{');
	json_kint(j, "line", line_col(source, c->span.from).line);
	json_count(j, "bits", c->bits < METER_PACKET ? c->bits : UINT64_MAX);
	json_kstr(j, "what", c->what);
	json_kstr(j, "path", c->path);
	json_close(j, '}');
}

#define JSON_LIST(j, key, list, each)                             \
	do {                                                      \
		json_key(j, key);                                 \
		json_open(j, '[');                                \
		for (uint32_t i_ = 0; i_ < (list)->n; i_++)       \
			each;                                     \
		json_close(j, ']');                               \
	} while (0)

static void leak_json(const Manifest *m, Str source, Json *j)
{
	static const char *const ends[] = { "free", "early", "paid" };

	json_key(j, "leak");
	json_open(j, '{');
	json_kstr(j, "end", str_c(ends[m->leak_end]));
	JSON_LIST(j, "costs", &m->leak, cost_json(&m->leak.p[i_], source, j));
	json_close(j, '}');
}

void check_json(const Manifest *m, Str source, Json *j)
{
	const Decls *d = &m->decls;

	json_open(j, '{');
	budget_json(&d->budget, j);
	worst_json(&m->worst, j);
	JSON_LIST(j, "emissions", &m->emit, emission_json(&m->emit.p[i_], source, j));
	JSON_LIST(j, "reach", &d->reach, json_made(j, made_reach, &d->reach.p[i_]));
	JSON_LIST(j, "spoof", &d->spoof, json_made(j, made_spoof, &d->spoof.p[i_]));
	if (d->listen.n)
		JSON_LIST(j, "listen", &d->listen, json_made(j, made_listen, &d->listen.p[i_]));
	JSON_LIST(j, "captures", &d->capture, json_str(j, d->capture.p[i_].all ? STR("all") : d->capture.p[i_].filter));
	JSON_LIST(j, "filters", &m->filters, json_str(j, m->filters.p[i_]));
	if (d->reflect.n)
		JSON_LIST(j, "reflect", &d->reflect, json_made(j, made_reflect, &d->reflect.p[i_]));
	leak_json(m, source, j);
	JSON_LIST(j, "names", &m->names, json_str(j, m->names.p[i_]));
	JSON_LIST(j, "says", &m->says, json_str(j, m->says.p[i_]));
	json_kbool(j, "tls", m->uses_tls);
	JSON_LIST(j, "local", &m->local, json_made(j, made_local, &m->local.p[i_]));
	json_close(j, '}');
}
