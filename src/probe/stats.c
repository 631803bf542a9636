/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/stats.h"

#include "base/sort.h"

#include <math.h>

/* ---- series ---- */

typedef struct Arrival {
	uint64_t peer;
	int64_t tx_ns, rx_ns;
	uint32_t rank; /* number of the probe among those to its peer */
	uint32_t at;
} Arrival;

static int by_peer(const void *x, const void *y)
{
	const Arrival *a = x, *b = y;

	if (a->peer != b->peer)
		return a->peer < b->peer ? -1 : 1;
	if (a->tx_ns != b->tx_ns)
		return a->tx_ns < b->tx_ns ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static int by_arrival(const void *x, const void *y)
{
	const Arrival *a = x, *b = y;

	if (a->peer != b->peer)
		return a->peer < b->peer ? -1 : 1;
	if (a->rx_ns != b->rx_ns)
		return a->rx_ns < b->rx_ns ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static void series_order(Arrival *v, uint32_t n, SeriesStats *s)
{
	uint32_t high = 0;

	sort_items(v, n, sizeof *v, by_peer);
	for (uint32_t i = 0; i < n; i++)
		v[i].rank = i && v[i].peer == v[i - 1].peer ? v[i - 1].rank + 1 : 0;
	sort_items(v, n, sizeof *v, by_arrival);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || v[i].peer != v[i - 1].peer)
			high = 0;
		if (v[i].rank < high) {
			uint32_t places = high - v[i].rank;

			s->reordered++;
			if (places > s->max_displacement)
				s->max_displacement = places;
		} else {
			high = v[i].rank;
		}
	}
}

static void series_runs(const Outcome *o, uint32_t n, Arena *a, SeriesStats *s)
{
	uint32_t run = 0;

	s->lost_runs = arena_new_n(a, uint32_t, n / 2 + 1);
	for (uint32_t i = 0; i <= n; i++) {
		if (i < n && !o[i].answered) {
			run++;
		} else if (run) {
			s->lost_runs[s->n_lost_runs++] = run;
			run = 0;
		}
	}
}

void stats_series(const Outcome *o, uint32_t n, Arena *a, SeriesStats *ret_stats)
{
	SeriesStats s = { .sent = n };
	Arrival *v = arena_new_n(a, Arrival, n);
	uint32_t direct = 0;

	for (uint32_t i = 0; i < n; i++) {
		s.received += o[i].answered;
		if (o[i].answered && o[i].direct && o[i].rx_ns != NS_NONE)
			v[direct++] = (Arrival){
				.peer = o[i].peer, .tx_ns = o[i].tx_ns, .rx_ns = o[i].rx_ns, .at = i
			};
	}
	s.loss = n ? (double)(n - s.received) / n : (double)NAN;
	series_order(v, direct, &s);
	series_runs(o, n, a, &s);
	*ret_stats = s;
}

/* ---- summaries ---- */

static int by_number(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static int by_ns(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

/* Nearest rank: the least value that percent of 100 values are not above. */
static uint32_t rank(uint32_t n, uint32_t percent)
{
	return (uint32_t)(((uint64_t)n * percent + 99) / 100) - 1;
}

void stats_summary(const double *v, uint32_t n, Arena *scratch, Summary *ret_summary)
{
	double nan = (double)NAN;
	Summary s = { 0, nan, nan, nan, nan, nan, nan, nan };
	double *w = arena_new_n(scratch, double, n), sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!isnan(v[i])) {
			w[s.n++] = v[i];
			sum += v[i];
		}
	if (s.n) {
		sort_items(w, s.n, sizeof *w, by_number);
		s.min = w[0];
		s.max = w[s.n - 1];
		s.avg = sum / s.n;
		s.median = s.n % 2 ? w[s.n / 2] : (w[s.n / 2 - 1] + w[s.n / 2]) / 2;
		s.p95 = w[rank(s.n, 95)];
		s.p99 = w[rank(s.n, 99)];
		for (uint32_t i = 0; i < s.n; i++)
			squares += (w[i] - s.avg) * (w[i] - s.avg);
		if (s.n > 1)
			s.stdev = sqrt(squares / (s.n - 1));
	}
	*ret_summary = s;
}

void stats_summary_ns(const int64_t *v, uint32_t n, Arena *scratch, SummaryNs *ret_summary)
{
	SummaryNs s = { 0, NS_NONE, NS_NONE, NS_NONE, NS_NONE, NS_NONE, NS_NONE, NS_NONE };
	int64_t *w = arena_new_n(scratch, int64_t, n);
	__int128 sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < n; i++)
		if (v[i] != NS_NONE) {
			w[s.n++] = v[i];
			sum += v[i];
		}
	if (s.n) {
		sort_items(w, s.n, sizeof *w, by_ns);
		s.min = w[0];
		s.max = w[s.n - 1];
		s.avg = (int64_t)(sum / s.n);
		s.median = s.n % 2 ? w[s.n / 2] : (int64_t)(((__int128)w[s.n / 2 - 1] + w[s.n / 2]) / 2);
		s.p95 = w[rank(s.n, 95)];
		s.p99 = w[rank(s.n, 99)];
		for (uint32_t i = 0; i < s.n; i++)
			squares += ((double)w[i] - (double)s.avg) * ((double)w[i] - (double)s.avg);
		if (s.n > 1)
			s.stdev = llround(sqrt(squares / (s.n - 1)));
	}
	*ret_summary = s;
}

int64_t stats_jitter_ns(const int64_t *v, uint32_t n)
{
	int64_t last = NS_NONE;
	__int128 sum = 0;
	uint32_t pairs = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (v[i] == NS_NONE)
			continue;
		if (last != NS_NONE) {
			sum += v[i] > last ? v[i] - last : last - v[i];
			pairs++;
		}
		last = v[i];
	}
	return pairs ? (int64_t)(sum / pairs) : NS_NONE;
}
