/* SPDX-License-Identifier: Apache-2.0
 *
 * A live connection for fuzz targets: our stack on one side, a peer made of the input's
 * bytes on the other.
 *
 * Payload is a function of its sequence number, in both directions.  So whatever is sent
 * again, overlaps or comes late, each byte that is read must be the one its number says,
 * and each that leaves too.
 */
#ifndef SONDE_TCPIP_FUZZ_LIVE_H
#define SONDE_TCPIP_FUZZ_LIVE_H

#include "tcpip/inside.h"
#include "tcpip/udp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIVE_MEMORY = 8 << 20, LIVE_MTU = 1500, LIVE_PORT = 7000, LIVE_SPORT = 20000, LIVE_IRS = 0xfffff000, TCP_HDR = 20 };
enum { F_FIN = 1, F_SYN = 2, F_RST = 4, F_ACK = 16 };

typedef struct Live {
	Arena a;
	NetStack *s;
	TcpConn *c; /* NULL: released */
	DgramSocket *d;
	Ip us, peer;
	int64_t now_ns;
	uint32_t written;     /* bytes given to tcp_send */
	uint32_t read;	      /* bytes taken by tcp_recv */
	uint32_t iss;	      /* ours, as the SYN had it */
	bool passive, plain;
	bool crafted;	      /* bytes that only a crafted segment carried shift all behind them, if they are taken */
	uint32_t drops;	      /* bits: the next packets out that our own side loses */
	uint8_t packet[IP_MAX];
} Live;

static inline void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- bytes by number ---- */

static inline uint8_t live_byte(uint32_t seq)
{
	return (uint8_t)(seq * 2654435761u >> 24);
}

/* ---- what comes in ---- */

/* A segment of the peer's, checksummed, into l->packet. */
static inline Bytes live_segment(Live *l, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t window, Bytes options,
				 size_t payload)
{
	IpPacket ip = { .src = l->peer, .dst = l->us, .proto = IP_PROTO_TCP, .ttl = 60, .df = true };
	size_t opt = options.n > 40 ? 40 : options.n & ~(size_t)3, n = TCP_HDR + opt + payload;
	size_t hdr = ip_packet_write(&ip, n, l->packet);
	uint8_t *t = l->packet + hdr;

	put_be16(t, LIVE_PORT);
	put_be16(t + 2, l->passive ? LIVE_PORT : LIVE_SPORT);
	put_be32(t + 4, seq);
	put_be32(t + 8, ack);
	t[12] = (uint8_t)((TCP_HDR + opt) << 2);
	t[13] = flags;
	put_be16(t + 14, window);
	put_be32(t + 16, 0);
	if (opt)
		memcpy(t + TCP_HDR, options.p, opt);
	for (size_t i = 0; i < payload; i++)
		t[TCP_HDR + opt + i] = live_byte(seq + (flags & F_SYN ? 1 : 0) + (uint32_t)i);
	uint16_t sum = ip_csum_done(ip_csum_add(ip_pseudo_sum(&ip, n), BYTES(t, n)));

	memcpy(t + 16, &sum, sizeof sum);
	return BYTES(l->packet, hdr + n);
}

static inline void live_input(Live *l, Bytes packet)
{
	stack_input(l->s, l->now_ns, packet, &(StackRx){ .mtu = LIVE_MTU });
}

/* ---- what goes out ---- */

static inline void live_check_out(Live *l, Bytes packet)
{
	IpPacket ip;

	must(ip_packet_read(packet, &ip));
	must(packet.n <= LIVE_MTU && ip_eq(ip.src, l->us) && ip_eq(ip.dst, l->peer));
	if (ip.fragment || ip.proto != IP_PROTO_TCP)
		return;
	const uint8_t *t = ip.payload.p;
	must(ip.payload.n >= TCP_HDR);
	size_t hdr = (size_t)(t[12] >> 4) * 4;
	must(hdr >= TCP_HDR && hdr <= ip.payload.n);
	must(ip_csum_done(ip_csum_add(ip_pseudo_sum(&ip, ip.payload.n), ip.payload)) == 0);
	uint32_t seq = get_be32(t + 4);
	if (t[13] & F_SYN)
		l->iss = seq;
	/* a window probe may carry a byte that is there already (RFC 9293 3.8.6.1), a keep-alive one too */
	for (size_t i = hdr; i < ip.payload.n && !(t[13] & F_SYN) && !l->crafted; i++)
		must(t[i] == live_byte(seq + (uint32_t)(i - hdr)) || (ip.payload.n - hdr == 1));
}

static inline void live_pull(Live *l)
{
	StackOut out;

	for (int i = 0; i < 10000 && stack_pull(l->s, l->now_ns, &out); i++) {
		live_check_out(l, out.packet);
		if (l->drops & 1)
			stack_notsent(l->s, out.tag, UNSENT_LOST);
		else
			stack_sent(l->s, out.tag, l->now_ns);
		l->drops >>= 1;
	}
	must(!stack_pull(l->s, l->now_ns, &out)); /* it comes to an end */
}

static inline void live_check(Live *l)
{
	live_pull(l);
	must(!l->c || !tcp_check(l->c));
}

/* ---- the owner ---- */

static inline void live_read(Live *l, size_t n)
{
	uint8_t buf[512];

	n = l->c ? tcp_recv(l->c, l->now_ns, buf, n < sizeof buf ? n : sizeof buf) : 0;
	for (size_t i = 0; i < n; i++)
		must(buf[i] == live_byte(l->c->irs + 1 + l->read + (uint32_t)i));
	l->read += (uint32_t)n;
}

static inline void live_write(Live *l, size_t n)
{
	uint8_t buf[8192];

	if (!l->c || !l->iss)
		return;
	n = n < sizeof buf ? n : sizeof buf;
	for (size_t i = 0; i < n; i++)
		buf[i] = live_byte(l->iss + 1 + l->written + (uint32_t)i);
	l->written += (uint32_t)tcp_send(l->c, l->now_ns, BYTES(buf, n));
}

static inline void live_advance(Live *l, int64_t ns)
{
	l->now_ns += ns;
	stack_advance(l->s, l->now_ns);
	must(stack_wake_ns(l->s) > l->now_ns);
}

/* ---- start ---- */

enum { LIVE_PASSIVE = 1, LIVE_V6 = 2, LIVE_PLAIN = 4, LIVE_NEWRENO = 8, LIVE_SYN_SENT = 16, LIVE_ECN = 32, LIVE_KEEP = 64, LIVE_NAGLE = 128 };

static inline TcpOpen live_open(const Live *l, uint8_t how)
{
	bool rich = !(how & LIVE_PLAIN);

	return (TcpOpen){ .src = l->us,
			  .dst = l->peer,
			  .sport = LIVE_SPORT,
			  .dport = LIVE_PORT,
			  .mtu = LIVE_MTU,
			  .wscale = rich ? 3 : WSCALE_NONE,
			  .sack = rich,
			  .timestamps = rich,
			  .ecn = how & LIVE_ECN,
			  .window = 20000,
			  .window_max = how & LIVE_PLAIN ? 0 : 200000,
			  .send_buffer = 60000,
			  .ttl = 64,
			  .nagle = how & LIVE_NAGLE,
			  .log = true,
			  .keepalive_ns = how & LIVE_KEEP ? INT64_C(5000000000) : 0,
			  .cc = how & LIVE_NEWRENO ? TCP_NEWRENO : TCP_CUBIC };
}

/* The peer's SYN or SYN-ACK with what both may agree on: MSS, SACK, time stamps, scale 2. */
static inline Bytes live_syn_options(const Live *l)
{
	static const uint8_t rich[20] = { 2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 2 };

	return BYTES(rich, l->plain ? 4 : sizeof rich);
}

static inline void live_start(Live *l, uint8_t *memory, uint8_t how)
{
	TcpOpen o;

	memset(l, 0, offsetof(Live, packet));
	arena_init(&l->a, memory, LIVE_MEMORY, NULL);
	l->s = stack_new(&l->a, &(StackConfig){ .seed = how, .max_bytes = LIVE_MEMORY / 2 });
	l->now_ns = 1000000000;
	l->passive = how & LIVE_PASSIVE;
	l->plain = how & LIVE_PLAIN;
	l->us = how & LIVE_V6 ? ip_from(6, (const uint8_t[16]){ 0xfd, [15] = 1 }) : ip4(0x0a000001);
	l->peer = how & LIVE_V6 ? ip_from(6, (const uint8_t[16]){ 0xfd, [15] = 2 }) : ip4(0x0a000002);
	o = live_open(l, how);
	if (!l->passive) {
		l->c = tcp_connect(l->s, l->now_ns, &o);
		must(l->c);
		live_pull(l);
		if (!(how & LIVE_SYN_SENT))
			live_input(l, live_segment(l, F_SYN | F_ACK, LIVE_IRS, l->iss + 1, 65535, live_syn_options(l), 0));
		live_check(l);
		must(l->c->state == (how & LIVE_SYN_SENT ? TCP_SYN_SENT : TCP_ESTABLISHED));
		return;
	}
	TcpListener *lis = tcp_listen(l->s, l->us, LIVE_PORT, 4, &o);
	must(lis);
	live_input(l, live_segment(l, F_SYN, LIVE_IRS, 0, 65535, live_syn_options(l), 0));
	live_pull(l);
	uint8_t ts[12] = { 1, 1, 8, 10, 0, 0, 0, 2 };
	/* its time stamp echoes ours, which is at the SYN-ACK's usual place or not needed */
	live_input(l, live_segment(l, F_ACK, LIVE_IRS + 1, l->iss + 1, 65535, BYTES(ts, l->plain ? 0 : 12), 0));
	live_pull(l);
	l->c = tcp_accept(lis);
	must(l->c && l->c->state == TCP_ESTABLISHED);
}

#endif
