/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde fmt: programs laid out in the one way.
 */
#include "base/limits.h"
#include "cmd/cmd.h"
#include "lang/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct FmtOptions {
	CmdArgs args;
	bool check;
	bool write;
} FmtOptions;

static const Opt fmt_opts[] = {
	{ "check", 0, OPT_FLAG, NULL, offsetof(FmtOptions, check), "print nothing; exit 2 if a file is laid out otherwise" },
	{ "write", 'w', OPT_FLAG, NULL, offsetof(FmtOptions, write), "write the files instead of printing them" },
};

static int replace(Arena *a, const char *path, Str text)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	return cmd_replace_file(a, path, text, st.st_mode & 0777);
}

static int format_one(const FmtOptions *o, const char *path)
{
	Arena a = cmd_arena(64 << 20);
	DiagList diags = { .a = &a };
	Sb out = sb(&a);
	Str text;

	if (!cmd_read_file(&a, path, LIMIT_SOURCE, &text))
		return SONDE_EXIT_ENVIRONMENT;
	if (!fmt_text(&a, text, &diags, &out)) {
		cmd_print_diags(&a, &diags, str_c(path), text, STDERR_FILENO);
		return SONDE_EXIT_CHECK;
	}
	Str laid = sb_done(&out);

	if (o->check) {
		if (str_eq(text, laid))
			return SONDE_EXIT_OK;
		return cmd_fail(SONDE_EXIT_CHECK, "%s: laid out otherwise; mend it with: sonde fmt -w %s", path, path);
	}
	if (o->write && strcmp(path, "-") != 0)
		return str_eq(text, laid) ? SONDE_EXIT_OK : replace(&a, path, laid);
	return cmd_write(STDOUT_FILENO, laid) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

static int run_fmt(const Command *c, const void *options)
{
	const FmtOptions *o = options;
	int worst = SONDE_EXIT_OK;

	(void)c;
	for (unsigned i = 0; i < o->args.n; i++) {
		int code = format_one(o, o->args.v[i]);

		worst = code > worst ? code : worst;
	}
	return worst;
}

const Command cmd_fmt = {
	.name = "fmt",
	.args = "FILE...",
	.summary = "lay programs out in the one way",
	.doc = "Prints the program; comments stay. A program with a syntax error is left as it is. `-` is standard input.",
	.opts = fmt_opts,
	.nopts = sizeof fmt_opts / sizeof fmt_opts[0],
	.min_args = 1,
	.max_args = OPT_LIST_MAX,
	.size = sizeof(FmtOptions),
	.run = run_fmt,
};
