/* SPDX-License-Identifier: Apache-2.0
 *
 * A small file that says who may ask, read again whenever it is another one than before.
 */
#ifndef SONDE_MCP_AUTH_FILE_H
#define SONDE_MCP_AUTH_FILE_H

#include "base/str.h"

#include <sys/stat.h>

typedef struct AuthFile {
	const char *path;
	struct stat seen; /* all zeros: never */
	char *text;	  /* NULL: what is there now counts for nothing */
	size_t n;
} AuthFile;

enum { AUTH_FILE_MOST = 1024 * 1024, AUTH_WHY = 256 };

typedef enum AuthFileSaid { AUTH_FILE_SAME, AUTH_FILE_NEW, AUTH_FILE_BAD } AuthFileSaid;

/* Looks at it: NEW once for each version, BAD (why says it) once for each that can't be
 * read or that others than root and we may write; then SAME, with or without a text. */
AuthFileSaid auth_file_look(AuthFile *f, char why[AUTH_WHY]);
void auth_file_free(AuthFile *f);

#endif
