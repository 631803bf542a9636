/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed tells, in words for cmd: the checker's rows with the addresses that
 * names and this host's resolver have in this run.
 */
#include "vm/engine_inside.h"
#include "vm/out.h"

#include "base/exits.h"

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

static void tell_that(Engine *e, const ProgTold *told)
{
	if (told->level == LABEL_CONTENT)
		tell(e, told, (Str){ 0 });
}

void engine_told_before(Engine *e, const Program *p)
{
	const ProgTold *all[] = { &p->told_sent, &p->told_all, &p->told_error };

	for (unsigned i = 0; i < (e->measurements ? 1 : 3); i++)
		tell_that(e, all[i]);
}

void engine_told_after(Engine *e, const Program *p)
{
	if (p->told_all.level == LABEL_CONTENT && e->measurements)
		tell_instead(e, &p->told_all);
}

void engine_told_error(Engine *e, const Program *p, const VmError *err, int exit)
{
	static const ProgTold nothing = { .level = LABEL_CLEAN }, anything = { .level = LABEL_CONTENT, .any = true };
	const ProgTold *told = err->received ? &anything : exit == SONDE_EXIT_RUNTIME ? &p->told_error : &nothing;
	bool hide = told->level == LABEL_CONTENT && e->measurements;
	uint8_t buf[WHENCE_BYTES];
	Msg m = { .type = MSG_FAIL,
		  .fail = { .exit = (uint8_t)exit,
			    .from = err->span.from,
			    .to = err->span.to,
			    .code = str_bytes(str_c(err->code)),
			    .message = str_bytes(hide ? STR("what went wrong is content, which this policy keeps back") : err->message) } };

	if (e->measurements) /* how far it came is told */
		tell_that(e, &p->told_error);
	if (!hide) {
		m.fail.label = told->level;
		m.fail.origin = engine_whence(e, told, false, buf);
	}
	e->config.sink(e->config.sink_ctx, &m);
}
