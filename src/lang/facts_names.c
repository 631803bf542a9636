/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes and methods that do not exist: the nearest that do, and habits from
 * Python and Scapy.
 */
#include "lang/facts_inside.h"

static const struct {
	const char *name, *use;
} habits[] = {
	{ "format", "write an f-string: f\"{x:.2f}\"" },
	{ "avg_rtt", "write .avg" },
	{ "rtt_avg", "write .avg" },
	{ "mean", "write .avg" },
	{ "max_rtt", "write .max" },
	{ "min_rtt", "write .min" },
	{ "std", "write .stdev" },
	{ "stddev", "write .stdev" },
	{ "packet_loss", "write .loss, a fraction 0..1" },
	{ "loss_percent", "write .loss * 100" },
	{ "lost", "write .sent - .received" },
	{ "ip", "write .addr" },
	{ "address", "write .addr" },
	{ "hop", "write .ttl" },
	{ "total_seconds", "write .s" },
	{ "seconds", "write .s" },
	{ "milliseconds", "write .ms" },
	{ "microseconds", "write .us" },
	{ "load", "write .payload" },
	{ "show2", "write .show()" },
	{ "sent_time", "write .time of the packet as sent: `for s, r in ans: s.time`" },
	{ "answers", "write `for s, r in ans`" },
	{ "exploded", "write str(x)" },
	{ "compressed", "write str(x)" },
	{ "total_ms", "write .ms" },
	{ "has_key", "write `key in d`" },
	{ "iteritems", "write .items()" },
	{ "push", "write .append(x)" },
	{ "add", "write .append(x)" },
	{ "length", "write len(x)" },
	{ "size", "write len(x)" },
	{ "contains", "write `y in x`" },
	{ "to_string", "write str(x)" },
	{ "hlim", "write .ttl, or p[IPv6].hlim" },
};

const char *facts_habit(Str name)
{
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
		if (str_is(name, habits[i].name))
			return habits[i].use;
	return NULL;
}

void facts_near_try(Near *n, Str name)
{
	unsigned most = n->want.n <= 3 ? 1 : 2, d = str_distance(n->want, name, most);

	if (d <= most && d < n->d) {
		n->d = d;
		n->best = name;
	}
}

void facts_near_fix(Facts *f, Diag *d, const Near *n, const Node *file, Span span)
{
	if (n->d == 255)
		return;
	facts_fix_span(f, d, file, span, n->best);
	d->hint = str_printf(f->a, "did you mean %.*s?", STR_ARG(n->best));
}

static void near_rows(Near *near, const BuiltinRow *row, int n, BuiltinOwner owner)
{
	for (int i = 0; i < n; i++)
		if (row[i].owner == owner)
			facts_near_try(near, str_c(row[i].name));
}

static void near_all(Near *near, const Fact *x)
{
	BuiltinOwner owner = fact_owners[x->kind];

	if (owner != OWNER_NONE) {
		near_rows(near, builtin_attrs, A_N, owner);
		near_rows(near, builtin_methods, M_N, owner);
	}
	if (x->kind == T_RESULT)
		for (uint32_t i = 0; i < x->node->result.n; i++)
			facts_near_try(near, x->node->result.field[i].name->text);
	if (x->kind != T_PACKET)
		return;
	WireId id = (WireId)x->view;

	if (id == WIRE_NONE && x->n == 1 && x->stack[0]->built && x->stack[0]->n == 1)
		id = (WireId)x->stack[0]->id[0];
	if (id != WIRE_NONE) {
		const WireProto *p = wire_proto(id);

		for (unsigned i = 0; i < p->nfields; i++)
			facts_near_try(near, str_c(p->fields[i].name));
		near_rows(near, builtin_attrs, A_N, OWNER_LAYER);
		near_rows(near, builtin_methods, M_N, OWNER_LAYER);
	}
}

static bool other_form(Facts *f, Node *n, const Fact *x, bool method)
{
	BuiltinOwner owner = fact_owners[x->kind];
	Str name = n->attr.sym->text;

	if (owner == OWNER_NONE)
		return false;
	if (!method && builtin_method(owner, name) >= 0) {
		Diag *d = facts_say(f, "E-FIELD", n, "%.*s is a method: call it", STR_ARG(name));

		facts_fix(f, d, n, str_printf(f->a, "%.*s()", STR_ARG(facts_source(f, n))));
		return true;
	}
	if (method && builtin_attr(owner, name) >= 0) {
		facts_say(f, "E-FIELD", n, "%.*s is no method: leave the brackets out", STR_ARG(name));
		return true;
	}
	return false;
}

const Fact *facts_no_attr(Facts *f, Node *n, const Fact *x, bool method)
{
	Str name = n->attr.sym->text;
	Near near = { .want = name, .d = 255 };
	const char *use = facts_habit(name);

	if (other_form(f, n, x, method))
		return facts_bad(f);
	Diag *d = facts_say_at(f, "E-FIELD", n, n->attr.at, "%.*s has no %s %.*s",
			       STR_ARG(facts_a_text(f, x)), method ? "method" : "field", STR_ARG(name));

	if (use) {
		d->hint = str_c(use);
		return facts_bad(f);
	}
	if (x->kind == T_DICT && cell_field(x->cell, name)) {
		facts_fix(f, d, n,
			  str_printf(f->a, "%.*s[\"%.*s\"]", STR_ARG(facts_source(f, n->attr.obj)),
				     STR_ARG(name)));
		return facts_bad(f);
	}
	near_all(&near, x);
	facts_near_fix(f, d, &near, n, n->attr.at);
	return facts_bad(f);
}
