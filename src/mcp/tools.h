/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools: one table; each row is name, texts, schemas, annotations and handler.
 * Schemas are JSON files in doc/mcp/ (tool.<name>.input.json, tool.<name>.output.json),
 * embedded at build, so that what clients, tests and docs read is one text.
 */
#ifndef SONDE_MCP_TOOLS_H
#define SONDE_MCP_TOOLS_H

#include "mcp/call.h"

/* The four annotations, all told of each tool. */
enum {
	TOOL_READ_ONLY = 1 << 0,
	TOOL_DESTRUCTIVE = 1 << 1,
	TOOL_IDEMPOTENT = 1 << 2,
	TOOL_OPEN_WORLD = 1 << 3,
};

/* What a tool gives: `structured` conforms to its output schema, or is NULL (an error,
 * or a tool without one); `content` is the list of blocks that says the same.  Both are
 * the caller's to free. */
typedef struct ToolResult {
	json_t *structured;
	json_t *content; /* array of ContentBlock */
	bool is_error;
} ToolResult;

/* False: call_error() said why, or c->pending. */
typedef bool ToolFn(Call *c, json_t *args, ToolResult *ret_r);

typedef struct Tool {
	const char *name, *title, *description;
	const char *input_schema, *output_schema; /* JSON; output NULL: none */
	unsigned annotations;
	ToolFn *call;
} Tool;

/* In the order of tools/list. */
extern const Tool tools[];
extern const unsigned tools_n;

const Tool *tool_find(const char *name);

/* One text block into r->content. */
void tool_text(ToolResult *r, const char *text);
/* An error that the agent can mend: says what is wrong and shows a right call. */
bool tool_refuse(ToolResult *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
