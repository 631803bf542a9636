/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the dispatcher share; nobody else includes it.
 */
#ifndef SONDE_MCP_RPC_INSIDE_H
#define SONDE_MCP_RPC_INSIDE_H

#include "base/limits.h"
#include "mcp/resources.h"
#include "mcp/rpc.h"
#include "mcp/server.h"

#include <pthread.h>

/* JSON-RPC's codes, and MCP's. */
enum {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002, /* up to 2025-11-25 */
	RPC_HEADER = -32020,
	RPC_CAPABILITY = -32021,
	RPC_VERSION = -32022,
};

#define META_PREFIX "io.modelcontextprotocol/"
#define META_VERSION META_PREFIX "protocolVersion"
#define META_CAPS META_PREFIX "clientCapabilities"
#define META_CLIENT META_PREFIX "clientInfo"
#define META_LEVEL META_PREFIX "logLevel"
#define META_SERVER META_PREFIX "serverInfo"
#define META_SUBSCRIPTION META_PREFIX "subscriptionId"

/* ---- methods (rpc_methods.c) ---- */

/* Of the protocol's own and this build's further ones. */
const Method *method_find(const Mcp *m, const char *name);

/* The tool of that name in this server, or NULL. */
const Tool *server_tool(const Mcp *m, const char *name);

bool server_has_resource(const Mcp *m, const char *uri);

/* capabilities of the server, as this revision knows them (new). */
json_t *server_capabilities(const Mcp *m, Era era);
json_t *server_info(const Mcp *m, Era era);
/* The revisions that are served, newest first (new). */
json_t *era_list(void);
bool era_parse(const char *text, Era *ret_e);

/* Of a log level; -1: there is no such level. */
int level_parse(const char *text);

enum { STATE_NONCE = 33 }; /* 128 bits as text */

/* ---- sessions, what is under way, questions (rpc_session.c) ---- */

enum { SESSION_ID = 48 };

typedef struct Flight {
	struct Flight *next;
	json_t *id;
	int event_fd;  /* readable when its client cancelled */
	int cancel_fd; /* readable when that or the link's end came; may be event_fd itself */
	bool cancelled; /* by a message: no answer is sent */
} Flight;

typedef struct Question {
	struct Question *next;
	char id[32];
	int event_fd;
	json_t *answer; /* the whole message */
} Question;

struct RpcSession {
	RpcSession *next; /* in the table; HTTP only */
	char id[SESSION_ID];
	char name[64], caller[64];
	unsigned refs;
	bool listed, ended;
	bool legacy_seen; /* initialize was answered */
	Era era;
	json_t *caps;
	int level; /* least severity that it wants to hear */
	int64_t used_s;
	Flight *flights;
	unsigned nflights;
	Question *questions;
	unsigned nquestions;
	json_t *subscribed; /* object of URIs */
	int end_fd;	    /* readable when it ended */
	bool streams;	    /* changes are told to it over a stream of its own */
};

typedef struct Listener Listener; /* rpc_changes.c */

typedef struct RpcSessions {
	pthread_mutex_t lock;
	pthread_cond_t stream_ended;
	Listener *listeners;
	RpcSession *first;
	unsigned n;
	/* states that were used up and would still be good */
	struct UsedState {
		char nonce[STATE_NONCE];
		char caller[64];
		int64_t until;
	} used[LIMIT_MCP_USED_STATES];
} RpcSessions;

RpcSessions *sessions_new(void);
void sessions_free(RpcSessions *all);

/* One more reference for the caller; NULL: no memory. */
RpcSession *session_new(Mcp *m, const Caller *caller, bool listed);
/* By name, if it is this caller's (new reference). */
RpcSession *session_find(Mcp *m, const Caller *caller, const char *id);
void session_put(Mcp *m, RpcSession *s);
/* Everything of it is cancelled. */
void session_end(Mcp *m, RpcSession *s);

/* A request begins; NULL: too many are, or one of that id is (then *ret_twice). */
Flight *flight_begin(Mcp *m, RpcSession *s, json_t *id, int gone_fd, bool *ret_twice);
/* True: it was cancelled by a message and is not answered. */
bool flight_end(Mcp *m, RpcSession *s, Flight *f);
void flight_cancel(Mcp *m, RpcSession *s, json_t *id);

/* Sends a request of ours over `l` and waits: the response message (new), or NULL. */
json_t *session_ask(Mcp *m, RpcSession *s, Link *l, int cancel_fd, const char *method, json_t *params_stolen);
/* What a client says to a question of ours. */
void session_answered(Mcp *m, RpcSession *s, json_t *message);

/* ---- changes (rpc_changes.c) ---- */

json_t *changes_listen(Call *c); /* subscriptions/listen: until it is cancelled */
/* The stream of a session, which the caller marked: until link or session end. */
void changes_stream(Mcp *m, RpcSession *s, Link *link);
/* The same for a client of a pipe, on a thread of its own. */
void changes_pipe_begin(Mcp *m, RpcSession *s, Link *link);
void changes_pipe_wait(Mcp *m, RpcSession *s); /* after the session's end */

/* ---- a call (call.c) ---- */

struct CallInside {
	Link *link;
	RpcSession *session; /* legacy; or stdio's, stateless */
	json_t *id;
	json_t *token; /* of progress, borrowed; NULL: not asked for */
	double progress;
	int level; /* least severity wanted; above all: none */
	json_t *error;
	json_t *then; /* RpcOut.then */
	/* questions */
	json_t *answers;   /* those answered, by key */
	json_t *used;	   /* of them, those that the handler asked for */
	json_t *asked;	   /* those that are not, by key */
	json_t *state;	   /* given back by the client, or NULL */
	char nonce[STATE_NONCE]; /* of what was given back */
	int64_t state_until;
	json_t *new_state; /* to be given back */
};

enum { LEVEL_NONE = 100 };

bool call_is_legacy(const Call *c);

/* ---- requestState (mrtr.c) ---- */

/* Seals what a repeated request needs, bound to caller, method and parameters: the answers
 * that were used, which are still asked for, the handler's state.  Base64url (new string,
 * free()), or NULL. */
char *mrtr_seal(const Call *c);
/* Opens what the repeated request brings: fills answers and state of c; false: it was not made for this (the call has its error). */
bool mrtr_open(Call *c);

/* ---- headers (rpc_head.c) ---- */

typedef char HeadName[64];

/* False: headers and body differ, in the one of that name. */
bool head_agrees(const RpcIn *in, const Method *m, json_t *params, const char *method, HeadName ret_name);

#endif
