/* SPDX-License-Identifier: Apache-2.0
 *
 * RFC 5681's growth with bytes counted (RFC 3465), and its halving.
 */
#include "tcpip/cc.h"

/* RFC 9406 4.2: a sender that does not pace may grow by this many segments an ACK. */
enum { SLOW_START_SEGMENTS = 8 };

uint32_t cc_slow_start(TcpConn *c, uint32_t acked)
{
	uint32_t cap = SLOW_START_SEGMENTS * c->snd_mss;
	uint32_t room = c->ssthresh > c->cwnd ? c->ssthresh - c->cwnd : 0;
	uint32_t used = acked < room ? acked : room;

	c->cwnd += used < cap ? used : cap;
	return acked - used;
}

static void acked_newreno(TcpConn *c, int64_t now_ns, uint32_t acked)
{
	(void)now_ns;
	if (c->cwnd < c->ssthresh)
		acked = cc_slow_start(c, acked);
	/* RFC 5681 3.1, byte counting: one segment for each cwnd of bytes acknowledged. */
	c->cubic.acked += acked;
	if (c->cubic.acked >= c->cwnd) {
		c->cubic.acked -= c->cwnd;
		c->cwnd += c->snd_mss;
	}
}

static uint32_t reduce_newreno(TcpConn *c, int64_t now_ns)
{
	/* RFC 5681 (4); cwnd instead of what is in flight, since it grows only when it is used. */
	uint32_t half = c->cwnd / 2, least = 2u * c->snd_mss;

	(void)now_ns;
	c->cubic.acked = 0;
	return half > least ? half : least;
}

static void undo_newreno(TcpConn *c)
{
	c->cubic.acked = 0;
}

const CcOps cc_newreno = { "newreno", acked_newreno, reduce_newreno, undo_newreno };
