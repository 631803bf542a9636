/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels and the leak bound: the sets.  First what they are for.
 *
 * Claim.  Take a run of a program that the checker accepted, a peer P, and hold
 * fixed all that P sent, the caller's parameters, the seed and this host's state
 * (the clean inputs).  Whatever the other peers send or do, there are at most
 * 2^leak different sequences of packets that P may get (times of sending apart).
 *
 * Proof.  Let the program run with all possible behaviours of the other peers and
 * draw the tree of what it does: a node for each evaluation of a metered test and
 * for each emission with a metered field; a branch for each outcome, or for each
 * value that the field may have.  Its leaves are the sequences that P may get.
 *
 *  1. Between two nodes on a path nothing that P can see depends on others.  By
 *     induction over the steps of the run, for two runs on the same path of the tree:
 *     a value whose label has no origin but P and no site that is metered for P is
 *     the same in both.  Each operation's result carries the join of the labels of
 *     all that it is computed from: operands, index, key, order (label_value.c,
 *     whose rule for what it does not know is "all of it"); a value that is read out
 *     of a container also carries who chose what is in it (shape); one that is set
 *     where a test chose that we are there carries that test's site (label_flow.c),
 *     and so does what comes behind a break, continue, return or exit() that a test
 *     chose; a variable set on one of two ways is joined with what it was.  Filled-in
 *     fields are functions of (seed, destination, number of the packet to that
 *     destination), and that number is part of what P sees; random draws carry who
 *     chose how often their place was reached before.  What lib's results declare as
 *     less is the one thing that is believed.
 *  2. An emission to P whose fields, packet, list or program point carry a site with
 *     another origin makes that site metered (labels_finish); one with a measured
 *     field of another's is metered itself by the field's width; content is refused,
 *     or metered by its width where reflect() allows it.  So in two runs that are at
 *     the same node and take the same branch P gets the same packets up to the next
 *     node.
 *  3. A test has two outcomes and costs 1 bit whichever way it goes; a field of w
 *     bits has at most 2^w values and costs w.  So a node that costs c has at most 2^c
 *     branches, and by Kraft the tree has at most 2^m leaves, where m is the largest
 *     sum on a path.  The VM stops a path before its sum exceeds `leak`.
 *  4. A run may end early at a place that depends on others: an error, fuel, a bound
 *     that is spent.  What P gets then is a beginning of what it would have got: one
 *     of packets + 1.  That is paid once, ceil(log2(packets + 1)), where it can be.
 *
 * Decisions on P's own answers are no nodes of P's tree, whatever they send to P:
 * that is why a verb's own adaptivity is free.  They are nodes in no other peer's
 * tree either unless they reach an effect there, and then they are metered.
 */
#include "lang/label_inside.h"

/* ---- sorted sets ---- */

static void set_add(IdSet *s, uint16_t x, uint16_t most)
{
	uint16_t i = s->n;

	while (i > 0 && s->v[i - 1] > x)
		i--;
	if (i > 0 && s->v[i - 1] == x)
		return;
	if (s->n == most) {
		s->full = true;
		return;
	}
	memmove(&s->v[i + 1], &s->v[i], (size_t)(s->n - i) * sizeof *s->v);
	s->v[i] = x;
	s->n++;
}

static void set_add_all(IdSet *s, const uint16_t *p, uint16_t n, uint16_t most)
{
	for (uint16_t i = 0; i < n; i++)
		set_add(s, p[i], most);
}

/* ---- interning ---- */

static const Label *intern(Facts *f, WireLabel level, bool any, bool all, IdSet *origins, IdSet *sites)
{
	Labels *ls = f->labels;
	uint16_t key[4 + LABEL_ORIGINS + LABEL_SITES];

	if (any || origins->full || level == LABEL_CLEAN)
		origins->n = 0;
	any |= origins->full;
	all |= sites->full;
	if (all)
		sites->n = 0;
	if (level == LABEL_CLEAN && !sites->n && !all)
		return NULL;
	key[0] = (uint16_t)((unsigned)level | (any ? 16u : 0) | (all ? 32u : 0));
	key[1] = origins->n;
	memcpy(&key[2], origins->v, origins->n * sizeof *key);
	memcpy(&key[2 + origins->n], sites->v, sites->n * sizeof *key);
	Bytes b = BYTES(key, (2u + origins->n + sites->n) * sizeof *key);
	uint64_t *slot = map_get(&ls->sets, b);

	if (slot)
		return (const Label *)(uintptr_t)*slot;
	uint16_t *kept = arena_copy(f->a, key, b.n);
	Label *l = arena_new(f->a, Label);

	*l = (Label){ .id = ls->set.n + 1,
		      .level = (uint8_t)level,
		      .any = any,
		      .all = all,
		      .no = origins->n,
		      .ns = sites->n,
		      .origin = kept + 2,
		      .site = kept + 2 + origins->n };
	vec_push(f->a, &ls->set, l);
	*map_put(&ls->sets, BYTES(kept, b.n)) = (uint64_t)(uintptr_t)l;
	return l;
}

static void sets_of(const Label *l, IdSet *origins, IdSet *sites)
{
	set_add_all(origins, l->origin, l->no, LABEL_ORIGINS);
	set_add_all(sites, l->site, l->ns, LABEL_SITES);
}

static const Label *join_new(Facts *f, const Label *a, const Label *b)
{
	IdSet origins = { 0 }, sites = { 0 };
	WireLabel level = a->level > b->level ? a->level : b->level;

	facts_step(f, 1);
	sets_of(a, &origins, &sites);
	sets_of(b, &origins, &sites);
	return intern(f, level, a->any || b->any, a->all || b->all, &origins, &sites);
}

const Label *label_join(Facts *f, const Label *a, const Label *b)
{
	if (a == b || !b)
		return a;
	if (!a)
		return b;
	uint64_t key = a->id < b->id ? (uint64_t)a->id << 32 | b->id : (uint64_t)b->id << 32 | a->id;
	uint64_t *slot = map_get(&f->labels->joins, BYTES(&key, sizeof key));

	if (slot)
		return (const Label *)(uintptr_t)*slot;
	const Label *l = join_new(f, a, b);

	*map_put(&f->labels->joins, BYTES(arena_copy(f->a, &key, sizeof key), sizeof key)) =
		(uint64_t)(uintptr_t)l;
	return l;
}

const Label *label_of(Facts *f, WireLabel level, uint16_t origin)
{
	IdSet origins = { .v = { origin }, .n = 1 }, sites = { 0 };

	return intern(f, level, false, false, &origins, &sites);
}

const Label *label_any(Facts *f, WireLabel level)
{
	IdSet none = { 0 }, sites = { 0 };

	return intern(f, level, true, false, &none, &sites);
}

const Label *label_site(Facts *f, uint16_t site)
{
	IdSet origins = { 0 }, sites = { .v = { site }, .n = 1 };

	return intern(f, LABEL_CLEAN, false, false, &origins, &sites);
}

const Label *label_made(Facts *f, const Label *l, WireLabel level)
{
	IdSet origins = { 0 }, sites = { 0 }, none = { 0 };
	bool any = false;

	if (!l || level == LABEL_CLEAN)
		return NULL;
	any = l->any || l->all;
	sets_of(l, &origins, &sites);
	for (uint16_t i = 0; i < sites.n; i++) {
		const Label *why = f->labels->site.p[sites.v[i]].why;

		any |= why->any;
		set_add_all(&origins, why->origin, why->no, LABEL_ORIGINS);
	}
	return intern(f, level, any, false, &origins, &none);
}

const Label *label_all_sites(Facts *f)
{
	IdSet origins = { 0 }, sites = { 0 };

	return intern(f, LABEL_CLEAN, false, true, &origins, &sites);
}

const Label *label_parts(Facts *f, const Label *l)
{
	IdSet origins = { 0 }, sites = { 0 };

	set_add_all(&origins, l->origin, l->no, LABEL_ORIGINS);
	return intern(f, (WireLabel)l->level, l->any, false, &origins, &sites);
}

const Label *label_minus_sites(Facts *f, const Label *l, const Label *known)
{
	IdSet origins = { 0 }, sites = { 0 };

	if (!l || !known || !l->ns)
		return l;
	set_add_all(&origins, l->origin, l->no, LABEL_ORIGINS);
	for (uint16_t i = 0, k = 0; i < l->ns; i++) {
		while (k < known->ns && known->site[k] < l->site[i])
			k++;
		if (!known->all && (k == known->ns || known->site[k] != l->site[i]))
			set_add(&sites, l->site[i], LABEL_SITES);
	}
	return intern(f, (WireLabel)l->level, l->any, l->all, &origins, &sites);
}

/* ---- facts ---- */

const Fact *label_set(Facts *f, const Fact *x, const Label *l)
{
	if (x->label == l || x->kind == T_NEVER || x->kind == T_ERROR)
		return x;
	Fact *y = mk_copy(f, x);

	y->label = l;
	return y;
}

/* What is said of a union is said of each of its alternatives. */
static const Fact *add_to_ways(Facts *f, const Fact *x, const Label *l)
{
	const Fact **item = arena_new_n(f->a, const Fact *, x->n);

	for (uint32_t i = 0; i < x->n; i++)
		item[i] = label_add(f, x->item[i], l);
	return mk_items(f, x, item);
}

const Fact *label_add(Facts *f, const Fact *x, const Label *l)
{
	if (l && x->kind == T_UNION)
		x = add_to_ways(f, x, l);
	return l && x->label != l ? label_set(f, x, label_join(f, x->label, l)) : x;
}

/* ---- origins ---- */

static Bytes origin_key(Facts *f, const Origin *o)
{
	Sb b = sb(f->a);

	sb_printf(&b, "%u %u %d %u ", o->sym, o->proto, (int)o->port, o->peer.lo.v);
	if (!o->sym) {
		sb_str(&b, (Str){ (const char *)o->peer.lo.b, 16 });
		sb_str(&b, (Str){ (const char *)o->peer.hi.b, 16 });
		sb_str(&b, o->peer.name);
	}
	return str_bytes(sb_done(&b));
}

uint16_t label_origin(Facts *f, Origin o)
{
	Labels *ls = f->labels;
	uint64_t *slot = map_get(&ls->origins, origin_key(f, &o));

	if (slot)
		return (uint16_t)*slot;
	if (ls->origin.n == UINT16_MAX)
		return UINT16_MAX;
	uint16_t id = (uint16_t)ls->origin.n;
	Origin *kept = vec_push(f->a, &ls->origin, o);

	*map_put(&ls->origins, origin_key(f, &o)) = id;
	kept->addr = id;
	if (o.proto != ORIGIN_ADDR) {
		o.proto = ORIGIN_ADDR;
		o.port = ORIGIN_NO_PORT;
		uint16_t addr = label_origin(f, o);

		ls->origin.p[id].addr = addr;
	}
	return id;
}

const Origin *label_origin_at(const Facts *f, uint16_t id)
{
	return &f->labels->origin.p[id];
}

static bool one_address(const Origin *o)
{
	return o->sym || o->peer.name.n || ip_eq(o->peer.lo, o->peer.hi);
}

/* A verb's peer is who was given to it, where that is one; whoever connects is who may. */
static uint16_t same_peer(Facts *f, uint16_t addr)
{
	const Origin *o = label_origin_at(f, addr);
	const OnePeer *p = &f->labels->sym.p[o->sym];

	if (!o->sym || !p->ground || p->ground->any || p->ground->no != 1 ||
	    !one_address(label_origin_at(f, p->ground->origin[0])))
		return addr;
	return same_peer(f, p->ground->origin[0]);
}

const Label *label_peers(Facts *f, const Label *l)
{
	IdSet origins = { 0 }, sites = { 0 };

	if (!l)
		return NULL;
	for (uint16_t i = 0; i < l->no; i++)
		set_add(&origins, same_peer(f, label_origin_at(f, l->origin[i])->addr), LABEL_ORIGINS);
	return intern(f, l->level == LABEL_CLEAN ? LABEL_CLEAN : LABEL_MEASURED, l->any, false, &origins,
		      &sites);
}

bool label_own(Facts *f, const Label *l, const Label *peers)
{
	const Label *a = label_peers(f, l), *b = label_peers(f, peers);

	if (!a)
		return true;
	return a == b && !a->any && a->no == 1 && one_address(label_origin_at(f, a->origin[0]));
}

void labels_init(Facts *f)
{
	Labels *ls = arena_new(f->a, Labels);

	ls->sets = ls->joins = ls->origins = ls->sites = ls->draws = (Map){ .a = f->a };
	ls->value = arena_new_n(f->a, const Fact *, f->in->ast->n_nodes);
	ls->set_by = arena_new_n(f->a, const Node *, f->in->scopes->n_vars + 1);
	ls->set_by_fn = arena_new_n(f->a, const Node *, f->in->ast->n_nodes);
	vec_push(f->a, &ls->sym, (OnePeer){ 0 });
	f->labels = ls;
}

void labels_walk_begin(Facts *f)
{
	Labels *ls = f->labels;

	ls->pc = ls->cont = ls->brk = ls->ret = ls->ended = ls->may_end = NULL;
	ls->wait_ns = 0;
	ls->waited.n = ls->loads.n = 0;
}
