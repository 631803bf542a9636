/* SPDX-License-Identifier: Apache-2.0
 *
 * From a message to its answer: what it is, which revision it speaks, whether it may be
 * asked so; then the method's handler, and its result in that revision's form.
 */
#include "mcp/rpc.h"

#include "base/limits.h"
#include "mcp/rpc_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static json_t *error_message(json_t *id, json_t *error_stolen)
{
	json_t *m = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error_stolen);

	/* an id that could not be read is left out */
	if (json_is_string(id) || json_is_integer(id))
		json_object_set(m, "id", id);
	return m;
}

static void answer_error(RpcOut *out, json_t *id, int status, int code, const char *message, json_t *data_stolen)
{
	json_t *e = json_pack("{s:i, s:s}", "code", code, "message", message);

	if (data_stolen)
		json_object_set_new(e, "data", data_stolen);
	out->message = error_message(id, e);
	out->status = status;
}

static void answer_version(RpcOut *out, json_t *id, const char *requested)
{
	answer_error(out, id, 400, RPC_VERSION, "unsupported protocol version",
		     json_pack("{s:o, s:s}", "supported", era_list(), "requested", requested ? requested : ""));
}

/* Of an error that a handler set: what HTTP says of it. */
static int status_of(const Call *c, int code)
{
	if (call_is_legacy(c))
		return 200;
	switch (code) {
	case RPC_NO_METHOD:
		return 404;
	case RPC_HEADER:
	case RPC_CAPABILITY:
	case RPC_VERSION:
		return 400;
	default:
		return 200;
	}
}

/* ---- text ---- */

/* Depth of brackets outside of strings; what is no JSON is the parser's to say. */
static bool too_deep(const char *text, size_t n)
{
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < n; i++) {
		char ch = text[i];

		if (in_string) {
			if (ch == '\\')
				i++;
			else if (ch == '"')
				in_string = false;
		} else if (ch == '"') {
			in_string = true;
		} else if (ch == '[' || ch == '{') {
			if (++depth > LIMIT_MCP_DEPTH)
				return true;
		} else if ((ch == ']' || ch == '}') && depth) {
			depth--;
		}
	}
	return false;
}

static bool is_id(json_t *id)
{
	return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= LIMIT_MCP_NAME);
}

/* Good JSON, but a text in it holds a zero byte, which ends what we read of it: refused by the request's own
 * id, since nobody waits for an answer without one. */
static void answer_zero(RpcOut *out, const char *text, size_t len)
{
	json_t *m = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL), *id = json_object_get(m, "id");
	bool plain = is_id(id) && !(json_is_string(id) && strlen(json_string_value(id)) != json_string_length(id));

	answer_error(out, plain ? id : NULL, 400, RPC_INVALID, "no text may hold the character \\u0000", NULL);
	json_decref(m);
}

json_t *rpc_parse(const char *text, size_t len, RpcOut *ret_out)
{
	json_error_t e = { 0 };
	json_t *m = NULL;
	char why[256];

	*ret_out = (RpcOut){ 0 };
	if (len > LIMIT_MCP_MESSAGE)
		snprintf(why, sizeof why, "a message may have %u bytes", LIMIT_MCP_MESSAGE);
	else if (too_deep(text, len))
		snprintf(why, sizeof why, "a message may be nested %d deep", LIMIT_MCP_DEPTH);
	else if (!(m = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e)))
		snprintf(why, sizeof why, "no JSON: line %d, column %d", e.line, e.column); /* its words quote the client */
	if (!m && *e.text && json_error_code(&e) == json_error_null_character)
		answer_zero(ret_out, text, len);
	else if (!m)
		answer_error(ret_out, NULL, 400, RPC_PARSE, why, NULL);
	return m;
}

/* ---- a request ---- */

typedef struct Ask {
	const RpcIn *in;
	json_t *id, *params, *caps;
	const char *name; /* of the method */
	const Method *method;
	RpcSession *session; /* NULL: stateless over HTTP */
	Era era;
	int level;
	RpcOut *out;
} Ask;

static json_t *meta_of(json_t *params)
{
	return json_object_get(params, "_meta");
}

/* The result with what its revision wants beside it. */
static json_t *dress(const Ask *a, json_t *result)
{
	json_t *meta;

	if (a->era < ERA_2026_07_28)
		return result;
	if (!json_object_get(result, "resultType"))
		json_object_set_new(result, "resultType", json_string("complete"));
	if (a->method->flags & METHOD_CACHED && !json_object_get(result, "ttlMs")) {
		json_object_set_new(result, "ttlMs", json_integer(0));
		json_object_set_new(result, "cacheScope", json_string("private"));
	}
	meta = json_object_get(result, "_meta");
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, META_SERVER, server_info(a->in->mcp, a->era));
	return result;
}

static json_t *input_required(const Call *c)
{
	json_t *r = json_pack("{s:s, s:O}", "resultType", "input_required", "inputRequests", c->inside->asked);
	char *state = mrtr_seal(c);

	if (!state || !r) {
		json_decref(r);
		free(state);
		return NULL;
	}
	json_object_set_new(r, "requestState", json_string(state));
	free(state);
	return r;
}

static void finish(const Ask *a, Call *c, json_t *result)
{
	struct CallInside *i = c->inside;

	if (c->pending && !i->error) {
		json_decref(result);
		result = a->method->flags & METHOD_ASKS && i->asked ? input_required(c) : NULL;
	}
	if (!i->error && !json_is_object(result))
		call_error(c, RPC_INTERNAL, "internal error", NULL);
	if (i->error) {
		json_decref(result);
		a->out->status = a->in->http ? status_of(c, (int)json_integer_value(json_object_get(i->error, "code"))) : 200;
		a->out->message = error_message(a->id, json_incref(i->error));
		return;
	}
	a->out->status = 200;
	a->out->message = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", a->id, "result", dress(a, result));
	a->out->then = json_incref(i->then);
}

static void call_clear(struct CallInside *i)
{
	json_decref(i->error);
	json_decref(i->then);
	json_decref(i->answers);
	json_decref(i->used);
	json_decref(i->asked);
	json_decref(i->state);
	json_decref(i->new_state);
}

static void run_method(const Ask *a)
{
	json_t *token = json_object_get(meta_of(a->params), "progressToken");
	struct CallInside inside = { .link = a->in->link, .session = a->session, .id = a->id, .level = a->level,
				     .token = json_is_string(token) || json_is_integer(token) ? token : NULL, .progress = -1 };
	Call c = { .mcp = a->in->mcp, .caller = a->in->caller, .era = a->era, .method = a->name, .params = a->params,
		   .client_caps = a->caps, .cancel_fd = a->in->link->gone_fd, .inside = &inside };
	Flight *f = NULL;
	bool twice = false;

	if (a->session) {
		f = flight_begin(a->in->mcp, a->session, a->id, a->in->link->gone_fd, &twice);
		if (!f) {
			answer_error(a->out, a->id, twice ? 400 : 503, twice ? RPC_INVALID : RPC_INTERNAL,
				     twice ? "a request of this id is under way" : "too many requests are under way", NULL);
			return;
		}
		c.cancel_fd = f->cancel_fd;
	}
	if (a->era < ERA_2026_07_28 || !(a->method->flags & METHOD_ASKS) || mrtr_open(&c))
		finish(a, &c, a->method->handle(&c));
	else
		finish(a, &c, NULL);
	call_clear(&inside);
	if (f && flight_end(a->in->mcp, a->session, f)) {
		json_decref(a->out->message);
		json_decref(a->out->then);
		a->out->message = a->out->then = NULL;
	}
}

/* ---- which revision ---- */

/* A stateless request: all that it says of itself is checked before its method is looked at. */
static void handle_modern(Ask *a, const char *version)
{
	const RpcHttp *h = a->in->http;
	json_t *meta = meta_of(a->params), *level = json_object_get(meta, META_LEVEL);
	HeadName which;
	char text[128];
	Era era;

	if (h && version && (!h->protocol_version || strcmp(h->protocol_version, version) != 0)) {
		answer_error(a->out, a->id, 400, RPC_HEADER, "header MCP-Protocol-Version is not what _meta says", NULL);
		return;
	}
	if (version && (!era_parse(version, &era) || era < ERA_2026_07_28)) {
		answer_version(a->out, a->id, version);
		return;
	}
	a->caps = json_object_get(meta, META_CAPS);
	if (!version || !json_is_object(a->caps)) {
		answer_error(a->out, a->id, 400, RPC_PARAMS,
			     "_meta must have " META_VERSION " and " META_CAPS, NULL);
		return;
	}
	a->era = era;
	a->level = level ? level_parse(json_string_value(level)) : LEVEL_NONE;
	if (a->level < 0) {
		answer_error(a->out, a->id, 400, RPC_PARAMS, "there is no such log level", NULL);
		return;
	}
	if (h && !head_agrees(a->in, a->method, a->params, a->name, which)) {
		snprintf(text, sizeof text, "the header is not what the body says: %s", which);
		answer_error(a->out, a->id, 400, RPC_HEADER, text, NULL);
		return;
	}
	if (!a->method || !(a->method->flags & METHOD_MODERN)) {
		answer_error(a->out, a->id, 404, RPC_NO_METHOD, "method not found", NULL);
		return;
	}
	run_method(a);
}

/* initialize is what makes a session, so there is none yet. */
static void handle_initialize(Ask *a)
{
	const RpcIn *in = a->in;

	if (!in->http) {
		run_method(a);
		return;
	}
	a->session = session_new(in->mcp, in->caller, true);
	if (!a->session) {
		answer_error(a->out, a->id, 503, RPC_INTERNAL, "too many sessions", NULL);
		return;
	}
	run_method(a);
	if (json_object_get(a->out->message, "result"))
		snprintf(a->out->session_id, sizeof a->out->session_id, "%s", a->session->id);
	else
		session_end(in->mcp, a->session);
	session_put(in->mcp, a->session);
}

/* The session that a legacy message belongs to (new reference for HTTP); NULL: out says why. */
static RpcSession *legacy_session(const RpcIn *in, json_t *id, RpcOut *out)
{
	const RpcHttp *h = in->http;
	RpcSession *s;
	Era era;

	if (!h)
		return *in->session;
	if (h->protocol_version && !era_parse(h->protocol_version, &era)) {
		answer_version(out, id, h->protocol_version);
		return NULL;
	}
	if (!h->session_id) {
		answer_error(out, id, 400, RPC_INVALID, "no Mcp-Session-Id: initialize first, or say " META_VERSION " in _meta", NULL);
		return NULL;
	}
	s = session_find(in->mcp, in->caller, h->session_id);
	if (!s)
		answer_error(out, id, 404, RPC_INVALID, "there is no such session: initialize again", NULL);
	return s;
}

static void legacy_done(const RpcIn *in, RpcSession *s)
{
	if (in->http)
		session_put(in->mcp, s);
}

static void handle_legacy(Ask *a)
{
	bool first = strcmp(a->name, "initialize") == 0;

	a->era = ERA_2025_11_25;
	if (first) {
		a->session = a->in->http ? NULL : *a->in->session;
		a->caps = json_object();
		handle_initialize(a);
		json_decref(a->caps);
		return;
	}
	a->session = legacy_session(a->in, a->id, a->out);
	if (!a->session)
		return;
	pthread_mutex_lock(&a->in->mcp->sessions->lock);
	a->era = a->session->era;
	a->level = a->session->level;
	a->caps = json_deep_copy(a->session->caps); /* counts are not for two threads */
	pthread_mutex_unlock(&a->in->mcp->sessions->lock);
	if (!a->method || !(a->method->flags & METHOD_LEGACY))
		answer_error(a->out, a->id, 200, RPC_NO_METHOD, "method not found", NULL);
	else if (!a->session->legacy_seen && strcmp(a->name, "ping") != 0)
		answer_error(a->out, a->id, 400, RPC_INVALID, "initialize first, or say " META_VERSION " in _meta", NULL);
	else
		run_method(a);
	json_decref(a->caps);
	legacy_done(a->in, a->session);
}

/* Whether a request means the stateless protocol: by its own words, else by its header. */
static bool is_modern(const RpcIn *in, json_t *params, const char *method)
{
	const RpcHttp *h = in->http;
	Era era;

	if (json_object_get(meta_of(params), META_VERSION))
		return true;
	if (strcmp(method, "initialize") == 0)
		return false;
	if (h && h->protocol_version && era_parse(h->protocol_version, &era) && era >= ERA_2026_07_28)
		return true;
	return method_find(in->mcp, method) && !(method_find(in->mcp, method)->flags & METHOD_LEGACY);
}

static void handle_request(const RpcIn *in, json_t *message, const char *name, json_t *id, RpcOut *out)
{
	json_t *params = json_object_get(message, "params"), *none = NULL;
	Ask a = { .in = in, .id = id, .name = name, .method = method_find(in->mcp, name), .out = out };

	if (params && !json_is_object(params)) {
		answer_error(out, id, 400, RPC_PARAMS, "params must be an object", NULL);
		return;
	}
	if (!params)
		params = none = json_object();
	a.params = params;
	if (is_modern(in, params, name)) {
		a.session = in->http ? NULL : *in->session;
		handle_modern(&a, json_string_value(json_object_get(meta_of(params), META_VERSION)));
	} else {
		handle_legacy(&a);
	}
	json_decref(none);
}

/* ---- notifications and responses ---- */

static void take_notification(const RpcIn *in, json_t *message, const char *name, RpcOut *out)
{
	json_t *id = json_object_get(json_object_get(message, "params"), "requestId");
	RpcSession *s;

	out->status = 202;
	if (in->http && !in->http->session_id)
		return; /* stateless over HTTP: the end of the stream is what cancels */
	s = legacy_session(in, NULL, out);
	if (!s)
		return;
	if (strcmp(name, "notifications/cancelled") == 0 && is_id(id))
		flight_cancel(in->mcp, s, id);
	legacy_done(in, s);
}

static void take_response(const RpcIn *in, json_t *message, RpcOut *out)
{
	RpcSession *s;

	out->status = 202;
	s = legacy_session(in, NULL, out);
	if (!s)
		return;
	session_answered(in->mcp, s, message);
	legacy_done(in, s);
}

static void handle_one(const RpcIn *in, json_t *message, RpcOut *out)
{
	json_t *id = json_object_get(message, "id"), *method = json_object_get(message, "method");
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	const char *name = json_string_value(method);

	*out = (RpcOut){ 0 };
	if (!json_is_object(message) || !version || strcmp(version, "2.0") != 0) {
		answer_error(out, is_id(id) ? id : NULL, 400, RPC_INVALID, "no JSON-RPC 2.0 message", NULL);
		return;
	}
	if (id && !is_id(id)) {
		answer_error(out, NULL, 400, RPC_INVALID, "an id is a string or an integer", NULL);
		return;
	}
	if (!method && id && !json_object_get(message, "result") != !json_object_get(message, "error")) {
		take_response(in, message, out);
		return;
	}
	if (!name || json_string_length(method) > LIMIT_MCP_NAME) {
		answer_error(out, id, 400, RPC_INVALID, "no method", NULL);
		return;
	}
	if (id)
		handle_request(in, message, name, id, out);
	else
		take_notification(in, message, name, out);
}

/* Batches are of 2025-03-26 alone. */
static bool batch_allowed(const RpcIn *in)
{
	RpcOut ignored = { 0 };
	RpcSession *s;
	bool ok;

	if (in->http && !in->http->session_id)
		return false;
	s = legacy_session(in, NULL, &ignored);
	json_decref(ignored.message);
	if (!s)
		return false;
	pthread_mutex_lock(&in->mcp->sessions->lock);
	ok = s->legacy_seen && s->era == ERA_2025_03_26;
	pthread_mutex_unlock(&in->mcp->sessions->lock);
	legacy_done(in, s);
	return ok;
}

static void handle_batch(const RpcIn *in, RpcOut *out)
{
	size_t n = json_array_size(in->message), i;
	json_t *answers, *one;
	RpcOut each;

	if (!batch_allowed(in) || n == 0 || n > LIMIT_MCP_BATCH) {
		answer_error(out, NULL, 400, RPC_INVALID, "one message at a time", NULL);
		return;
	}
	answers = json_array();
	json_array_foreach(in->message, i, one) {
		const char *name = json_string_value(json_object_get(one, "method"));

		if (name && (strcmp(name, "initialize") == 0 || is_modern(in, json_object_get(one, "params"), name))) {
			each = (RpcOut){ 0 };
			answer_error(&each, json_object_get(one, "id"), 400, RPC_INVALID, "this goes alone", NULL);
		} else {
			handle_one(in, one, &each);
		}
		if (each.message)
			json_array_append_new(answers, each.message);
	}
	out->status = json_array_size(answers) ? 200 : 202;
	if (json_array_size(answers))
		out->message = answers;
	else
		json_decref(answers);
}

void rpc_handle(const RpcIn *in, RpcOut *ret_out)
{
	*ret_out = (RpcOut){ 0 };
	if (json_is_array(in->message))
		handle_batch(in, ret_out);
	else
		handle_one(in, in->message, ret_out);
}

int rpc_delete(const RpcIn *in)
{
	RpcSession *s = in->http->session_id ? session_find(in->mcp, in->caller, in->http->session_id) : NULL;

	if (!s)
		return in->http->session_id ? 404 : 405;
	session_end(in->mcp, s);
	session_put(in->mcp, s);
	return 200;
}

int rpc_stream(const RpcIn *in)
{
	RpcSession *s = in->http->session_id ? session_find(in->mcp, in->caller, in->http->session_id) : NULL;
	bool taken;

	if (!s)
		return in->http->session_id ? 404 : 405;
	pthread_mutex_lock(&in->mcp->sessions->lock);
	taken = s->streams || s->ended;
	s->streams |= !taken;
	pthread_mutex_unlock(&in->mcp->sessions->lock);
	if (!taken) {
		if (in->link->send(in->link, NULL))
			changes_stream(in->mcp, s, in->link);
		pthread_mutex_lock(&in->mcp->sessions->lock);
		s->streams = false;
		pthread_mutex_unlock(&in->mcp->sessions->lock);
	}
	session_put(in->mcp, s);
	return taken ? 409 : 200;
}

RpcSession *rpc_session_new(Mcp *m, const Caller *caller)
{
	return session_new(m, caller, false);
}

void rpc_session_end(Mcp *m, RpcSession *s)
{
	session_end(m, s);
	changes_pipe_wait(m, s);
}

void rpc_session_free(Mcp *m, RpcSession *s)
{
	session_put(m, s);
}

bool rpc_is_quick(const Mcp *m, json_t *message)
{
	const char *name = json_string_value(json_object_get(message, "method"));
	const Method *row = name ? method_find(m, name) : NULL;

	if (json_is_array(message))
		return false;
	return !name || !json_object_get(message, "id") || !row || row->flags & METHOD_QUICK;
}
