/* SPDX-License-Identifier: Apache-2.0
 *
 * What is only counted, and changes nothing.
 */
#include "tcpip/tcp_inside.h"

/* ---- the peer's host ---- */

static void peer_ttl(TcpConn *c, const TcpSeg *seg)
{
	if (!c->peer_ttl) {
		c->peer_ttl = c->peer_ttl_min = c->peer_ttl_max = seg->ttl;
	} else if (seg->flags & TCP_RST && (seg->ttl < c->peer_ttl_min || seg->ttl > c->peer_ttl_max)) {
		/* A reset from another distance than all before it was probably made by somebody between. */
		c->in.rst_odd_ttl++;
		tcp_event(c, c->ep.stack->now_ns, TCP_EV_RST_ODD_TTL, seg->ttl, c->peer_ttl);
		return;
	}
	c->peer_ttl = seg->ttl;
	c->peer_ttl_min = c->peer_ttl_min < seg->ttl ? c->peer_ttl_min : seg->ttl;
	c->peer_ttl_max = c->peer_ttl_max > seg->ttl ? c->peer_ttl_max : seg->ttl;
}

enum { IP_ID_SMALL = 64, IP_ID_LEAST = 2 }; /* a step of a shared counter; steps before judging */

static TcpIpId judge_ip_id(const TcpConn *c)
{
	if (c->ip_id_n < IP_ID_LEAST)
		return TCP_IP_ID_UNKNOWN;
	if (c->ip_id_same == c->ip_id_n)
		return c->ip_id_last ? TCP_IP_ID_CONSTANT : TCP_IP_ID_ZERO;
	if (c->ip_id_ones == c->ip_id_n)
		return TCP_IP_ID_COUNTS;
	/* Reordering makes a few steps large: a quarter may be. */
	return 4 * c->ip_id_small >= 3 * c->ip_id_n ? TCP_IP_ID_COUNTS_SHARED : TCP_IP_ID_RANDOM;
}

static void peer_ip_id(TcpConn *c, const TcpSeg *seg)
{
	uint16_t step = (uint16_t)(seg->ip_id - c->ip_id_last);

	if (c->in.segments > 1 && c->ip_id_n < UINT8_MAX) {
		c->ip_id_n++;
		if (step == 0)
			c->ip_id_same++;
		if (step == 1)
			c->ip_id_ones++;
		if (step >= 1 && step <= IP_ID_SMALL)
			c->ip_id_small++;
	}
	c->ip_id_last = seg->ip_id;
	c->peer_ip_id = judge_ip_id(c);
}

void stat_peer(TcpConn *c, const TcpSeg *seg, bool v4)
{
	peer_ttl(c, seg);
	if (v4)
		peer_ip_id(c, seg);
}

/* ---- what holds the sender back ---- */

void stat_limit(TcpConn *c, int64_t now_ns, TcpLimit why)
{
	if (why == c->limit)
		return;
	if (now_ns < c->limit_since_ns) /* a packet's stamp may lie a little before what was done since */
		now_ns = c->limit_since_ns;
	c->limited_ns[c->limit] += now_ns - c->limit_since_ns;
	c->limit_since_ns = now_ns;
	c->limit = why;
}

/* ---- delivery rate (draft-cheng-iccrg-delivery-rate-estimation 3.3) ---- */

void stat_rate(TcpConn *c, int64_t now_ns, const AckNews *news)
{
	if (c->app_limited && c->delivered > c->app_limited)
		c->app_limited = 0;
	if (!news->delivered || !news->last_tx_ns)
		return;
	int64_t sent = news->last_tx_ns - news->prior_sent_ns, acked = now_ns - news->prior_ns;
	int64_t took = sent > acked ? sent : acked;
	uint64_t bits = 8 * (c->delivered - news->prior_delivered);

	/* Faster than a round trip can only be by ACKs that were squeezed together. */
	if (took <= 0 || took < c->rtt_min_ns)
		return;
	c->rate_bps = (uint64_t)((double)bits * 1e9 / (double)took);
	if (c->rate_max_bps < c->rate_bps)
		c->rate_max_bps = c->rate_bps;
}
