/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of `sonde mcp`: one loop over the front's asks and its children's ends.
 * It has what a run needs and therefore reads fixed asks only (deal/launch.h).
 */
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/cmd_mcp.h"
#include "cmd/ledgers.h"
#include "gate/run.h"
#include "sys/clock.h"
#include "sys/packet.h"
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "sys/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RUNS_END_MS = 10000, /* how long runs may take to end by themselves when all ends */
	FRONT_END_MS = 1500,
	FRONT_STOP_MS = 6000, /* how long the front may take to answer what is under way */
	POLL_FIXED = 4,
	CHECKER_TRIES = 3,
};

#define CHECKER_SOON_NS INT64_C(1000000000)
#define SESSION_KEPT_NS (INT64_C(12) * 3600 * 1000000000) /* without a call of his */

typedef struct LauncherRun {
	Child child;
	char caller[LAUNCH_NAME];
} LauncherRun;

/* A caller's memory of what he was shown: each of his runs goes on from there. */
typedef struct LauncherSession {
	char caller[LAUNCH_NAME];
	int fd; /* 0: a free row */
	int64_t last;
} LauncherSession;

typedef struct Launcher {
	const McpOptions *o;
	Arena a;
	int self_fd, signal_fd;
	int ask_fd;	 /* the front's asks come here */
	int check[2];	 /* the front's end and the checker's: kept, so that a new checker can take over */
	Child front, checker;
	Ledger ledger;	 /* for the log of all calls */
	LauncherRun run[LIMIT_MCP_RUNS_MOST];
	LauncherSession session[LIMIT_LEDGER_SESSIONS];
	unsigned max, max_caller;
	unsigned checkers; /* that died soon, one after another */
	int64_t checker_since;
	bool broken;	 /* the front said what is no ask */
	bool stopping;	 /* nothing new is started */
} Launcher;

/* ---- the other processes ---- */

static void child_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

typedef struct FrontArgs {
	const char *v[2 * (16 + 2 * OPT_LIST_MAX) + 2];
	unsigned n;
} FrontArgs;

static void arg(FrontArgs *a, const char *name, const char *value)
{
	if (!value)
		return;
	a->v[a->n++] = name;
	a->v[a->n++] = value;
}

static void arg_list(FrontArgs *a, const char *name, const OptList *l)
{
	for (unsigned i = 0; i < l->n; i++)
		arg(a, name, l->v[i]);
}

/* What the front is given open: its channels, then what only root reads. */
typedef struct FrontFiles {
	int fd[4];
	size_t n;
} FrontFiles;

enum { FRONT_FIRST = 3 /* proc_exec() */ };

/* The file as an argument: a descriptor of the front's, for it may not read the path. */
static void arg_file(Launcher *l, FrontArgs *a, FrontFiles *f, const char *name, const char *path)
{
	if (!path)
		return;
	f->fd[f->n] = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (f->fd[f->n] < 0)
		_exit(cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s %s: %s", name, path, strerror(errno)));
	arg(a, name, str_printf(&l->a, "fd:%u", FRONT_FIRST + (unsigned)f->n++).p);
}

static void front_args(Launcher *l, FrontArgs *a, FrontFiles *f)
{
	const McpOptions *o = l->o;

	a->v[a->n++] = "sonde-mcp";
	arg(a, "--http", o->http);
	arg(a, "--keys", o->keys);
	arg_file(l, a, f, "--tls-cert", o->tls_cert);
	arg_file(l, a, f, "--tls-key", o->tls_key);
	arg(a, "--jwks", o->jwks);
	arg(a, "--issuer", o->issuer);
	arg(a, "--audience", o->audience);
	arg(a, "--scope", o->scope);
	arg(a, "--resource", o->resource);
	arg_list(a, "--origin", &o->origin);
	arg_list(a, "--host", &o->host);
}

/* Everything that the launcher has over an ordinary user goes before the front's first
 * instruction. */
static _Noreturn void front(Launcher *l, int exe, int ask_fd)
{
	FrontFiles files = { .fd = { ask_fd, l->check[0] }, .n = 2 };
	FrontArgs args = { 0 };
	const char *who;

	child_signals();
	front_args(l, &args, &files);
	if (state_group_drop() || sandbox_leave_root(0, &who) || sandbox_caps_keep(0))
		_exit(SONDE_EXIT_ENVIRONMENT);
	proc_die_with(l->self_fd);
	int r = proc_exec(exe, args.v, files.fd, files.n);

	_exit(cmd_fail(SONDE_EXIT_ENVIRONMENT, "sonde-mcp can't be started: %s", strerror(-r)));
}

static int start_front(Launcher *l)
{
	int exe = proc_helper("sonde-mcp"), fds[2];
	int r = exe < 0 ? exe : proc_channel(fds);

	if (r < 0)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "sonde-mcp, which lies beside sonde or in ../libexec/sonde, can't be started: %s",
				strerror(-r));
	r = proc_fork(&l->front);
	if (r == 0)
		front(l, exe, fds[1]);
	close(exe);
	close(fds[1]);
	l->ask_fd = fds[0];
	return r < 0 ? cmd_fail(SONDE_EXIT_ENVIRONMENT, "no process: %s", strerror(-r)) : SONDE_EXIT_OK;
}

static int start_checker(Launcher *l)
{
	int r = proc_fork(&l->checker);

	l->checker_since = clock_mono_ns();
	if (r == 0) {
		child_signals();
		mcp_check(l->check[1], l->self_fd);
	}
	return r < 0 ? cmd_fail(SONDE_EXIT_ENVIRONMENT, "no process: %s", strerror(-r)) : SONDE_EXIT_OK;
}

/* ---- asks ---- */

static void say(int control, bool busy, const char *fault)
{
	LaunchSaid s = { .ok = !fault, .busy = busy };
	uint8_t out[LAUNCH_SAID];

	snprintf(s.text, sizeof s.text, "%s", fault ? fault : "");
	launch_said_put(&s, out);
	send(control, out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void mcp_say(int control, const char *fault)
{
	say(control, false, fault);
}

/* A place for one more child; NULL: *ret_why says why there is none. */
static LauncherRun *place(Launcher *l, const char *caller, const char **ret_why)
{
	unsigned all = 0, his = 0;
	LauncherRun *free_one = NULL;

	for (unsigned i = 0; i < LIMIT_MCP_RUNS_MOST; i++) {
		LauncherRun *r = &l->run[i];
		bool live = r->child.pid > 0;

		all += live;
		his += live && strcmp(r->caller, caller) == 0;
		if (!live && !free_one)
			free_one = r;
	}
	*ret_why = his >= l->max_caller ? "as many runs of this caller are under way as may be at a time: wait for one to end"
		   : all >= l->max	? "as many runs are under way as may be at a time: wait for one to end"
					: NULL;
	return *ret_why ? NULL : free_one;
}

static void forget(LauncherSession *s)
{
	close(s->fd);
	*s = (LauncherSession){ 0 };
}

/* His file, found or made; -1: there is no room for one more caller today. */
static int session_fd(Launcher *l, const char *caller)
{
	int64_t now = clock_mono_ns();
	LauncherSession *s = NULL;

	for (unsigned i = 0; i < LIMIT_LEDGER_SESSIONS; i++) {
		LauncherSession *k = &l->session[i];

		if (k->fd && now - k->last > SESSION_KEPT_NS)
			forget(k);
		if (k->fd && strcmp(k->caller, caller) == 0) {
			k->last = now;
			return k->fd;
		}
		if (!k->fd && !s)
			s = k;
	}
	int fd = s ? memfd_create("session", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_SETFL, O_APPEND)) { /* runs side by side add whole records */
		close(fd);
		return -1;
	}
	*s = (LauncherSession){ .fd = fd, .last = now };
	memcpy(s->caller, caller, sizeof s->caller);
	return fd;
}

static void start_child(Launcher *l, const LaunchAsk *ask, const int *fds, int control)
{
	const char *why;
	LauncherRun *r = place(l, ask->caller, &why);
	bool run = ask->op == LAUNCH_RUN;
	int session = r && run ? session_fd(l, ask->caller) : -1;
	int p = r && (session >= 0 || !run) ? proc_fork(&r->child) : -EAGAIN;

	if (p == 0) {
		child_signals();
		if (run)
			mcp_run(l->o, ask, fds, session, l->self_fd);
		if (ask->op == LAUNCH_LOCAL)
			mcp_local(fds, l->self_fd);
		mcp_policy(l->o, ask, fds, l->self_fd);
	}
	if (p > 0)
		memcpy(r->caller, ask->caller, sizeof r->caller);
	else
		say(control, !r, r ? "this host has no room for one more process" : why);
}

/* ---- the log of all calls ---- */

static void write_call(LogLine *line, void *ctx)
{
	const LaunchAsk *ask = ctx;

	log_str(line, "tool", str_c(ask->tool));
	log_hash(line, "arguments", ask->args);
	log_str(line, "outcome", str_c(ask->outcome));
	if (ask->finding[0])
		log_str(line, "finding_id", str_c(ask->finding));
}

/* The ledger or its log may be another file by now (`sonde ledger init`, `rotate`). */
static const char *reopen(Launcher *l)
{
	size_t mark = arena_mark(&l->a);
	Ledger fresh;
	const char *why = ledgers_open_as(&l->a, "mcp", &fresh);

	if (why)
		return why;
	ledgers_close(&l->ledger);
	l->ledger = fresh;
	arena_reset(&l->a, mark);
	return NULL;
}

static bool unlinked(int fd)
{
	struct stat st;

	return fstat(fd, &st) || st.st_nlink != 1;
}

static const char *append(Launcher *l, const LaunchAsk *ask)
{
	LaunchAsk copy = *ask;
	const char *why;

	if (unlinked(l->ledger.fd) || unlinked(l->ledger.log_fd)) {
		why = reopen(l);
		if (why)
			return why;
	}
	l->ledger.row_known = false;
	snprintf(l->ledger.session, sizeof l->ledger.session, "%s", mcp_session(&l->a, l->o, ask->caller));
	return ledger_log(&l->ledger, "call", write_call, &copy);
}

static void audit(Launcher *l, const LaunchAsk *ask, int control)
{
	size_t mark = arena_mark(&l->a);
	const char *why = append(l, ask);

	if (why && !reopen(l))
		why = append(l, ask);
	mcp_say(control, why);
	arena_reset(&l->a, mark);
}

/* What comes along with each ask: a letter each for job, pipe and control socket. */
static const char *const along[LAUNCH_N] = {
	[LAUNCH_RUN] = "jpc", [LAUNCH_POLICY] = "pc", [LAUNCH_LOCAL] = "pc", [LAUNCH_AUDIT] = "c"
};

/* A file of some other kind may do more, when written to, for us than for the front. */
static bool fds_ok(const LaunchAsk *ask, const int *fds, size_t n)
{
	const char *want = along[ask->op];
	struct stat st;

	if (n != strlen(want))
		return false;
	for (size_t i = 0; i < n; i++)
		if (fstat(fds[i], &st) || !(want[i] == 'j'   ? S_ISREG(st.st_mode)
					    : want[i] == 'p' ? S_ISFIFO(st.st_mode)
							     : S_ISSOCK(st.st_mode)))
			return false;
	return true;
}

/* Where there are no keys there is one caller, and he has no name: a second one would have a
 * memory and a budget of his own. */
static bool caller_ok(const Launcher *l, const LaunchAsk *ask)
{
	return l->o->keys || !ask->caller[0];
}

static void do_ask(Launcher *l, const LaunchAsk *ask, const int *fds, size_t n)
{
	int control = fds[n - 1];

	if (ask->op == LAUNCH_AUDIT)
		audit(l, ask, control);
	else if (l->stopping)
		mcp_say(control, "this server shuts down");
	else
		start_child(l, ask, fds, control);
}

/* An empty message reads like an end, and is none. */
static bool hung_up(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* False: the front is gone, or is not what it was. */
static bool take_ask(Launcher *l)
{
	uint8_t buf[LAUNCH_ASK + 1];
	int fds[LAUNCH_FDS + 1]; /* one more than there may be */
	size_t n = 0;
	ssize_t got = proc_recv(l->ask_fd, buf, sizeof buf, fds, LAUNCH_FDS + 1, &n);
	LaunchAsk ask;

	if (got <= 0 && hung_up(l->ask_fd))
		return false;
	l->broken = got <= 0 || !launch_ask_get(BYTES(buf, (size_t)got), &ask) || !caller_ok(l, &ask) || !fds_ok(&ask, fds, n);
	if (!l->broken)
		do_ask(l, &ask, fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return !l->broken;
}

/* ---- the loop ---- */

static void reap(Launcher *l)
{
	for (unsigned i = 0; i < LIMIT_MCP_RUNS_MOST; i++)
		if (l->run[i].child.pid > 0 && proc_readable(l->run[i].child.fd, 0))
			proc_wait(&l->run[i].child, 0);
}

/* A new one in its place; one that dies at once, again and again, is no help. */
static bool checker_died(Launcher *l)
{
	proc_wait(&l->checker, 0);
	l->checkers = clock_mono_ns() - l->checker_since < CHECKER_SOON_NS ? l->checkers + 1 : 0;
	if (l->checkers < CHECKER_TRIES)
		return start_checker(l) == SONDE_EXIT_OK;
	cmd_fail(0, "the checker of programs dies as soon as it is started");
	return false;
}

static unsigned poll_set(const Launcher *l, struct pollfd *p)
{
	unsigned n = 0;

	p[n++] = (struct pollfd){ .fd = l->signal_fd, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = l->front.fd, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = l->checker.fd, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = l->ask_fd, .events = POLLIN };
	for (unsigned i = 0; i < LIMIT_MCP_RUNS_MOST; i++)
		if (l->run[i].child.pid > 0)
			p[n++] = (struct pollfd){ .fd = l->run[i].child.fd, .events = POLLIN };
	return n;
}

static void loop(Launcher *l)
{
	struct pollfd p[POLL_FIXED + LIMIT_MCP_RUNS_MOST];

	for (;;) {
		unsigned n = poll_set(l, p);

		if (poll(p, n, -1) < 0 && errno != EINTR)
			return;
		reap(l);
		if (p[0].revents || p[1].revents || (p[2].revents && !checker_died(l)))
			return;
		if (p[3].revents && !take_ask(l)) {
			if (!l->broken) /* it ends, and will have said in a moment how */
				proc_readable(l->front.fd, FRONT_END_MS);
			return;
		}
	}
}

static bool any_run(const Launcher *l)
{
	for (unsigned i = 0; i < LIMIT_MCP_RUNS_MOST; i++)
		if (l->run[i].child.pid > 0)
			return true;
	return false;
}

/* The front answers what is under way, and each answer still has its line in the log; its exit
 * code as of proc_wait(). */
static int stop_front(Launcher *l)
{
	int64_t until = clock_mono_ns() + FRONT_STOP_MS * INT64_C(1000000), left;
	struct pollfd p[2] = { { .fd = l->front.fd, .events = POLLIN }, { .fd = l->ask_fd, .events = POLLIN } };

	l->stopping = true;
	kill(l->front.pid, SIGTERM); /* ours and not yet reaped: it is no other */
	while (!p[0].revents && (left = (until - clock_mono_ns()) / 1000000) > 0) {
		if (poll(p, 2, (int)left) > 0 && p[1].revents && !take_ask(l))
			p[1].fd = -1;
		if (l->broken)
			return -1;
	}
	return proc_wait(&l->front, 0);
}

/* The front first: with it go its control sockets, and so the runs end and say so in ledger
 * and log. */
static int end(Launcher *l)
{
	int code = l->broken ? -1 : proc_wait(&l->front, 0);
	bool asked = code == -ETIMEDOUT;

	if (asked)
		code = stop_front(l);
	int64_t until = clock_mono_ns() + RUNS_END_MS * INT64_C(1000000);

	proc_kill(&l->front);
	if (code < 0)
		proc_wait(&l->front, -1);
	while (any_run(l) && clock_mono_ns() < until) {
		proc_readable(l->self_fd, 20);
		reap(l);
	}
	for (unsigned i = 0; i < LIMIT_MCP_RUNS_MOST; i++)
		proc_kill(&l->run[i].child);
	proc_kill(&l->checker);
	if (l->broken)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "sonde-mcp asked for what is no ask: it was ended, with all runs");
	return asked || code == SONDE_EXIT_OK	? SONDE_EXIT_OK
	       : code >= 0 && code < 256	? code
						: cmd_fail(SONDE_EXIT_ENVIRONMENT, "sonde-mcp died");
}

/* ---- the start ---- */

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Parsed by a process that has nothing to lose; it says itself what is wrong. */
static int check_policies(Launcher *l)
{
	Policies p;
	PolicyList list = { 0 };
	Child child;
	Str why = { 0 };
	const char *who;

	if (!mcp_policies(&l->a, l->o, NULL, &p))
		return SONDE_EXIT_POLICY;
	int r = proc_fork(&child);

	if (r > 0)
		return proc_wait(&child, -1);
	if (r < 0 || state_group_drop() || sandbox_leave_root(0, &who) || sandbox_caps_keep(0))
		_exit(SONDE_EXIT_ENVIRONMENT);
	if (!policies_parse(&p, &l->a, &list, &why))
		_exit(cmd_fail(SONDE_EXIT_POLICY, "%.*s", STR_ARG(why)));
	_exit(SONDE_EXIT_OK);
}

static unsigned bound(OptUint o, unsigned dflt)
{
	return o.set && o.v < LIMIT_MCP_RUNS_MOST ? (unsigned)o.v : o.set ? LIMIT_MCP_RUNS_MOST : dflt;
}

/* The client's channel is the front's alone: its end must be seen. */
static bool leave_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool ok = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0;

	if (null >= 0)
		close(null);
	return ok;
}

int mcp_serve(const McpOptions *o)
{
	static Launcher l;
	char why[RUN_WHY];
	int code;

	l = (Launcher){ .o = o,
			.a = cmd_arena(64 << 20),
			.self_fd = proc_self_fd(),
			.ask_fd = -1,
			.front = CHILD_NONE,
			.checker = CHILD_NONE,
			.max = bound(o->max_runs, LIMIT_MCP_RUNS),
			.max_caller = bound(o->max_runs_caller, LIMIT_MCP_RUNS_CALLER) };
	gate_run_missing(why);
	if (why[0])
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	code = check_policies(&l);
	if (code)
		return code;
	const char *fault = ledgers_open_as(&l.a, "mcp", &l.ledger);

	if (fault)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "each call is a line of the log, and there is no place for it: %s", fault);
	l.signal_fd = catch_signals();
	if (l.self_fd < 0 || l.signal_fd < 0 || proc_channel(l.check))
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "the processes of sonde mcp can't be started: %s", strerror(errno));
	packet_warm_up(); /* kept open: the first frames of a run have their stamps, however busy the host is */
	code = start_checker(&l);
	if (!code)
		code = start_front(&l);
	if (!code && !o->http && isatty(STDIN_FILENO))
		fprintf(stderr, "sonde mcp: ready, for a client that starts this command and speaks MCP with it: `sonde mcp install "
				"--client claude` tells one how (or codex, vscode, cursor). Ctrl-D ends it.\n");
	if (!code && !leave_stdio())
		code = SONDE_EXIT_ENVIRONMENT;
	if (!code)
		loop(&l);
	return code ? code : end(&l);
}
