/* SPDX-License-Identifier: Apache-2.0
 *
 * A queued datagram is a small head and its bytes, UDP header included, in one block or a
 * chain of pages.  It is checksummed when it is queued and cut when it is pulled, by the
 * path's MTU of that moment.
 */
#include "tcpip/udp.h"

#include "tcpip/ip.h"
#include "tcpip/pmtu.h"

#include "base/limits.h"
#include "base/rng.h"

enum { UDP_HDR = 8, UDP_MOST = 65535, IP4_HDR = 20, IP6_HDR = 40, FRAGMENT_HDR = 8, SITE_IP_ID = 0x75647069 };

typedef struct DgramBlock DgramBlock;
struct DgramBlock {
	DgramBlock *next;
	uint8_t byte[];
};

enum { SMALL_BYTES = 512 - sizeof(DgramBlock), PAGE_BYTES = POOL_PAGE_BYTES - sizeof(DgramBlock) };

struct Dgram {
	Dgram *next;
	DgramBlock *block;
	uint32_t bytes; /* UDP header and payload */
	DgramIn in;
};

_Static_assert(sizeof(Dgram) <= 128 && sizeof(DgramSocket) <= 512, "they fit into the pool's blocks");

/* ---- datagrams in the pool ---- */

static PoolSize block_size(const Dgram *g)
{
	return g->bytes <= SMALL_BYTES ? POOL_512 : POOL_PAGE;
}

static void dgram_free(NetStack *s, Dgram *g)
{
	for (DgramBlock *b = g->block, *next; b; b = next) {
		next = b->next;
		pool_give(&s->pool, block_size(g), b);
	}
	pool_give(&s->pool, POOL_128, g);
}

/* Room for `bytes`, NULL: none. */
static Dgram *dgram_new(NetStack *s, uint32_t bytes)
{
	Dgram *g = pool_take(&s->pool, POOL_128);

	if (!g)
		return NULL;
	g->bytes = bytes;
	for (uint32_t have = 0; have < bytes; have += bytes <= SMALL_BYTES ? SMALL_BYTES : PAGE_BYTES) {
		DgramBlock *b = pool_take(&s->pool, block_size(g));

		if (!b) {
			dgram_free(s, g);
			return NULL;
		}
		b->next = g->block;
		g->block = b;
	}
	return g;
}

static void dgram_put(Dgram *g, uint32_t off, const uint8_t *p, size_t n)
{
	DgramBlock *b = g->block;

	for (; off >= PAGE_BYTES; off -= PAGE_BYTES)
		b = b->next;
	for (size_t part; n; p += part, n -= part, off = 0, b = b->next) {
		part = n < PAGE_BYTES - off ? n : PAGE_BYTES - off;
		memcpy(b->byte + off, p, part);
	}
}

static void dgram_get(const Dgram *g, uint32_t off, uint8_t *p, size_t n)
{
	const DgramBlock *b = g->block;

	for (; off >= PAGE_BYTES; off -= PAGE_BYTES)
		b = b->next;
	for (size_t part; n; p += part, n -= part, off = 0, b = b->next) {
		part = n < PAGE_BYTES - off ? n : PAGE_BYTES - off;
		memcpy(p, b->byte + off, part);
	}
}

static void enqueue(Dgram **first, Dgram **last, Dgram *g)
{
	if (*first)
		(*last)->next = g;
	else
		*first = g;
	*last = g;
}

static Dgram *dequeue(Dgram **first)
{
	Dgram *g = *first;

	*first = g->next;
	return g;
}

/* ---- sockets ---- */

static DgramSocket *dgram_find(const NetStack *s, Ip src, uint16_t sport, Ip dst, uint16_t dport)
{
	for (DgramSocket *d = s->dgrams; d; d = d->next)
		if (d->sport == sport && d->dport == dport && ip_eq(d->src, src) && ip_eq(d->dst, dst))
			return d;
	return NULL;
}

static const EndpointOps dgram_ops;

DgramSocket *dgram_open(NetStack *s, int64_t now_ns, const DgramOpen *o)
{
	uint32_t known = ip_path_mtu(s, o->dst, now_ns);

	if (dgram_find(s, o->src, o->sport, o->dst, o->dport))
		return NULL;
	DgramSocket *d = pool_take(&s->pool, POOL_512);
	if (!d)
		return NULL;
	d->src = o->src;
	d->dst = o->dst;
	d->sport = o->sport;
	d->dport = o->dport;
	d->mtu = known && known < o->mtu ? known : o->mtu;
	d->ttl = o->ttl;
	d->tos = o->tos;
	d->df = o->df;
	d->next = s->dgrams;
	s->dgrams = d;
	endpoint_add(s, &d->ep, &dgram_ops);
	d->ip_id = (uint32_t)rng_draw(o->seed ? o->seed : s->seed, SITE_IP_ID, o->seed ? 0 : d->ep.id);
	return d;
}

void dgram_close(DgramSocket *d)
{
	NetStack *s = d->ep.stack;
	DgramSocket **at = &s->dgrams;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	while (d->out)
		dgram_free(s, dequeue(&d->out));
	while (d->in)
		dgram_free(s, dequeue(&d->in));
	endpoint_remove(&d->ep);
	pool_give(&s->pool, POOL_512, d);
}

/* ---- out ---- */

static uint32_t ip_header(const DgramSocket *d)
{
	return d->src.v == 4 ? IP4_HDR : IP6_HDR;
}

static bool too_long(const DgramSocket *d, size_t payload)
{
	size_t udp = payload + UDP_HDR, most = d->src.v == 4 ? UDP_MOST - IP4_HDR : UDP_MOST;

	return udp > most || (d->df && ip_header(d) + udp > d->mtu);
}

/* RFC 768: a checksum that computes to 0 is sent as all ones. */
static void put_header(const DgramSocket *d, Bytes payload, uint8_t h[UDP_HDR])
{
	IpPacket ip = { .src = d->src, .dst = d->dst, .proto = IP_PROTO_UDP };
	uint16_t len = (uint16_t)(UDP_HDR + payload.n), sum;

	put_be16(h, d->sport);
	put_be16(h + 2, d->dport);
	put_be16(h + 4, len);
	put_be16(h + 6, 0);
	sum = ip_csum_done(ip_csum_add(ip_csum_add(ip_pseudo_sum(&ip, len), BYTES(h, UDP_HDR)), payload));
	if (sum == 0)
		sum = 0xffff;
	memcpy(h + 6, &sum, sizeof sum);
}

DgramSent dgram_send(DgramSocket *d, Bytes payload)
{
	uint8_t h[UDP_HDR];
	Dgram *g;

	if (too_long(d, payload.n))
		return DGRAM_TOO_LONG;
	if (d->out_n >= LIMIT_DGRAM_QUEUE || d->out_bytes + payload.n > LIMIT_DGRAM_BYTES ||
	    !(g = dgram_new(d->ep.stack, (uint32_t)(UDP_HDR + payload.n))))
		return DGRAM_FULL;
	put_header(d, payload, h);
	dgram_put(g, 0, h, UDP_HDR);
	dgram_put(g, UDP_HDR, payload.p, payload.n);
	enqueue(&d->out, &d->out_last, g);
	d->out_n++;
	d->out_bytes += g->bytes;
	endpoint_ready(&d->ep);
	return DGRAM_QUEUED;
}

static void sent_whole(DgramSocket *d)
{
	Dgram *g = dequeue(&d->out);

	d->count.sent++;
	d->count.sent_bytes += g->bytes - UDP_HDR;
	d->out_n--;
	d->out_bytes -= g->bytes;
	d->cut = 0;
	d->ip_id++;
	dgram_free(d->ep.stack, g);
}

/* The next packet of the oldest datagram: all of it, or what the MTU has room for
 * (RFC 791 3.2, RFC 8200 4.5).  DF is set while that is true, as path MTU discovery wants. */
static size_t dgram_pull(Endpoint *e, int64_t now_ns, uint8_t *buf, StackOut *ret_out)
{
	DgramSocket *d = (DgramSocket *)(void *)e;
	const Dgram *g = d->out;
	IpPacket ip = { .src = d->src, .dst = d->dst, .proto = IP_PROTO_UDP, .ttl = d->ttl, .tos = d->tos };

	(void)now_ns;
	if (!g)
		return 0;
	uint32_t left = g->bytes - d->cut, hdr = ip_header(d), n = left;

	ip.fragment = d->cut || hdr + left > d->mtu;
	if (ip.fragment) {
		uint32_t room = d->mtu - hdr - (d->src.v == 6 ? FRAGMENT_HDR : 0);

		ip.more = left > room;
		n = ip.more ? room / 8 * 8 : left;
		d->count.fragments++;
	}
	ip.df = d->df;
	ip.frag_off = d->cut;
	ip.id = d->src.v == 4 ? d->ip_id & 0xffff : d->ip_id;
	hdr = (uint32_t)ip_packet_write(&ip, n, buf);
	dgram_get(g, d->cut, buf + hdr, n);
	d->cut += n;
	ret_out->purpose = STACK_DATA;
	ret_out->tag = endpoint_tag(e, 0);
	if (d->cut == g->bytes)
		sent_whole(d);
	return hdr + n;
}

static void dgram_sent(Endpoint *e, uint64_t tag, int64_t tx_ns)
{
	(void)tag;
	((DgramSocket *)(void *)e)->last_tx_ns = tx_ns;
}

static void dgram_notsent(Endpoint *e, uint64_t tag, StackUnsent why)
{
	(void)tag;
	(void)why;
	((DgramSocket *)(void *)e)->count.not_sent++;
}

/* It has no timers. */
static void dgram_due(Endpoint *e, int64_t now_ns)
{
	(void)now_ns;
	endpoint_due(e, STACK_NEVER);
}

static const EndpointOps dgram_ops = { dgram_pull, dgram_sent, dgram_notsent, dgram_due };

/* ---- in ---- */

/* RFC 768: 0 says that there is none; RFC 8200 8.1: IPv6 needs one. */
static bool csum_fits(const IpPacket *ip, Bytes udp)
{
	if (ip->src.v == 4 && get_be16(udp.p + 6) == 0)
		return true;
	return ip_csum_done(ip_csum_add(ip_pseudo_sum(ip, udp.n), udp)) == 0;
}

static void receive(DgramSocket *d, int64_t now_ns, const IpPacket *ip, Bytes udp)
{
	NetStack *s = d->ep.stack;
	bool room = d->in_n < LIMIT_DGRAM_QUEUE && d->in_bytes + udp.n <= LIMIT_DGRAM_BYTES;
	Dgram *g = room ? dgram_new(s, (uint32_t)udp.n) : NULL;

	d->last_rx_ns = now_ns;
	d->count.received++;
	d->count.received_bytes += udp.n - UDP_HDR;
	d->count.received_fragmented += ip->joined;
	if (!g) {
		d->count.dropped++;
		return;
	}
	g->in = (DgramIn){ now_ns, udp.n - UDP_HDR, ip->ttl, ip->tos, ip->joined };
	dgram_put(g, 0, udp.p, udp.n);
	enqueue(&d->in, &d->in_last, g);
	d->in_n++;
	d->in_bytes += g->bytes;
}

StackVerdict udp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx)
{
	Bytes b = ip->payload;

	if (b.n < UDP_HDR)
		return STACK_NOT_OURS;
	DgramSocket *d = dgram_find(s, ip->dst, get_be16(b.p + 2), ip->src, get_be16(b.p));
	size_t len = get_be16(b.p + 4);

	if (!d)
		return STACK_NOT_OURS;
	if (len < UDP_HDR || len > b.n)
		d->count.malformed++;
	else if (!rx->csum_good && !csum_fits(ip, bytes_slice(b, 0, len)))
		d->count.csum_errors++;
	else
		receive(d, now_ns, ip, bytes_slice(b, 0, len));
	return STACK_TAKEN;
}

bool dgram_recv(DgramSocket *d, uint8_t *buf, size_t cap, DgramIn *ret_in)
{
	if (!d->in)
		return false;
	Dgram *g = dequeue(&d->in);
	size_t n = g->in.bytes < cap ? g->in.bytes : cap;

	dgram_get(g, UDP_HDR, buf, n);
	d->in_n--;
	d->in_bytes -= g->bytes;
	*ret_in = g->in;
	dgram_free(d->ep.stack, g);
	return true;
}

/* ---- errors ---- */

static uint32_t told_mtu(const DgramSocket *d, const IcmpError *e)
{
	uint32_t least = d->src.v == 4 ? PMTU_LEAST_V4 : PMTU_LEAST_V6;
	uint32_t mtu = e->mtu ? e->mtu : pmtu_plateau(e->quoted_len);

	return mtu < least ? least : mtu;
}

StackVerdict udp_icmp_error(NetStack *s, int64_t now_ns, const IcmpError *e)
{
	DgramSocket *d = dgram_find(s, e->src, e->sport, e->dst, e->dport);

	if (!d)
		return STACK_NOT_OURS;
	d->count.icmp++;
	d->error = (DgramError){ (uint16_t)(e->type << 8 | e->code), e->reporter, e->mtu, now_ns };
	/* RFC 8201 4: below IPv6's least it is discarded, RFC 1191 3: below 68 it is 68 */
	if (e->klass == ICMP_TOO_BIG && told_mtu(d, e) < d->mtu && (d->src.v == 4 || e->mtu >= PMTU_LEAST_V6)) {
		d->mtu = told_mtu(d, e);
		ip_path_mtu_learned(s, d->dst, d->mtu, now_ns);
	}
	return STACK_TAKEN;
}
