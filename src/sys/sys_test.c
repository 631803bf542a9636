/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's promises, asked for in a network namespace of the test's own.  An
 * ordinary user gets one by a user namespace; where there is none, what needs it
 * is skipped.
 */
#include "base/units.h"
#include "sys/clock.h"
#include "sys/hold.h"
#include "sys/io.h"
#include "sys/listeners.h"
#include "sys/nft.h"
#include "sys/packet.h"
#include "sys/pcap_lib.h"
#include "sys/proc.h"
#include "sys/rtnl.h"
#include "sys/sandbox.h"
#include "sys/sandbox_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool in_namespace;

#define NEED_NAMESPACE()        \
	do {                    \
		if (!in_namespace) \
			skip(); \
	} while (0)

static Ip ip(const char *text)
{
	Ip v = { 0 };

	assert_true(ip_parse(str_c(text), &v));
	return v;
}

static int lo_up(void)
{
	struct ifreq q = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int r;

	q.ifr_flags = IFF_UP | IFF_RUNNING;
	r = ioctl(fd, SIOCSIFFLAGS, &q);
	close(fd);
	return r;
}

/* ---- clocks ---- */

static void test_the_two_clocks_agree_by_their_offset(void **state)
{
	int64_t real = clock_mono_ns() + clock_offset_ns();
	struct timespec t;
	(void)state;

	clock_gettime(CLOCK_REALTIME, &t);
	int64_t d = t.tv_sec * NS_PER_S + t.tv_nsec - real;
	assert_true(d >= -NS_PER_MS && d < 100 * NS_PER_MS);
}

static void test_timers_fire_at_their_time_and_at_once_for_the_past(void **state)
{
	int fd = clock_timer_fd();
	int64_t at = clock_mono_ns() + 5 * NS_PER_MS;
	(void)state;

	clock_timer_arm(fd, at);
	assert_true(proc_readable(fd, 1000));
	assert_true(clock_mono_ns() >= at);
	clock_timer_take(fd);
	assert_false(proc_readable(fd, 0));
	clock_timer_arm(fd, 1);
	assert_true(proc_readable(fd, 1000));
	clock_timer_arm(fd, 0);
	assert_false(proc_readable(fd, 20));
	close(fd);
}

static void test_a_clock_that_nobody_sets_has_no_step(void **state)
{
	int fd = clock_step_fd();
	(void)state;

	assert_true(fd >= 0);
	assert_false(proc_readable(fd, 0));
	assert_false(clock_step_take(fd));
	close(fd);
}

/* ---- processes ---- */

static void test_messages_keep_their_boundaries_and_carry_descriptors(void **state)
{
	int ch[2], pipe_fd[2], got[4];
	uint8_t buf[16];
	size_t n = 9;
	(void)state;

	assert_int_equal(proc_channel(ch), 0);
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(proc_send(ch[0], BYTES("one", 3), pipe_fd, 2), 0);
	assert_int_equal(proc_send(ch[0], BYTES("twenty bytes of text", 20), NULL, 0), 0);
	assert_int_equal(proc_recv(ch[1], buf, sizeof buf, got, 4, &n), 3);
	assert_int_equal(n, 2);
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(pipe_fd[0], buf, 1), 1);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(proc_recv(ch[1], buf, sizeof buf, got, 4, &n), -EMSGSIZE); /* cut is refused */
	close(ch[0]);
	assert_int_equal(proc_recv(ch[1], buf, sizeof buf, got, 4, &n), 0);
}

static void test_exit_codes_signals_and_patience(void **state)
{
	Child c;
	(void)state;

	if (proc_fork(&c) == 0)
		_exit(7);
	assert_int_equal(proc_wait(&c, -1), 7);
	if (proc_fork(&c) == 0)
		for (;;)
			pause();
	assert_int_equal(proc_wait(&c, 10), -ETIMEDOUT);
	proc_kill(&c);
	assert_int_equal(proc_wait(&c, -1), 256 + SIGKILL);
	assert_int_equal(proc_wait(&c, -1), -ECHILD);
}

static void test_a_child_dies_with_its_parent(void **state)
{
	int life[2];
	Child parent;
	char b;
	(void)state;

	assert_int_equal(pipe(life), 0);
	if (proc_fork(&parent) == 0) {
		int self = proc_self_fd();
		Child child;

		if (proc_fork(&child) == 0) {
			proc_die_with(self);
			close(life[0]);
			for (;;)
				pause();
		}
		close(life[1]);
		for (;;)
			pause();
	}
	close(life[1]);
	assert_false(proc_readable(life[0], 50));
	proc_kill(&parent);
	assert_int_equal(proc_wait(&parent, -1), 256 + SIGKILL);
	assert_true(proc_readable(life[0], 2000)); /* its end of the pipe went with it */
	assert_int_equal(read(life[0], &b, 1), 0);
}

static void test_all_descriptors_but_some_are_closed(void **state)
{
	Child c;
	int a = dup(0), b = dup(0), d = dup(0);
	(void)state;

	if (proc_fork(&c) == 0) {
		int keep[] = { d, -1, a };

		_exit(proc_close_all_but(keep, 3) && fcntl(a, F_GETFD) >= 0 && fcntl(d, F_GETFD) >= 0 && fcntl(b, F_GETFD) < 0 && fcntl(0, F_GETFD) < 0);
	}
	assert_int_equal(proc_wait(&c, -1), 1);
	close(a);
	close(b);
	close(d);
}

/* ---- sandbox ---- */

enum { READS = 3 };

static int engine_child(int in, int out, void (*act)(int in, int out))
{
	Child c;
	const int ins[2] = { in, -1 }, outs[2] = { out, -1 };

	sandbox_prepare();
	if (proc_fork(&c) == 0) {
		bool tsc;

		if (sandbox_engine(false, ins, outs, &tsc))
			_exit(99);
		act(in, out);
		_exit(READS);
	}
	return proc_wait(&c, -1);
}

static void act_echo(int in, int out)
{
	char b;

	if (read(in, &b, 1) != 1 || write(out, &b, 1) != 1)
		_exit(98);
}

static void act_open(int in, int out)
{
	(void)in;
	(void)out;
	(void)!open("/etc/hosts", O_RDONLY);
}

static void act_other_fd(int in, int out)
{
	char b;

	(void)in;
	(void)!read(out, &b, 1);
}

static void test_the_engine_reads_and_writes_its_descriptors_and_nothing_else(void **state)
{
	int in[2], out[2];
	char b;
	(void)state;

	if (sandbox_is_widened())
		skip(); /* a sanitizer needs more, and says so */
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(write(in[1], "z", 1), 1);
	assert_int_equal(engine_child(in[0], out[1], act_echo), READS);
	assert_int_equal(read(out[0], &b, 1), 1);
	assert_int_equal(b, 'z');
	assert_int_equal(engine_child(in[0], out[1], act_open), 256 + SIGSYS);
	assert_int_equal(engine_child(in[0], out[1], act_other_fd), 256 + SIGSYS);
}

static void test_each_role_is_denied_what_it_has_no_row_for(void **state)
{
	static const SandboxRole roles[] = { SANDBOX_LOADER, SANDBOX_GATE, SANDBOX_OPENER, SANDBOX_NETD, SANDBOX_READER };
	(void)state;

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		Child c;

		if (proc_fork(&c) == 0) {
			char *none[] = { NULL };

			if (sandbox_filter(roles[i]))
				_exit(99);
			execve("/bin/true", none, none);
			_exit(98);
		}
		assert_int_equal(proc_wait(&c, -1), 256 + SIGSYS);
	}
}

static void test_without_capabilities_there_is_none_left(void **state)
{
	Child c;
	(void)state;

	if (proc_fork(&c) == 0)
		_exit(sandbox_caps_keep(0) == 0 && sandbox_caps() == 0 && socket(AF_PACKET, SOCK_RAW, 0) < 0);
	assert_int_equal(proc_wait(&c, -1), 1);
}

/* Its filter alone: what Landlock denies is no matter on kernels that have not so much of it. */
static int front_child(pid_t other)
{
	struct rlimit one = { 1, 1 }, now;
	int pair[2];
	Child c;

	if (proc_fork(&c) == 0) {
		if (sandbox_front_filter())
			_exit(99);
		bool others = syscall(SYS_tgkill, other, other, SIGKILL) == 0 || prlimit(other, RLIMIT_CPU, &one, NULL) == 0 ||
			      fcntl(0, F_SETOWN, other) == 0 || fcntl(0, F_SETSIG, SIGKILL) == 0 || kill(other, SIGSTOP) == 0;
		bool names = socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0 || /* those send to whom they name */
			     socketpair(AF_TIPC, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 || errno != EPERM;
		bool own = syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 && getrlimit(RLIMIT_NOFILE, &now) == 0 && fcntl(0, F_GETFL) >= 0 &&
			   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;

		_exit(others + 2 * names + 4 * !own);
	}
	return proc_wait(&c, -1);
}

/* Checkers, engines and gates are of the same user. */
static void test_the_front_reaches_no_other_process_of_its_user(void **state)
{
	Child other;
	(void)state;

	if (sandbox_is_widened())
		skip();
	if (proc_fork(&other) == 0)
		for (;;)
			pause();
	assert_int_equal(front_child(other.pid), 0);
	assert_int_equal(proc_wait(&other, 0), -ETIMEDOUT);
	proc_kill(&other);
	proc_wait(&other, -1);
}

enum { NOTHING, READS_ON, NEXT_JOB, WRITES_ELSEWHERE, OPENS, CONNECTS, KILLS, FORKS, MAKES_CODE, LIMITS, WAITS, ACTS };

static void check_act(int act, int sock)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };
	char b;

	switch (act) {
	case READS_ON: (void)!read(sock, &b, 1); break;
	case NEXT_JOB: recv(sock, &b, 1, MSG_DONTWAIT); break;
	case WRITES_ELSEWHERE: (void)!write(sock, "x", 1); break;
	case OPENS: (void)!open("/etc/passwd", O_RDONLY); break;
	case CONNECTS: socket(AF_INET, SOCK_STREAM, 0); break;
	case KILLS: kill(getppid(), SIGKILL); break;
	case FORKS: syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); break;
	case MAKES_CODE: mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
	case LIMITS: setrlimit(RLIMIT_CPU, &l); break;
	case WAITS: sleep(1); break;
	default: break;
	}
}

/* As the checker of `sonde mcp` forks them; `answer` is what they may write to. */
static int checker_child(int answer, int sock, int act)
{
	Child warm;

	sandbox_prepare();
	if (proc_fork(&warm) == 0) {
		Child c;

		if (sandbox_checker_prepare(answer))
			_exit(99);
		if (proc_fork(&c) == 0) {
			if (sandbox_checker_child())
				_exit(99);
			check_act(act, sock);
			_exit(write(answer, "a", 1) == 1 ? 0 : 98);
		}
		int code = proc_wait(&c, -1);

		_exit(code == 256 + SIGSYS ? 1 : code);
	}
	return proc_wait(&warm, -1);
}

static void test_a_program_that_takes_over_its_checker_writes_an_answer_and_no_more(void **state)
{
	int answer[2], sock[2];
	(void)state;

	if (sandbox_is_widened())
		skip();
	assert_int_equal(pipe(answer), 0);
	assert_int_equal(proc_channel(sock), 0);
	for (int act = 0; act < ACTS; act++)
		assert_int_equal(checker_child(answer[1], sock[1], act), act != NOTHING);
}

/* ---- holding ports ---- */

static void check_held(const Held *h)
{
	Held got;
	int fd = hold_take(h, 0);

	assert_true(fd >= 0);
	assert_true(hold_read(fd, &got));
	assert_true(ip_eq(got.addr, h->addr));
	assert_int_equal(got.proto, h->proto);
	assert_int_equal(got.port, h->port);
	assert_int_equal(hold_take(h, 0), -EADDRINUSE);
	close(fd);
	fd = hold_take(h, 0);
	assert_true(fd >= 0);
	close(fd);
}

static void test_what_is_held_is_held_once(void **state)
{
	const Held rows[] = { { ip("127.0.0.1"), IPPROTO_TCP, 61011 },
			      { ip("127.0.0.1"), IPPROTO_UDP, 61011 },
			      { ip("127.0.0.1"), IPPROTO_ICMP, 4711 },
			      { ip("fd00::1"), IPPROTO_ICMPV6, 4711 } };
	Held none;
	(void)state;

	NEED_NAMESPACE();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_held(&rows[i]);
	assert_int_equal(hold_take(&(Held){ ip("127.0.0.1"), IPPROTO_GRE, 1 }, 0), -EPROTONOSUPPORT);
	assert_int_equal(hold_take(&(Held){ ip("192.0.2.1"), IPPROTO_UDP, 61012 }, 0), -EADDRNOTAVAIL);
	assert_false(hold_read(0, &none));
}

/* ---- routes ---- */

static void test_the_kernel_tells_its_links_addresses_and_routes(void **state)
{
	Rtnl *r;
	Link link[4], lo;
	LinkAddr addr[8];
	Route route;
	Neigh neigh;
	(void)state;

	NEED_NAMESPACE();
	r = rtnl_open();
	assert_non_null(r);
	assert_true(rtnl_links(r, link, 4) >= 1);
	assert_string_equal(link[0].name, "lo");
	assert_true(link[0].up && link[0].loopback && link[0].mtu == 65536);
	assert_int_equal(rtnl_link(r, link[0].index, &lo), 0);
	assert_int_equal(rtnl_link(r, 9999, &lo), -ENODEV);
	assert_true(rtnl_is_up(r, "lo"));
	assert_false(rtnl_is_up(r, "lo9"));
	assert_true(rtnl_addrs(r, addr, 8) >= 1);
	assert_true(ip_eq(addr[0].ip, ip("127.0.0.1")) && addr[0].bits == 8);
	assert_int_equal(rtnl_route(r, ip("127.0.0.9"), 0, (Ip){ 0 }, &route), 0);
	assert_int_equal(route.kind, ROUTE_LOCAL);
	assert_true(ip_eq(route.src, ip("127.0.0.1")));
	assert_int_equal(rtnl_route(r, ip("198.51.100.1"), 0, (Ip){ 0 }, &route), -ENETUNREACH);
	assert_int_equal(rtnl_neigh(r, link[0].index, ip("127.0.0.9"), &neigh), -ENOENT);
	rtnl_close(r);
}

/* ---- packet sockets ---- */

/* An IPv4/UDP frame for lo; the last byte tells frames apart. */
static Bytes lo_frame(uint8_t buf[64], uint8_t mark)
{
	const uint8_t ip_head[] = { 0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0x7c, 0xca, 127, 0, 0, 1, 127, 0, 0, 1 };

	memset(buf, 0, 64);
	put_be16(buf + 12, 0x0800);
	memcpy(buf + 14, ip_head, sizeof ip_head);
	put_be16(buf + 34, 61021);
	put_be16(buf + 36, 61022);
	put_be16(buf + 38, 12);
	buf[45] = mark;
	return BYTES(buf, 46);
}

static int lo_index(void)
{
	return (int)if_nametoindex("lo");
}

static int rx_open(void)
{
	static const struct sock_filter all[] = { { BPF_RET | BPF_K, 0, 0, 0xffffffff } };
	PacketRx rx = { .ifindex = lo_index(), .filter = all, .filter_n = 1, .rcvbuf = 1 << 20 };
	int fd = packet_open();
	struct sock_fprog prog = { 1, (struct sock_filter *)(uintptr_t)all };

	assert_true(fd >= 0);
	assert_int_equal(packet_rx_setup(fd, &rx), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog), -1); /* locked */
	return fd;
}

/* Sends three frames and expects each: its stamps by number, its recapture and its
 * arrival, in the order of nature. */
static void check_three(bool own_ids)
{
	PacketTx tx = { .fd = packet_open(), .own_ids = own_ids };
	int rx = rx_open(), got = 0, sent_stamps = 0;
	uint8_t mem[3][64];
	static uint8_t box_mem[PACKET_RX_BATCH * PACKET_SLOT];
	static PacketInbox box;
	PacketOut out[3];
	PacketStamp st[16];
	int64_t out_at[3] = { 0 }, stamped_at[3] = { 0 }, in_at[3] = { 0 };

	box.mem = box_mem;
	assert_int_equal(packet_tx_setup(tx.fd, 1 << 20, 1 << 20), 0);
	for (uint8_t i = 0; i < 3; i++)
		out[i] = (PacketOut){ .body = lo_frame(mem[i], i), .ifindex = lo_index(), .ethertype = 0x0800, .id = 700 + i };
	assert_int_equal(packet_send(&tx, out, 3), 3);
	assert_int_equal(out[2].id, tx.own_ids ? 702 : 2);
	got = packet_stamps(tx.fd, st, 16);
	for (int i = 0; i < got; i++)
		if (st[i].kind == PACKET_STAMP_SENT) {
			uint32_t k = st[i].id - out[0].id;

			assert_true(k < 3);
			stamped_at[k] = st[i].stamp;
			sent_stamps++;
		}
	assert_int_equal(sent_stamps, 3);
	assert_int_equal(packet_recv(rx, true, 0, &box), 6);
	for (unsigned i = 0; i < box.n; i++) {
		uint8_t k = box.in[i].frame.p[45];

		assert_true(k < 3 && box.in[i].frame.n == 46 && box.in[i].orig_len == 46);
		*(box.in[i].outgoing ? &out_at[k] : &in_at[k]) = box.in[i].stamp;
	}
	for (int i = 0; i < 3; i++)
		assert_true(out_at[i] && out_at[i] <= stamped_at[i] && stamped_at[i] <= in_at[i]);
	assert_int_equal(packet_unsent(tx.fd), 0);
	close(tx.fd);
	close(rx);
}

static void test_frames_are_stamped_recaptured_and_received(void **state)
{
	int warm;
	(void)state;

	NEED_NAMESPACE();
	warm = packet_warm_up();
	assert_true(warm >= 0);
	usleep(150000); /* stamping starts by a deferred work item of the kernel */
	check_three(true);
	check_three(false);
	close(warm);
}

static void test_a_frame_stamped_after_it_was_there_is_not_believed(void **state)
{
	static uint8_t box_mem[PACKET_RX_BATCH * PACKET_SLOT];
	static PacketInbox box;
	PacketTx tx = { .fd = -1, .own_ids = true };
	PacketOut out;
	uint8_t mem[64];
	int rx;
	(void)state;

	NEED_NAMESPACE();
	box.mem = box_mem;
	tx.fd = packet_open();
	rx = rx_open();
	out = (PacketOut){ .body = lo_frame(mem, 1), .ifindex = lo_index(), .ethertype = 0x0800 };
	assert_int_equal(packet_send(&tx, &out, 1), 1);
	assert_true(packet_recv(rx, true, 1, &box) > 0); /* readable in 1970, stamped today */
	assert_int_equal(box.in[0].stamp, 0);
	close(tx.fd);
	close(rx);
}

static void test_what_overflows_is_counted(void **state)
{
	static const struct sock_filter all[] = { { BPF_RET | BPF_K, 0, 0, 0xffffffff } };
	PacketTx tx = { .own_ids = true };
	PacketOut out[PACKET_TX_BATCH];
	uint8_t mem[64];
	uint64_t drops = 0;
	int fd;
	(void)state;

	NEED_NAMESPACE();
	PacketRx rx = { .ifindex = lo_index(), .filter = all, .filter_n = 1, .rcvbuf = 4096 };
	fd = packet_open();
	tx.fd = packet_open();
	assert_int_equal(packet_rx_setup(fd, &rx), 0);
	for (int i = 0; i < PACKET_TX_BATCH; i++)
		out[i] = (PacketOut){ .body = lo_frame(mem, 1), .ifindex = lo_index(), .ethertype = 0x0800 };
	assert_int_equal(packet_send(&tx, out, PACKET_TX_BATCH), PACKET_TX_BATCH);
	assert_int_equal(packet_drops(fd, &drops), 0);
	assert_true(drops > 0);
	assert_int_equal(packet_drops(fd, &drops), 0);
	assert_int_equal(drops, 0); /* since the last call */
	close(fd);
	close(tx.fd);
}

/* ---- the owner table ---- */

static bool arrives(int to, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	char b;
	bool there;

	assert_int_equal(sendto(s, "x", 1, 0, (struct sockaddr *)&a, sizeof a), 1);
	there = proc_readable(to, 50);
	if (there)
		assert_int_equal(read(to, &b, 1), 1);
	close(s);
	return there;
}

static void test_the_kernel_is_kept_from_what_is_owned_and_gets_it_back(void **state)
{
	Held h = { ip("127.0.0.1"), IPPROTO_UDP, 61031 };
	Held echo = { ip("127.0.0.1"), IPPROTO_ICMP, 99 }, six = { ip("fd00::1"), IPPROTO_TCP, 80 };
	uint64_t dropped = 0;
	Nft *n;
	int fd;
	(void)state;

	NEED_NAMESPACE();
	n = nft_open(4242);
	assert_non_null(n);
	assert_string_equal(nft_table_name(n), "sonde-4242");
	assert_int_equal(nft_remove(n), 0); /* nothing was made */
	fd = hold_take(&h, 0);
	assert_true(arrives(fd, 61031));
	assert_int_equal(nft_own(n, (Held[]){ h, echo, six }, 3, true), 0);
	assert_false(arrives(fd, 61031));
	assert_int_equal(nft_dropped(n, &dropped), 0);
	assert_int_equal(dropped, 1);
	assert_int_equal(nft_own(n, &h, 1, false), 0);
	assert_true(arrives(fd, 61031));
	assert_int_equal(nft_own(n, &h, 1, true), 0);
	assert_false(arrives(fd, 61031));
	assert_int_equal(nft_remove(n), 0);
	assert_true(arrives(fd, 61031));
	nft_close(n);
	close(fd);
}

static void test_the_table_goes_with_its_owner(void **state)
{
	Held h = { ip("127.0.0.1"), IPPROTO_UDP, 61032 };
	int fd, ready[2];
	char b;
	Child c;
	(void)state;

	NEED_NAMESPACE();
	fd = hold_take(&h, 0);
	assert_int_equal(pipe(ready), 0);
	if (proc_fork(&c) == 0) {
		Nft *n = nft_open(4243);

		if (!n || nft_own(n, &h, 1, true) || write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &b, 1), 1);
	assert_false(arrives(fd, 61032));
	proc_kill(&c);
	assert_int_equal(proc_wait(&c, -1), 256 + SIGKILL);
	assert_true(arrives(fd, 61032));
	close(fd);
}

/* ---- libpcap ---- */

static void test_filters_are_compiled_and_run(void **state)
{
	struct bpf_program prog;
	const char *fault;
	uint8_t mem[64];
	Bytes f = lo_frame(mem, 0);
	(void)state;

	if (!pcap_lib_load())
		skip();
	assert_true(pcap_lib_compile("udp and dst port 61022", true, &prog, &fault));
	assert_true(pcap_lib_run(prog.bf_insns, f, 46));
	put_be16(mem + 36, 1);
	assert_false(pcap_lib_run(prog.bf_insns, f, 46));
	pcap_lib_free(&prog);
	assert_false(pcap_lib_compile("no such filter", true, &prog, &fault));
	assert_non_null(strstr(fault, "syntax error"));
}

static void test_io_reads_all_and_tells_a_full_file(void **state)
{
	(void)state;
	char buf[8] = { 0 };
	int p[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_write(p[1], BYTES("abcdef", 6)), 6);
	close(p[1]);
	assert_int_equal(io_read(p[0], buf, 4), 4); /* no more than there is room for */
	assert_int_equal(io_read(p[0], buf + 4, 4), 2); /* to the end */
	assert_string_equal(buf, "abcdef");
	close(p[0]);
	assert_int_equal(io_read(p[0], buf, 1), -EBADF);
	assert_true(full >= 0);
	assert_int_equal(io_write(full, BYTES("x", 1)), 0);
	assert_int_equal(errno, ENOSPC);
	close(full);
}

static void test_what_listens_is_told_with_its_process(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	char want[128], text[65536];
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), idle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), p[2];

	(void)state;
	NEED_NAMESPACE();
	assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(s, 1), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&at, &n), 0);
	assert_int_equal(pipe(p), 0);
	assert_true(listeners_write(p[1]));
	close(p[1]);
	ssize_t got = io_read(p[0], text, sizeof text - 1);

	assert_true(got > 0);
	text[got] = 0;
	snprintf(want, sizeof want,
		 "{\"listeners\":[{\"proto\":\"tcp\",\"addr\":\"127.0.0.1\",\"port\":%d,\"uid\":%d,\"process\":\"sys_test\",\"pid\":%d}],",
		 ntohs(at.sin_port), in_namespace && getuid() == 0 ? 0 : 65534, (int)getpid());
	assert_memory_equal(text, want, strlen(want)); /* the one that only exists is none */
	assert_non_null(strstr(text, "\"complete\":true}\n"));
	close(p[0]);
	close(s);
	close(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_io_reads_all_and_tells_a_full_file),
		cmocka_unit_test(test_the_two_clocks_agree_by_their_offset),
		cmocka_unit_test(test_timers_fire_at_their_time_and_at_once_for_the_past),
		cmocka_unit_test(test_a_clock_that_nobody_sets_has_no_step),
		cmocka_unit_test(test_messages_keep_their_boundaries_and_carry_descriptors),
		cmocka_unit_test(test_exit_codes_signals_and_patience),
		cmocka_unit_test(test_a_child_dies_with_its_parent),
		cmocka_unit_test(test_all_descriptors_but_some_are_closed),
		cmocka_unit_test(test_the_engine_reads_and_writes_its_descriptors_and_nothing_else),
		cmocka_unit_test(test_each_role_is_denied_what_it_has_no_row_for),
		cmocka_unit_test(test_without_capabilities_there_is_none_left),
		cmocka_unit_test(test_the_front_reaches_no_other_process_of_its_user),
		cmocka_unit_test(test_a_program_that_takes_over_its_checker_writes_an_answer_and_no_more),
		cmocka_unit_test(test_what_is_held_is_held_once),
		cmocka_unit_test(test_the_kernel_tells_its_links_addresses_and_routes),
		cmocka_unit_test(test_frames_are_stamped_recaptured_and_received),
		cmocka_unit_test(test_a_frame_stamped_after_it_was_there_is_not_believed),
		cmocka_unit_test(test_what_overflows_is_counted),
		cmocka_unit_test(test_the_kernel_is_kept_from_what_is_owned_and_gets_it_back),
		cmocka_unit_test(test_the_table_goes_with_its_owner),
		cmocka_unit_test(test_filters_are_compiled_and_run),
		cmocka_unit_test(test_what_listens_is_told_with_its_process),
	};

	in_namespace = unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) == 0 && lo_up() == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
