/* SPDX-License-Identifier: Apache-2.0
 *
 * What cmd adds to a record (deal/record.h): the head before the start, how it ended
 * behind the end; between them the gate writes the stream.
 *
 * The engine's words are not kept, for replay makes them again; their hash is.  What
 * comes from elsewhere is kept with its place among them.
 */
#ifndef SONDE_CMD_RECORDING_H
#define SONDE_CMD_RECORDING_H

#include "base/vec.h"
#include "deal/record.h"

/* The engine's words so far: their number and hash. */
typedef struct Words {
	Sha256 hash;
	uint32_t n;
	bool done; /* DONE was among them */
	uint8_t *buf;
} Words;

void words_init(Words *w, Arena *a);
void words_add(Words *w, const Msg *m);
Hash words_hash(const Words *w);

/* Whether a message of direction 'O' is the engine's own word, and not its sandbox's. */
bool words_own(const Msg *m);

typedef struct Recording {
	int fd; /* -1: nothing is recorded */
	const char *path;
	Arena *a;
	Words words;
	VEC(RecordSide) sides;
	bool gate_ended; /* nobody else writes any more */
} Recording;

/* Opens a new file with the caller's rights; false after saying why not. */
bool recording_open(Recording *r, Arena *a, const char *path);
/* Writes the head; false after saying why not. */
bool recording_begin(Recording *r, const RecordHead *h);
/* Each message of engine and gate, in order. */
void recording_event(Recording *r, const Msg *m);
/* Writes the end; false after saying why not. */
bool recording_end(Recording *r, int exit, const char *why);

/* What run and replay say of it among the statistics. */
Str recording_note(Arena *a, Str program);

#endif
