/* SPDX-License-Identifier: Apache-2.0
 *
 * A name in the file of keys is what counts: a token whose subject has no row there is
 * nobody's, whatever its issuer says.  Whatever can't be read refuses everybody.
 */
#include "mcp/auth.h"

#include "deal/keys.h"
#include "mcp/auth_file.h"
#include "mcp/auth_jwt.h"
#include "mcp/http_head.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct Auth {
	pthread_mutex_t lock;
	bool open;
	AuthFile keys, jwks;
	uint32_t versions; /* of keys, so far */
	JwtKeys *jwt;
	const char *issuer, *audience, *scope;
	char resource[512];
};

#define SCOPE "sonde:mcp" /* of tokens, unless the operator says other */

static void say(const char *why)
{
	fprintf(stderr, "sonde mcp: %s: nobody is let in by it\n", why);
}

/* ---- files, under the lock ---- */

static bool keys_fresh(Auth *a, char why[AUTH_WHY])
{
	AuthFileSaid said = auth_file_look(&a->keys, why);
	const char *what;
	unsigned line;

	if (said == AUTH_FILE_NEW && !keys_check((Str){ a->keys.text, a->keys.n }, &line, &what)) {
		snprintf(why, AUTH_WHY, "%s:%u: %s", a->keys.path, line, what);
		auth_file_free(&a->keys);
		said = AUTH_FILE_BAD;
	}
	a->versions += said != AUTH_FILE_SAME;
	return said != AUTH_FILE_BAD;
}

static bool jwks_fresh(Auth *a, char why[AUTH_WHY])
{
	AuthFileSaid said = auth_file_look(&a->jwks, why);
	const char *what;

	if (said == AUTH_FILE_SAME && a->jwks.text)
		return true;
	if (said != AUTH_FILE_SAME || !a->jwks.text) {
		jwt_keys_free(a->jwt);
		a->jwt = NULL;
	}
	if (said == AUTH_FILE_NEW && !(a->jwt = jwt_keys_new((Str){ a->jwks.text, a->jwks.n }, &what))) {
		snprintf(why, AUTH_WHY, "%s: %s", a->jwks.path, what);
		auth_file_free(&a->jwks);
		said = AUTH_FILE_BAD;
	}
	return said != AUTH_FILE_BAD;
}

static void refresh(Auth *a)
{
	char why[AUTH_WHY];

	if (a->keys.path && !keys_fresh(a, why))
		say(why);
	if (a->jwks.path && !jwks_fresh(a, why))
		say(why);
}

/* ---- the start ---- */

/* What goes into a header and into JSON as it is. */
static bool is_url(const char *s)
{
	if (strncmp(s, "https://", 8) != 0 && strncmp(s, "http://", 7) != 0)
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	return true;
}

static const char *options_fault(const ServerOptions *o, const char *resource)
{
	if (!o->jwks)
		return o->issuer || o->scope ? "--issuer and --scope are of tokens, which need --jwks" : NULL;
	if (!o->keys)
		return "--jwks needs --keys: a token's subject has a row there (sonde mcp key add NAME --subject SUBJECT)";
	if (!o->issuer || !is_url(o->issuer))
		return "--jwks needs --issuer URL, whose tokens these are";
	if (!is_url(resource) || !strchr(strstr(resource, "//") + 2, '/') || strlen(resource) > 400)
		return "--resource takes the URL of this server as clients have it, https://sonde.example.com/mcp";
	if (o->scope && (!jwt_is_scope(o->scope) || strlen(o->scope) > 200))
		return "--scope takes names of scopes with a blank between them, 200 bytes at most; empty: tokens need none";
	return NULL;
}

Auth *auth_new(const ServerOptions *o, const char *url, char ret_why[256])
{
	Auth *a = calloc(1, sizeof *a);
	const char *resource = o->resource ? o->resource : url, *fault = options_fault(o, resource);

	if (!a || fault) {
		snprintf(ret_why, 256, "%s", fault ? fault : "no memory");
		free(a);
		return NULL;
	}
	*a = (Auth){ .open = !o->keys && !o->jwks, .keys.path = o->keys, .jwks.path = o->jwks, .issuer = o->issuer,
		     .scope = o->scope ? o->scope : SCOPE };
	snprintf(a->resource, sizeof a->resource, "%s", resource);
	a->audience = o->audience ? o->audience : a->resource;
	pthread_mutex_init(&a->lock, NULL);
	if ((!a->keys.path || keys_fresh(a, ret_why)) && (!a->jwks.path || jwks_fresh(a, ret_why)))
		return a;
	auth_free(a);
	return NULL;
}

void auth_free(Auth *a)
{
	auth_file_free(&a->keys);
	auth_file_free(&a->jwks);
	jwt_keys_free(a->jwt);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

bool auth_is_open(const Auth *a)
{
	return a->open;
}

/* ---- who asks ---- */

static Hash row_id(const KeyRow *r)
{
	return r->by_subject ? sha256(str_bytes(r->subject)) : r->hash;
}

/* The name whose row has that hash or subject and is good today. */
static bool find_row(const Auth *a, const Hash *hash, const char *subject, Caller *ret_who)
{
	Str text = { a->keys.text, a->keys.n };
	uint32_t today = keys_today(time(NULL));
	KeyRow r;

	while (a->keys.text && keys_next(&text, &r) == 1) {
		bool his = hash ? !r.by_subject && hash_eq(r.hash, *hash) : r.by_subject && str_is(r.subject, subject);

		if (!his || !keys_row_good(&r, today))
			continue;
		snprintf(ret_who->name, sizeof ret_who->name, "%.*s", STR_ARG(r.name));
		snprintf(ret_who->session, sizeof ret_who->session, "mcp %.*s", STR_ARG(r.name));
		ret_who->row = row_id(&r);
		return true;
	}
	return false;
}

static AuthSaid known(Auth *a, Str credential, Caller *ret_who)
{
	JwtWant want = { .issuer = a->issuer, .audience = a->audience, .scope = a->scope, .now = time(NULL) };
	JwtSaid token;
	Hash hash;

	if (keys_looks_like(credential)) {
		hash = keys_hash(credential);
		return find_row(a, &hash, NULL, ret_who) ? AUTH_OK : AUTH_BAD;
	}
	if (!a->jwt || !jwt_check(a->jwt, credential, &want, &token) || !find_row(a, NULL, token.subject, ret_who))
		return AUTH_BAD; /* also where another scope would not help: nobody is sent for one in vain */
	return token.in_scope ? AUTH_OK : AUTH_SCOPE;
}

AuthSaid auth_caller(Auth *a, Str authorization, Str api_key, Caller *ret_who)
{
	Str credential = api_key.p ? api_key : http_bearer(authorization);
	AuthSaid said;

	*ret_who = (Caller){ .name = "", .session = "http" };
	if (a->open)
		return AUTH_OK;
	if (!authorization.p && !api_key.p)
		return AUTH_NONE;
	if ((authorization.p && api_key.p) || !credential.n)
		return AUTH_BAD;
	pthread_mutex_lock(&a->lock);
	refresh(a);
	said = known(a, credential, ret_who);
	pthread_mutex_unlock(&a->lock);
	return said;
}

uint64_t auth_version(Auth *a)
{
	uint64_t v;

	pthread_mutex_lock(&a->lock);
	refresh(a);
	v = (uint64_t)a->versions << 32 | keys_today(time(NULL));
	pthread_mutex_unlock(&a->lock);
	return v;
}

bool auth_still(Auth *a, const Caller *who)
{
	uint32_t today = keys_today(time(NULL));
	bool good = a->open;
	KeyRow r;

	pthread_mutex_lock(&a->lock);
	for (Str text = { a->keys.text, a->keys.n }; !good && text.p && keys_next(&text, &r) == 1;)
		good = str_is(r.name, who->name) && hash_eq(row_id(&r), who->row) && keys_row_good(&r, today);
	pthread_mutex_unlock(&a->lock);
	return good;
}

/* ---- what clients are told ---- */

char *auth_metadata(const Auth *a)
{
	json_t *o, *scopes;
	char *text;

	if (!a->issuer)
		return NULL;
	o = json_pack("{s:s, s:[s], s:[s], s:s}", "resource", a->resource, "authorization_servers", a->issuer,
		      "bearer_methods_supported", "header", "resource_name", "Sonde");
	scopes = json_array();
	for (Str rest = str_c(a->scope); rest.n;) {
		Str one = str_until(&rest, ' ');

		json_array_append_new(scopes, json_stringn(one.p, one.n));
	}
	if (json_array_size(scopes))
		json_object_set(o, "scopes_supported", scopes);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(scopes);
	json_decref(o);
	return text;
}

void auth_challenge(const Auth *a, AuthSaid said, char buf[AUTH_CHALLENGE])
{
	static const char *const errors[] = { [AUTH_BAD] = ", error=\"invalid_token\"", [AUTH_SCOPE] = ", error=\"insufficient_scope\"" };
	const char *path = strstr(a->resource, "//"), *error = errors[said] ? errors[said] : "";
	int n = snprintf(buf, AUTH_CHALLENGE, "Bearer realm=\"sonde\"%s", error);

	path = path ? strchr(path + 2, '/') : NULL;
	if (!a->issuer || !path)
		return;
	if (*a->scope)
		n += snprintf(buf + n, AUTH_CHALLENGE - (size_t)n, ", scope=\"%s\"", a->scope);
	snprintf(buf + n, AUTH_CHALLENGE - (size_t)n, ", resource_metadata=\"%.*s" HTTP_METADATA "%s\"", (int)(path - a->resource),
		 a->resource, path);
}
