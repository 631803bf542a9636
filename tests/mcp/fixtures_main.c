/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde-mcp-fixtures: as sonde-mcp, with the fixtures for tools and without a launcher.
 */
#include "fixtures.h"

int main(int argc, char **argv)
{
	Mcp m = FIXTURE_SERVER;

	return server_main(&m, argc, argv);
}
