/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine by script, behind the real opener, netd, loader and gate: tests say
 * line by line what it declares and does, and read line by line what it heard.
 *
 *   gate_driver --tsc        can this machine close the time-stamp counter?
 *   gate_driver [--write FILE] [--iface NAME] [--read FILE] SCRIPT
 *
 * Declarations, before the first other line:
 *   peer ADDR[-ADDR]|NAME PROTO DPORT|- SPORT|- [src=ADDR]    an emission; a range of ports is LO-HI
 *   reach ADDR[-ADDR] WORD...        a declared reach() with words
 *   bound NAME VALUE                 budget(NAME=VALUE)
 *   capture [FILTER]  filter TEXT  iface NAME  ask routes|neighbors|route ADDR
 * Then, one after the other:
 *   emit ID KIND PURPOSE IFACE DELAY_US HEX     KIND 4 6 1; DELAY from now on; - : at once
 *   settle             until each frame is SENT or NOTSENT
 *   wait MS            reads for so long
 *   route ID ADDR      claim ID PROTO PORT ADDR      now
 *   flood COUNT HEX    as fast as there is room; the last 4 bytes count
 *   raw HEX            bytes that are no message
 *   try WHAT           something that the sandbox forbids
 *   spin               for ever, deaf to all
 *   end CODE
 * Printed: `go EPOCH SEED`, `sent ID NS SOURCE QUEUE PACED IFACE`, `frame NS SOURCE CSUM IFACE
 * FLAGS FIRST ORIG HEX`, `notsent ID REASON TEXT`, and so on; at the end `exit CODE WHY`.
 */
#include "base/units.h"
#include "deal/manifest_codec.h"
#include "gate/run.h"
#include "port/gate.h"
#include "port/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, SCRIPT = 8 << 20, WORDS = 12, WINDOW = 1024 };

typedef struct Driver {
	char *script;
	GatePort port;
	Writer out; /* TEXT messages, a datagram at a time */
	int out_fd;
	Arena a;
	Manifest m;
	int64_t now;   /* the newest stamp read */
	uint32_t open; /* emitted, not yet answered */
	bool quiet;    /* during a flood: figures only */
	uint64_t sent, notsent, frames;
	bool gone, declared;
} Driver;

/* ---- telling ---- */

static void out_flush(Driver *d)
{
	if (d->out.n && write(d->out_fd, d->out.p, d->out.n) < 0)
		d->gone = true;
	d->out.n = 0;
}

__attribute__((format(printf, 2, 3))) static void say(Driver *d, const char *fmt, ...)
{
	static char text[1024];
	va_list ap;
	Msg m = { .type = MSG_TEXT };
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	m.text.text = BYTES(text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
	if (!msg_put(&d->out, &m)) {
		out_flush(d);
		msg_put(&d->out, &m);
	}
}

static void say_hex(Driver *d, Bytes b)
{
	char hex[801];
	size_t n = b.n < 400 ? b.n : 400;

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", b.p[i]);
	hex[2 * n] = 0;
	say(d, "%s\n", hex);
}

static void emit(Driver *d, const Msg *m)
{
	d->port.port.emit(&d->port.port, m);
}

/* ---- hearing ---- */

static const char *ip_text(Ip ip)
{
	static char text[4][IP_TEXT];
	static unsigned k;
	char *t = text[k++ % 4];

	if (!ip.v)
		return "-";
	ip_format(ip, t);
	return t;
}

static void clock_seen(Driver *d, int64_t t)
{
	if (t != NS_NONE && t > d->now)
		d->now = t;
}

static void hear_facts(Driver *d, const Msg *m)
{
	switch (m->type) {
	case MSG_PIN:
		say(d, "pin %.*s %s\n", (int)m->pin.name.n, (const char *)m->pin.name.p, ip_text(m->pin.addr));
		break;
	case MSG_IFACE:
		say(d, "iface %u %.*s %012llx %u %u %u\n", m->iface.index, (int)m->iface.name.n,
		    (const char *)m->iface.name.p, (unsigned long long)m->iface.mac, m->iface.mtu, m->iface.up,
		    m->iface.ether);
		break;
	case MSG_ADDR:
		say(d, "addr %u %s %u\n", m->addr.iface, ip_text(m->addr.ip), m->addr.bits);
		break;
	case MSG_ROUTE_ROW:
		say(d, "route_row %s %u %s %u %s\n", ip_text(m->route_row.net), m->route_row.bits,
		    ip_text(m->route_row.gw), m->route_row.iface, ip_text(m->route_row.src));
		break;
	case MSG_NEIGH:
		say(d, "neigh %u %s %012llx %.*s\n", m->neigh.iface, ip_text(m->neigh.ip),
		    (unsigned long long)m->neigh.mac, (int)m->neigh.state.n, (const char *)m->neigh.state.p);
		break;
	case MSG_OWN_PORT:
		say(d, "own_port %u %u %s\n", m->own_port.proto, m->own_port.port, ip_text(m->own_port.src));
		break;
	case MSG_RESOLVER:
		say(d, "resolver %s\n", ip_text(m->resolver.addr));
		break;
	case MSG_GO:
		say(d, "go %lld %llu %lld\n", (long long)m->go.epoch, (unsigned long long)m->go.seed,
		    (long long)m->go.time_limit);
		break;
	default:
		break;
	}
}

static void hear_sent(Driver *d, const Msg *m)
{
	d->open--;
	d->sent++;
	clock_seen(d, m->sent.tx_ns);
	if (!d->quiet)
		say(d, "sent %u %lld %s %lld %lld %u\n", m->sent.tx_id, (long long)m->sent.tx_ns,
		    stamp_text((StampSource)m->sent.source), (long long)m->sent.queue_ns, (long long)m->sent.paced_ns,
		    m->sent.iface);
}

static void hear_notsent(Driver *d, const Msg *m)
{
	d->open--;
	d->notsent++;
	say(d, "notsent %u %u %s: %.*s\n", m->notsent.tx_id, m->notsent.reason,
	    notsent_text((NotSent)m->notsent.reason), (int)m->notsent.detail.n, (const char *)m->notsent.detail.p);
}

static void hear_frame(Driver *d, const Msg *m)
{
	d->frames++;
	clock_seen(d, m->frame.rx_ns);
	if (d->quiet)
		return;
	say(d, "frame %lld %s %u %u %u %u %u %zu ", (long long)m->frame.rx_ns, stamp_text((StampSource)m->frame.source),
	    m->frame.csum, m->frame.iface, m->frame.flags, m->frame.first, m->frame.orig_len, m->frame.data.n);
	say_hex(d, m->frame.data);
}

static void hear(Driver *d, const Msg *m)
{
	switch (m->type) {
	case MSG_SENT:
		hear_sent(d, m);
		break;
	case MSG_NOTSENT:
		hear_notsent(d, m);
		break;
	case MSG_FRAME:
		hear_frame(d, m);
		break;
	case MSG_ROUTE_OK:
		say(d, "route_ok %u %u %u %s %s %u %.*s\n", m->route_ok.id, m->route_ok.ok, m->route_ok.iface,
		    ip_text(m->route_ok.src), ip_text(m->route_ok.gw), m->route_ok.mtu, (int)m->route_ok.detail.n,
		    (const char *)m->route_ok.detail.p);
		break;
	case MSG_CLAIMED:
		say(d, "claimed %u %u %u %.*s\n", m->claimed.id, m->claimed.ok, m->claimed.port,
		    (int)m->claimed.detail.n, (const char *)m->claimed.detail.p);
		break;
	case MSG_TICK:
		clock_seen(d, m->tick.now);
		break;
	case MSG_DROPS:
		say(d, "drops %llu %llu\n", (unsigned long long)m->drops.capture, (unsigned long long)m->drops.backlog);
		break;
	case MSG_STOP:
		say(d, "stop %u %.*s\n", m->stop.reason, (int)m->stop.detail.n, (const char *)m->stop.detail.p);
		break;
	default:
		hear_facts(d, m);
	}
}

static bool hear_one(Driver *d, Msg *m)
{
	if (!d->port.port.wait(&d->port.port, m)) {
		if (!d->gone)
			say(d, "gone\n");
		d->gone = true;
		return false;
	}
	hear(d, m);
	return true;
}

static void hear_until(Driver *d, MsgType type)
{
	Msg m = { 0 };

	while (!d->gone && hear_one(d, &m) && m.type != type)
		;
}

/* ---- declaring ---- */

static bool target(Arena *a, const char *text, Target *ret)
{
	const char *dash = strchr(text, '-');

	*ret = (Target){ 0 };
	if (dash && ip_parse((Str){ text, (size_t)(dash - text) }, &ret->lo) && ip_parse(str_c(dash + 1), &ret->hi))
		return true;
	if (ip_parse(str_c(text), &ret->lo)) {
		ret->hi = ret->lo;
		return true;
	}
	ret->name = (Str){ arena_copy(a, text, strlen(text)), strlen(text) };
	return true;
}

static void ports(Arena *a, const char *text, PortSet *s)
{
	unsigned lo, hi;
	int n = sscanf(text, "%u-%u", &lo, &hi);

	if (n >= 1)
		ports_add(a, s, (uint16_t)lo, (uint16_t)(n == 2 ? hi : lo));
}

static void on_peer(Driver *d, char **w, unsigned n)
{
	Emission *e = vec_push(&d->a, &d->m.emit, (Emission){ .proto = (uint8_t)atoi(w[2]) });

	target(&d->a, w[1], &e->peer);
	if (e->peer.name.n)
		vec_push(&d->a, &d->m.names, e->peer.name);
	ports(&d->a, w[3], &e->dports);
	ports(&d->a, w[4], &e->sports);
	if (n > 5 && strncmp(w[5], "src=", 4) == 0) {
		e->src_set = ip_parse(str_c(w[5] + 4), &e->src_lo);
		e->src_hi = e->src_lo;
	}
}

static void on_reach(Driver *d, char **w, unsigned n)
{
	Reach *r = vec_push(&d->a, &d->m.decls.reach, (Reach){ .alone = true });

	target(&d->a, w[1], &r->target);
	for (unsigned i = 2; i < n; i++)
		for (int k = 0; k < WORD_N; k++)
			if (strcmp(word_name((ReachWord)k), w[i]) == 0) {
				r->words |= 1u << k;
				r->alone = false;
			}
}

static void on_bound(Driver *d, char **w, unsigned n)
{
	(void)n;
	for (int b = 0; b < BOUND_N; b++)
		if (strcmp(bound_name((Bound)b), w[1]) == 0) {
			d->m.decls.budget.v[b] = strtoll(w[2], NULL, 10);
			d->m.decls.budget.declared |= 1u << b;
		}
	if (d->m.worst.packets == 0)
		d->m.worst.packets = 16;
}

static Str rest(Driver *d, char **w, unsigned n)
{
	Sb text = sb(&d->a);

	for (unsigned i = 1; i < n; i++)
		sb_printf(&text, "%s%s", i > 1 ? " " : "", w[i]);
	return sb_done(&text);
}

static void on_capture(Driver *d, char **w, unsigned n)
{
	Str text = rest(d, w, n);

	vec_push(&d->a, &d->m.decls.capture, (CaptureDecl){ .all = text.n == 0, .filter = text });
	vec_push(&d->a, &d->m.filters, text);
}

static void on_iface(Driver *d, char **w, unsigned n)
{
	vec_push(&d->a, &d->m.ifaces, rest(d, w, n));
}

static void on_ask(Driver *d, char **w, unsigned n)
{
	LocalQuestion *q = vec_push(&d->a, &d->m.local, (LocalQuestion){ .kind = LOCAL_ROUTES });

	if (strcmp(w[1], "neighbors") == 0)
		q->kind = LOCAL_NEIGHBORS;
	if (n > 2 && ip_parse(str_c(w[2]), &q->dst))
		q->kind = LOCAL_ROUTE;
}

static void declare(Driver *d)
{
	Writer w;

	if (d->declared)
		return;
	d->declared = true;
	w = writer(arena_alloc(&d->a, 65536), 65536);
	if (!manifest_encode(&d->m, &w))
		say(d, "manifest does not encode\n");
	emit(d, &(Msg){ .type = MSG_MANIFEST, .manifest.data = wr_done(&w) });
	hear_until(d, MSG_GO);
}

/* ---- doing ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static Bytes bytes_of(Driver *d, const char *text)
{
	uint8_t *p = arena_alloc(&d->a, strlen(text) / 2 + 1);
	size_t n = 0;

	for (; hex(text[0]) >= 0 && hex(text[1]) >= 0; text += 2)
		p[n++] = (uint8_t)(hex(text[0]) << 4 | hex(text[1]));
	return BYTES(p, n);
}

static void on_emit(Driver *d, char **w, unsigned n)
{
	if (n < 7)
		return;
	emit(d, &(Msg){ .type = MSG_EMIT,
			.emit = { .tx_id = (uint32_t)atoi(w[1]),
				  .kind = (uint8_t)atoi(w[2]),
				  .purpose = (uint8_t)atoi(w[3]),
				  .iface = (uint16_t)atoi(w[4]),
				  .not_before = w[5][0] == '-' ? NS_NONE : d->now + atoll(w[5]) * NS_PER_US,
				  .data = bytes_of(d, w[6]) } });
	d->open++;
}

static void on_settle(Driver *d, char **w, unsigned n)
{
	Msg m;

	(void)w;
	(void)n;
	while (d->open && !d->gone)
		hear_one(d, &m);
}

static void on_now(Driver *d, char **w, unsigned n)
{
	(void)w;
	(void)n;
	emit(d, &(Msg){ .type = MSG_NOW, .now.id = 1 });
	hear_until(d, MSG_TICK);
}

static void on_wait(Driver *d, char **w, unsigned n)
{
	on_now(d, w, n);
	if (d->gone)
		return;
	emit(d, &(Msg){ .type = MSG_WAIT, .wait = { .id = 2, .wake_at = d->now + atoll(w[1]) * NS_PER_MS } });
	hear_until(d, MSG_TICK);
}

static void on_route(Driver *d, char **w, unsigned n)
{
	Msg m = { .type = MSG_ROUTE, .route.id = (uint32_t)atoi(w[1]) };

	(void)n;
	ip_parse(str_c(w[2]), &m.route.dst);
	emit(d, &m);
	hear_until(d, MSG_ROUTE_OK);
}

static void on_claim(Driver *d, char **w, unsigned n)
{
	Msg m = { .type = MSG_CLAIM, .claim = { (uint32_t)atoi(w[1]), (uint8_t)atoi(w[2]), (uint16_t)atoi(w[3]), { 0 } } };

	(void)n;
	ip_parse(str_c(w[4]), &m.claim.src);
	emit(d, &m);
	hear_until(d, MSG_CLAIMED);
}

static void on_flood(Driver *d, char **w, unsigned n)
{
	uint32_t count = (uint32_t)atoi(w[1]);
	Bytes b = bytes_of(d, w[2]);
	uint8_t *p = arena_copy(&d->a, b.p, b.n);
	Msg m;

	(void)n;
	on_now(d, w, n);
	int64_t from = d->now;
	d->quiet = true;
	for (uint32_t i = 0; i < count && !d->gone; i++) {
		put_be32(p + b.n - 4, i);
		emit(d, &(Msg){ .type = MSG_EMIT,
				.emit = { .tx_id = i, .kind = 4, .not_before = NS_NONE, .data = BYTES(p, b.n) } });
		d->open++;
		while (d->open >= WINDOW && !d->gone)
			hear_one(d, &m);
	}
	on_settle(d, w, n);
	d->quiet = false;
	say(d, "flood %llu sent %llu notsent %llu frames %lld ns\n", (unsigned long long)d->sent,
	    (unsigned long long)d->notsent, (unsigned long long)d->frames, (long long)(d->now - from));
}

static void on_raw(Driver *d, char **w, unsigned n)
{
	Bytes b = bytes_of(d, w[1]);

	(void)n;
	gate_port_flush(&d->port);
	if (write(d->port.fd, b.p, b.n) < 0)
		d->gone = true;
}

static void on_spin(Driver *d, char **w, unsigned n)
{
	(void)w;
	(void)n;
	out_flush(d);
	for (volatile int i = 0;;)
		i = !i;
}

/* ---- what the sandbox forbids ---- */

static long try_open(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static long try_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static long try_exec(void)
{
	char *none[] = { NULL };

	return execve("/bin/true", none, none);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
}

static long try_clock(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_MONOTONIC, &t);
}

static long try_clock_call(void)
{
	struct timespec t;

	return syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
}

static long try_rdtsc(void)
{
#if defined(__x86_64__)
	return (long)__builtin_ia32_rdtsc();
#else
	return -1;
#endif
}

static long try_read_stdin(void)
{
	char c;

	return read(0, &c, 1);
}

static long try_write_stderr(void)
{
	return write(2, "x", 1);
}

static long try_kill(void)
{
	return kill(1, 0);
}

static long try_mmap(void)
{
	return syscall(SYS_mmap, NULL, 4096, 3, 0x22, -1, 0) != -1;
}

static long try_sendmsg(void)
{
	struct msghdr m = { 0 };

	return sendmsg(3, &m, 0);
}

static const struct {
	const char *name;
	long (*act)(void);
} tries[] = {
	{ "open", try_open },	  { "socket", try_socket }, { "exec", try_exec },
	{ "ptrace", try_ptrace }, { "fork", try_fork },	    { "clock", try_clock },
	{ "clock_call", try_clock_call }, { "rdtsc", try_rdtsc }, { "stdin", try_read_stdin },
	{ "stderr", try_write_stderr },	  { "kill", try_kill },	  { "mmap", try_mmap },
	{ "sendmsg", try_sendmsg },
};

static void on_try(Driver *d, char **w, unsigned n)
{
	(void)n;
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
		if (strcmp(tries[i].name, w[1]) == 0) {
			say(d, "trying %s\n", w[1]);
			out_flush(d);
			say(d, "survived %s: %ld\n", w[1], tries[i].act());
		}
}

/* ---- the script ---- */

static const struct {
	const char *name;
	unsigned words;
	bool before; /* the start */
	void (*act)(Driver *d, char **w, unsigned n);
} lines[] = {
	{ "peer", 5, true, on_peer },	{ "reach", 2, true, on_reach },	   { "bound", 3, true, on_bound },
	{ "capture", 1, true, on_capture }, { "iface", 2, true, on_iface }, { "ask", 2, true, on_ask },
	{ "emit", 7, false, on_emit },	{ "settle", 1, false, on_settle }, { "wait", 2, false, on_wait },
	{ "route", 3, false, on_route }, { "claim", 5, false, on_claim },  { "now", 1, false, on_now },
	{ "flood", 3, false, on_flood }, { "raw", 2, false, on_raw },	   { "try", 2, false, on_try },
	{ "spin", 1, false, on_spin },
};

static void line(Driver *d, char *text)
{
	char *w[WORDS], *save = NULL;
	unsigned n = 0;

	for (char *t = strtok_r(text, " ", &save); t && n < WORDS; t = strtok_r(NULL, " ", &save))
		w[n++] = t;
	for (size_t i = 0; n && i < sizeof lines / sizeof *lines; i++) {
		if (strcmp(lines[i].name, w[0]) != 0)
			continue;
		if (n < lines[i].words) {
			say(d, "short line %s\n", w[0]);
			return;
		}
		if (!lines[i].before)
			declare(d);
		if (!d->gone)
			lines[i].act(d, w, n);
		out_flush(d);
	}
}

static int driver_main(void *ctx, int gate_fd, int out_fd, void *mem, size_t size)
{
	static Driver d;
	const size_t fixed = GATE_PORT_MEMORY + 65536;
	char *save = NULL;
	int code = 0;

	d = (Driver){ .script = ctx, .out_fd = out_fd };
	d.m.worst.packets = 16;
	gate_port_init(&d.port, gate_fd, mem);
	d.out = writer((uint8_t *)mem + GATE_PORT_MEMORY, 65536);
	arena_init(&d.a, (uint8_t *)mem + fixed, size - fixed, NULL);
	for (char *t = strtok_r(d.script, "\n", &save); t; t = strtok_r(NULL, "\n", &save)) {
		if (sscanf(t, "end %d", &code) == 1)
			break;
		line(&d, t);
	}
	declare(&d);
	if (!d.gone)
		emit(&d, &(Msg){ .type = MSG_END, .end.exit = (uint8_t)code });
	gate_port_flush(&d.port);
	Msg done = { .type = MSG_DONE, .done.exit = (uint8_t)code };
	msg_put(&d.out, &done);
	out_flush(&d);
	return code;
}

/* ---- the caller's side ---- */

static bool policies(void *ctx, Arena *a, PolicyList *ret_list, Str *ret_why)
{
	const uint64_t *ceilings = ctx;
	Policy *p = vec_push(a, ret_list, (Policy){ 0 });

	(void)ret_why;
	policy_builtin(p);
	if (ceilings) /* a bench may send more than the built-in policy lets anybody */
		for (int b = 0; b <= BOUND_TIME; b++) {
			p->decls.budget.v[b] = INT64_C(1) << 40;
			p->decls.budget.declared |= 1u << b;
		}
	vec_push(a, &p->decls.capture, (CaptureDecl){ .all = true });
	return true;
}

static void event(void *ctx, const Msg *m)
{
	(void)ctx;
	if (m->type == MSG_TEXT)
		fwrite(m->text.text.p, 1, m->text.text.n, stdout);
	else if (m->type == MSG_NOTE)
		printf("note %u %.*s\n", m->note.level, (int)m->note.text.n, (const char *)m->note.text.p);
	else if (m->type == MSG_FAIL)
		printf("fail %u %.*s\n", m->fail.exit, (int)m->fail.message.n, (const char *)m->fail.message.p);
	else if (m->type == MSG_WARN)
		printf("warn %.*s\n", (int)m->warn.evidence.n, (const char *)m->warn.evidence.p);
	else if (m->type == MSG_GATE_STAT)
		printf("stat packets=%llu bytes=%llu syn=%llu refused=%llu held=%llu drops=%llu backlog=%llu "
		       "probes=%llu tx=%s rx=%s\n",
		       (unsigned long long)m->gate_stat.packets, (unsigned long long)m->gate_stat.bytes,
		       (unsigned long long)m->gate_stat.syn, (unsigned long long)m->gate_stat.refused,
		       (unsigned long long)m->gate_stat.held, (unsigned long long)m->gate_stat.capture_drops,
		       (unsigned long long)m->gate_stat.backlog_drops,
		       (unsigned long long)m->gate_stat.neighbour_probes, stamp_text((StampSource)m->gate_stat.tx_source),
		       stamp_text((StampSource)m->gate_stat.rx_source));
	else if (m->type == MSG_GATE_END)
		printf("gate_end %u %.*s\n", m->gate_end.exit, (int)m->gate_end.message.n,
		       (const char *)m->gate_end.message.p);
	fflush(stdout);
}

static int read_main(void *ctx, int engine_fd)
{
	return pcap_port_serve(engine_fd, *(int *)ctx, "the file");
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, SCRIPT);

	if (!f || !text || (fread(text, 1, SCRIPT - 1, f) == 0 && ferror(f))) {
		fprintf(stderr, "gate_driver: cannot read %s\n", path);
		exit(2);
	}
	fclose(f);
	return text;
}

/* Does this machine keep a process from the time-stamp counter at all?  Some
 * hypervisors do not, whatever the kernel says. */
static int probe_tsc(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		_exit(try_rdtsc() == 0);
	}
	waitpid(pid, &status, 0);
	printf("%s\n", WIFSIGNALED(status) ? "closed" : "open");
	return 0;
}

int main(int argc, char **argv)
{
	static const uint64_t high = 1;
	RunOptions o = { .mode = RUN_GATE,
			 .engine_main = driver_main,
			 .engine_memory = MEMORY,
			 .peer_file = -1,
			 .policies = policies,
			 .event = event,
			 .write_fd = -1,
			 .record_fd = -1,
			 .seed = 7 };
	char why[RUN_WHY];
	int i = 1, rc;

	if (argc == 2 && strcmp(argv[1], "--tsc") == 0)
		return probe_tsc();
	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		if (strcmp(argv[i], "--write") == 0)
			o.write_fd = open(argv[i + 1], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		else if (strcmp(argv[i], "--full") == 0) /* a device that takes nothing */
			o.write_fd = open(argv[i + 1], O_WRONLY | O_CLOEXEC);
		else if (strcmp(argv[i], "--iface") == 0)
			o.iface = argv[i + 1];
		else if (strcmp(argv[i], "--ceilings") == 0)
			o.policies_ctx = (void *)(uintptr_t)&high;
		else if (strcmp(argv[i], "--read") == 0) {
			o.mode = RUN_PEER;
			o.peer_main = read_main;
			o.peer_file = open(argv[i + 1], O_RDONLY | O_CLOEXEC);
			o.peer_ctx = &o.peer_file;
		}
	}
	if (i >= argc) {
		fprintf(stderr, "usage: gate_driver [--write FILE] [--iface NAME] [--read FILE] [--ceilings high] SCRIPT\n");
		return 2;
	}
	o.engine_ctx = read_file(argv[i]);
	if (o.mode == RUN_GATE) {
		gate_run_missing(why);
		if (why[0]) {
			printf("missing %s\n", why);
			return 5;
		}
	}
	rc = gate_run(&o, why);
	free(o.engine_ctx);
	printf("exit %d %s\n", rc, why);
	return rc;
}
