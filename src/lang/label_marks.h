/* SPDX-License-Identifier: Apache-2.0
 *
 * What the checker found out about leak that lowering turns into METERs, and about
 * what is printed, for TOLDs.
 */
#ifndef SONDE_LANG_LABEL_MARKS_H
#define SONDE_LANG_LABEL_MARKS_H

#include "lang/ast.h"
#include "vm/program.h"

/* What an expression adds to the cost of an emission or of a verb's call. */
typedef struct LabelCost {
	uint32_t call;	 /* bits a call */
	uint32_t packet; /* bits of each packet; METER_PACKET: all it has */
	uint8_t reflect; /* number of the reflect() that allows it + 1 */
	const Node *at;	 /* in the user's text; NULL: nothing is paid */
	Str what, path;	 /* in words */
} LabelCost;

/* What a call of print() or table() tells: the call itself, then each of its values. */
typedef struct LabelTold {
	uint32_t n; /* 0: nothing is known of it */
	const ProgTold *row;
} LabelTold;

/* What lowering needs: METERs, by node id.  NULL arrays: there are none. */
typedef struct LabelMarks {
	uint8_t *test;	  /* each evaluation is paid by a bit */
	LabelCost *cost;  /* of a call: paid before it */
	LabelTold *told;  /* of a call that prints */
	ProgTold told_all, told_sent, told_error;
} LabelMarks;

#endif
