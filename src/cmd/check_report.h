/* SPDX-License-Identifier: Apache-2.0
 *
 * What the checker says of a program, gathered from the engine's messages, and as the JSON
 * of doc/check.schema.json.
 */
#ifndef SONDE_CMD_CHECK_REPORT_H
#define SONDE_CMD_CHECK_REPORT_H

#include "base/diag.h"
#include "deal/manifest.h"
#include "deal/msg.h"

typedef struct CheckReport {
	Arena *a;
	DiagList diags;
	Manifest manifest;
	bool has_manifest;
	Str fail_code, fail_text; /* what went wrong but the program; empty: nothing */
} CheckReport;

void check_report_init(CheckReport *c, Arena *a);
void check_report_event(CheckReport *c, const Msg *m);
/* The object and a line end. */
void check_report_json(const CheckReport *c, Str text, int exit, Sb *out);

#endif
