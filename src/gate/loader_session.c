/* SPDX-License-Identifier: Apache-2.0
 *
 * The session of an agent, as far as the loader has to do with it: a file of memory
 * that the caller keeps as long as the session lasts.
 */
#include "gate/loader_inside.h"

#include "base/exits.h"

#include <errno.h>
#include <unistd.h>

bool loader_session(Loader *l)
{
	uint8_t *buf;
	ssize_t n;

	if (l->o->session_fd <= 0)
		return true;
	buf = arena_alloc(l->a, SESSION_MOST + 1);
	n = pread(l->o->session_fd, buf, SESSION_MOST + 1, 0);
	if (n < 0 || !session_read(BYTES(buf, (size_t)n), l->a, &l->session))
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "what this session was shown can't be read: nothing is sent; begin a new one");
	if (n > SESSION_MOST - 2 * SESSION_RECORD)
		return loader_fail(l, SONDE_EXIT_POLICY, "this session has seen as much as can be kept of one: begin a new one");
	return true;
}

bool loader_session_had(Loader *l)
{
	Writer w;

	/* what a person let happen once the session does not have from then on */
	if (l->o->session_fd <= 0 || l->approved)
		return true;
	w = writer(arena_alloc(l->a, SESSION_RECORD), SESSION_RECORD);
	/* one that is not kept counts as not had: a later run needs a person */
	if (!session_had(&w, l->rules, &l->manifest, l->a))
		return true;
	/* the file appends, whatever the offset; its records are never half ones */
	return pwrite(l->o->session_fd, w.p, w.n, 0) == (ssize_t)w.n ||
	       loader_fail(l, SONDE_EXIT_ENVIRONMENT, "what this session has can't be kept: %s", strerror(errno));
}
