/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients between two messages: their session, what of theirs is under way, and what we
 * asked them.  One lock for all; nothing is waited for while it is held.
 */
#include "base/limits.h"
#include "mcp/aside.h"
#include "mcp/rpc_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

RpcSessions *sessions_new(void)
{
	RpcSessions *all = calloc(1, sizeof *all);

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	if (all)
		pthread_cond_init(&all->stream_ended, NULL);
	return all;
}

static void session_free(RpcSession *s)
{
	json_decref(s->caps);
	json_decref(s->subscribed);
	close(s->end_fd);
	free(s);
}

void sessions_free(RpcSessions *all)
{
	RpcSession *next;

	if (!all)
		return;
	for (RpcSession *s = all->first; s; s = next) {
		next = s->next;
		session_free(s);
	}
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->stream_ended);
	free(all);
}

static void end_locked(RpcSession *s)
{
	s->ended = true;
	aside_raise(s->end_fd);
	for (Flight *f = s->flights; f; f = f->next)
		aside_raise(f->event_fd);
	for (Question *q = s->questions; q; q = q->next)
		aside_raise(q->event_fd);
}

static void drop_ref(RpcSession *s)
{
	if (--s->refs == 0)
		session_free(s);
}

/* Takes it out of the table, with the table's reference. */
static void unlist(RpcSessions *all, RpcSession **at)
{
	RpcSession *s = *at;

	*at = s->next;
	all->n--;
	s->listed = false;
	end_locked(s);
	drop_ref(s);
}

static bool is_busy(const RpcSession *s)
{
	return s->flights || s->streams;
}

static unsigned count_of(const RpcSessions *all, const char *caller)
{
	unsigned n = 0;

	for (const RpcSession *s = all->first; s; s = s->next)
		n += strcmp(s->caller, caller) == 0;
	return n;
}

/* His least recently used one with nothing under way; NULL: there is none. */
static RpcSession **oldest_idle(RpcSessions *all, const char *caller)
{
	RpcSession **oldest = NULL;

	for (RpcSession **at = &all->first; *at; at = &(*at)->next)
		if (!is_busy(*at) && strcmp((*at)->caller, caller) == 0 && (!oldest || (*at)->used_s < (*oldest)->used_s))
			oldest = at;
	return oldest;
}

/* Of those who have an idle one, who has most in all; NULL: nobody. */
static const char *who_has_most(const RpcSessions *all)
{
	const char *who = NULL;
	unsigned most = 0;

	for (const RpcSession *s = all->first; s; s = s->next) {
		unsigned n = is_busy(s) ? 0 : count_of(all, s->caller);

		if (n > most) {
			most = n;
			who = s->caller;
		}
	}
	return who;
}

/* Room for one more: what is idle for long goes, then the caller's oldest beyond his share,
 * then the oldest of who has most: nobody pushes out who has less than he. */
static bool make_room(RpcSessions *all, const Caller *caller)
{
	int64_t now = aside_now_s();
	RpcSession **gives_way;
	const char *who;

	for (RpcSession **at = &all->first; *at;) {
		if (!is_busy(*at) && now - (*at)->used_s > LIMIT_MCP_IDLE)
			unlist(all, at);
		else
			at = &(*at)->next;
	}
	if (count_of(all, caller->session) >= LIMIT_MCP_SESSIONS_CALLER)
		who = caller->session;
	else if (all->n >= LIMIT_MCP_SESSIONS)
		who = who_has_most(all);
	else
		return true;
	gives_way = who ? oldest_idle(all, who) : NULL;
	if (gives_way)
		unlist(all, gives_way);
	return gives_way;
}

RpcSession *session_new(Mcp *m, const Caller *caller, bool listed)
{
	RpcSession *s = calloc(1, sizeof *s);
	bool ok;

	if (!s)
		return NULL;
	*s = (RpcSession){ .refs = 1, .era = ERA_2025_11_25, .used_s = aside_now_s(), .caps = json_object(),
			   .subscribed = json_object(), .end_fd = eventfd(0, EFD_CLOEXEC) };
	snprintf(s->name, sizeof s->name, "%s", caller->name);
	snprintf(s->caller, sizeof s->caller, "%s", caller->session);
	ok = s->caps && s->subscribed && s->end_fd >= 0 && aside_random(s->id, 16);
	pthread_mutex_lock(&m->sessions->lock);
	if (ok && listed && (ok = make_room(m->sessions, caller))) {
		s->listed = true;
		s->refs++;
		s->next = m->sessions->first;
		m->sessions->first = s;
		m->sessions->n++;
	}
	pthread_mutex_unlock(&m->sessions->lock);
	if (!ok) {
		session_free(s);
		return NULL;
	}
	return s;
}

RpcSession *session_find(Mcp *m, const Caller *caller, const char *id)
{
	RpcSession *s;

	pthread_mutex_lock(&m->sessions->lock);
	for (s = m->sessions->first; s; s = s->next)
		if (strcmp(s->id, id) == 0)
			break;
	if (s && (strcmp(s->caller, caller->session) != 0 || strcmp(s->name, caller->name) != 0))
		s = NULL;
	if (s) {
		s->refs++;
		s->used_s = aside_now_s();
	}
	pthread_mutex_unlock(&m->sessions->lock);
	return s;
}

void session_put(Mcp *m, RpcSession *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&m->sessions->lock);
	drop_ref(s);
	pthread_mutex_unlock(&m->sessions->lock);
}

void session_end(Mcp *m, RpcSession *s)
{
	pthread_mutex_lock(&m->sessions->lock);
	for (RpcSession **at = &m->sessions->first; *at; at = &(*at)->next)
		if (*at == s) {
			s->refs++; /* the caller's stays */
			unlist(m->sessions, at);
			s->refs--;
			break;
		}
	if (!s->ended)
		end_locked(s);
	pthread_mutex_unlock(&m->sessions->lock);
}

/* ---- what is under way ---- */

/* One descriptor that is readable when either is. */
static int either(int a, int b)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP };

	if (ep >= 0 && (epoll_ctl(ep, EPOLL_CTL_ADD, a, &e) < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, b, &e) < 0)) {
		close(ep);
		ep = -1;
	}
	return ep;
}

static void flight_free(Flight *f)
{
	if (f->cancel_fd >= 0 && f->cancel_fd != f->event_fd)
		close(f->cancel_fd);
	if (f->event_fd >= 0)
		close(f->event_fd);
	json_decref(f->id);
	free(f);
}

Flight *flight_begin(Mcp *m, RpcSession *s, json_t *id, int gone_fd, bool *ret_twice)
{
	Flight *f = calloc(1, sizeof *f);
	bool ok;

	*ret_twice = false;
	if (!f)
		return NULL;
	*f = (Flight){ .id = json_incref(id), .event_fd = eventfd(0, EFD_CLOEXEC), .cancel_fd = -1 };
	if (f->event_fd >= 0)
		f->cancel_fd = gone_fd < 0 ? f->event_fd : either(f->event_fd, gone_fd);
	pthread_mutex_lock(&m->sessions->lock);
	for (const Flight *o = s->flights; o; o = o->next)
		*ret_twice |= json_equal(o->id, id) == 1;
	ok = f->cancel_fd >= 0 && !*ret_twice && s->nflights < LIMIT_MCP_FLIGHTS;
	if (ok && s->ended)
		aside_raise(f->event_fd);
	if (ok) {
		f->next = s->flights;
		s->flights = f;
		s->nflights++;
		s->used_s = aside_now_s();
	}
	pthread_mutex_unlock(&m->sessions->lock);
	if (!ok) {
		flight_free(f);
		return NULL;
	}
	return f;
}

bool flight_end(Mcp *m, RpcSession *s, Flight *f)
{
	bool cancelled;

	pthread_mutex_lock(&m->sessions->lock);
	for (Flight **at = &s->flights; *at; at = &(*at)->next)
		if (*at == f) {
			*at = f->next;
			s->nflights--;
			break;
		}
	s->used_s = aside_now_s();
	cancelled = f->cancelled;
	pthread_mutex_unlock(&m->sessions->lock);
	flight_free(f);
	return cancelled;
}

void flight_cancel(Mcp *m, RpcSession *s, json_t *id)
{
	pthread_mutex_lock(&m->sessions->lock);
	for (Flight *f = s->flights; f; f = f->next)
		if (json_equal(f->id, id)) {
			f->cancelled = true;
			aside_raise(f->event_fd);
		}
	pthread_mutex_unlock(&m->sessions->lock);
}

/* ---- questions ---- */

static bool question_begin(Mcp *m, RpcSession *s, Question *q)
{
	/* drawn, so that no client answers what another was asked */
	bool ok = q->event_fd >= 0 && aside_random(q->id, 12);

	pthread_mutex_lock(&m->sessions->lock);
	ok = ok && !s->ended && s->nquestions < LIMIT_MCP_QUESTIONS;
	if (ok) {
		q->next = s->questions;
		s->questions = q;
		s->nquestions++;
	}
	pthread_mutex_unlock(&m->sessions->lock);
	return ok;
}

static void question_end(Mcp *m, RpcSession *s, Question *q)
{
	pthread_mutex_lock(&m->sessions->lock);
	for (Question **at = &s->questions; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			s->nquestions--;
			break;
		}
	pthread_mutex_unlock(&m->sessions->lock);
}

json_t *session_ask(Mcp *m, RpcSession *s, Link *l, int cancel_fd, const char *method, json_t *params_stolen)
{
	Question q = { .event_fd = eventfd(0, EFD_CLOEXEC) };
	struct pollfd p[3] = { { .fd = q.event_fd, .events = POLLIN }, { .fd = cancel_fd, .events = POLLIN }, { .fd = m->stop_fd, .events = POLLIN } };
	int64_t end = aside_now_s() + LIMIT_MCP_ANSWER_WAIT;
	json_t *message;

	if (!question_begin(m, s, &q)) {
		json_decref(params_stolen);
		if (q.event_fd >= 0)
			close(q.event_fd);
		return NULL;
	}
	message = json_pack("{s:s, s:s, s:s, s:o*}", "jsonrpc", "2.0", "id", q.id, "method", method, "params", params_stolen);
	if (message && l->send(l, message))
		while (aside_now_s() < end) {
			int n = poll(p, 3, 1000);

			if ((n < 0 && errno != EINTR) || n > 0)
				break;
		}
	question_end(m, s, &q);
	close(q.event_fd);
	return q.answer;
}

void session_answered(Mcp *m, RpcSession *s, json_t *message)
{
	const char *id = json_string_value(json_object_get(message, "id"));

	pthread_mutex_lock(&m->sessions->lock);
	for (Question *q = s->questions; id && q; q = q->next)
		if (strcmp(q->id, id) == 0 && !q->answer) {
			q->answer = json_deep_copy(message); /* counts are not for two threads */
			aside_raise(q->event_fd);
		}
	pthread_mutex_unlock(&m->sessions->lock);
}
