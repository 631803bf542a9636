/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules: the intersection of all policies and the program's manifest, made once
 * before the start, immutable, and fast to ask for each frame.
 *
 * The address space is cut where any declaration begins or ends; for each piece
 * that the manifest touches, what every policy and the manifest allow there is
 * intersected once.  A question for an address is then one binary search, one for
 * a port a second.  Ports that need a word nobody gave are already cut out.
 *
 * Ownership: all of it lives in the arena given to rules_make(); policies and
 * manifest must outlive it.
 */
#ifndef SONDE_GATE_RULES_H
#define SONDE_GATE_RULES_H

#include "gate/policy.h"
#include "gate/zones.h"

/* ---- findings ---- */

/* What a person reads before anything is sent: a refusal or a note. */
typedef struct Finding {
	bool refused;    /* the run does not start */
	bool person;     /* policy wants a person's approval: refused where nobody can be asked */
	Span span;       /* in the program; from == to == 0: nowhere in particular */
	Str message;     /* one sentence without full stop */
	const Policy *policy; /* who says so; NULL: no policy in particular */
	Span at;         /* in the policy's text; from == to == 0: nowhere in particular */
	Str help;        /* what to do; may be empty */
} Finding;

typedef struct Findings {
	Arena *a;
	VEC(Finding) v;   /* at most LIMIT_DIAGS */
	uint32_t refused; /* in all */
	uint32_t persons; /* what a person has to approve */
} Findings;

/* "scan.sonde:3: 10.9.0.7 lies outside what may be reached (/etc/sonde/policy.sonde:2); ...".
 * One line per finding, escaped. */
void finding_text(const Finding *f, Str program_name, Str program, Sb *out);

/* ---- what an address allows ---- */

typedef struct Rights {
	PortSet tcp, udp;             /* destination ports that may be sent to */
	PortSet asked_tcp, asked_udp; /* what the program asked for: the rest of it is `denied port` */
	uint64_t other[4];            /* bit per IP protocol */
	uint32_t words;               /* bit per ReachWord */
	uint32_t need;                /* words that the kind of address itself needs: BROADCAST, MULTICAST */
	const uint16_t *vlan;
	uint32_t nvlan;
	bool icmp;        /* echo and timestamp requests */
	bool ether;       /* explicit Ether frames */
	bool ntp_control; /* NTP modes 6 and 7: 123 was named by itself */
} Rights;

typedef struct Segment4 {
	uint32_t lo, hi;
	const Rights *rights;
} Segment4;

typedef struct Segment6 {
	IpNum lo, hi;
	const Rights *rights;
} Segment6;

typedef struct SpoofRule {
	bool is_mac;
	Mac mac;
	Ip lo, hi;
	int64_t rate, max;
} SpoofRule;

typedef struct ListenRule {
	uint16_t port;
	Ip lo, hi;
} ListenRule;

typedef struct Pin {
	Str name;
	Ip addr;
} Pin;

/* An address of this host and its net's prefix length. */
typedef struct OwnAddr {
	Ip ip;
	uint8_t bits;
} OwnAddr;

typedef struct Rules {
	VEC(Segment4) seg4; /* sorted, apart */
	VEC(Segment6) seg6;
	const OwnAddr *own;
	uint32_t nown;
	uint32_t *own_words; /* words given for our own addresses, which are no peers: claims about them */
	VEC(SpoofRule) spoof;
	VEC(ListenRule) listen;
	VEC(ListenRule) no_call; /* who may not connect, whatever listen() says; port 0 */
	VEC(Pin) pins;      /* the given ones that lie in reach, in the order given */
	VEC(Ip) resolvers;  /* that policy names; empty: those of the host */
	const Zones *zones; /* a name must lie in each of these */
	uint32_t nzones;
	bool zones_all;
	Budget budget;      /* what holds: all bounds filled in, 0: none (but leak) */
	bool captures;      /* third-party frames may come up ... */
	Str capture_filter; /* ... if they match this; empty: all of them */
	bool promiscuous;
	bool output_measurements, insecure_dev;
} Rules;

/* ---- making ---- */

typedef struct RulesInput {
	const Policy *policies; /* the system's or built-in one first */
	uint32_t npolicies;
	const Manifest *manifest;
	const Pin *pins;        /* what was looked up, in order of use */
	uint32_t npins;
	const OwnAddr *own;     /* of all interfaces, loopback included */
	uint32_t nown;
	PortSet self_ports;     /* TCP ports on which Sonde itself listens on this host */
	bool zone_default_all;  /* where no policy says zone(): true for the command line, false for mcp */
	bool ledger;            /* bounds per hour can be kept */
	bool approvable;        /* the caller asks a person where policy wants one */
} RulesInput;

/* Before any look-up: refuses names of the manifest that are no host names or
 * lie outside the zones.  False if any was refused. */
bool rules_check_names(const RulesInput *in, Findings *f);

/* Before anything else: refuses bounds per hour where there is no ledger to keep them. */
bool rules_check_ledger(const RulesInput *in, Findings *f);

/* NULL if anything was refused; Findings say what and why. */
Rules *rules_make(const RulesInput *in, Findings *f);

/* ---- asking ---- */

/* NULL: not in reach. */
const Rights *rules_peer(const Rules *r, Ip ip);
bool rules_own(const Rules *r, Ip ip);
/* Whether program and policy gave a word for an address of ours. */
bool rules_own_word(const Rules *r, Ip ip, ReachWord w);
/* The index of the right to claim this source, or -1. */
int rules_spoof_ip(const Rules *r, Ip ip);
int rules_spoof_mac(const Rules *r, Mac m);
bool rules_listens(const Rules *r, uint16_t port, Ip peer);
/* Whether a name may be asked for; `wire` is uncompressed. */
bool rules_name_wire(const Rules *r, Bytes wire);
/* A DHCP client's question from 0.0.0.0: no address of ours, and no spoofing. */
bool emission_asks_for_address(const Emission *e);
/* Why a local port may not be claimed, or NULL: below 1024 only with the policy's listen(). */
const char *rules_claim_fault(const Rules *r, uint8_t proto, uint16_t port);
/* Why an address is not in reach: "loopback", "an address of this host", ...; for messages. */
const char *rules_why_not(const Rules *r, Ip ip);

static inline bool rights_word(const Rights *r, ReachWord w)
{
	return r->words >> w & 1;
}

static inline bool rights_other(const Rights *r, uint8_t proto)
{
	return r->other[proto >> 6] >> (proto & 63) & 1;
}

#endif
