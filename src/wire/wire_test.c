/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec by itself: tables that make sense, round trips, limits, and packets
 * whose lengths lie.  Agreement with other decoders is tests/wire's.
 */
#include "base/rng.h"
#include "wire/testing.h"

/* ---- tables ---- */

static bool overlap(const WireField *a, const WireField *b)
{
	if (!a->width || !b->width || (a->when && b->when && !(a->when & b->when)))
		return false;
	return a->bit < b->bit + b->width && b->bit < a->bit + a->width;
}

static void check_field(const WireProto *p, unsigned i)
{
	const WireField *f = &p->fields[i];
	bool is_var = false;

	assert_non_null(f->name);
	assert_non_null(f->doc);
	assert_int_equal(wire_field(p, str_c(f->name)), i); /* no name twice */
	assert_true(f->label == LABEL_MATCHED || f->label == LABEL_CONTENT);
	for (unsigned v = 0; v < p->nvars; v++)
		is_var = is_var || p->var[v] == i;
	assert_int_equal(is_var, f->width == 0);
	if (f->kind != FK_BYTES)
		assert_int_equal((f->kind >= FK_NAME && f->kind <= FK_RECORDS) || f->kind >= FK_OID, f->width == 0);
	assert_true(!f->distinct || f->computed);
	assert_true(!f->when || !f->dflt || f->bit + f->width <= 32); /* forms share the rest of the image */
	assert_true(f->bit + f->width <= p->fixed * 8);
	if (f->width && f->width < 64)
		assert_true(f->dflt >> f->width == 0);
	assert_true(!f->follows || f->computed);
	assert_true(!f->when || p->variant);
	for (unsigned k = 0; k < i; k++)
		assert_false(overlap(f, &p->fields[k]));
}

static void test_tables(void **state)
{
	(void)state;
	for (unsigned id = 0; id < WIRE_N; id++) {
		const WireProto *p = wire_proto((WireId)id);

		assert_int_equal(p->id, id);
		assert_ptr_equal(wire_proto_by_name(str_c(p->name)), p);
		assert_true(p->nfields <= WIRE_FIELDS && p->nvars <= WIRE_VARS);
		for (unsigned i = 0; i < p->nfields; i++)
			check_field(p, i);
		for (unsigned v = 1; v < p->nvars; v++)
			assert_true(p->var[v - 1] < p->var[v]);
		for (const WireOption *o = p->options; o && o->name; o++) {
			assert_ptr_equal(wire_option_by_kind(p, o->kind), o);
			assert_ptr_equal(wire_option_by_name(p, str_c(o->name)), o);
		}
	}
	assert_null(wire_proto(WIRE_N));
	assert_null(wire_proto_by_name(STR("Ipv6")));
}

static void test_names(void **state)
{
	const WireField *tcp = &wire_proto(WIRE_TCP)->fields[F_TCP_FLAGS];
	const WireField *ip = &wire_proto(WIRE_IP)->fields[F_IP_FLAGS];
	Sb out = sb(&arena);
	uint64_t v = 99;

	(void)state;
	assert_true(wire_name_value(tcp, STR("SA"), &v) && v == 0x12);
	assert_true(wire_name_value(tcp, STR("AS"), &v) && v == 0x12);
	assert_true(wire_name_value(tcp, STR(""), &v) && v == 0);
	assert_false(wire_name_value(tcp, STR("SX"), &v));
	assert_true(wire_name_value(ip, STR("MF+DF"), &v) && v == 3);
	assert_true(wire_name_value(ip, STR("DF"), &v) && v == 2);
	assert_false(wire_name_value(ip, STR("MFDF"), &v));
	assert_false(wire_name_value(ip, STR("MF+"), &v));
	assert_true(wire_name_value(&wire_proto(WIRE_DNSQR)->fields[F_DNSQR_QTYPE], STR("AAAA"), &v) &&
		    v == 28);
	wire_flags_text(tcp, 0x12, &out);
	sb_char(&out, ' ');
	wire_flags_text(ip, 3, &out);
	assert_string_equal(sb_done(&out).p, "SA MF+DF");
	assert_string_equal(wire_value_name(&wire_proto(WIRE_ICMP)->fields[0], 11), "time-exceeded");
	assert_null(wire_value_name(&wire_proto(WIRE_ICMP)->fields[0], 99));
}

static void test_values_must_fit(void **state)
{
	WireLayer l;

	(void)state;
	wire_layer_init(&l, wire_proto(WIRE_TCP), &arena);
	assert_int_equal(wire_num(&l, F_TCP_WINDOW), 65535);
	assert_int_equal(wire_num(&l, F_TCP_FLAGS), 2);
	assert_false(wire_set_num(&l, F_TCP_WINDOW, 65536));
	assert_false(wire_is_set(&l, F_TCP_WINDOW));
	assert_true(wire_set_num(&l, F_TCP_SEQ, UINT64_C(0x100000005))); /* serial: modulo */
	assert_int_equal(wire_num(&l, F_TCP_SEQ), 5);
	assert_true(wire_set_num(&l, F_TCP_WINDOW, 1));
	wire_unset(&l, F_TCP_WINDOW);
	assert_int_equal(wire_num(&l, F_TCP_WINDOW), 65535);
	assert_false(wire_set_bytes(&l, F_TCP_SEQ, BYTES("abcd", 4)));
}

/* ---- round trips ---- */

static const WireId stacks[][6] = {
	{ WIRE_ETHER, WIRE_ARP, WIRE_NONE },
	{ WIRE_ETHER, WIRE_DOT1Q, WIRE_DOT1Q, WIRE_IP, WIRE_UDP, WIRE_NONE },
	{ WIRE_IP, WIRE_TCP, WIRE_NONE },
	{ WIRE_IP, WIRE_ICMP, WIRE_NONE },
	{ WIRE_IP, WIRE_UDP, WIRE_DNS, WIRE_NONE },
	{ WIRE_IP, WIRE_TCP, WIRE_DNS, WIRE_NONE },
	{ WIRE_IPV6, WIRE_HOPOPT, WIRE_ROUTING, WIRE_DESTOPT, WIRE_TCP, WIRE_NONE },
	{ WIRE_IPV6, WIRE_FRAGMENT, WIRE_UDP, WIRE_NONE },
	{ WIRE_IPV6, WIRE_ICMPV6, WIRE_NONE },
	{ WIRE_IP, WIRE_IPV6, WIRE_IP, WIRE_UDP, WIRE_NONE },
};

/* Fields that say how to decode, which a round trip must leave alone. */
static bool is_structure(WireId id, unsigned i)
{
	const WireField *f = &wire_proto(id)->fields[i];
	static const struct {
		uint8_t id, field;
	} rows[] = {
		{ WIRE_ETHER, F_ETHER_TYPE },
		{ WIRE_DOT1Q, F_DOT1Q_TYPE },
		{ WIRE_IP, F_IP_VERSION },
		{ WIRE_IP, F_IP_PROTO },
		{ WIRE_IP, F_IP_FLAGS },
		{ WIRE_IP, F_IP_FRAG },
		{ WIRE_IPV6, F_IPV6_VERSION },
		{ WIRE_IPV6, F_IPV6_NH },
		{ WIRE_HOPOPT, F_EXTOPT_NH },
		{ WIRE_DESTOPT, F_EXTOPT_NH },
		{ WIRE_ROUTING, F_ROUTING_NH },
		{ WIRE_ROUTING, F_ROUTING_TYPE },
		{ WIRE_ROUTING, F_ROUTING_SEGLEFT },
		{ WIRE_FRAGMENT, F_FRAGMENT_NH },
		{ WIRE_FRAGMENT, F_FRAGMENT_OFFSET },
		{ WIRE_FRAGMENT, F_FRAGMENT_M },
		{ WIRE_ARP, F_ARP_HWLEN },
		{ WIRE_ARP, F_ARP_PLEN },
		{ WIRE_UDP, F_UDP_SPORT },
		{ WIRE_UDP, F_UDP_DPORT },
		{ WIRE_TCP, F_TCP_SPORT },
		{ WIRE_TCP, F_TCP_DPORT },
	};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		if (rows[k].id == id && rows[k].field == i)
			return true;
	return f->follows || !f->width;
}

static Bytes random_var(WireId id, uint64_t r)
{
	static const struct {
		uint8_t id;
		Bytes b;
	} rows[] = {
		{ WIRE_IP, { (const uint8_t *)"\x94\x04\0\0\x01", 5 } },
		{ WIRE_TCP, { (const uint8_t *)"\x02\x04\x05\xb4\x03\x03\x07", 7 } },
		{ WIRE_HOPOPT, { (const uint8_t *)"\x05\x02\0\0", 4 } },
		{ WIRE_ROUTING, { (const uint8_t *)"0123456789abcdef", 16 } },
		{ WIRE_DNS, { (const uint8_t *)"\1a\0\0\1\0\1", 7 } },
	};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		if (rows[k].id == id && (r & 1))
			return rows[k].b;
	return (Bytes){ 0 };
}

static void fill(WireLayer *l, uint64_t seed)
{
	WireId id = l->proto->id;
	static const uint8_t types[2][8] = { { 0, 3, 5, 8, 11, 12, 13, 17 },
					     { 128, 1, 2, 4, 133, 134, 136, 137 } };

	if (id == WIRE_ICMP || id == WIRE_ICMPV6)
		wire_set_num(l, 0, types[id == WIRE_ICMPV6][rng_below(rng_draw(seed, 99, 0), 8)]);
	for (unsigned i = 0; i < l->proto->nfields; i++) {
		const WireField *f = &l->proto->fields[i];
		uint64_t r = rng_draw(seed, id, i);

		if (is_structure(id, i) || !wire_has(l, i) || (l->proto->variant && i == 0))
			continue;
		if (f->kind == FK_IP6)
			wire_set_bytes(l, i, BYTES(arena_copy(&arena, (uint64_t[2]){ r, ~r }, 16), 16));
		else
			wire_set_num(l, i, f->width < 64 ? r & ((UINT64_C(1) << f->width) - 1) : r);
	}
	if (l->proto->nvars)
		wire_set_bytes(l, l->proto->var[0], random_var(id, rng_draw(seed, id, 77)));
	if (id == WIRE_TCP || id == WIRE_UDP)
		wire_set_num(l, F_UDP_DPORT, l[1].proto && l[1].proto->id == WIRE_DNS ? 53 : 33434);
}

static void same_packets(const WirePacket *a, const WirePacket *b)
{
	assert_int_equal(a->n, b->n);
	for (unsigned k = 0; k < a->n; k++) {
		const WireLayer *x = &a->layer[k], *y = &b->layer[k];

		assert_ptr_equal(x->proto, y->proto);
		assert_int_equal(x->off, y->off);
		assert_int_equal(x->len, y->len);
		assert_int_equal(x->set, y->set);
		for (unsigned i = 0; i < x->proto->nfields; i++) {
			if (!wire_is_set(x, i))
				continue;
			assert_true(wire_num(x, i) == wire_num(y, i));
			assert_true(x->proto->fields[i].width ||
				    bytes_eq(wire_bytes(x, i), wire_bytes(y, i)));
		}
	}
	assert_true(bytes_eq(a->payload, b->payload));
}

/* What was set is found again; what the encoder says it sent is what the decoder sees. */
static void test_round_trips(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		const WireId *ids = stacks[seed % (sizeof stacks / sizeof *stacks)];
		WirePacket *p, *sent, *got;
		Bytes frame;

		fresh(NULL);
		p = packet();
		sent = packet();
		for (unsigned i = 0; i < 6 && ids[i] != WIRE_NONE; i++)
			add(p, ids[i]);
		for (unsigned i = 0; i < p->n; i++)
			fill(&p->layer[i], seed * 8 + i);
		bool carries = p->layer[p->n - 1].proto->role == ROLE_TRANSPORT &&
			       p->layer[p->n - 1].proto->id != WIRE_ICMPV6;

		p->payload = BYTES("payload", carries ? seed % 8 : 0);
		assert_null(wire_build(p, &arena, &frame, sent));
		frame = own(frame);
		got = parsed(frame, ids[0]);
		if (got->reason)
			fail_msg("seed %u: %s", (unsigned)seed, got->reason);
		same_packets(sent, got);
		for (unsigned k = 0; k < p->n; k++) {
			assert_int_not_equal(wire_check(got, k), CSUM_BAD);
			for (unsigned i = 0; i < p->layer[k].proto->nfields; i++)
				if (wire_is_set(&p->layer[k], i))
					assert_true(wire_num(&p->layer[k], i) == wire_num(&got->layer[k], i));
		}
		disown(frame);
	}
}

/* ---- what is derived ---- */

/* Checksums with pseudo headers that Scapy computed. */
static void test_checksums_of_others(void **state)
{
	WirePacket *p = ip_udp(5), *q = packet();
	Bytes f = built(p);

	(void)state;
	assert_int_equal(get_be16(f.p + 10), 0x66c3);
	assert_int_equal(get_be16(f.p + 26), 0xa2da);
	wire_set_bytes(add(q, WIRE_IPV6), F_IPV6_SRC, BYTES("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16));
	wire_set_bytes(&q->layer[0], F_IPV6_DST, BYTES("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2", 16));
	wire_set_num(add(q, WIRE_TCP), F_TCP_DPORT, 80);
	wire_set_num(&q->layer[1], F_TCP_SPORT, 40000);
	wire_set_num(&q->layer[1], F_TCP_FLAGS, 0x10);
	f = built(q);
	assert_int_equal(get_be16(f.p + 56), 0xb7cf);
	q->layer[1] = (WireLayer){ 0 };
	q->n = 1;
	wire_set_num(add(q, WIRE_ICMPV6), F_ICMPV6_SEQ, 3);
	f = built(q);
	assert_int_equal(get_be16(f.p + 42), 0x2445);
}

static void test_checksum_by_the_book(void **state)
{
	static const uint8_t example[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 }; /* RFC 1071 3 */
	static const uint8_t header[] = { 0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0,
					  0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7 };

	(void)state;
	assert_int_equal(wire_csum_fold(wire_csum(0, BYTES(example, 8))), (uint16_t)~0xddf2);
	assert_int_equal(wire_csum_fold(wire_csum(0, BYTES(header, 20))), 0xb861);
	for (size_t cut = 0; cut <= 8; cut += 2) /* in parts as in one */
		assert_int_equal(wire_csum_fold(wire_csum(wire_csum(0, BYTES(example, cut)),
							  BYTES(example + cut, 7 - (cut < 7 ? cut : 7)))),
				 wire_csum_fold(wire_csum(0, BYTES(example, cut < 7 ? 7 : 8))));
}

static void test_udp_zero_is_sent_as_ones(void **state)
{
	WirePacket *p = ip_udp(2);
	Bytes plain = built(p);
	uint16_t sum = get_be16(plain.p + 26);
	uint8_t *payload = arena_copy(&arena, p->payload.p, 2);

	(void)state;
	put_be16(payload, (uint16_t)(get_be16(payload) + sum)); /* now it would come out as 0 */
	p->payload = BYTES(payload, 2);
	Bytes f = built(p);

	if (get_be16(f.p + 26) != 0xffff) { /* a carry: one more */
		put_be16(payload, (uint16_t)(get_be16(payload) + 1));
		f = built(p);
	}
	assert_int_equal(get_be16(f.p + 26), 0xffff);
	assert_int_equal(wire_check(parsed(f, WIRE_IP), 1), CSUM_GOOD);
}

static void test_set_fields_go_as_set(void **state)
{
	WirePacket *p = ip_udp(4), *q;

	(void)state;
	wire_set_num(&p->layer[0], F_IP_IHL, 15);
	wire_set_num(&p->layer[0], F_IP_CHKSUM, 0xdead);
	wire_set_num(&p->layer[1], F_UDP_LEN, 3);
	Bytes f = built(p);

	assert_int_equal(f.p[0], 0x4f);
	assert_int_equal(get_be16(f.p + 10), 0xdead);
	assert_int_equal(get_be16(f.p + 24), 3);
	assert_int_equal(f.n, 32);
	q = parsed(f, WIRE_IP);
	assert_int_equal(q->n, 0);
	assert_non_null(strstr(q->reason, "IP total length 32 is below the header's 60"));
}

static void test_a_syn_looks_like_a_hosts(void **state)
{
	WirePacket *p = ip_tcp(), *q = parsed(built(p), WIRE_IP);
	Sb out = sb(&arena);

	(void)state;
	wire_field_text(&q->layer[1], F_TCP_OPTIONS, &out);
	assert_string_equal(sb_done(&out).p, "[MSS(1460), SAckOK(), Timestamp(5, 0), NOP(), WScale(7)]");
	p->payload = BYTES("x", 1);
	assert_int_equal(parsed(built(p), WIRE_IP)->layer[1].len, 20);
	p->payload = (Bytes){ 0 };
	wire_set_num(&p->layer[1], F_TCP_FLAGS, 0x10);
	assert_int_equal(parsed(built(p), WIRE_IP)->layer[1].len, 20);
}

static void test_what_cannot_be_encoded(void **state)
{
	WirePacket *p = ip_udp(65535 - 27);
	Bytes f;

	(void)state;
	assert_string_equal(wire_build(p, &arena, &f, NULL), "IP total length of 65536: the most is 65535");
	p = ip_udp(70000);
	assert_non_null(strstr(wire_build(p, &arena, &f, NULL), "the most is 65535"));
	p = ip_tcp();
	wire_set_bytes(&p->layer[1], F_TCP_OPTIONS, BYTES(arena_alloc(&arena, 41), 41));
	assert_string_equal(wire_build(p, &arena, &f, NULL), "TCP options of 44 bytes: the most is 40");
	p = packet();
	add(p, WIRE_IP);
	wire_set_num(add(p, WIRE_ICMP), F_ICMP_TS_ORI, 1);
	assert_string_equal(wire_build(p, &arena, &f, NULL), "ICMP type 8 has no field ts_ori");
}

static void test_a_changed_copy_is_derived_anew(void **state)
{
	WirePacket *p = parsed(built(ip_udp(9)), WIRE_IP);

	(void)state;
	for (unsigned i = 0; i < p->n; i++) {
		WireLayer l;

		wire_layer_copy(&l, &p->layer[i], &arena);
		wire_rederive(&l);
		p->layer[i] = l;
	}
	p->payload.n = 5;
	wire_set_num(&p->layer[0], F_IP_TTL, 3);
	WirePacket *q = parsed(built(p), WIRE_IP);

	assert_null(q->reason);
	assert_int_equal(wire_num(&q->layer[0], F_IP_TTL), 3);
	assert_int_equal(wire_num(&q->layer[1], F_UDP_LEN), 13);
	assert_int_equal(wire_num(&q->layer[0], F_IP_ID), 7);
	assert_int_equal(wire_check(q, 0), CSUM_GOOD);
	assert_int_equal(wire_check(q, 1), CSUM_GOOD);
}

/* ---- lengths that lie ---- */

static void accounted(const WirePacket *p, Bytes frame)
{
	size_t n = p->payload.n + p->padding.n;

	for (unsigned i = 0; i < p->n; i++)
		n += p->layer[i].len;
	assert_int_equal(n, frame.n);
}

/* Each frame cut at each byte, and with each of its bytes at its extremes. */
static void test_nothing_reads_behind_the_end(void **state)
{
	(void)state;
	for (unsigned s = 0; s < sizeof stacks / sizeof *stacks; s++) {
		WirePacket *p;

		fresh(NULL);
		p = packet();
		for (unsigned i = 0; i < 6 && stacks[s][i] != WIRE_NONE; i++)
			add(p, stacks[s][i]);
		for (unsigned i = 0; i < p->n; i++)
			fill(&p->layer[i], s * 31 + 1);
		p->payload = BYTES("0123456789", p->layer[p->n - 1].proto->id == WIRE_UDP ? 10 : 0);
		Bytes whole = built(p);
		size_t mark = arena_mark(&arena);

		for (size_t n = 0; n < whole.n; n++) {
			Bytes cut = own(bytes_slice(whole, 0, n));
			WirePacket *q = parsed(cut, stacks[s][0]);
			Sb out = sb(&arena);

			accounted(q, cut);
			assert_non_null(q->reason);
			wire_show(q, &out);
			disown(cut);
			arena_reset(&arena, mark);
		}
		for (size_t n = 0; n < whole.n * 4; n++) {
			Bytes bent = own(whole);
			uint8_t *at = (uint8_t *)(uintptr_t)bent.p + n / 4;

			*at = (uint8_t)(n % 4 == 0   ? 0
					: n % 4 == 1 ? 255
					: n % 4 == 2 ? *at + 1
						     : *at ^ 0xf0);
			WirePacket *q = parsed(bent, stacks[s][0]);
			Sb out = sb(&arena);

			accounted(q, bent);
			wire_show(q, &out);
			wire_summary(q, &out);
			disown(bent);
			arena_reset(&arena, mark);
		}
	}
}

static const struct {
	uint8_t at, value;
	const char *reason;
} lies[] = {
	{ 0, 0x44, "IP header length 4 is below 5" },
	{ 0, 0x65, "IP version 6 is not 4" },
	{ 0, 0x4f, "IP total length 38 is below the header's 60" },
	{ 3, 19, "IP total length 19 is below the header's 20" },
	{ 3, 39, "IP total length 39, 38 bytes are there" },
	{ 3, 27, "UDP header needs 8 bytes, 7 are there" },
	{ 9, 50, "IP protocol 50 esp is not decoded" },
	{ 7, 1, "a fragment at offset 8: what it carries starts in the first one" },
	{ 25, 7, "UDP length 7 is below 8" },
	{ 25, 19, "UDP length 19, 18 bytes are there" },
	{ 25, 17, "UDP length 17 leaves 1 bytes of the packet over" },
};

static void test_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		Bytes f = own(built(ip_udp(10)));

		((uint8_t *)(uintptr_t)f.p)[lies[i].at] = lies[i].value;
		WirePacket *p = parsed(f, WIRE_IP);

		assert_non_null(p->reason);
		assert_string_equal(p->reason, lies[i].reason);
		accounted(p, f);
		disown(f);
	}
	Bytes f = own(built(ip_tcp()));

	((uint8_t *)(uintptr_t)f.p)[32] = 0x30;
	assert_string_equal(parsed(f, WIRE_IP)->reason, "TCP data offset 3 is below 5");
	((uint8_t *)(uintptr_t)f.p)[32] = 0xb0;
	assert_string_equal(parsed(f, WIRE_IP)->reason, "TCP header of 44 bytes, 40 are there");
	disown(f);
}

static void test_layers_have_a_limit(void **state)
{
	uint8_t tags[14 + 4 * 40] = { [12] = 0x81 };

	(void)state;
	for (size_t i = 14; i + 4 <= sizeof tags; i += 4)
		tags[i + 2] = 0x81;
	WirePacket *p = parsed(BYTES(tags, sizeof tags), WIRE_ETHER);

	assert_int_equal(p->n, LIMIT_LAYERS);
	assert_string_equal(p->reason, "more than 24 layers");
}

static void test_fragments_have_no_transport(void **state)
{
	WirePacket *p = ip_udp(40);

	(void)state;
	wire_set_num(&p->layer[0], F_IP_FLAGS, 1);
	WirePacket *q = parsed(built(p), WIRE_IP);

	assert_int_equal(q->n, 2); /* the first one has it */
	assert_null(q->reason);
	assert_int_equal(wire_check(q, 1), CSUM_UNKNOWN);
	wire_set_num(&p->layer[0], F_IP_FRAG, 5);
	q = parsed(built(p), WIRE_IP);
	assert_int_equal(q->n, 1);
	assert_int_equal(q->payload.n, 48);
	assert_non_null(q->reason);
}

/* ---- quotes ---- */

static WirePacket *error_about(Bytes quote, WireId ip, WireId icmp, uint64_t type)
{
	WirePacket *p = packet();

	add(p, ip);
	wire_set_num(add(p, icmp), 0, type);
	p->payload = quote;
	return parsed(built(p), ip);
}

static void test_quotes_may_end_early(void **state)
{
	Bytes inner = built(ip_tcp());
	WirePacket *q = packet();

	(void)state;
	for (size_t n = 0; n <= inner.n; n++) {
		WirePacket *e = error_about(bytes_slice(inner, 0, n), WIRE_IP, WIRE_ICMP, 11);

		assert_true(wire_quoted(e, &arena, q));
		assert_int_equal(q->n, n > 20 ? 2 : n == 20 ? 1 : 0);
		if (n <= 20)
			continue;
		assert_int_equal(wire_is_set(&q->layer[1], F_TCP_SPORT), n >= 22);
		assert_int_equal(wire_is_set(&q->layer[1], F_TCP_SEQ), n >= 28);
		assert_int_equal(wire_is_set(&q->layer[1], F_TCP_WINDOW), n >= 36);
		assert_int_equal(wire_is_set(&q->layer[1], F_TCP_OPTIONS), n == inner.n);
		assert_int_equal(wire_num(&q->layer[1], F_TCP_SEQ),
				 n >= 28   ? 5
				 : n == 27 ? 0
					   : wire_num(&q->layer[1], F_TCP_SEQ));
		if (n >= 24)
			assert_int_equal(wire_num(&q->layer[1], F_TCP_DPORT), 80);
	}
	assert_false(wire_quoted(parsed(inner, WIRE_IP), &arena, q));
	assert_false(wire_quoted(error_about(inner, WIRE_IP, WIRE_ICMP, 8), &arena, q));
	assert_true(wire_quoted(error_about(inner, WIRE_IPV6, WIRE_ICMPV6, 3), &arena, q));
	assert_non_null(q->reason); /* an IPv4 packet there is no IPv6 packet */
}

/* ---- options ---- */

static void test_options(void **state)
{
	static const WireId ids[] = { WIRE_TCP, WIRE_HOPOPT, WIRE_ICMPV6, WIRE_DNSRROPT };
	WireOpt o;
	bool bad;

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const WireProto *p = wire_proto(ids[i]);
		Sb out = sb(&arena);

		assert_true(wire_option_put(p, 5, BYTES("abcdef", 6), &out));
		assert_true(wire_option_put(p, 8, (Bytes){ 0 }, &out));
		Cursor c = cursor(str_bytes(sb_done(&out)));

		assert_true(wire_option_next(p, &c, &o, &bad));
		assert_int_equal(o.kind, 5);
		assert_memory_equal(o.data.p, "abcdef", 6);
		assert_true(wire_option_next(p, &c, &o, &bad));
		assert_int_equal(o.kind, 8);
		assert_false(wire_option_next(p, &c, &o, &bad));
		assert_false(bad);
	}
	static const char *const broken[] = { "\2", "\2\1", "\2\0", "\2\5ab", "\1\1\2" };

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		Cursor c = cursor(BYTES(broken[i], strlen(broken[i]) + (i == 2)));

		while (wire_opt_next(&c, &o, &bad))
			;
		assert_true(bad);
	}
	Sb out = sb(&arena);

	assert_false(wire_option_put(wire_proto(WIRE_TCP), 1, BYTES("x", 1), &out));
	assert_false(wire_option_put(wire_proto(WIRE_TCP), 300, (Bytes){ 0 }, &out));
	assert_false(wire_option_put(wire_proto(WIRE_UDP), 2, (Bytes){ 0 }, &out));
	assert_int_equal(out.n, 0);
}

/* ---- printing ---- */

static void test_summary(void **state)
{
	WirePacket *p = ip_tcp();
	Sb out = sb(&arena);

	(void)state;
	wire_set_num(&p->layer[1], F_TCP_FLAGS, 0x12);
	wire_set_num(&p->layer[1], F_TCP_ACK, 2);
	wire_set_bytes(&p->layer[1], F_TCP_OPTIONS, (Bytes){ 0 });
	wire_summary(parsed(built(p), WIRE_IP), &out);
	assert_string_equal(sb_done(&out).p, "IP 10.0.0.1 > 10.0.0.2 / TCP 40000 > 80 SA seq=5 ack=2");
	out = sb(&arena);
	wire_summary(error_about(built(ip_udp(3)), WIRE_IP, WIRE_ICMP, 3), &out);
	assert_string_equal(sb_done(&out).p,
			    "IP 0.0.0.0 > 0.0.0.0 / ICMP dest-unreach/network-unreachable / 31 bytes");
	out = sb(&arena);
	wire_show(p, &out);
	assert_non_null(strstr(sb_done(&out).p, "###[ TCP ]###\n  sport         = 40000\n"));
	assert_non_null(strstr(sb_done(&out).p, "  flags         = SA\n"));
	assert_non_null(strstr(sb_done(&out).p, "  chksum        = -\n"));
	out = sb(&arena);
	wire_doc(WIRE_TCP, &out);
	assert_non_null(strstr(sb_done(&out).p, "window         int       16  65535"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tables, fresh),
		cmocka_unit_test_setup(test_names, fresh),
		cmocka_unit_test_setup(test_values_must_fit, fresh),
		cmocka_unit_test_setup(test_round_trips, fresh),
		cmocka_unit_test_setup(test_checksum_by_the_book, fresh),
		cmocka_unit_test_setup(test_checksums_of_others, fresh),
		cmocka_unit_test_setup(test_udp_zero_is_sent_as_ones, fresh),
		cmocka_unit_test_setup(test_set_fields_go_as_set, fresh),
		cmocka_unit_test_setup(test_a_syn_looks_like_a_hosts, fresh),
		cmocka_unit_test_setup(test_what_cannot_be_encoded, fresh),
		cmocka_unit_test_setup(test_a_changed_copy_is_derived_anew, fresh),
		cmocka_unit_test_setup(test_nothing_reads_behind_the_end, fresh),
		cmocka_unit_test_setup(test_reasons, fresh),
		cmocka_unit_test_setup(test_layers_have_a_limit, fresh),
		cmocka_unit_test_setup(test_fragments_have_no_transport, fresh),
		cmocka_unit_test_setup(test_quotes_may_end_early, fresh),
		cmocka_unit_test_setup(test_options, fresh),
		cmocka_unit_test_setup(test_summary, fresh),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
