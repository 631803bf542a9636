/* SPDX-License-Identifier: Apache-2.0
 *
 * What sends nothing: this host's own state, and help with the language.
 */
#include "mcp/content.h"
#include "mcp/tool_args.h"
#include "mcp/tool_probe.h"
#include "mcp/tools_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 200, WORDS = 8 };

/* A kind of line of the program, the words behind it by name; the last takes the rest. */
typedef struct LocalRow {
	const char *line, *list;
	const char *word[WORDS];
} LocalRow;

static const LocalRow rows[] = {
	{ "interface", "interfaces", { "name", "state", "mtu", "mac", "addrs" } },
	{ "route", "routes", { "dst", "gateway", "iface", "src", "mtu" } },
};

/* "1500", "[10.0.0.1, fd00::1]" or a word, by its name. */
static json_t *read_word(const char *name, char *v)
{
	json_t *list;

	if (strcmp(name, "mtu") == 0 && v[strspn(v, "0123456789")] == 0)
		return json_integer(atoll(v));
	if (strcmp(name, "addrs") != 0)
		return json_string(v);
	list = json_array();
	for (char *one; (one = strsep(&v, "[], "));)
		if (*one)
			json_array_append_new(list, json_string(one));
	return list;
}

static void read_row(json_t *into, char *line)
{
	char *word = strsep(&line, " ");

	for (unsigned i = 0; word && i < sizeof rows / sizeof *rows; i++) {
		json_t *list = json_object_get(into, rows[i].list), *row;

		if (strcmp(word, rows[i].line) != 0)
			continue;
		if (!list) {
			list = json_array();
			json_object_set_new(into, rows[i].list, list);
		}
		if (json_array_size(list) >= ROWS_MOST)
			return;
		row = json_object();
		for (unsigned k = 0; k < WORDS && rows[i].word[k] && line; k++) {
			bool last = k + 1 == WORDS || !rows[i].word[k + 1];
			char *v = last ? line : strsep(&line, " ");

			if (strcmp(v, "-") != 0)
				json_object_set_new(row, rows[i].word[k], read_word(rows[i].word[k], v));
		}
		json_array_append_new(list, row);
	}
}

static bool read_program(Call *c, const Tool *t, const char *what, json_t *into, ToolResult *ret_r)
{
	const RunParam p = { "what", what };
	RunAsk ask = { .name = t->name, .text = probe_text_local_state, .param = &p, .nparam = 1, .max_output = 131072, .deadline_ms = 10000 };
	json_t *run = probe_ask(c, t, &ask, ret_r);
	bool ok = run && json_integer_value(json_object_get(run, "exit")) == 0;
	Text all = run_text(run);
	char *rest = all.p;

	for (char *line; ok && rest && (line = strsep(&rest, "\n"));)
		read_row(into, line);
	if (run && !ok)
		probe_failed(c, t, run, ret_r);
	free(all.p);
	json_decref(run);
	return ok;
}

/* What the launcher reads, of the kernel's own words: it counts as nobody's content, as it
 * would if a program printed it.  False: *ret_why says why not. */
static bool read_launcher(Call *c, const char *what, json_t *into, const char **ret_why)
{
	static const char *const lists[] = { "neighbors", "listeners" };
	bool all = strcmp(what, "all") == 0;
	json_t *l = runs_local(c, ret_why);

	for (unsigned i = 0; l && i < sizeof lists / sizeof *lists; i++)
		if (all || strcmp(what, lists[i]) == 0)
			json_object_set(into, lists[i], json_object_get(l, lists[i]));
	if (json_object_get(into, "listeners"))
		json_object_set(into, "listeners_complete", json_object_get(l, "complete"));
	json_decref(l);
	return l != NULL;
}

static void say_list(Text *out, const char *name, const json_t *list)
{
	const char *key;
	json_t *row, *v, *one;
	size_t i, k;

	text_add(out, "%s:\n", name);
	json_array_foreach (list, i, row) {
		json_object_foreach (row, key, v) {
			if (json_is_string(v))
				text_add(out, " %s %s", key, json_string_value(v));
			else if (json_is_integer(v))
				text_add(out, " %s %lld", key, (long long)json_integer_value(v));
			else if (json_array_size(v))
				text_add(out, " %s", key);
			json_array_foreach (v, k, one)
				text_add(out, " %s", json_string_value(one));
		}
		text_add(out, "\n");
	}
}

bool work_local_state(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *what = args_text(t, args, "what"), *key;
	bool theirs = strcmp(what, "listeners") == 0 || strcmp(what, "neighbors") == 0, both = strcmp(what, "all") == 0;
	const char *why = "";
	json_t *s = json_object(), *v;
	Text summary = { 0 }, out = { 0 };

	if (!theirs && !read_program(c, t, what, s, ret_r)) {
		json_decref(s);
		return ret_r->is_error;
	}
	if ((theirs || both) && !read_launcher(c, what, s, &why)) {
		if (theirs) {
			json_decref(s);
			return tool_refuse(ret_r, "%s could not be read: %s", what, why ? why : "no launcher");
		}
		text_add(&summary, "neighbors and listeners could not be read");
	}
	json_object_foreach (s, key, v)
		if (json_is_array(v))
			text_add(&summary, "%s%zu %s", summary.n ? ", " : "", json_array_size(v), key);
	text_add(&out, "%s\n", summary.n ? summary.p : "nothing of this kind is here");
	json_object_foreach (s, key, v)
		if (json_is_array(v))
			say_list(&out, key, v);
	if (json_is_false(json_object_get(s, "listeners_complete")))
		text_add(&out, "Some listeners' processes are not to be seen with the server's rights.\n");
	json_object_set_new(s, "summary", json_string(summary.n ? summary.p : "nothing of this kind is here"));
	tool_text(ret_r, out.p ? out.p : "");
	ret_r->structured = s;
	free(summary.p);
	free(out.p);
	return true;
}

bool work_language_help(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *topic = args_text(t, args, "topic"), *text = page_find(topic);
	json_t *like;
	char *near;

	(void)c;
	if (text) {
		tool_text(ret_r, text);
		ret_r->structured = json_pack("{s:s, s:s}", "topic", topic, "text", text);
		return true;
	}
	like = page_like(topic);
	near = json_dumps(like, JSON_COMPACT);
	args_refuse(t, ret_r, "there is no page of this name; names like it: %s; \"topics\" lists all", near ? near : "[]");
	free(near);
	json_decref(like);
	return true;
}
