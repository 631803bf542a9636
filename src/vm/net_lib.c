/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs of lib/ need and no program may call: their names start with an
 * underscore, which only lib can say.
 */
#include "vm/engine_inside.h"

#include "base/escape.h"
#include "probe/stats.h"

#include <math.h>

enum { LABELS_MOST = 16, TTL_MOST = 255 };

bool bi_at_ttl(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	int64_t ttl;

	(void)n;
	if (!vm_to_int(vm, args[1], &ttl))
		return false;
	if (ttl < 1 || ttl > TTL_MOST)
		return vm_fail(vm, "E-VALUE", "a TTL is 1..255");
	if (args[0].tag == VAL_FN)
		return vm_call(vm, args[0], &args[1], 1, ret) &&
		       (ret->tag == VAL_PACKET || vm_fail_type(vm, "a function that gives a packet", *ret));
	if (args[0].tag != VAL_PACKET)
		return vm_fail_type(vm, "a packet, or a function of the TTL", args[0]);
	bool v6 = packet_has(vm, val_packet(args[0]), WIRE_IPV6);
	if (!packet_with(vm, val_packet(args[0]), v6 ? WIRE_IPV6 : WIRE_IP, v6 ? STR("hlim") : STR("ttl"), args[1],
			 ret))
		return false;
	if (ret->tag == VAL_PACKET) /* what routers say to it is wanted, of a connection's segment too */
		val_packet(*ret)->h.bits &= (uint8_t)~OP_CONN;
	return true;
}

/* Different n, different ports, as far as the gate gives them: where the start held too
 * few (the program names ports as well), more are asked for; so ask for the highest n
 * first: each that comes shifts the others. */
bool bi_own_port(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	int64_t number;
	bool held = true;
	Str proto;
	Ip dst;

	(void)n;
	if (!vm_to_str(vm, args[0], &proto) || !vm_to_ip(vm, args[1], &dst) ||
	    !vm_to_int(vm, args[2], &number))
		return false;
	const Route *r = engine_route(e, dst);
	if (!r)
		return engine_halt(e, vm);
	uint8_t ip_proto = str_is(proto, "tcp") ? PROTO_TCP : PROTO_UDP;
	while (r->ok && held && identity_ports(&e->pool, ip_proto, r->src) <= (uint64_t)number &&
	       identity_ports(&e->pool, ip_proto, r->src) < LIMIT_START_PORTS)
		if (!engine_claim(e, ip_proto, r->src, 0, &held))
			return engine_halt(e, vm);
	*ret = val_int(identity_port(&e->pool, ip_proto, r->src, dst, (uint64_t)number));
	return true;
}

bool bi_mtu(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Ip dst;

	(void)n;
	if (!vm_to_ip(vm, args[0], &dst))
		return false;
	const Route *r = engine_route(e, dst);
	if (!r)
		return engine_halt(e, vm);
	const HostIface *i = engine_iface(e, r->iface);
	*ret = val_int(r->mtu ? r->mtu : i ? i->mtu : 1500);
	return true;
}

bool bi_icmp_word(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	WirePacket *w = arena_new(vm_scratch(vm), WirePacket);
	const WireLayer *l;

	(void)n;
	if (args[0].tag != VAL_PACKET)
		return vm_fail_type(vm, "a packet", args[0]);
	packet_view(vm, val_packet(args[0]), w);
	if (!(l = wire_find(w, WIRE_ICMP)) && !(l = wire_find(w, WIRE_ICMPV6)))
		return true;
	Sb word = sb(vm_scratch(vm));
	/* type and code are the first fields of both */
	wire_icmp_word(l->proto->id == WIRE_ICMP ? 4 : 6, (uint8_t)wire_num(l, 0), (uint8_t)wire_num(l, 1), &word);
	*ret = vm_str(vm, sb_done(&word));
	return true;
}

bool bi_mpls(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	WirePacket *w = arena_new(vm_scratch(vm), WirePacket);
	WireMpls label[LABELS_MOST];
	ObjList *l = vm_list(vm, 0);

	(void)n;
	if (args[0].tag != VAL_PACKET)
		return vm_fail_type(vm, "a packet", args[0]);
	packet_view(vm, val_packet(args[0]), w);
	unsigned found = wire_icmp_mpls(w, label, LABELS_MOST);
	for (unsigned i = 0; i < found && i < LABELS_MOST; i++)
		vm_push(vm, l, val_int(label[i].label));
	*ret = val_of(l);
	return true;
}

bool bi_resolver(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);

	(void)args;
	(void)n;
	if (!e->resolver.n)
		return vm_fail(vm, "E-VALUE",
			       "this host has no resolver that the policy allows: say server=");
	*ret = vm_ip(vm, e->resolver.p[0]);
	return true;
}

bool bi_loss(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	int64_t sent, received;

	(void)n;
	if (!vm_to_int(vm, args[0], &sent) || !vm_to_int(vm, args[1], &received))
		return false;
	*ret = val_float(sent > 0 ? (double)(sent - received) / (double)sent : (double)NAN);
	return true;
}

/* RFC 3550 6.4.1 without its smoothing. */
bool bi_jitter(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Arena *a = vm_scratch(vm);

	(void)n;
	if (args[0].tag != VAL_LIST)
		return vm_fail_type(vm, "a list of durations", args[0]);
	const ObjList *l = val_list(args[0]);
	int64_t *v = arena_new_n(a, int64_t, l->h.n);
	for (uint32_t i = 0; i < l->h.n; i++)
		v[i] = l->p[i].tag == VAL_DURATION ? l->p[i].i : NS_NONE;
	*ret = val_duration(stats_jitter_ns(v, l->h.n));
	return true;
}

/* Evidence as it is printed: text of a peer in quotes, escaped (guardrails.md 7). */
static Str evidence_text(Vm *vm, const ObjStr *s)
{
	Sb out = sb(vm_scratch(vm));
	size_t at = 0;

	for (uint32_t i = 0; i < s->n_marks; i++) {
		Mark m = s->marks[i];

		sb_str(&out, (Str){ s->p + at, m.from - at });
		sb_char(&out, '"');
		escape_peer(&out, BYTES(s->p + m.from, m.to - m.from));
		sb_char(&out, '"');
		at = m.to;
	}
	sb_str(&out, (Str){ s->p + at, s->h.n - at });
	return sb_done(&out);
}

/* (code, evidence, count, peer) */
bool bi_warn(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Ip peer = WARN_NOBODY;
	Str code;
	int64_t count;

	(void)n;
	(void)ret;
	if (args[1].tag != VAL_STR)
		return vm_fail_type(vm, "a str", args[1]);
	if (!vm_to_str(vm, args[0], &code) || !vm_to_int(vm, args[2], &count))
		return false;
	if (!val_left_out(args[3]) && args[3].tag != VAL_NONE && !vm_to_ip(vm, args[3], &peer))
		return false;
	WarnId id = warn_by_code(code);
	if (id == WARN_N)
		return vm_fail(vm, "E-VALUE", "there is no warning %.*s", STR_ARG(code));
	Str evidence = evidence_text(vm, val_str(args[1]));
	warn_add(&e->warnings, id, peer, count < 0 ? 0 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count, "%.*s",
		 STR_ARG(evidence));
	return true;
}

bool bi_fail(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Str message;

	(void)n;
	(void)ret;
	return vm_to_str(vm, args[0], &message) && vm_fail_own(vm, "E-VALUE", message);
}
