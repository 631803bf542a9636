/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: arguments are evaluated in the order in which they are written, each
 * into the register where the callee expects it; what was left out is filled in.
 */
#include "lang/lower_priv.h"

#include <math.h>

/* ---- built-ins ---- */

static void default_into(Fn *f, const SigParam *p, Reg dst)
{
	switch (p->dflt) {
	case SIG_NONE:
		code_emit(f, insn_abc(I_LOADNONE, 0, dst, 0, 0));
		break;
	case SIG_BOOL:
		code_emit(f, insn_abc(I_LOADBOOL, p->i != 0, dst, 0, 0));
		break;
	case SIG_INT:
		code_load_int(f, dst, p->i);
		break;
	case SIG_FLOAT:
		code_load_const(f, dst, (Const){ .kind = K_FLOAT, .f = p->f });
		break;
	case SIG_STR:
		code_load_str(f, dst, p->s);
		break;
	case SIG_BYTES:
		code_load_const(f, dst, (Const){ .kind = K_BYTES, .s = p->s });
		break;
	default:
		code_emit(f, insn_abc(I_LOADUNSET, 0, dst, 0, 0));
		break;
	}
}

/* Arguments of one call being put in order. */
typedef struct Place {
	Fn *f;
	const Node *call;
	const Sig *sig;
	Reg base;	/* of the first parameter */
	uint64_t given; /* bit per parameter */
} Place;

/* The positional arguments from the i-th on, as a tuple. */
static uint32_t star_into(Place *c, uint32_t i, Reg dst)
{
	Fn *f = c->f;
	uint32_t n = 0;
	Reg top = f->top;

	while (i + n < c->call->call.n && !c->call->call.arg[i + n].name)
		n++;
	Reg base = reg_temps(f, n);

	for (uint32_t k = 0; k < n; k++)
		expr_into(f, c->call->call.arg[i + k].value, base + k);
	code_emit(f, insn_abc(I_TUPLE, 0, dst, base, n));
	f->top = top;
	return i + n;
}

static int named_param(const Sig *s, Str name)
{
	int i = sig_param(s, name);

	return i >= 0 && i < 64 && !s->param[i].kwstar && !s->param[i].star ? i : -1;
}

/* Keywords that are no parameter's, as a dict. */
static void kwstar_into(Place *c, Reg dst)
{
	Fn *f = c->f;
	const Node *n = c->call;
	uint32_t pairs = 0;
	Reg top = f->top, base = reg_temps(f, 2 * n->call.n);

	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];

		if (!a->name || named_param(c->sig, a->name->text) >= 0)
			continue;
		code_load_str(f, base + 2 * pairs, a->name->text);
		expr_into(f, a->value, base + 2 * pairs + 1);
		pairs++;
	}
	code_emit(f, insn_abc(I_DICT, 0, dst, base, pairs));
	f->top = top;
}

static void place_positional(Place *c, uint32_t *arg)
{
	const Sig *s = c->sig;

	for (uint32_t i = 0; i < s->n && i < 64 && !s->param[i].by_keyword_only && !s->param[i].kwstar; i++) {
		if (s->param[i].star) {
			*arg = star_into(c, *arg, c->base + i);
			c->given |= UINT64_C(1) << i;
			return;
		}
		if (*arg >= c->call->call.n || c->call->call.arg[*arg].name)
			return;
		expr_into(c->f, c->call->call.arg[(*arg)++].value, c->base + i);
		c->given |= UINT64_C(1) << i;
	}
}

static void place_args(Place *c)
{
	const Node *n = c->call;
	uint32_t arg = 0;

	place_positional(c, &arg);
	for (; arg < n->call.n; arg++) {
		int k = n->call.arg[arg].name ? named_param(c->sig, n->call.arg[arg].name->text) : -1;

		if (k < 0)
			continue;
		expr_into(c->f, n->call.arg[arg].value, c->base + (Reg)k);
		c->given |= UINT64_C(1) << k;
	}
	for (uint32_t i = 0; i < c->sig->n && i < 64; i++) {
		const SigParam *p = &c->sig->param[i];

		if (c->given >> i & 1)
			continue;
		if (p->kwstar)
			kwstar_into(c, c->base + i);
		else if (p->star)
			code_emit(c->f, insn_abc(I_TUPLE, 0, c->base + i, 0, 0));
		else
			default_into(c->f, p, c->base + i);
	}
}

/* What a call, or setting an attribute, costs; R[packets] are what it sends. */
void code_pay(Fn *f, const Node *call, Reg packets, bool sends)
{
	const LabelMarks *m = f->lo->in->marks;
	const LabelCost *c = m && m->cost ? &m->cost[call->id] : NULL;
	const Manifest *all = f->lo->in->manifest;

	if (c && c->call)
		code_emit(f, insn_abc(I_METER, c->reflect, 0, 0, c->call));
	if ((c && c->packet) || (sends && all && all->leak_end == LEAK_END_PAID))
		code_emit(f, insn_abc(I_METERN, c ? c->reflect : 0, packets, 0, c ? c->packet : 0));
}

/* What it prints tells. */
static void code_told(Fn *f, const Node *call)
{
	const LabelMarks *m = f->lo->in->marks;
	const LabelTold *t = m && m->told ? &m->told[call->id] : NULL;
	Lower *lo = f->lo;

	if (!t || !t->n || lo->told.n + t->n > UINT16_MAX)
		return; /* then it tells everything, of everybody */
	code_emit(f, insn_abc(I_TOLD, t->n, 0, 0, lo->told.n));
	for (uint32_t i = 0; i < t->n; i++)
		vec_push(lo->a, &lo->told, t->row[i]);
}

/* max of an empty list of durations is an absent one. */
static void absent_default(Place *c, uint8_t absent)
{
	int i = sig_param(c->sig, STR("default"));
	Const k = { .kind = absent == ABSENT_TIME ? K_TIME : K_DURATION, .i = NS_NONE };

	if (absent == ABSENT_FLOAT)
		k = (Const){ .kind = K_FLOAT, .f = NAN };
	if (absent != ABSENT_NONE && absent != ABSENT_DIFFERS && !(c->given >> i & 1))
		code_load_const(c->f, c->base + (Reg)i, k);
}

static void builtin_into(Fn *f, Node *n, BuiltinFunc b, Reg dst)
{
	const Sig *s = sig_func(&f->lo->sigs, b);

	if ((b == BI_any || b == BI_all) && n->call.n == 1 && n->call.arg[0].value->kind == N_GENEXP) {
		any_all_into(f, n->call.arg[0].value, b == BI_any, dst);
		return;
	}
	Place c = { .f = f, .call = n, .sig = s, .base = reg_temps(f, s->n) };

	place_args(&c);
	code_pay(f, n, c.base, b == BI_send || b == BI_sr || b == BI_sr1);
	code_told(f, n);
	if (b == BI_max || b == BI_min)
		absent_default(&c, n->call.absent);
	code_emit(f, insn_abc(I_CALLB, s->n, dst, b, c.base));
}

/* int.from_bytes, bytes.fromhex */
static bool type_method_into(Fn *f, Node *n, Reg dst)
{
	const Node *obj = n->call.fn->attr.obj;

	if (obj->kind != N_NAME || obj->name.ref != REF_BUILTIN)
		return false;
	BuiltinOwner owner = obj->name.index == BI_int ? OWNER_INT_TYPE : OWNER_BYTES_TYPE;
	int m = builtin_method(owner, n->call.fn->attr.sym->text);

	if (m < 0)
		return false;
	const Sig *s = sig_method(&f->lo->sigs, (BuiltinMethod)m);
	Place c = { .f = f, .call = n, .sig = s, .base = reg_temps(f, s->n) };

	place_args(&c);
	code_emit(f, insn_abc(I_CALLS, s->n, dst, (unsigned)m, c.base));
	return true;
}

/* The function value of a built-in: a function of one argument that calls it. */
uint16_t prog_builtin(Lower *lo, BuiltinFunc b)
{
	const Sig *s = sig_func(&lo->sigs, b);

	if (lo->wrapper[b])
		return (uint16_t)(lo->wrapper[b] - 1);
	vec_push(lo->a, &lo->fn, (ProgFn){ 0 });
	lo->wrapper[b] = lo->fn.n;
	Fn f = { .lo = lo, .top = 1, .most = 1 };
	Reg base = reg_temps(&f, s->n + 1);

	for (uint32_t i = 0; i < s->n; i++) {
		if (i == 0 && s->param[0].star)
			code_emit(&f, insn_abc(I_TUPLE, 0, base, 0, 1));
		else if (i == 0)
			code_emit(&f, insn_abc(I_MOVE, 0, base, 0, 0));
		else
			default_into(&f, &s->param[i], base + i);
	}
	code_emit(&f, insn_abc(I_CALLB, s->n, 0, b, base));
	code_emit(&f, insn_abc(I_RETURN, 0, 0, 0, 0));
	lo->fn.p[lo->wrapper[b] - 1] = (ProgFn){ .name = str_c(builtin_funcs[b].name),
						 .lib = true,
						 .nparams = 1,
						 .nslots = (uint16_t)f.most,
						 .ncode = f.code.n,
						 .code = f.code.p,
						 .span = f.span.p };
	return (uint16_t)(lo->wrapper[b] - 1);
}

/* ---- functions of the program and of lib ---- */

static void def_default(Fn *f, Node *dflt, Reg dst)
{
	bool fixed = f->fixed_at;

	f->fixed_at = true;
	expr_into(f, dflt, dst);
	f->fixed_at = fixed;
}

static void def_into(Fn *f, Node *n, Node *def, Reg dst)
{
	uint32_t params = def->func.n;
	Reg base = reg_temps(f, params);
	uint8_t *given = arena_alloc(f->lo->a, params);

	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];
		uint32_t k = a->name ? 0 : i;

		while (a->name && k < params && def->func.param[k].name != a->name)
			k++;
		if (k >= params)
			continue;
		expr_into(f, a->value, base + k);
		given[k] = 1;
	}
	for (uint32_t i = 0; i < params; i++)
		if (!given[i] && def->func.param[i].dflt)
			def_default(f, def->func.param[i].dflt, base + i);
	code_pay(f, n, base, false);
	code_emit(f, insn_abc(I_CALL, 0, dst, prog_fn(f->lo, def), base));
}

uint16_t prog_fn_value(Lower *lo, Node *def)
{
	uint32_t required = prog_required_params(def), params = def->func.n;

	if (required == params)
		return prog_fn(lo, def);
	if (lo->value_of[def->id])
		return (uint16_t)(lo->value_of[def->id] - 1);
	vec_push(lo->a, &lo->fn, (ProgFn){ 0 });
	lo->value_of[def->id] = lo->fn.n;
	Fn f = { .lo = lo,
		 .node = def,
		 .file = def->file,
		 .at = def->func.at,
		 .top = required,
		 .most = required };
	Reg base = reg_temps(&f, params);

	for (uint32_t i = 0; i < params; i++)
		if (i < required)
			code_emit(&f, insn_abc(I_MOVE, 0, base + i, i, 0));
		else
			def_default(&f, def->func.param[i].dflt, base + i);
	code_emit(&f, insn_abc(I_CALL, 0, base, prog_fn(lo, def), base));
	code_emit(&f, insn_abc(I_RETURN, 0, base, 0, 0));
	lo->fn.p[lo->value_of[def->id] - 1] = (ProgFn){ .name = def->func.sym->text,
							.lib = lo->in->ast->files.p[def->file].lib,
							.nparams = (uint16_t)required,
							.nslots = (uint16_t)f.most,
							.ncode = f.code.n,
							.code = f.code.p,
							.span = f.span.p };
	return (uint16_t)(lo->value_of[def->id] - 1);
}

static void value_into(Fn *f, Node *n, Reg dst)
{
	Reg fn = expr_any(f, n->call.fn), base = reg_temps(f, n->call.n);

	for (uint32_t i = 0; i < n->call.n; i++)
		expr_into(f, n->call.arg[i].value, base + i);
	f->lo->too_big |= n->call.n > 255;
	code_emit(f, insn_abc(I_CALLV, n->call.n, dst, fn, base));
}

/* ---- methods, layers, options, results ---- */

static void method_into(Fn *f, Node *n, Reg dst)
{
	Lower *lo = f->lo;
	MethodSite site = { .name = prog_name(lo, n->call.fn->attr.sym->text) };
	uint16_t *kw = arena_new_n(lo->a, uint16_t, n->call.n);
	Reg base = reg_temps(f, n->call.n + 1);

	expr_into(f, n->call.fn->attr.obj, base);
	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];

		expr_into(f, a->value, base + 1 + i);
		if (a->name)
			kw[site.nkw++] = prog_name(lo, a->name->text);
		else
			site.npos++;
	}
	lo->too_big |= n->call.n > 64;
	site.kw = kw;
	vec_push(lo->a, &lo->msite, site);
	lo->too_big |= lo->msite.n > UINT16_MAX;
	code_pay(f, n, base + (n->call.n ? 1 : 0), false); /* of send(): what it is given */
	code_meter(f, n);
	code_emit(f, insn_abc(I_CALLM, 0, dst, lo->msite.n - 1, base));
}

static void layer_into(Fn *f, Node *n, WireId id, Reg dst)
{
	Lower *lo = f->lo;
	const WireProto *p = wire_proto(id);
	LayerSite site = { .proto = (uint8_t)id };
	uint8_t *field = arena_alloc(lo->a, n->call.n);
	Reg base = reg_temps(f, n->call.n);

	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];
		int k = a->name ? wire_field(p, a->name->text) : (int)i;

		if (k < 0 || k >= p->nfields)
			continue;
		expr_into(f, a->value, base + site.n);
		field[site.n++] = (uint8_t)k;
	}
	site.field = field;
	vec_push(lo->a, &lo->lsite, site);
	lo->too_big |= lo->lsite.n > UINT16_MAX;
	code_emit(f, insn_abc(I_LAYER, 0, dst, lo->lsite.n - 1, base));
}

static void option_into(Fn *f, Node *n, Reg dst)
{
	Reg base = reg_temps(f, n->call.n);

	for (uint32_t i = 0; i < n->call.n; i++)
		expr_into(f, n->call.arg[i].value, base + i);
	f->lo->too_big |= n->call.n > 255;
	code_emit(f, insn_abc(I_OPTION, n->call.n, dst, n->call.fn->name.index, base));
}

static void result_into(Fn *f, Node *n, Node *decl, Reg dst)
{
	uint32_t fields = decl->result.n;
	Reg base = reg_temps(f, fields);

	for (uint32_t i = 0; i < fields; i++)
		code_emit(f, insn_abc(I_LOADNONE, 0, base + i, 0, 0));
	for (uint32_t i = 0; i < n->call.n; i++) {
		const Arg *a = &n->call.arg[i];
		uint32_t k = a->name ? 0 : i;

		while (a->name && k < fields && decl->result.field[k].name != a->name)
			k++;
		if (k >= fields)
			continue;
		expr_into(f, a->value, base + k);
		conv_emit(f, decl->result.field[k].type, base + k);
	}
	code_emit(f, insn_abc(I_RESULT, 0, dst, prog_result(f->lo, decl), base));
}

/* ---- all calls ---- */

void call_into(Fn *f, Node *n, Reg dst)
{
	Node *fn = n->call.fn;
	RefKind ref = fn->kind == N_NAME ? fn->name.ref : REF_VAR;

	if (fn->kind == N_ATTR) {
		if (!type_method_into(f, n, dst))
			method_into(f, n, dst);
	} else if (ref == REF_BUILTIN) {
		builtin_into(f, n, (BuiltinFunc)fn->name.index, dst);
	} else if (ref == REF_FUNC) {
		def_into(f, n, fn->name.node, dst);
	} else if (ref == REF_PROTO) {
		layer_into(f, n, (WireId)fn->name.index, dst);
	} else if (ref == REF_OPTION) {
		option_into(f, n, dst);
	} else if (ref == REF_RESULT) {
		result_into(f, n, fn->name.node, dst);
	} else {
		value_into(f, n, dst);
	}
}

void lambda_into(Fn *f, Node *n, Reg dst)
{
	const Scope *s = n->func.scope;
	uint32_t required = prog_required_params(n), defaults = n->func.n - required,
		 all = defaults + s->captures.n;
	Reg base = reg_temps(f, all);

	for (uint32_t i = 0; i < defaults; i++)
		expr_into(f, n->func.param[required + i].dflt, base + i);
	for (uint32_t i = 0; i < s->captures.n; i++) {
		const Var *outer = s->captures.p[i]->outer;
		Reg r;

		if (!var_reg(f, outer, &r))
			continue;
		var_check_assigned(f, outer, r);
		code_emit(f, insn_abc(I_MOVE, 0, base + defaults + i, r, 0));
	}
	f->lo->too_big |= all > 255;
	code_meter(f, n);
	code_emit(f, insn_abc(I_LAMBDA, all, dst, prog_fn(f->lo, n), base));
}
