/* SPDX-License-Identifier: Apache-2.0
 *
 * Streamable HTTP.
 */
#ifndef SONDE_MCP_HTTP_H
#define SONDE_MCP_HTTP_H

#include "mcp/server.h"

/* Serves until signal_fd is readable or the launcher's end; the exit code. */
int http_serve(Mcp *m, const ServerOptions *o, int signal_fd);

#endif
