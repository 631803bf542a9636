/* SPDX-License-Identifier: Apache-2.0
 *
 * What values carry: the label of each expression's value, of what containers hold
 * and of packets' fields.
 *
 * The rule for what has no rule of its own: a value tells all that its operands and
 * everything in them tell.  So a new built-in is too careful, never too trusting.
 */
#include "lang/label_inside.h"

#include "base/rng.h"

enum { DEPTH = 6 };

/* ---- all that a value tells ---- */

static const Label *deep(Facts *f, const Fact *x, unsigned depth);

const Label *label_content(Facts *f, const Stack *s)
{
	return s->content ? s->content : label_any(f, LABEL_CONTENT);
}

static const Label *stack_deep(Facts *f, const Stack *s, unsigned depth)
{
	const Label *l = s->built ? s->tail : label_content(f, s);

	for (uint32_t i = 0; s->built && i < s->nfields; i++)
		l = label_join(f, l, deep(f, s->field[i].value, depth));
	return l;
}

static const Label *cell_deep(Facts *f, const Cell *c, unsigned depth)
{
	const Label *l = label_join(f, label_join(f, c->shape, c->count), deep(f, c->elem, depth));

	l = label_join(f, l, deep(f, c->key, depth));
	for (uint32_t i = 0; i < c->field.n; i++)
		l = label_join(f, l, deep(f, c->field.p[i].value, depth));
	return l;
}

const Label *label_answers(Facts *f, const Fact *x)
{
	const Label *l = NULL;

	for (uint32_t i = 0; x->n && i < x->item[0]->n; i++)
		l = label_join(f, l, label_answer(f, x->item[0]->stack[i]));
	return l ? l : label_any(f, LABEL_CONTENT);
}

static const Label *deep(Facts *f, const Fact *x, unsigned depth)
{
	const Label *l = x->label;

	if (depth == 0)
		return label_any(f, LABEL_CONTENT);
	if (x->cell)
		return label_join(f, l, label_read_label(f, x, cell_deep(f, x->cell, depth - 1)));
	switch ((FactKind)x->kind) {
	case T_PACKET:
		for (uint32_t i = 0; i < x->n; i++)
			l = label_join(f, l, stack_deep(f, x->stack[i], depth - 1));
		return l;
	case T_ANSWERS:
		return label_join(f, l, label_answers(f, x));
	case T_CONN:
	case T_LISTENER:
	case T_UDP:
	case T_LOAD:
		return label_join(f, l, label_live(f, x));
	case T_RESULT:
		if (!x->n)
			return label_any(f, LABEL_CONTENT);
		break;
	case T_TUPLE:
	case T_UNION:
	case T_STATS:
	case T_FUNC:
		break;
	default:
		return l;
	}
	for (uint32_t i = 0; i < x->n; i++)
		l = label_join(f, l, deep(f, x->item[i], depth - 1));
	return l;
}

const Label *label_deep(Facts *f, const Fact *x)
{
	return deep(f, x, DEPTH);
}

const Label *label_stack(Facts *f, const Stack *s)
{
	return stack_deep(f, s, DEPTH);
}

/* What a verb's list tells outside of lib: what chose it in there is part of it. */
static const Label *outside(Facts *f, const Cell *c, const Label *l)
{
	bool lib = c->made && facts_in_lib(f, c->made) && !f->frame->lib;

	return l && lib && (l->ns || l->all)
		       ? label_made(f, l, l->level == LABEL_CONTENT ? LABEL_CONTENT : LABEL_MEASURED)
		       : l;
}

/* What the order and the membership of a container tell. */
static const Label *order_label(Facts *f, const Fact *x)
{
	return label_join(f, x->label, label_read_label(f, x, outside(f, x->cell, x->cell->shape)));
}

const Label *label_shape(Facts *f, const Fact *x)
{
	const Label *l = NULL;

	if (x->cell)
		return label_join(f, order_label(f, x), label_read_label(f, x, outside(f, x->cell, x->cell->count)));
	if (x->kind == T_UNION) {
		for (uint32_t i = 0; i < x->n; i++)
			l = label_join(f, l, label_shape(f, x->item[i]));
		return label_join(f, l, x->label);
	}
	if ((x->kind == T_STR || x->kind == T_BYTES) && !x->none && x->len.lo == x->len.hi)
		return NULL;
	return x->kind == T_ANSWERS ? label_deep(f, x) : x->label;
}

/* Structure alone: of a container without its items, of a packet without its fields. */
static const Label *outer(Facts *f, const Fact *x)
{
	switch ((FactKind)x->kind) {
	case T_LIST:
	case T_SET:
	case T_DICT:
		return label_shape(f, x);
	case T_PACKET:
	case T_TUPLE:
	case T_RESULT:
		return x->label;
	default:
		return label_deep(f, x);
	}
}

/* ---- items ---- */

void label_touch(Facts *f, Cell *c, const Label *l)
{
	const Label *now = label_join(f, label_join(f, c->shape, l), label_pc(f));

	if (now == c->shape)
		return;
	c->shape = now;
	cell_grew(f, c);
}

/* Its length tells l. */
static const Fact *count_touch(Facts *f, const Fact *x, const Label *l)
{
	Cell *c = x->cell;
	const Label *now = c ? label_join(f, c->count, l) : NULL;

	if (c && now != c->count) {
		c->count = now;
		cell_grew(f, c);
	}
	return x;
}

const Fact *label_item(Facts *f, const Fact *c, const Fact *x)
{
	for (uint32_t i = 0; c->kind == T_UNION && i < c->n; i++)
		x = label_item(f, c->item[i], x);
	if (c->cell) {
		x = label_read(f, c, x);
		x = label_set(f, x, outside(f, c->cell, x->label));
	}
	return label_add(f, x, c->cell ? order_label(f, c) : c->label);
}

/* A text and the address that it is are the same one. */
static const Fact *same_one(Facts *f, const Fact *was, const Fact *x)
{
	if (!was->one || x->one == was->one || (x->kind != T_IP && x->kind != T_STR))
		return x;
	Fact *y = mk_copy(f, x);

	y->one = was->one;
	return y;
}

const Fact *label_like(Facts *f, const Fact *was, const Fact *x)
{
	if (x == was)
		return x;
	x = label_add(f, x, was->cell || was->kind == T_TUPLE ? label_deep(f, was) : was->label);
	return same_one(f, was, x);
}

/* ---- results of lib: the one place where labels are believed ---- */

static WireLabel declared(const ResultItem *d)
{
	if (d->label && str_is(d->label->text, "clean"))
		return LABEL_CLEAN;
	return d->label && str_is(d->label->text, "measured") ? LABEL_MEASURED : LABEL_CONTENT;
}

const Fact *label_result_field(Facts *f, const Fact *x, const ResultItem *d, const Node *call, uint32_t i)
{
	WireLabel level = declared(d);
	const Label *l = label_made(f, label_deep(f, x), level);

	if (x->kind == T_LIST && level != LABEL_CONTENT) {
		const Fact *y = mk_list(f, call, 64 + i, label_set(f, x->cell->elem, l), fact_len(x));

		cell_changed(f, y->cell);
		x = y;
	}
	return label_set(f, x, l);
}

const Fact *label_from_verb(Facts *f, const Node *def, const Fact *const *arg, const Fact *x)
{
	int p = label_is_verb(f, def) ? label_peer_param(def) : -1;

	x = label_verb_end(f, p < 0 ? NULL : arg[p], x);
	const Label *l = x->label;

	if (!l || !(l->ns || l->all) || !facts_in_lib(f, def) || f->frame->lib)
		return x;
	return label_set(f, x, label_made(f, l, l->level == LABEL_CONTENT ? LABEL_CONTENT : LABEL_MEASURED));
}

const Label *label_args_shape(Facts *f, const CallArgs *c)
{
	const Label *l = c->self ? label_shape(f, c->self) : NULL;

	for (uint32_t i = 0; i < c->sig->n; i++)
		if (c->arg[i] && c->arg[i]->kind != T_FUNC)
			l = label_join(f, l, label_shape(f, c->arg[i]));
	for (uint32_t i = 0; i < c->nrest; i++)
		l = label_join(f, l, label_shape(f, c->rest[i]));
	return l;
}

const Fact *label_called(Facts *f, const Fact *x)
{
	f->labels->called = label_join(f, f->labels->called, label_deep(f, x));
	return x;
}

const Fact *label_of_type(Facts *f, const Fact *x, const Fact *const *arg, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		x = label_add(f, x, label_deep(f, arg[i]));
	return x;
}

const Fact *label_sr1(Facts *f, const Fact *what, const Fact *probe, const Fact *x)
{
	const Label *l = outer(f, what);

	for (uint32_t i = 0; probe->kind == T_PACKET && i < probe->n; i++)
		l = label_join(f, l, label_made(f, label_answer(f, probe->stack[i]), LABEL_MEASURED));
	return label_add(f, x, l);
}

/* ---- the value of an expression ---- */

const Fact *label_seen(const Facts *f, const Node *n)
{
	return n ? f->labels->value[n->id] : NULL;
}

const Label *label_deep_of(Facts *f, const Node *n)
{
	const Fact *x = label_seen(f, n);

	return x ? label_deep(f, x) : NULL;
}

static const Label *outer_of(Facts *f, const Node *n)
{
	const Fact *x = label_seen(f, n);

	return x ? outer(f, x) : NULL;
}

/* Which layers it has. */
static const Label *layers_of(Facts *f, const Fact *p)
{
	const Label *l = p->label;

	for (uint32_t i = 0; p->kind == T_PACKET && i < p->n; i++)
		if (!p->stack[i]->built)
			l = label_join(f, l, label_content(f, p->stack[i]));
	return l;
}

const Label *label_compare(Facts *f, const Node *n)
{
	const Label *l = label_deep_of(f, n->compare.left);
	CmpOp op = n->compare.link[0].op;
	const Fact *x = label_seen(f, n->compare.left), *y = label_seen(f, n->compare.link[0].right);

	if (n->compare.n == 1 && (op == CMP_IS_NONE || op == CMP_IS_NOT_NONE))
		return x ? x->label : NULL;
	if (n->compare.n == 1 && x && x->kind == T_PROTO && y)
		return layers_of(f, y);
	if (n->compare.n == 1 && y && y->kind == T_NONE && x)
		return x->label;
	for (uint32_t i = 0; i < n->compare.n; i++)
		l = label_join(f, l, label_deep_of(f, n->compare.link[i].right));
	return l;
}

/* x was made of what lies in c: nothing in it is newer. */
static const Fact *as_old(Facts *f, const Fact *x, const Fact *c)
{
	if (!x->cell || !c->cell || c->gen >= x->gen)
		return x;
	Fact *y = mk_copy(f, x);

	y->gen = c->gen;
	return y;
}

static bool structured(const Fact *x)
{
	return x->kind == T_LIST || x->kind == T_DICT || x->kind == T_TUPLE || x->kind == T_PACKET;
}

const Fact *label_binary(Facts *f, const Fact *a, const Fact *b, const Fact *x)
{
	if (x->kind == T_ERROR || x->kind == T_NEVER)
		return x;
	x = as_old(f, as_old(f, x, a), b);
	if (x->kind == T_PACKET)
		return label_add(f, x,
				 label_join(f, structured(a) ? outer(f, a) : NULL, structured(b) ? outer(f, b) : NULL));
	if (structured(x))
		return label_add(f, x, label_join(f, outer(f, a), outer(f, b)));
	return label_add(f, x, label_join(f, label_deep(f, a), label_deep(f, b)));
}

static const Fact *value_binary(Facts *f, const Node *n, const Fact *x)
{
	const Fact *a = label_seen(f, n->binary.left), *b = label_seen(f, n->binary.right);

	return a && b ? label_binary(f, a, b, x) : x;
}

static const Fact *value_text(Facts *f, const Node *n, const Fact *x)
{
	const Label *l = NULL;

	for (uint32_t i = 0; i < n->list.n; i++) {
		const Node *p = n->list.p[i];

		if (p->kind == N_FIELD)
			l = label_join(f, label_join(f, l, label_deep_of(f, p->field.value)), label_deep_of(f, p->field.spec));
	}
	return label_add(f, x, l);
}

static const Fact *value_index(Facts *f, const Node *n, const Fact *x)
{
	const Fact *c = label_seen(f, n->index.obj);
	const Node *i = n->index.index;
	if (!c)
		return x;
	if (i->kind != N_SLICE && c->kind == T_PACKET)
		return label_add(f, x, c->label);
	if (i->kind != N_SLICE || !x->cell || !c->cell)
		return label_add(f, label_item(f, c, x), label_index(f, n));
	x = count_touch(f, as_old(f, x, c), label_join(f, label_shape(f, c), label_index(f, n)));
	return label_add(f, label_item(f, c, x),
			 label_join(f, label_deep_of(f, i->slice.lo), label_deep_of(f, i->slice.step)));
}

const Label *label_index(Facts *f, const Node *target)
{
	const Node *i = target->index.index;

	if (i->kind != N_SLICE)
		return label_deep_of(f, i);
	return label_join(f, label_join(f, label_deep_of(f, i->slice.lo), label_deep_of(f, i->slice.hi)),
			  label_deep_of(f, i->slice.step));
}

/* An address as an answer gave it: it may be a destination, which costs leak. */
static const Fact *taken(Facts *f, const Node *n, const Fact *x)
{
	Str name = n->attr.sym->text;

	if (x->kind != T_IP || x->vals || !(str_is(name, "src") || str_is(name, "addr") || str_is(name, "reporter")))
		return x;
	Fact *y = mk_copy(f, x);

	y->taken = true;
	return y;
}

static const Fact *value_attr(Facts *f, const Node *n, const Fact *x)
{
	const Fact *o = label_seen(f, n->attr.obj);

	if (!o || o->kind == T_ANSWERS)
		return x;
	if (fact_is_live(o) || fact_told_by_row(o)) /* label_live_attr(), label_told_attr() have said it */
		return x;
	x = taken(f, n, x);
	return label_add(f, x, structured(o) || o->kind == T_RESULT ? o->label : label_deep(f, o));
}

/* ---- calls ---- */

/* Made of the items themselves, which carry what they tell; in their places too. */
static bool keeps_places(BuiltinFunc b)
{
	return b == BI_list || b == BI_enumerate || b == BI_zip || b == BI_map;
}

static bool keeps_items(BuiltinFunc b)
{
	return keeps_places(b) || b == BI_tuple || b == BI_sorted || b == BI_reversed || b == BI_filter ||
	       b == BI_set || b == BI_dict;
}

/* Items decide on membership or order. */
static bool by_items(BuiltinFunc b)
{
	return b == BI_sorted || b == BI_set || b == BI_dict;
}

const Label *label_args(Facts *f, const Node *n, const Label *(*of)(Facts *f, const Node *n))
{
	const Label *l = NULL;

	for (uint32_t i = 0; i < n->call.n; i++)
		l = label_join(f, l, of(f, n->call.arg[i].value));
	return l;
}

static const Label *draw_label(Facts *f, const Node *n)
{
	uint64_t key = n->id;
	Map *m = &f->labels->draws;
	uint64_t *slot = map_get(m, BYTES(&key, sizeof key));

	if (!slot)
		slot = map_put(m, BYTES(arena_copy(f->a, &key, sizeof key), sizeof key));
	const Label *was = label_flat(f, (const Label *)(uintptr_t)*slot),
		    *now = label_flat(f, label_join(f, was, label_pc(f)));

	if ((uint64_t)(uintptr_t)now != *slot) {
		*slot = (uint64_t)(uintptr_t)now;
		f->grew = f->grew_at_all = true;
	}
	return now;
}

static const Label *shape_of(Facts *f, const Node *n)
{
	const Fact *x = label_seen(f, n);

	return !x ? NULL : x->kind == T_PACKET ? label_deep(f, x) : label_shape(f, x);
}

/* Where it stops tells of its length only. */
static const Fact *value_range(Facts *f, const Node *n, const Fact *x)
{
	const Label *l = NULL;

	count_touch(f, x, label_args(f, n, label_deep_of));
	for (uint32_t i = 0; n->call.n > 1 && i < n->call.n; i += 2)
		l = label_join(f, l, label_deep_of(f, n->call.arg[i].value));
	return label_add(f, x, l);
}

static bool has_key(const Node *n)
{
	for (uint32_t i = 0; i < n->call.n; i++)
		if (n->call.arg[i].name && str_is(n->call.arg[i].name->text, "key"))
			return true;
	return false;
}

static const Fact *value_builtin(Facts *f, const Node *n, BuiltinFunc b, const Fact *x)
{
	const Label *called = f->labels->called;

	switch (b) {
	case BI_print:
	case BI_table:
	case BI_exit:
	case BI_fail:
	case BI_warn:
	case BI_send:
	case BI_sr1:
	case BI_at_ttl:
	case BI_connect: /* what it is given goes to its peer: paid or refused there */
	case BI_datagram:
	case BI_listen:
	case BI_load:
		return x;
	case BI_sr:
		return label_add(f, x, label_join(f, called, label_args(f, n, outer_of)));
	case BI_len:
		return label_add(f, x, label_args(f, n, shape_of));
	case BI_sniff:
	case BI_neighbors:
		return label_add(f, x, label_any(f, LABEL_CONTENT));
	case BI_now:
		return label_add(f, x, labels_peers(f));
	case BI_ip:
		if (n->call.n == 1 && label_seen(f, n->call.arg[0].value))
			x = same_one(f, label_seen(f, n->call.arg[0].value), x);
		return label_add(f, x, label_args(f, n, label_deep_of));
	case BI_l3:
	case BI_echo:
		return label_add(f, x, x->kind == T_LIST ? label_args(f, n, outer_of) : NULL);
	case BI_random_bytes:
	case BI_randint:
		return label_add(f, x, label_join(f, draw_label(f, n), label_args(f, n, label_deep_of)));
	default:
		break;
	}
	if (b == BI_range)
		return value_range(f, n, x);
	if (keeps_places(b) && x->cell)
		return label_add(f, count_touch(f, x, label_args(f, n, outer_of)),
				 b == BI_enumerate && n->call.n > 1 ? label_deep_of(f, n->call.arg[1].value) : NULL);
	bool keyed = has_key(n) && (b == BI_sorted || b == BI_max || b == BI_min);
	const Label *l = label_args(f, n, keyed || (keeps_items(b) && !by_items(b)) ? outer_of : label_deep_of);

	return label_add(f, x, label_join(f, l, called));
}

static const Fact *value_method(Facts *f, const Node *n, const Fact *x)
{
	const Fact *self = label_seen(f, n->call.fn->attr.obj);
	static const char *const keep[] = { "items", "keys", "values", "copy", "get", "pop", "popitem", "setdefault",
					    "getlayer" };
	bool keeps = false;

	if (!self)
		return x;
	if (fact_is_live(self))
		return label_live_method(f, self, n, x);
	for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
		keeps |= str_is(n->call.fn->attr.sym->text, keep[i]);
	const Label *l = label_args(f, n, label_deep_of);

	if (!(self->cell || self->kind == T_PACKET) || !keeps)
		return label_add(f, x, label_join(f, l, label_deep(f, self)));
	if (self->kind == T_PACKET)
		return label_add(f, x, layers_of(f, self));
	return label_add(f, label_item(f, self, as_old(f, x, self)), l);
}

static const Fact *value_call(Facts *f, const Node *n, const Fact *x)
{
	const Node *fn = n->call.fn;

	if (fn->kind == N_ATTR)
		return value_method(f, n, x);
	if (fn->kind != N_NAME)
		return label_add(f, x, label_args(f, n, label_deep_of));
	switch (fn->name.ref) {
	case REF_BUILTIN:
		return value_builtin(f, n, (BuiltinFunc)fn->name.index, x);
	case REF_PROTO:
		return x->kind == T_LIST ? label_add(f, x, label_args(f, n, outer_of)) : x;
	case REF_OPTION:
		return label_add(f, x, label_args(f, n, label_deep_of));
	default: /* functions: what they return carries it; results: their fields do */
		return x;
	}
}

/* A method that changes its list, dict or set: what decides what is in it then. */
void label_method(Facts *f, BuiltinMethod which, const CallArgs *c)
{
	Cell *cell = c->self->cell;
	/* which one of several it is that changes */
	const Label *l = label_join(f, f->labels->called, c->self->label);

	if (!cell)
		return;
	for (uint32_t i = 0; i < c->sig->n; i++) {
		bool item = (which == M_LIST_append && i == 0) || (which == M_LIST_insert && i == 1) ||
			    (which == M_DICT_setdefault && i == 1);
		bool items = which == M_LIST_extend || which == M_DICT_update;

		if (c->arg[i] && !item)
			l = label_join(f, l, items ? outer(f, c->arg[i]) : label_deep(f, c->arg[i]));
	}
	if ((which == M_LIST_sort && !c->arg[0]) || which == M_LIST_remove || builtin_methods[which].owner == OWNER_SET)
		l = label_join(f, l, label_deep(f, cell->elem));
	if (builtin_methods[which].owner == OWNER_DICT)
		l = label_join(f, l, label_deep(f, cell->key));
	label_touch(f, cell, l);
}

const Label *label_begin(Facts *f)
{
	const Label *outer = f->labels->called;

	f->labels->called = NULL;
	return outer;
}

const Fact *label_note(Facts *f, const Node *n, const Fact *x)
{
	return f->labels->value[n->id] = x;
}

const Fact *label_refined(Facts *f, const Node *path, const Fact *x)
{
	const Fact *was = label_seen(f, path);

	return was ? same_one(f, was, label_add(f, x, was->label)) : x;
}

static const Fact *value_labelled(Facts *f, Node *n, const Fact *x)
{
	switch ((NodeKind)n->kind) {
	case N_FSTRING:
		x = value_text(f, n, x);
		break;
	case N_UNARY:
		x = label_add(f, x, n->op == UN_NOT ? label_test(f, n) : label_deep_of(f, n->unary.value));
		break;
	case N_BINARY:
		x = value_binary(f, n, x);
		break;
	case N_COMPARE:
		x = label_add(f, x, label_compare(f, n));
		break;
	case N_INDEX:
		x = value_index(f, n, x);
		break;
	case N_ATTR:
		x = value_attr(f, n, x);
		break;
	case N_CALL:
		x = value_call(f, n, x);
		break;
	case N_SET:
	case N_SETCOMP:
		if (x->cell)
			label_touch(f, x->cell, label_deep(f, x->cell->elem));
		break;
	default:
		break;
	}
	return x;
}

const Fact *label_value(Facts *f, Node *n, const Fact *x, const Label *outer)
{
	if (x->kind != T_ERROR && x->kind != T_NEVER) {
		x = value_labelled(f, n, x);
		label_may_fail(f, n, x);
	}
	f->labels->called = outer;
	return label_note(f, n, x);
}
