/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests: rules from a few words of text, frames from a struct.
 *
 * Declarations are statements between semicolons:
 *   reach NET|NAME|? [tcp=80,1-9] [udp=..] [tcp=all] [icmp] [other=89] [vlan=10] [+word ..]
 *   deny ...            the same
 *   emit NET|NAME|? tcp|udp|icmp|icmp6|arp|PROTO [ports] [sport=5000] [src=IP] [ether] [+word ..]
 *   spoof IP|MAC [rate=] [max=]     listen PORT NET     capture all|FILTER_WITHOUT_BLANKS
 *   zone all|NAME   resolver IP   allow_self NET   budget packets=10 ...   approve spoof capture leak=9 reach=NET
 *   worst PACKETS   name NAME   reflect FIELD SRC DST MAX
 */
#ifndef SONDE_GATE_TEST_LAB_H
#define SONDE_GATE_TEST_LAB_H

#include "gate/budget.h"
#include "gate/frame_check.h"

enum { LAB_POLICIES = 4, LAB_FRAME = 4096 };

typedef struct Lab {
	Arena a;
	Findings f;
	Manifest m;
	Policy policy[LAB_POLICIES];
	RulesInput in;
	Rules *r;
	Owned owned;
	Flows flows;
	FrameCheck fc;
	GateLink link, other;
	OwnAddr own[8];
	Pin pins[8];
	char *source; /* of the program, for spans: its text */
} Lab;

/* Own addresses: 127.0.0.1/8 ::1; eth0 10.0.0.1/24 fd00:1::1/64 fe80::1/64; eth1 192.168.5.1/24. */
void lab_init(Lab *l, void *mem, size_t size);
void lab_program(Lab *l, const char *text);
/* The first one is the system's. */
void lab_policy(Lab *l, const char *file, const char *text);
void lab_builtin(Lab *l);
void lab_pin(Lab *l, const char *name, const char *ip);
bool lab_make(Lab *l);
/* Owned, flows and check on the rules made. */
void lab_start(Lab *l);
/* A started lab in which anything may be reached but 203.0.113.0/24 and
 * 2001:db8:bad::/48: TCP 80, UDP 9 and 53 (zone acme.corp), ICMP; and, in program
 * and policy, what `lift` says in the words of hostile_frames.h (or NULL). */
bool lab_with(Lab *l, void *mem, size_t size, const char *lift);
/* All findings, as a person reads them. */
const char *lab_text(Lab *l);

Ip lab_ip(const char *z);
Mac lab_mac(const char *z);

/* ---- frames ---- */

/* A packet to be built; what is zero is filled in as a sender would. */
typedef struct Spec {
	bool ether;
	Mac edst, esrc;
	uint16_t etype;
	uint16_t tag[3];
	unsigned ntags;
	Ip src, dst;
	uint8_t proto;
	uint8_t version;     /* in the header, if not the family's */
	Bytes options;       /* IPv4 */
	uint8_t ext;         /* IPv6: the first extension header, ... */
	Bytes exts;          /* ... and the bytes of all of them; the last one's next header is proto */
	uint16_t frag;       /* IPv4: flags and offset */
	uint16_t id;
	int ihl_add, total_add, udp_add, doff_add;
	uint16_t sport, dport;
	uint8_t flags;       /* TCP */
	uint8_t type, code;  /* ICMP; sport is the id */
	Bytes data;
	Bytes raw;           /* instead of transport header and data, if not empty */
	unsigned pad;        /* zeros behind the packet */
	Bytes trail;         /* bytes behind the packet */
	Bytes arp;           /* instead of all behind the Ethernet header */
} Spec;

void spec_build(const Spec *s, Writer *w);

/* Who is where: for frames that fit the lab, or another place. */
typedef struct Scene {
	Mac mac, hop;        /* ours, the next hop's */
	Ip us4, peer4, us6, peer6;
	uint16_t sport;      /* held by us, TCP and UDP, on both addresses */
	uint16_t id;         /* held ICMP id */
	uint16_t tcp, udp;   /* in the manifest */
} Scene;

Scene lab_scene(void);

Spec spec_udp(const Scene *s);
Spec spec_tcp(const Scene *s);
Spec spec_icmp(const Scene *s);
Spec spec_udp6(const Scene *s);
Spec spec_icmp6(const Scene *s);
Spec spec_arp(const Scene *s, uint8_t *store);
Spec spec_ns(const Scene *s, uint8_t *store);
Spec spec_ether(Spec s, const Scene *sc);

#endif
