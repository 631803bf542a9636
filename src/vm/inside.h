/* SPDX-License-Identifier: Apache-2.0
 *
 * What the VM's own files share and hosts do not see.
 *
 * Conventions: functions that can fail take the Vm, return bool and have called
 * vm_fail when they return false.  `ret` is written on success only.
 */
#ifndef SONDE_VM_INSIDE_H
#define SONDE_VM_INSIDE_H

#include "vm/packet.h"
#include "vm/vm.h"

#include "base/limits.h"

enum {
	STACK_SLOTS = 64 * 1024,         /* registers of all frames */
	SCRATCH_SHARE = 32,              /* of the arena, for built-ins: 8 MB for packets' encodings, tables */
	POLL_UNITS = 65536,              /* fuel between two calls of the host's hook */
	TEXT_DEPTH = 16,                 /* containers in one another that are printed */
	DATA_DEPTH = 64,                 /* ... that are compared or hashed */
	WIDTH_MAX = 65536,               /* of a format, ljust, center ... */
};

typedef struct Frame {
	const ProgFn *fn;
	const Insn *pc; /* behind the running instruction */
	uint32_t base;  /* R[0] is stack[base] */
	uint16_t dst;   /* the caller's register for the result */
	bool boundary;  /* called from C: returning leaves the loop */
} Frame;

/* A signature of builtins.def as data; see sig.c. */
typedef struct SigParam {
	Str name;
	Value dflt;     /* UNSET for `...` and where there is none */
	bool has_dflt;
	bool pos_only, kw_only, rest, more;
} SigParam;

typedef struct Sig {
	const SigParam *p;
	uint8_t n;
	bool rest, more;
} Sig;

struct Vm {
	Arena *a;
	Arena scratch;
	Heap heap;
	const Program *prog;
	VmHost host;

	Value *stack; /* [STACK_SLOTS]; the globals first */
	Frame frame[LIMIT_CALL_DEPTH];
	uint32_t n_frames;
	uint32_t nested; /* runs within built-ins: no collection meanwhile */
	Value ret;       /* of the function that returned over a boundary */

	int64_t fuel;    /* left, without what `charge` still has */
	uint64_t charge; /* by built-ins, since the last safe point */
	int64_t poll_at; /* fuel at which the host's hook is due */

	WirePacket *build;    /* where constructors and `/` put layers together */

	Value *konst;         /* Program.konst as values */
	uint32_t *draws;      /* per instruction of the whole program: draws so far */
	uint32_t *fn_first;   /* per function: its first instruction in that numbering */
	uint16_t *attr_row;   /* [OWNER_N][nname]: row + 1 */
	uint16_t *method_row; /* [OWNER_N][nname]: row + 1 */
	const Sig *method_sig; /* [M_N] */
	ResultType *result_type; /* [OWNER_N] */

	uint64_t leak;       /* bits metered so far */
	uint64_t *reflected; /* of these by each reflect() */
	uint64_t sending;    /* packets that are about to be sent */

	const ProgTold *told; /* of the next call that prints, by TOLD; NULL: not known */
	uint8_t n_told;
	bool hide;	      /* what is made to be shown leaves out fields of content */
	const ProgTold *hidden; /* whose they are */

	uint64_t out_n;    /* bytes given to the host's sink */
	uint64_t out_cut;
	uint64_t peer_n;   /* text of peers among it */
	VmError err;
	char err_text[400];
	jmp_buf full; /* the arena's end */
};

/* ---- the leak meter (leak.c) ---- */

/* reflect: number of the reflect() that allows it + 1, or 0.  False: the bound is spent. */
bool leak_pay(Vm *vm, uint64_t bits, unsigned reflect);
/* The same for each packet of a list, or one. */
bool leak_pay_packets(Vm *vm, Value p, uint64_t bits, unsigned reflect);

/* ---- text (str.c) ---- */

/* Builds a str or bytes, with the marks of what it is made of. */
typedef struct Sbuf {
	Vm *vm;
	char *p;
	size_t n, cap;
	Mark *marks;
	uint32_t n_marks, cap_marks;
	bool show; /* for print: marked elements of containers stand without quotes of their own */
} Sbuf;

Sbuf sbuf(Vm *vm);
void sbuf_add(Sbuf *b, Str s);
void sbuf_cstr(Sbuf *b, const char *z);
void sbuf_char(Sbuf *b, char c);
void sbuf_fill(Sbuf *b, char c, size_t n);
void sbuf_cp(Sbuf *b, uint32_t cp);
void sbuf_printf(Sbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* [from, to) in bytes of s, with its marks. */
void sbuf_sub(Sbuf *b, const ObjStr *s, size_t from, size_t to);
void sbuf_obj(Sbuf *b, const ObjStr *s);
/* Marks what was added since byte `from`. */
void sbuf_mark(Sbuf *b, size_t from);
/* The str or bytes; the builder is empty afterwards. */
Value sbuf_done(Sbuf *b, ValTag tag);
void sbuf_drop(Sbuf *b);

ObjStr *str_make(Vm *vm, ValTag tag, Str s);
/* [from, to) in bytes. */
Value str_sub(Vm *vm, ObjStr *s, size_t from, size_t to);
bool str_marked(const ObjStr *s);
bool str_marked_at(const ObjStr *s, size_t at);
/* Code point number -> byte offset; of bytes the same. */
size_t str_offset(const ObjStr *s, size_t cp);
size_t str_cp_at(const ObjStr *s, size_t offset);
static inline bool str_ascii(const ObjStr *s)
{
	return s->n_cp == s->h.n;
}

/* ---- containers (coll.c) ---- */

ObjDict *dict_make(Vm *vm, ValTag tag);
/* False: the key can't be hashed. */
bool dict_find(Vm *vm, ObjDict *d, Value k, DictEntry **ret);
bool dict_put(Vm *vm, ObjDict *d, Value k, Value v);
bool dict_take(Vm *vm, ObjDict *d, Value k, bool *ret_found, Value *ret_v);
void dict_clear(Vm *vm, ObjDict *d);
/* The next entry alive at or behind *at, or NULL; moves *at behind it. */
DictEntry *dict_next(const ObjDict *d, uint32_t *at);
bool dict_copy(Vm *vm, const ObjDict *d, ObjDict *to);
void list_reserve(Vm *vm, ObjList *l, size_t cap);
void list_cut(ObjList *l, uint32_t from, uint32_t n);
void list_insert(Vm *vm, ObjList *l, uint32_t at, Value v);
Value list_of(Vm *vm, const Value *p, uint32_t n);
Value tuple_of(Vm *vm, const Value *p, uint32_t n);

/* ---- equality, hashing, order (compare.c) ---- */

bool val_eq(Value a, Value b);
bool val_hash(Vm *vm, Value v, uint64_t *ret);
typedef enum Order { ORDER_LT, ORDER_EQ, ORDER_GT, ORDER_NONE } Order;
/* ORDER_NONE: an absent value (each comparison is false). */
bool val_order(Vm *vm, Value a, Value b, Order *ret);
bool val_compare(Vm *vm, OpCode op, Value a, Value b, bool *ret); /* I_EQ ... I_GE */
bool val_in(Vm *vm, Value item, Value in, bool *ret);
bool val_absent(Value v); /* a duration, time or float that is none */
static inline bool val_no_value(Value v)
{
	return v.tag <= VAL_NONE || val_absent(v);
}
const char *val_type_name(Value v);

/* ---- arithmetic (arith.c) ---- */

bool arith(Vm *vm, OpCode op, bool in_place, Value a, Value b, Value *ret);
bool arith_unary(Vm *vm, OpCode op, Value a, Value *ret);
bool int_floor(Vm *vm, int64_t a, int64_t b, int64_t *ret_q, int64_t *ret_r);
bool dur_from_s(Vm *vm, double s, int64_t *ret_ns);

/* ---- access (access.c) ---- */

/* Iterates over v: state in it[0..2], as ITER and FOR do. */
bool iter_begin(Vm *vm, Value v, Value it[3]);
/* False at the end, or on error (then vm->err.set). */
bool iter_next(Vm *vm, Value it[3], Value *ret);
/* How many are left, if known; else 0. */
uint64_t iter_hint(const Value it[3]);
/* All items as a new list. */
bool iter_list(Vm *vm, Value v, ObjList **ret);
bool val_index(Vm *vm, Value v, Value i, Value *ret);
bool val_put(Vm *vm, Value v, Value i, Value x);
bool val_slice(Vm *vm, Value v, const Value lohistep[3], Value *ret);
bool val_len(Vm *vm, Value v, int64_t *ret);
bool val_attr(Vm *vm, Value v, uint32_t name, Value *ret);
/* By a name that the program computed; no methods. */
bool val_attr_named(Vm *vm, Value v, Str name, Value *ret);
bool val_set_attr(Vm *vm, Value *v, WireId layer, Str name, Value x);
/* A method named `name` (Program.name) of v with arguments as written. */
bool val_method(Vm *vm, const MethodSite *site, Value *args, Value *ret);
bool range_make(Vm *vm, int64_t start, int64_t stop, int64_t step, Value *ret);
/* start and end of find, count, index ...: Python's clamping. */
bool slice_bounds(Vm *vm, Value lo, Value hi, int64_t n, int64_t *ret_lo, int64_t *ret_hi);
BuiltinOwner owner_of(Value v);

/* ---- text of values (text.c, format.c) ---- */

void text_str(Sbuf *b, Value v);              /* as str() */
void text_repr(Sbuf *b, Value v, int depth);  /* as repr() */
void text_float(Sbuf *b, double f);
void text_str_repr(Sbuf *b, const ObjStr *s);
bool format_value(Vm *vm, Value v, char conv, Value spec, Value *ret);
Value text_value(Vm *vm, Value v); /* str(v) */

/* ---- output (out.c; more in out.h) ---- */

/* A result as `print` shows it, without a line end. */
bool text_result(Sbuf *b, ObjResult *r);

/* ---- signatures (sig.c), tables ---- */

const Sig *sig_tables(Arena *a, Vm *vm); /* [M_N] */
void tables_init(Vm *vm);
bool sig_bind(Vm *vm, const Sig *s, const char *fn, const MethodSite *site, const Value *in, Value *out);
BuiltinFn *vm_row_func(const Vm *vm, BuiltinFunc id);
BuiltinFn *vm_row_method(const Vm *vm, BuiltinMethod id);
AttrFn *vm_row_attr(const Vm *vm, BuiltinAttr id);
const BuiltinRow *builtin_method_row(BuiltinMethod id);
const BuiltinRow *builtin_attr_row(BuiltinAttr id);
const BuiltinRow *builtin_func_row(BuiltinFunc id);

/* ---- running (vm.c) ---- */

/* Runs the topmost frame, which is a boundary, until it returns. */
bool vm_loop(Vm *vm);
/* Pushes a frame at stack[base] whose arguments stand there already. */
bool vm_enter(Vm *vm, const ProgFn *fn, uint32_t base, uint16_t dst, bool boundary);
void vm_collect(Vm *vm);

/* ---- C side of built-ins ---- */

bool vm_to_size(Vm *vm, Value v, int64_t lo, int64_t hi, const char *what, int64_t *ret);
static inline bool val_given(Value v)
{
	return v.tag != VAL_UNSET;
}

#endif
