/* SPDX-License-Identifier: Apache-2.0
 *
 * The handlers behind the table of tools.c.  Their arguments conform to the input schema.
 */
#ifndef SONDE_MCP_TOOLS_INSIDE_H
#define SONDE_MCP_TOOLS_INSIDE_H

#include "mcp/tools.h"

typedef bool ToolWork(Call *c, const Tool *t, json_t *args, ToolResult *ret_r);

ToolWork work_run_program, work_check_program, work_result_page, work_language_help, work_local_state;
ToolWork work_resolve_dns, work_tcp_reachability, work_ping_host, work_traceroute_host, work_tls_check, work_http_probe;

#endif
