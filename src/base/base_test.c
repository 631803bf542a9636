/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/map.h"
#include "base/punycode.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/sort.h"
#include "base/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[1 << 20];

static Arena fresh(jmp_buf *full)
{
	Arena a;

	arena_init(&a, memory, sizeof memory, full);
	return a;
}

#define assert_str(s, z)                              \
	do {                                          \
		Str s_ = (s);                         \
		assert_int_equal(s_.n, strlen(z));    \
		assert_memory_equal(s_.p, z, s_.n);   \
	} while (0)

static void arena_gives_zeros_also_a_second_time(void **state)
{
	static uint8_t zero[4096];
	Arena a;
	(void)state;

	arena_init_zeroed(&a, zero, sizeof zero, NULL);
	memset(arena_alloc(&a, 100), 0xff, 100);
	size_t mark = arena_mark(&a);
	memset(arena_alloc(&a, 200), 0xff, 200);
	arena_reset(&a, mark);
	uint8_t *p = arena_alloc(&a, 1000); /* half used before, half fresh */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(p[i], 0);
	assert_int_equal(a.dirty, a.used);
	arena_reset(&a, 0);
	assert_int_equal(*(uint8_t *)arena_alloc(&a, 1), 0);
	assert_true(a.dirty > a.used);
}

static void arena_ends_in_one_jump(void **state)
{
	(void)state;
	jmp_buf full;
	Arena a = fresh(&full);
	volatile int n = 0;

	if (setjmp(full) == 0)
		for (;;) {
			uint8_t *p = arena_alloc(&a, 1000);

			assert_int_equal((uintptr_t)p % 16, 0);
			assert_int_equal(p[999], 0);
			n++;
		}
	assert_in_range(n, 1000, 1048);
	if (setjmp(full) == 0) {
		arena_array(&a, SIZE_MAX / 2, 4);
		fail();
	}
}

static void cursor_error_sticks(void **state)
{
	(void)state;
	Cursor c = cursor(BYTES("\x01\x02\x03", 3));

	assert_int_equal(cur_be16(&c), 0x0102);
	assert_int_equal(cur_be16(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cur_u8(&c), 0); /* one byte is left, the error stays */
	assert_int_equal(cur_rest(&c).n, 0);
	c = cursor(BYTES("abc", 3));
	assert_int_equal(cur_bytes(&c, SIZE_MAX).n, 0);
	assert_true(c.bad);
}

static void writer_stops_at_its_end(void **state)
{
	(void)state;
	uint8_t out[5];
	Writer w = writer(out, sizeof out);

	wr_be32(&w, 0xdeadbeef);
	wr_be16(&w, 1);
	wr_u8(&w, 1);
	assert_true(w.full);
	assert_int_equal(w.n, 4);
	assert_int_equal(get_be32(out), 0xdeadbeef);
}

static void bits_round_trip(void **state)
{
	(void)state;
	uint8_t b[12] = { 0 };

	for (unsigned bit = 0; bit < 24; bit++)
		for (unsigned width = 1; width <= 64; width++) {
			uint64_t v = rng_draw(1, bit, width) >> (64 - width);

			memset(b, 0xa5, sizeof b);
			bits_put(b, bit, width, v);
			assert_true(bits_get(b, bit, width) == v);
			bits_put(b, bit, width, bits_get((const uint8_t *)"\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", bit, width));
			for (size_t i = 0; i < sizeof b; i++)
				assert_int_equal(b[i], 0xa5);
		}
}

static void addresses_have_one_text(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1" },   { "255.255.255.255", "255.255.255.255" },
		{ "10.0.0.01", NULL },	      { "10.0.0", NULL },
		{ "10.0.0.256", NULL },	      { "10.0.0.1.", NULL },
		{ "10.0.0.1.2", NULL },	      { " 10.0.0.1", NULL },
		{ "0x0a.0.0.1", NULL },	      { "167772161", NULL },
		{ "::", "::" },		      { "::1", "::1" },
		{ "1::", "1::" },	      { "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.1" },
		{ "64:ff9b::10.0.0.1", "64:ff9b::a00:1" },
		{ "1:2:3:4:5:6:7", NULL },    { "1:2:3:4:5:6:7:8:9", NULL },
		{ ":1::", NULL },	      { "1::2::3", NULL },
		{ "1:", NULL },		      { ":", NULL },
		{ "12345::", NULL },	      { "fe80::1%eth0", NULL },
		{ "", NULL },		      { "1:2:3:4:5:6:7:8::", NULL },
		{ "::1:2:3:4:5:6:7:8", NULL }, { "::1.2.3", NULL },
	};
	char text[IP_TEXT];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Ip ip;
		bool ok = ip_parse(str_c(rows[i].in), &ip);

		if (ok != (rows[i].out != NULL))
			fail_msg("%s", rows[i].in);
		if (ok) {
			ip_format(ip, text);
			assert_string_equal(text, rows[i].out);
		}
	}
}

static void networks(void **state)
{
	(void)state;
	Net n;
	Ip a, b, ip;

	assert_true(net_parse(STR("10.20.0.0/14"), &n));
	net_range(n, &a, &b);
	assert_int_equal(ip4_num(a), 0x0a140000);
	assert_int_equal(ip4_num(b), 0x0a17ffff);
	assert_true(net_has(n, b));
	assert_false(net_has(n, ip4(0x0a180000)));
	assert_false(net_parse(STR("10.20.0.1/16"), &n));
	assert_false(net_parse(STR("10.0.0.0/33"), &n));
	assert_false(net_parse(STR("10.0.0.0/"), &n));
	assert_false(net_parse(STR("10.0.0.0/08"), &n));
	assert_true(net_parse(STR("2001:db8::/32"), &n));
	assert_true(ip_parse(STR("2001:db8:ffff::1"), &ip) && net_has(n, ip));
	assert_true(net_parse(STR("0.0.0.0/0"), &n) && net_has(n, ip4(1)));
	assert_false(net_has(n, ip));
	assert_true(ip_add(ip4(0x0affffff), 1, &ip) && ip4_num(ip) == 0x0b000000);
	assert_false(ip_add(ip4(0xffffffff), 1, &ip));
	assert_false(ip_add(ip4(0), -1, &ip));
	assert_true(ip_parse(STR("::ffff:ffff"), &a) && ip_add(a, 1, &ip));
	assert_true(ip_parse(STR("::1:0:0"), &b) && ip_eq(ip, b));
	assert_true(ip_add(b, -1, &ip) && ip_eq(ip, a));
	assert_true(ip_parse(STR("::"), &a));
	assert_false(ip_add(a, -1, &ip));
}

static void classes_of_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *ip;
		IpClass c;
	} rows[] = {
		{ "10.0.0.1", IP_CLASS_UNICAST },	   { "127.9.9.9", IP_CLASS_LOOPBACK },
		{ "169.254.169.254", IP_CLASS_LINK_LOCAL }, { "239.1.1.1", IP_CLASS_MULTICAST },
		{ "255.255.255.255", IP_CLASS_BROADCAST }, { "250.0.0.1", IP_CLASS_RESERVED },
		{ "::", IP_CLASS_UNSPECIFIED },		   { "::1", IP_CLASS_LOOPBACK },
		{ "::ffff:127.0.0.1", IP_CLASS_V4_EMBEDDED }, { "64:ff9b::7f00:1", IP_CLASS_V4_EMBEDDED },
		{ "2002:7f00:1::", IP_CLASS_V4_EMBEDDED }, { "2001:db8::1", IP_CLASS_UNICAST },
		{ "2001::1", IP_CLASS_V4_EMBEDDED },	   { "ff02::1", IP_CLASS_MULTICAST },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Ip ip;

		assert_true(ip_parse(str_c(rows[i].ip), &ip));
		assert_int_equal(ip_class(ip), rows[i].c);
	}
}

static void macs(void **state)
{
	(void)state;
	Mac m;
	char text[MAC_TEXT];

	assert_true(mac_parse(STR("02:00:5E:10:00:ff"), &m));
	mac_format(m, text);
	assert_string_equal(text, "02:00:5e:10:00:ff");
	assert_true(mac_parse(STR("02-00-5e-10-00-ff"), &m));
	assert_false(mac_parse(STR("02:00-5e:10:00:ff"), &m));
	assert_false(mac_parse(STR("2:0:5e:10:0:ff"), &m));
	assert_false(mac_parse(STR("02:00:5e:10:00:ff:"), &m));
}

static void durations_have_four_digits(void **state)
{
	(void)state;
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 s" },		     { 7, "7 ns" },	      { 12340, "12.34 us" },
		{ 999960, "1.000 ms" },	     { 999949, "999.9 us" },  { 12341000, "12.34 ms" },
		{ 123410000, "123.4 ms" },   { 1234100000, "1.234 s" }, { -2500000, "-2.500 ms" },
		{ 999999999, "1.000 s" },    { NS_NONE, "-" },	      { 61000000000, "61.00 s" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		duration_format(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
	char when[40];

	time_format(INT64_C(1796058245123456789), when);
	assert_string_equal(when, "2026-11-30 17:04:05.123456 UTC");
	time_format(-1, when);
	assert_string_equal(when, "1969-12-31 23:59:59.999999 UTC");
	assert_true(ns_from_s(0.2) == 200 * NS_PER_MS);
	assert_true(ns_from_s((double)NAN) == NS_NONE);
	assert_true(ns_from_s(1e300) == NS_NONE);
	assert_true(unit_find(STR("Mbit"))->factor == 125000);
	assert_null(unit_find(STR("kb")));
}

static void escapes(void **state)
{
	(void)state;
	Arena a = fresh(NULL);
	Sb b = sb(&a);

	escape_peer(&b, BYTES("a\"\\\x1b[2J\n\xc3\xa9", 10));
	assert_str(sb_done(&b), "a\\\"\\\\\\x1b[2J\\n\\xc3\\xa9");
	b = sb(&a);
	escape_line(&b, STR("h\xc3\xa9 \xe2\x80\xae \x9b \xff \xc0\x80"));
	assert_str(sb_done(&b), "h\xc3\xa9 \\xe2\\x80\\xae \\x9b \\xff \\xc0\\x80");
	uint32_t cp;

	assert_int_equal(utf8_decode(STR("\xed\xa0\x80"), &cp), 0); /* surrogate */
	assert_int_equal(utf8_decode(STR("\xf4\x90\x80\x80"), &cp), 0);
	for (cp = 0; cp < 0x110000; cp += 61) {
		char out[4];
		uint32_t back;
		size_t n = utf8_encode(cp, out);

		if (cp < 0xd800 || cp >= 0xe000)
			assert_true(utf8_decode((Str){ out, n }, &back) == n && back == cp);
	}
}

static void diagnostics_point_at_their_place(void **state)
{
	(void)state;
	Arena a = fresh(NULL);
	DiagList l = { .a = &a };
	Str src = STR("x = 1\n\xc3\xa9 = ping(3)\n");
	Diag *d = diag_add(&l, "E-TYPE", (Span){ 11, 18 }, "ping() takes an address, not %s", "int");

	diag_fix(d, (Span){ 16, 17 }, STR("\"10.0.0.1\""));
	diag_add(&l, "E-TYPE", (Span){ 11, 18 }, "again");
	diag_add(&l, "W-SPIN", (Span){ 0, 1 }, "first");
	assert_int_equal(l.v.n, 2);
	assert_int_equal(l.errors, 1);
	diag_sort(&l);
	assert_string_equal(l.v.p[0].code, "W-SPIN");
	Sb b = sb(&a);

	diag_render(&l.v.p[1], STR("a.sonde"), src, &b);
	assert_str(sb_done(&b), "a.sonde:2:5: error E-TYPE: ping() takes an address, not int\n"
				"    \xc3\xa9 = ping(3)\n"
				"        ^~~~~~~\n"
				"    fix: \"10.0.0.1\"\n");
}

static void names_get_their_nearest(void **state)
{
	(void)state;
	assert_int_equal(str_distance(STR("tracerout"), STR("traceroute"), 2), 1);
	assert_int_equal(str_distance(STR("pign"), STR("ping"), 2), 1);
	assert_int_equal(str_distance(STR("abc"), STR("xyz"), 2), 255);
	assert_int_equal(str_distance(STR(""), STR("xy"), 2), 2);
}

static void maps(void **state)
{
	(void)state;
	Arena a = fresh(NULL);
	Map m = { .a = &a };

	for (uint64_t i = 0; i < 2000; i++)
		*map_put(&m, BYTES(arena_copy(&a, &i, 8), 8)) = i * 3;
	for (uint64_t i = 0; i < 2000; i++)
		assert_true(*map_get(&m, BYTES(&i, 8)) == i * 3);
	assert_null(map_get(&m, BYTES("x", 1)));
	assert_int_equal(m.n, 2000);
}

static void json_is_well_formed(void **state)
{
	(void)state;
	Arena a = fresh(NULL);
	Sb b = sb(&a);
	Json j = json(&b);

	json_open(&j, '{');
	json_kstr(&j, "t", STR("a\"\n\xff\xc2\x9b"));
	json_key(&j, "v");
	json_open(&j, '[');
	json_int(&j, -1);
	json_num(&j, 0.1);
	json_num(&j, (double)NAN);
	json_seconds(&j, -1500000000);
	json_seconds(&j, NS_NONE);
	json_close(&j, ']');
	json_kbool(&j, "b", true);
	json_close(&j, '}');
	assert_str(sb_done(&b), "{\"t\":\"a\\\"\\u000a\xef\xbf\xbd\\u009b\",\"v\":[-1,0.1,null,-1.500000000,null],"
				"\"b\":true}");
}

static int by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static void sorting_in_place(void **state)
{
	int v[257];

	(void)state;
	for (int n = 0; n <= 257; n++) {
		long sum = 0;

		for (int i = 0; i < n; i++)
			sum += v[i] = (int)(rng_draw(3, (uint64_t)n, (uint64_t)i) % 40);
		sort_items(v, (size_t)n, sizeof *v, by_int);
		for (int i = 0; i < n; i++) {
			sum -= v[i];
			assert_true(i == 0 || v[i - 1] <= v[i]);
		}
		assert_int_equal(sum, 0);
	}
}

/* FIPS 180-4's examples (NIST's example values), and one length around each edge of a block. */
static void sha256_is_the_standards(void **state)
{
	static const struct {
		const char *unit;
		unsigned times;
		const char *hash;
	} rows[] = {
		{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ "a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};
	char text[SHA256_TEXT];
	Hash h, back;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Sha256 s;

		sha256_init(&s);
		for (unsigned k = 0; k < rows[i].times; k++)
			sha256_add(&s, str_bytes(str_c(rows[i].unit)));
		h = sha256_done(&s);
		hash_format(h, text);
		assert_string_equal(text, rows[i].hash);
		assert_true(hash_parse(str_bytes(str_c(text)), &back) && hash_eq(h, back));
	}
	text[5] = 'G';
	assert_false(hash_parse(str_bytes(str_c(text)), &back));
	assert_false(hash_parse(BYTES(rows[0].hash, 63), &back));
}

/* ---- punycode ---- */

static void test_punycode(void **state)
{
	/* RFC 3492 7.1 and what browsers show */
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{ "xn--bcher-kva.example", "b\xc3\xbc"
					   "cher.example" },
		{ "xn--ihqwcrb4cv8a8dqg056pqjye",
		  "\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8\x8d\xe8\xaf\xb4\xe4\xb8"
		  "\xad\xe6\x96\x87" },
		{ "a.XN--MNCHEN-3YA.b", "a.M\xc3\xbcNCHEN.b" },
		{ "xn--3b-ww4c5e180e575a65lsy2b", "3\xe5\xb9\xb4"
						  "b\xe7\xb5\x84\xe9\x87\x91\xe5\x85\xab\xe5\x85\x88\xe7\x94\x9f" },
		{ "plain.example.", "plain.example." },
		/* none: no digits, cut, too large, a surrogate, an ASCII character, one that hides */
		{ "xn--", "xn--" },
		{ "xn--abc-", "xn--abc-" },
		{ "xn--a-\xff", "xn--a-\xff" },
		{ "xn--99999999", "xn--99999999" },
		{ "xn--a", "xn--a" },
		{ "xn--0ug", "xn--0ug" },
	};
	Arena a;

	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Sb b = sb(&a);

		punycode_name(str_c(rows[i].name), &b);
		assert_string_equal(sb_done(&b).p, rows[i].shown);
	}
}

/* RFC 4648, 10, and what strict means. */
static void base64_has_one_text(void **state)
{
	static const struct {
		const char *bytes, *padded, *url;
	} rows[] = { { "", "", "" },		       { "f", "Zg==", "Zg" },	    { "fo", "Zm8=", "Zm8" },
		     { "foo", "Zm9v", "Zm9v" },	       { "foob", "Zm9vYg==", "Zm9vYg" }, { "fooba", "Zm9vYmE=", "Zm9vYmE" },
		     { "foobar", "Zm9vYmFy", "Zm9vYmFy" }, { "\xfb\xff\xfe", "+//+", "-__-" } };
	static const char *const bad[] = { "Z", "Zh==", "Zm9=", "Z===", "Zg=", "Zm8", "Zm9v=", "Z\nm9", "Zm-v" };
	char text[32];
	uint8_t out[32];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].bytes);

		assert_int_equal(base64url(text, BYTES(rows[i].bytes, n)), BASE64_TEXT(n));
		assert_string_equal(text, rows[i].url);
		assert_int_equal(unbase64url(out, str_c(rows[i].url)), n);
		assert_memory_equal(out, rows[i].bytes, n);
		assert_int_equal(unbase64(out, str_c(rows[i].padded)), n);
		assert_memory_equal(out, rows[i].bytes, n);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(unbase64(out, str_c(bad[i])), -1);
	assert_int_equal(unbase64url(out, str_c("Zg==")), -1);
}

static void texts_are_cut_and_compared(void **state)
{
	Str s = STR("a,b,,");

	(void)state;
	assert_true(str_is(str_until(&s, ','), "a") && str_is(str_until(&s, ','), "b") && s.n == 1);
	assert_true(str_until(&s, ',').n == 0 && s.n == 0 && str_until(&s, ',').n == 0);
	assert_true(str_same(STR("Host-1"), STR("hOST-1")) && !str_same(STR("a"), STR("ab")) && !str_same(STR("["), STR("{")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_ends_in_one_jump), cmocka_unit_test(arena_gives_zeros_also_a_second_time),	  cmocka_unit_test(cursor_error_sticks),
		cmocka_unit_test(writer_stops_at_its_end),	  cmocka_unit_test(bits_round_trip),
		cmocka_unit_test(addresses_have_one_text),	  cmocka_unit_test(networks),
		cmocka_unit_test(base64_has_one_text),		  cmocka_unit_test(texts_are_cut_and_compared),
		cmocka_unit_test(classes_of_addresses),		  cmocka_unit_test(macs),
		cmocka_unit_test(durations_have_four_digits),	  cmocka_unit_test(escapes),
		cmocka_unit_test(diagnostics_point_at_their_place), cmocka_unit_test(names_get_their_nearest),
		cmocka_unit_test(maps),				  cmocka_unit_test(json_is_well_formed),
		cmocka_unit_test(test_punycode),
		cmocka_unit_test(sorting_in_place),		  cmocka_unit_test(sha256_is_the_standards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
