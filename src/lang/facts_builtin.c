/* SPDX-License-Identifier: Apache-2.0
 *
 * Built-in functions and methods: by their row in vm/builtins.def, or by a rule
 * of their own where a signature does not say enough.
 */
#include "lang/facts_rules.h"

#include "probe/filter.h"

static const char *what_of(Facts *f, const CallArgs *c, uint32_t i)
{
	return str_printf(f->a, "%.*s of %s", STR_ARG(c->sig->param[i].name), c->name).p;
}

/* Puts each argument into the type that its parameter has. */
bool facts_fit_args(Facts *f, CallArgs *c)
{
	bool ok = true;

	for (uint32_t i = 0; i < c->sig->n; i++) {
		const SigParam *p = &c->sig->param[i];

		if (p->star) {
			for (uint32_t k = 0; k < c->nrest; k++) {
				c->rest[k] = facts_fit(f, c->rest[k], p->type, c->rest_node[k], c, c->name);
				ok &= c->rest[k]->kind != T_ERROR;
			}
		} else if (c->arg[i] && p->type) {
			c->arg[i] =
				p->dflt == SIG_NONE && c->arg[i]->kind == T_NONE
					? c->arg[i]
					: facts_fit(f, c->arg[i], p->type, c->node[i], c, what_of(f, c, i));
			ok &= c->arg[i]->kind != T_ERROR;
		}
	}
	return ok;
}

const Fact *facts_ret_of(Facts *f, const CallArgs *c, const Node *n)
{
	return facts_sig_fact(f, c->sig->ret, c, n, 7);
}

static const Fact *arg_or(const CallArgs *c, uint32_t i, const Fact *x)
{
	return c->arg[i] ? c->arg[i] : x;
}

/* ---- sending and receiving ---- */

static const Fact *b_emit(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *p = c->arg[0], *probe = mk(f, T_NEVER);
	int retry = sig_param(c->sig, STR("retry")), iface = sig_param(c->sig, STR("iface")),
	    stop = sig_param(c->sig, STR("stop"));
	Len times = { 1, 1 };
	int64_t lo, more = 0;

	for (uint32_t i = 0; i < fact_ways(p); i++) {
		const Fact *w = fact_way(f, p, i);
		Len l = { 1, 1 };

		if (w->kind == T_LIST)
			w = w->cell->elem->kind == T_NEVER ? (l = (Len){ 0, 0 }, mk(f, T_NEVER))
							   : facts_iterate(f, w, n, &l);
		probe = facts_join(f, probe, w);
		times = i ? (Len){ l.lo < times.lo ? l.lo : times.lo, l.hi > times.hi ? l.hi : times.hi } : l;
	}
	if (retry >= 0 && c->arg[retry] && (!vals_bounds(c->arg[retry], &lo, &more) || more > 100))
		more = 100;
	if (iface >= 0 && c->arg[iface] && c->arg[iface]->kind == T_STR)
		facts_note_iface(f, c->arg[iface], c->node[iface]);
	bool until = which == BI_sr1 || (stop >= 0 && c->arg[stop] && c->arg[stop]->kind == T_FUNC);
	uint64_t most = facts_sat_mul(times.hi, (uint64_t)(more < 0 ? 0 : more) + 1);

	label_emit(f, n, p, probe, until ? most : 0);
	for (uint32_t i = 0; which != BI_send && probe->kind == T_PACKET && i < probe->n; i++)
		label_waited(f, label_answer(f, probe->stack[i]));
	if (which != BI_send)
		label_waits(f, n, c->arg[sig_param(c->sig, STR("timeout"))], (uint64_t)(more < 0 ? 0 : more) + 1);
	facts_emit(f, probe, c->node[0], (Len){ times.lo, most });
	if (stop >= 0 && c->arg[stop] && c->arg[stop]->kind == T_FUNC) {
		const Fact *r = facts_answer_to(f, probe);

		uint64_t before = f->count.packets;

		label_stop(f, c->arg[stop],
			   facts_call_each(f, c->arg[stop], &r, 1, c->node[stop], (Len){ 0, times.hi }));
		if (f->count.packets != before)
			facts_say(f, "E-ARGS", c->node[stop],
				  "stop= can't send: it is asked while the answers of this call come in");
	}
	if (which == BI_sr1)
		return label_sr1(f, p, probe,
				 mk_opt(f, mk_from(f,
						   probe->kind == T_NEVER ? facts_any_packet(f)
									  : facts_answer_to(f, probe),
						   n)));
	if (which != BI_sr)
		return facts_ret_of(f, c, n);
	Fact *x = mk_copy(f, mk(f, T_ANSWERS));
	const Fact **item = arena_new_n(f->a, const Fact *, 1);

	item[0] = probe->kind == T_PACKET ? probe : facts_any_packet(f);
	x->item = item;
	x->n = 1;
	x->len = times;
	return x;
}

static const Fact *b_sniff(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *filter = arg_or(c, 0, mk_str(f, T_STR, STR(""))), *elem = mk(f, T_NEVER);
	int64_t lo, hi = INT64_MAX;

	(void)which;
	facts_note_filter(f, filter, c->node[0] ? c->node[0] : n);
	for (uint32_t i = 0; filter->vals && i < filter->vals->n; i++) {
		FilterError e;
		StackSet set;
		const Filter *flt = filter_parse(filter->vals->s[i], f->a, &e);

		if (!flt)
			continue;
		filter_stacks(flt, &set);
		for (uint32_t k = 0; k < set.n; k++) {
			Stack *s = arena_new(f->a, Stack);
			const Stack **one = arena_new_n(f->a, const Stack *, 1);

			*s = (Stack){ .must = set.alt[k].must, .mustnot = set.alt[k].mustnot };
			one[0] = s;
			elem = facts_join(f, elem, mk_packet(f, one, 1));
		}
	}
	if (c->arg[3] && c->arg[3]->kind == T_STR)
		facts_note_iface(f, c->arg[3], c->node[3]);
	if (!c->arg[1] || c->arg[1]->none || !vals_bounds(c->arg[1], &lo, &hi))
		hi = INT64_MAX;
	return mk_list(f, n, 0, elem->kind == T_NEVER ? facts_any_packet(f) : elem,
		       (Len){ 0, hi == INT64_MAX ? LEN_INF
				 : hi < 0	 ? 0
						 : (uint64_t)hi });
}

static const Fact *b_exit(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	(void)n, (void)c;
	if (which == BI_exit) /* a verb's refusal of its arguments is the same for all peers */
		label_left(f, LEFT_EXIT);
	if (!f->env->dead) {
		f->exit = f->exits ? facts_count_max(f->exit, f->count) : f->count;
		f->exits = true;
		f->env->dead = true;
	}
	return mk(f, T_NEVER);
}

static const Fact *b_local(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	static const struct {
		BuiltinFunc f;
		LocalKind kind;
	} kinds[] = { { BI_interfaces, LOCAL_INTERFACES },
		      { BI_routes, LOCAL_ROUTES },
		      { BI_route, LOCAL_ROUTE },
		      { BI_neighbors, LOCAL_NEIGHBORS } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].f == which)
			facts_note_local(f, kinds[i].kind, which == BI_route ? c->arg[0] : NULL, n);
	return facts_ret_of(f, c, n);
}

static const Fact *b_sleep(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	int64_t lo, hi;

	(void)which, (void)n;
	if (vals_bounds(c->arg[0], &lo, &hi) && hi < 0)
		facts_say(f, "E-VALUE", c->node[0], "a negative time can't be waited");
	return mk(f, T_NONE);
}

void facts_ip_versions(const Fact *dst, bool *ret_v4, bool *ret_v6)
{
	bool known = (dst->kind == T_IP || dst->kind == T_NET) && dst->vals;

	*ret_v4 = *ret_v6 = !known;
	for (uint32_t i = 0; known && i < dst->vals->n; i++) {
		uint8_t v = dst->kind == T_NET ? dst->vals->net[i].ip.v : dst->vals->ip[i].lo.v;

		*ret_v4 |= v != 6; /* a name stands for either */
		*ret_v6 |= v != 4;
	}
}

/* A text is a net if it says so, else an address or a name. */
static const Fact *destination(Facts *f, const Fact *x, Node *n)
{
	bool net = false;

	if (x->kind != T_STR || !x->vals)
		return x;
	for (uint32_t i = 0; i < x->vals->n; i++)
		net |= memchr(x->vals->s[i].p, '/', x->vals->s[i].n) != NULL;
	return net ? facts_to_net(f, x, n, "dst") : facts_to_ip(f, x, n, true, "dst");
}

static const Fact *b_l3(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *dst = c->arg[0];
	bool v4, v6;
	Len many;
	Arg *arg = arena_new_n(f->a, Arg, n->call.n);
	const Fact *out = mk(f, T_NEVER);

	(void)which;
	if (dst->kind == T_LIST)
		dst = facts_iterate(f, dst, n, &many);
	dst = destination(f, dst, c->node[0]);
	if (fact_quiet(dst))
		return dst;
	facts_ip_versions(dst, &v4, &v6);
	for (int six = 0; six < 2; six++) {
		if (!(six ? v6 : v4))
			continue;
		for (uint32_t i = 0; i < n->call.n; i++) {
			static const char *const names[][2] = { { "dst", "dst" },
								{ "ttl", "hlim" },
								{ "tos", "tc" } };

			arg[i] = n->call.arg[i];
			for (size_t k = 0; k < sizeof names / sizeof *names; k++)
				if (i == 0 ? k == 0
					   : six && arg[i].name && str_is(arg[i].name->text, names[k][0]))
					arg[i].name = sym(&f->in->ast->syms, str_c(names[k][six]));
		}
		f->quiet += v4 && v6;
		out = facts_join(f, out, facts_layer_of(f, n, six ? WIRE_IPV6 : WIRE_IP, arg, n->call.n));
		f->quiet -= v4 && v6;
	}
	return out;
}

/* ICMP or ICMPv6: which, the layer before it says. */
static const Fact *b_echo(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *v4 = facts_layer_of(f, n, WIRE_ICMP, n->call.arg, n->call.n);

	(void)which, (void)c;
	f->quiet++;
	const Fact *v6 = facts_layer_of(f, n, WIRE_ICMPV6, n->call.arg, n->call.n);

	f->quiet--;
	return v4->kind == T_PACKET && v6->kind == T_PACKET ? facts_join(f, v4, v6) : v4;
}

/* ---- for lib ---- */

static const Fact *b_at_ttl(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *p = c->arg[0];

	(void)which;
	if (p->kind == T_FUNC || p->kind == T_TYPE)
		p = facts_need(f, facts_call_fn(f, p, &c->arg[1], 1, c->node[0]), c->node[0]);
	return p->kind == T_PACKET ? packet_at_ttl(f, p, c->arg[1], c->node[1])
	       : fact_quiet(p)	   ? p
				   : facts_ret_of(f, c, n);
}

/* The address stands in no text: the gate knows it. */
static const Fact *b_resolver(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Vals *v = arena_new(f->a, Vals);

	(void)n, (void)which, (void)c;
	*v = (Vals){ .n = 1, .ip = arena_new(f->a, Target) };
	return mk_vals(f, T_IP, v);
}

static const Fact *b_option(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	int64_t lo, hi;

	(void)which, (void)n;
	if (vals_bounds(c->arg[0], &lo, &hi) && (hi < 0 || lo > 255))
		facts_say(f, "E-VALUE", c->node[0], "an option's kind is 0 to 255");
	return mk(f, T_OPTION);
}

/* ---- print and table ---- */

static bool has_column(Facts *f, const Fact *e, Str name, Near *near)
{
	if (e->kind == T_DICT && e->cell->record) {
		for (uint32_t i = 0; i < e->cell->field.n; i++)
			facts_near_try(near, e->cell->field.p[i].name);
		return cell_field(e->cell, name) != NULL;
	}
	if (e->kind == T_RESULT) {
		bool found = false;

		for (uint32_t i = 0; i < e->node->result.n; i++) {
			facts_near_try(near, e->node->result.field[i].name->text);
			found |= str_eq(e->node->result.field[i].name->text, name);
		}
		return found;
	}
	(void)f;
	return true;
}

static const Fact *b_table(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Len l;
	const Fact *e = facts_iterate(f, c->arg[0], c->node[0], &l);
	Str s;

	(void)which, (void)n;
	if (!c->arg[1] || !fact_one_str(c->arg[1], &s))
		return mk(f, T_NONE);
	for (size_t i = 0; i < s.n;) {
		size_t from = i;

		while (i < s.n && s.p[i] != ' ' && s.p[i] != ',')
			i++;
		Str name = { s.p + from, i - from };
		Near near = { .want = name, .d = 255 };

		if (name.n && !has_column(f, e, name, &near)) {
			Diag *d = facts_say(f, "E-FIELD", c->node[1], "the rows have no field %.*s",
					    STR_ARG(name));

			if (near.d <= 2)
				d->hint = str_printf(f->a, "did you mean %.*s?", STR_ARG(near.best));
		}
		while (i < s.n && (s.p[i] == ' ' || s.p[i] == ','))
			i++;
	}
	return mk(f, T_NONE);
}

/* ---- dispatch ---- */

static BuiltinRule *const rules[BI_N] = {
	[BI_table] = b_table,
	[BI_exit] = b_exit,
	[BI_send] = b_emit,
	[BI_sr1] = b_emit,
	[BI_sr] = b_emit,
	[BI_sniff] = b_sniff,
	[BI_sleep] = b_sleep,
	[BI_option] = b_option,
	[BI_at_ttl] = b_at_ttl,
	[BI_resolver] = b_resolver,
	[BI_fail] = b_exit,
	[BI_connect] = b_connect,
	[BI_datagram] = b_connect,
	[BI_load] = b_connect,
	[BI_listen] = b_listen,
	[BI_said] = b_said,
	[BI_url_host] = b_url,
	[BI_url_port] = b_url,
	[BI_url_tls] = b_url,
	[BI_url_target] = b_url,
	[BI_url_authority] = b_url,
	[BI_dns_read] = b_dns_read,
	[BI_interfaces] = b_local,
	[BI_routes] = b_local,
	[BI_route] = b_local,
	[BI_neighbors] = b_local,
	[BI_summarize] = b_summarize,
	[BI_count_by] = b_count_by,
	[BI_random_bytes] = b_random_bytes,
	[BI_fill] = b_random_bytes,
	[BI_randint] = b_randint,
	[BI_abs] = b_abs,
	[BI_bool] = b_bool,
	[BI_bytes] = b_bytes,
	[BI_dict] = b_dict,
	[BI_divmod] = b_divmod,
	[BI_enumerate] = b_enumerate,
	[BI_filter] = b_map,
	[BI_int] = b_int,
	[BI_ip] = b_ip,
	[BI_len] = b_len,
	[BI_list] = b_list,
	[BI_mac] = b_ip,
	[BI_map] = b_map,
	[BI_max] = b_max,
	[BI_min] = b_max,
	[BI_net] = b_ip,
	[BI_range] = b_range,
	[BI_repr] = b_str,
	[BI_reversed] = b_sorted,
	[BI_round] = b_round,
	[BI_set] = b_list,
	[BI_sorted] = b_sorted,
	[BI_str] = b_str,
	[BI_sum] = b_sum,
	[BI_tuple] = b_list,
	[BI_zip] = b_zip,
	[BI_pack] = b_pack,
	[BI_unpack] = b_pack,
};

const Fact *facts_builtin(Facts *f, Node *n, BuiltinFunc which)
{
	CallArgs c = { .sig = sig_func(&f->sigs, which), .name = builtin_funcs[which].name };

	facts_step(f, 2);
	if (which == BI_l3 || which == BI_echo) {
		f->quiet++;
		bool ok = facts_bind_args(f, n, &c);

		f->quiet--;
		if (!ok && which == BI_l3 && !n->call.n) {
			facts_bind_args(f, n, &c);
			return facts_bad(f);
		}
		return which == BI_l3 ? b_l3(f, n, which, &c) : b_echo(f, n, which, &c);
	}
	if ((which == BI_any || which == BI_all) && n->call.n == 1)
		label_stops_at(f, n->call.arg[0].value);
	bool ok = facts_bind_args(f, n, &c) && facts_fit_args(f, &c);

	if (builtin_funcs[which].effect == EFFECT_EMIT || builtin_funcs[which].effect == EFFECT_WAIT) {
		if (rules[which] != b_connect && rules[which] != b_listen) /* they say themselves whom it concerns */
			label_wait(f, n, which, &c);
		env_waited(f);
	}
	if (f->env->dead)
		return mk(f, T_NEVER);
	label_told(f, n, which, &c);
	if (!ok && which != BI_exit) {
		/* What is wrong was said; go on with what the built-in gives in any case. */
		const SigType *r = c.sig->ret;

		return str_is(r->name, "none") || str_is(r->name, "str") || str_is(r->name, "int") ||
				       str_is(r->name, "bool")
			       ? facts_ret_of(f, &c, n)
			       : facts_bad(f);
	}
	for (uint32_t i = 0; i < c.sig->n; i++)
		if (c.arg[i] && (c.arg[i]->kind == T_ANY || c.arg[i]->kind == T_NEVER) && rules[which] &&
		    i == 0 && builtin_funcs[which].effect == EFFECT_NONE)
			return which == BI_len ? mk(f, T_INT) : facts_ret_of(f, &c, n);
	int64_t ns, most;

	if (which == BI_sleep && vals_bounds(c.arg[0], &ns, &most) && ns > 0)
		facts_count_add(f, 0, 0, (Least){ .ns = (uint64_t)ns });
	return rules[which] ? rules[which](f, n, which, &c) : mk_from(f, facts_ret_of(f, &c, n), n);
}
