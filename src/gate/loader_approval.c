/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that policy wants a person for: the record of what it would do is made; where
 * a person has approved exactly that, the run is held to the approved record; else it
 * is refused, and the record waits for `sonde approve`.
 */
#include "gate/loader_inside.h"

#include "base/exits.h"
#include "deal/manifest_codec.h"
#include "gate/approval.h"
#include "sys/io.h"
#include "sys/proc.h"

#include <errno.h>
#include <unistd.h>

enum { ASK_PATIENCE_MS = 5000 };

/* A descriptor, or -errno. */
static int ask_opener(Loader *l, uint32_t op, Hash h)
{
	PlanAsk ask = { .op = op, .hash = h };
	PlanAskAnswer answer = { 0 };
	int fd = -1;
	size_t n = 0;

	if (proc_send(l->fds.netd, BYTES(&ask, sizeof ask), NULL, 0) || !proc_readable(l->fds.netd, ASK_PATIENCE_MS) ||
	    proc_recv(l->fds.netd, &answer, sizeof answer, &fd, 1, &n) != sizeof answer)
		return -EPIPE;
	if (answer.err)
		return -answer.err;
	return n == 1 ? fd : -EBADMSG;
}

/* ---- approved ---- */

static Bytes read_all(Loader *l, int fd)
{
	uint8_t *buf = arena_alloc(l->a, LIMIT_APPROVAL + 1);
	ssize_t n = io_read(fd, buf, LIMIT_APPROVAL + 1);

	return BYTES(buf, n < 0 ? 0 : (size_t)n);
}

static bool read_pins(Loader *l, Str text)
{
	l->pins.n = 0;
	for (size_t i = 0; i < text.n;) {
		const char *nl = memchr(text.p + i, '\n', text.n - i), *blank = nl ? memchr(text.p + i, ' ', text.n - i) : NULL;
		Pin p;

		if (!blank || blank > nl || !ip_parse((Str){ blank + 1, (size_t)(nl - blank) - 1 }, &p.addr))
			return false;
		p.name = (Str){ text.p + i, (size_t)(blank - (text.p + i)) };
		vec_push(l->a, &l->pins, p);
		i = (size_t)(nl - text.p) + 1;
	}
	return true;
}

/* guardrails.md 4: for approved runs the manifest comes from the approval record. */
static bool enforce(Loader *l, const Approval *wanted, int fd)
{
	Approval got;
	Findings findings = { .a = l->a };
	bool ours = approval_read(read_all(l, fd), &got) && hash_eq(got.hash, wanted->hash);

	if (!ours || manifest_decode(got.manifest, l->a, &l->manifest) || !read_pins(l, got.pins))
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "the approval below " STATE_FOLDER "/" STATE_APPROVALS
							      " is damaged: nothing is sent; approve it again");
	RulesInput in = loader_rules_input(l);

	l->rules = rules_make(&in, &findings);
	if (!l->rules)
		return loader_fail(l, SONDE_EXIT_POLICY, "the approved manifest is refused by policy");
	l->approved = true;
	l->approval = got.hash;
	gate_note(l->fds.cmd, 0, "a person has approved this run");
	return true;
}

/* ---- requests ---- */

/* NULL: it waits for the approver. */
static const char *leave_request(Loader *l, Hash hash, Bytes record)
{
	int fd = ask_opener(l, PLAN_ASK_REQUEST, hash);

	if (fd == -ENOENT)
		return "there is no " STATE_FOLDER ": as root, `sonde ledger init` makes it; then run this again";
	if (fd == -EACCES)
		return "this user can't leave a request: install the binary setgid sonde (scripts/setcap.sh), or use sudo";
	if (fd < 0)
		return "the request can't be left below " STATE_FOLDER "/" STATE_REQUESTS;
	bool ok = io_write(fd, record) == record.n;

	proc_close(&fd);
	return ok ? NULL : "the request can't be written below " STATE_FOLDER "/" STATE_REQUESTS "; look at its disk";
}

/* A person has answered by other means: it waits for nobody.  Another one in its place goes
 * back there. */
static void take_back_request(Loader *l, const Approval *w)
{
	int fd = ask_opener(l, PLAN_ASK_TAKE_BACK, w->hash);
	Bytes was = fd < 0 ? (Bytes){ 0 } : read_all(l, fd);

	proc_close(&fd);
	if (was.n && was.n <= LIMIT_APPROVAL && !hash_eq(sha256(was), w->hash))
		leave_request(l, w->hash, was);
}

/* ---- by a form ---- */

/* The installed policy says that a form is enough, and so does each other that wants a person. */
static bool form_counts(const Loader *l)
{
	for (uint32_t i = 0; i < l->policies.n; i++) {
		const Decls *d = &l->policies.p[i].decls;
		bool wants = d->approve || d->approve_leak || d->approve_reach.n;

		if ((i == 0 || wants) && !d->approve_by_form)
			return false;
	}
	return l->policies.n && l->policies.p[0].floor;
}

static void write_form(LogLine *line, void *ctx)
{
	Loader *l = ctx;

	log_hash(line, "approval", l->approval);
	log_str(line, "by", STR("form"));
	log_hash(line, "program", sha256(str_bytes(l->o->program)));
}

/* What was just made anew is what the form has shown; where it can't be logged it is nothing.
 * False with no reason: it is not that. */
static bool by_form(Loader *l, const Approval *wanted)
{
	Hash said;

	if (!l->o->approve_hash || !hash_parse(str_bytes(str_c(l->o->approve_hash)), &said) || !hash_eq(said, wanted->hash) ||
	    !form_counts(l) || l->ledger.fd < 0)
		return false;
	l->approval = wanted->hash;
	const char *why = ledger_log(&l->ledger, "approved", write_form, l);

	if (why)
		return loader_fail(l, SONDE_EXIT_ENVIRONMENT, "%s", why);
	l->approved = true;
	take_back_request(l, wanted);
	gate_note(l->fds.cmd, 0, "a person has approved this run by a form");
	return true;
}

/* ---- not approved ---- */

static bool want_person(Loader *l, const Approval *w)
{
	const char *why = leave_request(l, w->hash, w->record);
	char hex[SHA256_TEXT];
	size_t room = w->text.n + SHA256_TEXT + 64;
	Writer out = writer(arena_alloc(l->a, room), room);

	hash_format(w->hash, hex);
	Msg m = { .type = MSG_APPROVAL, .approval = { form_counts(l), str_bytes(str_c(hex)), str_bytes(w->text) } };

	if (msg_put(&out, &m))
		proc_send(l->fds.cmd, wr_done(&out), NULL, 0);
	if (why)
		return loader_fail(l, SONDE_EXIT_POLICY, "policy wants a person to approve this run, and nobody can: %s", why);
	return loader_fail(l, SONDE_EXIT_POLICY, "policy wants a person to approve this run: as root, sonde approve %s", hex);
}

/* ---- both ---- */

static ApprovalInput approval_input(Loader *l)
{
	Links *k = &l->g->links;
	Str *iface = arena_new_n(l->a, Str, k->n);
	uint32_t n = 0;

	for (unsigned i = 0; i < k->n; i++)
		if (k->iface[i].may_send)
			iface[n++] = str_c(k->iface[i].link.name);
	return (ApprovalInput){ .program_name = l->o->program_name,
				.program = l->o->program,
				.params = l->o->params,
				.session = str_c(l->o->session ? l->o->session : "local"),
				.build = str_c(l->o->build ? l->o->build : "?"),
				.manifest = &l->manifest,
				.rules = l->rules,
				.policies = l->policies.p,
				.npolicies = l->policies.n,
				.findings = &l->findings,
				.iface = iface,
				.nifaces = n,
				.looks_up = l->manifest.names.n || l->manifest.uses_resolver };
}

bool loader_approval(Loader *l)
{
	Approval wanted;
	const char *why;
	int fd;

	if (!l->findings.persons)
		return true;
	ApprovalInput in = approval_input(l);

	why = approval_make(&in, l->a, &wanted);
	if (why)
		return loader_fail(l, SONDE_EXIT_POLICY, "policy wants a person to approve this run: %s", why);
	if (by_form(l, &wanted) || l->why[0])
		return l->approved;
	fd = ask_opener(l, PLAN_ASK_APPROVAL, wanted.hash);
	if (fd < 0)
		return want_person(l, &wanted);
	bool ok = enforce(l, &wanted, fd);

	proc_close(&fd);
	return ok;
}
