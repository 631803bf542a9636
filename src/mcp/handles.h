/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs and pages that a caller can name later: random names of 128 bits, bound to
 * the caller, gone after an hour or when newer ones of his need the room, or of who has less than he.
 */
#ifndef SONDE_MCP_HANDLES_H
#define SONDE_MCP_HANDLES_H

#include "mcp/call.h"

enum { HANDLE_TEXT = 40, HANDLES_CALLER = 64 };

struct Handles *handles_new(void); /* NULL: no memory */
void handles_free(struct Handles *all);

/* Keeps a text under a new name with that prefix ("prog", "page"); false: no memory. */
bool handle_keep(Call *c, const char *prefix, const char *text, char ret_name[HANDLE_TEXT]);
/* A copy (free()), or NULL: unknown, expired, or another caller's - not told apart. */
char *handle_text(Call *c, const char *name);

#endif
