/* SPDX-License-Identifier: Apache-2.0
 *
 * What scope.c (the pass) and scope_habit.c (names of Python and Scapy) share.
 */
#ifndef SONDE_LANG_SCOPE_PRIV_H
#define SONDE_LANG_SCOPE_PRIV_H

#include "lang/scope.h"

/* The variables of one comprehension that is being walked. */
typedef struct CompVars {
	struct CompVars *outer;
	Scope *scope; /* the function that it stands in */
	Map names;
} CompVars;

typedef struct Names {
	Map map; /* text -> Node* of a DEF or RESULT */
} Names;

typedef struct Resolver {
	Ast *ast;
	Arena *a;
	DiagList *d;
	Scopes *out;
	AstFile *file;
	Scope *module; /* of the file */
	Scope *scope;  /* the function around, or the module */
	CompVars *comp;
	Names program, lib;
	Map told;	 /* names reported as unknown: once each */
	bool in_default; /* of a parameter */
} Resolver;

Diag *scope_error(Resolver *r, Span s, const Sym *y, const char *what);
/* Does the name stand for something?  It is then resolved, unless it is a variable. */
bool scope_knows(Resolver *r, Node *name);

/* ---- scope_habit.c: true where the node was reported, and changed to what its fix says ---- */

/* What a refused import or class would have brought under that name, or NULL. */
const Foreign *scope_foreign_name(const Resolver *r, const Sym *y);
bool scope_foreign_call(Resolver *r, Node *call);
bool scope_foreign_attr(Resolver *r, Node *attr);
bool scope_foreign_assign(Resolver *r, Node *assign);
bool scope_foreign_main(Resolver *r, Node *compare);
void scope_foreign_index(Resolver *r, Node *index);
void scope_foreign_random(Resolver *r, Node *call);
/* Is the argument's value nothing to look at, since there is no such keyword? */
bool scope_foreign_keyword(Resolver *r, const Node *call, const Arg *a);

#endif
