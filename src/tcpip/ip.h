/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack's IP layer beside headers (ip_packet.h): fragments, ICMP errors, path MTUs.
 * Not for the stack's owners.
 *
 * An ICMP error is what anybody can send, so it is believed as far as RFC 5927 does: the
 * quote must be of a packet that we have out (for TCP a sequence number in flight, tcp's
 * part), no error ends a connection that is up, and an MTU waits for evidence (pmtu.h).
 */
#ifndef SONDE_TCPIP_IP_H
#define SONDE_TCPIP_IP_H

#include "tcpip/inside.h"

/* Takes a piece; true when its packet is whole, which lives until the next call.  Pieces
 * themselves are nobody's: who drives the stack may look at them too. */
bool ip_reassemble(NetStack *s, int64_t now_ns, const IpPacket *piece, IpPacket *ret_whole);

/* Time-outs of pieces. */
int64_t ip_wake_ns(const NetStack *s);
void ip_advance(NetStack *s, int64_t now_ns);

StackVerdict icmp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx);

/* A whole datagram. */
StackVerdict udp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx);
/* An error about a datagram. */
StackVerdict udp_icmp_error(NetStack *s, int64_t now_ns, const IcmpError *e);

/* Reads an ICMP or ICMPv6 error (RFC 792, RFC 4443 3) and the packet that it quotes.
 * False: it is none, its checksum is wrong, or what it quotes has no ports to be told by. */
bool icmp_error_read(const IpPacket *ip, bool csum_good, IcmpError *ret_error, uint8_t *ret_proto);

/* What is remembered of the path to dst, 0: nothing. */
uint32_t ip_path_mtu(const NetStack *s, Ip dst, int64_t now_ns);
/* Somebody found it out. */
void ip_path_mtu_learned(NetStack *s, Ip dst, uint32_t mtu, int64_t now_ns);

#endif
