/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS, URLs, and names that are told to peers.
 *
 * What stands in a server's name of TLS, in a Host field or in a question over TCP no
 * gate can see: so the checker must know it before the start, and it goes into the
 * manifest, where the policy's zones are held against it (guardrails.md 2).
 */
#include "lang/facts_rules.h"

#include "wire/url.h"

/* ---- names ---- */

/* The place in the user's program. */
static const Node *users_place(Facts *f, const Node *n)
{
	return facts_in_lib(f, n) ? facts_users_node(f, n) : n;
}

static void says(Facts *f, Str name)
{
	Ip ip;

	if (f->quiet || f->silent || !name.n || ip_parse(name, &ip))
		return;
	for (uint32_t i = 0; i < f->m->says.n; i++)
		if (str_eq(f->m->says.p[i], name))
			return;
	vec_push(f->a, &f->m->says, name);
}

static bool unknown(Facts *f, const Fact *x, const Node *n, const char *what)
{
	const Node *at = users_place(f, n);
	Diag *d;

	if (x->origin && !facts_in_lib(f, x->origin) && x->origin != at)
		d = facts_say(f, "E-REACH", at, "%s is not known before the start: it comes from %.*s", what,
			      STR_ARG(facts_source(f, x->origin)));
	else
		d = facts_say(f, "E-REACH", at, "%s is not known before the start", what);
	d->hint = STR("names that a peer is told are held against the policy's zones before anything is sent");
	return false;
}

/* All that x may be is told to a peer. */
static bool say_all(Facts *f, const Fact *x, const Node *n, const char *what)
{
	const Vals *v = vals_texts(f, x);

	if (!v)
		return fact_quiet(x) || unknown(f, x, n, what);
	for (uint32_t i = 0; i < v->n; i++)
		says(f, v->s[i]);
	return true;
}

const Fact *b_said(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	(void)which, (void)n;
	return say_all(f, c->arg[0], c->node[0], "the name") ? c->arg[0] : facts_bad(f);
}

void facts_start_tls(Facts *f, Node *n, CallArgs *c)
{
	f->m->uses_tls |= !f->quiet && !f->silent;
	if (c->arg[0])
		say_all(f, c->arg[0], c->node[0] ? c->node[0] : n, "name");
	label_waited(f, label_live(f, c->self)); /* for the handshake */
}

/* ---- URLs ---- */

static const Fact *part_of(Facts *f, BuiltinFunc which, const Url *u)
{
	switch (which) {
	case BI_url_port:
		return mk_range(f, T_INT, u->port, u->port);
	case BI_url_tls:
		return mk_range(f, T_BOOL, u->tls, u->tls);
	case BI_url_target:
		return mk_str(f, T_STR, u->target);
	case BI_url_host:
		return mk_str(f, T_STR, u->host);
	default:
		return mk_str(f, T_STR, u->authority);
	}
}

const Fact *b_url(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	const Fact *x = c->arg[0], *out = mk(f, T_NEVER);
	const Vals *v = vals_texts(f, x);

	(void)n;
	if (fact_quiet(x))
		return x;
	if (!v)
		return unknown(f, x, c->node[0], "the URL"), facts_bad(f);
	facts_step(f, v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		Url u;
		const char *fault = url_parse(v->s[i], &u);

		if (fault) {
			facts_say(f, "E-VALUE", users_place(f, c->node[0]), "\"%.*s\": a URL %s", STR_ARG(v->s[i]), fault);
			return facts_bad(f);
		}
		out = facts_join(f, out, part_of(f, which, &u));
	}
	/* with a name of the caller's in its place, the text is not the URL's alone */
	return which == BI_url_authority && c->arg[1] ? mk(f, T_STR) : out;
}

/* ---- DNS over a stream ---- */

/* A message with nothing around it, whose content is the peer's. */
const Fact *b_dns_read(Facts *f, Node *n, BuiltinFunc which, CallArgs *c)
{
	Stack *s = arena_new(f->a, Stack);
	const Stack **one = arena_new_n(f->a, const Stack *, 1);

	(void)which;
	*s = (Stack){ .must = WIRE_BIT(WIRE_DNS),
		      .content = c->arg[0]->kind == T_CONN ? label_live(f, c->arg[0]) : NULL };
	one[0] = s;
	return mk_opt(f, mk_from(f, mk_packet(f, one, 1), n));
}
