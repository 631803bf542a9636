/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools, resources and prompts that the conformance suite of MCP asks a server for,
 * on Sonde's own dispatcher and transports.  Nothing of it sends a packet.
 */
#include "fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* one red pixel; 8 samples of silence */
#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

#define NO_ARGS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static bool block(ToolResult *r, json_t *b)
{
	if (!r->content)
		r->content = json_array();
	return json_array_append_new(r->content, b) == 0;
}

static json_t *image(void)
{
	return json_pack("{s:s, s:s, s:s}", "type", "image", "data", PNG, "mimeType", "image/png");
}

static json_t *embedded(const char *uri, const char *mime, const char *text)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource", "uri", uri, "mimeType", mime, "text", text);
}

static bool say(ToolResult *r, const char *text)
{
	tool_text(r, text);
	return true;
}

/* ---- content ---- */

static bool simple_text(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	return say(r, "This is a simple text response for testing.");
}

static bool image_content(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	return block(r, image());
}

static bool audio_content(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	return block(r, json_pack("{s:s, s:s, s:s}", "type", "audio", "data", WAV, "mimeType", "audio/wav"));
}

static bool embedded_resource(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	return block(r, embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."));
}

static bool multiple_content(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	say(r, "Multiple content types test:");
	return block(r, image()) &&
	       block(r, embedded("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}"));
}

static bool error_handling(Call *c, json_t *args, ToolResult *r)
{
	(void)c;
	(void)args;
	return tool_refuse(r, "This tool intentionally returns an error for testing");
}

/* Conforms to its output schema: text says the same. */
static bool structured(Call *c, json_t *args, ToolResult *r)
{
	json_t *n = json_object_get(args, "n");
	char text[64];

	(void)c;
	if (!json_is_integer(n))
		return tool_refuse(r, "n must be an integer, as in {\"n\": 3}");
	r->structured = json_pack("{s:I}", "twice", 2 * json_integer_value(n));
	snprintf(text, sizeof text, "twice: %lld", 2 * (long long)json_integer_value(n));
	return say(r, text);
}

/* ---- while it lasts ---- */

static bool logging(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	call_log(c, "info", "fixtures", json_string("Tool execution started"));
	pause_ms(50);
	call_log(c, "info", "fixtures", json_string("Tool processing data"));
	pause_ms(50);
	call_log(c, "info", "fixtures", json_string("Tool execution completed"));
	return say(r, "Three messages were logged.");
}

static bool progress(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	for (int i = 0; i <= 2; i++) {
		call_progress(c, 50 * i, 100, NULL);
		pause_ms(50);
	}
	return say(r, "Three steps were told.");
}

/* Until it is cancelled, at most args.ms: what tests of cancellation wait for. */
static bool slow(Call *c, json_t *args, ToolResult *r)
{
	json_int_t ms = json_integer_value(json_object_get(args, "ms"));

	for (json_int_t i = 0; i < ms && !call_cancelled(c); i += 10) {
		call_progress(c, (double)i + 1, (double)ms, "waiting");
		pause_ms(10);
	}
	return say(r, call_cancelled(c) ? "cancelled" : "done");
}

/* ---- questions ---- */

static json_t *form(const char *name, const char *type)
{
	return json_pack("{s:s, s:{s:{s:s}}, s:[s]}", "type", "object", "properties", name, "type", type, "required", name);
}

static json_t *ask_model(Call *c, const char *key, const char *text)
{
	return call_ask(c, key, "sampling/createMessage",
			json_pack("{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user", "content", "type", "text", "text", text,
				  "maxTokens", 100),
			NULL);
}

static json_t *ask_roots(Call *c, const char *key)
{
	return call_ask(c, key, "roots/list", c->era < ERA_2026_07_28 ? NULL : json_object(), NULL);
}

/* The answer as text behind `what`; false: there is none. */
static bool say_answer(ToolResult *r, const char *what, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL, *all = NULL;
	bool ok = text && asprintf(&all, "%s%s", what, text) >= 0;

	if (ok)
		tool_text(r, all);
	free(all);
	free(text);
	json_decref(answer);
	return ok;
}

static bool answered(Call *c, ToolResult *r, const char *what, json_t *answer)
{
	if (!answer && !c->pending)
		return tool_refuse(r, "The client did not answer.");
	return say_answer(r, what, answer);
}

static bool sampling(Call *c, json_t *args, ToolResult *r)
{
	const char *prompt = json_string_value(json_object_get(args, "prompt"));

	return answered(c, r, "LLM response: ", ask_model(c, "sampling", prompt ? prompt : ""));
}

static bool elicitation(Call *c, json_t *args, ToolResult *r)
{
	const char *message = json_string_value(json_object_get(args, "message"));
	json_t *schema = json_pack("{s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}}, s:[s, s]}", "type", "object", "properties", "username",
				   "type", "string", "description", "User's response", "email", "type", "string", "description",
				   "User's email address", "required", "username", "email");

	return answered(c, r, "User response: ", call_elicit(c, "user", message ? message : "", schema, NULL));
}

static bool elicit_schema(Call *c, ToolResult *r, const char *schema)
{
	return answered(c, r, "Elicitation completed: ", call_elicit(c, "user", "Please fill in", json_loads(schema, 0, NULL), NULL));
}

static bool elicit_defaults(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return elicit_schema(c, r,
			     "{\"type\":\"object\",\"properties\":{"
			     "\"name\":{\"type\":\"string\",\"description\":\"User name\",\"default\":\"John Doe\"},"
			     "\"age\":{\"type\":\"integer\",\"description\":\"User age\",\"default\":30},"
			     "\"score\":{\"type\":\"number\",\"description\":\"User score\",\"default\":95.5},"
			     "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":\"active\"},"
			     "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}");
}

static bool elicit_enums(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return elicit_schema(c, r,
			     "{\"type\":\"object\",\"properties\":{"
			     "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
			     "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},"
			     "{\"const\":\"value2\",\"title\":\"Second Option\"}]},"
			     "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
			     "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
			     "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
			     "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
			     "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":\"First Choice\"},"
			     "{\"const\":\"value2\",\"title\":\"Second Choice\"}]}}},\"required\":[]}");
}

static bool missing_capability(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return answered(c, r, "LLM response: ", ask_model(c, "needs", "Are you there?"));
}

static bool mrtr_elicitation(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return answered(c, r, "Hello: ", call_elicit(c, "user_name", "What is your name?", form("name", "string"), NULL));
}

static bool mrtr_sampling(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return answered(c, r, "", ask_model(c, "capital_question", "What is the capital of France?"));
}

static bool mrtr_roots(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	return answered(c, r, "Roots: ", ask_roots(c, "client_roots"));
}

/* The answer counts only beside the state that went out with the question. */
static bool mrtr_state(Call *c, json_t *args, ToolResult *r)
{
	json_t *answer = call_elicit(c, "confirm", "Please confirm", form("ok", "boolean"), json_pack("{s:i}", "step", 1));

	(void)args;
	if (answer && json_integer_value(json_object_get(call_state(c), "step")) != 1) {
		json_decref(answer);
		return call_error(c, -32602, "the state is not the one that was given", NULL);
	}
	return answered(c, r, "state-ok ", answer);
}

static bool mrtr_multiple(Call *c, json_t *args, ToolResult *r)
{
	json_t *name = call_elicit(c, "user_name", "What is your name?", form("name", "string"), NULL);
	json_t *greeting = ask_model(c, "greeting", "Generate a greeting"), *roots = ask_roots(c, "client_roots");
	bool ok = name && greeting && roots;

	(void)args;
	return answered(c, r, "All of it: ", ok ? json_pack("[o, o, o]", name, greeting, roots) : NULL);
}

static bool mrtr_rounds(Call *c, json_t *args, ToolResult *r)
{
	json_t *name = call_elicit(c, "step1", "Step 1: What is your name?", form("name", "string"), json_pack("{s:i}", "step", 1));
	json_t *color = name ? call_elicit(c, "step2", "Step 2: What is your favorite color?", form("color", "string"),
					   json_pack("{s:i}", "step", 2)) : NULL;

	(void)args;
	if (!color) {
		json_decref(name);
		return answered(c, r, "", NULL);
	}
	return answered(c, r, "Both: ", json_pack("[o, o]", name, color));
}

/* Only what this client can. */
static bool mrtr_capabilities(Call *c, json_t *args, ToolResult *r)
{
	json_t *a = NULL;

	(void)args;
	if (json_object_get(c->client_caps, "elicitation"))
		a = call_elicit(c, "name", "What is your name?", form("name", "string"), NULL);
	if (json_object_get(c->client_caps, "sampling")) {
		json_decref(a);
		a = ask_model(c, "greeting", "Generate a greeting");
	}
	if (!a && !c->pending)
		return say(r, "This client can be asked nothing.");
	return answered(c, r, "", a);
}

/* ---- changes ---- */

static bool tool_change(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	server_list_changed(c->mcp, "tools");
	return say(r, "changed");
}

static bool prompt_change(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	server_list_changed(c->mcp, "prompts");
	return say(r, "changed");
}

static bool resource_change(Call *c, json_t *args, ToolResult *r)
{
	(void)args;
	server_resource_changed(c->mcp, "test://watched-resource");
	return say(r, "changed");
}

#define TEXT_ARG(name) "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define ROW(name, text, input, fn) { name, NULL, text, input, NULL, TOOL_READ_ONLY | TOOL_IDEMPOTENT, fn }

const Tool fixture_tools[] = {
	ROW("test_simple_text", "Returns a text.", NO_ARGS, simple_text),
	ROW("test_image_content", "Returns an image.", NO_ARGS, image_content),
	ROW("test_audio_content", "Returns a sound.", NO_ARGS, audio_content),
	ROW("test_embedded_resource", "Returns a resource.", NO_ARGS, embedded_resource),
	ROW("test_multiple_content_types", "Returns text, image and resource.", NO_ARGS, multiple_content),
	ROW("test_tool_with_logging", "Logs while it runs.", NO_ARGS, logging),
	ROW("test_logging_tool", "Logs while it runs.", NO_ARGS, logging),
	ROW("test_tool_with_progress", "Tells its progress.", NO_ARGS, progress),
	ROW("test_error_handling", "Fails.", NO_ARGS, error_handling),
	ROW("test_sampling", "Asks the client's model.", TEXT_ARG("prompt"), sampling),
	ROW("test_elicitation", "Asks the client's user.", TEXT_ARG("message"), elicitation),
	ROW("test_elicitation_sep1034_defaults", "Asks with defaults.", NO_ARGS, elicit_defaults),
	ROW("test_elicitation_sep1330_enums", "Asks with choices.", NO_ARGS, elicit_enums),
	ROW("test_missing_capability", "Needs a client with a model.", NO_ARGS, missing_capability),
	ROW("test_streaming_elicitation", "Asks the client's user.", NO_ARGS, mrtr_elicitation),
	ROW("test_input_required_result_elicitation", "Asks the client's user.", NO_ARGS, mrtr_elicitation),
	ROW("test_input_required_result_sampling", "Asks the client's model.", NO_ARGS, mrtr_sampling),
	ROW("test_input_required_result_list_roots", "Asks for the client's roots.", NO_ARGS, mrtr_roots),
	ROW("test_input_required_result_request_state", "Asks, with a state.", NO_ARGS, mrtr_state),
	ROW("test_input_required_result_tampered_state", "Asks, with a state.", NO_ARGS, mrtr_state),
	ROW("test_input_required_result_multiple_inputs", "Asks three things at once.", NO_ARGS, mrtr_multiple),
	ROW("test_input_required_result_multi_round", "Asks twice.", NO_ARGS, mrtr_rounds),
	ROW("test_input_required_result_capabilities", "Asks what the client can.", NO_ARGS, mrtr_capabilities),
	ROW("test_trigger_tool_change", "Changes the tools.", NO_ARGS, tool_change),
	ROW("test_trigger_prompt_change", "Changes the prompts.", NO_ARGS, prompt_change),
	ROW("test_trigger_resource_change", "Changes a resource.", NO_ARGS, resource_change),
	ROW("test_slow", "Waits.", "{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\"}},\"required\":[\"ms\"]}", slow),
	ROW("test_headers", "Has parameters that headers repeat.",
	    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
	    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"
	    "\"where\":{\"type\":\"object\",\"properties\":{\"fast\":{\"type\":\"boolean\",\"x-mcp-header\":\"Fast\"}}}},"
	    "\"required\":[\"region\"]}",
	    simple_text),
	{ "test_structured", "Twice", "Doubles a number.",
	  "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}",
	  "{\"type\":\"object\",\"properties\":{\"twice\":{\"type\":\"integer\"}},\"required\":[\"twice\"]}",
	  TOOL_READ_ONLY | TOOL_IDEMPOTENT, structured },
	ROW("json_schema_2020_12_tool", "Has a schema of many keywords.",
	    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":{\"address\":{"
	    "\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},"
	    "\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{"
	    "\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
	    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},"
	    "{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
	    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
	    "\"additionalProperties\":false}",
	    simple_text),
};
const unsigned fixture_tools_n = sizeof fixture_tools / sizeof *fixture_tools;

/* ---- resources ---- */

static json_t *read_text(Call *c, const char *uri, const char *var)
{
	(void)c;
	(void)var;
	return json_pack("[{s:s, s:s, s:s}]", "uri", uri, "mimeType", "text/plain", "text",
			 "This is the content of the static text resource.");
}

static json_t *read_binary(Call *c, const char *uri, const char *var)
{
	(void)c;
	(void)var;
	return json_pack("[{s:s, s:s, s:s}]", "uri", uri, "mimeType", "image/png", "blob", PNG);
}

static json_t *read_template(Call *c, const char *uri, const char *var)
{
	json_t *inside = json_pack("{s:s, s:b}", "id", var, "templateTest", 1), *r;
	char *text = json_dumps(inside, JSON_COMPACT);

	(void)c;
	r = json_pack("[{s:s, s:s, s:s}]", "uri", uri, "mimeType", "application/json", "text", text);
	free(text);
	json_decref(inside);
	return r;
}

static json_t *complete_id(Call *c, const char *begin)
{
	json_t *all = json_array();
	char id[16];

	(void)c;
	for (int i = 0; i < 150; i++) {
		snprintf(id, sizeof id, "%03d", i);
		if (strncmp(id, begin, strlen(begin)) == 0)
			json_array_append_new(all, json_string(id));
	}
	return all;
}

const Resource fixture_resources[] = {
	{ "test://static-text", "static-text", "A text", "A text that stays as it is.", "text/plain", false, read_text, NULL },
	{ "test://static-binary", "static-binary", "An image", "One red pixel.", "image/png", false, read_binary, NULL },
	{ "test://watched-resource", "watched-resource", "A text", "A text that is said to change.", "text/plain", false, read_text,
	  NULL },
	{ "test://template/{id}/data", "template", "Data of an id", "Says which id it was asked for.", "application/json", true,
	  read_template, complete_id },
	{ 0 },
};

/* ---- prompts ---- */

static json_t *prompt(json_t *first, json_t *second)
{
	json_t *messages = json_pack("[{s:s, s:o}]", "role", "user", "content", first);

	if (second)
		json_array_append_new(messages, json_pack("{s:s, s:o}", "role", "user", "content", second));
	return json_pack("{s:o}", "messages", messages);
}

static json_t *text_block(const char *text)
{
	return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static json_t *prompt_simple(Call *c, json_t *args)
{
	(void)c;
	(void)args;
	return prompt(text_block("This is a simple prompt for testing."), NULL);
}

static json_t *prompt_args(Call *c, json_t *args)
{
	char text[256];

	(void)c;
	snprintf(text, sizeof text, "Prompt with arguments: arg1='%.64s', arg2='%.64s'", json_string_value(json_object_get(args, "arg1")),
		 json_string_value(json_object_get(args, "arg2")));
	return prompt(text_block(text), NULL);
}

static json_t *prompt_embedded(Call *c, json_t *args)
{
	(void)c;
	return prompt(embedded(json_string_value(json_object_get(args, "resourceUri")), "text/plain", "Embedded resource content."),
		      text_block("Please process the embedded resource above."));
}

static json_t *prompt_image(Call *c, json_t *args)
{
	(void)c;
	(void)args;
	return prompt(image(), text_block("Please analyze the image above."));
}

static json_t *prompt_asks(Call *c, json_t *args)
{
	json_t *answer = call_elicit(c, "user_context", "What context should the prompt use?", form("context", "string"), NULL);
	json_t *r = answer ? prompt(text_block("With the context that was given."), NULL) : NULL;

	(void)args;
	json_decref(answer);
	return r;
}

static const PromptArg two_args[] = { { "arg1", "the first", true, complete_id }, { "arg2", "the second", true, NULL } };
static const PromptArg uri_arg[] = { { "resourceUri", "of the resource", true, NULL } };

const Prompt fixture_prompts[] = {
	{ "test_simple_prompt", "Simple", "A prompt without arguments.", NULL, 0, prompt_simple },
	{ "test_prompt_with_arguments", "Arguments", "A prompt with two arguments.", two_args, 2, prompt_args },
	{ "test_prompt_with_embedded_resource", "Resource", "A prompt with a resource.", uri_arg, 1, prompt_embedded },
	{ "test_prompt_with_image", "Image", "A prompt with an image.", NULL, 0, prompt_image },
	{ "test_input_required_result_prompt", "Asks", "A prompt that asks the user.", NULL, 0, prompt_asks },
	{ 0 },
};
