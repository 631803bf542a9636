/* SPDX-License-Identifier: Apache-2.0
 *
 * What the expert's tests share: packets, showing them to the expert, judging what it
 * said.
 *
 * Each case first shows healthy traffic of its kind, which must give no warning at all,
 * and then the oddity, which must give just its own.  Packets are written byte by byte
 * (test_packets.h); the matcher is the real one.
 */
#ifndef SONDE_PROBE_EXPERT_TESTING_H
#define SONDE_PROBE_EXPERT_TESTING_H

#include "probe/expert.h"
#include "wire/test_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint32_t ME = 0x0a000001, PEER = 0x0a000002, OTHER = 0x0a000003, FAR = 0x0a090002;
static const uint8_t OUR_MAC[6] = { 2, 0, 0, 0, 0, 1 }, PEER_MAC[6] = { 2, 0, 0, 0, 0, 2 },
		     OTHER_MAC[6] = { 2, 0, 0, 0, 0, 3 };

static Arena arena;
static Warnings *ws;
static Expert *expert;
static Matcher *matcher;

static inline int setup(void **state)
{
	static uint8_t memory[16 << 20];

	(void)state;
	arena_init(&arena, memory, sizeof memory, NULL);
	ws = arena_new(&arena, Warnings);
	expert = expert_new(&arena, ws);
	matcher = matcher_new(&arena);
	expert_own_mac(expert, *(const Mac *)OUR_MAC);
	return 0;
}

/* ---- showing ---- */

static inline ExpertFrame view(PacketId *id, Bytes frame, WireId first)
{
	Net link = { ip4(0x0a000000), 24 };

	assert_true(packet_id_read(frame, first, id));
	return (ExpertFrame){ .id = id,
			      .frame = frame,
			      .first = first,
			      .orig_len = (uint32_t)frame.n,
			      .mtu = 1500,
			      .from_link = id->src.v == 4 && net_has(link, id->src),
			      .from_ours = ip_eq(id->src, ip4(ME)),
			      .to_ours = ip_eq(id->dst, ip4(ME)),
			      .stamped = true };
}

static inline void see_frame(Bytes frame, WireId first)
{
	PacketId id;
	ExpertFrame f = view(&id, frame, first);

	expert_frame(expert, &f);
}

static inline void see(Bytes packet)
{
	see_frame(packet, packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP);
}

/* With checksums as they were sent. */
static inline void see_computed(Bytes packet)
{
	PacketId id;
	ExpertFrame f = view(&id, packet, packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP);

	f.computed = true;
	expert_frame(expert, &f);
}

static inline Bytes ask(Bytes packet)
{
	WireId first = packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP;
	PacketId id;

	assert_true(packet_id_read(packet, first, &id));
	expert_probe(expert, &id, false);
	assert_true(matcher_add(matcher, packet, first, 0, 0));
	return packet;
}

static inline void got(Bytes packet)
{
	PacketId id;
	uint32_t n;

	see(packet);
	assert_true(packet_id_read(packet, packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP, &id));
	const Match *m = matcher_match(matcher, &id, &n);
	for (uint32_t i = 0; i < n; i++)
		expert_match(expert, matcher_probe(matcher, m[i].probe), &id, &m[i]);
}

/* ---- judging ---- */

static inline void nothing(void)
{
	for (unsigned i = 0; i < WARN_N; i++)
		if (ws->w[i].count)
			fail_msg("%s: %s", warn_row((WarnId)i)->code, ws->w[i].peer[0].evidence);
}

/* Just this one, with an evidence; told of the last frame too. */
static inline void only(WarnId id)
{
	WarnSet odd = expert_odd(expert);

	if (!ws->w[id].count)
		print_error("%s was not said\n", warn_row(id)->code);
	assert_true(ws->w[id].count > 0);
	assert_true(warn_is_set(&odd, id));
	assert_true(ws->w[id].peer[0].evidence[0] != 0);
	ws->w[id] = (Warning){ 0 };
	nothing();
}

/* ---- packets ---- */

static inline Bytes ip(uint32_t src, uint32_t dst, uint8_t proto, Bytes body)
{
	static uint16_t id;

	return tp_ip4((TpIp){ .src = src, .dst = dst, .proto = proto, .id = ++id }, body);
}

static inline Bytes with_ttl(Bytes p, uint8_t ttl)
{
	uint8_t *q = (uint8_t *)p.p;

	q[8] = ttl;
	put_be16(q + 10, 0);
	put_be16(q + 10, wire_csum_fold(wire_csum(0, BYTES(q, 20))));
	return p;
}

static inline Bytes with_tos(Bytes p, uint8_t tos)
{
	((uint8_t *)p.p)[1] = tos;
	return with_ttl(p, p.p[8]);
}

static inline Bytes with_frag(Bytes p, uint16_t frag)
{
	put_be16((uint8_t *)p.p + 6, frag);
	return with_ttl(p, p.p[8]);
}

static inline Bytes with_id(Bytes p, uint16_t id)
{
	put_be16((uint8_t *)p.p + 4, id);
	return with_ttl(p, p.p[8]);
}

static inline Bytes ip6(uint8_t src, uint8_t dst, uint8_t proto, Bytes body)
{
	Writer w = tp_writer();

	wr_be32(&w, 0x60000000);
	wr_be16(&w, (uint16_t)body.n);
	wr_be16(&w, (uint16_t)(proto << 8 | 64));
	wr_be16(&w, 0xfd00);
	wr_zeros(&w, 13);
	wr_u8(&w, src);
	wr_be16(&w, 0xfd00);
	wr_zeros(&w, 13);
	wr_u8(&w, dst);
	wr_bytes(&w, body);
	return wr_done(&w);
}

static inline Bytes echo(uint16_t seq, const char *text)
{
	return ip(ME, PEER, 1, tp_icmp(8, 0, 7u << 16 | seq, BYTES(text, strlen(text))));
}

static inline Bytes echo_reply(uint16_t seq, const char *text)
{
	return ip(PEER, ME, 1, tp_icmp(0, 0, 7u << 16 | seq, BYTES(text, strlen(text))));
}

static inline Bytes udp(uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	return ip(src, dst, 17, tp_udp(sport, dport, TP_TEXT("abcd")));
}

/* An error of `by` that quotes so many bytes of p. */
static inline Bytes error_of(uint32_t by, uint8_t type, uint8_t code, uint32_t word, Bytes p, size_t n)
{
	return ip(by, ME, 1, tp_icmp(type, code, word, bytes_slice(p, 0, n)));
}

static inline Bytes copy_of(Bytes p)
{
	Writer w = tp_writer();

	wr_bytes(&w, p);
	return wr_done(&w);
}

/* TTL left: as the router that says so sees it. */
static inline Bytes arrived(Bytes p, uint8_t ttl)
{
	return with_ttl(copy_of(p), ttl);
}

enum { S = TCP_SYN, A = TCP_ACK, R = TCP_RST, F = TCP_FIN };

typedef struct Segment {
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t window;
	const char *options, *data;
	uint8_t n;
} Segment;

#define OPT_MSS "\2\4\5\xb4"
#define OPT_SMALL "\2\4\0\x64"
#define OPT_SACK "\4\2"
#define OPT_SCALE "\1\3\3\7"
#define OPT_SCALE_15 "\1\3\3\17"
#define OPTIONS(s) .options = (s), .n = sizeof(s) - 1

static inline Bytes tcp(uint32_t src, uint32_t dst, Segment s)
{
	Writer w = tp_writer();
	size_t pad = (4 - s.n % 4u) % 4;

	wr_be16(&w, s.sport);
	wr_be16(&w, s.dport);
	wr_be32(&w, s.seq);
	wr_be32(&w, s.ack);
	wr_u8(&w, (uint8_t)((20 + s.n + pad) / 4 << 4));
	wr_u8(&w, s.flags);
	wr_be16(&w, s.window);
	wr_be32(&w, 0);
	wr_bytes(&w, BYTES(s.options, s.n));
	while (pad--)
		wr_u8(&w, 1);
	if (s.data)
		wr_bytes(&w, BYTES(s.data, strlen(s.data)));
	return ip(src, dst, 6, wr_done(&w));
}

#define SYN_OPTIONS OPTIONS(OPT_MSS OPT_SACK OPT_SCALE)

static inline Bytes ask_syn(uint16_t sport, uint16_t dport)
{
	return ask(tcp(ME, PEER, (Segment){ sport, dport, 1000, 0, S, 65535, SYN_OPTIONS }));
}

/* What PEER answers from port 80 to 5000. */
static inline Bytes reply(Segment s)
{
	s.sport = s.sport ? s.sport : 80;
	s.dport = s.dport ? s.dport : 5000;
	return tcp(PEER, ME, s);
}

static inline Bytes syn_ack(void)
{
	return reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 64000, SYN_OPTIONS });
}

/* A healthy handshake on another port, and its peer known. */
static inline void healthy_tcp(void)
{
	ask_syn(4999, 80);
	got(reply((Segment){ .dport = 4999, .seq = 9, .ack = 1001, .flags = S | A, .window = 64000, SYN_OPTIONS }));
	ask_syn(4998, 81);
	got(reply((Segment){ .sport = 81, .dport = 4998, .seq = 0, .ack = 1001, .flags = R | A }));
	nothing();
	ask_syn(5000, 80);
}

static inline Bytes ether(const uint8_t *dst, const uint8_t *src, uint16_t type, Bytes body, size_t pad, uint8_t with)
{
	Writer w = tp_writer();

	wr_bytes(&w, BYTES(dst, 6));
	wr_bytes(&w, BYTES(src, 6));
	wr_be16(&w, type);
	wr_bytes(&w, body);
	while (pad--)
		wr_u8(&w, with);
	return wr_done(&w);
}

static inline void see_ether(const uint8_t *dst, const uint8_t *src, Bytes packet)
{
	see_frame(ether(dst, src, 0x0800, packet, 0, 0), WIRE_ETHER);
}

static inline void see_arp(const uint8_t *src, uint16_t op, const uint8_t *mac, uint32_t addr)
{
	Writer w = tp_writer();

	wr_be32(&w, 0x00010800);
	wr_be16(&w, 0x0604);
	wr_be16(&w, op);
	wr_bytes(&w, BYTES(mac, 6));
	wr_be32(&w, addr);
	wr_bytes(&w, BYTES(OUR_MAC, 6));
	wr_be32(&w, ME);
	see_frame(ether(OUR_MAC, src, 0x0806, wr_done(&w), 18, 0), WIRE_ETHER);
}

/* ---- a case: nothing is kept from the one before ---- */

typedef struct Case {
	void (*run)(void);
} Case;

static inline void run_case(void **state)
{
	((const Case *)*state)->run();
}

static inline int setup_case(void **state)
{
	void *c = *state;

	setup(state);
	*state = c;
	return 0;
}

#define CASE(f) { #f, run_case, setup_case, NULL, (void *)&(Case){ f } }

#endif
