/* SPDX-License-Identifier: Apache-2.0
 *
 * A taken-over engine: behind the real loader, opener, gate and netd it declares a
 * small manifest and then writes whatever it is told.  A capture at the peer,
 * which knows nothing of us, says what came through (test_hostile.py).
 *
 *   hostile frames FILE       each line "KIND PURPOSE IFACE HEX": one EMIT
 *   hostile claims FILE       each line "PROTO PORT ADDR": one CLAIM
 *   hostile noise SEED N      N datagrams of random bytes, half of them behind a valid length and type
 *   hostile lengths           messages whose lengths lie
 *   hostile early FILE        the frames before the manifest, so before GO
 *
 * The manifest: 10.9.0.2 by ICMP, UDP 7 and TCP 80, source ports 50000 and 50001;
 * fd00:9::2 by ICMPv6.  The ICMP ids 7777 are claimed, so that an attack fails for
 * what is wrong with it and not for want of an id.
 * What became of each frame goes to standard output, a line each.
 */
#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"
#include "deal/manifest_codec.h"
#include "gate/run.h"
#include "port/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, LINE = 140000, LINES = 65536 };

typedef struct Attack {
	const char *mode;
	char *text; /* of the file */
	uint64_t seed, count;
} Attack;

typedef struct Hostile {
	const Attack *attack;
	GatePort port;
	int out_fd;
	Arena a;
	uint32_t next_id, open; /* frames emitted; not yet answered */
	bool gone;
} Hostile;

/* ---- speaking ---- */

static void emit(Hostile *h, const Msg *m)
{
	h->port.port.emit(&h->port.port, m);
}

__attribute__((format(printf, 2, 3))) static void say(Hostile *h, const char *fmt, ...)
{
	uint8_t buf[1024];
	char text[512];
	Writer w = writer(buf, sizeof buf);
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	Msg m = { .type = MSG_TEXT, .text.text = BYTES(text, n < (int)sizeof text ? (size_t)n : sizeof text - 1) };
	if (!msg_put(&w, &m) || write(h->out_fd, w.p, w.n) < 0)
		h->gone = true;
}

static void declare(Hostile *h)
{
	static const struct { uint8_t proto; uint16_t port; const char *peer; } rows[] = {
		{ 1, 0, "10.9.0.2" }, { 17, 7, "10.9.0.2" }, { 6, 80, "10.9.0.2" }, { 58, 0, "fd00:9::2" } };
	Manifest m = { 0 };
	uint8_t *buf = arena_alloc(&h->a, 4096);
	Writer w = writer(buf, 4096);

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		Ip peer = { 0 };

		ip_parse(str_c(rows[i].peer), &peer);
		Emission *e = vec_push(&h->a, &m.emit, (Emission){ .peer = { .lo = peer, .hi = peer }, .proto = rows[i].proto });
		if (!rows[i].port)
			continue;
		ports_add(&h->a, &e->dports, rows[i].port, rows[i].port);
		ports_add(&h->a, &e->sports, 50000, 50001);
	}
	if (!manifest_encode(&m, &w))
		h->gone = true;
	emit(h, &(Msg){ .type = MSG_MANIFEST, .manifest.data = wr_done(&w) });
}

/* ---- listening ---- */

static void hear(Hostile *h, const Msg *m)
{
	switch (m->type) {
	case MSG_SENT:
		h->open--;
		say(h, "%u sent\n", m->sent.tx_id);
		break;
	case MSG_NOTSENT:
		h->open--;
		say(h, "%u notsent %s: %.*s\n", m->notsent.tx_id, notsent_text((NotSent)m->notsent.reason),
		    (int)m->notsent.detail.n, (const char *)m->notsent.detail.p);
		break;
	case MSG_CLAIMED:
		h->open--;
		say(h, "claim %u %s %u %.*s\n", m->claimed.id, m->claimed.ok ? "ok" : "refused", m->claimed.port,
		    (int)m->claimed.detail.n, (const char *)m->claimed.detail.p);
		break;
	case MSG_STOP:
		say(h, "stop %u %.*s\n", m->stop.reason, (int)m->stop.detail.n, (const char *)m->stop.detail.p);
		h->gone = true;
		break;
	default:
		break;
	}
}

/* Until a message of that type comes, or everything is answered. */
static void listen_for(Hostile *h, MsgType until)
{
	Msg m;

	while (!h->gone && (until != MSG_NONE || h->open > 0)) {
		if (!h->port.port.wait(&h->port.port, &m)) {
			h->gone = true;
			return;
		}
		hear(h, &m);
		if (m.type == until)
			return;
	}
}

static void linger(Hostile *h, int64_t ns)
{
	emit(h, &(Msg){ .type = MSG_NOW, .now.id = 1 });
	Msg m = { 0 };
	while (!h->gone && m.type != MSG_TICK)
		if (!h->port.port.wait(&h->port.port, &m))
			h->gone = true;
		else
			hear(h, &m);
	if (h->gone)
		return;
	emit(h, &(Msg){ .type = MSG_WAIT, .wait = { .id = 2, .wake_at = m.tick.now + ns } });
	listen_for(h, MSG_TICK);
}

/* ---- attacks ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void emit_line(Hostile *h, char *line)
{
	unsigned kind, purpose, iface;
	int at = 0;
	uint8_t *data = arena_alloc(&h->a, LINE / 2);
	size_t n = 0;

	if (sscanf(line, "%u %u %u %n", &kind, &purpose, &iface, &at) != 3)
		return;
	for (const char *p = line + at; hex(p[0]) >= 0 && hex(p[1]) >= 0; p += 2)
		data[n++] = (uint8_t)(hex(p[0]) << 4 | hex(p[1]));
	Msg m = { .type = MSG_EMIT,
		  .emit = { .tx_id = ++h->next_id, .flow = 1, .kind = (uint8_t)kind, .purpose = (uint8_t)purpose,
			    .iface = (uint16_t)iface, .data = BYTES(data, n) } };
	emit(h, &m);
	h->open++;
}

static void claim_line(Hostile *h, char *line)
{
	unsigned proto, port;
	char addr[64];
	Msg m = { .type = MSG_CLAIM };

	if (sscanf(line, "%u %u %63s", &proto, &port, addr) != 3 || !ip_parse(str_c(addr), &m.claim.src))
		return;
	m.claim.id = ++h->next_id;
	m.claim.proto = (uint8_t)proto;
	m.claim.port = (uint16_t)port;
	emit(h, &m);
	h->open++;
}

static void claim_ids(Hostile *h)
{
	char v4[] = "1 7777 10.9.0.1", v6[] = "58 7777 fd00:9::1";

	claim_line(h, v4);
	claim_line(h, v6);
	listen_for(h, MSG_NONE);
	h->next_id = 0;
}

static void each_line(Hostile *h, void (*what)(Hostile *, char *))
{
	char *save = NULL;

	for (char *line = strtok_r(h->attack->text, "\n", &save); line && !h->gone; line = strtok_r(NULL, "\n", &save)) {
		size_t mark = arena_mark(&h->a);
		what(h, line);
		arena_reset(&h->a, mark);
		if (h->open >= 64)
			listen_for(h, MSG_NONE);
	}
}

static void noise(Hostile *h)
{
	uint8_t buf[2048];

	for (uint64_t i = 0; i < h->attack->count; i++) {
		size_t n = 1 + (size_t)rng_below(rng_draw(h->attack->seed, i, 0), sizeof buf - 1);
		for (size_t k = 0; k < n; k++)
			buf[k] = (uint8_t)rng_draw(h->attack->seed, i, k + 1);
		if (i % 2 && n > 5) {
			put_be32(buf, (uint32_t)n - 4);
			buf[4] %= MSG_N;
		}
		if (write(h->port.fd, buf, n) < 0)
			return;
	}
}

static void lengths(Hostile *h)
{
	static const uint32_t lies[] = { 0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff, 65536, 200000 };
	uint8_t *buf = arena_alloc(&h->a, 4096);

	for (unsigned i = 0; i < sizeof lies / sizeof lies[0]; i++)
		for (unsigned k = 0; k < 2; k++) { /* of the message; of its bytes field */
			memset(buf, 0, 4096);
			put_be32(buf, k ? 60 : lies[i]);
			buf[4] = MSG_EMIT;
			put_be32(buf + 4 + 1 + 4 + 4 + 1 + 1 + 2 + 8, k ? lies[i] : 8);
			if (write(h->port.fd, buf, 64) < 0)
				return;
		}
}

static int hostile_main(void *ctx, int gate_fd, int out_fd, void *mem, size_t mem_size)
{
	const Attack *attack = ctx;
	Hostile h = { .attack = attack, .out_fd = out_fd };

	gate_port_init(&h.port, gate_fd, mem);
	arena_init(&h.a, (uint8_t *)mem + GATE_PORT_MEMORY, mem_size - GATE_PORT_MEMORY, NULL);
	if (strcmp(attack->mode, "early") == 0) {
		each_line(&h, emit_line);
		gate_port_flush(&h.port);
	}
	declare(&h);
	listen_for(&h, MSG_GO);
	if (strcmp(attack->mode, "frames") == 0) {
		claim_ids(&h);
		each_line(&h, emit_line);
	} else if (strcmp(attack->mode, "claims") == 0)
		each_line(&h, claim_line);
	else if (strcmp(attack->mode, "noise") == 0)
		noise(&h);
	else if (strcmp(attack->mode, "lengths") == 0)
		lengths(&h);
	listen_for(&h, MSG_NONE);
	if (!h.gone)
		linger(&h, NS_PER_S / 5);
	emit(&h, &(Msg){ .type = MSG_END });
	gate_port_flush(&h.port);
	return 0;
}

/* ---- the caller's side ---- */

static bool policies(void *ctx, Arena *a, PolicyList *ret_list, Str *ret_why)
{
	(void)ctx;
	(void)ret_why;
	policy_builtin(vec_push(a, ret_list, (Policy){ 0 }));
	return true;
}

static void event(void *ctx, const Msg *m)
{
	(void)ctx;
	if (m->type == MSG_TEXT)
		fwrite(m->text.text.p, 1, m->text.text.n, stdout);
	else if (m->type == MSG_NOTE)
		printf("note %.*s\n", (int)m->note.text.n, (const char *)m->note.text.p);
	else if (m->type == MSG_GATE_STAT)
		printf("gate packets %llu refused %llu\n", (unsigned long long)m->gate_stat.packets,
		       (unsigned long long)m->gate_stat.refused);
	else if (m->type == MSG_GATE_END)
		printf("end %u %.*s\n", m->gate_end.exit, (int)m->gate_end.message.n, (const char *)m->gate_end.message.p);
	fflush(stdout);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, (size_t)16 << 20);

	if (!f || !text || (fread(text, 1, ((size_t)16 << 20) - 1, f) == 0 && ferror(f))) {
		fprintf(stderr, "hostile: cannot read %s\n", path);
		exit(2);
	}
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	Attack attack = { .mode = argc > 1 ? argv[1] : "" };
	char why[RUN_WHY];

	if (argc == 3 && strcmp(attack.mode, "lengths") != 0)
		attack.text = read_file(argv[2]);
	else if (argc == 4) {
		attack.seed = strtoull(argv[2], NULL, 10);
		attack.count = strtoull(argv[3], NULL, 10);
	} else if (argc != 2) {
		fprintf(stderr, "usage: hostile frames|claims|early FILE, noise SEED N, lengths\n");
		return 2;
	}
	RunOptions o = { .mode = RUN_GATE, .engine_main = hostile_main, .engine_ctx = &attack, .engine_memory = MEMORY,
			 .peer_file = -1, .policies = policies, .event = event, .write_fd = -1, .record_fd = -1, .seed = 1 };
	int rc = gate_run(&o, why);

	printf("exit %d %s\n", rc, why);
	return 0;
}
