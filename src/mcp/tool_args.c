/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tool_args.h"

#include "base/addr.h"
#include "base/hostname.h"
#include "mcp/tool_probe.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "Example: "

/* What stands behind it in the description. */
static const char *tool_example(const Tool *t)
{
	const char *at = strstr(t->description, EXAMPLE);

	return at ? at + strlen(EXAMPLE) : "{}";
}

bool args_refuse(const Tool *t, ToolResult *ret_r, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return tool_refuse(ret_r, "%s. Nothing was run. A right call: %s %s", what, t->name, tool_example(t));
}

/* ---- the schema's words ---- */

static bool is_type(const char *type, const json_t *v)
{
	return strcmp(type, "string") == 0    ? json_is_string(v)
	       : strcmp(type, "integer") == 0 ? json_is_integer(v)
	       : strcmp(type, "number") == 0  ? json_is_number(v)
	       : strcmp(type, "boolean") == 0 ? json_is_boolean(v)
	       : strcmp(type, "array") == 0   ? json_is_array(v)
					      : json_is_object(v);
}

/* "type", or "anyOf" with a type each. */
static bool of_types(json_t *schema, const json_t *v)
{
	json_t *type = json_object_get(schema, "type"), *any = json_object_get(schema, "anyOf"), *one;
	size_t i;

	if (type)
		return is_type(json_string_value(type), v);
	json_array_foreach (any, i, one)
		if (of_types(one, v))
			return true;
	return !any;
}

static char *dumped(const json_t *v)
{
	return json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
}

static bool conforms(const Tool *t, const char *path, json_t *schema, json_t *v, ToolResult *ret_r);

static bool in_enum(const Tool *t, const char *path, const json_t *words, const json_t *v, ToolResult *ret_r)
{
	const json_t *one;
	char *all;
	size_t i;

	json_array_foreach (words, i, one)
		if (json_equal(one, v))
			return true;
	all = dumped(words);
	args_refuse(t, ret_r, "%s is one of %s", path, all ? all : "few");
	free(all);
	return false;
}

static bool in_range(const Tool *t, const char *path, json_t *schema, const json_t *v, ToolResult *ret_r)
{
	const json_t *lo = json_object_get(schema, "minimum"), *hi = json_object_get(schema, "maximum");
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || !lo || !hi || (n >= json_integer_value(lo) && n <= json_integer_value(hi)))
		return true;
	args_refuse(t, ret_r, "%s=%lld is out of range: %lld to %lld", path, (long long)n, (long long)json_integer_value(lo),
		    (long long)json_integer_value(hi));
	return false;
}

static bool of_length(const Tool *t, const char *path, json_t *schema, const json_t *v, ToolResult *ret_r)
{
	const json_t *lo = json_object_get(schema, "minLength"), *hi = json_object_get(schema, "maxLength");
	size_t n = json_string_length(v);

	if (!json_is_string(v))
		return true;
	if (memchr(json_string_value(v), 0, n)) {
		args_refuse(t, ret_r, "%s has a zero character in it", path);
		return false;
	}
	if ((lo && n < (size_t)json_integer_value(lo)) || (hi && n > (size_t)json_integer_value(hi))) {
		args_refuse(t, ret_r, "%s has %zu bytes: %lld to %lld are taken", path, n, (long long)json_integer_value(lo),
			    (long long)json_integer_value(hi));
		return false;
	}
	return true;
}

/* 4.0 is an integer too (JSON Schema Core 2020-12, 6.3): it is one from here on. */
static json_t *as_integer(json_t *in, const char *key, json_t *row, json_t *v)
{
	const double most = 9007199254740992; /* up to there a double is each integer */
	const char *type = json_string_value(json_object_get(row, "type"));
	double d = json_real_value(v);

	if (!json_is_real(v) || !type || strcmp(type, "integer") != 0 || d < -most || d > most || d != (double)(json_int_t)d)
		return v;
	json_object_set_new(in, key, json_integer((json_int_t)d));
	return json_object_get(in, key);
}

static bool members(const Tool *t, const char *path, json_t *schema, json_t *v, ToolResult *ret_r)
{
	json_t *rows = json_object_get(schema, "properties"), *rest = json_object_get(schema, "additionalProperties"), *one;
	const char *key;
	char name[160], *known;
	size_t i;

	json_array_foreach (json_object_get(schema, "required"), i, one)
		if (!json_object_get(v, json_string_value(one))) {
			args_refuse(t, ret_r, "%s is missing", json_string_value(one));
			return false;
		}
	json_object_foreach (v, key, one) {
		json_t *row = json_object_get(rows, key);

		snprintf(name, sizeof name, "%s%s%.64s", path, *path ? "." : "", key);
		if (!row)
			row = json_is_object(rest) ? rest : NULL;
		if (!row) {
			json_t *names = json_array();
			const char *k;
			json_t *x;

			json_object_foreach (rows, k, x)
				json_array_append_new(names, json_string(k));
			known = dumped(names);
			json_decref(names);
			args_refuse(t, ret_r, "there is no argument %s; there are %s", text_is_ours(name) ? name : "of this name", known ? known : "none");
			free(known);
			return false;
		}
		if (!conforms(t, name, row, as_integer(v, key, row, one), ret_r))
			return false;
	}
	return true;
}

static bool conforms(const Tool *t, const char *path, json_t *schema, json_t *v, ToolResult *ret_r)
{
	json_t *words = json_object_get(schema, "enum"), *type;

	if (words)
		return in_enum(t, path, words, v, ret_r);
	if (!of_types(schema, v)) {
		type = json_object_get(schema, "type");
		args_refuse(t, ret_r, "%s is to be %s%s", path, type ? "of type " : "a string, a number or a boolean", type ? json_string_value(type) : "");
		return false;
	}
	if (json_is_object(v) && !members(t, path, schema, v, ret_r))
		return false;
	return in_range(t, path, schema, v, ret_r) && of_length(t, path, schema, v, ret_r);
}

static pthread_once_t parsed = PTHREAD_ONCE_INIT;
static json_t *schemas; /* by a tool's name; nobody changes them */

static void parse_schemas(void)
{
	schemas = json_object();
	for (unsigned i = 0; i < tools_n; i++)
		json_object_set_new(schemas, tools[i].name, json_loads(tools[i].input_schema, 0, NULL));
}

static json_t *schema_of(const Tool *t)
{
	pthread_once(&parsed, parse_schemas);
	return json_object_get(schemas, t->name);
}

bool args_conform(const Tool *t, json_t *args, ToolResult *ret_r)
{
	return conforms(t, "", schema_of(t), args, ret_r);
}

/* The argument, else the schema's default, or NULL; borrowed. */
static const json_t *value_of(const Tool *t, json_t *args, const char *name)
{
	const json_t *v = json_object_get(args, name);

	return v ? v : json_object_get(json_object_get(json_object_get(schema_of(t), "properties"), name), "default");
}

int64_t args_int(const Tool *t, json_t *args, const char *name)
{
	return json_integer_value(value_of(t, args, name));
}

bool args_bool(const Tool *t, json_t *args, const char *name)
{
	return json_is_true(value_of(t, args, name));
}

const char *args_text(const Tool *t, json_t *args, const char *name)
{
	return json_string_value(value_of(t, args, name));
}

/* ---- addresses and names ---- */

const char *address_fault(const char *text)
{
	Ip ip;

	return ip_parse(str_c(text), &ip) ? NULL : "is no IPv4 or IPv6 address (four plain numbers without leading zeros; no zone, no prefix)";
}

const char *target_fault(const char *text)
{
	if (!address_fault(text))
		return NULL;
	if (strstr(text, "://"))
		return "is a URL: http_probe takes those, here the host alone is asked for";
	if (strchr(text, '/'))
		return "is a network or a path: one address or host name is asked for";
	if (host_ends_in_number(str_c(text)))
		return "is ambiguous: an IPv4 address has four numbers without leading zeros, and no host name ends in a number";
	return host_name_fault(str_c(text))
		       ? "is neither an address (four plain numbers, or IPv6 without zone) nor a host name; a port is an argument of its own"
		       : NULL;
}

const char *name_fault(const char *text)
{
	if (!address_fault(text))
		return "is an address: a name is asked for (of an address with type PTR: 4.3.20.10.in-addr.arpa)";
	return host_question_fault(str_c(text)) ? "is no host name (letters, digits, hyphens; without the last dot)" : NULL;
}

const char *url_fault(const char *text)
{
	const char *rest = strncmp(text, "http://", 7) == 0 ? text + 7 : strncmp(text, "https://", 8) == 0 ? text + 8 : NULL;
	char host[256];
	size_t n;
	uint64_t port;

	if (!rest)
		return "does not begin with http:// or https://";
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"<>\\^`{}|#", *c))
			return "has characters that a URL must escape as %XX";
	n = strcspn(rest, "/?");
	if (n >= sizeof host || memchr(rest, '@', n))
		return "has a user or a host that is too long";
	memcpy(host, rest, n);
	host[n] = 0;
	char *end = host[0] == '[' ? strchr(host, ']') : NULL, *colon = strrchr(end ? end : host, ':');

	if (colon && colon[1] && str_to_u64(str_c(colon + 1), 65535, &port) && port)
		*colon = 0;
	else if (colon)
		return "has a port that is none";
	if (end && !end[1]) {
		*end = 0;
		return strchr(host + 1, ':') ? address_fault(host + 1) : "has brackets around what is no IPv6 address";
	}
	return target_fault(host);
}
