/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies in force: the installed file (or the built-in one), each --policy,
 * SONDE_POLICY.  cmd reads the files with the caller's rights; they are parsed in
 * the loader, which has none (gate/run.h).
 */
#ifndef SONDE_CMD_POLICIES_H
#define SONDE_CMD_POLICIES_H

#include "cmd/opt.h"
#include "gate/policy.h"
#include "gate/run.h"

typedef struct Policies {
	PolicyFile file[OPT_LIST_MAX + 4]; /* the system's, the environment's; of agents, the caller's and the call's */
	unsigned n;
	bool installed; /* file[0] is the system's */
} Policies;

/* Reads all files; false after saying which could not be read. */
bool policies_read(Arena *a, const OptList *more, Policies *ret_p);

/* One more; false after saying why it could not be read. */
bool policies_add(Arena *a, Policies *p, const char *path);

/* One file, for `policy check`. */
bool policies_read_one(Arena *a, const char *path, bool system, PolicyFile *ret_f);

/* RunOptions.policies: ctx is a Policies. */
bool policies_parse(void *ctx, Arena *a, PolicyList *ret_list, Str *ret_why);

/* All of them as they stand in their files, each behind a comment with its path. */
void policies_text(const Policies *p, Sb *out);

/* DeclsReader over lang's. */
bool policies_reader(void *ctx, Str text, Arena *a, DiagList *diags, Decls *ret_decls);

#endif
