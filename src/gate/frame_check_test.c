/* SPDX-License-Identifier: Apache-2.0
 *
 * Every clause of guardrails.md 3 and 4 with its forbidden frame and its allowed
 * twin.
 */
#include "base/units.h"
#include "gate/hostile_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[64 << 20], frame[LAB_FRAME * 4];
static Lab lab;

static void make_lab(const char *lift)
{
	if (!lab_with(&lab, memory, sizeof memory, lift))
		fail_msg("%s", lab_text(&lab));
}

/* ---- the words that a row needs ---- */

static bool passes(Bytes data, EmitKind kind, FrameVerdict *v)
{
	FrameIn in = { .kind = kind, .data = data, .link = &lab.link, .now = 1 };

	return frame_check(&lab.fc, &in, v) && frame_hop_ok(v, lab_scene().hop);
}

static bool row_passes(const HostileFrame *h, FrameVerdict *v)
{
	Writer w = writer(frame, sizeof frame);
	Scene s = lab_scene();
	EmitKind kind;

	h->build(&s, &w, &kind);
	assert_false(w.full);
	/* from its own memory, so that a sanitizer sees each byte too many */
	uint8_t *copy = arena_copy(&lab.a, frame, w.n);

	return passes(BYTES(copy, w.n), kind, v);
}

static bool has_token(const char *set, const char *token, size_t n)
{
	for (const char *p = set; p && *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == n && strncmp(p, token, n) == 0)
			return true;
	return false;
}

/* Whether all that `need` says is in `have`. */
static bool lifted(const char *need, const char *have)
{
	for (const char *p = need; *p; p += strcspn(p, " "), p += *p == ' ')
		if (!has_token(have, p, strcspn(p, " ")))
			return false;
	return true;
}

/* ---- the table ---- */

static void no_forbidden_frame_leaves(void **state)
{
	(void)state;
	size_t n;
	const HostileFrame *rows = hostile_frames(&n);
	FrameVerdict v;

	make_lab(NULL);
	for (size_t i = 0; i < n; i++) {
		if (row_passes(&rows[i], &v))
			fail_msg("%s left", rows[i].name);
		if (v.reason == NOTSENT_NONE || !v.text[0])
			fail_msg("%s: no reason", rows[i].name);
	}
	assert_true(n > 280);
}

/* A word lifts only its own item: under each set of words exactly the rows leave
 * that need no other. */
static void each_word_lifts_its_own_item_only(void **state)
{
	(void)state;
	size_t n;
	const HostileFrame *rows = hostile_frames(&n);
	FrameVerdict v;

	for (size_t i = 0; i < n; i++) {
		bool seen = !rows[i].lift;

		for (size_t j = 0; j < i && !seen; j++)
			seen = rows[j].lift && strcmp(rows[i].lift, rows[j].lift) == 0;
		if (seen)
			continue;
		make_lab(rows[i].lift);
		for (size_t j = 0; j < n; j++) {
			bool may = rows[j].lift && lifted(rows[j].lift, rows[i].lift), does = row_passes(&rows[j], &v);

			if (may != does)
				fail_msg("with \"%s\": %s %s (%s)", rows[i].lift, rows[j].name,
					 does ? "leaves" : "does not leave", v.text);
		}
	}
}

/* The same words in the program alone, or in the policy alone, are not enough. */
static void words_need_both_sides(void **state)
{
	(void)state;
	static const char *const who[2] = { "program", "policy" };
	size_t n;
	const HostileFrame *rows = hostile_frames(&n);

	for (size_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++) {
			const char *lift = rows[i].lift;
			FrameVerdict v;
			bool started;

			if (!lift || !strchr(lift, '+'))
				continue;
			char text[2][512] = { "", "" };

			snprintf(text[side], sizeof text[side], "reach 0.0.0.0/0 %.*s;reach ::/0 %.*s", (int)strcspn(strchr(lift, '+'), " "),
				 strchr(lift, '+'), (int)strcspn(strchr(lift, '+'), " "), strchr(lift, '+'));
			snprintf(text[!side], sizeof text[!side], "reach 0.0.0.0/0;reach ::/0");
			lab_init(&lab, memory, sizeof memory);
			lab_policy(&lab, "sys", text[1]);
			lab_program(&lab, text[0]);
			lab_program(&lab, "emit ? tcp 80,1-10000;emit ? udp 9,53,1-10000;emit ? icmp;emit ? udp ether;budget packets=1000");
			started = lab_make(&lab);
			if (side == 0) {
				assert_false(started); /* what policy does not give is told before the start */
				continue;
			}
			lab_start(&lab);
			if (row_passes(&rows[i], &v))
				fail_msg("%s leaves by the %s's word alone", rows[i].name, who[side]);
		}
}

/* ---- what may leave ---- */

static FrameVerdict send_spec(Spec p, EmitKind kind)
{
	Writer w = writer(frame, sizeof frame);
	FrameVerdict v;

	spec_build(&p, &w);
	passes(BYTES(arena_copy(&lab.a, frame, w.n), w.n), kind, &v);
	return v;
}

#define ok4(p) assert_string_equal(send_spec(p, EMIT_IP4).text, "")
#define ok6(p) assert_string_equal(send_spec(p, EMIT_IP6).text, "")
#define okE(p) assert_string_equal(send_spec(p, EMIT_ETHER).text, "")
#define is(v, r) assert_string_equal(notsent_text((v).reason), notsent_text(r))

static void plain_frames_leave(void **state)
{
	(void)state;
	Scene s = lab_scene();
	uint8_t store[64];

	make_lab(NULL);
	ok4(spec_udp(&s));
	ok4(spec_tcp(&s));
	ok4(spec_icmp(&s));
	ok6(spec_udp6(&s));
	ok6(spec_icmp6(&s));
	ok6(spec_ns(&s, store));
	okE(spec_arp(&s, store));
	okE(spec_ether(spec_udp(&s), &s));
	okE(spec_ether(spec_ns(&s, store), &(Scene){ .mac = s.mac, .hop = lab_mac("33:33:ff:00:00:02") }));
	Spec p = spec_icmp(&s);

	p.type = 13; /* timestamp request */
	p.data = BYTES("123456789012", 12);
	ok4(p);
	p = spec_arp(&s, store);
	p.edst = s.hop; /* to the peer itself */
	okE(p);
	p.pad = 18; /* up to 60 bytes */
	okE(p);
	p = spec_ether(spec_udp(&s), &s);
	p.pad = 13;
	okE(p);
	p = spec_ns(&s, store);
	p.dst = s.peer6;
	ok6(p);
}

/* Checksums, TTL, sequence numbers, windows, flags: as wrong as the program likes. */
static void wrong_but_harmless_fields_leave(void **state)
{
	(void)state;
	Scene s = lab_scene();
	FrameVerdict v;

	make_lab(NULL);
	for (unsigned flags = 0; flags < 256; flags++) {
		Spec p = spec_tcp(&s);

		p.flags = (uint8_t)flags;
		ok4(p);
		assert_int_equal(send_spec(p, EMIT_IP4).syn, (flags & 2) != 0);
	}
	static const unsigned any[] = { 1, 8, 10, 11 }; /* TOS, TTL, IP checksum: nobody's business */

	for (size_t i = 0; i < sizeof any / sizeof any[0]; i++)
		for (unsigned x = 0; x < 256; x++) {
			Writer w = writer(frame, sizeof frame);
			Spec p = spec_tcp(&s);

			spec_build(&p, &w);
			frame[any[i]] = (uint8_t)x;
			assert_true(passes(wr_done(&w), EMIT_IP4, &v));
		}
	for (size_t i = 20 + 4; i < 40; i++) { /* of TCP all but the ports and the offset */
		Writer w = writer(frame, sizeof frame);
		Spec p = spec_tcp(&s);

		if (i == 32)
			continue;
		spec_build(&p, &w);
		frame[i] ^= 0xff;
		assert_true(passes(wr_done(&w), EMIT_IP4, &v));
	}
}

static void dns_queries_in_zones_leave(void **state)
{
	(void)state;
	static const char *const good[] = {
		"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\4acme\4corp\0\x00\x01\x00\x01",
		"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\3wWw\4ACME\4corp\0\x00\x1c\x00\x01",
		/* EDNS */
		"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0\x00\x01\x00\x01\0\0\x29\x10\0\0\0\0\0\0\0",
		/* IXFR: SOA whose name points at the question */
		"\x12\x34\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\4acme\4corp\0\x00\xfb\x00\x01\xc0\x0c\0\6\0\1\0\0\0\0\0\0",
	};
	static const size_t len[] = { 27, 31, 38, 39 };
	Scene s = lab_scene();

	make_lab(NULL);
	for (size_t i = 0; i < 4; i++) {
		Spec p = spec_udp(&s);

		p.dport = 53;
		p.data = BYTES(good[i], len[i]);
		ok4(p);
		for (size_t n = 0; n < len[i]; n++) { /* each one that is cut stays here */
			p.data = BYTES(good[i], n);
			is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
		}
	}
}

static void long_packets(void **state)
{
	(void)state;
	static uint8_t data[3000];
	Scene s = lab_scene();
	Spec p = spec_udp(&s);
	FrameVerdict v;

	make_lab(NULL);
	p.data = BYTES(data, 1472);
	v = send_spec(p, EMIT_IP4);
	is(v, NOTSENT_NONE);
	assert_false(v.cut);
	p.data = BYTES(data, 1473);
	v = send_spec(p, EMIT_IP4);
	is(v, NOTSENT_NONE);
	assert_true(v.cut);
	p.frag = 0x4000; /* DF */
	v = send_spec(p, EMIT_IP4);
	is(v, NOTSENT_TOO_LONG);
	assert_false(v.counts); /* too long breaks no rule */
	p = spec_udp6(&s);
	p.data = BYTES(data, 1453);
	v = send_spec(p, EMIT_IP6);
	is(v, NOTSENT_NONE);
	assert_true(v.cut);
	p = spec_ether(spec_udp(&s), &s);
	p.data = BYTES(data, 2000);
	v = send_spec(p, EMIT_ETHER);
	assert_true(v.cut && v.was_ether);
	/* what is cut is judged whole: a forbidden port does not hide behind the length */
	p = spec_udp(&s);
	p.data = BYTES(data, 2000);
	p.dport = 4000;
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
}

static void verdicts_say_where_to(void **state)
{
	(void)state;
	Scene s = lab_scene();
	uint8_t store[64];
	FrameVerdict v;

	make_lab("+broadcast +multicast");
	v = send_spec(spec_udp(&s), EMIT_IP4);
	assert_int_equal(v.hop, HOP_ROUTE);
	assert_true(ip_eq(v.hop_ip, s.peer4));
	assert_true(ip_eq(v.tuple.src, s.us4) && ip_eq(v.tuple.dst, s.peer4) && v.tuple.proto == 17 &&
		    v.tuple.sport == s.sport && v.tuple.dport == 9);
	v = send_spec(spec_icmp(&s), EMIT_IP4);
	assert_int_equal(v.tuple.sport, s.id);
	Spec p = spec_udp(&s);

	p.dst = lab_ip("224.130.1.2");
	v = send_spec(p, EMIT_IP4);
	assert_int_equal(v.hop, HOP_MAC);
	assert_memory_equal(v.hop_mac.b, lab_mac("01:00:5e:02:01:02").b, 6); /* RFC 1112 6.4: 23 bits */
	assert_true(v.to_many);
	p.dst = lab_ip("10.0.0.255");
	v = send_spec(p, EMIT_IP4);
	assert_memory_equal(v.hop_mac.b, lab_mac("ff:ff:ff:ff:ff:ff").b, 6);
	p = spec_udp6(&s);
	p.dst = lab_ip("ff02::1:2");
	v = send_spec(p, EMIT_IP6);
	assert_memory_equal(v.hop_mac.b, lab_mac("33:33:00:01:00:02").b, 6);
	v = send_spec(spec_ns(&s, store), EMIT_IP6);
	assert_memory_equal(v.hop_mac.b, lab_mac("33:33:ff:00:00:02").b, 6);
	assert_true(ip_eq(v.hop_ip, s.peer6) && v.tuple.proto == 0);
	lab.link.ether = false;
	v = send_spec(spec_udp(&s), EMIT_IP4);
	assert_int_equal(v.hop, HOP_NONE);
	is(send_spec(spec_ether(spec_udp(&s), &s), EMIT_ETHER), NOTSENT_FRAME);
}

static void frame_dst_reads_all_kinds(void **state)
{
	(void)state;
	Scene s = lab_scene();
	uint8_t store[64];
	Spec specs[] = { spec_udp(&s), spec_udp6(&s), spec_ether(spec_udp(&s), &s), spec_arp(&s, store),
			 spec_ether(spec_udp6(&s), &s), spec_ether(spec_udp(&s), &s) };
	EmitKind kinds[] = { EMIT_IP4, EMIT_IP6, EMIT_ETHER, EMIT_ETHER, EMIT_ETHER, EMIT_ETHER };

	specs[5].ntags = 2;
	for (size_t i = 0; i < 6; i++) {
		Writer w = writer(frame, sizeof frame);
		Ip dst;

		spec_build(&specs[i], &w);
		assert_true(frame_dst(kinds[i], wr_done(&w), &dst));
		assert_true(ip_eq(dst, i == 1 || i == 4 ? s.peer6 : s.peer4));
		for (size_t n = 0; n < 14; n++)
			assert_false(frame_dst(kinds[i], BYTES(frame, n), &dst));
	}
}

static void no_interface_no_frame(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec p = spec_udp(&s);
	Writer w = writer(frame, sizeof frame);
	FrameVerdict v;

	make_lab(NULL);
	spec_build(&p, &w);
	assert_false(frame_check(&lab.fc, &(FrameIn){ .kind = EMIT_IP4, .data = wr_done(&w) }, &v));
	is(v, NOTSENT_POLICY);
	assert_false(frame_check(&lab.fc, &(FrameIn){ .kind = (EmitKind)9, .data = wr_done(&w), .link = &lab.link }, &v));
	is(v, NOTSENT_FRAME);
	/* neighbours are asked where we live */
	uint8_t store[64];

	w = writer(frame, sizeof frame);
	p = spec_arp(&s, store);
	p.esrc = lab.other.mac;
	memcpy(store + 8, lab.other.mac.b, 6);
	spec_build(&p, &w);
	assert_false(frame_check(&lab.fc, &(FrameIn){ .kind = EMIT_ETHER, .data = wr_done(&w), .link = &lab.other }, &v));
}

/* Ports that a range asked for and that need a word: not sent, but no rule broken. */
static void ports_cut_out_of_a_range(void **state)
{
	(void)state;
	Scene s = lab_scene();
	static const uint16_t udp[] = { 19, 111, 137, 161, 389, 520, 4789 };
	static const uint16_t tcp[] = { 25, 53, 179, 853 };
	FrameVerdict v;

	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", "zone acme.corp");
	lab_program(&lab, "emit 10.0.0.2 udp 1-5000; emit 10.0.0.2 tcp 1-1000");
	assert_true(lab_make(&lab));
	lab_start(&lab);
	for (size_t i = 0; i < 7; i++) {
		Spec p = spec_udp(&s);

		p.dport = udp[i];
		v = send_spec(p, EMIT_IP4);
		is(v, NOTSENT_DENIED_PORT);
		assert_false(v.counts);
	}
	for (size_t i = 0; i < 4; i++) {
		Spec p = spec_tcp(&s);

		p.dport = tcp[i];
		v = send_spec(p, EMIT_IP4);
		is(v, NOTSENT_DENIED_PORT);
		assert_false(v.counts);
	}
	Spec p = spec_udp(&s);

	p.dport = 123; /* time, but not control */
	p.data = BYTES("\x1b", 1);
	ok4(p);
	p.data = BYTES("\x16", 1);
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	p.data = (Bytes){ 0 };
	ok4(p);
	p.dport = 5001;
	v = send_spec(p, EMIT_IP4);
	is(v, NOTSENT_POLICY);
	assert_true(v.counts);
}

static void resolvers_open_tcp_dns(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec p = spec_tcp(&s);

	p.dport = 53;
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", "zone acme.corp; resolver 10.0.0.2");
	lab_program(&lab, "emit 10.0.0.2 tcp 53; emit 10.0.0.3 tcp 50-60");
	assert_true(lab_make(&lab));
	lab_start(&lab);
	ok4(p);
	p.dst = lab_ip("10.0.0.3");
	is(send_spec(p, EMIT_IP4), NOTSENT_DENIED_PORT);
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", "zone all");
	lab_program(&lab, "emit 10.0.0.3 tcp 50-60");
	assert_true(lab_make(&lab));
	lab_start(&lab);
	ok4(p);
}

/* What is inferred for one peer opens nothing for another, and one protocol no other. */
static void rights_belong_to_their_peer(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec p = spec_udp(&s);
	uint8_t store[64];

	lab_init(&lab, memory, sizeof memory);
	lab_builtin(&lab);
	lab_program(&lab, "emit 10.0.0.2 udp 9; emit 10.0.0.3 tcp 80; emit 10.0.0.4 icmp");
	assert_true(lab_make(&lab));
	lab_start(&lab);
	ok4(p);
	is(send_spec(spec_tcp(&s), EMIT_IP4), NOTSENT_POLICY);
	is(send_spec(spec_icmp(&s), EMIT_IP4), NOTSENT_POLICY);
	is(send_spec(spec_ether(p, &s), EMIT_ETHER), NOTSENT_POLICY);
	p.dst = lab_ip("10.0.0.3");
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	p = spec_icmp(&s);
	p.dst = lab_ip("10.0.0.4");
	ok4(p);
	p.dst = lab_ip("10.0.0.5");
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	okE(spec_arp(&s, store));
	p = spec_arp(&s, store);
	store[27] = 5;
	is(send_spec(p, EMIT_ETHER), NOTSENT_POLICY);
}

/* ---- SYN, resets, what was received ---- */

static void receive(Spec p)
{
	Writer w = writer(frame, sizeof frame);

	spec_build(&p, &w);
	assert_int_equal(flows_received(&lab.flows, wr_done(&w), p.ether, (Bytes){ 0 }), FLOW_OWN);
}

static Spec reversed(Spec p)
{
	Spec q = p;

	q.src = p.dst;
	q.dst = p.src;
	q.sport = p.dport;
	q.dport = p.sport;
	return q;
}

/* syn counts every segment with SYN that does not answer a SYN passed up in this run. */
static void syn_counts(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec p = spec_tcp(&s);

	make_lab("other=132");
	assert_true(send_spec(p, EMIT_IP4).syn);
	p.flags = 0x12;
	assert_true(send_spec(p, EMIT_IP4).syn); /* nobody asked */
	p.flags = 0x10;
	assert_false(send_spec(p, EMIT_IP4).syn);
	Spec in = reversed(p);

	in.flags = 0x12;
	receive(in);
	p.flags = 0x12;
	assert_true(send_spec(p, EMIT_IP4).syn); /* a SYN-ACK is no SYN to answer */
	in.flags = 2;
	receive(in);
	assert_false(send_spec(p, EMIT_IP4).syn);
	p.flags = 2;
	assert_true(send_spec(p, EMIT_IP4).syn); /* a further SYN is no answer */
	p.flags = 0x12;
	p.dst = lab_ip("10.0.0.3");
	assert_true(send_spec(p, EMIT_IP4).syn); /* to another it is none */
	p = spec_udp(&s);
	p.proto = 132; /* SCTP INIT */
	p.raw = BYTES("\xee\x48\0\x09\0\0\0\0\0\0\0\0\1\0\0\4", 16);
	assert_true(send_spec(p, EMIT_IP4).syn);
	p.raw = BYTES("\xee\x48\0\x09\0\0\0\0\0\0\0\0\0\0\0\4", 16);
	assert_false(send_spec(p, EMIT_IP4).syn);
	p.raw = BYTES("\xee\x48\0\x09\0\0\0\0\0\0\0\0\0\0\0\5x\0\0\0\1\0\0\4", 24); /* INIT behind another */
	assert_true(send_spec(p, EMIT_IP4).syn);
	p.raw = BYTES("\xee\x48\0\x09\0\0\0\0\0\0\0\0\0\0\0\x14", 16); /* a chunk that is cut */
	assert_true(send_spec(p, EMIT_IP4).syn);
}

static FrameVerdict clean_up(Spec p)
{
	Writer w = writer(frame, sizeof frame);
	FrameVerdict v;

	spec_build(&p, &w);
	frame_check(&lab.fc, &(FrameIn){ EMIT_IP4, PURPOSE_CLEANUP, wr_done(&w), &lab.link, 1 }, &v);
	return v;
}

/* Only a bare reset of a flow that we opened is clean-up, whatever the engine calls it. */
static void clean_up_is_a_reset_of_our_flow(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec p = spec_tcp(&s);
	FrameVerdict v;

	make_lab(NULL);
	p.flags = 4;
	assert_false(clean_up(p).cleanup);
	v = send_spec(spec_tcp(&s), EMIT_IP4);
	flows_sent(&lab.flows, &v.tuple, v.syn, false);
	assert_true(clean_up(p).cleanup);
	p.flags = 0x14;
	assert_true(clean_up(p).cleanup);
	assert_false(send_spec(p, EMIT_IP4).cleanup); /* not called so */
	p.data = BYTES("x", 1);
	assert_false(clean_up(p).cleanup);
	p.data = (Bytes){ 0 };
	p.flags = 0x10;
	assert_false(clean_up(p).cleanup);
	p.flags = 6;
	assert_false(clean_up(p).cleanup);
	p.flags = 4;
	p.dport = 81;
	assert_false(clean_up(p).cleanup);
}

/* icmp_error: only if the quote is a packet received in this run, to who sent it. */
static void icmp_errors_quote_what_came(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec in = reversed(spec_udp(&s)), p = spec_icmp(&s);
	uint8_t quote[64];
	Writer w = writer(quote, sizeof quote);

	make_lab("+icmp_error");
	spec_build(&in, &w);
	p.type = 3;
	p.data = wr_done(&w);
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	receive(in);
	ok4(p);
	p.data.n = 28; /* header and 8 bytes */
	ok4(p);
	p.data.n = 27;
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	p.data.n = 33;
	p.dst = lab_ip("10.0.0.3"); /* to another */
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	p.dst = s.peer4;
	quote[15] ^= 1; /* another sender */
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY);
	quote[15] ^= 1;
	p.type = 8;
	p.sport = s.id;
	ok4(p);
	make_lab(NULL);
	receive(in);
	p.type = 3;
	is(send_spec(p, EMIT_IP4), NOTSENT_POLICY); /* without the word */
}

static void icmp6_errors_quote_what_came(void **state)
{
	(void)state;
	Scene s = lab_scene();
	Spec in = reversed(spec_udp6(&s)), p = spec_icmp6(&s);
	uint8_t quote[64];
	Writer w = writer(quote, sizeof quote);

	make_lab("+icmp_error");
	spec_build(&in, &w);
	p.type = 1;
	p.data = wr_done(&w);
	is(send_spec(p, EMIT_IP6), NOTSENT_POLICY);
	receive(in);
	ok6(p);
	p.src = lab_ip("fd00:1::77");
	is(send_spec(p, EMIT_IP6), NOTSENT_SOURCE);
}

/* ---- fragments keep apart ---- */

static FrameVerdict fragment(uint16_t id, unsigned units, bool more, size_t n)
{
	static uint8_t data[2000] = "\xee\x48\0\x09\0\x60\0\0";
	Scene s = lab_scene();
	Spec p = spec_udp(&s);

	p.id = id;
	p.frag = (uint16_t)(units | (more ? 0x2000 : 0));
	p.raw = BYTES(data, n);
	return send_spec(p, EMIT_IP4);
}

static void fragments_do_not_overlap(void **state)
{
	(void)state;
	make_lab("+fragments");
	is(fragment(1, 0, true, 16), NOTSENT_NONE);
	is(fragment(1, 2, true, 16), NOTSENT_NONE);
	is(fragment(1, 1, true, 16), NOTSENT_FRAME);  /* in the middle */
	is(fragment(1, 0, true, 16), NOTSENT_FRAME);  /* the same again */
	is(fragment(1, 3, false, 8), NOTSENT_FRAME);
	is(fragment(1, 4, false, 9), NOTSENT_NONE);   /* complete: forgotten */
	is(fragment(1, 0, true, 16), NOTSENT_NONE);   /* a new packet with that id */
	is(fragment(2, 4, false, 8), NOTSENT_NONE);   /* the last one first */
	is(fragment(2, 5, true, 8), NOTSENT_FRAME);   /* behind the last */
	is(fragment(2, 0, true, 40), NOTSENT_FRAME);  /* over the last */
	is(fragment(2, 0, true, 32), NOTSENT_NONE);
	/* a bounded number at a time; then no more, rather than forgetting one */
	make_lab("+fragments");
	for (uint16_t id = 0; id < FRAG_TRAINS; id++)
		is(fragment(id, 0, true, 16), NOTSENT_NONE);
	is(fragment(FRAG_TRAINS, 0, true, 16), NOTSENT_FRAME);
	is(fragment(5, 1, true, 16), NOTSENT_FRAME);
}

static void fragments_may_fill_the_largest_packet(void **state)
{
	(void)state;
	Frags f;
	FragPiece p = { .src = lab_ip("10.0.0.1"), .dst = lab_ip("10.0.0.2"), .proto = 17, .off = 65512, .len = 23 };

	lab_init(&lab, memory, sizeof memory);
	frags_init(&f, &lab.a);
	assert_null(frags_add(&f, &p, 0));
	p.id = 1;
	p.len = 24; /* RFC 791: 65535 bytes in all */
	assert_non_null(frags_add(&f, &p, 0));
}

static void fragment_trains_expire(void **state)
{
	(void)state;
	Frags f;
	FragPiece p = { .src = lab_ip("10.0.0.1"), .dst = lab_ip("10.0.0.2"), .proto = 17, .len = 8, .more = true };

	lab_init(&lab, memory, sizeof memory);
	frags_init(&f, &lab.a);
	for (p.id = 0; p.id < FRAG_TRAINS; p.id++)
		assert_null(frags_add(&f, &p, 0));
	assert_non_null(frags_add(&f, &p, 119 * NS_PER_S));
	assert_null(frags_add(&f, &p, 121 * NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_forbidden_frame_leaves),
		cmocka_unit_test(each_word_lifts_its_own_item_only),
		cmocka_unit_test(words_need_both_sides),
		cmocka_unit_test(plain_frames_leave),
		cmocka_unit_test(wrong_but_harmless_fields_leave),
		cmocka_unit_test(dns_queries_in_zones_leave),
		cmocka_unit_test(long_packets),
		cmocka_unit_test(verdicts_say_where_to),
		cmocka_unit_test(frame_dst_reads_all_kinds),
		cmocka_unit_test(no_interface_no_frame),
		cmocka_unit_test(ports_cut_out_of_a_range),
		cmocka_unit_test(resolvers_open_tcp_dns),
		cmocka_unit_test(rights_belong_to_their_peer),
		cmocka_unit_test(syn_counts),
		cmocka_unit_test(clean_up_is_a_reset_of_our_flow),
		cmocka_unit_test(icmp_errors_quote_what_came),
		cmocka_unit_test(icmp6_errors_quote_what_came),
		cmocka_unit_test(fragments_do_not_overlap),
		cmocka_unit_test(fragments_may_fill_the_largest_packet),
		cmocka_unit_test(fragment_trains_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
