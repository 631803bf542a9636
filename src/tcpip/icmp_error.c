/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/ip.h"

enum {
	ANY = 255,
	V4_UNREACHABLE = 3,
	V4_TOO_BIG_CODE = 4,
	V6_TOO_BIG = 2,
	ERROR_HDR = 8,
	QUOTE_LEAST = 8, /* bytes of the transport header that RFC 792 promises */
	IP4_HDR = 20,
	IP6_HDR = 40,
	EXT_HOP = 0,
	EXT_ROUTING = 43,
	EXT_FRAGMENT = 44,
	EXT_DEST = 60,
	EXT_MOST = 8,
};

/* What an error means, the first row that fits (RFC 1122 4.2.3.9, RFC 4443 3, RFC 5461 3).
 * Prohibited counts as hard for IPv4 as RFC 5461 has it for IPv6.  Source quench is not
 * here: it is to be ignored (RFC 6633 2). */
static const struct {
	uint8_t v, type, code;
	IcmpClass klass;
} classes[] = {
	{ 4, V4_UNREACHABLE, 2, ICMP_HARD }, /* protocol */
	{ 4, V4_UNREACHABLE, 3, ICMP_HARD }, /* port */
	{ 4, V4_UNREACHABLE, V4_TOO_BIG_CODE, ICMP_TOO_BIG },
	{ 4, V4_UNREACHABLE, 9, ICMP_HARD },  /* network prohibited */
	{ 4, V4_UNREACHABLE, 10, ICMP_HARD }, /* host prohibited */
	{ 4, V4_UNREACHABLE, 13, ICMP_HARD }, /* communication prohibited */
	{ 4, V4_UNREACHABLE, ANY, ICMP_SOFT },
	{ 4, 11, ANY, ICMP_SOFT }, /* time exceeded */
	{ 4, 12, ANY, ICMP_SOFT }, /* parameter problem */
	{ 6, 1, 1, ICMP_HARD },	   /* prohibited */
	{ 6, 1, 4, ICMP_HARD },	   /* port */
	{ 6, 1, 5, ICMP_HARD },	   /* source address policy, a kind of prohibited */
	{ 6, 1, 6, ICMP_HARD },	   /* reject route, the other */
	{ 6, 1, ANY, ICMP_SOFT },
	{ 6, V6_TOO_BIG, ANY, ICMP_TOO_BIG },
	{ 6, 3, ANY, ICMP_SOFT },
	{ 6, 4, ANY, ICMP_SOFT },
};

static bool classify(uint8_t v, IcmpError *e)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].v == v && classes[i].type == e->type &&
		    (classes[i].code == ANY || classes[i].code == e->code)) {
			e->klass = classes[i].klass;
			return true;
		}
	return false;
}

/* ---- the quote: cut anywhere, its header checksum and hop limit are what they were on the way ---- */

/* The transport header; false: none, or a later fragment. */
static bool quote_v4(Bytes q, IcmpError *e, uint8_t *ret_proto, Bytes *ret_l4)
{
	size_t hdr = q.n ? (q.p[0] & 15u) * 4u : 0;

	if (q.n < IP4_HDR || hdr < IP4_HDR || hdr > q.n || get_be16(q.p + 6) & 0x1fff)
		return false;
	e->quoted_len = get_be16(q.p + 2);
	*ret_proto = q.p[9];
	e->src = ip_from(4, q.p + 12);
	e->dst = ip_from(4, q.p + 16);
	*ret_l4 = bytes_slice(q, hdr, q.n);
	return true;
}

static bool is_extension(uint8_t kind)
{
	return kind == EXT_HOP || kind == EXT_ROUTING || kind == EXT_FRAGMENT || kind == EXT_DEST;
}

static bool quote_v6(Bytes q, IcmpError *e, uint8_t *ret_proto, Bytes *ret_l4)
{
	size_t off = IP6_HDR;

	if (q.n < IP6_HDR)
		return false;
	size_t total = IP6_HDR + (size_t)get_be16(q.p + 4);

	e->quoted_len = (uint16_t)(total > UINT16_MAX ? UINT16_MAX : total);
	e->src = ip_from(6, q.p + 8);
	e->dst = ip_from(6, q.p + 24);
	*ret_proto = q.p[6];
	for (int i = 0; is_extension(*ret_proto); i++) {
		if (i == EXT_MOST || off + 8 > q.n)
			return false;
		bool frag = *ret_proto == EXT_FRAGMENT;

		if (frag && get_be16(q.p + off + 2) & 0xfff8)
			return false;
		*ret_proto = q.p[off];
		off += frag ? 8 : 8 + (size_t)q.p[off + 1] * 8;
	}
	*ret_l4 = bytes_slice(q, off, q.n);
	return true;
}

static bool read_quote(Bytes q, uint8_t v, IcmpError *e, uint8_t *ret_proto)
{
	Bytes l4;

	if (!q.n || q.p[0] >> 4 != v || !(v == 4 ? quote_v4 : quote_v6)(q, e, ret_proto, &l4) || l4.n < QUOTE_LEAST)
		return false;
	e->sport = get_be16(l4.p);
	e->dport = get_be16(l4.p + 2);
	e->seq = get_be32(l4.p + 4);
	return true;
}

/* RFC 792; RFC 4443 2.3: ICMPv6's covers a pseudo-header. */
static bool csum_fits(const IpPacket *ip)
{
	uint64_t sum = ip->src.v == 6 ? ip_pseudo_sum(ip, ip->payload.n) : 0;

	return ip_csum_done(ip_csum_add(sum, ip->payload)) == 0;
}

bool icmp_error_read(const IpPacket *ip, bool csum_good, IcmpError *ret_error, uint8_t *ret_proto)
{
	IcmpError e = { .reporter = ip->src };
	Bytes b = ip->payload;

	if (b.n < ERROR_HDR)
		return false;
	e.type = b.p[0];
	e.code = b.p[1];
	if (!classify(ip->src.v, &e) || !(csum_good || csum_fits(ip)) ||
	    !read_quote(bytes_slice(b, ERROR_HDR, b.n), ip->src.v, &e, ret_proto))
		return false;
	if (e.klass == ICMP_TOO_BIG) /* RFC 1191 4: behind 16 unused bits; RFC 4443 3.2 */
		e.mtu = ip->src.v == 4 ? get_be16(b.p + 6) : get_be32(b.p + 4);
	/* RFC 1122 3.2.2: it goes to who sent what it quotes */
	if (!ip_eq(e.src, ip->dst))
		return false;
	*ret_error = e;
	return true;
}
