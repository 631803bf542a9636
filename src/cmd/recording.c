/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/recording.h"

#include "base/limits.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <unistd.h>

enum { HEAD_MEMORY = 8 * 1024 * 1024, WORD_MEMORY = LIMIT_MSG + 64, HASH_PIECE = 256 * 1024 };

/* ---- the engine's words ---- */

void words_init(Words *w, Arena *a)
{
	*w = (Words){ .buf = arena_alloc(a, WORD_MEMORY) };
	sha256_init(&w->hash);
}

void words_add(Words *w, const Msg *m)
{
	Writer to = writer(w->buf, WORD_MEMORY);

	msg_put(&to, m);
	sha256_add(&w->hash, wr_done(&to));
	w->n++;
	w->done |= m->type == MSG_DONE;
}

Hash words_hash(const Words *w)
{
	Sha256 so_far = w->hash;

	return sha256_done(&so_far);
}

/* gate/run.c says these in the engine's name, before its first line. */
bool words_own(const Msg *m)
{
	return !(m->type == MSG_STAT && str_is(bytes_str(m->stat.group), "sandbox")) &&
	       !(m->type == MSG_WARN && str_is(bytes_str(m->warn.code), "W-SANDBOX")) &&
	       !(m->type == MSG_FAIL && str_is(bytes_str(m->fail.code), "E-SANDBOX"));
}

/* ---- the file ---- */

bool recording_open(Recording *r, Arena *a, const char *path)
{
	r->a = a;
	r->path = path;
	r->fd = cmd_open_new("--record", path);
	if (r->fd >= 0)
		words_init(&r->words, a);
	return r->fd >= 0;
}

static bool put(const Recording *r, const Writer *w, bool fits)
{
	if (fits && cmd_write(r->fd, bytes_str(wr_done(w))))
		return true;
	cmd_fail(0, "--record %s: %s", r->path,
		 fits ? strerror(errno) : "the run is too large to be recorded");
	return false;
}

bool recording_begin(Recording *r, const RecordHead *h)
{
	size_t mark = arena_mark(r->a);
	Writer w = writer(arena_alloc(r->a, HEAD_MEMORY), HEAD_MEMORY);
	bool ok = put(r, &w, record_put_head(&w, h));

	arena_reset(r->a, mark);
	return ok;
}

void recording_event(Recording *r, const Msg *m)
{
	char from = msg_direction(m->type);
	Writer w;

	if (r->fd < 0)
		return;
	r->gate_ended |= m->type == MSG_GATE_END;
	if (from == 'O' && words_own(m)) {
		words_add(&r->words, m);
		return;
	}
	w = writer(r->words.buf, WORD_MEMORY);
	if (msg_put(&w, m))
		vec_push(r->a, &r->sides,
			 (RecordSide){ .at = r->words.n,
				       .from = from,
				       .msg = { arena_copy(r->a, w.p, w.n), w.n } });
}

Str recording_note(Arena *a, Str program)
{
	return str_printf(a, "recorded: program sha256 %.*s", STR_ARG(cmd_sha256(a, program)));
}

/* SHA-256 of all that is in the file. */
static bool file_hash(const Recording *r, Hash *ret_hash)
{
	uint8_t *buf = arena_alloc(r->a, HASH_PIECE);
	Sha256 hash;
	ssize_t n;

	sha256_init(&hash);
	for (off_t at = 0; (n = pread(r->fd, buf, HASH_PIECE, at)) > 0; at += n)
		sha256_add(&hash, BYTES(buf, (size_t)n));
	*ret_hash = sha256_done(&hash);
	if (n < 0)
		cmd_fail(0, "--record %s: %s", r->path, strerror(errno));
	return n == 0;
}

bool recording_end(Recording *r, int exit, const char *why)
{
	size_t room = LIMIT_RECORD - LIMIT_RECORD_STREAM;
	RecordTail t = {
		.exit = (uint8_t)exit, .done = r->words.done, .why = str_c(why), .said = r->words.n
	};
	Writer w;
	bool fits = true;

	if (r->fd < 0 || !r->gate_ended)
		return true;
	w = writer(arena_alloc(r->a, room), room);
	for (uint32_t i = 0; i < r->sides.n; i++)
		fits &= record_put_side(&w, &r->sides.p[i]);
	if (!put(r, &w, fits))
		return false;
	t.said_hash = words_hash(&r->words);
	if (!file_hash(r, &t.file_hash))
		return false;
	w.n = 0;
	return put(r, &w, record_put_tail(&w, &t));
}
