/* SPDX-License-Identifier: Apache-2.0
 *
 * What all calls of one server share.
 */
#ifndef SONDE_MCP_SERVER_H
#define SONDE_MCP_SERVER_H

#include "mcp/call.h"
#include "mcp/tools.h"

typedef struct Mcp {
	int launcher_fd, checker_fd; /* deal/launch.h; -1: none (a build for tests) */
	uint8_t secret[32]; /* of requestState, handles: drawn at each start */
	const Tool *tools;  /* of this build */
	unsigned tools_n;
	const char *instructions;
	const char *name, *title, *version; /* serverInfo */
	const char *extensions; /* JSON: capabilities.extensions, or NULL */
	unsigned max_runs, max_runs_caller; /* at a time, in all and of one caller */
	struct RpcSessions *sessions;	    /* rpc.c */
	struct Runs *runs;		    /* runs.c */
	struct Handles *handles;	    /* handles.c: programs, pages */
	const struct Resource *resources;   /* resources.h */
	const struct Prompt *prompts;	    /* prompts.h */
} Mcp;

enum { SERVER_NAMES = 16 };

/* What the launcher's command line says of how it is reached; http NULL: over stdio. */
typedef struct ServerOptions {
	const char *http; /* ADDR:PORT */
	const char *keys, *tls_cert, *tls_key, *jwks; /* files */
	const char *issuer, *audience, *resource;
	const char *origin[SERVER_NAMES], *host[SERVER_NAMES]; /* allowed ones, ended by NULL if fewer */
} ServerOptions;

/* main() of a build, whose tables, texts and descriptors are in `m`: the exit code. */
int server_main(Mcp *m, int argc, char **argv);

/* What server_main() does before it serves: secret, sessions, handles.  False: no memory. */
bool server_init(Mcp *m);
void server_free(Mcp *m);

#endif
