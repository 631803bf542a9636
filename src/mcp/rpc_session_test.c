/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients between messages: sessions, cancellation, questions, what they are told meanwhile.
 */
#include "mcp/test_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

/* ---- sessions ---- */

static json_t *over_http(const Caller *who, const char *session, const char *text)
{
	RpcHttp h = { .protocol_version = "2025-11-25", .session_id = session };

	return handle(who, &h, NULL, text);
}

#define INIT "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"

static void test_http_sessions(void **state)
{
	char id[64], first[64];
	RpcHttp h = { .session_id = id };
	RpcIn in = { .mcp = &mcp, .caller = &bob, .http = &h, .link = &test_link.link };

	(void)state;
	json_decref(over_http(&alice, NULL, LIST));
	assert_int_equal(last.status, 400);
	json_decref(over_http(&alice, "no such", LIST));
	assert_int_equal(last.status, 404);
	json_decref(over_http(&alice, NULL, INIT));
	assert_int_equal(last.status, 200);
	assert_int_equal(strlen(last.session_id), 32);
	memcpy(id, last.session_id, sizeof id);
	json_decref(over_http(&alice, id, LIST));
	assert_int_equal(last.status, 200);
	/* another's is no session */
	json_decref(over_http(&bob, id, LIST));
	assert_int_equal(last.status, 404);
	assert_int_equal(rpc_delete(&in), 404);
	assert_int_equal(rpc_stream(&in), 404);
	json_decref(over_http(&bob, id, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
	assert_int_equal(last.status, 404);
	in.caller = &alice;
	assert_int_equal(rpc_delete(&in), 200);
	json_decref(over_http(&alice, id, LIST));
	assert_int_equal(last.status, 404);
	/* a failed initialize makes none */
	json_decref(over_http(&alice, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}"));
	assert_string_equal(last.session_id, "");
	assert_int_equal(mcp.sessions->n, 0);
	/* the oldest of a caller with many gives way */
	json_decref(over_http(&bob, NULL, INIT));
	memcpy(id, last.session_id, sizeof id);
	for (int i = 0; i <= LIMIT_MCP_SESSIONS_CALLER; i++) {
		json_decref(over_http(&alice, NULL, INIT));
		if (i == 0)
			memcpy(first, last.session_id, sizeof first);
		mcp.sessions->first->used_s -= LIMIT_MCP_SESSIONS_CALLER - i;
	}
	assert_int_equal(mcp.sessions->n, LIMIT_MCP_SESSIONS_CALLER + 1);
	json_decref(over_http(&alice, first, LIST));
	assert_int_equal(last.status, 404);
	json_decref(over_http(&bob, id, LIST));
	assert_int_equal(last.status, 200);
	/* what nobody uses is forgotten */
	now_s += LIMIT_MCP_IDLE + 1;
	json_decref(over_http(&bob, NULL, INIT));
	assert_int_equal(mcp.sessions->n, 1);
	/* an unknown revision in the header */
	h = (RpcHttp){ .protocol_version = "1999-01-01", .session_id = last.session_id };
	json_decref(handle(&bob, &h, NULL, LIST));
	assert_int_equal(last.status, 400);
}

/* The table is full: who has most gives way, however old others' are. */
static void test_sessions_of_many(void **state)
{
	char his[64], one[64];
	Caller c = { .name = "", .session = "" };

	(void)state;
	json_decref(over_http(&bob, NULL, INIT));
	memcpy(his, last.session_id, sizeof his);
	for (unsigned i = 0; i < LIMIT_MCP_SESSIONS + 2 * LIMIT_MCP_SESSIONS_CALLER; i++) {
		now_s++;
		snprintf(c.session, sizeof c.session, "mcp %u", i / LIMIT_MCP_SESSIONS_CALLER);
		json_decref(over_http(&c, NULL, INIT));
		assert_int_equal(last.status, 200);
	}
	assert_int_equal(mcp.sessions->n, LIMIT_MCP_SESSIONS);
	memcpy(one, last.session_id, sizeof one);
	json_decref(over_http(&c, one, LIST));
	assert_int_equal(last.status, 200);
	json_decref(over_http(&bob, his, LIST));
	assert_int_equal(last.status, 200);
}

/* ---- while it lasts ---- */

typedef struct Waiter {
	RpcSession *s;
	const Caller *who;
	const char *text;
	json_t *answer;
	bool done;
	int gone_fd;
	pthread_t t;
} Waiter;

static void *waiter_main(void *arg)
{
	Waiter *w = arg;
	json_t *m = json_loads(w->text, 0, NULL);
	Link l = { .send = NULL, .gone_fd = w->gone_fd };
	TestLink t = { .link = { .send = test_send, .gone_fd = w->gone_fd }, .sent = json_array() };
	RpcIn in = { .mcp = &mcp, .caller = w->who, .session = &w->s, .link = w->gone_fd < 0 ? &test_link.link : &t.link, .message = m };
	RpcOut out;

	(void)l;
	pthread_mutex_init(&t.lock, NULL);
	rpc_handle(&in, &out);
	w->answer = out.message;
	w->done = true;
	json_decref(m);
	json_decref(t.sent);
	return NULL;
}

static Waiter *start_waiter(RpcSession *s, const char *text, int gone_fd)
{
	Waiter *w = calloc(1, sizeof *w);
	unsigned n = 0;

	*w = (Waiter){ .s = s, .who = &alice, .text = text, .gone_fd = gone_fd };
	assert_int_equal(pthread_create(&w->t, NULL, waiter_main, w), 0);
	for (int i = 0; i < 5000 && !n; i++) {
		pthread_mutex_lock(&mcp.sessions->lock);
		n = s->nflights;
		pthread_mutex_unlock(&mcp.sessions->lock);
		usleep(1000);
	}
	assert_int_equal(n, 1);
	return w;
}

static json_t *join(Waiter *w)
{
	json_t *a;

	pthread_join(w->t, NULL);
	a = w->answer;
	free(w);
	return a;
}

#define WAIT "{\"jsonrpc\":\"2.0\",\"id\":\"w\",\"method\":\"tools/call\",\"params\":{\"name\":\"wait\"}}"

static void test_cancellation(void **state)
{
	RpcSession *s = begin("2025-11-25", "");
	int gone = eventfd(0, 0);
	uint64_t one = 1;
	Waiter *w;
	json_t *m;

	(void)state;
	/* by a message: no answer comes */
	w = start_waiter(s, WAIT, -1);
	m = handle(&alice, NULL, &s, WAIT);
	assert_int_equal(code_of(m), RPC_INVALID); /* an id twice */
	json_decref(m);
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"v\"}}"));
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}"));
	usleep(20000);
	assert_false(w->done);
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"w\"}}"));
	assert_null(join(w));
	/* by the client's end */
	w = start_waiter(s, WAIT, gone);
	assert_int_equal(write(gone, &one, sizeof one), sizeof one);
	m = join(w);
	assert_string_equal(text_of(m), "cancelled");
	json_decref(m);
	/* by the session's */
	w = start_waiter(s, WAIT, -1);
	rpc_session_end(&mcp, s);
	m = join(w);
	assert_string_equal(text_of(m), "cancelled");
	json_decref(m);
	/* what comes after it is cancelled from the start */
	m = handle(&alice, NULL, &s, WAIT);
	assert_string_equal(text_of(m), "cancelled");
	json_decref(m);
	rpc_session_free(&mcp, s);
	close(gone);
}

static void test_progress_and_log(void **state)
{
	RpcSession *s = begin("2025-06-18", "");
	json_t *m;

	(void)state;
	/* without a token there is no progress; all levels, until one is set */
	json_decref(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"talk\"}}"));
	assert_int_equal(sent_n(), 2);
	json_array_clear(test_link.sent);
	json_decref(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"warning\"}}"));
	m = handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"talk\",\"_meta\":{\"progressToken\":0}}}");
	json_decref(m);
	assert_int_equal(sent_n(), 3); /* 1, 2.5 and the error */
	m = json_object_get(json_array_get(test_link.sent, 1), "params");
	assert_true(json_real_value(json_object_get(m, "progress")) == 2.5);
	assert_int_equal(json_integer_value(json_object_get(m, "progressToken")), 0);
	json_array_clear(test_link.sent);
	/* stateless: only who asks hears of it */
	json_decref(modern(&alice, &s, "tools/call", "\"name\":\"talk\"", ""));
	assert_int_equal(sent_n(), 0);
	m = handle(&alice, NULL, &s,
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"talk\",\"_meta\":{"
		   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},"
		   "\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":[1]}}}");
	json_decref(m);
	assert_int_equal(sent_n(), 2); /* a token is text or integer */
	end(s);
}

static void test_questions(void **state)
{
	RpcSession *s = begin("2025-11-25", "\"elicitation\":{}"), *other = begin("2025-11-25", "\"elicitation\":{}");
	Waiter *w = start_waiter(s, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}", -1);
	char text[256];
	json_t *q, *m;

	(void)state;
	for (int i = 0; i < 5000 && !sent_n(); i++)
		usleep(1000);
	q = json_array_get(test_link.sent, 0);
	assert_string_equal(json_string_value(json_object_get(q, "method")), "elicitation/create");
	snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"decline\"}}",
		 json_string_value(json_object_get(q, "id")));
	/* nobody else answers it, and nothing but its id does */
	assert_null(handle(&alice, NULL, &other, text));
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":\"zz\",\"result\":{\"action\":\"accept\"}}"));
	usleep(20000);
	assert_false(w->done);
	assert_null(handle(&alice, NULL, &s, text));
	m = join(w);
	assert_string_equal(text_of(m), "decline once=0");
	json_decref(m);
	/* an error for an answer is none */
	json_array_clear(test_link.sent);
	w = start_waiter(s, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}", -1);
	for (int i = 0; i < 5000 && !sent_n(); i++)
		usleep(1000);
	snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-1,\"message\":\"\"}}",
		 json_string_value(json_object_get(json_array_get(test_link.sent, 0), "id")));
	assert_null(handle(&alice, NULL, &s, text));
	m = join(w);
	assert_string_equal(text_of(m), "no answer");
	json_decref(m);
	/* nor does the client's end leave anybody waiting */
	w = start_waiter(s, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}", -1);
	rpc_session_end(&mcp, s);
	m = join(w);
	assert_string_equal(text_of(m), "no answer");
	json_decref(m);
	rpc_session_free(&mcp, s);
	end(other);
}

static void test_changes(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char text[512];
	Waiter *w;
	json_t *m;

	(void)state;
	snprintf(text, sizeof text,
		 "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true,"
		 "\"resourceSubscriptions\":[\"t://one\",\"t://none\"]}," META "}}", "", "");
	w = start_waiter(s, text, -1);
	for (int i = 0; i < 5000 && !sent_n(); i++)
		usleep(1000);
	m = json_object_get(json_array_get(test_link.sent, 0), "params");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(m, "_meta"), META_SUBSCRIPTION)), 9);
	assert_int_equal(json_array_size(json_object_get(json_object_get(m, "notifications"), "resourceSubscriptions")), 1);
	for (int i = 0; i < 5000 && sent_n() < 2; i++) { /* the listener may not be there yet */
		server_list_changed(&mcp, "tools");
		usleep(1000);
	}
	server_list_changed(&mcp, "prompts");
	server_resource_changed(&mcp, "t://none");
	server_resource_changed(&mcp, "t://one");
	for (int i = 0; i < 5000; i++) {
		m = json_array_get(test_link.sent, sent_n() - 1);
		if (strcmp(json_string_value(json_object_get(m, "method")), "notifications/resources/updated") == 0)
			break;
		usleep(1000);
	}
	assert_string_equal(json_string_value(json_object_get(json_object_get(m, "params"), "uri")), "t://one");
	for (size_t i = 1; i < sent_n(); i++)
		assert_string_not_equal(json_string_value(json_object_get(json_array_get(test_link.sent, i), "method")),
					"notifications/prompts/list_changed");
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}"));
	assert_null(join(w));
	assert_null(mcp.sessions->listeners);
	end(s);
}

/* A client of a pipe that initialized hears what it subscribed to, and lists' changes. */
static void test_changes_of_a_session(void **state)
{
	RpcSession *s = begin("2025-11-25", "");

	(void)state;
	json_decref(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"t://x/7\"}}"));
	for (int i = 0; i < 5000 && sent_n() < 1; i++) {
		server_resource_changed(&mcp, "t://one");
		server_resource_changed(&mcp, "t://x/7");
		usleep(1000);
	}
	assert_string_equal(json_string_value(json_object_get(json_object_get(json_array_get(test_link.sent, 0), "params"), "uri")), "t://x/7");
	end(s);
	assert_null(mcp.sessions->listeners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_http_sessions), T(test_sessions_of_many),
		T(test_cancellation),
		T(test_progress_and_log),
		T(test_questions),
		T(test_changes),
		T(test_changes_of_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
