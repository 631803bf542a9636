/* SPDX-License-Identifier: Apache-2.0
 *
 * May this frame leave?  guardrails.md 4, item by item, on bytes that a hostile
 * engine made.
 *
 * The parser here is its own, strict and small, on purpose: wire/ decodes what it
 * can and says why not, this one passes only what it understands to the end.  It
 * judges; it never changes a byte.  The caller copied the frame once and sends
 * exactly the bytes that were judged.
 *
 * Order of work for the caller: frame_dst() -> route -> frame_check() -> budget
 * -> next hop -> frame_hop_ok() -> send (cut by wire_cut_next() if verdict.cut).  No
 * look-up on the link happens for a frame that may not leave anyway.
 */
#ifndef SONDE_GATE_FRAME_CHECK_H
#define SONDE_GATE_FRAME_CHECK_H

#include "deal/msg.h"
#include "gate/flows.h"
#include "gate/frags.h"
#include "gate/owned.h"
#include "gate/rules.h"

/* What the gate knows of an interface that it opened. */
typedef struct GateLink {
	uint16_t index;
	uint32_t mtu; /* the most IP bytes, of the link or of the route if that is less */
	bool ether;   /* frames begin with an Ethernet header */
	Mac mac;
	const OwnAddr *own; /* our addresses there */
	uint32_t nown;
} GateLink;

typedef struct FrameIn {
	EmitKind kind;
	EmitPurpose purpose;
	Bytes data;
	const GateLink *link; /* NULL: not an interface of the manifest */
	int64_t now;
} FrameIn;

typedef enum HopKind {
	HOP_NONE,  /* the link has no Ethernet header */
	HOP_ROUTE, /* the next hop on the way to `hop_ip`: the gate resolves it */
	HOP_MAC,   /* `hop_mac`: broadcast, multicast, solicited-node */
} HopKind;

enum { VERDICT_TEXT = 160 };

typedef struct FrameVerdict {
	NotSent reason; /* NOTSENT_NONE: may leave */
	bool counts;    /* as one of the refused frames that end a run */
	char text[VERDICT_TEXT];
	/* of a frame that may leave */
	FlowTuple tuple;
	bool syn;       /* counts as a connection attempt */
	bool cleanup;   /* a bare reset of a flow that we opened, or that was opened to us: free of the budget */
	bool called;    /* ... by a peer: no SYN of ours paid for it */
	bool cut;       /* above the MTU, without DF: to be cut */
	bool to_many;   /* broadcast or multicast */
	bool was_ether; /* an explicit Ether frame */
	bool dhcp;      /* a DHCP client's question, with transaction dhcp_xid */
	uint32_t dhcp_xid;
	int spoof;      /* index into Rules.spoof, or -1 */
	HopKind hop;
	Ip hop_ip;
	Mac hop_mac;    /* HOP_MAC: where to; explicit Ether frame with HOP_ROUTE: what it claims */
} FrameVerdict;

typedef struct FrameCheck {
	const Rules *rules;
	const Owned *owned;
	Flows *flows; /* what listeners sent is counted there */
	Frags frags;
} FrameCheck;

void frame_check_init(FrameCheck *fc, Arena *a, const Rules *r, const Owned *o, Flows *f);

/* The destination to route by: IP.dst, ARP.pdst.  False if the frame has none. */
bool frame_dst(EmitKind kind, Bytes data, Ip *ret_dst);

/* True: it may leave, as far as the frame itself goes. */
bool frame_check(FrameCheck *fc, const FrameIn *in, FrameVerdict *ret_v);

/* The second half for an explicit Ether frame: its Ether.dst is the next hop that
 * the gate resolved.  Fills in the refusal otherwise. */
bool frame_hop_ok(FrameVerdict *v, Mac resolved);

#endif
