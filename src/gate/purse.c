/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/purse.h"

#include "gate/fpset.h"

static const struct {
	LedgerKind kind;
	Bound hour, most;
	uint64_t piece;
} metered[] = {
	{ LEDGER_PACKETS, BOUND_HOUR_PACKETS, BOUND_PACKETS, LEDGER_PIECE_PACKETS },
	{ LEDGER_BYTES, BOUND_HOUR_BYTES, BOUND_BYTES, LEDGER_PIECE_BYTES },
	{ LEDGER_SYN, BOUND_HOUR_SYN, BOUND_SYN, LEDGER_PIECE_SYN },
};

enum { METERED = sizeof metered / sizeof metered[0] };

enum { FULL_FRAME = 1514 };

LedgerCount purse_hour_bounds(const Policy *policies, uint32_t n)
{
	LedgerCount c;

	for (unsigned k = 0; k < LEDGER_N; k++)
		c.v[k] = UINT64_MAX;
	for (unsigned i = 0; i < METERED; i++)
		for (uint32_t k = 0; k < n; k++) {
			const Budget *b = &policies[k].decls.budget;
			uint64_t *least = &c.v[metered[i].kind], v = (uint64_t)b->v[metered[i].hour];

			if (b->declared >> metered[i].hour & 1 && v < *least)
				*least = v;
		}
	return c;
}

void purse_init(Purse *p, Arena *a, Ledger *l, const Budget *b, uint64_t worst)
{
	uint64_t *packets = &p->most.v[LEDGER_PACKETS], *bytes = &p->most.v[LEDGER_BYTES];

	*p = (Purse){ .ledger = l };
	for (unsigned k = 0; k < LEDGER_N; k++)
		p->hour.v[k] = p->most.v[k] = UINT64_MAX;
	for (unsigned i = 0; i < METERED; i++) {
		if (b->v[metered[i].hour])
			p->hour.v[metered[i].kind] = (uint64_t)b->v[metered[i].hour];
		if (b->v[metered[i].most])
			p->most.v[metered[i].kind] = (uint64_t)b->v[metered[i].most];
	}
	if (worst < *packets)
		*packets = worst;
	if (*packets < *bytes / FULL_FRAME)
		*bytes = *packets * FULL_FRAME;
	if (l)
		p->peer = arena_new_n(a, LedgerPeer, PURSE_PEERS);
}

static LedgerCount cost_of(const MeterFrame *f)
{
	return (LedgerCount){ .v = { [LEDGER_PACKETS] = f->packets, [LEDGER_BYTES] = f->bytes, [LEDGER_SYN] = f->syn } };
}

/* A piece, but no more than the run can still need, and no less than it needs now. */
static uint64_t want_of(const Purse *p, unsigned i, uint64_t cost)
{
	LedgerKind k = metered[i].kind;
	uint64_t need = cost > p->left.v[k] ? cost - p->left.v[k] : 0;
	uint64_t future = p->most.v[k] > p->spent.v[k] ? p->most.v[k] - p->spent.v[k] : 0;
	uint64_t piece = metered[i].piece < future ? metered[i].piece : future;
	uint64_t fill = piece > p->left.v[k] ? piece - p->left.v[k] : 0;

	return need > fill ? need : fill;
}

static bool reserve(Purse *p, const LedgerCount *cost)
{
	LedgerCount want = { 0 }, got = { 0 };

	for (unsigned i = 0; i < METERED; i++)
		want.v[metered[i].kind] = want_of(p, i, cost->v[metered[i].kind]);
	p->fault = ledger_take(p->ledger, &want, &p->hour, &got);
	if (p->fault)
		return false;
	p->taken_at = p->ledger->now;
	for (unsigned i = 0; i < METERED; i++) {
		p->left.v[metered[i].kind] += got.v[metered[i].kind];
		p->taken.v[metered[i].kind] += got.v[metered[i].kind];
	}
	return true;
}

static const char *short_of(const Purse *p, const LedgerCount *cost)
{
	for (unsigned i = 0; i < METERED; i++)
		if (p->left.v[metered[i].kind] < cost->v[metered[i].kind])
			return bound_name(metered[i].hour);
	return NULL;
}

const char *purse_lacks(Purse *p, const MeterFrame *f)
{
	LedgerCount cost = cost_of(f);

	if (!p->ledger || f->cleanup || !short_of(p, &cost))
		return NULL;
	if (p->fault || !reserve(p, &cost))
		return "ledger";
	return short_of(p, &cost);
}

static LedgerCount *peer_of(Purse *p, Ip ip)
{
	uint64_t at = fp_ip(0, ip);

	if (!ip.v)
		return NULL;
	for (uint32_t i = 0; i < PURSE_PEERS; i++) {
		LedgerPeer *e = &p->peer[(at + i) % PURSE_PEERS];

		if (!e->ip.v && p->npeers < PURSE_PEERS * 3 / 4) {
			e->ip = ip;
			p->npeers++;
		}
		if (ip_eq(e->ip, ip))
			return &e->count;
		if (!e->ip.v)
			return NULL; /* more destinations than one run counts apart */
	}
	return NULL;
}

static void add(LedgerCount *to, const LedgerCount *c)
{
	for (unsigned k = 0; k < LEDGER_N; k++)
		to->v[k] += c->v[k];
}

void purse_pay(Purse *p, const MeterFrame *f)
{
	LedgerCount cost = cost_of(f), *peer;

	if (!p->ledger)
		return;
	add(&p->spent, &cost);
	peer = peer_of(p, f->dst);
	if (peer)
		add(peer, &cost);
	for (unsigned k = 0; k < LEDGER_N; k++) /* resets of flows were never reserved */
		p->left.v[k] = p->left.v[k] > cost.v[k] ? p->left.v[k] - cost.v[k] : 0;
}

void purse_put(Purse *p, const LedgerCount *c)
{
	if (!p->ledger)
		return;
	add(&p->left, c);
	add(&p->taken, c);
	p->taken_at = p->ledger->now;
}

void purse_look_ups(Purse *p, uint64_t packets, uint64_t bytes)
{
	purse_pay(p, &(MeterFrame){ .packets = (uint32_t)packets, .bytes = bytes });
}

void purse_count(Purse *p, LedgerKind k, uint64_t n)
{
	p->spent.v[k] += n;
}

/* The peers that were met, moved to the front of their table. */
static uint32_t peers_gather(Purse *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PURSE_PEERS && p->peer; i++)
		if (p->peer[i].ip.v)
			p->peer[n++] = p->peer[i];
	return n;
}

const char *purse_settle(Purse *p, const LedgerPort *port, uint32_t nports)
{
	LedgerBill b = { .taken_at = p->taken_at, .port = port, .nports = nports, .hold_s = LEDGER_PORT_HOLD_S };

	if (!p->ledger)
		return NULL;
	for (unsigned k = 0; k < LEDGER_N; k++) {
		uint64_t taken = p->taken.v[k], spent = p->spent.v[k];

		b.more.v[k] = spent > taken ? spent - taken : 0;
		b.back.v[k] = taken > spent ? taken - spent : 0;
	}
	b.npeers = peers_gather(p);
	b.peer = p->peer;
	return ledger_settle(p->ledger, &b);
}
