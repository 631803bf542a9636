/* SPDX-License-Identifier: Apache-2.0
 *
 * The VM: runs a verified Program under a fuel limit.
 *
 * It knows no clock, socket or file: output and results go to the host's sinks,
 * network built-ins are rows that the host supplies.  Errors are values: a
 * built-in that can't go on says `return vm_fail(vm, "E-INDEX", ...)`, and the run
 * ends with code, message and the span of the instruction.
 *
 * Ownership: the Vm, its heap and all values live in the arena given to vm_new;
 * the program and the host outlive it.  The arena's end is the run-time error
 * "memory spent": vm_run sets Arena.full while it runs.
 */
#ifndef SONDE_VM_VM_H
#define SONDE_VM_VM_H

#include "vm/builtins.h"
#include "vm/heap.h"
#include "vm/program.h"
#include "vm/value.h"

/* args are in the order of the signature, self first for methods; what was left
 * out is VAL_UNSET where the default is `...`.  `*rest` is one tuple, `**more`
 * one dict.  Sets *ret (None before the call). False: vm_fail was called. */
typedef bool BuiltinFn(Vm *vm, const Value *args, uint32_t n, Value *ret);
typedef bool AttrFn(Vm *vm, Value self, Value *ret);
/* c.auto_ack = False */
typedef bool SetAttrFn(Vm *vm, ObjNative *self, Str name, Value v);

typedef struct VmHost {
	void *ctx;
	uint64_t seed;
	uint64_t output_limit; /* bytes of output kept; 0: LIMIT_OUTPUT */
	uint64_t fuel;         /* units; 0: LIMIT_FUEL */
	uint64_t leak;         /* bits that may be metered */
	/* Packets sent so far; NULL: none. */
	uint64_t (*sent)(void *ctx);

	bool measurements;     /* content is not printed, but from whom it would be */

	/* A piece of program output, and what it tells.  peer: text of a peer, already quoted and escaped. */
	void (*out)(void *ctx, Str text, const ProgTold *told, bool peer);
	/* A result object that was printed, as a JSON object of its fields. */
	void (*result)(void *ctx, uint32_t line, Str type, Str json, const ProgTold *told);
	/* At safe points, about every 65,536 units of fuel; false: stop (call vm_stop before). */
	bool (*safe_point)(void *ctx, Vm *vm);

	/* The first pinned address of a name; NULL: no names. */
	bool (*pin)(void *ctx, Str name, Ip *ret);
	/* The name of an interface; NULL: none. */
	Str (*iface_name)(void *ctx, uint16_t index);

	/* Calls vm_mark for each value that the host keeps; NULL: none. */
	void (*roots)(void *ctx, Vm *vm);

	/* Rows that need a network, by number of builtins.def; NULL entries and NULL
	 * tables: "needs a network". */
	BuiltinFn *const *func;   /* [BI_N] */
	BuiltinFn *const *method; /* [M_N] */
	AttrFn *const *attr;      /* [A_N] */
	SetAttrFn *set_attr;
	/* A live object as text: all of it for print, or a few words.  On scratch memory. */
	Str (*native_text)(void *ctx, Vm *vm, const ObjNative *o, bool whole);
} VmHost;

typedef struct VmError {
	bool set;
	uint8_t exit;     /* of the process: 1, or what vm_stop said */
	const char *code; /* "E-INDEX"; empty: ended by exit() or vm_stop */
	Str message;
	Span span; /* in the user's text */
	bool received; /* lib failed at a value: the message may hold what it received */
} VmError;

Vm *vm_new(Arena *a, const Program *p, const VmHost *host);

/* Runs all entries; the exit code: 0, 1 for a run-time error, else vm_stop's. */
int vm_run(Vm *vm);
const VmError *vm_error(const Vm *vm);

/* Bits of leak used so far, what it costs where the run ended included. */
uint64_t vm_leak_used(const Vm *vm);

/* ---- for the host's built-ins ---- */

void *vm_ctx(const Vm *vm); /* VmHost.ctx */
Heap *vm_heap(Vm *vm);
/* Scratch memory, valid until the built-in returns. */
Arena *vm_scratch(Vm *vm);
/* For VmHost.roots: v lives on. */
void vm_mark(Vm *vm, Value v);
const Program *vm_program(const Vm *vm);

/* A run-time error; always false. */
bool vm_fail(Vm *vm, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* vm_fail with words of lib's own. */
bool vm_fail_own(Vm *vm, const char *code, Str message);
/* Ends the run with this exit code; always false.  code may be "". */
bool vm_stop(Vm *vm, uint8_t exit, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* "expected ip, got str" */
bool vm_fail_type(Vm *vm, const char *what, Value got);

/* Whether one packet more may leave, as far as it tells where the run ended (leak.c). */
bool vm_may_send(const Vm *vm);

/* Charges fuel by size; the limit is tested at the next safe point. */
void vm_charge(Vm *vm, uint64_t units);
uint64_t vm_fuel_used(const Vm *vm);

/* Calls a function value.  Nothing is freed meanwhile. */
bool vm_call(Vm *vm, Value fn, const Value *args, uint32_t n, Value *ret);

/* The next draw of the running call site (guardrails.md 5). */
uint64_t vm_draw(Vm *vm);

/* Where the running instruction stands in the user's text. */
Span vm_span(const Vm *vm);
uint32_t vm_line(const Vm *vm);

/* Bytes of output beyond the limit. */
uint64_t vm_output_cut(const Vm *vm);

/* ---- making values ---- */

Value vm_str(Vm *vm, Str s);       /* bytes that are no UTF-8 become U+FFFD */
Value vm_str_peer(Vm *vm, Str s);  /* all of it is text of a peer */
Value vm_bytes(Vm *vm, Bytes b);
Value vm_bytes_peer(Vm *vm, Bytes b);
Value vm_ip(Vm *vm, Ip ip);        /* Ip.v 0: None */
Value vm_net(Vm *vm, Net n);
ObjList *vm_list(Vm *vm, uint32_t cap);
void vm_push(Vm *vm, ObjList *l, Value v);
ObjTuple *vm_tuple(Vm *vm, uint32_t n); /* items None */
Value vm_pair(Vm *vm, Value a, Value b);
/* A result of builtins.def (ANSWERS, STATS, ... EVENT): fields are
 * ATTR rows in their order, None at first: p[A_STATS_n - A_STATS_n]. */
ObjResult *vm_result(Vm *vm, BuiltinOwner owner);
ObjNative *vm_native(Vm *vm, BuiltinOwner owner, uint32_t n, void *data);

/* ---- reading values: conversions of language.md 3; false: vm_fail was called ---- */

bool vm_to_ip(Vm *vm, Value v, Ip *ret);     /* ip, or a str that is one or a pinned name */
bool vm_to_net(Vm *vm, Value v, Net *ret);   /* net, ip, str */
bool vm_to_mac(Vm *vm, Value v, Mac *ret);
bool vm_to_int(Vm *vm, Value v, int64_t *ret);  /* int, bool, flags */
bool vm_to_num(Vm *vm, Value v, double *ret);   /* int, bool, float */
bool vm_to_duration(Vm *vm, Value v, int64_t *ret); /* duration; a number is seconds */
bool vm_to_bytes(Vm *vm, Value v, Bytes *ret);  /* bytes; a str's UTF-8; borrowed */
bool vm_to_str(Vm *vm, Value v, Str *ret);      /* str only; borrowed */
bool val_truth(Value v);

#endif
