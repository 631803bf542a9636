/* SPDX-License-Identifier: Apache-2.0
 *
 * The binary interface by which packetdrill drives a stack in a shared object
 * (--so_filename): it looks up `packetdrill_interface_init` and calls what that fills in,
 * sockets from above and IP packets from below.  Declared here by what such an object
 * must provide, in its order; sonde has no file of packetdrill's.
 */
#ifndef SONDE_TESTS_PACKETDRILL_INTERFACE_H
#define SONDE_TESTS_PACKETDRILL_INTERFACE_H

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct PdInterface {
	void *user;
	void (*free_user)(void *user);
	int (*socket)(void *user, int domain, int type, int protocol);
	int (*bind)(void *user, int fd, const struct sockaddr *a, socklen_t n);
	int (*listen)(void *user, int fd, int backlog);
	int (*accept)(void *user, int fd, struct sockaddr *a, socklen_t *n);
	int (*connect)(void *user, int fd, const struct sockaddr *a, socklen_t n);
	ssize_t (*read)(void *user, int fd, void *p, size_t n);
	ssize_t (*readv)(void *user, int fd, const struct iovec *iov, int n);
	ssize_t (*recv)(void *user, int fd, void *p, size_t n, int flags);
	ssize_t (*recvfrom)(void *user, int fd, void *p, size_t n, int flags, struct sockaddr *a, socklen_t *an);
	ssize_t (*recvmsg)(void *user, int fd, struct msghdr *m, int flags);
	ssize_t (*write)(void *user, int fd, const void *p, size_t n);
	ssize_t (*writev)(void *user, int fd, const struct iovec *iov, int n);
	ssize_t (*send)(void *user, int fd, const void *p, size_t n, int flags);
	ssize_t (*sendto)(void *user, int fd, const void *p, size_t n, int flags, const struct sockaddr *a, socklen_t an);
	ssize_t (*sendmsg)(void *user, int fd, const struct msghdr *m, int flags);
	int (*fcntl)(void *user, int fd, int cmd, ...);
	int (*ioctl)(void *user, int fd, unsigned long request, ...);
	int (*close)(void *user, int fd);
	int (*shutdown)(void *user, int fd, int how);
	int (*getsockopt)(void *user, int fd, int level, int name, void *v, socklen_t *n);
	int (*setsockopt)(void *user, int fd, int level, int name, const void *v, socklen_t n);
	int (*poll)(void *user, struct pollfd *p, nfds_t n, int timeout_ms);
	/* 0, or -1 with an error */
	int (*netdev_send)(void *user, const void *p, size_t n);
	/* *n: room, then bytes of the next packet out, 0: there is none; its stamp in us */
	int (*netdev_receive)(void *user, void *p, size_t *n, long long *ret_us);
	int (*usleep)(void *user, useconds_t us);
	int (*gettimeofday)(void *user, struct timeval *tv, struct timezone *tz);
	int (*epoll_create)(void *user, int size);
	int (*epoll_ctl)(void *user, int epfd, int op, int fd, struct epoll_event *e);
	int (*epoll_wait)(void *user, int epfd, struct epoll_event *e, int most, int timeout_ms);
	int (*pipe)(void *user, int fd[2]);
	int (*splice)(void *user, int in, loff_t *off_in, int out, loff_t *off_out, size_t n, unsigned flags);
} PdInterface;

__attribute__((visibility("default"))) void packetdrill_interface_init(const char *flags, PdInterface *i);

#endif
