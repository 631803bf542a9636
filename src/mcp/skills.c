/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/skills.h"

#include "mcp/rpc_inside.h"

#include <string.h>

#define SKILLS_TTL_MS 300000 /* skills change with the binary alone */

const SkillFile *skill_file(const char *uri)
{
	for (const Skill *s = content_skills; s->root; s++)
		for (unsigned i = 0; i < s->nfiles; i++)
			if (strcmp(s->file[i].uri, uri) == 0)
				return &s->file[i];
	return NULL;
}

static json_t *entry(const Skill *s)
{
	json_t *files = json_array();

	for (unsigned i = 0; i < s->nfiles; i++) {
		const SkillFile *f = &s->file[i];

		json_array_append_new(files, json_pack("{s:s, s:s+, s:I}", "uri", f->uri, "digest", "sha256:", f->sha256, "size",
						       (json_int_t)f->n));
	}
	return json_pack("{s:s, s:o, s:o}", "uri", s->file[0].uri, "frontmatter", json_loads(s->frontmatter, 0, NULL), "resources",
			 files);
}

/* False after call_error(): nothing that we list has a second page. */
static bool first_page(Call *c)
{
	if (!json_object_get(c->params, "cursor"))
		return true;
	call_error(c, RPC_PARAMS, "there is no such cursor", NULL);
	return false;
}

static json_t *cached(json_t *result)
{
	json_object_set_new(result, "ttlMs", json_integer(SKILLS_TTL_MS));
	json_object_set_new(result, "cacheScope", json_string("public"));
	return result;
}

static json_t *list(Call *c)
{
	json_t *all;

	if (!first_page(c))
		return NULL;
	all = json_array();
	for (const Skill *s = content_skills; s->root; s++)
		json_array_append_new(all, entry(s));
	return cached(json_pack("{s:o}", "skills", all));
}

static const char *uri_of(Call *c)
{
	const char *uri = json_string_value(json_object_get(c->params, "uri"));

	return uri ? uri : "";
}

static json_t *get(Call *c)
{
	for (const Skill *s = content_skills; s->root; s++)
		if (strcmp(s->file[0].uri, uri_of(c)) == 0)
			return cached(json_pack("{s:o}", "skill", entry(s)));
	return call_error(c, RPC_PARAMS, "no skill is served at this uri: skills/list tells those that are", NULL);
}

static json_t *row(const char *uri, size_t n, const char *mime)
{
	const char *slash = memrchr(uri, '/', n);

	return json_pack("{s:s%, s:s%, s:s}", "uri", uri, n, "name", slash + 1, n - (size_t)(slash + 1 - uri), "mimeType", mime);
}

/* The direct children of `dir`: files as they come, each folder once. */
static json_t *children(const Skill *s, const char *dir)
{
	json_t *all = json_array();
	size_t n = strlen(dir);
	const char *before = NULL; /* the folder that was named last: files are sorted */
	size_t before_n = 0;

	for (unsigned i = 0; i < s->nfiles; i++) {
		const SkillFile *f = &s->file[i];
		const char *rest = f->uri + n + 1, *slash;

		if (strncmp(f->uri, dir, n) != 0 || f->uri[n] != '/')
			continue;
		slash = strchr(rest, '/');
		if (!slash) {
			json_array_append_new(all, row(f->uri, strlen(f->uri), f->mime));
			continue;
		}
		size_t path_n = (size_t)(slash - f->uri);

		if (!before || path_n != before_n || memcmp(before, f->uri, path_n) != 0)
			json_array_append_new(all, row(f->uri, path_n, "inode/directory"));
		before = f->uri;
		before_n = path_n;
	}
	return all;
}

static json_t *directory(Call *c)
{
	const char *uri = uri_of(c);

	if (!first_page(c))
		return NULL;
	for (const Skill *s = content_skills; s->root; s++) {
		size_t n = strlen(s->root);

		if (strncmp(uri, s->root, n) == 0 && (uri[n] == '/' || !uri[n])) {
			json_t *all = children(s, uri);

			if (json_array_size(all))
				return json_pack("{s:o}", "resources", all);
			json_decref(all);
		}
	}
	return call_error(c, RPC_PARAMS, "there is no such directory", NULL);
}

const Method skills_methods[] = {
	{ "skills/list", list, METHOD_MODERN | METHOD_QUICK | METHOD_CACHED, NULL },
	{ "skills/get", get, METHOD_MODERN | METHOD_QUICK | METHOD_CACHED, NULL },
	{ "resources/directory/read", directory, METHOD_MODERN | METHOD_QUICK, NULL },
	{ 0 },
};
