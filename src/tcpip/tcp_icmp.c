/* SPDX-License-Identifier: Apache-2.0
 *
 * What ICMP says about a connection (RFC 5927), and what a path takes (RFC 1191, 8201, 8899).
 */
#include "tcpip/ip.h"
#include "tcpip/tcp_inside.h"

/* ---- path MTU ---- */

static uint32_t ip_and_tcp(const TcpConn *c)
{
	return (c->src.v == 4 ? 20u : 40u) + TCP_HDR;
}

/* Of a data segment as they are now: to the byte what tcp_mss_update takes off. */
static uint32_t headers(const TcpConn *c)
{
	return ip_and_tcp(c) + (c->ts_ok ? 12u : 0u);
}

/* What was sent too long goes again at once, in pieces (RFC 1191 6.4), without blaming congestion
 * (RFC 8201 5.4). */
static void resend_long(TcpConn *c)
{
	for (TxSeg *g = c->seg_first; g; g = g->next) {
		if (txseg_len(g) - g->fin - g->syn > c->snd_mss)
			score_lost(c, g);
	}
}

/* Segments are as long as c->pmtu says now, and whoever begins later knows. */
static void follow(TcpConn *c, int64_t now_ns)
{
	uint32_t was = c->mtu, mtu = pmtu_now(&c->pmtu);
	uint16_t was_mss = c->snd_mss;

	if (mtu == was)
		return;
	c->mtu = mtu;
	tcp_mss_update(c);
	c->out.mtu_changes++;
	tcp_event(c, now_ns, TCP_EV_MTU, was, mtu);
	ip_path_mtu_learned(c->ep.stack, c->dst, mtu, now_ns);
	if (c->snd_mss >= was_mss)
		return;
	/* RFC 5681 3.1: windows of fewer bytes, but not of fewer segments than one. */
	if (c->cwnd < c->snd_mss)
		c->cwnd = c->snd_mss;
	resend_long(c);
}

void tcp_path_open(TcpConn *c, int64_t now_ns, uint32_t link_mtu)
{
	uint32_t known = ip_path_mtu(c->ep.stack, c->dst, now_ns);

	pmtu_init(&c->pmtu, c->src.v, link_mtu, known, now_ns);
	c->mtu = pmtu_now(&c->pmtu);
}

void tcp_path_agreed(TcpConn *c)
{
	pmtu_bounds(&c->pmtu, ip_and_tcp(c) + TCP_MSS_MIN, headers(c) + c->snd_mss);
}

void tcp_mtu_changed(NetStack *s, int64_t now_ns, Ip src, Ip dst, uint32_t mtu)
{
	for (uint32_t i = 0; i <= s->tuple_mask; i++) {
		for (TcpConn *c = s->by_tuple[i], *next; c; c = next) {
			next = c->tuple_next;
			if (c->state == TCP_CLOSED || !ip_eq(c->dst, dst) || !ip_eq(c->src, src) ||
			    !pmtu_follow(&c->pmtu, mtu, now_ns))
				continue;
			follow(c, now_ns);
			tcp_settle(c);
		}
	}
}

void tcp_mtu_lower(TcpConn *c, int64_t now_ns)
{
	if (pmtu_follow(&c->pmtu, pmtu_plateau(c->mtu), now_ns))
		follow(c, now_ns);
}

void tcp_path_acked(TcpConn *c, int64_t now_ns, uint32_t payload)
{
	uint32_t before = pmtu_now(&c->pmtu);

	pmtu_acked(&c->pmtu, headers(c) + payload, c->snd_una, now_ns);
	if (pmtu_now(&c->pmtu) != before) /* a probe arrived */
		follow(c, now_ns);
}

void tcp_path_timeout(TcpConn *c, int64_t now_ns)
{
	const TxSeg *g = c->seg_first;
	uint32_t was = c->mtu;

	pmtu_probe_lost(&c->pmtu, now_ns);
	if (!g || !pmtu_timeout(&c->pmtu, headers(c) + txseg_len(g) - g->fin, now_ns))
		return;
	if (c->pmtu.state == PMTU_HOLE)
		tcp_event(c, now_ns, TCP_EV_BLACK_HOLE, was, pmtu_now(&c->pmtu));
	follow(c, now_ns);
}

/* ---- probes ---- */

/* RFC 4821 7.3: there must be enough behind a probe that its loss shows soon. */
uint32_t tcp_probe_bytes(TcpConn *c, int64_t now_ns, uint32_t unsent)
{
	uint32_t size = c->sack_ok && unsent && c->recovery == TCP_CA_OPEN
				? pmtu_probe_size(&c->pmtu, now_ns)
				: 0;
	uint32_t n = size ? size - headers(c) : 0, all = n + TCP_DUP_THRESH * c->snd_mss;

	if (!n || unsent < all || c->snd_nxt - c->snd_una + all > c->snd_wnd || c->cwnd < all || tcp_pipe(c) + n > c->cwnd)
		return 0;
	pmtu_probe_sent(&c->pmtu, size);
	c->probe_seq = c->snd_nxt;
	return n;
}

bool tcp_probe_lost(TcpConn *c, int64_t now_ns, const TxSeg *g)
{
	if (!c->pmtu.probing || g->seq != c->probe_seq)
		return false;
	pmtu_probe_lost(&c->pmtu, now_ns);
	return true;
}

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

/* The claim may have to wait until a time-out bears it out (RFC 5927 7.2). */
static IcmpVerdict too_big(TcpConn *c, int64_t now_ns, const IcmpError *e)
{
	if (!pmtu_too_big(&c->pmtu, e->mtu, e->quoted_len, e->seq, now_ns))
		return ICMP_IGNORED;
	follow(c, now_ns);
	tcp_settle(c);
	return ICMP_TAKEN;
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
		return too_big(c, now_ns, e);
	c->icmp = (uint16_t)(e->type << 8 | e->code);
	c->icmp_from = e->reporter;
	/* RFC 5927 5.2: on a live connection no error ends it, or anybody could; while connecting, one
	 * that will not pass does (RFC 9293 3.9.2.2), others count when time is up (RFC 5461). */
	if (e->klass == ICMP_HARD && (c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED))
		tcp_end(c, now_ns, TCP_ERR_UNREACHABLE);
	tcp_settle(c);
	return ICMP_TAKEN;
}
