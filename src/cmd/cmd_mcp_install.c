/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde mcp install: the entry by which a client starts or reaches this server, printed
 * or put into the client's file.  A key never stands in it: clients take it from their
 * environment.
 */
#include "base/json.h"
#include "base/limits.h"
#include "cmd/client_config.h"
#include "cmd/cmd.h"
#include "cmd/cmd_mcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_VARIABLE "SONDE_MCP_KEY"

typedef struct Client {
	const char *name, *file; /* file: ~/ is the user's home, else below the current folder */
	const char *home;	 /* a variable that stands for the first folder of file, or NULL */
	const char *section;
	bool toml, typed; /* typed: each entry says by "type" how it is reached */
	const char *bearer; /* the header's value, as this client takes it from its environment */
	const char *also;   /* the client's own command for the same, up to the server's command line; or NULL */
} Client;

static const Client clients[] = {
	{ "claude", ".mcp.json", NULL, "mcpServers", false, true, "Bearer ${" KEY_VARIABLE "}", "claude mcp add --scope user sonde --" },
	{ "codex", "~/.codex/config.toml", "CODEX_HOME", "mcp_servers", true, false, NULL, "codex mcp add sonde --" },
	{ "vscode", ".vscode/mcp.json", NULL, "servers", false, true, "Bearer ${env:" KEY_VARIABLE "}", NULL },
	{ "cursor", ".cursor/mcp.json", NULL, "mcpServers", false, false, "Bearer ${env:" KEY_VARIABLE "}", NULL },
};

static const Client *client_of(const char *name)
{
	for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

/* This binary's path, and the absolute paths of --policy: a client has another folder. */
static bool command_line(Arena *a, const McpOptions *o, const char *argv[2 * OPT_LIST_MAX + 3])
{
	unsigned n = 0;

	argv[n] = realpath("/proc/self/exe", NULL);
	if (!argv[n++])
		return false;
	argv[n++] = "mcp";
	for (unsigned i = 0; i < o->policy.n; i++) {
		char *path = realpath(o->policy.v[i], NULL);

		if (!path) {
			cmd_fail(0, "--policy %s: %s", o->policy.v[i], strerror(errno));
			return false;
		}
		argv[n++] = "--policy";
		argv[n++] = str_printf(a, "%s", path).p;
		free(path);
	}
	argv[n] = NULL;
	return true;
}

static Str quoted(Arena *a, const char *text)
{
	Sb out = sb(a);
	Json j = json(&out);

	json_str(&j, str_c(text));
	return sb_done(&out);
}

static void args_list(Arena *a, const char *const *argv, Sb *out)
{
	sb_char(out, '[');
	for (; *argv; argv++)
		sb_printf(out, "%.*s%s", STR_ARG(quoted(a, *argv)), argv[1] ? ", " : "");
	sb_char(out, ']');
}

static Str json_entry(Arena *a, const Client *c, const McpOptions *o, const char *const *argv)
{
	Sb out = sb(a);

	sb_cstr(&out, "{\n");
	if (c->typed)
		sb_printf(&out, "      \"type\": \"%s\",\n", o->url ? "http" : "stdio");
	if (o->url) {
		sb_printf(&out, "      \"url\": %.*s,\n", STR_ARG(quoted(a, o->url)));
		sb_printf(&out, "      \"headers\": {\"Authorization\": \"%s\"}\n", c->bearer);
	} else {
		sb_printf(&out, "      \"command\": %.*s,\n      \"args\": ", STR_ARG(quoted(a, argv[0])));
		args_list(a, argv + 1, &out);
		sb_char(&out, '\n');
	}
	sb_cstr(&out, "    }");
	return sb_done(&out);
}

/* Codex ends a call after a minute, a run may take ten. */
static Str toml_entry(Arena *a, const McpOptions *o, const char *const *argv)
{
	Sb out = sb(a);

	if (o->url) {
		sb_printf(&out, "url = %.*s\nbearer_token_env_var = \"" KEY_VARIABLE "\"\n", STR_ARG(quoted(a, o->url)));
	} else {
		sb_printf(&out, "command = %.*s\nargs = ", STR_ARG(quoted(a, argv[0])));
		args_list(a, argv + 1, &out);
		sb_char(&out, '\n');
	}
	sb_cstr(&out, "tool_timeout_sec = 660\n");
	return sb_done(&out);
}

/* Where the client looks; NULL after saying that there is no home. */
static const char *usual_file(Arena *a, const Client *c)
{
	const char *home = getenv("HOME"), *own = c->home ? getenv(c->home) : NULL;

	if (own && *own)
		return str_printf(a, "%s%s", own, strrchr(c->file, '/')).p;
	if (c->file[0] != '~')
		return c->file;
	if (home && *home)
		return str_printf(a, "%s%s", home, c->file + 1).p;
	cmd_fail(0, "HOME is not set: give the file with --file");
	return NULL;
}

static ConfigAdded add(Arena *a, const Client *c, Str old, Str entry, Str *ret_text)
{
	return c->toml ? config_add_toml(a, old, c->section, "sonde", entry, ret_text)
		       : config_add_json(a, old, c->section, "sonde", entry, ret_text);
}

static bool make_folder(Arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return true;
	Str folder = str_printf(a, "%.*s", (int)(slash - path), path);

	if (mkdir(folder.p, 0755) == 0 || errno == EEXIST)
		return true;
	cmd_fail(0, "%s: %s", folder.p, strerror(errno));
	return false;
}

/* Into the file: what stands in it stays.  A link is followed, another's file is not touched. */
static int write_entry(Arena *a, const Client *c, const char *path, Str entry)
{
	Str old = { 0 }, text = { 0 };
	struct stat st;
	mode_t mode = 0644;
	char *real = realpath(path, NULL);

	if (real) {
		if (stat(real, &st) < 0 || !S_ISREG(st.st_mode))
			return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: is no file", path);
		if (st.st_uid != geteuid())
			return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s belongs to another user: run this as that one", path);
		mode = st.st_mode & 0777;
		path = str_printf(a, "%s", real).p;
		free(real);
		if (!cmd_read_file(a, path, LIMIT_CLIENT_CONFIG, &old))
			return SONDE_EXIT_ENVIRONMENT;
	} else if (errno != ENOENT) {
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	} else if (!make_folder(a, path)) {
		return SONDE_EXIT_ENVIRONMENT;
	}
	switch (add(a, c, old, entry, &text)) {
	case CONFIG_SAME:
		fprintf(stderr, "%s has it already\n", path);
		return SONDE_EXIT_OK;
	case CONFIG_OTHER:
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s has another entry sonde: take it out first, or leave out --write and edit it", path);
	case CONFIG_INVALID:
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s can't be read as %s: leave out --write and edit it", path,
				c->toml ? "TOML" : "JSON");
	case CONFIG_ADDED:
		break;
	}
	int code = cmd_replace_file(a, path, text, mode);

	if (!code)
		fprintf(stderr, "wrote %s\n", path);
	return code;
}

static void say_next(const Client *c, const McpOptions *o, const char *const *argv, const char *path)
{
	if (!o->write)
		fprintf(stderr, "this belongs into %s; --write puts it there\n", path);
	if (!o->write && !o->url && c->also && !o->policy.n)
		fprintf(stderr, "or: %s %s mcp\n", c->also, argv[0]);
	if (o->url)
		fprintf(stderr, "the client needs the key in its environment: " KEY_VARIABLE " (`sonde mcp key add NAME` on the server)\n");
	else if (access(POLICY_SYSTEM_PATH, F_OK) != 0)
		fprintf(stderr, "no policy is installed, so the server will not start: `sonde policy init mcp`, as root\n");
}

static bool url_ok(const char *url)
{
	if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
		return false;
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("\"\\${}@", *p))
			return false;
	return true;
}

int mcp_install(const McpOptions *o)
{
	const char *argv[2 * OPT_LIST_MAX + 3] = { 0 };
	const Client *c = o->client ? client_of(o->client) : NULL;
	Arena a = cmd_arena(8u << 20);
	const char *path;
	int code;

	if (!c)
		return cmd_fail(SONDE_EXIT_USAGE, "mcp install%s%s: for which client? --client claude, codex, vscode or cursor",
				o->client ? " --client " : "", o->client ? o->client : "");
	if (o->args.n > 1)
		return cmd_fail(SONDE_EXIT_USAGE, "mcp install %s: one argument too many", o->args.v[1]);
	if (o->url && !url_ok(o->url))
		return cmd_fail(SONDE_EXIT_USAGE, "--url %s: as https://name:port/mcp", o->url);
	if (o->url && o->policy.n)
		return cmd_fail(SONDE_EXIT_USAGE, "--policy is the server's own affair: give it there, not with --url");
	if (!o->url && !command_line(&a, o, argv))
		return SONDE_EXIT_ENVIRONMENT;
	path = o->file ? o->file : usual_file(&a, c);
	if (!path)
		return SONDE_EXIT_ENVIRONMENT;
	Str entry = c->toml ? toml_entry(&a, o, argv) : json_entry(&a, c, o, argv), text = { 0 };

	if (o->write) {
		code = write_entry(&a, c, path, entry);
	} else {
		add(&a, c, (Str){ 0 }, entry, &text);
		code = cmd_write(1, text) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
	}
	if (!code)
		say_next(c, o, argv, path);
	return code;
}
