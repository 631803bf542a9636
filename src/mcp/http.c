/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http.h"

#include "base/exits.h"

int http_serve(Mcp *m, const ServerOptions *o)
{
	(void)m;
	(void)o;
	return SONDE_EXIT_USAGE;
}
