/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of what outlives a run, and the right to it.
 *
 *   /var/lib/sonde             root:sonde 0730    the group makes and finds, nobody lists
 *   /var/lib/sonde/ledger      root:sonde 0660    likewise the log
 *   /var/lib/sonde/requests    root:sonde 0730    likewise approvals
 *
 * Promises relied on: a binary that is setgid runs with that group as effective and
 * saved one; a process may move between its real and its saved group, and what it
 * gives up as real, effective and saved never comes back (credentials(7));
 * O_NOFOLLOW refuses a link as the last part of a name.
 *
 * Root needs no group.  An ordinary user has it by the binary alone, for the moments
 * between state_group_use() and state_group_hide(): files that he names himself are
 * opened without it.
 */
#ifndef SONDE_SYS_STATE_H
#define SONDE_SYS_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#define STATE_FOLDER "/var/lib/sonde"
#define STATE_REQUESTS "requests"
#define STATE_APPROVALS "approvals"
#define STATE_GROUP "sonde"

/* The group of the binary: put aside, taken up, given up for good.  0 or -errno. */
int state_group_hide(void);
int state_group_use(void);
int state_group_drop(void);

/* The folder, or one in it (name NULL: the folder itself), by O_PATH.  -ENOENT: there
 * is none; -EPERM: it is not root's alone; another -errno. */
int state_folder(const char *name);

/* A file in `folder`: regular, of root, nobody else's to read, with one name.  -ENOENT;
 * -EPERM: it is none of that; another -errno. */
int state_file(int folder, const char *name, int flags);

/* For root: makes folder, requests and approvals; 0 or -errno, -ESRCH if there is no
 * group sonde. */
int state_make(gid_t *ret_gid);
/* Makes a file of root:sonde 0660 that was not there: a descriptor or -errno. */
int state_create(int folder, const char *name, gid_t gid);

#endif
