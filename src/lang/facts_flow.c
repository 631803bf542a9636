/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches and loops; code that nothing reaches; values that nobody uses.
 *
 * A loop's body is walked until what is known at its head is stable (three rounds,
 * then widening), quietly; then once more to report.  A loop over few known items
 * is walked once for each, so that what belongs together in an item stays together.
 */
#include "base/rng.h"
#include "lang/facts_inside.h"

enum {
	ROUNDS_BEFORE_WIDENING = 1,
	ROUNDS_BEFORE_GIVING_UP = 7,
	UNROLL_ITEMS = 32,
	UNROLL_NESTED = 256,
};

void facts_do_if(Facts *f, Node *n)
{
	Env *other = facts_cond(f, n->branch.test);
	Count before = f->count, after;
	const Label *pc = label_branch(f, n->branch.test, f->env, other);

	facts_do_body(f, n->branch.body);
	Env *then = f->env;

	after = f->count;
	f->env = other;
	f->count = before;
	facts_do_body(f, n->branch.orelse);
	if (!then->dead) {
		f->count = f->env->dead ? after : facts_count_max(f->count, after);
		f->env = env_join(f, f->env, then);
	}
	label_back(f, pc);
}

/* ---- loops ---- */

typedef struct Round {
	Node *n;
	const Fact *item; /* of a for */
	const Label *shape; /* of what it runs over */
	Loop loop;
	LabelScope scope;
	const Label *pc; /* as the round began */
	Env *out; /* of a while: where its test is false */
} Round;

static void walk_round(Facts *f, Round *r, const Env *head)
{
	f->env = env_copy(f, head);
	r->loop.since = ++f->gen;
	r->loop.brk = r->loop.cont = (Door){ 0 };
	r->pc = label_round(f, &r->scope);
	if (r->n->kind == N_WHILE) {
		r->out = facts_cond(f, r->n->branch.test);
		label_may_end(f, r->n->branch.test, label_test(f, r->n->branch.test));
		label_branch(f, r->n->branch.test, f->env, r->out);
	} else {
		label_enter(f, label_decide(f, r->n->loop.iter, r->shape));
	}
	if (r->n->kind == N_FOR)
		facts_assign(f, r->n->loop.target, r->item, r->n->loop.iter);
	facts_do_body(f, r->n->kind == N_WHILE ? r->n->branch.body : r->n->loop.body);
	facts_enter(f, &r->loop.cont);
}

/* Walks the body until the head is stable; f->env and f->count are those of its end. */
static Env *walk_rounds(Facts *f, Round *r)
{
	Env *head = f->env;
	Count before = f->count;

	f->quiet++;
	for (unsigned i = 0;; i++) {
		f->count = before;
		walk_round(f, r, head);
		if (f->env->dead)
			break;
		Env *now = env_join_head(f, head, f->env);

		if (env_stable(f, head, now) && label_round(f, &r->scope) == r->pc)
			break;
		if (i >= ROUNDS_BEFORE_WIDENING)
			now = env_widen(f, head, now, i >= ROUNDS_BEFORE_GIVING_UP);
		head = now;
	}
	f->quiet--;
	if (!f->quiet) {
		f->count = before;
		walk_round(f, r, head);
	}
	return head;
}

/* What left from within some round had up to n - 1 whole rounds before it. */
static void door_rounds(Count *c, bool open, const Count *was, const Count *round, uint64_t n)
{
	if (!open || (c->packets == was->packets && c->syn == was->syn))
		return;
	uint64_t more = n == LEN_INF ? LEN_INF : n ? n - 1 : 0;

	c->packets = facts_sat_add(c->packets, facts_sat_mul(round->packets, more));
	c->syn = facts_sat_add(c->syn, facts_sat_mul(round->syn, more));
}

static void loop_end(Facts *f, Round *r, Env *head, const Count *round, Count before, Len n, Nodes orelse)
{
	Count zero = { 0 };

	door_rounds(&r->loop.brk.count, r->loop.brk.env != NULL, &zero, round, n.hi);
	if (f->env->dead)
		f->count = before;
	else
		facts_count_rounds(f, before, n);
	if (r->n->kind == N_WHILE) {
		f->m->worst.emitting_while |= !f->quiet && !f->silent && round->packets;
		f->env = r->out;
	} else if (!n.lo) {
		f->env = head;
	}
	label_round(f, &r->scope);
	facts_do_body(f, orelse);
	label_loop_end(f, &r->scope);
	f->frame->loop = r->loop.up;
	facts_enter(f, &r->loop.brk);
}

static void do_loop(Facts *f, Round *r, Len n, Nodes orelse)
{
	Count before = f->count, ret = f->frame->ret.count, ex = f->exit;

	r->loop.up = f->frame->loop;
	r->loop.rounds = n.hi;
	f->frame->loop = &r->loop;
	label_loop_begin(f, &r->scope);
	Env *head = walk_rounds(f, r);
	Count round = { 0 };

	if (!f->env->dead) {
		round.packets = facts_sat_sub(f->count.packets, before.packets);
		round.syn = facts_sat_sub(f->count.syn, before.syn);
	}
	door_rounds(&f->frame->ret.count, f->frame->ret.env != NULL, &ret, &round, n.hi);
	door_rounds(&f->exit, f->exits, &ex, &round, n.hi);
	loop_end(f, r, head, &round, before, n, orelse);
}

/* ---- while ---- */

typedef struct Seek {
	Facts *f;
	bool now, live, wait;
} Seek;

/* What a loop over a live object does; its body was walked before. */
static void seek_live(Seek *s, const Node *n)
{
	const Node *attr = n->kind == N_CALL ? n->call.fn : n;
	const Fact *x = attr->kind == N_ATTR ? label_seen(s->f, attr->attr.obj) : NULL;

	if (!x || !fact_is_live(x))
		return;
	int m = n->kind == N_CALL ? builtin_method(fact_owners[x->kind], attr->attr.sym->text) : -1;

	s->live |= n->kind == N_ATTR && builtin_attr(fact_owners[x->kind], attr->attr.sym->text) >= 0;
	s->wait |= m >= 0 && builtin_methods[m].effect == EFFECT_WAIT;
}

static void seek(Node *n, void *ctx)
{
	Seek *s = ctx;

	if (n->kind == N_CALL || n->kind == N_ATTR)
		seek_live(s, n);
	if (n->kind == N_CALL && n->call.fn->kind == N_NAME) {
		const Node *fn = n->call.fn;

		if (fn->name.ref == REF_BUILTIN) {
			s->now |= fn->name.index == BI_now;
			s->wait |= builtin_funcs[fn->name.index].effect != EFFECT_NONE;
		} else if (fn->name.ref == REF_FUNC) {
			s->wait = true;
		}
	}
	ast_each(n, seek, ctx);
}

static void warn_spin(Facts *f, Node *n)
{
	Seek s = { .f = f }, test = { .f = f };

	seek(n->branch.test, &test);
	for (uint32_t i = 0; i < n->branch.body.n; i++)
		seek(n->branch.body.p[i], &s);
	if (!(test.now || s.now || test.live || s.live) || s.wait || test.wait || !n->branch.body.n)
		return;
	const Node *first = n->branch.body.p[0];
	LineCol lc = line_col(f->in->ast->files.p[n->file].text, first->span.from);
	Diag *d = facts_say(f, "W-SPIN", n->branch.test,
			    "this loop asks for %s over and over, without waiting in between",
			    test.now || s.now ? "the time" : "what changes in waits only");
	Sb t = sb(f->a);

	if (lc.col > 1 && line_col(f->in->ast->files.p[n->file].text, n->span.from).line != lc.line) {
		sb_printf(&t, "sleep(10ms)\n");
		sb_fill(&t, ' ', lc.col - 1);
	} else {
		sb_cstr(&t, "sleep(10ms); ");
	}
	facts_fix_span(f, d, first, (Span){ first->span.from, first->span.from }, sb_done(&t));
}

void facts_do_while(Facts *f, Node *n)
{
	Round r = { .n = n };

	do_loop(f, &r, (Len){ 0, LEN_INF }, n->branch.orelse);
	warn_spin(f, n);
}

/* ---- for ---- */

const Fact *const *facts_items_known(Facts *f, const Fact *x, uint32_t *ret_n)
{
	if (x->kind == T_TUPLE && !x->open) {
		*ret_n = x->n;
		return x->item;
	}
	if ((x->kind == T_LIST || x->kind == T_SET) && x->cell->at_known && x->cell->at.n &&
	    x->cell->len.hi == x->cell->at.n) {
		*ret_n = x->cell->at.n;
		return x->cell->at.p;
	}
	(void)f;
	return NULL;
}

static void do_unrolled(Facts *f, Node *n, const Fact *x, const Fact *const *item, uint32_t count)
{
	Loop l = { .up = f->frame->loop, .rounds = count, .target = n->loop.target };
	Door brk = { 0 };
	LabelScope scope;
	uint64_t path = f->frame->path;

	label_loop_begin(f, &scope);
	f->frame->loop = &l;
	f->unroll *= count;
	for (uint32_t i = 0; i < count && !f->env->dead; i++) {
		l.since = ++f->gen;
		l.cont = (Door){ 0 };
		f->env = env_copy(f, f->env);
		label_round(f, &scope);
		f->frame->path = rng_mix(path + i); /* what each round makes stays apart */
		facts_assign(f, n->loop.target, label_item(f, x, mk_aged(f, item[i])), n->loop.iter);
		facts_do_body(f, n->loop.body);
		facts_enter(f, &l.cont);
	}
	brk = l.brk;
	f->unroll /= count;
	f->frame->path = path;
	label_round(f, &scope);
	facts_do_body(f, n->loop.orelse);
	label_loop_end(f, &scope);
	f->frame->loop = l.up;
	facts_enter(f, &brk);
}

void facts_do_for(Facts *f, Node *n)
{
	const Fact *x = facts_ex_value(f, n->loop.iter);
	uint32_t count = 0;
	const Fact *const *item = facts_items_known(f, x, &count);

	if (item && count && count <= UNROLL_ITEMS && f->unroll * count <= UNROLL_NESTED) {
		do_unrolled(f, n, x, item, count);
		return;
	}
	Round r = { .n = n, .loop.target = n->loop.target, .shape = label_shape(f, x) };
	Len len;

	r.item = facts_iterate(f, x, n->loop.iter, &len);
	if (len.hi == 0) {
		/* what would be set in it never is */
		Env *before = env_copy(f, f->env);
		Count sent = f->count;

		do_loop(f, &r, len, (Nodes){ 0 });
		f->env = before;
		f->count = sent;
		facts_do_body(f, n->loop.orelse);
		return;
	}
	do_loop(f, &r, len, n->loop.orelse);
}

/* ---- dropped values ---- */

static bool call_has_effect(const Node *n)
{
	const Node *fn = n->call.fn;

	if (fn->kind == N_NAME && fn->name.ref == REF_BUILTIN) {
		uint32_t i = fn->name.index;

		return builtin_funcs[i].effect == EFFECT_EMIT || builtin_funcs[i].effect == EFFECT_WAIT ||
		       i == BI_print || i == BI_table || i == BI_exit;
	}
	if (fn->kind == N_NAME)
		return fn->name.ref == REF_FUNC || fn->name.ref == REF_VAR || fn->name.ref == REF_DECL;
	if (fn->kind != N_ATTR)
		return true;
	static const char *const change[] = { "append",	 "clear",  "extend",  "insert", "pop",
					      "popitem", "remove", "reverse", "sort",	"setdefault",
					      "update",	 "add",	   "discard", "send",   "recv",
					      "flush",	 "wait",   "close",   "reset",  "accept",
					      "stop" };

	for (size_t i = 0; i < sizeof change / sizeof *change; i++)
		if (str_is(fn->attr.sym->text, change[i]))
			return true;
	return false;
}

static void find_effect(Node *n, void *ctx)
{
	bool *found = ctx;

	*found |= n->kind == N_CALL && call_has_effect(n);
	if (!*found)
		ast_each(n, find_effect, ctx);
}

void facts_warn_dropped(Facts *f, Node *n)
{
	bool effect = false;

	find_effect(n, &effect);
	if (effect || n->kind == N_STR || n->kind == N_NONE || n->kind == N_BAD)
		return;
	Diag *d = facts_say(f, "W-DROPPED", n, "the value of this expression is not used");
	bool text =
		n->kind == N_CALL && n->call.fn->kind == N_ATTR &&
		(str_is(n->call.fn->attr.sym->text, "show") || str_is(n->call.fn->attr.sym->text, "summary"));

	if (text)
		facts_fix(f, d, n, str_printf(f->a, "print(%.*s)", STR_ARG(facts_source(f, n))));
	else if (n->kind == N_COMPARE && n->compare.n == 1 && n->compare.link[0].op == CMP_EQ)
		d->hint = STR("`==` compares; `=` assigns");
}

/* ---- unreachable code ---- */

static bool ends(const Node *n)
{
	return n->kind == N_RETURN || n->kind == N_BREAK || n->kind == N_CONTINUE || n->kind == N_WHILE ||
	       n->kind == N_IF || (n->kind == N_EXPR && n->expr.value->kind == N_CALL);
}

static void unreached_body(Facts *f, Nodes body)
{
	for (uint32_t i = 0; i < body.n; i++) {
		Node *n = body.p[i];

		if (!f->reached[n->id]) {
			if (i && f->reached[body.p[i - 1]->id] && ends(body.p[i - 1]) && n->kind != N_DEF)
				facts_say(f, "W-UNREACHABLE", n, "nothing gets here");
			return;
		}
		if (n->kind == N_IF || n->kind == N_WHILE) {
			unreached_body(f, n->branch.body);
			unreached_body(f, n->branch.orelse);
		} else if (n->kind == N_FOR) {
			unreached_body(f, n->loop.body);
			unreached_body(f, n->loop.orelse);
		}
	}
}

void facts_unreached(Facts *f)
{
	unreached_body(f, f->in->ast->files.p[0].module->module.body);
	for (uint32_t i = 0; i < f->in->scopes->defs.n; i++) {
		Node *d = f->in->scopes->defs.p[i];

		if (d->file == 0)
			unreached_body(f, d->func.body);
	}
}
