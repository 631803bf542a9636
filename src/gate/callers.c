/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/callers.h"

enum { SYN = 2, ACK = 16 };

void callers_init(Callers *c, Arena *a)
{
	*c = (Callers){ .row = arena_new_n(a, Caller, CALLERS) };
}

static Caller *ways(const Callers *c, uint64_t key)
{
	return &c->row[key % (CALLERS / CALLER_WAYS) * CALLER_WAYS];
}

static Caller *find(const Callers *c, uint64_t key)
{
	Caller *w = ways(c, key);

	for (unsigned i = 0; i < CALLER_WAYS; i++)
		if (w[i].key == key)
			return &w[i];
	return NULL;
}

const Caller *callers_find(const Callers *c, uint64_t key)
{
	return find(c, key);
}

/* A free place, or the oldest call that came to nothing. */
static Caller *place(const Callers *c, uint64_t key)
{
	Caller *w = ways(c, key), *best = NULL;

	for (unsigned i = 0; i < CALLER_WAYS; i++)
		if (!w[i].finished && (!best || w[i].born < best->born))
			best = &w[i];
	return best;
}

static void called(Callers *c, const CallSegment *s)
{
	Caller *p = find(c, s->key);

	/* A SYN on a tuple whose handshake was finished proves nothing and takes nothing: RFC
	 * 5961 4 answers it by an ACK, to a peer that has shown to be there. */
	if (p && p->finished)
		return;
	p = p ? p : place(c, s->key);
	if (!p)
		return;
	if (p->key != s->key)
		*p = (Caller){ .key = s->key, .born = ++c->calls };
	p->got += s->bytes;
}

void callers_got(Callers *c, const CallSegment *s)
{
	Caller *p;

	if ((s->flags & (SYN | ACK)) == SYN) {
		called(c, s);
		return;
	}
	p = find(c, s->key);
	if (!p || p->finished)
		return;
	p->got += s->bytes;
	p->finished = s->flags & ACK && p->answered && s->ack == p->iss + 1;
}

bool callers_may_send(Callers *c, const CallSegment *s)
{
	Caller *p = find(c, s->key);

	if (!p)
		return false;
	if (p->finished)
		return true;
	if (s->bytes > p->got - p->sent)
		return false;
	p->sent += s->bytes;
	if ((s->flags & (SYN | ACK)) == (SYN | ACK)) {
		p->answered = true;
		p->iss = s->seq;
	}
	return true;
}

bool callers_may_reset(Callers *c, uint64_t key)
{
	Caller *p = find(c, key);

	if (!p || p->reset)
		return false;
	p->reset = true;
	return true;
}
