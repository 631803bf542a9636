/* SPDX-License-Identifier: Apache-2.0
 *
 * `print(c)`: a connection on one screen, as somebody reads it who looks for what is
 * wrong: who and in what state, what was agreed on, what went either way, how long a
 * round trip takes, what held it back, and last whatever is odd and not zero.
 */
#include "vm/engine_conn.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum { LINE_WIDTH = 100, INDENT = 12 };

/* One line: `  name      words`, wrapped. */
typedef struct Line {
	Sb *out;
	size_t col;
} Line;

static Line line(Sb *out, const char *name)
{
	sb_printf(out, "\n  %-*s", INDENT - 2, name);
	return (Line){ out, INDENT };
}

__attribute__((format(printf, 2, 3))) static void word(Line *l, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	if (l->col > INDENT && l->col + 2 + (size_t)n > LINE_WIDTH) {
		sb_printf(l->out, "\n%*s", INDENT, "");
		l->col = INDENT;
	} else if (l->col > INDENT) {
		sb_cstr(l->out, "  ");
		l->col += 2;
	}
	sb_cstr(l->out, text);
	l->col += (size_t)n;
}

static void time_word(Line *l, const char *name, int64_t ns)
{
	char text[40];

	if (ns <= 0)
		return;
	duration_format(ns, text);
	word(l, "%s %s", name, text);
}

static void endpoint(Ip ip, uint16_t port, Sb *out)
{
	char text[IP_TEXT];

	ip_format(ip, text);
	sb_printf(out, ip.v == 6 ? "[%s]:%u" : "%s:%u", text, port);
}

/* ---- lines ---- */

static void offer(Sb *out, const char *name, const TcpSynOptions *o)
{
	Line l = line(out, name);

	if (!o->said) {
		word(&l, "nothing yet");
		return;
	}
	if (o->mss)
		word(&l, "mss %u", o->mss);
	if (o->wscale != WSCALE_NONE)
		word(&l, "wscale %u", o->wscale);
	word(&l, "window %u", o->window);
	if (o->sack)
		word(&l, "sack");
	if (o->timestamps)
		word(&l, "timestamps");
	if (o->ecn)
		word(&l, "ecn");
	if (o->fastopen)
		word(&l, "fast open");
}

static void agreed(Sb *out, const TcpConn *c)
{
	static const char *const ids[] = {
#define ID_(id, text) text,
		TCP_IP_IDS(ID_)
#undef ID_
	};
	Line l = line(out, "agreed");

	word(&l, "mss %u", c->snd_mss);
	word(&l, "path mtu %u", c->mtu);
	if (c->wscale_ok)
		word(&l, "wscale %u to us, %u to the peer", c->rcv_wscale, c->snd_wscale);
	word(&l, "%s", c->sack_ok ? "sack" : "no sack");
	word(&l, "%s", c->ts_ok ? "timestamps" : "no timestamps");
	if (c->ecn_ok)
		word(&l, "ecn");
	if (c->peer.said) {
		word(&l, "peer's isn %u", c->irs);
		word(&l, c->peer_ttl_min == c->peer_ttl_max ? "ttl %u" : "ttl %u..%u", c->peer_ttl_min,
		     c->peer_ttl_max);
		word(&l, "ip id %s", ids[c->peer_ip_id]);
	}
}

static void traffic(Sb *out, const TcpConn *c)
{
	Line l = line(out, "sent");
	const TcpOutCounts *o = &c->out;
	unsigned again = o->fast + o->rto + o->tlp;

	word(&l, "%llu bytes in %llu segments", (unsigned long long)o->bytes, (unsigned long long)o->segments);
	word(&l, "%llu acknowledged", (unsigned long long)o->bytes_acked);
	if (tcp_unsent(c) || tcp_unacked(c))
		word(&l, "%u unsent, %u on the way", tcp_unsent(c), tcp_unacked(c));
	if (again)
		word(&l, "%u again (%u fast, %u after a time-out, %u probes)", again, o->fast, o->rto, o->tlp);
	if (o->spurious_dsack + o->spurious_eifel)
		word(&l, "%u of them needless", o->spurious_dsack + o->spurious_eifel);
	l = line(out, "received");
	word(&l, "%llu bytes in %llu segments", (unsigned long long)c->in.bytes, (unsigned long long)c->in.segments);
	if (c->in.bytes_dup)
		word(&l, "%llu bytes twice", (unsigned long long)c->in.bytes_dup);
	if (c->in.out_of_order)
		word(&l, "%u segments out of order, by up to %u bytes", c->in.out_of_order, c->in.reorder_bytes);
}

static void times(Sb *out, const TcpConn *c)
{
	Line l = line(out, "rtt");

	time_word(&l, "handshake", c->handshake_ns);
	if (c->rtt_n) {
		time_word(&l, "least", c->rtt_min_ns);
		time_word(&l, "mean", c->rtt_sum_ns / c->rtt_n);
		time_word(&l, "p95 below", tcp_rtt_quantile(c, 0.95));
		time_word(&l, "most", c->rtt_max_ns);
		word(&l, "of %u", c->rtt_n);
	}
	time_word(&l, "srtt", c->srtt_ns);
	time_word(&l, "rttvar", c->rttvar_ns);
	time_word(&l, "rto", c->rto_ns);
}

static void windows(Sb *out, const TcpConn *c)
{
	Line l = line(out, "window");

	word(&l, "cwnd %u", c->cwnd);
	if (c->ssthresh < INT32_MAX)
		word(&l, "ssthresh %u", c->ssthresh);
	word(&l, "peer's %u", c->snd_wnd);
	word(&l, "ours %u", tcp_rcv_wnd(c));
	word(&l, "at most %u in flight", c->max_in_flight);
	if (c->rate_max_bps)
		word(&l, "at most %.4g Mbit/s delivered", (double)c->rate_max_bps / 1e6);
}

static void limits(Sb *out, const TcpConn *c)
{
	static const char *const names[] = {
#define LIMIT_(id, text) text,
		TCP_LIMITS(LIMIT_)
#undef LIMIT_
	};
	int64_t all = 0;

	for (unsigned i = 0; i < TCP_LIMIT_N; i++)
		all += c->limited_ns[i];
	if (all <= 0)
		return;
	Line l = line(out, "held by");
	for (unsigned i = 0; i < TCP_LIMIT_N; i++)
		if (c->limited_ns[i] * 100 >= all)
			word(&l, "%s %lld %%", names[i], (long long)(c->limited_ns[i] * 100 / all));
}

/* Counters that are zero on a good connection. */
typedef struct OddRow {
	uint16_t off;
	const char *name;
} OddRow;

#define ODD(field, name) { offsetof(TcpConn, field), name }
static const OddRow odd_rows[] = {
	ODD(out.syn_retries, "SYN retries"),
	ODD(out.timeouts, "time-outs"),
	ODD(out.dup_acks, "duplicate ACKs"),
	ODD(out.reordered, "of ours reordered"),
	ODD(out.zero_windows, "zero windows"),
	ODD(out.window_shrunk, "windows shrunk"),
	ODD(out.window_probes, "window probes"),
	ODD(out.ece_in, "congestion echoes"),
	ODD(out.not_sent, "frames not sent"),
	ODD(out.mtu_changes, "path MTU changes"),
	ODD(in.retransmits, "repeated segments"),
	ODD(in.overlaps, "overlaps with other bytes"),
	ODD(in.out_of_window, "out of window"),
	ODD(in.paws, "old timestamps"),
	ODD(in.no_timestamp, "without timestamp"),
	ODD(in.csum_errors, "bad checksums"),
	ODD(in.malformed, "malformed"),
	ODD(in.zero_windows, "times our window was full"),
	ODD(in.challenges, "challenge ACKs sent"),
	ODD(in.ce_in, "congestion marks"),
	ODD(in.rst_odd_seq, "resets off sequence"),
	ODD(in.rst_odd_ttl, "resets with another TTL"),
	ODD(in.syns, "SYNs while open"),
	ODD(in.ack_unsent, "ACKs of what was never sent"),
	ODD(in.icmp, "ICMP errors"),
	ODD(in.icmp_ignored, "ICMP errors about nothing in flight"),
	ODD(in.no_memory, "segments dropped for memory"),
	ODD(crafted, "segments made by hand"),
};

static void odd(Sb *out, const TcpConn *c)
{
	Line l = { 0 };

	for (size_t i = 0; i < sizeof odd_rows / sizeof odd_rows[0]; i++) {
		uint32_t n;

		memcpy(&n, (const char *)c + odd_rows[i].off, sizeof n);
		if (!n)
			continue;
		if (!l.out)
			l = line(out, "also");
		word(&l, "%u %s", n, odd_rows[i].name);
	}
}

/* ---- objects ---- */

static void head(Sb *out, const char *name, const Live *l)
{
	sb_printf(out, "%s ", name);
	endpoint(l->src, l->sport, out);
	sb_cstr(out, " > ");
	endpoint(l->dst, l->dport, out);
}

static void conn_text(Sb *out, const Live *l, bool whole)
{
	const TcpConn *c = l->tcp;

	head(out, "Conn", l);
	sb_printf(out, "  %s", live_state(l));
	if (l->why || (c && c->error != TCP_ERR_NONE))
		sb_printf(out, ": %s", l->why ? l->why : tcp_error_text(c->error));
	if (!whole || !c)
		return;
	sb_printf(out, " (%s), opened by %s", tcp_state_name(c->state), c->active ? "us" : "the peer");
	offer(out, "we said", &c->offered);
	offer(out, "peer said", &c->peer);
	agreed(out, c);
	traffic(out, c);
	times(out, c);
	windows(out, c);
	limits(out, c);
	odd(out, c);
}

static void load_text(Sb *out, const Load *l)
{
	head(out, l->udp ? "Load udp" : "Load tcp", l->live);
	sb_printf(out, "  %s", l->done ? "ended" : "running");
}

Str net_live_text(void *ctx, Vm *vm, const ObjNative *o, bool whole)
{
	Sb out = sb(vm_scratch(vm));

	(void)ctx;
	switch ((BuiltinOwner)o->owner) {
	case OWNER_CONN:
		conn_text(&out, o->data, whole);
		break;
	case OWNER_UDP:
		head(&out, "Udp", o->data);
		break;
	case OWNER_LOAD:
		load_text(&out, o->data);
		break;
	case OWNER_LISTENER:
		sb_printf(&out, "Listener port %u", ((const Listener *)o->data)->port);
		break;
	default:
		break;
	}
	return sb_done(&out);
}
