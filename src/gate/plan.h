/* SPDX-License-Identifier: Apache-2.0
 *
 * What passes between the gate and the process with capabilities: one plan of
 * fixed size, then a table of three requests.  No byte of it comes from a network
 * or an engine unchecked, and no byte of it is parsed: structs of fixed layout
 * between two processes of one binary, each row checked by its reader.
 */
#ifndef SONDE_GATE_PLAN_H
#define SONDE_GATE_PLAN_H

#include "base/limits.h"
#include "base/sha256.h"
#include "sys/hold.h"

#include <linux/filter.h>

enum { PLAN_MAGIC = 0x53504c31, PLAN_FILTER = 1024 };

/* What the opener says first: the ledger and the log, or why not.  With it come the
 * descriptors that are there, in this order. */
typedef struct PlanState {
	int32_t ledger_err; /* errno; ENOENT: there is none */
	int32_t log_err;
} PlanState;

/* What the loader may ask for before its plan; the answer comes with a descriptor. */
enum { PLAN_ASK_APPROVAL = 1, PLAN_ASK_REQUEST = 2, PLAN_ASK_TAKE_BACK = 3, PLAN_ASKS = 4 };

typedef struct PlanAsk {
	uint32_t op;
	Hash hash; /* what the name is made of */
} PlanAsk;

typedef struct PlanAskAnswer {
	int32_t err; /* errno, or 0 */
} PlanAskAnswer;

/* Receive filters by kind of link: with an Ethernet header or without. */
enum { PLAN_BARE, PLAN_ETHER, PLAN_LINKS };

typedef struct PlanFilter {
	uint32_t n; /* instructions; 0: no interface uses it */
	struct sock_filter code[PLAN_FILTER];
} PlanFilter;

typedef struct PlanIface {
	int32_t index;
	uint8_t ether;	     /* PLAN_ETHER or PLAN_BARE */
	uint8_t promiscuous;
} PlanIface;

typedef struct PlanHold {
	Held held;
	int32_t iface; /* for a link-local address */
} PlanHold;

typedef struct Plan {
	uint32_t magic;
	uint32_t nifaces, nholds;
	uint32_t rcvbuf, sndbuf; /* bytes */
	PlanFilter filter[PLAN_LINKS];
	PlanIface iface[LIMIT_IFACES];
	PlanHold hold[LIMIT_START_PORTS];
} Plan;

/* The first answer: with it come the transmit socket and one socket per interface.
 * On an error no descriptors. */
typedef struct PlanOpened {
	int32_t err;   /* errno, or 0 */
	int32_t iface; /* whose socket failed, or 0 */
	uint32_t nholds;
	char table[32]; /* the name of netd's table */
	int32_t hold_err[LIMIT_START_PORTS]; /* errno per row of the plan; 0: held, and its descriptor follows */
} PlanOpened;
/* Then messages of one byte with up to PROC_FDS descriptors each: what is held,
 * in the order of the plan. */

/* Requests to netd; whatever does not fit into this is refused. */
typedef enum NetdOp { NETD_ADD = 1, NETD_DROP, NETD_COUNT } NetdOp;

typedef struct NetdRequest {
	uint32_t op; /* ADD, DROP: with the descriptors of what is held */
} NetdRequest;

typedef struct NetdAnswer {
	int32_t err;
	uint64_t packets; /* COUNT */
} NetdAnswer;

#endif
