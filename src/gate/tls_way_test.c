/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include "deal/tls.h"
#include "sys/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static Gate g;
static uint8_t buf[TLS_WAY_MEMORY], datagram[TLS_WAY_MEMORY];
static int process; /* the TLS process's end */

static void lab(bool wanted)
{
	static uint8_t *out;
	int fd[2] = { -1, -1 };

	if (!out)
		out = malloc(OUTBOX_MEMORY);
	if (wanted)
		assert_int_equal(proc_channel(fd), 0);
	process = fd[1];
	g = (Gate){ 0 };
	outbox_init(&g.outbox, -1, out);
	tls_way_init(&g.tls, fd[0], buf);
}

static void lab_end(void)
{
	proc_close(&g.tls.fd);
	proc_close(&process);
}

static void ask(uint32_t id)
{
	Msg m = { .type = MSG_TLS_ASK, .tls_ask = { .id = id, .session = 1, .op = TLS_OP_FEED, .data = BYTES("abc", 3) } };

	tls_way_ask(&g, &m);
}

static void say(const Msg *m)
{
	Writer w = writer(datagram, sizeof datagram);

	assert_true(msg_put(&w, m));
	assert_int_equal(proc_send(process, wr_done(&w), NULL, 0), 0);
	tls_way_take(&g);
}

static Msg said(uint32_t id, TlsState state)
{
	return (Msg){ .type = MSG_TLS_SAID,
		      .tls_said = { .id = id, .state = (uint8_t)state, .plain = BYTES("text", 4) } };
}

/* What the engine was told; nothing more. */
static Msg told(void)
{
	Cursor c = cursor(BYTES(g.outbox.mem, g.outbox.tail));
	Msg m = { 0 };

	if (g.outbox.tail) {
		assert_int_equal(msg_get(&c, 'G', &m), MSG_OK);
		assert_int_equal(cur_left(&c), 0);
	}
	g.outbox.head = g.outbox.tail = 0;
	return m;
}

static void request_and_answer_pass(void **state)
{
	Msg m;

	(void)state;
	lab(true);
	for (uint32_t id = 5; id < 8; id++) {
		ask(id);
		ssize_t n = proc_recv(process, datagram, sizeof datagram, NULL, 0, NULL);
		Cursor c = cursor(BYTES(datagram, (size_t)n));
		assert_int_equal(msg_get(&c, 'E', &m), MSG_OK);
		assert_true(m.type == MSG_TLS_ASK && m.tls_ask.id == id && m.tls_ask.data.n == 3);
		assert_int_equal(told().type, MSG_NONE);
		m = said(id, TLS_STATE_OPEN);
		say(&m);
		m = told();
		assert_true(m.type == MSG_TLS_SAID && m.tls_said.id == id && m.tls_said.plain.n == 4);
	}
	assert_false(g.engine_bad);
	lab_end();
}

/* Neither is anything that our engine does. */
static void an_engine_that_breaks_the_rule_is_bad(void **state)
{
	(void)state;
	lab(false);
	ask(1); /* its manifest has no TLS */
	assert_true(g.engine_bad);
	lab(true);
	ask(1);
	assert_false(g.engine_bad);
	ask(2); /* before the answer */
	assert_true(g.engine_bad);
	lab_end();
}

static void assert_ended(uint32_t id)
{
	Msg m = told();

	assert_true(m.type == MSG_TLS_SAID && m.tls_said.id == id && m.tls_said.state == TLS_STATE_FAILED);
	assert_int_equal(g.tls.fd, -1);
	ask(id + 1); /* and so does every further request */
	m = told();
	assert_true(m.tls_said.id == id + 1 && m.tls_said.state == TLS_STATE_FAILED);
	assert_false(g.engine_bad);
	lab_end();
}

static void a_process_that_dies_is_told_as_failure(void **state)
{
	(void)state;
	lab(true);
	ask(3);
	proc_close(&process);
	tls_way_take(&g);
	assert_ended(3);
}

static void a_process_that_lies_is_heard_no_more(void **state)
{
	Msg lies[] = { said(4, TLS_STATE_OPEN), /* to another question */
		       { .type = MSG_GO },	/* a message of the gate's own */
		       { .type = MSG_TICK, .tick = { .id = 3 } },
		       { .type = MSG_TLS_ASK, .tls_ask = { .id = 3 } } };

	(void)state;
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		lab(true);
		ask(3);
		say(&lies[i]);
		assert_ended(3);
	}
	lab(true);
	ask(3);
	assert_int_equal(proc_send(process, BYTES("no message at all", 17), NULL, 0), 0);
	tls_way_take(&g);
	assert_ended(3);
}

/* Nobody asked: the engine hears nothing of it. */
static void words_out_of_turn_end_it(void **state)
{
	Msg m = said(3, TLS_STATE_OPEN);

	(void)state;
	lab(true);
	say(&m);
	assert_int_equal(told().type, MSG_NONE);
	assert_int_equal(g.tls.fd, -1);
	lab_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_and_answer_pass),
		cmocka_unit_test(an_engine_that_breaks_the_rule_is_bad),
		cmocka_unit_test(a_process_that_dies_is_told_as_failure),
		cmocka_unit_test(a_process_that_lies_is_heard_no_more),
		cmocka_unit_test(words_out_of_turn_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
