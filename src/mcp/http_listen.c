/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_listen.h"

#include "base/str.h"
#include "sys/io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union Sock {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} Sock;

/* ADDR:PORT; no names but localhost: nobody has to be asked where we listen. */
static bool parse(const char *text, Sock *ret_s)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char addr[64];
	uint64_t port;

	if (!colon || n == 0 || n >= sizeof addr || !str_to_u64(str_c(colon + 1), 65535, &port))
		return false;
	memcpy(addr, text, n);
	addr[n] = 0;
	memset(ret_s, 0, sizeof *ret_s);
	if (addr[0] == '[' && addr[n - 1] == ']') {
		addr[n - 1] = 0;
		ret_s->in6.sin6_family = AF_INET6;
		ret_s->in6.sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, addr + 1, &ret_s->in6.sin6_addr) == 1;
	}
	ret_s->in.sin_family = AF_INET;
	ret_s->in.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, strcmp(addr, "localhost") == 0 ? "127.0.0.1" : addr, &ret_s->in.sin_addr) == 1;
}

static bool is_loopback(const Sock *s)
{
	if (s->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&s->in6.sin6_addr);
	return ntohl(s->in.sin_addr.s_addr) >> 24 == 127;
}

static bool is_any(const Sock *s)
{
	if (s->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&s->in6.sin6_addr);
	return s->in.sin_addr.s_addr == 0;
}

static void describe(const Sock *s, const ServerOptions *o, HttpWhere *w)
{
	char addr[INET6_ADDRSTRLEN] = "";
	unsigned n = 0;

	w->v6 = s->sa.sa_family == AF_INET6;
	w->loopback = is_loopback(s);
	w->port = ntohs(w->v6 ? s->in6.sin6_port : s->in.sin_port);
	inet_ntop(s->sa.sa_family, w->v6 ? (const void *)&s->in6.sin6_addr : (const void *)&s->in.sin_addr, addr, sizeof addr);
	snprintf(w->literal, sizeof w->literal, w->v6 ? "[%s]" : "%s", addr);
	snprintf(w->text, sizeof w->text, "%s:%u", w->literal, w->port);
	if (w->loopback) {
		w->host[n++] = "localhost";
		w->host[n++] = "127.0.0.1";
		w->host[n++] = "[::1]";
	}
	if (!is_any(s))
		w->host[n++] = w->literal;
	for (unsigned i = 0; i < SERVER_NAMES && o->host[i]; i++)
		w->host[n++] = o->host[i];
	w->host[n] = NULL;
}

int http_listen(const ServerOptions *o, HttpWhere *ret_where, char ret_why[256])
{
	socklen_t len = sizeof(Sock);
	int one = 1, fd;
	Sock s;

	*ret_where = (HttpWhere){ 0 };
	if (!parse(o->http, &s)) {
		snprintf(ret_why, 256, "--http takes ADDR:PORT, such as 127.0.0.1:8765 or [::1]:8765");
		return -1;
	}
	fd = socket(s.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    (s.sa.sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) < 0) ||
	    bind(fd, &s.sa, s.sa.sa_family == AF_INET6 ? sizeof s.in6 : sizeof s.in) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, &s.sa, &len) < 0) {
		snprintf(ret_why, 256, "%s: %s%s", o->http, strerror(errno),
			 errno == EADDRINUSE ? ": another server listens there; choose another port, or end that one" : "");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	describe(&s, o, ret_where);
	return fd;
}

enum { PEM_MOST = 256 * 1024 };

static char *read_pem(const char *path, char ret_why[256])
{
	uint64_t n;
	int fd = strncmp(path, "fd:", 3) == 0 && str_to_u64(str_c(path + 3), 1023, &n) ? (int)n : open(path, O_RDONLY | O_CLOEXEC);
	char *text = malloc(PEM_MOST + 1);
	ssize_t got = fd < 0 ? -errno : text ? io_read(fd, text, PEM_MOST + 1) : -ENOMEM;

	if (fd >= 0)
		close(fd);
	if (got > 0 && got <= PEM_MOST) {
		text[got] = 0;
		return text;
	}
	snprintf(ret_why, 256, "%s: %s", path, got < 0 ? strerror((int)-got) : "no PEM");
	free(text);
	return NULL;
}

bool http_tls_files(const ServerOptions *o, char **ret_cert, char **ret_key, char ret_why[256])
{
	*ret_cert = *ret_key = NULL;
	if (!o->tls_cert && !o->tls_key)
		return true;
	if (!o->tls_cert || !o->tls_key) {
		snprintf(ret_why, 256, "--tls-cert and --tls-key need each other");
		return false;
	}
	*ret_cert = read_pem(o->tls_cert, ret_why);
	*ret_key = *ret_cert ? read_pem(o->tls_key, ret_why) : NULL;
	return *ret_key != NULL;
}
