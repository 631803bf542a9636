/* SPDX-License-Identifier: Apache-2.0
 *
 * The fixed probes: a program of src/mcp/probes with parameters, run by the same gate as any
 * other, and what its lines become: verdict, evidence, what to do about it, what to test next.
 *
 * A probe prints lines "name value".  "verdict WORD" may come again, the last counts: the
 * first is what measurements alone say, a later one rests on what the network said.
 * "> text" is data of a peer, and stays apart from all the rest.
 */
#ifndef SONDE_MCP_TOOL_PROBE_H
#define SONDE_MCP_TOOL_PROBE_H

#include "mcp/runs.h"
#include "mcp/tools.h"

#include <time.h>

typedef enum FactKind { FACT_INT, FACT_NUM, FACT_BOOL, FACT_WORDS, FACT_ADDR, FACT_ADDRS, FACT_LIST, FACT_HOPS } FactKind;

/* A line that counts: what it is called in the program and in the answer's evidence. */
typedef struct ProbeFact {
	const char *line, *name;
	FactKind kind;
} ProbeFact;

/* What is said of a verdict; $name stands for a fact or an argument.  `when`: only if the
 * evidence, as JSON, has this text in it.  The first row that fits counts. */
typedef struct ProbeSay {
	const char *verdict, *when, *summary, *hint;
	const char *next[3];
} ProbeSay;

typedef struct Probe {
	const char *text;
	const ProbeFact *fact; /* ends with a row without name */
	const ProbeSay *say;   /* ends with a row without verdict */
	int deadline_ms;
} Probe;

/* Runs it with these parameters and makes the answer.  `vars`: what templates may name, the
 * target among it.  False: call_error() was called, or an input is awaited. */
bool probe_run(Call *c, const Tool *t, const Probe *p, json_t *vars, const RunParam *param, unsigned nparam,
	       ToolResult *ret_r);

/* ---- shared with the other tools ---- */

/* A growing text; .p is zero-terminated, NULL while empty. */
typedef struct Text {
	char *p;
	size_t n, cap;
} Text;
void text_add(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Why a run did nothing, as the answer: policy, checker, environment, with what helps.  True. */
bool probe_failed(Call *c, const Tool *t, json_t *run, ToolResult *ret_r);

/* Runs, and if policy wants a person, asks the client's user by a form where that is allowed.
 * NULL: *ret_r is the answer, or false is to be returned (c->pending). */
json_t *probe_ask(Call *c, const Tool *t, RunAsk *ask, ToolResult *ret_r);

/* Printable, without quotes, which would hold a peer's text, and with nothing withheld: may stand among our own words. */
bool text_is_ours(const char *text);

/* From which host, interface, source and gateway to whom first; when, and how long. */
json_t *probe_vantage(json_t *run);
json_t *probe_window(const struct timespec *start);

/* By what a report cites it: of what the client has in hand, so that anybody can tell whether call and answer are these
 * (doc/mcp.md); takes `verdict`. */
enum { FINDING_TEXT = 2 + 16 + 1 }; /* f- and 64 bits */
void probe_finding_id(const Call *c, const Tool *t, json_t *window, json_t *verdict, json_t *evidence, char ret_id[FINDING_TEXT]);

/* All that was printed, pieces joined (free() its .p). */
Text run_text(json_t *run);

extern const Probe probe_ping_host, probe_tcp_reachability, probe_traceroute_host, probe_resolve_dns, probe_tls_check, probe_http_probe;
extern const char probe_text_local_state[];

#endif
