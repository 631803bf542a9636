/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mcp_keys.h"

#include "deal/keys.h"
#include "sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *say(Arena *a, const char *path, const char *what)
{
	return str_printf(a, "%s: %s", path, what).p;
}

/* Others may write in a folder such as /tmp, but not take away what is there. */
static bool is_ours(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == getuid()) && (!(st->st_mode & 022) || (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX));
}

static bool folder_is_ours(Arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *folder = !slash ? "." : slash == path ? "/" : str_printf(a, "%.*s", (int)(slash - path), path).p;
	struct stat st;

	return stat(folder, &st) == 0 && is_ours(&st);
}

const char *mcp_keys_read(Arena *a, const char *path, bool missing_ok, Str *ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	const char *why = NULL;
	unsigned line = 0;
	struct stat st;

	*ret_text = (Str){ .p = "" };
	if (fd < 0)
		return missing_ok && errno == ENOENT ? NULL : say(a, path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > KEYS_TEXT) {
		why = say(a, path, "no regular file of at most 1 MB");
	} else if (!is_ours(&st) || !folder_is_ours(a, path)) {
		why = say(a, path, "it or its folder belongs to, or can be written by, somebody else");
	} else {
		char *buf = arena_alloc(a, (size_t)st.st_size + 1);
		ssize_t n = io_read(fd, buf, (size_t)st.st_size + 1);

		if (n < 0 || n > st.st_size)
			why = say(a, path, "can't be read, or changes meanwhile");
		else
			*ret_text = (Str){ buf, (size_t)n };
	}
	close(fd);
	if (why)
		return why;
	return keys_check(*ret_text, &line, &why) ? NULL : str_printf(a, "%s:%u: %s", path, line, why).p;
}

const char *mcp_keys_policy(Arena *a, const char *keys_file, const char *caller, const char **ret_path)
{
	uint32_t today = keys_today(time(NULL));
	bool good = false;
	KeyRow r;
	Str text;
	const char *why = mcp_keys_read(a, keys_file, false, &text);

	*ret_path = NULL;
	if (why)
		return why;
	while (keys_next(&text, &r) == 1)
		if (str_is(r.name, caller)) {
			good = good || keys_row_good(&r, today);
			if (r.policy.n)
				*ret_path = str_printf(a, "%.*s", STR_ARG(r.policy)).p;
		}
	return good ? NULL : say(a, keys_file, "this caller has no key, or none that is still good");
}
