/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: gives each NAME what it stands for.
 *
 * Module variables, the variables of each function and lambda, and those of
 * comprehensions (each has its own, as in Python 3) become Vars.  Functions read
 * module variables and never set them.  A lambda copies what it uses from around
 * it when it is made: it lives no longer than the call that it is an argument of.
 *
 * Ownership: all in the Ast's arena.
 */
#ifndef SONDE_LANG_SCOPE_H
#define SONDE_LANG_SCOPE_H

#include "lang/ast.h"

typedef enum VarKind {
	VAR_GLOBAL,  /* of a module, `param`s included; slot: index into the globals of all files */
	VAR_LOCAL,   /* of a def or lambda; parameters first, in order */
	VAR_COMP,    /* of a comprehension; a slot of the function around it, or of the module's frame behind
		      * the globals */
	VAR_CAPTURE, /* in a lambda: the copy of `outer` */
} VarKind;

struct Var {
	const Sym *sym;
	VarKind kind;
	uint32_t slot;	/* in its function's frame, or in the globals */
	uint32_t index; /* dense over all Vars of the Ast: for side tables */
	Scope *scope;
	Span first;    /* where it was first bound */
	Var *outer;    /* VAR_CAPTURE: the variable around the lambda */
	bool is_param; /* of a def or lambda, or a `param` */
};

struct Scope {
	Node *node;	     /* MODULE, DEF, LAMBDA */
	Scope *parent;	     /* around a lambda; the module of a def; NULL */
	VEC(Var *) vars;     /* in order of slots; globals too, for a module */
	uint32_t n_slots;    /* of the frame; of a module without the globals */
	VEC(Var *) captures; /* of a lambda, in order of slots */
	Map names;	     /* Sym text -> Var* */
	VEC(Node *) uses;    /* NAMEs of functions in it, lambdas included: what it may call */
};

typedef struct Scopes {
	VEC(Node *) defs; /* all DEFs, of all files */
	VEC(Node *) lambdas;
	VEC(Node *) results; /* RESULTs of lib */
	VEC(Node *) params;  /* PARAMs of the program */
	uint32_t n_vars;
	uint32_t n_globals;
} Scopes;

/* Resolves all files and refuses recursion.  Errors of the program (file 0) go to
 * `d`, those of lib to `lib_d`.  A NAME that is not known keeps REF_NONE. */
void scope_run(Ast *ast, DiagList *d, DiagList *lib_d, Scopes *ret);

/* The same in two steps, for many programs with one lib: first lib's files, of an Ast whose
 * file 0 is empty; then, with what the first gave, the program. */
typedef struct ScopeLib {
	Scopes scopes; /* of lib */
	Map names;     /* of its functions and results */
} ScopeLib;

void scope_lib(Ast *ast, DiagList *lib_d, ScopeLib *ret);
void scope_program(Ast *ast, const ScopeLib *lib, DiagList *d, Scopes *ret);

/* The option of that name, and its protocol; NULL if there is none. */
const struct WireOption *name_option(Str name, uint32_t *ret_index);

#endif
