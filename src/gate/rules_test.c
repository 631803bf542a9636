/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies, manifests and their intersection: guardrails.md 2 and 3, clause by
 * clause, and what a person reads of it.
 */
#include "deal/ports.h"
#include "base/rng.h"
#include "base/units.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[64 << 20];
static Lab lab;

static void begin(const char *policy, const char *program)
{
	lab_init(&lab, memory, sizeof memory);
	if (policy)
		lab_policy(&lab, "sys", policy);
	else
		lab_builtin(&lab);
	lab_program(&lab, program);
}

#define starts(policy, program)                                  \
	do {                                                     \
		begin(policy, program);                          \
		if (!lab_make(&lab))                             \
			fail_msg("%s", lab_text(&lab));          \
	} while (0)

/* It does not start, and a person reads `says`. */
#define refused(policy, program, says)                                                   \
	do {                                                                             \
		begin(policy, program);                                                  \
		if (lab_make(&lab) || !strstr(lab_text(&lab), says))                     \
			fail_msg("%s || %s: %s", program, says, lab_text(&lab));         \
	} while (0)

#define noted(says)                                                                      \
	do {                                                                             \
		if (!strstr(lab_text(&lab), says))                                       \
			fail_msg("%s: %s", says, lab_text(&lab));                        \
	} while (0)

static bool tcp(const char *ip, uint16_t port)
{
	const Rights *r = rules_peer(lab.r, lab_ip(ip));

	return r && ports_have(&r->tcp, port);
}

static bool udp(const char *ip, uint16_t port)
{
	const Rights *r = rules_peer(lab.r, lab_ip(ip));

	return r && ports_have(&r->udp, port);
}

/* ---- the built-in policy ---- */

static void builtin_allows_reach_alone(void **state)
{
	(void)state;
	starts(NULL, "emit 10.9.0.7 tcp 443; emit 10.9.0.8 udp 53,33434-33500; emit 10.9.0.9 icmp; emit fd00:9::1 icmp6;"
		     "emit 10.0.0.2 arp");
	assert_true(tcp("10.9.0.7", 443) && !tcp("10.9.0.7", 444) && !udp("10.9.0.7", 443));
	assert_true(udp("10.9.0.8", 53) && udp("10.9.0.8", 33434) && udp("10.9.0.8", 33500) && !udp("10.9.0.8", 33501));
	assert_true(rules_peer(lab.r, lab_ip("10.9.0.9"))->icmp && !rules_peer(lab.r, lab_ip("10.9.0.7"))->icmp);
	assert_true(rules_peer(lab.r, lab_ip("fd00:9::1"))->icmp);
	assert_non_null(rules_peer(lab.r, lab_ip("10.0.0.2")));
	assert_null(rules_peer(lab.r, lab_ip("10.9.0.10")));
	assert_null(rules_peer(lab.r, lab_ip("10.9.0.6")));
	assert_int_equal(lab.f.v.n, 0);
	for (ReachWord w = 0; w < WORD_N; w++) {
		char program[128];

		snprintf(program, sizeof program, "reach 10.9.0.0/16 +%s; emit 10.9.0.7 udp 9", word_name(w));
		refused(NULL, program, word_name(w));
		snprintf(program, sizeof program, "emit 10.9.0.7 udp 9 +%s", word_name(w));
		refused(NULL, program, "needs the word");
	}
	refused(NULL, "spoof 10.20.4.1; emit 10.9.0.7 udp 9", "does not allow to send from 10.20.4.1");
	refused(NULL, "capture all; emit 10.9.0.7 udp 9", "capture");
	refused(NULL, "listen 8080 10.0.0.0/8", "listen on port 8080");
	refused(NULL, "reflect IP.dst 10.0.0.1 10.0.0.2 64", "reflect IP.dst");
	refused(NULL, "reach 10.0.0.0/8 other=89", "none of its protocols");
	refused(NULL, "emit 10.0.0.3 253", "IP protocol 253 needs its own word");
}

static void ceilings_of_the_builtin_policy(void **state)
{
	(void)state;
	static const struct {
		const char *bound;
		int64_t ceiling;
	} rows[] = { { "packets", 20000 }, { "bytes", 50000000 }, { "rate", 20000 }, { "syn", 1000 },
		     { "syn_rate", 100 }, { "time", 600 }, { "leak", 1024 } };

	for (size_t i = 0; i < 7; i++) {
		char program[128], says[128];

		snprintf(program, sizeof program, "budget %s=%lld", rows[i].bound, (long long)rows[i].ceiling);
		starts(NULL, program);
		snprintf(program, sizeof program, "budget %s=%lld", rows[i].bound, (long long)rows[i].ceiling + 1);
		snprintf(says, sizeof says, "budget(%s=", rows[i].bound);
		refused(NULL, program, says);
		noted("the built-in policy");
	}
	starts(NULL, "budget byte_rate=100000000000"); /* no ceiling */
	starts(NULL, "");
	assert_int_equal(lab.r->budget.v[BOUND_PACKETS], 2000);
	assert_int_equal(lab.r->budget.v[BOUND_SYN_RATE], 50);
	assert_int_equal(lab.r->budget.v[BOUND_TIME], 60 * NS_PER_S);
	assert_int_equal(lab.r->budget.v[BOUND_BYTE_RATE], 2000000);
	assert_int_equal(lab.r->budget.v[BOUND_PEER_RATE], 0);
	assert_int_equal(lab.f.v.n, 0);
	starts(NULL, "budget rate=10000");
	assert_int_equal(lab.r->budget.v[BOUND_BYTE_RATE], 15140000);
	starts(NULL, "budget rate=10");
	assert_int_equal(lab.r->budget.v[BOUND_BYTE_RATE], 2000000);
	starts(NULL, "budget rate=10000 byte_rate=5");
	assert_int_equal(lab.r->budget.v[BOUND_BYTE_RATE], 5);
	starts(NULL, "budget leak=0");
	assert_int_equal(lab.r->budget.v[BOUND_LEAK], 0);
}

static void ceilings_of_files(void **state)
{
	(void)state;
	/* a declared bound above: refused; an undeclared default above: lowered and told */
	refused("budget packets=100", "budget packets=101", "above the ceiling of 100 (sys:1)");
	starts("budget packets=100", "budget packets=100");
	starts("budget packets=100", "");
	assert_int_equal(lab.r->budget.v[BOUND_PACKETS], 100);
	noted("packets is lowered from its default of 2000 to 100 (sys:1)");
	starts("budget peer_rate=100 peer_syn_rate=20", "");
	assert_int_equal(lab.r->budget.v[BOUND_PEER_RATE], 100);
	assert_int_equal(lab.r->budget.v[BOUND_PEER_SYN_RATE], 20);
	assert_int_equal(lab.f.v.n, 0);
	refused("budget leak=0", "budget leak=1", "leak=1");
	starts("budget leak=0", "");
	assert_int_equal(lab.r->budget.v[BOUND_LEAK], 0);
	/* the installed file may raise the built-in ceilings, a flag's may not */
	starts("budget packets=1000000", "budget packets=500000");
	begin(NULL, "budget packets=50000");
	lab_policy(&lab, "flag", "budget packets=1000000");
	assert_false(lab_make(&lab));
	begin("budget packets=1000", "budget packets=500");
	lab_policy(&lab, "flag", "budget packets=400");
	assert_false(lab_make(&lab));
	noted("(flag:1)");
	/* what a flag's file does not say stays */
	begin("budget packets=1000", "budget packets=1000");
	lab_policy(&lab, "flag", "budget syn=4");
	assert_true(lab_make(&lab));
	assert_int_equal(lab.r->budget.v[BOUND_SYN], 4);
	/* a bound that can't be kept */
	refused("budget hour_packets=20000", "", "ledger");
	begin("budget hour_packets=20000", "");
	lab.in.ledger = true;
	assert_true(lab_make(&lab));
}

/* ---- reach, deny ---- */

static void with_one_reach_nothing_else_is_in_reach(void **state)
{
	(void)state;
	starts("reach 10.9.0.0/16", "emit 10.9.0.1 tcp 80; emit 10.9.255.255 icmp");
	refused("reach 10.9.0.0/16", "emit 10.10.0.1 tcp 80", "10.10.0.1: lies outside what may be reached (sys:1)");
	refused("reach 10.9.0.0/16", "emit 10.8.255.255-10.9.0.3 tcp 80", "10.8.255.255: lies outside");
	refused("reach 10.9.0.0/16", "emit 10.9.255.0-10.10.0.9 tcp 80", "10.10.0.0-10.10.0.9: lies outside");
	refused("reach 10.9.0.0/16", "emit fd00::9 tcp 80", "fd00::9: lies outside");
	refused("reach 10.9.0.0/16 tcp=80", "emit 10.9.0.1 tcp 81", "TCP port 81 may not be sent to");
	refused("reach 10.9.0.0/16 tcp=80", "emit 10.9.0.1 tcp 79-82", "TCP port 79, 81-82");
	refused("reach 10.9.0.0/16 tcp=80", "emit 10.9.0.1 udp 80", "UDP port 80");
	refused("reach 10.9.0.0/16 tcp=80", "emit 10.9.0.1 icmp", "ICMP may not be sent there");
	refused("reach 10.9.0.0/16 icmp", "emit 10.9.0.1 tcp all", "TCP port 0-65535");
	starts("reach 10.9.0.0/16 tcp=all icmp", "emit 10.9.0.1 tcp all; emit 10.9.0.1 icmp");
	/* rows add up */
	starts("reach 10.9.0.0/16 tcp=80; reach 10.9.1.0/24 udp=9; reach 10.9.1.7 icmp",
	       "emit 10.9.1.7 tcp 80; emit 10.9.1.7 udp 9; emit 10.9.1.7 icmp; emit 10.9.2.1 tcp 80");
}

/* Where no constant tells the destination, the checker lets a reach() stand for it:
 * policy narrows that; and who sweeps a net does not mean our own address. */
static void ranges_are_narrowed_where_the_program_can_not_know(void **state)
{
	(void)state;
	starts("reach 10.9.0.0/16", "reach 10.0.0.0/8; emit 10.0.0.0/8 tcp 80");
	noted("is narrowed");
	assert_true(tcp("10.9.0.1", 80) && !tcp("10.8.0.1", 80));
	refused("reach 10.9.0.0/16", "reach 10.9.0.0/16; emit 10.0.0.0/8 tcp 80", "10.0.0.1-10.8.255.255: lies outside");
	refused("reach 11.0.0.0/8", "reach 10.0.0.0/8; emit 10.0.0.0/8 tcp 80", "lies outside");
	starts("reach 0.0.0.0/0; deny 0.0.0.0/0 tcp=80; deny 10.9.0.7 udp=9", "reach 10.9.0.0/16; emit 10.9.0.0/16 udp 9");
	assert_true(udp("10.9.0.6", 9) && !udp("10.9.0.7", 9));
	refused("deny 0.0.0.0/0 tcp=80", "reach 10.9.0.0/16; emit 10.9.0.0/16 tcp 80", "TCP port 80");
	starts(NULL, "emit 10.0.0.0/24 icmp");
	noted("left out: 10.0.0.0: needs the word broadcast");
	assert_true(rules_peer(lab.r, lab_ip("10.0.0.2")) && !rules_peer(lab.r, lab_ip("10.0.0.1")) &&
		    !rules_peer(lab.r, lab_ip("10.0.0.255")) && !rules_peer(lab.r, lab_ip("10.0.0.0")));
	refused(NULL, "emit 127.0.0.0/8 icmp", "loopback");
	refused(NULL, "emit 10.0.0.1 icmp", "an address of this host");
	starts(NULL, "emit 10.9.0.1 icmp src=?"); /* a source that is not known is judged frame by frame */
}

static void deny_wins(void **state)
{
	(void)state;
	refused("reach 10.0.0.0/8; deny 10.9.0.0/16", "emit 10.9.1.1 tcp 80", "10.9.1.1: lies outside");
	refused("deny 10.9.0.0/16", "emit 10.9.1.1 tcp 80", "10.9.1.1");
	starts("deny 10.9.0.0/16", "emit 10.10.1.1 tcp 80");
	refused("deny 10.9.0.0/16 tcp=22", "emit 10.9.1.1 tcp 22", "TCP port 22");
	starts("deny 10.9.0.0/16 tcp=22", "emit 10.9.1.1 tcp 23; emit 10.9.1.1 icmp");
	refused("deny 10.9.0.0/16 icmp", "emit 10.9.1.1 icmp", "ICMP");
	refused("deny 0.0.0.0/0 udp=all", "emit 10.9.1.1 udp 9", "UDP port 9");
	/* a word may be denied for a part of a net, and nothing else with it */
	refused("reach 10.0.0.0/8 +fragments; deny 10.9.0.0/16 +fragments", "reach 10.9.0.0/16 +fragments; emit 10.9.0.1 udp 9",
		"fragments");
	starts("reach 10.0.0.0/8 +fragments; deny 10.9.0.0/16 +fragments", "reach 10.8.0.0/16 +fragments; emit 10.9.0.1 udp 9");
	/* the program's own reach() is narrowed, told, and what is left goes */
	starts("reach 10.0.0.0/8; deny 10.9.0.7", "reach 10.9.0.0/24; emit ? tcp 80");
	noted("reach(\"10.9.0.0/24\") is narrowed: policy does not allow all of its addresses");
	assert_true(tcp("10.9.0.6", 80) && !tcp("10.9.0.7", 80) && tcp("10.9.0.8", 80));
	refused("reach 10.0.0.0/8", "reach 192.168.0.0/16; emit ? tcp 80", "none of its addresses");
	refused("reach 10.0.0.0/8 tcp=80", "reach 10.0.0.0/8 tcp=443", "none of its TCP ports");
	starts("reach 10.0.0.0/8 tcp=80", "reach 10.0.0.0/8 tcp=80,443");
	noted("all of its TCP ports");
	assert_true(tcp("10.3.3.3", 80) && !tcp("10.3.3.3", 443));
}

static void policies_intersect(void **state)
{
	(void)state;
	begin("reach 10.0.0.0/8 tcp=1-1000", "emit 10.9.0.1 tcp 80");
	lab_policy(&lab, "flag", "reach 10.9.0.0/16 tcp=80-90");
	assert_true(lab_make(&lab));
	begin("reach 10.0.0.0/8 tcp=1-1000", "emit 10.9.0.1 tcp 79");
	lab_policy(&lab, "flag", "reach 10.9.0.0/16 tcp=80-90");
	assert_false(lab_make(&lab));
	noted("(flag:1)");
	begin("reach 10.9.0.0/16", "emit 10.8.0.1 tcp 79");
	lab_policy(&lab, "flag", "reach 0.0.0.0/0 tcp=all udp=all icmp");
	assert_false(lab_make(&lab));
	noted("(sys:1)");
	begin("reach 10.9.0.0/16 +fragments", "reach 10.9.0.1 +fragments; emit 10.9.0.1 udp 9");
	lab_policy(&lab, "flag", "reach 10.9.0.0/16");
	assert_false(lab_make(&lab));
}

/* Never in reach, save by the operator's separate word. */
static void never_in_reach(void **state)
{
	(void)state;
	static const struct {
		const char *ip, *what;
	} rows[] = {
		{ "127.0.0.1", "loopback" }, { "127.9.9.9", "loopback" }, { "10.0.0.1", "an address of this host" },
		{ "192.168.5.1", "an address of this host" }, { "0.0.0.0", "unspecified" }, { "169.254.169.254", "metadata" },
		{ "169.254.0.1", "metadata" }, { "100.100.100.200", "metadata" }, { "168.63.129.16", "metadata" },
		{ "::1", "loopback" }, { "::", "unspecified" }, { "fd00:1::1", "an address of this host" },
		{ "fd00:ec2::254", "metadata" }, { "fe80::9", "link-local" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char program[128], policy[128];

		snprintf(program, sizeof program, "emit %s tcp 80", rows[i].ip);
		refused(NULL, program, rows[i].what);
		noted("allow_self");
		refused("reach 0.0.0.0/0; reach ::/0", program, rows[i].what);
		snprintf(policy, sizeof policy, "allow_self %s", rows[i].ip);
		starts(policy, program);
		assert_true(tcp(rows[i].ip, 80));
		begin(policy, program); /* a flag's file does not say it: closed */
		lab_policy(&lab, "flag", "reach 0.0.0.0/0; reach ::/0");
		assert_false(lab_make(&lab));
		begin("reach 0.0.0.0/0; reach ::/0", program); /* only a flag's file says it: closed */
		lab_policy(&lab, "flag", policy);
		assert_false(lab_make(&lab));
	}
	refused("allow_self 240.0.0.0/4", "emit 240.0.0.1 tcp 80", "reserved");
	refused("allow_self ::/0", "emit 64:ff9b::1 tcp 80", "stands for an IPv4 one");
	refused(NULL, "reach 127.0.0.0/8; emit ? tcp 80", "no address that may ever be reached");
	/* in a wide reach they are simply not there */
	starts(NULL, "reach 0.0.0.0/0; emit ? tcp 80");
	assert_true(tcp("10.0.0.2", 80) && tcp("126.255.255.255", 80) && tcp("128.0.0.0", 80));
	for (size_t i = 0; i < 9; i++)
		assert_false(tcp(rows[i].ip, 80));
	assert_false(tcp("224.0.0.1", 80) || tcp("255.255.255.255", 80) || tcp("240.1.1.1", 80) || tcp("10.0.0.255", 80));
}

static void own_listening_ports_stay_closed(void **state)
{
	(void)state;
	begin("allow_self 127.0.0.1", "emit 127.0.0.1 tcp 1-9000");
	ports_add(&lab.a, &lab.in.self_ports, 8765, 8765);
	assert_true(lab_make(&lab));
	assert_true(tcp("127.0.0.1", 8764) && !tcp("127.0.0.1", 8765));
}

static void group_addresses_need_their_word(void **state)
{
	(void)state;
	refused(NULL, "emit 224.0.0.1 udp 9", "needs the word multicast");
	refused(NULL, "emit 10.0.0.255 udp 9", "needs the word broadcast");
	refused(NULL, "reach 224.0.0.0/4 +multicast; emit 224.0.0.1 udp 9", "policy does not give");
	starts("reach 224.0.0.0/4 +multicast", "reach 224.0.0.1 +multicast; emit 224.0.0.1 udp 9");
	assert_true(udp("224.0.0.1", 9));
	assert_int_equal(rules_peer(lab.r, lab_ip("224.0.0.1"))->need, 1u << WORD_MULTICAST);
	starts("reach 10.0.0.0/24 +broadcast", "reach 10.0.0.255 +broadcast; emit 10.0.0.255 udp 9");
	assert_string_equal(rules_why_not(lab.r, lab_ip("10.0.0.0")), "the broadcast address of a net of this host");
}

/* ---- ports that need a word or a name ---- */

static void each_port_of_the_table(void **state)
{
	(void)state;
	size_t n;
	const PortRow *rows = port_rows(&n);

	for (size_t i = 0; i < n; i++)
		for (int t = 0; t < 2; t++) {
			const char *proto = t ? "tcp" : "udp", *word = rows[i].need == NEED_NAME ? NULL : word_name(rows[i].need);
			uint16_t port = rows[i].port;
			char single[200], range[128], policy[200], worded[400];

			if (rows[i].proto && rows[i].proto != (t ? 6 : 17))
				continue;
			if (i)
				assert_true(rows[i - 1].port <= port); /* sorted */
			assert_ptr_equal(port_row(t ? 6 : 17, port), &rows[i]);
			snprintf(single, sizeof single, "emit 10.9.0.1 %s %u", proto, port);
			snprintf(range, sizeof range, "emit 10.9.0.1 %s %u-%u", proto, port - 1u, port + 1u);
			/* a constant: refused before the start; in a range: cut out, and told */
			refused(NULL, single, word ? word : "by itself");
			starts(NULL, range);
			assert_false(t ? tcp("10.9.0.1", port) : udp("10.9.0.1", port));
			const Rights *r = rules_peer(lab.r, lab_ip("10.9.0.1"));

			assert_true(ports_have(t ? &r->asked_tcp : &r->asked_udp, port));
			noted("ports that need a word or a name of their own are left out");
			/* with what it needs on both sides */
			snprintf(policy, sizeof policy, "reach 10.9.0.0/16 %s=%u %s%s", proto, port, word ? "+" : "", word ? word : "");
			snprintf(worded, sizeof worded, "%s; reach 10.9.0.1 %s=%u %s%s", single, proto, port, word ? "+" : "",
				 word ? word : "");
			starts(policy, worded);
			assert_true(t ? tcp("10.9.0.1", port) : udp("10.9.0.1", port));
			/* a range of the policy names none */
			if (!word) {
				snprintf(policy, sizeof policy, "reach 10.9.0.0/16 %s=%u-%u", proto, port - 1u, port + 1u);
				refused(policy, single, "by itself");
				snprintf(policy, sizeof policy, "reach 10.9.0.0/16 %s=%u", proto, port);
				begin(policy, single);
				lab_policy(&lab, "flag", "reach 10.9.0.0/16 tcp=all udp=all");
				assert_false(lab_make(&lab));
				noted("(flag:1)");
			}
		}
	assert_int_equal(n, 34);
}

static void ntp_control_needs_the_name(void **state)
{
	(void)state;
	starts(NULL, "emit 10.9.0.1 udp 123");
	assert_true(udp("10.9.0.1", 123) && !rules_peer(lab.r, lab_ip("10.9.0.1"))->ntp_control);
	starts("reach 10.9.0.0/16 udp=123", "emit 10.9.0.1 udp 123");
	assert_true(rules_peer(lab.r, lab_ip("10.9.0.1"))->ntp_control);
	starts("reach 10.9.0.0/16 udp=123 udp=100-130", "emit 10.9.0.1 udp 120-130"); /* a range names none */
	assert_true(udp("10.9.0.1", 123) && !rules_peer(lab.r, lab_ip("10.9.0.1"))->ntp_control);
}

static void words_of_other_protocols(void **state)
{
	(void)state;
	static const uint8_t routing[] = { 2, 88, 89, 103, 112 }, tunnel[] = { 4, 41, 47, 97, 115, 137 };

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(proto_word(routing[i]), WORD_ROUTING);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(proto_word(tunnel[i]), WORD_TUNNEL);
	assert_int_equal(proto_word(6), WORD_N);
	refused(NULL, "emit 10.9.0.1 89", "needs the word routing");
	/* other= does not stand for the word */
	refused("reach 10.9.0.0/16 other=89", "reach 10.9.0.1 other=89; emit 10.9.0.1 89", "needs the word routing");
	starts("reach 10.9.0.0/16 +routing", "reach 10.9.0.1 +routing; emit 10.9.0.1 89");
	starts("reach 10.9.0.0/16 other=132", "reach 10.9.0.1 other=132; emit 10.9.0.1 132");
	refused("reach 10.9.0.0/16", "reach 10.9.0.1 other=132; emit 10.9.0.1 132", "IP protocol 132 may not be sent");
	for (unsigned p = 0; p < 65536; p++) {
		static const uint16_t a[] = { 7, 17, 19, 53, 69, 111, 123, 137, 161, 389, 427, 520, 1900, 3702, 5353, 11211 };
		bool is = false;

		for (size_t i = 0; i < 16; i++)
			is |= a[i] == p;
		assert_int_equal(port_amplifies((uint16_t)p), is);
	}
}

static void vlans_intersect(void **state)
{
	(void)state;
	starts("reach 10.9.0.0/16 vlan=10 vlan=11", "reach 10.9.0.1 vlan=10 vlan=12; emit 10.9.0.1 udp 9 ether");
	const Rights *r = rules_peer(lab.r, lab_ip("10.9.0.1"));

	assert_int_equal(r->nvlan, 1);
	assert_int_equal(r->vlan[0], 10);
	assert_true(r->ether);
}

/* ---- names ---- */

static bool names_ok(const char *policy, const char *name, bool dflt)
{
	char program[400];

	snprintf(program, sizeof program, "name %s; emit %s tcp 80", name, name);
	begin(policy, program);
	lab.in.zone_default_all = dflt;
	return rules_check_names(&lab.in, &lab.f);
}

static void names_are_judged_before_any_look_up(void **state)
{
	(void)state;
	assert_true(names_ok(NULL, "db.acme.corp", true));
	assert_false(names_ok(NULL, "db.acme.corp", false)); /* mcp */
	assert_true(names_ok("zone acme.corp", "db.acme.corp", false));
	assert_true(names_ok("zone acme.corp", "ACME.corp", false));
	assert_false(names_ok("zone acme.corp", "notacme.corp", true));
	noted("outside the zones");
	noted("(sys)");
	assert_false(names_ok("zone acme.corp", "acme.corp.evil.com", true));
	assert_false(names_ok("zone ", "a.b", true)); /* no zone at all */
	assert_true(names_ok("zone all", "a.b", false));
	begin("reach 10.0.0.0/8", "name db.acme.corp");
	lab_policy(&lab, "flag", "zone all"); /* opens nothing where the first policy does not */
	lab.in.zone_default_all = false;
	assert_false(rules_check_names(&lab.in, &lab.f));
	begin("zone acme.corp", "name db.acme.corp");
	lab_policy(&lab, "flag", "zone other.corp");
	assert_false(rules_check_names(&lab.in, &lab.f));
	assert_true(names_ok(NULL, "xn--mnchen-3ya.de", true));
	noted("reads as m\xc3\xbcnchen.de");
	assert_false(names_ok(NULL, "a_b.corp", true));
	noted("no host name");
	begin("zone acme.corp", "emit 10.0.0.1 tcp 443");
	vec_push(&lab.a, &lab.m.says, STR("_sip._tcp.acme.corp")); /* told to a peer, never looked up */
	assert_true(rules_check_names(&lab.in, &lab.f));
	vec_push(&lab.a, &lab.m.says, STR("www.evil.org"));
	assert_false(rules_check_names(&lab.in, &lab.f));
	noted("may be told to a peer");
}

static void pins_lie_in_policy_by_themselves(void **state)
{
	(void)state;
	begin("reach 10.9.0.0/16", "emit db.acme.corp tcp 5432");
	lab_pin(&lab, "db.acme.corp", "10.8.0.1");  /* outside */
	lab_pin(&lab, "db.acme.corp", "10.9.0.1");
	lab_pin(&lab, "db.acme.corp", "127.0.0.1"); /* rebinding */
	assert_true(lab_make(&lab));
	assert_int_equal(lab.r->pins.n, 1);
	assert_true(tcp("10.9.0.1", 5432) && !tcp("10.8.0.1", 5432) && !tcp("127.0.0.1", 5432));
	noted("db.acme.corp is also 10.8.0.1, which is outside what may be reached and is not used (sys:1)");
	noted("loopback");
	begin("reach 10.9.0.0/16", "emit db.acme.corp tcp 5432");
	lab_pin(&lab, "db.acme.corp", "10.8.0.1");
	assert_false(lab_make(&lab));
	noted("db.acme.corp has no address that may be reached");
	begin(NULL, "emit db.acme.corp tcp 5432"); /* never looked up */
	assert_false(lab_make(&lab));
	begin(NULL, "reach db.acme.corp +fragments; emit ? udp 9");
	lab_pin(&lab, "db.acme.corp", "10.8.0.1");
	assert_false(lab_make(&lab)); /* a name's word is a word */
	begin(NULL, "reach db.acme.corp; emit ? udp 9");
	lab_pin(&lab, "db.acme.corp", "10.8.0.1");
	assert_true(lab_make(&lab));
	assert_true(udp("10.8.0.1", 9));
}

/* ---- spoof, listen, ports, capture, approval ---- */

static void spoof_needs_policy(void **state)
{
	(void)state;
	const char *const ex12 = "spoof 10.20.4.1; budget packets=250 bytes=256000; emit 10.100.0.50 udp 9999 src=10.20.4.1; worst 250";

	starts("spoof 10.20.4.1 rate=100 max=250", ex12);
	assert_int_equal(lab.r->spoof.n, 1);
	assert_int_equal(lab.r->spoof.p[0].rate, 100);
	assert_int_equal(lab.r->spoof.p[0].max, 250);
	assert_int_equal(rules_spoof_ip(lab.r, lab_ip("10.20.4.1")), 0);
	assert_int_equal(rules_spoof_ip(lab.r, lab_ip("10.20.4.2")), -1);
	refused("spoof 10.20.4.1 rate=100", ex12, "at most 100 from 10.20.4.1"); /* 100 a run where max is not said */
	refused("spoof 10.20.4.1 rate=100 max=249", ex12, "may send 250 packets, but at most 249");
	starts("spoof 10.20.0.0/16 max=250", ex12);
	assert_int_equal(lab.r->spoof.p[0].rate, 10);
	refused("spoof 10.20.4.2 max=250", ex12, "does not allow to send from 10.20.4.1");
	refused("spoof 10.20.4.1 max=250", "emit 10.9.0.1 udp 9 src=10.20.4.1", "the source 10.20.4.1 is no address of this host");
	begin("spoof 10.20.4.1 rate=100 max=250", ex12);
	lab_policy(&lab, "flag", "spoof 10.20.4.1 rate=5 max=1000");
	assert_true(lab_make(&lab));
	assert_int_equal(lab.r->spoof.p[0].rate, 5);
	assert_int_equal(lab.r->spoof.p[0].max, 250);
	begin("spoof 10.20.4.1 rate=100 max=250", ex12);
	lab_policy(&lab, "flag", "budget packets=250");
	assert_false(lab_make(&lab));
	starts("spoof 02:00:00:00:00:99 max=5000", "spoof 02:00:00:00:00:99");
	assert_int_equal(rules_spoof_mac(lab.r, lab_mac("02:00:00:00:00:99")), 0);
	assert_int_equal(rules_spoof_mac(lab.r, lab_mac("02:00:00:00:00:98")), -1);
	starts(NULL, "emit 10.9.0.1 udp 9 src=10.0.0.1"); /* ours */
}

static void who_has_no_address_may_ask_for_one(void **state)
{
	(void)state; /* RFC 2131 4.1 */
#define MAY "reach 255.255.255.255 +dhcp +broadcast"
	starts(MAY, MAY "; emit 255.255.255.255 udp 67 src=0.0.0.0 sport=68 +dhcp +broadcast");
	refused(MAY, MAY "; emit 255.255.255.255 udp 67 src=0.0.0.0 sport=69 +dhcp +broadcast", "0.0.0.0 is no address");
	refused(MAY, MAY "; emit 255.255.255.255 udp 67 sport=68 +dhcp +broadcast", "source port 68");
}

static void low_ports_and_listening(void **state)
{
	(void)state;
	refused(NULL, "emit 10.9.0.1 udp 9 sport=1023", "source port 1023");
	starts(NULL, "emit 10.9.0.1 udp 9 sport=1024");
	starts("listen 500 10.9.0.0/16", "listen 500 10.9.0.0/24; emit 10.9.0.1 udp 9 sport=500");
	assert_true(rules_listens(lab.r, 500, lab_ip("10.9.0.1")) && !rules_listens(lab.r, 500, lab_ip("10.9.1.1")) &&
		    !rules_listens(lab.r, 501, lab_ip("10.9.0.1")));
	assert_null(rules_claim_fault(lab.r, 6, 500));
	assert_non_null(rules_claim_fault(lab.r, 6, 501));
	assert_non_null(rules_claim_fault(lab.r, 6, 0));
	assert_null(rules_claim_fault(lab.r, 1, 5)); /* an ICMP id */
	refused("listen 8080 10.9.0.0/16", "listen 8080 10.0.0.0/8", "listen");
	refused("listen 8081 10.0.0.0/8", "listen 8080 10.0.0.0/8", "listen");
}

static void captures_intersect(void **state)
{
	(void)state;
	starts("capture all", "capture arp");
	assert_true(lab.r->captures && str_is(lab.r->capture_filter, "((arp))") && !lab.r->promiscuous);
	starts("capture arp; capture icmp", "capture all");
	assert_true(str_is(lab.r->capture_filter, "((arp) or (icmp))") && !lab.r->promiscuous);
	starts("capture arp", "capture ip; capture ip6");
	assert_true(str_is(lab.r->capture_filter, "((ip) or (ip6)) and ((arp))"));
	starts("capture all", "capture all");
	assert_true(lab.r->captures && lab.r->capture_filter.n == 0 && lab.r->promiscuous);
	starts("capture all", "emit 10.9.0.1 icmp");
	assert_false(lab.r->captures);
	begin("capture all", "capture all");
	lab_policy(&lab, "flag", "budget packets=9");
	assert_false(lab_make(&lab));
}

static void reflect_is_covered_or_refused(void **state)
{
	(void)state;
	const char *const policy = "reflect IP.dst 10.0.0.0/24 10.9.0.0/16 64";

	starts(policy, "reflect IP.dst 10.0.0.7 10.9.0.7 64");
	refused(policy, "reflect IP.dst 10.0.0.7 10.9.0.7 65", "reflect IP.dst");
	refused(policy, "reflect IP.src 10.0.0.7 10.9.0.7 64", "reflect IP.src");
	refused(policy, "reflect IP.dst 10.0.1.7 10.9.0.7 64", "reflect IP.dst");
	refused(policy, "reflect IP.dst 10.0.0.7 10.8.0.7 64", "reflect IP.dst");
}

static void approval_is_asked_for(void **state)
{
	(void)state;
	refused("approve capture; capture all", "capture all", "needs approval: the traffic of others");
	assert_true(lab.f.v.p[0].person);
	refused("approve spoof; spoof 10.20.4.1 max=5000", "spoof 10.20.4.1", "needs approval");
	refused("approve leak=512", "budget leak=513", "leak=513 is above 512");
	starts("approve leak=512", "budget leak=512");
	starts("approve leak=512", "");
	assert_int_equal(lab.r->budget.v[BOUND_LEAK], 512);
	refused("approve reach=10.9.0.0/16", "emit 10.9.0.1 icmp", "10.9.0.1 is to be reached");
	refused("approve reach=10.9.0.0/16", "reach 10.0.0.0/8", "10.0.0.0/8 is to be reached");
	starts("approve reach=10.9.0.0/16", "emit 10.8.0.1 icmp");
}

/* ---- how it reads ---- */

static void findings_name_the_lines(void **state)
{
	(void)state;
	static const char program[] = "# first\nping(\"10.10.0.1\")\n";
	Policy p = { .file = STR("/etc/sonde/policy.sonde"), .text = STR("budget(packets=9)\n\nreach(\"10.9.0.0/16\")\n") };
	Finding f = { .refused = true, .span = { 8, 12 }, .message = STR("10.10.0.1: lies\noutside"), .policy = &p,
		      .at = { 19, 24 }, .help = STR("ask") };
	Sb b;

	lab_init(&lab, memory, sizeof memory);
	b = sb(&lab.a);
	finding_text(&f, STR("scan.sonde"), STR(program), &b);
	assert_string_equal(sb_done(&b).p, "scan.sonde:2: refused: 10.10.0.1: lies\\x0aoutside (/etc/sonde/policy.sonde:3); ask\n");
}

static void findings_are_bounded(void **state)
{
	(void)state;
	begin("reach 10.9.0.0/16", "");
	for (uint32_t i = 0; i < 300; i++)
		vec_push(&lab.a, &lab.m.emit,
			 (Emission){ .peer = { .lo = ip4(0x0b000000 + i), .hi = ip4(0x0b000000 + i) }, .proto = 1 });
	assert_false(lab_make(&lab));
	assert_int_equal(lab.f.v.n, 100);
	assert_int_equal(lab.f.refused, 300);
}

/* ---- the intersection against a slow one ---- */

static uint64_t draws;

static uint64_t draw(uint64_t below)
{
	return rng_below(rng_draw(5, 9, draws++), below);
}

static void random_rows(char *out, size_t cap, const char *word, int n)
{
	for (int i = 0; i < n; i++) {
		size_t at = strlen(out);
		uint64_t lo = draw(120), hi = lo + draw(256 - lo), port = draw(60) + 190;

		snprintf(out + at, cap - at, "%s 10.9.0.%d-10.9.0.%d %s=%d-%d;", word, (int)lo, (int)hi, draw(2) ? "tcp" : "udp",
			 (int)port, (int)(port + draw(90)));
	}
}

static bool row_has(const Reach *r, Ip ip, uint8_t proto, uint16_t port)
{
	return ip_cmp(r->target.lo, ip) <= 0 && ip_cmp(ip, r->target.hi) <= 0 && ports_have(proto == 6 ? &r->tcp : &r->udp, port);
}

/* One question at a time, straight from the text of guardrails.md 2. */
static bool slow_allows(const Decls *d, Ip ip, uint8_t proto, uint16_t port)
{
	bool any = false;

	for (uint32_t i = 0; i < d->deny.n; i++) {
		Reach r;

		memcpy(&r, &d->deny.p[i], sizeof r);
		if (row_has(&r, ip, proto, port))
			return false;
	}
	for (uint32_t i = 0; i < d->reach.n; i++)
		any |= row_has(&d->reach.p[i], ip, proto, port);
	return any;
}

static void random_policies_intersect_as_a_slow_reader_says(void **state)
{
	(void)state;
	uint64_t in = 0, out = 0;

	for (int round = 0; round < 400; round++) {
		char text[3][4096] = { "", "", "reach 10.9.0.0/24 tcp=190-340 udp=190-340;" };

		for (int i = 0; i < 3; i++) {
			if (i < 2)
				random_rows(text[i], sizeof text[i], "reach", 4 + (int)draw(6));
			random_rows(text[i], sizeof text[i], "deny", (int)draw(2));
		}
		begin(text[0], text[2]);
		lab_policy(&lab, "flag", text[1]);
		if (!lab_make(&lab)) /* nothing is left of TCP or of UDP */
			continue;
		for (int i = 0; i < 2000; i++) {
			Ip ip = ip4(0x0a090000 + (uint32_t)draw(256));
			uint8_t proto = draw(2) ? 6 : 17;
			uint16_t port = (uint16_t)(190 + draw(150));
			const Rights *rights = rules_peer(lab.r, ip);
			bool fast = rights && ports_have(proto == 6 ? &rights->tcp : &rights->udp, port);
			bool slow = slow_allows(&lab.policy[0].decls, ip, proto, port) &&
				    slow_allows(&lab.policy[1].decls, ip, proto, port) &&
				    slow_allows(&lab.m.decls, ip, proto, port);

			if (fast != slow)
				fail_msg("round %d: 10.9.0.%u %s %u: %d, not %d", round, ip.b[3], proto == 6 ? "tcp" : "udp", port, fast,
					 slow);
			in += fast;
			out += !fast;
		}
	}
	assert_true(in > 20000 && out > 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtin_allows_reach_alone), cmocka_unit_test(ceilings_of_the_builtin_policy),
		cmocka_unit_test(ceilings_of_files),
		cmocka_unit_test(with_one_reach_nothing_else_is_in_reach),
		cmocka_unit_test(ranges_are_narrowed_where_the_program_can_not_know),
		cmocka_unit_test(deny_wins), cmocka_unit_test(policies_intersect),
		cmocka_unit_test(never_in_reach), cmocka_unit_test(own_listening_ports_stay_closed),
		cmocka_unit_test(group_addresses_need_their_word),
		cmocka_unit_test(each_port_of_the_table),
		cmocka_unit_test(ntp_control_needs_the_name),
		cmocka_unit_test(words_of_other_protocols),
		cmocka_unit_test(vlans_intersect), cmocka_unit_test(names_are_judged_before_any_look_up),
		cmocka_unit_test(pins_lie_in_policy_by_themselves),
		cmocka_unit_test(spoof_needs_policy),
		cmocka_unit_test(who_has_no_address_may_ask_for_one),
		cmocka_unit_test(low_ports_and_listening),
		cmocka_unit_test(captures_intersect),
		cmocka_unit_test(reflect_is_covered_or_refused),
		cmocka_unit_test(approval_is_asked_for),
		cmocka_unit_test(findings_name_the_lines), cmocka_unit_test(findings_are_bounded),
		cmocka_unit_test(random_policies_intersect_as_a_slow_reader_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
