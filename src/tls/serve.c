/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/serve.h"

#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Slot {
	uint32_t id; /* the engine's number; 0: free */
	TlsSession *session;
} Slot;

struct TlsServer {
	TlsCore *core;
	Slot slot[LIMIT_TLS_SESSIONS];
	uint8_t info[LIMIT_TLS_SAID];
	uint8_t in[LIMIT_MSG + 8], out[LIMIT_MSG + 8];
};

TlsServer *tls_server_new(TlsCore *k)
{
	TlsServer *v = calloc(1, sizeof *v);

	if (v)
		v->core = k;
	return v;
}

static void slot_clear(Slot *s)
{
	if (s->session)
		tls_session_free(s->session);
	*s = (Slot){ 0 };
}

void tls_server_free(TlsServer *v)
{
	for (unsigned i = 0; i < LIMIT_TLS_SESSIONS; i++)
		slot_clear(&v->slot[i]);
	free(v);
}

static Slot *slot_of(TlsServer *v, uint32_t id)
{
	for (unsigned i = 0; i < LIMIT_TLS_SESSIONS; i++)
		if (v->slot[i].id == id)
			return &v->slot[i];
	return NULL;
}

static TlsStep refuse(const char *why)
{
	return (TlsStep){ .state = TLS_STATE_NONE, .error = why };
}

/* ---- a row per operation; false: no request ---- */

typedef bool OpHandler(TlsServer *v, Slot *s, Bytes data, TlsStep *ret_step);

static bool op_feed(TlsServer *v, Slot *s, Bytes data, TlsStep *ret_step)
{
	(void)v;
	if (data.n > LIMIT_TLS_PIECE)
		return false;
	tls_session_feed(s->session, data, ret_step);
	return true;
}

static bool op_write(TlsServer *v, Slot *s, Bytes data, TlsStep *ret_step)
{
	(void)v;
	if (data.n > LIMIT_TLS_PIECE)
		return false;
	tls_session_write(s->session, data, ret_step);
	return true;
}

static bool op_info(TlsServer *v, Slot *s, Bytes data, TlsStep *ret_step)
{
	Writer w = writer(v->info, sizeof v->info);

	if (data.n)
		return false;
	tls_session_feed(s->session, (Bytes){ 0 }, ret_step); /* its state */
	if (tls_session_info(s->session, &w))
		ret_step->plain = wr_done(&w);
	return true;
}

static bool op_close(TlsServer *v, Slot *s, Bytes data, TlsStep *ret_step)
{
	(void)v;
	if (data.n)
		return false;
	tls_session_close(s->session, ret_step);
	slot_clear(s);
	return true;
}

static OpHandler *const handlers[] = {
	[TLS_OP_FEED] = op_feed,
	[TLS_OP_WRITE] = op_write,
	[TLS_OP_INFO] = op_info,
	[TLS_OP_CLOSE] = op_close,
};

static bool op_open(TlsServer *v, uint32_t id, Bytes data, TlsStep *ret_step)
{
	Slot *s = slot_of(v, 0);
	TlsOpen o;

	if (!id || slot_of(v, id) || !tls_open_get(data, &o))
		return false;
	*ret_step = refuse("too many TLS sessions are open");
	if (!s)
		return true;
	s->session = tls_session_new(v->core, &o, ret_step);
	if (s->session)
		s->id = id;
	else
		*ret_step = refuse("the TLS process has no memory");
	return true;
}

static bool dispatch(TlsServer *v, const Msg *m, TlsStep *ret_step)
{
	uint8_t op = m->tls_ask.op;
	Slot *s = m->tls_ask.session ? slot_of(v, m->tls_ask.session) : NULL;

	if (op == TLS_OP_OPEN)
		return op_open(v, m->tls_ask.session, m->tls_ask.data, ret_step);
	if (op >= sizeof handlers / sizeof *handlers || !handlers[op])
		return false;
	*ret_step = refuse("there is no such TLS session");
	return !s || handlers[op](v, s, m->tls_ask.data, ret_step);
}

bool tls_server_answer(TlsServer *v, Bytes request, Writer *w)
{
	Cursor c = cursor(request);
	TlsStep step;
	Msg m;

	if (msg_get(&c, 'E', &m) != MSG_OK || m.type != MSG_TLS_ASK || cur_left(&c) || !dispatch(v, &m, &step))
		return false;
	return msg_put(w, &(Msg){ .type = MSG_TLS_SAID,
				  .tls_said = { .id = m.tls_ask.id,
						.state = (uint8_t)step.state,
						.plain = step.plain,
						.out = step.out,
						.error = str_bytes(str_c(step.error)) } });
}

bool tls_serve(TlsServer *v, int fd)
{
	for (;;) {
		ssize_t n = read(fd, v->in, sizeof v->in);
		Writer w = writer(v->out, sizeof v->out);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		if (!tls_server_answer(v, BYTES(v->in, (size_t)n), &w))
			return false;
		if (write(fd, w.p, w.n) != (ssize_t)w.n)
			return false;
	}
}
