/* SPDX-License-Identifier: Apache-2.0
 *
 * A file in the place of a record: read, and run against by an engine that says what
 * the record says, and then something else.
 */
#include "base/limits.h"
#include "port/replay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[1 << 20];

/* An engine that knows the record fits to its end. */
static void follow(const Record *r, void *mem)
{
	Cursor said = cursor(r->stream);
	ReplayPort rp;
	bool bad = false;
	Bytes raw;
	Msg m;

	replay_port_init(&rp, r, mem);
	for (MsgRead got; (got = record_next(&said, RECORD_ENGINE, &raw, &m)) != MSG_EMPTY;) {
		bad |= got == MSG_BAD || raw.n > LIMIT_MSG; /* such a one is never written */
		if (got == MSG_OK)
			rp.port.emit(&rp.port, &m);
	}
	if (!bad && r->whole && replay_port_end(&rp)[0])
		abort();
	while (rp.port.wait(&rp.port, &m))
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	Record r;
	RecordSide side;
	Msg m;

	arena_init(&a, memory, sizeof memory, NULL);
	if (record_read(BYTES(data, size), &a, &r))
		return 0;
	void *mem = malloc(REPLAY_PORT_MEMORY);

	for (Cursor c = cursor(r.sides); record_next_side(&c, &side, &m);)
		if (msg_direction(m.type) != side.from)
			abort();
	follow(&r, mem);
	free(mem);
	return 0;
}
