/* SPDX-License-Identifier: Apache-2.0
 *
 * One account of the ledger: what somebody used over the last minute, hour and day
 * (guardrails.md 2).  Pure: time is an argument.
 *
 * A window is a ring of slots.  The slot that is not over yet counts in full and one
 * slot more than fits is kept, so what a window sums up is never less than what was
 * used in the time that it is named after, and at most one slot's more.
 */
#ifndef SONDE_GATE_LEDGER_ROW_H
#define SONDE_GATE_LEDGER_ROW_H

#include "base/str.h"

/* id, name */
#define LEDGER_KINDS(X)       \
	X(PACKETS, "packets") \
	X(BYTES, "bytes")     \
	X(SYN, "syn")         \
	X(LEAK, "leak")       \
	X(REFUSED, "refused") \
	X(RUNS, "runs")

#define LEDGER_ENUM_(id, name) LEDGER_##id,
typedef enum LedgerKind { LEDGER_KINDS(LEDGER_ENUM_) LEDGER_N } LedgerKind;

typedef struct LedgerCount {
	uint64_t v[LEDGER_N];
} LedgerCount;

/* id, name, seconds of a slot, slots in the window */
#define LEDGER_WINDOWS(X)          \
	X(MINUTE, "minute", 10, 6) \
	X(HOUR, "hour", 300, 12)   \
	X(DAY, "day", 3600, 24)

#define LEDGER_WINDOW_(id, name, seconds, slots) LEDGER_##id,
typedef enum LedgerSpan { LEDGER_WINDOWS(LEDGER_WINDOW_) LEDGER_SPANS } LedgerSpan;

#define LEDGER_TIME_MOST (INT64_C(1) << 40) /* s: 34,000 years */
enum { LEDGER_SLOTS = 25, LEDGER_NAME = 64, LEDGER_ROW = 4096 };

typedef struct LedgerWindow {
	int64_t slot; /* number of the newest slot since the ledger's time began */
	LedgerCount ring[LEDGER_SLOTS];
} LedgerWindow;

typedef struct LedgerRow {
	char name[LEDGER_NAME]; /* "uid 1000", "10.9.0.2"; empty: nobody's */
	int64_t last;		/* s: when it was written */
	LedgerWindow window[LEDGER_SPANS];
} LedgerRow;

const char *ledger_kind_name(LedgerKind k);
const char *ledger_span_name(LedgerSpan s);

/* What was used in the window that ends now.  `now`: seconds of the ledger's time. */
LedgerCount ledger_row_sum(const LedgerRow *r, LedgerSpan s, int64_t now);
void ledger_row_add(LedgerRow *r, const LedgerCount *c, int64_t now);
/* Gives back what was added at `then`; where that has left a window, nothing. */
void ledger_row_give_back(LedgerRow *r, const LedgerCount *c, int64_t then, int64_t now);

/* LEDGER_ROW bytes with a check sum. */
void ledger_row_encode(const LedgerRow *r, uint8_t out[LEDGER_ROW]);
/* False: damaged.  Bytes that are all zero are an empty row. */
bool ledger_row_decode(const uint8_t in[LEDGER_ROW], LedgerRow *ret_r);

/* ---- the ledger's time ---- */

/* Seconds that passed while the ledger looked: by the clock that nobody sets, as
 * long as the machine runs; from one boot to the next by the wall clock, if that
 * went forward.  So setting the clock refills nothing and freezes nothing. */
typedef struct LedgerClock {
	uint8_t boot[16]; /* the kernel's boot id */
	int64_t boot_s;	  /* CLOCK_BOOTTIME */
	int64_t real_s;	  /* CLOCK_REALTIME */
} LedgerClock;

/* The time after `now` at `was`, when the clocks are at `is`. */
int64_t ledger_time(int64_t now, const LedgerClock *was, const LedgerClock *is);

#endif
