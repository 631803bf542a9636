/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs and checks, asked of the launcher (deal/launch.h): the front has no right to the
 * network and compiles nothing itself.
 */
#ifndef SONDE_MCP_RUNS_H
#define SONDE_MCP_RUNS_H

#include "mcp/call.h"

typedef struct RunParam {
	const char *name, *value; /* as behind -p */
} RunParam;

typedef struct RunAsk {
	const char *name; /* of the program, for messages: "program", "ping_host" */
	const char *text;
	const RunParam *param;
	unsigned nparam;
	const char *limits;  /* declarations that narrow this run alone, as "budget(packets=100)"; NULL: none */
	unsigned max_output; /* bytes; 0: the default */
	int deadline_ms;     /* then it is interrupted: what is known so far is the answer */
	const char *approve; /* a hash that this caller's user has just approved by a form, or NULL */
} RunAsk;

/* Members of a run's object that say why it was interrupted: each is true, or not there. */
#define RUN_DEADLINE "deadline"
#define RUN_SHUTDOWN "shutdown" /* of this server */

/* Runs it behind the gate and waits.  The object of doc/run.schema.json (new), with one of
 * these if it was interrupted; NULL: *ret_why says why nothing ran
 * (too many at a time, launcher gone, cancelled), a sentence good until the thread's next
 * call.  Tells progress while it runs.  A cancelled call stops
 * the run: the gate is closed within a second. */
json_t *runs_run(Call *c, const RunAsk *ask, const char **ret_why);

/* The object of doc/check.schema.json (new); NULL as above. */
json_t *runs_check(Call *c, const RunAsk *ask, const char **ret_why);

/* What listens on this host (sys/listeners.h), with the processes that only the launcher may
 * see (new); NULL as above. */
json_t *runs_local(Call *c, const char **ret_why);

/* A line for the log of all calls (gate/log.h); false: it could not be written, and
 * the call must not be answered as done. */
bool runs_audit(Call *c, const char *tool, const char *args_sha256, const char *outcome, const char *finding_id);

/* What this caller may do, as text of a policy file's declarations: intersection in words,
 * for sonde://policy (new string, free()); NULL as above. */
char *runs_policy(Call *c, const char **ret_why);

#endif
