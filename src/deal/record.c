/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/record.h"

#include "base/limits.h"

static const char magic[8] = { 'S', 'O', 'N', 'D', 'E', 'R', 'E', 'C' };

/* ---- writing ---- */

void record_put_chunk(uint8_t to[RECORD_CHUNK_HEAD], RecordKind kind, size_t n)
{
	to[0] = (uint8_t)kind;
	put_be32(to + 1, (uint32_t)n);
}

static size_t chunk_begin(Writer *w, RecordKind kind)
{
	wr_u8(w, (uint8_t)kind);
	wr_be32(w, 0);
	return w->n;
}

static bool chunk_end(Writer *w, size_t from)
{
	if (!w->full)
		put_be32(w->p + from - 4, (uint32_t)(w->n - from));
	return !w->full;
}

static void put_text(Writer *w, Str s)
{
	wr_be32(w, (uint32_t)s.n);
	wr_bytes(w, str_bytes(s));
}

static void put_pairs(Writer *w, const RecordPair *p, uint32_t n)
{
	wr_be32(w, n);
	for (uint32_t i = 0; i < n; i++) {
		put_text(w, p[i].name);
		put_text(w, p[i].text);
	}
}

bool record_put_head(Writer *w, const RecordHead *h)
{
	wr_bytes(w, BYTES(magic, sizeof magic));
	wr_be32(w, RECORD_VERSION);
	size_t from = chunk_begin(w, RECORD_HEAD);

	put_text(w, h->build);
	put_text(w, h->name);
	put_text(w, h->program);
	wr_be64(w, h->seed);
	wr_be64(w, h->max_output);
	put_pairs(w, h->param, h->nparam);
	put_pairs(w, h->policy, h->npolicy);
	return chunk_end(w, from);
}

bool record_put_side(Writer *w, const RecordSide *s)
{
	size_t from = chunk_begin(w, RECORD_SIDE);

	wr_be32(w, s->at);
	wr_u8(w, (uint8_t)s->from);
	wr_bytes(w, s->msg);
	return chunk_end(w, from);
}

bool record_put_tail(Writer *w, const RecordTail *t)
{
	size_t from = chunk_begin(w, RECORD_TAIL);

	wr_u8(w, t->exit);
	wr_u8(w, t->done);
	put_text(w, t->why);
	wr_be32(w, t->said);
	wr_bytes(w, BYTES(t->said_hash.b, SHA256_BYTES));
	wr_bytes(w, BYTES(t->file_hash.b, SHA256_BYTES));
	return chunk_end(w, from);
}

/* ---- reading ---- */

static Str get_text(Cursor *c)
{
	return bytes_str(cur_bytes(c, cur_be32(c)));
}

/* Each pair takes eight bytes at least, so what is announced is bounded by what is there. */
static const RecordPair *get_pairs(Cursor *c, Arena *a, uint32_t most, uint32_t *ret_n)
{
	uint32_t n = cur_be32(c);

	*ret_n = 0;
	if (n > most || n > cur_left(c) / 8) {
		c->bad = true;
		return NULL;
	}
	RecordPair *p = arena_new_n(a, RecordPair, n);
	for (uint32_t i = 0; i < n; i++) {
		p[i].name = get_text(c);
		p[i].text = get_text(c);
	}
	*ret_n = n;
	return p;
}

static bool get_head(Cursor c, Arena *a, RecordHead *h)
{
	h->build = get_text(&c);
	h->name = get_text(&c);
	h->program = get_text(&c);
	h->seed = cur_be64(&c);
	h->max_output = cur_be64(&c);
	h->param = get_pairs(&c, a, RECORD_PARAMS, &h->nparam);
	h->policy = get_pairs(&c, a, RECORD_POLICIES, &h->npolicy);
	return !c.bad && !cur_left(&c) && h->program.n <= LIMIT_SOURCE;
}

static bool get_tail(Cursor c, RecordTail *t)
{
	uint8_t done;

	t->exit = cur_u8(&c);
	done = cur_u8(&c);
	t->done = done == 1;
	t->why = get_text(&c);
	t->said = cur_be32(&c);
	Bytes said = cur_bytes(&c, SHA256_BYTES), file = cur_bytes(&c, SHA256_BYTES);
	if (c.bad || cur_left(&c) || done > 1)
		return false;
	memcpy(t->said_hash.b, said.p, SHA256_BYTES);
	memcpy(t->file_hash.b, file.p, SHA256_BYTES);
	return true;
}

/* The next chunk; false where the file ends, between two or in the middle of one. */
static bool next_chunk(Cursor *c, RecordKind *ret_kind, Bytes *ret_body)
{
	Cursor at = *c;
	RecordKind kind = (RecordKind)cur_u8(&at);
	Bytes body = cur_bytes(&at, cur_be32(&at));

	if (at.bad)
		return false;
	*c = at;
	*ret_kind = kind;
	*ret_body = body;
	return true;
}

/* H (E|G)* S* T: the states are the kinds that may still come. */
static bool in_order(RecordKind before, RecordKind kind)
{
	switch (kind) {
	case RECORD_ENGINE:
	case RECORD_GATE:
		return before == RECORD_HEAD || before == RECORD_ENGINE || before == RECORD_GATE;
	case RECORD_SIDE:
	case RECORD_TAIL:
		return before != RECORD_TAIL;
	case RECORD_HEAD:
		break;
	}
	return false;
}

/* One whole message and nothing behind it. */
static MsgRead get_message(Bytes raw, char from, Msg *ret_m)
{
	Cursor c = cursor(raw);
	MsgRead r = msg_get(&c, from, ret_m);

	return r == MSG_OK && cur_left(&c) == 0 ? MSG_OK : MSG_BAD;
}

static bool get_side(Cursor c, RecordSide *ret_s, Msg *ret_m)
{
	ret_s->at = cur_be32(&c);
	ret_s->from = (char)cur_u8(&c);
	ret_s->msg = cur_rest(&c);
	return !c.bad && (ret_s->from == 'P' || ret_s->from == 'O') &&
	       get_message(ret_s->msg, ret_s->from, ret_m) == MSG_OK;
}

static const char *read_chunks(Cursor *c, Record *r)
{
	RecordKind kind, before = RECORD_HEAD;
	size_t from = c->off, sides = 0;
	RecordSide side;
	Bytes body;
	Msg m;

	while (next_chunk(c, &kind, &body)) {
		size_t at = c->off - body.n - RECORD_CHUNK_HEAD;

		if (!in_order(before, kind))
			return "it has chunks that are not known here, or in a wrong order";
		if (kind == RECORD_SIDE && !get_side(cursor(body), &side, &m))
			return "what the gate said of the run is damaged";
		if (!sides && (kind == RECORD_SIDE || kind == RECORD_TAIL))
			sides = at;
		if (kind == RECORD_TAIL) {
			if (!get_tail(cursor(body), &r->tail))
				return "its end is damaged";
			r->whole = true;
			r->hashed = at;
		}
		before = kind;
	}
	size_t end = r->whole ? r->hashed : c->off;

	r->stream = bytes_slice(BYTES(c->p, c->n), from, sides ? sides : end);
	r->sides = bytes_slice(BYTES(c->p, c->n), sides ? sides : end, end);
	return r->whole && cur_left(c) ? "there are bytes behind its end" : NULL;
}

const char *record_read(Bytes file, Arena *a, Record *ret_r)
{
	Cursor c = cursor(file);
	Bytes head = cur_bytes(&c, sizeof magic), body;
	uint32_t version = cur_be32(&c);
	RecordKind kind;

	*ret_r = (Record){ 0 };
	if (c.bad || !bytes_eq(head, BYTES(magic, sizeof magic)))
		return "it is no record of a run";
	if (version != RECORD_VERSION)
		return "it was written in another version of the format";
	if (!next_chunk(&c, &kind, &body))
		return "it is cut: its head is not whole";
	if (kind != RECORD_HEAD || !get_head(cursor(body), a, &ret_r->head))
		return "its head is damaged";
	return read_chunks(&c, ret_r);
}

MsgRead record_next(Cursor *stream, RecordKind kind, Bytes *ret_raw, Msg *ret_m)
{
	RecordKind k;

	while (next_chunk(stream, &k, ret_raw))
		if (k == kind)
			return get_message(*ret_raw, (char)kind, ret_m);
	return MSG_EMPTY;
}

bool record_next_side(Cursor *sides, RecordSide *ret_s, Msg *ret_m)
{
	RecordKind kind;
	Bytes body;

	return next_chunk(sides, &kind, &body) && get_side(cursor(body), ret_s, ret_m);
}
