/* SPDX-License-Identifier: Apache-2.0
 *
 * Does a value fit where a type is asked for, and what is it then?  A str with
 * known values becomes an address, a number a duration; what can't be is E-TYPE.
 */
#include "lang/facts_inside.h"

#include "base/hostname.h"

/* ---- addresses ---- */

static const Fact *unknown_text(Facts *f, const Fact *x, Node *n, const char *conv, const char *what)
{
	Diag *d = facts_say(f, "E-TYPE", n, "%s: a str whose value is not known here", what);

	(void)x;
	facts_fix(f, d, n, str_printf(f->a, "%s(%.*s)", conv, STR_ARG(facts_source(f, n))));
	return facts_bad(f);
}

/* "10.0.0.5/24": the network that the address is in. */
static void fix_host_bits(Facts *f, Diag *d, Node *n, Str s)
{
	const char *slash = memchr(s.p, '/', s.n);
	size_t at = slash ? (size_t)(slash - s.p) : s.n;
	uint64_t bits;
	Ip ip, last;
	char text[NET_TEXT];

	if (at == s.n || n->kind != N_STR || !ip_parse((Str){ s.p, at }, &ip) ||
	    !str_to_u64((Str){ s.p + at + 1, s.n - at - 1 }, ip.v == 4 ? 32 : 128, &bits))
		return;
	net_range((Net){ ip, (uint8_t)bits }, &ip, &last);
	net_format((Net){ ip, (uint8_t)bits }, text);
	facts_fix(f, d, n, str_printf(f->a, "\"%s\"", text));
}

static const Fact *bad_text(Facts *f, Node *n, Str s, const char *is_no, const char *what, const char *like)
{
	Diag *d = facts_say(f, "E-TYPE", n, "%s: \"%.*s\" is %s", what, STR_ARG(s), is_no);

	d->hint = str_c(like);
	fix_host_bits(f, d, n, s);
	return facts_bad(f);
}

const Fact *facts_to_ip(Facts *f, const Fact *x, Node *n, bool names, const char *what)
{
	if (x->kind == T_IP || fact_quiet(x))
		return x;
	if (x->kind != T_STR)
		return NULL;
	if (!x->vals)
		return unknown_text(f, x, n, "ip", what);
	Target *t = arena_new_n(f->a, Target, x->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < x->vals->n; i++) {
		Str s = x->vals->s[i];

		if (ip_parse(s, &t[i].lo))
			t[i].hi = t[i].lo;
		else if (names && !host_question_fault(s))
			t[i].name = s;
		else
			return bad_text(f, n, s, names ? "neither an address nor a name" : "no address", what,
					names && !host_ends_in_number(s) && !(s.n && memchr(s.p, ':', s.n))
						? str_printf(f->a, "as a name it has %s", host_question_fault(s)).p
						: "four numbers 0..255 between points, or IPv6 as RFC 5952 writes it");
	}
	*v = (Vals){ .n = x->vals->n, .ip = t };
	return mk_vals(f, T_IP, v);
}

const Fact *facts_to_net(Facts *f, const Fact *x, Node *n, const char *what)
{
	if (x->kind == T_NET || fact_quiet(x))
		return x;
	if (x->kind == T_IP) {
		if (!x->vals)
			return mk_from(f, mk(f, T_NET), x->origin);
		Net *net = arena_new_n(f->a, Net, x->vals->n);
		Vals *v = arena_new(f->a, Vals);

		for (uint32_t i = 0; i < x->vals->n; i++) {
			if (!x->vals->ip[i].lo.v || !ip_eq(x->vals->ip[i].lo, x->vals->ip[i].hi))
				return mk(f, T_NET);
			net[i] = (Net){ x->vals->ip[i].lo, x->vals->ip[i].lo.v == 4 ? 32 : 128 };
		}
		*v = (Vals){ .n = x->vals->n, .net = net };
		return mk_vals(f, T_NET, v);
	}
	if (x->kind != T_STR)
		return NULL;
	if (!x->vals)
		return unknown_text(f, x, n, "net", what);
	Net *net = arena_new_n(f->a, Net, x->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < x->vals->n; i++)
		if (!net_parse(x->vals->s[i], &net[i]))
			return bad_text(f, n, x->vals->s[i], "no network (host bits must be zero)", what,
					"like 10.0.0.0/24: what is behind the prefix is zero");
	*v = (Vals){ .n = x->vals->n, .net = net };
	return mk_vals(f, T_NET, v);
}

const Fact *facts_to_mac(Facts *f, const Fact *x, Node *n, const char *what)
{
	if (x->kind == T_MAC || fact_quiet(x))
		return x;
	if (x->kind != T_STR)
		return NULL;
	if (!x->vals)
		return unknown_text(f, x, n, "mac", what);
	Mac *m = arena_new_n(f->a, Mac, x->vals->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < x->vals->n; i++)
		if (!mac_parse(x->vals->s[i], &m[i]))
			return bad_text(f, n, x->vals->s[i], "no hardware address", what,
					"six pairs of hex digits: 02:00:00:00:00:01");
	*v = (Vals){ .n = x->vals->n, .mac = m };
	return mk_vals(f, T_MAC, v);
}

const Fact *facts_to_duration(Facts *f, const Fact *x, Node *n)
{
	int64_t i;

	(void)n;
	if (x->kind == T_DURATION || fact_quiet(x))
		return x;
	if (x->kind == T_INT && vals_one(x, &i) && i < INT64_C(1000000000) && i > INT64_C(-1000000000))
		return mk_range(f, T_DURATION, i * NS_PER_S, i * NS_PER_S);
	if (x->kind == T_FLOAT && x->vals && x->vals->n == 1) {
		int64_t ns = ns_from_s(x->vals->f[0]);

		return mk_range(f, T_DURATION, ns, ns);
	}
	if (x->kind == T_INT || x->kind == T_FLOAT || x->kind == T_BOOL)
		return mk(f, T_DURATION);
	return NULL;
}

/* ---- types ---- */

static FactKind kind_of(Str name)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} others[] = {
		{ "Layer", T_PACKET }, { "none", T_NONE }, { "fn", T_FUNC }, { "LayerType", T_PROTO }
	};

	for (unsigned k = 0; k < T_N; k++)
		if (k != T_RESULT && k != T_UNION && str_is(name, fact_kind_names[k]))
			return (FactKind)k;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (str_is(name, others[i].name))
			return (FactKind)others[i].kind;
	return T_N;
}

static bool is_var(Str name)
{
	return name.n == 1 && name.p[0] >= 'A' && name.p[0] <= 'Z';
}

static const Node *result_named(Facts *f, Str name)
{
	for (uint32_t i = 0; i < f->in->scopes->results.n; i++)
		if (str_eq(f->in->scopes->results.p[i]->result.sym->text, name))
			return f->in->scopes->results.p[i];
	return NULL;
}

const SigType *facts_node_type(Facts *f, const Node *n)
{
	SigType *t = arena_new(f->a, SigType);

	t->name = n->type.sym ? n->type.sym->text : STR("any");
	t->optional = n->type.optional;
	for (uint32_t i = 0; i < n->type.args.n && i < 4; i++)
		t->arg[t->n++] = facts_node_type(f, n->type.args.p[i]);
	if (str_is(t->name, "None"))
		t->name = STR("none");
	if (kind_of(t->name) == T_N && !result_named(f, t->name) && !str_is(t->name, "num")) {
		static const char *const names[] = { "int",	 "float",   "bool", "str", "bytes",
						     "duration", "time",    "ip",   "net", "mac",
						     "flags",	 "list",    "dict", "set", "tuple",
						     "Packet",	 "Answers", "Stats" };
		Near near = { .want = t->name, .d = 255 };
		Diag *d = facts_say(f, "E-NAME", n, "there is no type named %.*s", STR_ARG(t->name));

		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			facts_near_try(&near, str_c(names[i]));
		facts_near_fix(f, d, &near, n, n->span);
		t->name = STR("any");
	}
	return t;
}

static const Fact **var_of(CallArgs *c, char letter)
{
	for (uint32_t i = 0; i < c->nvar; i++)
		if (c->letter[i] == letter)
			return &c->var[i];
	if (c->nvar == sizeof c->letter)
		return &c->var[0];
	c->letter[c->nvar] = letter;
	return &c->var[c->nvar++];
}

/* Which alternative x takes: the one of its own kind, else the first that it can become. */
static bool becomes(Facts *f, const Fact *x, const SigType *t)
{
	FactKind k = kind_of(t->name);
	bool number = x->kind == T_INT || x->kind == T_BOOL || x->kind == T_FLOAT;

	if (str_is(t->name, "|")) {
		for (unsigned i = 0; i < t->n; i++)
			if (becomes(f, x, t->arg[i]))
				return true;
		return false;
	}
	if (k == T_ANY || is_var(t->name) || fact_quiet(x))
		return true;
	if (str_is(t->name, "num"))
		return number;
	if (str_is(t->name, "iter"))
		return x->kind == T_LIST || x->kind == T_TUPLE || x->kind == T_SET || x->kind == T_DICT ||
		       x->kind == T_STR || x->kind == T_BYTES || x->kind == T_NET;
	if (k == T_N)
		return x->kind == T_RESULT && str_eq(x->node->result.sym->text, t->name);
	if (x->kind == k)
		return k != T_PACKET || true;
	switch (k) {
	case T_INT:
		return x->kind == T_BOOL || x->kind == T_FLAGS;
	case T_FLOAT:
	case T_DURATION:
		return number;
	case T_BOOL:
		return x->kind == T_INT;
	case T_IP:
	case T_MAC:
		return x->kind == T_STR;
	case T_BYTES:
		return x->kind == T_STR && !f->inner;
	case T_NET:
		return x->kind == T_STR || x->kind == T_IP;
	case T_FUNC:
		return x->kind == T_TYPE;
	default:
		return false;
	}
}

bool facts_fits(Facts *f, const Fact *x, const SigType *t)
{
	return becomes(f, x, t);
}

static const Fact *fit_one(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what);

static const SigType *choose(Facts *f, const Fact *x, const SigType *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		const SigType *a = t->arg[i];

		if (str_is(a->name, "|") ? becomes(f, x, a) : kind_of(a->name) == x->kind)
			return a;
	}
	for (unsigned i = 0; i < t->n; i++)
		if (becomes(f, x, t->arg[i]))
			return t->arg[i];
	return NULL;
}

static void fit_items(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what)
{
	Len l;

	if (x->kind == T_TUPLE && !x->open && t->n && !t->open && str_is(t->name, "tuple")) {
		if (x->n != t->n) {
			facts_say(f, "E-TYPE", n, "%s: a tuple of %u is needed; this has %u", what, t->n,
				  x->n);
			return;
		}
		for (uint32_t i = 0; i < x->n; i++)
			facts_fit(f, x->item[i], t->arg[i], n, c, what);
		return;
	}
	if (x->kind == T_DICT && t->n == 2) {
		cell_use_as_dict(f, x, n);
		facts_fit(f, x->cell->key, t->arg[0], n, c, what);
		facts_fit(f, x->cell->elem, t->arg[1], n, c, what);
		return;
	}
	if (t->n)
		facts_fit(f, x->cell && x->kind != T_DICT ? x->cell->elem : facts_iterate(f, x, n, &l),
			  t->arg[0], n, c, what);
}

static void fit_inside(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what)
{
	f->inner++;
	fit_items(f, x, t, n, c, what);
	f->inner--;
}

static const Fact *fit_known(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c,
			     const char *what)
{
	FactKind k = kind_of(t->name);

	switch (k) {
	case T_IP:
		return facts_to_ip(f, x, n, true, what);
	case T_NET:
		return facts_to_net(f, x, n, what);
	case T_MAC:
		return facts_to_mac(f, x, n, what);
	case T_DURATION:
		return facts_to_duration(f, x, n);
	case T_FLOAT:
		return x->kind == T_FLOAT ? x : mk(f, T_FLOAT);
	case T_BOOL:
		return x->kind == T_BOOL ? x : mk(f, T_BOOL);
	case T_BYTES:
		if (x->kind == T_STR)
			return x->vals ? mk_vals(f, T_BYTES, x->vals)
				       : mk_len(f, T_BYTES, (Len){ x->len.lo, facts_sat_mul(x->len.hi, 4) });
		return x;
	default:
		if (t->n && x->kind != T_STATS)
			fit_inside(f, x, t, n, c, what);
		return x;
	}
}

static const Fact *fit_one(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what)
{
	if (is_var(t->name) && c) {
		const Fact **v = var_of(c, t->name.p[0]);

		*v = *v ? facts_join(f, *v, x) : x;
		return x;
	}
	if (str_is(t->name, "|")) {
		const SigType *alt = choose(f, x, t);

		return alt ? fit_one(f, x, alt, n, c, what) : NULL;
	}
	if (fact_quiet(x))
		return x->kind == T_ERROR || kind_of(t->name) == T_N || t->n || kind_of(t->name) == T_FUNC ? x
		       : kind_of(t->name) == T_ANY							   ? x
		       : mk(f, kind_of(t->name))->kind == T_PACKET ? facts_any_packet(f)
		       : x->kind == T_NEVER			   ? x
								   : mk(f, kind_of(t->name));
	if (!becomes(f, x, t))
		return NULL;
	return fit_known(f, x, t, n, c, what);
}

static void sig_type_text(const SigType *t, Sb *out)
{
	if (str_is(t->name, "|")) {
		for (unsigned i = 0; i < t->n; i++) {
			if (i)
				sb_cstr(out, i + 1 == t->n ? " or " : ", ");
			sig_type_text(t->arg[i], out);
		}
		return;
	}
	sb_cstr(out, str_is(t->name, "num")	    ? "number"
		     : str_is(t->name, "iter")	    ? "list"
		     : str_is(t->name, "fn")	    ? "function"
		     : str_is(t->name, "LayerType") ? "layer's name, like TCP"
						    : "");
	if (!str_is(t->name, "num") && !str_is(t->name, "iter") && !str_is(t->name, "fn") &&
	    !str_is(t->name, "LayerType"))
		sb_str(out, t->name);
	if (t->n && !is_var(t->arg[0]->name) && !str_is(t->arg[0]->name, "any")) {
		sb_cstr(out, "[");
		for (unsigned i = 0; i < t->n; i++) {
			if (i)
				sb_cstr(out, ", ");
			sig_type_text(t->arg[i], out);
		}
		sb_cstr(out, "]");
	}
}

static const Fact *no_fit(Facts *f, const Fact *x, const SigType *t, Node *n, const char *what)
{
	Sb b = sb(f->a);

	sig_type_text(t, &b);
	Diag *d = facts_say(f, "E-TYPE", n, "%s: %.*s is needed; this is %.*s", what, STR_ARG(sb_done(&b)),
			    STR_ARG(facts_a_text(f, x)));

	if (x->kind == T_OPTION)
		d->hint = STR("an option has .name and .value; r[TCP].option(\"MSS\") is one's value");
	if (f->inner)
		return facts_bad(f);
	bool number = x->kind == T_DURATION && facts_fits(f, mk(f, T_FLOAT), t);
	Str layer;

	if (x->kind == T_STR && str_is(t->name, "duration"))
		facts_fix_duration(f, d, n, x);
	else if (str_is(t->name, "LayerType") && fact_one_str(x, &layer) && wire_proto_by_name(layer))
		facts_fix(f, d, n, layer);
	else if (str_is(t->name, "str") && !x->cell && x->kind != T_NONE)
		facts_fix(f, d, n, str_printf(f->a, "str(%.*s)", STR_ARG(facts_source(f, n))));
	else if (number)
		facts_fix(f, d, n, str_printf(f->a, "%.*s.ms", STR_ARG(facts_operand(f, n))));
	else if (x->kind == T_STR && str_is(t->name, "int"))
		facts_fix_number(f, d, n, x, false);
	else if (x->kind == T_FLOAT && str_is(t->name, "int"))
		facts_fix(f, d, n, str_printf(f->a, "int(%.*s)", STR_ARG(facts_source(f, n))));
	return facts_bad(f);
}

static const Fact *fit(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what)
{
	bool any = str_is(t->name, "any") || (is_var(t->name) && c);
	const Fact *out = mk(f, T_NEVER);

	if (any)
		return x->kind == T_ERROR ? x : fit_one(f, x, t, n, c, what);
	if (x->kind == T_NONE)
		return t->optional || str_is(t->name, "none") ? x : facts_need(f, x, n);
	if (x->none && !t->optional)
		return facts_need(f, x, n);
	const Fact *some = mk_some(f, x);

	if (x->kind == T_NEVER)
		return fit_one(f, x, t, n, c, what);
	for (uint32_t i = 0; i < fact_ways(some); i++) {
		const Fact *w = fact_way(f, some, i), *y = fit_one(f, w, t, n, c, what);

		if (!y)
			return no_fit(f, w, t, n, what);
		out = facts_join(f, out, y);
	}
	return x->none ? mk_opt(f, out) : out;
}

const Fact *facts_fit(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what)
{
	return label_like(f, x, fit(f, x, t, n, c, what));
}

/* ---- facts of types ---- */

static const Fact *answers_list(Facts *f, const Fact *self, const SigType *t, const Node *n, uint32_t sub)
{
	const Fact *probe = self->n ? self->item[0] : facts_any_packet(f), *elem;

	if (str_is(t->arg[0]->name, "tuple")) {
		const Fact *r = facts_answer_to(f, probe);

		if (str_is(t->arg[0]->arg[1]->name, "list"))
			r = mk_list(f, n, sub * 8 + 3, r, (Len){ 0, LEN_INF });
		elem = mk_pair(f, facts_as_sent(f, probe), r);
	} else {
		elem = facts_as_sent(f, probe);
	}
	return mk_list(f, n, sub, elem, (Len){ 0, self->len.hi });
}

static const Fact *sig_container(Facts *f, const SigType *t, const CallArgs *c, const Node *n, uint32_t sub)
{
	const Fact *item[4];

	for (unsigned i = 0; i < t->n; i++)
		item[i] = facts_sig_fact(f, t->arg[i], c, n, sub * 8 + i + 1);
	if (str_is(t->name, "list"))
		return mk_list(f, n, sub, t->n ? item[0] : mk(f, T_ANY), (Len){ 0, LEN_INF });
	if (str_is(t->name, "set"))
		return mk_set(f, n, sub, t->n ? item[0] : mk(f, T_ANY), (Len){ 0, LEN_INF });
	if (str_is(t->name, "dict")) {
		const Fact *d = mk_dict(f, n, sub, t->n ? item[0] : mk(f, T_ANY),
					t->n > 1 ? item[1] : mk(f, T_ANY), (Len){ 0, LEN_INF });

		d->cell->dict_use = true;
		return d;
	}
	if (t->open || t->n == 0)
		return mk_tuple_of(f, t->n ? item[0] : mk(f, T_ANY));
	const Fact **p = arena_new_n(f->a, const Fact *, t->n);

	memcpy(p, item, t->n * sizeof *p);
	return mk_tuple(f, p, t->n);
}

static const Fact *sig_plain(Facts *f, const SigType *t, const CallArgs *c, const Node *n, uint32_t sub)
{
	FactKind k = kind_of(t->name);

	if (is_var(t->name)) {
		for (uint32_t i = 0; c && i < c->nvar; i++)
			if (c->letter[i] == t->name.p[0])
				return c->var[i];
		return c && c->self && c->self->kind == T_STATS && c->self->n ? c->self->item[0]
									      : mk(f, T_ANY);
	}
	if (c && c->self && c->self->kind == T_ANSWERS && k == T_LIST &&
	    (str_is(t->arg[0]->name, "tuple") || str_is(t->arg[0]->name, "Packet")))
		return answers_list(f, c->self, t, n, sub);
	if (k == T_PACKET)
		return facts_any_packet(f);
	if (k == T_LIST || k == T_SET || k == T_DICT || k == T_TUPLE)
		return sig_container(f, t, c, n, sub);
	if (str_is(t->name, "num"))
		return mk(f, T_FLOAT);
	if (k == T_STATS)
		return mk_stats(f, t->n ? facts_sig_fact(f, t->arg[0], c, n, sub) : mk(f, T_ANY));
	if (k != T_N)
		return mk(f, k);
	const Node *r = result_named(f, t->name);

	if (!r)
		return mk(f, T_ANY);
	Fact *x = mk_copy(f, mk(f, T_RESULT));

	x->node = r;
	return x;
}

const Fact *facts_sig_fact(Facts *f, const SigType *t, const CallArgs *c, const Node *n, uint32_t sub)
{
	const Fact *x;

	if (str_is(t->name, "|")) {
		x = mk(f, T_NEVER);
		for (unsigned i = 0; i < t->n; i++)
			x = facts_join(f, x, facts_sig_fact(f, t->arg[i], c, n, sub * 8 + i + 1));
	} else {
		x = sig_plain(f, t, c, n, sub);
	}
	return t->optional ? mk_opt(f, x) : x;
}
