/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde help: the list of commands, and the pages made from their tables.
 */
#include "cmd/cmd.h"

#include <stdio.h>

typedef struct HelpOptions {
	CmdArgs args;
	bool man;
	bool man_language;
	bool completion;
} HelpOptions;

static const Opt help_opts[] = {
	{ "man", 0, OPT_FLAG, NULL, offsetof(HelpOptions, man), "the source of the man page sonde(1)" },
	{ "man-language", 0, OPT_FLAG, NULL, offsetof(HelpOptions, man_language),
	  "the source of the man page sonde(7)" },
	{ "completion", 0, OPT_FLAG, NULL, offsetof(HelpOptions, completion), "the completion for bash" },
};

static void overview(Sb *out)
{
	sb_cstr(out, "usage: sonde COMMAND [options] [arguments]\n\n"
		     "Sonde investigates networks with small checked programs, behind a gate that\n"
		     "holds them to declared peers, ports, sources and budgets.\n\n");
	for (const Command *const *c = commands; *c; c++)
		sb_printf(out, "  %-9s %s\n", (*c)->name, (*c)->summary);
	sb_cstr(out, "\n`sonde COMMAND --help` tells more; `sonde doc` is the language on one page.\n\nexit status:\n");
#define ROW_(id, code, text) sb_printf(out, "  %3d  %s\n", code, text);
	EXITS(ROW_)
#undef ROW_
}

static void man_page(Sb *out)
{
	sb_cstr(out, ".Dd $Mdocdate$\n.Dt SONDE 1\n.Os\n.Sh NAME\n.Nm sonde\n"
		     ".Nd investigate networks with checked programs behind a gate\n"
		     ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op options\n.Op arguments\n.Sh COMMANDS\n");
	opt_man(commands, out);
	sb_cstr(out, ".Sh FILES\n.Bl -tag -width Ds\n.It Pa /etc/sonde/policy.sonde\n"
		     "What programs may do on this host: owned by root and writable by nobody else.\n"
		     "Where it does not exist, the built-in policy holds.\n"
		     ".It Pa /var/lib/sonde/ledger\n"
		     "What all runs used, per session, destination and in total: made by\n.Ic sonde ledger init .\n"
		     "Where it exists and can't be used, nothing is sent.\n"
		     ".It Pa /var/lib/sonde/log\n"
		     "Start and end of each run, as a chain of hashes:\n.Ic sonde audit verify .\n"
		     ".It Pa /var/lib/sonde/requests , Pa /var/lib/sonde/approvals\n"
		     "What waits for\n.Ic sonde approve ,\nand what was approved.\n"
		     ".It Pa /etc/sonde/mcp.keys\n"
		     "Who may ask\n.Ic sonde mcp\nover HTTP, by the hashes of keys:\n.Ic sonde mcp key .\n.El\n"
		     ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n.It Ev SONDE_POLICY\n"
		     "A policy file that narrows further, as\n.Fl \\&-policy\ndoes.\n"
		     ".It Ev SONDE_MCP_KEY\n"
		     "The key of a client that\n.Ic sonde mcp install\nset up; Sonde itself does not read it.\n.El\n"
		     ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
#define ROW_(id, code, text) sb_printf(out, ".It %d\n%s\n", code, text);
	EXITS(ROW_)
#undef ROW_
	sb_cstr(out, ".El\n.Sh EXAMPLES\n.Dl sonde run -e 'print(ping(\\(dq10.0.0.1\\(dq))'\n"
		     ".Dl sonde check --explain program.sonde\n"
		     ".Dl sonde run --write evidence.pcapng program.sonde\n"
		     ".Dl sonde mcp install --client claude --write\n"
		     ".Sh SEE ALSO\n.Xr sonde 7\n");
}

static int run_help(const Command *c, const void *options)
{
	const HelpOptions *o = options;
	Arena a = cmd_arena(1 << 20);
	Sb out = sb(&a);

	(void)c;
	if (o->man)
		man_page(&out);
	else if (o->man_language)
		cmd_doc_man(&out);
	else if (o->completion)
		opt_completion(commands, &out);
	else
		overview(&out);
	return cmd_write(1, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

const Command cmd_help = {
	.name = "help",
	.args = "",
	.summary = "list the commands",
	.doc = "",
	.opts = help_opts,
	.nopts = sizeof help_opts / sizeof help_opts[0],
	.size = sizeof(HelpOptions),
	.run = run_help,
};
