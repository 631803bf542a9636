/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/ledger_row.h"

static const struct {
	const char *name;
	int64_t seconds;
	unsigned slots; /* of the ring: the window's and one more */
} spans[] = {
#define SPAN_(id, name, seconds, slots) { name, seconds, (slots) + 1 },
	LEDGER_WINDOWS(SPAN_)
#undef SPAN_
};

const char *ledger_kind_name(LedgerKind k)
{
	static const char *const names[] = {
#define NAME_(id, name) name,
		LEDGER_KINDS(NAME_)
#undef NAME_
	};

	return k < LEDGER_N ? names[k] : "?";
}

const char *ledger_span_name(LedgerSpan s)
{
	return s < LEDGER_SPANS ? spans[s].name : "?";
}

/* ---- windows ---- */

static LedgerCount *slot_of(LedgerRow *r, LedgerSpan s, int64_t slot)
{
	return &r->window[s].ring[(uint64_t)slot % spans[s].slots];
}

/* Empties what has left the window.  Time never goes back here. */
static void roll(LedgerRow *r, LedgerSpan s, int64_t now)
{
	LedgerWindow *w = &r->window[s];
	int64_t slot = now / spans[s].seconds, gone = slot - w->slot;

	if (gone <= 0)
		return;
	if (gone > spans[s].slots)
		gone = spans[s].slots;
	for (int64_t i = 0; i < gone; i++)
		*slot_of(r, s, slot - i) = (LedgerCount){ 0 };
	w->slot = slot;
}

static void roll_all(LedgerRow *r, int64_t now)
{
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++)
		roll(r, s, now);
	if (now > r->last)
		r->last = now;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

LedgerCount ledger_row_sum(const LedgerRow *r, LedgerSpan s, int64_t now)
{
	LedgerRow at = *r;
	LedgerCount sum = { 0 };

	roll(&at, s, now);
	for (unsigned i = 0; i < spans[s].slots; i++)
		for (unsigned k = 0; k < LEDGER_N; k++)
			sum.v[k] = add_sat(sum.v[k], at.window[s].ring[i].v[k]);
	return sum;
}

void ledger_row_add(LedgerRow *r, const LedgerCount *c, int64_t now)
{
	roll_all(r, now);
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
		LedgerCount *slot = slot_of(r, s, r->window[s].slot);

		for (unsigned k = 0; k < LEDGER_N; k++)
			slot->v[k] = add_sat(slot->v[k], c->v[k]);
	}
}

void ledger_row_give_back(LedgerRow *r, const LedgerCount *c, int64_t then, int64_t now)
{
	roll_all(r, now);
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
		int64_t slot = then / spans[s].seconds;

		if (slot > r->window[s].slot || r->window[s].slot - slot >= spans[s].slots)
			continue;
		for (unsigned k = 0; k < LEDGER_N; k++) {
			uint64_t *v = &slot_of(r, s, slot)->v[k];

			*v = c->v[k] < *v ? *v - c->v[k] : 0;
		}
	}
}

/* ---- bytes ---- */

void ledger_row_encode(const LedgerRow *r, uint8_t out[LEDGER_ROW])
{
	Writer w = writer(out, LEDGER_ROW);

	wr_bytes(&w, BYTES(r->name, LEDGER_NAME));
	wr_be64(&w, (uint64_t)r->last);
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
		wr_be64(&w, (uint64_t)r->window[s].slot);
		for (unsigned i = 0; i < spans[s].slots; i++)
			for (unsigned k = 0; k < LEDGER_N; k++)
				wr_be64(&w, r->window[s].ring[i].v[k]);
	}
	wr_be64(&w, bytes_hash(wr_done(&w)));
	wr_zeros(&w, LEDGER_ROW - w.n);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static bool is_time(int64_t s)
{
	return s >= 0 && s < LEDGER_TIME_MOST;
}

bool ledger_row_decode(const uint8_t in[LEDGER_ROW], LedgerRow *ret_r)
{
	Cursor c = cursor(BYTES(in, LEDGER_ROW));
	LedgerRow *r = ret_r;

	*r = (LedgerRow){ 0 };
	if (all_zero(in, LEDGER_ROW))
		return true;
	memcpy(r->name, cur_bytes(&c, LEDGER_NAME).p, LEDGER_NAME);
	r->last = (int64_t)cur_be64(&c);
	bool sane = is_time(r->last);
	for (LedgerSpan s = 0; s < LEDGER_SPANS; s++) {
		r->window[s].slot = (int64_t)cur_be64(&c);
		sane &= is_time(r->window[s].slot);
		for (unsigned i = 0; i < spans[s].slots; i++)
			for (unsigned k = 0; k < LEDGER_N; k++)
				r->window[s].ring[i].v[k] = cur_be64(&c);
	}
	uint64_t sum = bytes_hash(BYTES(in, c.off));

	return sane && cur_be64(&c) == sum && memchr(r->name, 0, LEDGER_NAME) && all_zero(in + c.off, cur_left(&c));
}

/* ---- time ---- */

int64_t ledger_time(int64_t now, const LedgerClock *was, const LedgerClock *is)
{
	bool same_boot = memcmp(was->boot, is->boot, sizeof was->boot) == 0;
	int64_t passed = same_boot ? is->boot_s - was->boot_s : is->real_s - was->real_s;

	return passed > 0 && passed < LEDGER_TIME_MOST - now ? now + passed : now;
}
