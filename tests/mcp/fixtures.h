/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_TESTS_MCP_FIXTURES_H
#define SONDE_TESTS_MCP_FIXTURES_H

#include "mcp/resources.h"
#include "mcp/server.h"

extern const Tool fixture_tools[];
extern const unsigned fixture_tools_n;
extern const Resource fixture_resources[];
extern const Prompt fixture_prompts[];

/* A server of these; server_init() is the caller's. */
#define FIXTURE_SERVER                                                                                        \
	((Mcp){ .launcher_fd = -1, .checker_fd = -1, .name = "sonde-fixtures", .title = "Fixtures", .version = "1.0.0", \
		.instructions = "A server for tests.", .tools = fixture_tools, .tools_n = fixture_tools_n,    \
		.resources = fixture_resources, .prompts = fixture_prompts, .changes = true })

#endif
