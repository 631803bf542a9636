/* SPDX-License-Identifier: Apache-2.0
 *
 * What a series of probes says: loss, order, runs of losses; and summaries of
 * numbers.
 *
 * Ownership: arrays are made in the arena given.
 */
#ifndef SONDE_PROBE_STATS_H
#define SONDE_PROBE_STATS_H

#include "base/arena.h"
#include "base/units.h"

#include <stdbool.h>

/* One probe that left, in the program's order. */
typedef struct Outcome {
	int64_t tx_ns; /* of the copy that was answered */
	int64_t rx_ns; /* of its first answer; NS_NONE: none */
	bool answered;
	bool direct;   /* answered by the peer itself on the reversed flow: its order counts */
	uint64_t peer; /* answers are compared in order with those of the same peer only */
} Outcome;

typedef struct SeriesStats {
	uint32_t sent, received;
	double loss;		   /* 0..1; NaN: nothing was sent */
	uint32_t reordered;	   /* answers that came after that of a later probe */
	uint32_t max_displacement; /* most places by which an answer came too late */
	uint32_t n_lost_runs;
	uint32_t *lost_runs; /* lengths, in order */
} SeriesStats;

void stats_series(const Outcome *o, uint32_t n, Arena *a, SeriesStats *ret_stats);

/* Absent values are left out.  Percentiles by nearest rank; the median of an even
 * number is the mean of the middle two; stdev is a sample's (n - 1). */
typedef struct Summary {
	uint32_t n;
	double min, avg, median, p95, p99, max, stdev; /* NaN where there is none */
} Summary;

void stats_summary(const double *v, uint32_t n, Arena *scratch, Summary *ret_summary);

/* The same of durations in whole ns; NS_NONE where there is none. */
typedef struct SummaryNs {
	uint32_t n;
	int64_t min, avg, median, p95, p99, max, stdev;
} SummaryNs;

void stats_summary_ns(const int64_t *v, uint32_t n, Arena *scratch, SummaryNs *ret_summary);

/* RFC 3550 6.4.1 in spirit: the mean of the differences of neighbouring values;
 * NS_NONE below two. */
int64_t stats_jitter_ns(const int64_t *v, uint32_t n);

#endif
