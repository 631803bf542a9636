/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting IP packets (RFC 791 3.2, RFC 8200 4.5), one piece after the other.
 */
#include "wire/table.h"

enum {
	IP_HDR = 20,
	IP_DF = 0x4000,
	IP_MF = 0x2000,
	IP_FLAGS = 0xe000,
	IP_OFFSET = 0x1fff,
	OPT_COPIED = 0x80, /* RFC 791 3.1: goes into every fragment */
	IPV6_HDR = 40,
	FRAGMENT_HDR = 8,
	IPV6_LEAST_MTU = 1280,
	NH_HOPOPT = 0,
	NH_ROUTING = 43,
	NH_FRAGMENT = 44,
	NH_DESTOPT = 60,
};

/* The header of all fragments but the first: only the options that are copied. */
static void later_header(WireCut *c)
{
	Writer w = writer(c->later, sizeof c->later);
	Cursor options = cursor(bytes_slice(c->packet, IP_HDR, c->head));
	WireOpt o;
	bool bad;

	wr_bytes(&w, bytes_slice(c->packet, 0, IP_HDR));
	while (wire_opt_next(&options, &o, &bad)) {
		if (!(o.kind & OPT_COPIED))
			continue;
		wr_u8(&w, (uint8_t)o.kind);
		wr_u8(&w, (uint8_t)(o.data.n + 2));
		wr_bytes(&w, o.data);
	}
	wr_zeros(&w, (4 - w.n % 4) % 4);
	c->nlater = (uint8_t)w.n;
	c->later[0] = (uint8_t)(0x40 | w.n / 4);
}

/* Bytes of header, and of body, of the next piece. */
static size_t piece_head(const WireCut *c)
{
	return c->v6 ? c->head + FRAGMENT_HDR : c->off ? c->nlater : c->head;
}

static size_t piece_body(const WireCut *c)
{
	size_t head = piece_head(c), left = c->packet.n - c->head - c->off;
	size_t room = c->mtu > head ? c->mtu - head : 0;

	return left <= room ? left : room / 8 * 8;
}

static const char *init_ipv4(WireCut *c)
{
	unsigned word;

	size_t head = c->packet.n >= IP_HDR ? (c->packet.p[0] & 15u) * 4u : 0;

	if (head < IP_HDR || head > c->packet.n)
		return "it is no IP packet";
	c->head = head;
	word = get_be16(c->packet.p + 6);
	if (word & IP_DF)
		return "DF is set";
	later_header(c);
	if ((c->packet.n - c->head) / 8 + (word & IP_OFFSET) > IP_OFFSET)
		return "the last fragment's offset is above 65528";
	return c->mtu < c->head + 8 ? "the MTU has no room for 8 bytes of data" : NULL;
}

/* RFC 8200 4.5: the headers that routers look at go into every fragment: hop-by-hop
 * options, destination options in front of a routing header, the routing header. */
static const char *init_ipv6(WireCut *c)
{
	static const char broken[] = "its extension headers are broken or it is a fragment";
	const uint8_t *p = c->packet.p;
	size_t nh_at = 6, end = IPV6_HDR;

	if (c->packet.n < IPV6_HDR)
		return "it is no IP packet";
	c->nh_at = nh_at;
	c->head = end;
	for (uint8_t nh = p[nh_at]; nh == NH_HOPOPT || nh == NH_ROUTING || nh == NH_DESTOPT;) {
		uint8_t kind = nh;

		if (end + 8 > c->packet.n)
			return broken;
		nh_at = end;
		nh = p[nh_at];
		end += (p[nh_at + 1] + 1u) * 8u;
		if (end > c->packet.n)
			return broken;
		if (kind != NH_DESTOPT) {
			c->nh_at = nh_at;
			c->head = end;
		}
	}
	if (p[c->nh_at] == NH_FRAGMENT)
		return broken;
	return c->mtu < IPV6_LEAST_MTU || c->mtu < c->head + FRAGMENT_HDR + 8
		       ? "the MTU is below IPv6's 1280 or has no room for data"
		       : NULL;
}

const char *wire_cut_init(WireCut *c, Bytes packet, uint32_t mtu, uint32_t id)
{
	unsigned version = packet.n ? packet.p[0] >> 4 : 0;

	*c = (WireCut){ .packet = packet, .mtu = mtu, .id = id, .v6 = version == 6 };
	return version == 4 ? init_ipv4(c) : version == 6 ? init_ipv6(c) : "it is no IP packet";
}

/* A fragment that is cut again goes on as it did. */
static void put_ipv4(const WireCut *c, size_t n, bool more, Writer *w)
{
	uint8_t h[IP_HDR + 40];
	size_t len = piece_head(c);
	unsigned was = get_be16(c->packet.p + 6);

	memcpy(h, c->off ? c->later : c->packet.p, len);
	put_be16(h + 2, (uint16_t)(len + n));
	put_be16(h + 6, (uint16_t)((was & IP_FLAGS) | (more ? IP_MF : 0u) | ((was & IP_OFFSET) + c->off / 8)));
	put_be16(h + 10, 0);
	put_be16(h + 10, wire_csum_fold(wire_csum(0, BYTES(h, len))));
	wr_bytes(w, BYTES(h, len));
}

static void put_ipv6(const WireCut *c, size_t n, bool more, Writer *w)
{
	uint8_t h[IPV6_HDR];

	memcpy(h, c->packet.p, IPV6_HDR);
	put_be16(h + 4, (uint16_t)(c->head - IPV6_HDR + FRAGMENT_HDR + n));
	if (c->nh_at < IPV6_HDR)
		h[c->nh_at] = NH_FRAGMENT;
	wr_bytes(w, BYTES(h, IPV6_HDR));
	if (c->nh_at < IPV6_HDR) {
		wr_bytes(w, bytes_slice(c->packet, IPV6_HDR, c->head));
	} else {
		wr_bytes(w, bytes_slice(c->packet, IPV6_HDR, c->nh_at));
		wr_u8(w, NH_FRAGMENT);
		wr_bytes(w, bytes_slice(c->packet, c->nh_at + 1, c->head));
	}
	wr_u8(w, c->packet.p[c->nh_at]);
	wr_u8(w, 0);
	wr_be16(w, (uint16_t)(c->off | more));
	wr_be32(w, c->id);
}

bool wire_cut_next(WireCut *c, Writer *w)
{
	size_t from = c->head + c->off, n = piece_body(c);

	if (from >= c->packet.n || n == 0)
		return false;
	(c->v6 ? put_ipv6 : put_ipv4)(c, n, from + n < c->packet.n, w);
	wr_bytes(w, bytes_slice(c->packet, from, from + n));
	c->off += n;
	return !w->full;
}

uint32_t wire_cut_count(const WireCut *c, uint64_t *ret_bytes)
{
	WireCut walk = *c;
	uint32_t count = 0;

	*ret_bytes = 0;
	for (size_t n = piece_body(&walk); n; n = piece_body(&walk)) {
		*ret_bytes += piece_head(&walk) + n;
		walk.off += n;
		count++;
	}
	return count;
}

const char *wire_fragment(Bytes packet, uint32_t mtu, uint32_t id, Arena *a, Bytes **ret_pieces, uint32_t *ret_n)
{
	WireCut c;
	uint64_t bytes = 0;
	const char *error = wire_cut_init(&c, packet, mtu, id);

	/* What fits is one piece, DF or not. */
	if (packet.n <= mtu && c.head) {
		*ret_pieces = arena_new(a, Bytes);
		(*ret_pieces)[0] = packet;
		*ret_n = 1;
		return NULL;
	}
	if (error)
		return error;
	*ret_n = wire_cut_count(&c, &bytes);
	*ret_pieces = arena_new_n(a, Bytes, *ret_n);
	Writer w = writer(arena_alloc(a, bytes), bytes);

	for (uint32_t i = 0; i < *ret_n; i++) {
		size_t from = w.n;

		(void)wire_cut_next(&c, &w);
		(*ret_pieces)[i] = BYTES(w.p + from, w.n - from);
	}
	return NULL;
}
