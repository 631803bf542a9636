/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cut.h"

#include "wire/wire.h"

enum { IP6_HEADER = 40, FRAGMENT_HEADER = 8, FRAGMENT = 44, DF = 0x40, MF = 0x20 };

/* RFC 791 3.1: of an option only the first copy travels, unless its top bit says
 * otherwise; padded to 32 bits by end-of-options. */
static uint32_t copied_options(Bytes options, uint8_t out[40])
{
	uint32_t n = 0;

	for (size_t at = 0; at < options.n && options.p[at] != 0;) {
		size_t len = options.p[at] == 1 ? 1 : at + 1 < options.n ? options.p[at + 1] : 0;

		if (len == 0 || len > options.n - at)
			break;
		if (options.p[at] & 0x80) {
			memcpy(out + n, options.p + at, len);
			n += (uint32_t)len;
		}
		at += len;
	}
	while (n % 4)
		out[n++] = 0;
	return n;
}

static bool init4(Cut *c)
{
	if (c->packet.n < 20)
		return false;
	c->head = (c->packet.p[0] & 15u) * 4;
	return c->head >= 20 && c->head <= c->packet.n && !(c->packet.p[6] & DF);
}

/* RFC 8200 4.5: headers that routers read would have to go with every piece; a
 * packet with those is not cut here. */
static bool init6(Cut *c)
{
	if (c->packet.n < IP6_HEADER)
		return false;
	c->head = IP6_HEADER;
	c->next = c->packet.p[6];
	return c->next != 0 && c->next != 43 && c->next != FRAGMENT;
}

/* Payload bytes that the next piece takes. */
static uint32_t piece_len(const Cut *c, uint32_t head)
{
	uint32_t extra = c->v6 ? FRAGMENT_HEADER : 0, left = (uint32_t)c->packet.n - c->head - c->off;
	uint32_t room = c->mtu > head + extra ? c->mtu - head - extra : 0;

	return left <= room ? left : room & ~7u;
}

bool cut_init(Cut *c, Bytes packet, uint32_t mtu, uint32_t id)
{
	*c = (Cut){ .packet = packet, .mtu = mtu, .id = id };
	if (packet.n == 0 || packet.n > 65535 + IP6_HEADER)
		return false;
	c->v6 = packet.p[0] >> 4 == 6;
	return (c->v6 ? init6(c) : init4(c)) && piece_len(c, c->head) > 0;
}

static void put_head4(const Cut *c, uint32_t n, const uint8_t *options, uint32_t noptions, Writer *w)
{
	uint8_t h[60];
	uint32_t len = 20 + noptions;
	bool more = c->head + c->off + n < c->packet.n || (c->packet.p[6] & MF);
	uint32_t unit = c->off / 8 + (get_be16(c->packet.p + 6) & 0x1fffu);

	memcpy(h, c->packet.p, 20);
	memcpy(h + 20, options, noptions);
	h[0] = (uint8_t)(0x40 | len / 4);
	put_be16(h + 2, (uint16_t)(len + n));
	put_be16(h + 6, (uint16_t)((c->packet.p[6] & 0x80u) << 8 | (more ? 0x2000u : 0) | unit));
	put_be16(h + 10, 0);
	put_be16(h + 10, wire_csum_fold(wire_csum(0, BYTES(h, len))));
	wr_bytes(w, BYTES(h, len));
}

static bool next4(Cut *c, Writer *w)
{
	uint8_t options[40] = { 0 };
	uint32_t noptions = c->head - 20;

	if (c->off == 0)
		memcpy(options, c->packet.p + 20, noptions);
	else
		noptions = copied_options(bytes_slice(c->packet, 20, c->head), options);
	uint32_t n = piece_len(c, 20 + noptions);

	put_head4(c, n, options, noptions, w);
	wr_bytes(w, BYTES(c->packet.p + c->head + c->off, n));
	c->off += n;
	return !w->full;
}

static bool next6(Cut *c, Writer *w)
{
	uint8_t h[IP6_HEADER + FRAGMENT_HEADER] = { 0 };
	uint32_t n = piece_len(c, IP6_HEADER);
	bool more = IP6_HEADER + c->off + n < c->packet.n;

	memcpy(h, c->packet.p, IP6_HEADER);
	put_be16(h + 4, (uint16_t)(FRAGMENT_HEADER + n));
	h[6] = FRAGMENT;
	h[40] = c->next;
	put_be16(h + 42, (uint16_t)(c->off | more));
	put_be32(h + 44, c->id);
	wr_bytes(w, BYTES(h, sizeof h));
	wr_bytes(w, BYTES(c->packet.p + IP6_HEADER + c->off, n));
	c->off += n;
	return !w->full;
}

bool cut_next(Cut *c, Writer *w)
{
	if (c->head + c->off >= c->packet.n)
		return false;
	return c->v6 ? next6(c, w) : next4(c, w);
}

uint32_t cut_count(const Cut *c, uint64_t *ret_bytes)
{
	uint8_t piece[65536];
	Cut walk = *c;
	uint32_t n = 0;

	*ret_bytes = 0;
	for (;;) {
		Writer w = writer(piece, sizeof piece);

		if (!cut_next(&walk, &w))
			return n;
		n++;
		*ret_bytes += w.n;
	}
}
