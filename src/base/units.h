/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations (int64_t, ns) and numbers as people read them.
 */
#ifndef SONDE_BASE_UNITS_H
#define SONDE_BASE_UNITS_H

#include "base/str.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* The absent duration or time: the statistic of nothing, a stamp that is missing. */
#define NS_NONE INT64_MIN

/* "12.34 ms": unit by size, 4 significant digits; "-" for NS_NONE. */
size_t duration_format(int64_t ns, char out[32]);

/* "2026-11-29 17:04:05.123456 UTC"; "-" for NS_NONE. */
size_t time_format(int64_t ns_since_epoch, char out[40]);

/* Days since 1970-01-01 as a date of the Gregorian calendar. */
typedef struct Date {
	int64_t year;
	unsigned month, day;
} Date;

Date date_of_days(int64_t days);

/* The factor of a unit suffix on a number, in the suffix's base unit (ns for
 * times, bytes for sizes); 0 if there is no such suffix. */
typedef struct UnitRow {
	const char *name;
	int64_t factor;
	bool is_time;
} UnitRow;

const UnitRow *unit_find(Str suffix);

/* seconds -> ns, rounded; NS_NONE for NaN or what does not fit. */
int64_t ns_from_s(double s);

#endif
