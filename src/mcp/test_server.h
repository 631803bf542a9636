/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the dispatcher: a server with tools that show what they were given, a link
 * that keeps what is sent over it, ways to ask, and a clock that they set.
 */
#ifndef SONDE_MCP_TEST_SERVER_H
#define SONDE_MCP_TEST_SERVER_H

#include "base/limits.h"
#include "mcp/handles.h"
#include "mcp/rpc_inside.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

typedef struct TestLink {
	Link link;
	pthread_mutex_t lock;
	json_t *sent;
	bool dead;
} TestLink;

extern Mcp mcp;
extern TestLink test_link;
/* The clock of all that is under test: the linker puts it in the place of aside_now_s(). */
extern int64_t now_s;
extern RpcOut last; /* of handle() */
extern const Caller alice, bob;
extern const Tool test_tools[];

bool test_send(Link *l, json_t *message);
size_t sent_n(void);
int setup(void **state);
int teardown(void **state);

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{%s}%s}"

/* The answer to a message as text, as it came over HTTP or a pipe. */
json_t *handle(const Caller *who, const RpcHttp *http, RpcSession **session, const char *text);
/* A stateless request over a pipe; params without braces, e.g. "\"name\":\"echo\"". */
json_t *modern(const Caller *who, RpcSession **s, const char *method, const char *params, const char *caps);
/* A client of a pipe that has initialized. */
RpcSession *begin(const char *version, const char *caps);
void end(RpcSession *s);

int code_of(json_t *message);
const char *text_of(json_t *message);

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
