/* SPDX-License-Identifier: Apache-2.0
 *
 * What is due: one handler a timer.
 */
#include "tcpip/tcp_inside.h"

/* ---- retransmission (RFC 6298 5.4..5.7) ---- */

static void syn_timeout(TcpConn *c, int64_t now_ns)
{
	c->out.syn_retries++;
	tcp_event(c, now_ns, TCP_EV_SYN_RETRY, c->out.syn_retries, 0);
	c->syn_due = true;
}

static void on_rto(TcpConn *c, int64_t now_ns)
{
	TxSeg *g = c->seg_first;

	if (!g)
		return;
	if (g->slot) { /* it has not even left: our own way out is what takes so long */
		timer_set(c, TCP_TIMER_RTO, now_ns + c->rto_ns);
		return;
	}
	if (!c->first_rto_ns)
		c->first_rto_ns = now_ns;
	if (c->rto_row < UINT8_MAX)
		c->rto_row++;
	if (c->was_open && c->rto_row > TCP_R2_LEAST && now_ns - c->first_rto_ns >= TCP_R2) { /* RFC 9293 3.8.3 (d) */
		tcp_end(c, now_ns, c->icmp ? TCP_ERR_UNREACHABLE : TCP_ERR_TIMEOUT);
		return;
	}
	c->out.timeouts++;
	tcp_event(c, now_ns, TCP_EV_RTO, (uint32_t)(c->rto_ns / 1000), c->backoff + 1u);
	rtt_backoff(c);
	timer_set(c, TCP_TIMER_RTO, now_ns + c->rto_ns);
	if (g->syn) {
		syn_timeout(c, now_ns);
		return;
	}
	loss_timeout(c, now_ns);
	tcp_path_timeout(c, now_ns);
}

/* ---- RFC 8985 ---- */

static void on_tlp(TcpConn *c, int64_t now_ns)
{
	(void)now_ns;
	c->tlp.due = c->seg_first && c->recovery == TCP_CA_OPEN;
}

static void on_rack(TcpConn *c, int64_t now_ns)
{
	if (!rack_detect(c, now_ns))
		return;
	loss_enter(c, now_ns);
	if (c->recovery == TCP_CA_RECOVERY && c->cwnd < tcp_pipe(c) + c->snd_mss)
		c->cwnd = tcp_pipe(c) + c->snd_mss; /* the fast retransmission itself */
}

/* ---- closed windows (RFC 9293 3.8.6.1) ---- */

static void on_persist(TcpConn *c, int64_t now_ns)
{
	uint32_t flight = c->snd_nxt - c->snd_una;
	int64_t wait = c->rto_ns;

	if (c->seg_first || (!tcp_unsent(c) && (!c->closing || c->fin_sent)))
		return;
	if (c->snd_wnd > flight) { /* open, but by less than is worth a segment */
		c->sws_override = true;
		return;
	}
	if (!c->probes)
		c->probed_since_ns = now_ns;
	else if (now_ns - c->probed_since_ns >= TCP_R2) { /* not the window, the peer is gone */
		tcp_end(c, now_ns, TCP_ERR_TIMEOUT);
		return;
	}
	if (c->probes < UINT8_MAX)
		c->probes++;
	if (c->persist_n < 16)
		c->persist_n++;
	c->out.window_probes++;
	tcp_event(c, now_ns, TCP_EV_PROBE, c->probes, 0);
	c->probe_due = true;
	for (uint32_t i = 0; i < c->persist_n && wait < TCP_RTO_MAX; i++)
		wait *= 2;
	timer_set(c, TCP_TIMER_PERSIST, now_ns + (wait < TCP_RTO_MAX ? wait : TCP_RTO_MAX));
}

static void on_delack(TcpConn *c, int64_t now_ns)
{
	(void)now_ns;
	c->ack_now = c->auto_ack;
}

/* RFC 9293 3.8.4. */
static void on_keepalive(TcpConn *c, int64_t now_ns)
{
	if (c->state < TCP_ESTABLISHED)
		return;
	if (c->seg_first || timer_on(c, TCP_TIMER_PERSIST)) { /* other timers ask already */
		timer_set(c, TCP_TIMER_KEEPALIVE, now_ns + c->keepalive_ns);
		return;
	}
	if (c->keep_probes >= TCP_KEEP_PROBES) {
		tcp_end(c, now_ns, TCP_ERR_TIMEOUT);
		return;
	}
	c->keep_probes++;
	c->out.keepalives++;
	tcp_event(c, now_ns, TCP_EV_KEEPALIVE, c->keep_probes, 0);
	c->probe_due = true;
	timer_set(c, TCP_TIMER_KEEPALIVE, now_ns + TCP_KEEP_INTERVAL);
}

/* The end of connecting, of waiting for a FIN that nobody needs, of TIME-WAIT. */
static void on_life(TcpConn *c, int64_t now_ns)
{
	bool connecting = c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED;

	tcp_end(c, now_ns, !connecting ? TCP_ERR_NONE : c->icmp ? TCP_ERR_UNREACHABLE : TCP_ERR_TIMEOUT);
}

static void (*const on_timer[TCP_TIMER_N])(TcpConn *c, int64_t now_ns) = {
	[TCP_TIMER_RTO] = on_rto,
	[TCP_TIMER_TLP] = on_tlp,
	[TCP_TIMER_RACK] = on_rack,
	[TCP_TIMER_PERSIST] = on_persist,
	[TCP_TIMER_DELACK] = on_delack,
	[TCP_TIMER_KEEPALIVE] = on_keepalive,
	[TCP_TIMER_LIFE] = on_life,
};

void tcp_due(Endpoint *e, int64_t now_ns)
{
	TcpConn *c = (TcpConn *)(void *)e;

	for (int t = 0; t < TCP_TIMER_N; t++) {
		if (c->timer_ns[t] <= now_ns) {
			c->timer_ns[t] = STACK_NEVER;
			on_timer[t](c, now_ns);
		}
	}
	tcp_settle(c);
}
