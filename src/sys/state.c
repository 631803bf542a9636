/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0730, FILE_MODE = 0660, OTHERS = 07, OTHERS_MAY_WRITE = 02 };

/* ---- the group ---- */

int state_group_hide(void)
{
	gid_t real, effective, saved;

	if (getresgid(&real, &effective, &saved))
		return -errno;
	if (effective == real)
		return 0;
	return setresgid((gid_t)-1, real, effective) ? -errno : 0;
}

int state_group_use(void)
{
	gid_t real, effective, saved;

	if (getresgid(&real, &effective, &saved) || setresgid((gid_t)-1, saved, (gid_t)-1))
		return -errno;
	return 0;
}

int state_group_drop(void)
{
	gid_t real = getgid();

	return setresgid(real, real, real) ? -errno : 0;
}

/* ---- opening ---- */

static int closing(int fd, int err)
{
	close(fd);
	return err;
}

static int open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return closing(fd, -errno);
	return st.st_uid == 0 && !(st.st_mode & OTHERS_MAY_WRITE) ? fd : closing(fd, -EPERM);
}

int state_folder(const char *name)
{
	int top = open_folder(AT_FDCWD, STATE_FOLDER), fd;

	if (top < 0 || !name)
		return top;
	fd = open_folder(top, name);
	return closing(top, fd);
}

int state_file(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &st))
		return closing(fd, -errno);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || st.st_mode & OTHERS || st.st_nlink != 1)
		return closing(fd, -EPERM);
	return fd;
}

/* ---- making ---- */

/* From the file alone, as the sandbox finds the user. */
static bool group_find(gid_t *ret_gid)
{
	FILE *f = fopen("/etc/group", "re");
	struct group *g;
	bool found = false;

	while (f && !found && (g = fgetgrent(f)))
		if (strcmp(g->gr_name, STATE_GROUP) == 0 && g->gr_gid != 0) {
			*ret_gid = g->gr_gid;
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static int make_folder(int at, const char *name, gid_t gid)
{
	int fd;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchown(fd, 0, gid) || fchmod(fd, FOLDER_MODE))
		return closing(fd, -errno);
	return fd;
}

int state_make(gid_t *ret_gid)
{
	static const char *const inside[] = { STATE_REQUESTS, STATE_APPROVALS };
	int top, fd = 0;

	if (!group_find(ret_gid))
		return -ESRCH;
	top = make_folder(AT_FDCWD, STATE_FOLDER, *ret_gid);
	if (top < 0)
		return top;
	for (size_t i = 0; i < sizeof inside / sizeof inside[0] && fd >= 0; i++) {
		fd = make_folder(top, inside[i], *ret_gid);
		if (fd >= 0)
			close(fd);
	}
	return closing(top, fd < 0 ? fd : 0);
}

int state_create(int folder, const char *name, gid_t gid)
{
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fchown(fd, 0, gid) || fchmod(fd, FILE_MODE))
		return closing(fd, -errno);
	return fd;
}
