/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http.h"

static bool fail(HttpParser *p, const char *why)
{
	p->state = HTTP_FAILED;
	p->error = why;
	return false;
}

void http_init(HttpParser *p, Arena *a, bool head_only)
{
	*p = (HttpParser){ .head_only = head_only, .line = arena_take(a, HTTP_HEAD_MOST), .a = a };
}

/* ---- words ---- */

bool http_token(Str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!alnum && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return s.n;
}

bool http_value(Str s)
{
	for (size_t i = 0; i < s.n; i++) {
		uint8_t c = (uint8_t)s.p[i];

		if ((c < ' ' && c != '\t') || c == 127)
			return false;
	}
	return true;
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool http_name_eq(Str a, Str b)
{
	for (size_t i = 0; i < a.n && a.n == b.n; i++)
		if (small(a.p[i]) != small(b.p[i]))
			return false;
	return a.n == b.n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static Str trim(Str s)
{
	while (s.n && is_blank(s.p[0]))
		s = (Str){ s.p + 1, s.n - 1 };
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* ---- the head ---- */

/* "HTTP/1.1 200 OK"; the reason may be missing, and the blank before it (RFC 9112 4). */
static bool read_status(HttpParser *p, Str s)
{
	uint64_t status;

	if (s.n < 12 || memcmp(s.p, "HTTP/", 5))
		return fail(p, "what came is no HTTP answer");
	if (s.p[5] != '1' || s.p[6] != '.' || s.p[7] < '0' || s.p[7] > '9' || s.p[8] != ' ')
		return fail(p, "the answer is of another version of HTTP");
	if (!str_to_u64((Str){ s.p + 9, 3 }, 999, &status) || status < 100 || (s.n > 12 && s.p[12] != ' '))
		return fail(p, "the status is no number of three digits");
	p->minor = s.p[7] - '0';
	p->status = (int)status;
	p->reason = s.n > 13 ? (Str){ s.p + 13, s.n - 13 } : (Str){ s.p, 0 };
	return http_value(p->reason) || fail(p, "the reason has control characters");
}

/* RFC 9112 5.2: a line that begins with a blank goes on with the one before. */
static bool unfold(HttpParser *p, Str s)
{
	if (!p->field.n)
		return fail(p, "the first field begins with a blank");
	HttpField *f = &p->field.p[p->field.n - 1];
	Str more = trim(s);
	Sb both = sb(p->a);

	if (!http_value(more))
		return fail(p, "a field has control characters");
	sb_printf(&both, "%.*s ", STR_ARG(f->value));
	sb_str(&both, more);
	f->value = sb_done(&both);
	return true;
}

static bool read_field(HttpParser *p, Str s)
{
	const char *colon = memchr(s.p, ':', s.n);

	if (is_blank(s.p[0]))
		return unfold(p, s);
	if (!colon)
		return fail(p, "a field has no colon");
	Str name = { s.p, (size_t)(colon - s.p) }, value = trim((Str){ colon + 1, s.n - name.n - 1 });

	if (!http_token(name)) /* RFC 9112 5.1: no blank before the colon either */
		return fail(p, "a field has a name that none can have");
	if (!http_value(value))
		return fail(p, "a field has control characters");
	if (p->field.n == HTTP_FIELDS_MOST)
		return fail(p, "the answer has too many fields");
	vec_push(p->a, &p->field, (HttpField){ name, value });
	return true;
}

/* The next line of *s without its end, CRLF or LF (RFC 9112 2.2). */
static Str take_line(Str *s)
{
	const char *lf = memchr(s->p, '\n', s->n);
	size_t n = lf ? (size_t)(lf - s->p) : s->n, end = n + (lf != NULL);
	Str line = { s->p, n && s->p[n - 1] == '\r' ? n - 1 : n };

	*s = (Str){ s->p + end, s->n - end };
	return line;
}

static bool read_fields(HttpParser *p, Str s)
{
	while (s.n) {
		Str line = take_line(&s);

		if (line.n && !read_field(p, line))
			return false;
	}
	return true;
}

/* ---- how long the body is (RFC 9112 6.3) ---- */

static bool told_length(HttpParser *p, Str value)
{
	while (value.n) { /* RFC 9110 8.6: "5, 5" is 5 */
		const char *comma = memchr(value.p, ',', value.n);
		size_t n = comma ? (size_t)(comma - value.p) : value.n;
		uint64_t v;

		if (!str_to_u64(trim((Str){ value.p, n }), INT64_MAX, &v))
			return fail(p, "Content-Length is no number");
		if (p->length_told && v != p->length)
			return fail(p, "two Content-Lengths differ");
		p->length_told = true;
		p->length = v;
		n += comma != NULL;
		value = (Str){ value.p + n, value.n - n };
	}
	return p->length_told || fail(p, "Content-Length is no number");
}

static bool read_framing(HttpParser *p)
{
	for (uint32_t i = 0; i < p->field.n; i++) {
		const HttpField *f = &p->field.p[i];

		if (http_name_eq(f->name, STR("content-length")) && !told_length(p, f->value))
			return false;
		if (!http_name_eq(f->name, STR("transfer-encoding")))
			continue;
		if (p->chunked || !http_name_eq(f->value, STR("chunked")))
			return fail(p, "the body has a transfer coding other than chunked");
		p->chunked = true;
	}
	/* one side would read the one, another the other */
	return !(p->chunked && p->length_told) || fail(p, "the answer has Content-Length and chunks");
}

static void begin_body(HttpParser *p)
{
	p->left = p->length;
	p->n = p->start = 0;
	if (p->head_only || p->status == 204 || p->status == 304)
		p->state = HTTP_DONE;
	else if (p->chunked)
		p->state = HTTP_CHUNK_SIZE;
	else if (p->length_told)
		p->state = p->left ? HTTP_BODY : HTTP_DONE;
	else
		p->state = HTTP_UNTIL_CLOSE;
}

/* RFC 9110 15.2: interim answers come before the one; 101 would be the last of HTTP. */
static void next_answer(HttpParser *p)
{
	if (p->status == 101)
		fail(p, "the server changes to another protocol that nobody asked for");
	else if (++p->interim > HTTP_INTERIM_MOST)
		fail(p, "the server goes on with interim answers");
	p->status = p->minor = 0;
	p->field.n = 0;
	p->length_told = p->chunked = false;
	p->n = p->start = 0;
}

static void read_head(HttpParser *p)
{
	/* kept, since `line` is used again */
	Str s = { arena_copy(p->a, p->line, p->n), p->n };

	p->field.n = 0;
	if (!read_status(p, take_line(&s)) || !read_fields(p, s) || !read_framing(p))
		return;
	if (p->status < 200)
		next_answer(p);
	else
		begin_body(p);
}

/* ---- lines as they come ---- */

/* Adds a byte to the line; true: it ends one. */
static bool add(HttpParser *p, uint8_t c, size_t most, const char *too_long)
{
	if (p->n == most) {
		fail(p, too_long);
		return false;
	}
	p->line[p->n++] = c;
	return c == '\n';
}

static bool line_empty(const HttpParser *p)
{
	size_t n = p->n - p->start;

	return n == 1 || (n == 2 && p->line[p->start] == '\r');
}

static void on_head(HttpParser *p, uint8_t c)
{
	/* what is no HTTP is told at once, not when 64 KB of it have come */
	if (p->n < 5 && c != (uint8_t) "HTTP/"[p->n]) {
		fail(p, "what came is no HTTP answer");
		return;
	}
	if (!add(p, c, HTTP_HEAD_MOST, "the head is longer than 64 KB"))
		return;
	if (line_empty(p) && p->start)
		read_head(p);
	else
		p->start = p->n;
}

/* RFC 9112 7.1: hex digits, then extensions, which are ignored. */
static bool chunk_size(HttpParser *p)
{
	size_t i = 0;

	p->left = 0;
	for (; i < p->n; i++) {
		int c = small((char)p->line[i]), d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (d < 0)
			break;
		if (p->left >> 56)
			return fail(p, "a chunk has a size that none can have");
		p->left = p->left << 4 | (unsigned)d;
	}
	if (!i || !memchr("\r\n; \t", p->line[i], 5))
		return fail(p, "a chunk has no size");
	return true;
}

static void on_chunk_size(HttpParser *p, uint8_t c)
{
	if (!add(p, c, HTTP_CHUNK_LINE, "a chunk's first line is too long") || !chunk_size(p))
		return;
	p->n = p->start = 0;
	p->state = p->left ? HTTP_CHUNK_DATA : HTTP_TRAILER;
}

static void on_chunk_end(HttpParser *p, uint8_t c)
{
	if (!add(p, c, 2, "a chunk is longer than it says") && p->state != HTTP_FAILED && c != '\r')
		fail(p, "a chunk is longer than it says");
	if (c != '\n' || p->state == HTTP_FAILED)
		return;
	p->n = p->start = 0;
	p->state = HTTP_CHUNK_SIZE;
}

/* Fields behind the last chunk: read to their end and left out (RFC 9110 6.5). */
static void on_trailer(HttpParser *p, uint8_t c)
{
	if (!add(p, c, HTTP_HEAD_MOST, "the trailer is longer than 64 KB"))
		return;
	if (line_empty(p))
		p->state = HTTP_DONE;
	p->start = p->n;
}

typedef void OnByte(HttpParser *p, uint8_t c);

static OnByte *const on_byte[] = {
	[HTTP_HEAD] = on_head,
	[HTTP_CHUNK_SIZE] = on_chunk_size,
	[HTTP_CHUNK_END] = on_chunk_end,
	[HTTP_TRAILER] = on_trailer,
	[HTTP_FAILED] = NULL,
};

size_t http_feed(HttpParser *p, Bytes in, Bytes *ret_body)
{
	HttpState state = p->state;
	size_t n = 0;

	*ret_body = (Bytes){ 0 };
	if (state == HTTP_UNTIL_CLOSE) {
		*ret_body = in;
		return in.n;
	}
	if (state == HTTP_BODY || state == HTTP_CHUNK_DATA) {
		*ret_body = bytes_slice(in, 0, in.n > p->left ? (size_t)p->left : in.n);
		p->left -= ret_body->n;
		if (!p->left)
			p->state = state == HTTP_BODY ? HTTP_DONE : HTTP_CHUNK_END;
		return ret_body->n;
	}
	while (n < in.n && p->state == state && on_byte[state])
		on_byte[state](p, in.p[n++]);
	return n;
}

void http_eof(HttpParser *p)
{
	if (p->state == HTTP_UNTIL_CLOSE)
		p->state = HTTP_DONE;
	else if (http_goes_on(p))
		fail(p, p->state == HTTP_HEAD ? "the connection ended before an answer came" : "the body is cut");
}
