/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/link.h"
#include "wire/table.h"

#define PROTO(id, file)

WireId wire_by_ethertype(uint16_t type)
{
	switch (type) {
#define ETHERTYPE(n, id) \
	case n:          \
		return WIRE_##id;
#include "wire/protos.def"
	default:
		return WIRE_NONE;
	}
}

#define PROTO(id, file)

static WireId by_ipproto6(uint8_t proto)
{
	switch (proto) {
#define IPPROTO6(n, id) \
	case n:         \
		return WIRE_##id;
#include "wire/protos.def"
	default:
		return WIRE_NONE;
	}
}

#define PROTO(id, file)

WireId wire_by_ipproto(uint8_t proto, bool in_ipv6)
{
	switch (proto) {
#define IPPROTO(n, id) \
	case n:        \
		return WIRE_##id;
#include "wire/protos.def"
	default:
		return in_ipv6 ? by_ipproto6(proto) : WIRE_NONE;
	}
}

#define PROTO(id, file)

static WireId by_udp_port(uint16_t port, bool to)
{
	(void)to; /* unless a row says that only the receiver's port counts */
	switch (port) {
#define UDP_PORT(n, id) \
	case n:         \
		return WIRE_##id;
#define UDP_TO(n, id) \
	case n:       \
		return to ? WIRE_##id : WIRE_NONE;
#include "wire/protos.def"
	default:
		return WIRE_NONE;
	}
}

#define PROTO(id, file)

static WireId by_tcp_port(uint16_t port)
{
	switch (port) {
#define TCP_PORT(n, id) \
	case n:         \
		return WIRE_##id;
#include "wire/protos.def"
	default:
		return WIRE_NONE;
	}
}

/* A server's port says what goes to it before it says what comes from it. */
WireId wire_by_port(bool tcp, uint16_t sport, uint16_t dport)
{
	WireId to = tcp ? by_tcp_port(dport) : by_udp_port(dport, true);

	return to != WIRE_NONE ? to : tcp ? by_tcp_port(sport) : by_udp_port(sport, false);
}

/* ---- the reverse ---- */

typedef struct Number {
	uint16_t n;
	uint8_t id;
} Number;

#define PROTO(id, file)
static const Number ethertypes[] = {
#define ETHERTYPE(n, id) { n, WIRE_##id },
#include "wire/protos.def"
};

#define PROTO(id, file)
static const Number ipprotos[] = {
#define IPPROTO(n, id) { n, WIRE_##id },
#define IPPROTO_AS(n, id) { n, WIRE_##id },
#define IPPROTO6(n, id) { n, WIRE_##id },
#include "wire/protos.def"
};

static int number_of(const Number *rows, size_t n, WireId id)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].id == id)
			return rows[i].n;
	return -1;
}

int wire_ethertype_of(WireId id)
{
	return number_of(ethertypes, sizeof ethertypes / sizeof *ethertypes, id);
}

int wire_ipproto_of(WireId id)
{
	return number_of(ipprotos, sizeof ipprotos / sizeof *ipprotos, id);
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
