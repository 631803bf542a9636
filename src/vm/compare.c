/* SPDX-License-Identifier: Apache-2.0
 *
 * Equality, hashing and order over all values.
 *
 * One rule decides the mixed cases: a str equals an address, a hardware address,
 * flags or a field's value if it names it (language.md 3).  Hashes agree with
 * that for addresses (hash of the canonical text), so that a set of str finds an
 * ip.  Absent durations, times and floats compare False with everything.
 */
#include "vm/inside.h"

#include "base/rng.h"

#include <math.h>

bool val_absent(Value v)
{
	if (v.tag == VAL_FLOAT)
		return isnan(v.f);
	return (v.tag == VAL_DURATION || v.tag == VAL_TIME) && v.i == NS_NONE;
}

bool val_truth(Value v)
{
	switch ((ValTag)v.tag) {
	case VAL_UNSET:
	case VAL_NONE:
		return false;
	case VAL_BOOL:
	case VAL_INT:
	case VAL_FLAGS:
		return v.i != 0;
	case VAL_DURATION:
		return v.i != 0 && v.i != NS_NONE;
	case VAL_TIME:
		return v.i != NS_NONE;
	case VAL_FLOAT:
		return v.f != 0 && !isnan(v.f);
	case VAL_STR:
	case VAL_BYTES:
	case VAL_LIST:
	case VAL_TUPLE:
	case VAL_DICT:
	case VAL_SET:
		return v.o->n != 0;
	case VAL_RANGE:
		return val_range(v)->count != 0;
	default:
		return true;
	}
}

static bool is_int(Value v)
{
	return v.tag == VAL_INT || v.tag == VAL_BOOL;
}

static bool is_num(Value v)
{
	return is_int(v) || v.tag == VAL_FLOAT;
}

static const WireField *field_of(Value v)
{
	if (!(v.vf & VF_FIELD) || v.proto >= WIRE_N)
		return NULL;
	return &wire_proto(v.proto)->fields[v.field];
}

/* ---- order ---- */

static Order order3(int c)
{
	return c < 0 ? ORDER_LT : c > 0 ? ORDER_GT : ORDER_EQ;
}

#define ORDER_OF(a, b) ((a) < (b) ? ORDER_LT : (a) > (b) ? ORDER_GT : ORDER_EQ)

/* Exact, also where the int has more bits than a float. */
static Order order_int_float(int64_t i, double f)
{
	if (isnan(f))
		return ORDER_NONE;
	if (f >= 0x1p63)
		return ORDER_LT;
	if (f < -0x1p63)
		return ORDER_GT;
	double whole = floor(f);

	if (i != (int64_t)whole)
		return ORDER_OF(i, (int64_t)whole);
	return f > whole ? ORDER_LT : ORDER_EQ;
}

static Order flip(Order o)
{
	return o == ORDER_LT ? ORDER_GT : o == ORDER_GT ? ORDER_LT : o;
}

static Order order_num(Value a, Value b)
{
	if (is_int(a) && is_int(b))
		return ORDER_OF(a.i, b.i);
	if (is_int(a))
		return order_int_float(a.i, b.f);
	if (is_int(b))
		return flip(order_int_float(b.i, a.f));
	if (isnan(a.f) || isnan(b.f))
		return ORDER_NONE;
	return ORDER_OF(a.f, b.f);
}

/* A number that meets a duration is seconds; the comparison is in seconds, so
 * that no number is too large for it. */
static Order order_duration(Value a, Value b)
{
	if (a.tag == VAL_DURATION && b.tag == VAL_DURATION)
		return val_absent(a) || val_absent(b) ? ORDER_NONE : ORDER_OF(a.i, b.i);
	if (a.tag != VAL_DURATION)
		return flip(order_duration(b, a));
	double s = is_int(b) ? (double)b.i : b.f;

	if (val_absent(a) || isnan(s))
		return ORDER_NONE;
	if (fabs(s) < 9e9)
		return ORDER_OF(a.i, (int64_t)llround(s * 1e9));
	return s > 0 ? ORDER_LT : ORDER_GT;
}

static int ip_net_cmp(Net a, Net b)
{
	int c = ip_cmp(a.ip, b.ip);

	return c ? c : (int)a.bits - (int)b.bits;
}

/* Both of one family of types; false: they have no order. */
static bool order_plain(Value a, Value b, Order *ret)
{
	Ip ip;
	Mac mac;

	if (is_num(a) && is_num(b))
		*ret = order_num(a, b);
	else if ((a.tag == VAL_DURATION && (is_num(b) || b.tag == VAL_DURATION)) ||
		 (b.tag == VAL_DURATION && is_num(a)))
		*ret = order_duration(a, b);
	else if (a.tag == VAL_TIME && b.tag == VAL_TIME)
		*ret = val_absent(a) || val_absent(b) ? ORDER_NONE : ORDER_OF(a.i, b.i);
	else if (val_is_text(a) && a.tag == b.tag)
		*ret = order3(bytes_cmp(bytes_of(val_str(a)), bytes_of(val_str(b))));
	else if (val_is_ip(a) && val_is_ip(b))
		*ret = order3(ip_cmp(val_ip(a), val_ip(b)));
	else if (val_is_ip(a) && b.tag == VAL_STR && ip_parse(str_of(val_str(b)), &ip))
		*ret = order3(ip_cmp(val_ip(a), ip));
	else if (val_is_ip(b) && a.tag == VAL_STR && ip_parse(str_of(val_str(a)), &ip))
		*ret = order3(ip_cmp(ip, val_ip(b)));
	else if (val_is_net(a) && val_is_net(b))
		*ret = order3(ip_net_cmp(val_net(a), val_net(b)));
	else if (a.tag == VAL_MAC && b.tag == VAL_MAC)
		*ret = ORDER_OF(a.i, b.i);
	else if (a.tag == VAL_MAC && b.tag == VAL_STR && mac_parse(str_of(val_str(b)), &mac))
		*ret = ORDER_OF(a.i, val_mac(mac).i);
	else if (b.tag == VAL_MAC && a.tag == VAL_STR && mac_parse(str_of(val_str(a)), &mac))
		*ret = ORDER_OF(val_mac(mac).i, b.i);
	else if ((a.tag == VAL_FLAGS || is_int(a)) && (b.tag == VAL_FLAGS || is_int(b)))
		*ret = ORDER_OF(a.i, b.i);
	else
		return false;
	return true;
}

/* ---- equality ---- */

/* A str and something that a str can name. */
static bool eq_named(Str s, Value v)
{
	const WireField *f = field_of(v);
	uint64_t n;
	Ip ip;
	Net net;
	Mac mac;

	if (val_is_ip(v))
		return ip_parse(s, &ip) && ip_eq(ip, val_ip(v));
	if (val_is_net(v))
		return net_parse(s, &net) && ip_net_cmp(net, val_net(v)) == 0;
	if (v.tag == VAL_MAC)
		return mac_parse(s, &mac) && val_mac(mac).i == v.i;
	if ((v.tag == VAL_FLAGS || v.tag == VAL_INT) && f)
		return wire_name_value(f, s, &n) && n == (uint64_t)v.i;
	return false;
}

static bool eq_depth(Value a, Value b, int depth);

static bool eq_items(const Value *a, const Value *b, uint32_t n, int depth)
{
	for (uint32_t i = 0; i < n; i++)
		if (!eq_depth(a[i], b[i], depth - 1))
			return false;
	return true;
}

static const DictEntry *dict_has(const ObjDict *d, Value k, uint64_t hash, int depth)
{
	if (!d->n_index)
		return NULL;
	for (uint32_t i = (uint32_t)hash & (d->n_index - 1); d->index[i]; i = (i + 1) & (d->n_index - 1)) {
		const DictEntry *e = &d->e[d->index[i] - 1];

		if (e->hash == hash && e->k.tag != VAL_UNSET && eq_depth(e->k, k, depth - 1))
			return e;
	}
	return NULL;
}

static bool eq_dicts(const ObjDict *a, const ObjDict *b, int depth)
{
	const DictEntry *e, *f;

	if (a->h.n != b->h.n)
		return false;
	for (uint32_t at = 0; (e = dict_next(a, &at));) {
		f = dict_has(b, e->k, e->hash, depth);
		if (!f || (a->h.tag == VAL_DICT && !eq_depth(e->v, f->v, depth - 1)))
			return false;
	}
	return true;
}

static bool eq_layers(const WireLayer *a, const WireLayer *b)
{
	if (a->proto != b->proto || memcmp(a->image, b->image, a->proto->fixed) != 0)
		return false;
	for (unsigned i = 0; i < a->proto->nvars; i++)
		if (!bytes_eq(a->var[i], b->var[i]))
			return false;
	return a->set == b->set;
}

static bool eq_packets(const ObjPacket *a, const ObjPacket *b)
{
	if (a == b)
		return true;
	if (a->frame.n && b->frame.n)
		return bytes_eq(a->frame, b->frame);
	if (a->h.n != b->h.n || !bytes_eq(a->payload, b->payload) || (a->h.bits | b->h.bits) & OP_LAZY)
		return false;
	for (uint32_t i = 0; i < a->h.n; i++)
		if (!eq_layers(&a->layer[i], &b->layer[i]))
			return false;
	return true;
}

static bool eq_same_tag(Value a, Value b, int depth)
{
	ObjRange *r, *q;
	ObjOption *o, *p;

	switch ((ValTag)a.tag) {
	case VAL_NONE:
	case VAL_UNSET:
		return true;
	case VAL_PROTO:
		return a.proto == b.proto;
	case VAL_LIST:
		return a.o->n == b.o->n && eq_items(val_list(a)->p, val_list(b)->p, a.o->n, depth);
	case VAL_TUPLE:
		return a.o->n == b.o->n && eq_items(val_tuple(a)->p, val_tuple(b)->p, a.o->n, depth);
	case VAL_RESULT:
		return val_result(a)->type == val_result(b)->type &&
		       eq_items(val_result(a)->p, val_result(b)->p, a.o->n, depth);
	case VAL_DICT:
	case VAL_SET:
		return eq_dicts(val_dict(a), val_dict(b), depth);
	case VAL_RANGE:
		r = val_range(a);
		q = val_range(b);
		return r->count == q->count &&
		       (!r->count || (r->start == q->start && (r->count == 1 || r->step == q->step)));
	case VAL_PACKET:
	case VAL_RECORD:
		return eq_packets(val_packet(a), val_packet(b));
	case VAL_OPTION:
		o = val_option(a);
		p = val_option(b);
		return o->kind == p->kind && bytes_eq(BYTES(o->data, o->h.n), BYTES(p->data, p->h.n));
	default:
		return val_is_obj(a) && a.o == b.o;
	}
}

/* A range and a list of the same numbers are equal: Python's range is a list here. */
static bool eq_range_list(const ObjRange *r, const ObjList *l, int depth)
{
	if (r->count != l->h.n)
		return false;
	for (uint32_t i = 0; i < l->h.n; i++)
		if (!eq_depth(l->p[i], val_int((int64_t)((uint64_t)r->start + i * (uint64_t)r->step)), depth - 1))
			return false;
	return true;
}

static bool eq_depth(Value a, Value b, int depth)
{
	Order o;

	if (depth <= 0)
		return false;
	if (order_plain(a, b, &o))
		return o == ORDER_EQ;
	if (a.tag == b.tag)
		return eq_same_tag(a, b, depth);
	if (a.tag == VAL_STR && b.tag != VAL_BYTES)
		return eq_named(str_of(val_str(a)), b);
	if (b.tag == VAL_STR && a.tag != VAL_BYTES)
		return eq_named(str_of(val_str(b)), a);
	if (val_is_text(a) && val_is_text(b))
		return bytes_eq(bytes_of(val_str(a)), bytes_of(val_str(b)));
	if (a.tag == VAL_RANGE && b.tag == VAL_LIST)
		return eq_range_list(val_range(a), val_list(b), depth);
	if (b.tag == VAL_RANGE && a.tag == VAL_LIST)
		return eq_range_list(val_range(b), val_list(a), depth);
	return false;
}

bool val_eq(Value a, Value b)
{
	return eq_depth(a, b, DATA_DEPTH);
}

/* ---- order of everything, comparisons ---- */

static bool sequence(Value v, const Value **ret_p, uint32_t *ret_n)
{
	if (v.tag == VAL_LIST)
		*ret_p = val_list(v)->p;
	else if (v.tag == VAL_TUPLE)
		*ret_p = val_tuple(v)->p;
	else
		return false;
	*ret_n = v.o->n;
	return true;
}

static bool order_depth(Vm *vm, Value a, Value b, Order *ret, int depth)
{
	const Value *p, *q;
	uint32_t n, m;

	if (order_plain(a, b, ret))
		return true;
	if (depth > 0 && a.tag == b.tag && sequence(a, &p, &n) && sequence(b, &q, &m)) {
		for (uint32_t i = 0; i < n && i < m; i++)
			if (!eq_depth(p[i], q[i], depth))
				return order_depth(vm, p[i], q[i], ret, depth - 1);
		*ret = ORDER_OF(n, m);
		return true;
	}
	return vm_fail(vm, "E-TYPE", "%s and %s have no order", val_type_name(a), val_type_name(b));
}

bool val_order(Vm *vm, Value a, Value b, Order *ret)
{
	return order_depth(vm, a, b, ret, DATA_DEPTH);
}

/* Sets: < and <= mean subset. */
static bool set_compare(OpCode op, const ObjDict *a, const ObjDict *b)
{
	if (op == I_GT || op == I_GE)
		return set_compare(op == I_GT ? I_LT : I_LE, b, a);
	DictEntry *e;

	if (a->h.n > b->h.n || (op == I_LT && a->h.n == b->h.n))
		return false;
	for (uint32_t at = 0; (e = dict_next(a, &at));)
		if (!dict_has(b, e->k, e->hash, DATA_DEPTH))
			return false;
	return true;
}

bool val_compare(Vm *vm, OpCode op, Value a, Value b, bool *ret)
{
	Order o;

	if (val_is_obj(a) || val_is_obj(b))
		vm->charge += 1 + (val_is_obj(a) ? a.o->n : b.o->n) / 16;
	if (op == I_EQ) {
		*ret = val_eq(a, b);
		return true;
	}
	if (op == I_NE) {
		*ret = !val_absent(a) && !val_absent(b) && !val_eq(a, b);
		return true;
	}
	if (a.tag == VAL_SET && b.tag == VAL_SET) {
		*ret = set_compare(op, val_dict(a), val_dict(b));
		return true;
	}
	if (val_absent(a) || val_absent(b))
		o = ORDER_NONE;
	else if (!val_order(vm, a, b, &o))
		return false;
	*ret = (o == ORDER_LT && op <= I_LE) || (o == ORDER_GT && op >= I_GT) ||
	       (o == ORDER_EQ && (op == I_LE || op == I_GE));
	return true;
}

/* ---- hashing ---- */

static uint64_t hash_text(Str s)
{
	return bytes_hash(str_bytes(s));
}

static uint64_t hash_address(Value v)
{
	char out[NET_TEXT];
	size_t n = val_is_ip(v)	 ? ip_format(val_ip(v), out)
		   : v.tag == VAL_MAC ? mac_format(val_to_mac(v), out)
				      : net_format(val_net(v), out);

	return hash_text((Str){ out, n });
}

/* By layers, as a packet with a frame and one without may be equal. */
static uint64_t hash_packet(Vm *vm, ObjPacket *p)
{
	uint64_t h;

	packet_parse(vm, p);
	h = bytes_hash(p->payload);
	for (uint32_t i = 0; i < p->h.n; i++) {
		const WireLayer *l = &p->layer[i];

		h = rng_mix(h ^ bytes_hash(BYTES(l->image, l->proto->fixed)) ^ l->proto->id);
		for (unsigned k = 0; k < l->proto->nvars; k++)
			h = rng_mix(h ^ bytes_hash(l->var[k]));
	}
	return h;
}

static bool hash_depth(Vm *vm, Value v, uint64_t *ret, int depth)
{
	uint64_t h, all = 0x345678;
	ObjStr *s;

	switch ((ValTag)v.tag) {
	case VAL_FLOAT:
		if (v.f == floor(v.f) && fabs(v.f) < 0x1p62)
			*ret = rng_mix((uint64_t)(int64_t)v.f);
		else
			memcpy(ret, &v.f, sizeof *ret);
		return true;
	case VAL_STR:
	case VAL_BYTES:
		s = val_str(v);
		if (!s->hash) {
			s->hash = hash_text(str_of(s));
			vm->charge += s->h.n / 16;
		}
		*ret = s->hash;
		return true;
	case VAL_IP4:
	case VAL_IP6:
	case VAL_NET4:
	case VAL_NET6:
	case VAL_MAC:
		*ret = hash_address(v);
		return true;
	case VAL_TUPLE:
	case VAL_RESULT:
		for (uint32_t i = 0; i < v.o->n; i++) {
			if (depth <= 0)
				break;
			const Value *p = v.tag == VAL_TUPLE ? val_tuple(v)->p : val_result(v)->p;

			if (!hash_depth(vm, p[i], &h, depth - 1))
				return false;
			all = rng_mix(all ^ h);
		}
		*ret = all;
		return true;
	case VAL_PACKET:
	case VAL_RECORD:
		*ret = hash_packet(vm, val_packet(v));
		return true;
	case VAL_OPTION:
		*ret = bytes_hash(BYTES(val_option(v)->data, v.o->n)) ^ val_option(v)->kind;
		return true;
	case VAL_LIST:
	case VAL_DICT:
	case VAL_SET:
	case VAL_RANGE:
		return vm_fail(vm, "E-TYPE", "a %s can change, so it is no key: use a tuple", val_type_name(v));
	case VAL_FN:
	case VAL_NATIVE:
		*ret = rng_mix(v.o->tag);
		return true;
	case VAL_PROTO:
		*ret = rng_mix(v.proto);
		return true;
	default:
		*ret = rng_mix((uint64_t)v.i);
		return true;
	}
}

bool val_hash(Vm *vm, Value v, uint64_t *ret)
{
	return hash_depth(vm, v, ret, DATA_DEPTH);
}

/* ---- membership ---- */

static bool in_items(Vm *vm, Value item, const Value *p, uint32_t n)
{
	vm_charge(vm, n / 2);
	for (uint32_t i = 0; i < n; i++)
		if (val_eq(p[i], item))
			return true;
	return false;
}

static bool in_text(Vm *vm, Value item, Value in, bool *ret)
{
	Bytes hay = bytes_of(val_str(in)), needle;
	uint8_t one;

	if (in.tag == VAL_BYTES && is_int(item)) {
		if (item.i < 0 || item.i > 255)
			return vm_fail(vm, "E-VALUE", "a byte is 0..255");
		one = (uint8_t)item.i;
		needle = BYTES(&one, 1);
	} else if (item.tag == VAL_STR || item.tag == in.tag) {
		needle = bytes_of(val_str(item));
	} else {
		return vm_fail_type(vm, in.tag == VAL_STR ? "str" : "bytes", item);
	}
	vm_charge(vm, hay.n / 16);
	*ret = needle.n == 0 || memmem(hay.p, hay.n, needle.p, needle.n) != NULL;
	return true;
}

/* "R" in flags; several names: all of them. */
static bool in_flags(Vm *vm, Value item, Value in, bool *ret)
{
	const WireField *f = field_of(in);
	uint64_t bits;

	if (item.tag == VAL_INT || item.tag == VAL_FLAGS)
		bits = (uint64_t)item.i;
	else if (item.tag != VAL_STR)
		return vm_fail_type(vm, "the name of a flag", item);
	else if (!f || !wire_name_value(f, str_of(val_str(item)), &bits))
		return vm_fail(vm, "E-VALUE", "\"%.60s\" names no flag", val_str(item)->p);
	*ret = ((uint64_t)in.i & bits) == bits;
	return true;
}

static bool in_net(Vm *vm, Value item, Net in, bool *ret)
{
	Net n;

	if (val_is_net(item)) {
		n = val_net(item);
		*ret = n.bits >= in.bits && net_has(in, n.ip);
		return true;
	}
	if (!vm_to_ip(vm, item, &n.ip))
		return false;
	*ret = net_has(in, n.ip);
	return true;
}

static bool in_range(Value item, const ObjRange *r)
{
	if (item.tag == VAL_FLOAT && item.f == floor(item.f) && fabs(item.f) < 0x1p62)
		item = val_int((int64_t)item.f);
	if (!is_int(item) || !r->count)
		return false;
	__int128 d = (__int128)item.i - r->start;

	return d % r->step == 0 && d / r->step >= 0 && d / r->step < r->count;
}

bool val_in(Vm *vm, Value item, Value in, bool *ret)
{
	DictEntry *e;

	switch ((ValTag)in.tag) {
	case VAL_LIST:
		*ret = in_items(vm, item, val_list(in)->p, in.o->n);
		return true;
	case VAL_TUPLE:
		*ret = in_items(vm, item, val_tuple(in)->p, in.o->n);
		return true;
	case VAL_DICT:
	case VAL_SET:
		if (!dict_find(vm, val_dict(in), item, &e))
			return false;
		*ret = e != NULL;
		return true;
	case VAL_STR:
	case VAL_BYTES:
		return in_text(vm, item, in, ret);
	case VAL_RANGE:
		*ret = in_range(item, val_range(in));
		return true;
	case VAL_FLAGS:
		return in_flags(vm, item, in, ret);
	case VAL_NET4:
	case VAL_NET6:
		return in_net(vm, item, val_net(in), ret);
	case VAL_PACKET:
		if (item.tag != VAL_PROTO)
			return vm_fail_type(vm, "a layer, as in `TCP in p`", item);
		*ret = packet_has(vm, val_packet(in), item.proto);
		return true;
	default:
		return vm_fail(vm, "E-TYPE", "`in` needs a container, got %s", val_type_name(in));
	}
}
