/* SPDX-License-Identifier: Apache-2.0
 *
 * How rules are made: shared by gate/rules*.c only.
 *
 *   rules.c        the order of things, names, and what is asked per frame
 *   rules_rest.c   budget, spoof, capture, listen, reflect, approve
 *   rules_reach.c  who may be reached how: pieces of the address space, grants, rights
 *   rules_judge.c  what each emission and reach() of the program gets of it, in words
 */
#ifndef SONDE_GATE_RULES_INSIDE_H
#define SONDE_GATE_RULES_INSIDE_H

#include "deal/ports.h"
#include "gate/portbits.h"
#include "gate/rules.h"


/* What one party, a policy or the manifest, allows at one address. */
typedef struct Grant {
	bool peer;  /* it lies in reach at all */
	bool icmp, ether;
	uint32_t words;
	uint64_t other[4];
	PortBits tcp, udp; /* the ports that need a word or a name are judged apart */
	const Reach *row;  /* of a policy: the one that denies, or the first that would have to allow */
} Grant;

/* One stretch of addresses that an emission or a reach() of the manifest means. */
typedef struct Item {
	Ip lo, hi;
	const Emission *emission; /* one of both */
	const Reach *reach;
	uint32_t state; /* index into Maker.row */
} Item;

enum { ROW_PEER, ROW_TCP, ROW_UDP, ROW_ICMP, ROW_OTHER, ROW_WORDS, ROW_KINDS };

/* What became of an emission or a reach() over all its addresses. */
typedef struct RowState {
	bool told;             /* an emission: it has its finding */
	uint32_t finding;      /* ... this one, which grows while the addresses behind fail alike */
	Ip bad_lo, bad_hi;
	const void *soft;      /* the first fault that only narrows it */
	uint32_t got, missed;  /* a reach(): bit per ROW_ kind; an emission: whether, how often */
	uint32_t missed_words;
	const Policy *by[ROW_KINDS];
	const Reach *by_row[ROW_KINDS];
} RowState;

typedef struct Maker {
	const RulesInput *in;
	Arena *a;
	Findings *f;
	Rules *r;
	VEC(Item) item;
	RowState *row;           /* per emission, then per reach() */
	PortSet named_tcp, named_udp; /* ports that any emission names */
	bool named_ether;        /* an emission to a peer that is not known is an Ether frame */
	VEC(IpNum) cut[2];         /* IPv4, IPv6: where a piece begins */
	VEC(Ip) directed;        /* broadcast and network addresses of our nets */
	Grant *policy;           /* of the piece at hand, per policy */
	Grant *manifest;
	PortBits *tcp, *udp, *tmp; /* scratch */
	PortBits *cut_tcp, *cut_udp; /* ports of ranges that were cut out, for one note */
} Maker;

/* ---- findings ---- */

/* Beyond LIMIT_DIAGS findings are counted, not kept. */
void find(Findings *f, Finding what);
void refuse(Maker *k, Span span, const Policy *p, Span at, Str message, Str help);
void note(Maker *k, Span span, const Policy *p, Span at, Str message);

/* ---- rules_rest.c ---- */

/* A bound's value as a program would say it. */
Str bound_text(Arena *a, Bound b, int64_t v);

void make_budget(Maker *k);
void make_spoof(Maker *k);
void make_capture(Maker *k);
void make_listen(Maker *k);
void check_reflect(Maker *k);
void check_approve(Maker *k);
/* Whether lo..hi lie within t (of one family). */
bool target_covers(const Target *t, Ip lo, Ip hi);

/* ---- rules_reach.c ---- */

/* Pins that lie in reach, then segments with their rights; asks rules_judge.c at
 * each piece. */
void make_reach(Maker *k);
/* Why `ip` is in nobody's reach, or NULL; *ret_liftable: allow_self would do. */
const char *never_at(const Maker *k, Ip ip, bool *ret_liftable);
/* Words that the kind of address itself needs. */
uint32_t need_at(const Maker *k, Ip ip);
/* Whether a party names the port by itself at this address; p NULL: the manifest. */
bool party_names(const Maker *k, const Policy *p, Ip ip, uint8_t proto, uint16_t port);
/* Whether TCP 53 and 853 to this address are closed, guardrails.md 2. */
bool dns_closed(const Maker *k, Ip ip);

/* ---- rules_judge.c ---- */

/* All items that hold lo..hi, a piece on which the grants of the maker stand. */
void judge_piece(Maker *k, Ip lo, Ip hi);
/* What is wrong with emissions apart from whom they reach. */
void judge_sources(Maker *k);
/* When all pieces are through: what became of each reach(). */
void judge_rows(Maker *k);

static inline bool ip_within(Ip ip, Ip lo, Ip hi)
{
	return ip.v == lo.v && ip_cmp(lo, ip) <= 0 && ip_cmp(ip, hi) <= 0;
}

#endif
