/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools.h"

#include <stdarg.h>
#include <stdio.h>

void tool_text(ToolResult *r, const char *text)
{
	json_t *block = json_pack("{s:s, s:o*}", "type", "text", "text", json_string(text));

	if (!r->content)
		r->content = json_array();
	json_array_append_new(r->content, block);
}

bool tool_refuse(ToolResult *r, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r->is_error = true;
	tool_text(r, text);
	return true;
}
