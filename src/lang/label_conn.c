/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels of connections: what a live object tells, and which waits were on others.
 *
 * A connection's bytes are the peer's content, its state is measured about the peer:
 * the object itself needs no label for what was done to it, for whatever others had a
 * part in that was paid or refused where it was done (label_emit.c), and is a node of
 * everybody's tree.
 *
 * How TCP cuts bytes into segments, repeats and acknowledges them is a matter of when,
 * as times of sending are, and so is what it echoes.  What the program queued leaves
 * whenever the run ends, so the bytes that a peer gets do not depend on waits for
 * others, but for what cuts them off: c.reset(), load.stop(), and the end of a load
 * that has no bound of its own.
 */
#include "lang/label_inside.h"

enum { PROTO_TCP = 6, PROTO_UDP = 17 };

/* A connection that a peer opened has a port of his that nobody else is behind. */
static int32_t port_of(const Fact *x)
{
	int64_t port;

	if (x->item[0]->one && x->item[0]->taken)
		return ORIGIN_NO_PORT;
	return vals_one(x->item[1], &port) && port >= 0 && port < 65536 ? (int32_t)port : ORIGIN_PORTS;
}

const Label *label_live(Facts *f, const Fact *x)
{
	if (!x->n)
		return label_any(f, LABEL_CONTENT);
	if (x->kind == T_LISTENER)
		return label_targets(f, x->item[0], (Origin){ .proto = ORIGIN_ADDR, .port = ORIGIN_NO_PORT });
	return label_targets(f, x->item[0],
			     (Origin){ .proto = x->kind == T_UDP ? PROTO_UDP : PROTO_TCP, .port = port_of(x) });
}

const Fact *label_live_attr(Facts *f, const Fact *x, BuiltinAttr at, const Fact *v)
{
	return label_add(f, label_add(f, v, label_made(f, label_live(f, x), builtin_attrs[at].label)), x->label);
}

const Fact *label_told_attr(Facts *f, const Fact *x, BuiltinAttr at, const Fact *v)
{
	WireLabel level = builtin_attrs[at].label;

	/* content stays what it is: label_made() would take decisions for where it came from */
	return label_add(f, v, level == LABEL_CONTENT ? x->label : label_made(f, x->label, level));
}

const Fact *label_live_method(Facts *f, const Fact *self, const Node *call, const Fact *x)
{
	int m = builtin_method(fact_owners[self->kind], call->call.fn->attr.sym->text);
	const Label *l = label_join(f, self->label, label_args(f, call, label_deep_of));

	if (m == M_CONN_packet) /* its fields carry what they tell */
		return label_add(f, x, self->label);
	if (m == M_LISTENER_accept)
		return label_add(f, x, l);
	return label_add(f, x, m < 0 ? l : label_join(f, l, label_made(f, label_live(f, self), builtin_methods[m].label)));
}

/* ---- waits ---- */

void label_waited(Facts *f, const Label *l)
{
	Labels *ls = f->labels;

	l = label_made(f, label_join(f, l, label_pc(f)), LABEL_MEASURED);
	if (!l || f->silent || f->frame->lib) /* a verb waits for its peer alone */
		return;
	for (uint32_t i = 0; i < ls->waited.n; i++)
		if (ls->waited.p[i].on == l) {
			ls->waited.p[i].last = ++f->gen;
			return;
		}
	vec_push(f->a, &ls->waited, (Waited){ l, ++f->gen });
}

const Label *label_waited_since(Facts *f, uint64_t gen)
{
	const Labels *ls = f->labels;
	const Label *l = NULL;

	for (uint32_t i = 0; i < ls->waited.n; i++)
		if (ls->waited.p[i].last > gen)
			l = label_join(f, l, ls->waited.p[i].on);
	return l;
}

/* ---- loads ---- */

void label_load(Facts *f, const Node *at, const Fact *x, bool bounded)
{
	if (!bounded && !f->quiet && !f->silent)
		vec_push(f->a, &f->labels->loads, (OpenLoad){ x, at });
}

const Node *label_loads_cut(Facts *f)
{
	Labels *ls = f->labels;

	for (uint32_t i = 0; i < ls->loads.n; i++) {
		const Fact *x = ls->loads.p[i].load;
		const Label *l = label_waited_since(f, x->gen);

		if (l && !label_own(f, l, label_peers(f, label_live(f, x))))
			return ls->loads.p[i].at;
	}
	return NULL;
}
