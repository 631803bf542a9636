/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde: argv to a row of the table of commands.
 */
#include "cmd/cmd.h"
#include "sys/state.h"

#include <stdio.h>
#include <stdlib.h>

const Command *const commands[] = { &cmd_run,	 &cmd_check, &cmd_replay, &cmd_fmt,  &cmd_policy,
				    &cmd_ledger, &cmd_approve,
				    &cmd_audit,	 &cmd_mcp,   &cmd_doc,   &cmd_help,	  &cmd_version, NULL };

static const Command *find(const char *name)
{
	for (const Command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static const char *nearest(const char *name)
{
	Nearest n = nearest_to(str_c(name));

	for (const Command *const *c = commands; *c; c++)
		nearest_try(&n, str_c((*c)->name));
	return n.best.p;
}

static int run(const Command *c, int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			Arena a = cmd_arena(1 << 16);
			Sb out = sb(&a);

			opt_help(c, &out);
			return cmd_write(1, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
		}
	void *options = calloc(1, c->size);

	if (!options)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "no memory");
	int code = opt_parse(c, argc, argv, options) ? c->run(c, options) : SONDE_EXIT_USAGE;

	free(options);
	return code;
}

int main(int argc, char **argv)
{
	/* of a setgid binary: files that the caller names are his own affair */
	if (state_group_hide())
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "the group of this binary can't be put aside");
	const char *name = argc > 1 ? argv[1] : "help";

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	const Command *c = find(name);

	if (c)
		return run(c, argc > 2 ? argc - 2 : 0, argv + (argc > 1 ? 2 : 1));
	const char *near = nearest(name);

	return cmd_fail(SONDE_EXIT_USAGE, near ? "%s: no such command; did you mean %s?" : "%s: no such command; see: sonde help",
			name, near);
}
