/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools.h"

#include "mcp/canonical.h"
#include "mcp/runs.h"
#include "mcp/tool_args.h"
#include "mcp/tools_inside.h"

#include <stdlib.h>
#include <string.h>

#define ROWS(X)                                                                                                                                                              \
	X(run_program, TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD,                                                                                                                                      \
	  "Run a Sonde program (see language_help): any packets, timing, connections, statistics; use it where no fixed probe answers the question. "                     \
	  "Bounds: policy and the program's budget (2,000 packets, 60 s by default). Partial results at the deadline. Example: "                                             \
	  "{\"source\":\"print(ping('10.20.3.4', count=20))\",\"limits\":{\"seconds\":30}}")                                                                                 \
	X(check_program, TOOL_READ_ONLY | TOOL_IDEMPOTENT,                                                                                                                   \
	  "Check a program without sending anything: all errors with fixes, and what it may send. Use it before run_program; program_id then names it. "                     \
	  "Bounds: 64 KB of source. Example: {\"source\":\"print(tracebox('10.20.3.4', dport=443))\"}")                                                                      \
	X(language_help, TOOL_READ_ONLY | TOOL_IDEMPOTENT,                                                                                                                   \
	  "The language: topic \"reference\" is all of it on one page, read that first; else the name of a function, result, layer or warning. Sends nothing. "             \
	  "Bounds: a page. Example: {\"topic\":\"traceroute\"}")                                                                                                             \
	X(resolve_dns, TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_OPEN_WORLD,                                                                                                   \
	  "Ask DNS when a name does not resolve, or wrongly. Addresses come from A/AAAA records only. Bounds: 2 questions, 5 s. Example: "                                   \
	  "{\"name\":\"www.acme.corp\",\"type\":\"A\",\"server\":\"10.20.0.53\"}")                                                                                           \
	X(tcp_reachability, TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_OPEN_WORLD,                                                                                              \
	  "Is a TCP port open, refused, silent, prohibited or reset, and who says so. Use it first for \"cannot connect\". Bounds: 6 SYNs, 15 s. Example: "                 \
	  "{\"target\":\"10.20.3.4\",\"port\":443}")                                                                                                                         \
	X(ping_host, TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_OPEN_WORLD,                                                                                                     \
	  "ICMP echo: is it alive, loss, round-trip times. Silence may be a filter: then try tcp_reachability. Bounds: 50 packets. Example: "                                \
	  "{\"target\":\"10.20.3.4\",\"count\":10}")                                                                                                                         \
	X(traceroute_host, TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_OPEN_WORLD,                                                                                               \
	  "The routers on the way, when something is silent or slow; proto tcp with the service's port shows what firewalls let pass. Bounds: 40 hops, 90 s. Example: "      \
	  "{\"target\":\"10.20.3.4\",\"proto\":\"tcp\",\"port\":443}")                                                                                                       \
	X(tls_check, TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_OPEN_WORLD,                                                                                                     \
	  "TLS handshake and certificate: trust, name, days left. Use it for TLS errors once the port is OPEN. Bounds: one connection, 15 s. Example: "                      \
	  "{\"target\":\"10.20.3.4\",\"port\":443,\"server_name\":\"www.acme.corp\"}")                                                                                       \
	X(http_probe, TOOL_READ_ONLY | TOOL_OPEN_WORLD,                                                                                                                      \
	  "One HTTP request: status, timings, headers; redirects are told, not followed. Use it when the port is OPEN and the service fails. "                               \
	  "Bounds: one request, 64 KB, 30 s. Example: {\"url\":\"https://www.acme.corp/health\"}")                                                                           \
	X(local_state, TOOL_READ_ONLY | TOOL_IDEMPOTENT,                                                                                                                     \
	  "This host's interfaces, routes, neighbours, and listening ports with their processes: where the fault may be here. Sends nothing. Bounds: 200 rows each. "        \
	  "Example: {\"what\":\"routes\"}")                                                                                                                                  \
	X(result_page, TOOL_READ_ONLY | TOOL_IDEMPOTENT,                                                                                                                     \
	  "The rest of a long output of run_program, whose answer names page and offset. Bounds: 8 KB each, kept for an hour. Example: "                                     \
	  "{\"page\":\"page_0123456789abcdef0123456789abcdef\",\"offset\":8000}")
/* flow_log_query, which looks into the past, takes its place behind http_probe. */

/* Whatever tool it is: arguments first, and no answer without its line in the log. */
static bool audited(Call *c, const Tool *t, ToolWork *work, json_t *args, ToolResult *ret_r)
{
	char hash[SHA256_TEXT];
	json_t *own = json_deep_copy(args);
	bool done;

	hash_format(canonical_hash(args), hash);
	done = !args_conform(t, own, ret_r) || work(c, t, own, ret_r);
	json_decref(own);
	bool asked = !done && c->pending;
	const char *verdict = json_string_value(json_object_get(ret_r->structured, "verdict"));
	const char *finding = json_string_value(json_object_get(ret_r->structured, "finding_id"));

	const char *outcome = asked ? "asked" : !done || ret_r->is_error ? "refused" : verdict ? verdict : "done";

	if (runs_audit(c, t->name, hash, outcome, finding ? finding : ""))
		return done;
	c->pending = false;
	json_decref(ret_r->structured);
	json_decref(ret_r->content);
	*ret_r = (ToolResult){ 0 };
	return tool_refuse(ret_r, "this call could not be written to the log of calls, so its result is not shown; the operator has to "
				  "look at the server's log");
}

#define DECLARE(name, notes, text) extern const char schema_##name##_input[], schema_##name##_output[];
ROWS(DECLARE)

#define CALL(name, notes, text)                                                  \
	static bool call_##name(Call *c, json_t *args, ToolResult *ret_r)        \
	{                                                                        \
		return audited(c, tool_find(#name), work_##name, args, ret_r);   \
	}
ROWS(CALL)

#define ROW(name, notes, text) { #name, NULL, text, schema_##name##_input, schema_##name##_output, notes, call_##name },
const Tool tools[] = { ROWS(ROW) };
const unsigned tools_n = sizeof tools / sizeof *tools;

const Tool *tool_find(const char *name)
{
	for (unsigned i = 0; i < tools_n; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}
