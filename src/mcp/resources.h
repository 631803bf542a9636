/* SPDX-License-Identifier: Apache-2.0
 *
 * Resources, prompts and completion: texts that a client reads without running anything.
 */
#ifndef SONDE_MCP_RESOURCES_H
#define SONDE_MCP_RESOURCES_H

#include "mcp/call.h"

typedef struct Resource {
	const char *uri; /* a URI, or a template with {name} */
	const char *name, *title, *description, *mime;
	bool is_template;
	/* ResourceContents array for resources/read (new), or NULL after call_error().  `var` is what {name} stands for. */
	json_t *(*read)(Call *c, const char *uri, const char *var);
	/* Templates: the values of {name} that begin so, for completion (new array of strings). */
	json_t *(*complete)(Call *c, const char *begin);
} Resource;

typedef struct PromptArg {
	const char *name, *description;
	bool required;
	json_t *(*complete)(Call *c, const char *begin); /* or NULL */
} PromptArg;

typedef struct Prompt {
	const char *name, *title, *description;
	const PromptArg *arg;
	unsigned nargs;
	/* {"description":.., "messages":[..]} (new), or NULL after call_error(). */
	json_t *(*get)(Call *c, json_t *args);
} Prompt;

/* Tables end with a row without uri / name. */
extern const Resource resources[];
extern const Prompt prompts[];

/* For Mcp.instructions: below 2,048 characters. */
extern const char server_instructions[];

#endif
