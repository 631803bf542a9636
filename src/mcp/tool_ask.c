/* SPDX-License-Identifier: Apache-2.0
 *
 * A run on behalf of a tool: refusals with what helps, and the question to the client's
 * user where policy wants a person.
 */
#include "mcp/tool_args.h"
#include "mcp/tool_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

/* What the gate found, one sentence behind the other. */
static void findings(json_t *run, char *out, size_t size)
{
	size_t i, n = 0;
	json_t *note;

	out[0] = 0;
	json_array_foreach(json_object_get(run, "notes"), i, note) {
		int len = snprintf(out + n, size - n, "%s%s", n ? "; " : "", json_string_value(note));

		if (len < 0 || (size_t)len >= size - n)
			return;
		n += (size_t)len;
	}
}

bool probe_failed(Call *c, const Tool *t, json_t *run, ToolResult *ret_r)
{
	json_t *error = json_object_get(run, "error"), *diag = json_array_get(json_object_get(run, "diagnostics"), 0);
	const char *label = text_of(error, "label"), *said = text_of(diag, "message");
	const char *hash = text_of(json_object_get(run, "approval"), "hash");
	json_int_t code = json_integer_value(json_object_get(run, "exit"));
	const char *why = label && strcmp(label, "content") == 0 ? "an error in words of a peer, which are left out" : text_of(error, "message");

	char found[1000];

	(void)c;
	findings(run, found, sizeof found);
	if (hash)
		return tool_refuse(ret_r, "policy wants a person for this: `sonde approve %s` on the server shows what would be sent and "
					  "approves it; then call again. Nothing was sent.", hash);
	if (json_is_true(json_object_get(run, RUN_SHUTDOWN)))
		return tool_refuse(ret_r, "this server shuts down, and stopped it before there was a result; call again when it is back");
	if (json_is_true(json_object_get(run, RUN_DEADLINE)))
		return tool_refuse(ret_r, "the time was up before there was a result; ask for less (fewer packets, fewer hops)");
	if (code == 3)
		return tool_refuse(ret_r, "policy refuses: %s. Do not try to get around it: the operator can allow it (sonde policy allow). "
					  "sonde://policy tells what you may do.", found[0] ? found : why ? why : "it is not allowed");
	if (code == 2)
		return args_refuse(t, ret_r, "%s", said ? said : why ? why : "the arguments do not fit");
	if (code == 4)
		return tool_refuse(ret_r, "a bound was reached before there was a result: %s", why ? why : "budget spent");
	return tool_refuse(ret_r, "there is no result: %s", why ? why : "no result came");
}

/* What was answered is what is asked now, and was not used before. */
static bool still_meant(Call *c, const char *hash)
{
	const char *asked = text_of(call_state(c), "hash");

	if (c->era < ERA_2026_07_28) /* asked and answered within this call */
		return true;
	return asked && strcmp(asked, hash) == 0 && call_state_once(c);
}

/* True: the user said yes. */
static bool user_approves(Call *c, json_t *approval)
{
	const char *hash = text_of(approval, "hash");
	json_t *answer, *schema, *line;
	Text message = { 0 };
	bool yes;
	size_t i;

	text_add(&message, "Sonde is asked to do what its policy wants a person for. This is all of it:\n");
	json_array_foreach (json_object_get(approval, "rendering"), i, line)
		text_add(&message, "\n%s", json_string_value(line) ? json_string_value(line) : "");
	text_add(&message, "\n\n%s", hash);
	schema = json_pack("{s:s, s:{s:{s:s, s:s, s:s}}, s:[s]}", "type", "object", "properties", "approve", "type", "boolean", "title",
			   "Let it run once", "description", "Only if you have read what it would send", "required", "approve");
	answer = call_elicit(c, "approve", message.p ? message.p : hash, schema, json_pack("{s:s}", "hash", hash));
	free(message.p);
	yes = answer && text_of(answer, "action") && strcmp(text_of(answer, "action"), "accept") == 0 &&
	      json_is_true(json_object_get(json_object_get(answer, "content"), "approve"));
	json_decref(answer);
	return yes && still_meant(c, hash);
}

json_t *probe_ask(Call *c, const Tool *t, RunAsk *ask, ToolResult *ret_r)
{
	const char *why = NULL;
	json_t *run = runs_run(c, ask, &why), *approval = json_object_get(run, "approval");

	if (!run) {
		tool_refuse(ret_r, "%s has no result: %s", t->name, why ? why : "no launcher");
		return NULL;
	}
	if (!text_of(approval, "hash") || !json_is_true(json_object_get(approval, "form")) ||
	    !call_can_elicit(c))
		return run;
	if (user_approves(c, approval)) {
		ask->approve = text_of(approval, "hash");
		json_t *again = runs_run(c, ask, &why);

		json_decref(run);
		if (!again)
			tool_refuse(ret_r, "%s has no result: %s", t->name, why ? why : "no launcher");
		return again;
	}
	if (!c->pending)
		return run;
	json_decref(run);
	return NULL;
}
