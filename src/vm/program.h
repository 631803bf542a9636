/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled program: what lang/lower writes and the VM runs.  Never read from
 * outside; the verifier checks it all the same before it runs.
 *
 * Ownership: everything lives in the compiler's arena, is const for the VM and
 * outlives it.
 */
#ifndef SONDE_VM_PROGRAM_H
#define SONDE_VM_PROGRAM_H

#include "deal/manifest.h"
#include "vm/value.h"

typedef enum OpCode {
#define OP(id, ...) I_##id,
#include "vm/ops.def"
#undef OP
	I_N
} OpCode;

/* Insn.x of arithmetic: an augmented assignment */
enum { IN_PLACE = 1 };

typedef struct Insn {
	uint8_t op;
	uint8_t x;
	uint16_t a, b, c;
} Insn;

typedef enum ConstKind { K_INT, K_FLOAT, K_DURATION, K_TIME, K_STR, K_BYTES, K_IP, K_NET, K_MAC, K_PROTO } ConstKind;

typedef struct Const {
	ConstKind kind;
	union {
		int64_t i; /* K_INT, K_DURATION, K_TIME; K_PROTO: WireId */
		double f;
		Str s; /* K_STR, K_BYTES */
		Ip ip;
		Net net;
		Mac mac;
	};
} Const;

/* A method call as written: R[c] is the receiver, then npos arguments by
 * position, then nkw by name. */
typedef struct MethodSite {
	uint16_t name; /* Program.name */
	uint8_t npos, nkw;
	const uint16_t *kw; /* Program.name */
} MethodSite;

/* A layer with keyword arguments. */
typedef struct LayerSite {
	uint8_t proto; /* WireId */
	uint8_t n;
	const uint8_t *field; /* indexes into the protocol's fields */
} LayerSite;

/* What something printed tells, and whose packets went into it (guardrails.md 7). */
typedef struct ProgTold {
	uint8_t level; /* WireLabel */
	uint8_t head;  /* of a result without its fields of content */
	bool any;      /* from anybody */
	uint16_t n;
	const Target *origin; /* addresses, names; without both: this host's resolver */
} ProgTold;

typedef struct ProgFn {
	Str name;
	bool module; /* its first nglobals registers are the globals */
	bool lib;    /* errors in it are shown at the call in the user's text */
	uint16_t nparams;
	uint16_t ncaptured; /* behind the parameters */
	uint16_t nslots;    /* registers, parameters and captured values included */
	uint32_t ncode;
	const Insn *code;
	const Span *span; /* one an instruction */
} ProgFn;

enum { PROG_SLOTS_MAX = 4096 }; /* registers of one function */

typedef struct Program {
	Str source; /* the user's text: for line numbers */
	uint32_t nglobals;
	uint32_t nfn, nconst, nname, nmsite, nlsite, nresult, nentry;
	const ProgFn *fn;
	const Const *konst;
	const Str *name;       /* of attributes, methods, keywords, variables; each once */
	const MethodSite *msite;
	const LayerSite *lsite;
	const ResultType *result; /* of lib's declarations */
	uint32_t ntold;
	const ProgTold *told;	    /* TOLD: of a call, then of each of its values */
	ProgTold told_all;	    /* that something is printed, or is not */
	ProgTold told_sent;	    /* of how much it sends, which statistics say */
	ProgTold told_error;	    /* of an error's message */
	uint32_t nreflect;
	const int64_t *reflect_max; /* bits that each reflect() of the program allows */
	uint8_t leak_end;	    /* LeakEnd */
	const uint16_t *entry;    /* module functions without parameters, in order: lib, then the program */
} Program;

static inline Insn insn_abc(OpCode op, unsigned x, unsigned a, unsigned b, unsigned c)
{
	return (Insn){ (uint8_t)op, (uint8_t)x, (uint16_t)a, (uint16_t)b, (uint16_t)c };
}

/* LOADI and LOADK */
static inline Insn insn_wide(OpCode op, unsigned a, uint32_t v)
{
	return (Insn){ (uint8_t)op, 0, (uint16_t)a, (uint16_t)v, (uint16_t)(v >> 16) };
}

static inline uint32_t insn_wide_of(Insn i)
{
	return (uint32_t)i.c << 16 | i.b;
}

/* Jumps and FOR: `off` counts from the next instruction, within 2^23. */
static inline Insn insn_jump(OpCode op, unsigned a, unsigned b, int32_t off)
{
	return (Insn){ (uint8_t)op, (uint8_t)((uint32_t)off >> 16), (uint16_t)a, (uint16_t)b, (uint16_t)off };
}

static inline int32_t insn_off(Insn i)
{
	return (int32_t)((uint32_t)(int8_t)i.x << 16 | i.c);
}

#endif
