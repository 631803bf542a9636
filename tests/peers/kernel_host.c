/* SPDX-License-Identifier: Apache-2.0
 *
 * The Linux kernel's TCP as a peer: connects or accepts, sends a stream, then shuts down
 * its side, reads until the other's end, and tells what came as one JSON line a
 * connection.
 *
 *     kernel_host listen port=P | connect dst=A port=P   [src=A] [send=N] [seed=S] [n=CONNECTIONS]
 *                 [cc=cubic] [time=SECONDS] [hold=SECONDS before it reads]
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct addrinfo *address(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	struct addrinfo *a;

	if (getaddrinfo(host, port, &hints, &a))
		die(host);
	return a;
}

static int tcp_socket(const struct addrinfo *a, const char *cc)
{
	int fd = socket(a->ai_family, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)))
		die(cc);
	return fd;
}

static int connected(int argc, char **argv)
{
	struct addrinfo *a = address(option(argc, argv, "dst", "127.0.0.1"), option(argc, argv, "port", "7000"));
	int fd = tcp_socket(a, option(argc, argv, "cc", NULL));

	if (connect(fd, a->ai_addr, a->ai_addrlen))
		die("connect");
	return fd;
}

static int listening(int argc, char **argv)
{
	struct addrinfo *a = address(option(argc, argv, "src", "::"), option(argc, argv, "port", "7000"));
	int fd = tcp_socket(a, option(argc, argv, "cc", NULL));

	if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1024))
		die("listen");
	return fd;
}

/* True: nothing is left to send. */
static bool send_some(int fd, Way *out, uint64_t total, uint64_t seed)
{
	static uint8_t buf[PIECE];
	uint64_t off = out->bytes & ~UINT64_C(7), skip = out->bytes - off;
	size_t n = total - off < PIECE ? (size_t)(total - off) : PIECE;

	stream_fill(seed, off, buf, n);
	ssize_t sent = send(fd, buf + skip, n - skip, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN)
		die("send");
	if (sent > 0)
		way_add(out, BYTES(buf + skip, (size_t)sent));
	return out->bytes == total;
}

/* True: the peer's end was reached. */
static bool receive_some(int fd, Way *in)
{
	static uint8_t buf[PIECE];
	ssize_t got = recv(fd, buf, sizeof buf, MSG_DONTWAIT);

	if (got < 0 && errno != EAGAIN)
		die("recv");
	if (got > 0)
		way_add(in, BYTES(buf, (size_t)got));
	return got == 0;
}

static void carry(int fd, uint64_t total, uint64_t seed, int64_t end_ns)
{
	Way in = { 0 }, out = { 0 };
	bool sent = total == 0, eof = false;
	struct tcp_info info = { 0 };
	socklen_t n = sizeof info;

	sha256_init(&in.sha);
	sha256_init(&out.sha);
	while (!sent || !eof) {
		struct pollfd p = { fd, (short)((sent ? 0 : POLLOUT) | (eof ? 0 : POLLIN)), 0 };

		if (clock_ns() > end_ns || poll(&p, 1, 1000) < 0)
			break;
		if (p.revents & (POLLIN | POLLHUP | POLLERR) && !eof)
			eof = receive_some(fd, &in);
		if (p.revents & POLLOUT && !sent && (sent = send_some(fd, &out, total, seed)))
			shutdown(fd, SHUT_WR);
	}
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n);
	printf("{");
	way_print(&in, "received");
	printf(", ");
	way_print(&out, "sent");
	printf(", \"complete\": %s, \"retransmits\": %u, \"mss\": %u, \"pmtu\": %u, \"options\": %u}\n",
	       sent && eof ? "true" : "false", info.tcpi_total_retrans, info.tcpi_snd_mss, info.tcpi_pmtu,
	       info.tcpi_options);
	fflush(stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t total = (uint64_t)option_num(argc, argv, "send", 0), seed = (uint64_t)option_num(argc, argv, "seed", 2);
	int64_t end_ns = clock_ns() + option_num(argc, argv, "time", 60) * INT64_C(1000000000);
	long n = option_num(argc, argv, "n", 1), hold = option_num(argc, argv, "hold", 0);
	bool listens = option_is(argc, argv, "listen");
	int from = listens ? listening(argc, argv) : -1;

	if (listens) {
		printf("ready\n");
		fflush(stdout);
	}
	for (long i = 0; i < n; i++) {
		int fd = listens ? accept(from, NULL, NULL) : connected(argc, argv);

		if (fd < 0)
			die("accept");
		if (hold)
			sleep((unsigned)hold);
		carry(fd, total, seed, end_ns);
	}
	return 0;
}
