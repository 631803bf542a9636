/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations: what a program needs and what an operator allows, read from the
 * tree of a program or a policy file into deal/manifest.h's Decls.
 *
 * Everything is checked strictly (guardrails.md 3, "One meaning only"): a word, a
 * bound or an address that could be read in two ways is an error, and a policy
 * with an error allows nothing.
 *
 * Ownership: what Decls holds lives in the arena given.
 */
#ifndef SONDE_LANG_DECL_H
#define SONDE_LANG_DECL_H

#include "deal/manifest.h"
#include "lang/ast.h"

/* id, word, in programs, in policies */
#define DECL_WORDS(X)                                                                                        \
	X(BUDGET, "budget", true, true)                                                                      \
	X(REACH, "reach", true, true)                                                                        \
	X(SPOOF, "spoof", true, true)                                                                        \
	X(REFLECT, "reflect", true, true)                                                                    \
	X(CAPTURE, "capture", true, true)                                                                    \
	X(LISTEN, "listen", true, true)                                                                      \
	X(DENY, "deny", false, true)                                                                         \
	X(ZONE, "zone", false, true)                                                                         \
	X(RESOLVER, "resolver", false, true)                                                                 \
	X(APPROVE, "approve", false, true)                                                                   \
	X(MAY_FOLLOW, "may_follow", false, true)                                                             \
	X(OUTPUT, "output", false, true)                                                                     \
	X(RELAY, "relay", false, true)                                                                       \
	X(ALLOW_SELF, "allow_self", false, true)                                                             \
	X(APPROVE_BY_FORM, "approve_by_form", false, true)                                                   \
	X(INSECURE_DEV, "insecure_dev", false, true)

#define DECL_ENUM_(id, ...) DECL_##id,
typedef enum DeclWord { DECL_WORDS(DECL_ENUM_) DECL_N } DeclWord;

/* -1: no such word */
int decl_word(Str name);
bool decl_in_program(DeclWord w);

typedef enum DeclMode { DECL_PROGRAM, DECL_POLICY } DeclMode;

/* Reads the declarations of a module.  Programs (after scope_run): they come first;
 * what follows is not looked at, but for declarations that come too late and
 * listen(...), which is an expression and declares itself anywhere.  Policies:
 * nothing else may stand in them.  Errors go to `d`. */
/* W-NAME, if the name has labels that stand for other characters. */
void decl_warn_name(DiagList *d, Arena *a, Span at, Str name);
void decl_read(Arena *a, const AstFile *file, DeclMode mode, DiagList *d, Decls *ret);

/* A policy file's text.  False: errors in `d`. */
bool decl_policy(Str text, Arena *a, DiagList *d, Decls *ret);

/* An address, a network without host bits or an LDH name, as text that can be read
 * in one way only.  NULL, or what is wrong with it. */
const char *decl_target(Arena *a, Str text, Target *ret);

#endif
