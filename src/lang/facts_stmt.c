/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements: assignment to names, items and packet fields; the rest is a table.
 */
#include "lang/facts_inside.h"

/* ---- what a loop gives ---- */

static Len net_len(const Vals *v)
{
	Len l = { LEN_INF, 0 };

	if (!v)
		return (Len){ 1, LEN_INF };
	for (uint32_t i = 0; i < v->n; i++) {
		unsigned host = (v->net[i].ip.v == 4 ? 32u : 128u) - v->net[i].bits;
		uint64_t n = host > 62 ? LEN_INF : UINT64_C(1) << host;

		l.lo = n < l.lo ? n : l.lo;
		l.hi = n > l.hi ? n : l.hi;
	}
	return l;
}

static const Fact *net_items(Facts *f, const Fact *x)
{
	if (!x->vals)
		return mk_from(f, mk(f, T_IP), x->origin);
	Target *t = arena_new_n(f->a, Target, x->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < x->vals->n; i++)
		net_range(x->vals->net[i], &t[i].lo, &t[i].hi);
	*v = (Vals){ .n = x->vals->n, .ip = t };
	return mk_vals(f, T_IP, v);
}

static const Fact *iterate_one(Facts *f, const Fact *x, const Node *at, Len *ret_len)
{
	*ret_len = fact_len(x);
	switch ((FactKind)x->kind) {
	case T_LIST:
	case T_SET:
		return mk_aged(f, x->cell->elem);
	case T_DICT:
		cell_use_as_dict(f, x, at);
		return x->cell->key;
	case T_TUPLE: {
		const Fact *e = mk(f, T_NEVER);

		for (uint32_t i = 0; i < x->n; i++)
			e = facts_join(f, e, mk_aged(f, x->item[i]));
		return e;
	}
	case T_STR:
		return mk_len(f, T_STR, (Len){ 1, 1 });
	case T_BYTES:
		return mk_range(f, T_INT, 0, 255);
	case T_NET:
		*ret_len = net_len(x->vals);
		return net_items(f, x);
	case T_NEVER:
	case T_ANY:
		*ret_len = (Len){ 0, LEN_INF };
		return mk(f, T_ANY);
	case T_ERROR:
		*ret_len = (Len){ 0, LEN_INF };
		return x;
	default:
		break;
	}
	Diag *d = facts_say(f, "E-TYPE", at, "`for` needs something with items; this is %.*s",
			    STR_ARG(facts_a_text(f, x)));

	*ret_len = (Len){ 0, LEN_INF };
	if (x->kind == T_ANSWERS)
		facts_fix(f, d, at, str_printf(f->a, "%.*s.ans", STR_ARG(facts_source(f, at))));
	else if (x->kind == T_INT)
		facts_fix(f, d, at, str_printf(f->a, "range(%.*s)", STR_ARG(facts_source(f, at))));
	else if (x->kind == T_RESULT)
		d->hint = STR("a result has fields: h.ttl, h.addr, r.loss");
	return facts_bad(f);
}

const Fact *facts_iterate(Facts *f, const Fact *x, const Node *at, Len *ret_len)
{
	const Fact *e = mk(f, T_NEVER);
	Len all = { LEN_INF, 0 };

	for (uint32_t i = 0; i < fact_ways(x); i++) {
		Len l;

		e = facts_join(f, e, label_item(f, fact_way(f, x, i), iterate_one(f, fact_way(f, x, i), at, &l)));
		all = (Len){ l.lo < all.lo ? l.lo : all.lo, l.hi > all.hi ? l.hi : all.hi };
	}
	*ret_len = all;
	return e->kind == T_NEVER ? mk(f, T_ANY) : e;
}

/* ---- assignment ---- */

static const Fact *unpack_item(Facts *f, const Fact *x, uint32_t i, uint32_t n, const Node *at)
{
	if (x->kind == T_TUPLE && !x->open)
		return x->item[i];
	if (x->kind == T_ANSWERS)
		return label_answers_attr(f, x, i ? A_ANSWERS_unans : A_ANSWERS_ans,
					  facts_sig_fact(f, sig_attr(&f->sigs, i ? A_ANSWERS_unans : A_ANSWERS_ans),
							 &(CallArgs){ .self = x }, at, i));
	if (x->kind == T_LIST && x->cell->at_known && x->cell->at.n == n)
		return mk_aged(f, x->cell->at.p[i]);
	Len l;

	return iterate_one(f, x, at, &l);
}

static bool unpack_fits(Facts *f, const Fact *x, uint32_t n, const Node *value)
{
	if (!x->cell && x->kind != T_TUPLE && x->kind != T_ANSWERS && x->kind != T_STR &&
	    x->kind != T_BYTES && x->kind != T_NET && !fact_quiet(x)) {
		facts_say(f, "E-TYPE", value, "%.*s can't be taken apart into %u names",
			  STR_ARG(facts_a_text(f, x)), n);
		return false;
	}
	Len l = x->kind == T_ANSWERS ? (Len){ 2, 2 } : fact_len(x);

	if (fact_quiet(x) || (n >= l.lo && n <= l.hi))
		return true;
	if (l.lo == l.hi)
		facts_say(f, "E-TYPE", value, "%llu value%s for %u name%s", (unsigned long long)l.lo,
			  l.lo == 1 ? "" : "s", n, n == 1 ? "" : "s")
			->hint = str_printf(f->a, "name each: %s", l.lo == 2 ? "for s, r in ans:" : "a, b, .. = x");
	else
		facts_say(f, "E-TYPE", value, "too %s values for %u names", l.lo > n ? "many" : "few", n);
	return false;
}

static void assign_items(Facts *f, Node *target, const Fact *x, const Node *value)
{
	x = facts_need(f, x, value);
	bool ok = true;

	for (uint32_t i = 0; i < fact_ways(x); i++)
		ok = ok && unpack_fits(f, fact_way(f, x, i), target->list.n, value);
	for (uint32_t k = 0; k < target->list.n; k++) {
		const Fact *item = ok ? mk(f, T_NEVER) : facts_bad(f);

		for (uint32_t i = 0; ok && i < fact_ways(x); i++)
			item = facts_join(
				f, item,
				label_item(f, fact_way(f, x, i),
					   unpack_item(f, fact_way(f, x, i), k, target->list.n, value)));
		facts_assign(f, target->list.p[k], item, value);
	}
}

bool facts_changeable(Facts *f, const Fact *list, Node *n)
{
	if (!list->open)
		return true;
	Diag *d = facts_say(f, "E-TYPE", n, "a range never changes: make a list of it");

	d->hint = STR("list(range(..))");
	return false;
}

static void store_list(Facts *f, const Fact *c, Node *target, const Fact *x)
{
	if (target->index.index->kind == N_SLICE) {
		Len l;

		for (int i = 0; i < 3; i++) {
			Node *const part[] = { target->index.index->slice.lo, target->index.index->slice.hi,
					       target->index.index->slice.step };

			if (part[i])
				facts_ex(f, part[i]);
		}
		cell_elem(f, c->cell, facts_iterate(f, x, target, &l));
		label_touch(f, c->cell, label_join(f, c->label, label_join(f, label_deep(f, x), label_index(f, target))));
		cell_shrinks(f, c->cell);
		cell_grow(f, c, target, l.hi);
		return;
	}
	const Fact *i = facts_ex_value(f, target->index.index);

	if (!fact_quiet(i) && i->kind != T_INT && i->kind != T_BOOL)
		facts_say(f, "E-TYPE", target->index.index, "a list's index is an int, not %.*s",
			  STR_ARG(facts_a_text(f, i)));
	cell_changed(f, c->cell);
	label_touch(f, c->cell, c->label);
	cell_store(f, c->cell, label_add(f, x, label_index(f, target)));
}

static void store_dict(Facts *f, const Fact *c, Node *target, const Fact *x)
{
	Node *key = target->index.index;
	const Fact *k = facts_ex(f, key);

	label_touch(f, c->cell, c->label);
	if (key->kind == N_STR && c->cell->record) {
		cell_field_set(f, c->cell, key->s, x);
		cell_grow(f, c, key, 1);
		return;
	}
	cell_use_as_dict(f, c, key);
	cell_key(f, c->cell, facts_key(f, k, key));
	cell_store(f, c->cell, label_add(f, x, label_index(f, target)));
	cell_grow(f, c, target, 1);
}

static void store_index(Facts *f, Node *target, const Fact *x, const Node *value)
{
	const Fact *c = facts_ex_value(f, target->index.obj);

	env_touch(f);
	for (uint32_t i = 0; i < fact_ways(c); i++) {
		const Fact *w = fact_way(f, c, i);

		if (w->kind == T_LIST && !facts_changeable(f, w, target->index.obj))
			return;
		if (w->kind == T_LIST) {
			store_list(f, w, target, x);
		} else if (w->kind == T_DICT) {
			store_dict(f, w, target, x);
		} else if (!fact_quiet(w)) {
			Diag *d = facts_say(f, "E-TYPE", target, "an item of %.*s can't be assigned",
					    STR_ARG(facts_a_text(f, w)));

			if (w->kind == T_TUPLE || w->kind == T_STR || w->kind == T_BYTES)
				d->hint = STR(
					"tuples, str and bytes never change: make a new one, or use a list");
		}
	}
	(void)value;
}

static bool is_loop_var(const Facts *f, const Var *v)
{
	for (const Loop *l = f->frame->loop; l; l = l->up) {
		const Node *t = l->target;

		if (!t)
			continue;
		if (t->kind == N_NAME && t->name.var == v)
			return true;
		for (uint32_t i = 0; t->kind == N_TUPLE && i < t->list.n; i++)
			if (t->list.p[i]->kind == N_NAME && t->list.p[i]->name.var == v)
				return true;
	}
	return false;
}

/* p.ttl = t, p[IP].ttl = t: the variable gets a changed copy. */
static void store_attr(Facts *f, Node *target, const Fact *x, Node *value)
{
	Node *obj = target->attr.obj;
	WireId layer = WIRE_NONE;

	if (obj->kind == N_INDEX && obj->index.index->kind == N_NAME &&
	    obj->index.index->name.ref == REF_PROTO) {
		layer = (WireId)obj->index.index->name.index;
		obj = obj->index.obj;
	}
	const Fact *p = facts_ex_value(f, obj);

	if (fact_quiet(p))
		return;
	if (fact_is_live(p)) {
		facts_live_store(f, p, target, x, value);
		return;
	}
	if (p->kind != T_PACKET) {
		facts_say(f, "E-TYPE", target, "%.*s never changes: .%.*s can't be assigned",
			  STR_ARG(facts_a_text(f, p)), STR_ARG(target->attr.sym->text));
		return;
	}
	if (obj->kind != N_NAME || obj->name.ref != REF_VAR || is_loop_var(f, obj->name.var)) {
		Diag *d = facts_say(f, "E-VALUE", target,
				    "packets are values: this would change a copy that nobody sees");

		d->hint = STR("bind it to a variable of its own first: q = p; q.ttl = 5, and use q");
		return;
	}
	env_set(f, obj->name.var, facts_packet_with(f, p, layer, target, x, value));
}

void facts_assign(Facts *f, Node *target, const Fact *x, const Node *value)
{
	switch (target->kind) {
	case N_NAME:
		if (target->name.ref == REF_VAR) {
			env_set(f, target->name.var, label_one(f, target, x, false));
			label_set_by(f, target->name.var, value);
		}
		break;
	case N_TUPLE:
	case N_LIST:
		assign_items(f, target, x, value);
		break;
	case N_INDEX:
		store_index(f, target, x, value);
		break;
	case N_ATTR:
		store_attr(f, target, x, (Node *)value);
		break;
	default:
		break;
	}
}

/* list += items: the same object grows. */
const Fact *facts_store_add(Facts *f, const Fact *list, const Fact *items, const Node *at)
{
	Len l;
	const Fact *e = facts_iterate(f, items, at, &l);

	label_touch(f, list->cell, label_join(f, list->label, label_shape(f, items)));
	if (l.hi) {
		if (e->kind != T_ANY || items->kind == T_ANY)
			cell_elem(f, list->cell, e);
		cell_grow(f, list, at, l.hi);
	}
	return list;
}

static void do_augment(Facts *f, Node *n)
{
	Node *t = n->augment.target;
	const Fact *old = facts_ex_value(f, t), *x = facts_ex_value(f, n->augment.value);

	env_touch(f);
	if (n->op == OP_ADD && old->kind == T_LIST && !fact_quiet(x)) {
		if (!facts_changeable(f, old, t))
			return;
		facts_store_add(f, old, x, n->augment.value);
		return;
	}
	if (n->op == OP_OR && (old->kind == T_SET || old->kind == T_DICT) && x->kind == old->kind) {
		if (old->kind == T_DICT) {
			cell_use_as_dict(f, old, n);
			cell_use_as_dict(f, x, n);
			cell_key(f, old->cell, label_item(f, x, x->cell->key));
		}
		cell_elem(f, old->cell, label_item(f, x, x->cell->elem));
		label_touch(f, old->cell, label_join(f, old->label, label_deep(f, x)));
		cell_grow(f, old, n, fact_len(x).hi);
		return;
	}
	facts_assign(f, t, label_binary(f, old, x, facts_binary(f, n->op, old, x, t, n->augment.value, n)),
		     n->augment.value);
}

/* ---- other statements ---- */

static bool is_declaration(const Node *n)
{
	return n->kind == N_CALL && n->call.fn->kind == N_NAME && n->call.fn->name.ref == REF_DECL;
}

static void do_expr(Facts *f, Node *n)
{
	Node *v = n->expr.value;

	if (is_declaration(v) || v->kind == N_STR)
		return;
	if (facts_ex(f, v)->kind != T_ERROR)
		facts_warn_dropped(f, v);
}

static void do_return(Facts *f, Node *n)
{
	Frame *fr = f->frame;
	const Fact *x = n->expr.value ? facts_ex(f, n->expr.value) : mk(f, T_NONE);

	if (f->env->dead)
		return;
	if (fr->func->kind == N_DEF && fr->func->func.ret)
		x = facts_fit(f, x, facts_node_type(f, fr->func->func.ret), n->expr.value ? n->expr.value : n,
			      NULL, "the function returns");
	fr->value = facts_join(f, fr->value, label_add(f, x, label_pc(f)));
	label_returned(f, fr->func, n->expr.value);
	label_left(f, LEFT_RETURN);
	facts_leave(f, &fr->ret);
}

static const Fact *param_text(Facts *f, Node *n, Str text, const SigType *t)
{
	uint64_t u;
	bool minus = text.n && text.p[0] == '-';
	Str digits = minus ? (Str){ text.p + 1, text.n - 1 } : text;

	if (t && str_is(t->name, "int") && str_to_u64(digits, INT64_MAX, &u))
		return mk_range(f, T_INT, minus ? -(int64_t)u : (int64_t)u, minus ? -(int64_t)u : (int64_t)u);
	if (t && str_is(t->name, "bool") && (str_is(text, "True") || str_is(text, "False")))
		return mk_range(f, T_BOOL, str_is(text, "True"), str_is(text, "True"));
	if (t && (str_is(t->name, "float") || str_is(t->name, "duration")))
		return mk(f, str_is(t->name, "float") ? T_FLOAT : T_DURATION);
	(void)n;
	return mk_str(f, T_STR, text);
}

static void do_param(Facts *f, Node *n)
{
	const SigType *t = n->param.type ? facts_node_type(f, n->param.type) : NULL;
	const Fact *dflt = n->param.value ? facts_ex(f, n->param.value) : NULL, *x = dflt;

	for (uint32_t i = 0; i < f->in->nparam; i++)
		if (str_eq(f->in->param[i].name, n->param.sym->text)) {
			static const char *const names[] = { "int", "bool", "float", "str", "duration" };
			SigType own = { .name = STR("str") };

			for (size_t k = 0; !t && dflt && k < sizeof names / sizeof *names; k++)
				if (!strcmp(fact_kind_names[dflt->kind], names[k])) {
					own.name = str_c(names[k]);
					t = arena_copy(f->a, &own, sizeof own);
				}
			x = param_text(f, n, f->in->param[i].value, t);
		}
	if (!x)
		x = t ? facts_sig_fact(f, t, NULL, n, 0) : mk(f, T_STR);
	else if (t)
		x = facts_fit(f, x, t, n->param.value ? n->param.value : n, NULL, "the parameter");
	env_set(f, n->param.var, mk_from(f, x, n));
}

static void do_annotate(Facts *f, Node *n)
{
	const SigType *t = facts_node_type(f, n->annotate.type);

	if (n->annotate.value)
		facts_assign(f, n->annotate.target,
			     facts_fit(f, facts_ex(f, n->annotate.value), t, n->annotate.value, NULL,
				       "the annotation"),
			     n->annotate.value);
}

static void do_assign(Facts *f, Node *n)
{
	const Fact *x = facts_ex(f, n->assign.value);

	if (x->kind == T_FUNC && !fact_quiet(x))
		facts_say(f, "E-TYPE", n->assign.value,
			  "functions are arguments only: they can't be kept in a variable");
	for (uint32_t i = 0; i < n->assign.targets.n; i++)
		facts_assign(f, n->assign.targets.p[i], x, n->assign.value);
}

void facts_do_stmt(Facts *f, Node *n)
{
	facts_step(f, 1);
	f->reached[n->id] = 1;
	f->stmt = n;
	switch (n->kind) {
	case N_EXPR:
		do_expr(f, n);
		break;
	case N_ASSIGN:
		do_assign(f, n);
		break;
	case N_ANNOTATE:
		do_annotate(f, n);
		break;
	case N_AUGMENT:
		do_augment(f, n);
		break;
	case N_IF:
		facts_do_if(f, n);
		break;
	case N_WHILE:
		facts_do_while(f, n);
		break;
	case N_FOR:
		facts_do_for(f, n);
		break;
	case N_BREAK:
		label_left(f, LEFT_BREAK);
		if (f->frame->loop)
			facts_leave(f, &f->frame->loop->brk);
		break;
	case N_CONTINUE:
		label_left(f, LEFT_CONTINUE);
		if (f->frame->loop)
			facts_leave(f, &f->frame->loop->cont);
		break;
	case N_RETURN:
		do_return(f, n);
		break;
	case N_PARAM:
		do_param(f, n);
		break;
	default: /* pass, def, result */
		break;
	}
}

void facts_do_body(Facts *f, Nodes body)
{
	Nodes outer = f->body;
	uint32_t at = f->at;

	for (uint32_t i = 0; i < body.n && !f->env->dead; i++) {
		f->body = body;
		f->at = i;
		facts_do_stmt(f, body.p[i]);
	}
	f->body = outer;
	f->at = at;
}
