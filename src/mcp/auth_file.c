/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/auth_file.h"

#include "sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool same_version(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
	       a->st_uid == b->st_uid && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static AuthFileSaid bad(AuthFile *f, char why[AUTH_WHY], const char *what)
{
	snprintf(why, AUTH_WHY, "%s: %s", f->path, what);
	return AUTH_FILE_BAD;
}

static AuthFileSaid read_open(AuthFile *f, int fd, char why[AUTH_WHY])
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > AUTH_FILE_MOST)
		return bad(f, why, "no regular file of at most 1 MB");
	f->seen = st;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022)
		return bad(f, why, "it belongs to somebody else, or can be written by others");
	f->text = malloc((size_t)st.st_size + 1);
	ssize_t n = f->text ? io_read(fd, f->text, (size_t)st.st_size + 1) : -ENOMEM;

	if (n == st.st_size) {
		f->n = (size_t)n;
		return AUTH_FILE_NEW;
	}
	free(f->text);
	f->text = NULL;
	return bad(f, why, n < 0 ? strerror((int)-n) : "it changes while it is read");
}

AuthFileSaid auth_file_look(AuthFile *f, char why[AUTH_WHY])
{
	struct stat now;
	AuthFileSaid said;

	if (stat(f->path, &now) < 0) { /* told once, too: an inode of 0 is no file's */
		bool known = f->seen.st_mode && !f->seen.st_ino;
		int e = errno;

		auth_file_free(f);
		f->seen = (struct stat){ .st_mode = S_IFREG };
		return known ? AUTH_FILE_SAME : bad(f, why, strerror(e));
	}
	if (same_version(&now, &f->seen))
		return AUTH_FILE_SAME;
	auth_file_free(f);
	f->seen = now;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return bad(f, why, strerror(errno));
	said = read_open(f, fd, why);
	close(fd);
	return said;
}

void auth_file_free(AuthFile *f)
{
	free(f->text);
	f->text = NULL;
	f->n = 0;
}
