/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ledgers.h"

#include "base/str.h"
#include "gate/purse.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const char *ledgers_session(Arena *a)
{
	return str_printf(a, "uid %u", (unsigned)getuid()).p;
}

static int open_both(int fds[2])
{
	int folder = state_folder(NULL);

	if (folder < 0)
		return folder;
	fds[0] = state_file(folder, LEDGER_FILE, O_RDWR);
	fds[1] = state_file(folder, LEDGER_LOG, O_RDWR | O_APPEND);
	close(folder);
	return fds[0] < 0 ? fds[0] : fds[1] < 0 ? fds[1] : 0;
}

const char *ledgers_open(Arena *a, Ledger *ret_l)
{
	return ledgers_open_as(a, ledgers_session(a), ret_l);
}

const char *ledgers_open_as(Arena *a, const char *session, Ledger *ret_l)
{
	int fds[2] = { -1, -1 }, r = state_group_use();

	if (!r)
		r = open_both(fds);
	state_group_hide();
	const char *why = r ? NULL : ledger_open(ret_l, fds[0], fds[1], session);

	if (!r && !why)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return why	       ? why
	       : r == -ENOENT ? "there is no ledger " LEDGER_PATH ": as root, `sonde ledger init` makes it"
	       : r == -EACCES ? "the ledger " LEDGER_PATH " can't be opened: use sudo, or install the binary setgid sonde "
				"(scripts/setcap.sh)"
	       : r == -EPERM  ? "the ledger " LEDGER_PATH " is not root's alone: it and its folder must belong to root and the "
				"group sonde, with no right for others, and be no links"
			      : str_printf(a, "the ledger " LEDGER_PATH ": %s", strerror(-r)).p;
}

void ledgers_close(Ledger *l)
{
	close(l->fd);
	close(l->log_fd);
}

typedef struct HourUse {
	const char *session;
	LedgerCount used;
} HourUse;

static void find_used(void *ctx, char kind, const LedgerRow *r, int64_t now)
{
	HourUse *u = ctx;

	if (kind == 's' && strcmp(r->name, u->session) == 0)
		u->used = ledger_row_sum(r, LEDGER_HOUR, now);
}

void ledgers_hour_text(const PolicyList *list, Ledger *l, const char *fault, const char *session, Sb *out)
{
	LedgerCount most = purse_hour_bounds(list->p, list->n);
	HourUse u = { .session = session };

	if (!fault)
		fault = ledger_each(l, find_used, &u);
	for (unsigned k = 0; k < LEDGER_N; k++) {
		if (most.v[k] == UINT64_MAX)
			continue;
		sb_printf(out, "# hour_%s=%llu: ", ledger_kind_name((LedgerKind)k), (unsigned long long)most.v[k]);
		if (fault)
			sb_printf(out, "nothing can be sent: %s\n", fault);
		else
			sb_printf(out, "%llu used by %s in the last hour\n", (unsigned long long)u.used.v[k], session);
	}
}
