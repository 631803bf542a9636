/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of a frame, shared by gate/frame_*.c only.
 *
 *   frame_check.c    Ethernet, ARP, and what is asked from outside
 *   frame_ip.c       IPv4 and IPv6 headers, options, extension headers, fragments
 *   frame_l4.c       who, from where, to which port; TCP, UDP, others
 *   frame_icmp.c     ICMP, ICMPv6, neighbour discovery
 *   frame_tunnel.c   packets in packets
 *   frame_payload.c  DNS, NTP, SNMP, DHCP: datagrams that must be more than well-formed
 */
#ifndef SONDE_GATE_FRAME_INSIDE_H
#define SONDE_GATE_FRAME_INSIDE_H

#include "gate/frame_check.h"

enum { TUNNELS_MAX = 2, VIA_MAX = 16, TAGS_MAX = 2 };

/* One IP packet under the eye: the frame's, or one inside a tunnel. */
typedef struct Look {
	FrameCheck *fc;
	const FrameIn *in;
	FrameVerdict *v;
	unsigned depth;      /* tunnels around it */
	uint16_t tag[TAGS_MAX];
	unsigned ntags;
	bool ether;          /* in an explicit Ethernet frame */

	uint8_t version;
	Ip src, dst;
	const Rights *rights; /* of dst */
	uint8_t proto;
	size_t packet_bytes; /* from the IP header on */
	Bytes body;          /* behind the IP headers */
	Ip via[VIA_MAX];     /* further destinations: of source routes and routing headers */
	unsigned nvia;
	bool options;        /* options, hop-by-hop, routing or destination headers */
	bool frag, more, df;
	uint32_t frag_id, frag_off;
} Look;

/* Notes the refusal; false. */
bool no(Look *l, NotSent why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- frame_ip.c ---- */

/* A whole IP packet; `padded`: zeros may follow it. */
bool look_ip(Look *l, Bytes packet, bool padded);

/* ---- frame_l4.c ---- */

bool look_transport(Look *l);
/* dst in reach, with the words that the packet itself needs. */
bool look_peer(Look *l);
/* The source is ours on this link or a spoofed one by right; for packets without ports. */
bool look_source(Look *l);
/* (source, protocol, port or id) is owned, or the source is spoofed by right. */
bool look_owned(Look *l, uint8_t proto, uint16_t port);
/* Where the frame goes on the link. */
void look_hop(Look *l);
/* A MAC that a frame may claim: ours or spoofed by right. */
bool mac_claimable(Look *l, Mac m);
/* An address of ours on this link. */
bool is_ours_here(const Look *l, Ip ip);
bool is_on_link(const Look *l, Ip ip);
/* A spoofing right was used: one a frame. */
bool use_spoof(Look *l, int right);

/* ---- frame_icmp.c ---- */

bool look_icmp4(Look *l);
bool look_icmp6(Look *l);
/* The form of a neighbour solicitation that reach(peer) alone allows; its
 * destination is no peer but its target is. */
bool is_solicitation(const Look *l);
bool look_solicitation(Look *l);

/* ---- frame_tunnel.c ---- */

bool look_tunnel(Look *l);
bool is_udp_tunnel(uint16_t port);
bool look_udp_tunnel(Look *l, uint16_t port, Bytes data);

/* ---- frame_payload.c ---- */

/* What is wrong with the datagram to this port, or NULL. */
const char *payload_fault(Look *l, uint16_t dport, Bytes data);

#endif
