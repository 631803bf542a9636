/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[8 << 20];
static char body[1 << 20];
static size_t nbody;
static Arena arena;

/* Reads it in pieces of `piece` bytes, then the end. */
static HttpParser feed(const char *text, size_t n, size_t piece, bool head_only)
{
	HttpParser p;

	arena_init(&arena, memory, sizeof memory, NULL);
	http_init(&p, &arena, head_only);
	nbody = 0;
	for (size_t at = 0; at < n && http_goes_on(&p);) {
		Bytes b, in = bytes_slice(BYTES(text, n), at, at + piece);
		size_t used = http_feed(&p, in, &b);

		assert_true(used > 0 && used <= in.n);
		if (b.n)
			memcpy(body + nbody, b.p, b.n);
		nbody += b.n;
		at += used;
	}
	if (http_goes_on(&p))
		http_eof(&p);
	return p;
}

typedef struct Row {
	const char *text;
	int status;
	const char *body, *error; /* error NULL: it is whole */
	bool head_only;
} Row;

#define OK "HTTP/1.1 200 OK\r\n"

static const Row rows[] = {
	{ OK "Content-Length: 5\r\n\r\nhello", 200, "hello", NULL, false },
	{ OK "content-length:5\r\n\r\nhello, more", 200, "hello", NULL, false },
	{ OK "Content-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", NULL, false },
	{ OK "Content-Length: 0\r\n\r\n", 200, "", NULL, false },
	{ OK "\r\nuntil the end", 200, "until the end", NULL, false },
	{ "HTTP/1.0 404 \r\n\r\n", 404, "", NULL, false },
	{ "HTTP/1.1 204\r\n\r\n", 204, "", NULL, false },
	{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, "", NULL, false },
	{ OK "Content-Length: 5\r\n\r\n", 200, "", NULL, true },
	{ "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, "hi", NULL, false },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", 200, "x", NULL,
	  false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n000\r\n\r\n", 200, "hello!", NULL, false },
	{ OK "Transfer-Encoding: Chunked\r\n\r\nA \r\n0123456789\r\n0\r\nTrailer: x\r\nU: v\r\n\r\n", 200, "0123456789", NULL, false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", 200, "abc", NULL, false },

	{ "", 0, "", "the connection ended before an answer came", false },
	{ "HTTP/1.1 200 OK\r\nA: b", 0, "", "the connection ended before an answer came", false },
	{ "SSH-2.0-x\r\n", 0, "", "what came is no HTTP answer", false },
	{ "\r\n", 0, "", "what came is no HTTP answer", false },
	{ "HTTP/2 200\r\n\r\n      ", 0, "", "what came is no HTTP answer", false },
	{ "HTTP/2.0 200 OK\r\n\r\n", 0, "", "the answer is of another version of HTTP", false },
	{ "HTTP/1.1 20 OK.\r\n\r\n", 0, "", "the status is no number of three digits", false },
	{ "HTTP/1.1 2000 OK\r\n\r\n", 0, "", "the status is no number of three digits", false },
	{ "HTTP/1.1 099 OK\r\n\r\n", 0, "", "the status is no number of three digits", false },
	{ "HTTP/1.1 200 \x1b[31m\r\n\r\n", 200, "", "the reason has control characters", false },
	{ OK "Content-Length: 5\r\n\r\nhell", 200, "hell", "the body is cut", false },
	{ OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 200, "", "two Content-Lengths differ", false },
	{ OK "Content-Length: -1\r\n\r\n", 200, "", "Content-Length is no number", false },
	{ OK "Content-Length: +5\r\n\r\nhello", 200, "", "Content-Length is no number", false },
	{ OK "Content-Length: 0x5\r\n\r\nhello", 200, "", "Content-Length is no number", false },
	{ OK "Content-Length:\r\n\r\nhello", 200, "", "Content-Length is no number", false },
	{ OK "Content-Length: 99999999999999999999\r\n\r\nhello", 200, "", "Content-Length is no number", false },
	{ OK "Content-Length : 5\r\n\r\nhello", 200, "", "a field has a name that none can have", false },
	{ OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "",
	  "the answer has Content-Length and chunks", false },
	{ OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 200, "",
	  "the body has a transfer coding other than chunked", false },
	{ OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "",
	  "the body has a transfer coding other than chunked", false },
	{ OK "no colon\r\n\r\n", 200, "", "a field has no colon", false },
	{ OK " folded: first\r\n\r\n", 200, "", "the first field begins with a blank", false },
	{ OK "A: b\x01\r\n\r\n", 200, "", "a field has control characters", false },
	{ OK "A: b\rX: y\r\n\r\n", 200, "", "a field has control characters", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n\r\n", 200, "", "a chunk has no size", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 200, "", "a chunk has no size", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n", 200, "", "a chunk has no size", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 200, "abc", "a chunk is longer than it says", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\r\n", 200, "abc", "a chunk is longer than it says", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 200, "", "a chunk has a size that none can have", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", 200, "hel", "the body is cut", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 200, "hello", "the body is cut", false },
	{ OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", 200, "", "the body is cut", false },
	{ "HTTP/1.1 101 Switching\r\n\r\n", 0, "", "the server changes to another protocol that nobody asked for", false },
};

static void check(const Row *r, size_t piece)
{
	HttpParser p = feed(r->text, strlen(r->text), piece, r->head_only);
	const char *want = r->error ? r->error : "", *have = p.error ? p.error : "";

	if (strcmp(want, have) || p.status != r->status || nbody != strlen(r->body) || memcmp(body, r->body, nbody))
		fail_msg("%s\n in pieces of %zu: %d \"%.*s\" %s", r->text, piece, p.status, (int)nbody, body, have);
	assert_int_equal(p.state, r->error ? HTTP_FAILED : HTTP_DONE);
}

static void test_answers_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 40; piece++)
			check(&rows[i], piece);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check(&rows[i], 10000);
}

static void test_fields(void **state)
{
	static const char text[] = "HTTP/1.1 200 all is well\r\nServer:  x y\t\r\nA: 1\r\n\t 2\r\n  3 \r\nEmpty:\r\nA: 4\r\n\r\n";
	HttpParser p = feed(text, sizeof text - 1, 1000, false);

	(void)state;
	assert_true(str_is(p.reason, "all is well"));
	assert_int_equal(p.minor, 1);
	assert_int_equal(p.field.n, 4);
	assert_true(str_is(p.field.p[0].value, "x y"));
	assert_true(str_is(p.field.p[1].value, "1 2 3"));
	assert_true(str_is(p.field.p[2].name, "Empty") && p.field.p[2].value.n == 0);
	assert_true(str_is(p.field.p[3].value, "4"));
}

/* What goes on for ever ends by a bound. */
static void without_end(const char *begin, const char *again, const char *error)
{
	static char text[1 << 20];
	size_t n = strlen(begin), m = strlen(again);

	memcpy(text, begin, n);
	for (; n + m < sizeof text; n += m)
		memcpy(text + n, again, m);
	HttpParser p = feed(text, n, 1400, false);
	if (!p.error || strcmp(p.error, error))
		fail_msg("%s ...: %s", begin, p.error ? p.error : "");
	assert_true(arena_mark(&arena) < (1 << 20));
}

static void test_without_end(void **state)
{
	(void)state;
	without_end(OK, "A: b\r\n", "the head is longer than 64 KB");
	without_end(OK "A: ", "b", "the head is longer than 64 KB");
	without_end("HTTP/1.1 200 ", "b", "the head is longer than 64 KB");
	without_end("", "HTTP/1.1 100 Continue\r\n\r\n", "the server goes on with interim answers");
	without_end(OK "Transfer-Encoding: chunked\r\n\r\n", "1", "a chunk's first line is too long");
	without_end(OK "Transfer-Encoding: chunked\r\n\r\n1;", "x", "a chunk's first line is too long");
	without_end(OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", "the trailer is longer than 64 KB");
}

static void test_too_many_fields(void **state)
{
	static char text[1 << 14] = OK;
	size_t n = sizeof OK - 1;

	(void)state;
	for (int i = 0; i < HTTP_FIELDS_MOST; i++)
		n += (size_t)sprintf(text + n, "A:%d\r\n", i);
	strcpy(text + n, "\r\n");
	assert_int_equal(feed(text, n + 2, 1000, true).field.n, HTTP_FIELDS_MOST);
	strcpy(text + n, "B:\r\n\r\n");
	assert_string_equal(feed(text, n + 6, 1000, true).error, "the answer has too many fields");
}

static void test_words(void **state)
{
	(void)state;
	assert_true(http_token(STR("X-Forwarded-For")) && !http_token(STR("")) && !http_token(STR("a b")) &&
		    !http_token(STR("a:")) && !http_token((Str){ "a\0", 2 }));
	assert_true(http_value(STR("a\tb \xff")) && !http_value(STR("a\r\nb")) && !http_value((Str){ "\0", 1 }));
	assert_true(http_name_eq(STR("eTag"), STR("Etag")) && !http_name_eq(STR("ETag"), STR("ETags")));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers_in_pieces), cmocka_unit_test(test_fields),
					    cmocka_unit_test(test_without_end), cmocka_unit_test(test_too_many_fields),
					    cmocka_unit_test(test_words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
