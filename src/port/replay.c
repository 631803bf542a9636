/* SPDX-License-Identifier: Apache-2.0 */
#include "port/replay.h"

#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void fault(ReplayPort *rp, const char *fmt, ...)
{
	va_list ap;

	if (rp->fault[0])
		return;
	va_start(ap, fmt);
	vsnprintf(rp->fault, sizeof rp->fault, fmt, ap);
	va_end(ap);
}

/* The recorded message that m is held against, and where they part. */
static void differs(ReplayPort *rp, const Msg *m, const Msg *recorded)
{
	const char *field = msg_difference(m, recorded);

	if (m->type != recorded->type)
		fault(rp, "message %u of the engine is %s, in the record it is %s", rp->nsaid,
		      msg_name(m->type), msg_name(recorded->type));
	else
		fault(rp, "message %u of the engine, %s, has another %s than in the record", rp->nsaid,
		      msg_name(m->type), field ? field : "form");
}

static void replay_emit(Port *p, const Msg *m)
{
	ReplayPort *rp = (ReplayPort *)p;
	Writer w = writer(rp->mem, REPLAY_PORT_MEMORY);
	Msg recorded;
	Bytes raw;
	MsgRead got;

	if (rp->fault[0])
		return;
	rp->nsaid++;
	got = record_next(&rp->said, RECORD_ENGINE, &raw, &recorded);
	if (got == MSG_OK && (!msg_put(&w, m) || !bytes_eq(wr_done(&w), raw)))
		differs(rp, m, &recorded);
	else if (got == MSG_BAD)
		fault(rp, "message %u of the engine can't be read in the record", rp->nsaid);
	else if (got == MSG_EMPTY && !rp->whole)
		fault(rp, "the record is cut behind message %u of the engine", rp->nsaid - 1);
	else if (got == MSG_EMPTY && !rp->left) /* what a gate that has left no longer reads is no fault */
		fault(rp, "the engine sends a message %u (%s), in the record it has none", rp->nsaid,
		      msg_name(m->type));
}

static bool replay_wait(Port *p, Msg *ret_m)
{
	ReplayPort *rp = (ReplayPort *)p;
	Bytes raw;
	MsgRead got;

	if (rp->fault[0])
		return false;
	got = record_next(&rp->told, RECORD_GATE, &raw, ret_m);
	if (got == MSG_OK) {
		rp->ntold++;
		return true;
	}
	if (got == MSG_BAD)
		fault(rp, "message %u to the engine can't be read in the record", rp->ntold + 1);
	else if (!rp->whole)
		fault(rp, "the record is cut behind message %u to the engine", rp->ntold);
	else if (!rp->left)
		fault(rp, "the engine waits for a message %u, in the record it gets none", rp->ntold + 1);
	return false;
}

/* Whether the gate was gone before the engine said its last word. */
static bool gate_left(Bytes stream)
{
	Cursor c = cursor(stream);
	Msg m = { 0 };
	Bytes raw;

	while (record_next(&c, RECORD_ENGINE, &raw, &m) == MSG_OK)
		;
	return m.type != MSG_END;
}

void replay_port_init(ReplayPort *rp, const Record *r, void *mem)
{
	*rp = (ReplayPort){ .port = { .emit = replay_emit, .wait = replay_wait },
			    .said = cursor(r->stream),
			    .told = cursor(r->stream),
			    .whole = r->whole,
			    .left = r->whole && gate_left(r->stream),
			    .mem = mem };
}

const char *replay_port_end(ReplayPort *rp)
{
	Bytes raw;
	Msg m;

	if (!rp->fault[0] && record_next(&rp->said, RECORD_ENGINE, &raw, &m) != MSG_EMPTY)
		fault(rp, "the engine has ended after message %u, in the record it goes on", rp->nsaid);
	return rp->fault;
}
