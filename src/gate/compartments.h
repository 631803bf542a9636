/* SPDX-License-Identifier: Apache-2.0
 *
 * Compartments (guardrails.md 2): what a session of an agent was shown, and what its
 * runs had, decide what its next run may do.
 *
 * Once content of a peer was shown, a run may send only to that peer and to what the
 * root-owned policy lists by may_follow(); the addresses of one name are one
 * compartment.  And a run that may do more than runs of the session had before needs a
 * person; peers that may_follow() lists are the operator's word already, as far as no
 * word, spoofing, listening, capturing, leak or bound above its default comes with it.
 *
 * A session is a file of records that only grows: the loader reads it and adds what a
 * run had, cmd adds what is shown before it is.  Here it is bytes: no I/O.
 */
#ifndef SONDE_GATE_COMPARTMENTS_H
#define SONDE_GATE_COMPARTMENTS_H

#include "deal/whence.h"
#include "gate/rules.h"

enum { SESSION_MOST = 1 << 20, SESSION_RECORD = 1 << 16 }; /* bytes of a session; of one record */

typedef struct ShownRow {
	Ip lo, hi;
	Str name; /* or empty */
} ShownRow;

typedef struct HadRow {
	Ip lo, hi;
	Rights rights;
} HadRow;

typedef struct Session {
	Arena *a;
	VEC(ShownRow) shown;
	VEC(HadRow) had;
	VEC(Str) facts; /* "name acme.corp", "spoof 10.0.0.1" ... */
	int64_t bound[BOUND_N]; /* the largest */
} Session;

/* Of all the records; false: they are none, and nothing may run. */
bool session_read(Bytes records, Arena *a, Session *ret_s);

/* A record of what is shown: packed rows of deal/whence.h.  False: it does not fit. */
bool session_shown(Writer *w, Bytes whence);
/* A record of what a run has; false: it does not fit. */
bool session_had(Writer *w, const Rules *r, const Manifest *m, Arena *a);

/* Findings for what the run may not do in this session, or not without a person.
 * names: host names are looked up before, at these. */
void session_check_names(const Session *s, const RulesInput *in, const Ip *resolver, uint32_t n, Findings *f);
void session_check(const Session *s, const RulesInput *in, const Rules *r, Findings *f);

#endif
