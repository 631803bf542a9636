/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting IP packets (RFC 791 3.2, RFC 8200 4.5).
 */
#include "wire/table.h"

enum {
	IP_HDR = 20,
	IP_DF = 0x4000,
	IP_MF = 0x2000,
	IP_OFFSET = 0x1fff,
	OPT_COPIED = 0x80, /* RFC 791 3.1: goes into every fragment */
	IPV6_HDR = 40,
	FRAGMENT_HDR = 8,
	IPV6_LEAST_MTU = 1280,
};

/* Gives out pieces of `step` bytes of the body, each behind a header. */
typedef struct Cutter {
	Arena *a;
	Bytes body;
	Bytes *piece;
	uint32_t n;
} Cutter;

static uint8_t *cut(Cutter *c, Bytes head, size_t from, size_t n)
{
	uint8_t *p = arena_alloc(c->a, head.n + n);

	memcpy(p, head.p, head.n);
	memcpy(p + head.n, c->body.p + from, n);
	c->piece[c->n++] = BYTES(p, head.n + n);
	return p;
}

/* The header of all fragments but the first: only the options that are copied. */
static Bytes later_header(Bytes head, Arena *a)
{
	uint8_t *p = arena_copy(a, head.p, head.n);
	Writer w = writer(p + IP_HDR, head.n - IP_HDR);
	Cursor c = cursor(bytes_slice(head, IP_HDR, head.n));
	WireOpt o;
	bool bad;

	while (wire_opt_next(&c, &o, &bad)) {
		if (!(o.kind & OPT_COPIED))
			continue;
		wr_u8(&w, (uint8_t)o.kind);
		wr_u8(&w, (uint8_t)(o.data.n + 2));
		wr_bytes(&w, o.data);
	}
	wr_zeros(&w, (4 - w.n % 4) % 4);
	p[0] = (uint8_t)(0x40 | (IP_HDR + w.n) / 4);
	return BYTES(p, IP_HDR + w.n);
}

static void put_ipv4(uint8_t *p, size_t hdr, size_t all, size_t offset, bool more)
{
	unsigned was = get_be16(p + 6);
	unsigned flags = (was & 0xe000u) | (more ? IP_MF : 0);

	put_be16(p + 2, (uint16_t)all);
	put_be16(p + 6, (uint16_t)(flags | ((was & IP_OFFSET) + offset / 8)));
	put_be16(p + 10, 0);
	put_be16(p + 10, wire_csum_fold(wire_csum(0, BYTES(p, hdr))));
}

static const char *cut_ipv4(Cutter *c, Bytes packet, uint32_t mtu)
{
	size_t hdr = (packet.p[0] & 15u) * 4u;
	Bytes head = bytes_slice(packet, 0, hdr), later = later_header(head, c->a);

	if (get_be16(packet.p + 6) & IP_DF)
		return "DF is set";
	if (mtu < hdr + 8)
		return "the MTU has no room for 8 bytes of data";
	c->body = bytes_slice(packet, hdr, packet.n);
	c->piece = arena_new_n(c->a, Bytes, c->body.n / 8 + 1);
	if (c->body.n / 8 + (get_be16(packet.p + 6) & IP_OFFSET) > IP_OFFSET)
		return "the last fragment's offset is above 65528";
	for (size_t from = 0, n; from < c->body.n; from += n) {
		size_t left = c->body.n - from;
		Bytes h = from ? later : head;

		n = (mtu - h.n) / 8 * 8;
		bool more = left > mtu - h.n;

		n = more ? n : left;
		uint8_t *p = cut(c, h, from, n);

		/* A fragment that is cut again goes on as it did. */
		put_ipv4(p, h.n, h.n + n, from, more || (get_be16(packet.p + 6) & IP_MF));
	}
	return NULL;
}

/* RFC 8200 4.5: the headers that routers look at go into every fragment: hop-by-hop
 * options, destination options in front of a routing header, the routing header.
 * The offset of the byte that names the next header, and their end. */
static bool per_fragment_headers(Bytes packet, size_t *ret_nh_at, size_t *ret_end)
{
	enum { NH_HOPOPT = 0, NH_ROUTING = 43, NH_DESTOPT = 60, NH_FRAGMENT = 44 };
	size_t nh_at = 6, end = IPV6_HDR;

	*ret_nh_at = nh_at;
	*ret_end = end;
	for (uint8_t nh = packet.p[nh_at]; nh == NH_HOPOPT || nh == NH_ROUTING || nh == NH_DESTOPT;) {
		uint8_t kind = nh;

		if (end + 8 > packet.n)
			return false;
		nh_at = end;
		nh = packet.p[nh_at];
		end += (packet.p[nh_at + 1] + 1u) * 8u;
		if (end > packet.n)
			return false;
		if (kind != NH_DESTOPT) {
			*ret_nh_at = nh_at;
			*ret_end = end;
		}
	}
	return packet.p[*ret_nh_at] != NH_FRAGMENT;
}

static const char *cut_ipv6(Cutter *c, Bytes packet, uint32_t mtu, uint32_t id)
{
	enum { NH_FRAGMENT = 44 };
	size_t nh_at = 0, end = 0;

	if (!per_fragment_headers(packet, &nh_at, &end))
		return "its extension headers are broken or it is a fragment";
	if (mtu < IPV6_LEAST_MTU || mtu < end + FRAGMENT_HDR + 8)
		return "the MTU is below IPv6's 1280 or has no room for data";
	uint8_t *head = arena_alloc(c->a, end + FRAGMENT_HDR);

	memcpy(head, packet.p, end);
	head[end] = packet.p[nh_at];
	head[nh_at] = NH_FRAGMENT;
	put_be32(head + end + 4, id);
	c->body = bytes_slice(packet, end, packet.n);
	c->piece = arena_new_n(c->a, Bytes, c->body.n / 8 + 1);
	size_t hdr = end + FRAGMENT_HDR, most = (mtu - hdr) / 8 * 8;

	for (size_t from = 0, n; from < c->body.n; from += n) {
		bool more = c->body.n - from > mtu - hdr;

		n = more ? most : c->body.n - from;
		uint8_t *p = cut(c, BYTES(head, hdr), from, n);

		put_be16(p + 4, (uint16_t)(hdr - IPV6_HDR + n));
		put_be16(p + end + 2, (uint16_t)(from | more));
	}
	return NULL;
}

const char *wire_fragment(Bytes packet, uint32_t mtu, uint32_t id, Arena *a, Bytes **ret_pieces,
			  uint32_t *ret_n)
{
	Cutter c = { .a = a };
	const char *error = "it is no IP packet";
	unsigned version = packet.n ? packet.p[0] >> 4 : 0;

	if (version == 4 && packet.n >= IP_HDR && (packet.p[0] & 15u) >= 5 &&
	    (packet.p[0] & 15u) * 4u <= packet.n)
		error = NULL;
	else if (version == 6 && packet.n >= IPV6_HDR)
		error = NULL;
	if (error)
		return error;
	if (packet.n <= mtu) {
		c.piece = arena_new(a, Bytes);
		c.piece[c.n++] = packet;
	} else {
		error = version == 4 ? cut_ipv4(&c, packet, mtu) : cut_ipv6(&c, packet, mtu, id);
	}
	if (error)
		return error;
	*ret_pieces = c.piece;
	*ret_n = c.n;
	return NULL;
}
