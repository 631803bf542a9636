/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a program, whoever asks for it: `sonde run` or the launcher of `sonde mcp`.
 */
#ifndef SONDE_CMD_RUN_JOB_H
#define SONDE_CMD_RUN_JOB_H

#include "cmd/engine.h"
#include "cmd/policies.h"
#include "cmd/recording.h"
#include "cmd/report.h"

typedef struct RunJob RunJob;
struct RunJob {
	Arena *a;
	Str name, text; /* of the program; `bare` may set them, and the params */
	const FactsParam *param;
	uint32_t nparam;
	Policies policies;
	ReportOptions say; /* name and source are run_job()'s */
	bool seed_set;	   /* say.seed is one; else it is drawn */
	Recording recording; /* fd -1: none */
	RunOptions run;	   /* mode, peer, files, session, zones_none, iface, control_fd ..: the rest is run_job()'s */
	bool (*bare)(RunJob *j);	       /* RunOptions.bare; or NULL */
	void (*tick)(RunJob *j, int64_t elapsed_ns); /* about four times a second, in place of the progress line; or NULL */

	/* inside */
	EngineJob engine;
	Report report;
	int64_t start_ns;
};

/* A job whose run is behind the gate, without files. */
#define RUN_JOB_NONE                                                                                       \
	{                                                                                                  \
		.recording = { .fd = -1 }, .run = {.mode = RUN_GATE, .peer_file = -1, .write_fd = -1, .record_fd = -1 } \
	}

/* Runs it and reports on standard output; returns the exit code of `sonde run`. */
int run_job(RunJob *j);

#endif
