/* SPDX-License-Identifier: Apache-2.0
 *
 * Records: what is written is what is read; cut, changed and made-up files.
 */
#include "base/limits.h"
#include "deal/record.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static uint8_t memory[1 << 20], file[1 << 16];

static const RecordPair params[] = { { { "n", 1 }, { "3", 1 } }, { { "to", 2 }, { "10.0.0.1", 8 } } };
static const RecordPair policies[] = { { { "/etc/p", 6 }, { "budget()\n", 9 } } };

static Arena arena(void)
{
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	return a;
}

static void put_msg(Writer *w, RecordKind kind, const Msg *m)
{
	uint8_t buf[256], head[RECORD_CHUNK_HEAD];
	Writer msg = writer(buf, sizeof buf);

	assert_true(msg_put(&msg, m));
	record_put_chunk(head, kind, msg.n);
	wr_bytes(w, BYTES(head, sizeof head));
	wr_bytes(w, wr_done(&msg));
}

static void put_side(Writer *w, uint32_t at, const char *text)
{
	uint8_t buf[256];
	Writer msg = writer(buf, sizeof buf);

	assert_true(msg_put(&msg, &(Msg){ .type = MSG_NOTE, .note = { 1, str_bytes(str_c(text)) } }));
	assert_true(record_put_side(w, &(RecordSide){ .at = at, .from = 'P', .msg = wr_done(&msg) }));
}

static void put_head(Writer *w)
{
	assert_true(record_put_head(w, &(RecordHead){ .build = STR("b1"),
						      .name = STR("x.sonde"),
						      .program = STR("print(1)\n"),
						      .seed = 7,
						      .max_output = 4096,
						      .param = params,
						      .nparam = 2,
						      .policy = policies,
						      .npolicy = 1 }));
}

/* A small whole record; the offsets of its chunks, and its end, in ret_at. */
static Bytes whole(size_t ret_at[8])
{
	Writer w = writer(file, sizeof file);

	put_head(&w);
	ret_at[0] = w.n;
	put_msg(&w, RECORD_ENGINE, &(Msg){ .type = MSG_NOW, .now = { 1 } });
	ret_at[1] = w.n;
	put_msg(&w, RECORD_GATE, &(Msg){ .type = MSG_TICK, .tick = { 1, 500 } });
	ret_at[2] = w.n;
	put_msg(&w, RECORD_ENGINE, &(Msg){ .type = MSG_END, .end = { 0 } });
	ret_at[3] = w.n;
	put_side(&w, 0, "first");
	ret_at[4] = w.n;
	put_side(&w, 3, "second");
	ret_at[5] = w.n;
	assert_true(record_put_tail(&w, &(RecordTail){ .exit = 4,
						       .done = true,
						       .why = STR("so"),
						       .said = 9,
						       .said_hash = { { 1, 2 } },
						       .file_hash = { { 3 } } }));
	ret_at[6] = w.n;
	return wr_done(&w);
}

static void what_is_written_is_read(void **state)
{
	size_t at[8];
	Bytes b = whole(at), raw;
	Arena a = arena();
	Record r;
	RecordSide side;
	Msg m;

	(void)state;
	assert_null(record_read(b, &a, &r));
	assert_true(str_is(r.head.build, "b1") && str_is(r.head.name, "x.sonde") &&
		    str_is(r.head.program, "print(1)\n"));
	assert_int_equal(r.head.seed, 7);
	assert_int_equal(r.head.max_output, 4096);
	assert_int_equal(r.head.nparam, 2);
	assert_true(str_is(r.head.param[1].name, "to") && str_is(r.head.param[1].text, "10.0.0.1"));
	assert_int_equal(r.head.npolicy, 1);
	assert_true(str_is(r.head.policy[0].text, "budget()\n"));
	assert_true(r.whole && r.tail.done);
	assert_int_equal(r.tail.exit, 4);
	assert_int_equal(r.tail.said, 9);
	assert_true(str_is(r.tail.why, "so"));
	assert_int_equal(r.tail.said_hash.b[1], 2);
	assert_int_equal(r.tail.file_hash.b[0], 3);
	assert_int_equal(r.hashed, at[5]);

	Cursor e = cursor(r.stream), g = cursor(r.stream), s = cursor(r.sides);

	assert_int_equal(record_next(&e, RECORD_ENGINE, &raw, &m), MSG_OK);
	assert_int_equal(m.type, MSG_NOW);
	assert_int_equal(record_next(&e, RECORD_ENGINE, &raw, &m), MSG_OK);
	assert_int_equal(m.type, MSG_END);
	assert_int_equal(record_next(&e, RECORD_ENGINE, &raw, &m), MSG_EMPTY);
	assert_int_equal(record_next(&g, RECORD_GATE, &raw, &m), MSG_OK);
	assert_int_equal(m.tick.now, 500);
	assert_int_equal(record_next(&g, RECORD_GATE, &raw, &m), MSG_EMPTY);
	assert_true(record_next_side(&s, &side, &m) && side.at == 0 &&
		    str_is(bytes_str(m.note.text), "first"));
	assert_true(record_next_side(&s, &side, &m) && side.at == 3);
	assert_false(record_next_side(&s, &side, &m));
}

/* A file may end anywhere: then it has no tail, and only whole chunks count. */
static void cut_anywhere(void **state)
{
	size_t at[8];
	Bytes b = whole(at);

	(void)state;
	for (size_t n = 0; n < b.n; n++) {
		/* memory of its own, so that a sanitizer sees who reads behind it */
		uint8_t *copy = malloc(n + !n);
		Arena a = arena();
		Record r;

		memcpy(copy, b.p, n);
		const char *fault = record_read(BYTES(copy, n), &a, &r);

		assert_int_equal(!fault, n >= at[0]);
		if (!fault) {
			size_t stream = n >= at[3] ? at[3] : n >= at[2] ? at[2] : n >= at[1] ? at[1] : at[0];

			assert_false(r.whole);
			assert_int_equal(r.stream.n, stream - at[0]);
		}
		free(copy);
	}
}

/* No byte of head, order or tail can be changed into something that reads past the file. */
static void changed_anywhere(void **state)
{
	size_t at[8];
	Bytes b = whole(at);
	uint8_t *copy = malloc(b.n);

	(void)state;
	for (size_t i = 0; i < b.n; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			Arena a = arena();
			Record r;
			Msg m;
			Bytes raw;

			memcpy(copy, b.p, b.n);
			copy[i] ^= (uint8_t)(1u << bit);
			if (record_read(BYTES(copy, b.n), &a, &r))
				continue;
			Cursor e = cursor(r.stream), g = cursor(r.stream);

			while (record_next(&e, RECORD_ENGINE, &raw, &m) == MSG_OK)
				;
			while (record_next(&g, RECORD_GATE, &raw, &m) == MSG_OK)
				;
			assert_true(r.stream.n + r.sides.n <= b.n);
		}
	free(copy);
}

static const char *fault_of(void (*more)(Writer *w))
{
	Writer w = writer(file, sizeof file);
	Arena a = arena();
	Record r;

	put_head(&w);
	more(&w);
	return record_read(wr_done(&w), &a, &r);
}

static void now(Writer *w)
{
	put_msg(w, RECORD_ENGINE, &(Msg){ .type = MSG_NOW });
}

static void a_side(Writer *w)
{
	put_side(w, 0, "x");
}

static void a_tail(Writer *w)
{
	record_put_tail(w, &(RecordTail){ 0 });
}

static void head_twice(Writer *w)
{
	uint8_t head[RECORD_CHUNK_HEAD];

	record_put_chunk(head, RECORD_HEAD, 0);
	wr_bytes(w, BYTES(head, sizeof head));
}

static void stream_behind_sides(Writer *w)
{
	a_side(w);
	now(w);
}

static void something_behind_the_tail(Writer *w)
{
	a_tail(w);
	wr_u8(w, 0);
}

static void another_tail(Writer *w)
{
	a_tail(w);
	a_tail(w);
}

static void unknown_kind(Writer *w)
{
	uint8_t head[RECORD_CHUNK_HEAD];

	record_put_chunk(head, (RecordKind)'X', 0);
	wr_bytes(w, BYTES(head, sizeof head));
}

static void side_of_the_engine_gate_stream(Writer *w)
{
	uint8_t buf[64];
	Writer msg = writer(buf, sizeof buf);

	msg_put(&msg, &(Msg){ .type = MSG_NOW });
	record_put_side(w, &(RecordSide){ .from = 'E', .msg = wr_done(&msg) });
}

static void order_is_strict(void **state)
{
	(void)state;
	assert_null(fault_of(now));
	assert_null(fault_of(a_side));
	assert_null(fault_of(a_tail));
	assert_non_null(fault_of(head_twice));
	assert_non_null(fault_of(stream_behind_sides));
	assert_non_null(fault_of(something_behind_the_tail));
	assert_non_null(fault_of(another_tail));
	assert_non_null(fault_of(unknown_kind));
	assert_non_null(fault_of(side_of_the_engine_gate_stream));
}

static void heads_are_bounded(void **state)
{
	static char text[LIMIT_SOURCE + 1];
	static uint8_t big[2 * LIMIT_SOURCE];
	static const RecordPair many[RECORD_PARAMS + 1];
	Writer w = writer(big, sizeof big);
	Arena a = arena();
	Record r;

	(void)state;
	assert_true(record_put_head(&w, &(RecordHead){ .program = { text, LIMIT_SOURCE } }));
	assert_null(record_read(wr_done(&w), &a, &r));
	w.n = 0;
	assert_true(record_put_head(&w, &(RecordHead){ .program = { text, LIMIT_SOURCE + 1 } }));
	assert_non_null(record_read(wr_done(&w), &a, &r));
	w.n = 0;
	assert_true(record_put_head(&w, &(RecordHead){ .param = many, .nparam = RECORD_PARAMS + 1 }));
	assert_non_null(record_read(wr_done(&w), &a, &r));
	w = writer(big, 20);
	assert_false(record_put_head(&w, &(RecordHead){ .program = { text, 20 } }));
}

static void other_versions_are_told(void **state)
{
	size_t at[8];
	Bytes b = whole(at);
	Arena a = arena();
	Record r;

	(void)state;
	file[11]++;
	assert_non_null(strstr(record_read(b, &a, &r), "another version"));
	file[0]++;
	assert_non_null(strstr(record_read(b, &a, &r), "no record"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(changed_anywhere),	   cmocka_unit_test(order_is_strict),
		cmocka_unit_test(heads_are_bounded),	   cmocka_unit_test(other_versions_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
