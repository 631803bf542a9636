/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opener_state.h"

#include "base/limits.h"
#include "gate/ledger.h"
#include "sys/proc.h"
#include "sys/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = SHA256_TEXT + 16 };

int opener_state_open(OpenerState *s, int gate_fd)
{
	PlanState told = { 0 };
	int fds[2], n = 0, r = state_group_use(), folder = r ? r : state_folder(NULL);
	int ledger = folder < 0 ? folder : state_file(folder, LEDGER_FILE, O_RDWR);
	int log = folder < 0 ? folder : state_file(folder, LEDGER_LOG, O_RDWR | O_APPEND);

	s->uid = getuid();
	s->requests = state_folder(STATE_REQUESTS);
	s->approvals = state_folder(STATE_APPROVALS);
	if (ledger >= 0)
		fds[n++] = ledger;
	if (log >= 0)
		fds[n++] = log;
	told.ledger_err = ledger < 0 ? -ledger : 0;
	told.log_err = log < 0 ? -log : 0;
	r = proc_send(gate_fd, BYTES(&told, sizeof told), fds, (size_t)n);
	for (int i = 0; i < n; i++)
		proc_close(&fds[i]);
	if (folder >= 0)
		close(folder);
	return r;
}

/* ---- approvals ---- */

/* A run that was approved is an empty file of root's; whoever removes it has it. */
static bool token_take(int folder, const char *hex, unsigned i)
{
	char name[NAME];
	struct stat st;

	snprintf(name, sizeof name, "%s-%u", hex, i);
	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == 0 && unlinkat(folder, name, 0) == 0;
}

static bool any_token(int folder, const char *hex)
{
	char name[NAME];
	bool any = false;

	for (unsigned i = 0; i < LIMIT_APPROVED_RUNS && !any; i++) {
		struct stat st;

		snprintf(name, sizeof name, "%s-%u", hex, i);
		any = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return any;
}

/* The record, if a run of it is left: that one is gone from now on. */
static int approval_take(int folder, const char *hex)
{
	int fd = state_file(folder, hex, O_RDONLY);
	bool have = false;

	for (unsigned i = 0; fd >= 0 && i < LIMIT_APPROVED_RUNS && !have; i++)
		have = token_take(folder, hex, i);
	if (fd < 0)
		return fd;
	if (!any_token(folder, hex))
		unlinkat(folder, hex, 0);
	if (have)
		return fd;
	close(fd);
	return -ENOENT;
}

/* ---- requests ---- */

/* So many a user. */
static void request_name(unsigned uid, Hash h, char name[NAME])
{
	snprintf(name, NAME, "%u-%u", uid, h.b[0] % LIMIT_REQUESTS);
}

/* An older one that meets it gives way. */
static int request_make(int folder, unsigned uid, Hash h)
{
	char name[NAME];
	int fd;

	request_name(uid, h, name);
	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* The one that waits there is gone; whether it is meant is for those to say who read it. */
static int request_take(int folder, unsigned uid, Hash h)
{
	char name[NAME];
	int fd;

	request_name(uid, h, name);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	unlinkat(folder, name, 0);
	return fd;
}

int opener_state_ask(const OpenerState *s, const PlanAsk *ask)
{
	char hex[SHA256_TEXT];

	hash_format(ask->hash, hex);
	if (ask->op == PLAN_ASK_APPROVAL)
		return s->approvals < 0 ? s->approvals : approval_take(s->approvals, hex);
	if (ask->op == PLAN_ASK_REQUEST)
		return s->requests < 0 ? s->requests : request_make(s->requests, s->uid, ask->hash);
	if (ask->op == PLAN_ASK_TAKE_BACK)
		return s->requests < 0 ? s->requests : request_take(s->requests, s->uid, ask->hash);
	return -EBADMSG;
}

int opener_state_close(OpenerState *s)
{
	if (s->requests >= 0)
		close(s->requests);
	if (s->approvals >= 0)
		close(s->approvals);
	s->requests = s->approvals = -EBADF;
	return state_group_drop();
}
