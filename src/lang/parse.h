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
 * errors (in d); the tree then has holes and must not be given to later passes. */
bool parse_file(Ast *ast, Str name, Str text, bool lib, DiagList *d);

/* The same into a file that is there, and empty: another's turn has come before. */
bool parse_file_at(Ast *ast, uint8_t file, Str name, Str text, bool lib, DiagList *d);

#endif
