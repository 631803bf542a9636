/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines as tables: from one table of options come the parser, --help,
 * the man page and the completion.
 */
#ifndef SONDE_CMD_OPT_H
#define SONDE_CMD_OPT_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum OptKind {
	OPT_FLAG, /* bool */
	OPT_STR,  /* const char * */
	OPT_LIST, /* OptList: may be given several times */
	OPT_UINT, /* OptUint: a decimal number */
} OptKind;

enum { OPT_LIST_MAX = 32 };

typedef struct OptList {
	const char *v[OPT_LIST_MAX];
	unsigned n;
} OptList;

typedef struct OptUint {
	uint64_t v;
	bool set;
} OptUint;

typedef struct Opt {
	const char *name; /* long, without dashes; NULL: only the letter */
	char letter;      /* 0: none */
	OptKind kind;
	const char *arg;  /* name of its value in the help; NULL for flags */
	size_t off;       /* where in the command's options it goes */
	const char *doc;  /* one sentence, without a full stop */
} Opt;

typedef struct Command Command;
struct Command {
	const char *name;
	const char *args;    /* "[FILE]", for the synopsis */
	const char *summary; /* one line */
	const char *doc;     /* paragraphs of the man page, plain text, blank line between */
	const Opt *opts;
	unsigned nopts;
	unsigned min_args, max_args;
	size_t size;         /* of its options struct, which starts with a CmdArgs */
	int (*run)(const Command *c, const void *options);
};

/* Every command's options struct begins with what is not an option. */
typedef struct CmdArgs {
	const char *v[OPT_LIST_MAX];
	unsigned n;
} CmdArgs;

/* Parses argv (behind the command's name) into `options`; on an error prints it
 * with what to do and returns false. */
bool opt_parse(const Command *c, int argc, char **argv, void *options);

void opt_help(const Command *c, Sb *out);
/* mdoc(7): the page of all commands. */
void opt_man(const Command *const *commands, Sb *out);
void opt_completion(const Command *const *commands, Sb *out);

#endif
