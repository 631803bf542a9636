/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the gate's processes that work without a kernel: receive filters
 * (libpcap is the oracle), the queue to a slow engine.  What needs sockets and
 * peers is in tests/system/test_gate.py.
 */
#include "base/rng.h"
#include "gate/filters.h"
#include "gate/opener.h"
#include "gate/outbox.h"
#include "sys/pcap_lib.h"
#include "sys/proc.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES = 20000, ARENA = 8 << 20 };

static Arena arena_make(void)
{
	Arena a;

	arena_init(&a, calloc(1, ARENA), ARENA, NULL);
	return a;
}

static Ip ip(const char *text)
{
	Ip v = { 0 };

	assert_true(ip_parse(str_c(text), &v));
	return v;
}

/* ---- receive filters ---- */

static const Rights plain;

static void make_rules(Arena *a, Rules *r)
{
	*r = (Rules){ 0 };
	vec_push(a, &r->seg4, (Segment4){ ip4_num(ip("10.9.0.2")), ip4_num(ip("10.9.0.2")), &plain });
	vec_push(a, &r->seg4, (Segment4){ ip4_num(ip("10.20.0.3")), ip4_num(ip("10.20.1.200")), &plain });
	vec_push(a, &r->seg6, (Segment6){ ip_num(ip("fd00::10")), ip_num(ip("fd00::2f")), &plain });
}

/* The same said in libpcap's words, but for IPv6 extension headers. */
static const char meaning[] = "arp or icmp or icmp6 or (ip and (net 10.9.0.2/32 or (ip[12:4] >= 0x0a140003 and "
			      "ip[12:4] <= 0x0a1401c8) or (ip[16:4] >= 0x0a140003 and ip[16:4] <= 0x0a1401c8))) or "
			      "(ip6 and (net fd00::10/124 or net fd00::20/124)) or ((tcp or udp) and (dst portrange "
			      "61000-65535 or dst port 5000))";

static Ip random_ip(uint64_t *draw)
{
	static const char *const some[] = { "10.9.0.1", "10.9.0.2", "10.20.0.2", "10.20.0.3", "10.20.1.200",
					    "10.20.1.201", "10.20.0.255", "192.0.2.1" };
	static const char *const some6[] = { "fd00::f", "fd00::10", "fd00::1f", "fd00::2f", "fd00::30", "2001:db8::1" };
	uint64_t r = rng_mix((*draw)++);

	return r & 1 << 20 ? ip(some6[r % 6]) : ip(some[r % 8]);
}

static Bytes random_frame(uint8_t buf[128], uint64_t *draw)
{
	static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE };
	static const uint16_t ports[] = { 80, 4999, 5000, 60999, 61000, 65535 };
	static const uint16_t types[] = { 0x0806, 0x88cc, 0x8100 };
	uint64_t r = rng_mix((*draw)++);
	Ip src = random_ip(draw), dst;
	uint8_t *p = buf + 14;

	do {
		dst = random_ip(draw);
	} while (dst.v != src.v);
	memset(buf, 0, 128);
	put_be16(buf + 12, r % 16 == 0 ? types[r >> 8 & 1] : src.v == 4 ? 0x0800 : 0x86dd);
	if (src.v == 4) {
		unsigned words = 5 + (r >> 12 & 3);

		p[0] = (uint8_t)(0x40 | words);
		p[9] = protos[(r >> 16) % 5];
		put_be16(p + 6, r >> 20 & 1 ? 0 : (uint16_t)(r >> 24 & 7));
		memcpy(p + 12, src.b, 4);
		memcpy(p + 16, dst.b, 4);
		put_be16(p + words * 4 + 2, ports[(r >> 32) % 6]);
	} else {
		p[0] = 0x60;
		p[6] = protos[(r >> 16) % 5];
		memcpy(p + 8, src.b, 16);
		memcpy(p + 24, dst.b, 16);
		put_be16(p + 42, ports[(r >> 32) % 6]);
	}
	return BYTES(buf, 100);
}

static void test_the_kernel_s_filter_means_what_libpcap_says_in_words(void **state)
{
	Arena a = arena_make();
	Plan *plan = arena_new(&a, Plan);
	struct bpf_program ether, bare;
	FrameFilter none = { 0 };
	const char *fault;
	uint8_t buf[128];
	uint64_t draw = 1;
	unsigned passed = 0;
	Rules r;
	(void)state;

	if (!pcap_lib_load())
		skip();
	make_rules(&a, &r);
	plan->nholds = 1;
	plan->hold[0].held = (Held){ ip("10.9.0.1"), IPPROTO_UDP, 5000 };
	filters_receive(&r, &none, plan);
	assert_true(pcap_lib_compile(meaning, true, &ether, &fault));
	assert_true(pcap_lib_compile(meaning, false, &bare, &fault));
	for (int i = 0; i < FRAMES; i++) {
		Bytes f = random_frame(buf, &draw), l3 = bytes_slice(f, 14, f.n);
		const struct bpf_insn *code = (const void *)plan->filter[PLAN_ETHER].code;
		bool want = pcap_lib_run(ether.bf_insns, f, 100);

		assert_int_equal(pcap_lib_run(code, f, 100), want);
		passed += want;
		if (get_be16(f.p + 12) == 0x0800 || get_be16(f.p + 12) == 0x86dd)
			assert_int_equal(pcap_lib_run((const void *)plan->filter[PLAN_BARE].code, l3, 86),
					 pcap_lib_run(bare.bf_insns, l3, 86));
	}
	assert_true(passed > FRAMES / 10 && passed < FRAMES * 9 / 10);
	pcap_lib_free(&ether);
	pcap_lib_free(&bare);
	free(a.base);
}

static void test_a_capture_stands_behind_the_own_flows(void **state)
{
	Arena a = arena_make();
	Plan *plan = arena_new(&a, Plan);
	FrameFilter capture;
	uint8_t buf[128] = { 0 };
	Str why;
	Rules r;
	(void)state;

	if (!pcap_lib_load())
		skip();
	make_rules(&a, &r);
	r.captures = true;
	r.capture_filter = STR("ether proto 0x88cc");
	assert_true(filters_capture(&r, &a, &capture, &why));
	filters_receive(&r, &capture, plan);
	const struct bpf_insn *code = (const void *)plan->filter[PLAN_ETHER].code;
	put_be16(buf + 12, 0x88cc);
	assert_true(pcap_lib_run(code, BYTES(buf, 60), 60) && filter_admits(&capture, BYTES(buf, 60), 60, true));
	put_be16(buf + 12, 0x0806);
	assert_true(pcap_lib_run(code, BYTES(buf, 60), 60) && !filter_admits(&capture, BYTES(buf, 60), 60, true));
	put_be16(buf + 12, 0x88cd);
	assert_false(pcap_lib_run(code, BYTES(buf, 60), 60));
	r.capture_filter = STR("not a filter");
	assert_false(filters_capture(&r, &a, &capture, &why));
	r.capture_filter = (Str){ 0 };
	assert_true(filters_capture(&r, &a, &capture, &why) && filter_admits(&capture, BYTES(buf, 60), 60, true));
	free(a.base);
}

static void test_even_the_longest_lists_fit_the_plan(void **state)
{
	Arena a = arena_make();
	Plan *plan = arena_new(&a, Plan);
	FrameFilter none = { 0 };
	Rules r = { 0 };
	(void)state;

	for (uint32_t i = 0; i < 300; i++) {
		IpNum v6 = ip_num(ip("fd00::")) + (IpNum)i * 16 + 1;

		vec_push(&a, &r.seg4, (Segment4){ i * 16 + 1, i * 16 + (i < 20 ? 1 : 14), &plain });
		vec_push(&a, &r.seg6, (Segment6){ v6, v6 + (i < 10 ? 0 : 13), &plain });
	}
	plan->nholds = LIMIT_START_PORTS;
	for (uint32_t i = 0; i < LIMIT_START_PORTS; i++)
		plan->hold[i].held = (Held){ ip("10.9.0.1"), IPPROTO_UDP, (uint16_t)(2000 + i) };
	filters_receive(&r, &none, plan);
	assert_true(plan->filter[PLAN_ETHER].n > 100 && plan->filter[PLAN_ETHER].n < PLAN_FILTER);
	free(a.base);
}

/* ---- the queue to the engine ---- */

static Msg frame_msg(const uint8_t *data, size_t n)
{
	return (Msg){ .type = MSG_FRAME, .frame = { .data = BYTES(data, n) } };
}

/* Reads all datagrams that are there; counts messages by type. */
static void drain(int fd, unsigned count[MSG_N])
{
	static uint8_t buf[512 * 1024];

	while (proc_readable(fd, 0)) {
		ssize_t n = proc_recv(fd, buf, sizeof buf, NULL, 0, NULL);
		Cursor c = cursor(BYTES(buf, n > 0 ? (size_t)n : 0));
		Msg m;

		if (n <= 0)
			return;
		while (msg_get(&c, 'G', &m) == MSG_OK)
			count[m.type]++;
		assert_int_equal(cur_left(&c), 0); /* whole messages only */
	}
}

static void test_a_slow_engine_loses_frames_and_nothing_else(void **state)
{
	uint8_t *mem = malloc(OUTBOX_MEMORY), *big = calloc(1, 60000);
	unsigned count[MSG_N] = { 0 }, ticks = 0;
	int ch[2];
	Outbox o;
	(void)state;

	assert_int_equal(proc_channel(ch), 0);
	outbox_init(&o, ch[0], mem);
	for (unsigned i = 0; i < 800; i++) {
		Msg f = frame_msg(big, 60000), t = { .type = MSG_TICK, .tick = { i, i } };

		outbox_put(&o, &f);
		outbox_put(&o, &t);
		ticks++;
		outbox_flush(&o);
	}
	assert_true(outbox_waits(&o) && o.dropped > 0);
	while (outbox_waits(&o)) {
		drain(ch[1], count);
		outbox_flush(&o);
	}
	drain(ch[1], count);
	assert_int_equal(count[MSG_TICK], ticks);
	assert_int_equal(count[MSG_FRAME] + o.dropped, 800);
	close(ch[1]);
	outbox_put(&o, &(Msg){ .type = MSG_TICK });
	outbox_flush(&o);
	assert_true(o.gone);
	free(mem);
	free(big);
	close(ch[0]);
}

/* Refused by its policy, a run can be over while its opener still starts: no table was made, so that is no fault. */
static void test_an_opener_that_comes_late_has_nothing_to_undo(void **state)
{
	int pair[2], status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(proc_channel(pair), 0);
	close(pair[1]);
	pid = fork();
	if (pid == 0)
		_exit(opener_main(pair[0], 1));
	close(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_s_filter_means_what_libpcap_says_in_words),
		cmocka_unit_test(test_a_capture_stands_behind_the_own_flows),
		cmocka_unit_test(test_even_the_longest_lists_fit_the_plan),
		cmocka_unit_test(test_a_slow_engine_loses_frames_and_nothing_else),
		cmocka_unit_test(test_an_opener_that_comes_late_has_nothing_to_undo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
