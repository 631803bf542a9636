/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker: one abstract interpretation of a program, from which come all its
 * diagnostics behind the parser's and its manifest.
 */
#ifndef SONDE_LANG_FACTS_H
#define SONDE_LANG_FACTS_H

#include "lang/label_marks.h"
#include "lang/types.h"

/* The value of a `param`, given by the caller as text. */
typedef struct FactsParam {
	Str name;
	Str value;
} FactsParam;

typedef struct FactsIn {
	Arena *a; /* `full` set: its end is E-COMPLEX */
	Ast *ast; /* resolved; file 0 is the program, the others are lib */
	const Scopes *scopes;
	const FactsParam *param;
	uint32_t nparam;
	const Target *relay; /* of policies: what comes from there may not go back freely */
	uint32_t nrelay;
	DiagList *diags;     /* of the program's text */
	DiagList *lib_diags; /* of lib's own texts: faults of ours; may be NULL */
	LabelMarks *marks;   /* what is to be metered, for lowering; may be NULL */
	bool settle;	     /* for tests: FactsStats.settled is wanted */
} FactsIn;

typedef struct FactsStats {
	uint32_t steps, walks, instances;
	bool settled; /* FactsIn.settle: a walk more found nothing new */
} FactsStats;

/* Checks the program.  m->decls are its declarations; the rest of m is filled in.
 * False if there are errors; m is then incomplete.  ret_stats may be NULL. */
bool facts_run(const FactsIn *in, Manifest *m, FactsStats *ret_stats);

/* Every code of a diagnostic, with its meaning in one line (lang/codes.def). */
typedef struct CodeRow {
	const char *code;
	const char *meaning;
} CodeRow;
extern const CodeRow diag_codes[];
extern const uint32_t diag_codes_n;

#endif
