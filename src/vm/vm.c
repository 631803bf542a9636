/* SPDX-License-Identifier: Apache-2.0
 *
 * The dispatch loop: one label an instruction, ints first.
 *
 * Fuel is counted exactly, one unit an instruction, in a local variable, and is
 * tested where a program can go on for ever: at backward jumps and calls; between
 * two of these a run is bounded by its text.  Built-ins add what they charge by
 * size at the next safe point.  Everything slow, and everything that can fail in
 * more than one way, is a call.
 */
#include "vm/inside.h"

#include <math.h>

#define UNLIKELY(c) __builtin_expect(!!(c), 0)
#define LIKELY(c) __builtin_expect(!!(c), 1)

/* Out of the loop's way: fuel, the host's hook, the collector. */
static __attribute__((noinline)) bool safe_point(Vm *vm, int64_t *fuel)
{
	*fuel -= (int64_t)vm->charge;
	vm->charge = 0;
	vm->fuel = *fuel;
	if (*fuel < 0)
		return vm_fail(vm, "E-FUEL", "the program computed too long: %llu units are spent",
			       (unsigned long long)vm->host.fuel);
	if (*fuel < vm->poll_at) {
		vm->poll_at = *fuel > POLL_UNITS ? *fuel - POLL_UNITS : 0;
		if (vm->host.safe_point && !vm->host.safe_point(vm->host.ctx, vm))
			return vm->err.set ? false : vm_stop(vm, 1, "E-STOP", "the run was stopped");
	}
	if (heap_due(&vm->heap) && !vm->nested)
		vm_collect(vm);
	return true;
}

bool vm_enter(Vm *vm, const ProgFn *fn, uint32_t base, uint16_t dst, bool boundary)
{
	uint32_t from = base + (fn->module ? vm->prog->nglobals : fn->nparams + fn->ncaptured);
	uint32_t to = base + fn->nslots;

	if (vm->n_frames == LIMIT_CALL_DEPTH)
		return vm_fail(vm, "E-DEPTH", "more than %d calls in one another", LIMIT_CALL_DEPTH);
	if (to > STACK_SLOTS)
		return vm_fail(vm, "E-MEMORY", "memory spent: too many variables in calls");
	vm->frame[vm->n_frames++] = (Frame){ .fn = fn, .pc = fn->code, .base = base, .dst = dst, .boundary = boundary };
	if (from < to)
		memset(&vm->stack[from], 0, (to - from) * sizeof(Value));
	return true;
}

/* A function value: its captured values go behind the arguments. */
static bool enter_value(Vm *vm, Value f, uint32_t base, uint32_t n, uint16_t dst, bool boundary)
{
	if (f.tag != VAL_FN)
		return vm_fail_type(vm, "a function", f);
	ObjFn *o = val_fn(f);
	const ProgFn *fn = &vm->prog->fn[o->fn];

	if (n != fn->nparams)
		return vm_fail(vm, "E-TYPE", "the function takes %u arguments, got %u", fn->nparams, n);
	if (base + fn->nslots > STACK_SLOTS)
		return vm_fail(vm, "E-MEMORY", "memory spent: too many variables in calls");
	memcpy(&vm->stack[base + n], o->captured, o->h.n * sizeof(Value));
	return vm_enter(vm, fn, base, dst, boundary);
}

bool vm_call(Vm *vm, Value fn, const Value *args, uint32_t n, Value *ret)
{
	const Frame *top = vm->n_frames ? &vm->frame[vm->n_frames - 1] : NULL;
	uint32_t base = top ? top->base + top->fn->nslots : 0;
	size_t mark = vm->scratch.used;
	int64_t fuel = vm->fuel;

	if (base + n > STACK_SLOTS)
		return vm_fail(vm, "E-MEMORY", "memory spent: too many variables in calls");
	if (n)
		memcpy(&vm->stack[base], args, n * sizeof(Value));
	if (!enter_value(vm, fn, base, n, 0, true))
		return false;
	vm->nested++;
	bool ok = vm_loop(vm);
	vm->nested--;
	vm->scratch.used = mark;
	*ret = vm->ret;
	/* The loop around keeps its own count: it learns by the charge. */
	vm->charge += (uint64_t)(fuel - vm->fuel);
	vm->fuel = fuel;
	return ok;
}

static bool make_lambda(Vm *vm, Insn in, const Value *from, Value *ret)
{
	ObjFn *f = (ObjFn *)heap_obj(&vm->heap, VAL_FN, sizeof(ObjFn) + in.x * sizeof(Value));

	f->fn = in.b;
	f->h.n = in.x;
	memcpy(f->captured, from, in.x * sizeof(Value));
	*ret = val_of(f);
	return true;
}

static bool make_dict(Vm *vm, const Value *p, uint32_t pairs, Value *ret)
{
	ObjDict *d = dict_make(vm, VAL_DICT);

	for (uint32_t i = 0; i < pairs; i++)
		if (!dict_put(vm, d, p[2 * i], p[2 * i + 1]))
			return false;
	*ret = val_of(d);
	return true;
}

static bool make_set(Vm *vm, const Value *p, uint32_t n, Value *ret)
{
	ObjDict *d = dict_make(vm, VAL_SET);

	for (uint32_t i = 0; i < n; i++)
		if (!dict_put(vm, d, p[i], val_none()))
			return false;
	*ret = val_of(d);
	return true;
}

/* None in a field of these types is their own absent value, which needs no test. */
static Value absent_of(Str type)
{
	if (str_is(type, "duration"))
		return val_duration(NS_NONE);
	if (str_is(type, "time"))
		return val_time(NS_NONE);
	return str_is(type, "float") ? val_float(NAN) : val_none();
}

static bool make_result(Vm *vm, const ResultType *t, const Value *p, Value *ret)
{
	ObjResult *r = (ObjResult *)heap_obj(&vm->heap, VAL_RESULT, sizeof(ObjResult) + t->n * sizeof(Value));

	r->type = t;
	r->h.n = t->n;
	memcpy(r->p, p, t->n * sizeof(Value));
	for (uint32_t i = 0; i < t->n; i++)
		if (r->p[i].tag == VAL_NONE)
			r->p[i] = absent_of(t->field[i].type);
	*ret = val_of(r);
	return true;
}

static bool push(Vm *vm, Value to, Value v)
{
	if (to.tag == VAL_SET)
		return dict_put(vm, val_dict(to), v, val_none());
	if (to.tag != VAL_LIST)
		return vm_fail_type(vm, "list", to);
	vm_push(vm, val_list(to), v);
	return true;
}

static bool unpack(Vm *vm, Value v, Value *to, uint32_t n)
{
	Value it[3], x;
	uint32_t i = 0;

	if (v.tag == VAL_RESULT && val_result(v)->type->unpacks == n) {
		memcpy(to, val_result(v)->p, n * sizeof(Value));
		return true;
	}
	if (v.tag == VAL_TUPLE && v.o->n == n) {
		memcpy(to, val_tuple(v)->p, n * sizeof(Value));
		return true;
	}
	if (!iter_begin(vm, v, it))
		return false;
	while (i <= n && iter_next(vm, it, &x)) {
		if (i < n)
			to[i] = x;
		i++;
	}
	if (vm->err.set)
		return false;
	if (i == n)
		return true;
	return vm_fail(vm, "E-VALUE", i < n ? "%u names for %u values" : "%u names, and more values", n, i);
}

static bool concat(Vm *vm, const Value *p, uint32_t n, Value *ret)
{
	Sbuf b = sbuf(vm);

	for (uint32_t i = 0; i < n; i++) {
		if (p[i].tag != VAL_STR)
			return vm_fail_type(vm, "str", p[i]);
		sbuf_obj(&b, val_str(p[i]));
	}
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

static bool call_builtin(Vm *vm, BuiltinFn *f, const char *name, const Value *args, uint32_t n, Value *ret)
{
	size_t mark = vm->scratch.used;

	*ret = val_none();
	if (!f)
		return vm_fail(vm, "E-NAME", "%s() needs a network", name);
	bool ok = f(vm, args, n, ret);

	vm->scratch.used = mark;
	return ok && !vm->err.set;
}

static bool call_method(Vm *vm, const MethodSite *site, Value *args, Value *ret)
{
	size_t mark = vm->scratch.used;
	bool ok = val_method(vm, site, args, ret);

	vm->scratch.used = mark;
	return ok && !vm->err.set;
}

/* A method whose owner lowering knows: the receiver must be one all the same. */
static bool call_row(Vm *vm, BuiltinMethod id, Value *args, uint32_t n, Value *ret)
{
	const BuiltinRow *row = builtin_method_row(id);
	ObjList *l;

	if (row->owner != OWNER_INT_TYPE && row->owner != OWNER_BYTES_TYPE) {
		BuiltinOwner o = owner_of(args[0]);

		if (o != row->owner && !(o == OWNER_PACKET && row->owner == OWNER_LAYER))
			return vm_fail_type(vm, vm->result_type[row->owner].name.p, args[0]);
		if (args[0].tag == VAL_RANGE) {
			if (!iter_list(vm, args[0], &l))
				return false;
			args[0] = val_of(l);
		}
	}
	return call_builtin(vm, vm_row_method(vm, id), row->name, args, n, ret);
}

static bool get_attr(Vm *vm, Value v, uint32_t name, Value *ret)
{
	size_t mark = vm->scratch.used;
	bool ok = val_attr(vm, v, name, ret);

	vm->scratch.used = mark;
	return ok;
}

static bool no_value(Vm *vm, Str name)
{
	return vm_fail(vm, "E-UNSET", "%.*s has no value yet", STR_ARG(name));
}

/* Instructions of the loop.  SLOW: a call that may fail; the frame's pc is written
 * first, since errors and draws ask where they are. */
#define R(i) (r[i])
/* The running instruction: its fields are read where they are needed, so that
 * dispatch stays small enough for compilers to copy it to each label. */
#define IN (pc[-1])
#define NEXT                                       \
	do {                                       \
		fuel--;                            \
		goto *labels[(pc++)->op];          \
	} while (0)
#define SLOW(call)                       \
	do {                             \
		fr->pc = pc;             \
		if (UNLIKELY(!(call)))   \
			goto fail;       \
	} while (0)
/* After what may have made objects or charged fuel. */
#define SAFE                                                                                  \
	do {                                                                                  \
		if (UNLIKELY(vm->charge || heap_due(&vm->heap))) {                            \
			fuel -= (int64_t)vm->charge;                                          \
			vm->charge = 0;                                                       \
			if (UNLIKELY(fuel < vm->poll_at || heap_due(&vm->heap)) && !safe_point(vm, &fuel)) \
				goto fail;                                                    \
		}                                                                             \
	} while (0)
#define JUMP                                                                                  \
	do {                                                                                  \
		int32_t off_ = insn_off(IN);                                                  \
		pc += off_;                                                                   \
		if (off_ < 0 && UNLIKELY(fuel < vm->poll_at)) {                               \
			fr->pc = pc;                                                          \
			if (!safe_point(vm, &fuel))                                           \
				goto fail;                                                    \
		}                                                                             \
	} while (0)
#define BOTH_INT(x, y) ((x).w == VAL_W(VAL_INT) && (y).w == VAL_W(VAL_INT))
#define BOTH_FLOAT(x, y) ((x).w == VAL_W(VAL_FLOAT) && (y).w == VAL_W(VAL_FLOAT))

#define ARITH_SLOW(op)                                                          \
	do {                                                                    \
		Value out_;                                                     \
		SLOW(arith(vm, op, IN.x & IN_PLACE, R(IN.b), R(IN.c), &out_));  \
		R(IN.a) = out_;                                                 \
		SAFE;                                                           \
	} while (0)
#define ARITH_CHECKED(op, builtin, sign)                                        \
	do {                                                                    \
		Value x = R(IN.b), y = R(IN.c);                                 \
		int64_t z;                                                      \
		if (LIKELY(BOTH_INT(x, y)) && LIKELY(!builtin(x.i, y.i, &z)))   \
			R(IN.a) = val_int(z);                                   \
		else if (BOTH_FLOAT(x, y))                                      \
			R(IN.a) = val_float(x.f sign y.f);                      \
		else                                                            \
			ARITH_SLOW(op);                                         \
	} while (0)
#define ARITH_BITS(op, sign)                                   \
	do {                                                   \
		Value x = R(IN.b), y = R(IN.c);                \
		if (LIKELY(BOTH_INT(x, y)))                    \
			R(IN.a) = val_int(x.i sign y.i);       \
		else                                           \
			ARITH_SLOW(op);                        \
	} while (0)
#define COMPARE(op, x, y, sign, ret)                                  \
	do {                                                          \
		Value x_ = (x), y_ = (y);                             \
		if (LIKELY(BOTH_INT(x_, y_)))                         \
			(ret) = x_.i sign y_.i;                       \
		else                                                  \
			SLOW(val_compare(vm, op, x_, y_, &(ret)));    \
	} while (0)
#define COMPARE_OP(op, sign)                               \
	do {                                               \
		bool c_;                                   \
		COMPARE(op, R(IN.b), R(IN.c), sign, c_);   \
		R(IN.a) = val_bool(c_);                    \
		SAFE;                                      \
	} while (0)
#define COMPARE_JUMP(op, sign, want)                       \
	do {                                               \
		bool c_;                                   \
		COMPARE(op, R(IN.a), R(IN.b), sign, c_);   \
		SAFE;                                      \
		if (c_ == (want))                          \
			JUMP;                              \
	} while (0)
/* A call that gives R[a]. */
#define MAKE(call)               \
	do {                     \
		Value ret_ = val_none(); \
		SLOW(call);      \
		R(IN.a) = ret_;  \
		SAFE;            \
	} while (0)
#define LOAD_FRAME                                    \
	do {                                          \
		fr = &vm->frame[vm->n_frames - 1];    \
		r = &vm->stack[fr->base];             \
		pc = fr->pc;                          \
	} while (0)

bool vm_loop(Vm *vm)
{
#define OP(id, ...) [I_##id] = &&L_##id,
	static const void *const labels[256] = {
#include "vm/ops.def"
	};
#undef OP
	const Program *const prog = vm->prog;
	int64_t fuel = vm->fuel;
	const Insn *pc;
	Frame *fr;
	Value *r;

	LOAD_FRAME;
	NEXT;

L_MOVE:
	R(IN.a) = R(IN.b);
	NEXT;
L_LOADI:
	R(IN.a) = val_int((int32_t)insn_wide_of(IN));
	NEXT;
L_LOADK:
	R(IN.a) = vm->konst[insn_wide_of(IN)];
	NEXT;
L_LOADNONE:
	R(IN.a) = val_none();
	NEXT;
L_LOADUNSET:
	R(IN.a) = val_unset();
	NEXT;
L_LOADBOOL:
	R(IN.a) = val_bool(IN.x != 0);
	NEXT;
L_GLOAD:
	R(IN.a) = vm->stack[IN.b];
	if (UNLIKELY(R(IN.a).tag == VAL_UNSET))
		SLOW(no_value(vm, STR("a module variable")));
	NEXT;
L_CHECK:
	if (UNLIKELY(R(IN.a).tag == VAL_UNSET))
		SLOW(no_value(vm, prog->name[IN.b]));
	NEXT;

L_ADD:
	ARITH_CHECKED(I_ADD, __builtin_add_overflow, +);
	NEXT;
L_SUB:
	ARITH_CHECKED(I_SUB, __builtin_sub_overflow, -);
	NEXT;
L_MUL:
	ARITH_CHECKED(I_MUL, __builtin_mul_overflow, *);
	NEXT;
L_AND:
	ARITH_BITS(I_AND, &);
	NEXT;
L_OR:
	ARITH_BITS(I_OR, |);
	NEXT;
L_XOR:
	ARITH_BITS(I_XOR, ^);
	NEXT;
L_DIV:
L_FLOOR:
L_MOD:
L_POW:
L_SHL:
L_SHR:
	ARITH_SLOW((OpCode)IN.op);
	NEXT;
L_ADDI: {
	Value x = R(IN.b);
	int64_t z;

	if (LIKELY(x.w == VAL_W(VAL_INT)) && LIKELY(!__builtin_add_overflow(x.i, (int16_t)IN.c, &z)))
		R(IN.a) = val_int(z);
	else
		MAKE(arith(vm, I_ADD, false, x, val_int((int16_t)IN.c), &ret_));
	NEXT;
}
L_NEG:
L_POS:
L_INV:
L_NOT:
	MAKE(arith_unary(vm, (OpCode)IN.op, R(IN.b), &ret_));
	NEXT;

L_EQ:
	COMPARE_OP(I_EQ, ==);
	NEXT;
L_NE:
	COMPARE_OP(I_NE, !=);
	NEXT;
L_LT:
	COMPARE_OP(I_LT, <);
	NEXT;
L_LE:
	COMPARE_OP(I_LE, <=);
	NEXT;
L_GT:
	COMPARE_OP(I_GT, >);
	NEXT;
L_GE:
	COMPARE_OP(I_GE, >=);
	NEXT;
L_IN:
L_NOTIN: {
	bool c;

	SLOW(val_in(vm, R(IN.b), R(IN.c), &c));
	R(IN.a) = val_bool(c == (IN.op == I_IN));
	SAFE;
	NEXT;
}
L_ISNONE:
	R(IN.a) = val_bool(val_no_value(R(IN.b)));
	NEXT;
L_NOTNONE:
	R(IN.a) = val_bool(!val_no_value(R(IN.b)));
	NEXT;

L_JMP:
	JUMP;
	NEXT;
L_JT:
	if (val_truth(R(IN.a)))
		JUMP;
	NEXT;
L_JF:
	if (!val_truth(R(IN.a)))
		JUMP;
	NEXT;
L_JEQ:
	COMPARE_JUMP(I_EQ, ==, true);
	NEXT;
L_JNEQ:
	COMPARE_JUMP(I_EQ, ==, false);
	NEXT;
L_JLT:
	COMPARE_JUMP(I_LT, <, true);
	NEXT;
L_JNLT:
	COMPARE_JUMP(I_LT, <, false);
	NEXT;
L_JLE:
	COMPARE_JUMP(I_LE, <=, true);
	NEXT;
L_JNLE:
	COMPARE_JUMP(I_LE, <=, false);
	NEXT;
L_JNONE:
	if (val_no_value(R(IN.a)))
		JUMP;
	NEXT;
L_JNOTNONE:
	if (!val_no_value(R(IN.a)))
		JUMP;
	NEXT;

L_ITER:
	SLOW(iter_begin(vm, R(IN.b), &R(IN.a)));
	NEXT;
L_FOR: {
	Value *it = &R(IN.a);

	if (LIKELY(it[0].w == VAL_W(VAL_ITER) && it[1].w == VAL_W(VAL_INT))) {
		if (it[1].i <= 0)
			NEXT;
		it[1].i--;
		R(IN.b) = val_int(it[0].i);
		it[0].i = (int64_t)((uint64_t)it[0].i + (uint64_t)it[2].i);
		JUMP;
		NEXT;
	}
	Value x;

	fr->pc = pc;
	if (!iter_next(vm, it, &x)) {
		if (UNLIKELY(vm->err.set))
			goto fail;
		NEXT;
	}
	R(IN.b) = x;
	SAFE;
	JUMP;
	NEXT;
}

L_LIST:
	R(IN.a) = list_of(vm, &R(IN.b), IN.c);
	SAFE;
	NEXT;
L_TUPLE:
	R(IN.a) = tuple_of(vm, &R(IN.b), IN.c);
	SAFE;
	NEXT;
L_SET:
	MAKE(make_set(vm, &R(IN.b), IN.c, &ret_));
	NEXT;
L_DICT:
	MAKE(make_dict(vm, &R(IN.b), IN.c, &ret_));
	NEXT;
L_PUSH:
	SLOW(push(vm, R(IN.a), R(IN.b)));
	SAFE;
	NEXT;
L_PUT:
	SLOW(val_put(vm, R(IN.a), R(IN.b), R(IN.c)));
	SAFE;
	NEXT;
L_INDEX: {
	Value v = R(IN.b), i = R(IN.c);

	if (v.tag == VAL_LIST && i.w == VAL_W(VAL_INT) && (uint64_t)i.i < v.o->n)
		R(IN.a) = val_list(v)->p[i.i];
	else
		MAKE(val_index(vm, v, i, &ret_));
	NEXT;
}
L_SLICE:
	MAKE(val_slice(vm, R(IN.b), &R(IN.c), &ret_));
	NEXT;
L_UNPACK:
	SLOW(unpack(vm, R(IN.b), &R(IN.a), IN.c));
	SAFE;
	NEXT;
L_ATTR:
	MAKE(get_attr(vm, R(IN.b), IN.c, &ret_));
	NEXT;
L_SETATTR:
	SLOW(val_set_attr(vm, &R(IN.a), (WireId)IN.x, prog->name[IN.b], R(IN.c)));
	SAFE;
	NEXT;

L_FORMAT:
	MAKE(format_value(vm, R(IN.b), (char)IN.x, R(IN.c), &ret_));
	NEXT;
L_CONCAT:
	MAKE(concat(vm, &R(IN.b), IN.c, &ret_));
	NEXT;

L_CALL:
	SLOW(vm_enter(vm, &prog->fn[IN.b], fr->base + IN.c, IN.a, false));
	LOAD_FRAME;
	if (UNLIKELY(fuel < vm->poll_at) && !safe_point(vm, &fuel))
		goto fail;
	NEXT;
L_CALLV:
	SLOW(enter_value(vm, R(IN.b), fr->base + IN.c, IN.x, IN.a, false));
	LOAD_FRAME;
	if (UNLIKELY(fuel < vm->poll_at) && !safe_point(vm, &fuel))
		goto fail;
	NEXT;
L_RETNONE:
	vm->ret = val_none();
	goto leave;
L_RETURN:
	vm->ret = R(IN.a);
leave: {
	uint16_t dst = fr->dst;

	vm->n_frames--;
	if (fr->boundary) {
		vm->fuel = fuel;
		return true;
	}
	LOAD_FRAME;
	R(dst) = vm->ret;
	NEXT;
}
L_CALLB:
	vm->fuel = fuel;
	MAKE(call_builtin(vm, vm_row_func(vm, (BuiltinFunc)IN.b), builtin_func_row((BuiltinFunc)IN.b)->name,
			  &R(IN.c), IN.x, &ret_));
	NEXT;
L_CALLS:
	vm->fuel = fuel;
	MAKE(call_row(vm, (BuiltinMethod)IN.b, &R(IN.c), IN.x, &ret_));
	NEXT;
L_CALLM:
	vm->fuel = fuel;
	MAKE(call_method(vm, &prog->msite[IN.b], &R(IN.c), &ret_));
	NEXT;
L_METER:
	SLOW(leak_pay(vm, IN.c, IN.x));
	NEXT;
L_METERN:
	SLOW(leak_pay_packets(vm, R(IN.a), IN.c, IN.x));
	NEXT;
L_TOLD:
	vm->told = &prog->told[IN.c];
	vm->n_told = IN.x;
	NEXT;
L_LAMBDA:
	MAKE(make_lambda(vm, IN, &R(IN.c), &ret_));
	NEXT;
L_LAYER: {
	const LayerSite *site = &prog->lsite[IN.b];
	size_t mark = vm->scratch.used;

	MAKE(packet_make(vm, wire_proto((WireId)site->proto), site->field, &R(IN.c), site->n, &ret_));
	vm->scratch.used = mark;
	NEXT;
}
L_OPTION: {
	const WireProto *p = wire_proto((WireId)(IN.b >> 8));

	MAKE(packet_option_make(vm, p, &p->options[IN.b & 0xff], &R(IN.c), IN.x, &ret_));
	NEXT;
}
L_RESULT:
	MAKE(make_result(vm, &prog->result[IN.b], &R(IN.c), &ret_));
	NEXT;

fail:
	vm->fuel = fuel;
	return false;
}
