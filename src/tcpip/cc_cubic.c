/* SPDX-License-Identifier: Apache-2.0
 *
 * CUBIC, RFC 9438.  Windows are in segments here, as in the RFC.
 */
#include "tcpip/cc.h"

#include <math.h>

static const double CUBIC_C = 0.4;    /* RFC 9438 4.1 */
static const double CUBIC_BETA = 0.7; /* RFC 9438 4.6 */

/* RFC 9438 4.3: what makes Reno with this beta as fast as Reno with a half. */
static double alpha(const TcpConn *c, double w_est)
{
	return w_est >= c->cubic.cwnd_prior ? 1.0 : 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
}

/* RFC 9438 4.2, 4.8: where congestion avoidance begins. */
static void epoch_begin(TcpConn *c, int64_t now_ns)
{
	double cwnd = (double)c->cwnd / c->snd_mss, w_max = (double)c->cubic.w_max / c->snd_mss;

	c->cubic.epoch_ns = now_ns;
	c->cubic.w_est = c->cwnd;
	c->cubic.credit = 0;
	if (cwnd < w_max) {
		c->cubic.k = cbrt((w_max - cwnd) / CUBIC_C);
		c->cubic.origin = w_max;
	} else {
		c->cubic.k = 0;
		c->cubic.origin = cwnd;
	}
}

static double w_cubic(const TcpConn *c, double t)
{
	double d = t - c->cubic.k;

	return CUBIC_C * d * d * d + c->cubic.origin;
}

static double clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

static void acked_cubic(TcpConn *c, int64_t now_ns, uint32_t acked)
{
	if (c->cwnd < c->ssthresh)
		acked = cc_slow_start(c, acked);
	if (!acked)
		return;
	if (!c->cubic.epoch_ns)
		epoch_begin(c, now_ns);
	double mss = c->snd_mss, cwnd = c->cwnd / mss;
	double t = (double)(now_ns - c->cubic.epoch_ns) / 1e9, rtt = (double)c->srtt_ns / 1e9;
	double target = clamp(w_cubic(c, t + rtt), cwnd, 1.5 * cwnd); /* RFC 9438 4.2 */

	c->cubic.w_est += alpha(c, c->cubic.w_est) * acked / cwnd; /* 4.3 (4) */
	if (w_cubic(c, t) * mss < c->cubic.w_est) {		    /* 4.3: the Reno-friendly region */
		if (c->cubic.w_est > c->cwnd)
			c->cwnd = (uint32_t)c->cubic.w_est;
		return;
	}
	/* 4.4, 4.5: (target - cwnd) / cwnd for each segment acknowledged. */
	c->cubic.credit += (target - cwnd) / cwnd * acked;
	c->cwnd += (uint32_t)c->cubic.credit;
	c->cubic.credit -= (uint32_t)c->cubic.credit;
}

static uint32_t reduce_cubic(TcpConn *c, int64_t now_ns)
{
	uint32_t least = 2u * c->snd_mss, to = (uint32_t)(c->cwnd * CUBIC_BETA);

	(void)now_ns;
	/* 4.7, fast convergence: who meets loss lower than the last time leaves room to newcomers. */
	c->cubic.w_max = c->cwnd < c->cubic.w_max ? (uint32_t)(c->cwnd * (1.0 + CUBIC_BETA) / 2) : c->cwnd;
	c->cubic.cwnd_prior = c->cwnd;
	c->cubic.epoch_ns = 0;
	return to > least ? to : least;
}

static void undo_cubic(TcpConn *c)
{
	/* 4.9.2: as if nothing had been. */
	c->cubic.w_max = c->cubic.w_max > c->cwnd ? c->cubic.w_max : c->cwnd;
	c->cubic.epoch_ns = 0;
}

const CcOps cc_cubic = { "cubic", acked_cubic, reduce_cubic, undo_cubic };
