/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings: counted by code and peer, the first evidence of each kept.
 *
 * What a peer can make us keep is bounded: of each code WARN_PEERS peers are told
 * apart, all others are only counted.
 *
 * Ownership: one fixed table; evidence is copied into it and cut to its size.
 */
#ifndef SONDE_PROBE_WARNINGS_H
#define SONDE_PROBE_WARNINGS_H

#include "base/addr.h"

typedef enum WarnId {
#define WARN(id, code, known, layer, meaning, causes, next) WARN_##id,
#include "probe/warnings.def"
#undef WARN
	WARN_N
} WarnId;

#define WARN_LAYERS(X)                                             \
	X(LINK, "link", "Ethernet, VLAN, ARP")                     \
	X(IP, "ip", "IPv4, IPv6, fragments")                       \
	X(ICMP, "icmp", "ICMP, ICMPv6")                            \
	X(UDP, "udp", "UDP")                                       \
	X(TCP, "tcp", "TCP: single segments and handshakes")       \
	X(CONN, "connection", "connections of the program's own") \
	X(DNS, "dns", "DNS")                                       \
	X(PATH, "path", "what happens between here and there")     \
	X(ANSWER, "answer", "how answers fit the probes")          \
	X(HOST, "host", "this machine's own part in what is measured")

#define WARN_LAYER_ENUM_(id, name, text) WARN_LAYER_##id,
typedef enum WarnLayer { WARN_LAYERS(WARN_LAYER_ENUM_) WARN_LAYER_N } WarnLayer;

/* Columns of warnings.def. */
typedef struct WarnRow {
	const char *code, *known;
	WarnLayer layer;
	const char *meaning, *causes, *next;
} WarnRow;

const WarnRow *warn_row(WarnId id);
const char *warn_layer_name(WarnLayer l);
const char *warn_layer_text(WarnLayer l);
/* By its code; WARN_N: there is none. */
WarnId warn_by_code(Str code);

enum { WARN_EVIDENCE = 200, WARN_PEERS = 8 };

typedef struct WarnPeer {
	Ip ip; /* v 0: nobody's */
	uint32_t count;
	char evidence[WARN_EVIDENCE]; /* zero-terminated */
} WarnPeer;

typedef struct Warning {
	uint32_t count; /* of all peers */
	uint32_t n;
	WarnPeer peer[WARN_PEERS];
} Warning;

typedef struct Warnings {
	Warning w[WARN_N];
} Warnings;

#define WARN_NOBODY ((Ip){ 0 })

/* Counts `n` more for that peer; the text is kept if it is the first. */
void warn_add(Warnings *ws, WarnId id, Ip peer, uint32_t n, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Which warnings a single packet gave. */
typedef struct WarnSet {
	uint64_t w[2];
} WarnSet;

_Static_assert(WARN_N <= 128, "a WarnSet holds all warnings");

static inline void warn_set(WarnSet *s, WarnId id)
{
	s->w[id / 64] |= UINT64_C(1) << id % 64;
}

static inline bool warn_is_set(const WarnSet *s, WarnId id)
{
	return s->w[id / 64] >> id % 64 & 1;
}

static inline bool warn_set_any(const WarnSet *s)
{
	return s->w[0] || s->w[1];
}

#endif
