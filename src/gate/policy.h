/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies: what an operator's files say, read and judged before they count
 * (guardrails.md 2).
 *
 * This part does no I/O: who reads the file hands over its text and what fstat()
 * said; who can parse declarations hands over a function.  All policies of a run
 * are intersected with the program's manifest in gate/rules.h, so each only ever
 * narrows.
 *
 * Ownership: what a Policy points to lives in the arena given, or is borrowed
 * from the PolicyFile.
 */
#ifndef SONDE_GATE_POLICY_H
#define SONDE_GATE_POLICY_H

#include "deal/manifest.h"

#define POLICY_SYSTEM_PATH "/etc/sonde/policy.sonde"

/* One file, opened with O_NOFOLLOW; the facts are fstat()'s of the open file and
 * of the folder that holds it. */
typedef struct PolicyFile {
	Str path;
	Str text;
	bool system;  /* the installed one: must be root's.  Others only narrow, whoever wrote them. */
	bool call;    /* an agent's own, for one call: words that narrow alone */
	bool regular;
	uint32_t uid, mode;
	uint32_t dir_uid, dir_mode;
} PolicyFile;

typedef struct Policy {
	Decls decls;
	Str file;     /* its path, or "the built-in policy" */
	Str text;     /* empty for the built-in one */
	bool floor;   /* system or built-in: bounds that it does not declare are the built-in ceilings */
} Policy;

/* The resolvers in force: those of the first policy that names some, so that a later one
 * can't choose who answers; *ret_n 0: nobody names any. */
const Ip *policy_resolvers(const Policy *p, uint32_t n, uint32_t *ret_n);

/* Parses declarations of a policy.  False, with diagnostics, if any word is
 * unknown or any argument wrong. */
typedef bool (*DeclsReader)(void *ctx, Str text, Arena *a, DiagList *diags, Decls *ret_decls);

/* The policy in force where no file is installed. */
void policy_builtin(Policy *ret_p);

/* Judges and reads one file.  False: nothing may run; *ret_why is a sentence, or
 * empty where `diags` says it all. */
bool policy_load(const PolicyFile *f, DeclsReader read, void *ctx, Arena *a, DiagList *diags, Policy *ret_p,
		 Str *ret_why);

#endif
