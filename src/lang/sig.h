/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of built-ins: the text in vm/builtins.def as data, parsed once per
 * compilation and row, for the checker (types), lowering (order and defaults of
 * arguments) and docs.
 *
 * Ownership: all in the arena that sigs_init() was given; names borrow the text.
 */
#ifndef SONDE_LANG_SIG_H
#define SONDE_LANG_SIG_H

#include "vm/builtins.h"

extern const BuiltinRow builtin_funcs[BI_N];
extern const BuiltinRow builtin_methods[M_N];
extern const BuiltinRow builtin_attrs[A_N];
extern const char *const builtin_owner_names[OWNER_N];

/* The number of a row, or -1. */
int builtin_func(Str name);
int builtin_method(BuiltinOwner owner, Str name);
int builtin_attr(BuiltinOwner owner, Str name);

/* "list[T]?", "Packet|list[Packet]" */
typedef struct SigType {
	Str name; /* "int", "list", "T", "fn"; "|" for alternatives */
	bool optional;
	uint8_t n;
	const struct SigType *arg[4];
	bool open; /* tuple[T, ...] */
} SigType;

typedef enum SigDefault {
	SIG_REQUIRED,
	SIG_UNSET,
	SIG_NONE,
	SIG_BOOL,
	SIG_INT,
	SIG_FLOAT,
	SIG_STR,
	SIG_BYTES
} SigDefault;

typedef struct SigParam {
	Str name;
	const SigType *type;
	bool by_position_only;
	bool by_keyword_only;
	bool star;   /* *values: all further positional arguments, as one tuple */
	bool kwstar; /* **fields: all further keyword arguments, as one dict */
	SigDefault dflt;
	int64_t i; /* SIG_INT, SIG_BOOL */
	double f;
	Str s; /* escapes resolved */
} SigParam;

typedef struct Sig {
	const SigParam *param;
	uint32_t n;
	const SigType *ret;
} Sig;

typedef struct Sigs {
	Arena *a;
	const Sig *func[BI_N];
	const Sig *method[M_N];
	const SigType *attr[A_N];
} Sigs;

void sigs_init(Sigs *s, Arena *a);
const Sig *sig_func(Sigs *s, BuiltinFunc f);
const Sig *sig_method(Sigs *s, BuiltinMethod m);
const SigType *sig_attr(Sigs *s, BuiltinAttr at);

/* Parses a signature or a type; NULL if the text is none. */
const Sig *sig_parse(Arena *a, Str text);
const SigType *sig_type_parse(Arena *a, Str text);

/* The index of the parameter of that name that may be given by keyword, or -1. */
int sig_param(const Sig *s, Str name);

#endif
