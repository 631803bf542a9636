/* SPDX-License-Identifier: Apache-2.0
 *
 * What the checker found out about leak that lowering turns into METERs.
 */
#ifndef SONDE_LANG_LABEL_MARKS_H
#define SONDE_LANG_LABEL_MARKS_H

#include "lang/ast.h"

/* What an expression adds to the cost of an emission or of a verb's call. */
typedef struct LabelCost {
	uint32_t call;	 /* bits a call */
	uint32_t packet; /* bits of each packet; METER_PACKET: all it has */
	uint8_t reflect; /* number of the reflect() that allows it + 1 */
	const Node *at;	 /* in the user's text; NULL: nothing is paid */
	Str what, path;	 /* in words */
} LabelCost;

/* What lowering needs: METERs, by node id.  NULL arrays: there are none. */
typedef struct LabelMarks {
	uint8_t *test;	  /* each evaluation is paid by a bit */
	LabelCost *cost;  /* of a call: paid before it */
} LabelMarks;

#endif
