/* SPDX-License-Identifier: Apache-2.0
 *
 * struct TcpConn: the state of a connection, by RFC.  Part of tcp.h.
 *
 * All is there to be read; only the stack writes it.  Sequence numbers are as on the wire,
 * windows and cwnd in bytes after scaling, times in ns.  An idle connection is this struct
 * and nothing else: buffers, scoreboard and logs are taken when first needed.
 */
#ifndef SONDE_TCPIP_TCP_CONN_H
#define SONDE_TCPIP_TCP_CONN_H

#include "tcpip/endpoint.h"
#include "tcpip/pmtu.h"
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

enum { WSCALE_NONE = 255, TCP_COOKIE_MAX = 16, TCP_RTT_BUCKETS = 40 };

typedef struct TcpConn TcpConn;
typedef struct TcpListener TcpListener;
typedef struct TxSeg TxSeg;
typedef struct CcOps CcOps;
typedef struct LogRing LogRing;

/* What one side said in its SYN; `said` is false until it was seen. */
typedef struct TcpSynOptions {
	bool said, sack, timestamps, ecn, fastopen;
	uint8_t wscale; /* WSCALE_NONE: not said */
	uint16_t mss;	/* 0: not said (536, or 1220 on IPv6, holds) */
	uint16_t window;
} TcpSynOptions;

/* How the peer fills IPv4's identification, judged by its segments so far. */
#define TCP_IP_IDS(X)                                              \
	X(UNKNOWN, "unknown")        /* fewer than 3, or IPv6 */   \
	X(ZERO, "zero")                                            \
	X(CONSTANT, "constant")                                    \
	X(COUNTS, "counts")          /* up by 1 each */            \
	X(COUNTS_SHARED, "counts, shared") /* up by little: others get some */ \
	X(RANDOM, "random")

#define TCP_IP_ID_ENUM_(id, name) TCP_IP_ID_##id,
typedef enum TcpIpId { TCP_IP_IDS(TCP_IP_ID_ENUM_) TCP_IP_ID_N } TcpIpId;

/* RFC 6675, 6298: what the sender does about loss. */
#define TCP_RECOVERIES(X)                                   \
	X(OPEN, "open")                                     \
	X(RECOVERY, "recovery") /* fast: loss found by RACK or duplicate ACKs */ \
	X(LOSS, "loss")         /* after a time-out */      \
	X(CWR, "cwr")           /* after a congestion echo */

#define TCP_RECOVERY_ENUM_(id, name) TCP_CA_##id,
typedef enum TcpRecovery { TCP_RECOVERIES(TCP_RECOVERY_ENUM_) TCP_CA_N } TcpRecovery;

/* What holds the sender back; the time in each is TcpConn.limited_ns. */
#define TCP_LIMITS(X)                                                 \
	X(IDLE, "idle")               /* nothing queued, nothing out */ \
	X(APP, "application-limited") /* all queued is out */         \
	X(CWND, "cwnd-limited")                                       \
	X(WINDOW, "window-limited")   /* the peer's */                \
	X(OWN, "send-limited")        /* by our own way out: pacing, unsent frames */

#define TCP_LIMIT_ENUM_(id, name) TCP_LIMIT_##id,
typedef enum TcpLimit { TCP_LIMITS(TCP_LIMIT_ENUM_) TCP_LIMIT_N } TcpLimit;

#define TCP_TIMERS(X)                                                            \
	X(RTO, "retransmission")   /* RFC 6298 */                                \
	X(TLP, "loss probe")       /* RFC 8985 7 */                              \
	X(RACK, "reordering")      /* RFC 8985 6.3 */                            \
	X(PERSIST, "window probe") /* RFC 9293 3.8.6.1 */                        \
	X(DELACK, "delayed ack")   /* RFC 9293 3.8.6.3 */                        \
	X(KEEPALIVE, "keep-alive") /* RFC 9293 3.8.4 */                          \
	X(LIFE, "end")             /* of connecting, FIN-WAIT-2, TIME-WAIT */

#define TCP_TIMER_ENUM_(id, name) TCP_TIMER_##id,
typedef enum TcpTimer { TCP_TIMERS(TCP_TIMER_ENUM_) TCP_TIMER_N } TcpTimer;

/* Wire stamps; 0: has not happened. */
typedef struct TcpTimes {
	int64_t syn, synack; /* the handshake's, whoever sent them */
	int64_t established;
	int64_t first_sent, first_acked; /* payload of ours */
	int64_t first_byte, last_byte;	 /* payload of the peer's */
	int64_t closed;
} TcpTimes;

/* ---- counters, by direction ---- */

typedef struct TcpOutCounts {
	uint64_t segments, bytes;	/* payload bytes, the first time each */
	uint64_t bytes_retransmitted;
	uint64_t bytes_acked;
	uint32_t fast, rto, tlp;	/* segments sent again, by cause */
	uint32_t spurious_dsack, spurious_eifel;
	uint32_t timeouts;		/* RTO expiries */
	uint32_t syn_retries;
	uint32_t recoveries;		/* episodes */
	uint32_t dup_acks;		/* received */
	uint32_t sacks, dsacks;		/* blocks received */
	uint32_t zero_windows;		/* times that the peer closed its window */
	uint32_t window_shrunk;
	uint32_t window_probes, keepalives;
	uint32_t reordered;		/* segments of ours that were acknowledged out of order */
	uint32_t reorder_bytes;		/* greatest distance */
	uint32_t ece_in, cwr_out;	/* RFC 3168 */
	uint32_t resets;
	uint32_t not_sent;		/* frames that our own side refused or lost */
	uint32_t mtu_changes;
} TcpOutCounts;

typedef struct TcpInCounts {
	uint64_t segments, bytes; /* payload bytes, the first time each */
	uint64_t bytes_dup;	  /* came again */
	uint32_t retransmits;	  /* segments with nothing new in them */
	uint32_t out_of_order;	  /* segments before a gap */
	uint32_t reorder_bytes;	  /* greatest distance behind the newest byte at which a gap was filled */
	uint32_t overlaps;	  /* came again with other bytes */
	uint32_t out_of_window, paws, no_timestamp;
	uint32_t csum_errors, malformed;
	uint32_t zero_windows;	  /* times that we closed ours */
	uint32_t dup_acks;	  /* sent */
	uint32_t challenges;	  /* challenge ACKs sent */
	uint32_t ce_in, ece_out, cwr_in;
	uint32_t resets, rst_odd_seq, rst_odd_ttl;
	uint32_t syns;		  /* on a live connection */
	uint32_t ack_unsent, ack_old;
	uint32_t icmp, icmp_ignored;
	uint32_t no_memory;
} TcpInCounts;

/* A stream in blocks of the stack's pool; byte 0 is the oldest kept. */
typedef struct ByteBlock ByteBlock;
typedef struct ByteChain {
	ByteBlock *head, *tail;
	uint32_t head_off; /* of byte 0 in head */
	uint32_t bytes;	   /* stored or reserved, from byte 0 on */
	uint32_t blocks;
	ByteBlock *at[2];  /* where the last access of either kind was */
	uint32_t at_off[2]; /* the number of that block's first byte, relative to head's first byte */
} ByteChain;

typedef struct SeqRange {
	uint32_t start, end; /* end is not in it */
} SeqRange;

enum { TCP_OOO_RANGES = 62 }; /* received out of order; more are dropped */
typedef struct OooRanges {
	uint32_t n;
	uint32_t newest; /* start of the range that grew last: RFC 2018 4 wants it first */
	SeqRange r[TCP_OOO_RANGES];
} OooRanges;

/* A frame between pull and sent. */
typedef struct UnsentFrame {
	TxSeg *seg; /* NULL: nothing to be timed, or gone meanwhile */
	uint32_t what; /* of its tag: serial number and slot; 0: the slot is free */
	void *log_line; /* in the log; NULL: not there */
	uint64_t log_n; /* its number, from 1 */
} UnsentFrame;

struct TcpConn {
	Endpoint ep; /* .id; the rest is the stack's */

	/* ---- who and where ---- */
	Ip src, dst;
	uint16_t sport, dport;
	TcpState state;
	TcpError error;
	bool active;	   /* we sent the first SYN */
	bool was_open;	   /* has been ESTABLISHED */
	bool closing;	   /* tcp_close was called */
	bool released;
	uint8_t ttl, tos;  /* ours */
	uint16_t icmp;	   /* 256 * type + code of the last ICMP error, 0: none */
	Ip icmp_from;	   /* who sent it */
	int64_t created_ns;
	TcpTimes times;

	/* ---- RFC 9293 3.3.1 ---- */
	uint32_t iss, snd_una, snd_nxt, snd_wl1, snd_wl2, snd_up;
	uint32_t snd_wnd, snd_wnd_max;
	uint32_t irs, rcv_nxt, rcv_up;
	uint32_t rcv_adv;      /* right edge of the window that was offered */
	uint32_t rcv_acked;    /* last ACK that we sent */
	uint32_t rcv_limit;    /* bytes of receive buffer now */
	uint32_t rcv_limit_max;
	uint32_t snd_limit;    /* bytes of send buffer */
	uint32_t fin_seq;      /* of ours, if fin_sent */
	bool fin_sent, fin_acked;
	bool fin_seen, fin_received; /* the peer's: in some segment; and all before it came */
	uint32_t rcv_fin;      /* its number, if fin_seen */
	bool auto_ack, nagle;
	uint8_t snd_wscale, rcv_wscale; /* RFC 7323 2; 0 also when not agreed */

	/* ---- what was offered and agreed ---- */
	TcpSynOptions offered, peer;
	bool sack_ok, ts_ok, ecn_ok, wscale_ok;
	uint16_t snd_mss;      /* payload bytes of a full segment now, options taken off */
	uint32_t mtu;	       /* of the path, as known */
	Pmtu pmtu;	       /* RFC 1191, 8201, 8899: how it is known */
	uint32_t probe_seq;    /* of the segment that is a probe, if pmtu.probing */
	uint32_t max_in_flight;

	/* ---- RFC 7323: timestamps ---- */
	uint32_t ts_offset, ts_recent;
	int64_t ts_recent_ns;  /* when it was taken */

	/* ---- RFC 6298, and the distribution of what was measured ---- */
	int64_t srtt_ns, rttvar_ns, rto_ns;
	uint8_t backoff;       /* time-outs in a row */
	uint8_t rto_row;       /* without anything acknowledged between, which backoff outlives (Karn) */
	int64_t first_rto_ns;  /* when that row began: R2 counts from it */
	uint32_t rtt_n;
	int64_t rtt_min_ns, rtt_max_ns, rtt_last_ns;
	int64_t rtt_sum_ns;
	int64_t handshake_ns;  /* SYN to SYN-ACK; 0: not measured */
	uint32_t rtt_bucket[TCP_RTT_BUCKETS]; /* see tcp_rtt_quantile */

	/* ---- RFC 5681, 6582, 6675, 6937, 9438 ---- */
	const CcOps *cc;
	TcpRecovery recovery;
	uint32_t cwnd, ssthresh;
	uint32_t pipe;	       /* bytes thought to be in the network */
	uint32_t sacked, lost; /* bytes of the scoreboard in either state */
	uint32_t sacked_segs;
	uint32_t reno_sacked;  /* bytes that duplicate ACKs without SACK speak for */
	uint32_t dup_acks_row; /* RFC 5681 2 */
	uint32_t recover;      /* RFC 6582: recovery ends when this is acknowledged */
	uint32_t prr_delivered, prr_out, recover_flight; /* RFC 6937 */
	uint32_t undo_cwnd, undo_ssthresh, undo_una;
	uint32_t undo_retrans; /* segments sent again that DSACKs have not named yet */
	bool undo_ok;
	bool eifel_armed;      /* RFC 3522: ts of the first retransmission stands in eifel_ts */
	uint32_t eifel_ts;
	bool cwnd_used;	       /* the window was full since the last ACK: RFC 7661-like growth only then */
	int64_t last_data_ns;  /* payload sent */
	struct {
		uint32_t w_max, cwnd_prior;
		uint32_t acked;	  /* bytes not yet worth a segment: RFC 3465 */
		int64_t epoch_ns; /* 0: congestion avoidance has not begun */
		double k, origin, w_est; /* seconds, segments, bytes */
		double credit;	  /* of a byte */
	} cubic;

	/* ---- RFC 8985 ---- */
	struct {
		int64_t tx_ns;	  /* of the segment sent last among the delivered */
		uint32_t end_seq;
		int64_t rtt_ns, reo_wnd_ns;
		uint32_t fack;	  /* highest sequence delivered */
		uint32_t dsack_round;
		uint8_t reo_wnd_mult, reo_wnd_persist;
		bool reordering_seen, dsack_valid;
	} rack;
	struct {
		uint32_t end_seq;
		bool out, is_retrans, due;
	} tlp;

	/* ---- delivery rate: draft-cheng-iccrg-delivery-rate-estimation ---- */
	uint64_t delivered;
	int64_t delivered_ns, first_sent_ns;
	uint64_t app_limited;
	uint64_t rate_bps, rate_max_bps; /* bits in a second: of the last sample, and the greatest */

	/* ---- RFC 3168 ---- */
	bool ece_due, cwr_due;
	uint32_t ecn_high;     /* one reduction until this is acknowledged */

	/* ---- RFC 7413 ---- */
	uint8_t fastopen_n;
	uint8_t fastopen_cookie[TCP_COOKIE_MAX]; /* that the peer gave, or that we had */
	uint16_t fastopen_sent, fastopen_taken;	 /* bytes of payload in the SYN */

	/* ---- the peer, as its segments show ---- */
	uint8_t peer_ttl, peer_ttl_min, peer_ttl_max;
	TcpIpId peer_ip_id;
	uint16_t ip_id_last;
	uint8_t ip_id_n, ip_id_small, ip_id_ones, ip_id_same;

	/* ---- segments made by hand ---- */
	int64_t crafted_until_ns; /* answers are shown, and resets not obeyed, until then */
	uint32_t crafted_end;	  /* highest sequence that one carried, if crafted_out */
	bool crafted_out, crafted_fin;
	uint32_t crafted;

	/* ---- statistics ---- */
	TcpOutCounts out;
	TcpInCounts in;
	TcpLimit limit;
	int64_t limit_since_ns;
	int64_t limited_ns[TCP_LIMIT_N];
	int64_t zero_since_ns;	  /* the peer's window is closed since; 0: it is open */

	/* ---- the stack's own ---- */
	TcpConn *tuple_next;
	TcpListener *listener;	  /* until accepted */
	TcpConn *backlog_next;
	int64_t timer_ns[TCP_TIMER_N];
	ByteChain tx, rx;	  /* what tcp_send took and is not acknowledged; what is not read */
	uint32_t tx_seq;	  /* of byte 0 of tx */
	uint32_t rx_seq;	  /* of byte 0 of rx */
	OooRanges *ooo;		  /* NULL: none */
	TxSeg *seg_first, *seg_last;	 /* the scoreboard, by sequence */
	TxSeg *sent_first, *sent_last;	 /* the same, by time sent: RFC 8985 6.2 step 5 */
	TxSeg *sack_hint, *rtx_hint;
	UnsentFrame *frames;	  /* STACK_UNSENT of them; NULL: none is on its way */
	uint32_t serial;
	LogRing *log, *events;
	bool log_on;
	bool ack_now;		  /* an ACK is due at once */
	uint8_t dup_acks_due;
	uint8_t ack_pending;	  /* segments with payload not acknowledged */
	bool syn_due, rst_due, probe_due;
	bool rst_ack_set, rst_cleanup;
	uint32_t rst_seq, rst_ack;
	bool sws_override;	  /* RFC 9293 3.8.6.2.1 (4): send though it is little */
	bool rto_provisional;	  /* the time-out was set at a pull: the stamp will move it */
	uint8_t persist_n;	  /* window probes since the window closed */
	uint8_t probes, keep_probes; /* window, keep-alive probes in a row without an answer */
	int64_t keepalive_ns;	  /* idle time before the first; 0: none */
	int64_t probed_since_ns;  /* when the row of window probes began */
	bool in_table;		  /* found by its tuple */
	bool dsack_due;
	SeqRange dsack;		  /* RFC 2883 */
	int64_t challenge_ns;	  /* RFC 5961 5: window of the limit, and how many in it */
	uint8_t challenge_n;
	uint32_t hs_rx_bytes, hs_tx_bytes; /* of an unfinished handshake that the peer began */
	uint16_t ip_id;
	int64_t last_rx_ns;
	int64_t drs_ns;		  /* window growth: when this round trip of reading began */
	uint32_t drs_space;	  /* bytes read in it */
};

#endif
