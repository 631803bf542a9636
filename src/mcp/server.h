/* SPDX-License-Identifier: Apache-2.0
 *
 * What all calls of one server share.
 */
#ifndef SONDE_MCP_SERVER_H
#define SONDE_MCP_SERVER_H

#include "mcp/call.h"
#include "mcp/tools.h"

typedef struct Mcp {
	int launcher_fd; /* deal/launch.h; -1: none (a build for tests) */
	uint8_t secret[32]; /* of requestState, handles: drawn at each start */
	const Tool *tools;  /* of this build */
	unsigned tools_n;
	const char *instructions;
	unsigned max_runs, max_runs_caller; /* at a time, in all and of one caller */
	struct RpcSessions *sessions;	    /* rpc.c */
	struct Runs *runs;		    /* runs.c */
	struct Handles *handles;	    /* handles.c: programs, pages */
	const struct Resource *resources;   /* resources.h */
	const struct Prompt *prompts;	    /* prompts.h */
} Mcp;

#endif
