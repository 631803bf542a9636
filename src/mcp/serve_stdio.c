/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread reads; what may take time gets a thread of its own, so that a cancellation
 * is heard meanwhile.  Standard output carries whole lines under one lock.
 */
#include "mcp/serve_stdio.h"

#include "base/limits.h"
#include "mcp/aside.h"
#include "mcp/rpc.h"
#include "sys/io.h"
#include "sys/proc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { END_WAIT_S = 2, THREADS_MOST = LIMIT_MCP_FLIGHTS + 8 };

typedef struct Stdio {
	Link link; /* first: the dispatcher's view of it */
	Mcp *mcp;
	const Caller *caller;
	RpcSession *session;
	int out;
	pthread_mutex_t out_lock, lock;
	pthread_cond_t changed;
	unsigned threads;
	bool dead; /* nobody reads what we write */
} Stdio;

static bool send_line(Link *l, json_t *message_stolen)
{
	Stdio *s = (Stdio *)l;
	char *text = message_stolen ? json_dumps(message_stolen, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	size_t n = text ? strlen(text) : 0;
	bool ok;

	if (!text) {
		json_decref(message_stolen);
		return !message_stolen && !s->dead;
	}
	json_decref(message_stolen);
	text[n] = '\n'; /* in the zero byte's place: one write, one line */
	pthread_mutex_lock(&s->out_lock);
	ok = !s->dead && io_write(s->out, BYTES(text, n + 1)) == n + 1;
	s->dead = !ok;
	pthread_mutex_unlock(&s->out_lock);
	free(text);
	return ok;
}

static void handle(Stdio *s, json_t *message)
{
	RpcIn in = { .mcp = s->mcp, .caller = s->caller, .session = &s->session, .link = &s->link, .message = message };
	RpcOut out;

	rpc_handle(&in, &out);
	if (out.message)
		send_line(&s->link, out.message);
	if (out.then)
		send_line(&s->link, out.then);
}

typedef struct Job {
	Stdio *s;
	json_t *message;
} Job;

static void *job_main(void *arg)
{
	Job *j = arg;

	handle(j->s, j->message);
	json_decref(j->message);
	pthread_mutex_lock(&j->s->lock);
	j->s->threads--;
	pthread_cond_broadcast(&j->s->changed);
	pthread_mutex_unlock(&j->s->lock);
	free(j);
	return NULL;
}

/* On a thread of its own; here, if there can be none. */
static void start(Stdio *s, json_t *message_stolen)
{
	Job *j = malloc(sizeof *j);
	bool ok;

	pthread_mutex_lock(&s->lock);
	ok = j && s->threads < THREADS_MOST;
	s->threads += ok;
	pthread_mutex_unlock(&s->lock);
	if (ok) {
		*j = (Job){ .s = s, .message = message_stolen };
		if (aside_thread(job_main, j))
			return;
		pthread_mutex_lock(&s->lock);
		s->threads--;
		pthread_mutex_unlock(&s->lock);
	}
	free(j);
	handle(s, message_stolen);
	json_decref(message_stolen);
}

static void take_line(Stdio *s, const char *text, size_t n)
{
	RpcOut out;
	json_t *m;

	if (n && text[n - 1] == '\r')
		n--;
	if (!n)
		return;
	m = rpc_parse(text, n, &out);
	if (!m) {
		send_line(&s->link, out.message);
	} else if (rpc_is_quick(s->mcp, m)) {
		handle(s, m);
		json_decref(m);
	} else {
		start(s, m);
	}
}

/* True: there is something to read, or the end of it; false: a signal came. */
static bool wait_for_input(int in, int signal_fd)
{
	struct pollfd p[2] = { { .fd = signal_fd, .events = POLLIN }, { .fd = in, .events = POLLIN } };

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	return !p[0].revents;
}

/* Lines, until the end of file or a signal.  Of one that is too long only its length is taken note of. */
static void read_lines(Stdio *s, int in, int signal_fd)
{
	size_t cap = LIMIT_MCP_MESSAGE + 2, n = 0;
	char *buf = malloc(cap);
	bool skipping = false, go_on = true;

	while (buf && !s->dead && (go_on = wait_for_input(in, signal_fd))) {
		ssize_t got = read(in, buf + n, cap - n);
		size_t from = 0;
		char *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		while ((end = memchr(buf + from, '\n', n - from))) {
			if (!skipping)
				take_line(s, buf + from, (size_t)(end - buf) - from);
			skipping = false;
			from = (size_t)(end - buf) + 1;
		}
		memmove(buf, buf + from, n - from);
		n -= from;
		if (n == cap) {
			if (!skipping)
				take_line(s, buf, n);
			skipping = true;
			n = 0;
		}
	}
	if (n && !skipping && go_on)
		take_line(s, buf, n);
	free(buf);
}

/* What is under way hears of the end; who does not finish soon is left behind. */
static bool wait_for_threads(Stdio *s)
{
	struct timespec until;
	bool all;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_S;
	pthread_mutex_lock(&s->lock);
	while (s->threads && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
		;
	all = s->threads == 0;
	pthread_mutex_unlock(&s->lock);
	return all;
}

bool stdio_serve(Mcp *m, const Caller *caller, int in, int out, int signal_fd)
{
	Stdio *s = calloc(1, sizeof *s);

	if (!s)
		return false;
	*s = (Stdio){ .link = { .send = send_line, .gone_fd = -1 }, .mcp = m, .caller = caller, .out = out,
		      .session = rpc_session_new(m, caller) };
	if (!s->session) {
		free(s);
		return false;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->out_lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	read_lines(s, in, signal_fd);
	if (proc_readable(signal_fd, 0)) {
		server_stop(m);
		wait_for_threads(s);
	}
	rpc_session_end(m, s->session);
	if (!wait_for_threads(s))
		return false; /* they still use s */
	rpc_session_free(m, s->session);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->out_lock);
	pthread_cond_destroy(&s->changed);
	free(s);
	return true;
}
