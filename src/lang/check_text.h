/* SPDX-License-Identifier: Apache-2.0
 *
 * A manifest as a person reads it before saying yes, and as JSON
 * (doc/manifest.schema.json): who is sent what, at most how much, from where.
 */
#ifndef SONDE_LANG_CHECK_TEXT_H
#define SONDE_LANG_CHECK_TEXT_H

#include "base/json.h"
#include "deal/manifest.h"

/* `source` is the program's text: for line numbers.  explain: also where in it
 * each item comes from. */
void check_text(const Manifest *m, Str source, bool explain, Sb *out);
void check_json(const Manifest *m, Str source, Json *j);

#endif
