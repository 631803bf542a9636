/* SPDX-License-Identifier: Apache-2.0
 *
 * What may be a run-time error: where received data can bring one about, it decides
 * whether there is a rest of the run, and so what others get of it.  Verbs never fail.
 */
#include "lang/label_inside.h"

static bool small(const Facts *f, const Node *n)
{
	const Fact *x = label_seen(f, n);
	int64_t lo, hi;

	/* a field of a header has at most 48 bits */
	return n->kind == N_ATTR ||
	       (x && vals_bounds(x, &lo, &hi) && lo > -(INT64_C(1) << 48) && hi < INT64_C(1) << 48);
}

/* Overflow, a division by zero, a negative shift. */
static bool may_overflow(Facts *f, const Node *n, const Fact *x)
{
	const Fact *b = label_seen(f, n->binary.right);
	int64_t lo, hi;

	if (x->kind != T_INT && x->kind != T_FLOAT && x->kind != T_DURATION)
		return (x->kind == T_STR || x->kind == T_BYTES || x->kind == T_LIST) && n->op == OP_MUL;
	if (n->op == OP_DIV || n->op == OP_FLOOR || n->op == OP_MOD)
		return !(b && vals_bounds(b, &lo, &hi) && (lo > 0 || hi < 0)) && (!b || b->kind == T_INT);
	if (x->kind != T_INT || (n->op != OP_ADD && n->op != OP_SUB && n->op != OP_MUL))
		return x->kind == T_INT && (n->op == OP_POW || n->op == OP_SHL || n->op == OP_SHR);
	if (n->op == OP_MUL)
		return !(b && vals_bounds(b, &lo, &hi) && lo > -32768 && hi < 32768 && small(f, n->binary.left));
	return !small(f, n->binary.left) || !small(f, n->binary.right);
}

static bool call_may_fail(const Node *n)
{
	const Node *fn = n->call.fn;

	if (fn->kind == N_NAME && fn->name.ref == REF_BUILTIN && n->call.n > 1 &&
	    (fn->name.index == BI_min || fn->name.index == BI_max) && !n->call.arg[1].name)
		return false; /* of several values there is one */
	if (fn->kind == N_NAME)
		return fn->name.ref == REF_BUILTIN &&
		       (strstr(builtin_funcs[fn->name.index].doc, "Error") || fn->name.index == BI_bytes ||
			fn->name.index == BI_chr || fn->name.index == BI_pack || fn->name.index == BI_range);
	if (fn->kind != N_ATTR)
		return false;
	for (int m = 0; m < M_N; m++)
		if (str_is(fn->attr.sym->text, builtin_methods[m].name) && strstr(builtin_methods[m].doc, "Error"))
			return true;
	return false;
}

static const Label *self_label(Facts *f, const Node *n)
{
	return n->call.fn->kind == N_ATTR ? label_deep_of(f, n->call.fn->attr.obj) : NULL;
}

/* A number that does not fit its field, an address of the other family. */
static bool may_not_fit(Facts *f, const Node *fn, const Arg *a)
{
	const WireProto *p = wire_proto((WireId)fn->name.index);
	const Fact *x = label_seen(f, a->value);
	int field = a->name ? wire_field(p, a->name->text) : 0;
	int64_t lo, hi;

	if (!x || field < 0 || (x->kind != T_INT && x->kind != T_IP))
		return false;
	if (x->kind == T_IP)
		return !x->vals;
	if (a->name && a->value->kind == N_ATTR && a->value->attr.sym == a->name)
		return false; /* ttl=r.ttl */
	if (p->fields[field].kind == FK_SERIAL)
		return false; /* taken modulo its width */
	unsigned width = p->fields[field].width;

	return !vals_bounds(x, &lo, &hi) || lo < 0 || (width < 63 && hi >> width);
}

static const Label *misfits(Facts *f, const Node *n)
{
	const Label *l = NULL;

	for (uint32_t i = 0; i < n->call.n; i++)
		if (may_not_fit(f, n->call.fn, &n->call.arg[i]))
			l = label_join(f, l, label_deep_of(f, n->call.arg[i].value));
	return l;
}

/* Whether there is an error here may be for received data to say. */
void label_may_fail(Facts *f, const Node *n, const Fact *x)
{
	const Fact *c;

	if (n->file != 0 || f->silent)
		return;
	if (n->kind == N_INDEX && n->index.index->kind != N_SLICE) {
		c = label_seen(f, n->index.obj);
		if (c && c->kind != T_PACKET)
			label_may_end(f, n, label_join(f, label_shape(f, c), label_index(f, n)));
	} else if (n->kind == N_BINARY && may_overflow(f, n, x)) {
		label_may_end(f, n, label_join(f, label_deep_of(f, n->binary.left), label_deep_of(f, n->binary.right)));
	} else if (n->kind == N_CALL && n->call.fn->kind == N_NAME && n->call.fn->name.ref == REF_PROTO) {
		label_may_end(f, n, misfits(f, n));
	} else if (n->kind == N_CALL && call_may_fail(n)) {
		label_may_end(f, n, label_join(f, self_label(f, n), label_args(f, n, label_deep_of)));
	}
}
