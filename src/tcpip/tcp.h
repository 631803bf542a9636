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
#include "tcpip/tcp_conn.h"
#include "tcpip/tcp_event.h"

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
	bool fastopen;	       /* RFC 7413: offer it; without a cookie, ask for one */
	Bytes fastopen_cookie; /* up to 16 bytes that the peer gave before; empty: none */
	Bytes fastopen_data;   /* goes into the SYN as far as it fits, if there is a cookie */
	uint32_t window_max;   /* the receive buffer grows to this as the rate demands; 0: stays at window */
	bool no_auto_ack;      /* start with TcpConn.auto_ack off */
	uint64_t seed;	       /* not 0: its numbers are a function of this and its tuple, whatever the time
				* and whatever other connections there are */
} TcpOpen;


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
/* Copies without taking, from `off` bytes on. */
size_t tcp_peek(TcpConn *c, size_t off, uint8_t *buf, size_t n);
/* Room that tcp_send has now; bytes queued that never left; bytes that left unacknowledged. */
size_t tcp_send_room(const TcpConn *c);
uint32_t tcp_unsent(const TcpConn *c);
uint32_t tcp_unacked(const TcpConn *c);
/* The receive window that a segment sent now would offer. */
uint32_t tcp_rcv_wnd(const TcpConn *c);
/* Off: nothing that came is acknowledged further until it is on again. */
void tcp_auto_ack(TcpConn *c, int64_t now_ns, bool on);
/* ns below which the share q (0..1) of the round trips lay, to a factor of 1.42; 0: none measured. */
int64_t tcp_rtt_quantile(const TcpConn *c, double q);
bool tcp_eof(const TcpConn *c); /* the peer's FIN was reached and all before it read */
/* Off: small writes leave at once. */
void tcp_set_nagle(TcpConn *c, bool on);
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

/* ---- the log (TcpOpen.log) ---- */

/* One segment as it was on the wire, from the IP header on, payload cut at TCP_LOG_PAYLOAD. */
typedef struct TcpLogged {
	int64_t ns; /* transmit stamp, or receive stamp */
	bool out, crafted, retransmit;
	uint32_t bytes; /* of the whole packet */
	Bytes packet;
} TcpLogged;

enum { TCP_LOG_SEGMENTS = 4096, TCP_LOG_PAYLOAD = 128, TCP_LOG_EVENTS = 4096 };

/* Segments and events that are kept, oldest first; what came before them was left out.
 * The iterator is zero at first; what it yields lives until the next call on the stack. */
typedef struct TcpLogIter {
	const void *page;
	uint32_t off, n;
} TcpLogIter;
bool tcp_log_next(const TcpConn *c, TcpLogIter *it, TcpLogged *ret_seg);
bool tcp_event_next(const TcpConn *c, TcpLogIter *it, TcpEvent *ret_event);
uint64_t tcp_log_left_out(const TcpConn *c);
uint64_t tcp_event_left_out(const TcpConn *c);

/* "connecting established refused timeout unreachable reset closing closed" */
const char *tcp_public_state(const TcpConn *c);
const char *tcp_state_name(TcpState s);
const char *tcp_error_text(TcpError e);

/* NULL if all that must hold of c holds, else what does not: for tests and fuzzing. */
const char *tcp_check(const TcpConn *c);

#endif
