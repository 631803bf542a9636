/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde replay: a recorded run once more, from its file alone.
 *
 * The engine makes all that it said again, behind its sandbox (port/replay); what
 * cmd was told by others is put back in its place among these words.  Who changed
 * the file, or replays with another build, gets an error at the first message that
 * is not the recorded one; and at the end number and hash of the words must be the
 * recorded ones as well.
 */
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/engine.h"
#include "cmd/recording.h"
#include "cmd/report.h"
#include "gate/run.h"
#include "sys/build_id.h"
#include "sys/io.h"
#include "sys/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct ReplayOptions {
	CmdArgs args;
	bool json, quiet;
} ReplayOptions;

static const Opt replay_opts[] = {
	{ "json", 0, OPT_FLAG, NULL, offsetof(ReplayOptions, json),
	  "print one JSON object (doc/run.schema.json)" },
	{ "quiet", 'q', OPT_FLAG, NULL, offsetof(ReplayOptions, quiet),
	  "only what the program printed, without prefix" },
};

typedef struct Replay {
	Arena a;
	Report report;
	Record record;
	Bytes file;
	Cursor sides;
	RecordSide side; /* the next one, if there is one */
	Msg side_msg;
	bool has_side;
	Words words;
	Str differs; /* what the engine's port found */
} Replay;

/* ---- the file ---- */

/* Into memory that nobody else can change. */
static const char *load(Replay *r, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_size == 0 || (uint64_t)st.st_size > LIMIT_RECORD)
		return st.st_size ? "is larger than any record" : "is empty";
	size_t n = (size_t)st.st_size;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || io_read(fd, p, n) != (ssize_t)n)
		return "can't be read to its end";
	r->file = BYTES(p, n);
	return NULL;
}

/* All rights go before the first byte of the file is looked at. */
static const char *open_record(Replay *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *user, *fault = fd < 0 ? strerror(errno) : load(r, fd);

	if (!fault && (sandbox_prepare() || sandbox_leave_root(0, &user) || sandbox_caps_keep(0)))
		fault = "its reader can't give up its rights";
	if (!fault)
		fault = record_read(r->file, &r->a, &r->record);
	if (fd >= 0)
		close(fd);
	return fault;
}

/* ---- the run ---- */

static void next_side(Replay *r)
{
	r->has_side = record_next_side(&r->sides, &r->side, &r->side_msg);
}

/* What others said before the engine's next word; or all that is left. */
static void put_sides(Replay *r, bool all)
{
	while (r->has_side && (all || r->side.at <= r->words.n)) {
		report_event(&r->report, &r->side_msg);
		next_side(r);
	}
}

static bool is_differs(const Msg *m)
{
	return m->type == MSG_FAIL && str_is(bytes_str(m->fail.code), "E-REPLAY");
}

static void on_event(void *ctx, const Msg *m)
{
	Replay *r = ctx;

	/* a recorded engine that was killed is not let say more now */
	if (r->record.whole && !r->record.tail.done && r->words.n == r->record.tail.said)
		return;
	if (is_differs(m)) {
		r->differs =
			(Str){ arena_copy(&r->a, m->fail.message.p, m->fail.message.n), m->fail.message.n };
		return;
	}
	put_sides(r, false);
	words_add(&r->words, m);
	report_event(&r->report, m);
}

/* What is not as it was, as one sentence; empty: nothing. */
static Str differs(const Replay *r)
{
	const RecordTail *t = &r->record.tail;

	if (r->differs.n)
		return r->differs;
	if (!r->record.whole)
		return STR("the record is cut: how the run ended is not in it");
	if (r->words.n != t->said || !hash_eq(words_hash(&r->words), t->said_hash))
		return STR("what the engine says is not what it said in the recorded run");
	if (!hash_eq(sha256(bytes_slice(r->file, 0, r->record.hashed)), t->file_hash))
		return STR("bytes of the record were changed, though the engine says the same");
	return (Str){ 0 };
}

static const char *why_so(const Replay *r)
{
	return str_is(r->record.head.build, build_id())
		       ? "the file was changed or cut after this build of sonde recorded it"
		       : "it was recorded by another build of sonde, or changed";
}

static int finish(Replay *r, int exit)
{
	bool stopped = exit == SONDE_EXIT_INTERRUPTED && r->record.tail.exit != exit; /* by Ctrl-C, now */
	Str fault = stopped ? (Str){ 0 } : differs(r);

	put_sides(r, true);
	if (fault.n) {
		exit = SONDE_EXIT_ENVIRONMENT;
		r->report.error = (ReportItem){ 0 };
		r->report.error_span = (Span){ 0, 0 };
		report_error(&r->report, exit, "E-REPLAY",
			     str_printf(&r->a, "%.*s; %s", STR_ARG(fault), why_so(r)));
	} else if (!stopped) {
		exit = r->record.tail.exit;
		if (r->record.tail.why.n)
			report_error(&r->report, exit, "E-ENVIRONMENT", r->record.tail.why);
	}
	r->report.exit = exit;
	return report_end(&r->report);
}

static EngineJob job_of(Replay *r)
{
	const RecordHead *h = &r->record.head;
	FactsParam *param = arena_new_n(&r->a, FactsParam, h->nparam);

	for (uint32_t i = 0; i < h->nparam; i++)
		param[i] = (FactsParam){ h->param[i].name, h->param[i].text };
	return (EngineJob){ .name = h->name,
			    .text = h->program,
			    .param = param,
			    .nparam = h->nparam,
			    .policy = h->policy,
			    .npolicy = h->npolicy,
			    .output_limit = h->max_output,
			    .record = &r->record };
}

static int run_replay(const Command *cmd, const void *options)
{
	const ReplayOptions *o = options;
	Replay r = { .a = cmd_arena(256 << 20) };
	const char *fault = open_record(&r, o->args.v[0]);
	char why[RUN_WHY];

	(void)cmd;
	if (fault)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: %s", o->args.v[0], fault);
	EngineJob job = job_of(&r);
	ReportOptions ro = { .json = o->json,
			     .quiet = o->quiet,
			     .max_output = r.record.head.max_output,
			     .name = job.name,
			     .source = job.text,
			     .seed = r.record.head.seed };
	RunOptions run = { .mode = RUN_ALONE,
			   .engine_main = engine_process,
			   .engine_ctx = &job,
			   .engine_memory = LIMIT_ENGINE_MEMORY,
			   .event = on_event,
			   .event_ctx = &r,
			   .peer_file = -1,
			   .write_fd = -1,
			   .record_fd = -1 };

	report_init(&r.report, &r.a, &ro);
	report_note(&r.report, recording_note(&r.a, job.text));
	words_init(&r.words, &r.a);
	r.sides = cursor(r.record.sides);
	next_side(&r);
	return finish(&r, gate_run(&run, why));
}

const Command cmd_replay = {
	.name = "replay",
	.args = "FILE",
	.summary = "run a recorded run again, from its file alone",
	.doc = "FILE was written by `sonde run --record FILE`. Its program runs again; it is told what the "
	       "network told it then, "
	       "and prints what it printed then, to the last bit; so do warnings and statistics. Nothing is "
	       "sent, no privilege and "
	       "no network is needed. The exit code is that of the recorded run.\n\nWhere the program does "
	       "not do what is in the "
	       "record, since the file was changed or cut or comes from another build, replay ends at the "
	       "first message that "
	       "differs with an error and exit code 5.",
	.opts = replay_opts,
	.nopts = sizeof replay_opts / sizeof replay_opts[0],
	.min_args = 1,
	.max_args = 1,
	.size = sizeof(ReplayOptions),
	.run = run_replay,
};
