/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs as text, for tests and for people: one instruction a line, operands
 * by their letters in ops.def.
 */
#ifndef SONDE_VM_DISASM_H
#define SONDE_VM_DISASM_H

#include "vm/program.h"

/* `at` is the instruction's place in fn. */
void disasm_insn(const Program *p, const ProgFn *fn, uint32_t at, Sb *out);
void disasm_fn(const Program *p, const ProgFn *fn, Sb *out);
void disasm_program(const Program *p, Sb *out);

#endif
