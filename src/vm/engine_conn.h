/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections in the engine: what engine_conn.c, net_conn*.c and net_load.c share.
 */
#ifndef SONDE_VM_ENGINE_CONN_H
#define SONDE_VM_ENGINE_CONN_H

#include "vm/engine_inside.h"

#include "tcpip/tcp.h"
#include "tcpip/udp.h"

enum { STACK_SEED = 0x5ac4, LISTEN_PEERS = 16 };

typedef struct Load Load;

/* A connection or a datagram socket that the program holds. */
struct Live {
	TcpConn *tcp;	 /* NULL: none could be made (`why`), or it is a datagram socket */
	DgramSocket *udp;
	Ip src, dst;
	uint16_t sport, dport;
	bool retired;	 /* closed, and its place is another's: tcp has its figures alone */
	LiveTls *tls;	 /* net_tls.c; NULL: what TCP carries is what the program sees */
	const char *why; /* no connection: why not */
	uint8_t n_offered, n_peer;
	uint8_t offered[TCP_OPTIONS_MOST], peer[TCP_OPTIONS_MOST]; /* of the SYNs, as on the wire */
};

struct Listener {
	TcpListener *tcp;
	Ip src;
	uint16_t port;
	uint32_t n_peers;
	Net peers[LISTEN_PEERS];
};

/* load(): bytes are made as they leave. */
struct Load {
	Live *live;
	bool udp, done;	   /* done: it sends no more */
	uint32_t size;	   /* of a write or datagram */
	double rate;	   /* bytes a second; 0: as fast as it goes */
	uint64_t left;	   /* bytes; UINT64_MAX: no bound */
	int64_t until_ns;  /* NS_NONE: no bound */
	int64_t next_ns;   /* of the next write, with a rate */
	int64_t first_ns, ended_ns;
	uint64_t queued;   /* bytes */
};

NetStack *engine_stack(Engine *e);
/* The stack's time of now; the run's time of one of the stack's, NS_NONE for none. */
int64_t engine_stack_now(const Engine *e);
int64_t engine_run_time(int64_t stack_ns);
Live *engine_live_add(Engine *e, const Live *l);
/* Whose packet that is, by its flow; ours: sent by us. */
Live *engine_live_of(Engine *e, const PacketId *id, bool ours);

typedef struct LiveOpen {
	Ip dst;
	uint16_t dport;
	const Route *route; /* NULL: stopped or gone */
	Ip src;
	uint32_t mtu;
	uint64_t n; /* number of this, among packets and connections to dst */
} LiveOpen;

/* Where it goes, by the values that connect, datagram and load take.  False: vm_fail. */
bool net_live_open(Engine *e, Vm *vm, Value dst, Value dport, LiveOpen *ret_open);
/* A connection on its way, a datagram socket, or why there is none; sport 0: any.  NULL:
 * stopped or gone. */
Live *net_live_tcp(Engine *e, const LiveOpen *o, TcpOpen *t, int64_t sport);
Live *net_live_datagram(Engine *e, const LiveOpen *o, int64_t sport, uint8_t tos);
/* What connections offer unless the program says otherwise. */
TcpOpen net_live_defaults(void);

static inline Live *live_self(Value v)
{
	return val_native(v)->data;
}

static inline bool live_open(const Live *l)
{
	return l->tcp && (l->tcp->state == TCP_ESTABLISHED || l->tcp->state == TCP_CLOSE_WAIT);
}

const char *live_state(const Live *l);

/* net_tls.c, net_http.c, net_dns.c */
BuiltinFn m_start_tls, bi_timings, bi_http_head, bi_http_read, bi_dns_read, bi_dns_frame;
BuiltinFn bi_said, bi_url_host, bi_url_port, bi_url_tls, bi_url_target, bi_url_authority, bi_url_moved, bi_url_upgrade;

/* net_load.c */
BuiltinFn m_load_stop;
AttrFn a_load_running, a_load_state, a_load_sent, a_load_acked, a_load_throughput, a_load_retransmits;

/* net_conn_text.c: `print(c)` */
Str net_live_text(void *ctx, Vm *vm, const ObjNative *o, bool whole);

#endif
