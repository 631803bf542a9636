/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: names, constants, displays, comprehensions, indexing, attributes.
 */
#include "lang/facts_inside.h"

/* ---- None ---- */

const Fact *facts_need(Facts *f, const Fact *x, const Node *n)
{
	if (!x->none || x->kind == T_ANY)
		return x;
	bool path = facts_path_var(f, n) != NULL;
	Diag *d;

	if (x->kind == T_NONE)
		d = facts_say(f, "E-NONE", n, "this is None here");
	else if (path)
		d = facts_say(f, "E-NONE", n, "%.*s may be None here (%.*s)", STR_ARG(facts_source(f, n)),
			      STR_ARG(facts_text_of(f, x)));
	else
		d = facts_say(f, "E-NONE", n, "this may be None (%.*s)", STR_ARG(facts_text_of(f, x)));
	if (x->kind == T_NONE) {
		d->hint = n->kind == N_CALL ? STR("a default says what else it is: d.get(key, 0)")
					    : STR("sort(), append() and the like change the list and give None: "
						  "sorted(x) is a new list");
		return facts_bad(f);
	}
	if (path) {
		facts_fix_guard(f, d, n, facts_source(f, n));
		d->hint = str_printf(f->a, "test it first: `if %.*s:`", STR_ARG(facts_source(f, n)));
		env_refine(f, n, mk_some(f, x)); /* told once */
	} else {
		d->hint = STR("give it a name and test that first: `if name:`");
	}
	return facts_bad(f);
}

const Fact *facts_ex_value(Facts *f, Node *n)
{
	return facts_need(f, facts_ex(f, n), n);
}

/* ---- names ---- */

static const Fact *name_fixed(Facts *f, const Node *n)
{
	static const FactKind kinds[] = {
		[REF_FUNC] = T_FUNC, [REF_PROTO] = T_PROTO, [REF_BUILTIN] = T_TYPE
	};
	Fact *x = mk_copy(f, mk(f, kinds[n->name.ref]));

	if (n->name.ref == REF_FUNC) {
		x->node = n->name.node;
		x->from_fn = true;
	} else if (n->name.ref == REF_PROTO) {
		x->view = (uint8_t)n->name.index;
	} else {
		x->index = (uint16_t)n->name.index;
		if (x->index == BI_print || x->index == BI_table)
			label_told_anywhere(f);
	}
	return x;
}

static const Fact *literal(Facts *f, const Node *n)
{
	switch ((NodeKind)n->kind) {
	case N_INT:
		return mk_range(f, T_INT, n->i, n->i);
	case N_FLOAT:
		return mk_float(f, n->f);
	case N_DURATION:
		return mk_range(f, T_DURATION, n->i, n->i);
	case N_BOOL:
		return mk_range(f, T_BOOL, n->i, n->i);
	case N_STR:
		return mk_str(f, T_STR, n->s);
	case N_BYTES:
		return mk_str(f, T_BYTES, n->s);
	default:
		return name_fixed(f, n);
	}
}

/* What a literal or the name of a function, layer or built-in is does not depend on where
 * the walk came from: made once a node, however often loops are walked. */
static const Fact *ex_fixed(Facts *f, const Node *n)
{
	const Fact **slot = &f->fixed[n->id];

	if (!*slot)
		*slot = literal(f, n);
	return *slot;
}

static const Fact *ex_name(Facts *f, Node *n)
{
	switch (n->name.ref) {
	case REF_VAR: {
		const Fact *v = env_get(f, n->name.var);

		if (v)
			return v;
		if (f->env->dead)
			return mk(f, T_NEVER);
		facts_say(f, "E-NAME", n, "%.*s has no value yet here", STR_ARG(n->name.sym->text));
		return facts_bad(f);
	}
	case REF_FUNC:
	case REF_PROTO:
	case REF_BUILTIN:
		return ex_fixed(f, n);
	case REF_NONE:
		return facts_bad(f); /* reported by scope */
	default:
		facts_say(f, "E-TYPE", n, "%.*s is no value: it can only be called",
			  STR_ARG(n->name.sym->text));
		return facts_bad(f);
	}
}

/* ---- displays ---- */

static bool hashable(const Fact *x, unsigned depth)
{
	if (x->kind == T_LIST || x->kind == T_SET || x->kind == T_DICT || depth > 8)
		return false;
	for (uint32_t i = 0; (x->kind == T_TUPLE || x->kind == T_UNION) && i < x->n; i++)
		if (!hashable(x->item[i], depth + 1))
			return false;
	return true;
}

const Fact *facts_key(Facts *f, const Fact *x, const Node *n)
{
	if (hashable(x, 0))
		return x;
	Diag *d = facts_say(f, "E-TYPE", n, "%.*s can change, so it is no key and no item of a set",
			    STR_ARG(facts_a_text(f, x)));

	d->hint = STR("use a tuple: tuple(x)");
	return facts_bad(f);
}

static const Fact *display_list(Facts *f, Node *n)
{
	bool set = n->kind == N_SET;
	const Fact *x = set ? mk_set(f, n, 0, mk(f, T_NEVER), (Len){ n->list.n, n->list.n })
			    : mk_list(f, n, 0, mk(f, T_NEVER), (Len){ n->list.n, n->list.n });

	for (uint32_t i = 0; i < n->list.n; i++) {
		const Fact *item = facts_ex(f, n->list.p[i]);

		if (set)
			item = facts_key(f, item, n->list.p[i]);
		cell_elem(f, x->cell, item);
		if (!set && n->list.n <= LIMIT_INTERVALS)
			cell_at_add(f, x->cell, i, item);
	}
	if (set || n->list.n > LIMIT_INTERVALS)
		x->cell->at_known = false;
	return x;
}

static const Fact *display_tuple(Facts *f, Node *n)
{
	const Fact **item = arena_new_n(f->a, const Fact *, n->list.n);

	for (uint32_t i = 0; i < n->list.n; i++)
		item[i] = facts_ex(f, n->list.p[i]);
	return mk_tuple(f, item, n->list.n);
}

static const Fact *display_dict(Facts *f, Node *n)
{
	bool record = true;
	uint32_t pairs = n->list.n / 2;
	const Fact *x = mk_dict(f, n, 0, mk(f, T_NEVER), mk(f, T_NEVER), (Len){ pairs, pairs });
	Cell *c = x->cell;

	for (uint32_t i = 0; i < n->list.n; i += 2)
		record &= n->list.p[i]->kind == N_STR;
	c->record = record && !c->dict_use;
	for (uint32_t i = 0; i < n->list.n; i += 2) {
		const Fact *k = facts_ex(f, n->list.p[i]), *v = facts_ex(f, n->list.p[i + 1]);

		if (record)
			cell_field_set(f, c, n->list.p[i]->s, v);
		if (!c->record) {
			cell_key(f, c, facts_key(f, k, n->list.p[i]));
			cell_elem(f, c, v);
		}
	}
	return x;
}

const Fact *facts_display(Facts *f, Node *n)
{
	if (n->kind == N_TUPLE)
		return display_tuple(f, n);
	return n->kind == N_DICT ? display_dict(f, n) : display_list(f, n);
}

/* ---- f-strings ---- */

static bool spec_fits(const Fact *x, char type, bool numeric)
{
	bool is_int = x->kind == T_INT || x->kind == T_BOOL, is_num = is_int || x->kind == T_FLOAT;

	if (fact_quiet(x) || x->none)
		return true;
	if (type && strchr("dxXobcn", type))
		return is_int || (x->kind == T_FLAGS && type != 'c') || (type == 'n' && is_num);
	if (type && strchr("eEfFgG%", type))
		return is_num;
	return !numeric || is_num || x->kind == T_STR;
}

/* {r.rtt * 1000:.2f}: the warning about it and the error are one; its fix mends both. */
static Fix take_unit_fix(Facts *f, const Node *n)
{
	DiagList *l = f->in->diags;
	Fix fix = { 0 };

	for (uint32_t i = l->v.n; !f->quiet && i-- > 0;)
		if (strcmp(l->v.p[i].code, "W-UNIT") == 0 && l->v.p[i].span.from == n->span.from &&
		    l->v.p[i].span.to == n->span.to) {
			fix = l->v.p[i].fix;
			memmove(&l->v.p[i], &l->v.p[i + 1], (--l->v.n - i) * sizeof l->v.p[i]);
			break;
		}
	return fix;
}

static void check_spec(Facts *f, Node *n, const Fact *x, Str spec)
{
	char last = spec.n ? spec.p[spec.n - 1] : 0, type = 0;
	bool numeric = false;

	if ((last >= 'a' && last <= 'z') || (last >= 'A' && last <= 'Z') || last == '%')
		type = last;
	for (size_t i = 1; i < spec.n; i++)
		numeric |= spec.p[i] == '.' || spec.p[i] == ',';
	numeric |= spec.n && (spec.p[0] == '.' || spec.p[0] == ',');
	for (uint32_t i = 0; i < fact_ways(x); i++) {
		const Fact *w = fact_way(f, x, i);

		if (n->field.conv || spec_fits(w, type, numeric))
			continue;
		Fix unit = take_unit_fix(f, n->field.value);
		Diag *d = facts_say(f, "E-TYPE", n->field.value,
				    "the format `%.*s` is for numbers; this is %.*s", STR_ARG(spec),
				    STR_ARG(facts_a_text(f, w)));

		if (unit.set)
			d->fix = unit;
		else if (w->kind == T_DURATION)
			facts_fix(f, d, n->field.value,
				  str_printf(f->a, "%.*s.ms", STR_ARG(facts_operand(f, n->field.value))));
		else if (w->kind == T_STR && n->field.spec->kind == N_STR)
			d->hint = STR("a text takes a width: {x:>10}");
		return;
	}
}

static const Fact *fstring_part(Facts *f, Node *n)
{
	if (n->kind == N_STR)
		return mk_str(f, T_STR, n->s);
	const Fact *x = facts_ex(f, n->field.value);

	if (n->field.spec) {
		const Fact *s = facts_ex(f, n->field.spec);
		Str spec;

		if (fact_one_str(s, &spec))
			check_spec(f, n, x, spec);
		return mk(f, T_STR);
	}
	if (n->field.conv == 'r' || x->kind == T_NEVER)
		return mk(f, T_STR);
	const Vals *v = vals_texts(f, x);

	return v ? mk_vals(f, T_STR, v) : x->kind == T_STR ? x : mk(f, T_STR);
}

const Fact *facts_fstring(Facts *f, Node *n)
{
	const Fact *out = mk_str(f, T_STR, STR(""));

	for (uint32_t i = 0; i < n->list.n; i++) {
		const Fact *x = fstring_part(f, n->list.p[i]);
		const Vals *v = vals_concat(f, out->vals, x->vals);
		Len l = { facts_sat_add(out->len.lo, x->len.lo), facts_sat_add(out->len.hi, x->len.hi) };

		if (v) {
			out = mk_vals(f, T_STR, v);
		} else {
			Fact *y = mk_copy(f, mk_len(f, T_STR, l));

			y->origin = x->origin ? x->origin : out->origin;
			out = y;
		}
	}
	return out;
}

/* ---- indexing ---- */

/* A slice's start, stop and step, as far as they are known. */
typedef struct Cut {
	bool given[3], known[3];
	int64_t v[3];
	int64_t most[3]; /* of one that lies in an interval from 0 on; else INT64_MAX */
} Cut;

static Cut cut_of(Facts *f, Node *s)
{
	Node *const part[] = { s->slice.lo, s->slice.hi, s->slice.step };
	Cut c = { .known = { true, true, true }, .v = { 0, INT64_MAX, 1 } };

	for (int i = 0; i < 3; i++) {
		const Fact *p = part[i] ? facts_ex(f, part[i]) : NULL;
		int64_t least;

		c.most[i] = INT64_MAX;
		if (!p || p->kind == T_NONE)
			continue;
		if (!fact_quiet(p) && p->kind != T_INT && p->kind != T_BOOL)
			facts_say(f, "E-TYPE", part[i], "a slice's bounds are ints, not %.*s",
				  STR_ARG(facts_a_text(f, p)));
		c.given[i] = true;
		c.known[i] = vals_one(p, &c.v[i]);
		if (!vals_bounds(p, &least, &c.most[i]) || least < 0)
			c.most[i] = INT64_MAX;
	}
	return c;
}

/* A bound as Python reads it in a sequence of n: negative ones count from its end. */
static int64_t cut_place(int64_t v, int64_t n, int64_t low, int64_t high)
{
	if (v < 0)
		v += n;
	return v < low ? low : v > high ? high : v;
}

/* How many of n items a slice of known bounds takes. */
static uint64_t cut_exact(const Cut *c, uint64_t items)
{
	int64_t n = items > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)items, step = c->v[2];
	int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
	int64_t from = c->given[0] ? cut_place(c->v[0], n, low, high) : step < 0 ? high : low;
	int64_t to = c->given[1] ? cut_place(c->v[1], n, low, high) : step < 0 ? low : high;
	uint64_t way = step < 0 ? (uint64_t)(from - to) : (uint64_t)(to - from),
		 d = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

	return (step < 0 ? from > to : to > from) ? (way + d - 1) / d : 0;
}

/* With bounds from the start on, more items never give a shorter slice. */
static Len cut_len(const Cut *c, Len l)
{
	bool known = c->known[0] && c->known[1] && c->known[2] && c->v[2];
	bool grows = known && c->v[2] > 0 && c->v[0] >= 0 && c->v[1] >= 0;

	if (known && (l.lo == l.hi || grows)) {
		uint64_t most = cut_exact(c, l.hi);

		return (Len){ cut_exact(c, l.lo), l.hi == LEN_INF && !c->given[1] ? LEN_INF : most };
	}
	if (!c->known[2] || c->v[2] < 0)
		return (Len){ 0, l.hi };
	int64_t from = c->known[0] && c->v[0] > 0 ? c->v[0] : 0;
	uint64_t most = c->given[1] && c->most[1] < from ? 0 : (uint64_t)c->most[1] - (uint64_t)from;

	return (Len){ 0, l.hi < most ? l.hi : most };
}

static const Fact *slice_of(Facts *f, const Fact *x, Node *n)
{
	Cut c = cut_of(f, n->index.index);
	Len l = cut_len(&c, fact_len(x));

	if (x->kind == T_LIST) {
		const Fact *y = mk_list(f, n, 0, x->cell->elem, l);

		cell_changed(f, y->cell);
		y->cell->packets = x->cell->packets;
		return y;
	}
	if (x->kind == T_TUPLE) {
		Len any;
		const Fact *y = mk_tuple_of(f, facts_iterate(f, x, n, &any));

		return y;
	}
	return mk_len(f, x->kind, l);
}

static const Fact *dict_item(Facts *f, const Fact *x, Node *n)
{
	Node *key = n->index.index;

	if (key->kind == N_SLICE) {
		facts_say(f, "E-TYPE", n, "a dict has no slices");
		return facts_bad(f);
	}
	const Fact *k = facts_ex(f, key);

	if (key->kind == N_STR && x->cell->record) {
		const Fact *v = cell_field(x->cell, key->s);

		if (v)
			return v;
		if (f->quiet || x->cell->dict_use)
			return mk(f, T_NEVER);
		Near near = { .want = key->s, .d = 255 };

		for (uint32_t i = 0; i < x->cell->field.n; i++)
			facts_near_try(&near, x->cell->field.p[i].name);
		Diag *d = facts_say(f, "E-FIELD", key, "the record has no \"%.*s\"", STR_ARG(key->s));

		if (near.d <= 2)
			facts_fix(f, d, key, str_printf(f->a, "\"%.*s\"", STR_ARG(near.best)));
		return facts_bad(f);
	}
	k = facts_need(f, k, key);
	cell_use_as_dict(f, x, n);
	facts_comparable(f, x->cell->key, k, key, key);
	return x->cell->elem->kind == T_NEVER ? mk(f, T_ANY) : mk_aged(f, x->cell->elem);
}

static const Fact *seq_item(Facts *f, const Fact *x, Node *n)
{
	Node *in = n->index.index;

	if (in->kind == N_SLICE)
		return slice_of(f, x, n);
	const Fact *i = facts_ex_value(f, in);
	int64_t k;
	Len l = fact_len(x);

	if (!fact_quiet(i) && i->kind != T_INT && i->kind != T_BOOL) {
		facts_say(f, "E-TYPE", in, "the index of %.*s is an int, not %.*s",
			  STR_ARG(facts_a_text(f, x)), STR_ARG(facts_a_text(f, i)));
		return facts_bad(f);
	}
	if (vals_one(i, &k)) {
		uint32_t count = 0;
		const Fact *const *item = facts_items_known(f, x, &count);

		if (k < 0 && l.lo == l.hi)
			k += (int64_t)l.hi;
		if (l.hi != LEN_INF && (k < 0 ? l.lo == l.hi : (uint64_t)k >= l.hi) && l.hi &&
		    x->kind != T_LIST) {
			facts_say(f, "E-INDEX", in, "there is no such item: it has %llu",
				  (unsigned long long)l.hi);
			return facts_bad(f);
		}
		if (item && k >= 0 && k < (int64_t)count)
			return mk_aged(f, item[k]);
	}
	if (x->kind == T_STR)
		return mk_len(f, T_STR, (Len){ 1, 1 });
	if (x->kind == T_BYTES)
		return mk_range(f, T_INT, 0, 255);
	const Fact *e = facts_iterate(f, x, n, &l);

	return e;
}

/* Scapy's res[0], res[1] of sr's result; (name, value) of an option. */
static void fix_items(Facts *f, Diag *d, const Fact *x, Node *n)
{
	static const char *const answers[] = { "ans", "unans" }, *const option[] = { "name", "value" };
	const Node *i = n->index.index;
	const char *const *name = x->kind == T_ANSWERS ? answers : x->kind == T_OPTION ? option : NULL;

	if (name && i->kind == N_INT && i->i >= 0 && i->i <= 1)
		facts_fix(f, d, n,
			  str_printf(f->a, "%.*s.%s", STR_ARG(facts_operand(f, n->index.obj)), name[i->i]));
}

static const Fact *index_one(Facts *f, const Fact *x, Node *n)
{
	switch ((FactKind)x->kind) {
	case T_LIST:
	case T_TUPLE:
	case T_STR:
	case T_BYTES:
		return seq_item(f, x, n);
	case T_DICT:
		return dict_item(f, x, n);
	case T_PACKET:
		return packet_index(f, x, n);
	case T_NEVER:
	case T_ANY:
	case T_ERROR:
		if (n->index.index->kind != N_SLICE)
			facts_ex(f, n->index.index);
		return x;
	default:
		break;
	}
	Diag *d = facts_say(f, "E-TYPE", n, "%.*s has no items", STR_ARG(facts_a_text(f, x)));

	fix_items(f, d, x, n);
	if (x->kind == T_ANSWERS)
		d->hint = STR("`ans, unans = res`, or res.ans and res.unans");
	else if (x->kind == T_OPTION)
		d->hint = STR("an option has .name and .value");
	else if (x->kind == T_RESULT)
		d->hint = STR("fields are read by name: `.loss`");
	else if (x->kind == T_SET)
		d->hint = STR("a set has no order: use sorted(..) or a list");
	return facts_bad(f);
}

/* r[TCP] of an answer that may be None: one guard for both. */
static const Fact *need_layer(Facts *f, const Fact *x, Node *n)
{
	Node *obj = n->index.obj, *in = n->index.index;
	bool layer = in->kind == N_NAME && in->name.ref == REF_PROTO && x->kind == T_PACKET;

	if (!x->none || !layer || !facts_path_var(f, obj))
		return facts_need(f, x, obj);
	Str s = facts_source(f, obj);
	Diag *d = facts_say(f, "E-NONE", obj, "%.*s may be None here (%.*s)", STR_ARG(s),
			    STR_ARG(facts_text_of(f, x)));
	Str test = str_printf(f->a, "%.*s and %.*s in %.*s", STR_ARG(s), STR_ARG(in->name.sym->text),
			      STR_ARG(s));

	facts_fix_guard(f, d, obj, test);
	d->hint = str_printf(f->a, "test it first: `if %.*s:`", STR_ARG(test));
	return facts_bad(f);
}

static const Fact *ex_index(Facts *f, Node *n)
{
	const Fact *x = need_layer(f, facts_ex(f, n->index.obj), n), *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < fact_ways(x); i++)
		out = facts_join(f, out, index_one(f, fact_way(f, x, i), n));
	return out;
}

/* ---- attributes ---- */

static const Fact *result_attr(Facts *f, const Fact *x, Node *n)
{
	const Node *r = x->node;

	for (uint32_t i = 0; i < r->result.n; i++)
		if (r->result.field[i].name == n->attr.sym) {
			const Fact *v = x->n ? x->item[i] : NULL;

			return mk_from(f,
				       v ? v
					 : facts_sig_fact(f, facts_node_type(f, r->result.field[i].type),
							  NULL, n, i),
				       n);
		}
	return facts_no_attr(f, n, x, NULL);
}

/* What versions the addresses may have; of a name either. */
static const Fact *ip_version(Facts *f, const Fact *x)
{
	bool v4 = !x->vals, v6 = !x->vals;

	for (uint32_t i = 0; x->vals && i < x->vals->n; i++) {
		v4 |= x->vals->ip[i].lo.v != 6;
		v6 |= x->vals->ip[i].lo.v != 4;
	}
	if (v4 != v6)
		return mk_range(f, T_INT, v6 ? 6 : 4, v6 ? 6 : 4);
	return mk_vals(f, T_INT,
		       vals_join(f, T_INT, mk_range(f, T_INT, 4, 4)->vals, mk_range(f, T_INT, 6, 6)->vals));
}

static const Fact *attr_one(Facts *f, const Fact *x, Node *n)
{
	if (fact_quiet(x))
		return x;
	if (x->kind == T_PACKET)
		return facts_packet_attr(f, x, n);
	if (x->kind == T_RESULT)
		return result_attr(f, x, n);
	int at = builtin_attr(fact_owners[x->kind], n->attr.sym->text);

	if (at == A_IP_version)
		return ip_version(f, x);

	if (at < 0 || fact_owners[x->kind] == OWNER_NONE)
		return facts_no_attr(f, n, x, NULL);
	if (x->kind == T_DURATION && x->number) {
		Diag *d =
			facts_say(f, "E-TYPE", n,
				  "this may still be the plain number that it started as, which has no .%.*s",
				  STR_ARG(n->attr.sym->text));

		d->hint = STR("start with a duration: 0s");
		return facts_bad(f);
	}
	if (fact_is_live(x))
		return facts_live_attr(f, x, (BuiltinAttr)at, n);
	const Fact *v = mk_from(
		f, facts_sig_fact(f, sig_attr(&f->sigs, (BuiltinAttr)at), &(CallArgs){ .self = x }, n, 0), n);

	if (x->kind == T_ANSWERS)
		return label_answers_attr(f, x, (BuiltinAttr)at, v);
	return fact_told_by_row(x) ? label_told_attr(f, x, (BuiltinAttr)at, v) : v;
}

static const Fact *ex_attr(Facts *f, Node *n)
{
	const Fact *x = facts_ex_value(f, n->attr.obj), *out = mk(f, T_NEVER);

	for (uint32_t i = 0; i < fact_ways(x); i++)
		out = facts_join(f, out, attr_one(f, fact_way(f, x, i), n));
	return out;
}

/* ---- the rest ---- */

static const Fact *ex_boolop(Facts *f, Node *n)
{
	Count count = f->count;

	f->quiet++;
	const Fact *left = facts_ex(f, n->binary.left);

	f->quiet--;
	f->count = count;
	Env *no = facts_cond(f, n->binary.left);
	const Label *chosen = f->env->dead || no->dead
				      ? NULL
				      : label_decide(f, n->binary.left, label_test(f, n->binary.left)),
		    *pc = label_enter(f, chosen);

	count = f->count;
	if (n->op == OP_BOOL_OR) {
		Env *yes = f->env;

		f->env = no;
		no = yes;
		left = mk_some(f, left);
	}
	const Fact *right = f->env->dead ? mk(f, T_NEVER) : facts_ex(f, n->binary.right);

	f->count.least = count.least;
	if (n->op == OP_BOOL_AND) {
		left = no->dead ? NULL : facts_truth_part(f, left, false);
		left = left ? left : mk(f, T_NEVER);
	}
	f->env = env_join(f, f->env, no);
	label_back(f, pc);
	return label_add(f, facts_join(f, left, right), chosen);
}

static const Fact *ex_cond(Facts *f, Node *n)
{
	Env *no = facts_cond(f, n->cond.test);
	Count before = f->count;
	const Label *pc = label_branch(f, n->cond.test, f->env, no), *in = label_pc(f);
	const Fact *a = f->env->dead ? mk(f, T_NEVER) : facts_ex(f, n->cond.then);
	Env *yes = f->env;
	Count after = f->count;

	f->env = no;
	f->count = before;
	const Fact *b = no->dead ? mk(f, T_NEVER) : facts_ex(f, n->cond.orelse);

	f->count = facts_count_max(f->count, after);
	f->env = env_join(f, f->env, yes);
	label_back(f, pc);
	return label_add(f, facts_join(f, a, b), in == pc ? NULL : in);
}

static const Fact *ex_lambda(Facts *f, Node *n)
{
	Fact *x = mk_copy(f, mk(f, T_FUNC));
	Scope *s = n->func.scope;
	const Fact **cap = arena_new_n(f->a, const Fact *, s->captures.n);

	for (uint32_t i = 0; i < s->captures.n; i++) {
		const Var *outer = s->captures.p[i]->outer;
		const Fact *v = outer ? env_get(f, outer) : NULL;

		cap[i] = v ? v : mk(f, T_ANY);
	}
	x->node = n;
	x->item = cap;
	x->n = s->captures.n;
	return x;
}

static const Fact *ex_binary(Facts *f, Node *n)
{
	const Fact *a = facts_ex(f, n->binary.left), *b = facts_ex(f, n->binary.right);

	return facts_binary(f, n->op, a, b, n->binary.left, n->binary.right, n);
}

const Fact *facts_ex_fresh(Facts *f, Node *n)
{
	switch ((NodeKind)n->kind) {
	case N_INT:
	case N_FLOAT:
	case N_DURATION:
	case N_BOOL:
	case N_STR:
	case N_BYTES:
		return ex_fixed(f, n);
	case N_NONE:
		return mk(f, T_NONE);
	case N_FSTRING:
		return facts_fstring(f, n);
	case N_NAME:
		return ex_name(f, n);
	case N_LIST:
	case N_TUPLE:
	case N_SET:
	case N_DICT:
		return facts_display(f, n);
	case N_LISTCOMP:
	case N_SETCOMP:
	case N_DICTCOMP:
	case N_GENEXP:
		return facts_comprehension(f, n);
	case N_UNARY:
		return facts_unary(f, n);
	case N_BINARY:
		return ex_binary(f, n);
	case N_BOOLOP:
		return ex_boolop(f, n);
	case N_COMPARE:
		return facts_compare(f, n);
	case N_COND:
		return ex_cond(f, n);
	case N_CALL:
		return facts_call(f, n);
	case N_ATTR:
		return ex_attr(f, n);
	case N_INDEX:
		return ex_index(f, n);
	case N_LAMBDA:
		return ex_lambda(f, n);
	default:
		return facts_bad(f);
	}
}

const Fact *facts_ex(Facts *f, Node *n)
{
	facts_step(f, 1);
	if (f->env->refine &&
	    (n->kind == N_NAME || n->kind == N_ATTR || n->kind == N_INDEX || n->kind == N_CALL)) {
		const Fact *x = env_refined(f, n);

		if (x)
			return label_note(f, n, x);
	}
	const Label *outer = label_begin(f);
	const Fact *x = label_value(f, n, facts_ex_fresh(f, n), outer);

	facts_read_cells(f, x);
	return x;
}
