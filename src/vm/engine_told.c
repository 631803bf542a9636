/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed tells, in words for cmd: the checker's rows with the addresses that
 * names and this host's resolver have in this run.
 */
#include "vm/engine_inside.h"
#include "vm/out.h"

static void addrs(Writer *w, bool *fits, Ip lo, Ip hi)
{
	*fits &= whence_put(w, &(Whence){ .kind = WHENCE_ADDRS, .lo = lo, .hi = hi });
}

static void named(const Engine *e, Writer *w, bool *fits, Str name)
{
	bool any = false;

	for (uint32_t i = 0; i < e->pin.n; i++) {
		if (!str_eq(e->pin.p[i].name, name))
			continue;
		any = true;
		*fits &= whence_put(w, &(Whence){ .kind = WHENCE_NAME, .lo = e->pin.p[i].ip, .hi = e->pin.p[i].ip, .name = name });
	}
	if (!any)
		*fits &= whence_put(w, &(Whence){ .kind = WHENCE_NAME, .name = name });
}

static void one(const Engine *e, Writer *w, bool *fits, const Target *t)
{
	if (t->name.n) {
		named(e, w, fits, t->name);
		return;
	}
	if (t->lo.v) {
		addrs(w, fits, t->lo, t->hi);
		return;
	}
	*fits &= e->resolver.n > 0;
	for (uint32_t i = 0; i < e->resolver.n; i++)
		addrs(w, fits, e->resolver.p[i], e->resolver.p[i]);
}

Bytes engine_whence(const Engine *e, const ProgTold *told, bool peer, uint8_t buf[WHENCE_BYTES])
{
	Writer w = writer(buf, WHENCE_BYTES);
	bool fits = !told->any && (told->n || !peer);

	for (uint16_t i = 0; i < told->n && fits; i++)
		one(e, &w, &fits, &told->origin[i]);
	if (!fits) {
		w.n = 0;
		whence_put(&w, &(Whence){ .kind = WHENCE_ANY });
	}
	return wr_done(&w);
}

bool engine_measurements(const Engine *e)
{
	return e->measurements;
}

static void tell(Engine *e, const ProgTold *told, Str text)
{
	uint8_t buf[WHENCE_BYTES];
	Msg m = { .type = MSG_TEXT, .text = { .text = str_bytes(text) } };

	if (!text.n) {
		m.text.label = told->level;
		m.text.origin = engine_whence(e, told, false, buf);
	}
	e->config.sink(e->config.sink_ctx, &m);
}

/* Prints that stand where content decides whether they are reached print nothing. */
static void tell_instead(Engine *e, const ProgTold *told)
{
	Sb out = sb(&e->spare);

	out_instead_text(told, &out);
	sb_char(&out, '\n');
	tell(e, told, sb_done(&out));
}

void engine_told_all(Engine *e, const Program *p, bool end)
{
	if (p->told_all.level == LABEL_CONTENT && !end && !e->measurements)
		tell(e, &p->told_all, (Str){ 0 });
	if (p->told_error.level == LABEL_CONTENT && !end && !e->measurements)
		tell(e, &p->told_error, (Str){ 0 });
	if (p->told_all.level == LABEL_CONTENT && end && e->measurements)
		tell_instead(e, &p->told_all);
}
