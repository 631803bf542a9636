/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/warnings.h"

#include <stdio.h>

static const WarnRow rows[WARN_N] = {
#define WARN(id, code, known, layer, meaning, causes, next) \
	[WARN_##id] = { code, known, WARN_LAYER_##layer, meaning, causes, next },
#include "probe/warnings.def"
#undef WARN
};

#define LAYER_ROW_(id, name, text) [WARN_LAYER_##id] = { name, text },
static const struct {
	const char *name, *text;
} layers[WARN_LAYER_N] = { WARN_LAYERS(LAYER_ROW_) };

const WarnRow *warn_row(WarnId id)
{
	return &rows[id];
}

const char *warn_layer_name(WarnLayer l)
{
	return layers[l].name;
}

const char *warn_layer_text(WarnLayer l)
{
	return layers[l].text;
}

WarnId warn_by_code(Str code)
{
	for (unsigned i = 0; i < WARN_N; i++)
		if (str_is(code, rows[i].code))
			return (WarnId)i;
	return WARN_N;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

static WarnPeer *peer_of(Warning *w, Ip ip)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (ip_eq(w->peer[i].ip, ip))
			return &w->peer[i];
	if (w->n == WARN_PEERS)
		return NULL;
	w->peer[w->n].ip = ip;
	return &w->peer[w->n++];
}

void warn_add(Warnings *ws, WarnId id, Ip peer, uint32_t n, const char *fmt, ...)
{
	Warning *w = &ws->w[id];
	WarnPeer *p = n ? peer_of(w, peer) : NULL;

	w->count = plus(w->count, n);
	if (!p)
		return;
	if (!p->count) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(p->evidence, sizeof p->evidence, fmt, ap);
		va_end(ap);
	}
	p->count = plus(p->count, n);
}
