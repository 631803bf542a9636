/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/ip.h"

#include "tcpip/pmtu.h"

#include "base/limits.h"
#include "base/units.h"
#include "wire/reasm.h"

#define EXPIRE_NS (60 * NS_PER_S) /* RFC 1122 3.3.2: at least 60 s; RFC 8200 4.5: 60 s */

static void *take(void *ctx, size_t bytes)
{
	return pool_table(ctx, bytes);
}

static Reasm *reasm_of(NetStack *s)
{
	if (!s->reasm && (s->reasm = pool_table(&s->pool, sizeof(Reasm))))
		reasm_init(s->reasm, &(ReasmConfig){ .packets = LIMIT_REASM_PACKETS,
						     .per_source = LIMIT_REASM_SOURCE,
						     .expire_ns = EXPIRE_NS,
						     .take = take,
						     .ctx = &s->pool });
	return s->reasm;
}

bool ip_reassemble(NetStack *s, int64_t now_ns, const IpPacket *ip, IpPacket *ret_whole)
{
	Reasm *r = reasm_of(s);
	Reassembled whole;
	ReasmPiece p = { .src = ip->src,
			 .dst = ip->dst,
			 .proto = ip->proto,
			 .ecn = ip->tos & 3,
			 .more = ip->more,
			 .id = ip->id,
			 .off = ip->frag_off,
			 .packet = ip->whole,
			 .body = ip->payload };

	if (!r || !reasm_add(r, &p, now_ns, &whole) || !ip_packet_read(whole.packet, ret_whole))
		return false;
	ret_whole->joined = true;
	return true;
}

int64_t ip_wake_ns(const NetStack *s)
{
	return s->reasm ? reasm_wake_ns(s->reasm) : STACK_NEVER;
}

void ip_advance(NetStack *s, int64_t now_ns)
{
	if (s->reasm)
		reasm_expire(s->reasm, now_ns, false);
}

uint32_t ip_path_mtu(const NetStack *s, Ip dst, int64_t now_ns)
{
	return s->pmtu ? pmtu_cache_get(s->pmtu, dst, now_ns) : 0;
}

void ip_path_mtu_learned(NetStack *s, Ip dst, uint32_t mtu, int64_t now_ns)
{
	if (!s->pmtu)
		s->pmtu = pool_table(&s->pool, sizeof(PmtuCache));
	if (s->pmtu)
		pmtu_cache_put(s->pmtu, dst, mtu, now_ns);
}
