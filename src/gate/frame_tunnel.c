/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets in packets (word `tunnel`): the inner packet is checked as if it left
 * here.  A tunnel whose inside this can't read does not pass at all.
 */
#include "deal/ports.h"
#include "gate/frame_inside.h"


#include <netinet/in.h>

enum { VXLAN = 4789, VXLAN_LINUX = 8472, GENEVE = 6081, GRE_IN_UDP = 4754, TYPE_IP4 = 0x0800, TYPE_IP6 = 0x86dd,
       TYPE_ETHER = 0x6558 };

bool is_udp_tunnel(uint16_t port)
{
	const PortRow *row = port_row(IPPROTO_UDP, port);

	return row && row->need == WORD_TUNNEL;
}

static bool look_inner(Look *l, Bytes packet, unsigned version)
{
	Look inner = { .fc = l->fc, .in = l->in, .v = l->v, .depth = l->depth + 1 };

	if (l->frag)
		return no(l, NOTSENT_FRAME, "a tunnel in fragments");
	if (inner.depth > TUNNELS_MAX)
		return no(l, NOTSENT_FRAME, "more than %d tunnels in one another", TUNNELS_MAX);
	if (!packet.n || packet.p[0] >> 4 != version)
		return no(l, NOTSENT_FRAME, "the inner packet is no IPv%u", version);
	return look_ip(&inner, packet, false);
}

static bool look_inner_type(Look *l, Bytes packet, uint16_t type);

/* Ether.src is claimed as the outer one's is; whom a group address reaches is not known here. */
static bool look_inner_ether(Look *l, Bytes frame)
{
	Cursor c = cursor(frame);
	Bytes dst = cur_bytes(&c, 6), src = cur_bytes(&c, 6);
	uint16_t type = cur_be16(&c);
	Mac m;

	if (c.bad)
		return no(l, NOTSENT_FRAME, "an inner Ethernet frame of %zu bytes", frame.n);
	memcpy(m.b, src.p, sizeof m.b);
	if (!mac_claimable(l, m))
		return no(l, NOTSENT_SOURCE, "the inner Ether.src is not our MAC");
	if (dst.p[0] & 1)
		return no(l, NOTSENT_FRAME, "an inner frame to a group address");
	if (type == TYPE_ETHER)
		return no(l, NOTSENT_FRAME, "inner EtherType 0x%04x", type);
	return look_inner_type(l, cur_rest(&c), type);
}

static bool look_inner_type(Look *l, Bytes packet, uint16_t type)
{
	switch (type) {
	case TYPE_IP4:
		return look_inner(l, packet, 4);
	case TYPE_IP6:
		return look_inner(l, packet, 6);
	case TYPE_ETHER:
		return look_inner_ether(l, packet);
	default:
		return no(l, NOTSENT_FRAME, "inner EtherType 0x%04x", type);
	}
}

/* RFC 2784, RFC 2890: version 0 without source route. */
static bool look_gre(Look *l, Bytes b)
{
	enum { CHECKSUM = 0x8000, KEY = 0x2000, SEQUENCE = 0x1000, KNOWN = CHECKSUM | KEY | SEQUENCE };
	Cursor c = cursor(b);
	uint16_t flags = cur_be16(&c), type = cur_be16(&c);

	if (flags & ~KNOWN)
		return no(l, NOTSENT_FRAME, "a GRE header that can't be checked");
	cur_skip(&c, (flags & CHECKSUM ? 4u : 0u) + (flags & KEY ? 4u : 0u) + (flags & SEQUENCE ? 4u : 0u));
	if (c.bad)
		return no(l, NOTSENT_FRAME, "a GRE header that is cut");
	return look_inner_type(l, cur_rest(&c), type);
}

/* RFC 7348 5 */
static bool look_vxlan(Look *l, Bytes b)
{
	if (b.n < 8 || b.p[0] != 0x08)
		return no(l, NOTSENT_FRAME, "a VXLAN header that can't be checked");
	return look_inner_ether(l, bytes_slice(b, 8, b.n));
}

/* RFC 8926 3.4: version 0, no critical options */
static bool look_geneve(Look *l, Bytes b)
{
	size_t head = b.n >= 8 ? 8 + (b.p[0] & 0x3fu) * 4 : 0;

	if (head == 0 || head > b.n || b.p[0] >> 6 || b.p[1])
		return no(l, NOTSENT_FRAME, "a Geneve header that can't be checked");
	return look_inner_type(l, bytes_slice(b, head, b.n), get_be16(b.p + 2));
}

bool look_udp_tunnel(Look *l, uint16_t port, Bytes data)
{
	switch (port) {
	case VXLAN:
	case VXLAN_LINUX:
		return look_vxlan(l, data);
	case GENEVE:
		return look_geneve(l, data);
	case GRE_IN_UDP:
		return look_gre(l, data);
	default:
		return no(l, NOTSENT_FRAME, "UDP port %u: a tunnel whose inner packet can't be checked", port);
	}
}

bool look_tunnel(Look *l)
{
	switch (l->proto) {
	case IPPROTO_IPIP:
		return look_inner(l, l->body, 4);
	case IPPROTO_IPV6:
		return look_inner(l, l->body, 6);
	case IPPROTO_GRE:
		return look_gre(l, l->body);
	default:
		return no(l, NOTSENT_FRAME, "IP protocol %u: a tunnel whose inner packet can't be checked", l->proto);
	}
}
