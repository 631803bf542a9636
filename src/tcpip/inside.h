/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a stack say to each other.  Not for its owners.
 *
 *     stack.c     turns, timers, numbers of endpoints, where packets go by protocol
 *     ip*.c ..    reassembly, ICMP, path MTUs, datagram sockets
 *     tcp*.c ..   connections
 */
#ifndef SONDE_TCPIP_INSIDE_H
#define SONDE_TCPIP_INSIDE_H

#include "tcpip/endpoint.h"
#include "tcpip/ip_packet.h"
#include "tcpip/pool.h"
#include "tcpip/stack.h"
#include "tcpip/tcp.h"

/* ---- endpoints: what stack.c asks of a connection or a datagram socket ---- */

struct EndpointOps {
	/* The next packet into buf (IP_MAX bytes of room); its bytes, 0: nothing now.  Sets *ret_out's
	 * purpose and, by endpoint_tag, tag. */
	size_t (*pull)(Endpoint *e, int64_t now_ns, uint8_t *buf, StackOut *ret_out);
	void (*sent)(Endpoint *e, uint64_t tag, int64_t tx_ns);
	void (*notsent)(Endpoint *e, uint64_t tag, StackUnsent why);
	/* due_ns was reached; must set another or none by endpoint_due. */
	void (*due)(Endpoint *e, int64_t now_ns);
};

enum { IP_MAX = 65535 + 40 };

/* Gives it a number and makes it known for tags. */
void endpoint_add(NetStack *s, Endpoint *e, const EndpointOps *ops);
/* Out of all queues; frames on their way are forgotten. */
void endpoint_remove(Endpoint *e);
/* It may have something to send. */
void endpoint_ready(Endpoint *e);
void endpoint_due(Endpoint *e, int64_t due_ns);
/* A tag that comes back by sent or notsent; what is the endpoint's own number for the frame. */
uint64_t endpoint_tag(const Endpoint *e, uint32_t what);
static inline uint32_t endpoint_tag_what(uint64_t tag)
{
	return (uint32_t)tag;
}

/* ---- the stack ---- */

typedef struct Reasm Reasm;
typedef struct PmtuCache PmtuCache;
typedef struct DgramSocket DgramSocket;

typedef struct StackCounts {
	uint64_t packets_in, packets_out;
	uint64_t malformed; /* no IP packet, or no TCP header that fits */
	uint64_t csum_errors; /* of segments and datagrams that were ours */
	uint64_t resets_out; /* to segments that meet no connection on a listener's port */
} StackCounts;

/* An answer without a connection: only listeners' resets. */
typedef struct LooseReset {
	Ip src, dst;
	uint16_t sport, dport;
	uint32_t seq, ack;
	bool with_ack;
} LooseReset;
enum { LOOSE_RESETS = 8 }; /* beyond, the oldest are forgotten: peers ask again */

struct NetStack {
	Pool pool;
	uint64_t seed;
	StackCounts counts;
	int64_t now_ns; /* of the last call */

	uint32_t last_id;
	Endpoint **by_id; /* hash chains through id_next; id_mask + 1 of them */
	uint32_t id_mask, n_endpoints;
	Endpoint *ready;    /* whose turn it is; a ring */
	Endpoint *heap;     /* the one due first */

	TcpConn **by_tuple; /* hash chains through tuple_next */
	uint32_t tuple_mask, n_conns;
	TcpListener *listeners;
	LooseReset loose[LOOSE_RESETS];
	uint32_t loose_from, loose_n;

	Reasm *reasm;
	PmtuCache *pmtu;
	DgramSocket *dgrams;

	uint8_t out[IP_MAX];
};

/* ---- in ---- */

/* A whole TCP packet, reassembled if it came in pieces. */
StackVerdict tcp_input(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx);

/* The packet of r into buf; its length. */
size_t tcp_loose_write(const LooseReset *r, uint8_t *buf);

/* ---- ICMP, from ip to tcp (RFC 5927) ---- */

typedef enum IcmpClass {
	ICMP_SOFT,    /* unreachable net or host, time exceeded: may pass */
	ICMP_HARD,    /* unreachable port or protocol, prohibited */
	ICMP_TOO_BIG, /* mtu is set */
} IcmpClass;

typedef struct IcmpError {
	IcmpClass klass;
	uint8_t type, code;
	Ip reporter;
	Ip src, dst; /* as quoted: src is ours */
	uint16_t sport, dport;
	uint32_t seq; /* as quoted; the first 8 bytes of a TCP header always hold it */
	uint16_t quoted_len; /* of the whole packet quoted, as its header says */
	uint32_t mtu; /* of the next hop, TOO_BIG only; 0: the router told none (RFC 1191 5) */
} IcmpError;

typedef enum IcmpVerdict {
	ICMP_NOT_OURS, /* no such connection */
	ICMP_IGNORED,  /* RFC 5927 4.1: quotes a segment that is not in flight */
	ICMP_TAKEN,    /* TOO_BIG: it follows, and ip calls tcp_mtu_changed for the others */
} IcmpVerdict;

IcmpVerdict tcp_icmp_error(NetStack *s, int64_t now_ns, const IcmpError *e);

/* The path from src to dst takes packets of mtu bytes at most: all connections on it follow, and send
 * again at once what was too long (RFC 1191 6.4). */
void tcp_mtu_changed(NetStack *s, int64_t now_ns, Ip src, Ip dst, uint32_t mtu);

/* A connection by its tuple as we send; NULL: none. */
TcpConn *tcp_find(const NetStack *s, Ip src, uint16_t sport, Ip dst, uint16_t dport);

#endif
