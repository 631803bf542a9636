/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int proc_fork_ns(Child *ret_child, int clone_flags)
{
	int fd = -1;
	/* clone(2) as fork: no new stack; glibc's fork() has no way to name namespaces */
	long pid = syscall(SYS_clone, (unsigned long)(clone_flags | SIGCHLD | CLONE_PIDFD), NULL, &fd, NULL, 0);

	if (pid < 0)
		return -errno;
	if (pid == 0)
		return 0;
	*ret_child = (Child){ .pid = (pid_t)pid, .fd = fd };
	return 1;
}

int proc_fork(Child *ret_child)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		return 0;
	*ret_child = (Child){ .pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0) };
	return 1;
}

int proc_self_fd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd < 0 ? -errno : fd;
}

void proc_die_with(int parent_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* a pidfd is readable when its process has ended: before the line above took hold */
	if (parent_fd >= 0 && proc_readable(parent_fd, 0))
		_exit(1);
}

void proc_kill(const Child *c)
{
	if (c->fd >= 0)
		syscall(SYS_pidfd_send_signal, c->fd, SIGKILL, NULL, 0);
}

int proc_wait(Child *c, int timeout_ms)
{
	int status = 0;

	if (c->pid <= 0)
		return -ECHILD;
	if (c->fd >= 0 && !proc_readable(c->fd, timeout_ms))
		return -ETIMEDOUT;
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	proc_close(&c->fd);
	c->pid = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static int int_cmp(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

bool proc_close_all_but(int *keep, size_t n)
{
	unsigned from = 0;
	bool ok = true;

	qsort(keep, n, sizeof *keep, int_cmp);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < 0 || (unsigned)keep[i] < from)
			continue;
		if ((unsigned)keep[i] > from)
			ok = syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0) == 0 && ok;
		from = (unsigned)keep[i] + 1;
	}
	return syscall(SYS_close_range, from, ~0u, 0) == 0 && ok;
}

bool proc_limit(int what, uint64_t most)
{
	struct rlimit l = { most, most };

	return setrlimit((__rlimit_resource_t)what, &l) == 0;
}

void proc_seal(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	for (char **e = environ; e && *e; e++) /* /proc/PID/environ shows the memory itself */
		memset(*e, 0, strlen(*e));
	clearenv();
}

int proc_helper(const char *name)
{
	static const char *const where[] = { "%s/%s", "%s/../libexec/sonde/%s" };
	char self[4096], path[4400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	int fd = -1;

	if (n <= 0)
		return -errno;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (unsigned i = 0; i < 2 && fd < 0; i++) {
		snprintf(path, sizeof path, where[i], self, name);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

enum { EXEC_FIRST = 3, EXEC_ASIDE = 64 };

int proc_exec(int exe_fd, const char *const *args, const int *fds, size_t n)
{
	char *const none[] = { NULL };
	int exe = fcntl(exe_fd, F_DUPFD_CLOEXEC, EXEC_ASIDE), aside[8];

	if (exe < 0 || n > sizeof aside / sizeof *aside)
		return exe < 0 ? -errno : -EINVAL;
	for (size_t i = 0; i < n; i++) /* out of the way of each other first */
		aside[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, EXEC_ASIDE);
	for (size_t i = 0; i < n; i++)
		if (aside[i] < 0 || dup2(aside[i], EXEC_FIRST + (int)i) < 0)
			return -errno;
	syscall(SYS_close_range, EXEC_FIRST + (unsigned)n, (unsigned)exe - 1, 0);
	syscall(SYS_execveat, exe, "", args, none, AT_EMPTY_PATH);
	return -errno;
}

int proc_channel(int ret_fd[2])
{
	int most = 4 << 20; /* the kernel lowers it to net.core.[rw]mem_max */

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fd))
		return -errno;
	for (int i = 0; i < 2; i++)
		setsockopt(ret_fd[i], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
	return 0;
}

void proc_channel_limit(int fd, int bytes)
{
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int proc_send(int sock, Bytes data, const int *fds, size_t n)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data.p, .iov_len = data.n };
	_Alignas(struct cmsghdr) uint8_t ctl[CMSG_SPACE(PROC_FDS * sizeof(int))];
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;

	if (n > PROC_FDS)
		return -EINVAL;
	if (n) {
		memset(ctl, 0, sizeof ctl);
		m.msg_control = ctl;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	do {
		r = sendmsg(sock, &m, MSG_NOSIGNAL);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return (size_t)r == data.n ? 0 : -EMSGSIZE;
}

static size_t take_fds(struct msghdr *m, int *fds, size_t cap)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t have = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < have; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (n < cap)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

ssize_t proc_recv(int sock, void *buf, size_t cap, int *fds, size_t cap_fds, size_t *ret_n)
{
	struct iovec iov = { .iov_base = buf, .iov_len = cap };
	_Alignas(struct cmsghdr) uint8_t ctl[CMSG_SPACE(PROC_FDS * sizeof(int))];
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;
	size_t n;

	if (fds && cap_fds) {
		m.msg_control = ctl;
		m.msg_controllen = sizeof ctl;
	}
	do {
		r = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	n = take_fds(&m, fds, cap_fds);
	if (ret_n)
		*ret_n = n;
	if (m.msg_flags & MSG_TRUNC) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		if (ret_n)
			*ret_n = 0;
		return -EMSGSIZE;
	}
	return r;
}

bool proc_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	do {
		r = poll(&p, 1, timeout_ms);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

void proc_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
