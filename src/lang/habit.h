/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write who know Python and Scapy by heart, and what it is in Sonde:
 * patterns from which fixes are made.
 */
#ifndef SONDE_LANG_HABIT_H
#define SONDE_LANG_HABIT_H

#include "lang/ast.h"

/* The words around a habit, as texts of the program. */
typedef struct HabitUse {
	Str self;	 /* $0: what an attribute is taken of */
	const Str *arg;	 /* $1, $2, ...: arguments by position */
	uint32_t nargs;
	Str all;	 /* $*: all arguments as they stand */
} HabitUse;

/* Puts the words into the pattern.  False: it asks for an argument that is not there. */
bool habit_expand(Arena *a, const char *pattern, const HabitUse *use, Str *ret);

/* The arguments of a call, as texts. */
HabitUse habit_use_of(Arena *a, Str text, const Node *call);

/* The pattern for a dotted name ("time.sleep"), called with n arguments by position
 * (n < 0: not called).  NULL: none. */
const char *habit_of_name(Str path, int n);

/* What to write instead of a name, in words; NULL: it is no habit (scope_names.c). */
const char *name_habit(Str name);

#endif
