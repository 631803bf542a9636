/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/test_server.h"

#include <unistd.h>

#define ANY "{\"type\":\"object\"}"
#define HEADERS                                                                                                      \
	"{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"          \
	"\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},\"fast\":{\"type\":\"boolean\",\"x-mcp-header\":" \
	"\"Fast\"},\"in\":{\"type\":\"object\",\"properties\":{\"deep\":{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}}}}}"

int64_t now_s = 1000;
int64_t __wrap_aside_now_s(void);

int64_t __wrap_aside_now_s(void)
{
	return now_s;
}

static bool echo(Call *c, json_t *args, ToolResult *r)
{
	char *text = json_dumps(args, JSON_COMPACT);

	(void)c;
	tool_text(r, text);
	free(text);
	return true;
}

static bool talk(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	call_progress(c, 1, 3, "one");
	call_progress(c, 1, 3, "not more");
	call_progress(c, 2.5, 3, NULL);
	call_log(c, "debug", NULL, json_string("d"));
	call_log(c, "error", "x", json_string("e"));
	tool_text(r, "done");
	return true;
}

/* Waits until it is cancelled: the answer tells that it noticed. */
static bool wait_for_end(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	while (!call_cancelled(c))
		usleep(1000);
	tool_text(r, "cancelled");
	return true;
}

static bool ask(Call *c, json_t *args, ToolResult *r)
{
	const char *question = json_string_value(json_object_get(args, "question"));
	json_t *a = call_elicit(c, "q", question && strcmp(question, "odd") == 0 ? "\xff" : "sure?", json_pack("{s:s, s:{}}", "type", "object", "properties"), json_integer(7));
	char text[128];

	if (!a)
		return c->pending ? true : tool_refuse(r, "no answer");
	snprintf(text, sizeof text, "%s once=%d", json_string_value(json_object_get(a, "action")), call_state_once(c));
	json_decref(a);
	tool_text(r, text);
	return true;
}

/* Two questions, one after the other. */
static bool ask_twice(Call *c, json_t *args, ToolResult *r)
{
	json_t *a = call_elicit(c, "q1", "one?", json_object(), json_integer(1));
	json_t *b = a ? call_elicit(c, "q2", "two?", json_object(), json_integer(2)) : NULL;

	(void)args;
	if (b)
		tool_text(r, json_string_value(json_object_get(b, "action")));
	json_decref(a);
	json_decref(b);
	return true;
}

static bool keep(Call *c, json_t *args, ToolResult *r)
{
	const char *text = json_string_value(json_object_get(args, "keep"));
	char name[HANDLE_TEXT];

	if (text) {
		assert_true(handle_keep(c, "page", text, name));
		tool_text(r, name);
	} else {
		char *got = handle_text(c, json_string_value(json_object_get(args, "name")));

		tool_text(r, got ? got : "(none)");
		free(got);
	}
	return true;
}

static json_t *read_it(Call *c, const char *uri, const char *var)
{
	(void)c;
	return json_pack("[{s:s, s:s}]", "uri", uri, "text", var ? var : "whole");
}

static json_t *prompt_it(Call *c, json_t *args)
{
	(void)c;
	(void)args;
	return json_pack("{s:[]}", "messages");
}

const Tool test_tools[] = {
	{ "echo", "E", "e", ANY, ANY, TOOL_READ_ONLY, echo },
	{ "talk", NULL, "t", ANY, NULL, 0, talk },
	{ "wait", NULL, "w", ANY, NULL, 0, wait_for_end },
	{ "ask", NULL, "a", ANY, NULL, 0, ask },
	{ "twice", NULL, "a", ANY, NULL, 0, ask_twice },
	{ "keep", NULL, "k", ANY, NULL, 0, keep },
	{ "headers", NULL, "h", HEADERS, NULL, 0, echo },
};
static const Resource test_resources[] = {
	{ "t://one", "one", NULL, NULL, NULL, false, read_it, NULL },
	{ "t://x/{id}", "x", NULL, NULL, NULL, true, read_it, NULL },
	{ 0 },
};
static const PromptArg prompt_arg[] = { { "need", "n", true, NULL } };
static const Prompt test_prompts[] = { { "p", NULL, NULL, prompt_arg, 1, prompt_it }, { 0 } };

Mcp mcp;
TestLink test_link;
const Caller alice = { .name = "alice", .session = "mcp alice" };
const Caller bob = { .name = "bob", .session = "mcp bob" };

bool test_send(Link *l, json_t *message)
{
	TestLink *t = (TestLink *)l;

	pthread_mutex_lock(&t->lock);
	if (message)
		json_array_append_new(t->sent, message);
	pthread_mutex_unlock(&t->lock);
	return !t->dead;
}

size_t sent_n(void)
{
	size_t n;

	pthread_mutex_lock(&test_link.lock);
	n = json_array_size(test_link.sent);
	pthread_mutex_unlock(&test_link.lock);
	return n;
}

int setup(void **state)
{
	(void)state;
	mcp = (Mcp){ .launcher_fd = -1, .checker_fd = -1, .name = "t", .title = "T", .version = "1", .tools = test_tools,
		     .tools_n = sizeof test_tools / sizeof *test_tools, .resources = test_resources, .prompts = test_prompts,
		     .changes = true, .instructions = "do" };
	test_link = (TestLink){ .link = { .send = test_send, .gone_fd = -1 }, .sent = json_array() };
	pthread_mutex_init(&test_link.lock, NULL);
	return server_init(&mcp) ? 0 : -1;
}

int teardown(void **state)
{
	(void)state;
	server_free(&mcp);
	json_decref(test_link.sent);
	pthread_mutex_destroy(&test_link.lock);
	return 0;
}

/* ---- asking ---- */

RpcOut last;

json_t *handle(const Caller *who, const RpcHttp *http, RpcSession **session, const char *text)
{
	json_t *m = json_loads(text, JSON_DECODE_ANY, NULL);
	RpcIn in = { .mcp = &mcp, .caller = who, .http = http, .session = session, .link = &test_link.link, .message = m };

	assert_non_null(m);
	rpc_handle(&in, &last);
	json_decref(m);
	return last.message;
}

int code_of(json_t *message)
{
	return (int)json_integer_value(json_object_get(json_object_get(message, "error"), "code"));
}

const char *text_of(json_t *message)
{
	json_t *content = json_object_get(json_object_get(message, "result"), "content");

	return json_string_value(json_object_get(json_array_get(content, 0), "text"));
}

json_t *modern(const Caller *who, RpcSession **s, const char *method, const char *params, const char *caps)
{
	char text[65536];

	snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" META "}}", method, params,
		 *params ? "," : "", caps, "");
	return handle(who, NULL, s, text);
}

RpcSession *begin(const char *version, const char *caps)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char text[512];
	json_t *m;

	snprintf(text, sizeof text,
		 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{%s},"
		 "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
		 version, caps);
	m = handle(&alice, NULL, &s, text);
	assert_non_null(json_object_get(m, "result"));
	json_decref(m);
	return s;
}

void end(RpcSession *s)
{
	rpc_session_end(&mcp, s);
	rpc_session_free(&mcp, s);
}

