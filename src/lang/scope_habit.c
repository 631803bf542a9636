/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that stand for nothing here but something in Python or Scapy: reported with
 * what to write, and read as if that stood there.
 */
#include "lang/scope_priv.h"

#include "lang/habit.h"
#include "lang/sig.h"

/* What a refused import or class would have brought under that name. */
const Foreign *scope_foreign_name(const Resolver *r, const Sym *y)
{
	for (uint32_t i = 0; i < r->file->foreign.n; i++)
		if (r->file->foreign.p[i].name == y)
			return &r->file->foreign.p[i];
	return NULL;
}

static Str source_of(const Resolver *r, Span s)
{
	return (Str){ r->file->text.p + s.from, s.to - s.from };
}

static Node *root_of(Node *n)
{
	while (n->kind == N_ATTR)
		n = n->attr.obj;
	return n->kind == N_NAME ? n : NULL;
}

/* "time.sleep" of a chain whose root stands for nothing, with the module's own
 * name and without Scapy's; empty: it is no such chain. */
static Str foreign_path(Resolver *r, Node *n)
{
	Node *root = root_of(n);
	Sb b = sb(r->a);

	if (!root || scope_knows(r, root))
		return (Str){ 0 };
	const Foreign *f = scope_foreign_name(r, root->name.sym);

	sb_str(&b, f && f->path.n ? f->path : root->name.sym->text);
	sb_str(&b, source_of(r, (Span){ root->span.to, n->span.to }));
	Str s = sb_done(&b);

	for (size_t i = 0; n->kind == N_ATTR && str_starts(s, STR("scapy.")) && i < s.n; i++)
		if (s.p[s.n - 1 - i] == '.')
			return (Str){ s.p + s.n - i, i };
	return s;
}

/* The node becomes that name, as its fix says. */
static void become_name(Resolver *r, Node *n, Str name)
{
	n->kind = N_NAME;
	n->name.sym = sym(&r->ast->syms, name);
	n->name.ref = REF_NONE;
}

static bool is_layer(const Node *n)
{
	return n->kind == N_NAME && wire_proto_by_name(n->name.sym->text);
}

/* isinstance(p, TCP), ls(p): what they are asked for decides. */
static const char *pattern_of(Str path, const Node *call, uint32_t nargs)
{
	if (str_is(path, "isinstance"))
		return nargs == 2 && is_layer(call->call.arg[1].value) ? "$2 in $1" : NULL;
	if (str_is(path, "ls"))
		return nargs == 1 && !is_layer(call->call.arg[0].value) ? "print($1.show())" : NULL;
	return habit_of_name(path, (int)nargs);
}

/* time.sleep(1), sendp(p), scapy.IP(): reported, and read as what stands for it. */
bool scope_foreign_call(Resolver *r, Node *n)
{
	Node *fn = n->call.fn;
	Str path = foreign_path(r, fn), text;

	if (!path.n)
		return false;
	HabitUse use = habit_use_of(r->a, r->file->text, n);
	const char *pattern = pattern_of(path, n, use.nargs);
	bool renamed = !pattern && fn->kind == N_ATTR && !memchr(path.p, '.', path.n);

	if (renamed) { /* scapy.IP */
		Node *name = ast_node(r->ast, N_NAME, fn->file, fn->span);

		name->name.sym = sym(&r->ast->syms, path);
		renamed = scope_knows(r, name);
	}
	if (!renamed && (!pattern || !habit_expand(r->a, pattern, &use, &text)))
		return false;
	Diag *d = diag_add(r->d, "E-NAME", fn->span, "`%.*s` is not there", STR_ARG(source_of(r, fn->span)));
	const char *all = pattern ? strstr(pattern, "($*)") : NULL;

	diag_fix(d, renamed ? fn->span : n->span, renamed ? path : text);
	if (renamed)
		become_name(r, fn, path);
	else if (all && !all[4])
		become_name(r, fn, (Str){ pattern, (size_t)(all - pattern) });
	return true;
}

bool scope_foreign_attr(Resolver *r, Node *n)
{
	Str path = foreign_path(r, n);
	const char *pattern = path.n ? habit_of_name(path, -1) : NULL;

	if (!pattern)
		return false;
	diag_fix(diag_add(r->d, "E-NAME", n->span, "`%.*s` is not there", STR_ARG(source_of(r, n->span))), n->span,
		 str_c(pattern));
	return true;
}

/* conf.verb = 0 */
bool scope_foreign_assign(Resolver *r, Node *n)
{
	Node *target = n->assign.targets.p[0], *root = root_of(target);
	Span s = n->span;

	if (target->kind != N_ATTR || !root || scope_knows(r, root) || !str_is(root->name.sym->text, "conf"))
		return false;
	Diag *d = scope_error(r, target->span, root->name.sym, "is not there");
	bool line = r->scope == r->module && (s.from == 0 || r->file->text.p[s.from - 1] == '\n') &&
		    s.to < r->file->text.n && r->file->text.p[s.to] == '\n';

	d->hint = str_c(name_habit(STR("conf")));
	s.to += line;
	diag_fix(d, s, line ? STR("") : STR("pass"));
	n->kind = N_PASS;
	return true;
}

/* if __name__ == "__main__": */
bool scope_foreign_main(Resolver *r, Node *n)
{
	Node *left = n->compare.left;

	if (left->kind != N_NAME || !str_is(left->name.sym->text, "__name__") || scope_knows(r, left))
		return false;
	Diag *d = scope_error(r, left->span, left->name.sym, "is not there: statements at the top level run");

	diag_fix(d, n->span, STR("True"));
	n->kind = N_BOOL;
	n->i = 1;
	return true;
}

/* r[UDPerror]: r.quoted[UDP] */
void scope_foreign_index(Resolver *r, Node *n)
{
	static const struct {
		const char *name, *layer;
	} rows[] = { { "IPerror", "IP" },   { "TCPerror", "TCP" },     { "UDPerror", "UDP" },
		     { "ICMPerror", "ICMP" }, { "IPerror6", "IPv6" } };
	Node *in = n->index.index;

	if (in->kind != N_NAME || scope_knows(r, in))
		return;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!str_is(in->name.sym->text, rows[i].name))
			continue;
		Node *q = ast_node(r->ast, N_ATTR, n->file, n->index.obj->span);
		Diag *d = scope_error(r, in->span, in->name.sym, "is not there: what an ICMP error quotes is r.quoted");

		diag_fix(d, n->span,
			 str_printf(r->a, "%.*s.quoted[%s]", STR_ARG(source_of(r, n->index.obj->span)), rows[i].layer));
		q->attr.obj = n->index.obj;
		q->attr.sym = sym(&r->ast->syms, STR("quoted"));
		q->attr.at = n->index.obj->span;
		q->height = n->index.obj->height + 1;
		n->index.obj = q;
		become_name(r, in, str_c(rows[i].layer));
	}
}

/* An argument, with the comma that goes with it. */
static Span arg_span(const Node *call, uint32_t i)
{
	const Arg *a = call->call.arg;

	if (i + 1 < call->call.n)
		return (Span){ a[i].span.from, a[i + 1].span.from };
	return i ? (Span){ a[i - 1].span.to, a[i].span.to } : a[i].span;
}

/* sport=RandShort(): what is left out is distinct. */
void scope_foreign_random(Resolver *r, Node *n)
{
	for (uint32_t i = 0; i < n->call.n; i++) {
		Arg *a = &n->call.arg[i];
		Node *fn = a->value->kind == N_CALL ? a->value->call.fn : NULL;

		if (!a->name || !fn || fn->kind != N_NAME || scope_knows(r, fn) ||
		    (!str_is(fn->name.sym->text, "RandShort") && !str_is(fn->name.sym->text, "RandInt")))
			continue;
		Diag *d = scope_error(r, fn->span, fn->name.sym, "is not there: a field that is left out gets a value of its own");

		diag_fix(d, arg_span(n, i), STR(""));
		memmove(a, a + 1, (--n->call.n - i) * sizeof *a);
		i--;
	}
}

/* print(.., file=sys.stderr): that there is no such argument says all. */
bool scope_foreign_keyword(Resolver *r, const Node *call, const Arg *a)
{
	const Node *fn = call->call.fn;
	Node *root = root_of(a->value);

	if (!a->name || fn->kind != N_NAME || fn->name.ref != REF_BUILTIN || !root || scope_knows(r, root))
		return false;
	const Sig *s = sig_parse(r->a, str_c(builtin_funcs[fn->name.index].sig));

	return s && sig_param(s, a->name->text) < 0;
}
