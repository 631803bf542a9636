/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages over standard input and output, one a line; many requests in flight.
 */
#ifndef SONDE_MCP_SERVE_STDIO_H
#define SONDE_MCP_SERVE_STDIO_H

#include "mcp/server.h"

/* Serves one client until its end of file, when what it still waits for is cancelled, or
 * until signal_fd is readable, when that is answered first.  `in` and `out` are not closed.  False: there is no memory, or something of it did not end,
 * and m must stay. */
bool stdio_serve(Mcp *m, const Caller *caller, int in, int out, int signal_fd);

#endif
