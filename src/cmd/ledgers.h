/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger as commands use it: opened with the binary's group, for that moment.
 */
#ifndef SONDE_CMD_LEDGERS_H
#define SONDE_CMD_LEDGERS_H

#include "base/arena.h"
#include "gate/ledger.h"
#include "gate/run.h"

/* guardrails.md 2: on the command line, the real uid pays. */
const char *ledgers_session(Arena *a);

/* NULL, or a sentence with what to do. */
const char *ledgers_open(Arena *a, Ledger *ret_l);
/* The same for another session than the caller's own. */
const char *ledgers_open_as(Arena *a, const char *session, Ledger *ret_l);
void ledgers_close(Ledger *l);

/* The lowest bounds of an hour of all policies and what the session has used of them, as
 * comments; nothing if there is none.  `fault`: why there is no ledger, or NULL. */
void ledgers_hour_text(const PolicyList *list, Ledger *l, const char *fault, const char *session, Sb *out);

/* Makes the folder, as root; an exit code, after saying what was done. */
int ledgers_init(bool replace);

#endif
