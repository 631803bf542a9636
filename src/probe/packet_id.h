/* SPDX-License-Identifier: Apache-2.0
 *
 * What identifies a packet, read off its bytes.
 *
 * The same few fields are needed of a probe as sent, of a frame received and of
 * the first bytes that an ICMP error quotes, 20,000 times a second; so they are
 * read straight from the bytes into one flat struct, as far as the bytes reach,
 * instead of through a decoded packet.
 *
 * Ownership: payload and body borrow from the frame.
 */
#ifndef SONDE_PROBE_PACKET_ID_H
#define SONDE_PROBE_PACKET_ID_H

#include "base/addr.h"
#include "wire/wire.h"

enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMP6 = 58 };

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_URG = 32 };

/* TCP options that are told one by one. */
enum {
	TCPOPT_MSS = 1,
	TCPOPT_WSCALE = 2,
	TCPOPT_SACKOK = 4,
	TCPOPT_STAMP = 8,
	TCPOPT_OTHER = 16,
	TCPOPT_WHOLE = 128, /* the bytes reach to the end of the options */
};

typedef struct TcpOptions {
	uint8_t have;
	uint8_t wscale;
	uint16_t mss;
	uint32_t tsval;
	uint64_t other; /* hash of those of other kinds */
} TcpOptions;

/* How far the bytes reach. */
enum {
	HAVE_PORTS = 1,	 /* the first 4 bytes of the transport header */
	HAVE_EIGHT = 2,	 /* the first 8: all that RFC 792 promises of a quote */
	HAVE_HEADER = 4, /* the whole fixed transport header */
};

typedef struct PacketId {
	uint8_t v;     /* 4, 6; 0: ARP */
	uint8_t proto; /* behind IPv6 extension headers; 0: ARP */
	uint8_t kind;  /* TCP flags, ICMP type, ARP operation */
	uint8_t code;  /* ICMP's */
	uint8_t have;
	uint8_t ttl, tos;
	bool fragment;	   /* a piece of a larger packet */
	bool more;	   /* not its last piece */
	bool atomic;	   /* IPv6: a fragment header on a whole packet (RFC 6946) */
	bool df;	   /* IPv4: don't fragment */
	bool has_dns;	   /* `content` stands for id and question */
	bool dns_edns;	   /* a query with an OPT record (RFC 6891) right behind its question */
	bool has_xid;	   /* DHCP: `content` stands for the transaction */
	uint16_t frag_off; /* bytes */
	uint16_t ip_len;   /* as the header says, from the IP header on */
	uint32_t ip_id;	   /* IPv6: of the fragment header */
	Ip src, dst;	   /* ARP: psrc, pdst */
	Ip target;	   /* of neighbour solicitation and advertisement */
	uint16_t a, b;	   /* ports, source first; ICMP id and seq */
	uint16_t csum;	   /* of the transport header */
	uint16_t udp_len;
	uint16_t dns_id, dns_flags;
	uint64_t dns_question; /* hash of name, type and class, without case; 0: none */
	uint64_t dns_spelling; /* the name's, as it is written */
	uint16_t window;
	uint32_t seq, ack;
	uint32_t seq_len; /* sequence numbers it takes: payload, SYN, FIN */
	TcpOptions opt;
	uint64_t content; /* hash of what tells packets of one flow apart: payload, or DNS id and question */
	Bytes packet;	  /* from the IP or ARP header on, without Ethernet's padding */
	Bytes payload;	  /* behind the transport header, as far as it is there */
	Bytes body;	  /* behind the IP headers */
	Bytes piece;	  /* of a fragment: what it carries of its packet */
} PacketId;

/* False for what is neither IP nor ARP or is cut within that header. */
bool packet_id_read(Bytes frame, WireId first, PacketId *ret_id);

/* An ICMP error that quotes a packet: its identity, as far as it reaches. */
bool packet_id_quote(const PacketId *error, PacketId *ret_quote);

/* "Same bytes": of the whole packet without TTL and header checksum, which differ
 * between copies that took different ways. */
uint64_t packet_id_bytes_hash(const PacketId *id);

/* The type of the ICMP query that an ICMP type answers, or -1. */
int icmp_query_of(uint8_t v, uint8_t type);
bool icmp_is_query(uint8_t v, uint8_t type);
/* Errors end a probe; a redirect (RFC 792) does not: the packet went on. */
bool icmp_is_error(uint8_t v, uint8_t type);
bool icmp_is_redirect(uint8_t v, uint8_t type);

/* Serial numbers, RFC 1982: a before b, and a in [lo, hi]. */
static inline bool serial_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool serial_within(uint32_t a, uint32_t lo, uint32_t hi)
{
	return a - lo <= hi - lo;
}

#endif
