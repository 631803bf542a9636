/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP's headers against the body that they repeat, so that who routes by headers and we,
 * who go by the body, never mean different things.
 */
#include "base/base64.h"
#include "mcp/rpc_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRAP_HEAD "=?base64?"
#define WRAP_TAIL "?="

/* NULL: it is no base64.  To be freed. */
static char *unwrapped(Str text, size_t *ret_n)
{
	char *out = malloc(text.n + 1);
	ssize_t n = out ? unbase64((uint8_t *)out, text) : -1;

	if (n < 0) {
		free(out);
		return NULL;
	}
	out[n] = 0;
	*ret_n = (size_t)n;
	return out;
}

/* A header's value without blanks around it and out of its wrapping; NULL: what it holds no
 * header may hold, or no wrapping. */
static char *unwrap(const char *text, size_t *ret_n)
{
	size_t n = strlen(text), head = sizeof WRAP_HEAD - 1, tail = sizeof WRAP_TAIL - 1;

	while (n && (*text == ' ' || *text == '\t')) {
		text++;
		n--;
	}
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
			return NULL;
	if (n >= head + tail && memcmp(text, WRAP_HEAD, head) == 0 && memcmp(text + n - tail, WRAP_TAIL, tail) == 0)
		return unwrapped((Str){ text + head, n - head - tail }, ret_n);
	*ret_n = n;
	return strndup(text, n);
}

static bool same_text(const char *header, const char *body, size_t n)
{
	size_t got = 0;
	char *text = unwrap(header, &got);
	bool ok = text && got == n && memcmp(text, body, n) == 0;

	free(text);
	return ok;
}

static bool same_number(const char *header, json_t *v)
{
	size_t n = 0;
	char *text = unwrap(header, &n), *end;
	bool ok = false;
	double d;

	if (text && n && strchr("-0123456789", text[0]) && strspn(text, "-+.eE0123456789") == n) {
		d = strtod(text, &end);
		ok = (size_t)(end - text) == n && d == json_number_value(v);
		/* beyond a double's exactness the digits decide */
		if (ok && json_is_integer(v) && (d > 9007199254740991.0 || d < -9007199254740991.0)) {
			char exact[32];

			snprintf(exact, sizeof exact, "%lld", (long long)json_integer_value(v));
			ok = strcmp(exact, text) == 0;
		}
	}
	free(text);
	return ok;
}

static bool same(const char *header, json_t *v)
{
	const char *word;

	switch (json_typeof(v)) {
	case JSON_STRING:
		return same_text(header, json_string_value(v), json_string_length(v));
	case JSON_INTEGER:
	case JSON_REAL:
		return same_number(header, v);
	case JSON_TRUE:
	case JSON_FALSE:
		word = json_is_true(v) ? "true" : "false";
		return same_text(header, word, strlen(word));
	default:
		return false; /* nothing else may be repeated in a header */
	}
}

/* The values that this tool's schema wants repeated, wherever a chain of properties leads. */
static bool params_agree(const RpcHttp *h, json_t *schema, json_t *args, HeadName ret_name)
{
	json_t *properties = json_object_get(schema, "properties"), *p;
	const char *key;

	json_object_foreach(properties, key, p) {
		const char *name = json_string_value(json_object_get(p, "x-mcp-header"));
		json_t *v = json_object_get(args, key);

		if (name) {
			const char *header = h->param ? h->param(h->ctx, name) : NULL;

			snprintf(ret_name, sizeof(HeadName), "Mcp-Param-%.48s", name);
			if (!v || json_is_null(v) ? header != NULL : !header || !same(header, v))
				return false;
		}
		if (json_object_get(p, "properties") && !params_agree(h, p, v, ret_name))
			return false;
	}
	return true;
}

static bool tool_agrees(const RpcIn *in, json_t *params, HeadName ret_name)
{
	const Tool *t = server_tool(in->mcp, json_string_value(json_object_get(params, "name")));
	json_t *schema;
	bool ok;

	if (!t || !strstr(t->input_schema, "x-mcp-header"))
		return true;
	schema = json_loads(t->input_schema, 0, NULL);
	ok = params_agree(in->http, schema, json_object_get(params, "arguments"), ret_name);
	json_decref(schema);
	return ok;
}

bool head_agrees(const RpcIn *in, const Method *m, json_t *params, const char *method, HeadName ret_name)
{
	const RpcHttp *h = in->http;
	json_t *name = m && m->name_param ? json_object_get(params, m->name_param) : NULL;

	snprintf(ret_name, sizeof(HeadName), "Mcp-Method");
	if (!h->method || !same_text(h->method, method, strlen(method)))
		return false;
	snprintf(ret_name, sizeof(HeadName), "Mcp-Name");
	if (m && m->name_param && (name ? !h->name || !same(h->name, name) : h->name != NULL))
		return false;
	return !m || strcmp(m->name, "tools/call") != 0 || tool_agrees(in, params, ret_name);
}
