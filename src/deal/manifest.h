/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program needs and what an operator allows, in one form.
 *
 * Policies and programs say it in the same declarations (lang/decl reads both);
 * the checker adds to a program's what it inferred; the gate intersects them.
 * guardrails.md 2 and 3 say what each word means.
 *
 * Ownership: everything lives in the arena of the one who built it.
 */
#ifndef SONDE_DEAL_MANIFEST_H
#define SONDE_DEAL_MANIFEST_H

#include "base/addr.h"
#include "base/diag.h"
#include "base/vec.h"

#include <stdbool.h>

/* ---- budget ---- */

/* id, name, default of a program, built-in ceiling, unit, meaning.  0: no bound. */
#define BOUNDS(X)                                                                                       \
	X(PACKETS, "packets", 2000, 20000, "packets", "frames that leave, in all")                      \
	X(BYTES, "bytes", 2000000, 50000000, "bytes", "bytes of these frames at layer 2, without FCS")  \
	X(RATE, "rate", 500, 20000, "1/s", "frames a second: paces, never stops")                       \
	X(BYTE_RATE, "byte_rate", 2000000, 0, "bytes/s", "bytes a second: paces, never stops")          \
	X(SYN, "syn", 100, 1000, "segments", "connection attempts, in all")                             \
	X(SYN_RATE, "syn_rate", 50, 100, "1/s", "connection attempts a second: paces")                  \
	X(TIME, "time", 60, 600, "s", "how long a run may take")                                        \
	X(LEAK, "leak", 1024, 1024, "bits", "decisions about one peer's answers that steer another's packets") \
	X(PEER_RATE, "peer_rate", 0, 0, "1/s", "frames a second to one destination: paces")             \
	X(PEER_SYN_RATE, "peer_syn_rate", 0, 0, "1/s", "connection attempts a second to one destination: paces") \
	X(HOUR_PACKETS, "hour_packets", 0, 0, "packets", "frames an hour and session")                  \
	X(HOUR_BYTES, "hour_bytes", 0, 0, "bytes", "bytes an hour and session")                         \
	X(HOUR_SYN, "hour_syn", 0, 0, "segments", "connection attempts an hour and session")

#define BOUND_ENUM_(id, ...) BOUND_##id,
typedef enum Bound { BOUNDS(BOUND_ENUM_) BOUND_N } Bound;

typedef struct Budget {
	int64_t v[BOUND_N];   /* TIME in ns; where not declared: 0 */
	uint32_t declared;    /* bit per Bound */
	Span span[BOUND_N];
} Budget;

/* ---- reach ---- */

/* id, keyword, the doc's sentence: each needs its own word in program and policy. */
#define REACH_WORDS(X)                                                                        \
	X(ICMP_ERROR, "icmp_error", "ICMP errors that quote a packet received in this run")   \
	X(REDIRECT, "redirect", "ICMP redirects")                                             \
	X(ND, "nd", "neighbour advertisements")                                               \
	X(RA, "ra", "router advertisements")                                                  \
	X(ARP_CLAIM, "arp_claim", "ARP replies and announcements")                            \
	X(DHCP, "dhcp", "DHCP and DHCPv6 messages")                                           \
	X(ROUTING, "routing", "IP protocols 2 88 89 103 112; ports 179 520 521 646 1985 2029 3222 3784") \
	X(LOCAL_NAMING, "local_naming", "ports 137 1900 5350 5351 5353 5355")                 \
	X(SNMP_WRITE, "snmp_write", "SNMP set requests")                                      \
	X(TUNNEL, "tunnel", "GRE, VXLAN, IP in IP: the inner packet is checked too")          \
	X(FRAGMENTS, "fragments", "IP fragments")                                             \
	X(OPTIONS, "options", "IP options, routing and hop-by-hop headers")                   \
	X(BROADCAST, "broadcast", "broadcast destinations")                                   \
	X(MULTICAST, "multicast", "multicast destinations")

#define WORD_ENUM_(id, ...) WORD_##id,
typedef enum ReachWord { REACH_WORDS(WORD_ENUM_) WORD_N } ReachWord;

typedef struct PortRange {
	uint16_t lo, hi; /* inclusive */
} PortRange;

/* Sorted by lo, then hi.  Ranges of several ports lie apart and do not touch; a
 * port that was named by itself stays a row of its own, also where a range covers
 * it, because some ports open only to those who name them (guardrails.md 3). */
typedef VEC(PortRange) PortSet;

/* A name, or the addresses lo..hi (one family). */
typedef struct Target {
	Str name; /* empty: addresses */
	Ip lo, hi;
} Target;

/* reach(...) and deny(...).  Without tcp, udp, icmp and other it stands alone:
 * ICMP queries, ARP/NS and the TCP and UDP ports that the program names. */
typedef struct Reach {
	Target target;
	bool alone;
	bool icmp;
	bool all_tcp, all_udp; /* "all ports": asked for where a port is not known */
	PortSet tcp, udp;
	uint32_t words; /* bit per ReachWord */
	VEC(uint16_t) vlan;
	VEC(uint8_t) other; /* IP protocols */
	Span span;
} Reach;

/* Stands as a peer's name for the address that `resolve` asks where none is given: the loader
 * knows it and pins it.  No host name can be written so. */
#define PEER_RESOLVER "this-host's-resolver"

/* Something that the checker saw the program send.  A peer without name and
 * addresses is one that no constant tells: only reach() rows open addresses then,
 * and the emission says which ports the program names. */
typedef struct Emission {
	Target peer;
	uint8_t proto;    /* IPPROTO_*; 0: ARP or neighbour solicitation */
	PortSet dports;   /* TCP, UDP; empty: not a port protocol */
	bool dports_all;  /* not known: all ports asked for */
	PortSet sports;   /* constant source ports: taken before the start */
	bool src_set;     /* without addresses: no constant tells which */
	Ip src_lo, src_hi;
	uint32_t words;   /* what it needs beyond reach alone */
	bool ether;       /* an explicit Ether frame */
	Span span;
} Emission;

typedef struct SpoofDecl {
	bool is_mac;
	Mac mac;
	Ip lo, hi;
	int64_t rate, max; /* 0: the default, 10/s and 100 */
	Span span;
} SpoofDecl;

typedef struct ReflectDecl {
	Str field; /* "payload", "IP.dst", "ping.size" */
	Target src, dst;
	int64_t max; /* bits */
	Span span;
} ReflectDecl;

typedef struct CaptureDecl {
	bool all;
	Str filter;
	Span span;
} CaptureDecl;

typedef struct ListenDecl {
	uint16_t port;
	Target peers;
	Span span;
} ListenDecl;

typedef struct ParamDecl {
	Str name;
	Str type;
	Span span;
} ParamDecl;

/* All declarations of one file. */
typedef struct Decls {
	Budget budget;
	VEC(Reach) reach;
	VEC(Reach) deny;
	VEC(SpoofDecl) spoof;
	VEC(ReflectDecl) reflect;
	VEC(CaptureDecl) capture;
	VEC(ListenDecl) listen;
	VEC(ParamDecl) param; /* programs only */
	/* policy only */
	bool zone_set, zone_all;
	VEC(Str) zones;
	VEC(Ip) resolvers;
	uint32_t approve; /* bit per ApproveWord */
	int64_t approve_leak;
	int64_t approve_runs; /* that one approval is good for; 0: not said */
	VEC(Target) approve_reach;
	VEC(Target) may_follow; /* pairs: from, to */
	VEC(Target) relay;
	VEC(Target) allow_self;
	bool output_measurements;
	bool approve_by_form; /* what an agent's client says its user said counts as a person's word */
	bool insecure_dev;
	Str file; /* for messages: which policy refused */
} Decls;

typedef enum ApproveWord { APPROVE_SPOOF = 1, APPROVE_CAPTURE = 2, APPROVE_LISTEN = 4 } ApproveWord;

/* ---- manifest ---- */

typedef struct WorstCase {
	uint64_t packets, syn;     /* UINT64_MAX: no bound known */
	uint64_t least_packets;    /* what even the shortest way sends */
	bool emitting_while;       /* an unbounded `while` sends */
	bool connections;          /* "+ connection traffic" */
} WorstCase;

/* What the program asks of this host before the start. */
typedef enum LocalKind { LOCAL_INTERFACES, LOCAL_ROUTES, LOCAL_ROUTE, LOCAL_NEIGHBORS } LocalKind;
typedef struct LocalQuestion {
	LocalKind kind;
	Ip dst;	  /* LOCAL_ROUTE: an address .. */
	Str name; /* .. or a name, which is in `names` too */
} LocalQuestion;

enum {
	LEAK_ROWS = 64,	       /* places that are told */
	METER_PACKET = 0xffff, /* bits: as many as the packet has */
};

/* A place where the run's leak may grow: guardrails.md 5. */
typedef struct LeakCost {
	Span span;
	uint32_t bits; /* each time; a packet with METER_PACKET: all its bits */
	Str what;
	Str path; /* where the bits come in, each step, where they leave */
} LeakCost;

/* Whether it is paid where the run ended: nothing depends on others; only if it ended
 * early; always. */
typedef enum LeakEnd { LEAK_END_FREE, LEAK_END_EARLY, LEAK_END_PAID } LeakEnd;

typedef struct Manifest {
	Decls decls;
	VEC(Emission) emit;
	VEC(Str) names;       /* to look up and pin; also in emit */
	VEC(Str) ifaces;      /* named by iface= */
	VEC(Str) filters;     /* of sniff: own flows unless capture allows */
	VEC(LocalQuestion) local;
	WorstCase worst;
	bool uses_resolver;   /* resolve() without server= */
	bool uses_tls;	      /* a connection may become TLS: its process is started */
	VEC(Str) says;	      /* names that go where no gate sees them: SNI, Host, questions over TCP */
	VEC(LeakCost) leak;
	uint8_t leak_end;     /* LeakEnd */
} Manifest;

const char *bound_name(Bound b);
/* In the unit of Budget.v: TIME in ns. */
int64_t bound_default(Bound b);
int64_t bound_ceiling(Bound b);
const char *bound_unit(Bound b);
const char *word_name(ReachWord w);

bool ports_have(const PortSet *s, uint16_t port);
/* Whether the port stands there by itself: a range names none. */
bool ports_name(const PortSet *s, uint16_t port);
/* Adds [lo, hi]; keeps the set in the form that PortSet describes. */
void ports_add(Arena *a, PortSet *s, uint16_t lo, uint16_t hi);
/* "80, 8000-8100" */
void ports_text(const PortSet *s, Sb *out);
void target_text(const Target *t, Sb *out);

#endif
