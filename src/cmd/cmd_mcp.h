/* SPDX-License-Identifier: Apache-2.0
 *
 * `sonde mcp`, in its processes:
 *
 *   launcher   this command: keeps what `sonde run` needs, reads no client's bytes
 *    +- front     sonde-mcp, a second binary (src/mcp): speaks the protocol, has no right
 *    +- checker   checks programs, warm, in a child each; has no right
 *    +- a run     what `sonde run` is, for each run that the front asks for
 *
 * Whoever of them ends takes what stands below or depends on him along: a run ends when
 * the front closes its control socket, and when the launcher dies.
 */
#ifndef SONDE_CMD_CMD_MCP_H
#define SONDE_CMD_CMD_MCP_H

#include "cmd/opt.h"
#include "cmd/policies.h"
#include "deal/launch.h"

typedef struct McpOptions {
	CmdArgs args; /* the sub-command's name and its arguments; none: serve */
	OptList policy;
	/* handed on to the front as they are */
	const char *http, *keys, *tls_cert, *tls_key, *jwks, *issuer, *audience, *scope, *resource;
	OptList origin, host;
	OptUint max_runs, max_runs_caller;
	/* mcp key add */
	const char *subject, *until;
	/* mcp install */
	const char *client, *url, *file;
	bool write;
} McpOptions;

/* Serves until the front ends, or a signal comes; the exit code of sonde. */
int mcp_serve(const McpOptions *o);

/* mcp key ..: the file of those who may ask over HTTP. */
int mcp_key(const McpOptions *o);

/* mcp install: this server's entry in a client's configuration. */
int mcp_install(const McpOptions *o);

/* What is to be in force for a caller: the installed policy, the server's, his own (NULL: for
 * nobody yet).  False after saying on standard error why there is none. */
bool mcp_policies(Arena *a, const McpOptions *o, const char *caller, Policies *ret_p);

/* LaunchSaid on a control socket, NULL: all is well; never waits. */
void mcp_say(int control, const char *fault);

/* Who pays for what a caller does, in the ledger. */
const char *mcp_session(Arena *a, const McpOptions *o, const char *caller);

/* Children of the launcher; each is the process's whole life from here on.  `launcher_fd` is
 * a pidfd: they die with it.  `session_fd` is a file of memory in which the caller's runs
 * keep what he was shown; the launcher never looks into it. */
_Noreturn void mcp_run(const McpOptions *o, const LaunchAsk *ask, const int fds[3], int session_fd, int launcher_fd);
_Noreturn void mcp_policy(const McpOptions *o, const LaunchAsk *ask, const int fds[2], int launcher_fd);
_Noreturn void mcp_local(const int fds[2], int launcher_fd);
_Noreturn void mcp_check(int sock, int launcher_fd);

#endif
