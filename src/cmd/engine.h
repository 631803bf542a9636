/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's process, from program text to its last word: compile, hand in the
 * manifest, run, report.  It runs behind the sandbox that gate/run closed before.
 */
#ifndef SONDE_CMD_ENGINE_H
#define SONDE_CMD_ENGINE_H

#include "deal/msg.h"
#include "deal/record.h"
#include "lang/facts.h"

typedef struct EngineJob {
	Str name, text;
	const FactsParam *param;
	uint32_t nparam;
	const RecordPair *policy; /* those in force, for their relay() */
	uint32_t npolicy;
	bool check;            /* stop behind the checker */
	bool explain;          /* diagnostics with their path */
	uint64_t output_limit; /* bytes; 0: the default */
	/* check: who hears in this very process what would be written to out_fd; or NULL */
	void (*told)(void *ctx, const Msg *m);
	void *told_ctx;
	const struct CompileLib *ahead; /* check: lib, as engine_lib() read it; or NULL */
	const struct Record *record; /* replay: behind this, not behind a gate; or NULL */
} EngineJob;

/* Reads lib ahead for many checks; false: it is not sound, or there is too little memory. */
bool engine_lib(Arena *a, struct CompileLib *ret_lib);

/* RunOptions.engine_main; ctx is an EngineJob. */
int engine_process(void *ctx, int gate_fd, int out_fd, void *mem, size_t size);

#endif
