/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>

/* What a line says of a segment; has_x: it says so. */
typedef struct Spec {
	uint16_t flags;
	bool any, old_echo;
	uint32_t seq, end, each; /* relative; each: cut into segments of so many bytes */
	bool has_ack, has_win, has_ttl, has_ts, no_ts, has_urg, has_mss, has_wscale, sack_ok, has_sack, no_sack;
	uint32_t ack, win, urg, mss, wscale, tsval, tsecr, ttl;
	SeqRange sack[4];
	uint32_t n_sack;
	unsigned salt, ecn, pad;
	bool together, no_ect, bad_sum, unverified, has_ip_id, has_cookie, ask_cookie, options_are, cleanup;
	uint32_t ip_id, cut;
	Bytes cookie, raw;
	uint8_t cookie_b[16], raw_b[40];
} Spec;

static const char letters[] = "FSRPAUEC"; /* by bit */

uint16_t seg_flags(World *w, const char *s)
{
	uint16_t f = 0;

	for (; *s; s++) {
		const char *at = strchr(letters, *s);

		if (!at)
			fail(w, "'%c' is no flag (of " "%s)", *s, letters);
		f |= (uint16_t)(1u << (at - letters));
	}
	return f;
}

static void hex(World *w, const char *s, uint8_t *b, size_t cap, Bytes *ret)
{
	size_t n = strlen(s) / 2;

	if (n > cap)
		fail(w, "too many bytes: %s", s);
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		if (sscanf(s + 2 * i, "%2x", &v) != 1)
			fail(w, "not hex: %s", s);
		b[i] = (uint8_t)v;
	}
	*ret = BYTES(b, n);
}

/* "100:200", "100", "1:14601/1460" */
static void range(World *w, const char *s, uint32_t *start, uint32_t *end, uint32_t *each)
{
	char *rest;

	*start = *end = (uint32_t)strtoul(s, &rest, 10);
	if (*rest == ':')
		*end = (uint32_t)strtoul(rest + 1, &rest, 10);
	if (each && *rest == '/')
		*each = (uint32_t)strtoul(rest + 1, &rest, 10);
	if (*rest)
		fail(w, "not a range of sequence numbers: %s", s);
}

static void read_sacks(World *w, Spec *p, Words *ws)
{
	char *s = strdup(word(w, ws, "blocks")), *save = NULL;

	p->has_sack = true;
	for (char *t = strtok_r(s, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		if (p->n_sack == 4)
			fail(w, "at most four blocks");
		range(w, t, &p->sack[p->n_sack].start, &p->sack[p->n_sack].end, NULL);
		p->n_sack++;
	}
	free(s);
}

#define NUM(name) (p->has_##name = true, p->name = (uint32_t)next_number(w, ws, #name), true)

static bool read_number_word(World *w, Spec *p, Words *ws)
{
	return (eat(ws, "ack") && NUM(ack)) || (eat(ws, "win") && NUM(win)) || (eat(ws, "ttl") && NUM(ttl)) ||
	       (eat(ws, "urg") && NUM(urg)) || (eat(ws, "mss") && NUM(mss)) || (eat(ws, "wscale") && NUM(wscale)) ||
	       (eat(ws, "ipid") && NUM(ip_id));
}

static bool read_flag_word(Spec *p, Words *ws)
{
	const struct {
		const char *name;
		bool *at;
	} flags[] = {
		{ "sackok", &p->sack_ok },   { "nots", &p->no_ts },	      { "nosack", &p->no_sack },
		{ "badsum", &p->bad_sum },   { "unverified", &p->unverified }, { "askcookie", &p->ask_cookie },
		{ "cleanup", &p->cleanup },  { "together", &p->together },   { "noect", &p->no_ect },
	};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (eat(ws, flags[i].name))
			return *flags[i].at = true;
	}
	if (eat(ws, "ce"))
		return (p->ecn = IP_ECN_CE);
	if (eat(ws, "ect"))
		return (p->ecn = IP_ECN_ECT0);
	return false;
}

static void read_spec(World *w, Spec *p, Words *ws)
{
	const char *f = word(w, ws, "flags");

	if (!strcmp(f, "any")) {
		p->any = true;
		return;
	}
	p->flags = seg_flags(w, !strcmp(f, ".") ? "" : f);
	range(w, word(w, ws, "sequence numbers"), &p->seq, &p->end, &p->each);
	while (peek_word(ws)) {
		if (read_number_word(w, p, ws) || read_flag_word(p, ws))
			continue;
		if (eat(ws, "sack")) {
			read_sacks(w, p, ws);
		} else if (eat(ws, "ts")) {
			p->has_ts = true;
			p->tsval = (uint32_t)next_number(w, ws, "tsval");
			p->old_echo = eat(ws, "echo");
			p->tsecr = p->old_echo ? 0 : (uint32_t)next_number(w, ws, "tsecr");
		} else if (eat(ws, "other")) {
			p->salt = 99;
		} else if (eat(ws, "pad")) {
			p->pad = (unsigned)next_number(w, ws, "bytes");
		} else if (eat(ws, "cut")) {
			p->cut = (uint32_t)next_number(w, ws, "bytes");
		} else if (eat(ws, "cookie")) {
			p->has_cookie = true;
			hex(w, word(w, ws, "hex"), p->cookie_b, sizeof p->cookie_b, &p->cookie);
		} else if (eat(ws, "raw")) {
			p->options_are = true;
			hex(w, word(w, ws, "hex"), p->raw_b, sizeof p->raw_b, &p->raw);
		} else {
			fail(w, "unknown word in a segment: %s", peek_word(ws));
		}
	}
}

/* ---- in ---- */

static void put_option(Writer *o, uint8_t kind, uint8_t len)
{
	wr_u8(o, kind);
	wr_u8(o, len);
}

static Bytes in_options(World *w, const Spec *p, uint8_t opt[40])
{
	Writer o = writer(opt, 40);
	bool syn = p->flags & TCP_SYN;

	if (p->options_are)
		return p->raw;
	if (p->has_mss) {
		put_option(&o, OPT_MSS, 4);
		wr_be16(&o, (uint16_t)p->mss);
	}
	if (p->sack_ok)
		put_option(&o, OPT_SACK_OK, 2);
	if (p->has_wscale) {
		put_option(&o, OPT_WSCALE, 3);
		wr_u8(&o, (uint8_t)p->wscale);
	}
	/* Once agreed, the peer stamps each segment by itself. */
	if (p->has_ts || (w->ts && !p->no_ts && !syn)) {
		put_option(&o, OPT_TIMESTAMP, 10);
		wr_be32(&o, p->has_ts ? p->tsval : (uint32_t)(w->now_ns / MS_NS) + 5000);
		wr_be32(&o, p->old_echo ? w->first_tsval : p->has_ts && p->tsecr ? p->tsecr : w->last_tsval);
	}
	if (p->has_cookie) {
		put_option(&o, OPT_FASTOPEN, (uint8_t)(2 + p->cookie.n));
		wr_bytes(&o, p->cookie);
	}
	if (p->n_sack) {
		put_option(&o, OPT_SACK, (uint8_t)(2 + 8 * p->n_sack));
		for (uint32_t i = 0; i < p->n_sack; i++) {
			wr_be32(&o, w->our_isn + p->sack[i].start);
			wr_be32(&o, w->our_isn + p->sack[i].end);
		}
	}
	while (o.n % 4)
		wr_u8(&o, OPT_NOP);
	if (o.full)
		fail(w, "more than 40 bytes of options");
	return wr_done(&o);
}

static void one_in(World *w, const Spec *p, uint32_t start, uint32_t end)
{
	static uint8_t buf[70000];
	uint8_t opt[40];
	uint32_t n = end - start;
	IpPacket ip = { .src = w->peer, .dst = w->ours, .proto = IP_PROTO_TCP, .ttl = 60, .df = true };
	TcpHead h = { .sport = w->peer_port, .dport = w->our_port, .flags = p->flags, .window = 65535 };

	ip.ttl = (uint8_t)(p->has_ttl ? p->ttl : 60);
	ip.tos = (uint8_t)p->ecn;
	ip.id = p->ip_id;
	h.seq = w->peer_isn + start;
	h.ack = p->has_ack ? w->our_isn + p->ack : 0;
	h.window = (uint16_t)(p->has_win ? p->win : 65535);
	h.options = in_options(w, p, opt);
	size_t tcp = TCP_HDR + h.options.n + n, at = ip_packet_write(&ip, tcp, buf);
	size_t hdr = tcp_head_write(&h, buf + at);

	put_be16(buf + at + 18, (uint16_t)p->urg);
	for (uint32_t i = 0; i < n; i++)
		buf[at + hdr + i] = pattern(start + i + !!(p->flags & TCP_SYN), p->salt);
	tcp_head_sum(buf + at, hdr, ip_csum_add(ip_pseudo_sum(&ip, tcp), BYTES(buf + at + hdr, n)));
	if (p->bad_sum)
		buf[at + 16] ^= 0x55;
	memset(buf + at + tcp, 0xee, p->pad);
	world_input(w, BYTES(buf, at + tcp + p->pad - p->cut), p->unverified);
	if (!p->together)
		world_pull(w);
}

void seg_in(World *w, Words *ws)
{
	Spec p = { 0 };

	read_spec(w, &p, ws);
	if (p.flags & TCP_SYN && p.has_ts)
		w->ts = true;
	uint32_t each = p.each ? p.each : p.end - p.seq, at = p.seq;

	do {
		uint32_t end = p.end - at > each ? at + each : p.end;

		one_in(w, &p, at, end);
		at = end;
	} while (at != p.end);
}

/* ---- out ---- */

static void read_left(World *w, const Left *l, IpPacket *ip, TcpSeg *seg)
{
	if (!ip_packet_read(BYTES(l->b, l->n), ip) || !tcp_seg_read(ip, seg))
		fail(w, "the stack sent what is no TCP segment");
	if (!tcp_seg_sum_good(ip))
		fail(w, "the stack sent a wrong checksum");
}

void seg_text(const World *w, const Left *l, char *buf, size_t cap)
{
	IpPacket ip;
	TcpSeg s;
	char f[9] = "", *p = f;

	if (!ip_packet_read(BYTES(l->b, l->n), &ip) || !tcp_seg_read(&ip, &s)) {
		snprintf(buf, cap, "%u bytes that are no segment", l->n);
		return;
	}
	for (int i = 0; i < 8; i++) {
		if (s.flags >> i & 1)
			*p++ = letters[i];
	}
	int n = snprintf(buf, cap, "%.6f out %s %u:%u ack %u win %u", (double)(l->ns - WORLD_EPOCH) / 1e9, f, s.seq - w->our_isn,
			 s.seq - w->our_isn + (uint32_t)s.payload.n, s.flags & TCP_ACK ? s.ack - w->peer_isn : 0, s.window);

	for (uint32_t i = 0; i < s.n_sack && n > 0 && (size_t)n < cap; i++)
		n += snprintf(buf + n, cap - (size_t)n, "%s%u:%u", i ? "," : " sack ", s.sack[i].start - w->peer_isn,
			      s.sack[i].end - w->peer_isn);
	if (s.mss && n > 0 && (size_t)n < cap)
		snprintf(buf + n, cap - (size_t)n, " mss %u%s%s", s.mss, s.sack_ok ? " sackok" : "", s.ts ? " ts" : "");
}

static _Noreturn void differs(World *w, const Left *l, const char *what)
{
	char text[256];

	seg_text(w, l, text, sizeof text);
	fail(w, "%s differs; the stack sent: %s", what, text);
}

static void match_options(World *w, const Left *l, const Spec *p, const TcpSeg *s)
{
	if (p->has_mss && p->mss != s->mss)
		differs(w, l, "mss");
	if (p->has_wscale && p->wscale != s->wscale)
		differs(w, l, "wscale");
	if (p->flags & TCP_SYN && p->sack_ok != s->sack_ok)
		differs(w, l, "sackok");
	if (p->no_ts && s->ts)
		differs(w, l, "ts");
	if (p->has_ts && (!s->ts || (p->tsecr && p->tsecr != s->tsecr)))
		differs(w, l, "ts");
	if (p->no_sack && s->n_sack)
		differs(w, l, "sack");
	if (p->has_sack && p->n_sack != s->n_sack)
		differs(w, l, "number of sack blocks");
	for (uint32_t i = 0; i < p->n_sack; i++) {
		if (s->sack[i].start != w->peer_isn + p->sack[i].start || s->sack[i].end != w->peer_isn + p->sack[i].end)
			differs(w, l, "a sack block");
	}
	if (p->ask_cookie && (!s->cookie_said || s->cookie.n))
		differs(w, l, "request for a cookie");
	if (p->has_cookie && !bytes_eq(p->cookie, s->cookie))
		differs(w, l, "cookie");
}

static void match_header(World *w, const Left *l, const Spec *p, const IpPacket *ip, const TcpSeg *s)
{
	uint16_t ignore = p->flags & TCP_PSH ? 0 : TCP_PSH;

	if ((s->flags & ~ignore) != p->flags)
		differs(w, l, "flags");
	if (p->has_ack && s->ack != w->peer_isn + p->ack)
		differs(w, l, "ack");
	if (p->has_win && s->window != p->win)
		differs(w, l, "window");
	if (p->has_ttl && ip->ttl != p->ttl)
		differs(w, l, "ttl");
	if (p->ecn && (ip->tos & 3u) != p->ecn)
		differs(w, l, "ecn");
	if (p->no_ect && ip->tos & 3u)
		differs(w, l, "ecn");
	if (p->cleanup && l->purpose != STACK_CLEANUP)
		differs(w, l, "purpose");
}

static void match_payload(World *w, const Left *l, const Spec *p, uint32_t start, uint32_t end, const TcpSeg *s)
{
	uint32_t seq = s->seq - w->our_isn, off = start + !!(s->flags & TCP_SYN) - 1;

	if (seq != start)
		differs(w, l, "sequence number");
	if (s->payload.n != end - start)
		differs(w, l, "length");
	for (uint32_t i = 0; i < s->payload.n && p->salt == 0; i++) {
		if (s->payload.p[i] != pattern(off + i, 7))
			differs(w, l, "payload");
	}
}

static void one_out(World *w, const Spec *p, uint32_t start, uint32_t end)
{
	Left *l = world_left(w);
	IpPacket ip;
	TcpSeg s;

	if (!l)
		fail(w, "nothing was sent");
	read_left(w, l, &ip, &s);
	if (s.flags & TCP_SYN && !w->our_isn_known) {
		w->our_isn = s.seq;
		w->our_isn_known = true;
	}
	if (s.ts)
		w->last_tsval = s.tsval;
	if (s.ts && s.payload.n && !w->first_tsval)
		w->first_tsval = s.tsval;
	int64_t late = w->now_ns - l->ns;

	if (late > MS_NS)
		differs(w, l, "time");
	if (!p->any) {
		match_header(w, l, p, &ip, &s);
		match_options(w, l, p, &s);
		match_payload(w, l, p, start, end, &s);
	}
	free(l->b);
	l->b = NULL;
}

void seg_out(World *w, Words *ws)
{
	Spec p = { 0 };

	read_spec(w, &p, ws);
	uint32_t each = p.each ? p.each : p.end - p.seq, at = p.seq;

	do {
		uint32_t end = p.end - at > each ? at + each : p.end;

		one_out(w, &p, at, end);
		at = end;
	} while (at != p.end);
}
