/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of TCP say to each other.
 *
 *     tcp.c          what owners call; life and death of a connection
 *     tcp_listen.c   listeners
 *     tcp_in.c       a segment comes: checks that all states share, then the state's handler
 *     tcp_states.c   one handler per state (RFC 9293 3.10.7)
 *     tcp_recv.c     payload: window, reassembly, when to acknowledge
 *     tcp_ack.c      what an ACK tells: window, scoreboard, round trips, losses
 *     tcp_score.c    the scoreboard: what is out, SACKed, lost (RFC 6675)
 *     rack.c         RFC 8985
 *     tcp_loss.c     recovery: entering, PRR, leaving, undoing (RFC 6582, 6937, 3522)
 *     cc_*.c         congestion control
 *     tcp_rtt.c      RFC 6298
 *     tcp_out.c      which segment leaves next; tcp_emit.c writes it
 *     tcp_timer.c    one handler per timer
 *     tcp_icmp.c     RFC 5927, path MTU
 *     tcp_craft.c    segments made by hand
 *     tcp_log.c tcp_stat.c tcp_text.c tcp_check.c
 *
 * Every way in (a call, a packet, a timer, a stamp) ends in tcp_settle.
 */
#ifndef SONDE_TCPIP_TCP_INSIDE_H
#define SONDE_TCPIP_TCP_INSIDE_H

#include "tcpip/cc.h"
#include "tcpip/inside.h"
#include "tcpip/tcp_buf.h"
#include "tcpip/tcp_seg.h"

#define MS_NS 1000000ll
#define SEC_NS 1000000000ll

/* ---- constants of the RFCs, and ours where they leave a choice ---- */

enum { TCP_DUP_THRESH = 3 };				  /* RFC 5681 3.2 */
enum { TCP_MSS_V4 = 536, TCP_MSS_V6 = 1220, TCP_MSS_MIN = 88 }; /* RFC 9293 3.7.1; below, headers outweigh */
#define TCP_RTO_INIT (1 * SEC_NS)			  /* RFC 6298 2.1 */
#define TCP_RTO_SYN_LOST (3 * SEC_NS)			  /* RFC 6298 5.7 */
#define TCP_RTO_VAR_MIN (200 * MS_NS)	/* the least of 4 * RTTVAR: above what peers delay their ACKs by, so
					 * that the RTO may stay below RFC 6298 2.4's second, as kernels do */
#define TCP_RTO_MAX (120 * SEC_NS)			  /* RFC 6298 2.5: at least 60 s */
#define TCP_R2 (100 * SEC_NS)				  /* RFC 9293 3.8.3 */
enum { TCP_R2_LEAST = 5 }; /* and so many tries: after long losses the time-out alone may be as long */
#define TCP_R2_SYN (180 * SEC_NS)
#define TCP_DELACK (40 * MS_NS)				  /* RFC 9293 3.8.6.3: below 0.5 s */
#define TCP_MSL (30 * SEC_NS)				  /* RFC 9293 3.4.2 has 2 minutes; kernels a quarter */
#define TCP_FIN_WAIT (60 * SEC_NS)	/* for the FIN of a peer that nobody here listens to any more */
#define TCP_KEEP_INTERVAL (75 * SEC_NS)
enum { TCP_KEEP_PROBES = 9 };
#define TCP_PAWS_IDLE (24 * 86400 * SEC_NS)		  /* RFC 7323 5.5 */
#define TCP_CHALLENGE_NS (5 * SEC_NS)			  /* RFC 5961 7: 10 in 5 s */
enum { TCP_CHALLENGES = 10 };
enum { TCP_SEND_BUFFER = 256 * 1024 };

/* ---- the scoreboard ---- */

/* One segment of ours that left and is not cumulatively acknowledged. */
struct TxSeg {
	TxSeg *next, *prev;	      /* by sequence */
	TxSeg *sent_next, *sent_prev; /* by time of the last sending */
	uint32_t seq, end;	      /* SYN and FIN count */
	int64_t tx_ns;		      /* of the last sending: the pull until the stamp comes */
	/* as of the last sending, for the delivery rate */
	uint64_t delivered;
	int64_t delivered_ns, first_sent_ns;
	bool syn, fin;
	bool sacked;
	bool lost;	   /* and not sent again since */
	bool retransmitted;
	bool stamped;	   /* tx_ns is the wire's */
	bool app_limited;
	uint8_t slot;	   /* of TcpConn.unsent + 1, while between pull and sent */
};

static inline uint32_t txseg_len(const TxSeg *g)
{
	return g->end - g->seq;
}

/* Whether its last sending may still be in the network. */
static inline bool txseg_in_pipe(const TxSeg *g)
{
	return !g->sacked && !g->lost;
}

/* RFC 6675's pipe: bytes thought to be in the network. */
static inline uint32_t tcp_pipe(const TcpConn *c)
{
	return c->pipe > c->reno_sacked ? c->pipe - c->reno_sacked : 0;
}

/* What one ACK brought. */
typedef struct AckNews {
	uint32_t acked;	      /* bytes cumulatively */
	uint32_t sacked;      /* bytes selectively, first time */
	uint32_t longest;     /* segment among those newly delivered */
	uint32_t delivered;   /* both, less what SACK had before; without SACK, by duplicate ACKs */
	bool una_moved, dup, dsack, sack_news, ece;
	bool ts;
	uint32_t tsecr;
	int64_t rtt_ns;	      /* of the oldest newly delivered that was sent once; 0: none */
	int64_t rtt_fresh_ns; /* of the one sent last among them: the path without delayed ACKs */
	uint32_t reordered;   /* bytes that a segment sent once lay below the highest delivered; 0: none */
	/* delivery rate: snapshot of the segment sent last */
	uint64_t prior_delivered;
	int64_t prior_ns, prior_sent_ns, last_tx_ns;
} AckNews;

TxSeg *score_add(TcpConn *c, int64_t now_ns, uint32_t seq, uint32_t end);
/* It is sent once more. */
void score_resent(TcpConn *c, int64_t now_ns, TxSeg *g);
void score_lost(TcpConn *c, TxSeg *g);
void score_found(TcpConn *c, TxSeg *g); /* it was not lost after all */
/* [g->seq, at) and [at, g->end) apart; false: no memory. */
bool score_split(TcpConn *c, TxSeg *g, uint32_t at);
void score_ack(TcpConn *c, int64_t now_ns, uint32_t ack, AckNews *news);
void score_sacks(TcpConn *c, int64_t now_ns, const TcpSeg *seg, AckNews *news);
/* The next to send again, or NULL. */
TxSeg *score_next_lost(TcpConn *c);
void score_clear(TcpConn *c);
/* Not SACKed bytes are lost, but those that were sent after the time: a time-out (RFC 8985 6.3). */
void score_all_lost(TcpConn *c, int64_t sent_before_ns);

/* ---- RACK-TLP ---- */

void rack_delivered(TcpConn *c, int64_t now_ns, const TxSeg *g, AckNews *news);
void rack_reo_wnd(TcpConn *c, const AckNews *news);
/* Marks what is lost by now and sets the timer for what soon will be; whether anything was. */
bool rack_detect(TcpConn *c, int64_t now_ns);
void tlp_schedule(TcpConn *c, int64_t now_ns);
void tlp_ack(TcpConn *c, const AckNews *news, uint32_t ack);

/* ---- recovery ---- */

void loss_on_ack(TcpConn *c, int64_t now_ns, AckNews *news, uint32_t ack);
void loss_enter(TcpConn *c, int64_t now_ns);
void loss_timeout(TcpConn *c, int64_t now_ns);
void loss_ece(TcpConn *c, int64_t now_ns);
void loss_dsack(TcpConn *c, const AckNews *news);
/* A retransmission leaves: arms the ways to find out that it was needless. */
void loss_resent(TcpConn *c, const TxSeg *g, int64_t now_ns);
void loss_sent(TcpConn *c, uint32_t bytes);

/* ---- round trips ---- */

void rtt_sample(TcpConn *c, int64_t rtt_ns);
void rtt_seen(TcpConn *c, int64_t rtt_ns); /* for the statistics only */
void rtt_backoff(TcpConn *c);

/* ---- in ---- */

void tcp_conn_input(TcpConn *c, int64_t now_ns, TcpSeg *seg);
StackVerdict tcp_listen_input(TcpListener *l, int64_t now_ns, const TcpSeg *seg, const IpPacket *ip);
TcpListener *tcp_listener_find(const NetStack *s, Ip addr, uint16_t port);

typedef void TcpStateFn(TcpConn *c, int64_t now_ns, TcpSeg *seg);
extern TcpStateFn *const tcp_state_fns[TCP_STATE_N];

/* Steps that states share, in RFC 9293 3.10.7.4's order; false: the segment is done with. */
bool tcp_check_sequence(TcpConn *c, int64_t now_ns, TcpSeg *seg);
bool tcp_check_reset(TcpConn *c, int64_t now_ns, TcpSeg *seg);
bool tcp_check_syn(TcpConn *c, int64_t now_ns, TcpSeg *seg);
bool tcp_check_ack(TcpConn *c, int64_t now_ns, TcpSeg *seg);
void tcp_urgent(TcpConn *c, int64_t now_ns, const TcpSeg *seg);
void tcp_syn_options(TcpConn *c, int64_t now_ns, const TcpSeg *seg);

void tcp_ack_in(TcpConn *c, int64_t now_ns, TcpSeg *seg);
void tcp_send_window(TcpConn *c, int64_t now_ns, const TcpSeg *seg);
/* Payload and FIN; whether the peer's FIN was reached. */
bool tcp_text_in(TcpConn *c, int64_t now_ns, TcpSeg *seg);
/* Payload of which nothing is new: counted, compared, told by DSACK (RFC 2883). */
void tcp_old_text(TcpConn *c, int64_t now_ns, uint32_t seq, Bytes b);
void tcp_challenge(TcpConn *c, int64_t now_ns, const TcpSeg *seg);
void tcp_drop_with_ack(TcpConn *c, int64_t now_ns, const TcpSeg *seg);

/* ---- out ---- */

size_t tcp_pull(Endpoint *e, int64_t now_ns, uint8_t *buf, StackOut *ret_out);
void tcp_frame_sent(Endpoint *e, uint64_t tag, int64_t tx_ns);
void tcp_frame_notsent(Endpoint *e, uint64_t tag, StackUnsent why);
void tcp_due(Endpoint *e, int64_t now_ns);
/* Its frame, if one is on its way, is no longer of this segment. */
void tcp_unslot(TcpConn *c, TxSeg *g);

/* One segment to write; payload from the send buffer. */
typedef struct OutSeg {
	uint32_t seq, bytes;
	uint16_t flags;
	bool ect;	  /* ECN-capable: new data only (RFC 3168 6.1.5) */
	TxSeg *timed;	  /* NULL: not to be timed */
	StackPurpose purpose;
	bool ack_set;	  /* ack below instead of the connection's */
	uint32_t ack;
	bool retransmit;
	size_t syn_room;  /* for options, of a SYN */
} OutSeg;
size_t tcp_emit(TcpConn *c, int64_t now_ns, const OutSeg *o, uint8_t *buf, StackOut *ret_out);
/* Options as the connection stands, at most `room` bytes, into opt (TCP_OPTIONS_MAX); their bytes. */
size_t tcp_options_write(const TcpConn *c, int64_t now_ns, uint16_t flags, size_t room, uint8_t *opt);
/* What the window field says, and the right edge that it then has offered. */
uint16_t tcp_window_field(const TcpConn *c, uint32_t *ret_edge);
/* Header of a packet of c with these bytes behind it. */
IpPacket tcp_ip_header(const TcpConn *c, uint8_t ecn);
/* What our ACK field says. */
uint32_t tcp_ack_value(const TcpConn *c);
uint32_t tcp_now_ts(const TcpConn *c, int64_t now_ns);
/* Bytes of a full segment's payload on this path with the agreed options. */
void tcp_mss_update(TcpConn *c);
/* A frame was too long for our own link, whose MTU nobody named: one step down. */
void tcp_mtu_lower(TcpConn *c, int64_t now_ns);

/* ---- the path's MTU: what TcpConn.pmtu is told and asked ---- */

void tcp_path_open(TcpConn *c, int64_t now_ns, uint32_t link_mtu);
/* Both SYNs were seen, and with them how long segments will be at most. */
void tcp_path_agreed(TcpConn *c);
/* `payload`: of the longest segment that was newly acknowledged. */
void tcp_path_acked(TcpConn *c, int64_t now_ns, uint32_t payload);
/* A time-out came: perhaps because long packets die on the way (RFC 8899, RFC 4821 7.7). */
void tcp_path_timeout(TcpConn *c, int64_t now_ns);
/* Payload of the probe that new data should be sent as now, which then counts as sent; 0: none. */
uint32_t tcp_probe_bytes(TcpConn *c, int64_t now_ns, uint32_t unsent);
/* Whether what was lost was the probe: no sign of congestion (RFC 4821 7.5). */
bool tcp_probe_lost(TcpConn *c, int64_t now_ns, const TxSeg *g);

/* ---- life ---- */

TcpConn *tcp_new(NetStack *s, int64_t now_ns, const TcpOpen *o);
/* All numbers of the sending side to the beginning; before anything was sent. */
void tcp_set_iss(TcpConn *c, uint32_t iss);
void tcp_set_state(TcpConn *c, int64_t now_ns, TcpState state);
/* CLOSED because of e; what was queued is given back, what was received stays. */
void tcp_end(TcpConn *c, int64_t now_ns, TcpError e);
void tcp_time_wait(TcpConn *c, int64_t now_ns);
/* A reset leaves with this sequence number; with_ack: and acknowledges. */
void tcp_queue_reset(TcpConn *c, uint32_t seq, bool with_ack, uint32_t ack, StackPurpose purpose);
/* After every way in: timers to the stack, turn taken, memory given back if nobody needs c. */
void tcp_settle(TcpConn *c);
void tcp_timers(TcpConn *c); /* the timers' part of it */
uint32_t tcp_initial_window(const TcpConn *c);
void tcp_forget(TcpConn *c); /* out of all tables, memory given back */
void tcp_forget_tuple(TcpConn *c);
/* Whether a SYN may take the place of a connection in TIME-WAIT (RFC 9293 3.10.7.4, RFC 6191). */
bool tcp_reopens(const TcpConn *c, const TcpSeg *seg);
/* Into the table of tuples; false: there is one with this tuple. */
bool tcp_table_add(TcpConn *c);
void tcp_listen_done(TcpConn *c); /* it leaves its listener's queue */

static inline void timer_set(TcpConn *c, TcpTimer t, int64_t at_ns)
{
	c->timer_ns[t] = at_ns;
}

static inline void timer_off(TcpConn *c, TcpTimer t)
{
	c->timer_ns[t] = STACK_NEVER;
}

static inline bool timer_on(const TcpConn *c, TcpTimer t)
{
	return c->timer_ns[t] != STACK_NEVER;
}

static inline Pool *tcp_pool(const TcpConn *c)
{
	return &c->ep.stack->pool;
}

/* ---- log and statistics ---- */

enum { LOG_OUT = 1, LOG_CRAFTED = 2, LOG_RETRANSMIT = 4 };

void tcp_event(TcpConn *c, int64_t now_ns, TcpEventKind k, uint32_t a, uint32_t b);
/* Where its stamp goes when it comes; NULL: not kept. */
void *tcp_log_seg(TcpConn *c, int64_t now_ns, Bytes packet, unsigned flags);
void tcp_log_stamp(TcpConn *c, const UnsentFrame *f, int64_t tx_ns);
void tcp_log_clear(TcpConn *c);
uint32_t tcp_log_count(const TcpConn *c);

void stat_peer(TcpConn *c, const TcpSeg *seg, bool v4);
void stat_limit(TcpConn *c, int64_t now_ns, TcpLimit why);
void stat_rate(TcpConn *c, int64_t now_ns, const AckNews *news);

/* Relative numbers for events. */
static inline uint32_t rel_out(const TcpConn *c, uint32_t seq)
{
	return seq - c->iss;
}

static inline uint32_t rel_in(const TcpConn *c, uint32_t seq)
{
	return seq - c->irs;
}

#endif
