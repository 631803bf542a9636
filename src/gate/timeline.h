/* SPDX-License-Identifier: Apache-2.0
 *
 * The run's one line of time: ns since GO on CLOCK_MONOTONIC.
 *
 * Stamps of the kernel are CLOCK_REALTIME; they are moved here by the distance of
 * the two clocks.  That changes only when somebody sets the time: then it is
 * measured anew and the step is an event.
 */
#ifndef SONDE_GATE_TIMELINE_H
#define SONDE_GATE_TIMELINE_H

#include "base/units.h"
#include "sys/clock.h"

typedef struct Timeline {
	int64_t epoch;	    /* CLOCK_REALTIME at 0 */
	int64_t zero;	    /* CLOCK_MONOTONIC at 0 */
	int64_t offset;	    /* real minus monotonic, now */
	uint32_t steps;
} Timeline;

static inline void timeline_start(Timeline *t)
{
	t->offset = clock_offset_ns();
	t->zero = clock_mono_ns();
	t->epoch = t->zero + t->offset;
}

static inline int64_t timeline_now(const Timeline *t)
{
	return clock_mono_ns() - t->zero;
}

/* CLOCK_REALTIME now, as the kernel would stamp. */
static inline int64_t timeline_real_now(const Timeline *t)
{
	return clock_mono_ns() + t->offset;
}

/* NS_NONE for no stamp (0). */
static inline int64_t timeline_of(const Timeline *t, int64_t stamp)
{
	return stamp ? stamp - t->offset - t->zero : NS_NONE;
}

static inline int64_t timeline_mono(const Timeline *t, int64_t at)
{
	return at + t->zero;
}

/* The wall clock was set.  Returns by how much. */
static inline int64_t timeline_step(Timeline *t)
{
	int64_t before = t->offset;

	t->offset = clock_offset_ns();
	t->steps++;
	return t->offset - before;
}

#endif
