/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdlib.h>

static TcpConn *conn(World *w)
{
	if (!w->c || w->gone)
		fail(w, "no connection");
	return w->c;
}

/* ---- opening ---- */

typedef struct OpenWord {
	const char *name;
	void (*set)(World *w, TcpOpen *o, int64_t v);
} OpenWord;

#define SETTER(field, type)                                          \
	static void set_##field(World *w, TcpOpen *o, int64_t v)     \
	{                                                            \
		(void)w;                                             \
		o->field = (type)v;                                  \
	}
SETTER(mss, uint16_t)
SETTER(wscale, uint8_t)
SETTER(window, uint32_t)
SETTER(window_max, uint32_t)
SETTER(mtu, uint32_t)
SETTER(ttl, uint8_t)
SETTER(tos, uint8_t)
SETTER(send_buffer, uint32_t)
SETTER(sack, bool)
SETTER(timestamps, bool)
SETTER(ecn, bool)
SETTER(nagle, bool)
SETTER(fastopen, bool)
SETTER(timeout_ns, int64_t)
SETTER(keepalive_ns, int64_t)
SETTER(no_auto_ack, bool)

static void set_newreno(World *w, TcpOpen *o, int64_t v)
{
	(void)w;
	o->cc = v ? TCP_NEWRENO : TCP_CUBIC;
}

static const OpenWord open_words[] = {
	{ "mss", set_mss },		  { "wscale", set_wscale },    { "window", set_window },
	{ "window_max", set_window_max }, { "mtu", set_mtu },	       { "ttl", set_ttl },
	{ "tos", set_tos },		  { "buffer", set_send_buffer }, { "timeout", set_timeout_ns },
	{ "keepalive", set_keepalive_ns },
};
static const OpenWord open_flags[] = {
	{ "sack", set_sack },	      { "ts", set_timestamps },	      { "ecn", set_ecn },
	{ "nagle", set_nagle },	      { "newreno", set_newreno },     { "fastopen", set_fastopen },
	{ "noack", set_no_auto_ack },
};

static bool open_word(World *w, Words *ws)
{
	for (size_t i = 0; i < sizeof open_words / sizeof *open_words; i++) {
		if (eat(ws, open_words[i].name)) {
			open_words[i].set(w, &w->open, next_number(w, ws, open_words[i].name));
			return true;
		}
	}
	for (size_t i = 0; i < sizeof open_flags / sizeof *open_flags; i++) {
		if (eat(ws, open_flags[i].name)) {
			open_flags[i].set(w, &w->open, 1);
			return true;
		}
	}
	return false;
}

static void cmd_connect(World *w, Words *ws)
{
	static uint8_t cookie[16], data[4096];
	int64_t isn = -1;

	while (peek_word(ws)) {
		if (open_word(w, ws))
			continue;
		if (eat(ws, "isn")) {
			isn = next_number(w, ws, "isn");
		} else if (eat(ws, "cookie")) {
			memset(cookie, 0xab, sizeof cookie);
			w->open.fastopen_cookie = BYTES(cookie, 8);
		} else if (eat(ws, "data")) {
			size_t n = (size_t)next_number(w, ws, "bytes");

			for (size_t i = 0; i < n; i++)
				data[i] = pattern(i, 7);
			w->open.fastopen_data = BYTES(data, n);
			w->tx_off = n;
		} else {
			fail(w, "unknown word for connect: %s", peek_word(ws));
		}
	}
	w->open.src = w->ours;
	w->open.dst = w->peer;
	w->open.sport = w->our_port;
	w->open.dport = w->peer_port;
	w->c = tcp_connect(w->s, w->now_ns, &w->open);
	w->gone = false;
	w->our_isn_known = false;
	if (!w->c && !eat(ws, "fails"))
		fail(w, "connect failed");
	if (isn >= 0)
		tcp_set_iss(w->c, (uint32_t)isn);
}

/* The same four-tuple a second time. */
static void cmd_connect_again(World *w, Words *ws)
{
	(void)ws;
	if (tcp_connect(w->s, w->now_ns, &w->open))
		fail(w, "a second connection got the same four-tuple");
}

static void cmd_listen(World *w, Words *ws)
{
	uint32_t backlog = 8;

	while (peek_word(ws)) {
		if (open_word(w, ws))
			continue;
		if (!eat(ws, "backlog"))
			fail(w, "unknown word for listen: %s", peek_word(ws));
		backlog = (uint32_t)next_number(w, ws, "backlog");
	}
	w->our_port = 80;
	w->peer_port = 50000;
	w->l = tcp_listen(w->s, w->ours, w->our_port, backlog, &w->open);
}

static void cmd_unlisten(World *w, Words *ws)
{
	(void)ws;
	tcp_unlisten(w->l);
	w->l = NULL;
}

static void cmd_accept(World *w, Words *ws)
{
	TcpConn *c = tcp_accept(w->l);

	if (eat(ws, "none")) {
		if (c)
			fail(w, "accept gave a connection");
		return;
	}
	if (!c)
		fail(w, "accept gave none");
	w->c = c;
	w->gone = false;
}

/* Another peer port from now on. */
static void cmd_peer(World *w, Words *ws)
{
	if (eat(ws, "port")) {
		w->peer_port = (uint16_t)next_number(w, ws, "port");
		w->our_isn_known = false;
		w->c = NULL;
	} else if (eat(ws, "isn")) {
		w->peer_isn = (uint32_t)next_number(w, ws, "isn");
	} else if (eat(ws, "many")) {
		w->peer = ip4(0xe0000001);
	} else {
		fail(w, "peer port N, peer isn N, or peer many");
	}
}

static void cmd_v6(World *w, Words *ws)
{
	(void)ws;
	w->ours = (Ip){ .v = 6, .b = { 0x20, 1, 0xd, 0xb8, [15] = 1 } };
	w->peer = (Ip){ .v = 6, .b = { 0x20, 1, 0xd, 0xb8, [15] = 2 } };
}

/* ---- data ---- */

static void cmd_send(World *w, Words *ws)
{
	size_t n = (size_t)next_number(w, ws, "bytes"), took = n;
	uint8_t *b = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		b[i] = pattern(w->tx_off + i, 7);
	took = tcp_send(conn(w), w->now_ns, BYTES(b, n));
	free(b);
	w->tx_off += took;
	if (eat(ws, "takes"))
		n = (size_t)next_number(w, ws, "bytes");
	if (took != n)
		fail(w, "send took %zu", took);
}

static void cmd_recv(World *w, Words *ws)
{
	size_t n = (size_t)next_number(w, ws, "bytes"), got;
	uint8_t *b = malloc(n + 1);
	size_t bad = SIZE_MAX;

	got = tcp_recv(conn(w), w->now_ns, b, n);
	for (size_t i = 0; i < got && bad == SIZE_MAX; i++) {
		if (b[i] != pattern(w->received + 1 + i, 0))
			bad = i;
	}
	free(b);
	w->received += got;
	if (got != n)
		fail(w, "received %zu", got);
	if (bad != SIZE_MAX && !eat(ws, "other"))
		fail(w, "byte %zu of what was received is wrong", bad);
}

static void cmd_close(World *w, Words *ws)
{
	(void)ws;
	tcp_close(conn(w), w->now_ns);
}

static void cmd_reset(World *w, Words *ws)
{
	(void)ws;
	tcp_reset(conn(w), w->now_ns);
}

static void cmd_release(World *w, Words *ws)
{
	(void)ws;
	tcp_release(conn(w), w->now_ns);
	w->gone = true;
}

static void cmd_autoack(World *w, Words *ws)
{
	tcp_auto_ack(conn(w), w->now_ns, eat(ws, "on") || !eat(ws, "off"));
}

/* ---- segments by hand ---- */

static void cmd_craft(World *w, Words *ws)
{
	uint8_t buf[2048], data[1024];
	TcpConn *c = conn(w);
	TcpCraft k = { .flags = seg_flags(w, word(w, ws, "flags")) };
	int64_t wait = SEC_NS;

	while (peek_word(ws)) {
		if (eat(ws, "seq")) {
			k.seq_set = true;
			k.seq = w->our_isn + (uint32_t)next_number(w, ws, "seq");
		} else if (eat(ws, "ack")) {
			k.ack_set = true;
			k.ack = w->peer_isn + (uint32_t)next_number(w, ws, "ack");
		} else if (eat(ws, "ttl")) {
			k.ttl_set = true;
			k.ttl = (uint8_t)next_number(w, ws, "ttl");
		} else if (eat(ws, "win")) {
			k.window_set = true;
			k.window = (uint16_t)next_number(w, ws, "win");
		} else if (eat(ws, "data")) {
			k.payload = BYTES(data, (size_t)next_number(w, ws, "bytes"));
			memset(data, 'x', sizeof data);
		} else if (eat(ws, "wait")) {
			wait = next_number(w, ws, "wait");
		} else {
			fail(w, "unknown word for craft: %s", peek_word(ws));
		}
	}
	size_t n = tcp_craft(c, w->now_ns, &k, buf, sizeof buf);

	if (!n)
		fail(w, "craft made nothing");
	tcp_crafted(c, w->now_ns, BYTES(buf, n), wait);
	world_check(w);
}

/* ---- the way out ---- */

static void cmd_hold(World *w, Words *ws)
{
	(void)ws;
	w->hold = true;
}

static void cmd_sent(World *w, Words *ws)
{
	(void)ws;
	for (uint32_t i = 0; i < w->n_held; i++) {
		stack_sent(w->s, w->held[i], w->now_ns);
		world_check(w);
	}
	w->n_held = 0;
}

static void cmd_go(World *w, Words *ws)
{
	w->hold = false;
	cmd_sent(w, ws);
}

static void cmd_notsent(World *w, Words *ws)
{
	w->unsent_next = eat(ws, "refused") ? UNSENT_REFUSED :
			 eat(ws, "toolong") ? UNSENT_TOO_LONG :
			 eat(ws, "noroute") ? UNSENT_NO_ROUTE :
					      UNSENT_LOST;
	eat(ws, "lost");
}

static void cmd_icmp(World *w, Words *ws)
{
	IcmpError e = { .src = w->ours, .dst = w->peer, .sport = w->our_port, .dport = w->peer_port, .type = 3 };
	static const char *const names[] = { "not-ours", "ignored", "taken" };

	e.klass = eat(ws, "soft") ? ICMP_SOFT : eat(ws, "hard") ? ICMP_HARD : ICMP_TOO_BIG;
	eat(ws, "toobig");
	e.code = e.klass == ICMP_SOFT ? 1 : e.klass == ICMP_HARD ? 3 : 4;
	if (eat(ws, "mtu"))
		e.mtu = (uint32_t)next_number(w, ws, "mtu");
	eat(ws, "seq");
	e.seq = w->our_isn + (uint32_t)next_number(w, ws, "seq");
	IcmpVerdict v = tcp_icmp_error(w->s, w->now_ns, &e);

	if (peek_word(ws) && strcmp(word(w, ws, "verdict"), names[v]) != 0)
		fail(w, "the ICMP error was %s", names[v]);
	if (v == ICMP_TAKEN && e.klass == ICMP_TOO_BIG)
		tcp_mtu_changed(w->s, w->now_ns, w->ours, w->peer, e.mtu);
}

static void cmd_mtu(World *w, Words *ws)
{
	tcp_mtu_changed(w->s, w->now_ns, w->ours, w->peer, (uint32_t)next_number(w, ws, "mtu"));
}

/* ---- judging ---- */

static void cmd_quiet(World *w, Words *ws)
{
	(void)w;
	(void)ws;
}

static void cmd_drain(World *w, Words *ws)
{
	Left *l;

	(void)ws;
	while ((l = world_left(w))) {
		IpPacket ip;
		TcpSeg s;

		if (ip_packet_read(BYTES(l->b, l->n), &ip) && tcp_seg_read(&ip, &s) && s.ts)
			w->last_tsval = s.tsval;
		free(l->b);
		l->b = NULL;
	}
}

static void cmd_verdict(World *w, Words *ws)
{
	static const char *const names[] = { "notours", "taken", "shown" };

	if (strcmp(word(w, ws, "verdict"), names[w->verdict]) != 0)
		fail(w, "the segment was %s", names[w->verdict]);
}

/* event NAME [N]: it happened, N times if said. */
static void cmd_event(World *w, Words *ws)
{
	char name[64] = "";
	int64_t want = -1, n = 0;
	TcpLogIter it = { 0 };
	TcpEvent e;

	while (peek_word(ws)) {
		const char *s = word(w, ws, "name");

		if (s[0] >= '0' && s[0] <= '9') {
			want = number(w, s);
			break;
		}
		if (*name)
			strncat(name, " ", sizeof name - strlen(name) - 1);
		strncat(name, s, sizeof name - strlen(name) - 1);
	}
	while (tcp_event_next(conn(w), &it, &e))
		n += strcmp(tcp_event_name((TcpEventKind)e.kind), name) == 0;
	if (want < 0 ? n == 0 : n != want)
		fail(w, "event '%s' happened %lld times", name, (long long)n);
}

static const struct {
	const char *name;
	void (*run)(World *w, Words *ws);
	bool late; /* may stand while segments of the stack were not looked at */
} commands[] = {
	{ "in", seg_in, false },	{ "out", seg_out, true },	  { "is", cmd_is, true },
	{ "connect", cmd_connect, false }, { "connect-again", cmd_connect_again, true },
	{ "listen", cmd_listen, false }, { "accept", cmd_accept, true },   { "unlisten", cmd_unlisten, false },
	{ "peer", cmd_peer, true },	{ "v6", cmd_v6, false },	  { "send", cmd_send, false },
	{ "recv", cmd_recv, true },	{ "close", cmd_close, false },	  { "reset", cmd_reset, false },
	{ "release", cmd_release, false }, { "autoack", cmd_autoack, false }, { "craft", cmd_craft, false },
	{ "hold", cmd_hold, true },	{ "sent", cmd_sent, true },	  { "go", cmd_go, true },
	{ "notsent", cmd_notsent, true }, { "icmp", cmd_icmp, true },	  { "mtu", cmd_mtu, false },
	{ "quiet", cmd_quiet, false },	{ "drain", cmd_drain, true },	  { "verdict", cmd_verdict, true },
	{ "event", cmd_event, true },
};

static _Noreturn void unexpected(World *w)
{
	char text[256];

	seg_text(w, &w->queue[w->q_from], text, sizeof text);
	fail(w, "the stack sent what no line expects: %s", text);
}

void run_command(World *w, Words *ws)
{
	const char *name = word(w, ws, "a word");

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		if (!commands[i].late && w->q_n)
			unexpected(w);
		commands[i].run(w, ws);
		if (peek_word(ws))
			fail(w, "left over: %s", peek_word(ws));
		world_check(w);
		world_pull(w);
		return;
	}
	fail(w, "unknown word: %s", name);
}
