/* SPDX-License-Identifier: Apache-2.0
 *
 * To whom an ICMP error goes.
 */
#include "tcpip/ip.h"

static StackVerdict to_tcp(NetStack *s, int64_t now_ns, const IcmpError *e)
{
	const TcpConn *c = tcp_find(s, e->src, e->sport, e->dst, e->dport);
	/* what a crafted segment met on its way is the answer that somebody waits for */
	bool shown = c && c->crafted_until_ns > now_ns;
	IcmpVerdict v = tcp_icmp_error(s, now_ns, e);

	if (v == ICMP_NOT_OURS)
		return STACK_NOT_OURS;
	if (v == ICMP_TAKEN && e->klass == ICMP_TOO_BIG) /* it follows already; others on the path do too */
		tcp_mtu_changed(s, now_ns, e->src, e->dst, c->mtu);
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
