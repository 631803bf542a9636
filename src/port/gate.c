/* SPDX-License-Identifier: Apache-2.0 */
#include "port/gate.h"

#include "base/limits.h"

#include <errno.h>
#include <unistd.h>

_Static_assert(PORT_BATCH >= LIMIT_MSG + 4, "the largest message fits into an empty batch");

void gate_port_flush(GatePort *gp)
{
	ssize_t n;

	if (gp->out.n == 0 || gp->gone)
		return;
	do {
		n = write(gp->fd, gp->out.p, gp->out.n);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)gp->out.n)
		gp->gone = true;
	gp->out.n = 0;
}

static void gate_port_emit(Port *p, const Msg *m)
{
	GatePort *gp = (GatePort *)p;

	if (msg_put(&gp->out, m))
		return;
	gate_port_flush(gp);
	if (!msg_put(&gp->out, m)) /* larger than any message may be; an answer would never come */
		gp->gone = true;
}

/* One more datagram; false at the end. */
static bool gate_port_fill(GatePort *gp)
{
	ssize_t n;

	gate_port_flush(gp);
	if (gp->gone)
		return false;
	do {
		n = read(gp->fd, gp->in, PORT_BATCH);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		gp->gone = true;
		return false;
	}
	gp->msgs = cursor(BYTES(gp->in, (size_t)n));
	return true;
}

static bool gate_port_wait(Port *p, Msg *ret_m)
{
	GatePort *gp = (GatePort *)p;

	for (;;) {
		MsgRead r = msg_get(&gp->msgs, 'G', ret_m);

		if (r == MSG_OK)
			return true;
		if (r == MSG_BAD)
			gp->gone = true;
		if (gp->gone || !gate_port_fill(gp))
			return false;
	}
}

void gate_port_init(GatePort *gp, int fd, void *mem)
{
	uint8_t *bytes = mem;

	*gp = (GatePort){
		.port = { .emit = gate_port_emit, .wait = gate_port_wait },
		.fd = fd,
		.out = writer(bytes, PORT_BATCH),
		.in = bytes + PORT_BATCH,
	};
}
