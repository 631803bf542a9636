/* SPDX-License-Identifier: Apache-2.0
 *
 * What the expert's own files share: what it remembers, and how it says things.
 */
#ifndef SONDE_PROBE_EXPERT_INSIDE_H
#define SONDE_PROBE_EXPERT_INSIDE_H

#include "probe/expert.h"

enum { NOTES = 8192, NOTE_STEPS = 64, ASKED = 4096, OWN_MACS = 32 };

/* What is remembered, each kind with its own key: an address and a number. */
typedef enum NoteKind {
	NOTE_FREE,
	NOTE_ARP,	/* who claims it: address -> v: MAC */
	NOTE_MAC,	/* where its packets come from: address -> v: MAC */
	NOTE_CLAIMS,	/* MAC -> n: addresses that it answered for */
	NOTE_TTL,	/* address, protocol, port, reset -> v: TTL */
	NOTE_TTL_PROTO, /* address, protocol -> v: TTL */
	NOTE_DISTANCE,	/* address -> v: hops, n: protocol */
	NOTE_IP_ID,	/* address, protocol -> v: id, n: how often in a row */
	NOTE_FLOW_HOP,	/* destination, TTL, flow -> at: who answered */
	NOTE_HOP,	/* destination, TTL -> at: who answered */
	NOTE_ROUTER,	/* destination, flow and router -> v: TTL */
	NOTE_DNS,	/* server, question -> v: hash of the answers, n: RCODE */
	NOTE_DNS_ANY,	/* question -> at: server, v: hash of the answers, n: RCODE */
	NOTE_TSVAL,	/* address, ports -> v: TCP time stamp */
} NoteKind;

typedef struct Note {
	uint8_t kind;
	Ip ip;
	uint64_t what;
	Ip at;
	uint64_t v;
	uint32_t n;
} Note;

/* Whom we asked from which port: the latest of those whose key is the same. */
typedef struct Asked {
	uint64_t key; /* protocol, our port, theirs */
	Ip whom;
	uint8_t flags; /* of TCP */
} Asked;

struct Expert {
	Warnings *ws;
	WarnSet odd; /* of the frame at hand */
	bool tagged; /* we send VLAN tags ourselves */
	uint32_t own_macs;
	Mac own_mac[OWN_MACS];
	uint32_t notes;
	Note note[NOTES];
	Asked asked[ASKED];
};

/* What is known under that key; a new one is made if there is none (*ret_new).  NULL:
 * the table is full, or crowded by whoever chose the keys. */
Note *expert_note(Expert *e, NoteKind kind, Ip ip, uint64_t what, bool *ret_new);

/* Counts a warning of the frame at hand. */
#define EXPERT_SAY(e, id, peer, ...) (warn_set(&(e)->odd, (id)), warn_add((e)->ws, (id), (peer), 1, __VA_ARGS__))

typedef struct IpText {
	char s[IP_TEXT];
} IpText;

IpText expert_ip_text(Ip ip);

static inline bool expert_is_icmp(const PacketId *id)
{
	return id->proto == (id->v == 4 ? PROTO_ICMP : PROTO_ICMP6);
}

/* The hops that a packet came, by the TTL that most senders start with; -1: can't tell. */
int expert_hops(uint8_t ttl);

/* A whole packet, not a piece of one. */
static inline bool expert_is_whole(const PacketId *id)
{
	return id->packet.n == id->ip_len && !id->fragment && id->have & HAVE_HEADER;
}

void expert_link(Expert *e, const ExpertFrame *f);
void expert_ip(Expert *e, const ExpertFrame *f);
void expert_tcp_segment(Expert *e, const PacketId *id);

void expert_answer_ip(Expert *e, const PacketId *probe, const PacketId *answer);
void expert_answer_tcp(Expert *e, const PacketId *probe, const PacketId *answer);
void expert_answer_dns(Expert *e, const PacketId *probe, const PacketId *answer);
void expert_quote(Expert *e, const PacketId *probe, const PacketId *answer);

#endif
