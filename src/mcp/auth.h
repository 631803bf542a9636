/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks over HTTP: API keys, and tokens of an authorization server (JWT).
 */
#ifndef SONDE_MCP_AUTH_H
#define SONDE_MCP_AUTH_H

#include "base/str.h"
#include "mcp/server.h"

typedef struct Auth Auth;

/* With the files of `o`, which stay in use; `url` is where we listen, the resource if none
 * is given.  NULL: ret_why says what is wrong with them. */
Auth *auth_new(const ServerOptions *o, const char *url, char ret_why[256]);
void auth_free(Auth *a);

/* Nobody has to say who he is: only where the server is reached from this machine alone. */
bool auth_is_open(const Auth *a);

typedef enum AuthSaid {
	AUTH_OK,
	AUTH_NONE, /* no credential */
	AUTH_BAD,  /* one that is not (or no longer) good, or two */
	AUTH_SCOPE, /* a good token, but not for this */
} AuthSaid;

/* `authorization` and `api_key` are header values, .p NULL: absent.  Threads may ask at
 * the same time. */
AuthSaid auth_caller(Auth *a, Str authorization, Str api_key, Caller *ret_who);
/* Another number where a row may be gone or over since the last one. */
uint64_t auth_version(Auth *a);
/* Whether the row is still good by which he came. */
bool auth_still(Auth *a, const Caller *who);

/* RFC 9728: what a client reads to find the authorization server (new, free()); NULL:
 * there is none. */
char *auth_metadata(const Auth *a);
/* The value of WWW-Authenticate, for 401 and for 403 after AUTH_SCOPE. */
enum { AUTH_CHALLENGE = 1024 };
void auth_challenge(const Auth *a, AuthSaid said, char buf[AUTH_CHALLENGE]);

#endif
