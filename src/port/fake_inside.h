/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fake's own files share.
 */
#ifndef SONDE_PORT_FAKE_INSIDE_H
#define SONDE_PORT_FAKE_INSIDE_H

#include "base/limits.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "port/fake.h"
#include "wire/wire.h"

#include <stddef.h>

enum { FAKE_PATH = 32, FAKE_PORTS = 32 };

typedef struct FakeLink {
	int64_t delay, jitter, backdelay;
	double loss, backloss, dup, reorder, corrupt;
	uint32_t mtu, backmtu; /* 0: none */
} FakeLink;

typedef struct FakeHop {
	Ip ip, ecmp;
	FakeLink link;
	bool silent, blackhole;
	uint32_t icmprate, quote, mss;
	int tos; /* -1: as it is */
	uint8_t strip;
	Ip nat;
	int64_t bucket_at; /* icmprate: when the last error was sent, and the tokens left then */
	double tokens;
} FakeHop;

typedef struct FakePorts {
	uint32_t n;
	uint16_t p[FAKE_PORTS];
} FakePorts;

typedef struct FakeName {
	Str name;
	Ip ip;
	Str txt;
} FakeName;

/* What a host's answers look like, and which of its requests it answers how. */
typedef struct FakeManner {
	uint32_t ttl, tos, id, window, code, copies;
	bool has_say, has_mask;
	Bytes say;
	uint32_t mask, late;
} FakeManner;

/* ---- hosts with a stack of their own (fake_stack.c) ---- */

typedef struct NetStack NetStack;
typedef struct TcpConn TcpConn;
typedef struct TcpListener TcpListener;

typedef enum FakeApp { FAKE_ECHO, FAKE_SINK, FAKE_GREET, FAKE_HANGUP, FAKE_RUDE, FAKE_STUCK, FAKE_DNS } FakeApp;

typedef struct FakeService {
	uint16_t port;
	FakeApp app;
	TcpListener *listener;
} FakeService;

/* The host connects to a port of ours. */
typedef struct FakeCall {
	uint16_t port;
	int64_t at;
	bool made;
} FakeCall;

typedef struct FakeSession {
	TcpConn *conn;
	FakeApp app;
} FakeSession;

enum { FAKE_CALLS = 64 };

typedef struct FakePeer {
	NetStack *stack;
	uint32_t nports, ncalls;
	FakeService port[FAKE_PORTS];
	FakeCall call[FAKE_CALLS];
	VEC(FakeSession) session;
	int64_t wake; /* an event is out for then */
} FakePeer;

typedef struct FakeHost {
	Ip ip;
	FakeLink link;
	bool has_mac, has_mac2, noecho, returns, broadcast, nostamps;
	Mac mac, mac2;
	FakePorts tcp, udp, discard, filtered;
	VEC(FakeName) dns;
	uint32_t mss;
	FakeManner manner;
	int64_t dies, reboots; /* when; 0: never */
	FakePeer *peer; /* NULL: TCP as far as probes ask */
	FakePorts serve[FAKE_DNS + 1]; /* by FakeApp, until the text is read */
	uint32_t requests; /* that reached it */
	bool late;	   /* of the one being answered */
	uint32_t npath;
	FakeHop *path[FAKE_PATH];
} FakeHost;

typedef struct FakeConn {
	Ip src;
	const FakeHost *host;
	uint16_t sport, dport;
	uint32_t iss, rcv_nxt;
	bool established, closed;
} FakeConn;

typedef struct FakeEvent {
	int64_t at;
	uint64_t order; /* of making: what breaks ties */
	Msg m;
	FakeHost *peer; /* not NULL: something for that host instead of a message */
	Bytes packet;	/* that reaches it; empty: its time has come */
} FakeEvent;

struct Fake {
	Port port;
	Arena *a;
	uint64_t seed, draws, order, hash;
	int64_t now;
	bool started, stopped;
	VEC(FakeEvent) event; /* a heap */
	VEC(FakeHop *) hop;
	VEC(FakeHost *) host;
	VEC(FakeConn) conn;
	VEC(FakeName) pin;
	VEC(Ip) resolver;
	Str iface;
	Net net;
	Ip ip, gateway;
	Ip ip6;
	Net net6;
	Mac mac;
	uint32_t mtu, ports;
	uint32_t limit_packets;
	int64_t limit_time, local_queue;
	uint64_t leak; /* bits */
	bool measurements;
	uint32_t drops; /* of the capture: the first frames */
	uint32_t dropped;
	uint32_t backlog; /* likewise: by the gate, for the engine is slow */
	uint32_t late_by;
	int64_t step;  /* of the wall clock, in place of the first frame */
	int64_t early; /* frames are stamped that much too early */
	bool unstamped;
	uint32_t in_flight;
	uint32_t refused;
	FakeSentFn *watch;
	void *watch_ctx;
	FakeCount count;
};

/* An IP packet taken apart and put together again. */
typedef struct FakePacket {
	Ip src, dst;
	uint8_t ttl, tos, proto;
	uint16_t id;
	bool df;
	Bytes body;
} FakePacket;

bool fake_parse(Bytes b, FakePacket *ret_p);
Bytes fake_bytes(Fake *f, const FakePacket *p);
/* The transport checksum written anew. */
void fake_checksum(FakePacket *p);

double fake_chance(Fake *f);
void fake_event(Fake *f, int64_t at, const Msg *m);

/* A packet of ours leaves at tx; what comes of it is queued. */
void fake_send(Fake *f, Bytes packet, int64_t tx);
/* A group or broadcast address, and what comes of a packet to it. */
bool fake_to_many(const Fake *f, Ip ip);
void fake_send_many(Fake *f, Bytes packet, int64_t tx);
/* ARP who-has. */
void fake_arp(Fake *f, Bytes arp, int64_t tx);
/* A packet reaches its host at `at`; replies go to fake_reply. */
void fake_host_input(Fake *f, FakeHost *h, const FakePacket *p, int64_t at);
/* From the host or (depth below npath) the hop of that number, back to us. */
void fake_reply(Fake *f, FakeHost *h, uint32_t depth, FakePacket p, int64_t at);
/* An ICMP error about `about`, quoting `quote` bytes behind its IP header. */
FakePacket fake_error(Fake *f, Ip by, const FakePacket *about, uint8_t type, uint8_t code, uint32_t word,
		      uint32_t quote);

FakeHost *fake_host(Fake *f, Ip ip);

/* A DNS message's answer; empty: it is none. */
Bytes fake_dns(Fake *f, const FakeHost *h, Bytes query);

/* ---- fake_stack.c ---- */
void fake_serve(Fake *f, FakeHost *h, uint16_t port, FakeApp app);
void fake_call(Fake *f, FakeHost *h, uint16_t port, int64_t at);
bool fake_serves(const FakeHost *h, uint16_t port);
void fake_peer_event(Fake *f, FakeHost *h, int64_t at, Bytes packet);
void fake_peer_run(Fake *f, FakeHost *h, Bytes packet);
void fake_peers_start(Fake *f);

#endif
