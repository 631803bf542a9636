/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole way from text to a checked program: parse, scope, decl, facts, lower.
 *
 * Each pass runs only if what it stands on is sound, so that an error is told once:
 * a text with syntax errors gets no further; unknown names and bad declarations
 * let the checker go on, which is quiet about what they touch; lowering sees
 * programs without errors only.
 *
 * Ownership: everything lives in the arena; the texts are borrowed and must
 * outlive the result.
 */
#ifndef SONDE_LANG_COMPILE_H
#define SONDE_LANG_COMPILE_H

#include "lang/facts.h"
#include "lang/lower.h"

typedef struct LibSource {
	Str name; /* "ping.sonde" */
	Str text;
} LibSource;

typedef struct CompileIn {
	Arena *a;
	Str name; /* of the program, for messages */
	Str text;
	const LibSource *lib;
	uint32_t nlib;
	const FactsParam *param; /* given by the caller */
	uint32_t nparam;
	const Target *relay; /* as in FactsIn, like settle */
	uint32_t nrelay;
	bool settle;
	const struct CompileLib *ahead; /* lib, read by compile_lib(); or NULL: `lib` is read now */
} CompileIn;

/* Lib, read once for many programs: each is compiled in a process of its own that begins
 * with a copy of this and of the memory that it stands in. */
typedef struct CompileLib {
	Ast ast;
	ScopeLib scopes;
	DiagList diags;
	bool sound;
} CompileLib;

typedef struct Compiled {
	Ast ast;
	Scopes scopes;
	DiagList diags;	    /* of the program's text, in source order */
	DiagList lib_diags; /* of lib: faults of ours */
	Manifest manifest;  /* complete only if there are no errors */
	FactsStats stats;
	const Program *program; /* NULL if there are errors */
} Compiled;

/* Reads in->lib ahead; of `in`, only it and the arena are looked at. */
void compile_lib(const CompileIn *in, CompileLib *ret);

/* False: there are errors.  The end of the arena is one (E-COMPLEX). */
bool compile(const CompileIn *in, Compiled *ret);

/* All diagnostics as text, as `sonde check` prints them. */
void compile_render(const Compiled *c, Str name, Sb *out);

#endif
