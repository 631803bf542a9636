/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/io.h"

#include <errno.h>
#include <unistd.h>

size_t io_write(int fd, Bytes b)
{
	size_t at = 0;

	while (at < b.n) {
		ssize_t n = write(fd, b.p + at, b.n - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return at;
}

ssize_t io_read(int fd, void *p, size_t cap)
{
	size_t at = 0;

	while (at < cap) {
		ssize_t n = read(fd, (uint8_t *)p + at, cap - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return (ssize_t)at;
}
