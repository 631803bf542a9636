/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/stamps.h"

#include "base/units.h"
#include "gate/gate.h"

enum {
	AGREE_FIRST = 8,	   /* frames that must agree before stamps are believed */
	STAMPS_READ = 256,
};
#define AGREE_WITHIN NS_PER_MS	   /* tap, then stamp: a few us apart where both are true */
#define TAP_ALONE (5 * NS_PER_MS)  /* a recaptured frame whose stamp does not come */
#define AGE_EVERY (2 * NS_PER_MS)
#define GIVE_UP (10 * NS_PER_MS)   /* then ask the kernel whether anything still waits */
#define LONGEST (10 * NS_PER_S)	   /* the deepest local queue that is believed */

void stamps_init(Stamps *s, Arena *a, uint64_t seed)
{
	*s = (Stamps){ .piece = arena_new_n(a, Piece, STAMP_PIECES),
		       .bucket = arena_new_n(a, uint16_t, STAMP_PIECES),
		       .seed = seed,
		       .next_id = 1,
		       .oldest = 1 };
	for (unsigned i = 0; i < STAMP_PIECES; i++)
		s->bucket[i] = STAMP_NOBODY;
}

/* ---- pieces by hash of their bytes ---- */

static uint64_t hash_bytes(uint64_t h, Bytes b)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	uint64_t w;
	size_t i;

	for (i = 0; i + 8 <= b.n; i += 8) {
		memcpy(&w, b.p + i, 8);
		h = (h ^ w) * k;
		h ^= h >> 29;
	}
	w = b.n;
	if (i < b.n)
		memcpy(&w, b.p + i, b.n - i);
	h = (h ^ w ^ b.n << 48) * k;
	return h ^ h >> 32;
}

static uint64_t hash_frame(const Stamps *s, Bytes head, Bytes body)
{
	return hash_bytes(hash_bytes(s->seed, head), body);
}

static void piece_done(Gate *g, Piece *p, bool lost);

static Piece *piece_at(Stamps *s, uint32_t id)
{
	return &s->piece[id % STAMP_PIECES];
}

static uint16_t *bucket_of(Stamps *s, uint64_t hash)
{
	return &s->bucket[hash % STAMP_PIECES];
}

static void bucket_add(Stamps *s, Piece *p)
{
	uint16_t *at = bucket_of(s, p->hash);

	while (*at != STAMP_NOBODY) /* behind those that were sent before */
		at = &s->piece[*at].next;
	*at = (uint16_t)(p - s->piece);
	p->next = STAMP_NOBODY;
}

static void bucket_remove(Stamps *s, Piece *p)
{
	uint16_t *at = bucket_of(s, p->hash);

	while (*at != STAMP_NOBODY && &s->piece[*at] != p)
		at = &s->piece[*at].next;
	if (*at != STAMP_NOBODY)
		*at = p->next;
	p->matched = true;
}

uint32_t stamps_add(Gate *g, uint32_t slot, Bytes head, Bytes body)
{
	Stamps *s = &g->stamps;
	Piece *p;

	if (s->out >= STAMP_PIECES / 2)
		return 0;
	/* a number whose cell an older piece still has is skipped; it is ours to choose */
	while (piece_at(s, s->next_id)->id || s->next_id == 0)
		s->next_id++;
	p = piece_at(s, s->next_id);
	*p = (Piece){ .id = s->next_id++, .slot = slot, .hash = hash_frame(s, head, body) };
	p->called = timeline_real_now(&g->time);
	bucket_add(s, p);
	s->out++;
	return p->id;
}

static void piece_free(Stamps *s, Piece *p)
{
	if (!p->matched)
		bucket_remove(s, p);
	p->id = 0;
	s->out--;
}

void stamps_remove(Gate *g, uint32_t id)
{
	piece_free(&g->stamps, piece_at(&g->stamps, id));
}

void stamps_renumber(Gate *g, uint32_t id, uint32_t to)
{
	Stamps *s = &g->stamps;
	Piece *p = piece_at(s, id), *q = piece_at(s, to);
	Piece was = *p;

	if (id == to)
		return;
	if (q->id) /* older by a whole round: it has had its time */
		piece_done(g, q, false);
	piece_free(s, p);
	*q = was;
	q->id = to;
	s->out++;
	bucket_add(s, q);
	if ((int32_t)(to - s->next_id) >= 0)
		s->next_id = to + 1;
}

/* ---- from pieces to SENT ---- */

static bool believed(const Stamps *s)
{
	return s->agreed >= AGREE_FIRST && s->agreed > s->disagreed * 8;
}

/* All pieces of a frame have told what they know. */
static void slot_done(Gate *g, Slot *slot)
{
	const SlotStamps *st = &slot->stamps;
	bool use_tx = st->tx && (!st->tap || believed(&g->stamps));
	StampSource source = use_tx ? STAMP_SOFTWARE : st->tap ? STAMP_RECAPTURE : STAMP_NONE;
	int64_t at = timeline_of(&g->time, use_tx ? st->tx : st->tap ? st->tap : st->called);
	int64_t queue = st->tx && st->sched ? st->tx - st->sched : NS_NONE;

	if (st->lost)
		outgoing_notsent(g, slot, NOTSENT_STAMP, "neither stamped nor recaptured");
	else
		outgoing_sent(g, slot, at, source, queue);
}

/* The frame left when its last piece did. */
static void piece_done(Gate *g, Piece *p, bool lost)
{
	Slot *slot = &g->slot[p->slot];
	SlotStamps *st = &slot->stamps;

	if (p->tx > st->tx)
		st->tx = p->tx;
	if (p->tap > st->tap)
		st->tap = p->tap;
	if (p->sched && (!st->sched || p->sched < st->sched))
		st->sched = p->sched;
	st->called = p->called;
	st->lost = st->lost || lost;
	piece_free(&g->stamps, p);
	if (--st->left == 0)
		slot_done(g, slot);
}

static void compare(Stamps *s, const Piece *p)
{
	int64_t d = p->tx - p->tap;

	if (d >= 0 && d < AGREE_WITHIN)
		s->agreed++;
	else
		s->disagreed++;
}

/* The stamp alone is enough once it is believed; before that both witnesses are. */
static void piece_heard(Gate *g, Piece *p)
{
	if (p->tx && p->tap && !believed(&g->stamps))
		compare(&g->stamps, p);
	if (p->tx && (p->tap || believed(&g->stamps)))
		piece_done(g, p, false);
}

void stamps_drain(Gate *g)
{
	PacketStamp st[STAMPS_READ];
	int n;

	if (g->stamps.out == 0)
		return;
	while ((n = packet_stamps(g->tx.fd, st, STAMPS_READ)) > 0)
		for (int i = 0; i < n; i++) {
			uint32_t id = st[i].id + !g->tx.own_ids; /* the kernel counts from 0, which is nobody's */
			Piece *p = piece_at(&g->stamps, id);

			if (p->id != id || id == 0)
				continue;
			if (st[i].kind == PACKET_STAMP_QUEUED) {
				p->sched = st[i].stamp;
				continue;
			}
			p->tx = st[i].stamp;
			g->stamps.no_stamps = false;
			piece_heard(g, p);
		}
}

void stamps_recaptured(Gate *g, const PacketIn *in)
{
	Stamps *s = &g->stamps;
	const GateIface *i = links_find(&g->links, in->ifindex);
	size_t head = i && i->gl.ether ? 14 : 0;
	uint64_t hash;

	if (s->out == 0 || !i)
		return;
	hash = hash_frame(s, bytes_slice(in->frame, 0, head), bytes_slice(in->frame, head, in->frame.n));
	for (uint16_t k = *bucket_of(s, hash); k != STAMP_NOBODY; k = s->piece[k].next) {
		Piece *p = &s->piece[k];

		if (p->hash != hash)
			continue;
		p->tap = in->stamp ? in->stamp : p->called;
		bucket_remove(s, p);
		piece_heard(g, p);
		return;
	}
}

/* ---- those whose stamp does not come ---- */

static void advance(Stamps *s)
{
	while (s->oldest != s->next_id && piece_at(s, s->oldest)->id != s->oldest)
		s->oldest++;
}

void stamps_settle(Gate *g)
{
	Stamps *s = &g->stamps;

	if (s->out == 0 || !s->no_stamps)
		return;
	advance(s);
	for (uint32_t id = s->oldest; id != s->next_id && s->out; id++) {
		Piece *p = piece_at(s, id);

		if (p->id == id && p->tap)
			piece_done(g, p, false);
	}
}

/* Did recapture lose anything since this was last asked? */
static bool recapture_lost(Gate *g)
{
	bool lost = g->capture_drops != g->stamps.drops_seen;

	g->stamps.drops_seen = g->capture_drops;
	return lost;
}

static void age_one(Gate *g, Piece *p, int64_t real, bool queue_empty, bool lost)
{
	int64_t age = real - p->called;

	if (p->tx && age > TAP_ALONE) { /* stamped, not recaptured */
		piece_done(g, p, false);
	} else if (p->tap && age > TAP_ALONE) {
		g->stamps.no_stamps = !p->sched;
		piece_done(g, p, false);
	} else if (age > LONGEST || (age > GIVE_UP && queue_empty)) {
		piece_done(g, p, !lost);
	}
}

void stamps_age(Gate *g, int64_t now)
{
	Stamps *s = &g->stamps;
	int64_t real = timeline_real_now(&g->time);
	bool empty, lost;

	advance(s);
	if (s->out == 0 || real - piece_at(s, s->oldest)->called < TAP_ALONE || now - s->aged < AGE_EVERY)
		return;
	s->aged = now;
	requests_drops(g, true);
	empty = packet_unsent(g->tx.fd) == 0;
	gate_receive_all(g);
	stamps_drain(g);
	lost = recapture_lost(g);
	for (uint32_t id = s->oldest; id != s->next_id && s->out; id++)
		if (piece_at(s, id)->id == id)
			age_one(g, piece_at(s, id), real, empty, lost);
}

int64_t stamps_next(const Gate *g)
{
	return g->stamps.out ? gate_now(g) + TAP_ALONE : INT64_MAX;
}
