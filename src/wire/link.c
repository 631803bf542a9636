/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/link.h"
#include "wire/table.h"

enum { PORT_DNS = 53, PORT_MDNS = 5353 };

/* IANA "IEEE 802 Numbers"; the first row of a protocol is the one that is sent. */
static const struct {
	uint16_t type;
	uint8_t id;
} ethertypes[] = {
	{ 0x0800, WIRE_IP },
	{ 0x86dd, WIRE_IPV6 },
	{ 0x0806, WIRE_ARP },
	{ 0x8100, WIRE_DOT1Q },
	{ 0x88a8, WIRE_DOT1Q }, /* IEEE 802.1ad, the outer tag of QinQ */
	{ 0x9100, WIRE_DOT1Q }, /* QinQ before the standard */
};

/* IANA "Protocol Numbers"; id + 1, so that 0 means none. */
static const uint8_t ipprotos[256] = {
	[0] = WIRE_HOPOPT + 1,  [1] = WIRE_ICMP + 1,    [4] = WIRE_IP + 1,       [6] = WIRE_TCP + 1,
	[17] = WIRE_UDP + 1,    [41] = WIRE_IPV6 + 1,   [43] = WIRE_ROUTING + 1, [44] = WIRE_FRAGMENT + 1,
	[58] = WIRE_ICMPV6 + 1, [60] = WIRE_DESTOPT + 1,
};

/* The protocols of RFC 8200's extension headers mean nothing in IPv4. */
static const uint64_t only_in_ipv6 = WIRE_BIT(WIRE_HOPOPT) | WIRE_BIT(WIRE_ROUTING) |
				     WIRE_BIT(WIRE_FRAGMENT) | WIRE_BIT(WIRE_DESTOPT);

WireId wire_by_ethertype(uint16_t type)
{
	for (size_t i = 0; i < sizeof ethertypes / sizeof *ethertypes; i++)
		if (ethertypes[i].type == type)
			return (WireId)ethertypes[i].id;
	return WIRE_NONE;
}

WireId wire_by_ipproto(uint8_t proto, bool in_ipv6)
{
	if (!ipprotos[proto])
		return WIRE_NONE;
	WireId id = (WireId)(ipprotos[proto] - 1);

	return !in_ipv6 && (only_in_ipv6 & WIRE_BIT(id)) ? WIRE_NONE : id;
}

WireId wire_by_port(bool tcp, uint16_t sport, uint16_t dport)
{
	if (sport == PORT_DNS || dport == PORT_DNS)
		return WIRE_DNS;
	if (!tcp && (sport == PORT_MDNS || dport == PORT_MDNS)) /* RFC 6762 */
		return WIRE_DNS;
	return WIRE_NONE;
}

int wire_ethertype_of(WireId id)
{
	for (size_t i = 0; i < sizeof ethertypes / sizeof *ethertypes; i++)
		if (ethertypes[i].id == id)
			return ethertypes[i].type;
	return -1;
}

int wire_ipproto_of(WireId id)
{
	for (int i = 0; i < 256; i++)
		if (ipprotos[i] == id + 1)
			return i;
	return -1;
}

const WireName wire_ethertype_names[] = {
	{ "IPv4", 0x0800 },  { "ARP", 0x0806 },   { "WoL", 0x0842 },  { "RARP", 0x8035 },
	{ "VLAN", 0x8100 },  { "IPv6", 0x86dd },  { "MPLS", 0x8847 }, { "PPPoE-discovery", 0x8863 },
	{ "PPPoE", 0x8864 }, { "EAPOL", 0x888e }, { "QinQ", 0x88a8 }, { "LLDP", 0x88cc },
	{ "MACsec", 0x88e5 }, { "PTP", 0x88f7 },  { "loopback", 0x9000 }, { NULL, 0 },
};

const WireName wire_ipproto_names[] = {
	{ "hopopt", 0 },   { "icmp", 1 },      { "igmp", 2 },      { "ipencap", 4 },    { "tcp", 6 },
	{ "udp", 17 },     { "dccp", 33 },     { "ipv6", 41 },     { "ipv6-route", 43 }, { "ipv6-frag", 44 },
	{ "rsvp", 46 },    { "gre", 47 },      { "esp", 50 },      { "ah", 51 },        { "ipv6-icmp", 58 },
	{ "ipv6-nonxt", 59 }, { "ipv6-opts", 60 }, { "eigrp", 88 }, { "ospf", 89 },      { "pim", 103 },
	{ "vrrp", 112 },   { "l2tp", 115 },    { "sctp", 132 },    { "udplite", 136 },  { NULL, 0 },
};
