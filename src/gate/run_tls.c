/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/run_tls.h"

#include "base/exits.h"
#include "base/limits.h"
#include "deal/msg.h"
#include "sys/io.h"
#include "sys/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOTS_PIECE = 48 * 1024, ROOTS_PATIENCE_S = 5 };

/* Where systems keep what they trust: Debian, Red Hat, SUSE, Alpine. */
static const char *const stores[] = { "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
				      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem" };

int run_tls_prepare(RunTls *t)
{
	t->exe = proc_helper("sonde-tls"); /* that it is missing matters to who needs it */
	for (size_t i = 0; i < sizeof stores / sizeof *stores && t->roots < 0; i++)
		t->roots = open(stores[i], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return proc_channel(t->gate);
}

/* ---- the child, up to its binary ---- */

static _Noreturn void child(const RunTls *t, int roots_fd, bool namespaces)
{
	const int fds[2] = { t->gate[1], roots_fd };
	int keep[] = { t->gate[1], roots_fd, t->exe, sandbox_is_widened() ? 2 : -1 };
	sigset_t none;
	char missing[16];

	proc_die_with(t->self_fd);
	signal(SIGINT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!proc_close_all_but(keep, sizeof keep / sizeof *keep))
		_exit(SONDE_EXIT_ENVIRONMENT);
	snprintf(missing, sizeof missing, "%u", sandbox_tls_before_exec(namespaces));
	const char *const args[] = { "sonde-tls", missing, t->insecure_dev ? "insecure" : "secure", NULL };
	proc_exec(t->exe, args, fds, 2);
	_exit(SONDE_EXIT_ENVIRONMENT);
}

/* 1 in cmd, -errno; without user namespaces the child says what is missing. */
static int fork_child(RunTls *t, int roots_fd)
{
	int p = proc_fork_ns(&t->child, sandbox_engine_clone);

	if (p == 0)
		child(t, roots_fd, true);
	if (p < 0)
		p = proc_fork(&t->child);
	if (p == 0)
		child(t, roots_fd, false);
	return p;
}

/* ---- the roots ---- */

static int send_piece(int fd, Bytes pem, bool more)
{
	uint8_t buf[ROOTS_PIECE + 64];
	Writer w = writer(buf, sizeof buf);
	Msg m = { .type = MSG_TLS_ROOTS, .tls_roots = { .more = more, .pem = pem } };

	return msg_put(&w, &m) ? proc_send(fd, wr_done(&w), NULL, 0) : -EMSGSIZE;
}

static int send_roots(int fd, int file)
{
	uint8_t *text = file < 0 ? NULL : malloc(LIMIT_TLS_ROOTS);
	ssize_t n = text ? io_read(file, text, LIMIT_TLS_ROOTS) : 0;
	Bytes rest = BYTES(text, n > 0 ? (size_t)n : 0);
	int r;

	do {
		Bytes piece = bytes_slice(rest, 0, ROOTS_PIECE);

		rest = bytes_slice(rest, ROOTS_PIECE, rest.n);
		r = send_piece(fd, piece, rest.n);
	} while (!r && rest.n);
	free(text);
	return r;
}

/* ---- life ---- */

int run_tls_start(RunTls *t)
{
	struct timeval patience = { .tv_sec = ROOTS_PATIENCE_S };
	int roots[2] = { -1, -1 };
	int r = t->exe < 0 ? -ENOENT : proc_channel(roots);

	if (!r) {
		setsockopt(roots[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
		r = fork_child(t, roots[1]);
	}
	proc_close(&roots[1]);
	proc_close(&t->gate[1]);
	if (r > 0)
		r = send_roots(roots[0], t->roots);
	proc_close(&roots[0]);
	proc_close(&t->roots);
	proc_close(&t->exe);
	return r;
}

void run_tls_end(RunTls *t)
{
	proc_kill(&t->child);
	for (int i = 0; i < 2; i++)
		proc_close(&t->gate[i]);
	proc_close(&t->roots);
	proc_close(&t->exe);
}
