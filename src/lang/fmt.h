/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical layout of a program (`sonde fmt`).
 *
 * Works on tokens: four blanks a block, one blank around operators, none inside
 * brackets; line breaks inside brackets, comments, quotes and numbers stay as the
 * author wrote them, blank lines are at most one.  `/` keeps its blanks or their
 * absence: IP()/TCP() stacks layers, a / b divides.
 */
#ifndef SONDE_LANG_FMT_H
#define SONDE_LANG_FMT_H

#include "lang/ast.h"

/* Formats a file that was parsed without errors. */
void fmt_file(Arena *a, const AstFile *f, Sb *out);

/* Parses and formats; false, with errors in `d`, if the text is no program. */
bool fmt_text(Arena *a, Str text, DiagList *d, Sb *out);

#endif
