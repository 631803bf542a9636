/* SPDX-License-Identifier: Apache-2.0
 *
 * Two stacks in one process, back to back: what the code itself costs, without a kernel.
 *
 *     two_stacks bulk MBYTES [trust]   bytes from one to the other, as fast as one core can; trust:
 *                                      checksums are not verified, as of a local peer's frames
 *     two_stacks idle N                N connections that carried a little and wait
 *
 * prints JSON.  The stacks' time is virtual: each packet takes a microsecond.
 */
#include "tcpip/tcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PIECE = 1 << 16, PORT = 7000, PACKET_NS = 1000 };
static const size_t memory_bytes = (size_t)256 << 20;

typedef struct Pair {
	Arena arena[2];
	NetStack *s[2];
	Ip ip[2];
	int64_t now_ns;
	StackRx rx;
	uint64_t packets;
} Pair;

/* Of this process on its core: others on the machine are no part of the figure. */
static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *why)
{
	fprintf(stderr, "two_stacks: %s\n", why);
	exit(1);
}

static void pair_init(Pair *p, bool trust)
{
	for (unsigned i = 0; i < 2; i++) {
		void *m = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (m == MAP_FAILED)
			die("no memory");
		arena_init_zeroed(&p->arena[i], m, memory_bytes, NULL);
		p->s[i] = stack_new(&p->arena[i],
				    &(StackConfig){ .seed = i + 1, .max_bytes = memory_bytes - (1 << 20) });
		p->ip[i] = ip4(0x0a000001 + i);
	}
	p->rx = (StackRx){ .mtu = 1500, .csum_good = trust };
	p->now_ns = 1;
}

static TcpOpen open_of(const Pair *p, unsigned i, uint16_t sport)
{
	return (TcpOpen){ .src = p->ip[i],
			  .dst = p->ip[1 - i],
			  .sport = sport,
			  .dport = PORT,
			  .mtu = 1500,
			  .wscale = 10,
			  .sack = true,
			  .timestamps = true,
			  .window = 1 << 20,
			  .send_buffer = 1 << 20,
			  .ttl = 64 };
}

/* All that stack i has to say; false: nothing. */
static bool carry(Pair *p, unsigned i)
{
	StackOut out;
	bool any = false;

	while (stack_pull(p->s[i], p->now_ns, &out)) {
		p->now_ns += PACKET_NS;
		p->packets++;
		stack_input(p->s[1 - i], p->now_ns, out.packet, &p->rx);
		stack_sent(p->s[i], out.tag, p->now_ns);
		any = true;
	}
	return any;
}

static bool carry_both(Pair *p)
{
	bool there = carry(p, 0), back = carry(p, 1);

	return there || back;
}

static void settle(Pair *p)
{
	while (carry_both(p))
		;
}

/* Nothing moves: the next timer's time. */
static void wait_timer(Pair *p)
{
	int64_t a = stack_wake_ns(p->s[0]), b = stack_wake_ns(p->s[1]), wake = a < b ? a : b;

	if (wake == STACK_NEVER)
		die("nothing moves and nothing is due");
	if (wake > p->now_ns)
		p->now_ns = wake;
	stack_advance(p->s[0], p->now_ns);
	stack_advance(p->s[1], p->now_ns);
}

static void bulk(Pair *p, uint64_t total)
{
	static uint8_t buf[PIECE];
	TcpOpen o = open_of(p, 0, 20000), listen = open_of(p, 1, PORT);
	TcpListener *l = tcp_listen(p->s[1], p->ip[1], PORT, 1, &listen);
	TcpConn *a = tcp_connect(p->s[0], p->now_ns, &o), *b = NULL;
	uint64_t sent = 0, got = 0;
	double start = cpu_seconds();

	while (got < total) {
		size_t want = total - sent < PIECE ? (size_t)(total - sent) : PIECE, n;
		bool moved = carry_both(p);

		if (!b && !(b = tcp_accept(l)))
			goto next;
		while ((n = tcp_recv(b, p->now_ns, buf, PIECE))) {
			got += n;
			moved = true;
		}
		while (want && (n = tcp_send(a, p->now_ns, BYTES(buf, want)))) {
			sent += n;
			want = total - sent < PIECE ? (size_t)(total - sent) : PIECE;
			moved = true;
		}
	next:
		if (!moved)
			wait_timer(p);
	}
	double took = cpu_seconds() - start;

	if (tcp_check(a) || tcp_check(b))
		die(tcp_check(a) ? tcp_check(a) : tcp_check(b));
	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"gbit\": %.3f, \"packets\": %llu, \"retransmitted\": %llu}\n",
	       (unsigned long long)got, took, (double)got * 8 / took / 1e9, (unsigned long long)p->packets,
	       (unsigned long long)a->out.bytes_retransmitted);
}

/* One that sent and got a little. */
static void one_idle(Pair *p, TcpListener *l, uint16_t sport)
{
	TcpOpen o = open_of(p, 0, sport);
	TcpConn *a = tcp_connect(p->s[0], p->now_ns, &o), *b;
	uint8_t buf[16];

	if (!a)
		die("no connection");
	settle(p);
	b = tcp_accept(l);
	if (!b || tcp_send(a, p->now_ns, BYTES("hello", 5)) != 5 || tcp_send(b, p->now_ns, BYTES("there", 5)) != 5)
		die("not open");
	settle(p);
	if (tcp_recv(a, p->now_ns, buf, sizeof buf) != 5 || tcp_recv(b, p->now_ns, buf, sizeof buf) != 5)
		die("nothing came");
	p->now_ns += 100000000; /* what is to be acknowledged late */
	stack_advance(p->s[0], p->now_ns);
	stack_advance(p->s[1], p->now_ns);
	settle(p);
}

static void idle(Pair *p, uint32_t n)
{
	TcpOpen listen = open_of(p, 1, PORT);
	TcpListener *l = tcp_listen(p->s[1], p->ip[1], PORT, 16, &listen);
	size_t before = p->arena[0].used;

	for (uint32_t i = 0; i < n; i++)
		one_idle(p, l, (uint16_t)(1024 + i));
	printf("{\"connections\": %u, \"bytes\": %zu, \"peer_bytes\": %zu, \"each\": %zu}\n", n, p->arena[0].used,
	       p->arena[1].used, (p->arena[0].used - before) / n);
}

int main(int argc, char **argv)
{
	static Pair p;

	if (argc < 3) {
		fprintf(stderr, "usage: two_stacks bulk MBYTES [trust] | idle N\n");
		return 2;
	}
	pair_init(&p, argc > 3);
	if (argv[1][0] == 'b')
		bulk(&p, strtoull(argv[2], NULL, 10) * 1000000);
	else
		idle(&p, (uint32_t)strtoul(argv[2], NULL, 10));
	return 0;
}
