/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/aside.h"

#include "base/units.h"
#include "sys/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>

enum { STACK = 1 << 20, RANDOM_MOST = 32 };

bool aside_thread(void *(*main)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;
	bool ok;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ok = pthread_create(&t, &attr, main, arg) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

void aside_raise(int event_fd)
{
	while (eventfd_write(event_fd, 1) < 0 && errno == EINTR)
		;
}

bool aside_random(char *out, size_t bytes)
{
	uint8_t b[RANDOM_MOST];

	if (bytes > sizeof b || getrandom(b, bytes, 0) != (ssize_t)bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		snprintf(out + 2 * i, 3, "%02x", b[i]);
	return true;
}

int64_t aside_now_s(void)
{
	return clock_boot_ns() / NS_PER_S;
}
