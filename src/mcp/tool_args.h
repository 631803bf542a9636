/* SPDX-License-Identifier: Apache-2.0
 *
 * A tool's arguments held against its input schema: what does not fit is refused with what
 * would have, and never changed into something that does.
 */
#ifndef SONDE_MCP_TOOL_ARGS_H
#define SONDE_MCP_TOOL_ARGS_H

#include "mcp/tools.h"

/* True: they conform.  False: *ret_r is the refusal, with the example of the description. */
bool args_conform(const Tool *t, json_t *args, ToolResult *ret_r);

/* An argument, or the default that the schema names (0, false, NULL: none). */
int64_t args_int(const Tool *t, json_t *args, const char *name);
bool args_bool(const Tool *t, json_t *args, const char *name);
const char *args_text(const Tool *t, json_t *args, const char *name);

/* Refuses with what is wrong and the example; true, as handlers return. */
bool args_refuse(const Tool *t, ToolResult *ret_r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* One meaning only: a dotted quad of four plain numbers, an IPv6 address without zone, or a
 * host name of letters, digits and hyphens whose last label is no number.  NULL, or why not. */
const char *target_fault(const char *text);
const char *address_fault(const char *text);
/* A name to ask DNS for: labels may begin with an underscore. */
const char *name_fault(const char *text);
/* http or https, a host as above, without user; at most a port, path and query. */
const char *url_fault(const char *text);

#endif
