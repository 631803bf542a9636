/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks and timers.
 *
 * The kernel stamps packets by CLOCK_REALTIME, which may be set while we run;
 * Sonde counts on CLOCK_MONOTONIC and keeps the distance between the two.
 * Promises relied on: CLOCK_MONOTONIC never goes back; NTP's slewing moves both
 * clocks alike, so that the distance changes only when somebody sets the time;
 * a timerfd on CLOCK_REALTIME with TFD_TIMER_CANCEL_ON_SET is readable then
 * (timerfd_create(2)).
 */
#ifndef SONDE_SYS_CLOCK_H
#define SONDE_SYS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_mono_ns(void);

/* CLOCK_BOOTTIME, which counts while the machine sleeps too; CLOCK_REALTIME, which may
 * be set; the name of this boot, false if the kernel does not tell it. */
int64_t clock_boot_ns(void);
int64_t clock_real_ns(void);
bool clock_boot_id(uint8_t ret_id[16]);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC: the tightest of some bracketed readings. */
int64_t clock_offset_ns(void);

/* Readable when CLOCK_REALTIME was set; -errno.  clock_step_take() re-arms it and
 * says whether there was a step. */
int clock_step_fd(void);
bool clock_step_take(int fd);

/* A timer on CLOCK_MONOTONIC; `at` 0 disarms it.  A time that has passed fires at once.  False: it could
 * not be set. */
int clock_timer_fd(void);
bool clock_timer_arm(int fd, int64_t at);
void clock_timer_take(int fd);

#endif
