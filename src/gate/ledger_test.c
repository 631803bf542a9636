/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger's file: two processes at once, a full table, damage, ports, the log.
 */
#include "gate/ledger.h"
#include "gate/audit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[96], log_path[96];

static int make(void **state)
{
	int fd, log;

	(void)state;
	snprintf(folder, sizeof folder, "/tmp/ledger-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/ledger", folder);
	snprintf(log_path, sizeof log_path, "%s/log", folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	log = open(log_path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_null(ledger_format(fd));
	close(fd);
	close(log);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	unlink(path);
	unlink(log_path);
	return rmdir(folder);
}

static const char *try_opening(Ledger *l, const char *session)
{
	return ledger_open(l, open(path, O_RDWR), open(log_path, O_RDWR | O_APPEND), session);
}

static Ledger opened(const char *session)
{
	Ledger l;

	assert_null(try_opening(&l, session));
	return l;
}

static void closed(Ledger *l)
{
	close(l->fd);
	close(l->log_fd);
}

static const LedgerCount free_of_bounds = { .v = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
						    UINT64_MAX } };

static uint64_t take(Ledger *l, uint64_t want, uint64_t hour)
{
	LedgerCount w = { .v = { [LEDGER_PACKETS] = want } }, limit = free_of_bounds, got;

	limit.v[LEDGER_PACKETS] = hour;
	assert_null(ledger_take(l, &w, &limit, &got));
	return got.v[LEDGER_PACKETS];
}

typedef struct Seen {
	char kind;
	const char *name;
	LedgerCount hour;
	unsigned n;
} Seen;

static void see(void *ctx, char kind, const LedgerRow *r, int64_t now)
{
	Seen *s = ctx;

	if (kind != s->kind || (s->name && strcmp(s->name, r->name) != 0))
		return;
	s->n++;
	s->hour = ledger_row_sum(r, LEDGER_HOUR, now);
}

static Seen seen(Ledger *l, char kind, const char *name)
{
	Seen s = { .kind = kind, .name = name };

	assert_null(ledger_each(l, see, &s));
	return s;
}

static void a_session_gets_what_is_left(void **state)
{
	Ledger a = opened("uid 1000"), b = opened("uid 1000"), c = opened("uid 1001");

	(void)state;
	assert_int_equal(take(&a, 60, 100), 60);
	assert_int_equal(take(&b, 60, 100), 40);
	assert_int_equal(take(&a, 1, 100), 0);
	assert_int_equal(take(&c, 60, 100), 60);
	assert_int_equal(seen(&a, 't', NULL).hour.v[LEDGER_PACKETS], 160);
	assert_int_equal(seen(&a, 's', "uid 1001").hour.v[LEDGER_PACKETS], 60);
	assert_int_equal(seen(&a, 's', NULL).n, 2);
	/* what was not used comes back, what was used beyond is added */
	LedgerBill bill = { .back = { .v = { 25 } }, .more = { .v = { [LEDGER_RUNS] = 1 } }, .taken_at = a.now };
	assert_null(ledger_settle(&a, &bill));
	assert_int_equal(take(&b, 60, 100), 25);
	assert_int_equal(seen(&a, 's', "uid 1000").hour.v[LEDGER_RUNS], 1);
	closed(&a);
	closed(&b);
	closed(&c);
}

/* Four processes, each taking one at a time until nothing is left: together they get
 * the bound, and none waits for ever. */
static void processes_share_one_bound(void **state)
{
	enum { KIDS = 4, BOUND = 2000 };
	int pipes[2], got[KIDS], sum = 0;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < KIDS; i++) {
		if (fork())
			continue;
		Ledger l;
		int n = 0;

		if (try_opening(&l, "uid 7"))
			_exit(1);
		for (;;) {
			LedgerCount w = { .v = { 3 } }, limit = free_of_bounds, out;

			limit.v[0] = BOUND;
			if (ledger_take(&l, &w, &limit, &out) || !out.v[0])
				break;
			n += (int)out.v[0];
		}
		_exit(write(pipes[1], &n, sizeof n) != sizeof n);
	}
	for (int i = 0; i < KIDS; i++) {
		int status = 1;

		assert_int_equal(read(pipes[0], &got[i], sizeof got[i]), sizeof got[i]);
		wait(&status);
		assert_int_equal(status, 0);
		sum += got[i];
	}
	assert_int_equal(sum, BOUND);
	close(pipes[0]);
	close(pipes[1]);
}

static void who_dies_has_paid(void **state)
{
	int status;
	pid_t kid = fork();

	(void)state;
	if (kid == 0) {
		Ledger l;

		if (try_opening(&l, "uid 7"))
			_exit(1);
		take(&l, 30, 100);
		abort();
	}
	waitpid(kid, &status, 0);
	assert_true(WIFSIGNALED(status));
	Ledger l = opened("uid 7");
	assert_int_equal(take(&l, 100, 100), 70);
	closed(&l);
}

static void a_lock_that_is_kept_is_told(void **state)
{
	Ledger l = opened("uid 7");
	int fd = open(path, O_RDWR);
	LedgerCount got, want = { .v = { 1 } };

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	const char *why = ledger_take(&l, &want, &free_of_bounds, &got);
	assert_non_null(why);
	assert_non_null(strstr(why, "locked"));
	close(fd);
	assert_null(ledger_take(&l, &want, &free_of_bounds, &got));
	closed(&l);
}

static void a_full_table_is_told(void **state)
{
	char name[32];
	const char *why = NULL;
	LedgerCount got, want = { .v = { 1 } };

	(void)state;
	for (unsigned i = 0; i <= LIMIT_LEDGER_SESSIONS; i++) {
		snprintf(name, sizeof name, "uid %u", i);
		Ledger l = opened(name);

		why = ledger_take(&l, &want, &free_of_bounds, &got);
		if (i < LIMIT_LEDGER_SESSIONS)
			assert_null(why);
		closed(&l);
	}
	assert_non_null(why);
	assert_non_null(strstr(why, "no room for one more session"));
	Ledger old = opened("uid 3"); /* who has a row goes on */
	assert_int_equal(take(&old, 1, 10), 1);
	closed(&old);
}

static Ip number(uint32_t i)
{
	return ip4(0x0a090000 + i);
}

static void destinations_give_way_to_newer_ones(void **state)
{
	enum { N = LIMIT_LEDGER_PEERS + 10 };
	static LedgerPeer peer[N];
	Ledger l = opened("uid 7");

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		peer[i] = (LedgerPeer){ number(i), { .v = { 2, 200 } } };
	assert_null(ledger_settle(&l, &(LedgerBill){ .peer = peer, .npeers = 3 }));
	assert_null(ledger_settle(&l, &(LedgerBill){ .peer = peer, .npeers = 1 }));
	assert_int_equal(seen(&l, 'd', "10.9.0.0").hour.v[LEDGER_PACKETS], 4);
	assert_int_equal(seen(&l, 'd', "10.9.0.2").hour.v[LEDGER_BYTES], 200);
	assert_null(ledger_settle(&l, &(LedgerBill){ .peer = peer, .npeers = N }));
	assert_int_equal(seen(&l, 'd', NULL).n, LIMIT_LEDGER_PEERS);
	closed(&l);
}

/* No byte that counts can change unseen: heads, entries of the index, rows. */
static void damage_is_told(void **state)
{
	Ledger l = opened("uid 7");
	struct stat st;
	unsigned told = 0, counts = 0;

	(void)state;
	take(&l, 5, 100);
	assert_null(ledger_settle(&l, &(LedgerBill){ .peer = &(LedgerPeer){ number(1), { .v = { 1 } } }, .npeers = 1 }));
	fstat(l.fd, &st);
	uint8_t *was = malloc((size_t)st.st_size);
	assert_int_equal(pread(l.fd, was, (size_t)st.st_size, 0), st.st_size);
	for (off_t at = 0; at < st.st_size - 2 * 65536 * 8; at++) {
		Ledger again;
		uint8_t b = was[at] ^ 0x10;

		if (was[at] == 0)
			continue;
		counts++;
		assert_int_equal(pwrite(l.fd, &b, 1, at), 1);
		const char *why = try_opening(&again, "uid 7");
		LedgerCount got, want = { .v = { 1 } };

		if (!why)
			why = ledger_take(&again, &want, &free_of_bounds, &got);
		if (!why)
			why = ledger_settle(&again, &(LedgerBill){ .peer = &(LedgerPeer){ number(2), { .v = { 1 } } }, .npeers = 1 });
		Seen s = { .kind = 's' };
		if (!why)
			why = ledger_each(&again, see, &s);
		told += why && strstr(why, "damaged");
		assert_int_equal(pwrite(l.fd, was + at, 1, at), 1);
		closed(&again);
		if (!why)
			fail_msg("byte %ld changed unseen", (long)at);
	}
	free(was);
	assert_true(counts > 100);
	assert_int_equal(told, counts);
	assert_int_equal(ftruncate(l.fd, st.st_size - 1), 0);
	Ledger again;
	assert_non_null(try_opening(&again, "uid 7"));
	closed(&again);
	closed(&l);
}

static void ports_stay_with_their_session(void **state)
{
	Ledger a = opened("uid 7"), b = opened("uid 8");
	LedgerPort port[] = { { IPPROTO_TCP, 61005 }, { IPPROTO_UDP, 5000 } };
	uint8_t bits[2] = { 0 };
	int64_t s;

	(void)state;
	assert_null(ledger_settle(&a, &(LedgerBill){ .port = port, .nports = 2, .hold_s = 60 }));
	assert_null(ledger_port_wait(&b, port[0], &s));
	assert_in_range(s, 58, 60);
	assert_null(ledger_port_wait(&a, port[0], &s));
	assert_int_equal(s, 0);
	assert_null(ledger_port_wait(&b, (LedgerPort){ IPPROTO_UDP, 61005 }, &s));
	assert_int_equal(s, 0);
	assert_null(ledger_ports_held(&b, IPPROTO_TCP, 61000, 61015, bits));
	assert_int_equal(bits[0], 1 << 5);
	assert_int_equal(bits[1], 0);
	assert_null(ledger_settle(&a, &(LedgerBill){ .port = port, .nports = 2, .hold_s = 0 }));
	assert_null(ledger_port_wait(&b, port[0], &s));
	assert_int_equal(s, 0);
	closed(&a);
	closed(&b);
}

/* ---- the log ---- */

static void no_fields(LogLine *line, void *ctx)
{
	log_num(line, "packets", *(uint64_t *)ctx);
}

static const char *log_one(Ledger *l, uint64_t n)
{
	return ledger_log(l, "start", no_fields, &n);
}

static Audit audit_log(void)
{
	int fd = open(log_path, O_RDONLY);
	Audit a = audit_verify(fd);

	close(fd);
	return a;
}

static void what_a_full_disk_left_of_a_line_is_taken_back(void **state)
{
	Ledger l = opened("uid 7");

	(void)state;
	assert_null(log_one(&l, 1));
	assert_int_equal(write(l.log_fd, "{\"seq\":2,\"prev\":", 16), 16);
	assert_non_null(log_one(&l, 2));
	closed(&l);
	l = opened("uid 7");
	assert_null(log_one(&l, 3));
	assert_true(audit_log().intact);
	assert_int_equal(audit_log().items, 2);
	/* a whole line of somebody's is not taken back, but told */
	assert_int_equal(write(l.log_fd, "{}\n{\"seq\":", 10), 10);
	closed(&l);
	l = opened("uid 7");
	assert_non_null(strstr(log_one(&l, 4), "no line of it"));
	assert_false(audit_log().intact);
	closed(&l);
}

static void the_log_can_not_be_cut_unseen(void **state)
{
	Ledger l = opened("uid 7");
	struct stat st;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_null(log_one(&l, i));
	Audit a = audit_log();
	assert_true(a.intact && a.kind == AUDIT_LOG);
	assert_int_equal(a.items, 10);
	fstat(l.log_fd, &st);
	/* a line that was appended by somebody who died before he told the ledger is taken on */
	static uint8_t head[4096];
	assert_int_equal(pread(l.fd, head, sizeof head, 0), sizeof head);
	assert_null(log_one(&l, 10));
	assert_int_equal(pwrite(l.fd, head, sizeof head, 0), sizeof head);
	assert_null(log_one(&l, 11));
	assert_int_equal(audit_log().items, 12);
	assert_true(audit_log().intact);
	/* whole lines off the end: the chain holds, the ledger knows better */
	assert_int_equal(ftruncate(l.log_fd, st.st_size), 0);
	assert_true(audit_log().intact);
	const char *why = log_one(&l, 12);
	assert_non_null(why);
	assert_non_null(strstr(why, "shorter"));
	/* something that is no line of it */
	fstat(l.log_fd, &st);
	assert_null(ledger_new_log(&l, l.log_fd));
	assert_int_equal(ftruncate(l.log_fd, 0), 0);
	assert_null(log_one(&l, 13)); /* goes on from the old one's hash */
	assert_true(audit_log().intact);
	assert_int_equal(write(l.log_fd, "{}\n", 3), 3);
	why = log_one(&l, 14);
	assert_non_null(why);
	assert_non_null(strstr(why, "no line of it"));
	assert_false(audit_log().intact);
	closed(&l);
}

/* A disk that is full, or a bound on the file: told, and the ledger stays whole. */
static void a_log_that_takes_no_more_is_told(void **state)
{
	int status;
	pid_t kid = fork();

	(void)state;
	if (kid == 0) {
		Ledger l;

		if (try_opening(&l, "uid 7") || log_one(&l, 1))
			_exit(1);
		if (ftruncate(l.log_fd, 0) || ledger_new_log(&l, l.log_fd))
			_exit(2);
		int full = open("/dev/full", O_RDWR), log = l.log_fd;
		l.log_fd = full;
		const char *why = log_one(&l, 2);

		l.log_fd = log;
		_exit(!why || !strstr(why, "can't be written") ? 3 : log_one(&l, 3) ? 4 : 0);
	}
	waitpid(kid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(audit_log().intact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_session_gets_what_is_left, make, drop),
		cmocka_unit_test_setup_teardown(processes_share_one_bound, make, drop),
		cmocka_unit_test_setup_teardown(who_dies_has_paid, make, drop),
		cmocka_unit_test_setup_teardown(a_lock_that_is_kept_is_told, make, drop),
		cmocka_unit_test_setup_teardown(a_full_table_is_told, make, drop),
		cmocka_unit_test_setup_teardown(destinations_give_way_to_newer_ones, make, drop),
		cmocka_unit_test_setup_teardown(damage_is_told, make, drop),
		cmocka_unit_test_setup_teardown(ports_stay_with_their_session, make, drop),
		cmocka_unit_test_setup_teardown(what_a_full_disk_left_of_a_line_is_taken_back, make, drop),
		cmocka_unit_test_setup_teardown(the_log_can_not_be_cut_unseen, make, drop),
		cmocka_unit_test_setup_teardown(a_log_that_takes_no_more_is_told, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
