/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments that a program makes by hand inside a live connection.
 *
 * The connection's own state does not move when one is built.  When one left, three things keep
 * the connection whole: for a while the peer's answers are shown, not obeyed as resets and not
 * counted as signs of loss; what the peer acknowledges beyond our own bytes is taken as part of
 * the stream (tcp_in.c, take_crafted); what a program acknowledged by hand is acknowledged.
 */
#include "tcpip/tcp_inside.h"

static Bytes craft_options(const TcpConn *c, int64_t now_ns, const TcpCraft *k, uint8_t opt[TCP_OPTIONS_MAX])
{
	Writer w = writer(opt, TCP_OPTIONS_MAX);

	if (!k->options_set)
		return BYTES(opt, tcp_options_write(c, now_ns, k->flags & (uint16_t)~TCP_SYN, c->ts_ok ? 12 : 0, opt));
	wr_bytes(&w, k->options);
	while (w.n % 4)
		wr_u8(&w, OPT_END);
	return w.full ? (Bytes){ 0 } : wr_done(&w);
}

size_t tcp_craft(const TcpConn *c, int64_t now_ns, const TcpCraft *k, uint8_t *buf, size_t cap)
{
	uint8_t opt[TCP_OPTIONS_MAX];
	uint32_t edge;
	IpPacket ip = tcp_ip_header(c, IP_ECN_NONE);
	TcpHead h = {
		.sport = c->sport,
		.dport = c->dport,
		.flags = k->flags,
		.seq = k->seq_set ? k->seq : c->snd_nxt,
		.ack = k->ack_set ? k->ack : k->flags & TCP_ACK ? tcp_ack_value(c) : 0,
		.window = k->window_set ? k->window : tcp_window_field(c, &edge),
		.options = craft_options(c, now_ns, k, opt),
	};
	size_t tcp_bytes = TCP_HDR + h.options.n + k->payload.n, room = 40 + tcp_bytes;

	if (room > cap || (k->options_set && k->options.n > TCP_OPTIONS_MAX))
		return 0;
	ip.ttl = k->ttl_set ? k->ttl : c->ttl;
	ip.id = (uint16_t)(c->ip_id + 0x8000u + c->crafted); /* none that our own segments use now */
	size_t at = ip_packet_write(&ip, tcp_bytes, buf), hdr = tcp_head_write(&h, buf + at);
	uint64_t sum = ip_csum_copy(ip_pseudo_sum(&ip, tcp_bytes), buf + at + hdr, k->payload.p, k->payload.n);

	tcp_head_sum(buf + at, hdr, sum);
	return at + tcp_bytes;
}

/* What of it the peer may take for ours. */
static void may_be_taken(TcpConn *c, const TcpSeg *seg)
{
	if (seg->flags & (TCP_SYN | TCP_RST) || !seq_lt(c->snd_nxt, seg->end) ||
	    seq_lt(c->snd_una + c->snd_wnd, seg->seq))
		return;
	if (c->crafted_out && !seq_lt(c->crafted_end, seg->end))
		return;
	c->crafted_out = true;
	c->crafted_end = seg->end;
	c->crafted_fin = seg->flags & TCP_FIN;
}

void tcp_crafted(TcpConn *c, int64_t tx_ns, Bytes packet, int64_t wait_ns)
{
	IpPacket ip;
	TcpSeg seg;

	if (!ip_packet_read(packet, &ip) || ip.proto != IP_PROTO_TCP || !tcp_seg_read(&ip, &seg))
		return;
	c->crafted++;
	tcp_log_seg(c, tx_ns, packet, LOG_OUT | LOG_CRAFTED);
	tcp_event(c, tx_ns, TCP_EV_CRAFTED, seg.flags, rel_out(c, seg.seq));
	if (c->crafted_until_ns < tx_ns + wait_ns)
		c->crafted_until_ns = tx_ns + wait_ns;
	if (c->state < TCP_ESTABLISHED)
		return;
	may_be_taken(c, &seg);
	if (seg.flags & TCP_ACK && seq_lt(c->rcv_acked, seg.ack) && seq_le(seg.ack, c->rcv_nxt))
		c->rcv_acked = seg.ack;
}
