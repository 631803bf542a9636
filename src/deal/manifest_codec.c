/* SPDX-License-Identifier: Apache-2.0
 *
 * Each struct has one walk that serves both directions: it reads the field into
 * its place or writes it from there.  So what is written can be read, in the same
 * order, by construction; checks of values stand in the walk and hold both ways.
 */
#include "deal/manifest_codec.h"

#include "base/limits.h"

typedef struct Walk {
	Writer *w; /* NULL: decoding */
	Cursor c;
	Arena *a;
	const char *why; /* the first thing that is wrong; sticks */
} Walk;

enum { PATH_MOST = 4096, LEAK_TEXT = 512 };

static void bad(Walk *k, const char *why)
{
	if (!k->why)
		k->why = why;
}

static bool reading(const Walk *k)
{
	return k->w == NULL;
}

/* ---- numbers ---- */

static void put_num(Writer *w, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		wr_u8(w, (uint8_t)(v | 0x80));
	wr_u8(w, (uint8_t)v);
}

static uint64_t get_num(Walk *k)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cur_u8(&k->c);

		if (k->c.bad)
			break;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			if (b == 0 && shift > 0)
				break; /* not the shortest form */
			return v;
		}
	}
	bad(k, "a number that is cut, too long or not in its shortest form");
	return 0;
}

static void x_num(Walk *k, uint64_t *v, uint64_t most)
{
	if (reading(k))
		*v = get_num(k);
	else
		put_num(k->w, *v);
	if (*v > most) {
		bad(k, "a number above its most");
		if (reading(k))
			*v = 0;
	}
}

#define X_UNSIGNED(name, type, most)            \
	static void name(Walk *k, type *v)      \
	{                                       \
		uint64_t n = *v;                \
                                                \
		x_num(k, &n, most);             \
		*v = (type)n;                   \
	}
X_UNSIGNED(x_u8, uint8_t, UINT8_MAX)
X_UNSIGNED(x_u16, uint16_t, UINT16_MAX)
X_UNSIGNED(x_u32, uint32_t, UINT32_MAX)
X_UNSIGNED(x_bool, bool, 1)

static void x_u64(Walk *k, uint64_t *v)
{
	x_num(k, v, UINT64_MAX);
}

static void x_count64(Walk *k, int64_t *v)
{
	uint64_t n = (uint64_t)*v;

	x_num(k, &n, INT64_MAX);
	*v = (int64_t)n;
}

static void x_mask(Walk *k, uint32_t *v, unsigned bits)
{
	x_u32(k, v);
	if (*v >> bits)
		bad(k, "a word that is not known");
}

/* ---- text, addresses, lists ---- */

static void x_text(Walk *k, Str *s, size_t most)
{
	uint32_t n = (uint32_t)s->n;

	x_u32(k, &n);
	if (n > most)
		bad(k, "text that is too long");
	if (k->why)
		return;
	if (reading(k)) {
		Bytes b = cur_bytes(&k->c, n);

		*s = n && !k->c.bad ? (Str){ arena_copy(k->a, b.p, b.n), b.n } : (Str){ 0 };
	} else {
		wr_bytes(k->w, str_bytes(*s));
	}
}

/* Printable ASCII: what a person approves must have one look only. */
static void x_str(Walk *k, Str *s, size_t most)
{
	x_text(k, s, most);
	for (size_t i = 0; i < s->n && !k->why; i++)
		if (s->p[i] < 0x20 || s->p[i] > 0x7e)
			bad(k, "text with other than printable ASCII characters");
}

static void x_name(Walk *k, Str *s)
{
	x_str(k, s, 255);
}

/* A path is what the file system says; who prints it escapes it. */
static void x_path(Walk *k, Str *s)
{
	x_text(k, s, PATH_MOST);
}

static void x_filter(Walk *k, Str *s)
{
	x_str(k, s, LIMIT_FILTER_TEXT);
}

static void x_ip(Walk *k, Ip *ip)
{
	x_u8(k, &ip->v);
	if (ip->v != 0 && ip->v != 4 && ip->v != 6)
		bad(k, "an address of no known family");
	if (k->why)
		return;
	if (reading(k)) {
		Bytes b = cur_bytes(&k->c, ip_len(*ip));

		if (b.n)
			memcpy(ip->b, b.p, b.n);
	} else {
		wr_bytes(k->w, BYTES(ip->b, ip_len(*ip)));
	}
}

static void x_mac(Walk *k, Mac *m)
{
	for (size_t i = 0; i < sizeof m->b; i++)
		x_u8(k, &m->b[i]);
}

static void x_span(Walk *k, Span *s)
{
	x_u32(k, &s->from);
	x_u32(k, &s->to);
	if (s->from > s->to)
		bad(k, "a place that ends before it begins");
}

/* A range that is empty (no family), or lo <= hi of one family. */
static void x_ip_range(Walk *k, Ip *lo, Ip *hi)
{
	x_ip(k, lo);
	x_ip(k, hi);
	if (lo->v != hi->v || ip_cmp(*lo, *hi) > 0)
		bad(k, "an address range that is none");
}

static void x_target(Walk *k, Target *t)
{
	x_name(k, &t->name);
	x_ip_range(k, &t->lo, &t->hi);
	if (t->name.n && t->lo.v)
		bad(k, "a target that is a name and addresses");
}

/* Each item is at least a byte, so a false count ends at the end of the bytes. */
#define X_LIST(k, v, walk)                                                               \
	do {                                                                             \
		uint32_t n_ = (v)->n;                                                    \
                                                                                         \
		x_u32((k), &n_);                                                         \
		if (n_ > LIMIT_MANIFEST_ITEMS)                                           \
			bad((k), "a list with too many items");                          \
		for (uint32_t i_ = 0; i_ < n_ && !(k)->why && !(k)->c.bad; i_++) {       \
			if (reading(k))                                                  \
				vec_push((k)->a, (v), (__typeof__(*(v)->p)){ 0 });       \
			walk((k), &(v)->p[i_]);                                          \
		}                                                                        \
	} while (0)

static void x_port_range(Walk *k, PortRange *r)
{
	x_u16(k, &r->lo);
	x_u16(k, &r->hi);
}

/* As ports_add() keeps them; so a set has one encoding. */
static void x_ports(Walk *k, PortSet *s)
{
	uint32_t wide_end = 0;

	X_LIST(k, s, x_port_range);
	for (uint32_t i = 0; i < s->n && !k->why; i++) {
		PortRange r = s->p[i];

		if (r.lo > r.hi || (i && (s->p[i - 1].lo > r.lo || (s->p[i - 1].lo == r.lo && s->p[i - 1].hi >= r.hi))))
			bad(k, "ports out of order");
		if (r.lo == r.hi)
			continue;
		if (wide_end && r.lo <= wide_end)
			bad(k, "port ranges that overlap or touch");
		wide_end = r.hi + 1u;
	}
}

/* ---- declarations ---- */

static void x_bound(Walk *k, Budget *b, Bound i)
{
	bool declared = b->declared >> i & 1;

	x_count64(k, &b->v[i]);
	x_span(k, &b->span[i]);
	if (!declared && (b->v[i] || b->span[i].from || b->span[i].to))
		bad(k, "a bound with a value that is not declared");
	if (declared && b->v[i] == 0 && i != BOUND_LEAK)
		bad(k, "a declared bound of zero");
}

static void x_budget(Walk *k, Budget *b)
{
	x_mask(k, &b->declared, BOUND_N);
	for (Bound i = 0; i < BOUND_N; i++)
		x_bound(k, b, i);
}

static void x_reach(Walk *k, Reach *r)
{
	x_target(k, &r->target);
	x_bool(k, &r->alone);
	x_bool(k, &r->icmp);
	x_bool(k, &r->all_tcp);
	x_bool(k, &r->all_udp);
	x_ports(k, &r->tcp);
	x_ports(k, &r->udp);
	x_mask(k, &r->words, WORD_N);
	X_LIST(k, &r->vlan, x_u16);
	X_LIST(k, &r->other, x_u8);
	x_span(k, &r->span);
	if (!r->target.name.n && !r->target.lo.v)
		bad(k, "reach without a target");
}

static void x_spoof(Walk *k, SpoofDecl *s)
{
	x_bool(k, &s->is_mac);
	x_mac(k, &s->mac);
	x_ip_range(k, &s->lo, &s->hi);
	x_count64(k, &s->rate);
	x_count64(k, &s->max);
	x_span(k, &s->span);
	if (s->is_mac == (s->lo.v != 0))
		bad(k, "spoof of neither or both of MAC and addresses");
	if (!s->is_mac && memcmp(s->mac.b, (uint8_t[6]){ 0 }, 6) != 0)
		bad(k, "spoof of addresses with a MAC");
}

static void x_reflect(Walk *k, ReflectDecl *r)
{
	x_name(k, &r->field);
	x_target(k, &r->src);
	x_target(k, &r->dst);
	x_count64(k, &r->max);
	x_span(k, &r->span);
}

static void x_capture(Walk *k, CaptureDecl *c)
{
	x_bool(k, &c->all);
	x_filter(k, &c->filter);
	x_span(k, &c->span);
	if (c->all && c->filter.n)
		bad(k, "capture of all with a filter");
}

static void x_listen(Walk *k, ListenDecl *l)
{
	x_u16(k, &l->port);
	x_target(k, &l->peers);
	x_span(k, &l->span);
}

static void x_decls(Walk *k, Decls *d)
{
	x_budget(k, &d->budget);
	X_LIST(k, &d->reach, x_reach);
	X_LIST(k, &d->deny, x_reach);
	X_LIST(k, &d->spoof, x_spoof);
	X_LIST(k, &d->reflect, x_reflect);
	X_LIST(k, &d->capture, x_capture);
	X_LIST(k, &d->listen, x_listen);
	x_bool(k, &d->zone_set);
	x_bool(k, &d->zone_all);
	X_LIST(k, &d->zones, x_name);
	X_LIST(k, &d->resolvers, x_ip);
	x_mask(k, &d->approve, 3);
	x_count64(k, &d->approve_leak);
	x_count64(k, &d->approve_runs);
	X_LIST(k, &d->approve_reach, x_target);
	X_LIST(k, &d->may_follow, x_target);
	X_LIST(k, &d->relay, x_target);
	X_LIST(k, &d->allow_self, x_target);
	x_bool(k, &d->output_measurements);
	x_bool(k, &d->approve_by_form);
	x_bool(k, &d->insecure_dev);
	x_path(k, &d->file);
	if (d->may_follow.n % 2)
		bad(k, "may_follow without its second half");
}

/* ---- manifest ---- */

static void x_emission(Walk *k, Emission *e)
{
	x_target(k, &e->peer);
	x_u8(k, &e->proto);
	x_ports(k, &e->dports);
	x_bool(k, &e->dports_all);
	x_ports(k, &e->sports);
	x_bool(k, &e->src_set);
	x_ip_range(k, &e->src_lo, &e->src_hi);
	x_mask(k, &e->words, WORD_N);
	x_bool(k, &e->ether);
	x_span(k, &e->span);
	if (!e->src_set && e->src_lo.v)
		bad(k, "a source that is not set");
}

static void x_local(Walk *k, LocalQuestion *q)
{
	uint8_t kind = (uint8_t)q->kind;

	x_u8(k, &kind);
	if (kind > LOCAL_NEIGHBORS)
		bad(k, "a question that is not known");
	q->kind = (LocalKind)kind;
	x_ip(k, &q->dst);
	x_name(k, &q->name);
	if ((q->kind == LOCAL_ROUTE) != (q->dst.v || q->name.n))
		bad(k, "a question about a route without destination, or the reverse");
}

static void x_worst(Walk *k, WorstCase *w)
{
	x_u64(k, &w->packets);
	x_u64(k, &w->syn);
	x_u64(k, &w->least_packets);
	x_bool(k, &w->emitting_while);
	x_bool(k, &w->connections);
}

static void x_leak(Walk *k, LeakCost *c)
{
	x_span(k, &c->span);
	x_u32(k, &c->bits);
	x_text(k, &c->what, LEAK_TEXT);
	x_text(k, &c->path, LEAK_TEXT);
}

static void x_manifest(Walk *k, Manifest *m)
{
	x_decls(k, &m->decls);
	X_LIST(k, &m->emit, x_emission);
	X_LIST(k, &m->names, x_name);
	X_LIST(k, &m->ifaces, x_name);
	X_LIST(k, &m->filters, x_filter);
	X_LIST(k, &m->local, x_local);
	x_worst(k, &m->worst);
	x_bool(k, &m->uses_resolver);
	x_bool(k, &m->uses_tls);
	X_LIST(k, &m->says, x_name);
	X_LIST(k, &m->leak, x_leak);
	x_u8(k, &m->leak_end);
	if (m->leak_end > LEAK_END_PAID)
		bad(k, "an end of another kind");
	if (m->names.n > LIMIT_NAMES)
		bad(k, "more names than may be looked up");
	if (m->ifaces.n > LIMIT_IFACES)
		bad(k, "more interfaces than may be opened");
}

/* ---- both ways ---- */

static bool walk_done(Walk *k, const Writer *before)
{
	if (!k->why && !k->w->full)
		return true;
	*k->w = *before;
	return false;
}

bool manifest_encode(const Manifest *m, Writer *w)
{
	Walk k = { .w = w };
	Writer before = *w;
	Manifest copy = *m; /* the walk writes only when it reads */

	wr_bytes(w, BYTES("SDM1", 4));
	x_manifest(&k, &copy);
	return walk_done(&k, &before);
}

bool decls_encode(const Decls *d, Writer *w)
{
	Walk k = { .w = w };
	Writer before = *w;
	Decls copy = *d;

	wr_bytes(w, BYTES("SDD1", 4));
	x_decls(&k, &copy);
	return walk_done(&k, &before);
}

static Walk walk_read(Bytes b, Arena *a, const char *magic)
{
	Walk k = { .c = cursor(b), .a = a };

	if (!bytes_eq(cur_bytes(&k.c, 4), BYTES(magic, 4)))
		bad(&k, "bytes of another format");
	return k;
}

static const char *walk_why(Walk *k)
{
	if (k->c.bad)
		bad(k, "it is cut short");
	if (cur_left(&k->c))
		bad(k, "bytes are left over");
	return k->why;
}

const char *manifest_decode(Bytes b, Arena *a, Manifest *ret_m)
{
	Walk k = walk_read(b, a, "SDM1");
	Manifest m = { 0 };

	x_manifest(&k, &m);
	if (walk_why(&k))
		return k.why;
	*ret_m = m;
	return NULL;
}

const char *decls_decode(Bytes b, Arena *a, Decls *ret_d)
{
	Walk k = walk_read(b, a, "SDD1");
	Decls d = { 0 };

	x_decls(&k, &d);
	if (walk_why(&k))
		return k.why;
	*ret_d = d;
	return NULL;
}
