/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/run_job.h"

#include "base/limits.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/params.h"
#include "sys/build_id.h"
#include "sys/clock.h"

#include <sys/random.h>

static void on_event(void *ctx, const Msg *m)
{
	RunJob *j = ctx;

	recording_event(&j->recording, m);
	report_event(&j->report, m);
}

static void on_tick(void *ctx)
{
	RunJob *j = ctx;
	int64_t elapsed = clock_mono_ns() - j->start_ns;

	if (j->tick)
		j->tick(j, elapsed);
	else
		report_progress(&j->report, elapsed);
}

static uint64_t draw_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		seed = (uint64_t)clock_mono_ns();
	return seed & 0xffffffff; /* short enough to type again */
}

static const RecordPair *policy_pairs(Arena *a, const Policies *p)
{
	RecordPair *pair = arena_new_n(a, RecordPair, p->n);

	for (unsigned i = 0; i < p->n; i++)
		pair[i] = (RecordPair){ p->file[i].path, p->file[i].text };
	return pair;
}

/* What a record says before the run; no policy in it: the built-in one. */
static bool record_head(RunJob *j)
{
	RecordPair *param = arena_new_n(j->a, RecordPair, j->nparam);
	const ReportOptions *o = &j->say;

	for (uint32_t i = 0; i < j->nparam; i++)
		param[i] = (RecordPair){ j->param[i].name, j->param[i].value };
	RecordHead h = { .build = str_c(build_id()),
			 .name = j->name,
			 .program = j->text,
			 .seed = o->seed,
			 .max_output = o->max_output,
			 .param = param,
			 .nparam = j->nparam,
			 .policy = j->engine.policy,
			 .npolicy = j->engine.npolicy };
	report_note(&j->report, recording_note(j->a, j->text));
	return recording_begin(&j->recording, &h);
}

/* Spreads what is known of the program; again when `bare` has set it. */
static void set_program(RunJob *j)
{
	j->say.name = j->report.opt.name = j->engine.name = j->run.program_name = j->name;
	j->say.source = j->report.opt.source = j->engine.text = j->run.program = j->text;
	j->engine.param = j->param;
	j->engine.nparam = j->nparam;
	j->engine.policy = policy_pairs(j->a, &j->policies);
	j->engine.npolicy = j->policies.n;
	j->run.params = params_text(j->a, j->param, j->nparam);
}

static bool on_bare(void *ctx)
{
	RunJob *j = ctx;

	if (j->bare && !j->bare(j))
		return false;
	set_program(j);
	return true;
}

static void fill_in(RunJob *j)
{
	RunOptions *r = &j->run;

	if (!j->seed_set)
		j->say.seed = draw_seed();
	j->engine.output_limit = j->say.max_output;
	r->engine_main = engine_process;
	r->engine_ctx = &j->engine;
	r->engine_memory = LIMIT_ENGINE_MEMORY;
	r->policies = policies_parse;
	r->policies_ctx = &j->policies;
	r->event = on_event;
	r->tick = on_tick;
	r->tick_ns = NS_PER_S / 4;
	r->event_ctx = j;
	r->bare = j->bare ? on_bare : NULL;
	r->record_fd = j->recording.fd;
	r->seed = j->say.seed;
	r->build = str_printf(j->a, SONDE_VERSION " %s", build_id()).p;
}

int run_job(RunJob *j)
{
	char why[RUN_WHY];
	int exit;

	if (!j->start_ns)
		j->start_ns = clock_mono_ns();
	fill_in(j);
	report_init(&j->report, j->a, &j->say);
	set_program(j);
	if (j->recording.fd >= 0 && !record_head(j))
		return SONDE_EXIT_ENVIRONMENT;
	exit = gate_run(&j->run, why);
	if (why[0])
		report_error(&j->report, exit, "E-ENVIRONMENT", str_c(why));
	j->report.exit = exit;
	bool kept = recording_end(&j->recording, exit, why);

	exit = report_end(&j->report);
	return kept || exit ? exit : SONDE_EXIT_ENVIRONMENT;
}
