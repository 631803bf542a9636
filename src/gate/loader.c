/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/loader_inside.h"

#include "base/exits.h"
#include "deal/manifest_codec.h"
#include "sys/proc.h"
#include "sys/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

enum { ENGINE_LEAVES_MS = 2000 };
#define LOADER_ARENA (256u << 20) /* address space; only touched pages cost */

bool loader_fail(Loader *l, int exit, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, sizeof l->why, fmt, ap);
	va_end(ap);
	l->exit = exit;
	return false;
}

/* ---- policies and manifest ---- */

static bool read_policies(Loader *l)
{
	Str why = { 0 };

	if (l->o->policies(l->o->policies_ctx, l->a, &l->policies, &why))
		return true;
	return loader_fail(l, SONDE_EXIT_POLICY, "%.*s", STR_ARG(why));
}

/* --iface names the one way there is: one that leads nowhere is no run. */
static bool check_iface(Loader *l)
{
	const char *name = l->o->iface;
	const GateIface *i = links_by_name(&l->g->links, str_c(name));

	if (!i)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "there is no interface %s here; see: ip link", name);
	if (!i->link.up)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT,
				   "the interface %s is down or has no carrier; look with: ip link show %s, then: ip link set %s up",
				   name, name, name);
	return true;
}

static bool read_host(Loader *l)
{
	Links *links = &l->g->links;
	int r = links_init(links, l->a, l->o->iface);

	if (r)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the kernel does not tell its interfaces: %s",
				   strerror(-r));
	for (unsigned i = 0; i < links->naddr; i++)
		l->own[i] = (OwnAddr){ links->addr[i].ip, links->addr[i].bits };
	return !l->o->iface || check_iface(l);
}

/* The engine's first message.  False with exit 0: it ended by itself (an error of
 * the program, which it has told cmd). */
static bool read_manifest(Loader *l)
{
	uint8_t *buf = arena_alloc(l->a, GATE_IN);
	ssize_t n = proc_recv(l->fds.engine, buf, GATE_IN, NULL, 0, NULL);
	Cursor c = cursor(BYTES(buf, n > 0 ? (size_t)n : 0));
	const char *fault;
	Msg m;

	if (n == 0 || n == -ECONNRESET)
		return loader_fail(l, SONDE_EXIT_OK, "%s", "");
	if (n < 0 || msg_get(&c, 'E', &m) != MSG_OK || m.type != MSG_MANIFEST || cur_left(&c))
		return loader_fail(l, SONDE_EXIT_POLICY, "the engine's first message is no manifest");
	recorder_put(&l->g->record, RECORD_ENGINE, BYTES(buf, (size_t)n));
	fault = manifest_decode(m.manifest.data, l->a, &l->manifest);
	if (fault)
		return loader_fail(l, SONDE_EXIT_POLICY, "the engine's manifest: %s", fault);
	return true;
}

/* ---- names and rules ---- */

void loader_note_findings(Loader *l, uint32_t from)
{
	for (uint32_t i = from; i < l->findings.v.n; i++) {
		const Finding *f = &l->findings.v.p[i];
		Sb text = sb(l->a);
		Str s;

		finding_text(f, l->o->program_name, l->o->program, &text);
		s = sb_done(&text);
		gate_note(l->fds.cmd, f->refused || f->person ? 2 : 0, "%.*s", (int)(s.n ? s.n - 1 : 0), s.p);
	}
}

RulesInput loader_rules_input(const Loader *l)
{
	return (RulesInput){ .policies = l->policies.p,
			     .npolicies = l->policies.n,
			     .manifest = &l->manifest,
			     .pins = l->pins.p,
			     .npins = l->pins.n,
			     .own = l->own,
			     .nown = l->g->links.naddr,
			     .zone_default_all = !l->o->zones_none,
			     .ledger = l->ledger.fd >= 0,
			     .approvable = true };
}

static bool refused(Loader *l)
{
	return loader_fail(l, SONDE_EXIT_POLICY, "refused by policy (%u %s)", l->findings.refused,
			   l->findings.refused == 1 ? "finding" : "findings");
}

static void pin(Loader *l, Str name, const Lookup *found)
{
	char ip[IP_TEXT];
	Sb text = sb(l->a);

	for (uint32_t i = 0; i < found->n; i++) {
		vec_push(l->a, &l->pins, (Pin){ name, found->addr[i].addr });
		ip_format(found->addr[i].addr, ip);
		sb_printf(&text, "%s%s", i ? ", " : "", ip);
	}
	Str s = sb_done(&text);
	gate_note(l->fds.cmd, 0, "%.*s is %.*s (%s)", STR_ARG(name), STR_ARG(s), found->from);
}

static void resolvers_of(Loader *l)
{
	uint32_t n;
	const Ip *named = policy_resolvers(l->policies.p, l->policies.n, &n);

	lookups_init(&l->lookups, l->a, &l->g->links, named, n);
}

/* The first: the one that `resolve` asks. */
static bool pin_resolver(Loader *l)
{
	Lookup found = { .n = 1, .from = "/etc/resolv.conf, or the policy" };

	if (!l->lookups.servers.n)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "no resolver is known here: name one by server=");
	found.addr[0].addr = l->lookups.servers.addr[0];
	pin(l, STR(PEER_RESOLVER), &found);
	return true;
}

static bool look_up_names(Loader *l)
{
	RulesInput in = loader_rules_input(l);

	if (!l->manifest.names.n && !l->manifest.uses_resolver && !l->manifest.says.n)
		return true;
	if (!rules_check_names(&in, &l->findings)) {
		loader_note_findings(l, 0);
		return refused(l);
	}
	if (!l->manifest.names.n && !l->manifest.uses_resolver)
		return true;
	if (!loader_reserve(l))
		return false;
	resolvers_of(l);
	session_check_names(&l->session, &in, l->lookups.servers.addr, l->lookups.servers.n, &l->findings);
	if (l->findings.refused) {
		loader_note_findings(l, 0);
		return refused(l);
	}
	if (l->manifest.uses_resolver && !pin_resolver(l))
		return false;
	for (uint32_t i = 0; i < l->manifest.names.n; i++) {
		Str name = l->manifest.names.p[i];
		Lookup found;

		lookup(&l->lookups, name, &found);
		if (!found.n)
			return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%.*s has no address: %s", STR_ARG(name),
					   found.from);
		pin(l, name, &found);
	}
	return true;
}

static bool make_rules(Loader *l)
{
	uint32_t told = l->findings.v.n;
	RulesInput in = loader_rules_input(l);

	l->rules = rules_make(&in, &l->findings);
	if (l->rules) {
		session_check(&l->session, &in, l->rules, &l->findings);
		l->rules = l->findings.refused ? NULL : l->rules;
	}
	loader_note_findings(l, told);
	return l->rules || refused(l);
}

/* What is not printed is not kept in the caller's files either. */
static bool may_keep(Loader *l)
{
	return !l->rules->output_measurements || (l->o->write_fd < 0 && l->o->record_fd < 0) ||
	       loader_fail(l, SONDE_EXIT_POLICY, "policy says output(\"measurements\"): --write and --record would keep what peers sent");
}

/* Its binary loads while sockets are opened. */
static bool start_tls(Loader *l)
{
	uint8_t buf[16];
	Writer w = writer(buf, sizeof buf);

	if (!l->manifest.uses_tls) {
		proc_close(&l->fds.tls);
		return true;
	}
	return (msg_put(&w, &(Msg){ .type = MSG_TLS_START, .tls_start = { .wanted = 1 } }) &&
		proc_send(l->fds.cmd, wr_done(&w), NULL, 0) == 0) ||
	       loader_fail(l, SONDE_EXIT_ENVIRONMENT, "cmd is gone");
}

/* ---- the process ---- */

static bool load(Loader *l)
{
	return read_policies(l) && loader_session(l) && loader_ledger(l) && read_manifest(l) && look_up_names(l) && make_rules(l) &&
	       may_keep(l) && loader_links(l) && loader_approval(l) && start_tls(l) && loader_plan(l) && loader_open(l) && loader_gate_init(l) && loader_session_had(l) && loader_started(l);
}

/* The engine is told that nothing will run, cmd why. */
static int refuse(Loader *l)
{
	uint8_t buf[1024];
	Writer w = writer(buf, sizeof buf);
	Msg stop = { .type = MSG_STOP,
		     .stop = { .reason = l->exit == SONDE_EXIT_POLICY ? STOP_POLICY : STOP_ENVIRONMENT,
			       .detail = str_bytes(str_c(l->why)) } };
	Msg end = { .type = MSG_GATE_END,
		    .gate_end = { .exit = (uint8_t)l->exit, .message = str_bytes(str_c(l->why)) } };

	loader_refused(l);
	proc_close(&l->fds.netd); /* nothing will be opened */
	if (l->exit != SONDE_EXIT_OK && msg_put(&w, &stop)) {
		proc_send(l->fds.engine, wr_done(&w), NULL, 0);
		recorder_put(&l->g->record, RECORD_GATE, wr_done(&w));
	}
	recorder_flush(&l->g->record);
	w = writer(buf, sizeof buf);
	if (msg_put(&w, &end))
		proc_send(l->fds.cmd, wr_done(&w), NULL, 0);
	/* a socket that is closed with something unread makes the other side forget
	 * what it was sent */
	while (l->exit != SONDE_EXIT_OK && proc_readable(l->fds.engine, ENGINE_LEAVES_MS) &&
	       proc_recv(l->fds.engine, buf, sizeof buf, NULL, 0, NULL) != 0)
		;
	return l->exit;
}

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool init(Loader *l, const RunOptions *o, const LoaderFds *fds, jmp_buf *full)
{
	void *mem = map(LOADER_ARENA);

	if (!mem)
		return false;
	l->o = o;
	l->ledger.fd = l->ledger.log_fd = -1;
	l->fds = *fds;
	l->a = &l->arena;
	arena_init_zeroed(l->a, mem, LOADER_ARENA, full);
	l->findings.a = l->a;
	l->g = arena_new(l->a, Gate);
	recorder_init(&l->g->record, o->record_fd, o->record_fd < 0 ? NULL : arena_alloc(l->a, RECORDER_BUF));
	return true;
}

int loader_main(const RunOptions *o, const LoaderFds *fds)
{
	static Loader l; /* once a process; too large for the stack, alive across the jump */
	jmp_buf full;

	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	proc_seal();
	if (!init(&l, o, fds, &full))
		return SONDE_EXIT_ENVIRONMENT;
	if (setjmp(full)) {
		loader_fail(&l, SONDE_EXIT_POLICY, "the manifest asks for more than a run can hold");
		return refuse(&l);
	}
	/* what the kernel tells of itself is read at once: namespaces that are made or
	 * end at the same time (the engine's) hold its routing lock */
	bool host = read_host(&l);
	if (sandbox_filter(SANDBOX_LOADER))
		return SONDE_EXIT_ENVIRONMENT;
	if (!host || !load(&l))
		return refuse(&l);
	loader_tell(&l);
	if (sandbox_filter(SANDBOX_GATE))
		return SONDE_EXIT_ENVIRONMENT;
	gate_loop(l.g);
	ending_let_go(l.g);
	ending_evidence(l.g);
	loader_settle(&l);
	ending_report(l.g);
	return l.g->exit;
}
