/* SPDX-License-Identifier: Apache-2.0
 *
 * What ICMP says about a connection (RFC 5927), and what a path takes (RFC 1191, 8201, 8899).
 */
#include "tcpip/tcp_inside.h"

/* ---- errors ---- */

/* RFC 5927 4.1: whoever quotes a segment that is out has seen it. */
static bool quotes_in_flight(const TcpConn *c, uint32_t seq)
{
	return seq_le(c->snd_una, seq) && seq_lt(seq, c->snd_nxt);
}

static void ignored(TcpConn *c, int64_t now_ns, const IcmpError *e)
{
	c->in.icmp_ignored++;
	tcp_event(c, now_ns, TCP_EV_ICMP_ODD, e->type * 256u + e->code, rel_out(c, e->seq));
}

IcmpVerdict tcp_icmp_error(NetStack *s, int64_t now_ns, const IcmpError *e)
{
	TcpConn *c = tcp_find(s, e->src, e->sport, e->dst, e->dport);

	if (!c)
		return ICMP_NOT_OURS;
	if (c->state == TCP_CLOSED || !quotes_in_flight(c, e->seq)) {
		ignored(c, now_ns, e);
		return ICMP_IGNORED;
	}
	c->in.icmp++;
	tcp_event(c, now_ns, TCP_EV_ICMP, e->type * 256u + e->code, e->klass);
	if (e->klass == ICMP_TOO_BIG)
		return ICMP_TAKEN;
	c->icmp = (uint16_t)(e->type << 8 | e->code);
	/* RFC 5927 5.2: on a live connection no error ends it, or anybody could; while connecting, one
	 * that will not pass does (RFC 9293 3.9.2.2), others count when time is up (RFC 5461). */
	if (e->klass == ICMP_HARD && (c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED))
		tcp_end(c, now_ns, TCP_ERR_UNREACHABLE);
	tcp_settle(c);
	return ICMP_TAKEN;
}

/* ---- path MTU ---- */

/* What was sent too long goes again at once, in pieces (RFC 1191 6.4), without blaming congestion
 * (RFC 8201 5.4). */
static void resend_long(TcpConn *c)
{
	for (TxSeg *g = c->seg_first; g; g = g->next) {
		if (txseg_len(g) - g->fin - g->syn > c->snd_mss)
			score_lost(c, g);
	}
}

static void set_mtu(TcpConn *c, int64_t now_ns, uint32_t mtu)
{
	uint32_t was = c->mtu;
	uint16_t was_mss = c->snd_mss;

	if (mtu == was)
		return;
	c->mtu = mtu;
	tcp_mss_update(c);
	c->out.mtu_changes++;
	tcp_event(c, now_ns, TCP_EV_MTU, was, mtu);
	if (c->snd_mss >= was_mss)
		return;
	/* RFC 5681 3.1: windows of fewer bytes, but not of fewer segments than one. */
	if (c->cwnd < c->snd_mss)
		c->cwnd = c->snd_mss;
	resend_long(c);
}

void tcp_mtu_changed(NetStack *s, int64_t now_ns, Ip src, Ip dst, uint32_t mtu)
{
	for (uint32_t i = 0; i <= s->tuple_mask; i++) {
		for (TcpConn *c = s->by_tuple[i], *next; c; c = next) {
			next = c->tuple_next;
			if (c->state == TCP_CLOSED || !ip_eq(c->dst, dst) || !ip_eq(c->src, src))
				continue;
			set_mtu(c, now_ns, mtu);
			tcp_settle(c);
		}
	}
}

/* RFC 1191 7.1's plateaus, without those that no link of today has. */
static const uint16_t plateaus[] = { 8166, 4352, 2002, 1492, 1400, 1280, 1006, 576 };

static uint32_t next_lower(const TcpConn *c, uint32_t mtu)
{
	uint32_t least = c->src.v == 4 ? 576 : 1280; /* RFC 8200 5; RFC 1191 3: 68, but nobody means that */

	for (size_t i = 0; i < sizeof plateaus / sizeof *plateaus; i++) {
		if (plateaus[i] < mtu)
			return plateaus[i] > least ? plateaus[i] : least < mtu ? least : mtu;
	}
	return mtu;
}

void tcp_mtu_lower(TcpConn *c, int64_t now_ns)
{
	set_mtu(c, now_ns, next_lower(c, c->mtu));
}

enum { BLACK_HOLE_TIMEOUTS = 2 }; /* RFC 8899 4.3: several losses of long ones in a row */

void tcp_black_hole(TcpConn *c, int64_t now_ns)
{
	const TxSeg *g = c->seg_first;
	uint32_t lower = next_lower(c, c->mtu), was = c->snd_mss;

	if (!g || c->backoff < BLACK_HOLE_TIMEOUTS || txseg_len(g) - g->fin < c->snd_mss || lower == c->mtu)
		return;
	set_mtu(c, now_ns, lower);
	tcp_event(c, now_ns, TCP_EV_BLACK_HOLE, was, c->snd_mss);
}

void tcp_pmtu_due(TcpConn *c, int64_t now_ns)
{
	(void)c;
	(void)now_ns;
}
