/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes and methods of packets, layers, options and DNS records.
 */
#include "vm/packet_in.h"
#include "vm/py.h"

#include "wire/ber.h"
#include "wire/dns.h"
#include "wire/fields.h"

static bool received(const ObjPacket *p)
{
	return p->h.bits & OP_RECEIVED;
}

static ObjPacket *whole(ObjPacket *p)
{
	return p->h.bits & OP_LAYER ? (ObjPacket *)p->extra : p;
}

/* ---- fields ---- */

/* A field of layer `at` of p: what was set or, of a packet that is not built yet,
 * what building would give. */
static bool field_value(Vm *vm, ObjPacket *p, unsigned at, unsigned field, Value *ret)
{
	const WireLayer *l = &p->layer[at];
	bool derive = l->proto->fields[field].computed && !wire_is_set(l, field) && !received(p) &&
		      l->proto->role != ROLE_RECORD;
	size_t mark = arena_mark(&vm->scratch);

	if (derive) {
		ObjPacket *all = whole(p);
		WirePacket *w = arena_new(&vm->scratch, WirePacket);
		size_t i = at + (size_t)(p->layer - all->layer);

		if (!packet_encoded(vm, all, w))
			return false;
		if (i < w->n) {
			*ret = packet_field(vm, &w->layer[i], field, false);
			arena_reset(&vm->scratch, mark);
			return true;
		}
	}
	*ret = packet_field(vm, l, field, received(p));
	arena_reset(&vm->scratch, mark);
	return true;
}

static bool fail_field(Vm *vm, const ObjPacket *p, Str name)
{
	return vm_fail(vm, "E-NAME", "%s has no field %.*s",
		       p->h.bits & OP_LAYER ? p->layer[0].proto->name : "the packet", STR_ARG(name));
}

/* The outermost layer that has it; p[L].name: that layer's. */
bool packet_attr(Vm *vm, ObjPacket *p, Str name, Value *ret)
{
	packet_parse(vm, p);
	for (uint32_t i = 0; i < p->h.n && (i == 0 || !(p->h.bits & OP_LAYER)); i++) {
		int f = wire_field(p->layer[i].proto, name);

		if (f >= 0)
			return field_value(vm, p, i, (unsigned)f, ret);
	}
	return fail_field(vm, p, name);
}

/* One of several places, by the first layer that is there. */
typedef struct Place {
	WireId layer;
	unsigned field;
} Place;

static bool at_place(Vm *vm, Value self, const Place *places, size_t n, const char *name, Value *ret)
{
	ObjPacket *p = val_packet(self);

	packet_parse(vm, p);
	for (uint32_t i = 0; i < p->h.n; i++)
		for (size_t k = 0; k < n; k++)
			if (p->layer[i].proto->id == places[k].layer)
				return field_value(vm, p, i, places[k].field, ret);
	return packet_attr(vm, p, str_c(name), ret);
}

#define PLACE_ATTR(id, ...)                                                                  \
	ATTR_OF(PACKET, id)                                                                  \
	{                                                                                    \
		static const Place places[] = { __VA_ARGS__ };                               \
		return at_place(vm, self, places, sizeof places / sizeof places[0], #id, ret); \
	}

PLACE_ATTR(src, { WIRE_IP, F_IP_SRC }, { WIRE_IPV6, F_IPV6_SRC }, { WIRE_ARP, F_ARP_PSRC })
PLACE_ATTR(dst, { WIRE_IP, F_IP_DST }, { WIRE_IPV6, F_IPV6_DST }, { WIRE_ARP, F_ARP_PDST })
PLACE_ATTR(ttl, { WIRE_IP, F_IP_TTL }, { WIRE_IPV6, F_IPV6_HLIM })

/* ---- what the run knows of a packet ---- */

ATTR_OF(PACKET, time)
{
	(void)vm;
	*ret = val_time(val_packet(self)->time);
	return true;
}

ATTR_OF(PACKET, rtt)
{
	(void)vm;
	*ret = val_duration(val_packet(self)->rtt);
	return true;
}

ATTR_OF(PACKET, iface)
{
	uint16_t index = val_packet(self)->iface;

	*ret = val_none();
	if (index && vm->host.iface_name)
		*ret = vm_str(vm, vm->host.iface_name(vm->host.ctx, index));
	return true;
}

ATTR_OF(PACKET, layers)
{
	ObjPacket *p = val_packet(self);
	ObjList *l = vm_list(vm, 4);

	packet_parse(vm, p);
	for (uint32_t i = 0; i < p->h.n; i++)
		vm_push(vm, l, vm_str(vm, str_c(p->layer[i].proto->name)));
	*ret = val_of(l);
	return true;
}

ATTR_OF(PACKET, frame)
{
	ObjPacket *p = whole(val_packet(self));

	*ret = received(p) ? vm_bytes_peer(vm, p->frame) : vm_bytes(vm, p->frame);
	return true;
}

/* A payload that was given as Raw(b"..") is one too. */
static Bytes payload_of(const ObjPacket *p)
{
	const WireLayer *last = p->h.n ? &p->layer[p->h.n - 1] : NULL;

	if (last && last->proto->id == WIRE_RAW && !p->payload.n)
		return wire_bytes(last, F_RAW_LOAD);
	return p->payload;
}

ATTR_OF(PACKET, payload)
{
	ObjPacket *p = val_packet(self);

	packet_parse(vm, p);
	*ret = received(p) ? vm_bytes_peer(vm, payload_of(p)) : vm_bytes(vm, payload_of(p));
	return true;
}

ATTR_OF(PACKET, quoted)
{
	ObjPacket *p = whole(val_packet(self));

	*ret = packet_extra(p, PX_QUOTED);
	if (!val_is_none(*ret))
		return true;
	WirePacket *w = arena_new(&vm->scratch, WirePacket);

	if (!wire_quoted(packet_scratch_view(vm, p), &vm->scratch, w))
		return vm_fail(vm, "E-LAYER", "the packet quotes none: it is no ICMP error");
	*ret = val_of(packet_from_wire(vm, w, OP_RECEIVED));
	packet_set_extra(vm, p, PX_QUOTED, *ret);
	return true;
}

ATTR_OF(PACKET, fragments)
{
	*ret = packet_extra(val_packet(self), PX_FRAGMENTS);
	if (val_is_none(*ret))
		*ret = val_of(vm_list(vm, 0));
	return true;
}

ATTR_OF(PACKET, warnings)
{
	ObjPacket *p = whole(val_packet(self));

	packet_parse(vm, p);
	*ret = packet_extra(p, PX_WARNINGS);
	if (!val_is_none(*ret))
		return true;
	ObjList *l = vm_list(vm, 1);

	if (p->reason)
		vm_push(vm, l, vm_str(vm, str_c(p->reason)));
	*ret = val_of(l);
	return true;
}

/* ---- methods ---- */

typedef void Printer(const WirePacket *w, Sb *out);

static bool printed(Vm *vm, ObjPacket *p, Printer *print, bool one_layer, Value *ret)
{
	Sb out = sb(&vm->scratch);
	WirePacket *w = packet_scratch_view(vm, p);

	if (one_layer && w->n > 1) {
		w->n = 1;
		w->payload = (Bytes){ 0 };
	}
	print(w, &out);
	Str s = sb_done(&out);

	while (s.n && s.p[s.n - 1] == '\n')
		s.n--;
	*ret = vm_str(vm, s);
	return true;
}

METHOD_OF(PACKET, summary)
{
	FIXED;
	return printed(vm, val_packet(args[0]), wire_summary, false, ret);
}

METHOD_OF(LAYER, summary)
{
	FIXED;
	return printed(vm, val_packet(args[0]), wire_summary, false, ret);
}

METHOD_OF(PACKET, show)
{
	FIXED;
	return printed(vm, val_packet(args[0]), wire_show, false, ret);
}

METHOD_OF(LAYER, show)
{
	FIXED;
	return printed(vm, val_packet(args[0]), wire_show, true, ret);
}

METHOD_OF(PACKET, hex)
{
	Sbuf b = sbuf(vm);
	Bytes data;

	FIXED;
	if (!packet_wire_bytes(vm, val_packet(args[0]), &data))
		return false;
	for (size_t i = 0; i < data.n; i++) {
		sbuf_char(&b, "0123456789abcdef"[data.p[i] >> 4]);
		sbuf_char(&b, "0123456789abcdef"[data.p[i] & 15]);
	}
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

METHOD_OF(PACKET, haslayer)
{
	FIXED;
	if (args[1].tag != VAL_PROTO)
		return vm_fail_type(vm, "a layer, as in p.haslayer(TCP)", args[1]);
	*ret = val_bool(packet_has(vm, val_packet(args[0]), (WireId)args[1].proto));
	return true;
}

METHOD_OF(PACKET, getlayer)
{
	FIXED;
	if (args[1].tag != VAL_PROTO)
		return vm_fail_type(vm, "a layer, as in p.getlayer(TCP)", args[1]);
	*ret = val_none();
	return !packet_has(vm, val_packet(args[0]), (WireId)args[1].proto) ||
	       packet_layer(vm, val_packet(args[0]), (WireId)args[1].proto, ret);
}

METHOD_OF(PACKET, copy)
{
	FIXED;
	(void)vm;
	*ret = args[0];
	return true;
}

/* ---- layers ---- */

ATTR_OF(LAYER, name)
{
	*ret = vm_str(vm, str_c(val_packet(self)->layer[0].proto->name));
	return true;
}

ATTR_OF(LAYER, payload)
{
	ObjPacket *p = val_packet(self), *all = whole(p);
	WirePacket *w = arena_new(&vm->scratch, WirePacket);
	size_t at = (size_t)(p->layer - all->layer);

	if (!packet_encoded(vm, all, w))
		return false;
	size_t from = at < w->n ? (size_t)w->layer[at].off + w->layer[at].len : w->frame.n;
	size_t to = w->frame.n - w->padding.n;
	Bytes b = bytes_slice(w->frame, from, to);

	*ret = received(p) ? vm_bytes_peer(vm, b) : vm_bytes(vm, b);
	return true;
}

/* The first number of an option; all its data as one where it has no numbers. */
static bool option_number(const WireProto *proto, const WireOption *row, Bytes data, Value *ret)
{
	if (!data.n) {
		*ret = val_int(1);
		return true;
	}
	size_t n = row && (row->args || row->width) ? wire_option_width(proto, row, data.n) : data.n;

	if (n > 8 || n > data.n)
		return false;
	*ret = val_int((int64_t)bits_get(data.p, 0, (unsigned)n * 8));
	return true;
}

static bool option_matches(Value want, const WireOption *row, uint16_t kind)
{
	if (want.tag == VAL_INT)
		return want.i == kind;
	return row && str_is(str_of(val_str(want)), row->name);
}

METHOD_OF(LAYER, option)
{
	ObjPacket *p = val_packet(args[0]);
	Bytes b;
	WireOpt o;
	bool bad = false;

	FIXED;
	*ret = val_none();
	packet_parse(vm, p);
	if (args[1].tag != VAL_STR && args[1].tag != VAL_INT)
		return vm_fail_type(vm, "the name of an option", args[1]);
	const WireProto *proto = p->layer[0].proto;
	int f = wire_field(proto, STR("options"));

	if (f < 0)
		return vm_fail(vm, "E-LAYER", "%s has no options", proto->name);
	b = wire_bytes(&p->layer[0], (unsigned)f);
	for (Cursor c = cursor(b); wire_option_next(proto, &c, &o, &bad);) {
		const WireOption *row = wire_option_by_kind(proto, o.kind);

		if (!option_matches(args[1], row, o.kind))
			continue;
		if (option_number(proto, row, o.data, ret) && received(p))
			ret->vf |= VF_PEER;
		return true;
	}
	return true;
}

/* ---- options ---- */

ATTR_OF(OPTION, name)
{
	ObjOption *o = val_option(self);

	*ret = o->row ? vm_str(vm, str_c(o->row->name)) : vm_str(vm, str_printf(&vm->scratch, "kind %u", o->kind));
	return true;
}

ATTR_OF(OPTION, kind)
{
	(void)vm;
	*ret = val_int(val_option(self)->kind);
	return true;
}

ATTR_OF(OPTION, value)
{
	ObjOption *o = val_option(self);

	(void)vm;
	*ret = val_none();
	if (o->h.n && option_number(o->proto, o->row, BYTES(o->data, o->h.n), ret))
		ret->vf |= o->h.bits & OP_RECEIVED ? VF_PEER : 0;
	return true;
}

ATTR_OF(OPTION, data)
{
	ObjOption *o = val_option(self);
	Bytes b = BYTES(o->data, o->h.n);

	*ret = o->h.bits & OP_RECEIVED ? vm_bytes_peer(vm, b) : vm_bytes(vm, b);
	return true;
}

/* ---- DNS records ---- */

static bool record_field(Vm *vm, Value self, const char *name, Value *ret)
{
	ObjPacket *p = val_packet(self);
	int f = wire_field(p->layer[0].proto, str_c(name));

	*ret = f < 0 ? val_none() : packet_field(vm, &p->layer[0], (unsigned)f, received(p));
	return true;
}

/* "A", or "TYPE123" as RFC 3597 5 says. */
static bool record_text(Vm *vm, Value self, const char *name, const char *unknown, Value *ret)
{
	const WireLayer *l = &val_packet(self)->layer[0];
	int f = wire_field(l->proto, str_c(name));
	const char *text = f < 0 ? NULL : wire_value_name(&l->proto->fields[f], wire_num(l, (unsigned)f));

	*ret = text   ? vm_str(vm, str_c(text)) :
	       f < 0 ? val_none() :
		       vm_str(vm, str_printf(&vm->scratch, "%s%u", unknown, (unsigned)wire_num(l, (unsigned)f)));
	return true;
}

#define RECORD_ATTR(owner, id, call)     \
	ATTR_OF(owner, id)               \
	{                                \
		return call;             \
	}

RECORD_ATTR(DNSQR, qname, record_field(vm, self, "qname", ret))
RECORD_ATTR(DNSQR, name, record_field(vm, self, "qname", ret))
RECORD_ATTR(DNSQR, qtype, record_text(vm, self, "qtype", "TYPE", ret))
RECORD_ATTR(DNSQR, type, record_text(vm, self, "qtype", "TYPE", ret))
RECORD_ATTR(DNSQR, qclass, record_text(vm, self, "qclass", "CLASS", ret))
RECORD_ATTR(DNSRR, name, record_field(vm, self, "rrname", ret))
RECORD_ATTR(DNSRR, rrname, record_field(vm, self, "rrname", ret))
RECORD_ATTR(DNSRR, type, record_text(vm, self, "type", "TYPE", ret))
RECORD_ATTR(DNSRR, rclass, record_field(vm, self, "rclass", ret))

/* RFC 6891 6.1.3: what is a TTL elsewhere holds the upper bits of the rcode, a version and flags. */
static bool record_ttl(Vm *vm, Value self, Value *ret)
{
	const WireLayer *l = &val_packet(self)->layer[0];

	if (l->proto->id != WIRE_DNSRROPT)
		return record_field(vm, self, "ttl", ret);
	*ret = val_int((int64_t)(wire_num(l, F_DNSRROPT_EXTRCODE) << 24 | wire_num(l, F_DNSRROPT_VERSION) << 16 |
				 wire_num(l, F_DNSRROPT_Z)));
	if (received(val_packet(self)))
		ret->vf |= VF_PEER;
	return true;
}

RECORD_ATTR(DNSRR, ttl, record_ttl(vm, self, ret))

RECORD_ATTR(SNMPVARBIND, oid, record_field(vm, self, "oid", ret))
RECORD_ATTR(SNMPVARBIND, value, record_field(vm, self, "value", ret))

static Bytes varbind_value(Value self)
{
	return val_packet(self)->layer[0].var[1];
}

ATTR_OF(SNMPVARBIND, type)
{
	*ret = vm_str(vm, str_c(ber_type_name(varbind_value(self))));
	return true;
}

ATTR_OF(SNMPVARBIND, number)
{
	int64_t v;

	(void)vm;
	*ret = ber_number(varbind_value(self), &v) ? val_int(v) : val_none();
	if (ret->tag == VAL_INT && received(val_packet(self)))
		ret->vf |= VF_PEER;
	return true;
}

ATTR_OF(SNMPVARBIND, data)
{
	Cursor c = cursor(varbind_value(self));
	Bytes data = { 0 };
	uint8_t tag;

	(void)ber_next(&c, &tag, &data);
	*ret = received(val_packet(self)) ? vm_bytes_peer(vm, data) : vm_bytes(vm, data);
	return true;
}

ATTR_OF(DNSRR, rdata)
{
	ObjPacket *p = val_packet(self);
	const WireLayer *l = &p->layer[0];
	Sb out = sb(&vm->scratch);

	dns_rdata_text((uint16_t)wire_num(l, F_DNSRR_TYPE), l->var[1], &out);
	*ret = received(p) ? vm_str_peer(vm, sb_done(&out)) : vm_str(vm, sb_done(&out));
	return true;
}

ATTR_OF(DNSRR, addr)
{
	const WireLayer *l = &val_packet(self)->layer[0];
	uint64_t type = wire_num(l, F_DNSRR_TYPE);
	Bytes data = l->var[1];

	*ret = val_none();
	if (type == DNS_TYPE_A && data.n == 4)
		*ret = vm_ip(vm, ip_from(4, data.p));
	else if (type == DNS_TYPE_AAAA && data.n == 16)
		*ret = vm_ip(vm, ip_from(6, data.p));
	return true;
}
