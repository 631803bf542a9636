/* SPDX-License-Identifier: Apache-2.0
 *
 * The sub-commands, and the little that they share: an arena, files, the ways to
 * say that something went wrong.
 */
#ifndef SONDE_CMD_CMD_H
#define SONDE_CMD_CMD_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/exits.h"
#include "base/str.h"
#include "cmd/opt.h"
#include "deal/msg.h"

#include <sys/types.h>

#define SONDE_VERSION "0.1.0"

/* sonde(7): the language, from reference and tables. */
void cmd_doc_man(Sb *out);

extern const Command cmd_run;
extern const Command cmd_check;
extern const Command cmd_replay;
extern const Command cmd_fmt;
extern const Command cmd_policy;
extern const Command cmd_approve;
extern const Command cmd_ledger;
extern const Command cmd_audit;
extern const Command cmd_mcp;
extern const Command cmd_doc;
extern const Command cmd_version;
extern const Command cmd_help;

/* In the order of the help; ends with NULL. */
extern const Command *const commands[];

/* An arena of `size` bytes, mapped and never given back: a command lives once. */
Arena cmd_arena(size_t size);

/* "sonde: message" on standard error, with everything hidden escaped; returns `code`. */
int cmd_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The whole of a regular file of at most `most` bytes ("-": standard input);
 * false after saying why not. */
bool cmd_read_file(Arena *a, const char *path, size_t most, Str *ret_text);

/* All that fd gives, at most `most` bytes; `path` is for messages. */
bool cmd_read_fd(Arena *a, int fd, const char *path, size_t most, Str *ret_text);

/* A program from FILE or -e TEXT: its text and the name for messages.  0, or the
 * exit code after saying why not. */
int cmd_read_program(Arena *a, const CmdArgs *args, const char *text, Str *ret_name, Str *ret_text);

/* A DIAG message of the engine into l: foreign text, bounded. */
void cmd_take_diag(Arena *a, DiagList *l, const Msg *m);

/* Diagnostics as text on `to`, or nothing. */
void cmd_print_diags(Arena *a, const DiagList *l, Str name, Str source, int to);

struct Json;

/* {"from":..,"to":..,"line":..,"col":..} of doc/diagnostic.schema.json. */
void cmd_json_span(struct Json *j, Str source, Span span);
/* "diagnostics": [...] */
void cmd_json_diags(struct Json *j, const DiagList *l, Str source);

/* A new file with the caller's rights, never a link, read and append; -1 after saying,
 * as `option`, why not. */
int cmd_open_new(const char *option, const char *path);

/* SHA-256 as hex. */
Str cmd_sha256(Arena *a, Str text);

/* Lines as an array of texts. */
void cmd_json_lines(struct Json *j, Str text);
/* Foreign text for a terminal: what is hidden is escaped, line ends stay. */
Str cmd_escaped_lines(Arena *a, Str text);

/* All of s to a file descriptor; false if that failed. */
bool cmd_write(int fd, Str s);
/* Puts a text in a file's place, all of it or nothing; SONDE_EXIT_OK, or an exit
 * code after saying what is wrong. */
int cmd_replace_file(Arena *a, const char *path, Str text, mode_t mode);

#endif
