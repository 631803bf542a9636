/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and manifests: every one comes back as it went, and nothing else is
 * taken for one.
 */
#include "base/rng.h"
#include "base/limits.h"
#include "base/units.h"
#include "deal/manifest_codec.h"
#include "deal/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint8_t memory[16 << 20];
static uint8_t buf[1 << 17], again[1 << 17];

static Arena fresh(void)
{
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	return a;
}

/* ---- messages ---- */

static uint64_t salt;

static uint64_t draw(void)
{
	return rng_draw(7, 1, salt++);
}

static uint8_t fill_u8(void)
{
	return (uint8_t)draw();
}

static uint16_t fill_u16(void)
{
	return (uint16_t)draw();
}

static uint32_t fill_u32(void)
{
	return (uint32_t)draw();
}

static uint64_t fill_u64(void)
{
	return draw();
}

static int64_t fill_i64(void)
{
	return (int64_t)draw();
}

static Bytes fill_bytes(void)
{
	static const uint8_t data[64] = "what a field of bytes may hold, zeros \0 and \xff too";

	return BYTES(data + draw() % 8, draw() % 56);
}

static Ip fill_ip(void)
{
	static const uint8_t b[16] = { 0x20, 1, 0xd, 0xb8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0xff, 0xfe };
	static const uint8_t families[] = { 0, 4, 6 };
	uint8_t v = families[draw() % 3];

	return v ? ip_from(v, b) : (Ip){ 0 };
}

#define same_u8(a, b) assert_int_equal(a, b)
#define same_u16(a, b) assert_int_equal(a, b)
#define same_u32(a, b) assert_int_equal(a, b)
#define same_u64(a, b) assert_true((a) == (b))
#define same_i64(a, b) assert_true((a) == (b))
#define same_bytes(a, b) assert_true(bytes_eq(a, b))
#define same_ip(a, b) assert_true(ip_eq(a, b))

static Msg fill_msg(MsgType t)
{
	Msg m = { .type = t };

	switch (t) {
#define F(kind, name) s->name = fill_##kind();
#define FILL_(id, dir, name, fields)           \
	case MSG_##id: {                       \
		__typeof__(m.name) *s = &m.name; \
		fields break;                  \
	}
		DEAL_MSGS(FILL_)
#undef F
	default:
		fail();
	}
	return m;
}

static void same_msg(const Msg *a, const Msg *b)
{
	assert_int_equal(a->type, b->type);
	switch (a->type) {
#define F(kind, name) same_##kind(s->name, t->name);
#define SAME_(id, dir, name, fields)                                     \
	case MSG_##id: {                                                 \
		const __typeof__(a->name) *s = &a->name, *t = &b->name;  \
		fields break;                                            \
	}
		DEAL_MSGS(SAME_)
#undef F
	default:
		fail();
	}
}

#define F(kind, name)
#define DIRECTION_(id, dir, name, fields) [MSG_##id] = (dir),
static const char direction[MSG_N] = { DEAL_MSGS(DIRECTION_) };
#undef F

static void each_message_comes_back(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		Writer w = writer(buf, sizeof buf);
		Msg sent[MSG_N], got;

		for (MsgType t = 1; t < MSG_N; t++) {
			sent[t] = fill_msg(t);
			assert_true(msg_put(&w, &sent[t]));
		}
		Cursor c = cursor(wr_done(&w));

		for (MsgType t = 1; t < MSG_N; t++) {
			assert_int_equal(msg_get(&c, direction[t], &got), MSG_OK);
			same_msg(&sent[t], &got);
		}
		assert_int_equal(msg_get(&c, 'E', &got), MSG_EMPTY);
	}
}

static void wrong_directions_are_refused(void **state)
{
	(void)state;
	for (MsgType t = 1; t < MSG_N; t++)
		for (const char *d = "EGOPX"; *d; d++) {
			Writer w = writer(buf, sizeof buf);
			Msg m = fill_msg(t), got;

			assert_true(msg_put(&w, &m));
			Cursor c = cursor(wr_done(&w));

			assert_int_equal(msg_get(&c, *d, &got), *d == direction[t] ? MSG_OK : MSG_BAD);
		}
}

/* A message that is cut, or whose length says more or less than it is, is none; and
 * what follows a bad one is lost, as where it would begin is not known. */
static void cut_messages_are_refused(void **state)
{
	(void)state;
	for (MsgType t = 1; t < MSG_N; t++) {
		Writer w = writer(buf, sizeof buf);
		Msg m = fill_msg(t), got;

		assert_true(msg_put(&w, &m));
		size_t whole = w.n;

		for (size_t n = 1; n < whole; n++) {
			Cursor c = cursor(BYTES(buf, n));

			assert_int_equal(msg_get(&c, direction[t], &got), MSG_BAD);
			assert_int_equal(msg_get(&c, direction[t], &got), MSG_BAD);
		}
		for (size_t n = 0; n < whole - 4; n++) {
			put_be32(buf, (uint32_t)n);
			Cursor c = cursor(BYTES(buf, whole));

			assert_int_equal(msg_get(&c, direction[t], &got), MSG_BAD);
		}
		buf[whole] = 0;
		put_be32(buf, (uint32_t)(whole - 3));
		Cursor c = cursor(BYTES(buf, whole + 1));

		assert_int_equal(msg_get(&c, direction[t], &got), MSG_BAD);
	}
}

static void unknown_messages_are_refused(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		uint8_t bytes[] = { 0, 0, 0, 1, (uint8_t)type };
		Msg got;

		if (type > 0 && type < MSG_N)
			continue;
		for (const char *d = "EGOP"; *d; d++) {
			Cursor c = cursor(BYTES(bytes, sizeof bytes));

			assert_int_equal(msg_get(&c, *d, &got), MSG_BAD);
		}
	}
	Writer w = writer(buf, sizeof buf);

	assert_false(msg_put(&w, &(Msg){ .type = MSG_NONE }));
	assert_int_equal(w.n, 0);
}

static void addresses_of_other_families_are_refused(void **state)
{
	(void)state;
	Writer w = writer(buf, sizeof buf);
	Msg m = { .type = MSG_ROUTE, .route = { .dst = ip4(0x0a000001) } }, got;

	assert_true(msg_put(&w, &m));
	for (unsigned v = 0; v < 256; v++) {
		buf[9] = (uint8_t)v;
		Cursor c = cursor(wr_done(&w));

		assert_int_equal(msg_get(&c, 'E', &got), v == 4 ? MSG_OK : MSG_BAD);
	}
}

static void full_writer_keeps_whole_messages_only(void **state)
{
	(void)state;
	Msg m = { .type = MSG_NOTSENT, .notsent = { .detail = BYTES("abc", 3) } };

	for (size_t cap = 0; cap < 20; cap++) {
		Writer w = writer(buf, cap);

		/* 4 length, 1 type, 4 id, 1 reason, 4 + 3 bytes */
		assert_int_equal(msg_put(&w, &m), cap >= 17);
		assert_int_equal(w.n, cap >= 17 ? 17 : 0);
		assert_false(w.full);
	}
	static const uint8_t big[LIMIT_MSG + 1];
	Writer w = writer(buf, sizeof buf);

	m.notsent.detail = BYTES(big, sizeof big);
	assert_false(msg_put(&w, &m));
}

/* Random bytes and random changes: no crash, and what is taken has these bytes only. */
static void garbage_is_no_message(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		Writer w = writer(buf, 4096), out = writer(again, 4096);
		Msg m = fill_msg(1 + (MsgType)(draw() % (MSG_N - 1))), got;

		assert_true(msg_put(&w, &m));
		for (uint64_t k = draw() % 4; k > 0; k--)
			buf[draw() % w.n] = (uint8_t)draw();
		Cursor c = cursor(BYTES(buf, w.n));

		if (msg_get(&c, "EGOP"[draw() % 4], &got) != MSG_OK)
			continue;
		assert_true(msg_put(&out, &got));
		assert_int_equal(out.n, c.off);
		assert_memory_equal(buf, again, out.n);
	}
}

static void texts_are_there(void **state)
{
	(void)state;
	for (NotSent r = 0; r < NOTSENT_N; r++)
		assert_true(strlen(notsent_text(r)) > 3);
	for (StampSource s = 0; s < STAMP_N; s++)
		assert_true(strlen(stamp_text(s)) > 3);
	assert_string_equal(msg_name(MSG_EMIT), "EMIT");
	assert_string_equal(msg_name(MSG_N), "?");
	assert_string_equal(notsent_text(NOTSENT_N), "?");
}

/* ---- manifest ---- */

static Ip ip(const char *z)
{
	Ip r = { 0 };

	assert_true(ip_parse(str_c(z), &r));
	return r;
}

static Target range(const char *lo, const char *hi)
{
	return (Target){ .lo = ip(lo), .hi = ip(hi) };
}

static PortSet ports(Arena *a, uint16_t lo, uint16_t hi)
{
	PortSet s = { 0 };

	ports_add(a, &s, lo, hi);
	return s;
}

static void sample_decls(Arena *a, Decls *d)
{
	Reach r = { .target = range("10.0.0.0", "10.255.255.255"), .icmp = true, .words = 1u << WORD_FRAGMENTS };

	d->budget.declared = 1u << BOUND_PACKETS | 1u << BOUND_TIME | 1u << BOUND_LEAK;
	d->budget.v[BOUND_PACKETS] = 700;
	d->budget.v[BOUND_TIME] = 200 * NS_PER_S;
	d->budget.span[BOUND_TIME] = (Span){ 40, 48 };
	r.tcp = ports(a, 80, 80);
	ports_add(a, &r.tcp, 8000, 8100);
	vec_push(a, &r.vlan, 10);
	vec_push(a, &r.other, 89);
	vec_push(a, &d->reach, r);
	vec_push(a, &d->reach, (Reach){ .target = { .name = STR("db.acme.corp") }, .alone = true });
	vec_push(a, &d->deny, (Reach){ .target = range("fd00::1", "fd00::ffff"), .all_udp = true });
	vec_push(a, &d->spoof, (SpoofDecl){ .lo = ip("10.20.4.1"), .hi = ip("10.20.4.1"), .rate = 100, .max = 250 });
	vec_push(a, &d->spoof, (SpoofDecl){ .is_mac = true, .mac = { { 2, 0, 0, 0, 0, 1 } } });
	vec_push(a, &d->reflect, (ReflectDecl){ STR("IP.dst"), range("10.0.0.1", "10.0.0.1"),
						range("10.0.0.2", "10.0.0.2"), 64, { 1, 2 } });
	vec_push(a, &d->capture, (CaptureDecl){ .filter = STR("udp port 53") });
	vec_push(a, &d->listen, (ListenDecl){ 8080, range("10.20.0.0", "10.20.255.255"), { 0, 0 } });
	d->zone_set = true;
	vec_push(a, &d->zones, STR("acme.corp"));
	vec_push(a, &d->resolvers, ip("10.0.0.53"));
	d->approve = APPROVE_SPOOF | APPROVE_CAPTURE;
	d->approve_leak = 512;
	d->approve_runs = 7;
	vec_push(a, &d->approve_reach, range("10.9.0.0", "10.9.255.255"));
	vec_push(a, &d->may_follow, range("10.1.0.0", "10.1.255.255"));
	vec_push(a, &d->may_follow, range("10.2.0.0", "10.2.255.255"));
	vec_push(a, &d->allow_self, range("127.0.0.1", "127.0.0.1"));
	d->file = STR("/etc/sonde/p\xc3\xb6licy.sonde");
}

static Manifest sample(Arena *a)
{
	Manifest m = { .worst = { .packets = 250, .syn = UINT64_MAX, .least_packets = 3, .connections = true } };
	Emission e = { .peer = range("10.0.0.1", "10.0.0.9"), .proto = 17, .src_set = true, .ether = true };

	sample_decls(a, &m.decls);
	e.dports = ports(a, 33434, 33500);
	e.sports = ports(a, 40000, 40000);
	e.src_lo = e.src_hi = ip("10.20.4.1");
	e.span = (Span){ 100, 65000 };
	vec_push(a, &m.emit, e);
	vec_push(a, &m.emit, (Emission){ .peer = { .name = STR("www.acme.corp") }, .proto = 6, .dports_all = true });
	vec_push(a, &m.emit, (Emission){ .proto = 0 });
	vec_push(a, &m.names, STR("www.acme.corp"));
	vec_push(a, &m.ifaces, STR("eth0"));
	vec_push(a, &m.filters, STR("src host 10.20.3.4"));
	vec_push(a, &m.local, (LocalQuestion){ .kind = LOCAL_ROUTE, .dst = ip("10.0.0.1") });
	vec_push(a, &m.local, (LocalQuestion){ .kind = LOCAL_INTERFACES });
	m.uses_resolver = true;
	return m;
}

/* What the codec could leave out unseen is compared by hand. */
static void manifest_comes_back(void **state)
{
	(void)state;
	Arena a = fresh();
	Manifest m = sample(&a), got;
	Writer w = writer(buf, sizeof buf), w2 = writer(again, sizeof again);

	assert_true(manifest_encode(&m, &w));
	assert_null(manifest_decode(wr_done(&w), &a, &got));
	assert_true(manifest_encode(&got, &w2));
	assert_true(bytes_eq(wr_done(&w), wr_done(&w2)));
	memset(buf, 0xaa, w.n); /* the result owns nothing of its bytes */

	const Decls *d = &got.decls;

	assert_int_equal(d->budget.v[BOUND_TIME], 200 * NS_PER_S);
	assert_int_equal(d->budget.span[BOUND_TIME].to, 48);
	assert_int_equal(d->reach.n, 2);
	assert_true(ports_have(&d->reach.p[0].tcp, 8050) && ports_have(&d->reach.p[0].tcp, 80));
	assert_int_equal(d->reach.p[0].vlan.p[0], 10);
	assert_int_equal(d->reach.p[0].other.p[0], 89);
	assert_int_equal(d->reach.p[0].words, 1u << WORD_FRAGMENTS);
	assert_true(str_is(d->reach.p[1].target.name, "db.acme.corp") && d->reach.p[1].alone);
	assert_true(d->deny.p[0].all_udp && ip_eq(d->deny.p[0].target.hi, ip("fd00::ffff")));
	assert_int_equal(d->spoof.p[0].max, 250);
	assert_true(d->spoof.p[1].is_mac && d->spoof.p[1].mac.b[5] == 1);
	assert_int_equal(d->reflect.p[0].max, 64);
	assert_true(str_is(d->capture.p[0].filter, "udp port 53"));
	assert_int_equal(d->listen.p[0].port, 8080);
	assert_true(str_is(d->zones.p[0], "acme.corp") && d->zone_set && !d->zone_all);
	assert_int_equal(d->approve_leak, 512);
	assert_int_equal(d->approve_runs, 7);
	assert_int_equal(d->may_follow.n, 2);
	assert_true(str_is(d->file, "/etc/sonde/p\xc3\xb6licy.sonde"));
	assert_int_equal(got.emit.p[0].span.to, 65000);
	assert_true(got.emit.p[0].ether && got.emit.p[0].src_set && got.emit.p[1].dports_all);
	assert_int_equal(got.emit.p[2].peer.lo.v, 0);
	assert_int_equal(got.local.p[0].kind, LOCAL_ROUTE);
	assert_true(got.worst.syn == UINT64_MAX && got.worst.connections && got.uses_resolver);
}

static void decls_come_back(void **state)
{
	(void)state;
	Arena a = fresh();
	Decls d = { 0 }, got;
	Writer w = writer(buf, sizeof buf);
	Manifest m;

	sample_decls(&a, &d);
	assert_true(decls_encode(&d, &w));
	assert_null(decls_decode(wr_done(&w), &a, &got));
	assert_int_equal(got.budget.v[BOUND_PACKETS], 700);
	assert_non_null(manifest_decode(wr_done(&w), &a, &m)); /* another format */
}

static void cut_manifests_are_refused(void **state)
{
	(void)state;
	Arena a = fresh();
	Manifest m = sample(&a), got;
	Writer w = writer(buf, sizeof buf);

	assert_true(manifest_encode(&m, &w));
	for (size_t n = 0; n < w.n; n++)
		assert_non_null(manifest_decode(BYTES(buf, n), &a, &got));
	buf[w.n] = 0;
	assert_non_null(manifest_decode(BYTES(buf, w.n + 1), &a, &got));
	for (size_t cap = 0; cap < w.n; cap++) {
		Writer small = writer(again, cap);

		assert_false(manifest_encode(&m, &small));
		assert_int_equal(small.n, 0);
	}
}

/* One manifest, one encoding: bytes that decode are exactly those that come out again. */
static void changed_manifests_are_refused_or_canonical(void **state)
{
	(void)state;
	Arena a = fresh();
	Manifest m = sample(&a);
	Writer w = writer(buf, sizeof buf);
	size_t mark = arena_mark(&a);
	int taken = 0;

	assert_true(manifest_encode(&m, &w));
	for (size_t i = 0; i < w.n; i++)
		for (unsigned v = 0; v < 256; v++) {
			Manifest got;
			Writer w2 = writer(again, sizeof again);
			uint8_t was = buf[i];

			buf[i] = (uint8_t)v;
			if (!manifest_decode(wr_done(&w), &a, &got)) {
				assert_true(manifest_encode(&got, &w2));
				assert_true(bytes_eq(wr_done(&w), wr_done(&w2)));
				taken++;
			}
			buf[i] = was;
			arena_reset(&a, mark);
		}
	assert_true(taken > 1000);
}

typedef struct BadRow {
	const char *what;
	void (*spoil)(Arena *a, Manifest *m);
} BadRow;

#define SPOILS(X)                                                                                   \
	X(zero_bound, m->decls.budget.v[BOUND_PACKETS] = 0)                                         \
	X(undeclared_value, m->decls.budget.v[BOUND_RATE] = 5)                                      \
	X(negative_bound, m->decls.budget.v[BOUND_PACKETS] = -1)                                    \
	X(unknown_bound, m->decls.budget.declared |= 1u << BOUND_N)                                 \
	X(unknown_word, m->decls.reach.p[0].words |= 1u << WORD_N)                                  \
	X(unknown_approve, m->decls.approve |= 8)                                                   \
	X(reach_without_target, m->decls.reach.p[0].target = (Target){ 0 })                         \
	X(name_and_address, m->decls.reach.p[1].target.lo = m->decls.reach.p[1].target.hi = ip("10.0.0.1")) \
	X(mixed_families, m->emit.p[0].peer.hi = ip("::1"))                                         \
	X(range_backwards, m->emit.p[0].peer.hi = ip("10.0.0.0"))                                   \
	X(ports_unsorted, ((PortRange *)m->decls.reach.p[0].tcp.p)[0] = ((PortRange){ 9000, 9000 })) \
	X(ports_touch, m->decls.reach.p[0].tcp.p[0] = ((PortRange){ 7000, 7999 }))                  \
	X(ports_backwards, m->decls.reach.p[0].tcp.p[1] = ((PortRange){ 8100, 8000 }))              \
	X(span_backwards, m->emit.p[0].span = ((Span){ 5, 4 }))                                     \
	X(spoof_of_nothing, m->decls.spoof.p[0].lo = m->decls.spoof.p[0].hi = (Ip){ 0 })            \
	X(spoof_of_both, m->decls.spoof.p[1].lo = m->decls.spoof.p[1].hi = ip("10.0.0.1"))          \
	X(capture_of_both, m->decls.capture.p[0].all = true)                                        \
	X(half_a_pair, m->decls.may_follow.n = 1)                                                   \
	X(src_not_set, m->emit.p[0].src_set = false)                                                \
	X(control_in_name, m->names.p[0] = STR("a\nb"))                                             \
	X(bidi_in_name, m->names.p[0] = STR("a\xe2\x80\xae"))                                       \
	X(too_long_filter, m->filters.p[0].n = 5000)                                                \
	X(question_without_route, m->local.p[1].kind = LOCAL_ROUTE)                                 \
	X(too_many_names, for (int i = 0; i < 65; i++) (void)vec_push(a, &m->names, STR("a")))            \
	X(too_many_emissions, for (int i = 0; i < 4097; i++) (void)vec_push(a, &m->emit, (Emission){ 0 }))

#define SPOIL_FN_(name, code)                           \
	static void spoil_##name(Arena *a, Manifest *m) \
	{                                               \
		(void)a;                                \
		code;                                   \
	}
SPOILS(SPOIL_FN_)

#define SPOIL_ROW_(name, code) { #name, spoil_##name },
static const BadRow bad_rows[] = { SPOILS(SPOIL_ROW_) };

/* The checks of values hold both ways, so what can't be written can't be read either. */
static void senseless_manifests_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad_rows / sizeof bad_rows[0]; i++) {
		Arena a = fresh();
		Manifest m = sample(&a);
		Writer w = writer(buf, sizeof buf);

		assert_true(manifest_encode(&m, &w));
		bad_rows[i].spoil(&a, &m);
		w = writer(buf, sizeof buf);
		if (manifest_encode(&m, &w))
			fail_msg("%s was taken", bad_rows[i].what);
	}
}

static void numbers_have_one_form(void **state)
{
	(void)state;
	static const char *const bad[] = { "SDD1\x80", "SDD1\x80\x00", "SDD1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
					   "SDD1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00" };
	static const size_t len[] = { 5, 6, 14, 15 };
	Arena a = fresh();
	Decls d;

	for (size_t i = 0; i < 4; i++)
		assert_non_null(decls_decode(BYTES(bad[i], len[i]), &a, &d));
}

/* A short message that announces long lists gets no memory for them. */
static void lists_cost_what_they_weigh(void **state)
{
	(void)state;
	Arena a;
	Decls d;

	for (int round = 0; round < 2000; round++) {
		size_t n = 4 + (size_t)(draw() % 2000);

		memcpy(buf, "SDM1", 4);
		for (size_t i = 4; i < n; i++)
			buf[i] = draw() % 3 ? (uint8_t)(draw() % 4) : (uint8_t)draw();
		arena_init(&a, memory, sizeof memory, NULL);
		Manifest m;

		(void)manifest_decode(BYTES(buf, n), &a, &m);
		assert_true(a.used < 64 * 1024 + n * 1024);
		buf[2] = 'D';
		(void)decls_decode(BYTES(buf, n), &a, &d);
	}
}

/* ---- ports, bounds, texts ---- */

static void port_sets_are_what_was_added(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		Arena a = fresh();
		PortSet s = { 0 };
		bool have[64] = { false }, named[64] = { false };

		for (uint64_t k = draw() % 12; k > 0; k--) {
			uint16_t lo = (uint16_t)(draw() % 60), hi = (uint16_t)(lo + draw() % 4);

			ports_add(&a, &s, lo, hi);
			named[lo] |= lo == hi;
			for (uint16_t p = lo; p <= hi; p++)
				have[p] = true;
		}
		for (uint16_t p = 0; p < 64; p++) {
			assert_int_equal(ports_have(&s, p), have[p]);
			assert_int_equal(ports_name(&s, p), named[p]);
		}
		Decls d = { 0 };
		Writer w = writer(buf, sizeof buf);

		vec_push(&a, &d.reach, (Reach){ .target = range("10.0.0.1", "10.0.0.1"), .udp = s });
		assert_true(decls_encode(&d, &w)); /* that is, in the form that the codec takes */
	}
}

static void port_sets_at_the_ends(void **state)
{
	(void)state;
	Arena a = fresh();
	PortSet s = { 0 };
	Sb b = sb(&a);

	ports_add(&a, &s, 65534, 65535);
	ports_add(&a, &s, 0, 1);
	ports_add(&a, &s, 25, 25);
	ports_add(&a, &s, 30, 20);
	ports_add(&a, &s, 65000, 65533);
	ports_text(&s, &b);
	assert_string_equal(sb_done(&b).p, "0-1, 25, 65000-65535");
}

static void bounds_have_units(void **state)
{
	(void)state;
	assert_int_equal(bound_default(BOUND_TIME), 60 * NS_PER_S);
	assert_int_equal(bound_ceiling(BOUND_TIME), 600 * NS_PER_S);
	assert_int_equal(bound_default(BOUND_PACKETS), 2000);
	assert_int_equal(bound_ceiling(BOUND_BYTES), 50000000);
	assert_string_equal(bound_name(BOUND_SYN_RATE), "syn_rate");
	assert_string_equal(bound_unit(BOUND_LEAK), "bits");
	assert_string_equal(word_name(WORD_ARP_CLAIM), "arp_claim");
}

static void targets_read_as_nets_where_they_are_nets(void **state)
{
	(void)state;
	static const char *const rows[][3] = {
		{ "10.0.0.1", "10.0.0.1", "10.0.0.1" },
		{ "10.0.0.0", "10.0.255.255", "10.0.0.0/16" },
		{ "10.0.0.1", "10.0.0.9", "10.0.0.1-10.0.0.9" },
		{ "0.0.0.0", "255.255.255.255", "0.0.0.0/0" },
		{ "fd00::", "fd00::ffff", "fd00::/112" },
	};
	Arena a = fresh();

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Target t = range(rows[i][0], rows[i][1]);
		Sb b = sb(&a);

		target_text(&t, &b);
		assert_string_equal(sb_done(&b).p, rows[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_comes_back),
		cmocka_unit_test(wrong_directions_are_refused),
		cmocka_unit_test(cut_messages_are_refused),
		cmocka_unit_test(unknown_messages_are_refused),
		cmocka_unit_test(addresses_of_other_families_are_refused),
		cmocka_unit_test(full_writer_keeps_whole_messages_only),
		cmocka_unit_test(garbage_is_no_message),
		cmocka_unit_test(texts_are_there),
		cmocka_unit_test(manifest_comes_back),
		cmocka_unit_test(decls_come_back),
		cmocka_unit_test(cut_manifests_are_refused),
		cmocka_unit_test(changed_manifests_are_refused_or_canonical),
		cmocka_unit_test(senseless_manifests_are_refused),
		cmocka_unit_test(numbers_have_one_form),
		cmocka_unit_test(lists_cost_what_they_weigh),
		cmocka_unit_test(port_sets_are_what_was_added),
		cmocka_unit_test(port_sets_at_the_ends),
		cmocka_unit_test(bounds_have_units),
		cmocka_unit_test(targets_read_as_nets_where_they_are_nets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
