/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/identity.h"

#include "wire/fields.h"

enum { SITE_IP_ID = 1, SITE_ICMP_SEQ, SITE_TCP_SEQ, SITE_DNS_ID, SITE_PORT, SITE_OTHER };

static uint64_t draw(uint64_t seed, Ip dst, uint64_t site, uint64_t n)
{
	return rng_draw(seed, rng_mix(bytes_hash(BYTES(dst.b, ip_len(dst)))) ^ site, n);
}

Identity identity_draw(uint64_t seed, Ip dst, uint64_t n)
{
	Identity id;

	/* 1..65535: some stacks write an id of 0 anew */
	id.ip_id = (uint16_t)((draw(seed, dst, SITE_IP_ID, 0) + n) % 65535 + 1);
	id.icmp_seq = (uint16_t)n;
	id.tcp_seq = (uint32_t)(draw(seed, dst, SITE_TCP_SEQ, n) & 0x3fffffff) | 1;
	/* an odd stride visits all 65,536 ids before it repeats one */
	id.dns_id = (uint16_t)(draw(seed, dst, SITE_DNS_ID, 0) + n * (draw(seed, dst, SITE_DNS_ID, 1) | 1));
	return id;
}

static const OwnPorts *group_of(const IdentityPool *pool, uint8_t proto, Ip src)
{
	for (uint32_t i = 0; i < pool->n; i++) {
		const OwnPorts *g = &pool->group[i];

		if (g->proto == proto && (!g->src.v || ip_eq(g->src, src)))
			return g;
	}
	return NULL;
}

bool identity_own(IdentityPool *pool, Arena *a, uint8_t proto, uint16_t port, Ip src)
{
	OwnPorts *g = NULL;

	for (uint32_t i = 0; i < pool->n && !g; i++)
		if (pool->group[i].proto == proto && ip_eq(pool->group[i].src, src))
			g = &pool->group[i];
	if (!g) {
		if (pool->n == IDENTITY_GROUPS)
			return false;
		g = &pool->group[pool->n++];
		*g = (OwnPorts){ .proto = proto, .src = src };
	}
	vec_push(a, &g->port, port);
	return true;
}

bool identity_owns(const IdentityPool *pool, uint8_t proto, uint16_t port, Ip src)
{
	const OwnPorts *g = group_of(pool, proto, src);

	for (uint32_t i = 0; g && i < g->port.n; i++)
		if (g->port.p[i] == port)
			return true;
	return false;
}

uint16_t identity_port(const IdentityPool *pool, uint8_t proto, Ip src, Ip dst, uint64_t n)
{
	const OwnPorts *g = group_of(pool, proto, src);

	if (!g || !g->port.n)
		return 0;
	return g->port.p[(draw(pool->seed, dst, SITE_PORT, proto) % g->port.n + n) % g->port.n];
}

uint32_t identity_ports(const IdentityPool *pool, uint8_t proto, Ip src)
{
	const OwnPorts *g = group_of(pool, proto, src);

	return g ? g->port.n : 0;
}

Ip packet_destination(const WirePacket *p)
{
	enum { SOLICITATION = 135 };
	const WireLayer *l;

	if ((l = wire_find(p, WIRE_ICMPV6)) && wire_num(l, F_ICMPV6_TYPE) == SOLICITATION)
		return ip_from(6, wire_bytes(l, F_ICMPV6_TGT).p);
	if ((l = wire_find(p, WIRE_IP)))
		return ip4((uint32_t)wire_num(l, F_IP_DST));
	if ((l = wire_find(p, WIRE_IPV6)))
		return ip_from(6, wire_bytes(l, F_IPV6_DST).p);
	if ((l = wire_find(p, WIRE_ARP)))
		return ip4((uint32_t)wire_num(l, F_ARP_PDST));
	return (Ip){ 0 };
}

/* ---- filling ---- */

typedef struct Fill {
	const IdentityPool *pool;
	Ip src, dst;
	uint64_t n;
	Identity id;
	Arena *a;
} Fill;

static void fill(WireLayer *l, unsigned field, uint64_t v)
{
	if (!wire_is_set(l, field) && wire_has(l, field))
		wire_set_num(l, field, v);
}

static void fill_src6(const Fill *f, WireLayer *l, unsigned field)
{
	if (!wire_is_set(l, field) && f->src.v == 6)
		wire_set_bytes(l, field, BYTES(arena_copy(f->a, f->src.b, 16), 16));
}

/* The source as it will be sent: the program's, else ours. */
static Ip source_of(const WirePacket *p, Ip ours)
{
	const WireLayer *l;

	if ((l = wire_find(p, WIRE_IP)) && wire_is_set(l, F_IP_SRC))
		return ip4((uint32_t)wire_num(l, F_IP_SRC));
	if ((l = wire_find(p, WIRE_IPV6)) && wire_is_set(l, F_IPV6_SRC))
		return ip_from(6, wire_bytes(l, F_IPV6_SRC).p);
	return ours;
}

static bool fill_port(const Fill *f, WireLayer *l, unsigned field, uint8_t proto, uint64_t n)
{
	if (wire_is_set(l, field) || !wire_has(l, field))
		return true;
	uint16_t port = identity_port(f->pool, proto, f->src, f->dst, n);
	if (port)
		wire_set_num(l, field, port);
	return port != 0;
}

/* What no other probe to that destination has, in as many bits: an odd stride visits
 * all numbers before it repeats one.  One bit is left out where there is a sign. */
static void fill_distinct(const Fill *f, WireLayer *l)
{
	uint64_t v = draw(f->pool->seed, f->dst, SITE_OTHER, 0) +
		     f->n * (draw(f->pool->seed, f->dst, SITE_OTHER, 1) | 1);

	for (unsigned i = 0; i < l->proto->nfields; i++) {
		const WireField *w = &l->proto->fields[i];
		unsigned bits = w->width - (w->kind == FK_SINT ? 1u : 0u);

		if (w->distinct)
			fill(l, i, bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v);
	}
}

/* NULL or what we have none left of. */
static const char *fill_layer(const Fill *f, WireLayer *l)
{
	switch (l->proto->id) {
	case WIRE_IP:
		if (f->src.v == 4)
			fill(l, F_IP_SRC, ip4_num(f->src));
		fill(l, F_IP_ID, f->id.ip_id);
		break;
	case WIRE_IPV6:
		fill_src6(f, l, F_IPV6_SRC);
		break;
	case WIRE_FRAGMENT:
		fill(l, F_FRAGMENT_ID, f->id.tcp_seq);
		break;
	case WIRE_ICMP:
		fill(l, F_ICMP_SEQ, f->id.icmp_seq);
		return fill_port(f, l, F_ICMP_ID, 1, f->n >> 16) ? NULL : "ICMP id";
	case WIRE_ICMPV6:
		fill(l, F_ICMPV6_SEQ, f->id.icmp_seq);
		return fill_port(f, l, F_ICMPV6_ID, 58, f->n >> 16) ? NULL : "ICMPv6 id";
	case WIRE_UDP:
		return fill_port(f, l, F_UDP_SPORT, 17, f->n) ? NULL : "UDP port";
	case WIRE_TCP:
		fill(l, F_TCP_SEQ, f->id.tcp_seq);
		return fill_port(f, l, F_TCP_SPORT, 6, f->n) ? NULL : "TCP port";
	case WIRE_DNS:
		fill(l, F_DNS_ID, f->id.dns_id);
		break;
	default:
		fill_distinct(f, l);
		break;
	}
	return NULL;
}

const char *identity_fill(WirePacket *p, const IdentityPool *pool, Ip src, uint64_t n, Arena *a)
{
	Fill f = { .pool = pool, .dst = packet_destination(p), .n = n, .a = a };

	f.src = source_of(p, src);
	f.id = identity_draw(pool->seed, f.dst, n);
	for (unsigned i = 0; i < p->n; i++) {
		WireLayer copy;

		wire_layer_copy(&copy, &p->layer[i], a);
		p->layer[i] = copy;
		const char *lacks = fill_layer(&f, &p->layer[i]);
		if (lacks)
			return str_printf(a, "no %s of ours is free for this source address", lacks).p;
	}
	return NULL;
}
