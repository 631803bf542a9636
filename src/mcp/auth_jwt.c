/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/auth_jwt.h"

#include <cjose/cjose.h>
#include <jansson.h>
#include <stdlib.h>

enum { KEYS_MOST = 32, RSA_BITS = 2048 };

typedef struct JwtKey {
	cjose_jwk_t *jwk;
	char *kid, *alg; /* NULL: none said */
	cjose_jwk_kty_t kind;
	cjose_jwk_ec_curve curve;
} JwtKey;

struct JwtKeys {
	JwtKey key[KEYS_MOST];
	unsigned n;
};

/* No symmetric ones: our public keys would be their secret.  And not none. */
static const struct {
	const char *name;
	cjose_jwk_kty_t kind;
	cjose_jwk_ec_curve curve; /* of EC */
} algs[] = {
	{ "RS256", CJOSE_JWK_KTY_RSA, 0 },
	{ "RS384", CJOSE_JWK_KTY_RSA, 0 },
	{ "RS512", CJOSE_JWK_KTY_RSA, 0 },
	{ "PS256", CJOSE_JWK_KTY_RSA, 0 },
	{ "PS384", CJOSE_JWK_KTY_RSA, 0 },
	{ "PS512", CJOSE_JWK_KTY_RSA, 0 },
	{ "ES256", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_256 },
	{ "ES384", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_384 },
	{ "ES512", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_521 },
};

static bool fits(const JwtKey *k, const char *alg)
{
	for (unsigned i = 0; i < sizeof algs / sizeof *algs; i++)
		if (strcmp(algs[i].name, alg) == 0)
			return k->kind == algs[i].kind && (k->kind != CJOSE_JWK_KTY_EC || k->curve == algs[i].curve) &&
			       (!k->alg || strcmp(k->alg, alg) == 0);
	return false;
}

/* ---- keys ---- */

static char *copy_of(json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? strdup(s) : NULL;
}

/* False: no memory.  What is of no use is passed over. */
static bool add_key(JwtKeys *k, json_t *o)
{
	const char *kty = json_string_value(json_object_get(o, "kty")), *use = json_string_value(json_object_get(o, "use"));
	char *text;
	cjose_err e;
	JwtKey key;

	if (!kty || (strcmp(kty, "RSA") != 0 && strcmp(kty, "EC") != 0) || (use && strcmp(use, "sig") != 0) || k->n == KEYS_MOST)
		return true;
	text = json_dumps(o, JSON_COMPACT);
	if (!text)
		return false;
	key = (JwtKey){ .jwk = cjose_jwk_import(text, strlen(text), &e) };
	free(text);
	if (!key.jwk)
		return true;
	key.kind = cjose_jwk_get_kty(key.jwk, &e);
	if (key.kind == CJOSE_JWK_KTY_EC)
		key.curve = cjose_jwk_EC_get_curve(key.jwk, &e);
	else if (cjose_jwk_get_keysize(key.jwk, &e) < RSA_BITS) {
		cjose_jwk_release(key.jwk);
		return true;
	}
	key.kid = copy_of(o, "kid");
	key.alg = copy_of(o, "alg");
	k->key[k->n++] = key;
	return true;
}

JwtKeys *jwt_keys_new(Str json, const char **ret_why)
{
	json_t *all = json_loadb(json.p, json.n, JSON_REJECT_DUPLICATES, NULL), *list = json_object_get(all, "keys"), *o;
	JwtKeys *k = calloc(1, sizeof *k);
	bool ok = k && json_is_array(list);
	size_t i;

	*ret_why = "no JWK set";
	json_array_foreach(list, i, o)
		ok = ok && json_is_object(o) && add_key(k, o);
	if (ok && !k->n) {
		*ret_why = "no key in it that tokens could be signed with (RSA of 2048 bits or more, P-256, P-384, P-521)";
		ok = false;
	}
	json_decref(all);
	if (ok)
		return k;
	if (k)
		jwt_keys_free(k);
	return NULL;
}

void jwt_keys_free(JwtKeys *k)
{
	for (unsigned i = 0; k && i < k->n; i++) {
		cjose_jwk_release(k->key[i].jwk);
		free(k->key[i].kid);
		free(k->key[i].alg);
	}
	free(k);
}

/* ---- tokens ---- */

/* One part of a token: an object, strictly read. */
static json_t *part(Str text)
{
	uint8_t *raw = NULL;
	size_t n = 0;
	cjose_err e;
	json_t *o = NULL;

	if (cjose_base64url_decode(text.p, text.n, &raw, &n, &e))
		o = json_loadb((const char *)raw, n, JSON_REJECT_DUPLICATES, NULL);
	free(raw);
	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

static bool is_one_of(const char *s, const char *a, const char *b)
{
	return s && (strcasecmp(s, a) == 0 || strcasecmp(s, b) == 0);
}

/* The names that stand in it are ours to understand: crit asks for more than that. */
static bool head_ok(json_t *head, const char **ret_alg, const char **ret_kid)
{
	json_t *typ = json_object_get(head, "typ"), *kid = json_object_get(head, "kid");

	*ret_alg = json_string_value(json_object_get(head, "alg"));
	*ret_kid = json_string_value(kid);
	return *ret_alg && (!kid || *ret_kid) && !json_object_get(head, "crit") &&
	       (!typ || is_one_of(json_string_value(typ), "JWT", "at+jwt") ||
		is_one_of(json_string_value(typ), "application/jwt", "application/at+jwt"));
}

static bool signed_by(const JwtKeys *k, Str token, const char *alg, const char *kid)
{
	bool ok = false;
	cjose_err e;

	for (unsigned i = 0; i < k->n && !ok; i++) {
		const JwtKey *key = &k->key[i];

		if (!fits(key, alg) || (kid && (!key->kid || strcmp(key->kid, kid) != 0)))
			continue;
		cjose_jws_t *jws = cjose_jws_import(token.p, token.n, &e);

		ok = jws && cjose_jws_verify(jws, key->jwk, &e);
		if (jws)
			cjose_jws_release(jws);
	}
	return ok;
}

static bool for_us(json_t *aud, const char *audience)
{
	json_t *one;
	size_t i;

	if (json_is_string(aud))
		return strcmp(json_string_value(aud), audience) == 0;
	json_array_foreach(aud, i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), audience) == 0)
			return true;
	return false;
}

/* Whether `name` is one of the names in a text. */
static bool has_name(const char *text, Str name)
{
	for (Str rest = str_c(text); rest.n;)
		if (str_eq(str_until(&rest, ' '), name))
			return true;
	return false;
}

/* RFC 8693's scope is a text; scp, as some issuers have it instead, a text or a list. */
static bool granted(json_t *claims, Str name)
{
	json_t *scope = json_object_get(claims, "scope"), *one;
	size_t i;

	if (!scope)
		scope = json_object_get(claims, "scp");
	json_array_foreach(scope, i, one)
		if (json_is_string(one) && str_is(name, json_string_value(one)))
			return true;
	return has_name(json_string_value(scope), name);
}

static bool in_scope(json_t *claims, const char *want)
{
	bool all = true;

	for (Str rest = str_c(want); rest.n;)
		all &= granted(claims, str_until(&rest, ' '));
	return all;
}

bool jwt_is_scope(const char *text)
{
	char before = ' ';

	for (const char *s = text; *s; before = *s++)
		if (*s == ' ' ? before == ' ' : *s < '!' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	return !*text || before != ' ';
}

static bool claims_ok(json_t *claims, const JwtWant *want, JwtSaid *ret)
{
	json_t *exp = json_object_get(claims, "exp"), *nbf = json_object_get(claims, "nbf");
	const char *iss = json_string_value(json_object_get(claims, "iss"));
	const char *sub = json_string_value(json_object_get(claims, "sub"));
	double now = (double)want->now;

	if (!iss || strcmp(iss, want->issuer) != 0 || !for_us(json_object_get(claims, "aud"), want->audience))
		return false;
	if (!json_is_number(exp) || now > json_number_value(exp) + JWT_LEEWAY_S)
		return false;
	if (nbf && (!json_is_number(nbf) || now < json_number_value(nbf) - JWT_LEEWAY_S))
		return false;
	if (!sub || !sub[0] || strlen(sub) >= JWT_SUBJECT)
		return false;
	strcpy(ret->subject, sub);
	ret->in_scope = in_scope(claims, want->scope);
	return true;
}

/* Three parts in base64url and nothing else: cjose asserts where others would refuse. */
static bool parts_of(Str token, Str ret_part[3])
{
	const char *end = token.p + token.n, *p = token.p;

	for (int i = 0; i < 3; i++) {
		const char *begin = p;

		while (p < end && ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '_'))
			p++;
		ret_part[i] = (Str){ begin, (size_t)(p - begin) };
		if (p == begin || ret_part[i].n % 4 == 1 || (i < 2 ? p == end || *p != '.' : p != end))
			return false;
		p++;
	}
	return true;
}

bool jwt_check(const JwtKeys *k, Str token, const JwtWant *want, JwtSaid *ret)
{
	json_t *head = NULL, *claims = NULL;
	const char *alg, *kid;
	bool ok = false;
	Str p[3];

	if (token.n <= JWT_MOST && parts_of(token, p)) {
		head = part(p[0]);
		claims = part(p[1]);
	}
	if (head && claims && head_ok(head, &alg, &kid) && signed_by(k, token, alg, kid))
		ok = claims_ok(claims, want, ret);
	json_decref(head);
	json_decref(claims);
	return ok;
}
