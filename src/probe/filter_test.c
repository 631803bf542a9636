/* SPDX-License-Identifier: Apache-2.0
 *
 * libpcap is the oracle: random filters over random frames, whole and cut, must
 * pass the same ones here and there.
 */
#include "base/addr.h"
#include "base/rng.h"
#include "probe/filter.h"

#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRAMES = 400, FILTERS = 3000, FRAME_MOST = 160 };

static uint8_t memory[8 << 20];
static Arena arena;

static Arena *fresh(void)
{
	arena_init(&arena, memory, sizeof memory, NULL);
	return &arena;
}

static const Filter *parsed(const char *text)
{
	FilterError e;
	const Filter *f = filter_parse(str_c(text), &arena, &e);

	if (!f)
		print_message("%s: %.*s\n", text, STR_ARG(e.message));
	assert_non_null(f);
	return f;
}

static void assert_text(const char *in, const char *out)
{
	fresh();
	Str s = filter_text(parsed(in), &arena);
	assert_string_equal(s.p, out);
	parsed(s.p);
}

static void text_spells_out_what_was_meant(void **state)
{
	(void)state;
	assert_text("udp port 53", "udp port 53");
	assert_text("port 53", "(tcp port 53 or udp port 53)");
	assert_text("host 10.0.0.1", "ip host 10.0.0.1");
	assert_text("host fe80::1", "ip6 host fe80::1");
	assert_text("src 10.0.0.1", "ip src host 10.0.0.1");
	assert_text("net 10.0.0.0/8", "ip net 10.0.0.0/8");
	assert_text("arp and src host 10.20.7.7", "arp and arp src host 10.20.7.7");
	assert_text("src host 10.20.7.7 and arp", "arp src host 10.20.7.7 and arp");
	assert_text("(arp or icmp) and host 10.0.0.1",
		    "(arp or icmp) and (ip host 10.0.0.1 or arp host 10.0.0.1)");
	assert_text("arp or host 10.0.0.1", "arp or ip host 10.0.0.1");
	assert_text("not arp and host 10.0.0.1", "not arp and ip host 10.0.0.1");
	assert_text("proto 47", "(ip proto 47 or ip6 proto 47)");
	assert_text("ip proto \\icmp", "ip proto 1");
	assert_text("src or dst port 53", "(tcp port 53 or udp port 53)");
	assert_text("src and dst net 10.0.0.0/8", "ip src and dst net 10.0.0.0/8");
	assert_text("tcp port 80 or 443", "tcp port 80 or tcp port 443");
	assert_text("udp port (53 or 5353)", "udp port 53 or udp port 5353");
	assert_text("tcp portrange 80-90", "tcp portrange 80-90");
	/* equal precedence, to the left */
	assert_text("icmp or tcp and ip", "(icmp or tcp) and ip");
	assert_text("icmp or (tcp and ip)", "icmp or (tcp and ip)");
	assert_text("vlan 10 && udp", "vlan 10 and udp");
	assert_text("", "");
}

static void assert_error(const char *in, uint32_t from, const char *part)
{
	FilterError e;

	fresh();
	assert_null(filter_parse(str_c(in), &arena, &e));
	if (e.from != from || !strstr(e.message.p, part))
		print_message("%s -> at %u: %s\n", in, e.from, e.message.p);
	assert_int_equal(e.from, from);
	assert_non_null(strstr(e.message.p, part));
}

static void errors_name_the_place(void **state)
{
	(void)state;
	assert_error("udp prt 53", 4, "'prt' stands where");
	assert_error("host example.com", 5, "numeric address");
	assert_error("net 10.0.0.1/8", 4, "host bits");
	assert_error("port 65536", 5, "port number");
	assert_error("portrange 90-80", 10, "range of ports");
	assert_error("udp host 10.0.0.1", 0, "no addresses");
	assert_error("icmp port 53", 0, "no ports");
	assert_error("ip6 host 10.0.0.1", 9, "other IP version");
	assert_error("tcp[13] & 2 != 0", 3, "stands where");
	assert_error("(udp", 4, "')' is missing");
	assert_error("udp and", 7, "ends where a test is due");
	assert_error("port", 4, "ends where an address");
	assert_error("53", 0, "needs a word");
	assert_error("udp)", 3, "stands where");
	assert_error("vlan and vlan and vlan", 22, "more than two");
	char deep[LIMIT_FILTER_TEXT];
	memset(deep, '(', sizeof deep);
	FilterError e;
	assert_null(filter_parse((Str){ deep, sizeof deep }, fresh(), &e));
}

static uint64_t bit(WireId a)
{
	return WIRE_BIT(a);
}

static void stacks_say_what_each_branch_says(void **state)
{
	StackSet s;

	(void)state;
	fresh();
	filter_stacks(parsed("udp port 53"), &s);
	assert_int_equal(s.n, 2);
	assert_true(s.alt[0].must == (bit(WIRE_IP) | bit(WIRE_UDP)));
	assert_true(s.alt[1].must == (bit(WIRE_IPV6) | bit(WIRE_UDP)));
	assert_true(s.alt[0].mustnot == 0); /* VXLAN is UDP with anything inside */
	filter_stacks(parsed("tcp port 53"), &s);
	assert_true(s.alt[0].mustnot & bit(WIRE_UDP));
	filter_stacks(parsed("ip and ip6"), &s);
	assert_int_equal(s.n, 0);
	filter_stacks(parsed("udp and ip"), &s);
	assert_int_equal(s.n, 1);
	filter_stacks(parsed("arp and src host 10.0.0.1"), &s);
	assert_int_equal(s.n, 1);
	assert_true(s.alt[0].must == (bit(WIRE_ETHER) | bit(WIRE_ARP)));
	filter_stacks(parsed("icmp and tcp"), &s);
	assert_int_equal(s.n, 0);
	filter_stacks(parsed(""), &s);
	assert_int_equal(s.n, 1);
	assert_true(s.alt[0].must == 0 && s.alt[0].mustnot == 0);
	filter_stacks(parsed("icmp or udp port 53"), &s);
	assert_int_equal(s.n, 3);
	assert_true(stacks_fit(&s, bit(WIRE_ETHER) | bit(WIRE_IP) | bit(WIRE_ICMP)));
	assert_false(stacks_fit(&s, bit(WIRE_ETHER) | bit(WIRE_IP) | bit(WIRE_RAW)));
	filter_stacks(parsed("not arp"), &s);
	assert_true(stacks_fit(&s, bit(WIRE_IP) | bit(WIRE_GRE) | bit(WIRE_ARP)));
	filter_stacks(parsed("ip proto 17"), &s);
	assert_true(stacks_fit(&s, bit(WIRE_IP) | bit(WIRE_RAW)));
	filter_stacks(parsed("port 1 and (tcp or udp or arp) or vlan and not udp or icmp6"), &s);
	assert_true(s.n <= LIMIT_STACKS);
}

/* ---- against libpcap ---- */

typedef struct Rand {
	uint64_t seed, n;
} Rand;

static uint32_t below(Rand *r, uint32_t bound)
{
	return (uint32_t)rng_below(rng_draw(r->seed, 1, r->n++), bound);
}

#define PICK(r, table) (table)[below((r), (uint32_t)(sizeof(table) / sizeof *(table)))]

static const uint16_t ports[] = { 53, 80, 443, 5353 };
static const uint32_t addrs[] = { 0x0a000001, 0x0a000002, 0x0a010203, 0xc0a80001 };

static void put_ip4(Rand *r, Writer *w, uint8_t proto)
{
	uint32_t opt = below(r, 4) == 0 ? 2 : 0;
	uint16_t frag = below(r, 5) == 0 ? (uint16_t)(below(r, 2) ? 0x2000 : 185) : 0;

	wr_u8(w, (uint8_t)(0x45 + opt));
	wr_zeros(w, 5);
	wr_be16(w, frag);
	wr_u8(w, 64);
	wr_u8(w, proto);
	wr_be16(w, 0);
	wr_be32(w, PICK(r, addrs));
	wr_be32(w, PICK(r, addrs));
	wr_zeros(w, 4 * opt);
}

static void put_ip6(Rand *r, Writer *w, uint8_t proto)
{
	bool frag = below(r, 4) == 0;

	wr_be32(w, 0x60000000);
	wr_be16(w, 0);
	wr_u8(w, frag ? 44 : proto);
	wr_u8(w, 64);
	for (int i = 0; i < 2; i++) {
		wr_be32(w, 0xfe800000);
		wr_zeros(w, 8);
		wr_be32(w, below(r, 3));
	}
	if (frag) {
		wr_u8(w, proto);
		wr_zeros(w, 7);
	}
}

static Bytes random_frame(Rand *r, uint8_t *buf)
{
	static const uint8_t protos[] = { 1, 6, 17, 58, 47, 132 };
	static const uint16_t tags[] = { 0x8100, 0x88a8, 0x9100 };
	Writer w = writer(buf, FRAME_MOST);
	uint32_t kind = below(r, 8);

	wr_zeros(&w, 12);
	for (uint32_t n = below(r, 4); n > 1; n--) {
		wr_be16(&w, PICK(r, tags));
		wr_be16(&w, (uint16_t)(below(r, 3) + 9));
	}
	wr_be16(&w, kind == 0 ? 0x0806 : kind == 1 ? 0x88cc : kind < 4 ? 0x86dd : 0x0800);
	if (kind == 0) {
		wr_zeros(&w, 14);
		wr_be32(&w, PICK(r, addrs));
		wr_zeros(&w, 6);
		wr_be32(&w, PICK(r, addrs));
	} else if (kind < 4 && kind > 1) {
		put_ip6(r, &w, PICK(r, protos));
	} else if (kind > 3) {
		put_ip4(r, &w, PICK(r, protos));
	}
	wr_be16(&w, PICK(r, ports));
	wr_be16(&w, PICK(r, ports));
	wr_zeros(&w, 20);
	Bytes b = wr_done(&w);
	return below(r, 4) ? b : bytes_slice(b, 0, below(r, (uint32_t)b.n));
}

/* A test; `exact`: libpcap reads this very text as we do. */
static void random_test(Rand *r, Sb *out, bool *exact, unsigned *vlans)
{
	static const char *const plain[] = { "ip",	   "ip6",	   "arp",	  "tcp",
					     "udp",	   "icmp",	   "icmp6",	  "proto 47",
					     "ip proto 6", "ip6 proto 58", "ip6 proto 44" };
	static const char *const dirs[] = { "", "src ", "dst ", "src or dst ", "src and dst " };
	static const char *const hosts[] = { "ip %shost 10.0.0.1",  "arp %shost 10.0.0.2",
					     "ip6 %shost fe80::1",  "ip %snet 10.0.0.0/8",
					     "ip6 %snet fe80::/64", "arp %snet 10.0.0.0/31" };
	static const char *const portforms[] = { "tcp %sport 80", "udp %sport 53", "udp %sportrange 50-500" };
	static const char *const loose[] = { "%shost 10.0.0.1", "%snet 10.0.0.0/16", "%sport 443",
					     "%sportrange 80-443", "%shost fe80::2" };

	switch (below(r, 12)) {
	case 0:
		if (*vlans < 2) {
			(*vlans)++;
			sb_cstr(out, below(r, 2) ? "vlan" : "vlan 10");
			return;
		}
		/* fall through */
	case 1:
	case 2:
	case 3:
		sb_cstr(out, PICK(r, plain));
		return;
	case 4:
	case 5:
	case 6: {
		char text[64];
		snprintf(text, sizeof text, PICK(r, hosts), PICK(r, dirs));
		sb_cstr(out, text);
		return;
	}
	case 7:
	case 8:
	case 9: {
		char text[64];
		snprintf(text, sizeof text, PICK(r, portforms), PICK(r, dirs));
		sb_cstr(out, text);
		return;
	}
	default: {
		char text[64];
		snprintf(text, sizeof text, PICK(r, loose), PICK(r, dirs));
		sb_cstr(out, text);
		*exact = false;
	}
	}
}

static void random_filter(Rand *r, Sb *out, bool *exact, unsigned *vlans, unsigned depth)
{
	uint32_t n = 1 + below(r, 3);

	for (uint32_t i = 0; i < n; i++) {
		if (i)
			sb_cstr(out, below(r, 2) ? " and " : " or ");
		if (below(r, 4) == 0)
			sb_cstr(out, "not ");
		if (depth < 3 && below(r, 3) == 0) {
			sb_cstr(out, "(");
			random_filter(r, out, exact, vlans, depth + 1);
			sb_cstr(out, ")");
		} else {
			random_test(r, out, exact, vlans);
		}
	}
}

/* libpcap's verdict; a filter that it finds always false has no program. */
typedef struct Oracle {
	struct bpf_program prog;
	bool never;
} Oracle;

static Oracle oracle_open(pcap_t *pc, const char *text)
{
	Oracle o = { 0 };

	if (pcap_compile(pc, &o.prog, text, 0, PCAP_NETMASK_UNKNOWN) != 0) {
		o.never = strstr(pcap_geterr(pc), "rejects all packets") != NULL;
		if (!o.never)
			print_message("libpcap: %s: %s\n", text, pcap_geterr(pc));
		assert_true(o.never);
	}
	return o;
}

static bool oracle_match(const Oracle *o, Bytes frame)
{
	struct pcap_pkthdr h = { .caplen = (uint32_t)frame.n, .len = (uint32_t)frame.n };

	return !o->never && pcap_offline_filter(&o->prog, &h, frame.p) != 0;
}

static void oracle_close(Oracle *o)
{
	if (!o->never)
		pcap_freecode(&o->prog);
}

static uint32_t compare(pcap_t *pc, const char *text, const Filter *f, const Bytes *frames)
{
	Oracle o = oracle_open(pc, text);
	uint32_t passed = 0;

	for (int i = 0; i < FRAMES; i++) {
		bool ours = filter_match(f, frames[i], WIRE_ETHER);

		if (ours != oracle_match(&o, frames[i]))
			print_message("frame %d of %zu bytes, filter %s: ours %d\n", i, frames[i].n, text,
				      ours);
		assert_int_equal(ours, oracle_match(&o, frames[i]));
		passed += ours;
	}
	oracle_close(&o);
	return passed;
}

static void agrees_with_libpcap(void **state)
{
	static uint8_t bytes[FRAMES][FRAME_MOST];
	static Bytes frames[FRAMES];
	Rand r = { .seed = 7 };
	pcap_t *pc = pcap_open_dead(DLT_EN10MB, 65535);
	uint32_t passed = 0, exacts = 0;

	(void)state;
	for (int i = 0; i < FRAMES; i++)
		frames[i] = random_frame(&r, bytes[i]);
	for (int i = 0; i < FILTERS; i++) {
		Sb text = sb(fresh());
		bool exact = true;
		unsigned vlans = 0;

		random_filter(&r, &text, &exact, &vlans, 0);
		const Filter *f = parsed(sb_done(&text).p);
		passed += compare(pc, filter_text(f, &arena).p, f, frames);
		if (exact) {
			compare(pc, text.p, f, frames);
			exacts++;
		}
	}
	pcap_close(pc);
	/* the comparison is worth something only if both verdicts and both texts came up often */
	assert_in_range(passed, FRAMES * FILTERS / 10, FRAMES * FILTERS * 9 / 10);
	assert_true(exacts > FILTERS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_spells_out_what_was_meant),
		cmocka_unit_test(errors_name_the_place),
		cmocka_unit_test(stacks_say_what_each_branch_says),
		cmocka_unit_test(agrees_with_libpcap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
