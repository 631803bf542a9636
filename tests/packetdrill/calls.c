/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of packetdrill's interface: lock, socket, move, unlock; packets, time, start.
 */
#include "interface.h"
#include "sockets.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

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
	ENTER(ssize_t, do_sendto(u, s, p, n, 0, NULL));
}

static ssize_t pd_writev(void *user, int fd, const struct iovec *iov, int n)
{
	ENTER(ssize_t, do_writev(u, s, iov, (size_t)n, 0, NULL));
}

static ssize_t pd_send(void *user, int fd, const void *p, size_t n, int flags)
{
	ENTER(ssize_t, do_sendto(u, s, p, n, flags, NULL));
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
