/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a client, a line each; the first byte says how they come:
 * bits 0-1 the revision that was initialized (3: none), bit 2 over HTTP, bit 3 the
 * client has gone, bit 4 headers that agree, bit 5 states that are ours.
 */
#include "mcp/rpc_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool echo(Call *c, json_t *args, ToolResult *r)
{
	char *text = json_dumps(args, JSON_COMPACT);

	call_progress(c, 1, -1, "m");
	call_log(c, "info", "l", json_null());
	tool_text(r, text);
	r->structured = json_incref(args);
	free(text);
	return true;
}

static bool ask(Call *c, json_t *args, ToolResult *r)
{
	json_t *a = call_is_legacy(c) ? NULL : call_elicit(c, "q", "?", json_object(), json_incref(args));

	if (a)
		tool_text(r, call_state_once(c) ? "once" : "again");
	json_decref(a);
	return true;
}

static json_t *read_it(Call *c, const char *uri, const char *var)
{
	return strcmp(var ? var : "", "none") == 0 ? call_no_resource(c, uri) : json_pack("[{s:s, s:s*}]", "uri", uri, "text", var);
}

static json_t *names(Call *c, const char *begin)
{
	(void)c;
	return json_pack("[s]", begin);
}

static json_t *prompt_it(Call *c, json_t *args)
{
	(void)c;
	return json_pack("{s:[], s:O}", "messages", "a", args);
}

static const Tool fuzz_tools[] = {
	{ "echo", "E", "e",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"properties\":{\"n\":{"
	  "\"x-mcp-header\":\"N\"}}}}}",
	  "{\"type\":\"object\"}", TOOL_READ_ONLY, echo },
	{ "ask", NULL, "a", "{\"type\":\"object\"}", NULL, 0, ask },
};
static const Resource fuzz_resources[] = {
	{ "t://one", "one", "o", "d", "text/plain", false, read_it, NULL },
	{ "t://x/{id}/y", "x", NULL, NULL, NULL, true, read_it, names },
	{ 0 },
};
static const PromptArg fuzz_arg[] = { { "need", "n", true, names }, { "may", NULL, false, NULL } };
static const Prompt fuzz_prompts[] = { { "p", "P", "d", fuzz_arg, 2, prompt_it }, { 0 } };

/* What it hears must be messages, as text too. */
static bool hear(Link *l, json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	(void)l;
	if (message && (!text || strchr(text, '\n')))
		abort();
	free(text);
	json_decref(message);
	return true;
}

static void check_answer(json_t *message, json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT);
	json_t *id = json_object_get(answer, "id"), *one;
	size_t i;

	if (!text || strchr(text, '\n'))
		abort();
	free(text);
	json_array_foreach(answer, i, one)
		check_answer(NULL, one);
	if (json_is_array(answer))
		return;
	if (!json_object_get(answer, "result") == !json_object_get(answer, "error"))
		abort();
	if (id && message && !json_equal(id, json_object_get(message, "id")))
		abort();
}

typedef struct Client {
	Mcp *m;
	Caller who;
	Link link;
	RpcSession *session;
	char session_id[64], state[8192];
	bool http, headers, states;
} Client;

static const char *param(void *ctx, const char *name)
{
	json_t *args = json_object_get(json_object_get(ctx, "params"), "arguments");

	return strcmp(name, "A") == 0 ? json_string_value(json_object_get(args, "a")) : "7";
}

static void one(Client *c, const char *text, size_t n)
{
	json_t *m, *params, *state;
	const char *name;
	RpcHttp h = { 0 };
	RpcOut out;

	m = rpc_parse(text, n, &out);
	if (!m) {
		check_answer(NULL, out.message);
		json_decref(out.message);
		return;
	}
	params = json_object_get(m, "params");
	name = json_string_value(json_object_get(m, "method"));
	if (c->states && *c->state && json_object_get(params, "requestState"))
		json_object_set_new(params, "requestState", json_string(c->state));
	if (c->headers) {
		h.protocol_version = json_string_value(json_object_get(json_object_get(params, "_meta"), META_VERSION));
		h.method = name;
		h.name = json_string_value(json_object_get(params, json_object_get(params, "uri") ? "uri" : "name"));
		h.param = param;
		h.ctx = m;
	}
	h.session_id = *c->session_id ? c->session_id : NULL;
	if (c->link.gone_fd < 0 && name && strcmp(name, "subscriptions/listen") == 0) {
		json_decref(m); /* does not end by itself */
		return;
	}
	rpc_handle(&(RpcIn){ .mcp = c->m, .caller = &c->who, .http = c->http ? &h : NULL, .session = c->http ? NULL : &c->session,
			     .link = &c->link, .message = m }, &out);
	if (out.message)
		check_answer(m, out.message);
	if (out.session_id[0])
		memcpy(c->session_id, out.session_id, sizeof c->session_id);
	state = json_object_get(json_object_get(out.message, "result"), "requestState");
	if (state)
		snprintf(c->state, sizeof c->state, "%s", json_string_value(state));
	json_decref(out.message);
	json_decref(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int gone = -1;
	Mcp m = { .launcher_fd = -1, .checker_fd = -1, .name = "f", .version = "1", .tools = fuzz_tools,
		  .tools_n = sizeof fuzz_tools / sizeof *fuzz_tools, .resources = fuzz_resources, .prompts = fuzz_prompts };
	Client c = { .m = &m, .who = { .name = "f", .session = "f" }, .link = { hear, -1 } };
	const char *p = (const char *)data + 1, *end = (const char *)data + n;
	char init[256];

	if (n < 2 || !server_init(&m))
		return 0;
	if (gone < 0)
		gone = eventfd(1, EFD_CLOEXEC);
	c.http = data[0] & 4;
	c.link.gone_fd = data[0] & 8 ? gone : -1;
	c.headers = data[0] & 16;
	c.states = data[0] & 32;
	c.session = rpc_session_new(&m, &c.who);
	if ((data[0] & 3) < ERA_2026_07_28) {
		snprintf(init, sizeof init,
			 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
			 "\"clientInfo\":{}}}",
			 era_name(data[0] & 3));
		one(&c, init, strlen(init));
	}
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		one(&c, p, (size_t)(stop - p));
		p = stop + 1;
	}
	rpc_session_end(&m, c.session);
	rpc_session_free(&m, c.session);
	server_free(&m);
	return 0;
}
