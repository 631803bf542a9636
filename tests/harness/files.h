/* SPDX-License-Identifier: Apache-2.0
 *
 * Program files of tests: finding and reading them, and what they expect, which
 * stands in their comments.
 */
#ifndef SONDE_TESTS_FILES_H
#define SONDE_TESTS_FILES_H

#include "base/str.h"

/* Text from malloc; empty if there is no such file. */
Str files_read(const char *path);

/* The rest of each line that starts with `key`, a line each. */
Str files_lines(Arena *a, Str text, const char *key);
/* The number behind it, or `otherwise`. */
uint64_t files_number(Arena *a, Str text, const char *key, uint64_t otherwise);

/* The text for a value of a secret: {s} is the byte, {s+N} N more, {x} two hex digits. */
Str files_with_secret(Arena *a, Str pattern, unsigned s);

/* The .sonde files of a folder, and of those in it, behind the n that are there;
 * how many there are then.  The caller frees each. */
unsigned files_list(const char *path, char **ret, unsigned n, unsigned cap);
void files_sort(char **paths, unsigned n);

/* Runs one() for each program file in and below n paths, by name, and prints "N passed, N failed"; the exit code. */
int files_each(char **in, int n, bool (*one)(const char *path));

#endif
