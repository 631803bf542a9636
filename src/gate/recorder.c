/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/recorder.h"

#include "base/limits.h"
#include "sys/io.h"

void recorder_init(Recorder *r, int fd, void *buf)
{
	*r = (Recorder){ .fd = fd, .buf = buf };
}

static void fail(Recorder *r, const char *why)
{
	r->failed = true;
	r->why = why;
}

void recorder_flush(Recorder *r)
{
	if (!r->failed) {
		size_t n = io_write(r->fd, BYTES(r->buf, r->n));

		if (n < r->n)
			fail(r, "the record can't be written any more");
		r->written += n;
	}
	r->n = 0;
}

void recorder_put(Recorder *r, RecordKind kind, Bytes msg)
{
	if (r->fd < 0 || r->ended || r->failed)
		return;
	if (r->n + RECORD_CHUNK_HEAD + msg.n > RECORDER_BUF)
		recorder_flush(r);
	if (r->written + r->n + RECORD_CHUNK_HEAD + msg.n > LIMIT_RECORD_STREAM) {
		fail(r, "the record is full");
		return;
	}
	record_put_chunk(r->buf + r->n, kind, msg.n);
	memcpy(r->buf + r->n + RECORD_CHUNK_HEAD, msg.p, msg.n);
	r->n += RECORD_CHUNK_HEAD + msg.n;
}

void recorder_end(Recorder *r)
{
	r->ended = true;
}
