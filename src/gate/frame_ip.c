/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 (RFC 791) and IPv6 (RFC 8200) headers of a frame that is to leave.  What is
 * not understood to its end does not pass.
 */
#include "gate/frame_inside.h"

#include <netinet/in.h>

enum {
	IP4_LEAST = 20,
	IP6_HEADER = 40,
	IP4_DF = 0x4000,
	IP4_MF = 0x2000,
	NH_DESTOPT = 60,
	NH_NONE = 59,
};

static bool add_via(Look *l, Ip ip)
{
	if (l->nvia == VIA_MAX)
		return no(l, NOTSENT_FRAME, "a source route with too many addresses");
	l->via[l->nvia++] = ip;
	return true;
}

/* ---- IPv4 ---- */

/* RFC 791 3.1: loose and strict source route steer the packet to further peers. */
static bool route_option(Look *l, Bytes data)
{
	if (data.n < 1 || (data.n - 1) % 4)
		return no(l, NOTSENT_FRAME, "a source route of %zu bytes", data.n);
	for (size_t at = 1; at < data.n; at += 4)
		if (!add_via(l, ip_from(4, data.p + at)))
			return false;
	return true;
}

static bool options4(Look *l, Bytes b)
{
	enum { END = 0, NOP = 1, LSRR = 131, SSRR = 137 };
	Cursor c = cursor(b);

	l->options = b.n > 0;
	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c);

		if (kind == END)
			break;
		if (kind == NOP)
			continue;
		uint8_t len = cur_u8(&c);
		Bytes data = len >= 2 ? cur_bytes(&c, len - 2u) : (Bytes){ 0 };

		if (c.bad || len < 2)
			return no(l, NOTSENT_FRAME, "an IP option that is cut");
		if ((kind == LSRR || kind == SSRR) && !route_option(l, data))
			return false;
	}
	return true;
}

static bool zeros(Bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i])
			return false;
	return true;
}

/* IHL, total length within the packet; behind it only zero padding of Ethernet. */
static bool read4(Look *l, Bytes p, bool padded)
{
	size_t head = p.n ? (p.p[0] & 15u) * 4 : 0, total;

	if (p.n < IP4_LEAST || head < IP4_LEAST || head > p.n)
		return no(l, NOTSENT_FRAME, "IHL of %zu in %zu bytes", head / 4, p.n);
	total = get_be16(p.p + 2);
	if (total < head || total > p.n)
		return no(l, NOTSENT_FRAME, "a total length of %zu in %zu bytes", total, p.n);
	if (total < p.n && (!padded || !zeros(bytes_slice(p, total, p.n))))
		return no(l, NOTSENT_FRAME, "bytes behind the packet");
	uint16_t frag = get_be16(p.p + 6);

	l->src = ip_from(4, p.p + 12);
	l->dst = ip_from(4, p.p + 16);
	l->proto = p.p[9];
	l->df = frag & IP4_DF;
	l->more = frag & IP4_MF;
	l->frag_off = (frag & 0x1fffu) * 8;
	l->frag = l->more || l->frag_off;
	l->frag_id = get_be16(p.p + 4);
	l->body = bytes_slice(p, head, total);
	return options4(l, bytes_slice(p, IP4_LEAST, head));
}

/* ---- IPv6 ---- */

/* RFC 8200 4.2: options of hop-by-hop and destination headers; the home address
 * (RFC 6275 6.3) is a source that the packet claims. */
static bool options6(Look *l, Bytes b)
{
	enum { PAD1 = 0, JUMBO = 0xc2, HOME = 0xc9 };
	Cursor c = cursor(b);

	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c);

		if (kind == PAD1)
			continue;
		Bytes data = cur_bytes(&c, cur_u8(&c));

		if (c.bad)
			return no(l, NOTSENT_FRAME, "an IPv6 option that is cut");
		if (kind == JUMBO)
			return no(l, NOTSENT_FRAME, "a jumbogram");
		if (kind != HOME)
			continue;
		if (data.n != 16)
			return no(l, NOTSENT_FRAME, "a home address of %zu bytes", data.n);
		Ip home = ip_from(6, data.p);

		if (!is_ours_here(l, home) && !use_spoof(l, rules_spoof_ip(l->fc->rules, home)))
			return no(l, NOTSENT_SOURCE, "the home address is not ours");
	}
	return true;
}

/* RFC 8200 4.4, RFC 5095, RFC 6275 6.4, RFC 8754 2: types 0, 2 and 4 carry whole
 * addresses from byte 8 on; all of them are destinations. */
static bool routing6(Look *l, Bytes h)
{
	uint8_t type = h.p[2];
	size_t end = h.n;

	if (type == 4)
		end = 8 + (h.p[4] + 1u) * 16; /* behind the segments: TLVs */
	if ((type != 0 && type != 2 && type != 4) || end > h.n || end < 8 || (end - 8) % 16)
		return no(l, NOTSENT_FRAME, "a routing header of type %u that can't be checked", type);
	for (size_t at = 8; at < end; at += 16)
		if (!add_via(l, ip_from(6, h.p + at)))
			return false;
	return true;
}

static bool fragment6(Look *l, Bytes h)
{
	uint16_t off = get_be16(h.p + 2);

	if (l->frag)
		return no(l, NOTSENT_FRAME, "two fragment headers");
	l->frag = true;
	l->more = off & 1;
	l->frag_off = off & 0xfff8u;
	l->frag_id = get_be32(h.p + 4);
	return true;
}

static bool is_extension(uint8_t nh)
{
	return nh == IPPROTO_HOPOPTS || nh == IPPROTO_ROUTING || nh == IPPROTO_FRAGMENT || nh == NH_DESTOPT ||
	       nh == IPPROTO_AH;
}

static size_t extension_len(uint8_t nh, const uint8_t *h)
{
	if (nh == IPPROTO_FRAGMENT)
		return 8;
	return nh == IPPROTO_AH ? (h[1] + 2u) * 4 : (h[1] + 1u) * 8; /* RFC 4302 2.2 */
}

static bool extension6(Look *l, uint8_t nh, Bytes h)
{
	switch (nh) {
	case IPPROTO_FRAGMENT:
		return fragment6(l, h);
	case IPPROTO_AH:
		/* It wraps what follows, which is judged as if it were not there. */
		return (l->rights && rights_other(l->rights, IPPROTO_AH)) ||
		       no(l, NOTSENT_POLICY, "an authentication header needs the word other=[51]");
	case IPPROTO_ROUTING:
		l->options = true;
		return routing6(l, h);
	default:
		l->options = true;
		return options6(l, bytes_slice(h, 2, h.n));
	}
}

/* The chain of extension headers; later fragments have none that counts. */
static bool chain6(Look *l, uint8_t nh, Cursor *c)
{
	for (unsigned n = 0; is_extension(nh) && !(l->frag && l->frag_off); n++) {
		Bytes rest = BYTES(c->p + c->off, cur_left(c));

		if (n == 8 || rest.n < 8 || extension_len(nh, rest.p) > rest.n)
			return no(l, NOTSENT_FRAME, "IPv6 extension headers that are cut or too many");
		if (nh == IPPROTO_HOPOPTS && n > 0)
			return no(l, NOTSENT_FRAME, "hop-by-hop options that do not come first"); /* RFC 8200 4.1 */
		Bytes h = cur_bytes(c, extension_len(nh, rest.p));

		if (!extension6(l, nh, h))
			return false;
		nh = h.p[0];
	}
	l->proto = nh;
	l->body = cur_rest(c);
	return true;
}

static bool read6(Look *l, Bytes p, bool padded)
{
	size_t total;

	if (p.n < IP6_HEADER)
		return no(l, NOTSENT_FRAME, "an IPv6 header in %zu bytes", p.n);
	total = IP6_HEADER + get_be16(p.p + 4);
	if (total > p.n)
		return no(l, NOTSENT_FRAME, "a payload length of %zu in %zu bytes", total - IP6_HEADER, p.n);
	if (total < p.n && (!padded || !zeros(bytes_slice(p, total, p.n))))
		return no(l, NOTSENT_FRAME, "bytes behind the packet");
	Cursor c = cursor(bytes_slice(p, 0, total));

	cur_skip(&c, IP6_HEADER);
	l->src = ip_from(6, p.p + 8);
	l->dst = ip_from(6, p.p + 24);
	l->rights = rules_peer(l->fc->rules, l->dst);
	return chain6(l, p.p[6], &c);
}

/* ---- both ---- */

/* Length within MTU, or a whole packet without DF that the gate cuts after the check. */
static bool look_mtu(Look *l, Bytes p)
{
	size_t n = l->version == 4 ? get_be16(p.p + 2) : IP6_HEADER + get_be16(p.p + 4);
	bool whole = !l->frag && (l->version == 4 ? !l->df : !l->options);

	if (l->depth || n <= l->in->link->mtu)
		return true;
	if (!whole)
		return no(l, NOTSENT_TOO_LONG, "%zu bytes are above the MTU of %u", n, l->in->link->mtu);
	l->v->cut = true;
	return true;
}

static bool note_fragment(Look *l)
{
	FragPiece piece = { .src = l->src, .dst = l->dst, .id = l->frag_id,
			    .proto = l->version == 4 ? l->proto : 0,
			    .off = l->frag_off, .len = (uint32_t)l->body.n, .more = l->more };
	const char *fault = frags_add(&l->fc->frags, &piece, l->in->now);

	return !fault || no(l, NOTSENT_FRAME, "%s", fault);
}

bool look_ip(Look *l, Bytes p, bool padded)
{
	l->version = p.n ? p.p[0] >> 4 : 0;
	l->packet_bytes = p.n;
	if (l->version != 4 && l->version != 6)
		return no(l, NOTSENT_FRAME, "IP version %u", l->version);
	if (!(l->version == 4 ? read4(l, p, padded) : read6(l, p, padded)))
		return false;
	if (!look_mtu(l, p))
		return false;
	if (is_solicitation(l))
		return look_solicitation(l);
	if (!look_peer(l) || !look_transport(l))
		return false;
	look_hop(l);
	return !l->frag || note_fragment(l);
}
