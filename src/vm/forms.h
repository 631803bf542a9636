/* SPDX-License-Identifier: Apache-2.0
 *
 * ops.def as data, for verifier and disassembler.
 */
#ifndef SONDE_VM_FORMS_H
#define SONDE_VM_FORMS_H

#include "vm/builtins.h"
#include "vm/program.h"

extern const char *const op_forms[I_N];
extern const char *const op_names[I_N];

/* Parameters in a signature's text. */
unsigned sig_count(const char *sig);
/* Arguments that CALLB and CALLS of a row have, self included. */
unsigned func_params(BuiltinFunc id);
unsigned method_params(BuiltinMethod id);

#endif
