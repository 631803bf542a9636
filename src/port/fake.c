/* SPDX-License-Identifier: Apache-2.0
 *
 * The port itself: messages in, events out, in the order of virtual time.
 */
#include "port/fake_inside.h"

#include "deal/manifest.h"

enum { FIRST_PORT = 61000, IFACE_INDEX = 2, NEIGHBOUR_TRIES_S = 3 };

/* ---- events: a binary heap by (time, order of making) ---- */

static bool before(const FakeEvent *a, const FakeEvent *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(FakeEvent *a, FakeEvent *b)
{
	FakeEvent keep = *a;

	*a = *b;
	*b = keep;
}

static void add_event(Fake *f, const FakeEvent *e)
{
	vec_push(f->a, &f->event, *e);
	for (uint32_t i = f->event.n - 1; i && before(&f->event.p[i], &f->event.p[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&f->event.p[i], &f->event.p[(i - 1) / 2]);
}

void fake_event(Fake *f, int64_t at, const Msg *m)
{
	add_event(f, &(FakeEvent){ .at = at, .order = f->order++, .m = *m });
}

void fake_peer_event(Fake *f, FakeHost *h, int64_t at, Bytes packet)
{
	add_event(f, &(FakeEvent){ .at = at, .order = f->order++, .peer = h, .packet = packet });
}

static FakeEvent take_event(Fake *f)
{
	FakeEvent first = f->event.p[0], *p = f->event.p;
	uint32_t n = --f->event.n;

	p[0] = p[n];
	for (uint32_t i = 0;;) {
		uint32_t least = i, left = 2 * i + 1;

		if (left < n && before(&p[left], &p[least]))
			least = left;
		if (left + 1 < n && before(&p[left + 1], &p[least]))
			least = left + 1;
		if (least == i)
			return first;
		swap(&p[i], &p[least]);
		i = least;
	}
}

double fake_chance(Fake *f)
{
	return (double)(rng_draw(f->seed, 1, f->draws++) >> 11) * 0x1p-53;
}

/* ---- hashing ---- */

static void hash_msg(Fake *f, const Msg *m)
{
	static uint8_t buf[LIMIT_MSG + 16];
	Writer w = writer(buf, sizeof buf);

	msg_put(&w, m);
	f->hash = rng_mix(f->hash ^ bytes_hash(wr_done(&w)));
}

/* ---- before GO ---- */

static void now_event(Fake *f, Msg m)
{
	fake_event(f, f->now, &m);
}

static void start_addresses(Fake *f)
{
	Msg addr = { .type = MSG_ADDR, .addr = { IFACE_INDEX, f->ip, f->net.bits } };
	Msg route = { .type = MSG_ROUTE_ROW,
		      .route_row = { f->net.ip, f->net.bits, { 0 }, IFACE_INDEX, 0, f->ip } };

	now_event(f, addr);
	if (f->ip6.v) {
		addr.addr.ip = f->ip6;
		addr.addr.bits = f->net6.bits;
		now_event(f, addr);
	}
	now_event(f, route);
	if (f->gateway.v) {
		route.route_row.net = ip4(0);
		route.route_row.bits = 0;
		route.route_row.gw = f->gateway;
		now_event(f, route);
	}
}

static void start_ports(Fake *f)
{
	for (uint32_t i = 0; i < f->ports; i++)
		for (int udp = 0; udp < 2; udp++) {
			Msg m = { .type = MSG_OWN_PORT,
				  .own_port = { udp ? 17 : 6, (uint16_t)(FIRST_PORT + i), f->ip } };

			now_event(f, m);
			if (f->ip6.v) {
				m.own_port.src = f->ip6;
				now_event(f, m);
			}
		}
	now_event(f, (Msg){ .type = MSG_OWN_PORT, .own_port = { 1, 4711, f->ip } });
	if (f->ip6.v)
		now_event(f, (Msg){ .type = MSG_OWN_PORT, .own_port = { 58, 4711, f->ip6 } });
}

static void start(Fake *f)
{
	uint64_t mac = bits_get(f->mac.b, 0, 48);

	f->started = true;
	for (uint32_t i = 0; i < f->pin.n; i++)
		now_event(f,
			  (Msg){ .type = MSG_PIN, .pin = { str_bytes(f->pin.p[i].name), f->pin.p[i].ip } });
	now_event(f, (Msg){ .type = MSG_IFACE,
			    .iface = { IFACE_INDEX, str_bytes(f->iface), mac, f->mtu, 1, 1 } });
	start_addresses(f);
	start_ports(f);
	for (uint32_t i = 0; i < f->resolver.n; i++)
		now_event(f, (Msg){ .type = MSG_RESOLVER, .resolver = { f->resolver.p[i] } });
	fake_peers_start(f);
	now_event(f, (Msg){ .type = MSG_GO, .go = { 1800000000 * NS_PER_S, f->seed, f->limit_time, f->leak, f->measurements } });
}

/* ---- requests ---- */

static void stop(Fake *f, int64_t at, StopReason why, const char *detail)
{
	Msg m = { .type = MSG_STOP, .stop = { (uint8_t)why, str_bytes(str_c(detail)) } };

	if (!f->stopped)
		fake_event(f, at, &m);
	f->stopped = true;
}

static void notsent(Fake *f, uint32_t tx_id, int64_t at, NotSent why, const char *detail)
{
	Msg m = { .type = MSG_NOTSENT, .notsent = { tx_id, (uint8_t)why, str_bytes(str_c(detail)) } };

	f->count.notsent++;
	fake_event(f, at, &m);
	if (why == NOTSENT_FRAME && ++f->refused >= LIMIT_REFUSED)
		stop(f, at, STOP_REFUSED, "refused frames");
}

static void sent(Fake *f, uint32_t tx_id, int64_t at)
{
	Msg m = { .type = MSG_SENT, .sent = { tx_id, at, STAMP_VIRTUAL, f->local_queue, 0, IFACE_INDEX } };

	fake_event(f, at, &m);
	f->count.last_tx_ns = at;
}

static void watched(Fake *f, Ip peer, Bytes packet)
{
	if (f->watch)
		f->watch(f->watch_ctx, peer, packet);
}

static bool on_link(const Fake *f, Ip ip)
{
	return net_has(f->net, ip) || (f->ip6.v && net_has(f->net6, ip));
}

static void emit_ip(Fake *f, uint32_t tx_id, Bytes data, int64_t at)
{
	FakePacket p;

	if (!fake_parse(data, &p)) {
		notsent(f, tx_id, at, NOTSENT_FRAME, "no IP packet");
	} else if (data.n > f->mtu && p.df) {
		notsent(f, tx_id, at, NOTSENT_TOO_LONG, "message too long");
	} else if (fake_to_many(f, p.dst)) {
		sent(f, tx_id, at + f->local_queue);
		fake_send_many(f, data, at + f->local_queue);
	} else if (on_link(f, p.dst) && !fake_host(f, p.dst)) {
		notsent(f, tx_id, at + NEIGHBOUR_TRIES_S * NS_PER_S, NOTSENT_NO_NEIGHBOUR,
			"nobody answers ARP");
	} else if (!on_link(f, p.dst) && !f->gateway.v) {
		notsent(f, tx_id, at, NOTSENT_NO_ROUTE, "network unreachable");
	} else { /* the stamp is taken behind our own queue */
		watched(f, p.dst, data);
		sent(f, tx_id, at + f->local_queue);
		fake_send(f, data, at + f->local_queue);
	}
}

static void emit_ether(Fake *f, uint32_t tx_id, Bytes data, int64_t at)
{
	uint16_t type = data.n >= 14 ? get_be16(data.p + 12) : 0;
	Bytes body = bytes_slice(data, 14, data.n);

	if (type == 0x0800 || type == 0x86dd) {
		emit_ip(f, tx_id, body, at);
	} else if (type == 0x0806) {
		watched(f, body.n >= 28 ? ip_from(4, body.p + 24) : (Ip){ 0 }, body);
		sent(f, tx_id, at);
		fake_arp(f, body, at);
	} else {
		notsent(f, tx_id, at, NOTSENT_FRAME, "EtherType");
	}
}

static void emit_frame(Fake *f, const Msg *m)
{
	int64_t at = m->emit.not_before > f->now ? m->emit.not_before : f->now;
	Bytes data = BYTES(arena_copy(f->a, m->emit.data.p, m->emit.data.n), m->emit.data.n);

	f->count.emitted++;
	f->count.probes += m->emit.purpose == PURPOSE_PROBE;
	f->count.cleanups += m->emit.purpose == PURPOSE_CLEANUP;
	if (++f->in_flight > f->count.in_flight_most)
		f->count.in_flight_most = f->in_flight;
	if (f->limit_packets && m->emit.purpose != PURPOSE_CLEANUP &&
	    f->count.emitted - f->count.cleanups > f->limit_packets) {
		notsent(f, m->emit.tx_id, at, NOTSENT_BUDGET, "packets");
		stop(f, at, STOP_BUDGET, "packets");
	} else if (m->emit.purpose != PURPOSE_CLEANUP &&
		   (f->stopped || (f->limit_time && at > f->limit_time))) {
		notsent(f, m->emit.tx_id, at, NOTSENT_BUDGET, "time");
	} else if (m->emit.kind == EMIT_ETHER) {
		emit_ether(f, m->emit.tx_id, data, at);
	} else {
		emit_ip(f, m->emit.tx_id, data, at);
	}
}

static void answer_route(Fake *f, const Msg *m)
{
	Ip dst = m->route.dst;
	bool ok = on_link(f, dst) || f->gateway.v;
	Msg r = { .type = MSG_ROUTE_OK, .route_ok = { .id = m->route.id, .ok = ok, .iface = IFACE_INDEX } };

	r.route_ok.src = dst.v == 6 ? f->ip6 : f->ip;
	r.route_ok.gw = on_link(f, dst) ? (Ip){ 0 } : f->gateway;
	r.route_ok.mtu = f->mtu;
	now_event(f, r);
}

static void emit(Port *port, const Msg *m)
{
	Fake *f = (Fake *)port;
	Msg tick = { .type = MSG_TICK };

	hash_msg(f, m);
	switch (m->type) {
	case MSG_EMIT:
		emit_frame(f, m);
		break;
	case MSG_ROUTE:
		answer_route(f, m);
		break;
	case MSG_CLAIM:
		now_event(f, (Msg){ .type = MSG_CLAIMED,
				    .claimed = {
					    m->claim.id, 1, m->claim.port ? m->claim.port : 60999, { 0 } } });
		break;
	case MSG_WAIT:
		tick.tick.id = m->wait.id;
		tick.tick.now = m->wait.wake_at > f->now ? m->wait.wake_at : f->now;
		fake_event(f, tick.tick.now, &tick);
		break;
	case MSG_NOW:
		tick.tick.id = m->now.id;
		tick.tick.now = f->now;
		now_event(f, tick);
		break;
	default:
		break;
	}
}

/* What this host does to a frame that came: it may be lost, and something else told. */
static void local_faults(Fake *f, Msg *m)
{
	if (m->type != MSG_FRAME)
		return;
	if (f->dropped < f->drops) {
		*m = (Msg){ .type = MSG_DROPS, .drops = { ++f->dropped, f->late_by } };
	} else if (f->late_by < f->backlog) {
		*m = (Msg){ .type = MSG_DROPS, .drops = { f->dropped, ++f->late_by } };
	} else if (f->step) {
		*m = (Msg){ .type = MSG_CLOCK_STEP, .clock_step = { f->step } };
		f->step = 0;
	} else {
		m->frame.rx_ns -= f->early;
		m->frame.source = f->unstamped ? STAMP_NONE : STAMP_VIRTUAL;
	}
}

static bool wait_event(Port *port, Msg *ret_m)
{
	Fake *f = (Fake *)port;

	if (!f->started)
		start(f);
	FakeEvent e;

	do {
		if (!f->event.n)
			return false;
		if (f->limit_time && !f->stopped && f->event.p[0].at > f->limit_time) {
			f->stopped = true;
			*ret_m = (Msg){ .type = MSG_STOP, .stop = { STOP_BUDGET, str_bytes(STR("time")) } };
			hash_msg(f, ret_m);
			return true;
		}
		e = take_event(f);
		f->now = e.at > f->now ? e.at : f->now;
		if (e.peer)
			fake_peer_run(f, e.peer, e.packet);
	} while (e.peer);
	local_faults(f, &e.m);
	f->in_flight -= e.m.type == MSG_SENT || e.m.type == MSG_NOTSENT;
	f->count.frames += e.m.type == MSG_FRAME;
	*ret_m = e.m;
	hash_msg(f, ret_m);
	return true;
}

/* ---- outside ---- */

Fake *fake_new(Arena *a, uint64_t seed)
{
	Fake *f = arena_new(a, Fake);

	f->a = a;
	f->seed = seed;
	f->port = (Port){ emit, wait_event };
	f->iface = STR("eth0");
	f->ip = ip4(0x0a000001);
	f->net = (Net){ ip4(0x0a000000), 24 };
	f->mac = (Mac){ { 2, 0, 0, 0, 0, 1 } };
	f->mtu = 1500;
	f->ports = 64;
	f->limit_time = 600 * NS_PER_S;
	f->leak = (uint64_t)bound_default(BOUND_LEAK);
	return f;
}

Port *fake_port(Fake *f)
{
	return &f->port;
}

void fake_watch(Fake *f, FakeSentFn *watch, void *ctx)
{
	f->watch = watch;
	f->watch_ctx = ctx;
}

FakeCount fake_count(const Fake *f)
{
	FakeCount c = f->count;

	for (uint32_t i = 0; i < f->conn.n; i++)
		c.half_open += !f->conn.p[i].established && !f->conn.p[i].closed;
	return c;
}

uint64_t fake_hash(const Fake *f)
{
	return f->hash;
}
