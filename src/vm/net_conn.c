/* SPDX-License-Identifier: Apache-2.0
 *
 * connect, listen, datagram, and what is done with them.  Each wait is the engine's:
 * one message, then the condition.
 */
#include "vm/live_tls.h"

#include "base/rng.h"
#include "wire/fields.h"

enum {
	PORT_TRIES = 64, /* source ports looked at for one that this peer's port does not know yet */
	PEEK_BYTES = 4096,
	RECV_MOST = 16 * 1024 * 1024,
	DGRAM_MOST = 65535,
	TTL_MOST = 255,
	WSCALE_MOST = 14,    /* RFC 7323 2.3 */
	WINDOW_MOST = 16 * 1024 * 1024,
	MSS_LEAST = 64,
	BACKLOG = 128,
	V4_HEADS = 40,
	V6_HEADS = 60,
	LISTEN_MSS = 1460,
	CONN_WINDOW = 65535,
	CONN_WSCALE = 7,
};

/* ---- waiting ---- */

typedef bool Done(const Live *l, const void *ctx);

/* What came is looked at first.  False: the run has ended. */
static bool test(Engine *e, Live *l, Done *done, const void *ctx, bool *ret_done)
{
	if (!live_pump(e, l))
		return false;
	*ret_done = done(l, ctx);
	return true;
}

/* Until done says so: *ret_done; or for that time.  False: the run has ended. */
static bool wait_for(Vm *vm, Live *l, int64_t timeout_ns, Done *done, const void *ctx, bool *ret_done)
{
	Engine *e = vm_ctx(vm);

	if (!test(e, l, done, ctx, ret_done))
		return engine_halt(e, vm);
	if (*ret_done)
		return true;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	int64_t until = ns_later(e->now_ns, timeout_ns);

	for (;;) {
		if (!test(e, l, done, ctx, ret_done))
			return engine_halt(e, vm);
		if (*ret_done || e->now_ns >= until)
			return true;
		if (!engine_step(e, until))
			return engine_halt(e, vm);
	}
}

static bool timeout_of(Vm *vm, Value v, int64_t *ret_ns)
{
	if (!vm_to_duration(vm, v, ret_ns))
		return false;
	if (*ret_ns == NS_NONE || *ret_ns < 0)
		*ret_ns = 0;
	return true;
}

const char *live_state(const Live *l)
{
	return l->tcp ? tcp_public_state(l->tcp) : "unreachable";
}

static void warn_not_open(Engine *e, const Live *l, const char *what)
{
	char dst[IP_TEXT];

	ip_format(l->dst, dst);
	warn_add(&e->warnings, WARN_NOT_OPEN, l->dst, 1, "%s on a connection to %s port %u that is %s", what, dst,
		 l->dport, live_state(l));
}

/* ---- opening ---- */

bool net_live_open(Engine *e, Vm *vm, Value dst, Value dport, LiveOpen *ret_open)
{
	LiveOpen *o = ret_open;
	int64_t port;

	e->vm = vm;
	*o = (LiveOpen){ 0 };
	if (!vm_to_ip(vm, dst, &o->dst) || !vm_to_int(vm, dport, &port))
		return false;
	if (port < 0 || port > UINT16_MAX)
		return vm_fail(vm, "E-VALUE", "a port is 0..65535");
	o->dport = (uint16_t)port;
	o->route = engine_route(e, o->dst);
	if (!o->route)
		return engine_halt(e, vm);
	const HostIface *i = engine_iface(e, o->route->iface);
	o->n = engine_count_to(e, o->dst);
	o->src = o->route->src;
	o->mtu = o->route->mtu ? o->route->mtu : i ? i->mtu : 1500;
	return true;
}

static Live *live_none(Engine *e, const LiveOpen *o, const char *why)
{
	return engine_live_add(e, &(Live){ .src = o->src, .dst = o->dst, .dport = o->dport, .why = why });
}

static Live *port_user(Engine *e, uint8_t proto, const LiveOpen *o, uint16_t port)
{
	const PacketId id = { .v = o->src.v, .proto = proto, .have = HAVE_HEADER, .src = o->src, .dst = o->dst,
			      .a = port, .b = o->dport };

	return engine_live_of(e, &id, true);
}

static bool port_is_free(Engine *e, uint8_t proto, const LiveOpen *o, uint16_t port)
{
	const Live *l = port_user(e, proto, o, port);

	return !l || (l->tcp && l->tcp->state == TCP_CLOSED);
}

/* Another connection takes a closed one's place: of the old one its figures stay, the
 * log goes. */
static void make_room(Engine *e, const LiveOpen *o, uint16_t port)
{
	Live *l = port_user(e, PROTO_TCP, o, port);

	if (!l || !l->tcp || l->tcp->state != TCP_CLOSED)
		return;
	TcpConn *figures = arena_copy(e->a, l->tcp, sizeof *figures);

	figures->log = figures->events = NULL;
	figures->ooo = NULL;
	figures->tx = figures->rx = (ByteChain){ 0 };
	figures->seg_first = figures->seg_last = figures->sent_first = figures->sent_last = NULL;
	tcp_release(l->tcp, engine_stack_now(e));
	l->tcp = figures;
	l->retired = true;
}

/* A port that no connection of ours to that endpoint uses: in turn, by the number of packets
 * to that peer, so that it tells nothing of others; else one that the gate did not hold yet. */
static bool free_port(Engine *e, uint8_t proto, const LiveOpen *o, uint16_t *ret_port)
{
	bool held;

	for (unsigned i = 0; i < PORT_TRIES; i++) {
		*ret_port = identity_port(&e->pool, proto, o->src, o->dst, o->n + i);
		if (*ret_port && port_is_free(e, proto, o, *ret_port))
			return true;
	}
	*ret_port = 0;
	if (!engine_claim(e, proto, o->src, 0, &held))
		return false;
	if (held && port_is_free(e, proto, o, e->reply.claimed.port))
		*ret_port = e->reply.claimed.port;
	return true;
}

/* The port that is asked for, or a free one; 0: it is not ours, or none is. */
static bool own_port(Engine *e, uint8_t proto, const LiveOpen *o, int64_t asked, uint16_t *ret_port)
{
	bool held;

	if (!asked)
		return free_port(e, proto, o, ret_port);
	if (!engine_claim(e, proto, o->src, (uint16_t)asked, &held))
		return false;
	*ret_port = held ? (uint16_t)asked : 0;
	return true;
}

/* sport as it was asked for; 0: any. */
static bool port_asked(Vm *vm, Value v, int64_t *ret_port)
{
	*ret_port = 0;
	if (val_left_out(v))
		return true;
	if (!vm_to_int(vm, v, ret_port))
		return false;
	return (*ret_port > 0 && *ret_port <= UINT16_MAX) || vm_fail(vm, "E-VALUE", "a source port is 1..65535");
}

/* guardrails.md 5: what is filled in is a function of seed, destination and number of the
 * packet to that destination. */
static uint64_t live_seed(const Engine *e, const LiveOpen *o)
{
	return rng_draw(e->seed, bytes_hash(BYTES(o->dst.b, sizeof o->dst.b)), o->n) | 1;
}

Live *net_live_tcp(Engine *e, const LiveOpen *o, TcpOpen *t, int64_t sport)
{
	if (!o->route->ok)
		return live_none(e, o, "no route");
	if (!own_port(e, PROTO_TCP, o, sport, &t->sport))
		return NULL;
	if (!t->sport)
		return live_none(e, o, "the source port is not ours");
	t->src = o->src;
	t->dst = o->dst;
	t->dport = o->dport;
	t->mtu = o->mtu;
	make_room(e, o, t->sport);
	t->seed = live_seed(e, o);
	TcpConn *c = tcp_connect(engine_stack(e), engine_stack_now(e), t);
	if (!c)
		return live_none(e, o, "no memory is left, or the port is in use");
	return engine_live_add(e, &(Live){ .tcp = c, .src = t->src, .dst = t->dst, .sport = t->sport, .dport = t->dport });
}

Live *net_live_datagram(Engine *e, const LiveOpen *o, int64_t sport, uint8_t tos)
{
	uint16_t port;

	if (!o->route->ok)
		return live_none(e, o, "no route");
	if (!own_port(e, PROTO_UDP, o, sport, &port))
		return NULL;
	DgramOpen d = {
		.src = o->src, .dst = o->dst, .sport = port, .dport = o->dport, .mtu = o->mtu, .ttl = 64, .tos = tos
	};

	d.seed = live_seed(e, o);
	DgramSocket *s = port ? dgram_open(engine_stack(e), engine_stack_now(e), &d) : NULL;
	if (!s)
		return live_none(e, o, port ? "no memory is left, or the port is in use" : "the source port is not ours");
	return engine_live_add(e, &(Live){ .udp = s, .src = o->src, .dst = o->dst, .sport = port, .dport = o->dport });
}

TcpOpen net_live_defaults(void)
{
	return (TcpOpen){ .wscale = CONN_WSCALE,
			  .sack = true,
			  .timestamps = true,
			  .window = CONN_WINDOW,
			  .send_buffer = LIMIT_SEND_BUFFER,
			  .ttl = 64,
			  .log = true };
}

/* The arguments behind src: mss, wscale, sack, timestamps, ecn, window, ttl, tos. */
static bool offers(Vm *vm, const Value *args, uint32_t mtu, bool v6, TcpOpen *t)
{
	int64_t mss, wscale = WSCALE_NONE, window, ttl, tos;
	int64_t most = (int64_t)mtu - (v6 ? V6_HEADS : V4_HEADS);

	if (!vm_to_int(vm, args[0], &mss) || (!val_left_out(args[1]) && !vm_to_int(vm, args[1], &wscale)) ||
	    !vm_to_int(vm, args[5], &window) || !vm_to_int(vm, args[6], &ttl) || !vm_to_int(vm, args[7], &tos))
		return false;
	if (mss < MSS_LEAST || mss > UINT16_MAX)
		return vm_fail(vm, "E-VALUE", "mss is %d..65535", MSS_LEAST);
	if (!val_left_out(args[1]) && (wscale < 0 || wscale > WSCALE_MOST))
		return vm_fail(vm, "E-VALUE", "wscale is 0..%d, or None", WSCALE_MOST);
	if (window < 1 || window > WINDOW_MOST)
		return vm_fail(vm, "E-VALUE", "window is 1..%d bytes", WINDOW_MOST);
	if (ttl < 1 || ttl > TTL_MOST || tos < 0 || tos > TTL_MOST)
		return vm_fail(vm, "E-VALUE", "ttl is 1..255, tos 0..255");
	t->mss = (uint16_t)(mss < most ? mss : most);
	t->wscale = (uint8_t)wscale;
	t->sack = val_truth(args[2]);
	t->timestamps = val_truth(args[3]);
	t->ecn = val_truth(args[4]);
	t->window = (uint32_t)window;
	t->ttl = (uint8_t)ttl;
	t->tos = (uint8_t)tos;
	return true;
}

static bool is_settled(const Live *l, const void *ctx)
{
	(void)ctx;
	return !l->tcp || (l->tcp->state != TCP_SYN_SENT && l->tcp->state != TCP_SYN_RECEIVED);
}

/* (dst, dport, timeout, sport, src, mss, wscale, sack, timestamps, ecn, window, ttl, tos) */
bool bi_connect(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	TcpOpen t = net_live_defaults();
	int64_t sport;
	LiveOpen o;
	bool settled;

	(void)n;
	if (!net_live_open(e, vm, args[0], args[1], &o) || !timeout_of(vm, args[2], &t.timeout_ns) ||
	    !port_asked(vm, args[3], &sport) || (!val_left_out(args[4]) && !vm_to_ip(vm, args[4], &o.src)) ||
	    !offers(vm, args + 5, o.mtu, o.dst.v == 6, &t))
		return false;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	Live *l = net_live_tcp(e, &o, &t, sport);
	if (!l)
		return engine_halt(e, vm);
	engine_conn_run(e);
	/* the stack itself gives up at the time-out */
	if (!wait_for(vm, l, INT64_MAX, is_settled, NULL, &settled))
		return false;
	*ret = val_of(vm_native(vm, OWNER_CONN, 0, l));
	return true;
}

/* (dst, dport, sport) */
bool bi_datagram(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	int64_t sport;
	LiveOpen o;

	(void)n;
	if (!net_live_open(e, vm, args[0], args[1], &o) || !port_asked(vm, args[2], &sport))
		return false;
	Live *l = net_live_datagram(e, &o, sport, 0);

	if (!l)
		return engine_halt(e, vm);
	*ret = val_of(vm_native(vm, OWNER_UDP, 0, l));
	return true;
}

/* ---- listen, accept ---- */

static bool listen_peers(Vm *vm, Value rest, Listener *l)
{
	for (uint32_t i = 0; i < rest.o->n; i++) {
		if (l->n_peers == LISTEN_PEERS)
			return vm_fail(vm, "E-VALUE", "at most %d networks may connect", LISTEN_PEERS);
		if (!vm_to_net(vm, val_tuple(rest)->p[i], &l->peers[l->n_peers++]))
			return false;
	}
	return true;
}

/* Our address towards those who may connect. */
static bool listen_address(Engine *e, const Listener *l, Ip *ret_ip)
{
	Ip first, last;

	*ret_ip = (Ip){ 0 };
	if (!l->n_peers)
		return true;
	net_range(l->peers[0], &first, &last);
	const Route *r = engine_route(e, last);
	if (r && r->ok)
		*ret_ip = r->src;
	return r != NULL;
}

/* (port, *peers) */
bool bi_listen(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Listener *l = arena_new(e->a, Listener);
	TcpOpen t = net_live_defaults();
	int64_t port;
	bool held = false;

	(void)n;
	if (!vm_to_int(vm, args[0], &port) || !listen_peers(vm, args[1], l))
		return false;
	if (port < 1 || port > UINT16_MAX)
		return vm_fail(vm, "E-VALUE", "a port is 1..65535");
	l->port = (uint16_t)port;
	if (!listen_address(e, l, &l->src) ||
	    (l->src.v && !engine_claim(e, PROTO_TCP, l->src, l->port, &held)))
		return engine_halt(e, vm);
	if (!held)
		return vm_fail(vm, "E-POLICY", "port %u is not ours to listen on", l->port);
	e->vm = vm;
	t.seed = e->seed | 1;
	t.mss = LISTEN_MSS;
	t.mtu = LISTEN_MSS + V4_HEADS;
	l->tcp = tcp_listen(engine_stack(e), l->src, l->port, BACKLOG, &t);
	if (!l->tcp)
		return vm_fail(vm, "E-VALUE", "the program listens on port %u already", l->port);
	vec_push(e->a, &e->listener, l);
	*ret = val_of(vm_native(vm, OWNER_LISTENER, 0, l));
	return true;
}

/* (self, timeout) */
static bool m_accept(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Listener *l = val_native(args[0])->data;
	int64_t timeout;
	TcpConn *c;

	(void)n;
	if (!timeout_of(vm, args[1], &timeout))
		return false;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	int64_t until = ns_later(e->now_ns, timeout);

	while (!(c = tcp_accept(l->tcp)) && e->now_ns < until)
		if (!engine_step(e, until))
			return engine_halt(e, vm);
	if (!c)
		return true;
	*ret = val_of(vm_native(vm, OWNER_CONN, 0,
				engine_live_add(e, &(Live){ .tcp = c,
							    .src = c->src,
							    .dst = c->dst,
							    .sport = c->sport,
							    .dport = c->dport })));
	return true;
}

/* ---- send ---- */

/* (self, data) */
static bool m_send(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);
	Bytes b;

	(void)n;
	(void)ret;
	if (!vm_to_bytes(vm, args[1], &b))
		return false;
	vm_charge(vm, b.n / 8);
	if (!live_open(l) || l->tcp->closing) {
		warn_not_open(e, l, "send");
		return true;
	}
	return live_write(e, l, b) || engine_halt(e, vm);
}

/* ---- recv ---- */

/* What is looked for in the bytes that came, and how far that has been done. */
typedef struct Search {
	Bytes until; /* empty: anything will do */
	size_t max;
	size_t *looked; /* bytes that hold no start of it */
	size_t *found;	/* how many to give, 0: not yet */
} Search;

/* Where `until` ends in what came; pieces overlap by its length. */
static size_t end_of(const Search *s, const Live *l, size_t readable)
{
	uint8_t buf[PEEK_BYTES];
	size_t m = s->until.n;

	while (*s->looked + m <= readable) {
		size_t n = live_peek(l, *s->looked, buf, sizeof buf);
		const uint8_t *at = n >= m ? memmem(buf, n, s->until.p, m) : NULL;

		if (at)
			return *s->looked + (size_t)(at - buf) + m;
		if (n < m)
			break;
		*s->looked += n - m + 1;
	}
	return 0;
}

static bool has_bytes(const Live *l, const void *ctx)
{
	const Search *s = ctx;
	size_t n = live_readable(l);

	if (s->until.n && n)
		*s->found = end_of(s, l, n);
	else
		*s->found = n;
	if (*s->found > s->max || (s->until.n && n >= s->max && !*s->found))
		*s->found = s->max;
	return *s->found || live_ended(l);
}

static bool give(Vm *vm, Live *l, size_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	uint8_t *buf = heap_block(vm_heap(vm), n + 1);
	size_t got = live_take(e, l, buf, n);

	*ret = vm_bytes_peer(vm, BYTES(buf, got));
	heap_free(vm_heap(vm), buf, n + 1);
	vm_charge(vm, got / 8);
	engine_conn_run(e); /* the window may be worth telling */
	return true;
}

/* (self, max, until, timeout) */
static bool m_recv(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Live *l = live_self(args[0]);
	size_t looked = 0, found = 0;
	Search s = { .looked = &looked, .found = &found };
	int64_t max, timeout;
	bool done;

	(void)n;
	if (!vm_to_int(vm, args[1], &max) || (!val_left_out(args[2]) && !vm_to_bytes(vm, args[2], &s.until)) ||
	    !timeout_of(vm, args[3], &timeout))
		return false;
	s.max = max < 1 ? 1 : max > RECV_MOST ? RECV_MOST : (size_t)max;
	if (!wait_for(vm, l, timeout, has_bytes, &s, &done))
		return false;
	size_t there = live_readable(l);

	if (!found) /* the time-out, or the end: what is there */
		found = there < s.max ? there : s.max;
	return give(vm, l, found, ret);
}

/* ---- flush, wait, close, reset ---- */

static bool is_flushed(const Live *l, const void *ctx)
{
	(void)ctx;
	return !l->tcp || (!tcp_unsent(l->tcp) && !tcp_unacked(l->tcp)) || l->tcp->state == TCP_CLOSED;
}

/* (self, timeout) */
static bool m_flush(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Live *l = live_self(args[0]);
	int64_t timeout;
	bool done;

	(void)n;
	if (!timeout_of(vm, args[1], &timeout) || !wait_for(vm, l, timeout, is_flushed, NULL, &done))
		return false;
	*ret = val_bool(l->tcp && l->tcp->was_open && !tcp_unsent(l->tcp) && !tcp_unacked(l->tcp));
	return true;
}

static bool is_in_state(const Live *l, const void *ctx)
{
	return str_is(*(const Str *)ctx, live_state(l));
}

/* (self, state, timeout) */
static bool m_wait(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	int64_t timeout;
	bool done;
	Str state;

	(void)n;
	if (!vm_to_str(vm, args[1], &state) || !timeout_of(vm, args[2], &timeout) ||
	    !wait_for(vm, live_self(args[0]), timeout, is_in_state, &state, &done))
		return false;
	*ret = val_bool(done);
	return true;
}

static bool m_close(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);

	(void)n;
	(void)ret;
	if (!live_close(e, l))
		return engine_halt(e, vm);
	if (l->tcp && !l->retired)
		tcp_close(l->tcp, engine_stack_now(e));
	engine_conn_run(e);
	return true;
}

static bool m_reset(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);

	(void)n;
	(void)ret;
	if (l->tcp && !l->retired)
		tcp_reset(l->tcp, engine_stack_now(e));
	engine_conn_run(e);
	return true;
}

/* ---- segments made by hand ---- */

/* Options as the connection would send them: the bytes behind the fixed header. */
static Value own_options(Vm *vm, const Live *l)
{
	Engine *e = vm_ctx(vm);
	const TcpCraft k = { .flags = TCP_ACK };
	uint8_t buf[2 * TCP_OPTIONS_MOST + V6_HEADS];
	size_t n = l->tcp && !l->retired ? tcp_craft(l->tcp, engine_stack_now(e), &k, buf, sizeof buf) : 0;
	PacketId id;

	if (!n || !packet_id_read(BYTES(buf, n), buf[0] >> 4 == 4 ? WIRE_IP : WIRE_IPV6, &id) || id.body.n < 20)
		return vm_bytes(vm, (Bytes){ 0 });
	return vm_bytes(vm, bytes_slice(id.body, 20, id.body.n - id.payload.n));
}

static Value given_or(Value v, int64_t otherwise)
{
	return val_left_out(v) ? val_int(otherwise) : v;
}

static bool tcp_layer(Vm *vm, const Live *l, const Value *args, Value *ret)
{
	static const uint8_t fields[] = { F_TCP_SPORT, F_TCP_DPORT, F_TCP_FLAGS,  F_TCP_SEQ,
					  F_TCP_ACK,   F_TCP_WINDOW, F_TCP_OPTIONS };
	const TcpConn *c = l->tcp;
	uint32_t window = c ? tcp_rcv_wnd(c) >> c->rcv_wscale : 0;
	const Value v[] = { val_int(l->sport),
			    val_int(l->dport),
			    args[0],
			    given_or(args[1], c ? c->snd_nxt : 0),
			    given_or(args[2], c ? c->rcv_nxt : 0),
			    given_or(args[3], window > UINT16_MAX ? UINT16_MAX : window),
			    val_left_out(args[5]) ? own_options(vm, l) : args[5] };

	return packet_make(vm, wire_proto(WIRE_TCP), fields, v, sizeof fields, ret);
}

static bool ip_layer(Vm *vm, const Live *l, Value ttl, Value *ret)
{
	static const uint8_t v4[] = { F_IP_SRC, F_IP_DST, F_IP_TTL }, v6[] = { F_IPV6_SRC, F_IPV6_DST, F_IPV6_HLIM };
	bool is6 = l->dst.v == 6;
	const Value v[] = { vm_ip(vm, l->src), vm_ip(vm, l->dst), ttl };

	return packet_make(vm, wire_proto(is6 ? WIRE_IPV6 : WIRE_IP), is6 ? v6 : v4, v, sizeof v4, ret);
}

/* (self, flags, seq, ack, window, ttl, options) */
static bool m_packet(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Live *l = live_self(args[0]);
	Value ip, tcp;

	(void)n;
	if (!ip_layer(vm, l, args[5], &ip) || !tcp_layer(vm, l, args + 1, &tcp) || !packet_stack(vm, ip, tcp, ret))
		return false;
	if (ret->tag != VAL_PACKET)
		return vm_fail(vm, "E-TYPE", "a segment of a connection is one packet");
	val_packet(*ret)->h.bits |= OP_CONN;
	return true;
}

/* ---- datagrams ---- */

/* (self, data) */
static bool m_udp_send(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);
	DgramSent sent;
	Bytes b;

	(void)n;
	(void)ret;
	if (!vm_to_bytes(vm, args[1], &b))
		return false;
	if (!l->udp)
		return true;
	while ((sent = dgram_send(l->udp, b)) == DGRAM_FULL) {
		engine_conn_run(e);
		if (!engine_step(e, NS_NONE))
			return engine_halt(e, vm);
	}
	if (sent == DGRAM_TOO_LONG)
		warn_add(&e->warnings, WARN_NOT_SENT, WARN_NOBODY, 1, "%s: a datagram of %zu bytes",
			 notsent_text(NOTSENT_TOO_LONG), b.n);
	engine_conn_run(e);
	return true;
}

/* (self, timeout) */
static bool m_udp_recv(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);
	int64_t timeout;
	DgramIn in;

	(void)n;
	if (!timeout_of(vm, args[1], &timeout))
		return false;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	int64_t until = ns_later(e->now_ns, timeout);
	uint8_t *buf = heap_block(vm_heap(vm), DGRAM_MOST);
	bool got, on = true;

	while (!(got = l->udp && dgram_recv(l->udp, buf, DGRAM_MOST, &in)) && on && e->now_ns < until)
		on = engine_step(e, until);
	*ret = vm_bytes_peer(vm, BYTES(buf, got ? in.bytes : 0));
	heap_free(vm_heap(vm), buf, DGRAM_MOST);
	return on || engine_halt(e, vm);
}

BuiltinFn *const net_methods[M_N] = {
	[M_CONN_send] = m_send,	      [M_CONN_recv] = m_recv,
	[M_CONN_flush] = m_flush,     [M_CONN_wait] = m_wait,
	[M_CONN_close] = m_close,     [M_CONN_reset] = m_reset,
	[M_CONN_start_tls] = m_start_tls,
	[M_CONN_packet] = m_packet,   [M_LISTENER_accept] = m_accept,
	[M_UDP_send] = m_udp_send,    [M_UDP_recv] = m_udp_recv,
	[M_LOAD_stop] = m_load_stop,
};
