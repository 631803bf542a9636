/* SPDX-License-Identifier: Apache-2.0
 *
 * Iteration, indexing, slices, attributes and method calls by tag.
 *
 * An iterator is three registers, no object: it[0] is what is iterated (a range:
 * an ITER value with the next number), it[1] the position, it[2] how many there
 * were or are left.  The dispatch loop has its own fast paths for ranges and
 * lists with the same state.
 */
#include "vm/inside.h"

#include <math.h>

const char *val_type_name(Value v)
{
#define NAME_(id, text) text,
	static const char *const names[VAL_N] = { VAL_TAGS(NAME_) };
#undef NAME_

	return names[v.tag < VAL_N ? v.tag : 0];
}

/* ---- iteration ---- */

static uint64_t net_count(Net n)
{
	unsigned host = (n.ip.v == 4 ? 32u : 128u) - n.bits;

	return host >= 63 ? INT64_MAX : UINT64_C(1) << host;
}

bool iter_begin(Vm *vm, Value v, Value it[3])
{
	ObjRange *r;

	it[0] = v;
	it[1] = val_int(0);
	it[2] = val_int(0);
	switch ((ValTag)v.tag) {
	case VAL_LIST:
	case VAL_TUPLE:
	case VAL_STR:
	case VAL_BYTES:
		return true;
	case VAL_DICT:
	case VAL_SET:
		it[2] = val_int(v.o->n);
		return true;
	case VAL_RANGE:
		r = val_range(v);
		it[0] = (Value){ .w = VAL_W(VAL_ITER), .i = r->start };
		it[1] = val_int(r->count);
		it[2] = val_int(r->step);
		return true;
	case VAL_NET4:
	case VAL_NET6:
		it[2] = val_int((int64_t)net_count(val_net(v)));
		return true;
	case VAL_RESULT:
		if (val_result(v)->type->unpacks && v.o->n)
			return iter_begin(vm, val_result(v)->p[0], it);
		break;
	default:
		break;
	}
	return vm_fail(vm, v.tag == VAL_NONE ? "E-NONE" : "E-TYPE", "%s can't be iterated over", val_type_name(v));
}

static bool next_char(Vm *vm, Value it[3], Value *ret)
{
	ObjStr *s = val_str(it[0]);
	size_t at = (size_t)it[1].i, n = 1;

	if (at >= s->h.n)
		return false;
	if (it[0].tag == VAL_BYTES) {
		*ret = val_int((uint8_t)s->p[at]);
		ret->vf = str_marked(s) && str_marked_at(s, at) ? VF_PEER : 0;
	} else {
		while (at + n < s->h.n && ((uint8_t)s->p[at + n] & 0xc0) == 0x80)
			n++;
		*ret = str_sub(vm, s, at, at + n);
	}
	it[1].i += (int64_t)n;
	return true;
}

static bool next_entry(Vm *vm, Value it[3], Value *ret)
{
	uint32_t at = (uint32_t)it[1].i;

	if (it[0].o->n != (uint64_t)it[2].i)
		return vm_fail(vm, "E-VALUE", "the %s changed its size while it was iterated over",
			       val_type_name(it[0]));
	DictEntry *e = dict_next(val_dict(it[0]), &at);

	it[1].i = at;
	if (!e)
		return false;
	*ret = e->k;
	return true;
}

bool iter_next(Vm *vm, Value it[3], Value *ret)
{
	Ip ip;

	/* The program's registers hold the state: no pointer may be taken for a number. */
	if (it[1].w != VAL_W(VAL_INT) || it[2].w != VAL_W(VAL_INT))
		return vm_fail(vm, "E-TYPE", "no iterator");
	switch ((ValTag)it[0].tag) {
	case VAL_ITER:
		if (it[1].i-- <= 0) {
			it[1].i = 0;
			return false;
		}
		*ret = val_int(it[0].i);
		/* The number behind the last may not fit; nobody reads it. */
		it[0].i = (int64_t)((uint64_t)it[0].i + (uint64_t)it[2].i);
		return true;
	case VAL_LIST:
	case VAL_TUPLE:
		if (it[1].i < 0 || it[1].i >= it[0].o->n)
			return false;
		*ret = it[0].tag == VAL_LIST ? val_list(it[0])->p[it[1].i] : val_tuple(it[0])->p[it[1].i];
		it[1].i++;
		return true;
	case VAL_STR:
	case VAL_BYTES:
		return it[1].i >= 0 && next_char(vm, it, ret);
	case VAL_DICT:
	case VAL_SET:
		return next_entry(vm, it, ret);
	case VAL_NET4:
	case VAL_NET6:
		if (it[1].i >= it[2].i || !ip_add(val_net(it[0]).ip, it[1].i, &ip))
			return false;
		it[1].i++;
		*ret = vm_ip(vm, ip);
		return true;
	default:
		return vm_fail(vm, "E-TYPE", "%s can't be iterated over", val_type_name(it[0]));
	}
}

uint64_t iter_hint(const Value it[3])
{
	switch ((ValTag)it[0].tag) {
	case VAL_ITER:
		return (uint64_t)it[1].i;
	case VAL_NET4:
	case VAL_NET6:
		return (uint64_t)it[2].i;
	default:
		return val_is_obj(it[0]) ? it[0].o->n : 0;
	}
}

bool iter_list(Vm *vm, Value v, ObjList **ret)
{
	Value it[3], x;

	if (v.tag == VAL_LIST || v.tag == VAL_TUPLE) {
		*ret = val_list(list_of(vm, v.tag == VAL_LIST ? val_list(v)->p : val_tuple(v)->p, v.o->n));
		return true;
	}
	if (!iter_begin(vm, v, it))
		return false;
	uint64_t hint = iter_hint(it);

	if (hint > LIMIT_ENGINE_MEMORY / sizeof(Value))
		return vm_fail(vm, "E-MEMORY", "memory spent: %llu items", (unsigned long long)hint);
	*ret = vm_list(vm, (uint32_t)hint);
	while (iter_next(vm, it, &x))
		vm_push(vm, *ret, x);
	vm_charge(vm, (*ret)->h.n);
	return !vm->err.set;
}

bool range_make(Vm *vm, int64_t start, int64_t stop, int64_t step, Value *ret)
{
	__int128 n = 0;

	if (step == 0)
		return vm_fail(vm, "E-VALUE", "a range's step is not 0");
	if (step > 0 && stop > start)
		n = ((__int128)stop - start + step - 1) / step;
	else if (step < 0 && stop < start)
		n = ((__int128)start - stop - step - 1) / -(__int128)step;
	if (n > INT64_MAX)
		return vm_fail(vm, "E-OVERFLOW", "a range of more than 2^63 numbers");
	ObjRange *r = (ObjRange *)heap_obj(&vm->heap, VAL_RANGE, sizeof *r);

	r->start = start;
	r->step = step;
	r->count = (int64_t)n;
	*ret = val_of(r);
	return true;
}

bool val_len(Vm *vm, Value v, int64_t *ret)
{
	switch ((ValTag)v.tag) {
	case VAL_STR:
		*ret = val_str(v)->n_cp;
		return true;
	case VAL_BYTES:
	case VAL_LIST:
	case VAL_TUPLE:
	case VAL_DICT:
	case VAL_SET:
		*ret = v.o->n;
		return true;
	case VAL_RANGE:
		*ret = val_range(v)->count;
		return true;
	case VAL_NET4:
	case VAL_NET6:
		*ret = (int64_t)net_count(val_net(v));
		return true;
	case VAL_PACKET:
	case VAL_RECORD:
		*ret = packet_len(vm, val_packet(v));
		return !vm->err.set;
	case VAL_RESULT:
		if (val_result(v)->type->unpacks && v.o->n)
			return val_len(vm, val_result(v)->p[0], ret);
		break;
	default:
		break;
	}
	return vm_fail_type(vm, "something with a length", v);
}

/* ---- indexing ---- */

/* The result fits for all that are in the range; the way there may wrap. */
static int64_t range_at(const ObjRange *r, int64_t i)
{
	return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}

static bool index_of(Vm *vm, Value i, int64_t n, const char *what, int64_t *ret)
{
	if (i.tag != VAL_INT && i.tag != VAL_BOOL)
		return vm_fail(vm, "E-TYPE", "the index of a %s is an int, got %s", what, val_type_name(i));
	*ret = i.i < 0 ? i.i + n : i.i;
	if (*ret < 0 || *ret >= n)
		return vm_fail(vm, "E-INDEX", "index %lld is out of range: the %s has %lld items", (long long)i.i,
			       what, (long long)n);
	return true;
}

static bool fail_key(Vm *vm, Value k)
{
	Sbuf b = sbuf(vm);

	text_repr(&b, k, 1);
	bool ok = vm_fail(vm, "E-KEY", "no key %.*s", (int)(b.n < 80 ? b.n : 80), b.p ? b.p : "");

	sbuf_drop(&b);
	return ok;
}

static bool index_text(Vm *vm, ObjStr *s, int64_t at, Value *ret)
{
	Value it[3] = { val_of(s), val_int(at), val_int(0) };

	if (s->h.tag == VAL_STR && !str_ascii(s)) {
		vm_charge(vm, s->h.n / 32);
		it[1].i = (int64_t)str_offset(s, (size_t)at);
	}
	return next_char(vm, it, ret);
}

bool val_index(Vm *vm, Value v, Value i, Value *ret)
{
	DictEntry *e;
	int64_t at, n;
	Ip ip;

	switch ((ValTag)v.tag) {
	case VAL_LIST:
	case VAL_TUPLE:
		if (!index_of(vm, i, v.o->n, val_type_name(v), &at))
			return false;
		*ret = v.tag == VAL_LIST ? val_list(v)->p[at] : val_tuple(v)->p[at];
		return true;
	case VAL_STR:
	case VAL_BYTES:
		return index_of(vm, i, val_str(v)->n_cp, val_type_name(v), &at) &&
		       index_text(vm, val_str(v), at, ret);
	case VAL_DICT:
		if (!dict_find(vm, val_dict(v), i, &e))
			return false;
		if (!e)
			return fail_key(vm, i);
		*ret = e->v;
		return true;
	case VAL_RANGE:
		if (!index_of(vm, i, val_range(v)->count, "range", &at))
			return false;
		*ret = val_int(range_at(val_range(v), at));
		return true;
	case VAL_NET4:
	case VAL_NET6:
		if (!val_len(vm, v, &n) || !index_of(vm, i, n, "net", &at) || !ip_add(val_net(v).ip, at, &ip))
			return false;
		*ret = vm_ip(vm, ip);
		return true;
	case VAL_PACKET:
		if (i.tag != VAL_PROTO)
			return vm_fail_type(vm, "a layer, as in `p[TCP]`", i);
		return packet_layer(vm, val_packet(v), i.proto, ret);
	case VAL_RESULT:
		if (!val_result(v)->type->unpacks)
			break;
		if (!index_of(vm, i, val_result(v)->type->unpacks, "result", &at))
			return false;
		*ret = val_result(v)->p[at];
		return true;
	case VAL_NONE:
		return vm_fail(vm, "E-NONE", "None has no items");
	default:
		break;
	}
	return vm_fail(vm, "E-TYPE", "%s has no items", val_type_name(v));
}

bool val_put(Vm *vm, Value v, Value i, Value x)
{
	int64_t at;

	if (v.tag == VAL_DICT)
		return dict_put(vm, val_dict(v), i, x);
	if (v.tag != VAL_LIST)
		return vm_fail(vm, "E-TYPE", "items of a %s can't be set", val_type_name(v));
	if (!index_of(vm, i, v.o->n, "list", &at))
		return false;
	val_list(v)->p[at] = x;
	return true;
}

/* ---- slices ---- */

static bool slice_int(Vm *vm, Value v, int64_t dflt, int64_t *ret)
{
	if (val_left_out(v)) {
		*ret = dflt;
		return true;
	}
	if (v.tag != VAL_INT && v.tag != VAL_BOOL)
		return vm_fail(vm, "E-TYPE", "the bounds of a slice are ints, got %s", val_type_name(v));
	*ret = v.i;
	return true;
}

static int64_t clamp(int64_t v, int64_t n, int64_t lo, int64_t hi)
{
	if (v < 0)
		v += n;
	return v < lo ? lo : v > hi ? hi : v;
}

bool slice_bounds(Vm *vm, Value lo, Value hi, int64_t n, int64_t *ret_lo, int64_t *ret_hi)
{
	if (!slice_int(vm, lo, 0, ret_lo) || !slice_int(vm, hi, n, ret_hi))
		return false;
	/* Python's find and count: a start behind the end finds nothing, not even "". */
	*ret_lo = *ret_lo > n ? *ret_lo : clamp(*ret_lo, n, 0, n);
	*ret_hi = clamp(*ret_hi, n, 0, n);
	return true;
}

/* start, step and number of items, as CPython's PySlice_AdjustIndices. */
static bool slice_plan(Vm *vm, const Value s[3], int64_t n, int64_t *ret_lo, int64_t *ret_step, int64_t *ret_count)
{
	int64_t step = 1, lo = 0, hi = 0;

	if (!slice_int(vm, s[2], 1, &step))
		return false;
	if (step == 0)
		return vm_fail(vm, "E-VALUE", "a slice's step is not 0");
	if (step == INT64_MIN)
		step = -INT64_MAX;
	if (!slice_int(vm, s[0], step > 0 ? 0 : n - 1, &lo) || !slice_int(vm, s[1], step > 0 ? n : -1, &hi))
		return false;
	if (!val_left_out(s[0]))
		lo = step > 0 ? clamp(lo, n, 0, n) : clamp(lo, n, -1, n - 1);
	if (!val_left_out(s[1]))
		hi = step > 0 ? clamp(hi, n, 0, n) : clamp(hi, n, -1, n - 1);
	*ret_lo = lo;
	*ret_step = step;
	*ret_count = step > 0 ? (hi > lo ? (hi - lo - 1) / step + 1 : 0) : (lo > hi ? (lo - hi - 1) / -step + 1 : 0);
	return true;
}

static Value slice_text(Vm *vm, ObjStr *s, int64_t lo, int64_t step, int64_t n)
{
	Sbuf b = sbuf(vm);

	if (step == 1 || n <= 1) {
		size_t from = str_offset(s, (size_t)lo), to = n ? str_offset(s, (size_t)(lo + n)) : from;

		return str_sub(vm, s, from, to);
	}
	vm_charge(vm, (uint64_t)n * (str_ascii(s) ? 1 : 1 + s->h.n / 32));
	for (int64_t i = 0; i < n; i++) {
		size_t cp = (size_t)(lo + i * step), from = str_offset(s, cp), to = from + 1;

		while (!str_ascii(s) && to < s->h.n && ((uint8_t)s->p[to] & 0xc0) == 0x80)
			to++;
		sbuf_sub(&b, s, from, to);
	}
	return sbuf_done(&b, s->h.tag);
}

bool val_slice(Vm *vm, Value v, const Value s[3], Value *ret)
{
	int64_t n, lo = 0, step = 1, count = 0;

	if (!val_is_text(v) && v.tag != VAL_LIST && v.tag != VAL_TUPLE && v.tag != VAL_RANGE)
		return vm_fail(vm, v.tag == VAL_NONE ? "E-NONE" : "E-TYPE", "%s has no slices", val_type_name(v));
	if (!val_len(vm, v, &n) || !slice_plan(vm, s, n, &lo, &step, &count))
		return false;
	if (val_is_text(v)) {
		*ret = slice_text(vm, val_str(v), lo, step, count);
		return true;
	}
	if (v.tag == VAL_RANGE) {
		ObjRange *r = (ObjRange *)heap_obj(&vm->heap, VAL_RANGE, sizeof *r);

		r->start = range_at(val_range(v), lo);
		r->step = (int64_t)((uint64_t)val_range(v)->step * (uint64_t)step);
		r->count = count;
		*ret = val_of(r);
		return true;
	}
	const Value *p = v.tag == VAL_LIST ? val_list(v)->p : val_tuple(v)->p;
	Value out = v.tag == VAL_LIST ? val_of(vm_list(vm, (uint32_t)count)) : val_of(vm_tuple(vm, (uint32_t)count));
	Value *q = v.tag == VAL_LIST ? val_list(out)->p : val_tuple(out)->p;

	for (int64_t i = 0; i < count; i++)
		q[i] = p[lo + i * step];
	out.o->n = (uint32_t)count;
	vm_charge(vm, (uint64_t)count / 4);
	*ret = out;
	return true;
}

/* ---- attributes and methods ---- */

static BuiltinOwner record_owner(WireId id)
{
	return id == WIRE_DNSQR ? OWNER_DNSQR : id == WIRE_SNMPVARBIND ? OWNER_SNMPVARBIND : OWNER_DNSRR;
}

BuiltinOwner owner_of(Value v)
{
	static const uint8_t owners[VAL_N] = {
		[VAL_BOOL] = OWNER_INT,	  [VAL_INT] = OWNER_INT,     [VAL_FLOAT] = OWNER_FLOAT,
		[VAL_DURATION] = OWNER_DURATION, [VAL_TIME] = OWNER_TIME, [VAL_FLAGS] = OWNER_FLAGS,
		[VAL_IP4] = OWNER_IP,	  [VAL_IP6] = OWNER_IP,	     [VAL_NET4] = OWNER_NET,
		[VAL_NET6] = OWNER_NET,	  [VAL_MAC] = OWNER_MAC,     [VAL_STR] = OWNER_STR,
		[VAL_BYTES] = OWNER_BYTES, [VAL_LIST] = OWNER_LIST,  [VAL_TUPLE] = OWNER_TUPLE,
		[VAL_DICT] = OWNER_DICT,  [VAL_SET] = OWNER_SET,     [VAL_RANGE] = OWNER_LIST,
		[VAL_PACKET] = OWNER_PACKET, [VAL_OPTION] = OWNER_OPTION,
	};

	if (v.tag == VAL_NATIVE)
		return (BuiltinOwner)val_native(v)->owner;
	if (v.tag == VAL_RECORD && v.o->n)
		return record_owner(val_packet(v)->layer[0].proto->id);
	return v.tag < VAL_N ? (BuiltinOwner)owners[v.tag] : OWNER_NONE;
}

static bool fail_attr(Vm *vm, Value v, Str name)
{
	return vm_fail(vm, v.tag == VAL_NONE ? "E-NONE" : "E-NAME", "%s has no attribute %.*s", val_type_name(v),
		       STR_ARG(name));
}

static uint16_t row_of(const Vm *vm, const uint16_t *rows, BuiltinOwner o, uint32_t name)
{
	return rows[(uint32_t)o * vm->prog->nname + name];
}

static bool result_attr(Vm *vm, Value v, Str name, Value *ret)
{
	const ResultType *t = val_result(v)->type;

	for (uint32_t i = 0; i < t->n; i++) {
		if (str_eq(t->field[i].name, name)) {
			*ret = val_result(v)->p[i];
			return true;
		}
	}
	return vm_fail(vm, "E-NAME", "%.*s has no attribute %.*s", STR_ARG(t->name), STR_ARG(name));
}

static bool is_layer(Value v)
{
	return v.tag == VAL_PACKET && val_packet(v)->h.bits & OP_LAYER;
}

/* Rows by number + 1; 0: the owner has no such attribute. */
static bool attr_by_rows(Vm *vm, Value v, Str name, const uint16_t rows[OWNER_N], Value *ret)
{
	BuiltinOwner o = owner_of(v);

	if (v.tag == VAL_RESULT)
		return result_attr(vm, v, name, ret);
	/* What is absent may be of any kind: summarize([]).avg.ms */
	if (v.tag == VAL_FLOAT && val_absent(v) && rows[OWNER_DURATION]) {
		*ret = v;
		return true;
	}
	/* p[IP].payload, p[ARP].src: the layer's own names come first. */
	if (is_layer(v)) {
		if (wire_field(val_packet(v)->layer[0].proto, name) >= 0)
			return packet_attr(vm, val_packet(v), name, ret);
		if (rows[OWNER_LAYER])
			o = OWNER_LAYER;
	}
	if (o != OWNER_NONE && rows[o]) {
		AttrFn *f = vm_row_attr(vm, (BuiltinAttr)(rows[o] - 1));

		*ret = val_none();
		return f ? f(vm, v, ret) : fail_attr(vm, v, name);
	}
	if (v.tag == VAL_PACKET || v.tag == VAL_RECORD)
		return packet_attr(vm, val_packet(v), name, ret);
	return fail_attr(vm, v, name);
}

bool val_attr(Vm *vm, Value v, uint32_t name, Value *ret)
{
	uint16_t rows[OWNER_N] = { 0 };
	BuiltinOwner o = owner_of(v);

	rows[o] = row_of(vm, vm->attr_row, o, name);
	rows[OWNER_LAYER] = row_of(vm, vm->attr_row, OWNER_LAYER, name);
	if (val_absent(v))
		rows[OWNER_DURATION] = row_of(vm, vm->attr_row, OWNER_DURATION, name);
	return attr_by_rows(vm, v, vm->prog->name[name], rows, ret);
}

bool val_attr_named(Vm *vm, Value v, Str name, Value *ret)
{
	uint16_t rows[OWNER_N] = { 0 };

	for (unsigned i = 0; i < A_N; i++)
		if (str_is(name, builtin_attr_row((BuiltinAttr)i)->name))
			rows[builtin_attr_row((BuiltinAttr)i)->owner] = (uint16_t)(i + 1);
	return attr_by_rows(vm, v, name, rows, ret);
}

bool val_set_attr(Vm *vm, Value *v, WireId layer, Str name, Value x)
{
	if (v->tag == VAL_PACKET || v->tag == VAL_RECORD)
		return packet_with(vm, val_packet(*v), layer, name, x, v);
	if (v->tag == VAL_NATIVE && vm->host.set_attr)
		return vm->host.set_attr(vm, val_native(*v), name, x);
	return vm_fail(vm, "E-TYPE", "attributes of a %s can't be set", val_type_name(*v));
}

bool val_method(Vm *vm, const MethodSite *site, Value *args, Value *ret)
{
	Value self = args[0], bound[18];
	BuiltinOwner o = owner_of(self);
	uint16_t row = o == OWNER_NONE ? 0 : row_of(vm, vm->method_row, o, site->name);

	if (is_layer(self) && row_of(vm, vm->method_row, OWNER_LAYER, site->name))
		row = row_of(vm, vm->method_row, OWNER_LAYER, site->name);
	if (!row)
		return vm_fail(vm, self.tag == VAL_NONE ? "E-NONE" : "E-NAME", "%s has no method %.*s",
			       val_type_name(self), STR_ARG(vm->prog->name[site->name]));
	const Sig *s = &vm->method_sig[row - 1];
	BuiltinFn *f = vm_row_method(vm, (BuiltinMethod)(row - 1));

	bound[0] = self;
	if (self.tag == VAL_RANGE) {
		ObjList *l;

		if (!iter_list(vm, self, &l))
			return false;
		bound[0] = val_of(l);
	}
	if (!sig_bind(vm, s, builtin_method_row((BuiltinMethod)(row - 1))->name, site, args + 1, bound + 1))
		return false;
	*ret = val_none();
	if (!f)
		return vm_fail(vm, "E-NAME", "%.*s needs a network", STR_ARG(vm->prog->name[site->name]));
	return f(vm, bound, 1u + s->n, ret);
}
