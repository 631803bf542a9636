/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between engine, gate and cmd: one table, from which come the
 * structs, the encoder and the strict decoder.
 *
 * A message is: u32 length of what follows, u8 type, its fields in the order of
 * the table; numbers big-endian, `bytes` as u32 length and bytes, `ip` as u8
 * family (0, 4, 6) and its bytes.  Several messages may share one datagram of a
 * SOCK_SEQPACKET pair.  A message is refused if its type is unknown or does not
 * go in the reader's direction, if a field is cut, or if bytes are left over.
 *
 * Times are int64_t ns.  Before GO there are none; afterwards they are on the
 * run's own line: ns since GO.epoch (which is CLOCK_REALTIME at 0).
 */
#ifndef SONDE_DEAL_MSG_H
#define SONDE_DEAL_MSG_H

#include "base/addr.h"
#include "base/bytes.h"

/* Why a frame did not leave.  id, text for people. */
#define NOTSENT_REASONS(X)                                              \
	X(NONE, "sent")                                                 \
	X(POLICY, "outside what policy and manifest allow")             \
	X(DENIED_PORT, "a port that needs its own word")                \
	X(FRAME, "no well-formed frame that may leave")                 \
	X(SOURCE, "a source address or port that is not ours")          \
	X(NO_ROUTE, "no route to the destination")                      \
	X(NO_NEIGHBOUR, "the next hop does not answer ARP or ND")       \
	X(TOO_LONG, "message too long")                                 \
	X(LINK_DOWN, "the interface is down")                           \
	X(BUDGET, "the budget is spent")                                \
	X(STAMP, "neither stamped nor recaptured: the kernel dropped it") \
	X(STOPPED, "the run was stopped")

#define NOTSENT_ENUM_(id, text) NOTSENT_##id,
typedef enum NotSent { NOTSENT_REASONS(NOTSENT_ENUM_) NOTSENT_N } NotSent;

/* Where a time stamp comes from. */
#define STAMP_SOURCES(X)                                   \
	X(NONE, "none")                                    \
	X(SOFTWARE, "kernel transmit or receive stamp")    \
	X(HARDWARE, "NIC stamp")                           \
	X(RECAPTURE, "recapture of the sent frame")        \
	X(FILE, "capture file")                            \
	X(VIRTUAL, "virtual time")

#define STAMP_ENUM_(id, text) STAMP_##id,
typedef enum StampSource { STAMP_SOURCES(STAMP_ENUM_) STAMP_N } StampSource;

typedef enum EmitKind { EMIT_IP4 = 4, EMIT_IP6 = 6, EMIT_ETHER = 1 } EmitKind;
typedef enum EmitPurpose { PURPOSE_PROBE, PURPOSE_CONN, PURPOSE_CLEANUP } EmitPurpose;

/* Checksum state of a received frame: the kernel leaves those of local peers uncomputed. */
typedef enum RxCsum { RX_CSUM_UNKNOWN, RX_CSUM_GOOD, RX_CSUM_NOT_COMPUTED } RxCsum;

/* Bits of FRAME.flags */
enum { FRAME_OURS_LOOPED = 1, FRAME_THIRD_PARTY = 2, FRAME_VLAN_REBUILT = 4 };

typedef enum StopReason {
	STOP_NONE,
	STOP_INTERRUPTED,
	STOP_BUDGET,  /* STOP.detail names the bound */
	STOP_REFUSED, /* too many refused frames */
	STOP_POLICY,
	STOP_ENVIRONMENT,
} StopReason;

/* M(ID, directions, name, fields): directions say who may send it: E engine to
 * gate, G gate to engine, O engine to cmd, P gate to cmd. */
#define DEAL_MSGS(M)                                                                                         \
	/* engine -> gate */                                                                                 \
	M(MANIFEST, 'E', manifest, F(bytes, data))         /* deal/manifest_codec */                          \
	M(EMIT, 'E', emit, F(u32, tx_id) F(u32, flow) F(u8, kind) F(u8, purpose) F(u16, iface)               \
	  F(i64, not_before) F(bytes, data))               /* iface 0: by the route */                        \
	M(ROUTE, 'E', route, F(u32, id) F(ip, dst))                                                          \
	M(CLAIM, 'E', claim, F(u32, id) F(u8, proto) F(u16, port) F(ip, src)) /* port 0: a free one; ICMP: an id */ \
	M(WAIT, 'E', wait, F(u32, id) F(i64, wake_at))     /* TICK{id} at wake_at, frames before */           \
	M(NOW, 'E', now, F(u32, id))                       /* TICK{id} at once */                             \
	M(END, 'E', end, F(u8, exit))                                                                        \
	M(TLS_ASK, 'E', tls_ask, F(u32, id) F(u32, session) F(u8, op) F(bytes, data)) /* deal/tls.h; one at a time */ \
	/* gate -> engine, before GO: what holds for the run */                                               \
	M(PIN, 'G', pin, F(bytes, name) F(ip, addr))       /* in RFC 6724 order, a row per address */         \
	M(IFACE, 'G', iface, F(u16, index) F(bytes, name) F(u64, mac) F(u32, mtu) F(u8, up) F(u8, ether))    \
	M(ADDR, 'G', addr, F(u16, iface) F(ip, ip) F(u8, bits))                                              \
	M(ROUTE_ROW, 'G', route_row, F(ip, net) F(u8, bits) F(ip, gw) F(u16, iface) F(u32, metric) F(ip, src)) \
	M(NEIGH, 'G', neigh, F(u16, iface) F(ip, ip) F(u64, mac) F(bytes, state))                            \
	M(OWN_PORT, 'G', own_port, F(u8, proto) F(u16, port) F(ip, src)) /* a free one, held for this run */  \
	M(RESOLVER, 'G', resolver, F(ip, addr))                                                              \
	M(GO, 'G', go, F(i64, epoch) F(u64, seed) F(i64, time_limit) F(u64, leak) F(u8, measurements)) /* leak: bits; measurements: content is not printed */ \
	/* gate -> engine, while it runs */                                                                  \
	M(FRAME, 'G', frame, F(i64, rx_ns) F(u8, source) F(u8, csum) F(u16, iface) F(u8, flags)              \
	  F(u8, first) F(u32, orig_len) F(bytes, data))    /* first: WireId of the outermost header */        \
	M(SENT, 'G', sent, F(u32, tx_id) F(i64, tx_ns) F(u8, source) F(i64, queue_ns) F(i64, paced_ns)       \
	  F(u16, iface))                                                                                     \
	M(NOTSENT, 'G', notsent, F(u32, tx_id) F(u8, reason) F(bytes, detail))                               \
	M(ROUTE_OK, 'G', route_ok, F(u32, id) F(u8, ok) F(u16, iface) F(ip, src) F(ip, gw) F(u32, mtu)       \
	  F(bytes, detail))                                                                                  \
	M(CLAIMED, 'G', claimed, F(u32, id) F(u8, ok) F(u16, port) F(bytes, detail))                         \
	M(TICK, 'G', tick, F(u32, id) F(i64, now))                                                           \
	M(DROPS, 'G', drops, F(u64, capture) F(u64, backlog)) /* frames lost by us so far */                  \
	M(HEADLESS, 'G', headless, F(u64, count))             /* later fragments without a first one so far */ \
	M(CLOCK_STEP, 'G', clock_step, F(i64, by))            /* the wall clock was set, by so much */         \
	M(STOP, 'G', stop, F(u8, reason) F(bytes, detail))                                                   \
	M(TLS_SAID, 'G', tls_said, F(u32, id) F(u8, state) F(bytes, plain) F(bytes, out) F(bytes, error))    \
	/* engine -> cmd; all of it is foreign text to cmd */                                                \
	M(DIAG, 'O', diag, F(bytes, code) F(u32, from) F(u32, to) F(bytes, message) F(u8, fix) F(u32, fix_from) \
	  F(u32, fix_to) F(bytes, fix_text) F(u8, widening) F(bytes, hint) F(bytes, path))                                  \
	M(CHECKED, 'O', checked, F(bytes, manifest))       /* for `check`: deal/manifest_codec */             \
	M(TEXT, 'O', text, F(u8, peer) F(u8, label) F(bytes, origin) F(bytes, text)) /* peer: text of a peer, already quoted; label, origin: deal/whence.h; empty: told of what is not there */ \
	M(RESULT, 'O', result, F(u32, line) F(u8, more) F(u8, label) F(bytes, origin) F(bytes, type) F(bytes, json)) /* a result object that was printed; more: its JSON goes on */ \
	M(WARN, 'O', warn, F(bytes, code) F(u32, count) F(ip, peer) F(u32, of_peer) F(bytes, evidence)) /* a row of warnings.def for one peer; count: of all */ \
	M(STAT, 'O', stat, F(bytes, group) F(bytes, json)) /* one line of `stats:` */                         \
	M(PROGRESS, 'O', progress, F(bytes, what) F(u64, done) F(u64, total))                                \
	M(FAIL, 'O', fail, F(u8, exit) F(u32, from) F(u32, to) F(bytes, code) F(bytes, message) F(u8, label) F(bytes, origin)) \
	M(DONE, 'O', done, F(u8, exit))                                                                      \
	/* cmd -> the TLS process */                                                                         \
	M(TLS_ROOTS, 'C', tls_roots, F(u8, more) F(bytes, pem)) /* trusted certificates; more: they go on */ \
	/* gate -> cmd */                                                                                    \
	M(TLS_START, 'P', tls_start, F(u8, wanted))        /* the run needs the TLS process, or will not */  \
	M(NOTE, 'P', note, F(u8, level) F(bytes, text))    /* a line of the gate's own: routes, refusals */   \
	M(GATE_STAT, 'P', gate_stat, F(u64, packets) F(u64, bytes) F(u64, syn) F(u64, refused) F(u64, held)  \
	  F(u64, capture_drops) F(u64, backlog_drops) F(u64, neighbour_probes) F(u8, tx_source) F(u8, rx_source)) \
	M(APPROVAL, 'P', approval, F(u8, form) F(bytes, hash) F(bytes, text)) /* what a person would have to approve; form: by one, too */ \
	M(GATE_END, 'P', gate_end, F(u8, exit) F(bytes, message))

typedef enum MsgType {
	MSG_NONE,
#define MSG_ENUM_(id, ...) MSG_##id,
	DEAL_MSGS(MSG_ENUM_) MSG_N
} MsgType;

typedef uint8_t msg_u8;
typedef uint16_t msg_u16;
typedef uint32_t msg_u32;
typedef uint64_t msg_u64;
typedef int64_t msg_i64;
typedef Bytes msg_bytes; /* of a decoded message: borrowed from its buffer */
typedef Ip msg_ip;

typedef struct Msg {
	MsgType type;
	union {
#define F(kind, name) msg_##kind name;
#define MSG_STRUCT_(id, dir, name, fields) \
	struct {                           \
		fields                     \
	} name;
		DEAL_MSGS(MSG_STRUCT_)
#undef F
	};
} Msg;

/* Appends one message; false if it does not fit (then nothing was written). */
bool msg_put(Writer *w, const Msg *m);

typedef enum MsgRead { MSG_OK, MSG_EMPTY, MSG_BAD } MsgRead;

/* Takes the next message off c; `from` is the direction letter.  EMPTY at a
 * clean end; BAD: what came is no message of ours, and all behind it is lost. */
MsgRead msg_get(Cursor *c, char from, Msg *ret_m);

/* The name of the first field in which two messages of one type differ; NULL: they are
 * the same.  "type" if even that differs. */
const char *msg_difference(const Msg *a, const Msg *b);

const char *msg_name(MsgType t);
/* The letter of who may send it; 0: no message. */
char msg_direction(MsgType t);
const char *notsent_text(NotSent r);
const char *stamp_text(StampSource s);

#endif
