/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_exchange.h"

#include "base/limits.h"
#include "mcp/aside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	OPEN_AFTER_MS = 10000, /* a stream keeps those between us awake */
	COMMENT_MS = 15000,
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before an exchange's own */
static Exchange *all;
static unsigned exchanges;

static unsigned count(void)
{
	unsigned n;

	pthread_mutex_lock(&all_lock);
	n = exchanges;
	pthread_mutex_unlock(&all_lock);
	return n;
}

bool exchange_drain(int timeout_ms)
{
	for (int ms = 0; count() && ms < timeout_ms; ms += 10)
		poll(NULL, 0, 10);
	return !count();
}

static void enlist(Exchange *x)
{
	pthread_mutex_lock(&all_lock);
	x->next = all;
	x->prev = &all;
	if (all)
		all->prev = &x->next;
	all = x;
	exchanges++;
	pthread_mutex_unlock(&all_lock);
}

static void unlist(Exchange *x)
{
	pthread_mutex_lock(&all_lock);
	*x->prev = x->next;
	if (x->next)
		x->next->prev = x->prev;
	exchanges--;
	pthread_mutex_unlock(&all_lock);
}

void exchange_check(bool (*good)(void *ctx, const Caller *who), void *ctx)
{
	pthread_mutex_lock(&all_lock);
	for (Exchange *x = all; x; x = x->next)
		if (!good(ctx, &x->caller))
			exchange_gone(x);
	pthread_mutex_unlock(&all_lock);
}

/* Under the lock. */
static bool queue_add(Exchange *x, const char *p, size_t n)
{
	if (x->queue_n + n > LIMIT_MCP_QUEUE)
		return false;
	if (x->queue_n + n > x->queue_cap) {
		size_t cap = x->queue_cap ? x->queue_cap : 1024;
		char *q;

		while (cap < x->queue_n + n)
			cap *= 2;
		q = realloc(x->queue, cap);
		if (!q)
			return false;
		x->queue = q;
		x->queue_cap = cap;
	}
	memcpy(x->queue + x->queue_n, p, n);
	x->queue_n += n;
	return true;
}

/* Under the lock. */
static bool queue_message(Exchange *x, json_t *m)
{
	char *text = json_dumps(m, JSON_COMPACT | JSON_ENCODE_ANY);
	size_t n = text ? strlen(text) : 0;
	bool ok;

	if (!text)
		return false;
	if (x->open)
		ok = queue_add(x, "event: message\ndata: ", 21) && queue_add(x, text, n) && queue_add(x, "\n\n", 2);
	else
		ok = queue_add(x, text, n);
	free(text);
	return ok;
}

static void gone_locked(Exchange *x)
{
	if (!x->gone)
		aside_raise(x->link.gone_fd);
	x->gone = true;
	aside_raise(x->wake_fd);
}

/* Whoever reads slower than we write for so long is as good as gone. */
static bool send_event(Link *l, json_t *message_stolen)
{
	Exchange *x = (Exchange *)l;
	bool ok;

	pthread_mutex_lock(&x->lock);
	ok = !x->gone && !x->done;
	if (ok) {
		x->open = true;
		if (message_stolen && !queue_message(x, message_stolen)) {
			gone_locked(x);
			ok = false;
		}
		aside_raise(x->wake_fd);
	}
	pthread_mutex_unlock(&x->lock);
	json_decref(message_stolen);
	return ok;
}

/* RpcHttp.param. */
static const char *param(void *ctx, const char *name)
{
	Exchange *x = ctx;
	Str prefix = STR("mcp-param-");

	for (size_t i = 0; i < x->head.pairs; i++) {
		Str have = x->pair[i].name;

		if (have.n >= prefix.n && str_same((Str){ have.p, prefix.n }, prefix) &&
		    str_same((Str){ have.p + prefix.n, have.n - prefix.n }, str_c(name)))
			return x->pair[i].value.p;
	}
	return NULL;
}

/* Zero-terminated: the head has no zero byte in it. */
static Str keep(char **at, Str s)
{
	Str copy = { .p = *at, .n = s.n };

	if (s.n)
		memcpy(*at, s.p, s.n);
	(*at)[s.n] = 0;
	*at += s.n + 1;
	return copy;
}

static bool keep_head(Exchange *x, const HttpHead *head)
{
	size_t n = 1;
	char *at;

	for (size_t i = 0; i < head->pairs; i++)
		n += head->pair[i].name.n + head->pair[i].value.n + 2;
	for (int f = 0; f < HTTP_FIELD_N; f++)
		n += head->field[f].n + 1;
	x->texts = at = malloc(n);
	if (!at)
		return false;
	x->head = *head;
	x->head.pair = x->pair;
	for (size_t i = 0; i < head->pairs; i++)
		x->pair[i] = (HttpPair){ .name = keep(&at, head->pair[i].name), .value = keep(&at, head->pair[i].value) };
	for (int f = 0; f < HTTP_FIELD_N; f++)
		if (head->field[f].p)
			x->head.field[f] = keep(&at, head->field[f]);
	x->http = (RpcHttp){
		.protocol_version = x->head.field[HTTP_PROTOCOL_VERSION].p,
		.method = x->head.field[HTTP_METHOD].p,
		.name = x->head.field[HTTP_NAME].p,
		.session_id = x->head.field[HTTP_SESSION_ID].p,
		.param = param,
		.ctx = x,
	};
	return true;
}

static void free_all(Exchange *x)
{
	if (x->link.gone_fd >= 0)
		close(x->link.gone_fd);
	if (x->wake_fd >= 0)
		close(x->wake_fd);
	free(x->texts);
	free(x->body);
	free(x->queue);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

Exchange *exchange_new(struct Mcp *m, const HttpHead *head, const Caller *who)
{
	Exchange *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->mcp = m;
	x->caller = *who;
	x->refs = 1;
	x->link = (Link){ .send = send_event, .gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	x->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&x->lock, NULL);
	if (x->link.gone_fd >= 0 && x->wake_fd >= 0 && keep_head(x, head) && (x->body = malloc(head->length + 1))) {
		enlist(x);
		return x;
	}
	free_all(x);
	return NULL;
}

void exchange_get(Exchange *x)
{
	pthread_mutex_lock(&x->lock);
	x->refs++;
	pthread_mutex_unlock(&x->lock);
}

void exchange_put(Exchange *x)
{
	bool last;

	pthread_mutex_lock(&x->lock);
	last = --x->refs == 0;
	pthread_mutex_unlock(&x->lock);
	if (!last)
		return;
	unlist(x);
	free_all(x);
}

static void finish(Exchange *x, int status, const char *session_id, json_t *message)
{
	pthread_mutex_lock(&x->lock);
	if (message && !queue_message(x, message)) {
		x->queue_n = 0;
		status = 500;
		if (x->open)
			gone_locked(x);
	}
	x->status = status;
	memcpy(x->session_id, session_id, sizeof x->session_id);
	x->done = true;
	aside_raise(x->wake_fd);
	pthread_mutex_unlock(&x->lock);
	json_decref(message);
}

static void handle(Exchange *x, json_t *message)
{
	RpcIn in = { .mcp = x->mcp, .caller = &x->caller, .http = &x->http, .link = &x->link, .message = message };
	RpcOut out = { .status = 500 };

	if (x->head.verb_id == HTTP_POST)
		rpc_handle(&in, &out);
	else if (x->head.verb_id == HTTP_GET)
		out.status = rpc_stream(&in);
	else
		out.status = rpc_delete(&in);
	finish(x, out.status, out.session_id, out.message);
}

typedef struct Job {
	Exchange *x;
	json_t *message;
} Job;

static void *job_main(void *arg)
{
	Job j = *(Job *)arg;

	free(arg);
	handle(j.x, j.message);
	json_decref(j.message);
	exchange_put(j.x);
	return NULL;
}

static bool start_thread(Exchange *x, json_t *message)
{
	Job *j = malloc(sizeof *j);

	if (!j)
		return false;
	*j = (Job){ .x = x, .message = message };
	exchange_get(x);
	if (aside_thread(job_main, j))
		return true;
	free(j);
	exchange_put(x);
	return false;
}

void exchange_start(Exchange *x)
{
	RpcOut out = { .status = 500 };
	json_t *message = NULL;

	if (x->head.verb_id == HTTP_POST && !(message = rpc_parse(x->body, x->have, &out))) {
		finish(x, out.status, out.session_id, out.message);
	} else if (x->head.verb_id == HTTP_DELETE || (message && rpc_is_quick(x->mcp, message))) {
		handle(x, message);
		json_decref(message);
	} else if (!start_thread(x, message)) {
		json_decref(message);
		finish(x, 503, out.session_id, NULL);
	}
}

/* True: woken; false: the time is over.  The client's end is noted. */
static bool look(Exchange *x, int sock, int timeout_ms)
{
	struct pollfd p[2] = { { .fd = x->wake_fd, .events = POLLIN }, { .fd = sock, .events = POLLRDHUP } };
	int n = poll(p, 2, timeout_ms);
	eventfd_t count;

	if (n > 0 && p[0].revents)
		(void)eventfd_read(x->wake_fd, &count);
	if (n > 0 && p[1].revents)
		exchange_gone(x);
	return n != 0;
}

ExchangeStep exchange_wait(Exchange *x, int sock)
{
	for (;;) {
		ExchangeStep step = EXCHANGE_ANSWER;
		bool known;

		pthread_mutex_lock(&x->lock);
		known = x->gone || x->open || x->done;
		if (x->gone)
			step = EXCHANGE_GONE;
		else if (x->open)
			step = EXCHANGE_STREAM;
		pthread_mutex_unlock(&x->lock);
		if (known)
			return step;
		if (!look(x, sock, OPEN_AFTER_MS))
			send_event(&x->link, NULL);
	}
}

ssize_t exchange_read(Exchange *x, int sock, char *buf, size_t cap)
{
	for (;;) {
		ssize_t n = -1;
		bool known = true;

		pthread_mutex_lock(&x->lock);
		if (!x->gone && x->queue_n) {
			n = (ssize_t)(x->queue_n < cap ? x->queue_n : cap);
			memcpy(buf, x->queue, (size_t)n);
			x->queue_n -= (size_t)n;
			memmove(x->queue, x->queue + n, x->queue_n);
		} else if (!x->gone && x->done) {
			n = 0;
		} else {
			known = x->gone;
		}
		pthread_mutex_unlock(&x->lock);
		if (known)
			return n;
		if (!look(x, sock, COMMENT_MS)) {
			memcpy(buf, ":\n\n", 3);
			return 3;
		}
	}
}

void exchange_gone(Exchange *x)
{
	pthread_mutex_lock(&x->lock);
	gone_locked(x);
	pthread_mutex_unlock(&x->lock);
}
