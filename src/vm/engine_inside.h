/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine's own files and the network built-ins share.
 */
#ifndef SONDE_VM_ENGINE_INSIDE_H
#define SONDE_VM_ENGINE_INSIDE_H

#include "base/limits.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "deal/whence.h"
#include "probe/expert.h"
#include "probe/identity.h"
#include "probe/match.h"
#include "probe/reassemble.h"
#include "vm/engine.h"
#include "vm/packet.h"

enum {
	QUEUE_BYTES = 8 * 1024 * 1024,
	RST_AFTER_MS = 500, /* language.md 6: how long a half-open flow waits for the program */
	LOOK_AHEAD_MS =
		4,     /* frames go to the gate that much before they are due: its timer is the finer one */
	QUEUED_MS = 1, /* local queueing above this is worth a warning */
	HELD_MS = 1,   /* so is a wait for the gate's own tokens; ours are counted before */
	STEP_MS = 1,  /* and a step of the clock */
	FINISH_WAIT_MS = 1000, /* for the last resets to leave */
	SPARE_BYTES = 128 * 1024,
};

/* ---- this host, as told before GO ---- */

typedef struct HostIface {
	uint16_t index;
	Str name;
	uint64_t mac;
	uint32_t mtu;
	bool up, ether;
} HostIface;

typedef struct HostAddr {
	uint16_t iface;
	Ip ip;
	uint8_t bits;
} HostAddr;

typedef struct HostRoute {
	Net net;
	Ip gw, src;
	uint16_t iface;
	uint32_t metric;
} HostRoute;

typedef struct HostNeigh {
	uint16_t iface;
	Ip ip;
	uint64_t mac;
	Str state;
} HostNeigh;

typedef struct HostPin {
	Str name;
	Ip ip;
} HostPin;

/* The kernel's answer for one destination. */
typedef struct Route {
	bool ok;
	uint16_t iface;
	Ip src, gw;
	uint32_t mtu;
	Str detail;
} Route;

/* ---- frames ---- */

/* A received packet as sr sees it: whole, or put together from fragments. */
typedef struct Arrival {
	Bytes frame;
	WireId first;
	uint16_t iface;
	uint8_t flags; /* FRAME_* */
	int64_t rx_ns;
	PacketId id;
	WarnSet odd;		   /* what the expert found in it */
	const Reassembled *pieces; /* NULL: it came in one piece */
} Arrival;

/* Who is told while a call waits. */
typedef struct Call {
	void *ctx;
	void (*sent)(void *ctx, uint32_t item, int64_t tx_ns, uint16_t iface);
	void (*notsent)(void *ctx, uint32_t item, NotSent why, Str detail);
	void (*arrived)(void *ctx, const Arrival *a, const Match *m);
} Call;

typedef struct Tx {
	uint32_t id; /* 0: free */
	uint64_t stack_tag; /* a connection's; 0: a probe's or a reset */
	uint32_t item;
	uint64_t probe;
	uint8_t line; /* of the statistics */
	bool told;    /* the running call wants to know */
	bool cleanup;
} Tx;

/* A frame to send. */
typedef struct Outgoing {
	Bytes bytes;
	WireId first;	 /* IP, IPV6, ETHER */
	uint16_t iface;	 /* 0: by the route */
	int64_t even_at; /* not before: of rate=; NS_NONE: at once */
	uint32_t item;
	uint64_t probe;
	bool told;
	uint64_t stack_tag; /* of the stack's own frames */
	int64_t wait_ns;    /* how long an answer to it is waited for */
} Outgoing;

/* ---- connections: engine_conn.h ---- */

typedef struct NetStack NetStack;
typedef struct Live Live;
typedef struct Listener Listener;
typedef struct Load Load;
typedef struct LiveTls LiveTls;
enum { TCP_OPTIONS_MOST = 40 };

/* A probe that is a segment of a connection, made by hand. */
typedef struct Crafted {
	uint64_t probe;
	const Live *live;
	int64_t tx_ns; /* NS_NONE: it did not leave yet */
	bool answered;
} Crafted;

/* What the stack said of a frame. */
typedef struct ConnSeen {
	const Live *live; /* whose it is; NULL: nobody's */
	bool taken;	  /* by the stack */
	bool shown;	  /* probes are to see it too */
	bool newer;	  /* it acknowledges new data of the stack's own */
} ConnSeen;

/* A raw SYN's flow. */
typedef struct SynFlow {
	Ip src, dst;
	uint16_t sport, dport;
	uint32_t seq; /* of the SYN; then what our reset will have */
	int64_t due_ns;
	enum { SYN_SENT, SYN_ANSWERED, SYN_KEPT, SYN_DONE } state;
} SynFlow;

typedef struct Bucket {
	double rate, burst, tokens;
	int64_t at;
	const char *name;
} Bucket;

typedef struct Wake {
	uint32_t id;
	int64_t at;
} Wake;

/* A WAIT is sent only if it is earlier than all that are out, so there are few. */
enum { WAKES = 32 };

enum { PACE_RATE, PACE_BYTES, PACE_SYN, PACES };

/* The sniff queue: a ring of frames. */
typedef struct Queued {
	int64_t rx_ns;
	uint32_t off, len;
	uint16_t iface;
	uint8_t first, flags;
} Queued;

/* Lines of the statistics. */
enum { LINE_ICMP, LINE_TCP, LINE_UDP, LINE_ARP, LINE_OTHER, LINES };

typedef struct StatLine {
	uint64_t sent, bytes, probes, answered, lost, duplicates, further, late, not_sent, ambiguous;
} StatLine;

struct Engine {
	Arena *a;
	Port *port;
	EngineConfig config;
	int64_t now_ns, epoch_ns, limit_ns;
	uint64_t seed;
	bool gone;    /* the other side closed */
	uint8_t stop; /* StopReason */
	char stop_detail[512];

	VEC(HostIface) iface;
	VEC(HostAddr) addr;
	VEC(HostRoute) route;
	VEC(HostNeigh) neigh;
	VEC(HostPin) pin;
	VEC(Ip) resolver;
	IdentityPool pool;

	Map route_cache; /* address -> index into routes + 1 */
	VEC(Route) routes;
	Map sent_to; /* address -> packets sent so far */

	Tx tx[LIMIT_IN_FLIGHT];
	uint32_t tx_next, in_flight;
	uint32_t request; /* ids of WAIT, NOW, ROUTE, CLAIM */
	Wake wake[WAKES]; /* WAITs that are out */
	uint32_t wakes;
	uint32_t told; /* frames in flight that the running call waits for */
	Msg reply;     /* to a request */
	bool replied;
	uint32_t ticked; /* id of the last TICK */

	Bucket pace[PACES];
	Matcher *matcher;
	Reassembler *reasm;
	Expert *expert;
	Warnings warnings;
	const Call *call;

	Vm *vm;		 /* set with the stack */
	NetStack *stack; /* NULL: the program has no connection yet */
	VEC(Live *) live;
	Map live_map; /* flow -> index into live + 1 */
	VEC(Listener *) listener;
	VEC(Load *) load;
	uint8_t *load_fill; /* what they send */
	VEC(Crafted) crafted; /* of the running call */
	uint8_t *held; /* a packet that the stack gave, until it is due */
	uint32_t held_n; /* 0: none */
	PacketId held_id;
	uint64_t held_tag;
	int64_t held_at;
	bool held_cleanup;
	bool resetting; /* at the end: nothing but resets leaves any more */

	Queued *queue;
	uint8_t *queue_bytes;
	uint32_t queue_first, queue_n;
	int64_t mark_ns; /* nothing received up to here is sniff's any more */

	Map flow_map; /* four-tuple -> index into flows + 1 */
	VEC(SynFlow) flows;
	int64_t reset_due_ns; /* the first of them; NS_NONE: none */
	uint32_t resets;

	bool measurements;
	uint64_t leak, leak_used; /* bits: the bound, what the VM metered */
	StatLine line[LINES];
	uint64_t frames, unsolicited, late, tx_source[STAMP_N], rx_source[STAMP_N];
	uint64_t capture_drops, backlog_drops;
	bool finishing; /* what still comes is looked at no more */
	Arena spare;	/* for resets and the report, when all else is spent */
	Map claims;	/* protocol, source, port -> 1 held, 2 refused */

	/* net_tls.c */
	uint32_t tls_sessions; /* so far: the last one's number */
	uint8_t *tls_out;      /* LIMIT_TLS_SAID bytes: what an answer says is to be sent */
	Arena tls_mem;	       /* of one TlsInfo */
	Bytes tls_info;	       /* the encoded one, there */
};

/* ---- waiting (engine.c) ---- */

/* Reads and handles one message; asks for a TICK at wake_at before it blocks
 * (NS_NONE: only for what comes anyway).  False: stopped or gone. */
bool engine_step(Engine *e, int64_t wake_at);
/* Until that time. */
bool engine_until(Engine *e, int64_t until_ns);
/* Brings now_ns up to date. */
bool engine_refresh(Engine *e);
/* Sends a request with a new id, waits for its answer (in e->reply). */
bool engine_ask(Engine *e, Msg *m);
/* Ends the run for what the gate said; always false. */
bool engine_halt(Engine *e, Vm *vm);
int64_t ns_later(int64_t t, int64_t d);

/* ---- sending (engine_send.c) ---- */

const Route *engine_route(Engine *e, Ip dst); /* NULL: stopped or gone */
/* The number of this packet to dst, counted up. */
uint64_t engine_count_to(Engine *e, Ip dst);
/* Waits until it is due and there is room, hands it to the gate. False: stopped. */
bool engine_emit(Engine *e, const Outgoing *o);
void engine_sent(Engine *e, const Msg *m);
void engine_notsent(Engine *e, const Msg *m);
int engine_line(const PacketId *id);
/* Is that port (ICMP: id) at that source address ours?  Asks the gate once.
 * port 0: any free one, which joins the pool. */
bool engine_claim(Engine *e, uint8_t proto, Ip src, uint16_t port, bool *ret_held);
bool engine_is_ours(const Engine *e, Ip ip);
const HostIface *engine_iface(const Engine *e, uint16_t index);
const HostIface *engine_iface_named(const Engine *e, Str name);
/* Half-open flows: what is due, or all. */
void engine_resets(Engine *e, bool all);
void engine_flow_seen(Engine *e, const PacketId *id, int64_t rx_ns);
/* Whether a received segment is of a flow that the program goes on with by hand. */
bool engine_flow_kept(Engine *e, const PacketId *id);

/* Takes tokens: when a frame of that size may leave. */
int64_t engine_departure(Engine *e, size_t bytes, bool syn, int64_t earliest);
void engine_hand_over(Engine *e, const Outgoing *o, const PacketId *id, EmitPurpose purpose, int64_t not_before);

/* ---- connections (engine_conn.c) ---- */

/* A received packet, whole.  True: the stack took it. */
bool engine_conn_frame(Engine *e, const Arrival *a, bool csum_good, ConnSeen *ret_seen);
/* Fires timers, sends what is due. */
void engine_conn_run(Engine *e);
/* When it has to be run next; NS_NONE: only when something comes. */
int64_t engine_conn_wake(const Engine *e);
void engine_conn_sent(Engine *e, uint64_t tag, int64_t tx_ns);
void engine_conn_notsent(Engine *e, uint64_t tag, NotSent why);
/* A packet of a live connection's flow that the program made leaves at `at`. */
void engine_crafted(Engine *e, const PacketId *id, Bytes packet, const Outgoing *o, int64_t at);
void engine_crafted_sent(Engine *e, uint64_t probe, int64_t tx_ns);
/* Whether a shown segment answers one of them. */
bool engine_crafted_answer(Engine *e, const Arrival *a, const ConnSeen *seen, Match *ret_match);
/* An ICMP error answered that one. */
void engine_crafted_done(Engine *e, uint64_t probe);
/* A TCP connection of the stack has that flow. */
bool engine_is_conn(Engine *e, const PacketId *id);
/* Ends all; whole: what is queued leaves before. */
void engine_conn_finish(Engine *e, bool whole);

/* net_load.c */
void engine_loads_run(Engine *e);
int64_t engine_loads_wake(const Engine *e); /* INT64_MAX: none */
void engine_loads_end(Engine *e);

/* ---- receiving (engine_recv.c) ---- */

void engine_frame(Engine *e, const Msg *m);
/* The end of sniff, sr or a verb: what came so far is sniff's no more. */
void engine_mark(Engine *e);
/* Frame i (from 0, oldest) of the queue. */
Bytes engine_queued(const Engine *e, uint32_t i, Queued *ret_q);
/* The oldest is done with. */
void engine_queue_pop(Engine *e);

/* ---- the end (engine_stat.c) ---- */

void engine_report(Engine *e);

/* ---- packets of the language (net_packet.c) ---- */

/* A packet made ready to leave. */
typedef struct Ready {
	Bytes bytes;
	WireId first;
	uint16_t iface;
	WirePacket sent; /* all fields set */
	NotSent refused; /* NONE: it may leave */
	const char *why;
	bool many; /* several may answer: ARP, ND, broadcast, multicast */
} Ready;

/* Fills what is free, on memory of `a`.  False: a run-time error or the end. */
bool net_ready(Engine *e, Vm *vm, ObjPacket *p, const HostIface *iface, Arena *a, Ready *ret_ready);
Value net_sent_packet(Engine *e, Vm *vm, const Ready *r);
Value net_received_packet(Engine *e, Vm *vm, const Arrival *a);
/* The name of an interface given as iface=; NULL where it was left out. */
bool net_iface(Engine *e, Vm *vm, Value v, const HostIface **ret_iface);
bool net_rate(Vm *vm, Value v, Value inter, double *ret_rate);

/* Whose packets went into it, packed (deal/whence.h); `peer`: it is text of a peer. */
Bytes engine_whence(const Engine *e, const ProgTold *told, bool peer, uint8_t buf[WHENCE_BYTES]);

/* ---- tables for the VM (net_*.c) ---- */

BuiltinFn bi_send, bi_sr, bi_sr1, bi_sniff, bi_sleep, bi_now, bi_changed;
BuiltinFn bi_interfaces, bi_routes, bi_route, bi_neighbors;
BuiltinFn bi_connect, bi_listen, bi_datagram, bi_load;
extern BuiltinFn *const net_methods[M_N];
extern AttrFn *const net_attrs[A_N];
SetAttrFn net_set_attr;
BuiltinFn bi_at_ttl, bi_own_port, bi_mtu, bi_icmp_word, bi_mpls, bi_resolver, bi_loss, bi_jitter, bi_warn, bi_fail;

#endif
