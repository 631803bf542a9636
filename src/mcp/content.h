/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that clients read, embedded at build (scripts/embed_content.py): the pages of
 * `sonde doc`, the example programs, the skill.
 */
#ifndef SONDE_MCP_CONTENT_H
#define SONDE_MCP_CONTENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ContentPage {
	const char *name, *text; /* text: n bytes and a zero */
	size_t n;
	bool builtin; /* a page on a verb, function, type, result or layer */
} ContentPage;

typedef struct ContentExample {
	const char *name, *text;
	size_t n;
	const char *summary; /* what was asked, one line */
} ContentExample;

/* Sorted by name; each ends with a row without name. */
extern const ContentPage content_pages[];
extern const ContentExample content_examples[];

/* What `sonde doc NAME` prints, zero-terminated, or NULL: built-ins, the code of a warning,
 * "reference", "policy", "warnings", "topics". */
const char *page_find(const char *name);

/* Names of pages that have the word in them, or that it has in it, whatever their case (new array of strings). */
json_t *page_like(const char *topic);

#endif
