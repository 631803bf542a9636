/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes and the channels between them.
 *
 * Promises relied on: a pidfd names one process for ever, so a signal never hits
 * a stranger (pidfd_open(2)); the kernel sends PR_SET_PDEATHSIG's signal when the
 * parent ends, into a child's pid namespace as well; SOCK_SEQPACKET of AF_UNIX
 * keeps message boundaries and tells the end of the peer; SCM_RIGHTS passes at
 * most 253 descriptors a message, CLOEXEC here by MSG_CMSG_CLOEXEC.
 *
 * Functions return 0 or a descriptor, or -errno.
 */
#ifndef SONDE_SYS_PROC_H
#define SONDE_SYS_PROC_H

#include "base/bytes.h"

#include <sys/types.h>

typedef struct Child {
	pid_t pid;
	int fd; /* pidfd; -1: none */
} Child;

#define CHILD_NONE ((Child){ .pid = -1, .fd = -1 })

/* Forks.  1 in the parent (with the child), 0 in the child. */
int proc_fork(Child *ret_child);

/* Forks into new namespaces (CLONE_NEWUSER | CLONE_NEWPID ...), where the child
 * is the first process and its death the end of all. */
int proc_fork_ns(Child *ret_child, int clone_flags);

/* A pidfd of the caller, for proc_die_with() of its children. */
int proc_self_fd(void);

/* Kills the caller when `parent_fd`'s process, its parent, ends - also if that
 * has happened already. */
void proc_die_with(int parent_fd);

void proc_kill(const Child *c);

/* Waits at most timeout_ms (-1: for ever) and reaps.  The exit code, 256 + signal,
 * or -ETIMEDOUT. */
int proc_wait(Child *c, int timeout_ms);

/* Closes all descriptors but these; `keep` is sorted in place.  False: some may be open. */
bool proc_close_all_but(int *keep, size_t n);

/* Lowers a resource limit (RLIMIT_*) for good; false: it stands. */
bool proc_limit(int what, uint64_t most);

/* Keeps the process from being traced or dumped and clears its environment. */
void proc_seal(void);

/* The binary `name` that lies beside the running one, or in ../libexec/sonde/, ready for
 * proc_exec(); -errno. */
int proc_helper(const char *name);

/* Becomes that binary: args are its arguments, fds[i] its descriptor 3 + i, the
 * environment is empty; of what else is open only the standard three stay.  Returns
 * -errno. */
int proc_exec(int exe_fd, const char *const *args, const int *fds, size_t n);

/* ---- channels ---- */

/* Both ends CLOEXEC, buffers as large as the kernel gives without a right. */
int proc_channel(int ret_fd[2]);
/* How much may be under way that one end has written. */
void proc_channel_limit(int fd, int bytes);

enum { PROC_FDS = 253 };

/* One message with n <= PROC_FDS descriptors. */
int proc_send(int sock, Bytes data, const int *fds, size_t n);

/* One message: its length (0: the other side is gone), or -errno; -EMSGSIZE if it
 * was cut.  Descriptors beyond `cap_fds` are closed by the kernel. */
ssize_t proc_recv(int sock, void *buf, size_t cap, int *fds, size_t cap_fds, size_t *ret_n);

/* Waits until fd is readable or has ended; false at the time-out. */
bool proc_readable(int fd, int timeout_ms);

void proc_close(int *fd);

#endif
