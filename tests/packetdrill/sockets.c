/* SPDX-License-Identifier: Apache-2.0
 *
 * packetdrill's socket calls over tcp.h.  What Linux has and we have not (epoll, pipes,
 * datagrams by script, options of its own) says ENOSYS or ENOPROTOOPT: such a script fails.
 */
#include "host.h"
#include "interface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum { SOCKETS = 64, FD0 = 100, EPHEMERAL = 40000, MTU = 1500, BACKLOG_LEAST = 1 };
/* <netinet/tcp.h> has names of states that are ours */
enum { OPT_NODELAY = 1, OPT_MAXSEG = 2 };

typedef struct Socket {
	bool used, nonblock, nodelay, connecting, shut_read;
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

static int fail(int error)
{
	errno = error;
	return -1;
}

static Socket *socket_of(User *u, int fd)
{
	int i = fd - FD0;

	return i >= 0 && i < SOCKETS && u->socket[i].used ? &u->socket[i] : NULL;
}

/* ---- addresses ---- */

static bool get_address(const struct sockaddr *a, Ip *ret_ip, uint16_t *ret_port)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (a && a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof v4);
		*ret_ip = ip_from(4, (const uint8_t *)&v4.sin_addr);
		*ret_port = ntohs(v4.sin_port);
	} else if (a && a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof v6);
		*ret_ip = ip_from(6, (const uint8_t *)&v6.sin6_addr);
		*ret_port = ntohs(v6.sin6_port);
	} else {
		return false;
	}
	return true;
}

static void put_address(Ip ip, uint16_t port, struct sockaddr *a, socklen_t *n)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	socklen_t size = ip.v == 4 ? sizeof v4 : sizeof v6;

	if (!a || !n)
		return;
	memcpy(ip.v == 4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr, ip.b, ip_len(ip));
	memcpy(a, ip.v == 4 ? (void *)&v4 : (void *)&v6, *n < size ? *n : size);
	*n = size;
}

/* ---- making ---- */

static int new_socket(User *u, uint8_t v)
{
	for (int i = 0; i < SOCKETS; i++)
		if (!u->socket[i].used) {
			u->socket[i] = (Socket){ .used = true, .v = v };
			return FD0 + i;
		}
	return fail(EMFILE);
}

static int do_socket(User *u, int domain, int type)
{
	if (domain != AF_INET && domain != AF_INET6)
		return fail(EAFNOSUPPORT);
	if ((type & 15) != SOCK_STREAM)
		return fail(EPROTONOSUPPORT);
	int fd = new_socket(u, domain == AF_INET ? 4 : 6);

	if (fd >= 0)
		socket_of(u, fd)->nonblock = type & SOCK_NONBLOCK;
	return fd;
}

static int do_bind(User *u, Socket *s, const struct sockaddr *a)
{
	(void)u;
	return get_address(a, &s->ip, &s->port) ? 0 : fail(EINVAL);
}

static TcpOpen open_of(const User *u, const Socket *s)
{
	TcpOpen o = u->open;

	o.nagle = !s->nodelay;
	o.mss = (uint16_t)s->mss;
	return o;
}

static int do_listen(User *u, Socket *s, int backlog)
{
	TcpOpen o = open_of(u, s);

	s->l = tcp_listen(u->h->s, s->ip, s->port, backlog < BACKLOG_LEAST ? BACKLOG_LEAST : (uint32_t)backlog, &o);
	return s->l ? 0 : fail(ENOMEM);
}

static int error_of(const TcpConn *c)
{
	static const int errors[TCP_ERR_N] = {
		[TCP_ERR_REFUSED] = ECONNREFUSED,     [TCP_ERR_TIMEOUT] = ETIMEDOUT, [TCP_ERR_UNREACHABLE] = EHOSTUNREACH,
		[TCP_ERR_RESET] = ECONNRESET,	      [TCP_ERR_ABORTED] = ECONNABORTED, [TCP_ERR_NOT_SENT] = ENETUNREACH,
	};

	return errors[c->error];
}

static int do_accept(User *u, Socket *s, struct sockaddr *a, socklen_t *n)
{
	TcpConn *c;

	if (!s->l)
		return fail(EINVAL);
	while (!(c = tcp_accept(s->l))) {
		if (s->nonblock)
			return fail(EAGAIN);
		host_wait(u->h);
	}
	int fd = new_socket(u, c->dst.v);
	if (fd < 0)
		return -1;
	socket_of(u, fd)->c = c;
	put_address(c->dst, c->dport, a, n);
	return fd;
}

static int end_connect(User *u, Socket *s)
{
	while (s->c->state == TCP_SYN_SENT || s->c->state == TCP_SYN_RECEIVED)
		host_wait(u->h);
	s->connecting = false;
	return s->c->error ? fail(error_of(s->c)) : 0;
}

static int start_connect(User *u, Socket *s, const struct sockaddr *a, Bytes data)
{
	TcpOpen o = open_of(u, s);

	if (!get_address(a, &o.dst, &o.dport))
		return fail(EINVAL);
	o.src = s->ip.v ? s->ip : u->local;
	o.sport = s->port ? s->port : u->next_port++;
	if (data.p) {
		o.fastopen = true;
		o.fastopen_cookie = BYTES(u->cookie, u->cookie_n);
		o.fastopen_data = data;
	}
	s->c = tcp_connect(u->h->s, u->h->now_ns, &o);
	s->connecting = true;
	return s->c ? 0 : fail(EADDRNOTAVAIL);
}

static int do_connect(User *u, Socket *s, const struct sockaddr *a)
{
	if (s->c && !s->connecting)
		return fail(EISCONN);
	if (s->c && s->c->state != TCP_SYN_SENT)
		return end_connect(u, s);
	if (s->c)
		return fail(EALREADY);
	if (start_connect(u, s, a, (Bytes){ 0 }))
		return -1;
	host_moved(u->h);
	return s->nonblock ? fail(EINPROGRESS) : end_connect(u, s);
}

static int do_close(User *u, Socket *s)
{
	if (s->l)
		tcp_unlisten(s->l);
	if (s->c && s->c->fastopen_n) {
		u->cookie_n = s->c->fastopen_n;
		memcpy(u->cookie, s->c->fastopen_cookie, u->cookie_n);
	}
	if (s->c)
		tcp_release(s->c, u->h->now_ns);
	s->used = false;
	return 0;
}

static int do_shutdown(User *u, Socket *s, int how)
{
	if (!s->c)
		return fail(ENOTCONN);
	s->shut_read |= how != SHUT_WR;
	if (how != SHUT_RD)
		tcp_close(s->c, u->h->now_ns);
	return 0;
}

/* ---- bytes ---- */

static ssize_t do_read(User *u, Socket *s, uint8_t *p, size_t n, int flags)
{
	if (!s->c)
		return fail(ENOTCONN);
	while (n && !tcp_readable(s->c)) {
		if (s->shut_read || tcp_eof(s->c) || s->c->error == TCP_ERR_ABORTED)
			return 0;
		if (s->c->error)
			return fail(error_of(s->c));
		if (s->nonblock || flags & MSG_DONTWAIT)
			return fail(EAGAIN);
		host_wait(u->h);
	}
	if (flags & MSG_PEEK)
		return (ssize_t)tcp_peek(s->c, 0, p, n);
	return (ssize_t)tcp_recv(s->c, u->h->now_ns, p, n);
}

static ssize_t do_write(User *u, Socket *s, const uint8_t *p, size_t n, int flags)
{
	size_t done = 0;

	if (!s->c)
		return fail(EPIPE);
	for (;;) {
		if (s->c->error)
			return done ? (ssize_t)done : fail(error_of(s->c));
		if (s->c->closing)
			return fail(EPIPE);
		done += tcp_send(s->c, u->h->now_ns, BYTES(p + done, n - done));
		if (done == n)
			return (ssize_t)done;
		host_moved(u->h);
		if (s->nonblock || flags & MSG_DONTWAIT)
			return done ? (ssize_t)done : fail(EAGAIN);
		host_wait(u->h);
	}
}

/* RFC 7413 as Linux offers it: connects, with as much data as the SYN takes. */
static ssize_t send_fast(User *u, Socket *s, const uint8_t *p, size_t n, const struct sockaddr *a)
{
	if (s->c)
		return fail(EISCONN);
	if (start_connect(u, s, a, BYTES(p, n)))
		return -1;
	size_t taken = s->c->fastopen_sent;

	host_moved(u->h);
	if (taken)
		return (ssize_t)taken;
	if (s->nonblock)
		return fail(EINPROGRESS);
	return end_connect(u, s) ? -1 : do_write(u, s, p, n, 0);
}

static ssize_t do_sendto(User *u, Socket *s, const uint8_t *p, size_t n, int flags, const struct sockaddr *a)
{
	return flags & MSG_FASTOPEN && a ? send_fast(u, s, p, n, a) : do_write(u, s, p, n, flags);
}

static size_t iov_bytes(const struct iovec *iov, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

static ssize_t do_readv(User *u, Socket *s, const struct iovec *iov, size_t n, int flags)
{
	size_t bytes = iov_bytes(iov, n), off = 0;
	uint8_t *buf = malloc(bytes + 1);
	ssize_t got = do_read(u, s, buf, bytes, flags);

	for (size_t i = 0; got > 0 && i < n && off < (size_t)got; off += iov[i].iov_len, i++)
		memcpy(iov[i].iov_base, buf + off, (size_t)got - off < iov[i].iov_len ? (size_t)got - off : iov[i].iov_len);
	free(buf);
	return got;
}

static ssize_t do_writev(User *u, Socket *s, const struct iovec *iov, size_t n, int flags, const struct sockaddr *a)
{
	size_t bytes = iov_bytes(iov, n), off = 0;
	uint8_t *buf = malloc(bytes + 1);

	for (size_t i = 0; i < n; off += iov[i].iov_len, i++)
		memcpy(buf + off, iov[i].iov_base, iov[i].iov_len);
	ssize_t put = do_sendto(u, s, buf, bytes, flags, a);
	free(buf);
	return put;
}

/* ---- options ---- */

static int do_setsockopt(Socket *s, int level, int name, const void *v, socklen_t n)
{
	int value = 0;

	memcpy(&value, v, n < sizeof value ? n : sizeof value);
	if (level == IPPROTO_TCP && name == OPT_NODELAY) {
		s->nodelay = value;
		if (s->c)
			tcp_set_nagle(s->c, !value);
		return 0;
	}
	if (level == IPPROTO_TCP && name == OPT_MAXSEG) {
		s->mss = (uint32_t)value;
		return 0;
	}
	return level == SOL_SOCKET ? 0 : fail(ENOPROTOOPT);
}

static int do_getsockopt(Socket *s, int level, int name, void *v, socklen_t *n)
{
	int value = 0;

	if (level == SOL_SOCKET && name == SO_ERROR)
		value = s->c ? error_of(s->c) : 0;
	else if (level == IPPROTO_TCP && name == OPT_MAXSEG)
		value = s->c ? s->c->snd_mss : s->mss ? (int)s->mss : 536;
	else if (level == IPPROTO_TCP && name == OPT_NODELAY)
		value = s->nodelay;
	else
		return fail(ENOPROTOOPT);
	*n = *n < sizeof value ? *n : sizeof value;
	memcpy(v, &value, *n);
	return 0;
}

static int do_ioctl(Socket *s, unsigned long request, int *value)
{
	if (!s->c)
		return fail(EINVAL);
	if (request == FIONREAD)
		*value = (int)tcp_readable(s->c);
	else if (request == SIOCOUTQ)
		*value = (int)(tcp_unsent(s->c) + tcp_unacked(s->c));
	else if (request == SIOCOUTQNSD)
		*value = (int)tcp_unsent(s->c);
	else
		return fail(EINVAL);
	return 0;
}

static int do_fcntl(Socket *s, int cmd, long arg)
{
	if (cmd == F_GETFL)
		return O_RDWR | (s->nonblock ? O_NONBLOCK : 0);
	if (cmd != F_SETFL)
		return fail(EINVAL);
	s->nonblock = arg & O_NONBLOCK;
	return 0;
}

static short events_of(const Socket *s)
{
	const TcpConn *c = s->c;

	if (!c)
		return 0;
	bool open = c->was_open && !c->error;

	return (short)((tcp_readable(c) || tcp_eof(c) || c->error ? POLLIN : 0) |
		       (open && tcp_send_room(c) && !c->closing ? POLLOUT : 0) | (c->error ? POLLERR | POLLHUP : 0));
}

static int ready_fds(User *u, struct pollfd *p, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		const Socket *s = socket_of(u, p[i].fd);

		p[i].revents = s ? events_of(s) & (short)(p[i].events | POLLERR | POLLHUP) : POLLNVAL;
		ready += p[i].revents != 0;
	}
	return ready;
}

static int do_poll(User *u, struct pollfd *p, nfds_t n, int timeout_ms)
{
	int64_t end = u->h->now_ns + timeout_ms * INT64_C(1000000);

	for (;;) {
		int ready = ready_fds(u, p, n);

		if (ready || (timeout_ms >= 0 && u->h->now_ns >= end))
			return ready;
		host_wait(u->h);
	}
}

/* ---- the table: lock, socket, move, unlock ---- */

/* CALL runs with the lock held on the socket `s` of `fd`; what it may have moved is moved. */
#define ENTER(type, CALL)                                                  \
	User *u = user;                                                    \
	Socket *s;                                                         \
	type r;                                                            \
	host_lock(u->h);                                                   \
	s = socket_of(u, fd);                                              \
	r = s ? (CALL) : (type)fail(EBADF);                                \
	int error = errno;                                                 \
	host_moved(u->h);                                                  \
	if (!pthread_equal(pthread_self(), u->h->main))                    \
		host_leave(u->h);                                          \
	host_unlock(u->h);                                                 \
	errno = error;                                                     \
	return r

static int pd_socket(void *user, int domain, int type, int protocol)
{
	User *u = user;

	(void)protocol;
	host_lock(u->h);
	int fd = do_socket(u, domain, type);

	host_unlock(u->h);
	return fd;
}

static int pd_bind(void *user, int fd, const struct sockaddr *a, socklen_t n)
{
	(void)n;
	ENTER(int, do_bind(u, s, a));
}

static int pd_listen(void *user, int fd, int backlog)
{
	ENTER(int, do_listen(u, s, backlog));
}

static int pd_accept(void *user, int fd, struct sockaddr *a, socklen_t *n)
{
	ENTER(int, do_accept(u, s, a, n));
}

static int pd_connect(void *user, int fd, const struct sockaddr *a, socklen_t n)
{
	(void)n;
	ENTER(int, do_connect(u, s, a));
}

static ssize_t pd_read(void *user, int fd, void *p, size_t n)
{
	ENTER(ssize_t, do_read(u, s, p, n, 0));
}

static ssize_t pd_readv(void *user, int fd, const struct iovec *iov, int n)
{
	ENTER(ssize_t, do_readv(u, s, iov, (size_t)n, 0));
}

static ssize_t pd_recv(void *user, int fd, void *p, size_t n, int flags)
{
	ENTER(ssize_t, do_read(u, s, p, n, flags));
}

static ssize_t pd_recvfrom(void *user, int fd, void *p, size_t n, int flags, struct sockaddr *a, socklen_t *an)
{
	(void)a;
	(void)an;
	ENTER(ssize_t, do_read(u, s, p, n, flags));
}

static ssize_t pd_recvmsg(void *user, int fd, struct msghdr *m, int flags)
{
	m->msg_controllen = 0;
	m->msg_flags = 0;
	ENTER(ssize_t, do_readv(u, s, m->msg_iov, m->msg_iovlen, flags));
}

static ssize_t pd_write(void *user, int fd, const void *p, size_t n)
{
	ENTER(ssize_t, do_write(u, s, p, n, 0));
}

static ssize_t pd_writev(void *user, int fd, const struct iovec *iov, int n)
{
	ENTER(ssize_t, do_writev(u, s, iov, (size_t)n, 0, NULL));
}

static ssize_t pd_send(void *user, int fd, const void *p, size_t n, int flags)
{
	ENTER(ssize_t, do_write(u, s, p, n, flags));
}

static ssize_t pd_sendto(void *user, int fd, const void *p, size_t n, int flags, const struct sockaddr *a, socklen_t an)
{
	(void)an;
	ENTER(ssize_t, do_sendto(u, s, p, n, flags, a));
}

static ssize_t pd_sendmsg(void *user, int fd, const struct msghdr *m, int flags)
{
	ENTER(ssize_t, do_writev(u, s, m->msg_iov, m->msg_iovlen, flags, m->msg_name));
}

static int pd_fcntl(void *user, int fd, int cmd, ...)
{
	va_list v;

	va_start(v, cmd);
	long arg = cmd == F_SETFL ? va_arg(v, long) : 0;
	va_end(v);
	ENTER(int, do_fcntl(s, cmd, arg));
}

static int pd_ioctl(void *user, int fd, unsigned long request, ...)
{
	va_list v;

	va_start(v, request);
	int *arg = va_arg(v, int *);
	va_end(v);
	ENTER(int, do_ioctl(s, request, arg));
}

static int pd_close(void *user, int fd)
{
	ENTER(int, do_close(u, s));
}

static int pd_shutdown(void *user, int fd, int how)
{
	ENTER(int, do_shutdown(u, s, how));
}

static int pd_getsockopt(void *user, int fd, int level, int name, void *v, socklen_t *n)
{
	ENTER(int, do_getsockopt(s, level, name, v, n));
}

static int pd_setsockopt(void *user, int fd, int level, int name, const void *v, socklen_t n)
{
	ENTER(int, do_setsockopt(s, level, name, v, n));
}

static int pd_poll(void *user, struct pollfd *p, nfds_t n, int timeout_ms)
{
	int fd = n ? p[0].fd : -1;

	ENTER(int, do_poll(u, p, n, timeout_ms));
}

static int pd_netdev_send(void *user, const void *p, size_t n)
{
	Host *h = ((User *)user)->h;

	host_lock(h);
	stack_input(h->s, h->now_ns, BYTES(p, n), &(StackRx){ .mtu = MTU });
	host_moved(h);
	host_unlock(h);
	return 0;
}

/* Waits on virtual time for what the stack does by itself, and a moment of real time for
 * a call in another thread that is about to begin. */
static int pd_netdev_receive(void *user, void *p, size_t *n, long long *ret_us)
{
	Host *h = ((User *)user)->h;
	const struct timespec moment = { .tv_nsec = 1000000 };
	int patience = 50;

	host_lock(h);
	while (!h->count) {
		int64_t wake = stack_wake_ns(h->s);

		if (wake != STACK_NEVER) {
			host_advance(h, wake);
			continue;
		}
		host_unlock(h);
		nanosleep(&moment, NULL);
		host_lock(h);
		if (!patience--)
			break;
	}
	size_t room = *n;

	*n = 0;
	if (h->count) {
		HostPacket *k = &h->out[h->from];

		*n = k->n < room ? k->n : room;
		memcpy(p, k->p, *n);
		*ret_us = k->ns / 1000;
		free(k->p);
		h->from = (h->from + 1) % HOST_PACKETS;
		h->count--;
	}
	host_unlock(h);
	return 0;
}

static int pd_usleep(void *user, useconds_t us)
{
	Host *h = ((User *)user)->h;
	const struct timespec moment = { .tv_nsec = 2000000 };

	nanosleep(&moment, NULL); /* a call in another thread may be about to begin */
	host_lock(h);
	host_advance(h, h->now_ns + us * INT64_C(1000));
	host_unlock(h);
	return 0;
}

static int pd_gettimeofday(void *user, struct timeval *tv, struct timezone *tz)
{
	Host *h = ((User *)user)->h;

	(void)tz;
	host_lock(h);
	int64_t now = host_ask_time(h);

	host_unlock(h);
	tv->tv_sec = now / 1000000000;
	tv->tv_usec = now % 1000000000 / 1000;
	return 0;
}

static int pd_epoll_create(void *user, int size)
{
	(void)user;
	(void)size;
	return fail(ENOSYS);
}

static int pd_epoll_ctl(void *user, int epfd, int op, int fd, struct epoll_event *e)
{
	(void)user;
	(void)epfd;
	(void)op;
	(void)fd;
	(void)e;
	return fail(ENOSYS);
}

static int pd_epoll_wait(void *user, int epfd, struct epoll_event *e, int most, int timeout_ms)
{
	(void)user;
	(void)epfd;
	(void)e;
	(void)most;
	(void)timeout_ms;
	return fail(ENOSYS);
}

static int pd_pipe(void *user, int fd[2])
{
	(void)user;
	(void)fd;
	return fail(ENOSYS);
}

static int pd_splice(void *user, int in, loff_t *off_in, int out, loff_t *off_out, size_t n, unsigned flags)
{
	(void)user;
	(void)in;
	(void)off_in;
	(void)out;
	(void)off_out;
	(void)n;
	(void)flags;
	return fail(ENOSYS);
}

static void pd_free(void *user)
{
	User *u = user;

	host_free(u->h);
	free(u);
}

/* ---- start ---- */

/* What stands behind NAME= in a comma-separated list; NULL: nothing. */
static const char *flag_text(const char *flags, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = flags; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, n) && p[n] == '=')
			return p + n + 1;
	}
	return NULL;
}

static long flag(const char *flags, const char *name, long other)
{
	const char *text = flag_text(flags, name);

	return text ? atol(text) : other;
}

static Ip flag_ip(const char *flags, const char *name)
{
	const char *text = flag_text(flags, name);
	Ip ip = { 0 };

	if (text)
		ip_parse((Str){ text, strcspn(text, ",") }, &ip);
	return ip;
}

static void read_flags(User *u, const char *flags)
{
	u->open = (TcpOpen){ .mtu = MTU,
			     .wscale = (uint8_t)flag(flags, "wscale", 8),
			     .sack = flag(flags, "sack", 1),
			     .timestamps = flag(flags, "timestamps", 1),
			     .ecn = flag(flags, "ecn", 0),
			     .window = (uint32_t)flag(flags, "window", 65535),
			     .window_max = 6 << 20,
			     .send_buffer = 4 << 20,
			     .ttl = 64,
			     .log = true,
			     .cc = flag(flags, "newreno", 0) ? TCP_NEWRENO : TCP_CUBIC };
	u->local = flag_ip(flags, "local");
	u->next_port = EPHEMERAL;
}

void packetdrill_interface_init(const char *flags, PdInterface *i)
{
	User *u = calloc(1, sizeof *u);

	if (!u)
		abort();
	u->h = host_new();
	read_flags(u, flags ? flags : "");
	*i = (PdInterface){ .user = u,
			    .free_user = pd_free,
			    .socket = pd_socket,
			    .bind = pd_bind,
			    .listen = pd_listen,
			    .accept = pd_accept,
			    .connect = pd_connect,
			    .read = pd_read,
			    .readv = pd_readv,
			    .recv = pd_recv,
			    .recvfrom = pd_recvfrom,
			    .recvmsg = pd_recvmsg,
			    .write = pd_write,
			    .writev = pd_writev,
			    .send = pd_send,
			    .sendto = pd_sendto,
			    .sendmsg = pd_sendmsg,
			    .fcntl = pd_fcntl,
			    .ioctl = pd_ioctl,
			    .close = pd_close,
			    .shutdown = pd_shutdown,
			    .getsockopt = pd_getsockopt,
			    .setsockopt = pd_setsockopt,
			    .poll = pd_poll,
			    .netdev_send = pd_netdev_send,
			    .netdev_receive = pd_netdev_receive,
			    .usleep = pd_usleep,
			    .gettimeofday = pd_gettimeofday,
			    .epoll_create = pd_epoll_create,
			    .epoll_ctl = pd_epoll_ctl,
			    .epoll_wait = pd_epoll_wait,
			    .pipe = pd_pipe,
			    .splice = pd_splice };
}
