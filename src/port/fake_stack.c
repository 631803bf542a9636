/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts with a TCP of their own: a second stack (src/tcpip) at the other end, with a
 * small application on each port.  Its packets take the host's way, so that loss, delay
 * and routers are those of the network's text.
 */
#include "port/fake_inside.h"

#include "tcpip/tcp.h"

enum {
	PEER_WINDOW = 65535,
	PEER_BUFFER = 4 * 1024 * 1024,
	PEER_MTU = 1500,
	PEER_BACKLOG = 64,
	PEER_TTL = 64,
	CALL_PORT = 40000,
	PIECE = 4096,
	SEED_PEER = 0xfa4e,
};

/* ---- making one ---- */

static FakePeer *peer_of(Fake *f, FakeHost *h)
{
	if (!h->peer) {
		const StackConfig c = { .seed = rng_mix(f->seed ^ SEED_PEER) ^ h->ip.b[ip_len(h->ip) - 1] };

		h->peer = arena_new(f->a, FakePeer);
		h->peer->stack = stack_new(f->a, &c);
		h->peer->wake = STACK_NEVER;
	}
	return h->peer;
}

/* Its numbers do not depend on when we come: our own may not show a difference by them. */
static TcpOpen peer_open(const FakeHost *h)
{
	return (TcpOpen){ .seed = SEED_PEER,
			  .src = h->ip,
			  .mtu = PEER_MTU,
			  .mss = (uint16_t)h->mss,
			  .wscale = 7,
			  .sack = true,
			  .timestamps = !h->nostamps,
			  .window = h->manner.window ? h->manner.window : PEER_WINDOW,
			  .send_buffer = PEER_BUFFER,
			  .ttl = h->manner.ttl ? (uint8_t)h->manner.ttl : PEER_TTL };
}

void fake_serve(Fake *f, FakeHost *h, uint16_t port, FakeApp app)
{
	FakePeer *p = peer_of(f, h);
	TcpOpen o = peer_open(h);

	if (p->nports == FAKE_PORTS)
		return;
	p->port[p->nports] = (FakeService){ port, app, tcp_listen(p->stack, h->ip, port, PEER_BACKLOG, &o) };
	p->nports++;
}

void fake_call(Fake *f, FakeHost *h, uint16_t port, int64_t at)
{
	FakePeer *p = peer_of(f, h);

	if (p->ncalls < FAKE_CALLS)
		p->call[p->ncalls++] = (FakeCall){ port, at, false };
}

bool fake_serves(const FakeHost *h, uint16_t port)
{
	for (uint32_t i = 0; h->peer && i < h->peer->nports; i++)
		if (h->peer->port[i].port == port)
			return true;
	return h->peer && port >= CALL_PORT && port < CALL_PORT + h->peer->ncalls;
}

/* ---- applications ---- */

/* RFC 1035 4.2.2: a length of two bytes, then the message; all whole ones that are there. */
static void answer_dns(Fake *f, FakeHost *h, TcpConn *c)
{
	uint8_t head[2], *query;

	while (tcp_readable(c) >= sizeof head) {
		tcp_peek(c, 0, head, sizeof head);
		size_t n = get_be16(head);

		if (tcp_readable(c) < n + sizeof head)
			return;
		query = arena_alloc(f->a, n + sizeof head);
		tcp_recv(c, f->now, query, n + sizeof head);
		Bytes reply = fake_dns(f, h, BYTES(query + sizeof head, n));

		if (!reply.n)
			continue;
		put_be16(head, (uint16_t)reply.n);
		tcp_send(c, f->now, BYTES(head, sizeof head));
		tcp_send(c, f->now, reply);
	}
}

static void run_app(Fake *f, FakeHost *h, FakeSession *s)
{
	uint8_t buf[PIECE];
	size_t n;

	switch (s->app) {
	case FAKE_ECHO:
	case FAKE_GREET: /* its word came first */
		while ((n = tcp_recv(s->conn, f->now, buf, sizeof buf)))
			if (s->app == FAKE_ECHO)
				tcp_send(s->conn, f->now, BYTES(buf, n));
		break;
	case FAKE_SINK:
	case FAKE_HANGUP:
		while (tcp_recv(s->conn, f->now, buf, sizeof buf))
			;
		break;
	case FAKE_DNS:
		answer_dns(f, h, s->conn);
		break;
	case FAKE_STUCK: /* reads nothing */
	case FAKE_RUDE:
		break;
	}
	if (tcp_eof(s->conn))
		tcp_close(s->conn, f->now);
}

static void begin(Fake *f, FakeHost *h, TcpConn *c, FakeApp app)
{
	FakePeer *p = h->peer;

	vec_push(f->a, &p->session, (FakeSession){ c, app });
	if (app == FAKE_GREET || (app == FAKE_ECHO && h->manner.has_say))
		tcp_send(c, f->now, h->manner.has_say ? h->manner.say : BYTES("hello\r\n", 7));
	else if (app == FAKE_HANGUP)
		tcp_close(c, f->now);
	else if (app == FAKE_RUDE)
		tcp_reset(c, f->now);
}

static void calls(Fake *f, FakeHost *h)
{
	FakePeer *p = h->peer;
	TcpOpen o = peer_open(h);

	for (uint32_t i = 0; i < p->ncalls; i++) {
		FakeCall *k = &p->call[i];

		if (k->made || k->at > f->now)
			continue;
		k->made = true;
		o.dst = h->ip.v == 4 ? f->ip : f->ip6;
		o.dport = k->port;
		o.sport = (uint16_t)(CALL_PORT + i);
		TcpConn *c = tcp_connect(p->stack, f->now, &o);
		if (c)
			begin(f, h, c, FAKE_ECHO);
	}
}

/* ---- time ---- */

static int64_t wake_at(const FakePeer *p)
{
	int64_t at = stack_wake_ns(p->stack);

	for (uint32_t i = 0; i < p->ncalls; i++)
		if (!p->call[i].made && p->call[i].at < at)
			at = p->call[i].at;
	return at;
}

static void run(Fake *f, FakeHost *h)
{
	FakePeer *p = h->peer;
	TcpConn *c;
	StackOut out;
	FakePacket packet;

	if (stack_wake_ns(p->stack) <= f->now)
		stack_advance(p->stack, f->now);
	calls(f, h);
	for (uint32_t i = 0; i < p->nports; i++)
		while (p->port[i].listener && (c = tcp_accept(p->port[i].listener)))
			begin(f, h, c, p->port[i].app);
	for (uint32_t i = 0; i < p->session.n; i++) {
		run_app(f, h, &p->session.p[i]);
		if (p->session.p[i].conn->state == TCP_CLOSED) { /* its tuple may come again */
			tcp_release(p->session.p[i].conn, f->now);
			p->session.p[i--] = p->session.p[--p->session.n];
		}
	}
	while (stack_pull(p->stack, f->now, &out)) {
		uint64_t tag = out.tag;

		if (fake_parse(BYTES(arena_copy(f->a, out.packet.p, out.packet.n), out.packet.n), &packet))
			fake_reply(f, h, h->npath, packet, f->now);
		stack_sent(p->stack, tag, f->now);
	}
	int64_t at = wake_at(p);
	if (at != STACK_NEVER && (at < p->wake || p->wake <= f->now)) {
		p->wake = at;
		fake_peer_event(f, h, at, (Bytes){ 0 });
	}
}

/* Another stack, which knows of no connection; what it does not know it resets. */
static void reboot(Fake *f, FakeHost *h)
{
	FakePeer was = *h->peer;

	h->reboots = 0;
	h->peer = NULL;
	for (uint32_t i = 0; i < was.nports; i++)
		fake_serve(f, h, was.port[i].port, was.port[i].app);
}

void fake_peer_run(Fake *f, FakeHost *h, Bytes packet)
{
	const StackRx rx = { .mtu = PEER_MTU };

	if (h->dies && f->now >= h->dies)
		return;
	if (h->reboots && f->now >= h->reboots)
		reboot(f, h);
	if (packet.n)
		stack_input(h->peer->stack, f->now, packet, &rx);
	run(f, h);
}

void fake_peers_start(Fake *f)
{
	for (uint32_t i = 0; i < f->host.n; i++)
		if (f->host.p[i]->peer && f->host.p[i]->peer->ncalls)
			fake_peer_event(f, f->host.p[i], 0, (Bytes){ 0 });
}
