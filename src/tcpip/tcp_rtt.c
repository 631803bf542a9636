/* SPDX-License-Identifier: Apache-2.0
 *
 * Round trips: the smoothed one and the time-out from it (RFC 6298), and their distribution.
 */
#include "tcpip/tcp_inside.h"

/* RFC 6298 2.2, 2.3, with 1/8 and 1/4. */
void rtt_sample(TcpConn *c, int64_t rtt_ns)
{
	if (rtt_ns <= 0)
		return;
	if (!c->srtt_ns) {
		c->srtt_ns = rtt_ns;
		c->rttvar_ns = rtt_ns / 2;
	} else {
		int64_t off = c->srtt_ns > rtt_ns ? c->srtt_ns - rtt_ns : rtt_ns - c->srtt_ns;

		c->rttvar_ns += (off - c->rttvar_ns) / 4;
		c->srtt_ns += (rtt_ns - c->srtt_ns) / 8;
	}
	int64_t var = 4 * c->rttvar_ns;

	c->rto_ns = c->srtt_ns + (var > TCP_RTO_VAR_MIN ? var : TCP_RTO_VAR_MIN);
	if (c->rto_ns > TCP_RTO_MAX)
		c->rto_ns = TCP_RTO_MAX;
	c->backoff = 0;
}

/* RFC 6298 5.5. */
void rtt_backoff(TcpConn *c)
{
	c->rto_ns = c->rto_ns * 2 < TCP_RTO_MAX ? c->rto_ns * 2 : TCP_RTO_MAX;
	if (c->backoff < UINT8_MAX)
		c->backoff++;
}

/* ---- distribution: two buckets an octave, from 16 us on ---- */

static const int64_t BUCKET_FIRST = 16000;

/* The upper end of a bucket, in ns. */
static int64_t bucket_end(uint32_t i)
{
	int64_t octave = BUCKET_FIRST << i / 2;

	return i % 2 ? octave * 2 : octave * 181 / 128; /* the square root of 2 */
}

void rtt_seen(TcpConn *c, int64_t rtt_ns)
{
	uint32_t i = 0;

	if (rtt_ns <= 0)
		return;
	while (i + 1 < TCP_RTT_BUCKETS && rtt_ns > bucket_end(i))
		i++;
	c->rtt_bucket[i]++;
	if (!c->rtt_n || rtt_ns < c->rtt_min_ns)
		c->rtt_min_ns = rtt_ns;
	if (rtt_ns > c->rtt_max_ns)
		c->rtt_max_ns = rtt_ns;
	c->rtt_n++;
	c->rtt_last_ns = rtt_ns;
	c->rtt_sum_ns += rtt_ns;
}

int64_t tcp_rtt_quantile(const TcpConn *c, double q)
{
	double need = q * c->rtt_n, have = 0;

	if (!c->rtt_n)
		return 0;
	for (uint32_t i = 0; i < TCP_RTT_BUCKETS; i++) {
		have += c->rtt_bucket[i];
		if (have >= need && have > 0) {
			int64_t end = i + 1 < TCP_RTT_BUCKETS ? bucket_end(i) : c->rtt_max_ns; /* the last has no end */

			return end > c->rtt_max_ns ? c->rtt_max_ns : end < c->rtt_min_ns ? c->rtt_min_ns : end;
		}
	}
	return c->rtt_max_ns;
}
