/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde-mcp: the front of `sonde mcp`, which starts it (src/mcp/README.md).  A binary of its
 * own, so that sonde starts without what it is linked with, and so that what reads clients'
 * bytes has no right to the network.
 */
#include "cmd/cmd.h"
#include "mcp/resources.h"
#include "mcp/server.h"
#include "mcp/skills.h"

enum { LAUNCHER_FD = 3, CHECKER_FD = 4 };

int main(int argc, char **argv)
{
	Mcp m = {
		.launcher_fd = LAUNCHER_FD,
		.checker_fd = CHECKER_FD,
		.name = "sonde",
		.title = "Sonde",
		.version = SONDE_VERSION,
		.instructions = server_instructions,
		.tools = tools,
		.tools_n = tools_n,
		.resources = resources,
		.prompts = prompts,
		.extensions = SKILLS_EXTENSION,
		.methods = skills_methods,
	};

	return server_main(&m, argc, argv);
}
