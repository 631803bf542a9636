/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing one segment: options, window, header, payload; and its frame until it is sent.
 */
#include "tcpip/tcp_inside.h"

/* ---- what the header says ---- */

uint32_t tcp_now_ts(const TcpConn *c, int64_t now_ns)
{
	return (uint32_t)(now_ns / MS_NS) + c->ts_offset; /* RFC 7323 5.4: 1 ms */
}

uint32_t tcp_ack_value(const TcpConn *c)
{
	return c->auto_ack ? c->rcv_nxt : c->rcv_acked;
}

void tcp_mss_update(TcpConn *c)
{
	uint32_t headers = (c->src.v == 4 ? 20 : 40) + TCP_HDR, options = c->ts_ok ? 12 : 0;
	uint32_t least = TCP_MSS_MIN, most = c->mtu > headers + least ? c->mtu - headers : least;
	uint32_t peer = c->peer.mss ? c->peer.mss : c->src.v == 4 ? TCP_MSS_V4 : TCP_MSS_V6;

	/* RFC 9293 3.7.1, RFC 6691: the smaller of both; options take of it. */
	if (peer < least)
		peer = least;
	c->snd_mss = (uint16_t)((peer < most ? peer : most) - options);
}

static uint32_t unread(const TcpConn *c)
{
	return c->rcv_nxt - c->fin_received - c->rx_seq;
}

uint16_t tcp_window_field(const TcpConn *c, uint32_t *ret_edge)
{
	uint32_t used = unread(c), space = c->rcv_limit > used ? c->rcv_limit - used : 0;
	uint32_t edge = c->rcv_nxt + space, mss = c->offered.mss;
	uint32_t least = c->rcv_limit / 2 < mss ? c->rcv_limit / 2 : mss;

	/* RFC 9293 3.8.6: what was offered is never taken back; 3.8.6.2.2: nor made a little larger. */
	if (seq_lt(edge, c->rcv_adv + least))
		edge = seq_max(c->rcv_adv, c->rcv_nxt);
	uint32_t wnd = edge - c->rcv_nxt, unit = 1u << c->rcv_wscale;
	/* RFC 7323 2.4: rounding down must not take back either. */
	uint32_t field = edge == c->rcv_adv ? (wnd + unit - 1) >> c->rcv_wscale : wnd >> c->rcv_wscale;

	if (field > 0xffff)
		field = 0xffff;
	*ret_edge = seq_max(c->rcv_adv, c->rcv_nxt + (field << c->rcv_wscale));
	return (uint16_t)field;
}

/* ---- options ---- */

static void write_mss(Writer *w, uint16_t mss)
{
	wr_u8(w, OPT_MSS);
	wr_u8(w, 4);
	wr_be16(w, mss);
}

static void write_ts(const TcpConn *c, int64_t now_ns, Writer *w)
{
	wr_u8(w, OPT_TIMESTAMP);
	wr_u8(w, 10);
	wr_be32(w, tcp_now_ts(c, now_ns));
	wr_be32(w, c->ts_recent);
}

static void write_cookie(const TcpConn *c, Writer *w)
{
	wr_u8(w, OPT_FASTOPEN);
	wr_u8(w, (uint8_t)(2 + c->fastopen_n));
	wr_bytes(w, BYTES(c->fastopen_cookie, c->fastopen_n));
}

static void pad(Writer *w)
{
	while (w->n % 4)
		wr_u8(w, OPT_NOP);
}

typedef struct SynSet {
	bool mss, sack, ts, scale;
} SynSet;

/* Our SYN's, or of a SYN-ACK what the peer's SYN offered too (RFC 7323 1.3, RFC 2018 2), as far as
 * there is room for: an unverified peer gets no more bytes than it sent. */
static SynSet syn_set(const TcpConn *c, bool answer, size_t room)
{
	const TcpSynOptions *o = &c->offered, *p = &c->peer;
	SynSet set = { 0 };
	size_t n = 0;

	set.mss = o->mss && room >= 4;
	n += set.mss ? 4 : 0;
	set.ts = o->timestamps && (!answer || p->timestamps) && n + 12 <= room;
	n += set.ts ? 12 : 0;
	/* SACK-permitted takes the place of the two NOPs in front of the timestamps. */
	set.sack = o->sack && (!answer || p->sack) && (set.ts || n + 4 <= room);
	n += set.sack && !set.ts ? 4 : 0;
	set.scale = o->wscale != WSCALE_NONE && (!answer || p->wscale != WSCALE_NONE) && n + 4 <= room;
	return set;
}

/* What found no room was not said, so it does not hold. */
static void agree(TcpConn *c, SynSet set)
{
	c->sack_ok &= set.sack;
	c->ts_ok &= set.ts;
	c->wscale_ok &= set.scale;
	c->snd_wscale = c->wscale_ok ? c->snd_wscale : 0;
	c->rcv_wscale = c->wscale_ok ? c->rcv_wscale : 0;
	tcp_mss_update(c);
}

static size_t syn_options(const TcpConn *c, int64_t now_ns, bool answer, size_t room, uint8_t *opt)
{
	Writer w = writer(opt, room < TCP_OPTIONS_MAX ? room : TCP_OPTIONS_MAX);
	SynSet set = syn_set(c, answer, w.cap);

	if (set.mss)
		write_mss(&w, c->offered.mss);
	/* As common hosts have it: SACK-permitted fills the two bytes in front of the timestamps, and
	 * without them stands behind two NOPs. */
	if (set.sack != set.ts)
		wr_be16(&w, OPT_NOP << 8 | OPT_NOP);
	if (set.sack)
		wr_be16(&w, OPT_SACK_OK << 8 | 2);
	if (set.ts)
		write_ts(c, now_ns, &w);
	pad(&w);
	if (set.scale) {
		wr_be16(&w, OPT_NOP << 8 | OPT_WSCALE);
		wr_be16(&w, (uint16_t)(3 << 8 | c->offered.wscale));
	}
	if (c->offered.fastopen && !answer && !c->out.syn_retries && w.n + 4 + c->fastopen_n <= w.cap)
		write_cookie(c, &w);
	pad(&w);
	return w.n;
}

static void write_range(Writer *w, SeqRange r)
{
	wr_be32(w, r.start);
	wr_be32(w, r.end);
}

/* RFC 2018 4: the block that grew last first, then the others; RFC 2883 4: a DSACK before all. */
static void write_sacks(const TcpConn *c, Writer *w)
{
	uint32_t room = (uint32_t)(w->cap - w->n - 4) / 8, n = c->ooo ? c->ooo->n : 0, first = 0;
	uint32_t blocks = n + c->dsack_due < room ? n + c->dsack_due : room;

	wr_u8(w, OPT_NOP);
	wr_u8(w, OPT_NOP);
	wr_u8(w, OPT_SACK);
	wr_u8(w, (uint8_t)(2 + 8 * blocks));
	if (c->dsack_due) {
		write_range(w, c->dsack);
		blocks--;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (c->ooo->r[i].start == c->ooo->newest)
			first = i;
	}
	for (uint32_t i = 0; i < blocks; i++)
		write_range(w, c->ooo->r[(first + i) % n]);
}

size_t tcp_options_write(const TcpConn *c, int64_t now_ns, uint16_t flags, size_t room, uint8_t *opt)
{
	if (flags & TCP_SYN)
		return syn_options(c, now_ns, flags & TCP_ACK, room, opt);
	Writer w = writer(opt, room < TCP_OPTIONS_MAX ? room : TCP_OPTIONS_MAX);

	if (c->ts_ok && w.cap >= 12) {
		wr_u8(&w, OPT_NOP);
		wr_u8(&w, OPT_NOP);
		write_ts(c, now_ns, &w);
	}
	if (c->sack_ok && (flags & (TCP_ACK | TCP_RST)) == TCP_ACK && (c->dsack_due || (c->ooo && c->ooo->n)) &&
	    w.n + 12 <= w.cap)
		write_sacks(c, &w);
	return w.n;
}

/* ---- frames between pull and sent ---- */

enum { SLOT_BITS = 3, SLOT_MASK = (1 << SLOT_BITS) - 1 };
_Static_assert(STACK_UNSENT == 1 << SLOT_BITS, "a tag holds the number of a slot");

/* A free slot; NULL: no memory. */
static UnsentFrame *slot_take(TcpConn *c)
{
	if (!c->frames)
		c->frames = pool_take(tcp_pool(c), POOL_512);
	for (uint32_t i = 0; c->frames && i < STACK_UNSENT; i++) {
		if (!c->frames[i].what) {
			c->serial = (c->serial + 1) & (UINT32_MAX >> SLOT_BITS);
			c->serial += !c->serial;
			c->frames[i] = (UnsentFrame){ .what = c->serial << SLOT_BITS | i };
			return &c->frames[i];
		}
	}
	return NULL;
}

void tcp_unslot(TcpConn *c, TxSeg *g)
{
	if (g->slot)
		c->frames[g->slot - 1].seg = NULL;
	g->slot = 0;
}

/* The frame of a tag, taken out of its slot. */
static bool slot_find(TcpConn *c, uint64_t tag, UnsentFrame *ret_frame)
{
	uint32_t what = endpoint_tag_what(tag);
	UnsentFrame *f = c->frames ? &c->frames[what & SLOT_MASK] : NULL;

	if (!f || f->what != what)
		return false;
	*ret_frame = *f;
	*f = (UnsentFrame){ 0 };
	if (ret_frame->seg)
		ret_frame->seg->slot = 0;
	if (!c->ep.unsent) {
		pool_give(tcp_pool(c), POOL_512, c->frames);
		c->frames = NULL;
	}
	return true;
}

static void first_time(int64_t *at, int64_t ns)
{
	if (!*at)
		*at = ns;
}

static void stamp_seg(TcpConn *c, TxSeg *g, int64_t tx_ns)
{
	g->tx_ns = tx_ns;
	g->stamped = true;
	if (g->syn)
		first_time(c->active ? &c->times.syn : &c->times.synack, tx_ns);
	if (txseg_len(g) > (uint32_t)g->syn + g->fin)
		first_time(&c->times.first_sent, tx_ns);
	/* Timers run from when it left, not from when it was asked for. */
	if (c->rto_provisional && timer_on(c, TCP_TIMER_RTO))
		timer_set(c, TCP_TIMER_RTO, tx_ns + c->rto_ns);
	c->rto_provisional = false;
	if (timer_on(c, TCP_TIMER_TLP))
		tlp_schedule(c, tx_ns);
}

void tcp_frame_sent(Endpoint *e, uint64_t tag, int64_t tx_ns)
{
	TcpConn *c = (TcpConn *)(void *)e;
	UnsentFrame f;

	if (!slot_find(c, tag, &f))
		return;
	tcp_log_stamp(c, &f, tx_ns);
	if (f.seg)
		stamp_seg(c, f.seg, tx_ns);
	tcp_settle(c);
}

/* ---- the segment ---- */

IpPacket tcp_ip_header(const TcpConn *c, uint8_t ecn)
{
	return (IpPacket){
		.src = c->src,
		.dst = c->dst,
		.proto = IP_PROTO_TCP,
		.ttl = c->ttl,
		.tos = (uint8_t)((c->tos & ~3) | ecn),
		.id = c->ip_id,
		.df = true, /* RFC 1191 3 */
	};
}

/* What this segment tells the peer need not be told again. */
static void acknowledged(TcpConn *c, int64_t now_ns, uint32_t ack, uint32_t edge, bool with_sack)
{
	bool was_open = c->rcv_adv != c->rcv_acked;

	c->rcv_acked = ack;
	c->rcv_adv = edge;
	c->ack_now = false;
	c->ack_pending = 0;
	timer_off(c, TCP_TIMER_DELACK);
	if (with_sack || !c->sack_ok || !(c->ooo && c->ooo->n)) {
		c->dsack_due = false;
		if (c->dup_acks_due)
			c->dup_acks_due--;
	}
	if (c->ece_due)
		c->in.ece_out++;
	if (was_open && edge == ack && c->state >= TCP_ESTABLISHED && !c->fin_received) {
		c->in.zero_windows++;
		tcp_event(c, now_ns, TCP_EV_OUR_ZERO, rel_in(c, ack), 0);
	}
}

static void count(TcpConn *c, int64_t now_ns, const OutSeg *o)
{
	c->out.segments++;
	if (o->flags & TCP_RST)
		c->out.resets++;
	if (o->flags & TCP_CWR && !(o->flags & TCP_SYN))
		c->out.cwr_out++;
	if (!o->bytes)
		return;
	c->last_data_ns = now_ns;
	if (o->retransmit)
		c->out.bytes_retransmitted += o->bytes;
	else
		c->out.bytes += o->bytes;
}

size_t tcp_emit(TcpConn *c, int64_t now_ns, const OutSeg *o, uint8_t *buf, StackOut *ret_out)
{
	UnsentFrame *f = slot_take(c);
	uint8_t opt[TCP_OPTIONS_MAX];
	size_t base = c->ts_ok ? 12u : 0u;
	/* A full segment has no room for SACK blocks: an ACK of its own carries them. */
	size_t room = o->flags & TCP_SYN ? o->syn_room : o->bytes < c->snd_mss ? c->snd_mss - o->bytes + base : base;
	uint32_t edge = c->rcv_adv;

	if (!f)
		return 0;
	if ((o->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK))
		agree(c, syn_set(c, true, room));
	c->ip_id++;
	IpPacket ip = tcp_ip_header(c, o->ect ? IP_ECN_ECT0 : IP_ECN_NONE);
	TcpHead h = {
		.sport = c->sport,
		.dport = c->dport,
		.flags = o->flags,
		.seq = o->seq,
		.ack = o->ack_set ? o->ack : o->flags & TCP_ACK ? tcp_ack_value(c) : 0,
		.options = BYTES(opt, o->purpose == STACK_CLEANUP ? 0 : tcp_options_write(c, now_ns, o->flags, room, opt)),
	};
	if (o->flags & TCP_SYN) /* RFC 7323 2.2: never scaled */
		h.window = (uint16_t)(c->rcv_limit < 0xffff ? c->rcv_limit : 0xffff);
	else if (!(o->flags & TCP_RST))
		h.window = tcp_window_field(c, &edge);
	size_t tcp_bytes = TCP_HDR + h.options.n + o->bytes;
	size_t at = ip_packet_write(&ip, tcp_bytes, buf);
	size_t hdr = tcp_head_write(&h, buf + at);
	uint64_t sum = ip_pseudo_sum(&ip, tcp_bytes);

	if (o->bytes) {
		ChainPlace place = o->retransmit ? CHAIN_FRONT : CHAIN_BACK;
		uint32_t off = o->seq + !!(o->flags & TCP_SYN) - c->tx_seq;

		sum = chain_copy(&c->tx, off, buf + at + hdr, o->bytes, place, sum);
	}
	tcp_head_sum(buf + at, hdr, sum);
	if ((o->flags & (TCP_ACK | TCP_RST)) == TCP_ACK)
		acknowledged(c, now_ns, h.ack, edge, h.options.n > base);
	count(c, now_ns, o);
	if (c->state == TCP_SYN_RECEIVED)
		c->hs_tx_bytes += (uint32_t)(at + tcp_bytes);
	f->seg = o->timed;
	if (o->timed)
		o->timed->slot = (uint8_t)((f->what & SLOT_MASK) + 1);
	f->log_line = tcp_log_seg(c, now_ns, BYTES(buf, at + tcp_bytes), LOG_OUT | (o->retransmit ? LOG_RETRANSMIT : 0u));
	f->log_n = tcp_log_count(c);
	ret_out->tag = endpoint_tag(&c->ep, f->what);
	ret_out->purpose = o->purpose;
	return at + tcp_bytes;
}

/* ---- frames that did not leave ---- */

void tcp_frame_notsent(Endpoint *e, uint64_t tag, StackUnsent why)
{
	TcpConn *c = (TcpConn *)(void *)e;
	int64_t now_ns = c->ep.stack->now_ns;
	UnsentFrame f;

	if (!slot_find(c, tag, &f))
		return;
	c->out.not_sent++;
	tcp_event(c, now_ns, TCP_EV_NOT_SENT, why, f.seg ? txseg_len(f.seg) : 0);
	/* Lost in our own queues, or with no way for now: as any loss, repaired by the timers.  A
	 * handshake that never left, or a connection that may not send, is over. */
	bool answering = !c->active && !c->was_open; /* refused: more than the peer has paid for */

	if ((why == UNSENT_REFUSED && !answering) || (why == UNSENT_NO_ROUTE && !c->was_open))
		tcp_end(c, now_ns, TCP_ERR_NOT_SENT);
	else if (why == UNSENT_TOO_LONG)
		tcp_mtu_lower(c, now_ns);
	tcp_settle(c);
}
