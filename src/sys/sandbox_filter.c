/* SPDX-License-Identifier: Apache-2.0
 *
 * Allow-lists as tables: a row per system call, with the reason why the role
 * needs it; all else kills the process.  libseccomp turns them into BPF.
 */
#include "sys/sandbox_filter.h"

#include "sys/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANY = -1 };

typedef struct CallRow {
	int nr;
	int arg;	/* this argument must ... ; ANY: none */
	uint64_t mask;	/* ... under this mask ... */
	uint64_t value; /* ... have this value */
	const char *why;
} CallRow;

typedef struct CallTable {
	const CallRow *rows;
	size_t n;
} CallTable;

#define CALL(name, why) { SCMP_SYS(name), ANY, 0, 0, why }
#define CALL_IF(name, arg, value, why) { SCMP_SYS(name), arg, 0xffffffffu, value, why }
#define CALL_BITS(name, arg, mask, value, why) { SCMP_SYS(name), arg, mask, value, why }
#define TABLE(rows) { rows, sizeof(rows) / sizeof *(rows) }

static const CallRow common_rows[] = {
	CALL(read, "channels and files that are open"),
	CALL(write, "channels"),
	CALL(close, ""),
	CALL(recvmsg, "channels, netlink, packets"),
	CALL(sendmsg, "channels, netlink"),
	CALL(sendto, "libmnl"),
	CALL(recvfrom, "libmnl"),
	CALL(poll, "waiting for an answer"),
	CALL(ppoll, "waiting for an answer"),
	CALL(brk, "malloc of libmnl, libnftnl, libpcap"),
	CALL(mmap, "malloc"),
	CALL(munmap, "malloc"),
	CALL(mremap, "malloc"),
	CALL(madvise, "free"),
	CALL(getrandom, "malloc's seed; ids and ports"),
	CALL(clock_gettime, "where the vDSO has no clock"),
	CALL(getpid, "libmnl's sequence"),
	CALL(futex, "stdio's locks"),
	CALL(rt_sigreturn, ""),
	CALL(restart_syscall, "poll after a stop"),
	CALL(exit_group, ""),
	CALL(exit, ""),
};

static const CallRow narrow_rows[] = {
	CALL(prctl, "no_new_privs before a narrower filter"),
	CALL(seccomp, "a narrower filter"),
};

static const CallRow port_rows[] = {
	CALL_IF(socket, 0, AF_INET, "ports held by bound sockets; look-ups"),
	CALL_IF(socket, 0, AF_INET6, "likewise"),
	CALL_IF(socket, 0, AF_UNIX, "ICMP ids held by bound names"),
	CALL(bind, "holding a port"),
	CALL(getsockname, "which port it is"),
	CALL(setsockopt, "IPV6_V6ONLY; receive buffers"),
};

static const CallRow loader_rows[] = {
	CALL_BITS(openat, 2, O_ACCMODE | O_CREAT, O_RDONLY, "/etc/hosts, /etc/resolv.conf, libraries"),
	CALL(fstat, "stdio"),
	CALL(newfstatat, "stdio"),
	CALL(lseek, "stdio"),
	CALL(pread64, "loading libpcap"),
	CALL(mprotect, "loading libpcap"),
	CALL(connect, "a resolver"),
	CALL_IF(socket, 0, AF_NETLINK, "routes"),
	CALL(timerfd_create, "the gate's timers"),
	CALL(timerfd_settime, ""),
	CALL(epoll_create1, "the gate's loop"),
	CALL(epoll_ctl, ""),
	CALL(getsockopt, "PACKET_STATISTICS"),
	CALL(ftruncate, "what a full disk left of a line of the log"),
};

static const CallRow gate_rows[] = {
	CALL(recvmmsg, "packets and stamps"),
	CALL(sendmmsg, "packets"),
	CALL(epoll_wait, "the loop"),
	CALL(epoll_pwait, "the loop"),
	CALL(epoll_ctl, "the loop"),
	CALL(timerfd_settime, "pacing"),
	CALL(getsockopt, "PACKET_STATISTICS"),
	CALL(flock, "the ledger"),
	CALL(pread64, "the ledger"),
	CALL(pwrite64, "the ledger"),
	CALL(fstat, "where the log ends"),
	CALL(newfstatat, "where the log ends"),
	CALL_IF(ioctl, 1, SIOCOUTQ, "what still waits in the queue"),
	CALL_IF(ioctl, 1, SIOCGIFFLAGS, "is the link up"),
};

static const CallRow opener_rows[] = {
	CALL_IF(socket, 0, AF_PACKET, "what only this process may open"),
	CALL_IF(socket, 0, AF_NETLINK, "netd's table"),
	CALL(getsockopt, "SO_PROTOCOL"),
	CALL(capset, "giving up CAP_NET_RAW"),
	CALL(capget, "proof of that"),
	CALL(openat, "approvals and requests, by names made of hashes"),
	CALL(unlinkat, "an approval that is used; an older request"),
	CALL(newfstatat, "whose they are"),
	CALL(getgid, "giving up the binary's group"),
	CALL(setresgid, "giving up the binary's group"),
	CALL(fstat, "stdio"),
};

static const CallRow netd_rows[] = {
	CALL(getsockname, "which port a bound socket holds"),
	CALL(getsockopt, "of which protocol it is"),
	CALL(setsockopt, "libmnl's receive buffer"),
};

static const CallRow reader_rows[] = {
	CALL(fstat, "stdio"),
	CALL(newfstatat, "stdio"),
	CALL(lseek, "stdio"),
	CALL(fcntl, "fdopen"),
};

static const CallRow tls_rows[] = {
	CALL(mmap, "malloc"),
	CALL(munmap, "malloc"),
	CALL(brk, "malloc"),
	CALL(madvise, "free"),
	CALL(futex, "OpenSSL's locks"),
	CALL(getpid, "OpenSSL asks whether it was forked"),
	CALL(getrandom, "keys and nonces"),
	CALL(clock_gettime, "where the vDSO has no clock"),
	CALL(exit_group, ""),
};

/* Nothing here makes a process, reaches another one, opens a file to write or a socket to
 * somewhere: checkers, engines and gates are of the same user. */
static const CallRow front_rows[] = {
	CALL(accept4, "clients"),
	CALL(shutdown, "clients who are done with"),
	CALL(setsockopt, "TCP_NODELAY"),
	CALL(getsockopt, "the error of a socket"),
	CALL(getpeername, "GnuTLS asks whether it is one"),
	CALL(writev, "GnuTLS's records"),
	CALL(pipe2, "its answer"),
	CALL(memfd_create, "its program"),
	CALL(ftruncate, ""),
	CALL(pwrite64, ""),
	CALL(pread64, ""),
	CALL(eventfd2, "who waits for whom"),
	CALL(epoll_create1, "one descriptor for two ends"),
	CALL(epoll_ctl, "likewise"),
	CALL(epoll_wait, ""),
	CALL(epoll_pwait, ""),
	CALL_IF(fcntl, 1, F_GETFD, "descriptors that stay here"),
	CALL_IF(fcntl, 1, F_SETFD, "likewise"),
	CALL_IF(fcntl, 1, F_GETFL, "sockets that don't wait"),
	CALL_IF(fcntl, 1, F_SETFL, "likewise"),
	CALL(dup3, ""),
	CALL(lseek, "stdio"),
	CALL(fstat, "stdio"),
	CALL(newfstatat, "whether keys are other ones now"),
	CALL(statx, "likewise, where the C library asks so"),
	CALL_BITS(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY, "keys, /etc/resolv.conf"),
	CALL_BITS(mprotect, 2, PROT_EXEC, 0, "stacks, malloc"),
	CALL_BITS(clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM, "threads"),
	CALL(set_robust_list, "threads"),
	CALL(rseq, "threads"),
	CALL(gettid, "threads"),
	CALL(sched_yield, "threads"),
	CALL(sched_getaffinity, "malloc's arenas"),
	CALL_IF(prctl, 0, PR_SET_NAME, "names of threads"),
	CALL(rt_sigprocmask, "a new thread's signals"),
	CALL(rt_sigaction, "abort"),
	CALL(clock_nanosleep, "waiting"),
	CALL(clock_getres, "GnuTLS"),
	CALL(gettimeofday, "where the vDSO has no clock"),
	CALL(time, "likewise"),
	CALL(uname, "the host that a finding was made on"),
	CALL(getuid, "whose a file is"),
	CALL(geteuid, "whose a file is"),
	CALL(getgid, "OpenSSL's secure_getenv"),
	CALL(getegid, "likewise"),
	CALL(getrusage, "GnuTLS's random numbers"),
	CALL_IF(prlimit64, 0, 0, "a thread's stack"),
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const CallRow sanitizer_rows[] = {
	CALL(mmap, "shadow memory"),
	CALL(munmap, ""),
	CALL(mprotect, ""),
	CALL(madvise, ""),
	CALL(sigaltstack, ""),
	CALL(rt_sigaction, ""),
	CALL(rt_sigprocmask, ""),
	CALL(getpid, ""),
	CALL(gettid, ""),
	CALL(futex, ""),
	CALL(sched_yield, ""),
	CALL(tgkill, "abort"),
	CALL_IF(write, 0, 2, "reports"),
	CALL(readlink, "reports"),
	CALL_BITS(openat, 2, O_ACCMODE | O_CREAT, O_RDONLY, "reports"),
	CALL(close, "reports"),
	CALL(fstat, "reports"),
	CALL(newfstatat, "reports"),
	CALL(getrlimit, ""),
	CALL(prlimit64, ""),
};

static const CallTable common = TABLE(common_rows), narrow = TABLE(narrow_rows), port = TABLE(port_rows),
		       loader = TABLE(loader_rows), gate = TABLE(gate_rows), opener = TABLE(opener_rows),
		       netd = TABLE(netd_rows), reader = TABLE(reader_rows), tls = TABLE(tls_rows),
		       front = TABLE(front_rows), sanitizer = TABLE(sanitizer_rows);

enum { ROLE_TABLES = 5 };

static const CallTable *const roles[][ROLE_TABLES] = {
	[SANDBOX_LOADER] = { &common, &narrow, &port, &loader, &gate },
	[SANDBOX_GATE] = { &common, &port, &gate },
	[SANDBOX_OPENER] = { &common, &narrow, &port, &opener },
	[SANDBOX_NETD] = { &common, &netd },
	[SANDBOX_READER] = { &common, &reader },
};

bool sandbox_is_widened(void)
{
	return SANITIZED;
}

/* Calls that this machine has not (poll on arm64) are left out. */
static int row_add(scmp_filter_ctx ctx, const CallRow *r)
{
	if (r->nr < 0)
		return 0;
	if (r->arg == ANY)
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, r->nr, 0);
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, r->nr, 1,
				SCMP_CMP((unsigned)r->arg, SCMP_CMP_MASKED_EQ, r->mask, r->value));
}

static int table_add(scmp_filter_ctx ctx, const CallTable *t)
{
	for (size_t i = 0; i < t->n; i++) {
		int r = row_add(ctx, &t->rows[i]);

		if (r && r != -EEXIST)
			return r;
	}
	return 0;
}

static scmp_filter_ctx filter_new(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);

	if (ctx)
		seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	return ctx;
}

/* Loads (which sets no_new_privs) and frees. */
static int filter_load(scmp_filter_ctx ctx, int r)
{
	if (!r && SANITIZED)
		r = table_add(ctx, &sanitizer);
	if (!r)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

int sandbox_filter(SandboxRole role)
{
	scmp_filter_ctx ctx = filter_new();
	int r = 0;

	if (!ctx)
		return -ENOMEM;
	for (size_t i = 0; i < ROLE_TABLES && !r && roles[role][i]; i++)
		r = table_add(ctx, roles[role][i]);
	return filter_load(ctx, r);
}

static int fd_rules(scmp_filter_ctx ctx, int nr, const int fd[2])
{
	int r = 0;

	for (int i = 0; i < 2 && !r; i++)
		if (fd[i] >= 0)
			r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1,
					     SCMP_CMP(0, SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)fd[i]));
	return r;
}

int sandbox_engine_filter(const int in[2], const int out[2])
{
	scmp_filter_ctx ctx = filter_new();
	int r;

	if (!ctx)
		return -ENOMEM;
	r = fd_rules(ctx, SCMP_SYS(read), in);
	if (!r)
		r = fd_rules(ctx, SCMP_SYS(write), out);
	if (!r)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0);
	return filter_load(ctx, r);
}

int sandbox_tls_filter(int fd)
{
	scmp_filter_ctx ctx = filter_new();
	const int fds[2] = { fd, -1 };
	int r;

	if (!ctx)
		return -ENOMEM;
	r = fd_rules(ctx, SCMP_SYS(read), fds);
	if (!r)
		r = fd_rules(ctx, SCMP_SYS(write), fds);
	if (!r)
		r = table_add(ctx, &tls);
	return filter_load(ctx, r);
}

int sandbox_front_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r;

	if (!ctx)
		return -ENOMEM;
	seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	r = table_add(ctx, &common);
	if (!r)
		r = table_add(ctx, &front);
	if (!r) /* abort */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_CMP32(0, SCMP_CMP_EQ, (uint32_t)getpid(), 0));
	if (!r) /* the control of a run; no datagrams, which go to whom they name */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 2, SCMP_CMP32(0, SCMP_CMP_EQ, AF_UNIX, 0),
				     SCMP_CMP32(1, SCMP_CMP_EQ, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (!r) /* its flags lie in memory, so the C library is made to use the other one */
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return filter_load(ctx, r);
}

/* ---- ready ahead ---- */

enum { READY_MOST = 1024 };

static struct sock_filter ready_code[READY_MOST];
static struct sock_fprog ready = { .filter = ready_code };

/* libseccomp writes it to a file only. */
static int filter_export(scmp_filter_ctx ctx)
{
	int fd = memfd_create("filter", MFD_CLOEXEC), r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	ssize_t n = r ? -1 : pread(fd, ready_code, sizeof ready_code, 0);

	if (!r && (n <= 0 || n == sizeof ready_code))
		r = -E2BIG;
	if (fd >= 0)
		close(fd);
	ready.len = r ? 0 : (unsigned short)((size_t)n / sizeof *ready_code);
	return r;
}

int sandbox_checker_filter(int fd)
{
	scmp_filter_ctx ctx = filter_new();
	const int fds[2] = { fd, -1 };
	int r;

	if (!ctx)
		return -ENOMEM;
	r = fd_rules(ctx, SCMP_SYS(write), fds);
	if (!r)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0);
	if (!r && SANITIZED)
		r = table_add(ctx, &sanitizer);
	if (!r)
		r = filter_export(ctx);
	seccomp_release(ctx);
	return r;
}

int sandbox_checker_child(void)
{
	if (!ready.len || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -EPERM;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &ready) ? -errno : 0;
}
