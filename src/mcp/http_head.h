/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a request may be heard at all, judged by its head alone, before a byte of its
 * body is read.  Pure: no clock, no socket.
 *
 * What the library lets through in the name of tolerance is refused here: names that are
 * no tokens, control characters, a header twice of which one counts, two ways to tell the
 * body's length.  A body must say its length beforehand.  A head must be as long as what
 * was understood of it is when it is written plainly, "Name: value" and CR LF, but for
 * HTTP_SLACK bytes of blanks around values, less than a header that counts needs: so nothing
 * was skipped behind a zero byte, in a folded line or at a bare CR, which somebody between
 * us and the client may have read otherwise.
 */
#ifndef SONDE_MCP_HTTP_HEAD_H
#define SONDE_MCP_HTTP_HEAD_H

#include "base/str.h"

enum { HTTP_HEADERS = 100, HTTP_SLACK = 6 };

#define HTTP_PATH "/mcp"
#define HTTP_METADATA "/.well-known/oauth-protected-resource"

/* Headers that are read; each at most once. */
#define HTTP_FIELDS(X)                                   \
	X(HOST, "host")                                  \
	X(ORIGIN, "origin")                              \
	X(FETCH_SITE, "sec-fetch-site")                  \
	X(CONTENT_LENGTH, "content-length")              \
	X(TRANSFER_ENCODING, "transfer-encoding")        \
	X(CONTENT_TYPE, "content-type")                  \
	X(CONTENT_ENCODING, "content-encoding")          \
	X(EXPECT, "expect")                              \
	X(AUTHORIZATION, "authorization")                \
	X(API_KEY, "x-api-key")                          \
	X(PROTOCOL_VERSION, "mcp-protocol-version")      \
	X(METHOD, "mcp-method")                          \
	X(NAME, "mcp-name")                              \
	X(SESSION_ID, "mcp-session-id")                  \
	X(LAST_EVENT_ID, "last-event-id")

#define HTTP_FIELD_ENUM_(id, name) HTTP_##id,
typedef enum HttpField { HTTP_FIELDS(HTTP_FIELD_ENUM_) HTTP_FIELD_N } HttpField;
#undef HTTP_FIELD_ENUM_

typedef struct HttpPair {
	Str name, value;
} HttpPair;

typedef enum HttpVerb { HTTP_OTHER, HTTP_POST, HTTP_GET, HTTP_DELETE, HTTP_PREFLIGHT } HttpVerb;
typedef enum HttpPlace { HTTP_NOWHERE, HTTP_ENDPOINT, HTTP_ABOUT } HttpPlace;

/* What is allowed: names of hosts without or with a port, whole origins; lists end in
 * NULL.  A host without a port stands for all ports: it is the name that a page which
 * rebinds its own can't choose. */
typedef struct HttpRules {
	const char *const *host, *const *origin;
	size_t most_body; /* bytes */
} HttpRules;

typedef struct HttpHead {
	/* filled by the caller */
	Str verb, path, version; /* "HTTP/1.1" */
	const HttpPair *pair;
	size_t pairs;
	size_t bytes; /* of the head as it came, its empty line included */
	/* what http_head_check() found */
	Str field[HTTP_FIELD_N]; /* .p NULL: absent */
	bool accepts_json, accepts_stream;
	HttpVerb verb_id;
	HttpPlace place;
	bool foreign_origin; /* an allowed one that is not our own: it needs to be told so */
	size_t length;	     /* of the body, bytes */
} HttpHead;

/* 0, or the status to refuse with and a sentence.  Who asks is not looked at:
 * http_head_check() before that, http_body_check() behind. */
int http_head_check(HttpHead *h, const HttpRules *r, const char **ret_why);
/* Of a POST that may be heard: its content's type, length, what it takes for an answer. */
int http_body_check(HttpHead *h, const HttpRules *r, const char **ret_why);

/* The credential of a Bearer Authorization; empty: it is none. */
Str http_bearer(Str authorization);

#endif
