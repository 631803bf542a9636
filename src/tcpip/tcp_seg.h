/* SPDX-License-Identifier: Apache-2.0
 *
 * A TCP segment, read and written (RFC 9293 3.1).
 *
 *      0                   1                   2                   3
 *      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *     +---------------+---------------+---------------+---------------+
 *     |          source port          |       destination port        |
 *     +---------------+---------------+---------------+---------------+
 *     |                        sequence number                        |
 *     +---------------+---------------+---------------+---------------+
 *     |                    acknowledgment number                      |
 *     +-------+-------+---------------+---------------+---------------+
 *     | offset|  flags (with AE, CWR, |            window             |
 *     |       |  ECE: RFC 3168)       |                               |
 *     +-------+-------+---------------+---------------+---------------+
 *     |           checksum            |        urgent pointer         |
 *     +---------------+---------------+---------------+---------------+
 *     |               options, padded to whole words                  |
 *     +---------------------------------------------------------------+
 *
 * Ownership: a read segment borrows from the packet.
 */
#ifndef SONDE_TCPIP_TCP_SEG_H
#define SONDE_TCPIP_TCP_SEG_H

#include "tcpip/ip_packet.h"
#include "tcpip/tcp_conn.h"

enum { TCP_HDR = 20, TCP_OPTIONS_MAX = 40, TCP_SACK_MAX = 4 };
enum {
	TCP_FIN = 1,
	TCP_SYN = 2,
	TCP_RST = 4,
	TCP_PSH = 8,
	TCP_ACK = 16,
	TCP_URG = 32,
	TCP_ECE = 64,
	TCP_CWR = 128,
};
/* Option kinds (RFC 9293 3.1, 2018, 7323, 7413). */
enum { OPT_END, OPT_NOP, OPT_MSS, OPT_WSCALE, OPT_SACK_OK, OPT_SACK, OPT_TIMESTAMP = 8, OPT_FASTOPEN = 34 };

/* Serial arithmetic (RFC 9293 3.4): a is before b within half the space. */
static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline uint32_t seq_max(uint32_t a, uint32_t b)
{
	return seq_lt(a, b) ? b : a;
}

static inline uint32_t seq_min(uint32_t a, uint32_t b)
{
	return seq_lt(a, b) ? a : b;
}

typedef struct TcpSeg {
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint32_t end; /* seq + payload, and 1 each for SYN and FIN */
	uint16_t flags, window, urgent;
	Bytes payload;
	/* options */
	bool ts, sack_ok, cookie_said;
	uint8_t wscale; /* WSCALE_NONE: not there */
	uint16_t mss;	/* 0: not there */
	uint32_t tsval, tsecr;
	uint8_t n_sack;
	SeqRange sack[TCP_SACK_MAX];
	Bytes cookie;
	/* of the packet around it */
	uint8_t ttl, tos;
	uint16_t ip_id;
	uint32_t wire_bytes;
	Bytes whole;
} TcpSeg;

/* False: header or an option does not fit.  The checksum is not looked at. */
bool tcp_seg_read(const IpPacket *ip, TcpSeg *ret_seg);
bool tcp_seg_sum_good(const IpPacket *ip);

/* What is to be written in front of a payload. */
typedef struct TcpHead {
	uint16_t sport, dport, flags, window;
	uint32_t seq, ack;
	Bytes options; /* whole words */
} TcpHead;

/* The header into buf, checksum zero; its bytes. */
size_t tcp_head_write(const TcpHead *h, uint8_t *buf);
/* Sets the checksum of header and payload, `sum` being that of pseudo-header and payload. */
void tcp_head_sum(uint8_t *header, size_t hdr_bytes, uint64_t sum);

#endif
