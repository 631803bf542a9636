/* SPDX-License-Identifier: Apache-2.0
 *
 * The port of a recorded run: what is told, what is held against the record, and
 * where it ends.
 */
#include "base/limits.h"
#include "port/replay.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Scene {
	uint8_t stream[4096];
	Writer w;
	Record record;
	ReplayPort rp;
	uint8_t *mem;
} Scene;

static const Msg ask = { .type = MSG_NOW, .now = { 1 } };
static const Msg tick = { .type = MSG_TICK, .tick = { 1, 500 } };
static const Msg send = { .type = MSG_EMIT,
			  .emit = { .tx_id = 1, .kind = EMIT_IP4, .data = { (const uint8_t *)"abcd", 4 } } };
static const Msg sent = { .type = MSG_SENT, .sent = { .tx_id = 1, .tx_ns = 900 } };
static const Msg end = { .type = MSG_END };

static void add(Scene *s, RecordKind kind, const Msg *m)
{
	uint8_t buf[256], head[RECORD_CHUNK_HEAD];
	Writer w = writer(buf, sizeof buf);

	assert_true(msg_put(&w, m));
	record_put_chunk(head, kind, w.n);
	wr_bytes(&s->w, BYTES(head, sizeof head));
	wr_bytes(&s->w, wr_done(&w));
}

static void open_port(Scene *s, bool whole)
{
	s->mem = malloc(REPLAY_PORT_MEMORY);
	s->record = (Record){ .stream = wr_done(&s->w), .whole = whole };
	replay_port_init(&s->rp, &s->record, s->mem);
}

/* The gate's messages may stand before what the engine had sent when it read them. */
static Scene *scene(bool with_end, bool whole)
{
	static Scene s;

	s = (Scene){ .w = writer(s.stream, sizeof s.stream) };
	add(&s, RECORD_ENGINE, &ask);
	add(&s, RECORD_GATE, &tick);
	add(&s, RECORD_GATE, &sent);
	add(&s, RECORD_ENGINE, &send);
	if (with_end)
		add(&s, RECORD_ENGINE, &end);
	open_port(&s, whole);
	return &s;
}

static void emit(Scene *s, const Msg *m)
{
	s->rp.port.emit(&s->rp.port, m);
}

static bool wait(Scene *s, MsgType want)
{
	Msg m = { 0 };

	return s->rp.port.wait(&s->rp.port, &m) && m.type == want;
}

static void done(Scene *s, const char *fault)
{
	const char *said = replay_port_end(&s->rp);

	if (!(fault[0] ? strstr(said, fault) != NULL : said[0] == 0))
		fail_msg("said: %s", said);
	free(s->mem);
}

static void the_same_run_fits(void **state)
{
	Scene *s = scene(true, true);

	(void)state;
	emit(s, &ask);
	assert_true(wait(s, MSG_TICK));
	emit(s, &send);
	assert_true(wait(s, MSG_SENT));
	emit(s, &end);
	done(s, "");
}

static void another_message_ends_it(void **state)
{
	Scene *s = scene(true, true);

	(void)state;
	emit(s, &send);
	assert_false(wait(s, MSG_TICK)); /* nothing is told any more */
	done(s, "message 1 of the engine is EMIT, in the record it is NOW");
}

static void another_byte_ends_it(void **state)
{
	Scene *s = scene(true, true);
	Msg other = send;

	(void)state;
	emit(s, &ask);
	other.emit.data = BYTES("abcD", 4);
	emit(s, &other);
	emit(s, &end); /* what follows does not hide the first difference */
	assert_false(wait(s, MSG_TICK));
	done(s, "message 2 of the engine, EMIT, has another data than in the record");
}

static void one_message_more_or_less(void **state)
{
	Scene *s = scene(true, true);

	(void)state;
	emit(s, &ask);
	emit(s, &send);
	done(s, "has ended after message 2");
	s = scene(true, true);
	emit(s, &ask);
	emit(s, &send);
	emit(s, &end);
	emit(s, &ask);
	done(s, "sends a message 4 (NOW)");
	s = scene(true, true);
	assert_true(wait(s, MSG_TICK) && wait(s, MSG_SENT));
	assert_false(wait(s, MSG_TICK));
	done(s, "waits for a message 3");
}

/* A gate that ended first reads no further, and tells no more. */
static void a_gate_that_left(void **state)
{
	Scene *s = scene(false, true);

	(void)state;
	emit(s, &ask);
	emit(s, &send);
	assert_true(wait(s, MSG_TICK) && wait(s, MSG_SENT));
	assert_false(wait(s, MSG_TICK));
	emit(s, &end);
	done(s, "");
}

static void a_cut_record(void **state)
{
	Scene *s = scene(false, false);

	(void)state;
	emit(s, &ask);
	emit(s, &send);
	emit(s, &end);
	assert_false(wait(s, MSG_TICK));
	done(s, "cut behind message 2 of the engine");
	s = scene(false, false);
	assert_true(wait(s, MSG_TICK) && wait(s, MSG_SENT));
	assert_false(wait(s, MSG_TICK));
	done(s, "cut behind message 2 to the engine");
}

static void what_is_no_message(void **state)
{
	static Scene s;
	uint8_t head[RECORD_CHUNK_HEAD];

	(void)state;
	s = (Scene){ .w = writer(s.stream, sizeof s.stream) };
	record_put_chunk(head, RECORD_GATE, 3);
	wr_bytes(&s.w, BYTES(head, sizeof head));
	wr_zeros(&s.w, 3);
	add(&s, RECORD_ENGINE, &tick); /* of the other direction */
	open_port(&s, true);
	assert_false(wait(&s, MSG_TICK));
	done(&s, "message 1 to the engine can't be read");
	open_port(&s, true);
	emit(&s, &ask);
	done(&s, "message 1 of the engine can't be read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_run_fits),	cmocka_unit_test(another_message_ends_it),
		cmocka_unit_test(another_byte_ends_it), cmocka_unit_test(one_message_more_or_less),
		cmocka_unit_test(a_gate_that_left),	cmocka_unit_test(a_cut_record),
		cmocka_unit_test(what_is_no_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
