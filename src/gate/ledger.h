/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: what all runs on this host used, per session, per destination and in
 * total; whose source ports are still warm; where the log ends (guardrails.md 2, 3).
 *
 * One file of a fixed size with tables of fixed rows, LEDGER_PATH.  The opener opens
 * it with the right to; the gate, which has no capability and no name for it, holds
 * the descriptor: what a taken-over engine says never reaches it, and the process
 * with capabilities need not parse it.
 *
 * A run reserves before it sends, in pieces, and settles at its end: whoever dies has
 * paid for what he reserved.  Every call locks the file, does one thing, and lets go;
 * each returns NULL or a sentence that says what is wrong, and then nothing may be
 * sent.
 */
#ifndef SONDE_GATE_LEDGER_H
#define SONDE_GATE_LEDGER_H

#include "base/addr.h"
#include "base/limits.h"
#include "gate/ledger_row.h"
#include "gate/log.h"
#include "sys/state.h"

#define LEDGER_FILE "ledger"
#define LEDGER_LOG "log"
#define LEDGER_PATH STATE_FOLDER "/" LEDGER_FILE

/* A piece of a reservation: large enough to lock seldom, small enough to leave
 * something to runs beside. */
enum { LEDGER_PIECE_PACKETS = 256, LEDGER_PIECE_BYTES = 256 * 1514, LEDGER_PIECE_SYN = 32 };

#define LEDGER_PORT_HOLD_S 60 /* guardrails.md 3: after a run, its ports are its session's */

typedef struct Ledger {
	int fd, log_fd; /* -1: there is none */
	LedgerClock clock; /* boot id; the rest is read at each call */
	char session[LEDGER_NAME];
	uint32_t row;	/* the session's, once found */
	bool row_known;
	int64_t now;	/* the ledger's time at the last call */
	uint64_t log_seq; /* of the last line that was appended */
} Ledger;

typedef struct LedgerPeer {
	Ip ip;
	LedgerCount count;
} LedgerPeer;

typedef struct LedgerPort {
	uint8_t proto; /* IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port;
} LedgerPort;

/* Judges the descriptors and reads the head.  `session` names who pays. */
const char *ledger_open(Ledger *l, int fd, int log_fd, const char *session);

/* Reserves what is left of `want` under `hour` (UINT64_MAX: no bound) for the session:
 * *ret_got is at most `want`, per kind. */
const char *ledger_take(Ledger *l, const LedgerCount *want, const LedgerCount *hour, LedgerCount *ret_got);

/* At the end: adds what was used beyond the reservation, gives back what of it was not
 * (it counted at `taken_at`), counts destinations, and appends to the log. */
typedef struct LedgerBill {
	LedgerCount more, back;
	int64_t taken_at;
	const LedgerPeer *peer;
	uint32_t npeers;
	const LedgerPort *port; /* to be held for the session until `hold_s` from now */
	uint32_t nports;
	int64_t hold_s;
} LedgerBill;

const char *ledger_settle(Ledger *l, const LedgerBill *b);

/* Seconds that another session still has the port; 0: it is free for this one. */
const char *ledger_port_wait(Ledger *l, LedgerPort p, int64_t *ret_s);
/* Of lo..hi, a bit set for each port that is another session's. */
const char *ledger_ports_held(Ledger *l, uint8_t proto, uint16_t lo, uint16_t hi, uint8_t *ret_bits);

/* One line of the log.  `write` adds the fields. */
const char *ledger_log(Ledger *l, const char *event, void (*write)(LogLine *line, void *ctx), void *ctx);

/* ---- for `sonde ledger` ---- */

/* Makes an empty ledger of an empty file. */
const char *ledger_format(int fd);

/* Calls `row` for the total (kind 't'), sessions ('s') and destinations ('d') that are
 * not empty. */
typedef void LedgerRowFn(void *ctx, char kind, const LedgerRow *r, int64_t now);
const char *ledger_each(Ledger *l, LedgerRowFn *row, void *ctx);

/* A new log, open on fd, goes on where the old one ends. */
const char *ledger_new_log(Ledger *l, int fd);

#endif
