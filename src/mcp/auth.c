/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/auth.h"

#include <stdio.h>
#include <stdlib.h>

struct Auth {
	bool open;
};

Auth *auth_new(const ServerOptions *o, char ret_why[256])
{
	Auth *a = calloc(1, sizeof *a);

	if (!a) {
		snprintf(ret_why, 256, "no memory");
		return NULL;
	}
	a->open = !o->keys && !o->jwks;
	return a;
}

void auth_free(Auth *a)
{
	free(a);
}

bool auth_is_open(const Auth *a)
{
	return a->open;
}

AuthSaid auth_caller(Auth *a, Str authorization, Str api_key, Caller *ret_who)
{
	*ret_who = (Caller){ .name = "", .session = "http" };
	if (a->open)
		return AUTH_OK;
	return authorization.p || api_key.p ? AUTH_BAD : AUTH_NONE;
}

char *auth_metadata(const Auth *a)
{
	(void)a;
	return NULL;
}

void auth_challenge(const Auth *a, bool bad, char *buf, size_t cap)
{
	(void)a;
	snprintf(buf, cap, bad ? "Bearer realm=\"sonde\", error=\"invalid_token\"" : "Bearer realm=\"sonde\"");
}
