/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/ip_packet.h"

enum { IP4_BYTES = 20, IP6_BYTES = 40, FRAGMENT_BYTES = 8 };
enum { EXT_HOP = 0, EXT_ROUTING = 43, EXT_FRAGMENT = 44, EXT_NONE = 59, EXT_DEST = 60 };
enum { EXT_MAX = 8 }; /* extension headers of one packet; more serve nobody but attackers */

/* ---- checksum (RFC 1071) ---- */

/* Sums in the machine's order are right after the final fold (RFC 1071 2 B), and need no
 * byte swap of each word.  32-bit words into 64 bits: no carry is lost below 2^32 words. */
static inline uint64_t csum_step(uint64_t sum, const uint8_t *p)
{
	uint32_t w[4];

	memcpy(w, p, sizeof w);
	return sum + w[0] + w[1] + w[2] + w[3];
}

static uint64_t csum_tail(uint64_t sum, const uint8_t *p, size_t n)
{
	uint16_t w;

	for (; n >= 2; p += 2, n -= 2) {
		memcpy(&w, p, sizeof w);
		sum += w;
	}
	if (n) {
		uint8_t last[2] = { p[0], 0 };

		memcpy(&w, last, sizeof w);
		sum += w;
	}
	return sum;
}

uint64_t ip_csum_add(uint64_t sum, Bytes b)
{
	uint64_t odd = 0;
	size_t i = 0;

	for (; i + 32 <= b.n; i += 32) {
		sum = csum_step(sum, b.p + i);
		odd = csum_step(odd, b.p + i + 16);
	}
	for (; i + 16 <= b.n; i += 16)
		sum = csum_step(sum, b.p + i);
	return csum_tail(sum + odd, b.p + i, b.n - i);
}

uint64_t ip_csum_copy(uint64_t sum, uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n)
		memcpy(dst, src, n);
	return ip_csum_add(sum, BYTES(dst, n));
}

uint16_t ip_csum_done(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint64_t ip_pseudo_sum(const IpPacket *ip, size_t payload)
{
	size_t n = ip_len(ip->src);
	uint64_t sum = ip_csum_add(ip_csum_add(0, BYTES(ip->src.b, n)), BYTES(ip->dst.b, n));
	uint8_t rest[8] = { 0 };

	put_be32(rest, (uint32_t)payload);
	rest[7] = ip->proto;
	return ip_csum_add(sum, BYTES(rest, sizeof rest));
}

/* ---- reading ---- */

static bool read_v4(Bytes b, IpPacket *ip)
{
	if (b.n < IP4_BYTES)
		return false;
	size_t hdr = (size_t)(b.p[0] & 15) * 4, total = get_be16(b.p + 2);

	/* Padding of short Ethernet frames is behind total, and no data of anybody. */
	if (hdr < IP4_BYTES || total < hdr || total > b.n || ip_csum_done(ip_csum_add(0, bytes_slice(b, 0, hdr))))
		return false;
	uint16_t frag = get_be16(b.p + 6);

	ip->tos = b.p[1];
	ip->id = get_be16(b.p + 4);
	ip->df = frag & 0x4000;
	ip->more = frag & 0x2000;
	ip->frag_off = (frag & 0x1fffu) * 8;
	ip->fragment = ip->more || ip->frag_off;
	ip->ttl = b.p[8];
	ip->proto = b.p[9];
	ip->src = ip_from(4, b.p + 12);
	ip->dst = ip_from(4, b.p + 16);
	ip->hdr_bytes = (uint16_t)hdr;
	ip->whole = bytes_slice(b, 0, total);
	ip->payload = bytes_slice(b, hdr, total);
	return true;
}

/* RFC 8200 4.2: an option whose type starts with two zero bits may be passed over. */
static bool options_pass(Bytes b)
{
	Cursor c = cursor(b);

	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c);

		if (type == 0) /* Pad1 */
			continue;
		if (type >> 6)
			return false;
		cur_skip(&c, cur_u8(&c));
	}
	return !c.bad;
}

static void read_fragment(Bytes h, IpPacket *ip)
{
	uint16_t frag = get_be16(h.p + 2);

	ip->more = frag & 1;
	ip->frag_off = frag & 0xfff8u;
	ip->id = get_be32(h.p + 4);
	/* RFC 6946: an atomic fragment is a whole packet. */
	ip->fragment = ip->more || ip->frag_off;
}

/* One extension header at off; *ret_bytes of it.  False: not to be passed. */
static bool read_extension(Bytes b, size_t off, uint8_t kind, IpPacket *ip, size_t *ret_bytes)
{
	if (off + 8 > b.n)
		return false;
	size_t n = kind == EXT_FRAGMENT ? 8 : 8 + (size_t)b.p[off + 1] * 8;
	Bytes h = bytes_slice(b, off, off + n);

	if (h.n < n)
		return false;
	if (kind == EXT_FRAGMENT)
		read_fragment(h, ip);
	else if (kind == EXT_ROUTING ? h.p[3] != 0 /* RFC 8200 4.4: segments left */ : !options_pass(bytes_slice(h, 2, n)))
		return false;
	*ret_bytes = n;
	return true;
}

static bool is_extension(uint8_t kind)
{
	return kind == EXT_HOP || kind == EXT_ROUTING || kind == EXT_FRAGMENT || kind == EXT_DEST;
}

static bool read_v6(Bytes b, IpPacket *ip)
{
	if (b.n < IP6_BYTES)
		return false;
	size_t total = IP6_BYTES + (size_t)get_be16(b.p + 4), off = IP6_BYTES;

	if (total > b.n)
		return false;
	b = bytes_slice(b, 0, total);
	ip->tos = (uint8_t)bits_get(b.p, 4, 8);
	ip->df = true;
	ip->proto = b.p[6];
	ip->ttl = b.p[7];
	ip->src = ip_from(6, b.p + 8);
	ip->dst = ip_from(6, b.p + 24);
	/* Behind the fragment header of a piece only its payload stands. */
	for (int i = 0; is_extension(ip->proto) && !ip->fragment; i++) {
		size_t n;
		uint8_t next;

		if (i == EXT_MAX || (ip->proto == EXT_HOP && i) || !read_extension(b, off, ip->proto, ip, &n))
			return false;
		next = b.p[off];
		off += n;
		ip->proto = next;
	}
	ip->hdr_bytes = (uint16_t)off;
	ip->whole = b;
	ip->payload = bytes_slice(b, off, total);
	return true;
}

bool ip_packet_read(Bytes packet, IpPacket *ret_ip)
{
	IpPacket ip = { 0 };
	uint8_t version = packet.n ? packet.p[0] >> 4 : 0;

	if (!(version == 4 ? read_v4(packet, &ip) : version == 6 && read_v6(packet, &ip)))
		return false;
	*ret_ip = ip;
	return true;
}

/* ---- writing ---- */

static size_t write_v6(const IpPacket *ip, size_t payload, uint8_t *buf)
{
	size_t extra = ip->fragment ? FRAGMENT_BYTES : 0;

	put_be32(buf, 6u << 28 | (uint32_t)ip->tos << 20);
	put_be16(buf + 4, (uint16_t)(extra + payload));
	buf[6] = ip->fragment ? EXT_FRAGMENT : ip->proto;
	buf[7] = ip->ttl;
	memcpy(buf + 8, ip->src.b, 16);
	memcpy(buf + 24, ip->dst.b, 16);
	if (ip->fragment) { /* RFC 8200 4.5 */
		put_be16(buf + IP6_BYTES, (uint16_t)(ip->proto << 8));
		put_be16(buf + IP6_BYTES + 2, (uint16_t)(ip->frag_off | ip->more));
		put_be32(buf + IP6_BYTES + 4, ip->id);
	}
	return IP6_BYTES + extra;
}

size_t ip_packet_write(const IpPacket *ip, size_t payload, uint8_t *buf)
{
	if (ip->src.v == 6)
		return write_v6(ip, payload, buf);
	buf[0] = 0x45;
	buf[1] = ip->tos;
	put_be16(buf + 2, (uint16_t)(IP4_BYTES + payload));
	put_be16(buf + 4, (uint16_t)ip->id);
	put_be16(buf + 6, (uint16_t)((ip->df ? 0x4000u : 0) | (ip->more ? 0x2000u : 0) | ip->frag_off / 8));
	buf[8] = ip->ttl;
	buf[9] = ip->proto;
	memset(buf + 10, 0, 2);
	memcpy(buf + 12, ip->src.b, 4);
	memcpy(buf + 16, ip->dst.b, 4);
	uint16_t sum = ip_csum_done(ip_csum_add(0, BYTES(buf, IP4_BYTES)));

	memcpy(buf + 10, &sum, sizeof sum);
	return IP4_BYTES;
}
