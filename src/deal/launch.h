/* SPDX-License-Identifier: Apache-2.0
 *
 * What the front of `sonde mcp` asks of the launcher, and of the checker.
 *
 * The launcher has the capabilities and therefore reads nothing that a client wrote: an
 * ask has a fixed size and fields of fixed places, as the opener's plan has.  What is to
 * run lies in a file of memory, which is read when the capabilities are gone.
 *
 *   front --ask, descriptors--> launcher --forks--> a run --JSON lines--> front
 *
 * Descriptors of an ask, in this order:
 *   RUN     the job (launch_job), the answer's pipe to write to, a control socket
 *   POLICY  the answer's pipe, a control socket
 *   LOCAL   the answer's pipe, a control socket
 *   AUDIT   a control socket
 *
 * The answer of a run is lines of JSON: {"progress":{..}} while it lasts, and last the
 * object of doc/run.schema.json.  On the control socket the front may say LAUNCH_STOP (an
 * end with partial results), and its end is the run's end; the other side says
 * LaunchSaid where there is no answer, and for each AUDIT.
 *
 * CHECK goes straight to the checker, a process without any right: one message, a job,
 * and the answer's pipe; the answer is the object of doc/check.schema.json.
 */
#ifndef SONDE_DEAL_LAUNCH_H
#define SONDE_DEAL_LAUNCH_H

#include "base/limits.h"
#include "base/sha256.h"
#include "base/str.h"

typedef enum LaunchOp { LAUNCH_NONE, LAUNCH_RUN, LAUNCH_POLICY, LAUNCH_LOCAL, LAUNCH_AUDIT, LAUNCH_N } LaunchOp;

enum {
	LAUNCH_NAME = 48,  /* bytes of a caller's name, with its end */
	LAUNCH_WORD = 64,  /* of each text of an AUDIT */
	LAUNCH_ASK = 360,  /* bytes of an ask */
	LAUNCH_SAID = 256, /* bytes of a LaunchSaid */
	LAUNCH_FDS = 3,
	LAUNCH_STOP = 's', /* a message of one byte */
};

/* Texts are printable ASCII and end in a zero byte. */
typedef struct LaunchAsk {
	uint8_t op;
	bool approved; /* RUN: the caller's user has approved the run of that hash by a form */
	Hash approve;
	uint32_t max_output; /* RUN: bytes; 0: the default */
	char caller[LAUNCH_NAME];
	/* AUDIT */
	char tool[LAUNCH_WORD], outcome[LAUNCH_WORD], finding[LAUNCH_WORD];
	Hash args;
} LaunchAsk;

void launch_ask_put(const LaunchAsk *a, uint8_t out[LAUNCH_ASK]);
/* False: it is none. */
bool launch_ask_get(Bytes in, LaunchAsk *ret_a);

typedef struct LaunchSaid {
	bool ok;
	bool busy; /* there may be a place soon */
	char text[LAUNCH_SAID - 8]; /* a sentence, if not */
} LaunchSaid;

void launch_said_put(const LaunchSaid *s, uint8_t out[LAUNCH_SAID]);
bool launch_said_get(Bytes in, LaunchSaid *ret_s);

/* ---- jobs ---- */

typedef struct LaunchParam {
	Str name, value;
} LaunchParam;

/* A program, the values of its params, and declarations that narrow this run alone (may be
 * empty). */
typedef struct LaunchJob {
	Str name, text, limits;
	LaunchParam param[LIMIT_LAUNCH_PARAMS];
	uint32_t nparam;
} LaunchJob;

/* False if it does not fit: no text is longer than LIMIT_SOURCE, no value than
 * LIMIT_LAUNCH_VALUE. */
bool launch_job_put(Writer *w, const LaunchJob *j);
/* Borrowed from `in`; false: it is none. */
bool launch_job_get(Bytes in, LaunchJob *ret_j);

#endif
