/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC and the revisions of MCP: from a message to its answer, whatever carried it.
 *
 *   transport (serve_stdio.c, http.c)  --RpcIn-->  rpc_handle()  -->  method's handler (Call)
 *                                <--send---  notifications, requests of ours
 *                                <--RpcOut-  the answer
 */
#ifndef SONDE_MCP_RPC_H
#define SONDE_MCP_RPC_H

#include "mcp/call.h"

/* The way back for one request, or for one stdio client; the transport's.  send() takes
 * the reference; NULL opens the stream without a message (HTTP; nothing over stdio).
 * False: the client is gone.  Threads may call it at the same time. */
typedef struct Link Link;
struct Link {
	bool (*send)(Link *l, json_t *message_stolen);
	int gone_fd; /* readable: the client has gone, or cancelled; -1: never */
};

/* A legacy client between initialize and its end: era, capabilities, log level,
 * subscriptions, questions of ours that wait for an answer. */
typedef struct RpcSession RpcSession;

/* Headers of an HTTP request that the revisions speak of; NULL: absent. */
typedef struct RpcHttp {
	const char *protocol_version, *method, *name, *session_id;
	/* the value of header Mcp-Param-<name>, for x-mcp-header */
	const char *(*param)(void *ctx, const char *name);
	void *ctx;
} RpcHttp;

typedef struct RpcIn {
	struct Mcp *mcp;
	const Caller *caller;
	const RpcHttp *http; /* NULL: stdio */
	RpcSession **session; /* stdio: the client's, kept between messages; HTTP: found by rpc itself */
	Link *link;
	json_t *message; /* borrowed; any JSON value */
} RpcIn;

typedef struct RpcOut {
	json_t *message; /* the answer, the caller's to free; NULL: none (a notification or a response was taken) */
	json_t *then;	 /* stdio: what is sent behind it, or NULL; the caller's to free */
	int status;	 /* of HTTP: 200, 202, 400, 404 ... */
	char session_id[64]; /* for Mcp-Session-Id; empty: none */
} RpcOut;

/* Blocks until answered.  Safe to call from many threads. */
void rpc_handle(const RpcIn *in, RpcOut *ret_out);

/* Whether it is answered without waiting for anybody: such may be handled where they were read. */
bool rpc_is_quick(const struct Mcp *m, json_t *message);

/* The client of a connection (stdio), for RpcIn.session; its end cancels what is under way. */
RpcSession *rpc_session_new(struct Mcp *m, const Caller *caller);
void rpc_session_end(struct Mcp *m, RpcSession *s);
void rpc_session_free(struct Mcp *m, RpcSession *s);

/* HTTP, legacy: GET opens the stream for what belongs to no request, DELETE ends a
 * session.  Both: the status. */
int rpc_stream(const RpcIn *in); /* blocks while the stream is open */
int rpc_delete(const RpcIn *in);

/* Text to a message: strict (duplicate names, depth, size are refused).  NULL: *ret_out has
 * the answer with -32700 and status 400. */
json_t *rpc_parse(const char *text, size_t len, RpcOut *ret_out);

#endif
