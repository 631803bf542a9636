/* SPDX-License-Identifier: Apache-2.0
 *
 * Where HTTP is served: address, socket, the names under which it is known.
 */
#ifndef SONDE_MCP_HTTP_LISTEN_H
#define SONDE_MCP_HTTP_LISTEN_H

#include "mcp/server.h"

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_HOSTS = SERVER_NAMES + 5 };

typedef struct HttpWhere {
	bool v6, loopback;
	uint16_t port;	/* as bound */
	char text[80];	/* "127.0.0.1:8080", "[::1]:8080" */
	char literal[64]; /* the address, as a Host has it */
	const char *host[HTTP_HOSTS]; /* allowed, ended by NULL */
} HttpWhere;

/* Certificate chain and key as text (new, free()), both NULL where no TLS is asked for.  A
 * file is a path, or "fd:N" for one that the launcher has opened, since a private key is
 * nobody's to read but root's.  False: ret_why says why not. */
bool http_tls_files(const ServerOptions *o, char **ret_cert, char **ret_key, char ret_why[256]);

/* A socket that listens on `o->http` (ADDR:PORT, [ADDR]:PORT, localhost:PORT; port 0: a
 * free one), CLOEXEC; -1: ret_why says why not. */
int http_listen(const ServerOptions *o, HttpWhere *ret_where, char ret_why[256]);

#endif
