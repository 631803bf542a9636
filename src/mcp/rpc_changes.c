/* SPDX-License-Identifier: Apache-2.0
 *
 * Who wants to hear of changes, and how he hears: each stream has a list of its own and the
 * thread that opened it sends, so that a slow client holds up nobody.
 */
#include "base/limits.h"
#include "mcp/aside.h"
#include "mcp/rpc_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TOOLS = 1 << 0, PROMPTS = 1 << 1, RESOURCES = 1 << 2 };

static const struct {
	unsigned bit;
	const char *filter, *method, *what;
} kinds[] = {
	{ TOOLS, "toolsListChanged", "notifications/tools/list_changed", "tools" },
	{ PROMPTS, "promptsListChanged", "notifications/prompts/list_changed", "prompts" },
	{ RESOURCES, "resourcesListChanged", "notifications/resources/list_changed", "resources" },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct Listener {
	struct Listener *next;
	Link *link;
	json_t *id;	     /* of the subscription; NULL: a legacy client's stream */
	RpcSession *session; /* legacy: where its subscriptions are; NULL: `uris` are */
	unsigned wanted, changed;
	json_t *uris, *changed_uris; /* objects */
	int event_fd;
};

static bool wants_uri(const Listener *l, const char *uri)
{
	return json_object_get(l->session ? l->session->subscribed : l->uris, uri) != NULL;
}

static void tell(Listener *l, unsigned bit, const char *uri)
{
	if (uri ? !wants_uri(l, uri) : !(l->wanted & bit))
		return;
	l->changed |= uri ? 0 : bit;
	if (uri)
		json_object_set_new(l->changed_uris, uri, json_true());
	aside_raise(l->event_fd);
}

static void changed(Mcp *m, const char *what, const char *uri)
{
	unsigned bit = 0;

	for (unsigned i = 0; i < KINDS; i++)
		if (what && strcmp(kinds[i].what, what) == 0)
			bit = kinds[i].bit;
	pthread_mutex_lock(&m->sessions->lock);
	for (Listener *l = m->sessions->listeners; l; l = l->next)
		tell(l, bit, uri);
	pthread_mutex_unlock(&m->sessions->lock);
}

void server_list_changed(Mcp *m, const char *what)
{
	changed(m, what, NULL);
}

void server_resource_changed(Mcp *m, const char *uri)
{
	changed(m, NULL, uri);
}

/* ---- a listener ---- */

static json_t *notification(const Listener *l, const char *method, const char *uri)
{
	json_t *p = json_object();

	if (l->id)
		json_object_set_new(p, "_meta", json_pack("{s:O}", META_SUBSCRIPTION, l->id));
	if (uri)
		json_object_set_new(p, "uri", json_string(uri));
	return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", p);
}

/* Sends what has changed since; false: the client is gone. */
static bool send_changes(Mcp *m, Listener *l)
{
	unsigned bits;
	json_t *uris, *v;
	const char *uri;
	uint64_t n;
	bool ok = true;
	ssize_t got = read(l->event_fd, &n, sizeof n);

	(void)got;
	pthread_mutex_lock(&m->sessions->lock);
	bits = l->changed;
	uris = l->changed_uris;
	l->changed = 0;
	l->changed_uris = json_object();
	pthread_mutex_unlock(&m->sessions->lock);
	for (unsigned i = 0; i < KINDS && ok; i++)
		if (bits & kinds[i].bit)
			ok = l->link->send(l->link, notification(l, kinds[i].method, NULL));
	json_object_foreach(uris, uri, v)
		ok = ok && l->link->send(l->link, notification(l, "notifications/resources/updated", uri));
	json_decref(uris);
	return ok;
}

/* Until either descriptor is readable, the client is gone or the server shuts down. */
static void listen_until(Mcp *m, Listener *l, int end_a, int end_b)
{
	struct pollfd p[4] = {
		{ .fd = l->event_fd, .events = POLLIN },
		{ .fd = end_a, .events = POLLIN },
		{ .fd = end_b, .events = POLLIN },
		{ .fd = m->stop_fd, .events = POLLIN },
	};

	for (;;) {
		int n = poll(p, 4, -1);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0 && (p[1].revents || p[2].revents || p[3].revents))
			return;
		if (n > 0 && p[0].revents && !send_changes(m, l))
			return;
	}
}

static bool listener_begin(Mcp *m, Listener *l)
{
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->changed_uris = json_object();
	if (l->event_fd < 0 || !l->changed_uris)
		return false;
	pthread_mutex_lock(&m->sessions->lock);
	l->next = m->sessions->listeners;
	m->sessions->listeners = l;
	pthread_mutex_unlock(&m->sessions->lock);
	return true;
}

static void listener_end(Mcp *m, Listener *l)
{
	pthread_mutex_lock(&m->sessions->lock);
	for (Listener **at = &m->sessions->listeners; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	pthread_mutex_unlock(&m->sessions->lock);
	if (l->event_fd >= 0)
		close(l->event_fd);
	json_decref(l->changed_uris);
}

/* ---- the stateless way ---- */

/* What of a client's filter we can honour, in its own form (new); NULL: it is no filter. */
static json_t *agree(Call *c, json_t *filter, Listener *l)
{
	json_t *agreed = json_object(), *uris = json_object_get(filter, "resourceSubscriptions"), *list, *uri;
	size_t i;

	for (unsigned k = 0; k < KINDS; k++) {
		json_t *v = json_object_get(filter, kinds[k].filter);

		if (v && !json_is_boolean(v)) {
			json_decref(agreed);
			return NULL;
		}
		if (json_is_true(v) && c->mcp->changes) {
			l->wanted |= kinds[k].bit;
			json_object_set_new(agreed, kinds[k].filter, json_true());
		}
	}
	if (uris && (!json_is_array(uris) || json_array_size(uris) > LIMIT_MCP_SUBSCRIPTIONS)) {
		json_decref(agreed);
		return NULL;
	}
	list = json_array();
	json_array_foreach(uris, i, uri) {
		if (json_is_string(uri) && c->mcp->changes && server_has_resource(c->mcp, json_string_value(uri))) {
			json_object_set_new(l->uris, json_string_value(uri), json_true());
			json_array_append(list, uri);
		}
	}
	if (json_array_size(list))
		json_object_set(agreed, "resourceSubscriptions", list);
	json_decref(list);
	return agreed;
}

/* One page of the specification wants this when a server ends a subscription
 * (basic/patterns/cancellation), another one the answer (basic/patterns/subscriptions): a
 * client of a pipe, where the stream has no end of its own, gets both, and the answer first,
 * which tells it that the end is no fault. */
static json_t *cancelled(const Listener *l)
{
	json_t *n = notification(l, "notifications/cancelled", NULL);

	json_object_update_new(json_object_get(n, "params"), json_pack("{s:O, s:s}", "requestId", l->id, "reason", "the server shuts down"));
	return n;
}

json_t *changes_listen(Call *c)
{
	json_t *filter = json_object_get(c->params, "notifications"), *agreed, *message;
	Listener l = { .link = c->inside->link, .id = c->inside->id, .uris = json_object() };

	agreed = json_is_object(filter) ? agree(c, filter, &l) : NULL;
	if (!agreed) {
		json_decref(l.uris);
		return call_error(c, RPC_PARAMS, "subscriptions/listen needs notifications, a filter", NULL);
	}
	message = notification(&l, "notifications/subscriptions/acknowledged", NULL);
	json_object_set_new(json_object_get(message, "params"), "notifications", agreed);
	/* what changes from now on is told, though behind the acknowledgment: this thread sends both */
	if (!listener_begin(c->mcp, &l)) {
		call_error(c, RPC_INTERNAL, "no room for one more subscription", NULL);
		json_decref(message);
	} else if (l.link->send(l.link, message)) {
		listen_until(c->mcp, &l, c->cancel_fd, -1);
		if (server_stops(c->mcp) && c->inside->session)
			c->inside->then = cancelled(&l);
	}
	listener_end(c->mcp, &l);
	json_decref(l.uris);
	return json_pack("{s:{s:O}}", "_meta", META_SUBSCRIPTION, c->inside->id);
}

/* ---- with sessions ---- */

void changes_stream(Mcp *m, RpcSession *s, Link *link)
{
	Listener l = { .link = link, .session = s, .wanted = TOOLS | PROMPTS | RESOURCES };

	if (listener_begin(m, &l))
		listen_until(m, &l, link->gone_fd, s->end_fd);
	listener_end(m, &l);
}

/* Legacy clients of a pipe have no stream to open: theirs is served by a thread from
 * initialize until the session ends. */
typedef struct PipeStream {
	Mcp *m;
	RpcSession *s;
	Link *link;
} PipeStream;

static void *pipe_stream(void *arg)
{
	PipeStream *p = arg;

	changes_stream(p->m, p->s, p->link);
	pthread_mutex_lock(&p->m->sessions->lock);
	p->s->streams = false;
	pthread_cond_broadcast(&p->m->sessions->stream_ended);
	pthread_mutex_unlock(&p->m->sessions->lock);
	free(p);
	return NULL;
}

void changes_pipe_begin(Mcp *m, RpcSession *s, Link *link)
{
	PipeStream *p;
	bool go;

	pthread_mutex_lock(&m->sessions->lock);
	go = m->changes && !s->streams && !s->ended;
	s->streams |= go;
	pthread_mutex_unlock(&m->sessions->lock);
	if (!go)
		return;
	p = malloc(sizeof *p);
	if (p) {
		*p = (PipeStream){ m, s, link };
		if (aside_thread(pipe_stream, p))
			return;
	}
	free(p);
	pthread_mutex_lock(&m->sessions->lock);
	s->streams = false;
	pthread_mutex_unlock(&m->sessions->lock);
}

void changes_pipe_wait(Mcp *m, RpcSession *s)
{
	pthread_mutex_lock(&m->sessions->lock);
	while (s->streams)
		pthread_cond_wait(&m->sessions->stream_ended, &m->sessions->lock);
	pthread_mutex_unlock(&m->sessions->lock);
}
