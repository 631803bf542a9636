/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed: of each print() and table() in the text what its values tell, and
 * whose packets went into them (guardrails.md 7).
 *
 * A row for each value, and before them one for the call itself: that it is made, with
 * which separators.  What a test chose counts: a constant that is printed only if a
 * byte was 7 tells that byte.  So does that it is not printed, which no row can say that
 * is looked at when something is printed; Told.all says it of the whole program.
 *
 * `head` is what a result tells that is shown without its fields of content.
 */
#include "lang/label_inside.h"

typedef struct ToldRow {
	const Label *deep, *head;
} ToldRow;

struct ToldSite {
	uint32_t n;
	ToldRow *row;
};

enum { ROWS_MOST = 200, GROUND_DEPTH = 4 };

/* Results show each field by itself; everything else is told as a whole. */
static const Label *head(Facts *f, const Fact *x)
{
	if (x->kind == T_RESULT)
		return x->label;
	if (x->kind == T_LIST && x->cell && x->cell->elem && x->cell->elem->kind == T_RESULT)
		return label_join(f, label_shape(f, x), label_read_label(f, x, x->cell->elem->label));
	return label_deep(f, x);
}

static ToldSite *site_of(Facts *f, const Node *call, uint32_t n)
{
	Labels *ls = f->labels;

	if (!ls->told)
		ls->told = arena_new_n(f->a, ToldSite *, f->in->ast->n_nodes);
	ToldSite *s = ls->told[call->id];

	if (!s) {
		s = ls->told[call->id] = arena_new(f->a, ToldSite);
		s->n = n;
		s->row = arena_new_n(f->a, ToldRow, n);
	}
	return s;
}

/* How it is named when the program goes on. */
static const Label *lasting(Facts *f, const Label *l)
{
	return label_flat(f, l);
}

static void row_add(Facts *f, ToldSite *s, uint32_t i, const Label *deep, const Label *top)
{
	ToldRow *r = &s->row[i < s->n ? i : s->n - 1];

	r->deep = label_join(f, r->deep, lasting(f, deep));
	r->head = label_join(f, r->head, lasting(f, top));
}

void label_told(Facts *f, const Node *call, BuiltinFunc which, const CallArgs *c)
{
	Labels *ls = f->labels;
	const Label *base = label_pc(f);
	bool rows = which == BI_print;
	uint32_t n = rows ? c->nrest : 1;

	if (f->silent || !(rows || which == BI_table))
		return;
	n = n < ROWS_MOST ? n : 1;
	for (uint32_t i = !rows; i < c->sig->n; i++)
		if (c->arg[i] && !(rows && i == 0))
			base = label_join(f, base, label_deep(f, c->arg[i]));
	ToldSite *s = site_of(f, call, n + 1);

	ls->told_all = label_join(f, ls->told_all, lasting(f, base));
	row_add(f, s, 0, base, base);
	for (uint32_t i = 0; rows && i < c->nrest; i++)
		row_add(f, s, n == c->nrest ? i + 1 : 1, label_join(f, base, label_deep(f, c->rest[i])),
			label_join(f, base, head(f, c->rest[i])));
	if (!rows && c->arg[0])
		row_add(f, s, 1, label_join(f, base, label_deep(f, c->arg[0])), label_join(f, base, head(f, c->arg[0])));
}

void label_told_anywhere(Facts *f)
{
	f->labels->told_all = label_join(f, f->labels->told_all, label_any(f, LABEL_CONTENT));
}

void label_told_sent(Facts *f, const Label *l)
{
	if (!f->frame->lib) /* how often a verb sends is what it measures */
		f->labels->told_sent = label_join(f, f->labels->told_sent, lasting(f, l));
}

void label_told_error(Facts *f, const Label *l)
{
	f->labels->told_error = label_join(f, f->labels->told_error, lasting(f, l));
}

/* ---- rows for the VM ---- */

typedef struct Peers {
	bool any;
	VEC(Target) p;
} Peers;

static bool same_target(const Target *a, const Target *b)
{
	return str_eq(a->name, b->name) && ip_eq(a->lo, b->lo) && ip_eq(a->hi, b->hi);
}

static void peer_add(Facts *f, Peers *out, const Target *t)
{
	for (uint32_t i = 0; i < out->p.n; i++)
		if (same_target(&out->p.p[i], t))
			return;
	vec_push(f->a, &out->p, *t);
}

static void peers_add(Facts *f, Peers *out, const Label *l, unsigned depth)
{
	if (!l || l->any || depth == 0) {
		out->any = true;
		return;
	}
	for (uint16_t i = 0; i < l->no; i++) {
		const Origin *o = label_origin_at(f, l->origin[i]);

		if (o->sym)
			peers_add(f, out, f->labels->sym.p[o->sym].ground, depth - 1);
		else
			peer_add(f, out, &o->peer);
	}
}

/* What chose it is part of what it tells. */
static const Label *whole(Facts *f, const Label *l)
{
	WireLabel level = l ? (WireLabel)l->level : LABEL_CLEAN;

	if (!l)
		return NULL;
	if (l->all)
		return label_any(f, LABEL_CONTENT);
	for (uint16_t i = 0; i < l->ns; i++) {
		WireLabel why = (WireLabel)f->labels->site.p[l->site[i]].why->level;

		level = why > level ? why : level;
	}
	return label_made(f, l, level);
}

static ProgTold told_row(Facts *f, const Label *deep, const Label *top)
{
	const Label *l = whole(f, deep), *h = whole(f, top);
	Peers peers = { 0 };

	if (!l)
		return (ProgTold){ 0 };
	peers_add(f, &peers, l, GROUND_DEPTH);
	if (peers.p.n > LABEL_ORIGINS)
		peers.any = true;
	return (ProgTold){ .level = l->level,
			   .head = h ? h->level : LABEL_CLEAN,
			   .any = peers.any,
			   .n = peers.any ? 0 : (uint16_t)peers.p.n,
			   .origin = peers.p.p };
}

void label_told_finish(Facts *f, LabelMarks *marks)
{
	Labels *ls = f->labels;

	marks->told_all = told_row(f, ls->told_all, ls->told_all);
	marks->told_sent = told_row(f, ls->told_sent, ls->told_sent);
	marks->told_error = told_row(f, ls->told_error, ls->told_error);
	if (!ls->told)
		return;
	marks->told = arena_new_n(f->a, LabelTold, f->in->ast->n_nodes);
	for (uint32_t i = 0; i < f->in->ast->n_nodes; i++) {
		const ToldSite *s = ls->told[i];

		if (!s)
			continue;
		ProgTold *row = arena_new_n(f->a, ProgTold, s->n);

		for (uint32_t k = 0; k < s->n; k++)
			row[k] = told_row(f, s->row[k].deep, s->row[k].head);
		marks->told[i] = (LabelTold){ s->n, row };
	}
}
