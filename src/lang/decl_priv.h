/* SPDX-License-Identifier: Apache-2.0
 *
 * What decl.c (words) and decl_arg.c (constant arguments) share.
 */
#ifndef SONDE_LANG_DECL_PRIV_H
#define SONDE_LANG_DECL_PRIV_H

#include "lang/decl.h"

typedef struct DeclReader {
	Arena *a;
	DiagList *d;
	DeclMode mode;
	Decls *out;
	Str text;      /* of the file */
	uint32_t head; /* where declarations stand */
} DeclReader;

Diag *decl_error(DeclReader *r, Span s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Each reads one constant argument; false, with an error, if it is not of the kind. */
bool arg_int(DeclReader *r, const Node *n, int64_t least, int64_t most, const char *what, int64_t *ret);
bool arg_str(DeclReader *r, const Node *n, const char *what, Str *ret);
bool arg_true(DeclReader *r, const Node *n, const char *what, bool *ret);
bool arg_ports(DeclReader *r, const Node *n, const char *what, PortSet *ret);
bool arg_target(DeclReader *r, const Node *n, const char *what, Target *ret);
/* A target that is no name. */
bool arg_addresses(DeclReader *r, const Node *n, const char *what, Target *ret);
/* A duration, or a number of seconds, in ns. */
bool arg_seconds(DeclReader *r, const Node *n, const char *what, int64_t *ret);

/* The value under a keyword, or NULL. */
const Node *arg_named(const Node *call, const char *name);

#endif
