/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/tls.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[1 << 20], buf[1 << 16];

static TlsInfo example(Arena *a)
{
	TlsInfo i = { .version = STR("TLSv1.3"), .cipher = STR("TLS_AES_256_GCM_SHA384"), .alpn = STR("h2"),
		      .ocsp = true, .name = TLS_NAME_WRONG, .reason = STR("certificate has expired"), .certs = 12 };
	TlsCert c = { .subject = STR("CN=a"), .issuer = STR("CN=b"), .serial = STR("01"), .key = STR("RSA 2048"),
		      .signature = STR("x"), .sha256 = BYTES("01234567890123456789012345678901", 32),
		      .not_before_s = -5, .not_after_s = INT64_C(1) << 40 };

	vec_push(a, &c.san, STR("www.acme.corp"));
	vec_push(a, &c.san, STR("10.0.0.1"));
	vec_push(a, &i.chain, c);
	vec_push(a, &i.chain, (TlsCert){ 0 });
	return i;
}

static void test_info_round_trip(void **state)
{
	Arena a;
	Writer w = writer(buf, sizeof buf);
	TlsInfo back;

	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	TlsInfo i = example(&a);
	assert_true(tls_info_put(&w, &i));
	assert_true(tls_info_get(wr_done(&w), &a, &back));
	assert_true(str_is(back.cipher, "TLS_AES_256_GCM_SHA384") && back.ocsp && !back.trusted);
	assert_int_equal(back.name, TLS_NAME_WRONG);
	assert_int_equal(back.certs, 12);
	assert_int_equal(back.chain.n, 2);
	assert_int_equal(back.chain.p[0].not_before_s, -5);
	assert_int_equal(back.chain.p[0].san.n, 2);
	assert_true(str_is(back.chain.p[0].san.p[1], "10.0.0.1"));
	assert_int_equal(back.chain.p[0].sha256.n, 32);
}

/* No cut of it and no byte more is one. */
static void test_info_is_strict(void **state)
{
	Arena a;
	Writer w = writer(buf, sizeof buf);
	TlsInfo back;

	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	TlsInfo i = example(&a);
	assert_true(tls_info_put(&w, &i));
	for (size_t n = 0; n < w.n; n++)
		assert_false(tls_info_get(BYTES(buf, n), &a, &back));
	assert_false(tls_info_get(BYTES(buf, w.n + 1), &a, &back));
}

/* Counts that nothing stands behind take no memory. */
static void test_info_of_false_counts(void **state)
{
	Arena a;
	Writer w = writer(buf, sizeof buf);
	TlsInfo back, i = { .certs = 1 };

	(void)state;
	arena_init(&a, memory, sizeof memory, NULL);
	assert_true(tls_info_put(&w, &i));
	put_be32(buf + w.n - 4, 0xffffffff);
	assert_false(tls_info_get(wr_done(&w), &a, &back));
	assert_true(arena_mark(&a) < 4096);
}

static void test_open(void **state)
{
	Writer w = writer(buf, sizeof buf);
	TlsOpen o = { .at_s = 1700000000, .name = STR("db.acme.corp"), .alpn = BYTES("\x02h2\x08http/1.1", 12) }, back;

	(void)state;
	assert_true(tls_open_put(&w, &o));
	assert_true(tls_open_get(wr_done(&w), &back));
	assert_true(str_eq(back.name, o.name) && bytes_eq(back.alpn, o.alpn));
	assert_int_equal(back.at_s, 1700000000);
	o.name = (Str){ "a\0b", 3 }; /* what OpenSSL would cut */
	assert_false(tls_open_put(&w, &o));
}

static void test_alpn(void **state)
{
	(void)state;
	assert_true(tls_alpn_ok(BYTES("", 0)));
	assert_true(tls_alpn_ok(BYTES("\x02h2", 3)));
	assert_false(tls_alpn_ok(BYTES("\x03h2", 3)));
	assert_false(tls_alpn_ok(BYTES("\x00\x02h2", 4)));
	assert_false(tls_alpn_ok(BYTES("\x02h2\x01", 4)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info_round_trip), cmocka_unit_test(test_info_is_strict),
		cmocka_unit_test(test_info_of_false_counts), cmocka_unit_test(test_open), cmocka_unit_test(test_alpn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
