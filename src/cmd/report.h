/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run says, as text or as JSON: one writer for both.
 *
 * Messages of the engine are foreign text (deal/msg.h 'O'), those of the gate
 * are our own ('P'); both are decoded strictly before they come here, and all
 * that is printed passes the escaper.  Text appears as it comes, each line of
 * the program behind "| "; JSON is one object at the end.
 */
#ifndef SONDE_CMD_REPORT_H
#define SONDE_CMD_REPORT_H

#include "base/diag.h"
#include "deal/msg.h"
#include "deal/whence.h"
#include "probe/warnings.h"

typedef struct ReportOptions {
	bool json;
	int session_fd;  /* of an agent's session: what it is shown is kept there first; 0: none */
	bool quiet;      /* only program output, without prefix */
	bool terminal;   /* standard error is one: show progress */
	size_t max_output;
	Str name;        /* of the program, for messages */
	Str source;
	uint64_t seed;
} ReportOptions;

typedef struct ReportItem {
	Str a, b;
	uint32_t n;
	uint8_t label;	/* Told */
	Bytes origin;	/* deal/whence.h */
} ReportItem;

/* A code's warnings, as the engine told them peer by peer. */
typedef struct ReportWarning {
	const WarnRow *row;
	uint32_t count;
	VEC(ReportItem) peer; /* a: address or empty, b: evidence, n: count */
} ReportWarning;

typedef struct Report {
	Arena *a;
	ReportOptions opt;
	VEC(ReportItem) output;   /* a: text, n: peer */
	Sb piece;                 /* of output, not yet ended: JSON only */
	ReportItem piece_is;      /* n: peer */
	Sb result;                /* its JSON so far */
	VEC(ReportItem) results;  /* a: type, b: fields as JSON, n: line */
	VEC(ReportWarning) warnings;
	VEC(ReportItem) stats;    /* a: group, b: values as JSON */
	VEC(Str) notes;
	DiagList diags;
	Str manifest_json; /* empty: none */
	ReportItem error;  /* a: code, b: message; n: 1 if there is one */
	Span error_span;
	ReportItem error_is; /* what its message tells */
	VEC(Bytes) shown;  /* whose content, as it was kept */
	bool unkept;       /* it could not be: nothing more is shown */
	Str approval_hash, approval_text; /* what a person would have to approve */
	bool approval_form; /* a form would be enough */
	Msg gate_stat;     /* type NONE: there was no gate */
	size_t written;    /* bytes of output shown or kept */
	size_t cut;        /* bytes of output beyond max_output */
	uint32_t left_out; /* result objects longer than is kept */
	bool too_long;     /* the one that is coming is such a one */
	bool in_line;      /* the last output did not end its line */
	bool progress;     /* a progress line stands on the terminal */
	bool done;         /* the engine said DONE */
	int exit;
} Report;

void report_init(Report *r, Arena *a, const ReportOptions *opt);

/* One message of the engine or of the gate. */
void report_event(Report *r, const Msg *m);

/* A line of cmd's own among the statistics. */
void report_note(Report *r, Str text);

/* Why the run ended, where no message said so. */
void report_error(Report *r, int exit, const char *code, Str message);

/* Shows what is running, for whoever waits longer than two seconds. */
void report_progress(Report *r, int64_t elapsed_ns);

/* Prints warnings and statistics, or the JSON object; returns the exit code. */
int report_end(Report *r);

#endif
