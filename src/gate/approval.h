/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person approves, as bytes (guardrails.md 6).
 *
 * The record holds the rendering that a person reads, the program's bytes, the
 * manifest, and what else decides what the run does; its SHA-256 is what is approved.
 * The loader makes the record anew for each run, rendering included, so an approved
 * hash whose rendering does not tell what its program does matches no run: who
 * approves needs to trust only what he reads.
 *
 * Pure: no file, no clock.
 */
#ifndef SONDE_GATE_APPROVAL_H
#define SONDE_GATE_APPROVAL_H

#include "base/sha256.h"
#include "gate/rules.h"

enum { APPROVAL_COLUMNS = 100, APPROVAL_SECTIONS = 8 };

typedef struct ApprovalInput {
	Str program_name, program;
	Str params;   /* "name=value" lines, sorted */
	Str session;  /* who asks: "uid 1000" */
	Str build;    /* version and build id */
	const Manifest *manifest;
	const Rules *rules;
	const Policy *policies;
	uint32_t npolicies;
	const Findings *findings; /* those with `person` are told */
	const Str *iface;	  /* names of those that may be sent on */
	uint32_t nifaces;
	bool looks_up; /* names were looked up, or may be by the program */
} ApprovalInput;

typedef struct Approval {
	Bytes record;
	Hash hash;
	Str text;	/* the rendering: whole lines of printable ASCII */
	uint32_t lines;
	Str program, params, session, build;
	Bytes manifest; /* deal/manifest_codec */
	Str pins;	/* "name address" lines, in the order of use */
	uint32_t runs;	/* that one approval is good for */
} Approval;

/* NULL and *ret_a, in the arena; or a sentence: it can't be shown to a person. */
const char *approval_make(const ApprovalInput *in, Arena *a, Approval *ret_a);

/* The rendering alone. */
Str approval_text(const ApprovalInput *in, Arena *a);

/* A record that may be anybody's; false if it is none.  The parts are slices of it. */
bool approval_read(Bytes record, Approval *ret_a);

/* How many runs the policies let one approval be good for: 1 unless the installed one
 * says approve(runs=); the others only lower it. */
uint32_t approval_runs(const Policy *p, uint32_t n);

/* The hash of all policies' texts. */
Hash approval_policy_hash(const Policy *p, uint32_t n);

#endif
