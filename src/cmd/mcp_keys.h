/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of those who may ask `sonde mcp` over HTTP (deal/keys.h), read by those who
 * give rights by it.
 */
#ifndef SONDE_CMD_MCP_KEYS_H
#define SONDE_CMD_MCP_KEYS_H

#include "base/arena.h"
#include "base/str.h"

#define MCP_KEYS_PATH "/etc/sonde/mcp.keys"

/* The file's text, checked: it is root's or the caller's own, nobody else writes it or its
 * folder, and each line is a row.  NULL, or a sentence why it counts for nothing.
 * `missing_ok`: no file is an empty one. */
const char *mcp_keys_read(Arena *a, const char *path, bool missing_ok, Str *ret_text);

/* The policy file of a caller, *ret_path NULL if he has none of his own.  NULL, or a
 * sentence why nothing runs for him: he has no row that is good today. */
const char *mcp_keys_policy(Arena *a, const char *keys_file, const char *caller, const char **ret_path);

#endif
