/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker of `sonde mcp`: warm and without any right; each program is read, compiled
 * and told of in a child of its own, which can write to its answer's pipe and nothing else.
 *
 * What a child costs is its pages: lib is there already, and what most checks need beside
 * it fits one large page.  Children are forked before there is a program for them.
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

enum { CHECK_SECONDS = 20, /* of processor time; its steps are bounded too */
       ANSWER_FD = 9,
       NO_FRONT = 100 }; /* a child's exit: nobody asks any more */

#define LARGE_PAGE (2u << 20)
#define LIB_MEMORY (64u << 20)
#define REPORT_SMALL (256u << 10) /* of most programs; for a longer report all is done again with more room */
#define REPORT_LARGE LIMIT_ENGINE_MEMORY

typedef struct Checker {
	int sock, self_fd;
	/* the report's and the engine's, twice; each child has its own copy, empty */
	uint8_t *small, *large;
	Arena lib_arena;
	CompileLib lib;
	uint8_t buf[LIMIT_LAUNCH_JOB + 1];
} Checker;

/* On large pages from its beginning, where the kernel has them. */
static uint8_t *map(size_t n)
{
	uint8_t *p = mmap(NULL, n + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p += -(uintptr_t)p & (LARGE_PAGE - 1);
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

/* ---- a child ---- */

static void told(void *ctx, const Msg *m)
{
	check_report_event(ctx, m);
}

/* Faults of ours are told as a diagnostic: the shape has no other place. */
static int compile_all(Checker *c, CheckReport *r, const LaunchJob *j, uint8_t *mem)
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
	int exit = engine_process(&job, -1, -1, mem, LIMIT_ENGINE_MEMORY);

	if (r->fail_code.n)
		diag_add(&r->diags, (const char *)r->fail_code.p, (Span){ 0, 0 }, "%.*s", STR_ARG(r->fail_text));
	return exit || r->diags.errors ? SONDE_EXIT_CHECK : SONDE_EXIT_OK;
}

/* The answer, in `most` bytes at mem, with the engine's memory behind; false: it does not fit. */
static bool answer(Checker *c, const LaunchJob *job, uint8_t *mem, size_t most, Str *ret_text)
{
	CheckReport report;
	Arena a;
	jmp_buf full;

	arena_init_zeroed(&a, mem, most, &full);
	if (setjmp(full))
		return false;
	check_report_init(&report, &a);
	int exit = compile_all(c, &report, job, mem + most);
	Sb out = sb(&a);

	check_report_json(&report, job->text, exit, &out);
	*ret_text = sb_done(&out);
	return true;
}

static _Noreturn void child(Checker *c, size_t n, int answer_fd)
{
	static LaunchJob job;
	Str text;

	if (dup2(answer_fd, ANSWER_FD) < 0 || !proc_limit(RLIMIT_CPU, CHECK_SECONDS) || sandbox_checker_child())
		_exit(SONDE_EXIT_ENVIRONMENT);
	if (!launch_job_get(BYTES(c->buf, n), &job))
		_exit(SONDE_EXIT_USAGE);
	bool fits = answer(c, &job, c->small, REPORT_SMALL, &text) || answer(c, &job, c->large, REPORT_LARGE, &text);

	_exit(fits && io_write(ANSWER_FD, str_bytes(text)) == text.n ? SONDE_EXIT_OK : SONDE_EXIT_RUNTIME);
}

/* Waits for its program; what comes is not looked at before the filter is on. */
static _Noreturn void spare(Checker *c)
{
	int answer_fd = -1;
	size_t n = 0;

	proc_die_with(c->self_fd);
	ssize_t got = proc_recv(c->sock, c->buf, sizeof c->buf, &answer_fd, 1, &n);

	if (got == 0 || got == -ECONNRESET)
		_exit(NO_FRONT);
	if (got > 0 && n == 1)
		child(c, (size_t)got, answer_fd);
	_exit(SONDE_EXIT_USAGE); /* the answer's end without a word tells the front that nothing came of it */
}

/* ---- the warm one ---- */

static bool warm_up(Checker *c)
{
	uint8_t *lib = map(LIB_MEMORY);

	c->small = map(REPORT_SMALL + LIMIT_ENGINE_MEMORY);
	c->large = map(REPORT_LARGE + LIMIT_ENGINE_MEMORY);
	if (!lib || !c->small || !c->large)
		return false;
	arena_init_zeroed(&c->lib_arena, lib, LIB_MEMORY, NULL);
	return engine_lib(&c->lib_arena, &c->lib);
}

void mcp_check(int sock, int launcher_fd)
{
	static Checker c;
	int keep[] = { sock, launcher_fd, STDERR_FILENO };
	const char *who;

	c.sock = sock;
	if (sandbox_prepare() || state_group_drop() || sandbox_leave_root(0, &who) || !proc_close_all_but(keep, sizeof keep / sizeof *keep))
		_exit(SONDE_EXIT_ENVIRONMENT);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (!warm_up(&c) || sandbox_checker_prepare(ANSWER_FD) || !proc_limit(RLIMIT_CORE, 0) || !proc_limit(RLIMIT_FSIZE, 0))
		_exit(SONDE_EXIT_ENVIRONMENT);
	proc_seal();
	proc_die_with(launcher_fd);
	c.self_fd = proc_self_fd();
	for (unsigned spares = 0;; spares--) { /* forked ahead: nobody waits for that */
		int status = 0;

		for (; spares < LIMIT_MCP_CHECKS; spares++)
			if (fork() == 0)
				spare(&c);
		if (waitpid(-1, &status, 0) < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NO_FRONT))
			_exit(SONDE_EXIT_OK);
	}
}
