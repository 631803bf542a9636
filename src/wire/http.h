/* SPDX-License-Identifier: Apache-2.0
 *
 * A response of HTTP/1 (RFC 9112), read as it comes, in pieces of any size.
 *
 *     http_init(&p, a, "GET is HEAD?");
 *     while (in.n && http_goes_on(&p)) { n = http_feed(&p, in, &body); keep body; in = in[n..] }
 *     http_eof(&p);                                   the connection has ended
 *
 * However the bytes are cut, what is read is the same.  What a hostile server sends is
 * bounded: the head, each line, the number of fields and of interim answers; the body is
 * the caller's, who stops when it has enough.  Where the length of a body could be read in
 * two ways (RFC 9112 6.3), the answer fails: others may read it the other way.
 *
 * Ownership: the parser's memory is the arena's; names and values lie in it, a body's
 * pieces in the bytes that were fed.
 */
#ifndef SONDE_WIRE_HTTP_H
#define SONDE_WIRE_HTTP_H

#include "base/str.h"
#include "base/vec.h"

enum {
	HTTP_HEAD_MOST = 64 * 1024, /* bytes of status line and fields, and of the trailer */
	HTTP_FIELDS_MOST = 256,
	HTTP_INTERIM_MOST = 8,	    /* 1xx answers before the last one */
	HTTP_CHUNK_LINE = 256,	    /* bytes of a chunk's size and its extensions */
};

typedef enum HttpState {
	HTTP_HEAD,
	HTTP_BODY,	  /* `left` bytes */
	HTTP_UNTIL_CLOSE,
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK_DATA,  /* `left` bytes */
	HTTP_CHUNK_END,
	HTTP_TRAILER,
	HTTP_DONE,
	HTTP_FAILED,
} HttpState;

typedef struct HttpField {
	Str name, value; /* name as sent; value without blanks around it, folds as one blank */
} HttpField;

typedef struct HttpParser {
	HttpState state;
	bool head_only;	 /* the request was HEAD: no body comes */
	uint8_t *line;	 /* HTTP_HEAD_MOST bytes: the head as it grows, later a chunk's line */
	size_t n, start; /* bytes in it; where its last line begins */
	uint64_t left;
	unsigned interim;
	const char *error; /* of FAILED, else NULL */

	/* known behind the head */
	int minor; /* HTTP/1.minor */
	int status;
	Str reason;
	bool chunked;
	bool length_told; /* by Content-Length */
	uint64_t length;
	VEC(HttpField) field;
	Arena *a;
} HttpParser;

void http_init(HttpParser *p, Arena *a, bool head_only);

/* Takes some of `in`: how many bytes; *ret_body is a piece of the body among them. */
size_t http_feed(HttpParser *p, Bytes in, Bytes *ret_body);

/* No more comes: an answer that is not whole by then fails. */
void http_eof(HttpParser *p);

static inline bool http_goes_on(const HttpParser *p)
{
	return p->state != HTTP_DONE && p->state != HTTP_FAILED;
}

/* The head was read: status and fields are there. */
static inline bool http_has_head(const HttpParser *p)
{
	return p->status != 0;
}

/* Whether a text is a field's name or a method (RFC 9110 5.6.2). */
bool http_token(Str s);
/* Whether it may be a field's value: no control character but a tab. */
bool http_value(Str s);
/* The same, whatever the case of their letters. */
bool http_name_eq(Str a, Str b);

#endif
