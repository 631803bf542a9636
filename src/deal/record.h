/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded run as bytes: all that the engine was told and all that it said, so
 * that the same engine, told the same, says the same again (port/replay).
 *
 *     "SONDEREC" u32 version, then chunks: u8 kind, u32 length, that many bytes
 *       H  once, first     build, program, params, policies, options
 *       E  a message of the engine's to the gate, as it came in
 *       G  a message of the gate's to the engine
 *       S  what cmd was told beside the engine's words, and behind how many of these
 *       T  once, last      how it ended; SHA-256 of the engine's words and of all before
 *
 * E and G keep their order as the gate saw it; each of the two by itself is what
 * counts, for an engine depends on the order of what it reads only.  H, S and T are
 * cmd's, E and G the gate's.  A run that was killed leaves a record without T.
 *
 * Numbers are big-endian, texts a u32 length and bytes.  The decoder takes foreign
 * bytes: it refuses what it does not understand to the last byte, and what it gives
 * is borrowed from them.
 */
#ifndef SONDE_DEAL_RECORD_H
#define SONDE_DEAL_RECORD_H

#include "base/arena.h"
#include "base/sha256.h"
#include "base/str.h"
#include "deal/msg.h"

#define RECORD_VERSION 1u

enum { RECORD_CHUNK_HEAD = 5, RECORD_PARAMS = 64, RECORD_POLICIES = 64 };

typedef enum RecordKind {
	RECORD_HEAD = 'H',
	RECORD_ENGINE = 'E',
	RECORD_GATE = 'G',
	RECORD_SIDE = 'S',
	RECORD_TAIL = 'T',
} RecordKind;

typedef struct RecordPair {
	Str name, text;
} RecordPair;

typedef struct RecordHead {
	Str build; /* of the binary that recorded */
	Str name;  /* of the program, as in its messages */
	Str program;
	uint64_t seed, max_output;
	const RecordPair *param;
	uint32_t nparam;
	const RecordPair *policy; /* path and text of each that was in force, for readers */
	uint32_t npolicy;
} RecordHead;

/* A message that cmd got beside the engine's own, behind `at` of these. */
typedef struct RecordSide {
	uint32_t at;
	char from; /* 'P', or 'O' for what the sandbox said */
	Bytes msg;
} RecordSide;

typedef struct RecordTail {
	uint8_t exit;
	bool done; /* the engine came to its last word */
	Str why;
	uint32_t said; /* the engine's messages to cmd */
	Hash said_hash;
	Hash file_hash; /* of all bytes before this chunk */
} RecordTail;

typedef struct Record Record;
struct Record {
	RecordHead head;
	Bytes stream; /* chunks E and G */
	Bytes sides;  /* chunks S */
	bool whole;   /* it has its tail */
	RecordTail tail;
	size_t hashed; /* how many bytes tail.file_hash is over */
};

/* Each appends one chunk (the head: and the file's magic); false: it does not fit. */
bool record_put_head(Writer *w, const RecordHead *h);
bool record_put_side(Writer *w, const RecordSide *s);
bool record_put_tail(Writer *w, const RecordTail *t);
/* The bytes before a message of the stream. */
void record_put_chunk(uint8_t to[RECORD_CHUNK_HEAD], RecordKind kind, size_t n);

/* NULL, or what is wrong with the file.  A file that just ends is no fault: then it
 * has no tail, and the stream ends with the last whole chunk. */
const char *record_read(Bytes file, Arena *a, Record *ret_r);

/* The next message of one kind off a stream; a Cursor of its own for each kind.
 * EMPTY at the end; BAD: the chunk holds no such message. */
MsgRead record_next(Cursor *stream, RecordKind kind, Bytes *ret_raw, Msg *ret_m);
/* The next side message; false at the end. */
bool record_next_side(Cursor *sides, RecordSide *ret_s, Msg *ret_m);

#endif
