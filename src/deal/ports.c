/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/ports.h"

enum { TCP = 6, UDP = 17 };

/* guardrails.md 3; sorted by port.  TCP 53 and 853 are a matter of zones (gate/rules),
 * NTP's modes 6 and 7 one of the datagram (gate/frame_payload). */
static const PortRow rows[] = {
	{ UDP, 19, NEED_NAME, "chargen, RFC 864" },
	{ TCP, 25, NEED_NAME, "SMTP, RFC 5321" },
	{ UDP, 67, WORD_DHCP, "DHCP, RFC 2131" },
	{ UDP, 68, WORD_DHCP, "DHCP, RFC 2131" },
	{ UDP, 111, NEED_NAME, "the port mapper, RFC 1833" },
	{ 0, 137, WORD_LOCAL_NAMING, "NetBIOS names, RFC 1002" },
	{ UDP, 161, NEED_NAME, "SNMP, RFC 3411" },
	{ 0, 179, WORD_ROUTING, "BGP, RFC 4271" },
	{ UDP, 389, NEED_NAME, "CLDAP, MS-ADTS 3.1.1.3" },
	{ 0, 520, WORD_ROUTING, "RIP, RFC 2453" },
	{ 0, 521, WORD_ROUTING, "RIPng, RFC 2080" },
	{ UDP, 546, WORD_DHCP, "DHCPv6, RFC 8415" },
	{ UDP, 547, WORD_DHCP, "DHCPv6, RFC 8415" },
	{ 0, 646, WORD_ROUTING, "LDP, RFC 5036" },
	{ UDP, 1701, WORD_TUNNEL, "L2TP, RFC 3931" },
	{ 0, 1900, WORD_LOCAL_NAMING, "SSDP, UPnP Device Architecture 1.3" },
	{ 0, 1985, WORD_ROUTING, "HSRP, RFC 2281" },
	{ 0, 2029, WORD_ROUTING, "HSRP for IPv6" },
	{ UDP, 2152, WORD_TUNNEL, "GTP-U, 3GPP TS 29.281" },
	{ 0, 3222, WORD_ROUTING, "GLBP" },
	{ UDP, 3544, WORD_TUNNEL, "Teredo, RFC 4380" },
	{ 0, 3784, WORD_ROUTING, "BFD, RFC 5881" },
	{ UDP, 4754, WORD_TUNNEL, "GRE in UDP, RFC 8086" },
	{ UDP, 4789, WORD_TUNNEL, "VXLAN, RFC 7348" },
	{ UDP, 4790, WORD_TUNNEL, "VXLAN-GPE" },
	{ 0, 5350, WORD_LOCAL_NAMING, "NAT-PMP and PCP, RFC 6887" },
	{ 0, 5351, WORD_LOCAL_NAMING, "NAT-PMP and PCP, RFC 6887" },
	{ 0, 5353, WORD_LOCAL_NAMING, "mDNS, RFC 6762" },
	{ 0, 5355, WORD_LOCAL_NAMING, "LLMNR, RFC 4795" },
	{ UDP, 6080, WORD_TUNNEL, "GUE" },
	{ UDP, 6081, WORD_TUNNEL, "Geneve, RFC 8926" },
	{ UDP, 6635, WORD_TUNNEL, "MPLS in UDP, RFC 7510" },
	{ UDP, 8472, WORD_TUNNEL, "VXLAN as Linux first did it" },
	{ UDP, 11211, NEED_NAME, "memcached" },
};

const PortRow *port_rows(size_t *ret_n)
{
	*ret_n = sizeof rows / sizeof rows[0];
	return rows;
}

const PortRow *port_row(uint8_t proto, uint16_t port)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rows[i].port <= port; i++)
		if (rows[i].port == port && (rows[i].proto == 0 || rows[i].proto == proto))
			return &rows[i];
	return NULL;
}

/* guardrails.md 3, spoof: echo, qotd, chargen, DNS, TFTP, port mapper, NTP, NetBIOS,
 * SNMP, CLDAP, SLP, RIP, SSDP, WS-Discovery, mDNS, memcached. */
bool port_amplifies(uint16_t udp_port)
{
	static const uint16_t amplifiers[] = { 7,   17,	 19,  53,  69,	 111,  123,  137,
					       161, 389, 427, 520, 1900, 3702, 5353, 11211 };

	for (size_t i = 0; i < sizeof amplifiers / sizeof amplifiers[0]; i++)
		if (amplifiers[i] == udp_port)
			return true;
	return false;
}

/* Routing: IGMP, EIGRP, OSPF, PIM, VRRP.  Tunnels: all that carry packets in packets. */
ReachWord proto_word(uint8_t proto)
{
	static const struct {
		uint8_t proto;
		ReachWord word;
	} protos[] = {
		{ 2, WORD_ROUTING },  { 88, WORD_ROUTING },  { 89, WORD_ROUTING }, { 103, WORD_ROUTING },
		{ 112, WORD_ROUTING },
		{ 4, WORD_TUNNEL },   /* RFC 2003 */
		{ 41, WORD_TUNNEL },  /* RFC 4213 */
		{ 47, WORD_TUNNEL },  /* GRE, RFC 2784 */
		{ 55, WORD_TUNNEL },  /* RFC 2004 */
		{ 94, WORD_TUNNEL },  /* IPIP of KA9Q */
		{ 97, WORD_TUNNEL },  /* EtherIP, RFC 3378 */
		{ 98, WORD_TUNNEL },  /* RFC 1241 */
		{ 115, WORD_TUNNEL }, /* L2TPv3, RFC 3931 */
		{ 137, WORD_TUNNEL }, /* MPLS in IP, RFC 4023 */
	};

	for (size_t i = 0; i < sizeof protos / sizeof protos[0]; i++)
		if (protos[i].proto == proto)
			return protos[i].word;
	return WORD_N;
}

/* guardrails.md 2.  The services that clouds hand secrets out on lie in 169.254.0.0/16
 * and at these. */
const NeverRow *never_rows(size_t *ret_n)
{
	static const NeverRow never[] = {
		{ "0.0.0.0/8", "unspecified" },
		{ "127.0.0.0/8", "loopback" },
		{ "169.254.0.0/16", "link-local, where clouds keep their metadata" },
		{ "100.100.100.200/32", "a cloud's metadata service (Alibaba)" },
		{ "168.63.129.16/32", "a cloud's metadata service (Azure)" },
		{ "192.0.0.192/32", "a cloud's metadata service (Oracle)" },
		{ "::/128", "unspecified" },
		{ "::1/128", "loopback" },
		{ "fe80::/10", "link-local" },
		{ "fd00:ec2::/32", "a cloud's metadata service (AWS)" },
		{ "fd20:ce::254/128", "a cloud's metadata service (Google)" },
		{ "fd00:42::42/128", "a cloud's metadata service (Scaleway)" },
	};

	*ret_n = sizeof never / sizeof never[0];
	return never;
}
