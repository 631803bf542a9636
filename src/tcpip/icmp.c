/* SPDX-License-Identifier: Apache-2.0
 *
 * To whom an ICMP error goes.
 */
#include "tcpip/ip.h"

/* A connection that follows a smaller path tells what it found; others on the path follow it. */
static void mtu_spreads(NetStack *s, int64_t now_ns, const IcmpError *e)
{
	const TcpConn *c = tcp_find(s, e->src, e->sport, e->dst, e->dport);

	if (!c)
		return;
	ip_path_mtu_learned(s, e->dst, c->mtu, now_ns);
	tcp_mtu_changed(s, now_ns, e->src, e->dst, c->mtu);
}

static StackVerdict to_tcp(NetStack *s, int64_t now_ns, const IcmpError *e)
{
	const TcpConn *c = tcp_find(s, e->src, e->sport, e->dst, e->dport);
	/* what a crafted segment met on its way is the answer that somebody waits for */
	bool shown = c && c->crafted_until_ns > now_ns;
	IcmpVerdict v = tcp_icmp_error(s, now_ns, e);

	if (v == ICMP_NOT_OURS)
		return STACK_NOT_OURS;
	if (v == ICMP_TAKEN && e->klass == ICMP_TOO_BIG)
		mtu_spreads(s, now_ns, e);
	return shown ? STACK_TAKEN_AND_SHOWN : STACK_TAKEN;
}

StackVerdict icmp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx)
{
	uint8_t proto;
	IcmpError e;

	if ((ip->proto == IP_PROTO_ICMP) != (ip->src.v == 4) || !icmp_error_read(ip, rx->csum_good, &e, &proto))
		return STACK_NOT_OURS;
	if (proto == IP_PROTO_TCP)
		return to_tcp(s, now_ns, &e);
	return proto == IP_PROTO_UDP ? udp_icmp_error(s, now_ns, &e) : STACK_NOT_OURS;
}
