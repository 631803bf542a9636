/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to a connection, as kinds with a text; a and b are numbers of the kind.
 */
#ifndef SONDE_TCPIP_TCP_EVENT_H
#define SONDE_TCPIP_TCP_EVENT_H

#include <stdint.h>

/* id, name, text with %a and %b for the numbers */
#define TCP_EVENTS(X)                                                                             \
	X(STATE, "state", "state %a -> %b")                                                       \
	X(SYN_RETRY, "syn retry", "SYN sent again, number %a")                                    \
	X(RTO, "timeout", "retransmission time-out after %a us, number %b in a row")              \
	X(FAST, "fast retransmit", "seq +%a, %b bytes, found lost")                               \
	X(RTX, "retransmit", "seq +%a, %b bytes, after a time-out")                               \
	X(TLP, "tail loss probe", "seq +%a, %b bytes")                                            \
	X(TLP_LOSS, "tail loss", "a probe repaired the loss of a tail; cwnd %a -> %b")            \
	X(RECOVERY, "recovery", "losses found; cwnd %a -> ssthresh %b")                           \
	X(RECOVERED, "recovered", "all that was out at the loss is acknowledged; cwnd %a")        \
	X(SPURIOUS, "spurious", "a retransmission was needless (%a: 1 DSACK, 2 Eifel); cwnd %b")  \
	X(REORDER, "reordering", "a segment came %a bytes late in order; reorder window %b us")   \
	X(DUP_ACK, "duplicate ack", "number %a at ack +%b")                                       \
	X(DSACK, "dsack", "the peer got +%a..+%b twice")                                          \
	X(SACK_RENEGED, "sack reneged", "the peer took back SACKed bytes at +%a")                 \
	X(ZERO_WINDOW, "zero window", "the peer closed its window at +%a")                        \
	X(WINDOW_OPEN, "window open", "the peer opened its window to %a after %b ms")             \
	X(WINDOW_SHRUNK, "window shrunk", "the peer took back %a bytes of window, to %b")         \
	X(PROBE, "window probe", "zero-window probe number %a")                                   \
	X(OUR_ZERO, "our zero window", "nobody read; window closed at +%a")                       \
	X(OUR_OPEN, "our window open", "window opened again to %a")                               \
	X(OUT_OF_ORDER, "out of order", "+%a..+%b came before what precedes it")                  \
	X(DUPLICATE, "duplicate data", "+%a..+%b was there already")                              \
	X(OVERLAP, "overlap", "+%a..+%b came again with other bytes; the first stay")             \
	X(OUT_OF_WINDOW, "out of window", "seq +%a, %b bytes, outside the window")                \
	X(PAWS, "paws", "an old timestamp %a, newest was %b")                                     \
	X(NO_TIMESTAMP, "timestamp missing", "a segment without the agreed timestamp, flags %a")  \
	X(CSUM, "bad checksum", "%a bytes")                                                       \
	X(MALFORMED, "malformed", "header or options don't fit, %a bytes")                        \
	X(RST, "reset", "by the peer, seq +%a, ttl %b")                                           \
	X(RST_ODD_SEQ, "reset off sequence", "seq +%a, not +%b; challenged")                      \
	X(RST_ODD_TTL, "reset with another ttl", "ttl %a, the peer's was %b")                     \
	X(RST_SENT, "reset sent", "seq +%a")                                                      \
	X(CHALLENGE, "challenge ack", "sent because of flags %a at seq +%b")                      \
	X(ACK_UNSENT, "ack of unsent", "ack +%a, only +%b was sent")                              \
	X(SYN_IN, "syn on a live connection", "seq +%a")                                          \
	X(SIMULTANEOUS, "simultaneous open", "the peer's SYN crossed ours")                       \
	X(MTU, "path mtu", "%a -> %b")                                                            \
	X(BLACK_HOLE, "black hole", "segments of %a bytes die, going to %b")                      \
	X(ICMP, "icmp error", "type and code %a (256 * type + code), counted as %b: 0 soft, 1 hard, 2 too big") \
	X(ICMP_ODD, "icmp error ignored", "type and code %a quotes seq +%b, which is not in flight") \
	X(ECN_CE, "congestion mark", "CE mark number %a from the network")                        \
	X(ECN_ECE, "congestion echo", "the peer saw CE; cwnd %a -> %b")                           \
	X(KEEPALIVE, "keep-alive", "probe number %a")                                             \
	X(FASTOPEN, "fast open", "%a of %b bytes in the SYN were taken")                          \
	X(COOKIE, "fast open cookie", "%a bytes from the peer")                                   \
	X(URGENT, "urgent", "urgent pointer to +%a")                                              \
	X(CRAFTED, "crafted", "flags %a, seq +%b")                                                \
	X(CRAFT_TAKEN, "crafted bytes taken", "the peer acknowledged +%a..+%b which only a crafted segment carried") \
	X(CRAFT_RST, "reset to a crafted segment", "seq +%a, not obeyed")                         \
	X(NOT_SENT, "not sent", "reason %a, %b bytes")                                            \
	X(NO_MEMORY, "no memory", "%a bytes dropped")                                             \
	X(CLOSE, "close", "asked for at +%a")                                                     \
	X(FIN_IN, "fin", "the peer's, at +%a")                                                    \
	X(IDLE_RESTART, "idle restart", "cwnd %a -> %b after idle")

#define TCP_EVENT_ENUM_(id, name, text) TCP_EV_##id,
typedef enum TcpEventKind { TCP_EVENTS(TCP_EVENT_ENUM_) TCP_EV_N } TcpEventKind;

/* +n in texts: relative to the initial sequence number of that direction. */
typedef struct TcpEvent {
	int64_t ns;
	uint32_t a, b;
	uint8_t kind;
} TcpEvent;

const char *tcp_event_name(TcpEventKind k);
/* With the numbers filled in (states by name); what snprintf would say of its length. */
int tcp_event_text(const TcpEvent *e, char *buf, unsigned cap);

#endif
