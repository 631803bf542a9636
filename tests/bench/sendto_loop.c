/* SPDX-License-Identifier: Apache-2.0
 *
 * The peer of the rate bench: the fastest plain way to send UDP, one sendto()
 * a packet and nothing else.  sendto_loop ADDR PORT COUNT BYTES prints packets
 * per second.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static char payload[65507];
	struct sockaddr_in to = { .sin_family = AF_INET };
	if (argc != 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: sendto_loop ADDR PORT COUNT BYTES\n");
		return 2;
	}
	to.sin_port = htons((unsigned short)atoi(argv[2]));
	long count = atol(argv[3]);
	size_t bytes = (size_t)atol(argv[4]);
	if (bytes > sizeof payload)
		return 2;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	double start = seconds();
	for (long i = 0; i < count; i++)
		if (sendto(fd, payload, bytes, 0, (struct sockaddr *)&to, sizeof to) < 0 && errno != ENOBUFS) {
			fprintf(stderr, "sendto_loop: %s\n", strerror(errno));
			return 1;
		}
	printf("%.0f\n", (double)count / (seconds() - start));
	return 0;
}
