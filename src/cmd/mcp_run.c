/* SPDX-License-Identifier: Apache-2.0
 *
 * One run for an agent: `sonde run` with the front's pipe as standard output, under the
 * policies and the session of the one who asks.
 */
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/cmd_mcp.h"
#include "cmd/ledgers.h"
#include "cmd/mcp_keys.h"
#include "cmd/run_job.h"
#include "sys/io.h"
#include "sys/listeners.h"
#include "sys/proc.h"
#include "sys/rtnl.h"
#include "sys/sandbox.h"
#include "sys/state.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct McpJob {
	RunJob run;
	int job_fd, launcher_fd;
	char approve[SHA256_TEXT];
	LaunchJob job;
	uint8_t buf[LIMIT_LAUNCH_JOB + 1];
} McpJob;

const char *mcp_session(Arena *a, const McpOptions *o, const char *caller)
{
	return o->http ? str_printf(a, "mcp %s", caller).p : str_printf(a, "mcp uid %u", (unsigned)getuid()).p;
}

bool mcp_policies(Arena *a, const McpOptions *o, const char *caller, Policies *ret_p)
{
	const char *his = NULL, *why = NULL;

	if (!policies_read(a, &o->policy, ret_p))
		return false;
	if (!ret_p->installed)
		why = "sonde mcp does not start on the built-in policy, which allows any peer: say whom agents may probe, as root: "
		      "sonde policy init mcp --reach 10.0.0.0/8 --zone acme.corp";
	else if (caller && o->keys)
		why = mcp_keys_policy(a, o->keys, caller, &his);
	if (why)
		cmd_fail(0, "%s", why);
	return !why && (!his || policies_add(a, ret_p, his));
}

/* Standard output is the answer's pipe, standard input nothing; standard error stays. */
static void standard_fds(int answer)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(answer, STDOUT_FILENO) < 0)
		_exit(SONDE_EXIT_ENVIRONMENT);
}

static void child_begin(int answer, const int *fds, size_t n, int launcher_fd)
{
	int keep[8] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, launcher_fd };

	proc_die_with(launcher_fd);
	standard_fds(answer);
	for (size_t i = 0; i < n; i++)
		keep[4 + i] = fds[i];
	if (!proc_close_all_but(keep, 4 + n))
		_exit(SONDE_EXIT_ENVIRONMENT);
}

/* The front's bytes are read here, where there is no capability left. */
static bool bare(RunJob *run)
{
	McpJob *m = (McpJob *)(void *)run;
	FactsParam *p;

	proc_die_with(m->launcher_fd); /* becoming another user undid it */
	ssize_t n = pread(m->job_fd, m->buf, sizeof m->buf, 0);

	if (n <= 0 || !launch_job_get(BYTES(m->buf, (size_t)n), &m->job)) {
		report_error(&run->report, SONDE_EXIT_ENVIRONMENT, "E-ENVIRONMENT", STR("what the front asks to run can't be read"));
		return false;
	}
	p = arena_new_n(run->a, FactsParam, m->job.nparam);
	for (uint32_t i = 0; i < m->job.nparam; i++)
		p[i] = (FactsParam){ .name = m->job.param[i].name, .value = m->job.param[i].value };
	run->name = m->job.name;
	run->text = m->job.text;
	run->param = p;
	if (m->job.limits.n) /* there is room: the server's own are counted at the start */
		run->policies.file[run->policies.n++] =
			(PolicyFile){ .path = STR("limits of the call"), .text = m->job.limits, .regular = true, .call = true };
	run->nparam = m->job.nparam;
	return true;
}

/* Never waits: a front that does not read must not keep the run from being stopped. */
static void tick(RunJob *run, int64_t elapsed_ns)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	if (poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		dprintf(STDOUT_FILENO, "{\"progress\":{\"elapsed_ms\":%lld,\"output_bytes\":%zu,\"results\":%u}}\n",
			(long long)(elapsed_ns / 1000000), run->report.written + run->report.cut, run->report.results.n);
}

void mcp_run(const McpOptions *o, const LaunchAsk *ask, const int fds[3], int session_fd, int launcher_fd)
{
	static McpJob m = { .run = RUN_JOB_NONE };
	const int keep[] = { fds[0], fds[2], session_fd };
	static Arena a;
	RunJob *run = &m.run;

	child_begin(fds[1], keep, 3, launcher_fd);
	a = cmd_arena(256 << 20);
	m.job_fd = fds[0];
	m.launcher_fd = launcher_fd;
	run->a = &a;
	run->say = (ReportOptions){ .json = true, .max_output = ask->max_output ? ask->max_output : LIMIT_OUTPUT };
	run->run.session = mcp_session(&a, o, ask->caller);
	run->run.zones_none = true;
	run->run.control_fd = fds[2];
	run->run.session_fd = run->say.session_fd = session_fd;
	hash_format(ask->approve, m.approve);
	run->run.approve_hash = ask->approved ? m.approve : NULL;
	run->bare = bare;
	run->tick = tick;
	if (!mcp_policies(&a, o, ask->caller, &run->policies)) {
		mcp_say(fds[2], "no policy is in force for this caller, so nothing runs: the server's own log says why");
		_exit(SONDE_EXIT_POLICY);
	}
	_exit(run_job(run));
}

/* ---- what listens here, and who is next to it ---- */

enum { NEIGHBOURS_MOST = 200 };

/* A line of JSON: {"neighbors":[{"addr":"10.0.0.1","mac":"..","iface":"eth0","state":"stale"}]}. */
static bool write_neighbours(Arena *a)
{
	Rtnl *r = rtnl_open();
	Neigh *n = arena_new_n(a, Neigh, NEIGHBOURS_MOST);
	int count = r ? rtnl_neighs(r, n, NEIGHBOURS_MOST) : -1;
	Sb out = sb(a);
	Json j = json(&out);
	Link link;

	json_open(&j, '{');
	json_key(&j, "neighbors");
	json_open(&j, '[');
	for (int i = 0; i < count; i++) {
		char addr[IP_TEXT], mac[MAC_TEXT];

		if (n[i].state == NEIGH_NONE || rtnl_link(r, n[i].index, &link) < 0)
			continue;
		json_open(&j, '{');
		json_kstr(&j, "addr", (Str){ addr, ip_format(n[i].ip, addr) });
		if (n[i].state != NEIGH_FAILED)
			json_kstr(&j, "mac", (Str){ mac, mac_format(n[i].mac, mac) });
		json_kstr(&j, "iface", str_c(link.name));
		json_kstr(&j, "state", str_c(neigh_state_text(n[i].state)));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	sb_char(&out, '\n');
	rtnl_close(r);
	return count >= 0 && cmd_write(STDOUT_FILENO, sb_done(&out));
}

/* With the launcher's rights, since only these see whose a socket is; it reads the kernel's
 * own words. */
void mcp_local(const int fds[2], int launcher_fd)
{
	Arena a = cmd_arena(1 << 20);

	child_begin(fds[0], NULL, 0, launcher_fd);
	_exit(listeners_write(STDOUT_FILENO) && write_neighbours(&a) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT);
}

/* ---- what a caller may do ---- */

void mcp_policy(const McpOptions *o, const LaunchAsk *ask, const int fds[2], int launcher_fd)
{
	Arena a = cmd_arena(64 << 20);
	Sb out = sb(&a);
	PolicyList list = { 0 };
	Policies p;
	Ledger l;
	Str why = { 0 };
	const char *who, *session = mcp_session(&a, o, ask->caller);
	bool read = mcp_policies(&a, o, ask->caller, &p);
	const char *fault = ledgers_open_as(&a, session, &l);
	int keep[] = { fault ? -1 : l.fd, fault ? -1 : l.log_fd };

	child_begin(fds[0], keep, fault ? 0 : 2, launcher_fd);
	if (!read || state_group_drop() || sandbox_leave_root(0, &who) || sandbox_caps_keep(0))
		_exit(SONDE_EXIT_ENVIRONMENT);
	if (!policies_parse(&p, &a, &list, &why))
		_exit(cmd_fail(SONDE_EXIT_POLICY, "%.*s", STR_ARG(why)));
	policies_text(&p, &out);
	ledgers_hour_text(&list, fault ? NULL : &l, fault, session, &out);
	_exit(cmd_write(STDOUT_FILENO, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT);
}
