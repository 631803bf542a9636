/* SPDX-License-Identifier: Apache-2.0
 *
 * The expert: each case first shows it healthy traffic of the same kind, which must
 * give no warning at all, and then the oddity, which must give just its own.
 *
 * Packets are written byte by byte (test_packets.h); the matcher is the real one.
 */
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

static int setup(void **state)
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

static ExpertFrame view(PacketId *id, Bytes frame, WireId first)
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

static void see_frame(Bytes frame, WireId first)
{
	PacketId id;
	ExpertFrame f = view(&id, frame, first);

	expert_frame(expert, &f);
}

static void see(Bytes packet)
{
	see_frame(packet, packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP);
}

/* With checksums as they were sent. */
static void see_computed(Bytes packet)
{
	PacketId id;
	ExpertFrame f = view(&id, packet, packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP);

	f.computed = true;
	expert_frame(expert, &f);
}

static Bytes ask(Bytes packet)
{
	WireId first = packet.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP;
	PacketId id;

	assert_true(packet_id_read(packet, first, &id));
	expert_probe(expert, &id, false);
	assert_true(matcher_add(matcher, packet, first, 0, 0));
	return packet;
}

static void got(Bytes packet)
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

static void nothing(void)
{
	for (unsigned i = 0; i < WARN_N; i++)
		if (ws->w[i].count)
			fail_msg("%s: %s", warn_row((WarnId)i)->code, ws->w[i].peer[0].evidence);
}

/* Just this one, with an evidence; told of the last frame too. */
static void only(WarnId id)
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

static Bytes ip(uint32_t src, uint32_t dst, uint8_t proto, Bytes body)
{
	static uint16_t id;

	return tp_ip4((TpIp){ .src = src, .dst = dst, .proto = proto, .id = ++id }, body);
}

static Bytes with_ttl(Bytes p, uint8_t ttl)
{
	uint8_t *q = (uint8_t *)p.p;

	q[8] = ttl;
	put_be16(q + 10, 0);
	put_be16(q + 10, wire_csum_fold(wire_csum(0, BYTES(q, 20))));
	return p;
}

static Bytes with_tos(Bytes p, uint8_t tos)
{
	((uint8_t *)p.p)[1] = tos;
	return with_ttl(p, p.p[8]);
}

static Bytes with_frag(Bytes p, uint16_t frag)
{
	put_be16((uint8_t *)p.p + 6, frag);
	return with_ttl(p, p.p[8]);
}

static Bytes with_id(Bytes p, uint16_t id)
{
	put_be16((uint8_t *)p.p + 4, id);
	return with_ttl(p, p.p[8]);
}

static Bytes ip6(uint8_t src, uint8_t dst, uint8_t proto, Bytes body)
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

static Bytes echo(uint16_t seq, const char *text)
{
	return ip(ME, PEER, 1, tp_icmp(8, 0, 7u << 16 | seq, BYTES(text, strlen(text))));
}

static Bytes echo_reply(uint16_t seq, const char *text)
{
	return ip(PEER, ME, 1, tp_icmp(0, 0, 7u << 16 | seq, BYTES(text, strlen(text))));
}

static Bytes udp(uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	return ip(src, dst, 17, tp_udp(sport, dport, TP_TEXT("abcd")));
}

/* An error of `by` that quotes so many bytes of p. */
static Bytes error_of(uint32_t by, uint8_t type, uint8_t code, uint32_t word, Bytes p, size_t n)
{
	return ip(by, ME, 1, tp_icmp(type, code, word, bytes_slice(p, 0, n)));
}

static Bytes copy_of(Bytes p)
{
	Writer w = tp_writer();

	wr_bytes(&w, p);
	return wr_done(&w);
}

/* TTL left: as the router that says so sees it. */
static Bytes arrived(Bytes p, uint8_t ttl)
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

static Bytes tcp(uint32_t src, uint32_t dst, Segment s)
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

static Bytes ask_syn(uint16_t sport, uint16_t dport)
{
	return ask(tcp(ME, PEER, (Segment){ sport, dport, 1000, 0, S, 65535, SYN_OPTIONS }));
}

/* What PEER answers from port 80 to 5000. */
static Bytes reply(Segment s)
{
	s.sport = s.sport ? s.sport : 80;
	s.dport = s.dport ? s.dport : 5000;
	return tcp(PEER, ME, s);
}

static Bytes syn_ack(void)
{
	return reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 64000, SYN_OPTIONS });
}

/* A healthy handshake on another port, and its peer known. */
static void healthy_tcp(void)
{
	ask_syn(4999, 80);
	got(reply((Segment){ .dport = 4999, .seq = 9, .ack = 1001, .flags = S | A, .window = 64000, SYN_OPTIONS }));
	ask_syn(4998, 81);
	got(reply((Segment){ .sport = 81, .dport = 4998, .seq = 0, .ack = 1001, .flags = R | A }));
	nothing();
	ask_syn(5000, 80);
}

static Bytes ether(const uint8_t *dst, const uint8_t *src, uint16_t type, Bytes body, size_t pad, uint8_t with)
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

static void see_ether(const uint8_t *dst, const uint8_t *src, Bytes packet)
{
	see_frame(ether(dst, src, 0x0800, packet, 0, 0), WIRE_ETHER);
}

static void see_arp(const uint8_t *src, uint16_t op, const uint8_t *mac, uint32_t addr)
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

/* ---- link ---- */

static void link_ARP_DUP(void)
{
	see_arp(PEER_MAC, 2, PEER_MAC, PEER);
	see_arp(PEER_MAC, 1, PEER_MAC, PEER);
	nothing();
	see_arp(OTHER_MAC, 2, OTHER_MAC, PEER);
	only(WARN_ARP_DUP);
}

static void link_OURS_CLAIMED(void)
{
	see_arp(OUR_MAC, 1, OUR_MAC, ME);
	nothing();
	see_arp(OTHER_MAC, 2, OTHER_MAC, ME);
	only(WARN_OURS_CLAIMED);
}

static void link_ARP_SENDER(void)
{
	see_arp(PEER_MAC, 2, PEER_MAC, PEER);
	nothing();
	see_arp(OTHER_MAC, 2, PEER_MAC, PEER);
	only(WARN_ARP_SENDER);
}

static void link_PROXY_ARP(void)
{
	see_arp(PEER_MAC, 2, PEER_MAC, PEER);
	see_arp(PEER_MAC, 2, PEER_MAC, PEER);
	see_arp(PEER_MAC, 2, PEER_MAC, PEER);
	see_arp(PEER_MAC, 2, PEER_MAC, 0x0a000010);
	nothing();
	see_arp(PEER_MAC, 2, PEER_MAC, 0x0a000011);
	only(WARN_PROXY_ARP);
}

static void link_MAC_CHANGED(void)
{
	see_ether(OUR_MAC, PEER_MAC, echo_reply(1, "abcdefghijklmnopqr"));
	see_ether(OUR_MAC, PEER_MAC, echo_reply(2, "abcdefghijklmnopqr"));
	see_ether(OUR_MAC, OTHER_MAC, ip(FAR, ME, 17, tp_udp(1, 2, TP_TEXT("abcdefghijklmnopqr"))));
	see_ether(OUR_MAC, PEER_MAC, ip(FAR, ME, 17, tp_udp(1, 2, TP_TEXT("abcdefghijklmnopqr")))); /* routed */
	nothing();
	see_ether(OUR_MAC, OTHER_MAC, echo_reply(3, "abcdefghijklmnopqr"));
	only(WARN_MAC_CHANGED);
}

static void link_GROUP_SOURCE(void)
{
	static const uint8_t group[6] = { 3, 0, 0, 0, 0, 2 };

	see_ether(OUR_MAC, PEER_MAC, udp(FAR, ME, 1, 2));
	nothing();
	see_ether(OUR_MAC, group, udp(FAR, ME, 1, 2));
	only(WARN_GROUP_SOURCE);
}

static void link_LINK_BROADCAST(void)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

	see_ether(all, PEER_MAC, udp(PEER, 0x0a0000ff, 1, 2));
	nothing();
	see_ether(all, PEER_MAC, udp(PEER, ME, 1, 2));
	only(WARN_LINK_BROADCAST);
}

static void link_PADDING(void)
{
	Bytes p = udp(PEER, ME, 1, 2);

	see_frame(ether(OUR_MAC, PEER_MAC, 0x0800, p, 60 - 14 - p.n, 0), WIRE_ETHER);
	see_frame(ether(OUR_MAC, PEER_MAC, 0x0800, p, 80, 0xee), WIRE_ETHER); /* a trailer, no padding */
	nothing();
	see_frame(ether(OUR_MAC, PEER_MAC, 0x0800, p, 60 - 14 - p.n, 0xee), WIRE_ETHER);
	only(WARN_PADDING);
}

static void link_VLAN(void)
{
	Writer w = tp_writer();
	Bytes p = udp(PEER, ME, 1, 2);

	wr_be32(&w, 0x20000800); /* priority only */
	wr_bytes(&w, p);
	see_frame(ether(OUR_MAC, PEER_MAC, 0x8100, wr_done(&w), 0, 0), WIRE_ETHER);
	nothing();
	w.p[1] = 10;
	see_frame(ether(OUR_MAC, PEER_MAC, 0x8100, wr_done(&w), 0, 0), WIRE_ETHER);
	only(WARN_VLAN);
	PacketId id;
	assert_true(packet_id_read(p, WIRE_IP, &id));
	expert_probe(expert, &id, true); /* who sends tags gets tags */
	see_frame(ether(OUR_MAC, PEER_MAC, 0x8100, wr_done(&w), 0, 0), WIRE_ETHER);
	nothing();
}

/* ---- ip ---- */

static void ip_BAD_IP(void)
{
	Bytes p = udp(PEER, ME, 1, 2);

	see(p);
	nothing();
	((uint8_t *)p.p)[8]--;
	see(p);
	only(WARN_BAD_IP);
}

static void ip_TTL(void)
{
	for (uint16_t i = 0; i < 3; i++) {
		ask(echo(i, "a"));
		got(echo_reply(i, "a"));
	}
	nothing();
	ask(echo(9, "a"));
	got(with_ttl(echo_reply(9, "a"), 63));
	only(WARN_TTL);
}

static void ip_TTL_PORT(void)
{
	for (uint16_t port = 80; port < 83; port++) {
		ask_syn(5000, port);
		got(reply((Segment){ .sport = port, .seq = 9, .ack = 1001, .flags = S | A, .window = 9, SYN_OPTIONS }));
	}
	nothing();
	ask_syn(5000, 83);
	got(with_ttl(reply((Segment){ .sport = 83, .seq = 9, .ack = 1001, .flags = S | A, .window = 9, SYN_OPTIONS }), 63));
	only(WARN_TTL_PORT);
}

static void ip_DISTANCE(void)
{
	ask(echo(1, "a"));
	got(with_ttl(echo_reply(1, "a"), 250));
	ask(udp(ME, PEER, 5000, 7));
	got(with_ttl(udp(PEER, ME, 7, 5000), 59)); /* another start, as far */
	nothing();
	ask_syn(5000, 80);
	got(with_ttl(syn_ack(), 60));
	only(WARN_DISTANCE);
}

static void ip_FRAG_SMALL(void)
{
	static const uint8_t zeros[64];

	see(with_frag(ip(PEER, ME, 17, BYTES(zeros, 48)), 0x2000));
	see(with_frag(ip(PEER, ME, 17, BYTES(zeros, 8)), 6)); /* the last may be small */
	nothing();
	see(with_frag(ip(PEER, ME, 17, BYTES(zeros, 24)), 0x2000));
	only(WARN_FRAG_SMALL);
}

static void ip_FRAG_DF(void)
{
	static const uint8_t zeros[64];

	see(with_frag(ip(PEER, ME, 17, BYTES(zeros, 48)), 0x2000));
	see(with_frag(udp(PEER, ME, 1, 2), 0x4000));
	nothing();
	see(with_frag(ip(PEER, ME, 17, BYTES(zeros, 48)), 0x6000));
	only(WARN_FRAG_DF);
}

static void ip_ATOMIC(void)
{
	Writer w = tp_writer();

	wr_be32(&w, 0x11000000); /* UDP behind it; offset 0, no more */
	wr_be32(&w, 5);
	wr_bytes(&w, tp_udp(1, 2, TP_TEXT("abcd")));
	see(ip6(2, 1, 17, tp_udp(1, 2, TP_TEXT("abcd"))));
	nothing();
	see(ip6(2, 1, 44, wr_done(&w)));
	only(WARN_ATOMIC);
}

static void ip_CUT(void)
{
	Bytes p = udp(PEER, ME, 1, 2);
	PacketId id;
	ExpertFrame f = view(&id, bytes_slice(p, 0, p.n - 2), WIRE_IP);

	see(p);
	f.orig_len = (uint32_t)p.n; /* the capture cut it, nobody else */
	expert_frame(expert, &f);
	nothing();
	f.orig_len = (uint32_t)p.n - 2;
	expert_frame(expert, &f);
	only(WARN_CUT);
}

static void ip_IP_ID(void)
{
	for (uint16_t i = 0; i < 10; i++) {
		ask(echo(i, "a"));
		got(with_id(echo_reply(i, "a"), i / 2)); /* some stacks count every second time */
		ask(udp(ME, PEER, (uint16_t)(5000 + i), 7));
		got(with_frag(with_id(udp(PEER, ME, 7, (uint16_t)(5000 + i)), 77), 0x4000));
	}
	nothing();
	for (uint16_t i = 10; i < 14; i++) {
		ask(echo(i, "a"));
		got(with_id(echo_reply(i, "a"), 77));
	}
	only(WARN_IP_ID);
}

static void ip_CE(void)
{
	ask(with_tos(echo(1, "a"), 3));
	got(with_tos(echo_reply(1, "a"), 3));
	ask(with_tos(echo(2, "a"), 2));
	got(with_tos(echo_reply(2, "a"), 2));
	nothing();
	ask(with_tos(echo(3, "a"), 2));
	got(with_tos(echo_reply(3, "a"), 3));
	only(WARN_CE);
}

/* ---- icmp ---- */

static void icmp_BAD_ICMP(void)
{
	Bytes p = echo_reply(1, "abc");

	see_computed(p);
	nothing();
	((uint8_t *)p.p)[29] ^= 4;
	see(p); /* not computed: nothing is said about it */
	nothing();
	see_computed(p);
	only(WARN_BAD_ICMP);
}

static void icmp_CORRUPT(void)
{
	ask(echo(1, "abcd"));
	got(echo_reply(1, "abcd"));
	nothing();
	ask(echo(2, "abcd"));
	got(echo_reply(2, "abce"));
	only(WARN_CORRUPT);
}

static void icmp_ECHO_LENGTH(void)
{
	ask(echo(2, "abcd"));
	got(echo_reply(2, "abc"));
	only(WARN_ECHO_LENGTH);
}

static void icmp_REDIRECT(void)
{
	Bytes p = ask(echo(1, "abcd"));

	got(error_of(OTHER, 5, 1, OTHER, p, 28));
	only(WARN_REDIRECT);
	got(echo_reply(1, "abcd"));
	nothing();
}

static void icmp_FRAG_NEEDED(void)
{
	static const uint8_t zeros[1000];
	Bytes p = ask(ip(ME, FAR, 1, tp_icmp(8, 0, 1, BYTES(zeros, 1000))));

	got(error_of(PEER, 3, 4, 576, p, 28));
	nothing();
	p = ask(ip(ME, FAR, 1, tp_icmp(8, 0, 2, BYTES(zeros, 1000))));
	got(error_of(PEER, 3, 4, 1500, p, 28));
	only(WARN_FRAG_NEEDED);
}

/* An unreachable host is no oddity; type and code make it one. */
static void error_case(uint8_t type, uint8_t code, WarnId id)
{
	got(error_of(PEER, 3, 1, 0, ask(udp(ME, FAR, 5000, 7)), 28));
	nothing();
	got(error_of(PEER, type, code, 0, ask(udp(ME, FAR, 5001, 7)), 28));
	only(id);
}

static void icmp_PROHIBITED(void)
{
	error_case(3, 13, WARN_PROHIBITED);
	error_case(3, 9, WARN_PROHIBITED);
}

static void icmp_QUENCH(void)
{
	error_case(4, 0, WARN_QUENCH);
}

static void icmp_PARAMETER(void)
{
	error_case(12, 0, WARN_PARAMETER);
}

static void icmp_REASSEMBLY(void)
{
	error_case(11, 1, WARN_REASSEMBLY);
}

static void icmp_SHORT_QUOTE(void)
{
	Bytes p = ask(udp(ME, FAR, 5000, 7));

	got(error_of(PEER, 3, 1, 0, p, 28));
	nothing();
	p = ask(udp(ME, FAR, 5001, 7));
	got(error_of(PEER, 3, 1, 0, p, 24));
	only(WARN_SHORT_QUOTE);
}

static void icmp_PORT_BY_OTHER(void)
{
	got(error_of(PEER, 3, 3, 0, arrived(ask(udp(ME, PEER, 5000, 7)), 64), 28));
	nothing();
	got(error_of(PEER, 3, 3, 0, arrived(ask(udp(ME, FAR, 5001, 7)), 60), 28));
	only(WARN_PORT_BY_OTHER);
}

static void icmp_TTL_BY_DST(void)
{
	Bytes p = ask(with_ttl(udp(ME, FAR, 5000, 33434), 1));

	got(error_of(PEER, 11, 0, 0, p, 28));
	nothing();
	p = ask(with_ttl(udp(ME, FAR, 5001, 33434), 2));
	got(with_ttl(error_of(FAR, 11, 0, 0, arrived(p, 1), 28), 63));
	only(WARN_TTL_BY_DST);
}

static void icmp_MARTIAN(void)
{
	got(error_of(0x7f000001, 3, 1, 0, ask(udp(ME, FAR, 5001, 7)), 28));
	only(WARN_MARTIAN);
	got(error_of(0xf0000001, 3, 1, 0, ask(udp(ME, FAR, 5002, 7)), 28));
	only(WARN_MARTIAN);
}

/* ---- udp ---- */

static Bytes udp_with(uint8_t v, uint16_t len, uint16_t csum)
{
	Bytes body = tp_udp(7, 5000, TP_TEXT("abcd"));

	put_be16((uint8_t *)body.p + 4, len);
	put_be16((uint8_t *)body.p + 6, csum);
	return v == 6 ? ip6(2, 1, 17, body) : ip(PEER, ME, 17, body);
}

static void udp_BAD_UDP(void)
{
	Bytes p = udp_with(4, 12, 0);
	uint8_t pseudo[12];

	see_computed(p); /* none: RFC 768 */
	memcpy(pseudo, p.p + 12, 8);
	put_be32(pseudo + 8, 17 << 16 | 12);
	put_be16((uint8_t *)p.p + 26,
		 wire_csum_fold(wire_csum(wire_csum(0, BYTES(pseudo, 12)), bytes_slice(p, 20, p.n))));
	see_computed(p);
	nothing();
	((uint8_t *)p.p)[31] ^= 1;
	see_computed(p);
	only(WARN_BAD_UDP);
}

static void udp_UDP_ZERO(void)
{
	see(udp_with(6, 12, 7));
	nothing();
	see(udp_with(6, 12, 0));
	only(WARN_UDP_ZERO);
}

static void udp_UDP_LENGTH(void)
{
	see(udp_with(4, 12, 7));
	nothing();
	see(udp_with(4, 10, 7));
	only(WARN_UDP_LENGTH);
}

static void udp_OTHER_ADDRESS(void)
{
	ask(udp(ME, PEER, 5000, 7));
	got(udp(PEER, ME, 7, 5000));
	nothing();
	ask(udp(ME, PEER, 5001, 7));
	got(udp(OTHER, ME, 7, 5001));
	only(WARN_OTHER_ADDRESS);
}

/* ---- tcp ---- */

static void tcp_BAD_TCP(void)
{
	see(syn_ack());
	nothing();
	see_computed(syn_ack()); /* has none */
	only(WARN_BAD_TCP);
}

static void tcp_ZERO_WINDOW(void)
{
	ask(tcp(ME, PEER, (Segment){ 5000, 80, 1000, 500, A, 65535, NULL, "x", 0 }));
	got(reply((Segment){ .seq = 500, .ack = 1001, .flags = A, .window = 100 }));
	nothing();
	ask(tcp(ME, PEER, (Segment){ 5000, 80, 1001, 500, A, 65535, NULL, "x", 0 }));
	got(reply((Segment){ .seq = 500, .ack = 1002, .flags = A }));
	only(WARN_ZERO_WINDOW);
}

static void tcp_SYN_WINDOW(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, SYN_OPTIONS }));
	only(WARN_SYN_WINDOW);
}

static void tcp_SYN_DATA(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 9, .data = "hi", SYN_OPTIONS }));
	only(WARN_SYN_DATA);
}

static void tcp_RST_DATA(void)
{
	healthy_tcp();
	got(reply((Segment){ .ack = 1001, .flags = R | A, .data = "go away" }));
	only(WARN_RST_DATA);
}

static void tcp_RST_TTL(void)
{
	healthy_tcp();
	got(with_ttl(reply((Segment){ .ack = 1001, .flags = R | A }), 63));
	only(WARN_RST_TTL);
}

static void tcp_RST_ACK(void)
{
	healthy_tcp();
	got(reply((Segment){ .ack = 77, .flags = R | A }));
	only(WARN_RST_ACK);
}

static void tcp_BAD_SYN_ACK(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 2001, .flags = S | A, .window = 9, SYN_OPTIONS }));
	only(WARN_BAD_SYN_ACK);
}

static void tcp_CHALLENGE(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 123456, .ack = 99, .flags = A, .window = 9 }));
	only(WARN_CHALLENGE);
}

static void tcp_SIMULTANEOUS(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .flags = S, .window = 9, SYN_OPTIONS }));
	only(WARN_SIMULTANEOUS);
}

static void tcp_CHRISTMAS(void)
{
	see(syn_ack());
	nothing();
	see(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A | F, .window = 9 }));
	only(WARN_CHRISTMAS);
	see(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | R, .window = 9 }));
	only(WARN_CHRISTMAS);
}

static void tcp_BAROQUE(void)
{
	see(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A | TCP_URG, .window = 9 }));
	only(WARN_BAROQUE);
}

static void tcp_TCP_HEADER(void)
{
	Bytes p = syn_ack();

	((uint8_t *)p.p)[32] = 15 << 4;
	see(p);
	only(WARN_TCP_HEADER);
	((uint8_t *)p.p)[32] = 4 << 4;
	see(p);
	only(WARN_TCP_HEADER);
}

static void tcp_SCALE_RANGE(void)
{
	see(syn_ack());
	nothing();
	see(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 9, OPTIONS(OPT_SCALE_15) }));
	only(WARN_SCALE_RANGE);
}

static void tcp_NO_WSCALE(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 9, OPTIONS(OPT_MSS OPT_SACK) }));
	only(WARN_NO_WSCALE);
}

static void tcp_NO_SACK(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 9, OPTIONS(OPT_MSS OPT_SCALE) }));
	only(WARN_NO_SACK);
}

static void tcp_SMALL_MSS(void)
{
	healthy_tcp();
	got(reply((Segment){ .seq = 9, .ack = 1001, .flags = S | A, .window = 9, OPTIONS(OPT_SACK OPT_SCALE) }));
	only(WARN_SMALL_MSS);
	ask_syn(5001, 80);
	got(reply((Segment){
		.dport = 5001, .seq = 9, .ack = 1001, .flags = S | A, .window = 9, OPTIONS(OPT_SMALL OPT_SACK OPT_SCALE) }));
	only(WARN_SMALL_MSS);
}

static void stamped(uint32_t seq, uint8_t stamp)
{
	char options[] = "\1\1\10\12\0\0\x10\0\0\0\0\0";

	options[6] = (char)stamp;
	ask(tcp(ME, PEER, (Segment){ 5000, 80, seq, 500, A, 65535, NULL, "x", 0 }));
	got(reply((Segment){ .seq = 500, .ack = seq + 1, .flags = A, .window = 100, .options = options, .n = 12 }));
}

static void tcp_STAMP_BACK(void)
{
	stamped(1000, 0x20);
	stamped(1001, 0x21);
	stamped(1002, 0x20); /* 256 back: overtaken on the way */
	nothing();
	stamped(1003, 0x10);
	only(WARN_STAMP_BACK);
}

/* ---- dns ---- */

enum { OPT_TYPE = 41 };

static void wr_name(Writer *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		wr_u8(w, (uint8_t)n);
		wr_bytes(w, BYTES(name, n));
		name += n + (name[n] == '.');
	}
	wr_u8(w, 0);
}

static void wr_opt(Writer *w)
{
	wr_u8(w, 0);
	wr_be16(w, OPT_TYPE);
	wr_be16(w, 1232);
	wr_be32(w, 0);
	wr_be16(w, 0);
}

typedef struct Dns {
	uint16_t id, flags;
	const char *name;   /* NULL: no question */
	uint32_t a;	    /* an A record; 0: none */
	bool edns, referral;
	uint16_t pointer;   /* of the answer's name; 0: to the question */
} Dns;

static Bytes dns(Dns d)
{
	Writer w = tp_writer();

	wr_be16(&w, d.id);
	wr_be16(&w, d.flags);
	wr_be16(&w, d.name != NULL);
	wr_be16(&w, d.a != 0);
	wr_be16(&w, d.referral);
	wr_be16(&w, d.edns);
	if (d.name) {
		wr_name(&w, d.name);
		wr_be32(&w, 0x00010001);
	}
	if (d.a) {
		wr_be16(&w, d.pointer ? d.pointer : 0xc00c);
		wr_be32(&w, 0x00010001);
		wr_be32(&w, 300);
		wr_be16(&w, 4);
		wr_be32(&w, d.a);
	}
	if (d.referral) {
		wr_u8(&w, 0);
		wr_be32(&w, 0x00020001);
		wr_be32(&w, 300);
		wr_be16(&w, 3);
		wr_name(&w, "a");
	}
	if (d.edns)
		wr_opt(&w);
	return wr_done(&w);
}

/* A question to `server`, with EDNS, and its answer. */
static void lookup(uint32_t server, const char *name, Dns d)
{
	static uint16_t number;

	number++;
	d.id = number;
	ask(ip(ME, server, 17,
	       tp_udp((uint16_t)(5000 + number), 53, dns((Dns){ .id = number, .flags = 0x100, .name = name, .edns = true }))));
	got(ip(server, ME, 17, tp_udp(53, (uint16_t)(5000 + number), dns(d))));
}

static const Dns good = { .flags = 0x8180, .name = "www.a.b", .a = 0x0a000050, .edns = true };

static void healthy_dns(void)
{
	Dns no = good;

	lookup(PEER, "www.a.b", good);
	lookup(PEER, "www.a.b", good);
	lookup(OTHER, "www.a.b", good);
	no.name = "none.a.b";
	no.a = 0;
	no.flags = 0x8183; /* NXDOMAIN */
	lookup(PEER, "none.a.b", no);
	no.flags = 0x8400; /* an authoritative server has no such record */
	no.name = "empty.a.b";
	lookup(PEER, "empty.a.b", no);
	no.flags = 0x8005; /* REFUSED, and no EDNS either */
	no.name = "foreign";
	no.edns = false;
	lookup(PEER, "foreign", no);
	nothing();
}

static void dns_UNMATCHED_(void)
{
	healthy_dns();
	ask(ip(ME, PEER, 17, tp_udp(5000, 53, dns((Dns){ .id = 1, .flags = 0x100, .name = "a.b" }))));
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns((Dns){ .id = 2, .flags = 0x8180, .name = "a.b" }))));
	only(WARN_DNS_UNMATCHED);
}

#define DNS_CASE_(ID, change)                 \
	static void dns_##ID(void)            \
	{                                     \
		Dns d = good;                 \
					      \
		healthy_dns();                \
		change;                       \
		lookup(PEER, "www.a.b", d);   \
		only(WARN_##ID);              \
	}

DNS_CASE_(DNS_QUERY, d.flags = 0x0180)
DNS_CASE_(DNS_TC, (d.flags |= 0x200, d.a = 0))
DNS_CASE_(DNS_MALFORMED, d.pointer = 0xc0ff)
DNS_CASE_(DNS_NO_QUESTION, (d.name = NULL, d.a = 0))
DNS_CASE_(DNS_CASE, d.name = "wWw.a.B")
DNS_CASE_(EDNS_GONE, d.edns = false)
DNS_CASE_(DNS_RCODE, (d.flags = 0x8182, d.a = 0))
DNS_CASE_(DNS_DIFFER, d.a++)

static void dns_EDNS_REFUSED(void)
{
	healthy_dns();
	lookup(PEER, "other.a.b", (Dns){ .flags = 0x8181, .name = "other.a.b" });
	only(WARN_EDNS_REFUSED);
}

static void dns_DNS_LAME(void)
{
	healthy_dns();
	lookup(PEER, "lame.a.b", (Dns){ .flags = 0x8100, .name = "lame.a.b", .edns = true });
	only(WARN_DNS_LAME);
	lookup(PEER, "up.a.b", (Dns){ .flags = 0x8100, .name = "up.a.b", .referral = true, .edns = true });
	only(WARN_DNS_LAME);
}

static void dns_DNS_SERVERS(void)
{
	Dns d = good;

	d.name = "www.c";
	lookup(PEER, "www.c", d);
	d.a++;
	lookup(OTHER, "www.c", d);
	only(WARN_DNS_SERVERS);
}

static void dns_DNS_TWO(void)
{
	Dns d = { .id = 900, .flags = 0x8180, .name = "www.a.b", .a = 1 };

	ask(ip(ME, PEER, 17, tp_udp(5000, 53, dns((Dns){ .id = 900, .flags = 0x100, .name = "www.a.b" }))));
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns(d))));
	nothing();
	d.a = 2;
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns(d))));
	only(WARN_DNS_TWO);
}

/* ---- path ---- */

/* A router's error that quotes p with a byte or a word of it changed. */
static void quoted(Bytes p, size_t at, uint16_t word, WarnId id)
{
	Bytes q = copy_of(p);

	put_be16((uint8_t *)q.p + at, word);
	got(error_of(PEER, 3, 1, 0, with_ttl(q, 1), q.n));
	only(id);
}

static Bytes healthy_quote(uint16_t sport)
{
	got(error_of(PEER, 3, 1, 0, arrived(ask(udp(ME, FAR, sport, 7)), 1), 28));
	nothing();
	return ask(udp(ME, FAR, (uint16_t)(sport + 1), 7));
}

static void path_NAT(void)
{
	quoted(healthy_quote(5000), 14, 0x0063, WARN_NAT);
	quoted(healthy_quote(5010), 20, 6000, WARN_NAT);
}

static void path_DSCP(void)
{
	quoted(healthy_quote(5000), 0, 0x4528, WARN_DSCP);
}

static void path_ECN(void)
{
	quoted(healthy_quote(5000), 0, 0x4503, WARN_ECN);
}

static void path_DF_CLEARED(void)
{
	Bytes p = ask(with_frag(udp(ME, FAR, 5000, 7), 0x4000));

	got(error_of(PEER, 3, 1, 0, arrived(p, 1), 28));
	nothing();
	quoted(ask(with_frag(udp(ME, FAR, 5001, 7), 0x4000)), 6, 0, WARN_DF_CLEARED);
}

static void path_REWRITTEN(void)
{
	Bytes p = healthy_quote(5000);

	quoted(p, 4, (uint16_t)(get_be16(p.p + 4) ^ 0x100), WARN_REWRITTEN);
	p = healthy_quote(5010);
	quoted(p, 2, (uint16_t)(p.n + 4), WARN_REWRITTEN);
}

static Bytes far_syn(uint16_t sport)
{
	return ask(tcp(ME, FAR, (Segment){ sport, 80, 1000, 0, S, 65535, SYN_OPTIONS }));
}

static Bytes healthy_syn(void)
{
	Bytes p = far_syn(5000);

	got(error_of(PEER, 3, 1, 0, arrived(p, 1), p.n));
	nothing();
	p = far_syn(5001);
	got(error_of(PEER, 3, 1, 0, arrived(p, 1), 28)); /* options out of sight */
	nothing();
	return far_syn(5002);
}

static void path_SEQ(void)
{
	quoted(healthy_syn(), 24, 0x4711, WARN_SEQ);
}

static void path_MSS(void)
{
	quoted(healthy_syn(), 42, 1400, WARN_MSS);
}

static void path_OPTIONS(void)
{
	quoted(healthy_syn(), 44, 0x0101, WARN_OPTIONS); /* SAckOK made NOPs */
}

static void path_LOOPED(void)
{
	Bytes p = ask(echo(1, "abcd"));

	got(with_ttl(copy_of(p), 60));
	only(WARN_LOOPED);
}

/* Time exceeded for a probe with that TTL. */
static void hop(uint16_t sport, uint8_t ttl, uint32_t router)
{
	static uint16_t number;
	Bytes body = tp_udp(sport, 33434, BYTES(&number, 2));

	number++;
	Bytes p = ask(with_ttl(ip(ME, FAR, 17, body), ttl));
	got(error_of(router, 11, 0, 0, arrived(p, 1), 28));
}

enum { R1 = 0x0a010001, R2 = 0x0a020001, R3 = 0x0a030001 };

static void healthy_trace(void)
{
	for (int round = 0; round < 3; round++) {
		hop(5000, 1, R1);
		hop(5000, 2, R2);
		hop(5001, 1, R1);
		hop(5001, 2, R2);
	}
	nothing();
}

static void path_ECMP(void)
{
	healthy_trace();
	hop(5002, 2, R3);
	only(WARN_ECMP);
}

static void path_FLAP(void)
{
	healthy_trace();
	hop(5000, 2, R3);
	only(WARN_FLAP);
}

static void path_LOOP(void)
{
	healthy_trace();
	hop(5000, 3, R2); /* a hop that some router hides */
	nothing();
	hop(5000, 4, R2);
	only(WARN_LOOP);
}

static void path_ASYMMETRIC(void)
{
	Bytes p = ask(with_ttl(udp(ME, FAR, 5000, 33434), 10));

	got(with_ttl(error_of(FAR, 3, 3, 0, arrived(p, 7), 28), 61));
	nothing();
	p = ask(with_ttl(udp(ME, FAR, 5001, 33434), 10));
	got(with_ttl(error_of(FAR, 3, 3, 0, arrived(p, 7), 28), 60));
	only(WARN_ASYMMETRIC);
}

/* ---- answers and host ---- */

static void answer_DUPLICATE(void)
{
	Bytes p;

	ask(echo(1, "a"));
	got(p = echo_reply(1, "a"));
	nothing();
	got(p);
	only(WARN_DUPLICATE);
}

static void answer_FURTHER(void)
{
	ask(udp(ME, PEER, 5000, 7));
	got(udp(PEER, ME, 7, 5000));
	nothing();
	got(udp(PEER, ME, 7, 5000)); /* another IP id */
	only(WARN_FURTHER);
}

static void answer_LATE(void)
{
	ask(echo(1, "a"));
	matcher_close(matcher);
	got(echo_reply(1, "a"));
	only(WARN_LATE);
}

static void answer_UNSOLICITED(void)
{
	got(udp(PEER, ME, 7, 5000));
	only(WARN_UNSOLICITED);
}

static void answer_AMBIGUOUS(void)
{
	ask(udp(ME, PEER, 5000, 7));
	ask(udp(ME, PEER, 5000, 7));
	got(ip(PEER, ME, 17, tp_udp(7, 5000, TP_TEXT("other"))));
	only(WARN_AMBIGUOUS);
}

static void host_NO_STAMP(void)
{
	PacketId id;
	ExpertFrame f = view(&id, udp(PEER, ME, 1, 2), WIRE_IP);

	f.stamped = false;
	expert_frame(expert, &f);
	only(WARN_NO_STAMP);
}

static void host_OFFLOAD(void)
{
	static const uint8_t zeros[1480];

	see(ip(PEER, ME, 17, tp_udp(1, 2, BYTES(zeros, 1472))));
	nothing();
	see(ip(PEER, ME, 17, tp_udp(1, 2, BYTES(zeros, 1473))));
	only(WARN_OFFLOAD);
}

/* ---- what is remembered is bounded ---- */

static void a_full_table_says_nothing(void)
{
	for (uint32_t i = 0; i < 20000; i++) {
		ask(ip(ME, 0x0b000000 + i, 1, tp_icmp(8, 0, i, TP_TEXT("a"))));
		got(with_ttl(ip(0x0b000000 + i, ME, 1, tp_icmp(0, 0, i, TP_TEXT("a"))), (uint8_t)(40 + i % 20)));
	}
	nothing();
}

/* ---- all ---- */

typedef struct Case {
	void (*run)(void);
} Case;

static void run_case(void **state)
{
	((const Case *)*state)->run();
}

#define CASE(f) { #f, run_case, setup_case, NULL, (void *)&(Case){ f } }

static int setup_case(void **state)
{
	void *c = *state;

	setup(state);
	*state = c;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(link_ARP_DUP), CASE(link_OURS_CLAIMED), CASE(link_ARP_SENDER), CASE(link_PROXY_ARP),
		CASE(link_MAC_CHANGED), CASE(link_GROUP_SOURCE), CASE(link_LINK_BROADCAST), CASE(link_PADDING),
		CASE(link_VLAN),
		CASE(ip_BAD_IP), CASE(ip_TTL), CASE(ip_TTL_PORT), CASE(ip_DISTANCE), CASE(ip_FRAG_SMALL),
		CASE(ip_FRAG_DF), CASE(ip_ATOMIC), CASE(ip_CUT), CASE(ip_IP_ID), CASE(ip_CE),
		CASE(icmp_BAD_ICMP), CASE(icmp_CORRUPT), CASE(icmp_ECHO_LENGTH), CASE(icmp_REDIRECT),
		CASE(icmp_FRAG_NEEDED), CASE(icmp_PROHIBITED), CASE(icmp_QUENCH), CASE(icmp_PARAMETER),
		CASE(icmp_REASSEMBLY), CASE(icmp_SHORT_QUOTE), CASE(icmp_PORT_BY_OTHER), CASE(icmp_TTL_BY_DST),
		CASE(icmp_MARTIAN),
		CASE(udp_BAD_UDP), CASE(udp_UDP_ZERO), CASE(udp_UDP_LENGTH), CASE(udp_OTHER_ADDRESS),
		CASE(tcp_BAD_TCP), CASE(tcp_ZERO_WINDOW), CASE(tcp_SYN_WINDOW), CASE(tcp_SYN_DATA),
		CASE(tcp_RST_DATA), CASE(tcp_RST_TTL), CASE(tcp_RST_ACK), CASE(tcp_BAD_SYN_ACK),
		CASE(tcp_CHALLENGE), CASE(tcp_SIMULTANEOUS), CASE(tcp_CHRISTMAS), CASE(tcp_BAROQUE),
		CASE(tcp_TCP_HEADER), CASE(tcp_SCALE_RANGE), CASE(tcp_NO_WSCALE), CASE(tcp_NO_SACK),
		CASE(tcp_SMALL_MSS), CASE(tcp_STAMP_BACK),
		CASE(dns_UNMATCHED_), CASE(dns_DNS_QUERY), CASE(dns_DNS_TC), CASE(dns_DNS_MALFORMED),
		CASE(dns_DNS_NO_QUESTION), CASE(dns_DNS_CASE), CASE(dns_EDNS_GONE), CASE(dns_DNS_RCODE),
		CASE(dns_DNS_DIFFER), CASE(dns_EDNS_REFUSED), CASE(dns_DNS_LAME), CASE(dns_DNS_SERVERS),
		CASE(dns_DNS_TWO),
		CASE(path_NAT), CASE(path_DSCP), CASE(path_ECN), CASE(path_DF_CLEARED), CASE(path_REWRITTEN),
		CASE(path_SEQ), CASE(path_MSS), CASE(path_OPTIONS), CASE(path_LOOPED), CASE(path_ECMP),
		CASE(path_FLAP), CASE(path_LOOP), CASE(path_ASYMMETRIC),
		CASE(answer_DUPLICATE), CASE(answer_FURTHER), CASE(answer_LATE), CASE(answer_UNSOLICITED),
		CASE(answer_AMBIGUOUS), CASE(host_NO_STAMP), CASE(host_OFFLOAD), CASE(a_full_table_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
