/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over names.  Module variables of a file are collected first, since
 * functions may use those that are assigned further down; then the module's own
 * statements are walked, then each def, with the names that it assigns collected
 * as its locals.
 *
 * A name that is called means a function, even if a variable of that name exists,
 * unless the variable is a parameter: no other variable can hold a function.  So
 * `for ip in hosts` does not take ip("10.0.0.1") away.
 */
#include "lang/scope_priv.h"

#include "base/limits.h"
#include "lang/decl.h"
#include "lang/habit.h"
#include "lang/sig.h"

Diag *scope_error(Resolver *r, Span s, const Sym *y, const char *what)
{
	return diag_add(r->d, "E-NAME", s, "`%.*s` %s", STR_ARG(y->text), what);
}

/* ---- variables ---- */

static Var *map_var(const Map *m, const Sym *y)
{
	uint64_t *slot = map_get(m, str_bytes(y->text));

	return slot ? (Var *)(uintptr_t)*slot : NULL;
}

static void map_set(Map *m, const Sym *y, const void *p)
{
	*map_put(m, str_bytes(y->text)) = (uint64_t)(uintptr_t)p;
}

static Var *var_new(Resolver *r, Scope *s, const Sym *y, VarKind kind, Span first)
{
	Var *v = arena_new(r->a, Var);

	v->sym = y;
	v->kind = kind;
	v->slot = kind == VAR_GLOBAL ? r->out->n_globals++ : s->n_slots++;
	v->index = r->out->n_vars++;
	v->scope = s;
	v->first = first;
	vec_push(r->a, &s->vars, v);
	return v;
}

static Scope *scope_new(Resolver *r, Node *node, Scope *parent)
{
	Scope *s = arena_new(r->a, Scope);

	s->node = node;
	s->parent = parent;
	s->names.a = r->a;
	return s;
}

/* ---- names that a function or module assigns ---- */

typedef struct Collect {
	Resolver *r;
	Scope *scope;
	VarKind kind;
	bool augment;
} Collect;

static void collect_name(Collect *c, const Node *n)
{
	const Sym *y = n->name.sym;

	if (map_var(&c->scope->names, y))
		return;
	if (c->augment && c->kind == VAR_LOCAL && map_var(&c->r->module->names, y)) {
		scope_error(c->r, n->span, y,
			   "is a variable of the module: a function can read it, not set it")
			->hint = STR("return the new value and assign it at the call; lists and dicts can be "
				     "changed in place");
		return;
	}
	map_set(&c->scope->names, y, var_new(c->r, c->scope, y, c->kind, n->span));
}

static void collect_target(Node *n, void *ctx)
{
	if (n->kind == N_NAME)
		collect_name(ctx, n);
	else if (n->kind == N_TUPLE || n->kind == N_LIST)
		ast_each(n, collect_target, ctx);
}

static void collect_statement(Node *n, void *ctx)
{
	Collect *c = ctx;

	switch (n->kind) {
	case N_ASSIGN:
		for (uint32_t i = 0; i < n->assign.targets.n; i++)
			collect_target(n->assign.targets.p[i], c);
		break;
	case N_ANNOTATE:
		collect_target(n->annotate.target, c);
		break;
	case N_AUGMENT:
		c->augment = true;
		collect_target(n->augment.target, c);
		c->augment = false;
		break;
	case N_PARAM:
		n->param.var = map_var(&c->scope->names, n->param.sym);
		if (!n->param.var) {
			n->param.var = var_new(c->r, c->scope, n->param.sym, c->kind, n->param.at);
			map_set(&c->scope->names, n->param.sym, n->param.var);
		}
		n->param.var->is_param = true;
		break;
	case N_FOR:
		collect_target(n->loop.target, c);
		ast_each(n, collect_statement, c);
		break;
	case N_IF:
	case N_WHILE:
		ast_each(n, collect_statement, c);
		break;
	default:
		break;
	}
}

/* ---- finding names ---- */

static Var *capture(Resolver *r, Scope *lambda, Var *outer)
{
	for (uint32_t i = 0; i < lambda->captures.n; i++)
		if (lambda->captures.p[i]->outer == outer)
			return lambda->captures.p[i];
	Var *v = var_new(r, lambda, outer->sym, VAR_CAPTURE, outer->first);

	v->outer = outer;
	v->is_param = outer->is_param;
	vec_push(r->a, &lambda->captures, v);
	return v;
}

/* As seen from scope s, whose comprehensions are those of `comp` with the same scope. */
static Var *find_var(Resolver *r, Scope *s, CompVars *comp, const Sym *y)
{
	for (; comp && comp->scope == s; comp = comp->outer) {
		Var *v = map_var(&comp->names, y);

		if (v)
			return v;
	}
	Var *v = map_var(&s->names, y);

	if (v || !s->parent)
		return v;
	v = find_var(r, s->parent, s->node->kind == N_LAMBDA ? comp : NULL, y);
	return !v || v->kind == VAR_GLOBAL ? v : capture(r, s, v);
}

static Node *find_def(const Resolver *r, const Sym *y)
{
	Bytes key = str_bytes(y->text);
	uint64_t *slot = r->file->lib ? NULL : map_get(&r->program.map, key);

	if (!slot && (r->file->lib || y->text.p[0] != '_'))
		slot = map_get(&r->lib.map, key);
	return slot ? (Node *)(uintptr_t)*slot : NULL;
}

/* A function, layer, option or declaration of that name; false if there is none. */
static bool find_other(Resolver *r, Node *n)
{
	const Sym *y = n->name.sym;
	Node *def = find_def(r, y);
	int i;
	const WireProto *proto;

	if (def) {
		n->name.ref = def->kind == N_DEF ? REF_FUNC : REF_RESULT;
		n->name.node = def;
		if (def->kind == N_DEF)
			vec_push(r->a, &r->scope->uses, n);
	} else if ((i = builtin_func(y->text)) >= 0) {
		n->name.ref = REF_BUILTIN;
		n->name.index = (uint32_t)i;
	} else if ((proto = wire_proto_by_name(y->text))) {
		n->name.ref = REF_PROTO;
		n->name.index = proto->id;
	} else if ((n->name.option = name_option(y->text, &n->name.index))) {
		n->name.ref = REF_OPTION;
	} else if ((i = decl_word(y->text)) >= 0 && i != DECL_LISTEN) {
		n->name.ref = REF_DECL;
		n->name.index = (uint32_t)i;
	} else {
		return false;
	}
	return true;
}

/* ---- names that are not known ---- */

/* Names of the library's own are near to such names only. */
static void near_name(Nearest *n, Str s)
{
	if (str_distance(n->said, s, 2) < n->said.n && (s.p[0] != '_' || n->said.p[0] == '_'))
		nearest_try(n, s);
}

static void nearest_map(Nearest *n, const Map *m)
{
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			near_name(n, bytes_str(m->slots[i].key));
}

static Str nearest_name(Resolver *r, const Sym *y)
{
	Nearest n = nearest_to(y->text);

	n.distance = y->text.n < 3 ? 2 : 3;

	for (CompVars *c = r->comp; c; c = c->outer)
		nearest_map(&n, &c->names);
	for (Scope *s = r->scope; s; s = s->parent)
		nearest_map(&n, &s->names);
	nearest_map(&n, &r->program.map);
	nearest_map(&n, &r->lib.map);
	for (unsigned i = 0; i < BI_N; i++)
		near_name(&n, str_c(builtin_funcs[i].name));
	for (unsigned i = 0; i < WIRE_N; i++)
		near_name(&n, str_c(wire_proto((WireId)i)->name));
	return n.best;
}

static void unknown_name(Resolver *r, Node *n)
{
	const Sym *y = n->name.sym;
	const char *habit = name_habit(y->text), *pattern = habit_of_name(y->text, -1);

	if (pattern) {
		diag_fix(scope_error(r, n->span, y, "is not there"), n->span, str_c(pattern));
		n->kind = str_is(str_c(pattern), "None") ? N_NONE : N_BOOL;
		n->i = str_is(str_c(pattern), "True");
		return;
	}
	if (scope_foreign_name(r, y))
		return; /* its import was reported */
	if (map_get(&r->told, str_bytes(y->text)))
		return;
	*map_put(&r->told, str_bytes(y->text)) = 1;
	Str near = habit ? (Str){ 0 } : nearest_name(r, y);
	Diag *d = scope_error(r, n->span, y, habit ? "is not there" : "is not known");

	if (habit)
		d->hint = str_c(habit);
	else if (near.n)
		diag_fix(d, n->span, near);
}

/* ---- the walk ---- */

bool scope_knows(Resolver *r, Node *name)
{
	return find_var(r, r->scope, r->comp, name->name.sym) || find_other(r, name);
}

static void walk(Node *n, void *ctx);

static void walk_nodes(Resolver *r, Nodes v)
{
	for (uint32_t i = 0; i < v.n; i++)
		walk(v.p[i], r);
}

static void walk_opt(Resolver *r, Node *n)
{
	if (n)
		walk(n, r);
}

static void use_var(Node *n, Var *v)
{
	n->name.ref = REF_VAR;
	n->name.var = v;
}

static void walk_name(Resolver *r, Node *n, bool called)
{
	Var *v = find_var(r, r->scope, r->comp, n->name.sym);

	bool callable = v && v->is_param && v->kind != VAR_GLOBAL;

	if (v && (!called || callable || !find_other(r, n)))
		use_var(n, v);
	else if (!v && !find_other(r, n))
		unknown_name(r, n);
}

static void walk_call(Resolver *r, Node *n)
{
	Node *fn = n->call.fn;
	bool foreign = scope_foreign_call(r, n);

	if (fn->kind == N_NAME && (!foreign || scope_knows(r, fn)))
		walk_name(r, fn, true);
	else if (!foreign)
		walk(fn, r);
	if (fn->kind == N_NAME && fn->name.ref == REF_DECL)
		return; /* its words are decl.c's */
	if (fn->kind == N_NAME && fn->name.ref == REF_PROTO)
		scope_foreign_random(r, n);
	for (uint32_t i = 0; i < n->call.n; i++)
		if (!scope_foreign_keyword(r, n, &n->call.arg[i]))
			walk(n->call.arg[i].value, r);
}

static void comp_target(Node *n, void *ctx)
{
	Resolver *r = ctx;

	if (n->kind != N_NAME) {
		ast_each(n, comp_target, r);
		return;
	}
	Var *v = map_var(&r->comp->names, n->name.sym);

	if (!v) {
		v = var_new(r, r->scope, n->name.sym, VAR_COMP, n->span);
		map_set(&r->comp->names, n->name.sym, v);
	}
	use_var(n, v);
}

static void refuse_in_default(Resolver *r, const Node *n)
{
	if (r->in_default)
		diag_add(r->d, "E-SYNTAX", n->span, "a default is a plain value")->hint =
			STR("use None as the default and make the value in the function");
}

/* Python 3: the first iterable is evaluated outside, all else inside. */
static void walk_comp(Resolver *r, Node *n)
{
	CompVars c = { .outer = r->comp, .scope = r->scope, .names = { .a = r->a } };

	refuse_in_default(r, n);
	walk(n->comp.clause[0].value, r);
	r->comp = &c;
	for (uint32_t i = 0; i < n->comp.n; i++) {
		if (i > 0)
			walk(n->comp.clause[i].value, r);
		if (n->comp.clause[i].target)
			comp_target(n->comp.clause[i].target, r);
	}
	walk_opt(r, n->comp.key);
	walk(n->comp.value, r);
	r->comp = c.outer;
}

static void bind_params(Resolver *r, Node *n, Scope *s)
{
	for (uint32_t i = 0; i < n->func.n; i++) {
		Param *p = &n->func.param[i];

		p->var = var_new(r, s, p->name, VAR_LOCAL, p->span);
		p->var->is_param = true;
		map_set(&s->names, p->name, p->var);
	}
}

static void walk_defaults(Resolver *r, Node *n)
{
	r->in_default = true;
	for (uint32_t i = 0; i < n->func.n; i++)
		walk_opt(r, n->func.param[i].dflt);
	r->in_default = false;
}

/* A lambda's frame: parameters, then what it captures, then the rest. */
static void order_slots(Scope *s, uint32_t n_params)
{
	uint32_t rest = n_params + s->captures.n;

	for (uint32_t i = 0; i < s->captures.n; i++)
		s->captures.p[i]->slot = n_params + i;
	for (uint32_t i = n_params; i < s->vars.n; i++)
		if (s->vars.p[i]->kind != VAR_CAPTURE)
			s->vars.p[i]->slot = rest++;
}

static void walk_lambda(Resolver *r, Node *n)
{
	Scope *outer = r->scope, *s = scope_new(r, n, outer);

	refuse_in_default(r, n);
	walk_defaults(r, n);
	n->func.scope = s;
	bind_params(r, n, s);
	vec_push(r->a, &r->out->lambdas, n);
	r->scope = s;
	walk(n->func.value, r);
	r->scope = outer;
	order_slots(s, n->func.n);
	for (uint32_t i = 0; i < s->uses.n; i++)
		vec_push(r->a, &outer->uses, s->uses.p[i]);
}

static void walk(Node *n, void *ctx)
{
	Resolver *r = ctx;

	switch (n->kind) {
	case N_NAME:
		walk_name(r, n, false);
		break;
	case N_CALL:
		walk_call(r, n);
		break;
	case N_ATTR:
		if (!scope_foreign_attr(r, n))
			ast_each(n, walk, r);
		break;
	case N_ASSIGN:
		if (!scope_foreign_assign(r, n))
			ast_each(n, walk, r);
		break;
	case N_COMPARE:
		if (!scope_foreign_main(r, n))
			ast_each(n, walk, r);
		break;
	case N_INDEX:
		scope_foreign_index(r, n);
		ast_each(n, walk, r);
		break;
	case N_LAMBDA:
		walk_lambda(r, n);
		break;
	case N_LISTCOMP:
	case N_SETCOMP:
	case N_DICTCOMP:
	case N_GENEXP:
		walk_comp(r, n);
		break;
	case N_DEF:
	case N_RESULT:
	case N_TYPE:
		break; /* on their own */
	default:
		ast_each(n, walk, r);
		break;
	}
}

static void walk_def(Resolver *r, Node *n)
{
	Scope *s = scope_new(r, n, r->module);
	Collect c = { .r = r, .scope = s, .kind = VAR_LOCAL };

	walk_defaults(r, n);
	n->func.scope = s;
	bind_params(r, n, s);
	for (uint32_t i = 0; i < n->func.body.n; i++)
		collect_statement(n->func.body.p[i], &c);
	r->scope = s;
	walk_nodes(r, n->func.body);
	r->scope = r->module;
	vec_push(r->a, &r->out->defs, n);
}

/* ---- files ---- */

static void declare(Resolver *r, Names *names, Node *n)
{
	const Sym *y = n->kind == N_DEF ? n->func.sym : n->result.sym;
	Span at = n->kind == N_DEF ? n->func.at : n->result.at;
	uint64_t *slot = map_get(&names->map, str_bytes(y->text));

	if (slot) {
		const Node *first = (const Node *)(uintptr_t)*slot;

		diag_add(r->d, "E-NAME", at, "function `%.*s` is there already, on line %u", STR_ARG(y->text),
			 line_col(r->ast->files.p[first->file].text, first->span.from).line);
		return;
	}
	map_set(&names->map, y, n);
}

static void declare_all(Resolver *r, AstFile *f)
{
	Nodes body = f->module->module.body;

	for (uint32_t i = 0; i < body.n; i++) {
		Node *n = body.p[i];

		if (n->kind == N_DEF || n->kind == N_RESULT)
			declare(r, f->lib ? &r->lib : &r->program, n);
		else if (f->lib && !(n->kind == N_EXPR && n->expr.value->kind == N_STR))
			diag_add(r->d, "E-SYNTAX", n->span, "lib holds functions and results only");
		if (n->kind == N_RESULT)
			vec_push(r->a, &r->out->results, n);
		if (n->kind == N_PARAM)
			vec_push(r->a, &r->out->params, n);
	}
}

static void resolve_file(Resolver *r, AstFile *f)
{
	Node *m = f->module;
	Collect c = { .r = r, .kind = VAR_GLOBAL };

	r->file = f;
	r->comp = NULL;
	r->scope = r->module = m->module.scope = c.scope = scope_new(r, m, NULL);
	for (uint32_t i = 0; i < m->module.body.n; i++)
		collect_statement(m->module.body.p[i], &c);
	walk_nodes(r, m->module.body);
	for (uint32_t i = 0; i < m->module.body.n; i++)
		if (m->module.body.p[i]->kind == N_DEF)
			walk_def(r, m->module.body.p[i]);
}

/* ---- recursion ---- */

typedef struct Cycle {
	Resolver *r;
	DiagList *d, *lib_d;
	uint8_t *depth; /* by node id: calls below it; 0: not visited */
	Node *path[LIMIT_CALL_DEPTH];
	Node *use[LIMIT_CALL_DEPTH]; /* by which path[i] was reached */
	unsigned n;
} Cycle;

static void tell_cycle(Cycle *c, const Node *use, unsigned from)
{
	Sb b = sb(c->r->a);

	for (unsigned i = from; i < c->n; i++) {
		sb_str(&b, c->path[i]->func.sym->text);
		sb_cstr(&b, " -> ");
	}
	sb_str(&b, c->path[from]->func.sym->text);
	Str text = sb_done(&b);
	Diag *d = diag_add(use->file == 0 ? c->d : c->lib_d, "E-RECURSION", use->span,
			   "a function can't call itself: %.*s", STR_ARG(text));

	d->hint = STR("write it as a loop; a list can hold what is still to do");
}

static void visit(Cycle *c, Node *def, Node *use)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->path[i] == def) {
			tell_cycle(c, use, i);
			return;
		}
	if (c->depth[def->id])
		return;
	if (c->n == LIMIT_CALL_DEPTH) {
		diag_add(def->file == 0 ? c->d : c->lib_d, "E-COMPLEX", def->func.at,
			 "calls nested more than %d deep", LIMIT_CALL_DEPTH);
		return;
	}
	c->path[c->n++] = def;
	for (uint32_t i = 0; i < def->func.scope->uses.n; i++) {
		Node *u = def->func.scope->uses.p[i];

		visit(c, u->name.node, u);
	}
	c->n--;
	c->depth[def->id] = 1;
}

/* Calls that start in the functions from `first` on. */
static void refuse_recursion(Resolver *r, uint32_t first, DiagList *d, DiagList *lib_d)
{
	Cycle *c = arena_new(r->a, Cycle);

	*c = (Cycle){ .r = r, .d = d, .lib_d = lib_d, .depth = arena_alloc(r->a, r->ast->n_nodes) };
	for (uint32_t i = first; i < r->out->defs.n; i++)
		visit(c, r->out->defs.p[i], NULL);
}

static Resolver resolver(Ast *ast, Scopes *out)
{
	return (Resolver){ .ast = ast,
			   .a = ast->a,
			   .out = out,
			   .program.map.a = ast->a,
			   .lib.map.a = ast->a,
			   .told.a = ast->a };
}

/* Files [from, to). */
static void resolve_files(Resolver *r, uint32_t from, uint32_t to, DiagList *d, DiagList *lib_d)
{
	for (uint32_t i = from; i < to; i++) {
		r->d = r->ast->files.p[i].lib ? lib_d : d;
		declare_all(r, &r->ast->files.p[i]);
	}
	for (uint32_t i = from; i < to; i++) {
		r->d = r->ast->files.p[i].lib ? lib_d : d;
		resolve_file(r, &r->ast->files.p[i]);
	}
}

void scope_run(Ast *ast, DiagList *d, DiagList *lib_d, Scopes *ret)
{
	Resolver r = resolver(ast, ret);

	*ret = (Scopes){ 0 };
	resolve_files(&r, 0, ast->files.n, d, lib_d);
	refuse_recursion(&r, 0, d, lib_d);
}

void scope_lib(Ast *ast, DiagList *lib_d, ScopeLib *ret)
{
	Resolver r = resolver(ast, &ret->scopes);

	*ret = (ScopeLib){ 0 };
	resolve_files(&r, 1, ast->files.n, lib_d, lib_d);
	refuse_recursion(&r, 0, lib_d, lib_d);
	ret->names = r.lib.map;
}

void scope_program(Ast *ast, const ScopeLib *lib, DiagList *d, Scopes *ret)
{
	Resolver r = resolver(ast, ret);

	*ret = lib->scopes;
	r.lib.map = lib->names;
	resolve_files(&r, 0, 1, d, d);
	refuse_recursion(&r, lib->scopes.defs.n, d, d);
}
