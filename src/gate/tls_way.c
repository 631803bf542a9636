/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include "deal/tls.h"
#include "sys/proc.h"

#include <errno.h>
#include <sys/socket.h>

/* The engine is told once a request; after the end every further one gets the same. */
static void ended(Gate *g, uint32_t id)
{
	Msg m = { .type = MSG_TLS_SAID,
		  .tls_said = { .id = id,
				.state = TLS_STATE_FAILED,
				.error = str_bytes(STR("the TLS process has ended")) } };

	g->tls.waiting = false;
	outbox_put(&g->outbox, &m);
}

static void way_close(Gate *g)
{
	proc_close(&g->tls.fd); /* epoll forgets it: nobody else has it open */
	if (g->tls.waiting)
		ended(g, g->tls.id);
}

void tls_way_ask(Gate *g, const Msg *m)
{
	Writer w = writer(g->tls.buf, TLS_WAY_MEMORY);

	if (!g->tls.wanted || g->tls.waiting) { /* not declared; or not waited for its answer */
		g->engine_bad = true;
		return;
	}
	g->tls.waiting = true;
	g->tls.id = m->tls_ask.id;
	if (g->tls.fd < 0)
		ended(g, g->tls.id);
	/* the channel is empty, since the last request was answered: this never blocks */
	else if (!msg_put(&w, m) || send(g->tls.fd, w.p, w.n, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)w.n)
		way_close(g);
}

void tls_way_take(Gate *g)
{
	ssize_t n = g->tls.fd < 0 ? -1 : recv(g->tls.fd, g->tls.buf, TLS_WAY_MEMORY, MSG_DONTWAIT | MSG_TRUNC);
	Cursor c = cursor(BYTES(g->tls.buf, n > 0 && n <= (ssize_t)TLS_WAY_MEMORY ? (size_t)n : 0));
	Msg m;

	if (g->tls.fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	/* anything but the one answer that is due ends it */
	if (msg_get(&c, 'G', &m) != MSG_OK || cur_left(&c) || m.type != MSG_TLS_SAID || !g->tls.waiting ||
	    m.tls_said.id != g->tls.id) {
		way_close(g);
		return;
	}
	g->tls.waiting = false;
	outbox_put(&g->outbox, &m);
}
