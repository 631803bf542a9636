/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/packet_in.h"
#include "vm/py.h"

#include "wire/fields.h"

#include <stdlib.h>

enum { MEMORY = 64 * 1024 * 1024 };

typedef struct Rig {
	void *memory;
	Arena arena;
	Program p;
	VmHost host;
	Vm *vm;
} Rig;

static bool pin(void *ctx, Str name, Ip *ret)
{
	(void)ctx;
	*ret = ip4(0x0a000035);
	return str_is(name, "db.acme.corp");
}

static int setup(void **state)
{
	Rig *g = calloc(1, sizeof *g);

	g->memory = malloc(MEMORY);
	g->host.pin = pin;
	arena_init(&g->arena, g->memory, MEMORY, NULL);
	g->vm = vm_new(&g->arena, &g->p, &g->host);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	Rig *g = *state;

	free(g->memory);
	free(g);
	return 0;
}

#define VM (((Rig *)*state)->vm)

static Value str(Vm *vm, const char *z)
{
	return vm_str(vm, str_c(z));
}

/* LAYER(field=value); f2 -1: one field only. */
static Value layer2(Vm *vm, WireId id, int f1, Value v1, int f2, Value v2)
{
	const uint8_t fields[2] = { (uint8_t)f1, (uint8_t)f2 };
	const Value args[2] = { v1, v2 };
	Value ret = val_none();

	if (!packet_make(vm, wire_proto(id), fields, args, f1 < 0 ? 0 : f2 < 0 ? 1 : 2, &ret))
		fail_msg("%s", vm->err.message.p);
	return ret;
}

static Value layer(Vm *vm, WireId id, int f, Value v)
{
	return layer2(vm, id, f, v, -1, val_none());
}

static Value stack(Vm *vm, Value a, Value b)
{
	Value ret = val_none();

	if (!packet_stack(vm, a, b, &ret))
		fail_msg("%s", vm->err.message.p);
	return ret;
}

static Value attr(Vm *vm, Value v, const char *name)
{
	Value ret = val_none();

	if (!val_attr_named(vm, v, str_c(name), &ret))
		fail_msg("%s", vm->err.message.p);
	return ret;
}

static Value sub(Vm *vm, Value p, WireId id)
{
	Value ret = val_none();

	if (!packet_layer(vm, val_packet(p), id, &ret))
		fail_msg("%s", vm->err.message.p);
	return ret;
}

static Value udp_packet(Vm *vm)
{
	Value ip = layer2(vm, WIRE_IP, F_IP_DST, str(vm, "10.0.0.1"), F_IP_TTL, val_int(3));
	Value udp = layer2(vm, WIRE_UDP, F_UDP_SPORT, val_int(4000), F_UDP_DPORT, val_int(53));

	return stack(vm, stack(vm, ip, udp), vm_bytes(vm, BYTES("hello", 5)));
}

static void assert_text(Vm *vm, Value v, const char *want)
{
	assert_string_equal(val_str(text_value(vm, v))->p, want);
}

#define ASSERT_ERROR(vm, call, wanted_code)                            \
	do {                                                           \
		assert_false(call);                                    \
		assert_string_equal((vm)->err.code, wanted_code);      \
		(vm)->err.set = false;                                 \
	} while (0)

/* ---- building ---- */

static void test_stacks_fields_and_payload(void **state)
{
	Vm *vm = VM;
	Value p = udp_packet(vm);

	assert_text(vm, attr(vm, p, "layers"), "['IP', 'UDP']");
	assert_text(vm, attr(vm, p, "dst"), "10.0.0.1");
	assert_text(vm, attr(vm, p, "ttl"), "3");
	assert_text(vm, attr(vm, p, "dport"), "53");
	assert_text(vm, attr(vm, p, "payload"), "b'hello'");
	assert_text(vm, attr(vm, sub(vm, p, WIRE_UDP), "payload"), "b'hello'");
	assert_text(vm, attr(vm, p, "time"), "-");
	assert_true(packet_has(vm, val_packet(p), WIRE_UDP));
	assert_false(packet_has(vm, val_packet(p), WIRE_TCP));
	assert_int_equal(packet_len(vm, val_packet(p)), 33);
}

/* What is not set reads as building would give it; what is set stays. */
static void test_computed_fields_read_as_built(void **state)
{
	Vm *vm = VM;
	Value p = udp_packet(vm), q = val_none();

	assert_text(vm, attr(vm, sub(vm, p, WIRE_UDP), "len"), "13");
	assert_text(vm, attr(vm, sub(vm, p, WIRE_IP), "len"), "33");
	assert_text(vm, attr(vm, sub(vm, p, WIRE_IP), "proto"), "17");
	assert_true(packet_with(vm, val_packet(p), WIRE_UDP, STR("len"), val_int(99), &q));
	assert_text(vm, attr(vm, sub(vm, q, WIRE_UDP), "len"), "99");
	assert_text(vm, attr(vm, sub(vm, p, WIRE_UDP), "len"), "13");
}

static void test_changed_copies(void **state)
{
	Vm *vm = VM;
	Value p = udp_packet(vm), q = p;

	assert_true(val_set_attr(vm, &q, WIRE_NONE, STR("ttl"), val_int(9)));
	assert_text(vm, attr(vm, q, "ttl"), "9");
	assert_text(vm, attr(vm, p, "ttl"), "3");
	assert_true(val_set_attr(vm, &q, WIRE_UDP, STR("dport"), val_int(80)));
	assert_text(vm, attr(vm, q, "dport"), "80");
	ASSERT_ERROR(vm, val_set_attr(vm, &q, WIRE_TCP, STR("dport"), val_int(80)), "E-LAYER");
	ASSERT_ERROR(vm, val_set_attr(vm, &q, WIRE_NONE, STR("nothing"), val_int(80)), "E-NAME");
	ASSERT_ERROR(vm, val_set_attr(vm, &q, WIRE_IP, STR("ttl"), val_int(256)), "E-VALUE");
}

static void test_values_by_kind_of_field(void **state)
{
	Vm *vm = VM;
	Value ret;
	const uint8_t src = F_IP_SRC, seq = F_TCP_SEQ, flags = F_TCP_FLAGS, op = F_ARP_OP;
	Value v6 = str(vm, "2001:db8::1"), bad = str(vm, "10.0.0.01"), name = str(vm, "db.acme.corp");

	ASSERT_ERROR(vm, packet_make(vm, wire_proto(WIRE_IP), &src, &v6, 1, &ret), "E-VALUE");
	ASSERT_ERROR(vm, packet_make(vm, wire_proto(WIRE_IP), &src, &bad, 1, &ret), "E-VALUE");
	assert_text(vm, attr(vm, layer(vm, WIRE_IP, F_IP_SRC, name), "src"), "10.0.0.53");
	/* Serial numbers are taken modulo 2^32. */
	assert_true(packet_make(vm, wire_proto(WIRE_TCP), &seq, (Value[]){ val_int(-1) }, 1, &ret));
	assert_text(vm, attr(vm, ret, "seq"), "4294967295");
	assert_true(packet_make(vm, wire_proto(WIRE_TCP), &flags, (Value[]){ str(vm, "SA") }, 1, &ret));
	Value f = attr(vm, ret, "flags");

	assert_text(vm, f, "SA");
	assert_true(val_eq(f, str(vm, "SA")) && val_eq(f, str(vm, "AS")) && val_eq(f, val_int(0x12)));
	assert_false(val_eq(f, str(vm, "S")));
	assert_true(packet_make(vm, wire_proto(WIRE_ARP), &op, (Value[]){ str(vm, "is-at") }, 1, &ret));
	assert_true(val_eq(attr(vm, ret, "op"), val_int(2)) && val_eq(attr(vm, ret, "op"), str(vm, "is-at")));
	ASSERT_ERROR(vm, packet_make(vm, wire_proto(WIRE_ARP), &op, (Value[]){ str(vm, "nope") }, 1, &ret), "E-VALUE");
}

/* As scapy 2.5 iterates IP(ttl=[1,2], tos=[8,9])/UDP(dport=[80,81]), and with ttl and tos exchanged. */
static void test_expansion_has_scapys_order(void **state)
{
	Vm *vm = VM;
	Value ttls = list_of(vm, (Value[]){ val_int(1), val_int(2) }, 2);
	Value toss = list_of(vm, (Value[]){ val_int(8), val_int(9) }, 2), ports = val_none();
	static const int want[8][3] = { { 1, 8, 80 }, { 1, 8, 81 }, { 1, 9, 80 }, { 1, 9, 81 },
					{ 2, 8, 80 }, { 2, 8, 81 }, { 2, 9, 80 }, { 2, 9, 81 } };

	assert_true(range_make(vm, 80, 82, 1, &ports));
	Value all = stack(vm, layer2(vm, WIRE_IP, F_IP_TTL, ttls, F_IP_TOS, toss), layer(vm, WIRE_UDP, F_UDP_DPORT, ports));

	assert_int_equal(all.o->n, 8);
	for (unsigned i = 0; i < 8; i++) {
		Value p = val_list(all)->p[i];

		assert_int_equal(attr(vm, p, "ttl").i, want[i][0]);
		assert_int_equal(attr(vm, p, "tos").i, want[i][1]);
		assert_int_equal(attr(vm, p, "dport").i, want[i][2]);
	}
}

static void test_expansion_of_nets_and_pairs_is_bounded(void **state)
{
	Vm *vm = VM;
	Value ret, all = layer(vm, WIRE_IP, F_IP_DST, str(vm, "10.0.0.0/30"));
	const uint8_t dst = F_IP_DST, dport = F_UDP_DPORT;
	Value big = str(vm, "10.0.0.0/8");

	assert_int_equal(all.o->n, 4);
	assert_text(vm, attr(vm, val_list(all)->p[3], "dst"), "10.0.0.3");
	all = layer(vm, WIRE_UDP, F_UDP_DPORT, vm_pair(vm, val_int(8000), val_int(8002)));
	assert_int_equal(all.o->n, 3);
	assert_text(vm, attr(vm, val_list(all)->p[2], "dport"), "8002");
	all = layer(vm, WIRE_IP, F_IP_DST, vm_pair(vm, str(vm, "10.0.0.254"), str(vm, "10.0.1.1")));
	assert_int_equal(all.o->n, 4);
	ASSERT_ERROR(vm, packet_make(vm, wire_proto(WIRE_IP), &dst, &big, 1, &ret), "E-LIMIT");
	big = vm_pair(vm, val_int(0), val_int(1 << 20));
	ASSERT_ERROR(vm, packet_make(vm, wire_proto(WIRE_UDP), &dport, &big, 1, &ret), "E-LIMIT");
}

/* ---- options ---- */

static void test_options_both_ways(void **state)
{
	Vm *vm = VM;
	const WireProto *tcp = wire_proto(WIRE_TCP);
	Value mss = val_none(), ts = val_none();

	assert_true(packet_option_make(vm, tcp, wire_option_by_name(tcp, STR("MSS")), (Value[]){ val_int(1400) }, 1, &mss));
	assert_true(packet_option_make(vm, tcp, wire_option_by_name(tcp, STR("Timestamp")),
				       (Value[]){ val_int(7), val_int(0) }, 2, &ts));
	assert_text(vm, ts, "Timestamp(7, 0)");
	Value sack = vm_pair(vm, str(vm, "SAckOK"), val_none()), scale = vm_pair(vm, str(vm, "WScale"), val_int(7));
	Value list = list_of(vm, (Value[]){ mss, sack, ts, scale }, 4);
	Value p = stack(vm, layer(vm, WIRE_IP, F_IP_DST, str(vm, "10.0.0.1")),
			layer2(vm, WIRE_TCP, F_TCP_DPORT, val_int(80), F_TCP_OPTIONS, list));
	Value t = sub(vm, p, WIRE_TCP), got, args[2] = { t, str(vm, "MSS") };

	assert_text(vm, attr(vm, t, "options"), "[MSS(1400), SAckOK(), Timestamp(7, 0), WScale(7)]");
	assert_true(m_LAYER_option(vm, args, 2, &got));
	assert_int_equal(got.i, 1400);
	args[1] = str(vm, "SAckOK");
	assert_true(m_LAYER_option(vm, args, 2, &got));
	assert_int_equal(got.i, 1);
	args[1] = str(vm, "UTO");
	assert_true(m_LAYER_option(vm, args, 2, &got));
	assert_int_equal(got.tag, VAL_NONE);
	assert_int_equal(val_packet(p)->layer[1].var[0].n, 4 + 2 + 10 + 3);
	Value nop = list_of(vm, (Value[]){ val_int(1) }, 1), ret;

	ASSERT_ERROR(vm, packet_with(vm, val_packet(p), WIRE_TCP, STR("options"), nop, &ret), "E-TYPE");
}

/* ---- received ---- */

static Value reply(Vm *vm)
{
	Value p = stack(vm, layer(vm, WIRE_ETHER, F_ETHER_TYPE, val_int(0x800)), udp_packet(vm));
	Bytes frame = { 0 };
	uint8_t padded[60] = { 0 };

	assert_true(packet_bytes(vm, val_packet(p), &frame));
	memcpy(padded, frame.p, frame.n);
	return val_of(packet_from_frame(vm, BYTES(padded, sizeof padded), WIRE_ETHER, OP_RECEIVED));
}

static void test_received_packets_are_a_peers(void **state)
{
	Vm *vm = VM;
	Value p = reply(vm), payload = attr(vm, p, "payload");

	assert_true(val_packet(p)->h.bits & OP_RECEIVED);
	assert_int_equal(packet_len(vm, val_packet(p)), 33); /* without padding */
	assert_text(vm, payload, "b'hello'");
	assert_int_equal(val_str(payload)->n_marks, 1);
	assert_true(attr(vm, p, "ttl").vf & VF_PEER);
	assert_text(vm, attr(vm, p, "src"), "0.0.0.0");
	Value args[2] = { p, str(vm, "utf-8") }, b;

	assert_true(bi_bytes(vm, args, 2, &b));
	assert_int_equal(b.o->n, 33);
	assert_int_equal(val_str(b)->n_marks, 1);
	assert_int_equal(attr(vm, p, "frame").o->n, 60);
}

/* A changed copy of a received packet derives its lengths and checksums anew. */
static void test_changed_received_packet_is_rederived(void **state)
{
	Vm *vm = VM;
	Value p = reply(vm), q = val_none();
	Value before = attr(vm, sub(vm, p, WIRE_IP), "chksum");

	assert_true(packet_with(vm, val_packet(p), WIRE_IP, STR("ttl"), val_int(200), &q));
	assert_false(val_eq(attr(vm, sub(vm, q, WIRE_IP), "chksum"), before));
	assert_text(vm, attr(vm, sub(vm, q, WIRE_IP), "len"), "33");
	assert_false(val_packet(q)->h.bits & OP_RECEIVED);
}

static void test_views_keep_their_packet_alive(void **state)
{
	Vm *vm = VM;
	static const ProgFn fn = { .nslots = 4 };

	vm->frame[0] = (Frame){ .fn = &fn };
	vm->n_frames = 1;
	vm->heap.stress = true;
	vm->stack[0] = sub(vm, reply(vm), WIRE_UDP);
	vm_collect(vm);
	assert_text(vm, attr(vm, vm->stack[0], "dport"), "53");
	assert_text(vm, attr(vm, vm->stack[0], "payload"), "b'hello'");
}

static void test_garbage_is_a_payload_with_a_reason(void **state)
{
	Vm *vm = VM;
	Value p = val_of(packet_from_frame(vm, BYTES("\x45\x00\x00", 3), WIRE_IP, OP_RECEIVED));

	assert_int_equal(attr(vm, p, "layers").o->n, 0);
	assert_int_equal(attr(vm, p, "payload").o->n, 3);
	assert_int_equal(attr(vm, p, "warnings").o->n, 1);
	/* whose reason stays its own when others have been read */
	Value q = val_of(packet_from_frame(vm, BYTES("\x60\x00", 2), WIRE_IPV6, OP_RECEIVED));
	assert_text(vm, attr(vm, q, "warnings"), "['IPv6 header needs 40 bytes, 2 are there']");
	assert_text(vm, attr(vm, p, "warnings"), "['IP header needs 20 bytes, 3 are there']");
	p = val_of(packet_from_frame(vm, (Bytes){ 0 }, WIRE_IP, OP_RECEIVED));
	assert_int_equal(packet_len(vm, val_packet(p)), 0);
}

/* ---- DNS ---- */

static void test_dns_records(void **state)
{
	Vm *vm = VM;
	Value q = layer(vm, WIRE_DNSQR, F_DNSQR_QNAME, str(vm, "www.acme.corp"));
	Value rr = layer2(vm, WIRE_DNSRR, F_DNSRR_RDATA, str(vm, "10.0.0.9"), F_DNSRR_RRNAME, str(vm, "www.acme.corp"));
	Value dns = layer2(vm, WIRE_DNS, F_DNS_QD, q, F_DNS_AN, list_of(vm, &rr, 1));

	assert_int_equal(q.tag, VAL_RECORD);
	assert_text(vm, attr(vm, q, "qtype"), "A");
	assert_text(vm, attr(vm, rr, "addr"), "10.0.0.9");
	assert_text(vm, attr(vm, dns, "ancount"), "1");
	Value p = stack(vm, stack(vm, layer(vm, WIRE_IP, F_IP_DST, str(vm, "10.0.0.1")),
				  layer2(vm, WIRE_UDP, F_UDP_SPORT, val_int(53), F_UDP_DPORT, val_int(4000))), dns);
	Bytes frame = { 0 };

	assert_true(packet_bytes(vm, val_packet(p), &frame));
	Value r = val_of(packet_from_frame(vm, frame, WIRE_IP, OP_RECEIVED));
	Value an = attr(vm, sub(vm, r, WIRE_DNS), "an");

	assert_int_equal(an.o->n, 1);
	assert_text(vm, attr(vm, val_list(an)->p[0], "rrname"), "www.acme.corp");
	assert_text(vm, attr(vm, val_list(an)->p[0], "rdata"), "10.0.0.9");
	assert_int_equal(val_str(attr(vm, val_list(an)->p[0], "rrname"))->n_marks, 1);
	Value ret;

	ASSERT_ERROR(vm, packet_with(vm, val_packet(p), WIRE_DNS, STR("qd"), rr, &ret), "E-VALUE");
}

static void test_echo_follows_the_family(void **state)
{
	Vm *vm = VM;
	Value echo = val_none(), args[2] = { val_int(5), val_none() };

	assert_true(bi_echo(vm, args, 2, &echo));
	Value p = stack(vm, layer(vm, WIRE_IPV6, F_IPV6_DST, str(vm, "2001:db8::1")), echo);

	assert_text(vm, attr(vm, p, "layers"), "['IPv6', 'ICMPv6']");
	assert_text(vm, attr(vm, sub(vm, p, WIRE_ICMPV6), "id"), "5");
	assert_true(val_eq(attr(vm, sub(vm, p, WIRE_ICMPV6), "type"), val_int(128)));
	p = stack(vm, layer(vm, WIRE_IP, F_IP_DST, str(vm, "10.0.0.1")), echo);
	assert_true(val_eq(attr(vm, sub(vm, p, WIRE_ICMP), "type"), str(vm, "echo-request")));
}

/* ---- mixed comparisons ---- */

static void test_strings_meet_addresses(void **state)
{
	Vm *vm = VM;
	Value a = vm_ip(vm, ip4(0x0a000001)), six = val_none(), yes, list = list_of(vm, &a, 1);
	Ip ip;
	bool b;
	ObjDict *d = dict_make(vm, VAL_SET);

	assert_true(ip_parse(STR("2001:db8::1"), &ip));
	six = vm_ip(vm, ip);
	assert_true(val_eq(a, str(vm, "10.0.0.1")) && val_eq(str(vm, "2001:0db8::1"), six));
	assert_false(val_eq(a, six) || val_eq(a, str(vm, "x")));
	assert_true(val_in(vm, str(vm, "10.0.0.1"), list, &b) && b);
	assert_true(dict_put(vm, d, str(vm, "10.0.0.1"), val_none()));
	assert_true(val_in(vm, a, val_of(d), &b) && b);
	assert_true(val_in(vm, str(vm, "10.0.0.9"), vm_net(vm, (Net){ ip4(0x0a000000), 24 }), &b) && b);
	assert_true(arith(vm, I_ADD, false, a, val_int(255), &yes));
	assert_text(vm, yes, "10.0.1.0");
	assert_true(arith(vm, I_SUB, false, yes, a, &yes) && yes.i == 255);
	ASSERT_ERROR(vm, arith(vm, I_SUB, false, a, val_int(INT64_C(1) << 40), &yes), "E-OVERFLOW");
}

static void test_durations(void **state)
{
	Vm *vm = VM;
	Value d = val_duration(20 * NS_PER_MS), none = val_duration(NS_NONE), r;
	bool b;

	assert_true(val_compare(vm, I_LT, d, val_float(0.03), &b) && b);
	assert_true(val_compare(vm, I_EQ, d, val_float(0.02), &b) && b);
	for (int op = I_EQ; op <= I_GE; op++)
		assert_true(val_compare(vm, (OpCode)op, none, d, &b) && !b);
	assert_true(arith(vm, I_ADD, false, d, val_int(1), &r) && r.i == 1020 * NS_PER_MS);
	assert_true(arith(vm, I_ADD, false, d, none, &r) && val_absent(r));
	assert_true(arith(vm, I_DIV, false, d, val_duration(NS_PER_MS), &r) && r.f == 20.0);
	assert_true(arith(vm, I_DIV, false, val_int(100), d, &r) && r.f == 5000.0);
	assert_true(arith(vm, I_MUL, false, val_float(1.5), d, &r) && r.i == 30 * NS_PER_MS);
	assert_true(arith(vm, I_SUB, false, val_time(5), val_time(2), &r) && r.tag == VAL_DURATION && r.i == 3);
	ASSERT_ERROR(vm, arith(vm, I_MUL, false, d, d, &r), "E-TYPE");
	ASSERT_ERROR(vm, arith(vm, I_ADD, false, val_time(5), val_time(2), &r), "E-TYPE");
	ASSERT_ERROR(vm, arith(vm, I_MUL, false, d, val_int(INT64_MAX), &r), "E-OVERFLOW");
	assert_true(format_value(vm, d, 0, str(vm, ">10"), &r));
	assert_text(vm, r, "  20.00 ms");
	ASSERT_ERROR(vm, format_value(vm, d, 0, str(vm, ".1f"), &r), "E-VALUE");
	assert_true(format_value(vm, val_float(0.0 / 0.0), 0, str(vm, "6.1f"), &r));
	assert_text(vm, r, "     -");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stacks_fields_and_payload),
		TEST(test_computed_fields_read_as_built),
		TEST(test_changed_copies),
		TEST(test_values_by_kind_of_field),
		TEST(test_expansion_has_scapys_order),
		TEST(test_expansion_of_nets_and_pairs_is_bounded),
		TEST(test_options_both_ways),
		TEST(test_received_packets_are_a_peers),
		TEST(test_changed_received_packet_is_rederived),
		TEST(test_views_keep_their_packet_alive),
		TEST(test_garbage_is_a_payload_with_a_reason),
		TEST(test_dns_records),
		TEST(test_echo_follows_the_family),
		TEST(test_strings_meet_addresses),
		TEST(test_durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
