/* SPDX-License-Identifier: Apache-2.0
 *
 * Tree to bytecode: the last pass.
 *
 * One bytecode function for the program's module body, each def that can be
 * reached from it (lib's too) and each lambda; comprehensions are inline loops.
 * Arguments are put in the order of the signature here.  Nothing is typed: the VM
 * converts by tags, and where an annotation says ip, net, mac or duration the code
 * converts at once, as the checker takes for granted.
 *
 * Ownership: the Program lives in the arena given; it borrows the Ast's texts.
 */
#ifndef SONDE_LANG_LOWER_H
#define SONDE_LANG_LOWER_H

#include "lang/facts.h"
#include "lang/scope.h"
#include "vm/program.h"

typedef struct LowerIn {
	Arena *a;
	Ast *ast; /* resolved and checked without errors */
	const Scopes *scopes;
	const FactsParam *param; /* values of params, given by the caller */
	uint32_t nparam;
	const Manifest *manifest; /* NULL: nothing is metered */
	const LabelMarks *marks;  /* or NULL */
	DiagList *diags; /* E-COMPLEX: a function that needs more registers than there are */
} LowerIn;

/* The value of a PARAM that the caller gave as text; false: no value of its type. */
bool lower_param_value(Arena *a, const Node *param, Str text, Const *ret);

/* NULL, with an error, if the program is too large. */
const Program *lower_run(const LowerIn *in);

#endif
