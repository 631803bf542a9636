/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks chains of hashes: the evidence of one run (gate/evidence.h) and the log of
 * all runs (gate/log.h).  What is read may be anybody's: bounded, one block or line
 * at a time.
 *
 * A chain shows that something was changed, and where first.  It does not show that
 * the whole was written anew: for that, compare `head` with what the run printed.
 */
#ifndef SONDE_GATE_AUDIT_H
#define SONDE_GATE_AUDIT_H

#include "base/sha256.h"

typedef enum AuditKind { AUDIT_NONE, AUDIT_EVIDENCE, AUDIT_LOG } AuditKind;

typedef struct Audit {
	AuditKind kind;	  /* NONE: neither; why says so */
	bool intact;
	int err;	  /* errno of a read that failed; 0: none did */
	uint64_t items;	  /* blocks or lines that are covered by intact links */
	uint64_t links;
	uint64_t from;	  /* the breach lies in [from, to) of the file's bytes */
	uint64_t to;
	const char *why;  /* a sentence without full stop; "" if intact */
	Hash head;	  /* of the last intact link */
} Audit;

/* Reads the file from its beginning. */
Audit audit_verify(int fd);

#endif
