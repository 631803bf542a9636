/* SPDX-License-Identifier: Apache-2.0
 *
 * requestState: what a repeated request needs to go on, kept by the client.  It is JSON
 * with an HMAC-SHA256 before it, both in base64url; inside stand who asked, what, and
 * until when it is good, so that nobody uses another's, for something else, or late.
 */
#include "base/base64.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "mcp/aside.h"
#include "mcp/rpc_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RFC 2104 */
static Hash hmac(const uint8_t key[32], Bytes text)
{
	uint8_t pad[64];
	Sha256 s;
	Hash inner;

	for (unsigned i = 0; i < sizeof pad; i++)
		pad[i] = (uint8_t)((i < 32 ? key[i] : 0) ^ 0x36);
	sha256_init(&s);
	sha256_add(&s, BYTES(pad, sizeof pad));
	sha256_add(&s, text);
	inner = sha256_done(&s);
	for (unsigned i = 0; i < sizeof pad; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&s);
	sha256_add(&s, BYTES(pad, sizeof pad));
	sha256_add(&s, BYTES(inner.b, sizeof inner.b));
	return sha256_done(&s);
}

/* What the request asks for: method and parameters but for those that change when it is repeated. */
static bool request_hash(const Call *c, char ret_text[SHA256_TEXT])
{
	json_t *p = json_copy(c->params);
	char *text;
	Sha256 s;

	if (!p)
		return false;
	json_object_del(p, "_meta");
	json_object_del(p, "inputResponses");
	json_object_del(p, "requestState");
	text = json_dumps(p, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(p);
	if (!text)
		return false;
	sha256_init(&s);
	sha256_add_sized(&s, BYTES(c->method, strlen(c->method)));
	sha256_add_sized(&s, BYTES(c->caller->name, strlen(c->caller->name)));
	sha256_add_sized(&s, BYTES(c->caller->session, strlen(c->caller->session)));
	sha256_add_sized(&s, BYTES(text, strlen(text)));
	hash_format(sha256_done(&s), ret_text);
	free(text);
	return true;
}

/* The names of what is asked for (new). */
static json_t *asked_keys(const Call *c)
{
	json_t *keys = json_object(), *v;
	const char *key;

	json_object_foreach(c->inside->asked, key, v)
		json_object_set_new(keys, key, json_true());
	return keys;
}

char *mrtr_seal(const Call *c)
{
	char request[SHA256_TEXT], nonce[STATE_NONCE], *text = NULL, *out = NULL;
	json_t *all = NULL;
	size_t n;
	Hash h;

	if (request_hash(c, request) && aside_random(nonce, STATE_NONCE / 2))
		all = json_pack("{s:s, s:s, s:I, s:o*, s:O*, s:O*}", "request", request, "nonce", nonce, "until",
				(json_int_t)aside_now_s() + LIMIT_MCP_STATE_AGE, "asked", asked_keys(c), "answers", c->inside->used,
				"state", c->inside->new_state ? c->inside->new_state : c->inside->state);
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	n = text ? strlen(text) : 0;
	out = text && n < LIMIT_MCP_STATE / 2 ? malloc((n + sizeof h.b) * 4 / 3 + 8) : NULL;
	if (out) {
		h = hmac(c->mcp->secret, BYTES(text, n));
		base64url(out + base64url(out, BYTES(h.b, sizeof h.b)), BYTES(text, n));
	}
	free(text);
	return out;
}

enum { MAC_TEXT = BASE64_TEXT(SHA256_BYTES) };

static bool same_mac(const uint8_t *a, const uint8_t *b)
{
	uint8_t d = 0;

	for (unsigned i = 0; i < SHA256_BYTES; i++)
		d |= a[i] ^ b[i];
	return d == 0;
}

/* The object inside, or NULL. */
static json_t *unseal(const Mcp *m, const char *text)
{
	size_t n = strlen(text);
	uint8_t mac[SHA256_BYTES + 1], *inside;
	json_t *all = NULL;
	ssize_t len;

	if (n <= MAC_TEXT || n > LIMIT_MCP_STATE || unbase64url(mac, (Str){ text, MAC_TEXT }) != SHA256_BYTES)
		return NULL;
	inside = malloc(n);
	len = inside ? unbase64url(inside, (Str){ text + MAC_TEXT, n - MAC_TEXT }) : -1;
	if (len > 0 && same_mac(mac, hmac(m->secret, BYTES(inside, (size_t)len)).b))
		all = json_loadb((const char *)inside, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
	free(inside);
	return all;
}

static bool take_state(Call *c, const char *text, json_t **ret_asked)
{
	json_t *all = unseal(c->mcp, text);
	const char *request = json_string_value(json_object_get(all, "request"));
	const char *nonce = json_string_value(json_object_get(all, "nonce"));
	json_int_t until = json_integer_value(json_object_get(all, "until"));
	char mine[SHA256_TEXT];
	bool ok = request && nonce && request_hash(c, mine) && strcmp(mine, request) == 0 && until >= aside_now_s();

	if (ok) {
		snprintf(c->inside->nonce, sizeof c->inside->nonce, "%s", nonce);
		c->inside->state_until = until;
		c->inside->state = json_incref(json_object_get(all, "state"));
		c->inside->answers = json_incref(json_object_get(all, "answers"));
		*ret_asked = json_incref(json_object_get(all, "asked"));
	}
	json_decref(all);
	return ok;
}

bool call_state_once(Call *c)
{
	struct UsedState *used = c->mcp->sessions->used, *place = NULL;
	int64_t now = aside_now_s();
	bool first = true;
	unsigned his = 0;

	if (!c->inside->nonce[0])
		return false;
	pthread_mutex_lock(&c->mcp->sessions->lock);
	for (unsigned i = 0; i < LIMIT_MCP_USED_STATES; i++) {
		if (used[i].until < now) {
			place = &used[i];
			continue;
		}
		first = first && strcmp(used[i].nonce, c->inside->nonce) != 0;
		his += strcmp(used[i].caller, c->caller->session) == 0;
	}
	first = first && place && his < LIMIT_MCP_USED_STATES_CALLER; /* there is room for the others, too */
	if (first) {
		memcpy(place->nonce, c->inside->nonce, sizeof place->nonce);
		memcpy(place->caller, c->caller->session, sizeof place->caller);
		place->until = c->inside->state_until;
	}
	pthread_mutex_unlock(&c->mcp->sessions->lock);
	return first;
}

/* Into the answers: all, or beside a state those that went with it. */
static bool take_answers(Call *c, json_t *responses, json_t *asked)
{
	const char *key;
	json_t *v;

	if (responses && !json_is_object(responses))
		return false;
	if (!c->inside->answers)
		c->inside->answers = json_object();
	json_object_foreach(responses, key, v) {
		if (!json_is_object(v))
			return false;
		if (!asked || json_object_get(asked, key))
			json_object_set(c->inside->answers, key, v);
	}
	return true;
}

bool mrtr_open(Call *c)
{
	json_t *text = json_object_get(c->params, "requestState"), *asked = NULL;
	bool ok;

	if (text && (!json_is_string(text) || !take_state(c, json_string_value(text), &asked))) {
		call_error(c, RPC_PARAMS, "requestState is not of this request, or no longer good: ask again without it", NULL);
		return false;
	}
	ok = take_answers(c, json_object_get(c->params, "inputResponses"), asked);
	json_decref(asked);
	if (!ok)
		call_error(c, RPC_PARAMS, "inputResponses must be an object of objects", NULL);
	return ok;
}
