/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of all runs: a line of JSON per event, each with the hash of the line
 * before, so that nothing can be changed or taken out unseen; where it ends stands
 * in the ledger, so that it can't be cut unseen either.
 *
 *   {"seq":7,"prev":"<64 digits>","time":"2026-01-31T12:00:00Z","event":"start", ... ,"hash":"<64 digits>"}
 *
 * `hash` is the SHA-256 of the line up to the comma before it.  Fields that repeat
 * what an engine or a program says of itself are named claimed_*.
 *
 * This part is pure; the ledger appends, under its lock.
 */
#ifndef SONDE_GATE_LOG_H
#define SONDE_GATE_LOG_H

#include "base/sha256.h"
#include "base/str.h"

enum { LOG_LINE = 4096 };

typedef struct LogChain {
	uint64_t seq; /* of the last line; 0: none was read */
	Hash prev;    /* its hash */
} LogChain;

/* A line in the making: fields in the order of the calls.  What does not fit is an
 * error, never a cut line. */
typedef struct LogLine {
	char text[LOG_LINE];
	size_t n;
	bool full;
} LogLine;

void log_begin(LogLine *l, const LogChain *c, int64_t real_s, const char *event);
void log_str(LogLine *l, const char *key, Str v); /* escaped */
void log_num(LogLine *l, const char *key, uint64_t v);
void log_hash(LogLine *l, const char *key, Hash h);
/* Adds hash and line end and moves the chain on; false if the line was too long. */
bool log_end(LogLine *l, LogChain *c);

/* One line without its end: NULL and the chain moved on, or what is wrong.  The first
 * line of a file may go on from anywhere. */
const char *log_chain_check(LogChain *c, Bytes line);

#endif
