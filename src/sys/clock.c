/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { OFFSET_TRIES = 8 };

static int64_t clock_read(clockid_t id)
{
	struct timespec t = { 0 };

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

int64_t clock_real_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

bool clock_boot_id(uint8_t ret_id[16])
{
	char text[37]; /* 8-4-4-4-12 digits */
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	unsigned digits = 0;

	if (fd >= 0)
		close(fd);
	memset(ret_id, 0, 16);
	for (ssize_t i = 0; i < n && digits < 32; i++) {
		const char *hex = "0123456789abcdef", *at = text[i] ? strchr(hex, text[i]) : NULL;

		if (at)
			ret_id[digits / 2] |= (uint8_t)((at - hex) << (digits % 2 ? 0 : 4));
		digits += at != NULL;
	}
	return digits == 32;
}

int64_t clock_offset_ns(void)
{
	int64_t best_gap = INT64_MAX, best = 0;

	for (int i = 0; i < OFFSET_TRIES; i++) {
		int64_t before = clock_read(CLOCK_MONOTONIC);
		int64_t real = clock_read(CLOCK_REALTIME);
		int64_t after = clock_read(CLOCK_MONOTONIC);

		if (after - before < best_gap) {
			best_gap = after - before;
			best = real - (before + best_gap / 2);
		}
	}
	return best;
}

static void step_arm(int fd)
{
	/* as far as a time can be: only the cancellation is wanted */
	struct itimerspec far = { .it_value = { .tv_sec = INT32_MAX } };

	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

int clock_step_fd(void)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	step_arm(fd);
	return fd;
}

bool clock_step_take(int fd)
{
	uint64_t n;
	bool step = read(fd, &n, sizeof n) < 0 && errno == ECANCELED;

	if (step)
		step_arm(fd);
	return step;
}

int clock_timer_fd(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool clock_timer_arm(int fd, int64_t at)
{
	struct itimerspec t = { .it_value = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 } };

	if (at < 0)
		t.it_value = (struct timespec){ .tv_nsec = 1 };
	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL) == 0;
}

void clock_timer_take(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}
