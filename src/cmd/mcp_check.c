/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker of `sonde mcp`: warm and without any right; each program is read, compiled
 * and told of in a child of its own, which can write to its answer's pipe and nothing else.
 */
#include "base/limits.h"
#include "cmd/check_report.h"
#include "cmd/cmd.h"
#include "cmd/cmd_mcp.h"
#include "cmd/engine.h"
#include "lang/compile.h"
#include "sys/io.h"
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "sys/state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIB_MEMORY (64u << 20)

enum { CHECK_SECONDS = 20 }; /* of processor time; its steps are bounded too */

typedef struct Checker {
	int sock;
	unsigned live; /* children */
	void *mem;     /* the engine's; each child has its own copy, empty */
	Arena report, lib_arena;
	CompileLib lib;
	uint8_t buf[LIMIT_LAUNCH_JOB + 1];
} Checker;

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- a child ---- */

static void told(void *ctx, const Msg *m)
{
	check_report_event(ctx, m);
}

/* Faults of ours are told as a diagnostic: the shape has no other place. */
static int compile_all(Checker *c, CheckReport *r, const LaunchJob *j)
{
	FactsParam param[LIMIT_LAUNCH_PARAMS];
	EngineJob job = { .name = j->name,
			  .text = j->text,
			  .param = param,
			  .nparam = j->nparam,
			  .check = true,
			  .ahead = &c->lib,
			  .told = told,
			  .told_ctx = r };

	for (uint32_t i = 0; i < j->nparam; i++)
		param[i] = (FactsParam){ .name = j->param[i].name, .value = j->param[i].value };
	int exit = engine_process(&job, -1, -1, c->mem, LIMIT_ENGINE_MEMORY);

	if (r->fail_code.n)
		diag_add(&r->diags, (const char *)r->fail_code.p, (Span){ 0, 0 }, "%.*s", STR_ARG(r->fail_text));
	return exit || r->diags.errors ? SONDE_EXIT_CHECK : SONDE_EXIT_OK;
}

static _Noreturn void child(Checker *c, size_t n, int answer)
{
	const int in[2] = { -1, -1 }, out[2] = { answer, -1 };
	LaunchJob job;
	CheckReport report;
	bool closed;

	close(c->sock);
	if (!proc_limit(RLIMIT_CPU, CHECK_SECONDS) || sandbox_engine(false, in, out, &closed))
		_exit(SONDE_EXIT_ENVIRONMENT);
	check_report_init(&report, &c->report);
	if (!launch_job_get(BYTES(c->buf, n), &job))
		_exit(SONDE_EXIT_USAGE);
	int exit = compile_all(c, &report, &job);
	Sb json = sb(&c->report);

	check_report_json(&report, job.text, exit, &json);
	io_write(answer, str_bytes(sb_done(&json)));
	_exit(SONDE_EXIT_OK);
}

/* ---- the warm one ---- */

/* Some others may have to end first. */
static void reap(Checker *c, bool wait)
{
	while (c->live && waitpid(-1, NULL, wait ? 0 : WNOHANG) > 0) {
		c->live--;
		wait = false;
	}
}

static void take(Checker *c)
{
	int answer = -1;
	size_t n = 0;
	ssize_t got = proc_recv(c->sock, c->buf, sizeof c->buf, &answer, 1, &n);

	if (got == 0 || got == -ECONNRESET)
		_exit(SONDE_EXIT_OK);
	reap(c, c->live >= LIMIT_MCP_CHECKS);
	pid_t pid = got > 0 && n == 1 ? fork() : -1;

	if (pid == 0)
		child(c, (size_t)got, answer);
	c->live += pid > 0;
	proc_close(&answer); /* its end without a word tells the front that nothing came of it */
}

void mcp_check(int sock, int launcher_fd)
{
	static Checker c;
	int keep[] = { sock, launcher_fd, STDERR_FILENO };
	const char *who;
	void *report = map(LIMIT_ENGINE_MEMORY);

	c.sock = sock;
	c.mem = map(LIMIT_ENGINE_MEMORY);
	if (!report || !c.mem || sandbox_prepare() || state_group_drop() || sandbox_leave_root(0, &who) ||
	    sandbox_caps_keep(0) || !proc_close_all_but(keep, sizeof keep / sizeof *keep))
		_exit(SONDE_EXIT_ENVIRONMENT);
	proc_die_with(launcher_fd);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	proc_seal();
	if (!proc_limit(RLIMIT_CORE, 0) || !proc_limit(RLIMIT_FSIZE, 0))
		_exit(SONDE_EXIT_ENVIRONMENT);
	void *lib = map(LIB_MEMORY);

	if (!lib)
		_exit(SONDE_EXIT_ENVIRONMENT);
	arena_init_zeroed(&c.lib_arena, lib, LIB_MEMORY, NULL);
	if (!engine_lib(&c.lib_arena, &c.lib))
		_exit(SONDE_EXIT_ENVIRONMENT);
	arena_init_zeroed(&c.report, report, LIMIT_ENGINE_MEMORY, NULL);
	for (;;)
		take(&c);
}
