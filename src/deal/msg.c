/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/msg.h"

#include "base/limits.h"

static void put_u8(Writer *w, uint8_t v)
{
	wr_u8(w, v);
}

static void put_u16(Writer *w, uint16_t v)
{
	wr_be16(w, v);
}

static void put_u32(Writer *w, uint32_t v)
{
	wr_be32(w, v);
}

static void put_u64(Writer *w, uint64_t v)
{
	wr_be64(w, v);
}

static void put_i64(Writer *w, int64_t v)
{
	wr_be64(w, (uint64_t)v);
}

static void put_bytes(Writer *w, Bytes v)
{
	wr_be32(w, (uint32_t)v.n);
	wr_bytes(w, v);
}

static void put_ip(Writer *w, Ip v)
{
	wr_ip(w, v);
}

static uint8_t get_u8(Cursor *c)
{
	return cur_u8(c);
}

static uint16_t get_u16(Cursor *c)
{
	return cur_be16(c);
}

static uint32_t get_u32(Cursor *c)
{
	return cur_be32(c);
}

static uint64_t get_u64(Cursor *c)
{
	return cur_be64(c);
}

static int64_t get_i64(Cursor *c)
{
	return (int64_t)cur_be64(c);
}

static Bytes get_bytes(Cursor *c)
{
	return cur_bytes(c, cur_be32(c));
}

static Ip get_ip(Cursor *c)
{
	return cur_ip(c);
}

static void put_fields(Writer *w, const Msg *m)
{
	switch (m->type) {
#define F(kind, name) put_##kind(w, s->name);
#define PUT_(id, dir, name, fields)              \
	case MSG_##id: {                         \
		__typeof__(&m->name) s = &m->name; \
		fields break;                    \
	}
		DEAL_MSGS(PUT_)
#undef F
	case MSG_NONE:
	case MSG_N:
		w->full = true;
	}
}

static void get_fields(Cursor *c, Msg *m)
{
	switch (m->type) {
#define F(kind, name) s->name = get_##kind(c);
#define GET_(id, dir, name, fields)              \
	case MSG_##id: {                         \
		__typeof__(&m->name) s = &m->name; \
		fields break;                    \
	}
		DEAL_MSGS(GET_)
#undef F
	case MSG_NONE:
	case MSG_N:
		c->bad = true;
	}
}

bool msg_put(Writer *w, const Msg *m)
{
	Writer before = *w;

	wr_be32(w, 0);
	wr_u8(w, (uint8_t)m->type);
	put_fields(w, m);
	if (w->full || w->n - before.n > LIMIT_MSG) {
		*w = before;
		return false;
	}
	put_be32(w->p + before.n, (uint32_t)(w->n - before.n - 4));
	return true;
}

char msg_direction(MsgType t)
{
#define F(kind, name)
#define DIR_(id, dir, name, fields) [MSG_##id] = (dir),
	static const char direction[MSG_N] = { DEAL_MSGS(DIR_) };
#undef F

	return t < MSG_N ? direction[t] : 0;
}

MsgRead msg_get(Cursor *c, char from, Msg *ret_m)
{
	if (!c->bad && cur_left(c) == 0)
		return MSG_EMPTY;
	Cursor in = cursor(cur_bytes(c, cur_be32(c)));
	uint8_t type = cur_u8(&in);
	Msg m = { 0 };

	if (c->bad || in.bad || msg_direction((MsgType)type) != from) {
		c->bad = true;
		return MSG_BAD;
	}
	m.type = (MsgType)type;
	get_fields(&in, &m);
	if (in.bad || cur_left(&in)) {
		c->bad = true;
		return MSG_BAD;
	}
	*ret_m = m;
	return MSG_OK;
}

static bool eq_u8(uint8_t a, uint8_t b)
{
	return a == b;
}

static bool eq_u16(uint16_t a, uint16_t b)
{
	return a == b;
}

static bool eq_u32(uint32_t a, uint32_t b)
{
	return a == b;
}

static bool eq_u64(uint64_t a, uint64_t b)
{
	return a == b;
}

static bool eq_i64(int64_t a, int64_t b)
{
	return a == b;
}

static bool eq_bytes(Bytes a, Bytes b)
{
	return bytes_eq(a, b);
}

static bool eq_ip(Ip a, Ip b)
{
	return ip_eq(a, b);
}

const char *msg_difference(const Msg *a, const Msg *b)
{
	if (a->type != b->type)
		return "type";
	switch (a->type) {
#define F(kind, name)                    \
	if (!eq_##kind(s->name, t->name)) \
		return #name;
#define DIFFER_(id, dir, name, fields)                                  \
	case MSG_##id: {                                                \
		__typeof__(&a->name) s = &a->name, t = &b->name;        \
		fields break;                                           \
	}
		DEAL_MSGS(DIFFER_)
#undef F
	case MSG_NONE:
	case MSG_N:
		break;
	}
	return NULL;
}

const char *msg_name(MsgType t)
{
#define F(kind, name)
#define NAME_(id, ...) [MSG_##id] = #id,
	static const char *const names[MSG_N] = { [MSG_NONE] = "NONE", DEAL_MSGS(NAME_) };
#undef F

	return t < MSG_N ? names[t] : "?";
}

const char *notsent_text(NotSent r)
{
#define TEXT_(id, text) [NOTSENT_##id] = (text),
	static const char *const texts[] = { NOTSENT_REASONS(TEXT_) };
#undef TEXT_

	return r < NOTSENT_N ? texts[r] : "?";
}

const char *stamp_text(StampSource s)
{
#define TEXT_(id, text) [STAMP_##id] = (text),
	static const char *const texts[] = { STAMP_SOURCES(TEXT_) };
#undef TEXT_

	return s < STAMP_N ? texts[s] : "?";
}
