/* SPDX-License-Identifier: Apache-2.0
 *
 * A message and its answer: what is none, revisions, headers, states, lists.
 */
#include "base/base64.h"
#include "base/sha256.h"
#include "mcp/aside.h"
#include "mcp/test_server.h"

/* ---- text ---- */

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", " ", "{", "nul", "{\"a\":1,\"a\":2}", "{\"x\":{\"a\":1,\"a\":1}}", "[1,]", "{\"a\":01}", "{\"a\":NaN}", "'a'",
		"{\"a\":1e999}", "{\"a\":99999999999999999999}", "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\x01\"}", "{} {}",
		"{\"jsonrpc\":\"2.0\"}\xc0", "// c\n{}", "{\"\\u0000\":1}", "{\"a\xc3\x28\":1}",
	};
	static const char brackets[] = "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"]";
	char *deep = malloc(200), *large = malloc(LIMIT_MCP_MESSAGE + 2);
	RpcOut out;
	json_t *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_null(rpc_parse(bad[i], strlen(bad[i]), &out));
		assert_int_equal(code_of(out.message), RPC_PARSE);
		assert_int_equal(out.status, 400);
		assert_null(json_object_get(out.message, "id"));
		json_decref(out.message);
	}
	for (int n = LIMIT_MCP_DEPTH; n <= LIMIT_MCP_DEPTH + 1; n++) {
		memset(deep, '[', (size_t)n);
		memset(deep + n, ']', (size_t)n);
		m = rpc_parse(deep, 2 * (size_t)n, &out);
		assert_int_equal(m != NULL, n == LIMIT_MCP_DEPTH);
		json_decref(m);
		json_decref(out.message);
	}
	/* brackets in strings are none */
	m = rpc_parse(brackets, strlen(brackets), &out);
	assert_non_null(m);
	json_decref(m);
	memset(large, ' ', LIMIT_MCP_MESSAGE + 1);
	large[0] = '1';
	m = rpc_parse(large, LIMIT_MCP_MESSAGE, &out);
	assert_non_null(m);
	json_decref(m);
	assert_null(rpc_parse(large, LIMIT_MCP_MESSAGE + 1, &out));
	json_decref(out.message);
	free(deep);
	free(large);
}

/* Good JSON all the same, so whoever sent it is told by the id that he waits for. */
static void test_zero_in_a_text(void **state)
{
	static const struct {
		const char *text;
		bool has_id;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"x\":\"a\\u0000b\"}}", true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"seven\",\"method\":\"p\\u0000ing\"}", true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"sev\\u0000en\",\"method\":\"ping\"}", false },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"ping\\u0000\"}", false },
		{ "[{\"id\":7,\"x\":\"\\u0000\"}]", false },
		{ "\"\\u0000\"", false },
	};
	RpcOut out;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_null(rpc_parse(rows[i].text, strlen(rows[i].text), &out));
		assert_int_equal(code_of(out.message), RPC_INVALID);
		assert_int_equal(out.status, 400);
		assert_int_equal(json_object_get(out.message, "id") != NULL, rows[i].has_id);
		json_decref(out.message);
	}
	/* what is no JSON beside stays none */
	assert_null(rpc_parse("{\"id\":7,\"id\":7,\"x\":\"\\u0000\"}", strlen("{\"id\":7,\"id\":7,\"x\":\"\\u0000\"}"), &out));
	assert_int_equal(code_of(out.message), RPC_PARSE);
	json_decref(out.message);
}

static void test_not_a_message(void **state)
{
	static const char *const bad[] = {
		"1", "null", "\"x\"", "[]", "[1]", "{}", "{\"jsonrpc\":\"2.0\"}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
		"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "{\"id\":1,\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
		"{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
		"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
	};
	RpcSession *s = begin("2025-11-25", "");
	json_t *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		m = handle(&alice, NULL, &s, bad[i]);
		assert_int_equal(code_of(m), RPC_INVALID);
		assert_int_equal(last.status, 400);
		json_decref(m);
	}
	m = handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}");
	assert_int_equal(code_of(m), RPC_PARAMS);
	json_decref(m);
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/none\"}"));
	assert_null(handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":\"no question\",\"result\":{}}"));
	end(s);
}

/* ---- revisions ---- */

static void test_eras(void **state)
{
	static const struct {
		const char *asked, *got;
	} rows[] = {
		{ "2025-03-26", "2025-03-26" }, { "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
		{ "2026-07-28", "2025-11-25" }, { "2024-11-05", "2025-11-25" }, { "", "2025-11-25" },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		RpcSession *s = rpc_session_new(&mcp, &alice);
		json_t *m, *t;

		m = handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		assert_int_equal(code_of(m), RPC_INVALID); /* initialize first */
		json_decref(m);
		m = handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
		assert_non_null(json_object_get(m, "result"));
		json_decref(m);
		snprintf(text, sizeof text,
			 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
			 "\"clientInfo\":{}}}",
			 rows[i].asked);
		m = handle(&alice, NULL, &s, text);
		assert_string_equal(json_string_value(json_object_get(json_object_get(m, "result"), "protocolVersion")), rows[i].got);
		assert_null(json_object_get(json_object_get(m, "result"), "resultType"));
		json_decref(m);
		m = handle(&alice, NULL, &s, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/list\"}");
		t = json_array_get(json_object_get(json_object_get(m, "result"), "tools"), 0);
		assert_string_equal(json_string_value(json_object_get(t, "name")), "echo");
		/* what a revision does not know is not said */
		assert_int_equal(json_object_get(t, "outputSchema") != NULL, strcmp(rows[i].got, "2025-03-26") != 0);
		assert_null(json_object_get(json_object_get(m, "result"), "ttlMs"));
		json_decref(m);
		end(s);
	}
}

static void test_methods_by_era(void **state)
{
	static const struct {
		const char *name;
		unsigned flags;
	} rows[] = {
#define METHOD(name, fn, flags, param) { name, flags },
#include "mcp/methods.def"
#undef METHOD
		{ "no/such", 0 },
		{ "notifications/initialized", 0 },
	};
	RpcSession *s = begin("2025-11-25", "");
	char text[256];
	json_t *m;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].name, "subscriptions/listen") == 0)
			continue; /* does not end by itself */
		m = modern(&alice, &s, rows[i].name, "", "");
		assert_int_equal(code_of(m) == RPC_NO_METHOD, !(rows[i].flags & METHOD_MODERN));
		assert_int_equal(last.status == 404, !(rows[i].flags & METHOD_MODERN));
		if (json_object_get(m, "result")) {
			json_t *r = json_object_get(m, "result");

			assert_string_equal(json_string_value(json_object_get(r, "resultType")), "complete");
			assert_non_null(json_object_get(json_object_get(r, "_meta"), META_SERVER));
			assert_int_equal(json_is_integer(json_object_get(r, "ttlMs")), !!(rows[i].flags & METHOD_CACHED));
		}
		json_decref(m);
		if (strcmp(rows[i].name, "initialize") == 0 || !(rows[i].flags & METHOD_LEGACY) == !strchr(rows[i].name, '/'))
			continue;
		snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", rows[i].name);
		if (rows[i].flags & METHOD_MODERN && !(rows[i].flags & METHOD_LEGACY)) {
			m = handle(&alice, NULL, &s, text); /* names the stateless protocol, without what that needs */
			assert_int_equal(code_of(m), RPC_PARAMS);
		} else {
			m = handle(&alice, NULL, &s, text);
			assert_int_equal(code_of(m) == RPC_NO_METHOD, !(rows[i].flags & METHOD_LEGACY));
		}
		json_decref(m);
	}
	end(s);
}

static void test_modern_needs_meta(void **state)
{
	static const struct {
		const char *meta;
		int code;
	} rows[] = {
		{ "{}", RPC_PARAMS },
		{ "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}", RPC_PARAMS },
		{ "{\"io.modelcontextprotocol/clientCapabilities\":{}}", RPC_PARAMS },
		{ "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":[]}", RPC_PARAMS },
		{ "{\"io.modelcontextprotocol/protocolVersion\":7,\"io.modelcontextprotocol/clientCapabilities\":{}}", RPC_PARAMS },
		{ "{\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}", RPC_VERSION },
		{ "{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\",\"io.modelcontextprotocol/clientCapabilities\":{}}", RPC_VERSION },
		{ "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},"
		  "\"io.modelcontextprotocol/logLevel\":\"loud\"}", RPC_PARAMS },
		{ "7", RPC_PARAMS },
	};
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *m;

		snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"server/discover\",\"params\":{\"_meta\":%s}}", rows[i].meta);
		m = handle(&alice, NULL, &s, text);
		assert_int_equal(code_of(m), rows[i].code);
		assert_int_equal(last.status, 400);
		assert_int_equal(json_integer_value(json_object_get(m, "id")), 5);
		json_decref(m);
	}
	end(s);
}

/* ---- headers ---- */

static const char *test_param(void *ctx, const char *name)
{
	return json_string_value(json_object_get(ctx, name));
}

static void test_headers(void **state)
{
	static const struct {
		const char *headers, *args;
		bool ok;
	} rows[] = {
		{ "{}", "{}", true },
		{ "{}", "{\"region\":null}", true },
		{ "{\"Region\":\"eu\"}", "{\"region\":\"eu\"}", true },
		{ "{\"Region\":\" eu\\t\"}", "{\"region\":\"eu\"}", true },
		{ "{\"Region\":\"EU\"}", "{\"region\":\"eu\"}", false },
		{ "{}", "{\"region\":\"eu\"}", false },
		{ "{\"Region\":\"eu\"}", "{}", false },
		{ "{\"Region\":\"eu\"}", "{\"region\":null}", false },
		{ "{\"Region\":\"=?base64?SGVsbG8=?=\"}", "{\"region\":\"Hello\"}", true },
		{ "{\"Region\":\"=?base64?SGVsbG8?=\"}", "{\"region\":\"Hello\"}", false },
		{ "{\"Region\":\"=?base64?SGVsbG9=?=\"}", "{\"region\":\"Hello\"}", false }, /* a bit to spare */
		{ "{\"Region\":\"=?base64?SGVs!!!bG8=?=\"}", "{\"region\":\"Hello\"}", false },
		{ "{\"Region\":\"=?base64?SGVsbG8=\"}", "{\"region\":\"=?base64?SGVsbG8=\"}", true },
		{ "{\"Region\":\"=?BASE64?SGVsbG8=?=\"}", "{\"region\":\"Hello\"}", false },
		{ "{\"Region\":\"=?base64?" "?=\"}", "{\"region\":\"\"}", true },
		{ "{\"Region\":\"=?base64?4piD?=\"}", "{\"region\":\"\u2603\"}", true },
		{ "{\"Region\":\"\u2603\"}", "{\"region\":\"\u2603\"}", false },
		{ "{\"Count\":\"42\"}", "{\"count\":42}", true },
		{ "{\"Count\":\"42.0\"}", "{\"count\":42}", true },
		{ "{\"Count\":\"-7\"}", "{\"count\":-7}", true },
		{ "{\"Count\":\"0x2a\"}", "{\"count\":42}", false },
		{ "{\"Count\":\" 42 \"}", "{\"count\":42}", true },
		{ "{\"Count\":\"\"}", "{\"count\":0}", false },
		{ "{\"Count\":\"inf\"}", "{\"count\":1}", false },
		{ "{\"Count\":\"9007199254740993\"}", "{\"count\":9007199254740993}", true },
		{ "{\"Count\":\"9007199254740992\"}", "{\"count\":9007199254740993}", false },
		{ "{\"Fast\":\"true\"}", "{\"fast\":true}", true },
		{ "{\"Fast\":\"True\"}", "{\"fast\":true}", false },
		{ "{\"Fast\":\"false\"}", "{\"fast\":true}", false },
		{ "{\"Deep\":\"a\"}", "{\"in\":{\"deep\":\"a\"}}", true },
		{ "{}", "{\"in\":{\"deep\":\"a\"}}", false },
		{ "{\"Region\":\"x\"}", "{\"region\":[\"x\"]}", false },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *params = json_loads(rows[i].headers, 0, NULL), *m;
		RpcHttp h = { .protocol_version = "2026-07-28", .method = "tools/call", .name = "headers", .param = test_param, .ctx = params };

		snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"headers\",\"arguments\":%s," META "}}",
			 rows[i].args, "", "");
		m = handle(&alice, &h, NULL, text);
		if ((code_of(m) == 0) != rows[i].ok)
			fail_msg("%s with %s: %s", rows[i].headers, rows[i].args, json_dumps(m, 0));
		if (!rows[i].ok)
			assert_int_equal(code_of(m), RPC_HEADER);
		json_decref(m);
		json_decref(params);
	}
}

static void test_standard_headers(void **state)
{
	static const struct {
		const char *version, *method, *name;
		bool ok;
	} rows[] = {
		{ "2026-07-28", "tools/call", "echo", true },	{ "2026-07-28", "tools/call", "=?base64?ZWNobw==?=", true },
		{ "2026-07-28", "tools/call", "talk", false },	{ "2026-07-28", "tools/call", NULL, false },
		{ "2026-07-28", "tools/CALL", "echo", false },	{ "2026-07-28", NULL, "echo", false },
		{ NULL, "tools/call", "echo", false },		{ "2025-11-25", "tools/call", "echo", false },
		{ "2026-07-28", "tools/list", "echo", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		RpcHttp h = { .protocol_version = rows[i].version, .method = rows[i].method, .name = rows[i].name };
		char text[512];
		json_t *m;

		snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"," META "}}", "", "");
		m = handle(&alice, &h, NULL, text);
		assert_int_equal(code_of(m), rows[i].ok ? 0 : RPC_HEADER);
		assert_int_equal(last.status, rows[i].ok ? 200 : 400);
		json_decref(m);
	}
}

/* ---- questions without a session ---- */

static char *take_state_text(const Caller *who, RpcSession **s)
{
	json_t *m = modern(who, s, "tools/call", "\"name\":\"ask\"", "\"elicitation\":{}"), *r = json_object_get(m, "result");
	char *text;

	assert_string_equal(json_string_value(json_object_get(r, "resultType")), "input_required");
	assert_string_equal(json_string_value(json_object_get(json_object_get(json_object_get(r, "inputRequests"), "q"), "method")),
			    "elicitation/create");
	assert_null(json_object_get(r, "ttlMs"));
	text = strdup(json_string_value(json_object_get(r, "requestState")));
	json_decref(m);
	return text;
}

#define ANSWER "\"inputResponses\":{\"q\":{\"action\":\"accept\"}}"

/* What comes of a call that shows this state, with an answer beside it (new). */
static char *use_state(const Caller *who, RpcSession **s, const char *state)
{
	char params[4096], *said;
	json_t *m;

	snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":\"%s\"", state);
	m = modern(who, s, "tools/call", params, "\"elicitation\":{}");
	said = strdup(code_of(m) ? "refused" : text_of(m));
	json_decref(m);
	return said;
}

static void expect_use(const Caller *who, RpcSession **s, const char *state, const char *want)
{
	char *said = use_state(who, s, state);

	assert_string_equal(said, want);
	free(said);
}

static void test_request_state_in_time(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char *text = take_state_text(&alice, &s);

	(void)state;
	now_s += LIMIT_MCP_STATE_AGE;
	expect_use(&alice, &s, text, "accept once=1");
	expect_use(&alice, &s, text, "accept once=0");
	now_s++;
	expect_use(&alice, &s, text, "refused");
	free(text);
	end(s);
}

/* What one has used up leaves places for others, and comes back with time. */
static void test_used_states_of_many(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice), *t = rpc_session_new(&mcp, &bob);
	char *text, *first = take_state_text(&alice, &s);

	(void)state;
	expect_use(&alice, &s, first, "accept once=1");
	for (int i = 1; i < LIMIT_MCP_USED_STATES + 10; i++) {
		text = take_state_text(&alice, &s);
		expect_use(&alice, &s, text, i < LIMIT_MCP_USED_STATES_CALLER ? "accept once=1" : "accept once=0");
		free(text);
	}
	expect_use(&alice, &s, first, "accept once=0");
	text = take_state_text(&bob, &t);
	expect_use(&bob, &t, text, "accept once=1");
	expect_use(&bob, &t, text, "accept once=0");
	free(text);
	now_s += LIMIT_MCP_STATE_AGE + 1;
	text = take_state_text(&alice, &s);
	expect_use(&alice, &s, text, "accept once=1");
	expect_use(&alice, &s, first, "refused");
	free(text);
	free(first);
	end(s);
	end(t);
}

static void test_request_state(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char *text = take_state_text(&alice, &s), params[4096];
	json_t *m;

	(void)state;
	snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":\"%s\"", text);
	m = modern(&bob, &s, "tools/call", params, "\"elicitation\":{}");
	assert_int_equal(code_of(m), RPC_PARAMS); /* another's */
	json_decref(m);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_string_equal(text_of(m), "accept once=1");
	json_decref(m);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_string_equal(text_of(m), "accept once=0"); /* used up */
	json_decref(m);
	/* of another request */
	snprintf(params, sizeof params, "\"name\":\"ask\",\"arguments\":{\"a\":1}," ANSWER ",\"requestState\":\"%s\"", text);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_int_equal(code_of(m), RPC_PARAMS);
	json_decref(m);
	/* of another server */
	mcp.secret[31] ^= 1;
	snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":\"%s\"", text);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_int_equal(code_of(m), RPC_PARAMS);
	json_decref(m);
	mcp.secret[31] ^= 1;
	/* an answer to what was not asked counts for nothing */
	m = modern(&alice, &s, "tools/call", "\"name\":\"ask\"," ANSWER, "\"elicitation\":{}");
	assert_string_equal(json_string_value(json_object_get(json_object_get(m, "result"), "resultType")), "input_required");
	json_decref(m);
	/* a question that is no text is not put */
	m = modern(&alice, &s, "tools/call", "\"name\":\"ask\",\"arguments\":{\"question\":\"odd\"}", "\"elicitation\":{}");
	assert_int_equal(code_of(m), RPC_INTERNAL);
	json_decref(m);
	/* a client that can't be asked */
	m = modern(&alice, &s, "tools/call", "\"name\":\"ask\"", "\"sampling\":{}");
	assert_int_equal(code_of(m), RPC_CAPABILITY);
	assert_non_null(json_object_get(json_object_get(json_object_get(json_object_get(m, "error"), "data"), "requiredCapabilities"),
					"elicitation"));
	json_decref(m);
	free(text);
	end(s);
}

/* Each answer counts for what was asked when its state went out, and is kept for the next round. */
static void test_request_state_rounds(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	json_t *m = modern(&alice, &s, "tools/call", "\"name\":\"twice\"", "\"elicitation\":{}"), *r;
	char params[8192], first[2048];

	(void)state;
	r = json_object_get(m, "result");
	assert_non_null(json_object_get(json_object_get(r, "inputRequests"), "q1"));
	snprintf(first, sizeof first, "%s", json_string_value(json_object_get(r, "requestState")));
	json_decref(m);
	/* q2 has not been asked yet */
	snprintf(params, sizeof params, "\"name\":\"twice\",\"inputResponses\":{\"q1\":{\"action\":\"accept\"},\"q2\":{\"action\":\"forged\"}},\"requestState\":\"%s\"",
		 first);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	r = json_object_get(m, "result");
	assert_null(json_object_get(json_object_get(r, "inputRequests"), "q1"));
	assert_non_null(json_object_get(json_object_get(r, "inputRequests"), "q2"));
	snprintf(params, sizeof params, "\"name\":\"twice\",\"inputResponses\":{\"q2\":{\"action\":\"meant\"}},\"requestState\":\"%s\"",
		 json_string_value(json_object_get(r, "requestState")));
	json_decref(m);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_string_equal(text_of(m), "meant");
	json_decref(m);
	/* what a client sends besides does not come back in the state */
	memset(params, 0, sizeof params);
	snprintf(params, sizeof params, "\"name\":\"twice\",\"inputResponses\":{\"junk\":{\"a\":\"%04000d\"}}", 7);
	m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
	assert_true(strlen(json_string_value(json_object_get(json_object_get(m, "result"), "requestState"))) < 1000);
	json_decref(m);
	end(s);
}

/* RFC 2104, over what need not be long. */
static Hash mac_of(const uint8_t key[32], const char *text)
{
	uint8_t in[64 + 2048], out[64 + SHA256_BYTES];
	size_t n = strlen(text);
	Hash h;

	for (unsigned i = 0; i < 64; i++) {
		in[i] = (uint8_t)((i < 32 ? key[i] : 0) ^ 0x36);
		out[i] = (uint8_t)((i < 32 ? key[i] : 0) ^ 0x5c);
	}
	assert_true(n <= sizeof in - 64);
	memcpy(in + 64, text, n);
	h = sha256(BYTES(in, 64 + n));
	memcpy(out + 64, h.b, SHA256_BYTES);
	return sha256(BYTES(out, sizeof out));
}

/* The same state, sealed by the server's own secret, but good until another second. */
static void sealed_until(const char *text, json_int_t until, char ret[4096])
{
	enum { MAC = BASE64_TEXT(SHA256_BYTES) };
	uint8_t inside[2048];
	ssize_t n = unbase64url(inside, (Str){ text + MAC, strlen(text) - MAC });
	json_t *all = json_loadb((const char *)inside, (size_t)n, 0, NULL);
	char *again;
	Hash h;

	assert_non_null(all);
	assert_in_range(json_integer_value(json_object_get(all, "until")), aside_now_s() + LIMIT_MCP_STATE_AGE - 10, aside_now_s() + LIMIT_MCP_STATE_AGE);
	json_object_set_new(all, "until", json_integer(until));
	again = json_dumps(all, JSON_COMPACT);
	h = mac_of(mcp.secret, again);
	base64url(ret + base64url(ret, BYTES(h.b, sizeof h.b)), BYTES(again, strlen(again)));
	free(again);
	json_decref(all);
}

static void test_request_state_has_an_end(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char *text = take_state_text(&alice, &s), other[4096], params[8192];

	(void)state;
	for (int late = 0; late < 2; late++) {
		sealed_until(text, aside_now_s() + (late ? -2 : 60), other);
		snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":\"%s\"", other);
		json_t *m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");

		if (late)
			assert_int_equal(code_of(m), RPC_PARAMS);
		else
			assert_string_equal(text_of(m), "accept once=1");
		json_decref(m);
	}
	free(text);
	end(s);
}

static void test_request_state_tampered(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char *text = take_state_text(&alice, &s), params[8192];
	size_t n = strlen(text);
	json_t *m;

	(void)state;
	for (size_t i = 0; i <= n; i++) {
		char *other = strdup(text);

		if (i < n)
			other[i] = other[i] == 'A' ? 'B' : 'A';
		else
			other[n - 1] = 0; /* cut */
		snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":\"%s\"", other);
		m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
		assert_int_equal(code_of(m), RPC_PARAMS);
		json_decref(m);
		free(other);
	}
	for (int i = 0; i < 4; i++) {
		static const char *const odd[] = { "\"\"", "7", "\"====\"", "{}" };

		snprintf(params, sizeof params, "\"name\":\"ask\"," ANSWER ",\"requestState\":%s", odd[i]);
		m = modern(&alice, &s, "tools/call", params, "\"elicitation\":{}");
		assert_int_equal(code_of(m), RPC_PARAMS);
		json_decref(m);
	}
	free(text);
	end(s);
}

/* ---- the rest ---- */

static void test_batch(void **state)
{
	static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},"
				    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no/such\"},7]";
	RpcSession *s = begin("2025-03-26", ""), *later = begin("2025-06-18", "");
	json_t *m = handle(&alice, NULL, &s, batch);

	(void)state;
	assert_int_equal(json_array_size(m), 3);
	assert_int_equal(code_of(json_array_get(m, 1)), RPC_NO_METHOD);
	assert_int_equal(code_of(json_array_get(m, 2)), RPC_INVALID);
	json_decref(m);
	assert_null(handle(&alice, NULL, &s, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]"));
	assert_int_equal(last.status, 202);
	m = handle(&alice, NULL, &later, batch);
	assert_int_equal(code_of(m), RPC_INVALID);
	json_decref(m);
	end(s);
	end(later);
}

static void test_pages(void **state)
{
	enum { N = 2 * LIMIT_MCP_PAGE + 3 };
	static Tool many[N];
	static const char *const bad[] = { "\"\"", "7", "\"row-0\"", "\"row-999\"", "\"row-1x\"", "\"row--1\"", "\"row-99999999999\"", "null" };
	RpcSession *s = rpc_session_new(&mcp, &alice);
	char params[128] = "";
	unsigned n = 0, pages = 0;
	json_t *m;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		many[i] = test_tools[0];
	mcp.tools = many;
	mcp.tools_n = N;
	do {
		json_t *r;

		m = modern(&alice, &s, "tools/list", params, "");
		r = json_object_get(m, "result");
		n += (unsigned)json_array_size(json_object_get(r, "tools"));
		pages++;
		assert_string_equal(json_string_value(json_object_get(r, "cacheScope")), "public");
		*params = 0;
		if (json_object_get(r, "nextCursor"))
			snprintf(params, sizeof params, "\"cursor\":\"%s\"", json_string_value(json_object_get(r, "nextCursor")));
		json_decref(m);
	} while (*params);
	assert_int_equal(n, N);
	assert_int_equal(pages, 3);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(params, sizeof params, "\"cursor\":%s", bad[i]);
		m = modern(&alice, &s, "tools/list", params, "");
		assert_int_equal(code_of(m), RPC_PARAMS);
		json_decref(m);
	}
	end(s);
}

static void test_calls(void **state)
{
	static const struct {
		const char *method, *params;
		int code;
	} rows[] = {
		{ "tools/call", "", RPC_PARAMS },
		{ "tools/call", "\"name\":7", RPC_PARAMS },
		{ "tools/call", "\"name\":\"none\"", RPC_PARAMS },
		{ "tools/call", "\"name\":\"echo\",\"arguments\":[]", RPC_PARAMS },
		{ "tools/call", "\"name\":\"echo\",\"arguments\":null", RPC_PARAMS },
		{ "tools/call", "\"name\":\"echo\"", 0 },
		{ "resources/read", "", RPC_PARAMS },
		{ "resources/read", "\"uri\":\"t://none\"", RPC_PARAMS },
		{ "resources/read", "\"uri\":\"t://x/\"", RPC_PARAMS },
		{ "resources/read", "\"uri\":\"t://one\"", 0 },
		{ "prompts/get", "\"name\":\"p\"", RPC_PARAMS },
		{ "prompts/get", "\"name\":\"p\",\"arguments\":{\"need\":7}", RPC_PARAMS },
		{ "prompts/get", "\"name\":\"p\",\"arguments\":{\"need\":\"\"}", 0 },
		{ "prompts/get", "\"name\":\"q\"", RPC_PARAMS },
		{ "completion/complete", "\"ref\":7", RPC_PARAMS },
		{ "completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"none\",\"value\":\"\"}", RPC_PARAMS },
		{ "completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"need\",\"value\":\"\"}", 0 },
		{ "completion/complete", "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"t://x/{id}\"},\"argument\":{\"name\":\"id\",\"value\":\"\"}", 0 },
	};
	RpcSession *s = rpc_session_new(&mcp, &alice);
	json_t *m;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		m = modern(&alice, &s, rows[i].method, rows[i].params, "");
		if (code_of(m) != rows[i].code)
			fail_msg("%s {%s}: %d", rows[i].method, rows[i].params, code_of(m));
		assert_int_equal(last.status, 200);
		json_decref(m);
	}
	m = modern(&alice, &s, "tools/call", "\"name\":\"echo\"", "");
	assert_string_equal(text_of(m), "{}"); /* no arguments are empty ones */
	json_decref(m);
	m = modern(&alice, &s, "resources/read", "\"uri\":\"t://x/a/b\"", "");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(json_object_get(m, "result"), "contents"), 0), "text")), "a/b");
	json_decref(m);
	end(s);
}

static void test_handles(void **state)
{
	RpcSession *s = rpc_session_new(&mcp, &alice);
	json_t *m = modern(&alice, &s, "tools/call", "\"name\":\"keep\",\"arguments\":{\"keep\":\"text\"}", "");
	char first[HANDLE_TEXT], params[160];

	(void)state;
	snprintf(first, sizeof first, "%s", text_of(m));
	assert_int_equal(strlen(first), 37);
	json_decref(m);
	snprintf(params, sizeof params, "\"name\":\"keep\",\"arguments\":{\"name\":\"%s\"}", first);
	m = modern(&bob, &s, "tools/call", params, "");
	assert_string_equal(text_of(m), "(none)");
	json_decref(m);
	m = modern(&alice, &s, "tools/call", params, "");
	assert_string_equal(text_of(m), "text");
	json_decref(m);
	/* another's many do not push it out, one's own do */
	for (int i = 0; i < HANDLES_CALLER; i++)
		json_decref(modern(&bob, &s, "tools/call", "\"name\":\"keep\",\"arguments\":{\"keep\":\"b\"}", ""));
	for (int i = 0; i < HANDLES_CALLER - 1; i++)
		json_decref(modern(&alice, &s, "tools/call", "\"name\":\"keep\",\"arguments\":{\"keep\":\"a\"}", ""));
	m = modern(&alice, &s, "tools/call", params, "");
	assert_string_equal(text_of(m), "text");
	json_decref(m);
	json_decref(modern(&alice, &s, "tools/call", "\"name\":\"keep\",\"arguments\":{\"keep\":\"a\"}", ""));
	m = modern(&alice, &s, "tools/call", params, "");
	assert_string_equal(text_of(m), "(none)");
	json_decref(m);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_parse),
		T(test_zero_in_a_text),
		T(test_not_a_message),
		T(test_eras),
		T(test_methods_by_era),
		T(test_modern_needs_meta),
		T(test_headers),
		T(test_standard_headers),
		T(test_request_state),
		T(test_request_state_in_time),
		T(test_used_states_of_many),
		T(test_request_state_rounds),
		T(test_request_state_has_an_end),
		T(test_request_state_tampered),
		T(test_batch),
		T(test_pages),
		T(test_calls),
		T(test_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
