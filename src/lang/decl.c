/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations word by word: a row of `words` has the function that reads it.
 */
#include "lang/decl_priv.h"

#include "lang/parse.h"
#include "probe/filter.h"
#include "vm/builtins.h"

#include "base/limits.h"

typedef struct DeclRow {
	const char *word;
	bool program, policy;
} DeclRow;

static const DeclRow decl_rows[DECL_N] = {
#define DECL_ROW_(id, word, program, policy) { word, program, policy },
	DECL_WORDS(DECL_ROW_)
};

int decl_word(Str name)
{
	for (int i = 0; i < DECL_N; i++)
		if (str_is(name, decl_rows[i].word))
			return i;
	return -1;
}

bool decl_in_program(DeclWord w)
{
	return decl_rows[w].program;
}

/* ---- arguments in general ---- */

/* max_packets, timeout: what bounds are called elsewhere. */
static Str meant_keyword(Str said, const char *keywords)
{
	static const struct {
		const char *from, *to;
	} rows[] = { { "timeout", "time" },    { "duration", "time" }, { "seconds", "time" }, { "pps", "rate" },
		     { "packet_rate", "rate" }, { "syns", "syn" },	{ "count", "packets" }, { "bits", "leak" },
		     { "max_bits", "leak" } };
	Str to = said;

	if (str_starts(said, STR("max_")))
		to = (Str){ said.p + 4, said.n - 4 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (str_is(to, rows[i].from))
			to = str_c(rows[i].to);
	for (const char *k = keywords; k && *k && !str_eq(to, said); k += strcspn(k, " "), k += *k == ' ')
		if (str_eq(to, (Str){ k, strcspn(k, " ") }))
			return to;
	return (Str){ 0 };
}

static void unknown_keyword(DeclReader *r, const Arg *a, const char *word, Str near, const char *keywords)
{
	Span s = { a->span.from, a->span.from + (uint32_t)a->name->text.n };
	Diag *d = decl_error(r, s, "%s has no `%.*s=`", word, STR_ARG(a->name->text));

	if (!near.n)
		near = meant_keyword(a->name->text, keywords);
	if (near.n)
		diag_fix(d, s, near);
	else if (keywords)
		d->hint = str_printf(r->a, strcmp(word, "reach") ? "it takes %s" : "it takes %s; ports are tcp=[80], udp=[53]", keywords);
}

/* Only these keywords, separated by blanks, and at most n_pos arguments by position. */
static bool check_args(DeclReader *r, const Node *call, DeclWord w, uint32_t n_pos, const char *keywords)
{
	const char *word = decl_rows[w].word;

	for (uint32_t i = 0; i < call->call.n; i++) {
		const Arg *a = &call->call.arg[i];
		const char *k = keywords;

		if (!a->name && i >= n_pos) {
			decl_error(r, a->span, "%s takes %s by position", word,
				   n_pos == 0	? "nothing"
				   : n_pos == 1 ? "one argument"
						: "two arguments");
			return false;
		}
		while (a->name && *k) {
			size_t n = strcspn(k, " ");

			if (str_eq(a->name->text, (Str){ k, n }))
				break;
			k += n + (k[n] == ' ');
		}
		if (a->name && !*k) {
			unknown_keyword(r, a, word, (Str){ 0 }, keywords);
			return false;
		}
	}
	return true;
}

static uint32_t positional(const Node *call)
{
	uint32_t n = 0;

	while (n < call->call.n && !call->call.arg[n].name)
		n++;
	return n;
}

static bool needs_positional(DeclReader *r, const Node *call, const char *word, const char *what)
{
	if (positional(call))
		return true;
	decl_error(r, call->span, "%s needs %s", word, what);
	return false;
}

/* A keyword that must be there. */
static const Node *needs_named(DeclReader *r, const Node *call, const char *word, const char *name)
{
	const Node *n = arg_named(call, name);

	if (!n)
		decl_error(r, call->span, "%s needs `%s=`", word, name);
	return n;
}

/* A name that stands for itself: all, spoof. */
static bool is_word(const Node *n, const char *word)
{
	return n->kind == N_NAME && str_is(n->name.sym->text, word);
}

/* ---- budget ---- */

static bool policy_only(Bound b)
{
	return b >= BOUND_PEER_RATE;
}

static int bound_find(DeclReader *r, const Arg *a)
{
	Nearest near = nearest_to(a->name->text);

	for (int b = 0; b < BOUND_N; b++) {
		if (str_is(a->name->text, bound_name((Bound)b)))
			return b;
		nearest_try(&near, str_c(bound_name((Bound)b)));
	}
	unknown_keyword(r, a, "budget", near.best, "packets bytes rate byte_rate syn syn_rate time leak");
	return -1;
}

static bool bound_value(DeclReader *r, const Node *n, Bound b, int64_t *ret)
{
	bool bytes = b == BOUND_BYTES || b == BOUND_BYTE_RATE || b == BOUND_HOUR_BYTES;
	char what[48] = "budget's ";

	strncat(what, bound_name(b), 30);
	if (b == BOUND_TIME)
		return arg_seconds(r, n, what, ret);
	if (n->kind == N_INT && n->unit && !bytes) {
		decl_error(r, n->span, "%s counts %s: a number without a unit", what, bound_unit(b));
		return false;
	}
	return arg_int(r, n, b == BOUND_LEAK ? 0 : 1, INT64_MAX / 2, what, ret);
}

static void read_budget(DeclReader *r, const Node *call)
{
	Budget *out = &r->out->budget;

	if (positional(call)) {
		decl_error(r, call->call.arg[0].span, "budget takes keywords: budget(packets=2000, time=60)");
		return;
	}
	for (uint32_t i = 0; i < call->call.n; i++) {
		const Arg *a = &call->call.arg[i];
		int b = bound_find(r, a);
		int64_t v;

		if (b < 0)
			continue;
		if (policy_only((Bound)b) && r->mode == DECL_PROGRAM) {
			decl_error(r, a->span, "`%s=` stands in policies only", bound_name((Bound)b));
			continue;
		}
		if (out->declared >> b & 1) {
			decl_error(r, a->span, "`%s=` is declared twice", bound_name((Bound)b));
			continue;
		}
		if (!bound_value(r, a->value, (Bound)b, &v))
			continue;
		out->declared |= 1u << b;
		out->v[b] = v;
		out->span[b] = a->span;
	}
}

/* ---- reach, deny ---- */

static int word_find(Str name)
{
	for (int w = 0; w < WORD_N; w++)
		if (str_is(name, word_name((ReachWord)w)))
			return w;
	return -1;
}

static void reach_vlan(DeclReader *r, const Node *n, Reach *out)
{
	int64_t v;

	if (n->kind != N_LIST || n->list.n == 0) {
		decl_error(r, n->span, "vlan takes a list of VLAN ids");
		return;
	}
	for (uint32_t i = 0; i < n->list.n; i++)
		if (arg_int(r, n->list.p[i], 1, 4094, "a VLAN id", &v))
			vec_push(r->a, &out->vlan, (uint16_t)v);
}

static void reach_other(DeclReader *r, const Node *n, Reach *out)
{
	int64_t v;

	if (n->kind != N_LIST || n->list.n == 0) {
		decl_error(r, n->span, "other takes a list of IP protocol numbers");
		return;
	}
	for (uint32_t i = 0; i < n->list.n; i++) {
		if (!arg_int(r, n->list.p[i], 0, 255, "an IP protocol", &v))
			continue;
		if (v == 1 || v == 6 || v == 17 || v == 58)
			decl_error(r, n->list.p[i]->span,
				   "IP protocol %d has a word of its own: tcp=, udp=, icmp=", (int)v);
		else
			vec_push(r->a, &out->other, (uint8_t)v);
	}
}

static void reach_keyword(DeclReader *r, const Arg *a, const char *word, Reach *out)
{
	Nearest near = nearest_to(a->name->text);
	static const char *const plain[] = { "tcp", "udp", "icmp", "vlan", "other" };
	int w = word_find(a->name->text);
	bool on = false;

	if (str_is(a->name->text, "tcp")) {
		out->alone &= !arg_ports(r, a->value, "tcp", &out->tcp);
	} else if (str_is(a->name->text, "udp")) {
		out->alone &= !arg_ports(r, a->value, "udp", &out->udp);
	} else if (str_is(a->name->text, "icmp")) {
		out->alone &= !arg_true(r, a->value, "icmp", &out->icmp);
	} else if (str_is(a->name->text, "vlan")) {
		reach_vlan(r, a->value, out);
	} else if (str_is(a->name->text, "other")) {
		out->alone = false;
		reach_other(r, a->value, out);
	} else if (w >= 0) {
		if (arg_true(r, a->value, word_name((ReachWord)w), &on) && on)
			out->words |= 1u << w;
	} else {
		for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
			nearest_try(&near, str_c(plain[i]));
		for (int i = 0; i < WORD_N; i++)
			nearest_try(&near, str_c(word_name((ReachWord)i)));
		unknown_keyword(r, a, word, near.best, "tcp udp icmp vlan other and words like fragments");
	}
}

static void read_reach_into(DeclReader *r, const Node *call, const char *word, bool deny)
{
	Reach row = { .alone = true, .span = call->span };
	uint32_t n = positional(call);

	if (!needs_positional(r, call, word, "an address, network or name"))
		return;
	for (uint32_t i = n; i < call->call.n; i++)
		reach_keyword(r, &call->call.arg[i], word, &row);
	for (uint32_t i = 0; i < n; i++) {
		if (!arg_target(r, call->call.arg[i].value, word, &row.target))
			continue;
		if (deny)
			vec_push(r->a, &r->out->deny, row);
		else
			vec_push(r->a, &r->out->reach, row);
	}
}

static void read_reach(DeclReader *r, const Node *call)
{
	read_reach_into(r, call, "reach", false);
}

static void read_deny(DeclReader *r, const Node *call)
{
	read_reach_into(r, call, "deny", true);
}

/* ---- the others ---- */

static bool spoof_address(DeclReader *r, const Node *n, SpoofDecl *out)
{
	Target t;

	if (n->kind == N_STR && mac_parse(n->s, &out->mac)) {
		out->is_mac = true;
		return true;
	}
	if (!arg_addresses(r, n, "spoof", &t))
		return false;
	out->lo = t.lo;
	out->hi = t.hi;
	return true;
}

static void read_spoof(DeclReader *r, const Node *call)
{
	SpoofDecl row = { .span = call->span };
	const Node *rate = arg_named(call, "rate"), *max = arg_named(call, "max");
	uint32_t n = positional(call);

	if (!needs_positional(r, call, "spoof", "an address, network or MAC") ||
	    !check_args(r, call, DECL_SPOOF, n, "rate max"))
		return;
	if (rate && !arg_int(r, rate, 1, INT32_MAX, "rate", &row.rate))
		return;
	if (max && !arg_int(r, max, 1, INT32_MAX, "max", &row.max))
		return;
	for (uint32_t i = 0; i < n; i++) {
		SpoofDecl one = row;

		if (spoof_address(r, call->call.arg[i].value, &one))
			vec_push(r->a, &r->out->spoof, one);
	}
}

/* payload, IP.dst, ping.size */
static bool reflect_field(DeclReader *r, const Node *n, Str *ret)
{
	if (n->kind == N_NAME) {
		*ret = n->name.sym->text;
		return true;
	}
	if (n->kind == N_ATTR && n->attr.obj->kind == N_NAME) {
		*ret = str_printf(r->a, "%.*s.%.*s", STR_ARG(n->attr.obj->name.sym->text),
				  STR_ARG(n->attr.sym->text));
		return true;
	}
	decl_error(r, n->span, "reflect names a field: payload, IP.dst, ping.size");
	return false;
}

static void read_reflect(DeclReader *r, const Node *call)
{
	ReflectDecl row = { .span = call->span };
	const Node *src, *dst, *max;

	if (!needs_positional(r, call, "reflect", "a field") ||
	    !check_args(r, call, DECL_REFLECT, 1, "src dst max"))
		return;
	src = needs_named(r, call, "reflect", "src");
	dst = needs_named(r, call, "reflect", "dst");
	max = needs_named(r, call, "reflect", "max");
	if (!src || !dst || !max)
		return;
	if (reflect_field(r, call->call.arg[0].value, &row.field) && arg_target(r, src, "src", &row.src) &&
	    arg_target(r, dst, "dst", &row.dst) && arg_int(r, max, 1, INT32_MAX, "max", &row.max))
		vec_push(r->a, &r->out->reflect, row);
}

static void read_capture(DeclReader *r, const Node *call)
{
	CaptureDecl row = { .span = call->span };
	FilterError e = { 0 };

	if (!needs_positional(r, call, "capture", "a filter, or all") ||
	    !check_args(r, call, DECL_CAPTURE, 1, ""))
		return;
	const Node *n = call->call.arg[0].value;

	if (is_word(n, "all")) {
		row.all = true;
	} else {
		if (!arg_str(r, n, "capture", &row.filter))
			return;
		if (!filter_parse(row.filter, r->a, &e)) {
			diag_add(r->d, "E-CAPTURE", n->span, "%.*s", STR_ARG(e.message))->hint = e.hint;
			return;
		}
		row.all = row.filter.n == 0;
	}
	vec_push(r->a, &r->out->capture, row);
}

static void read_listen(DeclReader *r, const Node *call)
{
	ListenDecl row = { .span = call->span };
	uint32_t n = positional(call);
	int64_t port;

	if (n < 2) {
		decl_error(r, call->span,
			   "listen needs a port and who may connect: listen(8080, \"10.0.0.0/8\")");
		return;
	}
	if (!check_args(r, call, DECL_LISTEN, n, "") ||
	    !arg_int(r, call->call.arg[0].value, 1, 65535, "a port", &port))
		return;
	row.port = (uint16_t)port;
	for (uint32_t i = 1; i < n; i++)
		if (arg_addresses(r, call->call.arg[i].value, "listen", &row.peers))
			vec_push(r->a, &r->out->listen, row);
}

static void read_zone(DeclReader *r, const Node *call)
{
	uint32_t n = positional(call);

	if (!needs_positional(r, call, "zone", "a name, or all") || !check_args(r, call, DECL_ZONE, n, ""))
		return;
	r->out->zone_set = true;
	for (uint32_t i = 0; i < n; i++) {
		const Node *v = call->call.arg[i].value;
		Target t;

		if (is_word(v, "all")) {
			r->out->zone_all = true;
		} else if (arg_target(r, v, "zone", &t)) {
			if (t.name.n)
				vec_push(r->a, &r->out->zones, t.name);
			else
				decl_error(r, v->span, "a zone is a name");
		}
	}
}

static void read_resolver(DeclReader *r, const Node *call)
{
	uint32_t n = positional(call);

	if (!needs_positional(r, call, "resolver", "an address") ||
	    !check_args(r, call, DECL_RESOLVER, n, ""))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const Node *v = call->call.arg[i].value;
		Target t;

		if (!arg_addresses(r, v, "resolver", &t))
			continue;
		if (ip_eq(t.lo, t.hi))
			vec_push(r->a, &r->out->resolvers, t.lo);
		else
			decl_error(r, v->span, "a resolver is one address");
	}
}

static void approve_word(DeclReader *r, const Node *v)
{
	static const struct {
		const char *word;
		ApproveWord bit;
	} rows[] = { { "spoof", APPROVE_SPOOF },
		     { "capture", APPROVE_CAPTURE },
		     { "listen", APPROVE_LISTEN } };

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (is_word(v, rows[i].word)) {
			r->out->approve |= rows[i].bit;
			return;
		}
	decl_error(r, v->span, "approve takes spoof, capture, listen, leak=, reach= and runs=");
}

static void read_approve(DeclReader *r, const Node *call)
{
	const Node *leak = arg_named(call, "leak"), *reach = arg_named(call, "reach"), *runs = arg_named(call, "runs");
	uint32_t n = positional(call);
	Target t;

	if (!check_args(r, call, DECL_APPROVE, n, "leak reach runs"))
		return;
	if (call->call.n == 0)
		decl_error(r, call->span,
			   "approve needs what a person is asked for: approve(spoof, leak=512)");
	for (uint32_t i = 0; i < n; i++)
		approve_word(r, call->call.arg[i].value);
	if (leak)
		arg_int(r, leak, 0, INT32_MAX, "leak", &r->out->approve_leak);
	if (runs)
		arg_int(r, runs, 1, LIMIT_APPROVED_RUNS, "runs", &r->out->approve_runs);
	if (reach && reach->kind == N_LIST) {
		for (uint32_t i = 0; i < reach->list.n; i++)
			if (arg_target(r, reach->list.p[i], "reach", &t))
				vec_push(r->a, &r->out->approve_reach, t);
	} else if (reach && arg_target(r, reach, "reach", &t)) {
		vec_push(r->a, &r->out->approve_reach, t);
	}
}

static void read_may_follow(DeclReader *r, const Node *call)
{
	Target from, to;

	if (positional(call) != 2 || call->call.n != 2) {
		decl_error(r, call->span,
			   "may_follow takes from whom and to whom: may_follow(\"10.1.0.0/16\", "
			   "\"10.2.0.0/16\")");
		return;
	}
	if (!arg_target(r, call->call.arg[0].value, "may_follow", &from) ||
	    !arg_target(r, call->call.arg[1].value, "may_follow", &to))
		return;
	vec_push(r->a, &r->out->may_follow, from);
	vec_push(r->a, &r->out->may_follow, to);
}

static void read_output(DeclReader *r, const Node *call)
{
	Str s;

	if (call->call.n != 1 || positional(call) != 1) {
		decl_error(r, call->span, "output takes one word: output(\"measurements\")");
		return;
	}
	if (!arg_str(r, call->call.arg[0].value, "output", &s))
		return;
	if (str_is(s, "measurements"))
		r->out->output_measurements = true;
	else
		decl_error(r, call->call.arg[0].span, "output knows \"measurements\" only");
}

static void read_relay(DeclReader *r, const Node *call)
{
	uint32_t n = positional(call);
	Target t;

	if (!needs_positional(r, call, "relay", "an address, network or name") ||
	    !check_args(r, call, DECL_RELAY, n, ""))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (arg_target(r, call->call.arg[i].value, "relay", &t))
			vec_push(r->a, &r->out->relay, t);
}

static void read_allow_self(DeclReader *r, const Node *call)
{
	uint32_t n = positional(call);
	Target t;

	if (!needs_positional(r, call, "allow_self", "an address or network") ||
	    !check_args(r, call, DECL_ALLOW_SELF, n, ""))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (arg_addresses(r, call->call.arg[i].value, "allow_self", &t))
			vec_push(r->a, &r->out->allow_self, t);
}

static void read_insecure_dev(DeclReader *r, const Node *call)
{
	if (call->call.n)
		decl_error(r, call->span, "insecure_dev() takes no arguments");
	else
		r->out->insecure_dev = true;
}

static void read_approve_by_form(DeclReader *r, const Node *call)
{
	if (call->call.n)
		decl_error(r, call->span, "approve_by_form() takes no arguments");
	else
		r->out->approve_by_form = true;
}

/* ---- statements ---- */

static void (*const word_fns[DECL_N])(DeclReader *, const Node *) = {
	[DECL_BUDGET] = read_budget,
	[DECL_REACH] = read_reach,
	[DECL_SPOOF] = read_spoof,
	[DECL_REFLECT] = read_reflect,
	[DECL_CAPTURE] = read_capture,
	[DECL_LISTEN] = read_listen,
	[DECL_DENY] = read_deny,
	[DECL_ZONE] = read_zone,
	[DECL_RESOLVER] = read_resolver,
	[DECL_APPROVE] = read_approve,
	[DECL_MAY_FOLLOW] = read_may_follow,
	[DECL_OUTPUT] = read_output,
	[DECL_RELAY] = read_relay,
	[DECL_ALLOW_SELF] = read_allow_self,
	[DECL_INSECURE_DEV] = read_insecure_dev,
	[DECL_APPROVE_BY_FORM] = read_approve_by_form,
};

/* The call, if the statement is one of a plain name. */
static const Node *statement_call(const Node *n)
{
	const Node *v = n->kind == N_EXPR ? n->expr.value : NULL;

	return v && v->kind == N_CALL && v->call.fn->kind == N_NAME ? v : NULL;
}

static bool is_docstring(const Node *n)
{
	return n->kind == N_EXPR && n->expr.value->kind == N_STR;
}

static void policy_statement(DeclReader *r, const Node *n)
{
	const Node *call = statement_call(n);
	Str name = call ? call->call.fn->name.sym->text : (Str){ 0 };
	int w = call ? decl_word(name) : -1;
	Nearest near = nearest_to(name);

	if (w >= 0) {
		word_fns[w](r, call);
		return;
	}
	if (is_docstring(n))
		return;
	Diag *d = call ? decl_error(r, call->call.fn->span, "`%.*s` is no word of a policy", STR_ARG(name))
		       : decl_error(r, n->span, "a policy holds declarations only");

	for (int i = 0; call && i < DECL_N; i++)
		nearest_try(&near, str_c(decl_rows[i].word));
	if (near.best.n)
		diag_fix(d, call->call.fn->span, near.best);
}

static const char *const param_types[] = {
	"int", "float", "bool", "str", "bytes", "duration", "ip", "net", "mac",
};

static void read_param(DeclReader *r, const Node *n)
{
	ParamDecl row = { .name = n->param.sym->text, .span = n->span };
	const Node *t = n->param.type;

	if (!t || !t->type.sym) {
		decl_error(r, n->param.at, "a param has a type: param %.*s: ip", STR_ARG(row.name));
		return;
	}
	row.type = t->type.sym->text;
	for (uint32_t i = 0; i < r->out->param.n; i++)
		if (str_eq(r->out->param.p[i].name, row.name))
			decl_error(r, n->param.at, "param `%.*s` is there twice", STR_ARG(row.name));
	for (unsigned i = 0; i < sizeof param_types / sizeof param_types[0]; i++)
		if (str_is(row.type, param_types[i]) && !t->type.args.n && !t->type.optional) {
			vec_push(r->a, &r->out->param, row);
			return;
		}
	Diag *d = decl_error(r, t->span, "a param is an int, float, bool, str, bytes, duration, ip, net or mac");

	if (str_is(row.type, "list"))
		d->hint = str_printf(r->a, "give it as text: param %.*s: str = \"80,443\", then `for x in %.*s.split(\",\")`", STR_ARG(row.name),
				     STR_ARG(row.name));
}

static bool is_decl_name(const Node *n, DeclWord *ret)
{
	if (n->kind != N_NAME || n->name.ref != REF_DECL)
		return false;
	*ret = (DeclWord)n->name.index;
	return true;
}

/* True: the statement is one that may stand at the top. */
static bool program_statement(DeclReader *r, const Node *n)
{
	const Node *call = statement_call(n);
	DeclWord w;

	if (n->kind == N_PARAM) {
		read_param(r, n);
		return true;
	}
	if (!call || !is_decl_name(call->call.fn, &w))
		return is_docstring(n);
	if (decl_in_program(w))
		word_fns[w](r, call);
	else
		decl_error(r, call->call.fn->span, "`%s` stands in policies only", decl_rows[w].word);
	return true;
}

/* The fix moves the line: all between the top and it is part of its span. */
static void late(DeclReader *r, const Node *n, const char *word, bool widening)
{
	Diag *d = decl_error(r, n->span, "`%s` is a declaration: it stands before everything else", word);
	uint32_t from = n->span.from, to = n->span.to;
	bool line = from > r->head && r->text.p[from - 1] == '\n' && to < r->text.n && r->text.p[to] == '\n';

	d->hint = STR("move it to the top of the program; its arguments are constants");
	if (!line)
		return;
	diag_fix(d, (Span){ r->head, to + 1 },
		 str_printf(r->a, "%.*s\n%.*s", (int)(to - from), r->text.p + from, (int)(from - r->head),
			    r->text.p + r->head));
	d->fix.widening = widening;
}

/* Behind the top: declarations come too late, listen declares itself. */
static void walk_late(Node *n, void *ctx)
{
	DeclReader *r = ctx;
	const Node *fn = n->kind == N_CALL ? n->call.fn : NULL;
	DeclWord w;

	if (fn && fn->kind == N_NAME && fn->name.ref == REF_BUILTIN && fn->name.index == BI_listen)
		read_listen(r, n);
	if (is_decl_name(fn ? fn : n, &w))
		late(r, n, decl_rows[w].word, w != DECL_BUDGET);
	else if (n->kind == N_PARAM)
		late(r, n, "param", false);
	else
		ast_each(n, walk_late, r);
}

void decl_read(Arena *a, const AstFile *file, DeclMode mode, DiagList *d, Decls *ret)
{
	DeclReader r = { .a = a, .d = d, .mode = mode, .out = ret, .text = file->text };
	Nodes body = file->module->module.body;
	uint32_t i = 0;

	*ret = (Decls){ 0 };
	if (mode == DECL_POLICY) {
		for (; i < body.n; i++)
			policy_statement(&r, body.p[i]);
		return;
	}
	while (i < body.n && program_statement(&r, body.p[i]))
		i++;
	r.head = i < body.n ? body.p[i]->span.from : 0;
	for (; i < body.n; i++)
		walk_late(body.p[i], &r);
}

bool decl_policy(Str text, Arena *a, DiagList *d, Decls *ret)
{
	Ast *ast = arena_new(a, Ast);
	uint32_t before = d->errors;

	*ret = (Decls){ 0 };
	ast_init(ast, a);
	if (parse_file(ast, (Str){ 0 }, text, false, d))
		decl_read(a, &ast->files.p[0], DECL_POLICY, d, ret);
	diag_sort(d);
	return d->errors == before;
}
