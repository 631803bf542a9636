/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run ends: by the engine's END, by a STOP of ours, by somebody's death; how
 * long the kernel must stay blind to our ports afterwards; and what cmd is told.
 */
#include "gate/gate.h"

#include "base/exits.h"
#include "base/rng.h"
#include "sys/proc.h"

#include <netinet/in.h>
#include <stdarg.h>

#define STOP_GRACE (3 * NS_PER_S)    /* the engine prints its statistics */
#define DEATH_GRACE NS_PER_S	     /* and where one of our own is dead */
#define QUIET_ANSWER NS_PER_S	     /* an answer may come so long after its probe */
#define QUIET_RESET (200 * NS_PER_MS) /* what was in flight when we reset, RFC 6298's shortest RTO in use */

static void put(int fd, const Msg *m)
{
	uint8_t buf[1024];
	Writer w = writer(buf, sizeof buf);

	if (msg_put(&w, m))
		proc_send(fd, wr_done(&w), NULL, 0);
}

void gate_note(int cmd_fd, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	Msg m = { .type = MSG_NOTE };

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	m.note.level = (uint8_t)level;
	m.note.text = str_bytes(str_c(text));
	put(cmd_fd, &m);
}

void gate_stop(Gate *g, StopReason reason, int exit, const char *fmt, ...)
{
	va_list ap;
	Msg m = { .type = MSG_STOP };

	if (g->phase != GATE_RUNS)
		return;
	va_start(ap, fmt);
	vsnprintf(g->why, sizeof g->why, fmt, ap);
	va_end(ap);
	g->phase = GATE_STOPPED;
	g->exit = exit;
	g->deadline = gate_now(g) + (reason == STOP_ENVIRONMENT ? DEATH_GRACE : STOP_GRACE);
	m.stop.reason = (uint8_t)reason;
	m.stop.detail = str_bytes(str_c(g->why));
	outbox_put(&g->outbox, &m);
}

/* Behind the end of the engine, where a stop would reach nobody. */
static void ending_fail(Gate *g, const char *why)
{
	snprintf(g->why, sizeof g->why, "%s", why);
	g->exit = SONDE_EXIT_ENVIRONMENT;
}

void gate_refused(Gate *g, const Slot *s, NotSent reason, const char *detail)
{
	char comment[256];

	g->refused++;
	snprintf(comment, sizeof comment, "refused tx_id=%u: %s: %s", s->tx_id, notsent_text(reason), detail);
	evidence_refused(&g->evidence, g->time.epoch + gate_now(g), comment, BYTES(s->data, s->n));
	if (g->refused <= LIMIT_REFUSED)
		gate_note(g->cmd_fd, 1, "%s", comment);
	if (meter_refused(&g->meter))
		gate_stop(g, STOP_REFUSED, SONDE_EXIT_POLICY, "%llu refused frames; the last: %s",
			  (unsigned long long)g->refused, detail);
}

/* ---- answers that may still come ---- */

static uint64_t tuple_key(Ip src, Ip dst, uint8_t proto, uint16_t sport, uint16_t dport)
{
	uint64_t w[4];

	memcpy(w, src.b, 16);
	memcpy(w + 2, dst.b, 16);
	uint64_t h = rng_mix(rng_mix(w[0]) ^ w[1]);
	h = rng_mix(rng_mix(h ^ w[2]) ^ w[3]);
	return rng_mix(h ^ ((uint64_t)proto << 32 | (uint32_t)sport << 16 | dport)) | 1;
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

void ending_expect(Gate *g, const FlowTuple *t, int64_t at)
{
	if (has_ports(t->proto))
		g->recent[g->nrecent++ % GATE_RECENT] =
			(Recent){ tuple_key(t->src, t->dst, t->proto, t->sport, t->dport), at };
}

static void answered(Gate *g, uint64_t key)
{
	for (unsigned i = 0; i < GATE_RECENT; i++)
		if (g->recent[i].key == key)
			g->recent[i].key = 0;
}

/* The tuple of an IP packet that starts at b, as its sender sees it; 0: no ports. */
static uint64_t packet_key(Bytes b, bool reversed, Bytes *ret_quote)
{
	bool v6 = b.n && b.p[0] >> 4 == 6;
	size_t head = v6 ? 40 : b.n ? (size_t)(b.p[0] & 15) * 4 : 0;
	uint8_t proto;
	Ip src, dst;

	if (b.n < head + 8 || head < 20)
		return 0;
	proto = b.p[v6 ? 6 : 9];
	src = ip_from(v6 ? 6 : 4, b.p + (v6 ? 8 : 12));
	dst = ip_from(v6 ? 6 : 4, b.p + (v6 ? 24 : 16));
	if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6)
		*ret_quote = bytes_slice(b, head + 8, b.n);
	if (!has_ports(proto))
		return 0;
	uint16_t sport = get_be16(b.p + head), dport = get_be16(b.p + head + 2);
	return reversed ? tuple_key(dst, src, proto, dport, sport) : tuple_key(src, dst, proto, sport, dport);
}

void ending_answered(Gate *g, Bytes frame, bool ether)
{
	Bytes quote = { 0 }, none;
	uint64_t key;

	if (!g->nrecent)
		return;
	key = packet_key(bytes_slice(frame, ether ? 14 : 0, frame.n), true, &quote);
	if (!key && quote.n) /* an error about one of ours answers it too */
		key = packet_key(quote, false, &none);
	if (key)
		answered(g, key);
}

int64_t ending_quiet_at(const Gate *g)
{
	int64_t at = g->resets ? g->last_reset + QUIET_RESET : INT64_MIN;

	for (unsigned i = 0; i < GATE_RECENT; i++)
		if (g->recent[i].key && g->recent[i].at + QUIET_ANSWER > at)
			at = g->recent[i].at + QUIET_ANSWER;
	return at;
}

void ending_let_go(Gate *g)
{
	uint64_t dropped = 0;

	if (!g->netd_gone && g->nholds && netd_count(g->netd_fd, &dropped) == 0 && dropped)
		gate_note(g->cmd_fd, 0, "the kernel was kept from %llu packets to our ports",
			  (unsigned long long)dropped);
	for (uint32_t i = 0; i < g->nholds; i++) /* the next run may want them at once */
		proc_close(&g->holds[i]);
	proc_close(&g->netd_fd);
}

/* ---- figures ---- */

static uint8_t main_source(const uint64_t by_source[STAMP_N])
{
	uint8_t most = STAMP_NONE;

	for (uint8_t i = 0; i < STAMP_N; i++)
		if (by_source[i] > by_source[most])
			most = i;
	return most;
}

static void note_paced(const Gate *g)
{
	for (int b = 0; b < BOUND_N; b++)
		if (g->meter.held[b])
			gate_note(g->cmd_fd, 1, "paced by %s=%lld: %llu frames left later than the program asked",
				  bound_name((Bound)b), (long long)g->rules->budget.v[b],
				  (unsigned long long)g->meter.held[b]);
	if (g->meter.held_spoof)
		gate_note(g->cmd_fd, 1, "paced by the rate of spoof(): %llu frames left later than the program asked",
			  (unsigned long long)g->meter.held_spoof);
	if (g->time.steps)
		gate_note(g->cmd_fd, 1, "the wall clock was set %u times during the run; stamps were moved with it",
			  g->time.steps);
}

/* The hash that stands in no file of the caller's: whoever writes the evidence anew
 * can't write this anew. */
void ending_evidence(Gate *g)
{
	char text[SHA256_TEXT];

	if (g->evidence.fd < 0)
		return;
	g->evidence_head = evidence_end(&g->evidence);
	hash_format(g->evidence_head, text);
	if (!g->evidence.failed)
		gate_note(g->cmd_fd, 0, "evidence: %llu blocks, the last hash is %s", (unsigned long long)g->evidence.blocks,
			  text);
	else if (!g->exit)
		ending_fail(g, "the capture file can't be written any more");
}

void ending_report(Gate *g)
{
	Msg stat = { .type = MSG_GATE_STAT,
		     .gate_stat = { .packets = g->sent_packets,
				    .bytes = g->sent_bytes,
				    .syn = g->sent_syn,
				    .refused = g->refused,
				    .held = g->held,
				    .capture_drops = g->capture_drops,
				    .backlog_drops = g->outbox.dropped,
				    .neighbour_probes = g->neighs.probes,
				    .tx_source = main_source(g->stamps.by_source),
				    .rx_source = main_source(g->stamps.rx_by_source) } };
	Msg end = { .type = MSG_GATE_END,
		    .gate_end = { .exit = (uint8_t)g->exit, .message = str_bytes(str_c(g->why)) } };

	note_paced(g);
	if (g->stamps.disagreed)
		gate_note(g->cmd_fd, 1, "transmit stamps differ from the recapture for %u frames; %s", g->stamps.disagreed,
			  "send times come from the recapture where both are there");
	put(g->cmd_fd, &stat);
	put(g->cmd_fd, &end);
}
