/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine says at the end, unasked: statistics by protocol, its own work,
 * warnings.
 */
#include "vm/engine_inside.h"

#include "base/json.h"
#include "vm/out.h"

static void emit_stat(Engine *e, const char *group, Sb *json)
{
	e->config.sink(
		e->config.sink_ctx,
		&(Msg){ .type = MSG_STAT, .stat = { str_bytes(str_c(group)), str_bytes(sb_done(json)) } });
}

static void number(Json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

/* Numbers that are 0 and say nothing are left out. */
static void some(Json *j, const char *key, uint64_t v)
{
	if (v)
		number(j, key, v);
}

static void report_line(Engine *e, const char *name, const StatLine *l)
{
	Sb out = sb(&e->spare);
	Json j = json(&out);

	json_open(&j, '{');
	number(&j, "sent", l->sent);
	number(&j, "bytes", l->bytes);
	if (l->probes) {
		number(&j, "probes", l->probes);
		number(&j, "answered", l->answered);
		number(&j, "lost", l->lost);
	}
	some(&j, "not_sent", l->not_sent);
	some(&j, "duplicates", l->duplicates);
	some(&j, "further", l->further);
	some(&j, "late", l->late);
	some(&j, "ambiguous", l->ambiguous);
	json_close(&j, '}');
	emit_stat(e, name, &out);
}

/* The source of most stamps. */
static const char *most(const uint64_t *by_source)
{
	unsigned best = STAMP_NONE;

	for (unsigned i = 0; i < STAMP_N; i++)
		if (by_source[i] > by_source[best])
			best = i;
	return stamp_text((StampSource)best);
}

static void report_engine(Engine *e)
{
	Sb out = sb(&e->spare);
	Json j = json(&out);

	json_open(&j, '{');
	number(&j, "frames", e->frames);
	some(&j, "unsolicited", e->unsolicited);
	some(&j, "resets", e->resets);
	number(&j, "capture_drops", e->capture_drops);
	some(&j, "backlog_drops", e->backlog_drops);
	json_kstr(&j, "sent_stamps", str_c(most(e->tx_source)));
	json_kstr(&j, "received_stamps", str_c(most(e->rx_source)));
	json_close(&j, '}');
	emit_stat(e, "received", &out);
}

static void report_leak(Engine *e)
{
	Sb out = sb(&e->spare);
	Json j = json(&out);

	json_open(&j, '{');
	number(&j, "bits", e->leak_used);
	number(&j, "bound", e->leak);
	json_close(&j, '}');
	emit_stat(e, "leak", &out);
}

/* output("measurements"): evidence is content of the peer whom it is about. */
static Str instead_of(Engine *e, Ip peer)
{
	const Target whom = { .lo = peer, .hi = peer };
	Sb out = sb(&e->spare);

	out_instead_text(&(ProgTold){ .any = !peer.v, .n = peer.v != 0, .origin = &whom }, &out);
	return sb_done(&out);
}

static void report_warnings(Engine *e)
{
	for (unsigned i = 0; i < WARN_N; i++) {
		const Warning *w = &e->warnings.w[i];

		for (uint32_t k = 0; k < w->n; k++) {
			const WarnPeer *p = &w->peer[k];
			size_t mark = arena_mark(&e->spare);
			bool hide = e->measurements && (p->ip.v || strchr(p->evidence, '"'));
			Msg m = { .type = MSG_WARN,
				  .warn = { .code = str_bytes(str_c(warn_row((WarnId)i)->code)),
					    .count = w->count,
					    .peer = p->ip,
					    .of_peer = p->count,
					    .evidence = str_bytes(hide ? instead_of(e, p->ip) : str_c(p->evidence)) } };

			e->config.sink(e->config.sink_ctx, &m);
			arena_reset(&e->spare, mark);
		}
	}
}

void engine_report(Engine *e)
{
	static const char *const names[LINES] = { [LINE_ICMP] = "icmp",
						  [LINE_TCP] = "tcp",
						  [LINE_UDP] = "udp",
						  [LINE_ARP] = "arp",
						  [LINE_OTHER] = "other" };
	report_warnings(e);
	for (int i = 0; i < LINES; i++)
		if (e->line[i].sent || e->line[i].not_sent)
			report_line(e, names[i], &e->line[i]);
	if (e->frames || e->tx_next) {
		report_engine(e);
		report_leak(e);
	}
	arena_reset(&e->spare, 0);
}
