/* SPDX-License-Identifier: Apache-2.0
 *
 * Identities, series, reassembly, changes and warnings.  Tests named fault_<n>
 * are the cases of doc/known-faults.md with that number.
 */
#include "probe/changed.h"
#include "probe/expert.h"
#include "probe/identity.h"
#include "probe/reassemble.h"
#include "probe/stats.h"
#include "wire/test_packets.h"
#include "wire/fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ME = 0x0a000001, PEER = 0x0a000002, ROUTER = 0x0a000101 };

static Arena arena;

static int setup(void **state)
{
	static uint8_t *memory;

	(void)state;
	if (!memory)
		memory = malloc(32 << 20);
	arena_init(&arena, memory, 32 << 20, NULL);
	tp_at = 0;
	return 0;
}

/* ---- 5: distinct identities ---- */

static WirePacket built(WireId transport, unsigned dport_field, uint64_t dport)
{
	WirePacket p = { .n = 2 };

	wire_layer_init(&p.layer[0], wire_proto(WIRE_IP), &arena);
	wire_set_num(&p.layer[0], F_IP_DST, PEER);
	wire_layer_init(&p.layer[1], wire_proto(transport), &arena);
	if (dport)
		wire_set_num(&p.layer[1], dport_field, dport);
	return p;
}

static IdentityPool *pool(uint32_t ports)
{
	IdentityPool *p = arena_new(&arena, IdentityPool);

	p->seed = 99;
	assert_true(identity_own(p, &arena, 1, 4711, ip4(ME)));
	assert_true(identity_own(p, &arena, 1, 4712, ip4(ME)));
	for (uint32_t i = 0; i < ports; i++) {
		assert_true(identity_own(p, &arena, 17, (uint16_t)(61000 + i), ip4(ME)));
		assert_true(identity_own(p, &arena, 6, (uint16_t)(62000 + i), (Ip){ 0 }));
	}
	return p;
}

static void fault_5_free_fields_get_distinct_identities(void **state)
{
	static uint8_t ids[65536], seqs[65536];
	IdentityPool *own = pool(10);
	size_t mark = arena_mark(&arena);

	(void)state;
	memset(ids, 0, sizeof ids);
	memset(seqs, 0, sizeof seqs);
	for (uint64_t n = 0; n < 65535; n++) {
		WirePacket p = built(WIRE_ICMP, 0, 0);

		assert_null(identity_fill(&p, own, ip4(ME), n, &arena));
		uint64_t id = wire_num(&p.layer[0], F_IP_ID), seq = wire_num(&p.layer[1], F_ICMP_SEQ);
		assert_int_equal(wire_num(&p.layer[0], F_IP_SRC), ME);
		assert_in_range(wire_num(&p.layer[1], F_ICMP_ID), 4711, 4712);
		assert_true(id != 0 && !ids[id] && !seqs[seq]);
		ids[id] = seqs[seq] = 1;
		arena_reset(&arena, mark);
	}
}

static void fault_5_ports_in_turn(void **state)
{
	IdentityPool *own = pool(10);
	unsigned used[10] = { 0 };

	(void)state;
	for (uint64_t n = 0; n < 20; n++) {
		WirePacket p = built(WIRE_UDP, F_UDP_DPORT, 53);

		assert_null(identity_fill(&p, own, ip4(ME), n, &arena));
		uint64_t port = wire_num(&p.layer[1], F_UDP_SPORT);
		assert_in_range(port, 61000, 61009);
		assert_int_equal(used[port - 61000]++, n / 10);
	}
	for (uint64_t n = 0; n < 100; n++) {
		WirePacket p = built(WIRE_TCP, F_TCP_DPORT, 80);

		assert_null(identity_fill(&p, own, ip4(ME), n, &arena));
		assert_in_range(wire_num(&p.layer[1], F_TCP_SPORT), 62000, 62009);
		assert_in_range(wire_num(&p.layer[1], F_TCP_SEQ), 1, 1 << 30);
	}
	WirePacket p = built(WIRE_UDP, F_UDP_DPORT, 53);
	assert_non_null(
		identity_fill(&p, own, ip4(PEER), 0, &arena)); /* no UDP port is bound to that source */
}

static void set_fields_are_never_touched(void **state)
{
	IdentityPool *own = pool(2);
	WirePacket p = built(WIRE_UDP, F_UDP_DPORT, 53), before;

	(void)state;
	wire_set_num(&p.layer[0], F_IP_ID, 0);
	wire_set_num(&p.layer[0], F_IP_SRC, ROUTER);
	wire_set_num(&p.layer[1], F_UDP_SPORT, 1);
	before = p;
	assert_null(identity_fill(&p, own, ip4(ME), 3, &arena));
	assert_int_equal(wire_num(&p.layer[0], F_IP_ID), 0);
	assert_int_equal(wire_num(&p.layer[0], F_IP_SRC), ROUTER);
	assert_int_equal(wire_num(&p.layer[1], F_UDP_SPORT), 1);
	/* what is filled in goes to a copy: the program's packet stays as it was */
	p = built(WIRE_UDP, F_UDP_DPORT, 53);
	before = p;
	assert_null(identity_fill(&p, own, ip4(ME), 3, &arena));
	assert_false(wire_is_set(&before.layer[1], F_UDP_SPORT));
	assert_int_equal(wire_num(&before.layer[1], F_UDP_SPORT), 0);
}

static void identities_depend_on_seed_destination_and_number_alone(void **state)
{
	Identity a = identity_draw(1, ip4(PEER), 7), b = identity_draw(1, ip4(PEER), 7);
	Identity c = identity_draw(2, ip4(PEER), 7), d = identity_draw(1, ip4(ROUTER), 7);

	(void)state;
	assert_memory_equal(&a, &b, sizeof a);
	assert_int_not_equal(a.tcp_seq, c.tcp_seq);
	assert_int_not_equal(a.tcp_seq, d.tcp_seq);
	static uint8_t seen[65536];
	memset(seen, 0, sizeof seen);
	for (uint64_t n = 0; n < 65536; n++) {
		uint16_t id = identity_draw(1, ip4(PEER), n).dns_id;

		assert_false(seen[id]);
		seen[id] = 1;
	}
}

/* ---- 11 and statistics ---- */

static void fault_11_reordering_by_our_own_order(void **state)
{
	/* sent 0..5; answers arrive 0 2 3 1 5, 4 is lost */
	int64_t rx[6] = { 10, 40, 20, 30, NS_NONE, 50 };
	Outcome o[6];
	SeriesStats s;

	(void)state;
	for (int i = 0; i < 6; i++)
		o[i] = (Outcome){ i, rx[i], rx[i] != NS_NONE, true, 1 };
	stats_series(o, 6, &arena, &s);
	assert_int_equal(s.sent, 6);
	assert_int_equal(s.received, 5);
	assert_float_equal(s.loss, 1.0 / 6, 1e-12);
	assert_int_equal(s.reordered, 1);
	assert_int_equal(s.max_displacement, 2);
	assert_int_equal(s.n_lost_runs, 1);
	assert_int_equal(s.lost_runs[0], 1);
	/* one place late is late */
	o[2].rx_ns = 45;
	stats_series(o, 6, &arena, &s);
	assert_int_equal(s.reordered, 2);
	assert_int_equal(s.max_displacement, 2);
	o[3].rx_ns = 35;
	o[1].rx_ns = 20;
	o[2].rx_ns = 15;
	stats_series(o, 6, &arena, &s);
	assert_int_equal(s.reordered, 1);
	assert_int_equal(s.max_displacement, 1);
	/* different peers overtake each other by nature */
	for (int i = 0; i < 6; i++)
		o[i].peer = (uint64_t)i;
	stats_series(o, 6, &arena, &s);
	assert_int_equal(s.reordered, 0);
	/* a repetition is late by our own doing */
	for (int i = 0; i < 6; i++)
		o[i] = (Outcome){ i, rx[i], rx[i] != NS_NONE, true, 1 };
	o[1].tx_ns = 25;
	o[5].tx_ns = 26;
	stats_series(o, 6, &arena, &s);
	assert_int_equal(s.reordered, 0);
}

static void runs_of_losses(void **state)
{
	const char *got = "xx.xxx..x";
	Outcome o[9];
	SeriesStats s;

	(void)state;
	for (int i = 0; i < 9; i++)
		o[i] = (Outcome){ i, i, got[i] == '.', true, 1 };
	stats_series(o, 9, &arena, &s);
	assert_int_equal(s.n_lost_runs, 3);
	assert_int_equal(s.lost_runs[0], 2);
	assert_int_equal(s.lost_runs[1], 3);
	assert_int_equal(s.lost_runs[2], 1);
	stats_series(o, 0, &arena, &s);
	assert_true(isnan(s.loss));
	assert_int_equal(s.n_lost_runs, 0);
}

static void summaries(void **state)
{
	int64_t v[] = { 40, NS_NONE, 10, 30, 20 };
	double d[100];
	SummaryNs s;
	Summary f;

	(void)state;
	stats_summary_ns(v, 5, &arena, &s);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.min, 10);
	assert_int_equal(s.max, 40);
	assert_int_equal(s.avg, 25);
	assert_int_equal(s.median, 25);
	assert_int_equal(s.p95, 40);
	assert_int_equal(s.stdev, 13); /* sqrt(500/3) = 12.9 */
	stats_summary_ns(v, 0, &arena, &s);
	assert_true(s.min == NS_NONE && s.stdev == NS_NONE);
	for (int i = 0; i < 100; i++)
		d[i] = i + 1;
	stats_summary(d, 100, &arena, &f);
	assert_float_equal(f.p95, 95, 0);
	assert_float_equal(f.p99, 99, 0);
	assert_float_equal(f.median, 50.5, 0);
	assert_float_equal(f.stdev, 29.011491975882016, 1e-9);
	assert_int_equal(stats_jitter_ns(v, 5), 20); /* 40>10>30>20: 30, 20, 10 */
	assert_true(stats_jitter_ns(v, 1) == NS_NONE);
}

/* ---- 17: fragments ---- */

static Warnings *ws;
static Reassembler *reasm;

static bool piece(uint16_t frag, Bytes body, int64_t at_ns, Reassembled *ret)
{
	PacketId id;

	assert_true(packet_id_read(
		tp_ip4((TpIp){ .src = PEER, .dst = ME, .proto = 17, .id = 5, .frag = frag }, body), WIRE_IP,
		&id));
	assert_true(id.fragment);
	return reassemble(reasm, &id, at_ns, ret);
}

static void start_reassembly(void)
{
	ws = arena_new(&arena, Warnings);
	reasm = reassembler_new(&arena, ws);
}

static void fault_17_fragments_in_any_order(void **state)
{
	Reassembled r;
	Bytes whole = tp_udp(7, 5000, TP_TEXT("0123456789abcdefghij")); /* 28 bytes */

	(void)state;
	start_reassembly();
	assert_false(piece(2, bytes_slice(whole, 16, 28), 0, &r)); /* the last one first */
	assert_false(piece(0x2000, bytes_slice(whole, 0, 8), 1, &r));
	assert_false(piece(0x2000, bytes_slice(whole, 0, 8), 2, &r)); /* a copy */
	assert_true(piece(0x2001, bytes_slice(whole, 8, 16), 3, &r));
	assert_int_equal(r.n, 3);
	assert_int_equal(ws->w[WARN_DUPLICATE].count, 1);
	assert_true(
		bytes_eq(r.packet, tp_ip4((TpIp){ .src = PEER, .dst = ME, .proto = 17, .id = 5 }, whole)));
	reassemble_expire(reasm, INT64_MAX, true);
	assert_int_equal(ws->w[WARN_FRAG_LOST].count, 0);
}

static void fault_17_overlap_and_gap_are_reported_never_merged(void **state)
{
	Reassembled r;
	Bytes whole = tp_udp(7, 5000, TP_TEXT("0123456789abcdefghij"));

	(void)state;
	start_reassembly();
	assert_false(piece(0x2000, bytes_slice(whole, 0, 16), 0, &r));
	assert_false(piece(0x2001, bytes_slice(whole, 8, 24), 1, &r));
	assert_int_equal(ws->w[WARN_FRAG_OVERLAP].count, 1);
	assert_false(piece(2, bytes_slice(whole, 16, 28), 2, &r)); /* would be whole, but is spoilt */
	start_reassembly();
	assert_false(piece(0x2000, TP_TEXT("AAAAAAAA"), 0, &r));
	assert_false(piece(0x2000, TP_TEXT("BBBBBBBB"), 0, &r));
	assert_int_equal(ws->w[WARN_FRAG_INCONSISTENT].count, 1);
	start_reassembly();
	assert_false(piece(1, TP_TEXT("end"), 0, &r));
	assert_false(piece(0x2002, TP_TEXT("beyond.."), 0, &r));
	assert_int_equal(ws->w[WARN_FRAG_SIZE].count, 1);
	start_reassembly(); /* the first is missing */
	assert_false(piece(1, TP_TEXT("end"), 0, &r));
	reassemble_expire(reasm, 31 * NS_PER_S, false);
	assert_int_equal(ws->w[WARN_FRAG_LOST].count, 1);
}

static Bytes fragment6(uint16_t off_more, Bytes body)
{
	Writer w = tp_writer();

	wr_be32(&w, 0x60000000);
	wr_be16(&w, (uint16_t)(8 + body.n));
	wr_u8(&w, 44);
	wr_u8(&w, 64);
	wr_zeros(&w, 15);
	wr_u8(&w, 2);
	wr_zeros(&w, 15);
	wr_u8(&w, 1);
	wr_u8(&w, 17);
	wr_u8(&w, 0);
	wr_be16(&w, off_more);
	wr_be32(&w, 0xabcdef01);
	wr_bytes(&w, body);
	return wr_done(&w);
}

static void fragments_of_ipv6(void **state)
{
	Reassembled r;
	PacketId id;
	Bytes whole = tp_udp(7, 5000, TP_TEXT("0123456789ab"));

	(void)state;
	start_reassembly();
	assert_true(packet_id_read(fragment6(1, bytes_slice(whole, 0, 8)), WIRE_IPV6, &id));
	assert_false(reassemble(reasm, &id, 0, &r));
	assert_true(packet_id_read(fragment6(8, bytes_slice(whole, 8, 20)), WIRE_IPV6, &id));
	assert_true(reassemble(reasm, &id, 0, &r));
	assert_int_equal(r.packet.n, 60);
	assert_int_equal(r.packet.p[6], 17);
	assert_int_equal(get_be16(r.packet.p + 4), 20);
	assert_true(bytes_eq(bytes_slice(r.packet, 40, 60), whole));
}

/* ---- changes ---- */

static void changes_are_named(void **state)
{
	WirePacket p = built(WIRE_TCP, F_TCP_DPORT, 80), sent, quote;
	Bytes frame;
	Str text[8];

	(void)state;
	assert_null(identity_fill(&p, pool(1), ip4(ME), 0, &arena));
	assert_null(wire_build(&p, &arena, &frame, &sent));
	uint8_t *q = arena_copy(&arena, frame.p, frame.n);
	q[8] = 3; /* TTL and header checksum: every hop */
	q[10] ^= 0xff;
	wire_parse(BYTES(q, frame.n), WIRE_IP, &arena, &quote);
	assert_int_equal(packet_changed(&sent, &quote, &arena, text, 8), 0);
	q[1] = 0xb8;
	q[20] ^= 1;		    /* source port */
	q[36] ^= 1;		    /* its checksum follows */
	assert_int_equal(q[40], 2); /* MSS stands first */
	put_be16(q + 42, 1400);
	wire_parse(BYTES(q, frame.n), WIRE_IP, &arena, &quote);
	assert_int_equal(packet_changed(&sent, &quote, &arena, text, 8), 3);
	assert_true(str_starts(text[0], STR("IP.tos: 0")));
	assert_true(str_starts(text[1], STR("TCP.sport: ")));
	assert_string_equal(text[2].p, "TCP.options: MSS 1460 -> 1400");
	memset(q + 40, 1, 4);
	wire_parse(BYTES(q, frame.n), WIRE_IP, &arena, &quote);
	assert_int_equal(packet_changed(&sent, &quote, &arena, text, 8), 3);
	assert_string_equal(text[2].p, "TCP.options: MSS 1460 removed");
}

/* ---- warnings ---- */

static void rows_are_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WARN_N; i++) {
		const WarnRow *r = warn_row((WarnId)i);

		assert_int_equal(warn_by_code(str_c(r->code)), i);
		assert_true(strlen(r->meaning) > 10 && strlen(r->causes) > 5 && strlen(r->next) > 5);
		assert_non_null(r->known);
		assert_true(r->layer < WARN_LAYER_N);
	}
	assert_int_equal(warn_by_code(STR("nonsense")), WARN_N);
}

static void warnings_are_kept_by_peer(void **state)
{
	const Warning *w;

	(void)state;
	ws = arena_new(&arena, Warnings);
	w = &ws->w[WARN_TTL];
	warn_add(ws, WARN_TTL, ip4(PEER), 0, "nothing");
	assert_int_equal(w->count + w->n, 0);
	for (uint32_t i = 0; i < 40; i++)
		warn_add(ws, WARN_TTL, ip4(PEER + i % 20), 2, "time %u", i);
	assert_int_equal(w->count, 80);
	assert_int_equal(w->n, WARN_PEERS);
	assert_true(ip_eq(w->peer[3].ip, ip4(PEER + 3)));
	assert_int_equal(w->peer[3].count, 4);
	assert_string_equal(w->peer[3].evidence, "time 3");
	warn_add(ws, WARN_TTL, ip4(PEER), UINT32_MAX, "many");
	assert_int_equal(w->count, UINT32_MAX);
	assert_int_equal(w->peer[0].count, UINT32_MAX);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fault_5_free_fields_get_distinct_identities),
		T(fault_5_ports_in_turn),
		T(set_fields_are_never_touched),
		T(identities_depend_on_seed_destination_and_number_alone),
		T(fault_11_reordering_by_our_own_order),
		T(runs_of_losses),
		T(summaries),
		T(fault_17_fragments_in_any_order),
		T(fault_17_overlap_and_gap_are_reported_never_merged),
		T(fragments_of_ipv6),
		T(changes_are_named),
		T(rows_are_whole),
		T(warnings_are_kept_by_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
