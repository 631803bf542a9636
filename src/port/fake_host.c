/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hosts say: echo, UDP, TCP as far as probes ask, DNS.
 */
#include "port/fake_inside.h"

enum {
	HOST_TTL = 64,
	LATE_MS = 20,
	FULL_QUOTE = 548, /* RFC 1812 4.3.2.3: as much as fits 576 bytes */
	SERVICE_NS = 20000,
	FIN = 1,
	SYN = 2,
	RST = 4,
	ACK = 16,
	MSS_DEFAULT = 1460,
	OPTION_NOP = 1,
	OPTION_MSS = 2,
	OPTION_WSCALE = 3,
	OPTION_SACKOK = 4,
	DNS_OPT = 41,
	RCODE_NXDOMAIN = 3,
	DNS_TXT = 16,
};

static bool has_port(const FakePorts *s, uint16_t port)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->p[i] == port)
			return true;
	return false;
}

static FakePacket answer(Fake *f, const FakePacket *p, size_t cap)
{
	FakePacket r = { .src = p->dst, .dst = p->src, .ttl = HOST_TTL, .proto = p->proto };

	r.id = (uint16_t)(rng_draw(f->seed, 2, f->draws++) | 1);
	r.body = BYTES(arena_alloc(f->a, cap), cap);
	return r;
}

static uint8_t *bytes_of(FakePacket *p)
{
	return (uint8_t *)p->body.p;
}

static void reply(Fake *f, FakeHost *h, FakePacket *r, int64_t at)
{
	const FakeManner *m = &h->manner;

	r->ttl = m->ttl ? (uint8_t)m->ttl : r->ttl;
	r->tos = (uint8_t)m->tos;
	r->id = m->id ? (uint16_t)m->id : r->id;
	fake_checksum(r);
	at += SERVICE_NS + (h->late ? LATE_MS * NS_PER_MS : 0);
	for (uint32_t i = 0; i <= m->copies; i++)
		fake_reply(f, h, h->npath, *r, at + i);
}

/* ---- ICMP ---- */

static void icmp_input(Fake *f, FakeHost *h, const FakePacket *p, int64_t at)
{
	bool v4 = p->src.v == 4;
	uint8_t type = p->body.n >= 8 ? p->body.p[0] : 255;

	if (h->noecho)
		return;
	if (type == (v4 ? 8 : 128)) {
		FakePacket r = answer(f, p, p->body.n);

		memcpy(bytes_of(&r), p->body.p, p->body.n);
		bytes_of(&r)[0] = v4 ? 0 : 129;
		reply(f, h, &r, at);
	} else if (v4 && type == 13 && p->body.n >= 20) {
		FakePacket r = answer(f, p, 20);

		memcpy(bytes_of(&r), p->body.p, 12);
		bytes_of(&r)[0] = 14;
		put_be32(bytes_of(&r) + 12, (uint32_t)(at / NS_PER_MS));
		put_be32(bytes_of(&r) + 16, (uint32_t)(at / NS_PER_MS));
		reply(f, h, &r, at);
	}
}

/* ---- UDP and DNS ---- */

static void udp_reply(Fake *f, FakeHost *h, const FakePacket *p, Bytes payload, int64_t at)
{
	FakePacket r = answer(f, p, 8 + payload.n);
	uint8_t *b = bytes_of(&r);

	memcpy(b, p->body.p + 2, 2);
	memcpy(b + 2, p->body.p, 2);
	put_be16(b + 4, (uint16_t)(8 + payload.n));
	if (payload.n)
		memcpy(b + 8, payload.p, payload.n);
	reply(f, h, &r, at);
}

/* The name at the cursor as text with dots. */
static Str dns_name(Fake *f, Cursor *c)
{
	Sb name = sb(f->a);

	for (;;) {
		uint8_t n = cur_u8(c);
		Bytes label = cur_bytes(c, n);

		if (c->bad || !n || n > 63)
			return sb_done(&name);
		if (name.n)
			sb_char(&name, '.');
		sb_str(&name, bytes_str(label));
	}
}

/* An answer's data with its length: of TXT one string, else the address. */
static void dns_data(Writer *w, const FakeName *n, bool txt)
{
	uint8_t size = (uint8_t)(txt ? n->txt.n : ip_len(n->ip));

	wr_be16(w, (uint16_t)(size + txt));
	if (txt)
		wr_u8(w, size);
	wr_bytes(w, txt ? str_bytes(n->txt) : BYTES(n->ip.b, size));
}

static bool dns_has(const FakeName *n, uint16_t type)
{
	return type == 1 ? n->ip.v == 4 : type == 28 ? n->ip.v == 6 : type == DNS_TXT && n->txt.n;
}

Bytes fake_dns(Fake *f, const FakeHost *h, Bytes query)
{
	Cursor c = cursor(query);
	Writer w = writer(arena_alloc(f->a, query.n + 320), query.n + 320);
	const FakeName *found = NULL;

	cur_skip(&c, 12);
	Str name = dns_name(f, &c);
	uint16_t type = cur_be16(&c);
	cur_skip(&c, 2);
	if (c.bad)
		return (Bytes){ 0 };
	size_t question = c.off;
	bool edns = get_be16(query.p + 10) && cur_u8(&c) == 0 && cur_be16(&c) == DNS_OPT;
	for (uint32_t i = 0; i < h->dns.n; i++)
		if (str_eq(h->dns.p[i].name, name) && (!found || dns_has(&h->dns.p[i], type)))
			found = &h->dns.p[i];
	bool give = found && dns_has(found, type);
	wr_bytes(&w, bytes_slice(query, 0, 2));
	wr_be16(&w, found ? 0x8180 : 0x8180 | RCODE_NXDOMAIN);
	wr_be16(&w, 1);
	wr_be16(&w, give);
	wr_be16(&w, 0);
	wr_be16(&w, edns);
	wr_bytes(&w, bytes_slice(query, 12, question));
	if (give) {
		wr_be16(&w, 0xc00c);
		wr_be16(&w, type);
		wr_be16(&w, 1);
		wr_be32(&w, 300);
		dns_data(&w, found, type == DNS_TXT);
	}
	if (edns) {
		wr_u8(&w, 0);
		wr_be16(&w, DNS_OPT);
		wr_be16(&w, 1232);
		wr_zeros(&w, 6);
	}
	return wr_done(&w);
}

static void port_unreachable(Fake *f, FakeHost *h, const FakePacket *p, int64_t at)
{
	bool v4 = p->src.v == 4;
	uint8_t code = h->manner.code ? (uint8_t)h->manner.code : v4 ? 3 : 4;

	fake_reply(f, h, h->npath, fake_error(f, h->ip, p, v4 ? 3 : 1, code, 0, FULL_QUOTE), at + SERVICE_NS);
}

static void udp_input(Fake *f, FakeHost *h, const FakePacket *p, int64_t at)
{
	if (p->body.n < 8)
		return;
	uint16_t port = get_be16(p->body.p + 2);
	Bytes payload = bytes_slice(p->body, 8, get_be16(p->body.p + 4));
	if (port == 53 && h->dns.n) {
		Bytes reply = fake_dns(f, h, payload);

		if (reply.n)
			udp_reply(f, h, p, reply, at);
		return;
	}
	if (has_port(&h->udp, port))
		udp_reply(f, h, p, h->manner.has_say ? h->manner.say : payload, at);
	else if (!has_port(&h->discard, port) && !has_port(&h->filtered, port))
		port_unreachable(f, h, p, at);
}

/* ---- TCP ---- */

typedef struct Segment {
	uint16_t sport, dport;
	uint32_t seq, ack, len;
	uint8_t flags;
} Segment;

/* Whether a SYN has that option: what it lacks is not answered (RFC 7323, 2018). */
static bool offers(const FakePacket *p, uint8_t kind)
{
	const uint8_t *b = p->body.p;
	size_t end = (size_t)(b[12] >> 4) * 4;

	for (size_t i = 20; i + 1 < end && b[i]; i += b[i] == OPTION_NOP || !b[i + 1] ? 1 : b[i + 1])
		if (b[i] == kind)
			return true;
	return false;
}

static void tcp_reply(Fake *f, FakeHost *h, const FakePacket *p, uint32_t seq, uint32_t ack, uint8_t flags,
		      int64_t at)
{
	bool syn = flags & SYN;
	FakePacket r = answer(f, p, syn ? 32 : 20);
	uint8_t *b = bytes_of(&r);

	memcpy(b, p->body.p + 2, 2);
	memcpy(b + 2, p->body.p, 2);
	put_be32(b + 4, seq);
	put_be32(b + 8, ack);
	b[12] = syn ? 8 << 4 : 5 << 4;
	b[13] = flags;
	put_be16(b + 14, h->manner.window ? (uint16_t)h->manner.window : 65535);
	if (syn) {
		memset(b + 24, OPTION_NOP, 8);
		put_be32(b + 20, OPTION_MSS << 24 | 4u << 16 | (h->mss ? h->mss : MSS_DEFAULT));
		if (offers(p, OPTION_SACKOK))
			put_be16(b + 26, OPTION_SACKOK << 8 | 2);
		if (offers(p, OPTION_WSCALE))
			put_be32(b + 28, OPTION_NOP << 24 | OPTION_WSCALE << 16 | 3 << 8 | 7);
	}
	reply(f, h, &r, at);
}

static FakeConn *find_conn(Fake *f, const FakeHost *h, const FakePacket *p, const Segment *s)
{
	for (uint32_t i = 0; i < f->conn.n; i++) {
		FakeConn *c = &f->conn.p[i];

		if (!c->closed && c->host == h && ip_eq(c->src, p->src) && c->sport == s->sport &&
		    c->dport == s->dport)
			return c;
	}
	return NULL;
}

/* RFC 9293 3.10.7.1: no connection. */
static void tcp_closed(Fake *f, FakeHost *h, const FakePacket *p, const Segment *s, int64_t at)
{
	if (s->flags & RST)
		return;
	if (s->flags & ACK)
		tcp_reply(f, h, p, s->ack, 0, RST, at);
	else
		tcp_reply(f, h, p, 0, s->seq + s->len, RST | ACK, at);
}

static void tcp_syn(Fake *f, FakeHost *h, const FakePacket *p, const Segment *s, int64_t at)
{
	FakeConn c = { .src = p->src, .host = h, .sport = s->sport, .dport = s->dport };

	c.iss = (uint32_t)rng_draw(f->seed, 3, f->draws++);
	c.rcv_nxt = s->seq + 1;
	vec_push(f->a, &f->conn, c);
	tcp_reply(f, h, p, c.iss, c.rcv_nxt, SYN | ACK, at);
}

static void tcp_known(Fake *f, FakeHost *h, FakeConn *c, const FakePacket *p, const Segment *s, int64_t at)
{
	bool inside = s->seq - c->rcv_nxt < 65535;

	if (s->flags & RST) {
		c->closed = c->closed || s->seq == c->rcv_nxt;
	} else if (s->flags & SYN || !inside) { /* RFC 9293 3.10.7.4 and RFC 5961 4: a challenge ACK */
		tcp_reply(f, h, p, c->iss + 1, c->rcv_nxt, ACK, at);
	} else {
		c->established |= (s->flags & ACK) != 0;
		if (s->seq == c->rcv_nxt)
			c->rcv_nxt += s->len;
		if (s->len)
			tcp_reply(f, h, p, c->iss + 1, c->rcv_nxt, ACK, at);
	}
}

static void tcp_input(Fake *f, FakeHost *h, const FakePacket *p, int64_t at)
{
	Cursor c = cursor(p->body);
	Segment s = { .sport = cur_be16(&c) };

	s.dport = cur_be16(&c); /* an initializer has no order */
	s.seq = cur_be32(&c);
	s.ack = cur_be32(&c);
	size_t header = (size_t)(cur_u8(&c) >> 4) * 4;
	s.flags = cur_u8(&c);
	cur_skip(&c, 6);
	if (c.bad || header < 20 || header > p->body.n || has_port(&h->filtered, s.dport))
		return;
	if (fake_serves(h, s.dport)) {
		fake_peer_event(f, h, at, fake_bytes(f, p));
		return;
	}
	s.len = (uint32_t)(p->body.n - header) + (s.flags & SYN ? 1 : 0) + (s.flags & FIN ? 1 : 0);
	f->count.rst_seen += (s.flags & RST) != 0;
	FakeConn *conn = find_conn(f, h, p, &s);
	if (conn)
		tcp_known(f, h, conn, p, &s, at);
	else if (has_port(&h->tcp, s.dport) && (s.flags & (SYN | ACK | RST)) == SYN)
		tcp_syn(f, h, p, &s, at);
	else
		tcp_closed(f, h, p, &s, at);
}

void fake_host_input(Fake *f, FakeHost *h, const FakePacket *p, int64_t at)
{
	uint32_t bit = h->requests++ % 8;

	h->late = h->manner.late >> bit & 1;
	if (h->manner.has_mask && !(h->manner.mask >> bit & 1))
		return;
	if (h->returns) {
		fake_reply(f, h, h->npath, *p, at);
		return;
	}
	switch (p->proto) {
	case 1:
	case 58:
		icmp_input(f, h, p, at);
		break;
	case 6:
		tcp_input(f, h, p, at);
		break;
	case 17:
		udp_input(f, h, p, at);
		break;
	default: /* protocol unreachable, RFC 1122 3.2.2.1 */
		if (p->src.v == 4)
			fake_reply(f, h, h->npath, fake_error(f, h->ip, p, 3, 2, 0, 8), at + SERVICE_NS);
	}
}
