/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/budget.h"

#include "base/limits.h"
#include "base/units.h"
#include "gate/fpset.h"

/* ---- buckets ---- */

/* Language: burst = rate/10, at least 1. */
static int64_t bucket_cap(int64_t rate)
{
	return (rate >= 20 ? rate / 10 : 1) * NS_PER_S;
}

static Bucket bucket(int64_t rate)
{
	return (Bucket){ .rate = rate, .level = rate ? bucket_cap(rate) : 0 };
}

static int64_t clamp128(__int128 v, int64_t most)
{
	return v > most ? most : (int64_t)v;
}

static void bucket_fill(Bucket *b, int64_t now)
{
	if (now <= b->at)
		return;
	b->level = clamp128(b->level + (__int128)(now - b->at) * b->rate, bucket_cap(b->rate));
	b->at = now;
}

/* When it holds enough for `cost` tokens: all of them, or all that it can hold. */
static int64_t bucket_when(Bucket *b, uint64_t cost, int64_t now)
{
	__int128 need = (__int128)cost * NS_PER_S;
	int64_t cap;

	if (!b->rate)
		return now;
	bucket_fill(b, now);
	cap = bucket_cap(b->rate);
	if (need > cap)
		need = cap;
	if (b->level >= need)
		return now;
	return now + (int64_t)((need - b->level + b->rate - 1) / b->rate);
}

static void bucket_take(Bucket *b, uint64_t cost)
{
	if (b->rate)
		b->level -= (int64_t)cost * NS_PER_S;
}

/* ---- the meter ---- */

static Bucket *buckets(Arena *a, int64_t rate)
{
	Bucket *b = rate ? arena_new_n(a, Bucket, METER_PEERS) : NULL;

	for (size_t i = 0; b && i < METER_PEERS; i++)
		b[i] = bucket(rate);
	return b;
}

void meter_init(Meter *m, Arena *a, const Rules *r, uint64_t seed)
{
	*m = (Meter){ .b = r->budget, .seed = seed, .nspoof = r->spoof.n };
	m->pace[BOUND_RATE] = bucket(m->b.v[BOUND_RATE]);
	m->pace[BOUND_BYTE_RATE] = bucket(m->b.v[BOUND_BYTE_RATE]);
	m->pace[BOUND_SYN_RATE] = bucket(m->b.v[BOUND_SYN_RATE]);
	m->peer = buckets(a, m->b.v[BOUND_PEER_RATE]);
	m->peer_syn = buckets(a, m->b.v[BOUND_PEER_SYN_RATE]);
	m->spoof = arena_new_n(a, MeterSpoof, m->nspoof);
	for (uint32_t i = 0; i < m->nspoof; i++)
		m->spoof[i] = (MeterSpoof){ .pace = bucket(r->spoof.p[i].rate), .max = r->spoof.p[i].max };
}

static MeterAnswer refuse_by(const char *bound)
{
	return (MeterAnswer){ .say = METER_REFUSE, .bound = bound };
}

static bool over(uint64_t used, uint64_t cost, int64_t most)
{
	return most && (used > (uint64_t)most || cost > (uint64_t)most - used);
}

/* The bound that the frame would break, or NULL. */
static const char *over_total(const Meter *m, const MeterFrame *f)
{
	if (over(m->used_packets, f->packets, m->b.v[BOUND_PACKETS]))
		return bound_name(BOUND_PACKETS);
	if (over(m->used_bytes, f->bytes, m->b.v[BOUND_BYTES]))
		return bound_name(BOUND_BYTES);
	if (over(m->used_syn, f->syn, m->b.v[BOUND_SYN]))
		return bound_name(BOUND_SYN);
	if (f->spoof >= 0 && over((uint64_t)m->spoof[f->spoof].used, f->packets, m->spoof[f->spoof].max))
		return "spoof max";
	return NULL;
}

typedef struct Toll {
	Bucket *b;
	uint64_t cost;
	const char *name;
	uint64_t *held;
} Toll;

/* All buckets that the frame passes; how many. */
static size_t tolls(Meter *m, const MeterFrame *f, Toll out[6])
{
	uint64_t peer = fp_ip(m->seed, f->dst) % METER_PEERS;
	size_t n = 0;

	out[n++] = (Toll){ &m->pace[BOUND_RATE], f->packets, bound_name(BOUND_RATE), &m->held[BOUND_RATE] };
	out[n++] = (Toll){ &m->pace[BOUND_BYTE_RATE], f->bytes, bound_name(BOUND_BYTE_RATE), &m->held[BOUND_BYTE_RATE] };
	if (f->syn)
		out[n++] = (Toll){ &m->pace[BOUND_SYN_RATE], 1, bound_name(BOUND_SYN_RATE), &m->held[BOUND_SYN_RATE] };
	if (m->peer)
		out[n++] = (Toll){ &m->peer[peer], f->packets, bound_name(BOUND_PEER_RATE), &m->held[BOUND_PEER_RATE] };
	if (m->peer_syn && f->syn)
		out[n++] = (Toll){ &m->peer_syn[peer], 1, bound_name(BOUND_PEER_SYN_RATE), &m->held[BOUND_PEER_SYN_RATE] };
	if (f->spoof >= 0)
		out[n++] = (Toll){ &m->spoof[f->spoof].pace, f->packets, "spoof rate", &m->held_spoof };
	return n;
}

static MeterAnswer send_it(Meter *m, const MeterFrame *f, const Toll *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bucket_take(t[i].b, t[i].cost);
	m->used_packets += f->packets;
	m->used_bytes += f->bytes;
	m->used_syn += f->syn;
	m->open += f->syn;
	if (f->spoof >= 0)
		m->spoof[f->spoof].used += f->packets;
	m->asked_again = false;
	return (MeterAnswer){ .say = METER_SEND };
}

MeterAnswer meter_ask(Meter *m, const MeterFrame *f, int64_t now)
{
	Toll t[6];
	MeterAnswer a = { .say = METER_HOLD, .until = now };
	const char *bound;
	uint64_t *held = NULL;
	size_t n;

	/* the reserve: one reset for each flow that was opened, beside the budget, and after its end */
	if (f->cleanup && (m->open || f->called)) {
		m->open -= !f->called;
		m->cleanups++;
		return (MeterAnswer){ .say = METER_SEND };
	}
	if (m->b.v[BOUND_TIME] && now >= m->b.v[BOUND_TIME])
		return refuse_by(bound_name(BOUND_TIME));
	bound = over_total(m, f);
	if (bound)
		return refuse_by(bound);
	n = tolls(m, f, t);
	for (size_t i = 0; i < n; i++) {
		int64_t when = bucket_when(t[i].b, t[i].cost, now);

		if (when <= a.until)
			continue;
		a.until = when;
		a.bound = t[i].name;
		held = t[i].held;
	}
	if (!held)
		return send_it(m, f, t, n);
	*held += !m->asked_again; /* a frame that is asked for again counts once */
	m->asked_again = true;
	return a;
}

bool meter_refused(Meter *m)
{
	return ++m->refused >= LIMIT_REFUSED;
}
