/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run may spend of the ledger: reserved in pieces before it sends, settled at
 * its end.  Without a ledger it has no bottom.
 */
#ifndef SONDE_GATE_PURSE_H
#define SONDE_GATE_PURSE_H

#include "gate/budget.h"
#include "gate/ledger.h"

/* What an hour may take: the lowest that a policy declares; UINT64_MAX: none does. */
LedgerCount purse_hour_bounds(const Policy *policies, uint32_t n);

enum { PURSE_PEERS = 4096 };

typedef struct Purse {
	Ledger *ledger; /* NULL: there is none */
	LedgerCount hour; /* bounds; UINT64_MAX: none */
	LedgerCount most; /* what the run may need in all: more is never reserved */
	LedgerCount left; /* reserved and not spent */
	LedgerCount spent;
	LedgerCount taken;
	int64_t taken_at; /* the ledger's time of the last piece */
	LedgerPeer *peer; /* by hash of the address; ip.v == 0: free */
	uint32_t npeers;
	const char *fault; /* a sentence: the ledger can't be used any more */
} Purse;

/* `l` may be NULL.  The bounds are those of `b`; `worst` is how many packets the run
 * sends at most, as far as the checker knows. */
void purse_init(Purse *p, Arena *a, Ledger *l, const Budget *b, uint64_t worst);

/* NULL: there is enough for f, which was reserved.  Else the name of the bound that is
 * spent, or "ledger" with p->fault. */
const char *purse_lacks(Purse *p, const MeterFrame *f);

/* What was sent, whether it was reserved or not. */
void purse_pay(Purse *p, const MeterFrame *f);
/* What was reserved before. */
void purse_put(Purse *p, const LedgerCount *c);
/* What was sent before there were frames: reserved or not. */
void purse_look_ups(Purse *p, uint64_t packets, uint64_t bytes);
/* Something else that is counted: refused frames, runs. */
void purse_count(Purse *p, LedgerKind k, uint64_t n);

/* What of a reservation is not spent goes back, the rest is charged; ports are held.
 * NULL or a sentence. */
const char *purse_settle(Purse *p, const LedgerPort *port, uint32_t nports);

#endif
