/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/launch.h"

#include "deal/walk.h"

#define MAGIC 0x534c4155u /* "SLAU" */

static void x_magic(Walk *k)
{
	uint32_t magic = MAGIC;

	x_u32(k, &magic);
	k->bad |= magic != MAGIC;
}

static void x_hash(Walk *k, Hash *h)
{
	if (!k->c) {
		wr_bytes(k->w, BYTES(h->b, SHA256_BYTES));
		return;
	}
	Bytes b = cur_bytes(k->c, SHA256_BYTES);

	if (b.n)
		memcpy(h->b, b.p, SHA256_BYTES);
}

/* Printable up to its end, zeros behind it. */
static void x_text(Walk *k, char *text, size_t cap)
{
	bool ended = false;

	for (size_t i = 0; i < cap; i++) {
		uint8_t v = ended ? 0 : (uint8_t)text[i];

		x_u8(k, &v);
		k->bad |= v ? ended || v < 0x20 || v > 0x7e : false;
		ended |= !v;
		text[i] = (char)v;
	}
	k->bad |= !ended;
}

static void x_ask(Walk *k, LaunchAsk *a)
{
	x_magic(k);
	x_u8(k, &a->op);
	k->bad |= a->op == LAUNCH_NONE || a->op >= LAUNCH_N;
	x_bool(k, &a->approved);
	x_hash(k, &a->approve);
	x_u32(k, &a->max_output);
	x_text(k, a->caller, sizeof a->caller);
	x_text(k, a->tool, sizeof a->tool);
	x_text(k, a->outcome, sizeof a->outcome);
	x_text(k, a->finding, sizeof a->finding);
	x_hash(k, &a->args);
}

_Static_assert(LAUNCH_ASK >= 4 + 2 + 4 + 2 * SHA256_BYTES + LAUNCH_NAME + 3 * LAUNCH_WORD, "all fields find room");

void launch_ask_put(const LaunchAsk *a, uint8_t out[LAUNCH_ASK])
{
	LaunchAsk copy = *a;
	Writer w = writer(out, LAUNCH_ASK);
	Walk k = { .w = &w };

	x_ask(&k, &copy);
	wr_zeros(&w, LAUNCH_ASK - w.n);
}

static bool all_zero(Bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i])
			return false;
	return true;
}

bool launch_ask_get(Bytes in, LaunchAsk *ret_a)
{
	LaunchAsk a = { 0 };
	Cursor c = cursor(in);
	Walk k = { .c = &c };

	if (in.n != LAUNCH_ASK)
		return false;
	x_ask(&k, &a);
	k.bad |= !all_zero(cur_rest(&c));
	if (!walk_done(&k))
		return false;
	*ret_a = a;
	return true;
}

static void x_said(Walk *k, LaunchSaid *s)
{
	x_magic(k);
	x_bool(k, &s->ok);
	x_bool(k, &s->busy);
	x_text(k, s->text, sizeof s->text);
}

void launch_said_put(const LaunchSaid *s, uint8_t out[LAUNCH_SAID])
{
	LaunchSaid copy = *s;
	Writer w = writer(out, LAUNCH_SAID);
	Walk k = { .w = &w };

	for (size_t i = 0; i < sizeof copy.text && copy.text[i]; i++)
		if (copy.text[i] < 0x20 || copy.text[i] > 0x7e)
			copy.text[i] = '?';
	x_said(&k, &copy);
	wr_zeros(&w, LAUNCH_SAID - w.n);
}

bool launch_said_get(Bytes in, LaunchSaid *ret_s)
{
	LaunchSaid s = { 0 };
	Cursor c = cursor(in);
	Walk k = { .c = &c };

	if (in.n != LAUNCH_SAID)
		return false;
	x_said(&k, &s);
	k.bad |= !all_zero(cur_rest(&c));
	if (!walk_done(&k))
		return false;
	*ret_s = s;
	return true;
}

/* ---- jobs ---- */

static void x_str(Walk *k, Str *s, size_t most)
{
	uint32_t n = (uint32_t)s->n;

	k->bad |= !k->c && s->n > most;
	x_u32(k, &n);
	k->bad |= n > most;
	if (k->bad)
		return;
	if (k->c)
		*s = bytes_str(cur_bytes(k->c, n));
	else
		wr_bytes(k->w, str_bytes(*s));
}

static void x_job(Walk *k, LaunchJob *j)
{
	x_magic(k);
	x_str(k, &j->name, LIMIT_NAME);
	x_str(k, &j->text, LIMIT_SOURCE);
	x_str(k, &j->limits, LIMIT_LAUNCH_LIMITS);
	x_u32(k, &j->nparam);
	k->bad |= j->nparam > LIMIT_LAUNCH_PARAMS;
	for (uint32_t i = 0; i < j->nparam && !k->bad; i++) {
		x_str(k, &j->param[i].name, LIMIT_NAME);
		x_str(k, &j->param[i].value, LIMIT_LAUNCH_VALUE);
		k->bad |= !j->param[i].name.n;
	}
}

bool launch_job_put(Writer *w, const LaunchJob *j)
{
	LaunchJob copy = *j;
	Walk k = { .w = w };

	x_job(&k, &copy);
	return walk_done(&k);
}

bool launch_job_get(Bytes in, LaunchJob *ret_j)
{
	Cursor c = cursor(in);
	Walk k = { .c = &c };

	*ret_j = (LaunchJob){ 0 };
	if (in.n > LIMIT_LAUNCH_JOB)
		return false;
	x_job(&k, ret_j);
	return walk_done(&k);
}
