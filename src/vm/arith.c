/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic over all values: what the dispatch loop's fast paths leave over.
 *
 * A table of (left kind, right kind) rows would be sparse; instead each family
 * has one function that takes the operator, and `arith` finds the family by the
 * two tags.  Integers are 64-bit and never wrap: overflow is an error.
 */
#include "vm/inside.h"

#include <math.h>

static const char *op_text(OpCode op)
{
	static const char *const text[] = {
		[I_ADD] = "+", [I_SUB] = "-", [I_MUL] = "*",   [I_DIV] = "/", [I_FLOOR] = "//", [I_MOD] = "%",
		[I_POW] = "**", [I_AND] = "&", [I_OR] = "|",   [I_XOR] = "^", [I_SHL] = "<<",	 [I_SHR] = ">>",
	};

	return text[op];
}

static bool fail_types(Vm *vm, OpCode op, Value a, Value b)
{
	return vm_fail(vm, "E-TYPE", "%s %s %s has no meaning", val_type_name(a), op_text(op), val_type_name(b));
}

static bool fail_overflow(Vm *vm)
{
	return vm_fail(vm, "E-OVERFLOW", "the result does not fit 64 bits");
}

static bool fail_zero(Vm *vm)
{
	return vm_fail(vm, "E-ZERO", "division by zero");
}

static bool is_int(Value v)
{
	return v.tag == VAL_INT || v.tag == VAL_BOOL;
}

static bool is_num(Value v)
{
	return is_int(v) || v.tag == VAL_FLOAT;
}

static double num_of(Value v)
{
	return v.tag == VAL_FLOAT ? v.f : (double)v.i;
}

/* An int that is as much a peer's choice as the operands. */
static Value int_from(int64_t i, Value a, Value b)
{
	Value v = val_int(i);

	v.vf = (a.vf | b.vf) & VF_PEER;
	return v;
}

/* ---- ints ---- */

bool int_floor(Vm *vm, int64_t a, int64_t b, int64_t *ret_q, int64_t *ret_r)
{
	if (b == 0)
		return fail_zero(vm);
	if (b == -1) {
		if (a == INT64_MIN)
			return fail_overflow(vm);
		*ret_q = -a;
		*ret_r = 0;
		return true;
	}
	*ret_q = a / b;
	*ret_r = a % b;
	if (*ret_r && (*ret_r < 0) != (b < 0)) {
		*ret_q -= 1;
		*ret_r += b;
	}
	return true;
}

static bool int_pow(Vm *vm, int64_t a, int64_t n, int64_t *ret)
{
	int64_t r = 1;

	while (n) {
		if (n & 1 && __builtin_mul_overflow(r, a, &r))
			return fail_overflow(vm);
		n >>= 1;
		if (n && __builtin_mul_overflow(a, a, &a))
			return fail_overflow(vm);
	}
	*ret = r;
	return true;
}

static bool int_shift(Vm *vm, OpCode op, int64_t a, int64_t n, int64_t *ret)
{
	if (n < 0)
		return vm_fail(vm, "E-VALUE", "negative shift count");
	if (op == I_SHR) {
		*ret = n > 62 ? (a < 0 ? -1 : 0) : a >> n;
		return true;
	}
	if (a == 0 || n == 0) {
		*ret = a;
		return true;
	}
	if (n > 62 || __builtin_mul_overflow(a, INT64_C(1) << n, ret))
		return fail_overflow(vm);
	return true;
}

static bool arith_float(Vm *vm, OpCode op, double a, double b, Value *ret);

static bool arith_int(Vm *vm, OpCode op, Value av, Value bv, Value *ret)
{
	int64_t a = av.i, b = bv.i, r = 0, q = 0;
	bool over = false;

	switch (op) {
	case I_ADD:
		over = __builtin_add_overflow(a, b, &r);
		break;
	case I_SUB:
		over = __builtin_sub_overflow(a, b, &r);
		break;
	case I_MUL:
		over = __builtin_mul_overflow(a, b, &r);
		break;
	case I_DIV:
		return arith_float(vm, op, (double)a, (double)b, ret);
	case I_FLOOR:
		if (!int_floor(vm, a, b, &r, &q))
			return false;
		break;
	case I_MOD:
		if (!int_floor(vm, a, b, &q, &r))
			return false;
		break;
	case I_POW:
		if (b < 0)
			return arith_float(vm, op, (double)a, (double)b, ret);
		if (!int_pow(vm, a, b, &r))
			return false;
		break;
	case I_AND:
		r = a & b;
		break;
	case I_OR:
		r = a | b;
		break;
	case I_XOR:
		r = a ^ b;
		break;
	default:
		if (!int_shift(vm, op, a, b, &r))
			return false;
	}
	if (over)
		return fail_overflow(vm);
	*ret = int_from(r, av, bv);
	if (av.tag == VAL_BOOL && bv.tag == VAL_BOOL && (op == I_AND || op == I_OR || op == I_XOR))
		*ret = val_bool(r != 0);
	return true;
}

/* ---- floats ---- */

/* Python's float_divmod: the remainder has the divisor's sign. */
static void float_divmod(double a, double b, double *ret_q, double *ret_r)
{
	double r = fmod(a, b), q = (a - r) / b;

	if (r != 0) {
		if ((b < 0) != (r < 0)) {
			r += b;
			q -= 1;
		}
	} else {
		r = copysign(0, b);
	}
	double whole = q != 0 ? floor(q) : copysign(0, a / b);

	if (q != 0 && q - whole > 0.5)
		whole += 1;
	*ret_q = whole;
	*ret_r = r;
}

static bool arith_float(Vm *vm, OpCode op, double a, double b, Value *ret)
{
	double r = 0, q = 0;

	switch (op) {
	case I_ADD:
		r = a + b;
		break;
	case I_SUB:
		r = a - b;
		break;
	case I_MUL:
		r = a * b;
		break;
	case I_DIV:
		if (b == 0)
			return fail_zero(vm);
		r = a / b;
		break;
	case I_FLOOR:
	case I_MOD:
		if (b == 0)
			return fail_zero(vm);
		float_divmod(a, b, &q, &r);
		r = op == I_FLOOR ? q : r;
		break;
	case I_POW:
		if (a == 0 && b < 0)
			return fail_zero(vm);
		if (a < 0 && b != floor(b))
			return vm_fail(vm, "E-VALUE", "a negative number to a broken power is no real number");
		r = pow(a, b);
		if (isinf(r) && !isinf(a) && !isinf(b))
			return fail_overflow(vm);
		break;
	default:
		return fail_types(vm, op, val_float(a), val_float(b));
	}
	*ret = val_float(r);
	return true;
}

/* ---- durations and times ---- */

bool dur_from_s(Vm *vm, double s, int64_t *ret_ns)
{
	*ret_ns = isnan(s) ? NS_NONE : ns_from_s(s);
	if (*ret_ns == NS_NONE && !isnan(s))
		return fail_overflow(vm);
	return true;
}

/* ns; a number is seconds. */
static bool ns_of(Vm *vm, Value v, int64_t *ret)
{
	if (v.tag == VAL_DURATION || v.tag == VAL_TIME) {
		*ret = v.i;
		return true;
	}
	if (is_int(v)) {
		if (__builtin_mul_overflow(v.i, NS_PER_S, ret))
			return fail_overflow(vm);
		return true;
	}
	return dur_from_s(vm, v.f, ret);
}

static bool dur_scale(Vm *vm, int64_t ns, Value by, bool divide, Value *ret)
{
	int64_t r;

	if (divide && num_of(by) == 0)
		return fail_zero(vm);
	if (ns == NS_NONE || val_absent(by)) {
		*ret = val_duration(NS_NONE);
		return true;
	}
	if (!divide && is_int(by)) {
		if (__builtin_mul_overflow(ns, by.i, &r) || r == NS_NONE)
			return fail_overflow(vm);
		*ret = val_duration(r);
		return true;
	}
	double f = divide ? (double)ns / num_of(by) : (double)ns * num_of(by);

	if (!(fabs(f) < 9.2e18))
		return fail_overflow(vm);
	*ret = val_duration(llround(f));
	return true;
}

/* d / d, d // d, d % d and n / d (a rate: per second). */
static bool dur_ratio(Vm *vm, OpCode op, Value a, Value b, Value *ret)
{
	int64_t q, r, ns = a.i;

	if (b.i == 0)
		return fail_zero(vm);
	if (val_absent(a) || val_absent(b)) {
		*ret = op == I_MOD ? val_duration(NS_NONE) : val_float(NAN);
		return true;
	}
	if (a.tag != VAL_DURATION) {
		*ret = val_float(num_of(a) / ((double)b.i / 1e9));
		return true;
	}
	if (op == I_DIV) {
		*ret = val_float((double)ns / (double)b.i);
		return true;
	}
	if (!int_floor(vm, ns, b.i, &q, &r))
		return false;
	*ret = op == I_MOD ? val_duration(r) : val_int(q);
	return true;
}

static bool ns_add(Vm *vm, OpCode op, Value a, Value b, ValTag tag, Value *ret)
{
	int64_t x, y, r;

	if (!ns_of(vm, a, &x) || !ns_of(vm, b, &y))
		return false;
	*ret = (Value){ .w = VAL_W(tag), .i = NS_NONE };
	if (x == NS_NONE || y == NS_NONE)
		return true;
	if ((op == I_ADD ? __builtin_add_overflow(x, y, &r) : __builtin_sub_overflow(x, y, &r)) || r == NS_NONE)
		return fail_overflow(vm);
	ret->i = r;
	return true;
}

static bool arith_duration(Vm *vm, OpCode op, Value a, Value b, Value *ret)
{
	bool a_dur = a.tag == VAL_DURATION, b_dur = b.tag == VAL_DURATION;

	if (op == I_ADD || op == I_SUB)
		return ns_add(vm, op, a, b, VAL_DURATION, ret);
	if (op == I_MUL && a_dur != b_dur)
		return a_dur ? dur_scale(vm, a.i, b, false, ret) : dur_scale(vm, b.i, a, false, ret);
	if (op == I_DIV && !b_dur)
		return dur_scale(vm, a.i, b, true, ret);
	if (op == I_DIV || ((op == I_FLOOR || op == I_MOD) && a_dur && b_dur))
		return dur_ratio(vm, op, a, b, ret);
	return fail_types(vm, op, a, b);
}

static bool arith_time(Vm *vm, OpCode op, Value a, Value b, Value *ret)
{
	if (a.tag == VAL_TIME && b.tag == VAL_TIME)
		return op == I_SUB ? ns_add(vm, op, a, b, VAL_DURATION, ret) : fail_types(vm, op, a, b);
	if (op == I_ADD || (op == I_SUB && a.tag == VAL_TIME))
		return ns_add(vm, op, a, b, VAL_TIME, ret);
	return fail_types(vm, op, a, b);
}

/* ---- addresses ---- */

static bool ip_move(Vm *vm, Value ip, int64_t by, Value *ret)
{
	Ip r;

	if (!ip_add(val_ip(ip), by, &r))
		return vm_fail(vm, "E-OVERFLOW", "the address leaves its family's range");
	*ret = vm_ip(vm, r);
	return true;
}

/* How far apart two addresses are. */
static bool ip_distance(Vm *vm, Ip a, Ip b, Value *ret)
{
	IpNum x = ip_num(a), y = ip_num(b);

	if (a.v != b.v)
		return vm_fail(vm, "E-TYPE", "addresses of two families have no distance");
	IpNum d = x > y ? x - y : y - x;

	if (d > INT64_MAX)
		return fail_overflow(vm);
	*ret = val_int(x > y ? (int64_t)d : -(int64_t)d);
	return true;
}

static bool arith_ip(Vm *vm, OpCode op, Value a, Value b, Value *ret)
{
	Ip ip;

	if (val_is_ip(a) && is_int(b) && (op == I_ADD || (op == I_SUB && b.i != INT64_MIN)))
		return ip_move(vm, a, op == I_ADD ? b.i : -b.i, ret);
	if (val_is_ip(b) && is_int(a) && op == I_ADD)
		return ip_move(vm, b, a.i, ret);
	if (op == I_SUB && val_is_ip(a) && (val_is_ip(b) || b.tag == VAL_STR))
		return vm_to_ip(vm, b, &ip) && ip_distance(vm, val_ip(a), ip, ret);
	return fail_types(vm, op, a, b);
}

/* ---- flags ---- */

/* With flags or names the result is flags of the same field, with a number a number. */
static bool arith_flags(Vm *vm, OpCode op, Value a, Value b, Value *ret)
{
	Value f = a.tag == VAL_FLAGS ? a : b, o = a.tag == VAL_FLAGS ? b : a;
	uint64_t bits = (uint64_t)o.i;

	if (o.tag == VAL_STR) {
		if (!(f.vf & VF_FIELD) ||
		    !wire_name_value(&wire_proto(f.proto)->fields[f.field], str_of(val_str(o)), &bits))
			return vm_fail(vm, "E-VALUE", "\"%.60s\" names no flag", val_str(o)->p);
		o = f;
		o.i = (int64_t)bits;
	} else if (o.tag != VAL_FLAGS && !is_int(o)) {
		return fail_types(vm, op, a, b);
	}
	if (op != I_AND && op != I_OR && op != I_XOR)
		return o.tag == VAL_FLAGS && val_is_obj(a.tag == VAL_FLAGS ? b : a) ?
			       fail_types(vm, op, a, b) :
			       arith_int(vm, op, val_int(a.i), val_int(b.i), ret);
	int64_t x = f.i, y = o.i;

	f.i = op == I_AND ? x & y : op == I_OR ? x | y : x ^ y;
	*ret = o.tag == VAL_FLAGS ? f : int_from(f.i, a, b);
	return true;
}

/* ---- text, lists, tuples ---- */

static bool repeat_bounds(Vm *vm, uint64_t n, size_t item, int64_t *times)
{
	if (*times < 0)
		*times = 0;
	if (n && (uint64_t)*times > LIMIT_ENGINE_MEMORY / (n * item))
		return vm_fail(vm, "E-MEMORY", "memory spent: %llu items, %lld times",
			       (unsigned long long)n, (long long)*times);
	vm_charge(vm, n * (uint64_t)*times * item / 64);
	return true;
}

static bool repeat(Vm *vm, Value v, int64_t times, Value *ret)
{
	Sbuf b = sbuf(vm);
	uint32_t n = v.o->n;

	if (!repeat_bounds(vm, n, val_is_text(v) ? 1 : sizeof(Value), &times))
		return false;
	if (val_is_text(v)) {
		for (int64_t i = 0; n && i < times; i++)
			sbuf_obj(&b, val_str(v));
		*ret = sbuf_done(&b, v.tag);
		return true;
	}
	const Value *p = v.tag == VAL_LIST ? val_list(v)->p : val_tuple(v)->p;
	uint32_t all = n * (uint32_t)times;
	Value out = v.tag == VAL_LIST ? val_of(vm_list(vm, all)) : val_of(vm_tuple(vm, all));
	Value *q = v.tag == VAL_LIST ? val_list(out)->p : val_tuple(out)->p;

	for (uint32_t i = 0; i < all; i += n)
		memcpy(q + i, p, n * sizeof(Value));
	out.o->n = all;
	*ret = out;
	return true;
}

static bool join_two(Vm *vm, Value a, Value b, Value *ret)
{
	Sbuf s = sbuf(vm);

	if (val_is_text(a)) {
		sbuf_obj(&s, val_str(a));
		sbuf_obj(&s, val_str(b));
		*ret = sbuf_done(&s, a.tag);
		return true;
	}
	uint32_t n = a.o->n, m = b.o->n;
	Value out = a.tag == VAL_LIST ? val_of(vm_list(vm, n + m)) : val_of(vm_tuple(vm, n + m));
	Value *q = a.tag == VAL_LIST ? val_list(out)->p : val_tuple(out)->p;
	const Value *x = a.tag == VAL_LIST ? val_list(a)->p : val_tuple(a)->p;
	const Value *y = a.tag == VAL_LIST ? val_list(b)->p : val_tuple(b)->p;

	if (n)
		memcpy(q, x, n * sizeof(Value));
	if (m)
		memcpy(q + n, y, m * sizeof(Value));
	out.o->n = n + m;
	vm_charge(vm, (uint64_t)(n + m) / 4);
	*ret = out;
	return true;
}

/* list += anything that can be iterated, as Python's extend. */
static bool extend(Vm *vm, Value list, Value by)
{
	ObjList *l = val_list(list);
	Value it[3], v;

	if (by.tag == VAL_LIST) {
		uint32_t n = by.o->n;

		list_reserve(vm, l, (size_t)l->h.n + n > l->cap ? ((size_t)l->h.n + n) * 3 / 2 : l->cap);
		if (n)
			memcpy(l->p + l->h.n, val_list(by)->p, n * sizeof(Value));
		l->h.n += n;
		vm_charge(vm, n / 4);
		return true;
	}
	if (!iter_begin(vm, by, it))
		return false;
	while (iter_next(vm, it, &v)) {
		vm_push(vm, l, v);
		vm_charge(vm, 1);
	}
	return !vm->err.set;
}

static bool is_sequence(Value v)
{
	return val_is_text(v) || v.tag == VAL_LIST || v.tag == VAL_TUPLE;
}

static bool arith_sequence(Vm *vm, OpCode op, bool in_place, Value a, Value b, Value *ret)
{
	ObjList *l;

	if (a.tag == VAL_RANGE && op == I_ADD && iter_list(vm, a, &l))
		a = val_of(l);
	if (b.tag == VAL_RANGE && op == I_ADD && iter_list(vm, b, &l))
		b = val_of(l);
	if (op == I_ADD && in_place && a.tag == VAL_LIST) {
		*ret = a;
		return extend(vm, a, b);
	}
	if (op == I_ADD && a.tag == b.tag && is_sequence(a))
		return join_two(vm, a, b, ret);
	if (op == I_MUL && is_int(b) && is_sequence(a)) {
		if (!repeat(vm, a, b.i, ret))
			return false;
		if (in_place && a.tag == VAL_LIST) {
			ObjList *to = val_list(a), *from = val_list(*ret), was = *to;

			to->p = from->p, to->cap = from->cap, to->h.n = from->h.n;
			from->p = was.p, from->cap = was.cap, from->h.n = 0;
			*ret = a;
		}
		return true;
	}
	if (op == I_MUL && is_int(a) && is_sequence(b))
		return repeat(vm, b, a.i, ret);
	return fail_types(vm, op, a, b);
}

/* ---- sets and dicts ---- */

static bool set_op(Vm *vm, OpCode op, ObjDict *a, ObjDict *b, ObjDict *out)
{
	DictEntry *e, *f;

	vm_charge(vm, a->h.n + b->h.n);
	for (uint32_t at = 0; (e = dict_next(a, &at));) {
		if (!dict_find(vm, b, e->k, &f))
			return false;
		if ((op == I_OR || (op == I_AND) == (f != NULL)) && !dict_put(vm, out, e->k, val_none()))
			return false;
	}
	if (op == I_AND || op == I_SUB)
		return true;
	for (uint32_t at = 0; (e = dict_next(b, &at));) {
		if (!dict_find(vm, a, e->k, &f))
			return false;
		if (!f && !dict_put(vm, out, e->k, val_none()))
			return false;
	}
	return true;
}

/* `d |= ...` and the like: the object that others hold changes. */
static void dict_become(ObjDict *a, ObjDict *with)
{
	ObjDict was = *a;
	Obj head = with->h;

	*a = *with;
	a->h = was.h;
	a->h.n = head.n;
	*with = was;
	with->h = head;
	with->h.n = was.h.n;
}

static bool arith_dict(Vm *vm, OpCode op, bool in_place, Value a, Value b, Value *ret)
{
	ObjDict *out;

	if (a.tag != b.tag || (a.tag == VAL_DICT && op != I_OR) ||
	    (op != I_OR && op != I_AND && op != I_XOR && op != I_SUB))
		return fail_types(vm, op, a, b);
	out = dict_make(vm, a.tag);
	if (a.tag == VAL_SET ? !set_op(vm, op, val_dict(a), val_dict(b), out) :
			       !dict_copy(vm, val_dict(a), out) || !dict_copy(vm, val_dict(b), out))
		return false;
	if (in_place)
		dict_become(val_dict(a), out);
	*ret = in_place ? a : val_of(out);
	return true;
}

/* ---- the families ---- */

static bool packet_like(Value v)
{
	return v.tag == VAL_PACKET || v.tag == VAL_RECORD || v.tag == VAL_PROTO;
}

static bool either(Value a, Value b, ValTag t)
{
	return a.tag == t || b.tag == t;
}

static bool no_value(Vm *vm, OpCode op, Value v)
{
	return vm_fail(vm, v.tag == VAL_NONE ? "E-NONE" : "E-UNSET", "%s with %s", op_text(op),
		       v.tag == VAL_NONE ? "None" : "a variable that has no value yet");
}

bool arith(Vm *vm, OpCode op, bool in_place, Value a, Value b, Value *ret)
{
	if (a.tag <= VAL_NONE || b.tag <= VAL_NONE)
		return no_value(vm, op, a.tag <= VAL_NONE ? a : b);
	if (is_int(a) && is_int(b))
		return arith_int(vm, op, a, b, ret);
	if (is_num(a) && is_num(b))
		return arith_float(vm, op, num_of(a), num_of(b), ret);
	if (op == I_DIV && (packet_like(a) || packet_like(b)))
		return packet_stack(vm, a, b, ret);
	if (op == I_DIV && a.tag == VAL_LIST)
		return packet_stack(vm, a, b, ret);
	if (either(a, b, VAL_FLAGS))
		return arith_flags(vm, op, a, b, ret);
	if (either(a, b, VAL_TIME) && (a.tag == VAL_DURATION || a.tag == VAL_TIME || is_num(a)) &&
	    (b.tag == VAL_DURATION || b.tag == VAL_TIME || is_num(b)))
		return arith_time(vm, op, a, b, ret);
	if (either(a, b, VAL_DURATION) && (a.tag == VAL_DURATION || is_num(a)) &&
	    (b.tag == VAL_DURATION || is_num(b)))
		return arith_duration(vm, op, a, b, ret);
	if (val_is_ip(a) || val_is_ip(b))
		return arith_ip(vm, op, a, b, ret);
	if (a.tag == VAL_SET || a.tag == VAL_DICT)
		return arith_dict(vm, op, in_place, a, b, ret);
	return arith_sequence(vm, op, in_place, a, b, ret);
}

bool arith_unary(Vm *vm, OpCode op, Value a, Value *ret)
{
	if (op == I_NOT) {
		*ret = val_bool(!val_truth(a));
		return true;
	}
	if (a.tag == VAL_FLAGS && op == I_INV) {
		*ret = a;
		ret->i = ~a.i;
		if (a.vf & VF_FIELD) {
			unsigned width = wire_proto(a.proto)->fields[a.field].width;

			ret->i &= width && width < 63 ? (INT64_C(1) << width) - 1 : INT64_MAX;
		}
		return true;
	}
	if (is_int(a)) {
		if (op == I_NEG && a.i == INT64_MIN)
			return fail_overflow(vm);
		*ret = int_from(op == I_NEG ? -a.i : op == I_INV ? ~a.i : a.i, a, a);
		return true;
	}
	if ((a.tag == VAL_FLOAT || a.tag == VAL_DURATION) && op != I_INV) {
		*ret = a;
		if (op == I_NEG && a.tag == VAL_FLOAT)
			ret->f = -a.f;
		else if (op == I_NEG && a.i != NS_NONE)
			ret->i = -a.i;
		return true;
	}
	return vm_fail(vm, "E-TYPE", "%s%s has no meaning", op == I_NEG ? "-" : op == I_INV ? "~" : "+",
		       val_type_name(a));
}
