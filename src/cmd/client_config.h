/* SPDX-License-Identifier: Apache-2.0
 *
 * A server's entry in the configuration of an MCP client, put into the text that is there:
 * whatever else it says stays as it is, byte for byte, comments too.
 */
#ifndef SONDE_CMD_CLIENT_CONFIG_H
#define SONDE_CMD_CLIENT_CONFIG_H

#include "base/str.h"

typedef enum ConfigAdded {
	CONFIG_ADDED,
	CONFIG_SAME,	/* the entry is there already, in these words */
	CONFIG_OTHER,	/* there is one of this name that says something else */
	CONFIG_INVALID, /* the text can't be read, so nothing can be put into it */
} ConfigAdded;

/* JSON, with comments and commas at the end of lists: "name": entry into the object
 * `section` of the whole's.  An empty text is taken for {}. */
ConfigAdded config_add_json(Arena *a, Str text, const char *section, const char *name, Str entry, Str *ret_text);

/* TOML: the table [section.name] with the lines `entry`, behind all that is there. */
ConfigAdded config_add_toml(Arena *a, Str text, const char *section, const char *name, Str entry, Str *ret_text);

#endif
