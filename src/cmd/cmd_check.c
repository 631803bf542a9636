/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde check: may this program run, and what would it do?  Needs no privilege and
 * looks nothing up.
 */
#include "base/limits.h"
#include "cmd/check_report.h"
#include "cmd/cmd.h"
#include "cmd/engine.h"
#include "cmd/params.h"
#include "gate/run.h"
#include "lang/check_text.h"

#include <unistd.h>

typedef struct CheckOptions {
	CmdArgs args;
	const char *text;
	OptList param;
	bool explain;
	bool json;
} CheckOptions;

static const Opt check_opts[] = {
	{ NULL, 'e', OPT_STR, "TEXT", offsetof(CheckOptions, text), "the program itself, instead of a file" },
	{ "param", 'p', OPT_LIST, "NAME=VALUE", offsetof(CheckOptions, param), "the value of a param; may be repeated" },
	{ "explain", 0, OPT_FLAG, NULL, offsetof(CheckOptions, explain), "say where each part of the manifest and each bit of leak comes from" },
	{ "json", 0, OPT_FLAG, NULL, offsetof(CheckOptions, json), "print one JSON object (doc/check.schema.json)" },
};

typedef struct Check {
	Arena a;
	CheckReport report;
} Check;

static void on_event(void *ctx, const Msg *m)
{
	Check *c = ctx;

	check_report_event(&c->report, m);
}

static void print_text(Check *c, const CheckOptions *o, Str name, Str text, int exit)
{
	Sb out = sb(&c->a);

	cmd_print_diags(&c->a, &c->report.diags, name, text, STDERR_FILENO);
	if (exit || !c->report.has_manifest)
		return;
	check_text(&c->report.manifest, text, o->explain, &out);
	sb_printf(&out, "sha256 %.*s\n", STR_ARG(cmd_sha256(&c->a, text)));
	cmd_write(STDOUT_FILENO, sb_done(&out));
}

static void print_json(Check *c, Str text, int exit)
{
	Sb out = sb(&c->a);

	check_report_json(&c->report, text, exit, &out);
	cmd_write(STDOUT_FILENO, sb_done(&out));
}

static int run_check(const Command *cmd, const void *options)
{
	const CheckOptions *o = options;
	Check c = { .a = cmd_arena(32 << 20) };
	EngineJob job = { .check = true, .explain = o->explain };
	char why[RUN_WHY];

	(void)cmd;
	check_report_init(&c.report, &c.a);
	int exit = cmd_read_program(&c.a, &o->args, o->text, &job.name, &job.text);

	if (exit)
		return exit;
	if (!params_read(&c.a, &o->param, &job.param, &job.nparam))
		return SONDE_EXIT_USAGE;
	RunOptions run = { .mode = RUN_ALONE,
			   .engine_main = engine_process,
			   .engine_ctx = &job,
			   .engine_memory = LIMIT_ENGINE_MEMORY,
			   .event = on_event,
			   .event_ctx = &c,
			   .peer_file = -1,
			   .write_fd = -1,
			   .record_fd = -1 };
	exit = gate_run(&run, why);

	if (exit && !c.report.diags.errors)
		return cmd_fail(exit, "%.*s%s%.*s%s", STR_ARG(c.report.fail_code), c.report.fail_code.n ? ": " : "",
				STR_ARG(c.report.fail_text), why);
	if (o->json)
		print_json(&c, job.text, exit);
	else
		print_text(&c, o, job.name, job.text, exit);
	return exit;
}

const Command cmd_check = {
	.name = "check",
	.args = "[FILE]",
	.summary = "check a program and show what it would do; needs no privilege",
	.doc = "Prints errors and warnings with their place and, where there is one, the fix; then the manifest: who is sent "
	       "what, at most how much, from where. Nothing is sent and nothing is looked up.",
	.opts = check_opts,
	.nopts = sizeof check_opts / sizeof check_opts[0],
	.max_args = 1,
	.size = sizeof(CheckOptions),
	.run = run_check,
};
