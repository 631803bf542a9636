/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde run: a program against the network, behind the gate; or against a capture
 * file (--read), which needs no privilege.
 */
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/ledgers.h"
#include "cmd/params.h"
#include "cmd/run_job.h"
#include "port/pcap.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct CmdRunOptions {
	CmdArgs args;
	const char *text;
	OptList param, policy;
	bool json, quiet, insecure_dev;
	OptUint seed, max_output;
	const char *write, *record, *read, *iface;
} CmdRunOptions;

static const Opt run_opts[] = {
	{ NULL, 'e', OPT_STR, "TEXT", offsetof(CmdRunOptions, text), "the program itself, instead of a file" },
	{ "param", 'p', OPT_LIST, "NAME=VALUE", offsetof(CmdRunOptions, param), "the value of a param; may be repeated" },
	{ "policy", 0, OPT_LIST, "FILE", offsetof(CmdRunOptions, policy), "a policy that narrows further; may be repeated" },
	{ "json", 0, OPT_FLAG, NULL, offsetof(CmdRunOptions, json), "print one JSON object (doc/run.schema.json)" },
	{ "quiet", 'q', OPT_FLAG, NULL, offsetof(CmdRunOptions, quiet), "only what the program prints, without prefix" },
	{ "seed", 0, OPT_UINT, "N", offsetof(CmdRunOptions, seed), "of all random choices; printed with the statistics" },
	{ "write", 'w', OPT_STR, "FILE", offsetof(CmdRunOptions, write), "keep all traffic, with comments, as a new pcapng file" },
	{ "record", 0, OPT_STR, "FILE", offsetof(CmdRunOptions, record), "keep the run as a new file for `sonde replay`" },
	{ "read", 'r', OPT_STR, "FILE", offsetof(CmdRunOptions, read), "sniff from this capture; nothing can be sent" },
	{ "iface", 'i', OPT_STR, "NAME", offsetof(CmdRunOptions, iface), "use this interface only" },
	{ "max-output", 0, OPT_UINT, "BYTES", offsetof(CmdRunOptions, max_output), "output kept; 65536 if not given" },
	{ "insecure-dev", 0, OPT_FLAG, NULL, offsetof(CmdRunOptions, insecure_dev),
	  "run without sandbox layers that are missing, if the installed policy says insecure_dev()" },
};

static int open_read(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	cmd_fail(0, "--read %s: %s", path, fd < 0 ? strerror(errno) : "is no regular file");
	if (fd >= 0)
		close(fd);
	return -1;
}

typedef struct Reader {
	int file;
	const char *name;
} Reader;

static int reader_main(void *ctx, int engine_fd)
{
	const Reader *r = ctx;

	return pcap_port_serve(engine_fd, r->file, r->name);
}

/* What has to be there before the first process is made. */
static int prepare(const CmdRunOptions *o, RunJob *j, Reader *reader)
{
	RunOptions *run = &j->run;
	char why[RUN_WHY];

	if (o->read && (o->write || o->iface || o->record))
		return cmd_fail(SONDE_EXIT_USAGE, "--read stands alone: there is no interface and no traffic to keep");
	if (o->read) {
		reader->file = open_read(o->read);
		reader->name = o->read;
		run->mode = RUN_PEER;
		run->peer_main = reader_main;
		run->peer_ctx = reader;
		run->peer_fault = "the capture file is cut or damaged: frames behind that place are missing";
		run->peer_file = reader->file;
		return reader->file < 0 ? SONDE_EXIT_ENVIRONMENT : SONDE_EXIT_OK;
	}
	if (!policies_read(j->a, &o->policy, &j->policies))
		return SONDE_EXIT_ENVIRONMENT;
	gate_run_missing(why);
	if (why[0])
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	if (o->write && (run->write_fd = cmd_open_new("--write", o->write)) < 0)
		return SONDE_EXIT_ENVIRONMENT;
	if (o->record && !recording_open(&j->recording, j->a, o->record))
		return SONDE_EXIT_ENVIRONMENT;
	return SONDE_EXIT_OK;
}

static int run_run(const Command *cmd, const void *options)
{
	const CmdRunOptions *o = options;
	Arena a = cmd_arena(256 << 20);
	RunJob j = RUN_JOB_NONE;
	Reader reader = { .file = -1 };

	(void)cmd;
	j.a = &a;
	j.start_ns = clock_mono_ns();
	int exit = cmd_read_program(&a, &o->args, o->text, &j.name, &j.text);

	if (exit)
		return exit;
	if (!params_read(&a, &o->param, &j.param, &j.nparam))
		return SONDE_EXIT_USAGE;
	exit = prepare(o, &j, &reader);
	if (exit)
		return exit;
	j.say = (ReportOptions){ .json = o->json,
				 .quiet = o->quiet,
				 .terminal = isatty(STDERR_FILENO),
				 .max_output = o->max_output.set ? o->max_output.v : LIMIT_OUTPUT,
				 .seed = o->seed.v };
	j.seed_set = o->seed.set;
	j.run.session = ledgers_session(&a);
	j.run.iface = o->iface;
	j.run.insecure_dev = o->insecure_dev;
	return run_job(&j);
}

const Command cmd_run = {
	.name = "run",
	.args = "[FILE]",
	.summary = "run a program against the network, behind the gate",
	.doc = "The program is checked first; if it may not do what it asks for, nothing is sent. What it prints comes behind "
	       "`| `; warnings and statistics follow. Ctrl-C stops it: what is known so far is printed, and nothing stays "
	       "behind.\n\nNeeds CAP_NET_RAW and CAP_NET_ADMIN (root, or the file capabilities that `make install` offers); "
	       "with --read it needs nothing.",
	.opts = run_opts,
	.nopts = sizeof run_opts / sizeof run_opts[0],
	.max_args = 1,
	.size = sizeof(CmdRunOptions),
	.run = run_run,
};
