/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields as values and values as fields: one rule a FieldKind, both ways.
 */
#include "vm/packet_in.h"

#include "wire/ber.h"
#include "wire/dns.h"
#include "wire/fields.h"

/* ---- reading ---- */

static Value option_value(Vm *vm, const WireProto *proto, WireOpt o, bool received)
{
	ObjOption *v = (ObjOption *)heap_obj(&vm->heap, VAL_OPTION, sizeof *v + o.data.n);

	v->proto = proto;
	v->row = wire_option_by_kind(proto, o.kind);
	v->kind = o.kind;
	v->h.n = (uint32_t)o.data.n;
	v->h.bits = received ? OP_RECEIVED : 0;
	if (o.data.n)
		memcpy(v->data, o.data.p, o.data.n);
	return val_of(v);
}

/* Up to the end of options or a broken one: what is behind is no option. */
static Value options_value(Vm *vm, const WireLayer *l, Bytes b, bool received)
{
	ObjList *out = vm_list(vm, 4);
	Cursor c = cursor(b);
	WireOpt o;
	bool bad = false;

	while (wire_option_next(l->proto, &c, &o, &bad)) {
		if (o.kind == 0 && l->proto->opt_form == OPT_TLV)
			break;
		vm_push(vm, out, option_value(vm, l->proto, o, received));
	}
	return val_of(out);
}

static Value records_value(Vm *vm, Bytes b, WireId kind, bool received)
{
	ObjList *out = vm_list(vm, 1);
	size_t mark = arena_mark(&vm->scratch);
	WirePacket *w = arena_new(&vm->scratch, WirePacket);
	Cursor c = cursor(b);

	w->n = 1;
	while (wire_record_next(kind, &c, &w->layer[0]))
		vm_push(vm, out, val_of(packet_from_wire(vm, w, received ? OP_RECEIVED : 0)));
	arena_reset(&vm->scratch, mark);
	return val_of(out);
}

Value packet_name_value(Vm *vm, Bytes name, bool received)
{
	size_t mark = arena_mark(&vm->scratch);
	Sb out = sb(&vm->scratch);

	dns_name_text(name, &out);
	Str s = sb_done(&out);

	if (s.n > 1 && s.p[s.n - 1] == '.')
		s.n--;
	Value v = received ? vm_str_peer(vm, s) : vm_str(vm, s);

	arena_reset(&vm->scratch, mark);
	return v;
}

static Value field_text(Vm *vm, const WireLayer *l, unsigned field, bool received)
{
	size_t mark = arena_mark(&vm->scratch);
	Sb out = sb(&vm->scratch);

	wire_field_text(l, field, &out);
	Value v = received ? vm_str_peer(vm, sb_done(&out)) : vm_str(vm, sb_done(&out));

	arena_reset(&vm->scratch, mark);
	return v;
}

static Value variable_value(Vm *vm, const WireLayer *l, unsigned field, bool received)
{
	const WireField *f = &l->proto->fields[field];
	Bytes b = wire_bytes(l, field);

	switch (f->kind) {
	case FK_NAME:
		return packet_name_value(vm, b, received);
	case FK_OPTIONS:
		return options_value(vm, l, b, received);
	case FK_RECORDS:
		return records_value(vm, b, (WireId)f->record, received);
	case FK_OID:
	case FK_BER:
		return field_text(vm, l, field, received);
	default:
		return received ? vm_bytes_peer(vm, b) : vm_bytes(vm, b);
	}
}

Value packet_field(Vm *vm, const WireLayer *l, unsigned field, bool received)
{
	const WireField *f = &l->proto->fields[field];
	Value v = { 0 };

	if (!wire_is_set(l, field) && (received || !wire_has(l, field)))
		return val_none();
	switch (f->kind) {
	case FK_IP4:
		return vm_ip(vm, ip4((uint32_t)wire_num(l, field)));
	case FK_IP6:
		return vm_ip(vm, ip_from(6, wire_bytes(l, field).p));
	case FK_MAC:
		return (Value){ .w = VAL_W(VAL_MAC), .i = (int64_t)wire_num(l, field) };
	case FK_STAMP:
		v = val_time(wire_stamp_ns(wire_num(l, field)));
		break;
	case FK_UINT:
	case FK_SINT:
	case FK_SERIAL:
	case FK_FLAGS:
	case FK_ENUM:
		v = val_int((int64_t)wire_num(l, field));
		break;
	default:
		return variable_value(vm, l, field, received);
	}
	if (received)
		v.vf |= VF_PEER;
	if (f->kind == FK_FLAGS || f->kind == FK_ENUM) {
		v.vf |= VF_FIELD;
		v.tag = f->kind == FK_FLAGS ? VAL_FLAGS : VAL_INT;
		v.proto = (uint8_t)l->proto->id;
		v.field = (uint8_t)field;
	}
	return v;
}

/* ---- setting ---- */

static bool fail_fit(Vm *vm, const WireLayer *l, unsigned field, const char *what)
{
	return vm_fail(vm, "E-VALUE", "%s.%s %s", l->proto->name, l->proto->fields[field].name, what);
}

static bool set_number(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	const WireField *f = &l->proto->fields[field];
	uint64_t n;

	if (v.tag == VAL_STR) {
		Str s = str_of(val_str(v));

		if (!f->names || !wire_name_value(f, s, &n))
			return vm_fail(vm, "E-VALUE", "\"%.*s\" is no value of %s.%s", (int)(s.n < 40 ? s.n : 40), s.p,
				       l->proto->name, f->name);
	} else {
		int64_t i;

		if (!vm_to_int(vm, v, &i))
			return false;
		if (i < 0 && f->kind != FK_SERIAL && f->kind != FK_SINT)
			return fail_fit(vm, l, field, "can't be negative");
		/* Serial numbers are taken modulo their width. */
		n = f->kind == FK_SERIAL && f->width < 64 ? (uint64_t)i & ((UINT64_C(1) << f->width) - 1) :
							    (uint64_t)i;
	}
	if (!wire_set_num(l, field, n))
		return vm_fail(vm, "E-VALUE", "%s.%s has %u bits: %llu does not fit", l->proto->name, f->name,
			       f->width, (unsigned long long)n);
	return true;
}

static bool set_stamp(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	uint64_t stamp;

	if (v.tag != VAL_TIME)
		return vm_fail_type(vm, "a time", v);
	if (!wire_stamp_from_ns(v.i, &stamp))
		return fail_fit(vm, l, field, "takes times from 1968 to 2104");
	return wire_set_num(l, field, stamp);
}

static bool set_bytes(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	const WireField *f = &l->proto->fields[field];
	Bytes b;

	if (!vm_to_bytes(vm, v, &b))
		return false;
	return wire_set_bytes(l, field, b) ||
	       vm_fail(vm, "E-VALUE", "%s.%s has %u bytes: %zu do not fit", l->proto->name, f->name, f->width / 8,
		       b.n);
}

static bool set_oid(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Bytes oid;

	if (v.tag != VAL_STR)
		return vm_fail_type(vm, "an object identifier, as \"1.3.6.1.2.1.1.1.0\"", v);
	if (!ber_oid_from_text(str_of(val_str(v)), &vm->scratch, &oid))
		return fail_fit(vm, l, field, "takes numbers with dots, as 1.3.6.1.2.1.1.1.0");
	return wire_set_bytes(l, field, oid);
}

/* An int is INTEGER, an IPv4 address IpAddress, text and bytes are OCTET STRING. */
static bool set_ber(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Bytes b = { 0 };
	bool ip = val_is_ip(v), number = v.tag == VAL_INT;

	if (ip && val_ip(v).v != 4)
		return fail_fit(vm, l, field, "takes IPv4 addresses");
	if (ip)
		b = BYTES(arena_copy(&vm->scratch, val_ip(v).b, 4), 4);
	else if (!number && !vm_to_bytes(vm, v, &b))
		return false;
	size_t n = number ? ber_int_len(v.i) : ber_len(b.n);
	Writer w = writer(arena_alloc(&vm->scratch, n), n);

	if (number)
		ber_put_int(&w, v.i);
	else
		ber_put_head(&w, ip ? BER_IP : BER_OCTETS, b.n);
	wr_bytes(&w, b);
	return wire_set_bytes(l, field, wr_done(&w));
}

static bool set_ip(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	bool v6 = l->proto->fields[field].kind == FK_IP6;
	Ip ip;

	if (!vm_to_ip(vm, v, &ip))
		return false;
	if (ip.v != (v6 ? 6 : 4))
		return fail_fit(vm, l, field, v6 ? "takes an IPv6 address" : "takes an IPv4 address");
	return v6 ? wire_set_bytes(l, field, BYTES(ip.b, 16)) : wire_set_num(l, field, ip4_num(ip));
}

static bool set_name(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Bytes name;
	Str s;

	if (v.tag != VAL_STR && v.tag != VAL_BYTES)
		return vm_fail_type(vm, "a name", v);
	s = str_of(val_str(v));
	if (!dns_name_from_text(s, &vm->scratch, &name))
		return vm_fail(vm, "E-VALUE", "\"%.*s\" is no DNS name", (int)(s.n < 60 ? s.n : 60), s.p);
	return wire_set_bytes(l, field, name);
}

/* ---- options ---- */

static bool option_row(Vm *vm, const WireProto *proto, Value name, const WireOption **ret_row)
{
	*ret_row = name.tag == VAL_STR ? wire_option_by_name(proto, str_of(val_str(name))) : NULL;
	return *ret_row || vm_fail(vm, "E-VALUE", "%s has no such option", proto->name);
}

/* ("MSS", 1460), ("Timestamp", (1, 0)), ("NOP", None), ("router", a, b), (254, b".."): Scapy's. */
static bool option_of_pair(Vm *vm, const WireProto *proto, Value pair, Value *ret)
{
	Value name = val_tuple(pair)->p[0], arg = pair.o->n > 1 ? val_tuple(pair)->p[1] : val_none();
	const WireOption *row;

	if (name.tag == VAL_INT) {
		Value two[2] = { name, val_is_text(arg) ? arg : vm_bytes(vm, (Bytes){ 0 }) };

		return packet_option_number(vm, two, ret);
	}
	if (!option_row(vm, proto, name, &row))
		return false;
	if (pair.o->n > 2)
		return packet_option_make(vm, proto, row, val_tuple(pair)->p + 1, pair.o->n - 1, ret);
	if (val_left_out(arg) || (val_is_text(arg) && !arg.o->n))
		return packet_option_make(vm, proto, row, NULL, 0, ret);
	if (arg.tag == VAL_TUPLE)
		return packet_option_make(vm, proto, row, val_tuple(arg)->p, arg.o->n, ret);
	if (arg.tag == VAL_LIST)
		return packet_option_make(vm, proto, row, val_list(arg)->p, arg.o->n, ret);
	return packet_option_make(vm, proto, row, &arg, 1, ret);
}

static bool put_option(Vm *vm, const WireProto *proto, Value v, Sb *out)
{
	const WireOption *row;

	if (v.tag == VAL_TUPLE && v.o->n >= 1 && !option_of_pair(vm, proto, v, &v))
		return false;
	if (v.tag == VAL_STR && (!option_row(vm, proto, v, &row) || !packet_option_make(vm, proto, row, NULL, 0, &v)))
		return false;
	if (v.tag != VAL_OPTION)
		return vm_fail_type(vm, "options, as in [MSS(1460), NOP()]", v);
	ObjOption *o = val_option(v);

	if (o->proto && o->proto != proto)
		return vm_fail(vm, "E-VALUE", "%s is an option of %s, not of %s", o->row ? o->row->name : "it",
			       o->proto->name, proto->name);
	return wire_option_put(proto, o->kind, BYTES(o->data, o->h.n), out) ||
	       vm_fail(vm, "E-VALUE", "the data of option %u do not fit", o->kind);
}

static bool set_options(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Sb out = sb(&vm->scratch);

	if (v.tag == VAL_BYTES)
		return wire_set_bytes(l, field, bytes_of(val_str(v)));
	if (v.tag != VAL_LIST && v.tag != VAL_TUPLE)
		return vm_fail_type(vm, "a list of options", v);
	for (uint32_t i = 0; i < v.o->n; i++)
		if (!put_option(vm, l->proto, v.tag == VAL_LIST ? val_list(v)->p[i] : val_tuple(v)->p[i], &out))
			return false;
	return wire_set_bytes(l, field, str_bytes(sb_done(&out)));
}

/* ---- records, record data ---- */

static bool put_record(Vm *vm, const WireLayer *l, unsigned field, Value v, Sb *out)
{
	const WireProto *kind = wire_proto((WireId)l->proto->fields[field].record);

	if (v.tag != VAL_RECORD)
		return vm_fail_type(vm, str_printf(&vm->scratch, "%s(...)", kind->name).p, v);
	const WireLayer *r = &val_packet(v)->layer[0];

	if (r->proto->next != kind->next)
		return vm_fail(vm, "E-VALUE", "%s.%s takes no %s", l->proto->name, l->proto->fields[field].name,
			       r->proto->name);
	sb_str(out, bytes_str(wire_record_build(r, &vm->scratch)));
	return true;
}

static bool set_records(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Sb out = sb(&vm->scratch);

	if (v.tag == VAL_RECORD) {
		if (!put_record(vm, l, field, v, &out))
			return false;
	} else if (v.tag == VAL_LIST || v.tag == VAL_TUPLE) {
		for (uint32_t i = 0; i < v.o->n; i++)
			if (!put_record(vm, l, field, v.tag == VAL_LIST ? val_list(v)->p[i] : val_tuple(v)->p[i],
					&out))
				return false;
	} else {
		return vm_fail_type(vm, "records", v);
	}
	return wire_set_bytes(l, field, str_bytes(sb_done(&out)));
}

/* DNSRR(type="MX", rdata="10 mail.example.com"): by the record's type. */
static bool set_rdata(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Bytes data;
	uint16_t type = (uint16_t)wire_num(l, F_DNSRR_TYPE);

	if (val_is_ip(v)) {
		Ip ip = val_ip(v);

		return wire_set_bytes(l, field, BYTES(arena_copy(&vm->scratch, ip.b, ip_len(ip)), ip_len(ip)));
	}
	if (v.tag == VAL_STR) {
		if (!dns_rdata_from_text(type, str_of(val_str(v)), &vm->scratch, &data))
			return fail_fit(vm, l, field, "does not read so for its type: give it bytes");
		return wire_set_bytes(l, field, data);
	}
	return vm_to_bytes(vm, v, &data) && wire_set_bytes(l, field, data);
}

bool packet_set_field(Vm *vm, WireLayer *l, unsigned field, Value v)
{
	Mac mac;

	if (val_left_out(v)) {
		wire_unset(l, field);
		return true;
	}
	switch (l->proto->fields[field].kind) {
	case FK_IP4:
	case FK_IP6:
		return set_ip(vm, l, field, v);
	case FK_MAC:
		return vm_to_mac(vm, v, &mac) && wire_set_num(l, field, bits_get(mac.b, 0, 48));
	case FK_NAME:
		return set_name(vm, l, field, v);
	case FK_OPTIONS:
		return set_options(vm, l, field, v);
	case FK_RECORDS:
		return set_records(vm, l, field, v);
	case FK_BYTES:
		if (l->proto->id == WIRE_DNSRR && field == F_DNSRR_RDATA)
			return set_rdata(vm, l, field, v);
		return set_bytes(vm, l, field, v);
	case FK_OID:
		return set_oid(vm, l, field, v);
	case FK_BER:
		return set_ber(vm, l, field, v);
	case FK_STAMP:
		return set_stamp(vm, l, field, v);
	default:
		return set_number(vm, l, field, v);
	}
}
