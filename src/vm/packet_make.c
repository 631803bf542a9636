/* SPDX-License-Identifier: Apache-2.0
 *
 * Building packets: constructors, expansion of several values into lists, `/`,
 * changed copies.
 *
 * Order of expansion is Scapy's: of several expanded fields of one layer the one
 * that comes first in the header varies fastest, however the call was written; of
 * two layers the inner one does.
 */
#include "vm/packet_in.h"
#include "vm/py.h"

#include "wire/fields.h"

enum { EXPANDED_MAX = 8 };

/* ---- options ---- */

static ObjOption *option_new(Vm *vm, const WireProto *proto, const WireOption *row, uint16_t kind, Bytes data)
{
	ObjOption *o = (ObjOption *)heap_obj(&vm->heap, VAL_OPTION, sizeof *o + data.n);

	o->proto = proto;
	o->row = row;
	o->kind = kind;
	o->h.n = (uint32_t)data.n;
	if (data.n)
		memcpy(o->data, data.p, data.n);
	return o;
}

/* A number of an option: an int, a name, an address. */
static bool option_arg(Vm *vm, const WireOption *row, Value v, int64_t *ret)
{
	uint64_t named;
	Ip ip;

	if (v.tag == VAL_STR && row->names) {
		if (!wire_name_value(&(WireField){ .names = row->names, .kind = FK_ENUM }, str_of(val_str(v)), &named))
			return vm_fail(vm, "E-VALUE", "\"%.*s\" is no value of %s", (int)(v.o->n < 40 ? v.o->n : 40),
				       val_str(v)->p, row->name);
		*ret = (int64_t)named;
		return true;
	}
	if (row->ip && v.tag != VAL_INT) {
		if (!vm_to_ip(vm, v, &ip))
			return false;
		if (ip.v != 4)
			return vm_fail(vm, "E-VALUE", "%s takes IPv4 addresses", row->name);
		*ret = ip4_num(ip);
		return true;
	}
	return vm_to_int(vm, v, ret);
}

bool packet_option_make(Vm *vm, const WireProto *proto, const WireOption *row, const Value *args, uint32_t n, Value *ret)
{
	uint8_t out[UINT8_MAX + 1];
	size_t width = wire_option_width(proto, row, 0);
	Bytes data = { 0 };

	if (n == 1 && val_is_text(args[0]) && !(args[0].tag == VAL_STR && (row->ip || row->names))) {
		*ret = val_of(option_new(vm, proto, row, row->kind, bytes_of(val_str(args[0]))));
		return true;
	}
	if ((row->len && n > row->args) || n * width > sizeof out)
		return vm_fail(vm, "E-VALUE", "%s() takes %u numbers", row->name, row->args);
	if (row->len)
		data.n = row->args * width;
	memset(out, 0, sizeof out);
	for (uint32_t i = 0; i < n; i++) {
		int64_t v;

		if (!option_arg(vm, row, args[i], &v))
			return false;
		if (width < 8 && (v < -(INT64_C(1) << (8 * width - 1)) || v >= INT64_C(1) << (8 * width)))
			return vm_fail(vm, "E-VALUE", "%s: %lld does not fit %zu bytes", row->name, (long long)v, width);
		bits_put(out, i * width * 8, (unsigned)width * 8, (uint64_t)v);
	}
	data.p = out;
	data.n = data.n > n * width ? data.n : n * width;
	*ret = val_of(option_new(vm, proto, row, row->kind, data));
	return true;
}

bool packet_option_number(Vm *vm, const Value two[2], Value *ret)
{
	Bytes data;
	int64_t kind;

	if (!vm_to_size(vm, two[0], 0, UINT16_MAX, "the kind", &kind) || !vm_to_bytes(vm, two[1], &data))
		return false;
	if (data.n > 65535)
		return vm_fail(vm, "E-VALUE", "an option's data are at most 65535 bytes");
	*ret = val_of(option_new(vm, NULL, NULL, (uint16_t)kind, data));
	return true;
}

BUILTIN(option)
{
	FIXED;
	return packet_option_number(vm, args, ret);
}

/* ---- constructors ---- */

/* One field with several values. */
typedef struct Expansion {
	unsigned field;
	ObjList *values;
} Expansion;

typedef struct Maker {
	Vm *vm;
	const WireProto *proto;
	WirePacket *w; /* one layer */
	Expansion x[EXPANDED_MAX];
	unsigned n_x;
	uint64_t total;
} Maker;

static bool is_scalar(const WireField *f)
{
	return f->width != 0 && f->kind != FK_BYTES && f->kind != FK_STAMP;
}

/* (lo, hi), both included. */
static bool pair_values(Vm *vm, const WireField *f, Value pair, ObjList **ret)
{
	Value lo = val_tuple(pair)->p[0], hi = val_tuple(pair)->p[1], all;
	Ip a, b, at;

	if (f->kind != FK_IP4 && f->kind != FK_IP6) {
		int64_t from, to;

		if (!vm_to_int(vm, lo, &from) || !vm_to_int(vm, hi, &to))
			return false;
		if (to == INT64_MAX || !range_make(vm, from, to + 1, 1, &all))
			return vm_fail(vm, "E-VALUE", "a range that is too large");
		if (val_range(all)->count > LIMIT_PACKET_LIST)
			return vm_fail(vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
		return iter_list(vm, all, ret);
	}
	if (!vm_to_ip(vm, lo, &a) || !vm_to_ip(vm, hi, &b))
		return false;
	*ret = vm_list(vm, 0);
	for (at = a; ip_cmp(at, b) <= 0; ) {
		if ((*ret)->h.n == LIMIT_PACKET_LIST)
			return vm_fail(vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
		vm_push(vm, *ret, vm_ip(vm, at));
		if (!ip_add(at, 1, &at))
			break;
	}
	return true;
}

/* The values that a scalar field takes one after the other; NULL: it is one. */
static bool expansion_of(Vm *vm, const WireField *f, Value v, ObjList **ret)
{
	Net net;
	int64_t n;

	*ret = NULL;
	if (!is_scalar(f))
		return true;
	if (v.tag == VAL_TUPLE && v.o->n == 2)
		return pair_values(vm, f, v, ret);
	/* dst="10.0.0.0/30": a network in text, as Scapy takes it. */
	if (v.tag == VAL_STR && (f->kind == FK_IP4 || f->kind == FK_IP6) && memchr(val_str(v)->p, '/', v.o->n)) {
		if (!vm_to_net(vm, v, &net))
			return false;
		v = vm_net(vm, net);
	}
	if (v.tag != VAL_LIST && v.tag != VAL_RANGE && !val_is_net(v))
		return true;
	if (!val_len(vm, v, &n))
		return false;
	if (n > LIMIT_PACKET_LIST)
		return vm_fail(vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
	return iter_list(vm, v, ret);
}

static bool add_field(Maker *m, unsigned field, Value v)
{
	ObjList *values;

	if (!expansion_of(m->vm, &m->proto->fields[field], v, &values))
		return false;
	if (!values)
		return packet_set_field(m->vm, &m->w->layer[0], field, v);
	if (m->n_x == EXPANDED_MAX)
		return vm_fail(m->vm, "E-LIMIT", "more than %d fields with several values", EXPANDED_MAX);
	unsigned at = m->n_x++;

	for (; at && m->x[at - 1].field > field; at--)
		m->x[at] = m->x[at - 1];
	m->x[at] = (Expansion){ field, values };
	m->total *= values->h.n;
	if (m->total > LIMIT_PACKET_LIST)
		return vm_fail(m->vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
	return true;
}

/* Number i of the product: the header's first expanded field is its lowest digit. */
static bool make_one(Maker *m, uint64_t i, Value *ret)
{
	for (unsigned k = 0; k < m->n_x; k++) {
		const ObjList *l = m->x[k].values;

		if (!packet_set_field(m->vm, &m->w->layer[0], m->x[k].field, l->p[i % l->h.n]))
			return false;
		i /= l->h.n;
	}
	*ret = val_of(packet_from_wire(m->vm, m->w, 0));
	return true;
}

static bool make_all(Maker *m, Value *ret)
{
	ObjList *out = vm_list(m->vm, (uint32_t)m->total);
	Value p;

	for (uint64_t i = 0; i < m->total; i++) {
		if (!make_one(m, i, &p))
			return false;
		vm_push(m->vm, out, p);
	}
	*ret = val_of(out);
	return true;
}

/* An empty packet to put layers into: one for all, since building does not nest,
 * and clearing 2 KB a packet was a third of the time. */
static WirePacket *blank(Vm *vm)
{
	WirePacket *w = vm->build;

	w->n = 0;
	w->payload = w->padding = w->frame = (Bytes){ 0 };
	w->reason = NULL;
	return w;
}

static Maker maker(Vm *vm, const WireProto *proto)
{
	Maker m = { .vm = vm, .proto = proto, .w = blank(vm), .total = 1 };

	m.w->n = 1;
	wire_layer_init(&m.w->layer[0], proto, &vm->scratch);
	return m;
}

static bool is_rdata(const WireProto *proto, unsigned field)
{
	return proto->id == WIRE_DNSRR && field == F_DNSRR_RDATA;
}

bool packet_make(Vm *vm, const WireProto *proto, const uint8_t *fields, const Value *args, uint32_t n, Value *ret)
{
	Maker m = maker(vm, proto);

	/* Record data are read by the record's type: it comes first. */
	for (int last = 0; last < 2; last++)
		for (uint32_t i = 0; i < n; i++)
			if (is_rdata(proto, fields[i]) == last && !val_left_out(args[i]) &&
			    !add_field(&m, fields[i], args[i]))
				return false;
	return m.n_x ? make_all(&m, ret) : make_one(&m, 0, ret);
}

/* ---- L3, Echo ---- */

/* Names that both families know, by IPv6's word. */
static Str name_for(const WireProto *proto, Str name)
{
	static const char *const pairs[][2] = { { "ttl", "hlim" }, { "tos", "tc" } };

	for (size_t i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			if (str_is(name, pairs[i][k]))
				return str_c(pairs[i][proto->id == WIRE_IPV6]);
	return name;
}

static bool l3_one(Vm *vm, Value dst, const ObjDict *more, Value *ret)
{
	Ip ip;
	DictEntry *e;

	if (!vm_to_ip(vm, dst, &ip))
		return false;
	Maker m = maker(vm, wire_proto(ip.v == 4 ? WIRE_IP : WIRE_IPV6));

	if (!add_field(&m, ip.v == 4 ? (unsigned)F_IP_DST : (unsigned)F_IPV6_DST, dst))
		return false;
	for (uint32_t at = 0; more && (e = dict_next(more, &at));) {
		if (e->k.tag != VAL_STR)
			return vm_fail_type(vm, "names of fields", e->k);
		Str name = name_for(m.proto, str_of(val_str(e->k)));
		int field = wire_field(m.proto, name);

		if (field < 0)
			return vm_fail(vm, "E-NAME", "%s has no field %.*s", m.proto->name, STR_ARG(name));
		if (!val_left_out(e->v) && !add_field(&m, (unsigned)field, e->v))
			return false;
	}
	return m.n_x ? make_all(&m, ret) : make_one(&m, 0, ret);
}

BUILTIN(l3)
{
	const ObjDict *more = args[1].tag == VAL_DICT ? val_dict(args[1]) : NULL;
	bool several = args[0].tag == VAL_LIST || args[0].tag == VAL_RANGE || val_is_net(args[0]);
	ObjList *dsts, *out;
	Value one;

	FIXED;
	if (!several)
		return l3_one(vm, args[0], more, ret);
	int64_t count;

	if (!val_len(vm, args[0], &count) || count > LIMIT_PACKET_LIST)
		return vm_fail(vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
	if (!iter_list(vm, args[0], &dsts))
		return false;
	out = vm_list(vm, dsts->h.n);
	for (uint32_t i = 0; i < dsts->h.n; i++) {
		size_t mark = arena_mark(&vm->scratch);

		if (!l3_one(vm, dsts->p[i], more, &one))
			return false;
		arena_reset(&vm->scratch, mark);
		if (one.tag == VAL_LIST)
			return vm_fail(vm, "E-VALUE", "L3 of several addresses takes one value a field");
		vm_push(vm, out, one);
	}
	*ret = val_of(out);
	return true;
}

static void set_echo(WireLayer *l, bool v6, Value id, Value seq, Vm *vm)
{
	wire_set_num(l, v6 ? (unsigned)F_ICMPV6_TYPE : (unsigned)F_ICMP_TYPE, v6 ? 128 : 8);
	if (!val_left_out(id))
		packet_set_field(vm, l, v6 ? (unsigned)F_ICMPV6_ID : (unsigned)F_ICMP_ID, id);
	if (!val_left_out(seq))
		packet_set_field(vm, l, v6 ? (unsigned)F_ICMPV6_SEQ : (unsigned)F_ICMP_SEQ, seq);
}

BUILTIN(echo)
{
	Maker m = maker(vm, wire_proto(WIRE_ICMP));

	FIXED;
	set_echo(&m.w->layer[0], false, args[0], args[1], vm);
	if (vm->err.set)
		return false;
	*ret = val_of(packet_from_wire(vm, m.w, OP_ECHO));
	return true;
}

/* ---- stacking ---- */

static Value none_or_int(const WireLayer *l, unsigned field)
{
	return wire_is_set(l, field) ? val_int((int64_t)wire_num(l, field)) : val_none();
}

/* Echo() behind IPv6. */
static void echo_for(Vm *vm, const WirePacket *outer, WireLayer *l)
{
	bool v6 = false;

	for (unsigned i = 0; i < outer->n; i++)
		if (outer->layer[i].proto->role == ROLE_NETWORK)
			v6 = outer->layer[i].proto->id == WIRE_IPV6;
	if (!v6)
		return;
	Value id = none_or_int(l, F_ICMP_ID), seq = none_or_int(l, F_ICMP_SEQ);

	wire_layer_init(l, wire_proto(WIRE_ICMPV6), &vm->scratch);
	set_echo(l, true, id, seq, vm);
}

/* What was received or sent has all fields set; in a new packet its lengths and
 * checksums are derived anew. */
static void take_layers(Vm *vm, ObjPacket *p, WirePacket *w)
{
	packet_parse(vm, p);
	for (uint32_t i = 0; i < p->h.n; i++) {
		WireLayer *l = &w->layer[w->n++];

		*l = p->layer[i];
		if (p->h.bits & (OP_RECEIVED | OP_SENT)) {
			wire_layer_copy(l, &p->layer[i], &vm->scratch);
			wire_rederive(l);
		}
		if (p->h.bits & OP_ECHO)
			echo_for(vm, w, l);
	}
}

static Bytes append(Vm *vm, Bytes a, Bytes b)
{
	if (!a.n || !b.n)
		return a.n ? a : b;
	uint8_t *p = arena_alloc(&vm->scratch, a.n + b.n);

	memcpy(p, a.p, a.n);
	memcpy(p + a.n, b.p, b.n);
	return BYTES(p, a.n + b.n);
}

/* One packet or one payload behind w. */
static bool stack_on(Vm *vm, WirePacket *w, Value v)
{
	if (v.tag == VAL_PROTO) {
		if (w->n == LIMIT_LAYERS)
			return vm_fail(vm, "E-LIMIT", "more than %d layers", LIMIT_LAYERS);
		wire_layer_init(&w->layer[w->n++], wire_proto((WireId)v.proto), &vm->scratch);
		return true;
	}
	if (val_is_text(v)) {
		w->payload = append(vm, w->payload, bytes_of(val_str(v)));
		return true;
	}
	if (v.tag != VAL_PACKET)
		return vm_fail_type(vm, "a layer, a packet or bytes", v);
	ObjPacket *p = val_packet(v);

	packet_parse(vm, p);
	if (w->payload.n && p->h.n)
		return vm_fail(vm, "E-FRAME", "no layer can stand behind a payload");
	if (w->n + p->h.n > LIMIT_LAYERS)
		return vm_fail(vm, "E-LIMIT", "more than %d layers", LIMIT_LAYERS);
	take_layers(vm, p, w);
	w->payload = append(vm, w->payload, p->payload);
	return true;
}

static bool stack_two(Vm *vm, Value a, Value b, Value *ret)
{
	size_t mark = arena_mark(&vm->scratch);
	WirePacket *w = blank(vm);

	if (a.tag != VAL_PACKET && a.tag != VAL_PROTO)
		return vm_fail_type(vm, "a layer or a packet in front of `/`", a);
	if (!stack_on(vm, w, a) || !stack_on(vm, w, b))
		return false;
	uint8_t of_conn = a.tag == VAL_PACKET ? val_packet(a)->h.bits & OP_CONN : 0;

	*ret = val_of(packet_from_wire(vm, w, of_conn));
	arena_reset(&vm->scratch, mark);
	return true;
}

static const Value *several(const Value *v, uint32_t *ret_n)
{
	*ret_n = v->tag == VAL_LIST ? v->o->n : 1;
	return v->tag == VAL_LIST ? val_list(*v)->p : v;
}

bool packet_stack(Vm *vm, Value a, Value b, Value *ret)
{
	uint32_t n, m;
	const Value *p = several(&a, &n), *q = several(&b, &m);
	Value one;

	if (a.tag != VAL_LIST && b.tag != VAL_LIST)
		return stack_two(vm, a, b, ret);
	if ((uint64_t)n * m > LIMIT_PACKET_LIST)
		return vm_fail(vm, "E-LIMIT", "more than %d packets", LIMIT_PACKET_LIST);
	ObjList *out = vm_list(vm, n * m);

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < m; k++) {
			if (!stack_two(vm, p[i], q[k], &one))
				return false;
			vm_push(vm, out, one);
		}
	}
	*ret = val_of(out);
	return true;
}

/* ---- changed copies ---- */

static int field_of(const WirePacket *w, WireId layer, Str name, unsigned *ret_layer)
{
	for (unsigned i = 0; i < w->n; i++) {
		const WireProto *proto = w->layer[i].proto;
		int f = layer == WIRE_NONE || proto->id == layer ? wire_field(proto, name) : -1;

		/* p.ttl is the hop limit of IPv6, p.src and p.dst ARP's addresses. */
		if (f < 0 && layer == WIRE_NONE && proto->id == WIRE_IPV6 && str_is(name, "ttl"))
			f = F_IPV6_HLIM;
		if (f < 0 && layer == WIRE_NONE && proto->id == WIRE_ARP && str_is(name, "src"))
			f = F_ARP_PSRC;
		if (f < 0 && layer == WIRE_NONE && proto->id == WIRE_ARP && str_is(name, "dst"))
			f = F_ARP_PDST;
		/* ... and never those of the link. */
		if (layer == WIRE_NONE && proto->role == ROLE_LINK && i + 1 < w->n)
			continue;
		if (f >= 0) {
			*ret_layer = i;
			return f;
		}
	}
	return -1;
}

static bool set_payload(Vm *vm, WirePacket *w, Value v)
{
	return vm_to_bytes(vm, v, &w->payload);
}

bool packet_with(Vm *vm, ObjPacket *p, WireId layer, Str name, Value v, Value *ret)
{
	size_t mark = arena_mark(&vm->scratch);
	WirePacket *w = packet_scratch_view(vm, p);
	bool payload = layer == WIRE_NONE && str_is(name, "payload");
	unsigned at = 0;
	int field = payload ? -1 : field_of(w, layer, name, &at);

	if (field < 0 && !payload)
		return vm_fail(vm, layer == WIRE_NONE ? "E-NAME" : "E-LAYER", "the packet has no field %.*s%s%s",
			       STR_ARG(name), layer == WIRE_NONE ? "" : " in ",
			       layer == WIRE_NONE ? "" : wire_proto(layer)->name);
	for (unsigned i = 0; i < w->n; i++) {
		wire_layer_copy(&w->layer[i], &w->layer[i], &vm->scratch);
		if (p->h.bits & (OP_RECEIVED | OP_SENT))
			wire_rederive(&w->layer[i]);
	}
	if (payload ? !set_payload(vm, w, v) : !packet_set_field(vm, &w->layer[at], (unsigned)field, v))
		return false;
	w->frame = w->padding = (Bytes){ 0 };
	w->reason = NULL;
	ObjPacket *out = packet_from_wire(vm, w, p->h.bits & (OP_ECHO | OP_CONN));

	out->iface = p->iface;
	*ret = val_of(out);
	arena_reset(&vm->scratch, mark);
	return true;
}
