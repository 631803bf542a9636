/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS: names, compression and its limits, records, text.
 */
#include "wire/testing.h"

static WirePacket *dns_of(const char *records, size_t n, const uint16_t counts[4])
{
	WirePacket *p = ip_udp(0);
	uint8_t *msg = arena_alloc(&arena, 12 + n);

	wire_set_num(&p->layer[1], F_UDP_DPORT, 53);
	for (int i = 0; i < 4; i++)
		put_be16(msg + 4 + 2 * i, counts[i]);
	memcpy(msg + 12, records, n);
	p->payload = BYTES(msg, 12 + n);
	return parsed(built(p), WIRE_IP);
}

#define DNS_OF(lit, ...) dns_of(lit, sizeof(lit) - 1, (const uint16_t[4]){ __VA_ARGS__ })

static void test_compression_has_limits(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		const char *reason;
	} bad[] = {
		{ "\xc0\x0c\0\1\0\1", 6,
		  "DNS question 1 has a compression pointer that does not point back" },
		{ "\1a\xc0\x0c\0\1\0\1", 8,
		  "DNS question 1 has a compression pointer that does not point back" },
		{ "\xc0\x0e\xc0\x0c\0\1\0\1", 8,
		  "DNS question 1 has a compression pointer that does not point back" },
		{ "\xc0", 1, "DNS question 1 runs past the end" },
		{ "\x40x\0\0\1\0\1", 7, "DNS question 1 has a label of an unknown kind" },
		{ "\5ab", 3, "DNS question 1 runs past the end" },
		{ "\1a\0\0\1", 5, "DNS question 1 runs past the end" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		WirePacket *p = dns_of(bad[i].name, bad[i].n, (const uint16_t[4]){ 1, 0, 0, 0 });

		assert_int_equal(p->n, 3); /* the header is good */
		assert_string_equal(p->reason, bad[i].reason);
		assert_false(wire_is_set(&p->layer[2], F_DNS_QD));
		assert_int_equal(p->payload.n, bad[i].n);
	}
}

/* 64 K of records that each are one pointer to the longest name. */
static void test_expansion_has_a_limit(void **state)
{
	enum { RECORDS = 5000, NAME = 255 };
	uint8_t *m = arena_alloc(&arena, 65536);
	Writer w = writer(m, 65500);

	(void)state;
	for (int i = 0; i < 3; i++) {
		wr_u8(&w, 63);
		wr_zeros(&w, 63);
	}
	wr_u8(&w, 61);
	wr_zeros(&w, 61 + 1);
	assert_int_equal(w.n, NAME);
	wr_be32(&w, 0x00010001);
	for (int i = 0; i < RECORDS; i++) {
		wr_be16(&w, 0xc00c);
		wr_be32(&w, 0x00010001);
		wr_zeros(&w, 6);
	}
	WirePacket *p = dns_of((const char *)m, w.n, (const uint16_t[4]){ 1, RECORDS, 0, 0 });

	assert_string_equal(p->reason, "DNS records of more than 262144 bytes, expanded");
	p = dns_of((const char *)m, 255 + 4 + 12 * 900, (const uint16_t[4]){ 1, 900, 0, 0 });
	assert_null(p->reason);
	assert_int_equal(p->layer[2].var[1].n, 900 * (255 + 10));
}

static void test_dns_records(void **state)
{
	WirePacket *p = DNS_OF("\3www\4acme\0\0\1\0\1"
			       "\xc0\x0c\0\5\0\1\0\0\0\7\0\7\4mail\xc0\x10"
			       "\xc0\x26\0\x0f\0\1\0\0\0\7\0\4\0\x0a\xc0\x0c"
			       "\0\0\x29\x04\xd0\0\0\x80\0\0\6\0\x0a\0\2hi",
			       1, 2, 0, 1);
	Sb out = sb(&arena);

	(void)state;
	assert_null(p->reason);
	wire_field_text(&p->layer[2], F_DNS_QD, &out);
	wire_field_text(&p->layer[2], F_DNS_AN, &out);
	wire_field_text(&p->layer[2], F_DNS_AR, &out);
	assert_string_equal(sb_done(&out).p, "[www.acme. A][www.acme. CNAME 7 mail.acme., mail.acme. MX 7 "
					     "10 www.acme.][OPT size=1232]");
	Cursor c = cursor(p->layer[2].var[1]);
	WireLayer r;

	while (wire_record_next(WIRE_DNSRR, &c, &r)) { /* each is what it would be encoded as */
		Bytes again = wire_record_build(&r, &arena);

		assert_true(bytes_eq(again, BYTES(c.p + r.off, r.len)));
	}
	assert_int_equal(c.off, c.n);
	c = cursor(p->layer[2].var[3]);
	assert_true(wire_record_next(WIRE_DNSRR, &c, &r));
	assert_int_equal(r.proto->id, WIRE_DNSRROPT);
	assert_int_equal(wire_num(&r, F_DNSRROPT_Z), 0x8000);
}

static void test_dns_over_tcp(void **state)
{
	WirePacket *p = ip_tcp(), *q;

	(void)state;
	wire_set_num(&p->layer[1], F_TCP_DPORT, 53);
	wire_set_num(&p->layer[1], F_TCP_FLAGS, 0x18);
	wire_set_bytes(add(p, WIRE_DNS), F_DNS_QD, BYTES("\1a\0\0\1\0\1", 7));
	Bytes f = built(p);

	assert_int_equal(get_be16(f.p + 40), 19);
	q = parsed(f, WIRE_IP);
	assert_null(q->reason);
	assert_int_equal(q->layer[2].len, 21);
	assert_int_equal(wire_num(&q->layer[2], F_DNS_QDCOUNT), 1);
	uint8_t *more = arena_copy(&arena, f.p, f.n);

	put_be16(more + 40, 300);
	q = parsed(BYTES(more, f.n), WIRE_IP);
	assert_int_equal(q->n, 2);
	assert_string_equal(q->reason, "DNS over TCP: a message of 300 bytes, 19 of them are here");
}

static void test_dns_text(void **state)
{
	static const struct {
		uint16_t type;
		const char *text;
	} rows[] = {
		{ DNS_TYPE_A, "10.0.0.1" },
		{ DNS_TYPE_AAAA, "2001:db8::1" },
		{ DNS_TYPE_NS, "a.b." },
		{ DNS_TYPE_MX, "10 m.acme." },
		{ DNS_TYPE_SRV, "1 2 443 w.acme." },
		{ DNS_TYPE_CNAME, "a\\.b.c\\255." },
	};
	Bytes b;
	Sb out = sb(&arena);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Sb back = sb(&arena);

		assert_true(dns_rdata_from_text(rows[i].type, str_c(rows[i].text), &arena, &b));
		dns_rdata_text(rows[i].type, b, &back);
		assert_string_equal(sb_done(&back).p, rows[i].text);
	}
	assert_true(dns_rdata_from_text(DNS_TYPE_TXT, STR("say \"hi\""), &arena, &b));
	dns_rdata_text(DNS_TYPE_TXT, b, &out);
	assert_string_equal(sb_done(&out).p, "\"say \\\"hi\\\"\"");
	assert_false(dns_rdata_from_text(DNS_TYPE_A, STR("::1"), &arena, &b));
	assert_false(dns_rdata_from_text(DNS_TYPE_MX, STR("70000 a."), &arena, &b));
	assert_false(dns_name_from_text(STR("a..b"), &arena, &b));
	assert_false(dns_name_from_text(STR(".a"), &arena, &b));
	assert_false(dns_name_from_text(STR("a\\999"), &arena, &b));
	assert_true(dns_name_from_text(STR("."), &arena, &b) && b.n == 1);
	assert_true(dns_name_from_text(STR(""), &arena, &b) && b.n == 1);
	assert_true(dns_name_from_text(STR("a.b"), &arena, &b) && b.n == 5);
	assert_true(dns_name_from_text(STR("a.b."), &arena, &b) && b.n == 5);
	char label[66];

	memset(label, 'x', sizeof label);
	assert_true(dns_name_from_text((Str){ label, 63 }, &arena, &b) && b.n == 65);
	assert_false(dns_name_from_text((Str){ label, 64 }, &arena, &b));
	char name[256];

	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 64 == 63 ? '.' : 'x';
	assert_true(dns_name_from_text((Str){ name, 253 }, &arena, &b) && b.n == 255);
	assert_false(dns_name_from_text((Str){ name, 254 }, &arena, &b));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_compression_has_limits, fresh),
		cmocka_unit_test_setup(test_expansion_has_a_limit, fresh),
		cmocka_unit_test_setup(test_dns_records, fresh),
		cmocka_unit_test_setup(test_dns_over_tcp, fresh),
		cmocka_unit_test_setup(test_dns_text, fresh),
	};

	return cmocka_run_group_tests_name("wire dns", tests, NULL, NULL);
}
