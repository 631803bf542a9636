/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/call.h"

#include "mcp/rpc_inside.h"

#include <math.h>
#include <poll.h>
#include <string.h>

static const char *const era_names[ERA_N] = { "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28" };

const char *era_name(Era e)
{
	return e < ERA_N ? era_names[e] : "?";
}

bool era_parse(const char *text, Era *ret_e)
{
	for (Era e = 0; e < ERA_N; e++)
		if (text && strcmp(text, era_names[e]) == 0) {
			*ret_e = e;
			return true;
		}
	return false;
}

bool call_is_legacy(const Call *c)
{
	return c->era < ERA_2026_07_28;
}

bool call_cancelled(const Call *c)
{
	struct pollfd p = { .fd = c->cancel_fd, .events = POLLIN };

	return c->cancel_fd >= 0 && poll(&p, 1, 0) > 0 && p.revents;
}

static bool notify(Call *c, const char *method, json_t *params_stolen)
{
	json_t *m = json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params_stolen);

	if (m && call_cancelled(c)) {
		json_decref(m);
		return false;
	}
	return m && c->inside->link->send(c->inside->link, m);
}

bool call_progress(Call *c, double progress, double total, const char *message)
{
	json_t *p;

	if (call_cancelled(c))
		return false;
	if (!c->inside->token || !(progress > c->inside->progress))
		return true;
	c->inside->progress = progress;
	p = json_pack("{s:O, s:o}", "progressToken", c->inside->token, "progress",
		      progress == floor(progress) && fabs(progress) < 1e15 ? json_integer((json_int_t)progress) : json_real(progress));
	if (total >= 0)
		json_object_set_new(p, "total", total == floor(total) && total < 1e15 ? json_integer((json_int_t)total) : json_real(total));
	if (message)
		json_object_set_new(p, "message", json_string(message));
	return notify(c, "notifications/progress", p);
}

bool call_log(Call *c, const char *level, const char *logger, json_t *data_stolen)
{
	json_t *p;

	if (level_parse(level) < c->inside->level) {
		json_decref(data_stolen);
		return true;
	}
	p = json_pack("{s:s, s:o}", "level", level, "data", data_stolen);
	if (logger)
		json_object_set_new(p, "logger", json_string(logger));
	return notify(c, "notifications/message", p);
}

bool call_can_elicit(const Call *c)
{
	json_t *e = json_object_get(c->client_caps, "elicitation");

	/* without a word of which, forms are meant */
	return json_is_object(e) && (json_object_get(e, "form") || !json_object_get(e, "url")) && c->era > ERA_2025_03_26;
}

json_t *call_elicit(Call *c, const char *key, const char *message, json_t *schema_stolen, json_t *state_stolen)
{
	json_t *p = json_pack("{s:s, s:o}", "message", message, "requestedSchema", schema_stolen);

	if (!p) { /* no question that nobody can read */
		json_decref(state_stolen);
		return call_error(c, RPC_INTERNAL, "the question is no text", NULL);
	}
	if (c->era >= ERA_2025_11_25)
		json_object_set_new(p, "mode", json_string("form"));
	return call_ask(c, key, "elicitation/create", p, state_stolen);
}

json_t *call_no_resource(Call *c, const char *uri)
{
	return call_error(c, call_is_legacy(c) ? RPC_NO_RESOURCE : RPC_PARAMS, "there is no such resource", json_pack("{s:s}", "uri", uri));
}

json_t *call_state(const Call *c)
{
	return c->inside->state;
}

/* Which capability a client must have said for a request of ours. */
static const char *capability_of(const char *method)
{
	return strcmp(method, "elicitation/create") == 0     ? "elicitation"
	       : strcmp(method, "sampling/createMessage") == 0 ? "sampling"
	       : strcmp(method, "roots/list") == 0	     ? "roots"
							     : NULL;
}

static json_t *ask_legacy(Call *c, const char *method, json_t *params_stolen)
{
	json_t *answer = NULL, *result;

	if (!c->inside->session) {
		json_decref(params_stolen);
		return NULL;
	}
	answer = session_ask(c->mcp, c->inside->session, c->inside->link, c->cancel_fd, method, params_stolen);
	result = json_incref(json_object_get(answer, "result"));
	json_decref(answer);
	if (!json_is_object(result)) {
		json_decref(result);
		return NULL;
	}
	return result;
}

json_t *call_ask(Call *c, const char *key, const char *method, json_t *params_stolen, json_t *state_stolen)
{
	const char *cap = capability_of(method);
	json_t *answer, *question;

	if (!cap || !json_is_object(json_object_get(c->client_caps, cap))) {
		json_decref(params_stolen);
		json_decref(state_stolen);
		return cap ? call_error(c, RPC_CAPABILITY, "the client lacks a capability that this needs",
					json_pack("{s:{s:{}}}", "requiredCapabilities", cap)) : NULL;
	}
	if (call_is_legacy(c)) {
		json_decref(state_stolen);
		return ask_legacy(c, method, params_stolen);
	}
	/* what was asked with a state is answered beside it: nobody answers unasked */
	answer = !state_stolen || c->inside->state ? json_object_get(c->inside->answers, key) : NULL;
	if (answer) {
		json_decref(params_stolen);
		json_decref(state_stolen);
		if (!c->inside->used)
			c->inside->used = json_object();
		json_object_set(c->inside->used, key, answer);
		return json_incref(answer);
	}
	question = json_pack("{s:s, s:o}", "method", method, "params", params_stolen ? params_stolen : json_object());
	if (!c->inside->asked)
		c->inside->asked = json_object();
	json_object_set_new(c->inside->asked, key, question);
	if (state_stolen) {
		json_decref(c->inside->new_state);
		c->inside->new_state = state_stolen;
	}
	c->pending = true;
	return NULL;
}

json_t *call_error(Call *c, int code, const char *message, json_t *data_stolen)
{
	json_t *e = json_pack("{s:i, s:s}", "code", code, "message", message);

	if (!e) /* no UTF-8 */
		e = json_pack("{s:i, s:s}", "code", code, "message", "error");
	if (data_stolen)
		json_object_set_new(e, "data", data_stolen);
	json_decref(c->inside->error);
	c->inside->error = e;
	return NULL;
}
