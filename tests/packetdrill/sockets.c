/* SPDX-License-Identifier: Apache-2.0
 *
 * packetdrill's socket calls over tcp.h.  What Linux has and we have not (epoll, pipes,
 * datagrams by script, options of its own) says ENOSYS or ENOPROTOOPT: such a script fails.
 */
#include "sockets.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BACKLOG_LEAST = 1 };
/* <netinet/tcp.h> has names of states that are ours */
enum { OPT_NODELAY = 1, OPT_MAXSEG = 2, OPT_FASTOPEN_CONNECT = 30 };

Socket *socket_of(User *u, int fd)
{
	return fd >= 0 && fd < SOCKETS && u->socket[fd].used ? &u->socket[fd] : NULL;
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

/* Its number is a descriptor of the process's: packetdrill itself closes what scripts leave open. */
static int new_socket(User *u, uint8_t v)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd >= SOCKETS) {
		close(fd);
		return fail(EMFILE);
	}
	if (fd >= 0)
		u->socket[fd] = (Socket){ .used = true, .v = v };
	return fd;
}

int do_socket(User *u, int domain, int type)
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

int do_bind(User *u, Socket *s, const struct sockaddr *a)
{
	(void)u;
	return get_address(a, &s->ip, &s->port) ? 0 : fail(EINVAL);
}

/* Scripts set up Linux by commands first; the switches of the namespace that we have too hold. */
static bool kernel_switch(const char *name, bool other)
{
	char path[80], c = 0;

	snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", name);
	FILE *f = fopen(path, "r");
	if (!f)
		return other;
	bool read = fread(&c, 1, 1, f) == 1;
	fclose(f);
	return read ? c != '0' : other;
}

static TcpOpen open_of(const User *u, const Socket *s)
{
	TcpOpen o = u->open;

	o.timestamps &= kernel_switch("tcp_timestamps", true);
	o.sack &= kernel_switch("tcp_sack", true);
	if (!kernel_switch("tcp_window_scaling", true))
		o.wscale = WSCALE_NONE;
	o.nagle = !s->nodelay;
	o.mss = (uint16_t)s->mss;
	return o;
}

int do_listen(User *u, Socket *s, int backlog)
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

int do_accept(User *u, Socket *s, struct sockaddr *a, socklen_t *n)
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

/* What servers gave so far (RFC 7413 4.1.3). */
static void learn_cookie(User *u)
{
	for (int i = 0; i < SOCKETS; i++) {
		const TcpConn *c = u->socket[i].used ? u->socket[i].c : NULL;

		if (!c || !c->fastopen_n)
			continue;
		u->cookie_n = c->fastopen_n;
		memcpy(u->cookie, c->fastopen_cookie, u->cookie_n);
	}
}

static int start_connect(User *u, Socket *s, const struct sockaddr *a, Bytes data)
{
	TcpOpen o = open_of(u, s);

	if (!get_address(a, &o.dst, &o.dport))
		return fail(EINVAL);
	o.src = s->ip.v ? s->ip : u->local;
	o.sport = s->port ? s->port : u->next_port++;
	if (data.p) {
		learn_cookie(u);
		o.fastopen = true;
		o.fastopen_cookie = BYTES(u->cookie, u->cookie_n);
		o.fastopen_data = data;
	}
	s->c = tcp_connect(u->h->s, u->h->now_ns, &o);
	s->connecting = true;
	return s->c ? 0 : fail(EADDRNOTAVAIL);
}

int do_connect(User *u, Socket *s, const struct sockaddr *a)
{
	if (s->c && !s->connecting)
		return fail(EISCONN);
	if (s->c && s->c->state != TCP_SYN_SENT)
		return end_connect(u, s);
	if (s->c)
		return fail(EALREADY);
	learn_cookie(u);
	if (s->fast && u->cookie_n) {
		s->deferred = true;
		memcpy(&s->to, a, a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		return 0;
	}
	if (start_connect(u, s, a, BYTES(s->fast ? "" : NULL, 0)))
		return -1;
	host_moved(u->h);
	return s->nonblock ? fail(EINPROGRESS) : end_connect(u, s);
}

int do_close(User *u, Socket *s)
{
	if (s->l)
		tcp_unlisten(s->l);
	learn_cookie(u);
	if (s->c)
		tcp_release(s->c, u->h->now_ns);
	s->used = false;
	close((int)(s - u->socket));
	return 0;
}

int do_shutdown(User *u, Socket *s, int how)
{
	if (!s->c)
		return fail(ENOTCONN);
	s->shut_read |= how != SHUT_WR;
	if (how != SHUT_RD)
		tcp_close(s->c, u->h->now_ns);
	return 0;
}

/* ---- bytes ---- */

ssize_t do_read(User *u, Socket *s, uint8_t *p, size_t n, int flags)
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
	host_moved(u->h); /* what the SYN takes shows when it leaves */
	size_t taken = s->c->fastopen_sent;

	if (taken)
		return (ssize_t)taken;
	if (s->nonblock)
		return fail(EINPROGRESS);
	return end_connect(u, s) ? -1 : do_write(u, s, p, n, 0);
}

ssize_t do_sendto(User *u, Socket *s, const uint8_t *p, size_t n, int flags, const struct sockaddr *a)
{
	bool deferred = s->deferred;

	s->deferred = false;
	if (deferred)
		return send_fast(u, s, p, n, (struct sockaddr *)&s->to);
	return flags & MSG_FASTOPEN && a ? send_fast(u, s, p, n, a) : do_write(u, s, p, n, flags);
}

static size_t iov_bytes(const struct iovec *iov, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

ssize_t do_readv(User *u, Socket *s, const struct iovec *iov, size_t n, int flags)
{
	size_t bytes = iov_bytes(iov, n), off = 0;
	uint8_t *buf = malloc(bytes + 1);
	ssize_t got = do_read(u, s, buf, bytes, flags);

	for (size_t i = 0; got > 0 && i < n && off < (size_t)got; off += iov[i].iov_len, i++)
		memcpy(iov[i].iov_base, buf + off, (size_t)got - off < iov[i].iov_len ? (size_t)got - off : iov[i].iov_len);
	free(buf);
	return got;
}

ssize_t do_writev(User *u, Socket *s, const struct iovec *iov, size_t n, int flags, const struct sockaddr *a)
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

int do_setsockopt(Socket *s, int level, int name, const void *v, socklen_t n)
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
	if (level == IPPROTO_TCP && name == OPT_FASTOPEN_CONNECT) {
		s->fast = value;
		return 0;
	}
	return level == SOL_SOCKET ? 0 : fail(ENOPROTOOPT);
}

int do_getsockopt(Socket *s, int level, int name, void *v, socklen_t *n)
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

int do_ioctl(Socket *s, unsigned long request, int *value)
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

int do_fcntl(Socket *s, int cmd, long arg)
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

int do_poll(User *u, struct pollfd *p, nfds_t n, int timeout_ms)
{
	int64_t end = u->h->now_ns + timeout_ms * INT64_C(1000000);

	for (;;) {
		int ready = ready_fds(u, p, n);

		if (ready || (timeout_ms >= 0 && u->h->now_ns >= end))
			return ready;
		host_wait(u->h);
	}
}
