/* SPDX-License-Identifier: Apache-2.0
 *
 * The handlers of the protocol's methods (methods.def).
 */
#include "base/limits.h"
#include "mcp/rpc_inside.h"
#include "mcp/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_TTL_MS 300000 /* a list changes with the binary alone */

static json_t *bad_params(Call *c, const char *text)
{
	return call_error(c, RPC_PARAMS, text, NULL);
}

static const char *param_text(Call *c, const char *name)
{
	return json_string_value(json_object_get(c->params, name));
}

json_t *era_list(void)
{
	json_t *l = json_array();

	for (Era e = ERA_N; e-- > 0;)
		json_array_append_new(l, json_string(era_name(e)));
	return l;
}

static const char *const levels[] = { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" };

int level_parse(const char *text)
{
	for (int i = 0; text && i < (int)(sizeof levels / sizeof *levels); i++)
		if (strcmp(text, levels[i]) == 0)
			return i;
	return -1;
}

/* ---- who we are ---- */

json_t *server_info(const Mcp *m, Era era)
{
	json_t *i = json_pack("{s:s, s:s}", "name", m->name, "version", m->version);

	if (m->title && era >= ERA_2025_06_18)
		json_object_set_new(i, "title", json_string(m->title));
	return i;
}

/* A capability, with what of it may change. */
static json_t *capability(const Mcp *m, bool subscribe)
{
	json_t *c = json_object();

	if (m->changes)
		json_object_set_new(c, "listChanged", json_true());
	if (m->changes && subscribe)
		json_object_set_new(c, "subscribe", json_true());
	return c;
}

json_t *server_capabilities(const Mcp *m, Era era)
{
	json_t *caps = json_pack("{s:o, s:{}}", "tools", capability(m, false), "logging");
	json_t *e = m->extensions && era >= ERA_2026_07_28 ? json_loads(m->extensions, 0, NULL) : NULL;
	bool reads = m->resources && m->resources->uri, prompted = m->prompts && m->prompts->name;

	if (reads)
		json_object_set_new(caps, "resources", capability(m, true));
	if (prompted)
		json_object_set_new(caps, "prompts", capability(m, false));
	if (reads || prompted)
		json_object_set_new(caps, "completions", json_object());
	if (e)
		json_object_set_new(caps, "extensions", e);
	return caps;
}

static json_t *initialize(Call *c)
{
	json_t *client = json_object_get(c->params, "clientInfo"), *caps = json_object_get(c->params, "capabilities"), *r;
	const char *version = param_text(c, "protocolVersion");
	RpcSession *s = c->inside->session;
	Era era;

	if (!version || !json_is_object(client) || !json_is_object(caps))
		return bad_params(c, "initialize needs protocolVersion, capabilities and clientInfo");
	/* an unknown one: the newest that we have with a handshake, and the client decides */
	if (!era_parse(version, &era) || era >= ERA_2026_07_28)
		era = ERA_2025_11_25;
	pthread_mutex_lock(&c->mcp->sessions->lock);
	s->era = era;
	s->legacy_seen = true;
	json_decref(s->caps);
	s->caps = json_deep_copy(caps);
	pthread_mutex_unlock(&c->mcp->sessions->lock);
	c->era = era;
	if (!s->listed)
		changes_pipe_begin(c->mcp, s, c->inside->link);
	r = json_pack("{s:s, s:o, s:o}", "protocolVersion", era_name(era), "capabilities", server_capabilities(c->mcp, era),
		      "serverInfo", server_info(c->mcp, era));
	if (c->mcp->instructions)
		json_object_set_new(r, "instructions", json_string(c->mcp->instructions));
	return r;
}

static json_t *discover(Call *c)
{
	json_t *r = json_pack("{s:o, s:o, s:i, s:s}", "supportedVersions", era_list(), "capabilities",
			      server_capabilities(c->mcp, c->era), "ttlMs", LIST_TTL_MS, "cacheScope", "public");

	if (c->mcp->instructions)
		json_object_set_new(r, "instructions", json_string(c->mcp->instructions));
	return r;
}

static json_t *ping(Call *c)
{
	(void)c;
	return json_object();
}

static json_t *set_level(Call *c)
{
	int level = level_parse(param_text(c, "level"));

	if (level < 0)
		return bad_params(c, "there is no such log level");
	pthread_mutex_lock(&c->mcp->sessions->lock);
	c->inside->session->level = level;
	pthread_mutex_unlock(&c->mcp->sessions->lock);
	return json_object();
}

/* ---- lists ---- */

/* A page of `all` from the row that the cursor names. */
static json_t *page(Call *c, const char *key, json_t *all)
{
	json_t *cursor = json_object_get(c->params, "cursor"), *rows = json_array(), *r;
	size_t n = json_array_size(all), from = 0;
	char next[32];

	if (cursor) {
		unsigned long v = 0;
		int used = 0;

		if (!json_is_string(cursor) || sscanf(json_string_value(cursor), "row-%6lu%n", &v, &used) != 1 ||
		    json_string_value(cursor)[used] || v == 0 || v >= n) {
			json_decref(all);
			json_decref(rows);
			return bad_params(c, "there is no such cursor");
		}
		from = v;
	}
	for (size_t i = from; i < n && i < from + LIMIT_MCP_PAGE; i++)
		json_array_append(rows, json_array_get(all, i));
	json_decref(all);
	r = json_pack("{s:o}", key, rows);
	if (from + LIMIT_MCP_PAGE < n) {
		snprintf(next, sizeof next, "row-%zu", from + LIMIT_MCP_PAGE);
		json_object_set_new(r, "nextCursor", json_string(next));
	}
	if (!call_is_legacy(c)) {
		json_object_set_new(r, "ttlMs", json_integer(LIST_TTL_MS));
		json_object_set_new(r, "cacheScope", json_string("public"));
	}
	return r;
}

static json_t *tool_row(const Tool *t, Era era)
{
	json_t *row = json_pack("{s:s, s:s, s:o*}", "name", t->name, "description", t->description, "inputSchema",
				json_loads(t->input_schema, 0, NULL));

	if (era >= ERA_2025_06_18) {
		if (t->title)
			json_object_set_new(row, "title", json_string(t->title));
		if (t->output_schema)
			json_object_set_new(row, "outputSchema", json_loads(t->output_schema, 0, NULL));
	}
	json_object_set_new(row, "annotations",
			    json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", !!(t->annotations & TOOL_READ_ONLY),
				      "destructiveHint", !!(t->annotations & TOOL_DESTRUCTIVE), "idempotentHint",
				      !!(t->annotations & TOOL_IDEMPOTENT), "openWorldHint", !!(t->annotations & TOOL_OPEN_WORLD)));
	return row;
}

static json_t *tools_list(Call *c)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < c->mcp->tools_n; i++)
		json_array_append_new(all, tool_row(&c->mcp->tools[i], c->era));
	return page(c, "tools", all);
}

static json_t *resource_rows(Call *c, bool templates)
{
	json_t *all = json_array();

	for (const Resource *r = c->mcp->resources; r && r->uri; r++) {
		json_t *row;

		if (r->is_template != templates)
			continue;
		row = json_pack("{s:s, s:s}", templates ? "uriTemplate" : "uri", r->uri, "name", r->name);
		if (r->title && c->era >= ERA_2025_06_18)
			json_object_set_new(row, "title", json_string(r->title));
		if (r->description)
			json_object_set_new(row, "description", json_string(r->description));
		if (r->mime)
			json_object_set_new(row, "mimeType", json_string(r->mime));
		json_array_append_new(all, row);
	}
	return all;
}

static json_t *resources_list(Call *c)
{
	return page(c, "resources", resource_rows(c, false));
}

static json_t *templates_list(Call *c)
{
	return page(c, "resourceTemplates", resource_rows(c, true));
}

static json_t *prompts_list(Call *c)
{
	json_t *all = json_array();

	for (const Prompt *p = c->mcp->prompts; p && p->name; p++) {
		json_t *row = json_pack("{s:s}", "name", p->name), *args = json_array();

		if (p->title && c->era >= ERA_2025_06_18)
			json_object_set_new(row, "title", json_string(p->title));
		if (p->description)
			json_object_set_new(row, "description", json_string(p->description));
		for (unsigned i = 0; i < p->nargs; i++)
			json_array_append_new(args, json_pack("{s:s, s:s*, s:b}", "name", p->arg[i].name, "description",
							      p->arg[i].description, "required", p->arg[i].required));
		json_object_set_new(row, "arguments", args);
		json_array_append_new(all, row);
	}
	return page(c, "prompts", all);
}

/* ---- tools ---- */

const Tool *server_tool(const Mcp *m, const char *name)
{
	for (unsigned i = 0; name && i < m->tools_n; i++)
		if (strcmp(m->tools[i].name, name) == 0)
			return &m->tools[i];
	return NULL;
}

static json_t *tools_call(Call *c)
{
	json_t *args = json_object_get(c->params, "arguments"), *none = NULL, *r = NULL;
	const char *name = param_text(c, "name");
	const Tool *t = server_tool(c->mcp, name);
	ToolResult got = { 0 };

	if (!name)
		return bad_params(c, "tools/call needs the name of a tool");
	if (!t || (args && !json_is_object(args))) {
		runs_audit(c, t ? t->name : "none of this name", NULL, "refused", NULL);
		return bad_params(c, t ? "arguments must be an object" : "there is no tool of this name: tools/list tells those there are");
	}
	if (!args)
		args = none = json_object();
	if (t->call(c, args, &got) && !c->pending && !c->inside->error) {
		r = json_pack("{s:O}", "content", got.content ? got.content : args);
		if (!got.content)
			json_object_set_new(r, "content", json_array());
		if (got.structured && c->era >= ERA_2025_06_18)
			json_object_set(r, "structuredContent", got.structured);
		if (got.is_error)
			json_object_set_new(r, "isError", json_true());
	}
	json_decref(got.content);
	json_decref(got.structured);
	json_decref(none);
	return r;
}

/* ---- resources ---- */

/* What {name} of the template stands for in uri, or NULL: no match.  To be freed. */
static char *template_var(const char *pattern, const char *uri)
{
	const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
	size_t head = open ? (size_t)(open - pattern) : 0, tail = close ? strlen(close + 1) : 0, n = strlen(uri);

	if (!close || n <= head + tail || strncmp(pattern, uri, head) != 0 || strcmp(close + 1, uri + n - tail) != 0)
		return NULL;
	return strndup(uri + head, n - head - tail);
}

static const Resource *find_resource(const Mcp *m, const char *uri, char **ret_var)
{
	*ret_var = NULL;
	for (const Resource *r = m->resources; r && r->uri; r++)
		if (!r->is_template && strcmp(r->uri, uri) == 0)
			return r;
	for (const Resource *r = m->resources; r && r->uri; r++)
		if (r->is_template && (*ret_var = template_var(r->uri, uri)))
			return r;
	return NULL;
}

bool server_has_resource(const Mcp *m, const char *uri)
{
	char *var;
	const Resource *r = find_resource(m, uri, &var);

	free(var);
	return r != NULL;
}

static json_t *resources_read(Call *c)
{
	const char *uri = param_text(c, "uri");
	const Resource *r;
	json_t *contents;
	char *var;

	if (!uri)
		return bad_params(c, "resources/read needs the uri of a resource");
	r = find_resource(c->mcp, uri, &var);
	if (!r)
		return call_no_resource(c, uri);
	contents = r->read(c, uri, var);
	free(var);
	return contents ? json_pack("{s:o}", "contents", contents) : NULL;
}

static json_t *subscription(Call *c, bool on)
{
	const char *uri = param_text(c, "uri");
	RpcSession *s = c->inside->session;
	bool ok = true;

	if (!c->mcp->changes)
		return call_error(c, RPC_NO_METHOD, "nothing here changes: there is nothing to subscribe to", NULL);
	if (!uri)
		return bad_params(c, "which resource?");
	if (on && !server_has_resource(c->mcp, uri))
		return call_no_resource(c, uri);
	pthread_mutex_lock(&c->mcp->sessions->lock);
	if (!on)
		json_object_del(s->subscribed, uri);
	else if ((ok = json_object_size(s->subscribed) < LIMIT_MCP_SUBSCRIPTIONS))
		json_object_set_new(s->subscribed, uri, json_true());
	pthread_mutex_unlock(&c->mcp->sessions->lock);
	return ok ? json_object() : bad_params(c, "too many subscriptions");
}

static json_t *subscribe(Call *c)
{
	return subscription(c, true);
}

static json_t *unsubscribe(Call *c)
{
	return subscription(c, false);
}

/* ---- prompts and completion ---- */

static const Prompt *find_prompt(const Mcp *m, const char *name)
{
	for (const Prompt *p = m->prompts; p && p->name && name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static json_t *prompts_get(Call *c)
{
	json_t *args = json_object_get(c->params, "arguments"), *none = NULL, *r;
	const Prompt *p = find_prompt(c->mcp, param_text(c, "name"));

	if (!p)
		return bad_params(c, "there is no prompt of this name: prompts/list tells those there are");
	if (args && !json_is_object(args))
		return bad_params(c, "arguments must be an object");
	if (!args)
		args = none = json_object();
	for (unsigned i = 0; i < p->nargs; i++) {
		json_t *v = json_object_get(args, p->arg[i].name);

		if ((v && !json_is_string(v)) || (!v && p->arg[i].required)) {
			json_decref(none);
			return call_error(c, RPC_PARAMS, "a prompt's arguments are strings, and the required ones must be there",
					  json_pack("{s:s}", "argument", p->arg[i].name));
		}
	}
	r = p->get(c, args);
	json_decref(none);
	return r;
}

static json_t *complete_prompt(Call *c, const char *prompt, const char *arg, const char *begin)
{
	const Prompt *p = find_prompt(c->mcp, prompt);

	if (!p)
		return bad_params(c, "there is no prompt of this name");
	for (unsigned i = 0; i < p->nargs; i++)
		if (strcmp(p->arg[i].name, arg) == 0)
			return p->arg[i].complete ? p->arg[i].complete(c, begin) : json_array();
	return bad_params(c, "the prompt has no argument of this name");
}

static json_t *complete_resource(Call *c, const char *uri, const char *begin)
{
	for (const Resource *r = c->mcp->resources; r && r->uri; r++)
		if (strcmp(r->uri, uri) == 0)
			return r->complete ? r->complete(c, begin) : json_array();
	return bad_params(c, "there is no resource of this URI or template");
}

static json_t *complete(Call *c)
{
	json_t *ref = json_object_get(c->params, "ref"), *arg = json_object_get(c->params, "argument"), *values, *some;
	const char *type = json_string_value(json_object_get(ref, "type")), *name = json_string_value(json_object_get(ref, "name"));
	const char *uri = json_string_value(json_object_get(ref, "uri"));
	const char *what = json_string_value(json_object_get(arg, "name")), *begin = json_string_value(json_object_get(arg, "value"));
	size_t total;

	if (!type || !what || !begin)
		return bad_params(c, "completion/complete needs ref and argument");
	if (strcmp(type, "ref/prompt") == 0 && name)
		values = complete_prompt(c, name, what, begin);
	else if (strcmp(type, "ref/resource") == 0 && uri)
		values = complete_resource(c, uri, begin);
	else
		return bad_params(c, "a ref is a ref/prompt with a name or a ref/resource with a uri");
	if (!values)
		return NULL;
	total = json_array_size(values);
	some = json_array();
	for (size_t i = 0; i < total && i < 100; i++)
		json_array_append(some, json_array_get(values, i));
	json_decref(values);
	return json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", some, "total", (json_int_t)total, "hasMore", total > 100);
}

static const Method methods[] = {
#define METHOD(name, fn, flags, param) { name, fn, flags, param },
#include "mcp/methods.def"
#undef METHOD
	{ 0 },
};

static const Method *find(const Method *rows, const char *name)
{
	for (const Method *r = rows; r && r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

const Method *method_find(const Mcp *m, const char *name)
{
	const Method *own = find(methods, name);

	return own ? own : find(m->methods, name);
}
