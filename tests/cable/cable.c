/* SPDX-License-Identifier: Apache-2.0
 *
 * A bad cable: carries frames between two interfaces of its namespace and loses,
 * delays, doubles, reorders, corrupts and slows them on the way, since common
 * test kernels have no netem.
 *
 * Each direction numbers the frames that count (all but ARP, ND and other
 * housekeeping, which pass untouched); what happens to a frame is a function of
 * (seed, direction, number, kind of fault), so a run can be repeated and a test can
 * plant "the 5th and the 17th are lost".  Time is the kernel's receive stamp, so a
 * late wake-up of this process adds nothing to a delay that is still to come.
 *
 * Frames from a veth peer may have a checksum still to be filled in
 * (PACKET_VNET_HDR says so): the cable fills it in before it harms the frame, so
 * corruption is seen as corruption.  Super-frames (GSO) are passed on as they are
 * and counted: turn segmentation off at the ends where frames must count one by one.
 *
 * Everything is allocated once (a pool of frames); a full pool is a loss with its
 * own counter.  Statistics are one JSON object on stdout at SIGTERM or SIGINT.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX (65536 + 64)
#define SMALL_MAX 2048
#define POOL_SMALL 16384
#define POOL_BIG 64
#define LIST_MAX 256
#define WINDOW_MAX 4096
#define NS_S 1000000000ll

/* ---- options: one struct a direction ---- */

typedef struct List {
	uint32_t n;
	uint64_t v[LIST_MAX];
} List;

typedef struct Faults {
	double loss, dup, reorder, corrupt; /* probabilities */
	double size_loss, busy_loss;
	int64_t delay_ns, jitter_ns, reorder_ns, dup_ns;
	int64_t alternate_ns;	/* added to every second frame */
	int64_t size_ns;	/* added per byte of the frame */
	uint64_t size_min;	/* size_loss is for frames of at least so many bytes of IP */
	uint64_t hold_every, hold_behind; /* each hold_every-th frame goes behind so many */
	int64_t hold_ns;	/* ... or after this time */
	double rate_Bps;	/* 0: unlimited */
	uint64_t queue_bytes;	/* of the rate's queue, tail drop */
	int64_t busy_ns;	/* half duplex: both directions had busy_frames in busy_ns */
	uint64_t busy_frames;
	uint64_t proto;		/* 0: each IP packet counts; else only this protocol */
	List drop, dupl;	/* numbers of frames, from 1 */
} Faults;

typedef enum OptKind { OPT_PROB, OPT_TIME, OPT_COUNT, OPT_RATE, OPT_LIST } OptKind;

typedef struct Opt {
	const char *name;
	OptKind kind;
	size_t off;
	const char *help;
} Opt;

#define F(field) offsetof(Faults, field)
static const Opt opts[] = {
	{ "loss", OPT_PROB, F(loss), "probability that a frame is lost" },
	{ "drop", OPT_LIST, F(drop), "numbers of the frames that are lost: 5,17,18" },
	{ "delay", OPT_TIME, F(delay_ns), "each frame is late by so much: 5ms" },
	{ "jitter", OPT_TIME, F(jitter_ns), "and by up to so much more, evenly spread, in order" },
	{ "alternate", OPT_TIME, F(alternate_ns), "every second frame is late by so much more, and overtaken" },
	{ "perbyte", OPT_TIME, F(size_ns), "and by so much for each byte of IP" },
	{ "dup", OPT_PROB, F(dup), "probability of a second copy" },
	{ "twice", OPT_LIST, F(dupl), "numbers of the frames that come twice" },
	{ "duplate", OPT_TIME, F(dup_ns), "the copy comes so much later" },
	{ "reorder", OPT_PROB, F(reorder), "probability that a frame is overtaken" },
	{ "reorderby", OPT_TIME, F(reorder_ns), "by those of this time (default 5ms)" },
	{ "hold", OPT_COUNT, F(hold_every), "every N-th frame is held ..." },
	{ "behind", OPT_COUNT, F(hold_behind), "... until so many later ones went" },
	{ "holdmax", OPT_TIME, F(hold_ns), "... or for this time (default 100ms)" },
	{ "corrupt", OPT_PROB, F(corrupt), "probability that one bit behind the headers flips" },
	{ "sizeloss", OPT_PROB, F(size_loss), "probability that a large frame is lost" },
	{ "sizemin", OPT_COUNT, F(size_min), "large: at least so many bytes of IP" },
	{ "rate", OPT_RATE, F(rate_Bps), "bits per second: 10mbit" },
	{ "queue", OPT_COUNT, F(queue_bytes), "bytes that wait for the rate (default 100000)" },
	{ "busyloss", OPT_PROB, F(busy_loss), "half duplex: loss while both directions are busy" },
	{ "busytime", OPT_TIME, F(busy_ns), "busy: within this time (default 20ms) ..." },
	{ "busyframes", OPT_COUNT, F(busy_frames), "... at least so many frames came (default 40)" },
	{ "proto", OPT_COUNT, F(proto), "only packets of this IP protocol count" },
};
#define N_OPTS (sizeof opts / sizeof opts[0])

/* ---- state ---- */

typedef struct Frame {
	int64_t due;
	uint64_t order; /* ties go by arrival */
	uint8_t *buf;	/* virtio_net_hdr, then the frame */
	uint32_t len;	/* with the header */
	uint8_t dir;
	bool big;
} Frame;

typedef struct Counters {
	uint64_t in, out, passed, lost, sizelost, collided, overflow, twice, reordered, corrupted,
		gso, filled, nopool, failed, drops;
} Counters;

typedef struct Dir {
	Faults f;
	Counters c;
	int rx, tx; /* sockets: frames come in on rx and leave by tx */
	uint64_t n; /* frames that counted */
	int64_t line_free, last_due;
	Frame held;
	bool has_held;
	uint64_t held_behind;
	int64_t recent[WINDOW_MAX]; /* arrival stamps, a ring: for half duplex */
	uint64_t recent_n;
} Dir;

static struct {
	Dir dir[2];
	uint64_t seed, order;
	Frame *heap;
	uint32_t heap_n, heap_cap;
	uint8_t *small[POOL_SMALL], *big[POOL_BIG];
	uint32_t small_n, big_n;
	FILE *log;
} C;

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_S + t.tv_nsec;
}

/* splitmix64's finaliser over all that decides; [0, 1). */
static double chance(unsigned dir, uint64_t n, unsigned kind)
{
	uint64_t z = C.seed * 0x9e3779b97f4a7c15u + (n * 2 + dir) * 0xbf58476d1ce4e5b9u + kind * 0x94d049bb133111ebu;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) / 9007199254740992.0;
}

enum { KIND_LOSS = 1, KIND_SIZE, KIND_BUSY, KIND_DUP, KIND_REORDER, KIND_CORRUPT, KIND_JITTER, KIND_BIT };

static bool listed(const List *l, uint64_t n)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i] == n)
			return true;
	return false;
}

/* ---- pool and heap ---- */

static void pool_init(void)
{
	uint8_t *s = malloc((size_t)POOL_SMALL * SMALL_MAX), *b = malloc((size_t)POOL_BIG * FRAME_MAX);
	C.heap_cap = POOL_SMALL + POOL_BIG;
	C.heap = malloc(sizeof(Frame) * C.heap_cap);
	if (!s || !b || !C.heap)
		exit(1);
	for (uint32_t i = 0; i < POOL_SMALL; i++)
		C.small[C.small_n++] = s + (size_t)i * SMALL_MAX;
	for (uint32_t i = 0; i < POOL_BIG; i++)
		C.big[C.big_n++] = b + (size_t)i * FRAME_MAX;
}

static bool frame_new(Frame *f, const uint8_t *buf, uint32_t len)
{
	f->big = len > SMALL_MAX;
	if (f->big ? C.big_n == 0 : C.small_n == 0)
		return false;
	f->buf = f->big ? C.big[--C.big_n] : C.small[--C.small_n];
	memcpy(f->buf, buf, len);
	f->len = len;
	return true;
}

static void frame_free(Frame *f)
{
	if (f->big)
		C.big[C.big_n++] = f->buf;
	else
		C.small[C.small_n++] = f->buf;
}

static bool frame_before(const Frame *a, const Frame *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void heap_push(Frame f)
{
	uint32_t i = C.heap_n++;
	for (; i > 0 && frame_before(&f, &C.heap[(i - 1) / 2]); i = (i - 1) / 2)
		C.heap[i] = C.heap[(i - 1) / 2];
	C.heap[i] = f;
}

static Frame heap_pop(void)
{
	Frame top = C.heap[0], last = C.heap[--C.heap_n];
	uint32_t i = 0;
	for (;;) {
		uint32_t k = 2 * i + 1;
		if (k >= C.heap_n)
			break;
		if (k + 1 < C.heap_n && frame_before(&C.heap[k + 1], &C.heap[k]))
			k++;
		if (!frame_before(&C.heap[k], &last))
			break;
		C.heap[i] = C.heap[k];
		i = k;
	}
	C.heap[i] = last;
	return top;
}

/* ---- what a frame is ---- */

#define VNET (sizeof(struct virtio_net_hdr))

/* Bytes of IP if the frame counts, else 0: ARP, ND, MLD and foreign EtherTypes are housekeeping. */
static uint32_t counting_bytes(const Faults *f, const uint8_t *p, uint32_t n)
{
	if (n < 34)
		return 0;
	unsigned type = (unsigned)p[12] << 8 | p[13];
	unsigned proto = type == ETH_P_IP ? p[23] : p[20];
	if (type != ETH_P_IP && type != ETH_P_IPV6)
		return 0;
	/* IPv6: ICMPv6 130..137 and 143 are ND and MLD; MLD sits behind a hop-by-hop header (0). */
	if (type == ETH_P_IPV6 &&
	    (proto == 0 || (proto == 58 && n > 54 && ((p[54] >= 130 && p[54] <= 137) || p[54] == 143))))
		return 0;
	if (f->proto && proto != f->proto)
		return 0;
	return type == ETH_P_IP ? (uint32_t)p[16] << 8 | p[17] : 40u + ((uint32_t)p[18] << 8 | p[19]);
}

/* The sender left the checksum to its device: RFC 1071 over what it says. */
static void checksum_fill(Dir *d, uint8_t *buf, uint32_t len)
{
	struct virtio_net_hdr h;
	memcpy(&h, buf, sizeof h);
	if (h.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		d->c.gso++;
		return;
	}
	if (!(h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return;
	uint8_t *p = buf + VNET, *end = buf + len;
	if (p + h.csum_start + h.csum_offset + 2 > end)
		return;
	uint64_t sum = 0;
	uint8_t *at = p + h.csum_start;
	for (; at + 1 < end; at += 2)
		sum += (uint64_t)at[0] << 8 | at[1];
	if (at < end)
		sum += (uint64_t)at[0] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	uint16_t v = (uint16_t)~sum;
	if (v == 0) /* RFC 768: zero would mean "none" */
		v = 0xffff;
	p[h.csum_start + h.csum_offset] = (uint8_t)(v >> 8);
	p[h.csum_start + h.csum_offset + 1] = (uint8_t)v;
	memset(buf, 0, VNET);
	d->c.filled++;
}

/* Flips one bit behind the IP and transport headers, so routing and ports stay. */
static bool corrupt(uint8_t *buf, uint32_t len, unsigned dir, uint64_t n)
{
	uint32_t from = (uint32_t)VNET + 14 + 28;
	if (len <= from)
		return false;
	uint64_t bit = (uint64_t)(chance(dir, n, KIND_BIT) * (double)(len - from) * 8);
	buf[from + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}

/* ---- half duplex ---- */

static bool dir_busy(const Dir *d, const Faults *f, int64_t at)
{
	uint64_t want = f->busy_frames;
	if (d->recent_n < want || want > WINDOW_MAX)
		return false;
	return d->recent[(d->recent_n - want) % WINDOW_MAX] >= at - f->busy_ns;
}

static void note_arrival(Dir *d, int64_t at)
{
	d->recent[d->recent_n++ % WINDOW_MAX] = at;
}

/* ---- one frame through the cable ---- */

typedef struct Fate {
	char text[64];
	bool lost;
} Fate;

static void fate_add(Fate *f, const char *what)
{
	size_t n = strlen(f->text);
	snprintf(f->text + n, sizeof f->text - n, "%s%s", n ? "+" : "", what);
}

static bool decide_loss(unsigned dir, uint64_t n, uint32_t ip_bytes, int64_t at, Fate *fate)
{
	Dir *d = &C.dir[dir];
	const Faults *f = &d->f;
	if (listed(&f->drop, n) || chance(dir, n, KIND_LOSS) < f->loss) {
		d->c.lost++;
		fate_add(fate, "lost");
	} else if (ip_bytes >= f->size_min && chance(dir, n, KIND_SIZE) < f->size_loss) {
		d->c.sizelost++;
		fate_add(fate, "sizelost");
	} else if (f->busy_loss > 0 && dir_busy(&C.dir[0], f, at) && dir_busy(&C.dir[1], f, at) &&
		   chance(dir, n, KIND_BUSY) < f->busy_loss) {
		d->c.collided++;
		fate_add(fate, "collided");
	} else {
		return false;
	}
	return true;
}

/* When the frame leaves the line's sender: the rate's queue, a single server. -1: queue full. */
static int64_t serialise(Dir *d, uint32_t bytes, int64_t at)
{
	if (d->f.rate_Bps <= 0)
		return at;
	int64_t start = at > d->line_free ? at : d->line_free;
	double waiting = (double)(start - at) / (double)NS_S * d->f.rate_Bps;
	if (waiting + bytes > (double)d->f.queue_bytes)
		return -1;
	d->line_free = start + (int64_t)((double)bytes / d->f.rate_Bps * (double)NS_S);
	return d->line_free;
}

static void enqueue(unsigned dir, const uint8_t *buf, uint32_t len, int64_t due)
{
	Frame f = { .due = due, .order = C.order++, .dir = (uint8_t)dir };
	if (C.heap_n + 2 >= C.heap_cap || !frame_new(&f, buf, len))
		C.dir[dir].c.nopool++;
	else
		heap_push(f);
}

static int64_t due_time(unsigned dir, uint64_t n, uint32_t ip_bytes, int64_t sent, Fate *fate)
{
	Dir *d = &C.dir[dir];
	const Faults *f = &d->f;
	int64_t due = sent + f->delay_ns + (int64_t)(chance(dir, n, KIND_JITTER) * (double)f->jitter_ns) +
		      f->size_ns * ip_bytes;
	if (due < d->last_due)
		due = d->last_due; /* jitter alone never reorders */
	d->last_due = due;
	if (f->alternate_ns && n % 2 == 0)
		due += f->alternate_ns;
	if (chance(dir, n, KIND_REORDER) < f->reorder) {
		d->c.reordered++;
		fate_add(fate, "reordered");
		due += f->reorder_ns;
	}
	return due;
}

static void release_held(Dir *d)
{
	d->has_held = false;
	heap_push(d->held);
}

/* True: the frame is held back by number, not by time. */
static bool hold(unsigned dir, uint64_t n, const uint8_t *buf, uint32_t len, int64_t due, Fate *fate)
{
	Dir *d = &C.dir[dir];
	if (!d->f.hold_every || n % d->f.hold_every || d->has_held)
		return false;
	d->held = (Frame){ .due = due + d->f.hold_ns, .dir = (uint8_t)dir };
	if (!frame_new(&d->held, buf, len))
		return false;
	d->has_held = true;
	d->held_behind = 0;
	d->c.reordered++;
	fate_add(fate, "held");
	return true;
}

static void after_one_more(Dir *d, int64_t due)
{
	if (!d->has_held || ++d->held_behind < d->f.hold_behind)
		return;
	d->held.due = due;
	d->held.order = C.order++;
	release_held(d);
}

static void log_frame(unsigned dir, uint64_t n, uint32_t ip_bytes, const Fate *fate, int64_t at, int64_t due)
{
	if (C.log)
		fprintf(C.log, "%s %llu %u %s %lld %lld\n", dir ? "ba" : "ab", (unsigned long long)n, ip_bytes,
			fate->text[0] ? fate->text : "ok", (long long)at, (long long)due);
}

static void carry(unsigned dir, uint8_t *buf, uint32_t len, uint32_t ip_bytes, int64_t at)
{
	Dir *d = &C.dir[dir];
	Fate fate = { 0 };
	uint64_t n = ++d->n;
	note_arrival(d, at);
	if (decide_loss(dir, n, ip_bytes, at, &fate)) {
		log_frame(dir, n, ip_bytes, &fate, at, -1);
		return;
	}
	int64_t sent = serialise(d, len - (uint32_t)VNET, at);
	if (sent < 0) {
		d->c.overflow++;
		fate_add(&fate, "overflow");
		log_frame(dir, n, ip_bytes, &fate, at, -1);
		return;
	}
	if (chance(dir, n, KIND_CORRUPT) < d->f.corrupt && corrupt(buf, len, dir, n)) {
		d->c.corrupted++;
		fate_add(&fate, "corrupted");
	}
	int64_t due = due_time(dir, n, ip_bytes, sent, &fate);
	if (!hold(dir, n, buf, len, due, &fate)) {
		enqueue(dir, buf, len, due);
		after_one_more(d, due);
	}
	if (listed(&d->f.dupl, n) || chance(dir, n, KIND_DUP) < d->f.dup) {
		d->c.twice++;
		fate_add(&fate, "twice");
		enqueue(dir, buf, len, due + d->f.dup_ns);
	}
	log_frame(dir, n, ip_bytes, &fate, at, due);
}

/* ---- sockets ---- */

static int64_t stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec t;
			memcpy(&t, CMSG_DATA(c), sizeof t);
			return t.tv_sec * NS_S + t.tv_nsec;
		}
	return now_ns();
}

/* One frame in; false if none is waiting. */
static bool receive(unsigned dir)
{
	static uint8_t buf[FRAME_MAX];
	union {
		char room[256];
		struct cmsghdr align;
	} ctl;
	Dir *d = &C.dir[dir];
	struct sockaddr_ll from = { 0 };
	struct iovec io = { buf, sizeof buf };
	struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &io, .msg_iovlen = 1,
			    .msg_control = ctl.room, .msg_controllen = sizeof ctl.room };
	ssize_t n = recvmsg(d->rx, &m, MSG_DONTWAIT);
	if (n < 0)
		return false;
	if (from.sll_pkttype == PACKET_OUTGOING || n < (ssize_t)(VNET + 14))
		return true;
	d->c.in++;
	checksum_fill(d, buf, (uint32_t)n);
	uint32_t ip_bytes = counting_bytes(&d->f, buf + VNET, (uint32_t)n - (uint32_t)VNET);
	int64_t at = stamp_of(&m);
	if (ip_bytes == 0) {
		d->c.passed++;
		enqueue(dir, buf, (uint32_t)n, at + d->f.delay_ns);
	} else {
		carry(dir, buf, (uint32_t)n, ip_bytes, at);
	}
	return true;
}

static void transmit(Frame *f)
{
	Dir *d = &C.dir[f->dir];
	for (unsigned tries = 0; tries < 1000; tries++) {
		if (send(d->tx, f->buf, f->len, 0) >= 0) {
			d->c.out++;
			frame_free(f);
			return;
		}
		if (errno != ENOBUFS && errno != EAGAIN)
			break;
		usleep(50);
	}
	d->c.failed++;
	frame_free(f);
}

static int open_side(const char *name)
{
	unsigned index = if_nametoindex(name);
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, room = 64 << 20;
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index };
	if (index == 0 || fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof at) < 0) {
		fprintf(stderr, "cable: %s: %s\n", name, index ? strerror(errno) : "no such interface");
		exit(1);
	}
	return fd;
}

/* ---- the loop ---- */

static void send_due(void)
{
	while (C.heap_n > 0 && C.heap[0].due <= now_ns()) {
		Frame f = heap_pop();
		transmit(&f);
	}
	for (unsigned i = 0; i < 2; i++)
		if (C.dir[i].has_held && C.dir[i].held.due <= now_ns())
			release_held(&C.dir[i]);
}

static int64_t next_due(void)
{
	int64_t due = C.heap_n ? C.heap[0].due : INT64_MAX;
	for (unsigned i = 0; i < 2; i++)
		if (C.dir[i].has_held && C.dir[i].held.due < due)
			due = C.dir[i].held.due;
	return due;
}

static void loop(const sigset_t *unblocked)
{
	struct pollfd p[2] = { { C.dir[0].rx, POLLIN, 0 }, { C.dir[1].rx, POLLIN, 0 } };
	while (!stop) {
		int64_t due = next_due(), left = due == INT64_MAX ? NS_S : due - now_ns();
		if (left < 0)
			left = 0;
		struct timespec t = { left / NS_S, left % NS_S };
		if (ppoll(p, 2, &t, unblocked) < 0 && errno != EINTR)
			break;
		/* A side at a time would let one starve the other. */
		for (unsigned i = 0; i < 64; i++) {
			bool a = receive(0), b = receive(1);
			if (!a && !b)
				break;
		}
		send_due();
	}
}

/* ---- options ---- */

static bool parse_time(const char *s, int64_t *ret)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double v = strtod(s, &end);
	for (unsigned i = 0; i < 4 && end != s; i++)
		if (strcmp(end, units[i].unit) == 0) {
			*ret = (int64_t)(v * units[i].ns);
			return true;
		}
	return false;
}

static bool parse_rate(const char *s, double *ret)
{
	static const struct { const char *unit; double bits; } units[] = {
		{ "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 } };
	char *end;
	double v = strtod(s, &end);
	for (unsigned i = 0; i < 4 && end != s; i++)
		if (strcmp(end, units[i].unit) == 0) {
			*ret = v * units[i].bits / 8;
			return true;
		}
	return false;
}

static bool parse_list(const char *s, List *ret)
{
	for (ret->n = 0; *s && ret->n < LIST_MAX;) {
		char *end;
		ret->v[ret->n++] = strtoull(s, &end, 10);
		if (end == s || (*end && *end != ','))
			return false;
		s = *end ? end + 1 : end;
	}
	return *s == 0;
}

static bool opt_set(Faults *f, const Opt *o, const char *value)
{
	void *at = (char *)f + o->off;
	char *end;
	switch (o->kind) {
	case OPT_PROB:
		*(double *)at = strtod(value, &end);
		return *end == 0 && end != value && *(double *)at >= 0 && *(double *)at <= 1;
	case OPT_COUNT:
		*(uint64_t *)at = strtoull(value, &end, 10);
		return *end == 0 && end != value;
	case OPT_TIME:
		return parse_time(value, at);
	case OPT_RATE:
		return parse_rate(value, at);
	case OPT_LIST:
		return parse_list(value, at);
	}
	return false;
}

/* "loss=0.1" is for both directions, "ab.loss=0.1" for one. */
static bool option(const char *arg)
{
	unsigned from = 0, to = 2;
	if (strncmp(arg, "ab.", 3) == 0 || strncmp(arg, "ba.", 3) == 0) {
		from = arg[0] == 'b';
		to = from + 1;
		arg += 3;
	}
	const char *eq = strchr(arg, '=');
	if (!eq)
		return false;
	if (strncmp(arg, "seed=", 5) == 0) {
		C.seed = strtoull(eq + 1, NULL, 10);
		return true;
	}
	if (strncmp(arg, "log=", 4) == 0)
		return (C.log = fopen(eq + 1, "we")) != NULL;
	for (size_t i = 0; i < N_OPTS; i++)
		if (strlen(opts[i].name) == (size_t)(eq - arg) && strncmp(arg, opts[i].name, (size_t)(eq - arg)) == 0) {
			bool ok = true;
			for (unsigned d = from; d < to; d++)
				ok = ok && opt_set(&C.dir[d].f, &opts[i], eq + 1);
			return ok;
		}
	return false;
}

static int usage(void)
{
	fprintf(stderr, "usage: cable [[ab.|ba.]OPTION=VALUE ...] IFACE_A IFACE_B\n"
			"  seed         all decisions follow from it (default 0)\n"
			"  log          file: a line for each frame that counts: dir n bytes fate arrival due\n");
	for (size_t i = 0; i < N_OPTS; i++)
		fprintf(stderr, "  %-12s %s\n", opts[i].name, opts[i].help);
	return 2;
}

static void print_stats(void)
{
	const char *sep = "{";
	for (unsigned i = 0; i < 2; i++) {
		Counters *c = &C.dir[i].c;
		struct tpacket_stats st = { 0 };
		socklen_t len = sizeof st;
		getsockopt(C.dir[i].rx, SOL_PACKET, PACKET_STATISTICS, &st, &len);
		c->drops = st.tp_drops;
		printf("%s\"%s\": {", sep, i ? "ba" : "ab");
		sep = ", ";
#define P(name) printf("\"" #name "\": %llu, ", (unsigned long long)c->name)
		P(in); P(out); P(passed); P(lost); P(sizelost); P(collided); P(overflow); P(twice);
		P(reordered); P(corrupted); P(gso); P(filled); P(nopool); P(failed); P(drops);
#undef P
		printf("\"counted\": %llu}", (unsigned long long)C.dir[i].n);
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	const Faults defaults = { .reorder_ns = 5 * NS_S / 1000, .hold_ns = NS_S / 10, .hold_behind = 1,
				  .queue_bytes = 100000, .busy_ns = NS_S / 50, .busy_frames = 40 };
	C.dir[0].f = C.dir[1].f = defaults;
	if (argc < 3)
		return usage();
	for (int i = 1; i < argc - 2; i++)
		if (!option(argv[i])) {
			fprintf(stderr, "cable: bad option %s\n", argv[i]);
			return usage();
		}
	pool_init();
	sigset_t block, before;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, &before);
	struct sigaction sa = { .sa_handler = on_signal };
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	prctl(PR_SET_TIMERSLACK, 1ul); /* default: 50 us late */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	C.dir[0].rx = C.dir[1].tx = open_side(argv[argc - 2]);
	C.dir[1].rx = C.dir[0].tx = open_side(argv[argc - 1]);
	fprintf(stderr, "ready\n");
	loop(&before);
	print_stats();
	return C.log && fclose(C.log) != 0;
}
