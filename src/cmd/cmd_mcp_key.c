/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde mcp key: who may ask over HTTP (deal/keys.h).  A key is shown once, when it is
 * made; what is kept is its hash, so the file may be read by all, as the front has to,
 * which is nobody in particular.
 */
#include "cmd/cmd.h"
#include "cmd/cmd_mcp.h"
#include "cmd/mcp_keys.h"
#include "deal/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ID = 8 /* digits of the hash that name a key in lists */ };

static const char *file_of(const McpOptions *o)
{
	return o->keys ? o->keys : MCP_KEYS_PATH;
}

/* One writer at a time; the lock lies on the folder, since the file is replaced. */
static bool lock_folder(Arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *folder = !slash ? "." : slash == path ? "/" : str_printf(a, "%.*s", (int)(slash - path), path).p;

	if ((strcmp(path, MCP_KEYS_PATH) == 0 && mkdir("/etc/sonde", 0755) < 0 && errno != EEXIST) || access(folder, W_OK) < 0) {
		cmd_fail(0, "%s: %s%s", path, strerror(errno), errno == EACCES ? ": run this as root, or name a file of yours with --keys" : "");
		return false;
	}
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX) == 0)
		return true; /* until this process ends */
	cmd_fail(0, "%s: %s", folder, strerror(errno));
	return false;
}

static bool read_file(Arena *a, const char *path, Str *ret_text)
{
	const char *why = mcp_keys_read(a, path, true, ret_text);

	if (why)
		cmd_fail(0, "%s", why);
	return !why;
}

/* A blank or a line's end in what was given would make more of it than was asked for. */
static bool reads_back(const McpOptions *o, const char *policy, Str row)
{
	KeyRow r;

	return keys_next(&row, &r) == 1 && !row.n && str_is(r.name, o->args.v[2]) && str_is(r.subject, o->subject ? o->subject : "") &&
	       str_is(r.policy, policy ? policy : "");
}

/* The row that was asked for; the key, if it has one, in `key`. */
static int make_row(Arena *a, const McpOptions *o, const char *policy, Str *ret_row, char key[KEYS_KEY])
{
	uint8_t secret[KEYS_SECRET];
	char hex[SHA256_TEXT];
	Sb b = sb(a);

	if (o->subject) {
		sb_printf(&b, "%s subject=%s", o->args.v[2], o->subject);
	} else {
		if (getrandom(secret, sizeof secret, 0) != sizeof secret)
			return cmd_fail(SONDE_EXIT_ENVIRONMENT, "no random numbers: %s", strerror(errno));
		keys_text(secret, key);
		hash_format(keys_hash(str_c(key)), hex);
		sb_printf(&b, "%s key=%s", o->args.v[2], hex);
	}
	if (o->until)
		sb_printf(&b, " until=%s", o->until);
	if (policy)
		sb_printf(&b, " policy=%s", policy);
	sb_char(&b, '\n');
	*ret_row = sb_done(&b);
	return reads_back(o, policy, *ret_row)
		       ? SONDE_EXIT_OK
		       : cmd_fail(SONDE_EXIT_USAGE, "a subject and the path of a policy are printable ASCII without blanks, of at most %d and %d bytes",
				  KEYS_SUBJECT, KEYS_PATH);
}

/* The policy of a name that has rows already, or the one that is given. */
static const char *policy_for(Arena *a, const McpOptions *o, Str text)
{
	char *full = o->policy.n ? realpath(o->policy.v[0], NULL) : NULL;
	const char *given = full ? str_printf(a, "%s", full).p : o->policy.n ? o->policy.v[0] : NULL;
	KeyRow r;

	free(full);
	while (!given && keys_next(&text, &r) == 1)
		if (r.policy.n && str_is(r.name, o->args.v[2]))
			return str_printf(a, "%.*s", STR_ARG(r.policy)).p;
	return given;
}

static int add(Arena *a, const McpOptions *o)
{
	const char *path = file_of(o), *why;
	char key[KEYS_KEY] = "";
	unsigned line;
	Str text, row;
	Sb all = sb(a);

	if (!keys_name_ok(str_c(o->args.v[2])))
		return cmd_fail(SONDE_EXIT_USAGE, "a caller's name is at most %d letters, digits and ._@+-", KEYS_NAME);
	if (o->until && !keys_day(str_c(o->until)))
		return cmd_fail(SONDE_EXIT_USAGE, "--until takes a day, YYYY-MM-DD");
	if (o->until && keys_day(str_c(o->until)) < keys_today(time(NULL)))
		return cmd_fail(SONDE_EXIT_USAGE, "--until %s: this day is over", o->until);
	if (o->policy.n > 1)
		return cmd_fail(SONDE_EXIT_USAGE, "one --policy, the caller's");
	if (o->policy.n && access(o->policy.v[0], R_OK) < 0)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "--policy %s: %s", o->policy.v[0], strerror(errno));
	if (!lock_folder(a, path) || !read_file(a, path, &text))
		return SONDE_EXIT_ENVIRONMENT;
	int exit = make_row(a, o, policy_for(a, o, text), &row, key);

	if (exit)
		return exit;
	sb_str(&all, text);
	if (text.n && text.p[text.n - 1] != '\n')
		sb_char(&all, '\n');
	sb_str(&all, row);
	text = sb_done(&all);
	if (!keys_check(text, &line, &why))
		return cmd_fail(SONDE_EXIT_USAGE, "%s: %s", o->args.v[2], why);
	exit = cmd_replace_file(a, path, text, 0644);
	if (exit || !key[0])
		return exit;
	fprintf(stderr, "the key of %s; it is shown this once, and only its hash is kept in %s:\n", o->args.v[2], path);
	printf("%s\n", key);
	return SONDE_EXIT_OK;
}

static void id_of(const KeyRow *r, char ret[SHA256_TEXT])
{
	hash_format(r->hash, ret);
	ret[ID] = 0;
}

static int list(Arena *a, const McpOptions *o)
{
	uint32_t today = keys_today(time(NULL));
	char id[SHA256_TEXT];
	KeyRow r;
	Str text;

	if (!read_file(a, file_of(o), &text))
		return SONDE_EXIT_ENVIRONMENT;
	while (keys_next(&text, &r) == 1) {
		id_of(&r, id);
		printf("%.*s %s%.*s", STR_ARG(r.name), r.by_subject ? "subject " : id, STR_ARG(r.subject));
		if (r.until)
			printf(" until %04u-%02u-%02u%s", r.until / 10000, r.until / 100 % 100, r.until % 100,
			       keys_row_good(&r, today) ? "" : ", over");
		if (r.policy.n)
			printf(" policy %.*s", STR_ARG(r.policy));
		printf("\n");
	}
	return SONDE_EXIT_OK;
}

/* All rows of a name, or the one key with that id. */
static int take_away(Arena *a, const McpOptions *o)
{
	const char *path = file_of(o);
	unsigned gone = 0;
	char id[SHA256_TEXT];
	Sb all = sb(a);
	Str text;

	if (!lock_folder(a, path) || !read_file(a, path, &text))
		return SONDE_EXIT_ENVIRONMENT;
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		Str line = { text.p, end ? (size_t)(end - text.p) + 1 : text.n }, one = line;
		KeyRow r;
		bool his = keys_next(&one, &r) == 1;

		if (his) {
			id_of(&r, id);
			his = str_is(r.name, o->args.v[2]) || (!r.by_subject && strcmp(id, o->args.v[2]) == 0);
		}
		gone += his;
		if (!his)
			sb_str(&all, line);
		text = (Str){ text.p + line.n, text.n - line.n };
	}
	if (!gone)
		return cmd_fail(SONDE_EXIT_USAGE, "%s: there is no caller or key of that name in %s", o->args.v[2], path);
	int exit = cmd_replace_file(a, path, sb_done(&all), 0644);

	if (!exit)
		printf("%u row%s gone: refused from now on\n", gone, gone == 1 ? "" : "s");
	return exit;
}

int mcp_key(const McpOptions *o)
{
	static const struct {
		const char *name;
		unsigned args;
		int (*run)(Arena *a, const McpOptions *o);
	} verbs[] = { { "add", 3, add }, { "list", 2, list }, { "revoke", 3, take_away } };
	Arena a = cmd_arena(16 << 20);

	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (o->args.n == verbs[i].args && strcmp(o->args.v[1], verbs[i].name) == 0)
			return verbs[i].run(&a, o);
	return cmd_fail(SONDE_EXIT_USAGE, "write sonde mcp key add NAME, sonde mcp key list, or sonde mcp key revoke NAME_OR_ID");
}
