/* SPDX-License-Identifier: Apache-2.0
 *
 * The way there and back: links, routers, NAT, MTU steps.
 */
#include "port/fake_inside.h"

enum {
	ROUTER_TTL = 255,
	REORDER_LATE_MS = 10,
	ICMP_TIME_EXCEEDED = 11,
	ICMP_UNREACHABLE = 3,
	FRAG_NEEDED = 4
};

/* ---- packets ---- */

bool fake_parse(Bytes b, FakePacket *ret_p)
{
	Cursor c = cursor(b);
	uint8_t v = b.n ? b.p[0] >> 4 : 0;

	*ret_p = (FakePacket){ 0 };
	if (v == 4) {
		size_t header = (size_t)(cur_u8(&c) & 15) * 4;

		ret_p->tos = cur_u8(&c);
		uint16_t total = cur_be16(&c);
		ret_p->id = cur_be16(&c);
		ret_p->df = cur_be16(&c) >> 14 & 1;
		ret_p->ttl = cur_u8(&c);
		ret_p->proto = cur_u8(&c);
		cur_skip(&c, 2);
		Bytes src = cur_bytes(&c, 4), dst = cur_bytes(&c, 4);
		if (c.bad || header < 20 || header > b.n)
			return false;
		ret_p->src = ip_from(4, src.p);
		ret_p->dst = ip_from(4, dst.p);
		ret_p->body = bytes_slice(b, header, total);
		return true;
	}
	uint32_t first = cur_be32(&c);
	cur_skip(&c, 2);
	ret_p->tos = (uint8_t)(first >> 20);
	ret_p->proto = cur_u8(&c);
	ret_p->ttl = cur_u8(&c);
	ret_p->df = true;
	Bytes src = cur_bytes(&c, 16), dst = cur_bytes(&c, 16);
	if (c.bad || v != 6)
		return false;
	ret_p->src = ip_from(6, src.p);
	ret_p->dst = ip_from(6, dst.p);
	ret_p->body = cur_rest(&c);
	return true;
}

Bytes fake_bytes(Fake *f, const FakePacket *p)
{
	size_t cap = 40 + p->body.n;
	Writer w = writer(arena_alloc(f->a, cap), cap);

	if (p->src.v == 4) {
		wr_be16(&w, (uint16_t)(0x4500 | p->tos));
		wr_be16(&w, (uint16_t)(20 + p->body.n));
		wr_be16(&w, p->id);
		wr_be16(&w, p->df ? 0x4000 : 0);
		wr_be16(&w, (uint16_t)(p->ttl << 8 | p->proto));
		wr_be16(&w, 0);
		wr_bytes(&w, BYTES(p->src.b, 4));
		wr_bytes(&w, BYTES(p->dst.b, 4));
		put_be16(w.p + 10, wire_csum_fold(wire_csum(0, wr_done(&w))));
	} else {
		wr_be32(&w, 0x60000000u | (uint32_t)p->tos << 20);
		wr_be16(&w, (uint16_t)p->body.n);
		wr_be16(&w, (uint16_t)(p->proto << 8 | p->ttl));
		wr_bytes(&w, BYTES(p->src.b, 16));
		wr_bytes(&w, BYTES(p->dst.b, 16));
	}
	wr_bytes(&w, p->body);
	return wr_done(&w);
}

void fake_checksum(FakePacket *p)
{
	uint8_t *b = (uint8_t *)p->body.p, tail[4] = { 0, p->proto, 0, 0 };
	size_t at = p->proto == 6 ? 16 : p->proto == 17 ? 6 : 2;
	uint32_t sum = 0;

	if (p->body.n < at + 2)
		return;
	put_be16(b + at, 0);
	if (p->proto != 1) {
		put_be16(tail + 2, (uint16_t)p->body.n);
		sum = wire_csum(sum, BYTES(p->src.b, ip_len(p->src)));
		sum = wire_csum(sum, BYTES(p->dst.b, ip_len(p->dst)));
		sum = wire_csum(sum, BYTES(tail, sizeof tail));
	}
	put_be16(b + at, wire_csum_fold(wire_csum(sum, p->body)));
}

FakePacket fake_error(Fake *f, Ip by, const FakePacket *about, uint8_t type, uint8_t code, uint32_t word,
		      uint32_t quote)
{
	FakePacket e = {
		.src = by, .dst = about->src, .ttl = ROUTER_TTL, .proto = by.v == 4 ? 1 : 58, .id = 1
	};
	Bytes whole = fake_bytes(f, about);
	size_t n = whole.n - about->body.n + quote;
	size_t cap = 8 + whole.n;
	Writer w = writer(arena_alloc(f->a, cap), cap);

	wr_u8(&w, type);
	wr_u8(&w, code);
	wr_be16(&w, 0);
	wr_be32(&w, word);
	wr_bytes(&w, bytes_slice(whole, 0, n));
	e.body = wr_done(&w);
	fake_checksum(&e);
	return e;
}

/* ---- rewriting ---- */

/* A copy whose body may be written on. */
static FakePacket own_copy(Fake *f, const FakePacket *p)
{
	FakePacket c = *p;

	c.body.p = arena_copy(f->a, p->body.p, p->body.n);
	return c;
}

static void rewrite_options(FakePacket *p, const FakeHop *h)
{
	uint8_t *b = (uint8_t *)p->body.p;
	size_t end = p->body.n >= 20 ? (size_t)(b[12] >> 4) * 4 : 0;

	if (p->proto != 6 || end > p->body.n)
		return;
	for (size_t i = 20; i < end && b[i];) {
		size_t n = b[i] == 1 ? 1 : i + 1 < end ? b[i + 1] : 0;

		if (n == 0 || i + n > end)
			break;
		if (h->mss && b[i] == 2 && n == 4 && get_be16(b + i + 2) > h->mss)
			put_be16(b + i + 2, (uint16_t)h->mss);
		if (h->strip && b[i] == h->strip)
			memset(b + i, 1, n);
		i += n;
	}
}

static FakePacket rewrite(Fake *f, const FakePacket *p, const FakeHop *h)
{
	FakePacket c = own_copy(f, p);

	if (h->tos >= 0)
		c.tos = (uint8_t)h->tos;
	rewrite_options(&c, h);
	if (h->nat.v && (c.proto == 6 || c.proto == 17) && c.body.n >= 4) {
		uint8_t *b = (uint8_t *)c.body.p;

		c.src = h->nat;
		put_be16(b, (uint16_t)(get_be16(b) ^ 0x0101));
	} else if (h->nat.v) {
		c.src = h->nat;
	}
	fake_checksum(&c);
	return c;
}

/* The way back through a NAT: destination and, of TCP and UDP, its port. */
static void rewrite_back(Fake *f, FakePacket *p, const FakeHop *h)
{
	if (!h->nat.v || !ip_eq(p->dst, h->nat))
		return;
	p->dst = f->ip;
	if ((p->proto == 6 || p->proto == 17) && p->body.n >= 4) {
		uint8_t *b = (uint8_t *)p->body.p;

		put_be16(b + 2, (uint16_t)(get_be16(b + 2) ^ 0x0101));
	}
	fake_checksum(p);
}

/* ---- links ---- */

static int64_t crossing(Fake *f, const FakeLink *l, bool back)
{
	int64_t d = back && l->backdelay ? l->backdelay : l->delay;

	if (l->jitter)
		d += (int64_t)((double)l->jitter * fake_chance(f));
	if (l->reorder > 0 && fake_chance(f) < l->reorder)
		d += REORDER_LATE_MS * NS_PER_MS;
	return d;
}

static bool lost(Fake *f, const FakeLink *l, bool back)
{
	double p = back && l->backloss > 0 ? l->backloss : l->loss;

	return p > 0 && fake_chance(f) < p;
}

/* ---- back to us ---- */

static Mac mac_of(const FakeHost *h)
{
	return h->has_mac ? h->mac : (Mac){ { 2, 0, 0, 0, 1, h->ip.b[ip_len(h->ip) - 1] } };
}

static void deliver_from(Fake *f, Mac from, Bytes packet, int64_t at)
{
	size_t n = 14 + packet.n;
	Writer w = writer(arena_alloc(f->a, n), n);
	Msg m = { .type = MSG_FRAME,
		  .frame = { .rx_ns = at, .source = STAMP_VIRTUAL, .csum = RX_CSUM_UNKNOWN } };

	wr_bytes(&w, BYTES(f->mac.b, 6));
	wr_bytes(&w, BYTES(from.b, 6));
	wr_be16(&w, packet.p[0] >> 4 == 4 ? 0x0800 : 0x86dd);
	wr_bytes(&w, packet);
	m.frame.iface = 2;
	m.frame.first = WIRE_ETHER;
	m.frame.orig_len = (uint32_t)n;
	m.frame.data = wr_done(&w);
	fake_event(f, at, &m);
}

static void deliver(Fake *f, const FakeHost *h, Bytes packet, int64_t at)
{
	Mac gateway = { { 2, 0, 0, 0, 0, 0xfe } };

	deliver_from(f, h->npath ? gateway : mac_of(h), packet, at);
}

/* A small MTU on the way back cuts what may be cut. */
static void deliver_cut(Fake *f, const FakeHost *h, const FakePacket *p, uint32_t mtu, int64_t at)
{
	Bytes whole = fake_bytes(f, p), *piece;
	uint32_t n;

	if (!mtu || whole.n <= mtu || wire_fragment(whole, mtu, 1, f->a, &piece, &n)) {
		deliver(f, h, whole, at);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		deliver(f, h, piece[i], at + i);
}

static void corrupt(Fake *f, const FakeLink *l, FakePacket *p)
{
	if (l->corrupt > 0 && fake_chance(f) < l->corrupt && p->body.n > 8)
		((uint8_t *)p->body.p)[p->body.n - 1] ^= 0x40;
}

static bool ours(const Fake *f, Ip ip)
{
	return ip_eq(ip, f->ip) || (f->ip6.v && ip_eq(ip, f->ip6));
}

void fake_reply(Fake *f, FakeHost *h, uint32_t depth, FakePacket reply, int64_t at)
{
	FakePacket p = own_copy(f, &reply);
	uint32_t mtu = 0;
	bool twice = false;

	for (uint32_t i = depth + 1; i-- > 0;) {
		const FakeLink *l = i < h->npath ? &h->path[i]->link : &h->link;

		if (lost(f, l, true))
			return;
		at += crossing(f, l, true);
		corrupt(f, l, &p);
		twice |= l->dup > 0 && fake_chance(f) < l->dup;
		if (l->backmtu && (!mtu || l->backmtu < mtu))
			mtu = l->backmtu;
		if (i == 0)
			break;
		rewrite_back(f, &p, h->path[i - 1]);
		if (p.ttl-- <= 1)
			return;
	}
	if (!ours(f, p.dst) && !h->returns)
		return;
	deliver_cut(f, h, &p, mtu, at);
	if (twice)
		deliver_cut(f, h, &p, mtu, at + 50 * NS_PER_US);
}

/* ---- there ---- */

/* A token bucket of one second. */
static bool may_complain(FakeHop *h, int64_t at)
{
	if (h->silent)
		return false;
	if (!h->icmprate)
		return true;
	h->tokens += (double)(at - h->bucket_at) / 1e9 * h->icmprate;
	if (h->tokens > h->icmprate)
		h->tokens = h->icmprate;
	h->bucket_at = at;
	if (h->tokens < 1)
		return false;
	h->tokens -= 1;
	return true;
}

/* The address that a flow sees of this hop: by the first 4 bytes behind the IP header, as many
 * routers hash them: ports; of ICMP type, code and checksum. */
static Ip hop_address(const FakeHop *h, const FakePacket *p)
{
	uint64_t flow = bytes_hash(bytes_slice(p->body, 0, 4));

	return h->ecmp.v && rng_mix(flow) & 1 ? h->ecmp : h->ip;
}

static void expired(Fake *f, FakeHost *host, uint32_t i, const FakePacket *p, int64_t at)
{
	FakeHop *h = host->path[i];

	if (may_complain(h, at))
		fake_reply(f, host, i,
			   fake_error(f, hop_address(h, p), p, p->src.v == 4 ? ICMP_TIME_EXCEEDED : 3, 0, 0,
				      h->quote),
			   at);
}

static void too_big(Fake *f, FakeHost *host, uint32_t i, const FakePacket *p, uint32_t mtu, int64_t at)
{
	FakeHop *h = host->path[i];
	bool v4 = p->src.v == 4;

	if (!h->blackhole && may_complain(h, at))
		fake_reply(f, host, i,
			   fake_error(f, h->ip, p, v4 ? ICMP_UNREACHABLE : 2, v4 ? FRAG_NEEDED : 0, mtu,
				      h->quote),
			   at);
}

/* ---- neighbour discovery ---- */

static void advertise(Fake *f, const FakeHost *h, Mac mac, const FakePacket *ask, int64_t at)
{
	enum { NA = 136, OWNERS_MAC = 2, SOLICITED = 0x40000000 };
	FakePacket p = { .src = h->ip, .dst = ask->src, .ttl = ROUTER_TTL, .proto = 58 };
	Writer w = writer(arena_alloc(f->a, 32), 32);

	wr_be32(&w, (uint32_t)NA << 24);
	wr_be32(&w, SOLICITED);
	wr_bytes(&w, BYTES(h->ip.b, 16));
	wr_be16(&w, OWNERS_MAC << 8 | 1);
	wr_bytes(&w, BYTES(mac.b, 6));
	p.body = wr_done(&w);
	fake_checksum(&p);
	deliver_from(f, mac, fake_bytes(f, &p), at);
}

static bool is_solicitation(const FakePacket *p)
{
	return p->proto == 58 && p->body.n >= 24 && p->body.p[0] == 135;
}

/* RFC 4861 7.2.3: from a hop limit of 255, or it came through a router. */
static void solicited(Fake *f, const FakePacket *p, int64_t tx)
{
	FakeHost *h = fake_host(f, ip_from(6, p->body.p + 8));

	if (!h || h->npath || p->ttl != ROUTER_TTL || lost(f, &h->link, false) || lost(f, &h->link, true))
		return;
	int64_t at = tx + crossing(f, &h->link, false) + crossing(f, &h->link, true);
	advertise(f, h, mac_of(h), p, at);
	if (h->has_mac2)
		advertise(f, h, h->mac2, p, at + NS_PER_MS);
}

bool fake_to_many(const Fake *f, Ip ip)
{
	IpClass c = ip_class(ip);
	uint32_t hosts = f->net.bits >= 32 ? 0 : UINT32_MAX >> f->net.bits;
	bool last = ip.v == 4 && net_has(f->net, ip) && hosts > 1 && (ip4_num(ip) & hosts) == hosts;

	return c == IP_CLASS_MULTICAST || c == IP_CLASS_BROADCAST || last;
}

void fake_send_many(Fake *f, Bytes packet, int64_t at)
{
	FakePacket p;

	if (!fake_parse(packet, &p))
		return;
	if (is_solicitation(&p)) {
		solicited(f, &p, at);
		return;
	}
	for (uint32_t i = 0; i < f->host.n; i++) {
		FakeHost *h = f->host.p[i];

		if (!h->broadcast || h->npath || h->ip.v != p.src.v || lost(f, &h->link, false))
			continue;
		p.dst = h->ip; /* what it answers from */
		fake_host_input(f, h, &p, at + crossing(f, &h->link, false));
	}
}

void fake_send(Fake *f, Bytes packet, int64_t at)
{
	FakePacket p, before = { 0 }; /* what the last router got */
	FakeHost *host;

	if (!fake_parse(packet, &p) || !(host = fake_host(f, p.dst)))
		return;
	for (uint32_t i = 0; i <= host->npath; i++) {
		const FakeLink *l = i < host->npath ? &host->path[i]->link : &host->link;
		size_t len = p.body.n + (p.src.v == 4 ? 20 : 40);

		if (l->mtu && len > l->mtu && p.df && i > 0) {
			too_big(f, host, i - 1, &before, l->mtu, at);
			return;
		}
		if (lost(f, l, false))
			return;
		at += crossing(f, l, false);
		if (i == host->npath)
			break;
		if (p.ttl <= 1) {
			expired(f, host, i, &p, at);
			return;
		}
		p.ttl--;
		before = p;
		p = rewrite(f, &p, host->path[i]);
	}
	fake_host_input(f, host, &p, at);
}

/* ---- ARP ---- */

static void arp_reply(Fake *f, const FakeHost *h, Mac mac, Bytes request, int64_t at)
{
	Writer w = writer(arena_alloc(f->a, 42), 42);
	Msg m = { .type = MSG_FRAME, .frame = { .rx_ns = at, .source = STAMP_VIRTUAL } };

	wr_bytes(&w, BYTES(f->mac.b, 6));
	wr_bytes(&w, BYTES(mac.b, 6));
	wr_be16(&w, 0x0806);
	wr_bytes(&w, bytes_slice(request, 0, 6));
	wr_be16(&w, 2);
	wr_bytes(&w, BYTES(mac.b, 6));
	wr_bytes(&w, BYTES(h->ip.b, 4));
	wr_bytes(&w, bytes_slice(request, 8, 18)); /* its sender: hardware and protocol address */
	m.frame.iface = 2;
	m.frame.first = WIRE_ETHER;
	m.frame.orig_len = 42;
	m.frame.data = wr_done(&w);
	fake_event(f, at, &m);
}

void fake_arp(Fake *f, Bytes arp, int64_t tx)
{
	FakeHost *h = arp.n >= 28 && get_be16(arp.p + 6) == 1 ? fake_host(f, ip_from(4, arp.p + 24)) : NULL;

	if (!h || h->npath || lost(f, &h->link, false) || lost(f, &h->link, true))
		return;
	int64_t at = tx + crossing(f, &h->link, false) + crossing(f, &h->link, true);
	arp_reply(f, h, mac_of(h), arp, at);
	if (h->has_mac2)
		arp_reply(f, h, h->mac2, arp, at + NS_PER_MS);
}
