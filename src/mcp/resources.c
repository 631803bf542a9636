/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources.h"

#include "mcp/content.h"
#include "mcp/rpc_inside.h"
#include "mcp/runs.h"
#include "mcp/skills.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static json_t *one(const char *uri, const char *mime, const char *text)
{
	return json_pack("[{s:s, s:s, s:s}]", "uri", uri, "mimeType", mime, "text", text);
}

static json_t *unknown(Call *c, const char *uri, const char *list)
{
	return call_error(c, c->era < ERA_2026_07_28 ? RPC_NO_RESOURCE : RPC_PARAMS, "there is no such resource",
			  json_pack("{s:s, s:s}", "uri", uri, "list", list));
}

static bool begins(const char *name, const char *begin)
{
	return strncasecmp(name, begin, strlen(begin)) == 0;
}

/* ---- pages ---- */

enum { LIKE_MOST = 20 };

const char *page_find(const char *name)
{
	for (const ContentPage *p = content_pages; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p->text;
	return NULL;
}

static json_t *names(const char *begin)
{
	json_t *l = json_array();

	for (const ContentPage *p = content_pages; p->name; p++)
		if (p->builtin && begins(p->name, begin))
			json_array_append_new(l, json_string(p->name));
	return l;
}

json_t *page_like(const char *topic)
{
	json_t *l = json_array();

	for (const ContentPage *p = content_pages; p->name && json_array_size(l) < LIKE_MOST; p++)
		if (strcasestr(p->name, topic) || (strlen(p->name) > 2 && strcasestr(topic, p->name)))
			json_array_append_new(l, json_string(p->name));
	return l;
}

static json_t *read_reference(Call *c, const char *uri, const char *var)
{
	(void)c, (void)var;
	return one(uri, "text/markdown", page_find("reference"));
}

static json_t *read_warnings(Call *c, const char *uri, const char *var)
{
	(void)c, (void)var;
	return one(uri, "text/markdown", page_find("warnings"));
}

static json_t *read_topics(Call *c, const char *uri, const char *var)
{
	(void)c, (void)var;
	return one(uri, "text/plain", page_find("topics"));
}

static json_t *read_builtin(Call *c, const char *uri, const char *var)
{
	const char *page = page_find(var);

	return page ? one(uri, "text/plain", page) : unknown(c, uri, "sonde://builtins");
}

static json_t *complete_builtin(Call *c, const char *begin)
{
	(void)c;
	return names(begin);
}

/* ---- examples ---- */

static json_t *read_examples(Call *c, const char *uri, const char *var)
{
	json_t *all = json_array();

	(void)c, (void)uri, (void)var;
	for (const ContentExample *e = content_examples; e->name; e++) {
		json_t *its = json_sprintf("sonde://examples/%s", e->name);

		json_array_append_new(all, json_pack("{s:o, s:s, s:s}", "uri", its, "mimeType", "text/plain", "text", e->summary));
	}
	return all;
}

static json_t *read_example(Call *c, const char *uri, const char *var)
{
	for (const ContentExample *e = content_examples; e->name; e++)
		if (strcmp(e->name, var) == 0)
			return one(uri, "text/x-sonde", e->text);
	return unknown(c, uri, "sonde://examples");
}

static json_t *complete_example(Call *c, const char *begin)
{
	json_t *l = json_array();

	(void)c;
	for (const ContentExample *e = content_examples; e->name; e++)
		if (begins(e->name, begin))
			json_array_append_new(l, json_string(e->name));
	return l;
}

/* ---- what this caller may do ---- */

static json_t *read_policy(Call *c, const char *uri, const char *var)
{
	const char *why = NULL;
	char *text = runs_policy(c, &why);
	json_t *r;

	(void)var;
	if (!text)
		return call_error(c, RPC_INTERNAL, why ? why : "the policy can't be told now", NULL);
	r = one(uri, "text/x-sonde", text);
	free(text);
	return r;
}

/* ---- the skill ---- */

static json_t *read_skill(Call *c, const char *uri, const char *var)
{
	const SkillFile *f = skill_file(uri);

	(void)var;
	return f ? one(uri, f->mime, f->text) : unknown(c, uri, content_skills[0].root);
}

#define SKILL "skill://network-investigation/"
#define SKILL_REFERENCE(file, text) \
	{ .uri = SKILL "references/" file, .name = file, .description = text, .mime = "text/markdown", .read = read_skill }

const Resource resources[] = {
	{ .uri = "sonde://reference", .name = "reference", .title = "The language on one page", .mime = "text/markdown",
	  .description = "All of Sonde: verbs, packets, connections, declarations. Read it before you write a program.",
	  .read = read_reference },
	{ .uri = "sonde://warnings", .name = "warnings", .title = "All warnings", .mime = "text/markdown",
	  .description = "What a run says unasked: meaning, usual causes, what to test next.", .read = read_warnings },
	{ .uri = "sonde://policy", .name = "policy", .title = "What this caller may do", .mime = "text/x-sonde",
	  .description = "Peers, ports, names, budgets that hold for you, as declarations; all of them hold at once.",
	  .read = read_policy },
	{ .uri = "sonde://builtins", .name = "builtins", .title = "Names of all built-ins", .mime = "text/plain",
	  .description = "Verbs, functions, types, results and layers: sonde://builtins/{name} has a page on each.",
	  .read = read_topics },
	{ .uri = "sonde://examples", .name = "examples", .title = "Example programs", .mime = "text/plain",
	  .description = "What each of the example programs finds out.", .read = read_examples },
	{ .uri = "sonde://builtins/{name}", .name = "builtin", .title = "A page on one built-in", .mime = "text/plain",
	  .description = "A verb (ping), function (sr1), type (Packet), result (Hop), layer (TCP) or a warning's code: arguments, "
			 "fields, units.",
	  .is_template = true, .read = read_builtin, .complete = complete_builtin },
	{ .uri = "sonde://examples/{name}", .name = "example", .title = "An example program", .mime = "text/x-sonde",
	  .description = "A program that answers a question of an operator; the question is its first comment.",
	  .is_template = true, .read = read_example, .complete = complete_example },
	{ .uri = SKILL "SKILL.md", .name = "network-investigation", .title = "How to investigate a network fault",
	  .mime = "text/markdown", .read = read_skill,
	  .description = "The method: triage, boundary, competing hypotheses, one decisive test for each, a report with evidence." },
	SKILL_REFERENCE("verdicts.md", "How to read each verdict of the fixed probes, and what decides between its causes."),
	SKILL_REFERENCE("programs.md", "Decisive tests as programs with parameters, a hypothesis each."),
	SKILL_REFERENCE("warnings.md", "Which warnings change a conclusion, and how."),
	SKILL_REFERENCE("refusals.md", "What to do when something is refused, cut or withheld."),
	SKILL_REFERENCE("report.md", "The shape of the final report."),
	{ 0 },
};
