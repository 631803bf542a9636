/* SPDX-License-Identifier: Apache-2.0
 *
 * The expert on frames and answers: link, IP, ICMP, UDP, TCP.
 */
#include "probe/expert_testing.h"

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

/* ---- what is remembered is bounded ---- */

static void a_full_table_says_nothing(void)
{
	for (uint32_t i = 0; i < 20000; i++) {
		ask(ip(ME, 0x0b000000 + i, 1, tp_icmp(8, 0, i, TP_TEXT("a"))));
		got(with_ttl(ip(0x0b000000 + i, ME, 1, tp_icmp(0, 0, i, TP_TEXT("a"))), (uint8_t)(40 + i % 20)));
	}
	nothing();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(link_ARP_DUP), CASE(link_OURS_CLAIMED), CASE(link_ARP_SENDER), CASE(link_PROXY_ARP),
		CASE(link_MAC_CHANGED), CASE(link_GROUP_SOURCE), CASE(link_LINK_BROADCAST), CASE(link_PADDING),
		CASE(link_VLAN), CASE(ip_BAD_IP), CASE(ip_TTL), CASE(ip_TTL_PORT), CASE(ip_DISTANCE),
		CASE(ip_FRAG_SMALL), CASE(ip_FRAG_DF), CASE(ip_ATOMIC), CASE(ip_CUT), CASE(ip_IP_ID),
		CASE(ip_CE), CASE(icmp_BAD_ICMP), CASE(icmp_CORRUPT), CASE(icmp_ECHO_LENGTH),
		CASE(icmp_REDIRECT), CASE(icmp_FRAG_NEEDED), CASE(icmp_PROHIBITED), CASE(icmp_QUENCH),
		CASE(icmp_PARAMETER), CASE(icmp_REASSEMBLY), CASE(icmp_SHORT_QUOTE), CASE(icmp_PORT_BY_OTHER),
		CASE(icmp_TTL_BY_DST), CASE(icmp_MARTIAN), CASE(udp_BAD_UDP), CASE(udp_UDP_ZERO),
		CASE(udp_UDP_LENGTH), CASE(udp_OTHER_ADDRESS), CASE(tcp_BAD_TCP), CASE(tcp_ZERO_WINDOW),
		CASE(tcp_SYN_WINDOW), CASE(tcp_SYN_DATA), CASE(tcp_RST_DATA), CASE(tcp_RST_TTL),
		CASE(tcp_RST_ACK), CASE(tcp_BAD_SYN_ACK), CASE(tcp_CHALLENGE), CASE(tcp_SIMULTANEOUS),
		CASE(tcp_CHRISTMAS), CASE(tcp_BAROQUE), CASE(tcp_TCP_HEADER), CASE(tcp_SCALE_RANGE),
		CASE(tcp_NO_WSCALE), CASE(tcp_NO_SACK), CASE(tcp_SMALL_MSS), CASE(tcp_STAMP_BACK),
		CASE(a_full_table_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
