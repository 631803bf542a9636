/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde run: a program against the network, behind the gate; or against a capture
 * file (--read), which needs no privilege.
 */
#include "base/limits.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/engine.h"
#include "cmd/ledgers.h"
#include "cmd/params.h"
#include "cmd/policies.h"
#include "cmd/recording.h"
#include "cmd/report.h"
#include "port/pcap.h"
#include "sys/build_id.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
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

typedef struct RunState {
	Arena a;
	Report report;
	Recording recording;
	int64_t start_ns;
} RunState;

static void on_event(void *ctx, const Msg *m)
{
	RunState *s = ctx;

	recording_event(&s->recording, m);
	report_event(&s->report, m);
}

static void on_tick(void *ctx)
{
	RunState *s = ctx;

	report_progress(&s->report, clock_mono_ns() - s->start_ns);
}

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

static uint64_t draw_seed(const CmdRunOptions *o)
{
	uint64_t seed = 0;

	if (o->seed.set)
		return o->seed.v;
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		seed = (uint64_t)clock_mono_ns();
	return seed & 0xffffffff; /* short enough to type again */
}

/* What has to be there before the first process is made. */
static int prepare(const CmdRunOptions *o, RunState *s, Policies *policies, RunOptions *run, Reader *reader)
{
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
	if (!policies_read(&s->a, &o->policy, policies))
		return SONDE_EXIT_ENVIRONMENT;
	gate_run_missing("/proc/self/exe", why);
	if (why[0])
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	if (o->write && (run->write_fd = cmd_open_new("--write", o->write)) < 0)
		return SONDE_EXIT_ENVIRONMENT;
	if (o->record && !recording_open(&s->recording, &s->a, o->record))
		return SONDE_EXIT_ENVIRONMENT;
	run->record_fd = s->recording.fd;
	return SONDE_EXIT_OK;
}

static const RecordPair *policy_pairs(Arena *a, const Policies *p)
{
	RecordPair *pair = arena_new_n(a, RecordPair, p->n);

	for (unsigned i = 0; i < p->n; i++)
		pair[i] = (RecordPair){ p->file[i].path, p->file[i].text };
	return pair;
}

/* What a record says before the run; no policy in it: the built-in one. */
static bool record_head(RunState *s, const EngineJob *job)
{
	RecordPair *param = arena_new_n(&s->a, RecordPair, job->nparam);
	const ReportOptions *o = &s->report.opt;

	for (uint32_t i = 0; i < job->nparam; i++)
		param[i] = (RecordPair){ job->param[i].name, job->param[i].value };
	RecordHead h = { .build = str_c(build_id()),
			 .name = job->name,
			 .program = job->text,
			 .seed = o->seed,
			 .max_output = o->max_output,
			 .param = param,
			 .nparam = job->nparam,
			 .policy = job->policy,
			 .npolicy = job->npolicy };
	report_note(&s->report, recording_note(&s->a, job->text));
	return recording_begin(&s->recording, &h);
}

static int run_run(const Command *cmd, const void *options)
{
	const CmdRunOptions *o = options;
	RunState s = { .a = cmd_arena(256 << 20), .recording = { .fd = -1 }, .start_ns = clock_mono_ns() };
	uint64_t limit = o->max_output.set ? o->max_output.v : LIMIT_OUTPUT;
	EngineJob job = { .output_limit = limit };
	Policies policies = { 0 };
	Reader reader = { .file = -1 };
	char why[RUN_WHY];

	(void)cmd;
	int exit = cmd_read_program(&s.a, &o->args, o->text, &job.name, &job.text);

	if (exit)
		return exit;
	if (!params_read(&s.a, &o->param, &job.param, &job.nparam))
		return SONDE_EXIT_USAGE;
	ReportOptions ro = { .json = o->json,
			     .quiet = o->quiet,
			     .terminal = isatty(STDERR_FILENO),
			     .max_output = limit,
			     .name = job.name,
			     .source = job.text,
			     .seed = draw_seed(o) };
	RunOptions run = { .mode = RUN_GATE,
			   .engine_main = engine_process,
			   .engine_ctx = &job,
			   .engine_memory = LIMIT_ENGINE_MEMORY,
			   .peer_file = -1,
			   .policies = policies_parse,
			   .policies_ctx = &policies,
			   .event = on_event,
			   .tick = on_tick,
			   .tick_ns = NS_PER_S / 4,
			   .event_ctx = &s,
			   .program_name = job.name,
			   .program = job.text,
			   .write_fd = -1,
			   .record_fd = -1,
			   .seed = ro.seed,
			   .session = ledgers_session(&s.a),
			   .params = params_text(&s.a, job.param, job.nparam),
			   .build = str_printf(&s.a, SONDE_VERSION " %s", build_id()).p,
			   .iface = o->iface,
			   .insecure_dev = o->insecure_dev };
	exit = prepare(o, &s, &policies, &run, &reader);
	job.policy = policy_pairs(&s.a, &policies);
	job.npolicy = policies.n;
	if (exit)
		return exit;
	report_init(&s.report, &s.a, &ro);
	if (o->record && !record_head(&s, &job))
		return SONDE_EXIT_ENVIRONMENT;
	exit = gate_run(&run, why);
	if (why[0])
		report_error(&s.report, exit, "E-ENVIRONMENT", str_c(why));
	s.report.exit = exit;
	bool kept = recording_end(&s.recording, exit, why);

	exit = report_end(&s.report);
	return kept || exit ? exit : SONDE_EXIT_ENVIRONMENT;
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
