/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/outbox.h"

#include "base/limits.h"

#include <errno.h>
#include <sys/socket.h>

enum { OUTBOX_DATAGRAM = 160 * 1024 }; /* port/gate.h: PORT_BATCH */

void outbox_init(Outbox *o, int fd, void *mem)
{
	*o = (Outbox){ .fd = fd, .mem = mem };
}

static void outbox_compact(Outbox *o)
{
	memmove(o->mem, o->mem + o->head, o->tail - o->head);
	o->tail -= o->head;
	o->head = 0;
}

void outbox_put(Outbox *o, const Msg *m)
{
	Writer w;

	if (o->gone)
		return;
	if (m->type == MSG_FRAME && o->tail - o->head > LIMIT_BACKLOG) {
		o->dropped++;
		return;
	}
	if (OUTBOX_MEMORY - o->tail < LIMIT_MSG + 4)
		outbox_compact(o);
	w = writer(o->mem + o->tail, OUTBOX_MEMORY - o->tail);
	if (!msg_put(&w, m)) {
		o->dropped++;
		return;
	}
	o->tail += w.n;
	if (o->record)
		recorder_put(o->record, RECORD_GATE, wr_done(&w));
}

/* As many whole messages as one datagram holds. */
static size_t outbox_batch(const Outbox *o)
{
	size_t n = 0;

	while (o->head + n < o->tail) {
		size_t one = 4 + (size_t)get_be32(o->mem + o->head + n);

		if (n + one > OUTBOX_DATAGRAM)
			break;
		n += one;
	}
	return n;
}

void outbox_flush(Outbox *o)
{
	while (o->head < o->tail && !o->gone) {
		size_t n = outbox_batch(o);
		ssize_t r = send(o->fd, o->mem + o->head, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && (errno == EAGAIN || errno == ENOBUFS))
			return;
		if (r < 0)
			o->gone = true;
		o->head += n;
	}
	o->head = o->tail = 0;
}
