/* SPDX-License-Identifier: Apache-2.0
 *
 * What runners of program files share: compiling with the verbs, memory for many
 * runs, and one run on the simulated network.
 */
#ifndef SONDE_TESTS_HARNESS_H
#define SONDE_TESTS_HARNESS_H

#include "harness/files.h"
#include "lang/compile.h"
#include "port/fake.h"
#include "vm/engine.h"

Compiled *harness_compile(Arena *a, const char *path, Str text);
Str harness_rendered(Arena *a, const Compiled *c);

/* Memory of mb MB for an arena that is made fresh between runs; false: there is none. */
bool harness_arena(Arena *ret, size_t mb);
/* All of it zero again, by writing only the pages that were touched: the big tables of
 * an engine hardly are, and page faults would cost more than a run. */
void harness_fresh(Arena *a);

/* What the budget allows: what was declared, else the default. */
int64_t harness_bound(const Budget *b, Bound which);

typedef struct HarnessRun {
	Arena *a;
	const Program *program;
	const Budget *budget;
	Str net;		   /* port/fake.h */
	uint64_t seed, fuel, leak; /* leak: bits; fuel 0: the language's */
	FakeSentFn *sent;
	void *sent_ctx;
	void (*told)(void *ctx, const Msg *m); /* what is printed, results, warnings, the error */
	void *told_ctx;
	bool measurements; /* content is not printed */
	bool print;
} HarnessRun;

/* What came of it.  exit < 0: the network's text is wrong, `error` says where. */
typedef struct HarnessEnd {
	int exit;
	uint64_t leak; /* bits used */
	Str error;
	FakeCount count;
} HarnessEnd;

HarnessEnd harness_run(const HarnessRun *r);

#endif
