/* SPDX-License-Identifier: Apache-2.0
 *
 * The one escaper for all that Sonde writes (guardrails.md 7): nothing that came
 * from a network, a program or a file reaches a terminal, a log or a model as
 * control characters.
 */
#ifndef SONDE_BASE_ESCAPE_H
#define SONDE_BASE_ESCAPE_H

#include "base/str.h"

/* Printable ASCII as it is, all else as \xNN (and \\, \n, \t, \r); for text of a
 * peer, which stands in quotes: `"` is escaped too. */
void escape_peer(Sb *out, Bytes b);

/* One line of Sonde's or a program's own words: printable UTF-8 as it is;
 * controls, line ends, bidi and other format characters, and bytes that are no
 * UTF-8 as \xNN. */
void escape_line(Sb *out, Str s);

/* As escape_line, with tabs kept: source lines in diagnostics. */
void escape_source(Sb *out, Str s);

/* Code points that steer a terminal or hide what is read: controls (line ends and
 * tabs too), bidi and other format characters, line separators. */
bool utf8_hidden(uint32_t cp);

#endif
