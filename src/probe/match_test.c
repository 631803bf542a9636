/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching, case by case.  Tests named fault_<n> are the cases of
 * doc/known-faults.md with that number.
 */
#include "probe/match.h"
#include "wire/test_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { ME = 0x0a000001, PEER = 0x0a000002, ROUTER = 0x0a000101, OTHER = 0x0a000003 };
enum { S = TCP_SYN, A = TCP_ACK, R = TCP_RST, F = TCP_FIN };

static Arena arena;
static Matcher *m;

static int setup(void **state)
{
	static uint8_t *memory;

	(void)state;
	if (!memory)
		memory = malloc(128 << 20);
	arena_init(&arena, memory, 128 << 20, NULL);
	m = matcher_new(&arena);
	tp_at = 0;
	return 0;
}

static Match match_n(Bytes packet, uint32_t want)
{
	PacketId id;
	uint32_t n;

	assert_true(packet_id_read(packet, WIRE_IP, &id));
	const Match *r = matcher_match(m, &id, &n);
	assert_int_equal(n, want);
	return r[0];
}

static Match match(Bytes packet)
{
	return match_n(packet, 1);
}

static uint64_t add(Bytes packet)
{
	uint64_t n = matcher_add(m, packet, WIRE_IP, matcher_count(m), 0);

	assert_int_not_equal(n, 0);
	return n;
}

#define assert_answer(match, number)                                                                         \
	do {                                                                                                 \
		Match x_ = (match);                                                                          \
		assert_int_equal(x_.verdict, VERDICT_ANSWER);                                                \
		assert_int_equal(x_.probe, (number));                                                        \
		assert_false(x_.ambiguous);                                                                  \
	} while (0)

static Bytes out(uint8_t proto, uint16_t id, Bytes body)
{
	return tp_ip4((TpIp){ .src = ME, .dst = PEER, .proto = proto, .id = id }, body);
}

static Bytes in(uint8_t proto, Bytes body)
{
	return tp_ip4((TpIp){ .src = PEER, .dst = ME, .proto = proto, .id = 777, .ttl = 57 }, body);
}

static Bytes in_tcp(uint32_t seq, uint32_t ack, uint8_t flags, Bytes payload)
{
	return in(6, tp_tcp((TpTcp){ 80, 5000, seq, ack, flags, 100 }, payload));
}

static uint64_t out_tcp(uint32_t seq, uint32_t ack, uint8_t flags, Bytes payload)
{
	return add(out(6, 9, tp_tcp((TpTcp){ 5000, 80, seq, ack, flags, 1000 }, payload)));
}

static const Bytes nothing = { 0 };

/* ---- 1: RFC 9293 acceptability in serial arithmetic ---- */

static void fault_1_syn_ack_across_the_wrap(void **state)
{
	(void)state;
	uint64_t p = out_tcp(0xffffffff, 0, S, nothing);
	assert_int_equal(match(in_tcp(1, 2, S | A, nothing)).verdict, VERDICT_UNSOLICITED);
	assert_answer(match(in_tcp(1, 0, S | A, nothing)), p);
}

static void fault_1_rst_answers(void **state)
{
	(void)state;
	uint64_t p = out_tcp(1000, 0, S, nothing);
	/* <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK> */
	assert_answer(match(in_tcp(0, 1001, R | A, nothing)), p);
	/* to a segment with ACK: <SEQ=SEG.ACK><CTL=RST> */
	setup(NULL);
	p = out_tcp(5000, 0x80000000, A, nothing);
	assert_int_equal(match(in_tcp(17, 0, R, nothing)).verdict, VERDICT_UNSOLICITED);
	assert_answer(match(in_tcp(0x80000000, 0, R, nothing)), p);
}

static void fault_1_syn_with_data_any_ack_of_it(void **state)
{
	(void)state;
	uint64_t p = out_tcp(100, 0, S, TP_TEXT("hello"));
	assert_int_equal(match(in_tcp(1, 107, S | A, nothing)).verdict, VERDICT_UNSOLICITED);
	assert_int_equal(match(in_tcp(1, 100, S | A, nothing)).verdict, VERDICT_UNSOLICITED);
	assert_answer(match(in_tcp(1, 103, S | A, nothing)), p);
}

static void fault_1_cumulative_ack_answers_all_it_covers(void **state)
{
	uint32_t n;
	PacketId id;

	(void)state;
	uint64_t p1 = out_tcp(0xfffffffb, 50, A, TP_TEXT("12345"));
	uint64_t p2 = out_tcp(0, 50, A, TP_TEXT("12345"));
	uint64_t p3 = out_tcp(5, 50, A, TP_TEXT("12345"));
	/* riding on data */
	assert_true(packet_id_read(in_tcp(50, 5, A, TP_TEXT("data")), WIRE_IP, &id));
	const Match *r = matcher_match(m, &id, &n);
	assert_int_equal(n, 2);
	assert_int_equal(r[0].probe, p2);
	assert_int_equal(r[1].probe, p1);
	assert_int_equal(r[1].verdict, VERDICT_ANSWER);
	assert_answer(match(in_tcp(54, 10, A, nothing)), p3);
}

static void fault_1_probes_without_flags(void **state)
{
	(void)state;
	uint64_t p = out_tcp(300, 0, 0, nothing);
	assert_answer(match(in_tcp(0, 300, R | A, nothing)), p);
	setup(NULL);
	p = out_tcp(300, 0, F, nothing);
	assert_answer(match(in_tcp(0, 301, R | A, nothing)), p);
}

static void fault_1_keep_alive_and_challenge_ack(void **state)
{
	(void)state;
	/* one below the window: the peer acknowledges what it has */
	uint64_t p = out_tcp(999, 7000, A, nothing);
	assert_answer(match(in_tcp(7000, 1000, A, nothing)), p);
	setup(NULL);
	/* far beyond the window: RFC 9293 3.10.7.4 sends the ACK that it can */
	p = out_tcp(1000 + 1000000000, 7000, A, TP_TEXT("x"));
	assert_answer(match(in_tcp(7000, 1000, A, nothing)), p);
	/* outside our window and acknowledging what was never sent: nobody's */
	setup(NULL);
	out_tcp(1000, 7000, A, TP_TEXT("x"));
	assert_int_equal(match(in_tcp(7000, 5000, A, nothing)).verdict, VERDICT_UNSOLICITED);
	assert_int_equal(match(in_tcp(7000 + 0x70000000, 1001, A, nothing)).verdict, VERDICT_UNSOLICITED);
}

/* ---- 2: equal ports ---- */

static Bytes quote_of(Bytes packet, uint32_t by, uint8_t type, uint8_t code, size_t bytes)
{
	return tp_ip4((TpIp){ .src = by, .dst = ME, .proto = 1, .id = 1, .ttl = 250 },
		      tp_icmp(type, code, 0, bytes_slice(packet, 0, bytes)));
}

static void fault_2_errors_go_to_the_probe_they_quote(void **state)
{
	Bytes p[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		p[i] = tp_ip4((TpIp){ .src = ME,
				      .dst = PEER,
				      .proto = 17,
				      .id = (uint16_t)(40 + i),
				      .ttl = (uint8_t)(3 - i) },
			      tp_udp(5000, 33434, nothing));
	for (unsigned i = 0; i < 3; i++)
		add(p[i]);
	/* hop 1's error first: it is about the last probe */
	Match r = match(quote_of(p[2], ROUTER, 11, 0, 28));
	assert_answer(r, 3);
	assert_int_equal(r.how, HOW_QUOTE);
	assert_answer(match(quote_of(p[0], PEER, 3, 3, 28)), 1);
	assert_answer(match(quote_of(p[1], ROUTER + 1, 11, 0, 28)), 2);
}

static void fault_2_checksum_tells_where_the_id_was_rewritten(void **state)
{
	Bytes p[2], q;

	(void)state;
	p[0] = out(17, 1, tp_udp(5000, 33434, TP_TEXT("aa")));
	p[1] = out(17, 2, tp_udp(5000, 33434, TP_TEXT("bb")));
	add(p[0]);
	add(p[1]);
	q = out(17, 9999, tp_udp(5000, 33434, TP_TEXT("bb")));
	assert_answer(match(quote_of(q, ROUTER, 11, 0, 28)), 2);
}

static void fault_2_what_stays_ambiguous_says_so(void **state)
{
	Bytes q;

	(void)state;
	add(out(17, 1, tp_udp(5000, 33434, TP_TEXT("aa"))));
	add(out(17, 2, tp_udp(5000, 33434, TP_TEXT("aa"))));
	q = out(17, 9999, tp_udp(5000, 33434, TP_TEXT("aa")));
	Match r = match(quote_of(q, ROUTER, 11, 0, 28));
	assert_int_equal(r.verdict, VERDICT_ANSWER);
	assert_int_equal(r.probe, 1);
	assert_true(r.ambiguous);
}

/* ---- 3: NAT ---- */

static void fault_3_rewritten_source_still_matches(void **state)
{
	Bytes nat;

	(void)state;
	uint64_t p = add(out(6, 42, tp_tcp((TpTcp){ 5000, 80, 1000, 0, S, 9 }, nothing)));
	add(out(6, 43, tp_tcp((TpTcp){ 5001, 80, 2000, 0, S, 9 }, nothing)));
	nat = tp_ip4((TpIp){ .src = 0xc0a80001, .dst = PEER, .proto = 6, .id = 42 },
		     tp_tcp((TpTcp){ 61234, 80, 1000, 0, S, 9 }, nothing));
	assert_answer(match(quote_of(nat, ROUTER, 11, 0, 28)), p);
}

static void fault_3_another_destination_is_no_match(void **state)
{
	(void)state;
	add(out(17, 42, tp_udp(5000, 33434, nothing)));
	Bytes q = tp_ip4((TpIp){ .src = ME, .dst = OTHER, .proto = 17, .id = 42 },
			 tp_udp(5000, 33434, nothing));
	assert_int_equal(match(quote_of(q, ROUTER, 11, 0, 28)).verdict, VERDICT_UNSOLICITED);
}

/* ---- 4: every packet has a verdict ---- */

static void fault_4_duplicates_further_late_unsolicited(void **state)
{
	Bytes reply = in(1, tp_icmp(0, 0, 0x00070001, TP_TEXT("abcd"))), other;

	(void)state;
	uint64_t p1 = add(out(1, 1, tp_icmp(8, 0, 0x00070001, TP_TEXT("abcd"))));
	uint64_t p2 = add(out(1, 2, tp_icmp(8, 0, 0x00070002, TP_TEXT("abcd"))));
	assert_answer(match(reply), p1);
	/* the same bytes by another way: only the TTL differs */
	Bytes copy = tp_ip4((TpIp){ .src = PEER, .dst = ME, .proto = 1, .id = 777, .ttl = 55 },
			    tp_icmp(0, 0, 0x00070001, TP_TEXT("abcd")));
	assert_int_equal(match(copy).verdict, VERDICT_DUPLICATE);
	other = tp_ip4((TpIp){ .src = PEER, .dst = ME, .proto = 1, .id = 778 },
		       tp_icmp(0, 0, 0x00070001, TP_TEXT("abcd")));
	assert_int_equal(match(other).verdict, VERDICT_FURTHER);
	/* a duplicate never hides that probe 2 is unanswered */
	matcher_close(m);
	Match late = match(in(1, tp_icmp(0, 0, 0x00070002, TP_TEXT("abcd"))));
	assert_int_equal(late.verdict, VERDICT_LATE);
	assert_int_equal(late.probe, p2);
	assert_int_equal(match(reply).verdict, VERDICT_LATE);
	assert_int_equal(match(in(1, tp_icmp(0, 0, 0x00070003, nothing))).verdict, VERDICT_UNSOLICITED);
}

static void fault_4_sequence_numbers_wrap(void **state)
{
	(void)state;
	/* 70,000 echo requests under one id: the same seq comes again with the 65,536th */
	for (uint32_t i = 0; i < 70000; i++) {
		uint64_t p = add(out(1, (uint16_t)(i % 65535 + 1),
				     tp_icmp(8, 0, 7u << 16 | (i & 0xffff), TP_TEXT("x"))));

		assert_answer(match(in(1, tp_icmp(0, 0, 7u << 16 | (i & 0xffff), TP_TEXT("x")))), p);
	}
}

/* ---- others of language.md 6 ---- */

static void udp_by_payload_else_in_order(void **state)
{
	(void)state;
	add(out(17, 1, tp_udp(5000, 7, TP_TEXT("a"))));
	add(out(17, 2, tp_udp(5000, 7, TP_TEXT("b"))));
	add(out(17, 3, tp_udp(5000, 7, TP_TEXT("c"))));
	assert_answer(match(in(17, tp_udp(7, 5000, TP_TEXT("b")))), 2);
	Match r = match(in(17, tp_udp(7, 5000, TP_TEXT("other"))));
	assert_int_equal(r.probe, 1);
	assert_true(r.ambiguous);
	/* one is left: no other could be meant */
	r = match(in(17, tp_udp(7, 5000, TP_TEXT("third"))));
	assert_int_equal(r.probe, 3);
	assert_false(r.ambiguous);
	assert_int_equal(match(in(17, tp_udp(9, 5000, TP_TEXT("a")))).verdict, VERDICT_UNSOLICITED);
}

static void dns_by_id_and_question(void **state)
{
	(void)state;
	uint64_t p1 = add(out(17, 1, tp_udp(5000, 53, tp_dns(17, 0x0100, "www.acme.corp"))));
	uint64_t p2 = add(out(17, 2, tp_udp(5000, 53, tp_dns(18, 0x0100, "www.acme.corp"))));
	assert_answer(match(in(17, tp_udp(53, 5000, tp_dns(18, 0x8180, "WWW.acme.Corp")))), p2);
	assert_int_equal(match(in(17, tp_udp(53, 5000, tp_dns(19, 0x8180, "www.acme.corp")))).verdict,
			 VERDICT_UNSOLICITED);
	assert_int_equal(match(in(17, tp_udp(53, 5000, tp_dns(17, 0x8180, "evil.corp")))).verdict,
			 VERDICT_UNSOLICITED);
	/* FORMERR without the question */
	assert_answer(match(in(17, tp_udp(53, 5000, tp_dns(17, 0x8181, NULL)))), p1);
}

static Bytes arp(uint16_t op, uint32_t psrc, uint32_t pdst)
{
	Writer w = tp_writer();

	wr_zeros(&w, 12);
	wr_be16(&w, 0x0806);
	wr_be32(&w, 0x00010800);
	wr_be16(&w, 0x0604);
	wr_be16(&w, op);
	wr_zeros(&w, 6);
	wr_be32(&w, psrc);
	wr_zeros(&w, 6);
	wr_be32(&w, pdst);
	return wr_done(&w);
}

static void arp_by_target(void **state)
{
	PacketId id;
	uint32_t n;

	(void)state;
	uint64_t p = matcher_add(m, arp(1, ME, PEER), WIRE_ETHER, 1, 0);
	assert_true(packet_id_read(arp(2, OTHER, ME), WIRE_ETHER, &id));
	assert_int_equal(matcher_match(m, &id, &n)->verdict, VERDICT_UNSOLICITED);
	assert_true(packet_id_read(arp(1, PEER, ME), WIRE_ETHER, &id));
	assert_int_equal(matcher_match(m, &id, &n)->verdict, VERDICT_UNSOLICITED);
	assert_true(packet_id_read(arp(2, PEER, ME), WIRE_ETHER, &id));
	assert_answer(*matcher_match(m, &id, &n), p);
}

static void errors_about_pings_and_redirects(void **state)
{
	Bytes p = out(1, 5, tp_icmp(8, 0, 0x00070001, TP_TEXT("x")));

	(void)state;
	add(p);
	Match r = match(quote_of(p, ROUTER, 5, 1, 28));
	assert_int_equal(r.how, HOW_REDIRECT);
	assert_int_equal(r.verdict, VERDICT_FURTHER);
	assert_answer(match(quote_of(p, ROUTER, 11, 0, 28)), 1);
	/* the reply afterwards is a further answer, not a second first one */
	assert_int_equal(match(in(1, tp_icmp(0, 0, 0x00070001, TP_TEXT("x")))).verdict, VERDICT_FURTHER);
}

static void the_probe_itself_comes_back(void **state)
{
	(void)state;
	uint64_t p = add(tp_ip4((TpIp){ .src = OTHER, .dst = PEER, .proto = 17, .id = 5, .ttl = 64 },
				tp_udp(5000, 9999, TP_TEXT("x"))));
	Match r = match(tp_ip4((TpIp){ .src = OTHER, .dst = PEER, .proto = 17, .id = 5, .ttl = 60 },
			       tp_udp(5000, 9999, TP_TEXT("x"))));
	assert_answer(r, p);
	assert_int_equal(r.how, HOW_LOOPED);
}

static void repetitions_are_one_probe(void **state)
{
	(void)state;
	uint64_t first = matcher_add(m, out(1, 1, tp_icmp(8, 0, 0x00070001, nothing)), WIRE_IP, 5, 0);
	uint64_t second = matcher_add(m, out(1, 2, tp_icmp(8, 0, 0x00070002, nothing)), WIRE_IP, 5, first);
	Match r = match(in(1, tp_icmp(0, 0, 0x00070002, nothing)));
	assert_answer(r, second);
	assert_int_equal(r.group, 5);
	assert_int_equal(match(in(1, tp_icmp(0, 0, 0x00070001, nothing))).verdict, VERDICT_FURTHER);
}

static void dropped_probes_have_no_answers(void **state)
{
	(void)state;
	matcher_drop(m, add(out(1, 1, tp_icmp(8, 0, 0x00070001, nothing))));
	assert_int_equal(match(in(1, tp_icmp(0, 0, 0x00070001, nothing))).verdict, VERDICT_UNSOLICITED);
}

/* 20,000 outstanding probes, all of one flow in the worst case, cost no more per
 * packet than 200: the ratio tells a scan from a look-up on any machine. */
static double answer_all(uint32_t n, bool one_flow)
{
	struct timespec a, b;

	setup(NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t text[4];

		put_be32(text, i);
		add(out(17, (uint16_t)(i + 1),
			tp_udp((uint16_t)(one_flow ? 5000 : 10000 + i), 7, BYTES(text, 4))));
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t text[4];

		put_be32(text, i);
		assert_answer(
			match(in(17, tp_udp(7, (uint16_t)(one_flow ? 5000 : 10000 + i), BYTES(text, 4)))),
			i + 1);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / n;
}

static void twenty_thousand_outstanding(void **state)
{
	(void)state;
	for (int one_flow = 0; one_flow < 2; one_flow++) {
		answer_all(200, one_flow);
		double few = answer_all(200, one_flow), many = answer_all(20000, one_flow);

		print_message("%s: %.0f ns a packet with 200, %.0f ns with 20,000\n",
			      one_flow ? "one flow" : "many flows", few, many);
		assert_true(many < few * 20 + 2000);
	}
}

/* Without payloads to tell them apart they are answered in order, still at once. */
static void in_order_without_a_scan(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		add(out(17, (uint16_t)(i + 1), tp_udp(5000, 7, TP_TEXT("same"))));
	for (uint32_t i = 0; i < 20000; i++) {
		Match r = match(in(17, tp_udp(7, 5000, TP_TEXT("reply"))));

		assert_int_equal(r.verdict, VERDICT_ANSWER);
		assert_int_equal(r.probe, i + 1);
	}
}

/* The oldest make room; nothing dangles. */
static void old_probes_are_forgotten(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3 * LIMIT_OUTSTANDING; i++) {
		add(out(17, (uint16_t)(i % 65535 + 1),
			tp_udp((uint16_t)(i % 50000 + 1000), (uint16_t)(i / 50000 + 1), nothing)));
		if (i % 1000 == 0)
			matcher_close(m);
	}
	assert_int_equal(match(in(17, tp_udp(1, 1000, nothing))).verdict, VERDICT_UNSOLICITED);
	uint32_t last = 3 * LIMIT_OUTSTANDING - 1;
	assert_int_equal(
		match(in(17, tp_udp((uint16_t)(last / 50000 + 1), (uint16_t)(last % 50000 + 1000), nothing)))
			.probe,
		last + 1);
}

static Bytes dhcp(uint8_t op, uint8_t xid)
{
	uint8_t *b = arena_alloc(&arena, 16);

	memset(b, 0, 16);
	b[0] = op;
	b[7] = xid;
	return BYTES(b, 16);
}

/* RFC 2131 4.1: from no address to all, back from anybody to whatever address it gives. */
static void dhcp_by_transaction(void **state)
{
	(void)state;
	uint64_t p = add(tp_ip4((TpIp){ .src = 0, .dst = 0xffffffff, .proto = 17 }, tp_udp(68, 67, dhcp(1, 5))));
	TpIp to_all = { .src = PEER, .dst = 0xffffffff, .proto = 17 }, to_one = { .src = PEER + 1, .dst = ME + 9, .proto = 17 };

	assert_int_equal(match(tp_ip4(to_all, tp_udp(67, 68, dhcp(2, 6)))).verdict, VERDICT_UNSOLICITED);
	assert_answer(match(tp_ip4(to_all, tp_udp(67, 68, dhcp(2, 5)))), p);
	assert_int_equal(match(tp_ip4(to_one, tp_udp(67, 68, dhcp(2, 5)))).verdict, VERDICT_FURTHER);
	assert_int_equal(match(tp_ip4(to_one, tp_udp(67, 68, TP_TEXT("short")))).verdict, VERDICT_UNSOLICITED);
}

/* RFC 919: whoever hears it may answer; other addresses of the net stay one peer's. */
static void directed_broadcast_is_answered_by_many(void **state)
{
	(void)state;
	matcher_broadcast(m, ip4(PEER | 0xff));
	assert_true(matcher_to_many(m, ip4(PEER | 0xff)));
	assert_false(matcher_to_many(m, ip4(PEER)));
	uint64_t p = add(tp_ip4((TpIp){ .src = ME, .dst = PEER | 0xff, .proto = 1 }, tp_icmp(8, 0, 5 << 16 | 1, nothing)));
	assert_answer(match(in(1, tp_icmp(0, 0, 5 << 16 | 1, nothing))), p);
	assert_int_equal(match(tp_ip4((TpIp){ .src = PEER + 1, .dst = ME, .proto = 1 }, tp_icmp(0, 0, 5 << 16 | 1, nothing)))
				 .verdict,
			 VERDICT_FURTHER);
	assert_int_equal(match(in(1, tp_icmp(0, 0, 5 << 16 | 2, nothing))).verdict, VERDICT_UNSOLICITED);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fault_1_syn_ack_across_the_wrap),
		T(fault_1_rst_answers),
		T(fault_1_syn_with_data_any_ack_of_it),
		T(fault_1_cumulative_ack_answers_all_it_covers),
		T(fault_1_probes_without_flags),
		T(fault_1_keep_alive_and_challenge_ack),
		T(fault_2_errors_go_to_the_probe_they_quote),
		T(fault_2_checksum_tells_where_the_id_was_rewritten),
		T(fault_2_what_stays_ambiguous_says_so),
		T(fault_3_rewritten_source_still_matches),
		T(fault_3_another_destination_is_no_match),
		T(fault_4_duplicates_further_late_unsolicited),
		T(fault_4_sequence_numbers_wrap),
		T(udp_by_payload_else_in_order),
		T(dns_by_id_and_question),
		T(arp_by_target),
		T(directed_broadcast_is_answered_by_many),
		T(dhcp_by_transaction),
		T(errors_about_pings_and_redirects),
		T(the_probe_itself_comes_back),
		T(repetitions_are_one_probe),
		T(dropped_probes_have_no_answers),
		T(twenty_thousand_outstanding),
		T(in_order_without_a_scan),
		T(old_probes_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
