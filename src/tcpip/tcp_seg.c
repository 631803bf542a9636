/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/tcp_seg.h"

/* ---- options ---- */

static void read_mss(TcpSeg *s, Bytes v)
{
	s->mss = get_be16(v.p);
}

static void read_wscale(TcpSeg *s, Bytes v)
{
	s->wscale = v.p[0] > 14 ? 14 : v.p[0]; /* RFC 7323 2.3 */
}

static void read_sack_ok(TcpSeg *s, Bytes v)
{
	(void)v;
	s->sack_ok = true;
}

static void read_sack(TcpSeg *s, Bytes v)
{
	s->n_sack = 0;
	for (size_t at = 0; at + 8 <= v.n && s->n_sack < TCP_SACK_MAX; at += 8)
		s->sack[s->n_sack++] = (SeqRange){ get_be32(v.p + at), get_be32(v.p + at + 4) };
}

static void read_timestamp(TcpSeg *s, Bytes v)
{
	s->ts = true;
	s->tsval = get_be32(v.p);
	s->tsecr = get_be32(v.p + 4);
}

static void read_cookie(TcpSeg *s, Bytes v)
{
	s->cookie_said = true;
	s->cookie = v;
}

/* Kind, bytes of its value at least and at most, reader.  A known option of another length is
 * passed over like an unknown one (RFC 9293 3.1: by its length). */
static const struct {
	uint8_t kind, min, max;
	void (*read)(TcpSeg *s, Bytes value);
} options[] = {
	{ OPT_TIMESTAMP, 8, 8, read_timestamp }, { OPT_SACK, 8, 32, read_sack },
	{ OPT_MSS, 2, 2, read_mss },		 { OPT_WSCALE, 1, 1, read_wscale },
	{ OPT_SACK_OK, 0, 0, read_sack_ok },	 { OPT_FASTOPEN, 0, TCP_COOKIE_MAX, read_cookie },
};

static void read_option(TcpSeg *s, uint8_t kind, Bytes v)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		if (options[i].kind == kind && v.n >= options[i].min && v.n <= options[i].max) {
			options[i].read(s, v);
			return;
		}
	}
}

static bool read_options(TcpSeg *s, Bytes b)
{
	Cursor c = cursor(b);

	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c);

		if (kind == OPT_END)
			break;
		if (kind == OPT_NOP)
			continue;
		uint8_t len = cur_u8(&c);

		if (len < 2)
			return false;
		Bytes v = cur_bytes(&c, len - 2u);

		if (c.bad)
			return false;
		read_option(s, kind, v);
	}
	return true;
}

bool tcp_seg_read(const IpPacket *ip, TcpSeg *ret_seg)
{
	Bytes b = ip->payload;
	size_t hdr = b.n < TCP_HDR ? 0 : (size_t)(b.p[12] >> 4) * 4;

	if (hdr < TCP_HDR || hdr > b.n)
		return false;
	*ret_seg = (TcpSeg){
		.sport = get_be16(b.p),
		.dport = get_be16(b.p + 2),
		.seq = get_be32(b.p + 4),
		.ack = get_be32(b.p + 8),
		.flags = get_be16(b.p + 12) & 0x1ff,
		.window = get_be16(b.p + 14),
		.urgent = get_be16(b.p + 18),
		.payload = bytes_slice(b, hdr, b.n),
		.wscale = WSCALE_NONE,
		.ttl = ip->ttl,
		.tos = ip->tos,
		.ip_id = (uint16_t)ip->id,
		.wire_bytes = (uint32_t)ip->whole.n,
		.whole = ip->whole,
	};
	ret_seg->end = ret_seg->seq + (uint32_t)ret_seg->payload.n + !!(ret_seg->flags & TCP_SYN) +
		       !!(ret_seg->flags & TCP_FIN);
	return read_options(ret_seg, bytes_slice(b, TCP_HDR, hdr));
}

bool tcp_seg_sum_good(const IpPacket *ip)
{
	return ip_csum_done(ip_csum_add(ip_pseudo_sum(ip, ip->payload.n), ip->payload)) == 0;
}

/* ---- writing ---- */

size_t tcp_head_write(const TcpHead *h, uint8_t *buf)
{
	size_t n = TCP_HDR + h->options.n;

	put_be16(buf, h->sport);
	put_be16(buf + 2, h->dport);
	put_be32(buf + 4, h->seq);
	put_be32(buf + 8, h->ack);
	put_be16(buf + 12, (uint16_t)(n / 4 << 12 | h->flags));
	put_be16(buf + 14, h->window);
	memset(buf + 16, 0, 4);
	if (h->options.n)
		memcpy(buf + TCP_HDR, h->options.p, h->options.n);
	return n;
}

void tcp_head_sum(uint8_t *header, size_t hdr_bytes, uint64_t sum)
{
	uint16_t v = ip_csum_done(ip_csum_add(sum, BYTES(header, hdr_bytes)));

	memcpy(header + 16, &v, sizeof v);
}
