/* SPDX-License-Identifier: Apache-2.0
 *
 * packetdrill's sockets over tcp.h.  Called with the host's lock held; results as libc's.
 */
#ifndef SONDE_TESTS_PACKETDRILL_SOCKETS_H
#define SONDE_TESTS_PACKETDRILL_SOCKETS_H

#include "host.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { SOCKETS = 1024, EPHEMERAL = 40000, MTU = 1500 };

typedef struct Socket {
	bool used, nonblock, nodelay, connecting, shut_read;
	bool fast;     /* TCP_FASTOPEN_CONNECT */
	bool deferred; /* connected in name: the SYN waits for data */
	struct sockaddr_storage to;
	TcpListener *l;
	TcpConn *c;
	Ip ip;
	uint16_t port;
	uint8_t v;
	uint32_t mss;
} Socket;

typedef struct User {
	Host *h;
	Socket socket[SOCKETS];
	TcpOpen open; /* what flags said */
	Ip local;     /* that connect uses */
	uint16_t next_port;
	uint8_t cookie[TCP_COOKIE_MAX]; /* of the last server that gave one */
	size_t cookie_n;
} User;

static inline int fail(int error)
{
	errno = error;
	return -1;
}

/* NULL: no such descriptor. */
Socket *socket_of(User *u, int fd);

int do_socket(User *u, int domain, int type);
int do_bind(User *u, Socket *s, const struct sockaddr *a);
int do_listen(User *u, Socket *s, int backlog);
int do_accept(User *u, Socket *s, struct sockaddr *a, socklen_t *n);
int do_connect(User *u, Socket *s, const struct sockaddr *a);
int do_close(User *u, Socket *s);
int do_shutdown(User *u, Socket *s, int how);
ssize_t do_read(User *u, Socket *s, uint8_t *p, size_t n, int flags);
ssize_t do_sendto(User *u, Socket *s, const uint8_t *p, size_t n, int flags, const struct sockaddr *a);
ssize_t do_readv(User *u, Socket *s, const struct iovec *iov, size_t n, int flags);
ssize_t do_writev(User *u, Socket *s, const struct iovec *iov, size_t n, int flags, const struct sockaddr *a);
int do_setsockopt(Socket *s, int level, int name, const void *v, socklen_t n);
int do_getsockopt(Socket *s, int level, int name, void *v, socklen_t *n);
int do_ioctl(Socket *s, unsigned long request, int *value);
int do_fcntl(Socket *s, int cmd, long arg);
int do_poll(User *u, struct pollfd *p, nfds_t n, int timeout_ms);

#endif
