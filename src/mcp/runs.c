/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher's and the checker's client.  An ask takes its descriptors along: what the
 * launcher still holds of a call is gone when these are closed, whoever closed them.
 */
#include "mcp/runs.h"

#include "base/limits.h"
#include "base/units.h"
#include "deal/launch.h"
#include "mcp/server.h"
#include "sys/clock.h"
#include "sys/io.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SOFT_END_MS = 5000,	 /* what an interrupted run may take to say what it knows */
	STOP_END_MS = 1000,	 /* the same when this server shuts down */
	CHECK_PATIENCE_MS = 60000,
	CHECK_AGAIN_MS = 2000, /* what took longer was no accident */
	ASK_PATIENCE_MS = 30000,
	BUSY_TRIES = 10,
	BUSY_MS = 25,
	READ_PIECE = 64 * 1024,
	TEXT_MOST = 1024 * 1024, /* of a policy or a list */
};

static const char no_memory[] = "this server has no memory or no descriptor left: try again later";

/* Of the thread's last call. */
static _Thread_local char why_text[sizeof((LaunchSaid *)NULL)->text];

/* ---- one answer under way ---- */

typedef struct Answer {
	int pipe[2], control[2]; /* the second ends are the other side's */
	char *buf;
	size_t n, cap, most;
	bool too_long;
	bool busy; /* there may be a place for it soon */
} Answer;

static void answer_end(Answer *a)
{
	for (int i = 0; i < 2; i++) {
		proc_close(&a->pipe[i]);
		proc_close(&a->control[i]);
	}
	free(a->buf);
	a->buf = NULL;
}

static bool answer_begin(Answer *a, bool control, size_t most)
{
	*a = (Answer){ .pipe = { -1, -1 }, .control = { -1, -1 }, .most = most };
	if (pipe2(a->pipe, O_CLOEXEC) == 0 &&
	    (!control || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, a->control) == 0))
		return true;
	answer_end(a);
	return false;
}

static bool make_room(Answer *a)
{
	size_t cap = a->cap ? 2 * a->cap : READ_PIECE;

	if (a->cap - a->n >= READ_PIECE / 4)
		return true;
	if (a->n >= a->most) {
		a->too_long = true;
		return false;
	}
	char *p = realloc(a->buf, cap);

	if (!p)
		return false;
	a->buf = p;
	a->cap = cap;
	return true;
}

/* False: its end, or no room. */
static bool answer_read(Answer *a)
{
	ssize_t n = make_room(a) ? read(a->pipe[0], a->buf + a->n, a->cap - a->n) : 0;

	if (n < 0 && errno == EINTR)
		return true;
	if (n > 0)
		a->n += (size_t)n;
	return n > 0;
}

/* ---- asking ---- */

static void set_text(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	for (; text && text[n] && n + 1 < cap; n++)
		out[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
	memset(out + n, 0, cap - n);
}

static LaunchAsk ask_of(const Call *c, LaunchOp op)
{
	LaunchAsk ask = { .op = (uint8_t)op };

	set_text(ask.caller, sizeof ask.caller, c->caller->name);
	return ask;
}

static bool ask_send(const Call *c, const LaunchAsk *ask, const int *fds, size_t n, const char **ret_why)
{
	uint8_t out[LAUNCH_ASK];

	launch_ask_put(ask, out);
	if (c->mcp->launcher_fd >= 0 && proc_send(c->mcp->launcher_fd, BYTES(out, sizeof out), fds, n) == 0)
		return true;
	*ret_why = c->mcp->launcher_fd < 0 ? "this server has no launcher: nothing can run" : "the launcher is gone";
	return false;
}

/* What the launcher said in place of an answer. */
static const char *said(Answer *a, const char *otherwise)
{
	uint8_t buf[LAUNCH_SAID + 1];
	LaunchSaid s;
	ssize_t n = a->control[0] < 0 ? 0 : recv(a->control[0], buf, sizeof buf, MSG_DONTWAIT);

	if (a->too_long)
		return "the answer is longer than is taken: print less";
	if (n <= 0 || !launch_said_get(BYTES(buf, (size_t)n), &s) || s.ok)
		return otherwise;
	a->busy = s.busy;
	snprintf(why_text, sizeof why_text, "%s", s.text);
	return why_text;
}

/* A run's process ends a moment after its answer, and only then its place is another's: who
 * calls again at once is not to be told that there is none. */
static bool try_again(Call *c, const Answer *a, unsigned tries)
{
	struct pollfd p = { .fd = c->cancel_fd, .events = POLLIN };

	return a->busy && tries < BUSY_TRIES && (poll(&p, 1, BUSY_MS) <= 0 || !call_cancelled(c));
}

/* ---- jobs ---- */

/* NULL: it does not fit. */
static uint8_t *job_bytes(const RunAsk *ask, size_t *ret_n, const char **ret_why)
{
	LaunchJob *job = calloc(1, sizeof *job);
	uint8_t *buf = malloc(LIMIT_LAUNCH_JOB);
	Writer w = writer(buf, buf ? LIMIT_LAUNCH_JOB : 0);
	bool fits = job && buf && ask->nparam <= LIMIT_LAUNCH_PARAMS;

	if (fits) {
		*job = (LaunchJob){ .name = str_c(ask->name ? ask->name : "program"),
				    .text = str_c(ask->text),
				    .limits = str_c(ask->limits),
				    .nparam = ask->nparam };
		for (unsigned i = 0; i < ask->nparam; i++)
			job->param[i] = (LaunchParam){ str_c(ask->param[i].name), str_c(ask->param[i].value) };
		fits = launch_job_put(&w, job);
	}
	if (!fits) {
		*ret_why = !job || !buf ? no_memory
					: "the program, its limits or the values of its params are longer than is taken: "
					  "65536 bytes of program, 32 params of 4096 bytes each, 32768 in all";
		free(buf);
		buf = NULL;
	}
	free(job);
	*ret_n = w.n;
	return buf;
}

static int job_file(const RunAsk *ask, const char **ret_why)
{
	size_t n;
	uint8_t *job = job_bytes(ask, &n, ret_why);
	int fd = job ? memfd_create("job", MFD_CLOEXEC) : -1;

	if (job && (fd < 0 || io_write(fd, BYTES(job, n)) != n)) {
		*ret_why = no_memory;
		proc_close(&fd);
	}
	free(job);
	return fd;
}

/* ---- reading what came ---- */

static json_t *object_of(const char *text, size_t n)
{
	json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

	if (j && !json_is_object(j)) {
		json_decref(j);
		j = NULL;
	}
	return j;
}

static void tell_progress(Call *c, const RunAsk *ask, json_t *line)
{
	json_int_t ms = 0, bytes = 0, results = 0;
	double total = ask->deadline_ms > 0 ? ask->deadline_ms / 1e3 : -1;
	char text[96];

	if (json_unpack(line, "{s:{s:I,s:I,s:I}}", "progress", "elapsed_ms", &ms, "output_bytes", &bytes, "results", &results))
		return;
	snprintf(text, sizeof text, "running for %.1f s: %lld bytes of output, %lld results", (double)ms / 1e3,
		 (long long)bytes, (long long)results);
	call_progress(c, (double)ms / 1e3, total, text);
}

/* Takes whole lines off the front; the last object seen. */
static json_t *take_lines(Call *c, const RunAsk *ask, Answer *a, size_t *from, json_t *last)
{
	char *nl;

	while ((nl = a->n > *from ? memchr(a->buf + *from, '\n', a->n - *from) : NULL)) {
		json_t *line = object_of(a->buf, (size_t)(nl - a->buf));

		if (line && json_object_get(line, "progress")) {
			tell_progress(c, ask, line);
			json_decref(line);
		} else if (line) {
			json_decref(last);
			last = line;
		}
		a->n -= (size_t)(nl + 1 - a->buf);
		memmove(a->buf, nl + 1, a->n);
		*from = 0;
	}
	*from = a->n; /* nothing to find before that */
	return last;
}

/* ---- a run ---- */

typedef struct Wait {
	Call *c;
	const RunAsk *ask;
	Answer *a;
	int64_t deadline; /* INT64_MAX: none */
	const char *interrupted; /* why, or NULL */
	bool cancelled;
} Wait;

static int64_t after_ms(int64_t ms)
{
	return clock_mono_ns() + ms * (NS_PER_S / 1000);
}

/* It is asked to end, and later, deaf to that, cut off.  False: the latter. */
static bool interrupt(Wait *w, const char *why, int soft_ms)
{
	if (w->interrupted)
		return false;
	w->interrupted = why;
	w->deadline = after_ms(soft_ms);
	proc_send(w->a->control[0], BYTES(&(char){ LAUNCH_STOP }, 1), NULL, 0);
	return true;
}

/* True: there is something to read, or it has ended. */
static bool wait_more(Wait *w)
{
	struct pollfd p[] = {
		{ .fd = w->a->pipe[0], .events = POLLIN },
		{ .fd = w->c->cancel_fd, .events = POLLIN },
		{ .fd = w->interrupted ? -1 : w->c->mcp->stop_fd, .events = POLLIN },
	};

	for (;;) {
		int64_t left = w->deadline == INT64_MAX ? INT64_MAX : (w->deadline - clock_mono_ns()) / (NS_PER_S / 1000);
		int n = left <= 0 ? 0 : poll(p, 3, left > 60000 ? 60000 : (int)left);

		if (n > 0 && p[1].revents && call_cancelled(w->c)) {
			w->cancelled = true;
			return false;
		}
		if (n > 0 && p[0].revents)
			return true;
		if (n > 0 && p[1].revents) /* not for us */
			p[1].fd = -1;
		if (n > 0 && p[2].revents) {
			p[2].fd = -1;
			interrupt(w, RUN_SHUTDOWN, STOP_END_MS);
		}
		if (n < 0 && errno != EINTR)
			return false;
		if (left <= 0 && !interrupt(w, RUN_DEADLINE, SOFT_END_MS))
			return false;
	}
}

static json_t *wait_run(Wait *w, const char **ret_why)
{
	json_t *last = NULL;
	size_t from = 0;
	bool more;

	proc_close(&w->a->pipe[1]);
	proc_close(&w->a->control[1]);
	while ((more = wait_more(w)) && answer_read(w->a))
		last = take_lines(w->c, w->ask, w->a, &from, last);
	if (!w->cancelled && more && last && json_is_integer(json_object_get(last, "exit"))) {
		if (w->interrupted)
			json_object_set_new(last, w->interrupted, json_true());
		return last;
	}
	json_decref(last);
	*ret_why = w->cancelled ? "cancelled"
		   : more	? said(w->a, "the run ended without an answer: the server's own log says why")
				: "the run did not end when it was told to, and was cut off";
	return NULL;
}

json_t *runs_run(Call *c, const RunAsk *ask, const char **ret_why)
{
	LaunchAsk a = ask_of(c, LAUNCH_RUN);
	Answer answer;
	Wait w = { .c = c, .ask = ask, .a = &answer, .deadline = ask->deadline_ms > 0 ? after_ms(ask->deadline_ms) : INT64_MAX };
	json_t *j = NULL;
	int job = job_file(ask, ret_why);

	a.max_output = ask->max_output;
	a.approved = ask->approve && hash_parse(str_bytes(str_c(ask->approve)), &a.approve);
	if (job < 0)
		return NULL;
	for (unsigned tries = 0;; tries++) {
		if (!answer_begin(&answer, true, LIMIT_MCP_ANSWER)) {
			*ret_why = no_memory;
			break;
		}
		if (ask_send(c, &a, (const int[]){ job, answer.pipe[1], answer.control[1] }, 3, ret_why))
			j = wait_run(&w, ret_why);
		answer_end(&answer);
		if (j || !try_again(c, &answer, tries))
			break;
	}
	close(job);
	return j;
}

/* ---- a check ---- */

/* All until its end; false after the time. */
static bool read_all(Answer *a, int timeout_ms)
{
	proc_close(&a->pipe[1]);
	proc_close(&a->control[1]);
	do
		if (!proc_readable(a->pipe[0], timeout_ms))
			return false;
	while (answer_read(a));
	return true;
}

static bool is_diagnostic(json_t *d)
{
	const char *code, *severity, *message, *hint, *path;
	json_t *span, *fix = NULL;

	return json_unpack_ex(d, NULL, JSON_STRICT, "{s:s,s:s,s:s,s:o,s?s,s?s,s?o}", "code", &code, "severity", &severity,
			      "message", &message, "span", &span, "hint", &hint, "path", &path, "fix", &fix) == 0 &&
	       json_is_object(span) && (!fix || json_is_object(fix));
}

/* The child that wrote it has read a stranger's program: its shape is not taken for granted. */
static bool is_check(json_t *j)
{
	const char *sha;
	json_t *diags, *manifest, *d;
	json_int_t exit;
	size_t i;

	if (!j || json_unpack_ex(j, NULL, JSON_STRICT, "{s:s,s:o,s:o,s:I}", "sha256", &sha, "diagnostics", &diags, "manifest",
				 &manifest, "exit", &exit) ||
	    !json_is_array(diags) || !(json_is_object(manifest) || json_is_null(manifest)) || (exit != 0 && exit != 2))
		return false;
	json_array_foreach(diags, i, d)
		if (!is_diagnostic(d))
			return false;
	return true;
}

static json_t *read_check(Answer *a, const RunAsk *ask, const char **ret_why)
{
	char hex[SHA256_TEXT];
	json_t *j = read_all(a, CHECK_PATIENCE_MS) ? object_of(a->buf, a->n) : NULL;

	if (!is_check(j)) {
		json_decref(j);
		*ret_why = "the checker gave no answer: the program may need more time or memory than there is";
		return NULL;
	}
	hash_format(sha256(str_bytes(str_c(ask->text))), hex);
	json_object_set_new(j, "sha256", json_string(hex));
	return j;
}

static json_t *check_once(const Call *c, const RunAsk *ask, Bytes job, const char **ret_why)
{
	Answer answer;
	json_t *j = NULL;

	if (!answer_begin(&answer, false, LIMIT_MCP_CHECK_ANSWER)) {
		*ret_why = no_memory;
		return NULL;
	}
	if (proc_send(c->mcp->checker_fd, job, &answer.pipe[1], 1) == 0)
		j = read_check(&answer, ask, ret_why);
	else
		*ret_why = "the checker is gone";
	answer_end(&answer);
	return j;
}

json_t *runs_check(Call *c, const RunAsk *ask, const char **ret_why)
{
	int64_t soon = after_ms(CHECK_AGAIN_MS);
	size_t n;

	if (c->mcp->checker_fd < 0) {
		*ret_why = "this server has no checker";
		return NULL;
	}
	uint8_t *job = job_bytes(ask, &n, ret_why);

	if (!job)
		return NULL;
	json_t *j = check_once(c, ask, BYTES(job, n), ret_why);

	if (!j && clock_mono_ns() < soon) /* a checker that dies takes along what its children have: the next one is asked */
		j = check_once(c, ask, BYTES(job, n), ret_why);
	free(job);
	return j;
}

/* ---- the rest ---- */

/* A text that a child of the launcher writes; NULL: *ret_why. */
static char *read_text(Call *c, LaunchOp op, const char **ret_why)
{
	LaunchAsk ask = ask_of(c, op);
	Answer a;
	char *text = NULL;

	for (unsigned tries = 0;; tries++) {
		if (!answer_begin(&a, true, TEXT_MOST)) {
			*ret_why = no_memory;
			break;
		}
		if (ask_send(c, &ask, (const int[]){ a.pipe[1], a.control[1] }, 2, ret_why)) {
			if (read_all(&a, ASK_PATIENCE_MS) && a.n && !a.too_long)
				text = strndup(a.buf, a.n);
			else
				*ret_why = said(&a, "the launcher gave no answer: the server's own log says why");
		}
		answer_end(&a);
		if (text || !try_again(c, &a, tries))
			break;
	}
	return text;
}

char *runs_policy(Call *c, const char **ret_why)
{
	return read_text(c, LAUNCH_POLICY, ret_why);
}

json_t *runs_local(Call *c, const char **ret_why)
{
	char *text = read_text(c, LAUNCH_LOCAL, ret_why), *rest = text;
	json_t *all = text ? json_object() : NULL;

	for (char *line; all && rest && *(line = strsep(&rest, "\n"));) {
		json_t *j = object_of(line, strlen(line));

		if (!j || json_object_update(all, j) < 0) {
			*ret_why = "what the launcher says of this host can't be read";
			json_decref(all);
			all = NULL;
		}
		json_decref(j);
	}
	free(text);
	return all;
}

bool runs_audit(Call *c, const char *tool, const char *args_sha256, const char *outcome, const char *finding_id)
{
	LaunchAsk ask = ask_of(c, LAUNCH_AUDIT);
	uint8_t buf[LAUNCH_SAID + 1];
	LaunchSaid s = { 0 };
	const char *why;
	int control[2];

	if (c->mcp->launcher_fd < 0)
		return true; /* a build for tests */
	set_text(ask.tool, sizeof ask.tool, tool);
	set_text(ask.outcome, sizeof ask.outcome, outcome);
	set_text(ask.finding, sizeof ask.finding, finding_id);
	if (args_sha256)
		hash_parse(str_bytes(str_c(args_sha256)), &ask.args);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control))
		return false;
	bool sent = ask_send(c, &ask, &control[1], 1, &why);

	proc_close(&control[1]);
	if (sent && proc_readable(control[0], ASK_PATIENCE_MS)) {
		ssize_t n = recv(control[0], buf, sizeof buf, MSG_DONTWAIT);

		if (n <= 0 || !launch_said_get(BYTES(buf, (size_t)n), &s))
			s.ok = false;
	}
	proc_close(&control[0]);
	return s.ok;
}
