/* SPDX-License-Identifier: Apache-2.0
 *
 * Text to tree: the whole grammar of the language, by precedence climbing.
 *
 * After an error the parser goes on behind the end of the statement, so that all
 * errors of a text are found, and none twice.  What Python has and Sonde has not
 * is read as far as needed to say what to write instead.
 */
#ifndef SONDE_LANG_PARSE_H
#define SONDE_LANG_PARSE_H

#include "lang/ast.h"

/* Lexes and parses one file and appends it to ast->files.  False if there were
 * errors (in d); the tree is then for the formatter's refusal only. */
bool parse_file(Ast *ast, Str name, Str text, bool lib, DiagList *d);

/* "(dst: ip, count: int = 5) -> Ping" of vm/builtins.def as a DEF without body;
 * `-> type` may be left out, parameters may have a star. */
Node *parse_signature(Ast *ast, Str text, DiagList *d);

/* "list[T]?" as a TYPE. */
Node *parse_type(Ast *ast, Str text, DiagList *d);

#endif
