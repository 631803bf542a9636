/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde policy: what programs may do on this host.
 */
#include "base/addr.h"
#include "base/escape.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/ledgers.h"
#include "cmd/policies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct PolicyOptions {
	CmdArgs args;
	OptList policy;
	OptList tcp, udp;
	OptList reach, zone;
	bool no_icmp;
	bool replace, forms;
} PolicyOptions;

static const Opt policy_opts[] = {
	{ "policy", 0, OPT_LIST, "FILE", offsetof(PolicyOptions, policy), "show: another policy that holds as well" },
	{ "tcp", 0, OPT_LIST, "PORTS", offsetof(PolicyOptions, tcp), "allow: TCP ports, 80 or 8000-8100; may be repeated" },
	{ "udp", 0, OPT_LIST, "PORTS", offsetof(PolicyOptions, udp), "allow: UDP ports, 53 or 5000-5010; may be repeated" },
	{ "no-icmp", 0, OPT_FLAG, NULL, offsetof(PolicyOptions, no_icmp), "allow: no ICMP queries" },
	{ "reach", 0, OPT_LIST, "NET", offsetof(PolicyOptions, reach), "init: a network in reach, or several with commas, between which agents may go; may be repeated" },
	{ "zone", 0, OPT_LIST, "ZONE", offsetof(PolicyOptions, zone), "init: a zone whose names may be looked up, or all" },
	{ "forms", 0, OPT_FLAG, NULL, offsetof(PolicyOptions, forms), "init mcp: a form that the agent's client shows its user is a person's approval" },
	{ "replace", 0, OPT_FLAG, NULL, offsetof(PolicyOptions, replace), "init: write over a policy that exists" },
};

/* Text that parses as a policy, or a message: what we write must be read. */
static bool is_policy(Arena *a, Str text)
{
	DiagList diags = { .a = a };
	Decls decls;

	if (policies_reader(NULL, text, a, &diags, &decls))
		return true;
	cmd_print_diags(a, &diags, STR("policy"), text, STDERR_FILENO);
	return false;
}

static bool is_root(void)
{
	if (geteuid() == 0)
		return true;
	cmd_fail(0, POLICY_SYSTEM_PATH ": the policy is root's: run this as root");
	return false;
}

static int write_policy(Arena *a, Str text)
{
	if (mkdir("/etc/sonde", 0755) < 0 && errno != EEXIST)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "/etc/sonde: %s", strerror(errno));
	int exit = cmd_replace_file(a, POLICY_SYSTEM_PATH, text, 0644);

	if (!exit)
		printf("wrote " POLICY_SYSTEM_PATH "\n");
	return exit;
}

/* ---- show, check ---- */

static void builtin_text(Sb *out)
{
	bool first = true;

	sb_cstr(out, "# the built-in policy: no file is installed\nbudget(");
#define ROW_(id, name, dflt, ceiling, unit, text)                                 \
	if (ceiling) {                                                            \
		sb_printf(out, "%s%s=%lld", first ? "" : ", ", name, (long long)(ceiling)); \
		first = false;                                                    \
	}
	BOUNDS(ROW_)
#undef ROW_
	sb_cstr(out, ")\n# any unicast peer as by reach(peer) alone, never this host itself; no spoof, capture or listen\n"
		     "zone(all)\n");
}

static int show(Arena *a, const PolicyOptions *o)
{
	Policies p;
	PolicyList list = { 0 };
	Str why = { 0 };
	Sb out = sb(a);

	if (!policies_read(a, &o->policy, &p))
		return SONDE_EXIT_ENVIRONMENT;
	if (!policies_parse(&p, a, &list, &why))
		return cmd_fail(SONDE_EXIT_POLICY, "%.*s", STR_ARG(why));
	if (!p.installed)
		builtin_text(&out);
	policies_text(&p, &out);
	Ledger l;
	const char *session = ledgers_session(a), *fault = ledgers_open(a, &l);

	ledgers_hour_text(&list, fault ? NULL : &l, fault, session, &out);
	if (!fault)
		ledgers_close(&l);
	return cmd_write(1, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

static int check(Arena *a, const PolicyOptions *o)
{
	int code = SONDE_EXIT_OK;

	if (o->args.n < 2)
		return cmd_fail(SONDE_EXIT_USAGE, "policy check: which file?");
	for (unsigned i = 1; i < o->args.n; i++) {
		PolicyFile f;
		DiagList diags = { .a = a };
		Policy policy;
		Str why = { 0 };

		if (!policies_read_one(a, o->args.v[i], strcmp(o->args.v[i], POLICY_SYSTEM_PATH) == 0, &f))
			return SONDE_EXIT_ENVIRONMENT;
		if (policy_load(&f, policies_reader, NULL, a, &diags, &policy, &why)) {
			cmd_print_diags(a, &diags, f.path, f.text, STDERR_FILENO);
			printf("%s: a valid policy\n", o->args.v[i]);
			continue;
		}
		code = SONDE_EXIT_CHECK;
		cmd_print_diags(a, &diags, f.path, f.text, STDERR_FILENO);
		if (why.n)
			cmd_fail(0, "%.*s", STR_ARG(why));
	}
	return code;
}

/* ---- allow ---- */

/* ", tcp=[80, (8000, 8100)]" from "80" and "8000-8100" */
static bool ports_arg(const char *name, const OptList *l, Sb *out)
{
	if (!l->n)
		return true;
	sb_printf(out, ", %s=[", name);
	for (unsigned i = 0; i < l->n; i++) {
		const char *dash = strchr(l->v[i], '-');
		Str lo = { l->v[i], dash ? (size_t)(dash - l->v[i]) : strlen(l->v[i]) };
		uint64_t a, b;

		if (!str_to_u64(lo, 65535, &a) || (dash && !str_to_u64(str_c(dash + 1), 65535, &b))) {
			cmd_fail(0, "%s: no port; write 80 or 8000-8100", l->v[i]);
			return false;
		}
		sb_cstr(out, i ? ", " : "");
		if (dash)
			sb_printf(out, "(%llu, %llu)", (unsigned long long)a, (unsigned long long)b);
		else
			sb_printf(out, "%llu", (unsigned long long)a);
	}
	sb_char(out, ']');
	return true;
}

static int allow(Arena *a, const PolicyOptions *o)
{
	PolicyFile f = { 0 };
	Sb out = sb(a);

	if (o->args.n != 2)
		return cmd_fail(SONDE_EXIT_USAGE, "policy allow: whom? an address, a network or a name");
	if (!is_root())
		return SONDE_EXIT_ENVIRONMENT;
	if (access(POLICY_SYSTEM_PATH, F_OK) == 0) {
		if (!policies_read_one(a, POLICY_SYSTEM_PATH, true, &f))
			return SONDE_EXIT_ENVIRONMENT;
		sb_str(&out, f.text);
		if (f.text.n && f.text.p[f.text.n - 1] != '\n')
			sb_char(&out, '\n');
	} else {
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "no policy is installed: make one first with `sonde policy init`");
	}
	size_t at = out.n;

	sb_cstr(&out, "reach(\"");
	escape_peer(&out, str_bytes(str_c(o->args.v[1])));
	sb_char(&out, '"');
	if (!ports_arg("tcp", &o->tcp, &out) || !ports_arg("udp", &o->udp, &out))
		return SONDE_EXIT_USAGE;
	if (!o->no_icmp && (o->tcp.n || o->udp.n))
		sb_cstr(&out, ", icmp=True");
	sb_cstr(&out, ")\n");
	Str text = sb_done(&out);

	if (!is_policy(a, text))
		return SONDE_EXIT_CHECK;
	printf("adds: %.*s", STR_ARG(((Str){ text.p + at, text.n - at })));
	return write_policy(a, text);
}

/* ---- init ---- */

/* A line from the terminal, without its end; empty at its end. */
static Str ask(Arena *a, const char *question)
{
	char line[512];

	printf("%s ", question);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return (Str){ 0 };
	size_t n = strcspn(line, "\n");

	return (Str){ arena_copy(a, line, n), n };
}

/* The next of words between blanks and commas; false: there is none. */
static bool next_word(Str *rest, Str *ret)
{
	size_t i = 0, end;

	while (i < rest->n && (rest->p[i] == ' ' || rest->p[i] == ','))
		i++;
	for (end = i; end < rest->n && rest->p[end] != ' ' && rest->p[end] != ','; end++)
		;
	*ret = (Str){ rest->p + i, end - i };
	*rest = (Str){ rest->p + end, rest->n - end };
	return ret->n > 0;
}

/* NAME("word") or NAME("word", "other") */
static void row(const char *name, Str word, Str other, Sb *out)
{
	sb_printf(out, "%s(\"", name);
	escape_peer(out, str_bytes(word));
	if (other.n) {
		sb_cstr(out, "\", \"");
		escape_peer(out, str_bytes(other));
	}
	sb_cstr(out, "\")\n");
}

static void zones_text(Str zones, Sb *out)
{
	if (str_is(zones, "all"))
		sb_cstr(out, "zone(all)\n");
	else
		for (Str one; next_word(&zones, &one);)
			row("zone", one, (Str){ 0 }, out);
}

/* For agents the networks of one answer are one compartment. */
static void reach_text(Str nets, bool mcp, Sb *out)
{
	Str rest = nets, from, to;

	while (next_word(&rest, &from))
		row("reach", from, (Str){ 0 }, out);
	for (rest = nets; mcp && next_word(&rest, &from);)
		for (Str all = nets; next_word(&all, &to);)
			row("may_follow", from, to, out);
}

/* guardrails.md 2 and 3: what an agent gets beside the ceilings. */
static const char mcp_budget[] = ",\n       peer_rate=100, peer_syn_rate=20, hour_packets=20000, hour_bytes=50MB, hour_syn=1000";

static bool forms(Arena *a, const PolicyOptions *o)
{
	if (o->forms || !isatty(STDIN_FILENO))
		return o->forms;
	Str said = ask(a, "May a form that the agent's client shows its user approve what needs a person (yes; empty: no):");

	return said.n && (said.p[0] | 0x20) == 'y';
}

static int init(Arena *a, const PolicyOptions *o)
{
	Sb out = sb(a);
	bool mcp = o->args.n == 2 && strcmp(o->args.v[1], "mcp") == 0;

	if (o->args.n > 2 || (o->args.n == 2 && !mcp))
		return cmd_fail(SONDE_EXIT_USAGE, "policy init %s: mcp, or nothing, may stand there", o->args.v[1]);
	if (o->forms && !mcp)
		return cmd_fail(SONDE_EXIT_USAGE, "--forms is of agents: write sonde policy init mcp --forms");
	if (!is_root())
		return SONDE_EXIT_ENVIRONMENT;
	if (access(POLICY_SYSTEM_PATH, F_OK) == 0 && !o->replace)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT,
				POLICY_SYSTEM_PATH " exists: edit it, or add --replace to write a new one");
	sb_cstr(&out, "# What programs may do on this host. `sonde doc policy` explains each word;\n"
		      "# `sonde policy check` reads a file before you install it.\n"
		      "budget(packets=20000, bytes=50MB, rate=20000, syn=1000, syn_rate=100, time=600, leak=1024");
	sb_printf(&out, "%s)\n", mcp ? mcp_budget : "");
	if (mcp)
		sb_cstr(&out, "# What an agent was shown of one network may take it as far as may_follow() says, and no further: where\n"
			      "# names lead, it has to be let from the resolver's network. Without a word of it, each host is for itself.\n");
	for (unsigned i = 0; i < o->reach.n; i++)
		reach_text(str_c(o->reach.v[i]), mcp, &out);
	if (!o->reach.n && isatty(STDIN_FILENO))
		reach_text(ask(a, "Networks that programs may reach (10.0.0.0/8 192.168.0.0/16; empty: none):"), mcp, &out);
	for (unsigned i = 0; i < o->zone.n; i++)
		zones_text(str_c(o->zone.v[i]), &out);
	if (!o->zone.n && isatty(STDIN_FILENO))
		zones_text(ask(a, "Zones whose names may be looked up (acme.corp; all; empty: none):"), &out);
	if (mcp)
		sb_printf(&out, "# What needs a person is approved by `sonde approve`; by a form in the agent's client, too, with this word:\n%sapprove_by_form()\n",
			  forms(a, o) ? "" : "# ");
	Str text = sb_done(&out);

	if (!memmem(text.p, text.n, "\nreach(", 7))
		return cmd_fail(SONDE_EXIT_USAGE, "a policy without reach allows any peer: name networks, with --reach NET");
	if (!is_policy(a, text))
		return SONDE_EXIT_CHECK;
	if (mcp && access(LEDGER_PATH, F_OK) != 0 && ledgers_init(false)) /* its bounds are kept there */
		return SONDE_EXIT_ENVIRONMENT;
	return write_policy(a, text);
}

static int run_policy(const Command *c, const void *options)
{
	static const struct {
		const char *name;
		int (*run)(Arena *a, const PolicyOptions *o);
	} verbs[] = { { "show", show }, { "check", check }, { "init", init }, { "allow", allow } };
	const PolicyOptions *o = options;
	Arena a = cmd_arena(8 << 20);

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (strcmp(o->args.v[0], verbs[i].name) == 0)
			return verbs[i].run(&a, o);
	return cmd_fail(SONDE_EXIT_USAGE, "policy %s: one of show, check, init, allow; see: sonde %s --help", o->args.v[0],
			c->name);
}

const Command cmd_policy = {
	.name = "policy",
	.args = "show | check FILE... | init [mcp] | allow PEER",
	.summary = "show, check or write what programs may do on this host",
	.doc = "show prints every policy in force: the installed file or the built-in one, each --policy, SONDE_POLICY; and what "
	       "is used of the bounds an hour. "
	       "check reads files and says what is wrong with them. init asks and writes " POLICY_SYSTEM_PATH "; init mcp, "
	       "for agents, adds rates to each peer and bounds an hour, and makes the ledger that keeps these; "
	       "allow adds a peer to it. Policies are written in the language's own declarations: `sonde doc policy`.",
	.opts = policy_opts,
	.nopts = sizeof policy_opts / sizeof policy_opts[0],
	.min_args = 1,
	.max_args = OPT_LIST_MAX,
	.size = sizeof(PolicyOptions),
	.run = run_policy,
};
