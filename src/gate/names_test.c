/* SPDX-License-Identifier: Apache-2.0
 *
 * Names as text, zones, resolv.conf, the order of addresses.
 */
#include "gate/names.h"
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[8 << 20];
static Arena a;

static int fresh(void **state)
{
	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	return 0;
}

static void good_names(void **state)
{
	(void)state;
	static const char *const good[] = { "a", "acme.corp", "A-1.b", "1.2.3.4a", "xn--mnchen-3ya.de", "XN--MNCHEN-3YA.de",
					    "xn--n3h.net", "xn--wgv71a119e.jp", "a.xn--p1ai", "3com.com" };

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		if (host_name_fault(str_c(good[i])))
			fail_msg("%s: %s", good[i], host_name_fault(str_c(good[i])));
}

static void bad_names(void **state)
{
	(void)state;
	static const char *const bad[] = { "", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "a\n", "a\xc3\xbc", "a/b",
					   "1.2.3.4", "a.9", "ab--cd.de", "xn--", "xn--a-", "xn--abc-", "xn--99999999",
					   "xn--ls8h=.la", "user@host", "a:80", "*.acme.corp", "xn--acme-.corp", "0x7f", "a.0x", "_tcp.acme.corp" };
	char longest[256];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (!host_name_fault(str_c(bad[i])))
			fail_msg("%s was taken", bad[i]);
	assert_null(host_question_fault(STR("_443._tcp.acme.corp")));
	assert_non_null(host_question_fault(STR("a_b.acme.corp")));
	assert_non_null(host_question_fault(STR("_.acme.corp")));
	assert_null(host_name_fault(STR("0xy.acme.corp")));
	memset(longest, 'a', sizeof longest);
	assert_null(host_name_fault((Str){ longest, 63 }));
	assert_non_null(host_name_fault((Str){ longest, 64 }));
	for (size_t i = 60; i < 253; i += 61)
		longest[i] = '.';
	assert_null(host_name_fault((Str){ longest, 253 }));
	assert_non_null(host_name_fault((Str){ longest, 254 }));
}

/* RFC 3492 7.1 and well-known names. */
static void alabels_show_their_unicode(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "xn--mnchen-3ya.de", "m\xc3\xbcnchen.de" },
		{ "xn--n3h.net", "\xe2\x98\x83.net" },
		{ "www.xn--ihqwcrb4cv8a8dqg056pqjye.cn", "www.\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8\x8d\xe8\xaf\xb4\xe4\xb8\xad\xe6\x96\x87.cn" },
		{ "xn--80ak6aa92e.com", "\xd0\xb0\xd1\x80\xd1\x80\xd3\x8f\xd0\xb5.com" },
	};
	Str text;

	for (size_t i = 0; i < 4; i++) {
		assert_null(host_name_fault(str_c(rows[i][0])));
		assert_true(host_name_unicode(str_c(rows[i][0]), &a, &text));
		assert_string_equal(text.p, rows[i][1]);
	}
	assert_false(host_name_unicode(STR("acme.corp"), &a, &text));
}

static void zones_are_compared_by_labels(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool in;
	} rows[] = { { "acme.corp", true }, { "a.acme.corp", true }, { "A.B.Acme.CORP", true }, { "notacme.corp", false },
		     { "acme.corp.evil", false }, { "corp", false }, { "", false }, { "lab", true }, { "x.lab", true } };
	Zones z = { 0 };

	vec_push(&a, &z.v, STR("acme.corp"));
	vec_push(&a, &z.v, STR("lab"));
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(zones_have(&z, str_c(rows[i].name)), rows[i].in);
	assert_true(zones_have_wire(&z, BYTES("\1x\4AcMe\4corp", 13)));
	assert_false(zones_have_wire(&z, BYTES("\1x\4acme\4corp", 12)));      /* no root label */
	assert_false(zones_have_wire(&z, BYTES("\1x\4acme\4corp\0\0", 14)));  /* something behind */
	assert_false(zones_have_wire(&z, BYTES("\11acme.corp", 11)));         /* a dot in a label */
	assert_false(zones_have_wire(&z, BYTES("\xc0\x0c", 2)));
	assert_false(zones_have_wire(&z, BYTES("", 1)));
	assert_true(zones_have_wire(&(Zones){ .all = true }, BYTES("", 1)));
}

static void resolv_conf(void **state)
{
	(void)state;
	Resolvers r;

	resolv_conf_parse(STR("# nameserver 9.9.9.9\nnameserver 10.0.0.53\r\n search a.b\nnameserver\tfd00::53 # x\n"
			      "nameserver fe80::1%eth0\nnameserver 010.0.0.1\nNameserver 1.1.1.1\nnameserver 10.0.0.54\n"
			      "nameserver 10.0.0.55"),
			  &r);
	assert_int_equal(r.n, 3);
	assert_true(ip_eq(r.addr[0], lab_ip("10.0.0.53")) && ip_eq(r.addr[1], lab_ip("fd00::53")) &&
		    ip_eq(r.addr[2], lab_ip("10.0.0.54")));
	assert_false(r.stub);
	resolv_conf_parse(STR("nameserver 127.0.0.53\noptions edns0"), &r);
	assert_true(r.n == 1 && r.stub);
	resolv_conf_parse(STR("nameserver 127.0.0.53\nnameserver 10.0.0.1"), &r);
	assert_false(r.stub);
	resolv_conf_parse(STR(""), &r);
	assert_true(r.n == 0 && !r.stub);
}

/* RFC 6724 10.2: its examples of destination address selection. */
static void rfc6724_order(void **state)
{
	(void)state;
	static const struct {
		const char *first, *src_first, *second, *src_second;
	} rows[] = {
		{ "2001:db8:1::1", "2001:db8:1::2", "198.51.100.121", "169.254.13.78" },  /* matching scope */
		{ "198.51.100.121", "198.51.100.117", "2001:db8:1::1", "fe80::1" },       /* matching scope */
		{ "2001:db8:1::1", "2001:db8:1::2", "10.1.2.3", "10.1.2.4" },             /* higher precedence */
		{ "fe80::1", "fe80::2", "2001:db8:1::1", "2001:db8:1::2" },               /* smaller scope */
		{ "2001:db8:1::1", "2001:db8:1::2", "2001:db8:3ffe::1", "2001:db8:3f44::2" }, /* longest prefix */
		{ "2002:c633:6401::1", "2002:c633:6401::2", "2001:db8:1::1", "fe80::2" }, /* matching scope */
		{ "10.1.2.3", "10.1.2.4", "2001:db8:1::1", NULL },                        /* avoid unusable */
		{ "2001:db8:1::1", "2001:db8:1::2", "fc00::1", "2001:db8:1::2" },         /* matching label */
		{ "10.0.0.9", "10.0.0.1", "10.9.0.9", "10.0.0.1" },                       /* longest prefix, IPv4 */
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Candidate x = { lab_ip(rows[i].first), lab_ip(rows[i].src_first) };
		Candidate y = { lab_ip(rows[i].second), rows[i].src_second ? lab_ip(rows[i].src_second) : (Ip){ 0 } };
		Candidate c[2] = { x, y }, d[2] = { y, x };

		names_order(c, 2);
		names_order(d, 2);
		if (!ip_eq(c[0].addr, x.addr) || !ip_eq(d[0].addr, x.addr))
			fail_msg("row %d", (int)i);
	}
	Candidate same[3] = { { lab_ip("10.0.0.3"), lab_ip("10.0.0.1") }, { lab_ip("10.0.0.2"), lab_ip("10.0.0.1") },
			      { lab_ip("10.0.0.3"), lab_ip("10.0.0.1") } };

	names_order(same, 1);
	same[0].addr = same[1].addr;
	names_order(same, 2);
	assert_true(ip_eq(same[0].addr, lab_ip("10.0.0.2")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(good_names, fresh),
		cmocka_unit_test_setup(bad_names, fresh),
		cmocka_unit_test_setup(alabels_show_their_unicode, fresh),
		cmocka_unit_test_setup(zones_are_compared_by_labels, fresh),
		cmocka_unit_test_setup(resolv_conf, fresh),
		cmocka_unit_test_setup(rfc6724_order, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
