/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP connections (RFC 9293) as their owner sees them.
 *
 * The state is the product: struct TcpConn is public, named by the RFCs, and read by
 * whoever shows it.  Only the functions here write it.
 *
 * Ownership: a connection lives in its stack's pool from tcp_connect or tcp_accept to
 * tcp_release; released, it closes by itself and gives its memory back after TIME-WAIT.
 */
#ifndef SONDE_TCPIP_TCP_H
#define SONDE_TCPIP_TCP_H

#include "tcpip/stack.h"

/* RFC 9293 3.3.2.  id, name */
#define TCP_STATES(X)               \
	X(CLOSED, "CLOSED")         \
	X(LISTEN, "LISTEN")         \
	X(SYN_SENT, "SYN-SENT")     \
	X(SYN_RECEIVED, "SYN-RECEIVED") \
	X(ESTABLISHED, "ESTABLISHED") \
	X(FIN_WAIT_1, "FIN-WAIT-1") \
	X(FIN_WAIT_2, "FIN-WAIT-2") \
	X(CLOSE_WAIT, "CLOSE-WAIT") \
	X(CLOSING, "CLOSING")       \
	X(LAST_ACK, "LAST-ACK")     \
	X(TIME_WAIT, "TIME-WAIT")

#define TCP_STATE_ENUM_(id, name) TCP_##id,
typedef enum TcpState { TCP_STATES(TCP_STATE_ENUM_) TCP_STATE_N } TcpState;

/* Why a connection ended, or never began.  id, what users read, text */
#define TCP_ERRORS(X)                                                                   \
	X(NONE, "", "none")                                                             \
	X(REFUSED, "refused", "the peer answered the SYN with a reset")                 \
	X(TIMEOUT, "timeout", "no answer within the time-out")                          \
	X(UNREACHABLE, "unreachable", "an ICMP error said so")                          \
	X(RESET, "reset", "the peer reset the connection")                              \
	X(ABORTED, "closed", "we reset it")                                             \
	X(NOT_SENT, "unreachable", "our own frames were refused or had no way")

#define TCP_ERROR_ENUM_(id, state, text) TCP_ERR_##id,
typedef enum TcpError { TCP_ERRORS(TCP_ERROR_ENUM_) TCP_ERR_N } TcpError;

typedef enum TcpCc { TCP_CUBIC, TCP_NEWRENO } TcpCc;

typedef struct TcpOpen {
	Ip src, dst;
	uint16_t sport, dport;
	uint32_t mtu;	    /* of the route */
	uint16_t mss;	    /* offered; 0: mtu less headers */
	uint8_t wscale;	    /* offered, 0..14; WSCALE_NONE: no option */
	bool sack, timestamps, ecn;
	uint32_t window;    /* bytes of receive buffer */
	uint32_t send_buffer; /* bytes; 0: the default */
	uint8_t ttl, tos;
	bool nagle;
	bool log;	    /* keep the last segments and events */
	int64_t timeout_ns; /* to ESTABLISHED; 0: RFC 9293's R2 */
	int64_t keepalive_ns; /* idle time before the first probe; 0: none */
	TcpCc cc;
	Bytes fastopen_cookie; /* RFC 7413; empty: none */
	Bytes fastopen_data;
} TcpOpen;

enum { WSCALE_NONE = 255 };

typedef struct TcpConn TcpConn;
typedef struct TcpListener TcpListener;

/* NULL: no memory, or the four-tuple is in use. */
TcpConn *tcp_connect(NetStack *s, int64_t now_ns, const TcpOpen *o);

/* `o` is what accepted connections offer; src, dst, dport of it are not read.  backlog:
 * connections not yet accepted, finished or not. */
TcpListener *tcp_listen(NetStack *s, Ip addr, uint16_t port, uint32_t backlog, const TcpOpen *o);
TcpConn *tcp_accept(TcpListener *l); /* NULL: none is finished */
void tcp_unlisten(TcpListener *l);

/* Queues; how many bytes the send buffer had room for.  0 on one that is not open. */
size_t tcp_send(TcpConn *c, int64_t now_ns, Bytes b);
/* Takes up to n received bytes; window updates follow by themselves. */
size_t tcp_recv(TcpConn *c, int64_t now_ns, uint8_t *buf, size_t n);
size_t tcp_readable(const TcpConn *c);
bool tcp_eof(const TcpConn *c); /* the peer's FIN was reached and all before it read */
void tcp_close(TcpConn *c, int64_t now_ns);
void tcp_reset(TcpConn *c, int64_t now_ns);
void tcp_release(TcpConn *c, int64_t now_ns);

/* ---- segments made by hand ---- */

/* What is not given is what the connection itself would send. */
typedef struct TcpCraft {
	uint16_t flags;
	bool seq_set, ack_set, window_set, ttl_set, options_set;
	uint32_t seq, ack;
	uint16_t window;
	uint8_t ttl;
	Bytes options; /* as they stand in the header, padded to 4 */
	Bytes payload;
} TcpCraft;

/* The IP packet into buf; 0: it does not fit.  Nothing of c changes. */
size_t tcp_craft(const TcpConn *c, int64_t now_ns, const TcpCraft *k, uint8_t *buf, size_t cap);

/* One of them left: from now on what the peer says to it neither resets nor
 * desynchronises the connection, and for wait_ns its segments are STACK_TAKEN_AND_SHOWN. */
void tcp_crafted(TcpConn *c, int64_t tx_ns, Bytes packet, int64_t wait_ns);

/* "connecting established refused timeout unreachable reset closing closed" */
const char *tcp_public_state(const TcpConn *c);
const char *tcp_state_name(TcpState s);
const char *tcp_error_text(TcpError e);

#endif
