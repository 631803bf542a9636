/* SPDX-License-Identifier: Apache-2.0
 *
 * Output, within the VM's folder: pieces for the sink, tables, JSON of results.
 */
#ifndef SONDE_VM_OUT_H
#define SONDE_VM_OUT_H

#include "vm/inside.h"

/* What the running built-in prints as value i tells; 0: that it prints. */
const ProgTold *out_told(const Vm *vm, uint32_t i);
/* Whether that may be shown, and how: as it is, with fields of content left out, or not. */
typedef enum OutShown { OUT_ALL, OUT_HEAD, OUT_NOT } OutShown;
OutShown out_shown(const Vm *vm, const ProgTold *told);
/* "<content from 10.0.0.1>" */
void out_instead(Sbuf *b, const ProgTold *told);
void out_instead_text(const ProgTold *told, Sb *out);

/* Hands s to the host's sink; marked pieces quoted, escaped and cut. */
void out_value(Vm *vm, const ObjStr *s, const ProgTold *told, bool full);
/* Hands a result, or each of a list of results, to the host as JSON. */
void out_result(Vm *vm, Value v, const ProgTold *told);
/* A list of results of one type: it prints as a table. */
bool out_is_results(Value v);
/* A list's or tuple's items. */
bool out_rows(Value v, const Value **ret_p, uint32_t *ret_n);
/* The compact table of rows, without a line end; columns: names separated by
 * blanks, or empty for all. */
bool out_table(Vm *vm, Value rows, Str columns, Sbuf *b);

#endif
