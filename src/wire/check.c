/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums over pseudo headers, and their verification.
 */
#include "wire/build.h"

enum { PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMPV6 = 58, LSRR = 131, SSRR = 137 };

/* RFC 1122 4.1.3.4 and RFC 791 3.1: with a source route that is not used up, the
 * final destination is the route's last address. */
static Bytes ipv4_final_dst(const WireLayer *l)
{
	Cursor c = cursor(l->var[0]);
	WireOpt o;
	bool bad;

	while (wire_opt_next(&c, &o, &bad)) {
		if (o.kind != LSRR && o.kind != SSRR)
			continue;
		if (o.data.n >= 5 && o.data.p[0] <= o.data.n + 2)
			return bytes_slice(o.data, o.data.n - 4, o.data.n);
	}
	return wire_bytes(l, F_IP_DST);
}

/* RFC 8200 8.1: the final destination, which is in a routing header that is not used up. */
static Bytes ipv6_final_dst(const WirePacket *p, unsigned ip, unsigned at)
{
	enum { SOURCE_ROUTE = 0, MOBILITY = 2, SEGMENTS = 4 };

	for (unsigned i = ip + 1; i < at; i++) {
		const WireLayer *l = &p->layer[i];

		if (l->proto->id != WIRE_ROUTING || wire_num(l, F_ROUTING_SEGLEFT) == 0 || l->var[0].n < 16)
			continue;
		uint64_t type = wire_num(l, F_ROUTING_TYPE);
		size_t whole = l->var[0].n / 16 * 16;

		if (type == SEGMENTS) /* RFC 8754 2: the last segment stands first */
			return bytes_slice(l->var[0], 0, 16);
		if (type == SOURCE_ROUTE || type == MOBILITY)
			return bytes_slice(l->var[0], whole - 16, whole);
	}
	return wire_bytes(&p->layer[ip], F_IPV6_DST);
}

bool wire_pseudo(const WirePacket *p, unsigned at, uint8_t proto, size_t len, uint32_t *ret_sum)
{
	unsigned ip = at;

	while (ip-- > 0 && p->layer[ip].proto->role != ROLE_NETWORK)
		;
	if (ip >= at)
		return false;
	const WireLayer *l = &p->layer[ip];
	uint32_t sum = (uint32_t)(len >> 16) + (uint32_t)(len & 0xffff) + proto;

	if (l->proto->id == WIRE_IP) {
		sum = wire_csum(sum, wire_bytes(l, F_IP_SRC));
		*ret_sum = wire_csum(sum, ipv4_final_dst(l));
	} else if (l->proto->id == WIRE_IPV6) {
		sum = wire_csum(sum, wire_bytes(l, F_IPV6_SRC));
		*ret_sum = wire_csum(sum, ipv6_final_dst(p, ip, at));
	} else {
		return false;
	}
	return true;
}

/* The bytes of a layer and what it carries, as far as the layers around it say
 * that the packet goes; false if they are not all there. */
static bool covered(const WirePacket *p, unsigned at, Bytes *ret_b)
{
	size_t end = p->frame.n - p->padding.n, off = p->layer[at].off;

	for (unsigned i = 0; i < at; i++) {
		const WireLayer *l = &p->layer[i];

		if (l->proto->id == WIRE_IP) {
			if (wire_num(l, F_IP_FRAG) || (wire_num(l, F_IP_FLAGS) & 1))
				return false;
			end = l->off + (size_t)wire_num(l, F_IP_LEN);
		} else if (l->proto->id == WIRE_IPV6) {
			end = l->off + 40 + (size_t)wire_num(l, F_IPV6_PLEN);
		} else if (l->proto->id == WIRE_FRAGMENT) {
			if (wire_num(l, F_FRAGMENT_OFFSET) || wire_num(l, F_FRAGMENT_M))
				return false;
		}
	}
	*ret_b = bytes_slice(p->frame, off, end);
	return end <= p->frame.n && end > off;
}

static WireCsum verdict(uint32_t sum, Bytes b)
{
	return wire_csum_fold(wire_csum(sum, b)) == 0 ? CSUM_GOOD : CSUM_BAD;
}

static WireCsum check_udp(const WirePacket *p, unsigned at, Bytes b)
{
	const WireLayer *l = &p->layer[at];
	size_t len = (size_t)wire_num(l, F_UDP_LEN);
	uint32_t sum = 0;

	if (!wire_pseudo(p, at, PROTO_UDP, len, &sum) || len > b.n || len < 8)
		return CSUM_UNKNOWN;
	if (wire_num(l, F_UDP_CHKSUM) == 0) /* RFC 768: none; RFC 8200 8.1: not allowed in IPv6 */
		return wire_find(p, WIRE_IPV6) ? CSUM_BAD : CSUM_NONE;
	return verdict(sum, bytes_slice(b, 0, len));
}

static WireCsum check_pseudo(const WirePacket *p, unsigned at, uint8_t proto, Bytes b)
{
	uint32_t sum = 0;

	return wire_pseudo(p, at, proto, b.n, &sum) ? verdict(sum, b) : CSUM_UNKNOWN;
}

WireCsum wire_check(const WirePacket *p, unsigned layer)
{
	const WireLayer *l = &p->layer[layer];
	WireId id = l->proto->id;
	Bytes b = { 0 };

	if (id == WIRE_IP)
		return l->off + l->len <= p->frame.n ?
			       verdict(0, bytes_slice(p->frame, l->off, l->off + l->len)) :
			       CSUM_UNKNOWN;
	if (!l->proto->check && !(WIRE_BIT(id) &
	      (WIRE_BIT(WIRE_TCP) | WIRE_BIT(WIRE_UDP) | WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6))))
		return CSUM_NONE;
	if (!covered(p, layer, &b))
		return CSUM_UNKNOWN;
	if (l->proto->check)
		return l->proto->check(p, layer, b);
	if (id == WIRE_UDP)
		return check_udp(p, layer, b);
	if (id == WIRE_ICMP)
		return verdict(0, b);
	return check_pseudo(p, layer, id == WIRE_TCP ? PROTO_TCP : PROTO_ICMPV6, b);
}
