/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/netd.h"

#include "base/exits.h"
#include "gate/plan.h"
#include "sys/proc.h"

#include <errno.h>

typedef int NetdHandler(Nft *nft, const int *fds, size_t n, NetdAnswer *a);

/* What the descriptors hold, as the kernel says; false if one holds nothing. */
static bool held_all(const int *fds, size_t n, Held *ret)
{
	for (size_t i = 0; i < n; i++)
		if (!hold_read(fds[i], &ret[i]))
			return false;
	return n > 0;
}

static int change(Nft *nft, const int *fds, size_t n, bool add)
{
	Held held[PROC_FDS];

	return held_all(fds, n, held) ? nft_own(nft, held, n, add) : -EINVAL;
}

static int on_add(Nft *nft, const int *fds, size_t n, NetdAnswer *a)
{
	(void)a;
	return change(nft, fds, n, true);
}

static int on_drop(Nft *nft, const int *fds, size_t n, NetdAnswer *a)
{
	(void)a;
	return change(nft, fds, n, false);
}

static int on_count(Nft *nft, const int *fds, size_t n, NetdAnswer *a)
{
	(void)fds;
	return n ? -EINVAL : nft_dropped(nft, &a->packets);
}

static const struct {
	NetdHandler *handle;
	const char *safe_because;
} requests[] = {
	[NETD_ADD] = { on_add, "only a port that the caller's own bound socket holds is hidden from the kernel: "
			       "nobody else can have a connection on it" },
	[NETD_DROP] = { on_drop, "it gives back to the kernel what ADD hid, for a socket that still holds it" },
	[NETD_COUNT] = { on_count, "it reads counters of our own table and changes nothing" },
};

static NetdAnswer answer(Nft *nft, const NetdRequest *q, ssize_t len, const int *fds, size_t n)
{
	NetdAnswer a = { 0 };

	if (len != sizeof *q || q->op >= sizeof requests / sizeof *requests || !requests[q->op].handle)
		a.err = EBADMSG;
	else
		a.err = -requests[q->op].handle(nft, fds, n, &a);
	return a;
}

int netd_serve(int gate_fd, Nft *nft)
{
	for (;;) {
		NetdRequest q;
		int fds[PROC_FDS];
		size_t n = 0;
		ssize_t len = proc_recv(gate_fd, &q, sizeof q, fds, PROC_FDS, &n);

		if (len <= 0)
			break;
		NetdAnswer a = answer(nft, &q, len, fds, n);
		for (size_t i = 0; i < n; i++)
			proc_close(&fds[i]);
		if (proc_send(gate_fd, BYTES(&a, sizeof a), NULL, 0))
			break;
	}
	/* guardrails.md 4: a run ends by proof */
	return nft_remove(nft) ? SONDE_EXIT_ENVIRONMENT : SONDE_EXIT_OK;
}
