/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]", "sonde.example.com:443", NULL };
static const char *const origins[] = { "https://console.example.com", "null", NULL };
static const HttpRules rules = { .host = hosts, .origin = origins, .most_body = 1000 };

/* A head from text: "POST /mcp HTTP/1.1\nHost: x\n..."; one blank behind the colon is none
 * of the value.  0, or the status of the refusal. */
static int ask(const char *text, HttpHead *ret_h)
{
	static HttpPair pair[HTTP_HEADERS + 8];
	const char *why = NULL, *line = strchr(text, '\n');
	HttpHead h = { .pair = pair };
	const char *sp1 = strchr(text, ' '), *sp2 = strchr(sp1 + 1, ' ');
	int status;

	h.verb = (Str){ text, (size_t)(sp1 - text) };
	h.path = (Str){ sp1 + 1, (size_t)(sp2 - sp1 - 1) };
	h.version = (Str){ sp2 + 1, (size_t)(line - sp2 - 1) };
	while (line[1]) {
		const char *begin = line + 1, *end = strchr(begin, '\n'), *colon = memchr(begin, ':', (size_t)(end - begin));

		pair[h.pairs++] = (HttpPair){ { begin, (size_t)(colon - begin) }, { colon + 2, (size_t)(end - colon - 2) } };
		line = end;
	}
	h.bytes = strlen(text) + 3 + h.pairs; /* CR LF instead of LF, and an empty line */
	status = http_head_check(&h, &rules, &why);
	if (!status)
		status = http_body_check(&h, &rules, &why);
	assert_true(!status == !why);
	if (ret_h)
		*ret_h = h;
	return status;
}

#define LINE "POST /mcp HTTP/1.1\n"
#define JSON "Content-Type: application/json\nContent-Length: 2\n"
#define BOTH "Accept: application/json, text/event-stream\n"

static void test_heard(void **state)
{
	HttpHead h;

	(void)state;
	assert_int_equal(ask(LINE "Host: localhost:8080\n" JSON BOTH, &h), 0);
	assert_int_equal(h.length, 2);
	assert_true(h.verb_id == HTTP_POST && h.place == HTTP_ENDPOINT && !h.foreign_origin);
	assert_int_equal(ask(LINE "hOST: LOCALHOST\n" JSON, NULL), 0);
	assert_int_equal(ask(LINE "Host: [::1]:1\n" JSON, NULL), 0);
	assert_int_equal(ask(LINE "Host: sonde.example.com:443\n" JSON, NULL), 0);
	assert_int_equal(ask(LINE "Host: localhost\nContent-Type: Application/JSON; charset=UTF-8\nContent-Length: 1000\n", NULL), 0);
	assert_int_equal(ask(LINE "Host: localhost\nAccept: */*\n" JSON, NULL), 0);
	assert_int_equal(ask(LINE "Host: localhost\nAccept: application/json\nAccept: text/event-stream;q=0.5\n" JSON, NULL), 0);
	assert_int_equal(ask("GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n", &h), 0);
	assert_int_equal(ask("DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: abc\n", &h), 0);
	assert_true(str_is(h.field[HTTP_SESSION_ID], "abc") && !h.field[HTTP_NAME].p);
	assert_int_equal(ask("GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\nHost: localhost\n", &h), 0);
	assert_int_equal(h.place, HTTP_ABOUT);
}

static void test_rebinding(void **state)
{
	static const char *const bad[] = { "evil.example.com", "localhost.evil.com", "evil.com:80", "127.0.0.1.evil.com", "localhost:80:80",
					   "[::1", "[::2]", "localhost:", "localhost:8x", "", "127.0.0.1, evil.com", "user@localhost",
					   "sonde.example.com", "sonde.example.com:80", "localhost ", "127.1", "[::1]x" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, LINE "Host: %s\n" JSON, bad[i]);
		if (ask(text, NULL) != 403)
			fail_msg("Host: %s was heard", bad[i]);
	}
	assert_int_equal(ask(LINE JSON, NULL), 400);
	assert_int_equal(ask(LINE "Host: localhost\nHost: localhost\n" JSON, NULL), 400);
}

static void test_origins(void **state)
{
	static const struct {
		const char *origin;
		int status;
		bool foreign;
	} all[] = {
		{ "http://localhost:8080", 0, false },
		{ "https://localhost:8080", 0, false },
		{ "https://console.example.com", 0, true },
		{ "http://localhost:8081", 403, false },
		{ "http://localhost", 403, false },
		{ "http://evil.com", 403, false },
		{ "null", 403, false }, /* also if somebody lists it */
		{ "NULL", 403, false },
		{ "", 403, false },
		{ "https://console.example.com.evil.com", 403, false },
		{ "https://console.example.com/", 403, false },
		{ "file://", 403, false },
	};
	char text[200];
	HttpHead h;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(text, sizeof text, LINE "Host: localhost:8080\nOrigin: %s\n" JSON, all[i].origin);
		if (ask(text, &h) != all[i].status || h.foreign_origin != all[i].foreign)
			fail_msg("Origin: %s", all[i].origin);
	}
	assert_int_equal(ask(LINE "Host: localhost\nSec-Fetch-Site: cross-site\n" JSON, NULL), 403);
	assert_int_equal(ask(LINE "Host: localhost\nSec-Fetch-Site: same-origin\n" JSON, NULL), 0);
	assert_int_equal(ask("OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: http://localhost\n", NULL), 405);
	assert_int_equal(ask("OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: https://console.example.com\n", NULL), 0);
}

static void test_types(void **state)
{
	static const char *const bad[] = { "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
					   "application/jsonp", "application/json; charset=utf-16", "application/json, text/plain", "" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, LINE "Host: localhost\nContent-Length: 2\nContent-Type: %s\n", bad[i]);
		if (ask(text, NULL) != 415)
			fail_msg("Content-Type: %s was heard", bad[i]);
	}
	assert_int_equal(ask(LINE "Host: localhost\nContent-Length: 2\n", NULL), 415);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Content-Encoding: gzip\n", NULL), 415);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: text/html\n", NULL), 406);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json\n", NULL), 406);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json, text/event-stream;q=0\n", NULL), 406);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json, text/event-stream;q=0.000\n", NULL), 406);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json, text/event-stream;q=0.001\n", NULL), 0);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json;q=0.50, text/event-stream;q=0.200\n", NULL), 0);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Accept: application/json, text/event-stream;Q=0.\n", NULL), 406);
	assert_int_equal(ask("GET /mcp HTTP/1.1\nHost: localhost\nAccept: application/json\n", NULL), 406);
}

static void test_lengths(void **state)
{
#define L LINE "Host: localhost\nContent-Type: application/json\n"
	(void)state;
	assert_int_equal(ask(L, NULL), 411);
	assert_int_equal(ask(L "Transfer-Encoding: chunked\n", NULL), 411);
	assert_int_equal(ask(L "Transfer-Encoding: chunked\nContent-Length: 2\n", NULL), 400);
	assert_int_equal(ask(L "Transfer-Encoding: identity\n", NULL), 411);
	assert_int_equal(ask(L "Content-Length: 2\nContent-Length: 2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\ncontent-length: 3\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2, 2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: +2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: -2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 02\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 0x2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: \n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 18446744073709551617\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 1001\n", NULL), 413);
	assert_int_equal(ask(L "Content-Length : 2\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\nTransfer-Encoding : chunked\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\nX: a\vb\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\nX: a\rb\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\nX y: a\n", NULL), 400);
	assert_int_equal(ask(L "Content-Length: 2\nExpect: 200-ok\n", NULL), 417);
	assert_int_equal(ask("GET /mcp HTTP/1.1\nHost: localhost\nContent-Length: 5\n", NULL), 400);
	assert_int_equal(ask("GET /mcp HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n", NULL), 411);
#undef L
}

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(ask("POST / HTTP/1.1\nHost: localhost\n" JSON, NULL), 404);
	assert_int_equal(ask("POST /mcp/ HTTP/1.1\nHost: localhost\n" JSON, NULL), 404);
	assert_int_equal(ask("POST http://localhost/mcp HTTP/1.1\nHost: localhost\n" JSON, NULL), 404);
	assert_int_equal(ask("PUT /mcp HTTP/1.1\nHost: localhost\n" JSON, NULL), 405);
	assert_int_equal(ask("post /mcp HTTP/1.1\nHost: localhost\n" JSON, NULL), 405);
	assert_int_equal(ask("HEAD /mcp HTTP/1.1\nHost: localhost\n", NULL), 405);
	assert_int_equal(ask("POST /.well-known/oauth-protected-resource HTTP/1.1\nHost: localhost\n" JSON, NULL), 405);
	assert_int_equal(ask("POST /mcp HTTP/2.0\nHost: localhost\n" JSON, NULL), 505);
}

static void test_twice(void **state)
{
	char text[100 * 20 + 200] = LINE "Host: localhost\n" JSON;

	(void)state;
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Mcp-Method: a\nmcp-method: b\n", NULL), 400);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "Authorization: Bearer a\nAuthorization: Bearer b\n", NULL), 400);
	assert_int_equal(ask(LINE "Host: localhost\n" JSON "X-Other: a\nX-Other: b\n", NULL), 0);
	for (int i = 0; i < 98; i++)
		strcat(text, "X-Other: a\n");
	assert_int_equal(ask(text, NULL), 400);
}

static void test_hidden(void **state)
{
	HttpPair pair[] = { { STR("Host"), STR("localhost") }, { STR("Content-Type"), STR("application/json") }, { STR("Content-Length"), STR("2") } };
	HttpHead h = { .verb = STR("POST"), .path = STR("/mcp"), .version = STR("HTTP/1.1"), .pair = pair, .pairs = 3 };
	const char *why;

	(void)state;
	h.bytes = strlen("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n");
	assert_int_equal(http_head_check(&h, &rules, &why), 0);
	h.bytes += HTTP_SLACK;
	assert_int_equal(http_head_check(&h, &rules, &why), 0);
	h.bytes++; /* "\0host:x" */
	assert_int_equal(http_head_check(&h, &rules, &why), 400);
	h.bytes = 0;
	assert_int_equal(http_head_check(&h, &rules, &why), 400);
}

static void test_bearer(void **state)
{
	(void)state;
	assert_true(str_is(http_bearer(STR("Bearer abc")), "abc"));
	assert_true(str_is(http_bearer(STR("bearer  abc ")), "abc"));
	assert_int_equal(http_bearer(STR("Basic abc")).n, 0);
	assert_int_equal(http_bearer(STR("Bearer")).n, 0);
	assert_int_equal(http_bearer((Str){ 0 }).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heard),	cmocka_unit_test(test_rebinding), cmocka_unit_test(test_origins),
		cmocka_unit_test(test_types),	cmocka_unit_test(test_lengths),	  cmocka_unit_test(test_places),
		cmocka_unit_test(test_hidden),	cmocka_unit_test(test_twice),	cmocka_unit_test(test_bearer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
