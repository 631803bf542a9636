/* SPDX-License-Identifier: Apache-2.0
 *
 * What all calls of one server share.
 */
#ifndef SONDE_MCP_SERVER_H
#define SONDE_MCP_SERVER_H

#include "mcp/call.h"
#include "mcp/tools.h"

/* Of a method of the protocol: in which revisions it is there, and what its results are. */
enum {
	METHOD_LEGACY = 1 << 0,
	METHOD_MODERN = 1 << 1,
	METHOD_BOTH = METHOD_LEGACY | METHOD_MODERN,
	METHOD_CACHED = 1 << 2, /* its results say how long they are good for */
	METHOD_ASKS = 1 << 3,	/* may end in input_required */
	METHOD_QUICK = 1 << 4,	/* answered in no time, whoever asks */
};

typedef struct Method {
	const char *name;
	json_t *(*handle)(Call *c); /* the result (new), or NULL after call_error() or with c->pending */
	unsigned flags;
	const char *name_param; /* what header Mcp-Name repeats, or NULL */
} Method;

typedef struct Mcp {
	int launcher_fd, checker_fd; /* deal/launch.h; -1: none (a build for tests) */
	uint8_t secret[32]; /* of requestState, handles: drawn at each start */
	const Tool *tools;  /* of this build */
	unsigned tools_n;
	const char *instructions;
	const char *name, *title, *version; /* serverInfo */
	const char *extensions; /* JSON: capabilities.extensions, or NULL */
	const Method *methods; /* further ones, of extensions; ended by one without a name; or NULL */
	int stop_fd; /* readable: this server shuts down */
	bool changes; /* its lists and resources may change while it runs: server_list_changed() */
	struct RpcSessions *sessions;	    /* rpc.c */
	struct Handles *handles;	    /* handles.c: programs, pages */
	const struct Resource *resources;   /* resources.h */
	const struct Prompt *prompts;	    /* prompts.h */
} Mcp;

enum { SERVER_NAMES = 16 };

/* What the launcher's command line says of how it is reached; http NULL: over stdio. */
typedef struct ServerOptions {
	const char *http; /* ADDR:PORT */
	const char *keys, *tls_cert, *tls_key, *jwks; /* files */
	const char *issuer, *audience, *scope, *resource;
	const char *origin[SERVER_NAMES], *host[SERVER_NAMES]; /* allowed ones, ended by NULL if fewer */
} ServerOptions;

/* main() of a build, whose tables, texts and descriptors are in `m`: the exit code. */
int server_main(Mcp *m, int argc, char **argv);

/* Before there are threads: what this process may still do (sys/sandbox.h).  Files are read
 * in the folders of these two (NULL: none).  False after saying why it is not to be had. */
bool server_close_in(const char *one, const char *two);

/* What server_main() does before it serves: secret, sessions, handles.  False: no memory. */
bool server_init(Mcp *m);
void server_free(Mcp *m);

/* This server shuts down: runs are asked for what they know, streams are ended with their
 * answers.  Once. */
void server_stop(Mcp *m);
bool server_stops(const Mcp *m);

/* Tells those who want to hear of it: what is "tools", "prompts" or "resources". */
void server_list_changed(Mcp *m, const char *what);
void server_resource_changed(Mcp *m, const char *uri);

#endif
