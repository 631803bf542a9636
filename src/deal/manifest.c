/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/manifest.h"

#include "base/units.h"

typedef struct BoundRow {
	const char *name, *unit;
	int64_t dflt, ceiling;
} BoundRow;

#define BOUND_ROW_(id, name, dflt, ceiling, unit, doc) [BOUND_##id] = { name, unit, dflt, ceiling },
static const BoundRow bounds[BOUND_N] = { BOUNDS(BOUND_ROW_) };

/* The table says seconds, as people do; a Budget holds ns. */
static int64_t bound_scale(Bound b)
{
	return b == BOUND_TIME ? NS_PER_S : 1;
}

const char *bound_name(Bound b)
{
	return b < BOUND_N ? bounds[b].name : "?";
}

int64_t bound_default(Bound b)
{
	return bounds[b].dflt * bound_scale(b);
}

int64_t bound_ceiling(Bound b)
{
	return bounds[b].ceiling * bound_scale(b);
}

const char *bound_unit(Bound b)
{
	return b < BOUND_N ? bounds[b].unit : "?";
}

const char *word_name(ReachWord w)
{
#define WORD_NAME_(id, name, doc) [WORD_##id] = (name),
	static const char *const names[WORD_N] = { REACH_WORDS(WORD_NAME_) };

	return w < WORD_N ? names[w] : "?";
}

bool ports_have(const PortSet *s, uint16_t port)
{
	for (uint32_t i = 0; i < s->n && s->p[i].lo <= port; i++)
		if (port <= s->p[i].hi)
			return true;
	return false;
}

bool ports_name(const PortSet *s, uint16_t port)
{
	for (uint32_t i = 0; i < s->n && s->p[i].lo <= port; i++)
		if (s->p[i].lo == port && s->p[i].hi == port)
			return true;
	return false;
}

static bool is_wide(PortRange r)
{
	return r.lo != r.hi;
}

/* Takes all ranges out that overlap or touch *r, and makes *r cover them. */
static void ports_absorb(PortSet *s, PortRange *r)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		PortRange q = s->p[i];

		if (is_wide(q) && q.lo <= r->hi + 1 && r->lo <= q.hi + 1) {
			r->lo = q.lo < r->lo ? q.lo : r->lo;
			r->hi = q.hi > r->hi ? q.hi : r->hi;
		} else {
			s->p[kept++] = q;
		}
	}
	s->n = kept;
}

static bool range_before(PortRange a, PortRange b)
{
	return a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi;
}

void ports_add(Arena *a, PortSet *s, uint16_t lo, uint16_t hi)
{
	PortRange r = { lo, hi };
	uint32_t i;

	if (lo > hi || (!is_wide(r) && ports_name(s, lo)))
		return;
	if (is_wide(r))
		ports_absorb(s, &r);
	vec_push(a, s, r);
	for (i = s->n - 1; i > 0 && range_before(r, s->p[i - 1]); i--)
		s->p[i] = s->p[i - 1];
	s->p[i] = r;
}

void ports_text(const PortSet *s, Sb *out)
{
	for (uint32_t i = 0; i < s->n; i++) {
		sb_printf(out, i ? ", %u" : "%u", s->p[i].lo);
		if (is_wide(s->p[i]))
			sb_printf(out, "-%u", s->p[i].hi);
	}
}

/* lo..hi as a net: the prefix length, or -1 if it is none. */
static int range_bits(Ip lo, Ip hi)
{
	for (uint8_t bits = 0; bits <= ip_len(lo) * 8; bits++) {
		Ip first, last;

		net_range((Net){ lo, bits }, &first, &last);
		if (ip_eq(first, lo) && ip_eq(last, hi))
			return bits;
	}
	return -1;
}

void target_text(const Target *t, Sb *out)
{
	char text[NET_TEXT];
	int bits;

	if (t->name.n) {
		sb_str(out, t->name);
		return;
	}
	ip_format(t->lo, text);
	if (t->lo.v == 0 || ip_eq(t->lo, t->hi)) {
		sb_cstr(out, t->lo.v ? text : "an address that is not known");
		return;
	}
	bits = range_bits(t->lo, t->hi);
	if (bits >= 0) {
		net_format((Net){ t->lo, (uint8_t)bits }, text);
		sb_cstr(out, text);
		return;
	}
	sb_printf(out, "%s-", text);
	ip_format(t->hi, text);
	sb_cstr(out, text);
}
