/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs, written in Sonde and embedded at build: lib/meson.build makes the
 * table from *.sonde.
 */
#ifndef SONDE_LIB_LIB_H
#define SONDE_LIB_LIB_H

#include "base/str.h"

typedef struct LibFile {
	Str name; /* "ping.sonde" */
	Str text;
} LibFile;

extern const LibFile lib_files[];
extern const unsigned lib_count;

#endif
