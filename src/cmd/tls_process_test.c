/* SPDX-License-Identifier: Apache-2.0
 *
 * The TLS process as a run starts it: sealed, and still able to do all of its work; and
 * what it has when it works.
 *
 *   tls_process_test PATH_OF_SONDE_TLS
 */
#include "base/limits.h"
#include "deal/msg.h"
#include "deal/tls.h"
#include "gate/run_tls.h"
#include "sys/sandbox.h"
#include "tls/test_peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static const char *exe;
static TestPeer peer;
static uint8_t in[LIMIT_MSG + 8], out[LIMIT_MSG + 8], memory[1 << 21];

/* The peer's certificate is the only root; NULL: no store at all. */
static int roots_file(const TestPeer *p)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	PEM_write_X509(f, SSL_CTX_get0_certificate(p->ctx));
	fflush(f);
	int fd = dup(fileno(f));
	fclose(f);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static RunTls process(int roots)
{
	RunTls t = RUN_TLS_NONE;

	assert_int_equal(run_tls_prepare(&t), 0);
	proc_close(&t.exe);
	proc_close(&t.roots);
	t.exe = open(exe, O_PATH | O_CLOEXEC);
	t.roots = roots;
	t.self_fd = proc_self_fd();
	assert_true(t.exe >= 0);
	assert_int_equal(run_tls_start(&t), 0);
	return t;
}

static void process_end(RunTls *t)
{
	proc_close(&t->self_fd);
	run_tls_end(t);
	proc_wait(&t->child, -1);
}

static Msg ask(RunTls *t, uint32_t session, TlsOp op, Bytes data)
{
	Writer w = writer(out, sizeof out);
	Msg m = { .type = MSG_TLS_ASK, .tls_ask = { .id = 3, .session = session, .op = (uint8_t)op, .data = data } };

	assert_true(msg_put(&w, &m));
	assert_int_equal(proc_send(t->gate[0], wr_done(&w), NULL, 0), 0);
	ssize_t n = proc_recv(t->gate[0], in, sizeof in, NULL, 0, NULL);
	if (n <= 0)
		fail_msg("the process ended: %d", proc_wait(&t->child, 1000));
	Cursor c = cursor(BYTES(in, (size_t)n));
	assert_int_equal(msg_get(&c, 'G', &m), MSG_OK);
	return m;
}

static Msg open_session(RunTls *t, uint32_t session, const char *name)
{
	uint8_t buf[512];
	Writer w = writer(buf, sizeof buf);
	TlsOpen o = { .at_s = time(NULL), .name = str_c(name) };

	assert_true(tls_open_put(&w, &o));
	return ask(t, session, TLS_OP_OPEN, wr_done(&w));
}

/* What the process said goes to the peer, what that says comes back, until both are silent. */
static Msg exchange(RunTls *t, uint32_t session, Msg m, size_t *ret_plain)
{
	static uint8_t line[1 << 17];
	size_t n;

	*ret_plain = m.tls_said.plain.n;
	while ((n = test_peer_step(&peer, m.tls_said.out, line, sizeof line)))
		for (size_t at = 0; at < n; at += LIMIT_TLS_PIECE) {
			m = ask(t, session, TLS_OP_FEED, bytes_slice(BYTES(line, n), at, at + LIMIT_TLS_PIECE));
			*ret_plain += m.tls_said.plain.n;
		}
	return m;
}

static TlsInfo info(RunTls *t, uint32_t session)
{
	TlsInfo i;
	Arena a;
	Msg m = ask(t, session, TLS_OP_INFO, (Bytes){ 0 });

	arena_init(&a, memory, sizeof memory, NULL);
	assert_true(tls_info_get(m.tls_said.plain, &a, &i));
	return i;
}

/* Everything that OpenSSL does for us, behind the filter: a call too many would kill it. */
static void test_works_sealed(void **state)
{
	static uint8_t large[LIMIT_TLS_PIECE];
	RunTls t = process(roots_file(&peer));
	size_t n;

	(void)state;
	for (uint32_t session = 1; session <= 40; session++) {
		test_peer_begin(&peer, session % 2);
		Msg m = exchange(&t, session, open_session(&t, session, "test.peer"), &n);
		assert_int_equal(m.tls_said.state, TLS_STATE_OPEN);
		TlsInfo i = info(&t, session);
		assert_true(i.trusted && i.name == TLS_NAME_OK);
		m = exchange(&t, session, ask(&t, session, TLS_OP_WRITE, BYTES(large, sizeof large)), &n);
		assert_int_equal(n, sizeof large);
		if (session % 3)
			ask(&t, session, TLS_OP_CLOSE, (Bytes){ 0 });
	}
	process_end(&t);
}

static void test_no_roots(void **state)
{
	RunTls t = process(-1);
	size_t n;

	(void)state;
	test_peer_begin(&peer, false);
	exchange(&t, 1, open_session(&t, 1, "other.peer"), &n);
	TlsInfo i = info(&t, 1);
	assert_true(!i.trusted && i.name == TLS_NAME_WRONG && str_is(i.reason, "this host has no trusted roots"));
	process_end(&t);
}

/* ---- what it has ---- */

static bool status_has(pid_t pid, const char *line)
{
	char path[64], buf[8192];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(buf, 1, sizeof buf - 1, f);
	fclose(f);
	buf[n] = 0;
	return strstr(buf, line);
}

static bool same_namespace(pid_t pid, const char *name)
{
	char path[64], ours[64] = "", its[64] = "";

	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
	assert_true(readlink(path, its, sizeof its - 1) > 0);
	snprintf(path, sizeof path, "/proc/self/ns/%s", name);
	assert_true(readlink(path, ours, sizeof ours - 1) > 0);
	return strcmp(ours, its) == 0;
}

static unsigned descriptors(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void test_has_nothing(void **state)
{
	static const char *const namespaces[] = { "user", "pid", "mnt", "net", "ipc", "uts" };
	RunTls t = process(roots_file(&peer));
	pid_t pid = t.child.pid;

	(void)state;
	open_session(&t, 1, ""); /* it is sealed when it answers */
	assert_true(status_has(pid, "Seccomp:\t2") && status_has(pid, "NoNewPrivs:\t1"));
	assert_true(status_has(pid, "CapEff:\t0000000000000000") && status_has(pid, "CapPrm:\t0000000000000000"));
	if (geteuid() == 0) { /* it is not dumpable: only root sees more */
		for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
			assert_false(same_namespace(pid, namespaces[i]));
		assert_int_equal(descriptors(pid), sandbox_is_widened() ? 2 : 1);
	}
	process_end(&t);
}

/* A gate that passes on what is no request. */
static void test_nonsense_ends_it(void **state)
{
	RunTls t = process(-1);
	char b;

	(void)state;
	open_session(&t, 1, "");
	proc_send(t.gate[0], BYTES("nonsense", 8), NULL, 0);
	assert_int_equal(recv(t.gate[0], &b, 1, 0), 0);
	assert_int_equal(proc_wait(&t.child, 5000), 5);
	process_end(&t);
}

static void test_ends_with_the_gate(void **state)
{
	RunTls t = process(-1);

	(void)state;
	open_session(&t, 1, "");
	proc_close(&t.gate[0]);
	assert_int_equal(proc_wait(&t.child, 5000), 0);
	process_end(&t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_works_sealed),	 cmocka_unit_test(test_no_roots),
		cmocka_unit_test(test_has_nothing),	 cmocka_unit_test(test_nonsense_ends_it),
		cmocka_unit_test(test_ends_with_the_gate),
	};

	if (argc != 2)
		return 6;
	exe = argv[1];
	sandbox_prepare();
	test_peer_init(&peer);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
