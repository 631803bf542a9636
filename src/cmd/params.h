/* SPDX-License-Identifier: Apache-2.0
 *
 * -p name=value: the values of a program's params.
 */
#ifndef SONDE_CMD_PARAMS_H
#define SONDE_CMD_PARAMS_H

#include "cmd/opt.h"
#include "lang/facts.h"

/* False after saying which one is no name=value. */
bool params_read(Arena *a, const OptList *l, const FactsParam **ret_p, uint32_t *ret_n);

/* "name=value" lines, sorted: one text for the same values, whatever their order was. */
Str params_text(Arena *a, const FactsParam *p, uint32_t n);

#endif
