/* SPDX-License-Identifier: Apache-2.0
 *
 * The IP header, read and written: the stack's own small view, since wire's packets are
 * values with field masks and cost more than a segment may.
 *
 * Ownership: all is borrowed from the packet.
 */
#ifndef SONDE_TCPIP_IP_PACKET_H
#define SONDE_TCPIP_IP_PACKET_H

#include "base/addr.h"
#include "base/bytes.h"

enum { IP_PROTO_ICMP = 1, IP_PROTO_TCP = 6, IP_PROTO_UDP = 17, IP_PROTO_ICMPV6 = 58 };
enum { IP_ECN_NONE = 0, IP_ECN_ECT1 = 1, IP_ECN_ECT0 = 2, IP_ECN_CE = 3 };

typedef struct IpPacket {
	Ip src, dst;
	uint8_t proto; /* of the payload: behind IPv6's extension headers */
	uint8_t ttl, tos;
	uint16_t hdr_bytes; /* from the first byte to the payload */
	uint32_t id;	    /* IPv4's identification or that of the fragment header */
	bool df;
	bool fragment;	    /* payload is a piece: more, or frag_off not 0 */
	bool more;
	uint32_t frag_off;  /* bytes */
	bool joined;	    /* whole, but came in pieces: ip_reassemble */
	Bytes payload;	    /* ends where the header says: what is behind is padding */
	Bytes whole;	    /* the packet without padding */
} IpPacket;

/* False: not an IP packet to take: version, lengths, header checksum (RFC 1122 3.2.1.2), an
 * extension header that does not fit or is not to be passed (RFC 8200 4.2: option bits 01..11). */
bool ip_packet_read(Bytes packet, IpPacket *ret_ip);

/* Header of a packet with `payload` bytes behind it, into buf (48 bytes of room); its length.
 * Of ip: src, dst, proto, ttl, tos, id, df; of a piece fragment, more, frag_off. */
size_t ip_packet_write(const IpPacket *ip, size_t payload, uint8_t *buf);

/* Sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1), to start ip_csum with. */
uint64_t ip_pseudo_sum(const IpPacket *ip, size_t payload);
/* One's complement sum of b added to sum, 64 bits wide and unfolded, in the machine's byte
 * order: any two slices may be added if the first has an even length. */
uint64_t ip_csum_add(uint64_t sum, Bytes b);
/* The same over n bytes copied from src to dst on the way. */
uint64_t ip_csum_copy(uint64_t sum, uint8_t *dst, const uint8_t *src, size_t n);
/* Folded and inverted, in the machine's byte order: memcpy it into the header.  0: it fits. */
uint16_t ip_csum_done(uint64_t sum);

#endif
