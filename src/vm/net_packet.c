/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of the language on their way out and in: what is free is filled in,
 * what came becomes a value.
 */
#include "vm/engine_inside.h"

#include "probe/changed.h"
#include "wire/fields.h"

enum { SPOOF_PORT_FROM = 33000, SPOOF_PORTS = 28000, BROADCAST_BYTE = 0xff, CHANGES_MOST = 64 };

/* ---- arguments ---- */

bool net_iface(Engine *e, Vm *vm, Value v, const HostIface **ret_iface)
{
	Str name;

	*ret_iface = NULL;
	if (val_left_out(v))
		return true;
	if (!vm_to_str(vm, v, &name))
		return false;
	*ret_iface = engine_iface_named(e, name);
	return *ret_iface || vm_fail(vm, "E-IFACE", "there is no interface %.*s in this run", STR_ARG(name));
}

/* Scapy says the time between two packets where we say how many go a second. */
static bool rate_of_inter(Vm *vm, Value inter, double *ret_rate)
{
	int64_t ns;

	if (!vm_to_duration(vm, inter, &ns))
		return false;
	if (ns < 0)
		return vm_fail(vm, "E-VALUE", "inter is the time between two packets and not negative");
	*ret_rate = ns ? 1e9 / (double)ns : 0;
	return true;
}

bool net_rate(Vm *vm, Value v, Value inter, double *ret_rate)
{
	*ret_rate = 0;
	if (val_left_out(v))
		return val_left_out(inter) || rate_of_inter(vm, inter, ret_rate);
	if (!vm_to_num(vm, v, ret_rate))
		return false;
	return *ret_rate > 0 || vm_fail(vm, "E-VALUE", "rate is packets a second and above 0");
}

/* ---- out ---- */

static void refuse(Ready *r, NotSent why, const char *detail)
{
	if (r->refused == NOTSENT_NONE) {
		r->refused = why;
		r->why = detail;
	}
}

/* ARP without an Ethernet header gets one; free addresses are ours or, of a
 * request's destination, everybody's. */
static void ready_arp(Engine *e, WirePacket *w, const Route *route, const HostIface *iface, Arena *a)
{
	WireLayer copy;

	if (!iface && route)
		iface = engine_iface(e, route->iface);
	if (w->layer[0].proto->id == WIRE_ARP && w->n < LIMIT_LAYERS) {
		memmove(&w->layer[1], &w->layer[0], w->n * sizeof w->layer[0]);
		w->n++;
		wire_layer_init(&w->layer[0], wire_proto(WIRE_ETHER), a);
	}
	wire_layer_copy(&copy, &w->layer[w->n - 1], a);
	WireLayer *arp = w->layer[w->n - 1].proto->id == WIRE_ARP ? &w->layer[w->n - 1] : NULL;
	if (!arp)
		return;
	*arp = copy;
	if (iface && !wire_is_set(arp, F_ARP_HWSRC))
		wire_set_num(arp, F_ARP_HWSRC, iface->mac);
	if (route && route->src.v == 4 && !wire_is_set(arp, F_ARP_PSRC))
		wire_set_num(arp, F_ARP_PSRC, ip4_num(route->src));
}

static void ready_ether(Engine *e, WirePacket *w, const Route *route, const HostIface *iface, Arena *a)
{
	WireLayer copy;

	if (!iface && route)
		iface = engine_iface(e, route->iface);
	wire_layer_copy(&copy, &w->layer[0], a);
	w->layer[0] = copy;
	if (iface && !wire_is_set(&w->layer[0], F_ETHER_SRC))
		wire_set_num(&w->layer[0], F_ETHER_SRC, iface->mac);
	if (!wire_is_set(&w->layer[0], F_ETHER_DST) && wire_find(w, WIRE_ARP))
		wire_set_num(&w->layer[0], F_ETHER_DST, UINT64_C(0xffffffffffff));
}

/* Ether() with nothing set before IP: the header is the gate's business. */
static void strip_empty_ether(WirePacket *w)
{
	const WireLayer *l = &w->layer[0];

	if (w->n < 2 || l->proto->id != WIRE_ETHER || l->set ||
	    (w->layer[1].proto->id != WIRE_IP && w->layer[1].proto->id != WIRE_IPV6))
		return;
	w->n--;
	memmove(&w->layer[0], &w->layer[1], w->n * sizeof w->layer[0]);
}

/* RFC 4861 4.3: a solicitation says whom to answer; without it a group's members don't. */
static void ready_solicitation(Engine *e, WirePacket *w, const Route *route, const HostIface *iface, Arena *a)
{
	enum { SOLICITATION = 135, SOURCE_MAC = 1, UNITS = 1, BYTES_ALL = 8 };

	if (!iface && route)
		iface = engine_iface(e, route->iface);
	for (unsigned i = 0; iface && iface->mac && i < w->n; i++) {
		WireLayer copy;

		if (w->layer[i].proto->id != WIRE_ICMPV6 || wire_is_set(&w->layer[i], F_ICMPV6_OPTIONS) ||
		    wire_num(&w->layer[i], F_ICMPV6_TYPE) != SOLICITATION)
			continue;
		uint8_t *option = arena_alloc(a, BYTES_ALL);

		option[0] = SOURCE_MAC;
		option[1] = UNITS;
		bits_put(option, 16, 48, iface->mac);
		wire_layer_copy(&copy, &w->layer[i], a);
		w->layer[i] = copy;
		wire_set_bytes(&w->layer[i], F_ICMPV6_OPTIONS, BYTES(option, BYTES_ALL));
	}
}

static Ip source_set(const WirePacket *w)
{
	const WireLayer *l;

	if ((l = wire_find(w, WIRE_IP)) && wire_is_set(l, F_IP_SRC))
		return ip4((uint32_t)wire_num(l, F_IP_SRC));
	if ((l = wire_find(w, WIRE_IPV6)) && wire_is_set(l, F_IPV6_SRC))
		return ip_from(6, wire_bytes(l, F_IPV6_SRC).p);
	return (Ip){ 0 };
}

typedef struct PortField {
	WireId layer;
	uint8_t proto;
	unsigned field;
} PortField;

static const PortField port_fields[] = {
	{ WIRE_UDP, PROTO_UDP, F_UDP_SPORT },
	{ WIRE_TCP, PROTO_TCP, F_TCP_SPORT },
	{ WIRE_ICMP, PROTO_ICMP, F_ICMP_ID },
	{ WIRE_ICMPV6, PROTO_ICMP6, F_ICMPV6_ID },
};

static WireLayer *port_layer(WirePacket *w, const PortField **ret_row)
{
	for (size_t i = 0; i < sizeof port_fields / sizeof *port_fields; i++)
		for (unsigned k = 0; k < w->n; k++)
			if (w->layer[k].proto->id == port_fields[i].layer &&
			    wire_has(&w->layer[k], port_fields[i].field)) {
				*ret_row = &port_fields[i];
				return &w->layer[k];
			}
	return NULL;
}

/* A source port (ICMP: id) must be ours before its first packet (guardrails.md 3):
 * one that is set is claimed; where no free one is left, another is asked for.
 * Behind a spoofed source there is no socket.  False: stopped or gone. */
static bool ready_port(Engine *e, WirePacket *w, Ip src, Ip dst, uint64_t n, Arena *a, Ready *r)
{
	const PortField *row;
	WireLayer *l = port_layer(w, &row), copy;
	bool held = true;

	if (!l)
		return true;
	bool set = wire_is_set(l, row->field);
	uint16_t port = set ? (uint16_t)wire_num(l, row->field) : 0;
	if (!engine_is_ours(e, src)) {
		if (!set) {
			uint64_t start = rng_draw(e->seed, bytes_hash(BYTES(dst.b, sizeof dst.b)), 0);

			wire_layer_copy(&copy, l, a);
			*l = copy;
			wire_set_num(l, row->field, SPOOF_PORT_FROM + (start + n) % SPOOF_PORTS);
		}
		return true;
	}
	if (!set && identity_port(&e->pool, row->proto, src, dst, n))
		return true;
	held = !set || port;
	if (held && !engine_claim(e, row->proto, src, port, &held))
		return false;
	if (!held)
		refuse(r, NOTSENT_SOURCE, "the source port is not ours");
	return true;
}

static bool answered_by_many(const Engine *e, const WirePacket *w, Ip dst)
{
	const WireLayer *nd = wire_find(w, WIRE_ICMPV6);

	return wire_find(w, WIRE_ARP) || matcher_to_many(e->matcher, dst) ||
	       (nd && wire_num(nd, F_ICMPV6_TYPE) == 135);
}

static bool ready_link(Engine *e, Vm *vm, WirePacket *w, const Route *route, const HostIface *iface, Arena *a)
{
	if (!w->n)
		return vm_fail(vm, "E-VALUE", "an empty packet can't be sent");
	strip_empty_ether(w);
	if (wire_find(w, WIRE_ARP))
		ready_arp(e, w, route, iface, a);
	switch (w->layer[0].proto->id) {
	case WIRE_ETHER:
		ready_ether(e, w, route, iface, a);
		return true;
	case WIRE_IP:
	case WIRE_IPV6:
		return true;
	default:
		return vm_fail(vm, "E-FRAME",
			       "a packet that is sent starts with IP, IPv6, ARP or Ether, this one with %s",
			       w->layer[0].proto->name);
	}
}

bool net_ready(Engine *e, Vm *vm, ObjPacket *p, const HostIface *iface, Arena *a, Ready *ret_ready)
{
	Ready *r = ret_ready;
	WirePacket *w = arena_new(a, WirePacket);
	const Route *route = NULL;

	*r = (Ready){ .iface = iface ? iface->index : 0 };
	packet_view(vm, p, w);
	w->frame = (Bytes){ 0 };
	Ip dst = packet_destination(w);
	if (dst.v) {
		route = engine_route(e, dst);
		if (!route)
			return engine_halt(e, vm);
		if (!route->ok && !iface)
			refuse(r, NOTSENT_NO_ROUTE, str_printf(a, "%.*s", STR_ARG(route->detail)).p);
	}
	if (!ready_link(e, vm, w, route, iface, a))
		return false;
	ready_solicitation(e, w, route, iface, a);
	Ip src = source_set(w);
	if (!src.v && route)
		src = route->src;
	uint64_t n = engine_count_to(e, dst);
	if (!ready_port(e, w, src, dst, n, a, r))
		return engine_halt(e, vm);
	const char *lacks = identity_fill(w, &e->pool, src, n, a);
	if (lacks)
		refuse(r, NOTSENT_SOURCE, lacks);
	r->many = answered_by_many(e, w, dst);
	r->first = w->layer[0].proto->id;
	const char *bad = wire_build(w, a, &r->bytes, &r->sent);
	return !bad || vm_fail(vm, "E-FRAME", "%s", bad);
}

static Value iface_value(Engine *e, ObjPacket *p, uint16_t iface, int64_t at_ns)
{
	p->iface = iface;
	p->time = at_ns == NS_NONE ? NS_NONE : ns_later(e->epoch_ns, at_ns);
	return val_of(p);
}

Value net_sent_packet(Engine *e, Vm *vm, const Ready *r)
{
	return iface_value(e, packet_from_wire(vm, &r->sent, OP_SENT), r->iface, NS_NONE);
}

/* ---- in ---- */

Value net_received_packet(Engine *e, Vm *vm, const Arrival *a)
{
	ObjPacket *p = packet_from_frame(vm, a->frame, a->first, OP_RECEIVED);

	if (a->pieces) {
		ObjList *l = vm_list(vm, a->pieces->n);

		for (uint32_t i = 0; i < a->pieces->n; i++)
			vm_push(vm, l,
				val_of(packet_from_frame(vm, a->pieces->piece[i], a->first, OP_RECEIVED)));
		packet_set_extra(vm, p, PX_FRAGMENTS, val_of(l));
	}
	if (warn_set_any(&a->odd)) {
		ObjList *l = vm_list(vm, 4);

		for (unsigned i = 0; i < WARN_N; i++)
			if (warn_is_set(&a->odd, (WarnId)i))
				vm_push(vm, l, vm_str(vm, str_c(warn_row((WarnId)i)->code)));
		packet_set_extra(vm, p, PX_WARNINGS, val_of(l));
	}
	return iface_value(e, p, a->iface, a->rx_ns);
}

/* ---- what was rewritten ---- */

bool bi_changed(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Arena *a = vm_scratch(vm);
	Str *text = arena_new_n(a, Str, CHANGES_MOST);
	WirePacket *sent = arena_new(a, WirePacket), *got = arena_new(a, WirePacket),
		   *quote = arena_new(a, WirePacket);
	uint32_t found = 0;

	(void)n;
	if (args[0].tag != VAL_PACKET || args[1].tag != VAL_PACKET)
		return vm_fail_type(vm, "two packets: the probe as sent and its answer",
				    args[args[0].tag == VAL_PACKET]);
	packet_view(vm, val_packet(args[0]), sent);
	packet_view(vm, val_packet(args[1]), got);
	Ip to = packet_destination(sent), at = packet_destination(got);
	if (wire_quoted(got, a, quote))
		found = packet_changed(sent, quote, a, text, CHANGES_MOST);
	else if (to.v && ip_eq(to, at)) /* it came back itself */
		found = packet_changed(sent, got, a, text, CHANGES_MOST);
	ObjList *l = vm_list(vm, found);
	for (uint32_t i = 0; i < found && i < CHANGES_MOST; i++)
		vm_push(vm, l, vm_str_peer(vm, text[i]));
	*ret = val_of(l);
	return true;
}
