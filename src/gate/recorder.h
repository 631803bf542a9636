/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream of a run for --record: each message of the engine's as it was taken,
 * each to it as it was put, in that order (deal/record.h, chunks E and G).
 *
 * The file was opened by cmd with the caller's rights, and cmd wrote its head; cmd
 * writes the rest when GATE_END says that no more comes from here.  A record that
 * can't be kept ends emission, like evidence.  Nothing is kept behind END: the
 * engine reads no further.
 */
#ifndef SONDE_GATE_RECORDER_H
#define SONDE_GATE_RECORDER_H

#include "deal/record.h"

enum { RECORDER_BUF = 256 * 1024 };

typedef struct Recorder {
	int fd; /* -1: none is kept */
	uint8_t *buf;
	size_t n;
	uint64_t written;
	bool failed, ended;
	const char *why; /* of failed */
} Recorder;

/* `buf`: RECORDER_BUF bytes if fd is not -1. */
void recorder_init(Recorder *r, int fd, void *buf);

/* One encoded message; `kind`: RECORD_ENGINE or RECORD_GATE. */
void recorder_put(Recorder *r, RecordKind kind, Bytes msg);

/* An END was taken. */
void recorder_end(Recorder *r);

void recorder_flush(Recorder *r);

#endif
