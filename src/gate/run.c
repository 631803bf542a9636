/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/run.h"

#include "base/exits.h"
#include "base/limits.h"
#include "gate/loader.h"
#include "gate/opener.h"
#include "gate/run_tls.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "sys/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* A run that stays small never touches what is behind this; one that grows takes large
 * pages there, since a fault costs more than the page. */
#define SMALL_MEMORY (2u << 20)

enum { RUN_BUF = 512 * 1024, END_PATIENCE_MS = 5000, KEEP = 4 };

#define NO_TLS "the TLS process can't be started: sonde-tls does not lie beside sonde, or the kernel refuses it"

#define ENGINE_PATIENCE_NS INT64_C(1000000000)

/* How long who was asked to end may take, before the engine and then the gate are killed:
 * where somebody waits for what is known, and where nobody does. */
#define STOP_SOFT_NS INT64_C(2000000000)
#define STOP_CUT_NS INT64_C(400000000)

typedef struct Run {
	const RunOptions *o;
	char *why;
	int self_fd;	  /* pidfd of cmd: its children die with it */
	int engine_gate[2], cmd_gate[2], gate_netd[2], engine_out[2];
	Child opener, engine, loader, peer;
	RunTls tls;
	const char *user; /* who the processes are */
	uint8_t *buf;
	bool interrupted;
	int control_fd;	  /* -1: none, or it has ended */
	int64_t kill_at, patience; /* a stop by control: 0: none yet */
	bool gate_ended;  /* GATE_END came */
	int gate_exit, engine_exit;
	bool engine_told; /* DONE came, with the exit code */
	bool said_why;    /* a sentence came, of the engine or the gate */
} Run;

static volatile sig_atomic_t signals_seen;

static void on_signal(int sig)
{
	(void)sig;
	signals_seen++;
}

static int run_fail(Run *r, int exit, const char *text)
{
	if (!r->why[0])
		snprintf(r->why, RUN_WHY, "%s", text);
	return exit;
}

/* ---- what is missing ---- */

void gate_run_missing(char ret_why[RUN_WHY])
{
	uint64_t have = sandbox_caps();
	char exe[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
	bool raw = have & SANDBOX_CAP_NET_RAW, admin = have & SANDBOX_CAP_NET_ADMIN;

	ret_why[0] = 0;
	if (raw && admin)
		return;
	snprintf(ret_why, RUN_WHY,
		 "missing: %s%s%s; run it by sudo, or once: sudo setcap cap_net_raw,cap_net_admin+ep %.*s",
		 raw ? "" : "CAP_NET_RAW (packet sockets)", raw || admin ? "" : " and ",
		 admin ? "" : "CAP_NET_ADMIN (keeping the kernel from answering for our ports)",
		 n > 0 && n < (ssize_t)sizeof exe ? (int)n : 5, n > 0 && n < (ssize_t)sizeof exe ? exe : "sonde");
}

/* ---- children ---- */

static void child_signals(void)
{
	sigset_t none;

	signal(SIGINT, SIG_IGN); /* Ctrl-C goes to the whole group; cmd passes it on */
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What a child must not have, it must not run with. */
static void child_must(bool ok)
{
	if (!ok)
		_exit(SONDE_EXIT_ENVIRONMENT);
}

static void child_fds(int a, int b, int c)
{
	int keep[KEEP] = { a, b, c, sandbox_is_widened() ? 2 : -1 };

	child_must(proc_close_all_but(keep, KEEP));
}

/* What the sandbox lacks, as the engine's own last or first word. */
static void engine_missing(int out_fd, unsigned missing, bool fatal)
{
	char text[256] = "";
	uint8_t buf[512];
	Writer w = writer(buf, sizeof buf);
	Msg m = { .type = MSG_FAIL, .fail = { .exit = SONDE_EXIT_ENVIRONMENT } };
	size_t n = 0;

	for (unsigned i = 0; i < SANDBOX_N; i++)
		if (missing >> i & 1)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "; " : "",
					      sandbox_layer_text((SandboxLayer)i));
	if (fatal) {
		m.fail.code = str_bytes(STR("E-SANDBOX"));
		m.fail.message = str_bytes(str_c(text));
	} else {
		m = (Msg){ .type = MSG_WARN,
			   .warn = { .code = str_bytes(STR("sandbox_reduced")),
				     .count = 1,
				     .of_peer = 1,
				     .evidence = str_bytes(str_c(text)) } };
	}
	if (msg_put(&w, &m) && write(out_fd, w.p, w.n) < 0 && fatal)
		_exit(SONDE_EXIT_ENVIRONMENT);
}

/* Said in every result: the engine could count cycles. */
static void engine_tsc_open(int out_fd)
{
	uint8_t buf[256];
	Writer w = writer(buf, sizeof buf);
	Msg m = { .type = MSG_STAT,
		  .stat = { .group = str_bytes(STR("sandbox")),
			    .json = str_bytes(STR("{\"rdtsc\":\"open: the machine ignores PR_SET_TSC\"}")) } };

	if (msg_put(&w, &m) && write(out_fd, w.p, w.n) < 0)
		_exit(SONDE_EXIT_ENVIRONMENT);
}

static _Noreturn void engine_child(const Run *r, bool namespaces)
{
	const RunOptions *o = r->o;
	int gate_fd = o->mode == RUN_ALONE ? -1 : r->engine_gate[0], out_fd = r->engine_out[0];
	const int in[2] = { gate_fd, -1 }, out[2] = { gate_fd, out_fd };
	unsigned missing = 0;
	bool tsc_closed = true;
	void *mem;

	proc_die_with(r->self_fd);
	child_signals();
	child_fds(gate_fd, out_fd, -1);
	proc_seal();
	child_must(proc_limit(RLIMIT_CORE, 0) && proc_limit(RLIMIT_FSIZE, 0) && proc_limit(RLIMIT_NPROC, 0));
	mem = mmap(NULL, o->engine_memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		_exit(SONDE_EXIT_ENVIRONMENT);
	if (o->engine_memory > SMALL_MEMORY)
		madvise((char *)mem + SMALL_MEMORY, o->engine_memory - SMALL_MEMORY, MADV_HUGEPAGE);
	if (o->mode == RUN_GATE && !namespaces)
		missing |= 1u << SANDBOX_NAMESPACES;
	missing |= sandbox_engine(namespaces, in, out, &tsc_closed);
	if (missing)
		engine_missing(out_fd, missing, !o->insecure_dev);
	if (missing && !o->insecure_dev)
		_exit(SONDE_EXIT_ENVIRONMENT);
	if (!tsc_closed && o->mode == RUN_GATE)
		engine_tsc_open(out_fd);
	_exit(o->engine_main(o->engine_ctx, gate_fd, out_fd, mem, o->engine_memory));
}

static int fork_engine(Run *r)
{
	bool namespaces = r->o->mode == RUN_GATE;
	int p = namespaces ? proc_fork_ns(&r->engine, sandbox_engine_clone) : proc_fork(&r->engine);

	if (p < 0 && namespaces) { /* no user namespaces here: told by the child as a missing layer */
		namespaces = false;
		p = proc_fork(&r->engine);
	}
	if (p == 0)
		engine_child(r, namespaces);
	return p < 0 ? p : 0;
}

static int fork_loader(Run *r)
{
	LoaderFds fds = { .engine = r->engine_gate[1], .cmd = r->cmd_gate[1], .netd = r->gate_netd[0], .tls = r->tls.gate[0] };
	int p = proc_fork(&r->loader);

	if (p)
		return p < 0 ? p : 0;
	proc_die_with(r->self_fd);
	child_signals();
	int keep[] = { fds.engine, fds.cmd, fds.netd, fds.tls, r->o->write_fd, r->o->record_fd, r->o->session_fd ? r->o->session_fd : -1, sandbox_is_widened() ? 2 : -1 };
	child_must(proc_close_all_but(keep, sizeof keep / sizeof *keep));
	_exit(loader_main(r->o, &fds));
}

/* Not tied to cmd's life: it has to clean up after it. */
static int fork_opener(Run *r)
{
	uint32_t number = (uint32_t)getpid();
	int p = proc_fork(&r->opener);

	if (p)
		return p < 0 ? p : 0;
	child_signals();
	child_fds(r->gate_netd[1], -1, -1);
	_exit(opener_main(r->gate_netd[1], number));
}

static int fork_peer(Run *r)
{
	int p = proc_fork(&r->peer);

	if (p)
		return p < 0 ? p : 0;
	proc_die_with(r->self_fd);
	child_signals();
	child_fds(r->engine_gate[1], r->o->peer_file, -1);
	proc_seal();
	_exit(r->o->peer_main(r->o->peer_ctx, r->engine_gate[1]));
}

/* ---- start ---- */

static int make_channels(Run *r)
{
	int e = proc_channel(r->engine_out);

	if (!e && r->o->mode != RUN_ALONE)
		e = proc_channel(r->engine_gate);
	if (!e && r->o->mode == RUN_GATE)
		e = proc_channel(r->cmd_gate);
	if (!e && r->o->mode == RUN_GATE)
		e = proc_channel(r->gate_netd);
	if (!e && r->o->mode == RUN_GATE)
		e = run_tls_prepare(&r->tls);
	return e;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, NULL); /* they come in ppoll() only */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The opener first, since it alone keeps capabilities; then cmd has none, and so
 * have all that come after from their first instruction on. */
static int start(Run *r)
{
	int e = make_channels(r);

	catch_signals();
	if (!e)
		e = sandbox_prepare();
	if (!e && r->o->mode == RUN_GATE)
		e = fork_opener(r);
	if (!e)
		e = state_group_drop();
	if (!e)
		e = sandbox_leave_root(0, &r->user);
	if (!e)
		e = sandbox_caps_keep(0);
	if (!e && r->o->bare && !r->o->bare(r->o->event_ctx))
		e = -ECANCELED;
	if (!e)
		e = fork_engine(r);
	if (!e && r->o->mode == RUN_GATE)
		e = fork_loader(r);
	if (!e && r->o->mode == RUN_PEER)
		e = fork_peer(r);
	/* the children's ends: whoever ends is then seen by the other side */
	proc_close(&r->engine_out[0]);
	proc_close(&r->engine_gate[0]);
	proc_close(&r->engine_gate[1]);
	proc_close(&r->cmd_gate[1]);
	proc_close(&r->gate_netd[0]);
	proc_close(&r->gate_netd[1]);
	proc_close(&r->tls.gate[0]);
	return e;
}

/* ---- events ---- */

/* The gate tells the engine of a process that could not be started, by its end. */
static void start_tls(Run *r)
{
	static const Msg missing = { .type = MSG_NOTE,
				     .note = { .level = 1,
					       .text = { (const uint8_t *)NO_TLS, sizeof NO_TLS - 1 } } };

	if (run_tls_start(&r->tls))
		r->o->event(r->o->event_ctx, &missing);
}

static void note(Run *r, const Msg *m)
{
	if (m->type == MSG_TLS_START && r->tls.gate[1] >= 0)
		start_tls(r);
	if (m->type == MSG_GATE_END) {
		r->gate_ended = true;
		r->gate_exit = m->gate_end.exit;
	}
	r->said_why |= m->type == MSG_FAIL || (m->type == MSG_GATE_END && m->gate_end.message.n);
	if (m->type == MSG_DONE) {
		r->engine_told = true;
		r->engine_exit = m->done.exit;
	}
	r->o->event(r->o->event_ctx, m);
}

/* One datagram of whole messages.  False: the other side is gone, or talks nonsense. */
static bool take(Run *r, int *fd, char from)
{
	ssize_t n = recv(*fd, r->buf, RUN_BUF, MSG_DONTWAIT | MSG_TRUNC);
	Cursor c;
	Msg m;
	MsgRead got;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	c = cursor(BYTES(r->buf, n > 0 && n <= RUN_BUF ? (size_t)n : 0));
	while ((got = msg_get(&c, from, &m)) == MSG_OK)
		note(r, &m);
	if (n > 0 && n <= RUN_BUF && got == MSG_EMPTY)
		return true;
	if (n)
		r->engine_exit = run_fail(r, SONDE_EXIT_ENVIRONMENT, "what a process of the run says can't be read");
	proc_close(fd);
	return false;
}

static void interrupt(Run *r)
{
	int n = signals_seen;

	signals_seen = 0;
	if (!n)
		return;
	if (r->cmd_gate[0] >= 0 && !r->interrupted)
		proc_send(r->cmd_gate[0], BYTES("i", 1), NULL, 0);
	else if (r->cmd_gate[0] >= 0)
		proc_close(&r->cmd_gate[0]); /* a second time: the gate leaves at once, netd cleans up */
	else
		proc_kill(&r->engine);
	r->interrupted = true;
}

/* What was sent so far is known at once; whoever is deaf to it is killed, the gate last,
 * whose end is the end of emission and which netd cleans up after. */
static void control_stop(Run *r, int64_t patience)
{
	if (r->cmd_gate[0] >= 0 && !r->interrupted)
		proc_send(r->cmd_gate[0], BYTES("i", 1), NULL, 0);
	else if (r->o->mode != RUN_GATE)
		proc_kill(&r->engine);
	r->interrupted = true;
	if (!r->kill_at || patience < r->patience) {
		r->patience = patience;
		r->kill_at = clock_mono_ns() + patience;
	}
}

static void control_take(Run *r)
{
	char c;
	ssize_t n = recv(r->control_fd, &c, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 1 && c == RUN_STOP_SOFT) {
		control_stop(r, STOP_SOFT_NS);
		return;
	}
	r->control_fd = -1; /* the caller's to close */
	control_stop(r, STOP_CUT_NS);
}

static void control_due(Run *r)
{
	int64_t now = clock_mono_ns();

	if (!r->kill_at || now < r->kill_at)
		return;
	proc_kill(&r->engine);
	if (now >= r->kill_at + r->patience)
		proc_kill(&r->loader);
}

enum { EV_OUT, EV_GATE, EV_ENGINE, EV_CONTROL, EV_N };

static int run_poll(Run *r, int64_t wait_ns, short revents[EV_N])
{
	struct pollfd p[EV_N] = {
		[EV_OUT] = { .fd = r->engine_out[1], .events = POLLIN },
		[EV_GATE] = { .fd = r->cmd_gate[0], .events = POLLIN },
		[EV_ENGINE] = { .fd = r->engine.fd, .events = POLLIN },
		[EV_CONTROL] = { .fd = r->control_fd, .events = POLLIN },
	};
	struct timespec t = { .tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000 };
	sigset_t none;
	int n;

	sigemptyset(&none);
	n = ppoll(p, EV_N, wait_ns ? &t : NULL, &none);
	for (int i = 0; i < EV_N; i++)
		revents[i] = n > 0 ? p[i].revents : 0;
	return n;
}

static void engine_reap(Run *r)
{
	int code = proc_wait(&r->engine, -1);

	if (!r->engine_told || code >= 256)
		r->engine_exit = code;
}

/* The gate's end without GATE_END: it died, and nothing may go on. */
static void gate_gone(Run *r)
{
	if (r->gate_ended)
		return;
	if (!r->interrupted) {
		run_fail(r, 0, "the gate died");
		r->gate_exit = SONDE_EXIT_ENVIRONMENT;
	}
	r->gate_ended = true;
	proc_kill(&r->engine);
}

static bool running(const Run *r)
{
	bool gate = r->o->mode == RUN_GATE && r->cmd_gate[0] >= 0 && !r->gate_ended;

	/* its end of the channel closes some ms before the process has ended, which has
	 * namespaces to take down; with DONE all is known that there is to know */
	bool engine = r->engine_out[1] >= 0 || (r->engine.pid > 0 && !r->engine_told);

	return engine || gate;
}

/* An engine that does not leave when its gate has: it may be deaf. */
static void serve_last(Run *r)
{
	int64_t until = clock_mono_ns() + ENGINE_PATIENCE_NS;

	proc_close(&r->cmd_gate[0]); /* all was said */
	while (running(r)) {
		short ev[EV_N];

		run_poll(r, ENGINE_PATIENCE_NS / 10, ev);
		if (ev[EV_CONTROL])
			control_take(r);
		if (ev[EV_OUT])
			take(r, &r->engine_out[1], 'O');
		if (ev[EV_ENGINE])
			engine_reap(r);
		if (clock_mono_ns() > until)
			proc_kill(&r->engine);
	}
}

static void serve(Run *r)
{
	int64_t next = clock_mono_ns() + r->o->tick_ns;

	while (running(r) && !r->gate_ended) {
		short ev[EV_N];
		int n = run_poll(r, r->kill_at ? STOP_CUT_NS / 4 : r->o->tick_ns, ev);

		interrupt(r);
		if (ev[EV_CONTROL])
			control_take(r);
		control_due(r);
		if (r->o->tick_ns && (n == 0 || clock_mono_ns() >= next)) {
			next = clock_mono_ns() + r->o->tick_ns;
			r->o->tick(r->o->event_ctx);
		}
		if (ev[EV_OUT])
			take(r, &r->engine_out[1], 'O');
		if (ev[EV_GATE] && !take(r, &r->cmd_gate[0], 'P'))
			gate_gone(r);
		if (ev[EV_ENGINE])
			engine_reap(r);
	}
	serve_last(r);
}

/* ---- end ---- */

static int netd_end(Run *r)
{
	uint32_t number = (uint32_t)getpid();
	int code;

	if (r->opener.pid <= 0)
		return SONDE_EXIT_OK;
	code = proc_wait(&r->opener, END_PATIENCE_MS);
	if (code == SONDE_EXIT_OK)
		return SONDE_EXIT_OK;
	snprintf(r->why, RUN_WHY,
		 "netd did not prove that its table is gone; look with `nft list tables`, remove it with `nft delete "
		 "table inet sonde-%u`",
		 number);
	return SONDE_EXIT_ENVIRONMENT;
}

static int engine_end(Run *r)
{
	char text[128];

	if (r->gate_exit && (r->engine_exit >= 256 || !r->engine_told)) /* it was ended because of that */
		return r->gate_exit;
	if (r->engine_exit < 256)
		return r->engine_exit < 0 ? SONDE_EXIT_ENVIRONMENT : r->engine_exit;
	snprintf(text, sizeof text, "the engine was killed by signal %d%s", r->engine_exit - 256,
		 r->engine_exit - 256 == SIGSYS	   ? " (it tried a system call outside of its sandbox)"
		 : r->engine_exit - 256 == SIGSEGV ? " (a fault, or a read of the time-stamp counter)"
						   : "");
	return run_fail(r, SONDE_EXIT_ENVIRONMENT, text);
}

/* A run that went well with what the peer could give, which was not all. */
static int peer_end(Run *r, int engine)
{
	int peer = r->peer.pid > 0 ? proc_wait(&r->peer, END_PATIENCE_MS) : 0;

	if (engine || peer <= 0)
		return engine;
	return run_fail(r, SONDE_EXIT_ENVIRONMENT, r->o->peer_fault ? r->o->peer_fault : "its peer failed");
}

static int run_end(Run *r)
{
	int netd, engine;

	proc_close(&r->cmd_gate[0]);
	run_tls_end(&r->tls);
	netd = netd_end(r);
	engine = peer_end(r, engine_end(r));
	if (netd)
		return netd;
	if (r->interrupted) {
		r->why[0] = 0;
		return SONDE_EXIT_INTERRUPTED;
	}
	int exit = r->gate_exit ? r->gate_exit : engine;

	if (exit == SONDE_EXIT_ENVIRONMENT && !r->said_why)
		run_fail(r, exit, "a process of the run failed before it could say why");
	return exit;
}

int gate_run(const RunOptions *o, char ret_why[RUN_WHY])
{
	Run r = { .o = o,
		  .why = ret_why,
		  .self_fd = proc_self_fd(),
		  .engine_gate = { -1, -1 },
		  .control_fd = o->control_fd > 0 ? o->control_fd : -1,
		  .cmd_gate = { -1, -1 },
		  .gate_netd = { -1, -1 },
		  .engine_out = { -1, -1 },
		  .opener = CHILD_NONE,
		  .engine = CHILD_NONE,
		  .loader = CHILD_NONE,
		  .peer = CHILD_NONE,
		  .tls = RUN_TLS_NONE };
	int e;

	ret_why[0] = 0;
	r.tls.self_fd = r.self_fd;
	r.tls.insecure_dev = o->insecure_dev;
	r.buf = malloc(RUN_BUF);
	if (!r.buf)
		return run_fail(&r, SONDE_EXIT_ENVIRONMENT, "no memory");
	e = start(&r);
	if (e) {
		proc_kill(&r.engine);
		if (e != -ECANCELED)
			snprintf(ret_why, RUN_WHY, "the processes of a run can't be started: %s", strerror(-e));
		return SONDE_EXIT_ENVIRONMENT;
	}
	serve(&r);
	e = run_end(&r);
	free(r.buf);
	proc_close(&r.self_fd);
	return e;
}
