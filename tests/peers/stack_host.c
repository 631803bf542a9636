/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own stack as a host: as kernel_host, but the connection is a NetStack's, driven over
 * an AF_PACKET socket in the lab's namespace.  One JSON line a connection: the streams, the
 * state, the counters.
 *
 *     stack_host connect|listen iface=I mac=PEER'S src=A dst=A port=P  [send=N] [seed=S] [n=CONNECTIONS]
 *                [mtu=1500] [cc=newreno] [plain: no options] [ecn] [window=N] [windowmax=N] [time=SECONDS]
 *                [linger=SECONDS] [events: to stderr] [udp: datagrams instead, see udp_host()]
 */
#include "stream.h"
#include "packets.h"

#include "tcpip/tcp.h"
#include "tcpip/udp.h"

#include <sys/mman.h>

enum { PIECE = 1 << 16, CONNS = 1024, FIRST_PORT = 20000 };
static const size_t memory_bytes = (size_t)512 << 20;

typedef struct App {
	TcpConn *c; /* NULL: not yet, or told */
	Way in, out;
	bool closed, eof;
} App;

typedef struct Host {
	NetStack *s;
	TcpListener *l;
	PacketIo io;
	TcpOpen open;
	App app[CONNS];
	uint32_t n, started, ended;
	uint64_t total, seed;
	int64_t start_ns, end_ns;
	bool listens, events;
} Host;

/* ---- what is told ---- */

static void print_events(const TcpConn *c)
{
	TcpLogIter it = { 0 };
	TcpEvent e;
	char text[200];

	while (tcp_event_next(c, &it, &e)) {
		tcp_event_text(&e, text, sizeof text);
		fprintf(stderr, "%12.6f %s\n", (double)(e.ns - c->created_ns) / 1e9, text);
	}
}

static void print_num(const char *name, uint64_t v)
{
	printf(", \"%s\": %llu", name, (unsigned long long)v);
}

static void print_conn(Host *h, App *a)
{
	const TcpConn *c = a->c;
	const char *bad = tcp_check(c);

	if (h->events)
		print_events(c);
	printf("{");
	way_print(&a->in, "received");
	printf(", ");
	way_print(&a->out, "sent");
	printf(", \"state\": \"%s\", \"tcp_state\": \"%s\", \"error\": \"%s\", \"check\": \"%s\"", tcp_public_state(c),
	       tcp_state_name(c->state), tcp_error_text(c->error), bad ? bad : "");
	print_num("handshake_ns", (uint64_t)c->handshake_ns);
	print_num("srtt_ns", (uint64_t)c->srtt_ns);
	print_num("mtu", c->mtu);
	print_num("snd_mss", c->snd_mss);
	print_num("cwnd", c->cwnd);
	print_num("segments_out", c->out.segments);
	print_num("segments_in", c->in.segments);
	print_num("retransmitted", c->out.bytes_retransmitted);
	print_num("fast", c->out.fast);
	print_num("rto", c->out.rto);
	print_num("tlp", c->out.tlp);
	print_num("timeouts", c->out.timeouts);
	print_num("syn_retries", c->out.syn_retries);
	print_num("recoveries", c->out.recoveries);
	print_num("spurious", c->out.spurious_dsack + c->out.spurious_eifel);
	print_num("mtu_changes", c->out.mtu_changes);
	print_num("reordered", c->out.reordered);
	print_num("not_sent", c->out.not_sent);
	print_num("csum_errors", c->in.csum_errors);
	print_num("out_of_order", c->in.out_of_order);
	print_num("duplicate_bytes", c->in.bytes_dup);
	print_num("icmp", c->in.icmp);
	print_num("resets", c->in.resets);
	print_num("ce", c->in.ce_in);
	printf(", \"ecn\": %s}\n", c->ecn_ok ? "true" : "false");
	fflush(stdout);
}

/* ---- connections ---- */

static void start_one(Host *h)
{
	App *a = &h->app[h->started];

	if (h->listens) {
		a->c = tcp_accept(h->l);
		if (!a->c)
			return;
	} else {
		h->open.sport = (uint16_t)(FIRST_PORT + h->started);
		a->c = tcp_connect(h->s, clock_ns(), &h->open);
		if (!a->c) {
			fprintf(stderr, "tcp_connect: refused\n");
			exit(1);
		}
	}
	sha256_init(&a->in.sha);
	sha256_init(&a->out.sha);
	h->started++;
}

static bool receive_some(App *a)
{
	static uint8_t buf[PIECE];
	size_t n = tcp_recv(a->c, clock_ns(), buf, sizeof buf);

	if (n)
		way_add(&a->in, BYTES(buf, n));
	a->eof = tcp_eof(a->c);
	return n;
}

static bool send_some(Host *h, App *a)
{
	static uint8_t buf[PIECE];
	uint64_t off = a->out.bytes & ~UINT64_C(7), skip = a->out.bytes - off;
	size_t n = h->total - off < PIECE ? (size_t)(h->total - off) : PIECE;

	if (a->out.bytes == h->total || tcp_send_room(a->c) == 0)
		return false;
	stream_fill(h->seed, off, buf, n);
	size_t taken = tcp_send(a->c, clock_ns(), BYTES(buf + skip, n - skip));
	if (taken)
		way_add(&a->out, BYTES(buf + skip, taken));
	return taken;
}

/* True: something moved. */
static bool drive(Host *h, App *a)
{
	TcpConn *c = a->c;
	bool moved = false;

	while (receive_some(a))
		moved = true;
	while (send_some(h, a))
		moved = true;
	if (!a->closed && a->out.bytes == h->total && (h->total || a->eof) && c->was_open) {
		tcp_close(c, clock_ns());
		a->closed = moved = true;
	}
	if (c->state == TCP_CLOSED || (c->state == TCP_TIME_WAIT && a->eof)) {
		print_conn(h, a);
		tcp_release(c, clock_ns());
		a->c = NULL;
		h->ended++;
	}
	return moved;
}

static bool drive_all(Host *h)
{
	bool moved = false;

	if (h->started < h->n)
		start_one(h);
	for (uint32_t i = 0; i < h->started; i++)
		if (h->app[i].c)
			moved |= drive(h, &h->app[i]);
	return moved;
}

static void turn(Host *h)
{
	bool busy = packets_receive(&h->io, h->s);

	if (stack_wake_ns(h->s) <= clock_ns())
		stack_advance(h->s, clock_ns());
	busy |= packets_send(&h->io, h->s);
	if (!busy) {
		int64_t wake = stack_wake_ns(h->s), soon = clock_ns() + 100000000;

		packets_wait(&h->io, wake < soon ? wake : soon);
	}
}

static void run(Host *h, double linger)
{
	while (h->ended < h->n && clock_ns() < h->end_ns) {
		drive_all(h);
		turn(h);
	}
	for (uint32_t i = 0; i < h->started; i++)
		if (h->app[i].c)
			print_conn(h, &h->app[i]);
	for (int64_t until = clock_ns() + (int64_t)(linger * 1e9); clock_ns() < until;)
		turn(h);
}

/* ---- datagrams ---- */

/* Sends `n` datagrams of `send` bytes, one each time one came back or 200 ms passed; tells
 * how many echoes were the same, and the last ICMP error. */
static int udp_host(Host *h, uint32_t size)
{
	static uint8_t out[PIECE], in[PIECE];
	DgramSocket *d = dgram_open(h->s, clock_ns(),
				    &(DgramOpen){ .src = h->open.src,
						  .dst = h->open.dst,
						  .sport = FIRST_PORT,
						  .dport = h->open.dport,
						  .mtu = h->open.mtu,
						  .ttl = 64 });
	uint32_t same = 0, sent = 0;
	DgramIn got = { 0 };

	stream_fill(h->seed, 0, out, size);
	for (int64_t next = 0; d && clock_ns() < h->end_ns && (sent < h->n || clock_ns() < next);) {
		if (sent < h->n && clock_ns() >= next) {
			sent += dgram_send(d, BYTES(out, size)) == DGRAM_QUEUED;
			next = clock_ns() + 200000000;
		}
		while (dgram_recv(d, in, sizeof in, &got)) {
			same += got.bytes == size && memcmp(in, out, size) == 0;
			next = sent < h->n ? 0 : next;
		}
		turn(h);
	}
	printf("{\"sent\": %u, \"same\": %u, \"fragments\": %llu, \"fragmented\": %llu, \"icmp\": %u, \"mtu\": %u}\n",
	       sent, same, (unsigned long long)d->count.fragments, (unsigned long long)d->count.received_fragmented,
	       d->error.icmp, d->mtu);
	return 0;
}

/* ---- the command line ---- */

static Ip address(const char *text)
{
	Ip ip;

	if (!ip_parse(str_c(text), &ip)) {
		fprintf(stderr, "%s: no address\n", text);
		exit(2);
	}
	return ip;
}

static void read_open(int argc, char **argv, TcpOpen *o)
{
	bool plain = option_is(argc, argv, "plain");

	o->src = address(option(argc, argv, "src", ""));
	o->dst = address(option(argc, argv, "dst", ""));
	o->dport = (uint16_t)option_num(argc, argv, "port", 7000);
	o->mtu = (uint32_t)option_num(argc, argv, "mtu", 1500);
	o->wscale = plain ? WSCALE_NONE : 10;
	o->sack = o->timestamps = !plain;
	o->ecn = option_is(argc, argv, "ecn");
	o->window = (uint32_t)option_num(argc, argv, "window", 65535);
	o->window_max = (uint32_t)option_num(argc, argv, "windowmax", 6 << 20);
	o->send_buffer = (uint32_t)option_num(argc, argv, "sendbuf", 4 << 20);
	o->ttl = 64;
	o->log = option_is(argc, argv, "events");
	o->cc = strcmp(option(argc, argv, "cc", "cubic"), "newreno") ? TCP_CUBIC : TCP_NEWRENO;
}

int main(int argc, char **argv)
{
	static Host h;
	void *memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Arena a;

	if (memory == MAP_FAILED)
		return 1;
	arena_init_zeroed(&a, memory, memory_bytes, NULL);
	read_open(argc, argv, &h.open);
	h.total = (uint64_t)option_num(argc, argv, "send", 0);
	h.seed = (uint64_t)option_num(argc, argv, "seed", 1);
	h.n = (uint32_t)option_num(argc, argv, "n", 1);
	h.end_ns = clock_ns() + option_num(argc, argv, "time", 60) * INT64_C(1000000000);
	h.listens = option_is(argc, argv, "listen");
	h.events = option_is(argc, argv, "events");
	h.s = stack_new(&a, &(StackConfig){ .seed = h.seed, .max_bytes = memory_bytes - (1 << 20) });
	packets_open(&h.io, option(argc, argv, "iface", "eth0"), option(argc, argv, "mac", ""), h.open.src.v, h.open.mtu);
	if (option_is(argc, argv, "udp"))
		return udp_host(&h, (uint32_t)h.total);
	if (h.listens) {
		h.l = tcp_listen(h.s, h.open.src, h.open.dport, 64, &h.open);
		printf("ready\n");
		fflush(stdout);
	}
	run(&h, (double)option_num(argc, argv, "linger", 0));
	return 0;
}
