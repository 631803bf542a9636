/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde-tls: the TLS process of a run (src/tls), which gate/run_tls.c starts where a
 * program needs one.  A binary of its own, so that sonde starts without OpenSSL and so
 * that what reads hostile bytes holds nothing of the program, the policies or cmd.
 *
 *     sonde-tls MISSING secure|insecure
 *
 * MISSING: a bit for each sandbox layer that its parent could not give it; with one of
 * them it serves only if the root-owned policy allowed that (insecure).
 *
 * Descriptor 3 is the gate, 4 brings the trusted roots, once.
 */
#include "base/exits.h"
#include "base/limits.h"
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "tls/serve.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { GATE_FD = 3, ROOTS_FD = 4 };

#define MEMORY_MOST (512u << 20)
#define NO_MMAP (32 << 20) /* the largest threshold there is: realloc() by mremap is not on the list */

/* The roots' text, in pieces; false: it is no such message. */
static bool read_roots(TlsCore *k)
{
	uint8_t *text = malloc(LIMIT_TLS_ROOTS), *buf = malloc(LIMIT_MSG + 8);
	size_t n = 0;
	Msg m = { .tls_roots = { .more = 1 } };
	bool ok = text && buf;

	while (ok && m.tls_roots.more) {
		ssize_t got = read(ROOTS_FD, buf, LIMIT_MSG + 8);
		Cursor c = cursor(BYTES(buf, got > 0 ? (size_t)got : 0));

		ok = msg_get(&c, 'C', &m) == MSG_OK && m.type == MSG_TLS_ROOTS && n + m.tls_roots.pem.n <= LIMIT_TLS_ROOTS;
		if (ok && m.tls_roots.pem.n)
			memcpy(text + n, m.tls_roots.pem.p, m.tls_roots.pem.n);
		n += ok ? m.tls_roots.pem.n : 0;
	}
	if (ok)
		tls_core_roots(k, BYTES(text, n));
	free(text);
	free(buf);
	close(ROOTS_FD);
	return ok;
}

/* What OpenSSL and libc fetch only once, while there are files. */
static bool warm_up(TlsCore *k)
{
	TlsOpen o = { .at_s = 1 };
	TlsStep step;
	TlsSession *s = tls_session_new(k, &o, &step);

	tzset();
	if (s)
		tls_session_free(s);
	return s && step.out.n;
}

static bool seal(unsigned missing, bool insecure)
{
	proc_seal();
	if (!proc_limit(RLIMIT_CORE, 0) || !proc_limit(RLIMIT_FSIZE, 0) || !proc_limit(RLIMIT_NPROC, 0) ||
	    (!sandbox_is_widened() && !proc_limit(RLIMIT_DATA, MEMORY_MOST))) /* a sanitizer maps terabytes */
		return false;
	missing |= sandbox_tls(!(missing >> SANDBOX_NAMESPACES & 1), GATE_FD);
	return !missing || insecure;
}

int main(int argc, char **argv)
{
	uint64_t missing = 0;
	TlsServer *server;
	TlsCore *core;

	signal(SIGPIPE, SIG_IGN);
	mallopt(M_MMAP_THRESHOLD, NO_MMAP);
	if (argc != 3 || !str_to_u64(str_c(argv[1]), UINT32_MAX, &missing))
		return SONDE_EXIT_USAGE;
	core = tls_core_new();
	server = core ? tls_server_new(core) : NULL;
	if (!server || !warm_up(core) || !read_roots(core) || !seal((unsigned)missing, argv[2][0] == 'i'))
		return SONDE_EXIT_ENVIRONMENT;
	_exit(tls_serve(server, GATE_FD) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT);
}
