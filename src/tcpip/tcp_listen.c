/* SPDX-License-Identifier: Apache-2.0
 *
 * Listeners: RFC 9293 3.10.7.2, a bounded backlog, and who waits to be accepted.
 */
#include "tcpip/tcp_inside.h"

struct TcpListener {
	TcpListener *next;
	NetStack *stack;
	Ip addr; /* .v 0: any */
	uint16_t port;
	uint32_t backlog, n;
	TcpOpen open;
	TcpConn *first, *last; /* not yet accepted, finished or not, oldest first */
	uint64_t refused;      /* SYNs that met a full backlog */
};
_Static_assert(sizeof(struct TcpListener) <= 512, "a listener fits its block");

TcpListener *tcp_listen(NetStack *s, Ip addr, uint16_t port, uint32_t backlog, const TcpOpen *o)
{
	TcpListener *l = pool_take(&s->pool, POOL_512);

	if (!l)
		return NULL;
	*l = (TcpListener){ .next = s->listeners, .stack = s, .addr = addr, .port = port, .backlog = backlog, .open = *o };
	s->listeners = l;
	return l;
}

TcpListener *tcp_listener_find(const NetStack *s, Ip addr, uint16_t port)
{
	TcpListener *l = s->listeners;

	while (l && !(l->port == port && (!l->addr.v || ip_eq(l->addr, addr))))
		l = l->next;
	return l;
}

/* ---- segments that meet a listener ---- */

static void loose_reset(NetStack *s, const TcpSeg *seg, const IpPacket *ip)
{
	uint32_t at = (s->loose_from + s->loose_n) % LOOSE_RESETS;

	if (s->loose_n == LOOSE_RESETS)
		return;
	s->loose[at] = (LooseReset){ .src = ip->dst, .dst = ip->src, .sport = seg->dport, .dport = seg->sport, .seq = seg->ack };
	s->loose_n++;
}

size_t tcp_loose_write(const LooseReset *r, uint8_t *buf)
{
	IpPacket ip = { .src = r->src, .dst = r->dst, .proto = IP_PROTO_TCP, .ttl = 64, .df = true };
	TcpHead h = { .sport = r->sport, .dport = r->dport, .flags = TCP_RST, .seq = r->seq };
	size_t at = ip_packet_write(&ip, TCP_HDR, buf), n = tcp_head_write(&h, buf + at);

	tcp_head_sum(buf + at, n, ip_pseudo_sum(&ip, n));
	return at + n;
}

static void queue(TcpListener *l, TcpConn *c)
{
	c->listener = l;
	*(l->last ? &l->last->backlog_next : &l->first) = c;
	l->last = c;
	l->n++;
}

void tcp_listen_done(TcpConn *c)
{
	TcpListener *l = c->listener;
	TcpConn *before = NULL;

	if (!l)
		return;
	for (TcpConn *x = l->first; x != c; x = x->backlog_next)
		before = x;
	*(before ? &before->backlog_next : &l->first) = c->backlog_next;
	if (l->last == c)
		l->last = before;
	l->n--;
	c->listener = NULL;
	c->backlog_next = NULL;
}

static void syn_in(TcpListener *l, int64_t now_ns, const TcpSeg *seg, const IpPacket *ip)
{
	TcpOpen o = l->open;

	o.src = ip->dst;
	o.dst = ip->src;
	o.sport = seg->dport;
	o.dport = seg->sport;
	o.fastopen = false;
	if (!o.mtu)
		o.mtu = 1500;
	TcpConn *c = l->n < l->backlog ? tcp_new(l->stack, now_ns, &o) : NULL;

	if (!c) {
		l->refused++;
		return;
	}
	tcp_log_seg(c, now_ns, seg->whole, 0);
	c->in.segments++;
	c->last_rx_ns = c->times.syn = now_ns;
	c->hs_rx_bytes = seg->wire_bytes;
	stat_peer(c, seg, c->src.v == 4);
	tcp_table_add(c);
	queue(l, c);
	tcp_syn_options(c, now_ns, seg);
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = c->iss;
	tcp_set_state(c, now_ns, TCP_SYN_RECEIVED);
	timer_set(c, TCP_TIMER_LIFE, now_ns + (o.timeout_ns ? o.timeout_ns : TCP_R2_SYN));
	c->syn_due = true;
	tcp_settle(c);
}

/* RFC 9293 3.9.2.3: nothing of TCP comes from, or goes to, many at once or nobody. */
static bool is_one_host(Ip ip)
{
	IpClass k = ip_class(ip);

	return k != IP_CLASS_UNSPECIFIED && k != IP_CLASS_MULTICAST && k != IP_CLASS_BROADCAST;
}

/* RFC 9293 3.10.7.2: a reset is ignored, an ACK is for nobody, a SYN begins a connection. */
StackVerdict tcp_listen_input(TcpListener *l, int64_t now_ns, const TcpSeg *seg, const IpPacket *ip)
{
	if (seg->flags & TCP_RST || !is_one_host(ip->src) || !is_one_host(ip->dst))
		return STACK_TAKEN;
	if (seg->flags & TCP_ACK)
		loose_reset(l->stack, seg, ip);
	else if (seg->flags & TCP_SYN)
		syn_in(l, now_ns, seg, ip);
	return STACK_TAKEN;
}

/* ---- owners ---- */

TcpConn *tcp_accept(TcpListener *l)
{
	TcpConn *c = l->first;

	while (c && !c->was_open)
		c = c->backlog_next;
	if (c)
		tcp_listen_done(c);
	return c;
}

void tcp_unlisten(TcpListener *l)
{
	NetStack *s = l->stack;
	TcpListener **at = &s->listeners;

	while (l->first) {
		TcpConn *c = l->first;

		tcp_listen_done(c);
		c->released = true;
		tcp_reset(c, s->now_ns);
	}
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pool_give(&s->pool, POOL_512, l);
}
