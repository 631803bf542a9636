/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program reads of its connections: a row an attribute.
 */
#include "vm/live_tls.h"

#include "wire/fields.h"

#define TIMES_FIELD(name) p[A_TIMES_##name - A_TIMES_syn]
#define EVENT_FIELD(name) p[A_EVENT_##name - A_EVENT_time]

/* A stamp of the stack's. */
static Value stamp(const Engine *e, int64_t ns)
{
	int64_t at = engine_run_time(ns);

	return val_time(at == NS_NONE ? at : ns_later(e->epoch_ns, at));
}

static Value span(int64_t ns)
{
	return val_duration(ns > 0 ? ns : NS_NONE);
}

/* ---- Conn: numbers of the connection ---- */

#define CONN_ROWS(X)                                                                                 \
	X(snd_una, val_int(c->snd_una))                                                              \
	X(snd_nxt, val_int(c->snd_nxt))                                                              \
	X(snd_wnd, val_int(c->snd_wnd))                                                              \
	X(rcv_nxt, val_int(c->rcv_nxt))                                                              \
	X(rcv_wnd, val_int(tcp_rcv_wnd(c)))                                                          \
	X(unsent, val_int(tcp_unsent(c)))                                                            \
	X(unacked, val_int(tcp_unacked(c)))                                                          \
	X(cwnd, val_int(c->cwnd))                                                                    \
	X(ssthresh, val_int(c->ssthresh))                                                            \
	X(srtt, span(c->srtt_ns))                                                                    \
	X(rttvar, span(c->rttvar_ns))                                                                \
	X(rto, span(c->rto_ns))                                                                      \
	X(rtt, span(c->handshake_ns))                                                                \
	X(reporter, vm_ip(vm, c->icmp_from))                                                         \
	X(mss, val_int(c->snd_mss))                                                                  \
	X(mtu, val_int(c->mtu))                                                                      \
	X(retransmits, val_int((int64_t)c->out.fast + c->out.rto + c->out.tlp + c->out.syn_retries)) \
	X(timeouts, val_int(c->out.timeouts))                                                        \
	X(dup_acks, val_int(c->out.dup_acks))                                                        \
	X(reordered, val_int(c->out.reordered))                                                      \
	X(out_of_order, val_int(c->in.out_of_order))                                                 \
	X(zero_windows, val_int(c->out.zero_windows))                                                \
	X(sacks, val_int(c->out.sacks))                                                              \
	X(ecn, val_bool(c->ecn_ok))                                                                  \
	X(bytes_sent, val_int((int64_t)c->out.bytes))                                                \
	X(bytes_received, val_int((int64_t)c->in.bytes))                                             \
	X(max_in_flight, val_int(c->max_in_flight))                                                  \
	X(auto_ack, val_bool(c->auto_ack))                                                           \
	X(packets_left_out, val_int((int64_t)tcp_log_left_out(c)))

/* Of a connection that could not be made all is none. */
#define CONN_ATTR_(name, value)                                       \
	static bool a_##name(Vm *vm, Value self, Value *ret)          \
	{                                                             \
		static const TcpConn nothing;                         \
		const TcpConn *c = live_self(self)->tcp;              \
                                                                      \
		(void)vm;                                             \
		c = c ? c : &nothing;                                 \
		*ret = value;                                         \
		return true;                                          \
	}
CONN_ROWS(CONN_ATTR_)
#undef CONN_ATTR_

/* ---- Conn, Udp: ends and words ---- */

static bool a_state(Vm *vm, Value self, Value *ret)
{
	*ret = vm_str(vm, str_c(live_state(live_self(self))));
	return true;
}

static bool a_eof(Vm *vm, Value self, Value *ret)
{
	(void)vm;
	*ret = val_bool(live_eof(live_self(self)));
	return true;
}

static bool a_error(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	if (l->why)
		*ret = vm_str(vm, str_c(l->why));
	else if (l->tcp && l->tcp->error != TCP_ERR_NONE)
		*ret = vm_str(vm, str_c(tcp_error_text(l->tcp->error)));
	return true;
}

static bool a_icmp(Vm *vm, Value self, Value *ret)
{
	const TcpConn *c = live_self(self)->tcp;
	Sb said = sb(vm_scratch(vm));

	if (!c || !c->icmp)
		return true;
	uint8_t type = (uint8_t)(c->icmp >> 8), code = (uint8_t)c->icmp;

	wire_icmp_word(c->dst.v, type, code, &said);
	sb_printf(&said, " (type %u code %u)", type, code);
	*ret = vm_str(vm, sb_done(&said));
	return true;
}

static bool a_src(Vm *vm, Value self, Value *ret)
{
	*ret = vm_ip(vm, live_self(self)->src);
	return true;
}

static bool a_dst(Vm *vm, Value self, Value *ret)
{
	*ret = vm_ip(vm, live_self(self)->dst);
	return true;
}

static bool a_sport(Vm *vm, Value self, Value *ret)
{
	(void)vm;
	*ret = val_int(live_self(self)->sport);
	return true;
}

static bool a_dport(Vm *vm, Value self, Value *ret)
{
	(void)vm;
	*ret = val_int(live_self(self)->dport);
	return true;
}

/* ---- Conn: options, stamps, the log ---- */

/* Option objects of bytes as they stood in a SYN. */
static bool options_list(Vm *vm, Bytes b, bool received, Value *ret)
{
	WireLayer *l = arena_new(vm_scratch(vm), WireLayer);

	wire_layer_init(l, wire_proto(WIRE_TCP), vm_scratch(vm));
	wire_set_bytes(l, F_TCP_OPTIONS, b);
	*ret = packet_field(vm, l, F_TCP_OPTIONS, received);
	if (ret->tag == VAL_NONE)
		*ret = val_of(vm_list(vm, 0));
	return true;
}

static bool a_options(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	return options_list(vm, BYTES(l->offered, l->n_offered), false, ret);
}

static bool a_peer_options(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	return options_list(vm, BYTES(l->peer, l->n_peer), true, ret);
}

static bool a_times(Vm *vm, Value self, Value *ret)
{
	static const TcpTimes never;
	const Engine *e = vm_ctx(vm);
	const Live *l = live_self(self);
	const TcpTimes *t = l->tcp ? &l->tcp->times : &never;
	ObjResult *r = vm_result(vm, OWNER_TIMES);
	Value *p = r->p;

	TIMES_FIELD(syn) = stamp(e, t->syn);
	TIMES_FIELD(synack) = stamp(e, t->synack);
	TIMES_FIELD(first_sent) = stamp(e, t->first_sent);
	TIMES_FIELD(first_acked) = stamp(e, t->first_acked);
	TIMES_FIELD(first_byte) = stamp(e, t->first_byte);
	TIMES_FIELD(last_byte) = stamp(e, t->last_byte);
	*ret = val_of(r);
	return true;
}

static bool a_packets(Vm *vm, Value self, Value *ret)
{
	const Engine *e = vm_ctx(vm);
	const Live *l = live_self(self);
	ObjList *list = vm_list(vm, 0);
	TcpLogIter it = { 0 };
	TcpLogged seg;

	while (l->tcp && tcp_log_next(l->tcp, &it, &seg)) {
		if (!seg.packet.n)
			continue;
		WireId first = seg.packet.p[0] >> 4 == 4 ? WIRE_IP : WIRE_IPV6;
		ObjPacket *p = packet_from_frame(vm, seg.packet, first, seg.out ? OP_SENT : OP_RECEIVED);

		p->time = stamp(e, seg.ns).i;
		vm_push(vm, list, val_of(p));
		vm_charge(vm, 4 + seg.packet.n / 8);
	}
	*ret = val_of(list);
	return true;
}

static bool a_events(Vm *vm, Value self, Value *ret)
{
	enum { TEXT = 160 };
	const Engine *e = vm_ctx(vm);
	const Live *l = live_self(self);
	ObjList *list = vm_list(vm, 0);
	TcpLogIter it = { 0 };
	char text[TEXT];
	TcpEvent ev;

	while (l->tcp && tcp_event_next(l->tcp, &it, &ev)) {
		ObjResult *r = vm_result(vm, OWNER_EVENT);
		Value *p = r->p;

		tcp_event_text(&ev, text, sizeof text);
		EVENT_FIELD(time) = stamp(e, ev.ns);
		EVENT_FIELD(kind) = vm_str(vm, str_c(tcp_event_name((TcpEventKind)ev.kind)));
		EVENT_FIELD(text) = vm_str(vm, str_c(text));
		vm_push(vm, list, val_of(r));
		vm_charge(vm, 8);
	}
	*ret = val_of(list);
	return true;
}

bool net_set_attr(Vm *vm, ObjNative *self, Str name, Value v)
{
	Engine *e = vm_ctx(vm);
	const Live *l = self->data;

	if (self->owner != OWNER_CONN || !str_is(name, "auto_ack"))
		return vm_fail(vm, "E-TYPE", ".%.*s can't be set", STR_ARG(name));
	if (l->tcp && !l->retired)
		tcp_auto_ack(l->tcp, engine_stack_now(e), val_truth(v));
	engine_conn_run(e);
	return true;
}

/* ---- Listener, Udp ---- */

static bool a_listener_port(Vm *vm, Value self, Value *ret)
{
	(void)vm;
	*ret = val_int(((const Listener *)val_native(self)->data)->port);
	return true;
}

static bool a_udp_error(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	if (l->why)
		*ret = vm_str(vm, str_c(l->why));
	else if (l->udp && l->udp->error.ns)
		*ret = vm_str(vm, str_printf(vm_scratch(vm), "ICMP type %u code %u", l->udp->error.icmp >> 8,
					     l->udp->error.icmp & 255));
	return true;
}

static bool a_udp_sent(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	(void)vm;
	*ret = val_int(l->udp ? (int64_t)l->udp->count.sent : 0);
	return true;
}

static bool a_udp_received(Vm *vm, Value self, Value *ret)
{
	const Live *l = live_self(self);

	(void)vm;
	*ret = val_int(l->udp ? (int64_t)l->udp->count.received : 0);
	return true;
}

#define CONN_ROW_(name, value) [A_CONN_##name] = a_##name,
AttrFn *const net_attrs[A_N] = {
	CONN_ROWS(CONN_ROW_)
	[A_CONN_state] = a_state,
	[A_CONN_eof] = a_eof,
	[A_CONN_error] = a_error,
	[A_CONN_icmp] = a_icmp,
	[A_CONN_src] = a_src,
	[A_CONN_dst] = a_dst,
	[A_CONN_sport] = a_sport,
	[A_CONN_dport] = a_dport,
	[A_CONN_options] = a_options,
	[A_CONN_peer_options] = a_peer_options,
	[A_CONN_times] = a_times,
	[A_CONN_packets] = a_packets,
	[A_CONN_events] = a_events,
	[A_LISTENER_port] = a_listener_port,
	[A_UDP_src] = a_src,
	[A_UDP_dst] = a_dst,
	[A_UDP_sport] = a_sport,
	[A_UDP_dport] = a_dport,
	[A_UDP_error] = a_udp_error,
	[A_UDP_sent] = a_udp_sent,
	[A_UDP_received] = a_udp_received,
	[A_LOAD_running] = a_load_running,
	[A_LOAD_state] = a_load_state,
	[A_LOAD_sent] = a_load_sent,
	[A_LOAD_acked] = a_load_acked,
	[A_LOAD_throughput] = a_load_throughput,
	[A_LOAD_retransmits] = a_load_retransmits,
};
