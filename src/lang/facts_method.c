/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods.
 */
#include "lang/facts_rules.h"

/* ---- methods ---- */

static const Fact *m_list(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	const Fact *l = c->self;

	if (which != M_LIST_copy && which != M_LIST_count && which != M_LIST_index &&
	    !facts_changeable(f, l, n->call.fn->attr.obj))
		return facts_bad(f);
	switch (which) {
	case M_LIST_append:
	case M_LIST_insert:
		cell_elem(f, l->cell, c->arg[which == M_LIST_insert]);
		cell_grow(f, l, n, 1);
		return mk(f, T_NONE);
	case M_LIST_extend:
		facts_store_add(f, l, c->arg[0], c->node[0]);
		return mk(f, T_NONE);
	case M_LIST_clear:
	case M_LIST_remove:
		cell_shrinks(f, l->cell);
		return mk(f, T_NONE);
	case M_LIST_pop:
		cell_shrinks(f, l->cell);
		return l->cell->elem->kind == T_NEVER ? mk(f, T_ANY) : mk_aged(f, l->cell->elem);
	case M_LIST_reverse:
		cell_changed(f, l->cell);
		return mk(f, T_NONE);
	case M_LIST_sort:
		cell_changed(f, l->cell);
		if (!fact_quiet(l->cell->elem))
			facts_check_order(f, facts_key_of(f, c, 0, l->cell->elem, fact_len(l)),
					  c->node[0] ? c->node[0] : n);
		label_method(f, which, c); /* again: by now the key function told what it knows */
		return mk(f, T_NONE);
	case M_LIST_copy: {
		const Fact *x = mk_list(f, n, 0, l->cell->elem, fact_len(l));

		cell_changed(f, x->cell);
		return x;
	}
	default:
		facts_comparable(f, l->cell->elem, c->arg[0], n, c->node[0]);
		return mk(f, T_INT);
	}
}

/* All addresses; of IPv4, below /31, all but the first and the last. */
static const Fact *m_net_hosts(Facts *f, Node *n, const Fact *net)
{
	Len l;
	const Fact *e = facts_iterate(f, net, n, &l);
	bool v4 = net->vals != NULL;

	for (uint32_t i = 0; v4 && i < net->vals->n; i++)
		v4 = net->vals->net[i].ip.v == 4;
	l.lo = l.lo > 2 ? l.lo - 2 : l.lo;
	l.hi = v4 && l.hi > 2 ? l.hi - 2 : l.hi;
	return mk_list(f, n, 0, e, (Len){ l.lo, l.hi < LIMIT_PACKET_LIST ? l.hi : LIMIT_PACKET_LIST });
}

static const Fact *m_dict_get(Facts *f, CallArgs *c)
{
	const Fact *d = c->self, *dflt = c->arg[1] ? c->arg[1] : mk(f, T_NONE);
	Str key;

	if (d->cell->record && c->node[0]->kind == N_STR && fact_one_str(c->arg[0], &key)) {
		const Fact *v = cell_field(d->cell, key);

		return v ? facts_join(f, v, dflt) : dflt;
	}
	cell_use_as_dict(f, d, c->node[0]);
	facts_comparable(f, d->cell->key, c->arg[0], c->node[0], c->node[0]);
	return facts_join(f, d->cell->elem, dflt);
}

static const Fact *m_dict(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	const Fact *d = c->self;
	Len l = fact_len(d);

	if (which == M_DICT_get)
		return m_dict_get(f, c);
	if (which == M_DICT_copy && d->cell->record) {
		const Fact *x = mk_dict(f, n, 0, mk(f, T_NEVER), mk(f, T_NEVER), l);

		x->cell->record = !x->cell->dict_use;
		for (uint32_t i = 0; i < d->cell->field.n; i++)
			cell_field_set(f, x->cell, d->cell->field.p[i].name, d->cell->field.p[i].value);
		return x;
	}
	cell_use_as_dict(f, d, n);
	const Fact *k = d->cell->key, *v = mk_aged(f, d->cell->elem);

	switch (which) {
	case M_DICT_items:
		return mk_list(f, n, 0, mk_pair(f, k, v), l);
	case M_DICT_keys:
		return mk_list(f, n, 0, k, l);
	case M_DICT_values:
		return mk_list(f, n, 0, v, l);
	case M_DICT_copy: {
		const Fact *x = mk_dict(f, n, 0, k, d->cell->elem, l);

		x->cell->dict_use = true;
		return x;
	}
	case M_DICT_clear:
		cell_shrinks(f, d->cell);
		return mk(f, T_NONE);
	case M_DICT_popitem:
		cell_shrinks(f, d->cell);
		return mk_pair(f, k, v);
	case M_DICT_pop:
		cell_shrinks(f, d->cell);
		return c->arg[1] ? facts_join(f, v, c->arg[1]) : v->kind == T_NEVER ? mk(f, T_ANY) : v;
	case M_DICT_setdefault:
		cell_key(f, d->cell, facts_key(f, c->arg[0], c->node[0]));
		cell_elem(f, d->cell, c->arg[1] ? c->arg[1] : mk(f, T_NONE));
		cell_grow(f, d, n, 1);
		return mk_aged(f, d->cell->elem);
	default: /* update */
		if (c->arg[0]->kind == T_DICT) {
			cell_use_as_dict(f, c->arg[0], n);
			cell_key(f, d->cell, label_item(f, c->arg[0], c->arg[0]->cell->key));
			cell_elem(f, d->cell, label_item(f, c->arg[0], c->arg[0]->cell->elem));
		} else {
			const Fact *e = facts_iterate(f, c->arg[0], c->node[0], &l);
			bool pair = e->kind == T_TUPLE && !e->open && e->n == 2;

			cell_key(f, d->cell, pair ? e->item[0] : mk(f, T_ANY));
			cell_elem(f, d->cell, pair ? e->item[1] : mk(f, T_ANY));
		}
		cell_grow(f, d, n, fact_len(c->arg[0]).hi);
		return mk(f, T_NONE);
	}
}

static const Fact *m_set(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	const Fact *s = c->self, *e = mk(f, T_NEVER);
	Len l = fact_len(s), o = { 0, 0 };

	switch (which) {
	case M_SET_add:
		cell_elem(f, s->cell, facts_key(f, c->arg[0], c->node[0]));
		cell_grow(f, s, n, 1);
		return mk(f, T_NONE);
	case M_SET_update:
		facts_key(f, facts_items_len(f, c->arg[0], c->node[0], &o), c->node[0]);
		facts_store_add(f, s, c->arg[0], c->node[0]);
		return mk(f, T_NONE);
	case M_SET_clear:
	case M_SET_remove:
	case M_SET_discard:
		cell_shrinks(f, s->cell);
		return mk(f, T_NONE);
	case M_SET_pop:
		cell_shrinks(f, s->cell);
		return s->cell->elem->kind == T_NEVER ? mk(f, T_ANY) : s->cell->elem;
	case M_SET_isdisjoint:
	case M_SET_issubset:
	case M_SET_issuperset:
		return mk(f, T_BOOL);
	case M_SET_union:
	case M_SET_symmetric_difference:
		e = facts_key(f, facts_items_len(f, c->arg[0], c->node[0], &o), c->node[0]);
		break;
	default:
		break;
	}
	const Fact *x = mk_set(f, n, 0, s->cell->elem, (Len){ 0, facts_sat_add(l.hi, o.hi) });

	cell_elem(f, x->cell, e);
	return x;
}

static const Fact *m_text(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	const Fact *s = c->self;

	switch (which) {
	case M_STR_encode:
		return s->vals ? mk_vals(f, T_BYTES, s->vals)
			       : mk_len(f, T_BYTES, (Len){ s->len.lo, facts_sat_mul(s->len.hi, 4) });
	case M_STR_split:
	case M_STR_rsplit:
	case M_STR_splitlines:
	case M_BYTES_split:
	case M_BYTES_splitlines:
		return mk_list(f, n, 0, mk(f, s->kind), (Len){ 0, facts_sat_add(s->len.hi, 1) });
	default:
		return facts_ret_of(f, c, n);
	}
}

static const Fact *m_packet(Facts *f, Node *n, BuiltinMethod which, CallArgs *c)
{
	if (which == M_PACKET_copy)
		return c->self;
	if (which != M_PACKET_getlayer)
		return facts_ret_of(f, c, n);
	if (c->arg[0]->kind != T_PROTO)
		return mk_opt(f, facts_any_packet(f));
	const Fact *p = packet_having(f, c->self, (WireId)c->arg[0]->view, true);

	if (!p)
		return mk(f, T_NONE);
	Fact *x = mk_copy(f, p);

	x->view = c->arg[0]->view;
	bool all = true;

	for (uint32_t i = 0; i < c->self->n; i++)
		all &= (c->self->stack[i]->must & WIRE_BIT(x->view)) != 0;
	return all ? x : mk_opt(f, x);
}

static int method_row(const Fact *self, Str name)
{
	int m = -1;

	if (self->kind == T_TYPE)
		return self->index == BI_int	 ? builtin_method(OWNER_INT_TYPE, name)
		       : self->index == BI_bytes ? builtin_method(OWNER_BYTES_TYPE, name)
						 : -1;
	if (self->kind == T_PACKET && self->view != WIRE_NONE)
		m = builtin_method(OWNER_LAYER, name);
	return m >= 0 || fact_owners[self->kind] == OWNER_NONE
		       ? m
		       : builtin_method(fact_owners[self->kind], name);
}

static const Fact *by_owner(Facts *f, Node *n, BuiltinMethod m, CallArgs *c)
{
	switch (builtin_methods[m].owner) {
	case OWNER_LIST:
		return m_list(f, n, m, c);
	case OWNER_DICT:
		return m_dict(f, n, m, c);
	case OWNER_SET:
		return m_set(f, n, m, c);
	case OWNER_STR:
	case OWNER_BYTES:
		return m_text(f, n, m, c);
	case OWNER_PACKET:
		return m_packet(f, n, m, c);
	case OWNER_NET:
		return m_net_hosts(f, n, c->self);
	case OWNER_CONN:
	case OWNER_LISTENER:
	case OWNER_UDP:
	case OWNER_LOAD:
		return m_live(f, n, m, c);
	default:
		return mk_from(f, facts_ret_of(f, c, n), n);
	}
}

const Fact *facts_method(Facts *f, Node *n, const Fact *self)
{
	Node *fn = n->call.fn;
	int m = fact_quiet(self) ? -1 : method_row(self, fn->attr.sym->text);

	if (m < 0) {
		for (uint32_t i = 0; i < n->call.n; i++)
			facts_ex(f, n->call.arg[i].value);
		return fact_quiet(self) ? self : facts_no_attr(f, fn, self, n);
	}
	CallArgs c = { .sig = sig_method(&f->sigs, (BuiltinMethod)m),
		       .name = builtin_methods[m].name,
		       .self = self };

	if (!facts_bind_args(f, n, &c) || !facts_fit_args(f, &c))
		return facts_bad(f);
	if (f->env->dead)
		return mk(f, T_NEVER);
	if (str_is(str_c(builtin_methods[m].sig + strlen(builtin_methods[m].sig) - 4), "none") ||
	    str_is(str_c(c.name), "pop") || str_is(str_c(c.name), "popitem") ||
	    str_is(str_c(c.name), "setdefault"))
		env_touch(f);
	if (builtin_methods[m].effect != EFFECT_NONE)
		env_waited(f);
	const Fact *x = by_owner(f, n, (BuiltinMethod)m, &c);

	if (self->cell)
		label_method(f, (BuiltinMethod)m, &c);
	return x;
}
