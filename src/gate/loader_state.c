/* SPDX-License-Identifier: Apache-2.0
 *
 * What outlives a run, from the loader's side: the ledger that the opener opened, the
 * log, and the ports that other sessions used just now.
 */
#include "gate/loader_inside.h"

#include "base/exits.h"
#include "deal/manifest_codec.h"
#include "gate/approval.h"
#include "sys/proc.h"

#include <errno.h>
#include <netinet/in.h>

enum { STATE_PATIENCE_MS = 5000, LOOKUP_PACKETS = 12, LOOKUP_PACKET = 600 };

/* ---- the ledger ---- */

static bool take_state(Loader *l)
{
	int fds[2] = { -1, -1 };
	size_t n = 0, i = 0;

	if (!proc_readable(l->fds.netd, STATE_PATIENCE_MS) ||
	    proc_recv(l->fds.netd, &l->state, sizeof l->state, fds, 2, &n) != sizeof l->state ||
	    n != (size_t)!l->state.ledger_err + !l->state.log_err)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the process that opens the sockets is gone");
	if (!l->state.ledger_err)
		l->ledger.fd = fds[i++];
	if (!l->state.log_err)
		l->ledger.log_fd = fds[i];
	return true;
}

/* What is there and can't be used is as bad as a bound without a ledger. */
static bool state_fault(Loader *l, int err, const char *name)
{
	static const struct {
		int err;
		const char *text;
	} rows[] = {
		{ EPERM, "is not root's alone: it, and the folder, must belong to root and the group sonde, with no right "
			 "for others, and be no links" },
		{ EACCES, "can't be opened by this user: install the binary setgid sonde (scripts/setcap.sh), or use sudo" },
		{ ENOENT, "is missing: as root, `sonde ledger init --replace` makes it" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].err == err)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT, STATE_FOLDER "/%s %s; nothing is sent", name,
					   rows[i].text);
	return loader_fail(l, SONDE_EXIT_ENVIRONMENT, STATE_FOLDER "/%s can't be opened: %s; nothing is sent", name,
			   strerror(err));
}

static bool check_bounds(Loader *l)
{
	RulesInput in = { .policies = l->policies.p, .npolicies = l->policies.n, .ledger = l->ledger.fd >= 0 };

	if (rules_check_ledger(&in, &l->findings))
		return true;
	loader_note_findings(l, 0);
	return loader_fail(l, SONDE_EXIT_ENVIRONMENT,
			   "policy bounds what an hour may take, and there is no ledger " LEDGER_PATH
			   ": as root, `sonde ledger init` makes it");
}

bool loader_ledger(Loader *l)
{
	int fd, log_fd;
	const char *why;

	if (!take_state(l))
		return false;
	if (l->state.ledger_err == ENOENT && l->state.log_err == ENOENT)
		return check_bounds(l);
	if (l->state.ledger_err || l->state.log_err)
		return l->state.ledger_err ? state_fault(l, l->state.ledger_err, LEDGER_FILE)
					   : state_fault(l, l->state.log_err, LEDGER_LOG);
	fd = l->ledger.fd;
	log_fd = l->ledger.log_fd;
	why = ledger_open(&l->ledger, fd, log_fd, l->o->session ? l->o->session : "local");
	if (!why)
		return true;
	l->ledger.fd = -1; /* not to be written to any more */
	return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
}

bool loader_reserve(Loader *l)
{
	/* of all policies: there are no rules before names have addresses */
	LedgerCount hour = purse_hour_bounds(l->policies.p, l->policies.n), want = { 0 };
	const char *why;

	if (l->ledger.fd < 0)
		return true;
	want.v[LEDGER_PACKETS] = (uint64_t)l->manifest.names.n * LOOKUP_PACKETS;
	want.v[LEDGER_BYTES] = want.v[LEDGER_PACKETS] * LOOKUP_PACKET;
	why = ledger_take(&l->ledger, &want, &hour, &l->early);
	if (why)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
	for (unsigned k = 0; k < LEDGER_N; k++)
		if (l->early.v[k] < want.v[k])
			return loader_fail(l, SONDE_EXIT_BUDGET,
					   "this session has used what the policy allows in an hour (%s): not even its names "
					   "can be looked up; `sonde ledger` shows it, wait until some of it is an hour ago",
					   ledger_kind_name((LedgerKind)k));
	return true;
}

/* ---- ports ---- */

bool loader_port_held(Loader *l, uint8_t proto, uint16_t port)
{
	uint8_t **bits = &l->held_ports[proto == IPPROTO_UDP];
	const char *why = NULL;

	if (l->ledger.fd < 0)
		return false;
	if (!*bits) {
		*bits = arena_alloc(l->a, (65536 - LOADER_FREE_FROM) / 8 + 1);
		why = ledger_ports_held(&l->ledger, proto, LOADER_FREE_FROM, 65535, *bits);
	}
	if (why)
		loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
	return (*bits)[(port - LOADER_FREE_FROM) / 8] >> (port - LOADER_FREE_FROM) % 8 & 1;
}

void loader_ports_warm(Loader *l, uint8_t proto, const PortSet *named)
{
	for (uint32_t i = 0; i < named->n && l->ledger.fd >= 0; i++)
		for (uint32_t port = named->p[i].lo; port <= named->p[i].hi && !l->why[0]; port++) {
			int64_t wait_s = 0;
			const char *why = ledger_port_wait(&l->ledger, (LedgerPort){ proto, (uint16_t)port }, &wait_s);

			if (why)
				loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
			else if (wait_s)
				loader_fail(l, SONDE_EXIT_ENVIRONMENT,
					    "source port %u was another session's until now: what was sent to that may still come "
					    "to it; wait %lld s, or name another",
					    port, (long long)wait_s);
		}
}

/* ---- the log ---- */

static void write_start(LogLine *line, void *ctx)
{
	Loader *l = ctx;
	uint8_t *buf = arena_alloc(l->a, LIMIT_MSG);
	Writer w = writer(buf, LIMIT_MSG);

	manifest_encode(&l->manifest, &w);
	log_str(line, "program_name", bytes_str(bytes_slice(str_bytes(l->o->program_name), 0, 200)));
	log_hash(line, "program", sha256(str_bytes(l->o->program)));
	log_hash(line, "policy", approval_policy_hash(l->policies.p, l->policies.n));
	log_hash(line, "claimed_manifest", sha256(wr_done(&w)));
	if (l->approved)
		log_hash(line, "approval", l->approval);
	if (l->rules) {
		log_num(line, "packets_most", (uint64_t)l->rules->budget.v[BOUND_PACKETS]);
		log_num(line, "looked_up", l->lookups.queries);
	}
}

static void write_refused(LogLine *line, void *ctx)
{
	Loader *l = ctx;

	log_str(line, "program_name", bytes_str(bytes_slice(str_bytes(l->o->program_name), 0, 200)));
	log_hash(line, "program", sha256(str_bytes(l->o->program)));
	log_num(line, "exit", (uint64_t)l->exit);
	log_str(line, "why", str_c(l->why));
}

static void write_end(LogLine *line, void *ctx)
{
	Loader *l = ctx;
	const Gate *g = l->g;

	log_num(line, "start", l->start_seq);
	log_num(line, "exit", (uint64_t)g->exit);
	log_str(line, "why", str_c(g->why));
	log_num(line, "packets", g->sent_packets);
	log_num(line, "bytes", g->sent_bytes);
	log_num(line, "syn", g->sent_syn);
	log_num(line, "refused", g->refused);
	if (g->evidence.fd >= 0)
		log_hash(line, "evidence", g->evidence_head);
}

/* ---- start and end of a run ---- */

/* Until the run says otherwise its ports are its session's for as long as it may last,
 * and a minute: it may die. */
bool loader_started(Loader *l)
{
	static LedgerPort port[LIMIT_START_PORTS];
	int64_t limit = l->rules->budget.v[BOUND_TIME];
	LedgerBill b = { .port = port, .hold_s = limit / NS_PER_S + 1 + LEDGER_PORT_HOLD_S };
	const char *why;

	if (l->ledger.fd < 0)
		return true;
	for (uint32_t i = 0; i < l->plan->nholds; i++) {
		const Held *h = &l->plan->hold[i].held;

		if (l->opened->hold_err[i] == 0 && (h->proto == IPPROTO_TCP || h->proto == IPPROTO_UDP))
			port[b.nports++] = (LedgerPort){ h->proto, h->port };
	}
	b.more.v[LEDGER_RUNS] = 1;
	/* the bound: what was metered is the engine's own word */
	b.more.v[LEDGER_LEAK] = (uint64_t)l->rules->budget.v[BOUND_LEAK];
	why = ledger_settle(&l->ledger, &b);
	if (!why)
		why = ledger_log(&l->ledger, "start", write_start, l);
	l->start_seq = l->ledger.log_seq;
	return !why || loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
}

void loader_refused(Loader *l)
{
	LedgerBill b = { .back = l->early, .taken_at = l->ledger.now, .more.v[LEDGER_REFUSED] = 1 };
	uint64_t used[] = { l->lookups.queries, l->lookups.bytes };

	if (l->ledger.fd < 0 || l->exit == SONDE_EXIT_OK)
		return;
	for (unsigned k = LEDGER_PACKETS; k <= LEDGER_BYTES; k++) {
		b.more.v[k] = used[k] > l->early.v[k] ? used[k] - l->early.v[k] : 0;
		b.back.v[k] = used[k] < l->early.v[k] ? l->early.v[k] - used[k] : 0;
	}
	if (ledger_settle(&l->ledger, &b) || ledger_log(&l->ledger, "refused", write_refused, l))
		gate_note(l->fds.cmd, 1, "the ledger did not take this refusal");
}

void loader_settle(Loader *l)
{
	static LedgerPort port[LIMIT_OWN_PORTS];
	Gate *g = l->g;
	uint32_t n = 0;
	const char *why;

	if (l->ledger.fd < 0)
		return;
	for (uint32_t i = 0; i <= g->owned.mask; i++) {
		const OwnedKey *k = &g->owned.slots[i];

		if ((k->proto == IPPROTO_TCP || k->proto == IPPROTO_UDP) && n < LIMIT_OWN_PORTS)
			port[n++] = (LedgerPort){ k->proto, k->port };
	}
	purse_count(&g->purse, LEDGER_REFUSED, g->refused);
	why = purse_settle(&g->purse, port, n);
	if (!why)
		why = ledger_log(&l->ledger, "end", write_end, l);
	if (!why)
		return;
	gate_note(l->fds.cmd, 2, "%s", why);
	if (!g->exit) {
		g->exit = SONDE_EXIT_ENVIRONMENT;
		snprintf(g->why, sizeof g->why, "%s", why);
	}
}
