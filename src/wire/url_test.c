/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[1 << 16];

static void is(Str s, const char *z)
{
	if (!str_is(s, z))
		fail_msg("\"%.*s\" instead of \"%s\"", STR_ARG(s), z);
}

static void test_good(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		bool tls, ip;
		const char *authority, *target;
	} rows[] = {
		{ "http://a.b", "a.b", 80, false, false, "a.b", "/" },
		{ "https://a.b/", "a.b", 443, true, false, "a.b", "/" },
		{ "HTTP://A.b/x", "A.b", 80, false, false, "A.b", "/x" },
		{ "http://a.b:8080/x/y?z=1&u=%20", "a.b", 8080, false, false, "a.b:8080", "/x/y?z=1&u=%20" },
		{ "http://a.b:80/x", "a.b", 80, false, false, "a.b", "/x" },
		{ "https://a.b:80/x#top", "a.b", 80, true, false, "a.b:80", "/x" },
		{ "http://10.0.0.1/", "10.0.0.1", 80, false, true, "10.0.0.1", "/" },
		{ "https://[fd00::1]:8443/q", "fd00::1", 8443, true, true, "[fd00::1]:8443", "/q" },
		{ "https://[fd00::1]", "fd00::1", 443, true, true, "[fd00::1]", "/" },
		{ "http://a.b/@c:d", "a.b", 80, false, false, "a.b", "/@c:d" },
		{ "http://3com.b/", "3com.b", 80, false, false, "3com.b", "/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Url u;
		const char *fault = url_parse(str_c(rows[i].text), &u);

		if (fault)
			fail_msg("%s: %s", rows[i].text, fault);
		is(u.host, rows[i].host);
		is(u.authority, rows[i].authority);
		is(u.target, rows[i].target);
		assert_int_equal(u.port, rows[i].port);
		assert_int_equal(u.tls, rows[i].tls);
		assert_int_equal(u.is_ip, rows[i].ip);
	}
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"", "a.b", "ftp://a.b/", "http:/a.b", "http://", "http:///x", "http://?x", "http://:80/",
		"http://user@a.b/", "http://user:pw@a.b/", "http://a.b@10.0.0.1/", "http://a.b:0/", "http://a.b:65536/",
		"http://a.b:/", "http://a.b:80:80/", "http://a.b:+1/", "http://a b/", "http://a.b/x y", "http://a.b/\n",
		"http://a.b\r\nHost: c/", "http://a..b/", "http://.a/", "http://a_b/", "http://a%2eb/", "http://b\xc3\xbc.de/",
		"http://127.1/", "http://0x7f.0.0.1/", "http://2130706433/", "http://010.0.0.1/", "http://1.2.3.4.5/",
		"http://[fd00::1/", "http://[10.0.0.1]/", "http://[fd00::1]x/", "http://[fe80::1%25eth0]/", "http://[]/",
		"http://a.b?x", "http://a.b\\c/", "http://a.b/`", "http://fd00::1/",
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Url u;

		if (!url_parse(str_c(rows[i]), &u))
			fail_msg("\"%s\" was read as a URL", rows[i]);
	}
}

/* RFC 3986 5.4, as far as it is about http. */
static void test_location(void **state)
{
	static const struct {
		const char *location, *target;
	} rows[] = {
		{ "g", "/b/c/g" },	  { "./g", "/b/c/g" },	     { "g/", "/b/c/g/" },     { "/g", "/g" },
		{ "?y", "/b/c/d?y" },	  { "g?y", "/b/c/g?y" },     { "#s", "/b/c/d?q" },    { "g#s", "/b/c/g" },
		{ "", "/b/c/d?q" },	  { ".", "/b/c/" },	     { "./", "/b/c/" },	      { "..", "/b/" },
		{ "../", "/b/" },	  { "../g", "/b/g" },	     { "../..", "/" },	      { "../../g", "/g" },
		{ "../../../g", "/g" },	  { "/./g", "/g" },	     { "/../g", "/g" },	      { "g.", "/b/c/g." },
		{ "..g", "/b/c/..g" },	  { "./../g", "/b/g" },	     { "g/./h", "/b/c/g/h" }, { "g/../h", "/b/c/h" },
		{ "g?y/../x", "/b/c/g?y/../x" }, { "http://a/z", "/z" }, { "//a/z", "/z" },   { "./g/.", "/b/c/g/" },
	};
	Url base, u;
	Arena a;

	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	assert_null(url_parse(STR("http://a/b/c/d?q"), &base));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *fault = url_resolve(&base, str_c(rows[i].location), &a, &u);

		if (fault || !str_is(u.target, rows[i].target))
			fail_msg("%s: %s \"%.*s\"", rows[i].location, fault ? fault : "", STR_ARG(u.target));
		is(u.authority, "a");
	}
	assert_null(url_resolve(&base, STR("https://b:8443/x"), &a, &u));
	is(u.authority, "b:8443");
	assert_null(url_resolve(&base, STR("//c/x"), &a, &u));
	assert_true(!u.tls && str_is(u.host, "c"));
	assert_non_null(url_resolve(&base, STR("javascript:alert(1)"), &a, &u));
	assert_non_null(url_resolve(&base, STR("/x\r\nA: b"), &a, &u));
	assert_non_null(url_resolve(&base, STR("//u@c/x"), &a, &u));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_good), cmocka_unit_test(test_refused),
					    cmocka_unit_test(test_location) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
