/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>

static const UnitRow units[] = {
	{ "ns", 1, true },
	{ "us", NS_PER_US, true },
	{ "ms", NS_PER_MS, true },
	{ "s", NS_PER_S, true },
	{ "KB", 1000, false },
	{ "MB", 1000000, false },
	{ "GB", 1000000000, false },
	{ "Kbit", 125, false },
	{ "Mbit", 125000, false },
	{ "Gbit", 125000000, false },
};

const UnitRow *unit_find(Str suffix)
{
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (str_is(suffix, units[i].name))
			return &units[i];
	return NULL;
}

size_t duration_format(int64_t ns, char out[32])
{
	static const struct {
		double per;
		const char *name;
	} rows[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t row = 0;
	double abs_ns = fabs((double)ns);

	if (ns == NS_NONE)
		return (size_t)snprintf(out, 32, "-");
	if (ns == 0)
		return (size_t)snprintf(out, 32, "0 s");
	/* 999.96 us rounds to 1000 us, which reads 1 ms. */
	while (row < 3 && abs_ns / rows[row].per < 0.99995)
		row++;
	double v = (double)ns / rows[row].per;
	double size = fabs(v);
	int decimals = row == 3 ? 0 : size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;

	return (size_t)snprintf(out, 32, "%.*f %s", decimals, v, rows[row].name);
}

/* Howard Hinnant's "days_from_civil", inverted: years begin in March, so that the leap day is the last one. */
Date date_of_days(int64_t days)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	Date d = { .month = (unsigned)(mp < 10 ? mp + 3 : mp - 9), .day = (unsigned)(doy - (153 * mp + 2) / 5 + 1) };

	d.year = yoe + era * 400 + (d.month <= 2);
	return d;
}

size_t time_format(int64_t ns, char out[40])
{
	if (ns == NS_NONE)
		return (size_t)snprintf(out, 40, "-");
	int64_t s = ns / NS_PER_S - (ns % NS_PER_S < 0), sub = ns - s * NS_PER_S;
	int64_t days = s / 86400 - (s % 86400 < 0), in_day = s - days * 86400;

	Date d = date_of_days(days);

	return (size_t)snprintf(out, 40, "%04d-%02u-%02u %02d:%02d:%02d.%06d UTC", (int)d.year, d.month, d.day, (int)(in_day / 3600),
				(int)(in_day / 60 % 60), (int)(in_day % 60), (int)(sub / 1000));
}

int64_t ns_from_s(double s)
{
	double ns = s * 1e9;

	if (!(fabs(ns) < 9.2e18))
		return NS_NONE;
	return (int64_t)llrint(ns);
}
