/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks one thing of an HTTP server again and again, over connections that stay:
 *
 *     mcp_load PORT CONNECTIONS REQUESTS MUST < request
 *
 * Standard input is one whole request; each answer must hold the text MUST.  Prints
 * seconds, how many answers did not, and the answers' times in us: median, 99th of 100, least.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MOST = 1 << 17, ANSWER_MOST = 1 << 20 };

static char request[REQUEST_MOST];
static size_t request_n;
static const char *must;
static unsigned short port;
static unsigned total, taken, bad;
static double *times;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
		perror("connect");
		exit(1);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

/* Whether buf holds a whole answer. */
static bool whole(const char *buf, size_t n)
{
	const char *end = memmem(buf, n, "\r\n\r\n", 4), *at = strcasestr(buf, "\r\ncontent-length:");

	if (!end)
		return false;
	if (!at || at > end) /* in chunks */
		return n >= 7 && memcmp(buf + n - 7, "\r\n0\r\n\r\n", 7) == 0;
	return n >= (size_t)(end + 4 - buf) + strtoul(at + 17, NULL, 10);
}

static bool ask(int fd, char *buf)
{
	size_t n = 0;

	for (size_t sent = 0; sent < request_n;) {
		ssize_t w = send(fd, request + sent, request_n - sent, MSG_NOSIGNAL);

		if (w <= 0)
			return false;
		sent += (size_t)w;
	}
	do {
		ssize_t r = n < ANSWER_MOST - 1 ? recv(fd, buf + n, ANSWER_MOST - 1 - n, 0) : 0;

		if (r <= 0)
			return false;
		n += (size_t)r;
		buf[n] = 0;
	} while (!whole(buf, n));
	return strncmp(buf, "HTTP/1.1 200", 12) == 0 && strstr(buf, must);
}

static void *client(void *arg)
{
	char *buf = malloc(ANSWER_MOST);
	int fd = dial();
	unsigned i;

	while ((i = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < total) {
		double start = now();

		if (!ask(fd, buf)) {
			__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
			close(fd);
			fd = dial();
		}
		times[i] = now() - start;
	}
	close(fd);
	free(buf);
	return arg;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	pthread_t thread[256];
	unsigned n = argc == 5 ? (unsigned)atoi(argv[2]) : 0;

	if (!n || n > 256) {
		fprintf(stderr, "mcp_load PORT CONNECTIONS REQUESTS MUST < request\n");
		return 2;
	}
	port = (unsigned short)atoi(argv[1]);
	total = (unsigned)atoi(argv[3]);
	must = argv[4];
	request_n = fread(request, 1, sizeof request, stdin);
	times = calloc(total, sizeof *times);
	double start = now();

	for (unsigned i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, client, NULL);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	double took = now() - start;

	qsort(times, total, sizeof *times, by_time);
	printf("%.6f %u %.0f %.0f %.0f\n", took, bad, times[total / 2] * 1e6, times[total * 99 / 100] * 1e6, times[0] * 1e6);
	return 0;
}
