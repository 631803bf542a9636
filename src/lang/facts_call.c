/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: binds arguments to parameters, walks functions in place.
 */
#include "base/rng.h"
#include "lang/facts_inside.h"

/* ---- arguments ---- */

static void bind_rest(Facts *f, CallArgs *c, const Fact *x, Node *n)
{
	if (c->nrest % 8 == 0) {
		const Fact **p = arena_new_n(f->a, const Fact *, c->nrest + 8);
		Node **q = arena_new_n(f->a, Node *, c->nrest + 8);

		if (c->nrest) {
			memcpy(p, c->rest, c->nrest * sizeof *p);
			memcpy(q, c->rest_node, c->nrest * sizeof *q);
		}
		c->rest = p;
		c->rest_node = q;
	}
	c->rest[c->nrest] = x;
	c->rest_node[c->nrest++] = n;
}

static bool bind_position(Facts *f, Node *n, CallArgs *c, uint32_t *at, Node *value)
{
	const Sig *s = c->sig;

	if (*at < s->n && s->param[*at].star) {
		bind_rest(f, c, facts_ex(f, value), value);
		return true;
	}
	if (*at >= s->n || s->param[*at].by_keyword_only || s->param[*at].kwstar) {
		uint32_t most = 0;

		while (most < s->n && !s->param[most].by_keyword_only && !s->param[most].kwstar)
			most++;
		Diag *d = facts_say(f, "E-ARGS", value, "%s takes at most %u argument%s by position", c->name,
				    most, most == 1 ? "" : "s");

		const Fact *x = facts_ex(f, value);
		uint32_t k = *at;

		if (!s->n) /* exit(1) */
			facts_fix_span(f, d, n,
				       (Span){ n->call.arg[0].span.from, n->call.arg[n->call.n - 1].span.to },
				       STR(""));

		while (k < s->n && s->param[k].type &&
		       !(x->kind == T_BOOL ? str_is(s->param[k].type->name, "bool")
					   : facts_fits(f, x, s->param[k].type)))
			k++;
		if (k < s->n && s->param[k].by_keyword_only && !s->param[k].kwstar)
			facts_fix(f, d, value,
				  str_printf(f->a, "%.*s=%.*s", STR_ARG(s->param[k].name),
					     STR_ARG(facts_source(f, value))));
		return false;
	}
	(void)n;
	c->arg[*at] = facts_ex(f, value);
	c->node[(*at)++] = value;
	return true;
}

static bool bind_keyword(Facts *f, Node *n, CallArgs *c, const Arg *a)
{
	const Sig *s = c->sig;
	int i = sig_param(s, a->name->text);

	if (i < 0 && s->n && s->param[s->n - 1].kwstar) {
		c->kw = a; /* the first; the caller walks on from it */
		c->nkw++;
		return true;
	}
	if (i < 0) {
		Near near = { .want = a->name->text, .d = 255 };
		Diag *d = facts_say_at(f, "E-ARGS", n,
				       (Span){ a->span.from, a->span.from + (uint32_t)a->name->text.n },
				       "%s has no argument named %.*s", c->name, STR_ARG(a->name->text));

		for (uint32_t k = 0; k < s->n; k++)
			if (!s->param[k].by_position_only && !s->param[k].star && !c->arg[k])
				facts_near_try(&near, s->param[k].name);
		if (!facts_keyword_habit(f, d, n, c, a))
			facts_near_fix(f, d, &near, n,
				       (Span){ a->span.from, a->span.from + (uint32_t)a->name->text.n });
		facts_ex(f, a->value);
		return false;
	}
	if (c->arg[i]) {
		facts_say(f, "E-ARGS", a->value, "%s is given twice",
			  s->param[i].name.p ? "this argument" : "it");
		return false;
	}
	c->arg[i] = facts_ex(f, a->value);
	c->node[i] = a->value;
	return true;
}

static bool bind_missing(Facts *f, Node *n, CallArgs *c)
{
	for (uint32_t i = 0; i < c->sig->n; i++) {
		const SigParam *p = &c->sig->param[i];

		if (!c->arg[i] && p->dflt == SIG_REQUIRED && !p->star && !p->kwstar) {
			Diag *d = facts_say(f, "E-ARGS", n, "%s needs %.*s", c->name, STR_ARG(p->name));
			Sb b = sb(f->a);

			for (uint32_t k = 0; k < c->sig->n; k++) {
				if (k)
					sb_cstr(&b, ", ");
				sb_str(&b, c->sig->param[k].name);
			}
			d->hint = str_printf(f->a, "%s(%.*s)", c->name, STR_ARG(sb_done(&b)));
			return false;
		}
	}
	return true;
}

bool facts_bind_args(Facts *f, Node *n, CallArgs *c)
{
	uint32_t at = 0;
	bool ok = true;

	c->arg = arena_new_n(f->a, const Fact *, c->sig->n + 1);
	c->node = arena_new_n(f->a, Node *, c->sig->n + 1);
	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];

		if (a->name)
			ok &= bind_keyword(f, n, c, a);
		else if (ok)
			ok &= bind_position(f, n, c, &at, a->value);
		else
			facts_ex(f, a->value);
	}
	return ok && bind_missing(f, n, c);
}

/* ---- functions ---- */

static Env *frame_env(Facts *f, const Scope *s)
{
	Env *e = arena_new(f->a, Env);

	e->g = f->env->g;
	e->nl = s->n_slots;
	e->l = arena_new_n(f->a, const Fact *, e->nl + 1);
	for (const Refine *r = f->env->refine; r; r = r->next)
		if (r->var->kind == VAR_GLOBAL)
			e->refine = f->env->refine;
	return e;
}

static void too_complex(Facts *f, const Node *at, const char *what)
{
	f->quiet = 0;
	facts_say(f, "E-COMPLEX", at, "%s", what);
	longjmp(*f->complex, 1);
}

/* Counts pairs of a function and the types of its arguments. */
static void instance(Facts *f, const Node *def, const Fact **arg, uint32_t n, const Node *at)
{
	uint64_t key = rng_mix(def->id);

	for (uint32_t i = 0; i < n; i++)
		key = rng_mix(key ^ ((uint64_t)arg[i]->kind << 8 | arg[i]->none));
	if (map_get(&f->seen, BYTES(&key, sizeof key)))
		return;
	*map_put(&f->seen, BYTES(arena_copy(f->a, &key, sizeof key), sizeof key)) = 1;
	if (++f->instances > LIMIT_CHECK_INSTANCES)
		too_complex(f, at, "functions are called with too many kinds of arguments");
}

static const Fact *walk_func(Facts *f, const Node *func, const Fact **arg, const Node *at,
			     const Fact *const *captured)
{
	Frame fr = {
		.up = f->frame, .func = func, .call = at, .value = mk(f, T_NEVER), .captured = captured
	};
	Env *env = f->env;
	Scope *s = func->func.scope;
	Node *stmt = f->stmt;
	unsigned depth = 0;
	LabelScope scope;

	for (const Frame *p = f->frame; p; p = p->up)
		if (++depth > LIMIT_CALL_DEPTH)
			too_complex(f, at, "calls are nested too deeply");
	facts_step(f, 2 + s->n_slots / 8);
	fr.path = rng_mix(f->frame->path ^ ((uint64_t)at->id << 32 | func->id));
	fr.lib = f->in->ast->files.p[func->file].lib;
	f->env = frame_env(f, s);
	for (uint32_t i = 0; i < func->func.n; i++)
		f->env->l[func->func.param[i].var->slot] = arg[i];
	for (uint32_t i = 0; captured && i < s->captures.n; i++)
		f->env->l[s->captures.p[i]->slot] = captured[i];
	f->frame = &fr;
	label_func_begin(f, &scope);
	f->called[func->id] = 1;
	if (func->kind == N_LAMBDA) {
		fr.value = facts_ex(f, func->func.value);
	} else {
		facts_do_body(f, func->func.body);
		if (!f->env->dead)
			fr.value = facts_join(f, fr.value, label_add(f, mk(f, T_NONE), label_pc(f)));
		facts_enter(f, &fr.ret);
	}
	bool dead = f->env->dead;

	fr.value = label_frame_end(f, &fr, fr.value);
	label_func_end(f, &scope);
	f->frame = fr.up;
	f->env = env;
	f->stmt = stmt;
	if (func->kind == N_DEF)
		env_touch(f);
	if (dead)
		f->env->dead = true;
	return fr.value;
}

const Fact *facts_call_def(Facts *f, Node *def, const Fact **arg, const Node *at)
{
	instance(f, def, arg, def->func.n, at);
	const Fact *x = walk_func(f, def, arg, at, NULL);

	return x->kind == T_NONE || !f->in->ast->files.p[def->file].lib ? x : mk_from(f, x, at);
}

static const Sig *def_sig(Facts *f, const Node *def)
{
	Sig *s = arena_new(f->a, Sig);
	SigParam *p = arena_new_n(f->a, SigParam, def->func.n);

	for (uint32_t i = 0; i < def->func.n; i++)
		p[i] = (SigParam){ .name = def->func.param[i].name->text,
				   .type = def->func.param[i].type
						   ? facts_node_type(f, def->func.param[i].type)
						   : NULL,
				   .dflt = def->func.param[i].dflt ? SIG_UNSET : SIG_REQUIRED };
	for (uint32_t i = 0; i < def->func.n; i++)
		if (p[i].type && def->func.param[i].dflt && def->func.param[i].dflt->kind == N_NONE &&
		    !p[i].type->optional) {
			SigType *t = arena_copy(f->a, p[i].type, sizeof *t);

			t->optional = true;
			p[i].type = t;
		}
	*s = (Sig){ .param = p, .n = def->func.n };
	return s;
}

static const Fact *call_user(Facts *f, Node *n, Node *def)
{
	Str name = def->func.sym->text;
	CallArgs c = { .sig = def_sig(f, def), .name = str_printf(f->a, "%.*s", STR_ARG(name)).p };
	bool broken = false;

	if (!facts_bind_args(f, n, &c))
		return facts_bad(f);
	for (uint32_t i = 0; i < c.sig->n; i++) {
		const SigParam *p = &c.sig->param[i];
		Node *dflt = def->func.param[i].dflt;
		bool left_out = !c.arg[i];
		Str what = str_printf(f->a, "%.*s of %.*s", STR_ARG(p->name), STR_ARG(name));

		if (left_out)
			c.arg[i] = facts_ex(f, dflt);
		else if (c.arg[i]->kind == T_FUNC && !f->in->ast->files.p[def->file].lib)
			facts_say(f, "E-TYPE", c.node[i],
				  "functions are arguments only of sorted, sort, min, max, map, filter, "
				  "count_by, sr and walk");
		if (p->type && !(left_out && c.arg[i]->kind == T_NONE))
			c.arg[i] = facts_fit(f, c.arg[i], p->type, left_out ? dflt : c.node[i], NULL, what.p);
		broken |= c.arg[i]->kind == T_ERROR;
		label_set_by(f, def->func.param[i].var, c.node[i]);
	}
	if (broken && f->in->ast->files.p[def->file].lib) {
		if (def->func.ret)
			return facts_sig_fact(f, facts_node_type(f, def->func.ret), NULL, n, 0);
		return facts_bad(f);
	}
	label_verb(f, n, def, c.arg, c.node);
	return label_from_verb(f, def, c.arg, facts_call_def(f, def, c.arg, n));
}

/* ---- functions as values ---- */

static const Fact *call_type(Facts *f, const Fact *fn, const Fact **arg, uint32_t n, const Node *at)
{
	const Sig *s = sig_func(&f->sigs, (BuiltinFunc)fn->index);
	CallArgs c = { .sig = s };

	if (n == 0 || s->n == 0)
		return mk(f, T_ANY);
	const SigType *t = s->param[0].type;

	if (fn->index == BI_str || fn->index == BI_repr)
		return mk_vals(f, T_STR, fn->index == BI_str ? vals_texts(f, arg[0]) : NULL);
	if (s->param[0].star)
		return arg[0];
	const Fact *x = facts_fit(f, arg[0], t, (Node *)at, &c, builtin_funcs[fn->index].name);

	if (x->kind == T_ERROR)
		return x;
	if (fn->index == BI_ip || fn->index == BI_net || fn->index == BI_mac)
		return fn->index == BI_ip ? mk_from(f, mk(f, T_IP), at)
					  : mk(f, fn->index == BI_net ? T_NET : T_MAC);
	return facts_sig_fact(f, s->ret, &c, at, 6);
}

const Fact *facts_call_fn(Facts *f, const Fact *fn, const Fact **arg, uint32_t n, const Node *at)
{
	if (fn->kind == T_TYPE)
		return label_called(f, label_of_type(f, call_type(f, fn, arg, n, at), arg, n));
	if (fn->kind != T_FUNC)
		return fact_quiet(fn) ? fn : mk(f, T_ANY);
	const Node *func = fn->node;
	uint32_t required = 0;

	while (required < func->func.n && !func->func.param[required].dflt)
		required++;
	if (n < required || n > func->func.n) {
		facts_say(f, "E-ARGS", fn->from_fn ? at : func,
			  "this function is called with %u argument%s; it takes %u", n, n == 1 ? "" : "s",
			  func->func.n);
		return facts_bad(f);
	}
	const Fact **all = arena_new_n(f->a, const Fact *, func->func.n + 1);

	for (uint32_t i = 0; i < func->func.n; i++)
		all[i] = i < n ? arg[i] : facts_ex(f, func->func.param[i].dflt);
	return label_called(f, walk_func(f, func, all, at, fn->from_fn ? NULL : fn->item));
}

const Fact *facts_call_each(Facts *f, const Fact *fn, const Fact **arg, uint32_t n, const Node *at, Len times)
{
	Count was = f->count;
	const Fact *x = facts_call_fn(f, fn, arg, n, at);

	facts_count_rounds(f, was, times);
	return x;
}

/* ---- results of lib ---- */

/* None in a field that has an absent value is that. */
static const Fact *fit_field(Facts *f, const Fact *x, const SigType *t, Node *n)
{
	bool absent = str_is(t->name, "float") || str_is(t->name, "duration") || str_is(t->name, "time");

	if (absent && x->none && x->kind != T_ANY) {
		x = mk_some(f, x);
		if (x->kind == T_NEVER)
			return facts_sig_fact(f, t, NULL, n, 0);
	}
	return facts_fit(f, x, t, n, NULL, "the field");
}

static const Fact *call_result(Facts *f, Node *n, Node *decl)
{
	Fact *x = mk_copy(f, mk(f, T_RESULT));
	const Fact **item = arena_new_n(f->a, const Fact *, decl->result.n);

	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];
		uint32_t k = a->name ? 0 : i;

		while (a->name && k < decl->result.n && decl->result.field[k].name != a->name)
			k++;
		const Fact *v = facts_ex(f, a->value);

		if (k < decl->result.n)
			item[k] = label_result_field(
				f, fit_field(f, v, facts_node_type(f, decl->result.field[k].type), a->value),
				&decl->result.field[k], n, k);
		else
			facts_say(f, "E-ARGS", a->value, "the result has no such field");
	}
	for (uint32_t i = 0; i < decl->result.n; i++)
		if (!item[i] || item[i]->kind == T_ERROR)
			item[i] = facts_sig_fact(f, facts_node_type(f, decl->result.field[i].type), NULL, n,
						 i + 1);
	x->node = decl;
	x->item = item;
	x->n = decl->result.n;
	return x;
}

/* ---- call ---- */

static const Fact *call_value(Facts *f, Node *n)
{
	const Fact *fn = facts_ex(f, n->call.fn);
	const Fact **arg = arena_new_n(f->a, const Fact *, n->call.n + 1);

	for (uint32_t i = 0; i < n->call.n; i++)
		arg[i] = facts_ex(f, n->call.arg[i].value);
	if (fn->kind == T_FUNC || fn->kind == T_TYPE)
		return facts_call_fn(f, fn, arg, n->call.n, n);
	if (fact_quiet(fn))
		return fn;
	facts_say(f, "E-TYPE", n->call.fn, "%.*s can't be called", STR_ARG(facts_a_text(f, fn)));
	return facts_bad(f);
}

const Fact *facts_call(Facts *f, Node *n)
{
	Node *fn = n->call.fn;

	if (fn->kind == N_ATTR) {
		const Fact *self = fn->attr.obj->kind == N_NAME && fn->attr.obj->name.ref == REF_BUILTIN
					   ? facts_ex(f, fn->attr.obj)
					   : facts_ex_value(f, fn->attr.obj);
		const Fact *out = mk(f, T_NEVER);

		for (uint32_t i = 0; i < fact_ways(self); i++)
			out = facts_join(f, out, facts_method(f, n, fact_way(f, self, i)));
		return out;
	}
	if (fn->kind != N_NAME)
		return call_value(f, n);
	switch (fn->name.ref) {
	case REF_FUNC:
		return call_user(f, n, fn->name.node);
	case REF_RESULT:
		return call_result(f, n, fn->name.node);
	case REF_BUILTIN:
		return facts_builtin(f, n, (BuiltinFunc)fn->name.index);
	case REF_PROTO:
		return facts_layer_call(f, n, (WireId)fn->name.index);
	case REF_OPTION:
		return facts_option_call(f, n, fn->name.option);
	case REF_DECL:
		facts_say(f, "E-DECL", n,
			  "%.*s is a declaration: it stands at the head of the file, by itself",
			  STR_ARG(fn->name.sym->text));
		return facts_bad(f);
	case REF_NONE:
		for (uint32_t i = 0; i < n->call.n; i++)
			facts_ex(f, n->call.arg[i].value);
		return facts_bad(f);
	default:
		return call_value(f, n);
	}
}
