/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate: all of its state, and the parts that work on it.
 *
 *   gate_loop.c   waits for whatever happens, and for the next time that is due
 *   requests.c    what the engine asks: a row per message
 *   outgoing.c    EMIT -> check -> route -> neighbour -> budget -> wire
 *   stamps.c      transmit stamps and recapture -> SENT or NOTSENT
 *   incoming.c    received frames -> FRAME
 *   tls_way.c     TLS_ASK -> the TLS process -> TLS_SAID
 *   ending.c      STOP, the end of a run, its proof and its figures
 *
 * One thread, no lock; nothing blocks but short questions to rtnetlink and netd.
 *
 * Ownership: all memory comes from the loader's arena or was mapped by it.
 */
#ifndef SONDE_GATE_GATE_H
#define SONDE_GATE_GATE_H

#include "gate/budget.h"
#include "gate/evidence.h"
#include "gate/filters.h"
#include "gate/frame_check.h"
#include "gate/links.h"
#include "gate/neigh.h"
#include "gate/outbox.h"
#include "gate/purse.h"
#include "gate/stamps.h"
#include "gate/timeline.h"
#include "gate/tls_way.h"
#include "sys/packet.h"

#include <stdio.h>

enum {
	GATE_SLOTS = LIMIT_IN_FLIGHT,
	GATE_SLOT_BYTES = LIMIT_FRAME + 3, /* 4-byte steps */
	GATE_WAITS = 64,
	GATE_RECENT = 256,
	GATE_IN = 256 * 1024,
};

/* One frame between EMIT and SENT. */
typedef struct Slot {
	uint32_t tx_id;
	EmitKind kind;
	EmitPurpose purpose;
	int64_t not_before; /* the engine's schedule; NS_NONE: at once */
	int64_t due;	    /* when it could leave but for a rate */
	int64_t paced;	    /* how long a rate held it */
	uint64_t seq;
	GateIface *iface;
	uint32_t mtu;
	FrameVerdict verdict;
	uint8_t head[14];
	uint8_t nhead;
	uint8_t *data;
	uint32_t n;
	uint32_t next;	    /* in the free list or in a neighbour's */
	SlotStamps stamps;
} Slot;

typedef struct Wait {
	uint32_t id;
	int64_t at;
} Wait;

/* An emission that an answer may still come to. */
typedef struct Recent {
	uint64_t key; /* 0: none, or answered */
	int64_t at;
} Recent;

typedef enum GatePhase { GATE_RUNS, GATE_STOPPED, GATE_ENDING } GatePhase;

typedef struct Gate {
	int engine_fd, cmd_fd, netd_fd;
	int epoll_fd, timer_fd, step_fd;
	bool netd_gone;
	Timeline time;
	int64_t time_limit; /* on the run's line; INT64_MAX: none */

	/* rules */
	const Rules *rules;
	Owned owned;
	Flows flows;
	FrameCheck check;
	Meter meter;
	Purse purse;
	FrameFilter capture; /* what of others' traffic may come up */

	/* kernel */
	Links links;
	Neighs neighs;
	PacketTx tx;
	PacketInbox inbox;
	int *holds; /* descriptors that hold ports and ids */
	uint32_t nholds;

	/* out */
	Slot *slot;
	uint32_t free;	/* first free slot, NEIGH_NOBODY: none */
	uint32_t nfree;
	uint32_t *heap; /* of slots, by not_before and order of arrival */
	uint32_t nheap;
	uint64_t seq;
	int64_t held_until; /* a rate holds all until then; INT64_MIN: none does */
	int64_t hold_end;   /* of the last hold */
	uint64_t held;	    /* frames that were held */
	PacketOut batch[PACKET_TX_BATCH];
	uint32_t batch_slot[PACKET_TX_BATCH];
	uint8_t *pieces; /* bytes of cut packets in the batch */
	uint32_t npieces;
	uint32_t cut_id;
	unsigned nbatch;
	Stamps stamps;

	/* in and out of the engine */
	uint8_t *in; /* GATE_IN bytes */
	Cursor requests;
	bool engine_gone, engine_bad;
	Outbox outbox;
	Wait wait[GATE_WAITS];
	unsigned nwaits;
	uint64_t drops_told;
	uint64_t headless_told;
	int64_t drops_next;

	/* end */
	GatePhase phase;
	int exit; /* SondeExit */
	char why[256];
	int64_t deadline; /* of the engine after STOP, of the end after END */
	uint32_t resets;
	int64_t last_reset;
	Recent recent[GATE_RECENT];
	unsigned nrecent;
	uint64_t sent_packets, sent_bytes, sent_syn, refused, capture_drops;

	Evidence evidence;
	Hash evidence_head; /* when it has ended */
	Recorder record;
	TlsWay tls;
	const char *table; /* name of netd's */
} Gate;

/* ---- gate_loop.c ---- */

/* Until the run has ended; the exit code for cmd. */
int gate_loop(Gate *g);

/* Reads all sockets until they are empty. */
void gate_receive_all(Gate *g);

static inline int64_t gate_now(const Gate *g)
{
	return timeline_now(&g->time);
}

/* ---- requests.c ---- */

/* Handles what the engine wrote, while there is room for its frames. */
void requests_take(Gate *g);
/* Sends the TICKs whose time has come. */
void requests_tick(Gate *g, int64_t now);
int64_t requests_next(const Gate *g);
/* Tells DROPS if there are new ones. */
void requests_drops(Gate *g, bool now);

/* ---- outgoing.c ---- */

void outgoing_init(Gate *g, Arena *a, void *slots_mem);
void outgoing_emit(Gate *g, const Msg *m);
/* Lets go what is due. */
void outgoing_run(Gate *g);
int64_t outgoing_next(const Gate *g);
/* A slot's frame is done with: the engine is told. */
void outgoing_sent(Gate *g, Slot *s, int64_t tx, StampSource source, int64_t queue);
void outgoing_notsent(Gate *g, Slot *s, NotSent reason, const char *detail);
/* What was never let go: told NOTSENT. */
void outgoing_cancel(Gate *g, bool cleanup_too);
/* The head of a frame that may be let go by its next hop. */
void outgoing_wake(Gate *g, NeighRow *r);
static inline bool outgoing_has_room(const Gate *g)
{
	return g->nfree > 0;
}

/* ---- stamps.c, see stamps.h ---- */

void stamps_drain(Gate *g);
void stamps_recaptured(Gate *g, const PacketIn *in);
/* Before a FRAME is told: what was recaptured but will get no stamp counts as sent. */
void stamps_settle(Gate *g);
/* Gives up what the kernel dropped. */
void stamps_age(Gate *g, int64_t now);
int64_t stamps_next(const Gate *g);
/* Registers a piece that is about to be sent; its id, or 0 if there is no room. */
uint32_t stamps_add(Gate *g, uint32_t slot, Bytes head, Bytes body);
void stamps_remove(Gate *g, uint32_t id);
/* Where the kernel numbers frames: a piece was given another number than planned. */
void stamps_renumber(Gate *g, uint32_t id, uint32_t to);

/* ---- tls_way.c ---- */

void tls_way_ask(Gate *g, const Msg *m);
/* What the TLS process wrote. */
void tls_way_take(Gate *g);

/* ---- incoming.c ---- */

/* All that a socket has now. */
void incoming_read(Gate *g, GateIface *i, int64_t ready);

/* ---- ending.c ---- */

void gate_stop(Gate *g, StopReason reason, int exit, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A frame that broke a rule. */
void gate_refused(Gate *g, const Slot *s, NotSent reason, const char *detail);
/* Notes that an answer may come, or has come. */
void ending_expect(Gate *g, const FlowTuple *t, int64_t at);
void ending_answered(Gate *g, Bytes frame, bool ether);
/* How long the table must stay after END. */
int64_t ending_quiet_at(const Gate *g);
/* The kernel may have our ports again: netd removes its table while we report. */
void ending_let_go(Gate *g);
/* The evidence's last link, told to cmd. */
void ending_evidence(Gate *g);
/* Figures and verdict to cmd. */
void ending_report(Gate *g);
/* A line of the gate's own for cmd. */
void gate_note(int cmd_fd, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- claims (requests.c) ---- */

/* netd: adds what fd holds to the table; 0 or -errno. */
int netd_add(int netd_fd, int fd);
int netd_count(int netd_fd, uint64_t *ret_packets);

#endif
