/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's side of a channel: batching, order, ends, what is no message.
 */
#include "port/gate.h"
#include "sys/proc.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Ends {
	int fd[2];
	GatePort gp;
	void *mem;
} Ends;

static void open_ends(Ends *e)
{
	assert_int_equal(proc_channel(e->fd), 0);
	e->mem = malloc(GATE_PORT_MEMORY);
	gate_port_init(&e->gp, e->fd[0], e->mem);
}

static void close_ends(Ends *e)
{
	close(e->fd[0]);
	close(e->fd[1]);
	free(e->mem);
}

static void emit_now(Ends *e, uint32_t id)
{
	e->gp.port.emit(&e->gp.port, &(Msg){ .type = MSG_NOW, .now.id = id });
}

static void say(int fd, const Msg *m, unsigned n)
{
	uint8_t buf[4096];
	Writer w = writer(buf, sizeof buf);

	for (unsigned i = 0; i < n; i++)
		assert_true(msg_put(&w, &m[i]));
	assert_int_equal(write(fd, buf, w.n), w.n);
}

static void test_what_was_emitted_leaves_in_one_datagram_before_a_wait(void **state)
{
	static uint8_t buf[PORT_BATCH];
	Ends e;
	Msg m;
	(void)state;

	open_ends(&e);
	for (uint32_t i = 0; i < 100; i++)
		emit_now(&e, i);
	assert_false(proc_readable(e.fd[1], 0)); /* nothing before the engine waits */
	say(e.fd[1], (Msg[]){ { .type = MSG_TICK, .tick = { 7, 70 } }, { .type = MSG_TICK, .tick = { 8, 80 } } }, 2);
	assert_true(e.gp.port.wait(&e.gp.port, &m));
	assert_int_equal(m.tick.id, 7);
	Cursor c = cursor(BYTES(buf, (size_t)proc_recv(e.fd[1], buf, sizeof buf, NULL, 0, NULL)));
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(msg_get(&c, 'E', &m), MSG_OK);
		assert_int_equal(m.now.id, i);
	}
	assert_int_equal(msg_get(&c, 'E', &m), MSG_EMPTY);
	assert_true(e.gp.port.wait(&e.gp.port, &m)); /* the second of the same datagram */
	assert_int_equal(m.tick.id, 8);
	close_ends(&e);
}

static void test_a_full_batch_leaves_by_itself(void **state)
{
	uint8_t *data = calloc(1, 70000);
	Ends e;
	(void)state;

	open_ends(&e);
	for (int i = 0; i < 3; i++)
		e.gp.port.emit(&e.gp.port, &(Msg){ .type = MSG_EMIT, .emit.data = BYTES(data, 60000) });
	assert_true(proc_readable(e.fd[1], 0));
	assert_false(e.gp.gone);
	e.gp.port.emit(&e.gp.port, &(Msg){ .type = MSG_EMIT, .emit.data = BYTES(data, 70000) });
	assert_true(e.gp.gone); /* no message may be so long: its answer would never come */
	free(data);
	close_ends(&e);
}

static void test_the_end_and_nonsense_end_the_port(void **state)
{
	const uint8_t junk[] = { 0, 0, 0, 2, MSG_EMIT, 0 }; /* an engine's message, from the wrong side */
	Ends e;
	Msg m;
	(void)state;

	open_ends(&e);
	assert_int_equal(write(e.fd[1], junk, sizeof junk), sizeof junk);
	assert_false(e.gp.port.wait(&e.gp.port, &m));
	assert_false(e.gp.port.wait(&e.gp.port, &m)); /* and stays ended */
	close_ends(&e);
	open_ends(&e);
	say(e.fd[1], &(Msg){ .type = MSG_STOP }, 1);
	close(e.fd[1]);
	e.fd[1] = dup(e.fd[0]);
	assert_true(e.gp.port.wait(&e.gp.port, &m)); /* what was said before the end counts */
	assert_int_equal(m.type, MSG_STOP);
	assert_false(e.gp.port.wait(&e.gp.port, &m));
	close_ends(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_emitted_leaves_in_one_datagram_before_a_wait),
		cmocka_unit_test(test_a_full_batch_leaves_by_itself),
		cmocka_unit_test(test_the_end_and_nonsense_end_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
